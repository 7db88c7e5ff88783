"""Topics: groups of domains. The last stored grouping says which domain is in which topic."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.groups import majority
from segapsith.domains.values import LABEL_WORDS, DomainWords
from segapsith.model import Document, Result
from segapsith_store import codecs
from segapsith_store.queries.groupings import SECTIONS, TOPICS, group_labels, group_of_domain
from segapsith_store.queries.words import WeightedWord, Words
from segapsith_store.store import Store

__all__ = [
    "NO_GROUP",
    "Outline",
    "Topic",
    "Totals",
    "added",
    "best_words",
    "domains_by_language",
    "list_topics",
    "read_outline",
    "section_of_topic",
    "topic_labels",
    "topic_of_domain",
    "total",
    "unit_texts",
]


Column = NDArray[np.int32]

NO_GROUP = -1
"""In a column of topics or sections: the domain is in none."""

Totals = Callable[[Sequence[int]], DomainWords]
"""Returns the sums of several domains as the sums of one."""


@dataclass(frozen=True, slots=True)
class Outline:
    """Which domain is in which topic, and which topic in which section, without words."""

    sizes: Mapping[int, int]
    """Units of each domain that has some."""
    topic_of: Mapping[int, int]
    """The topic of each domain that existed at the last grouping."""
    members: Mapping[int, Sequence[int]]
    """The domains of each topic that have units, by id."""
    units: Mapping[int, int]
    """Units of each topic."""
    section_of: Mapping[int, int]
    """The section of each topic."""
    names: Mapping[int, tuple[str, str]]
    """Language and given name of each topic."""
    labels: Mapping[int, str]
    """What a labeller computed for topics."""
    topics: Column
    """The topic of each domain by its id; `NO_GROUP` without one, and for the last, unused id."""
    sections: Column
    """The section of each domain by its id in the same way."""

    def groups_of(self, domains: NDArray[np.integer]) -> tuple[Column, Column]:
        """Return the topics and the sections of some domains; `NO_GROUP` where there is none."""
        places = np.minimum(domains, len(self.topics) - 1)
        return self.topics[places], self.sections[places]


def _by_domain(group_of: Mapping[int, int | None]) -> Column:
    """Return groups by domain, with one more row without a group."""
    column = np.full(max(group_of, default=-1) + 2, NO_GROUP, np.int32)
    for domain, group in group_of.items():
        if group is not None:
            column[domain] = group
    return column


def read_outline(store: Store) -> Outline:
    """Return the last grouping of domains into topics, and of topics into sections."""
    with store.frozen():
        sizes: dict[int, int] = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))
        topic_of, members = topic_of_domain(store), dict[int, list[int]]()
        for domain, topic in sorted(topic_of.items()):
            if domain in sizes:
                members.setdefault(topic, []).append(domain)
        section_of = majority(topic_of, group_of_domain(store, SECTIONS), sizes)
        return Outline(
            sizes,
            topic_of,
            members,
            {topic: sum([sizes[domain] for domain in some]) for topic, some in members.items()},
            section_of,
            {
                topic: (lang, name)
                for topic, lang, name in store.rows("SELECT id, lang, name FROM topics")
            },
            group_labels(store, TOPICS),
            _by_domain(topic_of),
            _by_domain({domain: section_of.get(topic) for domain, topic in topic_of.items()}),
        )


@dataclass(frozen=True, slots=True)
class Topic(Result):
    """A topic with its domains, largest first, and the best words of all of them."""

    id: int
    label: str
    lang: str
    section: int | None
    domains: Sequence[int]
    units: int
    words: Sequence[WeightedWord]


def topic_of_domain(store: Store) -> dict[int, int]:
    """Return the topic of each domain that existed at the last grouping."""
    return group_of_domain(store, TOPICS)


def section_of_topic(store: Store) -> dict[int, int]:
    """Return the section of each topic: the one that has most units of the topic's domains.

    A topic whose domains were all created after the sections were made has none yet.
    """
    sizes: dict[int, int] = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))
    section_of = group_of_domain(store, SECTIONS)
    return majority(topic_of_domain(store), section_of, sizes)


def list_topics(
    store: Store,
    *,
    top: int | None = 10,
    limit: int | None = None,
    offset: int = 0,
    only: int | None = None,
    outline: Outline | None = None,
    totals: Totals | None = None,
    words: Words | None = None,
) -> list[Topic]:
    """Return the topics of the last grouping with their best words, largest first, ties by id.

    A domain that was created after the grouping has no topic yet. `only` is the one topic to
    return, if not all are asked for; `limit` and `offset` select a part of the list. `outline`, `totals` and `words` are given if they are known
    already.
    """
    with store.frozen():
        outline = outline or read_outline(store)
        words = words or Words(store)
        numbers = outline.members if only is None else {only} & outline.members.keys()
        units = {topic: outline.units[topic] for topic in numbers}
        end = None if limit is None else offset + limit
        topics = []
        for topic in sorted(units, key=lambda topic: (-units[topic], topic))[offset:end]:
            members = outline.members[topic]
            best = words.best(totals(members) if totals else total(store, members), top)
            lang, name = outline.names[topic]
            topics.append(
                Topic(
                    id=topic,
                    label=name or outline.labels.get(topic) or best_words(best),
                    lang=lang,
                    section=outline.section_of.get(topic),
                    domains=sorted(members, key=lambda d: (-outline.sizes[d], d)),
                    units=units[topic],
                    words=best,
                )
            )
        return topics


def best_words(words: Sequence[WeightedWord]) -> str:
    """Return the label of a group until a labeller has named it."""
    return ", ".join(word.word for word in words[:LABEL_WORDS])


def topic_labels(store: Store, topics: Collection[int]) -> dict[int, str]:
    """Return the labels of some topics: names, or what a labeller computed, or best words."""
    with store.frozen():
        names = dict(store.rows("SELECT id, name FROM topics WHERE name <> ''"))
        labels = group_labels(store, TOPICS) | names
        members: dict[int, list[int]] = {}
        for domain, topic in topic_of_domain(store).items():
            if topic in topics and topic not in labels:
                members.setdefault(topic, []).append(domain)
        words = Words(store) if members else None
        for topic, domains in members.items():
            assert words is not None
            labels[topic] = best_words(words.best(total(store, domains), LABEL_WORDS))
        return {topic: labels[topic] for topic in topics if topic in labels}


def total(store: Store, numbers: Sequence[int]) -> DomainWords:
    """Return the sums of several domains as the sums of one."""

    def read(number: int) -> DomainWords:
        row = store.row("SELECT words, units FROM domains WHERE id = ?", [number])
        assert row is not None
        return codecs.domain_from(*row)

    return added([read(number) for number in numbers])


def added(parts: Sequence[DomainWords]) -> DomainWords:
    """Return several sums as one."""
    columns = zip(*((p.words, p.occurrences, p.weights) for p in parts), strict=True)
    joined = [np.concatenate(column) for column in columns]
    order = np.argsort(joined[0], kind="stable")
    words, starts = np.unique(joined[0][order], return_index=True)
    occurrences, weights = (np.add.reduceat(column[order], starts) for column in joined[1:])
    return DomainWords(words, occurrences, weights, sum(p.n_units for p in parts))


def domains_by_language(store: Store) -> dict[str, dict[int, DomainWords]]:
    """Return the domains that have units, with their sums: what a grouping is made from."""
    sums: dict[str, dict[int, DomainWords]] = {}
    for number, lang, words, n_units in store.rows(
        "SELECT id, lang, words, units FROM domains WHERE units > 0 ORDER BY id"
    ):
        sums.setdefault(lang, {})[number] = codecs.domain_from(words, n_units)
    return sums


def unit_texts(
    store: Store, domains: Collection[int], most: int
) -> Iterator[tuple[str | None, str]]:
    """Yield date and text of units of some domains: all, or `most` at equal distances."""
    rows = store.rows(
        "SELECT a.unit FROM json_each(?) j JOIN assignments a ON a.domain = j.value ORDER BY a.unit",
        [json.dumps(sorted(domains))],
    )
    units = [unit for (unit,) in rows]
    if len(units) > most:
        units = [units[i * len(units) // most] for i in range(most)]
    for date, title, body, start, end in store.rows(
        "SELECT v.date, v.title, v.body, u.start, u.end FROM json_each(?) j"
        " JOIN units u ON u.id = j.value JOIN versions v ON v.id = u.version ORDER BY u.id",
        [json.dumps(units)],
    ):
        yield date, Document(title=title, body=body).text[start:end]
