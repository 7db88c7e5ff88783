"""A storage in memory: what the engine asks of a store, in dictionaries, for tests.

It behaves as the SQLite store does, and passes the same contract tests (tests/engine/
test_storage.py). Nothing of it outlives the object.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.threshold_control import Target, ThresholdController
from segapsith.domains.values import EventRecord
from segapsith.engine.records import (
    Assignment,
    DocumentRecord,
    DomainRecord,
    EpochRecord,
    LineageEntry,
    ReferenceRecord,
    ThresholdRecord,
    UnitRecord,
    Update,
    VersionRecord,
    all_units,
    all_versions,
)
from segapsith.engine.runs import RunLog, RunPlan, Unfinished
from segapsith.errors import StorageError
from segapsith.lexicon.cooccurrence import Pairs, merged_streams
from segapsith.lexicon.multiword_terms import TermCounts
from segapsith.model import FeedState

__all__ = ["LoggedRun", "MemoryStorage"]

_STREAM = 0


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run as the log has it."""

    plan: RunPlan
    status: str = "running"
    position: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Tables:
    """Everything that is stored; values are replaced and never changed."""

    facts: dict[str, Any] = field(default_factory=dict)
    runs: dict[int, LoggedRun] = field(default_factory=dict)
    documents: dict[int, DocumentRecord] = field(default_factory=dict)
    document_changes: dict[tuple[int, int], DocumentRecord] = field(default_factory=dict)
    """By document and run, what the document was before."""
    versions: dict[int, VersionRecord] = field(default_factory=dict)
    units: dict[int, UnitRecord] = field(default_factory=dict)
    past_assignments: dict[tuple[int, int], Assignment] = field(default_factory=dict)
    """By unit and the run that ended them."""
    sightings: dict[tuple[int, str], int] = field(default_factory=dict)
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    words: dict[int, tuple[str, str, int, int]] = field(default_factory=dict)
    languages: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    domains: dict[int, DomainRecord] = field(default_factory=dict)
    events: dict[int, EventRecord] = field(default_factory=dict)
    lineage: list[tuple[int, LineageEntry]] = field(default_factory=list)
    epochs: dict[str, EpochRecord] = field(default_factory=dict)
    terms: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    term_runs: list[tuple[str, Mapping[str, NDArray[np.int64]]]] = field(default_factory=list)
    thresholds: dict[tuple[int, int], ThresholdRecord] = field(default_factory=dict)
    targets: dict[int, Target] = field(default_factory=dict)
    pairs: dict[int, Pairs] = field(default_factory=dict)
    references: list[ReferenceRecord] = field(default_factory=list)
    tombstones: dict[tuple[str, str], int] = field(default_factory=dict)
    feeds: dict[str, FeedState] = field(default_factory=dict)

    def copied(self) -> _Tables:
        """Return a copy that can be changed without changing this."""
        return _Tables(*(getattr(self, f.name).copy() for f in fields(self)))


