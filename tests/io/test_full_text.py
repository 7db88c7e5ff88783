"""The whole article behind a summary."""

from __future__ import annotations

import sys

import pytest

from segapsith.errors import FeedError
from segapsith.io.full_text import FullText, article
from segapsith.model import Document

ARTICLE = "The river rose above the embankment. " * 40
PAGE = f"<html><body><article><h1>Flood</h1><p>{ARTICLE}</p></article></body></html>".encode()
ITEM = Document("feed 1", "Flood", "The river rose.", metadata={"link": "https://news.example/1"})


def test_a_summary_becomes_the_article() -> None:
    found = FullText(lambda url: PAGE, lambda uid: None)(ITEM)
    assert "embankment" in found.body
    assert found.metadata["summary"]


def test_the_same_summary_keeps_the_text_of_then() -> None:
    first = FullText(lambda url: PAGE, lambda uid: None)(ITEM)

    def asked(url: str) -> bytes:
        raise AssertionError("nothing is to be fetched")

    summary = str(first.metadata["summary"])
    again = FullText(asked, lambda uid: (summary, first.body))(ITEM)
    assert again.body == first.body


def test_what_cannot_be_had_stays_a_summary_with_the_reason() -> None:
    def refused(url: str) -> bytes:
        raise FeedError("https://news.example/1: 404")

    found = FullText(refused, lambda uid: None)(ITEM)
    assert found.body == ITEM.body
    assert "404" in str(found.metadata["full_text_error"])


def test_a_whole_article_or_an_item_without_link_is_left_alone() -> None:
    def asked(url: str) -> bytes:
        raise AssertionError("nothing is to be fetched")

    follow = FullText(asked, lambda uid: None)
    whole = Document("1", "Flood", ARTICLE, metadata={"link": "https://news.example/1"})
    assert follow(whole) is whole
    plain = Document("2", "Flood", "Short.")
    assert follow(plain) is plain


SENTENCES = (
    "The river rose above the embankment during the night and flooded the lower town.",
    "Two hundred people left their homes, and the school was opened for them.",
    "The mayor said that the pumps had failed shortly after midnight.",
    "Engineers expect that the water will fall slowly over the next three days.",
)
WHOLE_PAGE = (
    "<html><head><title>Flood</title></head><body><nav><ul><li><a href='/a'>Subscribe</a></li>"
    "<li><a href='/b'>Weather</a></li></ul></nav><article><h1>Flood</h1>"
    + "".join(f"<p>{sentence}</p>" for sentence in SENTENCES)
    + "</article><footer><p>All rights reserved.</p></footer></body></html>"
).encode()


def test_the_extra_finds_the_article_without_what_surrounds_it() -> None:
    pytest.importorskip("trafilatura", reason="the extra full-text is not installed")
    text = article(WHOLE_PAGE)
    assert all(sentence in text for sentence in SENTENCES)
    assert "Subscribe" not in text


def test_without_the_extra_the_page_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    text = article(WHOLE_PAGE)
    assert all(sentence in text for sentence in SENTENCES)
