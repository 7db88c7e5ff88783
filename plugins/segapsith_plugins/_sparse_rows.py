"""What the families of measures share: sparse rows made fit, and products that stay small.

Not a plugin. Nothing here changes what it is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = [
    "PANEL",
    "Floats",
    "Precision",
    "Projection",
    "canonical",
    "cosines",
    "dense_if_full",
    "dense_product",
    "each_part",
    "fitted",
    "float_type",
    "inverse",
    "leading_vectors",
    "non_negative",
    "packed",
    "require",
    "row_norms",
    "same_rows",
    "slices",
    "times",
    "unit_peaks",
    "unpacked",
    "vanished",
]

Floats: TypeAlias = NDArray[np.floating[Any]]
"""float64, or float32 where a measure stores single precision."""

Precision: TypeAlias = Literal["double", "single"]

PANEL = 64
"""Columns taken at a time: 64 columns of a few thousand rows lie in the second-level cache."""

_SMALL = 1 << 21
"""Multiplications below which threads cost more than they save."""

_DENSE = 0.1
"""Share of non-zeros above which the dense product is the faster one."""

_VANISHED = 1e-10
"""A length below this share of what was subtracted or projected is rounding, not a direction."""


def require(holds: bool, name: str, value: object, wanted: str) -> None:
    """A `ValueError` that names the setting, unless it holds.

    >>> require(False, "rank", 0, ">= 1")
    Traceback (most recent call last):
    ValueError: rank=0 should be >= 1
    """
    if not holds:
        raise ValueError(f"{name}={value} should be {wanted}")


def float_type(precision: Precision) -> type[np.floating[Any]]:
    """The NumPy type behind a `precision` setting."""
    return np.float32 if precision == "single" else np.float64


def canonical(rows: Rows) -> Rows:
    """The same rows as float64 CSR: columns in order, none twice, no stored zero."""
    clean = csr_array(rows, dtype=np.float64)
    if not clean.has_canonical_format or not clean.data.all():
        clean = clean.copy()  # the arrays may be the caller's
        clean.sum_duplicates()
        clean.eliminate_zeros()
    return clean


def non_negative(rows: Rows, measure: str) -> Rows:
    """The canonical rows, if no value is below 0; a `ValueError` otherwise."""
    clean = canonical(rows)
    lowest = clean.data.min(initial=0.0)
    if lowest < 0:
        raise ValueError(f"{measure} needs rows >= 0, found {lowest}; clip them first")
    return clean


def fitted(rows: Rows, n_columns: int) -> Rows:
    """The rows with exactly `n_columns` columns: later ones are cut off, missing ones are empty."""
    if rows.shape[1] > n_columns:
        return rows[:, :n_columns]
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_columns))


def unit_peaks(rows: Rows) -> Rows:
    """Each row divided by its largest absolute value, so that squares neither overflow nor vanish."""
    peaks = np.zeros(rows.shape[0])
    filled = np.diff(rows.indptr) > 0
    if filled.any():
        peaks[filled] = np.maximum.reduceat(np.abs(rows.data), rows.indptr[:-1][filled])
    data = rows.data / np.repeat(peaks, np.diff(rows.indptr))
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def row_norms(rows: Rows) -> Matrix:
    """The Euclidean length of each row."""
    squares = csr_array((np.square(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    norms: Matrix = np.sqrt(squares.sum(axis=1))
    return norms


def same_rows(left: Rows, right: Rows) -> bool:
    """Whether two canonical matrices hold the same rows in the same order."""
    return left is right or (
        left.shape == right.shape
        and np.array_equal(left.indptr, right.indptr)
        and np.array_equal(left.indices, right.indices)
        and np.array_equal(left.data, right.data)
    )


def inverse(values: Floats) -> Floats:
    """1 / value, and 0 for 0: what has no length is like nothing."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def slices(n: int, width: int) -> Iterator[slice]:
    """0 … n in stretches of at most `width`.

    >>> list(slices(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + width, n)) for start in range(0, n, width))


def each_part(job: Callable[[slice], None], parts: list[slice], n_products: int) -> None:
    """Runs the job on each part, in threads where it pays; the parts never touch each other."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 8)
    if n_products < _SMALL or len(parts) < 2 or workers < 2:
        for part in parts:
            job(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(job, parts))


def times(sparse: Rows, dense: Floats, add_to: Floats | None = None) -> Floats:
    """The dense product of sparse rows with a dense matrix, added to `add_to` if that is given.

    Taken in panels of columns: each panel stays in the cache while the sparse rows walk
    over it, and SciPy lets the others run meanwhile. Every panel is computed alone, so the
    number of threads does not change the result. Rows that are not really sparse go the
    dense way.
    """
    n_columns = dense.shape[1]
    out = np.empty((sparse.shape[0], n_columns), dense.dtype) if add_to is None else add_to
    factor = dense_if_full(sparse)

    def panel(part: slice) -> None:
        product = factor @ np.ascontiguousarray(dense[:, part])
        out[:, part] = product if add_to is None else out[:, part] + product

    width = PANEL if factor is sparse else n_columns
    each_part(panel, list(slices(n_columns, max(width, 1))), sparse.nnz * n_columns)
    return out


