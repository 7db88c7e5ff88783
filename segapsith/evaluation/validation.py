"""Validation: the stable domains against a clustering recomputed from the same units.

The recomputed clustering gets word counts and a number of clusters, and nothing else: no domains,
and no start or order that comes from them. Agreement is measured by links, coverage, kappa and
Mantel's test; see docs/concepts/formulas.md, "Comparing partitions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Matrix
from segapsith.domains.reassignment import ReassignSettings, reassign
from segapsith.domains.replay import empty_index, place_units
from segapsith.domains.splitting import SplitSettings, split_broad
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.evaluation import compare, metrics
from segapsith.evaluation.contingency import Contingency, LabelSequence, contingency
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Result

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "NEARLY_THE_SAME",
    "ClusterCountPoint",
    "CoverageSummary",
    "CurvePoint",
    "CurveSettings",
    "DomainLinks",
    "Empty",
    "KappaInterval",
    "KappaValues",
    "Label",
    "LearnedUnits",
    "LinkSummary",
    "Links",
    "MantelSummary",
    "PartitionAgreement",
    "Selection",
    "TableCells",
    "ValidationFigures",
    "ValidationSummary",
    "agreement",
    "closeness",
    "compare_with",
    "curve",
    "curve_point",
    "group_profiles",
    "links",
    "select",
    "summarize",
    "validate",
    "validate_with_labels",
]

Label = int | str
"""The name of a group: a number, or the label of a file."""

NEARLY_THE_SAME = 0.9
"""Rank correlation from which two measures count as nearly the same."""

LINK_THRESHOLD = 0.25
"""Similarity above which a cluster is linked to a domain (published)."""

PERMUTATIONS = 999
"""Number of random tables that are drawn for Mantel's test."""

WORD_CUT = 0.03
"""Weight above which a word characterises a domain, on the scale of the default preset."""

MAX_TREE_CLASSES = 600
"""Number of classes up to which trees are compared.

Above it, their test would cost more than everything else."""

N_LAW_BARS = 24
"""Number of bars of the histogram of the drawn values of Mantel's Z."""

KAPPA_LEVEL = 0.95
"""Level of the confidence interval of kappa."""


@dataclass(frozen=True, slots=True)
class LearnedUnits:
    """Units with their domains, and counts and weights by word; rows are in the order of `units`.

    With `significance`, the weight of a word in a group is (units that contain it / units) x
    significance, the published formula; without, the mean of its weights in the units.
    """

    units: NDArray[np.int64]
    domains: NDArray[np.int64]
    counts: Rows
    weights: Rows
    words: list[str]
    significance: NDArray[np.float64] | None = None
    stories: list[int] | None = None
    """Ordinal of the story of each unit, if it is known."""

    def bags(self) -> list[Bag]:
        """Return the units with the weights that they got when they were read."""
        weights = np.rint(self.weights.data * SCALE).astype(np.int32)
        counts, words = self.counts.data.astype(np.int32), self.counts.indices.astype(np.int32)
        return [
            Bag(words[a:b], counts[a:b], weights[a:b])
            for a, b in pairwise(self.counts.indptr.tolist())
        ]


@dataclass(frozen=True, slots=True)
class Selection:
    """The units of the stable domains, with the words that characterise these domains."""

    learned: LearnedUnits
    n_all_units: int
    """Number of units of all domains."""
    n_dropped: int
    """Number of units of stable domains that contain none of the words."""

    @property
    def n_domains(self) -> int:
        """The number of stable domains."""
        return len(np.unique(self.learned.domains))

    @property
    def share(self) -> float:
        """The share of all units that the validation covers."""
        return len(self.learned.units) / self.n_all_units if self.n_all_units else 0.0


def closeness(left: Matrix, right: Matrix) -> float | None:
    """Return the rank correlation of two similarities over the pairs of different rows.

    Pairs that both call 0 are left out, because any two measures agree on units without a common
    word. None if fewer than three pairs remain, or if one measure is constant.

    >>> ranks = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.6], [0.4, 0.6, 1.0]])
    >>> closeness(ranks, ranks**2)
    1.0
    """
    from scipy.stats import spearmanr

    pairs = np.triu_indices(len(left), 1)
    a, b = left[pairs], right[pairs]
    either = (a != 0) | (b != 0)
    a, b = a[either], b[either]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return round(float(spearmanr(a, b).statistic), 6)


