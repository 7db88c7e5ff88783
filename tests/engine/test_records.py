"""Pre-segmented units as columns: the same as one by one, also with copies and corrections."""

from __future__ import annotations

from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.api.wire import Wire
from segapsith.domains.index import bag_columns
from segapsith.domains.values import Bag
from segapsith.engine import updates
from segapsith.engine.records import days_of, units_at
from segapsith.model import Document
from segapsith_store.digest import digest

WORDS = [f"w{n}" for n in range(12)]

unit = st.builds(
    lambda uid, words, day, lang: Document(
        f"d{uid}", date=day and f"2026-03-{day:02}", lang=lang, bag=words
    ),
    st.integers(0, 30),
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 3), min_size=1, max_size=4),
    st.sampled_from([None, 1, 2, 20]),
    st.sampled_from(["en", "en", "en", "fr"]),
)


def learned(units: list[Document], cuts: set[int], least: int) -> str:
    """Learn units in runs that end at the cuts; columns need at least `least` units."""
    with pytest.MonkeyPatch.context() as patch, Wire(":memory:") as wire:
        patch.setattr(updates, "LEAST_COLUMNS", least)
        for a, b in pairwise(sorted({0, *cuts, len(units)})):
            wire.ingest(units[a:b])
        assert wire.verify().sound
        return digest(wire.writer, anew=True)


@pytest.mark.slow
@given(st.lists(unit, min_size=1, max_size=40), st.sets(st.integers(1, 39)))
@settings(deadline=None, max_examples=25)
def test_columns_learn_what_single_units_do(units: list[Document], cuts: set[int]) -> None:
    """Ids and words repeat, so there are copies and corrections of units of the same batch."""
    cuts = {cut for cut in cuts if cut < len(units)}
    alone = learned(units, set(), least=1000)
    assert learned(units, set(), least=1) == alone
    assert learned(units, cuts, least=1) == alone


def test_the_day_of_the_stream_moves_by_one_day_at_most() -> None:
    dates = ["2026-03-01", "2026-03-01", None, "2026-03-09", "2026-03-09"]
    days = days_of(dates, list(range(1, 6)), 0)
    first = days.own[0]
    assert days.own == [first, first, 0, first + 8, first + 8]
    assert [(mark.at, mark.day, mark.ordinal) for mark in days.marks] == [
        (0, first, 1),
        (3, first + 1, 4),
        (4, first + 2, 5),
    ]
    assert days.stream_day == first + 2


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_some_units_of_columns_are_those_units(sizes: list[int], picked: list[bool]) -> None:
    numbers = count()
    bags = []
    for size in sizes:
        words = np.array([next(numbers) for _ in range(size)], np.int32)
        bags.append(Bag(words, words + 1, words + 2))
    places = np.flatnonzero(picked[: len(bags)])
    some = units_at(bag_columns(bags), places)
    for i, place in enumerate(places.tolist()):
        for ours, theirs in zip(some.bag(i), bags[place], strict=True):
            assert np.array_equal(ours, theirs)
