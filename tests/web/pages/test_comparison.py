"""Two runs compared on a page."""

from __future__ import annotations

from starlette.testclient import TestClient


def test_a_comparison_names_what_appeared(client: TestClient) -> None:
    page = client.get("/compare?left=1&right=5").text
    assert "Appeared" in page and "Units before" in page
    assert client.get("/compare?left=999").status_code == 400
