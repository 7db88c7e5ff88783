"""What the stories that arrived since a run brought, and apart from it what was only rearranged.

A unit belongs to the run that first read its story. That a merge, a split or a move put it into
another domain later does not make it news.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segapsith.domains.trends import MIN_UNITS
from segapsith_store.store import Store

__all__ = ["Arrivals", "arrived", "changes", "new_domains", "rearranged"]

DEVIATIONS = 2.0
"""Standard errors by which the shares of a domain must differ before it grows or fades."""

_LIVE = "JOIN runs r ON r.id = e.run WHERE e.run > ? AND r.status <> 'undone'"


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The stories that the runs after one were the first to read."""

    stories: int
    units: Mapping[int, int]
    """Their units by the domain that these are in now."""

    @property
    def n_units(self) -> int:
        return sum(self.units.values())


def arrived(store: Store, run: int) -> Arrivals:
    """Return what arrived after a run; reads only the stories of the later runs."""
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
    """Domains that units founded after a run; parts of a domain that was split are not among them."""
    return {
        number
        for (number,) in store.rows(
            f"SELECT e.domain FROM events e {_LIVE} AND e.kind = 'created'"
            " AND json_extract(e.detail, '$.source') IS NULL",
            [run],
        )
    }


def new_domains(store: Store, run: int) -> int:
    """Count the domains that stories founded which arrived after a run, and that are still there."""
    return len(_founded(store, run) & arrived(store, run).units.keys())


def changes(store: Store, run: int, most: int = 8) -> dict[str, Any]:
    """Return what is new, growing and fading since a run had ended, and what was rearranged.

    Units count by the arrival of their story. A domain grows or fades if its share of the units
    that arrived since differs from its share before by more than two standard errors; fewer than
    `trends.MIN_UNITS` units are no growth. New are domains that stories founded since.
    """
    arrivals, founded = arrived(store, run), _founded(store, run)
    counts: list[tuple[int, str, int, int]] = [
        (number, label, n_units - arrivals.units.get(number, 0), arrivals.units.get(number, 0))
        for number, label, n_units in store.rows(
            "SELECT id, label, units FROM domains WHERE units > 0 ORDER BY id"
        )
    ]
    total_before = sum(before for *_, before, _ in counts)
    total_after = arrivals.n_units
    ranked: dict[str, list[tuple[float, dict[str, Any]]]] = {"new": [], "growing": [], "fading": []}
    for number, label, before, after in counts:
        entry = {"id": number, "label": label, "before": before, "after": after}
        if number in founded and after > before:
            if after > 1:
                ranked["new"].append((-after, entry))
            continue
        score = _score(before, total_before, after, total_after)
        if score > DEVIATIONS and after >= MIN_UNITS:
            ranked["growing"].append((-score, entry))
        elif score < -DEVIATIONS:
            ranked["fading"].append((score, entry))
    return {
        "since": run,
        "stories_since": arrivals.stories,
        "units_before": total_before,
        "units_since": total_after,
        **{
            kind: [entry for _, entry in sorted(ones, key=lambda one: (one[0], one[1]["id"]))][
                :most
            ]
            for kind, ones in ranked.items()
        },
        "counts": {kind: len(ones) for kind, ones in ranked.items()},
        "rearranged": rearranged(store, run, most),
    }


def _score(before: int, total_before: int, after: int, total_after: int) -> float:
    """The difference of two shares in standard errors; 0 if there is nothing to compare."""
    if not total_before or not total_after:
        return 0.0
    pooled = (before + after) / (total_before + total_after)
    spread = (pooled * (1 - pooled) * (1 / total_before + 1 / total_after)) ** 0.5
    return (after / total_after - before / total_before) / spread if spread else 0.0


def rearranged(store: Store, run: int, most: int = 8) -> dict[str, Any]:
    """Return what the runs after one did to domains and units that were there already.

    `merges` and `splits` are lists of at most `most`, with all of them counted beside; `moved` are
    units that went to another domain one by one, `corrected` stories whose text was replaced.
    """
    labels = dict(store.rows("SELECT id, label FROM domains"))
    events = [
        (at, kind, domain, json.loads(detail))
        for at, kind, domain, detail in store.rows(
            f"SELECT e.run, e.kind, e.domain, e.detail FROM events e {_LIVE}"
            " AND e.kind IN ('merged', 'took', 'split') ORDER BY e.id",
            [run],
        )
    ]
    sizes = {(at, domain): detail.get("units", 0) for at, kind, domain, detail in events
             if kind == "merged"}  # fmt: skip
    merges = [
        {
            "id": domain,
            "label": labels.get(domain, ""),
            "sources": detail["source"],
            "units": sum(sizes.get((at, source), 0) for source in detail["source"]),
        }
        for at, kind, domain, detail in events
        if kind == "took"
    ]
    splits = [
        {"id": domain, "label": labels.get(domain, ""), "parts": _parts(detail["into"], labels)}
        for _, kind, domain, detail in events
        if kind == "split"
    ]
    moved = store.number(
        "SELECT count(DISTINCT p.unit) FROM past_assignments p JOIN assignments a ON a.unit = p.unit"
        " WHERE p.ended_by > ? AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run = p.ended_by"
        " AND e.domain = p.domain AND e.kind IN ('merged', 'split'))",
        [run],
    )
    corrected = store.number(
        "SELECT count(*) FROM versions v JOIN documents d ON d.id = v.document"
        " AND d.version = v.number WHERE v.run > ? AND d.run <= ? AND d.duplicate_of IS NULL",
        [run, run],
    )
    return {
        "n_merged": sum(len(merge["sources"]) for merge in merges),
        "n_merges": len(merges),
        "merges": sorted(merges, key=lambda merge: (-merge["units"], merge["id"]))[:most],
        "n_splits": len(splits),
        "splits": splits[:most],
        "moved": moved,
        "corrected": corrected,
    }


def _parts(numbers: Sequence[int], labels: Mapping[int, str]) -> list[dict[str, Any]]:
    return [{"id": number, "label": labels.get(number, "")} for number in numbers]
