"""Migrations: from an empty file, or an older schema, to the present schema.

`PRAGMA user_version` counts the migrations of a store; sqlite-utils records their names. A new
migration goes to the end of `MIGRATIONS`, and `schema.SCHEMA` is its number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import groupby

import numpy as np

from segapsith.domains.events import EventIndex, day_number, next_day
from segapsith.domains.values import Bag, DomainWords, Story
from segapsith.engine import clock
from segapsith.intake.feed_ids import of_former_uid
from segapsith_store import codecs
from segapsith_store.schema import (
    APPLICATION_ID,
    BLOCK,
    BLOCKED,
    DROPPED,
    FTS,
    SCHEMA,
    TABLES,
    UNSPACED,
    VIEWS,
    hash_begin,
)
from segapsith_store.writing import write_events, write_unspaced

__all__ = ["MIGRATIONS", "find_events", "migrate"]

_MIGRATION_SET = "segapsith"

_MIGRATIONS_TABLE = (
    """CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
)""",
    """CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name")""",
)
"""What sqlite-utils creates to record migrations."""


def migrate(connection: sqlite3.Connection, before: Callable[[int], None]) -> None:
    """Bring a store to the present schema, in the transaction that the caller has begun.

    `before` is called with the schema of the store if anything is to be changed.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == SCHEMA:
        return
    before(version)
    has_tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    (_apply if has_tables else _create_all)(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _apply(connection: sqlite3.Connection) -> None:
    """Apply the migrations that a store does not have yet."""
    # Imported here because it imports pandas where that is installed, which takes longer than
    # everything else at start-up, and most commands find the present schema.
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    migrations = Migrations(_MIGRATION_SET)
    for name, change in MIGRATIONS.items():
        migrations(name=name)(lambda db, change=change: change(db.conn))
    migrations.apply(Database(connection, execute_plugins=False, recursive_triggers=False))


def _create_all(connection: sqlite3.Connection) -> None:
    """Apply all migrations to an empty file, and record them as sqlite-utils does, without it."""
    for statement in _MIGRATIONS_TABLE:
        connection.execute(statement)
    for name, change in MIGRATIONS.items():
        change(connection)
        connection.execute(
            'INSERT INTO "_sqlite_migrations" (migration_set, name, applied_at) VALUES (?, ?, ?)',
            [_MIGRATION_SET, name, str(datetime.now(UTC))],
        )


def create_tables(connection: sqlite3.Connection) -> None:
    """Create every table and view of schema 1."""
    _create(connection, 1)
    for statement in FTS:
        connection.execute(statement)


def add_block_hashes(connection: sqlite3.Connection) -> None:
    """Store hashes of rows, so that the digest costs only what has changed; add targets; take
    units without text out of the full-text index; drop two indexes.

    Triggers on update and delete remove the hash of a block. For new rows the store does that
    itself: a trigger on insert, even an empty one, makes SQLite journal every single statement.
    """
    _create(connection, 2)
    for table in ("documents", "versions", "units", "assignments"):
        _delete_changed_blocks(connection, table)
    connection.execute('DROP TRIGGER "versions_enter"')
    connection.execute('DROP TRIGGER "versions_leave"')
    connection.execute(
        'INSERT INTO "versions_fts" ("versions_fts", rowid, title, body)'
        " SELECT 'delete', id, title, body FROM versions WHERE title = '' AND body = ''"
    )
    connection.execute(
        'CREATE TRIGGER "versions_leave" AFTER DELETE ON "versions"'
        " WHEN old.title <> '' OR old.body <> '' BEGIN"
        ' INSERT INTO "versions_fts" ("versions_fts", rowid, title, body)'
        " VALUES ('delete', old.id, old.title, old.body); END"
    )
    for index in DROPPED:
        connection.execute(f'DROP INDEX "{index}"')


def shorten_words(connection: sqlite3.Connection) -> None:
    """Write the words of units and domains with as few bytes as their numbers need, store the
    words of pre-segmented units once, and index only the beginning of a text's hash."""
    connection.create_function("as_bag", 1, _bag_of_schema_2)
    connection.create_function("as_domain", 1, _domain_of_schema_2)
    connection.execute("UPDATE units SET words = as_bag(words)")
    connection.execute("UPDATE domains SET words = as_domain(words)")
    connection.execute(
        "UPDATE versions SET words = x'', links = x'' WHERE title = '' AND body = ''"
    )
    connection.execute('DROP INDEX "versions_hash"')
    connection.execute(f'CREATE INDEX "versions_hash" ON "versions" ({hash_begin("hash")})')


