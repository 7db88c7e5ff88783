"""HTML: one page is one document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import decoded, is_binary, repaired
from segapsith.io.html import page
from segapsith.io.xml import root_name
from segapsith.limits import MAX_PAGE_BYTES
from segapsith_plugins.sources._dates import dated

if TYPE_CHECKING:
    from segapsith.model import Json

_PAGE = frozenset({"html", "head", "body"})
_PART = frozenset(
    {"p", "div", "h1", "h2", "article", "section", "main", "title", "meta", "table", "ul", "span"}
    | {"header", "center", "b", "a", "br", "font", "strong", "em", "script", "style", "link"}
)
_DOCTYPE = re.compile(r"<!doctype\s+html", re.IGNORECASE)


class HtmlPage:
    """A source of HTML: heading and text without navigation, and the declared date, language,
    author.
    """

    example = (
        b'<!DOCTYPE html><html lang="en"><head><title>Flood</title></head>'
        b"<body><h1>Flood</h1><p>The river rose.</p></body></html>"
    )

    def sniff(self, head: bytes) -> float:
        text = decoded(head)
        name = root_name(text).lower()
        if name in _PAGE or (name and _DOCTYPE.search(text[:2000])):
            return 0.9
        return 0.5 if name in _PART else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        data = stream.read(MAX_PAGE_BYTES + 1)
        if len(data) > MAX_PAGE_BYTES:
            yield Reject(name, f"it has more than {MAX_PAGE_BYTES:,} bytes")
            return
        if is_binary(data[:4096]):
            yield Reject(name, "it is not a page: it has NUL bytes")
            return
        content = page(decoded(data))
        if not content.title and not content.text:
            yield Reject(name, "it has neither a title nor a text")
            return
        date, original = dated(content.date)
        metadata: dict[str, Json] = {
            key: value
            for key, value in {
                "byline": content.author,
                "link": content.url,
                "section": content.section,
                "keywords": list(content.keywords),
            }.items()
            if value
        }
        yield Document(
            title=repaired(content.title),
            body=repaired(content.text),
            date=date,
            lang=content.lang,
            source=content.site,
            metadata=metadata | original,
        )


@hookimpl
def register_sources() -> Mapping[str, type[HtmlPage]]:
    return {"html": HtmlPage}
