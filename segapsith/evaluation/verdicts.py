"""A verdict on each domain: confirmed, split, merged or missing in the recomputed clustering.

Let n_ab units lie in domain a and cluster b, with the sizes r_a and c_b. A cluster is a domain's
*own* if at least half of it belongs to the domain (n_ab >= c_b / 2). A *tenant* is another domain
that has at least half of its units in the cluster and makes up at least a quarter of it. A domain is

- merged, if at least half of it lies in one cluster that has a tenant or is mostly other domains;
- confirmed, if at least half of it lies in one own cluster, and no second one holds a fifth;
- split, if at least half of it lies in own clusters, and more than one is needed;
- missing, if none of these holds: its units are scattered.

Two more figures describe the domain alone: its stability when random halves of the units are
clustered again, and the coherence of its words. Rules and thresholds are this project's; see
docs/concepts/formulas.md, "Verdicts".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Matrix
from segapsith.evaluation.contingency import Contingency, contingency
from segapsith.evaluation.validation import LearnedUnits, group_profiles
from segapsith.model import Result, optional

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "VERDICTS",
    "ClusterPart",
    "ClusterShare",
    "Verdict",
    "coherence",
    "describe",
    "halves",
    "judge",
    "representatives",
    "stability",
    "stability_in",
]

VERDICTS = ("confirmed", "split", "merged", "missing")

MAJORITY = 0.5
"""Least share that counts as most of a domain or of a cluster."""

MIN_PART_SHARE = 0.2
"""Least share of a domain in a second own cluster for the verdict `split`."""

MIN_TENANT_SHARE = 0.25
"""Least share of a cluster that a tenant makes up."""

MIN_NAMED_SHARE = 0.1
"""Least share of a cluster at which another domain is named in the verdict `merged`."""

MAX_PARTS, MAX_NAMED = 6, 6
"""Number of own clusters, and of other domains, that a verdict names at most."""

N_WORDS = 10
"""Number of words of a domain that are shown and whose coherence is measured."""

N_EXAMPLES = 2
"""Number of example units of a domain."""

LOW_STABILITY = 0.5
"""Mean Jaccard index below which a domain counts as unstable.

