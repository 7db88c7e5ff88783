"""The first stage of ingest: what each document is before its text is read.

It is a new story, one seen before, a correction, a withdrawal, a copy or a brief of another story.
This is decided from the store and from what arrived earlier in the same batch, so that the way in
which a stream is cut into batches does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, cast

from segapsith import limits
from segapsith.domains.values import BagColumns
from segapsith.engine import clock
from segapsith.engine.records import DocumentRecord, ReadyColumns
from segapsith.engine.runs import RunSummary
from segapsith.engine.state import State
from segapsith.engine.storage import Storage
from segapsith.intake import fingerprints
from segapsith.intake.bag_batch import BagBatch
from segapsith.intake.documents import (
    Notice,
    as_json,
    clean,
    clean_bag,
    cleaned,
    is_clean,
    marked,
    notice,
    text_hash,
    utc,
)
from segapsith.model import Document, Reject

__all__ = [
    "Arrival",
    "ArrivalClassifier",
    "Received",
    "ready_columns",
    "receive",
    "sound",
    "sound_all",
    "stretches",
]


NO_BAGS = BagBatch.of([])
"""Bags of items without a pre-segmented unit."""

_REPLACING = (Notice.CORRECTION, Notice.WITHDRAWAL)


class Arrival(NamedTuple):
    """A document and what it turned out to be.

    `before` is what it was before a correction; `accepted` is true if the clock counted it now;
    `known` if its text was there already under this identity, so there is nothing to read.
    `replaced` are stories that it takes the place of, as they were: the brief of a fuller copy, or
    the text that it corrects under another identity; `displaced` are they and their copies, as
    they are now. `notice` is what its headline states about an earlier story: the text of a
    withdrawal is stored, and not learned from. `bag_place` is where the words of a
    pre-segmented unit are among those of the batch. `ticks` is true if the clock ticks when it has
    been learned.
    """

    document: Document
    digest: str
    record: DocumentRecord
    before: DocumentRecord | None = None
    accepted: bool = False
    known: bool = False
    signature: bytes = b""
    replaced: tuple[DocumentRecord, ...] = ()
    displaced: tuple[DocumentRecord, ...] = ()
    notice: Notice = Notice.NONE
    bag_place: int = -1
    ticks: bool = False

    @property
    def is_correction(self) -> bool:
        """Whether it corrects or withdraws an earlier text."""
        noticed = self.notice is not Notice.NONE
        return self.before is not None or (bool(self.replaced) and noticed)

    @property
    def is_duplicate(self) -> bool:
        """Whether it brings no new story."""
        return self.known or bool(self.replaced) or self.record.duplicate_of is not None


@dataclass(slots=True)
class Received:
    """What a batch of items turned out to be."""

    bags: BagBatch
    """The words of its pre-segmented units."""
    arrivals: list[Arrival] = field(default_factory=list)
    """The documents whose text is new under their identity, in order."""
    sightings: list[tuple[int, str]] = field(default_factory=list)
    """Document and source, where a source delivered a document for the first time."""
    rejects: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of what cannot be taken."""
    summary: RunSummary = field(default_factory=RunSummary)

    def epochs(self) -> Iterator[list[Arrival]]:
        """Cut the arrivals where the clock ticks: at most after the last of each part."""
        part: list[Arrival] = []
        for arrival in self.arrivals:
            part.append(arrival)
            if arrival.ticks:
                yield part
                part = []
        if part:
            yield part


def receive(
    items: Sequence[Document | Reject],
    storage: Storage,
    state: State,
    *,
    run: int,
    already: int = 0,
) -> Received:
    """Decide what each item of a batch is; new documents and stories get their numbers.

    The first `already` items were committed before the run was interrupted: they are not counted
    in the summary again.
    """
    checked, bags = sound_all(items)
    received = Received(bags)
    summary = received.summary
    documents = (item for item in checked if isinstance(item, Document))
    classifier = ArrivalClassifier(storage, state, run)
    arrivals = classifier.receive_all(documents, bags)
    for position, item in enumerate(checked):
        counted = position >= already
        if isinstance(item, Reject):
            if counted:
                summary.reject(item.name, item.reason)
                received.rejects.append((item.name, item.reason))
            continue
        arrival = next(arrivals)
        if arrival is None:
            if counted:
                summary.read += 1
                summary.forgotten += 1
            continue
        number, source = arrival.record.id, item.source
        if source and not (arrival.known and storage.seen(number, source)):
            received.sightings.append((number, source))
        if not arrival.known:
            received.arrivals.append(arrival)
            counted = True
        if counted:
            _count(summary, arrival)
    return received


