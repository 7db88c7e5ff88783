"""χ-Sim against the formula of the papers, written out with dense matrices and both chains."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.testing import similarity_checks
from segapsith_plugins.similarities._co_similarity import prune_lowest
from segapsith_plugins.similarities._word_matrices import streamed_quantile
from segapsith_plugins.similarities.chi_sim import (
    ChiSim,
    ChiSimOriginal,
    psd_projection,
)

counts = st.integers(1, 6).flatmap(
    lambda n: st.integers(1, 6).flatmap(
        lambda m: arrays(np.float64, (n, m), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0]))
    )
)
"""Small matrices with empty rows, zero columns, single rows, copies."""

powers = st.sampled_from([0.5, 0.8, 1.0, 2.0, 3.0, math.inf])
shares = st.sampled_from([0.0, 0.3, 0.6, 0.9])


def naive_step(m, other, k, prune, limit=False, population="all"):
    """One half-step, as in Grimal & Bisson (2011), eqs. 8-9, with plain sums."""
    n = len(m)
    if math.isinf(k):
        middle = (other > 0).astype(float) if limit else other
        a = np.array([[np.max(np.outer(x, y) * middle, initial=0) for y in m] for x in m])
        root = 1.0
    else:
        a = (m**k) @ other @ (m**k).T
        root = 1 / k
    s = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if a[i, i] > 0 and a[j, j] > 0:
                s[i, j] = (a[i, j] / math.sqrt(a[i, i] * a[j, j])) ** root
    np.fill_diagonal(s, 1)
    return naive_prune(s, prune, population)


def naive_prune(s, prune, population="all"):
    values = s[np.triu_indices(len(s), 1)]
    if population == "nonzero":
        values = values[values > 0]
    if prune == 0 or len(values) == 0:
        return s
    threshold = np.quantile(values, prune)
    kept = np.where(s >= threshold - 1e-12, s, 0)
    np.fill_diagonal(kept, np.diagonal(s))
    return kept


def naive(m, k, prune, iterations, limit=False, population="all", sr=None, sc=None):
    """SR(T) and SC(T), both chains, no shortcut; empty columns are dropped first."""
    full = np.eye(m.shape[1])
    known = np.flatnonzero(m.any(axis=0))
    m = m[:, known]
    m = m / max(m.max(initial=0), 1e-150)
    sr = np.eye(len(m)) if sr is None else sr
    sc = np.eye(len(known)) if sc is None else sc[np.ix_(known, known)]
    for _ in range(iterations):
        sr, sc = (
            naive_step(m, sc, k, prune, limit, population),
            naive_step(m.T, sr, k, prune, limit, population),
        )
    full[np.ix_(known, known)] = sc
    return sr, full


def expected(m, sr):
    """The paper's matrix as compare gives it: an empty row is like nothing, itself included."""
    sr = sr.copy()
    empty = ~m.any(axis=1)
    sr[empty, empty] = 0
    return sr


def has_copies(m):
    return len(np.unique(m, axis=0)) < len(m)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(counts, powers, shares, st.integers(1, 5))
