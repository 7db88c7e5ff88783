"""The digest: one hash over everything that was learned. Stores with equal digests are equal.

Documents, texts, units and assignments are hashed in blocks of their ids. The hash of a block is
stored in `blocks`, and a trigger deletes it in the transaction that changes a row of the block
(migrations.py). So the digest costs what was changed since hashes were stored, not the whole store.
`verify` and the check of a backup compute every block again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

from segapsith_store.schema import BLOCK, BLOCKED
from segapsith_store.store import Store

__all__ = ["FORM", "block_hashes", "changed_blocks", "digest", "keep_blocks"]


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one table that are hashed: columns with short values, columns with long ones."""

    table: str
    short: str
    long: tuple[str, ...] = ()
    rest: str = ""
    optional: bool = False
    """Whether nothing at all is hashed while there is no row, so that older digests stay valid."""

    def query(self, where: str) -> str:
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
    _Part(
        "events",
        "id, units, stories, days, closed_by IS NOT NULL",
        ("words",),
        "AND units > 0 ",
    ),
    _Part("assignments", "unit, domain, score, runner_up, runner_up_score, event"),
)
"""Tables that grow with every story, hashed in blocks of ids."""

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
    _Part(
        "section_groupings",
        "1",
        ("domains", "sections"),
        "ORDER BY run DESC LIMIT 1",
        optional=True,
    ),
    _Part("languages", "lang, units, cohesion", rest="WHERE units > 0 ORDER BY lang"),
    _Part("reference_corpora", "lang, documents, words", ("arrays",), "ORDER BY run, lang"),
    _Part("targets", "aim, share, threshold, slope, ordinal", rest="ORDER BY run"),
    _Part(
        "thresholds",
        "ordinal, threshold, base, sum(placed), sum(founded)",
        rest="GROUP BY ordinal, threshold, base ORDER BY ordinal, threshold, base",
    ),
)
"""Tables of which a night changes rows everywhere: hashed as a whole."""

READ = BLOCK // 8
"""Rows that are read at once: the tuples of more would set off the garbage collector each time."""

_LAYOUT = "words of units and domains as tables"
"""How long values are encoded, as far as that has ever changed (codecs.py)."""

FORM = hashlib.sha256(repr((BLOCK, _LARGE, _SMALL, _LAYOUT)).encode()).hexdigest()[:16]
"""Identifies what is hashed: a release that hashes something else ignores stored hashes."""


def digest(store: Store, *, anew: bool = False) -> str:
    """Return the SHA-256 of documents, texts, units, words, domains, assignments, topics,
    sections, targets and network, in the order of ids, without runs, batches, times and paths.

    With `anew`, stored hashes of blocks are not used.
    """
    total = hashlib.sha256()
    with store.frozen():
        for table, number, block_hash in block_hashes(store, anew=anew):
            total.update(f"{table} {number} {block_hash}".encode())
        for part in _SMALL:
            rows_hash = _hash(store, part, part.query(""))
            if rows_hash or not part.optional:
                total.update(part.table.encode())
                total.update(rows_hash.encode())
        total.update(b"network")
        total.update(store.pair_mark())
    return total.hexdigest()


def block_hashes(store: Store, *, anew: bool = False) -> Iterator[tuple[str, int, str]]:
    """Yield table, number and hash of every block that has rows, in order."""
    stored = {} if anew else _stored_hashes(store)
    for part in _LARGE:
        key = BLOCKED[part.table]
        query = part.query(f"WHERE {key} >= ? AND {key} < ?") + f"ORDER BY {key}"
        last = store.number(f"SELECT max({key}) FROM {part.table}") // BLOCK
        for number in range(last + 1):
            block_hash = stored.get((part.table, number))
            if block_hash is None:
                block_hash = _hash(store, part, query, number * BLOCK, (number + 1) * BLOCK)
            if block_hash:
                yield part.table, number, block_hash


def changed_blocks(store: Store) -> Iterator[tuple[str, int, int]]:
    """Yield table, first and last id of the blocks whose stored hash is not that of their rows."""
    with store.frozen():
        computed = {
            (table, number): block_hash
            for table, number, block_hash in block_hashes(store, anew=True)
        }
        stored = _stored_hashes(store)
    for (table, number), block_hash in sorted(stored.items()):
        if computed.get((table, number)) != block_hash:
            yield table, number * BLOCK, (number + 1) * BLOCK - 1


def keep_blocks(store: Store) -> None:
    """Store the hashes of the blocks that have none stored."""
    stored = _stored_hashes(store)
    fresh = [
        (FORM, table, number, block_hash)
        for table, number, block_hash in block_hashes(store)
        if (table, number) not in stored
    ]
    store.change(
        lambda c: (
            c.executemany(
                "INSERT OR REPLACE INTO blocks (form, part, number, hash) VALUES (?, ?, ?, ?)",
                fresh,
            ).rowcount
        )
    )


def _stored_hashes(store: Store) -> dict[tuple[str, int], str]:
    rows = store.rows("SELECT part, number, hash FROM blocks WHERE form = ?", [FORM])
    return {(table, number): block_hash for table, number, block_hash in rows}


def _hash(store: Store, part: _Part, query: str, *parameters: int) -> str:
    """Return the hash of the rows of a query; an empty text if there are none.

    For `BLOCK` rows at a time: the short values as Python represents them, with the lengths of the
    long values, then the long values themselves.
    """
    total = hashlib.sha256()
    n_long, n_rows = len(part.long), 0
    short, long = itemgetter(slice(0, -n_long)), itemgetter(slice(-n_long, None))
    values: list[bytes] = []
    for chunk in store.chunks(query, parameters, READ):
        begins = n_rows % BLOCK == 0
        if begins and n_rows:
            total.update(b"]" + b"".join(values))
            values.clear()
        n_rows += len(chunk)
        heads = repr(list(map(short, chunk)) if n_long else chunk)
        total.update(("[" if begins else ", ").encode())
        total.update(heads[1:-1].encode("utf-8", "surrogatepass"))
        if n_long:
            values += filter(None, chain.from_iterable(map(long, chunk)))
    if not n_rows:
        return ""
    total.update(b"]" + b"".join(values))
    return total.hexdigest()
