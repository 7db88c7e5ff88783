"""Questions that people ask a store; the answers have the shape of the contract's JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.domains import DomainWords
from segapsith.errors import MissingInputError, UsageError
from segapsith.knowledge import Frozen
from segapsith.validation import LearnedUnits
from segapsith.weighting import SCALE, significance
from segapsith_store import arrays
from segapsith_store.digest import digest
from segapsith_store.schema import SCHEMA
from segapsith_store.store import Store

__all__ = [
    "assignments",
    "documents",
    "domain",
    "domains",
    "learned_units",
    "runs",
    "search",
    "status",
    "units",
    "weighed",
]

STABLE = 15
"""Units from which a domain is called stable (algorithms §2.4)."""

_LEARNED = (
    "FROM units u JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
    " AND d.version = v.number WHERE d.duplicate_of IS NULL"
)


def status(store: Store) -> dict[str, Any]:
    """Counts, the digest, the last run."""
    with store.frozen():
        last = store.row(
            "SELECT id, command, status, started_at, finished_at FROM runs ORDER BY id DESC LIMIT 1"
        )
        names = ("id", "command", "status", "started_at", "finished_at")
        return {
            "store": store.path,
            "schema": SCHEMA,
            "digest": digest(store),
            "documents": store.number("SELECT count(*) FROM documents WHERE duplicate_of IS NULL"),
            "duplicates": store.number(
                "SELECT count(*) FROM documents WHERE duplicate_of IS NOT NULL"
            ),
            "corrections": store.number("SELECT count(*) FROM versions WHERE number > 1"),
            "units": store.number(f"SELECT count(*) {_LEARNED}"),
            "domains": store.number("SELECT count(*) FROM domains WHERE units > 0"),
            "stable_domains": store.number(
                "SELECT count(*) FROM domains WHERE units >= ?", [STABLE]
            ),
            "words": store.number("SELECT count(*) FROM words WHERE occurrences > 0"),
            "languages": {lang: n for lang, (n, _) in sorted(store.languages().items()) if n},
            "rejects": store.number("SELECT count(*) FROM rejects"),
            "runs": store.number("SELECT count(*) FROM runs"),
            "last_run": dict(zip(names, last, strict=True)) if last else None,
            "sqlite_version": sqlite3.sqlite_version,
        }


class _Words:
    """Domain sums to weighted words, with the words' names looked up once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[int, str] = {}
        self._significance: NDArray[np.float64] | None = None
        if store.facts().get("domain_weight") == "occurrence-significance":
            self._significance = self._learned()

    def _learned(self) -> NDArray[np.float64]:
        record = self._store.frozen_arrays("frequencies")
        if record is None:
            return np.zeros(0)
        frozen = Frozen.of(dict(record.arrays))
        values = np.ones(len(frozen.occurrences))
        for number, lang, _, _, _ in self._store.words():
            if number < len(values):
                tokens = frozen.totals.get(lang, (0, 0))[1]
                values[number] = significance(tokens, frozen.occurrences[number : number + 1])[0]
        return values

    def name(self, number: int) -> str:
        if not self._names:
            self._names = {
                number: word for number, word in self._store.rows("SELECT id, word FROM words")
            }
        return self._names[number]

    def significance(self, numbers: NDArray[np.integer]) -> NDArray[np.float64] | None:
        """How telling words are, where the store weighs by occurrence and significance."""
        if self._significance is None:
            return None
        values = np.ones(len(numbers))
        known = numbers < len(self._significance)
        values[known] = self._significance[numbers[known]]
        return values

    def best(self, sums: DomainWords, top: int | None) -> list[dict[str, Any]]:
        n_units = max(sums.n_units, 1)
        signif = self.significance(sums.words)
        if signif is None:
            weights = sums.weights / (float(SCALE) * n_units)
        else:
            weights = np.minimum(sums.occurrences, n_units) * signif / n_units
        order = np.lexsort((sums.words, -sums.occurrences, -weights))[:top]
        return [
            {
                "word": self.name(int(sums.words[i])),
                "weight": round(float(weights[i]), 6),
                "occurrences": int(sums.occurrences[i]),
            }
            for i in order
        ]


