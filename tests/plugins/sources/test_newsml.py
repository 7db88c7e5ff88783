"""NewsML-G2 and NewsML 1.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.newsml import NewsMl

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(NewsMl)


@pytest.mark.parametrize(
    "name",
    [
        "newsml/broken_cut.xml",
        "newsml/g2_message.xml",
        "newsml/g2_nitf.xml",
        "newsml/newsml_12_french.xml",
    ],
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "newsml"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(NewsMl, "newsml")


def test_a_news_message(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(NewsMl, sample("newsml/g2_message.xml"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.uid == "urn:newsml:ex.org:20260302:1"
    assert first.title == "Storm cuts power in Lisbon"
    assert first.body == "Power failed in Lisbon on Monday.\n\nCrews worked through the night."
    assert (first.date, first.lang) == ("2026-03-02T06:15:00+01:00", "en")
    assert first.source == "Example News"
    expected = {
        "version": "3",
        "status": "usable",
        "urgency": "2",
        "embargo": "2026-03-02T07:00:00Z",
        "dateline": "LISBON, March 2 (EXN) -",
        "byline": "By Rita Sousa",
        "signals": ["sig:correction"],
        "keywords": ["storm"],
        "subjects": ["medtop:03000000 disaster", "weather"],
    }
    assert expected.items() <= first.metadata.items()
    assert (second.lang, second.metadata["status"]) == ("fr", "canceled")
    assert second.body == "Cette dépêche est annulée.\n\nElle ne doit pas être reprise."


def test_an_item_with_a_nitf_article(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(NewsMl, sample("newsml/g2_nitf.xml"))
    assert isinstance(only, Document)
    assert only.body == "Le port du Havre reprend le travail.\n\nDeux navires attendent."
    assert (only.lang, only.metadata["dateline"]) == ("fr-FR", "LE HAVRE")


def test_newsml_1_has_an_identity_without_its_revision(
    items: Items, sample: Callable[[str], bytes]
) -> None:
    (only,) = items(NewsMl, sample("newsml/newsml_12_french.xml"))
    assert isinstance(only, Document)
    assert only.uid == "urn:newsml:agence.example:20260302:TX-P-12"
    assert only.metadata["version"] == "2"
    assert only.body == "La Loire est sortie de son lit lundi.\n\nLes écoles sont fermées."
    assert only.metadata["subjects"] == ["03000000", "03005000"]
    assert (only.lang, only.source, only.date) == ("fr", "AGX", "2026-03-02T06:15:00+00:00")


def test_a_cut_message_gives_what_was_whole(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(NewsMl, sample("newsml/broken_cut.xml"))
    assert isinstance(first, Document) and isinstance(second, Reject)


def test_a_package_alone_is_named(items: Items) -> None:
    (only,) = items(NewsMl, b"<packageItem guid='p'><itemMeta/></packageItem>")
    assert isinstance(only, Reject)


def test_items_in_items_are_read_once(items: Items) -> None:
    inner = b"<NewsItem guid='i'><contentMeta><headline>In</headline></contentMeta></NewsItem>"
    nested = b"<NewsItem><x>" * 90 + inner + b"</x></NewsItem>" * 90
    (only,) = items(NewsMl, b"<NewsML>" + nested + b"</NewsML>")
    assert isinstance(only, Document) and only.title == "In"
