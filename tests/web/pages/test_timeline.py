"""The timeline shows what is asked for, as counts or shares."""

from __future__ import annotations

from starlette.testclient import TestClient


def test_series_are_those_asked_for(client: TestClient) -> None:
    rows = client.get("/timeline/timeline.json?domain=1,2&by=day").json()
    assert all(len(row) == 3 for row in rows)
    shares = client.get("/timeline/timeline.json?domain=1,2&by=day&measure=share").json()
    assert all(0 <= value <= 1 for row in shares for value in list(row.values())[1:])
    assert client.get("/timeline?domain=99999").status_code == 404
    assert "No story in this period" in client.get("/timeline?since=2100-01-01").text
