"""A stream of XML to the markup of its items, in memory of one window.

Items are found by their tags alone, without parsing what is between them. A broken item is therefore
rejected alone, and a file of any length needs the memory of one window.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import BinaryIO

from segapsith import limits
from segapsith.io.encoding import text_chunks
from segapsith.io.markup import Close, Open, tokens, unescaped
from segapsith.io.xml import legal
from segapsith.model import Reject

__all__ = ["Head", "Piece", "pieces"]

WINDOW = 4 * 1024 * 1024
"""Characters that are searched at once; an item may be longer."""

MAX_HEAD_CHARS = 1024 * 1024
"""Characters before the first item that are read for `Head`."""

_MAX_TAG_CHARS = 65536
_MAX_CUT_TAG_CHARS = 300
"""Characters at the end of a window that are searched again, because a tag may be cut there."""

_NEVER_NESTED = frozenset({"item", "entry", "reuters"})
"""Items that never contain another of their kind: a second start tag means a missing end tag."""

_ENTITY_NAME = re.compile(r"<!ENTITY\s{1,20}(?:%\s{1,20})?([^\s%\"'<>]{1,100})")
_PLAIN_ENTITY = re.compile(
    r"""<!ENTITY\s{1,20}([^\s%"'<>]{1,100})\s{1,20}(?:"([^"<%]{0,200})"|'([^'<%]{0,200})')\s{0,20}>"""
)
_NUMBERED_REFERENCE = re.compile(r"&#(?:\d{1,7}|x[0-9A-Fa-f]{1,6});")
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})


@dataclass(frozen=True, slots=True)
class Head:
    """What precedes the first item: the elements that are open there, and the text."""

    text: str = ""
    opened: tuple[Open, ...] = ()
    entities: Mapping[str, str | None] = field(default_factory=dict)
    """Declared entities: a few plain characters, or None for one that is never expanded."""

    @property
    def language(self) -> str | None:
        """The innermost `xml:lang` in force."""
        languages = [o.attributes["xml:lang"] for o in self.opened if o.attributes.get("xml:lang")]
        return languages[-1] if languages else None


@dataclass(frozen=True, slots=True)
class Piece:
    """The markup of one item, its number (the first item is 1), and the head of its document."""

    text: str
    number: int
    head: Head


def pieces(
    stream: BinaryIO, names: Collection[str], name: str, declared: str | None = None
) -> Iterator[Piece | Reject]:
    """Yield the outermost elements with one of these names (lower case, without prefix).

    Other elements are skipped. An item without an end, or one that is too long, is a reject;
    reading continues with the next item. `name` is the name of the input, for the rejects.
    """
    cutter = _Cutter(frozenset(names), name)
    for text in text_chunks(stream, declared):
        yield from cutter.add(text)
    yield from cutter.finish()


