"""Earlier states of the domains: after a run, or on a day.

The domain that a unit had is stored (`assignments`, `past_assignments`), earlier labels and states
of a domain are in its lineage (`lineage`), and its sums are added up again from the units it had.
Forgotten documents and undone runs cannot be shown.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from segapsith.domains.values import Bag, DomainWords
from segapsith.errors import UsageError
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = [
    "Moment",
    "assignments_at",
    "checked_date",
    "domain_of_unit",
    "last_learning_run",
    "last_run",
    "moment",
    "run_at",
    "run_before_last",
    "states",
    "sum_units",
    "sums",
]

_LEARNING = "('ingest', 'learn', 'update')"


_DATE = re.compile(r"\d{4}-\d{2}(-\d{2}(T[\d:.+\-Z]*)?)?")

_EVERY = (
    "SELECT unit, domain, run, 9223372036854775807 AS ended FROM assignments"
    " UNION ALL SELECT unit, domain, run, ended_by FROM past_assignments"
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the life of a store: after a run, and up to a date of the stream."""

    run: int
    date: str | None
    forgotten: int
    """Documents that were forgotten since; they are missing."""


def assignments_at(moment: Moment | None) -> tuple[str, list[Any]]:
    """Return SQL for a table of `unit` and `domain` at a moment, or now, and its parameters."""
    if moment is None:
        return "assignments", []
    in_force = f"SELECT unit, domain FROM ({_EVERY}) WHERE run <= ? AND ended > ?"
    if moment.date is None:
        return f"({in_force})", [moment.run, moment.run]
    if moment.run:
        places, parameters = in_force, [moment.run, moment.run]
        dated = "v.date IS NULL OR substr(v.date, 1, ?) <= ?"
    else:  # the store is younger than the date: take the first domain of each present unit
        first = "SELECT unit, domain, min(run) FROM"
        present = "WHERE unit IN (SELECT unit FROM assignments) GROUP BY unit"
        places, parameters = f"{first} ({_EVERY}) {present}", []
        dated = "substr(v.date, 1, ?) <= ?"
    joined = "JOIN units u ON u.id = e.unit JOIN versions v ON v.id = u.version"
    table = f"(SELECT e.unit, e.domain FROM ({places}) e {joined} WHERE {dated})"
    return table, [*parameters, len(moment.date), moment.date]


def checked_date(text: str) -> str:
    """Return a month, a day or a point in time in ISO 8601; raise a usage error for other texts."""
    if not _DATE.fullmatch(text):
        raise UsageError(f"{text!r} should be a date like 2026-03-01")
    try:
        datetime.datetime.fromisoformat(f"{text}-01" if len(text) < 10 else text)
    except ValueError as error:
        raise UsageError(f"{text!r} should be a date like 2026-03-01: {error}") from error
    return text


def moment(store: Store, text: str | int) -> Moment:
    """Return the moment that a run number or a date means.

    A date is the end of that day: what the runs until then had learned from texts of that day or
    earlier. If the store is younger than the date, only the dates of the texts count.
    """
    if isinstance(text, int) or text.isdigit():
        run, date = int(text), None
        row = store.command_and_status(run)
        if row is None:
            raise UsageError(f"there is no run {run}; `segapsith runs` lists them")
        if row[1] == "undone":
            raise UsageError(f"run {run} was undone; what it had learned cannot be shown")
    else:
        date = checked_date(text)
        run = _last_run_by(store, date)
    return Moment(run, date, _count_forgotten(store, run))


def _count_forgotten(store: Store, run: int) -> int:
    """Count the documents that runs after `run` forgot, by the counts in the run log."""
    total = 0
    for (text,) in store.rows("SELECT counts FROM runs WHERE command = 'forget' AND id > ?", [run]):
        counts = json.loads(text)
        # in schema 3 and earlier a run forgot one document and named it
        total += int(counts["documents"]) if "documents" in counts else int("document" in counts)
    return total


