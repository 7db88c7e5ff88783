"""JSON lines: each object is a document, or a pre-segmented unit.

An array of such objects, or one object over several lines, is also accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith_plugins.sources._json_values import beginning, values

_OWN = {"id", "title", "text", "date", "lang", "source", "words"}


class JsonLines:
    """A source of objects with `text` and optionally `id title date lang source`.

    An object with `words` (word to count) and no text is a pre-segmented unit. Every other field
    becomes metadata. Anything else is a reject, and reading continues.
    """

    def sniff(self, head: bytes) -> float:
        first = beginning(head)
        if not first:
            return 0.0
        if first.startswith("["):
            return 0.5 if first[1:].lstrip()[:1] in ("{", "") else 0.3
        line, separator, _ = first.partition("\n")
        if not separator:
            return 0.6
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return 0.4
        return 0.9

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        for item in values(stream, name):
            if isinstance(item, Reject):
                yield item
            else:
                yield _document(*item)


def _document(where: str, value: object) -> Document | Reject:
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
