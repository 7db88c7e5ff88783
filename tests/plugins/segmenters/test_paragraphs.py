"""The plain segmenters."""

from __future__ import annotations

import pytest

from segapsith import Document, Lexicon, Network, Unit
from segapsith.testing import segmenter_checks
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.segmenters.paragraphs import Paragraphs, Whole

FLOOD = "The river rose above the embankment and the flood reached the town below the dam."
STRIKE = "Union drivers began a strike, trains stopped and commuters crowded the station platforms."


def units(title: str, body: str, **settings: int) -> list[tuple[str, Unit]]:
    document = Document(title=title, body=body, lang="en")
    (annotation,) = SimplemmaWords().annotate([document], Lexicon())
    actual = Paragraphs(**settings).segment(annotation, Network())
    return [(document.text[unit.start : unit.end], unit) for unit in actual]


@pytest.mark.parametrize("factory", [Paragraphs, Whole])
@pytest.mark.parametrize("check", segmenter_checks, ids=lambda check: check.__name__)
def test_they_keep_the_contract(factory: type, check: object) -> None:
    check(factory)  # type: ignore[operator]  # a check is a function


def test_a_blank_line_parts_two_units_and_the_title_goes_with_the_first() -> None:
    actual = units("Week in brief", f"{FLOOD}\n\n{STRIKE}", min_words=5)
    assert [text.strip() for text, _ in actual] == [f"Week in brief\n\n{FLOOD}", STRIKE]


def test_an_indented_line_begins_a_paragraph() -> None:
    wrapped = "\n".join([FLOOD[:40], FLOOD[40:]])
    actual = units("", f"{wrapped}\n    {STRIKE}", min_words=5)
    assert len(actual) == 2


def test_a_long_line_is_a_paragraph_and_a_wrapped_one_is_not() -> None:
    long = " ".join([FLOOD] * 3)
    assert len(units("", f"{long}\n{STRIKE} {STRIKE}", min_words=5)) == 2
    assert len(units("", f"{FLOOD}\n{STRIKE}", min_words=5)) == 1


def test_short_paragraphs_stay_together() -> None:
    assert len(units("", f"{FLOOD}\n\n{STRIKE}")) == 1
    assert len(units("", "\n\n".join([FLOOD, STRIKE] * 4))) > 1
