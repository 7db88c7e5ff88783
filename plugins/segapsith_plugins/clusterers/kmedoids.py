"""k-medoids: groups around one of their rows, for any similarity.

The objective is the sum of the distances between rows and the medoid of their cluster. The search
is that of Schubert & Rousseeuw (2021, FasterPAM): a row replaces a medoid as soon as that lowers
the objective. One pass over the distances of a row gives the change for its exchange with every
medoid.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Rows
from segapsith.jit import kernel
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.rounds import cluster_in_turn
from segapsith_plugins.clusterers._row_algebra import (
    DISTANCES,
    check_choice,
    check_whole,
    filled_rows,
    similarity_blocks,
    spread,
)

__all__ = ["KMedoids", "square_distances"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9
"""Changes of the objective per row up to this are rounding errors of a sum."""


def square_distances(
    rows: Rows, where: Ints, compare: Compare | None, distance_from: str
) -> Singles:
    """Return distances of all pairs of the rows `where`, in single precision, 0 on the diagonal."""
    n = len(where)
    distances = np.empty((n, n), dtype=np.float32)
    for start, similarities in similarity_blocks(rows, where, compare):
        converted = DISTANCES[distance_from](similarities)
        stop = start + len(converted)
        distances[start:stop, start:] = converted
        distances[start:, start:stop] = converted.T
        inside = distances[start:stop, start:stop]
        inside[:] = np.triu(inside, 1) + np.triu(inside, 1).T
    return distances


class KMedoids:
    """At most `k` clusters, each around one of its rows.

    `distance_from` converts a similarity s to a distance: `one-minus` is 1 - s, `euclidean` is
    sqrt(2 (1 - s)). Each of `n_init` starts draws medoids that are far from those drawn before and
    ends when no exchange of one medoid helps (or after `max_passes` over all rows). The best is
    returned. A `compare` of None means cosine. All distances are in memory, in single precision.

    After `cluster`: `medoids_`, the row of each cluster's medoid in the order of the labels, and
    `objective_`, the sum of the distances to them.
    """

    def __init__(
        self,
        *,
        k: int = 8,
        n_init: int = 5,
        max_passes: int = 100,
        distance_from: str = "one-minus",
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_passes", max_passes, 1)
        check_choice("distance_from", distance_from, tuple(DISTANCES))
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.n_init = n_init
        self.max_passes = max_passes
        self.distance_from = distance_from
        self.seed = seed
        self.medoids_: Ints = np.empty(0, dtype=np.int64)
        self.objective_ = 0.0

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one cluster per row, that of the nearest medoid."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> _Prepared:
        """Return the rows; their distances are computed when a start needs them."""
        return _Prepared(rows, filled_rows(rows)[1], compare, self.distance_from)

    def rounds(self, prepared: _Prepared) -> Generator[Sequence[int], Sequence[_Start], Labels]:
        """Yield the numbers of the starts, and return the labels of the best."""
        where, n_rows = prepared.where, prepared.rows.shape[0]
        self.medoids_, self.objective_ = np.empty(0, dtype=np.int64), 0.0
        if not len(where):
            return np.full(n_rows, -1, dtype=np.int64)
        starts = yield range(self.n_init)
        best = min(starts, key=lambda start: start.loss)
        labels = spread(best.nearest, where, n_rows)
        order = np.unique(labels[where], return_index=True)[1]
        self.medoids_ = where[best.medoids[best.nearest][order]]
        self.objective_ = best.loss
        return labels

    def part(self, prepared: _Prepared, part: int) -> _Start:
        """Return where the start with this number ends."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part,)))
        distances = prepared.distances
        medoids = self._run(distances, min(self.k, len(prepared.where)), rng)
        loss = float(distances[medoids].min(axis=0).sum(dtype=np.float64))
        return _Start(loss, medoids, distances[medoids].argmin(axis=0))

    def _run(self, distances: Singles, k: int, rng: np.random.Generator) -> Ints:
        """Return the medoids from one start, in the order of the rows."""
        n = len(distances)
        if k == n:
            return np.arange(n)
        if k == 1:
            return np.array([int(distances.sum(axis=1, dtype=np.float64).argmin())])
        medoids = _far_apart(distances, k, rng)
        _exchange(distances, medoids, rng.permutation(n), self.max_passes, TOLERANCE * n)
        return np.sort(medoids)


