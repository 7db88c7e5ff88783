"""Agglomerative clustering: SciPy's linkage as the oracle, and the definition where there are ties."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_array
from scipy.spatial.distance import squareform

from segapsith_plugins.clusterers._row_algebra import blocks, cosine, in_order, similarity_blocks
from segapsith_plugins.clusterers.ahc import (
    AHC,
    best_merges,
    condensed_distances,
    merge_tree,
    merges_between,
    register_clusterers,
)

quick = settings(max_examples=40, deadline=None)  # kernels compile on first use

LINKAGES = ["single", "complete", "average", "ward"]


@st.composite
def tables(draw):
    """Small counts with empty rows, empty columns, duplicated and all-equal rows: ties."""
    n_rows, n_words = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    counts = draw(arrays(np.int64, (n_rows, n_words), elements=st.integers(0, 3)))
    if draw(st.booleans()):
        counts[draw(st.integers(0, n_rows - 1))] = 0
    if draw(st.booleans()):
        counts[-1] = counts[0]
    if draw(st.integers(0, 9)) == 0:
        counts[:] = counts[0]
    return counts


@st.composite
def tied_distances(draw):
    """Condensed distances of few different values, so that most are tied."""
    n = draw(st.integers(2, 8))
    values = st.sampled_from([0.0, 0.5, 1.0, 1.5])
    return draw(arrays(np.float64, n * (n - 1) // 2, elements=values))


def united(linkage, square, a, b, sizes):
    """The distances of the union of a and b to all others, after Lance and Williams."""
    da, db, dab = square[a], square[b], square[a, b]
    na, nb = sizes[a], sizes[b]
    if linkage == "single":
        return np.minimum(da, db)
    if linkage == "complete":
        return np.maximum(da, db)
    if linkage == "average":
        return (na * da + nb * db) / (na + nb)
    squared = (na + sizes) * da**2 + (nb + sizes) * db**2 - sizes * dab**2
    return np.sqrt(np.maximum(squared / (na + nb + sizes), 0.0))


def assert_always_the_closest_pair(tree, distances, linkage):
    """Each merge of the tree joins two groups than which none are closer, at that height."""
    n = len(tree) + 1
    square = np.full((2 * n - 1, 2 * n - 1), np.inf)
    square[:n, :n] = squareform(distances)
    np.fill_diagonal(square, np.inf)
    sizes = np.ones(2 * n - 1)
    alive = set(range(n))
    for m, (left, right, height, size) in enumerate(tree):
        a, b, new = int(left), int(right), n + m
        assert {a, b} <= alive
        closest = min(square[i, j] for i in alive for j in alive if i < j)
        assert height == pytest.approx(square[a, b], abs=1e-9)
        assert height == pytest.approx(closest, abs=1e-9)
        with np.errstate(invalid="ignore"):  # what is not alive is infinitely far
            row = united(linkage, square, a, b, sizes)
        square[new, list(alive)] = row[list(alive)]
        square[list(alive), new] = row[list(alive)]
        sizes[new] = sizes[a] + sizes[b]
        assert size == sizes[new]
        alive = (alive - {a, b}) | {new}


def blobs(n_blobs, n_rows=60, seed=0):
    """Rows in well separated directions, and their directions."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_blobs
    centres = np.eye(n_blobs) * 3
    return csr_array(centres[labels] + 0.1 * rng.random((n_rows, n_blobs))), labels


