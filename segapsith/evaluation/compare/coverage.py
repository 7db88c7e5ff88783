"""Coverage: how much of each class of one partition lies in a single class of the other.

cov(a) = max_b n_ab / r_a (Ferret, Grau & Jardino 2001, section 4.2.1). Coverage of 100 % means
that the class lies inside the other, not that both are the same. So each class also comes with
the Jaccard index n_ab / (r_a + c_b - n_ab) of its best partner, and both directions are computed
(these two are this project's).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from segapsith.evaluation.contingency import Contingency, Counts, LabelSequence, contingency
from segapsith.model import Result

__all__ = ["BINS", "ClassCoverage", "Coverage", "coverage", "coverage_of_table"]

BINS = ("100", "80-100", "60-80", "40-60", "20-40", "0-20")
"""The bins of the published table, in per cent: the lower end belongs to the bin, 100 stands apart."""


@dataclass(frozen=True, slots=True)
class ClassCoverage(Result):
    """One class, and its partner: the class of the other side with most units in common.

    Ties go to the larger Jaccard index, then to the lower label.
    """

    label: Hashable
    size: int
    partner: Hashable
    shared: int
    coverage: float
    jaccard: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the left classes by the right ones (`forward`) and the reverse (`backward`).

    `bins` counts the left classes by their coverage, `backward_bins` the right ones; `share`
    and `backward_share` are the shares of units that lie in the partner of their class.
    """

    forward: tuple[ClassCoverage, ...]
    backward: tuple[ClassCoverage, ...]
    bins: dict[str, int]
    backward_bins: dict[str, int]
    share: float
    backward_share: float


def coverage(a: LabelSequence, b: LabelSequence) -> Coverage:
    """Return the coverage of two labellings of the same units, in both directions.

    >>> result = coverage(["x", "x", "y", "y", "y"], [0, 0, 0, 1, 1])
    >>> [(one.label, one.partner, round(one.coverage, 2)) for one in result.forward]
    [('x', 0, 1.0), ('y', 1, 0.67)]
    >>> result.bins
    {'100': 1, '80-100': 0, '60-80': 1, '40-60': 0, '20-40': 0, '0-20': 0}
    """
    return coverage_of_table(contingency(a, b))


def coverage_of_table(table: Contingency) -> Coverage:
    """Return the coverage of a contingency table; classes without units are left out."""
    sides = (
        (table.left, table.left_labels, table.left_sizes),
        (table.right, table.right_labels, table.right_sizes),
    )
    forward = _covered(table.counts, *sides[0], *sides[1])
    backward = _covered(table.counts, *sides[1], *sides[0])
    return Coverage(
        forward=forward,
        backward=backward,
        bins=_binned(forward),
        backward_bins=_binned(backward),
        share=_share(forward),
        backward_share=_share(backward),
    )


def _covered(
    counts: Counts,
    own: Counts,
    labels: tuple[Hashable, ...],
    sizes: Counts,
    other: Counts,
    other_labels: tuple[Hashable, ...],
    other_sizes: Counts,
) -> tuple[ClassCoverage, ...]:
    # For equal overlap within a class, the larger Jaccard index is that of the smaller partner.
    order = np.lexsort((other, other_sizes[other], -counts, own))
    first = np.flatnonzero(np.diff(own[order], prepend=-1))
    best = order[first]
    return tuple(
        ClassCoverage(
            label=labels[row],
            size=size,
            partner=other_labels[column],
            shared=shared,
            coverage=shared / size,
            jaccard=shared / (size + partner_size - shared),
        )
        for row, size, column, partner_size, shared in zip(
            own[best].tolist(),
            sizes[own[best]].tolist(),
            other[best].tolist(),
            other_sizes[other[best]].tolist(),
            counts[best].tolist(),
            strict=True,
        )
    )


def _binned(classes: tuple[ClassCoverage, ...]) -> dict[str, int]:
    """Return the number of classes in each bin; integer arithmetic, so that 80 % is exactly 80 %."""
    bins = dict.fromkeys(BINS, 0)
    for one in classes:
        bins[BINS[5 - 5 * one.shared // one.size]] += 1
    return bins


def _share(classes: tuple[ClassCoverage, ...]) -> float:
    n = sum(one.size for one in classes)
    return sum(one.shared for one in classes) / n if n else 1.0
