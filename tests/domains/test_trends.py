"""Trends: a domain against the whole stream, across gaps too."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from segapsith.domains.trends import Stream, sparkline, trend


def days(first: str, n_days: int, count: int) -> dict[str, int]:
    start = date.fromisoformat(first)
    return {str(start + timedelta(days=i)): count for i in range(n_days)}


ARCHIVE = days("1987-10-01", 60, 20)
TODAY = {"2026-03-01": 20, "2026-03-02": 20}


def state(domain: dict[str, int], stream: dict[str, int]) -> str:
    return trend(domain, Stream(stream)).state


def test_what_breaks_out_after_a_gap_is_not_steady() -> None:
    stream = ARCHIVE | TODAY
    assert state({"2026-03-01": 5, "2026-03-02": 6}, stream) == "new"
    assert state({"1987-10-05": 1, "2026-03-01": 5, "2026-03-02": 6}, stream) == "rising"
    assert state(days("1987-10-01", 60, 2) | {"2026-03-01": 2, "2026-03-02": 2}, stream) == "steady"
    assert state(days("1987-10-01", 60, 9) | {"2026-03-02": 1}, stream) == "falling"
    assert state(days("1987-10-01", 60, 9), stream) == "quiet"


def test_days_after_a_gap_are_held_against_the_last_days_before_it() -> None:
    stream = ARCHIVE | days("2026-03-01", 10, 20)
    assert state(days("2026-03-01", 10, 5), stream) == "rising"
    long = ARCHIVE | days("2026-03-01", 40, 20)
    assert state(days("2026-03-01", 40, 5), long) == "steady"


def test_a_silent_weekend_is_no_gap() -> None:
    whole = days("2026-01-01", 60, 20)
    week = {day: n for day, n in whole.items() if date.fromisoformat(day).weekday() < 5}
    assert state({day: 2 for day in week}, week) == "steady"
    assert Stream(week).recent == 5 * 20


def test_nothing_is_new_in_a_stream_that_began_this_week() -> None:
    assert state({"2026-03-02": 6}, TODAY) == "steady"


def test_a_domain_without_dates_is_undated() -> None:
    assert state({}, TODAY) == "undated"


def test_the_line_names_its_gap() -> None:
    line = sparkline({"1987-10-19": 1, "1987-10-20": 2, "2026-03-02": 8})
    assert line == "▁▂ ┊38 years without stories┊ █"
    assert len(sparkline(days("2024-01-01", 700, 1))) <= 60


@pytest.mark.parametrize("text", ["", "someday"])
def test_what_is_no_date_is_not_drawn(text: str) -> None:
    assert sparkline({text: 3}) == ""
