"""Validation: what the recomputed clustering gets, which units count, and curves over thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import segapsith
from segapsith.arrays import Labels, Rows
from segapsith.domains.replay import replay
from segapsith.domains.values import PlacementSettings
from segapsith.evaluation.validation import (
    CurveSettings,
    LearnedUnits,
    curve,
    select,
    summarize,
    validate,
    validate_with_labels,
)


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


# -- what the recomputed clustering gets -----------------------------------------------------


def test_names_of_domains_do_not_reach_the_recomputed_clustering() -> None:
    subjects = np.repeat(np.arange(5), 20)
    rng = np.random.default_rng(1)
    subjects = rng.permutation(subjects)
    counts = made(subjects, 5)
    given: list[Any] = []

    def cluster(rows: Rows) -> Labels:
        given.append(rows.toarray())
        return entropy_kmeans(rows, 5)

    first, labels = validate_with_labels(select(learned(subjects, counts)), cluster)
    renamed = np.array([71, 3, 900, 12, 5])[subjects]
    second, again = validate_with_labels(select(learned(renamed, counts)), cluster)
    assert (given[0] == given[1]).all()
    assert (labels == again).all()
    assert first.kappa == replace(second.kappa, random=first.kappa.random)
    assert first.ari == second.ari


def test_share_says_how_many_units_kappa_speaks_for() -> None:
    subjects = np.concatenate([np.repeat(np.arange(3), 20), np.arange(100, 140)])
    counts = made(np.where(subjects < 3, subjects, -1), 3)
    found = validate(select(learned(subjects, counts)), lambda rows: entropy_kmeans(rows, 3))
    assert found["domains"] == 3
    assert found["share"] == pytest.approx(found["units"] / 100)
    assert summarize(found).share == found.share


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


# -- the newest stories -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_newest_stories_alone_can_be_validated() -> None:
    from segapsith.demo import sample
    from segapsith_store.queries import stream

    with segapsith.open(":memory:", segmenter="none", duplicate_window=0) as wire:
        wire.ingest(sample.lines("en")[:60])
        units = wire.read(stream.learned_units).units
        newest = wire.read(lambda store: stream.learned_units(store, last=20)).units
        assert 15 <= len(newest) <= 20  # a unit a story; some are too short to be kept
        assert newest.tolist() == units[-len(newest) :].tolist()
        assert (
            wire.read(lambda store: stream.learned_units(store, last=999)).units.size == units.size
        )
        whole, part = wire.validate(min_units=2), wire.validate(min_units=2, last=20)
    assert (whole["last"], part["last"]) == (0, 20)
    assert 0 < part["units"] < whole["units"]


# -- other thresholds ------------------------------------------------------------------------


def test_a_replay_with_the_stores_own_threshold_gives_the_stores_domains() -> None:
    from segapsith.demo import sample
    from segapsith_store.queries import stream

    with segapsith.open(":memory:", segmenter="paragraphs") as wire:
        wire.ingest(line for line in sample.lines("en")[:60])
        units = wire.read(stream.learned_units)
        again = replay(units.bags(), wire.factory.placing(), units.significance).domains
    pairs = set(zip(units.domains.tolist(), again.tolist(), strict=True))
    # corrections and copies move units in the store, so that a few may differ
    assert len(pairs) <= 1.15 * len(set(units.domains.tolist()))


def test_a_higher_threshold_leaves_fewer_units_in_stable_domains() -> None:
    subjects = np.random.default_rng(0).permutation(np.repeat(np.arange(5), 30))
    units = learned(subjects, made(subjects, 5, share=0.7))
    points = curve(
        units, PlacementSettings(), [0.1, 0.5, 0.9], entropy_kmeans, CurveSettings(10, 0.01)
    )
    shares = [point["share"] for point in points]
    assert shares == sorted(shares, reverse=True)
    assert points[0]["share"] > 0.9
    assert points[-1]["all_domains"] > points[0]["all_domains"]
