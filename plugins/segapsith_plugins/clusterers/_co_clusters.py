"""Group rows and words together, in alternation: shared by `itcc` and `rsn`.

Not a plugin. Each of the two sides is grouped again while the other is fixed, until neither
changes. The objective and the grouping of a side belong to the clusterer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Rows
from segapsith.plugin.rounds import cluster_in_turn
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
    """The groups of the rows and of the words, and their maximum numbers."""

    rows: Labels
    n_rows: int
    words: Labels
    n_words: int


@dataclass(frozen=True)
class Turns:
    """The alternation on one matrix."""

    start: Callable[[np.random.Generator], Sides]
    regrouped: Callable[[Rows, Labels, int, Labels, int, np.random.Generator], Labels]
    """Items, their groups and number, the groups of the other side and number: new groups."""
    worth: Callable[[Sides], float]
    """The objective, which no half-step may lower."""


class _Prepared(NamedTuple):
    """The matrix without empty rows and columns, and where these were."""

    m: Rows
    used: NDArray[np.int64]
    where: NDArray[np.int64]
    shape: tuple[int, int]
    turns: dict[int, Turns]
    """The alternation by the number of word groups, made when it is first used."""


class CoClusterer(ABC):
    """Settings, starts and the choice of the best; a subclass adds `_turns`.

    After `cluster`: `objective_`, `objectives_` (one per start), `trace_` (of the best start, its
    initial value and one per half-step) and `word_labels_` (the group of each column, -1 for an
    empty one).
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
        """Return the alternation on a matrix without empty rows and columns."""

    def _numbers(self, n_columns: int) -> list[int]:
        """Return the numbers of word groups to try."""
        return [min(self.word_clusters or self.k, n_columns)]

    def _price(self, m: Rows, n_words: int) -> float:
        """Return the cost of a number of word groups, which is subtracted from the objective."""
        return 0.0

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one group per row."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> _Prepared:
        """Return the rows and columns that are not empty."""
        filled, where = filled_rows(rows)
        needs_counts(filled, self._name)
        used = np.flatnonzero(np.bincount(filled.indices, minlength=rows.shape[1]))
        return _Prepared(used_columns(filled), used, where, rows.shape, {})

    def rounds(
        self, prepared: _Prepared
    ) -> Generator[Sequence[tuple[int, int]], Sequence[tuple[list[float], Sides]], Labels]:
        """Yield all numbers of word groups with all starts, and return the best groups of rows."""
        n_rows, n_columns = prepared.shape
        self._reset(n_columns)
        if not len(prepared.where):
            return np.full(n_rows, -1, dtype=np.int64)
        numbers = self._numbers(len(prepared.used))
        results = yield [(number, start) for number in numbers for start in range(self.n_init)]
        best, best_sides = -np.inf, None
        for place, n_words in enumerate(numbers):
            runs = results[place * self.n_init : (place + 1) * self.n_init]
            worths = [worth[-1] for worth, _ in runs]
            worth = max(worths) - self._price(prepared.m, n_words)
            if best_sides is None or worth > best:
                first = worths.index(max(worths))
                best, best_sides = worth, runs[first][1]
                self.objectives_ = tuple(self._sign * value for value in worths)
                self.trace_ = tuple(self._sign * value for value in runs[first][0])
                self.objective_ = self.trace_[-1]
        assert best_sides is not None
        self.word_labels_[prepared.used] = in_order(best_sides.words)
        return spread(best_sides.rows, prepared.where, n_rows)

    def part(self, prepared: _Prepared, part: tuple[int, int]) -> tuple[list[float], Sides]:
        """Return the objective by half-step and the groups: of a number of word groups and a start."""
        n_words, number = part
        if n_words not in prepared.turns:
            n_rows = min(self.k, len(prepared.where))
            prepared.turns[n_words] = self._turns(prepared.m, n_rows, n_words)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        return self._run(prepared.m, prepared.turns[n_words], rng)

    def _run(self, m: Rows, turns: Turns, rng: np.random.Generator) -> tuple[list[float], Sides]:
        """Return the objective after each half-step and the final groups, from one start."""
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
