"""The way out to the network: what is contacted, what is not, and how long anything may take.

Every server is on loopback; names are resolved by the tests themselves where it matters.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import gzip
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segapsith import limits
from segapsith.errors import FeedError
from segapsith.io.http import MAX_REDIRECTS, USER_AGENT, Answer, Transport, connected, fetch

PUBLIC = "93.184.216.34"
Page = bytes | Callable[[socket.socket], None]


class Server:
    """Answers on loopback with whatever bytes a test wants, and keeps what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.place}{path}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(60)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=[connection])
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.enter_context(connection)
            connection.settimeout(60)
            if self._tls is not None:
                connection = stack.enter_context(
                    self._tls.wrap_socket(connection, server_side=True)
                )
            head = b""
            while b"\r\n\r\n" not in head:
                if not (data := connection.recv(65536)):
                    return
                head += data
            first, *lines = head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
            path = first.split()[1]
            pairs = (line.split(": ", 1) for line in lines)
            fields = {name.lower(): value for name, value in pairs}
            self.asked.append((path, fields))
            page = self.pages.get(path, response(404))
            if isinstance(page, bytes):
                connection.sendall(page)
            else:
                page(connection)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)


def response(status: int = 200, body: bytes = b"", **fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X"]
    for name, value in {"Content_Length": str(len(body)), **fields}.items():
        lines.append(f"{name.replace('_', '-')}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def redirect(target: str, status: int = 302) -> bytes:
    return response(status, Location=target)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def other() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def get(server: Server, path: str = "/", **options: object) -> Answer:
    options = {"allow": {server.place}, "timeout": 60.0, **options}
    return fetch(server.url(path), **options)  # type: ignore[arg-type]  # options by name, of several types


def never(address: str, port: int, seconds: float) -> socket.socket:
    raise AssertionError(f"{address}:{port} was contacted")


# -- what is contacted -----------------------------------------------------------------------


def test_a_body_comes_with_its_validators_and_type(server: Server) -> None:
    server.pages["/wire?a=1"] = response(
        body=b"news",
        ETag='"1"',
        Last_Modified="Mon, 02 Mar 2026 06:15:00 GMT",
        Content_Type="text/x",
    )
    answer = get(server, "/wire?a=1#part")
    assert (answer.status, answer.body, answer.etag) == (200, b"news", '"1"')
    assert answer.last_modified == "Mon, 02 Mar 2026 06:15:00 GMT"
    assert answer.content_type == "text/x"
    assert answer.url == answer.final_url == server.url("/wire?a=1")
    (_, fields) = server.asked[0]
    assert fields["user-agent"] == USER_AGENT
    assert fields["host"] == server.place
    assert "cookie" not in fields
    assert "if-none-match" not in fields


FORBIDDEN = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "LOCALHOST",
    "localhost.",
    "１２７.０.０.１",
    "127。0。0。1",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[2606:4700::5efe:7f00:1]",
    "[fe80::1]",
    "[fc00::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "user@127.0.0.1",
    "example.org:80@127.0.0.1",
]


@pytest.mark.parametrize("host", FORBIDDEN)
def test_no_other_address_is_contacted_however_it_is_written(host: str) -> None:
    with pytest.raises(FeedError, match="not a public address"):
        fetch(f"http://{host}/", transport=Transport(opener=never), timeout=60)
    with pytest.raises(FeedError, match="not a public address"):
        allowed = {"127.0.0.1:80", "localhost:80"}
        fetch(f"http://{host}:8080/", allow=allowed, transport=Transport(opener=never))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "javascript:alert(1)",
        "example.org/wire",
        "http:///wire",
        "http://",
        "http:example.org",
        "http://exa mple.org/",
        "http://example.org\\@127.0.0.1/",
        "http://127.0.0.1\t.example.org/",
        "http://example.org\r\nHost: x/",
        "http://%31%32%37.0.0.1/",
        "http://[fe80::1%25lo]/",
        "http://[::1/",
        "http://[1.2.3.4]/",
        "http://example.org:99999/",
        "http://example.org:0/",
        "http://example..org/",
        "http://-/",
        "http://" + "a" * 300 + "/",
        "http://example.org/" + "a" * 3000,
        "http://\ud800/",
    ],
)
def test_an_invalid_address_is_refused_before_it_is_resolved(url: str) -> None:
    def resolver(host: str, port: int) -> list[str]:
        raise AssertionError(f"{host} was looked up")

    with pytest.raises(FeedError):
        fetch(url, transport=Transport(resolver, never))


