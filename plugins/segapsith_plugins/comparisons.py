"""The five comparisons of two partitions that Ferret, Grau & Jardino (2001) use.

Units are matched by their ids. Only units that both snapshots contain and label (>= 0) count;
`details["units"]` is their number. The left snapshot has the domains, the right one the clusters. A
snapshot agrees with itself: 1. If no unit can be compared, the value is 1 if neither side labels
any, else 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.evaluation.compare import (
    ClassCoverage,
    Links,
    Profiles,
    coverage_of_table,
    kappa_of_table,
    link_by_entropy,
    link_by_similarity,
    mantel_of_table,
)
from segapsith.evaluation.contingency import Contingency, contingency
from segapsith.model import Agreement, Json, Snapshot
from segapsith.plugin.contracts import Comparison
from segapsith.plugin.hookspecs import hookimpl

__all__ = [
    "CoverageComparison",
    "EntropyLinks",
    "KappaComparison",
    "MantelComparison",
    "SimilarityLinks",
]

Count = Literal["units", "tokens"]


class SimilarityLinks:
    """Links right groups to left groups by equation 7.

    The value is the mean similarity of the linked pairs over the units of the right groups; an
    unlinked group counts 0. The weights of words are those of the snapshots if both have them for
    all groups, else the share of a group's units that contain the word. With `count` = `units` a
    word counts once per unit, with `tokens` by its occurrences. There is no activation filter,
    because it may hide a group from itself.
    """

    def __init__(self, *, threshold: float = 0.25, count: Count = "units") -> None:
        if not 0 <= threshold < 1:
            raise ValueError(f"threshold={threshold} should be >= 0 and < 1")
        self.threshold = threshold
        self.count = _checked_count(count)

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return the mean similarity of linked pairs, and the links."""
        common = _common(left, right)
        domains, clusters, weighted_by = _both_profiles(left, right, common, self.count)
        links = link_by_similarity(clusters, domains, threshold=self.threshold)
        scores = {
            cluster: links.scores[cluster] if domain is not None else 0.0
            for cluster, domain in links.links.items()
        }
        details: dict[str, Json] = {"threshold": self.threshold, "weights": weighted_by}
        return _linked(common, links, scores, clusters, details)


class EntropyLinks:
    """Links right groups to left groups by equation 8.

    The value compares how well the left groups predict the words of the right groups with how well
    the right groups do: the mean over units of exp(-(D_left - D_right)), at most 1. D is the lowest
    divergence of the unit's right group from a smoothed group of that side, so the value is the
    ratio of the perplexities. `count` as for `similarity-links`.
    """

    def __init__(self, *, count: Count = "tokens") -> None:
        self.count = _checked_count(count)

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return the ratio of perplexities, and the links."""
        common = _common(left, right)
        domains = _profiles(left, common.left_rows, common.left_labels, self.count)
        clusters = _profiles(right, common.right_rows, common.right_labels, self.count)
        vocabulary = len({*domains.words, *clusters.words})
        links = link_by_entropy(clusters, domains, vocabulary=vocabulary)
        own = link_by_entropy(clusters, clusters, vocabulary=vocabulary)
        scores = {
            cluster: math.exp(min(0.0, own.scores[cluster] - links.scores[cluster]))
            if domain is not None
            else 0.0
            for cluster, domain in links.links.items()
        }
        return _linked(common, links, scores, clusters, {"vocabulary": vocabulary})


class CoverageComparison:
    """The share of each group that lies in a single group of the other side.

    The value is the share of units that lie in the partner of their group, the lower one of both
    directions: a partition that only joins the other's groups covers them all in one direction.
    """

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return the lower share of covered units, and the coverage of each group."""
        common = _common(left, right)
        result = coverage_of_table(common.table)
        details: dict[str, Json] = {
            "left_share": result.share,
            "right_share": result.backward_share,
            "left_bins": result.bins,
            "right_bins": result.backward_bins,
            "left": [_group(one) for one in result.forward],
            "right": [_group(one) for one in result.backward],
        }
        return common.agreement(min(result.share, result.backward_share), details)


