"""Stores of every schema so far, opened by the program of the day: nothing is lost."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import ForeignStoreError
from segapsith_store import Store, codecs, migrations
from segapsith_store.digest import FORM
from segapsith_store.migrations import find_events
from segapsith_store.schema import SCHEMA
from segapsith_store.seal import FACT

FOLDER = Path(__file__).parent / "schemas"
EVERY = range(1, SCHEMA + 1)
TEXTS = ("documents", "versions", "units", "words", "domains", "assignments", "pair_runs")


def unpacked(version: int, folder: Path) -> Path:
    path = folder / "old.db"
    path.write_bytes(gzip.decompress((FOLDER / f"schema-{version}.db.gz").read_bytes()))
    return path


def plain(table: str, rows: sqlite3.Cursor) -> set[tuple[object, ...]]:
    """Rows with their words as numbers, whichever way a schema writes them."""
    columns = [name for name, *_ in rows.description]
    place = columns.index("words") if table in ("units", "domains") else None
    if place is None:
        return set(rows)
    (version,) = rows.connection.execute("PRAGMA user_version").fetchone()
    width = {"units": "<i4", "domains": "<i8"}[table]
    found = set()
    for row in rows.fetchall():
        blob = row[place]
        if version < 3:
            numbers = np.frombuffer(blob, width).reshape(3, -1).tolist()
        elif table == "units":
            numbers = [column.tolist() for column in codecs.bag_from(blob)]
        else:
            sums = codecs.domain_from(blob, 0)
            numbers = [c.tolist() for c in (sums.words, sums.occurrences, sums.weights)]
        found.add((*row[:place], str(numbers), *row[place + 1 :]))
    return found


def columns(connection: sqlite3.Connection, table: str) -> str:
    """Return the names of the columns that a table has."""
    rows = connection.execute(f"PRAGMA table_info({table})")
    return ", ".join(f'"{row[1]}"' for row in rows)


def made(path: Path) -> set[tuple[str, str, str]]:
    """What tables, indexes, views and triggers a store has, and how they are made."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            (kind, name, " ".join((sql or "").split()))
            for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master")
        }


@pytest.mark.parametrize("version", EVERY)
def test_an_old_store_has_all_its_data_and_goes_on(version: int, tmp_path: Path) -> None:
    path = unpacked(version, tmp_path)
    with closing(sqlite3.connect(path)) as old:
        assert old.execute("PRAGMA user_version").fetchone()[0] == version
        (sealed,) = old.execute("SELECT value FROM facts WHERE name = ?", [FACT]).fetchone()
        selected = {table: f"SELECT {columns(old, table)} FROM {table}" for table in TEXTS}
        rows = {table: plain(table, old.execute(selected[table])) for table in TEXTS}
    if version < SCHEMA:
        with pytest.raises(ForeignStoreError, match="any command that writes"):
            Store.reading(path)
    counts = json.loads((FOLDER / f"schema-{version}.json").read_text(encoding="utf-8"))
    derived = set()
    if version < 6:  # what was called events is lineage now; stories were placed in events
        counts["lineage"] = counts.pop("events")
        derived = {"blocks", "facts"}
    with Wire(path) as wire:
        found = {table: wire.writer.number(f"SELECT count(*) FROM {table}") for table in counts}
        assert all(found[table] == counts[table] for table in counts.keys() - derived)
        for table in TEXTS:
            now = plain(table, wire.writer._db.conn.execute(selected[table]))
            assert now == rows[table], table
        verdict = wire.verify()  # the seal among all else: the digest is that of then
        assert verdict.sound, verdict.faults
        if json.loads(sealed)["form"] == FORM:
            assert verdict.digest == json.loads(sealed)["digest"]
        wire.ingest(sample.lines("en")[20:40])
        wire.runs.undo()
        assert wire.verify().digest == verdict.digest
        wire.forget(sample.lines("en")[7]["id"])
        assert wire.verify().sound
    assert (tmp_path / f"old.db.schema-{version}.backup").exists() == (version < SCHEMA)


@pytest.mark.parametrize("version", EVERY)
def test_an_old_store_becomes_what_a_new_one_is(version: int, tmp_path: Path) -> None:
    """A table that is changed without a migration, and without a new schema, is noticed here."""
    path = unpacked(version, tmp_path)
    for store in (path, tmp_path / "new.db"):
        Store.writing(store).close()
    assert made(path) == made(tmp_path / "new.db")


def test_ready_units_of_an_old_store_have_their_words_once(tmp_path: Path) -> None:
    path = unpacked(2, tmp_path)
    with closing(sqlite3.connect(path)) as old, old:
        uid, text = old.execute(
            "SELECT d.uid, v.id FROM documents d JOIN versions v ON v.document = d.id AND"
            " v.number = d.version JOIN units u ON u.version = v.id WHERE d.duplicate_of IS NULL"
            " GROUP BY v.id HAVING count(*) = 1 AND length(v.words) = 4 * max(u.n_words) LIMIT 1"
        ).fetchone()
        # what was a text of one unit becomes what the second schema made of a ready unit
        old.execute("UPDATE versions SET title = '', body = '' WHERE id = ?", [text])
    with Wire(path) as wire:
        words, links = wire.writer.row("SELECT words, links FROM versions WHERE id = ?", [text])
        assert (words, links) == (b"", b"")
        faults = wire.verify().faults
        assert not any(fault.startswith(("word ", "a text", "domain")) for fault in faults), faults
        wire.forget(uid)
        faults = wire.verify().faults
        assert not any(fault.startswith(("word ", "a text", "domain")) for fault in faults), faults


