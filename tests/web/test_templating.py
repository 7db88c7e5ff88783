"""Texts are escaped, and links lead only where they may."""

from __future__ import annotations

import pytest

from segapsith.web.templating import login_page, marked, outside_link, story_path, word_path
from segapsith_store.queries.browsing.story_search import MARKS


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "data:text/html,x", "JaVaScRiPt:alert(1)", "//evil.example", "ftp://x/",
        "http://", " http://x/", "http://x/\n", "http://x/\"onclick=1", "http://[", None, 3, "vbscript:x",
        "http:\\\\x", "https:/x", "x" * 3000,
    ],
)  # fmt: skip
def test_only_addresses_of_the_web_become_links(address: object) -> None:
    assert outside_link(address) is None


def test_found_words_are_marked_and_the_rest_is_escaped() -> None:
    assert str(marked(f"<i>{MARKS[0]}oil{MARKS[1]}")) == "&lt;i&gt;<mark>oil</mark>"
    assert "<mark>" not in str(marked(f"{MARKS[0]}cut"))
    assert "<mark>" not in str(marked("\ue000x\ue001"))


def test_words_are_quoted_in_paths() -> None:
    assert word_path("en", "a/b?c") == "/words/en/a%2Fb%3Fc"


def test_the_form_for_the_token_escapes_where_it_leads() -> None:
    page = login_page("", '/x"><script>', "fr")
    assert "<script>" not in page and 'lang="fr"' in page


def test_stories_have_paths_whatever_their_id() -> None:
    assert story_path("https://x/y?z") == "/stories/https%3A%2F%2Fx%2Fy%3Fz"
    assert story_path(".") == "/stories?id=."
