"""Why a unit is where it is: read from the store, with the domains as they are now."""

from __future__ import annotations

import json
from typing import Any

from segapsith.domains.explanation import explain_similarity
from segapsith.domains.index import DomainIndex
from segapsith.domains.values import PlacementSettings
from segapsith.engine.records import DomainRecord, UnitRecord
from segapsith.errors import MissingInputError
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store.queries import targets, topics
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = ["explain"]


def explain(store: Store, unit: int, settings: PlacementSettings) -> dict[str, Any]:
    """The words a unit shares with its domain, eq. 7 taken apart, and the same for the runner-up.

    Scores are those of the domains as they are now, this unit included; `without` leaves it out.
    What was found when the unit joined is under `joined`, with the measure and the threshold of
    that time. The runner-up is the second best of that time; if it was merged since, the domain
    that took it. `measure` is what the other figures are made with: eq. 7, whatever placed the unit.
    """
    with store.frozen():
        kept = next(iter(store.units([unit])), None)
        if kept is None:
            raise MissingInputError(
                f"there is no unit {unit}; `segapsith show` lists those of a domain"
            )
        if kept.assignment is None:
            raise MissingInputError(f"unit {unit} is in no domain: {_reason(store, kept)}")
        placed_by = targets.in_force(store, unit)
        words, place, topic_of = Words(store), kept.assignment, topics.members(store)
        index = DomainIndex(settings)
        if words.significance is not None:
            index.learn_significance(words.significance)
        home = _enter(store, index, place.domain)
        found = explain_similarity(index, home.id, kept.bag)
        inferred = _inferred(kept)
        explained = found.as_json(words.name)
        for entry, shared in zip(explained["words"], found.shared, strict=True):
            entry["inferred"] = shared.word in inferred
        common = {shared.word for shared in found.shared}
        runner_up, successor = _runner_up(store, place.runner_up)
        other = None
        if runner_up is not None and runner_up.id != home.id:
            _enter(store, index, runner_up.id)
            other = {
                **_named(runner_up),
                "topic": topic_of.get(runner_up.id),
                **explain_similarity(index, runner_up.id, kept.bag).as_json(words.name),
                "instead_of": successor,
            }
        without = None
        if home.sums.n_units > 1:
            index.remove_unit(home.id, kept.bag)
            apart = explain_similarity(index, home.id, kept.bag).as_json(words.name, 0)
            without = {"score": apart["score"], "ratios": apart["ratios"]}
        head = store.row("SELECT document, date, text FROM unit_texts WHERE id = ?", [unit])
        assert head is not None
        return {
            "unit": unit,
            "document": head[0],
            "date": head[1],
            "start": kept.start,
            "end": kept.end,
            "text": head[2],
            "domain": {
                **_named(home),
                "units": home.sums.n_units,
                "topic": topic_of.get(home.id),
            },
            **explained,
            "only_in_unit": [
                {"word": words.name(w), "inferred": w in inferred}
                for w in kept.bag.words.tolist()
                if w not in common
            ],
            "runner_up": other,
            "margin": round(explained["score"] - (other["score"] if other else 0.0), 6),
            "threshold": settings.threshold,
            "without": without,
            "joined": {
                "run": place.run,
                "score": round(place.score, 6),
                "founded": place.score == 1.0 and _is_first(store, kept),
                "runner_up": place.runner_up,
                "runner_up_score": round(place.runner_up_score, 6),
                "margin": round(place.score - place.runner_up_score, 6),
                "placement": placed_by.measure,
                "threshold": placed_by.threshold,
            },
            "measure": BUILT_IN_PLACEMENT,
            "changed": round(explained["score"], 6) != round(place.score, 6),
        }


def _named(row: DomainRecord) -> dict[str, Any]:
    return {"id": row.id, "label": row.label, "status": row.status}


def _enter(store: Store, index: DomainIndex, number: int) -> DomainRecord:
    row = store.domain(number)
    assert row is not None, f"domain {number} has units but no row"
    index.restore(row.id, row.sums)
    return row


def _inferred(unit: UnitRecord) -> set[int]:
    """Words of a unit that its text does not have."""
    return set(unit.bag.words[unit.bag.counts == 0].tolist())


def _runner_up(store: Store, number: int | None) -> tuple[DomainRecord | None, int | None]:
    """The runner-up if it has units, or the domain that took it, and then whom it took."""
    first = number
    seen: set[int] = set()
    while number is not None and number not in seen:
        seen.add(number)
        row = store.domain(number)
        if row is None:
            return None, None
        if row.sums.n_units:
            return row, first if number != first else None
        found = store.row(
            "SELECT e.detail FROM events e JOIN runs r ON r.id = e.run WHERE e.domain = ?"
            " AND e.kind = 'merged' AND r.status <> 'undone' ORDER BY e.id DESC LIMIT 1",
            [number],
        )
        number = json.loads(found[0])["into"] if found else None
    return None, None


def _is_first(store: Store, unit: UnitRecord) -> bool:
    assert unit.assignment is not None
    return unit.id == store.number(
        "SELECT min(unit) FROM assignments WHERE domain = ?", [unit.assignment.domain]
    )


def _reason(store: Store, unit: UnitRecord) -> str:
    found = store.document_by_id(unit.document)
    if found is not None and found.duplicate_of is not None:
        original = store.document_by_id(found.duplicate_of)
        return f"its document repeats {original.uid!r}" if original else "its document is a copy"
    if not unit.kept:
        return "it has too little to learn from"
    return "its text was corrected"
