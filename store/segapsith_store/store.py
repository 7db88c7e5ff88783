"""The store: everything that was learned, in one SQLite file."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.events import day_number
from segapsith.domains.threshold_control import Target, ThresholdController
from segapsith.domains.values import EventRecord
from segapsith.engine.records import (
    Assignment,
    DocumentRecord,
    DomainRecord,
    EpochRecord,
    LineageEntry,
    ReferenceRecord,
    UnitRecord,
    Update,
    VersionRecord,
)
from segapsith.engine.runs import RunLog, RunPlan, Unfinished
from segapsith.errors import StorageError, StoreCreationError
from segapsith.lexicon.cooccurrence import Pairs
from segapsith.lexicon.multiword_terms import TermCounts
from segapsith_store import codecs, pair_runs, tombstones, writing
from segapsith_store.connections import (
    MEMORY,
    TRANSLATED,
    Database,
    database_errors,
    emptying_log,
    lock,
    open_reader,
    open_writer,
    plain_errors,
    raise_plainly,
    read_only_uri,
    stop_after,
)
from segapsith_store.migrations import migrate
from segapsith_store.schema import HASH_BEGIN, hash_begin

__all__ = ["Store"]

logger = logging.getLogger(__name__)

_DOCUMENT = "id, uid, ordinal, version, duplicate_of, run"
_UNIT = (
    'u.id, u.document, u.version, u.position, u.start, u."end", u.first_word, u.n_words,'
    " u.cohesion, u.kept, u.epoch, u.words"
)
_ASSIGNMENT = "a.domain, a.score, a.runner_up, a.runner_up_score, a.run, a.event"
_HASH_BEGINS = f"SELECT hash FROM versions WHERE {hash_begin('hash')}"
_STORIES_WITH = (
    "SELECT d.id, d.uid, d.ordinal, d.version, d.duplicate_of, d.run"
    " FROM versions v INDEXED BY versions_hash"
    " JOIN documents d ON d.id = v.document AND d.version = v.number"
    # the + keeps SQLite from putting the value into the expression of the index
    f" WHERE {hash_begin('v.hash')} = ? AND +v.hash = ?"
    " AND d.duplicate_of IS NULL ORDER BY d.id"
)
_EVENT = "id, words, stories, units, days, day, grown, closed_by, run"
_DOMAIN = "id, lang, label, named, status, locked, top_words, words, units, run, grown"


LOG_LIMIT = 256 * 2**20
"""Bytes of the write-ahead log above which it is emptied after a transaction.

