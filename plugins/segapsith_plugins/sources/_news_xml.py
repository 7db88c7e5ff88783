"""Read items of news markup: the loop over a file, text of elements, the metadata of NITF."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from segapsith import Document, Reject
from segapsith.io.encoding import repaired
from segapsith.io.html import text_of, text_of_tokens
from segapsith.io.markup import Close, Open, Token, unescaped
from segapsith.io.xml import Element, XmlError
from segapsith.io.xml_items import Piece
from segapsith_plugins.sources._dates import dated

if TYPE_CHECKING:
    from segapsith.model import Json

__all__ = [
    "NITF_ASIDE",
    "attribute",
    "body_text",
    "compact",
    "documents_of",
    "inline_text",
    "nitf_document",
    "text_at",
]

NITF_ASIDE = frozenset({"media", "media-caption", "note", "body.end", "hedline", "table.reference"})
"""Elements that are not part of the running text."""


def documents_of(
    pieces: Iterable[Piece | Reject],
    build: Callable[[Piece, str], Iterable[Document | Reject]],
    *,
    name: str,
    no_items: Callable[[], str],
) -> Iterator[Document | Reject]:
    """Yield what `build` makes of each piece, and a reject for a piece that is not well-formed.

    `build` receives a piece and its place in the input, for the rejects. A document without title
    and text becomes a reject. If nothing at all was yielded, `no_items` gives the reason.
    """
    empty = True
    for piece in pieces:
        for item in _items_of(piece, build, name):
            empty = False
            yield item
    if empty:
        yield Reject(name, no_items())


def _items_of(
    piece: Piece | Reject, build: Callable[[Piece, str], Iterable[Document | Reject]], name: str
) -> Iterator[Document | Reject]:
    if isinstance(piece, Reject):
        yield piece
        return
    where = f"{name}: item {piece.number}"
    try:
        for item in build(piece, where):
            if isinstance(item, Reject) or item.title or item.body:
                yield item
            else:
                yield Reject(item.uid or where, "it has neither a title nor a text")
    except XmlError as error:
        yield Reject(where, str(error))


def body_text(element: Element | None, dropped: frozenset[str] = frozenset()) -> str:
    """Return the paragraphs of an element, without the elements named in `dropped`."""
    text = "" if element is None else text_of_tokens(_tokens(element), dropped)
    return unescaped(text) if _ESCAPED.search(text) else text  # some systems escape twice


_ESCAPED = re.compile(r"&(?:#\d{2,5}|quot|apos|amp|nbsp);")


def _tokens(element: Element) -> Iterator[Token]:
    yield Open(element.name)
    for child in element.children:
        if isinstance(child, str):
            yield child
        else:
            yield from _tokens(child)
    yield Close(element.name)


def text_at(element: Element | None, *path: str) -> str:
    """Return the text of the first element at a path, or an empty string."""
    target = element.first(*path) if element is not None else None
    return target.text if target is not None else ""


def attribute(element: Element | None, *path: str) -> str:
    """Return an attribute, named last, of the first element at a path, or an empty string."""
    *names, key = path
    target = element.first(*names) if element is not None else None
    return target.attributes.get(key, "").strip() if target is not None else ""


def compact(values: dict[str, Json]) -> dict[str, Json]:
    """Return the values that are not empty."""
    return {key: value for key, value in values.items() if value not in ("", None, [], {})}


def nitf_document(nitf: Element, lang: str | None = None) -> Document:
    """Return the article of a <nitf> element; `lang` is used if the article declares none."""
    head, body = nitf.child("head"), nitf.child("body")
    data = head.first("docdata") if head is not None else None
    top = body.child("body.head") if body is not None else None
    title = text_at(top, "hedline", "hl1") or text_at(top, "hedline") or text_at(head, "title")
    text = body_text(body.child("body.content") if body is not None else None, NITF_ASIDE)
    abstract = body_text(top.first("abstract") if top is not None else None)
    if not text and body is not None and top is None:
        text = body_text(body, NITF_ASIDE)
    issued = (
        attribute(data, "date.issue", "norm")
        or attribute(top, "story.date", "norm")
        or attribute(head, "pubdata", "date.publication")
        or attribute(data, "date.release", "norm")
        or text_at(top, "story.date")
    )
    date, original = dated(issued)
    language = (body.attributes.get("lang") if body is not None else "") or (
        nitf.attributes.get("lang") or nitf.attributes.get("baselang")
    )
    metadata = compact(_metadata(head, data, top))
    if abstract and text:
        metadata["abstract"] = abstract
    return Document(
        uid=attribute(data, "doc-id", "id-string") or attribute(data, "du-key", "key"),
        title=repaired(title),
        body=repaired(text or abstract),
        date=date,
        lang=language or lang,
        source=attribute(head, "pubdata", "name")
        or text_at(top, "distributor")
        or attribute(data, "doc-id", "regsrc")
        or attribute(data, "doc.copyright", "holder"),
        metadata=metadata | original,
    )


def _metadata(head: Element | None, data: Element | None, top: Element | None) -> dict[str, Json]:
    subjects: list[Json] = []
    metas: dict[str, Json] = {}
    for subject in head.all("tobject.subject") if head is not None else ():
        parts = [
            subject.attributes.get(f"tobject.subject.{part}", "")
            for part in ("refnum", "code", "type", "matter", "detail")
        ]
        if any(parts):
            subjects.append(" ".join(part for part in parts if part))
    for meta in head.all("meta") if head is not None else ():
        if meta.attributes.get("name"):
            metas[meta.attributes["name"]] = meta.attributes.get("content", "")
    keywords: list[Json] = [
        k.attributes["key"]
        for k in (data.all("keyword") if data is not None else ())
        if k.attributes.get("key")
    ]
    status = data.attributes.get("management-status", "") if data is not None else ""
    correction = data.first("correction") if data is not None else None
    if correction is not None:
        status = status if status not in ("", "usable") else "corrected"
    return {
        "version": attribute(data, "du-key", "version"),
        "status": status,
        "correction": attribute(correction, "info") if correction is not None else "",
        "urgency": attribute(data, "urgency", "ed-urg"),
        "embargo": attribute(data, "date.release", "norm"),
        "expires": attribute(data, "date.expire", "norm"),
        "dateline": text_at(top, "dateline", "location") or _without_date(top),
        "byline": text_at(top, "byline"),
        "subtitle": text_at(top, "hedline", "hl2"),
        "section": attribute(head, "pubdata", "position.section")
        or attribute(data, "fixture", "fix-id"),
        "subjects": subjects,
        "keywords": keywords,
        "slug": attribute(data, "du-key", "key"),
        "note": attribute(data, "ed-msg", "info"),
        "genre": attribute(head, "tobject.property", "tobject.property.type"),
        "scope": attribute(data, "doc-scope", "scope"),
        "meta": metas,
    }


def _without_date(top: Element | None) -> str:
    line = top.first("dateline") if top is not None else None
    return "" if line is None else body_text(line, frozenset({"story.date"}))


def inline_text(kind: str, text: str) -> str:
    """Return the text of a string with this content type; tags in plain text are tags too."""
    has_markup = "html" in kind.lower() or "xml" in kind.lower() or _TAGGED.search(text) is not None
    return text_of(text) if has_markup else text.strip()


_TAGGED = re.compile(r"</(?:p|div|span|body|td|b|i|a|em|strong|h[1-6])>|<br ?/?>", re.IGNORECASE)
