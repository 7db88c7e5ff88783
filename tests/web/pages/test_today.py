"""Today shows the night, its alarms and what changed."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith_store.queries import nights, subscriptions


def test_new_domains_are_shown_with_a_headline(client: TestClient, shown_path: Path) -> None:
    page = client.get("/?since=0").text
    sections = Wire(shown_path).today(0).sections
    changed = [section.new[0] for section in sections if section.new]
    assert changed and all(f'href="/domains/{one.id}"' in page for one in changed)
    assert "Stories by day" in page


def test_alarms_and_feeds_in_trouble_are_shown(steering: TestClient, own_path: Path) -> None:
    with Wire(own_path) as wire:
        number = nights.begin(wire.writer, "2026-03-09", "2026-03-09T02:30:00+00:00")
        alarm = {
            "name": "silence",
            "reason": "no <b>story",
            "look": "segapsith feeds",
            "grave": False,
        }
        nights.end(
            wire.writer,
            number,
            "2026-03-09T02:40:00+00:00",
            0,
            "night ok: 7 new",
            {},
            {"alarms": [alarm]},
        )
        subscriptions.add(wire.writer, "https://example.org/feed", "Example")
        wire.writer.change(
            lambda c: c.execute("UPDATE feeds SET failures = 3, error = 'timed out'").rowcount
        )
    page = steering.get("/").text
    assert "night ok: 7 new" in page and "no &lt;b&gt;story" in page and "timed out" in page
    assert "segapsith feeds" in page
    assert "timed out" in steering.get("/feeds").text
    assert (
        "silence" in steering.get("/feeds/alarms.atom").text
        or "story" in steering.get("/feeds/alarms.atom").text
    )


def test_changes_can_be_asked_since_a_run(client: TestClient) -> None:
    assert client.get("/?since=1").status_code == 200
    assert client.get("/?since=0").status_code == 200
    assert client.get("/?since=99").status_code == 400
