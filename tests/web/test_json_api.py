"""The JSON form: its shape, its pages and its description."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.web.json_api import PREFIX, ROUTES, description


def test_the_description_names_exactly_the_routes(shown_path: Path) -> None:
    application = web.app(shown_path)
    served = {
        (route.path.replace(":path}", "}"), method.lower())
        for route in application.routes
        if isinstance(route, Route) and route.path.startswith(PREFIX)
        for method in route.methods or ()
        if method != "HEAD"
    }
    described = {(path, method) for path, of in description()["paths"].items() for method in of}
    assert served == described
    names = [route.work.__name__ for route in ROUTES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("/status", lambda wire: wire.status()),
        ("/domains?limit=3&top=4&days=1", lambda wire: wire.domains(limit=3, top=4, days=True)),
        ("/domains?as_of=1&limit=2", lambda wire: wire.domains(limit=2, as_of=1)),
        ("/domains?since=3&limit=50", lambda wire: wire.domains(since=3)[:50]),
        ("/domains/1", lambda wire: wire.domains.show(1)),
        ("/units/1/explain", lambda wire: wire.explain(1)),
        ("/runs", lambda wire: wire.runs()),
        ("/validations", lambda wire: wire.validation.history()[::-1]),
        ("/sections", lambda wire: wire.sections(regroup=False, top=12)),
        ("/events?limit=9", lambda wire: wire.events(limit=9)),
        ("/today", lambda wire: wire.today(limit=6)),
        ("/topics", lambda wire: wire.topics(regroup=False, top=12)),
    ],
)
def test_answers_have_the_shape_of_the_command_line(
    client: TestClient, shown_path: Path, path: str, same: Any
) -> None:
    expected = same(Wire(shown_path))
    plain = (
        expected.as_json() if hasattr(expected, "as_json") else [one.as_json() for one in expected]
    )
    answer = client.get(f"{PREFIX}{path}")
    assert answer.status_code == 200 and answer.json() == plain


def test_lists_are_paged(client: TestClient) -> None:
    whole = client.get(f"{PREFIX}/domains?limit=200")
    total = int(whole.headers["x-total-count"])
    assert total == len(whole.json())
    gathered, address = [], f"{PREFIX}/domains?limit=7"
    while address:
        answer = client.get(address)
        gathered += answer.json()
        link = answer.headers.get("link", "")
        address = link.partition(">")[0].lstrip("<")
    assert gathered == whole.json()


def test_a_search_gives_documents_domains_and_days(client: TestClient) -> None:
    words = client.get(f"{PREFIX}/domains?lang=en&limit=1").json()[0]["words"]
    answers = [client.get(f"{PREFIX}/search?q={one['word']}&lang=en").json() for one in words]
    answer = next(one for one in answers if one["total"])
    assert answer["total"] == sum(answer["days"].values()) > 0
    assert {"id", "date", "lang", "title", "snippet"} <= answer["documents"][0].keys()
    assert "[" in answer["documents"][0]["snippet"] and answer["domains"]


def test_a_search_is_paged_and_limited_like_the_page_of_a_search(client: TestClient) -> None:
    gathered, address = [], f"{PREFIX}/search?topic=1&sort=newest&limit=7"
    while address:
        answer = client.get(address)
        gathered += [one["id"] for one in answer.json()["documents"]]
        address = answer.headers.get("link", "").partition(">")[0].lstrip("<")
    assert len(gathered) == len(set(gathered)) == answer.json()["total"] > 7
    domains = client.get(f"{PREFIX}/topics").json()
    members = next(one["domains"] for one in domains if one["id"] == 1)
    of_domains = "&".join(f"domain={number}" for number in members[:20])
    same = client.get(f"{PREFIX}/search?{of_domains}&sort=newest&limit=200").json()
    assert [one["id"] for one in same["documents"]] == gathered
    page = client.get("/search?topic=1&sort=newest").text
    assert 'href="/api/v1/search?topic=1&amp;sort=newest"' in page


def test_a_timeline_adds_up(client: TestClient) -> None:
    answer = client.get(f"{PREFIX}/timeline?by=month&domain=1&domain=2").json()
    assert [one["id"] for one in answer["series"]] == [1, 2]
    assert all(len(one["units"]) == len(answer["starts"]) for one in answer["series"])


def test_two_runs_are_compared(client: TestClient) -> None:
    answer = client.get(f"{PREFIX}/compare?left=1&right=6").json()
    assert {"kappa", "coverage", "differences"} <= answer.keys()
    assert client.get(f"{PREFIX}/compare?left=1").status_code == 400
    for name in ("other.db", "/etc/passwd", "wire.db@1"):  # no other files of the machine
        assert (
            client.get(f"{PREFIX}/compare", params={"left": name, "right": "1"}).status_code == 400
        )


def test_a_text_is_classified_and_nothing_is_learned(client: TestClient, shown_path: Path) -> None:
    before = Wire(shown_path).status().digest
    text = {"text": "The central bank raised its interest rate to slow inflation.", "lang": "en"}
    answer = client.post(f"{PREFIX}/classify", json=text)
    assert answer.status_code == 200 and answer.json()["units"]
    for wrong in ([], {"text": 3}, {"text": "x", "top": 0}, {"text": "x", "lang": 4}, None):
        assert client.post(f"{PREFIX}/classify", json=wrong).status_code == 400
    assert client.post(f"{PREFIX}/classify", content=b"{").status_code == 400
    assert Wire(shown_path).status().digest == before


def test_errors_are_json(client: TestClient) -> None:
    for path, status in (("/domains/9999", 404), ("/domains?limit=0", 400), ("/nothing", 404)):
        answer = client.get(f"{PREFIX}{path}")
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


@pytest.mark.slow
def test_nothing_that_the_description_allows_makes_the_server_fail(shown_path: Path) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings

    application = web.app(shown_path, token="t" * 20, hosts=frozenset({"127.0.0.1"}))
    client = TestClient(application, "http://127.0.0.1", raise_server_exceptions=False)
    client.headers["authorization"] = f"Bearer {'t' * 20}"
    schema = schemathesis.openapi.from_dict(description())
    failed: list[tuple[str, Any, str]] = []

    def asked(operation: Any) -> Callable[[], None]:
        @given(operation.as_strategy())
        @settings(
            max_examples=15, deadline=None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), derandomize=True,
        )  # fmt: skip
        def ask(case: Any) -> None:
            path = operation.path
            for name, value in (case.path_parameters or {}).items():
                path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
            if operation.method.upper() == "POST":
                answer = client.post(path, json=case.body)
            else:
                answer = client.get(path, params=case.query or None)
            if answer.status_code >= 500:
                failed.append((path, case.query, answer.text[:200]))

        return ask

    for found in schema.get_all_operations():
        asked(found.ok())()
    assert failed == []