def select(learned: LearnedUnits, min_units: int = 15, word_cut: float = WORD_CUT) -> Selection:
    """Select domains of at least `min_units` units, and words above `word_cut` in one of them."""
    labels, sizes = np.unique(learned.domains, return_counts=True)
    stable = labels[sizes >= min_units]
    inside = np.flatnonzero(np.isin(learned.domains, stable))
    part = _rows(learned, inside, np.arange(len(learned.words)))
    heavy = np.zeros(len(learned.words), dtype=np.bool_)
    if len(inside):
        means, _ = _profile(part, part.domains)
        heavy = np.asarray((means > word_cut).sum(axis=0)).ravel() > 0
    reduced = _rows(part, np.arange(len(inside)), np.flatnonzero(heavy))
    filled = np.flatnonzero(np.diff(reduced.counts.indptr))
    selected = _rows(reduced, filled, np.arange(len(reduced.words)))
    return Selection(selected, len(learned.units), len(inside) - len(filled))


@dataclass(frozen=True, slots=True)
class Empty(Result):
    """A part of a result that has no entries; its JSON form is `{}`."""


@dataclass(frozen=True, slots=True)
class CoverageSummary(Result):
    """Coverage of domains by clusters, and of clusters by domains (`reverse_`)."""

    bins: Mapping[str, int]
    share: float
    reverse_bins: Mapping[str, int]
    reverse_share: float
    domains: tuple[compare.ClassCoverage, ...]
    clusters: tuple[compare.ClassCoverage, ...]


@dataclass(frozen=True, slots=True)
class KappaValues(Result):
    """Kappa by the mapping of classes; None without units."""

    greedy: float | None = None
    hungarian: float | None = None
    optimal: float | None = None
    random: float | None = None


@dataclass(frozen=True, slots=True)
class KappaInterval(Result):
    """The confidence interval of kappa with the greedy mapping."""

    low: float
    high: float
    level: float = KAPPA_LEVEL


@dataclass(frozen=True, slots=True)
class Histogram(Result):
    """Counts in bars of equal width between two values."""

    low: float
    high: float
    counts: list[int]


@dataclass(frozen=True, slots=True)
class MantelSummary(Result):
    """Mantel's test of two partitions, with a histogram of the drawn values."""

    z: int
    expected: float
    sd: float
    z_max: int
    p: float
    permutations: int
    z_score: float
    normalised: float
    r: float
    law: Histogram


@dataclass(frozen=True, slots=True)
class TableCells(Result):
    """The contingency table: labels of both sides, and cells as (row, column, units)."""

    domains: list[Label]
    clusters: list[Label]
    cells: list[list[int]]


def _own_first(names: list[str], shared: type[Result]) -> list[str]:
    """Return names with those of a base class, which has the shared fields, at the end."""
    common = {f.name for f in fields(shared)}  # type: ignore[arg-type]  # results are dataclasses
    return sorted(names, key=common.__contains__)


@dataclass(frozen=True, slots=True)
class PartitionAgreement(Result):
    """The agreement of two labellings of the same units; None where there are no units."""

    coverage: CoverageSummary | Empty
    kappa: KappaValues
    kappa_interval: KappaInterval | None
    mantel: MantelSummary | None
    ari: float | None
    nmi: float | None
    vi: float | None
    """Normalised variation of information."""
    table: TableCells | None

    def keys(self) -> list[str]:
        """Return the names of the fields, those of a subclass first."""
        return _own_first(Result.keys(self), PartitionAgreement)


@dataclass(frozen=True, slots=True)
class LinkSummary(Result):
    """The links of one method: cluster to domain, a table of frequencies, unlinked clusters."""

    links: Mapping[str, Label | None]
    table: Mapping[str, int]
    """Number of linked clusters to the number of domains that have as many."""
    unlinked: int


