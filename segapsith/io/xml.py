"""The one place where XML is parsed: no entities, no DTD, nothing fetched, everything bounded.

A stream is cut into its items first (`pieces`), a window at a time, so that a broken item costs
itself and not its neighbours, and a file of any length takes the memory of one window. Each item is
then parsed on its own: strictly by expat, and if expat refuses it, leniently by `segapsith.io.markup`.
A document type is never read, only looked through for the entities that it declares: one that stands
for a few plain letters is put in their place, an item that uses any other is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO, Protocol
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from segapsith import limits
from segapsith.io.encoding import text_chunks
from segapsith.io.markup import Close, Open, tokens, unescaped
from segapsith.model import Reject

__all__ = ["Element", "Head", "Piece", "XmlError", "parsed", "pieces", "rewritten", "root_name"]

WINDOW = 4 * 1024 * 1024
"""Characters that are looked through at once; an item may be longer."""

MAX_HEAD_CHARS = 1024 * 1024
"""Characters before the first item."""

_EMPTY_IN_HTML = frozenset({"br", "hr", "img", "input", "wbr", "col", "area", "embed", "param"})
_LEAVES = frozenset({"title", "link", "guid", "id", "pubdate", "author", "category", "hl1"})
_FIELDS = _LEAVES | {"description", "summary", "content", "encoded", "updated", "published", "body"}
_ENTITY_NAME = re.compile(r"<!ENTITY\s{1,20}(?:%\s{1,20})?([^\s%\"'<>]{1,100})")
_PLAIN_ENTITY = re.compile(
    r"""<!ENTITY\s{1,20}([^\s%"'<>]{1,100})\s{1,20}(?:"([^"<%]{0,200})"|'([^'<%]{0,200})')\s{0,20}>"""
)
_NUMBERED = re.compile(r"&#(?:\d{1,7}|x[0-9A-Fa-f]{1,6});")
_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][\w.\-]*(?::[A-Za-z_][\w.\-]*)?")
_HTML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_REFERENCE = re.compile(r"&([A-Za-z_][\w.\-]{0,99});")
_REFERENCE_OR_SECTION = re.compile(rf"<!\[CDATA\[|{_REFERENCE.pattern}")
_MAX_GROWTH = 100_000
"""Characters by which the entities that its document declares may make an item longer."""


class XmlError(ValueError):
    """The item cannot be taken, and why."""


@dataclass(slots=True)
class Element:
    """A parsed element. `name` is without its prefix and in small letters, as are attributes."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        return (child for child in self.children if isinstance(child, Element))

    def all(self, name: str) -> Iterator[Element]:
        """Every element of that name below this one, in order."""
        for child in self:
            if child.name == name:
                yield child
            yield from child.all(name)

    def first(self, *path: str) -> Element | None:
        """The first element below by that path; each step may skip levels."""
        found: Element | None = self
        for name in path:
            found = next(found.all(name), None) if found is not None else None
        return found

    def child(self, *path: str) -> Element | None:
        """The first child by that path, without skipping levels."""
        found: Element | None = self
        for name in path:
            found = next((c for c in found if c.name == name), None) if found else None
        return found

    @property
    def text(self) -> str:
        """All its text, with single spaces.

        >>> parsed("<p>Rain <b>and</b>\\n wind</p>").text
        'Rain and wind'
        """
        return " ".join("".join(self.texts()).split())

    def texts(self) -> Iterator[str]:
        """The texts in it, as they are."""
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child.texts()

    def __bool__(self) -> bool:
        return True  # an element without children is still there


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the first item: the elements that are open there, and their text."""

    text: str = ""
    opened: tuple[Open, ...] = ()
    entities: Mapping[str, str | None] = field(default_factory=dict)
    """What the document declares: a few plain letters, or None for what is never expanded."""

    @property
    def language(self) -> str | None:
        """The innermost `xml:lang` in force."""
        found = [o.attributes["xml:lang"] for o in self.opened if o.attributes.get("xml:lang")]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Piece:
    """The markup of one item, its number from 1 on, and the head of its document."""

    text: str
    number: int
    head: Head


class _Handler(Protocol):
    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def data(self, text: str) -> None: ...


# -- one item ------------------------------------------------------------------------------


