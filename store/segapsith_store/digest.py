"""When two stores are equal: one hash over what they know, whatever way they came to know it."""

from __future__ import annotations

import hashlib

from segapsith_store.store import Store

__all__ = ["digest"]

_PARTS = (
    ("documents", "SELECT id, uid, version, duplicate_of FROM documents ORDER BY id"),
    (
        "versions",
        (
            "SELECT id, document, number, hash, title, body, date, date_original, lang, source,"
            " metadata, words FROM versions ORDER BY id"
        ),
    ),
    (
        "units",
        (
            'SELECT id, document, version, position, start, "end", first_word, n_words, cohesion,'
            " kept, words FROM units ORDER BY id"
        ),
    ),
    (
        "words",
        (
            "SELECT id, lang, word, documents, occurrences FROM words WHERE occurrences > 0"
            " ORDER BY id"
        ),
    ),
    (
        "domains",
        (
            "SELECT id, lang, CASE WHEN named THEN label ELSE '' END, status, locked, units, words"
            " FROM domains WHERE units > 0 ORDER BY id"
        ),
    ),
    (
        "assignments",
        "SELECT unit, domain, score, runner_up, runner_up_score FROM assignments ORDER BY unit",
    ),
    ("topics", "SELECT domains, topics FROM groupings ORDER BY run DESC LIMIT 1"),
    ("languages", "SELECT lang, units, cohesion FROM languages WHERE units > 0 ORDER BY lang"),
    (
        "reference_corpora",
        "SELECT lang, documents, words, arrays FROM reference_corpora ORDER BY run, lang",
    ),
)
"""What counts, in the order of ids: neither runs and batches, nor clocks, nor paths."""


_IF_ANY = (
    ("targets", "SELECT aim, share, threshold, slope, ordinal FROM targets ORDER BY run"),
    (
        "thresholds",
        (
            "SELECT ordinal, threshold, base, sum(placed), sum(founded) FROM thresholds"
            " GROUP BY ordinal, threshold, base ORDER BY ordinal, threshold, base"
        ),
    ),
)
"""What counts where it is: a store that never had any of it is equal to one of an older release."""


def digest(store: Store) -> str:
    """SHA-256 over documents, texts, units, words, domains, assignments, topics, network, targets."""
    total = hashlib.sha256()
    for name, question in _PARTS:
        total.update(name.encode())
        for row in store.rows(question):
            total.update(repr(row).encode("utf-8", "surrogatepass"))
    total.update(b"network")
    total.update(store.pair_mark())
    for name, question in _IF_ANY:
        rows = repr(list(store.rows(question)))
        if rows != "[]":
            total.update(f"{name}{rows}".encode())
    return total.hexdigest()
