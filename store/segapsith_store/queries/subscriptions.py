"""Subscribed feeds: their addresses, the last response of their servers, the next check.

A feed that brings new stories is checked more often, a silent or failing one less often. What a
server asks for (`Retry-After`) is stored between runs. Addresses that were only ingested, without a
subscription, have a row as well, for their validators.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from segapsith.model import FeedState, Result
from segapsith_store.feed_states import FIRST, keep
from segapsith_store.store import Store

__all__ = [
    "Feed",
    "add",
    "due",
    "find",
    "listed",
    "moment",
    "record",
    "remove",
    "unknown",
]

_FEED = (
    "url, title, subscribed, etag, last_modified, checked_at, next_check_at, retry_at, interval,"
    " failures, last_new_at, error"
)


@dataclass(frozen=True, slots=True)
class Feed(Result):
    """A feed as it is stored; the JSON form leaves out validators and the subscription."""

    _HIDDEN: ClassVar = frozenset({"subscribed", "etag", "last_modified"})

    url: str
    title: str
    subscribed: bool
    etag: str | None
    last_modified: str | None
    checked_at: str | None
    next_check_at: str | None
    retry_at: str | None
    interval: int
    failures: int
    last_new_at: str | None
    error: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.keys() if name not in self._HIDDEN}


def moment() -> str:
    """Return the present time in UTC as ISO 8601, so that times compare as texts."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


# -- reading -------------------------------------------------------------------------------------


def listed(store: Store) -> list[Feed]:
    """Return the subscriptions, in the order in which they were added."""
    return [
        _feed(row)
        for row in store.rows(f"SELECT {_FEED} FROM feeds WHERE subscribed = 1 ORDER BY id")
    ]


def find(store: Store, url: str) -> Feed | None:
    """Return the row of an address, with or without a subscription; None if there is none."""
    row = store.row(f"SELECT {_FEED} FROM feeds WHERE url = ?", [url])
    return _feed(row) if row else None


def unknown(url: str) -> Feed:
    """Return the state of an address that was never checked."""
    return Feed(url, "", False, None, None, None, None, None, FIRST, 0, None, "")


def due(feeds: Iterable[Feed], now: str) -> list[Feed]:
    """Return the feeds whose next check is due at the time `now`."""
    return [f for f in feeds if (f.next_check_at or "") <= now and not waits(f, now)]


def waits(feed: Feed, now: str) -> bool:
    """Return whether the server of a feed asked for no request before a later time."""
    return feed.retry_at is not None and now < feed.retry_at


def items(store: Store, prefix: str) -> int:
    """Count the documents whose id begins with the address of a feed and "#"."""
    return store.number(
        "SELECT count(*) FROM documents WHERE uid >= ? AND uid < ?", [f"{prefix}#", f"{prefix}$"]
    )


def _feed(row: tuple[Any, ...]) -> Feed:
    url, title, subscribed, *rest = row
    return Feed(url, title, bool(subscribed), *rest)


# -- writing -------------------------------------------------------------------------------------


def add(store: Store, url: str, title: str = "") -> bool:
    """Subscribe to a feed; return True if it is a new subscription. A title replaces the old one."""

    def write(c: sqlite3.Connection) -> int:
        present = c.execute("SELECT subscribed FROM feeds WHERE url = ?", [url]).fetchone()
        c.execute(
            "INSERT INTO feeds (url, title, subscribed, interval) VALUES (?, ?, 1, ?)"
            " ON CONFLICT (url) DO UPDATE SET subscribed = 1,"
            " title = CASE WHEN excluded.title = '' THEN title ELSE excluded.title END",
            [url, title, FIRST],
        )
        return int(present is None or not present[0])

    return bool(store.change(write))


def remove(store: Store, url: str) -> bool:
    """End a subscription and delete its row; return True if there was one. Its stories remain."""
    return bool(
        store.change(
            lambda c: c.execute("DELETE FROM feeds WHERE url = ? AND subscribed", [url]).rowcount
        )
    )


def record(store: Store, state: FeedState) -> None:
    """Store a response without items: not modified, or failed."""
    store.change(lambda c: keep(c, state, None))
