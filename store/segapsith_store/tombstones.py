"""Tombstones: a forgotten document is recognised when it is delivered again, and refused.

A tombstone holds keyed hashes of the document's id and of the hash of each of its texts, never the
id or a text. The key is a random salt of the store (a fact), so that tombstones of two stores cannot
be compared. The owner of a store can test whether a given id or text was forgotten, not list them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from dataclasses import dataclass

from segapsith.engine.records import Update
from segapsith.intake.feed_ids import former_uids
from segapsith_store.codecs import as_json

__all__ = ["FACT", "HASH_BYTES", "Marker", "write"]

FACT = "tombstone_salt"
"""Name of the fact that holds the salt, in hexadecimal; a store that never forgot has none."""

HASH_BYTES = 32
"""Bytes of the salt and of every hash."""


@dataclass(frozen=True, slots=True)
class Marker:
    """The keyed hashes of one store."""

    salt: bytes

    @classmethod
    def of(cls, fact: str) -> Marker:
        """Return the marker of a salt as the fact holds it."""
        return cls(bytes.fromhex(json.loads(fact)))

    def document(self, uid: str) -> bytes:
        """Return the hash of an id."""
        return self._hash(b"document", uid)

    def documents(self, uid: str) -> list[bytes]:
        """Return the hashes of an id and of the ids that the document may have had before.

        Ids of feed items had another form, and a hash cannot be migrated.
        """
        return [self.document(form) for form in (uid, *former_uids(uid))]

    def text(self, digest: str) -> bytes:
        """Return the hash of a text, given the hash of its normal form."""
        return self._hash(b"text", digest)

    def _hash(self, kind: bytes, value: str) -> bytes:
        return hashlib.blake2b(
            value.encode("utf-8", "replace"),
            digest_size=HASH_BYTES,
            key=self.salt,
            person=kind,
        ).digest()


def write(c: sqlite3.Connection, update: Update) -> None:
    """Insert the tombstones of a batch, and delete those of documents that are allowed again."""
    if not update.forgotten and not update.allowed_again:
        return
    marker = _marker(c)
    c.executemany(
        "INSERT OR IGNORE INTO tombstones (document, text, run) VALUES (?, ?, ?)",
        [
            (marker.document(uid), marker.text(digest), update.run)
            for uid, digest in update.forgotten
        ],
    )
    c.executemany(
        "DELETE FROM tombstones WHERE document = ?",
        [(one,) for uid in update.allowed_again for one in marker.documents(uid)],
    )


def _marker(c: sqlite3.Connection) -> Marker:
    """Return the marker of the store; the first call creates its salt."""
    row = c.execute("SELECT value FROM facts WHERE name = ?", [FACT]).fetchone()
    if row is not None:
        return Marker.of(row[0])
    salt = secrets.token_bytes(HASH_BYTES)
    c.execute("INSERT INTO facts (name, value) VALUES (?, ?)", [FACT, as_json(salt.hex())])
    return Marker(salt)
