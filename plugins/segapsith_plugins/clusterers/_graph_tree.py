"""Merge trees of sparse similarities: a pair that is not in the graph has similarity 0.

A heap holds the similarity of every pair of groups that have one. Two groups are merged by adding
the shorter list of neighbours to the longer one, so a graph of E pairs takes about E log(E)² steps.
"""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Matrix, Rows

__all__ = ["GRAPH_LINKAGES", "graph_tree"]

GRAPH_LINKAGES = ("single", "complete", "average")
"""Linkages that need no distances of pairs outside the graph."""


def graph_tree(
    similar: Rows, linkage: str = "average", masses: NDArray[np.float64] | None = None
) -> Matrix:
    """Return the merges in SciPy's form, with similarities in the place of heights, highest first.

    `similar` is symmetric. Groups without a common pair are merged last, in order, at 0. In average
    linkage each item is weighted by its mass, if masses are given.

    >>> from scipy.sparse import csr_array
    >>> graph_tree(csr_array([[0, 0.9, 0], [0.9, 0, 0.5], [0, 0.5, 0]])).tolist()
    [[0.0, 1.0, 0.9, 2.0], [2.0, 3.0, 0.25, 3.0]]
    """
    n = similar.shape[0]
    groups = _Groups(similar, linkage, np.ones(n) if masses is None else masses)
    merges: list[tuple[float, float, float, float]] = []
    while groups.heap:
        value, left, right = heapq.heappop(groups.heap)
        if groups.current(left, right) != -value:
            continue  # one of them was merged since
        new = n + len(merges)
        groups.merge(left, right, new)
        merges.append((left, right, -value, groups.sizes[new]))
    rest = sorted(groups.neighbours)
    last, size = (rest[0], groups.sizes[rest[0]]) if rest else (0, 0)
    for _, other in pairwise(rest):
        size += groups.sizes[other]
        merges.append((min(last, other), max(last, other), 0.0, size))
        last = n + len(merges) - 1
    return np.array(merges, dtype=np.float64).reshape(-1, 4)


class _Groups:
    """Groups of items with the similarities of those that have a common pair."""

    def __init__(self, similar: Rows, linkage: str, masses: NDArray[np.float64]) -> None:
        self._linkage = linkage
        self.sizes: dict[int, int] = dict.fromkeys(range(similar.shape[0]), 1)
        self._masses: dict[int, float] = dict(enumerate(masses.tolist()))
        self.neighbours: dict[int, dict[int, float]] = {}
        """Of each group: sums of weighted similarities (average), or the similarity itself."""
        self.heap: list[tuple[float, int, int]] = []
        starts = similar.indptr.tolist()
        for row, (start, end) in enumerate(pairwise(starts)):
            columns = similar.indices[start:end].tolist()
            values = similar.data[start:end].astype(np.float64).tolist()
            known = {c: v for c, v in zip(columns, values, strict=True) if c != row and v > 0}
            if linkage == "average":
                mass = self._masses[row]
                known = {c: v * mass * self._masses[c] for c, v in known.items()}
            self.neighbours[row] = known
        for row, known in self.neighbours.items():
            for other in known:
                if row < other:
                    self.heap.append((-self.value(row, other), row, other))
        heapq.heapify(self.heap)

    def value(self, left: int, right: int) -> float:
        """Return the similarity of two groups."""
        known = self.neighbours[left][right]
        if self._linkage == "average":
            weight = self._masses[left] * self._masses[right]
            return known / weight if weight > 0 else 0.0
        return known

    def current(self, left: int, right: int) -> float | None:
        """Return the similarity of two groups, None if one does not exist any more."""
        if right not in self.neighbours.get(left, ()):
            return None
        return self.value(left, right)

    def merge(self, left: int, right: int, new: int) -> None:
        """Replace two groups by one."""
        first, second = self.neighbours.pop(left), self.neighbours.pop(right)
        del first[right], second[left]
        if self._linkage == "complete":
            merged = self._least(left, right, first, second)
        else:
            merged, shorter = (first, second) if len(first) >= len(second) else (second, first)
            for other, known in shorter.items():
                before = merged.get(other, 0.0)
                merged[other] = before + known if self._linkage == "average" else max(before, known)
        self.neighbours[new] = merged
        self.sizes[new] = self.sizes.pop(left) + self.sizes.pop(right)
        self._masses[new] = self._masses.pop(left) + self._masses.pop(right)
        for other, known in merged.items():
            around = self.neighbours[other]
            around.pop(left, None)
            around.pop(right, None)
            around[new] = known
            value = self.value(other, new)
            if value > 0:
                heapq.heappush(self.heap, (-value, other, new))

    def _least(
        self, left: int, right: int, first: dict[int, float], second: dict[int, float]
    ) -> dict[int, float]:
        """Return the least similarities with the other groups; a missing pair makes it 0."""
        merged = {other: min(v, second[other]) for other, v in first.items() if other in second}
        for gone, known in ((left, first), (right, second)):
            for other in known:
                if other not in merged:
                    self.neighbours[other].pop(gone, None)
        return merged
