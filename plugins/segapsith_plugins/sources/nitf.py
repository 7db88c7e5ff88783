"""NITF: articles in the News Industry Text Format, one or several per file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded
from segapsith.io.xml import parsed, root_name
from segapsith.io.xml_items import Piece, pieces
from segapsith_plugins.sources._news_xml import documents_of, nitf_document


class Nitf:
    """A source of NITF: each <nitf> is a document, identified by its doc-id."""

    example = (
        b'<nitf><head><docdata><doc-id id-string="n1"/><date.issue norm="20260302T061500Z"/>'
        b"</docdata></head><body><body.head><hedline><hl1>Flood</hl1></hedline></body.head>"
        b"<body.content><p>The river rose.</p></body.content></body></nitf>"
    )

    def sniff(self, head: bytes) -> float:
        name = root_name(decoded(head)).rpartition(":")[2].lower()
        return 0.95 if name == "nitf" else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        yield from documents_of(
            pieces(stream, ("nitf",), name),
            _documents,
            name=name,
            no_items=lambda: "it has no <nitf> that can be read",
        )


def _documents(piece: Piece, where: str) -> Iterator[Document]:
    yield nitf_document(parsed(piece.text, piece.head.entities), piece.head.language)


@hookimpl
def register_sources() -> Mapping[str, type[Nitf]]:
    return {"nitf": Nitf}
