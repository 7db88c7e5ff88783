"""Counts over time: buckets, sums, bars and lines."""

from __future__ import annotations

import datetime

from hypothesis import given
from hypothesis import strategies as st

from segapsith.report.charts.days import BUCKETS, Line, bucket_of, buckets, day_axis, lines, sums

days = st.dates(datetime.date(2000, 1, 1), datetime.date(2001, 1, 1)).map(str)


@given(st.dictionaries(days, st.integers(1, 9), min_size=1), st.sampled_from(BUCKETS))
def test_no_count_is_lost_in_buckets(counts: dict[str, int], size: str) -> None:
    starts = buckets(min(counts), max(counts), size)
    assert starts == sorted(set(starts)) and bucket_of(max(counts), size) == starts[-1]
    assert sum(sums(counts, starts, size)) == sum(counts.values())


def test_the_oldest_buckets_are_left_out() -> None:
    starts = buckets("1900-01-01", "2026-01-01", "day")
    assert len(starts) == 400 and starts[-1] == "2026-01-01"
    assert buckets("0001-01-01", "0001-01-03", "month") == ["0001-01-01"]


def test_bars_and_marks_are_drawn_and_escaped() -> None:
    starts = buckets("2026-01-01", "2026-01-03", "day")
    svg = str(day_axis(starts, [1, 0, 5], "<label>", marks={"2026-01-03": "<b>peak"}))
    assert svg.count("<rect") == 2 and "&lt;b&gt;peak" in svg and "<b>" not in svg


def test_lines_have_a_legend() -> None:
    svg = str(lines(["2026-01-01", "2026-01-02"], [Line("a&b", [1, 2]), Line("c", [0, 1])], "x"))
    assert svg.count("a&amp;b") == 2 and svg.count("<path") >= 4
    assert "nan" not in str(lines([], [], "empty"))