def test_an_allowed_host_is_allowed_at_one_port(server: Server, other: Server) -> None:
    server.pages["/"] = response(body=b"yes")
    assert get(server).body == b"yes"
    for url in (other.url(), f"http://localhost:{server.port}/", f"http://127.1:{server.port}/"):
        with pytest.raises(FeedError, match="--allow-host"):
            fetch(url, allow={server.place}, timeout=60)
    assert len(server.asked) == 1
    assert other.asked == []


def test_the_connection_goes_to_the_address_that_was_checked(server: Server) -> None:
    """DNS rebinding: the second answer is never asked for."""
    server.pages["/"] = response(body=b"fine")
    answers = [[PUBLIC], ["127.0.0.1"]]
    contacted = []

    def resolver(host: str, port: int) -> list[str]:
        assert host == "rebind.example"
        return answers.pop(0)

    def opener(address: str, port: int, seconds: float) -> socket.socket:
        contacted.append(address)
        return connected("127.0.0.1", server.port, seconds)

    url = f"http://rebind.example:{server.port}/"
    transport = Transport(resolver, opener)
    assert fetch(url, transport=transport).body == b"fine"
    assert contacted == [PUBLIC]
    assert server.asked[0][1]["host"] == f"rebind.example:{server.port}"
    with pytest.raises(FeedError, match=r"127\.0\.0\.1, which is not a public"):
        fetch(url, transport=transport)
    assert contacted == [PUBLIC]


def test_a_redirect_to_the_same_name_is_looked_up_and_checked_again(server: Server) -> None:
    server.pages["/"] = redirect("/again")
    answers = [[PUBLIC], ["10.0.0.1"]]

    def opener(address: str, port: int, seconds: float) -> socket.socket:
        assert address == PUBLIC
        return connected("127.0.0.1", server.port, seconds)

    with pytest.raises(FeedError, match="not a public"):
        fetch("http://rebind.example/", transport=Transport(lambda h, p: answers.pop(0), opener))
    assert len(server.asked) == 1


def test_of_mixed_addresses_only_the_public_ones_are_tried(server: Server) -> None:
    server.pages["/"] = response(body=b"fine")
    contacted = []

    def opener(address: str, port: int, seconds: float) -> socket.socket:
        contacted.append(address)
        if address != PUBLIC:
            raise ConnectionRefusedError(111, "Connection refused")
        return connected("127.0.0.1", server.port, seconds)

    addresses = ["127.0.0.1", "2606:4700::1", "::1", PUBLIC]
    answer = fetch("http://mixed.example/", transport=Transport(lambda h, p: addresses, opener))
    assert answer.body == b"fine"
    assert contacted == ["2606:4700::1", PUBLIC]


def test_an_unknown_host_name_is_named_in_the_error() -> None:
    def resolver(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "nobody is called so")

    with pytest.raises(FeedError, match=r"cannot resolve nowhere\.example: nobody is called so"):
        fetch("http://nowhere.example/", transport=Transport(resolver))


def test_a_refused_connection_is_reported(server: Server) -> None:
    server.close()
    with pytest.raises(FeedError, match=re.escape(os.strerror(errno.ECONNREFUSED))):
        get(server)


def test_proxies_of_the_environment_are_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.pages["/"] = response(body=b"direct")
    assert get(server).body == b"direct"


# -- redirects -------------------------------------------------------------------------------


def test_redirects_are_followed_and_the_end_is_named(server: Server) -> None:
    for number, status in enumerate((301, 302, 303, 307, 308)):
        server.pages[f"/{number}"] = redirect(f"{number + 1}", status)
    server.pages["/5"] = response(body=b"end")
    answer = get(server, "/0")
    assert (answer.body, answer.final_url, answer.url) == (
        b"end",
        server.url("/5"),
        server.url("/0"),
    )


def test_ten_redirects_are_the_limit(server: Server) -> None:
    for number in range(20):
        server.pages[f"/{number}"] = redirect(f"/{number + 1}")
    server.pages["/10"] = response(body=b"just")
    assert get(server, "/0").body == b"just"
    server.asked.clear()
    server.pages["/10"] = redirect("/11")
    with pytest.raises(FeedError, match="more than 10 times"):
        get(server, "/0")
    assert len(server.asked) == MAX_REDIRECTS + 1