def run_at(store: Store, text: str | int) -> int:
    """Return the run of a number, or the last run that began by the end of a date (UTC)."""
    if isinstance(text, int) or text.isdigit():
        if store.command_and_status(int(text)) is None:
            raise UsageError(f"there is no run {text}; `segapsith runs` lists them")
        return int(text)
    date = checked_date(text.replace(" ", "T"))
    run = _last_run_by(store, date)
    if not run:
        first = store.row("SELECT min(started_at) FROM runs")
        raise UsageError(
            f"no run had begun by {text}" + (f"; the first began {first[0]}" if first else "")
        )
    return run


def last_run(store: Store) -> int:
    """Return the last run that was not undone; 0 if there is none."""
    return store.number("SELECT max(id) FROM runs WHERE status <> 'undone'")


def run_before_last(store: Store) -> int:
    """Return the run before the last one that learned something; 0 if there is none."""
    with store.frozen():
        last = last_learning_run(store)
        return store.number("SELECT max(id) FROM runs WHERE id < ? AND status <> 'undone'", [last])


def last_learning_run(store: Store) -> int:
    """Return the last run that learned something; 0 if there is none."""
    return store.number(
        f"SELECT max(id) FROM runs WHERE command IN {_LEARNING} AND status <> 'undone'"
    )


def domain_of_unit(store: Store, run: int | None = None) -> dict[int, int]:
    """Return the domain of each unit, now or at the end of a run."""
    table, parameters = assignments_at(None if run is None else Moment(run, None, 0))
    return dict(store.rows(f"SELECT unit, domain FROM {table} ORDER BY unit", parameters))


def _last_run_by(store: Store, date: str) -> int:
    """Return the last run that had begun by the end of a month, a day or a point in time."""
    return store.number(
        "SELECT max(id) FROM runs WHERE substr(started_at, 1, ?) <= ?", [len(date), date]
    )


def states(store: Store, then: Moment) -> dict[int, dict[str, Any]]:
    """Return the columns of domains that later runs changed, with their values at a moment."""
    earlier: dict[int, dict[str, Any]] = {}
    for domain, detail in store.rows(
        "SELECT e.domain, e.detail FROM lineage e JOIN runs r ON r.id = e.run"
        # most entries changed no column: their texts are not read as JSON
        " WHERE e.run > ? AND r.status <> 'undone' AND instr(e.detail, '\"before\"') ORDER BY e.id",
        [then.run],
    ):
        before = json.loads(detail).get("before") or {}
        earlier[domain] = before | earlier.get(domain, {})  # the first change has the value of then
    return earlier


def sums(store: Store, then: Moment, domains: Collection[int]) -> dict[int, DomainWords]:
    """Return the word sums of domains at a moment, added up from the units they had."""
    table, parameters = assignments_at(then)
    tokens = store.facts().get("count") == "tokens"
    rows = store.rows(
        f"SELECT p.domain, u.words FROM {table} p JOIN units u ON u.id = p.unit"
        " WHERE p.domain IN (SELECT value FROM json_each(?)) ORDER BY p.domain",
        [*parameters, json.dumps(sorted(domains))],
    )
    return {
        domain: _total([codecs.bag_from(blob) for _, blob in members], tokens)
        for domain, members in groupby(rows, key=itemgetter(0))
    }


def sum_units(store: Store, units: Collection[int]) -> DomainWords:
    """Return the word sums of some units together, such as those of a domain at a moment."""
    tokens = store.facts().get("count") == "tokens"
    rows = store.rows(
        "SELECT u.words FROM json_each(?) j JOIN units u ON u.id = j.value",
        [json.dumps(list(units))],
    )
    return _total([codecs.bag_from(blob) for (blob,) in rows], tokens)


def _total(bags: list[Bag], tokens: bool) -> DomainWords:
    if not bags:
        none = np.zeros(0, np.int64)
        return DomainWords(none.astype(np.int32), none, none, 0)
    words, place = np.unique(np.concatenate([b.words for b in bags]), return_inverse=True)
    occurrences = np.zeros(len(words), dtype=np.int64)
    weights = np.zeros(len(words), dtype=np.int64)
    counted = [b.counts if tokens else np.ones_like(b.counts) for b in bags]
    np.add.at(occurrences, place, np.concatenate(counted))
    np.add.at(weights, place, np.concatenate([b.weights for b in bags]))
    return DomainWords(words.astype(np.int32), occurrences, weights, len(bags))
