"""Recomputing a clustering: what it will cost, told before it starts, and then the labels.

The cost is found by trial on small parts of the data, so it holds for any measure and clusterer,
also for those that are not ours.
"""

from __future__ import annotations

import math
import os
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Matrix, Rows, State, Views
from segapsith.errors import SegapsithError, UsageError
from segapsith.evaluation.views import side_by_side
from segapsith.lexicon.weighting import tf_idf

__all__ = [
    "Cost",
    "TooLargeError",
    "cluster",
    "estimate",
    "free_memory",
    "n_rows_of",
    "sampled",
    "weighted",
]

SHARE = 0.8
"""Of the free memory, what a clustering may take."""

TRIALS = (150, 300, 600)
"""Rows of the trials: the first warms up, the others are measured."""


class TooLargeError(SegapsithError):
    """The clustering would not fit into memory."""

    exit_code = 1


class Measure(Protocol):
    """A similarity, as clustering needs it."""

    def learn(self, rows: Rows | Views) -> None: ...
    def compare(self, left: Rows, right: Rows) -> Matrix: ...
    def state(self) -> State: ...


class Grouping(Protocol):
    """A clusterer, as clustering needs it."""

    def cluster(self, rows: Rows | Views, compare: Compare | None) -> Labels: ...


@dataclass(frozen=True, slots=True)
class Cost:
    """What a clustering takes, roughly."""

    n_rows: int
    bytes: int
    seconds: float
    free_bytes: int

    @property
    def fits(self) -> bool:
        return self.bytes <= SHARE * self.free_bytes

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} units: about {_size(self.bytes)} of memory"
            f" ({_size(self.free_bytes)} free) and {_duration(self.seconds)}"
        )


def cluster(rows: Rows | Views, measure: Measure | None, grouping: Grouping) -> Labels:
    """Labels of the rows; the measure learns from them first.

    Rows in several views go to the measure as they are and to the clusterer side by side, or to
    the clusterer as they are where there is no measure.
    """
    if measure is None:
        return grouping.cluster(rows, None)
    measure.learn(rows)
    together = side_by_side(rows) if isinstance(rows, Mapping) else rows
    return grouping.cluster(together, measure.compare)


def n_rows_of(rows: Rows | Views) -> int:
    """How many rows there are, in one view or several."""
    first = next(iter(rows.values())) if isinstance(rows, Mapping) else rows
    return int(first.shape[0])


def estimate(
    rows: Rows | Views,
    measure: Callable[[], Measure | None],
    grouping: Callable[[int], Grouping],
    seed: int = 0,
) -> Cost:
    """Memory and time by trial: small samples are clustered, and growth goes on as it began.

    `grouping` makes a clusterer for a given number of rows, so that a trial does not ask for more
    clusters than it has rows.
    """
    n_rows = n_rows_of(rows)
    sizes = [min(size, n_rows) for size in TRIALS]
    spent: list[tuple[int, float, int]] = []
    for number, size in enumerate(sizes):
        part = sampled(rows, size, seed)[0]
        began = time.perf_counter()
        cluster(part, measure(), grouping(size))
        seconds = time.perf_counter() - began
        if number == 0:
            continue
        tracemalloc.start()
        try:
            cluster(part, measure(), grouping(size))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        spent.append((size, seconds, peak))
        if size == n_rows:
            break
    (small, seconds_small, bytes_small), (large, seconds, peak) = spent[0], spent[-1]
    time_growth = _growth(small, seconds_small, large, seconds, 3.0)
    room_growth = _growth(small, bytes_small, large, peak, 2.0)
    ratio = n_rows / max(large, 1)
    return Cost(
        n_rows,
        int(peak * ratio**room_growth),
        seconds * ratio**time_growth,
        free_memory(),
    )


def _growth(small: int, spent_small: float, large: int, spent: float, most: float) -> float:
    """The exponent with which a cost grows, between 1 and `most`."""
    if large <= small or spent_small <= 0 or spent <= 0:
        return most
    return min(max(math.log(spent / spent_small) / math.log(large / small), 1.0), most)


def weighted(counts: Rows, weights: str | None, similarity: str | None) -> Rows:
    """Rows as they are compared: counts, or tf-idf, which measures want unless told otherwise."""
    chosen = weights or ("counts" if similarity is None else "tf-idf")
    if chosen not in ("counts", "tf-idf"):
        raise UsageError(f"weights={chosen!r} should be counts or tf-idf")
    return counts if chosen == "counts" else tf_idf(counts)


Given = TypeVar("Given", Rows, Views)


def sampled(rows: Given, size: int, seed: int) -> tuple[Given, NDArray[np.int64]]:
    """Some rows drawn at random, in their order, and which they are; of all views the same."""
    n_rows = n_rows_of(rows)
    if size >= n_rows:
        return rows, np.arange(n_rows, dtype=np.int64)
    chosen = np.sort(np.random.default_rng(seed).choice(n_rows, size, replace=False))
    if isinstance(rows, Mapping):
        part = {name: csr_array(view[chosen]) for name, view in rows.items()}
        return part, chosen.astype(np.int64)
    return csr_array(rows[chosen]), chosen.astype(np.int64)


def free_memory() -> int:
    """Bytes that a process may still take."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: the physical memory has to do
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _size(n_bytes: int) -> str:
    """Bytes as people say them.

    >>> _size(1_500_000), _size(3_200_000_000)
    ('2 MB', '3.2 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1, round(n_bytes / 1e6))} MB"


def _duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> _duration(0.2), _duration(75), _duration(9000)
    ('1 s', '1 min 15 s', '2 h 30 min')
    """
    whole = max(1, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