@pytest.mark.parametrize("linkage", LINKAGES)
@quick
@given(st.integers(2, 25), st.integers(0, 2**32 - 1))
def test_the_tree_is_scipys_where_nothing_is_tied(linkage, n, seed):
    distances = np.random.default_rng(seed).random(n * (n - 1) // 2)
    theirs = scipy_linkage(distances, linkage)
    ours = merge_tree(distances.copy(), linkage)
    assert np.array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
    assert np.allclose(ours[:, 2], theirs[:, 2])


@pytest.mark.parametrize("linkage", LINKAGES)
@quick
@given(tied_distances())
def test_where_there_are_ties_every_merge_is_still_one_of_the_closest(linkage, distances):
    assert_always_the_closest_pair(merge_tree(distances.copy(), linkage), distances, linkage)


@quick
@given(tied_distances())
def test_heights_of_single_linkage_are_scipys_even_with_ties(distances):
    theirs = scipy_linkage(distances, "single")[:, 2]
    assert np.allclose(merge_tree(distances.copy(), "single")[:, 2], theirs)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_labels_are_scipys(linkage, k):
    rows = csr_array(np.random.default_rng(k).random((40, 12)))
    distances = 1 - cosine(rows, rows)[np.triu_indices(40, 1)]
    if linkage == "ward":
        distances = np.sqrt(2 * distances)
    theirs = fcluster(scipy_linkage(distances, linkage), k, "maxclust")
    assert np.array_equal(AHC(k=k, linkage=linkage).cluster(rows, None), in_order(theirs))


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_cut_by_distance_is_scipys(linkage):
    rows = csr_array(np.random.default_rng(1).random((30, 6)))
    distances = 1 - cosine(rows, rows)[np.triu_indices(30, 1)]
    tree = scipy_linkage(distances, linkage)
    for height in (0.0, *tree[::7, 2] + 1e-9, 9.0):
        ours = AHC(distance=height, linkage=linkage, distance_from="one-minus").cluster(rows)
        assert np.array_equal(ours, in_order(fcluster(tree, height, "distance")))


@quick
@given(
    tables(),
    st.sampled_from(LINKAGES),
    st.sampled_from([{}, {"k": 1}, {"k": 3}, {"distance": 0.0}, {"distance": 0.4}]),
)
def test_the_promises_are_kept(counts, linkage, cut):
    rows = csr_array(counts)
    before = rows.copy()
    clusterer = AHC(linkage=linkage, **cut)
    labels = clusterer.cluster(rows, None)
    assert (rows != before).nnz == 0
    assert labels.dtype == np.int64
    assert ((labels == -1) == (counts.sum(axis=1) == 0)).all()
    kept = labels[labels >= 0]
    assert list(dict.fromkeys(kept.tolist())) == list(range(kept.max(initial=-1) + 1))
    if "k" in cut:
        assert kept.max(initial=-1) + 1 == min(cut["k"], len(kept))
    assert np.array_equal(labels, clusterer.cluster(rows, None))
    assert len(clusterer.tree_) == max(len(kept) - 1, 0)


@quick
@given(tables(), st.integers(1, 60))
def test_blocks_say_what_the_whole_says(counts, budget):
    rows = csr_array(counts)
    where = np.flatnonzero(counts.sum(axis=1))
    whole = cosine(rows[where], rows[where]) if len(where) else np.empty((0, 0))
    seen = 0
    for start, actual in similarity_blocks(rows, where, cosine, budget=budget):
        assert start == seen
        assert actual.size <= max(budget, len(where))
        assert np.allclose(actual, whole[start : start + len(actual), start:])
        seen += len(actual)
    assert seen == len(where)


def test_a_measure_is_given_the_rows_as_they_came_and_only_half_of_the_pairs():
    rows = csr_array(np.random.default_rng(0).integers(0, 4, (50, 8)))
    asked = []

    def compare(left, right):
        asked.append((left.dtype, left.shape[0], right.shape[0]))
        return cosine(left, right)

    list(similarity_blocks(rows, np.arange(50), compare, budget=500))
    assert asked == [(np.int64, 10, width) for width in (50, 40, 30, 20, 10)]
    assert list(blocks(0, 5)) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_row_of_mass_three_counts_like_three_equal_rows(seed):
    rng = np.random.default_rng(seed)
    masses = rng.integers(1, 4, 7)
    points = rng.random((7, 3))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    repeated = np.repeat(np.arange(7), masses)
    copies = apart[np.ix_(repeated, repeated)]
    weighed = merge_tree(squareform(apart, checks=False).copy(), "average", masses.astype(float))
    spelled = merge_tree(squareform(copies, checks=False).copy(), "average")
    heights = spelled[spelled[:, 2] > 0, 2]
    assert np.allclose(weighed[:, 2], heights)


def test_long_rows_outweigh_short_ones():
    rows = csr_array(
        np.array([[9.0, 1, 0, 0], [1, 0, 0, 0.6], [0, 0, 2, 2], [0, 0, 1, 1], [0.2, 0.2, 0.2, 0.2]])
    )
    equal, tree = AHC(k=2), AHC(k=2, mass="length")
    equal.cluster(rows, cosine)
    tree.cluster(rows, cosine)
    assert not np.allclose(tree.tree_, equal.tree_)
    norms = np.linalg.norm(rows.toarray(), axis=1)
    expected = merge_tree(
        condensed_distances(rows, np.arange(5), cosine, "one-minus"), "average", norms
    )
    assert np.allclose(tree.tree_, expected)


def test_the_tree_needs_no_second_copy_of_the_distances():
    n = 700
    distances = np.random.default_rng(0).random(n * (n - 1) // 2)
    merge_tree(distances[:45].copy())  # compiled before it is measured
    for linkage in LINKAGES:
        tracemalloc.start()
        merge_tree(distances, linkage)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < distances.nbytes / 4


def test_similarities_become_distances_as_asked():
    rows = csr_array(np.eye(3))

    def compare(left, right):
        return np.full((left.shape[0], right.shape[0]), 1.5) - cosine(left, right)

    where = np.arange(3)
    assert condensed_distances(rows, where, cosine, "one-minus").tolist() == [1, 1, 1]
    assert np.allclose(condensed_distances(rows, where, cosine, "euclidean"), 2**0.5)
    assert condensed_distances(rows, where, compare, "one-minus").tolist() == [0, 0, 0]
    assert AHC(linkage="ward").distance_from == "euclidean"
    assert AHC(linkage="average").distance_from == "one-minus"


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("n_blobs", [2, 5, 20])
def test_the_data_choose_the_cut_where_they_fall_apart(linkage, n_blobs):
    rows, planted = blobs(n_blobs)
    assert np.array_equal(AHC(linkage=linkage).cluster(rows, None), in_order(planted))


def test_where_nothing_falls_apart_all_is_one():
    assert AHC().cluster(csr_array(np.eye(6))).tolist() == [0] * 6
    assert AHC().cluster(csr_array(np.ones((6, 2)))).tolist() == [0] * 6
    assert AHC().cluster(csr_array(np.eye(2))).tolist() == [0, 0]
    assert AHC().cluster(csr_array([[0, 3]])).tolist() == [0]
    assert best_merges(np.empty((0, 4))) == 0


def held(tree, n_merges, masses):
    """How deep items lie in the groups after some merges, by the definition: group by group."""
    n = len(tree) + 1
    members = [[i] for i in range(n)]
    for left, right, *_ in tree:
        members.append(members[int(left)] + members[int(right)])
    parent = {int(child): m for m, pair in enumerate(tree[:, :2]) for child in pair}
    total = 0.0
    for group in range(n + n_merges):
        swallowed = parent.get(group)
        if group >= n and swallowed is not None and swallowed >= n_merges:
            depth = 1 - tree[group - n, 2] / tree[swallowed, 2]
            total += depth * sum(masses[i] for i in members[group])
    return total / sum(masses)


@pytest.mark.parametrize("seed", range(12))
def test_between_two_heights_the_cut_is_where_groups_hold_best(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    masses = rng.random(n) + 0.1
    tree = merge_tree(rng.random(n * (n - 1) // 2) + 0.01, "average", masses)
    low, high = np.sort(rng.random(2))
    cuts = [
        m
        for m in range(n)
        if (m == 0 or tree[m - 1, 2] <= high) and (m == n - 1 or tree[m, 2] > low)
    ]
    scores = [held(tree, m, masses) for m in cuts]
    assert scores[cuts.index(merges_between(tree, low, high, masses))] == pytest.approx(max(scores))
    assert merges_between(tree, low, low, masses) == cuts[0]


def test_the_data_choose_only_between_the_heights_that_are_given():
    rows, planted = blobs(5)
    apart = AHC(distance=0.0, farthest=1.0, linkage="average").cluster(rows, None)
    assert np.array_equal(apart, in_order(planted))
    narrow = AHC(distance=0.2, farthest=0.2).cluster(rows, None)
    assert np.array_equal(narrow, AHC(distance=0.2).cluster(rows, None))


def test_a_cut_that_leaves_rows_alone_rises():
    pairs = np.repeat(np.eye(12), 2, axis=0) * 0.5
    rows = csr_array(np.hstack([pairs, np.eye(24)]))  # two rows of a pair are 0.8 apart
    cut = {"distance": 0.3, "farthest": 0.4}
    assert len(set(AHC(**cut).cluster(rows, None))) == 24
    risen = AHC(**cut, scattered=0.9).cluster(rows, None)
    assert risen.tolist() == np.repeat(np.arange(12), 2).tolist()
    assert len(set(AHC(**cut, scattered=0.7).cluster(rows, None))) == 24


def test_a_cut_that_merges_does_not_rise():
    rows, _ = blobs(5)
    cut = {"distance": 0.0, "farthest": 1.0}
    assert np.array_equal(
        AHC(**cut, scattered=1.5).cluster(rows, None), AHC(**cut).cluster(rows, None)
    )


def test_a_weak_tree_is_cut_into_few():
    rows = csr_array(np.random.default_rng(0).random((100, 200)) ** 4)
    assert AHC().cluster(rows).max() < 10


@pytest.mark.parametrize("linkage", LINKAGES)
def test_copies_are_one_height_whatever_rounding_makes_of_them(linkage):
    copies = np.repeat(np.random.default_rng(0).random((4, 7)), 3, axis=0)
    lengths = np.linspace(0.1, 3, 12)[:, None]
    tree = AHC(k=4, linkage=linkage)
    wanted = tree.cluster(csr_array(copies * lengths)).tolist()
    assert wanted == np.repeat(np.arange(4), 3).tolist()
    assert best_merges(tree.tree_) >= 8
    apart = csr_array(np.repeat(np.eye(4), 3, axis=0) * lengths)
    assert AHC(linkage=linkage).cluster(apart).tolist() == wanted


def test_a_measure_that_breaks_its_promise_is_named():
    rows = csr_array(np.eye(3))
    with pytest.raises(ValueError, match=r"compare returned shape \(2, 2\), expected \(3, 3\)"):
        AHC(k=2).cluster(rows, lambda left, right: np.eye(2))
    with pytest.raises(ValueError, match="compare returned a similarity that is not finite"):
        AHC(k=2).cluster(rows, lambda left, right: np.full((3, 3), np.nan))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k=0 should be >= 1"),
        ({"distance": -1.0}, "distance=-1.0 should be >= 0"),
        ({"k": 2, "distance": 0.5}, "k=2 and distance=0.5: one cut should be given"),
        ({"farthest": 0.5}, "farthest=0.5 should be at least the distance, None"),
        ({"distance": 0.5, "farthest": 0.4}, "farthest=0.4 should be at least the distance, 0.5"),
        ({"scattered": 0.5}, "scattered=0.5 should be at least farthest, None"),
        ({"linkage": "median"}, "linkage='median' should be one of single, complete"),
        ({"mass": "heavy"}, "mass='heavy' should be one of equal, length"),
        ({"mass": "length", "linkage": "ward"}, "mass='length' is for linkage='average'"),
        ({"distance_from": "log"}, "distance_from='log' should be one of one-minus, euclidean"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        AHC(**wrong)


def test_it_is_offered_by_name():
    assert register_clusterers() == {"ahc": AHC}
