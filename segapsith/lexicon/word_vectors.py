"""Word vectors: words of the same stories, or with the same co-occurring words, are close.

From stories they are latent semantic analysis, from pairs a decomposition of mutual information; see
docs/concepts/formulas.md, "Word vectors". The axes are computed by a block Krylov method in which
every sum has a fixed order (sparse products and compiled loops, no threads), and coordinates are
rounded. The same stories give the same vectors on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel, parallel_lanes
from segapsith.lexicon.cooccurrence import Pairs, joined, words_of
from segapsith.lexicon.eigen import eigen

__all__ = ["GRAIN", "WordPoints", "both_spaces", "learn_pair_points", "learn_points"]

GRAIN = 1024
"""Coordinates are multiples of 1 / `GRAIN`."""

_BLOCK_COLUMNS = 8
_SPACE_PER_AXIS = 3
"""The Krylov space has this many dimensions per requested axis."""

_SUM_COLUMNS = 512
"""Columns that `_combined`, `_products` and `_points` process at a time."""

_EIGENVALUE_TOLERANCE = 1e-10
"""An axis with a smaller share of the largest eigenvalue is dropped."""

Matrix = NDArray[np.float64]
Eight: TypeAlias = tuple[float, float, float, float, float, float, float, float]
"""One number for each column of a block."""


class WordPoints(NamedTuple):
    """Word numbers, ascending, and a vector for each, of length 1 before rounding.

    In a combination of spaces, a word that is in one of them only has a shorter vector.
    """

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
    """Return word vectors by latent semantic analysis of documents (Deerwester et al. 1990).

    The documents are concatenated. Rows x_dw = (1 + ln tf) ln(N / df), each of length 1; X = U S V';
    a word is its row of V S^(1/2), scaled to length 1. The rank is at most a quarter of the number of
    documents, because further axes of a small corpus are single documents. Words in fewer than
    `min_documents` documents, or in more than `max_share` of them, are left out. The largest entry
    of every axis is positive.
    """
    used, rows = _rows(words, ends, min_documents, max_share)
    rank = min(rank, len(ends) // 4, len(used) - 1)
    if rank < 1 or not rows.values.any():  # too little to learn from
        return _no_points()
    return WordPoints(used, _points(rows, rank))


def _no_points() -> WordPoints:
    return WordPoints(np.zeros(0, np.int32), np.zeros((0, 1), np.float32))


_MIN_OCCURRENCES = 20
"""Words that occur less often have too few co-occurring words."""

_MIN_PAIR_COUNT = 3
_WORDS_PER_PAIR_COUNT = 1_000_000
"""Pairs need at least 3 co-occurrences and one per million words of the stream, so that the number
of pairs stays bounded."""


def learn_pair_points(
    pairs: Iterable[Pairs], occurrences: NDArray[np.int64], *, rank: int = 100
) -> WordPoints:
    """Return word vectors from positive mutual information of pairs (Levy & Goldberg 2014).

    X_xy = max(0, ln(f(x, y) N² / (T f(x) f(y)))), where f(x, y) counts the co-occurrences of a pair
    of one language, f(x) the occurrences of a word, N and T are their sums; X = U S V'; a word is its
    row of V S^(1/2), scaled to length 1. Words with fewer than 20 occurrences are left out, and pairs
    with fewer than 3 or N / 1,000,000 co-occurrences.
    """
    one, other, information = _informative(pairs, occurrences)
    used = np.union1d(one, other)
    rank = min(rank, len(used) // 4)
    if rank < 1:
        return _no_points()
    row_of = np.zeros(len(occurrences), np.int32)
    row_of[used] = np.arange(len(used))
    rows = _both_ways(row_of[one], row_of[other], information, len(used))
    del one, other, information  # as large as the rows
    return WordPoints(used.astype(np.int32), _points(rows, rank))


def _informative(
    pairs: Iterable[Pairs], occurrences: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Matrix]:
    """Return the words of the frequent pairs with positive information, and the information."""
    n_words = int(occurrences.sum())
    least = max(_MIN_PAIR_COUNT, n_words // _WORDS_PER_PAIR_COUNT)
    is_frequent = occurrences >= _MIN_OCCURRENCES
    n_pairs, frequent = 0, [Pairs.none()]
    for keys, counts in pairs:
        n_pairs += int(counts.sum())
        one, other = words_of(keys)
        is_used = (counts >= least) & is_frequent[one] & is_frequent[other]
        frequent.append(Pairs(keys[is_used], counts[is_used]))
    keys, counts = joined(frequent)
    frequent.clear()
    one, other = words_of(keys)
    del keys
    chance = occurrences[one] * (occurrences[other] / n_words) * (n_pairs / max(n_words, 1))
    information = np.log(counts / chance)
    is_positive = information > 0
    return one[is_positive], other[is_positive], information[is_positive]


def _both_ways(
    one: NDArray[np.int32], other: NDArray[np.int32], values: Matrix, n_columns: int
) -> _Rows:
    """Return a symmetric matrix with a value for each pair of a row and a column."""
    rows, columns = np.append(one, other), np.append(other, one)
    order = np.argsort(rows * np.int64(n_columns) + columns)
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=n_columns)))
    return _Rows(starts, columns[order], np.append(values, values)[order], n_columns)


def both_spaces(spaces: Sequence[WordPoints]) -> WordPoints:
    """Combine several spaces with equal weight.

    The axes are concatenated, each space divided by the square root of the number of spaces. A word
    that is in all spaces has length 1; one that is missing in some is shorter.
    """
    if len(spaces) == 1:
        return spaces[0]
    union = np.unique(np.concatenate([space.words for space in spaces]))
    vectors = np.zeros((len(union), sum(space.vectors.shape[1] for space in spaces)), np.float32)
    first = 0
    for words, points in spaces:
        last = first + points.shape[1]
        scaled = np.rint(points * (GRAIN / np.sqrt(len(spaces)))) / GRAIN
        vectors[np.searchsorted(union, words), first:last] = scaled
        first = last
    return WordPoints(union, vectors)


def _points(rows: _Rows, rank: int) -> NDArray[np.float32]:
    """Return the columns of a matrix as vectors of length 1 on its largest axes."""
    sizes, axes = _axes(rows, rank)
    largest = [np.abs(axis).argmax() for axis in axes]
    signs = np.sign(axes[np.arange(len(axes)), largest])
    factors = (signs * np.sqrt(sizes))[:, None]
    vectors = np.empty((axes.shape[1], len(axes)), np.float32)
    for first in range(0, len(vectors), _SUM_COLUMNS):  # the whole would be needed six times
        part = slice(first, first + _SUM_COLUMNS)
        points = np.ascontiguousarray((axes[:, part] * factors).T)
        lengths = np.sqrt(np.maximum((points * points).cumsum(axis=1)[:, -1], 1e-24))
        vectors[part] = np.rint(points / lengths[:, None] * GRAIN) / GRAIN
    return vectors


class _Rows(NamedTuple):
    """A sparse matrix by rows, columns ascending: the entries of row i are at starts[i]:starts[i+1].

    SciPy has such matrices; here, importing it would take longer than a small ingest.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Matrix
    n_columns: int


