"""Co-occurrence counts of word pairs: counted, added up and subtracted exactly.

Two content words co-occur if they are within a window of one text. Counts are sorted runs of
integers: keys (smaller word << 32 | larger word) with a count each. Runs add up in any order and can
be subtracted exactly. They are merged piece by piece, so memory does not grow with the number of
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = [
    "LOW",
    "PIECE",
    "WINDOW",
    "PairSums",
    "Pairs",
    "count_pairs",
    "counted",
    "joined",
    "key_of",
    "merged",
    "merged_streams",
    "words_of",
]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]
Words = NDArray[np.int32]
Bits = NDArray[np.uint64]
Marks = NDArray[np.bool_]

WINDOW = 20
"""Two words co-occur if their positions differ by less than this many content words."""

PIECE = 1 << 18
"""Pairs of one piece, approximately."""

LOW = (1 << 32) - 1
"""The bits of a key that hold the larger word."""

_MAX_WORDS_PER_PAIR = 4
"""Runs are added up in an array of all words if there are at most this many words per pair."""


class Pairs(NamedTuple):
    """A run: ascending keys, each once, with a count other than 0; negative counts subtract."""

    keys: Keys
    counts: Counts

    @classmethod
    def none(cls) -> Pairs:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))


def key_of(one: int, other: int) -> int:
    """Return the key of a pair of words, in any order.

    >>> key_of(3, 1) == key_of(1, 3) == (1 << 32) + 3
    True
    """
    return min(one, other) << 32 | max(one, other)


def words_of(keys: Keys) -> tuple[Words, Words]:
    """Return the smaller and the larger word of each key."""
    return (keys >> 32).astype(np.int32), (keys & LOW).astype(np.int32)


# --- counting ----------------------------------------------------------------------------


def count_pairs(words: Words, window: int = WINDOW, ends: NDArray[np.int64] | None = None) -> Pairs:
    """Return how often each two different words co-occur in a text, or in concatenated texts.

    Each pair of positions i < j < i + window counts once, whatever the order of the words; equal
    words are not counted. `ends` are the ends of the texts; without them there is one text.

    >>> keys, counts = count_pairs(np.array([1, 2, 1], np.int32))
    >>> keys.tolist() == [key_of(1, 2)], counts.tolist()
    (True, [2])
    """
    return _taken(list(counted(words, window, ends)))


def counted(
    words: Words, window: int = WINDOW, ends: NDArray[np.int64] | None = None
) -> Iterator[Pairs]:
    """Yield the run of `count_pairs` in pieces by ascending key, in memory linear in the words.

    For each word in turn, the larger words around all its positions are counted in an array with
    one entry per word, so nothing is sorted.
    """
    if window < 2:
        raise ValueError(f"window={window} should be >= 2")
    limits = np.array([len(words)]) if ends is None else np.asarray(ends, np.int64)
    distinct, ranks = _ranked(np.asarray(words, np.int32)[: limits.max(initial=0)])
    reach = min(window - 1, int(np.diff(limits, prepend=0).max(initial=0)))
    if len(words) + reach * (len(limits) + 1) >= 2**31:
        raise ValueError(f"{len(words)} words exceed the limit of 2**31 in one call; pass fewer")
    spaced, starts, positions = _positions(ranks, limits.astype(np.int64), reach, len(distinct))
    tally = _tally(len(distinct))
    row = 0
    while row < len(distinct):
        row, keys, counts = _count_rows(
            spaced, distinct, starts, positions, reach, row, PIECE, tally
        )
        if len(keys):
            # Many pieces may be held at once: without the unused rest of their buffers.
            yield Pairs(keys.copy(), counts.copy()) if row < len(distinct) else Pairs(keys, counts)


def _ranked(words: Words) -> tuple[Keys, Words]:
    """Return the distinct words, ascending, and the index of each word among them."""
    top = int(words.max(initial=-1)) + 1
    if top > 4 * len(words):  # a small part of the vocabulary
        distinct, ranks = np.unique(words, return_inverse=True)
        return distinct.astype(np.int64), ranks.ravel().astype(np.int32)
    occurs = np.bincount(words, minlength=top) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1).astype(np.int32)[words]


@kernel
def _positions(
    ranks: Words, ends: NDArray[np.int64], gap: int, n_words: int
) -> tuple[Words, NDArray[np.int64], NDArray[np.int32]]:
    """Return the texts with a gap of -1 before, between and after them, so that windows do not
    reach into the next text, and `starts` and `positions` in them: word r is at
    positions[starts[r]:starts[r + 1]], ascending."""
    spaced = np.full(len(ranks) + gap * (len(ends) + 1), -1, np.int32)
    starts = np.zeros(n_words + 1, np.int64)
    start, at = 0, gap
    for end in ends:
        for i in range(start, end):
            spaced[at] = ranks[i]
            starts[ranks[i] + 1] += 1
            at += 1
        start = end
        at += gap
    for rank in range(n_words):
        starts[rank + 1] += starts[rank]
    filled = starts[:-1].copy()
    positions = np.empty(starts[-1], np.int32)
    for i in range(len(spaced)):
        if spaced[i] >= 0:
            positions[filled[spaced[i]]] = i
            filled[spaced[i]] += 1
    return spaced, starts, positions


@kernel
def _count_rows(
    ranks: Words,
    distinct: Keys,
    starts: NDArray[np.int64],
    positions: NDArray[np.int32],
    reach: int,
    row: int,
    least: int,
    tally: tuple[Counts, Bits, Marks],
) -> tuple[int, Keys, Counts]:
    """Count the pairs whose smaller word is `row` or a later one, until there are `least` of them;
    return the next row and the pairs."""
    sums, fine, coarse = tally
    n_words = len(distinct)
    size = min(least + n_words, (starts[-1] - starts[row]) * 2 * reach)
    keys, counts = np.empty(size, np.int64), np.empty(size, np.int64)
    larger = np.empty(1024, np.int32)
    n = 0
    while row < n_words and n < least:
        most = (starts[row + 1] - starts[row]) * (2 * reach + 1)
        if most > len(larger):
            larger = np.empty(2 * most, np.int32)
        m = 0
        for t in range(starts[row], starts[row + 1]):
            for j in range(positions[t] - reach, positions[t] + reach + 1):
                larger[m] = ranks[j]
                m += ranks[j] > row  # no branch, because it could not be predicted
        for i in range(m):
            _tally_up(larger[i], 1, sums, fine, coarse)
        n = _drain(row, distinct, sums, fine, coarse, keys, counts, n)
        row += 1
    return row, keys[:n], counts[:n]


# --- a tally: sums for numbered words, and which of them were counted ------------------------

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""A de Bruijn sequence: its 64 groups of six bits differ, so the product with a single set bit
identifies that bit."""

