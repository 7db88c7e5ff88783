"""Chunks and gaps against the pattern that says what a chunk is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith_plugins.annotators._chunks import Strings, chunk_pattern, chunks_of

_ORACLE = re.compile(rf"(?P<chunk>{chunk_pattern().pattern})(?P<gap>[\W_]*)", re.VERBOSE)
_SIGNS = "aZé1٣²_ .,-‐'’&\u0301\u00ad\u200d!?\n𝒳\ud800中की\u200cצה\"״"


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(alphabet=_SIGNS, max_size=40) | st.text(max_size=20), max_size=6))
def test_chunks_are_what_the_pattern_finds(texts: list[str]) -> None:
    strings = Strings()
    order: dict[str, int] = {}
    for text in texts:
        codes, starts, ends = chunks_of(text)
        actual = list(_ORACLE.finditer(text))
        assert starts.tolist() == [*(match.start() for match in actual), len(text)]
        assert ends.tolist() == [match.end("chunk") for match in actual]
        for name, begins, stops in (("chunk", starts[:-1], ends), ("gap", ends, starts[1:])):
            before = len(order)
            want = [order.setdefault(match[name], len(order)) for match in actual]
            numbers, new = strings.numbers(codes, begins, stops)
            assert numbers.tolist() == want
            assert new.tolist() == [want.index(number) for number in range(before, len(order))]
    assert [strings.text(number) for number in range(len(strings))] == list(order)


def test_the_table_grows_with_what_it_holds() -> None:
    strings = Strings()
    text = " ".join(f"w{number}" for number in range(30_000)) + " " + "x" * 200_000
    codes, starts, ends = chunks_of(text)
    numbers, new = strings.numbers(codes, starts, ends)
    assert len(new) == len(strings) == 30_001
    assert numbers.tolist() == list(range(30_001))
    again, new = strings.numbers(codes, starts, ends)
    assert not len(new) and again.tolist() == numbers.tolist()
    assert strings.n_characters == len(text) - 30_000 and starts[-1] == len(text)
