"""What Python code hands in, as documents: dicts with a text, or with words already counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segapsith.model import Document, Reject

__all__ = ["document_of", "unit_of"]


_STRINGS = frozenset([str])


def document_of(item: Document | Reject | Mapping[str, Any]) -> Document | Reject:
    """The document that a dict describes, or why it does not describe one."""
    if isinstance(item, Document | Reject):
        return item
    if not isinstance(item, Mapping):
        return Reject(repr(item)[:80], f"it is {type(item).__name__}, not a document")
    known = {"id", "text", "title", "date", "lang", "source"}
    fields_ = {k: item.get(k) for k in known}
    wrong = [k for k, v in fields_.items() if v is not None and not isinstance(v, str | int)]
    if wrong:
        return Reject(str(item.get("id", "(no id)")), f"{wrong[0]} is not a string")
    return Document(
        uid="" if fields_["id"] is None else str(fields_["id"]),
        title=str(fields_["title"] or ""),
        body=str(fields_["text"] or ""),
        date=None if fields_["date"] is None else str(fields_["date"]),
        lang=None if not fields_["lang"] else str(fields_["lang"]),
        source=str(fields_["source"] or ""),
        metadata={str(k): v for k, v in item.items() if k not in known},
    )


def unit_of(item: Mapping[str, Any]) -> Document | Reject:
    """The ready unit that a dict describes, or why it does not describe one."""
    words = item.get("words")
    if not isinstance(words, Mapping):
        return Reject(str(item.get("id", "(no id)")), "it has no `words` (word to count)")
    plain = document_of({k: v for k, v in item.items() if k != "words"})
    if isinstance(plain, Reject):
        return plain
    return Document(
        uid=plain.uid,
        date=plain.date,
        lang=plain.lang or "en",
        source=plain.source,
        metadata=plain.metadata,
        bag=words
        if _STRINGS.issuperset(map(type, words))
        else {str(w): c for w, c in words.items()},
    )
