"""Shared by the clusterers: rows without empty ones, labels in order, similarities by blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Matrix, Rows
from segapsith.jit import kernel

__all__ = [
    "DISTANCES",
    "blocks",
    "canonical",
    "check_choice",
    "check_whole",
    "cosine",
    "far_apart",
    "filled_rows",
    "in_order",
    "joined",
    "membership",
    "needs_counts",
    "numbered_merges",
    "similarity_blocks",
    "spread",
    "unit_rows",
    "used_columns",
]

BLOCK = 2**23
"""Similarities in memory at once while a matrix is filled: 64 MB."""


def check_whole(name: str, value: int, least: int) -> None:
    """Raise a `ValueError` if a setting is not a whole number of at least `least`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole:
        raise ValueError(f"{name}={value!r} should be a whole number")
    if value < least:
        raise ValueError(f"{name}={value} should be >= {least}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise a `ValueError` if a setting is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} should be one of {', '.join(choices)}")


def canonical(rows: Rows) -> Rows:
    """Return a copy of the rows as double-precision CSR, sorted, without explicit zeros."""
    copy = csr_array(rows, dtype=np.float64, copy=True)
    copy.sum_duplicates()
    copy.eliminate_zeros()
    if not np.isfinite(copy.data).all():
        raise ValueError("rows should contain only finite numbers")
    return copy


def filled_rows(rows: Rows) -> tuple[Rows, NDArray[np.int64]]:
    """Return the rows that are not empty, in canonical form, and their positions."""
    clean = canonical(rows)
    where = np.flatnonzero(np.diff(clean.indptr)).astype(np.int64)
    return (clean if len(where) == clean.shape[0] else clean[where]), where


def in_order(labels: NDArray[np.integer]) -> Labels:
    """Return the labels renumbered by first appearance, without gaps; negative ones stay -1.

    >>> in_order(np.array([7, -1, 2, 7, 0])).tolist()
    [0, -1, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    is_group = np.asarray(labels)[first] >= 0
    rank = np.full(len(first), -1, dtype=np.int64)
    rank[is_group] = np.argsort(np.argsort(first[is_group], kind="stable"), kind="stable")
    ordered: Labels = rank[inverse]
    return ordered


def spread(labels: NDArray[np.integer], where: NDArray[np.int64], n_rows: int) -> Labels:
    """Return the labels of the filled rows at their positions among all rows, -1 for empty rows."""
    full = np.full(n_rows, -1, dtype=np.int64)
    full[where] = labels
    return in_order(full)


def unit_rows(rows: Rows) -> Rows:
    """Return each row divided by its Euclidean length; an empty row stays empty."""
    clean = canonical(rows)
    peaks = np.ones(clean.shape[0])
    counts = np.diff(clean.indptr)
    full = np.flatnonzero(counts)
    if len(full):
        # divide by the largest entry first, so that squares neither vanish nor overflow
        peaks[full] = np.maximum.reduceat(np.abs(clean.data), clean.indptr[full])
    clean.data /= np.repeat(peaks, counts)
    lengths = np.sqrt(np.asarray(clean.multiply(clean).sum(axis=1)).ravel())
    clean.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), counts)
    return clean


def used_columns(rows: Rows) -> Rows:
    """Return the rows without empty columns; the values are shared with `rows`."""
    used = np.bincount(rows.indices, minlength=rows.shape[1]) > 0
    renumbered = np.cumsum(used) - 1
    shape = (rows.shape[0], int(used.sum()))
    return csr_array((rows.data, renumbered[rows.indices], rows.indptr), shape=shape)


def cosine(left: Rows, right: Rows) -> Matrix:
    """Return the cosines of rows, 0 for an empty row."""
    product: Matrix = (unit_rows(left) @ unit_rows(right).T).toarray()
    return np.clip(product, -1.0, 1.0)


def needs_counts(rows: Rows, clusterer: str) -> None:
    """Raise a `ValueError` if a value of the rows is below 0."""
    lowest = rows.data.min(initial=0.0)
    if lowest < 0:
        raise ValueError(f"{clusterer} needs rows >= 0, found {lowest}; clip them first")


def membership(labels: NDArray[np.integer], k: int) -> Rows:
    """Return groups × items, 1 where an item is in a group; negative labels are in none.

    >>> membership(np.array([1, 0, -1]), 2).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    members = np.flatnonzero(np.asarray(labels) >= 0)
    return csr_array((np.ones(len(members)), (labels[members], members)), shape=(k, len(labels)))


