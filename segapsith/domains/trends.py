"""Trends of a domain over days: rising, falling, and days with a burst.

A domain is compared with the whole stream, so that a thin Sunday is not a decline. Of the units of
some days, the domain is expected to have the same share as on the days before. Pauses of the stream
of `GAP_DAYS` or more are skipped: the days before a pause directly precede the days after it.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from segapsith.domains.timeline import GAP_DAYS, Timeline, ordinals
from segapsith.model import Result

__all__ = ["MIN_UNITS", "Burst", "Stream", "Trend", "bars", "bursts", "sparkline", "trend"]

RECENT_DAYS = 7
"""Number of days whose trend is computed."""

REFERENCE_DAYS = 28
"""Number of days before them that give the expected share."""

TREND_DEVIATIONS = 2.0
"""Least distance from the expected count for a trend, in standard deviations."""

BURST_DEVIATIONS = 3.0
"""Least distance from the expected count for a burst, in standard deviations."""

MIN_UNITS = 3
"""Least number of units of a trend or burst."""

BARS = "▁▂▃▄▅▆▇█"
"""Characters of a sparkline, from the lowest bar to the highest."""


@dataclass(frozen=True, slots=True)
class Trend(Result):
    """The trend of a domain in the recent days, and the counts that it follows from."""

    state: str
    """`rising`, `falling`, `new`, `quiet`, `steady` or `undated`."""
    recent: int
    """Units in the recent days."""
    expected: float
    """Units expected from the share of the domain on the days before."""
    surprise: float
    """Distance of `recent` from `expected`, in standard deviations."""


@dataclass(frozen=True, slots=True)
class Burst(Result):
    """A day on which a domain had far more units than expected."""

    day: str
    units: int
    expected: float
    surprise: float
    """Distance of `units` from `expected`, in standard deviations."""


class Stream:
    """Units of the whole stream by day.

    The recent days are calendar days. The days before them skip every pause of `GAP_DAYS` or more,
    so stories after a pause are compared with the last stories before it.
    """

    def __init__(self, days: Mapping[str, int]) -> None:
        self.days = dict(days)
        self.last = max(self.days, default="")
        present = ordinals(self.days)
        newest = max(present, default=0)
        self._recent = _iso_day(newest - RECENT_DAYS + 1, self.last)
        self._before = _iso_day(_first_day(present, RECENT_DAYS + REFERENCE_DAYS), self.last)
        self.recent = self._sum(self.days, self._recent)
        self.before = self._sum(self.days, self._before) - self.recent

    @staticmethod
    def _sum(days: Mapping[str, int], first: str) -> int:
        return sum(n for day, n in days.items() if day >= first)

    def counts(self, days: Mapping[str, int]) -> tuple[int, int]:
        """Return the units of a domain in the recent days, and in those before."""
        recent = self._sum(days, self._recent)
        return recent, self._sum(days, self._before) - recent

    def is_recent(self, day: str) -> bool:
        """Return whether a day is one of the recent days."""
        return day >= self._recent


def _first_day(present: set[int], n_days: int) -> int:
    """Return the first of the last `n_days` days of a stream, gaps not counted; 0 without days."""
    first, left = max(present, default=0), n_days - 1
    for day in sorted(present - {first}, reverse=True):
        step = first - day
        if step > GAP_DAYS:
            step = 1
        if step > left:
            break
        first, left = day, left - step
    return first - left


def _iso_day(day: int, otherwise: str) -> str:
    """Return a day as text, or `otherwise` if there is no such day."""
    try:
        return str(datetime.date.fromordinal(day))
    except (ValueError, OverflowError):
        return otherwise


def _surprise(count: float, expected: float) -> float:
    """Return the distance of a count from the expected one, in Poisson standard deviations."""
    return (count - expected) / math.sqrt(expected + 1.0)


def trend(days: Mapping[str, int], stream: Stream) -> Trend:
    """Return the trend of a domain, given its units by day.

    >>> stream = Stream({f"2026-03-{d:02}": 20 for d in range(1, 31)})
    >>> trend({"2026-03-02": 1, "2026-03-28": 5, "2026-03-29": 6}, stream).state
    'rising'
    >>> trend({"2026-03-03": 4}, stream).state
    'quiet'
    >>> trend({}, stream).state
    'undated'
    """
    recent, before = stream.counts(days)
    expected = before * stream.recent / stream.before if stream.before else 0.0
    surprise = _surprise(recent, expected)
    if not days:
        state = "undated"
    elif not recent:
        state = "quiet"
    elif stream.before and not before and stream.is_recent(min(days)):
        state = "new"
    elif stream.before and recent >= MIN_UNITS and surprise >= TREND_DEVIATIONS:
        state = "rising"
    elif before >= MIN_UNITS and surprise <= -TREND_DEVIATIONS:
        state = "falling"
    else:
        state = "steady"
    return Trend(state, recent, round(expected, 3), round(surprise, 3))


def bursts(days: Mapping[str, int], stream: Stream) -> list[Burst]:
    """Return the days on which a domain had far more units than expected.

    The expected number follows from its share of the stream so far; the first day is never a burst.
    """
    burst_days: list[Burst] = []
    seen = total = 0
    stream_days = sorted(stream.days.items())
    position = 0
    for day, count in sorted(days.items()):
        while position < len(stream_days) and stream_days[position][0] < day:
            total += stream_days[position][1]
            position += 1
        expected = stream.days.get(day, 0) * seen / total if total else 0.0
        surprise = _surprise(count, expected)
        if seen and count >= MIN_UNITS and surprise >= BURST_DEVIATIONS:
            burst_days.append(Burst(day, count, round(expected, 3), round(surprise, 3)))
        seen += count
    return burst_days


def sparkline(days: Mapping[str, int], most: int = 60) -> str:
    """Return the days from the first to the last as bars, a blank for a day without units.

    If there are more days than `most`, a bar stands for several days. A gap that would fill most of
    the line is replaced by its length in words.

    >>> sparkline({"2026-03-01": 1, "2026-03-02": 8, "2026-03-04": 4})
    '▁█ ▄'
    >>> sparkline({"1987-10-19": 1, "2026-03-02": 8})
    '▁ ┊38 years without stories┊ █'
    """
    axis = Timeline.of(days)
    pieces = bars(days, axis, most)
    for place, gap in enumerate(axis.gap_labels):
        pieces.insert(2 * place + 1, f" ┊{gap}┊ ")
    return "".join(pieces)


def bars(days: Mapping[str, int], axis: Timeline, most: int = 60) -> list[str]:
    """Return the units by day as bars, one text per stretch of an axis."""
    stretches = axis.bars(days, most)
    top = max(itertools.chain.from_iterable(stretches), default=0)
    return ["".join(_bar(count, top) for count in counts) for counts in stretches]


def _bar(count: int, top: int) -> str:
    return BARS[max(0, math.ceil(count / top * len(BARS)) - 1)] if count else " "
