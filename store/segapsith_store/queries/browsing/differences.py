"""What differs between two moments of a store: domains that appeared, went, merged, split, grew.

Everything follows from where the units are at both moments, so it does not matter which commands
made the difference.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Result
from segapsith_store.queries.browsing.activity import Activity, Described

__all__ = ["Differences", "Fate", "Growth", "differences"]

MERGED_SHARE = 0.5
"""Least share of the units of a domain that is gone in the domain it was merged into."""

SPLIT_SHARE, SPLIT_UNITS = 0.15, 2
"""Least share and number of units of a domain in each of its parts."""


@dataclass(frozen=True, slots=True)
class Growth(Result):
    """A domain with its units at both moments."""

    id: int
    label: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Fate(Result):
    """A domain whose units are now in others."""

    id: int
    label: str
    units: int
    into: Sequence[Growth]
    """Where its units are: `before` is the number of them, `after` the size of that domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences(Result):
    """What differs between two moments; lists are cut, counts are not."""

    units_before: int
    units_after: int
    arrived: int
    """Units that are only in the later moment."""
    left: int
    """Units that are only in the earlier moment: forgotten, corrected or undone."""
    moved: int
    """Units of both moments that are in another domain."""
    n_appeared: int
    appeared: Sequence[Growth]
    n_gone: int
    gone: Sequence[Growth]
    n_merged: int
    merged: Sequence[Fate]
    n_split: int
    split: Sequence[Fate]
    n_renamed: int
    renamed: Sequence[tuple[int, str, str]]
    grown: Sequence[Growth]


class _Flow(NamedTuple):
    """Units that went from one domain to another, or stayed."""

    source: int
    target: int
    units: int


def differences(before: Activity, after: Activity, most: int = 40) -> Differences:
    """Return what differs, at most `most` domains of each kind, largest first, ties by id."""
    at_left, at_right = _places(before), _places(after)
    size = max(len(at_left), len(at_right))
    left, right = (np.pad(at, (0, size - len(at))) for at in (at_left, at_right))
    both = (left > 0) & (right > 0)
    gone_ids = before.described.keys() - after.described.keys()
    merged, split = [], []
    for number, flows in _leaving(left[both], right[both]).items():
        n_units = before.described[number].units
        largest = max(flows, key=lambda flow: (flow.units, -flow.target))
        parts = [f for f in flows if f.units >= max(SPLIT_UNITS, SPLIT_SHARE * n_units)]
        if len(parts) > 1:
            split.append(_fate(before, after, number, parts))
        elif number in gone_ids and largest.units >= MERGED_SHARE * n_units:
            merged.append(_fate(before, after, number, [largest]))
    elsewhere = {fate.id for fate in (*merged, *split)}
    appeared = _appeared(before, after)
    gone = _appeared(after, before, without=elsewhere)
    staying = [
        (row, now)
        for number, row in before.described.items()
        if (now := after.described.get(number)) is not None and now is not row
    ]
    renamed = [
        (now.id, row.label, now.label)
        for row, now in staying
        if row.label != now.label and now.named
    ]
    grown = [(now, row.units, now.units) for row, now in staying if row.units != now.units]
    return Differences(
        units_before=len(before.units),
        units_after=len(after.units),
        arrived=int(((left == 0) & (right > 0)).sum()),
        left=int(((left > 0) & (right == 0)).sum()),
        moved=int((both & (left != right)).sum()),
        n_appeared=len(appeared),
        appeared=[Growth(row.id, row.label, 0, row.units) for row in appeared[:most]],
        n_gone=len(gone),
        gone=[Growth(row.id, row.label, row.units, 0) for row in gone[:most]],
        n_merged=len(merged),
        merged=sorted(merged, key=lambda one: (-one.units, one.id))[:most],
        n_split=len(split),
        split=sorted(split, key=lambda one: (-one.units, one.id))[:most],
        n_renamed=len(renamed),
        renamed=sorted(renamed)[:most],
        grown=[
            Growth(row.id, row.label, *sizes)
            for row, *sizes in heapq.nsmallest(
                most, grown, key=lambda one: (-abs(one[2] - one[1]), one[0].id)
            )
        ],
    )


def _places(activity: Activity) -> NDArray[np.int32]:
    """Return the domain of each unit by its id; 0 for none."""
    places = np.zeros(int(activity.units.max(initial=0)) + 1, np.int32)
    places[activity.units] = activity.domains
    return places


def _leaving(left: NDArray[np.int32], right: NDArray[np.int32]) -> dict[int, list[_Flow]]:
    """Return where the units of domains went, of those that units left."""
    leaving = np.zeros(int(left.max(initial=0)) + 1, np.bool_)
    leaving[left[left != right]] = True
    of_these = leaving[left]
    pairs, counts = np.unique(
        left[of_these].astype(np.int64) << 32 | right[of_these], return_counts=True
    )
    by_source: dict[int, list[_Flow]] = {}
    for pair, n_units in zip(pairs.tolist(), counts.tolist(), strict=True):
        flow = _Flow(pair >> 32, pair & 0xFFFFFFFF, n_units)
        by_source.setdefault(flow.source, []).append(flow)
    return by_source


def _appeared(before: Activity, after: Activity, without: Collection[int] = ()) -> list[Described]:
    """Return the domains that only the second moment has, largest first."""
    numbers = after.described.keys() - before.described.keys()
    rows = [after.described[number] for number in numbers if number not in without]
    return sorted(rows, key=lambda row: (-row.units, row.id))


def _fate(before: Activity, after: Activity, number: int, flows: Sequence[_Flow]) -> Fate:
    row = before.described[number]
    ranked = sorted(flows, key=lambda flow: (-flow.units, flow.target))
    return Fate(
        number,
        row.label,
        row.units,
        [
            Growth(
                f.target, after.described[f.target].label, f.units, after.described[f.target].units
            )
            for f in ranked
        ],
    )
