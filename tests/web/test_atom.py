"""Atom feeds are well-formed, and their ids do not change."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from pathlib import Path

import feedparser
import pytest
from starlette.testclient import TestClient

from segapsith import web
from segapsith.web.ask import Ask
from segapsith.web.atom import Entry, atom

FEEDS = (
    "/feeds/new.atom", "/feeds/rising.atom", "/feeds/alarms.atom", "/feeds/domains/1.atom",
    "/feeds/topics/1.atom", "/feeds/sections/1.atom", "/feeds/search.atom?q=the", "/feeds/search.atom?topic=1&lang=en",
)  # fmt: skip


@pytest.mark.parametrize("path", FEEDS)
def test_a_feed_is_atom_with_stable_ids(client: TestClient, shown_path: Path, path: str) -> None:
    answer = client.get(path)
    assert answer.headers["content-type"].startswith("application/atom+xml")
    parsed = feedparser.parse(answer.content)
    assert not parsed.bozo and parsed.version == "atom10" and parsed.feed.id
    ids = [entry.id for entry in parsed.entries]
    assert len(set(ids)) == len(ids)
    host = {"host": "localhost:9999"}
    other = TestClient(
        web.app(shown_path, token="x" * 20), headers={"authorization": f"Bearer {'x' * 20}", **host}
    )
    assert [entry.id for entry in feedparser.parse(other.get(path).content).entries] == ids
    for entry in parsed.entries[:3]:
        assert client.get(entry.link).status_code == 200


def test_a_store_that_is_moved_or_restored_has_the_same_ids_and_another_has_others(
    client: TestClient, shown_path: Path, tmp_path: Path
) -> None:
    def ids(path: Path) -> list[str]:
        one = TestClient(web.app(path, token="x" * 20))
        one.headers.update({"authorization": f"Bearer {'x' * 20}", "host": "localhost"})
        parsed = feedparser.parse(one.get("/feeds/domains/1.atom").content)
        return [parsed.feed.id, *(entry.id for entry in parsed.entries)]

    moved = Path(shutil.copy(shown_path, tmp_path / "moved.db"))
    assert ids(moved) == ids(shown_path)
    other = Path(shutil.copy(shown_path, tmp_path / "other.db"))
    with contextlib.closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("UPDATE runs SET started_at = '2001-01-01T00:00:00' WHERE id = 1")
    assert not set(ids(other)) & set(ids(moved))


def test_a_feed_holds_no_markup_of_its_sources(client: TestClient) -> None:
    class Asked:
        texts = None

    ask = Ask.__new__(Ask)
    request = client.build_request("GET", "/")
    ask.request = type("R", (), {"headers": {"host": "h"}, "scope": {"scheme": "http"}})()  # type: ignore[assignment]
    ask.desk = client.app.state.desk  # type: ignore[attr-defined]
    ask.path, ask.given = "/", []
    entry = Entry("k/<", "<script>\x01&]]>", "/x?a=1&b=2", "2026-01-01", "a\x00b\ud800")
    body = bytes(atom(ask, "key", "<title>", [entry]).body)
    parsed = feedparser.parse(body)
    assert not parsed.bozo and b"<script>" not in body
    assert re.search(rb"<id>tag:[^<]+</id>", body) and request.url


def test_unknown_things_have_no_feed(client: TestClient) -> None:
    assert client.get("/feeds/domains/9999.atom").status_code == 404
    assert client.get("/feeds/topics/9999.atom").status_code == 404
