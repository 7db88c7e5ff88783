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
    starts: NDArray[np.int64]
    """Where a row begins in the columns; one more than there are rows."""
    words: NDArray[np.int32]
    occurrences: NDArray[np.int64]
    weights: NDArray[np.int64]
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
        return DomainWords(
            self.words[at],
            self.occurrences[at],
            self.weights[at],
            int(self.sizes[row]),
        )

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
        at = slice(int(self.starts[row]), int(self.starts[row + 1]))
        sums = DomainWords(self.words[at], self.occurrences[at], self.weights[at], 0)
        if not len(sums.words):
            return np.zeros(len(self.ids))
        place_of = np.full(int(self.words.max()) + 1, -1, np.int32)
        place_of[sums.words] = np.arange(len(sums.words))
        places = place_of[self.words]
        shared = np.flatnonzero(places >= 0)
        rows = np.searchsorted(self.starts, shared, side="right") - 1
        size = len(self.ids)
        common = places[shared]
        parts = [
            np.bincount(rows, values.astype(np.float64), size)
            for values in (
                sums.occurrences[common], sums.weights[common], self.occurrences[shared],
                self.weights[shared],
            )
        ]  # fmt: skip
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
    parts = _Parts(earlier)
    for number, lang, n_units, blob in store.rows(
        "SELECT id, lang, units, words FROM domains WHERE units > 0 ORDER BY id"
    ):
        mark, row = hash(blob), known.get(number)
        if earlier is not None and row is not None and earlier.marks[row] == mark:
            parts.copy(row)
        else:
            parts.add(codecs.domain_from(blob, n_units))
        ids.append(number)
        langs.append(lang)
        marks.append(mark)
        sizes.append(n_units)
    words, occurrences, weights, lengths = parts.joined()
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return DomainVectors(
        np.array(ids, dtype=np.int64),
        tuple(langs),
        np.array(sizes, dtype=np.int64),
        starts,
        words.astype(np.int32),
        occurrences,
        weights,
        np.column_stack([_summed(column, starts) for column in (occurrences, weights)]),
        tuple(marks),
    )


class _Parts:
    """Columns in pieces: new rows one by one, unchanged rows of an earlier reading in stretches."""

    def __init__(self, earlier: DomainVectors | None) -> None:
        self._earlier = earlier
        self._columns: list[tuple[NDArray[np.integer], ...]] = []
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
        self._columns.append(
            (sums.words, sums.occurrences, sums.weights, np.array([len(sums.words)]))
        )

    def _end_stretch(self) -> None:
        if self._stretch is None or self._earlier is None:
            return
        first, end = self._stretch
        starts = self._earlier.starts
        at = slice(int(starts[first]), int(starts[end]))
        lengths = np.diff(starts[first : end + 1])
        earlier = (self._earlier.words, self._earlier.occurrences, self._earlier.weights)
        self._columns.append((*(column[at] for column in earlier), lengths))
        self._stretch = None

    def joined(self) -> list[NDArray[np.int64]]:
        """Return words, occurrences, weights and the lengths of the rows."""
        self._end_stretch()
        if not self._columns:
            return [np.zeros(0, np.int64)] * 4
        return [
            np.concatenate(column, dtype=np.int64) for column in zip(*self._columns, strict=True)
        ]


def _summed(column: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of each row of a column."""
    sums = np.concatenate([[0], np.cumsum(column)])
    differences: NDArray[np.int64] = sums[starts[1:]] - sums[starts[:-1]]
    return differences
