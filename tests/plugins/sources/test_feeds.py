"""Feeds of every kind, sound and ragged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.feeds import Feed

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(Feed)


@pytest.mark.parametrize(
    "name",
    [
        "feed/atom.xml",
        "feed/broken_rss.xml",
        "feed/jsonfeed.json",
        "feed/rss091_netscape.xml",
        "feed/rss10_french_latin1.rdf",
        "feed/rss20_english.xml",
    ],
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "feed"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(Feed, "feed")


def documents(actual: list[Document | Reject]) -> list[Document]:
    return [item for item in actual if isinstance(item, Document)]


def test_rss_2_gives_content_over_summary(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = documents(items(Feed, sample("feed/rss20_english.xml")))
    assert first.uid == "hw-1001"
    assert first.body == (
        "Ferry crews went back to work on Monday.\n\nThe owners & the union signed at dawn."
    )
    assert first.date == "2026-03-02T06:15:00+01:00"
    assert first.metadata["date_original"] == "Mon, 02 Mar 2026 06:15:00 +0100"
    assert first.metadata["tags"] == ["Transport", "Labour"]
    assert first.metadata["byline"] == "Ann Reed"
    assert first.metadata["credit"] == "Photo desk"
    assert (first.lang, first.source) == ("en-GB", "Harbour Wire")
    assert second.uid == "https://wire.example/1002"
    assert second.title == "Rain & wind close the coast road"
    assert second.body == "Two bridges are shut.\nBuses turn back."


def test_rss_1_in_latin_1_with_entities(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = documents(items(Feed, sample("feed/rss10_french_latin1.rdf")))
    assert (first.title, first.lang, first.source) == ("Grève levée à Évry", "fr", "Le fil d'été")
    assert second.title == "Crue : l'eau monte encore"
    assert second.body == "Le fleuve dépasse cinq mètres."


def test_rss_091_with_a_document_type(items: Items, sample: Callable[[str], bytes]) -> None:
    (only,) = documents(items(Feed, sample("feed/rss091_netscape.xml")))
    assert (only.uid, only.title) == ("http://old.example/mill", "Mill reopens")


def test_atom_in_xhtml_and_html(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = documents(items(Feed, sample("feed/atom.xml")))
    assert first.body == "Le vote du budget est reporté à jeudi.\n\nLa majorité hésite."
    assert (first.date, first.source) == ("2026-03-02T07:30:00+01:00", "Dépêches & brèves")
    assert (second.title, second.body) == ("Taux < 2 % en mars", "La banque a baissé son taux.")


def test_json_feed(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = documents(items(Feed, sample("feed/jsonfeed.json")))
    assert first.body == "Pilots voted on Sunday.\n\nThe count goes on."
    assert first.metadata["_extra"] == {"desk": "travel"}
    assert (second.uid, second.lang) == ("2", "en-US")


def test_a_broken_item_costs_only_itself(items: Items, sample: Callable[[str], bytes]) -> None:
    actual = items(Feed, sample("feed/broken_rss.xml"))
    kept = documents(actual)
    assert [d.uid for d in kept] == ["r1", "r2", "r3"]
    assert kept[0].title == "R&D budget grows"
    assert kept[0].body.startswith("Café owners protest")
    assert (kept[1].title, kept[1].body) == ("Unclosed here", "The tag before was not closed.")
    assert isinstance(actual[-1], Reject)


def test_declared_entities_are_refused_item_by_item(items: Items) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    feed = (
        f'<!DOCTYPE rss [<!ENTITY l0 "lol">{laughs}<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        "<rss version='2.0'><channel><title>t</title><item><title>a</title></item>"
        "<item><title>&l9;</title></item><item><title>&x;</title></item>"
        "<item><title>b</title></item></channel></rss>"
    )
    actual = items(Feed, feed.encode())
    assert [getattr(i, "title", "refused") for i in actual] == ["a", "refused", "refused", "b"]


def test_many_items_are_read_in_order_and_a_long_author_is_cut(items: Items) -> None:
    item = "<item><guid>{0}</guid><title>T{0}</title><author>{1}</author></item>"
    body = "".join(item.format(n, "a." * 5000 if n % 50 == 0 else "x") for n in range(300))
    actual = documents(items(Feed, f"<rss><channel>{body}</channel></rss>".encode()))
    assert [d.uid for d in actual] == [str(n) for n in range(300)]
    assert max(len(str(d.metadata.get("byline", ""))) for d in actual) <= 300


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "koi8-r"])
def test_encodings(items: Items, encoding: str) -> None:
    word = "Река" if encoding == "koi8-r" else "été à Évry"
    declared = "" if encoding.startswith("utf") else f' encoding="{encoding}"'
    text = f'<?xml version="1.0"{declared}?><rss><channel><item><title>{word}</title></item></channel></rss>'
    (only,) = documents(items(Feed, text.encode(encoding)))
    assert only.title == word


def test_mojibake_is_repaired(items: Items) -> None:
    title = "Le prÃ©sident Ã  la tribune : Â« dÃ©jÃ\xa0 Â»"
    feed = f"<rss><channel><item><title>{title}</title></item></channel></rss>"
    (only,) = documents(items(Feed, feed.encode()))
    assert only.title.startswith("Le président à la tribune")


def test_a_feed_without_items_is_named(items: Items) -> None:
    (only,) = items(Feed, b"<rss><channel><title>t</title></channel></rss>")
    assert isinstance(only, Reject)
