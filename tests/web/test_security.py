"""Who may ask, from where, how much; and that refusals change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from segapsith import web
from segapsith.api.wire import Wire
from segapsith.errors import QueryTimeoutError, SegapsithError, UsageError
from segapsith.web.security import CSP, WebOptions
from segapsith.web.steering import ROUTES

TOKEN = "a-token-for-the-tests"
HOST = "http://127.0.0.1:8787"


@pytest.fixture
def stranger(shown_path: Path) -> TestClient:
    """A client without the token."""
    return TestClient(web.app(shown_path, token=TOKEN), HOST, follow_redirects=False)


def test_a_foreign_host_is_refused_before_anything_else(stranger: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "a b", "localhost@evil.example"):
        for path in ("/", f"/?token={TOKEN}", "/healthz", "/static/style.css", "/api/v1/status"):
            answer = stranger.get(path, headers={"host": host})
            assert answer.status_code == 403, (host, path)
            assert TOKEN not in answer.text and "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:8787", "LOCALHOST"])
def test_names_of_this_machine_are_served(stranger: TestClient, host: str) -> None:
    assert stranger.get("/healthz", headers={"host": host}).status_code == 200


def test_without_a_token_there_is_nothing_but_a_form(stranger: TestClient) -> None:
    for path in ("/", "/domains/1", "/feeds/new.atom", "/cite"):
        answer = stranger.get(path)
        assert answer.status_code == 401 and 'name="token"' in answer.text
    assert stranger.get("/api/v1/status").json().keys() == {"error"}
    for header in ("Bearer wrong", "Bearer", f"Basic {TOKEN}", "Bearer é"):
        answer = stranger.get("/api/v1/status", headers={"authorization": header.encode("latin-1")})
        assert answer.status_code == 401


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(stranger: TestClient) -> None:
    answer = stranger.get(f"/search?q=oil&token={TOKEN}&lang=en")
    assert answer.status_code == 303 and answer.headers["location"] == "/search?q=oil&lang=en"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
    assert stranger.get("/search?q=oil").status_code == 200
    assert stranger.get("/?token=wrong-token-wrong-token").status_code == 401


def test_the_form_takes_the_token_too_and_leads_only_inside(stranger: TestClient) -> None:
    origin = {"origin": HOST}
    form = {"token": TOKEN, "where": "/domains"}
    answer = stranger.post("/login", data=form, headers=origin)
    assert (answer.status_code, answer.headers["location"]) == (303, "/domains")
    for where in ("//evil.example/", "https://evil.example", "/\\evil.example"):
        answer = stranger.post("/login", data={**form, "where": where}, headers=origin)
        assert answer.headers["location"] == "/"
    wrong = stranger.post("/login", data={**form, "token": "x"}, headers=origin)
    assert wrong.status_code == 401 and "set-cookie" not in wrong.headers
    again = stranger.get("/login")
    assert (again.status_code, again.headers["location"]) == (303, "/")
    foreign = stranger.post("/login", data=form, headers={"origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_every_answer_has_strict_headers(client: TestClient, stranger: TestClient) -> None:
    answers = [client.get(path) for path in ("/", "/domains/1", "/api/v1/status", "/nothing")]
    answers += [stranger.get("/"), stranger.get("/", headers={"host": "evil.example"})]
    for answer in answers:
        assert answer.headers["content-security-policy"] == CSP
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in CSP and "*" not in CSP
    assert "server" not in answers[0].headers


REFUSED: list[tuple[int, dict[str, object]]] = [
    (403, {"headers": {"host": "evil.example"}}),
    (403, {"headers": {"origin": "https://evil.example"}}),
    (403, {"headers": {"origin": "null"}}),
    (403, {"headers": {"sec-fetch-site": "cross-site", "origin": HOST}}),
    (403, {"headers": {"sec-fetch-site": "same-site", "origin": HOST}}),
    (401, {"headers": {"authorization": "Bearer wrong-wrong-wrong-wrong"}}),
    (401, {"headers": {"authorization": ""}}),
    (413, {"content": b"x" * 10_000_000}),
    (400, {"params": [(f"p{i}", "1") for i in range(400)]}),
    (414, {"params": [(f"p{i}", "1") for i in range(5_000)]}),
    (400, {"content": "&".join(f"p{i}=1" for i in range(10_000))}),
    (400, {"content": b"label=%00"}),
    (400, {"content": b'{"label": "x"}', "headers": {"content-type": "application/json"}}),
]


@pytest.mark.parametrize(("status", "given"), REFUSED)
def test_refused_changes_leave_the_store_as_it_is(
    steering: TestClient,
    own_path: Path,
    digest: Callable[[Path], str],
    status: int,
    given: dict[str, dict[str, str]],
) -> None:
    before = digest(own_path)
    form = {"content-type": "application/x-www-form-urlencoded", "origin": HOST}
    headers = {**form, **given.get("headers", {})}
    more = {name: value for name, value in given.items() if name != "headers"}
    content = more.pop("content", b"run=7&label=Mine")
    answer = steering.post("/domains/1/rename", content=content, headers=headers, **more)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text
    assert digest(own_path) == before


def test_a_body_of_unknown_length_is_limited_too(steering: TestClient) -> None:
    def endless() -> object:
        for _ in range(200):
            yield b"x" * 10_000

    answer = steering.post("/domains/1/rename", content=endless())  # type: ignore[arg-type]
    assert answer.status_code == 413


def test_a_cookie_alone_needs_a_sign_of_its_origin(steering: TestClient, own_path: Path) -> None:
    client = TestClient(
        web.app(own_path, token=TOKEN, allow_changes=True), HOST, follow_redirects=False
    )
    client.get(f"/?token={TOKEN}")
    form = {"run": str(Wire(own_path).browse.state().run), "label": "Mine"}
    assert client.post("/domains/1/rename", data=form).status_code == 403
    same = {"sec-fetch-site": "same-origin"}
    assert client.post("/domains/1/rename", data=form, headers=same).status_code == 303


def test_changing_addresses_cannot_be_read(
    steering: TestClient, own_path: Path, digest: Callable[[Path], str]
) -> None:
    """A link or a picture of another page can only make a browser send GET."""
    before, run = digest(own_path), Wire(own_path).browse.state().run
    for route, _ in ROUTES:
        path = route.replace("{id:int}", "1")
        form = {"run": run, "undo": run, "label": "x", "uid": "en-001", "typed": "en-001", "q": "x"}
        for method in ("GET", "HEAD"):
            answer = steering.request(method, path, params=form)
            assert answer.status_code in (404, 405), path
    assert digest(own_path) == before
    assert steering.get("/api/v1/classify").status_code == 405
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert steering.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fsettings.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/stories/..%2f..%2f..%2fetc%2fpasswd",
        "/words/en/..%2f..%2fx",
    ],
)
def test_paths_lead_nowhere_outside(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (303, 404) and "root:" not in answer.text


def test_requests_cannot_write_even_if_a_page_tried(shown_path: Path) -> None:
    desk = web.app(shown_path, token=TOKEN).state.desk
    with desk.reading(), desk.wire.reading() as store, pytest.raises(SegapsithError):
        store.change(lambda c: c.execute("DELETE FROM domains").rowcount)
    desk.close()


def test_a_query_that_takes_too_long_is_stopped(shown_path: Path) -> None:
    application = web.app(shown_path, token=TOKEN, query_seconds=0.05)
    desk = application.state.desk
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with desk.reading(), pytest.raises(QueryTimeoutError):
        desk.wire.read(lambda store: store.number(endless))
    desk.wire.browse.feeds = lambda: desk.wire.read(lambda store: store.number(endless))
    with TestClient(application, HOST, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        assert client.get("/feeds").status_code == 503
        assert client.get("/runs").status_code == 200, "the next request has its own time"


def test_links_to_the_web_tell_nobody_where_they_came_from(tmp_path: Path) -> None:
    path = tmp_path / "linked.db"
    with Wire(path) as wire:
        for uid, address in (("a", "https://example.org/a"), ("b", "javascript:alert(1)")):
            wire.ingest([{"id": uid, "text": f"A storm reached the coast. {uid}", "url": address}])
    client = TestClient(
        web.app(path, token=TOKEN), HOST, headers={"authorization": f"Bearer {TOKEN}"}
    )
    (link,) = re.findall(
        r'<a [^>]*href="https://example.org/a"[^>]*>', client.get("/stories/a").text
    )
    assert "noreferrer" in link and "noopener" in link
    assert 'href="javascript' not in client.get("/stories/b").text


def test_two_host_headers_are_one_too_many(shown_path: Path) -> None:
    client = TestClient(web.app(shown_path, token=TOKEN), HOST)
    two = [("host", "127.0.0.1"), ("host", "evil.example")]
    assert client.get("/healthz", headers=two).status_code == 403


def test_a_base_path_is_part_of_every_address(shown_path: Path) -> None:
    client = TestClient(
        web.app(shown_path, token=TOKEN, base_path="/news"), HOST, follow_redirects=False
    )
    assert client.get("/").status_code == 404
    assert client.get(f"/news/?token={TOKEN}").headers["location"] == "/news/"
    page = client.get("/news/domains").text
    inside = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
    assert inside and all(address.startswith("/news/") for address in inside)


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UsageError, match="token"):
        WebOptions(token="short")
    with pytest.raises(UsageError, match="base-path"):
        WebOptions(base_path="news/")
    assert "repr" not in repr(WebOptions()) and WebOptions().token not in repr(WebOptions())
