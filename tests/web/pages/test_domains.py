"""Domains are filtered, sorted and paged; a domain can be seen as it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from segapsith.api.wire import Wire


def numbers(page: str) -> list[int]:
    table = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return [int(n) for n in re.findall(r'href="/domains/(\d+)"', table)]


def test_the_largest_come_first_and_pages_follow(client: TestClient, shown_path: Path) -> None:
    expected = [domain.id for domain in Wire(shown_path).domains()]
    first = numbers(client.get("/domains?limit=5").text)
    second = numbers(client.get("/domains?limit=5&page=2").text)
    assert first + second == expected[:10]


@pytest.mark.parametrize("sort", ["recent", "newest", "oldest", "name"])
def test_every_order_shows_the_same_domains(client: TestClient, sort: str) -> None:
    assert sorted(numbers(client.get(f"/domains?limit=200&sort={sort}").text)) == sorted(
        numbers(client.get("/domains?limit=200").text)
    )


def test_filters_restrict(client: TestClient, shown_path: Path) -> None:
    wire = Wire(shown_path)
    listed = wire.domains()
    french = {domain.id for domain in listed if domain.lang == "fr"}
    assert set(numbers(client.get("/domains?lang=fr&limit=200").text)) == french
    large = {domain.id for domain in listed if domain.units >= 3}
    assert set(numbers(client.get("/domains?min_units=3&limit=200").text)) == large
    topic = wire.browse.topics(1)[0]
    assert set(numbers(client.get(f"/domains?topic={topic.id}&limit=200").text)) == set(
        topic.domains
    )
    word = listed[0].words[0].word
    assert listed[0].id in numbers(client.get("/domains", params={"q": word, "limit": 200}).text)
    assert numbers(client.get("/domains?status=retired").text) == []


def test_a_domain_as_it_was_has_fewer_units(client: TestClient, shown_path: Path) -> None:
    wire = Wire(shown_path)
    then = {domain.id: domain.units for domain in wire.domains(as_of=1)}
    now = {domain.id: domain.units for domain in wire.domains()}
    grown = next(number for number in then if now[number] > then[number])
    page = client.get(f"/domains/{grown}?as_of=1").text
    assert "As of run 1." in page and f"{then[grown]} unit" in page
    assert f"{now[grown]} unit" in client.get(f"/domains/{grown}").text


def test_a_split_is_shown_before_it_is_made(steering: TestClient) -> None:
    page = steering.get("/domains/1/split/preview?parts=2")
    assert page.status_code == 200 and "Part 2" in page.text
    assert steering.get("/domains/1/split/preview?parts=50").status_code == 400
    assert steering.get("/domains/1/merge/preview").status_code == 400
    assert steering.get("/domains/1/merge/preview?with=2").status_code == 200


@pytest.mark.parametrize("preview", ["merge/preview?with=2", "split/preview?parts=2"])
def test_a_preview_needs_the_permission_to_change(client: TestClient, preview: str) -> None:
    assert client.get(f"/domains/1/{preview}").status_code == 403
