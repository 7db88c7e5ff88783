"""Runs with undo, feeds and their condition, and how to cite the store."""

from __future__ import annotations

import datetime
import sqlite3
import sys
from importlib.metadata import version
from typing import Any

from segapsith.web.ask import Ask
from segapsith.web.render import Page
from segapsith_store.seal import sealed_digest

__all__ = ["cite_page", "feeds_page", "runs_page"]


def runs_page(ask: Ask) -> Page:
    """Return the run log, newest first."""
    span = ask.span(25)
    with ask.wire.reading() as store:
        listed = ask.wire.runs(span.offset + span.limit)
        state, last = ask.wire.browse.state(), store.undoable()
    values = {
        "runs": listed[span.offset :],
        "total": state.run,
        "span": span,
        "run": state.run,
        "undoable": last[0] if last and last[1] != "forget" else None,
    }
    return Page("runs.html", ask.texts.text("Runs"), values)


def feeds_page(ask: Ask) -> Page:
    """Return the subscribed feeds, those in trouble first."""
    feeds = sorted(ask.wire.browse.feeds(), key=lambda feed: (-feed.failures, feed.url))
    span = ask.span(50)
    values = {
        "feeds": feeds[span.offset : span.offset + span.limit],
        "total": len(feeds),
        "span": span,
    }
    return Page("feeds.html", ask.texts.text("Feeds"), values)


def cite_page(ask: Ask) -> Page:
    """Return what to cite: the digest, versions, settings, and how to get the figures again.

    The digest of a store that is not sealed is computed only when it is asked for.
    """
    with ask.wire.reading() as store:
        digest = sealed_digest(store)
        if digest is None and ask.text("digest") == "1":
            digest = ask.wire.status().digest
        counts = ask.wire.browse.counts()
    learned = next(
        (run for run in ask.wire.runs(200) if run.command in ("ingest", "learn", "update")), None
    )
    last = next(iter(ask.wire.runs(1)), None)
    date = (last.started_at if last else datetime.date.today().isoformat())[:10]
    values: dict[str, Any] = {
        "digest": digest,
        "counts": counts,
        "last_run": last.id if last else None,
        "versions": {
            "segapsith": version("segapsith"),
            "python": sys.version.split()[0],
            "sqlite": sqlite3.sqlite_version,
            "numpy": version("numpy"),
        },
        "settings": dict(learned.settings) if learned else {},
        "day": date,
    }
    return Page("cite.html", ask.texts.text("Cite"), values)
