"""The map: one disc per domain, each a link."""

from __future__ import annotations

import re

from starlette.testclient import TestClient


def test_every_disc_leads_to_its_domain(client: TestClient) -> None:
    page = client.get("/map?most=12").text
    assert page.count('class="disc') == 12
    for number in re.findall(r'<a href="/domains/(\d+)" aria-label', page)[:3]:
        assert client.get(f"/domains/{number}").status_code == 200
    assert client.get("/map?most=1000").status_code == 400
    assert client.get("/map?lang=xx").status_code == 200
