"""What hostile bytes are given to: every source, the decoders, the settings file and the JSON API.

Each target takes bytes and returns, or raises what a user would see: a `SegapsithError`. Anything
else is a fault. `scripts/fuzz` searches for such bytes; `test_fuzz_corpus.py` replays those kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segapsith.api.factory import Factory
from segapsith.demo import sample
from segapsith.errors import SegapsithError
from segapsith.io import html, markup
from segapsith.io.encoding import decoded, encoding_of, text_chunks
from segapsith.io.inputs import Inputs
from segapsith.io.shards import MAGIC
from segapsith.io.xml import XmlError, legal, parsed, root_name
from segapsith.model import Document
from segapsith.settings import resolve
from segapsith_plugins.sources import redis_stream

MOST_ITEMS = 200
"""Items of an input that are read at most."""

Target = Callable[[bytes], None]


@functools.cache
def sources() -> dict[str, Any]:
    """Every source by name."""
    factory = Factory(resolve(environment={}))
    return {
        name: factory.registry.make("source", name) for name in factory.registry.names("source")
    }


def stories(source: Any, data: bytes) -> int:
    """How many stories a source finds in some bytes."""
    return sum(isinstance(item, Document) for item in source.read(io.BytesIO(data), "fuzz"))


def _source(name: str) -> Target:
    def read(data: bytes) -> None:
        source = sources()[name]
        source.sniff(data[:8192])
        for number, _ in enumerate(source.read(io.BytesIO(data), "fuzz")):
            if number >= MOST_ITEMS:
                break

    return read


def encodings(data: bytes) -> None:
    """Decode bytes whole and in chunks, with and without a declared encoding."""
    declared = data[:8].decode("latin-1") if len(data) > 8 else None
    encoding_of(data, declared)
    text = decoded(data, declared)
    assert isinstance(text, str)
    "".join(text_chunks(io.BytesIO(data), declared))


def pages(data: bytes) -> None:
    """Take the text and the particulars out of a page."""
    text = data.decode("utf-8", "replace")
    html.text_of(text)
    html.page(text)
    markup.unescaped(text)


def xml(data: bytes) -> None:
    """Parse XML as the readers of NewsML and NITF do; they report `XmlError` as a reject."""
    root_name(data)
    with contextlib.suppress(XmlError):
        parsed(legal(decoded(data)))


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="segapsith-fuzz-"))


def inputs(data: bytes) -> None:
    """Read a file of unknown format, an archive or compressed, as `ingest` does."""
    path = _folder() / "input"
    path.write_bytes(data)
    reading = Inputs([str(path)], sources())
    for number, _ in enumerate(reading.items()):
        if number >= MOST_ITEMS:
            break


def settings(data: bytes) -> None:
    """Read a configuration file."""
    path = _folder() / "segapsith.toml"
    path.write_bytes(data)
    resolve(file=str(path), environment={})


def shard(data: bytes) -> None:
    """Read a shard whose hash is right, whatever follows it."""
    head = MAGIC + f"1 {hashlib.sha256(data).hexdigest()}\n".encode("ascii")
    for number, _ in enumerate(sources()["prepared"].read(io.BytesIO(head + data), "fuzz")):
        if number >= MOST_ITEMS:
            break


def redis_entry(data: bytes) -> None:
    """Read an entry of a Redis stream: names and values of fields, separated by zero bytes."""
    parts = data.split(b"\0")
    redis_stream.entry_item(dict(zip(parts[::2], parts[1::2], strict=False)), "fuzz", "1-1")
    sources()["redis"].address("redis://" + data.decode("utf-8", "replace"))


@functools.cache
def _client() -> Any:
    from starlette.testclient import TestClient

    from segapsith.api.wire import Wire
    from segapsith.web import app

    path = _folder() / "wire.db"
    with Wire(path) as wire:
        wire.ingest(sample.lines("en")[:30])
    made = app(path, token="t" * 32)
    client = TestClient(made, base_url="http://127.0.0.1", raise_server_exceptions=True)
    client.headers["Authorization"] = "Bearer " + "t" * 32
    return client


PATHS = (
    "status", "sections", "topics", "domains", "domains/1", "events", "search", "stories/en-001",
    "units/1/explain", "timeline", "runs", "validations", "compare",
)  # fmt: skip


def json_api(data: bytes) -> None:
    """Ask a path of the JSON API with a query of any bytes, or classify any body."""
    if not data:
        return
    client = _client()
    place = data[0] % (len(PATHS) + 2)
    rest = data[1:].decode("utf-8", "surrogateescape")
    if place == len(PATHS):
        answer = client.post("/api/v1/classify", content=data[1:])
    elif place > len(PATHS):
        answer = client.get("/api/v1/" + _quoted(rest))
    else:
        answer = client.get(f"/api/v1/{PATHS[place]}?" + _quoted(rest, "&="))
    assert answer.status_code < 500, (answer.status_code, answer.text[:200])


def _quoted(text: str, safe: str = "/") -> str:
    from urllib.parse import quote

    return quote(text.encode("utf-8", "surrogateescape"), safe=safe)


def targets() -> dict[str, Target]:
    """Every target by name."""
    return {
        **{f"source-{name}": _source(name) for name in sorted(sources())},
        "encodings": encodings,
        "pages": pages,
        "xml": xml,
        "inputs": inputs,
        "settings": settings,
        "shard": shard,
        "redis-entry": redis_entry,
        "json-api": json_api,
    }


def survives(target: Target, data: bytes) -> None:
    """Give bytes to a target; what a user would be told is no fault."""
    with contextlib.suppress(SegapsithError), contextlib.redirect_stderr(io.StringIO()):
        target(data)
