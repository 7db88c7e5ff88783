"""The tree of a complete graph is that of all distances; missing pairs have similarity 0."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, NeighbourGraph
from segapsith_plugins.clusterers._graph_tree import GRAPH_LINKAGES, graph_tree
from segapsith_plugins.clusterers.ahc import AHC, merge_tree
from segapsith_plugins.clusterers.spherical_kmeans import SphericalKMeans


def similarities(n: int, share: float = 1.0, seed: int = 0) -> Matrix:
    """Random similarities of pairs, of which a share is above 0."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(0.05, 0.95, (n, n)) * (rng.random((n, n)) < share), 1)
    return np.asarray(upper + upper.T)


def of_matrix(similar: Matrix, m: int) -> NeighbourGraph:
    """The m nearest of each row, by sorting."""
    order = np.argsort(-similar, axis=1, kind="stable")[:, :m]
    values = np.take_along_axis(similar, order, axis=1).astype(np.float32)
    return NeighbourGraph(np.where(values > 0, order, -1).astype(np.int32), values)


@pytest.mark.parametrize("linkage", GRAPH_LINKAGES)
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_the_tree_has_the_heights_of_all_distances(linkage: str, share: float) -> None:
    similar = similarities(40, share)
    ours = graph_tree(csr_array(similar), linkage)
    distances = (1.0 - similar)[np.triu_indices(40, 1)]
    dense = merge_tree(distances.copy(), linkage)
    assert np.allclose(1.0 - ours[:, 2], dense[:, 2])
    merged = ours[:, 2] > 1e-12  # at similarity 0 the order is arbitrary
    assert ours[merged, 3].tolist() == dense[merged, 3].tolist()


def merges_are_of_the_nearest(
    similar: Matrix, tree: Matrix, linkage: str, masses: NDArray[np.float64]
) -> None:
    """Check each merge against all pairs of the groups that exist at that time.

    Of equal pairs any may come first, so trees are not compared: each merge has to be one of the
    most similar, with the similarity that the formula of the linkage gives.
    """
    groups = {i: [i] for i in range(len(similar))}

    def of(left: int, right: int) -> float:
        block = similar[np.ix_(groups[left], groups[right])]
        if linkage == "average":
            weights = np.outer(masses[groups[left]], masses[groups[right]])
            return float((block * weights).sum() / weights.sum())
        return float(block.max() if linkage == "single" else block.min())

    for number, (left, right, height, size) in enumerate(tree.tolist(), start=len(similar)):
        best = max(of(a, b) for a, b in combinations(groups, 2))
        assert of(int(left), int(right)) == pytest.approx(height, abs=1e-12)
        assert height == pytest.approx(best, abs=1e-12)
        groups[number] = groups.pop(int(left)) + groups.pop(int(right))
        assert len(groups[number]) == size
    assert len(groups) == min(1, len(similar))


@pytest.mark.parametrize("linkage", GRAPH_LINKAGES)
@given(
    n=st.integers(0, 14), share=st.sampled_from([0.1, 0.3, 1.0]), n_levels=st.integers(1, 5),
    equal=st.booleans(), seed=st.integers(0, 2**16),
)  # fmt: skip
def test_each_merge_is_of_the_most_similar_groups(
    linkage: str, n: int, share: float, n_levels: int, equal: bool, seed: int
) -> None:
    """With few levels most similarities are equal, so ties are everywhere."""
    similar = np.ceil(similarities(n, share, seed) * n_levels) / n_levels
    rng = np.random.default_rng(seed)
    masses = np.ones(n) if equal or linkage != "average" else rng.integers(1, 5, n) / 2
    tree = graph_tree(csr_array(similar), linkage, masses)
    assert (np.diff(tree[:, 2]) <= 1e-12).all()
    merges_are_of_the_nearest(similar, tree, linkage, masses)


@pytest.mark.parametrize("linkage", GRAPH_LINKAGES)
def test_one_group_takes_in_all_others(linkage: str) -> None:
    """A star: each merge is with the same group, which has a pair with every other one."""
    n = 5_000
    spokes = np.linspace(0.9, 0.1, n - 1)
    star = csr_array((spokes, (np.zeros(n - 1, dtype=np.int64), np.arange(1, n))), shape=(n, n))
    tree = graph_tree(csr_array(star + star.T), linkage)
    expected = {"single": 0.1, "average": 0.1 / (n - 1), "complete": 0.0}
    assert tree[-1, 2] == pytest.approx(expected[linkage])
    assert tree[-1, 3] == n


@pytest.mark.parametrize("linkage", GRAPH_LINKAGES)
def test_clusters_by_all_neighbours_are_those_by_all_pairs(linkage: str) -> None:
    similar = similarities(30, seed=3).astype(np.float32).astype(np.float64)
    rows = csr_array(np.eye(30))
    whole = AHC(k=5, linkage=linkage).cluster(rows, lambda left, right: similar)
    graph = AHC(k=5, linkage=linkage).cluster_neighbours(rows, of_matrix(similar, 29))
    assert len(set(zip(whole.tolist(), graph.tolist(), strict=True))) == 5


def test_masses_weigh_the_average() -> None:
    similar = csr_array([[0.0, 0.9, 0.2], [0.9, 0.0, 0.6], [0.2, 0.6, 0.0]])
    tree = graph_tree(similar, "average", np.array([3.0, 1.0, 5.0]))
    assert tree[1, 2] == pytest.approx((3 * 0.2 + 0.6) / 4)


def test_ward_needs_all_pairs() -> None:
    with pytest.raises(ValueError, match="linkage='ward' should be one of single, complete"):
        AHC(k=2, linkage="ward").cluster_neighbours(
            csr_array(np.eye(3)), of_matrix(similarities(3), 2)
        )


@pytest.mark.parametrize("clusterer", [AHC(k=3), SphericalKMeans(k=3)])
def test_groups_of_neighbours_are_found_and_empty_rows_left_out(
    clusterer: AHC | SphericalKMeans,
) -> None:
    blocks = np.kron(np.eye(3), np.ones((4, 4))) * 0.8
    np.fill_diagonal(blocks, 0.0)
    similar = np.zeros((13, 13))
    similar[:12, :12] = blocks
    rows = csr_array(np.diag([1.0] * 12 + [0.0]))
    rows.eliminate_zeros()
    labels = clusterer.cluster_neighbours(rows, of_matrix(similar, 3)).tolist()
    assert labels[12] == -1
    assert [len(set(labels[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(labels[:12])) == 3
