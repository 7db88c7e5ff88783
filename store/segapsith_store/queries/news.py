"""What arrived since a run, what of it is new, rising and falling, and what was only rearranged.

A unit belongs to the run that first read its story. A merge, a split or a move that puts it into
another domain later is not news.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.naming import best_headline
from segapsith.domains.trends import MIN_UNITS
from segapsith.model import Result
from segapsith_store.queries import history, nights
from segapsith_store.queries.domains import units_since
from segapsith_store.queries.labels import UnitsSince, first_unit_after, headlines_since
from segapsith_store.queries.sections import section_labels
from segapsith_store.queries.topics import NO_GROUP, Outline, read_outline, topic_labels
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = [
    "Arrivals",
    "DomainChange",
    "DomainName",
    "DomainSizes",
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

MOST_CHOSEN = 1_000
"""Headlines that are held for later questions."""

Column: TypeAlias = NDArray[np.int64]

Headlines: TypeAlias = MutableMapping[tuple[int, tuple[str, ...]], str]
"""The headline that was chosen for a domain from some titles, in one state of the store."""

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


@dataclass(frozen=True, slots=True)
class DomainSizes:
    """The domains that have units."""

    ids: NDArray[np.integer]
    """In ascending order."""
    units: NDArray[np.integer]
    label: Callable[[int], str]
    """Returns the label of a domain."""

    @classmethod
    def read(cls, store: Store) -> DomainSizes:
        """Read the domains of a store."""
        rows = list(store.rows("SELECT id, units, label FROM domains WHERE units > 0 ORDER BY id"))
        labels = {number: label for number, _, label in rows}
        ids, units = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
        return cls(ids, units, labels.__getitem__)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Units before and since of domains or topics, in ascending order of their ids."""

    ids: Column
    before: Column
    after: Column
    totals: tuple[int, int]
    """Units before and since of all domains or topics."""

    def scores(self) -> NDArray[np.float64]:
        """Return the difference of two shares in standard errors; 0 without anything to compare."""
        n_before, n_after = self.totals
        if not n_before or not n_after:
            return np.zeros(len(self.ids))
        pooled = (self.before + self.after) / (n_before + n_after)
        spread = np.sqrt(pooled * (1 - pooled) * (1 / n_before + 1 / n_after))
        scores: NDArray[np.float64] = np.zeros(len(self.ids))
        difference = self.after / n_after - self.before / n_before
        np.divide(difference, spread, out=scores, where=spread > 0)
        return scores

    def ordered(self, chosen: NDArray[np.bool_], strength: NDArray[Any]) -> Column:
        """Return the places of those that were chosen, the strongest first, ties by id."""
        places = np.flatnonzero(chosen)
        return places[np.lexsort((self.ids[places], -strength[places]))]

    def change(self, place: int, label: Callable[[int], str]) -> DomainChange:
        """Return the row at a place."""
        number = int(self.ids[place])
        return DomainChange(number, label(number), int(self.before[place]), int(self.after[place]))


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
        domains = DomainSizes.read(store)
        counts = _counted(domains, arrivals.units)
        ranked = _ranked(counts, founded)
        new, growing, fading = (
            [counts.change(place, domains.label) for place in ranked[kind][:most].tolist()]
            for kind in KINDS[:3]
        )
        return News(
            since=run,
            stories_since=arrivals.stories,
            units_before=counts.totals[0],
            units_since=arrivals.n_units,
            new=new,
            growing=growing,
            fading=fading,
            counts={kind: len(of_kind) for kind, of_kind in ranked.items()},
            rearranged=read_rearrangements(store, run, most),
        )


def _counted(domains: DomainSizes, arrived: Mapping[int, int]) -> _Counts:
    """Return the units of all domains before and since; `arrived` are the units since."""
    numbers = np.fromiter(arrived.keys(), np.int64, len(arrived))
    counts = np.fromiter(arrived.values(), np.int64, len(arrived))
    present = np.isin(numbers, domains.ids)
    after = np.zeros(len(domains.ids), np.int64)
    after[np.searchsorted(domains.ids, numbers[present])] = counts[present]
    before = domains.units - after
    return _Counts(
        domains.ids.astype(np.int64), before, after, (int(before.sum()), int(after.sum()))
    )


