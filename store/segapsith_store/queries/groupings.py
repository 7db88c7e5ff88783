"""What topics and sections have in common: groups of domains that a run computed.

The last stored grouping of a level is valid. A group that persists keeps its number.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from segapsith.domains.groups import DomainGroups, match_topics
from segapsith.errors import MissingInputError
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = [
    "SECTIONS",
    "TOPICS",
    "Level",
    "basis",
    "group_labels",
    "group_of_domain",
    "labels_from",
    "last_grouping",
    "rename",
    "save",
]

GROUPINGS = 32
"""Groupings of each level that are stored: this many can be undone."""


@dataclass(frozen=True, slots=True)
class Level:
    """A level of groups: what one is called, and its tables."""

    what: str
    table: str
    groupings: str


TOPICS = Level("topic", "topics", "groupings")
SECTIONS = Level("section", "sections", "section_groupings")


def group_of_domain(store: Store, level: Level, run: int | None = None) -> dict[int, int]:
    """Return the group of each domain that existed at the last grouping, now or after a run."""
    row = store.row(
        f"SELECT domains, {level.table} FROM {level.groupings}"
        " WHERE run <= ? ORDER BY run DESC LIMIT 1",
        [2**62 if run is None else run],
    )
    if row is None:
        return {}
    domains, groups = (codecs.integers_from(blob).tolist() for blob in row)
    return dict(zip(domains, groups, strict=True))


def group_labels(store: Store, level: Level, run: int | None = None) -> dict[int, str]:
    """Return the labels that were computed for the last grouping, now or after a run."""
    row = store.row(
        "SELECT labels FROM group_labels"
        f" WHERE run = (SELECT max(run) FROM {level.groupings} WHERE run <= ?)",
        [2**62 if run is None else run],
    )
    return labels_from(row[0]) if row else {}


def labels_from(text: str | None) -> dict[int, str]:
    """Return stored labels of groups by number."""
    return {int(number): label for number, label in json.loads(text or "{}").items()}


def basis(store: Store, settings: Mapping[str, Any]) -> str:
    """Return a hash of the domains and settings: an equal basis gives an equal grouping."""
    total = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for row in store.rows("SELECT id, lang, units, words FROM domains WHERE units > 0 ORDER BY id"):
        total.update(repr(row[:3]).encode())
        total.update(row[3])
    return total.hexdigest()


def last_grouping(store: Store, level: Level) -> tuple[int, str] | None:
    """Return the run of the last grouping and its basis."""
    row = store.row(f"SELECT run, basis FROM {level.groupings} ORDER BY run DESC LIMIT 1")
    return (row[0], row[1]) if row else None


def save(
    store: Store, level: Level, run: int, grouped: Mapping[str, DomainGroups], *, basis: str
) -> dict[str, int]:
    """Store the groups of each language; a group that persists keeps its number.

    Return the numbers of groups and domains.
    """
    before = group_of_domain(store, level)
    units = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))

    def write(connection: sqlite3.Connection) -> int:
        group_of: dict[int, int] = {}
        for lang, groups in sorted(grouped.items()):
            numbers = {}
            for label, number in match_topics(groups, units, before).items():
                if number is None:
                    number = store.next_number(connection, level.what)
                    connection.execute(
                        f"INSERT INTO {level.table} (id, lang, run) VALUES (?, ?, ?)",
                        [number, lang, run],
                    )
                numbers[label] = number
            for domain, label in zip(groups.domains.tolist(), groups.groups.tolist(), strict=True):
                group_of[domain] = numbers[label]
        domains = np.array(sorted(group_of), dtype=np.int64)
        members = np.array([group_of[d] for d in domains.tolist()], dtype=np.int64)
        connection.execute(
            f"INSERT INTO {level.groupings} (run, domains, {level.table}, basis)"
            " VALUES (?, ?, ?, ?)",
            [run, codecs.integers(domains), codecs.integers(members), basis],
        )
        connection.execute(
            f"DELETE FROM {level.groupings} WHERE run NOT IN"
            f" (SELECT run FROM {level.groupings} ORDER BY run DESC LIMIT ?)",
            [GROUPINGS],
        )
        return len(set(group_of.values()))

    n_groups = store.change(write)
    return {level.table: n_groups, "domains": sum(len(g.domains) for g in grouped.values())}


def rename(store: Store, level: Level, number: int, name: str) -> None:
    """Give a group a name; an empty name removes it."""
    if number not in set(group_of_domain(store, level).values()):
        raise MissingInputError(
            f"there is no {level.what} {number}; `segapsith {level.table}` lists them"
        )
    store.change(
        lambda connection: (
            connection.execute(
                f"UPDATE {level.table} SET name = ? WHERE id = ?", [name, number]
            ).rowcount
        )
    )
