"""Scores of clusterings against classes, and of segmentations against reference segmentations.

The clustering scores are functions of `(labels, classes)`, the clusters and the given classes, with
one label per unit: integers or strings, in a list or an array. The choice of labels does not
matter, and -1 is a label like any other. In the formulas, n units lie in classes i of n_i units and
clusters j of n_j units, and n_ij units lie in both. The time is linear in n; `micro_precision`
takes longer with thousands of classes. No score needs a matrix of units by units.

The segmentation scores are functions of `(reference, hypothesis)`. Each side is given by the
lengths of its segments in text order (`[3, 4]`: three tokens, then four). Both sides must have the
same total length.

Without units, or with one class and one cluster, both sides are the same partition: agreement is 1
and distance is 0.
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
    "ami",
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
"""Lengths of segments in text order, each at least 1."""


class BCubed(NamedTuple):
    """Precision and recall of the average unit, and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def micro_precision(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the share of units in the right cluster under the best one-to-one mapping.

    max over one-to-one mappings pi of (1/n) sum_i n_{i,pi(i)}. Micro-averaged precision as in
    Dhillon, Mallela & Modha (2003), with the optimal mapping (accuracy). If the numbers of clusters
    and classes differ, the surplus is not mapped and its units count as wrong. The majority mapping
    is `purity`.

    >>> micro_precision([0, 0, 1, 1, 2], ["a", "a", "a", "b", "b"])
    0.6
    """
    table = contingency(classes, labels)
    if not table.n:
        return 1.0
    rows, columns = largest_overlap(table)
    return float(table.sparse()[rows, columns].sum()) / table.n


def purity(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the share of units that belong to the most frequent class of their cluster.

    P = (1/n) sum_j max_i n_ij (Zhao & Karypis 2004). It never falls if a cluster is split, so
    it means little with many clusters.

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
    """Return the normalised mutual information of clusters and classes, from 0 to 1.

    2 I / (H_class + H_cluster) by default, I / sqrt(H_class H_cluster) as `geometric`
    (Strehl & Ghosh 2002). It is 0 for one class and several clusters.

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
        scale = (of_classes + of_clusters) / 2  # above 0, as the partitions differ
    else:
        scale = math.sqrt(of_classes * of_clusters)
    return min(1.0, _information(table) / scale) if scale > 0 else 0.0


def ari(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the adjusted Rand index: 1 for the same partition, 0 on average for random ones.

    With S = sum_ij n_ij (n_ij - 1), A and B the same for n_i and n_j, and M = n (n - 1):
    (S - A B / M) / ((A + B) / 2 - A B / M) (Hubert & Arabie 1985). With integers up to the last
    division, so it is exact for millions of units.

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
    if not spread:  # all units alone on both sides, or all together
        return 1.0
    return 2 * (both * pairs - of_classes * of_clusters) / spread


def f_measure(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the F of the best cluster of each class, averaged by the size of classes.

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
    """Return the entropy of classes within clusters: 0 if each cluster holds one class.

    Less is better.

    E = sum_j (n_j/n) (- sum_i p_ij log p_ij) / log c with p_ij = n_ij / n_j and c classes
    (Zhao & Karypis 2004), from 0 to 1; with `normalised=False` without the division by log c.
    `base` is the base of the logarithm, e by default; the normalised value does not depend on it.
    With a single class the entropy is 0.

    >>> entropy([0, 0, 1, 1], ["a", "b", "a", "b"])
    1.0
    >>> entropy([0, 0, 0, 0], ["a", "b", "c", "d"], normalised=False, base=2)
    2.0
    """
    if base is not None and not (base > 0 and base != 1):
        raise ValueError(f"base={base} should be > 0 and not 1")
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
    """Return the normalised van Dongen distance, from 0 (the same partition) to 1. Less is better.

    VD^n = (2n - sum_i max_j n_ij - sum_j max_i n_ij) / (2n - max_i n_i - max_j n_j)
    (van Dongen 2000; normalised as in Wu, Xiong & Chen 2009). One class and one cluster: 0.

    >>> van_dongen([0, 0, 1, 1], ["a", "a", "b", "b"]), van_dongen([0, 1, 0, 1], [0, 0, 1, 1])
    (0.0, 1.0)
    """
    table = contingency(classes, labels)
    if table.same_partition:
        return 0.0
    largest = int(table.largest_of_left().sum()) + int(table.largest_of_right().sum())
    least = int(table.left_sizes.max()) + int(table.right_sizes.max())
    return (2 * table.n - largest) / (2 * table.n - least)


def ami(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the mutual information of clusters and classes, adjusted for chance.

    (I - E[I]) / ((H_class + H_cluster) / 2 - E[I]), where E[I] is the mean over all partitions with
    clusters and classes of the same sizes (Vinh, Epps & Bailey 2010). It is 0 on average for random
    clusters, however many they are, and 1 for the same partition.

    >>> ami([0, 0, 1, 1], ["a", "a", "b", "b"]), round(ami([0, 1, 0, 1], ["a", "a", "b", "b"]), 3)
    (1.0, -0.5)
    """
    table = contingency(classes, labels)
    if table.same_partition:
        return 1.0
    expected = _expected_information(table)
    mean = (_entropy_of(table.left_sizes) + _entropy_of(table.right_sizes)) / 2
    if math.isclose(mean, expected, rel_tol=1e-12):  # all alone on one side: chance does as well
        return 0.0
    return (_information(table) - expected) / (mean - expected)


def variation_of_information(labels: LabelSequence, classes: LabelSequence) -> float:
    """Return the normalised variation of information, from 0 (the same partition) to 1.

    VI^n = 1 - 2 I / (H_class + H_cluster) (Meilă 2007; normalised as in Wu, Xiong & Chen 2009),
    that is 1 - `nmi`. Less is better. One class and one cluster: 0.

    >>> variation_of_information([0, 1, 0, 1], ["a", "a", "b", "b"])
    1.0
    """
    return 1.0 - nmi(labels, classes)


def bcubed(labels: LabelSequence, classes: LabelSequence) -> BCubed:
    """Return the mean precision and recall of the cluster of a unit, and their harmonic mean.

    precision = (1/n) sum_ij n_ij^2 / n_j, recall = (1/n) sum_ij n_ij^2 / n_i, f1 their harmonic
    mean (Bagga & Baldwin 1998; Amigó et al. 2009).

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
    """Return the share of pairs of tokens k apart that are wrongly joined or separated.

    Less is better.

    P_k = 1/(N - k) sum_i [ same_ref(i, i + k) != same_hyp(i, i + k) ] (Beeferman, Berger &
    Lafferty 1999). `k` is half the mean length of the reference segments by default, rounded. The
    result is 0 for a text of fewer than two tokens.

    >>> pk([5, 5], [5, 5]), pk([4, 4], [8], k=2)
    (0.0, 0.3333333333333333)
    """
    expected, actual = _segments(reference, hypothesis)
    window = _window(expected, k)
    if not window:
        return 0.0
    expected_apart = expected[window:] != expected[:-window]
    actual_apart = actual[window:] != actual[:-window]
    return float(np.mean(expected_apart != actual_apart))


def window_diff(reference: Masses, hypothesis: Masses, k: int | None = None) -> float:
    """Return the share of windows of k with a wrong number of boundaries. Less is better.

    WD = 1/(N - k) sum_i [ b_ref(i, i + k) != b_hyp(i, i + k) ], b the number of boundaries
    between two tokens (Pevzner & Hearst 2002). `k` as for `pk`; the result is at least `pk` for the
    same k.

    >>> window_diff([4, 4], [4, 4]), window_diff([4, 4], [3, 1, 4], k=2)
    (0.0, 0.3333333333333333)
    """
    expected, actual = _segments(reference, hypothesis)
    window = _window(expected, k)
    if not window:
        return 0.0
    expected_boundaries = expected[window:] - expected[:-window]
    actual_boundaries = actual[window:] - actual[:-window]
    return float(np.mean(expected_boundaries != actual_boundaries))


def boundary_f1(reference: Masses, hypothesis: Masses, tolerance: int = 0) -> float:
    """Return the F of the boundaries inside the text, with a tolerance in tokens.

    2 m / (boundaries of the reference + boundaries of the hypothesis), where m is the largest
    number of pairs of boundaries at most `tolerance` apart. It is 1 if neither side has a boundary.

    >>> boundary_f1([4, 4], [4, 4]), boundary_f1([4, 4], [5, 3]), boundary_f1([4, 4], [5, 3], 1)
    (1.0, 0.0, 1.0)
    """
    if tolerance < 0:
        raise ValueError(f"tolerance={tolerance} should be >= 0")
    masses = _masses(reference, hypothesis)
    expected, actual = (np.cumsum(lengths)[:-1].tolist() for lengths in masses)
    if not expected and not actual:
        return 1.0
    n_pairs = i = j = 0
    while i < len(expected) and j < len(actual):  # pairing from the left loses no pair
        if abs(expected[i] - actual[j]) <= tolerance:
            n_pairs, i, j = n_pairs + 1, i + 1, j + 1
        elif expected[i] < actual[j]:
            i += 1
        else:
            j += 1
    return 2 * n_pairs / (len(expected) + len(actual))


def _entropy_of(sizes: Counts) -> float:
    """Return the entropy of a partition with classes of these sizes, in nats."""
    shares = sizes[sizes > 0] / sizes.sum()
    return -float(shares @ np.log(shares))


def _information(table: Contingency) -> float:
    """Return I = sum_ij (n_ij/n) ln( n n_ij / (n_i n_j) ), in nats; at least 0."""
    n = table.n
    chance = (table.left_sizes[table.left] / n) * (table.right_sizes[table.right] / n)
    shares = table.counts / n
    return max(0.0, float(shares @ np.log(shares / chance)))


def _expected_information(table: Contingency) -> float:
    """Return the mean of I over all tables with the same sizes, in nats.

    E[I] = sum_ij sum_m (m/n) ln( n m / (n_i n_j) ) P(m), where P is the hypergeometric probability
    that two classes of n_i and n_j units share m. Classes of equal size are computed once.
    """
    n = table.n
    lefts, n_lefts = np.unique(table.left_sizes, return_counts=True)
    rights, n_rights = np.unique(table.right_sizes, return_counts=True)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    total = 0.0
    for a, n_a in zip(lefts.tolist(), n_lefts.tolist(), strict=True):
        for b, n_b in zip(rights.tolist(), n_rights.tolist(), strict=True):
            m = np.arange(max(1, a + b - n), min(a, b) + 1)
            sizes = (a, b, n - a, n - b)
            log_p = sum(log_factorial[size] for size in sizes) - (
                log_factorial[n]
                + log_factorial[m]
                + log_factorial[a - m]
                + log_factorial[b - m]
                + log_factorial[n - a - b + m]
            )
            terms = m / n * np.log(n * m / (a * b)) * np.exp(log_p)
            total += n_a * n_b * float(terms.sum())
    return total


def _masses(reference: Masses, hypothesis: Masses) -> tuple[Counts, Counts]:
    """Return both lists of lengths as arrays, checked."""
    lengths = np.asarray(reference), np.asarray(hypothesis)
    for name, masses in zip(("reference", "hypothesis"), lengths, strict=True):
        if masses.ndim != 1 or (
            masses.size and (masses.dtype.kind not in "iu" or masses.min() < 1)
        ):
            raise ValueError(f"{name} should be lengths of segments, whole numbers >= 1")
    expected, actual = (masses.astype(np.int64) for masses in lengths)
    if expected.sum() != actual.sum():
        raise ValueError(
            f"reference has {expected.sum()} tokens and hypothesis {actual.sum()}:"
            " not the same text"
        )
    return expected, actual


def _segments(reference: Masses, hypothesis: Masses) -> tuple[Counts, Counts]:
    """Return the segment number of each token, on both sides."""
    expected, actual = _masses(reference, hypothesis)
    return (
        np.repeat(np.arange(len(expected)), expected),
        np.repeat(np.arange(len(actual)), actual),
    )


def _window(expected: Counts, k: int | None) -> int:
    """Return the distance between the two ends of the window, 0 if no window fits."""
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
    """Return the mean adjusted Rand index over all pairs; 1 for fewer than two partitions.

    >>> mean_ari([np.array([0, 0, 1]), np.array([5, 5, 2])])
    1.0
    """
    scores = [ari(left, right) for left, right in combinations(partitions, 2)]
    return float(np.mean(scores)) if scores else 1.0
