"""Topics in a store: keeping a grouping of the domains, and reading it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from typing import Any

import numpy as np

from segapsith.domains.topics import DomainGroups, match_topics
from segapsith.domains.values import DomainWords
from segapsith.errors import MissingInputError
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = ["basis", "keep", "material", "members", "name", "present"]

KEPT = 32
"""Groupings that are kept, so that as many can be undone."""


def material(store: Store) -> dict[str, dict[int, DomainWords]]:
    """By language, the domains that have units, with their sums."""
    found: dict[str, dict[int, DomainWords]] = {}
    for number, lang, words, n_units in store.rows(
        "SELECT id, lang, words, units FROM domains WHERE units > 0 ORDER BY id"
    ):
        found.setdefault(lang, {})[number] = codecs.domain_from(words, n_units)
    return found


def basis(store: Store, settings: Mapping[str, Any]) -> str:
    """A hash of what a grouping is made from: the same basis gives the same grouping."""
    total = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for row in store.rows("SELECT id, lang, units, words FROM domains WHERE units > 0 ORDER BY id"):
        total.update(repr(row[:3]).encode())
        total.update(row[3])
    return total.hexdigest()


def present(store: Store) -> tuple[int, str] | None:
    """The run of the grouping that holds, and its basis."""
    found = store.row("SELECT run, basis FROM groupings ORDER BY run DESC LIMIT 1")
    return (found[0], found[1]) if found else None


def members(store: Store) -> dict[int, int]:
    """The topic of each domain that was there at the last grouping."""
    found = store.row("SELECT domains, topics FROM groupings ORDER BY run DESC LIMIT 1")
    if found is None:
        return {}
    domains, topics = (codecs.integers_from(blob).tolist() for blob in found)
    return dict(zip(domains, topics, strict=True))


def keep(store: Store, run: int, grouped: Mapping[str, DomainGroups], of: str) -> dict[str, int]:
    """Keeps the groups of each language as topics; those that stay keep their numbers."""
    before = members(store)
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
            [run, codecs.integers(domains), codecs.integers(topics), of],
        )
        connection.execute(
            "DELETE FROM groupings WHERE run NOT IN"
            " (SELECT run FROM groupings ORDER BY run DESC LIMIT ?)",
            [KEPT],
        )
        return len(set(topic_of.values()))

    n_topics = store.change(write)
    return {"topics": n_topics, "domains": sum(len(g.domains) for g in grouped.values())}


def name(store: Store, topic: int, given: str) -> None:
    """Gives a topic a name, or with an empty one takes it away."""
    if topic not in set(members(store).values()):
        raise MissingInputError(f"there is no topic {topic}; `segapsith topics` lists them")
    store.change(
        lambda connection: (
            connection.execute("UPDATE topics SET name = ? WHERE id = ?", [given, topic]).rowcount
        )
    )
