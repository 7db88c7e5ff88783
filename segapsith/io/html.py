"""HTML to plain text: paragraphs preserved, scripts and navigation dropped, entities resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from segapsith.io.markup import Close, Open, Token, tokens

__all__ = ["Page", "looks_like_html", "page", "text_of", "text_of_tokens"]

_NEVER_TEXT = frozenset(
    {"script", "style", "template", "svg", "math", "iframe", "object", "audio", "video", "canvas"}
    | {"textarea", "select", "button", "noframes", "noembed", "xmp", "title", "map", "datalist"}
)
_NAVIGATION = frozenset({"nav", "footer", "aside", "form", "menu", "dialog", "noscript"})
_PARAGRAPHS = frozenset(
    {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "blockquote"}
    | {"article", "section", "header", "footer", "main", "aside", "figure", "figcaption", "hr"}
    | {"pre", "address", "body", "html", "head", "center", "details", "summary", "fieldset"}
    | {"nav", "form", "caption", "thead", "tbody", "noscript", "hedline", "hl1", "hl2"}
    | {"block", "bq", "note", "abstract", "tagline", "media-caption", "nitf-table", "pagebreak"}
)
_LINES = frozenset({"br", "li", "tr", "dt", "dd", "option"})
_CELLS = frozenset({"td", "th"})
_SPACES = re.compile(r"[^\S\n]+")
_BREAKS = re.compile(r"\n{3,}")
_TAG = re.compile(
    r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,2000})?/?>|&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
)
_METADATA_CHARS = 1_000_000
"""Characters of a page that are searched for its metadata."""

_MIN_ARTICLE_CHARS = 250
"""A shorter <article> is not taken for the text of its page."""


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page and its metadata."""

    title: str = ""
    text: str = ""
    lang: str | None = None
    date: str | None = None
    author: str = ""
    site: str = ""
    url: str = ""
    keywords: list[str] = field(default_factory=list)
    section: str = ""


def looks_like_html(text: str) -> bool:
    """Return whether a text contains tags or entities.

    >>> looks_like_html("a <b>bold</b> word"), looks_like_html("3 < 4 & 5 > 4")
    (True, False)
    """
    return _TAG.search(text) is not None


def text_of(html: str) -> str:
    """Return the text of a piece of HTML; a blank line separates paragraphs.

    >>> text_of("<p>Rain&nbsp;fell.<br>Wind rose.<p><ul><li>one<li>two</ul>")
    'Rain fell.\\nWind rose.\\n\\none\\ntwo'
    """
    text, is_cut = _Text.of(tokens(html, page=True), _NEVER_TEXT)
    return text if text or not is_cut else _Text.of(tokens(html, page=True), frozenset())[0]


def text_of_tokens(markup: Iterator[Token], dropped: frozenset[str] = frozenset()) -> str:
    """Return the text of tokens, without the elements that `dropped` names."""
    return _Text.of(markup, _NEVER_TEXT | dropped)[0]


def page(html: str) -> Page:
    """Return the title, the text and the metadata of a whole page."""
    facts = _Metadata(html)
    text, is_cut = _Text.of(_articles(html), _NEVER_TEXT | _NAVIGATION)
    if len(text) < _MIN_ARTICLE_CHARS:
        text, is_cut = _Text.of(tokens(html, page=True), _NEVER_TEXT | _NAVIGATION)
    if not text or is_cut:  # a dropped element was never closed
        text = _Text.of(tokens(html, page=True), _NEVER_TEXT)[0] or text_of(html)
    title = facts.title
    if title and text.startswith(title + "\n"):
        text = text[len(title) :].lstrip()
    return Page(
        title,
        text,
        facts.lang,
        facts.first(
            "article:published_time", "datepublished", "date", "dc.date", "dcterms.created",
            "dc.date.issued", "pubdate", "parsely-pub-date", "sailthru.date", "publish-date",
            "og:published_time", "dcterms.date", "article:modified_time", "time",
        ) or None,
        facts.first("author", "article:author", "dc.creator", "byl", "parsely-author"),
        facts.first("og:site_name", "publisher", "dc.publisher", "application-name"),
        facts.first("canonical", "og:url"),
        [
            word.strip()
            for word in facts.first("keywords", "news_keywords", "parsely-tags").split(",")
            if word.strip()
        ],
        facts.first("article:section", "parsely-section", "section"),
    )  # fmt: skip


