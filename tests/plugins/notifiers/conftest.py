"""Notices, and a web server on loopback that receives them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from segapsith.model import Notice


@dataclass
class Receiver:
    """What a server received, and the status that it answers with."""

    port: int
    status: int = 204
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/hook") -> str:
        return f"http://{self.place}{path}"

    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, _, body in self.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {key.lower(): value for key, value in self.headers.items()}
            made.requests.append((self.path, headers, body))
            if made.status == 0:
                return  # the connection is closed without an answer
            self.send_response(made.status)
            if made.status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Receiver(listening.server_address[1])
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    listening.shutdown()
    listening.server_close()
    thread.join()


@pytest.fixture
def notices() -> list[Notice]:
    at = "2026-03-02T02:30:00+00:00"
    return [
        Notice("alarm/1", "alarm", "Alarm kappa: 0.2 <low> & “bad”", "Look closer", at),
        Notice("new-domain/7", "new-domain", "New domain: Crue à Liège @everyone", "crue, eau", at),
    ]
