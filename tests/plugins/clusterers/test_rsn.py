"""The relation summary network against its distortions."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.evaluation import metrics
from segapsith.testing import clusterer_checks, example_rows
from segapsith_plugins.clusterers.rsn import Rsn


def naive(m, rows, words, distortion):
    """The distortion of M by the means of its blocks, entry by entry."""
    total = 0.0
    for a in np.unique(rows):
        for b in np.unique(words):
            block = m[np.ix_(rows == a, words == b)]
            mean = block.mean()
            if distortion == "squared":
                total += np.square(block - mean).sum()
            else:
                there = block[block > 0]
                total += (there * np.log(there / mean)).sum() - block.sum() + mean * block.size
    return total


@pytest.mark.parametrize("distortion", ["i-divergence", "squared"])
def test_the_objective_is_the_distortion(distortion):
    m = example_rows(14, 25).toarray()
    m = m[:, m.any(axis=0)]
    clusterer = Rsn(k=3, word_clusters=5, distortion=distortion, n_init=3)
    labels = clusterer.cluster(csr_array(m), None)
    assert clusterer.objective_ == pytest.approx(
        naive(m, labels, clusterer.word_labels_, distortion)
    )
    # and no row has a group whose means fit better
    for i in range(len(m)):
        costs = []
        for a in range(labels.max() + 1):
            cost = 0.0
            for b in range(clusterer.word_labels_.max() + 1):
                mean = m[np.ix_(labels == a, clusterer.word_labels_ == b)].mean()
                x = m[i, clusterer.word_labels_ == b]
                if distortion == "squared":
                    cost += np.square(x - mean).sum()
                elif mean == 0:
                    cost += np.inf if x.any() else 0.0
                else:
                    cost += mean * len(x) - x.sum() * np.log(mean)
            costs.append(cost)
        assert costs[labels[i]] <= min(costs) + 1e-9


@pytest.mark.parametrize("distortion", ["i-divergence", "squared"])
def test_every_half_step_lowers_the_distortion(distortion):
    for seed in range(5):
        clusterer = Rsn(k=5, word_clusters=7, distortion=distortion, seed=seed, n_init=2)
        clusterer.cluster(example_rows(40, 80, seed=seed), None)
        assert (np.diff(clusterer.trace_) <= 1e-9 * clusterer.trace_[0]).all()
        assert clusterer.objective_ == min(clusterer.objectives_)


@pytest.mark.parametrize("distortion", ["i-divergence", "squared"])
def test_two_clean_blocks_are_found(distortion):
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.0, (40, 30)) * (np.arange(40)[:, None] // 20 == np.arange(30) // 15)
    labels = Rsn(k=2, distortion=distortion).cluster(csr_array(rows.astype(float)), None)
    kept = labels >= 0
    assert metrics.nmi(labels[kept], np.arange(40)[kept] // 20) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"word_clusters": 0}, {"distortion": "x"}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Rsn(**wrong)


@pytest.mark.parametrize("check", clusterer_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(Rsn)
