"""SNOS against its two formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.evaluation import metrics
from segapsith.testing import example_rows, similarity_checks
from segapsith_plugins.clusterers.ahc import AHC
from segapsith_plugins.similarities.snos import Snos

counts = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, 1.0, 2.0]))
)


def naive(m, iterations, damping=None, rows=True):
    """SR after both chains, and λ."""
    if rows:
        sums = m.sum(axis=1, keepdims=True)
        m = np.divide(m, sums, out=np.zeros_like(m), where=sums > 0)
    lam = damping or 0.9 / (max(m.sum(axis=0).max(), m.sum(axis=1).max()) or 1)
    sr, sc = np.eye(m.shape[0]), np.eye(m.shape[1])
    for _ in range(iterations):
        sr, sc = lam * m @ sc @ m.T, lam * m.T @ sr @ m
        np.fill_diagonal(sr, 1)
        np.fill_diagonal(sc, 1)
    return sr, lam, m


@settings(max_examples=80, deadline=None)
@given(counts, st.integers(1, 5), st.sampled_from(["rows", "none"]))
def test_it_is_the_formula(m, iterations, normalise):
    sim = Snos(iterations=iterations, normalise=normalise)
    sim.learn(csr_array(m))
    expected, lam, used = naive(m, iterations, rows=normalise == "rows")
    assert lam * np.linalg.norm(used, 2) ** 2 < 1 or normalise == "none"
    expected[~m.any(axis=1)] = 0
    expected[:, ~m.any(axis=1)] = 0
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


def test_it_stays_finite_for_many_steps_and_says_when_it_does_not():
    rows = example_rows(30, 40)
    sim = Snos(iterations=200)
    sim.learn(rows)
    assert sim.compare(rows, rows).max() < 10
    with pytest.raises(ValueError, match="too large"), np.errstate(all="ignore"):
        Snos(iterations=400, damping=1e6).learn(rows)


def test_two_clean_blocks_are_found():
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.5, (24, 20)) * (np.arange(24)[:, None] // 12 == np.arange(20) // 10)
    rows = csr_array(rows.astype(float))
    sim = Snos()
    sim.learn(rows)
    labels = AHC(k=2, linkage="average").cluster(rows, sim.compare)
    kept = labels >= 0
    assert metrics.nmi(labels[kept], np.arange(24)[kept] // 12) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"iterations": 0}, {"damping": 0}, {"normalise": "x"}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Snos(**wrong)


@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(Snos)
