"""The levels of a store, each as a partition of its documents.

A level is added to `LEVELS` when a store has it; the table of streams then shows a row for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from segapsith.api.wire import Wire

__all__ = ["LEVELS", "level_groups"]

Groups = Mapping[int, int]


def _topics(wire: Wire, domain_of: Groups) -> dict[int, int]:
    topic_of = {domain: topic["id"] for topic in wire.topics(top=1) for domain in topic["domains"]}
    return {unit: topic_of[domain] for unit, domain in domain_of.items()}


def _sections(wire: Wire, domain_of: Groups) -> dict[int, int]:
    section_of = {topic: s["id"] for s in wire.sections(top=1) for topic in s["topics"]}
    topic_of = _topics(wire, domain_of)
    return {unit: section_of[topic] for unit, topic in topic_of.items()}


def _events(wire: Wire, _: Groups) -> dict[int, int]:
    return {
        unit.id: unit.assignment.event
        for unit in wire.writer.assigned_units()
        if unit.assignment is not None and unit.assignment.event is not None
    }


LEVELS: Mapping[str, Callable[[Wire, Groups], Groups]] = {
    "events": _events,
    "domains": lambda _, domain_of: domain_of,
    "topics": _topics,
    "sections": _sections,
}
"""For each level a function that returns the group of each unit, given the domain of each unit."""


def level_groups(wire: Wire) -> dict[str, dict[int, int]]:
    """Return the group of each learned document at each level: that of most of its words."""
    units = [
        (unit.id, unit.document, unit.n_words, unit.assignment.domain)
        for unit in wire.writer.assigned_units()
        if unit.assignment is not None
    ]
    domain_of = {unit: domain for unit, _, _, domain in units}
    levels: dict[str, dict[int, int]] = {}
    for name, groups_of in LEVELS.items():
        group_of = groups_of(wire, domain_of)
        votes: dict[int, dict[int, int]] = {}
        for unit, document, n_words, _ in units:
            counts = votes.setdefault(document, {})
            counts[group_of[unit]] = counts.get(group_of[unit], 0) + n_words
        levels[name] = {
            document: min(counts, key=lambda group: (-counts[group], group))
            for document, counts in votes.items()
        }
    return levels
