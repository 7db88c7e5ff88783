"""The one guarded way out to the network.

Names are resolved here, every address is checked after that, and the connection is made to the
very address that was checked, at each hop: there is no second resolution that could answer
otherwise. One deadline holds from the first question to the last byte, and sizes count the bytes
that arrive and the bytes they decompress to, whatever was declared.

`h11` parses HTTP; sockets, TLS, deadline and size limits are implemented here. httpcore, which httpx
is built on, can connect to a checked address through its public `NetworkBackend`. Its timeouts hold
for each read and each write, so the deadline for a whole fetch would still be ours, and so would the
resolver, the check of addresses and both size limits. What httpx would save is one small exchange.
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import functools
import ipaddress
import queue
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import quote, unquote, urljoin, urlsplit

import h11

from segapsith import __version__, limits
from segapsith.errors import ConfigurationError, FeedError

__all__ = ["Address", "Answer", "fetch", "is_public", "place"]

TIMEOUT = 20.0
"""Seconds for everything: names, connections, redirects, head and body."""

MAX_REDIRECTS = 10
MAX_URL_CHARS = 2000
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 200
MAX_VALIDATOR_CHARS = 1000

USER_AGENT = f"segapsith/{__version__} (+newswire reader)"
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 64 * 1024
_GZIP = b"\x1f\x8b"
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
_MISLEADING = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]")

Resolver = Callable[[str, int], Sequence[str]]
"""From a host and a port to numeric addresses."""

Opener = Callable[[str, int, float], socket.socket]
"""From a numeric address, a port and a limit in seconds to a connection."""


# -- what may be contacted -----------------------------------------------------------------------

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    )
)  # fmt: skip
"""IANA's special-purpose registry; multicast, reserved and broadcast are the last."""

_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
"""Of the global range: Teredo and other protocols, documentation, 6to4. All that lies outside it
(loopback, mapped and translated IPv4, link-local, unique local, multicast) is refused at once."""

_ISATAP = (0x00005EFE, 0x02005EFE)


def is_public(address: str) -> bool:
    """Whether a numeric address belongs to the public internet.

    The tables are ours because those of the standard library differ between its versions.

    >>> [is_public(a) for a in ("192.0.33.8", "10.0.0.1", "::ffff:192.0.33.8", "2606:4700::1")]
    [True, False, False, True]
    """
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(number, ipaddress.IPv4Address):
        return not any(number in network for network in _NOT_PUBLIC_4)
    embedded = (int(number) >> 32) & 0xFFFFFFFF in _ISATAP
    return (
        number in _PUBLIC_6
        and not embedded
        and not any(number in network for network in _NOT_PUBLIC_6)
    )


def place(text: str) -> str:
    """HOST:PORT in its one spelling, as leave is given to it.

    >>> place("LocalHost:8080"), place("[0:0::1]:80")
    ('localhost:8080', '[::1]:80')
    """
    try:
        address = Address.of(f"http://{text.strip()}")
        if urlsplit(f"http://{text.strip()}").port is None or address.target != "/":
            raise ValueError
    except (FeedError, ValueError) as error:
        raise ConfigurationError(f"{text!r} should be HOST:PORT, as in 127.0.0.1:8080") from error
    return address.place


@dataclass(frozen=True, slots=True)
class Address:
    """A web address taken apart, its host in the form that is looked up."""

    scheme: str
    host: str
    port: int
    target: str
    credentials: str = ""
    """`user:password`, sent to this origin alone and never shown."""

    @classmethod
    def of(cls, text: str) -> Address:
        """The parts of an address; what programs read in different ways is refused.

        >>> Address.of("HTTPS://Example.org:443/wire?x=1#top").url
        'https://example.org/wire?x=1'
        """
        text = text.strip(" \t\r\n")
        shown = re.sub(r"//[^/]*@", "//", text)[:200]
        if len(text) > MAX_URL_CHARS:
            raise FeedError(f"{shown}…: the address has more than {MAX_URL_CHARS} characters")
        if _MISLEADING.search(text):
            raise FeedError(f"{shown!r}: an address has no spaces, controls or backslashes")
        try:
            parts = urlsplit(text)
            scheme, port = parts.scheme.lower(), parts.port
            host = _host(parts.hostname or "")
        except ValueError as error:
            raise FeedError(f"{shown}: this is not an address: {error}") from error
        if scheme not in _PORTS:
            raise FeedError(f"{shown}: only http and https are read")
        if port == 0:
            raise FeedError(f"{shown}: there is no port 0")
        target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
        if not target.startswith("/"):
            raise FeedError(f"{shown}: this is not an address")
        if parts.query:
            target += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
        secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        return cls(scheme, host, port or _PORTS[scheme], target, "" if secret == ":" else secret)

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def place(self) -> str:
        return f"{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """As the Host header says it."""
        return self._bracketed if self.port == _PORTS[self.scheme] else self.place

    @property
    def url(self) -> str:
        """The address without credentials."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def full_url(self) -> str:
        """The address with credentials, as a subscription keeps it."""
        if not self.credentials:
            return self.url
        user, _, password = (quote(part, safe="") for part in self.credentials.partition(":"))
        return f"{self.scheme}://{user}:{password}@{self.authority}{self.target}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def _host(name: str) -> str:
    """The host as it is looked up: ASCII, lower case, IPv6 in its short form."""
    if ":" in name:
        return str(ipaddress.IPv6Address(name if "%" not in name else ""))
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"the host name cannot be encoded ({error})") from error
    name = name.lower()
    if not _NAME.fullmatch(name) or len(name) > 253:
        raise ValueError("it has no host" if not name else "the host name is malformed")
    return name.removesuffix(".")


