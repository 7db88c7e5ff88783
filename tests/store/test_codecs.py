"""Values as the store writes them come back as they were, and damage is noticed."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.values import Bag, DomainWords
from segapsith.errors import SegapsithError
from segapsith_store import codecs
from segapsith_store.schema import UNSPACED

WORD = st.integers(0, 2**31 - 1)
SUM = st.integers(0, 2**62)
UNIT = st.lists(st.tuples(WORD, WORD, st.integers(1, 2**31 - 1)), max_size=6)
DOMAIN = st.lists(st.tuples(WORD, SUM, SUM), max_size=6)


def _width(values: list[int]) -> int:
    """Return how many bytes the largest value needs: 1, 2, 4 or 8."""
    n_bits = max(values, default=0).bit_length()
    return next(width for width in (1, 2, 4, 8) if n_bits <= 8 * width)


def _plain(rows: list[tuple[int, int, int]]) -> bytes:
    """The table of three columns, value by value."""
    columns = [[row[i] for row in rows] for i in range(3)]
    widths = [_width(column) for column in columns]
    values = (
        value.to_bytes(width, "little")
        for column, width in zip(columns, widths, strict=True)
        for value in column
    )
    return bytes(widths) + b"".join(values)


@given(st.lists(UNIT, max_size=4))
@settings(deadline=None)
def test_bags_come_back_and_take_as_few_bytes_as_they_need(
    units: list[list[tuple[int, int, int]]],
) -> None:
    bags = [
        Bag(*(np.array([row[i] for row in unit], np.int32) for i in range(3))) for unit in units
    ]
    written = [bytes(blob) for blob in codecs.bags_bytes(bags)]
    assert written == [_plain([(w, n, weight - 1) for w, n, weight in unit]) for unit in units]
    for bag, blob in zip(bags, written, strict=True):
        for column, again in zip(bag, codecs.bag_from(blob), strict=True):
            assert again.dtype == np.int32 and np.array_equal(column, again)


@given(st.lists(DOMAIN, max_size=4))
@settings(deadline=None)
def test_sums_of_domains_come_back_exactly(domains: list[list[tuple[int, int, int]]]) -> None:
    sums = [
        DomainWords(
            np.array([row[0] for row in rows], np.int32),
            np.array([row[1] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.int64),
            7,
        )
        for rows in domains
    ]
    written = [bytes(blob) for blob in codecs.domains_bytes(sums)]
    assert written == [_plain(rows) for rows in domains]
    for some, blob in zip(sums, written, strict=True):
        again = codecs.domain_from(blob, 7)
        assert again.n_units == 7
        assert np.array_equal(again.words, some.words)
        assert np.array_equal(again.occurrences, some.occurrences)
        assert np.array_equal(again.weights, some.weights)


def test_a_word_that_weighs_nothing_is_refused() -> None:
    nothing = Bag(np.array([1], np.int32), np.array([1], np.int32), np.array([0], np.int32))
    with pytest.raises(ValueError, match="weigh more than nothing"):
        codecs.bags_bytes([nothing])


@pytest.mark.parametrize("blob", [b"", b"\1\1", b"\1\1\3" + bytes(5), b"\1\1\1" + bytes(4)])
def test_a_damaged_table_is_an_error(blob: bytes) -> None:
    with pytest.raises(ValueError, match="damaged"):
        codecs.bag_from(blob)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(WORD))
@settings(deadline=None)
def test_integers_and_words_come_back(numbers: list[int], words: list[int]) -> None:
    values, ids = np.array(numbers, np.int64), np.array(words, np.int32)
    assert codecs.integers_from(codecs.integers(values)).tolist() == numbers
    assert codecs.words_from(codecs.words_bytes(ids)).tolist() == words


@pytest.mark.parametrize("write", [codecs.named_arrays, codecs.deflated_arrays])
def test_named_arrays_come_back_with_their_types(write: Callable[..., memoryview]) -> None:
    arrays = {"points": np.zeros((2, 3), np.int16), "langs": np.array(["en", "fr"])}
    again = codecs.named_arrays_from(write(arrays))
    assert list(again) == list(arrays)
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype and np.array_equal(again[name], array)


@pytest.mark.parametrize("write", [codecs.named_arrays, codecs.deflated_arrays])
def test_objects_are_never_pickled(write: Callable[..., memoryview]) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        write({"objects": np.array([{}], dtype=object)})


def test_deflated_arrays_are_small() -> None:
    arrays = {"points": np.zeros((100, 100), np.int16)}
    assert len(codecs.deflated_arrays(arrays)) * 10 < len(codecs.named_arrays(arrays))


def test_json_has_sorted_keys_and_only_finite_numbers() -> None:
    text = codecs.as_json({"b": 1, "a": "é"})
    assert text == '{"a": "é", "b": 1}' and json.loads(text) == {"a": "é", "b": 1}
    with pytest.raises(SegapsithError, match="not a number"):
        codecs.as_json({"kappa": math.nan})


# -- texts without spaces ------------------------------------------------------------------------


@given(st.text())
def test_a_separated_text_can_be_joined_again(text: str) -> None:
    assert codecs.joined(codecs.separated(text)) == codecs.joined(text)


@pytest.mark.parametrize("text", ["", "Bank", "банк", "τράπεζα", "بنك", "बैंक", "2026"])
def test_scripts_with_spaces_have_no_place_here(text: str) -> None:
    assert not codecs.is_unspaced(text)
    assert codecs.separated(text) == text


@pytest.mark.parametrize(
    ("text", "query"),
    [("中国人民银行", "银行"), ("ดอกเบี้ย", "เบี้ย"), ("가나다라", "나다"), ("カタカナ語", "ナ語")],
)
def test_the_index_finds_a_part_of_a_text(text: str, query: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(UNSPACED[0])
        connection.execute("INSERT INTO unspaced_fts VALUES ('', ?)", [codecs.separated(text)])
        found = "SELECT count(*) FROM unspaced_fts WHERE unspaced_fts MATCH ?"
        assert connection.execute(found, [f'"{codecs.separated(query)}"']).fetchone() == (1,)
        backwards = codecs.separated(query[::-1])
        assert connection.execute(found, [f'"{backwards}"']).fetchone() == (0,)
