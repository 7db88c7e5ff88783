"""Similarity of domains to each other, and the domains that have a word: all words in memory.

`queries.domains.show_domain` compares one domain with every other by reading each of them. Pages
ask for many domains, so the words of all domains are read once after each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.values import DomainWords
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = ["DomainVectors", "Near", "read_vectors"]

BLOCK = 200_000
"""Words that are compared at once."""

FIRST_SIZE = 1_000_000
"""Words for which there is room at first, and more than in an earlier reading."""


@dataclass(frozen=True, slots=True)
class Near:
    """A domain and its similarity by eq. 7."""

    id: int
    similarity: float


@dataclass(frozen=True, slots=True)
class DomainVectors:
    """The words of all domains that have units: one row per domain, rows in order of their ids."""

    ids: NDArray[np.int64]
    langs: tuple[str, ...]
    sizes: NDArray[np.int64]
    starts: NDArray[np.integer]
    """Where a row begins in the columns; one more than there are rows."""
    words: NDArray[np.int32]
    occurrences: NDArray[np.integer]
    weights: NDArray[np.integer]
    totals: NDArray[np.int64]
    """Sums of occurrences and of weights by row, in two columns."""
    marks: tuple[int, ...]
    """Hashes of the stored bytes, valid in this process."""

    def row_of(self, domain: int) -> int | None:
        """Return the row of a domain; None if it has no units."""
        at = int(np.searchsorted(self.ids, domain))
        return at if at < len(self.ids) and self.ids[at] == domain else None

    def sums(self, domain: int) -> DomainWords | None:
        """Return the sums of one domain."""
        row = self.row_of(domain)
        if row is None:
            return None
        at = slice(int(self.starts[row]), int(self.starts[row + 1]))
        occurrences, weights = self.occurrences[at], self.weights[at]
        return DomainWords(
            self.words[at],
            occurrences.astype(np.int64),
            weights.astype(np.int64),
            int(self.sizes[row]),
        )

    def total(self, domains: Sequence[int]) -> DomainWords:
        """Return the sums of several domains that have units as the sums of one."""
        rows = np.searchsorted(self.ids, np.asarray(domains, np.int64))
        lengths = self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(lengths)
        at = np.arange(int(ends[-1]) if len(ends) else 0, dtype=self.starts.dtype)
        at += np.repeat(self.starts[rows] - ends + lengths, lengths)
        places = self.words[at]
        present = np.zeros(int(places.max(initial=-1)) + 1, bool)
        present[places] = True
        words = np.flatnonzero(present).astype(np.int32)
        occurrences, weights = (
            np.bincount(places, column[at])[words].astype(np.int64)  # exact below 2 ** 53
            for column in (self.occurrences, self.weights)
        )
        return DomainWords(words, occurrences, weights, int(self.sizes[rows].sum()))

    def near(self, domain: int, most: int) -> list[Near]:
        """Return the most similar other domains of the language, ties by id."""
        row = self.row_of(domain)
        if row is None:
            return []
        similarity, lang = self._compared(row), self.langs[row]
        best = np.lexsort((self.ids, -similarity))[: 4 * most + 1]
        return [
            Near(int(self.ids[one]), round(float(similarity[one]), 6))
            for one in best.tolist()
            if one != row and similarity[one] > 0 and self.langs[one] == lang
        ][:most]

    def _compared(self, row: int) -> NDArray[np.float64]:
        """Return the similarity of one row to every row."""
        sums = self.sums(int(self.ids[row]))
        if sums is None or not len(sums.words):
            return np.zeros(len(self.ids))
        place_of = np.full(int(self.words.max()) + 1, -1, np.int32)
        place_of[sums.words] = np.arange(len(sums.words))
        parts = np.zeros((4, len(self.ids)))
        for first in range(0, len(self.words), BLOCK):  # in blocks: several requests ask at once
            places = place_of[self.words[first : first + BLOCK]]
            shared = np.flatnonzero(places >= 0)
            common = places[shared]
            shared += first
            rows = np.searchsorted(self.starts, shared.astype(self.starts.dtype), side="right") - 1
            for part, values in zip(
                parts,
                (
                    sums.occurrences[common], sums.weights[common],
                    self.occurrences[shared], self.weights[shared],
                ),
                strict=True,
            ):  # fmt: skip
                part += np.bincount(rows, values, len(self.ids))
        whole = self.totals.astype(np.float64)
        product = (
            (parts[0] / max(1, int(sums.occurrences.sum())))
            * (parts[1] / max(1, int(sums.weights.sum())))
            * (parts[2] / np.maximum(1, whole[:, 0]))
            * (parts[3] / np.maximum(1, whole[:, 1]))
        )
        similarity: NDArray[np.float64] = product**0.25
        return similarity

    def similarities(self, domains: Sequence[int]) -> NDArray[np.float64]:
        """Return the similarity of each pair of some domains that have units."""
        rows = [row for row in map(self.row_of, domains) if row is not None]
        places = [np.arange(self.starts[row], self.starts[row + 1]) for row in rows]
        at = np.concatenate([np.zeros(0, np.int64), *places])
        few = DomainVectors(
            self.ids[rows],
            tuple(self.langs[row] for row in rows),
            self.sizes[rows],
            np.concatenate([[0], np.cumsum([len(place) for place in places], dtype=np.int64)]),
            self.words[at],
            self.occurrences[at],
            self.weights[at],
            self.totals[rows],
            tuple(self.marks[row] for row in rows),
        )
        return np.array([few._compared(row) for row in range(len(rows))]).reshape(
            len(rows), len(rows)
        )

    def having(self, word: int, most: int) -> list[tuple[int, float]]:
        """Return the domains with a word and its mean weight there (fixed point), heaviest first."""
        places = np.flatnonzero(self.words == word)
        rows = np.searchsorted(self.starts, places, side="right") - 1
        weights = self.weights[places] / np.maximum(1, self.sizes[rows])
        order = np.lexsort((self.ids[rows], -weights * np.log1p(self.sizes[rows])))[:most]
        return [(int(self.ids[rows[i]]), float(weights[i])) for i in order.tolist()]


def read_vectors(store: Store, earlier: DomainVectors | None = None) -> DomainVectors:
    """Read the words of all domains that have units.

    `earlier` is what was read from the same store before: stretches of domains whose bytes are the
    same are copied from it.
    """
    known = {} if earlier is None else {n: i for i, n in enumerate(earlier.ids.tolist())}
    ids, langs, marks, sizes = [], [], [], []
    filled = _Rows(earlier)
    for number, lang, n_units, blob in store.rows(
        "SELECT id, lang, units, words FROM domains WHERE units > 0 ORDER BY id"
    ):
        mark, row = hash(blob), known.get(number)
        if earlier is not None and row is not None and earlier.marks[row] == mark:
            filled.copy(row)
        else:
            filled.add(codecs.domain_from(blob, n_units))
        ids.append(number)
        langs.append(lang)
        marks.append(mark)
        sizes.append(n_units)
    starts, words, occurrences, weights = filled.filled()
    return DomainVectors(
        np.array(ids, dtype=np.int64),
        tuple(langs),
        np.array(sizes, dtype=np.int64),
        starts,
        words.astype(np.int32, copy=False),
        occurrences,
        weights,
        np.column_stack([_summed(column, starts) for column in (occurrences, weights)]),
        tuple(marks),
    )


def _narrow(most: int) -> type[np.signedinteger]:
    """Return the narrowest type that holds a number: columns of a large store are long."""
    return next(kind for kind in (np.int16, np.int32, np.int64) if most <= np.iinfo(kind).max)


class _Rows:
    """Columns that grow row by row: new rows, and unchanged rows of an earlier reading in stretches.

    They are filled in place, since pieces that are joined at the end would be held twice. Memory
    that is not filled yet is not taken from the system.
    """

    def __init__(self, earlier: DomainVectors | None) -> None:
        self._earlier = earlier
        size = FIRST_SIZE if earlier is None else len(earlier.words) * 5 // 4 + FIRST_SIZE
        types = (
            (np.dtype(np.int32), np.dtype(np.int16), np.dtype(np.int32))
            if earlier is None
            else (earlier.words.dtype, earlier.occurrences.dtype, earlier.weights.dtype)
        )
        self._columns = [np.empty(size, kind) for kind in types]
        self._end = 0
        self._starts = [0]
        self._stretch: tuple[int, int] | None = None

    def copy(self, row: int) -> None:
        """Take a row from the earlier reading."""
        if self._stretch is not None and self._stretch[1] == row:
            self._stretch = (self._stretch[0], row + 1)
        else:
            self._end_stretch()
            self._stretch = (row, row + 1)

    def add(self, sums: DomainWords) -> None:
        """Take a row that was read now."""
        self._end_stretch()
        self._append(sums.words, sums.occurrences, sums.weights)
        self._starts.append(self._end)

    def _end_stretch(self) -> None:
        if self._stretch is None or self._earlier is None:
            return
        first, end = self._stretch
        starts = self._earlier.starts
        at = slice(int(starts[first]), int(starts[end]))
        moved = self._end - at.start
        self._append(*(c[at] for c in (self._earlier.words, self._earlier.occurrences,
                                       self._earlier.weights)))  # fmt: skip
        self._starts += (starts[first + 1 : end + 1].astype(np.int64) + moved).tolist()
        self._stretch = None

    def _append(self, *values: NDArray[np.integer]) -> None:
        end = self._end + len(values[0])
        for i, (column, new) in enumerate(zip(self._columns, values, strict=True)):
            kind = np.result_type(column, _narrow(int(new.max(initial=0))))
            if end > len(column) or kind != column.dtype:
                grown = np.empty(max(len(column), end * 5 // 4), kind)
                grown[: self._end] = column[: self._end]
                self._columns[i] = column = grown
            column[self._end : end] = new
        self._end = end

    def filled(self) -> tuple[NDArray[np.integer], ...]:
        """Return where rows start, the words, the occurrences and the weights."""
        self._end_stretch()
        starts = np.array(self._starts, np.result_type(np.int32, _narrow(self._end)))
        return (starts, *(column[: self._end] for column in self._columns))


def _summed(column: NDArray[np.integer], starts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the sum of each row of a column; that of a row without words is 0."""
    if len(starts) == 1:
        return np.zeros(0, np.int64)
    filled = np.diff(starts) > 0
    sums = np.zeros(len(starts) - 1, np.int64)
    sums[filled] = np.add.reduceat(column, starts[:-1][filled], dtype=np.int64)
    return sums
