"""One update written into the tables of a store; the caller has begun its transaction."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from itertools import compress, count, repeat
from typing import Any

from segapsith.domains.values import EventRecord
from segapsith.engine.records import ReadyColumns, Update
from segapsith.lexicon.multiword_terms import TermCounts
from segapsith_store import codecs, feed_states, pair_runs, tombstones
from segapsith_store.codecs import as_json
from segapsith_store.schema import BLOCK

__all__ = ["DROP_NETWORKS", "VERSION", "remove", "write", "write_events", "write_unspaced"]

VERSION = (
    "id, document, number, hash, title, body, date, date_original, lang, source, metadata,"
    " signature, words, links, run"
)
"""Columns of a text, in the order of its record."""

TERM_RUNS = 32
"""Changes of the counts of term candidates that are stored apart before they become one."""

DROP_NETWORKS = "DELETE FROM epochs WHERE name IN ('network', 'word space')"
"""After a change of the reference corpora both are made again when they are next needed."""


def remove(c: sqlite3.Connection, update: Update) -> None:
    """Delete what an update takes back: a run that it undoes, texts that it forgets."""
    c.execute("PRAGMA defer_foreign_keys = ON")
    if update.undone_run is not None:
        _remove_run(c, update.undone_run)
    versions = [
        *update.gone_versions,
        *(
            row[0]
            for document in update.gone_documents
            for row in c.execute("SELECT id FROM versions WHERE document = ?", [document])
        ),
    ]
    for version in versions:
        for table in ("assignments", "past_assignments"):
            c.execute(
                f"DELETE FROM {table} WHERE unit IN (SELECT id FROM units WHERE version = ?)",
                [version],
            )
        c.execute("DELETE FROM units WHERE version = ?", [version])
        c.execute("DELETE FROM versions WHERE id = ?", [version])
    for document in update.gone_documents:
        c.execute("DELETE FROM sightings WHERE document = ?", [document])
        c.execute("DELETE FROM document_changes WHERE document = ?", [document])
        c.execute("DELETE FROM documents WHERE id = ?", [document])


_OF_RUN = (
    "sightings", "rejects", "document_changes", "targets", "thresholds",
    "clusterings", "comparisons", "group_labels", "groupings", "reference_corpora", "topics",
    "section_groupings", "sections",
)  # fmt: skip
"""Tables whose rows go with the run that wrote them."""


def _remove_run(c: sqlite3.Connection, run: int) -> None:
    for table in _OF_RUN:
        c.execute(f"DELETE FROM {table} WHERE run = ?", [run])
    if c.execute("DELETE FROM pair_runs WHERE source = ?", [run]).rowcount:
        c.execute(DROP_NETWORKS)
    c.execute("UPDATE runs SET status = 'undone' WHERE id = ?", [run])
    c.execute("DELETE FROM past_assignments WHERE ended_by = ?", [run])
    feed_states.ask_again(c, run)


def write(c: sqlite3.Connection, update: Update) -> None:
    """Write what an update brings, and every sum that it changed, table by table."""
    _drop_blocks(c, update)
    _write_words(c, update)
    _write_languages(c, update)
    _write_document_changes(c, update)
    _write_documents(c, update)
    _write_versions(c, update)
    _write_sightings(c, update)
    newest_unit = _newest(c, "units")
    _write_units(c, update, newest_unit)
    _write_domains(c, update)
    _write_events(c, update)
    _write_assignments(c, update, newest_unit)
    _write_past_assignments(c, update)
    _write_rejects(c, update)
    _write_lineage(c, update)
    _write_epochs(c, update)
    _write_terms(c, update)
    _write_term_runs(c, update)
    _write_thresholds(c, update)
    _write_pairs(c, update)
    _write_facts(c, update)
    if update.forgotten or update.allowed_again:
        tombstones.write(c, update)
    _write_run(c, update)
    if update.feed is not None:
        feed_states.keep(c, update.feed, update.run)


def _newest(c: sqlite3.Connection, table: str) -> int:
    """Return the largest id of a table; new rows have larger ones."""
    return int(c.execute(f"SELECT max(id) FROM {table}").fetchone()[0] or 0)


def _drop_blocks(c: sqlite3.Connection, update: Update) -> None:
    """Delete the stored hashes of the blocks that get rows of an update (digest.py)."""
    units = {number // BLOCK for number in update.units}
    versions = {v.id // BLOCK for v in update.versions}
    for ready in update.ready:
        units |= _blocks(ready.first_unit, len(ready.documents))
        versions |= _blocks(ready.first_version, len(ready.documents))
    touched = {
        "documents": {number // BLOCK for number in update.documents},
        "versions": versions,
        "units": units,
        "assignments": units,
        "events": {event // BLOCK for event in update.events},
    }
    c.executemany(
        "DELETE FROM blocks WHERE part = ? AND number = ?",
        [(table, number) for table, numbers in touched.items() for number in sorted(numbers)],
    )


def _blocks(first: int, n: int) -> set[int]:
    return set(range(first // BLOCK, (first + n - 1) // BLOCK + 1))


def _write_words(c: sqlite3.Connection, update: Update) -> None:
    new = update.new_words
    words, *counts = update.frequencies
    n_known = bisect_left(words, new.first) if new else len(words)
    new_counts = [column[n_known:] for column in counts]
    if len(words) - n_known < len(new):  # some of them occur in no story
        places = [word - new.first for word in words[n_known:]]
        new_counts = [_filled(len(new), places, column) for column in new_counts]
    c.executemany(
        "INSERT INTO words (id, lang, word, documents, occurrences) VALUES (?, ?, ?, ?, ?)",
        zip(count(new.first), new.langs, new.words, *new_counts, strict=False),
    )
    c.executemany(
        "UPDATE words SET documents = ?, occurrences = ? WHERE id = ?",
        zip(*(c[:n_known] for c in counts), words[:n_known], strict=True),
    )


def _filled(size: int, places: Sequence[int], values: Sequence[int]) -> Sequence[int]:
    """Return a column with values at some places, and 0 at the others."""
    column = [0] * size
    for place, value in zip(places, values, strict=True):
        column[place] = value
    return column


def _write_languages(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT OR REPLACE INTO languages (lang, documents, words, units, cohesion)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (lang, *totals, *update.cohesion.get(lang, (0, 0)))
            for lang, totals in update.languages.items()
        ],
    )


def _write_document_changes(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT OR IGNORE INTO document_changes VALUES (?, ?, ?, ?, ?)",
        [(d.id, update.run, d.ordinal, d.version, d.duplicate_of) for d in update.changes],
    )


def _write_documents(c: sqlite3.Connection, update: Update) -> None:
    newest = _newest(c, "documents")
    c.executemany(
        "INSERT INTO documents (id, uid, ordinal, version, duplicate_of, run)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [d for d in update.documents.values() if d.id > newest],
    )
    c.executemany(
        "UPDATE documents SET ordinal = ?, version = ?, duplicate_of = ? WHERE id = ?",
        [
            (d.ordinal, d.version, d.duplicate_of, d.id)
            for d in update.documents.values()
            if d.id <= newest
        ],
    )


def _write_versions(c: sqlite3.Connection, update: Update) -> None:
    """Write texts, and enter them into the full-text indexes."""
    insert = f"INSERT INTO versions ({VERSION}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
    c.executemany(
        insert,
        [(*v[:12], codecs.words_bytes(v.words), v.links.tobytes(), v.run) for v in update.versions],
    )
    for ready in update.ready:
        c.executemany(insert, _ready_versions(ready))
    texts = [(v.id, v.title, v.body) for v in update.versions if v.title or v.body]
    c.executemany("INSERT INTO versions_fts (rowid, title, body) VALUES (?, ?, ?)", texts)
    write_unspaced(c, texts)


def _ready_versions(ready: ReadyColumns) -> Iterator[tuple[Any, ...]]:
    """Return the rows of units that came without a text."""
    return zip(
        count(ready.first_version),
        ready.documents,
        repeat(1),
        ready.hashes,
        repeat(""),
        repeat(""),
        ready.dates,
        ready.dates_original,
        repeat(ready.lang),
        ready.sources,
        ready.metadata,
        repeat(b""),
        repeat(b""),
        repeat(b""),
        repeat(ready.run),
        strict=False,
    )


def write_unspaced(c: sqlite3.Connection, texts: Sequence[tuple[int, str, str]]) -> None:
    """Enter those of some texts that have no spaces between words into their index."""
    c.executemany(
        "INSERT INTO unspaced_fts (rowid, title, body) VALUES (?, ?, ?)",
        [
            (number, codecs.separated(title), codecs.separated(body))
            for number, title, body in texts
            if not (title.isascii() and body.isascii())
            and (codecs.is_unspaced(title) or codecs.is_unspaced(body))
        ],
    )


def _write_sightings(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT OR IGNORE INTO sightings (document, source, run) VALUES (?, ?, ?)",
        [(document, source, update.run) for document, source in update.sightings],
    )


def _write_units(c: sqlite3.Connection, update: Update, newest: int) -> None:
    insert = (
        'INSERT INTO units (id, document, version, position, start, "end",'
        " first_word, n_words, cohesion, kept, epoch, words)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
    )
    new = [unit for unit in update.units.values() if unit.id > newest]
    c.executemany(
        insert,
        (
            (*unit[:11], words)
            for unit, words in zip(new, codecs.bags_bytes([u.bag for u in new]), strict=True)
        ),
    )
    for ready in update.ready:
        c.executemany(
            insert,
            zip(
                count(ready.first_unit),
                ready.documents,
                count(ready.first_version),
                repeat(0),
                repeat(0),
                repeat(0),
                repeat(0),
                ready.n_words,
                repeat(0.0),
                repeat(True),
                repeat(ready.epoch),
                codecs.units_bytes(ready.units),
                strict=False,
            ),
        )


def _write_assignments(c: sqlite3.Connection, update: Update, newest_unit: int) -> None:
    c.executemany(
        "DELETE FROM assignments WHERE unit = ?",
        [(unit.id,) for unit in update.units.values() if unit.id <= newest_unit],
    )
    insert = (
        "INSERT INTO assignments (unit, domain, score, runner_up, runner_up_score, run, event)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    c.executemany(
        insert, [(unit.id, *unit.assignment) for unit in update.units.values() if unit.assignment]
    )
    for ready in update.ready:
        rows = zip(
            count(ready.first_unit),
            ready.domains,
            ready.scores,
            ready.runners_up,
            ready.runner_up_scores,
            repeat(ready.run),
            ready.events,
            strict=False,
        )
        c.executemany(insert, compress(rows, ready.domains))


def _write_past_assignments(c: sqlite3.Connection, update: Update) -> None:
    """Write assignments that ended; of several in one run, the first was there before it."""
    c.executemany(
        "INSERT OR IGNORE INTO past_assignments (unit, domain, score, runner_up,"
        " runner_up_score, run, event, ended_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(unit, *assignment, update.run) for unit, assignment in update.ended.items()],
    )


def _write_rejects(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT INTO rejects (run, name, reason) VALUES (?, ?, ?)",
        [(update.run, name, reason) for name, reason in update.rejects],
    )


def _write_events(c: sqlite3.Connection, update: Update) -> None:
    write_events(c, list(update.events.values()))


def write_events(c: sqlite3.Connection, events: Sequence[EventRecord]) -> None:
    """Write events that are new or changed."""
    newest = _newest(c, "events")
    insert = (
        "INSERT INTO events (id, units, stories, first, last, days, day, grown, closed_by, run,"
        " words) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
    )
    # a plain insertion takes a third of the time
    c.executemany(insert, _event_rows([event for event in events if event.id > newest]))
    c.executemany(
        f"{insert} ON CONFLICT (id) DO UPDATE SET"
        " units = excluded.units, stories = excluded.stories, first = excluded.first,"
        " last = excluded.last, days = excluded.days, day = excluded.day,"
        " grown = excluded.grown, closed_by = excluded.closed_by, words = excluded.words",
        _event_rows([event for event in events if event.id <= newest]),
    )


def _event_rows(events: Sequence[EventRecord]) -> Iterator[tuple[Any, ...]]:
    """Yield events in the order of their columns."""
    blobs = codecs.domains_bytes([event.sums for event in events])
    for e, words in zip(events, blobs, strict=True):
        first, last, days = _dated(e.days)
        yield (
            e.id, e.units, e.sums.n_units, first, last, days, e.day, e.grown, e.closed_by, e.run,
            words,
        )  # fmt: skip


@lru_cache(maxsize=4096)  # most events have one day, and few stories on it
def _dated(days: tuple[tuple[int, int], ...]) -> tuple[str | None, str | None, str]:
    """Return the first and the last day of an event, and its days as JSON."""
    if not days:
        return None, None, "{}"
    # as_json takes much longer
    as_json = "{" + ", ".join([f'"{_iso(day)}": {n}' for day, n in days]) + "}"
    return _iso(days[0][0]), _iso(days[-1][0]), as_json


@lru_cache(maxsize=4096)
def _iso(day: int) -> str:
    return date.fromordinal(day).isoformat()


def _write_lineage(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT INTO lineage (run, kind, domain, detail) VALUES (?, ?, ?, ?)",
        [(update.run, e.kind, e.domain, as_json(e.detail)) for e in update.lineage],
    )


def _write_epochs(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT OR REPLACE INTO epochs (name, epoch, ordinal, arrays) VALUES (?, ?, ?, ?)",
        [
            (epoch.name, epoch.epoch, epoch.ordinal, codecs.deflated_arrays(epoch.arrays))
            for epoch in update.epochs.values()
        ],
    )


def _write_terms(c: sqlite3.Connection, update: Update) -> None:
    place = c.execute("SELECT count(*) FROM terms").fetchone()[0]
    c.executemany(
        "INSERT INTO terms (lang, words, epoch, ordinal, place) VALUES (?, ?, ?, ?, ?)",
        [
            (lang, " ".join(words), epoch, ordinal, place + i)
            for i, (lang, words, epoch, ordinal) in enumerate(update.terms)
        ],
    )


def _write_term_runs(c: sqlite3.Connection, update: Update) -> None:
    """Write the change of the counts of term candidates; many changes become one."""
    for lang, run in update.term_runs.items():
        stored = c.execute("SELECT arrays FROM term_runs WHERE lang = ?", [lang]).fetchall()
        if len(stored) >= TERM_RUNS:
            runs = [codecs.named_arrays_from(data) for (data,) in stored]
            run = TermCounts.restore(*runs, run).arrays()
            c.execute("DELETE FROM term_runs WHERE lang = ?", [lang])
        c.execute(
            "INSERT INTO term_runs (lang, arrays) VALUES (?, ?)",
            [lang, codecs.deflated_arrays({name: codecs.narrowed(a) for name, a in run.items()})],
        )


def _write_thresholds(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT INTO thresholds (run, ordinal, unit, threshold, base, placed, founded)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, ordinal) DO UPDATE SET"
        " placed = placed + excluded.placed, founded = founded + excluded.founded",
        [
            (update.run, t.ordinal, t.unit, t.threshold, t.base, t.placed, t.founded)
            for t in update.thresholds
        ],
    )


def _write_pairs(c: sqlite3.Connection, update: Update) -> None:
    if update.pairs is None or not len(update.pairs.keys):
        return
    pair_runs.add(c, [update.pairs])
    if update.gone_documents and update.undone_run is None:
        pair_runs.compact(c)  # what is forgotten stays in no run


def _write_facts(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
        [(name, as_json(value)) for name, value in update.facts.items()],
    )


def _write_run(c: sqlite3.Connection, update: Update) -> None:
    c.execute(
        "UPDATE runs SET position = ?, counts = ? WHERE id = ?",
        [update.position, as_json(update.counts), update.run],
    )


def _write_domains(c: sqlite3.Connection, update: Update) -> None:
    """Write the domains that changed; their labels are to be computed again (queries/labels.py).

    Until then a domain shows its last label. One that lost units shows its best words, because a
    headline may belong to a story that was deleted; so does one in which a copy replaced a story.
    """
    c.executemany(
        "INSERT INTO domains (id, lang, label, named, status, locked, units, top_words, words,"
        " run, grown) VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET"
        " label = CASE WHEN excluded.named OR domains.named OR excluded.units < domains.units OR ?"
        " THEN excluded.label ELSE domains.label END,"
        " named = excluded.named, status = excluded.status, locked = excluded.locked, units = excluded.units, top_words = excluded.top_words,"
        " words = excluded.words, grown = excluded.grown",
        [
            (
                d.id, d.lang, d.label, int(d.named), d.status, int(d.locked), d.sums.n_units,
                d.top_words, words, d.run, d.grown, d.id in update.left,
            )
            for d, words in zip(
                update.domains, codecs.domains_bytes([d.sums for d in update.domains]), strict=True
            )
        ],
    )  # fmt: skip
    c.executemany(
        "INSERT OR IGNORE INTO unlabelled (domain) VALUES (?)", [(d.id,) for d in update.domains]
    )
