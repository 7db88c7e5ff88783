"""What arrived since a run, what of it is new, rising and falling, and what was only rearranged.

A unit belongs to the run that first read its story. A merge, a split or a move that puts it into
another domain later is not news.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from segapsith.domains.naming import best_headline
from segapsith.domains.trends import MIN_UNITS
from segapsith.model import Result
from segapsith_store.queries import history, nights
from segapsith_store.queries.domains import units_since
from segapsith_store.queries.labels import first_unit_after, headlines_since
from segapsith_store.queries.sections import section_labels
from segapsith_store.queries.topics import Outline, read_outline, topic_labels
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = [
    "Arrivals",
    "DomainChange",
    "DomainName",
    "Highlight",
    "Highlights",
    "MergeSummary",
    "News",
    "Rearrangements",
    "SplitSummary",
    "Today",
    "TodayDomain",
    "TodaySection",
    "TodayTopic",
    "count_new_domains",
    "read_arrivals",
    "read_highlights",
    "read_news",
    "read_rearrangements",
    "read_today",
]

UNGROUPED = "not in a section yet"
"""Label of the domains without a section."""

KINDS = ("new", "growing", "fading", "active")
"""Kinds of domains in the order of the lists of a section."""

HEADLINE_WORDS = 40
"""Heaviest words of a domain by which its newest headlines are judged."""

HIGHLIGHT_WORDS = 5
"""Words of a domain that is named as new or rising."""

DEVIATIONS = 2.0
"""Standard errors between two shares of a domain that count as growing or fading."""

DomainRow: TypeAlias = tuple[int, str, int]
"""Id, label and units of a domain."""

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
        changes, totals = _changes(store, arrivals.units)
        ranked = _ranked(changes, founded, totals)
        return News(
            since=run,
            stories_since=arrivals.stories,
            units_before=totals[0],
            units_since=arrivals.n_units,
            new=ranked["new"][:most],
            growing=ranked["growing"][:most],
            fading=ranked["fading"][:most],
            counts={kind: len(of_kind) for kind, of_kind in ranked.items()},
            rearranged=read_rearrangements(store, run, most),
        )


def _changes(
    store: Store, arrived: Mapping[int, int], known: Iterable[DomainRow] | None = None
) -> tuple[list[DomainChange], tuple[int, int]]:
    """Return domains with their units before and since, and the sums of these for all domains.

    `arrived` are the units since. Domains without any are returned only if they may be fading.
    """
    rows: list[DomainRow] = list(
        store.rows("SELECT id, label, units FROM domains WHERE units > 0 ORDER BY id")
        if known is None
        else known
    )
    sizes = np.array([n_units for _, _, n_units in rows], np.int64)
    after = np.array([arrived.get(number, 0) for number, _, _ in rows], np.int64)
    totals = int((sizes - after).sum()), int(after.sum())
    may_fade = np.zeros(len(rows), np.bool_)
    if all(totals):
        pooled = sizes / sum(totals)
        spread = np.sqrt(pooled * (1 - pooled) * (1 / totals[0] + 1 / totals[1]))
        # a little more than `_score` decides, whatever the rounding
        may_fade = sizes / totals[0] >= 0.99 * DEVIATIONS * spread
    places = np.flatnonzero((after > 0) | may_fade).tolist()
    changes = [
        DomainChange(rows[i][0], rows[i][1], rows[i][2] - int(after[i]), int(after[i]))
        for i in places
    ]
    return changes, totals


def _ranked(
    changes: Sequence[DomainChange], founded: set[int], totals: tuple[int, int]
) -> dict[str, list[DomainChange]]:
    """Return the new, growing and fading domains, the strongest change first, ties by id.

    `founded` are the domains that may be new, `totals` the units before and since of all domains.
    """
    n_before, n_after = totals
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


# -- the day at a glance -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TodayDomain(Result):
    """A domain that is new, rising or falling, with a headline of its newest stories."""

    id: int
    label: str
    headline: str
    """Representative headline of the stories since then; the label if all its stories are."""
    units: int
    """Units since then."""
    before: int


@dataclass(frozen=True, slots=True)
class TodayTopic(Result):
    """A topic with its units since then and before; rising ones come first."""

    id: int
    label: str
    rising: bool
    units: int
    before: int


@dataclass(frozen=True, slots=True)
class TodaySection(Result):
    """A section with what changed in it, the strongest change first."""

    id: int | None
    """None for domains that are in no section yet."""
    label: str
    units: int
    """Units since then."""
    topics: Sequence[TodayTopic]
    new: Sequence[TodayDomain]
    rising: Sequence[TodayDomain]
    falling: Sequence[TodayDomain]
    active: Sequence[TodayDomain]
    """Other domains with units since then, most units first."""


@dataclass(frozen=True, slots=True)
class Today(Result):
    """What changed since a run or a date, by section, the section with most units first."""

    since: str | int
    """The run or date after which stories count; 0 is before the first run."""
    at: str | None
    """When that run began."""
    units: int
    counts: Mapping[str, int]
    """Number of new, rising and falling domains; the lists may be cut."""
    sections: Sequence[TodaySection]


def read_today(
    store: Store,
    since: str | int | None = None,
    *,
    most: int = 12,
    outline: Outline | None = None,
    arrived_since: Callable[[str | int], Mapping[int, int] | None] | None = None,
    words: Words | None = None,
    rows: Iterable[DomainRow] | None = None,
) -> Today:
    """Return what is new, rising and falling, at most `most` domains of each kind in a section.

    Without `since`, what the last night brought, or the last run that learned. Where nothing was
    learned before, everything is new and the largest domains come first. `outline`, `words`,
    the `rows` of the domains and the units that arrived after a run or since a date, by domain, are
    given if they are known already.
    """
    with store.frozen():
        bound = _last_night(store) if since is None else _bound(store, since)
        known = None if arrived_since is None else arrived_since(bound)
        arrived = units_since(store, bound) if known is None else known
        outline = outline or read_outline(store)
        changes, totals = _changes(store, arrived, rows)
        founded = (
            _founded(store, bound)
            if isinstance(bound, int)
            else {change.id for change in changes if not change.before}
        )
        kinds = _ranked(changes, founded, totals)
        kinds["active"] = _others(changes, kinds)
        section_of = {
            change.id: outline.section_of.get(outline.topic_of[change.id])
            for change in changes
            if change.id in outline.topic_of
        }
        labels = section_labels(store) if outline.section_of else {}
        of_section: dict[int | None, dict[str, list[DomainChange]]] = {}
        for kind, ranked in kinds.items():
            for change in ranked:
                of = of_section.setdefault(section_of.get(change.id), {})
                of.setdefault(kind, []).append(change)
        sizes: dict[int | None, int] = {}
        for number, n_units in arrived.items():
            section = section_of.get(number)
            sizes[section] = sizes.get(section, 0) + n_units
            of_section.setdefault(section, {})
        topics = _topics(store, arrived, outline, most)
        describe = _Headlines(store, bound, words)
        sections = [
            TodaySection(
                section,
                UNGROUPED if section is None else labels.get(section, UNGROUPED),
                sizes.get(section, 0),
                topics.get(section, []),
                *(describe(of.get(kind, [])[:most]) for kind in KINDS),
            )
            for section, of in sorted(
                of_section.items(),
                key=lambda entry: (-sizes.get(entry[0], 0), entry[0] is None, entry[0] or 0),
            )
        ]
        return Today(
            since=bound,
            at=_began(store, bound),
            units=sum(arrived.values()),
            counts={
                "new": len(kinds["new"]),
                "rising": len(kinds["growing"]),
                "falling": len(kinds["fading"]),
            },
            sections=sections,
        )


def _others(
    changes: Sequence[DomainChange], kinds: Mapping[str, Sequence[DomainChange]]
) -> list[DomainChange]:
    """Return the domains with new units that are of no other kind, most units first.

    A domain of one unit in all is not news.
    """
    listed = {change.id for ranked in kinds.values() for change in ranked}
    others = [
        change
        for change in changes
        if change.after and change.before + change.after > 1 and change.id not in listed
    ]
    return sorted(others, key=lambda change: (-change.after, change.id))


def _bound(store: Store, since: str | int) -> str | int:
    """Return a run as a number, or a date that was checked."""
    if isinstance(since, int) or since.isdigit():
        return int(since) and history.run_at(store, since)
    return history.checked_date(since)


def _last_night(store: Store) -> int:
    """Return the last run before the last night, or before the last run that learned."""
    before_last = history.run_before_last(store)
    _, before_night = next(nights.step_numbers(store, "previous_run", limit=1), ("", before_last))
    learned_since = history.last_learning_run(store) > before_night
    return min(before_night, before_last) if learned_since else before_last


def _began(store: Store, bound: str | int) -> str | None:
    row = store.row("SELECT started_at FROM runs WHERE id = ?", [bound])
    return row[0] if row and isinstance(bound, int) else None


def _topics(
    store: Store, arrived: Mapping[int, int], outline: Outline, most: int
) -> dict[int | None, list[TodayTopic]]:
    """Return the topics with units since then, at most `most` of a section.

    Rising ones come first, then the largest.
    """
    after: dict[int, int] = {}
    for number, n_units in arrived.items():
        topic = outline.topic_of.get(number)
        if topic is not None:
            after[topic] = after.get(topic, 0) + n_units
    sums = {
        topic: DomainChange(topic, "", outline.units[topic] - n_units, n_units)
        for topic, n_units in after.items()
    }
    n_all, n_after = sum(outline.units.values()), sum(after.values())
    ranked = _ranked(list(sums.values()), set(), (n_all - n_after, n_after))
    rising = [change.id for change in ranked["growing"]]
    place = {topic: n for n, topic in enumerate(rising)}
    by_section: dict[int | None, list[int]] = {}
    for topic in sorted(sums, key=lambda t: (place.get(t, len(place)), -sums[t].after, t)):
        of_section = by_section.setdefault(outline.section_of.get(topic), [])
        if len(of_section) < most:
            of_section.append(topic)
    labels = topic_labels(store, {topic for some in by_section.values() for topic in some})
    return {
        section: [
            TodayTopic(topic, labels[topic], topic in place, sums[topic].after, sums[topic].before)
            for topic in topics
        ]
        for section, topics in by_section.items()
    }


@dataclass(frozen=True, slots=True)
class Highlight(Result):
    """A domain that is new or rising: its label, a headline and its heaviest words."""

    id: int
    label: str
    headline: str
    words: Sequence[str]
    units: int
    """Units since then."""
    before: int


@dataclass(frozen=True, slots=True)
class Highlights(Result):
    """The domains that are new and rising since a run, the strongest first."""

    new: Sequence[Highlight]
    rising: Sequence[Highlight]


def read_highlights(store: Store, run: int, most: int = 5) -> Highlights:
    """Return at most `most` domains that are new, and that are rising, since a run."""
    with store.frozen():
        changes, totals = _changes(store, read_arrivals(store, run).units)
        ranked = _ranked(changes, _founded(store, run), totals)
        describe, words = _Headlines(store, run), Words(store)
        return Highlights(
            *(
                [
                    Highlight(
                        one.id,
                        one.label,
                        one.headline,
                        list(words.of_domain(one.id, HIGHLIGHT_WORDS)),
                        one.units,
                        one.before,
                    )
                    for one in describe(ranked[kind][:most])
                ]
                for kind in ("new", "growing")
            )
        )


class _Headlines:
    """Chooses for each domain a headline of the stories since a run or date."""

    def __init__(self, store: Store, bound: str | int, words: Words | None = None) -> None:
        self._store, self._bound, self._words = store, bound, words or Words(store)
        self._first = first_unit_after(store, bound) if isinstance(bound, int) else 0

    def __call__(self, changes: Sequence[DomainChange]) -> list[TodayDomain]:
        older = [change.id for change in changes if change.before]
        titles = headlines_since(self._store, older, self._bound, first=self._first)
        described = []
        for change in changes:
            headline = ""
            if change.id in titles:
                weights = self._words.of_domain(change.id, HEADLINE_WORDS)
                headline = best_headline(titles[change.id], weights)
            described.append(
                TodayDomain(
                    change.id, change.label, headline or change.label, change.after, change.before
                )
            )
        return described
