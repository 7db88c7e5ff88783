"""Selection of words before a matrix is clustered, by the protocols of the papers.

Each function returns columns in ascending order. `by_mutual_information` uses the classes, as the
first protocol of χ-Sim does, so the clustering that follows is not unsupervised. The other two do
not use them.
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
Information = Literal["presence", "class", "counts", "pointwise", "smoothed"]
"""The variables whose mutual information is computed."""


class Medoids(Protocol):
    """A clusterer whose centres are rows, such as `kmedoids`."""

    @property
    def medoids_(self) -> NDArray[np.int64]: ...
    def cluster(self, rows: Rows, compare: Compare | None) -> Labels: ...


def document_frequency(rows: Rows) -> NDArray[np.int64]:
    """Return the number of rows in which each column is not 0."""
    nonzero = csr_array(rows, copy=True)
    nonzero.sum_duplicates()
    nonzero.eliminate_zeros()
    return np.bincount(nonzero.indices, minlength=rows.shape[1]).astype(np.int64)


def by_document_frequency(
    rows: Rows, n: int | None = None, *, min_rows: int = 2, max_share: float = 1.0
) -> Columns:
    """Return the n columns that occur in most rows; of equal ones the lower.

    Columns in fewer than `min_rows` rows, or in more than `max_share` of the rows, are left out.

    >>> by_document_frequency(csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1]]), 1).tolist()
    [0]
    """
    frequency = document_frequency(rows)
    allowed = (frequency >= min_rows) & (frequency <= max_share * rows.shape[0])
    return _best(np.where(allowed, frequency, 0).astype(np.float64), n)


def by_mutual_information(
    rows: Rows,
    classes: Sequence[object] | ArrayLike,
    n: int,
    *,
    of: Information = "presence",
    min_rows: int = 1,
) -> Columns:
    """Return the n columns with most information on the classes, of those in `min_rows` rows.

    - `presence`: I(W; C) of the presence of the word and the class.
    - `class`: I(W; C = c) of its presence and one class, the largest over the classes.
    - `counts`: p(w) Σ_c p(c|w) ln( p(c|w) / p(c) ), the share of the word in the information between
      words and classes, from sums of the rows.
    - `pointwise`: the largest ln( p(w, c) / (p(w) p(c)) ) over the classes. It prefers words of one
      class, even rare ones; of equal words the one in more rows is preferred.
    - `smoothed`: the same with half a row added to each count n(w, c), so that rare words of one
      class are not preferred to frequent words of nearly one class.

    Of equal columns the lower is returned.
    """
    _, numbers = np.unique(np.asarray(classes), return_inverse=True)
    if len(numbers) != rows.shape[0]:
        raise ValueError(f"{rows.shape[0]} rows have {len(numbers)} classes; each row needs one")
    frequency = document_frequency(rows)
    ones = csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))))
    if of == "presence":
        inside = (ones @ _presence(rows)).toarray()  # classes × words
        sizes = np.bincount(numbers).astype(np.float64)[:, None]
        total = float(rows.shape[0])
        worth = _information(inside, inside.sum(axis=0), sizes, total)
        worth += _information(sizes - inside, total - inside.sum(axis=0), sizes, total)
    elif of == "class":
        worth = _with_one_class((ones @ _presence(rows)).toarray(), np.bincount(numbers))
    elif of == "counts":
        inside = (ones @ csr_array(rows, dtype=np.float64)).toarray()
        worth = _information(
            inside, inside.sum(axis=0), inside.sum(axis=1)[:, None], float(inside.sum())
        )
    elif of == "pointwise":
        sizes = np.bincount(numbers).astype(np.float64)[:, None]
        ratio = (ones @ _presence(rows)).toarray() / np.maximum(sizes * frequency, 1.0)
        worth = _ranks(ratio.max(axis=0), frequency)
    elif of == "smoothed":
        inside = (ones @ _presence(rows)).toarray() + 0.5
        ratio = inside / (inside.sum(axis=0) * np.bincount(numbers)[:, None])
        worth = _ranks(ratio.max(axis=0), frequency)
    else:
        raise ValueError(f"of={of!r} should be presence, class, counts, pointwise or smoothed")
    return _best(np.where(frequency >= min_rows, np.maximum(worth, 1e-300), 0.0), n)


def _ranks(ratio: Matrix, frequency: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return ranks by ratio, then by frequency, from 1: neither rounding nor frequency counts more."""
    largest = max(float(ratio.max(initial=0.0)), 1e-300)
    pairs = np.stack([(ratio / largest).round(12), frequency], axis=1)
    ranks = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
    return ranks.astype(np.float64) + 1.0


def _with_one_class(inside: Matrix, sizes: NDArray[np.integer]) -> Matrix:
    """Return the largest I(W; C = c) of each word; `inside` counts rows by class and word."""
    total, frequency = float(sizes.sum()), inside.sum(axis=0)
    best = np.zeros(inside.shape[1])
    for size, here in zip(sizes.astype(np.float64), inside, strict=True):
        two = np.array([[size], [total - size]])  # rows of the class, and others
        joint = np.stack([here, frequency - here])
        worth = _information(joint, frequency, two, total)
        worth += _information(two - joint, total - frequency, two, total)
        best = np.maximum(best, worth)
    return best


def _presence(rows: Rows) -> Rows:
    """Return 1 where a row has the word."""
    presence = csr_array(rows, dtype=np.float64, copy=True)
    presence.data = (presence.data != 0).astype(np.float64)
    return presence


def _information(joint: Matrix, words: Matrix, classes: Matrix, total: float) -> Matrix:
    """Return Σ_c p(c, w) ln( p(c, w) / (p(c) p(w)) ) of each word."""
    expected = classes * words[None, :] / max(total, 1e-300)
    positive = (joint > 0) & (expected > 0)
    ratio = np.divide(joint, expected, out=np.ones_like(joint), where=positive)
    information: Matrix = (joint * np.log(ratio)).sum(axis=0) / max(total, 1e-300)
    return information


def by_medoids(rows: Rows, clusterer: Medoids, *, min_rows: int = 2) -> Columns:
    """Return the columns that are medoids of all columns, by Euclidean distance.

    Columns in fewer than `min_rows` rows are left out first, as in the second protocol of χ-Sim.
    `clusterer` is a k-medoids clusterer. Its k is the number of columns to select, and its distance
    is one minus the similarity.
    """
    allowed = np.flatnonzero(document_frequency(rows) >= min_rows)
    words = csr_array(csr_array(rows, dtype=np.float64)[:, allowed].T.tocsr())
    clusterer.cluster(words, _minus_distance)
    return np.sort(allowed[np.asarray(clusterer.medoids_)]).astype(np.int64)


def _minus_distance(left: Rows, right: Rows) -> Matrix:
    """Return one minus the Euclidean distance of rows: the clusterer subtracts it from one."""
    squares = [np.asarray(rows.multiply(rows).sum(axis=1)).ravel() for rows in (left, right)]
    between = squares[0][:, None] + squares[1][None, :] - 2 * (left @ right.T).toarray()
    similarity: Matrix = 1.0 - np.sqrt(np.maximum(between, 0.0))
    return similarity


def _best(worth: NDArray[np.float64], n: int | None) -> Columns:
    """Return the columns of the n largest values above 0, in ascending order."""
    order = np.argsort(-worth, kind="stable")
    order = order[worth[order] > 0]
    return np.sort(order[:n]).astype(np.int64)