def test_compare_is_the_papers_matrix(m, k, prune, iterations):
    sim = ChiSim(k=k, prune=prune, iterations=iterations)
    sim.learn(csr_array(m))
    sr, sc = naive(m, k, prune, iterations)
    if sim._threshold > 1 + 1e-12 and has_copies(m):  # a copy is kept where the paper's is pruned
        return
    np.testing.assert_allclose(
        sim.compare(csr_array(m), csr_array(m)), expected(m, sr), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(sim.columns(), sc, rtol=0, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(counts, st.sampled_from([0.5, 0.8, 1.0]), shares, st.integers(1, 5))
def test_a_word_matrix_that_is_not_kept_gives_the_same(m, k, prune, iterations):
    kept = ChiSim(k=k, prune=prune, iterations=iterations)
    blocks = ChiSim(k=k, prune=prune, iterations=iterations, word_memory=0)
    rows = csr_array(m)
    for sim in (kept, blocks):
        sim.learn(rows)
    np.testing.assert_allclose(
        blocks.compare(rows, rows), kept.compare(rows, rows), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(blocks.columns(), kept.columns(), rtol=0, atol=1e-9)
    part = rows[: (len(m) + 1) // 2]
    np.testing.assert_allclose(
        blocks.compare(part, rows), kept.compare(part, rows), rtol=0, atol=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(counts, shares, st.integers(1, 3))
def test_pruning_may_leave_out_the_zeros(m, prune, iterations):
    sim = ChiSim(k=1, prune=prune, iterations=iterations, prune_population="nonzero")
    sim.learn(csr_array(m))
    sr, _ = naive(m, 1, prune, iterations, population="nonzero")
    if not (sim._threshold > 1 + 1e-12 and has_copies(m)):
        actual = sim.compare(csr_array(m), csr_array(m))
        np.testing.assert_allclose(actual, expected(m, sr), rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(1, 4))
def test_the_true_limit_of_k_sees_only_the_support(m, iterations):
    sim = ChiSim(k=math.inf, prune=0, iterations=iterations, infinite="limit")
    sim.learn(csr_array(m))
    sr, _ = naive(m, math.inf, 0, iterations, limit=True)
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, expected(m, sr), rtol=0, atol=1e-9)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(counts, st.integers(0, 9), st.integers(1, 4))
def test_supplied_starts_are_taken(m, seed, iterations):
    rng = np.random.default_rng(seed)

    def start(n):
        s = rng.random((n, n))
        s = (s + s.T) / 2
        np.fill_diagonal(s, 1)
        return s

    sr0, sc0 = start(m.shape[0]), start(m.shape[1])
    sim = ChiSim(k=1, prune=0, iterations=iterations, initial_rows=sr0, initial_words=sc0)
    sim.learn(csr_array(m))
    sr, sc = naive(m, 1, 0, iterations, sr=sr0, sc=sc0)
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, expected(m, sr), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.columns(), sc, rtol=0, atol=1e-9)


def same_rows(m):
    """Which pairs are a row and itself or its exact copy; empty rows are not."""
    return (m[:, None] == m[None]).all(axis=2) & m.any(axis=1)[:, None]


def naive_original(m, prune, iterations, reset, population="all"):
    """SR(T) before its pruning, its threshold, and SC(T), by the sums of rows and columns."""
    known = np.flatnonzero(m.any(axis=0))
    words = np.eye(m.shape[1])
    m = m[:, known]

    def step(m, other):
        sums = m.sum(axis=1)
        a = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
        s = (m @ other @ m.T) * np.outer(a, a)
        if reset:
            np.fill_diagonal(s, 1)
        return s

    sr, sc, whole = np.eye(m.shape[0]), np.eye(m.shape[1]), np.eye(m.shape[0])
    for _ in range(iterations):
        whole = step(m, sc)
        sc = naive_prune(step(m.T, sr), prune, population)
        sr = naive_prune(whole.copy(), prune, population)
    words[np.ix_(known, known)] = sc
    values = whole[np.triu_indices(len(m), 1)]
    values = values[values > 0] if population == "nonzero" else values
    threshold = np.quantile(values, prune) if prune and len(values) else 0.0
    return whole, threshold, words


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(counts, shares, st.integers(1, 4), st.booleans(), st.sampled_from(["all", "nonzero"]))
def test_the_original_divides_by_the_sums(m, prune, iterations, reset, population):
    more = {"prune": prune, "prune_population": population, "reset_diagonal": reset}
    sim = ChiSimOriginal(iterations=iterations, **more)
    blocks = ChiSimOriginal(iterations=iterations, word_memory=0, **more)
    for one in (sim, blocks):
        one.learn(csr_array(m))
    whole, threshold, words = naive_original(m, prune, iterations, reset, population)
    actual = sim.compare(csr_array(m), csr_array(m))
    same = same_rows(m)
    if reset:  # an exact copy is reset too
        whole = np.where(same, 1, whole)
    sr = np.where(same | (whole >= threshold - 1e-12), whole, 0)  # and never pruned
    np.testing.assert_allclose(actual, expected(m, sr), rtol=0, atol=1e-9)
    np.testing.assert_allclose(sim.columns(), words, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        blocks.compare(csr_array(m), csr_array(m)), actual, rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(blocks.columns(), words, rtol=0, atol=1e-9)
    again = ChiSimOriginal(iterations=iterations, **more)
    again.restore(sim.state())
    half = csr_array(m)[: (len(m) + 1) // 2]
    np.testing.assert_allclose(
        again.compare(half, csr_array(m)), actual[: half.shape[0]], rtol=0, atol=1e-9
    )


@given(counts)
@settings(max_examples=50, deadline=None)
def test_one_plain_iteration_is_the_cosine(m):
    sim = ChiSim(k=1, prune=0, iterations=1)
    sim.learn(csr_array(m))
    norms = np.maximum(np.linalg.norm(m, axis=1), 1e-150)
    cosine = (m @ m.T) / np.outer(norms, norms)
    np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), cosine, rtol=0, atol=1e-12)


@given(counts, st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_without_power_and_pruning_there_is_a_factor(m, iterations):
    """SR(T) = F Fᵀ, F by alternate products and unit rows: positive semidefinite, at most 1."""

    def unit(f):
        lengths = np.linalg.norm(f, axis=1, keepdims=True)
        return np.divide(f, lengths, out=np.zeros_like(f), where=lengths > 0)

    f = np.eye(m.shape[0] if iterations % 2 == 0 else m.shape[1])
    for t in range(iterations, 0, -1):
        f = unit((m if t % 2 == 1 else m.T) @ f)
    sim = ChiSim(k=1, prune=0, iterations=iterations)
    sim.learn(csr_array(m))
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, f @ f.T, rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(actual).min() > -1e-9


@pytest.mark.slow
@given(counts, counts, powers, shares)
@settings(max_examples=80, deadline=None)
def test_new_rows_and_new_words_are_welcome(m, new, k, prune):
    sim = ChiSim(k=k, prune=prune)
    sim.learn(csr_array(m))
    learned, others = csr_array(m), csr_array(new)
    actual = sim.compare(learned, others)
    assert actual.shape == (len(m), len(new))
    assert np.isfinite(actual).all()
    np.testing.assert_allclose(actual, sim.compare(others, learned).T, rtol=0, atol=1e-12)
    diagonal = np.diagonal(sim.compare(others, others))
    np.testing.assert_allclose(diagonal, new.any(axis=1), rtol=0, atol=1e-12)
    both = np.zeros((1, m.shape[1]))
    np.testing.assert_array_equal(sim.compare(csr_array(both), learned), 0)


@pytest.mark.slow
@given(counts, powers, shares, st.sampled_from([0, 2**30]))
@settings(max_examples=80, deadline=None)
def test_a_state_can_be_put_back(m, k, prune, memory):
    sim = ChiSim(k=k, prune=prune, word_memory=memory)
    again = ChiSim(k=k, prune=prune, word_memory=memory)
    sim.learn(csr_array(m))
    again.restore(sim.state())
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in sim.state().values())
    rows = csr_array(m)
    np.testing.assert_array_equal(again.compare(rows, rows), sim.compare(rows, rows))
    np.testing.assert_array_equal(again.columns(), sim.columns())


def test_comparing_changes_nothing_and_does_not_depend_on_the_company():
    rng = np.random.default_rng(1)
    rows = csr_array(rng.poisson(0.4, (40, 60)).astype(np.int32))
    sim = ChiSim()
    sim.learn(rows)
    before = {name: array.copy() for name, array in sim.state().items()}
    whole = sim.compare(rows, rows)
    np.testing.assert_allclose(
        sim.compare(rows[3:9], rows[20:]), whole[3:9, 20:], rtol=0, atol=1e-12
    )
    for name, array in sim.state().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_new_word_is_like_itself_only():
    sim = ChiSim(k=1, prune=0, iterations=2)
    sim.learn(csr_array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    wide = csr_array([[0.0, 0.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0, 0, 1.0, 1.0]])
    actual = sim.compare(wide, wide)
    assert actual[0, 1] == 0
    assert actual[0, 2] == pytest.approx(1 / math.sqrt(2))


def test_a_threshold_above_one_spares_a_row_and_itself():
    rows = csr_array([[1.0, 1.0], [0.0, 1.0]])
    sim = ChiSim(k=1, prune=0.5, iterations=1)
    sim.learn(rows)
    sim.restore({**sim.state(), "threshold": np.array(1.1)})
    np.testing.assert_allclose(sim.compare(rows, rows), np.eye(2), rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.compare(rows[:1], rows), [[1, 0]], rtol=0, atol=1e-12)


def test_the_scale_of_a_row_does_not_matter_even_when_it_is_extreme():
    m = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0], [1.0, 1.0, 1.0]])
    sim = ChiSim(k=3, prune=0)
    sim.learn(csr_array(m))
    plain = sim.compare(csr_array(m), csr_array(m))
    scaled = csr_array(m * np.array([[1e150], [1e-150], [1.0]]))
    np.testing.assert_allclose(sim.compare(scaled, scaled), plain, rtol=0, atol=1e-12)
    sim.learn(csr_array(m * 1e150))
    np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), plain, rtol=0, atol=1e-9)


