"""Normal forms of documents, hashes and dates."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from segapsith.intake.normalization import clean, clean_bag, cleaned, is_clean, text_hash, utc
from segapsith.model import Document


@given(st.text(alphabet=st.characters(codec=None), max_size=50))
def test_a_cleaned_text_can_be_stored_and_has_the_same_length(text: str) -> None:
    result = clean(text)
    assert len(result) == len(text)
    assert is_clean(result) and is_clean(text) == (result == text)
    assert "\0" not in result
    result.encode("utf-8")


def test_a_clean_document_is_returned_unchanged() -> None:
    document = Document(uid="a", title="Flood", metadata={"desk": "EU"})
    assert cleaned(document) is document


def test_every_text_of_a_document_is_cleaned() -> None:
    document = Document(
        uid=" a\0 ",
        title="\0",
        body="\ud800",
        date="\0",
        lang="\0",
        source="\0",
        metadata={"k\0": {"x": ["\0", math.nan, 1]}},
    )
    assert cleaned(document) == Document(
        uid="a�",
        title="�",
        body="�",
        date="�",
        lang="�",
        source="�",
        metadata={"k�": {"x": ["�", None, 1]}},
    )


def test_words_of_a_bag_are_cleaned() -> None:
    assert clean_bag({"rain\0": 2}) == {"rain�": 2}
    bag = {"rain": 2}
    assert clean_bag(bag) is bag


def test_spacing_and_composition_do_not_change_the_hash() -> None:
    one = Document(title="Caf\u00e9", body="in  Paris")
    two = Document(title="Cafe\u0301", body="in Paris ")
    assert text_hash(one) == text_hash(two) != text_hash(Document(title="Cafe", body="in Paris"))


def test_a_date_without_a_zone_is_in_utc() -> None:
    assert utc("2026-03-02 06:15") == "2026-03-02T06:15:00+00:00"


def test_an_invalid_date_is_none() -> None:
    assert [utc(text) for text in (None, "", "2026-02-30", "0001-01-01T00:00+14:00")] == [None] * 4
