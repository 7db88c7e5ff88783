"""Entropy k-means: the objective, the moves, the searches; the slow and obvious form beside each."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith_plugins.clusterers import _entropy_kernels as kernels
from segapsith_plugins.clusterers import _entropy_search as search
from segapsith_plugins.clusterers import entropy_kmeans
from segapsith_plugins.clusterers.entropy_kmeans import (
    EntropyKMeans,
    best_move,
    conditional_entropy,
    is_single_move_optimum,
    register_clusterers,
)

quick = settings(max_examples=30, deadline=None)  # kernels compile on first use

METHODS = ["sequential", "agglomerative", "batch", "random-moves"]


@st.composite
def tables(draw, highest=6, least_rows=1):
    """Small counts with empty rows, empty columns, duplicated and all-equal rows."""
    n_rows, n_words = draw(st.integers(least_rows, 9)), draw(st.integers(1, 6))
    cells = st.one_of(st.just(0), st.integers(0, highest))
    counts = draw(arrays(np.int64, (n_rows, n_words), elements=cells))
    if draw(st.booleans()):
        counts[draw(st.integers(0, n_rows - 1))] = 0
    if draw(st.booleans()):
        counts[:, draw(st.integers(0, n_words - 1))] = 0
    if draw(st.booleans()):
        counts[-1] = counts[0]
    if draw(st.integers(0, 9)) == 0:
        counts[:] = counts[0]
    return counts


@st.composite
def partitions(draw, highest=6):
    """Counts without empty rows, with a label for each and room for one empty cluster."""
    counts = draw(tables(highest))
    counts = counts[counts.sum(axis=1) > 0]
    if not len(counts):
        counts = np.array([[1]])
    k = draw(st.integers(2, 4))
    return counts, draw(arrays(np.int64, len(counts), elements=st.integers(0, k - 1))), k


def f(x):
    return x * math.log(x) if x > 0 else 0.0


def obvious_entropy(counts, labels):
    """- sum p(w,k) ln p(w|k), as printed."""
    total = counts.sum()
    entropy = 0.0
    for k in set(labels.tolist()) - {-1}:
        pooled = counts[labels == k].sum(axis=0)
        for count in pooled[pooled > 0]:
            entropy -= count / total * math.log(count / pooled.sum())
    return entropy


def obvious_moves(counts, labels, k):
    """The entropy after each single move, by moving."""
    after = {}
    for unit in range(len(counts)):
        for cluster in range(k):
            if cluster != labels[unit]:
                moved = labels.copy()
                moved[unit] = cluster
                after[unit, cluster] = obvious_entropy(counts, moved)
    return after


def partition_of(counts, labels, k):
    units = csr_array(counts.astype(float))
    return search.Partition(units, labels, k, search.tables_for(units))


def topics(n_units=120, n_topics=4, seed=0):
    """Units of well separated topics, and their topics."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_units) % n_topics
    mixtures = np.full((n_topics, 5 * n_topics), 0.02)
    for topic in range(n_topics):
        mixtures[topic, 5 * topic : 5 * topic + 5] = 1.0
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    return csr_array(np.stack([rng.multinomial(30, mixtures[t]) for t in labels])), labels


def same_partition(left, right):
    return len(set(zip(left.tolist(), right.tolist(), strict=True))) == len(set(left.tolist()))


@quick
@given(partitions())
def test_the_closed_form_is_the_printed_one(case):
    counts, labels, _ = case
    actual = conditional_entropy(csr_array(counts), labels)
    assert actual == pytest.approx(obvious_entropy(counts, labels), abs=1e-12)


@quick
@given(partitions())
def test_entropy_lies_between_that_of_units_and_that_of_words(case):
    counts, labels, _ = case
    rows = csr_array(counts)
    n = len(counts)
    lowest = conditional_entropy(rows, np.arange(n))
    highest = conditional_entropy(rows, np.zeros(n, dtype=int))
    assert lowest - 1e-12 <= conditional_entropy(rows, labels) <= highest + 1e-12
    shares = counts.sum(axis=0) / counts.sum()
    assert highest == pytest.approx(-sum(f(p) for p in shares), abs=1e-12)