def test_single_precision_is_near():
    rng = np.random.default_rng(2)
    rows = csr_array(rng.poisson(0.3, (60, 90)))
    double, single = ChiSim(prune=0), ChiSim(prune=0, precision="single")
    for sim in (double, single):
        sim.learn(rows)
    actual = single.compare(rows, rows)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, double.compare(rows, rows), rtol=0, atol=1e-5)


def test_many_blocks_are_one_matrix(monkeypatch):
    monkeypatch.setattr("segapsith_plugins.similarities._word_matrices._BLOCK_BYTES", 64)
    rng = np.random.default_rng(3)
    rows = csr_array(rng.poisson(0.1, (150, 200)))
    kept, blocks = ChiSim(), ChiSim(word_memory=0)
    for sim in (kept, blocks):
        sim.learn(rows)
    np.testing.assert_allclose(
        blocks.compare(rows, rows), kept.compare(rows, rows), rtol=0, atol=1e-9
    )


@pytest.mark.slow
def test_large_products_take_the_quick_ways():
    """Panels, threads, mirrored halves and the dense way give what the formula gives."""
    rng = np.random.default_rng(4)
    for density in (0.05, 0.5):
        m = rng.random((700, 600)) * (rng.random((700, 600)) < density)
        sim = ChiSim(k=0.8, prune=0.6, iterations=2)
        sim.learn(csr_array(m))
        mk = (m / m.max()) ** 0.8
        sc = mk.T @ mk
        sc = (sc / np.sqrt(np.outer(sc.diagonal(), sc.diagonal()))) ** 1.25
        sc = naive_prune(sc, 0.6)
        sr = mk @ sc @ mk.T
        sr = (sr / np.sqrt(np.outer(sr.diagonal(), sr.diagonal()))) ** 1.25
        sr = naive_prune(sr, 0.6)
        np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), sr, rtol=0, atol=1e-9)


