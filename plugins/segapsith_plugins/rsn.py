"""RSN: the relation summary network of Long, Wu, Zhang & Yu (KDD 2006), for one relation.

Rows and words are in one group each, and every block of M is summarised by its mean. What is
minimised is the distortion of M by these means,

    i-divergence   Σ m ln(m / b) - m + b          squared   Σ (m - b)²

taking turns: means of the blocks, rows to the group whose means fit best, means, words likewise.
Details are recalled from the literature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Rows
from segapsith.hookspecs import hookimpl
from segapsith_plugins._row_algebra import (
    check_choice,
    check_whole,
    far_apart,
    filled_rows,
    in_order,
    membership,
    needs_counts,
    spread,
    unit_rows,
    used_columns,
)

__all__ = ["Rsn"]

Floats = NDArray[np.float64]


class Rsn:
    """At most `k` groups of rows, with `word_clusters` groups of words; `compare` is not needed.

    `word_clusters=None` takes as many as rows have. `distortion` is `i-divergence`, for counts, or
    `squared`, which is block k-means. Each of `n_init` starts begins with rows and words around
    some that lie far apart; a group that runs empty takes the row that fits worst where it is.
    The best after at most `max_rounds` rounds is returned.

    After `cluster`: `objective_`, the distortion; `objectives_`, one a start; `trace_`, its fall in
    the best start, one a half-step; `word_labels_`, the group of each column, -1 for an empty one.
    """

    def __init__(
        self,
        *,
        k: int = 8,
        word_clusters: int | None = None,
        distortion: Literal["i-divergence", "squared"] = "i-divergence",
        n_init: int = 10,
        max_rounds: int = 100,
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_rounds", max_rounds, 1)
        check_choice("distortion", distortion, ("i-divergence", "squared"))
        if word_clusters is not None:
            check_whole("word_clusters", word_clusters, 1)
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.word_clusters = word_clusters
        self.distortion = distortion
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.seed = seed
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()
        self.trace_: tuple[float, ...] = ()
        self.word_labels_: Labels = np.zeros(0, dtype=np.int64)

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """One group a row."""
        filled, where = filled_rows(rows)
        needs_counts(filled, "rsn")
        used = np.flatnonzero(np.bincount(filled.indices, minlength=rows.shape[1]))
        self.word_labels_ = np.full(rows.shape[1], -1, dtype=np.int64)
        self.objective_, self.objectives_, self.trace_ = 0.0, (), ()
        if not len(where):
            return np.full(rows.shape[0], -1, dtype=np.int64)
        m = used_columns(filled)
        best: tuple[list[float], Labels, Labels] | None = None
        found = []
        for seed in np.random.SeedSequence(self.seed).spawn(self.n_init):
            trace, labels, words = self._run(m, np.random.default_rng(seed))
            found.append(trace[-1])
            if best is None or trace[-1] < best[0][-1]:
                best = trace, labels, words
        assert best is not None
        self.trace_, self.objectives_, self.objective_ = tuple(best[0]), tuple(found), best[0][-1]
        self.word_labels_[used] = in_order(best[2])
        return spread(best[1], where, rows.shape[0])

    def _run(self, m: Rows, rng: np.random.Generator) -> tuple[list[float], Labels, Labels]:
        """The distortion after each half-step, and the labels, from one start."""
        turned = m.T.tocsr()
        k = min(self.k, m.shape[0])
        n_words = min(self.word_clusters or self.k, m.shape[1])
        labels = far_apart(unit_rows(m), k, rng)
        words = far_apart(unit_rows(turned), n_words, rng)
        own = self._own(m)
        trace = [own - self._told(m, labels, k, words, n_words)]
        for _ in range(self.max_rounds):
            before = labels, words
            labels = self._regrouped(m, labels, k, words, n_words)
            trace.append(own - self._told(m, labels, k, words, n_words))
            words = self._regrouped(turned, words, n_words, labels, k)
            trace.append(own - self._told(m, labels, k, words, n_words))
            if np.array_equal(before[0], labels) and np.array_equal(before[1], words):
                break
        return [max(value, 0.0) for value in trace], labels, words

    def _own(self, m: Rows) -> float:
        """The part of the distortion that no grouping changes."""
        values = m.data if self.distortion == "squared" else np.log(m.data)
        return math.fsum(m.data * values)

    def _told(self, m: Rows, labels: Labels, k: int, words: Labels, n_words: int) -> float:
        """What the blocks take off it: Σ s ln b, or Σ s b, of block sums s and means b."""
        sums = (membership(labels, k) @ m @ membership(words, n_words).T).toarray()
        means = _means(sums, labels, k, words, n_words)
        if self.distortion == "squared":
            return math.fsum((sums * means).ravel())
        return math.fsum((sums * np.log(np.where(sums > 0, means, 1.0))).ravel())

    def _regrouped(
        self, items: Rows, labels: Labels, k: int, others: Labels, n_others: int
    ) -> Labels:
        """The items in the groups whose means fit them best, ties to the old one."""
        profiles: Floats = (items @ membership(others, n_others).T).toarray()
        sums: Floats = membership(labels, k) @ profiles
        means = _means(sums, labels, k, others, n_others)
        sizes = np.bincount(others, minlength=n_others).astype(float)
        if self.distortion == "squared":
            costs = np.square(means) @ sizes - 2 * profiles @ means.T
        else:
            logs = np.log(np.where(means > 0, means, 1.0))
            costs = means @ sizes - profiles @ logs.T
            costs[profiles @ (means <= 0).T.astype(float) > 0] = np.inf
        costs[:, np.bincount(labels, minlength=k) == 0] = np.inf
        every = np.arange(len(labels))
        mine = costs[every, labels]
        nearest = costs.argmin(axis=1)
        better = costs[every, nearest] < mine - 1e-12 * np.maximum(np.abs(mine), 1.0)
        found = np.where(better, nearest, labels)
        return _refilled(found, k, costs[every, found])


def _means(sums: Floats, labels: Labels, k: int, others: Labels, n_others: int) -> Floats:
    """Block sums over block sizes; 0 for an empty block."""
    sizes = np.outer(np.bincount(labels, minlength=k), np.bincount(others, minlength=n_others))
    means: Floats = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    return means


def _refilled(labels: Labels, k: int, costs: Floats) -> Labels:
    """Empty groups take the items that fit worst, from groups that keep another."""
    counts = np.bincount(labels, minlength=k)
    worst = iter(np.argsort(-costs, kind="stable"))
    for group in np.flatnonzero(counts == 0):
        for item in worst:
            if counts[labels[item]] > 1:
                counts[labels[item]] -= 1
                labels[item] = group
                counts[group] = 1
                break
    return labels


@hookimpl
def register_clusterers() -> Mapping[str, type[Rsn]]:
    return {"rsn": Rsn}
