"""Mantel's test on trees against matrices of units by units and all permutations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from segapsith.evaluation.compare import (
    average_linkage_tree,
    mantel,
    mantel_of_table,
    mantel_of_trees,
    mantel_samples,
)
from segapsith.evaluation.contingency import contingency

labellings = st.integers(4, 20).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2, st.integers())
)


def distances(size, seed):
    """Symmetric distances that fixed point holds exactly."""
    rng = np.random.default_rng(abs(seed) % 2**32)
    upper = np.triu(rng.integers(0, 64, (size, size)), 1) / 64
    return upper + upper.T


def of_units(labels, between):
    """The matrix of units by units that the program avoids."""
    codes = np.unique(labels, return_inverse=True)[1]
    return between[np.ix_(codes, codes)]


@settings(deadline=None, max_examples=40)
@given(labellings)
def test_z_and_correlation_are_those_of_all_pairs_of_units(both):
    a, b, seed = both
    table = contingency(a, b)
    left, right = distances(table.shape[0], seed), distances(table.shape[1], seed + 1)
    x, y = of_units(a, left), of_units(b, right)
    result = mantel_of_trees(table, left, right, permutations=0)
    assert result.z == pytest.approx((x * y).sum(), rel=1e-12)
    pairs = ~np.eye(len(a), dtype=bool)
    if np.ptp(x[pairs]) and np.ptp(y[pairs]):
        assert result.r == pytest.approx(np.corrcoef(x[pairs], y[pairs])[0, 1], abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_moments_and_p_are_those_of_all_permutations_of_six_units(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, 6), rng.integers(0, 4, 6)
    table = contingency(a, b)
    left, right = distances(table.shape[0], seed), distances(table.shape[1], seed + 9)
    x, y = of_units(a, left), of_units(b, right)
    every = np.array([(x * y[np.ix_(p, p)]).sum() for p in itertools.permutations(range(6))])
    result = mantel_of_trees(table, left, right, permutations=4000, seed=seed)
    assert result.expected == pytest.approx(every.mean(), rel=1e-12)
    assert result.sd == pytest.approx(every.std(), rel=1e-9, abs=1e-12)
    if result.sd:
        assert result.p == pytest.approx((every >= result.z - 1e-9).mean(), abs=0.03)


@settings(deadline=None, max_examples=30)
@given(labellings)
def test_the_flat_tree_is_the_test_on_partitions(both):
    a, b, _ = both
    table = contingency(a, b)
    left, right = (1.0 - np.eye(size) for size in table.shape)
    flat = mantel(a, b, permutations=0)
    result = mantel_of_trees(table, left, right, permutations=0)
    assert result.z == flat.z
    assert result.expected == pytest.approx(flat.expected)
    assert result.sd == pytest.approx(flat.sd, abs=1e-9)


def test_large_classes_are_drawn_as_tables_and_agree_with_the_exact_law():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, 2000), rng.integers(0, 5, 2000)
    table = contingency(a, b)
    left, right = distances(4, 1), distances(5, 2)
    assert mantel_of_trees(table, left, right, permutations=199).p > 0.01
    same = contingency(a, a)
    result = mantel_of_trees(same, left, left, permutations=199)
    assert result.r == pytest.approx(1)
    assert result.p == pytest.approx(1 / 200)


def test_a_tree_is_grown_by_average_linkage():
    rng = np.random.default_rng(3)
    similar = rng.random((8, 8))
    similar = (similar + similar.T) / 2
    np.fill_diagonal(similar, 1)
    condensed = squareform(1 - similar, checks=False)
    reference_value = squareform(cophenet(linkage(condensed, "average")))
    assert np.allclose(average_linkage_tree(similar).distances, reference_value)
    assert average_linkage_tree(np.ones((1, 1))).distances.tolist() == [[0.0]]


def test_distances_of_other_classes_are_refused():
    table = contingency([0, 1, 2], [0, 1, 1])
    with pytest.raises(ValueError, match="left"):
        mantel_of_trees(table, np.zeros((2, 2)), np.zeros((2, 2)))


def test_the_law_that_is_drawn_has_the_mean_and_the_p_of_the_test():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 5, 300)
    b = np.where(rng.random(300) < 0.05, a, rng.integers(0, 5, 300))
    table = contingency(a, b)
    law, result = mantel_samples(table, 999), mantel_of_table(table, 999)
    assert result.p == (1 + (law >= result.z).sum()) / 1000
    assert abs(law.mean() - result.expected) < 4 * result.sd / np.sqrt(999)
