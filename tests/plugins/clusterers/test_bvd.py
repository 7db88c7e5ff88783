"""Block value decomposition against its dense updates."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.evaluation import metrics
from segapsith.testing import clusterer_checks, example_rows
from segapsith_plugins.clusterers import bvd
from segapsith_plugins.clusterers.bvd import Bvd


def test_one_iteration_is_the_papers(monkeypatch):
    z = example_rows(8, 15).toarray()
    z = z[:, z.any(axis=0)]
    factors = []
    inner = bvd._distance

    def seen(squares, r, b, zc, cc):
        factors.append((r.copy(), b.copy()))
        return inner(squares, r, b, zc, cc)

    monkeypatch.setattr(bvd, "_distance", seen)
    words = []
    start = bvd.far_apart

    def noted(units, k, rng):
        words.append(start(units, k, rng))
        return words[-1]

    monkeypatch.setattr(bvd, "far_apart", noted)
    clusterer = Bvd(k=3, word_clusters=2, n_init=1, max_iterations=1)
    clusterer.cluster(csr_array(z), None)
    (r, b), (r_next, b_next) = factors
    c = np.eye(2)[words[1]].T + bvd.SHARED
    m = z / z.max()
    r_wanted = r * (m @ c.T @ b.T) / (r @ b @ c @ c.T @ b.T)
    b_wanted = b * (r_wanted.T @ m @ c.T) / (r_wanted.T @ r_wanted @ b @ c @ c.T)
    c_wanted = (
        c * (b_wanted.T @ r_wanted.T @ m) / (b_wanted.T @ r_wanted.T @ r_wanted @ b_wanted @ c)
    )
    np.testing.assert_allclose(r_next, r_wanted, rtol=1e-8)
    np.testing.assert_allclose(b_next, b_wanted, rtol=1e-8)
    distance = np.square(z - z.max() * r_wanted @ b_wanted @ c_wanted).sum()
    assert clusterer.objective_ == pytest.approx(distance, rel=1e-8)


def test_every_iteration_lowers_the_objective():
    for seed in range(4):
        clusterer = Bvd(k=4, word_clusters=6, seed=seed, n_init=2, tolerance=0)
        clusterer.cluster(example_rows(30, 60, seed=seed), None)
        assert len(clusterer.trace_) > 20
        assert (np.diff(clusterer.trace_) <= 1e-9 * clusterer.trace_[0]).all()
        assert clusterer.objective_ == min(clusterer.objectives_)


def test_two_clean_blocks_are_found():
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.0, (40, 30)) * (np.arange(40)[:, None] // 20 == np.arange(30) // 15)
    labels = Bvd(k=2).cluster(csr_array(rows.astype(float)), None)
    kept = labels >= 0
    assert metrics.nmi(labels[kept], np.arange(40)[kept] // 20) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"word_clusters": 0}, {"tolerance": 1}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Bvd(**wrong)


def test_values_below_zero_are_refused():
    with pytest.raises(ValueError, match="needs rows >= 0"):
        Bvd(k=2).cluster(csr_array(np.array([[1.0, -1.0]])), None)


@pytest.mark.parametrize("check", clusterer_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(Bvd)
