"""Removal: forgetting documents, letting them come back, undoing runs.

The units of a text leave their domains, and every sum that the text had increased decreases by the
same integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segapsith.engine.components import Components
from segapsith.engine.domain_changes import undo_changes
from segapsith.engine.learning_settings import FACT, periods
from segapsith.engine.records import Assignment, DocumentRecord, UnitRecord, Update, VersionRecord
from segapsith.engine.runs import RunPlan
from segapsith.engine.state import State
from segapsith.engine.storage import Storage
from segapsith.engine.updates import UpdateBuilder
from segapsith.errors import MissingInputError, UsageError

__all__ = ["allow_again", "forget", "forgettable", "undo", "undo_target"]


def forget(
    records: Sequence[DocumentRecord],
    state: State,
    components: Components,
    storage: Storage,
    plan: RunPlan,
) -> dict[str, Any]:
    """Remove documents exactly, with their texts, and refuse them from now on.

    All go in one transaction. The earliest copy of each that stays takes its place. The state
    must be discarded afterwards: its window still has the stories.
    """
    stories = [record for record in sorted(records) if record.duplicate_of is None]
    results: list[dict[str, Any]] = []
    with storage.run(plan) as run:
        builder = UpdateBuilder(state, components, storage, run=run.number)
        removal, update = _Removal(storage, builder), builder.update
        update.gone_documents = [record.id for record in records]
        # all are taken out first: no successor is placed by words that go as well
        taken_out = [(story, builder.take_out(story)) for story in stories]
        successors = {story.id: removal.promote(story, units) for story, units in taken_out}
        update.ended.clear()
        for record in records:
            versions = storage.versions_of(record.id)
            update.forgotten += [(record.uid, version.hash) for version in versions]
            units = {
                unit.id for version in versions for unit in storage.units_of_version(version.id)
            }
            for number in units:
                update.units.pop(number, None)
            successor = successors.get(record.id)
            results.append(
                {
                    "document": record.uid,
                    "successor": successor.uid if successor else None,
                    "units": len(units),
                }
            )
        builder.close()
        n_units = sum(result["units"] for result in results)
        # the run log has no id: what is forgotten must not be read there
        update.counts = {"documents": len(records), "units": n_units}
        storage.save(update)
    return {"run": run.number, "documents": results, "units": n_units}


def forgettable(uids: Sequence[str], storage: Storage) -> list[DocumentRecord]:
    """Return the documents of these ids, each once."""
    if not uids:
        raise UsageError("name at least one document; `segapsith search` finds ids")
    by_uid = {uid: storage.document(uid) for uid in uids}
    missing = [uid for uid, record in by_uid.items() if record is None]
    gone = storage.forgotten_uids(missing)
    if unknown := [uid for uid in missing if uid not in gone]:
        names = ", ".join(map(repr, unknown))
        raise MissingInputError(f"no document is called {names}; `segapsith search` finds ids")
    if missing:
        names = ", ".join(map(repr, missing))
        raise MissingInputError(f"already forgotten: {names}; name only documents of the store")
    return [record for record in by_uid.values() if record is not None]


def allow_again(uids: Sequence[str], storage: Storage, plan: RunPlan) -> dict[str, Any]:
    """Let later deliveries bring forgotten documents back.

    `held` counts texts of theirs that stay refused, because other documents with them were
    forgotten too.
    """
    if not uids:
        raise UsageError("name at least one forgotten document")
    distinct = list(dict.fromkeys(uids))
    gone = storage.forgotten_uids(distinct)
    if unknown := [uid for uid in distinct if uid not in gone]:
        names = ", ".join(map(repr, unknown))
        raise MissingInputError(f"not forgotten, so nothing to allow again: {names}")
    held = storage.shared_tombstones(distinct)
    with storage.run(plan) as run:
        counts = {"documents": 0, "allowed_again": len(distinct)}
        storage.save(Update(run=run.number, allowed_again=distinct, counts=counts))
    return {"run": run.number, "documents": distinct, "held": held}


def undo(
    target: int,
    state: State,
    components: Components,
    storage: Storage,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Undo a run that may be undone (`undo_target`).

    The state must be discarded afterwards: its window still has the stories.
    """
    with storage.run(RunPlan("undo", {"run": target}, versions)) as run:
        builder = UpdateBuilder(state, components, storage, run=run.number)
        removal, update = _Removal(storage, builder), builder.update
        update.undone_run = target
        documents = storage.documents_of(target)
        for record in documents:
            if record.duplicate_of is None:
                builder.take_out(record)
            update.gone_documents.append(record.id)
        gone = {record.id for record in documents}
        earlier = [record for record in storage.changes_by(target) if record.id not in gone]
        past = storage.past_assignments(target)
        for record in earlier:
            removal.revert(record, past)
        moved = undo_changes(storage, target, builder)
        _restore_age(documents, storage, builder)
        for event in storage.events_closed_by(target):
            builder.reopen_event(event)
        history = periods(storage.facts())
        if any(period.run == target for period in history):
            update.facts[FACT] = [p.as_json() for p in history if p.run != target]
        update.ended.clear()
        for unit in [unit for unit in update.units.values() if unit.document in gone]:
            del update.units[unit.id]
        builder.close()
        update.counts = {
            "run": target,
            "documents": len(documents),
            "restored": len(earlier),
            "moved": moved,
        }
        storage.save(update)
    return dict(update.counts)


