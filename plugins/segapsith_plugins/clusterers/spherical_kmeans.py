"""Spherical k-means: groups of rows that point the same way.

The objective (Farahat & Kamel 2010; Dhillon, Guan & Kogan 2002 for the refinement) is the
sum of the cosines between rows and the centre of their cluster. With s_k the sum of the
unit rows of cluster k it is sum_k |s_k|, and a move of x from a to b changes it by

    |s_b + x| - |s_b| + |s_a - x| - |s_a|

Only products of rows are used, so the cosines of all pairs can replace the rows:
x · s_k is then the sum of x's cosines with the rows of k, and a move changes it for all x at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from segapsith.arrays import Compare, Labels, Matrix, NeighbourGraph, Rows
from segapsith.jit import kernel
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.rounds import cluster_in_turn, run_rounds
from segapsith_plugins.clusterers._row_algebra import (
    check_choice,
    check_whole,
    filled_rows,
    spread,
    unit_rows,
    used_columns,
)

__all__ = ["SphericalKMeans", "total_cosine"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STARTS = ("far", "random")
TOLERANCE = 1e-9
"""Gains of the objective up to this are rounding errors of a sum."""


def total_cosine(rows: Rows, labels: NDArray[np.integer]) -> float:
    """Return the objective: sum_k |s_k| over the unit rows of each cluster.

    Rows with negative labels are left out.

    >>> total_cosine(csr_array([[2.0, 0.0], [5.0, 0.0], [0.0, 1.0]]), np.array([0, 0, 1]))
    3.0
    """
    labels = np.asarray(labels)
    members = np.flatnonzero(labels >= 0)
    _, groups = np.unique(labels[members], return_inverse=True)
    shape = (int(groups.max(initial=-1)) + 1, len(labels))
    sums = csr_array((np.ones(len(members)), (groups, members)), shape=shape) @ unit_rows(rows)
    return math.fsum(np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)).ravel()))


class SphericalKMeans:
    """At most `k` clusters with a high sum of cosines; `compare` is not needed.

    Each of `n_init` starts draws rows: `start="far"` prefers those far from the rows drawn before,
    `start="random"` draws each with the same chance. Then all rows move to the nearest centre at
    once, for at most `max_iterations` rounds, and then one by one if that raises the objective,
    until no single move does (again at most `max_iterations` passes). `single_moves=False` leaves
    out the second phase. The best start is returned. Rows are scaled to length 1.

    After `cluster`: `objective_`, and `objectives_`, one per start.
    """

    def __init__(
        self,
        *,
        k: int = 8,
        n_init: int = 10,
        max_iterations: int = 100,
        start: str = "far",
        single_moves: bool = True,
        seed: int | None = 0,
    ) -> None:
        check_choice("start", start, STARTS)
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_iterations", max_iterations, 1)
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.n_init = n_init
        self.max_iterations = max_iterations
        self.start = start
        self.single_moves = single_moves
        self.seed = seed
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one cluster per row."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> _Prepared:
        """Return the rows with length 1."""
        filled, where = filled_rows(rows)
        state = _ByWord(used_columns(unit_rows(filled)), min(self.k, max(len(where), 1)))
        return _Prepared(state, where, rows.shape[0])

    def cluster_neighbours(self, rows: Rows, graph: NeighbourGraph) -> Labels:
        """Return one cluster per row, of rows whose neighbours are similar.

        A row is the vector of its similarities with its neighbours, and of 1 with itself.
        """
        filled = (np.diff(rows.indptr) > 0).astype(np.float64)
        return self.cluster(csr_array(graph.matrix() + diags_array(filled)), None)

    def cluster_by_cosines(self, cosines: Matrix) -> Labels:
        """Return the same clusters, except for rounding, from the cosines of all pairs of rows.

        This is much cheaper for dense rows that are as wide as there are rows. A row whose cosine
        with itself is 0 is empty.
        """
        if cosines.ndim != 2 or cosines.shape[0] != cosines.shape[1]:
            raise ValueError(f"cosines of shape {cosines.shape} should be square")
        if not np.isfinite(cosines).all():
            raise ValueError("cosines should contain only finite numbers")
        where = np.flatnonzero(cosines.diagonal() > 0.5).astype(np.int64)
        inside = np.ascontiguousarray(cosines, dtype=np.float64)
        if len(where) < len(inside):
            inside = np.ascontiguousarray(inside[np.ix_(where, where)])
        state = _ByProduct(inside, min(self.k, max(len(where), 1)))
        prepared = _Prepared(state, where, len(cosines))
        return run_rounds(
            self, prepared, lambda starts: [self.part(prepared, start) for start in starts]
        )

    def rounds(
        self, prepared: _Prepared
    ) -> Generator[Sequence[int], Sequence[tuple[float, Labels]], Labels]:
        """Yield the numbers of the starts, and return the labels of the best."""
        state = prepared.state
        runs = yield range(self.n_init if state.k > 1 else 0)
        if runs:
            self.objectives_ = tuple(objective for objective, _ in runs)
            best = runs[self.objectives_.index(max(self.objectives_))][1]
        else:
            best = np.zeros(state.n_rows, dtype=np.int64)
            self.objectives_ = (state.objective(best),)
        self.objective_ = max(self.objectives_)
        return spread(best, prepared.where, prepared.n_rows)

    def part(self, prepared: _Prepared, part: int) -> tuple[float, Labels]:
        """Return the objective and the labels of the start with this number."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part,)))
        labels = self._run(prepared.state, rng)
        return prepared.state.objective(labels), labels

    def _run(self, state: _State, rng: np.random.Generator) -> Labels:
        """Return the labels from one start."""
        labels = state.far_apart(rng) if self.start == "far" else state.at_random(rng)
        # a few rows that still change are left to the single moves
        n_few = state.n_rows // 50 if self.single_moves else 0
        for _ in range(self.max_iterations):
            state.sum_up(labels)
            if state.assign(labels) <= n_few:
                break
        for _ in range(self.max_iterations if self.single_moves else 0):
            state.sum_up(labels)
            if not state.move(rng.permutation(state.n_rows), labels):
                break
        return labels


