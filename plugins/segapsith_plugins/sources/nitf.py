"""NITF: news articles in the News Industry Text Format, one or several in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded
from segapsith.io.xml import XmlError, parsed, root_name
from segapsith.io.xml_items import pieces
from segapsith_plugins.sources._news_xml import nitf_document


class Nitf:
    """Each <nitf> is a document; its identity is the doc-id."""

    example = (
        b'<nitf><head><docdata><doc-id id-string="n1"/><date.issue norm="20260302T061500Z"/>'
        b"</docdata></head><body><body.head><hedline><hl1>Flood</hl1></hedline></body.head>"
        b"<body.content><p>The river rose.</p></body.content></body></nitf>"
    )

    def sniff(self, head: bytes) -> float:
        name = root_name(decoded(head)).rpartition(":")[2].lower()
        return 0.95 if name == "nitf" else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        n_found = 0
        for piece in pieces(stream, ("nitf",), name):
            n_found += 1
            if isinstance(piece, Reject):
                yield piece
                continue
            where = f"{name}: item {piece.number}"
            try:
                found = nitf_document(parsed(piece.text, piece.head.entities), piece.head.language)
            except XmlError as error:
                yield Reject(where, str(error))
                continue
            if found.title or found.body:
                yield found
            else:
                yield Reject(found.uid or where, "it has neither a title nor a text")
        if not n_found:
            yield Reject(name, "it has no <nitf> that can be read")


@hookimpl
def register_sources() -> Mapping[str, type[Nitf]]:
    return {"nitf": Nitf}
