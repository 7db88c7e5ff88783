"""Each entry of a Redis stream becomes a story exactly once, against a real server on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import InputError
from segapsith_plugins.sources.redis_stream import RedisStream

Command = Callable[..., tuple[int, str, str]]

STORIES = sample.lines("en")[:60]


@dataclass
class Server:
    """A server with a stream called `wire`."""

    client: Any
    port: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0?stream=wire"

    def add(self, **fields: str) -> str:
        return str(self.client.xadd("wire", fields).decode())


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("REDIS-SERVER IS NOT INSTALLED: the tests against a real server are SKIPPED")
    redis = pytest.importorskip("redis")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    process = subprocess.Popen(
        [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"],
        cwd=folder, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    client = redis.Redis(port=port)
    while True:
        try:
            client.ping()
            break
        except redis.exceptions.ConnectionError:
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"redis-server ended with {process.wait(0.05)}") from None
    yield Server(client, port)
    client.close()
    process.terminate()
    process.wait()


@pytest.fixture
def server(running: Server) -> Server:
    running.client.flushall()
    return running


def received(server: Server, position: str | None = None) -> list[tuple[Document | Reject, str]]:
    """Returns what there is behind a position."""
    items = []
    for entry in RedisStream().receive(server.url, position):
        if entry is None:
            break
        items.append(entry)
    return items


def test_an_entry_is_a_document(server: Server) -> None:
    first = server.add(text="The river rose.", title="Flood", date="2026-03-02", desk="north")
    second = server.add(json='{"id": "b", "text": "Drivers strike.", "lang": "en"}')
    (one, at), (other, behind) = received(server)
    assert isinstance(one, Document) and isinstance(other, Document)
    assert (one.uid, one.title, one.body, one.date) == (
        f"{server.url}#{first}", "Flood", "The river rose.", "2026-03-02",
    )  # fmt: skip
    assert one.metadata == {"desk": "north"}
    assert (other.uid, other.body, other.lang) == ("b", "Drivers strike.", "en")
    assert (at, behind) == (first, second)
    assert [position for _, position in received(server, first)] == [second]


def test_an_entry_that_is_no_document_is_rejected_and_the_rest_is_read(server: Server) -> None:
    wrong = server.add(json="{no json")
    server.add(text="The river rose.")
    (reject, _), (document, _) = received(server)
    assert isinstance(reject, Reject) and wrong in reject.name
    assert isinstance(document, Document)


def test_a_stream_that_was_made_anew_is_read_from_its_start(server: Server) -> None:
    server.client.xadd("wire", {"text": "The river rose."}, id="5-1")
    assert [position for _, position in received(server, "99-1")] == ["5-1"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://u:secret@Host:7/2?stream=wire&password=x", "redis://host:7/2?stream=wire"),
        ("rediss://host?stream=a%20b", "rediss://host/0?stream=a+b"),
    ],
)
def test_an_address_is_stored_without_credentials(given: str, expected: str) -> None:
    assert RedisStream().address(given) == expected


@pytest.mark.parametrize("url", ["redis://host/0", "redis://host/0?stream=a&stream=b"])
def test_an_address_must_name_one_stream(url: str) -> None:
    with pytest.raises(InputError, match="one stream"):
        RedisStream().address(url)


def ingested(command: Command, *arguments: str) -> Any:
    code, out, err = command("ingest", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_second_ingest_continues_behind_the_first(command: Command, server: Server) -> None:
    for story in STORIES[:3]:
        server.add(text=story["text"])
    assert ingested(command, server.url)["new"] == 3
    assert ingested(command, server.url)["read"] == 0
    server.add(text=STORIES[3]["text"])
    assert ingested(command, server.url)["read"] == 1
    command("runs", "undo")
    assert ingested(command, server.url)["new"] == 1  # what was undone is read again


def test_a_dry_run_stores_no_position(command: Command, server: Server) -> None:
    server.add(text=STORIES[0]["text"])
    assert ingested(command, server.url, "--dry-run")["new"] == 1
    assert ingested(command, server.url)["new"] == 1


def test_a_key_that_is_no_stream_is_an_input_that_cannot_be_read(
    command: Command, server: Server
) -> None:
    server.client.set("wire", "text")
    code, _, err = command("ingest", server.url)
    assert (code, "Traceback" in err) == (65, False), err


def test_a_server_that_is_not_there_is_unreachable(command: Command) -> None:
    pytest.importorskip("redis")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = closed.getsockname()[1]
        code, _, err = command("ingest", f"redis://:secret@127.0.0.1:{port}/0?stream=wire")
    assert code == 69, err
    assert f"127.0.0.1:{port}" in err and "secret" not in err


def test_a_missing_extra_is_named(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    code, _, err = command("ingest", "redis://127.0.0.1:6379/0?stream=wire")
    assert code == 78
    assert "pip install 'segapsith[redis]'" in err


def documents_and_position(store: Path) -> tuple[int, str | None]:
    """Returns, in one reading, how many stories there are and the position."""
    if not store.exists():
        return 0, None
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as c:
            c.execute("BEGIN")
            (documents,) = c.execute("SELECT count(*) FROM documents").fetchone()
            row = c.execute("SELECT etag FROM feeds").fetchone()
        return documents, None if row is None else row[0]
    except sqlite3.OperationalError:  # it is just being made
        return 0, None


@pytest.mark.slow
def test_each_story_exactly_once_even_after_kills(server: Server, tmp_path: Path) -> None:
    store = tmp_path / "wire.db"
    follow = [
        *(sys.executable, "-m", "segapsith", "ingest", server.url, "--follow"),
        *("--commit-after", "0.1", "--store", str(store), "-q"),
    ]
    entries: list[str] = []
    environment = {**os.environ, "SEGAPSITH_BATCH_SIZE": "4"}
    steps = (9, 20, 21, 44, 60)
    for step in steps:
        for story in STORIES[len(entries) : step]:
            fields = {name: str(story[name]) for name in ("title", "text", "date") if name in story}
            entries.append(server.add(**fields))
        before, _ = documents_and_position(store)
        process = subprocess.Popen(follow, cwd=tmp_path, env=environment)
        wanted = step if step == steps[-1] else before + 1
        while documents_and_position(store)[0] < wanted:
            with contextlib.suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"ended too early with {process.wait(timeout=0.02)}")
        process.send_signal(signal.SIGTERM if step == steps[-1] else signal.SIGKILL)
        assert process.wait() == (143 if step == steps[-1] else -signal.SIGKILL)
        documents, position = documents_and_position(store)
        assert position == entries[documents - 1]  # stored together, or not at all
    with Wire(store) as wire, Wire(tmp_path / "other.db") as other:
        assert wire.verify().sound
        assert wire.status()["documents"] + wire.status()["duplicates"] == len(STORIES)
        assert wire.runs.list()
        other.ingest(item for item, _ in received(server))
        assert wire.verify().digest == other.verify().digest