def test_a_circle_of_redirects_ends(server: Server) -> None:
    server.pages |= {"/a": redirect("/b"), "/b": redirect("/a#x"), "/c": redirect("/c")}
    for path, requests in (("/a", 2), ("/c", 1)):
        server.asked.clear()
        with pytest.raises(FeedError, match="circle"):
            get(server, path)
        assert len(server.asked) == requests


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://127.0.0.1:6379/_x",
        "data:text/xml,<rss/>",
        "javascript:alert(1)",
        "ldap://127.0.0.1/",
        "http://127.0.0.1:{port}/secret",
        "http://localhost:{port}/secret",
        "http://2130706433:{port}/secret",
        "http://0x7f.1:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://[::1]:{port}/secret",
        "//127.0.0.1:{port}/secret",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://user:pw@127.0.0.1:{port}/secret",
        "http://example.org\\@127.0.0.1:{port}/secret",
        "https://127.0.0.1:{port}/secret",
        "http://[/secret",
        "",
        "\x7f",
    ],
)
def test_hostile_redirects_are_not_followed(server: Server, other: Server, target: str) -> None:
    other.pages["/secret"] = response(body=b"secret")
    server.pages["/"] = redirect(target.format(port=other.port))
    with pytest.raises(FeedError):
        get(server)
    assert other.asked == []
    assert len(server.asked) == 1


def test_credentials_stay_with_their_origin(server: Server, other: Server) -> None:
    both = {server.place, other.place}
    server.pages |= {"/": redirect("/inside"), "/inside": redirect(other.url("/away"))}
    other.pages |= {
        "/away": redirect(f"http://evil:pw@{other.place}/again"),
        "/again": redirect(server.url("/back")),
    }
    server.pages["/back"] = response(body=b"end")
    url = f"http://us%40er:pa%3Ass@{server.place}/"
    answer = fetch(url, allow=both, timeout=60)
    assert answer.body == b"end"
    assert "pa" not in answer.url.removeprefix("http://")
    sent = {path: fields.get("authorization") for path, fields in server.asked + other.asked}
    secret = base64.b64encode(b"us@er:pa:ss").decode()
    assert sent["/"] == sent["/inside"] == f"Basic {secret}"
    assert sent["/away"] is sent["/again"] is sent["/back"] is None


def test_errors_do_not_show_credentials(server: Server) -> None:
    for url in (f"http://user:secret@127.0.0.1:{server.port}/", "http://user:secret@exa mple.org/"):
        with pytest.raises(FeedError) as caught:
            fetch(url)
        assert "secret" not in str(caught.value)


# -- time ------------------------------------------------------------------------------------


class Slow:
    """A connection on which every byte takes its time by the clock; then there is silence."""

    def __init__(self, clock: Any, sent: bytes = b"", late: bytes = b"", pause: float = 0.05):
        self._clock, self._sent, self._late, self._pause = clock, sent, late, pause
        self._patience = 0.0

    def settimeout(self, value: float) -> None:
        self._patience = value

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        if self._sent:
            data, self._sent = self._sent, b""
            return data
        if not self._late or self._patience < self._pause:
            self._clock.advance(self._patience)
            raise TimeoutError("timed out")
        self._clock.advance(self._pause)
        data, self._late = self._late[:1], self._late[1:]
        return data

    def close(self) -> None:
        pass


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("sent", "late"),
    [
        (b"", b""),
        (b"", HEAD + b"X: " + b"x" * 500),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 30),
        (HEAD + b"Content-Length: 900\r\n\r\n", b"x" * 900),
        (HEAD + b"Content-Length: 900\r\n\r\nx", b""),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 90),
    ],
    ids=["silence", "slow head", "endless 100", "slow body", "stopped body", "slow chunks"],
)
def test_the_limit_holds_for_the_whole(clock: Any, sent: bytes, late: bytes) -> None:
    began = clock()
    with pytest.raises(FeedError, match=r"more than 0\.4 s"):
        fetch(
            "http://slow.example/",
            transport=Transport(
                resolver=lambda h, p: [PUBLIC],
                opener=lambda a, p, s: Slow(clock, sent, late),  # type: ignore[arg-type,return-value]
                now=clock,
            ),
            timeout=0.4,
        )
    assert clock() - began == pytest.approx(0.4)


def test_the_limit_holds_for_a_real_connection(server: Server) -> None:
    server.pages["/"] = lambda connection: connection.recv(1) and None
    with pytest.raises(FeedError, match=r"more than 0\.1 s"):
        get(server, timeout=0.1)


