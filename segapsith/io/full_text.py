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

ENOUGH = 1000
"""Characters from which the text of an item is taken for the whole article."""

Get = Callable[[str], bytes]
Recall = Callable[[str], tuple[str, str] | None]


class FullText:
    """Follows the link of an item, through the one guarded way out, and takes the article's text.

    An item whose summary is the one that was followed before keeps the text of then, so that a
    page which changes around its article is no correction. What cannot be had stays a summary,
    with the reason in its metadata. The link of a forgotten item is not followed.
    """

    def __init__(
        self, get: Get, recall: Recall, is_forgotten: Callable[[str], bool] = lambda uid: False
    ) -> None:
        self._get, self._recall, self._is_forgotten = get, recall, is_forgotten

    def __call__(self, document: Document) -> Document:
        link = document.metadata.get("link")
        if not isinstance(link, str) or len(document.body) >= ENOUGH:
            return document
        summary = hashlib.sha256(document.text.encode("utf-8", "replace")).hexdigest()[:16]
        if document.uid and self._is_forgotten(document.uid):
            return document
        known = self._recall(document.uid) if document.uid else None
        if known is not None and known[0] == summary:
            return replace(document, body=known[1])
        try:
            text = article(self._get(link))
        except FeedError as error:
            return _noted(document, "full_text_error", str(error))
        if len(text) <= len(document.body):
            return _noted(document, "full_text_error", "the page has no longer text than the feed")
        return _noted(replace(document, body=text), "summary", summary)


def _noted(document: Document, name: str, value: str) -> Document:
    return replace(document, metadata={**document.metadata, name: value})


def article(body: bytes) -> str:
    """The text of a page: by trafilatura where it is installed, else by our own reading."""
    html = decoded(body)
    try:
        from trafilatura import extract
    except ImportError:
        return page(html).text
    found: str | None = extract(html, deduplicate=False, include_comments=False)
    return found or page(html).text
