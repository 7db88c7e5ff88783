"""The tree of a complete graph is that of all distances; missing pairs have similarity 0."""

from __future__ import annotations

import numpy as np
import pytest
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