def test_the_limit_holds_over_all_redirects(clock: Any) -> None:
    opened: list[str] = []

    def opener(address: str, port: int, seconds: float) -> Any:
        opened.append(address)
        clock.advance(0.15)
        return Slow(clock, redirect(f"/{len(opened)}"))

    with pytest.raises(FeedError, match=r"more than 0\.4 s"):
        fetch(
            "http://slow.example/",
            transport=Transport(lambda h, p: [PUBLIC], opener, now=clock),
            timeout=0.4,
        )
    assert len(opened) == 3


def test_a_resolver_that_does_not_answer_is_not_waited_for() -> None:
    ended = threading.Event()

    def resolver(host: str, port: int) -> list[str]:
        ended.wait()
        return []

    with pytest.raises(FeedError, match=r"more than 0\.05 s"):
        fetch("http://slow.example/", transport=Transport(resolver), timeout=0.05)
    ended.set()


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    server: Server, clock: Any
) -> None:
    server.pages["/"] = response(body=b"second")
    allotted = []

    def opener(address: str, port: int, seconds: float) -> socket.socket:
        allotted.append(seconds)
        if len(allotted) == 1:
            clock.advance(seconds)
            raise TimeoutError("timed out")
        return connected("127.0.0.1", server.port, 60)

    answer = fetch(
        "http://two.example/",
        transport=Transport(lambda h, p: [PUBLIC, "93.184.216.35"], opener, now=clock),
        timeout=120,
    )
    assert answer.body == b"second"
    assert allotted == [60, 60]


# -- size ------------------------------------------------------------------------------------

ZEROS = b"\0" * (1 << 20)


def _endless(head: bytes, piece: bytes, sent: list[int]) -> Callable[[socket.socket], None]:
    def page(connection: socket.socket) -> None:
        connection.sendall(head)
        while sent[0] < 200_000_000:
            connection.sendall(piece)
            sent[0] += len(piece)

    return page


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (HEAD + b"\r\n", ZEROS),
        (HEAD + b"Content-Length: 10000000000\r\n\r\n", ZEROS),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"100000\r\n" + ZEROS + b"\r\n"),
        (HEAD, b"X: " + b"x" * 60_000),
        (HEAD, b"X: y\r\n" * 10_000),
        (b"", b"x" * 10_000),
        (b"", b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" * 1000),
    ],
    ids=["to the end", "declared", "chunks", "long field", "many fields", "no HTTP", "endless 100"],
)
def test_endless_answers_end(server: Server, head: bytes, piece: bytes) -> None:
    sent = [0]
    server.pages["/"] = _endless(head, piece, sent)
    with pytest.raises(FeedError):
        get(server)
    server.close()
    assert sent[0] < 40_000_000


