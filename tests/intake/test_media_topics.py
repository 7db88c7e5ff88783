"""Codes of stories lead to the names of IPTC's top-level topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from segapsith.intake.media_topics import (
    MEDIA_TOPICS,
    SECOND_LEVEL,
    named_codes,
    top_level_codes,
    topic_name,
)
from segapsith.model import Document
from segapsith.plugin.registry import load_plugins

SAMPLES = Path(__file__).parents[1] / "samples"


def test_there_are_seventeen_topics_with_two_names_each() -> None:
    assert list(MEDIA_TOPICS) == [f"{number:02}000000" for number in range(1, 18)]
    for names in zip(*MEDIA_TOPICS.values(), strict=True):
        assert len(set(names)) == 17


@pytest.mark.parametrize(
    ("subjects", "names"),
    [
        (["http://cv.iptc.org/newscodes/mediatopic/15000000"], ["sport"]),
        (["subj:15054000 soccer", "medtop:15000000"], ["sport"]),
        (["medtop:20001065", "medtop:20000587"], ["sport", "society"]),
        (["medtop:20000052", "medtop:20001240", "99000000", "150", "15000000000", "", None], []),
        (["17000000 weather", "11000000"], ["weather", "politics and government"]),
    ],
)
def test_top_level_topics_are_recognised(subjects: list[object], names: list[str]) -> None:
    assert [topic_name(code) for code in top_level_codes(subjects)] == names


def test_every_topic_of_the_second_level_is_named_and_leads_to_its_branch() -> None:
    assert set(SECOND_LEVEL) == set(MEDIA_TOPICS)
    for top, names in SECOND_LEVEL.items():
        for code, name in names.items():
            assert named_codes([f"medtop:{code}"]) == [top, code]
            assert topic_name(code) == name


@pytest.mark.parametrize(
    ("source", "sample", "name"),
    [
        ("newsml", "newsml/g2_message.xml", "disaster, accident and emergency incident"),
        ("newsml", "newsml/newsml_12_french.xml", "disaster, accident and emergency incident"),
        ("nitf", "nitf/american.xml", "politics and government"),
        ("ninjs", "ninjs/ninjs_1.json", "economy, business and finance"),
    ],
)
def test_every_format_that_has_codes_brings_them(source: str, sample: str, name: str) -> None:
    with (SAMPLES / sample).open("rb") as stream:
        items = list(load_plugins().make("source", source).read(stream, sample))
    subjects = [
        subject
        for item in items
        if isinstance(item, Document)
        for subject in item.metadata.get("subjects", [])  # type: ignore[union-attr]
    ]
    assert name in {topic_name(code) for code in top_level_codes(subjects)}
