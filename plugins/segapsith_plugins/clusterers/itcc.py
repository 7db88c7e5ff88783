"""ITCC: rows and words grouped together, with maximal mutual information of the groups.

Dhillon, Mallela & Modha (2003). With p(x, y) = M / ΣM, groups x̂ of rows and ŷ of words,

    maximise  I(X̂; Ŷ)        which is  I(X; Y) - KL(p ‖ q),  q = p(x̂, ŷ) p(x | x̂) p(y | ŷ)

Given the word groups, the row half is entropy clustering of rows counted by word group, and vice
versa. Each half consists of single moves that raise I(X̂; Ŷ). (In the batch form of the paper a row
cannot move to a group that lacks one of its word groups.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Rows
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.clusterers._co_clusters import CoClusterer, Sides, Turns
from segapsith_plugins.clusterers._entropy_search import Partition, settle, tables_for, xlogx
from segapsith_plugins.clusterers._row_algebra import canonical, far_apart, membership, unit_rows

__all__ = ["Itcc", "block_information"]

WORD_CLUSTERS = (8, 16, 32, 64, 128)
"""Numbers of word groups that are tried by default."""


def block_information(blocks: NDArray[np.float64]) -> float:
    """Return I(X̂; Ŷ) in nats of a table of sums.

    >>> round(block_information(np.array([[2.0, 0.0], [0.0, 2.0]])), 6) == round(math.log(2), 6)
    True
    """
    total = float(blocks.sum())
    if total <= 0:
        return 0.0
    inside = xlogx(blocks).sum() - xlogx(blocks.sum(axis=0)).sum() - xlogx(blocks.sum(axis=1)).sum()
    return float((inside + xlogx(np.array(total))) / total)


class Itcc(CoClusterer):
    """At most `k` groups of rows, with `word_clusters` groups of words; `compare` is not needed.

    `word_clusters=None` tries 8, 16 … 128 and uses the number with the largest information minus
    the description length of the table and the word groups; labels are not used. Each of `n_init`
    starts begins with groups around rows that are far apart, and alternates between words and rows
    until neither gains, or for `max_rounds` rounds. The best is returned.

    After `cluster`: `objective_`, I(X̂; Ŷ) in nats; `objectives_`, one per start; `trace_`, its
    values in the best start, one per half-step; `word_labels_`, the group of each column, -1 for an
    empty one.
    """

    _name = "itcc"
    _sign = 1.0

    def __init__(
        self,
        *,
        k: int = 8,
        word_clusters: int | None = None,
        n_init: int = 5,
        max_rounds: int = 50,
        seed: int | None = 0,
    ) -> None:
        super().__init__(
            k=k, word_clusters=word_clusters, n_init=n_init, max_rounds=max_rounds, seed=seed
        )

    def _numbers(self, n_columns: int) -> list[int]:
        if self.word_clusters is not None:
            return super()._numbers(n_columns)
        return [number for number in WORD_CLUSTERS if number < n_columns] or [n_columns]

    def _price(self, m: Rows, n_words: int) -> float:
        """Return the description length of the table and the word groups, in nats per observation."""
        total = max(float(m.sum()), float(m.nnz))
        table = self.k * n_words / 2 * math.log(max(total, 2.0))
        price: float = (table + m.shape[1] * math.log(n_words)) / total
        return price

    def _turns(self, m: Rows, n_rows: int, n_words: int) -> Turns:
        units = unit_rows(m)

        def start(rng: np.random.Generator) -> Sides:
            rows = far_apart(units, n_rows, rng)
            return Sides(rows, n_rows, rng.integers(n_words, size=m.shape[1]), n_words)

        def worth(sides: Sides) -> float:
            sums = membership(sides.rows, n_rows) @ m @ membership(sides.words, n_words).T
            return block_information(sums.toarray())

        return Turns(start, _regrouped, worth)


def _regrouped(
    items: Rows, labels: Labels, k: int, others: Labels, n_others: int, rng: np.random.Generator
) -> Labels:
    """Return the groups of the items, counted by groups of the other side, after single moves."""
    profiles = canonical(items @ membership(others, n_others).T)
    partition = Partition(profiles, labels, k, tables_for(profiles))
    settle(partition, rng, 100)
    return partition.labels.copy()


@hookimpl
def register_clusterers() -> Mapping[str, type[Itcc]]:
    return {"itcc": Itcc}
