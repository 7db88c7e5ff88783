"""Broad domains are split and units reassigned: as stated, exactly, and undone exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.api.maintenance import Reassigned
from segapsith.api.wire import Wire
from segapsith.domains.index import DomainIndex
from segapsith.domains.reassignment import ReassignSettings, reassign
from segapsith.domains.splitting import SplitSettings, split_units
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.errors import SettingError, UsageError
from segapsith.lexicon.vocabulary import SCALE

OpenWire = Callable[..., Wire]


def _bag(words: Any, weights: Any = SCALE) -> Bag:
    distinct = np.unique(np.asarray(words, dtype=np.int32))
    ones = np.ones(len(distinct), dtype=np.int32)
    return Bag(distinct, ones, (ones * weights).astype(np.int32))


def _random_bags(seed: int, n: int, n_words: int = 14) -> list[Bag]:
    """Weights are all different, so that no two domains are equally near but by being equal."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=n)
    return [
        _bag(rng.choice(n_words, size, replace=False), rng.integers(SCALE // 2, SCALE, size))
        for size in sizes.tolist()
    ]


def _place_slowly(bag: Bag, domains: dict[int, list[Bag]]) -> list[tuple[float, int]]:
    """Eq. 7 with every domain, from its units; the nearest first."""
    own = dict(zip(bag.words.tolist(), bag.weights.tolist(), strict=True))
    ranked = []
    for number, units in domains.items():
        occurrences: dict[int, int] = {}
        weights: dict[int, int] = {}
        for unit in units:
            for word, weight in zip(unit.words.tolist(), unit.weights.tolist(), strict=True):
                occurrences[word] = occurrences.get(word, 0) + 1
                weights[word] = weights.get(word, 0) + weight
        common = [word for word in own if word in weights]
        product = (
            sum(weights[w] for w in common) / max(sum(weights.values()), 1)
            * sum(occurrences[w] for w in common) / max(sum(occurrences.values()), 1)
            * sum(own[w] for w in common) / sum(own.values())
            * len(common) / len(own)
        )  # fmt: skip
        ranked.append((product**0.25, number))
    return sorted(ranked, key=lambda one: (-one[0], one[1]))


PLACING = PlacementSettings(threshold=0.4, min_weight=0.0)


def _parts_slowly(bags: list[Bag], rules: SplitSettings) -> list[list[int]]:
    """Every domain compared with every unit, from the units themselves."""
    domains: dict[int, list[Bag]] = {}
    members: dict[int, list[int]] = {}
    for place, bag in enumerate(bags):
        ranked = _place_slowly(bag, domains)
        near = bool(ranked) and ranked[0][0] >= rules.threshold - 1e-12
        number = ranked[0][1] if near else len(domains) + 1
        domains.setdefault(number, []).append(bag)
        members.setdefault(number, []).append(place)
    cores = {d: units for d, units in domains.items() if len(units) >= (rules.stable + 1) // 2}
    if len(cores) < 2 or len(bags) < 4 * rules.stable:
        return []
    by_part: dict[int, list[int]] = {core: [] for core in cores}
    for place, bag in enumerate(bags):
        (own,) = (d for d, units in members.items() if place in units)
        best = _place_slowly(bag, cores)[0]
        near = best[0] >= rules.similarity - 1e-12
        by_part.setdefault(own if own in cores or not near else best[1], []).append(place)
    return list(by_part.values())


@given(
    st.integers(0, 10_000),
    st.integers(0, 40),
    st.sampled_from([0.45, 0.6, 0.7]),
    st.sampled_from([1, 4, 6]),
)
@settings(max_examples=80, deadline=None)
def test_parts_are_those_of_learning_again_more_strictly(
    seed: int, n: int, strict: float, stable: int
) -> None:
    bags, rules = _random_bags(seed, n), SplitSettings(strict, 0.35, stable, cut=0)
    parts = split_units(DomainIndex(PLACING), bags, rules)
    assert sorted(map(sorted, parts)) == sorted(map(sorted, _parts_slowly(bags, rules)))
    if parts:
        assert sorted(place for part in parts for place in part) == list(range(n))
        assert all(len(part) >= rules.core for part in parts[:2])


def test_a_domain_of_one_subject_stays_whole() -> None:
    same = [_bag([1, 2, 3, 10 + i]) for i in range(80)]
    assert split_units(DomainIndex(PLACING), same, SplitSettings(0.3, 0.2)) == []
    assert split_units(DomainIndex(PLACING), [], SplitSettings()) == []


def _planted(i: int) -> Bag:
    """Two subjects of four units in ten, the rest held by general words alone."""
    own = {0: (4, 5, 6, 7), 1: (8, 9, 10, 11)}.get(i % 5, (20 + 3 * i, 21 + 3 * i, 22 + 3 * i))
    return _bag([0, 1, *own])


def test_subjects_among_units_that_share_general_words_are_parted() -> None:
    parts = split_units(
        DomainIndex(PLACING), [_planted(i) for i in range(100)], SplitSettings(0.6, 0.55)
    )
    assert parts[:2] == [list(range(0, 100, 5)), list(range(1, 100, 5))]
    assert {len(part) for part in parts[2:]} == {1}


def test_only_a_domain_of_four_times_the_stable_size_may_be_broad() -> None:
    bags = [_bag([0, *((1, 2, 3) if i % 2 else (4, 5, 6)), 10 + i]) for i in range(60)]
    assert split_units(DomainIndex(PLACING), bags[:-1], SplitSettings(0.6, 0.5)) == []
    assert split_units(DomainIndex(PLACING), bags, SplitSettings(0.6, 0.5)) == [
        list(range(0, 60, 2)),
        list(range(1, 60, 2)),
    ]


def test_the_others_go_with_the_nearest_core_and_hardly_anything_is_left_over() -> None:
    parts = split_units(
        DomainIndex(PLACING), [_planted(i) for i in range(100)], SplitSettings(0.6, 0.2)
    )
    assert len(parts) == 2 and sorted(place for part in parts for place in part) == list(range(100))


def _reassign_slowly(
    bags: list[Bag],
    at: dict[int, int],
    rules: ReassignSettings,
    staying: set[int],
    growing: set[int],
) -> dict[int, int]:
    """Every pass over sets, the domains made anew from their units."""
    present = dict(at)
    for _ in range(rules.passes):
        units: dict[int, list[int]] = {}
        for unit, domain in present.items():
            units.setdefault(domain, []).append(unit)
        stable = {
            d: [bags[u] for u in members]
            for d, members in sorted(units.items())
            if len(members) >= rules.stable
        }
        moves = {}
        for unit, domain in present.items():
            ranked = _place_slowly(bags[unit], stable)
            if at[unit] in staying or not ranked or ranked[0][0] < rules.similarity - 1e-12:
                continue
            best, number = ranked[0]
            tied = len(ranked) > 1 and ranked[1][0] == best
            if number == domain or tied:
                continue
            others = [bags[u] for u in units[domain] if u != unit]
            own = _place_slowly(bags[unit], {domain: others})[0][0]
            if domain in stable or domain not in growing or own < best:
                moves[unit] = number
        if not moves:
            break
        present |= moves
    return {unit: domain for unit, domain in present.items() if domain != at[unit]}


@pytest.mark.slow
@given(
    st.integers(0, 10_000),
    st.integers(0, 40),
    st.sets(st.integers(1, 6), max_size=2),
    st.sets(st.integers(1, 6)),
)
@settings(max_examples=80, deadline=None)
def test_units_are_reassigned_as_by_comparing_all(
    seed: int, n: int, staying: set[int], growing: set[int]
) -> None:
    bags, rules = _random_bags(seed, n), ReassignSettings(0.45, stable=5, passes=3)
    rng = np.random.default_rng(seed)
    at = {unit: int(rng.choice([1, 1, 2, 2, 3, 4, 5, 6])) for unit in range(n)}
    index = DomainIndex(PLACING)
    for _ in range(6):
        index.create()
    for unit, domain in at.items():
        index.add_unit(domain, bags[unit])
    moved = reassign(index, dict(enumerate(bags)), at, rules, staying=staying, growing=growing)
    assert {unit: place.domain for unit, place in moved.items()} == _reassign_slowly(
        bags, at, rules, staying, growing
    )
    after = {**at, **{unit: place.domain for unit, place in moved.items()}}
    assert index.n_units[1:7].tolist() == [list(after.values()).count(d) for d in range(1, 7)]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"threshold=0.0 should be above 0"):
        SplitSettings(0.0)
    with pytest.raises(ValueError, match=r"stable=0 should be >= 1"):
        SplitSettings(stable=0)
    with pytest.raises(ValueError, match=r"similarity=2 should be above 0"):
        ReassignSettings(2)
    with pytest.raises(ValueError, match=r"passes=0 should be >= 1"):
        ReassignSettings(passes=0)


SUBJECTS = ("river flood dam rain", "strike union train driver")


def _articles(n: int, first: int = 0) -> list[dict[str, Any]]:
    """Two subjects of four articles in ten, the rest held by general words alone."""
    return [
        {
            "id": f"b{i}",
            "words": dict.fromkeys(
                ["country", "people"]
                + (
                    [*SUBJECTS[i % 5].split(), f"own{i}"]
                    if i % 5 < 2
                    else [f"own{i}{x}" for x in "abc"]
                ),
                1,
            ),
        }
        for i in range(first, first + n)
    ]


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    made = open_wire(
        threshold=0.02, min_weight=0.0, split_similarity=0.6, reassign_similarity=0.55, stable=5
    )
    made.learn(_articles(40))
    assert [d["units"] for d in made.domains()] == [40]
    return made


def _digest(wire: Wire) -> str:
    return str(wire.status()["digest"])


def test_a_broad_domain_is_split_in_one_run_and_made_whole_again(wire: Wire) -> None:
    before, runs = _digest(wire), len(wire.runs())
    suggested = wire.domains.split_broad(dry_run=True)
    assert (_digest(wire), len(wire.runs())) == (before, runs)
    assert suggested["split"] == 1 and suggested["splits"][0]["units"] == 40
    done = wire.domains.split_broad()
    assert replace(done, run=None) == suggested
    assert len(wire.runs()) == runs + 1 and wire.verify().sound
    assert [d["units"] for d in wire.domains()][:3] == suggested["splits"][0]["parts"][:3]
    kept, *new = [domain["id"] for domain in wire.domains(min_units=5)]
    assert kept == suggested["splits"][0]["domain"]  # the largest part has its number still
    history = wire.domains.show(kept)["history"]
    assert [event["kind"] for event in history] == ["created", "split"]
    assert set(new) <= set(history[1]["into"])
    for domain in new:
        assert [event["kind"] for event in wire.domains.show(domain)["history"]] == ["created"]
    again = wire.domains.split_broad()
    assert (again["run"], again["split"]) == (None, 0)
    wire.runs.undo()
    assert _digest(wire) == before and wire.verify().sound


def test_units_of_small_domains_are_adopted_and_go_back_exactly(wire: Wire) -> None:
    wire.domains.split_broad()
    core = wire.domains(min_units=5)[0]["id"]
    unit = wire.domains.show(core)["unit_ids"][0]
    wire.domains.split(core, [unit])  # its core has another number now
    before, runs = _digest(wire), len(wire.runs())
    done = wire.domains.reassign()
    assert done["moved"] >= 1 and len(wire.runs()) == runs + 1
    assert wire.verify().sound
    assert wire.explain(unit)["joined"]["run"] == done["run"]
    assert wire.domains.reassign() == Reassigned(run=None, moved=0)
    wire.runs.undo()
    assert _digest(wire) == before and wire.verify().sound


def test_what_was_narrowed_can_be_forgotten(wire: Wire) -> None:
    wire.domains.split_broad()
    wire.domains.reassign()
    wire.forget("b4")
    assert wire.verify().sound
    assert sum(d["units"] for d in wire.domains()) == 39


def test_the_cut_into_batches_does_not_matter(open_wire: OpenWire) -> None:
    digests = set()
    for number, cut in enumerate((40, 7)):
        wire = open_wire(
            f"{number}.db",
            threshold=0.02,
            min_weight=0.0,
            split_similarity=0.6,
            reassign_similarity=0.55,
            stable=5,
        )
        for first in range(0, 40, cut):
            wire.learn(_articles(min(cut, 40 - first), first))
        wire.domains.split_broad()
        wire.domains.reassign()
        digests.add(_digest(wire))
    assert len(digests) == 1


def test_a_domain_is_looked_at_again_when_it_has_grown_by_a_quarter(wire: Wire) -> None:
    (run,) = {entry["id"] for entry in wire.runs()}
    assert wire.domains.split_broad(after=run, dry_run=True)["split"] == 0
    wire.learn(_articles(1, 40))
    assert wire.domains.split_broad(after=run, dry_run=True)["split"] == 0
    wire.learn(_articles(9, 41))
    assert wire.domains.split_broad(after=run, dry_run=True)["split"] == 1


def test_locked_and_named_domains_stay(wire: Wire) -> None:
    (only,) = wire.domains()
    wire.domains.lock([only["id"]])
    assert wire.domains.split_broad()["split"] == 0
    wire.domains.unlock([only["id"]])
    wire.domains.rename(only["id"], "Mine")
    assert wire.domains.split_broad()["split"] == 0
    assert wire.domains.reassign() == Reassigned(run=None, moved=0)


def test_what_is_refused(open_wire: OpenWire, wire: Wire) -> None:
    with pytest.raises(SettingError, match=r"threshold=1.5 should be above 0"):
        wire.domains.split_broad(threshold=1.5)
    with pytest.raises(SettingError, match=r"similarity=1.5 should be above 0"):
        wire.domains.reassign(similarity=1.5)
    other = open_wire("other.db", placement="cosine")
    for step in (other.domains.split_broad, other.domains.reassign):
        with pytest.raises(UsageError, match="requires placement 'eq7'"):
            step()


def test_what_was_split_is_not_merged_again(open_wire: OpenWire) -> None:
    merged = {}
    for narrowing in (True, False):
        wire = open_wire(
            f"{narrowing}.db", threshold=0.02, min_weight=0.0, split_similarity=0.6, reassign_similarity=0.55, stable=5,
            split_and_reassign=narrowing, merge_similarity=0.1, merge_stable_similarity=0.1,
        )  # fmt: skip
        wire.learn(_articles(40))
        assert wire.domains.split_broad()["split"] == 1
        before = wire.runs()
        merged[narrowing] = wire.domains.merge_similar(after=0)["merged"]
        if narrowing:
            assert wire.runs() == before
            last = max(run["id"] for run in before)
            assert wire.domains.merge_similar(after=0, since=last)["merged"] == 0
    assert merged == {True: 0, False: 1}
