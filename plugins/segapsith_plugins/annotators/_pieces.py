"""Divide a text into pieces and number them; both are done on arrays of characters.

A piece is a chunk (a run of letters or digits with the hyphens, apostrophes and dots inside it) and
everything up to the next chunk, so that the pieces cover a text after its first letter. Equal
pieces have equal numbers, in the order of first occurrence.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = ["CHUNK", "INSIDE", "Pieces", "match_end"]

INSIDE = (
    r"\w\u0300-\u036f\u00ad\u200b-\u200d\u2060"  # letters, combining accents, invisible characters
)
_SIGNS = "-‐‑'’ʼ‘`´&"
CHUNK = re.compile(
    rf"""
    [^\W_](?:
      \.(?<!\d\.)(?:-?[^\W\d_]\.)+                          # U.S., J.-C., e.g.
    | [{INSIDE}]*+
      (?:(?:[{_SIGNS}]|(?<=\d)[.,](?=\d))[^\W_][{INSIDE}]*+)*+  # vice-president, l'homme, 5.93
    )""",
    re.VERBOSE,
)
"""The pattern of a chunk; `_cut` finds the same chunks without a pattern."""


def match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where a match that begins at `position` ends, or `position` if there is none."""
    match = pattern.match(text, position)
    return match.end() if match else position


Codes = NDArray[np.uint32]

_OPENS, _DIGIT, _INSIDE, _SIGN = 1, 2, 4, 8


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """Return the roles that each character may have in a chunk, as bits."""
    characters = np.arange(0x110000, dtype=np.uint32).view("U1")
    opens = np.char.isalnum(characters)
    kinds = opens * np.uint8(_OPENS | _INSIDE)
    kinds[np.char.isdecimal(characters)] |= _DIGIT
    for code in [ord("_"), *range(0x300, 0x370), 0xAD, 0x200B, 0x200C, 0x200D, 0x2060]:
        kinds[code] |= _INSIDE
    for sign in _SIGNS:
        kinds[ord(sign)] |= _SIGN
    return kinds


@kernel
def _cut(codes: Codes, kinds: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return where pieces begin, and the end of the text."""
    n = len(codes)
    starts = np.empty(n // 2 + 2, np.int32)
    n_starts = i = 0
    while i < n and not kinds[codes[i]] & 1:
        i += 1
    while i < n:
        starts[n_starts] = i
        n_starts += 1
        digit = kinds[codes[i]] & 2
        i += 1
        dotted = False
        if i < n and codes[i] == 46 and not digit:
            follow = i + 1
            while True:
                letter = follow + 1 if follow < n and codes[follow] == 45 else follow
                if letter + 1 >= n or codes[letter + 1] != 46 or kinds[codes[letter]] & 3 != 1:
                    break
                follow = letter + 2
                dotted = True
            if dotted:
                i = follow
        while not dotted:
            while i < n and kinds[codes[i]] & 4:
                i += 1
            if i + 1 >= n or not kinds[codes[i + 1]] & 1:
                break
            if not kinds[codes[i]] & 8:
                point = codes[i] == 46 or codes[i] == 44
                if not (point and kinds[codes[i - 1]] & 2 and kinds[codes[i + 1]] & 2):
                    break
            i += 2
        while i < n and not kinds[codes[i]] & 1:
            i += 1
    starts[n_starts] = n
    return starts[: n_starts + 1]


@kernel
def _number(
    codes: Codes,
    starts: NDArray[np.int32],
    numbers: NDArray[np.int64],
    first: int,
    table: NDArray[np.int32],
    stored: Codes,
    ends: NDArray[np.int64],
    n_stored: int,
) -> tuple[int, int]:
    """Number the pieces, beginning with `first`, until the tables are full.

    Return how many pieces of the text have a number, and how many different pieces are stored.
    `table` has the number of a piece at the position of its hash, and -1 where there is none; the
    characters of piece k are stored[ends[k] : ends[k + 1]].
    """
    mask = len(table) - 1
    for i in range(first, len(numbers)):
        start, end = starts[i], starts[i + 1]
        value = np.uint64(0x9E3779B97F4A7C15)
        for j in range(start, end):
            value = (value ^ np.uint64(codes[j])) * np.uint64(0x9FB21C651E98DF25)
            value ^= value >> np.uint64(29)
        place = np.int64(value & np.uint64(mask))
        while True:
            k = table[place]
            if k < 0:
                break
            begin = ends[k]
            same = ends[k + 1] - begin == end - start
            j = 0
            while same and j < end - start:
                same = stored[begin + j] == codes[start + j]
                j += 1
            if same:
                break
            place = (place + 1) & mask
        if k < 0:
            begin = ends[n_stored]
            if (
                2 * n_stored >= mask
                or n_stored + 2 > len(ends)
                or begin + end - start > len(stored)
            ):
                return i, n_stored
            stored[begin : begin + end - start] = codes[start:end]
            ends[n_stored + 1] = begin + end - start
            table[place] = k = n_stored
            n_stored += 1
        numbers[i] = k
    return len(numbers), n_stored


class Pieces:
    """All different pieces so far.

    >>> pieces = Pieces()
    >>> numbers, starts, n_new = pieces.numbers("« A rose is a rose. »")
    >>> numbers.tolist(), starts.tolist(), n_new
    ([0, 1, 2, 3, 4], [2, 4, 9, 12, 14, 21], 5)
    >>> [pieces.text(number) for number in range(n_new)]
    ['A ', 'rose ', 'is ', 'a ', 'rose. »']
    """

    def __init__(self) -> None:
        self._table = np.full(1 << 14, -1, np.int32)
        self._stored = np.empty(1 << 16, np.uint32)
        self._ends = np.zeros((1 << 13) + 1, np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def n_characters(self) -> int:
        """The number of characters of all pieces."""
        return int(self._ends[self._n])

    def text(self, number: int) -> str:
        """Return the piece with this number."""
        codes = self._stored[self._ends[number] : self._ends[number + 1]]
        return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def numbers(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int32], int]:
        """Return the numbers of the pieces, where they begin (and the text ends), and how many are
        new.
        """
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)
        starts = _cut(codes, _kinds())
        numbers = np.empty(len(starts) - 1, np.int64)
        done, n_before = 0, self._n
        while True:
            done, self._n = _number(
                codes, starts, numbers, done, self._table, self._stored, self._ends, self._n
            )
            if done == len(numbers):
                return numbers, starts, self._n - n_before
            self._grow(int(starts[done + 1] - starts[done]))

    def _grow(self, n_characters: int) -> None:
        """Double the capacity, and make it sufficient for a piece of this length."""
        used = self._ends[self._n]
        if used + n_characters > len(self._stored):
            stored = np.empty(max(2 * len(self._stored), int(used) + n_characters), np.uint32)
            stored[:used] = self._stored[:used]
            self._stored = stored
        if 2 * self._n >= len(self._table) - 1 or self._n + 2 > len(self._ends):
            pieces, ends = self._stored, self._ends[: self._n + 1]
            self._table = np.full(2 * len(self._table), -1, np.int32)
            self._ends = np.zeros(len(self._table) // 2 + 2, np.int64)
            self._n = 0
            numbers = np.empty(len(ends) - 1, np.int64)
            again = ends.astype(np.int32)
            _, self._n = _number(
                pieces, again, numbers, 0, self._table, self._stored, self._ends, 0
            )
