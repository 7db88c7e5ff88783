"""The last response of a feed's server and the time of the next check, stored with a batch."""

from __future__ import annotations

import datetime
import sqlite3

from segapsith.model import FeedState

__all__ = [
    "FIRST",
    "LONGEST",
    "LONGEST_WAIT",
    "MAX_ERROR_CHARS",
    "SHORTEST",
    "ask_again",
    "keep",
    "later",
]

FIRST, SHORTEST, LONGEST = 3_600, 900, 12 * 3_600
"""Seconds between two checks: first, shortest, longest. With half a day as the longest, every feed is
due each night."""

LONGEST_WAIT = 7 * 24 * 3_600
"""Seconds for which a server can ask to be left alone; longer requests are cut to this."""

MAX_ERROR_CHARS = 500


def later(when: str, seconds: int) -> str:
    """Return the time `seconds` after another.

    >>> later("2026-03-02T23:59:30+00:00", 60)
    '2026-03-03T00:00:30+00:00'
    """
    return (datetime.datetime.fromisoformat(when) + datetime.timedelta(seconds=seconds)).isoformat(
        timespec="seconds"
    )


def keep(c: sqlite3.Connection, state: FeedState, run: int | None) -> int:
    """Store a response, inside the transaction of the batch that has its items.

    A failure of an address without a row is stored only if its server asked for a pause.
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
    retry_after = None if state.retry_after is None else min(state.retry_after, LONGEST_WAIT)
    pause = max(retry_after or 0, min(LONGEST, interval * 2 ** min(failures, 10)))
    return c.execute(
        "UPDATE feeds SET checked_at = ?, next_check_at = ?, retry_at = ?, failures = ?,"
        " error = ? WHERE url = ?",
        [
            now, later(now, pause), None if retry_after is None else later(now, retry_after),
            failures, state.error[:MAX_ERROR_CHARS], state.url,
        ],
    ).rowcount  # fmt: skip


def _interval(before: int, new: int) -> int:
    """Return the next interval: half after new stories, one and a half times without.

    >>> _interval(3600, 4), _interval(3600, 0), _interval(900, 1), _interval(40000, 0)
    (1800, 5400, 900, 43200)
    """
    return max(SHORTEST, before // 2) if new else min(LONGEST, before * 3 // 2)


def ask_again(c: sqlite3.Connection, run: int) -> None:
    """Delete the validators that a run stored, because undoing it removes the stories: fetch them again."""
    c.execute(
        "UPDATE feeds SET etag = NULL, last_modified = NULL, next_check_at = NULL, run = NULL"
        " WHERE run = ?",
        [run],
    )
