"""The contingency table of two partitions of the same units, as a sparse table.

Every score against labels (`segapsith.evaluation.metrics`) and every comparison of partitions
(`segapsith.evaluation.compare`) needs only this table, never a matrix of units by units.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Contingency", "Counts", "LabelSequence", "contingency", "largest_overlap"]

Counts: TypeAlias = NDArray[np.int64]
"""Integers, one per class or cell."""

LabelSequence: TypeAlias = Sequence[Hashable] | NDArray[np.generic]
"""One label per unit: integers or strings, in a list, a tuple or an array."""


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """The number of units that each left class shares with each right class, without empty cells.

    Cell number i lies in row `left[i]` and column `right[i]` and holds `counts[i]`; cells are
    in row order. Rows and columns are numbered as in `left_labels` and `right_labels`.
    """

    left_labels: tuple[Hashable, ...]
    right_labels: tuple[Hashable, ...]
    left: Counts
    right: Counts
    counts: Counts
    left_sizes: Counts
    right_sizes: Counts

    @classmethod
    def of_table(cls, table: Sequence[Sequence[int]] | NDArray[np.integer]) -> Contingency:
        """Return the contingency table of a dense table, with rows and columns numbered from 0.

        >>> Contingency.of_table([[2, 0], [1, 3]]).right_sizes.tolist()
        [3, 3]
        """
        dense = np.asarray(table)
        if dense.ndim != 2:
            raise ValueError(f"the table has {dense.ndim} dimensions and should have 2")
        if dense.size and (dense.dtype.kind not in "iu" or dense.min() < 0):
            raise ValueError("the table should hold integers >= 0")
        dense = dense.astype(np.int64)
        left, right = np.nonzero(dense)
        return cls(
            left_labels=tuple(range(dense.shape[0])),
            right_labels=tuple(range(dense.shape[1])),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            counts=dense[left, right],
            left_sizes=dense.sum(axis=1),
            right_sizes=dense.sum(axis=0),
        )

    @property
    def n(self) -> int:
        """The number of units."""
        return int(self.left_sizes.sum())

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of left and right classes."""
        return len(self.left_labels), len(self.right_labels)

    @property
    def same_partition(self) -> bool:
        """Whether both sides group the units in the same way, whatever the labels are.

        >>> contingency([0, 0, 1], ["b", "b", "a"]).same_partition
        True
        """
        rows, columns = np.count_nonzero(self.left_sizes), np.count_nonzero(self.right_sizes)
        return bool(len(self.counts) == rows == columns)

    def dense(self) -> Counts:
        """Return the whole table, empty cells included."""
        table = np.zeros(self.shape, dtype=np.int64)
        table[self.left, self.right] = self.counts
        return table

    def sparse(self) -> csr_array:
        """Return the table as a sparse array."""
        from scipy.sparse import csr_array  # slow to import

        return csr_array((self.counts, (self.left, self.right)), shape=self.shape)

    def largest_of_left(self) -> Counts:
        """Return the largest cell of each left class."""
        largest = np.zeros(self.shape[0], dtype=np.int64)
        np.maximum.at(largest, self.left, self.counts)
        return largest

    def largest_of_right(self) -> Counts:
        """Return the largest cell of each right class."""
        largest = np.zeros(self.shape[1], dtype=np.int64)
        np.maximum.at(largest, self.right, self.counts)
        return largest


def contingency(left: LabelSequence, right: LabelSequence) -> Contingency:
    """Return the table of two labellings of the same units, in time linear in their number.

    Classes are numbered in the order of their labels, or by first appearance if labels cannot be
    ordered (numbers and strings). The label -1 is a label like any other.

    >>> table = contingency([1, 1, 2], ["x", "y", "y"])
    >>> table.left_labels, table.right_labels, table.dense().tolist()
    ((1, 2), ('x', 'y'), [[1, 1], [0, 1]])
    """
    from scipy.sparse import coo_array  # slow to import

    left_labels, left_codes = _coded(left)
    right_labels, right_codes = _coded(right)
    if len(left_codes) != len(right_codes):
        raise ValueError(
            f"{len(left_codes)} and {len(right_codes)} labels: both sides should label the same units"
        )
    shape = len(left_labels), len(right_labels)
    ones = np.ones(len(left_codes), dtype=np.int64)
    # Conversion to compressed rows sums the entries of a cell and orders the rows.
    cells = coo_array((ones, (left_codes, right_codes)), shape=shape).tocsr().tocoo()
    return Contingency(
        left_labels=left_labels,
        right_labels=right_labels,
        left=cells.coords[0].astype(np.int64),
        right=cells.coords[1].astype(np.int64),
        counts=cells.data,
        left_sizes=np.bincount(left_codes, minlength=shape[0]),
        right_sizes=np.bincount(right_codes, minlength=shape[1]),
    )


def largest_overlap(table: Contingency) -> tuple[Counts, Counts]:
    """Return rows and columns of the one-to-one matching of classes with the most shared units.

    Only non-empty cells are used, so thousands of small classes need no dense table. Unmatched
    classes are not listed. The time depends on the number of classes (about a second for 20,000 on
    both sides), not on the number of units.

    >>> rows, columns = largest_overlap(Contingency.of_table([[5, 4], [4, 0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    if table.same_partition:  # also without units
        return table.left, table.right
    if table.shape[0] <= table.shape[1]:
        return _matched(table.left, table.right, table.counts, table.shape)
    columns, rows = _matched(table.right, table.left, table.counts, table.shape[::-1])
    return rows, columns


def _matched(
    rows: Counts, columns: Counts, counts: Counts, shape: tuple[int, int]
) -> tuple[Counts, Counts]:
    """Return the matching; the rows are the side with fewer classes.

    SciPy needs a match for every row and drops zeros. So each row gets an extra column of its own
    for "unmatched", and all benefits are raised by one. That adds a constant, because every row is
    matched once.
    """
    from scipy.sparse import csr_array, diags_array, hstack  # slow to import
    from scipy.sparse.csgraph import (
        min_weight_full_bipartite_matching,  # slow to import, rarely used
    )

    shared = csr_array((counts + 1.0, (rows, columns)), shape=shape)
    unmatched = diags_array(np.ones(shape[0]))
    matched_rows, matched_columns = min_weight_full_bipartite_matching(
        hstack([shared, unmatched], format="csr"), maximize=True
    )
    is_matched = matched_columns < shape[1]
    return matched_rows[is_matched].astype(np.int64), matched_columns[is_matched].astype(np.int64)


def _coded(labels: LabelSequence) -> tuple[tuple[Hashable, ...], Counts]:
    """Return the distinct labels, and for each unit the number of its label."""
    if isinstance(labels, np.ndarray) or hasattr(labels, "__array__"):
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ValueError(f"labels have {array.ndim} dimensions and should have 1")
        if array.dtype.kind in "iub":
            distinct, codes = np.unique(array, return_inverse=True)
            return tuple(distinct.tolist()), codes.astype(np.int64)
        labels = array.tolist()
    names = dict.fromkeys(labels)
    if any(isinstance(name, (float, np.floating)) and np.isnan(name) for name in names):
        raise ValueError("NaN cannot be a label: it differs from itself")
    try:
        ordered = tuple(sorted(names))
    except TypeError:
        ordered = tuple(names)
    number = {label: code for code, label in enumerate(ordered)}
    return ordered, np.fromiter(
        (number[label] for label in labels), dtype=np.int64, count=len(labels)
    )
