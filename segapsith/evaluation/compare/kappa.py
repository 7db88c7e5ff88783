"""Kappa of two partitions: agreement above chance after their classes were mapped.

    kappa = (th1 - th2) / (1 - th2)
    th1 = (1/N) sum_i n_{i,pi(i)}        th2 = sum_i (r_i / N)(c_{pi(i)} / N)

Equations 9 to 11 of Ferret, Grau & Jardino (2001), after Cohen (1960): N units, n_ab of them in
class a on the left and class b on the right, r_a and c_b the sizes of classes, and pi a
one-to-one mapping of left classes to right classes. The published mapping is `greedy`; the
others are this project's.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from segapsith.arrays import Matrix
from segapsith.evaluation.contingency import (
    Contingency,
    Counts,
    LabelSequence,
    contingency,
    largest_overlap,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Interval",
    "Kappa",
    "MappingName",
    "kappa",
    "kappa_interval",
    "kappa_interval_of_table",
    "kappa_of_table",
]

MappingName: TypeAlias = Literal["greedy", "hungarian", "optimal", "random"]
"""Names of the mappings between the classes of the two sides."""

Pairs: TypeAlias = list[tuple[int, int]]

_CELLS_AT_ONCE = 4_000_000
"""Number of cells of resampled tables that are in memory at a time."""


class Kappa(NamedTuple):
    """Kappa, observed agreement `th1`, chance agreement `th2`, and the mapping of rows to columns.

    If one side has more classes than the other, the surplus is mapped to empty classes and does
    not appear in `pairs`.
    """

    value: float
    th1: float
    th2: float
    pairs: tuple[tuple[int, int], ...]


class Interval(NamedTuple):
    """The two ends of a confidence interval."""

    low: float
    high: float


def kappa(
    a: LabelSequence, b: LabelSequence, mapping: MappingName = "greedy", seed: int | None = 0
) -> float:
    """Return kappa of two labellings of the same units: 1 for the same partition, about 0 by chance.

    `mapping` is one of

    - `greedy`: repeatedly the largest remaining n_ab; ties go to the larger Jaccard index, then
      to the lower labels (published, the rule for ties is ours);
    - `hungarian`: the mapping with the largest th1;
    - `optimal`: the mapping with the largest kappa, which may differ because th2 depends on it
      too (Dinkelbach's iteration; makes the dense table of classes by classes);
    - `random`: any one-to-one mapping, drawn with `seed`; a baseline.

    Without units, or with one class on both sides, kappa is 1.

    >>> kappa([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> kappa([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return kappa_of_table(contingency(a, b), mapping, seed).value


def kappa_of_table(
    table: Contingency, mapping: MappingName = "greedy", seed: int | None = 0
) -> Kappa:
    """Return kappa and its mapping for a contingency table.

    >>> kappa_of_table(Contingency.of_table([[4, 0], [1, 5]]))
    Kappa(value=0.8, th1=0.9, th2=0.5, pairs=((0, 0), (1, 1)))
    """
    if mapping not in get_args(MappingName):
        raise ValueError(f"mapping={mapping!r} should be one of {', '.join(get_args(MappingName))}")
    if mapping == "greedy":
        pairs = _greedy(table)
    elif mapping == "hungarian":
        pairs = _hungarian(table)
    elif mapping == "optimal":
        pairs = _optimal(table)
    else:
        pairs = _random(table, seed)
    return _kappa(table, sorted(pairs))


def kappa_interval(
    a: LabelSequence,
    b: LabelSequence,
    mapping: MappingName = "greedy",
    seed: int | None = 0,
    draws: int = 999,
    level: float = 0.95,
) -> Interval:
    """Return a percentile bootstrap interval of kappa, by drawing units from the table again.

    All draws use the mapping of the whole table. The interval describes how reliable this mapping
    is, not how well another mapping would fit a draw.

    >>> kappa_interval([0, 0, 1, 1] * 10, [0, 0, 1, 1] * 10)
    Interval(low=1.0, high=1.0)
    """
    return kappa_interval_of_table(contingency(a, b), mapping, seed, draws, level)


def kappa_interval_of_table(
    table: Contingency,
    mapping: MappingName = "greedy",
    seed: int | None = 0,
    draws: int = 999,
    level: float = 0.95,
) -> Interval:
    """Return the interval for a contingency table."""
    if draws < 1:
        raise ValueError(f"draws={draws} should be >= 1")
    if not 0 < level < 1:
        raise ValueError(f"level={level} should lie between 0 and 1")
    whole = kappa_of_table(table, mapping, seed)
    if not table.n:
        return Interval(1.0, 1.0)
    values = _resampled(table, whole.pairs, draws, np.random.default_rng(seed))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _kappa(table: Contingency, pairs: Pairs) -> Kappa:
    """Return kappa under a mapping, with integer arithmetic up to the divisions."""
    n = table.n
    if not n:
        return Kappa(1.0, 1.0, 1.0, tuple(pairs))
    together, by_chance = _sums(table, pairs)
    value = float(_ratio(n, together, by_chance))
    return Kappa(value, together / n, by_chance / n**2, tuple(pairs))


def _sums(table: Contingency, pairs: Pairs) -> tuple[int, int]:
    """Return N th1 and N^2 th2."""
    if not pairs:
        return 0, 0
    rows, columns = np.array(pairs).T
    together = int(table.sparse()[rows, columns].sum())
    left, right = table.left_sizes[rows].tolist(), table.right_sizes[columns].tolist()
    return together, sum(r * c for r, c in zip(left, right, strict=True))


def _ratio(n: int, together: int, by_chance: int) -> Fraction:
    if by_chance == n**2:  # one class on both sides
        return Fraction(1)
    return Fraction(n * together - by_chance, n**2 - by_chance)


def _greedy(table: Contingency) -> Pairs:
    rows, columns = table.left, table.right
    # For equal overlap, the larger Jaccard index is the smaller sum of sizes.
    sizes = table.left_sizes[rows] + table.right_sizes[columns]
    order = np.lexsort((columns, rows, sizes, -table.counts))
    used_rows: set[int] = set()
    used_columns: set[int] = set()
    pairs: Pairs = []
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if row not in used_rows and column not in used_columns:
            used_rows.add(row)
            used_columns.add(column)
            pairs.append((row, column))
    return _completed(table, pairs)


def _hungarian(table: Contingency) -> Pairs:
    rows, columns = largest_overlap(table)
    return _completed(table, list(zip(rows.tolist(), columns.tolist(), strict=True)))


def _optimal(table: Contingency) -> Pairs:
    """Return the mapping with the largest kappa (Dinkelbach 1967).

    For a guess of kappa, find the mapping that exceeds it most, and repeat with its kappa.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, used here only

    if table.same_partition:  # kappa is 1, as 0/0 where one class meets one class
        return _completed(table, list(zip(table.left.tolist(), table.right.tolist(), strict=True)))
    n = table.n
    shared = table.dense() / n
    chance = np.outer(table.left_sizes / n, table.right_sizes / n)
    guess, best = Fraction(-1), None
    while True:
        benefit = shared - float(1 - guess) * chance
        rows, columns = linear_sum_assignment(benefit, maximize=True)
        pairs: Pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
        value = _ratio(n, *_sums(table, pairs))
        if best is not None and value <= guess:
            return best
        guess, best = value, pairs


def _random(table: Contingency, seed: int | None) -> Pairs:
    n_rows, n_columns = table.shape
    drawn = np.random.default_rng(seed).permutation(max(n_rows, n_columns))[:n_rows]
    return [(row, column) for row, column in enumerate(drawn.tolist()) if column < n_columns]


def _completed(table: Contingency, pairs: Pairs) -> Pairs:
    """Complete a mapping to a one-to-one mapping; the remaining classes share no unit."""
    n_rows, n_columns = table.shape
    rows, columns = {row for row, _ in pairs}, {column for _, column in pairs}
    free_rows = (row for row in range(n_rows) if row not in rows)
    free_columns = (column for column in range(n_columns) if column not in columns)
    return [
        *pairs,
        *zip(free_rows, free_columns, strict=False),
    ]  # the surplus is mapped to empty classes


def _resampled(
    table: Contingency,
    pairs: tuple[tuple[int, int], ...],
    draws: int,
    rng: np.random.Generator,
) -> Matrix:
    """Return kappa of tables that are drawn from the cells of this one, under one mapping."""
    n, n_cells = table.n, len(table.counts)
    partner = np.full(table.shape[0], -1, dtype=np.int64)
    for row, column in pairs:
        partner[row] = column
    mapped = partner >= 0
    on_mapping = partner[table.left] == table.right
    to_rows, to_columns = _gather(table.left, table.shape[0]), _gather(table.right, table.shape[1])
    values = np.empty(draws)
    step = max(1, _CELLS_AT_ONCE // n_cells)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        drawn = rng.multinomial(n, table.counts / n, size=size).astype(np.float64)
        th1 = drawn[:, on_mapping].sum(axis=1) / n
        rows, columns = (drawn @ to_rows) / n, (drawn @ to_columns) / n
        th2 = (rows[:, mapped] * columns[:, partner[mapped]]).sum(axis=1)
        certain = th2 >= 1 - 1e-15  # one class drawn on both sides
        values[start : start + size] = np.where(
            certain, 1.0, (th1 - th2) / np.where(certain, 1.0, 1 - th2)
        )
    return values


def _gather(classes: Counts, n_classes: int) -> csr_array:
    """Return the matrix of cells by classes that sums the cells of a class."""
    from scipy.sparse import csr_array  # slow to import

    n_cells = len(classes)
    return csr_array((np.ones(n_cells), (np.arange(n_cells), classes)), shape=(n_cells, n_classes))
