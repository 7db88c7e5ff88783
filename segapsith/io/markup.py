"""Tags and text of any markup, however broken, in time that grows with its length only.

For what a strict parser refuses: feeds with stray ampersands, pages, SGML. Nothing is fetched,
declared or expanded; entities are the fixed ones of HTML. The standard `html.parser` does the same
for sound pages, but takes quadratic time over hostile ones.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Close", "Open", "Token", "tokens", "unescaped"]


@dataclass(frozen=True, slots=True)
class Open:
    """A start tag; `closed` says that it ends itself."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Close:
    """An end tag."""

    name: str


Token: TypeAlias = Open | Close | str
"""A tag, or text with its entities resolved."""

_NAME = re.compile(r"[A-Za-z_][^\s/>\x00<=\"'&;]{0,200}")
_SPACE = re.compile(r"[\s/]*")
_ATTRIBUTE = re.compile(r"([^\s=<>\"'/]+)(?:\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)'|([^\s\"'<>]*)))?")
# In pages a value may hold tags, as in the captions of pictures.
_ATTRIBUTE_OF_PAGE = re.compile(
    r"([^\s=<>\"'/]+)(?:\s*=\s*(?:\"([^\"]{0,8192})\"|'([^']{0,8192})'|([^\s\"'<>]*)))?"
)
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")
_RAW_END = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "textarea", "xmp", "noembed", "noframes")
}


def unescaped(text: str) -> str:
    """The text with the entities of HTML and numbered characters resolved.

    >>> unescaped("AT&amp;T &eacute;t&#233; &unknown; &#99999999999;")
    'AT&T été &unknown; �'
    """
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub("�", text))


class _Ends:
    """Where something ends; remembers that it never does, so that nobody looks twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._never: dict[str, int] = {}

    def after(self, mark: str, start: int) -> int:
        """The place behind the next mark, or -1."""
        if start >= self._never.get(mark, len(self._text) + 1):
            return -1
        found = self._text.find(mark, start)
        if found < 0:
            self._never[mark] = start
            return -1
        return found + len(mark)


def tokens(text: str, *, page: bool = False) -> Iterator[Token]:
    """The tags and texts in order; comments, declarations and instructions are left out.

    With `page`, scripts and styles are skipped as HTML does.

    >>> list(tokens("<p class=a>Rain &amp; <br/>wind</p><!-- no -->"))  # doctest: +ELLIPSIS
    [Open(name='p', attributes={'class': 'a'}, ...), 'Rain & ', Open(...), 'wind', Close(name='p')]
    """
    ends = _Ends(text)
    place, length = 0, len(text)
    attribute = _ATTRIBUTE_OF_PAGE if page else _ATTRIBUTE
    while place < length:
        tag = text.find("<", place)
        if tag < 0:
            yield unescaped(text[place:])
            return
        if tag > place:
            yield unescaped(text[place:tag])
        following = text[tag + 1 : tag + 2]
        if following == "!":
            place, literal = _declaration(text, tag, ends)
            if literal is not None:
                yield literal
            continue
        if following == "?":
            behind = ends.after("?>", tag)
            place = behind if behind > 0 else max(ends.after(">", tag), tag + 2)
            continue
        closing = following == "/"
        name = _NAME.match(text, tag + 1 + closing)
        if name is None:
            yield "<"
            place = tag + 1
            continue
        if closing:
            yield Close(name.group())
            place = _behind_tag(text, name.end(), ends)
            continue
        attributes, closed, place = _attributes(text, name.end(), attribute)
        yield Open(name.group(), attributes, closed)
        if page and not closed and name.group().lower() in _RAW_END:
            found = _RAW_END[name.group().lower()].search(text, place)
            place = found.start() if found else length


def _declaration(text: str, tag: int, ends: _Ends) -> tuple[int, str | None]:
    """Behind a comment, a CDATA section (with its text) or a declaration."""
    if text.startswith("<!--", tag):
        behind = ends.after("-->", tag + 4)
        return (behind if behind > 0 else tag + 4), None
    if text.startswith("<![CDATA[", tag):
        behind = ends.after("]]>", tag + 9)
        return (behind, text[tag + 9 : behind - 3]) if behind > 0 else (tag + 9, None)
    behind = ends.after(">", tag)
    if behind < 0:
        return tag + 2, None
    subset = text.find("[", tag, behind)
    if subset < 0:
        return behind, None
    inner = ends.after("]>", subset)
    spaced = ends.after("]\n>", subset) if inner < 0 else -1
    return max(inner, spaced, behind), None


def _behind_tag(text: str, place: int, ends: _Ends) -> int:
    behind = ends.after(">", place)
    if behind < 0:
        return len(text)
    broken = text.find("<", place, behind)
    return behind if broken < 0 else broken


def _attributes(
    text: str, place: int, pattern: re.Pattern[str]
) -> tuple[dict[str, str], bool, int]:
    """The attributes of a start tag, whether it closes itself, and the place behind it."""
    found: dict[str, str] = {}
    while True:
        space = _SPACE.match(text, place)
        assert space is not None  # it matches nothing too
        place = space.end()
        character = text[place : place + 1]
        if character == ">":
            return found, text[place - 1] == "/", place + 1
        if character in ("", "<"):
            return found, False, place
        match = pattern.match(text, place)
        if match is None:
            place += 1  # a stray quote or equals sign
            continue
        place = match.end()
        value = next((v for v in match.groups()[1:] if v is not None), "")
        found.setdefault(match.group(1), unescaped(value))