@quick
@given(partitions())
def test_what_is_lost_against_the_units_is_the_weighted_divergence(case):
    counts, labels, _ = case
    rows = csr_array(counts)
    divergence = 0.0
    for unit, k in zip(counts, labels, strict=True):
        own, pooled = unit / unit.sum(), counts[labels == k].sum(axis=0)
        cluster = pooled / pooled.sum()
        seen = own > 0
        divergence += unit.sum() * (own[seen] * np.log(own[seen] / cluster[seen])).sum()
    lost = conditional_entropy(rows, labels) - conditional_entropy(rows, np.arange(len(counts)))
    assert lost == pytest.approx(divergence / counts.sum(), abs=1e-12)


@quick
@given(partitions())
def test_other_names_for_the_clusters_leave_the_entropy(case):
    counts, labels, _ = case
    renamed = (17 - 3 * labels).astype(int)
    rows = csr_array(counts)
    assert conditional_entropy(rows, renamed) == conditional_entropy(rows, labels)


def test_rows_without_a_label_are_left_out():
    rows = csr_array([[3, 1], [0, 9], [1, 1]])
    assert conditional_entropy(rows, np.array([0, -1, 1])) == pytest.approx(
        conditional_entropy(rows[[0, 2]], np.array([0, 1]))
    )


@pytest.mark.parametrize("highest", [3, 90])  # above 32 the table gives way to logarithms
def test_the_best_move_is_that_of_trying_all(highest):
    @quick
    @given(partitions(highest))
    def check(case):
        counts, labels, k = case
        labels = np.unique(labels, return_inverse=True)[1]  # names without gaps
        after = obvious_moves(counts, labels, k)
        now = obvious_entropy(counts, labels)
        move = best_move(csr_array(counts), labels, k)
        assert move.change == pytest.approx(min(after.values()) - now, abs=1e-12)
        assert after[move.unit, move.cluster] - now == pytest.approx(move.change, abs=1e-12)

    check()


@pytest.mark.slow
@quick
@given(partitions(), st.sampled_from([0.5, 0.1, 3.7]))
def test_fractions_are_moved_like_whole_counts(case, scale):
    counts, labels, k = case
    labels = np.unique(labels, return_inverse=True)[1]
    whole = best_move(csr_array(counts), labels, k)
    parts = best_move(csr_array(counts * scale), labels, k)
    assert parts.change == pytest.approx(whole.change, abs=1e-11)


@quick
@given(partitions())
def test_an_insertion_costs_what_the_jensen_shannon_form_says(case):
    counts, labels, k = case
    partition = partition_of(counts, labels, k)
    unit, n = counts[0], counts[0].sum()
    constant = f(n) - sum(f(x) for x in unit)
    for cluster in set(range(k)) - {labels[0]}:
        pooled = counts[labels == cluster].sum(axis=0)
        size = pooled.sum()
        joint = (unit + pooled) / (n + size)
        parts = [(n / (n + size), unit / n)]
        if size:
            parts.append((size / (n + size), pooled / size))
        divergence = sum(
            share * sum(p * math.log(p / q) for p, q in zip(part, joint, strict=True) if p > 0)
            for share, part in parts
        )
        cost = kernels._insertion_cost(
            0, cluster, False, partition.indptr, partition.words, partition.tallies,
            partition.tables.masses, partition.counts, partition.totals,
            partition.tables.rises, partition.tables.levels,
        )  # fmt: skip
        assert cost == pytest.approx(constant + (n + size) * divergence, abs=1e-9)


