"""What the tests of the sources share: samples, every source at once, and ways to break input."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.intake.documents import cleaned
from segapsith_plugins.sources import (
    anpa,
    csv_rows,
    feeds,
    html_pages,
    json_lines,
    newsml,
    ninjs,
    nitf,
    plain_text,
    reuters_sgml,
    shards,
)

SAMPLES = Path(__file__).parents[1] / "samples"
MODULES = (
    anpa, csv_rows, feeds, html_pages, json_lines, newsml, ninjs, nitf, plain_text, reuters_sgml,
    shards,
)  # fmt: skip

HOSTILE = (
    b"<", b"<!--", b"<![CDATA[", b"<?", b"<!DOCTYPE a [", b"&", b"&#", b"&#9", b"<a ", b'<a b="',
    b"</a", b"<item>", b"<item", b"</item>", b"<p><b>", b"<div>", b"[", b'{"a":', b'{"a":[', b'"',
    b"'", b"a,", b'a,"', b";", b"\x01", b"\x02", b"\x16\x16\x01a0001\n", b"ZCZC\n", b"\x03", b"\r",
    b"\0", b"\xff\xfe", b"\xc3", b"a@", b"a.", b"-", b" ", b"\n ", b"<REUTERS>", b"<newsItem ",
)  # fmt: skip
"""Pieces that cost a careless reader quadratic time when they are repeated."""


def read(source: Any, data: bytes) -> list[Document | Reject]:
    """The items of some bytes, each of them sound."""
    items = list(source().read(io.BufferedReader(io.BytesIO(data)), "sample"))  # type: ignore[type-var]  # whatever source is given
    for item in items:
        assert isinstance(item, Document | Reject)
        if isinstance(item, Document):
            assert all(type(v) is str for v in (item.uid, item.title, item.body, item.source))
            assert (
                item.title.strip()
                or item.body.strip()
                or item.bag
                or source is plain_text.PlainText
            )
            cleaned(item)
        else:
            assert item.name and item.reason
    return items


def mutants(data: bytes, seed: int, n_mutants: int) -> Iterator[bytes]:
    """The data with bytes flipped, cut off, doubled, or with hostile pieces put in."""
    rng = random.Random(seed)
    for _ in range(n_mutants):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(changed) + 1)
            end = min(len(changed), place + rng.choice([1, 5, 40, 400]))
            match rng.randrange(5):
                case 0 if changed:
                    changed[place - 1] ^= 1 << rng.randrange(8)
                case 1:
                    del changed[place:]
                case 2:
                    changed[place:place] = changed[place:end] * rng.choice([1, 2, 20])
                case 3:
                    changed[place:place] = rng.choice(HOSTILE) * rng.choice([1, 3, 50])
                case _:
                    del changed[place:end]
        yield bytes(changed)


@pytest.fixture
def sample() -> Callable[[str], bytes]:
    """The bytes of a sample, named as format/file."""
    return lambda name: (SAMPLES / name).read_bytes()


@pytest.fixture
def items() -> Callable[[Any, bytes], list[Document | Reject]]:
    """Reads some bytes with a source."""
    return read


@pytest.fixture
def claimed() -> Callable[[bytes], str]:
    """The source that is surest of some bytes."""

    def surest(data: bytes) -> str:
        sure = {
            name: source().sniff(data[:8192])
            for module in MODULES
            for name, source in module.register_sources().items()
        }
        best = max(sure, key=lambda name: sure[name])
        others = [value for name, value in sure.items() if name != best]
        assert sure[best] > max(others), sure
        return best

    return surest


@pytest.fixture
def withstands() -> Callable[[Any, str], None]:
    """Breaks the samples of a format in every way and reads what is left."""

    def check(source: Any, kind: str) -> None:
        for number, path in enumerate(sorted((SAMPLES / kind).iterdir())):
            for data in mutants(path.read_bytes(), seed=number, n_mutants=40):
                source().sniff(data[:8192])
                read(source, data)
        first = min((SAMPLES / kind).iterdir()).read_bytes()
        began = time.process_time()
        for piece in HOSTILE:
            many = piece * (30_000 // len(piece))
            half = len(first) // 2
            read(source, many)
            read(source, first[:half] + many + first[half:])
        # about 80 inputs of 30 kB: linear work takes a second or two, quadratic work minutes
        assert time.process_time() - began < 20

    return check
