"""Saved searches live in a cookie and count what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith.web.pages.watch import COOKIE, Saved, read_saved, written


@given(st.text(max_size=200))
def test_any_cookie_can_be_read(text: str) -> None:
    assert isinstance(read_saved(text), list)


@given(st.lists(st.tuples(st.text(max_size=40), st.integers(0, 10**9)), max_size=12))
def test_what_is_written_is_read(pairs: list[tuple[str, int]]) -> None:
    saved = [Saved(*pair) for pair in pairs]
    assert read_saved(written(saved)) == saved


def test_new_stories_are_counted_once(steering: TestClient, own_path: Path) -> None:
    answer = steering.post("/watch/change", data={"q": "storm", "lang": "en"})
    assert answer.status_code == 303
    assert "0 new stories" in steering.get("/watch").text
    with Wire(own_path) as wire:
        wire.ingest([{"id": "n", "lang": "en", "text": "A storm sank a ferry near the island."}])
    page = steering.get("/watch").text
    assert "1 new story" in page
    assert "0 new stories" in steering.get("/watch").text
    steering.post("/watch/change", data={"remove": "0"})
    assert "storm" not in steering.get("/watch").text


@pytest.mark.parametrize("form", [{}, {"q": " "}, {"q": "x" * 300}, {"remove": "x"}])
def test_what_cannot_be_saved_is_refused(client: TestClient, form: dict[str, str]) -> None:
    assert client.post("/watch/change", data=form).status_code == 400


def test_there_is_a_limit(client: TestClient) -> None:
    answers = [client.post("/watch/change", data={"q": f"w{i}"}).status_code for i in range(14)]
    assert answers.count(303) == 12
    client.cookies.clear()
    client.cookies.set(COOKIE, written([Saved("since=nonsense", 1)]))
    assert client.get("/watch").status_code == 400
