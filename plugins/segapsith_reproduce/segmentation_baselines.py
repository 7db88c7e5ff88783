"""Segmenters for comparison: TextTiling, C99 and trivial ones.

TextTiling follows Hearst (1997): blocks of w = 20 words, k = 6, cut-off mean - sd/2. C99 follows
Choi (2000): mask of 11, divisive, stop at mean + 1.2 sd of the gain. `every` and `at_random` receive
the mean length of the segments of their set; the others do not.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.model import Annotation

__all__ = ["Cutter", "Item", "at_random", "c99", "every", "nowhere", "texttiling"]


class Item(NamedTuple):
    """A document, the starts of its sentences, and the lengths of its segments in sentences."""

    part: str
    annotation: Annotation
    starts: NDArray[np.int64]
    segments: list[int]


Cutter = Callable[[Item], list[int]]
"""Returns the sentences of the data set that start a new segment."""


def nowhere(item: Item) -> list[int]:
    """Return no boundary."""
    return []


def _sentence_counts(item: Item) -> NDArray[np.float64]:
    """Return counts of content words by sentence of the data set."""
    numbers: dict[str, int] = {}
    content = np.flatnonzero(item.annotation.content).tolist()
    lemmas = item.annotation.lemmas
    columns = [numbers.setdefault(lemmas[i], len(numbers)) for i in content]
    places = item.annotation.spans[content, 0]
    rows = np.searchsorted(item.starts, places, side="right") - 1
    counts = np.zeros((len(item.starts), max(len(numbers), 1)))
    np.add.at(counts, (rows, np.array(columns, int)), 1)
    return counts


def texttiling(item: Item, width: int = 20, size: int = 6, rounds: int = 1) -> list[int]:
    """Return the boundaries of TextTiling: cosine of blocks of words, depth of the valleys."""
    annotation = item.annotation
    n_tokens = len(annotation.lemmas)
    n = n_tokens // width
    if n < 2 * size:
        size = max(1, n // 4)
    if n < 3:
        return []
    numbers: dict[str, int] = {}
    counts = np.zeros((n + 1, len(set(annotation.lemmas))))
    for i in np.flatnonzero(annotation.content).tolist():
        counts[i // width, numbers.setdefault(annotation.lemmas[i], len(numbers))] += 1
    sums = np.vstack([np.zeros(counts.shape[1]), counts[:n].cumsum(axis=0)])
    gaps = np.arange(1, n)
    left = sums[gaps] - sums[np.maximum(gaps - size, 0)]
    right = sums[np.minimum(gaps + size, n)] - sums[gaps]
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    curve = (left * right).sum(axis=1) / np.maximum(norms, 1e-12)
    for _ in range(rounds):
        padded = np.pad(curve, 1, mode="edge")
        curve = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    depths = np.zeros(len(curve))
    for g in range(len(curve)):
        i = g
        while i > 0 and curve[i - 1] >= curve[i]:
            i -= 1
        j = g
        while j < len(curve) - 1 and curve[j + 1] >= curve[j]:
            j += 1
        depths[g] = curve[i] + curve[j] - 2 * curve[g]
    bar = depths.mean() - depths.std() / 2
    cuts: list[int] = []
    for g in np.argsort(-depths, kind="stable").tolist():
        if depths[g] > bar and all(abs(g - other) > 3 for other in cuts):
            cuts.append(g)
    places = annotation.spans[(np.array(cuts, int) + 1) * width, 0]
    return sorted({int(np.abs(item.starts - place).argmin()) for place in places} - {0})


def c99(item: Item, mask: int = 11) -> list[int]:
    """Return the boundaries of C99: ranks of cosines, and divisive clustering by density."""
    counts = _sentence_counts(item)
    lengths = np.linalg.norm(counts, axis=1)
    rows = counts / np.maximum(lengths, 1e-12)[:, None]
    similar = rows @ rows.T
    n = len(similar)
    ranks = _ranks(similar, mask // 2)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = ranks.cumsum(axis=0).cumsum(axis=1)

    def inside(i: NDArray[Any] | int, j: NDArray[Any] | int) -> NDArray[np.float64]:
        return np.asarray(sums[j, j] - sums[i, j] - sums[j, i] + sums[i, i])

    cuts = [0, n]
    mass, area = float(inside(0, n)), float(n * n)
    densities = [mass / area]
    order: list[int] = []
    while len(cuts) - 1 < min(n, 100):  # the stop comes long before, and more steps are slow
        choice: tuple[float, float, float, int] | None = None
        for i, j in pairwise(cuts):
            if j - i < 2:
                continue
            middle = np.arange(i + 1, j)
            new_mass = mass - inside(i, j) + inside(i, middle) + inside(middle, j)
            new_area = area - (j - i) ** 2 + (middle - i) ** 2 + (j - middle) ** 2
            at = int((new_mass / new_area).argmax())
            split = (float(new_mass[at] / new_area[at]), float(new_mass[at]), float(new_area[at]))
            if choice is None or split[0] > choice[0]:
                choice = (*split, int(middle[at]))
        assert choice is not None
        mass, area = choice[1], choice[2]
        densities.append(choice[0])
        order.append(choice[3])
        cuts = sorted([*cuts, choice[3]])
    gains = np.diff(densities)
    if not len(gains):
        return []
    padded = np.pad(gains, 2, mode="edge")
    smooth = np.convolve(padded, [1 / 8, 2 / 8, 2 / 8, 2 / 8, 1 / 8], mode="valid")
    bar = smooth.mean() + 1.2 * smooth.std()
    n_cuts = 0
    while n_cuts < len(smooth) and smooth[n_cuts] > bar:
        n_cuts += 1
    return sorted(order[:n_cuts])


@kernel
def _ranks(similar: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return the share of the neighbours of each cell, up to `half` away, that are less similar."""
    n = len(similar)
    ranks = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):  # the matrix is symmetric, and so is the neighbourhood
            less, seen = 0, -1
            for k in range(max(0, i - half), min(n, i + half + 1)):
                for m in range(max(0, j - half), min(n, j + half + 1)):
                    less += similar[k, m] < similar[i, j]
                    seen += 1
            ranks[i, j] = ranks[j, i] = less / max(seen, 1)
    return ranks


def every(length: float) -> Cutter:
    """Return a cutter with segments of equal length."""

    def cut(item: Item) -> list[int]:
        n = len(item.starts)
        return sorted({round(k * length) for k in range(1, int(n / length) + 1)} - {0, n})

    return cut


def at_random(length: float) -> Cutter:
    """Return a cutter with random boundaries, at this mean distance."""
    rng = np.random.default_rng(0)

    def cut(item: Item) -> list[int]:
        return [i for i in range(1, len(item.starts)) if rng.random() < 1 / length]

    return cut
