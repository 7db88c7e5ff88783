"""Tags and text of any markup, valid or not, in time linear in its length.

For markup that a strict parser refuses: feeds with stray ampersands, HTML pages, SGML. Nothing is
fetched, declared or expanded; entities are the fixed ones of HTML. The standard `html.parser` does
the same for valid pages, but takes quadratic time for hostile ones.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Close", "Open", "Token", "tokens", "unescaped", "xml_text"]


@dataclass(frozen=True, slots=True)
class Open:
    """A start tag; `closed` if it ends itself, as `<br/>` does."""

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
# In pages a value may contain tags, for example the caption of a picture.
_ATTRIBUTE_OF_PAGE = re.compile(
    r"([^\s=<>\"'/]+)(?:\s*=\s*(?:\"([^\"]{0,8192})\"|'([^']{0,8192})'|([^\s\"'<>]*)))?"
)
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")
_RAW_END = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "textarea", "xmp", "noembed", "noframes")
}


def unescaped(text: str) -> str:
    """Resolve the entities of HTML and numbered characters.

    >>> unescaped("AT&amp;T &eacute;t&#233; &unknown; &#99999999999;")
    'AT&T été &unknown; �'
    """
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub("�", text))


class _Ends:
    """Searches for end marks; a failed search is remembered, so that time stays linear."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._absent_from: dict[str, int] = {}

    def after(self, mark: str, start: int) -> int:
        """Return the position after the next mark, or -1."""
        if start >= self._absent_from.get(mark, len(self._text) + 1):
            return -1
        position = self._text.find(mark, start)
        if position < 0:
            self._absent_from[mark] = start
            return -1
        return position + len(mark)


def xml_text(text: str) -> str:
    """Return text on one line that may stand in XML: escaped, without characters that XML forbids.

    >>> xml_text("a\\x00 <b>\\n&")
    'a &lt;b&gt; &amp;'
    """
    allowed = "".join(
        c
        for c in text
        if c in "\t\n"
        or (ord(c) >= 32 and not 0xD800 <= ord(c) <= 0xDFFF and ord(c) not in (0xFFFE, 0xFFFF))
    )
    return html.escape(" ".join(allowed.split()), quote=True)


def tokens(text: str, *, page: bool = False) -> Iterator[Token]:
    """Yield tags and texts in order, without comments, declarations and instructions.

    With `page`, the content of scripts and styles is skipped, as in HTML.

    >>> list(tokens("<p class=a>Rain &amp; <br/>wind</p><!-- no -->"))  # doctest: +ELLIPSIS
    [Open(name='p', attributes={'class': 'a'}, ...), 'Rain & ', Open(...), 'wind', Close(name='p')]
    """
    ends = _Ends(text)
    position, length = 0, len(text)
    attribute = _ATTRIBUTE_OF_PAGE if page else _ATTRIBUTE
    while position < length:
        tag = text.find("<", position)
        if tag < 0:
            yield unescaped(text[position:])
            return
        if tag > position:
            yield unescaped(text[position:tag])
        following = text[tag + 1 : tag + 2]
        if following in ("!", "?"):
            position, section = _declaration(text, tag, ends)
            if section is not None:
                yield section
            continue
        is_closing = following == "/"
        name = _NAME.match(text, tag + 1 + is_closing)
        if name is None:
            yield "<"
            position = tag + 1
        elif is_closing:
            yield Close(name.group())
            position = _after_tag(text, name.end(), ends)
        else:
            attributes, closed, position = _attributes(text, name.end(), attribute)
            yield Open(name.group(), attributes, closed)
            raw_end = _RAW_END.get(name.group().lower()) if page and not closed else None
            if raw_end is not None:
                end_tag = raw_end.search(text, position)
                position = end_tag.start() if end_tag else length


def _declaration(text: str, tag: int, ends: _Ends) -> tuple[int, str | None]:
    """Return the position after a comment, instruction, CDATA section or declaration.

    The second value is the text of a CDATA section.
    """
    if text.startswith("<?", tag):
        after = ends.after("?>", tag)
        return (after if after > 0 else max(ends.after(">", tag), tag + 2)), None
    if text.startswith("<!--", tag):
        after = ends.after("-->", tag + 4)
        return (after if after > 0 else tag + 4), None
    if text.startswith("<![CDATA[", tag):
        after = ends.after("]]>", tag + 9)
        return (after, text[tag + 9 : after - 3]) if after > 0 else (tag + 9, None)
    after = ends.after(">", tag)
    if after < 0:
        return tag + 2, None
    subset = text.find("[", tag, after)
    if subset < 0:
        return after, None
    subset_end = ends.after("]>", subset)
    if subset_end < 0:
        subset_end = ends.after("]\n>", subset)
    return max(subset_end, after), None


def _after_tag(text: str, position: int, ends: _Ends) -> int:
    after = ends.after(">", position)
    if after < 0:
        return len(text)
    next_tag = text.find("<", position, after)
    return after if next_tag < 0 else next_tag


def _attributes(
    text: str, position: int, pattern: re.Pattern[str]
) -> tuple[dict[str, str], bool, int]:
    """Return the attributes of a start tag, whether it closes itself, and the position after it."""
    attributes: dict[str, str] = {}
    while True:
        space = _SPACE.match(text, position)
        assert space is not None  # it matches the empty string too
        position = space.end()
        character = text[position : position + 1]
        if character == ">":
            return attributes, text[position - 1] == "/", position + 1
        if character in ("", "<"):
            return attributes, False, position
        match = pattern.match(text, position)
        if match is None:
            position += 1  # a stray quote or equals sign
            continue
        position = match.end()
        value = next((v for v in match.groups()[1:] if v is not None), "")
        attributes.setdefault(match.group(1), unescaped(value))
