"""Questions that people ask a store; the answers have the shape of the contract's JSON."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.domains.index import LABEL_WORDS
from segapsith.domains.trends import Stream, bursts, trend
from segapsith.domains.values import Bag, DomainWords
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.errors import MissingInputError, UsageError
from segapsith.evaluation.validation import LearnedUnits
from segapsith.evaluation.views import Origin
from segapsith.lexicon.weighting import SCALE
from segapsith_store import codecs, seal
from segapsith_store.digest import digest
from segapsith_store.queries import history, targets
from segapsith_store.queries import topics as grouping
from segapsith_store.queries.words import Words
from segapsith_store.schema import SCHEMA
from segapsith_store.store import Store

__all__ = [
    "assignments",
    "described",
    "documents",
    "domain",
    "domains",
    "forgotten_since",
    "learned_units",
    "matching",
    "origins",
    "runs",
    "search",
    "status",
    "stream",
    "stream_units",
    "topics",
    "units",
    "weighed",
]

TYPICAL, TYPICAL_UNITS, TYPICAL_WORDS = 3, 200, 20
"""Typical sentences shown of a domain, the units they are sought in, the words that speak for it."""

_SENTENCE_END = re.compile(r"(?<=[.!?…»”\"])\s+(?=[A-ZÀ-Ý0-9«“\"])|\n\s*\n")
_TOKEN = re.compile(r"[^\W\d_]+")

_LEARNED = (
    "FROM units u JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
    " AND d.version = v.number WHERE d.duplicate_of IS NULL"
)


def status(store: Store, *, stable: int) -> dict[str, Any]:
    """Counts, the digest, the last run; a domain of at least `stable` units is stable."""
    with store.frozen():
        last = store.row(
            "SELECT id, command, status, started_at, finished_at FROM runs ORDER BY id DESC LIMIT 1"
        )
        names = ("id", "command", "status", "started_at", "finished_at")
        return {
            "store": store.path,
            "schema": SCHEMA,
            "digest": seal.kept(store) or digest(store),
            "documents": store.number("SELECT count(*) FROM documents WHERE duplicate_of IS NULL"),
            "duplicates": store.number(
                "SELECT count(*) FROM documents WHERE duplicate_of IS NOT NULL"
            ),
            "undated": store.number(
                "SELECT count(*) FROM documents d JOIN versions v ON v.document = d.id"
                " AND v.number = d.version WHERE d.duplicate_of IS NULL AND v.date IS NULL"
            ),
            "corrections": store.number("SELECT count(*) FROM versions WHERE number > 1"),
            "units": store.number(f"SELECT count(*) {_LEARNED}"),
            "domains": store.number("SELECT count(*) FROM domains WHERE units > 0"),
            "stable_domains": store.number(
                "SELECT count(*) FROM domains WHERE units >= ?", [max(1, stable)]
            ),
            "words": store.number("SELECT count(*) FROM words WHERE occurrences > 0"),
            "languages": {lang: n for lang, (n, _) in sorted(store.languages().items()) if n},
            "target": targets.standing(store),
            "rejects": store.number("SELECT count(*) FROM rejects"),
            "runs": store.number("SELECT count(*) FROM runs"),
            "last_run": dict(zip(names, last, strict=True)) if last else None,
            "sqlite_version": sqlite3.sqlite_version,
        }


@dataclass(slots=True)
class _Life:
    """When a domain had how many units."""

    units: int = 0
    documents: int = 0
    undated: int = 0
    """Units of stories without a date."""
    first: str | None = None
    last: str | None = None
    days: dict[str, int] = field(default_factory=dict)


def _lives(
    store: Store,
    places: str = "assignments",
    parameters: Sequence[Any] = (),
    only: Sequence[int] | None = None,
) -> tuple[dict[int, _Life], Stream]:
    """Of each domain, or of some, its documents, dates and days; and the stream by day."""
    lives: dict[int, _Life] = {}
    stream: dict[str, int] = {}
    chosen = "" if only is None else " WHERE a.domain IN (SELECT value FROM json_each(?))"
    for number, day, n_units, n_documents, first, last in store.rows(
        "SELECT a.domain, substr(v.date, 1, 10) AS day, count(*), count(DISTINCT u.document),"
        f" min(v.date), max(v.date) FROM {places} a JOIN units u ON u.id = a.unit"
        f" JOIN versions v ON v.id = u.version{chosen} GROUP BY a.domain, day"
        " ORDER BY a.domain, day",
        [*parameters, *([] if only is None else [json.dumps(list(only))])],
    ):
        life = lives.setdefault(number, _Life())
        life.units += n_units
        life.documents += n_documents
        if day is None:
            life.undated += n_units
        else:
            life.first = first if life.first is None else life.first
            life.last = last
            life.days[day] = n_units
            stream[day] = stream.get(day, 0) + n_units
    return lives, Stream(stream) if only is None else _stream(store)


def _stream(store: Store) -> Stream:
    """The units that are in a domain, by day."""
    return Stream(
        dict(
            store.rows(
                "SELECT substr(v.date, 1, 10) AS day, count(*) FROM assignments a"
                " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
                " WHERE v.date IS NOT NULL GROUP BY day"
            )
        )
    )


def domains(
    store: Store,
    *,
    min_units: int = 1,
    top: int | None = 10,
    since: str | int | None = None,
    limit: int | None = None,
    lang: str | None = None,
    as_of: str | int | None = None,
    days: bool = False,
) -> list[dict[str, Any]]:
    """Domains with their best words, largest first, ties by id; `as_of` a run or date if wanted.

    `since` keeps those that took stories since: dated that day or later, or read by later runs.
    With `days` each has its units by day.
    """
    least = max(1, min_units)
    with store.frozen():
        names, topic_of = Words(store), grouping.members(store)
        then = None if as_of is None else history.moment(store, as_of)
        if then is not None:
            lives, whole = _lives(store, *then.places)
        elif since is None:
            lives, whole = _lives(store, only=_largest(store, least, limit, lang))
        else:
            lives, whole = _lives(store)
        changed = {} if then is None else history.states(store, then)
        fresh = None if since is None else _taken_since(store, since, then)
        rows = [
            (lives[number], number, label, named, language, state, locked)
            for number, label, named, language, state, locked in store.rows(
                "SELECT id, label, named, lang, status, locked FROM domains ORDER BY id"
            )
            if number in lives
            and lives[number].units >= least
            and lang in (None, language)
            and (fresh is None or number in fresh)
        ]
        rows.sort(key=lambda row: (-row[0].units, row[1]))
        shown = rows[:limit]
        past = None if then is None else history.sums(store, then, {row[1] for row in shown})
        found: list[dict[str, Any]] = []
        for life, number, label, named, language, state, locked in shown:
            kept = past[number] if past is not None else _sums(store, number, life.units)
            before = changed.get(number, {})
            if then is not None:
                best = names.best(kept, LABEL_WORDS)
                named = before.get("named", named)
                label = before.get("label", label) if named else ", ".join(w["word"] for w in best)
            found.append(
                {
                    "id": number,
                    "label": label,
                    "lang": language,
                    "status": before.get("status", state),
                    "locked": bool(before.get("locked", locked)),
                    "units": life.units,
                    "documents": life.documents,
                    **({} if fresh is None else {"units_since": fresh[number]}),
                    "undated": life.undated,
                    "first": life.first,
                    "last": life.last,
                    "topic": topic_of.get(number),
                    **({"days": life.days} if days else {}),
                    "trend": trend(life.days, whole).as_json(),
                    "words": names.best(kept, top),
                }
            )
        return found


def _taken_since(store: Store, since: str | int, then: history.Moment | None) -> dict[int, int]:
    """Units by domain of the stories since a date, or of those that the runs after one brought.

    A story without a date counts from the day on which it was read.
    """
    places, parameters = ("assignments", []) if then is None else then.places
    bound: str | int
    if isinstance(since, int) or since.isdigit():
        condition, bound = "d.run > ?", int(since) and history.night(store, since)
    else:
        condition, bound = "coalesce(v.date, r.started_at) >= ?", history.checked_date(since)
    return dict(
        store.rows(
            f"SELECT a.domain, count(*) FROM {places} a JOIN units u ON u.id = a.unit"
            " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
            f" JOIN runs r ON r.id = d.run WHERE {condition} GROUP BY a.domain",
            [*parameters, bound],
        )
    )


def _largest(store: Store, least: int, limit: int | None, lang: str | None) -> list[int]:
    """The domains of a size, largest first, ties by id."""
    return [
        number
        for (number,) in store.rows(
            "SELECT id FROM domains WHERE units >= ? AND lang = coalesce(?, lang)"
            " ORDER BY units DESC, id LIMIT ?",
            [least, lang, -1 if limit is None else limit],
        )
    ]


def weighed(
    store: Store, numbers: Sequence[int], top: int | None = None, above: float | None = None
) -> dict[int, list[dict[str, Any]]]:
    """Words of some domains with their weights, heaviest first: all, or the `top` ones and what
    weighs more than `above`."""
    names = Words(store)
    found = {}
    for number in numbers:
        row = store.row("SELECT words, units FROM domains WHERE id = ?", [number])
        assert row is not None
        found[number] = names.best(codecs.domain_from(row[0], row[1]), top, above)
    return found


def _sums(store: Store, number: int, n_units: int) -> DomainWords:
    blob = store.row("SELECT words FROM domains WHERE id = ?", [number])
    assert blob is not None
    return codecs.domain_from(blob[0], n_units)


def forgotten_since(store: Store, as_of: str | int) -> int:
    """Documents that were forgotten after a moment, and are missing when it is shown."""
    return history.moment(store, as_of).forgotten


def topics(store: Store, *, top: int | None = 10, limit: int | None = None) -> list[dict[str, Any]]:
    """The topics of the last grouping with their best words, largest first, ties by id.

    A domain that was made since then has no topic yet.
    """
    with store.frozen():
        names, of_topic = Words(store), dict[int, list[int]]()
        for number, topic in sorted(grouping.members(store).items()):
            of_topic.setdefault(topic, []).append(number)
        sizes = dict(store.rows("SELECT id, units FROM domains WHERE units > 0"))
        given = {
            t: (lang, label) for t, lang, label in store.rows("SELECT id, lang, name FROM topics")
        }
        units = {t: sum(sizes.get(d, 0) for d in ds) for t, ds in of_topic.items()}
        found = []
        for topic in sorted(filter(units.__getitem__, of_topic), key=lambda t: (-units[t], t))[
            :limit
        ]:
            domains_there = [d for d in of_topic[topic] if d in sizes]
            words = names.best(_together(store, domains_there), top)
            lang, name = given[topic]
            label = name or ", ".join(w["word"] for w in words[:LABEL_WORDS])
            found.append(
                {
                    "id": topic,
                    "label": label,
                    "lang": lang,
                    "domains": sorted(domains_there, key=lambda d: (-sizes[d], d)),
                    "units": units[topic],
                    "words": words,
                }
            )
        return found


def _together(store: Store, numbers: list[int]) -> DomainWords:
    """The sums of several domains as those of one."""
    parts = [
        codecs.domain_from(blob, n_units)
        for number in numbers
        for blob, n_units in store.rows("SELECT words, units FROM domains WHERE id = ?", [number])
    ]
    words, place = np.unique(np.concatenate([p.words for p in parts]), return_inverse=True)
    occurrences, weights = np.zeros(len(words), np.int64), np.zeros(len(words), np.int64)
    np.add.at(occurrences, place, np.concatenate([p.occurrences for p in parts]))
    np.add.at(weights, place, np.concatenate([p.weights for p in parts]))
    return DomainWords(words, occurrences, weights, sum(p.n_units for p in parts))


def domain(store: Store, number: int, *, top: int | None = 40, near: int = 8) -> dict[str, Any]:
    """One domain: its words, units, documents, days, history and nearest domains."""
    with store.frozen():
        names = Words(store)
        found = store.row(
            "SELECT label, lang, units, words, status, locked FROM domains WHERE id = ?", [number]
        )
        if found is None or found[2] == 0:
            raise MissingInputError(
                f"there is no domain {number}{_fate(store, number)}; `segapsith domains` lists them"
            )
        label, lang, n_units, blob, state, locked = found
        sums = codecs.domain_from(blob, n_units)
        whole = _stream(store)
        members = list(
            store.rows(
                "SELECT u.id, d.uid, v.date, u.words FROM assignments a JOIN units u ON u.id = a.unit"
                " JOIN documents d ON d.id = u.document JOIN versions v ON v.id = u.version"
                " WHERE a.domain = ? ORDER BY u.id",
                [number],
            )
        )
        dates = [date for _, _, date, _ in members if date]
        inferred = _inferred(blob for _, _, _, blob in members)
        days: dict[str, int] = {}
        for date in dates:
            days[date[:10]] = days.get(date[:10], 0) + 1
        return {
            "id": number,
            "label": label,
            "lang": lang,
            "status": state,
            "locked": bool(locked),
            "units": n_units,
            "documents": len({uid for _, uid, _, _ in members}),
            "undated": len(members) - len(dates),
            "first": min(dates, default=None),
            "last": max(dates, default=None),
            "topic": grouping.members(store).get(number),
            "words": names.best(sums, top),
            "inferred": {names.name(w): n for w, n in inferred.items()},
            "unit_ids": [unit for unit, _, _, _ in members],
            "document_ids": list(dict.fromkeys(uid for _, uid, _, _ in members)),
            "days": dict(sorted(days.items())),
            "trend": trend(days, whole).as_json(),
            "bursts": [burst.as_json() for burst in bursts(days, whole)],
            "sentences": _typical(store, number, names.best(sums, TYPICAL_WORDS)),
            "history": [
                {
                    "run": run,
                    "at": at,
                    "kind": kind,
                    **json.loads(detail),
                    **({"undone": True} if state == "undone" else {}),
                }
                for run, at, kind, detail, state in store.rows(
                    "SELECT e.run, r.started_at, e.kind, e.detail, r.status FROM events e"
                    " JOIN runs r ON r.id = e.run WHERE e.domain = ? ORDER BY e.id",
                    [number],
                )
            ],
            "near": _near(store, number, lang, sums, near),
        }


def _typical(store: Store, number: int, words: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sentences of the domain that carry most of its weight, one a story.

    A word of a sentence counts if it begins like one of the best words: the store keeps lemmas,
    and texts have forms of them.
    """
    stems = [(_stem(w["word"]), float(w["weight"])) for w in words]
    best: dict[str, tuple[float, int, str]] = {}
    for unit, uid, text in store.rows(
        "SELECT t.id, t.document, t.text FROM unit_texts t WHERE t.domain = ?"
        " ORDER BY t.score DESC, t.id LIMIT ?",
        [number, TYPICAL_UNITS],
    ):
        for sentence in _SENTENCE_END.split(text):
            tokens = set(_TOKEN.findall(sentence.lower()))
            if not 4 <= len(tokens) <= 60:
                continue
            carried = sum(w for s, w in stems if any(token.startswith(s) for token in tokens))
            score = carried / len(tokens) ** 0.5
            if score > best.get(uid, (0.0, 0, ""))[0]:
                best[uid] = (score, unit, " ".join(sentence.split()))
    ranked = sorted(((-score, unit, uid, text) for uid, (score, unit, text) in best.items()))
    return [
        {"text": text, "unit": unit, "document": uid} for _, unit, uid, text in ranked[:TYPICAL]
    ]


