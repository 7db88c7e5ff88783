"""The values that are passed from a text to a domain."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from segapsith.model import Document, Network, Reject, document_of, unit_of


@pytest.mark.parametrize(
    ("title", "body", "text"),
    [
        ("Flood", "It rose.", "Flood\n\nIt rose."),
        ("Flood", "", "Flood"),
        ("", "It rose.", "It rose."),
    ],
)
def test_the_text_of_a_document_is_title_blank_line_body(title: str, body: str, text: str) -> None:
    assert Document(title=title, body=body).text == text


def test_an_empty_network_knows_no_word() -> None:
    network = Network()
    assert network.numbers(["rain"]).tolist() == [-1]
    assert network.starts.tolist() == [0]


def test_a_word_that_is_newer_than_the_network_is_unknown_to_it() -> None:
    network = Network(rows={"rain": 0, "hail": 1}, significance=np.ones(1, np.float32))
    assert network.numbers(["hail", "rain"]).tolist() == [-1, 0]


def test_values_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Reject("a", "broken").reason = "fine"  # type: ignore[misc]  # the point of the test


# -- documents from dicts ---------------------------------------------------------------------


def test_unknown_fields_become_metadata() -> None:
    document = document_of({"id": 7, "title": "Flood", "text": "The river rose.", "desk": "EU"})
    assert document == Document(
        uid="7", title="Flood", body="The river rose.", metadata={"desk": "EU"}
    )


def test_documents_and_rejects_pass_unchanged() -> None:
    for item in (Document(uid="1"), Reject("1", "broken")):
        assert document_of(item) is item


@pytest.mark.parametrize("item", [["text"], "text", None])
def test_what_is_not_a_dict_is_a_reject(item: object) -> None:
    reject = document_of(item)  # type: ignore[arg-type]  # what a caller may pass by mistake
    assert isinstance(reject, Reject)
    assert f"not {type(item).__name__}" in reject.reason


def test_a_field_that_is_not_a_string_is_a_reject() -> None:
    assert document_of({"id": "a", "text": ["rain"]}) == Reject("a", "text is not a string")
    assert unit_of({"id": "a", "words": {}, "date": 1.5}) == Reject("a", "date is not a string")


def test_a_unit_has_counted_words() -> None:
    unit = unit_of({"id": "u", "words": {"rain": 2}, "label": "weather"})
    assert unit == Document(uid="u", lang="en", bag={"rain": 2}, metadata={"label": "weather"})
    assert unit_of({"words": {1: 2}}) == Document(lang="en", bag={"1": 2})
    assert unit_of({"text": "rain"}) == Reject("(no id)", "no `words` (a mapping of word to count)")
