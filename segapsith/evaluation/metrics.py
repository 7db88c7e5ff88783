"""Scores against labels: how well clusters meet classes, and segments meet segments.

The clustering scores are functions of `(labels, classes)`, the clusters found and the classes
given, one label a unit: whole numbers or strings, in a list or an array. Which number stands
for which group never matters, and -1 is a label like any other. In the formulae n units lie in
classes i of n_i units and clusters j of n_j units, and n_ij lie in both. All cost time linear
in n, and `micro_precision` some more where there are thousands of classes; none makes a matrix
of units by units.

The segmentation scores are functions of `(reference, hypothesis)`, each given by the lengths of
its segments in text order (`[3, 4]`: three tokens, then four); both lengths must add up to the
same text.

Where nothing is labelled, or where one class meets one cluster, the two sides are the same
partition: agreement is then 1 and distance 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.evaluation.contingency import (
    Contingency,
    Counts,
    LabelSequence,
    contingency,
    largest_overlap,
)

__all__ = [
    "BCubed",
    "ari",
    "bcubed",
    "boundary_f1",
    "contingency",
    "entropy",
    "f_measure",
    "mean_ari",
    "micro_precision",
    "nmi",
    "pk",
    "purity",
    "van_dongen",
    "variation_of_information",
    "window_diff",
]

Masses = Sequence[int] | NDArray[np.integer]
"""Lengths of segments, in text order, each at least 1."""


class BCubed(NamedTuple):
    """Precision and recall of the average unit, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def micro_precision(labels: LabelSequence, classes: LabelSequence) -> float:
    """The share of units that lie in the right cluster under the best one-to-one mapping.

    max over one-to-one mappings pi of (1/n) sum_i n_{i,pi(i)}. Micro-averaged precision as in
    Dhillon, Mallela & Modha (2003), with the optimal mapping (accuracy); where there are more
    clusters than classes, or fewer, the surplus stays unmapped and its units count as wrong.
    The majority mapping is `purity`.

    >>> micro_precision([0, 0, 1, 1, 2], ["a", "a", "a", "b", "b"])
    0.6
    """
    table = contingency(classes, labels)
    if not table.n:
        return 1.0
    rows, columns = largest_overlap(table)
    return float(table.sparse()[rows, columns].sum()) / table.n


def purity(labels: LabelSequence, classes: LabelSequence) -> float:
    """The share of units that belong to the commonest class of their cluster.

    P = (1/n) sum_j max_i n_ij (Zhao & Karypis 2004). Never falls when a cluster is split, so it
    says little where there are many clusters.

    >>> purity([0, 0, 1, 1, 2], ["a", "a", "a", "b", "b"])
    0.8
    """
    table = contingency(classes, labels)
    return int(table.largest_of_right().sum()) / table.n if table.n else 1.0


def nmi(
    labels: LabelSequence,
    classes: LabelSequence,
    form: Literal["arithmetic", "geometric"] = "arithmetic",
) -> float:
    """The information that clusters and classes share, from 0 to 1.

    2 I / (H_class + H_cluster) by default, I / sqrt(H_class H_cluster) as `geometric`
    (Strehl & Ghosh 2002). One class against several clusters shares nothing: 0.

    >>> nmi([0, 0, 1, 1], ["a", "a", "b", "b"]), nmi([0, 1, 0, 1], ["a", "a", "b", "b"])
    (1.0, 0.0)
    """
    if form not in ("arithmetic", "geometric"):
        raise ValueError(f"form={form!r} should be 'arithmetic' or 'geometric'")
    table = contingency(classes, labels)
    if table.same_partition:
        return 1.0
    of_classes, of_clusters = _entropy_of(table.left_sizes), _entropy_of(table.right_sizes)
    if form == "arithmetic":
        scale = (of_classes + of_clusters) / 2  # two different partitions: one has an entropy
    else:
        scale = math.sqrt(of_classes * of_clusters)
    return min(1.0, _information(table) / scale) if scale > 0 else 0.0


def ari(labels: LabelSequence, classes: LabelSequence) -> float:
    """The Rand index above chance: 1 for the same partition, 0 on average for random ones.

    With S = sum_ij n_ij (n_ij - 1), A and B the same for n_i and n_j, and M = n (n - 1):
    (S - A B / M) / ((A + B) / 2 - A B / M) (Hubert & Arabie 1985). In whole numbers up to the
    last division, so exact for millions of units.

    >>> ari([0, 0, 1, 1], [5, 5, 7, 7]), ari([0, 0, 1, 1], [0, 1, 0, 1])
    (1.0, -0.5)
    """
    table = contingency(classes, labels)
    both, of_classes, of_clusters = (
        int((sizes * (sizes - 1)).sum())
        for sizes in (table.counts, table.left_sizes, table.right_sizes)
    )
    pairs = table.n * (table.n - 1)
    spread = pairs * (of_classes + of_clusters) - 2 * of_classes * of_clusters
    if not spread:  # both sides all alone, or both all together
        return 1.0
    return 2 * (both * pairs - of_classes * of_clusters) / spread