def _count(summary: RunSummary, arrival: Arrival) -> None:
    summary.read += 1
    if arrival.bag_place >= 0 and arrival.accepted and arrival.before is None:
        summary.new += 1  # as most pre-segmented units
    elif arrival.is_correction:
        summary.corrected += 1
    elif arrival.is_duplicate:
        summary.duplicate += 1
    else:
        summary.new += 1


class ArrivalClassifier:
    """Receives the documents of one batch, in order.

    With a window of earlier stories, texts that repeat one of them are recognised too; without,
    only equal texts are.
    """

    def __init__(
        self,
        storage: Storage,
        state: State,
        run: int,
    ) -> None:
        self._storage = storage
        self._state = state
        self._run = run
        self._window = state.window
        self._uids: set[str] = set()
        """Of the documents that arrive, the identities and texts that the store has."""
        self._digests: set[str] = set()
        self._forgotten_uids: set[str] = set()
        """Of the documents that arrive, the identities and texts that must not come back."""
        self._forgotten_texts: set[str] = set()
        self._by_uid: dict[str, DocumentRecord] = {}
        self._by_id: dict[int, DocumentRecord] = {}
        self._texts: set[tuple[int, str]] = set()
        self._stories: dict[str, set[int]] = {}
        self._story_text: dict[int, str] = {}
        self._units: dict[str, int] = {}
        """Pre-segmented units by their text that are not in `_texts` and `_stories` yet."""
        self._unit_texts: dict[int, str] = {}

    def receive_all(
        self, documents: Iterable[Document], bag_batch: BagBatch
    ) -> Iterator[Arrival | None]:
        """Yield what each document is, in order; None for one that was forgotten.

        `bag_batch` has the words of the pre-segmented units. New documents get their numbers here.
        """
        hashes = bag_batch.hashes() if bag_batch is not NO_BAGS else iter(())
        called: list[Document] = []  # two lists: pairs would keep the garbage collector busy
        digests: list[str] = []
        for document in documents:
            if document.bag is not None:
                document, digest = _called(document, next(hashes))
            else:
                document, digest = _read(document)
            called.append(document)
            digests.append(digest)
        uids = [document.uid for document in called]
        self._uids = self._storage.known_uids(uids)
        self._digests = self._storage.known_texts(digests)
        self._forgotten_uids = self._storage.forgotten_uids(uids)
        self._forgotten_texts = self._storage.forgotten_texts(digests)
        known = self._uids | self._forgotten_uids
        known_texts = self._digests | self._forgotten_texts
        n_bags = 0
        for document, digest in zip(called, digests, strict=True):
            if document.bag is None:
                yield self._receive(document, digest)
                continue
            uid = document.uid
            if (
                uid in known
                or uid in self._by_uid
                or digest in known_texts
                or digest in self._units
                or digest in self._stories
            ):
                arrival = self._receive(document, digest)
                yield arrival and arrival._replace(bag_place=n_bags)
            else:
                yield self._new_unit(document, digest, n_bags)
            n_bags += 1

    def _new_unit(self, document: Document, digest: str, place: int) -> Arrival:
        """Return the arrival of a pre-segmented unit whose identity and words are both new."""
        counters = self._state.counters
        ordinal, number = counters.ordinal + 1, counters.document
        counters.ordinal, counters.document = ordinal, number + 1
        record = DocumentRecord(number, document.uid, ordinal, 1, None, self._run)
        self._by_uid[document.uid] = self._by_id[number] = record
        self._units[digest], self._unit_texts[number] = number, digest
        ticks = ordinal == self._state.next_tick and self._ticks(ordinal)
        # by place, since names take longer
        return Arrival(
            document, digest, record, None, True, False, b"", (), (), Notice.NONE, place, ticks
        )

    def _look_up_unit(self, digest: str) -> None:
        """Enter the unit with this text like other stories: a document may repeat or correct it."""
        number = self._units.pop(digest, None)
        if number is not None:
            del self._unit_texts[number]
            self._texts.add((number, digest))
            self._stories.setdefault(digest, set()).add(number)
            self._story_text[number] = digest

    def _receive(self, document: Document, digest: str) -> Arrival | None:
        present = self._by_uid.get(document.uid)
        if self._units:
            self._look_up_unit(digest)
            if present is not None and present.id in self._unit_texts:
                self._look_up_unit(self._unit_texts[present.id])
        if present is None and document.uid in self._uids:
            present = self._storage.document(document.uid)
        if present is not None and (
            (present.id, digest) in self._texts or self._storage.has_text(present.id, digest)
        ):
            # a copy of a forgotten text that was not forgotten itself is still in the store
            return Arrival(document, digest, present, known=True)
        if document.uid in self._forgotten_uids or digest in self._forgotten_texts:
            return None
        if present is None:
            return self._new(document, digest)
        return self._correction(document, digest, present)

    def _new(self, document: Document, digest: str) -> Arrival:
        original, replaced = self._original(digest), None
        if document.bag is not None:  # nothing to recognise it by, and no headline
            record = self._numbered(document, original)
            self._enter(record, digest, None)
            accepted = original is None
            return Arrival(
                document, digest, record, accepted=accepted, ticks=self._ticks(record.ordinal)
            )
        signature = self._signature(document)
        announced = notice(document.title, document.body)
        if original is None and signature is not None:
            original, replaced = self._repeated(announced, signature)
        record = self._numbered(document, original)
        self._enter(record, digest, signature)
        before, after = self._displace(replaced, record) if replaced is not None else ((), ())
        return Arrival(
            document,
            digest,
            record,
            accepted=original is None,
            ticks=self._ticks(record.ordinal),
            signature=bytes(signature) if signature is not None else b"",
            replaced=before,
            displaced=after,
            notice=announced,
        )

    def _numbered(self, document: Document, original: int | None) -> DocumentRecord:
        """Return a document with the next number; the clock counts it unless it repeats a story."""
        ordinal = None if original is not None else self._accept()
        number = self._state.counters.document
        self._state.counters.document += 1
        return DocumentRecord(number, document.uid, ordinal, 1, original, self._run)

    def _correction(self, document: Document, digest: str, present: DocumentRecord) -> Arrival:
        ordinal = present.ordinal if present.ordinal is not None else self._accept()
        record = present._replace(version=present.version + 1, duplicate_of=None, ordinal=ordinal)
        signature = self._signature(document)
        self._enter(record, digest, signature)
        return Arrival(
            document,
            digest,
            record,
            present,
            accepted=present.ordinal is None,
            ticks=present.ordinal is None and self._ticks(ordinal),
            signature=bytes(signature) if signature is not None else b"",
            notice=notice(document.title, document.body),
        )

    def _signature(self, document: Document) -> fingerprints.Signature | None:
        """Return the fingerprint of a text; None for a pre-segmented unit, which has no text."""
        if document.bag is not None:
            return None
        prepared = document.prepared
        if prepared is not None and prepared.is_of(document):
            return fingerprints.Signature.of(prepared.signature)
        return fingerprints.signature(document.text)

    def _repeated(
        self, announced: Notice, signature: fingerprints.Signature
    ) -> tuple[int | None, int | None]:
        """Return the story that this text repeats, or the story that it takes the place of."""
        if self._window is None:
            return None, None
        if announced in _REPLACING:
            corrected = self._window.find(signature, fingerprints.CORRECTION)
            return None, corrected.document if corrected is not None else None
        match = self._window.find(signature)
        if match is None:
            return None, None
        return (None, match.document) if match.verdict.kind == "fuller" else (match.document, None)

    def _displace(
        self, story: int, by: DocumentRecord
    ) -> tuple[tuple[DocumentRecord, ...], tuple[DocumentRecord, ...]]:
        """Let a story and its copies follow another story; return what they were and are."""
        record = self._by_id.get(story) or self._storage.document_by_id(story)
        assert record is not None, f"story {story} is in the window but not in the store"
        copies = {copy.id: copy for copy in self._storage.duplicates_of(story)}
        copies |= {n: r for n, r in self._by_id.items() if n in copies or r.duplicate_of == story}
        followers = [r for _, r in sorted(copies.items()) if r.duplicate_of == story]
        before = (record, *followers)
        after = tuple(record._replace(duplicate_of=by.id) for record in before)
        for record in after:
            self._by_uid[record.uid] = self._by_id[record.id] = record
        if story in self._story_text:
            self._stories[self._story_text.pop(story)].discard(story)
        if self._window is not None:
            self._window.remove(story)
        return before, after

    def _accept(self) -> int:
        self._state.counters.ordinal += 1
        return self._state.counters.ordinal

    def _ticks(self, ordinal: int | None) -> bool:
        """Return whether the clock ticks after the story that was accepted with this ordinal."""
        if ordinal != self._state.next_tick:
            return False
        self._state.next_tick = clock.next_tick(ordinal)
        return True

    def _original(self, digest: str) -> int | None:
        """Return the earliest story that has this text now."""
        if digest not in self._stories and digest not in self._digests:
            return None
        stories = set(self._stories.get(digest, ()))
        stored = self._storage.stories_with(digest) if digest in self._digests else ()
        for record in stored:
            present = self._by_id.get(record.id, record)
            if present.version == record.version and present.duplicate_of is None:
                stories.add(record.id)
                break  # they come by id
        return min(stories, default=None)

    def _enter(
        self, record: DocumentRecord, digest: str, signature: fingerprints.Signature | None
    ) -> None:
        if record.id in self._story_text:  # its earlier text is no longer a story
            self._stories[self._story_text.pop(record.id)].discard(record.id)
        self._by_uid[record.uid] = record
        self._by_id[record.id] = record
        self._texts.add((record.id, digest))
        if record.duplicate_of is None:
            self._stories.setdefault(digest, set()).add(record.id)
            self._story_text[record.id] = digest
            if self._window is not None and signature is not None:
                self._window.add(record.id, record.ordinal or 0, signature)


