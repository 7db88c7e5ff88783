"""Survival of ids: whether a domain or topic keeps its number over thirty nights.

A stream is cut into thirty parts of equal size. After each part domains are merged and split, units
are reassigned, and every level is grouped, as a night does. Stable groups, with at least 15
documents, are followed. A group of a night survives if the group of the same number in the last
night holds more than half of its documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segapsith.api.wire import Wire
from segapsith.model import Document
from segapsith_reproduce.streams.levels import level_groups

__all__ = ["NIGHTS", "STABLE", "id_survival", "surviving_share"]

NIGHTS = 30
STABLE = 15
"""Least number of documents of a group that is followed."""


def id_survival(documents: Sequence[Document]) -> dict[str, float | None]:
    """Return for each level the share of the groups of all nights that survive the last one."""
    nights: list[dict[str, dict[int, int]]] = []
    with Wire(":memory:") as wire:
        for night in range(NIGHTS):
            first, last = (len(documents) * n // NIGHTS for n in (night, night + 1))
            wire.ingest(documents[first:last])
            wire.domains.merge_similar()
            wire.domains.split_broad()
            wire.domains.reassign()
            nights.append(level_groups(wire))
    return {
        level: surviving_share([night.get(level, {}) for night in nights]) for level in nights[-1]
    }


def surviving_share(nights: Sequence[Mapping[int, int]]) -> float | None:
    """Return the share of stable groups that survive, over all nights but the last.

    A night gives the group of each document. The result is None if there was no stable group.

    >>> surviving_share([dict.fromkeys(range(15), 1), dict.fromkeys(range(20), 1)])
    1.0
    >>> surviving_share([dict.fromkeys(range(15), 1), dict.fromkeys(range(20), 2)])
    0.0
    """
    last = nights[-1]
    n_groups = n_surviving = 0
    for night in nights[:-1]:
        members: dict[int, list[int]] = {}
        for document, group in night.items():
            members.setdefault(group, []).append(document)
        for group, of_group in members.items():
            if len(of_group) >= STABLE:
                n_groups += 1
                survivors = sum(last.get(document) == group for document in of_group)
                n_surviving += 2 * survivors > len(of_group)
    return n_surviving / n_groups if n_groups else None
