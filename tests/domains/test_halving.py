"""Halves of the units of a domain: planted ones are found, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from segapsith.domains.halving import LENGTH, RANDOM_CUTS, halve, separation, unit_rows
from segapsith.domains.index import DomainIndex
from segapsith.domains.splitting import SplitSettings, split_units
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE

PLACING = PlacementSettings(threshold=0.2, min_weight=0.0)


def _bag(words: Any) -> Bag:
    distinct = np.unique(np.asarray(words, dtype=np.int32))
    ones = np.ones(len(distinct), dtype=np.int32)
    return Bag(distinct, ones, ones * SCALE)


def _units(n: int, n_subjects: int = 2, seed: int = 0) -> tuple[list[Bag], list[int]]:
    """Units with general words (0 to 3) and four of the twelve words of their subject."""
    rng = np.random.default_rng(seed)
    subjects = rng.integers(0, n_subjects, n).tolist()
    return [
        _bag([*range(4), *(10 + 12 * of + rng.choice(12, 4, replace=False))]) for of in subjects
    ], subjects


def test_rows_have_one_length_and_no_inferred_words() -> None:
    inferred = Bag(
        np.array([3, 8], np.int32), np.array([1, 0], np.int32), np.array([9, 9], np.int32)
    )
    rows = unit_rows([inferred, _bag([1, 2])]).toarray()
    assert rows.tolist() == [[0, 0, LENGTH], [2896, 2896, 0]]
    assert unit_rows([]).shape == (0, 0)


@pytest.mark.parametrize("seed", range(12))
def test_planted_halves_are_found(seed: int) -> None:
    bags, subjects = _units(80, seed=seed)
    halves = halve(unit_rows(bags))
    assert halves is not None
    agree = np.mean(halves == np.array(subjects))
    assert max(agree, 1 - agree) > 0.9


def test_halves_have_larger_sums_than_any_move_of_one_unit() -> None:
    rows = unit_rows(_units(60, 3, seed=4)[0])
    halves = halve(rows)
    assert halves is not None

    def value(labels: Any) -> float:
        sums = [rows[labels == half].sum(axis=0) for half in (0, 1)]
        return float(sum(np.sqrt(np.dot(one, one)) for one in sums))

    for row in range(60):
        moved = halves.copy()
        moved[row] = 1 - moved[row]
        assert value(moved) < value(halves) * 1.001


@pytest.mark.parametrize("bags", [[], [_bag([1])], [_bag([1, 2])] * 5])
def test_units_that_are_all_the_same_have_no_halves(bags: list[Bag]) -> None:
    assert halve(unit_rows(bags)) is None


def test_separation_is_large_for_two_subjects_and_small_for_one() -> None:
    index = DomainIndex(PLACING)
    bags, subjects = _units(80)
    two = separation(index, bags, np.array(subjects))
    one = separation(index, bags, np.random.default_rng(9).permutation(subjects))
    assert two > 0.3 and abs(one) < 0.1
    apart = [_bag([1, 2]), _bag([3, 4])] * 20
    assert separation(index, apart, np.array([0, 1] * 20)) == 1.0


def test_a_domain_with_one_core_is_cut_into_its_subjects() -> None:
    """Every unit joins the first core, since general words are enough for the strict threshold."""
    bags, subjects = _units(400, 4, seed=2)
    rules = SplitSettings(0.3, 0.25, 15)
    index = DomainIndex(PLACING)
    parts = split_units(index, bags, rules)
    assert len(parts) == 4
    assert sorted(unit for part in parts for unit in part) == list(range(400))
    for part in parts:
        assert len(part) >= rules.stable
        assert np.bincount([subjects[unit] for unit in part]).max() >= 0.9 * len(part)
    assert [len(part) for part in parts] == sorted(map(len, parts), reverse=True)
    assert split_units(index, bags, SplitSettings(0.3, 0.25, 15, cut=0)) == []
    assert split_units(index, bags[:70], rules) == []


def test_a_negative_cut_is_refused() -> None:
    with pytest.raises(ValueError, match="cut=-1 should be >= 0"):
        SplitSettings(cut=-1)


def similarity_one_by_one(index: DomainIndex, bags: list[Bag], halves: Any) -> float:
    """The similarity of two halves whose units are added one after the other."""
    both = index.without_domains(1.0)
    numbers = [both.create(), both.create()]
    for half, bag in zip(halves.tolist(), bags, strict=True):
        both.add_unit(numbers[half], bag)
    _, similar = both.neighbours(numbers[0])
    return float(similar[0]) if len(similar) else 0.0


@pytest.mark.parametrize("count", ["tokens", "units"])
@pytest.mark.parametrize("seed", range(6))
def test_separation_is_that_of_halves_filled_one_by_one(count: Any, seed: int) -> None:
    index = DomainIndex(PlacementSettings(threshold=0.2, min_weight=0.05, count=count))
    rng = np.random.default_rng(seed)
    bags = []
    for _ in range(40):
        words = np.unique(rng.integers(0, 30, 8)).astype(np.int32)
        counts = rng.integers(0, 4, len(words)).astype(np.int32)  # 0: inferred
        bags.append(Bag(words, counts, rng.integers(1, SCALE, len(words)).astype(np.int32)))
    bags.append(_bag([]))
    halves = rng.integers(0, 2, len(bags))
    cuts = [np.random.default_rng(n).permutation(halves) for n in range(RANDOM_CUTS)]
    mean = sum(similarity_one_by_one(index, bags, cut) for cut in cuts) / RANDOM_CUTS
    expected = 1 - similarity_one_by_one(index, bags, halves) / mean
    assert separation(index, bags, halves) == expected
