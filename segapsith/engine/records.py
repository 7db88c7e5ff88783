"""What the engine gives to a store and gets back: one record per row.

An `Update` is one transaction: all of it is written, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.events import Mark, day_number, next_day
from segapsith.domains.values import Bag, BagColumns, DomainWords, EventRecord, Ints
from segapsith.lexicon.cooccurrence import Pairs
from segapsith.lexicon.vocabulary import SCALE, NewWords
from segapsith.model import FeedState

__all__ = [
    "Assignment",
    "Counters",
    "Days",
    "DocumentRecord",
    "DomainRecord",
    "EpochRecord",
    "Frozen",
    "LineageEntry",
    "ReadyColumns",
    "ReferenceRecord",
    "ThresholdRecord",
    "UnitRecord",
    "Update",
    "VersionRecord",
    "all_units",
    "all_versions",
    "assign",
    "days_of",
    "spill",
    "units_at",
]


@dataclass(slots=True)
class Counters:
    """Numbers that are given once and never go back."""

    document: int = 1
    version: int = 1
    unit: int = 1
    ordinal: int = 0
    """Documents accepted for the first time so far."""
    epoch: int = 0
    day: int = 0
    """The day of the stream, by which events are closed: see `UpdateBuilder`."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """The counts at the last tick of the clock; with these the stream is read."""

    documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    occurrences: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    totals: dict[str, tuple[int, int]] = field(default_factory=dict)
    cohesion: dict[str, tuple[int, int]] = field(default_factory=dict)

    def mean_cohesion(self, lang: str) -> float:
        """Of the units of a language; 0 while there are none."""
        n_units, total = self.cohesion.get(lang, (0, 0))
        return total / SCALE / n_units if n_units > 0 else 0.0

    def arrays(self) -> dict[str, NDArray[np.int64] | NDArray[np.str_]]:
        langs = sorted(self.totals)
        return {
            "documents": self.documents,
            "occurrences": self.occurrences,
            "langs": np.array(langs, dtype=np.str_),
            "totals": np.array([self.totals[lang] for lang in langs], dtype=np.int64),
            "cohesion": np.array(
                [self.cohesion.get(lang, (0, 0)) for lang in langs], dtype=np.int64
            ),
        }

    @classmethod
    def of(cls, arrays: dict[str, NDArray[np.int64]]) -> Frozen:
        totals = {
            str(lang): (int(documents), int(tokens))
            for lang, (documents, tokens) in zip(arrays["langs"], arrays["totals"], strict=True)
        }
        cohesion = {
            str(lang): (int(units), int(total))
            for lang, (units, total) in zip(arrays["langs"], arrays["cohesion"], strict=True)
        }
        return cls(arrays["documents"], arrays["occurrences"], totals, cohesion)


class DocumentRecord(NamedTuple):
    """A story under one identity."""

    id: int
    uid: str
    ordinal: int | None
    version: int
    duplicate_of: int | None
    """The story that it repeats; a document that repeats one is not learned from."""
    run: int


class VersionRecord(NamedTuple):
    """One text of a document; `words` are its content words in text order.

    A pre-segmented unit has neither title, nor body, nor words here: its words stood in no text.
    """

    id: int
    document: int
    number: int
    hash: str
    title: str
    body: str
    date: str | None
    date_original: str | None
    lang: str
    source: str
    metadata: str
    signature: bytes
    words: NDArray[np.int32]
    links: NDArray[np.uint8]
    """How each content word joins the next one: candidates for multi-word terms."""
    run: int


class Assignment(NamedTuple):
    """Which domain a unit is in, how clear that was, and the event of its story."""

    domain: int
    score: float
    runner_up: int | None
    runner_up_score: float
    run: int
    event: int | None = None


class UnitRecord(NamedTuple):
    """A thematic unit with its words, and its domain if it has one."""

    id: int
    document: int
    version: int
    position: int
    start: int
    end: int
    first_word: int
    n_words: int
    cohesion: float
    kept: bool
    epoch: int
    bag: Bag
    assignment: Assignment | None = None


@dataclass(slots=True)
class ReadyColumns:
    """New pre-segmented units, a column per value: each is a document, a text and a unit."""

    lang: str
    run: int
    epoch: int
    first_version: int
    """Numbers of texts and units ascend without a gap."""
    first_unit: int
    documents: list[int]
    hashes: list[str]
    dates: list[str | None]
    dates_original: list[str | None]
    sources: list[str]
    metadata: list[str]
    n_words: Sequence[int]
    units: BagColumns
    domains: list[int]
    """0 for a unit that repeats a story: it has no assignment."""
    scores: list[float]
    runners_up: list[int | None]
    runner_up_scores: list[float]
    events: list[int]


@dataclass(frozen=True, slots=True)
class DomainRecord:
    """A domain as it is after an update."""

    id: int
    lang: str
    label: str
    named: bool
    status: str
    locked: bool
    top_words: str
    sums: DomainWords
    run: int
    grown: int = 0
    """Ordinal of the last story that it took a unit from."""


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """What the clock froze at one tick."""

    epoch: int
    ordinal: int
    name: str
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """One language of a reference corpus: its size, and how often each word occurs in it."""

    run: int
    lang: str
    documents: int
    tokens: int
    words: NDArray[np.int32]
    occurrences: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ThresholdRecord:
    """A threshold that followed a target, and what one update placed with it."""

    ordinal: int
    """Stories accepted when it was set."""
    unit: int
    """The first unit that the run placed with it."""
    threshold: int
    base: int
    placed: int
    founded: int


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """Something that happened to a domain."""

    kind: str
    domain: int
    detail: Mapping[str, Any] = field(default_factory=dict)


class WordFrequencies(NamedTuple):
    """Columns: numbers of words, ascending, and in how many documents and how often each occurs."""

    words: Sequence[int]
    documents: Sequence[int]
    occurrences: Sequence[int]


_NO_FREQUENCIES = WordFrequencies((), (), ())
_NO_NEW_WORDS = NewWords()


@dataclass(slots=True)
class Update:
    """Everything that one transaction changes in a store."""

    run: int
    documents: dict[int, DocumentRecord] = field(default_factory=dict)
    """New documents, and present ones that changed."""
    changes: list[DocumentRecord] = field(default_factory=list)
    """What changed documents were before."""
    versions: list[VersionRecord] = field(default_factory=list)
    units: dict[int, UnitRecord] = field(default_factory=dict)
    """New units, and present ones whose domain changed."""
    ready: list[ReadyColumns] = field(default_factory=list)
    """Pre-segmented units that are new, and not in `versions` and `units`."""
    ended: dict[int, Assignment] = field(default_factory=dict)
    """Assignments that ended: the text was corrected, or the unit was moved."""
    gone_documents: list[int] = field(default_factory=list)
    gone_versions: list[int] = field(default_factory=list)
    forgotten: list[tuple[str, str]] = field(default_factory=list)
    """Id and text hash of every text that must not come back; the store keeps neither as it is."""
    allowed_again: list[str] = field(default_factory=list)
    """Ids of forgotten documents that may come back."""
    undone_run: int | None = None
    """A run whose sightings, rejects and before-images go as well."""
    sightings: list[tuple[int, str]] = field(default_factory=list)
    rejects: list[tuple[str, str]] = field(default_factory=list)
    new_words: NewWords = _NO_NEW_WORDS
    frequencies: WordFrequencies = _NO_FREQUENCIES
    """Of every word whose counts changed."""
    languages: dict[str, tuple[int, int]] = field(default_factory=dict)
    cohesion: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each language: units, and the sum of their cohesion in fixed point."""
    pairs: Pairs | None = None
    """The change of how often words met."""
    term_runs: dict[str, Mapping[str, NDArray[np.int64]]] = field(default_factory=dict)
    """By language, the change of the counts of term candidates."""
    terms: list[tuple[str, tuple[str, ...], int, int]] = field(default_factory=list)
    """Terms accepted: language, words, epoch, ordinal."""
    left: set[int] = field(default_factory=set)
    """Domains that a text was taken out of: their headline may be that of the text."""
    domains: list[DomainRecord] = field(default_factory=list)
    events: dict[int, EventRecord] = field(default_factory=dict)
    """New events, and present ones that changed."""
    lineage: list[LineageEntry] = field(default_factory=list)
    epochs: dict[str, EpochRecord] = field(default_factory=dict)
    """By name, the last tick of the update."""
    thresholds: list[ThresholdRecord] = field(default_factory=list)
    """Those that followed a target within the update."""
    facts: dict[str, Any] = field(default_factory=dict)
    position: int = 0
    counts: dict[str, Any] = field(default_factory=dict)
    feed: FeedState | None = None
    """The feed whose last item is in this update."""