@pytest.mark.slow
@quick
@given(partitions(), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.3]))
def test_sums_kept_along_the_way_are_those_made_again(case, seed, scale):
    counts, labels, k = case
    partition = partition_of(counts * scale, labels, k)
    rng = np.random.default_rng(seed)
    total = partition.tables.total
    for _ in range(3):
        before = partition.loss()
        partition.sweep(rng.permutation(len(counts)))
        assert partition.loss() <= before + 1e-9
        recomputed = conditional_entropy(csr_array(counts * scale), partition.labels)
        assert partition.loss() / total == pytest.approx(recomputed, abs=1e-12)
    partition.relabel(labels)
    fresh = partition_of(counts * scale, labels, k)
    assert np.allclose(partition.counts, fresh.counts)
    assert np.allclose(partition.memo, fresh.memo)
    assert np.allclose(partition.totals, fresh.totals)


@pytest.mark.parametrize(("k", "noted"), [(3, 1000), (9, 1000), (9, 3), (40, 1000)])
def test_sweeps_that_pass_over_units_move_the_same_units(k, noted, monkeypatch):
    monkeypatch.setattr(search, "NOTED", noted)
    counts, _ = topics(150, 6)
    units = csr_array(counts.astype(float))
    rng = np.random.default_rng(k)
    labels = rng.integers(0, k, units.shape[0])
    fast, plain = (
        partition_of(counts.toarray(), labels, k),
        partition_of(counts.toarray(), labels, k),
    )

    def sweep_both(order):
        moved = fast.sweep(order)
        all_of = (*plain._units(), *plain._sums(), plain.tables.tolerance)
        assert moved == kernels.sweep(order, *all_of)
        assert fast.labels.tolist() == plain.labels.tolist()
        return moved

    while sweep_both(rng.permutation(150)):
        sweep_both(rng.permutation(150)[:40])
    for accepts in (False, True):
        before = plain.labels.copy()
        trial = before.copy()
        trial[before == before[0]] = before[1]  # two clusters are merged
        fast.attempt(trial, np.array([before[0], before[1]]))
        plain.relabel(trial)
        sweep_both(rng.permutation(np.flatnonzero(trial == before[1])))
        sweep_both(rng.permutation(150))
        if accepts:
            fast.accept()
        else:
            fast.undo()
            plain.relabel(before)
        while sweep_both(rng.permutation(150)):
            pass


def test_large_inputs_get_fewer_starts_and_no_splits(monkeypatch):
    counts, _ = topics()
    cost = counts.nnz * 4
    few = EntropyKMeans(k=4)
    few.cluster(counts)
    assert len(few.entropies_) == 10
    monkeypatch.setattr(entropy_kmeans, "STARTS_COST", 3.5 * cost)
    monkeypatch.setattr(entropy_kmeans, "SPLIT_COST", cost - 1)
    monkeypatch.setattr(entropy_kmeans, "split_and_merge", lambda *_: pytest.fail("it splits"))
    few.cluster(counts)
    assert len(few.entropies_) == 3
    few = EntropyKMeans(k=4, n_init=5)
    few.cluster(counts)
    assert len(few.entropies_) == 5


@quick
@given(partitions(), st.integers(0, 2**32 - 1))
def test_a_random_move_is_made_exactly_if_it_lowers_the_entropy(case, seed):
    counts, labels, k = case
    partition = partition_of(counts, labels, k)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        before, entropy = partition.labels.copy(), obvious_entropy(counts, partition.labels)
        unit, other = rng.integers(len(counts)), rng.integers(k - 1)
        expected = before.copy()
        expected[unit] = other + (other >= before[unit])
        change = obvious_entropy(counts, expected) - entropy
        was_moved = partition.trials(np.array([unit]), np.array([other]), np.zeros(1), 0.0)[0]
        assert (partition.labels == (expected if was_moved else before)).all()
        if abs(change) > 1e-10:
            assert was_moved == (change < 0)


