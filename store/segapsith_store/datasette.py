"""The metadata of a store for Datasette: descriptions, full text, facets, queries."""

from __future__ import annotations

from segapsith.model import Json
from segapsith_store.schema import TABLES, VIEWS

__all__ = ["metadata"]

_HIDDEN = frozenset(
    {
        "blocks",
        "clusterings",
        "epochs",
        "groupings",
        "pair_runs",
        "reference_corpora",
        "section_groupings",
        "term_runs",
        "tombstones",
        "unlabelled",
        # with a view that shows them without their arrays
        "domains",
        "events",
        "units",
        "versions",
    }
)
"""Tables with columns of arrays and hashes; Datasette can hide a table, but not a column."""

_FACETS: dict[str, list[Json]] = {
    "stories": ["lang", "source"],
    "domain_sizes": ["lang", "status"],
    "versions": ["lang", "source"],
    "domains": ["lang", "status"],
    "runs": ["command", "status"],
}

_FULL_TEXT = {
    "stories": ("versions_fts", "text_id"),
    "unit_texts": ("versions_fts", "text_id"),
    "domain_sizes": ("domains_fts", "id"),
    "domain_days": ("domains_fts", "domain"),
}
"""Index of a view, and the view's column that has the row of the index."""

_VIEW_COLUMNS: dict[str, dict[str, Json]] = {
    "stories": {
        "id": "of the document",
        "uid": "the id it came with, or the hash of its text",
        "date": "UTC, ISO 8601",
        "lang": "language it was read in",
        "source": "agency or feed",
        "title": "present title",
        "body": "present text",
        "version": "the number of its present version",
        "duplicate_of": "uid of the story that it repeats",
        "seen_in": "number of places where it was seen",
        "text_id": "row of its present text in `versions` and in the full-text index",
    },
    "domain_sizes": {
        "id": "of the domain",
        "label": "given by a person, or the heaviest words",
        "lang": "language of its words",
        "status": "open, retired, merged or split",
        "units": "units in it",
        "documents": "stories with a unit in it",
        "first": "date of its first story",
        "last": "date of its last story",
        "top_words": "heaviest words",
    },
    "unit_texts": {
        "id": "of the unit",
        "document": "uid of its story",
        "date": "date of its story",
        "start": "first character",
        "end": "character after the last",
        "kept": "1 if it is learned from",
        "text": "its own text",
        "domain": "its domain",
        "label": "label of that domain",
        "score": "similarity with which it joined",
        "text_id": "row of its text in `versions` and in the full-text index",
    },
    "domain_days": {
        "domain": "a domain",
        "label": "its label",
        "day": "a day",
        "units": "units of that day",
    },
    "event_list": {
        "id": "of the event",
        "stories": "stories",
        "units": "units of its stories",
        "first": "its first day",
        "last": "its last day",
        "closed": "1 if it takes no more stories",
    },
}

_QUERIES = (
    (
        "search_stories",
        "Stories with these words, the best first",
        (
            "SELECT s.uid, s.date, s.source, s.title, snippet(versions_fts, 1, '', '', '…', 24) AS text"
            " FROM versions_fts f JOIN versions v ON v.id = f.rowid"
            " JOIN stories s ON s.id = v.document AND s.version = v.number"
            " WHERE versions_fts MATCH :words ORDER BY rank LIMIT 100"
        ),
    ),
    (
        "largest_domains",
        "The largest open domains",
        (
            "SELECT id, label, lang, units, documents, first, last FROM domain_sizes"
            " WHERE status = 'open' ORDER BY units DESC, id LIMIT 100"
        ),
    ),
    (
        "days_of_a_domain",
        "Units of one domain by day",
        "SELECT day, units FROM domain_days WHERE domain = :domain ORDER BY day",
    ),
    (
        "stories_by_day",
        "Stories by day and language",
        (
            "SELECT substr(date, 1, 10) AS day, lang, count(*) AS stories FROM stories"
            " WHERE duplicate_of IS NULL GROUP BY day, lang ORDER BY day DESC"
        ),
    ),
)


def metadata(database: str) -> dict[str, Json]:
    """Return the metadata of a store for Datasette, which calls a file by its name without .db."""
    tables: dict[str, Json] = {}
    for table in TABLES:
        about: dict[str, Json] = {
            "description": table.about,
            "columns": {name: meaning for name, _, meaning in (*table.columns, *table.added)},
        }
        if table.name in _HIDDEN:
            about["hidden"] = True
        if table.name in _FACETS:
            about["facets"] = _FACETS[table.name]
        tables[table.name] = about
    for view in VIEWS:
        shown: dict[str, Json] = {
            "description": view.about,
            "columns": _VIEW_COLUMNS[view.name],
        }
        if view.name in _FULL_TEXT:
            shown["fts_table"], shown["fts_pk"] = _FULL_TEXT[view.name]
        if view.name in _FACETS:
            shown["facets"] = _FACETS[view.name]
        tables[view.name] = shown
    queries: dict[str, Json] = {name: {"title": title, "sql": sql} for name, title, sql in _QUERIES}
    return {"databases": {database: {"tables": tables, "queries": queries}}}
