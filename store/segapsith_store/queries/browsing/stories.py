"""One story in full, and short descriptions of stories for lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from segapsith.errors import MissingInputError
from segapsith.model import Document, Json, Result
from segapsith_store.identity import document_id
from segapsith_store.queries.documents import HEADLINE_CHARS
from segapsith_store.store import Store

__all__ = [
    "Copy",
    "Story",
    "StoryText",
    "StoryUnit",
    "UnitSummary",
    "best_units",
    "count_sources",
    "describe_units",
    "read_story",
    "units_of_event",
]


@dataclass(frozen=True, slots=True)
class StoryUnit(Result):
    """A unit of the present text, with its domain; a copy has the domains of its original."""

    unit: int
    start: int
    end: int
    kept: bool
    domain: int | None
    label: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class StoryText(Result):
    """One version of the text of a story."""

    version: int
    run: int
    read_at: str
    date: str | None
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Copy(Result):
    """Another document with the same story."""

    id: str
    date: str | None
    source: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story(Result):
    """A story with its units, its versions, its copies and where it was seen."""

    id: str
    title: str
    text: str
    date: str | None
    lang: str
    source: str
    version: int
    run: int
    duplicate_of: str | None
    seen_in: Sequence[str]
    units: Sequence[StoryUnit]
    versions: Sequence[StoryText]
    copies: Sequence[Copy]
    metadata: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class UnitSummary(Result):
    """A unit in a list: its story and how well it fits its domain."""

    unit: int
    document: str
    title: str
    date: str | None
    source: str
    lang: str
    domain: int | None
    score: float | None


def read_story(store: Store, uid: str) -> Story:
    """Return one story; raise an error if there is no document with this id."""
    with store.frozen():
        uid = document_id(store, uid)
        row = store.row(
            "SELECT d.id, d.version, d.run, o.id, o.uid FROM documents d"
            " LEFT JOIN documents o ON o.id = d.duplicate_of WHERE d.uid = ?",
            [uid],
        )
        if row is None:
            raise MissingInputError(f"no document is called {uid!r}; `segapsith search` finds ids")
        number, version, run, original, original_uid = row
        texts = _texts(store, number)
        present = next(text for text in texts if text.version == version)
        lang, source, metadata = store.row(
            "SELECT lang, source, metadata FROM versions WHERE document = ? AND number = ?",
            [number, version],
        ) or ("", "", "{}")
        return Story(
            id=uid,
            title=present.title,
            text=present.text,
            date=present.date,
            lang=lang,
            source=source,
            version=version,
            run=run,
            duplicate_of=original_uid,
            seen_in=[
                name
                for (name,) in store.rows(
                    "SELECT source FROM sightings WHERE document = ? AND source <> ''"
                    " ORDER BY run, source",
                    [number],
                )
            ],
            units=_placed_like(
                _units(store, number), None if original is None else _units(store, original)
            ),
            versions=texts,
            copies=_copies(store, original or number, uid),
            metadata=json.loads(metadata),
        )


def _texts(store: Store, document: int) -> list[StoryText]:
    """Return the versions of a document, the first one first."""
    return [
        StoryText(version, run, at, date, title, Document(title=title, body=body).text)
        for version, run, at, date, title, body in store.rows(
            "SELECT v.number, v.run, r.started_at, v.date, v.title, v.body FROM versions v"
            " JOIN runs r ON r.id = v.run WHERE v.document = ? ORDER BY v.number",
            [document],
        )
    ]


def _units(store: Store, document: int) -> list[StoryUnit]:
    return [
        StoryUnit(unit, start, end, bool(is_kept), *place)
        for unit, start, end, is_kept, *place in store.rows(
            'SELECT u.id, u.start, u."end", u.kept, a.domain, m.label, a.score'
            " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
            " JOIN units u ON u.version = v.id LEFT JOIN assignments a ON a.unit = u.id"
            " LEFT JOIN domains m ON m.id = a.domain WHERE d.id = ? ORDER BY u.position",
            [document],
        )
    ]


def _placed_like(
    units: Sequence[StoryUnit], originals: Sequence[StoryUnit] | None
) -> Sequence[StoryUnit]:
    """Return the units of a copy with the domains of its original, by position."""
    if not originals:
        return units
    places = [originals[min(i, len(originals) - 1)] for i in range(len(units))]
    return [
        replace(unit, domain=of.domain, label=of.label, score=of.score)
        for unit, of in zip(units, places, strict=True)
    ]


def _copies(store: Store, original: int, uid: str) -> list[Copy]:
    """Return the other documents with the same story: the original and its copies."""
    return [
        Copy(*row)
        for row in store.rows(
            "SELECT d.uid, v.date, v.source, v.title FROM documents d JOIN versions v"
            " ON v.document = d.id AND v.number = d.version"
            " WHERE (d.id = ? OR d.duplicate_of = ?) AND d.uid <> ? ORDER BY d.id",
            [original, original, uid],
        )
    ]


def describe_units(store: Store, units: Sequence[int]) -> list[UnitSummary]:
    """Return the stories of some units, in the order given; units that do not exist are left out."""
    rows = {
        unit: UnitSummary(
            unit, uid, " ".join((title or begin or uid).split()), date, source, lang, *place
        )
        for unit, uid, title, begin, date, source, lang, *place in store.rows(
            "SELECT u.id, d.uid, v.title, substr(v.body, 1, ?), v.date, v.source, v.lang,"
            " a.domain, a.score FROM json_each(?) j JOIN units u ON u.id = j.value"
            " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
            " LEFT JOIN assignments a ON a.unit = u.id",
            [HEADLINE_CHARS, json.dumps(list(units))],
        )
    }
    return [rows[unit] for unit in units if unit in rows]


def best_units(store: Store, units: Iterable[int], most: int = 1) -> list[int]:
    """Return those of some units that fit their domain best, ties by id."""
    return [
        unit
        for (unit,) in store.rows(
            "SELECT a.unit FROM json_each(?) j JOIN assignments a ON a.unit = j.value"
            " ORDER BY a.score DESC, a.unit LIMIT ?",
            [json.dumps(list(units)), most],
        )
    ]


def units_of_event(store: Store, event: int, most: int) -> list[int]:
    """Return units of an event, those of the first stories first."""
    return [
        unit
        for (unit,) in store.rows(
            "SELECT a.unit FROM assignments a JOIN units u ON u.id = a.unit"
            " JOIN versions v ON v.id = u.version WHERE a.event = ?"
            " ORDER BY v.date, a.unit LIMIT ?",
            [event, most],
        )
    ]


def count_sources(store: Store, domain: int, most: int = 12) -> dict[str, int]:
    """Return the sources of the units of a domain with their numbers, the largest first."""
    return dict(
        store.rows(
            "SELECT v.source, count(*) AS n FROM assignments a JOIN units u ON u.id = a.unit"
            " JOIN versions v ON v.id = u.version WHERE a.domain = ? GROUP BY v.source"
            " ORDER BY n DESC, v.source LIMIT ?",
            [domain, most],
        )
    )