def _ranked(counts: _Counts, founded: set[int] | None) -> dict[str, Column]:
    """Return the places of new, growing and fading domains, the strongest change first, ties by id.

    `founded` are the domains that may be new: if None, those that had no unit before.
    """
    before, after = counts.before, counts.after
    candidates = before == 0 if founded is None else np.isin(counts.ids, list(founded))
    new = candidates & (after > before)
    scores = counts.scores()
    return {
        "new": counts.ordered(new & (after > 1), after),
        "growing": counts.ordered(~new & (scores > DEVIATIONS) & (after >= MIN_UNITS), scores),
        "fading": counts.ordered(~new & (scores < -DEVIATIONS), -scores),
    }


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


class KnownArrivals(Protocol):
    """Knows which units arrived when, such as `Activity`."""

    def arrived_since(self, bound: str | int) -> Mapping[int, int] | None:
        """Return the units that arrived after a run or since a date, by domain, if known."""

    def newest_since(self, domains: Sequence[int], bound: str | int, newest: int) -> list[int]:
        """Return those of the newest units of each domain that arrived since then."""


def _newest(
    arrivals: KnownArrivals, bound: str | int, domains: Sequence[int], newest: int
) -> list[int]:
    return arrivals.newest_since(domains, bound, newest)


def read_today(
    store: Store,
    since: str | int | None = None,
    *,
    most: int = 12,
    outline: Outline | None = None,
    arrivals: KnownArrivals | None = None,
    words: Words | None = None,
    domains: DomainSizes | None = None,
    headlines: Headlines | None = None,
) -> Today:
    """Return what is new, rising and falling, at most `most` domains of each kind in a section.

    Without `since`, what the last night brought, or the last run that learned. Where nothing was
    learned before, everything is new and the largest domains come first. `outline`, `words`,
    the sizes of the `domains`, `arrivals` and some `headlines` are given if they are known already;
    those that are chosen now are added.
    """
    with store.frozen():
        bound = _last_night(store) if since is None else _bound(store, since)
        known = None if arrivals is None else arrivals.arrived_since(bound)
        arrived = units_since(store, bound) if known is None else known
        outline, domains = outline or read_outline(store), domains or DomainSizes.read(store)
        counts = _counted(domains, arrived)
        kinds = _ranked(counts, _founded(store, bound) if isinstance(bound, int) else None)
        kinds["active"] = _others(counts, kinds)
        labels = section_labels(store) if outline.section_of else {}
        of_section: dict[int, dict[str, list[DomainChange]]] = {}
        for kind, ranked in kinds.items():
            _, sections_of = outline.groups_of(counts.ids[ranked])
            for section in np.unique(sections_of).tolist():
                of_section.setdefault(section, {})[kind] = [
                    counts.change(place, domains.label)
                    for place in ranked[sections_of == section][:most].tolist()
                ]
        changed = np.flatnonzero(counts.after)
        topics_of, sections_of = outline.groups_of(counts.ids[changed])
        sizes = _summed(sections_of, counts.after[changed])
        for section in sizes:
            of_section.setdefault(section, {})
        topics = _topics(store, _summed(topics_of, counts.after[changed]), outline, most)
        units = None if arrivals is None or known is None else partial(_newest, arrivals, bound)
        describe = _Headlines(store, bound, words, units, headlines)
        listed = {
            section: [of.get(kind, []) for kind in KINDS] for section, of in of_section.items()
        }
        described = iter(describe([c for lists in listed.values() for some in lists for c in some]))
        shown = {
            section: [list(itertools.islice(described, len(some))) for some in lists]
            for section, lists in listed.items()
        }
        sections = [
            TodaySection(
                None if section == NO_GROUP else section,
                labels.get(section, UNGROUPED),
                sizes.get(section, 0),
                topics.get(section, []),
                *shown[section],
            )
            for section in sorted(shown, key=lambda one: (-sizes.get(one, 0), one == NO_GROUP, one))
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


def _others(counts: _Counts, kinds: Mapping[str, Column]) -> Column:
    """Return the places of domains with new units that are of no other kind, most units first.

    A domain of one unit in all is not news.
    """
    others = (counts.after > 0) & (counts.before + counts.after > 1)
    for listed in kinds.values():
        others[listed] = False
    return counts.ordered(others, counts.after)


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


def _summed(groups: NDArray[np.integer], counts: Column) -> dict[int, int]:
    """Return the sum of the counts of each group."""
    numbers, places = np.unique(groups, return_inverse=True)
    sums = np.bincount(places, counts, len(numbers)).astype(np.int64)  # exact below 2 ** 53
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))


