"""Plain text: one file is one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, is_binary, repaired
from segapsith.limits import MAX_WHOLE_BYTES


class PlainText:
    """A source of plain text: the whole stream is one document, in any encoding."""

    def sniff(self, head: bytes) -> float:
        return 0.0 if is_binary(head) else 0.1

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        data = stream.read(MAX_WHOLE_BYTES + 1)
        if len(data) > MAX_WHOLE_BYTES:
            yield Reject(name, f"it has more than {MAX_WHOLE_BYTES:,} bytes")
            return
        if is_binary(data[:4096]):
            yield Reject(name, "it is not a text: it has NUL bytes")
            return
        yield Document(body=repaired(decoded(data)))


@hookimpl
def register_sources() -> Mapping[str, type[PlainText]]:
    return {"text": PlainText}
