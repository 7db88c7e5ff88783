"""The life of a domain besides taking units: renamed, merged, split, retired, locked; and back.

A change is a value that is checked against the store before a run begins and applied within one
batch. Each leaves its trace in the lineage with what it changed, so that it can be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from segapsith.domains.values import Placement
from segapsith.engine.records import Assignment, Batch, DomainRecord, Event, UnitRecord
from segapsith.engine.storage import Storage
from segapsith.engine.updates import BatchUpdate
from segapsith.errors import MissingInputError, UsageError
from segapsith.intake.normalization import clean

__all__ = [
    "Change",
    "Lock",
    "Merge",
    "Move",
    "Rename",
    "Retire",
    "Split",
    "living",
    "retire_quiet",
    "take_back",
]

MAX_LABEL_CHARS = 200


class Change(Protocol):
    """Something that is done to domains."""

    def check(self, storage: Storage) -> None:
        """Refuses what makes no sense, before anything is begun."""

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        """Does it, and says what was done."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Several domains become one: the oldest of them, unless another is chosen."""

    domains: tuple[int, ...]
    into: int | None = None

    @property
    def target(self) -> int:
        return min(self.domains) if self.into is None else self.into

    @property
    def sources(self) -> list[int]:
        return sorted(set(self.domains) - {self.target})

    def check(self, storage: Storage) -> None:
        rows = _unlocked(storage, {*self.domains, self.target}, "merged")
        if len(rows) < 2:
            raise UsageError("merging needs at least two different domains")
        langs = sorted({row.lang for row in rows})
        if len(langs) > 1:
            raise UsageError(
                f"domains of different languages ({', '.join(langs)}) cannot be merged"
            )

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        target, *sources = _present(contributions, [self.target, *self.sources])
        moved = 0
        for source in sources:
            n_units = 0
            for unit in _members(storage, source.id, batch, contributions):
                contributions.move(unit, target.id)
                n_units += 1
            contributions.pour(source.id, target.id)
            _change(batch, contributions, "merged", source, {"status": "merged"},
                    into=target.id, units=n_units)  # fmt: skip
            moved += n_units
        changed: dict[str, Any] = {"grown": max(row.grown for row in (target, *sources))}
        if any(row.status == "open" for row in sources):
            changed["status"] = "open"
        named = [row for row in sources if row.named]
        if named and not target.named:
            changed |= {"label": named[0].label, "named": True}
        _change(batch, contributions, "took", target, changed, source=self.sources)
        return {"domain": target.id, "merged": self.sources, "units": moved}


@dataclass(frozen=True, slots=True)
class Move:
    """Units go to other domains, one by one; a domain that loses its last stays as a number."""

    places: Mapping[int, Placement]

    def check(self, storage: Storage) -> None:
        living(storage, {place.domain for place in self.places.values() if place.domain})

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        moved = []
        for unit in storage.units(self.places):
            place = self.places[unit.id]
            if place.domain is None or unit.assignment is None:
                continue
            moved.append(unit)
            contributions.move(unit, place.domain)
            contributions.enter(
                unit,
                Assignment(
                    place.domain, place.score, place.runner_up, place.runner_up_score, batch.run
                ),
            )
        for unit in moved:  # all are in before any leaves, so that none is empty on the way
            contributions.leave(unit)
        return {"moved": len(moved)}


@dataclass(frozen=True, slots=True)
class Split:
    """A domain becomes several new ones; a name that a person gave goes with the largest.

    If it `stays`, the largest keeps the number as well, and only the others are new.
    """

    domain: int
    parts: tuple[tuple[int, ...], ...]
    """The units of each part; together all that the domain has."""
    stays: bool = False

    def check(self, storage: Storage) -> None:
        _unlocked(storage, {self.domain}, "split")
        given = [unit for part in self.parts for unit in part]
        members = {unit.id for unit in _members(storage, self.domain)}
        strangers = sorted(set(given) - members)
        if strangers:
            raise UsageError(f"unit {strangers[0]} is not in domain {self.domain}")
        if len(self.parts) < 2 or not all(self.parts):
            raise UsageError(
                f"domain {self.domain} would stay whole: a split needs two parts with units in each"
            )
        if len(given) != len(members):
            raise UsageError(f"every unit of domain {self.domain} should be in exactly one part")

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        (whole,) = _present(contributions, [self.domain])
        members = {unit.id: unit for unit in _members(storage, self.domain, batch, contributions)}
        ranked = sorted(self.parts, key=lambda part: (-len(part), min(part)))
        parts: list[dict[str, Any]] = []
        if self.stays:
            parts.append({"id": whole.id, "units": len(ranked.pop(0))})
        for place, part in enumerate(ranked):
            number = contributions.found(whole.lang, source=[whole.id])
            for unit in sorted(part):
                contributions.leave(members[unit])
                contributions.move(members[unit], number)
                contributions.enter(batch.units[unit], _placed(batch.units[unit]))
            goes = whole.named and not place and not self.stays
            inherited = {"label": whole.label, "named": True} if goes else {}
            contributions.describe(number, grown=whole.grown, **inherited)
            parts.append({"id": number, "units": len(part)})
        numbers = [part["id"] for part in parts]
        changed = {} if self.stays else {"status": "split"}
        _change(batch, contributions, "split", whole, changed, into=numbers)
        return {"domain": whole.id, "parts": parts}


