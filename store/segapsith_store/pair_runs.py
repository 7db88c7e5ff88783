"""How often words meet, kept like a log: sorted runs of changes that are merged now and then.

A batch adds one run. Eight runs of a level become one of the next, so a pair is written again only
a few times however long the stream is. Runs lie in blocks by ascending key: reading and merging
hold one block of every run in memory.

A block is two deflated sequences of varints (seven bits a byte, the low ones first, the eighth bit
says that more follow). Pairs: for each, how much larger its second word is than that of the pair
before; or, where the first word changes, a 0, how much larger the first word is, and the second.
Counts: 2n for n > 0 and -2n - 1 for n < 0. Both begin anew with every block.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import StorageError
from segapsith.jit import kernel
from segapsith.lexicon.cooccurrence import PIECE, Pairs, joined, merged_streams

__all__ = [
    "STREAM",
    "add",
    "block_bytes",
    "block_from",
    "compact",
    "mark",
    "pieces",
    "sources",
    "total_mark",
]

STREAM = 0
"""The source of what the stories of the stream contribute; others are runs of `network build`."""

RUNS = 8
"""Runs of one level before they become one of the next."""

BLOCK = PIECE
"""Pairs of a block."""

Bytes = NDArray[np.uint8]

_SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


# --- blocks ------------------------------------------------------------------------------


def block_bytes(pairs: Pairs) -> tuple[bytes, bytes]:
    """Keys and counts as they are kept."""
    keys, counts = _packed(pairs.keys, pairs.counts)
    return zlib.compress(keys.tobytes(), 1), zlib.compress(counts.tobytes(), 1)


def block_from(size: int, keys: bytes, counts: bytes) -> Pairs:
    """The inverse of `block_bytes`; a damaged block gives pairs that are not ascending."""
    try:
        packed = np.frombuffer(zlib.decompress(keys), np.uint8)
        times = np.frombuffer(zlib.decompress(counts), np.uint8)
    except zlib.error as error:
        raise StorageError(f"a block of word pairs is damaged: {error}") from error
    return Pairs(_unpacked_keys(packed, size), _unpacked_counts(times, size))


@kernel
def _put(out: Bytes, at: int, value: int) -> int:
    while value >= 128:
        out[at] = 128 | (value & 127)
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@kernel
def _packed(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Bytes, Bytes]:
    out, times = np.empty(12 * len(keys), np.uint8), np.empty(10 * len(keys), np.uint8)
    at, end = 0, 0
    first, second = -1, 0
    for i in range(len(keys)):
        one, other = int(keys[i] >> 32), int(keys[i] & 0xFFFFFFFF)
        if one != first:
            at = _put(out, at, 0)
            at = _put(out, at, one - first)
            at = _put(out, at, other)
        else:
            at = _put(out, at, other - second)
        first, second = one, other
        end = _put(times, end, 2 * counts[i] if counts[i] >= 0 else -2 * counts[i] - 1)
    return out[:at], times[:end]


@kernel
def _rest(packed: Bytes, at: int, value: np.int64) -> tuple[np.int64, int]:
    """A varint of more than one byte, whose first was `value`, and where the next begins."""
    value &= 127
    shift = 7
    while at < len(packed):
        byte = packed[at]
        at += 1
        value |= np.int64(byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return value, at


# One byte is read where it stands: calling a function for each would take most of the time.


@kernel
def _unpacked_keys(packed: Bytes, size: int) -> NDArray[np.int64]:
    keys = np.zeros(size, np.int64)
    first, second = np.int64(-1), np.int64(0)
    step, at, n = 0, 0, 0  # 1: the first word comes next; 2: the second that begins its row
    while n < size and at < len(packed):
        value = np.int64(packed[at])
        at += 1
        if value >= 128:
            value, at = _rest(packed, at, value)
        if step == 0 and value:
            second += value
        elif step == 0:
            step = 1
            continue
        elif step == 1:
            first += value
            step = 2
            continue
        else:
            second = value
            step = 0
        keys[n] = first << 32 | second
        n += 1
    return keys


@kernel
def _unpacked_counts(packed: Bytes, size: int) -> NDArray[np.int64]:
    counts = np.zeros(size, np.int64)
    at, n = 0, 0
    while n < size and at < len(packed):
        value = np.int64(packed[at])
        at += 1
        if value >= 128:
            value, at = _rest(packed, at, value)
        counts[n] = (value >> 1) ^ -(value & 1)
        n += 1
    return counts


def mark(pairs: Pairs) -> bytes:
    """The sum of count times hash of key, in two lanes of 64 bits.

    The mark of a sum is the sum of the marks, so that stores whose runs were cut in other places
    can be compared without adding anything up.
    """
    lanes = [_lane(pairs.keys, pairs.counts, np.uint64(seed)) for seed in _SEEDS]
    return b"".join(int(lane).to_bytes(8, "little") for lane in lanes)


@kernel
def _lane(keys: NDArray[np.int64], counts: NDArray[np.int64], seed: np.uint64) -> np.uint64:
    total = np.uint64(0)
    for i in range(len(keys)):
        x = np.uint64(keys[i]) + seed
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        total += (x ^ (x >> np.uint64(31))) * np.uint64(counts[i])
    return total


def total_mark(marks: Iterable[bytes]) -> bytes:
    """The mark of the sum of runs that have these marks."""
    lanes = [0] * len(_SEEDS)
    for one in marks:
        for lane in range(len(_SEEDS)):
            lanes[lane] += int.from_bytes(one[8 * lane : 8 * lane + 8], "little")
    return b"".join((lane % (1 << 64)).to_bytes(8, "little") for lane in lanes)


# --- runs --------------------------------------------------------------------------------


def sources(c: sqlite3.Connection) -> list[int]:
    """Whose counts make up the network: the stream's, and those of reference corpora."""
    return [STREAM, *(row[0] for row in c.execute("SELECT DISTINCT run FROM reference_corpora"))]


