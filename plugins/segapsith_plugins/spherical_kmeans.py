"""Spherical k-means: groups of rows that point the same way.

The objective (Farahat & Kamel 2010; Dhillon, Guan & Kogan 2002 for the refinement) is the
sum of the cosines between rows and the centre of their cluster. With s_k the sum of the
unit rows of cluster k it is sum_k |s_k|, and a move of x from a to b changes it by

    |s_b + x| - |s_b| + |s_a - x| - |s_a|
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Rows
from segapsith.hookspecs import hookimpl
from segapsith.jit import kernel
from segapsith_plugins._row_algebra import check_whole, filled_rows, spread, unit_rows, used_columns

__all__ = ["SphericalKMeans", "total_cosine"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9
"""Gains of the objective that are no more than the rounding of a sum."""


def total_cosine(rows: Rows, labels: NDArray[np.integer]) -> float:
    """The objective: sum_k |s_k| over the unit rows of each cluster; negative labels left out.

    >>> total_cosine(csr_array([[2.0, 0.0], [5.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1]))
    3.0
    """
    labels = np.asarray(labels)
    kept = np.flatnonzero(labels >= 0)
    _, groups = np.unique(labels[kept], return_inverse=True)
    shape = (int(groups.max(initial=-1)) + 1, len(labels))
    sums = csr_array((np.ones(len(kept)), (groups, kept)), shape=shape) @ unit_rows(rows)
    return math.fsum(np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel()))


class SphericalKMeans:
    """At most `k` clusters with a high sum of cosines; `compare` is not needed.

    Each of `n_init` starts draws rows that lie far from those drawn before, then all rows go
    to the nearest centre at once, for at most `max_iterations` rounds, and then one after the
    other wherever that raises the objective, until no single move does (at most
    `max_iterations` passes again). The best start is returned. Rows are taken at length 1.

    After `cluster`: `objective_`, and `objectives_`, one a start.
    """

    def __init__(
        self, *, k: int = 8, n_init: int = 10, max_iterations: int = 100, seed: int | None = 0
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_iterations", max_iterations, 1)
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.n_init = n_init
        self.max_iterations = max_iterations
        self.seed = seed
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """One cluster a row."""
        filled, where = filled_rows(rows)
        state = _State(used_columns(unit_rows(filled)), min(self.k, max(len(where), 1)))
        best = np.zeros(len(where), dtype=np.int64)
        found: list[float] = []
        for seed in np.random.SeedSequence(self.seed).spawn(self.n_init if state.k > 1 else 0):
            labels = state.run(np.random.default_rng(seed), self.max_iterations)
            found.append(state.objective(labels))
            if found[-1] > max(found[:-1], default=-math.inf):
                best = labels
        self.objectives_ = tuple(found) or (state.objective(best),)
        self.objective_ = max(self.objectives_)
        return spread(best, where, rows.shape[0])


class _State:
    """The unit rows and the sums of the clusters, word by word; it owns the sums."""

    def __init__(self, units: Rows, k: int) -> None:
        self.rows = (units.indptr.astype(np.int64), units.indices.astype(np.int64), units.data)
        self.n_rows, self.k = units.shape[0], k
        self.sums = np.zeros((units.shape[1], k))
        self.squares = np.zeros(k)

    def objective(self, labels: Labels) -> float:
        """sum_k |s_k|, from the labels."""
        _sum_up(*self.rows, labels, self.sums, self.squares)
        return math.fsum(np.sqrt(self.squares))

    def run(self, rng: np.random.Generator, max_iterations: int) -> Labels:
        """The labels from one start."""
        labels = self._far_apart(rng)
        for _ in range(max_iterations):
            _sum_up(*self.rows, labels, self.sums, self.squares)
            # a few rows that still change are the business of the single moves
            if _assign(*self.rows, labels, self.sums, self.squares) <= self.n_rows // 50:
                break
        for _ in range(max_iterations):
            _sum_up(*self.rows, labels, self.sums, self.squares)
            order = rng.permutation(self.n_rows)
            if not _move(order, *self.rows, labels, self.sums, self.squares, TOLERANCE):
                break
        return labels

    def _far_apart(self, rng: np.random.Generator) -> Labels:
        """Each row with the nearest of k rows, drawn by their distance to those before."""
        labels = np.zeros(self.n_rows, dtype=np.int64)
        nearest = np.full(self.n_rows, -np.inf)
        drawn = int(rng.integers(self.n_rows))
        for k in range(self.k):
            _nearer(drawn, k, *self.rows, labels, nearest, np.zeros(len(self.sums)))
            chances = np.maximum(1.0 - nearest, 0.0).cumsum()
            if chances[-1] <= self.n_rows * 1e-12:
                break  # every row lies on one that was drawn
            drawn = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
            drawn = min(drawn, self.n_rows - 1)
        return labels


@kernel
def _nearer(
    drawn: int, k: int, indptr: Ints, words: Ints, values: Floats, labels: Ints,
    nearest: Floats, dense: Floats,
) -> None:  # fmt: skip
    """Gives the rows that are nearer to the row drawn than to any before the label k."""
    for e in range(indptr[drawn], indptr[drawn + 1]):
        dense[words[e]] = values[e]
    for i in range(labels.size):
        cosine = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            cosine += values[e] * dense[words[e]]
        if i == drawn:
            cosine = 1.0
        if cosine > nearest[i]:
            nearest[i] = cosine
            labels[i] = k


@kernel
def _sum_up(
    indptr: Ints, words: Ints, values: Floats, labels: Ints, sums: Floats, squares: Floats
) -> None:
    """The sums of the clusters and their squared lengths, from the labels."""
    sums[:] = 0.0
    squares[:] = 0.0
    for i in range(labels.size):
        for e in range(indptr[i], indptr[i + 1]):
            sums[words[e], labels[i]] += values[e]
    for w in range(sums.shape[0]):
        for k in range(squares.size):
            squares[k] += sums[w, k] * sums[w, k]


@kernel
def _products(
    i: int, indptr: Ints, words: Ints, values: Floats, sums: Floats, products: Floats
) -> None:
    """x · s_k for all k."""
    products[:] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        row, value = sums[words[e]], values[e]
        for k in range(products.size):
            products[k] += value * row[k]


@kernel
def _assign(
    indptr: Ints, words: Ints, values: Floats, labels: Ints, sums: Floats, squares: Floats
) -> int:
    """Each row to the centre nearest by cosine, ties to the old; how many changed."""
    products = np.empty(squares.size)
    scales = np.zeros(squares.size)
    for k in range(squares.size):
        if squares[k] > 1e-20:
            scales[k] = 1.0 / math.sqrt(squares[k])
    changed = 0
    for i in range(labels.size):
        _products(i, indptr, words, values, sums, products)
        a = labels[i]
        b, best = a, products[a] * scales[a]
        for k in range(squares.size):
            if scales[k] > 0.0 and products[k] * scales[k] > best:
                b, best = k, products[k] * scales[k]
        if b != a:
            labels[i] = b
            changed += 1
    return changed


@kernel
def _move(
    order: Ints, indptr: Ints, words: Ints, values: Floats, labels: Ints, sums: Floats,
    squares: Floats, tolerance: float,
) -> int:  # fmt: skip
    """Each row to where it raises the objective most, one after the other; how many moved."""
    products = np.empty(squares.size)
    lengths = np.sqrt(np.maximum(squares, 0.0))
    moved = 0
    for i in order:
        _products(i, indptr, words, values, sums, products)
        a = labels[i]
        without = math.sqrt(max(squares[a] - 2.0 * products[a] + 1.0, 0.0))
        b, best = a, lengths[a] - without + tolerance
        for k in range(squares.size):
            if k != a:
                gain = math.sqrt(max(squares[k] + 2.0 * products[k] + 1.0, 0.0)) - lengths[k]
                if gain > best:
                    b, best = k, gain
        if b != a:
            for e in range(indptr[i], indptr[i + 1]):
                sums[words[e], a] -= values[e]
                sums[words[e], b] += values[e]
            squares[a] = max(squares[a] - 2.0 * products[a] + 1.0, 0.0)
            squares[b] = max(squares[b] + 2.0 * products[b] + 1.0, 0.0)
            lengths[a], lengths[b] = math.sqrt(squares[a]), math.sqrt(squares[b])
            labels[i] = b
            moved += 1
    return moved


@hookimpl
def register_clusterers() -> Mapping[str, type[SphericalKMeans]]:
    return {"spherical-kmeans": SphericalKMeans}
