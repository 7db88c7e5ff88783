"""Mantel's test of two partitions, without a matrix of units by units.

Two units have distance 1 in a partition if they lie in different classes, else 0. Z is the sum
over all ordered pairs of the product of the two distances (Mantel 1967, used for clusterings by
Ferret, Grau & Jardino 2001). With n_ab the contingency table and r_a, c_b its margins:

    Z   = N^2 - sum_a r_a^2 - sum_b c_b^2 + sum_ab n_ab^2
    Z_x = N^2 - sum_a r_a^2        Z_y = N^2 - sum_b c_b^2        Z_max = min(Z_x, Z_y)

Z_max is reached if and only if one partition refines the other. A permutation of the units is a
random table with the same margins, so the cost depends on the numbers of classes, not of units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from segapsith.evaluation.contingency import Contingency, Counts, LabelSequence, contingency
from segapsith.jit import kernel

__all__ = [
    "Mantel",
    "MantelMargins",
    "mantel",
    "mantel_from_margins",
    "mantel_moments",
    "mantel_of_table",
    "mantel_samples",
]

_CELLS_AT_ONCE = 4_000_000
"""Number of cells of drawn tables that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class MantelMargins:
    """The figures that follow from Z and from the Z of each partition with itself.

    `normalised` is (Z - E) / (Z_max - E): 0 on average by chance, 1 if one partition refines
    the other. `ari` is the adjusted Rand index, `r` Mantel's correlation of the two distances.
    If a denominator is 0, all three are 1 for the same partition and 0 for any other.
    """

    n: int
    z: int
    zx: int
    zy: int
    z_max: int
    expected: float
    normalised: float
    ari: float
    r: float


@dataclass(frozen=True, slots=True)
class Mantel(MantelMargins):
    """Z with its distribution under permutation: exact mean and deviation, drawn p-value.

    `z_score` is (Z - E) / sd, 0 where sd is 0. The distribution is skewed to the right if classes
    are few or uneven: `p` is more reliable than the normal tail of `z_score`.
    """

    sd: float
    z_score: float
    p: float
    permutations: int


def mantel(
    a: LabelSequence, b: LabelSequence, permutations: int = 999, seed: int | None = 0
) -> Mantel:
    """Return Mantel's test of two labellings of the same units.

    p = (1 + number of drawn Z that reach Z) / (1 + permutations). Mean and standard deviation
    are exact, whatever the number of permutations.

    >>> result = mantel([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    >>> result.z, result.z_max, result.expected, result.ari
    (18, 18, 10.8, 1.0)
    """
    return mantel_of_table(contingency(a, b), permutations, seed)


def mantel_of_table(table: Contingency, permutations: int = 999, seed: int | None = 0) -> Mantel:
    """Return Mantel's test of a contingency table."""
    if permutations < 0:
        raise ValueError(f"permutations={permutations} should be >= 0")
    n = table.n
    together, left, right = (
        _pairs(sizes) for sizes in (table.counts, table.left_sizes, table.right_sizes)
    )
    pairs = n * (n - 1)
    margins = mantel_from_margins(n, pairs - left, pairs - right, pairs - left - right + together)
    expected, variance = mantel_moments(table.left_sizes.tolist(), table.right_sizes.tolist())
    sd = math.sqrt(variance)
    if variance:
        drawn = _drawn_pairs(table, permutations, np.random.default_rng(seed))
        n_reached = sum(int(np.count_nonzero(block >= together)) for block in drawn)
    else:
        n_reached = permutations  # every permutation gives the same Z
    return Mantel(
        n=n,
        z=margins.z,
        zx=margins.zx,
        zy=margins.zy,
        z_max=margins.z_max,
        expected=margins.expected,
        normalised=margins.normalised,
        ari=margins.ari,
        r=margins.r,
        sd=sd,
        z_score=float(margins.z - expected) / sd if sd else 0.0,
        p=(1 + n_reached) / (1 + permutations),
        permutations=permutations,
    )


