"""The index of events: which event a story joins.

An event is a group of stories. A story is one vector: the sum of the weights of its units, each to
the power of 1.5 so that rare words such as names count more, cut to its heaviest words and scaled
to length 1. It joins the open event with the highest score, or starts one:

    score(e, s) = cos(sum of the vectors of e, s) - DECAY * ln(1 + gap)

The gap is the number of days between the story and the days of the event; without a date it is 0.
Vectors are integers too. An event that took nothing for some days of the stream, or for many
stories, is closed and takes no more.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import bag_columns
from segapsith.domains.postings.arrays import (
    DOMAIN,
    DOMAINS,
    FULL_DOMAIN,
    N_COMPARED,
    START,
    Array,
    Index,
    WeightRule,
    empty_index,
)
from segapsith.domains.postings.sums import (
    add_words,
    insert_domain,
    insert_open,
    ranked,
    rebalance,
    remove_domains,
    reserve,
    sums_of,
    with_capacity,
    with_words,
)
from segapsith.domains.values import (
    Bag,
    BagColumns,
    DomainWords,
    EventRecord,
    EventSettings,
    Ints,
    Story,
)
from segapsith.jit import kernel

__all__ = [
    "EventIndex",
    "Mark",
    "column_vectors",
    "day_number",
    "next_day",
    "story_vectors",
]

DECAY = 0.03
"""By how much the score falls with ln(1 + days) between a story and an event."""

QUIET_STORIES = 50_000
"""Number of stories after which an event that took none of them is closed, whatever the days."""

_NO_SUMS = DomainWords(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)

EVENT_WEIGHTS = WeightRule(True, 0)
"""The rule of events: every word is compared, with the sum of its values."""


MOST_STORY_WORDS = 64
"""Number of words of a story that are compared with events, heaviest first."""

STORY_LENGTH = 1 << 12
"""The length of the vector of a story, in fixed point: squares of the sums of 700,000 stories fit
into 64 bits."""

NUMBER, FIRST_DAY, LAST_DAY, SQUARES, GROWN_DAY, GROWN, TABLE_COLUMNS = range(7)
"""Columns of the table of events in `place_stories`: the number of the event, its first and last
day (0: undated), the square of the length of its sums, and when it last took a story: day of the
stream, ordinal."""


def day_number(date: str | None) -> int:
    """Return the number of the day of a date in UTC; 0 if there is none.

    >>> day_number("1998-01-04T05:15:00+00:00") - day_number("1998-01-01"), day_number(None)
    (3, 0)
    """
    return _day_number(date[:10]) if date else 0


@lru_cache(maxsize=4096)  # the stories of a wire share their days
def _day_number(day: str) -> int:
    return datetime.date.fromisoformat(day).toordinal()


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


class StoryVectors(NamedTuple):
    """Vectors of stories, one after the other: where each ends, its words and their values."""

    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[np.int32]


def story_vectors(stories: Sequence[Sequence[Bag]], *, compiled: bool = True) -> StoryVectors:
    """Return the vectors of stories, each given by the words of its units.

    Words that the network inferred are left out: they stand in no text. A reader of few stories
    sets `compiled` to False and needs no compiler.
    """
    sizes = np.fromiter(map(len, stories), np.int64, len(stories))
    units = bag_columns([bag for story in stories for bag in story])
    return column_vectors(units, sizes, compiled=compiled)


def column_vectors(units: BagColumns, sizes: Ints, *, compiled: bool = True) -> StoryVectors:
    """Return the vectors of stories, each with the next `sizes` units: see `story_vectors`."""
    last_units = np.cumsum(sizes)
    ends = np.append(0, units.ends)[last_units]
    words, weights = units.words, units.weights.astype(np.int64)
    in_text = units.counts > 0
    if not in_text.all():
        words, weights = words[in_text], weights[in_text]
        ends = np.append(0, np.cumsum(in_text))[ends]
    if len(units.ends) > len(sizes):  # the words of one unit are in order already
        story = np.repeat(np.arange(len(sizes)), np.diff(ends, prepend=0))
        order = np.lexsort((words, story))
        story, words, weights = story[order], words[order], weights[order]
        is_first = np.ones(len(words), dtype=np.bool_)
        is_first[1:] = (story[1:] != story[:-1]) | (words[1:] != words[:-1])
        firsts = np.flatnonzero(is_first)
        weights = np.add.reduceat(weights, firsts) if len(firsts) else weights
        words, ends = words[firsts], np.cumsum(np.bincount(story[firsts], minlength=len(sizes)))
    if compiled:
        return StoryVectors(*scaled_stories(ends, words, weights))
    story = np.repeat(np.arange(len(sizes)), np.diff(ends, prepend=0))
    return _scaled_stories(story, words, weights, len(sizes))


def _scaled_stories(story: Array, words: Array, sums: Array, n_stories: int) -> StoryVectors:
    """Return what `scaled_stories` returns, by operations on whole columns."""
    order = np.lexsort((np.arange(len(words)), -sums, story))
    starts = np.searchsorted(story, np.arange(n_stories))
    place = np.empty(len(words), np.int64)
    place[order] = np.arange(len(words)) - starts[story]
    heaviest = place < MOST_STORY_WORDS
    story, words = story[heaviest], words[heaviest]
    weights = sums[heaviest].astype(np.float64)
    raised = weights * np.sqrt(weights)
    # bincount adds one after the other, as the kernel does
    lengths = np.sqrt(np.bincount(story, raised * raised, minlength=n_stories))
    values = np.rint(raised / lengths[story] * STORY_LENGTH).astype(np.int32)
    ends = np.cumsum(np.bincount(story, minlength=n_stories))
    return StoryVectors(ends, words.astype(np.int32), np.maximum(values, 1))


@kernel
def scaled_stories(ends: Array, words: Array, sums: Array) -> tuple[Array, Array, Array]:
    """Return each story cut to its heaviest words, in fixed point and of length 1."""
    most = MOST_STORY_WORDS
    new_ends = np.zeros(len(ends), np.int64)
    new_words = np.zeros(len(words), np.int32)
    values = np.zeros(len(words), np.int32)
    raised = np.empty(most)
    at = 0
    for story in range(len(ends)):
        a, b = ends[story - 1] if story else 0, ends[story]
        least, n_equal = sums[a] if a < b else 0, b - a  # of equal words the older ones stay
        if b - a > most:
            least = ranked(sums[a:b], b - a - most)
            n_equal = most - np.sum(sums[a:b] > least)
        n_words, squares = 0, 0.0
        for i in range(a, b):
            if b - a > most and sums[i] <= least:
                if sums[i] < least or n_equal == 0:
                    continue
                n_equal -= 1
            weight = float(sums[i])
            raised[n_words] = weight * np.sqrt(weight)
            squares += raised[n_words] * raised[n_words]
            new_words[at + n_words] = words[i]
            n_words += 1
        length = np.sqrt(squares)
        for i in range(n_words):
            values[at + i] = max(int(np.rint(raised[i] / length * STORY_LENGTH)), 1)
        at += n_words
        new_ends[story] = at
    return new_ends, new_words[:at], values[:at]


class Mark(NamedTuple):
    """A place in a list of stories: before the story `at`, the day of the stream becomes `day`.

    Events that are quiet then, at the story with this ordinal, are closed.
    """

    at: int
    day: int
    ordinal: int


class EventIndex:
    """The events in memory with their sums, and an inverted index from words to open events.

    An open event has a slot of the index, which is used again when the event is closed or dropped.
    """

    def __init__(self, settings: EventSettings | None = None) -> None:
        self.settings = settings or EventSettings()
        self._index = empty_index()
        self._table = np.zeros((16, TABLE_COLUMNS), np.int64)
        self._rows: dict[int, EventRecord] = {}
        """The events in memory, but for their sums and for `_recent`."""
        self._recent: list[Ints] = []
        """Stories that were placed: event, day, units, day of the stream, ordinal, run."""
        self._closed_by: dict[int, int] = {}
        """Events that were closed since the rows are up to date, and the run that did it."""
        self._slots: dict[int, int] = {}
        self._closed: dict[int, DomainWords] = {}
        """Closed events in memory that have no slot."""
        self._free: list[int] = []
        self._n_slots = 1

    # -- reading ---------------------------------------------------------------------------

    @property
    def next_event(self) -> int:
        """The number of the next new event."""
        return int(self._index.used[DOMAINS])

    def skip_to(self, event: int) -> None:
        """Make `event` the next number."""
        self._index.used[DOMAINS] = max(event, self.next_event)

    def __contains__(self, event: int) -> bool:
        return event in self._slots or event in self._closed

    def __iter__(self) -> Iterator[int]:
        """Yield the events in memory, oldest first."""
        return iter(sorted([*self._slots, *self._closed]))

    def record(self, event: int) -> EventRecord:
        """Return an event in memory as it is now."""
        return self.records([event])[0]

    def records(self, events: Sequence[int]) -> list[EventRecord]:
        """Return events in memory as they are now."""
        self._settle()
        in_slots = [event for event in events if event in self._slots]
        sums = dict(zip(in_slots, self._sums([self._slots[e] for e in in_slots]), strict=True))
        # `_replace` takes four times as long
        return [
            EventRecord(event, sums.get(event) or self._closed[event], *self._rows[event][2:])
            for event in events
        ]

    def _sums(self, slots: Sequence[int]) -> list[DomainWords]:
        numbers = np.array(slots, np.int64)
        ends, words, occurrences, weights = sums_of(self._index, numbers)
        n_stories = self._index.n_units[numbers].tolist()
        return [
            DomainWords(words[a:b], occurrences[a:b], weights[a:b], n)
            for n, (a, b) in zip(n_stories, pairwise([0, *ends.tolist()]), strict=True)
        ]

    def _settle(self) -> None:
        """Enter what was placed and closed since the last time into the rows."""
        if self._recent:
            self._settle_stories()
        for event, run in self._closed_by.items():
            self._rows[event] = self._rows[event]._replace(closed_by=run)
        self._closed_by.clear()

    def _settle_stories(self) -> None:
        placed = np.concatenate(self._recent, axis=1)
        self._recent.clear()
        events, days, units, stream_days, ordinals, runs = placed[:, np.lexsort(placed[1::-1])]
        firsts = np.flatnonzero(np.diff(events, prepend=0))
        counted = zip(
            events[firsts].tolist(),
            np.add.reduceat(units, firsts).tolist(),
            np.maximum.reduceat(stream_days, firsts).tolist(),
            np.maximum.reduceat(ordinals, firsts).tolist(),
            runs[firsts].tolist(),
            pairwise([*firsts.tolist(), len(events)]),
            strict=True,
        )
        all_days = days.tolist()
        single: dict[int, tuple[tuple[int, int], ...]] = {0: ()}
        """The days of events of one story, by its day."""
        for event, n_units, day, grown, run, (a, b) in counted:
            row = self._rows.get(event)
            if row is None and b - a == 1:  # as most events
                number = all_days[a]
                own = single.get(number)
                if own is None:
                    own = single[number] = ((number, 1),)
                self._rows[event] = EventRecord(
                    event, _NO_SUMS, n_units, own, day, grown, None, run
                )
                continue
            row = row or EventRecord(event, _NO_SUMS, 0, (), 0, 0, None, run)
            counts = dict(row.days)
            for number in all_days[a:b]:
                counts[number] = counts.get(number, 0) + 1
            self._rows[event] = row._replace(
                units=row.units + n_units,
                days=_sorted_days(counts),
                day=max(row.day, day),
                grown=max(row.grown, grown),
            )

    # -- placing ---------------------------------------------------------------------------

    def place_all(self, stories: Sequence[Story], *, day: int, run: int) -> list[int]:
        """Place stories one after the other, and return the event of each.

        `day` is that of the stream, `run` the run that makes new events.
        """
        vectors = story_vectors([story.bags for story in stories])
        times = np.array([(s.day, s.ordinal, len(s.bags)) for s in stories], np.int64)
        return self.place_columns(vectors, times.T, (), day=day, run=run)[0]

    def place_columns(
        self, vectors: StoryVectors, times: Ints, marks: Sequence[Mark], *, day: int, run: int
    ) -> tuple[list[int], list[int]]:
        """Place stories one after the other; return the event of each, and the closed events.

        `times` are the day (0: none), the ordinal and the number of units of each story. The day
        of the stream is `day` up to the first of `marks`, which are in order.
        """
        n_stories = len(vectors.ends)
        placed = np.zeros((n_stories, 2), np.int64)
        closed = []
        self._index = with_words(self._index, int(vectors.words.max(initial=-1)) + 1)
        first = 0
        for mark in (*marks, Mark(n_stories, 0, 0)):
            if mark.at > first:
                self._place_part(vectors, times, (first, mark.at), placed, day=day)
                n_part = mark.at - first
                self._recent.append(
                    np.stack(
                        [
                            placed[first : mark.at, 0],
                            times[0, first : mark.at],
                            times[2, first : mark.at],
                            np.full(n_part, day),
                            times[1, first : mark.at],
                            np.full(n_part, run),
                        ]
                    )
                )
                first = mark.at
            if mark.day or mark.ordinal:
                day = mark.day
                closed += self.close_quiet(day=day, ordinal=mark.ordinal, run=run)
        return placed[:, 0].tolist(), closed

    def _place_part(
        self,
        vectors: StoryVectors,
        times: Ints,
        part: tuple[int, int],
        placed: Ints,
        *,
        day: int,
    ) -> None:
        """Place the stories of a part, all on one day of the stream."""
        n_placed, last = part
        slots = self._free[: -(last - n_placed) - 1 : -1]
        n_free = len(slots)
        slots += range(self._n_slots, self._n_slots + last - n_placed - n_free)
        while slots[-1] >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        rule = EventRule(self.settings.threshold, DECAY, day, self.next_event)
        while True:
            n_placed = place_stories(
                self._index,
                n_placed,
                last,
                vectors,
                times,
                self._table,
                np.array(slots, np.int64),
                rule,
                placed,
            )
            if n_placed == last:
                break
            full = int(self._index.used[FULL_DOMAIN])
            a, b = vectors.ends[n_placed - 1] if n_placed else 0, vectors.ends[n_placed]
            self._index = with_capacity(self._index, full, vectors.words[a:b])
        n_new = self.next_event - rule.first_new
        self._slots.update(zip(range(rule.first_new, self.next_event), slots[:n_new], strict=True))
        del self._free[len(self._free) - min(n_new, n_free) :]
        self._n_slots += max(0, n_new - n_free)

    def close_quiet(self, *, day: int, ordinal: int, run: int) -> list[int]:
        """Close the events that took no story for too long, and return them, oldest first.

        `day` and `ordinal` are those of the stream now.
        """
        is_open = self._index.is_open[: self._n_slots]
        table = self._table[: len(is_open)]
        too_long = (table[:, GROWN_DAY] < day - self.settings.quiet_days) | (
            table[:, GROWN] < ordinal - QUIET_STORIES
        )
        slots = np.flatnonzero(too_long & is_open)
        if not len(slots):
            return []
        quiet = table[slots, NUMBER].tolist()
        self._closed.update(zip(quiet, self._sums(slots.tolist()), strict=True))
        self._closed_by |= dict.fromkeys(quiet, run)
        self._release(quiet)
        return sorted(quiet)

    def _release(self, events: Iterable[int]) -> None:
        """Take events out of the index; their slots are free."""
        slots = [self._slots.pop(event) for event in events]
        if not slots:
            return
        remove_domains(self._index, np.array(slots, np.int64))
        self._index.is_open[slots] = False
        self._free += slots

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
        self._settle()
        slot = self._slot_of(event)
        _, words, values = story_vectors([story.bags])
        self._index = with_capacity(self._index, slot, words)
        ones = np.ones(len(words), np.int32)
        add_words(self._index, slot, sign, 1, words, ones, values, EVENT_WEIGHTS)
        rebalance(self._index, slot, EVENT_WEIGHTS, True)
        self._rows[event] = _with_story(self._rows[event], story, sign, day)
        self._fill_table(event)

    def reopen(self, event: int) -> None:
        """Let a closed event in memory take stories again."""
        self._settle()
        slot = self._slot_of(event)
        self._rows[event] = self._rows[event]._replace(closed_by=None)
        self._index.is_open[slot] = True
        rebalance(self._index, slot, EVENT_WEIGHTS, True)

    def restore(self, row: EventRecord) -> None:
        """Bring an event into memory that `record` returned."""
        self.skip_to(row.id + 1)
        self._rows[row.id] = row
        self._closed[row.id] = row.sums
        self._slot_of(row.id)

    def _slot_of(self, event: int) -> int:
        """Return the slot of an event in memory; a closed one gets a slot."""
        if event in self._slots:
            return self._slots[event]
        slot = self._slots[event] = self._take_slot()
        sums = self._closed.pop(event)
        self._index = with_capacity(self._index, slot, sums.words)
        insert_domain(self._index, slot, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[slot] = sums.n_units
        self._index.is_open[slot] = self._rows[event].closed_by is None
        rebalance(self._index, slot, EVENT_WEIGHTS, True)
        self._fill_table(event)
        return slot

    def drop(self, events: Sequence[int]) -> None:
        """Remove events from memory; their numbers are not used again."""
        self._settle()
        for event in events:
            del self._rows[event]
            self._closed.pop(event, None)
        self._release([event for event in events if event in self._slots])

    def _fill_table(self, event: int) -> None:
        """Compute what placing needs to know of an event besides its sums."""
        row, weights = self._rows[event], self.record(event).sums.weights
        first, last = (row.days[0][0], row.days[-1][0]) if row.days else (0, 0)
        squares = int((weights * weights).sum())
        self._table[self._slots[event]] = (event, first, last, squares, row.day, row.grown)


def _with_story(row: EventRecord, story: Story, sign: int, day: int) -> EventRecord:
    """Return an event with one more story, or with one less; an earlier `day` changes nothing."""
    counts = dict(row.days)
    counts[story.day] = counts.get(story.day, 0) + sign
    return row._replace(
        units=row.units + sign * len(story.bags),
        days=_sorted_days(counts),
        day=max(row.day, day),
        grown=row.grown if sign < 0 else max(row.grown, story.ordinal),
    )


def _sorted_days(counts: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """Return days with their stories, ascending; 0 is the day of undated stories."""
    return tuple(sorted([(day, n) for day, n in counts.items() if n and day]))


class EventRule(NamedTuple):
    """How stories are placed in events: see `place_stories`."""

    threshold: float
    decay: float
    day: int
    """The day of the stream."""
    first_new: int
    """The number of the first new event."""


@kernel
def place_stories(
    index: Index,
    first: int,
    last: int,
    stories: StoryVectors,
    times: Array,
    table: Array,
    slots: Array,
    rule: EventRule,
    placed: Array,
) -> int:
    """Place stories up to `last` one after the other, each into the best event or a new one.

    The rows of the index are slots; `table` has the event of each slot, and the next new event
    gets the next of `slots`. `times` are the day (0: none) and the ordinal of each story. Ties go
    to the older event. placed[s] = the event of the story, and 1 if it is new. Stop if a slot is
    full, as `place_units` does.
    """
    ones = np.ones(MOST_STORY_WORDS, np.int32)
    logs = np.empty(32)
    for gap in range(len(logs)):
        logs[gap] = np.log1p(float(gap))
    sums, touched = index.sums, index.touched
    for s in range(first, last):
        a, b = stories.ends[s - 1] if s else 0, stories.ends[s]
        own, values = stories.words[a:b], stories.values[a:b]
        day = times[0, s]
        n_touched, squares = 0, 0
        for i in range(len(own)):
            value = int(values[i])
            squares += value * value
            start = np.uint64(index.word_lists[own[i], START])
            last_posting = start + np.uint64(index.word_lists[own[i], N_COMPARED])
            for p in range(start, last_posting):
                d = np.uint64(index.postings[DOMAIN, p])
                touched[np.uint64(n_touched)] = d
                n_touched += sums[d, 0] == 0
                sums[d, 0] += value * index.posting_sums[p, 0]
        best, best_score, best_product = 0, -1.0, 0
        length = np.sqrt(float(squares))
        for i in range(n_touched):
            d = touched[i]
            product = sums[d, 0]
            sums[d, 0] = 0
            score = product / (np.sqrt(float(table[d, SQUARES])) * length)
            if score < best_score:
                continue  # days only make it lower
            if day and table[d, LAST_DAY]:
                gap = max(day - table[d, LAST_DAY], table[d, FIRST_DAY] - day, 0)
                score -= rule.decay * (logs[gap] if gap < len(logs) else np.log1p(float(gap)))
            if score > best_score or (
                score == best_score and table[d, NUMBER] < table[best, NUMBER]
            ):
                best, best_score, best_product = d, score, product
        joins = best > 0 and best_score >= rule.threshold
        slot = best if joins else slots[index.used[DOMAINS] - rule.first_new]
        if slot >= len(index.start) or not reserve(index, slot, own):
            index.used[FULL_DOMAIN] = slot
            return s
        if not joins:
            index.is_open[slot] = True
            for column in range(TABLE_COLUMNS):
                table[slot, column] = 0
            table[slot, NUMBER] = index.used[DOMAINS]
            index.used[DOMAINS] += 1
            best_product = 0
            insert_open(index, slot, own, values)
        else:
            add_words(index, slot, 1, 1, own, ones[: len(own)], values, EVENT_WEIGHTS)
        table[slot, SQUARES] += 2 * best_product + squares
        table[slot, GROWN_DAY] = max(table[slot, GROWN_DAY], rule.day)
        table[slot, GROWN] = max(table[slot, GROWN], times[1, s])
        if day:
            table[slot, LAST_DAY] = max(table[slot, LAST_DAY], day)
            if table[slot, FIRST_DAY] == 0 or day < table[slot, FIRST_DAY]:
                table[slot, FIRST_DAY] = day
        placed[s, 0], placed[s, 1] = table[slot, NUMBER], 0 if joins else 1
    return last
