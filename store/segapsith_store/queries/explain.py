"""Why a unit is in its domain, computed with the domains as they are now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segapsith.domains.explanation import (
    RATIOS,
    FewDomains,
    SimilarityParts,
    explain_similarity,
)
from segapsith.domains.values import PlacementSettings
from segapsith.engine.records import Assignment, DomainRecord, UnitRecord
from segapsith.errors import MissingInputError
from segapsith.model import Result, optional
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store.identity import document_id
from segapsith_store.queries.targets import placed_by
from segapsith_store.queries.topics import topic_of_domain
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = [
    "DocumentExplanation",
    "Explanation",
    "HomeDomain",
    "Joining",
    "RunnerUp",
    "SharedWord",
    "UnplacedUnit",
    "UnsharedWord",
    "WithoutUnit",
    "explain",
    "explain_document",
]


@dataclass(frozen=True, slots=True)
class SharedWord(Result):
    """A word that a unit and a domain have in common, with its weight in both."""

    word: str
    unit_weight: float
    count: int
    domain_weight: float
    occurrences: int
    inferred: bool | None = optional()
    """Whether the word was inferred for the unit; left out for the runner-up."""


@dataclass(frozen=True, slots=True)
class UnsharedWord(Result):
    """A word of a unit that its domain does not have."""

    word: str
    inferred: bool


@dataclass(frozen=True, slots=True)
class HomeDomain(Result):
    """The domain of the unit."""

    id: int
    label: str
    status: str
    units: int
    topic: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp(Result):
    """The second best domain at the time the unit joined, compared with the unit as it is now."""

    id: int
    label: str
    status: str
    topic: int | None
    score: float
    ratios: Mapping[str, float]
    words: Sequence[SharedWord]
    instead_of: int | None
    """The domain of that time, if it was merged into this one."""


@dataclass(frozen=True, slots=True)
class WithoutUnit(Result):
    """The similarity of the unit to its domain without the unit itself."""

    score: float
    ratios: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining(Result):
    """What was computed when the unit joined its domain."""

    run: int
    score: float
    founded: bool
    runner_up: int | None
    runner_up_score: float
    margin: float
    placement: str | None
    threshold: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Result):
    """A unit and its domain by eq. 7: shared words, the four ratios, the runner-up."""

    unit: int
    document: str
    date: str | None
    start: int
    end: int
    text: str
    domain: HomeDomain
    score: float
    ratios: Mapping[str, float]
    words: Sequence[SharedWord]
    only_in_unit: Sequence[UnsharedWord]
    runner_up: RunnerUp | None
    margin: float
    threshold: float
    without: WithoutUnit | None
    """None if the domain has no other unit."""
    joined: Joining
    measure: str
    """The measure of all figures but those in `joined`."""
    changed: bool
    """Whether the score differs from the one with which the unit joined."""


@dataclass(frozen=True, slots=True)
class UnplacedUnit(Result):
    """A unit that is in no domain, and why."""

    unit: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentExplanation(Result):
    """The units of a document one after the other; a copy has those of its original."""

    document: str
    title: str
    duplicate_of: str | None
    units: Sequence[Explanation]
    unplaced: Sequence[UnplacedUnit]


def explain_document(
    store: Store, uid: str, settings: PlacementSettings
) -> DocumentExplanation | None:
    """Return why each unit of a document is in its domain; None if there is no such document."""
    with store.frozen():
        uid = document_id(store, uid)
        row = store.row(
            "SELECT d.id, v.title, o.id, o.uid FROM documents d"
            " JOIN versions v ON v.document = d.id AND v.number = d.version"
            " LEFT JOIN documents o ON o.id = d.duplicate_of WHERE d.uid = ?",
            [uid],
        )
        if row is None:
            return None
        number, title, original, original_uid = row
        units = [
            unit
            for (unit,) in store.rows(
                "SELECT u.id FROM documents d JOIN versions v ON v.document = d.id"
                " AND v.number = d.version JOIN units u ON u.version = v.id"
                " WHERE d.id = ? ORDER BY u.position",
                [original or number],
            )
        ]
        records = [next(iter(store.units([unit]))) for unit in units]
        return DocumentExplanation(
            document=uid,
            title=title,
            duplicate_of=original_uid,
            units=[
                explain(store, unit, settings)
                for unit, record in zip(units, records, strict=True)
                if record.assignment is not None
            ],
            unplaced=[
                UnplacedUnit(unit, _reason(store, record))
                for unit, record in zip(units, records, strict=True)
                if record.assignment is None
            ],
        )


def explain(store: Store, unit: int, settings: PlacementSettings) -> Explanation:
    """Return why a unit is in its domain: eq. 7 taken apart, and the same for the runner-up.

    Scores are those of the domains as they are now, this unit included; `without` leaves it out.
    `joined` has the figures, the measure and the threshold of the time when the unit joined.
    """
    with store.frozen():
        record = next(iter(store.units([unit])), None)
        if record is None:
            raise MissingInputError(
                f"there is no unit {unit}; `segapsith show` lists those of a domain"
            )
        if record.assignment is None:
            raise MissingInputError(f"unit {unit} is in no domain: {_reason(store, record)}")
        words, topic_of = Words(store), topic_of_domain(store)
        index = FewDomains(settings, words.significance)
        home = _enter(store, index, record.assignment.domain)
        near = explain_similarity(index, home.id, record.bag)
        runner_up = _runner_up(store, index, record, topic_of, words)
        text = store.row("SELECT document, date, text FROM unit_texts WHERE id = ?", [unit])
        assert text is not None
        score = round(near.score, 6)
        return Explanation(
            unit=unit,
            document=text[0],
            date=text[1],
            start=record.start,
            end=record.end,
            text=text[2],
            domain=HomeDomain(
                home.id, home.label, home.status, home.sums.n_units, topic_of.get(home.id)
            ),
            score=score,
            ratios=_ratios(near),
            words=_shared(near, words, _inferred(record)),
            only_in_unit=_unshared(near, record, words),
            runner_up=runner_up,
            margin=round(score - (runner_up.score if runner_up else 0.0), 6),
            threshold=settings.threshold,
            without=_without(index, home, record),
            joined=_joined(store, record, record.assignment),
            measure=BUILT_IN_PLACEMENT,
            changed=score != round(record.assignment.score, 6),
        )


# -- the parts -----------------------------------------------------------------------------------


def _ratios(near: SimilarityParts) -> dict[str, float]:
    return {name: round(value, 6) for name, value in zip(RATIOS, near.ratios, strict=True)}


def _shared(
    near: SimilarityParts, words: Words, inferred: set[int] | None = None
) -> list[SharedWord]:
    return [
        SharedWord(
            words.name(shared.word),
            round(shared.unit_weight, 6),
            shared.unit_count,
            round(shared.domain_weight, 6),
            shared.occurrences,
            None if inferred is None else shared.word in inferred,
        )
        for shared in near.shared
    ]


def _unshared(near: SimilarityParts, unit: UnitRecord, words: Words) -> list[UnsharedWord]:
    shared, inferred = {one.word for one in near.shared}, _inferred(unit)
    return [
        UnsharedWord(words.name(word), word in inferred)
        for word in unit.bag.words.tolist()
        if word not in shared
    ]


def _inferred(unit: UnitRecord) -> set[int]:
    """Return the words of a unit that its text does not have."""
    return set(unit.bag.words[unit.bag.counts == 0].tolist())


def _without(index: FewDomains, home: DomainRecord, unit: UnitRecord) -> WithoutUnit | None:
    """Compare a unit with its domain after subtracting it from the index."""
    if home.sums.n_units <= 1:
        return None
    index.remove_unit(home.id, unit.bag)
    near = explain_similarity(index, home.id, unit.bag)
    return WithoutUnit(round(near.score, 6), _ratios(near))


def _joined(store: Store, unit: UnitRecord, assignment: Assignment) -> Joining:
    placing = placed_by(store, unit.id)
    first = store.number("SELECT min(unit) FROM assignments WHERE domain = ?", [assignment.domain])
    return Joining(
        run=assignment.run,
        score=round(assignment.score, 6),
        founded=assignment.score == 1.0 and unit.id == first,
        runner_up=assignment.runner_up,
        runner_up_score=round(assignment.runner_up_score, 6),
        margin=round(assignment.score - assignment.runner_up_score, 6),
        placement=placing.measure,
        threshold=placing.threshold,
    )


def _runner_up(
    store: Store,
    index: FewDomains,
    unit: UnitRecord,
    topic_of: Mapping[int, int],
    words: Words,
) -> RunnerUp | None:
    """Compare a unit with its runner-up, or with the domain into which that was merged."""
    assert unit.assignment is not None
    other = _present(store, unit.assignment.runner_up)
    if other is None or other.id == unit.assignment.domain:
        return None
    index.restore(other.id, other.sums)
    near = explain_similarity(index, other.id, unit.bag)
    return RunnerUp(
        id=other.id,
        label=other.label,
        status=other.status,
        topic=topic_of.get(other.id),
        score=round(near.score, 6),
        ratios=_ratios(near),
        words=_shared(near, words),
        instead_of=None if other.id == unit.assignment.runner_up else unit.assignment.runner_up,
    )


def _enter(store: Store, index: FewDomains, number: int) -> DomainRecord:
    record = store.domain(number)
    assert record is not None, f"domain {number} has units but no row"
    index.restore(record.id, record.sums)
    return record


def _present(store: Store, number: int | None) -> DomainRecord | None:
    """Return a domain if it has units, or the domain with units into which it was merged."""
    seen: set[int] = set()
    while number is not None and number not in seen:
        seen.add(number)
        record = store.domain(number)
        if record is None or record.sums.n_units:
            return record
        merge = store.row(
            "SELECT e.detail FROM lineage e JOIN runs r ON r.id = e.run WHERE e.domain = ?"
            " AND e.kind = 'merged' AND r.status <> 'undone' ORDER BY e.id DESC LIMIT 1",
            [number],
        )
        number = json.loads(merge[0])["into"] if merge else None
    return None


def _reason(store: Store, unit: UnitRecord) -> str:
    """Return why a unit is in no domain."""
    document = store.document_by_id(unit.document)
    if document is not None and document.duplicate_of is not None:
        original = store.document_by_id(document.duplicate_of)
        return f"its document repeats {original.uid!r}" if original else "its document is a copy"
    if not unit.kept:
        return "it has too little to learn from"
    return "its text was corrected"