_BIT_OF = np.zeros(64, np.uint8)
for _bit in range(64):
    _BIT_OF[(int(_DE_BRUIJN) << _bit) % 2**64 >> 58] = _bit


def _tally(n_words: int) -> tuple[Counts, Bits, Marks]:
    """Return empty sums, one bit per counted word (`fine`), and one mark per 64 of those (`coarse`)."""
    return (
        np.zeros(n_words, np.int64),
        np.zeros(n_words // 64 + 1, np.uint64),
        np.zeros(n_words // 4096 + 1, np.bool_),
    )


@kernel
def _tally_up(word: int, count: int, sums: Counts, fine: Bits, coarse: Marks) -> None:
    """Add to the count of a word."""
    number = np.uint64(word)
    sums[number] += count
    fine[number >> np.uint64(6)] |= np.uint64(1) << (number & np.uint64(63))
    coarse[number >> np.uint64(12)] = True


@kernel
def _drain(
    row: int,
    distinct: Keys,
    sums: Counts,
    fine: Bits,
    coarse: Marks,
    keys: Keys,
    counts: Counts,
    n: int,
) -> int:
    """Write the counts by ascending word as pairs with the word `row`, and clear the tally."""
    high = distinct[row] << 32
    for a in range(len(coarse)):
        if not coarse[a]:
            continue
        coarse[a] = False
        for b in range(64 * a, min(64 * (a + 1), len(fine))):
            left = fine[b]
            fine[b] = 0
            while left:
                lowest = left & (~left + np.uint64(1))
                left ^= lowest
                bit = _BIT_OF[(lowest * _DE_BRUIJN) >> np.uint64(58)]
                word = np.uint64(64 * b) + np.uint64(bit)
                keys[n], counts[n] = high | distinct[word], sums[word]
                n += sums[word] != 0
                sums[word] = 0
    return n


# --- adding up ---------------------------------------------------------------------------


def joined(pieces: Sequence[Pairs]) -> Pairs:
    """Concatenate consecutive pieces."""
    if len(pieces) == 1:
        return pieces[0]
    keys, counts = zip(*(pieces or [Pairs.none()]), strict=True)
    return Pairs(np.concatenate(keys), np.concatenate(counts))


def _taken(pieces: list[Pairs]) -> Pairs:
    """Concatenate consecutive pieces and empty the list, with one piece in memory twice at most."""
    if len(pieces) == 1:
        return pieces.pop()
    size = sum(len(piece.keys) for piece in pieces)
    keys, counts = np.empty(size, np.int64), np.empty(size, np.int64)
    end = size
    while pieces:
        piece = pieces.pop()
        start = end - len(piece.keys)
        keys[start:end], counts[start:end] = piece
        end = start
    return Pairs(keys, counts)


def merged(runs: Sequence[Pairs]) -> Pairs:
    """Return the sum of runs, without pairs whose counts cancel."""
    together = joined(runs)
    keys, counts = together
    if len(runs) < 2:
        is_counted = counts != 0
        return together if is_counted.all() else Pairs(keys[is_counted], counts[is_counted])
    top = max(int((keys & LOW).max(initial=0)), int((keys >> 32).max(initial=0))) + 1
    if top <= _MAX_WORDS_PER_PAIR * len(keys):
        ends = np.cumsum([len(run.keys) for run in runs])
        return Pairs(*_added(keys, counts, ends, np.arange(top), *_tally(top)))
    distinct, rows = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, rows.ravel(), counts)
    return merged([Pairs(distinct, sums)])


@kernel
def _added(
    keys: Keys,
    counts: Counts,
    ends: NDArray[np.int64],
    distinct: Keys,
    sums: Counts,
    fine: Bits,
    coarse: Marks,
) -> tuple[Keys, Counts]:
    """Return the sum of concatenated runs: word by word, the counts of all runs are tallied."""
    out, out_counts = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    at = np.zeros(len(ends), np.int64)
    at[1:] = ends[:-1]
    n = 0
    while True:
        row = -1
        for run in range(len(ends)):
            if at[run] < ends[run]:
                first = keys[at[run]] >> 32
                row = first if row < 0 else min(row, first)
        if row < 0:
            return out[:n].copy(), out_counts[:n].copy()
        for run in range(len(ends)):
            i, end = at[run], ends[run]
            while i < end and keys[i] >> 32 == row:
                _tally_up(keys[i] & LOW, counts[i], sums, fine, coarse)
                i += 1
            at[run] = i
        n = _drain(row, distinct, sums, fine, coarse, out, out_counts, n)


def merged_streams(streams: Sequence[Iterator[Pairs]]) -> Iterator[Pairs]:
    """Yield the sum of runs in pieces by ascending key; the runs are such pieces too.

    One piece of each run is in memory at a time.
    """
    waiting = [(piece, stream) for stream in streams if (piece := _next_piece(stream)) is not None]
    while waiting:
        bound = min(int(piece.keys[-1]) for piece, _ in waiting)
        ready: list[Pairs] = []
        left: list[tuple[Pairs, Iterator[Pairs]]] = []
        for piece, stream in waiting:
            cut = int(np.searchsorted(piece.keys, bound, "right"))
            if cut:
                ready.append(Pairs(piece.keys[:cut], piece.counts[:cut]))
            rest: Pairs | None = Pairs(piece.keys[cut:], piece.counts[cut:])
            if cut == len(piece.keys):
                rest = _next_piece(stream)
            if rest is not None:
                left.append((rest, stream))
        total = merged(ready)
        if len(total.keys):
            yield total
        waiting = left


def _next_piece(stream: Iterator[Pairs]) -> Pairs | None:
    """Return the next piece that is not empty, or None."""
    return next((piece for piece in stream if len(piece.keys)), None)


class PairSums:
    """Running counts in memory; runs of similar size are merged, so that adding stays cheap.

    >>> sums = PairSums()
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)))
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)), -1)
    >>> len(sums.total().keys)
    0
    """

    def __init__(self) -> None:
        self._runs: list[Pairs] = []

    def add(self, run: Pairs, sign: int = 1) -> None:
        """Add counts, or subtract them with `sign=-1`."""
        if not len(run.keys):
            return
        self._runs.append(run if sign == 1 else Pairs(run.keys, sign * run.counts))
        while len(self._runs) > 1 and len(self._runs[-2].keys) < 2 * len(self._runs[-1].keys):
            last = self._runs.pop()
            self._runs[-1] = merged([self._runs[-1], last])

    def total(self) -> Pairs:
        """Return the sum as one run."""
        self._runs = [merged(self._runs)]
        return self._runs[0]