def _rows(
    words: NDArray[np.int32], ends: NDArray[np.int64], min_documents: int, max_share: float
) -> tuple[NDArray[np.int32], _Rows]:
    """Return the words that are neither too rare nor too frequent, and the weighted documents."""
    n_documents = len(ends)
    n_words = int(words.max(initial=-1)) + 1
    document = np.repeat(np.arange(n_documents), np.diff(ends, prepend=0))
    entries, counts = np.unique(document * n_words + words, return_counts=True)
    document, word = np.divmod(entries, max(n_words, 1))
    frequency = np.bincount(word, minlength=n_words)
    is_used = (frequency >= min_documents) & (frequency <= max_share * n_documents)
    held = is_used[word]
    document, word, counts = document[held], word[held], counts[held]
    used = np.flatnonzero(is_used)
    columns = (np.cumsum(is_used) - 1)[word].astype(np.int32)
    values = (1 + np.log(counts)) * np.log(n_documents / frequency[used])[columns]
    starts = np.append(0, np.cumsum(np.bincount(document, minlength=n_documents)))
    squares = np.append(0.0, np.cumsum(values * values))
    lengths = np.sqrt(np.maximum(np.diff(squares[starts]), 1e-24))
    values = values / np.repeat(lengths, np.diff(starts))
    return used.astype(np.int32), _Rows(starts, columns, values, len(used))