@dataclass(frozen=True, slots=True)
class Rename:
    """A domain gets a name that stays, or with an empty one its best words again."""

    domain: int
    label: str

    def check(self, storage: Storage) -> None:
        living(storage, {self.domain})
        if len(self.label) > MAX_LABEL_CHARS:
            raise UsageError(
                f"a label of {len(self.label)} characters should have at most {MAX_LABEL_CHARS}"
            )

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        (row,) = _present(contributions, [self.domain])
        label = " ".join(clean(self.label).split())
        _change(batch, contributions, "renamed", row, {"label": label, "named": bool(label)})
        return {"domain": row.id, "label": label}


@dataclass(frozen=True, slots=True)
class Retire:
    """Domains take no more units and leave the memory; or, `back`, take units again."""

    domains: tuple[int, ...]
    back: bool = False

    def check(self, storage: Storage) -> None:
        wanted, found = ("retired", "open") if self.back else ("open", "retired")
        for row in _unlocked(storage, set(self.domains), "opened" if self.back else "retired"):
            if row.status != wanted:
                raise UsageError(f"domain {row.id} is {found} already")

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        kind, status = ("opened", "open") if self.back else ("retired", "retired")
        for row in _present(contributions, sorted(set(self.domains))):
            _change(batch, contributions, kind, row, {"status": status})
        return {kind: sorted(set(self.domains))}


@dataclass(frozen=True, slots=True)
class Lock:
    """Domains are not merged, split or retired until they are unlocked."""

    domains: tuple[int, ...]
    locked: bool = True

    def check(self, storage: Storage) -> None:
        living(storage, set(self.domains))

    def apply(self, storage: Storage, batch: Batch, contributions: BatchUpdate) -> dict[str, Any]:
        kind = "locked" if self.locked else "unlocked"
        for row in _present(contributions, sorted(set(self.domains))):
            _change(batch, contributions, kind, row, {"locked": self.locked})
        return {kind: sorted(set(self.domains))}


def living(storage: Storage, numbers: set[int]) -> list[DomainRecord]:
    """The rows of domains that have units; an error names one that has not."""
    found = []
    for number in sorted(numbers):
        row = storage.domain(number)
        if row is None or row.sums.n_units == 0:
            fate = f" any more: it was {row.status}" if row and row.status != "open" else ""
            raise MissingInputError(
                f"there is no domain {number}{fate}; `segapsith domains` lists them"
            )
        found.append(row)
    return found


def _present(contributions: BatchUpdate, numbers: list[int]) -> list[DomainRecord]:
    """The rows as they are within a batch; an earlier change of it may have emptied one."""
    for number in numbers:
        row = contributions.row(number)
        if contributions.n_units(number) == 0:
            raise MissingInputError(f"there is no domain {number} any more: it was {row.status}")
    return [contributions.row(number) for number in numbers]


def _unlocked(storage: Storage, numbers: set[int], what: str) -> list[DomainRecord]:
    rows = living(storage, numbers)
    for row in rows:
        if row.locked:
            raise UsageError(
                f"domain {row.id} is locked and cannot be {what};"
                f" `segapsith domains unlock {row.id}` permits it"
            )
    return rows


def _members(
    storage: Storage,
    domain: int,
    batch: Batch | None = None,
    contributions: BatchUpdate | None = None,
) -> list[UnitRecord]:
    """The units of a domain: those of the store, or as they are within a batch."""
    stored = storage.units_in([domain])
    if batch is None or contributions is None:
        return stored
    units = {unit.id: batch.units.get(unit.id, unit) for unit in stored}
    units |= {number: batch.units[number] for number in contributions.arrived(domain)}
    return [u for _, u in sorted(units.items()) if u.assignment and u.assignment.domain == domain]


def _placed(unit: UnitRecord) -> Assignment:
    assert unit.assignment is not None
    return unit.assignment


def _change(
    batch: Batch,
    contributions: BatchUpdate,
    kind: str,
    row: DomainRecord,
    changed: Mapping[str, Any],
    **detail: Any,
) -> None:
    """Changes a domain and notes what it was before."""
    before = {name: getattr(row, name) for name in changed if name != "grown"}
    batch.events.append(Event(kind, row.id, {**detail, "before": before}))
    contributions.describe(row.id, **changed)


def retire_quiet(
    batch: Batch, contributions: BatchUpdate, ordinal: int, after: int, below: int
) -> int:
    """Retires small domains that took nothing from the last `after` stories; says how many.

    Only what nobody named or locked. The stories are counted by the clock, so that the same
    domains are retired at the same place of the stream however it is cut.
    """
    if after <= 0 or ordinal <= after:
        return 0
    quiet = [
        row
        for row in contributions.rows()
        if row.grown <= ordinal - after
        and row.status == "open"
        and not (row.locked or row.named)
        and 0 < contributions.n_units(row.id) < below
    ]
    for row in sorted(quiet, key=lambda row: row.id):
        _change(batch, contributions, "retired", row, {"status": "retired"}, ordinal=ordinal)
    return len(quiet)


def take_back(storage: Storage, run: int, batch: Batch, contributions: BatchUpdate) -> int:
    """Undoes what a run did to domains: units go back to where they were, rows to what they were.

    Units that the batch has changed already are not touched. Says how many units went back.
    """
    past = storage.past_assignments(run)
    moved = 0
    for unit in storage.units_moved_by(run):
        if unit.id in batch.units:
            continue
        contributions.leave(unit)
        contributions.enter(unit, past[unit.id])
        moved += 1
    for event in reversed(storage.events_of(run)):
        before = event.detail.get("before")
        if before:
            contributions.describe(event.domain, **before)
    return moved
