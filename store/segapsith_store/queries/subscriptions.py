"""The feeds of a store: which are read, what their servers said last, when to ask again.

A feed that brings news is asked more often, one that is silent or fails more rarely; what a
server asks for (`Retry-After`) is kept between runs. Addresses that were only ingested, not
subscribed to, have a row as well, for their validators.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from segapsith.model import FeedState
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
class Feed:
    """A feed as it is kept."""

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
        hidden = ("subscribed", "etag", "last_modified")
        return {n: getattr(self, n) for n in self.__dataclass_fields__ if n not in hidden}


def moment() -> str:
    """Now, as it is kept: UTC, ISO 8601, so that moments compare as texts."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


# -- reading -------------------------------------------------------------------------------------


def listed(store: Store) -> list[Feed]:
    """The subscriptions, in the order in which they were made."""
    return [
        _feed(row)
        for row in store.rows(f"SELECT {_FEED} FROM feeds WHERE subscribed = 1 ORDER BY id")
    ]


def find(store: Store, url: str) -> Feed | None:
    """What is known about an address, subscribed to or not."""
    row = store.row(f"SELECT {_FEED} FROM feeds WHERE url = ?", [url])
    return _feed(row) if row else None


def unknown(url: str) -> Feed:
    """An address that nobody asked yet."""
    return Feed(url, "", False, None, None, None, None, None, FIRST, 0, None, "")


def due(feeds: Iterable[Feed], now: str) -> list[Feed]:
    """Those whose time has come."""
    return [f for f in feeds if (f.next_check_at or "") <= now and not waits(f, now)]


def waits(feed: Feed, now: str) -> bool:
    """Whether its server asked not to be asked yet."""
    return feed.retry_at is not None and now < feed.retry_at


def items(store: Store, prefix: str) -> int:
    """Documents whose identity begins with a feed's address and a space."""
    return store.number(
        "SELECT count(*) FROM documents WHERE uid >= ? AND uid < ?", [f"{prefix} ", f"{prefix}!"]
    )


def _feed(row: tuple[Any, ...]) -> Feed:
    url, title, subscribed, *rest = row
    return Feed(url, title, bool(subscribed), *rest)


# -- writing -------------------------------------------------------------------------------------


def add(store: Store, url: str, title: str = "") -> bool:
    """Subscribes; True if it was not subscribed to yet. A new title replaces the present one."""

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
    """Ends a subscription and takes its row out; its stories stay."""
    return bool(
        store.change(
            lambda c: c.execute("DELETE FROM feeds WHERE url = ? AND subscribed", [url]).rowcount
        )
    )


def record(store: Store, state: FeedState) -> None:
    """Keeps what a server said when there is no item to keep it with: not modified, or failed."""
    store.change(lambda c: keep(c, state, None))
