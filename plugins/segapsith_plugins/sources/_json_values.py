"""JSON values of a stream: one per line, in an array, in sequence, or a single one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO

from segapsith import Reject
from segapsith.io.encoding import decoded, text_chunks
from segapsith.limits import MAX_ITEM_CHARS, MAX_JSON_VALUES, MAX_LINE_BYTES

__all__ = ["Numbered", "beginning", "values"]

Numbered = tuple[str, object]
"""The place of a value in the input, and the value."""

_SPACE = re.compile(r"[\s,\x1e]*")
_NEXT = re.compile(r"\n\s*(?=[{\[])")
_WINDOW = 1 << 20


def beginning(head: bytes) -> str:
    """Return the beginning of a stream without byte order mark and blanks, or '' if not JSON."""
    text = decoded(head).lstrip("\ufeff \t\r\n\x1e")
    return text if text[:1] in ("{", "[") else ""


def values(stream: BinaryIO, name: str) -> Iterator[Numbered | Reject]:
    """Yield each value with its place, and a reject for what is not JSON; reading continues."""
    line = _line(stream)
    number = 1
    while line is not None and not line.strip(b" \t\r\n\xef\xbb\xbf"):
        if not line:
            return
        line, number = _line(stream), number + 1
    if line is None:
        yield Reject(f"{name}: line {number}", f"it is longer than {MAX_LINE_BYTES:,} bytes")
        line, number = _line(stream), number + 1
    elif _is_spread(line):
        yield from _spread(_Joined(line, stream), name)
        return
    while line != b"":
        where = f"{name}: line {number}"
        if line is None:
            yield Reject(where, f"it is longer than {MAX_LINE_BYTES:,} bytes")
        elif line.strip():
            yield _one(line, where)
        line, number = _line(stream), number + 1


def _line(stream: BinaryIO) -> bytes | None:
    """Return the next line, or None for a line that is too long, which is skipped."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    if len(line) <= MAX_LINE_BYTES:
        return line
    while line and not line.endswith(b"\n"):
        line = stream.readline(1 << 20)
    return None


def _is_spread(line: bytes) -> bool:
    """Return whether values may span lines: an array, an open object, or a wide encoding."""
    if b"\0" in line:
        return True
    text = line.strip(b" \t\r\n\xef\xbb\xbf\x1e")
    if text.startswith(b"["):
        return True
    return text.startswith(b"{") and text.endswith((b"{", b"[", b","))


def _one(line: bytes, where: str) -> Numbered | Reject:
    try:
        text = decoded(line).strip("\ufeff \t\r\n\x1e")
        if too_many := _refused(text):
            return Reject(where, too_many)
        return where, json.loads(text)
    except RecursionError:
        return Reject(where, "its JSON is nested too deeply")
    except ValueError as error:
        return Reject(where, f"it is not JSON: {str(error)[:200]}")


def _refused(text: str) -> str:
    if len(text) < MAX_JSON_VALUES:
        return ""
    n_values = text.count(",") + text.count("[") + text.count("{")
    return (
        f"its JSON has more than {MAX_JSON_VALUES:,} values" if n_values > MAX_JSON_VALUES else ""
    )


class _TooManyError(Exception):
    """The value would become too many objects."""


class _Joined:
    """A stream whose first line was put back."""

    def __init__(self, first: bytes, stream: BinaryIO) -> None:
        self._first, self._stream = first, stream

    def read(self, size: int = -1) -> bytes:
        if self._first:
            data = self._first[:size] if size >= 0 else self._first
            self._first = self._first[len(data) :]
            return data + (self._stream.read(size - len(data)) if len(data) < size else b"")
        return self._stream.read(size)


def _spread(stream: _Joined, name: str) -> Iterator[Numbered | Reject]:
    """Yield values that may span lines, each as soon as it is complete."""
    chunks = text_chunks(stream)  # type: ignore[arg-type]  # only `read` is used
    decoder = json.JSONDecoder()
    text, place, number, final = "", 0, 0, False
    inside = False  # inside the outermost array
    n_needed = _WINDOW
    while True:
        while not final and len(text) - place < n_needed:
            chunk = next(chunks, None)
            if chunk is None:
                final = True
            else:
                text, place = text[place:] + chunk, 0
        space = _SPACE.match(text, place)
        place = space.end() if space else place
        if text[place : place + 1] == "]" and inside:
            place, inside = place + 1, False
            continue
        if place >= len(text):
            if final:
                if inside:
                    yield Reject(f"{name}: value {number + 1}", "the array has no end")
                return
            n_needed = _WINDOW
            continue
        if text[place] == "[" and not inside and number == 0:
            place, inside = place + 1, True
            continue
        where = f"{name}: value {number + 1}"
        reason, end = "", place
        try:
            if too_many := _refused(text[place:] if len(text) - place > MAX_JSON_VALUES else ""):
                raise _TooManyError(too_many)
            value, end = decoder.raw_decode(text, place)
        except _TooManyError as error:
            reason, end = str(error), len(text)
        except RecursionError:
            reason = "its JSON is nested too deeply"
        except ValueError as error:
            end = getattr(error, "pos", place)
            if not final and len(text) - place < MAX_ITEM_CHARS:
                n_needed = 2 * (len(text) - place)
                continue
            reason = f"it is not JSON: {str(error)[:200]}"
        if not reason and end >= len(text) and not final and end - place < MAX_ITEM_CHARS:
            n_needed = 2 * (len(text) - place)  # a number may continue
            continue
        number += 1
        n_needed = _WINDOW
        if not reason:
            yield (where, value)
            place = end
            continue
        yield Reject(where, reason)
        following = _NEXT.search(text, max(end, place + 1))
        while following is None and not final:
            chunk = next(chunks, None)
            final = chunk is None
            text, place, end = chunk or "", 0, 0
            following = _NEXT.search(text)
        if following is None:
            return
        place = following.end()
