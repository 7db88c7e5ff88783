"""Domains: the list with its best words, now or at an earlier moment, and one domain in full."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from segapsith.domains.trends import Burst, Stream, Trend, bursts, trend
from segapsith.domains.values import LABEL_WORDS, DomainWords
from segapsith.errors import MissingInputError
from segapsith.lexicon.sentences import Passage, typical_sentences
from segapsith.model import Json, Result, html_table, optional
from segapsith.plugin.contracts import Labeller
from segapsith_store import codecs
from segapsith_store.queries import history
from segapsith_store.queries.browsing.neighbours import read_vectors
from segapsith_store.queries.browsing.subjects import MediaTopic, media_topics_of
from segapsith_store.queries.documents import HEADLINE_CHARS
from segapsith_store.queries.events import Event, EventLabels, list_events
from segapsith_store.queries.sections import PathStep, paths
from segapsith_store.queries.topics import section_of_topic, topic_of_domain
from segapsith_store.queries.words import WeightedWord, Words
from segapsith_store.store import Store

__all__ = [
    "Domain",
    "DomainDetails",
    "DomainStory",
    "Earlier",
    "NearDomain",
    "TypicalSentence",
    "count_domains",
    "count_forgotten_since",
    "domain_dates",
    "domain_labels",
    "iterate_domain_days",
    "list_domains",
    "read_lineage",
    "show_domain",
    "successors",
    "typical_of",
    "weighted_words",
]

LabelAt = Callable[
    [history.Moment, Mapping[int, DomainWords], Mapping[int, str]], Mapping[int, str]
]
"""Takes a moment, the word sums of domains then and their languages; returns their labels."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run or date, and what computes the labels that domains had then."""

    at: str | int
    label: LabelAt | None = None


EVENTS = 100
"""Events of a domain that are listed with it."""

SENTENCES = 3
"""Typical sentences of a domain."""

SENTENCE_UNITS = 200
"""Units that are searched for them: those with the highest scores."""

