"""What a sender says about the use of a story: not before a time, or not at all.

An embargoed story is kept and learned, because learning publishes nothing; it carries the time in
its metadata as `embargoed_until`, and a run counts such stories. A story that its sender takes back
is marked in its title, so that it withdraws the text that it had, whichever way it arrived.
"""

from __future__ import annotations

from dataclasses import replace

from segapsith.intake import normalization
from segapsith.intake.notices import Notice, notice
from segapsith.model import Document

__all__ = ["KEY", "marked"]

KEY = "embargoed_until"
"""Where the metadata says until when: UTC if it can be read, else as it was given, or nothing."""

_TAKEN_BACK = frozenset({"canceled", "cancelled", "killed", "withdrawn"})


def marked(document: Document) -> Document:
    """The document with what its sender says about its use.

    >>> told = {"embargo": "2026-03-02T18:00Z"}
    >>> marked(Document(title="Budget", date="2026-03-02", metadata=told)).metadata[KEY]
    '2026-03-02T18:00:00+00:00'
    >>> marked(Document(title="Budget", metadata={"status": "canceled"})).title
    'WITHDRAWN: Budget'
    """
    if document.bag is not None:
        return document
    status = document.metadata.get("status")
    if isinstance(status, str) and status.strip().lower() in _TAKEN_BACK:
        told = notice(document.title, document.body)
        title = document.title if told is Notice.WITHDRAWAL else f"WITHDRAWN: {document.title}"
        return replace(document, title=title)
    given = document.metadata.get("embargo")
    if isinstance(given, str) and given.strip():
        until = normalization.utc(given) or given.strip()
        # senders also give the time of release of what is released already
        if until > (normalization.utc(document.date) or ""):
            return replace(document, metadata={**document.metadata, KEY: until})
        return document
    if status == "embargoed" or notice(document.title, document.body) is Notice.EMBARGO:
        return replace(document, metadata={**document.metadata, KEY: ""})
    return document
