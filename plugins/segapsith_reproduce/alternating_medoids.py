"""k-medoids from a random start, as the programs of 2011 had it.

Rows are assigned to clusters at random. Then two steps alternate as long as the sum of distances
falls: the medoid of a cluster is its row with the least sum of distances to the others, and a row
joins its nearest medoid. The plugin `kmedoids` finds much better medoids by exchanges; this form
exists to show what the start does to a table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Matrix, Rows

__all__ = ["AlternatingMedoids"]

BLOCK = 1000
"""Number of rows that are compared with all medoids at a time."""

Ints = NDArray[np.int64]


class AlternatingMedoids:
    """At most `k` clusters of rows; the distance is one minus the similarity.

    After `cluster`: `medoids_`, the row of each medoid, and `objective_`, the sum of distances.
    """

    def __init__(self, *, k: int, seed: int = 0) -> None:
        self.k = k
        self.seed = seed
        self.medoids_: Ints = np.empty(0, dtype=np.int64)
        self.objective_ = math.inf

    def cluster(self, rows: Rows, compare: Compare | None) -> Labels:
        """Return the cluster of each row."""
        if compare is None:
            raise ValueError("AlternatingMedoids needs a similarity, found compare=None")
        n = rows.shape[0]
        k = min(self.k, n)
        rng = np.random.default_rng(self.seed)
        labels = np.concatenate([np.arange(k), rng.integers(0, max(k, 1), n - k)])  # none is empty
        rng.shuffle(labels)
        self.medoids_, self.objective_ = np.empty(0, dtype=np.int64), math.inf
        while True:
            medoids = _medoids(rows, labels, k, compare)
            nearest, objective = _nearest(rows, medoids, compare)
            if objective >= self.objective_ - 1e-9 * max(n, 1):
                return labels
            labels, self.medoids_, self.objective_ = nearest, medoids, objective


def _medoids(rows: Rows, labels: Labels, k: int, compare: Compare) -> Ints:
    """Return the row of each cluster with the least sum of distances; of equal ones the first."""
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(k + 1))
    medoids = np.empty(k, dtype=np.int64)
    for cluster in range(k):
        members = order[ends[cluster] : ends[cluster + 1]]
        if len(members) > 1:
            similar: Matrix = compare(rows[members], rows[members])
            members = members[[int(similar.sum(axis=1).round(9).argmax())]]
        medoids[cluster] = members[0]
    return medoids


def _nearest(rows: Rows, medoids: Ints, compare: Compare) -> tuple[Labels, float]:
    """Return the nearest medoid of each row, and the sum of distances; a medoid is its own."""
    labels = np.empty(rows.shape[0], dtype=np.int64)
    total = 0.0
    for start in range(0, rows.shape[0], BLOCK):
        similar = compare(rows[start : start + BLOCK], rows[medoids])
        labels[start : start + BLOCK] = similar.argmax(axis=1)
        total += float((1.0 - similar.max(axis=1)).sum())
    labels[medoids] = np.arange(len(medoids))
    return labels, total
