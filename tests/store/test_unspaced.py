"""Characters of scripts without spaces are words of the full-text index."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith_store.schema import UNSPACED
from segapsith_store.unspaced import is_unspaced, joined, separated


@given(st.text())
def test_a_separated_text_can_be_joined_again(text: str) -> None:
    assert joined(separated(text)) == joined(text)


@pytest.mark.parametrize("text", ["", "Bank", "банк", "τράπεζα", "بنك", "बैंक", "2026"])
def test_scripts_with_spaces_have_no_place_here(text: str) -> None:
    assert not is_unspaced(text)
    assert separated(text) == text


@pytest.mark.parametrize(
    ("text", "query"),
    [("中国人民银行", "银行"), ("ดอกเบี้ย", "เบี้ย"), ("가나다라", "나다"), ("カタカナ語", "ナ語")],
)
def test_the_index_finds_a_part_of_a_text(text: str, query: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(UNSPACED[0])
        connection.execute("INSERT INTO unspaced_fts VALUES ('', ?)", [separated(text)])
        found = "SELECT count(*) FROM unspaced_fts WHERE unspaced_fts MATCH ?"
        assert connection.execute(found, [f'"{separated(query)}"']).fetchone() == (1,)
        backwards = separated(query[::-1])
        assert connection.execute(found, [f'"{backwards}"']).fetchone() == (0,)