@dataclass(frozen=True, slots=True)
class DomainLinks(Result):
    """The clusters that are linked to one domain, by method."""

    domain: Label
    similarity: list[Label]
    entropy: list[Label]
    shared: list[Label]


@dataclass(frozen=True, slots=True)
class Links(Result):
    """Links from clusters to domains by their words: by similarity, by entropy, and by both."""

    similarity: LinkSummary | Empty
    entropy: LinkSummary | Empty
    shared: Mapping[str, Label]
    domains: list[DomainLinks]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationFigures(PartitionAgreement):
    """A validation: the compared units, links by words, and the agreement of both partitions."""

    units: int
    share: float
    """Units of stable domains as a share of all units."""
    dropped: int
    """Units of stable domains that have none of the words that are compared."""
    domains: int
    words: int
    clusters: int
    cluster_words: Mapping[str, list[str]]
    """Cluster to its heaviest words."""
    links: Links
    tree: compare.TreeMantel | None
    """Mantel's test of the trees of both sides; None where one side has no tree."""


@dataclass(frozen=True, slots=True)
class ValidationSummary(Result):
    """The main figures of a validation; those that an older release did not store are None."""

    units: int | None
    share: float | None
    domains: int | None
    clusters: int | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None
    kappa_optimal: float | None
    ari: float | None
    nmi: float | None
    vi: float | None
    mantel_p: float | None

    def keys(self) -> list[str]:
        """Return the names of the fields, those of a subclass first."""
        return _own_first(Result.keys(self), ValidationSummary)


@dataclass(frozen=True, slots=True)
class CurveSettings:
    """Settings of the validations of a curve."""

    min_units: int
    """Least number of units of a stable domain."""
    word_cut: float
    """Weight above which a word characterises a domain."""
    seed: int = 0
    splitting: SplitSettings | None = None
    """Split broad domains once, as in a nightly run."""
    reassigning: ReassignSettings | None = None
    """Reassign units once, as in a nightly run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint(ValidationSummary):
    """The validation of the domains that a threshold gives."""

    threshold: float
    all_domains: int
    """Number of domains, small ones included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCountPoint(ValidationSummary):
    """The validation with `k` clusters."""

    k: int


def validate(
    selection: Selection, cluster: Callable[[Rows], Labels], seed: int = 0
) -> ValidationFigures:
    """Compare the selected domains with a recomputed clustering."""
    return validate_with_labels(selection, cluster, seed)[0]


def validate_with_labels(
    selection: Selection, cluster: Callable[[Rows], Labels], seed: int = 0
) -> tuple[ValidationFigures, Labels]:
    """Return the comparison, and the recomputed clusters."""
    is_empty = selection.n_domains == 0
    labels = np.zeros(0, dtype=np.int64) if is_empty else cluster(selection.learned.counts)
    return compare_with(selection, labels, seed), labels


def compare_with(selection: Selection, labels: Labels, seed: int = 0) -> ValidationFigures:
    """Compare the selected domains with the labels of a clustering; both may be empty."""
    learned = selection.learned
    is_empty = selection.n_domains == 0
    both = agreement([], []) if is_empty else agreement(learned.domains, labels, seed)
    return ValidationFigures(
        units=len(learned.units),
        share=round(selection.share, 6),
        dropped=selection.n_dropped,
        domains=selection.n_domains,
        words=len(learned.words),
        clusters=len(np.unique(labels)),
        cluster_words={} if is_empty else _first_words(learned, labels),
        links=(
            Links(Empty(), Empty(), {}, []) if is_empty else links(learned, learned.domains, labels)
        ),
        tree=None if is_empty else _trees(learned, labels, seed),
        **both,
    )