def _axes(rows: _Rows, rank: int) -> tuple[Matrix, Matrix]:
    """Return the largest singular values, descending, and right singular vectors as rows.

    Block Krylov method: each block is the previous one times X'X, less its shares of all earlier
    ones. These shares are X'X within the space of the blocks, whose axes are exact. Removing them
    once leaves the blocks orthogonal to some 1e-10, far below the rounding of the vectors.
    """
    n_rows, n_columns = len(rows.starts) - 1, rows.n_columns
    most = min(n_rows, n_columns, _SPACE_PER_AXIS * rank + 4 * _BLOCK_COLUMNS)
    start = np.random.default_rng(0).standard_normal((n_columns, min(_BLOCK_COLUMNS, most)))
    block = _orthonormal(np.ascontiguousarray(start.T))
    space = np.empty((most + _BLOCK_COLUMNS, n_columns))
    within = np.zeros((len(space), len(space)))
    size = 0
    while len(block):
        first, size = size, size + len(block)
        space[first:size] = block
        basis = space[:size]
        image = _image(rows.starts, rows.columns, rows.values, block)
        shares = _products(image, basis)
        within[first:size, :size] = shares
        within[:size, first:size] = shares.T
        if size >= most:
            break
        block = _orthonormal(image - _combined(shares, basis))
    values, rotation = eigen(within[:size, :size])
    is_real = values[:rank] > _EIGENVALUE_TOLERANCE * max(values.max(initial=0.0), 1e-300)
    factors = rotation[:rank][is_real]
    for first in range(0, n_columns, _SUM_COLUMNS):  # in place: the axes replace the basis
        part = slice(first, first + _SUM_COLUMNS)
        basis[: len(factors), part] = _combined(factors, np.ascontiguousarray(basis[:, part]))
    return np.sqrt(values[:rank][is_real]), basis[: len(factors)]


@kernel
def _added(sums: Eight, factor: float, entry: Matrix) -> Eight:
    """Return eight sums, each with one more product.

    A tuple stays in vector registers; elements of an array would be stored after every column.
    """
    return (
        sums[0] + factor * entry[0],
        sums[1] + factor * entry[1],
        sums[2] + factor * entry[2],
        sums[3] + factor * entry[3],
        sums[4] + factor * entry[4],
        sums[5] + factor * entry[5],
        sums[6] + factor * entry[6],
        sums[7] + factor * entry[7],
    )


@kernel
def _stored(sums: Eight, out: Matrix) -> None:
    """Write eight sums into a row."""
    out[0], out[1], out[2], out[3] = sums[0], sums[1], sums[2], sums[3]
    out[4], out[5], out[6], out[7] = sums[4], sums[5], sums[6], sums[7]


@kernel
def _loaded(row: Matrix) -> Eight:
    """Return the eight numbers of a row."""
    return row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]


@parallel_lanes
def _image(
    starts: NDArray[np.int64], columns: NDArray[np.int32], values: Matrix, block: Matrix
) -> Matrix:
    """Return b X'X for each row b of the block, at most `_BLOCK_COLUMNS` of them.

    All rows are processed together, one row of X after the other.
    """
    n_rows, n_columns = block.shape
    turned, sums = np.zeros((n_columns, _BLOCK_COLUMNS)), np.zeros((n_columns, _BLOCK_COLUMNS))
    for j in range(n_columns):
        for i in range(n_rows):
            turned[j, i] = block[i, j]
    for row in range(len(starts) - 1):
        image = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for k in range(starts[row], starts[row + 1]):
            image = _added(image, values[k], turned[columns[k]])
        for k in range(starts[row], starts[row + 1]):
            value, total = values[k], sums[columns[k]]
            total[0] += value * image[0]
            total[1] += value * image[1]
            total[2] += value * image[2]
            total[3] += value * image[3]
            total[4] += value * image[4]
            total[5] += value * image[5]
            total[6] += value * image[6]
            total[7] += value * image[7]
    out = np.empty((n_rows, n_columns))
    for j in range(n_columns):
        for i in range(n_rows):
            out[i, j] = sums[j, i]
    return out


