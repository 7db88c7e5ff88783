"""Changes of domains besides taking units: rename, merge, split, retire, lock, move units; undo.

A change is a value that is checked against the store before a run begins and applied within one
update. Each leaves entries of lineage with what it changed, so that it can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from segapsith.domains.values import Placement
from segapsith.engine.records import Assignment, DomainRecord, UnitRecord
from segapsith.errors import MissingInputError, UsageError

if TYPE_CHECKING:
    from segapsith.engine.components import Components
    from segapsith.engine.runs import RunPlan
    from segapsith.engine.state import State
    from segapsith.engine.storage import Storage
    from segapsith.engine.updates import UpdateBuilder

__all__ = [
    "Change",
    "Lock",
    "Merge",
    "Move",
    "Rename",
    "Retire",
    "Split",
    "apply_changes",
    "living",
    "undo_changes",
]

MAX_LABEL_CHARS = 200


class Change(Protocol):
    """A change of domains."""

    def check(self, storage: Storage) -> None:
        """Refuse what makes no sense, before a run begins."""

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        """Apply the change, and return what was done."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Make one domain of several: the oldest of them, unless `into` names another."""

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

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        target, *sources = _present(builder, [self.target, *self.sources])
        moved = 0
        for source in sources:
            n_units = 0
            for unit in _members(storage, source.id, builder):
                builder.move(unit, target.id)
                n_units += 1
            builder.move_sums(source.id, target.id)
            merged = {"status": "merged"}
            builder.change_domain("merged", source, merged, into=target.id, units=n_units)
            moved += n_units
        changed: dict[str, Any] = {"grown": max(row.grown for row in (target, *sources))}
        if any(row.status == "open" for row in sources):
            changed["status"] = "open"
        named = [row for row in sources if row.named]
        if named and not target.named:
            changed |= {"label": named[0].label, "named": True}
        builder.change_domain("took", target, changed, source=self.sources)
        return {"domain": target.id, "merged": self.sources, "units": moved}


@dataclass(frozen=True, slots=True)
class Move:
    """Move units to other domains; a domain that loses its last unit stays as a number."""

    places: Mapping[int, Placement]

    def check(self, storage: Storage) -> None:
        living(storage, {place.domain for place in self.places.values() if place.domain})

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        moved = []
        for unit in storage.units(self.places):
            place = self.places[unit.id]
            if place.domain is None or unit.assignment is None:
                continue
            moved.append(unit)
            builder.move(unit, place.domain)
            builder.enter(
                unit,
                Assignment(
                    place.domain,
                    place.score,
                    place.runner_up,
                    place.runner_up_score,
                    builder.update.run,
                    unit.assignment.event,
                ),
            )
        for unit in moved:  # all are in before any leaves, so that none is empty on the way
            builder.leave(unit)
        return {"moved": len(moved)}


@dataclass(frozen=True, slots=True)
class Split:
    """Make several new domains of one; a name that a person gave goes with the largest part.

    If the domain `stays`, the largest part keeps its number, and only the others are new.
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

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        (whole,) = _present(builder, [self.domain])
        members = {unit.id: unit for unit in _members(storage, self.domain, builder)}
        ranked = sorted(self.parts, key=lambda part: (-len(part), min(part)))
        parts: list[dict[str, Any]] = []
        if self.stays:
            parts.append({"id": whole.id, "units": len(ranked.pop(0))})
        for place, part in enumerate(ranked):
            number = builder.create_domain(whole.lang, source=[whole.id])
            for unit in sorted(part):
                builder.leave(members[unit])
                builder.move(members[unit], number)
                builder.enter(builder.update.units[unit], _placed(builder.update.units[unit]))
            goes = whole.named and not place and not self.stays
            inherited = {"label": whole.label, "named": True} if goes else {}
            builder.describe(number, grown=whole.grown, **inherited)
            parts.append({"id": number, "units": len(part)})
        numbers = [part["id"] for part in parts]
        changed = {} if self.stays else {"status": "split"}
        builder.change_domain("split", whole, changed, into=numbers)
        return {"domain": whole.id, "parts": parts}


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a domain a name that stays; an empty one makes its heaviest words its label again."""

    domain: int
    label: str

    def check(self, storage: Storage) -> None:
        living(storage, {self.domain})
        if len(self.label) > MAX_LABEL_CHARS:
            raise UsageError(
                f"a label of {len(self.label)} characters should have at most {MAX_LABEL_CHARS}"
            )

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        from segapsith.intake.documents import clean

        (row,) = _present(builder, [self.domain])
        label = " ".join(clean(self.label).split())
        builder.change_domain("renamed", row, {"label": label, "named": bool(label)})
        return {"domain": row.id, "label": label}