class _Text:
    """Collects paragraphs from tokens."""

    def __init__(self, dropped: frozenset[str]) -> None:
        self._dropped = dropped
        self._parts: list[str] = []
        self._skipped = ""  # the element that is being dropped
        self._depth = 0  # of elements of that name
        self._preformatted = 0

    @classmethod
    def of(cls, markup: Iterator[Token], dropped: frozenset[str]) -> tuple[str, bool]:
        """Return the text, and whether a dropped element was still open at the end."""
        collector = cls(dropped)
        for token in markup:
            if isinstance(token, str):
                collector._add_text(token)
            else:
                collector._add_tag(token)
        return collector.text(), bool(collector._skipped)

    def _add_text(self, token: str) -> None:
        if self._skipped:
            return
        if self._preformatted:
            self._parts.append(token)
            return
        before = " " if token[:1].isspace() else ""
        after = " " if token[-1:].isspace() else ""
        self._parts.append(f"{before}{' '.join(token.split())}{after}")

    def _add_tag(self, token: Open | Close) -> None:
        name = token.name.lower().rpartition(":")[2]
        is_opening = isinstance(token, Open)
        if self._skipped:
            if name == self._skipped:
                self._depth += 1 if is_opening else -1
                if self._depth <= 0:
                    self._skipped = ""
            return
        if name in self._dropped and isinstance(token, Open) and not token.closed:
            self._skipped, self._depth = name, 1
            name = "div" if name in _NAVIGATION else name
        if name == "pre":
            self._preformatted = max(0, self._preformatted + (1 if is_opening else -1))
        if name in _PARAGRAPHS:
            self._parts.append("\n\n")
        elif name in _LINES:
            self._parts.append("\n" if is_opening else "")
        elif name in _CELLS:
            self._parts.append(" ")

    def text(self) -> str:
        joined = _SPACES.sub(" ", "".join(self._parts).replace("\u00ad", ""))
        lines = [line.strip() for line in joined.split("\n")]
        return _BREAKS.sub("\n\n", "\n".join(lines)).strip()


def _articles(html: str) -> Iterator[Token]:
    """Yield the tokens inside <article> or <main>."""
    depth = 0
    for token in tokens(html, page=True):
        if not isinstance(token, str) and token.name.lower() in ("article", "main"):
            depth = max(0, depth + (1 if isinstance(token, Open) else -1))
        if depth:
            yield token


class _Metadata:
    """Title, language and other metadata from the head of a page."""

    def __init__(self, html: str) -> None:
        self.lang: str | None = None
        self._meta: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}
        inside = ""
        for token in tokens(html[:_METADATA_CHARS]):
            if isinstance(token, str):
                if inside and len(self._texts[inside]) < 50:
                    self._texts[inside].append(token[:1000])
                elif token.startswith(("{", "\n{", "[")) and '"datePublished"' in token:
                    self._from_json(token)
            elif isinstance(token, Close):
                inside = "" if token.name.lower() == inside else inside
            else:
                if inside and token.name.lower() in _PARAGRAPHS:
                    inside = ""  # the end tag is missing
                inside = self._read_tag(token) or inside

    def _read_tag(self, token: Open) -> str:
        """Store the metadata of a tag; return its name if its text is the title or a heading."""
        name = token.name.lower()
        attributes = {key.lower(): value.strip() for key, value in token.attributes.items()}
        if name == "html":
            self.lang = attributes.get("lang") or attributes.get("xml:lang") or self.lang
        elif name == "meta":
            names = ("property", "name", "itemprop", "http-equiv")
            key = next((attributes[n] for n in names if attributes.get(n)), "")
            self._meta.setdefault(key.lower(), attributes.get("content", ""))
        elif name == "link" and attributes.get("rel", "").lower() == "canonical":
            self._meta.setdefault("canonical", attributes.get("href", ""))
        elif name == "time" and attributes.get("datetime"):
            self._meta.setdefault("time", attributes["datetime"])
        elif name in ("title", "h1") and name not in self._texts and not token.closed:
            self._texts[name] = []
            return name
        return ""

    def _from_json(self, text: str) -> None:
        """Store the date of a news article from linked data (JSON-LD)."""
        try:
            data = json.loads(text[:200_000])
        except (ValueError, RecursionError):
            return
        for value in data if isinstance(data, list) else [data]:
            graph = value.get("@graph", [value]) if isinstance(value, dict) else []
            for node in graph if isinstance(graph, list) else []:
                date = node.get("datePublished") if isinstance(node, dict) else None
                if isinstance(date, str):
                    self._meta.setdefault("datepublished", date)

    def first(self, *names: str) -> str:
        """Return the first of these that the page has, or an empty string."""
        return next((self._meta[name] for name in names if self._meta.get(name)), "")

    @property
    def title(self) -> str:
        """The heading, because <title> often includes the name of the site."""
        title = " ".join("".join(self._texts.get("title", [])).split())
        heading = " ".join("".join(self._texts.get("h1", [])).split())
        shared = self.first("og:title", "dc.title", "headline")
        if heading and title and heading.casefold() in title.casefold():
            return heading
        return shared or title or heading
