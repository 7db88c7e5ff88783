"""LSA and PCA against a whole dense decomposition, and against the kernel route."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.testing import similarity_checks
from segapsith_plugins.similarities.lsa import Lsa, Pca

values = st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0])
counts = st.integers(1, 6).flatmap(
    lambda n: st.integers(1, 6).flatmap(lambda m: arrays(np.float64, (n, m), elements=values))
)
"""Small matrices with empty rows, zero columns, single rows, copies."""

both = pytest.mark.parametrize("model", [Lsa, Pca])


def naive(model, m, rank):
    """Columns of S_d V_d^T, from X (terms × documents), compared by cosine; and all of S."""
    x = m.T
    if model is Pca:
        x = x - x.mean(axis=1, keepdims=True)
    _, s, vt = np.linalg.svd(x, full_matrices=False)
    factors = (s[:rank, None] * vt[:rank]).T
    lengths = np.linalg.norm(factors, axis=1)
    keep = lengths > 1e-9 * max(np.linalg.norm(m), 1e-300)
    inverse = np.divide(1, lengths, out=np.zeros_like(lengths), where=keep)
    units = factors * inverse[:, None]
    return units @ units.T, s


@both
@settings(max_examples=120, deadline=None)
@given(m=counts, rank=st.integers(1, 7))
def test_compare_is_the_papers_matrix(model, m, rank):
    expected, s = naive(model, m, rank)
    after = s[rank] if rank < len(s) else 0.0
    size = np.linalg.norm(m)
    # where two singular values are equal at the cut, there is more than one answer
    assume(rank >= len(s) or s[rank - 1] - after > 1e-3 * size or s[rank - 1] < 1e-12 * size)
    sim = model(rank=rank)
    sim.learn(csr_array(m))
    np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), expected, rtol=0, atol=1e-9)


@pytest.mark.slow
@both
def test_lanczos_gives_the_dense_answer(model):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(450, 0.05), 8)
    m = rng.poisson(60 * topics[rng.integers(8, size=420)]).astype(float)
    sim = model(rank=6)
    sim.learn(csr_array(m))
    expected, _ = naive(model, m, 6)
    np.testing.assert_allclose(sim.compare(csr_array(m), csr_array(m)), expected, rtol=0, atol=1e-9)
    again = model(rank=6)
    again.learn(csr_array(m))
    np.testing.assert_array_equal(again.state()["vectors"], sim.state()["vectors"])


@both
def test_the_kernel_route_gives_the_same(model):
    """Eigenvectors of X^T X, centred on both sides for PCA."""
    rng = np.random.default_rng(1)
    m = rng.poisson(0.7, (20, 15)).astype(float)
    kernel = m @ m.T
    if model is Pca:
        h = np.eye(20) - np.ones((20, 20)) / 20
        kernel = h @ kernel @ h
    eigenvalues, vectors = np.linalg.eigh(kernel)
    factors = (vectors * np.sqrt(np.maximum(eigenvalues, 0)))[:, ::-1][:, :6]
    units = factors / np.linalg.norm(factors, axis=1, keepdims=True)
    sim = model(rank=6)
    sim.learn(csr_array(m))
    np.testing.assert_allclose(
        sim.compare(csr_array(m), csr_array(m)), units @ units.T, rtol=0, atol=1e-9
    )


@both
def test_signs_are_fixed(model):
    rng = np.random.default_rng(2)
    sim = model(rank=4)
    sim.learn(csr_array(rng.random((12, 9))))
    vectors = sim.state()["vectors"]
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(4)] > 0).all()


@pytest.mark.slow
@both
@settings(max_examples=60, deadline=None)
@given(m=counts, new=counts)
def test_new_rows_and_new_words_are_welcome(model, m, new):
    sim, again = model(rank=2), model(rank=2)
    sim.learn(csr_array(m))
    state = sim.state()
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in state.values())
    again.restore(state)
    learned, others = csr_array(m), csr_array(new)
    actual = sim.compare(learned, others)
    assert actual.shape == (len(m), len(new))
    assert np.isfinite(actual).all()
    assert (np.abs(actual) <= 1).all()
    np.testing.assert_allclose(actual, sim.compare(others, learned).T, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(again.compare(learned, others), actual)


@both
def test_a_row_of_unknown_words_only_adds_nothing(model):
    sim = model(rank=2)
    sim.learn(csr_array([[1.0, 0.0], [1.0, 2.0], [0.0, 3.0]]))
    known = csr_array([[1.0, 2.0]])
    wider = csr_array([[1.0, 2.0, 9.0]])
    assert sim.compare(known, wider)[0, 0] == pytest.approx(1)


def test_a_row_of_unknown_words_is_like_nothing_in_lsa():
    sim = Lsa(rank=2)
    sim.learn(csr_array([[1.0, 0.0], [1.0, 2.0]]))
    assert sim.compare(csr_array([[0.0, 0.0, 9.0]]), csr_array([[1.0, 0.0]]))[0, 0] == 0


@both
def test_all_equal_rows(model):
    rows = csr_array(np.tile([0.1, 0.2, 0.7], (7, 1)))
    sim = model(rank=3)
    sim.learn(rows)
    np.testing.assert_allclose(
        sim.compare(rows, rows), 1 if model is Lsa else 0, rtol=0, atol=1e-12
    )


@both
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_nothing_at_all_can_be_learned(model, shape):
    sim = model()
    assert not sim.compare(csr_array((2, 4)), csr_array((1, 4))).any()
    sim.learn(csr_array(shape))
    assert not sim.compare(csr_array(shape), csr_array(shape)).any()


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="rank=0 should be >= 1"):
        Lsa(rank=0)


@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("model", [Lsa, Pca])
def test_the_contract_is_kept(model, check):
    check(model)