@dataclass(frozen=True, slots=True)
class Retire:
    """Let domains take no more units and leave the memory; or, with `back`, take units again."""

    domains: tuple[int, ...]
    back: bool = False

    def check(self, storage: Storage) -> None:
        before, after = ("retired", "open") if self.back else ("open", "retired")
        for row in _unlocked(storage, set(self.domains), "opened" if self.back else "retired"):
            if row.status != before:
                raise UsageError(f"domain {row.id} is {after} already")

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        kind, status = ("opened", "open") if self.back else ("retired", "retired")
        for row in _present(builder, sorted(set(self.domains))):
            builder.change_domain(kind, row, {"status": status})
        return {kind: sorted(set(self.domains))}


@dataclass(frozen=True, slots=True)
class Lock:
    """Protect domains from being merged, split or retired until they are unlocked."""

    domains: tuple[int, ...]
    locked: bool = True

    def check(self, storage: Storage) -> None:
        living(storage, set(self.domains))

    def apply(self, storage: Storage, builder: UpdateBuilder) -> dict[str, Any]:
        kind = "locked" if self.locked else "unlocked"
        for row in _present(builder, sorted(set(self.domains))):
            builder.change_domain(kind, row, {"locked": self.locked})
        return {kind: sorted(set(self.domains))}


def apply_changes(
    changes: Sequence[Change],
    state: State,
    components: Components,
    storage: Storage,
    plan: RunPlan,
) -> list[dict[str, Any]]:
    """Apply changes in one run, all of them or none; return what each did."""
    from segapsith.engine.updates import UpdateBuilder

    with storage.run(plan) as run:
        builder = UpdateBuilder(state, components, storage, run=run.number)
        results = [change.apply(storage, builder) for change in changes]
        update = builder.close()
        update.counts = results[0] if len(results) == 1 else {"changes": len(results)}
        storage.save(update)
    return [{"run": run.number, **result} for result in results]


def living(storage: Storage, numbers: set[int]) -> list[DomainRecord]:
    """Return domains that have units; raise an error that names one without."""
    rows = []
    for number in sorted(numbers):
        row = storage.domain(number)
        if row is None or row.sums.n_units == 0:
            fate = f" any more: it was {row.status}" if row and row.status != "open" else ""
            raise MissingInputError(
                f"there is no domain {number}{fate}; `segapsith domains` lists them"
            )
        rows.append(row)
    return rows


def _present(builder: UpdateBuilder, numbers: list[int]) -> list[DomainRecord]:
    """Return domains as they are within an update; an earlier change of it may have emptied one."""
    for number in numbers:
        row = builder.row(number)
        if builder.n_units(number) == 0:
            raise MissingInputError(f"there is no domain {number} any more: it was {row.status}")
    return [builder.row(number) for number in numbers]


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
    storage: Storage, domain: int, builder: UpdateBuilder | None = None
) -> list[UnitRecord]:
    """Return the units of a domain as they are stored, or as they are within an update."""
    stored = storage.units_in([domain])
    if builder is None:
        return stored
    units = {unit.id: builder.update.units.get(unit.id, unit) for unit in stored}
    units |= {number: builder.update.units[number] for number in builder.arrived(domain)}
    return [u for _, u in sorted(units.items()) if u.assignment and u.assignment.domain == domain]


def _placed(unit: UnitRecord) -> Assignment:
    assert unit.assignment is not None
    return unit.assignment


def undo_changes(storage: Storage, run: int, builder: UpdateBuilder) -> int:
    """Undo what a run did to domains: units and domains become what they were before.

    Units that the update has changed already stay. Return how many units went back.
    """
    past = storage.past_assignments(run)
    moved = 0
    for unit in storage.units_moved_by(run):
        if unit.id in builder.update.units:
            continue
        builder.leave(unit)
        assert unit.assignment is not None
        builder.enter(unit, past[unit.id]._replace(event=unit.assignment.event))
        moved += 1
    for entry in reversed(storage.lineage_of(run)):
        before = entry.detail.get("before")
        if before:
            builder.describe(entry.domain, **before)
    return moved
