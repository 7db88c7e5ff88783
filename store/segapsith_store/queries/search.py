"""Full-text search over documents and domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segapsith.errors import MissingInputError, UsageError
from segapsith.model import Result
from segapsith_store.store import Store

__all__ = [
    "DocumentHit",
    "DocumentSummary",
    "DomainHit",
    "SearchResult",
    "describe_document",
    "full_text_query",
    "matching_documents",
    "search",
]

SNIPPET_WORDS = 16


@dataclass(frozen=True, slots=True)
class DocumentHit(Result):
    """A document that contains the words, with the passage where they are."""

    id: str
    date: str | None
    lang: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class DomainHit(Result):
    """A domain whose label or best words contain the words."""

    id: int
    label: str
    lang: str
    units: int
    words: str


@dataclass(frozen=True, slots=True)
class SearchResult(Result):
    """Documents, best first, and domains, largest first, that contain all the words."""

    documents: Sequence[DocumentHit]
    domains: Sequence[DomainHit]


@dataclass(frozen=True, slots=True)
class DocumentSummary(Result):
    """A document with the date and title of its present version, and the units of all versions."""

    id: str
    date: str | None
    title: str
    units: int


_SUMMARY = (
    "SELECT d.uid, v.date, v.title, (SELECT count(*) FROM units u WHERE u.document = d.id)"
    " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
)


def search(store: Store, query: str, limit: int = 20, *, documents: bool = True) -> SearchResult:
    """Return at most `limit` documents and `limit` domains that contain all the words.

    Without `documents`, only domains are looked for.
    """
    match = full_text_query(query)
    with store.frozen():
        stories = store.rows(
            "SELECT d.uid, v.date, v.lang, v.title, snippet(versions_fts, -1, '[', ']', ' … ', ?)"
            " FROM versions_fts f JOIN versions v ON v.id = f.rowid"
            " JOIN documents d ON d.id = v.document AND d.version = v.number"
            " WHERE versions_fts MATCH ? ORDER BY bm25(versions_fts), d.id LIMIT ?",
            [SNIPPET_WORDS, match, limit],
        )
        domains = store.rows(
            "SELECT m.id, m.label, m.lang, m.units, m.top_words FROM domains_fts f"
            " JOIN domains m ON m.id = f.rowid WHERE domains_fts MATCH ? AND m.units > 0"
            " ORDER BY m.units DESC, m.id LIMIT ?",
            [match, limit],
        )
        return SearchResult(
            [DocumentHit(*row) for row in stories] if documents else [],
            [DomainHit(*row) for row in domains],
        )


def matching_documents(store: Store, query: str) -> list[DocumentSummary]:
    """Return every document of which one version, present or earlier, contains all the words."""
    return [
        DocumentSummary(*row)
        for row in store.rows(
            f"{_SUMMARY} WHERE d.id IN (SELECT w.document FROM versions_fts f JOIN versions w"
            " ON w.id = f.rowid WHERE versions_fts MATCH ?) ORDER BY d.id",
            [full_text_query(query)],
        )
    ]


def describe_document(store: Store, uid: str) -> DocumentSummary:
    """Return the summary of the document with an id."""
    row = store.row(f"{_SUMMARY} WHERE d.uid = ?", [uid])
    if row is None:
        raise MissingInputError(f"no document is called {uid!r}; `segapsith search` finds ids")
    return DocumentSummary(*row)


def full_text_query(query: str) -> str:
    """Return an FTS5 query for all the words, each taken literally.

    >>> full_text_query('interest "rates"')
    '"interest" \"""rates\"""'
    """
    words = [word.replace('"', '""') for word in query.split()]
    if not words:
        raise UsageError("search for at least one word")
    return " ".join(f'"{word}"' for word in words)
