"""Agglomerative clustering: the two closest groups are merged repeatedly.

The tree comes from a nearest-neighbour chain on the condensed distances. They are updated in place
after Lance and Williams, so only half a matrix is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Matrix, NeighbourGraph, Rows
from segapsith.jit import kernel
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import row_norms
from segapsith_plugins.clusterers._graph_tree import GRAPH_LINKAGES, graph_tree
from segapsith_plugins.clusterers._row_algebra import (
    DISTANCES,
    check_choice,
    check_whole,
    filled_rows,
    joined,
    numbered_merges,
    similarity_blocks,
    spread,
)

__all__ = [
    "AHC",
    "SCATTERED",
    "best_merges",
    "condensed_distances",
    "groups_after",
    "merge_tree",
    "merges_between",
    "more_merges",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCATTERED = 0.9
"""Groups per row above which a cut has hardly merged anything."""

CLEAR_DEPTH = 0.5
"""Mean depth at which a cut is accepted for any number of groups."""
LINKAGES = ("single", "complete", "average", "ward")
MASSES = ("equal", "length")


def condensed_distances(
    rows: Rows, where: Ints, compare: Compare | None, distance_from: str
) -> Floats:
    """Return distances of all pairs of the rows `where`, in SciPy's condensed order."""
    n = len(where)
    distances = np.empty(n * (n - 1) // 2)
    convert = DISTANCES[distance_from]
    filled = 0
    for start, similarities in similarity_blocks(rows, where, compare):
        converted = convert(similarities)
        for i in range(len(converted)):
            width = n - start - i - 1
            distances[filled : filled + width] = converted[i, i + 1 :]
            filled += width
    return distances


def merge_tree(distances: Floats, linkage: str = "average", masses: Floats | None = None) -> Matrix:
    """Return the merges in SciPy's form (left, right, height, size), by height.

    `distances` are condensed and are overwritten: the tree needs no second copy of them. In average
    linkage each item is weighted by its mass, if masses are given.

    >>> merge_tree(np.array([1.0, 4.0, 5.0]), "average").tolist()
    [[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 4.5, 3.0]]
    """
    check_choice("linkage", linkage, LINKAGES)
    n = (1 + math.isqrt(1 + 8 * len(distances))) // 2
    if linkage == "ward":
        np.square(distances, out=distances)
    if masses is None:
        masses = np.ones(n)
    left, right, heights = _chain(distances, n, LINKAGES.index(linkage), masses)
    if linkage == "ward":
        heights = np.sqrt(np.maximum(heights, 0.0))
    order = np.argsort(heights, kind="stable")
    return numbered_merges(left[order], right[order], heights[order], n)


def best_merges(tree: Matrix) -> int:
    """Return the number of merges at which items lie deepest inside their groups (`_depths`).

    The cut with the highest mean depth is used if that is at least 0.5, clear structure in the
    usual interpretation of the silhouette. Otherwise the tree shows little structure (texts in many
    dimensions, where near-duplicates would win), and the best cut into at most sqrt(n) groups is
    used. Of equal cuts the one with fewer groups. If no cut has a positive depth (all distances
    equal, one or two items) everything is one group.
    """
    n = len(tree) + 1
    if n < 3:
        return n - 1
    means = _depths(tree)
    if means.max(initial=0.0) < CLEAR_DEPTH:
        means[: max(0, n - 1 - math.isqrt(n))] = -1.0
    return _best(means) if means.max(initial=0.0) > 1e-9 else n - 1


def merges_between(tree: Matrix, low: float, high: float, masses: Floats | None = None) -> int:
    """Return the number of merges of the best cut between two heights.

    The best cut has the highest mean depth (`_depths`), weighted by mass.
    """
    first, last = (int(np.searchsorted(tree[:, 2], h, side="right")) for h in (low, high))
    if first == last:
        return first
    means = np.append(0.0, _depths(tree, masses))  # before any merge the depth is 0
    return first + _best(means[first : last + 1]) - 1


def more_merges(tree: Matrix, n_merges: int, high: float, scattered: float) -> int:
    """Return the number of merges of a higher cut if `n_merges` leave nearly all items alone.

    The cut rises from `high` at 0.9 groups per item (`SCATTERED`) to `scattered` at 1.

    >>> tree = merge_tree(np.array([0.8, 1.0, 1.0]))
    >>> more_merges(tree, 0, 0.4, 0.9), more_merges(tree, 0, 0.4, 0.7)
    (1, 0)
    """
    n = len(tree) + 1
    stretch = max(0.0, (n - n_merges) / n - SCATTERED) / (1.0 - SCATTERED)
    height = high + stretch * (scattered - high)
    return (
        max(n_merges, int(np.searchsorted(tree[:, 2], height, side="right")))
        if stretch
        else n_merges
    )


def _depths(tree: Matrix, masses: Floats | None = None) -> Floats:
    """Return the mean depth of items inside their groups after each merge; -1 inside a tie.

    A group that was closed at height a and merged at height b has depth (b - a) / b, a single item
    0: the silhouette, computed from the tree. Merges of one height are not separated.
    """
    n = len(tree) + 1
    rounding = 1e-7 * tree[-1, 2]  # equal rows have distance 0, or the root of a rounding error
    heights = np.where(tree[:, 2] > rounding, tree[:, 2], 0.0)
    closing, swallowed = np.zeros(2 * n - 1), np.full(2 * n - 1, np.inf)
    closing[n:] = heights
    children = tree[:, :2].astype(np.int64)
    swallowed[children.ravel()] = np.repeat(heights, 2)
    safe = np.where(swallowed > 0, swallowed, 1.0)
    weights = np.append(np.ones(n) if masses is None else masses, np.zeros(n - 1))
    for m, (left, right) in enumerate(children.tolist()):
        weights[n + m] = weights[left] + weights[right]
    held = weights * (1.0 - np.minimum(closing / safe, 1.0))
    held[:n] = 0.0
    held[swallowed <= 0] = 0.0
    held[-1] = 0.0  # all in one group: there is no other group
    gains = held[n:] - held[children[:, 0]] - held[children[:, 1]]
    means: Floats = np.cumsum(gains) / weights[:n].sum()
    means[-1] = 0.0
    means[np.append(np.diff(heights) <= rounding, False)] = -1.0
    return means


def _best(means: Floats) -> int:
    """Return the number of merges with the highest mean; of equal ones the most merges."""
    return int(np.flatnonzero(means >= means.max() - 1e-12)[-1]) + 1


class AHC:
    """Groups from a merge tree, cut at `k` groups, at a `distance`, or by the data.

    With `farthest` the data determine the cut between `distance` and `farthest` (`merges_between`).
    If that cut leaves nearly all rows alone, it rises towards `scattered` (`more_merges`).

    `linkage` is average, single, complete or ward. `mass` is the weight of a row in average
    linkage: `equal`, or its Euclidean `length`, so that rows with large sums have more weight.
    `distance_from` converts a similarity s to a distance: `one-minus` is 1 - s, `euclidean` is
    sqrt(2 (1 - s)). The default is `euclidean` for Ward and `one-minus` otherwise. Without `k` and
    `distance` the cut is that of `best_merges`. A `compare` of None means cosine.

    After `cluster`: `tree_`, the merges in SciPy's form over the rows that are not empty.
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        distance: float | None = None,
        farthest: float | None = None,
        scattered: float | None = None,
        linkage: str = "average",
        mass: str = "equal",
        distance_from: str | None = None,
    ) -> None:
        if k is not None:
            check_whole("k", k, 1)
        if distance is not None and not distance >= 0:
            raise ValueError(f"distance={distance} should be >= 0")
        if k is not None and distance is not None:
            raise ValueError(f"k={k} and distance={distance}: one cut should be given")
        if farthest is not None and (distance is None or not farthest >= distance):
            raise ValueError(f"farthest={farthest} should be at least the distance, {distance}")
        if scattered is not None and (farthest is None or not scattered >= farthest):
            raise ValueError(f"scattered={scattered} should be at least farthest, {farthest}")
        check_choice("linkage", linkage, LINKAGES)
        check_choice("mass", mass, MASSES)
        if mass != "equal" and linkage != "average":
            raise ValueError(f"mass={mass!r} is for linkage='average', not {linkage!r}")
        if distance_from is None:
            distance_from = "euclidean" if linkage == "ward" else "one-minus"
        check_choice("distance_from", distance_from, tuple(DISTANCES))
        self.k = k
        self.distance = distance
        self.farthest = farthest
        self.scattered = scattered
        self.linkage = linkage
        self.mass = mass
        self.distance_from = distance_from
        self.tree_: Matrix = np.empty((0, 4))

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one group per row; the tree needs the similarities of all pairs."""
        where = filled_rows(rows)[1]
        n = len(where)
        if n < 2:
            self.tree_ = np.empty((0, 4))
            return spread(np.zeros(n, dtype=np.int64), where, rows.shape[0])
        distances = condensed_distances(rows, where, compare, self.distance_from)
        masses = row_norms(rows)[where] if self.mass == "length" else None
        self.tree_ = merge_tree(distances, self.linkage, masses)
        labels = groups_after(self.tree_, self._n_merges(self.tree_, masses))
        return spread(labels, where, rows.shape[0])

    def cluster_neighbours(self, rows: Rows, graph: NeighbourGraph) -> Labels:
        """Return one group per row; a pair of rows that are no neighbours has similarity 0.

        Linkage is single, complete or average: Ward needs the distances of all pairs.
        """
        if self.linkage not in GRAPH_LINKAGES:
            raise ValueError(
                f"linkage={self.linkage!r} should be one of {', '.join(GRAPH_LINKAGES)}"
                " with neighbours"
            )
        where = filled_rows(rows)[1]
        n = len(where)
        masses = row_norms(rows)[where] if self.mass == "length" else None
        similar = graph.matrix()
        if n < similar.shape[0]:
            similar = csr_array(similar[where][:, where])
        tree = graph_tree(similar, self.linkage, masses)
        if len(tree):
            tree[:, 2] = DISTANCES[self.distance_from](tree[:, 2])
        self.tree_ = tree
        n_merges = self._n_merges(tree, masses) if n > 1 else 0
        labels = groups_after(tree, n_merges) if n > 1 else np.zeros(n, dtype=np.int64)
        return spread(labels, where, rows.shape[0])

    def _n_merges(self, tree: Matrix, masses: Floats | None) -> int:
        if self.k is not None:
            return max(0, len(tree) + 1 - self.k)
        if self.distance is not None:
            high = self.distance if self.farthest is None else self.farthest
            n_merges = merges_between(tree, self.distance, high, masses)
            if self.scattered is not None:
                n_merges = more_merges(tree, n_merges, high, self.scattered)
            return n_merges
        return best_merges(tree)


def groups_after(tree: Matrix, n_merges: int) -> Ints:
    """Return the groups after the first merges."""
    n = len(tree) + 1
    leaf = np.arange(2 * n - 1)  # any leaf of a node can represent it
    children = tree[:, :2].astype(np.int64)
    for m in range(n_merges):
        leaf[n + m] = leaf[children[m, 0]]
    pairs = leaf[children[:n_merges]]
    return joined(pairs[:, 0].copy(), pairs[:, 1].copy(), n)


@kernel
def _updated(
    linkage: int, xa: float, ya: float, xy: float, nx: float, ny: float, na: float
) -> float:
    """Return the distance of a to the union of x and y, after Lance and Williams (Ward: squares)."""
    if linkage == 0:
        return min(xa, ya)
    if linkage == 1:
        return max(xa, ya)
    if linkage == 2:
        return (nx * xa + ny * ya) / (nx + ny)
    return ((nx + na) * xa + (ny + na) * ya - na * xy) / (nx + ny + na)


@kernel
def _chain(d: Floats, n: int, linkage: int, masses: Floats) -> tuple[Ints, Ints, Floats]:
    """Return merges by a nearest-neighbour chain, in the order of the chain.

    A union has the smaller number of its two parts: rows of small numbers are contiguous.
    """
    rows = np.empty(n, dtype=np.int64)  # d[rows[i] + j] is the distance of i < j
    for i in range(n):
        rows[i] = n * i - i * (i + 1) // 2 - i - 1
    sizes = masses.copy()
    alive = np.arange(n)
    n_alive = n
    chain = np.empty(n, dtype=np.int64)
    length = 0
    left = np.empty(n - 1, dtype=np.int64)
    right = np.empty(n - 1, dtype=np.int64)
    heights = np.empty(n - 1)
    for m in range(n - 1):
        if length == 0:
            chain[0] = alive[0]
            length = 1
        while True:
            x = chain[length - 1]
            y, best = -1, np.inf
            if length > 1:  # ties go back to the previous item, so that the chain ends
                y = chain[length - 2]
                best = d[rows[min(x, y)] + max(x, y)]
            below = 0
            while alive[below] < x:
                value = d[rows[alive[below]] + x]
                if value < best:
                    y, best = alive[below], value
                below += 1
            row = rows[x]
            for i in range(below + 1, n_alive):
                value = d[row + alive[i]]
                if value < best:
                    y, best = alive[i], value
            if length > 1 and y == chain[length - 2]:
                break
            chain[length] = y
            length += 1
        length -= 2
        x, y = min(x, y), max(x, y)
        left[m], right[m], heights[m] = x, y, best
        n_left = 0
        for i in range(n_alive):
            a = alive[i]
            if a != y:
                alive[n_left] = a
                n_left += 1
                if a != x:
                    here = rows[min(x, a)] + max(x, a)
                    ya = d[rows[min(y, a)] + max(y, a)]
                    d[here] = _updated(linkage, d[here], ya, best, sizes[x], sizes[y], sizes[a])
        n_alive = n_left
        sizes[x] += sizes[y]
    return left, right, heights


@hookimpl
def register_clusterers() -> Mapping[str, type[AHC]]:
    return {"ahc": AHC}