@dataclass(frozen=True)
class _Prepared:
    """Rows, and the distances of those that are not empty."""

    rows: Rows
    where: Ints
    compare: Compare | None
    distance_from: str

    @cached_property
    def distances(self) -> Singles:
        """The distances of all pairs."""
        return square_distances(self.rows, self.where, self.compare, self.distance_from)


class _Start(NamedTuple):
    """Where a start ended: the sum of the distances, the medoids, and the nearest of each row."""

    loss: float
    medoids: Ints
    nearest: Ints


def _far_apart(distances: Singles, k: int, rng: np.random.Generator) -> Ints:
    """Return k different rows, drawn by their distance to those drawn before."""
    n = len(distances)
    medoids = [int(rng.integers(n))]
    nearest = distances[medoids[0]].astype(np.float64)
    while len(medoids) < k:
        chances = nearest.copy()
        chances[medoids] = 0.0
        if chances.sum() <= 0:  # the other rows equal medoids: use any of them
            chances = np.ones(n)
            chances[medoids] = 0.0
        heights = chances.cumsum()
        drawn = int(np.searchsorted(heights, rng.random() * heights[-1], side="right"))
        while drawn >= n or chances[drawn] <= 0:  # rounding may lead beyond the last one
            drawn -= 1
        medoids.append(drawn)
        nearest = np.minimum(nearest, distances[drawn])
    return np.array(medoids)


@kernel
def _attend(
    distances: Singles, medoids: Ints, i: int, first: Ints, second: Ints, near: Floats, far: Floats
) -> None:
    """Find the two nearest medoids of one row, and its distances to them."""
    near[i] = far[i] = np.inf
    row = distances[i]
    for m in range(medoids.size):
        value = row[medoids[m]]
        if value < near[i]:
            far[i], second[i] = near[i], first[i]
            near[i], first[i] = value, m
        elif value < far[i]:
            far[i], second[i] = value, m


@kernel
def _exchanged(
    distances: Singles, medoids: Ints, m: int, first: Ints, second: Ints, near: Floats, far: Floats
) -> None:
    """Update the two nearest medoids of all rows after medoid m was replaced.

    Only rows for which it was one of the two nearest, and is farther now, compare all medoids.
    """
    row = distances[medoids[m]]
    for i in range(near.size):
        value = row[i]
        if first[i] == m:
            if value < far[i]:
                near[i] = value
            else:
                _attend(distances, medoids, i, first, second, near, far)
        elif value < near[i] or (value == near[i] and m < first[i]):
            far[i], second[i] = near[i], first[i]
            near[i], first[i] = value, m
        elif second[i] == m:
            if value <= far[i]:
                far[i] = value
            else:
                _attend(distances, medoids, i, first, second, near, far)
        elif value < far[i]:
            far[i], second[i] = value, m


@kernel
def _removals(first: Ints, near: Floats, far: Floats, removal: Floats) -> None:
    """Compute the cost of removing each medoid."""
    removal[:] = 0.0
    for i in range(near.size):
        removal[first[i]] += far[i] - near[i]


@kernel
def _exchange(
    distances: Singles, medoids: Ints, order: Ints, max_passes: int, tolerance: float
) -> None:
    """Exchange medoids with rows, as soon as that helps, until no exchange does."""
    n, k = order.size, medoids.size
    first, second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    near, far = np.empty(n), np.empty(n)
    removal, changes = np.empty(k), np.empty(k)
    is_medoid = np.zeros(n, dtype=np.bool_)
    is_medoid[medoids] = True
    for i in range(n):
        _attend(distances, medoids, i, first, second, near, far)
    _removals(first, near, far, removal)
    since = 0
    for step in range(max_passes * n):
        x = order[step % n]
        since += 1
        if not is_medoid[x]:
            changes[:] = removal
            gained = 0.0
            row = distances[x]
            for i in range(n):
                value = row[i]
                if value < near[i]:
                    gained += value - near[i]
                    changes[first[i]] += near[i] - far[i]
                elif value < far[i]:
                    changes[first[i]] += value - far[i]
            m = int(np.argmin(changes))
            if changes[m] + gained < -tolerance:
                is_medoid[medoids[m]] = False
                is_medoid[x] = True
                medoids[m] = x
                _exchanged(distances, medoids, m, first, second, near, far)
                _removals(first, near, far, removal)
                since = 0
        if since >= n:
            return


@hookimpl
def register_clusterers() -> Mapping[str, type[KMedoids]]:
    return {"kmedoids": KMedoids}
