"""Domain by domain: is it confirmed, split, merged or missing in the recomputed clustering?

With n_ab units of domain a in cluster b, r_a and c_b their sizes, a cluster is the domain's *own*
if at least half of it is of the domain (n_ab >= c_b / 2), and a *tenant* is another domain that has
at least half of its units there and makes up at least a quarter of it. Then a domain is

- merged: at least half of it lies in one cluster that has a tenant or is mostly other domains;
- confirmed: at least half of it lies in one cluster of its own, and no second one holds a fifth;
- split: at least half of it lies in clusters of its own, and more than one is needed;
- missing: none of these; its units are scattered.

Each domain is told with two more numbers that look at it alone: how firmly it is found again when
halves of the units are clustered anew, and whether its words keep company. Rules and thresholds
are this project's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Matrix, Rows
from segapsith.evaluation.contingency import Contingency, contingency
from segapsith.evaluation.validation import LearnedUnits, groups

__all__ = ["VERDICTS", "coherence", "representatives", "stability", "told", "verdicts"]

VERDICTS = ("confirmed", "split", "merged", "missing")

HALF = 0.5
PART = 0.2
"""Of a domain, what a second cluster of its own must hold for it to be called split."""

TENANT = 0.25
"""Of a cluster, what another domain must make up to be named beside the first."""

TOP_WORDS = 10
EXAMPLES = 2

FIRM = 0.5
"""Mean Jaccard index from which a domain counts as found again (Hennig 2007 takes 0.6 to 0.75 for
clusters against themselves; against domains that were learned one by one it is lower)."""

COHERENT = 0.1


def verdicts(
    learned: LearnedUnits,
    labels: Labels,
    firmness: dict[int, float] | None = None,
) -> list[dict[str, Any]]:
    """A verdict on each domain, largest first: its words, its clusters, and why."""
    domains = learned.domains
    table = contingency(domains, labels)
    profiles = groups(learned, domains)
    heavy = [_heaviest(profiles.weights, row, TOP_WORDS) for row in range(len(profiles.ids))]
    close = coherence(learned.counts, heavy)
    shown = representatives(learned, profiles.weights)
    found = []
    for row, number in enumerate(profiles.ids):
        kind, parts, others = _judged(table, row)
        together = close[row]
        verdict: dict[str, Any] = {
            "domain": number,
            "verdict": kind,
            "units": int(table.left_sizes[row]),
            "words": [learned.words[w] for w in heavy[row].tolist()],
            "clusters": [
                {
                    **part,
                    "words": _distinct_words(learned, labels, domains, number, part["cluster"]),
                }
                if kind == "split"
                else part
                for part in parts
            ],
            "with": others,
            "stability": None if firmness is None else round(firmness[number], 6),
            "coherence": None if together is None else round(together, 6),
            "example_units": [int(learned.units[i]) for i in shown[row]],
        }
        verdict["told"] = told(verdict)
        found.append(verdict)
    return sorted(found, key=lambda one: (-one["units"], one["domain"]))


def _judged(table: Contingency, row: int) -> tuple[str, list[dict[str, Any]], list[int]]:
    """The verdict on one row of the table, the clusters it rests on, and the domains it is with."""
    cells = np.flatnonzero(table.left == row)
    size = int(table.left_sizes[row])
    cells = cells[np.lexsort((table.right[cells], -table.counts[cells]))]
    shared, columns = table.counts[cells], table.right[cells]
    of_domain, of_cluster = shared / size, shared / table.right_sizes[columns]
    own = of_cluster >= HALF
    parts = np.flatnonzero(own & (of_domain >= PART))
    home = float(of_domain[own].sum())
    tenants = _tenants(table, row, int(columns[0])) if of_domain[0] >= HALF else []
    if tenants:
        kind, chosen = "merged", np.zeros(1, dtype=np.int64)
    elif len(parts) == 1 and of_domain[parts[0]] >= HALF:
        kind, chosen = "confirmed", parts
    elif home >= HALF:
        kind, chosen = "split", np.flatnonzero(own)[:6]
    elif of_domain[0] >= HALF:
        kind, chosen = "merged", np.zeros(1, dtype=np.int64)
    else:
        kind, chosen = "missing", np.arange(min(3, len(cells)))
    others = tenants or (_others(table, row, int(columns[0])) if kind == "merged" else [])
    return (
        kind,
        [
            {
                "cluster": int(str(table.right_labels[int(columns[i])])),
                "units": int(shared[i]),
                "of_domain": round(float(of_domain[i]), 6),
                "of_cluster": round(float(of_cluster[i]), 6),
            }
            for i in chosen.tolist()
        ],
        others,
    )


def _tenants(table: Contingency, row: int, column: int) -> list[int]:
    """Other domains that have their place in this cluster too."""
    inside = np.flatnonzero((table.right == column) & (table.left != row))
    counts = table.counts[inside]
    at_home = (counts >= HALF * table.left_sizes[table.left[inside]]) & (
        counts >= TENANT * table.right_sizes[column]
    )
    return [int(str(table.left_labels[int(table.left[i])])) for i in inside[at_home].tolist()]


def _others(table: Contingency, row: int, column: int) -> list[int]:
    """The other domains that a cluster is made of, those that give a tenth of it or more."""
    inside = np.flatnonzero((table.right == column) & (table.left != row))
    inside = inside[np.lexsort((table.left[inside], -table.counts[inside]))]
    enough = table.counts[inside] * 10 >= table.right_sizes[column]
    kept = inside[enough] if enough.any() else inside[:3]
    return [int(str(table.left_labels[int(table.left[i])])) for i in kept[:6].tolist()]


def told(verdict: dict[str, Any]) -> str:
    """A verdict in plain words.

    >>> told({"verdict": "merged", "units": 20, "clusters": [{"of_domain": 0.9, "of_cluster": 0.3,
    ...       "cluster": 4}], "with": [7, 9], "stability": None, "coherence": None})
    '90 % of its units lie in cluster 4, together with domains 7 and 9: one subject, or two that share words'
    """
    parts = verdict["clusters"]
    if verdict["verdict"] == "confirmed":
        text = (
            f"{_percent(parts[0]['of_domain'])} of its units are found again in cluster"
            f" {parts[0]['cluster']}, which is {_percent(parts[0]['of_cluster'])} this domain"
        )
    elif verdict["verdict"] == "split":
        held = sum(part["of_domain"] for part in parts)
        text = (
            f"{_percent(held)} of its units lie in {len(parts)} clusters of its own:"
            f" it may be {'two' if len(parts) == 2 else 'several'} subjects"
        )
    elif verdict["verdict"] == "merged":
        others = verdict["with"]
        named = " and ".join(filter(None, [", ".join(map(str, others[:-1])), str(others[-1])]))
        text = (
            f"{_percent(parts[0]['of_domain'])} of its units lie in cluster {parts[0]['cluster']},"
            f" together with domain{'s' if len(others) > 1 else ''} {named}:"
            " one subject, or two that share words"
        )
    else:
        text = (
            "its units are scattered over the clusters"
            f" (no more than {_percent(parts[0]['of_domain'])} of them in one)"
            if parts
            else "none of its units was clustered"
        )
    notes = []
    if verdict["stability"] is not None and verdict["stability"] < FIRM:
        notes.append(f"halves of the units seldom show it again ({verdict['stability']:.2f})")
    if verdict["coherence"] is not None and verdict["coherence"] < COHERENT:
        notes.append(f"its words hardly keep company ({verdict['coherence']:.2f})")
    return "; ".join([text, *notes])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def coherence(counts: Rows, words: list[NDArray[np.int64]]) -> list[float | None]:
    """Of each list of words, the mean over pairs of their normalised pointwise mutual information.

        npmi(v, w) = ln( p(v,w) / (p(v) p(w)) ) / -ln p(v,w)

    with probabilities over units (Bouma 2009): 1 for words that occur only together, 0 by chance,
    -1 for words that never meet. Null for fewer than two words.

    >>> from scipy.sparse import csr_array
    >>> rows = csr_array([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    >>> coherence(rows, [np.array([0, 1]), np.array([0, 2])])
    [1.0, -1.0]
    """
    if not words:
        return []
    used = np.unique(np.concatenate(words))
    n_units = counts.shape[0]
    present = csr_array(counts[:, used])
    present.data = (present.data > 0).astype(np.float64)
    together = csr_array(present.T @ present)
    result: list[float | None] = []
    for chosen in words:
        if len(chosen) < 2:
            result.append(None)
            continue
        place = np.searchsorted(used, chosen)
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
    """How firmly each domain is found again: the mean, over halves of the units drawn at random
    and clustered anew, of its best Jaccard index with a cluster (after Hennig 2007).

    `cluster` takes rows and a seed. A domain that a half leaves out is not counted in that draw.
    """
    numbers = np.unique(learned.domains)
    total, times = np.zeros(len(numbers)), np.zeros(len(numbers))
    rng = np.random.default_rng(seed)
    for draw in range(draws):
        size = (len(learned.units) + 1) // 2
        half = np.sort(rng.choice(len(learned.units), size, replace=False))
        labels = cluster(csr_array(learned.counts[half]), seed + 1 + draw)
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
    """Of each domain the rows of the units that look most like it (cosine with its words)."""
    numbers, place = np.unique(learned.domains, return_inverse=True)
    present = learned.counts.copy()
    present.data = np.ones(len(present.data))
    touched = csr_array(profiles[place].multiply(present))
    fit = np.asarray(touched.sum(axis=1)).ravel()
    fit = fit / np.sqrt(np.maximum(np.diff(present.indptr), 1))
    order = np.lexsort((learned.units, -fit, place))
    starts = np.searchsorted(place[order], np.arange(len(numbers)))
    ends = np.searchsorted(place[order], np.arange(len(numbers)), side="right")
    return [
        order[start : min(start + EXAMPLES, end)].tolist()
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
    domains: NDArray[np.int64],
    domain: int,
    cluster: int,
    most: int = 5,
) -> list[str]:
    """Words that this part of a domain has more often than the rest of it."""
    inside = domains == domain
    part, rest = inside & (labels == cluster), inside & (labels != cluster)
    shares = []
    for rows in (part, rest):
        chosen = csr_array(learned.counts[np.flatnonzero(rows)])
        frequency = np.bincount(chosen.indices, minlength=len(learned.words))
        shares.append(frequency / max(1, chosen.shape[0]))
    gain = shares[0] - shares[1]
    order = np.lexsort((np.arange(len(gain)), -gain))[:most]
    return [learned.words[i] for i in order.tolist() if gain[i] > 0]
