"""One batch written into the tables of a store; the caller has begun its transaction."""

from __future__ import annotations

import sqlite3
import sys
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from segapsith.engine.records import Update
from segapsith.lexicon.multiword_terms import TermCounts
from segapsith_store import codecs, feed_states, pair_runs, tombstones
from segapsith_store.codecs import as_json
from segapsith_store.schema import BLOCK

__all__ = ["MELT", "VERSION", "remove", "write"]

VERSION = (
    "id, document, number, hash, title, body, date, date_original, lang, source, metadata,"
    " signature, words, links, run"
)
"""Columns of a text, in the order of its record."""

TERM_RUNS = 32
"""Changes of the counts of term candidates that are kept apart before they become one."""

MELT = "DELETE FROM epochs WHERE name IN ('network', 'word space')"
"""After a change of the reference corpora both are frozen anew when they are next needed."""


def remove(c: sqlite3.Connection, update: Update) -> None:
    """Takes out what a batch takes back: a run that it undoes, texts that it forgets."""
    c.execute("PRAGMA defer_foreign_keys = ON")
    if update.undone_run is not None:
        for table in ("sightings", "rejects", "document_changes", "targets", "thresholds"):
            c.execute(f"DELETE FROM {table} WHERE run = ?", [update.undone_run])
        for table in ("clusterings", "comparisons", "groupings", "reference_corpora", "topics"):
            c.execute(f"DELETE FROM {table} WHERE run = ?", [update.undone_run])
        if c.execute("DELETE FROM pair_runs WHERE source = ?", [update.undone_run]).rowcount:
            c.execute(MELT)
        c.execute("UPDATE runs SET status = 'undone' WHERE id = ?", [update.undone_run])
        c.execute("DELETE FROM past_assignments WHERE ended_by = ?", [update.undone_run])
        feed_states.ask_again(c, update.undone_run)
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


def write(c: sqlite3.Connection, update: Update) -> None:
    """Enters what a batch brings, and every sum that it changed."""
    _melt_blocks(c, update)
    run = update.run
    words_bytes = codecs.words_bytes
    first_new = update.new_words[0][0] if update.new_words else sys.maxsize
    known = bisect_left(update.frequencies, first_new, key=lambda counted: counted[2])
    counts = {word: (n, times) for n, times, word in update.frequencies[known:]}
    c.executemany(
        "INSERT INTO words (id, lang, word, documents, occurrences) VALUES (?, ?, ?, ?, ?)",
        [entry + counts.get(entry[0], (0, 0)) for entry in update.new_words],
    )
    c.executemany(
        "UPDATE words SET documents = ?, occurrences = ? WHERE id = ?",
        update.frequencies[:known],
    )
    c.executemany(
        "INSERT OR REPLACE INTO languages (lang, documents, words, units, cohesion)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (lang, *totals, *update.cohesion.get(lang, (0, 0)))
            for lang, totals in update.languages.items()
        ],
    )
    c.executemany(
        "INSERT OR IGNORE INTO document_changes VALUES (?, ?, ?, ?, ?)",
        [(d.id, run, d.ordinal, d.version, d.duplicate_of) for d in update.changes],
    )
    newest = c.execute("SELECT max(id) FROM documents").fetchone()[0] or 0
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
    c.executemany(
        f"INSERT INTO versions ({VERSION}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [(*v[:12], words_bytes(v.words), v.links.tobytes(), v.run) for v in update.versions],
    )
    c.executemany(
        "INSERT INTO versions_fts (rowid, title, body) VALUES (?, ?, ?)",
        [(v.id, v.title, v.body) for v in update.versions if v.has_text],
    )
    c.executemany(
        "INSERT OR IGNORE INTO sightings (document, source, run) VALUES (?, ?, ?)",
        [(document, source, run) for document, source in update.sightings],
    )
    newest = c.execute("SELECT max(id) FROM units").fetchone()[0] or 0
    new = [u for u in update.units.values() if u.id > newest]
    c.executemany(
        'INSERT INTO units (id, document, version, position, start, "end",'
        " first_word, n_words, cohesion, kept, epoch, words)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        [
            (*u[:11], words)
            for u, words in zip(new, codecs.bags_bytes([u.bag for u in new]), strict=True)
        ],
    )
    _write_domains(c, update)
    c.executemany(
        "DELETE FROM assignments WHERE unit = ?",
        [(u.id,) for u in update.units.values() if u.id <= newest],
    )
    _write_assignments(
        c,
        "assignments",
        "",
        [(u.id, *u.assignment) for u in update.units.values() if u.assignment],
    )
    _write_assignments(
        c,
        "past_assignments",
        ", ended_by",
        [(unit, *assignment, run) for unit, assignment in update.ended.items()],
    )
    c.executemany(
        "INSERT INTO rejects (run, name, reason) VALUES (?, ?, ?)",
        [(run, name, reason) for name, reason in update.rejects],
    )
    c.executemany(
        "INSERT INTO events (run, kind, domain, detail) VALUES (?, ?, ?, ?)",
        [(run, e.kind, e.domain, as_json(e.detail)) for e in update.events],
    )
    for epoch in update.epochs.values():
        c.execute(
            "INSERT OR REPLACE INTO epochs (name, epoch, ordinal, arrays) VALUES (?, ?, ?, ?)",
            [epoch.name, epoch.epoch, epoch.ordinal, codecs.named_arrays(epoch.arrays)],
        )
    _write_terms(c, update)
    c.executemany(
        "INSERT INTO thresholds (run, ordinal, unit, threshold, base, placed, founded)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, ordinal) DO UPDATE SET"
        " placed = placed + excluded.placed, founded = founded + excluded.founded",
        [
            (run, t.ordinal, t.unit, t.threshold, t.base, t.placed, t.founded)
            for t in update.thresholds
        ],
    )
    if update.pairs is not None and len(update.pairs.keys):
        pair_runs.add(c, [update.pairs])
        if update.gone_documents and update.undone_run is None:
            pair_runs.compact(c)  # what is forgotten stays in no run
    c.executemany(
        "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
        [(name, as_json(value)) for name, value in update.facts.items()],
    )
    tombstones.write(c, update)
    c.execute(
        "UPDATE runs SET position = ?, counts = ? WHERE id = ?",
        [update.position, as_json(update.counts), run],
    )
    if update.feed is not None:
        feed_states.keep(c, update.feed, run)


