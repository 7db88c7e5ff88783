"""Mantel's test against matrices of units by units, all permutations, and scikit-bio."""

import itertools
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score

from segapsith.evaluation.compare import mantel, mantel_from_margins, mantel_moments
from segapsith.evaluation.compare.mantel import _drawn_tables, _permuted_units

labellings = st.integers(2, 25).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)


def apart(labels):
    """1 where two units lie in different classes, else 0: the matrix that the program avoids."""
    labels = np.asarray(labels)
    return (labels[:, None] != labels[None, :]).astype(np.int64)


def sizes(labels):
    return np.unique(labels, return_counts=True)[1]


def all_z(a, b):
    """Z for every permutation of the units."""
    x, y = apart(a), apart(b)
    orders = np.array(list(itertools.permutations(range(len(b)))))
    return (x * y[orders[:, :, None], orders[:, None, :]]).sum(axis=(1, 2))


@settings(deadline=None)
@given(labellings)
def test_z_is_the_sum_over_pairs(both):
    x, y = apart(both[0]), apart(both[1])
    result = mantel(*both, permutations=0)
    assert result.z == (x * y).sum()
    assert (result.zx, result.zy) == (x.sum(), y.sum())
    assert result.z <= result.z_max == min(x.sum(), y.sum())


@settings(deadline=None)
@given(labellings)
def test_the_largest_z_is_reached_by_refinements_alone(both):
    a, b = both
    result = mantel(a, b, permutations=0)
    pairs = set(zip(a, b, strict=True))
    assert (result.z == result.z_max) == (len(pairs) == max(len(set(a)), len(set(b))))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2]),
        ([0, 0, 0, 0, 0, 1, 1], [0, 1, 1, 2, 2, 3, 3]),
        ([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1, 1]),
        ([0, 1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 1, 1, 1]),
        ([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1]),
    ],
)
def test_moments_are_those_of_all_permutations_of_seven_units(a, b):
    values = all_z(a, b)
    n = len(values)
    mean = Fraction(int(values.sum()), n)
    variance = Fraction(int((values**2).sum()), n) - mean**2
    assert mantel_moments(sizes(a).tolist(), sizes(b).tolist()) == (mean, variance)
    result = mantel(a, b, permutations=0)
    assert result.expected == float(mean)
    assert result.sd == pytest.approx(sqrt(variance))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 6).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 3), min_size=n, max_size=n)] * 2)
    )
)
def test_moments_hold_for_few_units_too(both):
    values = all_z(*both) if both[0] else np.zeros(1, dtype=np.int64)
    mean = Fraction(int(values.sum()), len(values))
    variance = Fraction(int((values**2).sum()), len(values)) - mean**2
    assert mantel_moments(*(sizes(labels).tolist() for labels in both)) == (mean, variance)


@settings(max_examples=15, deadline=None)
@given(st.tuples(*[st.lists(st.integers(0, 2), min_size=6, max_size=6)] * 2))
def test_p_is_near_that_of_all_permutations(both):
    values = all_z(*both)
    result = mantel(*both, permutations=1999)
    assert result.p == pytest.approx(np.mean(values >= result.z), abs=0.06)


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_ari_rand_and_correlation_follow_from_z(both):
    a, b = both
    result = mantel(a, b, permutations=0)
    n2 = len(a) * (len(a) - 1)
    assert result.ari == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
    assert 1 - (result.zx + result.zy - 2 * result.z) / n2 == pytest.approx(rand_score(a, b))
    upper = np.triu_indices(len(a), 1)
    x, y = apart(a)[upper], apart(b)[upper]
    if x.std() > 0 and y.std() > 0:
        assert result.r == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4)))
def test_a_partition_agrees_with_itself(labels):
    result = mantel(labels, [f"x{label}" for label in labels], permutations=9)
    assert result.z == result.z_max
    assert result.normalised == result.ari == 1.0
    assert result.r == pytest.approx(1.0)


def test_where_no_permutation_differs_p_is_one():
    result = mantel([0, 0, 0], [0, 1, 1])
    assert (result.z, result.sd, result.z_score, result.p) == (0, 0.0, 0.0, 1.0)
    assert result.normalised == result.ari == result.r == 0.0


def test_the_moments_of_seven_units_are_those_computed_by_hand():
    assert mantel_moments([4, 2, 1], [3, 2, 2]) == (Fraction(64, 3), Fraction(976, 315))


