"""JSON values of a stream: one per line, in an array, in sequence, or a single one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from segapsith import Document, Reject
from segapsith.io.encoding import decoded, text_chunks
from segapsith.limits import MAX_ITEM_CHARS, MAX_JSON_VALUES, MAX_LINE_BYTES

__all__ = ["Numbered", "beginning", "document_of", "is_by_lines", "value_of", "values"]

Numbered = tuple[str, object]
"""The place of a value in the input, and the value."""

_OWN = {"id", "title", "text", "date", "lang", "source", "words"}
"""Fields that are not metadata."""

_SPACE = re.compile(r"[\s,\x1e]*")
_NEXT = re.compile(r"\n\s*(?=[{\[])")
_WINDOW = 1 << 20
"""Characters that are decoded at a time; a value may be longer."""

_DECODER = json.JSONDecoder()


def beginning(head: bytes) -> str:
    """Return the beginning of a stream without byte order mark and blanks, or '' if not JSON."""
    text = decoded(head).lstrip("\ufeff \t\r\n\x1e")
    return text if text[:1] in ("{", "[") else ""


def is_by_lines(head: bytes) -> bool:
    """Return whether a stream with this beginning has one value per line."""
    line, end, _ = head.lstrip().partition(b"\n")
    return beginning(line).startswith("{") and not (end and _is_spread(line))


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
            yield value_of(line, where)
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


def value_of(line: bytes, where: str) -> Numbered | Reject:
    """Return the value of one line with its place, or a reject."""
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


class _Window:
    """The decoded text of a stream that has not been read yet."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self.text, self.place, self.final = "", 0, False

    def fill(self, n_needed: int) -> None:
        """Read until there are `n_needed` characters, or the stream ends."""
        while not self.final and len(self.text) - self.place < n_needed:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.final = True
            else:
                self.text, self.place = self.text[self.place :] + chunk, 0

    def skip_space(self) -> str:
        """Skip blanks and commas, and return the next character, or an empty string."""
        if space := _SPACE.match(self.text, self.place):
            self.place = space.end()
        return self.text[self.place : self.place + 1]

    def skip_to_next(self, after: int) -> bool:
        """Skip to the next line that may begin a value; return whether there is one."""
        following = _NEXT.search(self.text, max(after, self.place + 1))
        while following is None and not self.final:
            chunk = next(self._chunks, None)
            self.final = chunk is None
            self.text, self.place = chunk or "", 0
            following = _NEXT.search(self.text)
        if following is None:
            return False
        self.place = following.end()
        return True


class _Decoded(NamedTuple):
    """A decoded value and its end; without a value, the reason and the place of the fault."""

    value: object
    end: int
    reason: str = ""


def _decoded(window: _Window) -> _Decoded | None:
    """Return the next value, or None if it may continue after the text of the window."""
    text, place = window.text, window.place
    may_continue = not window.final and len(text) - place < MAX_ITEM_CHARS
    if too_many := _refused(text[place:] if len(text) - place > MAX_JSON_VALUES else ""):
        return _Decoded(None, len(text), too_many)
    try:
        value, end = _DECODER.raw_decode(text, place)
    except RecursionError:
        return _Decoded(None, place, "its JSON is nested too deeply")
    except ValueError as error:
        reason = f"it is not JSON: {str(error)[:200]}"
        return None if may_continue else _Decoded(None, getattr(error, "pos", place), reason)
    if end >= len(text) and may_continue:
        return None  # it may be the beginning of a longer number
    return _Decoded(value, end)


def _spread(stream: _Joined, name: str) -> Iterator[Numbered | Reject]:
    """Yield values that may span lines, each as soon as it is complete."""
    window = _Window(text_chunks(stream))  # type: ignore[arg-type]  # only `read` is used
    number = 0
    in_array = False  # inside the outermost array
    n_needed = _WINDOW
    while True:
        window.fill(n_needed)
        sign = window.skip_space()
        where = f"{name}: value {number + 1}"
        if sign == "" and window.final:
            if in_array:
                yield Reject(where, "the array has no end")
            return
        if sign == "":
            n_needed = _WINDOW
        elif sign == "]" and in_array:
            window.place, in_array = window.place + 1, False
        elif sign == "[" and not in_array and number == 0:
            window.place, in_array = window.place + 1, True
        elif (decoded_value := _decoded(window)) is None:
            n_needed = 2 * (len(window.text) - window.place)
        else:
            number, n_needed = number + 1, _WINDOW
            if not decoded_value.reason:
                yield where, decoded_value.value
                window.place = decoded_value.end
                continue
            yield Reject(where, decoded_value.reason)
            if not window.skip_to_next(decoded_value.end):
                return


def document_of(where: str, value: object) -> Document | Reject:
    """Return the document that an object describes, or a reject with its place and the reason."""
    if not isinstance(value, dict):
        return Reject(where, f"it is {_kind(value)}, not an object")
    uid = value.get("id")
    if isinstance(uid, int) and not isinstance(uid, bool):
        uid = str(uid)
    if uid is not None and not isinstance(uid, str):
        return Reject(where, f"id is {_kind(uid)}, not a string")
    named = f"{where} (id {uid})" if uid else where
    for field in ("title", "text", "date", "lang", "source"):
        if value.get(field) is not None and not isinstance(value[field], str):
            return Reject(named, f"{field} is {_kind(value[field])}, not a string")
    words = value.get("words") if value.get("text") is None else None
    if words is not None and not isinstance(words, dict):
        return Reject(named, f"words is {_kind(words)}, not an object of word to count")
    extra = _OWN if words is not None or "words" not in value else _OWN - {"words"}
    return Document(
        uid=uid or "",
        title=value.get("title") or "",
        body=value.get("text") or "",
        date=value.get("date"),
        lang=value.get("lang") or None,
        source=value.get("source") or "",
        metadata={k: v for k, v in value.items() if k not in extra},
        bag=words,
    )


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}
    names |= {int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), type(value).__name__)