def parsed(text: str, entities: Mapping[str, str | None] | None = None) -> Element:
    """The tree of one item; broken markup is mended where it can be.

    `entities` are those that its document declares.

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
    found = next(iter(builder.top), None)
    if found is None:
        raise XmlError("it has no elements")
    return found


def rewritten(
    text: str,
    cut: Mapping[str, int] | None = None,
    entities: Mapping[str, str | None] | None = None,
) -> tuple[str, frozenset[str]]:
    """The same markup, well-formed, and the prefixes that it uses.

    The text of elements that `cut` names is cut to so many characters.

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
    """The item with plain entities written out; it is refused if it uses another declared one.

    >>> _resolved("<a>&x;<![CDATA[&x;]]></a>", {"x": "R&D"})
    '<a>R&amp;D<![CDATA[&x;]]></a>'
    """
    if not entities:
        return text
    parts: list[str] = []
    place = growth = 0
    behind = 0  # the last section
    for used in _REFERENCE_OR_SECTION.finditer(text):
        if used.start() < behind:
            continue
        name = used.group(1)
        if name is None:
            end = text.find("]]>", used.end())
            behind = end if end >= 0 else len(text)
        elif name in entities:
            letters = entities[name]
            if letters is None:
                raise XmlError(f"it uses the declared entity &{name};, which is not expanded")
            written = escape(letters, {'"': "&quot;"})
            growth += len(written)
            if growth > _MAX_GROWTH:
                raise XmlError(f"the declared entity &{name}; makes it too long")
            parts += [text[place : used.start()], written]
            place = used.end()
    return "".join([*parts, text[place:]])


class _Bounded:
    """Counts elements and depth, and gives up at the limits."""

    def __init__(self) -> None:
        self._n_elements = 0
        self._depth = 0

    def _entered(self, n_attributes: int) -> None:
        self._n_elements += 1
        self._depth += 1
        if self._depth > limits.MAX_XML_DEPTH:
            raise XmlError(f"its elements are nested more than {limits.MAX_XML_DEPTH} deep")
        if self._n_elements > limits.MAX_XML_ELEMENTS:
            raise XmlError(f"it has more than {limits.MAX_XML_ELEMENTS:,} elements")
        if n_attributes > limits.MAX_XML_ATTRIBUTES:
            raise XmlError(f"an element has more than {limits.MAX_XML_ATTRIBUTES:,} attributes")


