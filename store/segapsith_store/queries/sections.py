"""Sections: groups of topics, the top level of a store."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from segapsith.domains.groups import contrasts, majority
from segapsith.domains.values import LABEL_WORDS, DomainWords
from segapsith.model import Result
from segapsith_store.queries import history
from segapsith_store.queries.groupings import SECTIONS, TOPICS, group_labels, group_of_domain
from segapsith_store.queries.topics import (
    Outline,
    Totals,
    added,
    best_words,
    read_outline,
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
    "paths",
    "section_labels",
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


@dataclass(frozen=True, slots=True)
class _Level:
    """Domains with their topics and sections, now or at a moment."""

    sizes: Mapping[int, int]
    """Units of each domain."""
    topic_of: Mapping[int, int]
    section_of: Mapping[int, int]
    """The section of each topic."""
    totals: Totals
    run: int | None = None
    """The run after which the groups were as they are here; None for the present."""


def _level(
    store: Store, as_of: str | int | None, totals: Totals | None, outline: Outline | None
) -> _Level:
    """Return domains, topics and sections as they are, or as they were at a run or date."""
    if as_of is None:
        outline = outline or read_outline(store)
        totals = totals or partial(total, store)
        return _Level(outline.sizes, outline.topic_of, outline.section_of, totals)
    moment = history.moment(store, as_of)
    table, parameters = history.assignments_at(moment)
    sizes = dict(store.rows(f"SELECT domain, count(*) FROM {table} GROUP BY domain", parameters))
    run = moment.run or None  # the store is younger than the date: its present groups are taken
    topic_of = group_of_domain(store, TOPICS, run)
    section_of = majority(topic_of, group_of_domain(store, SECTIONS, run), sizes)
    sums = history.sums(store, moment, set(sizes)) if section_of else {}
    return _Level(sizes, topic_of, section_of, lambda of: added([sums[d] for d in of]), run)


def list_sections(
    store: Store,
    *,
    top: int | None = 10,
    limit: int | None = None,
    as_of: str | int | None = None,
    totals: Totals | None = None,
    words: Words | None = None,
    outline: Outline | None = None,
) -> list[Section]:
    """Return the sections with their most characteristic words, largest first, ties by id.

    `as_of` is a run or date: sections are shown as they were then, under their present names.
    `totals` and the `outline` of the present domains and `words` are given if they are known already.
    """
    with store.frozen():
        level, texts = _level(store, as_of, totals, outline), words or Words(store)
        topics: dict[int, dict[int, int]] = {}
        domains: dict[int, list[int]] = {}
        for domain, topic in sorted(level.topic_of.items()):
            if domain in level.sizes and topic in level.section_of:
                of = topics.setdefault(level.section_of[topic], {})
                of[topic] = of.get(topic, 0) + level.sizes[domain]
                domains.setdefault(level.section_of[topic], []).append(domain)
        langs, names = _langs_and_names(store)
        units = {section: sum(of.values()) for section, of in topics.items()}
        wholes = {
            lang: sum(n for s, n in units.items() if langs[s] == lang) for lang in langs.values()
        }
        best: dict[int, list[WeightedWord]] = {}
        for lang in wholes:
            own = {s: level.totals(of) for s, of in sorted(domains.items()) if langs[s] == lang}
            best |= _characteristic_words(texts, own, top)
        order = sorted(units, key=lambda section: (-units[section], section))
        labels = group_labels(store, SECTIONS, level.run)
        return [
            Section(
                id=section,
                label=names[section] or labels.get(section) or best_words(best[section]),
                lang=langs[section],
                topics=sorted(topics[section], key=lambda t: (-topics[section][t], t)),
                units=units[section],
                share=round(units[section] / wholes[langs[section]], 6),
                words=best[section],
            )
            for section in order[:limit]
        ]


def section_labels(store: Store) -> dict[int, str]:
    """Return the label of each section of the last grouping."""
    with store.frozen():
        labels = group_labels(store, SECTIONS)
        if not labels:  # no labeller has named them yet
            return {s.id: s.label for s in list_sections(store, top=LABEL_WORDS)}
        named = dict(store.rows("SELECT id, name FROM sections WHERE name <> ''"))
        return {number: named.get(number, label) for number, label in labels.items()}


def _langs_and_names(store: Store) -> tuple[dict[int, str], dict[int, str]]:
    """Return the language and the given name of each section."""
    rows = list(store.rows("SELECT id, lang, name FROM sections"))
    return {section: lang for section, lang, _ in rows}, {
        section: name for section, _, name in rows
    }


def paths(store: Store, labels: Mapping[int, str]) -> dict[int, list[PathStep]]:
    """Return the way to each of some domains, from its section down; `labels` are theirs."""
    with store.frozen():
        topic_of, section_of = topic_of_domain(store), section_of_topic(store)
        topics = topic_labels(store, {topic_of[d] for d in labels if d in topic_of})
        sections = section_labels(store) if section_of else {}
    ways = {}
    for domain, label in labels.items():
        topic = topic_of.get(domain)
        section = None if topic is None else section_of.get(topic)
        steps = [] if section is None else [PathStep("section", section, sections[section])]
        steps += [] if topic is None else [PathStep("topic", topic, topics[topic])]
        ways[domain] = [*steps, PathStep("domain", domain, label)]
    return ways


def _characteristic_words(
    words: Words, sections: Mapping[int, DomainWords], top: int | None
) -> dict[int, list[WeightedWord]]:
    """Return the words of each section of a language in the order of contrast with the others."""
    characteristic = {}
    orders = contrasts(list(sections.values()))
    for (section, whole), order in zip(sections.items(), orders, strict=True):
        heaviest = order[:top]
        part = DomainWords(
            whole.words[heaviest],
            whole.occurrences[heaviest],
            whole.weights[heaviest],
            whole.n_units,
        )
        weighted = {word.word: word for word in words.best(part, None)}
        characteristic[section] = [weighted[words.name(int(n))] for n in part.words]
    return characteristic


def topics_mark(store: Store) -> str:
    """Return a hash of which domain is in which topic."""
    return hashlib.sha256(repr(sorted(topic_of_domain(store).items())).encode()).hexdigest()


def untopical_domains(store: Store) -> int:
    """Count the domains with units that have no topic yet."""
    topic_of = group_of_domain(store, TOPICS)
    rows = store.rows("SELECT id FROM domains WHERE units > 0")
    return sum(number not in topic_of for (number,) in rows)