def agreement(left: LabelSequence, right: LabelSequence, seed: int = 0) -> PartitionAgreement:
    """Return all measures of agreement of two labellings of the same units."""
    table = contingency(left, right)
    if not table.n:
        return PartitionAgreement(Empty(), KappaValues(), None, None, None, None, None, None)
    covered = compare.coverage_of_table(table)
    interval = compare.kappa_interval_of_table(table, seed=seed, level=KAPPA_LEVEL)
    return PartitionAgreement(
        coverage=CoverageSummary(
            bins=covered.bins,
            share=covered.share,
            reverse_bins=covered.backward_bins,
            reverse_share=covered.backward_share,
            domains=tuple(map(_rounded, covered.forward)),
            clusters=tuple(map(_rounded, covered.backward)),
        ),
        kappa=KappaValues(
            greedy=compare.kappa_of_table(table, "greedy", seed).value,
            hungarian=compare.kappa_of_table(table, "hungarian", seed).value,
            optimal=compare.kappa_of_table(table, "optimal", seed).value,
            random=compare.kappa_of_table(table, "random", seed).value,
        ),
        kappa_interval=KappaInterval(interval.low, interval.high),
        mantel=_mantel(table, seed),
        ari=metrics.ari(right, left),
        nmi=metrics.nmi(right, left),
        vi=metrics.variation_of_information(right, left),
        table=TableCells(
            domains=_plain_labels(table.left_labels),
            clusters=_plain_labels(table.right_labels),
            cells=np.column_stack([table.left, table.right, table.counts]).tolist(),
        ),
    )


def summarize(result: Mapping[str, Any] | ValidationFigures) -> ValidationSummary:
    """Return the main figures of a validation, or of its JSON form."""
    interval = result.get("kappa_interval") or {}
    return ValidationSummary(
        units=result.get("units"),
        share=result.get("share"),
        domains=result.get("domains"),
        clusters=result.get("clusters"),
        kappa=result["kappa"]["greedy"],
        kappa_low=interval.get("low"),
        kappa_high=interval.get("high"),
        kappa_optimal=result["kappa"]["optimal"],
        ari=result["ari"],
        nmi=result["nmi"],
        vi=result.get("vi"),
        mantel_p=(result["mantel"] or {}).get("p"),
    )


def group_profiles(learned: LearnedUnits, labels: NDArray[np.int64]) -> compare.Profiles[int]:
    """Return groups of units as weighted words, by the formula of domain weights."""
    weights, occurrences = _profile(learned, labels)
    ids = tuple(int(label) for label in np.unique(labels[labels >= 0]))
    return compare.Profiles(ids, tuple(map(str, range(len(learned.words)))), weights, occurrences)


def links(learned: LearnedUnits, left: NDArray[np.int64], right: NDArray[np.int64]) -> Links:
    """Link the groups of `right` to those of `left` by their words."""
    domains, clusters = group_profiles(learned, left), group_profiles(learned, right)
    by_similarity = compare.link_by_similarity(clusters, domains, threshold=LINK_THRESHOLD)
    by_entropy = compare.link_by_entropy(clusters, domains)
    shared = compare.shared_links(by_similarity, by_entropy)
    of_domain = {number: DomainLinks(number, [], [], []) for number in domains.ids}
    for cluster, domain in by_similarity.links.items():
        if domain is not None:
            of_domain[domain].similarity.append(cluster)
    for cluster, domain in by_entropy.links.items():
        if domain is not None:
            of_domain[domain].entropy.append(cluster)
    for cluster, domain in shared.items():
        of_domain[domain].shared.append(cluster)
    return Links(
        similarity=_link_summary(by_similarity),
        entropy=_link_summary(by_entropy),
        shared={str(cluster): domain for cluster, domain in shared.items()},
        domains=list(of_domain.values()),
    )


def _link_summary(links: compare.Links[int, int]) -> LinkSummary:
    return LinkSummary(
        links={str(cluster): domain for cluster, domain in links.links.items()},
        table={str(n): count for n, count in sorted(links.table.items())},
        unlinked=links.unlinked,
    )


def _mantel(table: Contingency, seed: int) -> MantelSummary:
    test = compare.mantel_of_table(table, permutations=PERMUTATIONS, seed=seed)
    drawn = compare.mantel_samples(table, PERMUTATIONS, seed)
    counts, edges = np.histogram(drawn, bins=N_LAW_BARS)
    return MantelSummary(
        z=test.z,
        expected=test.expected,
        sd=test.sd,
        z_max=test.z_max,
        p=test.p,
        permutations=test.permutations,
        z_score=test.z_score,
        normalised=test.normalised,
        r=test.r,
        law=Histogram(float(edges[0]), float(edges[-1]), counts.tolist()),
    )