def _read(document: Document) -> tuple[Document, str]:
    """Return a text with its notices and its identity, and its hash."""
    document = marked(document)
    prepared = document.prepared
    if prepared is not None and prepared.is_of(document):
        return _called(document, prepared.digest)
    return _called(document, text_hash(document))


def _called(document: Document, digest: str) -> tuple[Document, str]:
    """Return a document with its identity, and its hash."""
    if not document.uid:
        document = replace(document, uid=f"sha256:{digest[:32]}")
    return document, digest


def sound_all(items: Sequence[Document | Reject]) -> tuple[list[Document | Reject], BagBatch]:
    """Return `sound` of each item, and the bags of the pre-segmented units.

    Words and counts are checked together; if something is wrong, each item is checked by itself.
    """
    bags = _bags(items)
    if not bags:
        return [_sound_apart(item) for item in items], NO_BAGS
    bag_batch = BagBatch.if_sound(bags)
    if bag_batch is None:
        checked = [sound(item) for item in items]
        return checked, BagBatch.of(_bags(checked))
    if len(bags) == len(items) and _are_plain(cast("Sequence[Document]", items)):
        return list(items), bag_batch
    checked = [_sound_apart(item) for item in items]
    bags = _bags(checked)
    return checked, bag_batch if len(bags) == len(bag_batch) else BagBatch.of(bags)


