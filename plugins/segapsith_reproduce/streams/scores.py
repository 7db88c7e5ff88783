"""Scores of a stream: against all labels, in sliding windows, and for first stories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.evaluation.metrics import ami, ari, bcubed, nmi

__all__ = [
    "FALSE_ALARM_COST",
    "MISS_COST",
    "TARGET_SHARE",
    "WINDOW",
    "PartitionScores",
    "WindowScores",
    "detection_cost",
    "partition_scores",
    "window_scores",
]

WINDOW = 7
"""Days of a window; the next one starts a day later."""

MISS_COST, FALSE_ALARM_COST, TARGET_SHARE = 1.0, 0.1, 0.02
"""Constants of the detection cost, as in the TDT evaluations."""


@dataclass(frozen=True, slots=True)
class PartitionScores:
    """Scores of groups against classes."""

    n_groups: int
    precision: float
    recall: float
    f1: float
    nmi: float
    ami: float
    ari: float


@dataclass(frozen=True, slots=True)
class WindowScores:
    """Means over windows of days."""

    n_windows: int
    f1: float
    ami: float
    ari: float


def partition_scores(labels: Labels, classes: Sequence[str]) -> PartitionScores:
    """Return B-cubed precision, recall and F1, NMI, AMI and ARI.

    >>> partition_scores(np.array([0, 0, 1]), ["a", "a", "b"]).f1
    1.0
    """
    b = bcubed(labels, classes)
    return PartitionScores(
        len(set(labels.tolist())), b.precision, b.recall, b.f1,
        nmi(labels, classes), ami(labels, classes), ari(labels, classes),
    )  # fmt: skip


def window_scores(
    labels: Labels, classes: Sequence[str], days: NDArray[np.int64]
) -> WindowScores | None:
    """Return the mean scores over all windows with at least two documents; None without any.

    The first window starts at the first day, and the last one ends with the last day.

    >>> window_scores(np.array([0, 0, 1]), ["a", "a", "b"], np.array([1, 2, 9])).n_windows
    1
    """
    order = np.argsort(days, kind="stable")
    days, labels = days[order], labels[order]
    names = np.unique(np.asarray(classes), return_inverse=True)[1][order]
    rows = []
    last_start = max(int(days[-1]) - WINDOW + 1, int(days[0])) if len(days) else -1
    for start in range(int(days[0]) if len(days) else 0, last_start + 1):
        first, last = np.searchsorted(days, [start, start + WINDOW])
        if last - first >= 2:
            inside, given = labels[first:last], names[first:last]
            rows.append((bcubed(inside, given).f1, ami(inside, given), ari(inside, given)))
    if not rows:
        return None
    f1, mutual, rand = np.mean(rows, axis=0).tolist()
    return WindowScores(len(rows), f1, mutual, rand)


def detection_cost(labels: Labels, classes: Sequence[str]) -> float:
    """Return the normalised cost of first-story detection; less is better.

    A document is reported as a first story if no document before it has its group. It is one if no
    document before it has its class.

    C = (C_miss P_miss P_target + C_fa P_fa (1 - P_target)) / min(C_miss P_target, C_fa (1 - P_target))

    with the constants of the TDT evaluations (Fiscus & Doddington 2002): C_miss = 1, C_fa = 0.1,
    P_target = 0.02. To report nothing costs 1, to report everything 4.9.

    >>> detection_cost(np.array([0, 0, 1]), ["a", "a", "b"])
    0.0
    >>> detection_cost(np.array([0, 0, 0]), ["a", "a", "b"])  # one of two is missed
    0.5
    """
    is_first, is_reported = _is_first(list(classes)), _is_first(labels.tolist())
    n_first = int(is_first.sum())
    n_other = len(is_first) - n_first
    misses = int((is_first & ~is_reported).sum()) / n_first if n_first else 0.0
    alarms = int((~is_first & is_reported).sum()) / n_other if n_other else 0.0
    miss, alarm = MISS_COST * TARGET_SHARE, FALSE_ALARM_COST * (1 - TARGET_SHARE)
    return (miss * misses + alarm * alarms) / min(miss, alarm)


def _is_first(names: Sequence[object]) -> NDArray[np.bool_]:
    """Return whether each entry is the first of its name."""
    seen: set[object] = set()
    result = np.zeros(len(names), dtype=np.bool_)
    for i, name in enumerate(names):
        result[i] = name not in seen
        seen.add(name)
    return result
