"""Scores against scikit-learn, and against their formulae written out unit by unit."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as sklearn

from segapsith.evaluation import metrics

labellings = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 5), min_size=n, max_size=n),
        st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=n, max_size=n),
    )
)
"""Clusters and classes of the same units."""

texts = st.tuples(
    st.lists(st.integers(1, 8), min_size=1, max_size=8),
    st.lists(st.integers(1, 8), min_size=1, max_size=8),
).map(lambda both: (both[0] + [sum(both[1])], both[1] + [sum(both[0])]))
"""Two segmentations of the same text."""

agreements = [
    metrics.micro_precision,
    metrics.purity,
    metrics.nmi,
    metrics.ari,
    metrics.f_measure,
    lambda labels, classes: metrics.bcubed(labels, classes).f1,
]
distances = [metrics.entropy, metrics.van_dongen, metrics.variation_of_information]


def cells(labels, classes):
    """n_ij, n_i, n_j: the table as plain counting gives it."""
    both = list(zip(classes, labels, strict=True))
    return (
        {pair: both.count(pair) for pair in set(both)},
        {name: classes.count(name) for name in set(classes)},
        {name: labels.count(name) for name in set(labels)},
    )


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_scores_agree_with_scikit_learn(both):
    labels, classes = both
    assert metrics.nmi(labels, classes) == pytest.approx(
        sklearn.normalized_mutual_info_score(classes, labels), abs=1e-12
    )
    assert metrics.nmi(labels, classes, form="geometric") == pytest.approx(
        sklearn.normalized_mutual_info_score(classes, labels, average_method="geometric"), abs=1e-12
    )
    assert metrics.ari(labels, classes) == pytest.approx(
        sklearn.adjusted_rand_score(classes, labels), abs=1e-12
    )
    assert metrics.ami(labels, classes) == pytest.approx(
        sklearn.adjusted_mutual_info_score(classes, labels), abs=1e-9
    )


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_the_sums_over_classes_are_those_of_the_formulae(both):
    labels, classes = both
    n_ij, n_i, n_j = cells(labels, classes)
    n = len(labels)
    by_class = {i: max(n_ij.get((i, j), 0) for j in n_j) for i in n_i}
    by_cluster = {j: max(n_ij.get((i, j), 0) for i in n_i) for j in n_j}
    assert metrics.purity(labels, classes) == pytest.approx(sum(by_cluster.values()) / n)
    f = sum(n_i[i] / n * max(2 * n_ij.get((i, j), 0) / (n_i[i] + n_j[j]) for j in n_j) for i in n_i)
    assert metrics.f_measure(labels, classes) == pytest.approx(f)
    span = 2 * n - max(n_i.values()) - max(n_j.values())
    distance = (2 * n - sum(by_class.values()) - sum(by_cluster.values())) / span if span else 0
    assert metrics.van_dongen(labels, classes) == pytest.approx(distance)
    mixture = -sum(n_j[j] / n * m / n_j[j] * math.log(m / n_j[j]) for (_, j), m in n_ij.items())
    assert metrics.entropy(labels, classes, normalised=False) == pytest.approx(mixture, abs=1e-12)
    assert metrics.entropy(labels, classes, normalised=False, base=2) == pytest.approx(
        mixture / math.log(2), abs=1e-12
    )
    if len(n_i) > 1:
        assert metrics.entropy(labels, classes) == pytest.approx(
            mixture / math.log(len(n_i)), abs=1e-12
        )


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_entropy_is_what_homogeneity_lacks(both):
    labels, classes = both
    of_classes = metrics.entropy([0] * len(classes), classes, normalised=False)
    missing = (1 - sklearn.homogeneity_score(classes, labels)) * of_classes
    assert metrics.entropy(labels, classes, normalised=False) == pytest.approx(missing, abs=1e-12)


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_bcubed_is_the_mean_over_units(both):
    labels, classes = both
    units = range(len(labels))
    precision, recall = [], []
    for i in units:
        cluster = [j for j in units if labels[j] == labels[i]]
        of_class = [j for j in units if classes[j] == classes[i]]
        shared = len(set(cluster) & set(of_class))
        precision.append(shared / len(cluster))
        recall.append(shared / len(of_class))
    p, r = np.mean(precision), np.mean(recall)
    assert metrics.bcubed(labels, classes) == pytest.approx((p, r, 2 * p * r / (p + r)))


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_micro_precision_is_the_best_of_all_mappings(both):
    labels, classes = both
    labels = [label % 4 for label in labels]  # four at most, so that all mappings can be tried
    names, targets = sorted(set(labels)), sorted(set(classes))
    targets += [None] * (len(names) - len(targets))  # clusters in surplus stay unmapped
    units = list(zip(labels, classes, strict=True))
    best = 0
    for chosen in itertools.permutations(targets, len(names)):
        mapping = dict(zip(names, chosen, strict=True))
        best = max(best, sum(mapping[label] == name for label, name in units))
    assert metrics.micro_precision(labels, classes) == pytest.approx(best / len(units))
    assert metrics.micro_precision(labels, classes) <= metrics.purity(labels, classes)


@pytest.mark.slow
@pytest.mark.parametrize("score", [*agreements, *distances])
@settings(deadline=None)
@given(labellings)
def test_scores_lie_in_bounds_and_do_not_read_names(score, both):
    labels, classes = both
    value = score(labels, classes)
    assert (-0.5 if score is metrics.ari else 0.0) <= value <= 1.0
    renamed = [f"group {9 - label}" for label in labels]
    assert score(renamed, np.array(classes)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("score", agreements)
@settings(deadline=None)
@given(st.lists(st.integers(-1, 5)))
def test_the_same_partition_agrees_wholly(score, labels):
    assert score(labels, [str(label) for label in labels]) == 1.0


@pytest.mark.parametrize("score", distances)
@settings(deadline=None)
@given(st.lists(st.integers(-1, 5)))
def test_the_same_partition_is_at_no_distance(score, labels):
    assert score(labels, [str(label) for label in labels]) == 0.0


def test_chance_is_worth_nothing_by_the_adjusted_information():
    labels = random.Random(0).choices(range(40), k=2000)
    classes = random.Random(1).choices("abcdefgh", k=2000)
    assert metrics.nmi(labels, classes) > 0.02
    assert metrics.ami(labels, classes) == pytest.approx(0, abs=0.01)
    assert metrics.ami(range(5), "aabbb") == pytest.approx(0, abs=1e-12)


def test_minus_one_is_a_label_like_any_other():
    assert metrics.purity([-1, -1, 0], ["a", "b", "b"]) == pytest.approx(2 / 3)


def test_one_class_shares_nothing_with_two_clusters():
    assert metrics.nmi([0, 1], [0, 0]) == metrics.nmi([0, 1], [0, 0], form="geometric") == 0.0
    assert metrics.entropy([0, 1], [0, 0]) == 0.0
    assert metrics.variation_of_information([0, 1], [0, 0]) == 1.0


def test_independent_partitions_do_not_fall_below_zero():
    labels, classes = [0, 1, 2] * 21, [i // 21 for i in range(63)]
    assert 0.0 <= metrics.nmi(labels, classes) < 1e-12


@pytest.mark.slow
def test_scores_hold_for_a_million_units():
    labels = np.arange(1_000_000) % 70
    assert metrics.ari(labels, labels // 2) == pytest.approx(
        sklearn.adjusted_rand_score(labels // 2, labels), abs=1e-12
    )
    assert metrics.micro_precision(labels, labels // 2) == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.nmi([0], [0], form="harmonic"),
        lambda: metrics.entropy([0], [0], base=1),
        lambda: metrics.entropy([0], [0], base=0),
    ],
)
def test_wrong_settings_are_named(call):
    with pytest.raises(ValueError, match="should be"):
        call()


def literal_window(reference, k):
    if k is not None:
        return k
    return max(1, math.floor(sum(reference) / len(reference) / 2 + 0.5))


def segment_of(masses):
    return [number for number, mass in enumerate(masses) for _ in range(mass)]


def boundaries_between(masses, i, j):
    edges = set(itertools.accumulate(masses))
    return sum(1 for token in range(i, j) if token + 1 in edges)


@settings(deadline=None)
@given(texts, st.sampled_from([None, 1, 2, 3]))
def test_segmentation_scores_are_those_of_the_formulae(both, k):
    reference, hypothesis = both
    n = sum(reference)
    if k is not None and k >= n:
        k = None
    window = literal_window(reference, k)
    given_ids, found_ids = segment_of(reference), segment_of(hypothesis)
    starts = range(n - window)
    missed = sum(
        (given_ids[i] == given_ids[i + window]) != (found_ids[i] == found_ids[i + window])
        for i in starts
    )
    miscounted = sum(
        boundaries_between(reference, i, i + window)
        != boundaries_between(hypothesis, i, i + window)
        for i in starts
    )
    assert metrics.pk(reference, hypothesis, k) == pytest.approx(missed / len(starts))
    assert metrics.window_diff(reference, hypothesis, k) == pytest.approx(miscounted / len(starts))
    assert metrics.pk(reference, hypothesis, k) <= metrics.window_diff(reference, hypothesis, k)


@settings(deadline=None)
@given(texts, st.integers(0, 3))
def test_boundaries_are_matched_as_well_as_can_be(both, tolerance):
    given_at, found_at = (list(itertools.accumulate(masses))[:-1] for masses in both)
    near = np.array([[abs(i - j) <= tolerance for j in found_at] for i in given_at])
    rows, columns = linear_sum_assignment(near, maximize=True)
    expected = 2 * int(near[rows, columns].sum()) / (len(given_at) + len(found_at))
    assert metrics.boundary_f1(*both, tolerance) == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.integers(1, 9)))
def test_a_segmentation_agrees_with_itself(masses):
    assert metrics.pk(masses, masses) == metrics.window_diff(masses, masses) == 0.0
    assert metrics.boundary_f1(masses, masses) == 1.0


def test_segments_may_be_arrays():
    assert metrics.pk(np.array([2, 2]), np.array([4]), k=1) == pytest.approx(1 / 3)


def test_a_text_without_boundaries_is_told_from_one_with():
    assert metrics.boundary_f1([4], [4]) == 1.0
    assert metrics.boundary_f1([4], [2, 2]) == 0.0
    assert metrics.pk([1], [1]) == metrics.window_diff([], []) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.pk([2], [3]), "not the same text"),
        (lambda: metrics.pk([2, 0], [2]), ">= 1"),
        (lambda: metrics.pk([2.0], [2]), "whole numbers"),
        (lambda: metrics.pk([2], [2], k=2), "between 1 and 1"),
        (lambda: metrics.window_diff([2], [2], k=0), "between 1 and 1"),
        (lambda: metrics.boundary_f1([2], [2], tolerance=-1), "tolerance=-1"),
    ],
)
def test_what_is_no_segmentation_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_segmentation_scores_take_a_long_text():
    rng = random.Random(0)
    masses = [rng.randint(1, 40) for _ in range(20_000)]
    assert 0 < metrics.window_diff(masses, masses[::-1]) < 1
