"""Agreement by chance: none on average, and p-values that are uniformly distributed."""

import numpy as np
from scipy.stats import kstest

from segapsith.evaluation import metrics
from segapsith.evaluation.compare import kappa, kappa_interval, mantel
from segapsith.evaluation.validation import agreement


def test_random_partitions_have_a_kappa_near_zero():
    """Greedy and optimal mappings look for agreement, and find a little where there is none."""
    rng = np.random.default_rng(0)
    values = {name: [] for name in ("greedy", "optimal", "random")}
    for seed in range(40):
        a, b = rng.integers(0, 10, 4000), rng.integers(0, 10, 4000)
        for name, outcome in values.items():
            outcome.append(kappa(a, b, name, seed))
    assert abs(np.mean(values["random"])) < 0.005
    assert max(abs(v) for v in values["random"]) < 0.03
    assert 0 < np.mean(values["greedy"]) <= np.mean(values["optimal"]) < 0.03


def test_p_values_of_random_partitions_are_uniform():
    rng = np.random.default_rng(7)
    outcome = [
        mantel(rng.integers(0, 6, 400), rng.integers(0, 7, 400), permutations=199, seed=seed).p
        for seed in range(250)
    ]
    assert kstest(outcome, "uniform").pvalue > 0.01
    assert 0.02 <= np.mean(np.asarray(outcome) <= 0.05) <= 0.09


def test_identical_partitions_agree_wholly_by_every_number():
    labels = np.random.default_rng(2).integers(0, 9, 500)
    result = agreement(labels, labels + 100)
    assert set(result.kappa.as_json().values()) - {result.kappa.random} == {1.0}
    assert (result.ari, result.nmi) == (1.0, 1.0)
    assert abs(result.vi) < 1e-12
    assert result.mantel.normalised == 1.0
    assert result.coverage.share == result.coverage.reverse_share == 1.0
    assert result.kappa_interval.low == 1.0


def test_every_number_is_that_of_its_own_function():
    rng = np.random.default_rng(3)
    a = rng.integers(0, 6, 300)
    b = np.where(rng.random(300) < 0.6, a, rng.integers(0, 5, 300))
    result = agreement(a, b, seed=4)
    for name in ("greedy", "hungarian", "optimal", "random"):
        assert result.kappa[name] == kappa(a, b, name, 4)
    interval = kappa_interval(a, b, seed=4)
    assert (result.kappa_interval.low, result.kappa_interval.high) == interval
    assert result.ari == metrics.ari(b, a)
    assert result.mantel.z == ((a[:, None] != a) & (b[:, None] != b)).sum()
    table = np.zeros((6, 6), dtype=int)
    for row, column, count in result.table.cells:
        table[result.table.domains[row], result.table.clusters[column]] = count
    assert all(table[i, j] == ((a == i) & (b == j)).sum() for i in range(6) for j in range(6))
