"""Entropy k-means: groups with the lowest entropy of the words, given the group.

The objective is that of Jardino (Ferret, Grau & Jardino 2001, eqs. 1-5). With O_wk the
occurrences of word w in cluster k, O_k and O their sums, and f(x) = x ln x,

    H_K = - sum_wk p(w,k) ln p(w|k) = ( sum_k f(O_k) - sum_wk f(O_wk) ) / O

in nats: the hard form of the information bottleneck. The search is our own, except
`method="random-moves"`, which is the published one.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Rows
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.rounds import cluster_in_turn
from segapsith_plugins.clusterers._entropy_search import (
    Partition,
    Tables,
    agglomerated,
    batch_start,
    random_moves,
    settle,
    split_and_merge,
    tables_for,
    xlogx,
)
from segapsith_plugins.clusterers._row_algebra import (
    canonical,
    check_choice,
    check_whole,
    filled_rows,
    spread,
    used_columns,
)

__all__ = ["EntropyKMeans", "Move", "best_move", "conditional_entropy", "is_single_move_optimum"]

OPENING = 3
"""Sweeps after which the best of several starts is selected."""
STARTS_COST = 1e9
"""Cost of a sweep, as entries of the rows times clusters, by which ten starts become one."""
SPLIT_COST = 2.5e8
"""Cost of a sweep above which clusters are not split and merged by default."""
METHODS = ("sequential", "agglomerative", "batch", "random-moves")
MASSES = ("counts", "equal")


@dataclass(frozen=True, slots=True)
class Move:
    """A move of one unit to another cluster, and the change of the entropy, in nats."""

    unit: int
    cluster: int
    change: float


def conditional_entropy(counts: Rows, labels: NDArray[np.integer]) -> float:
    """Return H_K in nats: the entropy of the words once the cluster is known.

    Rows with a negative label are left out. One cluster for all gives H(W), one for each
    row gives H_TU, and every partition lies between the two.

    >>> round(conditional_entropy(csr_array([[1, 1, 0], [0, 0, 6]]), np.array([0, 1])), 6)
    0.173287
    """
    clean, labels = canonical(counts), np.asarray(labels)
    members = np.flatnonzero(labels >= 0)
    _, groups = np.unique(labels[members], return_inverse=True)
    ones = np.ones(len(members))
    member = csr_array(
        (ones, (groups, members)), shape=(int(groups.max(initial=-1)) + 1, len(labels))
    )
    pooled = csr_array(member @ clean)
    total = float(pooled.sum())
    if total <= 0:
        return 0.0
    sizes = np.asarray(pooled.sum(axis=1)).ravel()
    return max(0.0, (math.fsum(xlogx(sizes)) - math.fsum(xlogx(pooled.data))) / total)


def best_move(counts: Rows, labels: NDArray[np.integer], k: int | None = None) -> Move:
    """Return the single move that lowers H_K most, or raises it least.

    It certifies a partition. With `k` above the number of clusters in use, a move into an empty one
    counts too. If no move is possible, the change is 0 and the unit -1.
    """
    rows, where = filled_rows(counts)
    held = np.asarray(labels, dtype=np.int64)[where]
    if len(held) and held.min() < 0:
        raise ValueError("labels of rows that are not empty should be >= 0")
    names, inside = np.unique(held, return_inverse=True)
    n_clusters = len(names) if k is None else max(k, len(names))
    if n_clusters < 2 or not len(where):
        return Move(-1, -1, 0.0)
    partition = Partition(rows, inside.astype(np.int64), n_clusters, tables_for(rows))
    change, unit, cluster = partition.best_move()
    name = int(names[cluster]) if cluster < len(names) else int(names.max()) + 1
    return Move(int(where[unit]), name, change / partition.tables.total)


def is_single_move_optimum(counts: Rows, labels: NDArray[np.integer], k: int | None = None) -> bool:
    """Return whether no single move of a unit lowers H_K, except for rounding."""
    tables = tables_for(filled_rows(counts)[0])
    return best_move(counts, labels, k).change * tables.total >= -2 * tables.tolerance


class EntropyKMeans:
    """At most `k` clusters of low conditional entropy; `compare` is not needed.

    `method` is the search. Each ends when no single move lowers H_K, or after `max_sweeps`.

    - `sequential`: units in random order, each to its cheapest cluster, from a random start.
    - `agglomerative`: merges with the lowest loss (of units up to 5,000, above of
      micro-clusters), then sequential.
    - `batch`: all units at once, with smoothed clusters and decreasing smoothing, then
      sequential; for very many units.
    - `random-moves`: the published search. All units start in one cluster; a random unit moves to
      a random cluster if that lowers H_K. It ends when `patience` consecutive trials (default:
      units times clusters) and then a sweep over all moves fail. `temperature0` above 0 adds
      simulated annealing.

    `split_merge` then merges two clusters and splits a third if that is better, until 20
    consecutive attempts fail: it can leave optima of single moves. It is on, except for
    `random-moves` and for large inputs. Of `n_init` starts (10 for `sequential` and `batch`, else
    1; fewer for large inputs) the best third after three sweeps continues, and the best of these is
    returned. Large means that the entries of the rows times k exceed 250 million for `split_merge`
    and 100 million for `n_init`, which is then 1,000 million divided by that, at least 1. There
    both cost minutes and change the entropy by a third of a percent. `unit_mass="equal"` gives each
    unit the same weight instead of its length. `smoothing` is the initial number of pseudo-counts
    of `batch` (default: a fortieth of a mean cluster).

    After `cluster`: `entropy_` in nats, `entropies_` (of each start, when they were compared)
    and `move_`, the best remaining single move. If its `change` is not below 0, except for
    rounding, the result is a single-move optimum (`is_single_move_optimum`).
    """

    def __init__(
        self,
        *,
        k: int = 8,
        method: str = "sequential",
        split_merge: bool | None = None,
        n_init: int | None = None,
        max_sweeps: int = 100,
        unit_mass: str = "counts",
        smoothing: float | None = None,
        patience: int | None = None,
        temperature0: float | None = None,
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_choice("method", method, METHODS)
        if n_init is not None:
            check_whole("n_init", n_init, 1)
        if method == "agglomerative" and n_init not in (None, 1):
            raise ValueError(f"n_init={n_init} should be 1: method='agglomerative' has one start")
        check_whole("max_sweeps", max_sweeps, 1)
        check_choice("unit_mass", unit_mass, MASSES)
        if smoothing is not None:
            _only_with("smoothing", smoothing, method, "batch")
            if smoothing == 0:  # otherwise a missing word would exclude a cluster
                raise ValueError(f"smoothing={smoothing} should be > 0")
        if patience is not None:
            _only_with("patience", patience, method, "random-moves")
            check_whole("patience", patience, 1)
        if temperature0 is not None:
            _only_with("temperature0", temperature0, method, "random-moves")
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.method = method
        self.split_merge = split_merge
        self.n_init = n_init
        self.max_sweeps = max_sweeps
        self.unit_mass = unit_mass
        self.smoothing = smoothing
        self.patience = patience
        self.temperature0 = temperature0 or 0.0
        self.seed = seed
        self.entropy_ = 0.0
        self.entropies_: tuple[float, ...] = ()
        self.move_ = Move(-1, -1, 0.0)

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one cluster per row; rows contain counts, or other values >= 0."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> _Prepared:
        """Return the units with words."""
        units, where = filled_rows(rows)
        if len(units.data) and units.data.min() < 0:
            raise ValueError(f"rows contain {units.data.min():g}; counts should be >= 0")
        if self.unit_mass == "equal":
            masses = np.asarray(units.sum(axis=1)).ravel()
            units.data /= np.repeat(masses, np.diff(units.indptr))
        units = used_columns(units)
        return _Prepared(units, where, rows.shape[0], min(self.k, len(where)), tables_for(units))

    def rounds(self, prepared: _Prepared) -> Generator[Sequence[_Step], Sequence[_Reached], Labels]:
        """Yield all starts, then the best third of them, then the best, and return its labels."""
        units, k = prepared.units, prepared.k
        n_units = len(prepared.where)
        if k < 2 or k == n_units:
            labels = np.arange(n_units, dtype=np.int64) if k > 1 else np.zeros(n_units, np.int64)
            self.entropies_ = (conditional_entropy(units, labels),)
        else:
            labels = yield from self._search(prepared)
        self.entropy_ = conditional_entropy(units, labels)
        full = spread(labels, prepared.where, prepared.n_rows)
        left = best_move(units, full[prepared.where], k)
        unit = int(prepared.where[left.unit]) if left.unit >= 0 else -1
        self.move_ = Move(unit, left.cluster, left.change)
        return full

    def _search(
        self, prepared: _Prepared
    ) -> Generator[Sequence[_Step], Sequence[_Reached], Labels]:
        """Yield the steps of the search, and return the labels at its end."""
        n_starts = self._n_starts(prepared.units, prepared.k)
        openings = yield [_Step("open", number) for number in range(n_starts)]
        self.entropies_ = tuple(reached.loss / prepared.tables.total for reached in openings)
        best_third = sorted(openings, key=_by_loss)[: -(-n_starts // 3)]
        ends = yield [_Step("settle", one.number, one.labels, one.rng) for one in best_third]
        best = min(ends, key=_by_loss)
        if self._splits(prepared.units, prepared.k):
            (best,) = yield [_Step("split", best.number, best.labels, best.rng)]
        return best.labels

    def part(self, prepared: _Prepared, part: _Step) -> _Reached:
        """Do one step of one start.

        Each start has its own random numbers, so that one more start does not change the others.
        """
        units, k, tables = prepared.units, prepared.k, prepared.tables
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part.number,)))
        if part.step == "open":
            partition = Partition(units, self._start(units, k, tables, rng), k, tables)
            if self.method == "random-moves":
                self._move_at_random(partition, rng)
            elif self._n_starts(units, k) > 1:
                settle(partition, rng, min(OPENING, self.max_sweeps))
        else:
            rng.bit_generator.state = part.rng
            partition = Partition(units, part.labels, k, tables)
            if part.step == "settle":
                settle(partition, rng, self.max_sweeps)
            else:
                for _ in split_and_merge(partition, rng, self.max_sweeps):
                    pass
        state = dict(rng.bit_generator.state)
        return _Reached(partition.loss(), part.number, partition.labels, state)

    def _n_starts(self, units: Rows, k: int) -> int:
        """Return the number of starts: as given, or by the cost of a sweep."""
        if self.n_init is not None:
            return self.n_init
        if self.method not in ("sequential", "batch"):
            return 1
        return max(1, min(10, int(STARTS_COST / (units.nnz * k))))

    def _splits(self, units: Rows, k: int) -> bool:
        """Return whether clusters are split and merged: as given, or by the cost of a sweep."""
        if self.split_merge is not None:
            return self.split_merge
        return self.method != "random-moves" and units.nnz * k <= SPLIT_COST

    def _start(self, units: Rows, k: int, tables: Tables, rng: np.random.Generator) -> Labels:
        """Return the initial labels of one run."""
        if self.method == "agglomerative":
            return agglomerated(units, k, rng, self.max_sweeps)
        if self.method == "batch":
            smoothing = tables.total / (40 * k) if self.smoothing is None else self.smoothing
            return batch_start(units, k, rng, smoothing)
        if self.method == "random-moves":
            return np.zeros(units.shape[0], dtype=np.int64)
        return (rng.permutation(units.shape[0]) % k).astype(np.int64)

    def _move_at_random(self, partition: Partition, rng: np.random.Generator) -> None:
        budget = partition.n_units * partition.k
        random_moves(
            partition,
            rng,
            patience=budget if self.patience is None else self.patience,
            temperature=self.temperature0,
            max_sweeps=self.max_sweeps,
        )


class _Prepared(NamedTuple):
    """The units with words, where they are, and how many clusters they have."""

    units: Rows
    where: NDArray[np.int64]
    n_rows: int
    k: int
    tables: Tables


class _Step(NamedTuple):
    """A step of one start: `open`, `settle` or `split`."""

    step: str
    number: int
    """The number of the start."""
    labels: Labels = np.zeros(0, dtype=np.int64)
    """The labels that the step before reached."""
    rng: Mapping[str, Any] = MappingProxyType({})
    """The state of the random numbers after the step before."""


class _Reached(NamedTuple):
    """Where a step ended."""

    loss: float
    number: int
    labels: Labels
    rng: Mapping[str, Any]


def _by_loss(reached: _Reached) -> tuple[float, int]:
    """Return a sort key: the lower loss first, of equal ones the earlier start."""
    return reached.loss, reached.number


def _only_with(name: str, value: float, method: str, owner: str) -> None:
    if method != owner:
        raise ValueError(f"{name}={value} should be left out unless method={owner!r}")
    if not value >= 0:
        raise ValueError(f"{name}={value} should be >= 0")


@hookimpl
def register_clusterers() -> Mapping[str, type[EntropyKMeans]]:
    return {"entropy-kmeans": EntropyKMeans}
