"""The baseline: a single pass with TF-IDF, cosine with centroids, and one threshold.

Weights are (1 + ln count) × rarity, in vectors of length 1. The rarity is updated by the same
learning clock as in the engine. A document joins the cluster with the nearest sum of vectors, or
starts a new one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segapsith.engine import clock
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.jit import kernel

__all__ = ["SinglePass"]


class SinglePass:
    """Documents in their order, each as one bag of words, for clustering at any threshold."""

    def __init__(self, units: Sequence[StreamUnit]) -> None:
        by_document: dict[int, list[StreamUnit]] = {}
        for unit in units:
            by_document.setdefault(unit.document, []).append(unit)
        self.documents = list(by_document)
        words, counts, lengths = [], [], []
        for parts in by_document.values():
            distinct, place = np.unique(
                np.concatenate([p.words for p in parts]), return_inverse=True
            )
            words.append(distinct.astype(np.int64))
            counts.append(np.bincount(place, np.concatenate([p.counts for p in parts])))
            lengths.append(len(distinct))
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._words = np.concatenate([np.zeros(0, np.int64), *words])
        self._counts = np.concatenate([np.zeros(0), *counts])
        self._ticks = np.array(
            [clock.ticks(n + 1) for n in range(len(by_document))], dtype=np.bool_
        )

    def labels(self, threshold: float) -> dict[int, int]:
        """Return the cluster of each document."""
        labels = _pass(
            self._starts,
            self._words,
            self._counts,
            int(self._words.max(initial=-1)) + 1,
            threshold,
            self._ticks,
        )
        return dict(zip(self.documents, labels.tolist(), strict=True))


@kernel
def _pass(
    starts: NDArray[np.int64],
    words: NDArray[np.int64],
    counts: NDArray[np.float64],
    n_words: int,
    threshold: float,
    ticks: NDArray[np.bool_],
) -> NDArray[np.int64]:
    n = len(starts) - 1
    seen, frozen, n_frozen = np.zeros(n_words), np.zeros(n_words), 0.0
    head = np.full(n_words, -1, dtype=np.int64)  # each word's list of (cluster, summed weight)
    after = np.empty(len(words) + 1, dtype=np.int64)
    cluster = np.empty(len(words) + 1, dtype=np.int64)
    weight = np.empty(len(words) + 1)
    used, n_clusters = 0, 0
    squares, dots = np.zeros(n + 1), np.zeros(n + 1)
    labels = np.empty(n, dtype=np.int64)
    for i in range(n):
        first, last = starts[i], starts[i + 1]
        row = np.empty(last - first)
        total = 0.0
        for j in range(first, last):
            value = (1 + np.log(counts[j])) * np.log((n_frozen + 2) / (frozen[words[j]] + 1))
            row[j - first] = value
            total += value * value
        if total > 0:
            row /= np.sqrt(total)
        dots[:n_clusters] = 0.0
        for j in range(first, last):
            p = head[words[j]]
            while p >= 0:
                dots[cluster[p]] += row[j - first] * weight[p]
                p = after[p]
        best, score = -1, 0.0
        for c in range(n_clusters):
            if squares[c] > 0 and dots[c] / np.sqrt(squares[c]) > score:
                best, score = c, dots[c] / np.sqrt(squares[c])
        if best < 0 or score < threshold:
            best = n_clusters
            n_clusters += 1
        labels[i] = best
        squares[best] += 2 * dots[best] + 1.0
        for j in range(first, last):
            p = head[words[j]]
            while p >= 0 and cluster[p] != best:
                p = after[p]
            if p < 0:
                p = used
                used += 1
                cluster[p], weight[p], after[p] = best, 0.0, head[words[j]]
                head[words[j]] = p
            weight[p] += row[j - first]
            seen[words[j]] += 1
        if ticks[i]:
            frozen[:] = seen
            n_frozen = i + 1.0
    return labels
