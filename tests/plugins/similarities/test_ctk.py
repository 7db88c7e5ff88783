"""The commute-time kernel against NumPy's pseudo-inverse."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from segapsith.evaluation import metrics
from segapsith.testing import example_rows, similarity_checks
from segapsith_plugins.clusterers.ahc import AHC
from segapsith_plugins.similarities.ctk import Ctk

counts = st.tuples(st.integers(1, 7), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, 1.0, 3.0]))
)


def naive(m, a=7.0, graph="cooccurrence", centre=False):
    """K of the rows, by the formula."""
    n = len(m)
    m = m / (m.max() or 1.0)
    if graph == "cooccurrence":
        adjacency = m @ m.T
    else:
        m = m[:, m.any(axis=0)]
        width = m.shape[1]
        adjacency = np.block([[np.zeros((n, n)), m], [m.T, np.zeros((width, width))]])
    np.fill_diagonal(adjacency, 0)
    inverse = np.linalg.pinv(np.diag(adjacency.sum(axis=1)) - adjacency, hermitian=True)
    s = inverse.std(ddof=1) if inverse.size > 1 else 0.0
    k = 1 / (1 + np.exp(-a * inverse / s)) if s > 1e-12 else np.full(inverse.shape, 0.5)
    k = k[:n, :n]
    if centre:
        h = np.eye(n) - 1 / n
        k = h @ k @ h
    return k


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(counts, st.sampled_from(["cooccurrence", "bipartite"]), st.booleans())
def test_it_is_the_formula(m, graph, centre):
    sim = Ctk(graph=graph, centre=centre)
    sim.learn(csr_array(m))
    expected = naive(m, graph=graph, centre=centre)
    expected[~m.any(axis=1)] = 0
    expected[:, ~m.any(axis=1)] = 0
    actual = sim.compare(csr_array(m), csr_array(m))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7)


def test_a_graph_in_parts_is_reported(caplog):
    rows = csr_array(np.array([[1.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1], [0] * 4]))
    with caplog.at_level(logging.WARNING):
        sim = Ctk()
        sim.learn(rows)
    assert sim.n_components_ == 2
    assert "2 parts" in caplog.text
    assert not sim.compare(rows, rows)[4].any()


@pytest.mark.parametrize("graph", ["cooccurrence", "bipartite"])
def test_two_blocks_are_found(graph):
    rng = np.random.default_rng(0)
    rows = rng.poisson(2.0, (24, 20)) * (np.arange(24)[:, None] // 12 == np.arange(20) // 10)
    rows[:, 0] += 1  # one word that all have, so that the graph hangs together
    rows = csr_array(rows.astype(float))
    sim = Ctk(graph=graph)
    sim.learn(rows)
    labels = AHC(k=2, linkage="ward").cluster(rows, sim.compare)
    assert metrics.nmi(labels, np.arange(24) // 12) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"a": 0}, {"graph": "x"}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Ctk(**wrong)


@pytest.mark.parametrize("graph", ["cooccurrence", "bipartite"])
@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check, graph):
    def make_plugin(**more):
        return Ctk(**{"graph": graph, **more})

    check(make_plugin)


def test_it_costs_rows_squared_only():
    rows = example_rows(40, 5000)
    sim = Ctk(graph="bipartite")
    sim.learn(rows)
    assert sim.compare(rows, rows).shape == (40, 40)
