"""The index of open events: which stories tell the same happening.

An event is a group of stories. A story is one vector: the sum of the weights of its units, each to
the power of 1.5 so that rare words such as names count more, cut to its heaviest words and scaled
to length 1. It joins the open event with the highest score, or starts one:

    score(e, s) = cos(sum of the vectors of e, s) - DECAY * ln(1 + gap)

The gap is the number of days between the story and the days of the event; without a date it is 0.
Vectors are integers, so sums are exact and independent of their order. An event that took nothing
for some days of the stream, or for many stories, is closed and takes no more. See
docs/concepts/formulas.md, "Events".
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains import postings
from segapsith.domains.postings import StoryVectors
from segapsith.domains.values import Bag, DomainWords, Ints
from segapsith.jit import kernel

__all__ = [
    "EventIndex",
    "EventRecord",
    "EventSettings",
    "Story",
    "day_number",
    "next_day",
    "story_vectors",
]

LENGTH = 1 << 12
"""The length of the vector of a story, in fixed point: squares of the sums of 700,000 stories fit
into 64 bits."""

DECAY = 0.03
"""By how much the score falls with ln(1 + days) between a story and an event."""

QUIET_STORIES = 50_000
"""Number of stories after which an event that took none of them is closed, whatever the days."""

_NO_SUMS = DomainWords(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


@dataclass(frozen=True, slots=True)
class EventSettings:
    """Settings of the placement of stories in events."""

    threshold: float = 0.3
    """Least score at which a story joins an event."""
    quiet_days: int = 14
    """Days of the stream after which an event that took no story is closed."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"event_threshold={self.threshold} should be above 0 and at most 1")
        if self.quiet_days < 1:
            raise ValueError(f"event_quiet_days={self.quiet_days} should be at least 1")


@dataclass(frozen=True, slots=True)
class EventRecord:
    """An event as it is after an update."""

    id: int
    sums: DomainWords
    """Sums of the vectors of its stories; `n_units` and occurrences count stories."""
    units: int
    days: tuple[tuple[int, int], ...]
    """Its days, ascending, and how many stories each has; undated stories have none."""
    day: int
    """The day of the stream when it last took a story."""
    grown: int
    """The ordinal of the last story that it took."""
    closed_by: int | None
    """The run that closed it; None if it is open."""
    run: int
    """The run that made it."""


class Story(NamedTuple):
    """A story as events see it: the words of its units, its day (0: none) and its ordinal."""

    bags: Sequence[Bag]
    day: int
    ordinal: int


def day_number(date: str | None) -> int:
    """Return the number of the day of a date in UTC; 0 if there is none.

    >>> day_number("1998-01-04T05:15:00+00:00") - day_number("1998-01-01"), day_number(None)
    (3, 0)
    """
    return datetime.date.fromisoformat(date[:10]).toordinal() if date else 0


def next_day(stream_day: int, story_day: int) -> int:
    """Return the day of the stream after a story of some day; events are closed by it.

    It begins with the first dated story. Each later story moves it by one day at most, so that a
    wrong date does not close everything.

    >>> next_day(0, 700_000), next_day(700_000, 700_000), next_day(700_000, 900_000)
    (700000, 700000, 700001)
    """
    if not stream_day:
        return story_day
    return stream_day + 1 if story_day > stream_day else stream_day


def story_vectors(stories: Sequence[Sequence[Bag]]) -> StoryVectors:
    """Return the vectors of stories, each given by the words of its units.

    Words that the network inferred are left out: they stand in no text.
    """
    bags = [bag.observed for units in stories for bag in units]
    sizes = [sum(len(bag.observed.words) for bag in units) for units in stories]
    story = np.repeat(np.arange(len(stories)), sizes)
    words = np.concatenate([np.zeros(0, np.int32), *(bag.words for bag in bags)])
    weights = np.concatenate([np.zeros(0, np.int64), *(bag.weights for bag in bags)])
    order = np.lexsort((words, story))
    story, words, weights = story[order], words[order], weights[order]
    is_first = np.ones(len(words), dtype=np.bool_)
    is_first[1:] = (story[1:] != story[:-1]) | (words[1:] != words[:-1])
    firsts = np.flatnonzero(is_first)
    sums = np.add.reduceat(weights, firsts) if len(firsts) else np.zeros(0, np.int64)
    ends = np.cumsum(np.bincount(story[firsts], minlength=len(stories)))
    return StoryVectors(*_scaled(ends, words[firsts], sums, postings.MOST_STORY_WORDS))


