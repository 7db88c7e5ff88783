"""The search behind entropy k-means: sums that make a move cheap, and the kernels on them.

With f(x) = x ln x, a unit t with counts n_w and size n that goes into cluster b costs

    ins(t -> b) = f(O_b + n) - f(O_b) - sum_w [ f(O_wb + n_w) - f(O_wb) ]

and a move from a to b changes O * H_K by ins(t -> b) - ins(t -> a without t), exactly.
Counts that are whole numbers find the differences of f in a table; others take a logarithm.
The sums lie word by word, contiguous over the clusters: the rows of a unit's words, added
up, are all its costs at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Rows
from segapsith.jit import kernel
from segapsith_plugins._row_algebra import blocks, joined

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

Floats = NDArray[np.float64]
Counts = NDArray[np.int32] | NDArray[np.float64]
Ints = NDArray[np.int64]

TABLE = 2**22
"""Whole numbers up to here have their f in a table; above, it is computed."""
EXACT_START = 5000
"""Units up to here are agglomerated one by one; above, micro-clusters of them are."""
MICRO = 20
"""Micro-clusters for each cluster wanted."""
MICRO_CELLS = 2**25
"""Word sums that the micro-clusters may take: 256 MB for each of two tables."""
TRIALS = 2**16
"""Random moves that are drawn at once, at most."""
HASTE = 5
"""Failures in a row before all units settle."""
HOPE = 0.5
"""Share of what is missing that a sweep must gain for the next one to be worth its time."""
ATTEMPTS = 20
"""Failures in a row that end split and merge."""


def xlogx(values: Floats) -> Floats:
    """f(x) = x ln x, with f(0) = 0."""
    return values * np.log(np.where(values > 0, values, 1.0))


@dataclass(frozen=True, slots=True)
class Tables:
    """What all partitions of the same units share."""

    masses: Floats
    """Size of each unit."""
    total: float
    """Size of all units, O."""
    rises: Floats
    """f(c + n) - f(c) in row n, column c; empty where counts are not whole numbers."""
    levels: Floats
    """f(c) for c = 0, 1, …; empty where counts are not whole numbers."""
    tolerance: float
    """Changes of O * H_K that are no more than the rounding of a sum."""


def tables_for(units: Rows) -> Tables:
    """The tables for units in canonical form, without empty rows."""
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
        self.tabulate()

    def tabulate(self) -> None:
        """Makes the sums again from the labels."""
        _tabulate(*self._units(), *self._sums())

    def sweep(self, order: Ints) -> int:
        """Each unit in that order to its cheapest cluster, ties to the old; how many moved."""
        if not len(self.tables.rises):
            self.tabulate()  # sums of fractions drift
        return _sweep(order, *self._units(), *self._sums(), self.tables.tolerance)

    def trials(self, units: Ints, clusters: Ints, chances: Floats, temperature: float) -> Ints:
        """Which of these moves were made, one after the other."""
        return _trials(
            units, clusters, chances, temperature, *self._units(), *self._sums(),
            self.tables.tolerance,
        )  # fmt: skip

    def best_move(self) -> tuple[float, int, int]:
        """The change of O * H_K by the best single move, its unit and its cluster."""
        return _best_move(*self._units(), *self._sums())

    def relabel(self, labels: Labels) -> None:
        """Moves the units whose label differs."""
        if not len(self.tables.rises):
            self.labels[:] = labels
            self.tabulate()
            return
        _relabel(labels, *self._units(), *self._sums())

    def losses(self) -> Floats:
        """f(O_k) - sum_w f(O_wk) of each cluster; their sum is O * H_K."""
        return _losses(self.counts, self.totals, self.tables.levels)

    def loss(self) -> float:
        """O * H_K from the sums as they stand."""
        return math.fsum(self.losses())

    def _units(self) -> tuple[Ints, Ints, Floats, Floats, Ints]:
        return self.indptr, self.words, self.tallies, self.tables.masses, self.labels

    def _sums(self) -> tuple[Counts, Floats, Floats, Floats, Floats]:
        return self.counts, self.memo, self.totals, self.tables.rises, self.tables.levels


def settle(partition: Partition, rng: np.random.Generator, max_sweeps: int) -> None:
    """Sweeps in random order until one moves nothing: a single-move optimum."""
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
    """The published search from where the partition stands.

    While it is warm, a move that raises O * H_K by d is made with probability
    exp(-d / temperature); each n_units * k trials take a tenth off, until nothing is left
    of it but a thousandth, which is dropped. `max_sweeps` counts the closing sweeps.
    """
    cold = temperature / 1000
    budget = partition.n_units * partition.k
    size = min(TRIALS, max(patience, 64))
    rejected = tried = 0
    while True:
        units = rng.integers(partition.n_units, size=size)
        clusters = rng.integers(partition.k - 1, size=size)
        made = np.flatnonzero(partition.trials(units, clusters, rng.random(size), temperature))
        rejected = size - 1 - int(made[-1]) if len(made) else rejected + size
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
    """Two clusters merged, a third split, kept where O * H_K falls: one step a success.

    Candidates are ordered by what merging costs and splitting gains before anything else
    moves. Then the units that were touched are swept; once all units have settled, all are,
    as long as that promises to reach a lower loss. What does not is taken back. All units
    have settled when the last step is done.
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
            _merge_costs(fresh, partition.counts, partition.totals, partition.tables.levels, costs)
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
            partition.relabel(trial)
            won = _falls_below(loss, partition, touched, settled, rng)
            if not won:
                partition.relabel(before)
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
    """Whether a few sweeps bring the loss below the target; hopeless ones end early."""
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
    """The pair to merge and the cluster to split that promise most and were not tried."""
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
    """What splitting a cluster in two gains, and which of its units go to the second half."""
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
        if not _sweep(rng.permutation(inside), *units, *sums, tables.tolerance):
            break
    return loss - math.fsum(_losses(counts, sums[2], tables.levels)), sides[inside]


