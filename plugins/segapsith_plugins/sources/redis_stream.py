"""Redis streams: each entry is a document, read from an address such as redis://HOST/0?stream=NAME.

The position is the id of the last entry that was read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import SplitResult, parse_qs, urlencode, urlsplit, urlunsplit

from segapsith import Document, Reject, hookimpl
from segapsith.errors import ConfigurationError, FeedError, InputError
from segapsith.intake.feed_ids import feed_uid
from segapsith.io.encoding import decoded
from segapsith_plugins.sources._json_values import document_of, value_of

if TYPE_CHECKING:
    import redis

AT_ONCE = 100
"""Entries that are requested at a time."""

BLOCK_MILLISECONDS = 500
"""How long the server waits for a new entry before it answers that there is none."""

TIMEOUT_SECONDS = 10.0

AUTH_VARIABLE = "REDISCLI_AUTH"
"""The variable of the environment that `redis-cli` reads the password from, too."""

JSON_FIELD = "json"
"""A field of an entry that holds a document as an object of JSON."""

_START = "0-0"

_log = logging.getLogger(__name__)


class RedisStream:
    """A source of the entries of a Redis stream.

    An entry has the fields of a line of JSON (`text`, `id`, `title`, `date`, `lang`, `source`; the
    others become metadata), or one field `json` with such a line. Without an `id`, the document is
    identified by the address and the id of the entry.
    """

    schemes = frozenset({"redis", "rediss"})

    def sniff(self, head: bytes) -> float:
        return 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        yield Reject(name, "a Redis stream is read from its address: redis://HOST/0?stream=NAME")

    def address(self, url: str) -> str:
        parts = _parts_of(url)
        query = urlencode({"stream": _stream_of(url)})
        place = parts.netloc.rpartition("@")[2].lower()
        return urlunsplit((parts.scheme, place, parts.path.rstrip("/") or "/0", query, ""))

    def receive(
        self, url: str, position: str | None
    ) -> Iterator[tuple[Document | Reject, str] | None]:
        name, stream = self.address(url), _stream_of(url)
        errors = _redis().exceptions
        client = _client(url)
        try:
            if not client.exists(stream):
                _log.warning("%s: there is no such stream yet", name)
            last = _start(client, stream, position or _START)
            while True:
                answer: Any = client.xread({stream: last}, count=AT_ONCE, block=BLOCK_MILLISECONDS)
                for _, entries in answer:
                    for entry, fields in entries:
                        last = entry.decode()
                        yield entry_item(fields, name, last), last
                if not answer:
                    yield None
        except (errors.ConnectionError, errors.TimeoutError, OSError) as error:
            raise FeedError(f"{name}: {error}") from error
        except errors.ResponseError as error:
            raise InputError(f"{name}: not read: {error}") from error
        finally:
            client.close()


def _stream_of(url: str) -> str:
    """Return the name of the stream in an address."""
    names = parse_qs(_parts_of(url).query).get("stream", [])
    if len(names) != 1:
        raise InputError(
            "not read: the address of a Redis stream must name one stream:"
            " redis://HOST:PORT/0?stream=NAME"
        )
    return names[0]


def _parts_of(url: str) -> SplitResult:
    """Return the parts of an address."""
    try:
        return urlsplit(url)
    except ValueError as error:  # such as [ without ]
        raise InputError(f"not a Redis address: {error}") from error


def _redis() -> Any:
    try:
        import redis
    except ImportError as error:
        raise ConfigurationError(
            "a Redis stream needs the extra `redis`: pip install 'segapsith[redis]'"
        ) from error
    return redis


def _client(url: str) -> redis.Redis:
    """Return a client of the server; answers are bytes."""
    parts = urlsplit(url)
    others = {k: v for k, v in parse_qs(parts.query).items() if k != "stream"}
    server = urlunsplit(parts._replace(query=urlencode(others, doseq=True)))
    password = os.environ.get(AUTH_VARIABLE)
    settings = {"password": password} if password and parts.password is None else {}
    try:
        client: redis.Redis = _redis().Redis.from_url(
            server,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            **settings,
        )
    except ValueError as error:
        raise InputError(f"not a Redis address: {error}") from error
    return client


def _start(client: redis.Redis, stream: str, position: str) -> str:
    """Return where to continue: at the start if the stream was made anew since."""
    if not client.exists(stream):
        return _START
    details: Any = client.xinfo_stream(stream)
    newest = details["last-generated-id"].decode()
    return _START if _numbers(newest) < _numbers(position) else position


def _numbers(entry: str) -> tuple[int, int]:
    """Return the time and the number of an entry.

    >>> _numbers("1526919030474-55") < _numbers("1526919030474-100")
    True
    """
    milliseconds, _, number = entry.partition("-")
    return int(milliseconds), int(number or 0)


def entry_item(fields: Mapping[bytes, bytes] | None, name: str, entry: str) -> Document | Reject:
    """Return the document of an entry; a deleted entry has no fields."""
    where = f"{name}: entry {entry}"
    values = {decoded(key): decoded(value) for key, value in (fields or {}).items()}
    if set(values) == {JSON_FIELD}:
        value = value_of(values[JSON_FIELD].encode(), where)
        item = value if isinstance(value, Reject) else document_of(*value)
    else:
        item = document_of(where, values)
    if isinstance(item, Reject):
        return item
    return replace(item, uid=item.uid or feed_uid(name, entry), source=item.source or name)


@hookimpl
def register_sources() -> Mapping[str, type[RedisStream]]:
    return {"redis": RedisStream}
