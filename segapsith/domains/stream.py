"""Domains of rows of numbers, without a store: for estimators that receive matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Rows
from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE

__all__ = ["RowStream"]


class RowStream:
    """Places rows one after the other, each as a unit and a story of its own.

    A row contains weights >= 0, one for each word. It is divided by its largest value, as the
    weights of a unit are. The label of a domain is the order in which it was started, from 0; an
    empty row has the label -1. A row may have columns that no earlier row had.
    """

    def __init__(self, settings: PlacementSettings | None = None) -> None:
        self._index = DomainIndex(settings)
        self._n_rows = 0

    @property
    def n_domains(self) -> int:
        """The number of domains."""
        return self._index.next_domain - 1

    def place(self, rows: Rows) -> Labels:
        """Add each row to the most similar domain, or start one; return its label."""
        labels = np.full(rows.shape[0], -1, dtype=np.int64)
        bags, where = _bags(rows)
        if bags:
            placed = self._index.place_all(bags, self._n_rows + 1 + where)
            labels[where] = [domain - 1 for domain, _ in placed]
        self._n_rows += rows.shape[0]
        return labels

    def find(self, rows: Rows) -> Labels:
        """Return the label of the domain that each row would join; -1 if it would start one."""
        labels = np.full(rows.shape[0], -1, dtype=np.int64)
        bags, where = _bags(rows)
        for row, bag in zip(where.tolist(), bags, strict=True):
            domain = self._index.place(bag, story=self._n_rows + 1).domain
            labels[row] = -1 if domain is None else domain - 1
        return labels

    def sizes(self) -> Labels:
        """Return the number of rows of each domain."""
        return np.asarray(self._index.n_units[1 : self.n_domains + 1], dtype=np.int64)

    def heaviest(self, label: int, most: int) -> list[tuple[int, float]]:
        """Return the heaviest words of a domain, by column, with their weights."""
        return self._index.heaviest([label + 1], most)[0]


def _bags(rows: Rows) -> tuple[list[Bag], NDArray[np.int64]]:
    """Return the rows that are not empty as units, and their numbers."""
    bags, where = [], []
    for number, (start, end) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
        words, values = rows.indices[start:end], rows.data[start:end]
        present = np.flatnonzero(values > 0)
        if len(present):
            present = present[np.argsort(words[present], kind="stable")]
            shares = values[present] / values[present].max()
            weights = np.maximum(np.rint(shares * SCALE), 1).astype(np.int32)
            ones = np.ones(len(present), dtype=np.int32)
            bags.append(Bag(words[present].astype(np.int32), ones, weights))
            where.append(number)
    return bags, np.asarray(where, dtype=np.int64)
