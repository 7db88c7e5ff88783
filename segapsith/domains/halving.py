"""Cutting the units of one domain in two: the best two halves, and how far apart they are.

Rows are the weights of units, scaled to length 1 and rounded to integers. So every sum is exact, and
the halves are the same on every machine. The halves are those of spherical k-means with two
clusters, the best of several starts. See docs/concepts/formulas.md, "Maintenance of domains".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex, bag_columns, unit_occurrences
from segapsith.domains.values import Bag, DomainWords

if TYPE_CHECKING:
    from segapsith.arrays import Labels, Rows

__all__ = ["halve", "separation", "unit_rows"]

LENGTH = 1 << 12
"""Length of a row before it is rounded: sums over 100,000 rows stay below 2 ** 63."""

STARTS = 5
"""Pairs of units that the search starts from."""

MAX_PASSES = 20
"""Passes over the rows for each start, at most."""

RANDOM_CUTS = 3
"""Random cuts of the same sizes that a cut is compared with."""


def unit_rows(bags: Sequence[Bag]) -> Rows:
    """Return units as rows of integers, of length `LENGTH`; inferred words are left out."""
    from scipy.sparse import csr_array  # slow to import

    observed = [bag.observed for bag in bags]
    words = np.concatenate([np.zeros(0, np.int32), *(bag.words for bag in observed)])
    weights = np.concatenate([np.zeros(0, np.int64), *(bag.weights for bag in observed)])
    sizes = np.array([len(bag.words) for bag in observed], dtype=np.int64)
    used, columns = np.unique(words, return_inverse=True)
    of_row = np.repeat(np.arange(len(bags)), sizes)
    squares = np.zeros(len(bags), dtype=np.int64)
    np.add.at(squares, of_row, weights.astype(np.int64) ** 2)
    values = np.rint(LENGTH * weights / np.sqrt(np.maximum(squares, 1))[of_row]).astype(np.int64)
    pointers = np.concatenate([[0], np.cumsum(sizes)])
    return csr_array((values, columns, pointers), shape=(len(bags), len(used)))


def halve(rows: Rows) -> Labels | None:
    """Return 0 or 1 for each row: the two halves with the largest cosines to their sums.

    None if no start gives two halves.
    """
    best: tuple[float, Labels] | None = None
    total = rows.sum(axis=0)
    for start in range(STARTS if rows.shape[0] > 1 else 0):
        pair = np.random.default_rng(start).choice(rows.shape[0], 2, replace=False)
        halves = _improved(rows, total, pair)
        if halves is not None and (best is None or halves[0] > best[0]):
            best = halves
    return None if best is None else best[1]


def _improved(
    rows: Rows, total: NDArray[np.int64], pair: NDArray[np.int64]
) -> tuple[float, Labels] | None:
    """Return the halves that a pair of rows leads to, and the sum of the lengths of their sums.

    `total` is the sum of all rows.
    """
    sums = rows[pair].toarray()
    labels = np.full(rows.shape[0], -1, dtype=np.int64)
    for _ in range(MAX_PASSES):
        nearest = np.argmax(rows @ sums.T / _lengths(sums), axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        second = int(labels.sum())
        if second in (0, len(labels)):
            return None
        sum_of_second = rows.T @ labels
        sums = np.stack([total - sum_of_second, sum_of_second])
    return float(_lengths(sums).sum()), labels


def _lengths(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    squares = np.array([int(np.dot(one, one)) for one in sums], dtype=np.float64)
    return np.sqrt(np.maximum(squares, 1))


def separation(index: DomainIndex, bags: Sequence[Bag], halves: Labels) -> float:
    """Return by how much two halves are less similar than random parts of the same sizes.

    It is 1 - s / r, with s the similarity of the halves by eq. 7, r the mean of that of random
    parts. `index` gives the placement settings.
    """
    units = _UnitSums(index, bags)
    own = _similarity(index, units, halves)
    random = [
        _similarity(index, units, np.random.default_rng(seed).permutation(halves))
        for seed in range(RANDOM_CUTS)
    ]
    mean = sum(random) / RANDOM_CUTS
    return 1 - own / mean if mean > 0 else 0.0


class _UnitSums:
    """Units whose sums over any part of them are computed at once, by words in ascending order."""

    def __init__(self, index: DomainIndex, bags: Sequence[Bag]) -> None:
        words, counts, weights, ends = bag_columns(bags)
        rule = index.settings
        occurrences = unit_occurrences(
            Bag(words, counts, weights), rule.count == "tokens", rule.inferred_occurrence
        )
        order = np.argsort(words, kind="stable")
        self._words, self._starts = np.unique(words[order], return_index=True)
        self._weights = weights[order].astype(np.int64)
        self._occurrences = occurrences[order].astype(np.int64)
        self._unit_of = np.repeat(np.arange(len(bags)), np.diff(ends, prepend=0))[order]

    def of(self, members: NDArray[np.bool_]) -> DomainWords:
        """Return the sums of a part, given as one truth value per unit."""
        counted = members[self._unit_of]

        def total(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.add.reduceat(values * counted, self._starts)

        present = total(np.ones_like(self._weights)) > 0
        return DomainWords(
            self._words[present],
            total(self._occurrences)[present],
            total(self._weights)[present],
            int(members.sum()),
        )


def _similarity(index: DomainIndex, units: _UnitSums, halves: Labels) -> float:
    """Return the similarity of two groups of units as domains, by eq. 7."""
    both = index.without_domains(1.0)
    for half in (0, 1):
        both.restore(half + 1, units.of(halves == half))
    _, similar = both.neighbours(1)
    return float(similar[0]) if len(similar) else 0.0
