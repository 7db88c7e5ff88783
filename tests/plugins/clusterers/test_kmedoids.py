"""k-medoids: every exchange tried by hand, and the promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith_plugins.clusterers._row_algebra import cosine
from segapsith_plugins.clusterers.kmedoids import (
    KMedoids,
    _attend,
    _exchanged,
    register_clusterers,
    square_distances,
)

quick = settings(max_examples=40, deadline=None)  # kernels compile on first use


@st.composite
def tables(draw):
    """Small counts with empty rows, empty columns, duplicated and all-equal rows."""
    n_rows, n_words = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    counts = draw(arrays(np.int64, (n_rows, n_words), elements=st.integers(0, 4)))
    if draw(st.booleans()):
        counts[draw(st.integers(0, n_rows - 1))] = 0
    if draw(st.booleans()):
        counts[-1] = counts[0]
    if draw(st.integers(0, 9)) == 0:
        counts[:] = counts[0]
    return counts


def loss(distances, medoids):
    return distances[list(medoids)].min(axis=0).sum(dtype=np.float64)


@quick
@given(tables(), st.integers(1, 5), st.sampled_from(["one-minus", "euclidean"]))
def test_the_promises_are_kept_and_no_exchange_helps(counts, k, distance_from):
    rows = csr_array(counts)
    before = rows.copy()
    clusterer = KMedoids(k=k, n_init=2, distance_from=distance_from)
    labels = clusterer.cluster(rows, None)
    assert (rows != before).nnz == 0
    assert labels.dtype == np.int64
    filled = np.flatnonzero(counts.sum(axis=1))
    assert np.array_equal(np.flatnonzero(labels >= 0), filled)
    kept = labels[filled]
    assert list(dict.fromkeys(kept.tolist())) == list(range(kept.max(initial=-1) + 1))
    assert kept.max(initial=-1) < k
    assert np.array_equal(labels, clusterer.cluster(rows, None))

    if not len(filled):
        return
    distances = square_distances(rows, np.arange(len(counts)), cosine, distance_from)
    medoids = clusterer.medoids_
    assert np.array_equal(labels[medoids], np.arange(len(medoids)))
    own = distances[filled, medoids[kept]]
    assert np.array_equal(own, distances[filled][:, medoids].min(axis=1))
    assert own.sum(dtype=np.float64) == pytest.approx(clusterer.objective_, abs=1e-6)
    inside = distances[np.ix_(filled, filled)]
    held = [int(np.flatnonzero(filled == m)[0]) for m in medoids]
    for out, into in itertools.product(range(len(held)), range(len(filled))):
        exchanged = [*held[:out], *held[out + 1 :], into]
        assert loss(inside, exchanged) >= clusterer.objective_ - 1e-6


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_small_case_reaches_the_best_of_all(k):
    rows = csr_array(np.random.default_rng(5).random((12, 4)))
    clusterer = KMedoids(k=k, n_init=10)
    clusterer.cluster(rows)
    distances = square_distances(rows, np.arange(12), None, "one-minus")
    best = min(loss(distances, medoids) for medoids in itertools.combinations(range(12), k))
    assert clusterer.objective_ == pytest.approx(best, abs=1e-6)


@quick
@given(st.integers(3, 12), st.integers(1, 3), st.integers(0, 99))
def test_after_an_exchange_rows_know_their_medoids_as_if_all_were_looked_at(n, far_most, seed):
    rng = np.random.default_rng(seed)
    distances = np.triu(rng.integers(0, far_most + 1, (n, n)), 1).astype(np.float32)  # many ties
    distances += distances.T
    medoids = rng.permutation(n)[: rng.integers(2, n)]

    def looked_at():
        first, second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        near, far = np.empty(n), np.empty(n)
        for i in range(n):
            _attend(distances, medoids, i, first, second, near, far)
        return first, second, near, far

    kept = looked_at()
    for _ in range(8):
        m = int(rng.integers(len(medoids)))
        medoids[m] = rng.choice(np.setdiff1d(np.arange(n), medoids))
        _exchanged(distances, medoids, m, *kept)
        plain = looked_at()
        for actual, expected in zip((kept[0], *kept[2:]), (plain[0], *plain[2:]), strict=True):
            np.testing.assert_array_equal(actual, expected)
        second = distances[np.arange(n), medoids[kept[1]]]
        np.testing.assert_array_equal(second, kept[3])
        assert (kept[1] != kept[0]).all()


def test_directions_are_found():
    rng = np.random.default_rng(0)
    planted = np.arange(60) % 4
    rows = csr_array(np.eye(4)[planted] + 0.2 * rng.random((60, 4)))
    assert np.array_equal(KMedoids(k=4).cluster(rows, cosine), planted)


def test_distances_are_the_same_both_ways_and_nothing_is_far_from_itself():
    def compare(left, right):
        return 0.5 * cosine(left, right)  # a measure whose diagonal is not 1

    rows = csr_array(np.random.default_rng(0).random((7, 3)))
    distances = square_distances(rows, np.arange(7), compare, "one-minus")
    assert np.array_equal(distances, distances.T)
    assert (distances.diagonal() == 0).all()
    off = ~np.eye(7, dtype=bool)
    assert np.allclose(distances[off], (1 - compare(rows, rows))[off])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 4)])
def test_nothing_at_all_is_no_cluster(shape):
    clusterer = KMedoids(k=2)
    assert (clusterer.cluster(csr_array(shape), None) == -1).all()
    assert len(clusterer.medoids_) == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k=0 should be >= 1"),
        ({"n_init": 0}, "n_init=0 should be >= 1"),
        ({"max_passes": 0}, "max_passes=0 should be >= 1"),
        ({"distance_from": "log"}, "distance_from='log' should be one of one-minus, euclidean"),
        ({"seed": -3}, "seed=-3 should be >= 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        KMedoids(**wrong)


def test_it_is_offered_by_name():
    assert register_clusterers() == {"kmedoids": KMedoids}
