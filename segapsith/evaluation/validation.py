"""Are the domains real? The stable ones against a clustering recomputed from the same units.

The recomputed clustering is given word counts and a number of clusters, nothing else: neither
domains, nor a start or an order that comes from them (algorithms §4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Rows
from segapsith.domains.reassignment import ReassignSettings, reassign
from segapsith.domains.replay import empty_index, place_units
from segapsith.domains.splitting import SplitSettings, split_broad
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.evaluation import compare, metrics
from segapsith.evaluation.contingency import Contingency, LabelSequence, contingency
from segapsith.lexicon.weighting import SCALE

__all__ = [
    "LearnedUnits",
    "Selection",
    "agreement",
    "brief",
    "curve",
    "groups",
    "recomputed",
    "select",
    "validate",
]

LINK_THRESHOLD = 0.25
"""Similarity above which a cluster is linked to a domain (published)."""

PERMUTATIONS = 999
WORD_CUT = 0.03
"""Weight above which a word speaks for a domain, on the scale of the default preset."""

TREE_MOST = 600
"""Classes up to which trees are grown; beyond, their test would cost more than all the rest."""

LAW_BARS = 24
"""Bars in which the drawn values of Mantel's Z are kept."""


@dataclass(frozen=True, slots=True)
class LearnedUnits:
    """Units with their domains: counts and weights by word, rows in the order of `units`.

    With `significance`, a word weighs in a group (units that have it / units) x significance, the
    published formula; without, the mean of its weights in the units.
    """

    units: NDArray[np.int64]
    domains: NDArray[np.int64]
    counts: Rows
    weights: Rows
    words: list[str]
    significance: NDArray[np.float64] | None = None

    def bags(self) -> list[Bag]:
        """The units with the weights that they got when they were read."""
        weights = np.rint(self.weights.data * SCALE).astype(np.int32)
        counts, words = self.counts.data.astype(np.int32), self.counts.indices.astype(np.int32)
        return [
            Bag(words[a:b], counts[a:b], weights[a:b])
            for a, b in pairwise(self.counts.indptr.tolist())
        ]


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

    @property
    def share(self) -> float:
        """Of all units, those in stable domains: what kappa speaks about."""
        return len(self.learned.units) / self.n_kept_units if self.n_kept_units else 0.0


def select(learned: LearnedUnits, min_units: int = 15, word_cut: float = WORD_CUT) -> Selection:
    """Domains from `min_units` units on, and the words that weigh more than `word_cut` in one."""
    labels, sizes = np.unique(learned.domains, return_counts=True)
    stable = labels[sizes >= min_units]
    inside = np.flatnonzero(np.isin(learned.domains, stable))
    part = _rows(learned, inside, np.arange(len(learned.words)))
    heavy = np.zeros(len(learned.words), dtype=np.bool_)
    if len(inside):
        means, _ = _profile(part, part.domains)
        heavy = np.asarray((means > word_cut).sum(axis=0)).ravel() > 0
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
    return recomputed(selection, cluster, seed)[0]


def recomputed(
    selection: Selection, cluster: Callable[[Rows], Labels], seed: int = 0
) -> tuple[dict[str, Any], Labels]:
    """The comparison, and the recomputed clusters that it was made with."""
    learned = selection.learned
    head = {
        "units": len(learned.units),
        "share": round(selection.share, 6),
        "dropped": selection.n_dropped,
        "domains": selection.n_domains,
        "words": len(learned.words),
    }
    if selection.n_domains == 0:
        return {
            **head,
            "clusters": 0,
            "cluster_words": {},
            "links": {"similarity": {}, "entropy": {}, "shared": {}, "domains": []},
            **agreement([], []),
        }, np.zeros(0, dtype=np.int64)
    labels = cluster(learned.counts)
    return {
        **head,
        "clusters": len(np.unique(labels)),
        "cluster_words": _first_words(learned, labels),
        "links": links(learned, learned.domains, labels),
        **agreement(learned.domains, labels, seed),
        "tree": _trees(learned, labels, seed),
    }, labels