class MemoryStorage(RunLog):
    """A storage in memory."""

    def __init__(self) -> None:
        self._tables = _Tables()

    # -- sums of the whole stream ------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        return dict(self._tables.facts)

    def words(self) -> Iterator[tuple[int, str, str, int, int]]:
        for number, entry in sorted(self._tables.words.items()):
            yield (number, *entry)

    def languages(self) -> dict[str, tuple[int, int]]:
        return {lang: counts[:2] for lang, counts in self._tables.languages.items()}

    def cohesion(self) -> dict[str, tuple[int, int]]:
        return {lang: counts[2:] for lang, counts in self._tables.languages.items()}

    def terms(self) -> dict[str, list[tuple[str, ...]]]:
        by_lang: dict[str, list[tuple[str, ...]]] = {}
        for lang, words in self._tables.terms:
            by_lang.setdefault(lang, []).append(words)
        return by_lang

    def term_counts(self) -> dict[str, TermCounts]:
        by_lang: dict[str, list[Mapping[str, NDArray[np.int64]]]] = {}
        for lang, arrays in self._tables.term_runs:
            by_lang.setdefault(lang, []).append(arrays)
        return {lang: TermCounts.restore(*map(dict, runs)) for lang, runs in by_lang.items()}

    def pairs(self, source: int | None = None) -> Iterator[Pairs]:
        named = {reference.run for reference in self._tables.references}
        sources = [_STREAM, *sorted(named)] if source is None else [source]
        stored = self._tables.pairs
        return merged_streams([iter([stored[s]]) for s in sources if s in stored])

    def references(self) -> list[ReferenceRecord]:
        return sorted(
            self._tables.references, key=lambda reference: (reference.run, reference.lang)
        )

    def frozen_arrays(self, name: str) -> EpochRecord | None:
        return self._tables.epochs.get(name)

    def keep_target(self, run: int, target: Target) -> None:
        """Let the threshold follow a target; one without an aim ends the last."""
        self._tables.targets[run] = target

    def threshold_controller(self) -> ThresholdController | None:
        if not self._tables.targets:
            return None
        run, target = max(self._tables.targets.items())
        if not target.aim:
            return None
        since = [(key, t) for key, t in sorted(self._tables.thresholds.items()) if key[0] > run]
        controller = ThresholdController.start(target)
        controller.count(sum(t.placed for _, t in since), sum(t.founded for _, t in since))
        if since:
            last = since[-1][1]
            controller.threshold, controller.base = last.threshold, last.base
            controller.ordinal = last.ordinal
        controller.since = sum(t.placed for _, t in since if t.ordinal == controller.ordinal)
        return controller

    # -- documents ---------------------------------------------------------------------------

    def known_uids(self, uids: Sequence[str]) -> set[str]:
        return {record.uid for record in self._tables.documents.values()}.intersection(uids)

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        return {version.hash for version in self._tables.versions.values()}.intersection(digests)

    def forgotten_uids(self, uids: Iterable[str]) -> set[str]:
        return {uid for uid, _ in self._tables.tombstones}.intersection(uids)

    def forgotten_texts(self, digests: Iterable[str]) -> set[str]:
        return {digest for _, digest in self._tables.tombstones}.intersection(digests)

    def shared_tombstones(self, uids: Iterable[str]) -> int:
        named = set(uids)
        own = {digest for uid, digest in self._tables.tombstones if uid in named}
        return len(own & {digest for uid, digest in self._tables.tombstones if uid not in named})

    def document(self, uid: str) -> DocumentRecord | None:
        return next((d for d in self._tables.documents.values() if d.uid == uid), None)

    def document_by_id(self, number: int) -> DocumentRecord | None:
        return self._tables.documents.get(number)

    def documents_of(self, run: int) -> list[DocumentRecord]:
        return [record for record in self._documents() if record.run == run]

    def changes_by(self, run: int) -> list[DocumentRecord]:
        return [
            record
            for (_, changed_by), record in sorted(self._tables.document_changes.items())
            if changed_by == run
        ]

    def duplicates_of(self, document: int) -> list[DocumentRecord]:
        return [record for record in self._documents() if record.duplicate_of == document]

    def stories_with(self, digest: str) -> list[DocumentRecord]:
        return [d for d, version in self._stories() if version.hash == digest]

    def has_text(self, document: int, digest: str) -> bool:
        return any(version.hash == digest for version in self.versions_of(document))

    def seen(self, document: int, source: str) -> bool:
        return (document, source) in self._tables.sightings

    def signatures(self, after: int) -> Iterator[tuple[int, int, bytes]]:
        stories = [
            (record.ordinal or 0, record.id, version.signature)
            for record, version in self._stories()
            if (record.ordinal or 0) > after and version.signature
        ]
        for ordinal, number, signature in sorted(stories):
            yield number, ordinal, signature

    def sequences(self, after: int) -> Iterator[tuple[int, int, str, NDArray[np.int32]]]:
        stories = [
            (record.ordinal or 0, record.id, version)
            for record, version in self._stories()
            if (record.ordinal or 0) > after and (version.title or version.body)
        ]
        for ordinal, number, version in sorted(stories, key=lambda story: story[:2]):
            yield number, ordinal, version.lang, version.words

    def _documents(self) -> list[DocumentRecord]:
        return [record for _, record in sorted(self._tables.documents.items())]

    def _stories(self) -> Iterator[tuple[DocumentRecord, VersionRecord]]:
        """Yield the documents that are no duplicates, with their present texts."""
        for record in self._documents():
            if record.duplicate_of is None:
                yield record, self.version(record.id, record.version)

    # -- texts and units ---------------------------------------------------------------------

    def version(self, document: int, number: int) -> VersionRecord:
        for version in self.versions_of(document):
            if version.number == number:
                return version
        raise StorageError(f"version {number} of document {document} is missing")

    def versions_of(self, document: int, after: int = 0) -> list[VersionRecord]:
        return [
            version
            for _, version in sorted(self._tables.versions.items())
            if version.document == document and version.number > after
        ]

    def units(self, ids: Iterable[int]) -> list[UnitRecord]:
        wanted = set(ids)
        return [unit for unit in self._units() if unit.id in wanted]

    def units_of_version(self, version: int) -> list[UnitRecord]:
        return [unit for unit in self._units() if unit.version == version]

    def units_in(self, domains: Iterable[int]) -> list[UnitRecord]:
        numbers = set(domains)
        return [u for u in self._units() if u.assignment and u.assignment.domain in numbers]

    def units_since(self, ordinal: int) -> list[UnitRecord]:
        documents = self._tables.documents
        return [
            unit
            for unit in self.assigned_units()
            if (documents[unit.document].ordinal or 0) > ordinal
        ]

    def units_moved_by(self, run: int) -> list[UnitRecord]:
        moved = self.past_assignments(run)
        return [unit for unit in self.assigned_units() if unit.id in moved]

    def assigned_units(self) -> Iterator[UnitRecord]:
        return (unit for unit in self._units() if unit.assignment is not None)

    def past_assignments(self, ended_by: int) -> dict[int, Assignment]:
        return {
            unit: assignment
            for (unit, run), assignment in sorted(self._tables.past_assignments.items())
            if run == ended_by
        }

    def _units(self) -> list[UnitRecord]:
        return [unit for _, unit in sorted(self._tables.units.items())]

    # -- domains -----------------------------------------------------------------------------

    def domain(self, number: int) -> DomainRecord | None:
        return self._tables.domains.get(number)

    def domains(self) -> Iterator[DomainRecord]:
        return (row for _, row in sorted(self._tables.domains.items()))

    def open_domains(self, lang: str | None = None) -> Iterator[DomainRecord]:
        for row in self.domains():
            if row.status == "open" and row.sums.n_units and lang in (None, row.lang):
                yield row

    def protected_domains(self) -> set[int]:
        return {row.id for row in self.domains() if row.locked or row.named}

    def units_taken_since(self, run: int) -> dict[int, int]:
        taken: dict[int, int] = {}
        for unit in self.assigned_units():
            if unit.assignment and unit.assignment.run > run:
                taken[unit.assignment.domain] = taken.get(unit.assignment.domain, 0) + 1
        return taken

    def newest_stories(self, domains: Collection[int], before: int) -> dict[int, int]:
        newest: dict[int, int] = {}
        for unit in self.units_in(domains):
            ordinal = self._tables.documents[unit.document].ordinal
            if unit.assignment and ordinal is not None and ordinal < before:
                domain = unit.assignment.domain
                newest[domain] = max(ordinal, newest.get(domain, 0))
        return newest

    def lineage_of(self, run: int) -> list[LineageEntry]:
        return [entry for of_run, entry in self._tables.lineage if of_run == run]

    # -- events ------------------------------------------------------------------------------

    def event(self, number: int) -> EventRecord | None:
        return self._tables.events.get(number)

    def events(self) -> Iterator[EventRecord]:
        return (row for _, row in sorted(self._tables.events.items()))

    def open_events(self) -> Iterator[EventRecord]:
        return (row for row in self.events() if row.closed_by is None and row.units)

    def events_closed_by(self, run: int) -> list[int]:
        return [row.id for row in self.events() if row.closed_by == run]

    # -- runs --------------------------------------------------------------------------------

    def _begin_run(self, plan: RunPlan) -> int:
        runs = self._tables.runs
        for number, logged in runs.items():
            if logged.status == "running":
                runs[number] = replace(logged, status="interrupted")
        number = int(self._tables.facts.get("next_run", 1))
        self._tables.facts["next_run"] = number + 1
        runs[number] = LoggedRun(plan)
        return number

    def _unfinished(self, command: str, input_key: str) -> Unfinished | None:
        if not self._tables.runs:
            return None
        number, logged = max(self._tables.runs.items(), key=lambda entry: entry[0])
        if logged.status not in ("running", "interrupted"):
            return None
        if (logged.plan.command, logged.plan.input_key) != (command, input_key):
            return None
        return Unfinished(number, logged.position, dict(logged.counts))

    def _resume_run(self, run: int) -> None:
        self._tables.runs[run] = replace(self._tables.runs[run], status="running")

    def _finish_run(self, run: int, status: str, counts: Mapping[str, Any] | None) -> None:
        logged = self._tables.runs[run]
        self._tables.runs[run] = replace(
            logged, status=status, counts=logged.counts if counts is None else _plain(counts)
        )

    def runs(self) -> dict[int, LoggedRun]:
        """Return the run log, by number."""
        return dict(self._tables.runs)

    def done_run(self, command: str, input_key: str) -> int | None:
        built = {reference.run for reference in self.references()}
        return max(
            (
                number
                for number, logged in self._tables.runs.items()
                if (logged.status == "done" or number in built)
                and (logged.plan.command, logged.plan.input_key) == (command, input_key)
            ),
            default=None,
        )

    def undoable(self) -> tuple[int, str] | None:
        standing = [
            (number, command)
            for number, command in self.later_runs(0)
            if command != "forget" or self._tables.runs[number].counts
        ]
        return standing[-1] if standing else None

    def later_runs(self, run: int) -> list[tuple[int, str]]:
        return [
            (number, logged.plan.command)
            for number, logged in sorted(self._tables.runs.items())
            if number > run and logged.status != "undone" and logged.plan.command != "undo"
        ]

    def command_and_status(self, run: int) -> tuple[str, str] | None:
        logged = self._tables.runs.get(run)
        return None if logged is None else (logged.plan.command, logged.status)

    # -- writing -----------------------------------------------------------------------------

    def save(self, update: Update) -> None:
        tables = self._tables.copied()
        _remove(tables, update)
        _write_sums(tables, update)
        _write_texts(tables, update)
        _write_domains(tables, update)
        for uid, digest in update.forgotten:
            tables.tombstones.setdefault((uid, digest), update.run)
        for key in [key for key in tables.tombstones if key[0] in update.allowed_again]:
            del tables.tombstones[key]
        if update.feed is not None:
            tables.feeds[update.feed.url] = update.feed
        tables.runs[update.run] = replace(
            tables.runs[update.run], position=update.position, counts=_plain(update.counts)
        )
        self._tables = tables

    def drop_unnamed_pairs(self) -> None:
        named = {_STREAM, *(reference.run for reference in self._tables.references)}
        for source in [source for source in self._tables.pairs if source not in named]:
            del self._tables.pairs[source]

    def add_reference_pairs(self, run: int, pairs: Iterable[Pairs]) -> None:
        _add_pairs(self._tables, run, pairs)

    def save_reference(
        self,
        new_words: Sequence[tuple[int, str, str]],
        references: Sequence[ReferenceRecord],
        facts: Mapping[str, Any],
    ) -> None:
        tables = self._tables
        tables.words.update((number, (lang, word, 0, 0)) for number, lang, word in new_words)
        tables.references.extend(references)
        tables.facts |= _plain(facts)
        _drop_networks(tables)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as they are after they were written and read."""
    plain: dict[str, Any] = json.loads(json.dumps(values, allow_nan=False))
    return plain


def _remove(tables: _Tables, update: Update) -> None:
    """Delete what an undone run brought, and the texts of documents that go."""
    run = update.undone_run
    if run is not None:
        tables.sightings = {k: v for k, v in tables.sightings.items() if v != run}
        tables.rejects = [reject for reject in tables.rejects if reject[0] != run]
        tables.document_changes = _without(tables.document_changes, run, place=1)
        tables.past_assignments = _without(tables.past_assignments, run, place=1)
        tables.thresholds = _without(tables.thresholds, run, place=0)
        tables.targets.pop(run, None)
        tables.references = [r for r in tables.references if r.run != run]
        if tables.pairs.pop(run, None) is not None:
            _drop_networks(tables)
        tables.runs[run] = replace(tables.runs[run], status="undone")
    documents, versions = set(update.gone_documents), set(update.gone_versions)
    versions |= {v.id for v in tables.versions.values() if v.document in documents}
    units = {unit.id for unit in tables.units.values() if unit.version in versions}
    tables.units = {k: v for k, v in tables.units.items() if k not in units}
    tables.past_assignments = {
        k: v for k, v in tables.past_assignments.items() if k[0] not in units
    }
    tables.versions = {k: v for k, v in tables.versions.items() if k not in versions}
    tables.sightings = {k: v for k, v in tables.sightings.items() if k[0] not in documents}
    tables.document_changes = {
        k: v for k, v in tables.document_changes.items() if k[0] not in documents
    }
    tables.documents = {k: v for k, v in tables.documents.items() if k not in documents}


def _without(
    rows: Mapping[tuple[int, int], Any], run: int, *, place: int
) -> dict[tuple[int, int], Any]:
    return {key: row for key, row in rows.items() if key[place] != run}


def _drop_networks(tables: _Tables) -> None:
    """Delete the frozen networks: the reference corpora that they were made from changed."""
    for name in ("network", "word space"):
        tables.epochs.pop(name, None)


def _write_sums(tables: _Tables, update: Update) -> None:
    tables.words.update((number, (lang, word, 0, 0)) for number, lang, word in update.new_words)
    for number, documents, occurrences in zip(*update.frequencies, strict=True):
        tables.words[number] = (*tables.words[number][:2], documents, occurrences)
    for lang, totals in update.languages.items():
        tables.languages[lang] = (*totals, *update.cohesion.get(lang, (0, 0)))
    tables.terms += [(lang, words) for lang, words, _, _ in update.terms]
    tables.term_runs += update.term_runs.items()
    tables.epochs |= update.epochs
    if update.pairs is not None and len(update.pairs.keys):
        _add_pairs(tables, _STREAM, [update.pairs])
    tables.facts |= _plain(update.facts)
    for threshold in update.thresholds:
        key = (update.run, threshold.ordinal)
        before = tables.thresholds.get(key)
        if before is not None:
            threshold = replace(
                before,
                placed=before.placed + threshold.placed,
                founded=before.founded + threshold.founded,
            )
        tables.thresholds[key] = threshold


def _add_pairs(tables: _Tables, source: int, pairs: Iterable[Pairs]) -> None:
    before = [tables.pairs[source]] if source in tables.pairs else []
    pieces = list(merged_streams([iter(before), iter(pairs)]))
    tables.pairs[source] = Pairs(
        np.concatenate([piece.keys for piece in pieces] or [np.zeros(0, np.int64)]),
        np.concatenate([piece.counts for piece in pieces] or [np.zeros(0, np.int64)]),
    )


def _write_texts(tables: _Tables, update: Update) -> None:
    for before in update.changes:
        tables.document_changes.setdefault((before.id, update.run), before)
    tables.documents |= update.documents
    tables.versions |= {version.id: version for version in all_versions(update)}
    tables.units |= all_units(update)
    for document, source in update.sightings:
        tables.sightings.setdefault((document, source), update.run)
    for unit, assignment in update.ended.items():
        tables.past_assignments.setdefault((unit, update.run), assignment)
    tables.rejects += [(update.run, name, reason) for name, reason in update.rejects]


def _write_domains(tables: _Tables, update: Update) -> None:
    for event in update.events.values():
        made = tables.events.get(event.id, event).run
        tables.events[event.id] = event._replace(run=made)
    for row in update.domains:
        before = tables.domains.get(row.id, row)
        tables.domains[row.id] = replace(row, lang=before.lang, run=before.run)
    tables.lineage += [
        (update.run, replace(entry, detail=_plain(entry.detail))) for entry in update.lineage
    ]
