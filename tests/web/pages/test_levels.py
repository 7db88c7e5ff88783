"""Sections with their topics, events with their stories, and the way down to a domain."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire


def test_the_way_down_leads_from_section_to_domain(client: TestClient, shown_path: Path) -> None:
    wire = Wire(shown_path)
    section = wire.sections(regroup=False)[0]
    topic = wire.browse.topic(section.topics[0])
    page = client.get(f"/domains/{topic.domains[0]}").text
    crumbs = page.partition('class="crumbs"')[2].partition("</nav>")[0]
    assert re.findall(r'href="([^"]+)"', crumbs) == [
        "/sections", f"/sections/{section.id}", f"/topics/{topic.id}",
    ]  # fmt: skip
    assert f'href="/topics/{topic.id}"' in client.get(f"/sections/{section.id}").text
    assert client.get("/sections/999").status_code == 404


def test_an_event_shows_its_stories(client: TestClient, shown_path: Path) -> None:
    event = next(one for one in Wire(shown_path).events() if one.stories > 1)
    page = client.get(f"/events?event={event.id}&min_stories=1").text
    stories = page.partition('class="stories"')[2].partition("</ol>")[0]
    assert stories.count("<li>") == event.units
    assert client.get("/events?event=99999").status_code == 404
    assert client.get("/events?since=2100-01-01").status_code == 200


def test_a_search_may_be_limited_to_a_section(client: TestClient, shown_path: Path) -> None:
    section = Wire(shown_path).sections(regroup=False)[0]
    found = client.get(f"/api/v1/search?section={section.id}&limit=200").json()
    assert 0 < found["total"] < client.get("/api/v1/search?limit=1").json()["total"]
