"""The whole article behind a feed item that carries only a summary."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from segapsith.errors import FeedError
from segapsith.io.encoding import decoded
from segapsith.io.html import page
from segapsith.model import Document

__all__ = ["FullText"]

MIN_ARTICLE_CHARS = 1000
"""A text of at least this length is the whole article; its link is not followed."""

Get = Callable[[str], bytes]
Recall = Callable[[str], tuple[str, str] | None]


class FullText:
    """Replaces the summary of a feed item by the text of the article that it links to.

    `get` fetches an address. `recall` returns the summary hash and the text that are stored for an
    id. If the summary is unchanged, the stored text is used again, so a page that changes around
    its article is not a correction. An article that cannot be fetched leaves the summary, with the
    reason in the metadata. The link of a forgotten item is not followed.
    """

    def __init__(
        self, get: Get, recall: Recall, is_forgotten: Callable[[str], bool] = lambda uid: False
    ) -> None:
        self._get, self._recall, self._is_forgotten = get, recall, is_forgotten

    def __call__(self, document: Document) -> Document:
        link = document.metadata.get("link")
        if not isinstance(link, str) or len(document.body) >= MIN_ARTICLE_CHARS:
            return document
        summary = hashlib.sha256(document.text.encode("utf-8", "replace")).hexdigest()[:16]
        if document.uid and self._is_forgotten(document.uid):
            return document
        stored = self._recall(document.uid) if document.uid else None
        if stored is not None and stored[0] == summary:
            return replace(document, body=stored[1])
        try:
            text = article(self._get(link))
        except FeedError as error:
            return _with_metadata(document, "full_text_error", str(error))
        if len(text) <= len(document.body):
            reason = "the text of the page is not longer than that of the feed"
            return _with_metadata(document, "full_text_error", reason)
        return _with_metadata(replace(document, body=text), "summary", summary)


def _with_metadata(document: Document, name: str, value: str) -> Document:
    return replace(document, metadata={**document.metadata, name: value})


def article(body: bytes) -> str:
    """Return the text of a page, by trafilatura if it is installed, else by `io.html`."""
    html = decoded(body)
    try:
        from trafilatura import extract
    except ImportError:
        return page(html).text
    text: str | None = extract(html, deduplicate=False, include_comments=False)
    return text or page(html).text