# -- what comes back -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said at the end of all redirects; only 200 and 203 have a body."""

    url: str
    final_url: str
    status: int
    body: bytes = b""
    etag: str | None = None
    last_modified: str | None = None
    content_type: str = ""
    retry_after: int | None = None
    """Seconds, with 429 and 503."""

    @property
    def has_body(self) -> bool:
        return self.status in (200, 203)


class _Deadline:
    """The time and the bytes that one fetch has left."""

    def __init__(
        self, name: str, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._seconds, self._now = name, seconds, now
        self._end = now() + seconds
        self._bytes = limits.MAX_TRANSFERRED_BYTES

    def left(self) -> float:
        left = self._end - self._now()
        if left <= 0:
            raise self.passed()
        return left

    def passed(self) -> FeedError:
        return FeedError(f"{self._name}: it took more than {self._seconds:g} s")

    def spend(self, n_bytes: int) -> None:
        self._bytes -= n_bytes
        if self._bytes < 0:
            raise FeedError(
                f"{self._name}: it sent more than {limits.MAX_TRANSFERRED_BYTES:,} bytes"
            )


class _Reader(Protocol):
    def settimeout(self, value: float | None, /) -> None: ...
    def recv(self, bufsize: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...


# -- fetching ------------------------------------------------------------------------------------


def system_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host as the system knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def connected(address: str, port: int, seconds: float) -> socket.socket:
    """A connection to a numeric address; nothing is looked up."""
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        connection.settimeout(seconds)
        connection.connect((address, port))
    except BaseException:
        connection.close()
        raise
    return connection


@functools.cache
def verified() -> ssl.SSLContext:
    """TLS with certificates and names verified."""
    return ssl.create_default_context()


def fetch(
    url: str,
    *,
    etag: str | None = None,
    last_modified: str | None = None,
    allow: Collection[str] = frozenset(),
    timeout: float = TIMEOUT,
    resolver: Resolver = system_addresses,
    opener: Opener = connected,
    tls: Callable[[], ssl.SSLContext] = verified,
    now: Callable[[], float] = time.monotonic,
) -> Answer:
    """What is at an address, or a `FeedError` that says why it was not got.

    `allow` names places (HOST:PORT, see `place`) that may be contacted although they are not
    public. With validators the answer may be 304 and have no body.
    """
    address = Address.of(url)
    name = address.url
    deadline = _Deadline(name, timeout, now)
    visited: set[str] = set()
    for _ in range(MAX_REDIRECTS + 1):
        if address.url in visited:
            raise FeedError(f"{name}: it redirects in a circle, back to {address.url}")
        visited.add(address.url)
        with contextlib.ExitStack() as stack:
            try:
                reader = _connect(address, allow, deadline, resolver, opener, tls, stack)
                answer = _exchange(reader, address, name, etag, last_modified, deadline)
            except TimeoutError as error:
                raise deadline.passed() from error
            except ssl.SSLError as error:
                raise FeedError(f"{name}: no safe connection: {error.reason or error}") from error
            except OSError as error:
                raise FeedError(f"{name}: {error.strerror or error}") from error
            except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
                raise FeedError(f"{name}: this is not sound HTTP: {error}") from error
        if isinstance(answer, Answer):
            return answer
        address = _next_hop(address, answer, name)
    raise FeedError(f"{name}: it redirects more than {MAX_REDIRECTS} times")


def _next_hop(address: Address, location: str, name: str) -> Address:
    """Where a redirect leads. Credentials stay with their origin; those it brings are dropped."""
    try:
        target = Address.of(urljoin(address.url, location.strip().replace(" ", "%20")))
    except (FeedError, ValueError) as error:
        raise FeedError(f"{name}: it redirects to a place that is not read: {error}") from error
    kept = address.credentials if target.origin == address.origin else ""
    return replace(target, credentials=kept)


def _connect(
    address: Address,
    allow: Collection[str],
    deadline: _Deadline,
    resolver: Resolver,
    opener: Opener,
    tls: Callable[[], ssl.SSLContext],
    stack: contextlib.ExitStack,
) -> _Reader:
    """A connection to one of the checked addresses, with TLS if the scheme asks for it."""
    found = _resolved(address, deadline, resolver)
    checked = found if address.place in allow else [a for a in found if is_public(a)]
    if not checked:
        raise FeedError(
            f"{address.url}: refused, since {address.host} is {', '.join(found[:3]) or 'nowhere'},"
            f" which is not a public address (--allow-host {address.place} permits it)"
        )
    for tried, numeric in enumerate(checked, 1):
        last = tried == len(checked)
        share = deadline.left() / (len(checked) - tried + 1)
        try:
            plain = opener(numeric, address.port, share)
            break
        except OSError:
            if last:
                raise
    stack.enter_context(contextlib.closing(plain))
    if address.scheme == "http":
        return plain
    plain.settimeout(deadline.left())
    secure = tls().wrap_socket(plain, server_hostname=address.host, suppress_ragged_eofs=False)
    return stack.enter_context(contextlib.closing(secure))


def _resolved(address: Address, deadline: _Deadline, resolver: Resolver) -> list[str]:
    """The addresses of a host. The system's resolver knows no limit, so it is not waited for."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolver(address.host, address.port))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="resolver").start()
    try:
        answer = answers.get(timeout=deadline.left())
    except queue.Empty:
        raise deadline.passed() from None
    if isinstance(answer, OSError | UnicodeError):
        reason = getattr(answer, "strerror", None) or answer
        raise FeedError(f"{address.url}: no address of {address.host}: {reason}") from answer
    if isinstance(answer, Exception):
        raise answer
    return list(answer)


def _exchange(
    reader: _Reader,
    address: Address,
    name: str,
    etag: str | None,
    last_modified: str | None,
    deadline: _Deadline,
) -> Answer | str:
    """Asks once: the answer, or where it redirects to."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    request = h11.Request(
        method="GET", target=address.target, headers=_headers(address, etag, last_modified)
    )
    reader.settimeout(deadline.left())
    reader.sendall((http.send(request) or b"") + (http.send(h11.EndOfMessage()) or b""))
    head = _head(http, reader, name, deadline)
    fields = _fields(head)
    status = head.status_code
    if status in _REDIRECTS:
        if "location" not in fields:
            raise FeedError(f"{name}: it redirects ({status}) to nowhere")
        return fields["location"]
    answer = Answer(
        name,
        address.url,
        status,
        etag=_validator(fields.get("etag")),
        last_modified=_validator(fields.get("last-modified")),
        content_type=fields.get("content-type", ""),
        retry_after=_seconds(fields.get("retry-after")) if status in (429, 503) else None,
    )
    if not answer.has_body:
        return answer
    pieces = _body(http, reader, deadline)
    for coding in _codings(fields.get("content-encoding", ""), name):
        pieces = coding(pieces, name, deadline)
    body = b"".join(_within(pieces, name))
    if body.startswith(_GZIP):  # a feed that is kept as a .gz file
        body = b"".join(_gunzipped([body], name, deadline))
    return replace(answer, body=body)


def _headers(
    address: Address, etag: str | None, last_modified: str | None
) -> list[tuple[str, str]]:
    headers = [
        ("Host", address.authority),
        ("User-Agent", USER_AGENT),
        ("Accept", ACCEPT),
        ("Accept-Encoding", "gzip"),
        ("Connection", "close"),
    ]
    if etag is not None:
        headers.append(("If-None-Match", etag))
    if last_modified is not None:
        headers.append(("If-Modified-Since", last_modified))
    if address.credentials:
        secret = base64.b64encode(address.credentials.encode()).decode("ascii")
        headers.append(("Authorization", f"Basic {secret}"))
    return headers


def _more(http: h11.Connection, reader: _Reader, deadline: _Deadline) -> int:
    """Hands over what has arrived; an end of the stream is for h11 to judge."""
    reader.settimeout(deadline.left())
    data = reader.recv(_PIECE)
    deadline.spend(len(data))
    http.receive_data(data)
    return len(data)


def _head(http: h11.Connection, reader: _Reader, name: str, deadline: _Deadline) -> h11.Response:
    """Status and fields; answers of the kind `100 Continue` before it are passed over."""
    arrived = 0
    while True:
        event = http.next_event()
        if isinstance(event, h11.Response):
            if len(event.headers) > MAX_HEADERS:
                raise FeedError(f"{name}: its answer has more than {MAX_HEADERS} header fields")
            return event
        if isinstance(event, h11.ConnectionClosed):
            raise FeedError(f"{name}: it ended the connection without an answer")
        if event is h11.NEED_DATA:
            if arrived > 2 * MAX_HEAD_BYTES:
                raise FeedError(f"{name}: the head of its answer is too long")
            arrived += _more(http, reader, deadline)


def _body(http: h11.Connection, reader: _Reader, deadline: _Deadline) -> Iterator[bytes]:
    """The body as it was sent, to its declared end; h11 raises if that never comes."""
    while True:
        event = http.next_event()
        if isinstance(event, h11.Data):
            yield bytes(event.data)
        elif event is h11.NEED_DATA:
            _more(http, reader, deadline)
        else:
            return


def _fields(head: h11.Response) -> dict[str, str]:
    """Header fields by lower-case name; the first of several counts."""
    fields: dict[str, str] = {}
    for name, value in head.headers:
        fields.setdefault(name.decode("ascii"), _decoded(value))
    return fields


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _validator(value: str | None) -> str | None:
    """A validator that can be sent back as it came."""
    return value if value and value.isascii() and len(value) <= MAX_VALIDATOR_CHARS else None


def _seconds(value: str | None) -> int | None:
    """`Retry-After` in seconds from now, given as a number or as a date.

    >>> _seconds("120"), _seconds("soon"), _seconds("Mon, 02 Mar 1998 06:15:00 GMT")
    (120, None, 0)
    """
    if value is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", value.strip()):
        return int(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
        return max(0, min(999_999_999, int(moment.timestamp() - time.time())))
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


# -- bodies --------------------------------------------------------------------------------------


def _within(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The pieces, as long as they are not too many bytes together."""
    produced = 0
    for piece in pieces:
        produced += len(piece)
        if produced > limits.MAX_FETCHED_BYTES:
            raise FeedError(f"{name}: its body has more than {limits.MAX_FETCHED_BYTES:,} bytes")
        yield piece


Coding = Callable[[Iterable[bytes], str, _Deadline], Iterator[bytes]]


def _codings(named: str, name: str) -> list[Coding]:
    """What takes the codings of a body off, outermost first."""
    codings = [c.strip().lower() for c in reversed(named.split(",")) if c.strip()]
    unknown = [c for c in codings if c not in ("gzip", "x-gzip", "identity")]
    if unknown or len(codings) > 3:
        raise FeedError(f"{name}: its body is coded as {named[:60]!r}; gzip was asked for")
    return [_gunzipped for c in codings if c != "identity"]


def _gunzipped(pieces: Iterable[bytes], name: str, deadline: _Deadline) -> Iterator[bytes]:
    """What gzip made of something, a piece at a time, held to the limit of a body."""
    return _within(_members(pieces, name, deadline), name)


def _members(pieces: Iterable[bytes], name: str, deadline: _Deadline) -> Iterator[bytes]:
    unzip = zlib.decompressobj(wbits=31)
    complete, begun, arrived = 0, False, False
    for piece in pieces:
        data, arrived = piece, True
        while data or begun:
            deadline.left()
            try:
                out = unzip.decompress(data, _PIECE)
            except zlib.error as error:
                if complete and not begun:
                    return  # padding behind the last member
                raise FeedError(f"{name}: its compressed body is damaged: {error}") from error
            begun = begun or bool(out)
            if out:
                yield out
            if unzip.eof:
                data, unzip = unzip.unused_data, zlib.decompressobj(wbits=31)
                complete, begun = complete + 1, False
            else:
                data = unzip.unconsumed_tail
                if not data and len(out) < _PIECE:
                    break
    if begun or (arrived and not complete):
        raise FeedError(f"{name}: its compressed body is cut off")
