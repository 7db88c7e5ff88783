"""The third stage of ingest: number the words, weigh the units, place them; and the way back.

An `UpdateBuilder` changes the state and notes in an `Update` what has to be stored. Everything
that changes a store is built by one: ingest, forgetting, undoing, changes of domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains import threshold_control
from segapsith.domains.events import Mark, column_vectors, day_number, next_day, story_vectors
from segapsith.domains.values import LABEL_WORDS, TOP_WORDS, BagColumns, DomainWords, Story
from segapsith.engine.arrivals import Arrival, Received, ready_columns, stretches
from segapsith.engine.components import Components
from segapsith.engine.reading import Readings
from segapsith.engine.records import (
    Assignment,
    Counters,
    DocumentRecord,
    DomainRecord,
    EpochRecord,
    LineageEntry,
    ReadyColumns,
    ThresholdRecord,
    UnitRecord,
    Update,
    VersionRecord,
    WordFrequencies,
    assign,
    days_of,
    spill,
    units_at,
)
from segapsith.engine.runs import RunSummary
from segapsith.engine.state import ReadText, Ready, State
from segapsith.engine.storage import Storage
from segapsith.errors import StorageError
from segapsith.intake.bag_batch import BagBatch
from segapsith.intake.documents import EMBARGO, Notice, as_json, utc
from segapsith.languages import BUILT_IN, has_pack
from segapsith.lexicon.cooccurrence import Pairs, PairSums, count_pairs
from segapsith.lexicon.multiword_terms import Candidates, TermCounts

__all__ = ["UpdateBuilder", "place"]

LEAST_COLUMNS = 4
"""Fewer pre-segmented units than these are learned one by one: columns would take longer."""

_NO_SUMS = DomainWords(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
_NO_WORDS, _NO_JOINS = np.zeros(0, np.int32), np.zeros(0, np.uint8)
"""Words of the text of a pre-segmented unit, which has none."""

Ints = NDArray[np.int32]


def place(
    arrivals: Sequence[Arrival],
    langs: Sequence[str],
    readings: Iterable[Readings],
    bags: BagBatch,
    builder: UpdateBuilder,
) -> None:
    """Learn arrivals of one epoch, in order; the clock may tick after the last.

    `langs` are their languages, `readings` those of the texts among them, `bags` the words of the
    pre-segmented units. Words are numbered in the order in which they come.
    """
    read = _ReadingQueue(readings)
    kinds = [(lang, a.bag_place >= 0) for lang, a in zip(langs, arrivals, strict=True)]
    start = 0
    for (lang, is_bag), alike in groupby(kinds):
        part = arrivals[start : start + sum(1 for _ in alike)]
        start += len(part)
        if is_bag:
            places = [arrival.bag_place for arrival in part]
            builder.learn_ready(part, lang, *builder.state.bags(lang, bags, places))
            continue
        texts = read.take(lang, len(part), builder.state)
        for arrival in part:
            builder.learn(arrival, lang, next(texts))


class _ReadingQueue:
    """Readings that are placed text by text; words are numbered in the order of the texts."""

    def __init__(self, readings: Iterable[Readings]) -> None:
        self._readings = iter(readings)
        self._current: Readings | None = None
        self._of_word = np.zeros(0, np.int32)
        self._at = 0

    def take(self, lang: str, n: int, state: State) -> Iterator[ReadText]:
        """Yield the next `n` texts, which are all in one language."""
        while n > 0:
            if self._current is None or self._at == len(self._current):
                self._current, self._at = next(self._readings), 0
                self._of_word = np.full(len(self._current.vocabulary), -1, np.int32)
            first = self._at
            self._at = min(first + n, len(self._current))
            n -= self._at - first
            yield from state.read_texts(lang, self._current, self._of_word, first, self._at)


class UpdateBuilder:
    """Changes the state and builds the update that stores the change."""

    def __init__(self, state: State, components: Components, storage: Storage, *, run: int) -> None:
        self.state = state
        self.update = Update(run=run)
        self.summary = RunSummary()
        """What was received and learned."""
        self._components = components
        self._storage = storage
        measure = components.measure
        self._compare = None if measure is None else measure.compare_both_ways
        self._first_new_word = len(state.vocabulary)
        self._counts: dict[tuple[str, int], list[tuple[int, Ints, Ints]]] = {}
        """By language and sign: number of texts, their words and how often each occurs."""
        self._words: list[Ints] = []
        self._waiting: list[tuple[str, UnitRecord, int]] = []
        self._domains: set[int] = set()
        self._stories: list[tuple[Story, list[int]]] = []
        """Stories that wait for their events, with their units."""
        self._stories_day = state.counters.day
        """The day of the stream before the first of them."""
        self._marks: list[Mark] = []
        """Where among them the day moves."""
        self._event_of: dict[int, int] = {}
        """The events of units that wait for their domains."""
        self._events: set[int] = set()
        self._terms: dict[str, TermCounts] = {}
        self._joined: dict[tuple[str, int], list[tuple[Ints, NDArray[np.uint8]]]] = {}
        """Words and links of texts whose candidates for terms are not counted yet."""
        self._texts: dict[int, list[Ints]] = {1: [], -1: []}
        self._pairs = PairSums()
        self._arrived: dict[int, set[int]] = {}
        self._grown: dict[int, int] = {}
        self._threshold_unit = state.counters.unit
        """The first unit of this update that the present threshold placed."""
        self._threshold_is_new = False
        """Whether it was set in this update: it is stored even if it placed nothing."""
        self._placed_before = (0, 0)
        """Units placed and domains founded in this update with earlier thresholds."""

    # -- texts -----------------------------------------------------------------------------

    def open_network(self) -> None:
        """Load the network that texts are read with; before anything is received."""
        self.state.network.open(self._storage, self.update)

    def note_received(self, received: Received) -> None:
        """Note what was decided about a batch of items before its texts are read."""
        self.update.sightings = received.sightings
        self.update.rejects = received.rejects
        self.summary = received.summary

    def learn(self, arrival: Arrival, lang: str, text: ReadText | Ready) -> None:
        """Learn a document that arrived; the clock and the threshold may advance after it."""
        version, units = self._records(arrival, lang, text)
        update, record, summary = self.update, arrival.record, self.summary
        if lang not in BUILT_IN and not has_pack(lang):
            summary.count_language(lang)
        summary.embargoed += EMBARGO in arrival.document.metadata
        update.versions.append(version)
        if arrival.before is not None:
            update.changes.append(arrival.before)
            if arrival.before.duplicate_of is None:
                self.take_out(arrival.before)
        update.documents[record.id] = record
        if arrival.replaced:
            update.changes.extend(arrival.replaced)
            for displaced in arrival.replaced:
                if displaced.duplicate_of is None:
                    self.take_out(displaced)
            update.documents.update((displaced.id, displaced) for displaced in arrival.displaced)
        ordinal = record.ordinal or 0
        if arrival.accepted:
            self._advance_day(day_number(version.date), ordinal)
        if record.duplicate_of is None:
            self.add(version, units, ordinal)
            summary.units += len(units)
            summary.units_kept += sum([unit.kept for unit in units])
        else:
            update.units.update((unit.id, unit) for unit in units)
        if arrival.ticks:
            self.tick(ordinal)
        if (
            self.state.controller
            and arrival.accepted
            and threshold_control.is_control_step(ordinal)
        ):
            self._step_threshold(ordinal)

    def learn_ready(
        self, arrivals: Sequence[Arrival], lang: str, units: BagColumns, n_words: list[int]
    ) -> None:
        """Learn pre-segmented units of one language as `learn` does, many at a time."""
        one_by_one = (
            self._compare is not None
            or self.state.domains.settings.prefilter != "none"
            or self.state.controller is not None
        )
        for first, end, are_new in stretches(arrivals):
            if one_by_one or not are_new or end - first < LEAST_COLUMNS:
                for i in range(first, end):
                    self.learn(arrivals[i], lang, Ready(units.bag(i), n_words[i]))
            else:
                part = units.part(first, end)
                self._learn_new(arrivals[first:end], lang, part, n_words[first:end])

    def _learn_new(
        self, arrivals: Sequence[Arrival], lang: str, units: BagColumns, n_words: list[int]
    ) -> None:
        """Learn pre-segmented units of new documents; the clock may tick after the last."""
        self.flush()
        state, update, summary = self.state, self.update, self.summary
        counters = state.counters
        ready = ready_columns(
            arrivals,
            lang,
            units,
            n_words,
            first_version=counters.version,
            first_unit=counters.unit,
            epoch=counters.epoch,
            run=update.run,
        )
        update.ready.append(ready)
        update.documents.update((arrival.record.id, arrival.record) for arrival in arrivals)
        counters.version += len(arrivals)
        counters.unit += len(arrivals)
        if lang not in BUILT_IN and not has_pack(lang):
            for _ in arrivals:
                summary.count_language(lang)
        summary.embargoed += sum([EMBARGO in arrival.document.metadata for arrival in arrivals])
        stories = np.flatnonzero([arrival.accepted for arrival in arrivals])
        if len(stories):
            ordinals = [arrival.record.ordinal or 0 for arrival in arrivals if arrival.accepted]
            self._place_ready(ready, stories, ordinals)
        if arrivals[-1].ticks:
            self.tick(arrivals[-1].record.ordinal or 0)

    def _place_ready(
        self, ready: ReadyColumns, stories: NDArray[np.int64], ordinals: list[int]
    ) -> None:
        """Find the events and domains of those units that are stories, and count their words."""
        state, summary, run = self.state, self.summary, self.update.run
        units = units_at(ready.units, stories)
        day = state.counters.day
        days = days_of([ready.dates[i] for i in stories.tolist()], ordinals, day)
        state.counters.day = days.stream_day
        ones = np.ones(len(stories), np.int64)
        events, closed = state.events.place_columns(
            column_vectors(units, ones),
            np.array([days.own, ordinals, ones], np.int64),
            days.marks,
            day=day,
            run=run,
        )
        self._events.update(events, closed)
        placed, scores = state.domains.place_columns(units, np.array(ordinals, np.int64))
        is_new = assign(ready, stories, placed, scores, events)
        for domain in placed[is_new, 0].tolist():
            self._note_created(domain, ready.lang, {})
        summary.domains_new += int(is_new.sum())
        summary.domains_joined += int((~is_new).sum())
        summary.units += len(stories)
        summary.units_kept += len(stories)
        grown = dict(zip(placed[:, 0].tolist(), ordinals, strict=True))  # the last one counts
        self._domains.update(grown)
        self._grown |= grown
        counts = self._counts.setdefault((ready.lang, 1), [])
        counts.append((len(stories), units.words, units.counts))

    def _records(
        self, arrival: Arrival, lang: str, text: ReadText | Ready
    ) -> tuple[VersionRecord, list[UnitRecord]]:
        """Return the text of an arrival with its words numbered, and its units, not placed yet."""
        state, document = self.state, arrival.document
        counters = state.counters
        version = VersionRecord(
            id=counters.version,
            document=arrival.record.id,
            number=arrival.record.version,
            hash=arrival.digest,
            title=document.title,
            body=document.body,
            date=utc(document.date),
            date_original=document.date,
            lang=lang,
            source=document.source,
            metadata=as_json(document.metadata),
            signature=arrival.signature,
            words=_NO_WORDS if isinstance(text, Ready) else text.words,
            links=_NO_JOINS if isinstance(text, Ready) else text.joins,
            run=self.update.run,
        )
        counters.version += 1
        head = (arrival.record.id, version.id)
        if isinstance(text, Ready):
            units = [
                UnitRecord(counters.unit, *head, 0, 0, 0, 0, text.n_words, 0.0, True,
                           counters.epoch, text.bag)
            ]  # fmt: skip
        else:
            withdrawn = arrival.notice is Notice.WITHDRAWAL
            units = [
                UnitRecord(
                    counters.unit + position,
                    *head,
                    position,
                    unit.start,
                    unit.end,
                    unit.first_word,
                    unit.last_word - unit.first_word,
                    unit.cohesion,
                    unit.kept and not withdrawn,
                    counters.epoch,
                    bag,
                )
                for position, (unit, bag) in enumerate(zip(text.units, text.bags, strict=True))
            ]
        counters.unit += len(units)
        return version, units

    def present_text(self, record: DocumentRecord) -> tuple[VersionRecord, list[UnitRecord]]:
        """Return the present text of a document and its units, from this update or the store."""
        spill(self.update)
        for version in self.update.versions:
            if version.document == record.id and version.number == record.version:
                return version, [u for u in self.update.units.values() if u.version == version.id]
        version = self._storage.version(record.id, record.version)
        stored = self._storage.units_of_version(version.id)
        return version, [self.update.units.get(unit.id, unit) for unit in stored]

    def take_out(self, record: DocumentRecord) -> list[UnitRecord]:
        """Subtract what a document contributed; its units stay, without a domain."""
        self.flush()
        version, units = self.present_text(record)
        self.count(version, units, -1)
        self.leave_event(version, units)
        for unit in units:
            self.leave(unit)
            if unit.assignment is not None:
                self.update.ended[unit.id] = unit.assignment
                self.update.left.add(unit.assignment.domain)
            self.update.units[unit.id] = unit._replace(assignment=None)
        return units

    # -- placing ---------------------------------------------------------------------------

    def add(self, version: VersionRecord, units: list[UnitRecord], ordinal: int = 0) -> None:
        """Count a text and place its units, one after the other.

        They may wait for those of the next texts, to be placed together: `flush` places them.
        """
        self.count(version, units, 1)
        thematic = [unit for unit in units if unit.kept]
        if thematic:
            story = _story(version, thematic, ordinal)
            self._stories.append((story, [unit.id for unit in thematic]))
        settings = self.state.domains.settings
        if self._compare is not None or settings.prefilter != "none":
            self._place_stories()
            for unit in units:
                event = self._event_of.pop(unit.id, None)
                self.place(version.lang, unit, ordinal, event=event)
            return
        for unit in units:
            if unit.kept:
                self._waiting.append((version.lang, unit, ordinal))
            else:
                self.update.units[unit.id] = unit

    def flush(self) -> None:
        """Place the stories and the units that wait, in order."""
        self._place_stories()
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        run = self.update.run
        placed = self.state.domains.place_all(
            [unit.bag for _, unit, _ in waiting], [ordinal for *_, ordinal in waiting]
        )
        for (lang, unit, ordinal), (domain, placement) in zip(waiting, placed, strict=True):
            event = self._event_of.pop(unit.id)
            if placement.domain is None:
                self._note_created(domain, lang, {})
                self.summary.domains_new += 1
                assignment = Assignment(domain, 1.0, placement.best, placement.score, run, event)
            else:
                self.summary.domains_joined += 1
                assignment = Assignment(
                    domain, placement.score, placement.runner_up, placement.runner_up_score, run,
                    event,
                )  # fmt: skip
            self._domains.add(domain)
            self.update.units[unit.id] = unit._replace(assignment=assignment)
            self._arrived.setdefault(domain, set()).add(unit.id)
            self._grown[domain] = max(ordinal, self._grown.get(domain, 0))

    def _note_grown(self) -> None:
        """Enter the last story of each domain into its record."""
        for domain, ordinal in self._grown.items():
            row = self.state.rows[domain]
            if ordinal > row.grown:
                self.state.rows[domain] = replace(row, grown=ordinal)
        self._grown.clear()

    def place(
        self, lang: str, unit: UnitRecord, ordinal: int = 0, *, event: int | None = None
    ) -> None:
        """Put a unit into the domain that is near enough, or create one for it.

        `ordinal` is that of its story: the domain has grown then. `event` is the event of its
        story.
        """
        self.flush()
        if not unit.kept:
            self.update.units[unit.id] = unit
            return
        domains = self.state.domains
        placement = domains.place(
            unit.bag, self._compare, len(self.state.vocabulary), story=ordinal
        )
        run = self.update.run
        if placement.domain is None:
            domain = self.create_domain(lang)
            self.summary.domains_new += 1
            assignment = Assignment(domain, 1.0, placement.best, placement.score, run, event)
        else:
            self.summary.domains_joined += 1
            assignment = Assignment(
                placement.domain,
                placement.score,
                placement.runner_up,
                placement.runner_up_score,
                run,
                event,
            )
        self.enter(unit, assignment)
        row = self.state.rows[assignment.domain]
        if ordinal > row.grown:
            self.state.rows[row.id] = replace(row, grown=ordinal)
            domains.note_story(row.id, ordinal)

    def create_domain(self, lang: str, **origin: Any) -> int:
        """Return a new domain without units; `origin` goes into its history."""
        self.flush()
        domain = self.state.domains.create()
        self._note_created(domain, lang, origin)
        return domain

    def _note_created(self, domain: int, lang: str, origin: Mapping[str, Any]) -> None:
        self.state.rows[domain] = DomainRecord(
            domain, lang, "", False, "open", False, "", _NO_SUMS, self.update.run
        )
        self._domains.add(domain)
        self.update.lineage.append(LineageEntry("created", domain, origin))

    def enter(self, unit: UnitRecord, assignment: Assignment) -> None:
        """Put a unit into a given domain."""
        self.row(assignment.domain)
        self.state.domains.add_unit(assignment.domain, unit.bag)
        self._domains.add(assignment.domain)
        self.update.units[unit.id] = unit._replace(assignment=assignment)
        self._arrived.setdefault(assignment.domain, set()).add(unit.id)

    def leave(self, unit: UnitRecord) -> None:
        """Take a unit out of its domain."""
        if unit.assignment is None:
            return
        domain = unit.assignment.domain
        self.row(domain)
        self.state.domains.remove_unit(domain, unit.bag)
        self._domains.add(domain)
        if domain not in self.state.domains:
            self.update.lineage.append(LineageEntry("emptied", domain))

    def move(self, unit: UnitRecord, domain: int) -> None:
        """Note that a unit is in another domain now; the caller moves the sums."""
        assert unit.assignment is not None
        self.update.ended.setdefault(unit.id, unit.assignment)
        moved = unit.assignment._replace(domain=domain, run=self.update.run)
        self.update.units[unit.id] = unit._replace(assignment=moved)
        self._arrived.setdefault(domain, set()).add(unit.id)

    def arrived(self, domain: int) -> set[int]:
        """Return the units that this update put into a domain; some may have left it again."""
        return self._arrived.get(domain, set())

    def move_sums(self, source: int, target: int) -> None:
        """Move the sums of one domain into another."""
        self.row(source)
        self.row(target)
        self.state.domains.move_sums(source, target)
        self._domains.update((source, target))

    def row(self, domain: int) -> DomainRecord:
        """Return the record of a domain; load it if it is not in memory."""
        self.flush()
        self._note_grown()
        if domain not in self.state.rows:
            row = self._storage.domain(domain)
            if row is None:
                raise StorageError(f"domain {domain} is missing; run `segapsith verify`")
            self.state.domains.restore(domain, row.sums, row.status == "open", story=row.grown)
            self.state.rows[domain] = row
        return self.state.rows[domain]

    def n_units(self, domain: int) -> int:
        """Return how many units a domain in memory has now."""
        self.flush()
        return int(self.state.domains.n_units[domain])

    def rows(self) -> list[DomainRecord]:
        """Return the records of all domains in memory."""
        self.flush()
        self._note_grown()
        return list(self.state.rows.values())

    def describe(self, domain: int, **changed: Any) -> None:
        """Change the label, name, status or lock of a domain."""
        row = replace(self.row(domain), **changed)
        self.state.rows[domain] = row
        self.state.domains.note_story(domain, row.grown)
        self._domains.add(domain)
        if row.status == "open":
            self.state.domains.reopen(domain)
        else:
            self.state.domains.close(domain)

    def change_domain(
        self, kind: str, row: DomainRecord, changed: Mapping[str, Any], **detail: Any
    ) -> None:
        """Change a domain, and note an event of a kind with what the domain was before."""
        before = {name: getattr(row, name) for name in changed if name != "grown"}
        self.update.lineage.append(LineageEntry(kind, row.id, {**detail, "before": before}))
        self.describe(row.id, **changed)

    # -- events ----------------------------------------------------------------------------

    def _place_stories(self) -> None:
        """Find the events of the stories that wait, in order."""
        day, self._stories_day = self._stories_day, self.state.counters.day
        if not self._stories and not self._marks:
            return
        waiting, self._stories = self._stories, []
        marks, self._marks = self._marks, []
        stories = [story for story, _ in waiting]
        times = [(story.day, story.ordinal, len(story.bags)) for story in stories]
        events, closed = self.state.events.place_columns(
            story_vectors([story.bags for story in stories]),
            np.array(times, np.int64).reshape(-1, 3).T,
            marks,
            day=day,
            run=self.update.run,
        )
        self._events.update(events, closed)
        for (_, units), event in zip(waiting, events, strict=True):
            self._event_of.update((unit, event) for unit in units)

    def _advance_day(self, day: int, ordinal: int) -> None:
        """Let a story that was accepted move the day of the stream; close quiet events then."""
        counters = self.state.counters
        stream_day = next_day(counters.day, day)
        if stream_day != counters.day:
            counters.day = stream_day
            self._marks.append(Mark(len(self._stories), stream_day, ordinal))

    def _close_quiet_events(self, ordinal: int) -> None:
        self._place_stories()
        day, run = self.state.counters.day, self.update.run
        self._events.update(self.state.events.close_quiet(day=day, ordinal=ordinal, run=run))

    def place_story(
        self, version: VersionRecord, units: Sequence[UnitRecord], event: int | None = None
    ) -> int | None:
        """Return the event of a story that is learned from again: `event`, or the best one.

        None if it has no unit to learn from.
        """
        self._place_stories()
        thematic = [unit for unit in units if unit.kept]
        if not thematic:
            return None
        story = _story(version, thematic, self.state.counters.ordinal)
        events = self.state.events
        if event is None:
            day, run = self.state.counters.day, self.update.run
            (event,) = events.place_all([story], day=day, run=run)
        else:
            self._load_event(event)
            events.add(event, story)
        self._events.add(event)
        return event

    def leave_event(self, version: VersionRecord, units: Sequence[UnitRecord]) -> None:
        """Take a story out of its event."""
        members = [unit for unit in units if unit.assignment]
        event = next((u.assignment.event for u in members if u.assignment), None)
        if event is None:
            return
        self._load_event(event)
        self.state.events.add(event, _story(version, members), -1)
        self._events.add(event)

    def reopen_event(self, event: int) -> None:
        """Let a closed event take stories again."""
        self._load_event(event)
        self.state.events.reopen(event)
        self._events.add(event)

    def _load_event(self, event: int) -> None:
        """Bring an event into memory if it is not there."""
        self._place_stories()
        if event not in self.state.events:
            row = self._storage.event(event)
            if row is None:
                raise StorageError(f"event {event} is missing; run `segapsith verify`")
            self.state.events.restore(row)

    # -- counting --------------------------------------------------------------------------

    def count(self, version: VersionRecord, units: Sequence[UnitRecord], sign: int) -> None:
        """Add the words of a text and its units to the running counts, or subtract them.

        Words that came as a bag have no order: they do not meet, and no segmenter cut their unit.
        """
        counts = self._counts.setdefault((version.lang, sign), [])
        has_text = bool(version.title or version.body)
        if not has_text or (len(units) == 1 and units[0].n_words == len(version.words)):
            counts += [(1, unit.bag.words, unit.bag.counts) for unit in units]  # counted already
        else:
            counts.append((1, *_counted(version.words)))
        if not has_text:
            return
        self._texts[sign].append(version.words)
        self.state.frequencies.add_cohesion(version.lang, (unit.cohesion for unit in units), sign)
        if version.links.any():
            texts = self._joined.setdefault((version.lang, sign), [])
            texts.append((version.words, version.links))

    def _sum_up(self) -> None:
        """Add the words of the texts to the running counts."""
        frequencies = self.state.frequencies
        frequencies.grow(len(self.state.vocabulary))
        for (lang, sign), texts in self._counts.items():
            words = np.concatenate([words for _, words, _ in texts])
            counts = np.concatenate([counts for _, _, counts in texts])
            written = counts > 0  # what the network inferred stands in no text
            words, counts = words[written], counts[written]
            frequencies.add_all(lang, sum([n for n, *_ in texts]), words, counts, sign)
            self._words.append(words)
        self._counts.clear()
        for (lang, sign), joined in self._joined.items():
            candidates = Candidates.of(*joined)
            if len(candidates.keys):
                for terms in (self.state.term_counts, self._terms):
                    terms.setdefault(lang, TermCounts()).add(candidates, sign)
        self._joined.clear()

    def pairs(self) -> Pairs:
        """Return by how much this update has changed so far how often words met."""
        window = self.state.pair_window
        for sign, texts in self._texts.items():
            if texts:
                ends = np.cumsum([len(words) for words in texts])
                self._pairs.add(count_pairs(np.concatenate(texts), window, ends), sign)
                texts.clear()
        return self._pairs.total()

    def tick(self, ordinal: int) -> None:
        """Let the clock tick: what was summed up so far reads the stream from now on."""
        self.flush()
        self._sum_up()
        state = self.state
        for lang, accepted in state.tick().items():
            self.update.terms += [
                (lang, words, state.counters.epoch, ordinal) for words in accepted
            ]
        self.update.epochs["frequencies"] = EpochRecord(
            state.counters.epoch, ordinal, "frequencies", state.frozen.arrays()
        )
        state.network.tick(self._storage, ordinal, self.pairs, self.update)
        self._close_quiet_events(ordinal)
        self._retire_quiet(ordinal)
        measure, name = self._components.measure, self._components.measure_name
        if measure is not None:
            measure.learn(state.domains.rows(state.domains, len(state.vocabulary)))
            self.update.epochs[name] = EpochRecord(
                state.counters.epoch, ordinal, name, measure.state()
            )

    def _retire_quiet(self, ordinal: int) -> None:
        """Retire small domains that took nothing from the last `retire_after` stories.

        Only domains that nobody named or locked. Stories are counted by the clock, so that the
        same domains are retired at the same place of the stream however it is cut.
        """
        after, below = self._components.retire_after, self._components.retire_below
        if after <= 0 or ordinal <= after:
            return
        quiet = [
            row
            for row in self.rows()
            if row.grown <= ordinal - after
            and row.status == "open"
            and not (row.locked or row.named)
            and 0 < self.n_units(row.id) < below
        ]
        for row in sorted(quiet, key=lambda row: row.id):
            self.change_domain("retired", row, {"status": "retired"}, ordinal=ordinal)

    def _step_threshold(self, ordinal: int) -> None:
        """Set the threshold anew after a story."""
        self.flush()
        self.note_threshold()
        state, controller = self.state, self.state.controller
        assert controller is not None
        controller.step(ordinal, *state.domains.count_open())
        self._threshold_unit, self._threshold_is_new = state.counters.unit, True
        state.follow_target()

    def note_threshold(self) -> None:
        """Count what the present threshold placed; every unit so far is placed."""
        controller = self.state.controller
        if controller is None:
            return
        n_new = self.summary.domains_new
        n_placed = self.summary.domains_joined + n_new
        placed, founded = n_placed - self._placed_before[0], n_new - self._placed_before[1]
        self._placed_before = (n_placed, n_new)
        controller.count(placed, founded)
        if placed or self._threshold_is_new:
            self.update.thresholds.append(
                ThresholdRecord(
                    controller.ordinal,
                    self._threshold_unit,
                    controller.threshold,
                    controller.base,
                    placed,
                    founded,
                )
            )

    # -- the end ---------------------------------------------------------------------------

    def close(self) -> Update:
        """Note every sum that changed, and the counters; return the update."""
        self.flush()
        self._note_grown()
        self._sum_up()
        state, update = self.state, self.update
        update.new_words = state.vocabulary.columns_since(self._first_new_word)
        frequencies = state.frequencies
        changed = np.zeros(len(state.vocabulary), dtype=np.bool_)
        for numbers in self._words:
            changed[numbers] = True
        words = np.flatnonzero(changed)
        update.frequencies = WordFrequencies(
            words.tolist(),
            frequencies.documents[words].tolist(),
            frequencies.occurrences[words].tolist(),
        )
        update.languages = dict(frequencies.totals)
        update.cohesion = dict(frequencies.cohesion)
        update.pairs = self.pairs()
        update.term_runs = {lang: counts.arrays() for lang, counts in sorted(self._terms.items())}
        changed_domains = sorted(self._domains)
        best = state.domains.heaviest(changed_domains, TOP_WORDS)
        for domain, heaviest in zip(changed_domains, best, strict=True):
            row = state.rows[domain] = self._described(state.rows[domain], heaviest)
            update.domains.append(row)
        for domain in self._domains:
            if state.rows[domain].status != "open":
                state.domains.drop(domain)
                del state.rows[domain]
        changed_events = sorted(self._events)
        update.events = {row.id: row for row in state.events.records(changed_events)}
        closed = [row.id for row in update.events.values() if row.closed_by is not None]
        state.events.drop(closed)
        for name in Counters.__dataclass_fields__:
            update.facts[f"counter_{name}"] = getattr(state.counters, name)
        update.facts["next_domain"] = state.domains.next_domain
        update.facts["next_event"] = state.events.next_event
        update.facts["count"] = state.domains.settings.count
        update.facts["inferred_occurrence"] = state.domains.settings.inferred_occurrence
        update.facts["pair_window"] = state.pair_window
        update.facts["domain_weight"] = state.domains.settings.domain_weight
        return update

    def _described(self, row: DomainRecord, heaviest: list[tuple[int, float]]) -> DomainRecord:
        """Return the record of a domain as it is now, with its heaviest words."""
        best = [(self.state.vocabulary.word(word), weight) for word, weight in heaviest]
        sums = self.state.domains.words(row.id)
        grown = sums.n_units >= row.sums.n_units and row.id not in self.update.left
        stays = row.named or (row.label and grown)
        label = row.label if stays else ", ".join(word for word, _ in best[:LABEL_WORDS])
        return DomainRecord(
            row.id,
            row.lang,
            label,
            row.named,
            row.status,
            row.locked,
            ", ".join(f"{word} {weight:.2f}" for word, weight in best),
            sums,
            row.run,
            row.grown,
        )


def _story(version: VersionRecord, units: Sequence[UnitRecord], ordinal: int = 0) -> Story:
    return Story([unit.bag for unit in units], day_number(version.date), ordinal)


def _counted(words: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    distinct, counts = np.unique(words, return_counts=True)
    return distinct.astype(np.int32), counts.astype(np.int32)