@kernel
def _scaled(
    ends: Ints, words: NDArray[np.int32], sums: Ints, most: int
) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32]]:
    """Return each story cut to its heaviest words, in fixed point and of length 1."""
    new_ends = np.zeros(len(ends), np.int64)
    new_words = np.zeros(len(words), np.int32)
    values = np.zeros(len(words), np.int32)
    at = 0
    for story in range(len(ends)):
        a, b = ends[story - 1] if story else 0, ends[story]
        chosen = np.arange(a, b)
        if b - a > most:  # a stable order, so that of equal words the older ones stay
            chosen = np.sort(a + np.argsort(-sums[a:b], kind="mergesort")[:most])
        raised = np.empty(len(chosen))
        squares = 0.0
        for i in range(len(chosen)):
            weight = float(sums[chosen[i]])
            raised[i] = weight * np.sqrt(weight)
            squares += raised[i] * raised[i]
        length = np.sqrt(squares)
        for i in range(len(chosen)):
            new_words[at] = words[chosen[i]]
            values[at] = max(int(np.rint(raised[i] / length * LENGTH)), 1)
            at += 1
        new_ends[story] = at
    return new_ends, new_words[:at], values[:at]


class EventIndex:
    """The open events with their sums, and an inverted index from words to events.

    Events in memory have a slot of the index; the slot of a dropped one is used again.
    """

    def __init__(self, settings: EventSettings | None = None) -> None:
        self.settings = settings or EventSettings()
        self._index = postings.empty_index()
        self._table = np.zeros((16, postings.TABLE_COLUMNS), np.int64)
        self._rows: dict[int, EventRecord] = {}
        """The events in memory, but for their sums."""
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._n_slots = 1

    # -- reading ---------------------------------------------------------------------------

    @property
    def next_event(self) -> int:
        """The number of the next new event."""
        return int(self._index.used[postings.DOMAINS])

    def skip_to(self, event: int) -> None:
        """Make `event` the next number."""
        self._index.used[postings.DOMAINS] = max(event, self.next_event)

    def __contains__(self, event: int) -> bool:
        return event in self._slots

    def __iter__(self) -> Iterator[int]:
        """Yield the events in memory, oldest first."""
        return iter(sorted(self._slots))

    def record(self, event: int) -> EventRecord:
        """Return an event in memory as it is now."""
        return replace(self._rows[event], sums=self._words(event))

    def is_open(self, event: int) -> bool:
        """Return whether an event in memory takes stories."""
        return self._rows[event].closed_by is None

    def _words(self, event: int) -> DomainWords:
        index, slot = self._index, self._slots[event]
        start, length = index.start[slot], index.length[slot]
        words, sums = index.words[start : start + length], index.pool[start : start + length]
        present = np.flatnonzero(sums[:, 0] > 0)
        order = present[np.argsort(words[present])]
        return DomainWords(words[order], sums[order, 0], sums[order, 1], int(index.n_units[slot]))

    # -- placing ---------------------------------------------------------------------------

    def place_all(self, stories: Sequence[Story], *, day: int, run: int) -> list[int]:
        """Place stories one after the other, and return the event of each.

        `day` is that of the stream, `run` the run that makes new events.
        """
        vectors = story_vectors([story.bags for story in stories])
        slots = [self._take_slot() for _ in stories]
        times = np.array([[s.day for s in stories], [s.ordinal for s in stories]], np.int64)
        placed = np.zeros((len(stories), 2), np.int64)
        self._index = postings.with_words(self._index, int(vectors.words.max(initial=-1)) + 1)
        rule = postings.EventRule(self.settings.threshold, DECAY, day, self.next_event)
        n_placed = 0
        while True:
            n_placed = postings.place_stories(
                self._index,
                n_placed,
                vectors,
                times,
                self._table,
                np.array(slots, np.int64),
                rule,
                placed,
            )
            if n_placed == len(stories):
                break
            full = int(self._index.used[postings.FULL_DOMAIN])
            self._index = postings.with_capacity(self._index, full, _words_of(vectors, n_placed))
        n_new = int(placed[:, 1].sum())
        self._slots.update((rule.first_new + i, slots[i]) for i in range(n_new))
        self._free += slots[n_new:]
        events: list[int] = placed[:, 0].tolist()
        for event, story in zip(events, stories, strict=True):
            row = self._rows.get(event) or EventRecord(event, _NO_SUMS, 0, (), 0, 0, None, run)
            self._rows[event] = _with_story(row, story, 1, day)
        return events

    def close_quiet(self, *, day: int, ordinal: int, run: int) -> list[int]:
        """Close the events that took no story for too long, and return them, oldest first.

        `day` and `ordinal` are those of the stream now.
        """
        slots = np.fromiter(self._slots.values(), np.int64, len(self._slots))
        table = self._table[slots]
        too_long = (table[:, postings.GROWN_DAY] < day - self.settings.quiet_days) | (
            table[:, postings.GROWN] < ordinal - QUIET_STORIES
        )
        quiet = table[too_long & self._index.is_open[slots], postings.NUMBER].tolist()
        for event in quiet:
            self._set_closed_by(event, run)
        return sorted(quiet)

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot, self._n_slots = self._n_slots, self._n_slots + 1
        if slot >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        return slot

    # -- changing --------------------------------------------------------------------------

    def add(self, event: int, story: Story, sign: int = 1, *, day: int = 0) -> None:
        """Add a story to an event in memory, or remove it with `sign=-1`."""
        slot = self._slots[event]
        _, words, values = story_vectors([story.bags])
        self._index = postings.with_capacity(self._index, slot, words)
        ones = np.ones(len(words), np.int32)
        postings.add_words(self._index, slot, sign, 1, words, ones, values, postings.EVENT_WEIGHTS)
        postings.rebalance(self._index, slot, postings.EVENT_WEIGHTS, True)
        self._rows[event] = _with_story(self._rows[event], story, sign, day)
        self._fill_table(event)

    def reopen(self, event: int) -> None:
        """Let a closed event in memory take stories again."""
        self._set_closed_by(event, None)

    def _set_closed_by(self, event: int, run: int | None) -> None:
        self._rows[event] = replace(self._rows[event], closed_by=run)
        self._index.is_open[self._slots[event]] = run is None
        postings.rebalance(self._index, self._slots[event], postings.EVENT_WEIGHTS, True)

    def restore(self, row: EventRecord) -> None:
        """Bring an event into memory that `record` returned."""
        self.skip_to(row.id + 1)
        slot = self._slots[row.id] = self._take_slot()
        self._rows[row.id] = row
        sums = row.sums
        self._index = postings.with_capacity(self._index, slot, sums.words)
        postings.insert_domain(self._index, slot, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[slot] = sums.n_units
        self._index.is_open[slot] = row.closed_by is None
        postings.rebalance(self._index, slot, postings.EVENT_WEIGHTS, True)
        self._fill_table(row.id)

    def drop(self, event: int) -> None:
        """Remove an event from memory; its number is not used again."""
        slot = self._slots.pop(event)
        del self._rows[event]
        postings.remove_domain(self._index, slot)
        self._index.is_open[slot] = False
        self._free.append(slot)

    def _fill_table(self, event: int) -> None:
        """Compute what placing needs to know of an event besides its sums."""
        row, weights = self._rows[event], self._words(event).weights
        first, last = (row.days[0][0], row.days[-1][0]) if row.days else (0, 0)
        squares = int((weights * weights).sum())
        self._table[self._slots[event]] = (event, first, last, squares, row.day, row.grown)


def _with_story(row: EventRecord, story: Story, sign: int, day: int) -> EventRecord:
    """Return an event with one more story, or with one less; an earlier `day` changes nothing."""
    days = row.days
    if story.day:
        counts = dict(days)
        counts[story.day] = counts.get(story.day, 0) + sign
        days = tuple(sorted((number, count) for number, count in counts.items() if count))
    return replace(
        row,
        units=row.units + sign * len(story.bags),
        days=days,
        day=max(row.day, day),
        grown=row.grown if sign < 0 else max(row.grown, story.ordinal),
    )


def _words_of(vectors: StoryVectors, number: int) -> NDArray[np.int32]:
    """Return the words of one story."""
    return vectors.words[vectors.ends[number - 1] if number else 0 : vectors.ends[number]]
