"""RSN: the relation summary network of Long, Wu, Zhang & Yu (2006), for one relation.

Each row and each word is in one group, and every block of M is summarised by its mean. The
objective is the distortion of M by these means,

    i-divergence   Σ m ln(m / b) - m + b          squared   Σ (m - b)²

minimised in alternation: means of the blocks, words to the group whose means fit best, means, rows
likewise. Details are recalled from the literature.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Rows
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.clusterers._co_clusters import CoClusterer, Sides, Turns
from segapsith_plugins.clusterers._row_algebra import check_choice, far_apart, membership, unit_rows

__all__ = ["Rsn"]

Floats = NDArray[np.float64]


class Rsn(CoClusterer):
    """At most `k` groups of rows, with `word_clusters` groups of words; `compare` is not needed.

    `word_clusters=None` uses `k` too. `distortion` is `i-divergence`, for counts, or `squared`,
    which is block k-means. Each of `n_init` starts begins with groups around rows and words that
    are far apart. An empty group receives the row that fits its own group worst. The best after at
    most `max_rounds` rounds is returned.

    After `cluster`: `objective_`, the distortion; `objectives_`, one per start; `trace_`, its
    values in the best start, one per half-step; `word_labels_`, the group of each column, -1 for an
    empty one.
    """

    _name = "rsn"
    _sign = -1.0

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
        super().__init__(
            k=k, word_clusters=word_clusters, n_init=n_init, max_rounds=max_rounds, seed=seed
        )
        check_choice("distortion", distortion, ("i-divergence", "squared"))
        self.distortion = distortion

    def _turns(self, m: Rows, n_rows: int, n_words: int) -> Turns:
        units, word_units = unit_rows(m), unit_rows(m.T.tocsr())
        own = self._own(m)

        def start(rng: np.random.Generator) -> Sides:
            rows = far_apart(units, n_rows, rng)
            return Sides(rows, n_rows, far_apart(word_units, n_words, rng), n_words)

        def worth(sides: Sides) -> float:
            return -max(own - self._explained(m, *sides), 0.0)

        return Turns(start, self._regrouped, worth)

    def _own(self, m: Rows) -> float:
        """Return the part of the distortion that no grouping changes."""
        values = m.data if self.distortion == "squared" else np.log(m.data)
        return math.fsum(m.data * values)

    def _explained(self, m: Rows, labels: Labels, k: int, words: Labels, n_words: int) -> float:
        """Return the part of the distortion that the blocks explain.

        It is Σ s ln b, or Σ s b, of block sums s and means b.
        """
        sums = (membership(labels, k) @ m @ membership(words, n_words).T).toarray()
        means = _means(sums, labels, k, words, n_words)
        if self.distortion == "squared":
            return math.fsum((sums * means).ravel())
        return math.fsum((sums * np.log(np.where(sums > 0, means, 1.0))).ravel())

    def _regrouped(
        self,
        items: Rows,
        labels: Labels,
        k: int,
        others: Labels,
        n_others: int,
        _: np.random.Generator,
    ) -> Labels:
        """Return the items in the groups whose means fit them best, ties to the old one."""
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
        updated = np.where(better, nearest, labels)
        return _refilled(updated, k, costs[every, updated])


def _means(sums: Floats, labels: Labels, k: int, others: Labels, n_others: int) -> Floats:
    """Return block sums over block sizes; 0 for an empty block."""
    sizes = np.outer(np.bincount(labels, minlength=k), np.bincount(others, minlength=n_others))
    means: Floats = np.divide(sums, sizes, out=np.zeros_like(sums), where=sizes > 0)
    return means


def _refilled(labels: Labels, k: int, costs: Floats) -> Labels:
    """Return labels in which empty groups have the items that fit worst, from groups of two or
    more.
    """
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
