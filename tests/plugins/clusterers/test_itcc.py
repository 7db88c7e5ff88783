"""Information-theoretic co-clustering against its definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.evaluation import metrics
from segapsith.testing import clusterer_checks, example_rows
from segapsith_plugins.clusterers.itcc import Itcc, block_information


def information(p):
    """I(X; Y) in nats, term by term."""
    p = p / p.sum()
    outer = np.outer(p.sum(axis=1), p.sum(axis=0))
    there = p > 0
    return float((p[there] * np.log(p[there] / outer[there])).sum())


def naive_loss(m, rows, words):
    """KL(p ‖ q) with q(x, y) = p(x̂, ŷ) p(x | x̂) p(y | ŷ)."""
    p = m / m.sum()
    q = np.zeros_like(p)
    for a in np.unique(rows):
        for b in np.unique(words):
            here = np.ix_(rows == a, words == b)
            block = p[here].sum()
            x = p[rows == a].sum(axis=1) / p[rows == a].sum()
            y = p[:, words == b].sum(axis=0) / p[:, words == b].sum()
            q[here] = block * np.outer(x, y)
    there = p > 0
    return float((p[there] * np.log(p[there] / q[there])).sum())


def test_the_objective_is_what_the_paper_minimises():
    m = example_rows(12, 20).toarray()
    m = m[:, m.any(axis=0)]
    clusterer = Itcc(k=3, word_clusters=4)
    labels = clusterer.cluster(csr_array(m), None)
    loss = naive_loss(m, labels, clusterer.word_labels_)
    assert clusterer.objective_ == pytest.approx(information(m) - loss, abs=1e-9)
    blocks = np.array(
        [
            [m[np.ix_(labels == a, clusterer.word_labels_ == b)].sum() for b in range(4)]
            for a in range(3)
        ]
    )
    assert block_information(blocks) == pytest.approx(information(blocks), abs=1e-12)


def test_every_half_step_raises_the_information():
    for seed in range(5):
        clusterer = Itcc(k=4, word_clusters=8, seed=seed, n_init=3)
        clusterer.cluster(example_rows(40, 80, seed=seed), None)
        assert (np.diff(clusterer.trace_) >= -1e-9).all()
        assert clusterer.objective_ == max(clusterer.objectives_) == clusterer.trace_[-1]


def test_no_single_move_of_a_row_helps():
    m = example_rows(10, 12).toarray()
    m = m[:, m.any(axis=0)]
    clusterer = Itcc(k=3, word_clusters=3)
    labels = clusterer.cluster(csr_array(m), None)
    best = naive_loss(m, labels, clusterer.word_labels_)
    for i in range(len(m)):
        for other in range(3):
            moved = labels.copy()
            moved[i] = other
            assert naive_loss(m, moved, clusterer.word_labels_) >= best - 1e-9


@pytest.mark.parametrize("scale", [1.0, 0.37])
def test_two_clean_blocks_are_found(scale):
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.0, (40, 30)) * (np.arange(40)[:, None] // 20 == np.arange(30) // 15)
    labels = Itcc(k=2).cluster(csr_array(rows * scale), None)
    kept = labels >= 0
    assert metrics.nmi(labels[kept], np.arange(40)[kept] // 20) == pytest.approx(1.0)


def test_the_number_of_word_groups_is_chosen_without_labels():
    clusterer = Itcc(k=4, n_init=2)
    clusterer.cluster(example_rows(60, 200, length=40), None)
    assert clusterer.word_labels_.max() + 1 in (8, 16, 32, 64, 128)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"word_clusters": 0}, {"n_init": 0}, {"seed": -1}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Itcc(**wrong)


def test_values_below_zero_are_refused():
    with pytest.raises(ValueError, match="needs rows >= 0"):
        Itcc(k=2).cluster(csr_array(np.array([[1.0, -1.0]])), None)


@pytest.mark.parametrize("check", clusterer_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(Itcc)
