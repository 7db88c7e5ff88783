"""ITCC: rows and words grouped at once, so that the groups tell most of each other.

Dhillon, Mallela & Modha (2003). With p(x, y) = M / ΣM, groups x̂ of rows and ŷ of words,

    maximise  I(X̂; Ŷ)        which is  I(X; Y) - KL(p ‖ q),  q = p(x̂, ŷ) p(x | x̂) p(y | ŷ)

Given the word groups, the row half is entropy clustering of rows counted by word group, and the
other way round. Each half is done by single moves, each of which raises I(X̂; Ŷ) (the batch form
of the paper freezes where a group lacks a word group that a row has).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Rows
from segapsith.hookspecs import hookimpl
from segapsith_plugins._entropy_search import Partition, settle, tables_for, xlogx
from segapsith_plugins._row_algebra import (
    canonical,
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

__all__ = ["Itcc", "block_information"]

WORD_CLUSTERS = (8, 16, 32, 64, 128)
"""Numbers of word groups that are tried where none is given."""


def block_information(blocks: NDArray[np.float64]) -> float:
    """I(X̂; Ŷ) in nats of a table of sums.

    >>> round(block_information(np.array([[2.0, 0.0], [0.0, 2.0]])), 6) == round(math.log(2), 6)
    True
    """
    total = float(blocks.sum())
    if total <= 0:
        return 0.0
    inside = xlogx(blocks).sum() - xlogx(blocks.sum(axis=0)).sum() - xlogx(blocks.sum(axis=1)).sum()
    return float((inside + xlogx(np.array(total))) / total)


class Itcc:
    """At most `k` groups of rows, with `word_clusters` groups of words; `compare` is not needed.

    `word_clusters=None` tries 8, 16 … 128 and keeps the number whose information, less what it
    takes to write down the table and the word groups, is largest: labels never enter. Each of
    `n_init` starts begins with rows around some that lie far apart, and takes turns between
    words and rows until neither gains, or for `max_rounds` rounds. The best is returned.

    After `cluster`: `objective_`, I(X̂; Ŷ) in nats; `objectives_`, one a start; `trace_`, its rise
    in the best start, one a half-step; `word_labels_`, the group of each column, -1 for an empty
    one.
    """

    def __init__(
        self,
        *,
        k: int = 8,
        word_clusters: int | None = None,
        n_init: int = 5,
        max_rounds: int = 50,
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_rounds", max_rounds, 1)
        if word_clusters is not None:
            check_whole("word_clusters", word_clusters, 1)
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.word_clusters = word_clusters
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
        needs_counts(filled, "itcc")
        used = np.flatnonzero(np.bincount(filled.indices, minlength=rows.shape[1]))
        self.word_labels_ = np.full(rows.shape[1], -1, dtype=np.int64)
        self.objective_, self.objectives_, self.trace_ = 0.0, (), ()
        if not len(where):
            return np.full(rows.shape[0], -1, dtype=np.int64)
        counts = used_columns(filled)
        best: tuple[float, Labels, Labels] | None = None
        for n_words in self._numbers(len(used)):
            found = self._best(counts, min(self.k, len(where)), n_words)
            worth = found[0] - self._price(counts, n_words)
            if best is None or worth > best[0]:
                best = worth, found[1], found[2]
                self.objectives_, self.trace_ = found[3], found[4]
                self.objective_ = max(self.objectives_)
        assert best is not None
        self.word_labels_[used] = in_order(best[2])
        return spread(best[1], where, rows.shape[0])

    def _numbers(self, n_columns: int) -> list[int]:
        if self.word_clusters is not None:
            return [min(self.word_clusters, n_columns)]
        return [number for number in WORD_CLUSTERS if number < n_columns] or [n_columns]

    def _price(self, counts: Rows, n_words: int) -> float:
        """Nats for each observation to write down the table and which word is in which group."""
        total = max(float(counts.sum()), float(counts.nnz))
        table = self.k * n_words / 2 * math.log(max(total, 2.0))
        price: float = (table + counts.shape[1] * math.log(n_words)) / total
        return price

    def _best(
        self, counts: Rows, k: int, n_words: int
    ) -> tuple[float, Labels, Labels, tuple[float, ...], tuple[float, ...]]:
        """The best of all starts: information, labels of rows and words, and what it went through."""
        chosen: tuple[list[float], Labels, Labels] | None = None
        found = []
        for seed in np.random.SeedSequence(self.seed).spawn(self.n_init):
            trace, labels, words = self._run(counts, k, n_words, np.random.default_rng(seed))
            found.append(trace[-1])
            if chosen is None or trace[-1] > chosen[0][-1]:
                chosen = trace, labels, words
        assert chosen is not None
        return chosen[0][-1], chosen[1], chosen[2], tuple(found), tuple(chosen[0])

    def _run(
        self, counts: Rows, k: int, n_words: int, rng: np.random.Generator
    ) -> tuple[list[float], Labels, Labels]:
        labels = far_apart(unit_rows(counts), k, rng)
        by_word = csr_array(counts.T.tocsr())
        words = rng.integers(n_words, size=counts.shape[1])
        trace: list[float] = []
        for _ in range(self.max_rounds):
            words = _regrouped(by_word, labels, k, words, n_words, rng)
            trace.append(_information(counts, labels, k, words, n_words))
            before, labels = labels, _regrouped(counts, words, n_words, labels, k, rng)
            trace.append(_information(counts, labels, k, words, n_words))
            if np.array_equal(before, labels):
                break
        return trace, labels, words


def _regrouped(
    items: Rows, others: Labels, n_others: int, labels: Labels, k: int, rng: np.random.Generator
) -> Labels:
    """The items after single moves, counted by the groups of the others."""
    profiles = canonical(items @ membership(others, n_others).T)
    partition = Partition(profiles, labels, k, tables_for(profiles))
    settle(partition, rng, 100)
    return partition.labels.copy()


def _information(counts: Rows, labels: Labels, k: int, words: Labels, n_words: int) -> float:
    sums = membership(labels, k) @ counts @ membership(words, n_words).T
    return block_information(sums.toarray())


@hookimpl
def register_clusterers() -> Mapping[str, type[Itcc]]:
    return {"itcc": Itcc}
