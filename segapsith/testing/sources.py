"""What every source promises."""

from __future__ import annotations

import io
from typing import Any, BinaryIO, cast

from segapsith.model import Document, Reject
from segapsith.plugin.contracts import example_of
from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["source_checks"]


class _Pipe(io.RawIOBase):
    """Bytes that come as from a pipe: once, forwards, in small pieces."""

    def __init__(self, data: bytes) -> None:
        self._data, self.taken = data, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._data[self.taken : self.taken + min(len(buffer), 4096)]
        buffer[: len(piece)] = piece
        self.taken += len(piece)
        return len(piece)


_RSS = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>Wire</title>'
    b"<item><guid>g1</guid><title>Flood</title><description>The river rose.</description></item>"
    b"<item><guid>g2</guid><title>Vote</title><description>They voted.</description></item>"
    b"</channel></rss>"
)

_WHOLE: tuple[bytes, ...] = (
    b"The river rose in the night.\n\nThree bridges were closed.\n",
    b'{"id": "a", "title": "Flood", "text": "The river rose."}\n{"id": "b", "text": "Rain."}\n',
    b"id,title,text,date\na,Flood,The river rose.,2026-01-31\nb,Vote,They voted.,2026-02-01\n",
    _RSS,
)
"""Small inputs in the usual formats; a source may bring its own as the attribute `example`."""

_BROKEN: tuple[bytes, ...] = (
    b"",
    b"\n \n\t",
    b"\x00" * 64,
    bytes(range(256)) * 4,
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf",
    b"caf\xe9 \xc3",
    b"{",
    b'{"id": 1}\n{"id": {}, "text": []}\n[]\nnull\n"x"\n{"text": "\\ud800"}\n{"text": 3}\n',
    b"[" * 5_000,
    b'a,b,c\n"unclosed,1\n,,,,,\n',
    b"<rss><channel><item><title>cut",
    b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
    _RSS[: len(_RSS) // 2],
    b"<" * 2_000,
    b"x" * 100_000,
)


def _inputs(source: Any) -> tuple[bytes, ...]:
    own = example_of(source)
    return (*_WHOLE, own) if own else _WHOLE


def _items(source: Any, data: bytes, name: str = "example") -> list[Document | Reject]:
    """The items of some bytes, if they are as promised."""
    stream = io.BufferedReader(_Pipe(data))
    start = data[:20]
    result = source.read(cast(BinaryIO, stream), name)
    assert hasattr(result, "__next__"), (
        f"read returned {type(result).__name__} for {start!r}; an iterator is wanted"
    )
    items: list[Document | Reject] = list(result)
    for item in items:
        assert isinstance(item, Document | Reject), (
            f"read gave {type(item).__name__} for {start!r}; a Document or a Reject is wanted"
        )
        if isinstance(item, Reject):
            assert item.reason, f"read gave a Reject without a reason for {start!r}"
            continue
        for field in ("uid", "title", "body", "source"):
            value = getattr(item, field)
            assert type(value) is str, f"{field} is {type(value).__name__}; a string is wanted"
        for field in ("date", "lang"):
            value = getattr(item, field)
            assert value is None or type(value) is str, (
                f"{field} is {type(value).__name__}; a string or None is wanted"
            )
    return items


@bounded
def check_it_is_a_source(factory: Factory) -> None:
    """It has the methods."""
    of_kind("source", factory)


@bounded
def check_sniff(factory: Factory) -> None:
    """How sure it is lies between 0 and 1, whatever the beginning."""
    source = factory()
    for head in (*_inputs(source), *_BROKEN):
        certainty = source.sniff(head[:8192])
        assert isinstance(certainty, int | float) and 0 <= certainty <= 1, (
            f"sniff({head[:20]!r}) returned {certainty!r}; a number from 0 to 1 is wanted"
        )
    own = example_of(source)
    assert not own or source.sniff(own[:8192]) > 0, "sniff does not know its own example"


@bounded
def check_reading_is_lazy(factory: Factory) -> None:
    """Nothing is read before the first item is asked for."""
    for data in _inputs(factory()):
        pipe = _Pipe(data)
        result = factory().read(cast(BinaryIO, io.BufferedReader(pipe)), "example")
        assert hasattr(result, "__next__"), (
            f"read returned {type(result).__name__}; an iterator is wanted"
        )
        assert pipe.taken == 0, f"read took {pipe.taken} bytes before an item was asked for"


@bounded
def check_identities_are_stable(factory: Factory) -> None:
    """What is read twice is the same, in the same order, under the same identities."""
    for data in _inputs(factory()):
        first, again = (_items(factory(), data) for _ in range(2))
        assert first == again, f"{data[:20]!r} gave other items when it was read again"
        uids = [item.uid for item in first if isinstance(item, Document) and item.uid]
        assert len(set(uids)) == len(uids), f"two items of {data[:20]!r} have one uid: {uids}"
    own = example_of(factory())
    assert not own or any(isinstance(i, Document) for i in _items(factory(), own)), (
        "the source's own example has no document"
    )


@bounded
def check_broken_input(factory: Factory) -> None:
    """Broken input is a Reject, or nothing, or whatever can be saved; it never raises."""
    source = factory()
    for data in _BROKEN:
        try:
            _items(source, data)
        except (AssertionError, SystemExit):
            raise
        except Exception as error:
            raise AssertionError(
                f"read raised {type(error).__name__}: {error} for {data[:20]!r}; a Reject is wanted"
            ) from error


source_checks: tuple[Check, ...] = (
    check_it_is_a_source,
    check_settings,
    check_sniff,
    check_reading_is_lazy,
    check_identities_are_stable,
    check_broken_input,
)