def agreement(left: LabelSequence, right: LabelSequence, seed: int = 0) -> dict[str, Any]:
    """Every number on two labellings of the same units, from the table in which they meet.

    Null where there are no units. `vi` is the normalised variation of information.
    """
    table = contingency(left, right)
    if not table.n:
        return {
            "coverage": {},
            "kappa": dict.fromkeys(("greedy", "hungarian", "optimal", "random")),
            "kappa_interval": None,
            "mantel": None,
            "ari": None,
            "nmi": None,
            "vi": None,
            "table": None,
        }
    covered = compare.coverage_of_table(table)
    interval = compare.kappa_interval_of_table(table, seed=seed)
    return {
        "coverage": {
            "bins": covered.bins,
            "share": covered.share,
            "reverse_bins": covered.backward_bins,
            "reverse_share": covered.backward_share,
            "domains": [_plain(asdict(one)) for one in covered.forward],
            "clusters": [_plain(asdict(one)) for one in covered.backward],
        },
        "kappa": {
            mapping: compare.kappa_of_table(table, mapping, seed).value
            for mapping in ("greedy", "hungarian", "optimal", "random")
        },
        "kappa_interval": {"low": interval.low, "high": interval.high, "level": 0.95},
        "mantel": _mantel(table, seed),
        "ari": metrics.ari(right, left),
        "nmi": metrics.nmi(right, left),
        "vi": metrics.variation_of_information(right, left),
        "table": {
            "domains": _named(table.left_labels),
            "clusters": _named(table.right_labels),
            "cells": np.column_stack([table.left, table.right, table.counts]).tolist(),
        },
    }


def brief(result: Mapping[str, Any]) -> dict[str, Any]:
    """The few numbers of a validation that a series or a curve is drawn from."""
    interval = result.get("kappa_interval") or {}
    return {
        **{name: result.get(name) for name in ("units", "share", "domains", "clusters")},
        "kappa": result["kappa"]["greedy"],
        "kappa_low": interval.get("low"),
        "kappa_high": interval.get("high"),
        "kappa_optimal": result["kappa"]["optimal"],
        "ari": result["ari"],
        "nmi": result["nmi"],
        "vi": result.get("vi"),
        "mantel_p": (result["mantel"] or {}).get("p"),
    }


def groups(learned: LearnedUnits, labels: NDArray[np.int64]) -> compare.Profiles[int]:
    """Groups of units as weighted words, by the formula of the domains."""
    weights, occurrences = _profile(learned, labels)
    ids = tuple(int(label) for label in np.unique(labels[labels >= 0]))
    return compare.Profiles(ids, tuple(map(str, range(len(learned.words)))), weights, occurrences)


def links(
    learned: LearnedUnits, left: NDArray[np.int64], right: NDArray[np.int64]
) -> dict[str, Any]:
    """Right groups linked to left groups by their words, by similarity and by entropy."""
    domains, clusters = groups(learned, left), groups(learned, right)
    by_similarity = compare.link_by_similarity(clusters, domains, threshold=LINK_THRESHOLD)
    by_entropy = compare.link_by_entropy(clusters, domains)
    shared = compare.shared_links(by_similarity, by_entropy)
    of_domain: dict[int, dict[str, list[int]]] = {
        number: {"similarity": [], "entropy": [], "shared": []} for number in domains.ids
    }
    for method, found in (
        ("similarity", by_similarity.links),
        ("entropy", by_entropy.links),
        ("shared", shared),
    ):
        for cluster, domain in found.items():
            if domain is not None:
                of_domain[domain][method].append(cluster)
    return {
        "similarity": _linked(by_similarity),
        "entropy": _linked(by_entropy),
        "shared": {str(cluster): domain for cluster, domain in shared.items()},
        "domains": [{"domain": number, **found} for number, found in of_domain.items()],
    }


def _mantel(table: Contingency, seed: int) -> dict[str, Any]:
    found = compare.mantel_of_table(table, permutations=PERMUTATIONS, seed=seed)
    names = ("z", "expected", "sd", "z_max", "p", "permutations", "z_score", "normalised", "r")
    drawn = compare.mantel_law(table, PERMUTATIONS, seed)
    counts, edges = np.histogram(drawn, bins=LAW_BARS)
    return {
        **{name: getattr(found, name) for name in names},
        "law": {"low": float(edges[0]), "high": float(edges[-1]), "counts": counts.tolist()},
    }


