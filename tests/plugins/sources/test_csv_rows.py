"""Tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.csv_rows import CsvRows

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(CsvRows)


@pytest.mark.parametrize(
    "name", ["csv/broken.csv", "csv/english.csv", "csv/french_semicolons.csv", "csv/tabs.tsv"]
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "csv"


def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(CsvRows, "csv")


def test_columns_are_known_by_many_names(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(CsvRows, sample("csv/english.csv"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.body == 'Crews went back,\nthe owners said "at last".'
    assert (first.uid, first.title, first.lang) == ("1", "Ferry strike ends", "en")
    assert (first.date, second.date) == ("2026-03-02T06:15:00", "2026-03-02")
    assert (first.source, first.metadata["Desk"]) == ("Harbour Wire", "transport")


def test_french_columns_and_semicolons(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(CsvRows, sample("csv/french_semicolons.csv"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert (first.uid, first.title, first.date) == ("f1", "Grève levée", "2026-03-02")
    assert first.metadata["rubrique"] == "social"
    assert second.body == "L’eau monte."


def test_tabs_and_a_byte_order_mark(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(CsvRows, sample("csv/tabs.tsv"))
    assert isinstance(only, Document)
    assert (only.uid, only.title) == ("https://ex.org/1", "Tunnel")


def test_ragged_rows(items: Items, sample: Callable[[str], bytes]) -> None:
    actual = items(CsvRows, sample("csv/broken.csv"))
    assert [type(item) for item in actual] == [Document, Reject, Reject, Document, Document]


def test_a_table_without_text_is_named(items: Items) -> None:
    (only,) = items(CsvRows, b"a,b,c\n1,2,3\n")
    assert isinstance(only, Reject)


def test_a_field_without_an_end_stops_the_table(
    items: Items, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith_plugins.sources.csv_rows.MAX_ITEM_CHARS", 1000)
    actual = items(CsvRows, b'id,text\n1,ok\n2,"open\n' + b"3,more\n" * 1000)
    assert [type(item) for item in actual] == [Document, Reject]
