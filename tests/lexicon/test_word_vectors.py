"""Words as points: the same as a dense decomposition, and the same every time."""

from __future__ import annotations

import numpy as np

from segapsith.lexicon.cooccurrence import Pairs, count_pairs, words_of
from segapsith.lexicon.word_vectors import (
    GRAIN,
    WordPoints,
    both_spaces,
    learn_pair_points,
    learn_points,
)


def texts(n_documents: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Documents of thirty words, each on one of seven subjects of forty words."""
    chance = np.random.default_rng(seed)
    subjects = chance.integers(0, 7, n_documents)
    own = 40 * subjects[:, None] + chance.integers(0, 40, (n_documents, 24))
    common = chance.integers(280, 400, (n_documents, 6))
    words = np.hstack([own, common]).astype(np.int32).ravel()
    return words, np.arange(30, 30 * n_documents + 1, 30)


def naive(words: np.ndarray, ends: np.ndarray, rank: int, least: int, share: float) -> WordPoints:
    """The formula, literally, with a dense decomposition."""
    counts = np.zeros((len(ends), words.max() + 1))
    for d, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        for word in words[first:last]:
            counts[d, word] += 1
    spread = (counts > 0).sum(axis=0)
    known = np.flatnonzero((spread >= least) & (spread <= share * len(ends)))
    counts = counts[:, known]
    x = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    x = x * np.log(len(ends) / spread[known])
    x /= np.maximum(np.linalg.norm(x, axis=1), 1e-12)[:, None]
    _, sizes, axes = np.linalg.svd(x, full_matrices=False)
    points = axes[:rank].T * np.sqrt(sizes[:rank])
    return WordPoints(known, points / np.linalg.norm(points, axis=1)[:, None])


def test_points_are_those_of_the_formula():
    rank = 7
    words, ends = texts(200)
    found = learn_points(words, ends, rank=rank, min_documents=2, max_share=0.5)
    wanted = naive(words, ends, rank, 2, 0.5)
    assert found.words.tolist() == wanted.words.tolist()
    close = found.vectors @ found.vectors.T - wanted.vectors @ wanted.vectors.T
    assert np.abs(close).max() < 0.02


def test_points_are_rounded_and_the_same_every_time():
    words, ends = texts(100)
    one, other = (learn_points(words, ends, rank=5, max_share=0.5) for _ in range(2))
    assert np.array_equal(one.vectors, other.vectors)
    assert np.array_equal(one.vectors * GRAIN, np.rint(one.vectors * GRAIN))
    assert np.allclose(np.linalg.norm(one.vectors, axis=1), 1, atol=0.01)


def test_more_axes_than_the_documents_have_are_not_made_up():
    words = np.tile(np.array([1, 2, 3, 4], np.int32), 40)
    ends = np.arange(4, 161, 4)
    found = learn_points(words, ends, rank=3, max_share=1.0)
    assert np.isfinite(found.vectors).all()


def test_nothing_is_learned_from_nothing():
    found = learn_points(np.zeros(0, np.int32), np.zeros(0, np.int64))
    assert found.words.tolist() == []
    assert learn_points(*texts(3)).vectors.shape == (0, 1)


# -- by company ----------------------------------------------------------------------------


def naive_company(pairs: Pairs, occurrences: np.ndarray, rank: int) -> WordPoints:
    """The formula, literally, with a dense decomposition."""
    n, t = occurrences.sum(), pairs.counts.sum()
    x = np.zeros((len(occurrences),) * 2)
    for one, other, met in zip(*words_of(pairs.keys), pairs.counts, strict=True):
        if met >= 3 and min(occurrences[one], occurrences[other]) >= 20:
            x[one, other] = x[other, one] = max(
                0.0, np.log(met * n**2 / (t * occurrences[one] * occurrences[other]))
            )
    known = np.flatnonzero(x.any(axis=0))
    _, sizes, axes = np.linalg.svd(x[np.ix_(known, known)])
    points = axes[:rank].T * np.sqrt(sizes[:rank])
    return WordPoints(known, points / np.linalg.norm(points, axis=1)[:, None])


def test_points_by_company_are_those_of_the_formula():
    words, ends = texts(400)
    pairs, occurrences = count_pairs(words, 20, ends), np.bincount(words)
    found = learn_pair_points([pairs], occurrences, rank=7)
    wanted = naive_company(pairs, occurrences, 7)
    assert found.words.tolist() == wanted.words.tolist()
    close = found.vectors @ found.vectors.T - wanted.vectors @ wanted.vectors.T
    assert np.abs(close).max() < 0.02


def test_pairs_may_come_in_pieces():
    words, ends = texts(400)
    keys, counts = count_pairs(words, 20, ends)
    pieces = [Pairs(keys[i : i + 500], counts[i : i + 500]) for i in range(0, len(keys), 500)]
    one, other = (
        learn_pair_points(given, np.bincount(words), rank=7)
        for given in (pieces, [Pairs(keys, counts)])
    )
    assert np.array_equal(one.words, other.words) and np.array_equal(one.vectors, other.vectors)


def test_no_company_is_made_up():
    assert learn_pair_points([], np.zeros(0, np.int64)).words.tolist() == []
    words, ends = texts(3)  # no word occurs often enough
    found = learn_pair_points([count_pairs(words, 20, ends)], np.bincount(words))
    assert found.vectors.shape == (0, 1)


def test_two_spaces_count_equally():
    one = WordPoints(np.array([1, 4], np.int32), np.array([[1, 0], [0, 1]], np.float32))
    other = WordPoints(np.array([4, 9], np.int32), np.array([[1], [-1]], np.float32))
    found = both_spaces([one, other])
    half = round(GRAIN / 2**0.5) / GRAIN
    assert found.words.tolist() == [1, 4, 9]
    assert np.allclose(found.vectors, [[half, 0, 0], [0, half, half], [0, 0, -half]])
    assert both_spaces([one]) is one
