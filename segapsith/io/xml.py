"""XML items to element trees: no entities, no DTD, no network access, bounded sizes.

This is the only module that parses XML. Each item is parsed strictly by expat; an item that expat
refuses is parsed leniently by `segapsith.io.markup`. `segapsith.io.xml_items` cuts a stream into its
items first, so a broken item does not affect its neighbours.

A document type is never interpreted. A declared entity that stands for a few plain characters is
replaced by them; an item that uses any other declared entity is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from segapsith import limits
from segapsith.io.markup import Close, Open, tokens

__all__ = ["Element", "XmlError", "legal", "parsed", "rewritten", "root_name"]

_CHUNK_BYTES = 4 * 1024 * 1024
"""Bytes that expat receives per call."""

_MAX_ENTITY_CHARS = 100_000
"""Characters that declared entities may add to one item."""

_EMPTY_IN_HTML = frozenset({"br", "hr", "img", "input", "wbr", "col", "area", "embed", "param"})
_LEAF_FIELDS = frozenset({"title", "link", "guid", "id", "pubdate", "author", "category", "hl1"})
_FIELDS = _LEAF_FIELDS | {
    "description",
    "summary",
    "content",
    "encoded",
    "updated",
    "published",
    "body",
}
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][\w.\-]*(?::[A-Za-z_][\w.\-]*)?")
_REFERENCE = re.compile(r"&([A-Za-z_][\w.\-]{0,99});")
_REFERENCE_OR_SECTION = re.compile(rf"<!\[CDATA\[|{_REFERENCE.pattern}")


class XmlError(ValueError):
    """An item cannot be parsed; the message gives the reason."""


@dataclass(slots=True)
class Element:
    """A parsed element; names of elements and attributes are in lower case, without prefix."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        return (child for child in self.children if isinstance(child, Element))

    def all(self, name: str) -> Iterator[Element]:
        """Yield all descendants with this name, in document order."""
        for child in self:
            if child.name == name:
                yield child
            yield from child.all(name)

    def first(self, *path: str) -> Element | None:
        """Return the first descendant on this path, or None; a step may skip levels."""
        element: Element | None = self
        for name in path:
            element = next(element.all(name), None) if element is not None else None
        return element

    def child(self, *path: str) -> Element | None:
        """Return the first child on this path, or None; no step skips a level."""
        element: Element | None = self
        for name in path:
            element = next((c for c in element if c.name == name), None) if element else None
        return element

    @property
    def text(self) -> str:
        """All text inside, with single spaces.

        >>> parsed("<p>Rain <b>and</b>\\n wind</p>").text
        'Rain and wind'
        """
        return " ".join("".join(self.texts()).split())

    def texts(self) -> Iterator[str]:
        """Yield the texts inside, unchanged."""
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child.texts()

    def __bool__(self) -> bool:
        return True  # also without children


class _Handler(Protocol):
    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


def parsed(text: str, entities: Mapping[str, str | None] | None = None) -> Element:
    """Return the element tree of one item; repair broken markup where possible.

    `entities` are those that the document declares (see `segapsith.io.xml_items.Head`).

    >>> parsed("<item><title>AT&T &eacute;t&eacute;</title><p>one<p>two</item>").first("title").text
    'AT&T été'
    """
    text = _resolved(text, entities or {})
    try:
        builder = _Builder()
        _strict(text, builder)
    except expat.ExpatError:
        builder = _Builder()
        _lenient(text, builder)
    element = next(iter(builder.top), None)
    if element is None:
        raise XmlError("no elements")
    return element


def rewritten(
    text: str,
    cut: Mapping[str, int] | None = None,
    entities: Mapping[str, str | None] | None = None,
) -> tuple[str, frozenset[str]]:
    """Return the same markup, well-formed, and the namespace prefixes in it.

    `cut` limits the text of an element, by name, to a number of characters.

    >>> rewritten("<a:item><author>xxxxxx</author>R&D<br>", {"author": 3})[0]
    '<a:item><author>xxx</author>R&amp;D<br></br></a:item>'
    """
    text = _resolved(text, entities or {})
    try:
        writer = _Writer(cut or {})
        _strict(text, writer)
    except expat.ExpatError:
        writer = _Writer(cut or {})
        _lenient(text, writer)
    return "".join(writer.parts), frozenset(writer.prefixes)


def _resolved(text: str, entities: Mapping[str, str | None]) -> str:
    """Write out plain entities; raise `XmlError` if the item uses another declared one.

    >>> _resolved("<a>&x;<![CDATA[&x;]]></a>", {"x": "R&D"})
    '<a>R&amp;D<![CDATA[&x;]]></a>'
    """
    if not entities:
        return text
    parts: list[str] = []
    copied_to = n_added = 0
    section_end = 0  # references inside a CDATA section are plain text
    for reference in _REFERENCE_OR_SECTION.finditer(text):
        if reference.start() < section_end:
            continue
        name = reference.group(1)
        if name is None:
            end = text.find("]]>", reference.end())
            section_end = end if end >= 0 else len(text)
        elif name in entities:
            value = entities[name]
            if value is None:
                raise XmlError(
                    f"the declared entity &{name}; is not expanded: it is not plain text"
                )
            escaped = escape(value, {'"': "&quot;"})
            n_added += len(escaped)
            if n_added > _MAX_ENTITY_CHARS:
                raise XmlError(
                    f"declared entities add more than {_MAX_ENTITY_CHARS:,} characters (&{name};)"
                )
            parts += [text[copied_to : reference.start()], escaped]
            copied_to = reference.end()
    return "".join([*parts, text[copied_to:]])


