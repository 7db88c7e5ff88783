"""Topics and the domains of one."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from segapsith.api.wire import Wire


def test_a_topic_lists_its_domains(client: TestClient, shown_path: Path) -> None:
    topic = Wire(shown_path).browse.topics(1)[0]
    page = client.get(f"/topics/{topic.id}?limit=100").text
    assert all(f'href="/domains/{number}"' in page for number in topic.domains)
    assert f'href="/topics/{topic.id}"' in client.get("/topics").text