def _stem(word: str) -> str:
    """What forms of a word begin with: all of a short one, a long one without its last letters."""
    first = word.split(" ")[-1]
    return first if len(first) < 5 else first[: max(4, len(first) - 2)]


def _fate(store: Store, number: int) -> str:
    """What became of a domain that has no units any more."""
    found = store.row(
        "SELECT e.kind, e.detail, e.run FROM events e JOIN runs r ON r.id = e.run"
        " WHERE e.domain = ? AND e.kind IN ('merged', 'split') AND r.status <> 'undone'"
        " ORDER BY e.id DESC LIMIT 1",
        [number],
    )
    if found is None:
        return ""
    into = json.loads(found[1])["into"]
    numbers = ", ".join(map(str, into if isinstance(into, list) else [into]))
    return f" any more: it was {found[0]} into {numbers} by run {found[2]}"


def _inferred(blobs: Iterable[bytes]) -> dict[int, int]:
    """Words that were inferred for units, with the number of those; the most frequent first."""
    counts: dict[int, int] = {}
    for blob in blobs:
        bag = codecs.bag_from(blob)
        for word in bag.words[bag.counts == 0].tolist():
            counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


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
        theirs = codecs.domain_from(blob, n_units)
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
    match = _full_text_query(query)
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


def matching(store: Store, query: str) -> list[dict[str, Any]]:
    """Every document that has all the words in one of its versions, an earlier one too, by id.

    `date` and `title` are those of the present version; `units` counts all versions.
    """
    return [
        dict(zip(_DESCRIBED, row, strict=True))
        for row in store.rows(
            f"{_DESCRIBE} WHERE d.id IN (SELECT w.document FROM versions_fts f JOIN versions w"
            " ON w.id = f.rowid WHERE versions_fts MATCH ?) ORDER BY d.id",
            [_full_text_query(query)],
        )
    ]


