"""Migrations: from an empty file, or an older schema, to the present schema.

`PRAGMA user_version` counts the migrations of a store; sqlite-utils records their names. A new
migration goes to the end of `MIGRATIONS`, and `schema.SCHEMA` is its number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import numpy as np

from segapsith.domains.values import Bag, DomainWords
from segapsith_store import codecs
from segapsith_store.schema import (
    APPLICATION_ID,
    BLOCK,
    BLOCKED,
    DROPPED,
    FTS,
    SCHEMA,
    TABLES,
    VIEWS,
    hash_begin,
)

__all__ = ["MIGRATIONS", "migrate"]


def migrate(connection: sqlite3.Connection, before: Callable[[int], None]) -> None:
    """Bring a store to the present schema, in the transaction that the caller has begun.

    `before` is called with the schema of the store if anything is to be changed.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == SCHEMA:
        return
    before(version)
    # Imported here because it imports pandas where that is installed, which takes longer than
    # everything else at start-up, and most commands find the present schema.
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    migrations = Migrations("segapsith")
    for name, change in MIGRATIONS.items():
        migrations(name=name)(lambda db, change=change: change(db.conn))
    migrations.apply(Database(connection, execute_plugins=False, recursive_triggers=False))
    connection.execute(f"PRAGMA user_version = {SCHEMA}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def create_tables(connection: sqlite3.Connection) -> None:
    """Create every table and view of schema 1."""
    _create(connection, 1)
    for statement in FTS:
        connection.execute(statement)
    for view in VIEWS:
        connection.execute(f'CREATE VIEW "{view.name}" AS {view.sql}')


def add_block_hashes(connection: sqlite3.Connection) -> None:
    """Store hashes of rows, so that the digest costs only what has changed; add targets; take
    units without text out of the full-text index; drop two indexes.

    Triggers on update and delete remove the hash of a block. For new rows the store does that
    itself: a trigger on insert, even an empty one, makes SQLite journal every single statement.
    """
    _create(connection, 2)
    for table, key in BLOCKED.items():
        for event in ("UPDATE", "DELETE"):
            connection.execute(
                f'CREATE TRIGGER "{table}_block_{event.lower()}" AFTER {event} ON "{table}" BEGIN'
                f" DELETE FROM blocks WHERE part = '{table}' AND number = old.{key} / {BLOCK};"
                " END"
            )
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


MIGRATIONS: dict[str, Callable[[sqlite3.Connection], None]] = {
    "first_house": create_tables,
    "second_house": add_block_hashes,
    "third_house": shorten_words,
    "fourth_house": add_tombstones,
    "sections": add_sections,
}
"""In order, under the names that stores have recorded: a name must never change."""


def _bag_of_schema_2(data: bytes) -> codecs.Buffer:
    """Return the words of a unit in the present layout; schema 2 had all values as int32."""
    return codecs.bags_bytes([Bag(*np.frombuffer(data, "<i4").reshape(3, -1))])[0]


def _domain_of_schema_2(data: bytes) -> codecs.Buffer:
    """Return the words of a domain in the present layout; schema 2 had all values as int64."""
    words, occurrences, weights = np.frombuffer(data, "<i8").reshape(3, -1)
    return codecs.domains_bytes([DomainWords(words.astype(np.int32), occurrences, weights, 0)])[0]


def _create(connection: sqlite3.Connection, since: int) -> None:
    for table in TABLES:
        if table.since == since:
            connection.execute(table.sql)
            for columns in table.indexes:
                connection.execute(
                    f'CREATE INDEX "{table.name}_{columns}" ON "{table.name}" ("{columns}")'
                )
