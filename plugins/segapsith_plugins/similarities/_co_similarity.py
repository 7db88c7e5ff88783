"""Shared by the co-similarities: products, and pruning.

Not a plugin. `chi-sim` computes one chain of such steps, `mvsim` a network of them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Rows
from segapsith_plugins._sparse_rows import (
    PANEL,
    Floats,
    dense_if_full,
    dense_product,
    each_part,
    slices,
    times,
)

__all__ = ["TIE", "congruence", "entries", "max_bilinear", "prune_lowest", "upper_triangle"]

TIE = {"double": 1e-12, "single": 1e-6}
"""Entries this far below the threshold equal it except for rounding, and are not pruned."""

_SPREAD_BYTES = 1 << 26
"""Bytes that rows times a matrix may use at a time."""


def congruence(rows: Rows, middle: Floats | None) -> Floats:
    """Return rows · middle · rowsᵀ, dense; None is the identity.

    One half is computed, the other mirrored.
    """
    if middle is None:
        return dense_product(rows, rows, rows.dtype.type)
    n, width = rows.shape
    result = np.empty((n, n), rows.dtype)
    factor = dense_if_full(rows)
    for chunk in slices(n, max(PANEL, _SPREAD_BYTES // (max(width, 1) * rows.dtype.itemsize))):
        spread = times(rows[chunk], middle)

        def panel(part: slice, first: int = chunk.start, spread: Floats = spread) -> None:
            here = slice(first + part.start, first + part.stop)
            turned = np.ascontiguousarray(spread[part].T)
            result[here.start :, here] = factor[here.start :] @ turned

        step = PANEL if factor is rows else 512
        each_part(panel, list(slices(len(spread), step)), rows.nnz * len(spread))
    for part in slices(n, 512):
        square = result[part, part]
        square[:] = np.tril(square) + np.tril(square, -1).T
        result[part, part.stop :] = result[part.stop :, part].T
    return result


def max_bilinear(left: Rows, middle: Floats | None, right: Rows) -> Floats:
    """Return max over l, n of left_il · middle_ln · right_jn: the product with maxima as sums."""
    result = np.zeros((left.shape[0], right.shape[0]), left.dtype)
    filled = np.flatnonzero(np.diff(right.indptr))
    for i in np.flatnonzero(np.diff(left.indptr)) if len(filled) else ():
        words, weights = entries(left, i)
        if middle is None:
            spread = np.zeros(left.shape[1], left.dtype)
            spread[words] = weights
        else:
            spread = (middle[words] * weights[:, None]).max(axis=0)
        reached = spread[right.indices] * right.data
        result[i, filled] = np.maximum.reduceat(reached, right.indptr[filled])
    return result


def entries(rows: Rows, i: int | np.intp) -> tuple[NDArray[Any], Floats]:
    """Return the columns and values of one row."""
    here = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[here], rows.data[here]


def upper_triangle(matrix: Floats) -> Floats:
    """Return the entries above the diagonal, row by row, without an index for each."""
    n = len(matrix)
    values = np.empty(n * (n - 1) // 2, matrix.dtype)
    start = 0
    for i in range(n - 1):
        values[start : start + n - 1 - i] = matrix[i, i + 1 :]
        start += n - 1 - i
    return values


def prune_lowest(
    similar: Floats, share: float, population: Literal["all", "nonzero"], tie: float
) -> float:
    """Set the lowest share of a symmetric matrix to 0, in place, and return the threshold.

    The threshold is the quantile of the entries above the diagonal, zeros included unless the
    population is "nonzero". Ties and the diagonal are not pruned. A pair whose two entries are on
    different sides of the threshold, because of rounding errors, is not pruned either.
    """
    if share == 0:
        return 0.0
    values = upper_triangle(similar)
    if population == "nonzero":
        values = values[values > 0]
    if not len(values):
        return 0.0
    threshold = float(np.quantile(values, share, overwrite_input=True))
    diagonal = similar.diagonal().copy()
    low = similar < threshold - tie
    low &= low.T
    similar[low] = 0
    np.fill_diagonal(similar, diagonal)
    return threshold
