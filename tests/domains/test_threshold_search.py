"""The threshold reaches its target on a stretch of the stream that was not searched.

That it follows one is in `test_threshold_control.py`.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import replay
from segapsith.domains.threshold_search import Continuation, FreshStart, Trial, search
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.errors import UsageError
from segapsith.lexicon.vocabulary import SCALE

OpenWire = Callable[..., Wire]


N_WORDS = 6000
PLACING = PlacementSettings()


def synthetic(n: int, seed: int = 0) -> list[Bag]:
    """Units of topics that come anew by Heaps' law, ever more seldom, and come again in turn."""
    rng = np.random.default_rng(seed)
    bags = []
    known = 0
    for i in range(1, n + 1):
        topic = int((i * 0.6180339887) % 1.0 * max(known, 1))
        if int(1.2 * i**0.8) > known:
            topic, known = known, known + 1
        profile = np.random.default_rng([seed, topic]).integers(0, N_WORDS, 20)
        words = np.unique(np.append(rng.choice(profile, 7), rng.integers(0, N_WORDS, 3)))
        weights = rng.integers(SCALE // 4, SCALE, len(words))
        bags.append(Bag(*(a.astype(np.int32) for a in (words, np.ones(len(words)), weights))))
    return bags


def learned(bags: list[Bag], index: DomainIndex) -> tuple[list[int], int]:
    """Where units go, and how many found a domain."""
    places, founded = [], 0
    for bag in bags:
        domain = index.place(bag).domain
        if domain is None:
            domain = index.create()
            founded += 1
        index.add_unit(domain, bag)
        places.append(domain)
    return places, founded


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.3, 0.5])
def test_from_now_on(target: float) -> None:
    bags = synthetic(3000)
    first, later = bags[:2000], bags[2000:]
    index = DomainIndex(PLACING)
    places, _ = learned(first, index)
    best, trials = search(Continuation(deepcopy(index), first, places, len(first)), target)
    assert [t.threshold for t in trials] == sorted(t.threshold for t in trials)
    index.settings = replace(PLACING, threshold=best.threshold)
    assert learned(later, index)[1] / len(later) == pytest.approx(target, rel=0.1)


@pytest.mark.slow
def test_learned_afresh() -> None:
    bags = synthetic(3000, seed=2)
    best, _ = search(FreshStart(bags[:2000], PLACING), 0.4)
    run = replay(bags, replace(PLACING, threshold=best.threshold))
    assert run.new_rate(2000, 3000) == pytest.approx(0.4, rel=0.1)
    best, _ = search(FreshStart(bags[:2000], PLACING), 0.5, "next_singletons")
    run = replay(bags, replace(PLACING, threshold=best.threshold))
    assert run.singletons(3000) == pytest.approx(0.5, rel=0.1)


def test_the_last_stretch_is_placed_on_what_was_before_it() -> None:
    """With the threshold that the store had, the replay finds what the store had found."""
    bags = synthetic(900)
    index = DomainIndex(PLACING)
    before, _ = learned(bags[:720], index)
    after, founded = learned(bags[720:], index)
    experiment = Continuation(index, bags, before + after, len(bags))
    assert experiment.trial(PLACING.threshold).new_rate == pytest.approx(founded / 180)


@pytest.mark.slow
def test_the_store_does_not_change(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en"))
    before = wire.status()["digest"]
    found = wire.tune(target_new_rate=0.4)
    assert wire.status()["digest"] == before
    assert found["line"] == f"threshold = {found['threshold']}"
    assert found["foreseen"] == pytest.approx(0.4, rel=0.05)
    assert wire.tune(target_singletons=0.6, afresh=True, sample=100)["curve"]


@pytest.mark.slow
def test_what_cannot_be_reached_is_said(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:80])
    for choice, reason in (
        ({}, "one target"),
        ({"target_new_rate": 0.2, "target_singletons": 0.2}, "one target"),
        ({"target_new_rate": 1.5}, "between 0 and 1"),
        ({"target_new_rate": 0.3, "lang": "fr"}, "too few"),
    ):
        with pytest.raises(UsageError, match=reason):
            wire.tune(**choice)


class _Flat:
    """A stream that does not care for the threshold."""

    def trial(self, threshold: float) -> Trial:
        return Trial(threshold, 0.5, 0.5, 0.5, 0.5, 1)


def test_a_target_out_of_reach_is_said() -> None:
    for target in (0.2, 0.8):
        with pytest.raises(UsageError, match=f"reaches {target}: they give 0.500 to 0.500"):
            search(_Flat(), target)
    assert search(_Flat(), 0.5)[0].threshold


@pytest.mark.long
@pytest.mark.parametrize("name", ["reuters21578", "orangesum-fr"])
@pytest.mark.parametrize("target", [0.15, 0.3])
def test_on_real_wires(open_wire: OpenWire, data: Path, name: str, target: float) -> None:
    """With the target kept; how far one threshold goes is in `scripts/bench tuning`."""
    with gzip.open(data / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [
            json.loads(line)
            for line in itertools.islice(lines, 4000 if name == "reuters21578" else 1600)
        ]
    stories = [
        {"id": str(i["id"]), "date": i["date"], "title": i["title"], "text": i["text"]}
        for i in items
    ]
    cut = len(stories) * 3 // 4
    lang = "fr" if name.endswith("fr") else "en"
    wire = open_wire(lang=lang)
    wire.ingest(stories[:cut])
    wire.tune(target_new_rate=target, keep=True)
    later = wire.ingest(stories[cut:])
    assert later.domains_new / later.units_kept == pytest.approx(target, rel=0.1)
