"""Pieces against the pattern that says what a chunk is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith_plugins.annotators._chunks import Pieces, chunk_pattern

_ORACLE = re.compile(rf"(?:{chunk_pattern().pattern})[\W_]*", re.VERBOSE)
_SIGNS = "aZé1٣²_ .,-‐'’&\u0301\u00ad\u200d!?\n𝒳\ud800中की\u200cצה\"״"


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(alphabet=_SIGNS, max_size=40) | st.text(max_size=20), max_size=6))
def test_pieces_are_what_the_pattern_finds(texts: list[str]) -> None:
    pieces = Pieces()
    order: dict[str, int] = {}
    for text in texts:
        numbers, starts, n_new = pieces.numbers(text)
        actual = list(_ORACLE.finditer(text))
        assert starts.tolist() == [*(match.start() for match in actual), len(text)]
        before = len(order)
        want = [order.setdefault(match[0], len(order)) for match in actual]
        assert numbers.tolist() == want
        assert n_new == len(order) - before
    assert [pieces.text(number) for number in range(len(pieces))] == list(order)


def test_the_table_grows_with_what_it_holds() -> None:
    pieces = Pieces()
    text = " ".join(f"w{number}" for number in range(30_000)) + " " + "x" * 200_000
    numbers, starts, n_new = pieces.numbers(text)
    assert n_new == len(pieces) == 30_001
    assert numbers.tolist() == list(range(30_001))
    again, _, n_new = pieces.numbers(text)
    assert n_new == 0 and again.tolist() == numbers.tolist()
    assert pieces.n_characters == len(text) and starts[-1] == len(text)