def add_tombstones(connection: sqlite3.Connection) -> None:
    """Add the table of forgotten documents, by which a later delivery of one is refused."""
    _create(connection, 4)


def add_sections(connection: sqlite3.Connection) -> None:
    """Add the tables of sections."""
    _create(connection, 5)


def add_events(connection: sqlite3.Connection) -> None:
    """Add events, and find those of the stories that are there.

    The table `events` of earlier schemas becomes `lineage`. Stories are placed in the order of
    their ordinals with the default settings, as if they had been read without corrections.
    """
    connection.execute('ALTER TABLE "events" RENAME TO "lineage"')
    for column in ("domain", "run"):
        connection.execute(f'DROP INDEX "events_{column}"')
        connection.execute(f'CREATE INDEX "lineage_{column}" ON "lineage" ("{column}")')
    _create(connection, 6)
    _delete_changed_blocks(connection, "events")
    for table in ("assignments", "past_assignments"):
        connection.execute(
            f'ALTER TABLE "{table}" ADD COLUMN "event" INTEGER REFERENCES events(id)'
        )
    connection.execute('CREATE INDEX "assignments_event" ON "assignments" ("event")')
    find_events(connection)


def add_labels(connection: sqlite3.Connection) -> None:
    """Add the tables of labels, and have the label of every domain computed."""
    _create(connection, 7)
    connection.execute("INSERT INTO unlabelled (domain) SELECT id FROM domains")


def quote_full_text(connection: sqlite3.Connection) -> None:
    """Quote the tables of the full-text indexes as Datasette and sqlite-utils look for them.

    Only the text of the declaration changes. An index made again would have to read every text.
    """
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    for table in ("versions", "domains"):
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?",
            [f"content='{table}'", f'content="{table}"', f"{table}_fts"],
        )
    connection.execute(f"PRAGMA schema_version = {version + 1}")  # others read the schema again
    connection.execute("PRAGMA writable_schema = RESET")


def join_feed_ids(connection: sqlite3.Connection) -> None:
    """Give stories from feeds ids without blanks: `ADDRESS#GUID` instead of `ADDRESS GUID`.

    The digest covers ids, so the seal of a store with such stories ends.
    """
    connection.create_function("new_uid", 1, of_former_uid, deterministic=True)
    changed = connection.execute(
        "UPDATE OR IGNORE documents SET uid = new_uid(uid) WHERE uid LIKE 'http%' AND uid <> new_uid(uid)"
    ).rowcount
    if changed:
        connection.execute("DELETE FROM facts WHERE name = 'seal'")


def add_notifications(connection: sqlite3.Connection) -> None:
    """Add the queue of notifications, columns by which Datasette searches views, a view of events."""
    _create(connection, 10)
    for view in VIEWS:
        connection.execute(f'DROP VIEW IF EXISTS "{view.name}"')
        connection.execute(f'CREATE VIEW "{view.name}" AS {view.sql}')


def index_unspaced(connection: sqlite3.Connection) -> None:
    """Add the full-text index of texts without spaces between words, and enter those texts."""
    for statement in UNSPACED:
        connection.execute(statement)
    texts = connection.execute(
        "SELECT id, title, body FROM versions WHERE title <> '' OR body <> ''"
    )
    while rows := texts.fetchmany(BLOCK):
        write_unspaced(connection, rows)


