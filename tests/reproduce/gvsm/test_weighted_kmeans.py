"""Spherical k-means of rows that keep their length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith_plugins.clusterers.spherical_kmeans import SphericalKMeans
from segapsith_reproduce.gvsm.weighted_kmeans import cluster_weighted

quick = settings(max_examples=60, deadline=None)
dense = st.integers(1, 9).flatmap(
    lambda n: arrays(np.float64, (n, 3), elements=st.integers(-3, 4).map(float))
)


def objective(rows: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """Return sum_k |s_k|."""
    return sum(
        float(np.linalg.norm(rows[labels == k].sum(axis=0))) for k in set(labels.tolist()) - {-1}
    )


@quick
@given(dense, st.integers(1, 5), st.integers(0, 50))
def test_each_row_is_with_its_nearest_centre(rows: NDArray[np.float64], k: int, seed: int) -> None:
    labels = cluster_weighted(rows, k, seed=seed, n_init=3)
    filled = (rows != 0).any(axis=1)
    assert labels.dtype == np.int64 and ((labels == -1) == ~filled).all()
    used = labels[filled]
    assert list(dict.fromkeys(used.tolist())) == list(range(used.max(initial=-1) + 1))
    assert used.max(initial=-1) < k
    assert np.array_equal(labels, cluster_weighted(rows, k, seed=seed, n_init=3))
    sums = np.array([rows[labels == c].sum(axis=0) for c in range(used.max(initial=-1) + 1)])
    lengths = np.linalg.norm(sums, axis=1) if len(sums) else np.empty(0)
    if (lengths < 1e-9).any():
        return  # a centre without a direction
    for row in np.flatnonzero(filled):
        cosines = sums @ rows[row] / lengths
        assert cosines[labels[row]] >= cosines.max() - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_length_one_are_clustered_as_by_the_plugin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    planted = np.arange(60) % 4
    rows = np.eye(4)[planted] + 0.4 * rng.random((60, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    plugin = SphericalKMeans(k=4, start="random", single_moves=False, seed=seed)
    by_plugin = plugin.cluster(csr_array(rows))
    labels = cluster_weighted(rows, 4, seed=seed)
    assert np.array_equal(labels, by_plugin)
    assert objective(rows, labels) == pytest.approx(plugin.objective_)


def test_a_row_of_double_length_counts_twice() -> None:
    rng = np.random.default_rng(1)
    rows = rng.random((12, 3))
    twice = np.vstack([rows, rows[:4]])
    longer = rows * np.where(np.arange(12) < 4, 2.0, 1.0)[:, None]
    labels = cluster_weighted(longer, 3, n_init=40)
    repeated = cluster_weighted(twice, 3, n_init=40)
    assert np.array_equal(repeated[12:], repeated[:4])
    assert objective(longer, labels) == pytest.approx(objective(twice, repeated))
    assert np.array_equal(labels, repeated[:12])


def test_rows_of_zeros_only_are_in_no_cluster() -> None:
    assert cluster_weighted(np.zeros((3, 2)), 2).tolist() == [-1, -1, -1]
    assert cluster_weighted(np.empty((0, 2)), 2).tolist() == []