class KappaComparison:
    """Kappa under the best one-to-one mapping of groups.

    `mapping` is `greedy`, `hungarian` or `optimal`; with a random mapping a snapshot would not
    agree with itself.
    """

    def __init__(self, *, mapping: Literal["greedy", "hungarian", "optimal"] = "greedy") -> None:
        if mapping not in ("greedy", "hungarian", "optimal"):
            raise ValueError(f"mapping={mapping!r} should be greedy, hungarian or optimal")
        self.mapping: Literal["greedy", "hungarian", "optimal"] = mapping

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return kappa, and the pairs of left and right groups."""
        common = _common(left, right)
        table = common.table
        kappa = kappa_of_table(table, mapping=self.mapping)
        details: dict[str, Json] = {
            "mapping": self.mapping,
            "observed": kappa.th1,
            "chance": kappa.th2,
            "pairs": [
                [_number(table.left_labels[row]), _number(table.right_labels[column])]
                for row, column in kappa.pairs
            ],
        }
        return common.agreement(kappa.value, details)


class MantelComparison:
    """Mantel's test; the value is (Z - E) / (Z_max - E), 0 by chance and 1 at best.

    It is also 1 if one side only splits the groups of the other; `details["ari"]` is not.
    """

    def __init__(self, *, permutations: int = 999, seed: int | None = 0) -> None:
        if permutations < 0:
            raise ValueError(f"permutations={permutations} should be >= 0")
        self.permutations = permutations
        self.seed = seed

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return the normalised Z, and the test."""
        common = _common(left, right)
        result = mantel_of_table(common.table, self.permutations, self.seed)
        return common.agreement(result.normalised, asdict(result))