def f_measure(labels: LabelSequence, classes: LabelSequence) -> float:
    """For each class the F of the cluster that meets it best, averaged by the size of classes.

    F = sum_i (n_i/n) max_j 2 n_ij / (n_i + n_j) (Larsen & Aone 1999; Farahat & Kamel 2010).

    >>> f_measure([0, 0, 0, 0], ["a", "a", "b", "b"])
    0.6666666666666666
    """
    table = contingency(classes, labels)
    if not table.n:
        return 1.0
    together = table.left_sizes[table.left] + table.right_sizes[table.right]
    best = np.zeros(table.shape[0])
    np.maximum.at(best, table.left, 2 * table.counts / together)
    return float(table.left_sizes @ best) / table.n


def entropy(
    labels: LabelSequence,
    classes: LabelSequence,
    normalised: bool = True,
    base: float | None = None,
) -> float:
    """How mixed the clusters are: 0 when each holds one class only. Less is better.

    E = sum_j (n_j/n) (- sum_i p_ij log p_ij) / log c with p_ij = n_ij / n_j and c classes
    (Zhao & Karypis 2004), from 0 to 1; with `normalised=False` without the division by log c.
    `base` is that of the logarithm, e by default; the normalised value is the same in every
    base. With a single class: 0.

    >>> entropy([0, 0, 1, 1], ["a", "b", "a", "b"])
    1.0
    >>> entropy([0, 0, 0, 0], ["a", "b", "c", "d"], normalised=False, base=2)
    2.0
    """
    if base is not None and not (base > 0 and base != 1):
        raise ValueError(f"base={base} should be > 0 and other than 1")
    table = contingency(classes, labels)
    n_classes = table.shape[0]
    if n_classes < 2:
        return 0.0
    shares = table.counts / table.right_sizes[table.right]
    mixture = max(0.0, -float(table.counts @ np.log(shares)) / table.n)
    if normalised:
        return min(1.0, mixture / math.log(n_classes))
    return mixture if base is None else mixture / math.log(base)


def van_dongen(labels: LabelSequence, classes: LabelSequence) -> float:
    """The normalised van Dongen distance, from 0 (the same partition) to 1. Less is better.

    VD^n = (2n - sum_i max_j n_ij - sum_j max_i n_ij) / (2n - max_i n_i - max_j n_j)
    (van Dongen 2000; normalised as in Wu, Xiong & Chen 2009). One class and one cluster: 0.

    >>> van_dongen([0, 0, 1, 1], ["a", "a", "b", "b"]), van_dongen([0, 1, 0, 1], [0, 0, 1, 1])
    (0.0, 1.0)
    """
    table = contingency(classes, labels)
    if table.same_partition:
        return 0.0
    kept = int(table.largest_of_left().sum()) + int(table.largest_of_right().sum())
    least = int(table.left_sizes.max()) + int(table.right_sizes.max())
    return (2 * table.n - kept) / (2 * table.n - least)


def variation_of_information(labels: LabelSequence, classes: LabelSequence) -> float:
    """The normalised variation of information, from 0 (the same partition) to 1. Less is better.

    VI^n = 1 - 2 I / (H_class + H_cluster) (Meilă 2007; normalised as in Wu, Xiong & Chen 2009),
    hence 1 - `nmi`. One class and one cluster: 0.

    >>> variation_of_information([0, 1, 0, 1], ["a", "a", "b", "b"])
    1.0
    """
    return 1.0 - nmi(labels, classes)


