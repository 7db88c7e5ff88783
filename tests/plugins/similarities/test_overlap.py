"""The measures on common words against loops over sets and dictionaries."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.testing import similarity_checks
from segapsith_plugins.similarities.chi_sim import ChiSim
from segapsith_plugins.similarities.overlap import Cosine, Dice, Eq7, GeneralizedCosine, Jaccard

values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.3])
counts = st.integers(1, 6).flatmap(
    lambda n: st.integers(1, 6).flatmap(lambda m: arrays(np.float64, (n, m), elements=values))
)
"""Small matrices with empty rows, zero columns, single rows, copies."""

everyone = pytest.mark.parametrize("model", [Eq7, Cosine, Jaccard, Dice, GeneralizedCosine])


def bags(m):
    return [{w: v for w, v in enumerate(row) if v} for row in m.tolist()]


def naive_eq7(d, c, occurrences="values"):
    common = d.keys() & c.keys()
    if not common:
        return 0.0
    product = 1.0
    for bag in (d, c):
        seen = bag if occurrences == "values" else dict.fromkeys(bag, 1)
        product *= sum(bag[w] for w in common) / sum(bag.values())
        product *= sum(seen[w] for w in common) / sum(seen.values())
    return product**0.25


def naive_cosine(d, c):
    if not d or not c:
        return 0.0
    inner = sum(d[w] * c[w] for w in d.keys() & c.keys())
    return inner / math.sqrt(sum(v * v for v in d.values()) * sum(v * v for v in c.values()))


def naive_jaccard(d, c):
    return len(d.keys() & c.keys()) / len(d.keys() | c.keys()) if d or c else 0.0


def naive_dice(d, c):
    return 2 * len(d.keys() & c.keys()) / (len(d) + len(c)) if d or c else 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sim", "naive"),
    [
        (Eq7(), naive_eq7),
        (Eq7(occurrences="presence"), lambda d, c: naive_eq7(d, c, "presence")),
        (Cosine(), naive_cosine),
        (Jaccard(), naive_jaccard),
        (Dice(), naive_dice),
        (GeneralizedCosine(words="identity"), naive_cosine),
    ],
)
@settings(max_examples=80, deadline=None)
@given(left=counts, right=counts)
def test_compare_is_the_formula(sim, naive, left, right):
    expected = [[naive(d, c) for c in bags(right)] for d in bags(left)]
    actual = sim.compare(csr_array(left), csr_array(right))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(m=counts, new=counts)
def test_the_generalized_cosine_is_the_formula(m, new):
    width = max(m.shape[1], new.shape[1])
    x = np.zeros((len(m), width))
    x[:, : m.shape[1]] = m
    y = np.zeros((len(new), width))
    y[:, : new.shape[1]] = new
    lengths = np.linalg.norm(x, axis=0)
    units = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
    a = units.T @ units
    np.fill_diagonal(a, 1)
    sim = GeneralizedCosine()
    sim.learn(csr_array(m))
    for left, right, wide_left, wide_right in ((m, m, x, x), (m, new, x, y), (new, new, y, y)):
        expected = np.zeros((len(left), len(right)))
        for i, p in enumerate(wide_left):
            for j, q in enumerate(wide_right):
                if p.any() and q.any():
                    expected[i, j] = (p @ a @ q) / (math.sqrt(p @ a @ p) * math.sqrt(q @ a @ q))
        actual = sim.compare(csr_array(left), csr_array(right))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(m=counts)
def test_the_generalized_cosine_is_the_second_step_of_chi_sim(m):
    rows = csr_array(m)
    one, two = GeneralizedCosine(), ChiSim(k=1, prune=0, iterations=2)
    for sim in (one, two):
        sim.learn(rows)
    np.testing.assert_allclose(one.compare(rows, rows), two.compare(rows, rows), rtol=0, atol=1e-9)


def test_a_supplied_word_similarity_is_used():
    words = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    sim = GeneralizedCosine(words=words)
    sim.learn(csr_array(np.eye(3)))
    rows = csr_array(np.eye(4))
    expected = np.eye(4)
    expected[:3, :3] = words
    np.testing.assert_allclose(sim.compare(rows, rows), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.compare(rows[:2], rows), expected[:2], rtol=0, atol=1e-12)


@everyone
@settings(max_examples=50, deadline=None)
@given(m=counts, new=counts)
def test_the_promises_of_a_similarity(model, m, new):
    sim, again = model(), model()
    sim.learn(csr_array(m))
    again.restore(sim.state())
    learned, others = csr_array(m), csr_array(new)
    actual = sim.compare(learned, others)
    low, high = sim.bounds
    assert actual.shape == (len(m), len(new))
    assert actual.dtype == np.float64
    assert (actual >= low).all()
    assert (actual <= high).all()
    np.testing.assert_allclose(actual, sim.compare(others, learned).T, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again.compare(learned, others), actual)
    diagonal = np.diagonal(sim.compare(others, others))
    np.testing.assert_allclose(diagonal, new.any(axis=1), rtol=0, atol=1e-12)


def test_eq7_is_one_for_the_same_words_and_nought_without_a_common_one():
    rows = csr_array([[1.0, 5.0, 0.0], [3.0, 0.1, 0.0], [0.0, 0.0, 2.0]])
    actual = Eq7().compare(rows, rows)
    assert actual[0, 1] == pytest.approx(1)
    assert actual[0, 2] == 0


@everyone
def test_rows_are_left_as_they_were(model):
    untidy = csr_array(([1.0, 2.0, 0.0, 3.0], [1, 1, 0, 0], [0, 3, 4]), shape=(2, 2))
    sim = model()
    sim.learn(untidy)
    actual = sim.compare(untidy, untidy)
    assert untidy.nnz == 4
    tidy = csr_array([[0.0, 3.0], [3.0, 0.0]])
    np.testing.assert_allclose(actual, sim.compare(tidy, tidy), rtol=0, atol=1e-12)


@everyone
def test_whole_numbers_and_empty_matrices_are_rows_too(model):
    sim = model()
    sim.learn(csr_array((0, 0)))
    assert sim.compare(csr_array((0, 3)), csr_array((2, 1))).shape == (0, 2)
    rows = csr_array(np.array([[1, 2], [0, 3]], dtype=np.int32))
    assert sim.compare(rows, rows)[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("model", [Eq7, Cosine, GeneralizedCosine])
def test_extreme_values_stay_finite(model):
    rows = csr_array([[1e200, 2e200], [1e-200, 2e-200], [5e-324, 0.0]])
    actual = model().compare(rows, rows)
    assert np.isfinite(actual).all()
    assert actual[0, 1] == pytest.approx(1)


def test_presence_may_begin_above_a_value():
    rows = csr_array([[1.0, 5.0, 0.0], [1.0, 0.0, 4.0], [0.0, 9.0, 1.0]])
    assert Jaccard().compare(rows, rows)[0, 1] == pytest.approx(1 / 3)
    assert Jaccard(above=2).compare(rows, rows)[0, 2] == 1
    assert Dice(above=2).compare(rows, rows)[0, 1] == 0


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (Eq7, {"occurrences": "no"}, "occurrences=no should be 'values' or 'presence'"),
        (Jaccard, {"above": -1}, "above=-1 should be >= 0"),
        (GeneralizedCosine, {"words": "no"}, "words='no' should be"),
        (GeneralizedCosine, {"words": [[1.0, 0.5]]}, "should be square"),
        (GeneralizedCosine, {"words": [[math.inf]]}, "should be finite"),
        (GeneralizedCosine, {"words": [[1.0, 0.5], [0.4, 1.0]]}, "should be symmetric"),
        (GeneralizedCosine, {"words": [[1.0, -0.5], [-0.5, 1.0]]}, "should be within"),
        (GeneralizedCosine, {"words": [[0.5]]}, "should be 1 on its diagonal"),
        (
            GeneralizedCosine,
            {"words": [[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]},
            "should be positive semidefinite",
        ),
    ],
)
def test_wrong_settings_are_named(model, settings, message):
    with pytest.raises(ValueError, match=message):
        model(**settings)


@pytest.mark.parametrize("model", [Eq7, GeneralizedCosine])
def test_negative_rows_are_refused(model):
    with pytest.raises(ValueError, match="needs rows >= 0, found -1"):
        model().compare(csr_array([[-1.0]]), csr_array([[1.0]]))


@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", [Eq7, Cosine, Jaccard, Dice, GeneralizedCosine])
def test_the_contract_is_kept(model, check):
    check(model)
