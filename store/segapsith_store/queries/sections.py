"""Sections: groups of topics, the top level of a store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segapsith.domains.index import LABEL_WORDS
from segapsith.domains.sections import contrasts
from segapsith.domains.values import DomainWords
from segapsith.model import Result
from segapsith_store.queries.groupings import SECTIONS, TOPICS, group_of_domain
from segapsith_store.queries.topics import (
    label_of,
    section_of_topic,
    topic_labels,
    topic_of_domain,
    total,
)
from segapsith_store.queries.words import WeightedWord, Words
from segapsith_store.store import Store

__all__ = [
    "PathStep",
    "Section",
    "list_sections",
    "numbers_by_language",
    "paths",
    "topics_mark",
    "untopical_domains",
]


@dataclass(frozen=True, slots=True)
class Section(Result):
    """A section with its topics, largest first, and the words in which it differs from the others."""

    id: int
    label: str
    lang: str
    topics: Sequence[int]
    units: int
    share: float
    """Part of the units of its language that are in a section."""
    words: Sequence[WeightedWord]


@dataclass(frozen=True, slots=True)
class PathStep(Result):
    """A step on the way to a domain: a section, a topic, or the domain itself."""

    level: str
    id: int
    label: str


def list_sections(store: Store, *, top: int | None = 10, limit: int | None = None) -> list[Section]:
    """Return the sections with their most characteristic words, largest first, ties by id."""
    with store.frozen():
        sizes: dict[int, int] = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))
        section_of = section_of_topic(store)
        topics: dict[int, dict[int, int]] = {}
        domains: dict[int, list[int]] = {}
        for domain, topic in sorted(topic_of_domain(store).items()):
            if domain in sizes and topic in section_of:
                of = topics.setdefault(section_of[topic], {})
                of[topic] = of.get(topic, 0) + sizes[domain]
                domains.setdefault(section_of[topic], []).append(domain)
        names = {
            section: (lang, name)
            for section, lang, name in store.rows("SELECT id, lang, name FROM sections")
        }
        units = {section: sum(of.values()) for section, of in topics.items()}
        wholes: dict[str, int] = {}
        for section, n_units in units.items():
            lang = names[section][0]
            wholes[lang] = wholes.get(lang, 0) + n_units
        order = sorted(units, key=lambda section: (-units[section], section))
        words = _characteristic_words(store, {s: domains[s] for s in order}, top)
        return [
            Section(
                id=section,
                label=label_of(names[section][1], words[section]),
                lang=names[section][0],
                topics=sorted(topics[section], key=lambda t: (-topics[section][t], t)),
                units=units[section],
                share=round(units[section] / wholes[names[section][0]], 6),
                words=words[section],
            )
            for section in order[:limit]
        ]


def paths(store: Store, labels: Mapping[int, str]) -> dict[int, list[PathStep]]:
    """Return the way to each of some domains, from its section down; `labels` are theirs."""
    with store.frozen():
        topic_of, section_of = topic_of_domain(store), section_of_topic(store)
        topics = topic_labels(store, {topic_of[d] for d in labels if d in topic_of})
        sections = (
            {section.id: section.label for section in list_sections(store, top=LABEL_WORDS)}
            if section_of
            else {}
        )
    ways = {}
    for domain, label in labels.items():
        topic = topic_of.get(domain)
        section = None if topic is None else section_of.get(topic)
        steps = [] if section is None else [PathStep("section", section, sections[section])]
        steps += [] if topic is None else [PathStep("topic", topic, topics[topic])]
        ways[domain] = [*steps, PathStep("domain", domain, label)]
    return ways


def _characteristic_words(
    store: Store, domains: dict[int, list[int]], top: int | None
) -> dict[int, list[WeightedWord]]:
    """Return the words of each section in the order of contrast with all other sections."""
    words = Words(store)
    sums = [total(store, members) for members in domains.values()]
    characteristic = {}
    for section, whole, order in zip(domains, sums, contrasts(sums), strict=True):
        chosen = order[:top]
        part = DomainWords(
            whole.words[chosen], whole.occurrences[chosen], whole.weights[chosen], whole.n_units
        )
        weighted = {word.word: word for word in words.best(part, None)}
        characteristic[section] = [weighted[words.name(int(n))] for n in part.words]
    return characteristic


def numbers_by_language(store: Store) -> dict[str, int]:
    """Return how many sections each language has."""
    present = set(group_of_domain(store, SECTIONS).values())
    numbers: dict[str, int] = {}
    for section, lang in store.rows("SELECT id, lang FROM sections"):
        if section in present:
            numbers[lang] = numbers.get(lang, 0) + 1
    return numbers


def topics_mark(store: Store) -> str:
    """Return a hash of which domain is in which topic."""
    return hashlib.sha256(repr(sorted(topic_of_domain(store).items())).encode()).hexdigest()


def untopical_domains(store: Store) -> int:
    """Count the domains with units that have no topic yet."""
    topic_of = group_of_domain(store, TOPICS)
    rows = store.rows("SELECT id FROM domains WHERE units > 0")
    return sum(number not in topic_of for (number,) in rows)