def _bags(items: Iterable[Document | Reject]) -> list[Mapping[str, int]]:
    return [item.bag for item in items if isinstance(item, Document) and item.bag is not None]


def _are_plain(units: Sequence[Document]) -> bool:
    """Return whether pre-segmented units have no text, and nothing that `_sound_apart` changes."""
    if any(unit.title or unit.body for unit in units):
        return False
    uids = [unit.uid for unit in units]
    if max(map(len, uids)) > limits.MAX_UID_CHARS or uids != list(map(str.strip, uids)):
        return False
    metadata = [unit.metadata for unit in units if unit.metadata]
    values = list(chain.from_iterable(given.values() for given in metadata))
    if not {str}.issuperset(map(type, values)):
        return False
    dates, langs = [unit.date or "" for unit in units], [unit.lang or "" for unit in units]
    sources = [unit.source for unit in units]
    given = chain(uids, dates, langs, sources, *metadata, cast("list[str]", values))
    return is_clean("".join(given))


def sound(item: Document | Reject) -> Document | Reject:
    """Return the item cleaned, or the reason why it cannot be taken."""
    checked = _sound_apart(item)
    if isinstance(checked, Reject) or checked.bag is None:
        return checked
    bag = clean_bag(checked.bag)
    return _sound_bag(checked if bag is checked.bag else replace(checked, bag=bag), bag)