@pytest.mark.slow
@quick
@given(tables(), st.integers(1, 5), st.sampled_from(METHODS), st.sampled_from(["counts", "equal"]))
def test_every_method_keeps_the_promises(counts, k, method, unit_mass):
    rows = csr_array(counts)
    before = rows.copy()
    clusterer = EntropyKMeans(k=k, method=method, unit_mass=unit_mass)
    labels = clusterer.cluster(rows, None)
    assert (rows != before).nnz == 0
    assert labels.dtype == np.int64
    assert ((labels == -1) == (counts.sum(axis=1) == 0)).all()
    kept = labels[labels >= 0]
    assert list(dict.fromkeys(kept.tolist())) == list(range(kept.max(initial=-1) + 1))
    assert kept.max(initial=-1) < k
    assert (labels == clusterer.cluster(rows, None)).all()
    weighed = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    held = csr_array(counts if unit_mass == "counts" else weighed)
    assert clusterer.entropy_ == pytest.approx(conditional_entropy(held, labels), abs=1e-12)
    room = min(k, len(kept))
    assert is_single_move_optimum(held, labels, room)
    assert clusterer.move_.change >= -1e-9


@quick
@given(tables())
def test_one_cluster_gives_the_words_and_one_a_unit_the_units(counts):
    rows = csr_array(counts)
    one, each = EntropyKMeans(k=1), EntropyKMeans(k=len(counts))
    assert set(one.cluster(rows).tolist()) <= {0, -1}
    each.cluster(rows)
    assert one.entropy_ == pytest.approx(conditional_entropy(rows, np.zeros(len(counts), int)))
    units = conditional_entropy(rows, np.arange(len(counts)))
    assert each.entropy_ == pytest.approx(units, abs=1e-12)


@quick
@given(partitions())
def test_the_merges_add_up_to_all_that_can_be_lost(case):
    counts, _, _ = case
    units = csr_array(counts.astype(float))
    left, _, costs, heights = kernels.merge_tree(
        units.indptr.astype(np.int64), units.indices.astype(np.int64), units.data,
        units.shape[1], search.tables_for(units).levels,
    )  # fmt: skip
    n = len(counts)
    assert len(left) == n - 1
    worst = conditional_entropy(units, np.zeros(n, dtype=int))
    least = conditional_entropy(units, np.arange(n))
    assert costs.sum() == pytest.approx(counts.sum() * (worst - least), abs=1e-9)
    assert (costs >= -1e-9).all()
    assert (heights >= costs - 1e-12).all()


@quick
@given(partitions())
def test_the_first_merge_loses_least(case):
    counts, _, _ = case
    n = len(counts)
    if n < 2:
        return
    rows = csr_array(counts.astype(float))
    labels = search._merged(rows, n - 1)
    pairs = []
    for a in range(n):
        for b in range(a):
            joint = np.arange(n)
            joint[a] = b
            pairs.append(obvious_entropy(counts, joint))
    assert obvious_entropy(counts, labels) == pytest.approx(min(pairs), abs=1e-12)