class _Bounded:
    """Counts elements and depth; raises `XmlError` above the limits."""

    def __init__(self) -> None:
        self._n_elements = 0
        self._depth = 0

    def _count(self, n_attributes: int) -> None:
        self._n_elements += 1
        self._depth += 1
        if self._depth > limits.MAX_XML_DEPTH:
            raise XmlError(f"elements are nested more than {limits.MAX_XML_DEPTH} deep")
        if self._n_elements > limits.MAX_XML_ELEMENTS:
            raise XmlError(f"more than {limits.MAX_XML_ELEMENTS:,} elements")
        if n_attributes > limits.MAX_XML_ATTRIBUTES:
            raise XmlError(f"an element has more than {limits.MAX_XML_ATTRIBUTES:,} attributes")


class _Builder(_Bounded):
    """Builds a tree of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Element("")
        self._open = [self.top]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count(len(attributes))
        local = {_local(key): value for key, value in attributes.items()} if attributes else {}
        element = Element(_local(name), local)
        self._open[-1].children.append(element)
        self._open.append(element)

    def end(self, name: str) -> None:
        self._depth -= 1
        self._open.pop()

    def data(self, text: str) -> None:
        self._open[-1].children.append(text)


class _Writer(_Bounded):
    """Writes well-formed XML."""

    def __init__(self, cut: Mapping[str, int]) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.prefixes: set[str] = set()
        self._cut = cut
        self._chars_left: list[int | None] = [None]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count(len(attributes))
        left = self._chars_left[-1]
        self._chars_left.append(self._cut.get(_local(name)) if left is None else left)
        for qualified in (name, *attributes):
            self._add_prefix(qualified)
        written = [f" {key}={quoteattr(value)}" for key, value in attributes.items()]
        self.parts.append(f"<{name}{''.join(written)}>")

    def end(self, name: str) -> None:
        self._depth -= 1
        self._chars_left.pop()
        self.parts.append(f"</{name}>")

    def data(self, text: str) -> None:
        left = self._chars_left[-1]
        if left is not None:
            text = text[:left]
            self._chars_left[-1] = left - len(text)
        self.parts.append(escape(text))

    def _add_prefix(self, name: str) -> None:
        prefix, colon, _ = name.partition(":")
        if colon:
            self.prefixes.add(prefix)


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def legal(text: str) -> str:
    """Replace the characters that XML does not allow.

    >>> legal("a\\x00b")
    'a�b'
    """
    return _ILLEGAL.sub("�", text)


def _refuse_doctype(*_: object) -> int:
    raise XmlError("a document type declaration inside an item is not allowed")


def _strict(text: str, handler: _Handler) -> None:
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.data
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.EntityDeclHandler = _refuse_doctype
    parser.ExternalEntityRefHandler = _refuse_doctype
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    data = text.encode("utf-8", "surrogatepass")
    for start in range(0, max(len(data), 1), _CHUNK_BYTES):
        end = start + _CHUNK_BYTES
        parser.Parse(data[start:end], end >= len(data))


def _lenient(text: str, handler: _Handler) -> None:
    """Close every start tag, and drop end tags without a start tag."""
    opened: list[str] = []
    for token in tokens(text):
        if isinstance(token, str):
            if opened:
                handler.data(legal(token))
        elif isinstance(token, Close):
            _close_through(token.name, opened, handler)
        elif _NAME.fullmatch(token.name):
            _start(token, opened, handler)
    while opened:
        handler.end(opened.pop())


def _close_through(name: str, opened: list[str], handler: _Handler) -> None:
    """Close the open elements up to and including the innermost one with this name."""
    if name not in opened:
        return
    while True:
        handler.end(closed := opened.pop())
        if closed == name:
            return


def _start(token: Open, opened: list[str], handler: _Handler) -> None:
    attributes = {
        key: legal(value) for key, value in token.attributes.items() if _NAME.fullmatch(key)
    }
    if opened and _local(opened[-1]) in _LEAF_FIELDS and _local(token.name) in _FIELDS:
        handler.end(opened.pop())  # a field without an end tag ends where the next one begins
    handler.start(token.name, attributes)
    if token.closed or token.name.lower() in _EMPTY_IN_HTML:
        handler.end(token.name)
    else:
        opened.append(token.name)


def root_name(head: bytes | str) -> str:
    """Return the name of the first element as it is written, or an empty string.

    >>> root_name(b"<?xml version='1.0'?><!-- <a> --><rdf:RDF xmlns='x'>")
    'rdf:RDF'
    """
    text = head if isinstance(head, str) else head.decode("utf-8", "replace").lstrip("\ufeff\0 ")
    if not text.lstrip().startswith("<"):
        return ""
    return next((t.name for t in tokens(text[:65536]) if isinstance(t, Open)), "")
