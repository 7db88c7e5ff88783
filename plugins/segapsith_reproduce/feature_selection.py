"""Which words of a matrix are kept before it is clustered: the protocols of the papers.

Each function gives columns in ascending order. `by_mutual_information` looks at the classes, as
the first protocol of χ-Sim does, so what is clustered afterwards has seen the answer; the other
two do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Matrix, Rows

__all__ = [
    "Information",
    "by_document_frequency",
    "by_medoids",
    "by_mutual_information",
    "document_frequency",
]

Columns = NDArray[np.int64]
Information = Literal["presence", "class", "counts", "pointwise"]
"""What mutual information is taken of."""


class Medoids(Protocol):
    """A clusterer around rows of its own, such as `kmedoids`."""

    @property
    def medoids_(self) -> NDArray[np.int64]: ...
    def cluster(self, rows: Rows, compare: Compare | None) -> Labels: ...


def document_frequency(rows: Rows) -> NDArray[np.int64]:
    """In how many rows each column is not 0."""
    there = csr_array(rows, copy=True)
    there.sum_duplicates()
    there.eliminate_zeros()
    return np.bincount(there.indices, minlength=rows.shape[1]).astype(np.int64)


def by_document_frequency(
    rows: Rows, n: int | None = None, *, least: int = 2, most: float = 1.0
) -> Columns:
    """The n columns that most rows have, of those in at least `least` rows and at most a share
    `most` of them; ties to the lower column.

    >>> by_document_frequency(csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1]]), 1).tolist()
    [0]
    """
    frequency = document_frequency(rows)
    allowed = (frequency >= least) & (frequency <= most * rows.shape[0])
    return _best(np.where(allowed, frequency, 0).astype(np.float64), n)


def by_mutual_information(
    rows: Rows,
    classes: Sequence[object] | ArrayLike,
    n: int,
    *,
    of: Information = "presence",
    least: int = 1,
) -> Columns:
    """The n columns that tell most about the classes, of those in at least `least` rows.

    `presence`: I(W; C) of whether a row has the word and its class. `class`: the same with whether
    the row is of one class, the largest over the classes. `counts`: what the word adds
    to the information between words and classes, p(w) Σ_c p(c|w) ln( p(c|w) / p(c) ), from sums of
    the rows. `pointwise`: the largest ln( p(w, c) / (p(w) p(c)) ) of any class, which prefers words
    of one class however rare; of equal ones the word of more rows. Ties to the lower column.
    """
    _, numbers = np.unique(np.asarray(classes), return_inverse=True)
    if len(numbers) != rows.shape[0]:
        raise ValueError(f"{rows.shape[0]} rows have {len(numbers)} classes; one each is wanted")
    frequency = document_frequency(rows)
    ones = csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))))
    if of == "presence":
        inside = (ones @ _there(rows)).toarray()  # classes × words
        sizes = np.bincount(numbers).astype(np.float64)[:, None]
        total = float(rows.shape[0])
        worth = _information(inside, inside.sum(axis=0), sizes, total)
        worth += _information(sizes - inside, total - inside.sum(axis=0), sizes, total)
    elif of == "class":
        worth = _with_one_class((ones @ _there(rows)).toarray(), np.bincount(numbers))
    elif of == "counts":
        inside = (ones @ csr_array(rows, dtype=np.float64)).toarray()
        worth = _information(
            inside, inside.sum(axis=0), inside.sum(axis=1)[:, None], float(inside.sum())
        )
    elif of == "pointwise":
        sizes = np.bincount(numbers).astype(np.float64)[:, None]
        ratio = (ones @ _there(rows)).toarray() / np.maximum(sizes * frequency, 1.0)
        # by rank, so that neither rounding nor the number of rows outweighs the information
        pairs = np.stack([ratio.max(axis=0).round(12), frequency], axis=1)
        ranks = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        worth = ranks.astype(np.float64) + 1.0
    else:
        raise ValueError(f"of={of!r} should be presence, class, counts or pointwise")
    return _best(np.where(frequency >= least, np.maximum(worth, 1e-300), 0.0), n)


def _with_one_class(inside: Matrix, sizes: NDArray[np.integer]) -> Matrix:
    """The largest I(W; C = c) of each word; `inside` is classes × words, in how many rows."""
    total, frequency = float(sizes.sum()), inside.sum(axis=0)
    best = np.zeros(inside.shape[1])
    for size, here in zip(sizes.astype(np.float64), inside, strict=True):
        two = np.array([[size], [total - size]])  # rows of the class, and others
        joint = np.stack([here, frequency - here])
        worth = _information(joint, frequency, two, total)
        worth += _information(two - joint, total - frequency, two, total)
        best = np.maximum(best, worth)
    return best


def _there(rows: Rows) -> Rows:
    """1 where a row has the word."""
    there = csr_array(rows, dtype=np.float64, copy=True)
    there.data = (there.data != 0).astype(np.float64)
    return there


def _information(joint: Matrix, words: Matrix, classes: Matrix, total: float) -> Matrix:
    """Σ_c p(c, w) ln( p(c, w) / (p(c) p(w)) ) of each word."""
    expected = classes * words[None, :] / max(total, 1e-300)
    there = (joint > 0) & (expected > 0)
    ratio = np.divide(joint, expected, out=np.ones_like(joint), where=there)
    found: Matrix = (joint * np.log(ratio)).sum(axis=0) / max(total, 1e-300)
    return found


def by_medoids(rows: Rows, grouping: Medoids, *, least: int = 2) -> Columns:
    """The columns that `grouping` takes as medoids of all, by Euclidean distance.

    Columns of fewer than `least` rows are left out first, as in the second protocol of χ-Sim.
    `grouping` is a k-medoids clusterer whose k is the number of words wanted and whose distance is
    one minus the similarity.
    """
    allowed = np.flatnonzero(document_frequency(rows) >= least)
    words = csr_array(csr_array(rows, dtype=np.float64)[:, allowed].T.tocsr())
    grouping.cluster(words, _minus_distance)
    return np.sort(allowed[np.asarray(grouping.medoids_)]).astype(np.int64)


def _minus_distance(left: Rows, right: Rows) -> Matrix:
    """One minus the Euclidean distance of rows, so that one minus it is the distance."""
    squares = [np.asarray(rows.multiply(rows).sum(axis=1)).ravel() for rows in (left, right)]
    between = squares[0][:, None] + squares[1][None, :] - 2 * (left @ right.T).toarray()
    found: Matrix = 1.0 - np.sqrt(np.maximum(between, 0.0))
    return found


def _best(worth: NDArray[np.float64], n: int | None) -> Columns:
    """The columns of the n largest values above 0, in ascending order."""
    order = np.argsort(-worth, kind="stable")
    order = order[worth[order] > 0]
    return np.sort(order[:n]).astype(np.int64)