def _melt_blocks(c: sqlite3.Connection, update: Update) -> None:
    """Takes away the kept hashes of the blocks that get rows of a batch (digest.py)."""
    units = {number // BLOCK for number in update.units}
    touched = {
        "documents": {d.id // BLOCK for d in update.documents.values()},
        "versions": {v.id // BLOCK for v in update.versions},
        "units": units,
        "assignments": units,
    }
    c.executemany(
        "DELETE FROM blocks WHERE part = ? AND number = ?",
        [(table, number) for table, numbers in touched.items() for number in sorted(numbers)],
    )


def _write_terms(c: sqlite3.Connection, update: Update) -> None:
    """New terms, and the change of their candidates' counts; many changes become one."""
    place = c.execute("SELECT count(*) FROM terms").fetchone()[0]
    c.executemany(
        "INSERT INTO terms (lang, words, epoch, ordinal, place) VALUES (?, ?, ?, ?, ?)",
        [
            (lang, " ".join(words), epoch, ordinal, place + i)
            for i, (lang, words, epoch, ordinal) in enumerate(update.terms)
        ],
    )
    for lang, run in update.term_runs.items():
        kept = c.execute("SELECT arrays FROM term_runs WHERE lang = ?", [lang]).fetchall()
        if len(kept) >= TERM_RUNS:
            runs = [codecs.named_arrays_from(data) for (data,) in kept]
            run = TermCounts.restore(*runs, run).arrays()
            c.execute("DELETE FROM term_runs WHERE lang = ?", [lang])
        c.execute(
            "INSERT INTO term_runs (lang, arrays) VALUES (?, ?)",
            [lang, codecs.named_arrays(run)],
        )


def _write_assignments(
    c: sqlite3.Connection,
    table: str,
    extra: str,
    rows: Sequence[tuple[Any, ...]],
) -> None:
    marks = ", ?" * (6 + extra.count(","))
    kept = "OR IGNORE " if extra else ""  # what was before a run is what it ended first
    c.executemany(
        f"INSERT {kept}INTO {table} (unit, domain, score, runner_up, runner_up_score,"
        f" run{extra}) VALUES ({marks[2:]})",
        rows,
    )


def _write_domains(c: sqlite3.Connection, update: Update) -> None:
    c.executemany(
        "INSERT INTO domains (id, lang, label, named, status, locked, units, top_words, words,"
        " run, grown) VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET"
        " label = excluded.label, named = excluded.named, status = excluded.status,"
        " locked = excluded.locked, units = excluded.units, top_words = excluded.top_words,"
        " words = excluded.words, grown = excluded.grown",
        [
            (
                d.id, d.lang, d.label, int(d.named), d.status, int(d.locked), d.sums.n_units,
                d.top_words, words, d.run, d.grown,
            )
            for d, words in zip(
                update.domains, codecs.domains_bytes([d.sums for d in update.domains]), strict=True
            )
        ],
    )  # fmt: skip