def described(store: Store, uid: str) -> dict[str, Any]:
    """What `matching` gives, for the document of an id."""
    row = store.row(f"{_DESCRIBE} WHERE d.uid = ?", [uid])
    if row is None:
        raise MissingInputError(f"no document is called {uid!r}; `segapsith search` finds ids")
    return dict(zip(_DESCRIBED, row, strict=True))


_DESCRIBED = ("id", "date", "title", "units")
_DESCRIBE = (
    "SELECT d.uid, v.date, v.title, (SELECT count(*) FROM units u WHERE u.document = d.id)"
    " FROM documents d JOIN versions v ON v.document = d.id AND v.number = d.version"
)


def _full_text_query(query: str) -> str:
    """All the words of a question, each taken literally."""
    words = [word.replace('"', '""') for word in query.split()]
    if not words:
        raise UsageError("search for at least one word")
    return " ".join(f'"{word}"' for word in words)


def assignments(store: Store) -> Iterator[dict[str, Any]]:
    """Every unit of every document with its domain; a repetition has its original's."""
    originals: dict[int, list[tuple[Any, ...]]] = {}
    topic_of = grouping.members(store)
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
            "topic": topic_of.get(found),
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
    names = Words(store)
    for number, uid, start, end, cohesion, kept, found, blob in store.rows(
        'SELECT u.id, d.uid, u.start, u."end", u.cohesion, u.kept, a.domain, u.words FROM units u'
        " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
        " AND d.version = v.number LEFT JOIN assignments a ON a.unit = u.id"
        " WHERE d.duplicate_of IS NULL ORDER BY u.id"
    ):
        bag = codecs.bag_from(blob)
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
                if c
            },
            "inferred": {
                names.name(w): round(v / SCALE, 4)
                for w, c, v in zip(
                    bag.words.tolist(), bag.counts.tolist(), bag.weights.tolist(), strict=True
                )
                if not c
            },
        }


