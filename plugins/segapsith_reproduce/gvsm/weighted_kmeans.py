"""Spherical k-means of rows that keep their length.

The plugin `spherical-kmeans` scales rows to length 1. Here a row counts with its length: the centre
of a cluster is the direction of the sum of its rows, and the objective is sum_k |s_k|. The figures of
the paper have it so in latent models, where a document is shorter the less of it the directions
keep. Rows are short and dense, so plain matrix products are used.
"""

from __future__ import annotations

import numpy as np

from segapsith.arrays import Labels, Matrix

__all__ = ["cluster_weighted"]


def cluster_weighted(
    rows: Matrix, k: int, *, seed: int = 0, n_init: int = 10, max_iterations: int = 100
) -> Labels:
    """Return at most `k` clusters of dense rows, the best of `n_init` starts; -1 for rows of zeros.

    A start draws `k` different rows at random. All rows move to the nearest centre at once, for at
    most `max_iterations` rounds.

    >>> cluster_weighted(np.array([[9.0, 0.0], [0.0, 2.0], [0.0, 0.0], [4.0, 1.0]]), 2).tolist()
    [0, 1, -1, 0]
    """
    filled = np.flatnonzero((rows != 0).any(axis=1))
    labels: Labels = np.full(len(rows), -1, dtype=np.int64)
    if not len(filled):
        return labels
    inside = rows[filled]
    runs = [
        _from_start(
            inside, min(k, len(filled)), np.random.default_rng([seed, start]), max_iterations
        )
        for start in range(n_init)
    ]
    best = max(runs, key=lambda run: run[0])[1]  # of equal ones the first
    _, first, numbers = np.unique(best, return_index=True, return_inverse=True)
    in_order = np.empty(len(first), dtype=np.int64)
    in_order[np.argsort(first)] = np.arange(len(first))
    labels[filled] = in_order[numbers]
    return labels


def _from_start(
    rows: Matrix, k: int, rng: np.random.Generator, max_iterations: int
) -> tuple[float, Labels]:
    """Return the objective and the labels from one start."""
    labels = _nearest(rows, rows[rng.choice(len(rows), k, replace=False)])
    for _ in range(max_iterations):
        before, labels = labels, _nearest(rows, _sums(rows, labels, k))
        if np.array_equal(before, labels):
            break
    return float(np.linalg.norm(_sums(rows, labels, k), axis=1).sum()), labels


def _nearest(rows: Matrix, sums: Matrix) -> Labels:
    """Return the centre nearest to each row by cosine; of equal ones the first."""
    lengths = np.linalg.norm(sums, axis=1)
    products = rows @ (sums / np.where(lengths > 0, lengths, 1.0)[:, None]).T
    products[:, lengths == 0] = -np.inf
    nearest: Labels = products.argmax(axis=1)
    return nearest


def _sums(rows: Matrix, labels: Labels, k: int) -> Matrix:
    """Return the sum of the rows of each cluster; zeros for an empty one."""
    members = (labels == np.arange(k)[:, None]).astype(np.float64)
    sums: Matrix = members @ rows
    return sums
