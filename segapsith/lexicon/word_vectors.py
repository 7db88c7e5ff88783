"""Words as points: words that occur in the same stories, or meet the same words, lie close together.

By stories it is latent semantic analysis of sequences of content words, by company a decomposition of
the mutual information of pairs. The axes are found by a block Krylov method
whose every sum has a fixed order (sparse products and compiled loops, no library that deals work
out to threads), and coordinates are rounded: the same stories give the same points on any machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.jit import kernel
from segapsith.lexicon.cooccurrence import Pairs, joined, words_of
from segapsith.lexicon.eigen import eigen

__all__ = ["GRAIN", "WordPoints", "both_spaces", "learn_company", "learn_points"]

GRAIN = 1024
"""Coordinates are multiples of one part in so many."""

_BLOCK = 8
_SPARE = 3
"""Columns of a block, and how many times the wanted axes are looked among."""

_PIECE, _COLUMNS = 512, 64
"""Coordinates of a sum of rows, and of products of rows, that are worked on at a time; the second
is a multiple of 4."""

_DUST = 1e-10
"""An axis with less than this share of the largest is none."""

Matrix = NDArray[np.float64]


class WordPoints(NamedTuple):
    """Numbers of words, ascending, and a row of length 1 (nearly, it is rounded) for each; in two
    spaces at once, what only one of them knows is shorter."""

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
    return WordPoints(known, _points(rows, rank))


_RARE = 20
"""Words that occur less often have met too few others to show their company."""

_FEWEST = 3
_PART = 1_000_000
"""Pairs that met less often, or less than once in so many words, say nothing; so their number is
bounded however long the stream."""


def learn_company(
    pairs: Iterable[Pairs], occurrences: NDArray[np.int64], *, rank: int = 100
) -> WordPoints:
    """Positive mutual information of the pairs of one language, decomposed (Levy & Goldberg 2014).

    X_xy = max(0, ln(f(x, y) N² / (T f(x) f(y)))), with f(x, y) how often a pair met, f(x) the
    occurrences of a word, N and T their sums; X = U S V'; a word is its row of V S^(1/2), scaled
    to length 1. Words that occur fewer than twenty times are left out, and pairs that met fewer
    than three times, or N/1,000,000 times.
    """
    n_words = int(occurrences.sum())
    least = max(_FEWEST, n_words // _PART)
    often = occurrences >= _RARE
    met, found = 0, [Pairs.none()]
    for keys, counts in pairs:
        met += int(counts.sum())
        one, other = words_of(keys)
        held = (counts >= least) & often[one] & often[other]
        found.append(Pairs(keys[held], counts[held]))
    keys, counts = joined(found)
    if not len(keys):
        return WordPoints(np.zeros(0, np.int32), np.zeros((0, 1), np.float32))
    one, other = words_of(keys)
    chance = occurrences[one] * (occurrences[other] / n_words) * (met / n_words)
    information = np.log(counts / chance)
    held = information > 0
    one, other, information = one[held], other[held], information[held]
    known = np.union1d(one, other)
    place = np.zeros(len(occurrences), np.int64)
    place[known] = np.arange(len(known))
    ways = np.append(place[one], place[other]), np.append(place[other], place[one])
    rows = csr_array((np.append(information, information), ways), shape=(len(known),) * 2)
    rows.sort_indices()
    rank = min(rank, len(known) // 4)
    if rank < 1:
        return WordPoints(np.zeros(0, np.int32), np.zeros((0, 1), np.float32))
    return WordPoints(known.astype(np.int32), _points(rows, rank))


def both_spaces(spaces: Sequence[WordPoints]) -> WordPoints:
    """Words as points in several spaces at once, which count equally.

    The axes stand beside each other, each space divided by the root of their number: a word that
    all know has length 1, and one that some do not is shorter.
    """
    if len(spaces) == 1:
        return spaces[0]
    known = np.unique(np.concatenate([space.words for space in spaces]))
    vectors = np.zeros((len(known), sum(space.vectors.shape[1] for space in spaces)), np.float32)
    first = 0
    for words, points in spaces:
        last = first + points.shape[1]
        shorter = np.rint(points * (GRAIN / np.sqrt(len(spaces)))) / GRAIN
        vectors[np.searchsorted(known, words), first:last] = shorter
        first = last
    return WordPoints(known, vectors)


def _points(rows: Rows, rank: int) -> NDArray[np.float32]:
    """The columns of a matrix as points of length 1 on its largest axes."""
    sizes, axes = _axes(rows, rank)
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(len(axes)), largest])
    points = np.ascontiguousarray((axes * (signs * np.sqrt(sizes))[:, None]).T)
    lengths = np.sqrt(np.maximum((points * points).cumsum(axis=1)[:, -1], 1e-24))
    rounded = np.rint(points / lengths[:, None] * GRAIN) / GRAIN
    vectors: NDArray[np.float32] = rounded.astype(np.float32)
    return vectors


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
    """The largest singular values, falling, and their right singular vectors as rows.

    Block Krylov: each block is the one before times X'X, made orthogonal to all; within the space
    of the blocks the axes are exact.
    """
    turned = csr_array(rows.T)
    most = min(*rows.shape, _SPARE * rank + 4 * _BLOCK)
    start = np.random.default_rng(0).standard_normal((rows.shape[1], min(_BLOCK, most)))
    block = _orthonormal(np.ascontiguousarray(start.T))
    space = np.empty((most + _BLOCK, rows.shape[1]))
    size = 0
    while len(block):
        space[size : size + len(block)] = block
        size += len(block)
        basis = space[:size]
        if size >= most:
            break
        block = np.ascontiguousarray((turned @ (rows @ np.ascontiguousarray(block.T))).T)
        for _ in range(2):  # once more takes away what rounding left
            block = block - _combined(_products(block, basis), basis)
        block = _orthonormal(block)
    image = np.ascontiguousarray((rows @ np.ascontiguousarray(basis.T)).T)
    values, turns = eigen(_products(image, image))
    held = values[:rank] > _DUST * max(values.max(initial=0.0), 1e-300)
    return np.sqrt(values[:rank][held]), _combined(turns[:rank][held], basis)


def _orthonormal(block: Matrix) -> Matrix:
    """Rows of length 1 at right angles, for the same space; what is dust falls away."""
    held = block
    for _ in range(2):
        values, turns = eigen(_products(held, held))
        real = values > _DUST * max(values.max(initial=0.0), 1e-9)
        held = _combined(turns[real] / np.sqrt(values[real])[:, None], held)
    return held


@kernel
def _products(a: Matrix, b: Matrix) -> Matrix:
    """a b', each sum in the order of the columns: what every row of the one has in common with
    every row of the other. Some columns of b at a time are turned, so that inner loops go along
    rows, and four of them are added in one go."""
    n, width = a.shape[1], len(b)
    out = np.zeros((len(a), width))
    turned = np.zeros((_COLUMNS, width))
    for first in range(0, n, _COLUMNS):
        size = min(n - first, _COLUMNS)
        for j in range(width):
            for k in range(size):
                turned[k, j] = b[j, first + k]
        turned[size:] = 0.0  # the last ones may be fewer
        for i in range(len(a)):
            sums = out[i]
            for k in range(0, size, 4):
                u, v, w, x = turned[k], turned[k + 1], turned[k + 2], turned[k + 3]
                p, q, r, s = a[i, first + k], 0.0, 0.0, 0.0
                if k + 1 < size:
                    q = a[i, first + k + 1]
                if k + 2 < size:
                    r = a[i, first + k + 2]
                if k + 3 < size:
                    s = a[i, first + k + 3]
                for j in range(width):
                    sums[j] = (((sums[j] + p * u[j]) + q * v[j]) + r * w[j]) + s * x[j]
    return out


@kernel
def _combined(factors: Matrix, basis: Matrix) -> Matrix:
    """factors basis, each sum in the order of the rows of the basis; piece by piece, so that what
    is summed up stays at hand."""
    n = basis.shape[1]
    out = np.zeros((len(factors), n))
    for first in range(0, n, _PIECE):
        last = min(n, first + _PIECE)
        for j in range(len(basis)):
            row = basis[j, first:last]
            for i in range(len(factors)):
                factor = factors[i, j]
                sums = out[i, first:last]
                for k in range(last - first):
                    sums[k] += factor * row[k]
    return out