Hennig (2007) uses 0.6 to 0.75 for clusters against clusters. It is lower here, against domains that
were learned one unit at a time."""

LOW_COHERENCE = 0.1
"""Coherence below which the words of a domain count as unrelated."""


@dataclass(frozen=True, slots=True)
class ClusterShare(Result):
    """The units that a domain and a cluster share, as shares of both."""

    cluster: int
    units: int
    of_domain: float
    of_cluster: float


@dataclass(frozen=True, slots=True)
class ClusterPart(ClusterShare):
    """A part of a split domain, with the words that are more frequent in it than in the rest."""

    words: list[str]


@dataclass(frozen=True, slots=True)
class Verdict(Result):
    """The verdict on one domain, and the figures that it follows from."""

    domain: int
    verdict: str
    """One of `VERDICTS`."""
    units: int
    words: list[str]
    """The heaviest words of the domain."""
    clusters: list[ClusterShare]
    """The clusters that the verdict follows from."""
    merged_with: list[int]
    """The other domains in the cluster; `with` in the JSON form."""
    stability: float | None
    coherence: float | None
    example_units: list[int]
    told: str = ""
    """The verdict in words, see `describe`."""
    label: str | None = optional()
    """The label of the domain; like the sentences, it is read and not stored."""
    examples: list[str] | None = optional()
    """Sentences of the example units. They are read from the texts, and not stored."""

    def keys(self) -> list[str]:
        """Return the names of the JSON form, in their order."""
        return ["with" if name == "merged_with" else name for name in Result.keys(self)]


# The JSON key is a keyword of Python, so the field has another name.
setattr(Verdict, "with", property(attrgetter("merged_with")))


def judge(
    learned: LearnedUnits, labels: Labels, stabilities: dict[int, float] | None = None
) -> list[Verdict]:
    """Return the verdict on each domain, largest domain first.

    `labels` are the recomputed clusters, `stabilities` the result of `stability`.
    """
    table = contingency(learned.domains, labels)
    profiles = group_profiles(learned, learned.domains)
    heavy = [_heaviest(profiles.weights, row, N_WORDS) for row in range(len(profiles.ids))]
    coherences = coherence(learned.counts, heavy)
    examples = representatives(learned, profiles.weights)
    verdicts = []
    for row, number in enumerate(profiles.ids):
        kind, shares, others = _judge_row(table, row)
        row_coherence = coherences[row]
        if kind == "split":
            shares = [
                ClusterPart(**share, words=_distinct_words(learned, labels, number, share.cluster))
                for share in shares
            ]
        verdict = Verdict(
            domain=number,
            verdict=kind,
            units=int(table.left_sizes[row]),
            words=[learned.words[w] for w in heavy[row].tolist()],
            clusters=shares,
            merged_with=others,
            stability=None if stabilities is None else round(stabilities[number], 6),
            coherence=None if row_coherence is None else round(row_coherence, 6),
            example_units=[int(learned.units[i]) for i in examples[row]],
        )
        verdicts.append(replace(verdict, told=describe(verdict)))
    return sorted(verdicts, key=lambda one: (-one.units, one.domain))


def _judge_row(table: Contingency, row: int) -> tuple[str, list[ClusterShare], list[int]]:
    """Return the verdict on one row of the table, its clusters, and the domains it is merged with."""
    cells = np.flatnonzero(table.left == row)
    size = int(table.left_sizes[row])
    cells = cells[np.lexsort((table.right[cells], -table.counts[cells]))]
    shared, columns = table.counts[cells], table.right[cells]
    of_domain, of_cluster = shared / size, shared / table.right_sizes[columns]
    own = of_cluster >= MAJORITY
    parts = np.flatnonzero(own & (of_domain >= MIN_PART_SHARE))
    mostly_in_one = of_domain[0] >= MAJORITY
    tenants = _tenants(table, row, int(columns[0])) if mostly_in_one else []
    first = np.zeros(1, dtype=np.int64)
    if tenants:
        kind, decisive = "merged", first
    elif len(parts) == 1 and of_domain[parts[0]] >= MAJORITY:
        kind, decisive = "confirmed", parts
    elif float(of_domain[own].sum()) >= MAJORITY:
        kind, decisive = "split", np.flatnonzero(own)[:MAX_PARTS]
    elif mostly_in_one:
        kind, decisive = "merged", first
    else:
        kind, decisive = "missing", np.arange(min(3, len(cells)))
    others = tenants or (_others(table, row, int(columns[0])) if kind == "merged" else [])
    shares = [
        ClusterShare(
            cluster=int(str(table.right_labels[int(columns[i])])),
            units=int(shared[i]),
            of_domain=round(float(of_domain[i]), 6),
            of_cluster=round(float(of_cluster[i]), 6),
        )
        for i in decisive.tolist()
    ]
    return kind, shares, others


def _tenants(table: Contingency, row: int, column: int) -> list[int]:
    """Return the other domains that have most of their units in a cluster and a part in it."""
    inside = np.flatnonzero((table.right == column) & (table.left != row))
    counts = table.counts[inside]
    is_tenant = (counts >= MAJORITY * table.left_sizes[table.left[inside]]) & (
        counts >= MIN_TENANT_SHARE * table.right_sizes[column]
    )
    return _domain_numbers(table, inside[is_tenant])


def _others(table: Contingency, row: int, column: int) -> list[int]:
    """Return the other domains with at least a tenth of a cluster; without any, the largest."""
    inside = np.flatnonzero((table.right == column) & (table.left != row))
    inside = inside[np.lexsort((table.left[inside], -table.counts[inside]))]
    enough = table.counts[inside] * round(1 / MIN_NAMED_SHARE) >= table.right_sizes[column]
    named = inside[enough] if enough.any() else inside[:3]
    return _domain_numbers(table, named[:MAX_NAMED])


def _domain_numbers(table: Contingency, cells: NDArray[np.int64]) -> list[int]:
    return [int(str(table.left_labels[int(table.left[i])])) for i in cells.tolist()]


def describe(verdict: Verdict) -> str:
    """Return a verdict in words.

    >>> describe(Verdict(domain=3, verdict="merged", units=20, words=[],
    ...     clusters=[ClusterShare(cluster=4, units=18, of_domain=0.9, of_cluster=0.3)],
    ...     merged_with=[7, 9], stability=None, coherence=None, example_units=[]))
    '90 % of its units lie in cluster 4, together with domains 7 and 9: one subject, or two that share words'
    """
    notes = []
    if verdict.stability is not None and verdict.stability < LOW_STABILITY:
        notes.append(f"random halves of the units rarely reproduce it ({verdict.stability:.2f})")
    if verdict.coherence is not None and verdict.coherence < LOW_COHERENCE:
        notes.append(f"its words hardly co-occur ({verdict.coherence:.2f})")
    return "; ".join([_description(verdict), *notes])


def _description(verdict: Verdict) -> str:
    """Return the sentence on the clusters of a verdict."""
    parts = verdict.clusters
    if verdict.verdict == "confirmed":
        return (
            f"{_percent(parts[0].of_domain)} of its units lie in cluster"
            f" {parts[0].cluster}, which is {_percent(parts[0].of_cluster)} this domain"
        )
    if verdict.verdict == "split":
        return (
            f"{_percent(sum(part.of_domain for part in parts))} of its units lie in {len(parts)}"
            f" clusters of its own: it may be {'two' if len(parts) == 2 else 'several'} subjects"
        )
    if verdict.verdict == "merged":
        others = verdict.merged_with
        listed = " and ".join(filter(None, [", ".join(map(str, others[:-1])), str(others[-1])]))
        return (
            f"{_percent(parts[0].of_domain)} of its units lie in cluster {parts[0].cluster},"
            f" together with domain{'s' if len(others) > 1 else ''} {listed}:"
            " one subject, or two that share words"
        )
    if not parts:
        return "none of its units was clustered"
    return (
        "its units are scattered over the clusters"
        f" (at most {_percent(parts[0].of_domain)} of them in one)"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def coherence(counts: Rows, words: list[NDArray[np.int64]]) -> list[float | None]:
    """Return, for each list of words, the mean normalised mutual information over pairs of words.

        npmi(v, w) = ln( p(v,w) / (p(v) p(w)) ) / -ln p(v,w)

    with probabilities over units (Bouma 2009): 1 for words that occur only together, 0 by chance,
    -1 for words that never co-occur. None for fewer than two words.

    >>> from scipy.sparse import csr_array
    >>> rows = csr_array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    >>> coherence(rows, [np.array([0, 1]), np.array([0, 2])])
    [1.0, -1.0]
    """
    from scipy.sparse import csr_array  # slow to import

    if not words:
        return []
    used = np.unique(np.concatenate(words))
    n_units = counts.shape[0]
    present = csr_array(counts[:, used])
    present.data = (present.data > 0).astype(np.float64)
    together = csr_array(present.T @ present)
    result: list[float | None] = []
    for word_list in words:
        if len(word_list) < 2:
            result.append(None)
            continue
        place = np.searchsorted(used, word_list)
        block: Matrix = together[place][:, place].toarray() / n_units
        single = np.diag(block)
        first, second = np.triu_indices(len(place), 1)
        both = block[first, second]
        apart = both == 0
        always = both >= 1
        safe = np.where(apart | always, 0.5, both)
        by_chance = np.where(apart | always, 0.5, single[first] * single[second])
        npmi = np.log(safe / by_chance) / -np.log(safe)
        npmi = np.where(apart, -1.0, np.where(always, 1.0, npmi))
        result.append(float(np.clip(npmi, -1, 1).mean()))
    return result


def stability(
    learned: LearnedUnits,
    cluster: Callable[[Rows, int], Labels],
    draws: int,
    seed: int = 0,
) -> dict[int, float]:
    """Return the stability of each domain: its mean best Jaccard index with a cluster.

    The mean is over `draws` random halves of the units that are clustered again (after Hennig
    2007). `cluster` gets rows and a seed. A domain without a unit in a half is not counted in it.
    """
    from scipy.sparse import csr_array  # slow to import

    drawn = halves(len(learned.units), draws, seed)
    labels = [
        cluster(csr_array(learned.counts[half]), seed + 1 + draw) for draw, half in enumerate(drawn)
    ]
    return stability_in(learned, drawn, labels)


def halves(n_units: int, draws: int, seed: int = 0) -> list[NDArray[np.int64]]:
    """Return the numbers of the units of random halves, in ascending order."""
    rng = np.random.default_rng(seed)
    size = (n_units + 1) // 2
    return [np.sort(rng.choice(n_units, size, replace=False)) for _ in range(draws)]


def stability_in(
    learned: LearnedUnits, drawn: Sequence[NDArray[np.int64]], clusters: Sequence[Labels]
) -> dict[int, float]:
    """Return the stability of each domain from the clusters of random halves."""
    numbers = np.unique(learned.domains)
    total, times = np.zeros(len(numbers)), np.zeros(len(numbers))
    for half, labels in zip(drawn, clusters, strict=True):
        table = contingency(learned.domains[half], labels)
        jaccard = table.counts / (
            table.left_sizes[table.left] + table.right_sizes[table.right] - table.counts
        )
        best = np.zeros(table.shape[0])
        np.maximum.at(best, table.left, jaccard)
        place = np.searchsorted(numbers, np.asarray(table.left_labels, dtype=np.int64))
        total[place] += best
        times[place] += 1
    means = np.divide(total, times, out=np.zeros(len(numbers)), where=times > 0)
    return {int(number): float(mean) for number, mean in zip(numbers, means, strict=True)}


def representatives(learned: LearnedUnits, profiles: Rows) -> list[list[int]]:
    """Return the rows of the most typical units of each domain (cosine with its words)."""
    from scipy.sparse import csr_array  # slow to import

    numbers, place = np.unique(learned.domains, return_inverse=True)
    present = learned.counts.copy()
    present.data = np.ones(len(present.data))
    common = csr_array(profiles[place].multiply(present))
    fit = np.asarray(common.sum(axis=1)).ravel()
    fit = fit / np.sqrt(np.maximum(np.diff(present.indptr), 1))
    order = np.lexsort((learned.units, -fit, place))
    starts = np.searchsorted(place[order], np.arange(len(numbers)))
    ends = np.searchsorted(place[order], np.arange(len(numbers)), side="right")
    return [
        order[start : min(start + N_EXAMPLES, end)].tolist()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _heaviest(rows: Rows, row: int, most: int) -> NDArray[np.int64]:
    start, end = rows.indptr[row], rows.indptr[row + 1]
    words, weights = rows.indices[start:end], rows.data[start:end]
    order = np.lexsort((words, -weights))[:most]
    heaviest: NDArray[np.int64] = words[order].astype(np.int64)
    return heaviest


def _distinct_words(
    learned: LearnedUnits,
    labels: Labels,
    domain: int,
    cluster: int,
    most: int = 5,
) -> list[str]:
    """Return the words that are more frequent in one part of a domain than in the rest of it."""
    from scipy.sparse import csr_array  # slow to import

    inside = learned.domains == domain
    part, rest = inside & (labels == cluster), inside & (labels != cluster)
    shares = []
    for rows in (part, rest):
        counts = csr_array(learned.counts[np.flatnonzero(rows)])
        frequency = np.bincount(counts.indices, minlength=len(learned.words))
        shares.append(frequency / max(1, counts.shape[0]))
    gain = shares[0] - shares[1]
    order = np.lexsort((np.arange(len(gain)), -gain))[:most]
    return [learned.words[i] for i in order.tolist() if gain[i] > 0]