def far_apart(units: Rows, k: int, rng: np.random.Generator) -> Labels:
    """Return the labels of rows by the nearest of at most k rows that are far apart.

    The k rows are drawn with probabilities by their distance to those drawn before.
    """
    n = units.shape[0]
    labels = np.zeros(n, dtype=np.int64)
    nearest = np.full(n, -np.inf)
    drawn = int(rng.integers(n)) if n else 0
    for group in range(k if n else 0):
        centre = units[drawn : drawn + 1].toarray().ravel()
        cosines = units @ centre
        cosines[drawn] = 1.0
        labels[cosines > nearest] = group
        nearest = np.maximum(nearest, cosines)
        chances = np.maximum(1.0 - nearest, 0.0).cumsum()
        if chances[-1] <= n * 1e-12:
            break  # every row equals one that was drawn
        drawn = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
        drawn = min(drawn, n - 1)
    return labels


def blocks(n_rows: int, width: int, budget: int = BLOCK) -> Iterator[slice]:
    """Yield slices of rows such that a block of this width stays within the budget.

    >>> list(blocks(5, 10, budget=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def similarity_blocks(
    rows: Rows, where: NDArray[np.int64], compare: Compare | None, *, budget: int = BLOCK
) -> Iterator[tuple[int, Matrix]]:
    """Yield the first row of each block, and its similarities with that and all later rows.

    The half below the diagonal is not computed, since similarities are symmetric. If all rows are
    used, `compare` receives `rows` itself. None means cosine.
    """
    if compare is None:
        compare = cosine
        rows = unit_rows(rows)
    used = rows if len(where) == rows.shape[0] else csr_array(rows)[where]
    for block in blocks(len(where), len(where), budget):
        whole = block == slice(0, len(where))
        left = used if whole else used[block.start : block.stop]
        right = used if block.start == 0 else used[block.start :]
        similar = np.asarray(compare(left, right), dtype=np.float64)
        if similar.shape != (left.shape[0], right.shape[0]):
            raise ValueError(
                f"compare returned shape {similar.shape}, expected {(left.shape[0], right.shape[0])}"
            )
        if not np.isfinite(similar).all():
            raise ValueError("compare returned a similarity that is not finite")
        yield block.start, similar


def _one_minus(similarities: Matrix) -> Matrix:
    return np.maximum(1.0 - similarities, 0.0)


def _euclidean(similarities: Matrix) -> Matrix:
    return np.sqrt(2.0 * _one_minus(similarities))


DISTANCES: dict[str, Callable[[Matrix], Matrix]] = {
    "one-minus": _one_minus,
    "euclidean": _euclidean,
}
"""From similarities to distances: 1 - s, or sqrt(2 (1 - s)), which is the Euclidean distance
of unit vectors when the similarities are their products. Above 1, s counts as 1."""


@kernel
def joined(left: NDArray[np.int64], right: NDArray[np.int64], n_items: int) -> NDArray[np.int64]:
    """Return the groups after joining item left[m] with item right[m] for all m."""
    parent = np.arange(n_items)
    for m in range(len(left)):
        a, b = left[m], right[m]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for i in range(n_items):  # parents come before their children, so one pass is enough
        parent[i] = parent[parent[i]]
    return parent


@kernel
def numbered_merges(
    left: NDArray[np.int64], right: NDArray[np.int64], heights: Matrix, n: int
) -> Matrix:
    """Return merges of items as merges of nodes, numbered n, n + 1, … as in SciPy."""
    tree = np.empty((n - 1, 4))
    parent = np.arange(2 * n - 1)
    sizes = np.ones(2 * n - 1)
    for m in range(n - 1):
        a, b = left[m], right[m]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[a] = parent[b] = n + m
        sizes[n + m] = sizes[a] + sizes[b]
        tree[m, 0], tree[m, 1] = min(a, b), max(a, b)
        tree[m, 2], tree[m, 3] = heights[m], sizes[n + m]
    return tree