SENTENCE_WORDS = 20
"""Words of the domain by which they are ranked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(Result):
    """A domain with its best words, dates and trend."""

    id: int
    label: str
    lang: str
    status: str
    locked: bool
    units: int
    documents: int
    units_since: int | None = optional()
    """Units of the stories since the requested date or run."""
    undated: int
    """Units of stories without a date."""
    first: str | None
    last: str | None
    topic: int | None
    section: int | None
    days: Mapping[str, int] | None = optional()
    """Units by day, if requested."""
    trend: Trend
    words: Sequence[WeightedWord]

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        shown = {
            "language": self.lang,
            "units": self.units,
            "documents": self.documents,
            "days": f"{self.first or '–'} to {self.last or '–'}",
            "words": ", ".join(f"{one.word} ({one.weight:.2f})" for one in self.words[:12]),
        }
        return html_table(f"Domain {self.id}: {self.label}", shown.items())


@dataclass(frozen=True, slots=True)
class TypicalSentence(Result):
    """A sentence that contains many of the best words of a domain."""

    text: str
    unit: int
    document: str


@dataclass(frozen=True, slots=True)
class NearDomain(Result):
    """Another domain of the same language, with the similarity by eq. 7."""

    id: int
    label: str
    similarity: float


@dataclass(frozen=True, slots=True)
class DomainStory(Result):
    """A story of a domain, with those of its units that are in the domain."""

    document: str
    title: str
    """Its headline, or the beginning of its text."""
    date: str | None
    source: str
    unit_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDetails(Domain):
    """A domain with its units, documents, days, history and nearest domains."""

    inferred: Mapping[str, int]
    """Words inferred for its units, with the number of those units; most frequent first."""
    unit_ids: Sequence[int]
    document_ids: Sequence[str]
    stories: Sequence[DomainStory]
    """Its stories, the newest first, those without a date last."""
    bursts: Sequence[Burst]
    sentences: Sequence[TypicalSentence]
    history: Sequence[Mapping[str, Json]]
    """Changes in order: `run`, `at`, `kind`, what the change noted, and `undone` if it was."""
    near: Sequence[NearDomain]
    path: Sequence[PathStep]
    """From its section and topic down to itself."""
    media_topics: Sequence[MediaTopic]
    """Top-level IPTC topics of its stories, most frequent first."""
    events: Sequence[Event]
    """Its latest events, at most `EVENTS` of them, the latest first."""


# -- the list ------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """The columns of a domain that describe it."""

    id: int
    label: str
    named: bool
    lang: str
    status: str
    locked: bool


@dataclass(slots=True)
class _Lifetime:
    """The units of a domain by day."""

    units: int = 0
    documents: int = 0
    undated: int = 0
    first: str | None = None
    last: str | None = None
    days: dict[str, int] = field(default_factory=dict)


def domain_dates(store: Store) -> dict[int, tuple[str | None, str | None]]:
    """Return the dates of the first and the last story of each domain."""
    with store.frozen():
        lifetimes, _ = _lifetimes(store, None, None)
    return {number: (one.first, one.last) for number, one in lifetimes.items()}


def list_domains(
    store: Store,
    *,
    min_units: int = 1,
    top: int | None = 10,
    since: str | int | None = None,
    limit: int | None = None,
    lang: str | None = None,
    as_of: str | int | Earlier | None = None,
    days: bool = False,
) -> list[Domain]:
    """Return domains with their `top` best words, largest first, ties by id.

    `as_of` is a run or date: domains are shown as they were then, with their best words as labels
    or with those that an `Earlier` computes. `since` is a run or date: only domains
    with stories of that day or later, or read by later runs. `days` adds the units by day.
    """
    least = max(1, min_units)
    with store.frozen():
        then = as_of if isinstance(as_of, Earlier) or as_of is None else Earlier(as_of)
        moment = None if then is None else history.moment(store, then.at)
        arrived = None if since is None else units_since(store, since, moment)
        some = least > 1 or limit is not None or lang is not None
        now = moment is None and arrived is None
        only = _largest(store, least, limit, lang) if some and now else None
        lifetimes, stream = _lifetimes(store, moment, only)
        rows = [
            row
            for row in _rows(store)
            if row.id in lifetimes
            and lifetimes[row.id].units >= least
            and lang in (None, row.lang)
            and (arrived is None or row.id in arrived)
        ]
        rows.sort(key=lambda row: (-lifetimes[row.id].units, row.id))
        rows = rows[:limit]
        words = Words(store)
        if then is None or moment is None:
            sums = _sums_of(store, [row.id for row in rows])
        else:
            sums = history.sums(store, moment, {row.id for row in rows})
            changed = history.states(store, moment)
            rows = [_row_before(row, changed.get(row.id, {})) for row in rows]
            rows = _labelled_before(
                store, rows, sums, words, then.label and partial(then.label, moment)
            )
        topic_of, section_of = topic_of_domain(store), section_of_topic(store)
        best = words.best_of_each([sums[row.id] for row in rows], top)
        return [
            _domain(
                row,
                lifetimes[row.id],
                groups=_groups(row.id, topic_of, section_of),
                units_since=None if arrived is None else arrived[row.id],
                days=days,
                stream=stream,
                words=listed,
            )
            for row, listed in zip(rows, best, strict=True)
        ]


def _groups(
    domain: int, topic_of: Mapping[int, int], section_of: Mapping[int, int]
) -> tuple[int | None, int | None]:
    """Return the topic and the section of a domain."""
    topic = topic_of.get(domain)
    return topic, None if topic is None else section_of.get(topic)


def _domain(
    row: _Row,
    lifetime: _Lifetime,
    *,
    groups: tuple[int | None, int | None],
    units_since: int | None,
    days: bool,
    stream: Stream,
    words: Sequence[WeightedWord],
) -> Domain:
    return Domain(
        id=row.id,
        label=row.label,
        lang=row.lang,
        status=row.status,
        locked=bool(row.locked),
        units=lifetime.units,
        documents=lifetime.documents,
        units_since=units_since,
        undated=lifetime.undated,
        first=lifetime.first,
        last=lifetime.last,
        topic=groups[0],
        section=groups[1],
        days=lifetime.days if days else None,
        trend=trend(lifetime.days, stream),
        words=words,
    )


def _rows(store: Store, where: str = "", parameters: Sequence[int] = ()) -> list[_Row]:
    return [
        _Row(*row)
        for row in store.rows(
            f"SELECT id, label, named, lang, status, locked FROM domains {where} ORDER BY id",
            parameters,
        )
    ]


def _row_before(row: _Row, before: Mapping[str, Any]) -> _Row:
    """Return a row with the values that later runs changed."""
    columns = {
        name: before[name] for name in ("label", "named", "status", "locked") if name in before
    }
    return row._replace(**columns)


def _labelled_before(
    store: Store,
    rows: Sequence[_Row],
    sums: Mapping[int, DomainWords],
    words: Words,
    label: Callable[[Mapping[int, DomainWords], Mapping[int, str]], Mapping[int, str]] | None,
) -> list[_Row]:
    """Return rows of an earlier moment, with labels of then for those that had no name.

    A domain that has the same sums now has the same label.
    """
    unnamed = {
        row.id: sums[row.id]
        for row in rows
        if not row.named and not _equal(sums[row.id], _sums(store, row.id))
    }
    if label is None:
        labels = {number: _label(words.best(own, LABEL_WORDS)) for number, own in unnamed.items()}
    else:
        labels = dict(label(unnamed, {row.id: row.lang for row in rows}))
    return [row._replace(label=labels[row.id]) if row.id in labels else row for row in rows]


def _equal(left: DomainWords, right: DomainWords) -> bool:
    return (
        left.n_units == right.n_units
        and np.array_equal(left.words, right.words)
        and np.array_equal(left.weights, right.weights)
    )


def _label(words: Iterable[WeightedWord]) -> str:
    return ", ".join(word.word for word in words)


def _largest(store: Store, least: int, limit: int | None, lang: str | None) -> list[int]:
    """Return the domains with at least `least` units, largest first, ties by id."""
    return [
        number
        for (number,) in store.rows(
            "SELECT id FROM domains WHERE units >= ? AND lang = coalesce(?, lang)"
            " ORDER BY units DESC, id LIMIT ?",
            [least, lang, -1 if limit is None else limit],
        )
    ]


def count_domains(store: Store, min_units: int) -> int:
    """Return how many domains have at least `min_units` units."""
    return store.number("SELECT count(*) FROM domains WHERE units >= ?", [min_units])


def _lifetimes(
    store: Store, moment: history.Moment | None, only: Sequence[int] | None
) -> tuple[dict[int, _Lifetime], Stream]:
    """Return the units by day of each domain, or of those in `only`, and of the whole stream."""
    table, parameters = history.assignments_at(moment)
    condition, hint = "", "NOT INDEXED" if moment is None else ""  # in the order of the units
    if only is not None:
        hint = ""
        condition = " WHERE a.domain IN (SELECT value FROM json_each(?))"
        parameters = [*parameters, json.dumps(list(only))]
    lifetimes: dict[int, _Lifetime] = {}
    stream: dict[str, int] = {}
    for number, day, n_units, n_documents, first, last in store.rows(
        "SELECT a.domain, substr(v.date, 1, 10) AS day, count(*), count(DISTINCT u.document),"
        f" min(v.date), max(v.date) FROM {table} a {hint} JOIN units u ON u.id = a.unit"
        f" JOIN versions v ON v.id = u.version{condition} GROUP BY a.domain, day"
        " ORDER BY a.domain, day",
        parameters,
    ):
        lifetime = lifetimes.setdefault(number, _Lifetime())
        lifetime.units += n_units
        lifetime.documents += n_documents
        if day is None:
            lifetime.undated += n_units
            continue
        lifetime.first = lifetime.first or first
        lifetime.last = last
        lifetime.days[day] = n_units
        stream[day] = stream.get(day, 0) + n_units
    return lifetimes, Stream(stream) if only is None else _stream(store)


def _stream(store: Store) -> Stream:
    """Return the units that are in a domain, by day."""
    return Stream(
        dict(
            store.rows(
                "SELECT substr(v.date, 1, 10) AS day, count(*) FROM assignments a"
                " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
                " WHERE v.date IS NOT NULL GROUP BY day"
            )
        )
    )


def units_since(
    store: Store, since: str | int, moment: history.Moment | None = None
) -> dict[int, int]:
    """Return units by domain of the stories since a date, or read by the runs after a run.

    A story without a date counts from the day on which it was read.
    """
    table, parameters = history.assignments_at(moment)
    hint = "NOT INDEXED" if moment is None else ""  # in the order of the units
    bound: str | int
    if isinstance(since, int) or since.isdigit():
        condition, bound = "WHERE d.run > ?", int(since) and history.run_at(store, since)
    else:
        condition = (
            "JOIN versions v ON v.id = u.version JOIN runs r ON r.id = d.run"
            " WHERE coalesce(v.date, r.started_at) >= ?"
        )
        bound = history.checked_date(since)
    return dict(
        store.rows(
            f"SELECT a.domain, count(*) FROM {table} a {hint} JOIN units u ON u.id = a.unit"
            f" JOIN documents d ON d.id = u.document {condition} GROUP BY a.domain",
            [*parameters, bound],
        )
    )


def count_forgotten_since(store: Store, as_of: str | int) -> int:
    """Count the documents that were forgotten after a moment, and so are missing from its list."""
    with store.frozen():
        return history.moment(store, as_of).forgotten


def weighted_words(
    store: Store, numbers: Sequence[int], top: int | None = None, above: float | None = None
) -> dict[int, list[WeightedWord]]:
    """Return the words of some domains, heaviest first: all of them, or the `top` heaviest and
    those that weigh more than `above`."""
    with store.frozen():
        words = Words(store)
        return {number: words.best(_sums(store, number), top, above) for number in numbers}


def domain_labels(store: Store) -> dict[int, str]:
    """Return the label of every domain, merged and empty ones included."""
    return dict(store.rows("SELECT id, label FROM domains"))


def _sums(store: Store, number: int) -> DomainWords:
    row = store.row("SELECT words, units FROM domains WHERE id = ?", [number])
    assert row is not None
    return codecs.domain_from(*row)


def _sums_of(store: Store, numbers: Sequence[int]) -> dict[int, DomainWords]:
    rows = store.rows(
        "SELECT id, words, units FROM domains WHERE id IN (SELECT value FROM json_each(?))",
        [json.dumps(list(numbers))],
    )
    return {number: codecs.domain_from(words, n_units) for number, words, n_units in rows}


# -- one domain ----------------------------------------------------------------------------------


class _Member(NamedTuple):
    """A unit of a domain."""

    unit: int
    document: str
    date: str | None
    title: str
    begin: str
    """The first characters of the text after the title."""
    source: str
    words: bytes


def show_domain(
    store: Store,
    number: int,
    *,
    top: int | None = 40,
    near: int = 8,
    labeller: Labeller | None = None,
) -> DomainDetails:
    """Return one domain with its `top` best words and at most `near` nearest domains."""
    with store.frozen():
        row = next(iter(_rows(store, "WHERE id = ? AND units > 0", [number])), None)
        if row is None:
            raise MissingInputError(
                f"there is no domain {number}{successors(store, number)};"
                " `segapsith domains` lists them"
            )
        sums, members = _sums(store, number), _members(store, number)
        words, stream = Words(store), _stream(store)
        dates = [member.date for member in members if member.date]
        days: dict[str, int] = {}
        for date in sorted(dates):
            days[date[:10]] = days.get(date[:10], 0) + 1
        document_ids = list(dict.fromkeys(member.document for member in members))
        topic, section = _groups(number, topic_of_domain(store), section_of_topic(store))
        return DomainDetails(
            id=number,
            label=row.label,
            lang=row.lang,
            status=row.status,
            locked=bool(row.locked),
            units=sums.n_units,
            documents=len(document_ids),
            undated=len(members) - len(dates),
            first=min(dates, default=None),
            last=max(dates, default=None),
            topic=topic,
            section=section,
            path=paths(store, {number: row.label})[number],
            days=days,
            trend=trend(days, stream),
            words=words.best(sums, top),
            inferred=_inferred(members, words),
            unit_ids=[member.unit for member in members],
            document_ids=document_ids,
            stories=_stories(members),
            bursts=bursts(days, stream),
            sentences=typical_of(store, number, words.best(sums, SENTENCE_WORDS)),
            history=read_lineage(store, number),
            near=_near(store, number, near),
            media_topics=media_topics_of(store, number, row.lang),
            events=list_events(store, domain=number, limit=EVENTS, labels=EventLabels(labeller)),
        )


def _members(store: Store, number: int) -> list[_Member]:
    return [
        _Member(*row)
        for row in store.rows(
            "SELECT u.id, d.uid, v.date, v.title, substr(v.body, 1, ?), v.source, u.words"
            " FROM assignments a JOIN units u ON u.id = a.unit"
            " JOIN documents d ON d.id = u.document JOIN versions v ON v.id = u.version"
            " WHERE a.domain = ? ORDER BY u.id",
            [HEADLINE_CHARS, number],
        )
    ]


def _stories(members: Sequence[_Member]) -> list[DomainStory]:
    """Return the stories of some units, the newest first, those without a date last."""
    units: dict[str, list[_Member]] = {}
    for member in members:
        units.setdefault(member.document, []).append(member)
    stories = [
        DomainStory(
            document,
            " ".join((own[0].title or own[0].begin or document).split()),
            own[0].date,
            own[0].source,
            [member.unit for member in own],
        )
        for document, own in units.items()
    ]
    return sorted(stories, key=lambda story: story.date or "", reverse=True)


def successors(store: Store, number: int) -> str:
    """Return into which domains a domain without units was merged or split, for a message."""
    event = store.row(
        "SELECT e.kind, e.detail, e.run FROM lineage e JOIN runs r ON r.id = e.run"
        " WHERE e.domain = ? AND e.kind IN ('merged', 'split') AND r.status <> 'undone'"
        " ORDER BY e.id DESC LIMIT 1",
        [number],
    )
    if event is None:
        return ""
    kind, detail, run = event
    into = json.loads(detail)["into"]
    numbers = ", ".join(map(str, into if isinstance(into, list) else [into]))
    return f" any more: it was {kind} into {numbers} by run {run}"


def _inferred(members: Iterable[_Member], words: Words) -> dict[str, int]:
    """Return the words inferred for units, with the number of units; most frequent first."""
    counts: dict[int, int] = {}
    for member in members:
        bag = codecs.bag_from(member.words)
        for word in bag.words[bag.counts == 0].tolist():
            counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return {words.name(word): n_units for word, n_units in ranked}


def typical_of(
    store: Store, number: int, words: Sequence[WeightedWord], most_units: int = SENTENCE_UNITS
) -> list[TypicalSentence]:
    """Return sentences with many of the words, among the units of a domain that fit it best."""
    passages = (
        Passage(*row)
        for row in store.rows(
            "SELECT t.id, t.document, t.text FROM unit_texts t WHERE t.domain = ?"
            " ORDER BY t.score DESC, t.id LIMIT ?",
            [number, most_units],
        )
    )
    weights = {word.word: word.weight for word in words}
    return [
        TypicalSentence(passage.text, passage.unit, passage.document)
        for passage in typical_sentences(passages, weights, most=SENTENCES)
    ]


def read_lineage(store: Store, number: int) -> list[dict[str, Json]]:
    """Return the changes of a domain in order: run, time, kind and what the change noted."""
    return [
        {
            "run": run,
            "at": at,
            "kind": kind,
            **json.loads(detail),
            **({"undone": True} if status == "undone" else {}),
        }
        for run, at, kind, detail, status in store.rows(
            "SELECT e.run, r.started_at, e.kind, e.detail, r.status FROM lineage e"
            " JOIN runs r ON r.id = e.run WHERE e.domain = ? ORDER BY e.id",
            [number],
        )
    ]


def _near(store: Store, number: int, most: int) -> list[NearDomain]:
    """Return the most similar other domains of the language, ties by id."""
    near = read_vectors(store).near(number, most)
    labels = domain_labels(store)
    return [NearDomain(one.id, labels[one.id], one.similarity) for one in near]


def iterate_domain_days(store: Store) -> Iterator[dict[str, str | int | None]]:
    """Yield the units of each domain by day, by day and domain."""
    names = ("domain", "label", "day", "units")
    for row in store.rows("SELECT domain, label, day, units FROM domain_days ORDER BY day, domain"):
        yield dict(zip(names, row, strict=True))
