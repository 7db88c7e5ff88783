"""How often words meet: sorted runs of pairs that are counted, added up and taken back exactly.

Two content words that stand within a window of one text meet. Counts are sorted runs of integers:
keys (smaller word << 32 | larger word) with a count each. Runs add up in any order and can be taken
back exactly, and they can be merged piece by piece, so that the memory that is needed does not
follow the number of pairs.
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
"""Content words: two words meet if fewer than this many lie from one to the other."""

PIECE = 1 << 18
"""Pairs that are made at a time, about."""

LOW = (1 << 32) - 1
"""The bits of a key that hold the larger word."""

_DENSE = 4
"""Runs are added up in an array of all words if there are not more words than this times pairs."""


class Pairs(NamedTuple):
    """A run: ascending keys, each once, with a count that is not 0; negative takes away."""

    keys: Keys
    counts: Counts

    @classmethod
    def none(cls) -> Pairs:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))


def key_of(one: int, other: int) -> int:
    """The key of a pair of words, in any order.

    >>> key_of(3, 1) == key_of(1, 3) == (1 << 32) + 3
    True
    """
    return min(one, other) << 32 | max(one, other)


def words_of(keys: Keys) -> tuple[Words, Words]:
    """The smaller and the larger word of each key."""
    return (keys >> 32).astype(np.int32), (keys & LOW).astype(np.int32)


# --- counting ----------------------------------------------------------------------------


def count_pairs(words: Words, window: int = WINDOW, ends: NDArray[np.int64] | None = None) -> Pairs:
    """How often each two different words meet in a text, or in many texts end to end.

    Each pair of places i < j < i + window counts once, whatever the order of the words; a word
    does not meet itself. `ends` says where each text ends; without it there is one.

    >>> keys, counts = count_pairs(np.array([1, 2, 1], np.int32))
    >>> keys.tolist() == [key_of(1, 2)], counts.tolist()
    (True, [2])
    """
    return joined(list(counted(words, window, ends)))


def counted(
    words: Words, window: int = WINDOW, ends: NDArray[np.int64] | None = None
) -> Iterator[Pairs]:
    """The same run in pieces by ascending key, so that memory follows the words and not the pairs.

    Each word in turn looks around all its places and counts the larger ones in an array that has
    room for every word: nothing is sorted.
    """
    if window < 2:
        raise ValueError(f"window={window} should be >= 2")
    limits = np.array([len(words)]) if ends is None else np.asarray(ends, np.int64)
    known, ranks = _ranked(np.asarray(words, np.int32)[: limits.max(initial=0)])
    reach = min(window - 1, int(np.diff(limits, prepend=0).max(initial=0)))
    if len(words) + reach * (len(limits) + 1) >= 2**31:
        raise ValueError(f"{len(words)} words are too many to count at a time")
    apart = _apart(ranks, limits.astype(np.int64), reach)
    starts, places = _places(apart, len(known))
    tally = _tally(len(known))
    row = 0
    while row < len(known):
        row, keys, counts = _met(apart, known, starts, places, reach, row, PIECE, *tally)
        if len(keys):
            yield Pairs(keys, counts)


def _ranked(words: Words) -> tuple[Keys, Words]:
    """The different words, ascending, and for each word which of them it is."""
    top = int(words.max(initial=-1)) + 1
    if top > 4 * len(words):  # few of the words that there are
        known, ranks = np.unique(words, return_inverse=True)
        return known.astype(np.int64), ranks.ravel().astype(np.int32)
    there = np.bincount(words, minlength=top) > 0
    return np.flatnonzero(there), (np.cumsum(there) - 1).astype(np.int32)[words]


@kernel
def _apart(ranks: Words, ends: NDArray[np.int64], gap: int) -> Words:
    """Texts with a gap of -1 before, between and behind, so that none looks into the next."""
    out = np.full(len(ranks) + gap * (len(ends) + 1), -1, np.int32)
    start, at = 0, gap
    for end in ends:
        for i in range(start, end):
            out[at] = ranks[i]
            at += 1
        start = end
        at += gap
    return out


@kernel
def _places(ranks: Words, n_words: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each word stands, ascending; the word r at places[starts[r]:starts[r + 1]]."""
    starts = np.zeros(n_words + 1, np.int64)
    for rank in ranks:
        if rank >= 0:
            starts[rank + 1] += 1
    for rank in range(n_words):
        starts[rank + 1] += starts[rank]
    at = starts[:-1].copy()
    places = np.empty(starts[-1], np.int32)
    for i in range(len(ranks)):
        if ranks[i] >= 0:
            places[at[ranks[i]]] = i
            at[ranks[i]] += 1
    return starts, places