def test_ready_units_of_an_old_store_leave_the_full_text_index(tmp_path: Path) -> None:
    path = unpacked(1, tmp_path)
    with closing(sqlite3.connect(path)) as old, old:
        document = "INSERT INTO documents (id, uid, ordinal, version, run) VALUES (999, 'ready', 999, 1, 1)"
        old.execute(document)
        old.execute(
            "INSERT INTO versions (id, document, number, hash, title, body, lang, source, metadata,"
            " signature, words, links, run) VALUES (999, 999, 1, '', '', '', 'en', '', '{}', x'',"
            " x'', x'', 1)"
        )
    Store.writing(path).close()
    with closing(sqlite3.connect(path)) as new, new:
        new.execute("INSERT INTO versions_fts (versions_fts) VALUES ('integrity-check')")
        (entered,) = new.execute("SELECT count(*) FROM versions_fts_docsize").fetchone()
        texts = "SELECT count(*) FROM versions WHERE title <> '' OR body <> ''"
        assert (entered,) == new.execute(texts).fetchone()
        new.execute("DELETE FROM versions WHERE id = 999")
        new.execute("INSERT INTO versions_fts (versions_fts) VALUES ('integrity-check')")


def test_stories_of_an_old_store_are_in_the_events_that_a_new_store_has(tmp_path: Path) -> None:
    """The stories are placed as if they had been read without corrections."""
    units = [
        {
            "id": f"u{n}",
            "date": f"2026-03-{1 + n // 4:02d}",
            "words": {"storm": 1, f"place{n // 3}": 2, f"name{n // 3}": 2, f"word{n}": 1},
        }
        for n in range(90)
    ]
    with Wire(tmp_path / "new.db") as wire:
        wire.learn(units)
        found = [
            (event.id, event.units, event.days, event.closed_by is None, event.grown)
            for event in wire.writer.events()
        ]
        digest = wire.verify().digest
    with closing(sqlite3.connect(tmp_path / "new.db")) as old, old:
        old.execute("UPDATE assignments SET event = NULL")
        old.execute("DELETE FROM events")
        old.execute("DELETE FROM facts WHERE name IN ('next_event', 'counter_day')")
        find_events(old)
    with Wire(tmp_path / "new.db") as wire:
        assert len(found) == 30
        assert {is_open for *_, is_open, _ in found} == {True, False}
        assert found == [
            (event.id, event.units, event.days, event.closed_by is None, event.grown)
            for event in wire.writer.events()
        ]
        assert wire.verify().digest == digest


def test_full_text_of_an_old_store_is_whole_and_found_after_the_migration(tmp_path: Path) -> None:
    path = unpacked(7, tmp_path)
    search = "SELECT rowid FROM versions_fts WHERE versions_fts MATCH 'the' ORDER BY rowid"
    with closing(sqlite3.connect(path)) as old:
        before = old.execute(search).fetchall()
    Store.writing(path).close()
    with closing(sqlite3.connect(path)) as new:
        assert before and new.execute(search).fetchall() == before
        assert new.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("versions", "domains"):
            new.execute(f"INSERT INTO {table}_fts ({table}_fts) VALUES ('integrity-check')")
            declared = "SELECT sql FROM sqlite_master WHERE name = ?"
            (sql,) = new.execute(declared, [f"{table}_fts"]).fetchone()
            assert f'content="{table}"' in sql


def test_stories_from_feeds_lose_the_blank_of_their_ids(tmp_path: Path) -> None:
    path = unpacked(8, tmp_path)
    former = {"https://example.org/wire tag:1 b": "https://example.org/wire#tag:1%20b"}
    former |= {"a title with blanks": "a title with blanks"}
    with closing(sqlite3.connect(path)) as old, old:
        for number, uid in enumerate(former, 1):
            old.execute("UPDATE documents SET uid = ? WHERE id = ?", [uid, number])
    with Wire(path) as wire:
        uids = [uid for (uid,) in wire.writer.rows("SELECT uid FROM documents WHERE id <= 2")]
        assert sorted(uids) == sorted(former.values())
        verdict = wire.verify()
        assert verdict.sound, verdict.faults


def test_a_new_store_is_what_sqlite_utils_would_create() -> None:
    def schema(create: Callable[[sqlite3.Connection], None]) -> tuple[list[object], list[object]]:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute("BEGIN")
            create(connection)
            tables = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
            names = connection.execute("SELECT id, migration_set, name FROM _sqlite_migrations")
            return tables.fetchall(), names.fetchall()

    assert schema(migrations._create_all) == schema(migrations._apply)


def test_texts_without_spaces_of_an_old_store_are_found(tmp_path: Path) -> None:
    path = unpacked(10, tmp_path)
    with closing(sqlite3.connect(path)) as old, old:
        old.execute("UPDATE versions SET body = ? WHERE id = 2", ["中国人民银行宣布下调利率。"])
    with Wire(path) as wire:
        assert wire.writer.number("SELECT count(*) FROM unspaced_fts") == 1
        [hit] = wire.search("银行").documents
        assert "[银行]" in hit.snippet
