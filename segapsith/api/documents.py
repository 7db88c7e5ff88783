"""Documents on their way in and out: deliveries to ingest, documents that were forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from segapsith.io.dicts import document_of
from segapsith.model import Document, FeedState, Reject, Result

__all__ = [
    "AllowedAgain",
    "Delivery",
    "Forgotten",
    "ForgottenDocument",
    "Item",
    "Items",
    "KeyedItems",
    "delivered",
]

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


@dataclass(frozen=True, slots=True)
class ForgottenDocument(Result):
    """A document that was forgotten, and the copy that took its place, if there is one."""

    document: str
    successor: str | None
    units: int
    run: int | None = None
    """Only if one document was named."""

    def keys(self) -> list[str]:
        """Return the names of the fields, without `run` if it is None."""
        names = ["document", "successor", "units"]
        return names if self.run is None else ["run", *names]


@dataclass(frozen=True, slots=True)
class Forgotten(Result):
    """Documents that were forgotten in one run."""

    run: int
    documents: list[ForgottenDocument]
    units: int


@dataclass(frozen=True, slots=True)
class AllowedAgain(Result):
    """Forgotten documents that a later delivery may bring back."""

    run: int
    documents: list[str]
    held: int
    """Texts that stay refused because they were forgotten with other documents too."""
