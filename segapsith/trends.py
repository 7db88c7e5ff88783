"""Days of a domain: what rises, what falls, and the days on which it burst.

A domain is held against the whole stream, so that a thin Sunday is no decline: of the units that
came on some days, as large a share is expected as the domain had on the days before.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["Stream", "bursts", "sparkline", "trend"]

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
    """Units of the whole stream by day, ready for sums over stretches of days."""

    def __init__(self, days: Mapping[str, int]) -> None:
        self.days = dict(days)
        self.last = max(self.days, default="")
        self._recent = _since(self.last, RECENT)
        self._before = _since(self.last, RECENT + BEFORE)
        self.recent = self._sum(self.days, self._recent)
        self.before = self._sum(self.days, self._before) - self.recent

    @staticmethod
    def _sum(days: Mapping[str, int], first: str) -> int:
        return sum(n for day, n in days.items() if day >= first)

    def counts(self, days: Mapping[str, int]) -> tuple[int, int]:
        """Units of a domain in the recent days, and in those before."""
        recent = self._sum(days, self._recent)
        return recent, self._sum(days, self._before) - recent


def _since(last: str, days: int) -> str:
    """The first of so many days up to the last."""
    try:
        return str(datetime.date.fromisoformat(last) - datetime.timedelta(days=days - 1))
    except (ValueError, OverflowError):
        return last


def _surprise(found: float, expected: float) -> float:
    """How far a count is from what was expected, in standard deviations of a Poisson count."""
    return (found - expected) / math.sqrt(expected + 1.0)


def trend(days: Mapping[str, int], stream: Stream) -> dict[str, Any]:
    """`rising`, `falling`, `new`, `quiet` or `steady`, with the counts that say so.

    >>> stream = Stream({f"2026-03-{d:02}": 20 for d in range(1, 31)})
    >>> trend({"2026-03-02": 1, "2026-03-28": 5, "2026-03-29": 6}, stream)["state"]
    'rising'
    >>> trend({"2026-03-03": 4}, stream)["state"]
    'quiet'
    """
    recent, before = stream.counts(days)
    expected = before * stream.recent / stream.before if stream.before else 0.0
    surprise = _surprise(recent, expected)
    if not days or not recent:
        state = "quiet"
    elif stream.before and not before and len(days) and min(days) >= _since(stream.last, RECENT):
        state = "new"
    elif stream.before and recent >= LEAST and surprise >= SURPRISE:
        state = "rising"
    elif before >= LEAST and surprise <= -SURPRISE:
        state = "falling"
    else:
        state = "steady"
    return {
        "state": state,
        "recent": recent,
        "expected": round(expected, 3),
        "surprise": round(surprise, 3),
    }


def bursts(days: Mapping[str, int], stream: Stream) -> list[dict[str, Any]]:
    """The days on which a domain had far more units than its days before made one expect.

    The days before are its share of the stream up to then; the first day is no burst.
    """
    found: list[dict[str, Any]] = []
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
            found.append(
                {
                    "day": day,
                    "units": count,
                    "expected": round(expected, 3),
                    "surprise": round(surprise, 3),
                }
            )
        seen += count
    return found


def sparkline(days: Mapping[str, int], most: int = 60) -> str:
    """The days from the first to the last as bars, a blank for a day without units.

    More days than fit are put together, equally many to a bar.

    >>> sparkline({"2026-03-01": 1, "2026-03-02": 8, "2026-03-04": 4})
    '▁█ ▄'
    """
    if not days:
        return ""
    try:
        numbers = {datetime.date.fromisoformat(day).toordinal(): n for day, n in days.items()}
    except ValueError:
        return ""
    first, last = min(numbers), max(numbers)
    size = -(-(last - first + 1) // most)
    counts = [0] * ((last - first) // size + 1)
    for number, count in numbers.items():
        counts[(number - first) // size] += count
    return "".join(_bars(counts))


def _bars(counts: Iterable[int]) -> list[str]:
    values = list(counts)
    top = max(values)
    return [
        " " if not value else BARS[max(0, math.ceil(value / top * len(BARS)) - 1)]
        for value in values
    ]