@hookimpl
def register_comparisons() -> Mapping[str, Callable[..., Comparison]]:
    return {
        "similarity-links": SimilarityLinks,
        "entropy-links": EntropyLinks,
        "coverage": CoverageComparison,
        "kappa": KappaComparison,
        "mantel": MantelComparison,
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Common:
    """The units that both sides label: their places on each side, and their labels there."""

    left_rows: NDArray[np.int64]
    right_rows: NDArray[np.int64]
    left_labels: NDArray[np.int64]
    right_labels: NDArray[np.int64]
    n_left: int
    n_right: int
    table: Contingency

    def agreement(self, value: float, details: Mapping[str, Json]) -> Agreement:
        """Return the value with the counts; if no unit can be compared, 1 or 0 instead of it."""
        n = len(self.left_rows)
        counts: dict[str, Json] = {
            "units": n,
            "left_units": self.n_left,
            "right_units": self.n_right,
            "left_groups": self.table.shape[0],
            "right_groups": self.table.shape[1],
        }
        nothing = float(self.n_left == self.n_right == 0)
        return Agreement(value if n else nothing, {**counts, **details})


def _common(left: Snapshot, right: Snapshot) -> _Common:
    left_places, right_places = (np.flatnonzero(side.labels >= 0) for side in (left, right))
    for side, places in ((left, left_places), (right, right_places)):
        if len(np.unique(side.units[places])) < len(places):
            raise ValueError(f"snapshot {side.name!r}: a unit should occur in it once")
    _, in_left, in_right = np.intersect1d(
        left.units[left_places],
        right.units[right_places],
        assume_unique=True,
        return_indices=True,
    )
    left_rows, right_rows = left_places[in_left], right_places[in_right]
    left_labels, right_labels = left.labels[left_rows], right.labels[right_rows]
    return _Common(
        left_rows=left_rows,
        right_rows=right_rows,
        left_labels=left_labels,
        right_labels=right_labels,
        n_left=len(left_places),
        n_right=len(right_places),
        table=contingency(left_labels, right_labels),
    )


def _both_profiles(
    left: Snapshot, right: Snapshot, common: _Common, count: Count
) -> tuple[Profiles[int], Profiles[int], str]:
    """Return the words of left and right groups, and the origin of their weights."""
    domains = _profiles(left, common.left_rows, common.left_labels, count)
    clusters = _profiles(right, common.right_rows, common.right_labels, count)
    stored_domains, stored_clusters = (
        _stored_weights(left, domains),
        _stored_weights(right, clusters),
    )
    if stored_domains is None or stored_clusters is None:
        return domains, clusters, "rows"
    return stored_domains, stored_clusters, "groups"


def _profiles(
    side: Snapshot, places: NDArray[np.int64], labels: NDArray[np.int64], count: Count
) -> Profiles[int]:
    """Return the occurrences of words in the groups, and their mean per unit as weight."""
    groups, members = np.unique(labels, return_inverse=True)
    rows = csr_array(side.rows)[places].astype(np.float64)
    if count == "units":
        rows = (rows > 0).astype(np.float64)
    n = len(places)
    gather = csr_array((np.ones(n), (members, np.arange(n))), shape=(len(groups), n))
    occurrences = csr_array(gather @ rows)
    occurrences.eliminate_zeros()
    weights = occurrences.copy()
    weights.data /= np.repeat(np.bincount(members), np.diff(occurrences.indptr))
    return Profiles(tuple(groups.tolist()), tuple(side.words), weights, occurrences)


def _stored_weights(side: Snapshot, built: Profiles[int]) -> Profiles[int] | None:
    """Return the groups with the weights of the snapshot, or None if a group has none.

    Words without such a weight, or that occur in no compared unit, are left out.
    """
    number = {word: column for column, word in enumerate(built.words)}
    rows, columns, values = [], [], []
    for row, uid in enumerate(built.ids):
        for word, weight in side.groups.get(uid, {}).items():
            if word in number and weight > 0:
                rows.append(row)
                columns.append(number[word])
                values.append(weight)
    shape = built.occurrences.shape
    stored = csr_array((np.array(values, dtype=np.float64), (rows, columns)), shape=shape)
    seen = (built.occurrences > 0).astype(np.float64)
    weights: Rows = csr_array(stored * seen)
    occurrences: Rows = csr_array(built.occurrences * (weights > 0).astype(np.float64))
    with_words, with_weights = np.diff(built.occurrences.indptr) > 0, np.diff(weights.indptr) > 0
    if not with_weights[with_words].all():
        return None
    return Profiles(built.ids, built.words, weights, occurrences)


def _linked(
    common: _Common,
    links: Links[int, int],
    scores: Mapping[int, float],
    clusters: Profiles[int],
    details: Mapping[str, Json],
) -> Agreement:
    """Return the agreement of these links.

    Right groups without words cannot be linked and do not count.
    """
    with_words = np.diff(clusters.occurrences.indptr) > 0
    sizes = common.table.right_sizes * with_words
    values = np.array([scores[cluster] for cluster in clusters.ids])
    total = int(sizes.sum())
    value = float(sizes @ values) / total if total else float(common.table.same_partition)
    partner = np.array(
        [_label_or_minus_1(links.links[label]) for label in clusters.ids], dtype=np.int64
    )
    members = np.searchsorted(np.array(clusters.ids, dtype=np.int64), common.right_labels)
    in_links = int(np.count_nonzero(partner[members] == common.left_labels)) if total else 0
    more: dict[str, Json] = {
        "wordless_groups": int(np.count_nonzero(~with_words)),
        "unlinked": links.unlinked,
        "units_in_links": in_links,
        "links": {str(cluster): domain for cluster, domain in links.links.items()},
        "scores": {
            str(cluster): score if math.isfinite(score) else None
            for cluster, score in links.scores.items()
        },
        "table": {str(size): domains for size, domains in links.table.items()},
    }
    return common.agreement(value, {**details, **more})


def _label_or_minus_1(label: int | None) -> int:
    """Return the label of a group, or -1, which no compared unit has, for None."""
    return -1 if label is None else label


def _group(one: ClassCoverage) -> dict[str, Json]:
    return {
        "group": _number(one.label),
        "units": one.size,
        "partner": _number(one.partner),
        "shared": one.shared,
        "coverage": one.coverage,
        "jaccard": one.jaccard,
    }


def _number(label: object) -> int:
    if not isinstance(label, int):
        raise TypeError(f"group {label!r} should be a whole number")
    return label


def _checked_count(count: Count) -> Count:
    if count not in ("units", "tokens"):
        raise ValueError(f"count={count!r} should be units or tokens")
    return count