def _trees(learned: LearnedUnits, labels: Labels, seed: int) -> dict[str, Any] | None:
    """Mantel's test on the trees of domains and of clusters; null where one side has no tree."""
    inside = np.flatnonzero(labels >= 0)
    table = contingency(learned.domains[inside], labels[inside])
    if min(table.shape) < 3 or max(table.shape) > TREE_MOST:
        return None
    left, right = (
        compare.grown(compare.similarities(side, side)).distances
        for side in (groups(learned, learned.domains), groups(learned, labels))
    )
    return asdict(compare.mantel_of_trees(table, left, right, PERMUTATIONS, seed))


def _first_words(learned: LearnedUnits, labels: Labels, most: int = 5) -> dict[str, list[str]]:
    """The heaviest words of each cluster."""
    found = groups(learned, labels)
    named = {}
    for row, number in enumerate(found.ids):
        start, end = found.weights.indptr[row], found.weights.indptr[row + 1]
        words, weights = found.weights.indices[start:end], found.weights.data[start:end]
        best = words[np.lexsort((words, -weights))[:most]]
        named[str(number)] = [learned.words[int(word)] for word in best]
    return named


def _linked(links: compare.Links[int, int]) -> dict[str, Any]:
    return {
        "links": {str(cluster): domain for cluster, domain in links.links.items()},
        "table": {str(m): count for m, count in sorted(links.table.items())},
        "unlinked": links.unlinked,
    }


def _profile(learned: LearnedUnits, labels: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Weight and number of units of each word, one row a group in ascending order."""
    inside = np.flatnonzero(labels >= 0)
    numbers, place = np.unique(labels[inside], return_inverse=True)
    gather = csr_array((np.ones(len(inside)), (place, inside)), shape=(len(numbers), len(labels)))
    sizes = np.asarray(gather.sum(axis=1)).ravel()
    present = learned.counts.copy()
    present.data = np.ones(len(present.data))
    occurrences = csr_array(gather @ present)
    if learned.significance is None:
        means = csr_array(gather @ learned.weights)
    else:
        means = occurrences.copy()
        means.data = means.data * learned.significance[means.indices]
    means.data = means.data / np.repeat(sizes, np.diff(means.indptr))
    return means, occurrences


def _rows(learned: LearnedUnits, rows: NDArray[np.int64], words: NDArray[np.int64]) -> LearnedUnits:
    return LearnedUnits(
        learned.units[rows],
        learned.domains[rows],
        csr_array(learned.counts[rows][:, words]),
        csr_array(learned.weights[rows][:, words]),
        [learned.words[i] for i in words.tolist()],
        None if learned.significance is None else learned.significance[words],
    )


def _named(labels: Sequence[Any]) -> list[Any]:
    return [label if isinstance(label, int | str) else str(label) for label in labels]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
    }


def curve(
    learned: LearnedUnits,
    settings: PlacementSettings,
    thresholds: Iterable[float],
    cluster: Callable[[Rows, int], Labels],
    *,
    min_units: int,
    word_cut: float,
    seed: int = 0,
    splitting: SplitSettings | None = None,
    adopting: ReassignSettings | None = None,
    watch: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Kappa against the share of units in stable domains, for each learning threshold.

    `cluster` takes rows and a number of clusters, that of the stable domains. With `splitting` and
    `adopting`, broad domains are split and units adopted, once, as a night would do it.
    """
    bags = learned.bags()
    points = []
    for threshold in thresholds:
        if watch is not None:
            watch(threshold)
        index = empty_index(replace(settings, threshold=threshold), learned.significance)
        labels = place_units(index, bags).domains
        if splitting is not None:
            split_broad(index, bags, labels, splitting)
        if adopting is not None:
            homes = dict(enumerate(labels.tolist()))
            for row, place in reassign(index, dict(enumerate(bags)), homes, adopting).items():
                assert place.domain is not None  # it moves to a domain
                labels[row] = place.domain
        selection = select(replace(learned, domains=labels), min_units, word_cut)
        found = validate(selection, _into(cluster, selection.n_domains), seed)
        points.append(
            {"threshold": threshold, "all_domains": len(np.unique(labels)), **brief(found)}
        )
    return points


def _into(cluster: Callable[[Rows, int], Labels], k: int) -> Callable[[Rows], Labels]:
    return lambda rows: cluster(rows, k)
