"""The condition of a store file: its size, its last runs, its feeds. None of it is in the digest."""

from __future__ import annotations

import os
from dataclasses import dataclass

from segapsith.model import Result
from segapsith_store.queries import subscriptions
from segapsith_store.store import Store

__all__ = ["FeedCounts", "RunSummary", "Sizes", "checks", "history", "quick_faults", "sizes"]

SHOWN = 5
"""Faults of a kind that are listed."""


@dataclass(frozen=True, slots=True)
class RunSummary(Result):
    """A run without its settings and counts."""

    id: int
    command: str
    status: str
    name: str
    started_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True)
class Sizes(Result):
    """Bytes of a store."""

    file_bytes: int
    wal_bytes: int
    """In the write-ahead log beside the file."""
    free_bytes: int
    """Unused inside the file."""
    text_bytes: int
    bytes_per_document: int


@dataclass(frozen=True, slots=True)
class FeedCounts(Result):
    """The subscriptions by state, and the time of the next check."""

    subscribed: int
    due: int
    failing: int
    waiting: int
    next_check_at: str | None


def history(store: Store, limit: int = 5) -> list[RunSummary]:
    """Return the last runs, newest first."""
    return [
        RunSummary(*row)
        for row in store.rows(
            "SELECT id, command, status, name, started_at, finished_at FROM runs"
            " ORDER BY id DESC LIMIT ?",
            [limit],
        )
    ]


def sizes(store: Store) -> Sizes:
    """Return the bytes of the file, of its log and of its texts."""
    with store.frozen():
        n_documents = store.number("SELECT count(*) FROM documents")
        file_bytes = os.path.getsize(store.path)
        return Sizes(
            file_bytes=file_bytes,
            wal_bytes=_size(f"{store.path}-wal"),
            free_bytes=store.number("PRAGMA page_size") * store.number("PRAGMA freelist_count"),
            text_bytes=store.number(
                "SELECT sum(length(CAST(title AS BLOB)) + length(CAST(body AS BLOB))) FROM versions"
            ),
            bytes_per_document=file_bytes // n_documents if n_documents else 0,
        )


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def checks(store: Store, now: str) -> FeedCounts:
    """Count the subscriptions by state at the time `now`."""
    feeds = subscriptions.listed(store)
    return FeedCounts(
        subscribed=len(feeds),
        due=len(subscriptions.due(feeds, now)),
        failing=sum(feed.failures > 0 for feed in feeds),
        waiting=sum(subscriptions.waits(feed, now) for feed in feeds),
        next_check_at=min((feed.next_check_at or now for feed in feeds), default=None),
    )


def quick_faults(store: Store) -> list[str]:
    """Return faults of the file and its references; `verify` checks the sums as well."""
    with store.frozen():
        pages = store.rows(f"PRAGMA quick_check({SHOWN})")
        broken = [str(line) for (line,) in pages if line != "ok"]
        references = list(store.rows("PRAGMA foreign_key_check"))[:SHOWN]
    return broken + [f"{table}: a reference leads nowhere" for table, *_ in references]
