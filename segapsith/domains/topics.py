"""The general level: domains grouped into topics (algorithms §2.4).

Domains are specific: pure, and many to a subject. A topic is a group of domains of one language,
made by any similarity and any clusterer. Each domain is a row of its words' mean unit weights,
times its number of units to the power `POWER`: large domains have more to say about which words
keep company, but not in proportion to their size. Words below the least weight are left out, as
they are when units are placed.

A clusterer that compares all pairs is given the `MOST` largest domains of a language at most. The
others come after, by size, in blocks: each joins the topic whose summed row is near enough, and
those of a block that none takes are grouped among themselves. So memory is bounded by `MOST`
squared, however many domains there are.

A topic keeps its number as long as most of its units stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare, Labels, Matrix, Rows
from segapsith.domains.values import DomainWords
from segapsith.lexicon.weighting import SCALE
from segapsith.plugin.contracts import Clusterer, Similarity

__all__ = [
    "CLUSTERING",
    "CUT",
    "MOST",
    "POWER",
    "Grouped",
    "TopicSettings",
    "group",
    "identified",
    "topic_rows",
]

Ints = NDArray[np.int64]

CUT = {"distance": 0.32, "farthest": 0.42}
"""Where the default clusterer stops joining: the domains choose between these, by how groups hold."""

CLUSTERING = {"mass": "length"}
"""Its other settings, unless some are given: large domains outweigh small ones."""

POWER = 0.71
"""Of a domain's size, by which its row is weighted."""

MOST = 3000
"""Domains that are grouped at once, all pairs compared: the time grows with their third power."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What decides how domains are grouped, besides the measure and the clusterer."""

    power: float = POWER
    min_weight: float = 0.02
    near: float = 1.0 - sum(CUT.values()) / len(CUT)
    """Similarity from which a domain beyond the first `most` joins a topic; -1: it always does."""
    most: int = MOST

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 1:
            raise ValueError(f"power={self.power} should be in 0..1")
        if not 0 <= self.min_weight < 1:
            raise ValueError(f"min_weight={self.min_weight} should be at least 0 and below 1")
        if self.most < 2:
            raise ValueError(f"most={self.most} should be >= 2")


@dataclass(frozen=True, slots=True)
class Grouped:
    """Domains with the group of each: 0, 1, … without gaps."""

    domains: Ints
    groups: Labels


def topic_rows(sums: Sequence[DomainWords], settings: TopicSettings) -> Rows:
    """Domains as rows of mean unit weight × size^power, over the words that they have.

    >>> from segapsith.domains.values import DomainWords
    >>> two = DomainWords(np.array([7], np.int32), np.array([4]), np.array([2 * SCALE]), 4)
    >>> topic_rows([two], TopicSettings(power=0.5)).toarray()
    array([[1.]])
    """
    kept_words, values, lengths = [], [], []
    for domain in sums:
        size = max(domain.n_units, 1)
        weights = domain.weights / (float(SCALE) * size)
        kept = weights >= settings.min_weight
        kept_words.append(domain.words[kept])
        values.append(weights[kept] * size**settings.power)
        lengths.append(int(kept.sum()))
    used, columns = np.unique(
        np.concatenate([np.zeros(0, np.int32), *kept_words]), return_inverse=True
    )
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    data = np.concatenate([np.zeros(0), *values])
    return csr_array((data, columns, pointers), shape=(len(sums), len(used)))


def group(
    domains: Mapping[int, DomainWords],
    measure: Similarity | None,
    grouping: Callable[[int], Clusterer],
    settings: TopicSettings | None = None,
) -> Grouped:
    """The domains of one language in groups.

    `grouping` makes a clusterer for a given number of rows. The measure learns from the largest
    domains. A domain of which no word weighs enough is a group of its own.
    """
    chosen = settings or TopicSettings()
    order = sorted(domains, key=lambda number: (-domains[number].n_units, number))
    rows = topic_rows([domains[number] for number in order], chosen)
    first = csr_array(rows[: chosen.most])
    if measure is not None:
        measure.learn(first)
    compare = None if measure is None else measure.compare
    labels = _own_groups(grouping(first.shape[0]).cluster(first, compare)) if order else _none()
    for start in range(chosen.most, len(order), chosen.most):
        block = csr_array(rows[start : start + chosen.most])
        more = _attached(rows[:start], labels, block, compare or _cosine, chosen.near)
        alone = np.flatnonzero(more < 0)
        if len(alone):
            left = csr_array(block[alone])
            more[alone] = (
                labels.max() + 1 + _own_groups(grouping(len(alone)).cluster(left, compare))
            )
        labels = np.concatenate([labels, more])
    return Grouped(np.array(order, dtype=np.int64), _in_order(labels))


def _none() -> Labels:
    return np.zeros(0, dtype=np.int64)


def _own_groups(labels: Labels) -> Labels:
    """Labels in which rows without a group have one of their own."""
    result = np.asarray(labels, dtype=np.int64).copy()
    without = np.flatnonzero(result < 0)
    result[without] = result.max(initial=-1) + 1 + np.arange(len(without))
    return result


def _attached(rows: Rows, labels: Labels, block: Rows, compare: Compare, near: float) -> Labels:
    """The group of each row of a block: the nearest by its summed row, or -1 if none is near."""
    members = csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))),
        shape=(int(labels.max()) + 1, len(labels)),
    )
    similar = compare(block, csr_array(members @ rows))
    best: Labels = np.argmax(similar, axis=1).astype(np.int64)
    score = similar[np.arange(len(best)), best]
    best[(score < near) | (np.diff(block.indptr) == 0)] = -1
    return best


def _cosine(left: Rows, right: Rows) -> Matrix:
    """For clusterers that take no measure."""
    lengths = [np.sqrt(np.asarray(r.multiply(r).sum(axis=1)).ravel()) for r in (left, right)]
    one, two = (np.where(n > 0, n, 1.0) for n in lengths)
    similar: Matrix = (left @ right.T).toarray() / one[:, None] / two[None, :]
    return similar


def _in_order(labels: Labels) -> Labels:
    """The same groups numbered by their first member: 0, 1, …"""
    _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    ordered: Labels = rank[inverse]
    return ordered


def identified(
    grouped: Grouped, units: Mapping[int, int], before: Mapping[int, int]
) -> dict[int, int | None]:
    """The topic number that each group keeps: that of the topic of which it has most of the units.

    `units` are the units of each domain now, `before` the topic of each domain at the last
    grouping. Of two topics that came together, the one that brings more units gives its number;
    of equal ones, the older. None is a new topic.

    >>> groups = Grouped(np.array([1, 2, 3]), np.array([0, 0, 1]))
    >>> identified(groups, {1: 5, 2: 1, 3: 4}, {1: 7, 2: 8, 3: 8})
    {0: 7, 1: 8}
    """
    shared: dict[tuple[int, int], int] = {}
    whole: dict[int, int] = {}
    for domain, label in zip(grouped.domains.tolist(), grouped.groups.tolist(), strict=True):
        topic = before.get(domain)
        if topic is not None:
            shared[label, topic] = shared.get((label, topic), 0) + units[domain]
            whole[topic] = whole.get(topic, 0) + units[domain]
    found: dict[int, int | None] = dict.fromkeys(sorted(set(grouped.groups.tolist())))
    for (label, topic), n_units in sorted(shared.items(), key=lambda s: (-s[1], s[0][1])):
        if found[label] is None and 2 * n_units > whole[topic]:
            found[label] = topic
    return found
