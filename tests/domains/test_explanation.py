"""Why a unit is where it is, and where a text would go."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import MissingInputError, UsageError
from segapsith.lexicon.vocabulary import SCALE

OpenWire = Callable[..., Wire]

NAMES = ("domain_weight", "domain_occurrences", "unit_weight", "unit_occurrences")


def by_the_formula(wire: Wire, unit: int, domain: int) -> tuple[list[float], float]:
    """Eq. 7 from the members of a domain, word by word."""
    floor = math.ceil(wire.settings.placement.min_weight * SCALE)
    bags = wire.read(lambda store: {u.id: (u.bag, u.assignment) for u in store.assigned_units()})
    inside = [bag for bag, place in bags.values() if place.domain == domain]
    occurrences: dict[int, int] = {}
    weights: dict[int, int] = {}
    for bag in inside:
        for word, weight in zip(bag.words.tolist(), bag.weights.tolist(), strict=True):
            occurrences[word] = occurrences.get(word, 0) + 1
            weights[word] = weights.get(word, 0) + weight
    heavy = {w for w, x in weights.items() if x >= floor * len(inside)}
    mine = dict(zip(bags[unit][0].words.tolist(), bags[unit][0].weights.tolist(), strict=True))
    common = heavy & mine.keys()
    ratios = [
        Fraction(sum(weights[w] for w in common), sum(weights[w] for w in heavy)),
        Fraction(sum(occurrences[w] for w in common), sum(occurrences[w] for w in heavy)),
        Fraction(sum(mine[w] for w in common), sum(mine.values())),
        Fraction(len(common), len(mine)),
    ]
    return [float(r) for r in ratios], float(math.prod(ratios)) ** 0.25


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    made = open_wire()
    made.ingest(sample.lines("en")[:70])
    return made


def units(wire: Wire) -> list[dict[str, Any]]:
    """The units that are in a domain, by id."""
    names = ("unit", "document", "domain", "score")
    rows = wire.read(
        lambda store: list(
            store.rows(
                "SELECT a.unit, d.uid, a.domain, a.score FROM assignments a"
                " JOIN units u ON u.id = a.unit JOIN documents d ON d.id = u.document ORDER BY 1"
            )
        )
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_the_ratios_are_those_of_the_formula(wire: Wire) -> None:
    for row in units(wire)[::9]:
        found = wire.explain(row["unit"])
        ratios, score = by_the_formula(wire, row["unit"], row["domain"])
        assert found["domain"]["id"] == row["domain"]
        assert [found["ratios"][n] for n in NAMES] == pytest.approx(ratios, abs=1e-6)
        assert found["score"] == pytest.approx(score, abs=1e-6)
        other = found["runner_up"]
        if other is not None:
            ratios, score = by_the_formula(wire, row["unit"], other["id"])
            assert [other["ratios"][n] for n in NAMES] == pytest.approx(ratios, abs=1e-6)
            assert found["margin"] == pytest.approx(found["score"] - score, abs=2e-6)
        assert found["joined"]["score"] == pytest.approx(row["score"], abs=1e-6)
        assert not any(w["inferred"] for w in found["words"])


def test_the_last_unit_of_a_domain_was_placed_by_what_the_domain_was_without_it(
    wire: Wire,
) -> None:
    last = units(wire)[-1]["unit"]
    found = wire.explain(last)
    if found["without"] is not None:
        similarity = found["without"]["score"]  # before the domain had aged
        assert 0.99 * similarity <= found["joined"]["score"] <= similarity + 1e-6
    else:
        assert found["joined"]["founded"]


def test_a_runner_up_that_was_merged_is_followed(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.6)
    wire.learn(
        [
            {"id": "1", "words": {"river": 1, "flood": 1, "dam": 1}},
            {"id": "2", "words": {"river": 1, "bank": 1, "rate": 1}},
            {"id": "3", "words": {"bank": 1, "note": 1, "coin": 1}},
            {"id": "4", "words": {"quite": 1, "other": 1}},
        ]
    )
    found = wire.explain(3)
    assert found["joined"]["founded"]
    assert found["runner_up"]["id"] == 2
    wire.domains.merge([1, 2])
    found = wire.explain(3)
    assert (found["runner_up"]["id"], found["runner_up"]["instead_of"]) == (1, 2)
    assert wire.explain(4)["runner_up"] is None


def test_what_has_no_domain_is_said(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    text = sample.lines("en")[0]["text"]
    wire.ingest([{"id": "1", "text": text}, {"id": "2", "text": text}])
    with pytest.raises(MissingInputError, match="repeats '1'"):
        wire.explain(2)
    with pytest.raises(MissingInputError, match="no unit 99"):
        wire.explain(99)


def test_the_paper_preset_is_explained_too(open_wire: OpenWire) -> None:
    wire = open_wire(preset="paper")
    wire.ingest(sample.lines("en")[:40])
    for row in units(wire)[::11]:
        found = wire.explain(row["unit"])
        assert 0 < found["score"] <= 1


@pytest.mark.slow
def test_a_text_that_was_learned_finds_its_domain_and_nothing_changes(wire: Wire) -> None:
    before = wire.status()["digest"]
    rows = units(wire)
    right = total = 0
    for item in sample.lines("en")[:70:7]:
        domains = [row["domain"] for row in rows if row["document"] == item["id"]]
        if not domains:
            continue  # a copy
        found = wire.classify(item["text"], title=item.get("title") or "")
        assert found["lang"] == "en"
        for unit in found["units"]:
            total += 1
            best = unit["domains"][0]
            right += best["id"] in domains
            assert unit["domains"] == sorted(unit["domains"], key=lambda d: (-d["score"], d["id"]))
            assert best["joins"] == (best["score"] >= found["threshold"])
            assert best["words"]
    assert right >= 0.9 * total
    assert wire.status()["digest"] == before
    wire.ingest(sample.lines("en")[70:80])
    with Wire(":memory:", wire.settings) as other:
        other.ingest(sample.lines("en")[:70])
        other.ingest(sample.lines("en")[70:80])
        assert other.status()["digest"] == wire.status()["digest"]


def test_classifying_takes_no_lock(wire: Wire, open_wire: OpenWire) -> None:
    assert wire.writer is not None  # holds the lock
    with Wire(wire.path, wire.settings) as reader:
        found = reader.classify("The river rose over its banks and the flood reached the town.")
    assert found["units"][0]["words"]


def test_unknown_words_and_empty_texts(wire: Wire) -> None:
    assert wire.classify("Zyzzyva qwertzuiop")["units"][0]["domains"] == []
    with pytest.raises(UsageError, match="cannot be classified"):
        wire.classify("   ")


@pytest.mark.slow
def test_any_similarity_classifies(open_wire: OpenWire) -> None:
    wire = open_wire(placement="cosine", threshold=0.2)
    wire.ingest(sample.lines("en")[:40])
    found = wire.classify(sample.lines("en")[0]["text"])
    assert found["units"][0]["domains"][0]["score"] > 0.2