def stream_units(store: Store) -> Iterator[StreamUnit]:
    """The units that are learned from, as they came."""
    for document, lang, blob in store.rows(
        "SELECT u.document, v.lang, u.words FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN versions v ON v.id = u.version ORDER BY u.id"
    ):
        bag = codecs.bag_from(blob)
        yield StreamUnit(document, lang, bag.words, bag.counts)


def learned_units(
    store: Store, lang: str | None = None, domain: int | None = None, last: int = 0
) -> LearnedUnits:
    """The units that are in a domain, as matrices of counts and weights of the words they say;
    what was inferred is no evidence for a clustering. `last` takes only the newest stories."""
    ids, labels, bags = [], [], []
    question = (
        "SELECT u.id, a.domain, u.words FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN domains m ON m.id = a.domain"
    )
    conditions: list[str] = []
    parameters: list[Any] = []
    if last:
        newest = store.number("SELECT max(ordinal) FROM documents")
        question += " JOIN documents d ON d.id = u.document"
        conditions.append("d.ordinal > ?")
        parameters.append(newest - last)
    if lang is not None:
        conditions.append("m.lang = ?")
        parameters.append(lang)
    if domain is not None:
        conditions.append("a.domain = ?")
        parameters.append(domain)
    chosen = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    for unit, found, blob in store.rows(f"{question}{chosen} ORDER BY u.id", parameters):
        ids.append(unit)
        labels.append(found)
        bags.append(codecs.bag_from(blob).observed)
    all_words = np.concatenate([b.words for b in bags] or [np.zeros(0, dtype=np.int32)])
    used, columns = np.unique(all_words, return_inverse=True)
    pointers = np.concatenate([[0], np.cumsum([len(b.words) for b in bags], dtype=np.int64)])
    shape = (len(bags), len(used))
    names = Words(store)

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
        names.telling(used),
    )


