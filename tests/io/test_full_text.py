"""The whole article behind a summary."""

from __future__ import annotations

from segapsith.errors import FeedError
from segapsith.io.full_text import FullText
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
