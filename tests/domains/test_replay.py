"""Replaying units: the same domains as placing them one by one, and the rates of a replay."""

from __future__ import annotations

import numpy as np
import pytest

from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import Replay, empty_index, place_units, replay
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE


def _bags(n: int, seed: int = 0) -> list[Bag]:
    rng = np.random.default_rng(seed)
    bags = []
    for _ in range(n):
        words = np.sort(rng.choice(20, 5, replace=False)).astype(np.int32)
        weights = rng.integers(SCALE // 2, SCALE, 5).astype(np.int32)
        bags.append(Bag(words, np.ones(5, np.int32), weights))
    return bags


@pytest.mark.parametrize("prefilter", ["none", "activation"])
def test_a_replay_places_units_as_an_index_does(prefilter: str) -> None:
    settings = PlacementSettings(threshold=0.5, prefilter=prefilter)
    bags = _bags(60)
    index, domains, founded = DomainIndex(settings), [], []
    for bag in bags:
        best = index.place(bag).domain
        domains.append(index.create() if best is None else best)
        founded.append(best is None)
        index.add_unit(domains[-1], bag)
    run = replay(bags, settings)
    assert run.domains.tolist() == domains
    assert run.founded.tolist() == founded


def test_a_replay_in_two_parts_equals_one_replay() -> None:
    settings, bags = PlacementSettings(threshold=0.5), _bags(40, seed=1)
    index = empty_index(settings)
    parts = [place_units(index, part).domains for part in (bags[:25], [], bags[25:])]
    assert np.concatenate(parts).tolist() == replay(bags, settings).domains.tolist()


def test_rates_count_the_units_of_a_stretch() -> None:
    run = Replay(np.array([True, False, True, True]), np.array([1, 1, 2, 3]))
    assert run.new_rate(1, 4) == pytest.approx(2 / 3)
    assert run.new_rate(2, 2) == 0.0
    assert [run.singletons(n) for n in (0, 1, 2, 4)] == [0.0, 1.0, 0.0, pytest.approx(2 / 3)]
