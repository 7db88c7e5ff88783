"""Topics: groups of domains. The last stored grouping says which domain is in which topic."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segapsith.domains.index import LABEL_WORDS
from segapsith.domains.topics import DomainGroups, match_topics
from segapsith.domains.values import DomainWords
from segapsith.errors import MissingInputError
from segapsith.model import Result
from segapsith_store import codecs
from segapsith_store.queries.words import WeightedWord, Words
from segapsith_store.store import Store

__all__ = [
    "Topic",
    "domains_by_language",
    "grouping_basis",
    "last_grouping",
    "list_topics",
    "name_topic",
    "save_grouping",
    "topic_of_domain",
]

GROUPINGS = 32
"""Groupings that are stored: this many can be undone."""


@dataclass(frozen=True, slots=True)
class Topic(Result):
    """A topic with its domains, largest first, and the best words of all of them."""

    id: int
    label: str
    lang: str
    domains: Sequence[int]
    units: int
    words: Sequence[WeightedWord]


# -- reading -------------------------------------------------------------------------------------


def topic_of_domain(store: Store) -> dict[int, int]:
    """Return the topic of each domain that existed at the last grouping."""
    row = store.row("SELECT domains, topics FROM groupings ORDER BY run DESC LIMIT 1")
    if row is None:
        return {}
    domains, topics = (codecs.integers_from(blob).tolist() for blob in row)
    return dict(zip(domains, topics, strict=True))


def list_topics(
    store: Store,
    *,
    top: int | None = 10,
    limit: int | None = None,
    only: int | None = None,
    sums: Callable[[int], DomainWords | None] | None = None,
) -> list[Topic]:
    """Return the topics of the last grouping with their best words, largest first, ties by id.

    A domain that was created after the grouping has no topic yet. `only` is the one topic to
    return, if not all are asked for. `sums` gives the sums of a
    domain, if they are known already.
    """
    with store.frozen():
        sizes: dict[int, int] = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))
        members: dict[int, list[int]] = {}
        for domain, topic in sorted(topic_of_domain(store).items()):
            if domain in sizes and only in (None, topic):
                members.setdefault(topic, []).append(domain)
        names = {
            topic: (lang, name)
            for topic, lang, name in store.rows("SELECT id, lang, name FROM topics")
        }
        units = {topic: sum(sizes[d] for d in domains) for topic, domains in members.items()}
        words = Words(store)
        topics = []
        for topic in sorted(members, key=lambda topic: (-units[topic], topic))[:limit]:
            best = words.best(_total(store, members[topic], sums), top)
            lang, name = names[topic]
            topics.append(
                Topic(
                    id=topic,
                    label=name or ", ".join(word.word for word in best[:LABEL_WORDS]),
                    lang=lang,
                    domains=sorted(members[topic], key=lambda d: (-sizes[d], d)),
                    units=units[topic],
                    words=best,
                )
            )
        return topics


def _total(
    store: Store, numbers: Sequence[int], sums: Callable[[int], DomainWords | None] | None
) -> DomainWords:
    """Return the sums of several domains as the sums of one."""

    def read(number: int) -> DomainWords:
        row = store.row("SELECT words, units FROM domains WHERE id = ?", [number])
        assert row is not None
        return codecs.domain_from(*row)

    parts = [(sums(number) if sums else None) or read(number) for number in numbers]
    joined = [
        np.concatenate(column)
        for column in zip(*((p.words, p.occurrences, p.weights) for p in parts), strict=True)
    ]
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


def grouping_basis(store: Store, settings: Mapping[str, Any]) -> str:
    """Return a hash of the domains and settings: an equal basis gives an equal grouping."""
    total = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for row in store.rows("SELECT id, lang, units, words FROM domains WHERE units > 0 ORDER BY id"):
        total.update(repr(row[:3]).encode())
        total.update(row[3])
    return total.hexdigest()


def last_grouping(store: Store) -> tuple[int, str] | None:
    """Return the run of the last grouping and its basis."""
    row = store.row("SELECT run, basis FROM groupings ORDER BY run DESC LIMIT 1")
    return (row[0], row[1]) if row else None


# -- writing -------------------------------------------------------------------------------------


def save_grouping(
    store: Store, run: int, grouped: Mapping[str, DomainGroups], *, basis: str
) -> dict[str, int]:
    """Store the groups of each language as topics; a topic that persists keeps its number.

    Return the numbers of topics and domains.
    """
    before = topic_of_domain(store)
    units = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))

    def write(connection: sqlite3.Connection) -> int:
        topic_of: dict[int, int] = {}
        for lang, groups in sorted(grouped.items()):
            numbers = {}
            for group, topic in match_topics(groups, units, before).items():
                if topic is None:
                    topic = store.next_number(connection, "topic")
                    connection.execute(
                        "INSERT INTO topics (id, lang, run) VALUES (?, ?, ?)", [topic, lang, run]
                    )
                numbers[group] = topic
            for domain, group in zip(groups.domains.tolist(), groups.groups.tolist(), strict=True):
                topic_of[domain] = numbers[group]
        domains = np.array(sorted(topic_of), dtype=np.int64)
        topics = np.array([topic_of[d] for d in domains.tolist()], dtype=np.int64)
        connection.execute(
            "INSERT INTO groupings (run, domains, topics, basis) VALUES (?, ?, ?, ?)",
            [run, codecs.integers(domains), codecs.integers(topics), basis],
        )
        connection.execute(
            "DELETE FROM groupings WHERE run NOT IN"
            " (SELECT run FROM groupings ORDER BY run DESC LIMIT ?)",
            [GROUPINGS],
        )
        return len(set(topic_of.values()))

    n_topics = store.change(write)
    return {"topics": n_topics, "domains": sum(len(g.domains) for g in grouped.values())}


def name_topic(store: Store, topic: int, name: str) -> None:
    """Give a topic a name; an empty name removes it."""
    if topic not in set(topic_of_domain(store).values()):
        raise MissingInputError(f"there is no topic {topic}; `segapsith topics` lists them")
    store.change(
        lambda connection: (
            connection.execute("UPDATE topics SET name = ? WHERE id = ?", [name, topic]).rowcount
        )
    )
