"""The domains as they were: after a run, or on a day.

What a unit's domain was is kept (`assignments`, `past_assignments`), what a domain's name and
state were is in the lineage (`events`), and its sums are added up again from the units it had.
Texts that were forgotten, and runs that were undone, cannot come back.
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from segapsith.domains.values import Bag, DomainWords
from segapsith.errors import UsageError
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = [
    "Moment",
    "before_last",
    "checked_date",
    "held",
    "moment",
    "night",
    "states",
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

    @property
    def places(self) -> tuple[str, list[Any]]:
        """A table of `unit` and `domain` at this moment, as SQL with its parameters."""
        in_force = f"SELECT unit, domain FROM ({_EVERY}) WHERE run <= ? AND ended > ?"
        if self.date is None:
            return f"({in_force})", [self.run, self.run]
        if self.run:
            chosen, parameters = in_force, [self.run, self.run]
            dated = "v.date IS NULL OR substr(v.date, 1, ?) <= ?"
        else:  # the store is younger: where each present unit was first
            first = "SELECT unit, domain, min(run) FROM"
            here = "WHERE unit IN (SELECT unit FROM assignments) GROUP BY unit"
            chosen, parameters = f"{first} ({_EVERY}) {here}", []
            dated = "substr(v.date, 1, ?) <= ?"
        joined = "JOIN units u ON u.id = e.unit JOIN versions v ON v.id = u.version"
        question = f"(SELECT e.unit, e.domain FROM ({chosen}) e {joined} WHERE {dated})"
        return question, [*parameters, len(self.date), self.date]


def checked_date(text: str) -> str:
    """A date as it is compared: a month, a day or a point in time."""
    if not _DATE.fullmatch(text):
        raise UsageError(f"{text!r} should be a date like 2026-03-01")
    try:
        datetime.datetime.fromisoformat(f"{text}-01" if len(text) < 10 else text)
    except ValueError as error:
        raise UsageError(f"{text!r} should be a date like 2026-03-01: {error}") from error
    return text


def moment(store: Store, text: str | int) -> Moment:
    """The moment that a run number or a date means.

    A date is the end of that day: what the runs up to then had learned from texts of that day or
    earlier. If the store is younger than the date, the stream's own dates say what there was.
    """
    if isinstance(text, int) or text.isdigit():
        run, date = int(text), None
        found = store.command_and_status(run)
        if found is None:
            raise UsageError(f"there is no run {run}; `segapsith runs` lists them")
        if found[1] == "undone":
            raise UsageError(f"run {run} was undone; what it had learned cannot be shown")
    else:
        date = checked_date(text)
        run = _last_run_by(store, date)
    return Moment(run, date, _forgotten_after(store, run))


def _forgotten_after(store: Store, run: int) -> int:
    """Documents that later runs forgot; counts are kept in the transaction that takes them out."""
    counts = store.rows("SELECT counts FROM runs WHERE command = 'forget' AND id > ?", [run])
    total = 0
    for (text,) in counts:
        found = json.loads(text)
        # up to schema 3 a run forgot one document and named it
        total += int(found["documents"]) if "documents" in found else int("document" in found)
    return total


def night(store: Store, named: str | int) -> int:
    """The last run of a night: a run's number, or a date (UTC) that names the last run until then."""
    if isinstance(named, int) or named.isdigit():
        if store.command_and_status(int(named)) is None:
            raise UsageError(f"there is no run {named}; `segapsith runs` lists them")
        return int(named)
    date = checked_date(named.replace(" ", "T"))
    found = _last_run_by(store, date)
    if not found:
        first = store.row("SELECT min(started_at) FROM runs")
        raise UsageError(
            f"no run had begun by {named}" + (f"; the first began {first[0]}" if first else "")
        )
    return found


def before_last(store: Store) -> int:
    """The run before the last one that learned something; 0 if there is none."""
    last = store.number(
        f"SELECT max(id) FROM runs WHERE command IN {_LEARNING} AND status <> 'undone'"
    )
    return store.number("SELECT max(id) FROM runs WHERE id < ? AND status <> 'undone'", [last])


def held(store: Store, run: int | None = None) -> dict[int, int]:
    """Each unit's domain, now or as it was when a run had ended."""
    table, parameters = ("assignments", []) if run is None else Moment(run, None, 0).places
    return dict(store.rows(f"SELECT unit, domain FROM {table} ORDER BY unit", parameters))


def _last_run_by(store: Store, date: str) -> int:
    """The last run that had begun by the end of a month, a day or a point in time."""
    return store.number(
        "SELECT max(id) FROM runs WHERE substr(started_at, 1, ?) <= ?", [len(date), date]
    )


def states(store: Store, then: Moment) -> dict[int, dict[str, Any]]:
    """Of the domains that were changed since: label, named, status, locked as far as they differ."""
    found: dict[int, dict[str, Any]] = {}
    for domain, detail in store.rows(
        "SELECT e.domain, e.detail FROM events e JOIN runs r ON r.id = e.run"
        " WHERE e.run > ? AND r.status <> 'undone' ORDER BY e.id",
        [then.run],
    ):
        before = json.loads(detail).get("before") or {}
        known = found.setdefault(domain, {})
        for name, value in before.items():
            known.setdefault(name, value)
    return found


def sums(store: Store, then: Moment, wanted: set[int]) -> dict[int, DomainWords]:
    """The sums of domains, added up from the units that they had."""
    table, parameters = then.places
    tokens = store.facts().get("count") == "tokens"
    found: dict[int, DomainWords] = {}
    bags: list[Bag] = []
    present: int | None = None
    for domain, blob in store.rows(
        f"SELECT p.domain, u.words FROM {table} p JOIN units u ON u.id = p.unit ORDER BY p.domain",
        parameters,
    ):
        if domain != present:
            if present in wanted and present is not None:
                found[present] = _total(bags, tokens)
            present, bags = domain, []
        if domain in wanted:
            bags.append(codecs.bag_from(blob))
    if present is not None and present in wanted:
        found[present] = _total(bags, tokens)
    return found


def _total(bags: list[Bag], tokens: bool) -> DomainWords:
    words, place = np.unique(np.concatenate([b.words for b in bags]), return_inverse=True)
    occurrences = np.zeros(len(words), dtype=np.int64)
    weights = np.zeros(len(words), dtype=np.int64)
    counted = [b.counts if tokens else np.ones_like(b.counts) for b in bags]
    np.add.at(occurrences, place, np.concatenate(counted))
    np.add.at(weights, place, np.concatenate([b.weights for b in bags]))
    return DomainWords(words.astype(np.int32), occurrences, weights, len(bags))
