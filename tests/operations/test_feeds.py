"""Feeds: conditional requests, subscriptions and the run over them, with servers on loopback."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import ConfigurationError, FeedError, PluginError
from segapsith.io.http import Answer
from segapsith.io.inputs import Inputs
from segapsith.io.spool import Spool
from segapsith.model import Document, FeedState
from segapsith.operations.feeds import FeedFetcher, prefetch_due, update
from segapsith.plugin.contracts import Source
from segapsith.settings import resolve
from segapsith_plugins.sources.feeds import Feed
from segapsith_plugins.sources.json_lines import JsonLines
from segapsith_store import Store
from segapsith_store.feed_states import later
from segapsith_store.queries import subscriptions

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
MODIFIED = "Mon, 02 Mar 2026 06:15:00 GMT"


def answer(command: Command, *arguments: str, code: int = 0) -> Any:
    given, out, err = command(*arguments, "--json")
    assert given == code, err
    return json.loads(out)


@dataclass
class Page:
    body: bytes = b""
    status: int = 200
    fields: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    """Bytes of the body that are promised and never sent."""


@dataclass
class Host:
    """A server on loopback that knows about validators."""

    port: int
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/wire") -> str:
        return f"http://{self.place}{path}"


@pytest.fixture
def host() -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            page = made.pages.get(self.path, Page(status=404))
            same = page.fields.get("ETag", "") == self.headers.get("If-None-Match")
            self.send_response(304 if same else page.status)
            for name, value in page.fields.items():
                self.send_header(name, value)
            if not same:
                self.send_header("Content-Length", str(len(page.body) + page.cut))
            self.end_headers()
            if not same:
                self.wfile.write(page.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Host(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def lines(*ids: str, text: str = "The river rose and flooded the town") -> bytes:
    made = ({"id": i, "text": f"{text}, said the {i} report."} for i in ids)
    return "".join(json.dumps(line) + "\n" for line in made).encode()


def rss(*guids: str) -> bytes:
    items = "".join(
        f"<item><guid>{g}</guid><title>Flood {g}</title><description>The river rose over the"
        f" {g} bridge.</description></item>"
        for g in guids
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'.encode()


def documents() -> list[str]:
    with Store.reading("segapsith.db") as store:
        return [uid for (uid,) in store.rows("SELECT uid FROM documents ORDER BY id")]


def state(url: str) -> subscriptions.Feed:
    with Store.reading("segapsith.db") as store:
        found = subscriptions.find(store, url)
    assert found is not None
    return found


# -- ingest ----------------------------------------------------------------------------------


def test_an_address_is_ingested_and_then_asked_with_both_validators(
    command: Command, host: Host
) -> None:
    host.pages["/wire"] = Page(lines("a", "b"), fields={"ETag": '"1"', "Last-Modified": MODIFIED})
    ingest = ("ingest", host.url(), "--allow-host", host.place)
    assert answer(command, *ingest)["new"] == 2
    assert documents() == [f"{host.url()}#a", f"{host.url()}#b"]
    again = answer(command, *ingest)
    assert (again["read"], again["new"]) == (0, 0)
    (_, first), (_, second) = host.asked
    assert "if-none-match" not in first
    assert (second["if-none-match"], second["if-modified-since"]) == ('"1"', MODIFIED)
    assert state(host.url()).etag == '"1"'
    assert answer(command, "feeds", "list") == []
    host.pages["/wire"] = Page(lines("a", "b", "c"), fields={"ETag": '"2"'})
    assert answer(command, *ingest)["new"] == 1
    kept = state(host.url())
    assert (kept.etag, kept.last_modified) == ('"2"', None)
    assert command("verify")[0] == 0


def test_an_item_belongs_to_its_feed(command: Command, host: Host) -> None:
    host.pages["/a"] = Page(lines("1", text="The river flooded the town"))
    host.pages["/b"] = Page(lines("1", text="Drivers went on strike in the capital"))
    done = answer(command, "ingest", host.url("/a"), host.url("/b"), "--allow-host", host.place)
    assert (done["new"], done["corrected"]) == (2, 0)
    assert documents() == [f"{host.url('/a')}#1", f"{host.url('/b')}#1"]


def test_items_with_no_or_a_very_long_id_are_taken(host: Host) -> None:
    body = b'{"text": "A flood."}\n' + lines("x" * 990, "y" * 990)
    inputs = Inputs(
        ["http://a/"], {"jsonl": JsonLines()}, fetch=lambda url: (body, "http://example.org/", None)
    )
    uids = [item.uid for item in inputs.items() if isinstance(item, Document)]
    assert uids[0] == ""
    assert all(uid.startswith("http://example.org/#sha256:") for uid in uids[1:])
    assert len(set(uids)) == 3


def test_addresses_need_leave_and_other_inputs_are_stored(
    command: Command, host: Host, tmp_path: Path
) -> None:
    host.pages["/wire"] = Page(lines("a"))
    (tmp_path / "file.jsonl").write_bytes(lines("b"))
    code, _, err = command("ingest", host.url(), "file.jsonl")
    assert code == 69
    assert f"--allow-host {host.place}" in err
    assert host.asked == []
    assert documents() == ["b"]
    assert command("ingest", host.url(), "nowhere.jsonl")[0] == 66
    assert command("ingest", "ftp://example.org/wire", "file.jsonl")[0] == 69


def test_leave_may_stand_in_the_configuration_or_the_environment(
    command: Command, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.pages["/wire"] = Page(lines("a"))
    (tmp_path / "segapsith.toml").write_text(f'allow_hosts = ["[::1]:80", "{host.place}"]\n')
    assert answer(command, "ingest", host.url())["new"] == 1
    monkeypatch.setenv("SEGAPSITH_ALLOW_HOSTS", "localhost:1")
    assert command("ingest", host.url())[0] == 69
    assert command("ingest", host.url(), "--allow-host", "here")[0] == 78
    assert command("ingest", host.url(), "--allow-host", "localhost:2")[0] == 69
    monkeypatch.setenv("SEGAPSITH_HTTP_TIMEOUT", "0")
    assert command("ingest", host.url())[0] == 78


def test_a_dry_run_asks_without_validators_and_keeps_nothing(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(lines("a"), fields={"ETag": '"1"'})
    ingest = ("ingest", host.url(), "--allow-host", host.place)
    answer(command, *ingest)
    before = state(host.url())
    assert answer(command, *ingest, "--dry-run")["read"] == 1
    assert "if-none-match" not in host.asked[-1][1]
    assert state(host.url()) == before


@pytest.mark.parametrize(
    "page",
    [
        Page(lines("a", "b"), fields={"ETag": '"1"'}, cut=10),
        Page(
            gzip.compress(lines("a", "b"))[:-5],
            fields={"ETag": '"1"', "Content-Encoding": "gzip"},
        ),
        Page(b"\x00\x01\x02\xff" * 100, fields={"ETag": '"1"'}),
        Page(b"  ", fields={"ETag": '"1"'}),
    ],
    ids=["cut", "cut gzip", "no known format", "empty"],
)
def test_validators_of_a_body_that_was_not_stored_are_not_kept(
    command: Command, host: Host, page: Page
) -> None:
    host.pages["/wire"] = page
    ingest = ("ingest", host.url(), "--allow-host", host.place)
    assert command(*ingest)[0] in (65, 69)
    host.pages["/wire"] = Page(lines("a", "b"), fields={"ETag": '"1"'})
    assert answer(command, *ingest)["new"] == 2
    assert "if-none-match" not in host.asked[1][1]


def test_validators_of_a_body_with_refused_items_are_not_kept(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(lines("a") + b'{"id": "b", "te', fields={"ETag": '"1"'})
    ingest = ("ingest", host.url(), "--allow-host", host.place)
    done = answer(command, *ingest)
    assert (done["new"], done["rejected"]) == (1, 1)
    assert state(host.url()).etag is None


@pytest.mark.parametrize("end", [b"</rss>", b"</channel></rss>", b"</item></channel></rss>"])
def test_validators_of_cut_markup_are_not_kept(
    open_wire: Callable[..., Wire], host: Host, end: bytes
) -> None:
    wire = open_wire(allow_hosts=host.place)
    fetcher = FeedFetcher(wire.settings, lambda: wire.writer)
    for body, etag in ((rss("a", "b"), '"1"'), (rss("a", "b").removesuffix(end), None)):
        host.pages["/wire"] = Page(body, fields={"ETag": '"1"'})
        items = list(Inputs([host.url()], {"feed": Feed()}, fetch=fetcher.fetch).items())
        uids = [item.uid for item in items if isinstance(item, Document)]
        assert uids[0] == f"{host.url()}#a"
        assert isinstance(items[-1], FeedState)
        assert items[-1].etag == etag


def test_a_server_that_asks_to_wait_is_left_alone_by_the_next_run(
    command: Command, host: Host
) -> None:
    host.pages["/wire"] = Page(status=429, fields={"Retry-After": "3600"})
    ingest = ("ingest", host.url(), "--allow-host", host.place)
    code, _, err = command(*ingest)
    assert code == 69
    assert "429" in err
    code, _, err = command(*ingest)
    assert code == 69
    assert "its server asked for no request before" in err
    assert len(host.asked) == 1


def test_a_server_error_is_not_asked_twice_in_a_run(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(status=500)
    assert command("ingest", host.url(), "--allow-host", host.place)[0] == 69
    assert len(host.asked) == 1


def test_credentials_are_sent_but_name_no_document(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(lines("a"), fields={"ETag": '"1"'})
    url = f"http://me:secret@{host.place}/wire"
    answer(command, "feeds", "add", url)
    code, out, err = command("update", "--allow-host", host.place)
    assert code == 0
    assert host.asked[0][1]["authorization"].startswith("Basic ")
    assert documents() == [f"{host.url()}#a"]
    _, listed, _ = command("feeds", "list")
    _, exported, said = command("feeds", "export")
    assert "secret" not in out + err + listed + exported
    assert "left out" in said
    assert answer(command, "feeds", "list")[0]["items"] == 1
    assert command("feeds", "remove", host.url())[0] == 0


# -- subscriptions ---------------------------------------------------------------------------


def test_feeds_are_added_listed_and_removed(command: Command) -> None:
    added = answer(command, "feeds", "add", "https://example.org/a", "HTTP://Example.org:80/b#x")
    assert [entry["url"] for entry in added] == ["https://example.org/a", "http://example.org/b"]
    code, out, _ = command("feeds", "add", "https://example.org/a", "--title", "The  A")
    assert (code, out) == (0, "already there: https://example.org/a\n")
    listed = answer(command, "feeds", "list")
    assert [(f["url"], f["title"]) for f in listed] == [
        ("https://example.org/a", "The A"),
        ("http://example.org/b", ""),
    ]
    assert set(listed[0]) >= {"url", "title", "checked_at", "next_check_at", "error", "items"}
    assert (listed[0]["items"], listed[0]["checked_at"]) == (0, None)
    code, out, _ = command("feeds", "list")
    assert out.splitlines()[0].startswith("url\ttitle\tlast check\tnext check\titems\terror")
    assert command("feeds", "remove", "https://example.org/a")[0] == 0
    assert command("feeds", "remove", "https://example.org/a")[0] == 66
    assert command("feeds", "remove", "no address")[0] == 66
    assert [f["url"] for f in answer(command, "feeds", "list")] == ["http://example.org/b"]


def test_wrong_addresses_and_wrong_usage_are_told(command: Command) -> None:
    for url in ("ftp://example.org/", "example.org", "http://", "http://a b/"):
        assert command("feeds", "add", "https://example.org/ok", url)[0] == 2
    assert command("feeds", "add", "http://a/", "http://b/", "--title", "x")[0] == 2
    assert not Path("segapsith.db").exists()
    for arguments in (["feeds", "list"], ["feeds", "export"], ["update"]):
        assert command(*arguments)[0] == 66
    assert command("feeds", "remove", "http://a/")[0] == 66
    assert not Path("segapsith.db").exists()


def test_what_is_exported_is_imported(command: Command) -> None:
    answer(
        command, "feeds", "add", "https://example.org/a?x=1&y=2", "--title", 'A "b" <c> & \x1b d'
    )
    answer(command, "feeds", "add", "https://example.org/b")
    _, printed, _ = command("feeds", "export")
    assert command("feeds", "export", "--output", "feeds.opml")[0] == 0
    assert Path("feeds.opml").read_text("utf-8") == printed
    assert '<opml version="2.0">' in printed
    done = answer(command, "feeds", "import", "feeds.opml", "--store", "other.db")
    assert [entry["added"] for entry in done] == [True, True]
    here, there = (
        [(f["url"], f["title"].replace("\x1b", " ").split()) for f in feeds]
        for feeds in (
            answer(command, "feeds", "list"),
            answer(command, "feeds", "list", "--store", "other.db"),
        )
    )
    assert here == there
    assert answer(command, "feeds", "import", "feeds.opml")[0]["added"] is False


def test_nested_opml_is_read_and_what_is_not_the_web_is_left_out(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "some.opml").write_text(
        '<opml version="1.1"><head/><body><outline text="folder"><outline text="one"'
        ' xmlUrl="https://example.org/1"/><outline><outline title="Zwei" xmlurl='
        '"https://example.org/2"/></outline></outline><outline xmlUrl="file:///etc/passwd"/>'
        '<outline text="no feed"/></body></opml>'
    )
    code, out, err = command("feeds", "import", "some.opml", "--json")
    assert code == 0
    assert [(e["url"], e["title"]) for e in json.loads(out)] == [
        ("https://example.org/1", "one"),
        ("https://example.org/2", "Zwei"),
    ]
    assert "left out" in err


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not xml",
        b"<rss/>",
        b'<!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd">]><opml>&x;</opml>',
        b"<opml>" + b"<outline>" * 5000,
    ],
    ids=["empty", "text", "other", "entity", "deep"],
)
def test_what_is_not_sound_opml_is_refused(
    command: Command, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "bad.opml").write_bytes(content)
    code, _, err = command("feeds", "import", "bad.opml")
    assert code == 65, err
    assert "bad.opml" in err
    assert command("feeds", "import", "nowhere.opml")[0] == 66
    assert not Path("segapsith.db").exists()


# -- the nightly run -------------------------------------------------------------------------


def test_one_feed_that_fails_does_not_stop_the_others(command: Command, host: Host) -> None:
    host.pages |= {
        "/1": Page(lines("a", "b"), fields={"ETag": '"1"'}),
        "/2": Page(status=500),
        "/3": Page(b"\x00\x01\x02\xff" * 100),
        "/4": Page(lines("c") + b"junk\n"),
    }
    closed = "http://127.0.0.1:9/wire"
    urls = [host.url("/1"), host.url("/2"), closed, host.url("/3"), host.url("/4")]
    answer(command, "feeds", "add", *urls)
    done = answer(command, "update", "--allow-host", host.place, code=65)
    assert (done["run"], done["read"], done["new"], done["rejected"]) == (1, 4, 3, 1)
    shown = [(f["url"], f["status"], f["new"], f["rejected"]) for f in done["feeds"]]
    assert shown == [
        (urls[0], "read", 2, 0),
        (urls[1], "failed", 0, 0),
        (urls[2], "failed", 0, 0),
        (urls[3], "failed", 0, 0),
        (urls[4], "read", 1, 1),
    ]
    listed = answer(command, "feeds", "list")
    assert [f["items"] for f in listed] == [2, 0, 0, 0, 1]
    assert [bool(f["error"]) for f in listed] == [False, True, True, True, False]
    assert all(f["checked_at"] and f["next_check_at"] > f["checked_at"] for f in listed)
    assert "500" in listed[1]["error"]
    assert "not a public address" in listed[2]["error"]
    for url in (urls[3], urls[4]):
        command("feeds", "remove", url)
    code, out, err = command("update", "--all", "--allow-host", host.place, "--quiet")
    assert (code, out) == (69, "")
    assert len(err.splitlines()) == 2
    assert command("verify")[0] == 0


def test_only_feeds_that_are_due_are_asked(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(lines("a"), fields={"ETag": '"1"'})
    answer(command, "feeds", "add", host.url())
    code, out, _ = command("update", "--allow-host", host.place)
    assert code == 0
    assert out.startswith("run 1: 1 feed, 1 read, 1 new")
    code, out, _ = command("update", "--allow-host", host.place)
    assert (code, len(host.asked)) == (0, 1)
    assert "no feed is due" in out
    done = answer(command, "update", "--all", "--allow-host", host.place)
    assert len(host.asked) == 2
    assert host.asked[1][1]["if-none-match"] == '"1"'
    assert done["feeds"][0]["status"] == "unchanged"
    assert done["run"] == 0
    assert len(answer(command, "runs")) == 1
    assert command("update", "--all", "--quiet", "--allow-host", host.place) == (0, "", "")


def test_undoing_a_run_lets_the_next_one_read_again(command: Command, host: Host) -> None:
    host.pages["/wire"] = Page(lines("a"), fields={"ETag": '"1"'})
    answer(command, "feeds", "add", host.url())
    answer(command, "update", "--allow-host", host.place)
    digest = answer(command, "status")["digest"]
    answer(command, "runs", "undo")
    assert answer(command, "status")["documents"] == 0
    assert answer(command, "update", "--allow-host", host.place)["new"] == 1
    assert answer(command, "status")["documents"] == 1
    assert digest


def wired(
    open_wire: Callable[..., Wire], host: Host, now: list[str]
) -> Callable[..., list[tuple[str, str]]]:
    wire = open_wire(allow_hosts=host.place)
    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, now=lambda: now[0])

    def night(**options: Any) -> list[tuple[str, str]]:
        sources: Mapping[str, Source] = options.pop("sources", {"jsonl": JsonLines()})
        reports = update(wire, fetcher, sources, **options).reports
        return [(report.url.rpartition("/")[2], report.status) for report in reports]

    for path in sorted(host.pages):
        subscriptions.add(wire.writer, host.url(path))
    return night


def test_a_wish_to_wait_holds_across_runs_even_for_all(
    open_wire: Callable[..., Wire], host: Host
) -> None:
    host.pages["/a"] = Page(status=503, fields={"Retry-After": "86400"})
    host.pages["/b"] = Page(lines("b"))
    now = ["2026-03-02T06:00:00+00:00"]
    night = wired(open_wire, host, now)
    assert night() == [("a", "failed"), ("b", "read")]
    now[0] = later(now[0], 80_000)
    assert night() == [("b", "unchanged" if not host.pages["/b"].body else "read")]
    assert night(everything=True) == [("a", "waiting"), ("b", "read")]
    assert sum(path == "/a" for path, _ in host.asked) == 1
    host.pages["/a"] = Page(lines("a"))
    now[0] = later(now[0], 6_400)
    assert night(everything=True) == [("a", "read"), ("b", "read")]


def test_a_plugin_that_fails_spoils_its_own_feed_alone(
    open_wire: Callable[..., Wire], host: Host
) -> None:
    class Fragile(JsonLines):
        def read(self, stream: Any, name: str) -> Iterator[Any]:
            yield from super().read(stream, name)
            if name.endswith("/a"):
                raise PluginError("source 'fragile': read: no")

    host.pages = {"/a": Page(lines("a")), "/b": Page(lines("b"))}
    night = wired(open_wire, host, ["2026-03-02T06:00:00+00:00"])
    assert night(sources={"jsonl": Fragile()}) == [("a", "failed"), ("b", "read")]


def test_a_run_that_is_stopped_keeps_whole_feeds_and_goes_on(
    open_wire: Callable[..., Wire], host: Host
) -> None:
    host.pages = {f"/{n}": Page(lines(n), fields={"ETag": f'"{n}"'}) for n in "abc"}
    now = ["2026-03-02T06:00:00+00:00"]
    night = wired(open_wire, host, now)

    def stop(summary: Any) -> None:
        if summary.new == 2:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        night(on_batch=stop)
    assert night() == [("c", "read")]
    assert night(everything=True) == [(n, "unchanged") for n in "abc"]
    assert len(host.asked) - (1 + 3) in (2, 3)  # the third was asked for ahead, or not yet


def test_a_not_modified_that_nobody_asked_for_is_refused(
    open_wire: Callable[..., Wire], host: Host
) -> None:
    host.pages["/wire"] = Page(status=304)
    with pytest.raises(FeedError, match="304"):
        FeedFetcher(resolve({"allow_hosts": host.place}, environment={}), None).fetch(host.url())


def test_wrong_limits_are_told() -> None:
    for timeout in (0, -1, 1e9, float("nan")):
        with pytest.raises(ConfigurationError, match="http_timeout"):
            FeedFetcher(resolve({"http_timeout": timeout}, environment={}), None)


def test_feeds_are_asked_for_together_and_read_in_their_order(
    open_wire: Callable[..., Wire],
) -> None:
    wire = open_wire()
    for n in "abcdef":
        subscriptions.add(wire.writer, f"https://{n if n != 'f' else 'a'}.example/{n}")
    together = threading.Barrier(5, timeout=20)
    at_a: list[str] = []

    def get(url: str, **_: object) -> Answer:
        if url.endswith("/f"):
            assert at_a == ["done"]  # one thing at a time of a host
        else:
            together.wait()  # five hosts are asked at once, or this breaks
        if url.endswith("/a"):
            at_a.append("done")
        if url.endswith("/c"):
            raise FeedError("c is down")
        return Answer(url, url, 200, lines(url[-1]))

    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
    reports = update(wire, fetcher, {"jsonl": JsonLines()}).reports
    assert [(r.url[-1], r.status) for r in reports] == [
        *(
            ("a", "read"),
            ("b", "read"),
            ("c", "failed"),
            ("d", "read"),
            ("e", "read"),
            ("f", "read"),
        )
    ]


@pytest.mark.parametrize("full_text", [False, True])
def test_servers_are_asked_while_others_write(
    open_wire: Callable[..., Wire], full_text: bool
) -> None:
    story = {"id": "a", "title": "Flood", "text": "The river rose.", "link": "https://b.example/p"}
    page = f"<html><body><article><p>{'The river rose over the bridge. ' * 20}</p></article></body>"
    with open_wire() as first:
        subscriptions.add(first.writer, "https://a.example/wire")
    asked = []

    def get(url: str, **_: object) -> Answer:
        with Store.writing(first.path) as other:  # the lock is free
            subscriptions.add(other, f"https://c.example/{len(asked)}")
        asked.append(url)
        body = page.encode() if url.endswith("/p") else json.dumps(story).encode()
        return Answer(url, url, 200, body, etag='"1"')

    wire = open_wire(full_text=full_text)
    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
    feeds = {"jsonl": JsonLines()}
    prefetch_due(wire, fetcher, feeds)
    wanted = ["https://a.example/wire", *(["https://b.example/p"] if full_text else [])]
    assert asked == wanted
    with Store.writing(wire.path) as store:
        assert store.number("SELECT count(*) FROM documents") == 0
        for n in range(len(asked)):
            subscriptions.remove(store, f"https://c.example/{n}")
    updated = update(wire, fetcher, feeds)
    assert (updated.summary.new, [r.status for r in updated.reports]) == (1, ["read"])
    assert asked == wanted  # what waited was taken, nobody was asked again
    body = wire.writer.row("SELECT body FROM versions")
    assert body is not None and ("bridge" in body[0]) == full_text
    found = subscriptions.find(wire.writer, "https://a.example/wire")
    assert found is not None and found.etag == '"1"'


def test_an_answer_to_another_question_is_not_taken(open_wire: Callable[..., Wire]) -> None:
    """The feed was read, or taken back, between the asking and the lock."""
    wire = open_wire()
    url = "https://a.example/wire"
    subscriptions.add(wire.writer, url)
    asked = []

    def get(url: str, *, etag: str | None, **_: object) -> Answer:
        asked.append(etag)
        return Answer(url, url, 304 if etag else 200, b"" if etag else lines("a"), etag='"1"')

    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
    update(wire, fetcher, {"jsonl": JsonLines()}, everything=True)
    prefetch_due(wire, fetcher, {"jsonl": JsonLines()}, everything=True)
    assert asked == [None, '"1"']
    wire.runs.undo()  # what the answer says is unchanged is no longer there
    summary = update(wire, fetcher, {"jsonl": JsonLines()}, everything=True).summary
    assert (summary.new, asked) == (1, [None, '"1"', None])


def test_a_full_spool_leaves_the_rest_for_its_turn(
    open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith.operations.feeds.Spool", partial(Spool, max_bytes=1))
    wire = open_wire()
    for n in "abc":
        subscriptions.add(wire.writer, f"https://a.example/{n}")
    asked = []

    def get(url: str, **_: object) -> Answer:
        asked.append(url[-1])
        return Answer(url, url, 200, lines(url[-1]))

    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
    prefetch_due(wire, fetcher, {"jsonl": JsonLines()})
    assert asked == ["a"]
    summary = update(wire, fetcher, {"jsonl": JsonLines()}).summary
    assert (summary.new, asked) == (3, ["a", "b", "c"])


def test_a_spool_without_space_leaves_the_feeds_for_their_turn(
    open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Spool, "put", no_space)
    wire = open_wire()
    for n in "ab":
        subscriptions.add(wire.writer, f"https://{n}.example/{n}")

    def get(url: str, **_: object) -> Answer:
        return Answer(url, url, 200, lines(url[-1]))

    fetcher = FeedFetcher(wire.settings, lambda: wire.writer, get=get)
    assert update(wire, fetcher, {"jsonl": JsonLines()}).summary.new == 2
