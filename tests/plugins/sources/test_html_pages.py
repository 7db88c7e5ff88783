"""Pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.html_pages import HtmlPage

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(HtmlPage)


@pytest.mark.parametrize("name", ["html/article.html", "html/broken.html", "html/old_latin1.html"])
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "html"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(HtmlPage, "html")


def test_an_article_without_its_furniture(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(HtmlPage, sample("html/article.html"))
    assert isinstance(only, Document)
    assert only.title == "Le tunnel ouvre"
    assert only.body.startswith("Le tunnel a ouvert lundi")
    assert only.body.endswith("chantier.\n\nUn\nDeux")
    assert "Accueil" not in only.body and "Mentions" not in only.body and "non" not in only.body
    assert (only.date, only.lang) == ("2026-03-02T06:15:00+01:00", "fr")
    assert (only.source, only.metadata["byline"]) == ("Exemple", "Luc Morel")


def test_an_old_page(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(HtmlPage, sample("html/old_latin1.html"))
    assert isinstance(only, Document)
    assert (only.title, only.body) == ("Météo", "Il pleut\net il vente.\n\nDemain aussi.")


def test_a_page_of_unclosed_elements(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = items(HtmlPage, sample("html/broken.html"))
    assert isinstance(only, Document)
    assert only.title == "Flood"
    assert "The river rose" in only.body and "Again" in only.body
