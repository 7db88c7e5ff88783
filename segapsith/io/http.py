"""HTTP for feeds, articles and notifications: checked addresses, one deadline, bounded sizes.

Host names are resolved here, each address is checked after that, and the connection goes to the
address that was checked, for every redirect again. No second resolution can return another address.
One deadline covers name resolution, connections, redirects and body. The size limits apply to the
bytes that arrive and to the bytes they decompress to, not to declared sizes.

`h11` parses HTTP; sockets, TLS, deadline and size limits are implemented here. httpcore, which httpx
is built on, can connect to a checked address through its public `NetworkBackend`. Its timeouts hold
for each read and each write, so the deadline for a whole fetch, the resolver, the check of addresses
and both size limits would still be written here.
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import functools
import queue
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from urllib.parse import urljoin

import h11

from segapsith import __version__, limits
from segapsith.errors import FeedError, UncertainDeliveryError
from segapsith.io.addresses import Address, is_public

__all__ = ["Answer", "Transport", "fetch", "post"]

TIMEOUT = 20.0
"""Seconds for one fetch: name resolution, connections, redirects, head and body."""

MAX_REDIRECTS = 10
MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 200
MAX_VALIDATOR_CHARS = 1000

USER_AGENT = f"segapsith/{__version__} (+newswire reader)"
ACCEPT = (
    "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5"
)

_REDIRECTS = (301, 302, 303, 307, 308)
_CHUNK_BYTES = 64 * 1024
_GZIP = b"\x1f\x8b"

Resolver = Callable[[str, int], Sequence[str]]
"""Return the numeric addresses of a host and port."""

Opener = Callable[[str, int, float], socket.socket]
"""Connect to a numeric address and port within a number of seconds."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The response after all redirects; only statuses 200 and 203 have a body."""

    url: str
    final_url: str
    status: int
    body: bytes = b""
    etag: str | None = None
    last_modified: str | None = None
    content_type: str = ""
    retry_after: int | None = None
    """Seconds, for statuses 429 and 503."""

    @property
    def has_body(self) -> bool:
        return self.status in (200, 203)