class _Prepared(NamedTuple):
    """The rows that are not empty, and where they are."""

    state: _State
    where: Ints
    n_rows: int


class _State(ABC):
    """The state of the clusters; it owns the squared lengths of their sums."""

    def __init__(self, n_rows: int, k: int) -> None:
        self.n_rows, self.k = n_rows, k
        self.squares = np.zeros(k)

    @abstractmethod
    def sum_up(self, labels: Labels) -> None:
        """Compute the sums of the clusters from the labels."""

    @abstractmethod
    def assign(self, labels: Labels) -> int:
        """Move each row to the centre nearest by cosine, and return how many changed.

        Ties go to the old cluster.
        """

    @abstractmethod
    def move(self, order: Ints, labels: Labels) -> int:
        """Move rows one by one to where they raise the objective most; return how many moved."""

    @abstractmethod
    def nearer(self, drawn: int, k: int, labels: Labels, nearest: Floats) -> None:
        """Assign label k to the rows that are nearer to the drawn row than to any before."""

    def objective(self, labels: Labels) -> float:
        """Return sum_k |s_k|, from the labels."""
        self.sum_up(labels)
        return math.fsum(np.sqrt(np.maximum(self.squares, 0.0)))

    def at_random(self, rng: np.random.Generator) -> Labels:
        """Return the labels of rows by the nearest of k different rows, drawn at random."""
        labels = np.zeros(self.n_rows, dtype=np.int64)
        nearest = np.full(self.n_rows, -np.inf)
        for k, drawn in enumerate(rng.choice(self.n_rows, self.k, replace=False).tolist()):
            self.nearer(drawn, k, labels, nearest)
        return labels

    def far_apart(self, rng: np.random.Generator) -> Labels:
        """Return the labels of rows by the nearest of k rows, drawn by their distance to those
        before.
        """
        labels = np.zeros(self.n_rows, dtype=np.int64)
        nearest = np.full(self.n_rows, -np.inf)
        drawn = int(rng.integers(self.n_rows))
        for k in range(self.k):
            self.nearer(drawn, k, labels, nearest)
            chances = np.maximum(1.0 - nearest, 0.0).cumsum()
            if chances[-1] <= self.n_rows * 1e-12:
                break  # every row equals one that was drawn
            drawn = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
            drawn = min(drawn, self.n_rows - 1)
        return labels


class _ByWord(_State):
    """Unit rows, and the sums of the clusters word by word."""

    def __init__(self, units: Rows, k: int) -> None:
        super().__init__(units.shape[0], k)
        self.rows = (units.indptr.astype(np.int64), units.indices.astype(np.int64), units.data)
        self.sums = np.zeros((units.shape[1], k))

    def sum_up(self, labels: Labels) -> None:
        _sum_up(*self.rows, labels, self.sums, self.squares)

    def assign(self, labels: Labels) -> int:
        return _assign(*self.rows, labels, self.sums, self.squares)

    def move(self, order: Ints, labels: Labels) -> int:
        return _move(order, *self.rows, labels, self.sums, self.squares, TOLERANCE)

    def nearer(self, drawn: int, k: int, labels: Labels, nearest: Floats) -> None:
        _nearer(drawn, k, *self.rows, labels, nearest, np.zeros(len(self.sums)))


