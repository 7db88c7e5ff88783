"""The page of a search keeps what was asked, and narrows it down."""

from __future__ import annotations

import re

from starlette.testclient import TestClient


def total(page: str) -> int:
    found = re.search(r'role="status">([\d,]+) stor', page)
    assert found is not None
    return int(found.group(1).replace(",", ""))


def test_a_search_narrows_down_by_period_and_source(client: TestClient) -> None:
    whole = client.get("/search?lang=en").text
    days = re.findall(r"<td>(\d{4}-\d\d-\d\d)</td>", whole)
    later = client.get(f"/search?lang=en&since={days[0]}").text
    assert 0 < total(later) < total(whole)
    assert f'name="since" value="{days[0]}"' in later


def test_what_was_asked_is_escaped_and_kept(client: TestClient) -> None:
    page = client.get("/search", params={"q": '"><script>alert(1)</script>'}).text
    assert "<script>alert" not in page and "&#34;&gt;&lt;script&gt;" in page


def test_nothing_asked_gives_only_the_form(client: TestClient) -> None:
    assert 'role="status"' not in client.get("/search").text


def test_a_word_leads_to_its_domains(client: TestClient) -> None:
    page = client.get("/search?q=the").text
    story = re.search(r'href="(/stories/[^"]+)"', page)
    assert story is not None and client.get(story.group(1)).status_code == 200
