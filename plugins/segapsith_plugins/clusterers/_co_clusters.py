"""Rows and words grouped at once, taking turns: what `itcc` and `rsn` share.

Not a plugin. Of two sides, each is grouped anew while the other stands, until neither changes. What
is best, and how a side is grouped anew, is the measure's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from segapsith.arrays import Labels, Rows
from segapsith_plugins.clusterers._row_algebra import (
    check_whole,
    filled_rows,
    in_order,
    needs_counts,
    spread,
    used_columns,
)

__all__ = ["CoClusterer", "Sides", "Turns"]


class Sides(NamedTuple):
    """The groups of the rows and of the words, and how many there may be."""

    rows: Labels
    n_rows: int
    words: Labels
    n_words: int


@dataclass(frozen=True)
class Turns:
    """One way of taking turns on a matrix."""

    start: Callable[[np.random.Generator], Sides]
    regrouped: Callable[[Rows, Labels, int, Labels, int, np.random.Generator], Labels]
    """Items, their groups and how many, the groups of the other side and how many: new groups."""
    worth: Callable[[Sides], float]
    """What no half-step may lower."""


class CoClusterer(ABC):
    """Settings, starts and the choice among them; a measure adds `_turns`.

    After `cluster`: `objective_`, `objectives_` (one a start), `trace_` (the best start, one a
    half-step, its beginning first) and `word_labels_` (the group of each column, -1 for an empty
    one).
    """

    _name: str
    _sign: float
    """1 where the objective is maximised, -1 where it is minimised."""

    def __init__(
        self, *, k: int, word_clusters: int | None, n_init: int, max_rounds: int, seed: int | None
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_rounds", max_rounds, 1)
        if word_clusters is not None:
            check_whole("word_clusters", word_clusters, 1)
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.word_clusters = word_clusters
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.seed = seed
        self._reset(0)

    def _reset(self, n_columns: int) -> None:
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()
        self.trace_: tuple[float, ...] = ()
        self.word_labels_: Labels = np.full(n_columns, -1, dtype=np.int64)

    @abstractmethod
    def _turns(self, m: Rows, n_rows: int, n_words: int) -> Turns:
        """Return how turns are taken on a matrix without empty rows and columns."""

    def _numbers(self, n_columns: int) -> list[int]:
        """Return the numbers of word groups to be tried."""
        return [min(self.word_clusters or self.k, n_columns)]

    def _price(self, m: Rows, n_words: int) -> float:
        """Return what a number of word groups has to be worth more than."""
        return 0.0

    def _cluster(self, rows: Rows) -> Labels:
        """Return one group a row: the best of all starts and numbers of word groups."""
        filled, where = filled_rows(rows)
        needs_counts(filled, self._name)
        self._reset(rows.shape[1])
        if not len(where):
            return np.full(rows.shape[0], -1, dtype=np.int64)
        used = np.flatnonzero(np.bincount(filled.indices, minlength=rows.shape[1]))
        m = used_columns(filled)
        best, chosen = -np.inf, None
        for n_words in self._numbers(len(used)):
            turns = self._turns(m, min(self.k, len(where)), n_words)
            seeds = np.random.SeedSequence(self.seed).spawn(self.n_init)
            found = [self._run(m, turns, np.random.default_rng(seed)) for seed in seeds]
            worths = [worth[-1] for worth, _ in found]
            worth = max(worths) - self._price(m, n_words)
            if chosen is None or worth > best:
                first = worths.index(max(worths))
                best, chosen = worth, found[first][1]
                self.objectives_ = tuple(self._sign * value for value in worths)
                self.trace_ = tuple(self._sign * value for value in found[first][0])
                self.objective_ = self.trace_[-1]
        assert chosen is not None
        self.word_labels_[used] = in_order(chosen.words)
        return spread(chosen.rows, where, rows.shape[0])

    def _run(self, m: Rows, turns: Turns, rng: np.random.Generator) -> tuple[list[float], Sides]:
        """Return what the groups were worth after each half-step, and the last ones, from one
        start.
        """
        turned = m.T.tocsr()
        sides = turns.start(rng)
        trace = [turns.worth(sides)]
        for _ in range(self.max_rounds):
            rows, n_rows, words, n_words = sides
            words = turns.regrouped(turned, words, n_words, rows, n_rows, rng)
            trace.append(turns.worth(Sides(rows, n_rows, words, n_words)))
            rows = turns.regrouped(m, rows, n_rows, words, n_words, rng)
            before, sides = sides, Sides(rows, n_rows, words, n_words)
            trace.append(turns.worth(sides))
            if np.array_equal(before.rows, rows) and np.array_equal(before.words, words):
                break
        return trace, sides
