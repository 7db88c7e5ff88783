"""Plain text: one file is one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl


class PlainText:
    """A whole stream as one document; UTF-8 with or without a mark, else Windows-1252."""

    def sniff(self, head: bytes) -> float:
        return 0.0 if b"\x00" in head else 0.1

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        data = stream.read()
        if b"\x00" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            yield Reject(name, "it is not a text: it has NUL bytes")
            return
        yield Document(body=decoded(data))


def decoded(data: bytes) -> str:
    """The text of some bytes: marked UTF-16, UTF-8, else Windows-1252.

    >>> decoded("été".encode("cp1252")), decoded("été".encode("utf-8-sig"))
    ('été', 'été')
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


@hookimpl
def register_sources() -> Mapping[str, type[PlainText]]:
    return {"text": PlainText}
