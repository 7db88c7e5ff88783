"""A news server on loopback with good and bad days, and a clock that goes by nights."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.operations.nightly import STEPS, NightlyRun, Step, run_night
from segapsith.settings import NotifyTarget, resolve
from segapsith_store import Store
from segapsith_store.feed_states import later
from segapsith_store.queries import subscriptions

START = "2026-03-02T02:30:00+00:00"


@dataclass
class Server:
    """Feeds by path: what they hold, and what is wrong with them today."""

    port: int
    feeds: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    weather: dict[str, str] = field(default_factory=dict)
    """Path to `down`, `error`, `closed`, `slow` or `broken`."""
    asked: list[str] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    """Slow answers wait for it."""

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"


def rss(items: list[dict[str, str]]) -> bytes:
    made = "".join(
        f"<item><guid>{escape(i['id'])}</guid><title>{escape(i.get('title', ''))}</title>"
        f"<description>{escape(i['text'])}</description></item>"
        for i in items
    )
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{made}</channel></rss>'.encode()


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            today = made.weather.get(self.path, "")
            if today == "down":
                return  # the connection is closed without a word
            if today == "slow":
                made.held.wait(5)
                return
            body = rss(made.feeds.get(self.path, []))
            if today == "broken":
                body = body[: 2 * len(body) // 3]
            self.send_response({"error": 500, "closed": 503}.get(today, 200))
            if today == "closed":
                self.send_header("Retry-After", str(40 * 3600))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Server(listening.server_address[1])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.held.set()
    listening.shutdown()
    listening.server_close()
    thread.join()


@dataclass
class House:
    """A store that a timer opens night after night."""

    folder: Path
    settings: dict[str, Any]
    date: str = START
    notify: tuple[NotifyTarget, ...] = ()

    @property
    def path(self) -> Path:
        return self.folder / "wire.db"

    def open(self, **more: Any) -> Wire:
        chosen = {"inbox": str(self.folder / "inbox"), **self.settings, **more}
        settings = resolve(chosen, environment={})
        origins = {**settings.origins, "notify": "test"}
        return Wire(self.path, replace(settings, notify=self.notify, origins=origins))

    def uids(self) -> set[str]:
        """Every document that is kept, copies too."""
        with Store.reading(self.path) as store:
            return {uid for (uid,) in store.rows("SELECT uid FROM documents")}

    def subscribe(self, *urls: str) -> None:
        with self.open() as wire:
            for url in urls:
                subscriptions.add(wire.writer, url)

    def drop(self, name: str, items: list[dict[str, str]]) -> Path:
        """A delivery in the inbox."""
        path = self.folder / "inbox" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(i) + "\n" for i in items), encoding="utf-8")
        return path

    def night(
        self,
        steps: tuple[Step, ...] = STEPS,
        prepare: Callable[[Wire], None] | None = None,
        **options: Any,
    ) -> NightlyRun:
        """One night; the next is a day later."""
        with self.open() as wire:
            if prepare is not None:
                prepare(wire)
            night = run_night(NightlyRun(wire, now=lambda: self.date, **options), steps)
        self.pass_day()
        return night

    def pass_day(self, days: int = 1) -> None:
        self.date = later(self.date, days * 24 * 3600)


def new_house(folder: Path) -> House:
    (folder / "inbox").mkdir()
    return House(folder, {"lang": "en", "batch_size": 20})


@pytest.fixture
def house(tmp_path: Path) -> House:
    return new_house(tmp_path)