@kernel
def _met(
    ranks: Words,
    known: Keys,
    starts: NDArray[np.int64],
    places: NDArray[np.int32],
    reach: int,
    row: int,
    least: int,
    sums: Counts,
    fine: Bits,
    coarse: Marks,
) -> tuple[int, Keys, Counts]:
    """The pairs whose smaller word is `row` or one of the next, until there are `least`; and the
    first row that is left."""
    n_words = len(known)
    room = min(least + n_words, (starts[-1] - starts[row]) * 2 * reach)
    keys, counts = np.empty(room, np.int64), np.empty(room, np.int64)
    larger = np.empty(1024, np.int32)
    n = 0
    while row < n_words and n < least:
        most = (starts[row + 1] - starts[row]) * (2 * reach + 1)
        if most > len(larger):
            larger = np.empty(2 * most, np.int32)
        m = 0
        for t in range(starts[row], starts[row + 1]):
            for j in range(places[t] - reach, places[t] + reach + 1):
                larger[m] = ranks[j]
                m += ranks[j] > row  # no branch: which it is cannot be foretold
        for i in range(m):
            _tell(larger[i], 1, sums, fine, coarse)
        n = _drain(row, known, sums, fine, coarse, keys, counts, n)
        row += 1
    return row, keys[:n], counts[:n]


# --- a tally: sums for numbered words, and which of them were told ---------------------------

_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Its 64 stretches of six bits differ, so they tell which bit of a word is set alone."""

_WHICH = np.zeros(64, np.uint8)
for _bit in range(64):
    _WHICH[(int(_BRUIJN) << _bit) % 2**64 >> 58] = _bit


def _tally(n_words: int) -> tuple[Counts, Bits, Marks]:
    """Sums, one bit a word that was told, and one mark for each 64 of these words of bits."""
    return (
        np.zeros(n_words, np.int64),
        np.zeros(n_words // 64 + 1, np.uint64),
        np.zeros(n_words // 4096 + 1, np.bool_),
    )


@kernel
def _tell(word: int, count: int, sums: Counts, fine: Bits, coarse: Marks) -> None:
    place = np.uint64(word)
    sums[place] += count
    fine[place >> np.uint64(6)] |= np.uint64(1) << (place & np.uint64(63))
    coarse[place >> np.uint64(12)] = True


@kernel
def _drain(
    row: int,
    known: Keys,
    sums: Counts,
    fine: Bits,
    coarse: Marks,
    keys: Keys,
    counts: Counts,
    n: int,
) -> int:
    """Writes what was told, by ascending word, as pairs with the word `row`; leaves nothing."""
    high = known[row] << 32
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
                word = np.uint64(64 * b) + np.uint64(_WHICH[(lowest * _BRUIJN) >> np.uint64(58)])
                keys[n], counts[n] = high | known[word], sums[word]
                n += sums[word] != 0
                sums[word] = 0
    return n


# --- adding up ---------------------------------------------------------------------------


def joined(pieces: Sequence[Pairs]) -> Pairs:
    """Pieces that follow each other as one."""
    if len(pieces) == 1:
        return pieces[0]
    keys, counts = zip(*(pieces or [Pairs.none()]), strict=True)
    return Pairs(np.concatenate(keys), np.concatenate(counts))


def merged(runs: Sequence[Pairs]) -> Pairs:
    """The sum of runs; pairs whose counts cancel are gone."""
    together = joined(runs)
    keys, counts = together
    if len(runs) < 2:
        held = counts != 0
        return together if held.all() else Pairs(keys[held], counts[held])
    top = max(int((keys & LOW).max(initial=0)), int((keys >> 32).max(initial=0))) + 1
    if top <= _DENSE * len(keys):
        ends = np.cumsum([len(run.keys) for run in runs])
        return Pairs(*_added(keys, counts, ends, np.arange(top), *_tally(top)))
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place.ravel(), counts)
    return merged([Pairs(distinct, sums)])


@kernel
def _added(
    keys: Keys,
    counts: Counts,
    ends: NDArray[np.int64],
    known: Keys,
    sums: Counts,
    fine: Bits,
    coarse: Marks,
) -> tuple[Keys, Counts]:
    """The sum of runs that lie end to end: word by word, what it has in every run is tallied."""
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
                _tell(keys[i] & LOW, counts[i], sums, fine, coarse)
                i += 1
            at[run] = i
        n = _drain(row, known, sums, fine, coarse, out, out_counts, n)


def merged_streams(streams: Sequence[Iterator[Pairs]]) -> Iterator[Pairs]:
    """The sum of runs that each come in pieces by ascending key, again in such pieces.

    Only one piece of every run is in memory at a time.
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
    """The next piece that is not empty."""
    return next((piece for piece in stream if len(piece.keys)), None)


class PairSums:
    """Running counts in memory: runs of like size are merged, so adding many costs little.

    >>> sums = PairSums()
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)))
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)), -1)
    >>> len(sums.total().keys)
    0
    """

    def __init__(self) -> None:
        self._runs: list[Pairs] = []

    def add(self, run: Pairs, sign: int = 1) -> None:
        """Adds counts, or takes them away with `sign=-1`."""
        if not len(run.keys):
            return
        self._runs.append(run if sign == 1 else Pairs(run.keys, sign * run.counts))
        while len(self._runs) > 1 and len(self._runs[-2].keys) < 2 * len(self._runs[-1].keys):
            last = self._runs.pop()
            self._runs[-1] = merged([self._runs[-1], last])

    def total(self) -> Pairs:
        """Everything that was added, as one run."""
        self._runs = [merged(self._runs)]
        return self._runs[0]
