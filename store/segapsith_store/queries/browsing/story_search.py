"""Search for stories by words, period, language, source and domain, with hits per day.

The full-text index gives the texts that contain the words. Everything else is decided on columns
in memory, which are read once after each run, so that a frequent word costs little.
"""

from __future__ import annotations

import datetime
import itertools
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Result
from segapsith_store import codecs
from segapsith_store.queries.search import TextMatch, text_match
from segapsith_store.store import Store

__all__ = [
    "MARKS",
    "StoryColumns",
    "StoryHit",
    "StoryHits",
    "StoryQuery",
    "find_stories",
    "matching_documents",
    "read_columns",
]

_SALT = secrets.token_hex(4)
MARKS = (f"\ue000{_SALT}", f"\ue001{_SALT}")
"""What stands before and after a found word in a snippet; no text can know it in advance."""

MOST_RANKED = 3000
"""Hits up to which the best ones come first; more are ordered by date."""

ROWS = 10_000
"""Rows that are in memory at once."""

Column = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class StoryQuery(Result):
    """What stories to look for; empty fields restrict nothing."""

    words: str = ""
    since: str | None = None
    """First day, ISO."""
    until: str | None = None
    """Last day, ISO."""
    lang: str | None = None
    source: str | None = None
    newest: bool = False
    """Whether the newest come first instead of the best."""


@dataclass(frozen=True, slots=True)
class StoryHit(Result):
    """A story that was found."""

    id: str
    date: str | None
    lang: str
    source: str
    title: str
    snippet: str
    copy: bool


@dataclass(frozen=True, slots=True)
class StoryHits(Result):
    """A page of the stories found, their number, and their numbers by day."""

    total: int
    ranked: bool
    """Whether the best come first; too many hits are ordered by date."""
    days: Mapping[str, int]
    stories: Sequence[StoryHit]


@dataclass(frozen=True, slots=True)
class StoryColumns:
    """Facts about each text by version id; row 0 and gaps have the document 0."""

    documents: Column
    numbers: Column
    days: Column
    langs: Column
    sources: Column
    names: tuple[str, ...]
    """Languages and sources by their number."""
    current: Mapping[int, int]
    """The present version of the documents that have several."""

    def present(self) -> NDArray[np.bool_]:
        """Return by version id whether it is the present text of a document."""
        current = np.ones(int(self.documents.max(initial=0)) + 1, np.int32)
        for document, number in self.current.items():
            current[document] = number
        held: NDArray[np.bool_] = (self.documents > 0) & (self.numbers == current[self.documents])
        return held

    def code(self, name: str) -> int:
        """Return the number of a language or source; -1 if it does not occur."""
        return self.names.index(name) if name in self.names else -1

    def count_sources(self) -> dict[str, int]:
        """Return the sources with the numbers of their texts, the largest first."""
        codes, counts = np.unique(self.sources[self.documents > 0], return_counts=True)
        order = np.argsort(-counts, kind="stable").tolist()
        return {self.names[int(codes[i])]: int(counts[i]) for i in order}

    def languages(self) -> list[str]:
        """Return the languages of the texts, most frequent first."""
        codes, counts = np.unique(self.langs[self.documents > 0], return_counts=True)
        return [self.names[int(codes[i])] for i in np.argsort(-counts, kind="stable").tolist()]


def read_columns(store: Store, earlier: StoryColumns | None = None) -> StoryColumns:
    """Read the columns; those of versions that are in `earlier` are taken from it.

    After texts were deleted, all columns are read again.
    """
    with store.frozen():
        if earlier is not None:
            last = len(earlier.documents) - 1
            n_all = store.number("SELECT count(*) FROM versions")
            n_new = store.number("SELECT count(*) FROM versions WHERE id > ?", [last])
            if n_all - n_new != np.count_nonzero(earlier.documents):
                earlier = None
        last = 0 if earlier is None else len(earlier.documents) - 1
        names: dict[str, int] = (
            {} if earlier is None else {n: i for i, n in enumerate(earlier.names)}
        )
        size = max(last, store.number("SELECT max(id) FROM versions")) + 1
        table = np.zeros((5, size), np.int32)
        if earlier is not None:
            columns_kept = (
                earlier.documents,
                earlier.numbers,
                earlier.days,
                earlier.langs,
                earlier.sources,
            )
            table[:, : last + 1] = columns_kept
        rows = store.rows(
            "SELECT id, document, number, date, lang, source FROM versions WHERE id > ? ORDER BY id",
            [last],
        )
        while some := list(itertools.islice(rows, ROWS)):
            values = np.array(
                [
                    (number, document, count, _day_number(date), _numbered(names, lang),
                     _numbered(names, source))
                    for number, document, count, date, lang, source in some
                ],
                dtype=np.int64,
            )  # fmt: skip
            table[:, values[:, 0]] = values[:, 1:].T
        current = dict(store.rows("SELECT id, version FROM documents WHERE version > 1"))
        documents, numbers, days, langs, sources = table
        return StoryColumns(documents, numbers, days, langs, sources, tuple(names), current)


