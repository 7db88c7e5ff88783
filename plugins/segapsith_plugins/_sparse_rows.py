"""Shared by similarities and clusterers: sparse rows in canonical form, products with little
memory.

Not a plugin. Only `times` changes an argument, `add_to`.
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
    "scaled_rows",
    "slices",
    "times",
    "unit_peaks",
    "unpacked",
    "vanished",
]

Floats: TypeAlias = NDArray[np.floating[Any]]
"""float64, or float32 if a measure uses single precision."""

Precision: TypeAlias = Literal["double", "single"]

PANEL = 64
"""Columns processed at a time: 64 columns of a few thousand rows fit into the second-level cache.
"""

_MIN_THREADED_PRODUCTS = 1 << 21
"""Multiplications below which threads cost more than they save."""

_DENSE_SHARE = 0.1
"""Share of non-zeros above which the dense product is faster."""

_ROUNDING_SHARE = 1e-10
"""A length below this share of what was subtracted or projected is a rounding error."""


def require(holds: bool, name: str, value: object, expected: str) -> None:
    """Raise a `ValueError` that names the setting, unless `holds`.

    >>> require(False, "rank", 0, ">= 1")
    Traceback (most recent call last):
    ValueError: rank=0 should be >= 1
    """
    if not holds:
        raise ValueError(f"{name}={value} should be {expected}")


def float_type(precision: Precision) -> type[np.floating[Any]]:
    """Return the NumPy type of a `precision` setting."""
    return np.float32 if precision == "single" else np.float64


def canonical(rows: Rows) -> Rows:
    """Return the rows as float64 CSR: columns in order, without duplicates or stored zeros."""
    clean = csr_array(rows, dtype=np.float64)
    if not clean.has_canonical_format or not clean.data.all():
        clean = clean.copy()  # the arrays may belong to the caller
        clean.sum_duplicates()
        clean.eliminate_zeros()
    return clean


def non_negative(rows: Rows, measure: str) -> Rows:
    """Return the canonical rows, or raise a `ValueError` if a value is below 0."""
    clean = canonical(rows)
    lowest = clean.data.min(initial=0.0)
    if lowest < 0:
        raise ValueError(f"{measure} needs rows >= 0, found {lowest}; clip them first")
    return clean


def fitted(rows: Rows, n_columns: int) -> Rows:
    """Return the rows with exactly `n_columns` columns: truncated, or with empty ones added."""
    if rows.shape[1] > n_columns:
        return rows[:, :n_columns]
    return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], n_columns))


def unit_peaks(rows: Rows) -> Rows:
    """Return each row divided by its largest absolute value.

    Then squares neither overflow nor vanish.
    """
    peaks = np.zeros(rows.shape[0])
    filled = np.diff(rows.indptr) > 0
    if filled.any():
        peaks[filled] = np.maximum.reduceat(np.abs(rows.data), rows.indptr[:-1][filled])
    data = rows.data / np.repeat(peaks, np.diff(rows.indptr))
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def scaled_rows(rows: Rows, factors: Floats) -> Rows:
    """Return each row times its factor."""
    data = rows.data * np.repeat(factors, np.diff(rows.indptr))
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def row_norms(rows: Rows) -> Matrix:
    """Return the Euclidean length of each row."""
    squares = csr_array((np.square(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    norms: Matrix = np.sqrt(squares.sum(axis=1))
    return norms


def same_rows(left: Rows, right: Rows) -> bool:
    """Return whether two canonical matrices have the same rows in the same order."""
    return left is right or (
        left.shape == right.shape
        and np.array_equal(left.indptr, right.indptr)
        and np.array_equal(left.indices, right.indices)
        and np.array_equal(left.data, right.data)
    )


def inverse(values: Floats) -> Floats:
    """Return 1 / value, and 0 for 0: a row without length has similarity 0 with every row."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def slices(n: int, width: int) -> Iterator[slice]:
    """Return slices of at most `width` that cover 0 … n.

    >>> list(slices(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + width, n)) for start in range(0, n, width))


def each_part(job: Callable[[slice], None], parts: list[slice], n_products: int) -> None:
    """Run the job on each part, in threads if that is faster; the parts are independent."""
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 8)
    if n_products < _MIN_THREADED_PRODUCTS or len(parts) < 2 or workers < 2:
        for part in parts:
            job(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(job, parts))


def times(sparse: Rows, dense: Floats, add_to: Floats | None = None) -> Floats:
    """Return the dense product of sparse rows and a dense matrix, added to `add_to` if given.

    The product is computed in panels of columns: a panel stays in the cache while the sparse rows
    are read, and SciPy releases the interpreter lock meanwhile. Each panel is computed separately,
    so the number of threads does not change the result. Rows with many non-zeros use the dense
    product.
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
    """Return the rows as they are, or dense if that multiplies faster."""
    n_entries = sparse.shape[0] * sparse.shape[1]
    full = n_entries > _MIN_THREADED_PRODUCTS // 8 and sparse.nnz > _DENSE_SHARE * n_entries
    return sparse.toarray() if full else sparse


