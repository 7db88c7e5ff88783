"""Spherical k-means: the objective, the single moves, the promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith_plugins.clusterers._row_algebra import unit_rows, used_columns
from segapsith_plugins.clusterers.spherical_kmeans import (
    SphericalKMeans,
    register_clusterers,
    total_cosine,
)

quick = settings(max_examples=40, deadline=None)  # kernels compile on first use


@st.composite
def tables(draw, least=-2):
    """Small rows with empty rows, empty columns, duplicated, opposite and all-equal rows."""
    n_rows, n_words = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    cells = draw(arrays(np.int64, (n_rows, n_words), elements=st.integers(least, 4)))
    if draw(st.booleans()):
        cells[draw(st.integers(0, n_rows - 1))] = 0
    if draw(st.booleans()):
        cells[:, draw(st.integers(0, n_words - 1))] = 0
    if draw(st.booleans()):
        cells[-1] = cells[0]
    if draw(st.integers(0, 9)) == 0:
        cells[:] = cells[0]
    return cells


def obvious_objective(cells, labels):
    """The sum of the cosines between rows and the mean of their cluster's unit rows."""
    total = 0.0
    for k in set(labels.tolist()) - {-1}:
        inside = cells[labels == k].astype(float)
        inside = inside / np.maximum(np.linalg.norm(inside, axis=1, keepdims=True), 1e-300)
        centre = inside.mean(axis=0)
        if np.linalg.norm(centre) > 1e-9:
            total += (inside @ (centre / np.linalg.norm(centre))).sum()
    return total


@quick
@given(tables(), st.data())
def test_the_closed_form_is_the_sum_of_cosines(cells, data):
    labels = data.draw(arrays(np.int64, len(cells), elements=st.integers(-1, 3)))
    actual = total_cosine(csr_array(cells), labels)
    assert actual == pytest.approx(obvious_objective(cells, labels), abs=1e-8)


@quick
@given(tables(), st.integers(1, 5), st.integers(0, 100))
def test_the_promises_are_kept_and_no_single_move_helps(cells, k, seed):
    rows = csr_array(cells)
    before = rows.copy()
    clusterer = SphericalKMeans(k=k, n_init=2, seed=seed)
    labels = clusterer.cluster(rows, None)
    assert (rows != before).nnz == 0
    assert labels.dtype == np.int64
    filled = (cells != 0).any(axis=1)
    assert ((labels == -1) == ~filled).all()
    kept = labels[labels >= 0]
    assert list(dict.fromkeys(kept.tolist())) == list(range(kept.max(initial=-1) + 1))
    assert kept.max(initial=-1) < k
    assert np.array_equal(labels, clusterer.cluster(rows, None))
    objective = obvious_objective(cells, labels)
    assert clusterer.objective_ == pytest.approx(objective, abs=1e-8)
    for row in np.flatnonzero(filled):
        for cluster in range(min(k, len(kept))):
            moved = labels.copy()
            moved[row] = cluster
            assert obvious_objective(cells, moved) <= objective + 1e-7


@pytest.mark.slow
@quick
@given(tables(), st.integers(1, 5), st.integers(0, 100))
def test_cosines_do_as_well_as_rows(cells, k, seed):
    units = unit_rows(csr_array(cells)).toarray()
    clusterer = SphericalKMeans(k=k, n_init=2, seed=seed)
    labels = clusterer.cluster_by_cosines(units @ units.T)
    filled = (cells != 0).any(axis=1)
    assert ((labels == -1) == ~filled).all()
    objective = obvious_objective(cells, labels)
    assert clusterer.objective_ == pytest.approx(objective, abs=1e-7)
    for row in np.flatnonzero(filled):
        for cluster in range(min(k, int(filled.sum()))):
            moved = labels.copy()
            moved[row] = cluster
            assert obvious_objective(cells, moved) <= objective + 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_rows_and_their_cosines_give_the_same_clusters(seed):
    rows = csr_array(np.random.default_rng(seed).random((120, 60)))  # ties have no chance
    units = unit_rows(rows).toarray()
    by_rows, by_cosines = SphericalKMeans(k=6, seed=seed), SphericalKMeans(k=6, seed=seed)
    labels = by_rows.cluster(rows)
    assert np.array_equal(labels, by_cosines.cluster_by_cosines(units @ units.T))
    assert by_rows.objectives_ == pytest.approx(by_cosines.objectives_, abs=1e-9)


@pytest.mark.parametrize(
    ("cosines", "message"),
    [
        (np.ones((2, 3)), r"cosines of shape \(2, 3\) should be square"),
        (np.full((2, 2), np.nan), "cosines should contain only finite numbers"),
    ],
)
def test_what_are_no_cosines_is_refused(cosines, message):
    with pytest.raises(ValueError, match=message):
        SphericalKMeans(k=2).cluster_by_cosines(cosines)


def test_directions_are_found_whatever_their_length():
    rng = np.random.default_rng(0)
    planted = np.arange(60) % 4
    cells = np.eye(4)[planted] + 0.2 * rng.random((60, 4))
    cells *= rng.random((60, 1)) * 100 + 1e-3
    assert np.array_equal(SphericalKMeans(k=4).cluster(csr_array(cells)), planted)


def test_more_starts_are_never_worse():
    rows = csr_array(np.random.default_rng(3).poisson(0.4, (80, 40)))
    few, many = SphericalKMeans(k=7, n_init=2), SphericalKMeans(k=7, n_init=8)
    few.cluster(rows)
    many.cluster(rows)
    assert few.objectives_ == many.objectives_[:2]
    assert many.objective_ == max(many.objectives_) >= few.objective_


def test_very_large_and_very_small_rows_keep_their_direction():
    rows = unit_rows(csr_array([[3e200, 4e200], [3e-200, 4e-200], [0, 0]]))
    assert np.allclose(rows.toarray(), [[0.6, 0.8], [0.6, 0.8], [0, 0]])


def test_columns_without_entries_are_dropped():
    rows = csr_array([[0, 2, 0, 1], [0, 0, 0, 3]])
    assert used_columns(rows).toarray().tolist() == [[2, 1], [0, 3]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 4)])
def test_nothing_at_all_is_no_cluster(shape):
    clusterer = SphericalKMeans(k=2)
    assert (clusterer.cluster(csr_array(shape), None) == -1).all()
    assert clusterer.objective_ == 0.0


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="rows should contain only finite numbers"):
        SphericalKMeans(k=2).cluster(csr_array([[1.0, np.nan]]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k=0 should be >= 1"),
        ({"n_init": 0}, "n_init=0 should be >= 1"),
        ({"max_iterations": 0}, "max_iterations=0 should be >= 1"),
        ({"seed": -3}, "seed=-3 should be >= 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        SphericalKMeans(**wrong)


def test_it_is_offered_by_name():
    assert register_clusterers() == {"spherical-kmeans": SphericalKMeans}


@quick
@given(tables())
def test_rows_drawn_at_random_and_no_single_moves(cells):
    plain = SphericalKMeans(k=3, n_init=3, start="random", single_moves=False)
    labels = plain.cluster(csr_array(cells.astype(float)))
    assert labels.tolist() == plain.cluster(csr_array(cells.astype(float))).tolist()
    assert plain.objective_ == pytest.approx(obvious_objective(cells, labels))
    moved = SphericalKMeans(k=3, n_init=3, start="random")
    moved.cluster(csr_array(cells.astype(float)))
    assert len(moved.objectives_) == len(plain.objectives_)


def test_an_unknown_start_is_refused():
    with pytest.raises(ValueError, match="start"):
        SphericalKMeans(start="middle")
