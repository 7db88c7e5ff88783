"""Reassignment, rule by rule; the comparison with all pairs is in `test_splitting.py`."""

from __future__ import annotations

import numpy as np
import pytest

from segapsith.domains.index import DomainIndex
from segapsith.domains.reassignment import ReassignSettings, reassign, refine
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE

SETTINGS = ReassignSettings(similarity=0.3, stable=3, passes=2)


def _bag(*words: int) -> Bag:
    numbers = np.array(words, dtype=np.int32)
    return Bag(numbers, np.ones_like(numbers), np.full_like(numbers, SCALE))


STORM, SPORT = _bag(1, 2, 3), _bag(7, 8, 9)


def _learned(*units: tuple[int, Bag]) -> tuple[DomainIndex, dict[int, Bag], dict[int, int]]:
    """An index with the given (domain, unit) pairs; units are numbered from 0."""
    index = DomainIndex(PlacementSettings(threshold=0.3, min_weight=0.0))
    for domain, bag in units:
        index.skip_to(domain)
        if domain == index.next_domain:
            index.create()
        index.add_unit(domain, bag)
    bags = {number: bag for number, (_, bag) in enumerate(units)}
    return index, bags, {number: domain for number, (domain, _) in enumerate(units)}


def test_a_unit_moves_to_the_stable_domain_of_its_words() -> None:
    index, bags, domain_of = _learned(*[(1, STORM)] * 3, (2, STORM), (2, SPORT))
    moved = reassign(index, bags, domain_of, SETTINGS)
    assert {unit: placement.domain for unit, placement in moved.items()} == {3: 1}
    assert index.n_units[1:3].tolist() == [4, 1]


def test_units_of_staying_domains_do_not_move() -> None:
    index, bags, domain_of = _learned(*[(1, STORM)] * 3, (2, STORM))
    assert reassign(index, bags, domain_of, SETTINGS, staying={2}) == {}


def test_a_small_domain_is_never_a_target() -> None:
    index, bags, domain_of = _learned((1, STORM), (1, STORM), (2, STORM))
    assert reassign(index, bags, domain_of, SETTINGS) == {}


def test_a_growing_domain_keeps_the_units_that_are_nearer_to_it() -> None:
    mixed = _bag(1, 2, 8)
    index, bags, domain_of = _learned(*[(1, STORM)] * 3, (2, mixed), (2, mixed))
    assert reassign(index, bags, domain_of, SETTINGS, growing={2}) == {}
    assert set(reassign(index, bags, domain_of, SETTINGS)) == {3, 4}


def test_a_tie_between_two_stable_domains_moves_nothing() -> None:
    index, bags, domain_of = _learned(*[(1, STORM)] * 3, *[(2, STORM)] * 3, (3, STORM))
    assert reassign(index, bags, domain_of, SETTINGS) == {}


def test_refining_moves_units_to_a_nearer_domain_and_then_ends() -> None:
    index, bags, domain_of = _learned(*[(1, STORM)] * 3, *[(2, SPORT)] * 3, (2, STORM))
    calls = []

    def units() -> list[tuple[int, Bag, int]]:
        calls.append(1)
        return [(unit, bags[unit], domain_of[unit]) for unit in bags]

    moved = refine(index, units, passes=9)
    assert {unit: placement.domain for unit, placement in moved.items()} == {6: 1}
    assert len(calls) == 2  # the second pass moves nothing and is the last


@pytest.mark.parametrize("wrong", [{"similarity": 0.0}, {"stable": 0}, {"passes": 0}])
def test_wrong_settings_are_named(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ReassignSettings(**wrong)