def domains(
    store: Store,
    *,
    min_units: int = 1,
    top: int | None = 10,
    since: str | None = None,
    limit: int | None = None,
    lang: str | None = None,
) -> list[dict[str, Any]]:
    """Domains with their best words, largest first, ties by id."""
    chosen, parameters = ["units >= ?"], [max(1, min_units)]
    values: list[Any] = []
    if lang is not None:
        chosen.append("lang = ?")
        values.append(lang)
    with store.frozen():
        names, spans = _Words(store), _spans(store)
        found: list[dict[str, Any]] = []
        for number, label, language, n_units in store.rows(
            f"SELECT id, label, lang, units FROM domains WHERE {' AND '.join(chosen)}"
            " ORDER BY units DESC, id",
            [*parameters, *values],
        ):
            n_documents, first, last = spans.get(number, (0, None, None))
            if since is not None and (last or "") < since:
                continue
            if limit is not None and len(found) == limit:
                break
            blob = store.row("SELECT words FROM domains WHERE id = ?", [number])
            assert blob is not None
            found.append(
                {
                    "id": number,
                    "label": label,
                    "lang": language,
                    "units": n_units,
                    "documents": n_documents,
                    "first": first,
                    "last": last,
                    "words": names.best(arrays.domain_from(blob[0], n_units), top),
                }
            )
        return found


