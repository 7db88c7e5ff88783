"""HTML of feeds and of pages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.io.html import looks_like_html, page, text_of


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("a  b\n c", "a b c"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("one<br>two<br/><br />three", "one\ntwo\n\nthree"),
        ("<b>b</b>old <i>a</i>nd", "bold and"),
        ("<ul><li>a</li><li>b</li></ul>c", "a\nb\n\nc"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("&lt;tag&gt; &amp; &eacute;&#233;&#xe9;&nbsp;!", "<tag> & ééé !"),
        ("a<script>if (a < b) { '</p>' }</script>b<STYLE>p{}</STYLE >c", "abc"),
        ("a<!-- <p>hidden</p> -->b", "ab"),
        ("<pre>a\n  b</pre>", "a\nb"),
        ("<img alt='x > y'>z", "z"),
        ("soft\u00adhyphen", "softhyphen"),
        ("3 < 4 and 5 > 4", "3 < 4 and 5 > 4"),
        ("<p data-x='<b>no</b>'>yes</p>", "yes"),
        ("&#99999999999999999999;&#" + "9" * 5000 + ";", "��"),
        ("<div><div><p>deep</div>", "deep"),
    ],
)
def test_text(html: str, text: str) -> None:
    assert text_of(html) == text


def test_an_element_that_is_never_closed_does_not_swallow_everything() -> None:
    assert "text" in text_of("<object><p>text")
    assert "text" in page("<html><nav>menu<p>text").text


def test_particulars_of_a_page() -> None:
    found = page(
        '<html lang="fr-FR"><head><title>Titre | Site</title><meta property="og:site_name" content="Site">'
        '<script type="application/ld+json">{"@type": "NewsArticle", "datePublished": "2026-03-02"}</script>'
        '</head><body><h1>Titre</h1><p>Texte.</p><time datetime="2025-01-01">jadis</time></body></html>'
    )
    assert (found.title, found.lang, found.date, found.site) == (
        "Titre",
        "fr-FR",
        "2026-03-02",
        "Site",
    )


def test_html_is_told_from_text() -> None:
    assert looks_like_html("a<br/>b") and looks_like_html("caf&eacute;")
    assert not looks_like_html("a < b & c > d") and not looks_like_html("<= 3, R&D;")


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<p>", "<", "<b", "<script>", "<nav>", "<!--", "&#9", "<a b='", "<h1>", "<article>", "<title>"])  # fmt: skip
def test_time_grows_with_length_only(piece: str) -> None:
    html = piece * (300_000 // len(piece))
    began = time.process_time()
    text_of(html)
    page(html)
    assert time.process_time() - began < 15  # quadratic work would take hours


@given(st.text(alphabet="<>/!-&;#pbri= \"'\n", max_size=200))
def test_any_text_is_taken(html: str) -> None:
    text = text_of(html)
    assert text == text.strip()
    assert "\n\n\n" not in text
    page(html)