def _topics(
    store: Store, units: Mapping[int, int], outline: Outline, most: int
) -> dict[int, list[TodayTopic]]:
    """Return the topics by section, at most `most` of a section; `units` are those since then.

    Rising ones come first, then the largest.
    """
    after = {topic: n_units for topic, n_units in units.items() if topic != NO_GROUP}
    numbers = np.array(sorted(after), np.int64)
    since = np.array([after[topic] for topic in numbers.tolist()], np.int64)
    before = np.array([outline.units[topic] for topic in numbers.tolist()], np.int64) - since
    n_after = sum(after.values())
    sums = _Counts(numbers, before, since, (sum(outline.units.values()) - n_after, n_after))
    growing = _ranked(sums, set())["growing"]
    is_rising = np.zeros(len(numbers), np.bool_)
    is_rising[growing] = True
    by_section: dict[int, list[int]] = {}
    for place in (*growing.tolist(), *sums.ordered(~is_rising, since).tolist()):
        of_section = by_section.setdefault(
            outline.section_of.get(int(numbers[place]), NO_GROUP), []
        )
        if len(of_section) < most:
            of_section.append(place)
    shown = [int(numbers[place]) for some in by_section.values() for place in some]
    labels = {topic: outline.names[topic][1] or outline.labels.get(topic, "") for topic in shown}
    unnamed = {topic for topic, label in labels.items() if not label}
    labels |= topic_labels(store, unnamed) if unnamed else {}
    return {
        section: [
            TodayTopic(
                topic := int(numbers[place]),
                labels[topic],
                bool(is_rising[place]),
                int(since[place]),
                int(before[place]),
            )
            for place in places
        ]
        for section, places in by_section.items()
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
        domains = DomainSizes.read(store)
        counts = _counted(domains, read_arrivals(store, run).units)
        ranked = _ranked(counts, _founded(store, run))
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
                    for one in describe(
                        [counts.change(place, domains.label) for place in ranked[kind][:most]]
                    )
                ]
                for kind in ("new", "growing")
            )
        )


class _Headlines:
    """Chooses for each domain a headline of the stories since a run or date."""

    def __init__(
        self,
        store: Store,
        bound: str | int,
        words: Words | None = None,
        units: UnitsSince | None = None,
        chosen: Headlines | None = None,
    ) -> None:
        self._store, self._bound, self._words = store, bound, words or Words(store)
        self._units = units
        self._chosen = {} if chosen is None else chosen
        looked_for = units is None and isinstance(bound, int)
        self._first = first_unit_after(store, int(bound)) if looked_for else 0

    def __call__(self, changes: Sequence[DomainChange]) -> list[TodayDomain]:
        older = [change.id for change in changes if change.before]
        titles = headlines_since(
            self._store, older, self._bound, first=self._first, units=self._units
        )
        described = []
        for change in changes:
            headline = self._chosen_of(change.id, tuple(titles.get(change.id, ())))
            described.append(
                TodayDomain(
                    change.id, change.label, headline or change.label, change.after, change.before
                )
            )
        return described

    def _chosen_of(self, domain: int, titles: tuple[str, ...]) -> str:
        """Return the title that represents a domain best; empty if none does."""
        headline = self._chosen.get((domain, titles))
        if headline is None:
            weights = self._words.of_domain(domain, HEADLINE_WORDS) if titles else {}
            headline = best_headline(titles, weights)
            if len(self._chosen) < MOST_CHOSEN:
                self._chosen[domain, titles] = headline
        return headline