MIGRATIONS: dict[str, Callable[[sqlite3.Connection], None]] = {
    "first_house": create_tables,
    "second_house": add_block_hashes,
    "third_house": shorten_words,
    "fourth_house": add_tombstones,
    "sections": add_sections,
    "events": add_events,
    "labels": add_labels,
    "datasette": quote_full_text,
    "feed_ids": join_feed_ids,
    "notifications": add_notifications,
    "unspaced": index_unspaced,
}
"""In order, under the names that stores have recorded: a name must never change."""


def find_events(connection: sqlite3.Connection) -> None:
    """Place the stories of a store in events, by ordinal."""
    index, day, waiting = EventIndex(), 0, list[tuple[Story, list[int], int]]()

    def place() -> None:
        if not waiting:
            return
        events = index.place_all([story for story, _, _ in waiting], day=day, run=waiting[0][2])
        write_events(connection, index.records(sorted(set(events))))
        connection.executemany(
            "UPDATE assignments SET event = ? WHERE unit = ?",
            [
                (event, unit)
                for event, (_, units, _) in zip(events, waiting, strict=True)
                for unit in units
            ],
        )
        waiting.clear()

    def close(ordinal: int, run: int) -> None:
        place()
        closed = index.close_quiet(day=day, ordinal=ordinal, run=run)
        write_events(connection, index.records(closed))
        index.drop(closed)

    for story, units, run in _stories(connection):
        if waiting and (len(waiting) >= BLOCK or waiting[-1][2] != run):
            place()
        if (today := next_day(day, story.day)) != day:
            place()
            day = today
            close(story.ordinal, run)
        waiting.append((story, units, run))
        if clock.ticks(story.ordinal):
            close(story.ordinal, run)
    place()
    for name, value in (("next_event", index.next_event), ("counter_day", day)):
        connection.execute("INSERT INTO facts (name, value) VALUES (?, ?)", [name, str(value)])


def _stories(connection: sqlite3.Connection) -> Iterator[tuple[Story, list[int], int]]:
    """Yield the stories that are learned from, with their units and runs, by ordinal."""
    rows = connection.execute(
        "SELECT d.id, d.ordinal, d.run, v.date, u.id, u.words FROM documents d"
        " JOIN versions v ON v.document = d.id AND v.number = d.version"
        " JOIN units u ON u.version = v.id JOIN assignments a ON a.unit = u.id"
        " ORDER BY d.ordinal, d.id, u.id"
    )
    for (_, ordinal, run, date), group in groupby(rows, key=lambda row: row[:4]):
        units = list(group)
        bags = [codecs.bag_from(row[5]) for row in units]
        yield Story(bags, day_number(date), ordinal or 0), [row[4] for row in units], run


def _bag_of_schema_2(data: bytes) -> codecs.Buffer:
    """Return the words of a unit in the present layout; schema 2 had all values as int32."""
    return next(codecs.bags_bytes([Bag(*np.frombuffer(data, "<i4").reshape(3, -1))]))


def _domain_of_schema_2(data: bytes) -> codecs.Buffer:
    """Return the words of a domain in the present layout; schema 2 had all values as int64."""
    words, occurrences, weights = np.frombuffer(data, "<i8").reshape(3, -1)
    return next(
        codecs.domains_bytes([DomainWords(words.astype(np.int32), occurrences, weights, 0)])
    )


def _create(connection: sqlite3.Connection, since: int) -> None:
    for table in TABLES:
        if table.since == since:
            connection.execute(table.sql)
            name = table.first_name or table.name
            for columns in table.indexes:
                connection.execute(f'CREATE INDEX "{name}_{columns}" ON "{name}" ("{columns}")')


def _delete_changed_blocks(connection: sqlite3.Connection, table: str) -> None:
    """Let triggers delete the hash of a block when one of its rows changes or goes."""
    for event in ("UPDATE", "DELETE"):
        connection.execute(
            f'CREATE TRIGGER "{table}_block_{event.lower()}" AFTER {event} ON "{table}" BEGIN'
            f" DELETE FROM blocks WHERE part = '{table}' AND number = old.{BLOCKED[table]} / {BLOCK};"
            " END"
        )
