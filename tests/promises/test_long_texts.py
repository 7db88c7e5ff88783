"""One very long text: what is learned from it is limited, so its memory is; nothing of it is lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pytest

from segapsith import limits
from segapsith.api.wire import Wire
from segapsith.engine.ingest import batches
from segapsith.engine.reading import learned_part
from segapsith.model import Document
from segapsith.settings import resolve

MEGABYTES = 512
"""Peak memory of a process that ingests one text, compiled kernels included."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(draw: random.Random, n: int) -> list[str]:
    """Return different random words."""
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(draw.choices(LETTERS, k=draw.randint(5, 10)))] = None
    return list(found)


def sentences(sequence: list[str], size: int = 16) -> str:
    parts = (sequence[i : i + size] for i in range(0, len(sequence), size))
    return " ".join(f"{' '.join(part).capitalize()}." for part in parts)


def million_words() -> str:
    """Return a million words, of which a few are frequent, as in any language."""
    draw = random.Random(1)
    known = words(draw, 60_000)
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(known))))
    return sentences(draw.choices(known, cum_weights=weights, k=1_000_000))


def million_equal_words() -> str:
    """Return a million words out of 100,000 that are equally frequent: most pairs occur once."""
    draw = random.Random(2)
    return sentences(draw.choices(words(draw, 100_000), k=1_000_000))


def distinct_words() -> str:
    """Return 300,000 words that all differ."""
    return sentences(words(random.Random(3), 300_000))


MEASURED = """
import atexit, re, runpy, sys

def report():
    with open("/proc/self/status") as status:
        print(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1])

atexit.register(report)
runpy.run_module("segapsith", run_name="__main__", alter_sys=True)
"""
"""Run the program, then print its peak memory: what `wait4` reports includes that of the parent."""


def peak(folder: Path, text: str) -> float:
    """Return the peak memory in megabytes of a process that ingests one text."""
    wire = folder / "wire.jsonl"
    wire.write_text(json.dumps({"id": "long", "title": "Long", "text": text}), encoding="utf-8")
    store = folder / "wire.db"
    command = ["ingest", str(wire), "--store", str(store), "--lang", "en", "--quiet"]
    answer = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True
    )
    return int(answer.stdout.split()[-1]) * 1024 / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("made", [million_words, million_equal_words, distinct_words])
def test_one_huge_text_costs_at_most_512_megabytes(tmp_path: Path, made: Callable[[], str]) -> None:
    text = made()
    used = peak(tmp_path, text)
    print(f"{made.__name__}: {len(text):,} characters, {used:.0f} MB")
    assert used <= MEGABYTES
    with Wire(tmp_path / "wire.db", resolve({"lang": "en"}, environment={})) as wire:
        assert [body for (body,) in wire.writer.rows("SELECT body FROM versions")] == [text]
        assert [story.id for story in wire.matching(text.split()[-1].strip("."))] == ["long"]
        assert wire.verify().sound


def test_an_ordinary_text_is_learned_whole() -> None:
    document = Document(title="Flood", body="x" * (limits.MAX_LEARNED_BYTES // 4))
    assert learned_part(document) is document


@pytest.mark.parametrize("word", ["storm", "été", "洪水", "🌊"])
@pytest.mark.parametrize("blank", [" ", "\n", ""])
def test_the_learned_part_is_the_beginning_and_ends_with_a_word(word: str, blank: str) -> None:
    document = Document(title="Flood", body=(word + blank) * 300_000)
    part = learned_part(document)
    size = len(part.text.encode("utf-8"))
    assert document.text.startswith(part.text)
    assert limits.MAX_LEARNED_BYTES - 2 * limits.MAX_WORD_CHARS <= size
    assert size <= limits.MAX_LEARNED_BYTES + len("\n\n")
    if blank:
        assert part.body.endswith(word)


def test_a_huge_title_is_learned_without_the_body() -> None:
    part = learned_part(Document(title="storm " * 200_000, body="Rain fell."))
    assert part.body == ""
    assert len(part.title) <= limits.MAX_LEARNED_BYTES


def test_the_rest_of_a_long_text_changes_nothing_that_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_LEARNED_BYTES", 400)
    draw = random.Random(4)
    start, rest = sentences(words(draw, 60)), sentences(words(draw, 60))
    found = []
    for name, text in (("whole", f"{start} {rest}"), ("start", start)):
        with Wire(tmp_path / f"{name}.db", resolve({"lang": "en"}, environment={})) as wire:
            wire.ingest([Document("a", body=text)])
            learned = wire.writer.rows("SELECT word, occurrences FROM words ORDER BY word")
            found.append([tuple(row) for row in learned])
            assert wire.verify().sound
    assert found[0] == found[1]


def test_long_texts_end_a_batch_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BATCH_CHARS", 100)
    items = [Document(str(n), body="x" * size) for n, size in enumerate([60, 60, 200, 10, 10])]
    assert [len(batch) for batch, _ in batches(items, 500)] == [2, 1, 2]
