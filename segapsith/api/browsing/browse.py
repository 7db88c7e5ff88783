"""What pages ask of a store: many domains at once, stories, days and differences.

Columns of the whole store are held in memory and read again when its state has changed, so all
parts of an answer are of the state that is being read.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from segapsith.api.browsing.kept import Kept
from segapsith.api.browsing.views import (
    DomainMap,
    DomainPage,
    MergePart,
    MergePreview,
    Peak,
    Series,
    TimeSeries,
    WordDomain,
    WordPage,
)
from segapsith.api.session import Session
from segapsith.domains.trends import bursts, trend
from segapsith.errors import MissingInputError
from segapsith.report.charts import days
from segapsith_store import Store
from segapsith_store.queries import history, nights, subscriptions
from segapsith_store.queries.browsing.activity import (
    Activity,
    StoreState,
    read_activity,
    read_state,
)
from segapsith_store.queries.browsing.differences import Differences, differences
from segapsith_store.queries.browsing.neighbours import DomainVectors, read_vectors
from segapsith_store.queries.browsing.stories import (
    Story,
    UnitSummary,
    best_units,
    count_sources,
    describe_units,
    read_story,
    units_of_event,
)
from segapsith_store.queries.browsing.story_search import (
    StoryColumns,
    StoryHits,
    StoryQuery,
    find_stories,
    matching_documents,
    read_columns,
)
from segapsith_store.queries.domains import (
    NearDomain,
    read_lineage,
    successors,
    typical_of,
)
from segapsith_store.queries.news import DomainSizes, Headlines, News, Today, read_news, read_today
from segapsith_store.queries.nights import Night
from segapsith_store.queries.search import DomainHit, TextMatch, find_domains
from segapsith_store.queries.sections import Section, list_sections, section_labels
from segapsith_store.queries.status import read_counts
from segapsith_store.queries.subscriptions import Feed
from segapsith_store.queries.topics import Outline, Topic, list_topics, read_outline
from segapsith_store.queries.validations import last_validations
from segapsith_store.queries.words import WeightedWord, Words, WordTexts, read_word, read_word_texts

__all__ = ["Browsing"]

SENTENCE_WORDS, SENTENCE_UNITS = 20, 40
"""Words and units that typical sentences are chosen by."""

MOST_PEAKS = 5
TOPIC_WORDS = 12
KEPT_TOPICS = 200
TODAY = 6
"""Domains of each kind in a section."""
PREVIEW_STORIES, PREVIEW_UNITS = 5, 30
"""Stories of a domain in the preview of a merge, and its newest units that they are taken from."""

DEFAULT_SERIES = 6
"""Topics or domains of a timeline that names none."""


def _between(counts: Mapping[str, int], since: str | None, until: str | None) -> dict[str, int]:
    return {day: n for day, n in counts.items() if (since or "") <= day <= (until or "9")}


class Browsing:
    """Questions of pages: `wire.browse.story(…)`, `wire.browse.activity()` and others."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._activity: Kept[Activity] = Kept(read_activity)
        self._vectors: Kept[DomainVectors] = Kept(read_vectors)
        self._columns: Kept[StoryColumns] = Kept(read_columns)
        self._texts: Kept[WordTexts] = Kept(read_word_texts)
        self._outline: Kept[Outline] = Kept(lambda store, _: read_outline(store))
        self._topics: Kept[Sequence[Topic]] = Kept(
            lambda store, _: self._listed_topics(store, limit=KEPT_TOPICS)
        )
        self._sections: Kept[Sequence[Section]] = Kept(lambda store, _: self._read_sections(store))
        self._headlines: Kept[Headlines] = Kept(lambda _, __: {})
        self._today: Kept[Today] = Kept(lambda store, _: self._read_today(store))
        self._counts: Kept[Mapping[str, int]] = Kept(
            lambda store, _: read_counts(store, stable=session.settings.maintenance.stable)
        )
        self._validations: Kept[Sequence[Mapping[str, Any]]] = Kept(
            lambda store, _: last_validations(store)
        )

        self._section_labels: Kept[Mapping[int, str]] = Kept(lambda store, _: section_labels(store))
        self._earlier: tuple[Activity, str | int, Activity] | None = None
        """The present columns, and those of the moment that was last asked for."""
        self._kept: tuple[Kept[Any], ...] = (
            self._texts, self._activity, self._outline, self._today, self._vectors, self._columns, self._topics,
            self._sections, self._section_labels, self._validations, self._counts, self._headlines,
        )  # fmt: skip

    def warm(self, pause: Callable[[], object] = lambda: None) -> None:
        """Read the columns of the whole store now, so that no page waits for them.

        `pause` is called before each of them.
        """
        with self._session.reading() as store:
            for snapshot in self._kept:
                pause()
                snapshot.get(store)
            activity = self._activity.get(store)
            _ = activity.stream, activity.stories_by_day, activity.spans

    def show(self, state: StoreState) -> None:
        """Hold the columns of this state of the store until another one is shown."""
        self._earlier = None
        for snapshot in self._kept:
            snapshot.show(state)

    def _words_of(self, store: Store) -> Words:
        """Return the words of the store with their texts in memory."""
        return Words(store, self._texts.get(store))

    # -- columns of the whole store ----------------------------------------------------------

    def state(self) -> StoreState:
        """Return the last run and how far it is."""
        return self._session.read(read_state)

    def activity(self, as_of: str | int | None = None) -> Activity:
        """Return which unit is in which domain, now or as of a run or date."""
        if as_of is None:
            return self._session.read(self._activity.get)

        def query(store: Store) -> Activity:
            now, held = self._activity.get(store), self._earlier
            if held is not None and held[0] is now and held[1] == as_of:
                return held[2]
            earlier = read_activity(store, now, as_of)
            self._earlier = (now, as_of, earlier)
            return earlier

        return self._session.read(query)

    def vectors(self) -> DomainVectors:
        """Return the words of all domains."""
        return self._session.read(self._vectors.get)

    def columns(self) -> StoryColumns:
        """Return document, day, language and source of each text."""
        return self._session.read(self._columns.get)

    def topics(self, limit: int = 25, offset: int = 0) -> Sequence[Topic]:
        """Return topics of the last grouping, largest first."""

        def query(store: Store) -> Sequence[Topic]:
            if offset + limit <= KEPT_TOPICS:
                return self._topics.get(store)[offset : offset + limit]
            return self._listed_topics(store, limit=limit, offset=offset)

        return self._session.read(query)

    def _listed_topics(
        self, store: Store, *, limit: int, offset: int = 0, only: int | None = None
    ) -> list[Topic]:
        return list_topics(
            store,
            top=TOPIC_WORDS,
            limit=limit,
            offset=offset,
            only=only,
            outline=self._outline.get(store),
            totals=self._vectors.get(store).total,
            words=self._words_of(store),
        )

    def _read_sections(self, store: Store) -> Sequence[Section]:
        totals, words = self._vectors.get(store).total, self._words_of(store)
        outline = self._outline.get(store)
        return list_sections(store, top=TOPIC_WORDS, totals=totals, words=words, outline=outline)

    def _read_today(self, store: Store, since: str | int | None = None, most: int = TODAY) -> Today:
        activity = self._activity.get(store)
        return read_today(
            store,
            since,
            most=most,
            outline=self._outline.get(store),
            arrivals=activity,
            domains=DomainSizes(
                activity.spans.domains,
                activity.spans.units,
                lambda number: activity.described[number].label,
            ),
            words=self._words_of(store),
            headlines=self._headlines.get(store),
        )

    def counts(self) -> Mapping[str, int]:
        """Return how many documents, units, domains … there are, by the names of `Status`."""
        return self._session.read(self._counts.get)

    def sections(self) -> Sequence[Section]:
        """Return the sections, largest first."""
        return self._session.read(self._sections.get)

    def section(self, number: int) -> Section:
        """Return one section with its topics."""
        section = next((one for one in self.sections() if one.id == number), None)
        if section is None:
            raise MissingInputError(
                f"there is no section {number}; `segapsith sections` lists them"
            )
        return section

    def domains_of_sections(self, numbers: Sequence[int]) -> list[int]:
        """Return the domains of some sections."""
        topics = {topic for number in numbers for topic in self.section(number).topics}
        topic_of = self._session.read(self._outline.get).topic_of
        return [domain for domain, topic in topic_of.items() if topic in topics]

    def today(self, since: str | int | None = None, most: int = TODAY) -> Today:
        """Return what is new, rising and falling, by section; that of the last night is kept.

        At most `most` domains of each kind in a section are listed.
        """
        if since is None and most == TODAY:
            return self._session.read(self._today.get)
        return self._session.read(lambda store: self._read_today(store, since, most))

    def event_stories(self, event: int, limit: int = 100) -> list[UnitSummary]:
        """Return the stories of an event, the first ones first."""
        return self._session.read(
            lambda store: describe_units(store, units_of_event(store, event, limit))
        )

    def n_topics(self) -> int:
        """Return the number of topics that have domains with units."""
        return len(self._session.read(self._outline.get).members)

    def topic(self, number: int) -> Topic:
        """Return one topic with its domains."""
        with self._session.reading() as store:
            known = next((one for one in self._topics.get(store) if one.id == number), None)
            listed = [known] if known else self._listed_topics(store, limit=1, only=number)
            if not listed:
                raise MissingInputError(
                    f"there is no topic {number}; `segapsith topics` lists them"
                )
            return listed[0]

    def way_to(self, topic: int) -> list[tuple[str, int, str]]:
        """Return the section of a topic, if it has one, and the topic: kind, number and label."""
        with self._session.reading() as store:
            outline, labels = self._outline.get(store), self._section_labels.get(store)
            name = outline.names.get(topic, ("", ""))[1] or outline.labels.get(topic)
            steps = [("topic", topic, name or self.topic(topic).label)]
            section = outline.section_of.get(topic)
            if section is not None:
                steps.insert(0, ("section", section, labels[section]))
            return steps

    def topic_of(self, domain: int) -> int | None:
        """Return the number of the topic of a domain, if it has one."""
        return self._session.read(self._outline.get).topic_of.get(domain)

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
            by_day = activity.by_day(number)
            if as_of is not None and not row.named:
                row = row._replace(label=", ".join(word.word for word in words[:3]))
            return DomainPage(
                row=row,
                lifetime=activity.lifetime(number),
                topic=self.topic_of(number),
                trend=trend(by_day, activity.stream),
                words=words,
                days=by_day,
                peaks=self._peaks(store, activity, number, by_day),
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
        return self._words_of(store).best(sums, top)

    def _near(self, store: Store, activity: Activity, number: int, most: int) -> list[NearDomain]:
        return [
            NearDomain(one.id, activity.described[one.id].label, one.similarity)
            for one in self._vectors.get(store).near(number, most)
            if one.id in activity.described
        ]

    @staticmethod
    def _peaks(
        store: Store, activity: Activity, number: int, by_day: Mapping[str, int]
    ) -> list[Peak]:
        strongest = sorted(bursts(by_day, activity.stream), key=lambda one: -one.surprise)
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

    def map(self, lang: str | None = None, most: int = 80) -> DomainMap:
        """Return the largest domains of a language with their similarities to each other."""
        with self._session.reading() as store:
            described = self.activity().described.values()
            sizes: dict[str, int] = {}
            for row in described:
                sizes[row.lang] = sizes.get(row.lang, 0) + row.units
            langs = sorted(sizes, key=lambda name: (-sizes[name], name))
            language = lang or next(iter(langs), "")
            rows = sorted(
                (row for row in described if row.lang == language),
                key=lambda row: (-row.units, row.id),
            )
            vectors = self._vectors.get(store)
            with_words = (row for row in rows if vectors.row_of(row.id) is not None)
            shown = list(itertools.islice(with_words, most))
            return DomainMap(
                langs, language, shown, vectors.similarities([row.id for row in shown]), len(rows)
            )

    def run_before_last(self) -> int:
        """Return the run before the last one that learned something; 0 if there is none."""
        return self._session.read(history.run_before_last)

    def news(self, since: str | int | None = None, most: int = 8) -> News:
        """Return what is new, growing and fading since a run or date (default: the last night)."""

        def query(store: Store) -> News:
            if since is None:
                run = history.run_before_last(store)
            else:
                run = 0 if str(since) == "0" else history.run_at(store, since)
            return read_news(store, run, most, self.activity().arrived_since(run))

        return self._session.read(query)

    def headlines(self, domains: Sequence[int]) -> dict[int, UnitSummary]:
        """Return the newest story of each domain."""
        with self._session.reading() as store:
            activity = self.activity()
            units = {d: activity.newest(d, 1) for d in domains}
            described = describe_units(store, [one for some in units.values() for one in some])
            by_unit = {summary.unit: summary for summary in described}
            return {d: by_unit[some[0]] for d, some in units.items() if some and some[0] in by_unit}

    def nights(self, limit: int = 30) -> list[Night]:
        """Return the last unattended runs, newest first."""
        return self._session.read(lambda store: nights.listed(store, limit))

    def feeds(self) -> list[Feed]:
        """Return the subscribed feeds, in the order in which they were added."""
        return self._session.read(subscriptions.listed)

    # -- many things -------------------------------------------------------------------------

    def search(
        self,
        query: StoryQuery,
        *,
        domains: Sequence[int] | None = None,
        after: int = 0,
        limit: int = 20,
        offset: int = 0,
    ) -> StoryHits:
        """Return the stories that match a query; `domains` restricts them to these domains.

        `after` restricts them to documents with a higher number (see `newest_document`).
        """
        with self._session.reading() as store:
            documents = None
            if domains is not None:
                activity = self.activity()
                documents = np.unique(activity.documents[np.isin(activity.domains, list(domains))])
            columns = self._columns.get(store)
            if after:
                newer = columns.documents[columns.documents > after]
                documents = newer if documents is None else np.intersect1d(newer, documents)
            return find_stories(
                store, query, columns, documents=documents, limit=limit, offset=offset
            )

    def domains_with(self, words: str, limit: int = 20) -> list[DomainHit]:
        """Return the domains that have the words in their label, best words or stories."""
        with self._session.reading() as store:
            activity, columns = self.activity(), self._columns.get(store)

            def count(match: TextMatch) -> tuple[dict[int, int], int]:
                documents = matching_documents(store, match, columns)
                having = np.zeros(int(activity.documents.max(initial=0)) + 1, np.bool_)
                having[documents[documents < len(having)]] = True
                domains = activity.domains[having[activity.documents]]
                numbers, n_units = np.unique(domains, return_counts=True)
                return dict(zip(numbers.tolist(), n_units.tolist(), strict=True)), len(documents)

            return find_domains(store, words, limit, count)

    def newest_document(self) -> int:
        """Return the number of the newest document; numbers only grow."""
        return int(self.columns().documents.max(initial=0))

    def merge_preview(self, numbers: Sequence[int], top: int = 20) -> MergePreview:
        """Return what merging domains would give: their words together, and their similarities."""
        with self._session.reading() as store:
            described, vectors = self.activity().described, self._vectors.get(store)
            words, parts = self._words_of(store), []
            for number in numbers:
                sums = vectors.sums(number)
                if number not in described or sums is None:
                    raise MissingInputError(
                        f"there is no domain {number}; `segapsith domains` lists them"
                    )
                newest_units = self.activity().newest(number, PREVIEW_UNITS)
                stories = {
                    one.document: one for one in reversed(describe_units(store, newest_units))
                }
                newest = list(stories.values())[::-1][:PREVIEW_STORIES]
                parts.append(MergePart(described[number], words.best(sums, top), newest))
            similar = vectors.similarities(numbers)
            units = np.concatenate([self.activity().members(number) for number in numbers])
            total = history.sum_units(store, units.tolist())
            return MergePreview(
                parts, [round(float(value), 4) for value in similar[0]], words.best(total, top)
            )

    def timeline(
        self,
        *,
        domains: Sequence[int] = (),
        topics: Sequence[int] = (),
        by: str = "week",
        since: str | None = None,
        until: str | None = None,
    ) -> TimeSeries:
        """Return the units of domains and topics by day, week or month, and of the whole stream.

        Without any domain or topic: of the largest topics, or of the largest domains.
        """
        with self._session.reading():
            activity, groups = self.activity(), self._groups(domains, topics)
            dated = [day for day in activity.stream.days if (since or "") <= day <= (until or "9")]
            if not dated:
                return TimeSeries(by, [], [], [])
            starts = days.buckets(max(min(dated), since or ""), max(dated), by)
            stream = days.sums(_between(activity.stream.days, since, until), starts, by)
            series = []
            for kind, number, label, members in groups:
                counts = _between(activity.by_day(*members), since, until)
                units = days.sums(counts, starts, by)
                share = [
                    round(n / all_, 6) if all_ else 0.0
                    for n, all_ in zip(units, stream, strict=True)
                ]
                series.append(Series(kind, number, label, units, share))
            return TimeSeries(by, starts, stream, series)

    def _groups(
        self, domains: Sequence[int], topics: Sequence[int]
    ) -> list[tuple[str, int, str, Sequence[int]]]:
        """Return kind, id, label and domains of what a timeline shows."""
        described = self.activity().described
        if not domains and not topics:
            topics = [topic.id for topic in self.topics(DEFAULT_SERIES)]
            if not topics:
                rows = described.values()
                largest = heapq.nsmallest(DEFAULT_SERIES, rows, key=lambda r: (-r.units, r.id))
                domains = [row.id for row in largest]
        groups: list[tuple[str, int, str, Sequence[int]]] = []
        for number in topics:
            topic = self.topic(number)
            groups.append(("topic", number, topic.label, topic.domains))
        for number in domains:
            if number not in described:
                raise MissingInputError(
                    f"there is no domain {number}; `segapsith domains` lists them"
                )
            groups.append(("domain", number, described[number].label, [number]))
        return groups

    def differences(
        self, left: str | int, right: str | int | None = None, *, most: int = 40
    ) -> Differences:
        """Return what differs between two runs or dates; without `right`, between `left` and now."""
        with self._session.reading():
            return differences(self.activity(left), self.activity(right), most)
