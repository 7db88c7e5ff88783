"""Axes of days: true to scale, with breaks where nothing came for long."""

from __future__ import annotations

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.timeline import GAP_DAYS, Timeline

DAYS = st.integers(723_000, 740_000).map(lambda number: str(date.fromordinal(number)))


def test_short_pauses_are_drawn_and_long_ones_are_broken() -> None:
    assert not Timeline.of(["2026-03-01", "2026-03-21"]).gaps
    (gap,) = Timeline.of(["1987-10-19", "1987-10-20", "2026-03-01"]).gaps
    assert gap.label == "1987-10-21 to 2026-02-28"


def test_each_of_several_archives_has_its_stretch() -> None:
    axis = Timeline.of(["1987-10-19", "1999-01-01", "2012-05-05", "2026-03-01"])
    assert len(axis.stretches) == 4
    assert axis.gap_labels[0] == "11 years without stories"


def test_what_is_no_date_is_left_out() -> None:
    axis = Timeline.of(["2026-03-01", "yesterday", ""])
    assert axis.bars({"2026-03-01": 2, "yesterday": 7}, 10) == [[2]]
    assert Timeline.of(["yesterday"]).stretches == ()
    assert Timeline.of([]).bars({}, 10) == []


@settings(deadline=None)
@given(st.dictionaries(DAYS, st.integers(1, 9), max_size=12), st.integers(1, 60))
def test_no_unit_is_lost_and_the_bars_fit(counts: dict[str, int], most: int) -> None:
    axis = Timeline.of(counts)
    bars = axis.bars(counts, most)
    assert sum(map(sum, bars)) == sum(counts.values())
    assert sum(map(len, bars)) <= max(most, len(axis.stretches))
    assert all(gap.n_days >= GAP_DAYS for gap in axis.gaps)
    assert len(bars) == len(axis.stretches)
