"""NewsML-G2 (news messages, news items, packages) and NewsML 1.x."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, repaired
from segapsith.io.xml import Element, parsed, root_name
from segapsith.io.xml_items import Piece, pieces
from segapsith_plugins.sources._dates import dated
from segapsith_plugins.sources._news_xml import (
    NITF_ASIDE,
    attribute,
    body_text,
    compact,
    documents_of,
    inline_text,
    nitf_document,
    text_at,
)

if TYPE_CHECKING:
    from segapsith.model import Json

_ROOTS = frozenset(
    {"newsmessage", "newsitem", "packageitem", "newsml", "conceptitem", "knowledgeitem"}
    | {"planningitem", "catalogitem", "newsenvelope"}
)
_WITHOUT_TEXT = ("packageitem", "conceptitem", "knowledgeitem", "planningitem", "catalogitem")
_REVISION = re.compile(r":\d+[NAU]?$")


class NewsMl:
    """A source of NewsML: each news item is a document, identified without its version."""

    example = (
        b'<newsItem xmlns="http://iptc.org/std/nar/2006-10-01/" guid="urn:x:1" version="2">'
        b"<itemMeta><versionCreated>2026-03-02T06:15:00Z</versionCreated></itemMeta>"
        b"<contentMeta><headline>Flood</headline></contentMeta><contentSet><inlineXML>"
        b'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>The river rose.</p></body></html>'
        b"</inlineXML></contentSet></newsItem>"
    )

    def sniff(self, head: bytes) -> float:
        name = root_name(decoded(head)).rpartition(":")[2].lower()
        return 0.95 if name in _ROOTS else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        without_text = list[str]()

        def build(piece: Piece, where: str) -> Iterator[Document | Reject]:
            root = parsed(piece.text, piece.head.entities)
            if root.name == "newsitem":
                yield from _documents(root, piece, where)
            else:
                without_text.append(where)  # it refers to other items and has no text of its own

        yield from documents_of(
            pieces(stream, ("newsitem", *_WITHOUT_TEXT), name),
            build,
            name=name,
            no_items=lambda: (
                "its items have no text of their own" if without_text else "it has no news items"
            ),
        )


def _documents(item: Element, piece: Piece, where: str) -> Iterator[Document | Reject]:
    """Yield the document of an item; an item without title and text may contain others."""
    version_1 = item.child("identification") or item.child("newsmanagement")
    try:
        document = _newsml_1(item, piece) if version_1 is not None else _g2(item, piece)
    except (ValueError, RecursionError) as error:
        yield Reject(where, f"it could not be understood: {error}")
        return
    inner_items = [] if document.title or document.body else list(_outermost(item))
    if not inner_items:
        yield document
    for inner in inner_items:
        yield from _documents(inner, piece, where)


def _outermost(item: Element) -> Iterator[Element]:
    """Yield the news items inside an item, but not those inside them."""
    for child in item:
        if child.name == "newsitem":
            yield child
        else:
            yield from _outermost(child)


# -- NewsML-G2 -------------------------------------------------------------------------------


def _g2(item: Element, piece: Piece) -> Document:
    meta, content = item.child("itemmeta"), item.child("contentmeta")
    inner, text = _g2_text(item)
    title = text_at(content, "headline") or (inner.title if inner else "") or text_at(meta, "title")
    description = text_at(content, "description")
    title = title or text_at(content, "slugline")
    created = text_at(content, "contentcreated")
    date, original = dated(
        text_at(meta, "versioncreated") or text_at(content, "contentmodified") or created
        or text_at(meta, "firstcreated")
    )  # fmt: skip
    metadata = compact(_g2_metadata(item, meta, content))
    if description and text:
        metadata["abstract"] = description
    return Document(
        uid=item.attributes.get("guid", "").strip() or (inner.uid if inner else ""),
        title=repaired(title),
        body=repaired(text or description),
        date=date or (inner.date if inner else None),
        lang=attribute(content, "language", "tag")
        or item.attributes.get("lang")
        or (inner.lang if inner else None)
        or piece.head.language,
        source=_g2_named(meta.first("provider") if meta is not None else None)
        or _g2_named(content.first("infosource") if content is not None else None),
        metadata={**(dict(inner.metadata) if inner else {}), **metadata, **original},
    )


def _g2_text(item: Element) -> tuple[Document | None, str]:
    """Return the inline content, the longest of several: a NITF article, XHTML or plain text."""
    best: tuple[Document | None, str] = (None, "")
    content = item.child("contentset")
    for part in content if content is not None else ():
        inner: Document | None = None
        if part.name == "inlinexml":
            nitf = part.first("nitf")
            if nitf is not None:
                inner = nitf_document(nitf)
                text = inner.body
            else:
                text = body_text(part.first("body") or part, NITF_ASIDE)
        elif part.name == "inlinedata":
            kind = part.attributes.get("contenttype", "")
            text = inline_text(kind, "".join(part.texts())) or body_text(part)
        else:
            continue
        if len(text) > len(best[1]) or best == (None, ""):
            best = (inner, text)
    return best


def _g2_named(element: Element | None) -> str:
    """Return the name, the literal or the code of an element."""
    if element is None:
        return ""
    named = text_at(element, "name") or element.text
    given = element.attributes
    return named or given.get("literal", "") or given.get("qcode", "") or given.get("uri", "")


def _g2_metadata(item: Element, meta: Element | None, content: Element | None) -> dict[str, Json]:
    def every(parent: Element | None, name: str) -> list[Json]:
        names = [_g2_named(e) for e in parent if e.name == name] if parent is not None else []
        return list(dict.fromkeys(name_ for name_ in names if name_))

    subjects: list[Json] = []
    for subject in content if content is not None else ():
        if subject.name == "subject":
            code = subject.attributes.get("qcode") or subject.attributes.get("uri", "")
            named = " ".join(part for part in (code, text_at(subject, "name")) if part)
            subjects.append(named or subject.attributes.get("literal", ""))
    status = attribute(meta, "pubstatus", "qcode").rpartition(":")[2] or text_at(meta, "pubstatus")
    located = content.first("located") if content is not None else None
    return {
        "version": item.attributes.get("version", ""),
        "status": status,
        "signals": every(meta, "signal"),
        "note": text_at(meta, "ednote"),
        "urgency": text_at(content, "urgency"),
        "embargo": text_at(meta, "embargoed"),
        "dateline": text_at(content, "dateline") or _g2_named(located),
        "byline": text_at(content, "by") or ", ".join(str(c) for c in every(content, "creator")),
        "section": ", ".join(str(s) for s in every(meta, "service")),
        "subjects": [s for s in subjects if s],
        "keywords": every(content, "keyword"),
        "genre": every(content, "genre"),
        "slug": text_at(content, "slugline"),
        "class": attribute(meta, "itemclass", "qcode").rpartition(":")[2],
        "created": text_at(meta, "firstcreated"),
        "credit": text_at(content, "creditline"),
        "sources": every(content, "infosource"),
    }


# -- NewsML 1 --------------------------------------------------------------------------------


def _newsml_1(item: Element, piece: Piece) -> Document:
    management = item.child("newsmanagement")
    component = item.child("newscomponent")
    identifier = item.first("identification", "newsidentifier")
    lines = component.first("newslines") if component is not None else None
    inner, text = _component_text(component)
    title = text_at(lines, "headline") or (inner.title if inner else "")
    title = title or text_at(component, "headline") or text_at(item, "identification", "namelabel")
    date, original = dated(
        text_at(management, "thisrevisioncreated")
        or text_at(management, "firstcreated")
        or text_at(identifier, "dateid")
    )
    return Document(
        uid=_public(identifier) or (inner.uid if inner else ""),
        title=repaired(title),
        body=repaired(text),
        date=date,
        lang=attribute(component, "descriptivemetadata", "language", "formalname")
        or (component.attributes.get("lang") if component is not None else None)
        or item.attributes.get("lang")
        or (inner.lang if inner else None)
        or piece.head.language,
        source=attribute(component, "provider", "party", "formalname")
        or attribute(component, "source", "party", "formalname")
        or text_at(identifier, "providerid"),
        metadata={
            **(dict(inner.metadata) if inner else {}),
            **compact(_metadata_1(item, management, component, lines, identifier)),
            **original,
        },
    )


def _public(identifier: Element | None) -> str:
    """Return the identity of an item without its revision."""
    parts = [text_at(identifier, part) for part in ("providerid", "dateid", "newsitemid")]
    if all(parts):
        return "urn:newsml:" + ":".join(parts)
    return _REVISION.sub("", text_at(identifier, "publicidentifier")) or parts[2]


_CAPTIONS = ("caption", "photo", "picture", "graphic", "video", "audio", "thumbnail", "quicklook")


def _component_text(component: Element | None) -> tuple[Document | None, str]:
    """Return the running text of a component and its inner ones.

    Captions are used only if there is no other text.
    """
    texts: list[str] = []
    captions: list[str] = []
    first: Document | None = None
    for role, content in _contents(component, ""):
        data = content.child("datacontent") or content.child("encoding", "datacontent")
        if data is None:
            continue
        nitf = data.first("nitf")
        if nitf is not None:
            inner = nitf_document(nitf)
            text = inner.body
            first = first or inner
        elif any(True for _ in data):
            text = body_text(data.first("body") or data, NITF_ASIDE)
        else:
            kind = attribute(content, "mimetype", "formalname") or attribute(
                content, "format", "formalname"
            )
            text = inline_text(kind, "".join(data.texts()))
        media = attribute(content, "mediatype", "formalname").lower()
        aside = any(word in role for word in _CAPTIONS) or media not in ("", "text")
        (captions if aside else texts).append(text)
    unique_texts = [text for text in dict.fromkeys(texts or captions) if text]
    return first, "\n\n".join(unique_texts)


def _contents(component: Element | None, role: str) -> Iterator[tuple[str, Element]]:
    if component is None:
        return
    role = (
        attribute(component.child("role"), "formalname").lower()
        if component.child("role")
        else role
    )
    for child in component:
        if child.name == "contentitem":
            yield role, child
        elif child.name in ("newscomponent", "newsitem"):
            yield from _contents(child, role)


def _metadata_1(
    item: Element,
    management: Element | None,
    component: Element | None,
    lines: Element | None,
    identifier: Element | None,
) -> dict[str, Json]:
    described = component.first("descriptivemetadata") if component is not None else None
    subjects: list[Json] = []
    for code in described.all("subjectcode") if described is not None else ():
        named = [e.attributes.get("formalname", "") for e in code]
        subjects += [n for n in named if n and n not in subjects]
    keywords: list[Json] = [
        word.strip()
        for line in (lines.all("keywordline") if lines is not None else ())
        for word in re.split(r"[,;/]", line.text)
        if word.strip()
    ]
    instruction = item.first("instruction")
    properties: dict[str, Json] = {
        p.attributes["formalname"]: p.attributes.get("value", "")
        for p in (described.all("property") if described is not None else ())
        if p.attributes.get("formalname")
    }
    return {
        "version": text_at(identifier, "revisionid"),
        "status": attribute(management, "status", "formalname"),
        "instruction": attribute(instruction, "formalname") if instruction is not None else "",
        "urgency": attribute(management, "urgency", "formalname"),
        "embargo": text_at(management, "statuswillchange", "dateandtime"),
        "dateline": text_at(lines, "dateline"),
        "byline": text_at(lines, "byline"),
        "subtitle": text_at(lines, "subheadline"),
        "slug": text_at(lines, "slugline"),
        "section": attribute(described, "ofinterestto", "formalname")
        or attribute(item, "newsproduct", "formalname"),
        "genre": attribute(described, "genre", "formalname"),
        "subjects": subjects,
        "keywords": keywords,
        "properties": properties,
        "label": "",
    }


@hookimpl
def register_sources() -> Mapping[str, type[NewsMl]]:
    return {"newsml": NewsMl}
