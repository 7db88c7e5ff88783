"""Documents from dicts, with a text or with words already counted, and deliveries of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, overload, runtime_checkable

from segapsith.model import Document, FeedState, Reject

__all__ = ["Delivery", "Item", "Items", "KeyedItems", "delivered", "document_of", "unit_of"]


_FIELDS = frozenset({"id", "text", "title", "date", "lang", "source"})
_FIELD_TYPES = (str, int)


def document_of(item: Document | Reject | Mapping[str, Any]) -> Document | Reject:
    """Return the document that a dict describes, or a reject with the reason."""
    if isinstance(item, Document | Reject):
        return item
    if not isinstance(item, Mapping):
        return Reject(repr(item)[:80], f"expected a document or a dict, not {type(item).__name__}")
    invalid = _invalid_field(item)
    if invalid is not None:
        return invalid
    return Document(
        uid=_text(item.get("id")),
        title=str(item.get("title") or ""),
        body=str(item.get("text") or ""),
        date=_text(item.get("date"), None),
        lang=str(item["lang"]) if item.get("lang") else None,
        source=str(item.get("source") or ""),
        metadata={str(k): v for k, v in item.items() if k not in _FIELDS},
    )


def unit_of(item: Mapping[str, Any]) -> Document | Reject:
    """Return the pre-segmented unit that a dict describes, or a reject with the reason."""
    words = item.get("words")
    if not isinstance(words, Mapping):
        return Reject(str(item.get("id", "(no id)")), "no `words` (a mapping of word to count)")
    invalid = _invalid_field(item)
    if invalid is not None:
        return invalid
    try:
        "".join(words)
    except TypeError:  # not all words are strings
        words = {str(word): count for word, count in words.items()}
    return Document(
        uid=_text(item.get("id")),
        date=_text(item.get("date"), None),
        lang=str(item.get("lang") or "en"),
        source=str(item.get("source") or ""),
        metadata={str(k): v for k, v in item.items() if k not in _FIELDS and k != "words"},
        bag=words,
    )


def _invalid_field(item: Mapping[str, Any]) -> Reject | None:
    """Return a reject if one of the fields has a type other than string or integer."""
    for name, value in item.items():
        if name in _FIELDS and value is not None and not isinstance(value, _FIELD_TYPES):
            return Reject(str(item.get("id", "(no id)")), f"{name} is not a string")
    return None


@overload
def _text(value: Any) -> str: ...
@overload
def _text(value: Any, absent: None) -> str | None: ...
def _text(value: Any, absent: str | None = "") -> str | None:
    return absent if value is None else str(value)


Item = Document | Reject | FeedState


@runtime_checkable
class Delivery(Protocol):
    """Items with a key: an interrupted ingest continues when the same key is given again."""

    @property
    def key(self) -> str: ...
    def items(self) -> Iterator[Item]: ...


Items = Iterable[Document | Reject | Mapping[str, Any]] | Delivery
"""What can be ingested: documents, dicts that describe documents, or a delivery."""


@dataclass(frozen=True, slots=True)
class KeyedItems:
    """A delivery of existing items; with an empty key an interrupted ingest starts again."""

    key: str
    made: Iterable[Item]

    def items(self) -> Iterator[Item]:
        return iter(self.made)


def delivered(documents: Items) -> tuple[Iterator[Item], str]:
    """Return the items of what is to be ingested, and its key (empty if it has none)."""
    if isinstance(documents, Delivery):
        return documents.items(), documents.key
    return map(document_of, documents), ""
