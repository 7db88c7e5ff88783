"""Near-identical domains become one: exactly as the formula says, and all of it taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.api.maintenance import Reassigned, open_domains
from segapsith.api.wire import Wire
from segapsith.domains.index import DomainIndex
from segapsith.domains.merging import MergedDomains, MergeSettings, merge_similar
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.errors import SettingError
from segapsith.lexicon.vocabulary import SCALE

OpenWire = Callable[..., Wire]


def _index(seed: int, n_domains: int, domain_weight: str = "mean-unit-weight") -> DomainIndex:
    rng = np.random.default_rng(seed)
    index = DomainIndex(PlacementSettings(domain_weight=domain_weight, min_weight=0.1))
    index.learn_significance(rng.random(12))
    for _ in range(n_domains):
        domain = index.create()
        for _ in range(int(rng.integers(1, 6))):
            words = np.sort(rng.choice(12, 4, replace=False)).astype(np.int32)
            weights = rng.integers(1, SCALE, 4).astype(np.int32)
            index.add_unit(domain, Bag(words, np.ones(4, np.int32), weights))
    return index


def _eq7(index: DomainIndex, one: int, two: int) -> float:
    """The formula, literally."""
    sides = []
    for domain in (one, two):
        words, weights, occurrences, compared = index.profile(domain)
        heavy = np.flatnonzero(compared)
        sides.append({int(words[i]): (int(weights[i]), int(occurrences[i])) for i in heavy})
    common = set(sides[0]) & set(sides[1])
    score = 1.0
    for side in sides:
        for part in (0, 1):
            total = sum(values[part] for values in side.values())
            score *= sum(side[w][part] for w in common) / total if total else 0.0
    return float(score**0.25)


@pytest.mark.parametrize("domain_weight", ["mean-unit-weight", "occurrence-significance"])
def test_neighbours_are_those_of_eq7(domain_weight: str) -> None:
    index = _index(4, 9, domain_weight)
    index.close(7)
    for domain in (1, 4, 9):
        others, scores = index.neighbours(domain)
        expected = {d: _eq7(index, domain, d) for d in index if d != domain}
        expected = {d: score for d, score in expected.items() if score > 0}
        assert dict(zip(others.tolist(), scores.tolist(), strict=True)) == pytest.approx(expected)
        for other in others.tolist():  # the very same from both sides
            back = dict(zip(*(a.tolist() for a in index.neighbours(other)), strict=True))
            assert back[domain] == scores[others.tolist().index(other)]


def _slow(
    index: DomainIndex,
    rules: MergeSettings,
    apart: set[int],
    named: set[int],
    growing: set[int],
    whole: Callable[[Sequence[int]], bool] | None,
) -> dict[int, set[int]]:
    """All pairs, again and again."""
    groups = {d: {d} for d in index}
    refused: set[tuple[int, int]] = set()

    def firm(domain: int) -> bool:
        return bool(groups[domain] & growing) or int(index.n_units[domain]) >= rules.stable

    def near(one: int, two: int) -> float:
        if (one, two) in refused or {one, two} & apart:
            return 0.0
        if groups[one] & named and groups[two] & named:
            return 0.0
        scores = dict(zip(*(a.tolist() for a in index.neighbours(one)), strict=True))
        need = rules.stable_similarity if firm(one) and firm(two) else rules.similarity
        return float(scores.get(two, 0.0) / need)

    while True:
        pairs = [(-near(a, b), a, b) for a in groups for b in groups if a < b]
        if not pairs or -min(pairs)[0] < 1:
            return {d: group for d, group in groups.items() if len(group) > 1}
        _, older, younger = min(pairs)
        stable = min(index.n_units[older], index.n_units[younger]) >= rules.stable
        if whole is not None and stable and not whole([*groups[older], *groups[younger]]):
            refused.add((older, younger))
            continue
        index.move_sums(younger, older)
        groups[older] |= groups.pop(younger)


@given(
    st.integers(0, 1000),
    st.integers(0, 10),
    st.sampled_from([0.3, 0.5, 0.7]),
    st.sets(st.integers(1, 10), max_size=2),
    st.sets(st.integers(1, 10), max_size=3),
    st.sets(st.integers(1, 10), max_size=4),
    st.sampled_from([None, 2, 3, 7]),
)
@settings(max_examples=80, deadline=None)
def test_the_same_as_comparing_all_pairs_again_and_again(
    seed: int,
    n: int,
    similarity: float,
    apart: set[int],
    named: set[int],
    growing: set[int],
    parting: int | None,
) -> None:
    """With `parting`, stable domains are one subject if their numbers add up to no multiple."""
    rules = MergeSettings(similarity, 0.8, stable=3)
    whole = parting and (lambda domains: sum(domains) % parting != 0)
    apart, named, growing = ({d for d in given if d <= n} for given in (apart, named, growing))
    fast, slow = _index(seed, n), _index(seed, n)
    groups = merge_similar(fast, rules, apart=apart, named=named, growing=growing, whole=whole)
    assert {j.into: set(j.domains) for j in groups} == _slow(
        slow, rules, apart, named, growing, whole
    )
    assert all(j.into == min(j.domains) and j.similarity >= similarity - 1e-9 for j in groups)
    assert list(fast) == list(slow)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"similarity=0.0 should be above 0"):
        MergeSettings(0.0)
    assert MergedDomains(1, (2, 3), 0.5).domains == (1, 2, 3)


SUBJECTS = ("river flood dam rain", "strike union train driver", "bank rate inflation price")


def _bags(n: int) -> list[dict[str, Any]]:
    return [
        {"id": f"b{i}", "words": {**dict.fromkeys(SUBJECTS[i % 3].split(), 1), f"own{i}": 2}}
        for i in range(n)
    ]


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    made = open_wire(threshold=0.8)  # too strict: a subject has several domains
    made.learn(_bags(24))
    assert len(made.domains()) > 6
    return made


def _digest(wire: Wire) -> str:
    return str(wire.status()["digest"])


def test_domains_of_a_store_are_consolidated_in_one_run_and_taken_back(wire: Wire) -> None:
    before, runs = _digest(wire), len(wire.runs())
    suggested = wire.domains.merge_similar(after=0, dry_run=True)
    assert suggested["run"] is None and suggested["merged"] > 0
    assert (_digest(wire), len(wire.runs())) == (before, runs)
    done = wire.domains.merge_similar(after=0)
    assert replace(done, run=None) == suggested
    assert len(wire.runs()) == runs + 1
    assert len(wire.domains()) == suggested["domains"] - suggested["merged"]
    assert wire.verify().sound
    kinds = [event["kind"] for event in wire.domains.show(done["merges"][0]["domain"])["history"]]
    assert kinds == ["created", "took"]
    after = _digest(wire)
    again = wire.domains.merge_similar(after=0)
    assert (again["run"], again["merged"], _digest(wire)) == (None, 0, after)
    assert len(wire.runs()) == runs + 1
    wire.runs.undo()
    assert _digest(wire) == before
    assert wire.verify().sound


def test_locked_named_and_young_domains_are_left(wire: Wire) -> None:
    group = wire.domains.merge_similar(after=0, dry_run=True)["merges"][0]
    one, two = group["domain"], group["merged"][0]["id"]
    assert wire.domains.merge_similar(after=10_000, dry_run=True)["merged"] < group["domain"] + 99
    wire.domains.lock([one])
    wire.domains.rename(two, "Mine")
    names = {d["id"]: d["label"] for d in wire.domains()}
    wire.domains.rename(max(names), "Mine too")
    done = wire.domains.merge_similar(after=0)
    taken = {d["id"] for m in done["merges"] for d in m["merged"]} | {
        m["domain"] for m in done["merges"]
    }
    assert one not in taken
    assert {"Mine", "Mine too"} <= {d["label"] for d in wire.domains()}


def test_a_similarity_that_makes_no_sense(wire: Wire) -> None:
    with pytest.raises(SettingError, match=r"similarity=1.5 should be above 0"):
        wire.domains.merge_similar(similarity=1.5)


def test_refined_units_are_nearer_and_go_back_exactly(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.5)
    rng = np.random.default_rng(1)
    wire.learn(
        {
            "id": f"u{i}",
            "words": {f"s{i % 4}w{w}": 1 for w in rng.choice(12, 4, replace=False)},
        }
        for i in range(120)
    )
    before = _digest(wire)
    runs = len(wire.runs())
    done = wire.domains.refine(1)
    assert done["moved"] > 0 and len(wire.runs()) == runs + 1
    assert wire.verify().sound
    unit = wire.read(
        lambda store: store.number(
            "SELECT min(unit) FROM past_assignments WHERE ended_by = ?", [done["run"]]
        )
    )
    assert wire.explain(unit)["joined"]["run"] == done["run"]
    wire.runs.undo()
    assert _digest(wire) == before
    assert wire.verify().sound
    wire.domains.refine(50)
    settled, runs = _digest(wire), len(wire.runs())
    if wire.domains.refine(1)["moved"] == 0:
        assert (_digest(wire), len(wire.runs())) == (settled, runs)
    assert wire.verify().sound


def test_a_pass_sees_the_domains_as_they_were_when_it_began(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.4)
    rng = np.random.default_rng(2)
    wire.learn(
        {"id": f"u{i}", "words": {f"w{w}": 1 for w in rng.choice(15, 4, replace=False)}}
        for i in range(60)
    )
    index = wire.read(lambda store: open_domains(store, wire.factory.placing()))
    expected = {}
    for unit in wire.read(lambda store: list(store.assigned_units())):
        (best, score), *others = [*index.nearest(unit.bag, 2), (0, 0.0)]
        moves = score >= 0.4 and score > others[0][1]
        expected[unit.id] = best if moves else unit.assignment.domain
    wire.domains.refine(1)
    kept = dict(wire.writer.rows("SELECT unit, domain FROM assignments"))
    assert kept == expected


def test_units_of_locked_and_named_domains_stay(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.5)
    rng = np.random.default_rng(1)
    wire.learn(
        {"id": f"u{i}", "words": {f"s{i % 4}w{w}": 1 for w in rng.choice(12, 4, replace=False)}}
        for i in range(120)
    )
    ids = [d["id"] for d in wire.domains()]
    wire.domains.lock(ids[::2])
    for number in ids[1::2]:
        wire.domains.rename(number, f"name {number}")
    assert wire.domains.refine(2) == Reassigned(run=None, moved=0)