def dense_product(left: Rows, right: Rows, dtype: type[np.floating[Any]] = np.float64) -> Floats:
    """Return left @ right.T as a dense matrix; only a few rows are sparse at a time."""
    out = np.zeros((left.shape[0], right.shape[0]), dtype)
    turned = right.T.tocsr()

    def stretch(part: slice) -> None:
        out[part] = (left[part] @ turned).toarray()

    each_part(stretch, list(slices(left.shape[0], 256)), left.shape[0] * right.shape[0])
    return out


def cosines(left: Floats, right: Floats) -> Matrix:
    """Return the cosine of each pair of dense rows, 0 for a zero row."""
    units = [rows * inverse(np.linalg.norm(rows, axis=1))[:, None] for rows in (left, right)]
    same = left is right
    result: Matrix = units[0] @ (units[0] if same else units[1]).T
    return np.clip(result, -1.0, 1.0, out=result)


def vanished(lengths: Floats, scale: Floats | float, precision: Precision = "double") -> Any:
    """Return which lengths are only a rounding error of something as long as `scale`."""
    return lengths <= (1e-4 if precision == "single" else _ROUNDING_SHARE) * np.asarray(scale)


def leading_vectors(
    operator: LinearOperator, rank: int, floor: float, side: Literal["left", "right"]
) -> Matrix:
    """Return the singular vectors of the `rank` largest singular values above `floor`, as columns.

    The sign is fixed: the component of largest size is positive. Small or nearly full problems are
    decomposed densely, others by Lanczos from a fixed start.
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
    """Return a sparse matrix as named arrays, for `state`."""
    return {
        f"{name}_data": rows.data,
        f"{name}_indices": rows.indices,
        f"{name}_indptr": rows.indptr,
        f"{name}_shape": np.array(rows.shape, dtype=np.int64),
    }


def unpacked(state: State | Mapping[str, NDArray[Any]], name: str) -> Rows:
    """Return the sparse matrix that `packed` wrote."""
    parts = (state[f"{name}_data"], state[f"{name}_indices"], state[f"{name}_indptr"])
    n_rows, n_columns = state[f"{name}_shape"]
    return csr_array(parts, shape=(int(n_rows), int(n_columns)))


@dataclass(frozen=True)
class Projection:
    """Rows minus a mean, times word vectors: a small space in which cosines are computed."""

    vectors: Matrix
    """Words × dimensions."""
    mean: Matrix
    """The row that is subtracted from each row; 0 if none is."""

    @classmethod
    def none(cls) -> Projection:
        """Return a projection before learning: every similarity is 0."""
        return cls(np.zeros((0, 0)), np.zeros(0))

    def factors(self, rows: Rows) -> Matrix:
        """Return the rows in the small space; rounding errors become 0."""
        inside = fitted(rows, len(self.vectors))
        factors: Matrix = inside @ self.vectors - self.mean @ self.vectors
        reach = (row_norms(inside) + np.linalg.norm(self.mean)) * np.linalg.norm(self.vectors)
        factors[vanished(np.linalg.norm(factors, axis=1), reach)] = 0
        return factors

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the cosine of each pair in the small space."""
        left, right = canonical(left), canonical(right)
        a = self.factors(left)
        return cosines(a, a if same_rows(left, right) else self.factors(right))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the vectors and the mean."""
        return {"vectors": self.vectors, "mean": self.mean}

    @classmethod
    def restored(cls, state: State) -> Projection:
        """Return the projection of a `state`."""
        return cls(np.asarray(state["vectors"]), np.asarray(state["mean"]))
