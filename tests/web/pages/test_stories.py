"""The text of a story with its units, and its versions compared."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.web.pages import stories
from segapsith.web.pages.stories import changes_of, passages
from segapsith_store.queries.browsing.stories import Story, StoryText, StoryUnit

TEXTS = st.text(alphabet="ab .\n", max_size=60)


def story(text: str, units: list[tuple[int, int]]) -> Story:
    made = [StoryUnit(i, a, b, True, i % 3 or None, "x", 0.5) for i, (a, b) in enumerate(units)]
    return Story(
        id="a", title="", text=text, date=None, lang="en", source="", version=1, run=1,
        duplicate_of=None, seen_in=[], units=made, versions=[], copies=[], metadata={},
    )  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.lists(st.tuples(st.integers(0, 70), st.integers(0, 70)), max_size=5))
def test_no_character_of_a_text_is_lost_or_repeated(
    text: str, units: list[tuple[int, int]]
) -> None:
    assert "".join(passage.text for passage in passages(story(text, units))) == text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS)
def test_both_versions_can_be_read_from_their_comparison(before: str, after: str) -> None:
    pieces = changes_of(*(StoryText(1, 1, "", None, "", text) for text in (before, after)))
    assert "".join(p.text for p in pieces if p.kind != "new") == before
    assert "".join(p.text for p in pieces if p.kind != "gone") == after


def test_long_texts_are_compared_by_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stories, "MOST_WORDS", 2)
    pieces = changes_of(
        *(StoryText(1, 1, "", None, "", t) for t in ("One. Two two.", "One. Three."))
    )
    assert [piece.kind for piece in pieces] == ["same", "gone", "new"]


def test_a_story_shows_its_whole_text_with_links_to_units(
    client: TestClient, shown_path: Path
) -> None:
    wire = Wire(shown_path)
    uid = wire.domains.show(1).document_ids[0]
    page = client.get(f"/stories/{quote(uid, safe='')}").text
    text = wire.browse.story(uid).text
    shown = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert all(part in shown for part in text.split("\n\n"))
    assert re.search(r'href="/units/\d+"', page) and re.search(r'href="/domains/\d+"', page)


def test_an_address_in_the_metadata_is_a_link_without_a_referrer(tmp_path: Path) -> None:
    with Wire(tmp_path / "w.db") as wire:
        wire.ingest(
            [
                {"id": "a", "text": "A storm came.", "lang": "en", "url": "https://example.org/a"},
                {"id": "..", "text": "A bank fell.", "lang": "en", "url": "javascript:alert(1)"},
            ]
        )
    client = TestClient(web.app(tmp_path / "w.db", token="t" * 20), "http://127.0.0.1",
                        headers={"authorization": f"Bearer {'t' * 20}"})  # fmt: skip
    page = client.get("/stories/a").text
    assert 'href="https://example.org/a" rel="noreferrer' in page
    assert "javascript:" not in client.get("/stories?id=..").text
    assert client.get("/stories?id=a").url.path == "/stories/a"


def test_a_unit_is_explained(client: TestClient) -> None:
    page = client.get("/units/1").text
    assert "Shared words" in page and "Margin" in page and "/units/1/ratios.csv" in page
