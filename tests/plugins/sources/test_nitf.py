"""NITF articles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.nitf import Nitf

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(Nitf)


@pytest.mark.parametrize(
    "name", ["nitf/american.xml", "nitf/broken_entities.xml", "nitf/french_latin9.xml"]
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "nitf"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(Nitf, "nitf")


def test_an_american_article(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(Nitf, sample("nitf/american.xml"))
    assert isinstance(only, Document)
    assert (only.uid, only.title) == ("x-42", "Senate passes farm bill")
    assert only.body.startswith(
        "The Senate passed the farm bill on Monday.\n\nThe vote was 51 to 49.\n\nmilk\ncorn"
    )
    assert only.date == "2026-03-02T13:15:00-05:00"
    expected = {
        "version": "2",
        "status": "embargoed",
        "correction": "Fixes vote count",
        "urgency": "4",
        "embargo": "20260303T000000Z",
        "dateline": "WASHINGTON",
        "byline": "By Joe Day",
        "keywords": ["farming", "senate"],
        "subjects": ["11000000 politics"],
        "section": "A",
        "meta": {"desk": "national"},
    }
    assert expected.items() <= only.metadata.items()


def test_a_french_article_in_latin_9(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(Nitf, sample("nitf/french_latin9.xml"))
    assert isinstance(only, Document)
    assert only.title == "Les députés débattent à Évry"
    assert only.body == "Le débat a coûté 5 000 € à la ville.\n\nIl reprend mardi."
    assert (only.lang, only.source) == ("fr", "AGX")


def test_ragged_markup_is_mended(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(Nitf, sample("nitf/broken_entities.xml"))
    assert isinstance(only, Document)
    assert only.title == "Fish & chips prices"
    assert only.body == "Prices rose by 5 % — again.\n\nCafés protest."
