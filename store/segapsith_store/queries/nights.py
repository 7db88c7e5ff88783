"""The log of the unattended runs: what each night did, how it ended, its figures."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segapsith_store.store import Store
from segapsith_store import notifications
from segapsith_store.codecs import as_json

__all__ = [
    "Night",
    "NightRuns",
    "arrivals",
    "begin",
    "delivered",
    "documents_after",
    "end",
    "last_run",
    "listed",
    "placed",
    "runs_to_undo",
    "step_numbers",
]


@dataclass(frozen=True, slots=True)
class Night:
    """One night as it is stored; `finished_at` is None if it never ended."""

    id: int
    night: str
    started_at: str
    finished_at: str | None
    code: int | None
    line: str
    figures: dict[str, Any]
    result: dict[str, Any]


def begin(store: Store, night: str, started_at: str) -> int:
    """Store that a night begins, so that a night that never ends is noticed; return its number."""

    def write(c: sqlite3.Connection) -> int:
        number = c.execute(
            "INSERT INTO nights (night, started_at) VALUES (?, ?)", [night, started_at]
        ).lastrowid
        return int(number or 0)

    return store.change(write)


def end(
    store: Store,
    number: int,
    finished_at: str,
    code: int,
    line: str,
    figures: Mapping[str, Any],
    result: Mapping[str, Any],
    notices: Sequence[notifications.Queued] = (),
) -> None:
    """Store how a night ended, and queue what it reports, in one transaction."""

    def write(c: sqlite3.Connection) -> int:
        notifications.queue(c, notices)
        return c.execute(
            "UPDATE nights SET finished_at = ?, code = ?, line = ?, figures = ?, result = ?"
            " WHERE id = ?",
            [finished_at, code, line, as_json(figures), as_json(result), number],
        ).rowcount

    store.change(write)


def listed(store: Store, limit: int | None = None) -> list[Night]:
    """Return the nights, newest first."""
    return [
        Night(*[*row[:6], json.loads(row[6]), json.loads(row[7])])
        for row in store.rows(
            "SELECT id, night, started_at, finished_at, code, line, figures, result FROM nights"
            " ORDER BY id DESC LIMIT ?",
            [-1 if limit is None else limit],
        )
    ]


def last_run(store: Store) -> int:
    """Return the number of the last run; 0 if there is none."""
    return store.number("SELECT max(id) FROM runs")


@dataclass(frozen=True, slots=True)
class NightRuns:
    """The runs of a night that still stand, the last one first."""

    night: str
    runs: list[int]
    last_run: int
    """The last run of the night, whether it still stands or not."""


def runs_to_undo(store: Store, limit: int = 30) -> NightRuns | None:
    """Return the runs of the last night that has some which still stand.

    Nights of earlier releases did not note their last run and are left out.
    """
    for night in listed(store, limit):
        last = int(night.result.get("last_run", 0))
        first = next(
            (
                int(step["result"]["previous_run"])
                for step in night.result.get("steps", [])
                if "previous_run" in step.get("result", {})
            ),
            last,
        )
        runs = [number for number, _ in store.later_runs(first) if number <= last]
        if runs:
            return NightRuns(night.night, runs[::-1], last)
    return None


def arrivals(store: Store, after: int) -> tuple[int, int, dict[str, int]]:
    """Count what the runs after a run brought: stories, copies, and stories by language."""
    with store.frozen():
        languages: dict[str, int] = dict(
            store.rows(
                "SELECT v.lang, count(*) FROM documents d JOIN versions v ON v.document = d.id"
                " AND v.number = d.version WHERE d.run > ? AND d.duplicate_of IS NULL"
                " GROUP BY v.lang ORDER BY v.lang",
                [after],
            )
        )
        copies = store.number(
            "SELECT count(*) FROM documents WHERE run > ? AND duplicate_of IS NOT NULL", [after]
        )
    return sum(languages.values()), copies, languages


def documents_after(store: Store, run: int) -> tuple[int, int]:
    """Return the first and the last document that runs after a run brought; 0 and 0 if none."""
    row = store.row("SELECT min(id), max(id) FROM documents WHERE run > ?", [run])
    first, last = row or (None, None)
    return first or 0, last or 0


def placed(store: Store, after: int) -> tuple[int, int]:
    """Count the units that joined a domain and those that founded one, by the run log."""
    joined = founded = 0
    for (text,) in store.rows(
        "SELECT counts FROM runs WHERE id > ? AND status <> 'undone'", [after]
    ):
        counts = json.loads(text)
        joined += int(counts.get("domains_joined", 0))
        founded += int(counts.get("domains_new", 0))
    return joined, founded


def delivered(store: Store, key: str) -> bool:
    """Return whether a delivery was read completely and not undone."""
    return bool(store.row("SELECT 1 FROM runs WHERE input = ? AND status = 'done' LIMIT 1", [key]))


def step_numbers(store: Store, *names: str, limit: int = 30) -> Iterator[tuple[str, int]]:
    """Yield the date of a night and a number that one of its steps stored under one of `names`.

    The newest night comes first, the steps of a night in their order. What a step was called does
    not matter, so nights of earlier releases count.
    """
    for night in listed(store, limit):
        for step in night.result.get("steps", []):
            for name in names:
                if name in step.get("result", {}):
                    yield night.night, int(step["result"][name])
