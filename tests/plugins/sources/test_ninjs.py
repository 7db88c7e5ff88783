"""ninjs of three generations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.ninjs import NinJs

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(NinJs)


@pytest.mark.parametrize(
    "name",
    [
        "ninjs/broken_lines.jsonl",
        "ninjs/ninjs_1.json",
        "ninjs/ninjs_2_lines.jsonl",
        "ninjs/ninjs_3_array.json",
    ],
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "ninjs"


def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(NinJs, "ninjs")


def test_ninjs_1(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(NinJs, sample("ninjs/ninjs_1.json"))
    assert isinstance(only, Document)
    assert (only.uid, only.title) == ("http://ex.org/items/1", "Tunnel opens")
    assert only.body == "The tunnel opened on Monday.\n\nTrains ran on time."
    expected = {
        "version": "2",
        "status": "usable",
        "urgency": 3,
        "embargo": "2026-03-02T07:00:00Z",
        "dateline": "BASEL",
        "byline": "Ann Reed",
        "subjects": ["medtop:04000000 economy"],
        "keywords": ["rail"],
        "priority": 5,
    }
    assert expected.items() <= only.metadata.items()


def test_ninjs_2_in_lines(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(NinJs, sample("ninjs/ninjs_2_lines.jsonl"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert (first.title, first.lang) == ("Le tunnel ouvre", "fr")
    assert first.body == "Le tunnel a ouvert lundi.\n\nLes trains roulent."
    assert second.body == "Une brève."


def test_ninjs_3_in_an_array(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(NinJs, sample("ninjs/ninjs_3_array.json"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert (first.metadata["status"], first.source) == ("canceled", "Example News")
    assert second.body == "The old bridge at night."


def test_wrong_lines_are_named_and_the_others_read(
    items: Items, sample: Callable[[str], bytes]
) -> None:
    actual = items(NinJs, sample("ninjs/broken_lines.jsonl"))
    assert [type(item) for item in actual] == [Document, Reject, Reject, Document]
