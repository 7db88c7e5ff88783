"""Placing units: the index against its formula written out."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.index import DomainIndex
from segapsith.domains.postings.arrays import N_COMPARED
from segapsith.domains.postings.comparison import reset_sums
from segapsith.domains.values import (
    Bag,
    DomainWords,
    PlacementSettings,
)
from segapsith.lexicon.vocabulary import SCALE

bags = st.dictionaries(
    st.integers(0, 12),
    st.tuples(st.integers(1, 4), st.integers(1, SCALE)),
    min_size=1,
    max_size=6,
).map(
    lambda words: Bag(
        np.array(sorted(words), dtype=np.int32),
        np.array([words[w][0] for w in sorted(words)], dtype=np.int32),
        np.array([words[w][1] for w in sorted(words)], dtype=np.int32),
    )
)


class PlainDomains:
    """The same, word by word: dictionaries and fractions."""

    def __init__(self, rules: PlacementSettings) -> None:
        self.rules = rules
        self.domains: dict[int, tuple[int, dict[int, list[int]]]] = {}

    def entries(self, bag: Bag) -> list[tuple[int, int, int]]:
        tokens = self.rules.count == "tokens"
        return [
            (int(w), int(c) if tokens else 1, int(x))
            for w, c, x in zip(bag.words, bag.counts, bag.weights, strict=True)
        ]

    def similarity(self, domain: int, bag: Bag) -> float:
        n_units, words = self.domains[domain]
        floor = math.ceil(self.rules.min_weight * SCALE)
        by_weight = self.rules.domain_weight == "mean-unit-weight"
        numerators = {
            w: weight if by_weight else min(occ, n_units) * SCALE
            for w, (occ, weight) in words.items()
        }
        heavy = {w: v for w, v in numerators.items() if words[w][0] and v >= floor * n_units}
        unit = {w: (occ, weight) for w, occ, weight in self.entries(bag)}
        common = heavy.keys() & unit.keys()
        if not common:
            return 0.0
        shares = [
            Fraction(sum(heavy[w] for w in common), sum(heavy.values())),
            Fraction(sum(words[w][0] for w in common), sum(words[w][0] for w in heavy)),
            Fraction(sum(unit[w][1] for w in common), sum(x for _, x in unit.values())),
            Fraction(sum(unit[w][0] for w in common), sum(o for o, _ in unit.values())),
        ]
        return float(math.prod(shares)) ** 0.25

    def add_unit(self, domain: int, bag: Bag, sign: int = 1) -> None:
        n_units, words = self.domains.get(domain, (0, {}))
        for w, occ, weight in self.entries(bag):
            entry = words.setdefault(w, [0, 0])
            entry[0] += sign * occ
            entry[1] += sign * weight
        self.domains[domain] = (n_units + sign, words)


choices = st.builds(
    PlacementSettings,
    threshold=st.sampled_from([0.1, 0.3, 0.6]),
    domain_weight=st.sampled_from(["mean-unit-weight", "occurrence-significance"]),
    min_weight=st.sampled_from([0.0, 0.03, 0.3]),
    count=st.sampled_from(["units", "tokens"]),
)


@given(st.lists(bags, max_size=25), choices)
@settings(deadline=None, max_examples=60)
def test_the_index_agrees_with_the_formula(units: list[Bag], rules: PlacementSettings) -> None:
    index, plain = DomainIndex(rules), PlainDomains(rules)
    for bag in units:
        placement = index.place(bag)
        scores = {d: plain.similarity(d, bag) for d in plain.domains}
        best = max(scores.values(), default=0.0)
        assert placement.score == pytest.approx(best, abs=1e-12)
        if placement.best is not None:
            assert scores[placement.best] == pytest.approx(best, abs=1e-12)
            others = [s for d, s in scores.items() if d != placement.best]
            assert placement.runner_up_score == pytest.approx(max(others, default=0.0), abs=1e-12)
        domain = placement.domain or index.create()
        index.add_unit(domain, bag)
        plain.add_unit(domain, bag)
    for domain, (n_units, words) in plain.domains.items():
        sums = index.words(domain)
        assert sums.n_units == n_units
        assert dict(zip(sums.words.tolist(), sums.occurrences.tolist(), strict=True)) == {
            w: occ for w, (occ, _) in words.items()
        }
        assert dict(zip(sums.words.tolist(), sums.weights.tolist(), strict=True)) == {
            w: weight for w, (_, weight) in words.items()
        }


@pytest.mark.slow
@given(st.lists(bags, min_size=2, max_size=30), choices)
@settings(deadline=None, max_examples=100)
def test_domains_that_are_passed_over_change_neither_the_two_best_nor_ties(
    units: list[Bag], rules: PlacementSettings
) -> None:
    """The two best are found without scoring every domain; all of them scored say the very same."""
    index = DomainIndex(rules)
    for bag in [*units, *units[:3]]:  # repeated units make ties
        placement = index.place(bag)
        expected = index.nearest(bag, 2)
        two_best = [
            (placement.best, placement.score),
            (placement.runner_up, placement.runner_up_score),
        ]
        assert [entry for entry in two_best if entry[0] is not None] == expected
        index.add_unit(placement.domain or index.create(), bag)


@pytest.mark.slow
@given(st.lists(bags, max_size=25), st.lists(bags, max_size=10), choices)
@settings(deadline=None, max_examples=60)
def test_finding_units_together_equals_finding_them_one_by_one(
    units: list[Bag], others: list[Bag], rules: PlacementSettings
) -> None:
    index = DomainIndex(rules)
    for bag in units:
        index.add_unit(index.place(bag).domain or index.create(), bag)
    expected = [index.place(bag) for bag in [*units, *others]]
    assert index.find_all([*units, *others]) == expected
    assert [index.place(bag) for bag in [*units, *others]] == expected


@given(st.lists(bags, min_size=1, max_size=25), choices, st.integers(1, 25))
@settings(deadline=None, max_examples=60)
def test_units_placed_together_are_placed_as_one_after_the_other(
    units: list[Bag], rules: PlacementSettings, cut: int
) -> None:
    single, together = DomainIndex(rules), DomainIndex(rules)
    expected = []
    stories = [1 + 700 * number for number in range(len(units))]
    for bag, story in zip(units, stories, strict=True):
        placement = single.place(bag, story=story)
        domain = placement.domain or single.create()
        single.add_unit(domain, bag)
        single.note_story(domain, story)
        expected.append((domain, placement))
    placed = together.place_all(units[:cut], stories[:cut])
    if units[cut:]:
        placed += together.place_all(units[cut:], stories[cut:])
    assert placed == expected
    assert together.next_domain == single.next_domain
    for domain in single:
        for name in ("words", "occurrences", "weights"):
            left, right = single.words(domain), together.words(domain)
            assert np.array_equal(getattr(left, name), getattr(right, name))
        words, weights, _ = single.weights(domain)
        best = list(zip(words[:3].tolist(), weights[:3].tolist(), strict=True))
        assert together.heaviest([domain], 3) == [best]


@given(st.lists(bags, min_size=2, max_size=12), choices, st.floats(0, 0.9), st.integers(1, 9000))
@settings(deadline=None, max_examples=60)
def test_a_domain_without_recent_stories_is_less_similar(
    units: list[Bag], rules: PlacementSettings, share: float, now: int
) -> None:
    index = DomainIndex(replace(rules, aging=share, aging_stories=4000, prefilter="none"))
    index.place_all(units[1:], [1 + 500 * number for number in range(len(units) - 1)])
    plain = dict(index.nearest(units[0], 99))
    newest = {domain: index._index.newest[domain] for domain in plain}
    aged = {
        domain: score * (1 - share * min(max(now - newest[domain], 0), 4000) / 4000)
        for domain, score in plain.items()
    }
    assert dict(index.nearest(units[0], 99, story=now)) == pytest.approx(aged)
    found = index.place(units[0], story=now)
    assert found.score == pytest.approx(max(aged.values(), default=0.0))
    assert index.place(units[0]).score == pytest.approx(max(plain.values(), default=0.0))


def test_a_fresh_domain_is_preferred_to_an_old_one() -> None:
    index = DomainIndex(PlacementSettings(aging=0.3, aging_stories=100))
    same = Bag(*(np.array(v, np.int32) for v in ([1, 2, 3], [1, 1, 1], [SCALE] * 3)))
    index.restore(1, _sums_of(same), story=5)
    index.restore(2, _sums_of(same), story=90)
    assert index.place(same).domain == 1
    assert index.place(same, story=95).domain == 2
    assert index.place(same, story=1000).score == pytest.approx(0.7)


def _sums_of(bag: Bag) -> DomainWords:
    alone = DomainIndex()
    ((domain, _),) = alone.place_all([bag])
    return alone.words(domain)


@pytest.mark.slow
def test_many_domains_find_room_and_leave_none_behind() -> None:
    rng = np.random.default_rng(3)
    index, plain = DomainIndex(), PlainDomains(PlacementSettings())
    for night in range(40):
        first = 200 * night
        for _ in range(30):
            words = np.unique(first + rng.integers(0, 300, 12)).astype(np.int32)
            weights = rng.integers(1, SCALE, len(words)).astype(np.int32)
            bag = Bag(words, np.ones(len(words), np.int32), weights)
            scores = {d: plain.similarity(d, bag) for d in plain.domains}
            ((domain, placement),) = index.place_all([bag])
            assert placement.score == pytest.approx(max(scores.values(), default=0.0), abs=1e-12)
            plain.add_unit(domain, bag)
        for domain in [d for d in plain.domains if rng.random() < 0.8]:
            index.drop(domain)
            del plain.domains[domain]
    n_words = sum(len(index.words(domain).words) for domain in index)
    assert len(index._index.words) < 12 * n_words + 4096


@pytest.mark.slow
@given(st.lists(bags, min_size=1, max_size=12), st.data())
@settings(deadline=None, max_examples=40)
def test_taking_units_away_leaves_the_sums_of_the_others(
    units: list[Bag], data: st.DataObject
) -> None:
    gone = data.draw(st.sets(st.integers(0, len(units) - 1)))
    whole, rest = DomainIndex(), DomainIndex()
    assert whole.create() == rest.create() == 1
    for bag in units:
        whole.add_unit(1, bag)
    for number in gone:
        whole.remove_unit(1, units[number])
    for number, bag in enumerate(units):
        if number not in gone:
            rest.add_unit(1, bag)
    left, right = whole.words(1), rest.words(1)
    assert left.n_units == right.n_units
    for name in ("words", "occurrences", "weights"):
        assert np.array_equal(getattr(left, name), getattr(right, name))
    assert (1 in whole) == (len(gone) < len(units))


@given(st.lists(bags, min_size=1, max_size=20))
@settings(deadline=None, max_examples=40)
def test_a_restored_index_decides_alike(units: list[Bag]) -> None:
    index = DomainIndex()
    for bag in units:
        index.add_unit(index.place(bag).domain or index.create(), bag)
    again = DomainIndex()
    for domain in index:
        again.restore(domain, index.words(domain))
    again.skip_to(index.next_domain)
    for bag in units:
        assert index.place(bag) == again.place(bag)
    assert index.next_domain == again.next_domain


def test_the_activation_filter_agrees_on_nearly_all_units() -> None:
    rng = np.random.default_rng(5)
    topics = [rng.choice(400, 40, replace=False) for _ in range(12)]

    def unit() -> Bag:
        words = np.unique(rng.choice(topics[rng.integers(12)], 15)).astype(np.int32)
        weights = rng.integers(SCALE // 4, SCALE, len(words)).astype(np.int32)
        return Bag(words, np.ones(len(words), dtype=np.int32), weights)

    exact = DomainIndex(PlacementSettings(threshold=0.25))
    filtered = DomainIndex(PlacementSettings(threshold=0.25, prefilter="activation"))
    agreed = 0
    for bag in (unit() for _ in range(600)):
        placement = exact.place(bag)
        agreed += placement.domain == filtered.place(bag).domain
        domain = placement.domain or exact.create()
        if domain == filtered.next_domain:
            filtered.create()
        exact.add_unit(domain, bag)
        filtered.add_unit(domain, bag)
    assert agreed >= 0.99 * 600


def test_a_closed_domain_takes_nothing() -> None:
    index = DomainIndex()
    bag = Bag(np.array([1, 2], np.int32), np.ones(2, np.int32), np.full(2, SCALE, np.int32))
    index.add_unit(index.create(), bag)
    assert index.place(bag).domain == 1
    index.close(1)
    assert index.place(bag).domain is None
    index.reopen(1)
    assert index.place(bag).domain == 1


def test_any_measure_can_place() -> None:
    index = DomainIndex(PlacementSettings(threshold=0.5))
    bag = Bag(np.array([1, 2], np.int32), np.ones(2, np.int32), np.full(2, SCALE, np.int32))
    index.add_unit(index.create(), bag)
    assert index.place(bag, lambda a, b: np.full((a.shape[0], b.shape[0]), 0.7), 3).domain == 1
    assert index.place(bag, lambda a, b: np.full((a.shape[0], b.shape[0]), 0.3), 3).domain is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0.0},
        {"threshold": 2.0},
        {"min_weight": 1.0},
        {"count": "words"},
        {"domain_weight": "tf"},
        {"prefilter": "some"},
        {"activation_share": 2.0},
        {"activation_most": 0},
    ],
)
def test_wrong_settings_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PlacementSettings(**wrong)  # type: ignore[arg-type]  # wrong on purpose


@given(st.lists(st.tuples(st.integers(1, 4), bags), min_size=1, max_size=20), choices, bags)
@settings(deadline=None, max_examples=40)
def test_moved_and_dropped_sums_are_as_if_they_had_always_been_so(
    units: list[tuple[int, Bag]], rules: PlacementSettings, asked: Bag
) -> None:
    moved, whole = DomainIndex(rules), DomainIndex(rules)
    for index in (moved, whole):
        for _ in range(4):
            index.create()
    for domain, bag in units:
        moved.add_unit(domain, bag)
        whole.add_unit(1 if domain == 2 else domain, bag)
    sums = moved.words(3)
    moved.move_sums(2, 1)
    assert moved.place(asked) == whole.place(asked)
    assert moved.nearest(asked, 9) == whole.nearest(asked, 9)
    assert list(moved) == list(whole)
    moved.drop(3)
    assert 3 not in moved
    moved.restore(3, sums)
    assert moved.place(asked) == whole.place(asked)
    moved.drop(3)
    whole.drop(3)
    assert moved.place(asked) == whole.place(asked)
    only = DomainIndex(rules)
    only.restore(1, moved.words(1))
    only.restore(4, moved.words(4))
    assert only.nearest(asked, 9) == moved.nearest(asked, 9)


def test_a_unit_meets_the_postings_of_its_own_words_alone() -> None:
    """Domains elsewhere are not even passed over, however many they are."""
    index = DomainIndex(PlacementSettings(threshold=0.9))

    def unit(*words: int) -> Bag:
        numbers = np.array(words, dtype=np.int32)
        return Bag(numbers, np.ones_like(numbers), np.full_like(numbers, SCALE))

    index.place_all([unit(0, 1), unit(0, 2), unit(1, 3)])
    asked = unit(0, 3)
    before = index._accumulate(asked)
    reset_sums(index._index, before)
    index.place_all([unit(10 + i, 11 + i) for i in range(0, 4000, 2)])
    assert index.next_domain - 1 == 2003
    after = index._accumulate(asked)
    assert (before, sorted(index._index.touched[:after])) == (3, [1, 2, 3])
    assert index._index.word_lists[asked.words, N_COMPARED].sum() == 3
