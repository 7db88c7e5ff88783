"""Mantel's test of two trees over the same units, without a matrix of units by units.

If the classes of a partition are the leaves of a tree, the distance of two units is the height at
which their classes meet (the cophenetic distance), and 0 within a class. With D and E the
distances between left and between right classes, and n_ab the contingency table:

    Z = sum over ordered pairs of units of D_{a_i a_j} E_{b_i b_j} = sum_{bb'} (n' D n)_{bb'} E_{bb'}

Heights are rounded to fixed point once; mean and variance over all permutations of the units are
exact for the rounded heights. The 0/1 distances of `segapsith.evaluation.compare.mantel` are the flat tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Matrix
from segapsith.evaluation.contingency import Contingency
from segapsith.model import Result

__all__ = ["Tree", "TreeMantel", "average_linkage_tree", "mantel_of_trees"]

_UNIT = 1 << 20
"""A height of 1 as a fixed-point number."""

_MAX_MULTIPLICATIONS = 2e10
"""Number of multiplications for all drawn tables; large tables are drawn less often."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree of classes: SciPy's linkage table, and the heights at which classes meet."""

    joins: Matrix
    distances: Matrix


@dataclass(frozen=True, slots=True)
class TreeMantel(Result):
    """Z of two trees with its distribution under permutation: exact moments, drawn p-value.

    `r` is Mantel's correlation of the two distances over all pairs of different units; 0 if one of
    them does not vary, 1 if both do not vary.
    """

    z: float
    expected: float
    sd: float
    z_score: float
    r: float
    p: float
    permutations: int


def average_linkage_tree(similarities: Matrix) -> Tree:
    """Return the tree of classes by average linkage on 1 - similarity.

    >>> average_linkage_tree(np.array([[1, 0.8, 0.1], [0.8, 1, 0.3], [0.1, 0.3, 1]])).distances.round(2).tolist()
    [[0.0, 0.2, 0.8], [0.2, 0.0, 0.8], [0.8, 0.8, 0.0]]
    """
    from scipy.cluster.hierarchy import cophenet, linkage  # slow to import, used here only
    from scipy.spatial.distance import squareform

    size = len(similarities)
    if size < 2:
        return Tree(np.zeros((0, 4)), np.zeros((size, size)))
    apart = np.clip(1.0 - (similarities + similarities.T) / 2, 0.0, None)
    np.fill_diagonal(apart, 0.0)
    joins = linkage(squareform(apart, checks=False), method="average")
    return Tree(joins, squareform(cophenet(joins)))


def mantel_of_trees(
    table: Contingency,
    left: Matrix,
    right: Matrix,
    permutations: int = 999,
    seed: int | None = 0,
) -> TreeMantel:
    """Return Mantel's test of the distances between left and between right classes.

    `left` and `right` are symmetric with 0 on the diagonal, in the order of the table's classes.
    p = (1 + number of drawn Z that reach Z) / (1 + permutations). `permutations` is lowered for
    large tables; the result holds the number that was used.
    """
    for name, distances, size in (("left", left, table.shape[0]), ("right", right, table.shape[1])):
        if distances.shape != (size, size):
            raise ValueError(f"{name}: {distances.shape} distances for {size} classes")
    if permutations < 0:
        raise ValueError(f"permutations={permutations} should be >= 0")
    d, e = _fixed(left), _fixed(right)
    sums_left, sums_right = _sums(d, table.left_sizes), _sums(e, table.right_sizes)
    expected, variance = _moments(table.n, sums_left, sums_right)
    z = _z(table.dense().astype(object), d, e)
    draws = 0
    n_reached = 0
    if variance > 0:
        draws = min(permutations, max(99, int(_MAX_MULTIPLICATIONS / max(table.shape) ** 3)))
        left_float, right_float = d.astype(np.float64), e.astype(np.float64)
        least = float(z) * (1 - 1e-12)  # equal tables have equal sums, up to rounding
        for cells in _drawn(table, draws, np.random.default_rng(seed)):
            n_reached += _z(cells, left_float, right_float) >= least
    sd = math.sqrt(variance) if variance > 0 else 0.0
    return TreeMantel(
        z=float(Fraction(z, _UNIT**2)),
        expected=float(expected / _UNIT**2),
        sd=sd / _UNIT**2,
        z_score=float(z - expected) / sd if sd else 0.0,
        r=_correlation(table.n, z, sums_left, sums_right),
        p=(1 + n_reached) / (1 + draws),
        permutations=draws,
    )


def _fixed(distances: Matrix) -> NDArray[Any]:
    """Return distances as integers of any size."""
    whole: NDArray[Any] = np.array(
        [[round(float(value) * _UNIT) for value in row] for row in distances], dtype=object
    ).reshape(distances.shape)
    return whole


def _z(cells: NDArray[Any], left: NDArray[Any], right: NDArray[Any]) -> Any:
    return ((left @ cells) * (cells @ right)).sum() if cells.size else 0


def _sums(distances: NDArray[Any], sizes: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return sums over pairs of units: distances, their squares, and squared sums per unit."""
    if not len(sizes):
        return 0, 0, 0
    weight = sizes.astype(object)
    of_unit = distances @ weight
    return (
        int((weight * of_unit).sum()),
        int((weight * ((distances * distances) @ weight)).sum()),
        int((weight * of_unit * of_unit).sum()),
    )


def _moments(
    n: int, left: tuple[int, int, int], right: tuple[int, int, int]
) -> tuple[Fraction, Fraction]:
    """Return Mantel's (1967) mean and variance, by the number of units that pairs share."""
    (s, q, t), (u, v, w) = left, right
    n2 = n * (n - 1)
    n3 = n2 * (n - 2)
    n4 = n3 * (n - 3)
    mean = Fraction(s * u, n2) if n2 else Fraction(0)
    second = (
        (Fraction(2 * q * v, n2) if n2 else 0)
        + (Fraction(4 * (t - q) * (w - v), n3) if n3 else 0)
        + (Fraction((s * s + 2 * q - 4 * t) * (u * u + 2 * v - 4 * w), n4) if n4 else 0)
    )
    return mean, second - mean**2


def _correlation(n: int, z: int, left: tuple[int, int, int], right: tuple[int, int, int]) -> float:
    pairs = n * (n - 1)
    if not pairs:
        return 1.0
    spreads = [q - Fraction(s * s, pairs) for s, q, _ in (left, right)]
    if not all(spreads):
        return float(not any(spreads))
    excess = z - Fraction(left[0] * right[0], pairs)
    correlation = float(excess) / (math.sqrt(spreads[0]) * math.sqrt(spreads[1]))
    return max(-1.0, min(1.0, correlation))


def _drawn(table: Contingency, draws: int, rng: np.random.Generator) -> Any:
    """Yield random tables with the same margins: whole if they are small, else unit by unit."""
    if 8 * table.shape[0] * table.shape[1] <= table.n:  # as in `mantel.py`
        from scipy.stats import random_table  # slow to import, used here only

        law = random_table(table.left_sizes, table.right_sizes)
        for _ in range(draws):
            drawn = law.rvs(size=1, method="patefield", random_state=rng)
            yield drawn.reshape(table.shape)
        return
    rows = np.repeat(np.arange(table.shape[0]), table.left_sizes)
    columns = np.repeat(np.arange(table.shape[1]), table.right_sizes)
    for _ in range(draws):
        cells = rows * table.shape[1] + rng.permutation(columns)
        counts = np.bincount(cells, minlength=table.shape[0] * table.shape[1])
        yield counts.reshape(table.shape).astype(np.float64)
