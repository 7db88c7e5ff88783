"""When two stores are equal: one hash over what they know, whatever way they came to know it.

Texts and units are hashed in blocks of their numbers. The hash of a block is kept in `blocks`, and a
trigger takes it away in the transaction that changes one of the block's rows (schema.py). So the
digest costs what was changed since hashes were kept, not the whole store; `verify` and the proof
of a backup compute every block anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from segapsith_store.schema import BLOCK, BLOCKED
from segapsith_store.store import Store

__all__ = ["FORM", "block_hashes", "changed_blocks", "digest", "keep_blocks"]


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one table that count: columns with short values, columns with long ones, which."""

    table: str
    short: str
    long: tuple[str, ...] = ()
    rest: str = ""

    def question(self, where: str) -> str:
        long = [f"CAST({column} AS BLOB)" for column in self.long]
        columns = [self.short, *(f"length({column})" for column in long), *long]
        return f"SELECT {', '.join(columns)} FROM {self.table} {where} {self.rest}"


_LARGE = (
    _Part("documents", "id, uid, version, duplicate_of"),
    _Part(
        "versions",
        "id, document, number, hash, date, date_original, lang, source",
        ("title", "body", "metadata", "words"),
    ),
    _Part(
        "units",
        'id, document, version, position, start, "end", first_word, n_words, cohesion, kept',
        ("words",),
    ),
    _Part("assignments", "unit, domain, score, runner_up, runner_up_score"),
)
"""What grows with every story, hashed in blocks of ids."""

_SMALL = (
    _Part(
        "words",
        "id, lang, word, documents, occurrences",
        rest="WHERE occurrences > 0 ORDER BY id",
    ),
    _Part(
        "domains",
        "id, lang, CASE WHEN named THEN label ELSE '' END, status, locked, units",
        ("words",),
        "WHERE units > 0 ORDER BY id",
    ),
    _Part("groupings", "1", ("domains", "topics"), "ORDER BY run DESC LIMIT 1"),
    _Part("languages", "lang, units, cohesion", rest="WHERE units > 0 ORDER BY lang"),
    _Part("reference_corpora", "lang, documents, words", ("arrays",), "ORDER BY run, lang"),
    _Part("targets", "aim, share, threshold, slope, ordinal", rest="ORDER BY run"),
    _Part(
        "thresholds",
        "ordinal, threshold, base, sum(placed), sum(founded)",
        rest="GROUP BY ordinal, threshold, base ORDER BY ordinal, threshold, base",
    ),
)
"""What changes all over in a night: hashed whole."""

_LAYOUT = "words of units and domains as tables"
"""How long values are written, as far as that has ever changed (arrays.py)."""

FORM = hashlib.sha256(repr((BLOCK, _LARGE, _SMALL, _LAYOUT)).encode()).hexdigest()[:16]
"""Of what is hashed: a release that hashes something else does not judge by old hashes."""


def digest(store: Store, *, anew: bool = False) -> str:
    """SHA-256 over documents, texts, units, words, domains, assignments, topics, targets and
    network, in the order of ids: neither runs and batches, nor clocks, nor paths.

    With `anew` no kept hash of a block is believed.
    """
    total = hashlib.sha256()
    with store.frozen():
        for table, number, found in block_hashes(store, anew=anew):
            total.update(f"{table} {number} {found}".encode())
        for part in _SMALL:
            total.update(part.table.encode())
            total.update(_hash(store, part, part.question("")).encode())
        total.update(b"network")
        total.update(store.pair_mark())
    return total.hexdigest()


def block_hashes(store: Store, *, anew: bool = False) -> Iterator[tuple[str, int, str]]:
    """Table, number and hash of every block that has rows, in order."""
    kept = {} if anew else _kept(store)
    for part in _LARGE:
        key = BLOCKED[part.table]
        question = part.question(f"WHERE {key} >= ? AND {key} < ?") + f"ORDER BY {key}"
        last = store.number(f"SELECT max({key}) FROM {part.table}") // BLOCK
        for number in range(last + 1):
            found = kept.get((part.table, number))
            if found is None:
                found = _hash(store, part, question, number * BLOCK, (number + 1) * BLOCK)
            if found:
                yield part.table, number, found


def changed_blocks(store: Store) -> Iterator[tuple[str, int, int]]:
    """Table, first and last id of the blocks that no longer have the hash they were kept with."""
    found = {(table, number): it for table, number, it in block_hashes(store, anew=True)}
    for (table, number), kept in sorted(_kept(store).items()):
        if found.get((table, number)) != kept:
            yield table, number * BLOCK, (number + 1) * BLOCK - 1


def keep_blocks(store: Store) -> None:
    """Keeps the hashes of the blocks that have none."""
    kept = _kept(store)
    fresh = [
        (FORM, table, number, found)
        for table, number, found in block_hashes(store)
        if (table, number) not in kept
    ]
    store.change(
        lambda c: (
            c.executemany(
                "INSERT OR REPLACE INTO blocks (form, part, number, hash) VALUES (?, ?, ?, ?)",
                fresh,
            ).rowcount
        )
    )


def _kept(store: Store) -> dict[tuple[str, int], str]:
    found = store.rows("SELECT part, number, hash FROM blocks WHERE form = ?", [FORM])
    return {(table, number): kept for table, number, kept in found}


def _hash(store: Store, part: _Part, question: str, *parameters: int) -> str:
    """Of the rows of an answer, so many at a time: short values as Python writes them, then the
    long ones, kept apart by their lengths. Empty if there are no rows."""
    total = hashlib.sha256()
    rows = store.rows(question, parameters)
    empty, n_long = True, len(part.long)
    while some := list(islice(rows, BLOCK)):
        empty = False
        heads = [row[:-n_long] for row in some] if n_long else some
        total.update(repr(heads).encode("utf-8", "surrogatepass"))
        if n_long:
            total.update(b"".join(value or b"" for row in some for value in row[-n_long:]))
    return "" if empty else total.hexdigest()
