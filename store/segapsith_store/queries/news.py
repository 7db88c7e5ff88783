"""What arrived since a run, and separately what later runs only rearranged.

A unit belongs to the run that first read its story. A merge, a split or a move that puts it into
another domain later is not news.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from segapsith.domains.trends import MIN_UNITS
from segapsith.model import Result
from segapsith_store.store import Store

__all__ = [
    "Arrivals",
    "DomainChange",
    "DomainName",
    "MergeSummary",
    "News",
    "Rearrangements",
    "SplitSummary",
    "count_new_domains",
    "read_arrivals",
    "read_news",
    "read_rearrangements",
]

DEVIATIONS = 2.0
"""Standard errors between two shares of a domain that count as growing or fading."""

_LIVE = "JOIN runs r ON r.id = e.run WHERE e.run > ? AND r.status <> 'undone'"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The stories that were first read after a run."""

    stories: int
    units: Mapping[int, int]
    """Their units by present domain."""

    @property
    def n_units(self) -> int:
        return sum(self.units.values())


@dataclass(frozen=True, slots=True)
class DomainName(Result):
    """A domain with its label."""

    id: int
    label: str


@dataclass(frozen=True, slots=True)
class DomainChange(Result):
    """A domain with its units before a run and since."""

    id: int
    label: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class MergeSummary(Result):
    """A domain that took the units of others."""

    id: int
    label: str
    sources: Sequence[int]
    units: int