# -- pre-segmented units as columns ------------------------------------------------------------


_NO_WORDS, _NO_LINKS = np.zeros(0, np.int32), np.zeros(0, np.uint8)


class Days(NamedTuple):
    """The days of stories: their own, and where the day of the stream moves."""

    own: list[int]
    marks: list[Mark]
    stream_day: int
    """The day of the stream after the last story."""


def days_of(dates: Sequence[str | None], ordinals: Sequence[int], stream_day: int) -> Days:
    """Return the days of stories that were accepted, in order."""
    own, marks = [day_number(date) for date in dates], []
    for at, day in enumerate(own):
        if (today := next_day(stream_day, day)) != stream_day:
            stream_day = today
            marks.append(Mark(at, today, ordinals[at]))
    return Days(own, marks, stream_day)


def assign(
    ready: ReadyColumns, stories: Ints, placed: Ints, scores: NDArray[np.float64], events: list[int]
) -> NDArray[np.bool_]:
    """Enter the domains and events of the units that are stories; return which started a domain.

    `placed` and `scores` are what `DomainIndex.place_columns` returned.
    """
    domains, best, second = placed.T
    is_new: NDArray[np.bool_] = domains != best
    columns = (
        domains.tolist(),
        np.where(is_new, 1.0, scores[:, 0]).tolist(),
        [number or None for number in np.where(is_new, best, second).tolist()],
        np.where(is_new, scores[:, 0], scores[:, 1]).tolist(),
        events,
    )
    if len(stories) == len(ready.documents):
        ready.domains, ready.scores, ready.runners_up, ready.runner_up_scores, ready.events = (
            columns
        )
        return is_new
    for i, values in zip(stories.tolist(), zip(*columns, strict=True), strict=True):
        (
            ready.domains[i],
            ready.scores[i],
            ready.runners_up[i],
            ready.runner_up_scores[i],
            ready.events[i],
        ) = values
    return is_new


