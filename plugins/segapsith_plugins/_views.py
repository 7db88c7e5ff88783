"""Rows in several views: a mapping of view name to matrix, or one matrix divided by columns.

Not a plugin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Rows, Views
from segapsith_plugins._sparse_rows import canonical, inverse, leading_vectors

__all__ = ["Blocks", "Cut", "column_blocks", "named_views", "read_blocks"]

Blocks: TypeAlias = Literal["random", "clusters"]

Cut: TypeAlias = int | Sequence[Sequence[int]]
"""How one matrix is divided: into a number of blocks of columns, or into these lists of columns."""


def named_views(given: Views, owner: str) -> dict[str, Rows]:
    """Return the views of a mapping in canonical form, in its order.

    `owner` is named in the error if there are none.
    """
    if not given:
        raise ValueError(f"{owner} received no view; expected a mapping of view name to matrix")
    return {str(name): canonical(rows) for name, rows in given.items()}


def read_blocks(cut: Cut) -> int | list[NDArray[np.intp]]:
    """Return the setting `views` after checks: a number of blocks, or the columns of each."""
    if isinstance(cut, int) and not isinstance(cut, bool):
        if cut < 1:
            raise ValueError(f"views={cut} should be >= 1")
        return cut
    lists = [] if isinstance(cut, int | str) else list(cut)
    blocks = [np.asarray(block, dtype=np.intp) for block in lists]
    every = np.concatenate([np.zeros(0, dtype=np.intp), *blocks])
    if not blocks or any(len(block) == 0 for block in blocks):
        raise ValueError(f"views={cut!r} should be a number of blocks, or lists of columns")
    if every.min() < 0 or len(np.unique(every)) != len(every):
        raise ValueError("views should name each column once; the first column is 0")
    return blocks


def column_blocks(
    rows: Rows, cut: int | list[NDArray[np.intp]], how: Blocks, seed: int | None
) -> list[NDArray[np.intp]]:
    """Return the columns of each block, in order; never more blocks than columns.

    `random` distributes the columns at random. `clusters` puts columns together that occur in the
    same rows: the columns are halved repeatedly along the second singular vector of the matrix
    scaled by its row and column sums (Dhillon 2001), so that the blocks have equal size.
    """
    n_columns = rows.shape[1]
    if not isinstance(cut, int):
        last = max(int(block.max()) for block in cut)
        if last >= n_columns:
            raise ValueError(f"views name column {last}, but there are {n_columns}")
        named = np.zeros(n_columns, dtype=np.bool_)
        named[np.concatenate(cut)] = True
        lacking = np.flatnonzero(~named & (np.bincount(rows.indices, minlength=n_columns) > 0))
        if len(lacking):
            raise ValueError(f"views leave out column {lacking[0]}, which is not empty")
        return [np.sort(block) for block in cut]
    n_blocks = max(1, min(cut, n_columns))
    everything = np.arange(n_columns)
    if n_blocks == 1:
        return [everything]
    if how == "random":
        dealt = np.random.default_rng(seed).permutation(n_columns)
        return [np.sort(part) for part in np.array_split(dealt, n_blocks)]
    return [np.sort(part) for part in _halved(rows.tocsc(), everything, n_blocks)]


def _halved(columns: Rows, which: NDArray[np.intp], n_blocks: int) -> list[NDArray[np.intp]]:
    if n_blocks == 1:
        return [which]
    left = n_blocks // 2
    order = which[np.argsort(_position(columns[:, which].tocsr()), kind="stable")]
    middle = round(len(order) * left / n_blocks)
    return [
        *_halved(columns, order[:middle], left),
        *_halved(columns, order[middle:], n_blocks - left),
    ]


def _position(rows: Rows) -> NDArray[np.float64]:
    """Return the position of each column along the second singular vector, 0 if there is none."""
    sizes = np.abs(rows)
    by_row = np.sqrt(inverse(np.asarray(sizes.sum(axis=1)).ravel()))
    by_column = np.sqrt(inverse(np.asarray(sizes.sum(axis=0)).ravel()))
    scaled = csr_array(sizes.multiply(by_row[:, None]).multiply(by_column[None, :]))
    from scipy.sparse.linalg import aslinearoperator  # slow to import, and seldom needed

    vectors = leading_vectors(aslinearoperator(scaled), 2, 1e-10, "right")
    if vectors.shape[1] < 2:
        return np.zeros(rows.shape[1])
    position: NDArray[np.float64] = vectors[:, 1] * by_column
    return position
