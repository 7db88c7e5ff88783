"""Embargoes and withdrawals that the metadata or the headline of a story announces.

An embargoed story is stored and learned, because learning publishes nothing. Its metadata has the
time as `embargoed_until`, and a run counts such stories. A story that its sender withdraws is marked
in its title, so that it withdraws its earlier text in every input format.
"""

from __future__ import annotations

from dataclasses import replace

from segapsith.intake import normalization
from segapsith.intake.notices import Notice, notice
from segapsith.model import Document

__all__ = ["KEY", "marked"]

KEY = "embargoed_until"
"""Metadata field with the time: in UTC if it can be parsed, else as given, or empty."""

_WITHDRAWN_STATUS = frozenset({"canceled", "cancelled", "killed", "withdrawn"})


def marked(document: Document) -> Document:
    """Return the document with its embargo in the metadata, or its withdrawal in the title.

    >>> metadata = {"embargo": "2026-03-02T18:00Z"}
    >>> marked(Document(title="Budget", date="2026-03-02", metadata=metadata)).metadata[KEY]
    '2026-03-02T18:00:00+00:00'
    >>> marked(Document(title="Budget", metadata={"status": "canceled"})).title
    'WITHDRAWN: Budget'
    """
    if document.bag is not None:
        return document
    status = document.metadata.get("status")
    if isinstance(status, str) and status.strip().lower() in _WITHDRAWN_STATUS:
        is_marked = notice(document.title, document.body) is Notice.WITHDRAWAL
        return document if is_marked else replace(document, title=f"WITHDRAWN: {document.title}")
    given = document.metadata.get("embargo")
    if isinstance(given, str) and given.strip():
        until = normalization.utc(given) or given.strip()
        # Senders also give the release time of stories that are released already.
        if until > (normalization.utc(document.date) or ""):
            return replace(document, metadata={**document.metadata, KEY: until})
        return document
    if status == "embargoed" or notice(document.title, document.body) is Notice.EMBARGO:
        return replace(document, metadata={**document.metadata, KEY: ""})
    return document
