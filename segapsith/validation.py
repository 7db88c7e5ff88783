"""Are the domains real? The stable ones against a clustering recomputed from the same units.

The recomputed clustering is given word counts and a number of clusters, nothing else: neither
domains, nor a start or an order that comes from them (algorithms §4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith import compare, metrics
from segapsith.arrays import Labels, Rows

__all__ = ["LearnedUnits", "Selection", "select", "validate"]

LINK_THRESHOLD = 0.25
PERMUTATIONS = 999


@dataclass(frozen=True, slots=True)
class LearnedUnits:
    """Units with their domains: counts and weights by word, rows in the order of `units`."""

    units: NDArray[np.int64]
    domains: NDArray[np.int64]
    counts: Rows
    weights: Rows
    words: list[str]


@dataclass(frozen=True, slots=True)
class Selection:
    """The units of the stable domains, by the words that carry these domains."""

    learned: LearnedUnits
    n_kept_units: int
    """Units of all domains, for the share."""
    n_dropped: int
    """Units of stable domains that have none of the words."""

    @property
    def n_domains(self) -> int:
        return len(np.unique(self.learned.domains))


def select(learned: LearnedUnits, min_units: int = 15, min_weight: float = 0.03) -> Selection:
    """Domains from `min_units` units on, and the words that weigh at least `min_weight` in one."""
    labels, sizes = np.unique(learned.domains, return_counts=True)
    stable = labels[sizes >= min_units]
    inside = np.flatnonzero(np.isin(learned.domains, stable))
    part = _rows(learned, inside, np.arange(len(learned.words)))
    heavy = np.zeros(len(learned.words), dtype=np.bool_)
    if len(inside):
        means, _ = _profile(part, part.domains)
        heavy = np.asarray((means >= min_weight).sum(axis=0)).ravel() > 0
    chosen = _rows(part, np.arange(len(inside)), np.flatnonzero(heavy))
    filled = np.flatnonzero(np.diff(chosen.counts.indptr))
    kept = _rows(chosen, filled, np.arange(len(chosen.words)))
    return Selection(kept, len(learned.units), len(inside) - len(filled))


def validate(
    selection: Selection,
    cluster: Callable[[Rows], Labels],
    seed: int = 0,
) -> dict[str, Any]:
    """The comparison in the shape of the contract; null where there is nothing to compare."""
    learned = selection.learned
    share = len(learned.units) / selection.n_kept_units if selection.n_kept_units else 0.0
    head = {
        "units": len(learned.units),
        "share": round(share, 6),
        "dropped": selection.n_dropped,
        "domains": selection.n_domains,
        "words": len(learned.words),
    }
    if selection.n_domains == 0:
        return {
            **head,
            "clusters": 0,
            "links": {"similarity": {}, "entropy": {}},
            "coverage": {},
            "kappa": dict.fromkeys(("greedy", "hungarian", "optimal", "random")),
            "mantel": None,
            "ari": None,
            "nmi": None,
        }
    labels = cluster(learned.counts)
    domains = learned.domains.tolist()
    clusters = labels.tolist()
    covered = compare.coverage(domains, clusters)
    found = compare.mantel(domains, clusters, permutations=PERMUTATIONS, seed=seed)
    names = ("z", "expected", "sd", "z_max", "p", "permutations", "z_score", "normalised")
    return {
        **head,
        "clusters": len(np.unique(labels)),
        "links": _links(learned, labels),
        "coverage": {
            "bins": covered.bins,
            "share": covered.share,
            "reverse_bins": covered.backward_bins,
            "reverse_share": covered.backward_share,
            "domains": [_plain(asdict(one)) for one in covered.forward],
        },
        "kappa": {
            mapping: compare.kappa(domains, clusters, mapping, seed)
            for mapping in ("greedy", "hungarian", "optimal", "random")
        },
        "mantel": {name: getattr(found, name) for name in names},
        "ari": metrics.ari(clusters, domains),
        "nmi": metrics.nmi(clusters, domains),
    }


def _links(learned: LearnedUnits, labels: Labels) -> dict[str, Any]:
    """Clusters linked to domains by their words, by similarity and by entropy."""
    domains = _groups(learned, learned.domains)
    clusters = _groups(learned, labels)
    by_similarity = compare.link_by_similarity(clusters, domains, threshold=LINK_THRESHOLD)
    by_entropy = compare.link_by_entropy(clusters, domains)
    return {
        "similarity": _linked(by_similarity),
        "entropy": _linked(by_entropy),
        "shared": {str(c): d for c, d in compare.shared_links(by_similarity, by_entropy).items()},
    }


def _linked(links: compare.Links[int, int]) -> dict[str, Any]:
    return {
        "links": {str(cluster): domain for cluster, domain in links.links.items()},
        "table": {str(m): count for m, count in sorted(links.table.items())},
        "unlinked": links.unlinked,
    }


def _groups(learned: LearnedUnits, labels: NDArray[np.int64]) -> compare.Profiles[int]:
    """Groups of units as weighted words, by the formula of the domains."""
    weights, occurrences = _profile(learned, labels)
    ids = tuple(int(label) for label in np.unique(labels[labels >= 0]))
    return compare.Profiles(ids, tuple(map(str, range(len(learned.words)))), weights, occurrences)


def _profile(learned: LearnedUnits, labels: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Mean weight and number of units of each word, one row a group in ascending order."""
    inside = np.flatnonzero(labels >= 0)
    groups, place = np.unique(labels[inside], return_inverse=True)
    gather = csr_array((np.ones(len(inside)), (place, inside)), shape=(len(groups), len(labels)))
    sizes = np.asarray(gather.sum(axis=1)).ravel()
    present = learned.counts.copy()
    present.data = np.ones(len(present.data))
    means = csr_array(gather @ learned.weights)
    means.data = means.data / np.repeat(sizes, np.diff(means.indptr))
    return means, csr_array(gather @ present)


def _rows(learned: LearnedUnits, rows: NDArray[np.int64], words: NDArray[np.int64]) -> LearnedUnits:
    return LearnedUnits(
        learned.units[rows],
        learned.domains[rows],
        csr_array(learned.counts[rows][:, words]),
        csr_array(learned.weights[rows][:, words]),
        [learned.words[i] for i in words.tolist()],
    )


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
    }
