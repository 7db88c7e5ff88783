"""Bars by day and curves: to scale, with breaks and pauses marked."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest

from segapsith.domains.timeline import Timeline
from segapsith.report.charts import curves


def test_long_times_are_drawn_by_stretches_of_days() -> None:
    first = date(2000, 1, 1)
    calendar = [str(first + timedelta(days=i)) for i in range(900)]
    drawn = str(curves.day_bars(Timeline.of(calendar), dict.fromkeys(calendar, 2)))
    assert 50 <= drawn.count("Z") <= 60


def test_days_are_drawn_to_scale_and_a_gap_is_a_break_that_says_so() -> None:
    def places(drawn: str) -> list[float]:
        return [float(x) for x in re.findall(r"M([\d.]+) 26V", drawn)]

    ten = {"2026-03-01": 1, "2026-03-02": 1, "2026-03-11": 1}
    drawn = str(curves.day_bars(Timeline.of(ten), ten))
    one, two, eleven = places(drawn)
    assert (eleven - one) / (two - one) == pytest.approx(10, rel=0.01)
    assert 'class="break"' not in drawn
    old = {"1987-10-19": 1, "2026-03-01": 1, "2026-03-02": 1}
    drawn = str(curves.day_bars(Timeline.of(old), old))
    first, second, third = places(drawn)
    assert second - first > third - second
    assert drawn.count('class="break"') == 1
    assert "<title>38 years without stories</title>" in drawn
    assert "38 years without stories in between" in drawn


def test_a_pause_between_validations_is_marked() -> None:
    one = {"run": 1, "kappa": 0.5, "share": 0.5, "kappa_low": None, "kappa_high": None}
    ones = [{**one, "at": f"2026-0{month}-01T02:00:00+00:00"} for month in (1, 4)]
    assert "89 days" not in str(curves.over_time(ones[:1], "one"))
    assert "2 months without" in str(curves.over_time(ones, "two"))