def _numbered(names: dict[str, int], name: str) -> int:
    return names.setdefault(name, len(names))


def _day_number(text: str | None) -> int:
    try:
        return datetime.date.fromisoformat(text[:10]).toordinal() if text else 0
    except ValueError:
        return 0


def find_stories(
    store: Store,
    query: StoryQuery,
    columns: StoryColumns,
    *,
    documents: NDArray[np.int32] | None = None,
    limit: int = 20,
    offset: int = 0,
) -> StoryHits:
    """Return a page of the stories that match, with the number of all of them by day.

    `documents` restricts the search to these documents, such as those of a domain.
    """
    with store.frozen():
        selected = _selected(store, query, columns, documents)
        days, counts = np.unique(columns.days[selected], return_counts=True)
        ranked = bool(query.words) and not query.newest and len(selected) <= MOST_RANKED
        if ranked:
            page = _best(store, query.words, selected, limit, offset)
        else:
            order = np.lexsort((-selected, -columns.days[selected]))
            page = selected[order[offset : offset + limit]].tolist()
        return StoryHits(
            total=len(selected),
            ranked=ranked,
            days={
                datetime.date.fromordinal(day).isoformat(): count
                for day, count in zip(days.tolist(), counts.tolist(), strict=True)
                if day
            },
            stories=_described(store, query.words, page),
        )


def _selected(
    store: Store, query: StoryQuery, columns: StoryColumns, documents: Column | None
) -> NDArray[np.int64]:
    """Return the versions that match, ascending."""
    mask = columns.present()
    if query.words.strip():
        mask &= _having(store, text_match(query.words), len(mask))
    for bound, sign in ((query.since, 1), (query.until, -1)):
        if bound:
            limit = datetime.date.fromisoformat(bound).toordinal()
            mask &= (columns.days > 0) & (sign * columns.days >= sign * limit)
    if query.lang:
        mask &= columns.langs == columns.code(query.lang)
    if query.source:
        mask &= columns.sources == columns.code(query.source)
    if documents is not None:
        mask &= np.isin(columns.documents, documents)
    return np.flatnonzero(mask)


def _having(store: Store, match: TextMatch, size: int) -> NDArray[np.bool_]:
    """Return by version id, below `size`, whether a text matches."""
    # one text of all numbers: a row of Python objects for each hit takes much longer
    row = store.row(
        f"SELECT group_concat(rowid) FROM {match.table} WHERE {match.table} MATCH ?", [match.match]
    )
    matching = np.fromstring((row and row[0]) or "", np.int64, sep=",")
    having = np.zeros(size, dtype=bool)
    having[matching[matching < size]] = True
    return having


def matching_documents(store: Store, match: TextMatch, columns: StoryColumns) -> Column:
    """Return the documents whose present text matches."""
    held = columns.present()
    documents: Column = columns.documents[held & _having(store, match, len(held))]
    return documents


def _best(
    store: Store, words: str, selected: NDArray[np.int64], limit: int, offset: int
) -> list[int]:
    allowed, page = set(selected.tolist()), []
    index, match = text_match(words)
    for (number,) in store.rows(
        f"SELECT rowid FROM {index} WHERE {index} MATCH ? ORDER BY bm25({index}), rowid", [match]
    ):
        if number in allowed:
            page.append(number)
            if len(page) == offset + limit:
                break
    return page[offset:]


def _described(store: Store, words: str, versions: Iterable[int]) -> list[StoryHit]:
    snippet, source, more = "substr(v.body, 1, 220)", "versions v", ""
    asked: list[str] = []
    if words.strip():
        query = text_match(words)
        snippet = query.snippet(*MARKS)
        source = f"{query.table} f JOIN versions v ON v.id = f.rowid"
        more = f" AND {query.table} MATCH ?"
        asked = [query.match]
    hits = []
    for number in versions:
        where = "f.rowid = ?" if more else "v.id = ?"
        row = store.row(
            f"SELECT d.uid, v.date, v.lang, v.source, v.title, {snippet},"
            f" d.duplicate_of IS NOT NULL FROM {source} JOIN documents d ON d.id = v.document"
            f" WHERE {where}{more}",
            [number, *asked],
        )
        if row is not None:
            *head, passage, copy = row
            hits.append(StoryHit(*[*head, codecs.joined(passage), bool(copy)]))
    return hits