@pytest.mark.slow
@given(
    st.lists(
        arrays(np.float64, st.integers(0, 6), elements=st.floats(0, 1)), min_size=1, max_size=5
    ),
    st.floats(0, 1),
)
@settings(max_examples=80, deadline=None)
def test_a_streamed_quantile_is_numpys(pieces, share):
    values = np.concatenate(pieces)
    actual = streamed_quantile(lambda: pieces, share)
    wanted = np.quantile(values, share) if len(values) else 0.0
    assert actual == pytest.approx(wanted, abs=1e-12)


def test_a_streamed_quantile_that_cannot_gather_errs_on_the_side_of_keeping():
    values = np.full(100, 0.3)
    actual = streamed_quantile(lambda: [values], 0.6, n_gathered=10)
    assert 0.3 * (1 - 1e-3) <= actual <= 0.3


def test_projection_makes_a_kernel():
    rng = np.random.default_rng(5)
    rows = csr_array(rng.poisson(0.3, (30, 40)))
    sim = ChiSim(psd=True)
    sim.learn(rows)
    actual = sim.compare(rows, rows)
    assert actual.min() >= 0
    kernel = psd_projection(actual)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9
    np.testing.assert_allclose(np.diagonal(kernel), rows.sum(axis=1) > 0, rtol=0, atol=1e-9)


