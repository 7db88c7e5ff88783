"""What pages ask of a store: many domains at once, stories, days and differences.

Columns of the whole store are held in memory and read again after each run. While a run writes,
they are read again from time to time only, so that reading stays quick.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from segapsith.api.session import Session
from segapsith.domains.trends import Burst, Trend, bursts, trend
from segapsith.errors import MissingInputError
from segapsith.model import Json, Result
from segapsith_store import Store
from segapsith_store.queries import history
from segapsith_store.queries.activity import (
    Activity,
    Described,
    Lifetime,
    StoreState,
    read_activity,
    read_state,
)
from segapsith_store.queries.differences import Differences, differences
from segapsith_store.queries.domains import (
    NearDomain,
    TypicalSentence,
    read_lineage,
    successors,
    typical_of,
)
from segapsith_store.queries.neighbours import DomainVectors, read_vectors
from segapsith_store.queries.stories import (
    Story,
    UnitSummary,
    best_units,
    count_sources,
    describe_units,
    read_story,
)
from segapsith_store.queries.story_search import (
    StoryColumns,
    StoryHits,
    StoryQuery,
    find_stories,
    read_columns,
)
from segapsith_store.queries.topics import Topic, list_topics
from segapsith_store.queries.validations import last_validations
from segapsith_store.queries.words import WeightedWord, WordCounts, Words, read_word

__all__ = ["Browsing", "DomainPage", "Peak", "WordDomain", "WordPage"]

T = TypeVar("T")

LEAST_AGE = 2.0
"""Seconds for which columns are used at least while a run writes."""

AGE_PER_COST = 20.0
"""They are used at least this many times as long as reading them took."""

SENTENCE_WORDS, SENTENCE_UNITS = 20, 40
"""Words and units that typical sentences are chosen by."""

MOST_PEAKS = 5


@dataclass(frozen=True, slots=True)
class Peak(Result):
    """A day on which a domain had far more units than expected, with its best headline."""

    burst: Burst
    story: UnitSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPage(Result):
    """A domain with everything but its list of stories."""

    row: Described
    lifetime: Lifetime
    topic: int | None
    trend: Trend
    words: Sequence[WeightedWord]
    days: Mapping[str, int]
    peaks: Sequence[Peak]
    sentences: Sequence[TypicalSentence]
    sources: Mapping[str, int]
    near: Sequence[NearDomain]
    history: Sequence[Mapping[str, Json]]
    verdict: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class WordDomain(Result):
    """A domain that has a word, and the weight of the word in it."""

    id: int
    label: str
    units: int
    weight: float


@dataclass(frozen=True, slots=True)
class WordPage(Result):
    """A word with its counts, the domains that have it, and its stories by day."""

    word: WordCounts
    domains: Sequence[WordDomain]
    hits: StoryHits


class _Kept(Generic[T]):
    """A value that is read from the store once after each run."""

    def __init__(self, read: Callable[[Store, T | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._held: tuple[StoreState, T, float, float] | None = None
        """State of the store, value, time of reading, seconds that reading took."""

    def get(self, store: Store) -> T:
        """Return the value for the present state of the store."""
        state = read_state(store)
        held = self._held
        if held is not None and self._is_fresh(held, state):
            return held[1]
        with self._lock:
            held = self._held
            if held is not None and self._is_fresh(held, state):
                return held[1]
            began = time.monotonic()
            value = self._read(store, None if held is None else held[1])
            now = time.monotonic()
            self._held = (state, value, now, now - began)
            return value

    @staticmethod
    def _is_fresh(held: tuple[StoreState, T, float, float], state: StoreState) -> bool:
        at, _, read, cost = held
        if at == state or (at.run, at.position) > (state.run, state.position):
            return True
        return state.changing and time.monotonic() - read < max(LEAST_AGE, AGE_PER_COST * cost)


class Browsing:
    """Questions of pages: `wire.browse.story(…)`, `wire.browse.activity()` and others."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._activity: _Kept[Activity] = _Kept(read_activity)
        self._vectors: _Kept[DomainVectors] = _Kept(read_vectors)
        self._columns: _Kept[StoryColumns] = _Kept(read_columns)
        self._topics: _Kept[Sequence[Topic]] = _Kept(lambda store, _: list_topics(store, top=12))
        self._validations: _Kept[Sequence[Mapping[str, Any]]] = _Kept(
            lambda store, _: last_validations(store)
        )

    # -- columns of the whole store ----------------------------------------------------------

    def state(self) -> StoreState:
        """Return the last run and how far it is."""
        return self._session.read(read_state)

    def activity(self, as_of: str | int | None = None) -> Activity:
        """Return which unit is in which domain, now or as of a run or date."""
        if as_of is None:
            return self._session.read(self._activity.get)
        return self._session.read(
            lambda store: read_activity(store, self._activity.get(store), as_of)
        )

    def vectors(self) -> DomainVectors:
        """Return the words of all domains."""
        return self._session.read(self._vectors.get)

    def columns(self) -> StoryColumns:
        """Return document, day, language and source of each text."""
        return self._session.read(self._columns.get)

    def topics(self) -> Sequence[Topic]:
        """Return the topics of the last grouping, largest first."""
        return self._session.read(self._topics.get)

    def topic_of(self, domain: int) -> Topic | None:
        """Return the topic of a domain, if it has one."""
        return next((topic for topic in self.topics() if domain in topic.domains), None)

    def validations(self) -> Sequence[Mapping[str, Any]]:
        """Return the newest validation of each language with all its figures."""
        return self._session.read(self._validations.get)

    # -- one thing ---------------------------------------------------------------------------

    def domain(
        self, number: int, *, as_of: str | int | None = None, top: int = 40, near: int = 8
    ) -> DomainPage:
        """Return a domain for a page, now or as of a run or date."""
        with self._session.reading() as store:
            activity = self.activity(as_of)
            row = activity.described.get(number)
            if row is None:
                raise MissingInputError(
                    f"there is no domain {number}{successors(store, number)};"
                    " `segapsith domains` lists them"
                )
            words = self._words(store, activity, number, now=as_of is None, top=top)
            days = activity.by_day(number)
            topic = self.topic_of(number)
            if as_of is not None and not row.named:
                row = row._replace(label=", ".join(word.word for word in words[:3]))
            return DomainPage(
                row=row,
                lifetime=activity.lifetime(number),
                topic=None if topic is None else topic.id,
                trend=trend(days, activity.stream),
                words=words,
                days=days,
                peaks=self._peaks(store, activity, number, days),
                sentences=typical_of(store, number, words[:SENTENCE_WORDS], SENTENCE_UNITS),
                sources=count_sources(store, number),
                near=[] if as_of is not None else self._near(store, activity, number, near),
                history=read_lineage(store, number),
                verdict=self.verdict(number),
            )

    def _words(
        self, store: Store, activity: Activity, number: int, *, now: bool, top: int
    ) -> list[WeightedWord]:
        sums = self._vectors.get(store).sums(number) if now else None
        if sums is None:
            sums = history.sum_units(store, activity.members(number).tolist())
        return Words(store).best(sums, top)

    def _near(self, store: Store, activity: Activity, number: int, most: int) -> list[NearDomain]:
        return [
            NearDomain(one.id, activity.described[one.id].label, one.similarity)
            for one in self._vectors.get(store).near(number, most)
            if one.id in activity.described
        ]

    @staticmethod
    def _peaks(
        store: Store, activity: Activity, number: int, days: Mapping[str, int]
    ) -> list[Peak]:
        strongest = sorted(bursts(days, activity.stream), key=lambda one: -one.surprise)
        peaks = []
        for burst in strongest[:MOST_PEAKS]:
            units = activity.members_on(number, burst.day)
            best = describe_units(store, best_units(store, units.tolist()))
            peaks.append(Peak(burst, best[0] if best else None))
        return sorted(peaks, key=lambda peak: peak.burst.day, reverse=True)

    def verdict(self, domain: int) -> Mapping[str, Any] | None:
        """Return the verdict of the last validation on a domain, if there is one."""
        return next(
            (
                {**verdict, "run": validation["run"], "at": validation["at"]}
                for validation in self.validations()
                for verdict in validation.get("verdicts", [])
                if verdict["domain"] == domain
            ),
            None,
        )

    def stories_of(
        self, domain: int, *, as_of: str | int | None = None, limit: int = 20, offset: int = 0
    ) -> list[UnitSummary]:
        """Return units of a domain with their stories, newest first."""
        with self._session.reading() as store:
            activity = self.activity(as_of)
            return describe_units(store, activity.newest(domain, offset + limit)[offset:])

    def story(self, uid: str) -> Story:
        """Return one story with its units, versions and copies."""
        return self._session.read(lambda store: read_story(store, uid))

    def word(self, lang: str, word: str, *, most: int = 40, limit: int = 20) -> WordPage:
        """Return a word, the domains that have it and its newest stories."""
        with self._session.reading() as store:
            counts = read_word(store, lang, word)
            described = self.activity().described
            return WordPage(
                counts,
                [
                    WordDomain(number, described[number].label, described[number].units, weight)
                    for number, weight in self._vectors.get(store).having(counts.id, most)
                    if number in described
                ],
                self.search(StoryQuery(word, lang=lang, newest=True), limit=limit),
            )

    # -- many things -------------------------------------------------------------------------

    def search(
        self,
        query: StoryQuery,
        *,
        domains: Sequence[int] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> StoryHits:
        """Return the stories that match a query; `domains` restricts them to these domains."""
        with self._session.reading() as store:
            documents = None
            if domains is not None:
                activity = self.activity()
                documents = np.unique(activity.documents[np.isin(activity.domains, list(domains))])
            columns = self._columns.get(store)
            return find_stories(
                store, query, columns, documents=documents, limit=limit, offset=offset
            )

    def differences(
        self, left: str | int, right: str | int | None = None, *, most: int = 40
    ) -> Differences:
        """Return what differs between two runs or dates; without `right`, between `left` and now."""
        with self._session.reading():
            return differences(self.activity(left), self.activity(right), most)
