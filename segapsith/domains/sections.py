"""Sections: the few large subjects of a language, each made of topics.

The largest domains are clustered as rows of length 1, so that a domain counts once whatever its
size. The other domains join the section whose summed row is most similar. Then each topic joins the
section that has most of its units, and with it all its domains.

Nobody gives the number of sections. For each number from `least` to `most`, the clusterer groups
random halves of the rows, and each half labels all rows by its nearest summed row. The number with
the highest mean agreement of these labels is the most stable one, and it is taken (Lange, Roth,
Braun & Buhmann 2004). See docs/concepts/formulas.md, "Sections".

A section keeps its number while most of its units stay together, as a topic does. So that they do,
sections go on from those of the last time: each domain moves to the section with the most similar
summed row until none moves. If another number of sections is clearly more stable, the loosest
sections are cut in two, or the most similar ones become one, first. A new clustering replaces all
if its rows are nearer to their sums, and if it agrees with them less than clusterings of random
halves of the rows agree with each other: then chance does not explain the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith import progress
from segapsith.arrays import Compare, Labels, Rows
from segapsith.domains.groups import DomainGroups
from segapsith.domains.topics import (
    TopicSettings,
    cosines,
    group_sums,
    renumbered,
    topic_rows,
)
from segapsith.domains.values import DomainWords
from segapsith.plugin.contracts import Clusterer, Similarity, compares_learned_rows_only

__all__ = [
    "TIE",
    "WEAK",
    "SectionParts",
    "SectionSettings",
    "Sections",
    "choose_number",
    "make_sections",
    "stability",
]


TIE = 0.98
"""Share of the best stability from which a number of sections is as good as the best."""

WEAK = 0.8
"""Share of the best stability below which a number of sections is no candidate."""


MAX_PASSES = 20
"""Passes that move domains to the nearest section of the last time, at most."""


@dataclass(frozen=True, slots=True)
class SectionSettings:
    """Settings of sections, besides those of the similarity and the clusterer."""

    least: int = 4
    """Smallest number of sections that is tried."""
    most: int = 20
    """Largest number of sections that is tried."""
    rows: int = 1000
    """Number of domains that are clustered at most: the largest of the language."""
    halves: int = 8
    """Random halves of the rows that are clustered for each number."""
    patience: int = 4
    """Numbers in a row below `WEAK` of the best stability after which larger ones are not tried."""
    loyalty: float = 0.9
    """Share of the best stability at which the number of the last time is taken again."""
    min_share: float = 0.01
    """Share of the units below which a section is dissolved; its topics join the nearest one."""
    min_weight: float = 0.02
    """Least weight of the words of a domain that are used."""

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(f"least={self.least} should be in 1..most={self.most}")
        if self.rows < 2:
            raise ValueError(f"rows={self.rows} should be >= 2")
        if self.patience < 1:
            raise ValueError(f"patience={self.patience} should be >= 1")
        if self.halves < 2:
            raise ValueError(f"halves={self.halves} should be >= 2")
        for name in ("loyalty", "min_share", "min_weight"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} should be in 0..1")


@dataclass(frozen=True, slots=True)
class SectionParts:
    """What sections are made with."""

    clusterer: Callable[[int], Clusterer]
    """Takes the number of sections."""
    agreement: Callable[[Labels, Labels], float]
    """Agreement of two partitions beyond chance."""
    measure: Similarity | None = None
    chooses: bool = True
    """Whether the number is chosen here; otherwise the clusterer finds it itself."""


@dataclass(frozen=True, slots=True)
class Sections:
    """Domains with their sections, and how stable each number of sections was that was tried."""

    groups: DomainGroups
    stability: Mapping[int, float] = field(default_factory=dict)


def make_sections(
    domains: Mapping[int, DomainWords],
    topic_of: Mapping[int, int],
    parts: SectionParts,
    *,
    k: int | None = None,
    before: Mapping[int, int] | None = None,
    settings: SectionSettings | None = None,
) -> Sections:
    """Make the sections of one language from its domains that have a topic.

    `k` is the number of sections, or None to choose it. `before` gives the sections of domains at
    the last time: their number is taken again while its stability is near the best, and they go on
    unless a new clustering is more cohesive and differs from them by more than chance. With `k`, no
    small section is dissolved.
    """
    settings = settings or SectionSettings()
    order = sorted(set(domains) & set(topic_of), key=lambda d: (-domains[d].n_units, d))
    if not order:
        return Sections(DomainGroups(np.zeros(0, np.int64), np.zeros(0, np.int64)))
    units = np.array([domains[d].n_units for d in order], dtype=np.int64)
    _, topics = np.unique([topic_of[d] for d in order], return_inverse=True)
    rows = _unit_rows([domains[d] for d in order], settings)
    first = csr_array(rows[: settings.rows])
    if parts.measure is not None:
        parts.measure.learn(first)
    compare = None if parts.measure is None else parts.measure.compare
    near = _nearness(parts.measure)
    n_topics = int(topics.max()) + 1
    last = _last_labels(order[: settings.rows], before or {})
    tried: Mapping[int, float] = {}
    if k is not None or not parts.chooses:
        number = min(k or settings.least, n_topics)
    else:
        tried = _stabilities(
            first, parts, compare, near, _numbers(n_topics, first.shape[0], settings), settings
        )
        number = choose_number(tried, int(last.max()) + 1, settings) or settings.least
        number = min(number, n_topics)
    clusterer = parts.clusterer(number)
    clustered = np.asarray(clusterer.cluster(first, compare), dtype=np.int64)
    n_clusters = int(clustered.max(initial=-1)) + 1
    adjusted = _with_number(first, last, n_clusters, parts, compare, near)
    labels = _updated(first, adjusted, n_clusters, near)
    if labels is None:
        labels = clustered
    elif _cohesion(first, clustered, near) > _cohesion(first, labels, near):
        by_chance = tried.get(number)
        if by_chance is None:
            cluster = partial(clusterer.cluster, compare=compare)
            by_chance = stability(first, cluster, near, parts.agreement, n_halves=settings.halves)
        if parts.agreement(labels, clustered) < by_chance:
            labels = clustered
    labels = _all_labels(rows, labels, near)
    labels = _by_topic(topics, labels, units)
    if k is None:
        labels = _without_small(rows, labels, topics, units, near, settings)
    return Sections(DomainGroups(np.array(order, np.int64), renumbered(labels)), tried)


def _last_labels(domains: Sequence[int], before: Mapping[int, int]) -> Labels:
    """Return the sections of domains at the last time, numbered from 0; -1 for new domains."""
    known = sorted({before[domain] for domain in domains if domain in before})
    number_of = {section: number for number, section in enumerate(known)}
    return np.array([number_of[before[d]] if d in before else -1 for d in domains], dtype=np.int64)


def _with_number(
    rows: Rows, last: Labels, number: int, parts: SectionParts, compare: Compare | None,
    near: Compare,
) -> Labels:  # fmt: skip
    """Return the sections of the last time, cut or joined until they are `number`.

    The loosest one is cut in two by the clusterer; it has the largest sum of distances, 1 -
    similarity, of its rows to their sum. The two whose sums are most similar are joined.
    """
    labels = np.where(np.diff(rows.indptr) > 0, last, -1)
    labels[labels >= 0] = renumbered(labels[labels >= 0])
    n_sections = int(labels.max(initial=-1)) + 1
    while 0 < n_sections < number:
        members = np.flatnonzero(labels == np.argmax(_looseness(rows, labels, near)))
        if len(members) < 2 or not parts.chooses:
            return labels
        halves = np.asarray(parts.clusterer(2).cluster(csr_array(rows[members]), compare))
        if len(np.unique(halves)) < 2:
            return labels
        larger = int(np.argmax(np.bincount(halves)))
        labels[members[halves != larger]] = n_sections
        n_sections += 1
    while n_sections > number > 0:
        sums = group_sums(rows, labels)
        similar = np.tril(near(sums, sums) + 2.0, -1)
        younger, older = np.unravel_index(int(np.argmax(similar)), similar.shape)
        labels[labels == younger] = older
        labels[labels > younger] -= 1
        n_sections -= 1
    return labels


def _looseness(rows: Rows, labels: Labels, near: Compare) -> NDArray[np.float64]:
    """Return for each section the sum of 1 - similarity of its rows to their summed row."""
    labelled = np.flatnonzero(labels >= 0)
    similar = near(csr_array(rows[labelled]), group_sums(rows, labels))
    own = similar[np.arange(len(labelled)), labels[labelled]]
    looseness: NDArray[np.float64] = np.bincount(labels[labelled], 1.0 - own).astype(np.float64)
    return looseness


def _updated(rows: Rows, last: Labels, number: int, near: Compare) -> Labels | None:
    """Return the sections of the last time with each row in the nearest one.

    Return None if they are not `number`, or if one of them has no row any more.
    """
    if number < 1 or int(last.max(initial=-1)) + 1 != number:
        return None
    filled = np.diff(rows.indptr) > 0
    labels = last
    for _ in range(MAX_PASSES):
        nearest = np.where(filled, _nearest(rows, group_sums(rows, labels), near), -1)
        if len(np.unique(nearest[filled])) < number:
            return None
        if np.array_equal(nearest, labels):
            break
        labels = nearest
    return labels


def _cohesion(rows: Rows, labels: Labels, near: Compare) -> float:
    """Return the mean similarity of the labelled rows to the summed row of their group."""
    labelled = np.flatnonzero(labels >= 0)
    similar = near(csr_array(rows[labelled]), group_sums(rows, labels))
    return float(similar[np.arange(len(labelled)), labels[labelled]].mean())


def _numbers(n_topics: int, n_rows: int, settings: SectionSettings) -> Sequence[int]:
    """Return the numbers to choose from; none if there is no choice.

    There are no more sections than topics, and no more than a section has rows on average: where
    a group has few rows, halves agree because each row is nearly alone.
    """
    numbers = range(settings.least, min(settings.most, n_topics, isqrt(n_rows)) + 1)
    return numbers if len(numbers) > 1 else ()


def choose_number(
    tried: Mapping[int, float], before: int | None, settings: SectionSettings
) -> int | None:
    """Return the most stable number of sections; None if none was tried.

    Stability falls by itself as the number grows. So while the next larger number is as good as the
    best up to `TIE`, it is taken instead. `before` is the number of the last time, 0 or None for
    none: it is returned while its stability is near the best.

    >>> choose_number({4: 0.6, 5: 0.62}, None, SectionSettings())
    5
    >>> choose_number({4: 0.6, 5: 0.62}, 4, SectionSettings())
    4
    >>> choose_number({4: 0.4, 5: 0.5, 6: 0.62}, 4, SectionSettings())
    6
    >>> choose_number({4: 0.62, 5: 0.615, 6: 0.5}, None, SectionSettings())
    5
    """
    if not tried:
        return None
    best = max(tried.values())
    if before and tried.get(before, -1.0) >= settings.loyalty * best:
        return before
    number = min(number for number, value in tried.items() if value == best)
    while tried.get(number + 1, -1.0) >= TIE * best > 0:
        number += 1
    return number


def _stabilities(
    rows: Rows, parts: SectionParts, compare: Compare | None, near: Compare,
    numbers: Sequence[int], settings: SectionSettings,
) -> dict[int, float]:  # fmt: skip
    """Return the stability of each number of sections, up to where it stays weak."""
    tried: dict[int, float] = {}
    n_weak = 0
    for number in numbers:
        if n_weak == settings.patience:
            break
        progress.report(number - numbers[0], len(numbers))
        clusterer = parts.clusterer(number)
        tried[number] = stability(
            rows,
            partial(clusterer.cluster, compare=compare),
            near,
            parts.agreement,
            n_halves=settings.halves,
        )
        n_weak = n_weak + 1 if tried[number] < WEAK * max(tried.values()) else 0
    return tried


def stability(
    rows: Rows,
    cluster: Callable[[Rows], Labels],
    near: Compare,
    agreement: Callable[[Labels, Labels], float],
    *,
    n_halves: int,
) -> float:
    """Return the mean agreement of the labels that random halves of the rows give to all rows.

    The halves are the same for every clusterer and number of clusters. Fewer than four rows are not
    halved; their stability is 0.
    """
    if rows.shape[0] < 4:
        return 0.0
    labelled = []
    for seed in range(n_halves):
        drawn = np.random.default_rng(seed).permutation(rows.shape[0])[: rows.shape[0] // 2]
        half = csr_array(rows[np.sort(drawn)])
        labels = np.asarray(cluster(half), dtype=np.int64)
        labelled.append(_nearest(rows, group_sums(half, labels), near))
    pairs = [agreement(one, two) for one, two in combinations(labelled, 2)]
    return float(np.mean(pairs))


def _unit_rows(sums: Sequence[DomainWords], settings: SectionSettings) -> Rows:
    """Return domains as rows of length 1."""
    rows = topic_rows(sums, replace(TopicSettings(power=0.0), min_weight=settings.min_weight))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(lengths, np.diff(rows.indptr))
    return rows


def _nearness(measure: Similarity | None) -> Compare:
    """Return what compares rows with summed rows: the measure, or cosines where it cannot."""
    if measure is None or compares_learned_rows_only(measure):
        return cosines
    return measure.compare


def _nearest(rows: Rows, sums: Rows, near: Compare) -> Labels:
    """Return the number of the most similar summed row of each row."""
    nearest: Labels = np.argmax(near(rows, sums), axis=1).astype(np.int64)
    return nearest


def _all_labels(rows: Rows, first: Labels, near: Compare) -> Labels:
    """Return the labels of all rows: the first as clustered, the others by the nearest sum."""
    clustered = np.flatnonzero(np.asarray(first) >= 0)
    if not len(clustered):
        return np.zeros(rows.shape[0], dtype=np.int64)
    labels = np.full(rows.shape[0], -1, dtype=np.int64)
    labels[clustered] = np.asarray(first)[clustered]
    others = np.flatnonzero((labels < 0) & (np.diff(rows.indptr) > 0))
    if len(others):
        sums = group_sums(rows, labels)
        labels[others] = _nearest(csr_array(rows[others]), sums, near)
    return labels


def _by_topic(topics: Labels, labels: Labels, units: Labels) -> Labels:
    """Return labels in which each topic is whole: the label with most units of the topic.

    Of equals the smaller label; a topic without any word gets the largest label of all.
    """
    n_labels = int(labels.max()) + 1
    votes = np.zeros((int(topics.max()) + 1, n_labels), dtype=np.int64)
    known = labels >= 0
    np.add.at(votes, (topics[known], labels[known]), units[known])
    winners = np.argmax(votes, axis=1)
    winners[votes.sum(axis=1) == 0] = int(np.argmax(votes.sum(axis=0)))
    whole: Labels = winners[topics]
    return whole


def _without_small(
    rows: Rows, labels: Labels, topics: Labels, units: Labels, near: Compare,
    settings: SectionSettings,
) -> Labels:  # fmt: skip
    """Return labels in which the topics of too small sections joined the nearest other section."""
    sizes = np.bincount(labels, units)
    large = np.flatnonzero(sizes >= settings.min_share * sizes.sum())
    small = ~np.isin(labels, large)
    if not small.any():
        return labels
    renumbered = np.where(small, -1, np.searchsorted(large, labels))
    joined, members = np.unique(topics[small], return_inverse=True)
    nearest = _nearest(
        group_sums(csr_array(rows[small]), members), group_sums(rows, renumbered), near
    )  # fmt: skip
    renumbered[small] = nearest[np.searchsorted(joined, topics[small])]
    return renumbered
