"""Reuters-21578: SGML files with many REUTERS elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded
from segapsith.io.markup import Open, tokens
from segapsith.io.xml import Element, parsed
from segapsith.io.xml_items import Piece, pieces
from segapsith_plugins.sources._dates import dated
from segapsith_plugins.sources._news_xml import documents_of

if TYPE_CHECKING:
    from segapsith.model import Json

_LABEL_LISTS = ("topics", "places", "people", "orgs", "exchanges", "companies")
_CLOSING = re.compile(r"\s*\breuter[s]?[\s&#;0-9\x03\x1f\ufffd\x00-\x1f]*\Z", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")
_CONTROL_REFERENCE = re.compile(r"&#(?:\d|[12]\d|3[01]|127);")


class ReutersSgml:
    """A source of Reuters-21578: each REUTERS element is a document, identified by its NEWID."""

    example = (
        b'<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" '
        b'CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1"><DATE>26-FEB-1987 15:01:01.79</DATE>'
        b"<TOPICS><D>cocoa</D></TOPICS><TEXT>&#2;<TITLE>FLOOD</TITLE><DATELINE> BAHIA, Feb 26 - "
        b"</DATELINE><BODY>The river rose.\n Reuter\n&#3;</BODY></TEXT></REUTERS>\n"
    )

    def sniff(self, head: bytes) -> float:
        text = decoded(head)
        if not text.lstrip("\ufeff \r\n").startswith("<"):
            return 0.0
        first = next((t for t in tokens(text) if isinstance(t, Open)), None)
        return 0.97 if first is not None and first.name.upper() == "REUTERS" else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        yield from documents_of(
            pieces(stream, ("reuters",), name),
            _documents,
            name=name,
            no_items=lambda: "it has no <REUTERS> element that can be read",
        )


def _documents(piece: Piece, where: str) -> Iterator[Document]:
    yield _document(parsed(_CONTROL_REFERENCE.sub(" ", piece.text)))


def _document(item: Element) -> Document:
    text = item.first("text")
    title = _plain(text.first("title") if text is not None else None)
    dateline = _plain(text.first("dateline") if text is not None else None)
    body_element = text.first("body") if text is not None else None
    if body_element is None and text is not None and not title:
        body_element = text  # a text of type UNPROC has neither title nor body
    body = _body(body_element)
    date, original = dated(_plain(item.first("date")))
    metadata: dict[str, Json] = {key: value for key, value in item.attributes.items() if value}
    if "topics" in metadata:  # "has been indexed"; the topics themselves are elements
        metadata["has_topics"] = metadata.pop("topics")
    for key in _LABEL_LISTS:
        element = item.child(key)
        if element is not None and (labels := [d.text for d in element.all("d") if d.text]):
            metadata[key] = labels
    metadata |= {
        key: value
        for key, value in {
            "dateline": dateline.rstrip(" -"),
            "byline": _plain(text.first("author") if text is not None else None),
            "type": text.attributes.get("type", "") if text is not None else "",
            "note": _plain(item.child("mknote")),
        }.items()
        if value
    }
    return Document(
        uid=item.attributes.get("newid", "").strip(),
        title=title,
        body=body,
        date=date,
        lang="en",
        source="Reuters",
        metadata=metadata | original,
    )


def _plain(element: Element | None) -> str:
    return "" if element is None else " ".join(_CONTROLS.sub(" ", element.text).split())


def _body(element: Element | None) -> str:
    """Return the paragraphs, whose first lines are indented, without the closing "Reuter"."""
    if element is None:
        return ""
    text = _CLOSING.sub("", _CONTROLS.sub(" ", "".join(element.texts())))
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("    ") and paragraphs[-1]:
            paragraphs.append([])
        if line.strip():
            paragraphs[-1].append(line.strip())
    return "\n\n".join(" ".join(p) for p in paragraphs if p)


@hookimpl
def register_sources() -> Mapping[str, type[ReutersSgml]]:
    return {"reuters-sgml": ReutersSgml}
