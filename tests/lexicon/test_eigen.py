"""Eigenvalues and eigenvectors: those of the library, to rounding, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from segapsith.lexicon.eigen import eigen
from segapsith.lexicon.word_vectors import _combined, _products


def symmetric(n: int, seed: int, rank: int | None = None) -> NDArray[np.float64]:
    """A random one; of some rank it has no negative values."""
    half = np.random.default_rng(seed).standard_normal((n, n if rank is None else rank))
    return half + half.T if rank is None else half @ half.T


def check(matrix: NDArray[np.float64]) -> None:
    values, vectors = eigen(matrix)
    n, size = len(matrix), max(np.abs(matrix).max(initial=0.0), 1e-300)
    assert (np.diff(values) <= 0).all()
    assert np.abs(values - np.linalg.eigvalsh(matrix)[::-1]).max(initial=0.0) <= 1e-13 * n * size
    assert np.abs(matrix @ vectors.T - vectors.T * values).max(initial=0.0) <= 1e-13 * n * size
    assert np.abs(vectors @ vectors.T - np.eye(n)).max(initial=0.0) <= 1e-13 * n
    assert all(row[np.abs(row).argmax()] > 0 for row in vectors)


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(0, 99), st.sampled_from([None, 1, 3]))
def test_they_are_those_of_the_library(n, seed, rank):
    check(symmetric(n, seed, rank))


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((4, 4)),
        np.eye(5),
        np.diag([1.0, -2.0, 0.0, 1.0]),
        np.ones((6, 6)),
        np.diag(np.full(4, 2.0)) + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1),
        np.kron(np.eye(3), np.array([[2.0, 1.0], [1.0, 2.0]])),
        1e-200 * symmetric(5, 0),
        1e200 * symmetric(5, 0),
        symmetric(7, 1) * np.outer(10.0 ** -np.arange(7), 10.0 ** -np.arange(7)),
    ],
    ids=str,
)
def test_special_ones_are_found_too(matrix):
    check(matrix)


@pytest.mark.parametrize("rank", [None, 40])
def test_a_large_one_is_found(rank):
    check(symmetric(150, 2, rank))


@pytest.mark.slow
def test_no_bit_differs_from_one_time_to_the_next():
    matrix = symmetric(60, 3)
    one, other = eigen(matrix), eigen(matrix.copy(order="F"))
    assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 140), st.integers(0, 9))
@settings(deadline=None)
def test_products_are_added_up_in_their_order(height, width, n, seed):
    chance = np.random.default_rng(seed)
    a, b = chance.standard_normal((height, n)), chance.standard_normal((width, n))
    wanted = np.zeros((height, width))
    for k in range(n):
        wanted = wanted + a[:, k, None] * b[None, :, k]
    assert np.array_equal(_products(a, b), wanted)
    factors = chance.standard_normal((width, height))
    sums = np.zeros((width, n))
    for j in range(height):
        sums = sums + factors[:, j, None] * a[j]
    assert np.array_equal(_combined(factors, a), sums)
