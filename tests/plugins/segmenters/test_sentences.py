"""Compiled searches of full stops and paragraphs against the patterns that they stand for."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith import Annotation, Document
from segapsith.tokens import Tokens
from segapsith_plugins.segmenters._sentences import _stops, paragraph_starts

STOP = re.compile(r"\s[.!?]+[\"'”’»)\]\s]*\s")
PARAGRAPH = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]{2,}\S)")
texts = st.text(alphabet='ab .!?"”)\n\t\u00a0\u2003é𝒳', max_size=40)


def tokens_of(bodies: list[str]) -> Tokens:
    nothing = np.zeros((0, 2), np.int32)
    return Tokens(
        [
            Annotation(Document(body=body), [], nothing, np.zeros(0, np.bool_), nothing)
            for body in bodies
        ]
    )


@settings(deadline=None)
@given(texts)
def test_full_stops_between_blanks_are_those_of_the_pattern(text: str) -> None:
    tokens = tokens_of([text])
    found = _stops(tokens.codes, tokens.kinds).tolist()
    assert found == [match.end() for match in STOP.finditer(text)]


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.integers(0, 3))
def test_paragraphs_are_those_of_the_pattern(bodies: list[str], skipped: int) -> None:
    tokens = tokens_of(bodies)
    begins = tokens.offsets + np.minimum(skipped, tokens.lengths)
    starts, counts = paragraph_starts(
        tokens.codes, tokens.kinds, begins, tokens.offsets + tokens.lengths
    )
    found = [
        [match.end() + offset for match in PARAGRAPH.finditer(body, min(skipped, len(body)))]
        for body, offset in zip(bodies, tokens.offsets.tolist(), strict=True)
    ]
    assert starts.tolist() == [start for one in found for start in one]
    assert counts.tolist() == np.cumsum([len(one) for one in found]).tolist()
