"""Similarities over all domains at once agree with the formula, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.domains.values import DomainWords
from segapsith_store.queries.browsing import neighbours
from segapsith_store.queries.browsing.neighbours import read_vectors
from segapsith_store.queries.topics import total


def similarity(left: DomainWords, right: DomainWords) -> float:
    """The slow oracle: eq. 7 between two domains."""
    shared = set(left.words.tolist()) & set(right.words.tolist())
    product = 1.0
    for side in (left, right):
        common = [i for i, word in enumerate(side.words.tolist()) if word in shared]
        for values in (side.weights, side.occurrences):
            product *= int(values[common].sum()) / int(values.sum())
    return float(product**0.25)


def test_neighbours_are_those_of_the_formula(sampled: Wire) -> None:
    vectors = sampled.read(read_vectors)
    numbers = vectors.ids.tolist()
    for number in numbers[:5]:
        own = vectors.sums(number)
        assert own is not None
        expected = {
            other: round(similarity(own, vectors.sums(other) or own), 6)
            for other in numbers
            if other != number
        }
        found = vectors.near(number, 4)
        ranked = sorted(expected, key=lambda n: (-expected[n], n))
        assert [one.id for one in found] == [n for n in ranked if expected[n] > 0][:4]
        assert all(one.similarity == expected[one.id] for one in found)


def test_a_matrix_of_some_domains_has_the_same_values(sampled: Wire) -> None:
    vectors = sampled.read(read_vectors)
    some = vectors.ids.tolist()[:6]
    matrix = vectors.similarities(some)
    assert np.allclose(np.diag(matrix), 1.0) and np.allclose(matrix, matrix.T)
    left, right = (vectors.sums(number) for number in some[:2])
    assert left is not None and right is not None
    assert np.isclose(matrix[0, 1], similarity(left, right))


def test_reading_again_gives_the_same(sampled: Wire) -> None:
    first = sampled.read(read_vectors)
    again = sampled.read(lambda store: read_vectors(store, first))
    for name in ("ids", "sizes", "starts", "words", "occurrences", "weights", "totals"):
        assert (getattr(first, name) == getattr(again, name)).all(), name
    changed = type(first)(
        *[*(getattr(first, n) for n in first.__slots__[:-1]), (0,) * len(first.ids)]
    )
    fresh = sampled.read(lambda store: read_vectors(store, changed))
    assert (fresh.words == first.words).all() and fresh.marks == first.marks


def test_the_domains_with_a_word_have_it(sampled: Wire) -> None:
    vectors = sampled.read(read_vectors)
    word = int(vectors.words[0])
    having = [number for number, _ in vectors.having(word, 1000)]
    expected = [n for n in vectors.ids.tolist() if word in (vectors.sums(n) or vectors).words]
    assert sorted(having) == expected


def test_an_unknown_domain_has_no_neighbours(sampled: Wire) -> None:
    vectors = sampled.read(read_vectors)
    assert vectors.near(10**6, 3) == [] and vectors.sums(10**6) is None


def test_the_sums_of_several_domains_are_those_of_the_store(sampled: Wire) -> None:
    vectors = sampled.read(read_vectors)
    numbers = vectors.ids.tolist()
    for some in (numbers, numbers[1:4], numbers[:1]):
        expected = sampled.read(lambda store, some=some: total(store, some))
        sums = vectors.total(some)
        for name in ("words", "occurrences", "weights"):
            assert (getattr(sums, name) == getattr(expected, name)).all(), name
        assert sums.n_units == expected.n_units


def test_small_pieces_and_blocks_give_the_same(
    sampled: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sampled.read(read_vectors)
    near = [whole.near(number, 5) for number in whole.ids.tolist()[:5]]
    monkeypatch.setattr(neighbours, "FIRST_SIZE", 7)
    monkeypatch.setattr(neighbours, "BLOCK", 11)
    pieces = sampled.read(read_vectors)
    for name in ("starts", "words", "occurrences", "weights", "totals"):
        assert (getattr(pieces, name) == getattr(whole, name)).all(), name
    assert [pieces.near(number, 5) for number in whole.ids.tolist()[:5]] == near
