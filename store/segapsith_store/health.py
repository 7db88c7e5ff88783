"""How a store is doing: its size, its runs, its feeds. Nothing here belongs to what it knows."""

from __future__ import annotations

import os
from typing import Any

from segapsith_store.queries import subscriptions
from segapsith_store.store import Store

__all__ = ["checks", "history", "quick_faults", "sizes"]

_RUN = ("id", "command", "status", "name", "started_at", "finished_at")


def history(store: Store, limit: int = 5) -> list[dict[str, Any]]:
    """The last runs, newest first."""
    return [
        dict(zip(_RUN, row, strict=True))
        for row in store.rows(
            f"SELECT {', '.join(_RUN)} FROM runs ORDER BY id DESC LIMIT ?", [limit]
        )
    ]


def sizes(store: Store) -> dict[str, int]:
    """Bytes: of the file, of what waits in the log beside it, free inside, and for each story."""
    page = store.number("PRAGMA page_size")
    file = os.path.getsize(store.path)
    stories = store.number("SELECT count(*) FROM documents")
    return {
        "file_bytes": file,
        "wal_bytes": _size(f"{store.path}-wal"),
        "free_bytes": page * store.number("PRAGMA freelist_count"),
        "text_bytes": store.number(
            "SELECT sum(length(CAST(title AS BLOB)) + length(CAST(body AS BLOB))) FROM versions"
        ),
        "bytes_per_document": file // stories if stories else 0,
    }


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def checks(store: Store, now: str) -> dict[str, Any]:
    """The subscriptions by how they are doing, and when the next one is asked."""
    feeds = subscriptions.listed(store)
    return {
        "subscribed": len(feeds),
        "due": len(subscriptions.due(feeds, now)),
        "failing": sum(feed.failures > 0 for feed in feeds),
        "waiting": sum(subscriptions.waits(feed, now) for feed in feeds),
        "next_check_at": min((feed.next_check_at or now for feed in feeds), default=None),
    }


def quick_faults(store: Store) -> list[str]:
    """What is wrong with the file and its references; `verify` does the sums as well."""
    broken = [str(line) for (line,) in store.rows("PRAGMA quick_check(5)") if line != "ok"]
    lost = [f"{table}: a reference leads nowhere" for table, *_ in _some(store)]
    return broken + lost


def _some(store: Store) -> list[tuple[Any, ...]]:
    return list(store.rows("PRAGMA foreign_key_check"))[:5]
