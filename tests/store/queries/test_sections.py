"""Sections as they are read: their topics, shares, words and the paths to domains."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from segapsith.api.wire import Wire
from segapsith.domains.groups import DomainGroups
from segapsith.engine.runs import RunPlan
from segapsith_store.queries import groupings, sections
from segapsith_store.queries.groupings import SECTIONS, TOPICS, Level
from segapsith_store.queries.topics import section_of_topic


def _wire(open_wire: Callable[..., Wire]) -> Wire:
    """Four domains with 3, 1, 1 and 1 units."""
    wire = open_wire(threshold=0.3)
    wire.learn(
        {"id": f"u{i}", "words": {word: 2, f"{word}s": 1, f"own{i}": 1}, "lang": "en"}
        for i, word in enumerate(["storm", "storm", "storm", "vote", "goal", "film"])
    )
    assert [d["units"] for d in wire.domains()] == [3, 1, 1, 1]
    return wire


def _save(wire: Wire, level: Level, labels: list[int]) -> None:
    groups = DomainGroups(np.arange(1, len(labels) + 1), np.array(labels))
    with wire.writer.run(RunPlan(level.table, {}, {})) as run:
        groupings.save(wire.writer, level, run.number, {"en": groups}, basis="")


def test_a_section_lists_its_topics_by_size_and_its_share(open_wire: Callable[..., Wire]) -> None:
    wire = _wire(open_wire)
    _save(wire, TOPICS, [0, 1, 2, 2])
    _save(wire, SECTIONS, [0, 0, 1, 1])
    first, second = sections.list_sections(wire.writer)
    assert (first.id, first.topics, first.units, first.share) == (1, [1, 2], 4, 0.666667)
    assert (second.id, second.topics, second.units, second.share) == (2, [3], 2, 0.333333)
    assert {word.word for word in second.words} == {
        "goal", "goals", "own4", "film", "films", "own5",
    }  # fmt: skip
    assert first.words[0].word == "storm" and first.label.startswith("storm")
    assert sections.list_sections(wire.writer, limit=1, top=1)[0].words == first.words[:1]


def test_a_topic_that_was_regrouped_has_the_section_of_most_of_its_units(
    open_wire: Callable[..., Wire],
) -> None:
    wire = _wire(open_wire)
    _save(wire, TOPICS, [0, 1, 2, 2])
    _save(wire, SECTIONS, [0, 1, 1, 1])
    mark = sections.topics_mark(wire.writer)
    _save(wire, TOPICS, [0, 0, 0, 1])
    assert section_of_topic(wire.writer) == {1: 1, 4: 2}
    assert sections.topics_mark(wire.writer) != mark
    wire.learn([{"id": "new", "words": {"bank": 3}, "lang": "en"}])
    assert sections.untopical_domains(wire.writer) == 1


def test_a_path_has_the_levels_that_exist(open_wire: Callable[..., Wire]) -> None:
    wire = _wire(open_wire)

    def levels() -> list[str]:
        return [step.level for step in sections.paths(wire.writer, {1: "a storm"})[1]]

    assert levels() == ["domain"]
    _save(wire, TOPICS, [0, 1, 2, 2])
    assert levels() == ["topic", "domain"]
    _save(wire, SECTIONS, [0, 0, 1, 1])
    section, topic, domain = sections.paths(wire.writer, {1: "a storm"})[1]
    assert (section.level, section.id) == ("section", 1)
    assert (topic.level, topic.id) == ("topic", 1) and "storm" in topic.label
    assert (domain.level, domain.id, domain.label) == ("domain", 1, "a storm")
