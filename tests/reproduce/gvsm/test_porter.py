"""Porter's stemmer: the examples of its article, and its author's changes."""

from __future__ import annotations

import pytest

from segapsith_reproduce.gvsm.porter import stem

STEMS = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre",
    "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "falling": "fall",
    "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi",
    "sky": "sky", "conditional": "condit", "digitizer": "digit", "operator": "oper",
    "feudalism": "feudal", "hopefulness": "hope", "triplicate": "triplic", "formative": "form",
    "revival": "reviv", "adjustable": "adjust", "replacement": "replac", "adoption": "adopt",
    "probate": "probat", "cease": "ceas", "roll": "roll", "is": "is", "a": "a",
    "generalizations": "gener", "oscillators": "oscil", "technology": "technolog",
    "possibly": "possibl", "conformably": "conform",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), STEMS.items())
def test_a_word_is_reduced_to_its_stem(word: str, expected: str) -> None:
    assert stem(word) == expected
