"""Documents, units and assignments, row by row as they are exported."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from segapsith.intake.media_topics import named_codes, topic_name
from segapsith.lexicon.sentences import best_sentence
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Json, Result
from segapsith_store import codecs
from segapsith_store.queries.topics import section_of_topic, topic_of_domain
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

__all__ = [
    "AssignmentRow",
    "DocumentRow",
    "DomainUnit",
    "UnitPlace",
    "UnitRow",
    "example_sentences",
    "headlines",
    "iterate_assignments",
    "iterate_documents",
    "iterate_units",
    "unit_places",
    "units_by_score",
]

MAX_SENTENCE_CHARS = 220
HEADLINE_CHARS = 80


@dataclass(frozen=True, slots=True)
class DocumentRow(Result):
    """A document with its present text."""

    id: str
    date: str | None
    lang: str
    source: str
    title: str
    text: str
    version: int
    duplicate_of: str | None
    metadata: Mapping[str, Json]
    media_topics: Sequence[str] = ()
    """Names of the top-level IPTC topics whose codes are in `metadata.subjects`."""


@dataclass(frozen=True, slots=True)
class UnitRow(Result):
    """A unit with its words and, beside them, the words that were inferred for it."""

    unit: int
    document: str
    start: int
    end: int
    cohesion: float
    kept: bool
    domain: int | None
    words: Mapping[str, int]
    inferred: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class AssignmentRow(Result):
    """A unit of a document with its domain; a duplicate has the domains of its original."""

    document: str
    unit: int
    start: int
    end: int
    domain: int | None
    topic: int | None
    section: int | None
    event: int | None
    score: float | None


def iterate_documents(store: Store) -> Iterator[DocumentRow]:
    """Yield every document with its present text, by id."""
    for *head, metadata in store.rows(
        "SELECT d.uid, v.date, v.lang, v.source, v.title, v.body, v.number, o.uid, v.metadata"
        " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
        " LEFT JOIN documents o ON o.id = d.duplicate_of ORDER BY d.id"
    ):
        fields = json.loads(metadata)
        subjects = fields.get("subjects")
        codes = named_codes(subjects) if isinstance(subjects, list) else []
        yield DocumentRow(*[*head, fields, [topic_name(code, head[2]) for code in codes]])


def iterate_units(store: Store) -> Iterator[UnitRow]:
    """Yield every unit of the present texts of the stories, with its words, by id."""
    with store.frozen():
        names = Words(store)
        for *head, is_kept, domain, blob in store.rows(
            'SELECT u.id, d.uid, u.start, u."end", u.cohesion, u.kept, a.domain, u.words'
            " FROM units u JOIN versions v ON v.id = u.version JOIN documents d"
            " ON d.id = u.document AND d.version = v.number"
            " LEFT JOIN assignments a ON a.unit = u.id"
            " WHERE d.duplicate_of IS NULL ORDER BY u.id"
        ):
            words, inferred = _words_of(blob, names)
            yield UnitRow(*[*head, bool(is_kept), domain, words, inferred])


def _words_of(blob: bytes, names: Words) -> tuple[dict[str, int], dict[str, float]]:
    """Return the counts of the words in the text, and the weights of the inferred words."""
    counts: dict[str, int] = {}
    inferred: dict[str, float] = {}
    for word, count, weight in zip(*(part.tolist() for part in codecs.bag_from(blob)), strict=True):
        if count:
            counts[names.name(word)] = count
        else:
            inferred[names.name(word)] = round(weight / SCALE, 4)
    return counts, inferred


class _Placed(NamedTuple):
    """The domain of a unit, its score there, and its event."""

    domain: int | None
    score: float | None
    event: int | None


def iterate_assignments(store: Store) -> Iterator[AssignmentRow]:
    """Yield every unit of every document with its domain: originals first, then duplicates."""
    originals: dict[int, list[_Placed]] = {}
    with store.frozen():
        topic_of, section_of = topic_of_domain(store), section_of_topic(store)
        for document, uid, original, unit, start, end, position, *place in store.rows(
            'SELECT d.id, d.uid, d.duplicate_of, u.id, u.start, u."end", u.position, a.domain,'
            " a.score, a.event FROM documents d JOIN versions v ON v.document = d.id"
            " AND v.number = d.version JOIN units u ON u.version = v.id"
            " LEFT JOIN assignments a ON a.unit = u.id"
            " ORDER BY d.duplicate_of IS NOT NULL, d.id, u.id"
        ):
            if original is None:
                placed = _Placed(*place)
                originals.setdefault(document, []).append(placed)
            else:
                placed = _corresponding(originals.get(original, []), position)
            topic = None if placed.domain is None else topic_of.get(placed.domain)
            section = None if topic is None else section_of.get(topic)
            yield AssignmentRow(
                uid, unit, start, end, placed.domain, topic, section, placed.event, placed.score
            )


def _corresponding(units: Sequence[_Placed], position: int) -> _Placed:
    """Return the place of the original's unit at a position, or of its last unit."""
    return units[min(position, len(units) - 1)] if units else _Placed(None, None, None)


class UnitPlace(NamedTuple):
    """A unit with its document and its characters there."""

    unit: int
    document: str
    start: int
    end: int


def unit_places(store: Store, units: Sequence[int]) -> list[UnitPlace]:
    """Return where units are, in the order given."""
    selected = set(units)
    places = {
        row[0]: UnitPlace(*row)
        for row in store.rows(
            'SELECT u.id, d.uid, u.start, u."end" FROM units u JOIN documents d ON d.id = u.document'
        )
        if row[0] in selected
    }
    return [places[unit] for unit in units]


def headlines(store: Store, units: Sequence[int]) -> list[str]:
    """Return the title of each unit's text; without one, the beginning of the text, or its id."""
    titles = []
    with store.frozen():
        for unit in units:
            (row,) = store.rows(
                "SELECT v.title, substr(v.body, 1, ?), d.uid FROM units u"
                " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
                " WHERE u.id = ?",
                [HEADLINE_CHARS, unit],
            )
            titles.append(next((" ".join(text.split()) for text in row if text), ""))
    return titles


class DomainUnit(NamedTuple):
    """A unit of a domain, with the title and the day of its text."""

    domain: int
    unit: int
    title: str
    day: str | None


def units_by_score(store: Store, domains: Iterable[int]) -> Iterator[DomainUnit]:
    """Yield the units of some domains, in descending order of their scores."""
    for row in store.rows(
        "SELECT a.domain, u.id, v.title, substr(v.date, 1, 10) FROM assignments a"
        " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        " WHERE a.domain IN (SELECT value FROM json_each(?)) ORDER BY a.score DESC, u.id",
        [json.dumps(sorted(domains))],
    ):
        yield DomainUnit(*row)


def example_sentences(
    store: Store, words: Mapping[int, Sequence[str]], max_chars: int = MAX_SENTENCE_CHARS
) -> dict[int, str]:
    """Return of each unit the sentence with most of its given words; units without text have none."""
    sentences: dict[int, str] = {}
    with store.frozen():
        for unit, given in words.items():
            row = store.row("SELECT text FROM unit_texts WHERE id = ?", [unit])
            sentence = best_sentence(row[0], given, max_chars=max_chars) if row and row[0] else None
            if sentence is not None:
                sentences[unit] = sentence
    return sentences