def mantel_samples(table: Contingency, permutations: int = 999, seed: int | None = 0) -> Counts:
    """Return the Z of random tables with the same margins, as `mantel_of_table` draws them.

    >>> mantel_samples(Contingency.of_table([[3, 0], [0, 3]]), permutations=4).tolist()
    [10, 10, 10, 10]
    """
    left, right = _pairs(table.left_sizes), _pairs(table.right_sizes)
    drawn = list(_drawn_pairs(table, permutations, np.random.default_rng(seed)))
    together = np.concatenate(drawn) if drawn else np.zeros(0, dtype=np.int64)
    return table.n * (table.n - 1) - left - right + together


def mantel_from_margins(n: int, zx: int, zy: int, z: int) -> MantelMargins:
    """Return the figures that follow from Z and from the Z of each partition with itself.

    These are the expected value, the largest possible one, the adjusted Rand index and the
    correlation; standard deviation and p-value need the sizes of classes. The figures that
    Ferret, Grau & Jardino (2001) print are possible, but their random mean of 937,708 does not
    follow from them:

    >>> printed = mantel_from_margins(n=1000, zx=978_460, zy=948_608, z=940_894)
    >>> round(printed.expected), round(printed.ari, 3), printed.z_max
    (929104, 0.342, 948608)
    """
    pairs = n * (n - 1)
    if n < 0:
        raise ValueError(f"n={n} should be >= 0")
    for name, value in (("zx", zx), ("zy", zy)):
        if not 0 <= value <= pairs:
            raise ValueError(f"{name}={value} should lie between 0 and {pairs}, for {n} units")
    z_max, z_min = min(zx, zy), max(0, zx + zy - pairs)
    if not z_min <= z <= z_max:
        raise ValueError(f"z={z} should lie between {z_min} and {z_max}, for zx={zx} and zy={zy}")
    expected = Fraction(zx * zy, pairs) if pairs else Fraction(0)
    excess = z - expected
    same = float(zx == zy == z)
    spread_x, spread_y = (
        value - Fraction(value**2, pairs) if pairs else Fraction(0) for value in (zx, zy)
    )
    spread = math.sqrt(spread_x) * math.sqrt(spread_y)
    to_max, to_mean = z_max - expected, Fraction(zx + zy, 2) - expected
    return MantelMargins(
        n=n,
        z=z,
        zx=zx,
        zy=zy,
        z_max=z_max,
        expected=float(expected),
        normalised=float(excess / to_max) if to_max else same,
        ari=float(excess / to_mean) if to_mean else same,
        r=max(-1.0, min(1.0, float(excess) / spread)) if spread else same,
    )


def mantel_moments(
    left_sizes: Iterable[int], right_sizes: Iterable[int]
) -> tuple[Fraction, Fraction]:
    """Return the exact mean and variance of Z over all permutations of the units.

    Mantel's (1967) moments for partitions, from the sizes of classes only. With
    A1 = sum r (r - 1), A3 = sum r (r - 1)^2, B1 and B3 likewise, and n_k = N (N - 1) … (N - k + 1):

        E   = n_2 - A1 - B1 + A1 B1 / n_2
        Var = 2 A1 B1 / n_2 + 4 (A3 - A1)(B3 - B1) / n_3
              + (A1^2 + 2 A1 - 4 A3)(B1^2 + 2 B1 - 4 B3) / n_4 - (A1 B1 / n_2)^2

    derived by splitting pairs of pairs by the number of units that they share.

    >>> mantel_moments([2, 1], [2, 1])
    (Fraction(8, 3), Fraction(8, 9))
    """
    left, right = list(left_sizes), list(right_sizes)
    n = sum(left)
    if n != sum(right):
        raise ValueError(f"classes of {n} and of {sum(right)} units: not the same units")
    a1, b1 = (sum(size * (size - 1) for size in sizes) for sizes in (left, right))
    a3, b3 = (sum(size * (size - 1) ** 2 for size in sizes) for sizes in (left, right))
    n2 = n * (n - 1)
    n3 = n2 * (n - 2)
    n4 = n3 * (n - 3)
    mean_together = _share(a1 * b1, n2)
    variance = (
        2 * mean_together
        + 4 * _share((a3 - a1) * (b3 - b1), n3)
        + _share((a1**2 + 2 * a1 - 4 * a3) * (b1**2 + 2 * b1 - 4 * b3), n4)
        - mean_together**2
    )
    return n2 - a1 - b1 + mean_together, variance


