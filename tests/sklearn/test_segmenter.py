"""The segmenter as a transformer of texts."""

from __future__ import annotations

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import segapsith
from segapsith.sklearn import CohesionSegmenter

BANKS = "The bank raised its interest rate. Higher interest rates hurt the bank and its loans. "
GOALS = "The team scored a late goal. Fans of the team saw the goal win the football match. "
TEXTS = [BANKS * 6 + GOALS * 6, BANKS]


def test_units_are_those_of_the_segmenter() -> None:
    units = CohesionSegmenter(lang="en").fit_transform(TEXTS)
    expected = [
        text[unit.start : unit.end]
        for text in TEXTS
        for unit in segapsith.segment(text, lang="en", segmenter="cohesion")
    ]
    assert units == expected
    assert len(units) == 3


def test_a_vectoriser_takes_the_units() -> None:
    rows = make_pipeline(CohesionSegmenter(lang="en"), CountVectorizer()).fit_transform(TEXTS)
    assert rows.shape[0] == 3


def test_units_of_each_text_have_their_places() -> None:
    first, second = CohesionSegmenter(lang="en").segment(TEXTS)
    assert [unit.start for unit in first] == [0, first[0].end]
    assert second[0].words["bank"] == 2


def test_what_is_not_a_list_of_texts_is_named() -> None:
    with pytest.raises(TypeError, match="one text"):
        CohesionSegmenter().fit(BANKS)
    with pytest.raises(TypeError, match=r"X\[1\] is int"):
        CohesionSegmenter().fit([BANKS, 3])  # type: ignore[list-item]  # the mistake
