"""Days of a domain: what rises, what falls, and the days on which it burst.

A domain is held against the whole stream, so that a thin Sunday is no decline: of the units that
came on some days, as large a share is expected as the domain had on the days before. A gap in the
stream (an archive of 1987, then today) takes no time: the days before it are the days before.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from segapsith.domains.timeline import GAP, Timeline, ordinals
from segapsith.model import Result

__all__ = ["Burst", "Stream", "Trend", "bars", "bursts", "sparkline", "trend"]

RECENT = 7
"""Days that are looked at."""

BEFORE = 28
"""Days before them that say what was to be expected."""

SURPRISE = 2.0
"""Standard deviations from what was expected that make a trend."""

BURST = 3.0
"""And those that make a burst."""

LEAST = 3
"""Units below which nothing is a trend or a burst."""

BARS = "▁▂▃▄▅▆▇█"


class Stream:
    """Units of the whole stream by day, ready for sums over stretches of days.

    The recent days are those of the calendar. The days before them leave out every pause of `GAP`
    days or more, so that what comes after a gap is held against the last stories before it.
    """

    def __init__(self, days: Mapping[str, int]) -> None:
        self.days = dict(days)
        self.last = max(self.days, default="")
        present = ordinals(self.days)
        newest = max(present, default=0)
        self._recent = _written(newest - RECENT + 1, self.last)
        self._before = _written(_first_day(present, RECENT + BEFORE), self.last)
        self.recent = self._sum(self.days, self._recent)
        self.before = self._sum(self.days, self._before) - self.recent

    @staticmethod
    def _sum(days: Mapping[str, int], first: str) -> int:
        return sum(n for day, n in days.items() if day >= first)

    def counts(self, days: Mapping[str, int]) -> tuple[int, int]:
        """Units of a domain in the recent days, and in those before."""
        recent = self._sum(days, self._recent)
        return recent, self._sum(days, self._before) - recent

    def is_recent(self, day: str) -> bool:
        """Whether a day is one of those that are looked at."""
        return day >= self._recent


def _first_day(present: set[int], n_days: int) -> int:
    """The first of the last `n_days` days of a stream, its gaps not counted; 0 of no days."""
    first, left = max(present, default=0), n_days - 1
    for day in sorted(present - {first}, reverse=True):
        step = first - day
        if step > GAP:
            step = 1
        if step > left:
            break
        first, left = day, left - step
    return first - left


def _written(day: int, otherwise: str) -> str:
    """A day as text; `otherwise` if there is no such day."""
    try:
        return str(datetime.date.fromordinal(day))
    except (ValueError, OverflowError):
        return otherwise


def _surprise(found: float, expected: float) -> float:
    """How far a count is from what was expected, in standard deviations of a Poisson count."""
    return (found - expected) / math.sqrt(expected + 1.0)


@dataclass(frozen=True, slots=True)
class Trend(Result):
    """The direction in which a domain develops, and the counts of units that show it."""

    state: str
    """`rising`, `falling`, `new`, `quiet`, `steady` or `undated`."""
    recent: int
    expected: float
    surprise: float
    """Standard deviations between `recent` and `expected`."""


@dataclass(frozen=True, slots=True)
class Burst(Result):
    """A day on which a domain had far more units than expected."""

    day: str
    units: int
    expected: float
    surprise: float


def trend(days: Mapping[str, int], stream: Stream) -> Trend:
    """Compare the recent days of a domain with what its days before let expect.

    >>> stream = Stream({f"2026-03-{d:02}": 20 for d in range(1, 31)})
    >>> trend({"2026-03-02": 1, "2026-03-28": 5, "2026-03-29": 6}, stream)["state"]
    'rising'
    >>> trend({"2026-03-03": 4}, stream)["state"]
    'quiet'
    >>> trend({}, stream)["state"]
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
    elif stream.before and recent >= LEAST and surprise >= SURPRISE:
        state = "rising"
    elif before >= LEAST and surprise <= -SURPRISE:
        state = "falling"
    else:
        state = "steady"
    return Trend(state, recent, round(expected, 3), round(surprise, 3))


def bursts(days: Mapping[str, int], stream: Stream) -> list[Burst]:
    """Return the days on which a domain had far more units than its days before let expect.

    The days before are its share of the stream up to then; the first day is no burst.
    """
    days_of_burst: list[Burst] = []
    seen = total = 0
    everything = sorted(stream.days.items())
    place = 0
    for day, count in sorted(days.items()):
        while place < len(everything) and everything[place][0] < day:
            total += everything[place][1]
            place += 1
        expected = stream.days.get(day, 0) * seen / total if total else 0.0
        surprise = _surprise(count, expected)
        if seen and count >= LEAST and surprise >= BURST:
            days_of_burst.append(Burst(day, count, round(expected, 3), round(surprise, 3)))
        seen += count
    return days_of_burst


def sparkline(days: Mapping[str, int], most: int = 60) -> str:
    """The days from the first to the last as bars, a blank for a day without units.

    More days than fit are put together, equally many to a bar. A gap that would fill most of the
    line is not drawn but named.

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
    """The units by day as bars, a text for each stretch of an axis."""
    stretches = axis.bars(days, most)
    top = max(itertools.chain.from_iterable(stretches), default=0)
    return ["".join(_bar(count, top) for count in counts) for counts in stretches]


def _bar(count: int, top: int) -> str:
    return BARS[max(0, math.ceil(count / top * len(BARS)) - 1)] if count else " "
