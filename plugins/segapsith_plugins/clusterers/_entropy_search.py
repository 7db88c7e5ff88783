"""The search of entropy k-means: sums that make a move cheap, starts, splits and merges.

With f(x) = x ln x, a unit t with counts n_w and size n that joins cluster b costs

    ins(t -> b) = f(O_b + n) - f(O_b) - sum_w [ f(O_wb + n_w) - f(O_wb) ]

and a move from a to b changes O * H_K by ins(t -> b) - ins(t -> a without t), exactly. For whole
counts the differences of f are in a table; others need a logarithm. The sums are stored by word,
contiguous over the clusters: the sum of the rows of a unit's words gives all its costs at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Rows
from segapsith_plugins.clusterers._entropy_kernels import (
    Changes,
    Counts,
    Floats,
    Ints,
    Sums,
    SweepBounds,
    Units,
    best_move,
    losses,
    merge_costs,
    merge_tree,
    move_all,
    no_changes,
    sweep,
    sweep_by_bounds,
    tabulate,
    trials,
)
from segapsith_plugins.clusterers._row_algebra import blocks, joined

__all__ = [
    "Partition",
    "Tables",
    "agglomerated",
    "batch_start",
    "random_moves",
    "settle",
    "split_and_merge",
    "tables_for",
    "xlogx",
]

TABLE = 2**22
"""Whole numbers up to this have their f in a table; above, it is computed."""
EXACT_START = 5000
"""Up to this number of units, agglomeration starts from single units; above, from micro-clusters.
"""
MICRO = 20
"""Micro-clusters per requested cluster."""
MICRO_CELLS = 2**25
"""Maximum word sums of the micro-clusters: 256 MB for each of two tables."""
TRIALS = 2**16
"""Maximum random moves that are drawn at once."""
NOTED = 1000
"""Moves of a sweep up to which units that cannot move are passed over in the next one."""
HASTE = 5
"""Consecutive failures before all units are settled."""
HOPE = 0.5
"""Share of the missing gain that a sweep must reach for another sweep to follow."""
ATTEMPTS = 20
"""Consecutive failures that end split and merge."""


def xlogx(values: Floats) -> Floats:
    """Return f(x) = x ln x, with f(0) = 0."""
    return values * np.log(np.where(values > 0, values, 1.0))


@dataclass(frozen=True, slots=True)
class Tables:
    """The data shared by all partitions of the same units."""

    masses: Floats
    """Size of each unit."""
    total: float
    """Size of all units, O."""
    rises: Floats
    """f(c + n) - f(c) in row n, column c; empty where counts are not whole numbers."""
    levels: Floats
    """f(c) for c = 0, 1, …; empty where counts are not whole numbers."""
    tolerance: float
    """Changes of O * H_K up to this are rounding errors of a sum."""


def tables_for(units: Rows) -> Tables:
    """Return the tables for units in canonical form, without empty rows."""
    masses = np.asarray(units.sum(axis=1)).ravel().astype(np.float64)
    total = float(masses.sum())
    largest = float(np.asarray(units.sum(axis=0)).max(initial=0.0))
    tolerance = max(1e-9, 16 * np.finfo(float).eps * total * math.log(max(total, 2.0)))
    whole = largest < TABLE and bool(np.all(units.data == np.rint(units.data)))
    if not whole:
        return Tables(masses, total, np.empty((0, 0)), np.empty(0), tolerance)
    counts = np.arange(int(largest) + 2, dtype=np.float64)
    n_rises = 1 + max(1, min(int(units.data.max(initial=1.0)), 32, TABLE // len(counts)))
    added = np.arange(n_rises, dtype=np.float64)[:, None]
    # c ln(1 + n/c) + n ln(c + n): the difference without the cancellation
    rises = counts * np.log1p(added / np.maximum(counts, 1.0))
    rises += added * np.log(np.maximum(counts + added, 1.0))
    levels = xlogx(np.arange(min(int(total), TABLE) + 2, dtype=np.float64))
    return Tables(masses, total, rises, levels, tolerance)


class Partition:
    """Units in clusters with the sums of their words; it owns its labels and its sums."""

    def __init__(self, units: Rows, labels: Labels, k: int, tables: Tables) -> None:
        self.indptr = units.indptr.astype(np.int64)
        self.words = units.indices.astype(np.int64)
        self.tallies = units.data
        self.n_units, self.n_words = units.shape
        self.k = k
        self.tables = tables
        self.labels = labels.astype(np.int64)
        shape = (self.n_words, k)
        whole = len(tables.rises) > 0
        self.counts: Counts = np.zeros(shape, np.int32) if whole else np.zeros(shape, np.float64)
        self.memo = np.zeros((self.n_words, k))
        self.totals = np.zeros(k)
        self._bounds = SweepBounds(np.full(self.n_units, -np.inf), np.zeros(k, np.bool_))
        n_changes = NOTED * max(1, -(-len(self.words) // max(self.n_units, 1)))
        self._last, self._now = (no_changes(self.n_words, k, n_changes) for _ in range(2))
        self._before: tuple[Labels, SweepBounds, Changes, Changes] | None = None
        self.tabulate()

    def tabulate(self) -> None:
        """Compute the sums again from the labels."""
        tabulate(*self._units(), *self._sums())

    def sweep(self, order: Ints) -> int:
        """Move each unit in this order to its cheapest cluster, and return how many moved.

        Ties go to the old cluster.
        """
        if not len(self.tables.rises):
            self.tabulate()  # sums of fractions accumulate rounding errors
            return sweep(order, *self._units(), *self._sums(), self.tables.tolerance)
        is_whole = len(order) == self.n_units
        if is_whole:
            self._last, self._now = self._now, _emptied(self._last)
        return sweep_by_bounds(
            order, is_whole, self.tables.tolerance, self._units(), self._sums(),
            self._bounds, self._last, self._now,
        )  # fmt: skip

    def trials(self, units: Ints, clusters: Ints, chances: Floats, temperature: float) -> Ints:
        """Try these moves one after the other, and return which were made."""
        self._forget_bounds()
        return trials(
            units, clusters, chances, temperature, *self._units(), *self._sums(),
            self.tables.tolerance,
        )  # fmt: skip

    def best_move(self) -> tuple[float, int, int]:
        """Return the change of O * H_K by the best single move, its unit and its cluster."""
        return best_move(*self._units(), *self._sums())

    def attempt(self, labels: Labels, clusters: Ints) -> None:
        """Move units between some clusters; `undo` or `accept` follows."""
        bounds = SweepBounds(self._bounds.lows.copy(), self._bounds.watched.copy())
        self._before = self.labels.copy(), bounds, _copied(self._last), _copied(self._now)
        self._bounds.watched[clusters] = True  # the bounds of the other clusters remain valid
        self._move_to(labels)

    def undo(self) -> None:
        """Return to the labels before the attempt; what was known about them holds again."""
        assert self._before is not None
        labels, self._bounds, self._last, self._now = self._before
        self._before = None
        self._move_to(labels)

    def accept(self) -> None:
        """Stay with the labels of the attempt."""
        self._before = None
        self._bounds.watched[:] = False
        self._forget_bounds()

    def relabel(self, labels: Labels) -> None:
        """Move the units whose label differs."""
        self._forget_bounds()
        self._move_to(labels)

    def _forget_bounds(self) -> None:
        self._bounds.lows[:] = -np.inf

    def _move_to(self, labels: Labels) -> None:
        if not len(self.tables.rises):
            self.labels[:] = labels
            self.tabulate()
            return
        move_all(labels, *self._units(), *self._sums())

    def losses(self) -> Floats:
        """Return f(O_k) - sum_w f(O_wk) of each cluster; their sum is O * H_K."""
        return losses(self.counts, self.totals, self.tables.levels)

    def loss(self) -> float:
        """Return O * H_K from the present sums."""
        return math.fsum(self.losses())

    def _units(self) -> Units:
        return Units(self.indptr, self.words, self.tallies, self.tables.masses, self.labels)

    def _sums(self) -> Sums:
        return Sums(self.counts, self.memo, self.totals, self.tables.rises, self.tables.levels)


def _emptied(changes: Changes) -> Changes:
    """Return the same lists without entries."""
    changes.heads[:] = -1
    changes.falls[:] = 0.0
    changes.size[:] = 0
    return changes


def _copied(changes: Changes) -> Changes:
    """Return a copy of the entries that are in use."""
    n = min(int(changes.size[0]), len(changes.links))
    copy = no_changes(len(changes.heads), len(changes.falls), len(changes.links))
    copy.heads[:], copy.falls[:], copy.size[:] = changes.heads, changes.falls, changes.size
    copy.links[:n], copy.clusters[:n] = changes.links[:n], changes.clusters[:n]
    copy.rises[:n] = changes.rises[:n]
    return copy


def settle(partition: Partition, rng: np.random.Generator, max_sweeps: int) -> None:
    """Sweep in random order until no unit moves: a single-move optimum."""
    for _ in range(max_sweeps):
        if not partition.sweep(rng.permutation(partition.n_units)):
            return


def random_moves(
    partition: Partition,
    rng: np.random.Generator,
    *,
    patience: int,
    temperature: float,
    max_sweeps: int,
) -> None:
    """Run the published search from the present partition.

    With a temperature, a move that raises O * H_K by d is made with probability
    exp(-d / temperature). After each n_units * k trials the temperature falls by a tenth; below a
    thousandth of the first value it is 0. `max_sweeps` counts the closing sweeps.
    """
    cold = temperature / 1000
    budget = partition.n_units * partition.k
    size = min(TRIALS, max(patience, 64))
    rejected = tried = 0
    while True:
        units = rng.integers(partition.n_units, size=size)
        clusters = rng.integers(partition.k - 1, size=size)
        moved = np.flatnonzero(partition.trials(units, clusters, rng.random(size), temperature))
        rejected = size - 1 - int(moved[-1]) if len(moved) else rejected + size
        tried += size
        if temperature > 0:
            while tried >= budget:
                tried -= budget
                temperature *= 0.9
            temperature = temperature if temperature > cold else 0.0
            rejected = 0
        elif rejected >= patience:
            rejected = 0
            max_sweeps -= 1
            if not partition.sweep(np.arange(partition.n_units)) or max_sweeps <= 0:
                return


def split_and_merge(
    partition: Partition, rng: np.random.Generator, max_sweeps: int
) -> Iterator[None]:
    """Merge two clusters and split a third, if O * H_K falls; yield after each success.

    Candidates are ordered by the cost of merging and the gain of splitting before any other move.
    Then the affected units are swept; after all units have settled, all are swept, while a lower
    loss is likely. Failures are undone. All units have settled after the last step.
    """
    k = partition.k
    costs = np.full((k, k), np.inf)
    gains = np.zeros(k)
    splits: list[Labels] = [np.empty(0, dtype=np.int64)] * k
    fresh = np.arange(k)
    tried: set[tuple[int, int, int]] = set()
    settled, failures = False, 0
    while failures < ATTEMPTS:
        if len(fresh):
            merge_costs(fresh, partition.counts, partition.totals, partition.tables.levels, costs)
            losses = partition.losses()
            for number in fresh.tolist():
                gains[number], splits[number] = _halves(partition, number, losses[number], rng)
            fresh = fresh[:0]
        before, loss = partition.labels.copy(), partition.loss()
        candidate = _candidate(costs, gains, tried)
        won = False
        if candidate is not None:
            a, b, s = candidate
            tried.add(candidate)
            trial = before.copy()
            trial[before == b] = a
            trial[np.flatnonzero(before == s)[splits[s] == 1]] = b
            touched = np.flatnonzero((before == a) | (before == b) | (before == s))
            partition.attempt(trial, np.array([a, b, s]))
            won = _falls_below(loss, partition, touched, settled, rng)
            if won:
                partition.accept()
            else:
                partition.undo()
        failures = 0 if won else failures + 1
        if candidate is None or (not settled and failures >= HASTE):
            if settled:
                break
            settle(partition, rng, max_sweeps)
            settled, failures = True, 0
        elif won:
            settled = False
        if won or not failures:
            moved = partition.labels != before
            fresh = np.union1d(before[moved], partition.labels[moved]).astype(np.int64)
            tried.clear()
        if won:
            yield
    if not settled:
        settle(partition, rng, max_sweeps)


def _falls_below(
    target: float, partition: Partition, touched: Ints, patient: bool, rng: np.random.Generator
) -> bool:
    """Return whether a few sweeps bring the loss below the target; unlikely ones end early."""
    target -= partition.tables.tolerance
    for _ in range(5):
        if not partition.sweep(rng.permutation(touched)):
            break
    loss = partition.loss()
    hope = patient
    while loss >= target and hope:
        partition.sweep(rng.permutation(partition.n_units))
        gained, loss = loss - partition.loss(), partition.loss()
        hope = gained > max(HOPE * (loss - target), partition.tables.tolerance)
    return loss < target


def _candidate(
    costs: Floats, gains: Floats, tried: set[tuple[int, int, int]]
) -> tuple[int, int, int] | None:
    """Return the untried pair to merge and cluster to split with the highest expected gain."""
    k = len(gains)
    upper = np.triu_indices(k, 1)
    cheap = np.argsort(costs[upper], kind="stable")[:ATTEMPTS]
    rich = np.argsort(-gains, kind="stable")[:ATTEMPTS]
    pairs = [(int(upper[0][p]), int(upper[1][p])) for p in cheap]
    promises = [
        (gains[s] - costs[a, b], (a, b, int(s)))
        for a, b in pairs
        for s in rich
        if gains[s] > 0 and s != a and s != b and (a, b, int(s)) not in tried
    ]
    return max(promises, key=lambda promise: promise[0])[1] if promises else None


def _halves(
    partition: Partition, cluster: int, loss: float, rng: np.random.Generator
) -> tuple[float, Labels]:
    """Return the gain of splitting a cluster in two, and which units go to the second half."""
    inside = np.flatnonzero(partition.labels == cluster)
    sides = np.zeros(partition.n_units, dtype=np.int64)
    sides[inside] = rng.permutation(len(inside)) % 2
    if len(inside) < 2:
        return 0.0, sides[inside]
    starts, lengths = partition.indptr[inside], np.diff(partition.indptr)[inside]
    ends = np.cumsum(lengths)
    entries = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
    cells = 2 * partition.words[entries] + np.repeat(sides[inside], lengths)
    tallies, n_cells = partition.tallies[entries], 2 * partition.n_words
    pooled: Floats = np.bincount(cells, tallies, n_cells).astype(np.float64).reshape(-1, 2)
    tables = partition.tables
    whole = len(tables.rises) > 0
    counts: Counts = pooled.astype(np.int32) if whole else pooled
    memo: Floats = tables.rises[1][pooled.astype(np.int64)] if whole else xlogx(pooled)
    sums = counts, memo, pooled.sum(axis=0), tables.rises, tables.levels
    units = partition.indptr, partition.words, partition.tallies, tables.masses, sides
    for _ in range(10):
        if not sweep(rng.permutation(inside), *units, *sums, tables.tolerance):
            break
    return loss - math.fsum(losses(counts, sums[2], tables.levels)), sides[inside]


def batch_start(units: Rows, k: int, rng: np.random.Generator, smoothing: float) -> Labels:
    """Move all units at once to the cluster that predicts them best, with decreasing smoothing.

    Cluster k predicts word w with q_k(w) = (O_wk + l p(w)) / (O_k + l). Without the l pseudo-counts
    a missing word would exclude a cluster, and units could not move.
    """
    n_units = units.shape[0]
    labels = (rng.permutation(n_units) % k).astype(np.int64)
    background = np.asarray(units.sum(axis=0)).ravel()
    background = background / background.sum()
    pseudo = smoothing
    for _ in range(20):
        member = csr_array((np.ones(n_units), (labels, np.arange(n_units))), shape=(k, n_units))
        pooled = (member @ units).toarray()
        sizes = pooled.sum(axis=1, keepdims=True)
        logs = np.log((pooled + pseudo * background) / (sizes + pseudo)).T.copy()
        assigned = np.empty_like(labels)
        for block in blocks(n_units, k):
            assigned[block] = (units[block.start : block.stop] @ logs).argmax(axis=1)
        moved = bool((assigned != labels).any())
        labels = assigned
        if not moved and pseudo < 1e-3 * smoothing:
            break
        pseudo *= 0.7
    return labels


def agglomerated(units: Rows, k: int, rng: np.random.Generator, max_sweeps: int) -> Labels:
    """Return k groups, from repeatedly merging the pair with the lowest cost.

    Up to 5,000 units each starts alone; above, 20 k micro-clusters of one sequential run (fewer if
    their sums would not fit for a large vocabulary).
    """
    n_units, n_words = units.shape
    if n_units <= EXACT_START:
        return _merged(units, k)
    n_micro = max(2 * k, min(MICRO * k, EXACT_START, MICRO_CELLS // n_words))
    if n_micro >= n_units:
        return _merged(units, k)
    micro = Partition(units, rng.permutation(n_units) % n_micro, n_micro, tables_for(units))
    settle(micro, rng, min(max_sweeps, 10))
    used, labels = np.unique(micro.labels, return_inverse=True)
    pooled = csr_array(micro.counts.T[used])
    merged: Labels = _merged(pooled, k)[labels]
    return merged


def _merged(units: Rows, k: int) -> Labels:
    """Return the k groups of the merge tree of these rows."""
    n_units, n_words = units.shape
    left, right, _, heights = merge_tree(
        units.indptr.astype(np.int64),
        units.indices.astype(np.int64),
        units.data.astype(np.float64),
        n_words,
        tables_for(units).levels,
    )
    first = np.argsort(heights, kind="stable")[: n_units - min(k, n_units)]
    groups = joined(left[first], right[first], n_units)
    labels: Labels = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return labels


# Kernels. `rises` is empty where counts are not whole numbers; then `memo` holds f(O_wk),
# else f(O_wk + 1) - f(O_wk), which most words of a unit need.
