"""Words as points: latent semantic analysis of sequences of content words.

Words that occur in the same stories lie close together. The axes are found by a block Krylov method
whose every sum has a fixed order (sparse products and compiled loops, no library that deals work
out to threads), and coordinates are rounded: the same stories give the same points on any machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.jit import kernel

__all__ = ["GRAIN", "WordPoints", "learn_points"]

GRAIN = 1024
"""Coordinates are multiples of one part in so many."""

_BLOCK = 8
_SPARE = 3
"""Columns of a block, and how many times the wanted axes are looked among."""

_DUST = 1e-10
"""An axis with less than this share of the largest is none."""

Matrix = NDArray[np.float64]


class WordPoints(NamedTuple):
    """Numbers of words, ascending, and a row of length 1 (nearly, it is rounded) for each."""

    words: NDArray[np.int32]
    vectors: NDArray[np.float32]


def learn_points(
    words: NDArray[np.int32],
    ends: NDArray[np.int64],
    *,
    rank: int = 200,
    min_documents: int = 3,
    max_share: float = 0.2,
) -> WordPoints:
    """Latent semantic analysis of documents, given end to end (Deerwester et al. 1990).

    Rows x_dw = (1 + ln tf) ln(N / df), each of length 1; X = U S V'; a word is its row of
    V S^(1/2), scaled to length 1. The rank is at most a quarter of the number of documents:
    beyond that the axes of a small corpus are its single documents. Words in fewer than
    `min_documents` documents, or in more than `max_share` of them, are left out. The largest
    entry of every axis is positive.
    """
    known, rows = _rows(words, ends, min_documents, max_share)
    rank = min(rank, len(ends) // 4, len(known) - 1)
    if rank < 1 or not rows.data.any():  # too little to learn from
        return WordPoints(np.zeros(0, np.int32), np.zeros((0, 1), np.float32))
    sizes, axes = _axes(rows, rank)
    largest = np.abs(axes).argmax(axis=0)
    signs = np.sign(axes[largest, np.arange(axes.shape[1])])
    points = axes * (signs * np.sqrt(sizes))
    lengths = np.sqrt(np.maximum((points * points).cumsum(axis=1)[:, -1], 1e-24))
    rounded = np.rint(points / lengths[:, None] * GRAIN) / GRAIN
    return WordPoints(known, rounded.astype(np.float32))


def _rows(
    words: NDArray[np.int32], ends: NDArray[np.int64], min_documents: int, max_share: float
) -> tuple[NDArray[np.int32], Rows]:
    """The words that are neither too rare nor too common, and the weighted rows of documents."""
    n_documents = len(ends)
    distinct, columns = np.unique(words, return_inverse=True)
    rows = csr_array(
        (np.ones(len(words)), columns.ravel().astype(np.int64), np.append(0, ends)),
        shape=(n_documents, len(distinct)),
    )
    rows.sum_duplicates()
    spread = np.bincount(rows.indices, minlength=len(distinct))
    known = np.flatnonzero((spread >= min_documents) & (spread <= max_share * n_documents))
    rows = csr_array(rows[:, known])
    rows.sort_indices()
    rarity = np.log(n_documents / spread[known])
    rows.data = (1 + np.log(rows.data)) * rarity[rows.indices]
    squares = np.append(0.0, np.cumsum(rows.data * rows.data))
    lengths = np.sqrt(np.maximum(np.diff(squares[rows.indptr]), 1e-24))
    rows.data = rows.data / np.repeat(lengths, np.diff(rows.indptr))
    return distinct[known].astype(np.int32), rows


def _axes(rows: Rows, rank: int) -> tuple[Matrix, Matrix]:
    """The largest singular values, falling, and their right singular vectors as columns.

    Block Krylov: each block is the one before times X'X, made orthogonal to all; within the space
    of the blocks the axes are exact.
    """
    turned = csr_array(rows.T)
    most = min(*rows.shape, _SPARE * rank + 4 * _BLOCK)
    start = np.random.default_rng(0).standard_normal((rows.shape[1], min(_BLOCK, most)))
    basis = block = _orthonormal(start)
    while basis.shape[1] < most and block.shape[1]:
        block = np.ascontiguousarray(turned @ (rows @ block))
        for _ in range(2):  # once more takes away what rounding left
            block = block - _times(basis, _across(basis, block))
        block = _orthonormal(block)
        basis = np.ascontiguousarray(np.hstack([basis, block]))
    image = np.ascontiguousarray(rows @ basis)
    values, turns = _eigen(_across(image, image))
    order = np.argsort(-values, kind="stable")[:rank]
    order = order[values[order] > _DUST * max(values.max(initial=0.0), 1e-300)]
    return np.sqrt(values[order]), _times(basis, np.ascontiguousarray(turns[:, order]))


def _orthonormal(block: Matrix) -> Matrix:
    """Columns of length 1 at right angles, for the same space; what is dust falls away."""
    held = block
    for _ in range(2):
        values, turns = _eigen(_across(held, held))
        real = values > _DUST * max(values.max(initial=0.0), 1e-9)
        held = _times(held, np.ascontiguousarray(turns[:, real] / np.sqrt(values[real])))
    return held


@kernel
def _across(a: Matrix, b: Matrix) -> Matrix:
    """a' b, each sum in the order of the rows."""
    n, height = a.shape
    width = b.shape[1]
    out = np.zeros((height, width))
    for i in range(n):
        for j in range(height):
            value = a[i, j]
            for k in range(width):
                out[j, k] += value * b[i, k]
    return out


@kernel
def _times(a: Matrix, b: Matrix) -> Matrix:
    """a b, each sum in the order of the inner index."""
    n, inner = a.shape
    width = b.shape[1]
    out = np.zeros((n, width))
    for i in range(n):
        for j in range(inner):
            value = a[i, j]
            for k in range(width):
                out[i, k] += value * b[j, k]
    return out


@kernel
def _eigen(given: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix, by Jacobi's rotations."""
    a = given.copy()
    n = len(a)
    turns = np.eye(n)  # rows are the vectors while they turn: they lie in one piece
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += a[i, j] * a[i, j]
    for _ in range(30):
        off = 0.0
        for i in range(n):
            for j in range(i):
                off += a[i, j] * a[i, j]
        if off <= 1e-26 * total:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] * a[p, q] <= 1e-30 * total / (n * n):
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                t = 1 / (abs(theta) + np.sqrt(theta * theta + 1))
                if theta < 0:
                    t = -t
                c = 1 / np.sqrt(t * t + 1)
                s = t * c
                for k in range(n):
                    x, y = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * x - s * y, s * x + c * y
                for k in range(n):
                    x, y = turns[p, k], turns[q, k]
                    turns[p, k], turns[q, k] = c * x - s * y, s * x + c * y
    values = np.empty(n)
    for i in range(n):
        values[i] = max(a[i, i], 0.0)
    return values, turns.T.copy()