def unit_places(store: Store, units: Sequence[int]) -> list[tuple[int, str, int, int]]:
    """Return each unit with its document and where it starts and ends, in the order given."""
    wanted = set(units)
    places = {
        row[0]: row
        for row in store.rows(
            'SELECT u.id, d.uid, u.start, u."end" FROM units u JOIN documents d ON d.id = u.document'
        )
        if row[0] in wanted
    }
    return [places[unit] for unit in units]


def headlines(store: Store, units: Sequence[int]) -> list[str]:
    """Return the title of each unit's text; the beginning of the text, or its id, if it has none."""
    found = []
    for unit in units:
        (row,) = store.rows(
            "SELECT v.title, substr(v.body, 1, 80), d.uid FROM units u"
            " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
            " WHERE u.id = ?",
            [unit],
        )
        found.append(next((" ".join(text.split()) for text in row if text), ""))
    return found


def origins(store: Store, lang: str | None = None) -> Iterator[Origin]:
    """Where the units that are in a domain come from, the units of one text together."""
    question = (
        'SELECT u.id, u.version, u.start, u."end", v.lang, v.source, v.metadata, v.title, v.body'
        " FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        " JOIN domains m ON m.id = a.domain"
    )
    parameters: list[Any] = []
    if lang is not None:
        question, parameters = f"{question} WHERE m.lang = ?", [lang]
    found = store.rows(f"{question} ORDER BY u.version, u.id", parameters)
    for unit, version, start, end, language, source, metadata, title, body in found:
        text = f"{title}\n\n{body}" if title and body else title or body
        yield Origin(unit, version, start, end, language, source, metadata, text)


@dataclass(frozen=True, slots=True)
class StoredStream:
    """Units in the order in which they were learned, each with its domain."""

    bags: list[Bag]
    domains: list[int]
    n_units: int
    """All that were learned, of which these are the last."""
    significance: NDArray[np.float64] | None
    """How telling each word is, if domains are weighted by that."""


def stream(store: Store, lang: str | None = None, sample: int | None = None) -> StoredStream:
    """The units that are learned from, or the last `sample` of them."""
    chosen, values = ("", []) if lang is None else (" WHERE v.lang = ?", [lang])
    question = (
        "FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        f"{chosen}"
    )
    found = list(
        store.rows(
            f"SELECT u.words, a.domain {question} ORDER BY u.id DESC LIMIT ?",
            [*values, -1 if sample is None else sample],
        )
    )
    found.reverse()
    return StoredStream(
        [codecs.bag_from(blob) for blob, _ in found],
        [domain for _, domain in found],
        store.number(f"SELECT count(*) {question}", values),
        Words(store).significance,
    )