def _sound_apart(item: Document | Reject) -> Document | Reject:
    """Return `sound` of an item without checking the words of a pre-segmented unit."""
    if isinstance(item, Reject):
        return Reject(clean(item.name), clean(item.reason))
    document = cleaned(item)
    if len(document.uid) > limits.MAX_UID_CHARS:
        reason = f"its id has more than {limits.MAX_UID_CHARS} characters"
        return Reject(_name(document)[:100], reason)
    if document.bag is not None:
        return _without_text(document) if document.text else document
    if not document.text.strip():
        return Reject(_name(document), "it has neither a title nor a text")
    if len(document.text) > limits.MAX_TEXT_CHARS:
        reason = f"its text has more than {limits.MAX_TEXT_CHARS:,} characters"
        return Reject(_name(document), reason)
    return document


def _without_text(document: Document) -> Document:
    """Return a pre-segmented unit without text; its title becomes metadata."""
    metadata = document.metadata
    if document.title:
        metadata = {"title": document.title, **metadata}
    return replace(document, title="", body="", metadata=metadata)


def _name(document: Document) -> str:
    return document.uid or document.title[:60] or "(no id)"


def _sound_bag(document: Document, bag: Mapping[str, int]) -> Document | Reject:
    name = _name(document)
    for word, count in bag.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            return Reject(
                name, f"the count of {word!r} is {count!r}, not a whole number of at least 1"
            )
        if not word or len(word) > limits.MAX_WORD_CHARS:
            return Reject(
                name, f"{word[:40]!r} is not a word of 1 to {limits.MAX_WORD_CHARS} characters"
            )
    if not bag:
        return Reject(name, "it has no words")
    if sum(bag.values()) > limits.MAX_BAG_WORDS:
        return Reject(name, f"it has more than {limits.MAX_BAG_WORDS:,} words")
    return document


# -- pre-segmented units as columns ------------------------------------------------------------


def stretches(arrivals: Sequence[Arrival]) -> Iterator[tuple[int, int, bool]]:
    """Cut arrivals into parts: first, end, and whether every document of the part is new."""
    first = 0
    for i, arrival in enumerate(arrivals):
        if arrival.before is not None:
            if first < i:
                yield first, i, True
            yield i, i + 1, False
            first = i + 1
    if first < len(arrivals):
        yield first, len(arrivals), True


def ready_columns(
    arrivals: Sequence[Arrival],
    lang: str,
    units: BagColumns,
    n_words: Sequence[int],
    *,
    first_version: int,
    first_unit: int,
    epoch: int,
    run: int,
) -> ReadyColumns:
    """Return new documents as columns, not placed yet."""
    documents = [arrival.document for arrival in arrivals]
    original = [document.date for document in documents]
    n = len(arrivals)
    return ReadyColumns(
        lang=lang,
        run=run,
        epoch=epoch,
        first_version=first_version,
        first_unit=first_unit,
        documents=[arrival.record.id for arrival in arrivals],
        hashes=[arrival.digest for arrival in arrivals],
        dates=list(map(utc, original)),
        dates_original=original,
        sources=[document.source for document in documents],
        metadata=[as_json(document.metadata) for document in documents],
        n_words=n_words,
        units=units,
        domains=[0] * n,
        scores=[0.0] * n,
        runners_up=[None] * n,
        runner_up_scores=[0.0] * n,
        events=[0] * n,
    )
