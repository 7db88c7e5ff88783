"""Events: stories that tell the same happening, with their days and a headline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from segapsith.domains.events import story_vectors
from segapsith.domains.naming import clean_headline, first_sentence, in_capitals, tidy
from segapsith.domains.values import LABEL_WORDS, DomainWords
from segapsith.errors import MissingInputError
from segapsith.model import Result, Subject
from segapsith.plugin.contracts import Labeller
from segapsith_store import codecs
from segapsith_store.queries.history import checked_date
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = ["Event", "EventLabels", "list_events"]

HEADLINE_CHARS = 100
"""Characters of a text without a title that stand for one, cut between words."""

COMPARED_STORIES = 100
"""Stories of an event among which the headline is searched: the first ones."""

MOST_LABELS = 5_000
"""Labels that are held for later questions."""

SUBJECT_WORDS = 40
"""Heaviest words of an event that a labeller receives."""


@dataclass(frozen=True, slots=True)
class Event(Result):
    """An event: its domain is the one that most of its units are in, the older of two."""

    id: int
    domain: int
    label: str
    first: str | None
    last: str | None
    units: int
    stories: int
    closed: bool


def list_events(
    store: Store,
    *,
    since: str | None = None,
    until: str | None = None,
    domain: int | None = None,
    min_stories: int = 1,
    limit: int | None = None,
    offset: int = 0,
    labels: EventLabels | None = None,
) -> list[Event]:
    """Return events, the latest first; of one day those with most stories first, ties by id.

    `since` and `until` select those with a day in this period, `domain` those of a domain, and
    `limit` and `offset` a part of the list. `labels` names the events (default: without a labeller).
    """
    conditions: dict[str, Any] = {"units > 0 AND stories >= ?": min_stories}
    if since is not None:
        conditions["last >= ?"] = checked_date(since)[:10]
    if until is not None:
        bound = checked_date(until)[:10]
        conditions["first <= ?"] = bound if len(bound) == 10 else f"{bound}-31"
    if domain is not None:
        conditions["id IN (SELECT event FROM assignments WHERE domain = ?)"] = domain
    with store.frozen():
        if domain is not None and not store.row("SELECT 1 FROM domains WHERE id = ?", [domain]):
            raise MissingInputError(f"there is no domain {domain}; `segapsith domains` lists them")
        # the domain of an event is counted below, so a part of the list is cut there
        cut = (-1, 0) if domain is not None else (-1 if limit is None else limit, offset)
        rows = list(
            store.rows(
                "SELECT id, first, last, units, stories, closed_by IS NOT NULL, words FROM events"
                f" WHERE {' AND '.join(conditions)} ORDER BY last DESC, stories DESC, units DESC, id LIMIT ? OFFSET ?",
                [*conditions.values(), *cut],
            )
        )
        domains = _domains(store, [row[0] for row in rows])
        if domain is not None:
            end = None if limit is None else offset + limit
            rows = [row for row in rows if domains[row[0]] == domain][offset:end]
        sums = {row[0]: codecs.domain_from(row[6], row[4]) for row in rows}
        named = (labels or EventLabels()).of(store, sums)
        different = _different(named, domains, {row[0]: row[1] for row in rows})
        return [
            Event(
                number,
                domains[number],
                different[number],
                first,
                last,
                units,
                stories,
                bool(closed),
            )
            for number, first, last, units, stories, closed, _ in rows
        ]


def _domains(store: Store, events: Sequence[int]) -> dict[int, int]:
    """Return the domain of each event: the one that most of its units are in."""
    rows = store.rows(
        "SELECT event, domain FROM assignments WHERE event IN (SELECT value FROM json_each(?))"
        " GROUP BY event, domain ORDER BY event, count(*), domain DESC",
        [json.dumps(events)],
    )
    return dict(rows)  # of the rows of an event the last one stays


class EventLabels:
    """Names the events of one state of the store: by a labeller, else a headline, else words.

    The headline is the one that is nearest to the centre of the event.
    """

    def __init__(self, labeller: Labeller | None = None) -> None:
        self._labeller = labeller
        self._known: dict[int, str] = {}

    def of(self, store: Store, sums: Mapping[int, DomainWords]) -> dict[int, str]:
        """Return the label of each event by its number; each is computed once."""
        known = {event: self._known[event] for event in sums if event in self._known}
        missing = {event: of_event for event, of_event in sums.items() if event not in known}
        made = _labels(store, missing, self._labeller) if missing else {}
        if len(self._known) + len(made) <= MOST_LABELS:
            self._known.update(made)
        return known | made


def _labels(
    store: Store, sums: Mapping[int, DomainWords], labeller: Labeller | None
) -> dict[int, str]:
    """Return the label of each event: by a labeller, else a headline, else its heaviest words."""
    words = Words(store)
    labels: dict[int, str] = {}
    rows = store.rows(
        "SELECT a.event, u.document, v.title, substr(v.body, 1, ?), u.words, v.lang"
        " FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        " WHERE a.event IN (SELECT value FROM json_each(?)) ORDER BY a.event, u.document, u.id",
        [4 * HEADLINE_CHARS, json.dumps(list(sums))],
    )
    for event, of_event in groupby(rows, key=itemgetter(0)):
        members = list(of_event)
        headlines = _headlines(members, sums[event])
        named = ""
        if labeller is not None:
            best = words.best(sums[event], SUBJECT_WORDS)
            weights = {word.word: word.weight for word in best}
            named = tidy(labeller.label(Subject("event", members[0][5], weights, headlines)))
        labels[event] = (
            named
            or next(iter(headlines), "")
            or ", ".join(word.word for word in words.best(sums[event], LABEL_WORDS))
        )
    return labels


def _headlines(members: Iterable[Sequence[Any]], sums: DomainWords) -> list[str]:
    """Return the headlines of the stories of an event, the nearest to its sums first."""
    stories: list[tuple[str, list[bytes]]] = []
    for (_, title, body), units in groupby(members, key=itemgetter(1, 2, 3)):
        instead = first_sentence(body) if in_capitals(title) else ""
        headline = clean_headline(title) or instead or " ".join(title.split()) or _beginning(body)
        blobs = [unit[4] for unit in units]
        if headline and len(stories) < COMPARED_STORIES:
            stories.append((headline, blobs))
    if len(stories) < 2:
        return [headline for headline, _ in stories]
    ends, words, values = story_vectors(
        [[codecs.bag_from(blob) for blob in blobs] for _, blobs in stories], compiled=False
    )
    known = np.searchsorted(sums.words, words)
    products = np.add.reduceat(sums.weights[known] * values, np.concatenate([[0], ends[:-1]]))
    return [stories[place][0] for place in np.argsort(-products, kind="stable").tolist()]


def _beginning(body: str) -> str:
    """Return the first line of a text, cut between words if it is long."""
    line = next((" ".join(line.split()) for line in body.splitlines() if line.strip()), "")
    if len(line) <= HEADLINE_CHARS:
        return line
    return line[:HEADLINE_CHARS].rsplit(" ", 1)[0] + " …"


def _different(
    labels: Mapping[int, str], domains: Mapping[int, int], first: Mapping[int, str | None]
) -> dict[int, str]:
    """Return labels of which no two of one domain are equal: a later one has its day or id."""
    given: set[tuple[int, str]] = set()
    different: dict[int, str] = {}
    for event, label in sorted(labels.items()):
        choices = (label, f"{label} ({first[event]})", f"{label} (event {event})")
        name = next(c for c in choices if (domains[event], c) not in given)
        given.add((domains[event], name))
        different[event] = name
    return different
