"""The state of a store in one answer, and the run log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from segapsith.model import Json, Result
from segapsith_store import seal
from segapsith_store.digest import digest
from segapsith_store.queries.targets import FollowedTarget, followed_target
from segapsith_store.queries.topics import section_of_topic, topic_of_domain
from segapsith_store.schema import SCHEMA
from segapsith_store.store import Store

__all__ = ["LastRun", "Run", "Status", "began", "list_runs", "read_counts", "read_status"]


@dataclass(frozen=True, slots=True)
class LastRun(Result):
    """The last run of a store."""

    id: int
    command: str
    status: str
    started_at: str
    finished_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Result):
    """Counts of a store, its digest and its last run."""

    store: str
    schema: int
    digest: str
    documents: int
    duplicates: int
    undated: int
    corrections: int
    units: int
    domains: int
    stable_domains: int
    topics: int
    sections: int
    events: int
    words: int
    languages: Mapping[str, int]
    """Stories by language."""
    target: FollowedTarget | None
    rejects: int
    runs: int
    last_run: LastRun | None
    sqlite_version: str


@dataclass(frozen=True, slots=True)
class Run(Result):
    """An entry of the run log."""

    id: int
    command: str
    status: str
    name: str
    started_at: str
    finished_at: str | None
    settings: Mapping[str, Json]
    versions: Mapping[str, Json]
    seed: int | None
    counts: Mapping[str, Json]


_COUNTS = {
    "documents": "SELECT count(*) FROM documents WHERE duplicate_of IS NULL",
    "duplicates": "SELECT count(*) FROM documents WHERE duplicate_of IS NOT NULL",
    "undated": (
        "SELECT count(*) FROM documents d JOIN versions v ON v.document = d.id"
        " AND v.number = d.version WHERE d.duplicate_of IS NULL AND v.date IS NULL"
    ),
    "corrections": "SELECT count(*) FROM versions WHERE number > 1",
    # all units without those of copies and of earlier texts: looking at each would take 50 ms
    "units": (
        "SELECT (SELECT count(*) FROM units) - (SELECT count(*) FROM documents d JOIN units u"
        " ON u.document = d.id WHERE d.duplicate_of IS NOT NULL) - (SELECT count(*) FROM versions v"
        " JOIN documents d ON d.id = v.document JOIN units u ON u.version = v.id"
        " WHERE v.document IN (SELECT document FROM versions WHERE number > 1)"
        " AND v.number <> d.version AND d.duplicate_of IS NULL)"
    ),
    "domains": "SELECT count(*) FROM domains WHERE units > 0",
    "events": "SELECT count(DISTINCT event) FROM assignments WHERE event IS NOT NULL",
    "words": "SELECT count(*) FROM words WHERE occurrences > 0",
    "rejects": "SELECT count(*) FROM rejects",
    "runs": "SELECT count(*) FROM runs",
}


def read_counts(store: Store, *, stable: int) -> dict[str, int]:
    """Return how many documents, units, domains … there are, by the names of `Status`."""
    with store.frozen():
        n_stable = store.number("SELECT count(*) FROM domains WHERE units >= ?", [max(1, stable)])
        counts = {name: store.number(sql) for name, sql in _COUNTS.items()}
        return {**counts, "stable_domains": n_stable}


def read_status(store: Store, *, stable: int) -> Status:
    """Return the counts, the digest and the last run; a domain of `stable` units is stable."""
    with store.frozen():
        last = store.row(
            "SELECT id, command, status, started_at, finished_at FROM runs ORDER BY id DESC LIMIT 1"
        )
        return Status(
            store=store.path,
            schema=SCHEMA,
            digest=seal.sealed_digest(store) or digest(store),
            topics=len(set(topic_of_domain(store).values())),
            sections=len(set(section_of_topic(store).values())),
            languages={lang: n for lang, (n, _) in sorted(store.languages().items()) if n},
            target=followed_target(store),
            last_run=LastRun(*last) if last else None,
            sqlite_version=sqlite3.sqlite_version,
            **read_counts(store, stable=stable),
        )


def began(store: Store) -> tuple[str, ...]:
    """Return moment, command and input of the first run: what a store keeps wherever it is moved.

    Empty for a store without a run.
    """
    row = store.row("SELECT started_at, command, input FROM runs ORDER BY id LIMIT 1")
    return tuple(map(str, row or ()))


def list_runs(store: Store, limit: int | None = None) -> list[Run]:
    """Return the run log, newest first."""
    return [
        Run(*[*head, json.loads(settings), json.loads(versions), seed, json.loads(counts)])
        for *head, settings, versions, seed, counts in store.rows(
            "SELECT id, command, status, name, started_at, finished_at, settings, versions, seed,"
            " counts FROM runs ORDER BY id DESC LIMIT ?",
            [-1 if limit is None else limit],
        )
    ]