def test_what_is_moved_is_counted_too(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one byte, each with a long remark: much is sent, little is produced."""
    monkeypatch.setattr(limits, "MAX_TRANSFERRED_BYTES", 1_000_000)
    sent = [0]
    remarks = b"1;" + b"x" * 5000 + b"\r\ny\r\n"
    server.pages["/"] = _endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", remarks, sent)
    with pytest.raises(FeedError, match="1,000,000 bytes"):
        get(server)


def test_a_body_at_the_limit_is_taken_and_one_byte_more_is_not(server: Server) -> None:
    server.pages["/"] = response(body=b"x" * limits.MAX_FETCHED_BYTES)
    assert len(get(server).body) == limits.MAX_FETCHED_BYTES
    server.pages["/"] = response(body=b"x" * (limits.MAX_FETCHED_BYTES + 1))
    with pytest.raises(FeedError, match="15,728,640 bytes"):
        get(server)


BOMB = gzip.compress(b"\0" * 20_000_000, 6, mtime=0)


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP, identity"])
def test_compressed_bodies_are_opened(server: Server, coding: str) -> None:
    server.pages["/"] = response(body=gzip.compress(b"news"), Content_Encoding=coding)
    assert get(server).body == b"news"


def test_gzip_in_gzip_and_several_members_are_opened(server: Server) -> None:
    twice = gzip.compress(gzip.compress(b"a" * 200_000) + gzip.compress(b"b") + b"\0" * 10)
    server.pages |= {
        "/coded": response(body=twice, Content_Encoding="gzip, gzip"),
        "/file": response(body=twice, Content_Encoding="gzip"),
    }
    for path in server.pages:
        assert get(server, path).body == b"a" * 200_000 + b"b"


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (BOMB, "gzip"),
        (BOMB, ""),
        (gzip.compress(BOMB), "gzip, gzip"),
        (gzip.compress(BOMB), "gzip"),
        (gzip.compress(gzip.compress(BOMB)), "gzip, gzip, gzip"),
        (gzip.compress(bytes(1000)) * 20_000, "gzip"),
    ],
    ids=["coded", "file", "twice", "file in coded", "thrice", "members"],
)
def test_bombs_are_stopped_by_what_they_produce(server: Server, body: bytes, coding: str) -> None:
    server.pages["/"] = response(body=body, Content_Encoding=coding or "identity")
    with pytest.raises(FeedError, match="15,728,640 bytes"):
        get(server, timeout=20.0)


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip, gzip, gzip", "zstd, gzip"])
def test_codings_that_were_not_asked_for_are_refused(server: Server, coding: str) -> None:
    server.pages["/"] = response(body=gzip.compress(b"news"), Content_Encoding=coding)
    with pytest.raises(FeedError, match="expected gzip"):
        get(server)


# -- cut and broken --------------------------------------------------------------------------

PACKED = gzip.compress(bytes(range(256)) * 40, mtime=0)  # the time would change the names of tests


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 100\r\n\r\nshort",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n",
        HEAD + b"Content-Length: -5\r\n\r\nabcde",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        response(body=PACKED[:-9], Content_Encoding="gzip"),
        response(body=PACKED[:5], Content_Encoding="gzip"),
        response(body=PACKED[:20] + b"????" + PACKED[24:], Content_Encoding="gzip"),
        response(body=b"plain", Content_Encoding="gzip"),
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + PACKED[:-4],
        b"",
        b"HTTP/1.1",
        b"HTTP/1.1 200",
        b"SSH-2.0-OpenSSH_9.0\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        HEAD + b"no colon\r\n\r\n",
        HEAD + b"X: \0\r\n\r\n",
        b"\0" * 1000,
        HEAD + b"A: b\r\n" * 500 + b"\r\n",
        response(302),
    ],
)
def test_cut_and_broken_answers_are_refused(server: Server, answer: bytes) -> None:
    server.pages["/"] = answer
    with pytest.raises(FeedError):
        get(server)


# -- conditions ------------------------------------------------------------------------------


def test_both_validators_are_sent_and_not_modified_is_an_answer(server: Server) -> None:
    server.pages["/"] = response(304, ETag='W/"2"')
    answer = get(server, etag='W/"1"', last_modified="Mon, 02 Mar 2026 06:15:00 GMT")
    assert (answer.status, answer.body, answer.has_body) == (304, b"", False)
    _, fields = server.asked[0]
    assert fields["if-none-match"] == 'W/"1"'
    assert fields["if-modified-since"] == "Mon, 02 Mar 2026 06:15:00 GMT"


@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [
        (429, "120", 120),
        (503, " 7 ", 7),
        (503, "Mon, 02 Mar 1998 06:15:00 GMT", 0),
        (429, "soon", None),
        (429, "-1", None),
        (500, "120", None),
    ],
)
def test_a_wish_to_be_left_alone_is_kept(
    server: Server, status: int, value: str, seconds: int | None
) -> None:
    server.pages["/"] = response(status, b"busy", Retry_After=value)
    answer = get(server)
    assert (answer.status, answer.retry_after, answer.body) == (status, seconds, b"")
    assert len(server.asked) == 1


def test_validators_that_cannot_be_sent_back_are_not_kept(server: Server) -> None:
    server.pages["/"] = response(body=b"x", ETag='"é"', Last_Modified="x" * 2000)
    answer = get(server)
    assert answer.etag is answer.last_modified is None


# -- TLS -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=wire.example",
         "-addext", "subjectAltName=DNS:wire.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    made = Server(context)
    yield made
    made.close()


def test_certificates_are_verified_for_the_name_that_was_asked(
    secure: Server, certificate: tuple[Path, Path]
) -> None:
    secure.pages["/"] = response(body=b"safe")

    def trusted() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(certificate[0]))

    def opener(address: str, port: int, seconds: float) -> socket.socket:
        return connected("127.0.0.1", secure.port, seconds)

    usual = Transport(lambda h, p: [PUBLIC], opener)
    trusting = replace(usual, tls=trusted)
    assert fetch("https://wire.example/", transport=trusting).body == b"safe"
    assert secure.asked[0][1]["host"] == "wire.example"
    with pytest.raises(FeedError, match="no safe connection"):
        fetch("https://other.example/", transport=trusting)
    with pytest.raises(FeedError, match="no safe connection"):
        fetch("https://wire.example/", transport=usual)
    assert len(secure.asked) == 1