def _restore_age(gone: Sequence[DocumentRecord], storage: Storage, builder: UpdateBuilder) -> None:
    """Give domains that documents joined the last story that they had before."""
    ordinals = [record.ordinal for record in gone if record.ordinal]
    if not ordinals:
        return
    first = min(ordinals)
    late = [row.id for row in builder.rows() if row.grown >= first]
    newest = storage.newest_stories(late, before=first)
    for domain in late:
        builder.describe(domain, grown=newest.get(domain, 0))


def undo_target(run: int | None, storage: Storage) -> int:
    """Return the run that may be undone now: the last one, or the given one if none comes first."""
    last = storage.undoable()
    if last is None:
        raise UsageError("there is no run to undo")
    target, command = last
    if run is not None and run != target:
        logged = storage.command_and_status(run)
        if logged is None:
            raise UsageError(f"there is no run {run}; `segapsith runs` lists them")
        later = [(n, c) for n, c in storage.later_runs(run) if c != "forget"]
        if logged[1] == "undone" or later:
            raise UsageError(
                f"run {run} cannot be undone: "
                + ("it is undone already" if not later else f"run {later[-1][0]} comes first")
            )
        target, command = run, logged[0]
    if command == "forget":
        raise UsageError(
            f"run {target} is a `forget`: what is forgotten cannot come back by `runs undo`;"
            " name an earlier run to undo that one"
        )
    return target


@dataclass(frozen=True, slots=True)
class _Removal:
    """What becomes of documents when others go, within one update."""

    storage: Storage
    builder: UpdateBuilder

    def promote(
        self, gone: DocumentRecord, gone_units: Sequence[UnitRecord]
    ) -> DocumentRecord | None:
        """Let the earliest copy of a forgotten document count in its place, unless it goes too."""
        builder, update = self.builder, self.builder.update
        going = set(update.gone_documents)
        copies = [c for c in self.storage.duplicates_of(gone.id) if c.id not in going]
        if not copies:
            return None
        successor = copies[0]._replace(duplicate_of=None, ordinal=gone.ordinal)
        update.documents[successor.id] = successor
        for copy in copies[1:]:
            update.documents[copy.id] = copy._replace(duplicate_of=successor.id)
        version, units = builder.present_text(successor)
        builder.count(version, units, 1)
        before = {unit.position: unit for unit in gone_units}
        places: dict[int, Assignment] = {}
        for unit in units:
            twin = before.get(unit.position)
            place = None if twin is None else update.ended.get(twin.id)
            if twin is not None and place is not None and unit.kept and _alike(unit, twin):
                places[unit.id] = place._replace(run=update.run)
        self._return_to(version, units, places)
        return successor

    def revert(self, before: DocumentRecord, past: Mapping[int, Assignment]) -> None:
        """Give a document the text back that it had before a run corrected it."""
        builder, update, storage = self.builder, self.builder.update, self.storage
        present = storage.document_by_id(before.id)
        assert present is not None, f"document {before.id} has an earlier state but no row"
        if present.duplicate_of is None:
            builder.take_out(present)
        for version in storage.versions_of(before.id, after=before.version):
            update.gone_versions.append(version.id)
            for unit in storage.units_of_version(version.id):
                update.units.pop(unit.id, None)
        original = before.duplicate_of
        if original is not None and storage.document_by_id(original) is None:
            before = before._replace(duplicate_of=None, ordinal=present.ordinal)
        update.documents[before.id] = before
        if before.duplicate_of is not None:
            return
        version = storage.version(before.id, before.version)
        units = storage.units_of_version(version.id)
        builder.count(version, units, 1)
        self._return_to(version, units, past)

    def _return_to(
        self, version: VersionRecord, units: Sequence[UnitRecord], places: Mapping[int, Assignment]
    ) -> None:
        """Put the units of a story where `places` names a place, and place the others."""
        builder = self.builder
        named = [places[unit.id].event for unit in units if unit.id in places]
        event = builder.place_story(version, units, next((e for e in named if e), None))
        for unit in units:
            if unit.id in places:
                builder.enter(unit, places[unit.id]._replace(event=event))
            else:
                builder.place(version.lang, unit, event=event)


def _alike(unit: UnitRecord, other: UnitRecord) -> bool:
    """Return whether at least half of the words are shared."""
    shared = len(np.intersect1d(unit.bag.words, other.bag.words))
    return 2 * shared >= max(len(unit.bag.words), len(other.bag.words))