def _share(part: int, whole: int) -> Fraction:
    """Return part / whole; 0 if there are too few units for such pairs."""
    return Fraction(part, whole) if whole else Fraction(0)


def _pairs(sizes: Counts) -> int:
    """Return the number of ordered pairs of units in the same class."""
    return int((sizes * (sizes - 1)).sum())


def _drawn_pairs(table: Contingency, draws: int, rng: np.random.Generator) -> Iterator[Counts]:
    """Yield the number of ordered pairs in the same class of both sides, for random tables.

    Z differs from it by a constant. Whole tables are drawn (Patefield 1981) if they have far fewer
    cells than there are units; otherwise the units are permuted.
    """
    left = np.sort(table.left_sizes[table.left_sizes > 0])[::-1]
    right = np.sort(table.right_sizes[table.right_sizes > 0])[::-1]
    if 8 * len(left) * len(right) <= table.n:  # both take about the same time here
        return _drawn_tables(left, right, draws, rng)
    return _permuted_units(left, right, draws, rng)


def _drawn_tables(
    left: Counts, right: Counts, draws: int, rng: np.random.Generator
) -> Iterator[Counts]:
    from scipy.stats import random_table  # slow to import, used here only

    law = random_table(left, right)
    step = max(1, _CELLS_AT_ONCE // (len(left) * len(right)))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        cells = law.rvs(size=size, method="patefield", random_state=rng).astype(np.int64)
        yield (cells * (cells - 1)).sum(axis=(1, 2))


def _permuted_units(
    left: Counts, right: Counts, draws: int, rng: np.random.Generator
) -> Iterator[Counts]:
    # The largest class follows from the others; a unit that is alone in its class is in no pair.
    drawn = left[1:][left[1:] > 1]
    columns = np.repeat(np.arange(len(right), dtype=np.int32), right)
    seed = rng.integers(0, 2**64, dtype=np.uint64)
    yield _shuffle(drawn, right, int(left[1:].sum()), columns, draws, seed)


@kernel
def _random(state: np.uint64) -> float:
    """Return a number that is at least 0 and below 1."""
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return float(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def _shuffle(
    drawn: Counts,
    right: Counts,
    n_drawn: int,
    columns: NDArray[np.int32],
    draws: int,
    seed: np.uint64,
) -> Counts:
    """Draw the units of the left classes from all units, and count pairs in the same right class.

    Random numbers come from SplitMix64 (Steele, Lea & Flood 2014), which costs less than drawing.
    """
    n_units = len(columns)
    result = np.zeros(draws, dtype=np.int64)
    state = seed
    shuffled = columns.copy()
    counts = np.zeros(len(right), dtype=np.int64)
    for draw in range(draws):
        rest = right.copy()
        pairs = 0
        at = 0
        for size in drawn:
            for _ in range(size):
                state += np.uint64(0x9E3779B97F4A7C15)
                other = at + int(_random(state) * (n_units - at))
                column = shuffled[other]
                shuffled[other] = shuffled[at]
                shuffled[at] = column
                pairs += 2 * counts[column]
                counts[column] += 1
                at += 1
            for i in range(at - size, at):
                column = shuffled[i]
                rest[column] -= 1
                counts[column] = 0
        while at < n_drawn:  # classes of one unit
            state += np.uint64(0x9E3779B97F4A7C15)
            other = at + int(_random(state) * (n_units - at))
            column = shuffled[other]
            shuffled[other] = shuffled[at]
            shuffled[at] = column
            rest[column] -= 1
            at += 1
        for size in rest:
            pairs += size * (size - 1)
        result[draw] = pairs
    return result