def dense_if_full(sparse: Rows) -> Rows | Floats:
    """The rows as they are, or dense where that multiplies faster."""
    n_entries = sparse.shape[0] * sparse.shape[1]
    full = n_entries > _SMALL // 8 and sparse.nnz > _DENSE * n_entries
    return sparse.toarray() if full else sparse


def dense_product(left: Rows, right: Rows, dtype: type[np.floating[Any]] = np.float64) -> Floats:
    """left @ right.T as a dense matrix; what is sparse of it exists for a few rows at a time."""
    out = np.zeros((left.shape[0], right.shape[0]), dtype)
    turned = right.T.tocsr()

    def stretch(part: slice) -> None:
        out[part] = (left[part] @ turned).toarray()

    each_part(stretch, list(slices(left.shape[0], 256)), left.shape[0] * right.shape[0])
    return out


def cosines(left: Floats, right: Floats) -> Matrix:
    """The cosine of each pair of dense rows; a zero row is like nothing."""
    units = [rows * inverse(np.linalg.norm(rows, axis=1))[:, None] for rows in (left, right)]
    same = left is right
    result: Matrix = units[0] @ (units[0] if same else units[1]).T
    return np.clip(result, -1.0, 1.0, out=result)


def vanished(lengths: Floats, scale: Floats | float, precision: Precision = "double") -> Any:
    """Which lengths are rounding of something as long as `scale`."""
    return lengths <= (1e-4 if precision == "single" else _VANISHED) * np.asarray(scale)


def leading_vectors(
    operator: LinearOperator, rank: int, floor: float, side: Literal["left", "right"]
) -> Matrix:
    """The singular vectors of the `rank` largest singular values above `floor`, as columns.

    The sign is fixed: the component of largest size is positive. Small or nearly full
    problems are decomposed densely, others by Lanczos from a fixed start.
    """
    shape = operator.shape
    if min(shape) == 0:
        return np.zeros((shape[0] if side == "left" else shape[1], 0))
    if min(shape) <= 400 or rank >= min(shape) - 1:
        dense = operator.matmat(np.eye(shape[1])) if shape[1] <= shape[0] else None
        if dense is None:
            dense = operator.rmatmat(np.eye(shape[0])).T
        left, values, right = np.linalg.svd(dense, full_matrices=False)
    else:
        from scipy.sparse.linalg import svds  # slow to import, and seldom needed

        start = np.random.default_rng(0).standard_normal(min(shape))
        left, values, right = svds(operator, k=rank, v0=start, solver="arpack")
    order = np.argsort(-values, kind="stable")[:rank]
    order = order[values[order] > floor]
    vectors: Matrix = left[:, order] if side == "left" else right[order].T
    if not vectors.size:
        return vectors
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    signed: Matrix = vectors * np.sign(peaks)
    return signed


def packed(rows: Rows, name: str) -> dict[str, NDArray[Any]]:
    """A sparse matrix as named arrays, for `state`."""
    return {
        f"{name}_data": rows.data,
        f"{name}_indices": rows.indices,
        f"{name}_indptr": rows.indptr,
        f"{name}_shape": np.array(rows.shape, dtype=np.int64),
    }


def unpacked(state: State | Mapping[str, NDArray[Any]], name: str) -> Rows:
    """The sparse matrix that `packed` laid down."""
    parts = (state[f"{name}_data"], state[f"{name}_indices"], state[f"{name}_indptr"])
    n_rows, n_columns = state[f"{name}_shape"]
    return csr_array(parts, shape=(int(n_rows), int(n_columns)))


@dataclass(frozen=True)
class Projection:
    """Rows minus a mean, times word vectors: a small space in which cosines are taken."""

    vectors: Matrix
    """Words × dimensions."""
    mean: Matrix
    """What is subtracted from each row; 0 where nothing is."""

    @classmethod
    def none(cls) -> Projection:
        """Nothing learned: every row is like nothing."""
        return cls(np.zeros((0, 0)), np.zeros(0))

    def factors(self, rows: Rows) -> Matrix:
        """The rows in the small space; what is only rounding there is 0."""
        inside = fitted(rows, len(self.vectors))
        factors: Matrix = inside @ self.vectors - self.mean @ self.vectors
        reach = (row_norms(inside) + np.linalg.norm(self.mean)) * np.linalg.norm(self.vectors)
        factors[vanished(np.linalg.norm(factors, axis=1), reach)] = 0
        return factors

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """The cosine of each pair there."""
        left, right = canonical(left), canonical(right)
        a = self.factors(left)
        return cosines(a, a if same_rows(left, right) else self.factors(right))

    def state(self) -> dict[str, NDArray[Any]]:
        """The vectors and the mean."""
        return {"vectors": self.vectors, "mean": self.mean}

    @classmethod
    def restored(cls, state: State) -> Projection:
        """What `state` laid down."""
        return cls(np.asarray(state["vectors"]), np.asarray(state["mean"]))