def _trees(learned: LearnedUnits, labels: Labels, seed: int) -> compare.TreeMantel | None:
    """Return Mantel's test of the trees of both sides; None where one side has no tree."""
    inside = np.flatnonzero(labels >= 0)
    table = contingency(learned.domains[inside], labels[inside])
    if min(table.shape) < 3 or max(table.shape) > MAX_TREE_CLASSES:
        return None
    left, right = (
        compare.average_linkage_tree(compare.similarities(side, side)).distances
        for side in (group_profiles(learned, learned.domains), group_profiles(learned, labels))
    )
    return compare.mantel_of_trees(table, left, right, PERMUTATIONS, seed)


def _first_words(learned: LearnedUnits, labels: Labels, most: int = 5) -> dict[str, list[str]]:
    """Return the heaviest words of each cluster."""
    profiles = group_profiles(learned, labels)
    first_words = {}
    for row, number in enumerate(profiles.ids):
        start, end = profiles.weights.indptr[row], profiles.weights.indptr[row + 1]
        words, weights = profiles.weights.indices[start:end], profiles.weights.data[start:end]
        best = words[np.lexsort((words, -weights))[:most]]
        first_words[str(number)] = [learned.words[int(word)] for word in best]
    return first_words


def _profile(learned: LearnedUnits, labels: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """Return weight and number of units of each word, one row per group in ascending order."""
    from scipy.sparse import csr_array  # slow to import

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
    from scipy.sparse import csr_array  # slow to import

    return LearnedUnits(
        learned.units[rows],
        learned.domains[rows],
        csr_array(learned.counts[rows][:, words]),
        csr_array(learned.weights[rows][:, words]),
        [learned.words[i] for i in words.tolist()],
        None if learned.significance is None else learned.significance[words],
    )


def _plain_labels(labels: Sequence[Any]) -> list[Label]:
    return [label if isinstance(label, int | str) else str(label) for label in labels]


def _rounded(one: compare.ClassCoverage) -> compare.ClassCoverage:
    return replace(one, coverage=round(one.coverage, 6), jaccard=round(one.jaccard, 6))


def curve_point(
    learned: LearnedUnits,
    bags: Sequence[Bag],
    settings: PlacementSettings,
    cluster: Callable[[Rows, int], Labels],
    rules: CurveSettings,
) -> CurvePoint:
    """Place the units again with the threshold of the settings, and validate the result.

    `bags` are those of the units. `cluster` gets rows and a number of clusters, that of the stable
    domains.
    """
    index = empty_index(settings, learned.significance)
    labels = place_units(index, bags, learned.stories).domains
    if rules.splitting is not None:
        split_broad(index, bags, labels, rules.splitting)
    if rules.reassigning is not None:
        domain_of = dict(enumerate(labels.tolist()))
        moved = reassign(index, dict(enumerate(bags)), domain_of, rules.reassigning)
        for row, placement in moved.items():
            assert placement.domain is not None  # it moves to a domain
            labels[row] = placement.domain
    selection = select(replace(learned, domains=labels), rules.min_units, rules.word_cut)
    summary = summarize(validate(selection, _into(cluster, selection.n_domains), rules.seed))
    return CurvePoint(threshold=settings.threshold, all_domains=len(np.unique(labels)), **summary)


def curve(
    learned: LearnedUnits,
    settings: PlacementSettings,
    thresholds: Iterable[float],
    cluster: Callable[[Rows, int], Labels],
    rules: CurveSettings,
) -> list[CurvePoint]:
    """Return a validation for each threshold: kappa against the share of units in stable domains."""
    bags = learned.bags()
    return [
        curve_point(learned, bags, replace(settings, threshold=threshold), cluster, rules)
        for threshold in thresholds
    ]


def _into(cluster: Callable[[Rows, int], Labels], k: int) -> Callable[[Rows], Labels]:
    """Return the clustering into `k` clusters."""
    return lambda rows: cluster(rows, k)
