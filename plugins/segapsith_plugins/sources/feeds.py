"""Feeds: RSS 0.9x, 1.0 and 2.0, Atom and JSON Feed.

The markup is divided into items and made well-formed by `segapsith.io.xml` before feedparser reads
it: without document types, with short author fields, a few items at a time. So feedparser always
uses its strict parser, and a broken item affects no other.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.sax.saxutils import quoteattr

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, repaired
from segapsith.io.html import looks_like_html, text_of
from segapsith.io.xml import XmlError, rewritten, root_name
from segapsith.io.xml_items import Head, Piece, pieces
from segapsith_plugins.sources._dates import dated
from segapsith_plugins.sources._json_values import beginning, values

if TYPE_CHECKING:
    from segapsith.model import Json

AUTHOR_CHARS = 300
"""Characters of an author that are passed to feedparser, which searches them for addresses in
quadratic time.
"""

_CUT = dict.fromkeys(
    ("author", "creator", "name", "email", "publisher", "contributor", "managingeditor"),
    AUTHOR_CHARS,
) | dict.fromkeys(("webmaster", "owner", "errorreportsto", "generator", "rights"), AUTHOR_CHARS)

_ITEMS_AT_ONCE = 25
"""Items that are passed to feedparser at a time."""

_AT_ONCE_CHARS = 500_000

_HEAD_CHARS = 100_000
"""Characters of a head that are passed to feedparser; a longer one is reduced to its open elements.
"""

_SPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "atom10": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "feedburner": "http://rssnamespace.org/feedburner/ext/1.0",
    "georss": "http://www.georss.org/georss",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "slash": "http://purl.org/rss/1.0/modules/slash/",
    "sy": "http://purl.org/rss/1.0/modules/syndication/",
    "wfw": "http://wellformedweb.org/CommentAPI/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}

_ATOM = re.compile(r"<(?:[\w.\-]+:)?feed[\s>]")
_RDF = re.compile(r"purl\.org/rss/|my\.netscape\.com|<(?:[\w.\-]+:)?channel[\s>]")
_JSON_FEED = re.compile(r'"version"\s*:\s*"https?:\\?/\\?/jsonfeed\.org\\?/version')


class Feed:
    """A source of feeds: each item is a document, identified by its guid or else its link."""

    example = (
        b'<?xml version="1.0"?><rss version="2.0"><channel><title>Wire</title><item>'
        b"<guid>g1</guid><title>Flood</title><description>The river rose.</description>"
        b"</item></channel></rss>"
    )

    def sniff(self, head: bytes) -> float:
        if start := beginning(head):
            if _JSON_FEED.search(start):
                return 0.97
            return 0.96 if start[0] == "{" and _like_json_feed(start) else 0.0
        text = decoded(head)
        name = root_name(text).rpartition(":")[2].lower()
        if name == "rss":
            return 0.95
        if name == "feed":
            return 0.95 if "Atom" in text or "purl.org/atom" in text or "<entry" in text else 0.6
        if name == "rdf":
            return 0.95 if _RDF.search(text) else 0.2
        if name in ("channel", "item", "entry"):
            return 0.7  # the beginning is missing
        return 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        head = _peeked(stream)
        if beginning(head):
            yield from _json_feed(stream, name)
            return
        yield from _xml_feed(stream, name)


def _like_json_feed(start: str) -> bool:
    """Return whether it has the keys of a JSON Feed, whose version may come at the end."""
    return (
        re.search(r'"items"\s*:\s*\[', start) is not None
        and re.search(r'"(?:home_page_url|feed_url|content_html|content_text)"\s*:', start)
        is not None
    )


def _peeked(stream: BinaryIO) -> bytes:
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return bytes(peek(64)[:64])
    head = stream.read(64)
    stream.seek(-len(head), io.SEEK_CUR)
    return head


# -- RSS and Atom ------------------------------------------------------------------------------


def _xml_feed(stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
    waiting: list[tuple[str, str]] = []
    size = n_found = 0
    frame: _Frame | None = None
    for piece in pieces(stream, ("item", "entry"), name):
        n_found += 1
        if isinstance(piece, Reject):
            yield from _through(waiting, frame)
            waiting, size = [], 0
            yield piece
            continue
        if frame is None:
            frame = _Frame(piece.head)
        where = f"{name}: item {piece.number}"
        try:
            text, prefixes = rewritten(piece.text, _CUT, piece.head.entities)
        except XmlError as error:
            yield from _through(waiting, frame)
            waiting, size = [], 0
            yield Reject(_named(piece, where), str(error))
            continue
        frame.know(prefixes)
        waiting.append((where, text))
        size += len(text)
        if len(waiting) >= _ITEMS_AT_ONCE or size >= _AT_ONCE_CHARS:
            yield from _through(waiting, frame)
            waiting, size = [], 0
    yield from _through(waiting, frame)
    if not n_found:
        yield Reject(name, "it has no items that can be read")


_GUID = re.compile(r"<(?:guid|id|link)\b[^>]{0,200}>\s*([^<\s]{1,300})")


def _named(piece: Piece, where: str) -> str:
    guid = _GUID.search(piece.text, 0, 20_000)
    return f"{where} ({guid.group(1)})" if guid else where


class _Frame:
    """The feed around its items, which feedparser needs to understand them."""

    def __init__(self, head: Head) -> None:
        tags = "".join(_tag(o.name, o.attributes) for o in head.opened)
        self._begin = tags or "<rss version='2.0'><channel>"
        self._end = "".join(f"</{o.name}>" for o in reversed(head.opened)) or "</channel></rss>"
        names = [n for o in head.opened for n in (o.name, *o.attributes)]
        self._declared = {"xml", "xmlns"} | {
            n.partition(":")[2] for n in names if n.startswith("xmlns:")
        }
        self._used = {n.partition(":")[0] for n in names if ":" in n}
        if head.opened and len(head.text) <= _HEAD_CHARS:
            self._take(head)

    def _take(self, head: Head) -> None:
        """Use the head as it is, if it can be written; it has the title and the language."""
        text = head.text[_root_at(head.text, head.opened[0].name) :]
        try:
            whole, prefixes = rewritten(text, _CUT, head.entities)
        except XmlError:
            return
        if whole.endswith(self._end):
            self._begin = whole.removesuffix(self._end)
            self._used |= prefixes

    def know(self, prefixes: frozenset[str]) -> None:
        """Declare the prefixes that an item uses."""
        self._used |= prefixes

    def around(self, items: Sequence[str]) -> bytes:
        """Return a well-formed feed of these items, in which every prefix is declared."""
        declared = "".join(
            f" xmlns:{p}={quoteattr(_SPACES.get(p.lower(), f'urn:undeclared:{p}'))}"
            for p in sorted(self._used - self._declared)
        )
        begin = _FIRST_NAME.sub(lambda m: m.group() + declared, self._begin, count=1)
        return "".join([begin, *items, self._end]).encode("utf-8", "replace")


_FIRST_NAME = re.compile(r"<[\w.:\-]+")


def _root_at(text: str, name: str) -> int:
    """Return where the root begins; comments before it may contain anything.

    >>> _root_at("<!-- <rss> --><rss>", "rss")
    14
    """
    place = 0
    while (comment := text.find("<!--", place)) >= 0:
        root = text.find(f"<{name}", place, comment)
        if root >= 0:
            return root
        end = text.find("-->", comment)
        if end < 0:
            break
        place = end + 3
    return max(text.find(f"<{name}", place), 0)


def _tag(name: str, attributes: Mapping[str, str]) -> str:
    written = (f" {k}={quoteattr(v)}" for k, v in attributes.items() if _NAME.fullmatch(k))
    return f"<{name}{''.join(written)}>"


_NAME = re.compile(r"[A-Za-z_][\w.\-]*(?::[A-Za-z_][\w.\-]*)?")


def _through(
    waiting: Sequence[tuple[str, str]], frame: _Frame | None
) -> Iterator[Document | Reject]:
    """Yield the items as feedparser reads them; one by one if it stumbles over some of them."""
    if not waiting or frame is None:
        return
    feed, entries = _parsed(frame.around([text for _, text in waiting]))
    if len(entries) == len(waiting):
        for (where, _), entry in zip(waiting, entries, strict=True):
            yield _document(entry, feed, where)
        return
    if len(waiting) > 1:
        for one in waiting:
            yield from _through([one], frame)
        return
    where, text = waiting[0]
    yield Reject(where, f"feedparser could not read it: {text[:60]!r}")


def _parsed(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    import feedparser

    try:
        feed = feedparser.parse(io.BytesIO(data), resolve_relative_uris=False, sanitize_html=False)
        # as plain mappings: those of feedparser warn if `updated` is missing
        return dict(dict.items(feed.feed)), [dict(dict.items(entry)) for entry in feed.entries]
    except Exception:  # it may raise anything (feedparser#599)
        return {}, []


def _document(entry: Mapping[str, Any], feed: Mapping[str, Any], where: str) -> Document | Reject:
    try:
        title = _plain(entry.get("title", ""), entry.get("title_detail"))
        title = title or _plain(entry.get("itunes_title", ""), None)
        body = _body(entry, title)
        if not title and not body:
            return Reject(_string(entry.get("id")) or where, "it has neither a title nor a text")
        link = _string(entry.get("link"))
        date, original = dated(
            next(
                (_string(entry[k]) for k in ("published", "updated", "created") if entry.get(k)), ""
            )
        )
        lang = _language(entry) or _string(feed.get("language")) or None
        return Document(
            uid=_string(entry.get("id")) or link,
            title=repaired(" ".join(title.split())),
            body=repaired(body),
            date=date,
            lang=lang,
            source=repaired(_plain(feed.get("title", ""), feed.get("title_detail"))),
            metadata=_metadata(entry, link) | original,
        )
    except Exception as error:  # a value of an unexpected type
        return Reject(where, f"it could not be understood: {type(error).__name__}: {error}")


def _string(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


def _language(entry: Mapping[str, Any]) -> str | None:
    for content in (
        *entry.get("content", ()),
        entry.get("summary_detail"),
        entry.get("title_detail"),
    ):
        if isinstance(content, Mapping) and content.get("language"):
            return _string(content["language"])
    return _string(entry.get("language")) or None


def _body(entry: Mapping[str, Any], title: str) -> str:
    """Return the content, or the summary if there is no content or no better one."""
    contents = [
        _plain(c.get("value", ""), c) for c in entry.get("content", ()) if isinstance(c, Mapping)
    ]
    summary = _plain(entry.get("summary", ""), entry.get("summary_detail"))
    body = max([*contents, summary], key=len, default="")
    return "" if body == title else body


_HTML = ("text/html", "application/xhtml+xml")
_SURELY_HTML = re.compile(
    r"</[A-Za-z]{1,10}>|<br ?/?>|&(?:#\d{2,5}|#[xX][0-9A-Fa-f]{2,5}|[a-z]{2,8});"
)

_BLOCK = re.compile(
    r"</(?:p|div|span|td|li|a|b|i|em|strong|h[1-6])>|<br ?/?>|&(?:amp|quot|nbsp|#x?[0-9a-f]{2,5});",
    re.IGNORECASE,
)


def _plain(value: object, detail: object) -> str:
    """Return a value as plain text; Atom declares its type, RSS does not."""
    if not isinstance(value, str) or not value.strip():
        return ""
    kind = detail.get("type") if isinstance(detail, Mapping) else None
    markup = (
        _SURELY_HTML.search(value) is not None if kind == "text/plain" else looks_like_html(value)
    )
    if kind in _HTML or markup:
        text = text_of(value)
        # escaped twice: it has no tags, but its unescaped text has
        return text_of(text) if "<" not in value and _BLOCK.search(text) else text
    return "\n".join(" ".join(line.split()) for line in value.strip().splitlines())


def _metadata(entry: Mapping[str, Any], link: str) -> dict[str, Json]:
    metadata: dict[str, Json] = {}
    tags = [_string(t.get("label") or t.get("term")) for t in entry.get("tags", ()) if t]
    if unique_tags := list(dict.fromkeys(t for t in tags if t)):
        metadata["tags"] = unique_tags
    if author := _string(entry.get("author")):
        metadata["byline"] = author[:AUTHOR_CHARS]
    if "://" in link:
        metadata["link"] = link
    updated = _string(entry.get("updated"))
    if updated and updated != _string(entry.get("published")):
        metadata["updated"] = updated
    source = entry.get("source")
    if isinstance(source, Mapping) and _string(source.get("title")):
        metadata["origin"] = _string(source["title"])
    for key, value in entry.items():
        ours = key in _TAKEN or key.endswith(("_detail", "_parsed"))
        if not ours and (plain := _string(value)[:1000]):
            metadata[key] = plain
    return metadata


_TAKEN = frozenset(
    {"id", "link", "links", "title", "summary", "content", "tags", "author", "authors", "updated"}
    | {"published", "created", "guidislink", "enclosures", "source", "language", "base", "href"}
)


# -- JSON Feed -----------------------------------------------------------------------------


def _json_feed(stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
    for value in values(stream, name):
        if isinstance(value, Reject):
            yield value
            continue
        where, feed = value
        items = feed.get("items") if isinstance(feed, dict) else None
        if not isinstance(feed, dict) or not isinstance(items, list):
            yield Reject(where, "it is no JSON Feed: it has no list of items")
            continue
        for number, item in enumerate(items, 1):
            yield _json_item(item, feed, f"{name}: item {number}")


def _json_item(item: object, feed: Mapping[str, Any], where: str) -> Document | Reject:
    if not isinstance(item, dict):
        return Reject(where, f"it is a {type(item).__name__}, not an object")
    uid = item.get("id")
    uid = str(uid) if isinstance(uid, int | float) and not isinstance(uid, bool) else _string(uid)
    link = _string(item.get("url")) or _string(item.get("external_url"))
    title = _string(item.get("title"))
    html, plain = item.get("content_html"), item.get("content_text")
    body = text_of(html) if isinstance(html, str) else ""
    if isinstance(plain, str) and len(plain) > len(body):
        body = plain.strip()
    body = body or _string(item.get("summary"))
    if not title and not body:
        return Reject(f"{where} ({uid})" if uid else where, "it has neither a title nor a text")
    given = item.get("date_published") or item.get("date_modified")
    date, original = dated(given if isinstance(given, str) else None)
    tags = item.get("tags")
    authors = item.get("authors") or [item.get("author")]
    names = [
        _string(a.get("name"))[:AUTHOR_CHARS]
        for a in (authors if isinstance(authors, list) else [])
        if isinstance(a, dict)
    ]
    taken = {"id", "title", "content_html", "content_text", "tags", "author", "authors"}
    rest = {
        k: v
        for k, v in item.items()
        if k not in taken | {"language", "attachments", "url", "date_published"}
    }
    metadata: dict[str, Json] = {**rest, **original}
    if isinstance(tags, list) and tags:
        metadata["tags"] = [_string(t) for t in tags if _string(t)]
    if any(names):
        metadata["byline"] = ", ".join(n for n in names if n)
    if link:
        metadata["link"] = link
    lang = _string(item.get("language")) or _string(feed.get("language"))
    return Document(
        uid=uid or link,
        title=repaired(title),
        body=repaired(body),
        date=date,
        lang=lang or None,
        source=_string(feed.get("title")),
        metadata=metadata,
    )


@hookimpl
def register_sources() -> Mapping[str, type[Feed]]:
    return {"feed": Feed}
