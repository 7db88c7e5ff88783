"""IPTC Media Topics of stories: counted for a domain, and proposed as names of sections."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from segapsith.intake.media_topics import named_codes, top_level_codes, topic_name
from segapsith.model import Result
from segapsith_store.queries.sections import Section, list_sections
from segapsith_store.queries.topics import section_of_topic, topic_of_domain
from segapsith_store.store import Store

__all__ = ["MediaTopic", "SectionProposal", "media_topics_of", "propose_names"]

LEAST_SHARE = 0.5
"""Share of a section's stories with codes that must have the code that names it."""

LEAST_STORIES = 3
"""Stories with codes that a section needs for a proposal."""


@dataclass(frozen=True, slots=True)
class MediaTopic(Result):
    """A topic of IPTC, of the first or second level, and the number of stories that carry it."""

    code: str
    name: str
    stories: int


@dataclass(frozen=True, slots=True)
class SectionProposal(Result):
    """A name for a section, by the codes of its stories; empty if no code prevails."""

    id: int
    label: str
    code: str
    name: str
    share: float
    """Part of its stories with codes that carry this one."""
    stories: int
    """Its stories with codes."""


def media_topics_of(store: Store, domain: int, lang: str) -> list[MediaTopic]:
    """Return the topics of a domain's stories, most frequent first."""
    counts: Counter[str] = Counter()
    for _, subjects in _coded(store, "a.domain = ?", [domain]):
        counts.update(named_codes(subjects))
    return [
        MediaTopic(code, topic_name(code, lang), n)
        for code, n in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]


def _coded(
    store: Store, condition: str, values: Sequence[int]
) -> Iterator[tuple[int, list[object]]]:
    for domain, metadata in store.rows(
        "SELECT a.domain, v.metadata FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN versions v ON v.id = u.version"
        f" WHERE {condition} AND instr(v.metadata, '\"subjects\"') GROUP BY a.domain, v.id",
        values,
    ):
        subjects = json.loads(metadata).get("subjects")
        if isinstance(subjects, list):
            yield domain, subjects


def propose_names(store: Store) -> list[SectionProposal]:
    """Return what the stories of each section propose as its name, largest section first.

    In each language a name is proposed to one section only: the one with most stories of its code.
    """
    with store.frozen():
        sections = list_sections(store, top=1)
        section_of = section_of_topic(store)
        sections_of_domains = {
            domain: section_of[topic]
            for domain, topic in topic_of_domain(store).items()
            if topic in section_of
        }
        counts: dict[int, Counter[str]] = {section.id: Counter() for section in sections}
        stories: Counter[int] = Counter()
        for domain, subjects in _coded(store, "a.domain IS NOT NULL", []):
            section = sections_of_domains.get(domain)
            codes = top_level_codes(subjects)
            if codes and section in counts:
                counts[section].update(codes)
                stories[section] += 1
    owners = _owners(sections, counts, stories)
    return [
        _proposal(section, owners.get(section.id, ""), counts[section.id], stories[section.id])
        for section in sections
    ]


def _owners(
    sections: Iterable[Section], counts: Mapping[int, Counter[str]], stories: Mapping[int, int]
) -> dict[int, str]:
    """Return the code that names each section; of rivals the one with most stories has it."""
    claims = []
    for section in sections:
        for code, n in counts[section.id].items():
            enough = stories[section.id] >= LEAST_STORIES
            if enough and n >= LEAST_SHARE * stories[section.id]:
                claims.append((-n, section.id, code, section.lang))
    owners: dict[int, str] = {}
    taken: set[tuple[str, str]] = set()
    for _, number, code, lang in sorted(claims):
        if number not in owners and (lang, code) not in taken:
            owners[number] = code
            taken.add((lang, code))
    return owners


def _proposal(
    section: Section, code: str, counts: Mapping[str, int], stories: int
) -> SectionProposal:
    return SectionProposal(
        id=section.id,
        label=section.label,
        code=code,
        name=topic_name(code, section.lang) if code else "",
        share=round(counts[code] / stories, 6) if code else 0.0,
        stories=stories,
    )