class _Deadline:
    """The time and the bytes that are left for one fetch."""

    def __init__(
        self, name: str, seconds: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._seconds, self._now = name, seconds, now
        self._end = now() + seconds
        self._bytes_left = limits.MAX_TRANSFERRED_BYTES

    def seconds_left(self) -> float:
        """Return the seconds that are left; raise `FeedError` if there are none."""
        left = self._end - self._now()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> FeedError:
        return FeedError(f"{self._name}: took more than {self._seconds:g} s")

    def spend(self, n_bytes: int) -> None:
        """Count bytes that arrived; raise `FeedError` above the limit."""
        self._bytes_left -= n_bytes
        if self._bytes_left < 0:
            raise FeedError(
                f"{self._name}: sent more than {limits.MAX_TRANSFERRED_BYTES:,} bytes in all"
            )


class _Connection(Protocol):
    """The part of a socket that is used here."""

    def settimeout(self, value: float | None, /) -> None: ...
    def recv(self, bufsize: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> None: ...


# -- fetching ------------------------------------------------------------------------------------


def system_addresses(host: str, port: int) -> list[str]:
    """Return the numeric addresses of a host from the system's resolver."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def connected(address: str, port: int, seconds: float) -> socket.socket:
    """Connect to a numeric address; nothing is resolved."""
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
    """Return a TLS context that verifies certificates and host names."""
    return ssl.create_default_context()


@dataclass(frozen=True, slots=True)
class Transport:
    """Resolver, sockets, TLS and clock of a fetch; tests replace them."""

    resolver: Resolver = system_addresses
    opener: Opener = connected
    tls: Callable[[], ssl.SSLContext] = verified
    now: Callable[[], float] = time.monotonic


SYSTEM = Transport()
"""The system's resolver, sockets, certificates and clock."""


def fetch(
    url: str,
    *,
    etag: str | None = None,
    last_modified: str | None = None,
    allow: Collection[str] = frozenset(),
    timeout: float = TIMEOUT,
    transport: Transport = SYSTEM,
) -> Answer:
    """Fetch an address; raise `FeedError` with the reason if that fails.

    `allow` lists HOST:PORT (see `segapsith.io.addresses.place`) that may be contacted although they
    are not public. With validators (`etag`, `last_modified`) the status may be 304, without a body.
    """
    address = Address.of(url)
    name = address.url
    deadline = _Deadline(name, timeout, transport.now)
    visited: set[str] = set()
    for _ in range(MAX_REDIRECTS + 1):
        if address.url in visited:
            raise FeedError(f"{name}: redirects in a circle, back to {address.url}")
        visited.add(address.url)
        with contextlib.ExitStack() as stack:
            try:
                connection = _connect(address, allow, deadline, transport, stack)
                request = _Request("GET", _headers(address, etag, last_modified))
                answer = _exchange(connection, address, request, name, deadline)
            except _FAILURES as error:
                raise _feed_error(error, name, deadline) from error
        if isinstance(answer, Answer):
            return answer
        address = _next_hop(address, answer, name)
    raise FeedError(f"{name}: redirects more than {MAX_REDIRECTS} times")


def post(
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    allow: Collection[str] = frozenset(),
    timeout: float = TIMEOUT,
    transport: Transport = SYSTEM,
) -> Answer:
    """Send a body to an address; a redirect is refused, because a body is not sent elsewhere.

    Raise `FeedError` if the body was not sent, and `UncertainDeliveryError` if it was sent but no
    valid response came.
    """
    address = Address.of(url)
    name = address.url
    deadline = _Deadline(name, timeout, transport.now)
    sent = list(headers.items())
    if "authorization" in {key.lower() for key in headers}:
        address = replace(address, credentials="")
    request = _Request("POST", [*_headers(address, None, None), *sent], body)
    with contextlib.ExitStack() as stack:
        try:
            connection = _connect(address, allow, deadline, transport, stack)
        except _FAILURES as error:
            raise _feed_error(error, name, deadline) from error
        try:
            answer = _exchange(connection, address, request, name, deadline)
        except (*_FAILURES, FeedError) as error:
            reason = error if isinstance(error, FeedError) else _feed_error(error, name, deadline)
            raise UncertainDeliveryError(f"{reason}; it may have arrived") from error
    if isinstance(answer, str):
        raise FeedError(f"{name}: redirects to another address; give that one")
    return answer


_FAILURES = (OSError, h11.RemoteProtocolError, h11.LocalProtocolError)
"""What a connection can raise; time and TLS errors are among the errors of the system."""


def _feed_error(error: Exception, name: str, deadline: _Deadline) -> FeedError:
    """Return the error of a connection, for people."""
    if isinstance(error, TimeoutError):
        return deadline.error()
    if isinstance(error, ssl.SSLError):
        return FeedError(f"{name}: no safe connection: {error.reason or error}")
    if isinstance(error, OSError):
        return FeedError(f"{name}: {error.strerror or error}")
    return FeedError(f"{name}: invalid HTTP response: {error}")


def _next_hop(address: Address, location: str, name: str) -> Address:
    """Return the target of a redirect.

    Credentials are sent to their origin only; those in `location` are dropped.
    """
    try:
        target = Address.of(urljoin(address.url, location.strip().replace(" ", "%20")))
    except (FeedError, ValueError) as error:
        raise FeedError(f"{name}: redirects to an address that is not read: {error}") from error
    credentials = address.credentials if target.origin == address.origin else ""
    return replace(target, credentials=credentials)


def _connect(
    address: Address,
    allow: Collection[str],
    deadline: _Deadline,
    transport: Transport,
    stack: contextlib.ExitStack,
) -> _Connection:
    """Connect to one of the checked addresses, with TLS for https."""
    resolved = _resolved(address, deadline, transport.resolver)
    checked = resolved if address.place in allow else [a for a in resolved if is_public(a)]
    if not checked:
        addresses = ", ".join(resolved[:3]) or "nowhere"
        raise FeedError(
            f"{address.url}: not read: {address.host} is {addresses}, which is not a public address"
            f" (allow it with --allow-host {address.place})"
        )
    for n_left, numeric in zip(range(len(checked), 0, -1), checked, strict=True):
        seconds = deadline.seconds_left() / n_left  # leaves time for the other addresses
        try:
            plain = transport.opener(numeric, address.port, seconds)
            break
        except OSError:
            if n_left == 1:
                raise
    stack.enter_context(contextlib.closing(plain))
    if address.scheme == "http":
        return plain
    plain.settimeout(deadline.seconds_left())
    context = transport.tls()
    secure = context.wrap_socket(plain, server_hostname=address.host, suppress_ragged_eofs=False)
    return stack.enter_context(contextlib.closing(secure))


def _resolved(address: Address, deadline: _Deadline, resolver: Resolver) -> list[str]:
    """Return the addresses of a host.

    The resolver runs in a thread, because the system's resolver has no time limit.
    """
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            answers.put(resolver(address.host, address.port))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=resolve, daemon=True, name="resolver").start()
    try:
        answer = answers.get(timeout=deadline.seconds_left())
    except queue.Empty:
        raise deadline.error() from None
    if isinstance(answer, OSError | UnicodeError):
        reason = getattr(answer, "strerror", None) or answer
        raise FeedError(f"{address.url}: cannot resolve {address.host}: {reason}") from answer
    if isinstance(answer, Exception):
        raise answer
    return list(answer)


class _Request(NamedTuple):
    """The method, the header fields and the body of a request."""

    method: str
    headers: list[tuple[str, str]]
    body: bytes = b""

    def octets(self, http: h11.Connection, target: str) -> bytes:
        """Return the request as it is sent."""
        length = [("Content-Length", str(len(self.body)))] if self.body else []
        head = h11.Request(method=self.method, target=target, headers=[*self.headers, *length])
        data = http.send(head) or b""
        if self.body:
            data += http.send(h11.Data(self.body)) or b""
        return data + (http.send(h11.EndOfMessage()) or b"")


def _exchange(
    connection: _Connection,
    address: Address,
    request: _Request,
    name: str,
    deadline: _Deadline,
) -> Answer | str:
    """Send one request; return the answer, or the location of a redirect."""
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    connection.settimeout(deadline.seconds_left())
    connection.sendall(request.octets(http, address.target))
    head = _head(http, connection, name, deadline)
    fields = _fields(head)
    status = head.status_code
    if status in _REDIRECTS:
        if "location" not in fields:
            raise FeedError(f"{name}: redirects ({status}) without a location")
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
    pieces = _body(http, connection, deadline)
    for decode in _decoders(fields.get("content-encoding", ""), name):
        pieces = decode(pieces, name, deadline)
    body = b"".join(_bounded(pieces, name))
    if body.startswith(_GZIP):  # a feed that is stored as a .gz file
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


def _receive(http: h11.Connection, connection: _Connection, deadline: _Deadline) -> int:
    """Pass what arrived to h11, which also judges an early end of the stream."""
    connection.settimeout(deadline.seconds_left())
    data = connection.recv(_CHUNK_BYTES)
    deadline.spend(len(data))
    http.receive_data(data)
    return len(data)


def _head(
    http: h11.Connection, connection: _Connection, name: str, deadline: _Deadline
) -> h11.Response:
    """Return status and header fields; skip responses such as `100 Continue` before them."""
    n_received = 0
    while True:
        event = http.next_event()
        if isinstance(event, h11.Response):
            if len(event.headers) > MAX_HEADERS:
                raise FeedError(f"{name}: the response has more than {MAX_HEADERS} header fields")
            return event
        if isinstance(event, h11.ConnectionClosed):
            raise FeedError(f"{name}: the connection was closed without a response")
        if event is h11.NEED_DATA:
            if n_received > 2 * MAX_HEAD_BYTES:
                raise FeedError(f"{name}: the headers exceed {2 * MAX_HEAD_BYTES:,} bytes")
            n_received += _receive(http, connection, deadline)


def _body(http: h11.Connection, connection: _Connection, deadline: _Deadline) -> Iterator[bytes]:
    """Yield the body as it was sent, to its declared end; h11 raises if that never comes."""
    while True:
        event = http.next_event()
        if isinstance(event, h11.Data):
            yield bytes(event.data)
        elif event is h11.NEED_DATA:
            _receive(http, connection, deadline)
        else:
            return


def _fields(head: h11.Response) -> dict[str, str]:
    """Return header fields by lower-case name; the first of several counts."""
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
    """Return a validator if it can be sent back unchanged, else None."""
    return value if value and value.isascii() and len(value) <= MAX_VALIDATOR_CHARS else None


def _seconds(value: str | None) -> int | None:
    """Return `Retry-After`, a number or a date, as seconds from now.

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


def _bounded(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Yield the pieces; raise `FeedError` if they exceed the limit of a body."""
    n_bytes = 0
    for piece in pieces:
        n_bytes += len(piece)
        if n_bytes > limits.MAX_FETCHED_BYTES:
            raise FeedError(f"{name}: the body has more than {limits.MAX_FETCHED_BYTES:,} bytes")
        yield piece


Decoder = Callable[[Iterable[bytes], str, _Deadline], Iterator[bytes]]


def _decoders(content_encoding: str, name: str) -> list[Decoder]:
    """Return the decoders of a body, outermost first."""
    codings = [c.strip().lower() for c in reversed(content_encoding.split(",")) if c.strip()]
    unknown = [c for c in codings if c not in ("gzip", "x-gzip", "identity")]
    if unknown or len(codings) > 3:
        raise FeedError(
            f"{name}: not read: Content-Encoding {content_encoding[:60]!r}, expected gzip"
        )
    return [_gunzipped for c in codings if c != "identity"]


def _gunzipped(pieces: Iterable[bytes], name: str, deadline: _Deadline) -> Iterator[bytes]:
    """Yield the decompressed body piece by piece, up to the limit of a body."""
    return _bounded(_gzip_members(pieces, name, deadline), name)


def _gzip_members(pieces: Iterable[bytes], name: str, deadline: _Deadline) -> Iterator[bytes]:
    unzip = zlib.decompressobj(wbits=31)
    n_complete, begun, has_data = 0, False, False
    for piece in pieces:
        data, has_data = piece, True
        while data or begun:
            deadline.seconds_left()
            try:
                out = unzip.decompress(data, _CHUNK_BYTES)
            except zlib.error as error:
                if n_complete and not begun:
                    return  # padding after the last member
                raise FeedError(f"{name}: the compressed body is damaged: {error}") from error
            begun = begun or bool(out)
            if out:
                yield out
            if unzip.eof:
                data, unzip = unzip.unused_data, zlib.decompressobj(wbits=31)
                n_complete, begun = n_complete + 1, False
            else:
                data = unzip.unconsumed_tail
                if not data and len(out) < _CHUNK_BYTES:
                    break
    if begun or (has_data and not n_complete):
        raise FeedError(f"{name}: the compressed body is truncated")