Then `segapsith serve` reads a new state at once: with a quarter of this, eight clients beside an
ingest had 43 answers a second instead of 50.
"""

LOG_WAIT, FORGET_WAIT = 3.0, 20.0
"""Seconds to wait for programs that read from the log: to bound it, and to forget a text."""


def _log_size(path: str) -> int:
    try:
        return os.stat(f"{path}-wal").st_size
    except OSError:  # no log, or a store in memory
        return 0


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


class Store(RunLog):
    """One open store. Use `Store.reading` or `Store.writing`; both are context managers.

    It is a `segapsith.engine.storage.Storage`. Only values go in and out; queries of this package
    use `rows`, `row`, `number` and `change`.
    """

    def __init__(self, path: str, db: Database, stack: contextlib.ExitStack) -> None:
        self.path = path
        self._db = db
        self._stack = stack
        self._log_limit = LOG_LIMIT

    @classmethod
    def reading(cls, path: str | os.PathLike[str], seconds: float | None = None) -> Store:
        """An existing store, for reading only; others may write meanwhile.

        With `seconds`, a query that still runs that long after the opening is stopped.
        """
        name = os.fspath(path)
        stack = contextlib.ExitStack()
        db = open_reader(name, seconds)
        stack.callback(db.conn.close)
        return cls(name, db, stack)

    @classmethod
    def writing(cls, path: str | os.PathLike[str], wait: float = 0.0) -> Store:
        """A store for writing, made if it is not there; holds the lock until it is closed."""
        name = os.fspath(path)
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock(name, wait))
            db = open_writer(name, wait)
            stack.callback(db.conn.close)
            store = cls(name, db, contextlib.ExitStack())
            with store._transaction():
                migrate(db.conn, store._backup_before)
            store._stack = stack.pop_all()
            return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def _backup_before(self, version: int) -> None:
        if version == 0 or self.path == MEMORY:
            return
        self._copy_to(Path(f"{self.path}.schema-{version}.backup"))

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection: sqlite3.Connection = self._db.conn
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except TRANSLATED as error:
            raise_plainly(self.path, error)
        self._bound_log()

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The answer to a question, row by row."""
        try:
            # no `yield from`: it would close the cursor of a reader that gave up, when the
            # connection may be closed already
            for row in self._db.conn.execute(sql, parameters):  # noqa: UP028
                yield row
        except TRANSLATED as error:
            raise_plainly(self.path, error)

    def chunks(
        self, sql: str, parameters: Sequence[Any], size: int
    ) -> Iterator[list[tuple[Any, ...]]]:
        """The answer to a question in lists of at most `size` rows, which is faster for many."""
        try:
            cursor = self._db.conn.execute(sql, parameters)
            while chunk := cursor.fetchmany(size):
                yield chunk
        except TRANSLATED as error:
            raise_plainly(self.path, error)

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._db.conn.execute(sql, parameters).fetchone()
        except TRANSLATED as error:
            raise_plainly(self.path, error)
        return row

    def number(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        row = self.row(sql, parameters)
        return int(row[0] or 0) if row else 0

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """One moment for several questions, whatever others write meanwhile; may be nested."""
        if self._db.conn.in_transaction:
            yield
            return
        with database_errors(self.path):
            self.freeze()
            try:
                yield
            finally:
                if self._db.conn.in_transaction:  # some errors end it
                    self._db.conn.execute("ROLLBACK")

    def freeze(self) -> None:
        """Read the present moment until the store is closed, whatever others write meanwhile."""
        with database_errors(self.path):
            self._db.conn.execute("BEGIN")
            # SQLite takes the snapshot at the first read, which may come much later
            self._db.conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()

    def stop_after(self, seconds: float) -> None:
        """Stop a query that still runs `seconds` from now."""
        stop_after(self._db.conn, seconds)

    def data_version(self) -> int:
        """Return a number that changes whenever another connection has committed."""
        return self.number("PRAGMA data_version")

    # -- what the engine starts from -------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for name, value in self.rows("SELECT * FROM facts"):
            try:
                facts[name] = json.loads(value)
            except (TypeError, ValueError) as error:
                raise StorageError(
                    f"{self.path} is damaged (fact {name!r}: {error}); take the last backup"
                ) from error
        return facts

    def words(self) -> Iterator[tuple[int, str, str, int, int]]:
        """Every word: id, language, word, documents, occurrences; by id."""
        yield from self.rows("SELECT id, lang, word, documents, occurrences FROM words ORDER BY id")

    def languages(self) -> dict[str, tuple[int, int]]:
        return {
            lang: (documents, words)
            for lang, documents, words in self.rows("SELECT lang, documents, words FROM languages")
        }

    def cohesion(self) -> dict[str, tuple[int, int]]:
        """Of each language: units, and the sum of their cohesion in fixed point."""
        return {
            lang: (units, cohesion)
            for lang, units, cohesion in self.rows("SELECT lang, units, cohesion FROM languages")
        }

    def domain(self, number: int) -> DomainRecord | None:
        """Return a domain, whatever its status and even without units."""
        row = self.row(f"SELECT {_DOMAIN} FROM domains WHERE id = ?", [number])
        return None if row is None else _domain(row)

    def domains(self) -> Iterator[DomainRecord]:
        """Yield every domain, closed ones and those without units too."""
        yield from map(_domain, self.rows(f"SELECT {_DOMAIN} FROM domains ORDER BY id"))

    def open_domains(self, lang: str | None = None) -> Iterator[DomainRecord]:
        """Yield the domains that take units and have some; of one language, or of all."""
        of_lang, parameters = ("", []) if lang is None else (" AND lang = ?", [lang])
        rows = self.rows(
            f"SELECT {_DOMAIN} FROM domains WHERE status = 'open' AND units > 0{of_lang}"
            " ORDER BY id",
            parameters,
        )
        yield from map(_domain, rows)

    def protected_domains(self) -> set[int]:
        """Return the domains that are locked or that people named."""
        return {row[0] for row in self.rows("SELECT id FROM domains WHERE locked OR named")}

    def units_taken_since(self, run: int) -> dict[int, int]:
        """Return how many present units each domain took after a run."""
        return dict(
            self.rows(
                "SELECT domain, count(*) FROM assignments WHERE run > ? GROUP BY domain", [run]
            )
        )

    def newest_stories(self, domains: Collection[int], before: int) -> dict[int, int]:
        """Return the highest ordinal below `before` of the stories with a unit in each domain."""
        return dict(
            self.rows(
                "SELECT a.domain, max(d.ordinal) FROM assignments a JOIN units u ON u.id = a.unit"
                " JOIN documents d ON d.id = u.document"
                " WHERE a.domain IN (SELECT value FROM json_each(?)) AND d.ordinal < ?"
                " GROUP BY a.domain",
                [json.dumps(sorted(domains)), before],
            )
        )

    def lineage_of(self, run: int) -> list[LineageEntry]:
        """What a run did to domains, in order."""
        return [
            LineageEntry(kind, domain, json.loads(detail))
            for kind, domain, detail in self.rows(
                "SELECT kind, domain, detail FROM lineage WHERE run = ? ORDER BY id", [run]
            )
        ]

    def event(self, number: int) -> EventRecord | None:
        """Return an event, even if it is closed or has no units."""
        row = self.row(f"SELECT {_EVENT} FROM events WHERE id = ?", [number])
        return None if row is None else _event(row)

    def events(self) -> Iterator[EventRecord]:
        """Yield every event, closed ones and those without units too."""
        yield from map(_event, self.rows(f"SELECT {_EVENT} FROM events ORDER BY id"))

    def open_events(self) -> Iterator[EventRecord]:
        """Yield the events that take stories and have some."""
        rows = self.rows(
            f"SELECT {_EVENT} FROM events WHERE closed_by IS NULL AND units > 0 ORDER BY id"
        )
        yield from map(_event, rows)

    def events_closed_by(self, run: int) -> list[int]:
        """Return the events that a run closed."""
        rows = self.rows("SELECT id FROM events WHERE closed_by = ? ORDER BY id", [run])
        return [number for (number,) in rows]

    def frozen_arrays(self, name: str) -> EpochRecord | None:
        """What the clock froze last under this name."""
        row = self.row("SELECT epoch, ordinal, arrays FROM epochs WHERE name = ?", [name])
        if row is None:
            return None
        epoch, ordinal, data = row
        return EpochRecord(epoch, ordinal, name, codecs.named_arrays_from(data))

    # -- identity --------------------------------------------------------------------------

    def n_documents(self) -> int:
        """Return how many documents there are, duplicates included."""
        return self.number("SELECT count(*) FROM documents")

    def known_uids(self, uids: Sequence[str]) -> set[str]:
        """Those of the identities that documents have."""
        return self._among("SELECT uid FROM documents WHERE uid", uids)

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        """Those of the hashes that texts have."""
        begun = [digest[:HASH_BEGIN] for digest in digests]
        return self._among(_HASH_BEGINS, begun).intersection(digests)

    def forgotten_uids(self, uids: Iterable[str]) -> set[str]:
        """Those of the identities that were forgotten and may not come back."""
        marker = self._marker()
        if marker is None:
            return set()
        hashes = {one: uid for uid in uids for one in marker.documents(uid)}
        question = "SELECT document FROM tombstones WHERE document"
        return {hashes[one] for one in self._among(question, list(hashes))}

    def forgotten_texts(self, digests: Iterable[str]) -> set[str]:
        """Those of the hashes whose texts were forgotten and may not come back."""
        marker = self._marker()
        if marker is None:
            return set()
        hashes = {marker.text(digest): digest for digest in digests}
        question = "SELECT text FROM tombstones WHERE text"
        return {hashes[one] for one in self._among(question, list(hashes))}

    def shared_tombstones(self, uids: Iterable[str]) -> int:
        """How many texts of these forgotten documents were forgotten with other documents too."""
        marker = self._marker()
        if marker is None:
            return 0
        hashes = [one for uid in uids for one in marker.documents(uid)]
        marks = ", ".join("?" * len(hashes))
        return self.number(
            f"SELECT count(DISTINCT text) FROM tombstones WHERE document IN ({marks}) AND text IN"
            f" (SELECT text FROM tombstones WHERE document NOT IN ({marks}))",
            [*hashes, *hashes],
        )

    def _marker(self) -> tombstones.Marker | None:
        """What hashes for the tombstones; none if the store never forgot anything."""
        row = self.row("SELECT value FROM facts WHERE name = ?", [tombstones.FACT])
        return None if row is None else tombstones.Marker.of(row[0])

    def _among(self, question: str, values: Sequence[Any]) -> set[Any]:
        present: set[Any] = set()
        for first in range(0, len(values), 500):
            some = values[first : first + 500]
            present.update(
                row[0] for row in self.rows(f"{question} IN ({', '.join('?' * len(some))})", some)
            )
        return present

    def document(self, uid: str) -> DocumentRecord | None:
        row = self.row(f"SELECT {_DOCUMENT} FROM documents WHERE uid = ?", [uid])
        return DocumentRecord(*row) if row else None

    def document_by_id(self, number: int) -> DocumentRecord | None:
        row = self.row(f"SELECT {_DOCUMENT} FROM documents WHERE id = ?", [number])
        return DocumentRecord(*row) if row else None

    def has_text(self, document: int, digest: str) -> bool:
        """Whether this document ever had the text with this hash."""
        return bool(
            self.row("SELECT 1 FROM versions WHERE document = ? AND hash = ?", [document, digest])
        )

    def stories_with(self, digest: str) -> list[DocumentRecord]:
        """The stories whose present text has this hash, themselves no duplicates, by id."""
        rows = self.rows(_STORIES_WITH, [digest[:HASH_BEGIN], digest])
        return [DocumentRecord(*row) for row in rows]

    def signatures(self, after: int) -> Iterator[tuple[int, int, bytes]]:
        """Document, ordinal and signature of the stories after an ordinal."""
        yield from self.rows(
            "SELECT d.id, d.ordinal, v.signature FROM documents d"
            " JOIN versions v ON v.document = d.id AND v.number = d.version"
            " WHERE d.duplicate_of IS NULL AND d.ordinal > ? AND v.signature <> x''"
            " ORDER BY d.ordinal",
            [after],
        )

    def terms(self) -> dict[str, list[tuple[str, ...]]]:
        """The accepted terms of each language, in the order of acceptance."""
        by_lang: dict[str, list[tuple[str, ...]]] = {}
        for lang, words in self.rows("SELECT lang, words FROM terms ORDER BY place"):
            by_lang.setdefault(lang, []).append(tuple(words.split(" ")))
        return by_lang

    def threshold_controller(self) -> ThresholdController | None:
        """Return the target that the threshold follows and its present state; None without one."""
        row = self.row("SELECT * FROM targets ORDER BY run DESC LIMIT 1")
        if row is None or not row[1]:
            return None
        run, target = row[0], Target(*row[1:])
        counts = "SELECT coalesce(sum(placed), 0), coalesce(sum(founded), 0) FROM thresholds"
        placed, founded = self.row(f"{counts} WHERE run > ?", [run]) or (0, 0)
        threshold, base, ordinal = self.row(
            "SELECT threshold, base, ordinal FROM thresholds WHERE run > ?"
            " ORDER BY run DESC, ordinal DESC LIMIT 1",
            [run],
        ) or (target.threshold, target.threshold, target.ordinal)
        since = self.number(
            "SELECT sum(placed) FROM thresholds WHERE run > ? AND ordinal = ?", [run, ordinal]
        )
        return ThresholdController(target, threshold, base, ordinal, since, placed, founded)

    def term_counts(self) -> dict[str, TermCounts]:
        """The counts of term candidates of each language."""
        runs: dict[str, list[dict[str, Any]]] = {}
        for lang, data in self.rows("SELECT lang, arrays FROM term_runs ORDER BY id"):
            runs.setdefault(lang, []).append(codecs.named_arrays_from(data))
        return {lang: TermCounts.restore(*arrays) for lang, arrays in runs.items()}

    def pairs(self, source: int | None = None) -> Iterator[Pairs]:
        """How often words met, in pieces by ascending key: in the stream and all reference
        corpora, or in one source."""
        with plain_errors(self.path):
            sources = pair_runs.sources(self._db.conn) if source is None else [source]
            yield from pair_runs.pieces(self._db.conn, sources)

    def pair_mark(self) -> bytes:
        """Equal for equal sums of pairs, however their runs are cut."""
        with plain_errors(self.path):
            sources = pair_runs.sources(self._db.conn)
        places = ", ".join("?" * len(sources))
        rows = self.rows(f"SELECT mark FROM pair_runs WHERE source IN ({places})", sources)
        return pair_runs.total_mark(row[0] for row in rows)

    def references(self) -> list[ReferenceRecord]:
        """The reference corpora of the network, by run and language."""
        rows = self.rows(
            "SELECT run, lang, documents, words, arrays FROM reference_corpora ORDER BY run, lang"
        )
        references = []
        for run, lang, documents, tokens, data in rows:
            named = codecs.named_arrays_from(data)
            references.append(
                ReferenceRecord(run, lang, documents, tokens, named["words"], named["occurrences"])
            )
        return references

    def sequences(self, after: int) -> Iterator[tuple[int, int, str, NDArray[np.int32]]]:
        """Document, ordinal, language and content words of the stories after an ordinal, which
        have a text."""
        if not self.number("SELECT sum(units) FROM languages"):
            return  # only pre-segmented units, and perhaps very many
        for document, ordinal, lang, words in self.rows(
            "SELECT d.id, d.ordinal, v.lang, v.words FROM documents d"
            " JOIN versions v ON v.document = d.id AND v.number = d.version"
            " WHERE d.duplicate_of IS NULL AND d.ordinal > ? AND (v.title <> '' OR v.body <> '')"
            " ORDER BY d.ordinal, d.id",
            [after],
        ):
            yield document, ordinal, lang, codecs.words_from(words)

    def duplicates_of(self, document: int) -> list[DocumentRecord]:
        return [
            DocumentRecord(*row)
            for row in self.rows(
                f"SELECT {_DOCUMENT} FROM documents WHERE duplicate_of = ? ORDER BY id", [document]
            )
        ]

    def seen(self, document: int, source: str) -> bool:
        return bool(
            self.row(
                "SELECT 1 FROM sightings WHERE document = ? AND source = ?", [document, source]
            )
        )

    def version(self, document: int, number: int) -> VersionRecord:
        row = self.row(
            f"SELECT {writing.VERSION} FROM versions WHERE document = ? AND number = ?",
            [document, number],
        )
        if row is None:
            raise StorageError(f"{self.path}: version {number} of document {document} is missing")
        return _version(row)

    def versions_of(self, document: int, after: int = 0) -> list[VersionRecord]:
        """Return the texts of a document whose version number is above `after`."""
        rows = self.rows(
            f"SELECT {writing.VERSION} FROM versions WHERE document = ? AND number > ? ORDER BY id",
            [document, after],
        )
        return [_version(row) for row in rows]

    def present_texts(self) -> Iterator[tuple[DocumentRecord, VersionRecord]]:
        """Yield every document with its present text."""
        rows = self.rows(
            f"SELECT {', '.join(f'd.{name}' for name in _DOCUMENT.split(', '))},"
            f" {', '.join(f'v.{name}' for name in writing.VERSION.split(', '))}"
            " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
            " ORDER BY d.id"
        )
        for row in rows:
            yield DocumentRecord(*row[:6]), _version(row[6:])

    def units(self, ids: Iterable[int]) -> list[UnitRecord]:
        """Return the units with these ids, as far as they exist."""
        numbers = json.dumps(sorted(ids))
        return list(self._units("u.id IN (SELECT value FROM json_each(?))", [numbers]))

    def units_of_version(self, version: int) -> list[UnitRecord]:
        """Return the units of one text."""
        return list(self._units("u.version = ?", [version]))

    def units_in(self, domains: Iterable[int]) -> list[UnitRecord]:
        """Return the units that are in one of these domains."""
        numbers = list(domains)
        return list(self._units(f"a.domain IN ({', '.join('?' * len(numbers))})", numbers))

    def units_since(self, ordinal: int) -> list[UnitRecord]:
        """Return the units with a domain, of the stories after an ordinal."""
        return list(self._units("a.unit IS NOT NULL AND d.ordinal > ?", [ordinal]))

    def units_moved_by(self, run: int) -> list[UnitRecord]:
        """Return the units with a domain whose earlier assignment a run ended."""
        moved = "SELECT unit FROM past_assignments WHERE ended_by = ?"
        return list(self._units(f"a.unit IS NOT NULL AND u.id IN ({moved})", [run]))

    def assigned_units(self) -> Iterator[UnitRecord]:
        """Yield every unit that has a domain."""
        return self._units("a.unit IS NOT NULL")

    def _units(self, where: str, parameters: Sequence[Any] = ()) -> Iterator[UnitRecord]:
        """Yield units with their assignments, by id: `u` the unit, `d` its document, `a` the
        assignment."""
        for row in self.rows(
            f"SELECT {_UNIT}, {_ASSIGNMENT} FROM units u JOIN documents d ON d.id = u.document"
            f" LEFT JOIN assignments a ON a.unit = u.id WHERE {where} ORDER BY u.id",
            parameters,
        ):
            head, blob, assignment = row[:11], row[11], row[12:]
            unit = UnitRecord(*[*head, codecs.bag_from(blob)])
            yield (
                unit if assignment[0] is None else unit._replace(assignment=Assignment(*assignment))
            )

    def documents_of(self, run: int) -> list[DocumentRecord]:
        """The documents that a run read first."""
        return [
            DocumentRecord(*row)
            for row in self.rows(f"SELECT {_DOCUMENT} FROM documents WHERE run = ?", [run])
        ]

    def past_assignments(self, ended_by: int) -> dict[int, Assignment]:
        """The assignments that a run ended, by unit."""
        return {
            row[0]: Assignment(*row[1:])
            for row in self.rows(
                f"SELECT a.unit, {_ASSIGNMENT} FROM past_assignments a WHERE a.ended_by = ?",
                [ended_by],
            )
        }

    def changes_by(self, run: int) -> list[DocumentRecord]:
        """What the documents that a run changed were before it."""
        return [
            DocumentRecord(*row)
            for row in self.rows(
                "SELECT c.document, d.uid, c.ordinal, c.version, c.duplicate_of, d.run"
                " FROM document_changes c JOIN documents d ON d.id = c.document WHERE c.run = ?",
                [run],
            )
        ]

    # -- runs ------------------------------------------------------------------------------

    def _begin_run(self, plan: RunPlan) -> int:
        """Enter a new run; one that is still marked as running was interrupted."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET status = 'interrupted', finished_at = ? WHERE status = 'running'",
                [_now()],
            )
            run = self.next_number(connection, "run")
            connection.execute(
                "INSERT INTO runs (id, command, status, started_at, name, input, settings,"
                " versions, seed) VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?)",
                [
                    run, plan.command, _now(), plan.name, plan.input_key,
                    codecs.as_json(plan.settings), codecs.as_json(plan.versions), plan.seed,
                ],
            )  # fmt: skip
        return run

    def undoable(self) -> tuple[int, str] | None:
        """The last run that changed the store and was not taken back: id and command.

        A `forget` without counts failed or was killed before its one transaction.
        """
        row = self.row(
            "SELECT id, command FROM runs WHERE status <> 'undone' AND command <> 'undo'"
            " AND NOT (command = 'forget' AND counts = '{}') ORDER BY id DESC LIMIT 1"
        )
        return (row[0], row[1]) if row else None

    def later_runs(self, run: int) -> list[tuple[int, str]]:
        """The runs after this one that still stand."""
        return [
            (number, command)
            for number, command in self.rows(
                "SELECT id, command FROM runs WHERE id > ? AND status <> 'undone'"
                " AND command <> 'undo' ORDER BY id",
                [run],
            )
        ]

    def command_and_status(self, run: int) -> tuple[str, str] | None:
        """Return command and status of a run; None if there is no such run."""
        row = self.row("SELECT command, status FROM runs WHERE id = ?", [run])
        return (row[0], row[1]) if row else None

    def _unfinished(self, command: str, input_key: str) -> Unfinished | None:
        """Return the last run if it has this command and input and did not finish."""
        row = self.row(
            "SELECT id, position, counts FROM runs WHERE id = (SELECT max(id) FROM runs)"
            " AND status IN ('running', 'interrupted') AND command = ? AND input = ?",
            [command, input_key],
        )
        return Unfinished(row[0], row[1], json.loads(row[2])) if row else None

    def _resume_run(self, run: int) -> None:
        """Mark a run as running again."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET status = 'running', finished_at = NULL WHERE id = ?", [run]
            )

    def done_run(self, command: str, input_key: str) -> int | None:
        """The last run of a command on this input that came to its end and still counts.

        A run that was killed between saving its reference corpus and its end counts too.
        """
        row = self.row(
            "SELECT max(id) FROM runs WHERE command = ? AND input = ?"
            " AND (status = 'done' OR id IN (SELECT run FROM reference_corpora))",
            [command, input_key],
        )
        return row[0] if row else None

    def _finish_run(self, run: int, status: str, counts: Mapping[str, Any] | None) -> None:
        """Mark a run as ended; None leaves its counts as they are."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET status = ?, finished_at = ?, counts = coalesce(?, counts)"
                " WHERE id = ?",
                [status, _now(), None if counts is None else codecs.as_json(counts), run],
            )

    @staticmethod
    def next_number(connection: sqlite3.Connection, what: str) -> int:
        """The next number of a kind; numbers never go back."""
        row = connection.execute(
            "SELECT value FROM facts WHERE name = ?", [f"next_{what}"]
        ).fetchone()
        number = int(row[0]) if row else 1
        connection.execute(
            "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
            [f"next_{what}", str(number + 1)],
        )
        return number

    # -- keeping ---------------------------------------------------------------------------

    def change(self, write: Callable[[sqlite3.Connection], int]) -> int:
        """One small change in a transaction of its own; how many rows it concerned."""
        with self._transaction() as connection:
            return write(connection)

    def save(self, update: Update) -> None:
        """Write everything that an update brings and changes, or nothing.

        Nothing of a forgotten text stays in the file or in the log beside it.
        """
        if update.forgotten:
            self._overwrite_deleted()
        with self._transaction() as connection:
            writing.remove(connection, update)
            writing.write(connection, update)
        if update.forgotten and not self._empty_log(FORGET_WAIT):
            logger.warning(
                "forgotten text is still in %s-wal, because another program reads the store;"
                " the next command that writes removes it when no program reads",
                self.path,
            )

    def _overwrite_deleted(self) -> None:
        """Overwrite from now on what is deleted."""
        with plain_errors(self.path):
            self._db.conn.execute("PRAGMA secure_delete = ON")

    def _bound_log(self) -> None:
        """Empty the log beside the store when it is large.

        SQLite begins it again only at a moment when nobody reads from it, which never comes while
        `segapsith serve` is asked all the time. After a failure it may grow to twice its size.
        """
        size = _log_size(self.path)
        if size > self._log_limit:
            emptied = self._empty_log(LOG_WAIT)
            self._log_limit = LOG_LIMIT if emptied else 2 * size

    def _empty_log(self, seconds: float) -> bool:
        """Write the log beside the store into it, and cut the log to nothing.

        Return False if after some seconds another program still reads an older state.
        """
        if self.path == MEMORY:
            return True
        connection = self._db.conn
        with plain_errors(self.path), emptying_log(self.path):
            (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * seconds)}")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            connection.execute(f"PRAGMA busy_timeout = {before}")
        return not busy

    def damage(self) -> list[str]:
        """Return what a quick check of the file finds wrong."""
        return [line for (line,) in self.rows("PRAGMA quick_check") if line != "ok"]

    def add_reference_pairs(self, run: int, pairs: Iterable[Pairs]) -> None:
        """Pairs of a reference corpus, in pieces by ascending key; they count when
        `save_reference` has named it."""
        with self._transaction() as connection:
            pair_runs.add(connection, pairs, run)

    def save_reference(
        self,
        new_words: Sequence[tuple[int, str, str]],
        references: Sequence[ReferenceRecord],
        facts: Mapping[str, Any],
    ) -> None:
        """From now on a reference corpus counts for the network."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO words (id, lang, word, documents, occurrences) VALUES (?, ?, ?, 0, 0)",
                new_words,
            )
            connection.executemany(
                "INSERT INTO reference_corpora (run, lang, documents, words, arrays)"
                " VALUES (?, ?, ?, ?, ?)",
                [
                    (r.run, r.lang, r.documents, r.tokens, codecs.named_arrays(
                        {"words": r.words, "occurrences": r.occurrences}
                    ))
                    for r in references
                ],
            )  # fmt: skip
            connection.executemany(
                "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
                [(name, codecs.as_json(value)) for name, value in facts.items()],
            )
            connection.execute(writing.DROP_NETWORKS)

    def drop_unnamed_pairs(self) -> None:
        """Takes away what is left of builds that never ended."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM pair_runs WHERE source <> 0"
                " AND source NOT IN (SELECT run FROM reference_corpora)"
            )

    def save_clustering(
        self, run: int, lang: str, units: Sequence[int], labels: Sequence[int]
    ) -> None:
        """Keeps a recomputed clustering under its run."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO clusterings (run, lang, units, labels) VALUES (?, ?, ?, ?)",
                [
                    run,
                    lang,
                    codecs.integers(np.asarray(units, dtype=np.int64)),
                    codecs.integers(np.asarray(labels, dtype=np.int64)),
                ],
            )

    def save_comparison(self, run: int, kind: str, lang: str, result: Mapping[str, Any]) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO comparisons (run, kind, lang, result) VALUES (?, ?, ?, ?)",
                [run, kind, lang, codecs.as_json(result)],
            )

    # -- copies ----------------------------------------------------------------------------

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy while others write; an existing file is not overwritten."""
        path = Path(target)
        if path.exists():
            raise StoreCreationError(f"{path} is there already; name a file that does not exist")
        if not path.absolute().parent.is_dir():
            raise StoreCreationError(f"{path} cannot be created: no such directory")
        self._copy_to(path)

    def _copy_to(self, path: Path) -> None:
        """Copies page by page into a file beside the target, then gives it its name."""
        partial = path.with_name(f".{path.name}.part")
        with plain_errors(str(path)):
            partial.unlink(missing_ok=True)
            descriptor = os.open(partial, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
            os.close(descriptor)
            copy = sqlite3.connect(partial, isolation_level=None)
            try:
                if self._db.conn.in_transaction:
                    source = sqlite3.connect(read_only_uri(self.path), uri=True)
                    try:
                        source.backup(copy)
                    finally:
                        source.close()
                else:
                    self._db.conn.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            except BaseException:
                copy.close()
                partial.unlink(missing_ok=True)
                raise
            copy.close()
            os.replace(partial, path)


def _domain(row: tuple[Any, ...]) -> DomainRecord:
    number, lang, label, named, status, locked, top_words, words, n_units, run, grown = row
    sums = codecs.domain_from(words, n_units)
    return DomainRecord(
        number, lang, label, bool(named), status, bool(locked), top_words, sums, run, grown
    )


def _event(row: tuple[Any, ...]) -> EventRecord:
    number, words, n_stories, units, days, *rest = row
    dated = tuple(sorted((day_number(day), n) for day, n in json.loads(days).items()))
    return EventRecord(number, codecs.domain_from(words, n_stories), units, dated, *rest)


def _version(row: tuple[Any, ...]) -> VersionRecord:
    *head, words, links, run = row
    joins = np.frombuffer(links, dtype=np.uint8)
    return VersionRecord(*[*head, codecs.words_from(words), joins, run])