def test_scikit_bio_finds_the_same():
    from skbio import DistanceMatrix
    from skbio.stats.distance import mantel as skbio_mantel

    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 60)
    b = np.where(rng.random(60) < 0.3, a, rng.integers(0, 4, 60))
    x, y = (DistanceMatrix(apart(labels).astype(float)) for labels in (a, b))
    r, p, _ = skbio_mantel(x, y, permutations=999, alternative="greater", seed=0)
    result = mantel(a, b)
    assert result.r == pytest.approx(r)
    assert result.p == pytest.approx(p, abs=0.02)
    weak = rng.integers(0, 4, 60)
    _, p, _ = skbio_mantel(
        x,
        DistanceMatrix(apart(weak).astype(float)),
        permutations=999,
        alternative="greater",
        seed=0,
    )
    assert mantel(a, weak).p == pytest.approx(p, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [_drawn_tables, _permuted_units])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([30, 20, 10], [25, 25, 10]),
        ([40, 10, 5, 2, 1, 1, 1], [30, 20, 4, 4, 1, 1]),
        ([2] * 30, [3] * 20),
    ],
)
def test_drawn_tables_have_the_exact_moments(draw, left, right):
    n, n_draws = sum(left), 4000
    rng = np.random.default_rng(0)
    drawn = np.concatenate(list(draw(np.array(left), np.array(right), n_draws, rng)))
    together = [sum(size * (size - 1) for size in classes) for classes in (left, right)]
    z = n * (n - 1) - sum(together) + drawn
    mean, variance = mantel_moments(left, right)
    assert z.shape == (n_draws,)
    assert abs(z.mean() - mean) < 4 * sqrt(variance / n_draws)
    assert z.std() == pytest.approx(sqrt(variance), rel=0.1)


def test_the_seed_decides_and_nothing_else():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 3, 200)
    assert mantel(a, b, seed=5) == mantel(a, b, seed=5)
    assert mantel(a, b, seed=5).p == mantel(a, np.array(list("xyz"))[b], seed=5).p


@pytest.mark.slow
def test_a_million_units_take_no_matrix():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 71, 1_000_000)
    unrelated = mantel(a, rng.integers(0, 71, 1_000_000), permutations=99)
    assert abs(unrelated.z_score) < 5
    assert unrelated.p > 0.01
    related = mantel(a, np.where(rng.random(len(a)) < 0.1, a, 0), permutations=99)
    assert related.p == 0.01
    assert related.expected == pytest.approx(related.zx * related.zy / (10**6 * (10**6 - 1)))


def test_as_many_classes_as_units_take_no_table():
    n = 200_000
    order = np.random.default_rng(0).permutation(n)
    result = mantel(np.arange(n) // 2, order // 2, permutations=5)
    assert result.z_max == n * (n - 1) - n
    assert result.expected == pytest.approx(result.z_max - n + n / (n - 1))


def test_the_printed_figures_do_not_give_the_printed_random_mean():
    """N = 1000, 978,460 and 948,608, Z = 940,894; printed as random: 937,708 ± 232.

    Ferret, Grau & Jardino (2001).
    """
    printed = mantel_from_margins(n=1000, zx=978_460, zy=948_608, z=940_894)
    assert round(printed.expected) == 929_104
    assert round(printed.ari, 3) == 0.342
    assert printed.z_max == 948_608
    sums = 10**6 - printed.zx, 10**6 - printed.zy
    assert sums == (21_540, 51_392)
    assert printed.z - 10**6 + sum(sums) == 13_826
    # ordered pairs together in both: implied by the printed mean, by independence, observed
    implied = 937_708 - 999_000 + sum(size - 1000 for size in sums)
    independent = (sums[0] - 1000) * (sums[1] - 1000) / 999_000
    assert (implied, round(independent), 13_826 - 1000) == (9_640, 1_036, 12_826)


@settings(deadline=None)
@given(labellings)
def test_margins_say_what_classes_say(both):
    result = mantel(*both, permutations=0)
    margins = mantel_from_margins(len(both[0]), result.zx, result.zy, result.z)
    for name in ("z", "zx", "zy", "z_max", "expected", "normalised", "ari", "r"):
        assert getattr(margins, name) == getattr(result, name)


@pytest.mark.parametrize(
    "call",
    [
        lambda: mantel([0], [0], permutations=-1),
        lambda: mantel_from_margins(-1, 0, 0, 0),
        lambda: mantel_from_margins(3, 7, 0, 0),
        lambda: mantel_from_margins(3, 4, 4, 5),
        lambda: mantel_from_margins(3, 4, 4, 1),
        lambda: mantel_moments([2], [3]),
    ],
)
def test_impossible_figures_are_refused(call):
    with pytest.raises(ValueError, match=r"should|not the same"):
        call()
