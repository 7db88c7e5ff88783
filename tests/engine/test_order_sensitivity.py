"""Orders replayed: the same learning as the engine's, and how far shuffles agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.domains.groups import DomainGroups
from segapsith.engine import order_sensitivity
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.errors import UsageError
from segapsith.evaluation.metrics import ari
from segapsith.lexicon.vocabulary import rarity
from segapsith_reproduce.streams.single_pass import SinglePass


def _units(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    return [
        {"id": f"u{i}", "words": {f"s{i % 4}w{w}": 1 for w in rng.choice(8, 4, replace=False)}}
        for i in range(n)
    ]


def _each_alone(domains: Any) -> DomainGroups:
    return DomainGroups(np.array(sorted(domains)), np.arange(len(domains)))


def test_the_given_order_gives_the_domains_of_the_store(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn(_units(60))
    units = wire.stream_units()
    words = [entry[:3] for entry in wire.writer.words()]
    again = order_sensitivity.replay(
        units, range(len(units)), words, wire.factory.learning().placement, "rarity", _each_alone
    )
    kept = [d for (d,) in wire.writer.rows("SELECT domain FROM assignments ORDER BY unit")]
    assert again.domains.tolist() == kept
    assert ari(again.topics, again.domains) == 1.0


def test_a_shuffle_keeps_documents_together_and_every_unit() -> None:
    none = np.zeros(0, np.int32)
    units = [StreamUnit(d, "en", none, none) for d in (1, 1, 2, 3, 3, 3)]
    places = order_sensitivity.shuffled(units, seed=1)
    assert sorted(places) == list(range(6))
    documents = [units[p].document for p in places]
    assert sum(a != b for a, b in pairwise(documents)) == 2
    assert order_sensitivity.shuffled(units, seed=1) == places


def test_orders_of_clear_subjects_agree(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn(_units(80))
    found = wire.validation.order(shuffles=3)
    assert found["shuffles"] == 3 and found["units"] == len(wire.stream_units())
    assert -1 <= found["domains"] <= 1 and found["topics"] >= 0.5
    with pytest.raises(UsageError, match="shuffles=1"):
        wire.validation.order(shuffles=1)


def test_the_single_pass_is_its_formula() -> None:
    rng = np.random.default_rng(0)
    units = [
        StreamUnit(
            i,
            "en",
            np.sort(rng.choice(12, 5, replace=False)).astype(np.int32),
            rng.integers(1, 4, 5).astype(np.int32),
        )
        for i in range(30)
    ]
    for threshold in (0.1, 0.4, 0.7):
        assert list(SinglePass(units).labels(threshold).values()) == _slow(units, threshold)


def _slow(units: list[StreamUnit], threshold: float) -> list[int]:
    from segapsith.engine import clock

    seen, frozen, n_frozen = np.zeros(12, np.int64), np.zeros(12, np.int64), 0
    sums: list[Any] = []
    labels = []
    for i, unit in enumerate(units):
        row = np.zeros(12)
        row[unit.words] = (1 + np.log(unit.counts)) * rarity(n_frozen, frozen[unit.words])
        row /= np.linalg.norm(row)
        scores = [float(row @ s / np.linalg.norm(s)) for s in sums]
        best = int(np.argmax(scores)) if scores else -1
        if best < 0 or scores[best] < threshold:
            best = len(sums)
            sums.append(np.zeros(12))
        sums[best] = sums[best] + row
        labels.append(best)
        seen[unit.words] += 1
        if clock.ticks(i + 1):
            frozen, n_frozen = seen.copy(), i + 1
    return labels


@pytest.mark.slow
def test_the_command_reads_only(
    command: Callable[..., tuple[int, str, str]], open_wire: Callable[..., Wire]
) -> None:
    wire = open_wire("w.db")
    wire.learn(_units(30))
    before = wire.status()["digest"]
    wire.close()
    code, out, _ = command("validate", "order", "--shuffles", "3", "--store", "w.db", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["shuffles"], found["units"]) == (3, len(wire.stream_units()))
    code, out, _ = command("validate", "order", "--shuffles", "2", "--store", "w.db", "-q")
    assert (code, out) == (0, "")
    code, out, _ = command("validate", "order", "--shuffles", "2", "--store", "w.db")
    assert (code, "2 orders of" in out) == (0, True)
    assert command("validate", "order", "--shuffles", "1", "--store", "w.db")[0] == 2
    assert wire.status()["digest"] == before
