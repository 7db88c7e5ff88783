"""Who has arrived: a new story, one seen before, a correction, or a copy under another name.

Decides from the store and from what arrived earlier in the same batch, so that the way in which
a stream is cut into batches does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from segapsith import identity, limits
from segapsith.knowledge import Counters
from segapsith.model import Document, Reject
from segapsith.records import DocumentRecord

__all__ = ["Archive", "Arrival", "Reception", "sound"]


class Archive(Protocol):
    """What must be known about the documents of the past."""

    def document(self, uid: str) -> DocumentRecord | None: ...
    def has_text(self, document: int, digest: str) -> bool: ...
    def stories_with(self, digest: str) -> list[DocumentRecord]: ...


@dataclass(frozen=True, slots=True)
class Arrival:
    """A document and what it turned out to be.

    `before` is what it was before a correction; `accepted` says that the clock counted it now;
    `known` that its text was there already under this identity, so there is nothing to read.
    """

    document: Document
    digest: str
    record: DocumentRecord
    before: DocumentRecord | None = None
    accepted: bool = False
    known: bool = False


class Reception:
    """Receives the documents of one batch, in order."""

    def __init__(self, archive: Archive, counters: Counters, run: int) -> None:
        self._archive = archive
        self._counters = counters
        self._run = run
        self._by_uid: dict[str, DocumentRecord] = {}
        self._by_id: dict[int, DocumentRecord] = {}
        self._texts: set[tuple[int, str]] = set()
        self._stories: dict[str, set[int]] = {}
        self._story_text: dict[int, str] = {}

    def receive(self, document: Document) -> Arrival:
        """Who this is. New documents get their numbers here."""
        digest = identity.text_hash(document)
        document = replace(document, uid=document.uid or f"sha256:{digest[:32]}")
        present = self._by_uid.get(document.uid) or self._archive.document(document.uid)
        if present is None:
            return self._new(document, digest)
        if (present.id, digest) in self._texts or self._archive.has_text(present.id, digest):
            return Arrival(document, digest, present, known=True)
        return self._correction(document, digest, present)

    def _new(self, document: Document, digest: str) -> Arrival:
        original = self._original(digest)
        ordinal = None if original is not None else self._accept()
        record = DocumentRecord(
            self._counters.document, document.uid, ordinal, 1, original, self._run
        )
        self._counters.document += 1
        self._enter(record, digest)
        return Arrival(document, digest, record, accepted=ordinal is not None)

    def _correction(self, document: Document, digest: str, present: DocumentRecord) -> Arrival:
        ordinal = present.ordinal if present.ordinal is not None else self._accept()
        record = replace(present, version=present.version + 1, duplicate_of=None, ordinal=ordinal)
        self._enter(record, digest)
        return Arrival(document, digest, record, present, accepted=present.ordinal is None)

    def _accept(self) -> int:
        self._counters.ordinal += 1
        return self._counters.ordinal

    def _original(self, digest: str) -> int | None:
        """The earliest story that has this text now."""
        stories = set(self._stories.get(digest, ()))
        for found in self._archive.stories_with(digest):
            present = self._by_id.get(found.id, found)
            if present.version == found.version and present.duplicate_of is None:
                stories.add(found.id)
                break  # they come by id
        return min(stories, default=None)

    def _enter(self, record: DocumentRecord, digest: str) -> None:
        if record.id in self._story_text:  # its earlier text is no longer a story
            self._stories[self._story_text.pop(record.id)].discard(record.id)
        self._by_uid[record.uid] = record
        self._by_id[record.id] = record
        self._texts.add((record.id, digest))
        if record.duplicate_of is None:
            self._stories.setdefault(digest, set()).add(record.id)
            self._story_text[record.id] = digest


def sound(item: Document | Reject) -> Document | Reject:
    """The item cleaned, or the reason why it cannot be taken."""
    if isinstance(item, Reject):
        return Reject(identity.clean(item.name), identity.clean(item.reason))
    document = identity.cleaned(item)
    name = document.uid or document.title[:60] or "(no id)"
    if len(document.uid) > limits.MAX_UID_CHARS:
        return Reject(name[:100], f"its id has more than {limits.MAX_UID_CHARS} characters")
    if document.bag is not None:
        return _sound_bag(document, name)
    if not document.text.strip():
        return Reject(name, "it has neither a title nor a text")
    if len(document.text) > limits.MAX_TEXT_CHARS:
        return Reject(name, f"its text has more than {limits.MAX_TEXT_CHARS:,} characters")
    return document


def _sound_bag(document: Document, name: str) -> Document | Reject:
    bag = document.bag or {}
    for word, count in bag.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            return Reject(name, f"the count of {word!r} is {count!r}, not a whole number from 1 on")
        if not word or len(word) > limits.MAX_WORD_CHARS:
            return Reject(
                name, f"{word[:40]!r} is not a word of 1 to {limits.MAX_WORD_CHARS} characters"
            )
    if not bag:
        return Reject(name, "it has no words")
    if sum(bag.values()) > limits.MAX_BAG_WORDS:
        return Reject(name, f"it has more than {limits.MAX_BAG_WORDS:,} words")
    return document
