"""An axis of days to scale, with a marked break where the stream paused for long."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["GAP_DAYS", "Stretch", "Timeline", "duration", "ordinals"]

GAP_DAYS = 28
"""Least number of days without a story that make a gap in the stream."""

BREAK_SHARE = 0.25
"""A gap that is longer than this share of the axis is drawn as a break."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive days, both ends included, as proleptic ordinals."""

    first: int
    last: int

    @property
    def n_days(self) -> int:
        """The number of days."""
        return self.last - self.first + 1

    @property
    def label(self) -> str:
        """The first and the last day, or the only one."""
        first, last = (str(datetime.date.fromordinal(day)) for day in (self.first, self.last))
        return first if first == last else f"{first} to {last}"


@dataclass(frozen=True, slots=True)
class Timeline:
    """An axis of days: stretches in order, with a break between two of them."""

    stretches: tuple[Stretch, ...]

    @classmethod
    def of(cls, days: Iterable[str]) -> Timeline:
        """Return the axis of some days: to scale, except for gaps that would fill most of it.

        The longest gap becomes a break if it is wider than `BREAK_SHARE` of the axis; then the next
        longest is measured against what is left. Years that are evenly thin have no break.

        >>> [s.label for s in Timeline.of(["1987-10-19", "2026-03-01", "2026-03-02"]).stretches]
        ['1987-10-19', '2026-03-01 to 2026-03-02']
        >>> len(Timeline.of([f"{year}-07-01" for year in range(1987, 2027)]).stretches)
        1
        """
        present = sorted(ordinals(days))
        if not present:
            return cls(())
        pauses = sorted(
            (Stretch(one + 1, next_ - 1) for one, next_ in itertools.pairwise(present)),
            key=lambda pause: (-pause.n_days, pause.first),
        )
        axis = present[-1] - present[0] + 1
        breaks: list[Stretch] = []
        for pause in pauses:
            if pause.n_days < GAP_DAYS or pause.n_days <= BREAK_SHARE * axis:
                break
            breaks.append(pause)
            axis -= pause.n_days
        breaks.sort(key=lambda pause: pause.first)
        firsts = [present[0], *(pause.last + 1 for pause in breaks)]
        lasts = [*(pause.first - 1 for pause in breaks), present[-1]]
        return cls(tuple(map(Stretch, firsts, lasts)))

    @property
    def gaps(self) -> tuple[Stretch, ...]:
        """The days that each break skips."""
        return tuple(
            Stretch(one.last + 1, other.first - 1)
            for one, other in itertools.pairwise(self.stretches)
        )

    @property
    def gap_labels(self) -> list[str]:
        """The length of each break in words."""
        return [f"{duration(gap.n_days)} without stories" for gap in self.gaps]

    @property
    def label(self) -> str:
        """The whole axis in words.

        >>> Timeline.of(["1987-10-19", "2026-03-01", "2026-03-02"]).label
        '1987-10-19, 38 years without stories, 2026-03-01 to 2026-03-02'
        """
        parts = [stretch.label for stretch in self.stretches]
        for number, gap in enumerate(self.gap_labels):
            parts.insert(2 * number + 1, gap)
        return ", ".join(parts)

    def bars(self, counts: Mapping[str, int], most: int) -> list[list[int]]:
        """Return the sums of `counts` for each stretch, in bars of equal numbers of days.

        There are at most `most` bars, or one per stretch if there are more stretches. Days outside
        the axis are ignored.

        >>> Timeline.of(["2026-03-01", "2026-03-04"]).bars({"2026-03-01": 2, "2026-03-04": 1}, 60)
        [[2, 0, 0, 1]]
        """
        size = self._days_per_bar(most)
        sums = [[0] * -(-stretch.n_days // size) for stretch in self.stretches]
        for day, count in _counts_by_ordinal(counts):
            for stretch, row in zip(self.stretches, sums, strict=True):
                if stretch.first <= day <= stretch.last:
                    row[(day - stretch.first) // size] += count
        return sums

    def _days_per_bar(self, most: int) -> int:
        total = sum(stretch.n_days for stretch in self.stretches)
        size = max(1, -(-total // max(1, most)))
        longest = max((stretch.n_days for stretch in self.stretches), default=1)
        while size < longest and sum(-(-s.n_days // size) for s in self.stretches) > most:
            size += 1
        return size


def ordinals(days: Iterable[str]) -> set[int]:
    """Return the days as ordinals; texts that are not dates are ignored."""
    return {number for number, _ in _counts_by_ordinal(dict.fromkeys(days, 0))}


def _counts_by_ordinal(counts: Mapping[str, int]) -> list[tuple[int, int]]:
    numbered = []
    for day, count in counts.items():
        try:
            numbered.append((datetime.date.fromisoformat(day).toordinal(), count))
        except ValueError:
            continue
    return numbered


def duration(days: int) -> str:
    """Return a number of days in days, months or years, rounded down.

    >>> duration(1), duration(45), duration(100), duration(14244)
    ('1 day', '45 days', '3 months', '38 years')
    """
    if days < 60:
        return f"{days} day{'' if days == 1 else 's'}"
    if days < 730:
        return f"{int(days / 30.44)} months"
    return f"{int(days / 365.25)} years"
