"""Verdicts on single domains: kinds, words, examples, coherence and stability."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import segapsith
from segapsith.arrays import Labels, Rows
from segapsith.evaluation import verdicts
from segapsith.evaluation.validation import LearnedUnits, select


def made(
    subjects: NDArray[np.int64], n_subjects: int, seed: int = 0, share: float = 0.9
) -> csr_array:
    """Units by words: ten words a subject, and words that all subjects use."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((len(subjects), 10 * n_subjects + 20))
    for row, subject in enumerate(subjects.tolist()):
        for _ in range(14):
            own = subject >= 0 and rng.random() < share
            word = 10 * subject + rng.integers(10) if own else rng.integers(rows.shape[1])
            rows[row, word] += 1
    return csr_array(rows)


def learned(domains: NDArray[np.int64], counts: csr_array) -> LearnedUnits:
    weights = counts.copy()
    weights.data = np.minimum(weights.data / 4, 1.0)
    return LearnedUnits(
        np.arange(1, len(domains) + 1), domains, counts, weights,
        [f"w{i}" for i in range(counts.shape[1])],
    )  # fmt: skip


def entropy_kmeans(rows: Rows, k: int, seed: int = 0) -> Labels:
    labels: Labels = segapsith.clusterer("entropy-kmeans", k=k, seed=seed).cluster(rows, None)
    return labels


def judged(domains: list[int], clusters: list[int]) -> dict[int, str]:
    rows = csr_array(np.ones((len(domains), 2)))
    result = verdicts.judge(learned(np.array(domains), rows), np.array(clusters))
    return {one["domain"]: one["verdict"] for one in result}


def test_verdicts_follow_from_the_table() -> None:
    assert judged([1] * 10 + [2] * 10, [0] * 10 + [1] * 10) == {1: "confirmed", 2: "confirmed"}
    assert judged([1] * 10 + [2] * 10, [0] * 5 + [1] * 5 + [2] * 10) == {1: "split", 2: "confirmed"}
    assert judged([1] * 10 + [2] * 10 + [3] * 9, [0] * 20 + [1] * 9)[3] == "confirmed"
    assert judged([1] * 8 + [2] * 8 + [3] * 8, [0] * 24) == dict.fromkeys((1, 2, 3), "merged")
    assert judged([1] * 6 + [2] * 14, [0] * 20) == {1: "merged", 2: "merged"}
    assert judged([1] * 4 + [2] * 16, [0] * 20) == {1: "merged", 2: "confirmed"}
    scattered = judged([1] * 9 + [2] * 30, [0, 0, 0, 1, 1, 1, 2, 2, 2, *([0, 1, 2] * 10)])
    assert scattered[1] == "missing"


def test_planted_faults_are_found_with_words_and_examples() -> None:
    """One domain holds two subjects, two domains share a subject, one has a bit of everything, and
    one is of words that do not go together."""
    subjects = np.concatenate([np.repeat(np.arange(6), 40), np.arange(36) % 6, np.full(40, -1)])
    domains = np.array([10, 10, 20, 30, 40, 50, 99])[subjects]
    domains[subjects == 2] = np.arange(46) % 2 + 20  # one subject in two domains
    domains[240:276] = 90  # units of all subjects
    order = np.random.default_rng(5).permutation(len(subjects))
    units = learned(domains[order], made(subjects, 6, seed=2)[order])
    selection = select(units)
    labels = entropy_kmeans(selection.learned.counts, selection.n_domains)
    stabilities = verdicts.stability(
        selection.learned, lambda rows, seed: entropy_kmeans(rows, selection.n_domains, seed), 3
    )
    result = {v["domain"]: v for v in verdicts.judge(selection.learned, labels, stabilities)}
    assert result[10]["verdict"] == "split"
    assert [result[d]["verdict"] for d in (20, 21)] == ["merged", "merged"]
    assert (result[20]["with"], result[21]["with"]) == ([21], [20])
    assert [result[d]["verdict"] for d in (30, 40, 50)] == ["confirmed"] * 3
    assert result[90]["verdict"] == "missing"
    assert result[90]["stability"] < 0.3
    assert result[30]["stability"] > 0.7
    assert result[99]["coherence"] < 0.1 < result[30]["coherence"]
    assert "hardly co-occur" in result[99]["told"]
    assert all(result[d]["told"] for d in result)
    assert "domain 21" in result[20]["told"]
    assert set(result[30]["words"]) <= {f"w{i}" for i in range(30, 40)}
    for domain, verdict in result.items():
        assert len(verdict["example_units"]) == 2
        assert all(units.domains[units.units == u][0] == domain for u in verdict["example_units"])
    parts = [set(part["words"]) for part in result[10]["clusters"]]
    assert parts[0] <= {f"w{i}" for i in range(20)}
    assert not parts[0] & parts[1]