@dataclass(frozen=True, slots=True)
class SplitSummary(Result):
    """A domain that was split, and its parts."""

    id: int
    label: str
    parts: Sequence[DomainName]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rearrangements(Result):
    """What runs did to domains and units that existed before; lists may be cut, counts are not."""

    n_merged: int
    n_merges: int
    merges: Sequence[MergeSummary]
    n_splits: int
    splits: Sequence[SplitSummary]
    moved: int
    """Units that moved to another domain one by one."""
    corrected: int
    """Stories whose text was replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Result):
    """Domains that are new, growing and fading since a run, and what was rearranged."""

    since: int
    stories_since: int
    units_before: int
    units_since: int
    new: Sequence[DomainChange]
    growing: Sequence[DomainChange]
    fading: Sequence[DomainChange]
    counts: Mapping[str, int]
    """Number of domains of each kind; the lists may be cut."""
    rearranged: Rearrangements


# -- what arrived --------------------------------------------------------------------------------


def read_arrivals(store: Store, run: int, units: Mapping[int, int] | None = None) -> Arrivals:
    """Return what arrived after a run; only the stories of later runs are read.

    `units` are the units that arrived by domain, if they are known already.
    """
    with store.frozen():
        if units is None:
            units = dict(
                store.rows(
                    "SELECT a.domain, count(*) FROM documents d JOIN units u ON u.document = d.id"
                    " JOIN assignments a ON a.unit = u.id WHERE d.run > ? GROUP BY a.domain",
                    [run],
                )
            )
        stories = store.number(
            "SELECT count(*) FROM documents WHERE run > ? AND duplicate_of IS NULL", [run]
        )
    return Arrivals(stories, units)


def _founded(store: Store, run: int) -> set[int]:
    """Return the domains that units founded after a run; parts of a split are not among them."""
    return {
        number
        for (number,) in store.rows(
            f"SELECT e.domain FROM lineage e {_LIVE} AND e.kind = 'created'"
            " AND json_extract(e.detail, '$.source') IS NULL",
            [run],
        )
    }


def count_new_domains(store: Store, run: int) -> int:
    """Count the domains that stories founded which arrived after a run, if they still exist."""
    with store.frozen():
        return len(_founded(store, run) & read_arrivals(store, run).units.keys())


def read_news(
    store: Store, run: int, most: int = 8, units: Mapping[int, int] | None = None
) -> News:
    """Return what is new, growing and fading since the end of a run, at most `most` of each.

    `units` are the units that arrived by domain, if they are known already.

    Units count by the arrival of their story. A domain grows or fades if its share of the units
    that arrived since differs from its share before by more than two standard errors; growth needs
    at least `trends.MIN_UNITS` units. New domains were founded by stories that arrived since.
    """
    with store.frozen():
        arrivals, founded = read_arrivals(store, run, units), _founded(store, run)
        changes = [
            DomainChange(
                number,
                label,
                n_units - arrivals.units.get(number, 0),
                arrivals.units.get(number, 0),
            )
            for number, label, n_units in store.rows(
                "SELECT id, label, units FROM domains WHERE units > 0 ORDER BY id"
            )
        ]
        n_before = sum(change.before for change in changes)
        ranked = _ranked(changes, founded, n_before, arrivals.n_units)
        return News(
            since=run,
            stories_since=arrivals.stories,
            units_before=n_before,
            units_since=arrivals.n_units,
            new=ranked["new"][:most],
            growing=ranked["growing"][:most],
            fading=ranked["fading"][:most],
            counts={kind: len(of_kind) for kind, of_kind in ranked.items()},
            rearranged=read_rearrangements(store, run, most),
        )


def _ranked(
    changes: Sequence[DomainChange], founded: set[int], n_before: int, n_after: int
) -> dict[str, list[DomainChange]]:
    """Return the domains of each kind, the strongest change first, ties by id."""
    ranked: dict[str, list[tuple[float, int, DomainChange]]] = {
        "new": [],
        "growing": [],
        "fading": [],
    }
    for change in changes:
        if change.id in founded and change.after > change.before:
            if change.after > 1:
                ranked["new"].append((-change.after, change.id, change))
            continue
        score = _score(change.before, n_before, change.after, n_after)
        if score > DEVIATIONS and change.after >= MIN_UNITS:
            ranked["growing"].append((-score, change.id, change))
        elif score < -DEVIATIONS:
            ranked["fading"].append((score, change.id, change))
    return {
        kind: [change for _, _, change in sorted(of_kind, key=lambda one: one[:2])]
        for kind, of_kind in ranked.items()
    }


def _score(before: int, total_before: int, after: int, total_after: int) -> float:
    """Return the difference of two shares in standard errors; 0 if there is nothing to compare."""
    if not total_before or not total_after:
        return 0.0
    pooled = (before + after) / (total_before + total_after)
    spread = (pooled * (1 - pooled) * (1 / total_before + 1 / total_after)) ** 0.5
    return (after / total_after - before / total_before) / spread if spread else 0.0


# -- what was rearranged -------------------------------------------------------------------------


class _Event(NamedTuple):
    """An entry of the lineage."""

    run: int
    kind: str
    domain: int
    detail: dict[str, Any]


def read_rearrangements(store: Store, run: int, most: int = 8) -> Rearrangements:
    """Return what the runs after one did to domains and units that existed before.

    At most `most` merges, largest first, and `most` splits are listed; all are counted.
    """
    with store.frozen():
        labels: dict[int, str] = dict(store.rows("SELECT id, label FROM domains"))
        events = [
            _Event(at, kind, domain, json.loads(detail))
            for at, kind, domain, detail in store.rows(
                f"SELECT e.run, e.kind, e.domain, e.detail FROM lineage e {_LIVE}"
                " AND e.kind IN ('merged', 'took', 'split') ORDER BY e.id",
                [run],
            )
        ]
        moved = store.number(
            "SELECT count(DISTINCT p.unit) FROM past_assignments p"
            " JOIN assignments a ON a.unit = p.unit"
            " WHERE p.ended_by > ? AND NOT EXISTS (SELECT 1 FROM lineage e WHERE e.domain = p.domain"
            # the + keeps SQLite from reading every event of a run for each unit
            " AND +e.run = p.ended_by AND e.kind IN ('merged', 'split'))",
            [run],
        )
        corrected = store.number(
            "SELECT count(*) FROM versions v JOIN documents d ON d.id = v.document"
            " AND d.version = v.number WHERE v.run > ? AND d.run <= ? AND d.duplicate_of IS NULL",
            [run, run],
        )
    merges, splits = _merges(events, labels), _splits(events, labels)
    return Rearrangements(
        n_merged=sum(len(merge.sources) for merge in merges),
        n_merges=len(merges),
        merges=sorted(merges, key=lambda merge: (-merge.units, merge.id))[:most],
        n_splits=len(splits),
        splits=splits[:most],
        moved=moved,
        corrected=corrected,
    )


def _merges(events: Sequence[_Event], labels: Mapping[int, str]) -> list[MergeSummary]:
    sizes = {
        (event.run, event.domain): event.detail.get("units", 0)
        for event in events
        if event.kind == "merged"
    }
    return [
        MergeSummary(
            event.domain,
            labels.get(event.domain, ""),
            event.detail["source"],
            sum(sizes.get((event.run, source), 0) for source in event.detail["source"]),
        )
        for event in events
        if event.kind == "took"
    ]


def _splits(events: Sequence[_Event], labels: Mapping[int, str]) -> list[SplitSummary]:
    return [
        SplitSummary(
            event.domain,
            labels.get(event.domain, ""),
            [DomainName(number, labels.get(number, "")) for number in event.detail["into"]],
        )
        for event in events
        if event.kind == "split"
    ]
