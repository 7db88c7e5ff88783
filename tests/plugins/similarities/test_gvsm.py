"""The GVSM family against X^T G X with a terms × terms G, as the paper writes it."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.testing import similarity_checks
from segapsith_plugins.similarities.gvsm import (
    GvsmAssc,
    GvsmAsscN,
    GvsmCov,
    GvsmPcorr,
    LsiCov,
    PcaCov,
)

values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])
counts = st.integers(1, 6).flatmap(
    lambda n: st.integers(1, 6).flatmap(lambda m: arrays(np.float64, (n, m), elements=values))
)
"""Small matrices with empty rows, zero columns, single rows, copies."""

models = pytest.mark.parametrize("model", [GvsmAssc, GvsmAsscN, GvsmCov, GvsmPcorr])
projections = pytest.mark.parametrize("model", [LsiCov, PcaCov])


def inverse_root(diagonal, scale):
    keep = diagonal > 1e-18 * scale  # a zero variance may be left as rounding
    return np.diag(np.divide(1, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=keep))


def naive_g(model, q):
    """G, terms × terms, from Q, terms × documents."""
    n = q.shape[1]
    h = np.eye(n) - np.ones((n, n)) / n
    square = np.square(q).sum(axis=1)
    if model is GvsmAssc:
        return q @ q.T
    if model is GvsmAsscN:
        scale = inverse_root(np.diagonal(q @ q.T).copy(), square)
        return scale @ q @ q.T @ scale
    if model is GvsmCov:
        return q @ h @ q.T / max(n - 1, 1)
    centred = q @ h
    scale = inverse_root(np.diagonal(centred @ centred.T).copy(), square)
    return scale @ centred @ centred.T @ scale


def cosines(k, scale):
    """L^(-1/2) K L^(-1/2); a length that is only rounding is none."""
    lengths = np.diagonal(k).copy()
    keep = lengths > 1e-14 * np.maximum(scale, 1e-300)
    inverse = np.divide(1, np.sqrt(np.abs(lengths)), out=np.zeros_like(lengths), where=keep)
    return k * np.outer(inverse, inverse)


def naive(model, x, q):
    """The similarity of the columns of X."""
    g = naive_g(model, q)
    return cosines(x.T @ g @ x, np.square(x).sum(axis=0) * np.square(q).sum())


@pytest.mark.slow
@models
@settings(max_examples=80, deadline=None)
@given(m=counts)
def test_compare_is_the_papers_matrix(model, m):
    sim = model()
    sim.learn(csr_array(m))
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, naive(model, m.T, m.T), rtol=0, atol=1e-9)


@models
@settings(max_examples=60, deadline=None)
@given(data=st.data(), m=counts)
def test_another_reference_set_may_show_the_correlations(model, data, m):
    n = data.draw(st.integers(1, 5))
    q = data.draw(arrays(np.float64, (n, m.shape[1]), elements=values))
    sim = model(reference=csr_array(q))
    sim.learn(csr_array(m))
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, naive(model, m.T, q.T), rtol=0, atol=1e-9)


@models
@settings(max_examples=60, deadline=None)
@given(m=counts, new=counts)
def test_new_rows_and_new_words_are_welcome(model, m, new):
    sim = model()
    sim.learn(csr_array(m))
    learned, others = csr_array(m), csr_array(new)
    actual = sim.compare(learned, others)
    assert actual.shape == (len(m), len(new))
    assert np.isfinite(actual).all()
    assert (np.abs(actual) <= 1).all()
    np.testing.assert_allclose(actual, sim.compare(others, learned).T, rtol=0, atol=1e-12)
    width = max(m.shape[1], new.shape[1])
    x = np.zeros((width, len(m) + len(new)))
    x[: m.shape[1], : len(m)] = m.T
    x[: new.shape[1], len(m) :] = new.T
    q = np.zeros((width, len(m)))
    q[: m.shape[1]] = m.T
    np.testing.assert_allclose(actual, naive(model, x, q)[: len(m), len(m) :], rtol=0, atol=1e-9)


def test_the_covariance_and_the_correlation_are_numpys():
    q = np.random.default_rng(0).random((5, 8))
    np.testing.assert_allclose(naive_g(GvsmCov, q), np.cov(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(naive_g(GvsmPcorr, q), np.corrcoef(q), rtol=0, atol=1e-12)


@models
def test_factors_are_columns_of_w(model):
    rng = np.random.default_rng(1)
    m = rng.poisson(0.7, (9, 12)).astype(float)
    sim = model()
    sim.learn(csr_array(m))
    w = sim.factors(csr_array(m))
    assert w.shape == (9, 9)
    k = w @ w.T
    expected = m @ naive_g(model, m.T) @ m.T
    np.testing.assert_allclose(k / k.max(), expected / expected.max(), rtol=0, atol=1e-12)


@models
def test_many_reference_blocks_are_one(model, monkeypatch):
    rng = np.random.default_rng(2)
    rows = csr_array(rng.poisson(0.5, (30, 20)))
    sim = model()
    sim.learn(rows)
    whole, beside = sim.compare(rows, rows), sim.compare(rows[:7], rows)
    monkeypatch.setattr("segapsith_plugins.similarities.gvsm._REFERENCES_PER_PIECE", 4)
    np.testing.assert_allclose(sim.compare(rows, rows), whole, rtol=0, atol=1e-12)
    np.testing.assert_allclose(sim.compare(rows[:7], rows), beside, rtol=0, atol=1e-12)
    np.testing.assert_allclose(beside, whole[:7], rtol=0, atol=1e-12)


@models
def test_single_precision_is_near(model):
    rng = np.random.default_rng(3)
    rows = csr_array(rng.poisson(0.5, (30, 40)))
    double, single = model(), model(precision="single")
    for sim in (double, single):
        sim.learn(rows)
    actual = single.compare(rows, rows)
    assert actual.dtype == np.float64
    np.testing.assert_allclose(actual, double.compare(rows, rows), rtol=0, atol=1e-4)


@pytest.mark.slow
@models
def test_a_sample_of_the_reference_documents_is_unbiased_and_seeded(model):
    rng = np.random.default_rng(4)
    m = rng.poisson(0.6, (40, 30)).astype(float)
    rows = csr_array(m)
    plain = model()
    plain.learn(rows)
    w = plain.factors(rows)
    total = np.zeros((40, 40))
    errors = []
    for seed in range(200):
        sampled = model(sample=0.2, seed=seed)
        sampled.learn(rows)
        r = sampled.factors(rows)
        assert r.shape == (40, 8)
        total += r @ r.T
        errors.append(np.linalg.norm(r @ r.T - w @ w.T))
    size = np.square(w).sum()
    assert np.mean(errors) <= size / np.sqrt(8)  # the bound, with the norm squared
    assert np.linalg.norm(total / 200 - w @ w.T) <= 3 * size / np.sqrt(8 * 200)
    again = model(sample=0.2, seed=199)
    again.learn(rows)
    np.testing.assert_array_equal(again.compare(rows, rows), sampled.compare(rows, rows))


def naive_projection(model, x, q, rank):
    """W_d = U_d^T W with the whole decomposition; the cosine of its columns."""
    n = q.shape[1]
    w = (np.eye(n) - np.ones((n, n)) / n) @ q.T @ x
    if model is PcaCov:
        w = w - w.mean(axis=1, keepdims=True)
    u, s, _ = np.linalg.svd(w)
    u = u[:, : len(s)][:, :rank]
    size = np.square(x).sum() * np.square(q).sum()
    wd = u.T @ w
    return cosines(wd.T @ wd, np.full(x.shape[1], size)), s


@pytest.mark.slow
@projections
@settings(max_examples=80, deadline=None)
@given(m=counts, rank=st.integers(1, 7))
def test_projections_are_the_papers(model, m, rank):
    expected, s = naive_projection(model, m.T, m.T, rank)
    after = s[rank] if rank < len(s) else 0.0
    size = np.square(m).sum()
    assume(rank >= len(s) or s[rank - 1] - after > 1e-3 * size or s[rank - 1] < 1e-12 * size)
    sim = model(rank=rank)
    sim.learn(csr_array(m))
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
@projections
def test_projections_by_lanczos_are_the_dense_ones(model):
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(450, 0.05), 6)
    m = rng.poisson(80 * topics[rng.integers(6, size=430)]).astype(float)
    sim = model(rank=5)
    sim.learn(csr_array(m))
    expected, _ = naive_projection(model, m.T, m.T, 5)
    np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), expected, rtol=0, atol=1e-9)


@projections
def test_the_kernel_route_gives_the_same(model):
    """LSK and kernel PCA: eigenvectors of K (centred for PCA) in place of the SVD of W."""
    rng = np.random.default_rng(6)
    m = rng.poisson(0.7, (20, 15)).astype(float)
    k = m @ naive_g(GvsmCov, m.T) @ m.T
    if model is PcaCov:
        h = np.eye(20) - np.ones((20, 20)) / 20
        k = h @ k @ h
    eigenvalues, vectors = np.linalg.eigh(k)
    factors = (vectors * np.sqrt(np.maximum(eigenvalues, 0)))[:, ::-1][:, :6]
    units = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    sim = model(rank=6)
    sim.learn(csr_array(m))
    np.testing.assert_allclose(
        sim.compare(csr_array(m), csr_array(m)), units @ units.T, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("model", [GvsmAssc, GvsmAsscN, GvsmCov, GvsmPcorr, LsiCov, PcaCov])
@settings(max_examples=30, deadline=None)
@given(m=counts, new=counts)
def test_a_state_can_be_put_back(model, m, new):
    sim, again = model(), model()
    sim.learn(csr_array(m))
    state = sim.state()
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in state.values())
    again.restore(state)
    actual = sim.compare(csr_array(m), csr_array(new))
    assert np.isfinite(actual).all()
    np.testing.assert_array_equal(again.compare(csr_array(m), csr_array(new)), actual)
    back = sim.compare(csr_array(new), csr_array(m))
    np.testing.assert_allclose(back.T, actual, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [GvsmAssc, GvsmAsscN, GvsmCov, GvsmPcorr, LsiCov, PcaCov])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_nothing_at_all_can_be_learned(model, shape):
    sim = model()
    assert not sim.compare(csr_array((2, 4)), csr_array((1, 4))).any()
    sim.learn(csr_array(shape))
    assert not sim.compare(csr_array(shape), csr_array(shape)).any()


def test_all_equal_rows_have_no_covariance():
    rows = csr_array(np.tile([0.1, 0.2, 0.7], (7, 1)))
    for model in (GvsmCov, GvsmPcorr, LsiCov, PcaCov):
        sim = model()
        sim.learn(rows)
        assert not sim.compare(rows, rows).any()


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (GvsmCov, {"sample": 0.0}, "sample=0.0 should be > 0 and <= 1"),
        (GvsmCov, {"sample": 1.5}, "sample=1.5 should be > 0 and <= 1"),
        (GvsmAssc, {"precision": "half"}, "precision=half should be"),
        (LsiCov, {"rank": 0}, "rank=0 should be >= 1"),
    ],
)
def test_wrong_settings_are_named(model, settings, message):
    with pytest.raises(ValueError, match=message):
        model(**settings)


@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", [GvsmAssc, GvsmAsscN, GvsmCov, GvsmPcorr, LsiCov, PcaCov])
def test_the_contract_is_kept(model, check):
    check(model)
