"""Taking contributions back: of a text that is corrected or forgotten, of a run that is undone.

A text's units leave their domains, and every sum that it had grown shrinks by the same integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from segapsith.engine.records import Assignment, Batch, DocumentRecord, UnitRecord, VersionRecord
from segapsith.engine.storage import Storage
from segapsith.engine.updates import BatchUpdate
from segapsith.errors import UsageError

__all__ = ["Removal", "undo_target"]


@dataclass(frozen=True, slots=True)
class Removal:
    """Takes texts out of the sums, within one batch."""

    storage: Storage
    batch: Batch
    contributions: BatchUpdate

    def take_out(self, record: DocumentRecord) -> list[UnitRecord]:
        """Takes a document's contribution out; its units stay, without a domain."""
        self.contributions.flush()
        version, units = self._present(record)
        self.contributions.count(version, units, -1)
        for unit in units:
            self.contributions.leave(unit)
            if unit.assignment is not None:
                self.batch.ended[unit.id] = unit.assignment
            self.batch.units[unit.id] = unit.assigned(None)
        return units

    def promote(
        self,
        gone: DocumentRecord,
        gone_units: list[UnitRecord],
    ) -> DocumentRecord | None:
        """The earliest copy of a forgotten document counts in its place, unless it goes as well."""
        going = set(self.batch.gone_documents)
        copies = [c for c in self.storage.duplicates_of(gone.id) if c.id not in going]
        if not copies:
            return None
        heir = copies[0]._replace(duplicate_of=None, ordinal=gone.ordinal)
        self.batch.documents[heir.id] = heir
        for copy in copies[1:]:
            self.batch.documents[copy.id] = copy._replace(duplicate_of=heir.id)
        version, units = self._present(heir)
        self.contributions.count(version, units, 1)
        before = {u.position: u for u in gone_units}
        for unit in units:
            twin = before.get(unit.position)
            place = None if twin is None else self.batch.ended.get(twin.id)
            if twin is not None and place is not None and unit.kept and _alike(unit, twin):
                self.contributions.enter(unit, place._replace(run=self.batch.run))
            else:
                self.contributions.place(version.lang, unit)
        return heir

    def revert(
        self,
        before: DocumentRecord,
        past: Mapping[int, Assignment],
    ) -> None:
        """Brings a document back to the text that it had before a run corrected it."""
        present = self.storage.document_by_id(before.id)
        assert present is not None
        if present.counts:
            self.take_out(present)
        for version in self.storage.versions_of(before.id, after=before.version):
            self.batch.gone_versions.append(version.id)
            for unit in self.storage.units_of_version(version.id):
                self.batch.units.pop(unit.id, None)
        original = before.duplicate_of
        if original is not None and self.storage.document_by_id(original) is None:
            before = before._replace(duplicate_of=None, ordinal=present.ordinal)
        self.batch.documents[before.id] = before
        if not before.counts:
            return
        version = self.storage.version(before.id, before.version)
        units = self.storage.units_of_version(version.id)
        self.contributions.count(version, units, 1)
        for unit in units:
            if unit.id in past:
                self.contributions.enter(unit, past[unit.id])
            elif unit.kept:
                self.contributions.place(version.lang, unit)

    def _present(self, record: DocumentRecord) -> tuple[VersionRecord, list[UnitRecord]]:
        """The present text of a document and its units, from this batch or from the store."""
        for version in self.batch.versions:
            if version.document == record.id and version.number == record.version:
                units = [u for u in self.batch.units.values() if u.version == version.id]
                return version, units
        version = self.storage.version(record.id, record.version)
        return version, [
            self.batch.units.get(u.id, u) for u in self.storage.units_of_version(version.id)
        ]


def undo_target(storage: Storage, run: int | None) -> int:
    """The run that may be undone now: the last one, or the given one if nothing comes first."""
    last = storage.undoable()
    if last is None:
        raise UsageError("there is no run to undo")
    target, command = last
    if run is not None and run != target:
        found = storage.command_and_status(run)
        if found is None:
            raise UsageError(f"there is no run {run}; `segapsith runs` lists them")
        later = [(n, c) for n, c in storage.later_runs(run) if c != "forget"]
        if found[1] == "undone" or later:
            raise UsageError(
                f"run {run} cannot be undone: "
                + ("it is undone already" if not later else f"run {later[-1][0]} comes first")
            )
        target, command = run, found[0]
    if command == "forget":
        raise UsageError(
            f"run {target} is a `forget`: what is forgotten cannot come back by `runs undo`;"
            " name an earlier run to undo that one"
        )
    return target


def _alike(unit: UnitRecord, other: UnitRecord) -> bool:
    """Whether at least half of the words are shared."""
    shared = len(np.intersect1d(unit.bag.words, other.bag.words))
    return 2 * shared >= max(len(unit.bag.words), len(other.bag.words))
