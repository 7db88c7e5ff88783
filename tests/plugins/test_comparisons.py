"""The built-in comparisons: a snapshot agrees with itself, and units are matched by their ids."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from segapsith.evaluation import compare
from segapsith.model import Snapshot
from segapsith.plugin.contracts import Comparison
from segapsith_plugins.comparisons import (
    CoverageComparison,
    EntropyLinks,
    KappaComparison,
    MantelComparison,
    SimilarityLinks,
    register_comparisons,
)

kinds = [SimilarityLinks, EntropyLinks, CoverageComparison, KappaComparison, MantelComparison]
by_units = [CoverageComparison, KappaComparison, MantelComparison]
WORDS = ("wind", "storm", "rain", "goal", "match")


def snapshot(labels, rows=None, units=None, groups=None):
    """Units with these labels; each with one word of its label and one of its own unless given."""
    labels = np.array(labels, dtype=np.int64)
    n = len(labels)
    if rows is None:
        rows = np.zeros((n, len(WORDS)))
        rows[np.arange(n), labels % len(WORDS)] = 3
        rows[np.arange(n), np.arange(n) % len(WORDS)] += 1
    return Snapshot(
        name="test",
        units=np.arange(n, dtype=np.int64) if units is None else np.array(units, dtype=np.int64),
        labels=labels,
        rows=csr_array(np.asarray(rows, dtype=np.float64).reshape(n, len(WORDS))),
        words=WORDS,
        groups=groups or {},
    )


snapshots = st.integers(0, 12).flatmap(
    lambda n: st.builds(
        snapshot,
        st.lists(st.integers(-1, 3), min_size=n, max_size=n),
        st.lists(
            st.lists(st.sampled_from([0, 0, 1, 4]), min_size=len(WORDS), max_size=len(WORDS)),
            min_size=n,
            max_size=n,
        ),
        groups=st.dictionaries(
            st.integers(0, 3),
            st.dictionaries(st.sampled_from([*WORDS, "unheard"]), st.floats(0, 1)),
        ),
    )
)


def test_every_name_is_offered():
    offered = register_comparisons()
    assert set(offered) == {"similarity-links", "entropy-links", "coverage", "kappa", "mantel"}
    for factory in offered.values():
        assert isinstance(factory(), Comparison)


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds)
@settings(max_examples=60, deadline=None)
@given(snapshots)
def test_a_snapshot_agrees_with_itself(kind, snapshot):
    agreement = kind().measure(snapshot, snapshot)
    assert agreement.value == 1.0
    assert agreement.details["units"] == np.count_nonzero(snapshot.labels >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds)
@settings(max_examples=60, deadline=None)
@given(snapshots, snapshots)
def test_details_are_plain_json_and_values_finite(kind, left, right):
    agreement = kind().measure(left, right)
    json.dumps(dict(agreement.details), allow_nan=False)
    assert np.isfinite(agreement.value)
    assert agreement.value <= 1.0


@pytest.mark.parametrize("kind", kinds)
def test_units_are_matched_by_their_ids_and_not_by_their_place(kind):
    left = snapshot([0, 0, 1, 1, 2, 2])
    order = np.array([5, 0, 3, 1, 4, 2])
    right = replace(left, units=left.units[order], labels=left.labels[order], rows=left.rows[order])
    assert kind().measure(left, right).value == 1.0


@pytest.mark.parametrize("kind", kinds)
def test_only_units_that_both_sides_label_count(kind):
    left = snapshot([0, 0, 1, 1, -1, 2], units=[1, 2, 3, 4, 5, 6])
    right = snapshot([0, 0, 1, 1, 1, -1, 0], units=[1, 2, 3, 4, 5, 6, 7])
    agreement = kind().measure(left, right)
    details = agreement.details
    assert (details["units"], details["left_units"], details["right_units"]) == (4, 5, 6)
    assert (details["left_groups"], details["right_groups"]) == (2, 2)
    if kind in by_units:
        assert agreement.value == 1.0


@pytest.mark.parametrize("kind", kinds)
def test_no_unit_in_common_is_no_agreement(kind):
    assert kind().measure(snapshot([0, 1]), snapshot([0, 1], units=[7, 8])).value == 0.0
    assert kind().measure(snapshot([0, 1]), snapshot([-1, -1])).value == 0.0
    assert kind().measure(snapshot([]), snapshot([-1])).value == 1.0


@pytest.mark.parametrize("kind", kinds)
def test_a_unit_that_stands_twice_is_refused(kind):
    with pytest.raises(ValueError, match="once"):
        kind().measure(snapshot([0, 1], units=[3, 3]), snapshot([0, 1]))


@pytest.mark.parametrize("kind", kinds)
def test_groups_without_any_word_do_no_harm(kind):
    silent = snapshot([0, 0, 1], rows=np.zeros((3, len(WORDS))))
    assert kind().measure(silent, silent).value == 1.0


def test_partitions_are_compared_as_the_functions_do():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 80)
    b = np.where(rng.random(80) < 0.6, a, rng.integers(0, 4, 80))
    left, right = snapshot(a), snapshot(b)
    for mapping in ("greedy", "hungarian", "optimal"):
        actual = KappaComparison(mapping=mapping).measure(left, right)
        assert actual.value == compare.kappa(a, b, mapping=mapping)
    expected = compare.mantel(a, b, permutations=99, seed=3)
    actual = MantelComparison(permutations=99, seed=3).measure(left, right)
    assert actual.value == expected.normalised
    assert (actual.details["p"], actual.details["ari"]) == (expected.p, expected.ari)
    covered = compare.coverage(a, b)
    actual = CoverageComparison().measure(left, right)
    assert actual.value == min(covered.share, covered.backward_share)
    assert actual.details["left_bins"] == covered.bins


def test_lumping_all_groups_is_no_full_coverage():
    actual = CoverageComparison().measure(snapshot([0, 0, 1, 2]), snapshot([0, 0, 0, 0]))
    assert actual.details["left_share"] == 1.0
    assert actual.value == 0.5


def test_links_follow_the_words():
    rows = [[2, 1, 0, 0, 0]] * 2 + [[0, 0, 0, 3, 1]] * 2
    left, right = snapshot([4, 4, 7, 7], rows), snapshot([1, 1, 0, 0], rows)
    for kind in (SimilarityLinks, EntropyLinks):
        actual = kind().measure(left, right)
        assert actual.value == 1.0
        assert actual.details["links"] == {"0": 7, "1": 4}
        assert actual.details["table"] == {"0": 0, "1": 2}
        assert actual.details["units_in_links"] == 4


def test_mixed_groups_are_worth_less_than_clean_ones():
    rows = [[2, 1, 0, 0, 0]] * 4 + [[0, 0, 0, 3, 1]] * 4
    clean, mixed = snapshot([0, 0, 0, 0, 1, 1, 1, 1], rows), snapshot([0, 1] * 4, rows)
    for kind in (SimilarityLinks, EntropyLinks):
        assert kind().measure(mixed, clean).value < 0.8


def test_weights_of_the_snapshots_are_taken_where_both_know_them():
    rows = [[1, 1, 0, 0, 0], [1, 0, 1, 0, 0]]
    left = snapshot([0, 0], rows, groups={0: {"wind": 1.0, "storm": 0.5}})
    right = snapshot([0, 0], rows, groups={0: {"wind": 1.0, "rain": 0.5}})
    actual = SimilarityLinks().measure(left, right)
    assert actual.details["weights"] == "groups"
    # each side: two thirds of the weight and of the occurrences lie on "wind"
    assert actual.value == pytest.approx(2 / 3)
    alone = SimilarityLinks().measure(left, snapshot([0, 0], rows))
    assert alone.details["weights"] == "rows"
    assert alone.value == 1.0


def test_groups_below_the_threshold_stay_unlinked_and_count_nothing():
    left = snapshot([0, 0], [[9, 9, 0, 0, 1]] * 2)
    right = snapshot([0, 0], [[0, 0, 9, 9, 1]] * 2)
    actual = SimilarityLinks(count="tokens").measure(left, right)
    assert actual.details["unlinked"] == 1
    assert actual.value == 0.0
    assert SimilarityLinks(count="tokens", threshold=0).measure(left, right).value > 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: SimilarityLinks(threshold=1),
        lambda: SimilarityLinks(count="lines"),
        lambda: EntropyLinks(count="lines"),
        lambda: KappaComparison(mapping="random"),
        lambda: MantelComparison(permutations=-1),
    ],
)
def test_wrong_settings_are_named(make):
    with pytest.raises(ValueError, match="should be"):
        make()
