"""Trials in workers are those of the experiments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import place_units
from segapsith.domains.threshold_search import Continuation, FreshStart, search
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.engine.threshold_trials import TrialSetup, WorkerTrials
from segapsith.lexicon.vocabulary import SCALE
from segapsith.parallel.serial import Serial


@pytest.fixture(scope="module")
def bags() -> list[Bag]:
    rng = np.random.default_rng(1)
    made = []
    for number in range(240):
        words = np.unique(10 * (number % 12) + rng.integers(0, 14, 6)).astype(np.int32)
        ones = np.ones(len(words), np.int32)
        made.append(Bag(words, ones, (SCALE * rng.random(len(words))).astype(np.int32)))
    return made


def test_a_fresh_start_in_workers_has_the_same_trials(bags: list[Bag]) -> None:
    placing, stories = PlacementSettings(), list(range(1, 241))
    here = FreshStart(bags, placing, None, stories)
    there = WorkerTrials(Serial(), TrialSetup(bags, placing, None, stories))
    assert list(there.trials([0.1, 0.3])) == [here.trial(0.1), here.trial(0.3)]
    assert search(there, 0.1) == search(here, 0.1, known=there.trials([0.1, 0.2]))


def test_a_continuation_in_workers_has_the_same_trials(bags: list[Bag]) -> None:
    placing, stories = PlacementSettings(), list(range(1, 241))
    index = DomainIndex(placing)
    places = place_units(index, bags, stories).domains.tolist()
    setup = TrialSetup(bags, placing, None, stories)
    setup = replace(setup, index=index.state(), places=places, n_units=240)
    there = WorkerTrials(Serial(), setup)
    here = Continuation(index, bags, places, 240, None, stories)
    assert [there.trial(t) for t in (0.1, 0.3)] == [here.trial(t) for t in (0.1, 0.3)]


def test_an_index_from_a_state_has_arrays_of_its_own(bags: list[Bag]) -> None:
    index = DomainIndex(PlacementSettings())
    place_units(index, bags[:50])
    copy = DomainIndex.of(index.state())
    before = index.n_units.copy()
    place_units(copy, bags[50:])
    assert (index.n_units == before).all() and copy.n_units.sum() == 240
