"""The values that are passed from a text to a domain."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from segapsith.model import Document, Network, Reject


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
