"""Products with matrices of word similarities, also with those that are too large for memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Rows
from segapsith_plugins._sparse_rows import Floats, dense_product, slices, times
from segapsith_plugins.similarities._co_similarity import entries

__all__ = [
    "RecomputedWords",
    "bilinear",
    "max_self_products",
    "recomputed_products",
    "self_products",
    "streamed_quantile",
]

_BLOCK_BYTES = 1 << 28
"""Bytes of one block of a word matrix that is not stored."""


# --- products ---------------------------------------------------------------------------


def bilinear(left: Rows, middle: Floats | None, right: Rows) -> Floats:
    """Return left · middle · rightᵀ, dense, computed a few left rows at a time."""
    if middle is None:
        return dense_product(left, right, left.dtype.type)
    result = np.zeros((left.shape[0], right.shape[0]), left.dtype)
    for part in slices(left.shape[0], 512):
        result[part] = times(right, times(left[part], middle).T).T
    return result


def self_products(rows: Rows, middle: Floats | None) -> Floats:
    """Return only the diagonal of rows · middle · rowsᵀ."""
    if middle is None:
        squares: Floats = rows.multiply(rows).sum(axis=1)
        return squares
    diagonal = np.zeros(rows.shape[0], rows.dtype)
    for part in slices(rows.shape[0], 512):
        diagonal[part] = rows[part].multiply(times(rows[part], middle)).sum(axis=1)
    return diagonal


def max_self_products(rows: Rows, middle: Floats | None) -> Floats:
    """Return the diagonal of `max_bilinear` of rows with themselves."""
    diagonal = np.zeros(rows.shape[0], rows.dtype)
    for i in np.flatnonzero(np.diff(rows.indptr)):
        words, weights = entries(rows, i)
        near = np.square(weights)
        if middle is not None:
            near = middle[np.ix_(words, words)] * np.outer(weights, weights)
        diagonal[i] = near.max()
    return diagonal


# --- pruning ----------------------------------------------------------------------------


def streamed_quantile(
    values: Callable[[], Iterable[Floats]], share: float, *, n_gathered: int = 1 << 24
) -> float:
    """Return the quantile (linear, as in NumPy) of non-negative values that are streamed twice.

    The first pass counts them by the leading bits of their float32 form (about three digits), the
    second collects those in the bins of the quantile. If these bins have more than `n_gathered`
    values, because very many are nearly equal, the result is the lower edge of the bin. It is at
    most a thousandth below the quantile, so pruning removes less, never more.

    >>> streamed_quantile(lambda: [np.array([1.0, 4.0]), np.array([2.0, 8.0])], 0.5)
    3.0
    """
    shift = np.uint32(13)
    counts = np.zeros(1 << 18, dtype=np.int64)
    for piece in values():
        for part in slices(len(piece), 1 << 23):
            keys = np.asarray(piece[part], dtype=np.float32).view(np.uint32) >> shift
            counts += np.bincount(keys, minlength=len(counts))
    total = int(counts.sum())
    if total == 0:
        return 0.0
    position = share * (total - 1)
    low, high = math.floor(position), math.ceil(position)
    below = np.cumsum(counts)
    bins = np.searchsorted(below, [low, high], side="right")
    if bins[1] == 0:
        return 0.0  # key 0 is the value 0, or negligible
    n_before = int(below[bins[0]] - counts[bins[0]])
    if counts[bins[0]] + counts[bins[1]] > n_gathered:
        return float((np.array([bins[0]], dtype=np.uint32) << shift).view(np.float32)[0])
    candidates: list[Floats] = []
    for piece in values():
        keys = np.asarray(piece, dtype=np.float32).view(np.uint32) >> shift
        candidates.append(piece[(keys == bins[0]) | (keys == bins[1])])
    near = np.sort(np.concatenate(candidates))
    lower, upper = float(near[low - n_before]), float(near[high - n_before])
    return lower + (upper - lower) * (position - low)


# --- word matrices ----------------------------------------------------------------------


@dataclass(frozen=True)
class RecomputedWords:
    """A word matrix that is not stored: any block of it is computed when it is needed."""

    columns: Rows
    """Words × documents, powered and scaled."""
    documents: Floats | None
    """SR of the previous step; None is the identity."""
    scale: Floats
    """Factor of each word, before the root."""
    power: float
    tie: float
    unit_diagonal: bool
    threshold: float = 0.0

    def block(self, words: NDArray[np.intp], others: NDArray[np.intp]) -> Floats:
        """Return the similarities of `words` with `others`."""
        other_columns = self.columns[others]
        if self.documents is None:
            similar = dense_product(self.columns[words], other_columns, self.columns.dtype.type)
        else:
            similar = times(self.columns[words], times(other_columns, self.documents).T)
        similar *= self.scale[words][:, None]
        similar *= self.scale[others][None, :]
        if self.power != 1.0:
            np.power(similar, self.power, out=similar)
        _, at_words, at_others = np.intersect1d(words, others, return_indices=True)
        with_itself = 1 if self.unit_diagonal else similar[at_words, at_others]
        if self.threshold > 0:
            similar[similar < self.threshold - self.tie] = 0
        similar[at_words, at_others] = with_itself  # never pruned
        return similar

    def spread(self, rows: Rows) -> Floats:
        """Return rows · SC, dense."""
        n = self.columns.shape[0]
        used, everything = np.unique(rows.indices), np.arange(n)
        narrow = rows[:, used]
        result = np.zeros((rows.shape[0], n), rows.dtype)
        for part in slices(n, _block_width(len(used), rows.dtype.itemsize)):
            result[:, part] = times(narrow, self.block(used, everything[part]))
        return result

    def above_diagonal(self) -> Iterator[Floats]:
        """Yield all entries above the diagonal, one block at a time."""
        n = self.columns.shape[0]
        everything = np.arange(n)
        width = _block_width(n, self.columns.dtype.itemsize)
        for part in slices(n, width):
            block = self.block(everything[part.start :], everything[part])
            yield block[np.tri(len(block), block.shape[1], k=-1, dtype=np.bool_)]


def _block_width(n: int, itemsize: int) -> int:
    return max(64, _BLOCK_BYTES // (max(n, 1) * itemsize))


def recomputed_products(
    rows: Rows, middle: RecomputedWords, left: slice, right: slice
) -> tuple[Floats, Floats]:
    """Return rows[left] · middle · rows[right]ᵀ and the diagonal of rows · middle · rowsᵀ.

    Both are computed by blocks.
    """
    used = np.unique(rows.indices)
    narrow = rows[:, used]
    by_word = narrow.tocsc()
    products = np.zeros((left.stop - left.start, right.stop - right.start), rows.dtype)
    diagonal = np.zeros(rows.shape[0], rows.dtype)
    for part in slices(len(used), _block_width(len(used), rows.dtype.itemsize)):
        spread = times(narrow, middle.block(used, used[part]))
        here = by_word[:, part].tocsr()
        diagonal += here.multiply(spread).sum(axis=1)
        times(here[right], spread[left].T, add_to=products.T)
    return products, diagonal