def _orthonormal(block: Matrix) -> Matrix:
    """Return an orthonormal basis of the rows; dimensions below the tolerance are dropped."""
    rows = block
    for _ in range(2):
        values, rotation = eigen(_products(rows, rows))
        is_real = values > _EIGENVALUE_TOLERANCE * max(values.max(initial=0.0), 1e-9)
        rows = _combined(rotation[is_real] / np.sqrt(values[is_real])[:, None], rows)
    return rows


@parallel_lanes
def _products(a: Matrix, b: Matrix) -> Matrix:
    """Return a b' for at most `_BLOCK_COLUMNS` rows a, each sum in the order of the columns.

    Four rows of b are processed together: the sums of one wait for each other.
    """
    n_rows, n = a.shape
    turned = np.zeros((n, _BLOCK_COLUMNS))
    for i in range(n_rows):
        for column in range(n):
            turned[column, i] = a[i, column]
    out = np.zeros((len(b), _BLOCK_COLUMNS))
    n_fours = len(b) - len(b) % 4
    for first in range(0, n, _SUM_COLUMNS):  # so that this part of `turned` stays in the cache
        part = turned[first : first + _SUM_COLUMNS]
        for j in range(0, n_fours, 4):
            u, v = b[j, first : first + _SUM_COLUMNS], b[j + 1, first : first + _SUM_COLUMNS]
            w, x = b[j + 2, first : first + _SUM_COLUMNS], b[j + 3, first : first + _SUM_COLUMNS]
            p, q, r, s = (
                _loaded(out[j]),
                _loaded(out[j + 1]),
                _loaded(out[j + 2]),
                _loaded(out[j + 3]),
            )
            for k in range(len(part)):
                entry = part[k]
                p = _added(p, u[k], entry)
                q = _added(q, v[k], entry)
                r = _added(r, w[k], entry)
                s = _added(s, x[k], entry)
            _stored(p, out[j])
            _stored(q, out[j + 1])
            _stored(r, out[j + 2])
            _stored(s, out[j + 3])
        for j in range(n_fours, len(b)):
            row, p = b[j, first : first + _SUM_COLUMNS], _loaded(out[j])
            for k in range(len(part)):
                p = _added(p, row[k], part[k])
            _stored(p, out[j])
    return out[:, :n_rows].T.copy()


@kernel
def _combined(factors: Matrix, basis: Matrix) -> Matrix:
    """Return the product of factors and basis, each sum in the order of the rows of the basis.

    Columns are processed in pieces, so that the sums stay in the cache, and four rows at a time.
    """
    n, n_rows = basis.shape[1], len(basis)
    out = np.zeros((len(factors), n))
    n_fours = n_rows - n_rows % 4
    for first in range(0, n, _SUM_COLUMNS):
        last = min(n, first + _SUM_COLUMNS)
        for j in range(0, n_fours, 4):
            u, v = basis[j, first:last], basis[j + 1, first:last]
            w, x = basis[j + 2, first:last], basis[j + 3, first:last]
            for i in range(len(factors)):
                p, q, r, s = factors[i, j], factors[i, j + 1], factors[i, j + 2], factors[i, j + 3]
                sums = out[i, first:last]
                for k in range(last - first):
                    sums[k] = (((sums[k] + p * u[k]) + q * v[k]) + r * w[k]) + s * x[k]
        for j in range(n_fours, n_rows):
            row = basis[j, first:last]
            for i in range(len(factors)):
                factor = factors[i, j]
                sums = out[i, first:last]
                for k in range(last - first):
                    sums[k] += factor * row[k]
    return out