def test_projection_between_the_steps_makes_the_product_semidefinite():
    rng = np.random.default_rng(6)
    rows = csr_array(rng.poisson(0.5, (12, 10)) + np.eye(12, 10))
    sim = ChiSim(k=1, prune=0.6, iterations=2, psd=True)
    sim.learn(rows)
    assert np.linalg.eigvalsh(sim.state()["words"]).min() > -1e-9


def test_before_learning_every_word_is_new():
    rows = csr_array([[1.0, 1.0], [0.0, 1.0]])
    sim = ChiSim(k=1, prune=0)
    assert sim.compare(rows, rows)[0, 1] == pytest.approx(1 / math.sqrt(2))
    assert sim.columns().shape == (0, 0)
    ChiSim().restore(sim.state())


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_nothing_at_all_can_be_learned(shape):
    sim = ChiSim()
    sim.learn(csr_array(shape))
    assert sim.compare(csr_array(shape), csr_array(shape)).shape == (shape[0], shape[0])
    assert sim.columns().shape == (shape[1], shape[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k=0 should be > 0"),
        ({"prune": 1.0}, "prune=1.0 should be >= 0 and < 1"),
        ({"iterations": 0}, "iterations=0 should be >= 1"),
        ({"precision": "half"}, "precision=half should be"),
        ({"infinite": "no"}, "infinite=no should be"),
        ({"prune_population": "no"}, "prune_population=no should be"),
        ({"word_memory": -1}, "word_memory=-1 should be"),
        ({"initial_rows": [[1.0, 2.0], [2.0, 1.0]]}, "initial_rows=.* should be within"),
        ({"initial_rows": [[1.0, 0.1], [0.2, 1.0]]}, "initial_rows=.* should be symmetric"),
        ({"initial_words": [[0.5]]}, "initial_words=.* should be 1 on its diagonal"),
        ({"initial_words": [[math.nan]]}, "initial_words=.* should be finite"),
        ({"initial_words": [1.0]}, "initial_words=.* should be square"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        ChiSim(**settings)


def test_a_start_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"initial_rows=.* should be 3 x 3"):
        ChiSim(initial_rows=np.eye(2)).learn(csr_array(np.eye(3)))


def test_negative_rows_are_refused():
    with pytest.raises(ValueError, match="chi-sim needs rows >= 0, found -1"):
        ChiSim().learn(csr_array([[-1.0, 2.0]]))


@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", [ChiSim, ChiSimOriginal])
def test_the_contract_is_kept(model, check):
    check(model)


def test_rounding_errors_do_not_prune_one_half_of_a_pair() -> None:
    similar = np.array([[1, 0.5, 0.4], [0.5 - 1e-6, 1, 0.7], [0.4, 0.7, 1]], dtype=np.float32)
    threshold = prune_lowest(similar, 0.5, "all", 1e-7)  # the median of .4, .5 and .7
    assert threshold == pytest.approx(0.5)
    assert similar[0, 1] > 0 and similar[1, 0] > 0
    assert similar[0, 2] == similar[2, 0] == 0
