"""Batch clustering of rows, with an estimate of its cost before it starts.

The cost is measured on small samples of the data, so it holds for every similarity and clusterer,
including those of other packages.
"""

from __future__ import annotations

import math
import os
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Views
from segapsith.errors import SegapsithError, UsageError
from segapsith.evaluation.views import side_by_side
from segapsith.lexicon.vocabulary import tf_idf
from segapsith.plugin.contracts import Clusterer, Similarity

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "Cost",
    "TooLargeError",
    "cluster",
    "estimate",
    "free_memory",
    "n_rows_of",
    "sample_rows",
    "weight_rows",
]

MEMORY_SHARE = 0.8
"""Share of the free memory that a clustering may use."""

TRIAL_ROWS = (150, 300, 600)
"""Numbers of rows of the trials: the first one warms up, the others are measured."""


class TooLargeError(SegapsithError):
    """The clustering would not fit into memory."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate of the memory and time of a clustering."""

    n_rows: int
    bytes: int
    seconds: float
    free_bytes: int

    @property
    def fits(self) -> bool:
        """Whether the clustering fits into the free memory."""
        return self.bytes <= MEMORY_SHARE * self.free_bytes

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} units: about {_size(self.bytes)} of memory"
            f" ({_size(self.free_bytes)} free) and {_duration(self.seconds)}"
        )


def cluster(rows: Rows | Views, measure: Similarity | None, clusterer: Clusterer) -> Labels:
    """Return the cluster of each row; the similarity learns from the rows first.

    With several views, the similarity gets all views and the clusterer one matrix of all columns.
    Without a similarity, the clusterer gets all views.
    """
    if measure is None:
        return clusterer.cluster(rows, None)
    measure.learn(rows)
    together = side_by_side(rows) if isinstance(rows, Mapping) else rows
    return clusterer.cluster(together, measure.compare)


def n_rows_of(rows: Rows | Views) -> int:
    """Return the number of rows, in one view or several."""
    first = next(iter(rows.values())) if isinstance(rows, Mapping) else rows
    return int(first.shape[0])


def estimate(
    rows: Rows | Views,
    measure: Callable[[], Similarity | None],
    clusterer: Callable[[int], Clusterer],
    seed: int = 0,
) -> Cost:
    """Estimate memory and time: cluster small samples, and extrapolate their growth.

    `clusterer` makes a clusterer for a given number of rows, so that a trial does not ask for more
    clusters than it has rows.
    """
    n_rows = n_rows_of(rows)
    sizes = [min(size, n_rows) for size in TRIAL_ROWS]
    costs: list[tuple[int, float, int]] = []
    for number, size in enumerate(sizes):
        part = sample_rows(rows, size, seed)[0]
        began = time.perf_counter()
        cluster(part, measure(), clusterer(size))
        seconds = time.perf_counter() - began
        if number == 0:
            continue
        tracemalloc.start()
        try:
            cluster(part, measure(), clusterer(size))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        costs.append((size, seconds, peak))
        if size == n_rows:
            break
    (small, seconds_small, bytes_small), (large, seconds, peak) = costs[0], costs[-1]
    time_growth = _growth(small, seconds_small, large, seconds, 3.0)
    memory_growth = _growth(small, bytes_small, large, peak, 2.0)
    ratio = n_rows / max(large, 1)
    return Cost(
        n_rows,
        int(peak * ratio**memory_growth),
        seconds * ratio**time_growth,
        free_memory(),
    )


def _growth(small: int, small_cost: float, large: int, large_cost: float, most: float) -> float:
    """Return the exponent with which a cost grows with the rows, between 1 and `most`."""
    if large <= small or small_cost <= 0 or large_cost <= 0:
        return most
    return min(max(math.log(large_cost / small_cost) / math.log(large / small), 1.0), most)


def weight_rows(counts: Rows, weights: str | None, similarity: str | None) -> Rows:
    """Return rows of counts or of tf-idf; the default with a similarity is tf-idf."""
    scheme = weights or ("counts" if similarity is None else "tf-idf")
    if scheme not in ("counts", "tf-idf"):
        raise UsageError(f"weights={scheme!r} should be counts or tf-idf")
    return counts if scheme == "counts" else tf_idf(counts)


AnyRows = TypeVar("AnyRows", "Rows", Views)


def sample_rows(rows: AnyRows, size: int, seed: int) -> tuple[AnyRows, NDArray[np.int64]]:
    """Draw rows at random, the same in all views; return them in their order, and their positions."""
    from scipy.sparse import csr_array  # slow to import

    n_rows = n_rows_of(rows)
    if size >= n_rows:
        return rows, np.arange(n_rows, dtype=np.int64)
    drawn = np.sort(np.random.default_rng(seed).choice(n_rows, size, replace=False))
    if isinstance(rows, Mapping):
        part = {name: csr_array(view[drawn]) for name, view in rows.items()}
        return part, drawn.astype(np.int64)
    return csr_array(rows[drawn]), drawn.astype(np.int64)


def free_memory() -> int:
    """Return the free memory in bytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # not Linux: use the physical memory
    return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _size(n_bytes: int) -> str:
    """Return a size in MB or GB.

    >>> _size(1_500_000), _size(3_200_000_000)
    ('2 MB', '3.2 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1, round(n_bytes / 1e6))} MB"


def _duration(seconds: float) -> str:
    """Return a duration in hours, minutes and seconds.

    >>> _duration(0.2), _duration(75), _duration(9000)
    ('1 s', '1 min 15 s', '2 h 30 min')
    """
    whole = max(1, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