class _ByProduct(_State):
    """Products of all rows, and the product of each row with the sum of each cluster."""

    def __init__(self, products: Floats, k: int) -> None:
        super().__init__(len(products), k)
        self.products = products
        self.shared = np.zeros((k, len(products)))
        self._summed: Labels = np.full(len(products), -1, dtype=np.int64)
        """The labels of which `shared` is the sum."""

    def sum_up(self, labels: Labels) -> None:
        if np.count_nonzero(labels != self._summed) > self.n_rows // 4:
            self.shared[:] = 0.0  # half of the additions, and no old rounding errors
            self._summed[:] = -1
        _shift(self.products, self._summed, labels, self.shared, self.squares)

    def objective(self, labels: Labels) -> float:
        self._summed[:] = -1
        self.shared[:] = 0.0
        return super().objective(labels)

    def assign(self, labels: Labels) -> int:
        return _assign_products(labels, self.shared, self.squares)

    def move(self, order: Ints, labels: Labels) -> int:
        moved = _move_products(order, self.products, labels, self.shared, self.squares, TOLERANCE)
        self._summed[:] = labels
        return moved

    def nearer(self, drawn: int, k: int, labels: Labels, nearest: Floats) -> None:
        cosines = self.products[drawn].copy()
        cosines[drawn] = 1.0
        nearer = cosines > nearest
        nearest[nearer] = cosines[nearer]
        labels[nearer] = k


@kernel
def _nearer(
    drawn: int, k: int, indptr: Ints, words: Ints, values: Floats, labels: Ints,
    nearest: Floats, dense: Floats,
) -> None:  # fmt: skip
    """Assign label k to the rows that are nearer to the drawn row than to any before."""
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
    """Compute the sums of the clusters and their squared lengths, from the labels."""
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
    """Compute x · s_k for all k."""
    products[:] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        row, value = sums[words[e]], values[e]
        for k in range(products.size):
            products[k] += value * row[k]


@kernel
def _scales(squares: Floats) -> Floats:
    """Return the factors that scale the sums to length 1, 0 for empty sums."""
    scales = np.zeros(squares.size)
    for k in range(squares.size):
        if squares[k] > 1e-20:
            scales[k] = 1.0 / math.sqrt(squares[k])
    return scales


@kernel
def _assign(
    indptr: Ints, words: Ints, values: Floats, labels: Ints, sums: Floats, squares: Floats
) -> int:
    """Move each row to the centre nearest by cosine; return how many changed."""
    products = np.empty(squares.size)
    scales = _scales(squares)
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
    """Move rows one by one to where they raise the objective most; return how many moved."""
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


@kernel
def _shift(products: Floats, before: Ints, labels: Ints, shared: Floats, squares: Floats) -> None:
    """Update the sums from the previous labels (-1: in none) to the present ones."""
    for i in range(labels.size):
        if before[i] != labels[i]:
            if before[i] >= 0:
                shared[before[i]] -= products[i]
            shared[labels[i]] += products[i]
            before[i] = labels[i]
    squares[:] = 0.0
    for i in range(labels.size):
        squares[labels[i]] += shared[labels[i], i]


@kernel
def _assign_products(labels: Ints, shared: Floats, squares: Floats) -> int:
    """Do the same as `_assign`, from the products with the sums."""
    scales = _scales(squares)
    changed = 0
    for i in range(labels.size):
        a = labels[i]
        b, best = a, shared[a, i] * scales[a]
        for k in range(squares.size):
            if scales[k] > 0.0 and shared[k, i] * scales[k] > best:
                b, best = k, shared[k, i] * scales[k]
        if b != a:
            labels[i] = b
            changed += 1
    return changed


@kernel
def _move_products(
    order: Ints, products: Floats, labels: Ints, shared: Floats, squares: Floats, tolerance: float
) -> int:
    """Do the same as `_move`, from the products with the sums."""
    lengths = np.sqrt(np.maximum(squares, 0.0))
    moved = 0
    for i in order:
        a = labels[i]
        without = math.sqrt(max(squares[a] - 2.0 * shared[a, i] + 1.0, 0.0))
        b, best = a, lengths[a] - without + tolerance
        for k in range(squares.size):
            if k != a:
                gain = math.sqrt(max(squares[k] + 2.0 * shared[k, i] + 1.0, 0.0)) - lengths[k]
                if gain > best:
                    b, best = k, gain
        if b != a:
            squares[a] = max(squares[a] - 2.0 * shared[a, i] + 1.0, 0.0)
            squares[b] = max(squares[b] + 2.0 * shared[b, i] + 1.0, 0.0)
            lengths[a], lengths[b] = math.sqrt(squares[a]), math.sqrt(squares[b])
            shared[a] -= products[i]
            shared[b] += products[i]
            labels[i] = b
            moved += 1
    return moved


@hookimpl
def register_clusterers() -> Mapping[str, type[SphericalKMeans]]:
    return {"spherical-kmeans": SphericalKMeans}