def batch_start(units: Rows, k: int, rng: np.random.Generator, smoothing: float) -> Labels:
    """Units to the cluster that predicts them best, all at once, the smoothing fading away.

    Cluster k predicts word w with q_k(w) = (O_wk + l p(w)) / (O_k + l); without the l
    pseudo-counts a word that a cluster lacks would forbid it, and units would freeze.
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
    """Groups from merging the pair that loses least, again and again, down to k.

    Up to 5,000 units each begins alone; above, 20 k micro-clusters do (fewer where the
    vocabulary is so large that their sums would not fit), from one sequential run.
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
    """The k groups of the merge tree of these rows."""
    n_units, n_words = units.shape
    left, right, _, heights = _merge_tree(
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
# else f(O_wk + 1) - f(O_wk), which is what most words of a unit ask for.


@kernel
def _f(value: float, levels: Floats) -> float:
    """f(value), from the table where it has it."""
    if value <= 0.0:
        return 0.0
    if value < levels.size:
        return float(levels[int(value)])
    return value * math.log(value)


@kernel
def _remember(word: int, cluster: int, counts: Counts, memo: Floats, rises: Floats) -> None:
    """Brings the memo of one sum up to date."""
    count = counts[word, cluster]
    if rises.size:
        memo[word, cluster] = rises[1, int(count)]
    else:
        memo[word, cluster] = count * math.log(count) if count > 0.0 else 0.0


@kernel
def _rise(count: float, tally: float, rises: Floats) -> float:
    """f(count + tally) - f(count)."""
    if tally < rises.shape[0]:
        return float(rises[int(tally), int(count)])
    if count <= 0.0:
        return tally * math.log(tally)
    return count * math.log1p(tally / count) + tally * math.log(count + tally)


@kernel
def _put(
    unit: int, cluster: int, sign: float, indptr: Ints, words: Ints, tallies: Floats,
    masses: Floats, counts: Counts, memo: Floats, totals: Floats, rises: Floats,
) -> None:  # fmt: skip
    """Adds a unit to the sums of a cluster, or with sign -1 takes it out."""
    totals[cluster] += sign * masses[unit]
    for e in range(indptr[unit], indptr[unit + 1]):
        count = counts[words[e], cluster] + sign * tallies[e]
        if count < 1e-10 * tallies[e]:
            count = 0.0  # what rounding leaves of a sum of fractions
        counts[words[e], cluster] = count
        _remember(words[e], cluster, counts, memo, rises)


@kernel
def _tabulate(
    indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> None:  # fmt: skip
    """The sums from the labels."""
    counts[:] = 0.0
    memo[:] = 0.0  # f(0) = f(1) - f(0) = 0
    totals[:] = 0.0
    for t in range(labels.size):
        totals[labels[t]] += masses[t]
        for e in range(indptr[t], indptr[t + 1]):
            counts[words[e], labels[t]] += tallies[e]
    for w in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            if counts[w, k] > 0.0:
                _remember(w, k, counts, memo, rises)


@kernel
def _relabel(
    wanted: Ints, indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> None:  # fmt: skip
    """Moves the units whose label differs from the one wanted."""
    for t in range(labels.size):
        if wanted[t] != labels[t]:
            _put(t, labels[t], -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, wanted[t], 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = wanted[t]


@kernel
def _insertion_costs(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, masses: Floats,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats, costs: Floats,
) -> None:  # fmt: skip
    """ins(t -> k) for all k at once; that of the unit's own cluster counts it twice."""
    mass = masses[unit]
    for k in range(costs.size):
        costs[k] = _f(totals[k] + mass, levels) - _f(totals[k], levels)
    if rises.size:
        _take_whole(unit, indptr, words, tallies, counts, memo, rises, costs)
    else:
        _take_fractions(unit, indptr, words, tallies, counts, memo, costs)


@kernel
def _take_whole(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, counts: Counts, memo: Floats,
    rises: Floats, costs: Floats,
) -> None:  # fmt: skip
    """Takes what the words bring off the costs, by table."""
    for e in range(indptr[unit], indptr[unit + 1]):
        w, n = words[e], tallies[e]
        if n == 1.0:
            row = memo[w]
            for k in range(costs.size):
                costs[k] -= row[k]
        elif n < rises.shape[0]:
            here, rise = counts[w], rises[int(n)]
            for k in range(costs.size):
                costs[k] -= rise[int(here[k])]
        else:
            for k in range(costs.size):
                costs[k] -= _rise(counts[w, k], n, rises)


@kernel
def _take_fractions(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, counts: Counts, memo: Floats,
    costs: Floats,
) -> None:  # fmt: skip
    """Takes what the words bring off the costs, by logarithm."""
    for e in range(indptr[unit], indptr[unit + 1]):
        w, n = words[e], tallies[e]
        alone = n * math.log(n)
        for k in range(costs.size):
            count = counts[w, k]
            if count > 0.0:
                costs[k] -= (count + n) * math.log(count + n) - memo[w, k]
            else:
                costs[k] -= alone


@kernel
def _insertion_cost(
    unit: int, cluster: int, inside: bool, indptr: Ints, words: Ints, tallies: Floats,
    masses: Floats, counts: Counts, totals: Floats, rises: Floats, levels: Floats,
) -> float:  # fmt: skip
    """ins(t -> k) for one k; `inside`: the unit is there, and is taken out first."""
    mass = masses[unit]
    base = max(totals[cluster] - mass, 0.0) if inside else totals[cluster]
    cost = _f(base + mass, levels) - _f(base, levels)
    for e in range(indptr[unit], indptr[unit + 1]):
        count, n = counts[words[e], cluster], tallies[e]
        if inside:
            count -= n
            if count < 1e-10 * n:
                count = 0.0
        cost -= _rise(count, n, rises)
    return cost


@kernel
def _sweep(
    order: Ints, indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
    tolerance: float,
) -> int:  # fmt: skip
    """One pass over the units of `order`; the number that moved."""
    costs = np.empty(totals.size)
    moved = 0
    for t in order:
        a = labels[t]
        _insertion_costs(
            t, indptr, words, tallies, masses, counts, memo, totals, rises, levels, costs
        )
        own = _insertion_cost(
            t, a, True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        b, best = a, own - tolerance
        for k in range(totals.size):
            if costs[k] < best and k != a:
                b, best = k, costs[k]
        if b != a:
            _put(t, a, -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, b, 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = b
            moved += 1
    return moved


@kernel
def _trials(
    units: Ints, clusters: Ints, chances: Floats, temperature: float, indptr: Ints, words: Ints,
    tallies: Floats, masses: Floats, labels: Ints, counts: Counts, memo: Floats, totals: Floats,
    rises: Floats, levels: Floats, tolerance: float,
) -> Ints:  # fmt: skip
    """Each unit into one other cluster if O * H_K falls; 1 where that was done.

    `clusters` counts the others: 0 … k - 2, the unit's own left out.
    """
    made = np.zeros(units.size, dtype=np.int64)
    for i in range(units.size):
        t, a = units[i], labels[units[i]]
        b = clusters[i] + 1 if clusters[i] >= a else clusters[i]
        into = _insertion_cost(
            t, b, False, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        own = _insertion_cost(
            t, a, True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        change = into - own
        warm = temperature > 0.0 and chances[i] < math.exp(-max(change, 0.0) / temperature)
        if change < -tolerance or warm:
            _put(t, a, -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, b, 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = b
            made[i] = 1
    return made


@kernel
def _best_move(
    indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> tuple[float, int, int]:  # fmt: skip
    """The change by the best single move, its unit and its cluster."""
    costs = np.empty(totals.size)
    best, unit, cluster = np.inf, -1, -1
    for t in range(labels.size):
        _insertion_costs(
            t, indptr, words, tallies, masses, counts, memo, totals, rises, levels, costs
        )
        own = _insertion_cost(
            t, labels[t], True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        for k in range(totals.size):
            if k != labels[t] and costs[k] - own < best:
                best, unit, cluster = costs[k] - own, t, k
    return best, unit, cluster


@kernel
def _losses(counts: Counts, totals: Floats, levels: Floats) -> Floats:
    """f(O_k) - sum_w f(O_wk) of each cluster."""
    losses = np.empty(totals.size)
    for k in range(totals.size):
        losses[k] = _f(totals[k], levels)
    for w in range(counts.shape[0]):
        for k in range(totals.size):
            losses[k] -= _f(counts[w, k], levels)
    return losses


@kernel
def _merge_costs(
    fresh: Ints, counts: Counts, totals: Floats, levels: Floats, costs: Floats
) -> None:
    """What O * H_K would rise by if two clusters were one, for the pairs with a fresh one."""
    n_clusters = totals.size
    row = np.empty(n_clusters)
    for a in fresh:
        for b in range(n_clusters):
            row[b] = _f(totals[a] + totals[b], levels) - _f(totals[a], levels)
            row[b] -= _f(totals[b], levels)
        for w in range(counts.shape[0]):
            here = counts[w, a]
            if here > 0.0:
                base = _f(here, levels)
                for b in range(n_clusters):
                    there = counts[w, b]
                    if there > 0.0:
                        row[b] -= _f(here + there, levels) - base - _f(there, levels)
        for b in range(n_clusters):
            if b != a:
                costs[a, b] = row[b]
                costs[b, a] = row[b]


@kernel
def _merge_tree(
    indptr: Ints, words: Ints, tallies: Floats, n_words: int, levels: Floats
) -> tuple[Ints, Ints, Floats, Floats]:
    """Pairs that were merged, by a nearest-neighbour chain, what each merge cost, and the
    same made to rise from the leaves up, so that the tree can be cut.

    The cost is O * H_K's rise; merged clusters share their word lists through an inverted
    index, so that a neighbour is sought only among clusters with words in common, and the
    others cost what their sizes say. The cost is not reducible in the strict sense: a merge
    may bring a cluster closer to one further down the chain, which is then cut back there.
    """
    n_units, n_entries = indptr.size - 1, words.size
    # entries of one word lie side by side; a cluster's entries hang on a list of nodes
    totals = np.zeros(n_units)
    follow = np.empty(n_entries, dtype=np.int64)
    head, tail = indptr[:-1].copy(), indptr[1:] - 1
    lengths = np.zeros(n_words, dtype=np.int64)
    for e in range(n_entries):
        lengths[words[e]] += 1
    starts = np.zeros(n_words, dtype=np.int64)
    for w in range(1, n_words):
        starts[w] = starts[w - 1] + lengths[w - 1]
    lengths[:] = 0
    place = np.empty(n_entries, dtype=np.int64)
    node = np.empty(n_entries, dtype=np.int64)
    owner = np.empty(n_entries, dtype=np.int64)
    tally = np.empty(n_entries)
    height = np.empty(n_entries)
    for t in range(n_units):
        for e in range(indptr[t], indptr[t + 1]):
            follow[e] = e + 1 if e + 1 < indptr[t + 1] else -1
            p = starts[words[e]] + lengths[words[e]]
            lengths[words[e]] += 1
            place[e], node[p], owner[p], tally[p] = p, e, t, tallies[e]
            height[p] = _f(tallies[e], levels)
            totals[t] += tallies[e]

    alive = np.arange(n_units)
    position = np.arange(n_units)
    n_alive = n_units
    shared = np.zeros(n_units)
    entry_of = np.full(n_words, -1)
    chain = np.empty(n_units + 1, dtype=np.int64)
    in_chain = np.full(n_units, -1)
    length = 0
    top = np.zeros(n_units)  # cost of the last merge inside, so that the tree rises
    left = np.empty(max(n_units - 1, 0), dtype=np.int64)
    right = np.empty(max(n_units - 1, 0), dtype=np.int64)
    costs = np.empty(max(n_units - 1, 0))
    heights = np.empty(max(n_units - 1, 0))
    for m in range(n_units - 1):
        if length == 0:
            chain[0] = alive[0]
            in_chain[alive[0]] = 0
            length = 1
        while True:
            x = chain[length - 1]
            e = head[x]
            while e >= 0:
                w = words[e]
                here, base = tally[place[e]], height[place[e]]
                for p in range(starts[w], starts[w] + lengths[w]):
                    shared[owner[p]] += _f(here + tally[p], levels) - base - height[p]
                e = follow[e]
            y, best = -1, np.inf
            before = chain[length - 2] if length > 1 else -1
            fx = _f(totals[x], levels)
            for i in range(n_alive):
                c = alive[i]
                cost = _f(totals[x] + totals[c], levels) - fx - _f(totals[c], levels) - shared[c]
                shared[c] = 0.0
                if c == x:
                    continue
                if cost < best or (cost == best and y != before and (c == before or c < y)):
                    y, best = c, cost
            if y == before:
                break
            if in_chain[y] >= 0:  # cut the chain back to y, and go on from there
                while length - 1 > in_chain[y]:
                    length -= 1
                    in_chain[chain[length]] = -1
            else:
                chain[length] = y
                in_chain[y] = length
                length += 1
        length -= 2
        in_chain[x] = -1
        in_chain[y] = -1
        a, b = min(x, y), max(x, y)
        left[m], right[m] = a, b
        costs[m] = best
        top[a] = max(best, top[a], top[b])
        heights[m] = top[a]
        totals[a] += totals[b]
        last = n_alive - 1
        alive[position[b]] = alive[last]
        position[alive[last]] = position[b]
        n_alive -= 1
        e = head[a]
        while e >= 0:
            entry_of[words[e]] = e
            e = follow[e]
        e = head[b]
        while e >= 0:
            after = follow[e]
            w = words[e]
            kept = entry_of[w]
            if kept >= 0:
                p, hole, end = place[kept], place[e], starts[w] + lengths[w] - 1
                tally[p] += tally[hole]
                height[p] = _f(tally[p], levels)
                node[hole], owner[hole] = node[end], owner[end]
                tally[hole], height[hole] = tally[end], height[end]
                place[node[hole]] = hole
                lengths[w] -= 1
            else:
                owner[place[e]] = a
                follow[tail[a]] = e
                follow[e] = -1
                tail[a] = e
            e = after
        e = head[a]
        while e >= 0:
            entry_of[words[e]] = -1
            e = follow[e]
    return left, right, costs, heights