@quick
@given(partitions())
def test_merging_two_clusters_costs_what_merging_them_costs(case):
    counts, labels, k = case
    partition = partition_of(counts, labels, k)
    costs = np.full((k, k), np.inf)
    kernels.merge_costs(
        np.arange(k), partition.counts, partition.totals, partition.tables.levels, costs
    )
    for a in range(k):
        for b in range(a):
            merged = np.where(labels == a, b, labels)
            rise = obvious_entropy(counts, merged) - obvious_entropy(counts, labels)
            assert costs[a, b] == costs[b, a] == pytest.approx(counts.sum() * rise, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_separate_topics_are_found(method):
    counts, planted = topics()
    clusterer = EntropyKMeans(k=4, method=method, n_init=5 if method != "agglomerative" else 1)
    assert same_partition(clusterer.cluster(counts), planted)
    assert clusterer.entropy_ == pytest.approx(conditional_entropy(counts, planted))


def test_annealing_finds_them_too():
    counts, planted = topics(60)
    clusterer = EntropyKMeans(k=4, method="random-moves", temperature0=5.0)
    assert same_partition(clusterer.cluster(counts), planted)


def test_split_and_merge_leaves_an_optimum_that_single_moves_cannot():
    counts, planted = topics(200, 8)
    stuck = np.where(planted == 1, 0, planted)  # two topics in one cluster, one topic in two
    stuck[(planted == 2) & (np.arange(200) % 16 < 8)] = 1
    partition = partition_of(counts.toarray(), stuck, 8)
    rng = np.random.default_rng(0)
    search.settle(partition, rng, 100)
    settled = partition.loss()
    losses = [settled]
    for _ in search.split_and_merge(partition, rng, 100):
        losses.append(partition.loss())
    assert len(losses) > 1
    assert all(after < before for before, after in pairwise(losses))
    assert partition.loss() < settled
    assert same_partition(partition.labels, planted)


@pytest.mark.parametrize("seed", range(3))
def test_split_and_merge_never_ends_higher(seed):
    counts = csr_array(np.random.default_rng(seed).poisson(0.5, (60, 25)))
    entropies = []
    for split_merge in (False, True):
        clusterer = EntropyKMeans(k=6, split_merge=split_merge, n_init=2, seed=seed)
        clusterer.cluster(counts)
        entropies.append(clusterer.entropy_)
    assert entropies[1] <= entropies[0]


def test_many_units_are_agglomerated_from_micro_clusters(monkeypatch):
    monkeypatch.setattr(search, "EXACT_START", 100)
    counts, planted = topics(400)
    labels = EntropyKMeans(k=4, method="agglomerative").cluster(counts)
    assert same_partition(labels, planted)


def test_starts_do_not_depend_on_how_many_there_are():
    counts, _ = topics(60)
    few, many = EntropyKMeans(k=4, n_init=3), EntropyKMeans(k=4, n_init=6)
    few.cluster(counts)
    many.cluster(counts)
    assert few.entropies_ == many.entropies_[:3]


def test_a_table_that_is_not_in_order_is_read_as_it_is_meant():
    counts, _ = topics(40)
    shuffled = csr_array(
        (
            np.append(counts.data, [0, 5, -5]),
            np.append(counts.indices, [0, 1, 1]),
            np.append(counts.indptr[:-1], counts.nnz + 3),
        ),
        shape=counts.shape,
    )
    labels = EntropyKMeans(k=4).cluster(shuffled)
    assert (labels == EntropyKMeans(k=4).cluster(counts)).all()
    assert shuffled.nnz == counts.nnz + 3


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 4)])
def test_nothing_at_all_is_no_cluster(shape):
    clusterer = EntropyKMeans(k=2)
    assert (clusterer.cluster(csr_array(shape), None) == -1).all()
    assert clusterer.entropy_ == 0.0


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="rows contain -1; counts should be >= 0"):
        EntropyKMeans(k=2).cluster(csr_array([[1, -1], [2, 0]]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k=0 should be >= 1"),
        ({"k": 2.5}, "k=2.5 should be a whole number"),
        ({"n_init": 0}, "n_init=0 should be >= 1"),
        ({"max_sweeps": 0}, "max_sweeps=0 should be >= 1"),
        ({"method": "best"}, "method='best' should be one of sequential, agglomerative"),
        ({"unit_mass": "none"}, "unit_mass='none' should be one of counts, equal"),
        ({"smoothing": 1.0}, "smoothing=1.0 should be left out unless method='batch'"),
        ({"smoothing": 0.0, "method": "batch"}, "smoothing=0.0 should be > 0"),
        ({"patience": 5}, "patience=5 should be left out unless method='random-moves'"),
        ({"temperature0": 1.0}, "temperature0=1.0 should be left out unless"),
        ({"temperature0": -1.0, "method": "random-moves"}, "temperature0=-1.0 should be >= 0"),
        ({"n_init": 2, "method": "agglomerative"}, "n_init=2 should be 1"),
        ({"seed": -1}, "seed=-1 should be >= 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        EntropyKMeans(**wrong)


def test_it_is_offered_by_name():
    assert register_clusterers() == {"entropy-kmeans": EntropyKMeans}
