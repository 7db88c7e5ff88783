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
from typing import TYPE_CHECKING, Any

from segapsith.records import FeedState

if TYPE_CHECKING:
    from segapsith_store.store import Store

__all__ = [
    "Feed",
    "add",
    "ask_again",
    "due",
    "find",
    "keep",
    "later",
    "listed",
    "moment",
    "record",
    "remove",
    "unknown",
]

FIRST, SHORTEST, LONGEST = 3_600, 900, 12 * 3_600
"""Seconds between two checks. The longest is half a day, so that a nightly run finds all due."""

LONGEST_WAIT = 7 * 24 * 3_600
"""Seconds that a server may ask for; longer wishes are cut to this."""

MAX_ERROR_CHARS = 500

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


def later(when: str, seconds: int) -> str:
    """A moment so many seconds after another.

    >>> later("2026-03-02T23:59:30+00:00", 60)
    '2026-03-03T00:00:30+00:00'
    """
    return (datetime.datetime.fromisoformat(when) + datetime.timedelta(seconds=seconds)).isoformat(
        timespec="seconds"
    )


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


def keep(c: sqlite3.Connection, state: FeedState, run: int | None) -> int:
    """Keeps what a server said, inside the transaction of the batch that has the items.

    A failure of an address that nobody subscribed to leaves a trace only if its server asked to
    be left alone.
    """
    row = c.execute("SELECT interval, failures FROM feeds WHERE url = ?", [state.url]).fetchone()
    if row is None and state.error and state.retry_after is None:
        return 0
    c.execute("INSERT OR IGNORE INTO feeds (url, interval) VALUES (?, ?)", [state.url, FIRST])
    interval, failures = row or (FIRST, 0)
    return (
        _keep_failure(c, state, interval, failures + 1)
        if state.error
        else _keep_success(c, state, interval, run)
    )


def _keep_success(c: sqlite3.Connection, state: FeedState, interval: int, run: int | None) -> int:
    now = state.checked_at
    interval = _interval(interval, state.new)
    return c.execute(
        "UPDATE feeds SET etag = ?, last_modified = ?, checked_at = ?, next_check_at = ?,"
        " retry_at = NULL, interval = ?, failures = 0, error = '', run = coalesce(?, run),"
        " last_new_at = CASE WHEN ? THEN ? ELSE last_new_at END WHERE url = ?",
        [
            state.etag, state.last_modified, now, later(now, interval), interval, run,
            state.new > 0, now, state.url,
        ],
    ).rowcount  # fmt: skip


def _keep_failure(c: sqlite3.Connection, state: FeedState, interval: int, failures: int) -> int:
    now = state.checked_at
    wished = None if state.retry_after is None else min(state.retry_after, LONGEST_WAIT)
    pause = max(wished or 0, min(LONGEST, interval * 2 ** min(failures, 10)))
    return c.execute(
        "UPDATE feeds SET checked_at = ?, next_check_at = ?, retry_at = ?, failures = ?,"
        " error = ? WHERE url = ?",
        [
            now, later(now, pause), None if wished is None else later(now, wished), failures,
            state.error[:MAX_ERROR_CHARS], state.url,
        ],
    ).rowcount  # fmt: skip


def _interval(before: int, new: int) -> int:
    """Half as long after news, half as long again after none.

    >>> _interval(3600, 4), _interval(3600, 0), _interval(900, 1), _interval(40000, 0)
    (1800, 5400, 900, 43200)
    """
    return max(SHORTEST, before // 2) if new else min(LONGEST, before * 3 // 2)


def ask_again(c: sqlite3.Connection, run: int) -> None:
    """A run is undone: the bodies that it stored are no longer there, so they are wanted again."""
    c.execute(
        "UPDATE feeds SET etag = NULL, last_modified = NULL, next_check_at = NULL, run = NULL"
        " WHERE run = ?",
        [run],
    )
