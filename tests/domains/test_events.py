"""Placing stories: the index of events against its formula written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.events import (
    DECAY,
    MOST_STORY_WORDS,
    STORY_LENGTH,
    EventIndex,
    next_day,
    story_vectors,
)
from segapsith.domains.values import Bag, EventRecord, EventSettings, Story
from segapsith.lexicon.vocabulary import SCALE

bags = st.dictionaries(
    st.integers(0, 12),
    st.tuples(st.integers(1, 4), st.integers(1, SCALE)),
    min_size=1,
    max_size=6,
).map(
    lambda words: Bag(
        np.array(sorted(words), dtype=np.int32),
        np.array([words[w][0] for w in sorted(words)], dtype=np.int32),
        np.array([words[w][1] for w in sorted(words)], dtype=np.int32),
    )
)


class PlainEvents:
    """Events story by story: dictionaries, and the formula as the page has it."""

    def __init__(self, rules: EventSettings) -> None:
        self.rules = rules
        self.events: list[dict[int, int]] = []
        self.days: list[list[int]] = []
        self.grown: list[int] = []
        self.n_units: list[int] = []
        self.closed: set[int] = set()

    def vector(self, story: Story) -> dict[int, int]:
        sums: dict[int, int] = {}
        for bag in story.bags:
            for word, count, weight in zip(*(part.tolist() for part in bag), strict=True):
                if count:
                    sums[word] = sums.get(word, 0) + weight
        heaviest = sorted(sums, key=lambda w: (-sums[w], w))[:MOST_STORY_WORDS]
        raised = {w: sums[w] * math.sqrt(sums[w]) for w in sorted(heaviest)}
        length = math.sqrt(sum(value * value for value in raised.values()))
        scale = STORY_LENGTH
        return {w: max(round(value / length * scale), 1) for w, value in raised.items()}

    def score(self, number: int, vector: dict[int, int], day: int) -> float:
        sums, days = self.events[number], self.days[number]
        product = sum(sums[w] * value for w, value in vector.items() if w in sums)
        if not product:
            return -math.inf
        lengths = [math.sqrt(sum(v * v for v in some.values())) for some in (sums, vector)]
        gap = max(day - max(days), min(days) - day, 0) if day and days else 0
        return product / (lengths[0] * lengths[1]) - DECAY * math.log1p(gap)

    def place(self, story: Story, stream_day: int) -> int:
        vector = self.vector(story)
        scores = [
            -math.inf if number in self.closed else self.score(number, vector, story.day)
            for number in range(len(self.events))
        ]
        best = max(range(len(scores)), key=lambda n: (scores[n], -n), default=-1)
        if best < 0 or scores[best] < self.rules.threshold:
            best = len(self.events)
            self.events.append({})
            self.days.append([])
            self.grown.append(0)
            self.n_units.append(0)
        for word, value in vector.items():
            self.events[best][word] = self.events[best].get(word, 0) + value
        self.days[best] += [story.day] if story.day else []
        self.grown[best] = stream_day
        self.n_units[best] += len(story.bags)
        return best + 1

    def close(self, stream_day: int) -> None:
        for number, grown in enumerate(self.grown):
            if grown < stream_day - self.rules.quiet_days:
                self.closed.add(number)


stories = st.lists(
    st.tuples(
        st.lists(bags, min_size=1, max_size=2), st.sampled_from([0, 700, 701, 702, 705, 720, 9999])
    ),
    min_size=1,
    max_size=14,
)


def numbered(items: list[tuple[list[Bag], int]]) -> list[Story]:
    return [Story(units, day, n) for n, (units, day) in enumerate(items, 1)]


def placed(
    items: list[Story], rules: EventSettings, cuts: set[int]
) -> tuple[list[int], EventIndex]:
    """Place stories as an update does, with a new call at each cut."""
    index, day = EventIndex(rules), 0
    found: list[int] = []
    waiting: list[Story] = []

    def flush() -> None:
        if waiting:
            found.extend(index.place_all(waiting, day=day, run=1))
            waiting.clear()

    for n, story in enumerate(items):
        if (today := next_day(day, story.day)) != day:
            flush()
            day = today
            index.close_quiet(day=day, ordinal=story.ordinal, run=1)
        waiting.append(story)
        if n in cuts:
            flush()
    flush()
    return found, index


def as_values(row: EventRecord) -> tuple[object, ...]:
    sums = row.sums
    arrays = (sums.words.tolist(), sums.occurrences.tolist(), sums.weights.tolist(), sums.n_units)
    return (row.id, arrays, row.units, row.days, row.day, row.grown, row.closed_by)


@given(stories, st.sampled_from([0.2, 0.5, 0.8]), st.sets(st.integers(0, 13)))
@settings(deadline=None)
def test_stories_join_the_event_that_the_formula_names(
    items: list[tuple[list[Bag], int]], threshold: float, cuts: set[int]
) -> None:
    rules = EventSettings(threshold, quiet_days=2)
    plain, day, expected = PlainEvents(rules), 0, []
    for story in numbered(items):
        if (today := next_day(day, story.day)) != day:
            day = today
            plain.close(day)
        expected.append(plain.place(story, day))
    found, index = placed(numbered(items), rules, cuts)
    assert found == expected
    for number, sums in enumerate(plain.events):
        row = index.record(number + 1)
        words = dict(zip(row.sums.words.tolist(), row.sums.weights.tolist(), strict=True))
        assert words == sums
        assert row.units == plain.n_units[number]
        assert [d for d, n in row.days for _ in range(n)] == sorted(plain.days[number])
        assert (row.closed_by is not None) == (number in plain.closed)


@given(stories, st.data())
@settings(deadline=None)
def test_a_story_that_leaves_its_event_leaves_no_trace(
    items: list[tuple[list[Bag], int]], data: st.DataObject
) -> None:
    everything = numbered(items)
    found, index = placed(everything, EventSettings(0.5), set())
    before = [as_values(index.record(event)) for event in index]
    gone = data.draw(st.sets(st.integers(0, len(everything) - 1)))
    for n in gone:
        index.add(found[n], everything[n], -1)
    for event in index:
        members = [s for n, s in enumerate(everything) if found[n] == event and n not in gone]
        row = index.record(event)
        assert row.sums.n_units == len(members)
        assert row.units == sum(len(story.bags) for story in members)
        assert sum(n for _, n in row.days) == sum(1 for story in members if story.day)
        assert members or not len(row.sums.words)
    for n in sorted(gone, reverse=True):
        index.add(found[n], everything[n])
    assert [as_values(index.record(event)) for event in index] == before


@given(stories)
@settings(deadline=None)
def test_a_restored_index_of_events_places_as_the_first_did(
    items: list[tuple[list[Bag], int]],
) -> None:
    everything = numbered(items)
    half = len(everything) // 2
    _, index = placed(everything[:half], EventSettings(0.5), set())
    restored = EventIndex(EventSettings(0.5))
    for event in index:
        restored.restore(index.record(event))
    restored.skip_to(index.next_event)
    rest = everything[half:]
    if rest:
        both = [i.place_all(rest, day=800, run=2) for i in (index, restored)]
        assert both[0] == both[1]
        assert [as_values(index.record(e)) for e in index] == [
            as_values(restored.record(e)) for e in restored
        ]


def test_the_slot_of_a_dropped_event_is_used_again_and_its_number_is_not() -> None:
    index = EventIndex()
    units = [Bag(np.array([n], np.int32), *(np.array([5], np.int32),) * 2) for n in range(40)]
    for n, unit in enumerate(units):
        (event,) = index.place_all([Story([unit], 0, n + 1)], day=0, run=1)
        assert event == n + 1
        index.drop([event])
    assert index.next_event == 41
    assert list(index) == []
    assert len(index._table) == 16


def test_squares_of_many_equal_stories_do_not_overflow() -> None:
    """700,000 stories of one word: the square of their sum is below 2**63."""
    assert (700_000 * STORY_LENGTH) ** 2 < 2**63


@pytest.mark.parametrize("wrong", [{"threshold": 0.0}, {"threshold": 1.5}, {"quiet_days": 0}])
def test_impossible_settings_of_events_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="should be"):
        EventSettings(**wrong)  # type: ignore[arg-type]


@given(st.lists(st.lists(st.integers(1, 400), max_size=90), min_size=1, max_size=5))
def test_vectors_of_stories_are_the_same_without_the_compiler(weights: list[list[int]]) -> None:
    stories = [
        [
            Bag(
                np.arange(len(of), dtype=np.int32),
                np.ones(len(of), np.int32),
                np.array(of, np.int32) * SCALE // 10,
            )
        ]
        for of in weights
    ]
    for left, right in zip(
        story_vectors(stories), story_vectors(stories, compiled=False), strict=True
    ):
        assert left.tolist() == right.tolist()
