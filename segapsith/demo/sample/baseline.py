"""A simple method for comparison: TF-IDF vectors, cosine, one pass over the sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.evaluation.metrics import bcubed

__all__ = ["best_single_pass", "single_pass", "tf_idf"]

THRESHOLDS = tuple(round(0.02 * n, 2) for n in range(1, 26))


def tf_idf(bags: Sequence[Sequence[str]]) -> csr_array:
    """Return rows of count × ln(N / df), scaled to length 1."""
    frequency = Counter(word for bag in bags for word in set(bag))
    number = {word: i for i, word in enumerate(sorted(frequency))}
    values, columns, pointers = [], [], [0]
    for bag in bags:
        counts = Counter(bag)
        row = {w: c * math.log(len(bags) / frequency[w]) for w, c in sorted(counts.items())}
        length = math.sqrt(sum(v * v for v in row.values())) or 1.0
        columns += [number[w] for w in row]
        values += [v / length for v in row.values()]
        pointers.append(len(columns))
    return csr_array((values, columns, pointers), shape=(len(bags), len(number)))


def single_pass(rows: csr_array, threshold: float) -> list[int]:
    """Return the cluster of each row: the one with the nearest centroid by cosine, or a new one."""
    return _single_pass((rows @ rows.T).toarray(), threshold)


def _single_pass(dots: NDArray[np.float64], threshold: float) -> list[int]:
    """Do the same with the products of all pairs: those of a centroid are the sums of its members'."""
    n_rows = len(dots)
    sums = np.zeros((n_rows, n_rows))  # product of each cluster with every row
    squares = np.zeros(n_rows)
    labels: list[int] = []
    n_clusters = 0
    for row in range(n_rows):
        cosines = sums[:n_clusters, row] / np.sqrt(np.maximum(squares[:n_clusters], 1e-300))
        best = int(np.argmax(cosines)) if n_clusters else 0
        if not n_clusters or cosines[best] < threshold:
            best, n_clusters = n_clusters, n_clusters + 1
        squares[best] += 2 * sums[best, row] + dots[row, row]
        sums[best] += dots[row]
        labels.append(best)
    return labels


def best_single_pass(bags: Sequence[Sequence[str]], classes: Sequence[str]) -> tuple[float, float]:
    """Return the B-cubed F1 and the threshold of the best single pass, chosen with the labels."""
    rows = tf_idf(bags)
    dots = (rows @ rows.T).toarray()
    return max((bcubed(_single_pass(dots, t), classes).f1, t) for t in THRESHOLDS)