def weighed(store: Store, numbers: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """All words of some domains with their weights, heaviest first."""
    names = _Words(store)
    found = {}
    for number in numbers:
        row = store.row("SELECT words, units FROM domains WHERE id = ?", [number])
        assert row is not None
        found[number] = names.best(arrays.domain_from(row[0], row[1]), None)
    return found


def _spans(store: Store) -> dict[int, tuple[int, str | None, str | None]]:
    """Of each domain: documents, first and last date."""
    return {
        number: (n_documents, first, last)
        for number, n_documents, first, last in store.rows(
            "SELECT a.domain, count(DISTINCT u.document), min(v.date), max(v.date)"
            " FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
            " GROUP BY a.domain"
        )
    }


def domain(store: Store, number: int, *, top: int | None = 40, near: int = 8) -> dict[str, Any]:
    """One domain: its words, units, documents, days, history and nearest domains."""
    with store.frozen():
        names = _Words(store)
        found = store.row(
            "SELECT label, lang, units, words, status FROM domains WHERE id = ?", [number]
        )
        if found is None or found[2] == 0:
            raise MissingInputError(f"there is no domain {number}; `segapsith domains` lists them")
        label, lang, n_units, blob, state = found
        sums = arrays.domain_from(blob, n_units)
        members = list(
            store.rows(
                "SELECT u.id, d.uid, v.date FROM assignments a JOIN units u ON u.id = a.unit"
                " JOIN documents d ON d.id = u.document JOIN versions v ON v.id = u.version"
                " WHERE a.domain = ? ORDER BY u.id",
                [number],
            )
        )
        dates = [date for _, _, date in members if date]
        days: dict[str, int] = {}
        for date in dates:
            days[date[:10]] = days.get(date[:10], 0) + 1
        return {
            "id": number,
            "label": label,
            "lang": lang,
            "status": state,
            "units": n_units,
            "documents": len({uid for _, uid, _ in members}),
            "first": min(dates, default=None),
            "last": max(dates, default=None),
            "words": names.best(sums, top),
            "unit_ids": [unit for unit, _, _ in members],
            "document_ids": list(dict.fromkeys(uid for _, uid, _ in members)),
            "days": dict(sorted(days.items())),
            "history": [
                {"run": run, "at": at, "kind": kind, **json.loads(detail)}
                for run, at, kind, detail in store.rows(
                    "SELECT e.run, r.started_at, e.kind, e.detail FROM events e"
                    " JOIN runs r ON r.id = e.run WHERE e.domain = ? ORDER BY e.id",
                    [number],
                )
            ],
            "near": _near(store, number, lang, sums, near),
        }


def _near(
    store: Store, number: int, lang: str, sums: DomainWords, most: int
) -> list[dict[str, Any]]:
    """The most similar other domains by eq. 7."""
    scores: list[tuple[float, int, str]] = []
    weights = dict(zip(sums.words.tolist(), sums.weights.tolist(), strict=True))
    total_weight, total_occurrences = int(sums.weights.sum()), int(sums.occurrences.sum())
    mine = np.array(sorted(weights), dtype=np.int64)
    for other, label, n_units, blob in store.rows(
        "SELECT id, label, units, words FROM domains WHERE units > 0 AND lang = ? AND id <> ?",
        [lang, number],
    ):
        theirs = arrays.domain_from(blob, n_units)
        here = np.isin(mine, theirs.words, assume_unique=True)
        if not here.any():
            continue
        there = np.isin(theirs.words, mine, assume_unique=True)
        score = (
            (int(sums.weights[here].sum()) / total_weight)
            * (int(sums.occurrences[here].sum()) / total_occurrences)
            * (int(theirs.weights[there].sum()) / int(theirs.weights.sum()))
            * (int(theirs.occurrences[there].sum()) / int(theirs.occurrences.sum()))
        ) ** 0.25
        scores.append((score, other, label))
    scores.sort(key=lambda s: (-s[0], s[1]))
    return [
        {"id": other, "label": label, "similarity": round(score, 6)}
        for score, other, label in scores[:most]
    ]


def runs(store: Store, limit: int | None = None) -> list[dict[str, Any]]:
    """The run log, newest first."""
    names = ("id", "command", "status", "name", "started_at", "finished_at")
    return [
        {
            **dict(zip(names, row[:6], strict=True)),
            "settings": json.loads(row[6]),
            "versions": json.loads(row[7]),
            "seed": row[8],
            "counts": json.loads(row[9]),
        }
        for row in store.rows(
            "SELECT id, command, status, name, started_at, finished_at, settings, versions, seed,"
            " counts FROM runs ORDER BY id DESC LIMIT ?",
            [-1 if limit is None else limit],
        )
    ]


def search(store: Store, query: str, limit: int = 20) -> dict[str, list[dict[str, Any]]]:
    """Documents and domains that have all the words, best first."""
    words = [w.replace('"', '""') for w in query.split()]
    if not words:
        raise UsageError("search for at least one word")
    match = " ".join(f'"{w}"' for w in words)
    with store.frozen():
        documents = [
            dict(zip(("id", "date", "lang", "title", "snippet"), row, strict=True))
            for row in store.rows(
                "SELECT d.uid, v.date, v.lang, v.title, snippet(versions_fts, -1, '[', ']', ' … ',"
                " 16) FROM versions_fts f JOIN versions v ON v.id = f.rowid"
                " JOIN documents d ON d.id = v.document AND d.version = v.number"
                " WHERE versions_fts MATCH ? ORDER BY bm25(versions_fts), d.id LIMIT ?",
                [match, limit],
            )
        ]
        domains = [
            dict(zip(("id", "label", "lang", "units", "words"), row, strict=True))
            for row in store.rows(
                "SELECT m.id, m.label, m.lang, m.units, m.top_words FROM domains_fts f"
                " JOIN domains m ON m.id = f.rowid WHERE domains_fts MATCH ? AND m.units > 0"
                " ORDER BY m.units DESC, m.id LIMIT ?",
                [match, limit],
            )
        ]
    return {"documents": documents, "domains": domains}


def assignments(store: Store) -> Iterator[dict[str, Any]]:
    """Every unit of every document with its domain; a repetition has its original's."""
    originals: dict[int, list[tuple[Any, ...]]] = {}
    for row in store.rows(
        'SELECT d.id, d.uid, d.duplicate_of, u.id, u.start, u."end", u.position, a.domain, a.score'
        " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
        " JOIN units u ON u.version = v.id LEFT JOIN assignments a ON a.unit = u.id"
        " ORDER BY d.duplicate_of IS NOT NULL, d.id, u.id"
    ):
        document, uid, original, unit, start, end, position, found, score = row
        if original is None:
            originals.setdefault(document, []).append((position, found, score))
        else:
            found, score = _same_place(originals.get(original, []), position)
        yield {
            "document": uid,
            "unit": unit,
            "start": start,
            "end": end,
            "domain": found,
            "topic": None,
            "score": score,
        }


def _same_place(places: list[tuple[Any, ...]], position: int) -> tuple[Any, Any]:
    """Domain and score of the original's unit at this place, or of its last one."""
    if not places:
        return None, None
    _, found, score = places[min(position, len(places) - 1)]
    return found, score


def documents(store: Store) -> Iterator[dict[str, Any]]:
    """Every document with its present text."""
    names = ("id", "date", "lang", "source", "title", "text", "version", "duplicate_of")
    for row in store.rows(
        "SELECT d.uid, v.date, v.lang, v.source, v.title, v.body, v.number, o.uid, v.metadata"
        " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
        " LEFT JOIN documents o ON o.id = d.duplicate_of ORDER BY d.id"
    ):
        yield {**dict(zip(names, row[:8], strict=True)), "metadata": json.loads(row[8])}


def units(store: Store) -> Iterator[dict[str, Any]]:
    """Every unit that is learned from, with its words."""
    names = _Words(store)
    for number, uid, start, end, cohesion, kept, found, blob in store.rows(
        'SELECT u.id, d.uid, u.start, u."end", u.cohesion, u.kept, a.domain, u.words FROM units u'
        " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
        " AND d.version = v.number LEFT JOIN assignments a ON a.unit = u.id"
        " WHERE d.duplicate_of IS NULL ORDER BY u.id"
    ):
        bag = arrays.bag_from(blob)
        yield {
            "unit": number,
            "document": uid,
            "start": start,
            "end": end,
            "cohesion": cohesion,
            "kept": bool(kept),
            "domain": found,
            "words": {
                names.name(w): c
                for w, c in zip(bag.words.tolist(), bag.counts.tolist(), strict=True)
            },
        }


def learned_units(store: Store, lang: str | None = None) -> LearnedUnits:
    """The units that are in a domain, as matrices of counts and weights."""
    ids, labels, bags = [], [], []
    question = (
        "SELECT u.id, a.domain, u.words FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN domains m ON m.id = a.domain"
    )
    parameters: list[Any] = []
    if lang is not None:
        question, parameters = f"{question} WHERE m.lang = ?", [lang]
    for unit, found, blob in store.rows(f"{question} ORDER BY u.id", parameters):
        ids.append(unit)
        labels.append(found)
        bags.append(arrays.bag_from(blob))
    all_words = np.concatenate([b.words for b in bags] or [np.zeros(0, dtype=np.int32)])
    used, columns = np.unique(all_words, return_inverse=True)
    pointers = np.concatenate([[0], np.cumsum([len(b.words) for b in bags], dtype=np.int64)])
    shape = (len(bags), len(used))
    names = _Words(store)

    def matrix(values: list[NDArray[np.int32]]) -> csr_array:
        data = np.concatenate(values or [np.zeros(0, dtype=np.int32)]).astype(np.float64)
        return csr_array((data, columns, pointers), shape=shape)

    weights = matrix([b.weights for b in bags])
    weights.data /= SCALE
    return LearnedUnits(
        np.array(ids, dtype=np.int64),
        np.array(labels, dtype=np.int64),
        matrix([b.counts for b in bags]),
        weights,
        [names.name(int(w)) for w in used],
        names.significance(used),
    )
