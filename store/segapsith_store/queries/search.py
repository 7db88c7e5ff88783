"""Full-text search over documents and domains."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from segapsith.errors import MissingInputError, UsageError
from segapsith.model import Result
from segapsith_store import codecs
from segapsith_store.identity import document_id
from segapsith_store.store import Store

__all__ = [
    "DocumentHit",
    "DocumentSummary",
    "DomainHit",
    "Forms",
    "SearchResult",
    "StoryDomain",
    "TextMatch",
    "describe_document",
    "find_domains",
    "full_text_query",
    "matching_documents",
    "search",
    "text_match",
]

SNIPPET_WORDS = 16

SNIPPET_CHARACTERS = 40
"""The same where every character is a word of the index."""

MAX_STORIES = 5_000
"""Stories with the words, best first, whose domains are counted."""

LEAST_STORIES, LEAST_SHARE = 2, 0.1
"""A domain is found by its stories if that many of its units, and that share, have the words."""


@dataclass(frozen=True, slots=True)
class StoryDomain(Result):
    """A domain of a story."""

    id: int
    label: str


@dataclass(frozen=True, slots=True)
class DocumentHit(Result):
    """A document that contains the words, with the passage where they are."""

    id: str
    date: str | None
    lang: str
    title: str
    snippet: str
    domains: Sequence[StoryDomain] = ()
    """Its domains, the one with most of its units first; a copy has those of its original."""


@dataclass(frozen=True, slots=True)
class DomainHit(Result):
    """A domain whose label, best words or stories contain the words."""

    id: int
    label: str
    lang: str
    units: int
    words: str
    matches: int = 0
    """Its units in stories that contain the words as a phrase."""


@dataclass(frozen=True, slots=True)
class SearchResult(Result):
    """Documents, best first, and domains that contain all the words.

    Domains that a person named so come first, then those with most units in such stories.
    """

    documents: Sequence[DocumentHit]
    domains: Sequence[DomainHit]


@dataclass(frozen=True, slots=True)
class DocumentSummary(Result):
    """A document with the date and title of its present version, and the units of all versions."""

    id: str
    date: str | None
    title: str
    units: int


Forms: TypeAlias = Callable[[str], Sequence[str]]
"""What gives other forms of a word."""


class TextMatch(NamedTuple):
    """A query for texts: the table of the full-text index to ask, and what to ask it for."""

    table: str
    match: str

    def snippet(self, before: str, after: str) -> str:
        """Return SQL for the passage where the words are, marked; `codecs.joined` makes it readable."""
        words = SNIPPET_WORDS if self.table == "versions_fts" else SNIPPET_CHARACTERS
        return f"snippet({self.table}, -1, '{before}', '{after}', ' … ', {words})"


def text_match(query: str, *, phrase: bool = False, forms: Forms | None = None) -> TextMatch:
    """Return the query for texts that contain all the words, or the words next to each other.

    With `forms`, other forms of a word count as the word. Texts in scripts without spaces have an
    index of their own, where a word is found inside others.

    >>> text_match("interest rates")
    TextMatch(table='versions_fts', match='"interest" "rates"')
    >>> text_match("rates", forms=lambda word: ["rate"])
    TextMatch(table='versions_fts', match='("rates" OR "rate")')
    """
    unspaced = codecs.is_unspaced(query)
    if forms is not None and not unspaced and query.split():
        words = ([word, *forms(word)] for word in query.split())
        either = (" OR ".join(map(full_text_query, group)) for group in words)
        return TextMatch("versions_fts", " AND ".join(f"({group})" for group in either))
    match = (_phrase if phrase else full_text_query)(codecs.separated(query) if unspaced else query)
    return TextMatch("unspaced_fts" if unspaced else "versions_fts", match)


_SUMMARY = (
    "SELECT d.uid, v.date, v.title, (SELECT count(*) FROM units u WHERE u.document = d.id)"
    " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
)


def search(
    store: Store,
    query: str,
    limit: int = 20,
    *,
    documents: bool = True,
    forms: Forms | None = None,
) -> SearchResult:
    """Return at most `limit` documents and `limit` domains that contain all the words.

    Without `documents`, only domains are looked for. With `forms`, documents may have other forms
    of the words.
    """
    words = text_match(query, forms=forms)
    with store.frozen():
        stories = store.rows(
            "SELECT d.id, coalesce(d.duplicate_of, d.id), d.uid, v.date, v.lang, v.title,"
            f" {words.snippet('[', ']')} FROM {words.table} f JOIN versions v ON v.id = f.rowid"
            " JOIN documents d ON d.id = v.document AND d.version = v.number"
            f" WHERE {words.table} MATCH ? ORDER BY bm25({words.table}), d.id LIMIT ?",
            [words.match, limit],
        )
        listed = list(stories) if documents else []
        domains = _domains_of(store, {row[1] for row in listed})
        return SearchResult(
            [
                DocumentHit(*[*columns, codecs.joined(snippet), domains.get(original, [])])
                for _, original, *columns, snippet in listed
            ],
            find_domains(store, query, limit),
        )


def _domains_of(store: Store, documents: set[int]) -> dict[int, list[StoryDomain]]:
    """Return the domains of some documents, those with most of the units first."""
    domains: dict[int, list[StoryDomain]] = {}
    for document, domain, label in store.rows(
        "SELECT u.document, m.id, m.label FROM json_each(?) j"
        " JOIN units u ON u.document = j.value JOIN assignments a ON a.unit = u.id"
        " JOIN domains m ON m.id = a.domain GROUP BY u.document, m.id"
        " ORDER BY u.document, count(*) DESC, min(u.position)",
        [json.dumps(sorted(documents))],
    ):
        domains.setdefault(document, []).append(StoryDomain(domain, label))
    return domains


def find_domains(
    store: Store,
    query: str,
    limit: int,
    count: Callable[[TextMatch], tuple[Mapping[int, int], int]] | None = None,
) -> list[DomainHit]:
    """Return the domains that have the words in their label, their best words or their stories.

    `count` returns units by domain of the stories that match, and the number of these stories, if
    the caller can count faster than a query can.
    """
    words = full_text_query(query)
    by_label = _matching_domains(store, f"label : ({words})")
    by_words = by_label | _matching_domains(store, words)
    phrase = text_match(query, phrase=True)
    by_stories, n_stories = _story_counts(store, phrase) if count is None else count(phrase)
    sizes, named = {}, set()
    for number, units, has_name in store.rows(
        "SELECT m.id, m.units, m.named FROM json_each(?) j JOIN domains m ON m.id = j.value"
        " WHERE m.units > 0",
        [json.dumps(sorted(by_words | by_stories.keys()))],
    ):
        sizes[number] = units
        if has_name and number in by_label:
            named.add(number)
    wanted = [
        number
        for number, units in sizes.items()
        if number in by_words
        or by_stories[number] >= max(LEAST_STORIES, LEAST_SHARE * min(units, n_stories))
    ]
    wanted.sort(
        key=lambda number: (
            number not in named,
            -by_stories.get(number, 0),
            -sizes[number],
            number,
        )
    )
    described = {
        row[0]: row
        for row in store.rows(
            "SELECT m.id, m.label, m.lang, m.units, m.top_words FROM json_each(?) j"
            " JOIN domains m ON m.id = j.value",
            [json.dumps(wanted[:limit])],
        )
    }
    return [
        DomainHit(*[*described[number], by_stories.get(number, 0)]) for number in wanted[:limit]
    ]


def _matching_domains(store: Store, match: str) -> set[int]:
    return {
        number
        for (number,) in store.rows(
            "SELECT rowid FROM domains_fts WHERE domains_fts MATCH ?", [match]
        )
    }


def _story_counts(store: Store, words: TextMatch) -> tuple[dict[int, int], int]:
    """Return units by domain of the stories that match, and the number of these stories."""
    stories = [
        number
        for (number,) in store.rows(
            # ranked before the join: a frequent word has many texts
            f"SELECT v.id FROM (SELECT rowid FROM {words.table} WHERE {words.table} MATCH ?"
            f" ORDER BY bm25({words.table}), rowid LIMIT ?) f JOIN versions v ON v.id = f.rowid"
            " JOIN documents d ON d.id = v.document AND d.version = v.number",
            [words.match, MAX_STORIES],
        )
    ]
    counts = store.rows(
        "SELECT a.domain, count(*) FROM json_each(?) j JOIN units u ON u.version = j.value"
        " JOIN assignments a ON a.unit = u.id GROUP BY a.domain",
        [json.dumps(stories)],
    )
    return dict(counts), len(stories)


def _phrase(query: str) -> str:
    """Return an FTS5 query for the words next to each other.

    >>> _phrase("Tony Blair")
    '"Tony Blair"'
    """
    return full_text_query(query).replace('" "', " ")


def matching_documents(store: Store, query: str) -> list[DocumentSummary]:
    """Return every document of which one version, present or earlier, contains all the words."""
    words = text_match(query)
    return [
        DocumentSummary(*row)
        for row in store.rows(
            f"{_SUMMARY} WHERE d.id IN (SELECT w.document FROM {words.table} f JOIN versions w"
            f" ON w.id = f.rowid WHERE {words.table} MATCH ?) ORDER BY d.id",
            [words.match],
        )
    ]


def describe_document(store: Store, uid: str) -> DocumentSummary:
    """Return the summary of the document with an id."""
    row = store.row(f"{_SUMMARY} WHERE d.uid = ?", [document_id(store, uid)])
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