class _Cutter:
    """Finds where items begin and end, without parsing what is between."""

    def __init__(self, names: frozenset[str], input_name: str) -> None:
        self._input_name = input_name
        alternatives = "|".join(re.escape(name) for name in sorted(names))
        self._marks = re.compile(
            rf"<!--|<!\[CDATA\[|<(/?)((?:[A-Za-z_][\w.\-]{{0,60}}:)?(?:{alternatives}))(?=[\s/>])",
            re.IGNORECASE,
        )
        self._parts: list[str] = []
        self._size = 0
        self._scan_size = WINDOW
        self._text = ""
        self._position = 0  # where the search continues
        self._last_ends: dict[str, int] = {}  # of comments and CDATA sections
        self._start = -1  # where the open item begins
        self._depth = 0
        self._kind = ""
        self._head: Head | None = None
        self._head_parts: list[str] = []
        self._head_size = 0
        self._number = 0

    def add(self, text: str) -> Iterator[Piece | Reject]:
        """Add text and yield the items that are complete."""
        self._parts.append(text)
        self._size += len(text)
        if self._size >= self._scan_size:
            yield from self._scan(final=False)

    def finish(self) -> Iterator[Piece | Reject]:
        """Yield the items that are left at the end of the input."""
        yield from self._scan(final=True)
        if self._start >= 0:
            yield Reject(self._name_of(self._number + 1), "the input ends inside this item")

    def _name_of(self, number: int) -> str:
        return f"{self._input_name}: item {number}"

    def _scan(self, final: bool) -> Iterator[Piece | Reject]:
        self._text = text = "".join([self._text, *self._parts])
        self._parts = []
        self._last_ends = {"<!--": text.rfind("-->"), "<![CDATA[": text.rfind("]]>")}
        while mark := self._marks.search(text, self._position):
            if mark.group(2) is None:
                is_complete = self._skip_section(mark, final)
            elif self._start < 0:
                is_complete = yield from self._outside_item(mark, final)
            else:
                is_complete = yield from self._inside_item(mark, final)
            if not is_complete:
                self._position = mark.start()
                break
        else:
            self._position = max(self._position, len(text) - _MAX_CUT_TAG_CHARS)
        yield from self._discard(final)

    def _skip_section(self, mark: re.Match[str], final: bool) -> bool:
        """Skip a comment or CDATA section; return False if its end has not arrived yet."""
        opening = mark.group().upper()
        if self._last_ends[opening] >= mark.end():
            closing = "-->" if opening == "<!--" else "]]>"
            self._position = self._text.find(closing, mark.end()) + len(closing)
        elif final or self._size - mark.start() > limits.MAX_ITEM_CHARS:
            self._position = mark.end()  # without an end, what follows is read as markup
        else:
            return False
        return True

    def _outside_item(
        self, mark: re.Match[str], final: bool
    ) -> Generator[Piece | Reject, None, bool]:
        """Process a tag outside items; return False if the tag is not complete yet."""
        if mark.group(1):  # an end tag without its start tag
            self._position = mark.end()
            return True
        end = self._tag_end(mark.end())
        if end < 0 and not final:
            return False
        self._open(mark.start(), mark.group(2).lower())
        self._position = mark.end() if end < 0 else end
        if end > 0 and self._text[end - 2] == "/":
            yield from self._close(end)
        return True

    def _inside_item(
        self, mark: re.Match[str], final: bool
    ) -> Generator[Piece | Reject, None, bool]:
        """Process a tag inside an item; return False if the tag is not complete yet."""
        if mark.group(2).lower() != self._kind:
            self._position = mark.end()
            return True
        end = self._tag_end(mark.end())
        if end < 0 and not final:
            return False
        self._position = mark.end() if end < 0 else end
        if mark.group(1):
            self._depth -= 1
            if self._depth == 0:
                yield from self._close(self._position)
        elif end < 0 or self._text[end - 2] != "/":
            if self._kind.rpartition(":")[2] in _NEVER_NESTED:
                self._number += 1
                yield Reject(self._name_of(self._number), "the next item begins inside this one")
                self._start, self._depth = mark.start(), 0
            self._depth += 1
        return True

    def _tag_end(self, position: int) -> int:
        """Return the end of the tag whose name ends at `position`, or -1 if it has not arrived."""
        text = self._text
        end = text.find(">", position, position + _MAX_TAG_CHARS)
        if end < 0:
            return position if len(text) - position > _MAX_TAG_CHARS else -1
        next_tag = text.find("<", position, end)
        return end + 1 if next_tag < 0 else next_tag

    def _open(self, start: int, kind: str) -> None:
        if self._head is None:
            self._head_parts.append(self._text[:start][: MAX_HEAD_CHARS - self._head_size])
            self._head = _head("".join(self._head_parts))
            self._head_parts = []
        self._start, self._kind, self._depth = start, kind, 1

    def _close(self, end: int) -> Iterator[Piece | Reject]:
        self._number += 1
        start, self._start = self._start, -1
        if end - start > limits.MAX_ITEM_CHARS:
            yield self._too_long(self._number)
        else:
            yield Piece(self._text[start:end], self._number, self._head or Head())

    def _too_long(self, number: int) -> Reject:
        reason = f"more than {limits.MAX_ITEM_CHARS:,} characters"
        return Reject(self._name_of(number), reason)

    def _discard(self, final: bool) -> Iterator[Reject]:
        """Drop the text that was searched; reject an open item that is too long."""
        start = self._start if self._start >= 0 else min(self._position, len(self._text))
        if self._start >= 0 and len(self._text) - start > limits.MAX_ITEM_CHARS:
            self._number += 1
            yield self._too_long(self._number)
            self._start, self._position = -1, len(self._text)
            start = self._position
        if self._head is None and self._head_size < MAX_HEAD_CHARS:
            part = self._text[:start][: MAX_HEAD_CHARS - self._head_size]
            self._head_parts.append(part)
            self._head_size += len(part)
        if not final:
            self._text = self._text[start:]
            self._position -= start
            self._size = len(self._text)
            self._start = min(0, self._start)
            # Doubled each time, so that a long item is searched a few times only.
            self._scan_size = max(WINDOW, 2 * self._size)


def _head(text: str) -> Head:
    """Return the head of a document from its text."""
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
    """Return the entities that a head declares; the first declaration of a name counts.

    >>> _entities("<!ENTITY a 'Caf&#233;'><!ENTITY b '&a;&a;'><!ENTITY c SYSTEM 'file:///x'>")
    {'a': 'Café', 'b': None, 'c': None}
    """
    entities: dict[str, str | None] = {}
    for declaration in _ENTITY_NAME.finditer(text):
        name = declaration.group(1)
        if name in entities or name in _standard_entities():
            continue
        plain = _PLAIN_ENTITY.match(text, declaration.start())
        value = (plain.group(2) or plain.group(3) or "") if plain else None
        if value is not None:
            value = None if "&" in _NUMBERED_REFERENCE.sub("", value) else legal(unescaped(value))
        entities[name] = value
    return entities


@cache
def _standard_entities() -> frozenset[str]:
    """Return the entities of HTML and XML, which a document cannot redefine."""
    from html.entities import name2codepoint

    return _XML_ENTITIES | frozenset(name2codepoint)