def pieces(c: sqlite3.Connection, of: Sequence[int]) -> Iterator[Pairs]:
    """The summed counts of some sources, in pieces by ascending key."""
    marks = ", ".join("?" * len(of))
    runs = c.execute(
        f"SELECT DISTINCT run FROM pair_runs WHERE source IN ({marks}) ORDER BY run", list(of)
    ).fetchall()
    return merged_streams([_blocks(c, run) for (run,) in runs])


def _blocks(c: sqlite3.Connection, run: int) -> Iterator[Pairs]:
    """The blocks of one run; one at a time is read."""
    last = 0
    while True:
        row = c.execute(
            "SELECT id, size, pairs, counts FROM pair_runs WHERE run = ? AND id > ?"
            " ORDER BY id LIMIT 1",
            [run, last],
        ).fetchone()
        if row is None:
            return
        last, size, keys, counts = row
        yield block_from(size, keys, counts)


def add(c: sqlite3.Connection, run: Iterable[Pairs], source: int = STREAM) -> None:
    """Adds a run of changes, in pieces by ascending key; too many of a level become one of the
    next."""
    _write(c, source, 0, iter(run))
    level = 0
    while len(runs := _runs(c, source, level)) >= RUNS:
        _merge(c, source, runs, level + 1)
        level += 1


def compact(c: sqlite3.Connection) -> None:
    """Makes one run of all the stream's, so that nothing is left of what was taken away."""
    runs = _runs(c, STREAM)
    if runs:
        top = c.execute("SELECT max(level) FROM pair_runs WHERE source = ?", [STREAM]).fetchone()
        _merge(c, STREAM, runs, int(top[0]))


def _runs(c: sqlite3.Connection, source: int, level: int | None = None) -> list[int]:
    rows = c.execute(
        "SELECT DISTINCT run FROM pair_runs WHERE source = ? AND level = coalesce(?, level)"
        " ORDER BY run",
        [source, level],
    )
    return [row[0] for row in rows]


def _merge(c: sqlite3.Connection, source: int, runs: list[int], level: int) -> None:
    _write(c, source, level, merged_streams([_blocks(c, run) for run in runs]))
    c.executemany("DELETE FROM pair_runs WHERE run = ?", [(run,) for run in runs])


def _write(c: sqlite3.Connection, source: int, level: int, run: Iterator[Pairs]) -> None:
    number = 1 + (c.execute("SELECT max(run) FROM pair_runs").fetchone()[0] or 0)
    for block in _even(run):
        c.execute(
            "INSERT INTO pair_runs (source, level, run, size, mark, pairs, counts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [source, level, number, len(block.keys), mark(block), *block_bytes(block)],
        )


def _even(run: Iterator[Pairs]) -> Iterator[Pairs]:
    """The same pairs in blocks of one size."""
    held: list[Pairs] = []
    size = 0
    for piece in run:
        held.append(piece)
        size += len(piece.keys)
        if size >= BLOCK:
            together = joined(held)
            whole = size - size % BLOCK
            for at in range(0, whole, BLOCK):
                yield Pairs(together.keys[at : at + BLOCK], together.counts[at : at + BLOCK])
            held = [Pairs(together.keys[whole:], together.counts[whole:])]
            size -= whole
    if size:
        yield joined(held)
