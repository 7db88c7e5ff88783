"""The order of equal merges, against the program's procedure written out step by step."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import squareform

from segapsith_plugins.clusterers.ahc import merge_tree
from segapsith_reproduce.gvsm.tie_order import cut, sorted_by_class, ties_decide


def literal(distances: NDArray[np.float64], n_clusters: int, length: int) -> list[frozenset[int]]:
    """Keep the list of smallest distances and move clusters between places, without a tree."""
    d = distances.copy()
    n = len(d)
    clusters = [frozenset([i]) for i in range(n)]
    listed: list[tuple[float, int, int]] = []
    nearest_new = np.inf
    for first in range(n - n_clusters):
        listed = [entry for entry in listed if entry[0] < nearest_new]
        if not listed:
            pairs = [(d[j, i], -j, -i) for j in range(first, n) for i in range(j + 1, n)]
            listed = [(height, -j, -i) for height, j, i in sorted(pairs)[:length]]
        _, k, left = listed[0]
        rest = [entry for entry in listed[1:] if not {entry[1], entry[2]} & {k, left}]
        listed = [(h, *sorted(k if x == first else x for x in pair)) for h, *pair in rest]  # type: ignore[misc]
        clusters[left] |= clusters[k]
        clusters[k] = clusters[first] if k != first else frozenset()
        others = [x for x in range(first, n) if x not in (k, left)]
        d[left, others] = d[others, left] = np.maximum(d[k, others], d[left, others])
        nearest_new = d[left, others].min(initial=np.inf)
        d[k, :], d[:, k] = d[first, :], d[:, first]
    return clusters[n - n_clusters :]


def as_sets(labels: NDArray[np.int64]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@pytest.mark.parametrize("seed", range(30))
def test_the_order_is_that_of_the_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    d = rng.random((n, n))
    d = np.triu(np.where(d > 0.3, 1.0, d), 1)  # most pairs have no word in common
    d += d.T
    groups = rng.integers(0, n - n // 3, n)  # some documents are copies
    d = d[np.ix_(groups, groups)]
    k = int(rng.integers(1, 5))
    expected = {cluster for cluster in literal(d, k, 16) if cluster}
    assert as_sets(cut(merge_tree(squareform(d, checks=False), "complete"), k)) == expected


def test_without_ties_it_is_the_usual_cut() -> None:
    d = squareform(np.random.default_rng(0).random((7, 7)), checks=False, force="tovector")
    tree = merge_tree(d, "complete")
    assert not ties_decide(tree, 3)
    assert len(set(cut(tree, 3).tolist())) == 3
    assert len(set(cut(tree, 7).tolist())) == 7


def test_all_pairs_equal() -> None:
    tree = merge_tree(np.ones(10), "complete")
    assert ties_decide(tree, 3)
    assert as_sets(cut(tree, 3)) == {frozenset({3, 4, 0}), frozenset({1}), frozenset({2})}
    assert as_sets(cut(tree, 1)) == {frozenset(range(5))}
    assert len(set(cut(tree, 5).tolist())) == 5


def test_documents_are_sorted_by_the_name_of_their_class() -> None:
    assert sorted_by_class(["tin", "unnamed25", "orange", "rubber"]).tolist() == [2, 1, 3, 0]
