"""Tombstones recognise what was forgotten without storing it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from segapsith.engine.records import Update
from segapsith_store import tombstones
from segapsith_store.tombstones import FACT, HASH_BYTES, Marker


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT)")
    made.execute(
        "CREATE TABLE tombstones (document BLOB, text BLOB, run INTEGER, UNIQUE (document, text))"
    )
    return made


def _marker(connection: sqlite3.Connection) -> Marker:
    (fact,) = connection.execute("SELECT value FROM facts WHERE name = ?", [FACT]).fetchone()
    return Marker.of(fact)


def _rows(connection: sqlite3.Connection) -> list[tuple[bytes, bytes, int]]:
    return connection.execute("SELECT document, text, run FROM tombstones").fetchall()


def test_a_forgotten_text_is_recognised_by_hashes_alone(connection: sqlite3.Connection) -> None:
    tombstones.write(connection, Update(run=3, forgotten=[("en-001", "abc")]))
    marker = _marker(connection)
    assert _rows(connection) == [(marker.document("en-001"), marker.text("abc"), 3)]
    assert len(marker.document("en-001")) == HASH_BYTES
    assert b"en-001" not in b"".join(_rows(connection)[0][:2])


def test_a_store_that_never_forgot_has_no_salt(connection: sqlite3.Connection) -> None:
    tombstones.write(connection, Update(run=1))
    assert connection.execute("SELECT count(*) FROM facts").fetchone() == (0,)


def test_the_salt_stays_and_the_same_text_has_one_tombstone(connection: sqlite3.Connection) -> None:
    for run in (1, 2):
        tombstones.write(connection, Update(run=run, forgotten=[("a", "x")]))
    assert [run for _, _, run in _rows(connection)] == [1]


def test_a_document_that_is_allowed_again_loses_all_its_tombstones(
    connection: sqlite3.Connection,
) -> None:
    gone = [("a", "x"), ("a", "y"), ("b", "x")]
    tombstones.write(connection, Update(run=1, forgotten=gone))
    tombstones.write(connection, Update(run=2, allowed_again=["a"]))
    assert [document for document, _, _ in _rows(connection)] == [_marker(connection).document("b")]


def test_tombstones_of_two_stores_cannot_be_compared() -> None:
    one, other = Marker(b"1" * HASH_BYTES), Marker(b"2" * HASH_BYTES)
    assert one.document("a") != other.document("a")
    assert one.document("a") != one.text("a")
    assert Marker.of(json.dumps(one.salt.hex())) == one
