"""JSON lines: one object a line is one document, or one unit that was made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.limits import MAX_LINE_BYTES

_OWN = {"id", "title", "text", "date", "lang", "source", "words"}


class JsonLines:
    """Objects with `text` and, as they have them, `id title date lang source`.

    An object with `words` (word to count) and no text is a ready unit. Every other field is kept
    as metadata. A line that is no such object is a reject; the others go on.
    """

    def sniff(self, head: bytes) -> float:
        first = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not first.startswith(b"{"):
            return 0.0
        line, separator, _ = first.partition(b"\n")
        if not separator:
            return 0.6
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return 0.4
        return 0.9

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        number = 0
        while line := stream.readline(MAX_LINE_BYTES + 1):
            number += 1
            where = f"{name}: line {number}"
            if len(line) > MAX_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_LINE_BYTES + 1)
                yield Reject(where, f"it is longer than {MAX_LINE_BYTES:,} bytes")
                continue
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if line.strip():
                yield _document(line, where)


def _document(line: bytes, where: str) -> Document | Reject:
    try:
        value = json.loads(line)
    except RecursionError:
        return Reject(where, "its JSON is nested too deeply")
    except ValueError as error:
        return Reject(where, f"it is not JSON: {error}")
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


@hookimpl
def register_sources() -> Mapping[str, type[JsonLines]]:
    return {"jsonl": JsonLines}
