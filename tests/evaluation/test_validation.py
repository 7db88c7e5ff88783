"""Validation: what the recomputed clustering is told, and what is said of each domain."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import segapsith
from segapsith.arrays import Labels, Rows
from segapsith.domains.index import PlacementSettings
from segapsith.domains.replay import replay
from segapsith.evaluation import verdicts
from segapsith.evaluation.validation import LearnedUnits, brief, curve, recomputed, select, validate


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
    found: Labels = segapsith.clusterer("entropy-kmeans", k=k, seed=seed).cluster(rows, None)
    return found


# -- what the recomputed clustering is told --------------------------------------------------


def test_names_of_domains_do_not_reach_the_recomputed_clustering() -> None:
    subjects = np.repeat(np.arange(5), 20)
    rng = np.random.default_rng(1)
    subjects = rng.permutation(subjects)
    counts = made(subjects, 5)
    given: list[Any] = []

    def cluster(rows: Rows) -> Labels:
        given.append(rows.toarray())
        return entropy_kmeans(rows, 5)

    first, labels = recomputed(select(learned(subjects, counts)), cluster)
    renamed = np.array([71, 3, 900, 12, 5])[subjects]
    second, again = recomputed(select(learned(renamed, counts)), cluster)
    assert (given[0] == given[1]).all()
    assert (labels == again).all()
    assert first["kappa"] == {**second["kappa"], "random": first["kappa"]["random"]}
    assert first["ari"] == second["ari"]


def test_share_says_how_many_units_kappa_speaks_for() -> None:
    subjects = np.concatenate([np.repeat(np.arange(3), 20), np.arange(100, 140)])
    counts = made(np.where(subjects < 3, subjects, -1), 3)
    found = validate(select(learned(subjects, counts)), lambda rows: entropy_kmeans(rows, 3))
    assert found["domains"] == 3
    assert found["share"] == pytest.approx(found["units"] / 100)
    assert brief(found)["share"] == found["share"]


def test_the_cut_takes_words_that_weigh_more_in_some_stable_domain() -> None:
    domains = np.array([1] * 4 + [2] * 4 + [3])
    weights = np.zeros((9, 3))
    weights[:4, 0] = 0.5
    weights[0, 1] = 0.4  # 0.1 on the average of domain 1: not above 0.1
    weights[4:8, 2] = 0.2
    weights[8, 1] = 1.0  # of a domain that is not stable
    units = LearnedUnits(
        np.arange(9), domains, csr_array(weights > 0).astype(float), csr_array(weights), list("abc")
    )
    assert select(units, 4, 0.1).learned.words == ["a", "c"]
    assert select(units, 4, 0.09).learned.words == ["a", "b", "c"]
    published = replace(units, significance=np.array([0.3, 1.0, 0.05]))
    assert select(published, 4, 0.1).learned.words == ["a", "b"]  # 0.3, 1/4, 0.05


def test_links_are_counted_for_each_domain_by_both_methods() -> None:
    subjects = np.repeat(np.arange(4), 20)
    found = validate(
        select(learned(subjects, made(subjects, 4))), lambda rows: entropy_kmeans(rows, 4)
    )["links"]
    for one in found["domains"]:
        for method in ("similarity", "entropy"):
            wanted = [int(c) for c, d in found[method]["links"].items() if d == one["domain"]]
            assert one[method] == wanted
        assert set(one["shared"]) == set(one["similarity"]) & set(one["entropy"])


def test_trees_are_compared_where_both_sides_have_one() -> None:
    subjects = np.repeat(np.arange(4), 20)
    units = select(learned(subjects, made(subjects, 4)))
    found = validate(units, lambda rows: entropy_kmeans(rows, 4))["tree"]
    assert found["r"] > 0.9
    assert found["p"] < 0.01
    assert validate(units, lambda rows: entropy_kmeans(rows, 2))["tree"] is None


# -- domain by domain ------------------------------------------------------------------------


def judged(domains: list[int], clusters: list[int]) -> dict[int, str]:
    rows = csr_array(np.ones((len(domains), 2)))
    found = verdicts.verdicts(learned(np.array(domains), rows), np.array(clusters))
    return {one["domain"]: one["verdict"] for one in found}


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
    firmness = verdicts.stability(
        selection.learned, lambda rows, seed: entropy_kmeans(rows, selection.n_domains, seed), 3
    )
    found = {v["domain"]: v for v in verdicts.verdicts(selection.learned, labels, firmness)}
    assert found[10]["verdict"] == "split"
    assert [found[d]["verdict"] for d in (20, 21)] == ["merged", "merged"]
    assert (found[20]["with"], found[21]["with"]) == ([21], [20])
    assert [found[d]["verdict"] for d in (30, 40, 50)] == ["confirmed"] * 3
    assert found[90]["verdict"] == "missing"
    assert found[90]["stability"] < 0.3
    assert found[30]["stability"] > 0.7
    assert found[99]["coherence"] < 0.1 < found[30]["coherence"]
    assert "hardly keep company" in found[99]["told"]
    assert all(found[d]["told"] for d in found)
    assert "domain 21" in found[20]["told"]
    assert set(found[30]["words"]) <= {f"w{i}" for i in range(30, 40)}
    for domain, verdict in found.items():
        assert len(verdict["example_units"]) == 2
        assert all(units.domains[units.units == u][0] == domain for u in verdict["example_units"])
    parts = [set(part["words"]) for part in found[10]["clusters"]]
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
    (found, none) = verdicts.coherence(csr_array(rows), [words, np.array([2])])
    assert found == pytest.approx(np.mean(naive))
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


def test_the_newest_stories_alone_can_be_validated() -> None:
    from segapsith.demo import sample
    from segapsith_store.queries import browse

    with segapsith.open(":memory:", segmenter="none", duplicate_window=0) as wire:
        wire.ingest(sample.lines("en")[:60])
        units = wire.read(browse.learned_units).units
        newest = wire.read(lambda store: browse.learned_units(store, last=20)).units
        assert 15 <= len(newest) <= 20  # a unit a story; some are too short to be kept
        assert newest.tolist() == units[-len(newest) :].tolist()
        assert (
            wire.read(lambda store: browse.learned_units(store, last=999)).units.size == units.size
        )
        whole, part = wire.validate(min_units=2), wire.validate(min_units=2, last=20)
    assert (whole["last"], part["last"]) == (0, 20)
    assert 0 < part["units"] < whole["units"]


# -- other thresholds ------------------------------------------------------------------------


def test_a_replay_with_the_stores_own_threshold_gives_the_stores_domains() -> None:
    from segapsith.demo import sample
    from segapsith_store.queries import browse

    with segapsith.open(":memory:", segmenter="paragraphs") as wire:
        wire.ingest(line for line in sample.lines("en")[:60])
        units = wire.read(browse.learned_units)
        again = replay(units.bags(), wire.factory.placing(), units.significance).domains
    pairs = set(zip(units.domains.tolist(), again.tolist(), strict=True))
    # corrections and copies move units in the store, so that a few may differ
    assert len(pairs) <= 1.15 * len(set(units.domains.tolist()))


def test_a_higher_threshold_leaves_fewer_units_in_stable_domains() -> None:
    subjects = np.random.default_rng(0).permutation(np.repeat(np.arange(5), 30))
    units = learned(subjects, made(subjects, 5, share=0.7))
    points = curve(
        units, PlacementSettings(), [0.1, 0.5, 0.9], entropy_kmeans, min_units=10, word_cut=0.01
    )
    shares = [point["share"] for point in points]
    assert shares == sorted(shares, reverse=True)
    assert points[0]["share"] > 0.9
    assert points[-1]["all_domains"] > points[0]["all_domains"]
