"""Kappa against scikit-learn, and its mappings against all mappings."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score

from segapsith.evaluation import compare
from segapsith.evaluation.compare import kappa, kappa_interval, kappa_of_table
from segapsith.evaluation.contingency import Contingency, contingency

tables = (
    st.tuples(st.integers(1, 5), st.integers(1, 5))
    .flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, 6)))
    .filter(lambda table: table.sum() > 0)
)

mappings = st.sampled_from(["greedy", "hungarian", "optimal", "random"])


def padded(table):
    size = max(table.shape)
    square = np.zeros((size, size), dtype=int)
    square[: table.shape[0], : table.shape[1]] = table
    return square


def parts(table, columns):
    """th1 and th2 of one mapping of a square table, as in equations 10 and 11."""
    n, rows = int(table.sum()), range(len(table))
    th1 = sum(Fraction(int(table[i, columns[i]]), n) for i in rows)
    th2 = sum(
        Fraction(int(table[i].sum()), n) * Fraction(int(table[:, columns[i]].sum()), n)
        for i in rows
    )
    return th1, th2


def literal(table, columns):
    th1, th2 = parts(table, columns)
    return Fraction(1) if th2 == 1 else (th1 - th2) / (1 - th2)


def all_mappings(table):
    return itertools.permutations(range(len(table)))


def units(table):
    left, right = np.nonzero(table)
    counts = table[left, right]
    return np.repeat(left, counts), np.repeat(right, counts)


def test_the_names_of_functions_win_over_those_of_their_files():
    assert callable(compare.kappa)
    assert callable(compare.mantel)
    assert callable(compare.coverage)


def test_the_same_partition_agrees_wholly():
    assert kappa([0, 0, 1], ["x", "x", "y"]) == 1.0


@pytest.mark.parametrize("mapping", ["greedy", "hungarian", "optimal", "random"])
def test_nothing_and_one_class_agree_wholly(mapping):
    assert kappa([], [], mapping=mapping) == 1.0
    assert kappa([3, 3], ["x", "x"], mapping=mapping) == 1.0
    assert kappa_interval([], []) == (1.0, 1.0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4)), st.sampled_from(["greedy", "hungarian", "optimal"]))
def test_a_partition_agrees_with_itself(labels, mapping):
    assert kappa(labels, labels, mapping=mapping) == 1.0


@settings(deadline=None)
@given(tables, mappings, st.integers(0, 3))
def test_kappa_is_that_of_its_mapping(table, mapping, seed):
    result = kappa_of_table(Contingency.of_table(table), mapping, seed)
    columns = dict(result.pairs)
    assert len(result.pairs) == len(set(columns.values())) <= min(table.shape)
    square = padded(table)
    free = [column for column in range(len(square)) if column not in columns.values()]
    # the rest meets padding: rows without partner go to empty columns
    free.sort(key=lambda column: square[:, column].sum())
    whole = [columns[i] if i in columns else free.pop(0) for i in range(len(square))]
    if mapping != "random":
        assert len(result.pairs) == min(table.shape)
        assert result.value == pytest.approx(float(literal(square, whole)), abs=1e-12)
        th1, th2 = parts(square, whole)
        assert (result.th1, result.th2) == pytest.approx((float(th1), float(th2)))


@settings(deadline=None)
@given(tables, mappings)
def test_kappa_is_cohens_once_classes_are_mapped(table, mapping):
    left, right = units(table)
    result = kappa_of_table(Contingency.of_table(table), mapping)
    back = {column: row for row, column in result.pairs}
    mapped = [back.get(column, f"none {column}") for column in right.tolist()]
    names = [str(label) for label in left.tolist()], [str(label) for label in mapped]
    if len(set(names[0]) | set(names[1])) > 1:
        assert result.value == pytest.approx(cohen_kappa_score(*names), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_dinkelbach_finds_the_best_of_all_mappings(table):
    square = padded(table)
    best = max(literal(square, columns) for columns in all_mappings(square))
    result = kappa_of_table(Contingency.of_table(table), "optimal").value
    assert result == pytest.approx(float(best), abs=1e-12)


def test_dinkelbach_finds_the_best_where_the_largest_overlap_does_not():
    """60 tables of 6 x 6: the Hungarian mapping does not reach the best kappa in some."""
    rng = np.random.default_rng(0)
    n_short = 0
    columns = np.array(list(itertools.permutations(range(6))))
    for _ in range(60):
        table = rng.integers(0, 8, size=(6, 6))
        n = table.sum()
        chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / n**2
        th1 = table[np.arange(6), columns].sum(axis=1) / n
        th2 = chance[np.arange(6), columns].sum(axis=1)
        assert np.mean(th1 - th2) == pytest.approx(0, abs=1e-15)
        best = ((th1 - th2) / (1 - th2)).max()
        made = Contingency.of_table(table)
        assert kappa_of_table(made, "optimal").value == pytest.approx(best, abs=1e-12)
        hungarian = kappa_of_table(made, "hungarian")
        assert hungarian.th1 == pytest.approx(th1.max())
        n_short += hungarian.value < best - 1e-12
    assert n_short > 0


def test_the_most_agreement_above_chance_is_not_yet_the_best_kappa():
    # the largest th1 - th2, which is one step of the iteration from kappa = 0, gives 0.241
    table = np.array([[4, 0, 3], [0, 1, 10], [0, 0, 4]])
    best = max(literal(table, columns) for columns in all_mappings(table))
    result = kappa_of_table(Contingency.of_table(table), "optimal").value
    assert result == float(best) == pytest.approx(0.33584905660377357)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(tables)
def test_chance_is_right_on_average_over_all_mappings(table):
    square = padded(table)
    differences = [th1 - th2 for th1, th2 in (parts(square, pi) for pi in all_mappings(square))]
    assert sum(differences) == 0


@settings(deadline=None)
@given(tables)
def test_greedy_takes_the_largest_that_is_left(table):
    pairs = dict(kappa_of_table(Contingency.of_table(table), "greedy").pairs)
    sizes = table.sum(axis=1), table.sum(axis=0)
    rows, columns = set(range(table.shape[0])), set(range(table.shape[1]))
    expected = {}
    while rows and columns:

        def rank(cell):
            i, j = cell
            union = sizes[0][i] + sizes[1][j] - table[i, j]
            jaccard = Fraction(int(table[i, j]), int(union)) if union else Fraction(0)
            return -table[i, j], -jaccard, i, j

        i, j = min(itertools.product(rows, columns), key=rank)
        expected[i] = j
        rows.remove(i)
        columns.remove(j)
    assert pairs == expected


def test_ties_go_to_the_larger_jaccard_index():
    # row 0 shares two units with either column; the second column has nothing else
    result = kappa_of_table(Contingency.of_table([[2, 2], [1, 0]]))
    assert result.pairs == ((0, 1), (1, 0))


def test_a_random_mapping_depends_on_its_seed_only():
    a, b = list(range(30)), list(range(30))
    assert kappa(a, b, "random", seed=1) == kappa(a, b, "random", seed=1)
    assert len({kappa(a, b, "random", seed=seed) for seed in range(20)}) > 1


def test_random_mappings_of_71_even_classes_give_about_the_published_value():
    """The paper prints -0.013; with th1 near 0 kappa is -(1/71) / (1 - 1/71) = -0.0143.

    Ferret, Grau & Jardino (2001).
    """
    labels = np.arange(71 * 10) % 71
    values = [kappa(labels, labels, "random", seed=seed) for seed in range(200)]
    # one class in 71 is a fixed point on average: th1 - th2 is 0 in the mean
    assert np.mean(values) == pytest.approx(0, abs=0.005)
    assert min(values) == pytest.approx(-1 / 70)


def test_an_interval_holds_the_value_and_narrows_with_more_units():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 4000)
    b = np.where(rng.random(4000) < 0.7, a, rng.integers(0, 5, 4000))
    wide, narrow = kappa_interval(a[:400], b[:400]), kappa_interval(a, b)
    assert narrow.low < kappa(a, b) < narrow.high
    assert narrow.high - narrow.low < wide.high - wide.low
    assert narrow == kappa_interval(a, b)


@pytest.mark.slow
def test_an_interval_is_that_of_units_drawn_one_by_one():
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.6, a, rng.integers(0, 4, 300))
    back = {column: row for row, column in kappa_of_table(contingency(a, b)).pairs}
    mapped = np.array([back.get(label, 9) for label in b.tolist()])
    drawn = (rng.integers(0, 300, 300) for _ in range(500))
    values = [cohen_kappa_score(a[chosen], mapped[chosen]) for chosen in drawn]
    assert kappa_interval(a, b) == pytest.approx(np.quantile(values, [0.025, 0.975]), abs=0.03)


@pytest.mark.parametrize(
    "call",
    [
        lambda: kappa([0], [0], mapping="best"),
        lambda: kappa_interval([0], [0], draws=0),
        lambda: kappa_interval([0], [0], level=1.0),
    ],
)
def test_wrong_settings_are_named(call):
    with pytest.raises(ValueError, match="should"):
        call()


@pytest.mark.slow
def test_kappa_holds_for_a_million_units():
    labels = np.arange(1_000_000) % 71
    assert kappa(labels, labels) == kappa(labels, labels, "optimal") == 1.0