def units_at(units: BagColumns, stories: Ints) -> BagColumns:
    """Return some of the units, in order."""
    if len(stories) == len(units.ends):
        return units
    starts = np.append(0, units.ends)[stories]
    sizes = units.ends[stories] - starts
    ends = np.cumsum(sizes)
    places = np.repeat(starts - ends + sizes, sizes) + np.arange(int(sizes.sum()))
    return BagColumns(units.words[places], units.counts[places], units.weights[places], ends)


def spill(update: Update) -> None:
    """Turn the columns of an update into records, for one of them is to be changed."""
    for ready in update.ready:
        update.versions += _versions(ready)
        update.units |= {unit.id: unit for unit in _units(ready)}
    update.ready.clear()


def _versions(ready: ReadyColumns) -> Iterator[VersionRecord]:
    """Yield the texts, which are empty."""
    for i, document in enumerate(ready.documents):
        yield VersionRecord(
            ready.first_version + i,
            document,
            1,
            ready.hashes[i],
            "",
            "",
            ready.dates[i],
            ready.dates_original[i],
            ready.lang,
            ready.sources[i],
            ready.metadata[i],
            b"",
            _NO_WORDS,
            _NO_LINKS,
            ready.run,
        )


def _units(ready: ReadyColumns) -> Iterator[UnitRecord]:
    """Yield the units with their domains."""
    for i, document in enumerate(ready.documents):
        assignment = None
        if ready.domains[i]:
            assignment = Assignment(
                ready.domains[i],
                ready.scores[i],
                ready.runners_up[i],
                ready.runner_up_scores[i],
                ready.run,
                ready.events[i],
            )
        unit, version = ready.first_unit + i, ready.first_version + i
        yield UnitRecord(
            unit, document, version, 0, 0, 0, 0, ready.n_words[i], 0.0, True, ready.epoch,
            ready.units.bag(i), assignment,
        )  # fmt: skip


def all_versions(update: Update) -> Iterator[VersionRecord]:
    """Yield the texts of an update, also those of columns."""
    return chain(update.versions, *(_versions(ready) for ready in update.ready))


def all_units(update: Update) -> dict[int, UnitRecord]:
    """Return the units of an update, also those of columns."""
    return update.units | {unit.id: unit for ready in update.ready for unit in _units(ready)}
