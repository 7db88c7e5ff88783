"""The queue of notifications: what a night reports, to whom, and whether it was sent.

A notification is queued in the transaction that stores the record of its night. It is marked before
it is sent. A program that is stopped in between cannot know whether it arrived, so it is not sent
again. What was sent is kept without its text, so that it is never queued again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from segapsith.model import Notice, Result
from segapsith_store.codecs import as_json
from segapsith_store.store import Store

__all__ = [
    "Backlog",
    "Queued",
    "Waiting",
    "backlog",
    "begin_sending",
    "drop",
    "end_sending",
    "give_up_interrupted",
    "new_groups",
    "queue",
    "waiting",
]

INTERRUPTED = "the program was stopped while this was sent; it may have arrived"


@dataclass(frozen=True, slots=True)
class Queued:
    """A notice for a target, to be queued."""

    target: str
    notice: Notice


@dataclass(frozen=True, slots=True)
class Waiting:
    """A notice in the queue."""

    id: int
    notice: Notice


@dataclass(frozen=True, slots=True)
class Backlog(Result):
    """What a target was not sent: how many, how often tried, since when, and the last error."""

    target: str
    status: str
    """`waiting`: sent again the next time; `uncertain`: it may have arrived and is not sent again."""
    notices: int
    attempts: int
    since: str
    error: str


def queue(connection: sqlite3.Connection, entries: Iterable[Queued]) -> None:
    """Queue notices in the caller's transaction; what a target was sent or has waiting is ignored."""
    connection.executemany(
        "INSERT OR IGNORE INTO notifications (target, key, notice, created_at) VALUES (?, ?, ?, ?)",
        [
            (entry.target, entry.notice.key, as_json(entry.notice.as_json()), entry.notice.at)
            for entry in entries
        ],
    )


def waiting(store: Store, target: str, most: int) -> list[Waiting]:
    """Return the oldest notices that wait for a target."""
    return [
        Waiting(number, Notice(**json.loads(notice)))
        for number, notice in store.rows(
            "SELECT id, notice FROM notifications WHERE target = ? AND status = 'waiting'"
            " ORDER BY id LIMIT ?",
            [target, most],
        )
    ]


def begin_sending(store: Store, numbers: Sequence[int]) -> None:
    """Mark notices before they are sent."""
    store.change(
        lambda c: (
            c.executemany(
                "UPDATE notifications SET status = 'sending', attempts = attempts + 1 WHERE id = ?",
                [(number,) for number in numbers],
            ).rowcount
        )
    )


def end_sending(
    store: Store, numbers: Sequence[int], status: str, *, at: str | None = None, error: str = ""
) -> None:
    """Mark notices as `sent`, which deletes their texts, or as `waiting` or `uncertain`."""
    text = "'{}'" if status == "sent" else "notice"
    store.change(
        lambda c: (
            c.executemany(
                f"UPDATE notifications SET status = ?, sent_at = ?, error = ?, notice = {text}"
                " WHERE id = ?",
                [(status, at, error, number) for number in numbers],
            ).rowcount
        )
    )


def give_up_interrupted(store: Store) -> int:
    """Mark what was being sent when the program was stopped; return the number of notices."""
    return store.change(
        lambda c: (
            c.execute(
                "UPDATE notifications SET status = 'uncertain', error = ? WHERE status = 'sending'",
                [INTERRUPTED],
            ).rowcount
        )
    )


def backlog(store: Store) -> list[Backlog]:
    """Return what was not sent, by target and status."""
    return [
        Backlog(*row)
        for row in store.rows(
            "SELECT target, status, count(*), max(attempts), min(created_at), max(error)"
            " FROM notifications WHERE status <> 'sent' GROUP BY target, status"
            " ORDER BY target, status"
        )
    ]


def drop(store: Store, target: str | None = None) -> int:
    """Discard what was not sent, of one target or of all; it is not queued again."""
    return store.change(
        lambda c: (
            c.execute(
                "UPDATE notifications SET status = 'sent', notice = '{}', error = 'discarded'"
                " WHERE status <> 'sent' AND (target = ? OR ?)",
                [target, target is None],
            ).rowcount
        )
    )


def new_groups(store: Store, table: str, after: int) -> list[int]:
    """Return the topics or sections that runs after a run made."""
    assert table in ("topics", "sections")
    rows = store.rows(f"SELECT id FROM {table} WHERE run > ? ORDER BY id", [after])
    return [number for (number,) in rows]