def bcubed(labels: LabelSequence, classes: LabelSequence) -> BCubed:
    """What share of a unit's cluster is of its class, and of its class in its cluster, on average.

    precision = (1/n) sum_ij n_ij^2 / n_j, recall = (1/n) sum_ij n_ij^2 / n_i, f1 their harmonic
    mean (Bagga & Baldwin 1998; Amigó et al. 2009). From the table, in linear time.

    >>> bcubed([0, 0, 0, 0], ["a", "a", "b", "b"])
    BCubed(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    table = contingency(classes, labels)
    if table.same_partition:
        return BCubed(1.0, 1.0, 1.0)
    squares = table.counts * table.counts
    precision = float((squares / table.right_sizes[table.right]).sum()) / table.n
    recall = float((squares / table.left_sizes[table.left]).sum()) / table.n
    return BCubed(precision, recall, 2 * precision * recall / (precision + recall))


def pk(reference: Masses, hypothesis: Masses, k: int | None = None) -> float:
    """How often two tokens k apart are wrongly said to lie together or apart. Less is better.

    P_k = 1/(N - k) sum_i [ same_ref(i, i + k) != same_hyp(i, i + k) ] (Beeferman, Berger &
    Lafferty 1999). Takes the lengths of segments. `k` is half the mean length of the reference
    segments, rounded, where it is not given. A text of fewer than two tokens: 0.

    >>> pk([5, 5], [5, 5]), pk([4, 4], [8], k=2)
    (0.0, 0.3333333333333333)
    """
    expected, found = _segments(reference, hypothesis)
    window = _window(expected, k)
    if not window:
        return 0.0
    apart = expected[window:] != expected[:-window]
    said_apart = found[window:] != found[:-window]
    return float(np.mean(apart != said_apart))


def window_diff(reference: Masses, hypothesis: Masses, k: int | None = None) -> float:
    """How often a window of k has a wrong number of boundaries. Less is better.

    WD = 1/(N - k) sum_i [ b_ref(i, i + k) != b_hyp(i, i + k) ], b the number of boundaries
    between two tokens (Pevzner & Hearst 2002). Takes the lengths of segments; `k` as for `pk`.
    Never below `pk` for the same k.

    >>> window_diff([4, 4], [4, 4]), window_diff([4, 4], [3, 1, 4], k=2)
    (0.0, 0.3333333333333333)
    """
    expected, found = _segments(reference, hypothesis)
    window = _window(expected, k)
    if not window:
        return 0.0
    boundaries = expected[window:] - expected[:-window]
    said_boundaries = found[window:] - found[:-window]
    return float(np.mean(boundaries != said_boundaries))


def boundary_f1(reference: Masses, hypothesis: Masses, tolerance: int = 0) -> float:
    """The F of the boundaries inside the text, a boundary being right up to `tolerance` tokens.

    2 m / (boundaries given + boundaries found), m the most pairs that can be made of one given
    and one found boundary at most `tolerance` apart. Takes the lengths of segments. Where
    neither side has a boundary: 1.

    >>> boundary_f1([4, 4], [4, 4]), boundary_f1([4, 4], [5, 3]), boundary_f1([4, 4], [5, 3], 1)
    (1.0, 0.0, 1.0)
    """
    if tolerance < 0:
        raise ValueError(f"tolerance={tolerance} should be >= 0")
    masses = _masses(reference, hypothesis)
    given, found = (np.cumsum(lengths)[:-1].tolist() for lengths in masses)
    if not given and not found:
        return 1.0
    matched = i = j = 0
    while i < len(given) and j < len(found):  # on a line, pairing from the left loses no pair
        if abs(given[i] - found[j]) <= tolerance:
            matched, i, j = matched + 1, i + 1, j + 1
        elif given[i] < found[j]:
            i += 1
        else:
            j += 1
    return 2 * matched / (len(given) + len(found))


def _entropy_of(sizes: Counts) -> float:
    """Entropy of a partition with classes of these sizes, in nats."""
    shares = sizes[sizes > 0] / sizes.sum()
    return -float(shares @ np.log(shares))


def _information(table: Contingency) -> float:
    """I = sum_ij (n_ij/n) ln( n n_ij / (n_i n_j) ), in nats; never below 0."""
    n = table.n
    chance = (table.left_sizes[table.left] / n) * (table.right_sizes[table.right] / n)
    shares = table.counts / n
    return max(0.0, float(shares @ np.log(shares / chance)))


def _masses(reference: Masses, hypothesis: Masses) -> tuple[Counts, Counts]:
    """Both lists of lengths as arrays, checked."""
    lengths = np.asarray(reference), np.asarray(hypothesis)
    for name, masses in zip(("reference", "hypothesis"), lengths, strict=True):
        if masses.ndim != 1 or (
            masses.size and (masses.dtype.kind not in "iu" or masses.min() < 1)
        ):
            raise ValueError(f"{name} should be lengths of segments, whole numbers >= 1")
    given, found = (masses.astype(np.int64) for masses in lengths)
    if given.sum() != found.sum():
        raise ValueError(
            f"segments of {given.sum()} and of {found.sum()} tokens: not the same text"
        )
    return given, found


def _segments(reference: Masses, hypothesis: Masses) -> tuple[Counts, Counts]:
    """For each token the number of its segment, on both sides."""
    given, found = _masses(reference, hypothesis)
    return np.repeat(np.arange(len(given)), given), np.repeat(np.arange(len(found)), found)


def _window(expected: Counts, k: int | None) -> int:
    """The distance between the two ends of the window; 0 where no window fits."""
    n = len(expected)
    if n < 2:
        return 0
    if k is None:
        n_segments = int(expected[-1]) + 1
        return max(1, (n + n_segments) // (2 * n_segments))  # n / (2 segments), half rounded up
    if not 1 <= k < n:
        raise ValueError(f"k={k} should lie between 1 and {n - 1}, for a text of {n} tokens")
    return k


def mean_ari(partitions: Sequence[Labels]) -> float:
    """The mean adjusted Rand index over all pairs; 1 for fewer than two partitions.

    >>> mean_ari([np.array([0, 0, 1]), np.array([5, 5, 2])])
    1.0
    """
    scores = [ari(left, right) for left, right in combinations(partitions, 2)]
    return float(np.mean(scores)) if scores else 1.0
