"""Shards that `segapsith prepare` made: stories that are read already."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.errors import InputError
from segapsith.intake.documents import texts_version
from segapsith.io.shards import MAGIC, ShardHeader, read_header, read_shard, write_shard

__all__ = ["Shards"]

logger = logging.getLogger(__name__)


class Shards:
    """A source of prepared stories, in the order of the archive that they came from."""

    def __init__(self) -> None:
        self._has_warned = False

    @property
    def example(self) -> bytes:
        """A small shard for the checks."""
        header = ShardHeader("", hashlib.sha256(b"").hexdigest(), 0, True, texts_version())
        story = Document("1", "Flood", "The river rose by two metres.", "2026-03-02")
        return write_shard(header, [story, Reject("line 2", "it is a list, not an object")])

    def sniff(self, head: bytes) -> float:
        return 1.0 if head.startswith(MAGIC) else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        data, version = stream.read(), texts_version()
        try:
            made_by = read_header(data, name).texts_by
            if made_by != version and not self._has_warned:
                logger.warning(
                    "%s: prepared with %s, here it is %s: texts are read again",
                    name, made_by, version,
                )  # fmt: skip
                self._has_warned = True
            yield from read_shard(data, name, version)
        except InputError as error:
            yield Reject(name, str(error).removeprefix(f"{name}: "))


@hookimpl
def register_sources() -> Mapping[str, type[Shards]]:
    return {"prepared": Shards}