def test_coherence_is_the_mean_npmi_over_pairs() -> None:
    rng = np.random.default_rng(0)
    rows = (rng.random((60, 8)) < 0.4).astype(float)
    words = np.array([6, 1, 4, 3])
    naive = []
    for v, w in combinations(words.tolist(), 2):
        both = ((rows[:, v] > 0) & (rows[:, w] > 0)).mean()
        p, q = (rows[:, v] > 0).mean(), (rows[:, w] > 0).mean()
        naive.append(-1.0 if both == 0 else math.log(both / (p * q)) / -math.log(both))
    (result, none) = verdicts.coherence(csr_array(rows), [words, np.array([2])])
    assert result == pytest.approx(np.mean(naive))
    assert none is None
    assert verdicts.coherence(csr_array(np.ones((5, 2))), [np.array([0, 1])]) == [1.0]


def test_a_domain_that_every_half_shows_again_is_firm() -> None:
    subjects = np.repeat(np.arange(3), 30)
    units = learned(subjects, made(subjects, 3, share=1.0))
    firm = verdicts.stability(units, lambda rows, seed: entropy_kmeans(rows, 3, seed), 4)
    assert firm == {0: 1.0, 1: 1.0, 2: 1.0}
    loose = verdicts.stability(
        units, lambda rows, seed: np.random.default_rng(seed).integers(0, 3, rows.shape[0]), 4
    )
    assert max(loose.values()) < 0.5


def test_the_json_form_has_the_keys_of_the_report() -> None:
    rows = csr_array(np.ones((20, 2)))
    units = learned(np.repeat([1, 2], 10), rows)
    split, whole = verdicts.judge(units, np.array([0] * 5 + [1] * 5 + [2] * 10))
    assert (split.verdict, whole.verdict) == ("split", "confirmed")
    form = split.as_json()
    assert list(form) == [
        "domain", "verdict", "units", "words", "clusters", "with", "stability", "coherence",
        "example_units", "told",
    ]  # fmt: skip
    assert split["with"] == split.merged_with == form["with"] == []
    assert list(form["clusters"][0]) == ["cluster", "units", "of_domain", "of_cluster", "words"]
    assert list(whole.as_json()["clusters"][0]) == ["cluster", "units", "of_domain", "of_cluster"]
    assert json.loads(json.dumps(form)) == form


@pytest.mark.parametrize(
    ("stability", "coherence", "note"),
    [
        (0.2, None, "; random halves of the units rarely reproduce it (0.20)"),
        (None, 0.05, "; its words hardly co-occur (0.05)"),
        (0.9, 0.9, ""),
    ],
)
def test_weak_figures_are_described(
    stability: float | None, coherence: float | None, note: str
) -> None:
    share = verdicts.ClusterShare(cluster=3, units=8, of_domain=0.8, of_cluster=1.0)
    verdict = verdicts.Verdict(
        1, "confirmed", 10, [], [share], [], stability, coherence, example_units=[]
    )
    text = "80 % of its units lie in cluster 3, which is 100 % this domain"
    assert verdicts.describe(verdict) == text + note
