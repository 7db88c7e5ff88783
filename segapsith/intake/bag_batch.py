"""Batches of pre-segmented units: words and counts as arrays over one list of names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from segapsith import limits
from segapsith.intake.documents import is_clean
from segapsith.jit import kernel

__all__ = ["BagBatch", "Row"]

Ints = NDArray[np.int64]
Columns = NDArray[np.int32]


class Row(Mapping[str, int]):
    """The words of a unit with their counts: a row of a matrix with named columns.

    >>> dict(Row(["hail", "rain", "storm"], np.array([0, 2], np.int32), np.array([3, 1])))
    {'hail': 3, 'storm': 1}
    """

    __slots__ = ("columns", "counts", "words")

    def __init__(self, words: Sequence[str], columns: Columns, counts: Ints) -> None:
        """`words` are the names of all columns, ascending; `columns` ascend too."""
        self.words, self.columns, self.counts = words, columns, counts

    def __getitem__(self, word: str) -> int:
        column = bisect_left(self.words, word)
        i = int(np.searchsorted(self.columns, column))
        if i < len(self.columns) and self.words[self.columns[i]] == word:
            return int(self.counts[i])
        raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        return map(self.words.__getitem__, self.columns.tolist())

    def __len__(self) -> int:
        return len(self.columns)

    def items(self) -> ItemsView[str, int]:
        return dict(zip(self, self.counts.tolist(), strict=True)).items()

    def values(self) -> ValuesView[int]:
        return dict(zip(self, self.counts.tolist(), strict=True)).values()


@dataclass(frozen=True, slots=True)
class BagBatch:
    """Concatenated bags, each up to its entry of `ends`; `columns` are indices of `words`."""

    words: Sequence[str]
    """Names, ascending."""
    columns: Columns
    """Ascending within a bag."""
    counts: Ints
    ends: Ints
    numbers: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    """By language, the number of each word in the vocabulary; -1 before it is looked up."""

    @classmethod
    def of(cls, bags: Sequence[Mapping[str, int]]) -> BagBatch:
        """Return the batch of these bags, in order; counts must be integers."""
        ends = np.cumsum(np.fromiter(map(len, bags), np.int64, len(bags)), dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        rows = [bag for bag in bags if isinstance(bag, Row)]
        if rows and len(rows) == len(bags) and all(row.words is rows[0].words for row in rows):
            return cls(
                rows[0].words,
                np.concatenate([row.columns for row in rows]),
                np.concatenate([row.counts for row in rows]),
                ends,
            )
        words = sorted(set(chain.from_iterable(bags)))
        column_of = dict(zip(words, range(len(words)), strict=True))
        looked_up = map(column_of.__getitem__, chain.from_iterable(bags))
        columns = np.fromiter(looked_up, np.int32, total)
        counts = np.fromiter(chain.from_iterable(bag.values() for bag in bags), np.int64, total)
        keys = (np.repeat(np.arange(len(bags)), np.diff(ends, prepend=0)) << 32) + columns
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys)
            columns, counts = columns[order], counts[order]
        return cls(words, columns, counts, ends)

    @classmethod
    def if_sound(cls, bags: Sequence[Mapping[str, int]]) -> BagBatch | None:
        """Return the batch, or None if a bag is empty or exceeds the limits."""
        counts = chain.from_iterable(bag.values() for bag in bags if not isinstance(bag, Row))
        if not {int}.issuperset(map(type, counts)):
            return None
        try:
            bag_batch = cls.of(bags)
        except OverflowError:
            return None
        return bag_batch if not bags or bag_batch._is_sound() else None

    def _is_sound(self) -> bool:
        sizes = np.diff(self.ends, prepend=0)
        return bool(
            sizes.min() > 0
            and self.counts.min() >= 1
            and self.counts.max() <= limits.MAX_BAG_WORDS  # so that the sums cannot overflow
            and np.add.reduceat(self.counts, self.ends - sizes).max() <= limits.MAX_BAG_WORDS
            and min(map(len, self.words)) > 0
            and max(map(len, self.words)) <= limits.MAX_WORD_CHARS
            and is_clean("".join(self.words))
        )

    def __len__(self) -> int:
        return len(self.ends)

    def hashes(self) -> Iterator[str]:
        """Yield the SHA-256 of each bag: its words in order, each with a NUL, and its counts."""
        names = [word.encode("utf-8", "replace") for word in self.words]
        starts = np.cumsum([0, *map(len, names)])
        letters = np.frombuffer(b"".join(names), np.uint8)
        text, ends = _spelled_out(letters, starts, self.columns, self.counts, self.ends)
        view = memoryview(cast("bytes", text))
        for first, last in pairwise([0, *ends.tolist()]):
            yield hashlib.sha256(view[first:last]).hexdigest()

    def picked(self, places: Sequence[int]) -> tuple[Columns, Ints, Ints]:
        """Return columns, counts and ends of the bags at these places."""
        bags = np.asarray(places, dtype=np.int64)
        firsts = np.concatenate([[0], self.ends])[bags]
        sizes = self.ends[bags] - firsts
        ends = np.cumsum(sizes)
        flat = np.repeat(firsts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)
        return self.columns[flat], self.counts[flat], ends


_COMMA, _SPACE, _ZERO, _OPENING, _CLOSING = (ord(character) for character in ", 0[]")


@kernel
def _spelled_out(
    letters: NDArray[np.uint8], starts: Ints, columns: Columns, counts: Ints, ends: Ints
) -> tuple[NDArray[np.uint8], Ints]:
    """Return the concatenated bytes of all bags, and their ends.

    A bag is its words, each followed by NUL, and its counts as a list: `rain\\0[2]`.
    """
    size = 0
    for i in range(len(columns)):
        size += starts[columns[i] + 1] - starts[columns[i]] + 1 + 2
        count = counts[i]
        while count > 0:
            size += 1
            count //= 10
    result = np.empty(size, dtype=np.uint8)
    result_ends = np.empty(len(ends), dtype=np.int64)
    at, first = 0, 0
    for unit in range(len(ends)):
        for i in range(first, ends[unit]):
            for letter in range(starts[columns[i]], starts[columns[i] + 1]):
                result[at] = letters[letter]
                at += 1
            result[at] = 0
            at += 1
        result[at] = _OPENING
        at += 1
        for i in range(first, ends[unit]):
            count, digits = counts[i], 0
            while count > 0:
                digits += 1
                count //= 10
            count = counts[i]
            for digit in range(at + digits - 1, at - 1, -1):
                result[digit] = _ZERO + count % 10
                count //= 10
            at += digits
            if i + 1 < ends[unit]:
                result[at], result[at + 1] = _COMMA, _SPACE
                at += 2
        result[at] = _CLOSING
        at += 1
        result_ends[unit] = at
        first = ends[unit]
    return result, result_ends