class _Builder(_Bounded):
    """Makes a tree."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Element("")
        self._open = [self.top]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._entered(len(attributes))
        plain = {_local(key): value for key, value in attributes.items()} if attributes else {}
        element = Element(_local(name), plain)
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
        self._left: list[int | None] = [None]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._entered(len(attributes))
        left = self._left[-1]
        limit = self._cut.get(_local(name))
        self._left.append(limit if left is None else left)
        self._prefix(name)
        written = [f" {key}={quoteattr(value)}" for key, value in attributes.items()]
        for key in attributes:
            self._prefix(key)
        self.parts.append(f"<{name}{''.join(written)}>")

    def end(self, name: str) -> None:
        self._depth -= 1
        self._left.pop()
        self.parts.append(f"</{name}>")

    def data(self, text: str) -> None:
        left = self._left[-1]
        if left is not None:
            text = text[:left]
            self._left[-1] = left - len(text)
        self.parts.append(escape(text))

    def _prefix(self, name: str) -> None:
        prefix, colon, _ = name.partition(":")
        if colon:
            self.prefixes.add(prefix)


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _forbidden(*_: object) -> int:
    raise XmlError("it has a document type inside; none is read")


def _strict(text: str, handler: _Handler) -> None:
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.data
    parser.StartDoctypeDeclHandler = _forbidden
    parser.EntityDeclHandler = _forbidden
    parser.ExternalEntityRefHandler = _forbidden
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    data = text.encode("utf-8", "surrogatepass")
    for start in range(0, max(len(data), 1), WINDOW):
        parser.Parse(data[start : start + WINDOW], start + WINDOW >= len(data))


def _lenient(text: str, handler: _Handler) -> None:
    """Every start tag gets its end; what closes nothing is left out."""
    opened: list[str] = []
    for token in tokens(text):
        if isinstance(token, str):
            if opened:
                handler.data(_STRAY.sub("�", token))
        elif isinstance(token, Close):
            if token.name in opened:
                while True:
                    handler.end(name := opened.pop())
                    if name == token.name:
                        break
        elif _NAME.fullmatch(token.name):
            sound = {
                key: _STRAY.sub("�", value)
                for key, value in token.attributes.items()
                if _NAME.fullmatch(key)
            }
            if opened and _local(opened[-1]) in _LEAVES and _local(token.name) in _FIELDS:
                handler.end(
                    opened.pop()
                )  # a field that was never closed ends where the next begins
            handler.start(token.name, sound)
            if token.closed or token.name.lower() in _EMPTY_IN_HTML:
                handler.end(token.name)
            else:
                opened.append(token.name)
    while opened:
        handler.end(opened.pop())


# -- a stream of items -----------------------------------------------------------------------


def root_name(head: bytes | str) -> str:
    """The name of the first element, as it is written, or nothing.

    >>> root_name(b"<?xml version='1.0'?><!-- <a> --><rdf:RDF xmlns='x'>")
    'rdf:RDF'
    """
    text = head if isinstance(head, str) else head.decode("utf-8", "replace").lstrip("\ufeff\0 ")
    if not text.lstrip().startswith("<"):
        return ""
    return next((t.name for t in tokens(text[:65536]) if isinstance(t, Open)), "")


def pieces(
    stream: BinaryIO, names: Collection[str], name: str, declared: str | None = None
) -> Iterator[Piece | Reject]:
    """The outermost elements of those names (without prefix, in small letters), one by one.

    What is not one of them is passed over. An item without an end, or one that is too long, is a
    reject; the next one goes on.
    """
    cutter = _Cutter(frozenset(names), name)
    for text in text_chunks(stream, declared):
        yield from cutter.more(text)
    yield from cutter.finish()


class _Cutter:
    """Finds where items begin and end, without parsing what is between."""

    def __init__(self, names: frozenset[str], where: str) -> None:
        self._names = names
        self._where = where
        wanted = "|".join(re.escape(n) for n in sorted(names))
        self._marks = re.compile(
            rf"<!--|<!\[CDATA\[|<(/?)((?:[A-Za-z_][\w.\-]{{0,60}}:)?(?:{wanted}))(?=[\s/>])",
            re.IGNORECASE,
        )
        self._parts: list[str] = []
        self._size = 0
        self._wanted = WINDOW
        self._text = ""
        self._place = 0  # where the search goes on
        self._start = -1  # where the open item begins
        self._depth = 0
        self._kind = ""
        self._head: Head | None = None
        self._head_text: list[str] = []
        self._head_size = 0
        self._number = 0

    def more(self, text: str) -> Iterator[Piece | Reject]:
        """What is complete after some more text."""
        self._parts.append(text)
        self._size += len(text)
        if self._size >= self._wanted:
            yield from self._scan(final=False)

    def finish(self) -> Iterator[Piece | Reject]:
        """What is left at the end."""
        yield from self._scan(final=True)
        if self._start >= 0:
            yield Reject(self._named(self._number + 1), "the input ends inside it")

    def _named(self, number: int) -> str:
        return f"{self._where}: item {number}"

    def _scan(self, final: bool) -> Iterator[Piece | Reject]:
        self._text = text = "".join([self._text, *self._parts])
        self._parts = []
        last = {"<!--": text.rfind("-->"), "<![CDATA[": text.rfind("]]>")}
        while mark := self._marks.search(text, self._place):
            opener = mark.group().upper()
            if opener in last:
                if last[opener] >= mark.end():
                    close = "-->" if opener == "<!--" else "]]>"
                    self._place = text.find(close, mark.end()) + 3
                elif final or self._size - mark.start() > limits.MAX_ITEM_CHARS:
                    self._place = mark.end()  # it never ends: what follows is read as it is
                else:
                    self._place = mark.start()
                    break
                continue
            qualified = mark.group(2).lower()
            if self._start < 0:
                if not mark.group(1):
                    end = self._tag_end(mark.end())
                    if end < 0 and not final:
                        self._place = mark.start()
                        break
                    self._open(mark.start(), qualified)
                    self._place = mark.end() if end < 0 else end
                    if end > 0 and text[end - 2] == "/":
                        yield from self._close(end)
                else:
                    self._place = mark.end()
                continue
            if qualified != self._kind:
                self._place = mark.end()
                continue
            end = self._tag_end(mark.end())
            if end < 0 and not final:
                self._place = mark.start()
                break
            self._place = mark.end() if end < 0 else end
            if mark.group(1):
                self._depth -= 1
                if self._depth == 0:
                    yield from self._close(self._place)
            elif end < 0 or text[end - 2] != "/":
                if self._unclosed(self._place):
                    yield Reject(self._named(self._number + 1), "the next item begins inside it")
                    self._number += 1
                    self._start, self._depth = mark.start(), 0
                self._depth += 1
        else:
            self._place = max(self._place, len(text) - 300)  # a tag may be cut here
        yield from self._let_go(final)

    def _tag_end(self, place: int) -> int:
        """Behind the end of the tag whose name ends here; -1 if it is not there yet."""
        text = self._text
        end = text.find(">", place, place + 65536)
        if end < 0:
            return place if len(text) - place > 65536 else -1
        broken = text.find("<", place, end)
        return end + 1 if broken < 0 else broken

    def _unclosed(self, place: int) -> bool:
        """Whether the open item was never closed: items of wires do not hold each other."""
        return self._kind.rpartition(":")[2] in ("item", "entry", "reuters")

    def _open(self, start: int, kind: str) -> None:
        if self._head is None:
            self._head_text.append(self._text[:start][: MAX_HEAD_CHARS - self._head_size])
            self._head = _head("".join(self._head_text))
            self._head_text = []
        self._start, self._kind, self._depth = start, kind, 1

    def _close(self, end: int) -> Iterator[Piece | Reject]:
        self._number += 1
        start, self._start = self._start, -1
        if end - start > limits.MAX_ITEM_CHARS:
            yield self._too_long(self._number)
        else:
            yield Piece(self._text[start:end], self._number, self._head or Head())

    def _too_long(self, number: int) -> Reject:
        reason = f"it has more than {limits.MAX_ITEM_CHARS:,} characters"
        return Reject(self._named(number), reason)

    def _let_go(self, final: bool) -> Iterator[Reject]:
        """Forgets what was looked through; gives up an item that is too long."""
        keep = self._start if self._start >= 0 else min(self._place, len(self._text))
        if self._start >= 0 and len(self._text) - keep > limits.MAX_ITEM_CHARS:
            self._number += 1
            yield self._too_long(self._number)
            self._start, self._place = -1, len(self._text)
            keep = self._place
        if self._head is None and self._head_size < MAX_HEAD_CHARS:
            part = self._text[:keep][: MAX_HEAD_CHARS - self._head_size]
            self._head_text.append(part)
            self._head_size += len(part)
        if not final:
            self._text = self._text[keep:]
            self._place -= keep
            self._size = len(self._text)
            self._start = min(0, self._start)
            # twice as much each time, so that a long item is not looked at again and again
            self._wanted = max(WINDOW, 2 * self._size)


def _head(text: str) -> Head:
    """The head of a document from its text."""
    opened: list[Open] = []
    for token in tokens(text):
        if isinstance(token, Open):
            if not token.closed and len(opened) < limits.MAX_XML_DEPTH:
                opened.append(token)
        elif isinstance(token, Close):
            names = [o.name for o in opened]
            if token.name in names:
                del opened[len(names) - 1 - names[::-1].index(token.name) :]
    return Head(text, tuple(opened), _entities(text) if "<!ENTITY" in text else {})


def _entities(text: str) -> dict[str, str | None]:
    """The entities that a head declares; the first declaration of a name counts.

    >>> _entities("<!ENTITY a 'Caf&#233;'><!ENTITY b '&a;&a;'><!ENTITY c SYSTEM 'file:///x'>")
    {'a': 'Café', 'b': None, 'c': None}
    """
    found: dict[str, str | None] = {}
    for declared in _ENTITY_NAME.finditer(text):
        name = declared.group(1)
        if name in found or name in _harmless():
            continue
        plain = _PLAIN_ENTITY.match(text, declared.start())
        value = (plain.group(2) or plain.group(3) or "") if plain else None
        if value is not None:
            value = None if "&" in _NUMBERED.sub("", value) else _STRAY.sub("�", unescaped(value))
        found[name] = value
    return found


@cache
def _harmless() -> frozenset[str]:
    """The entities of HTML and XML: they mean what they always mean, whoever declares them."""
    from html.entities import name2codepoint

    return _HTML_ENTITIES | frozenset(name2codepoint)
