"""Topics: groups of domains of one language.

Domains are specific: pure, and many per subject. A topic is made by a similarity and a clusterer.
Each domain is a row of the mean unit weights of its words, times `n_units ** SIZE_EXPONENT`: large
domains have more influence on which words belong together, but less than in proportion to their
size. Words below `min_weight` are left out, as in placement.

A clusterer that compares all pairs gets at most the `MAX_DOMAINS` largest domains of a language.
The others follow by size, in blocks: each joins the topic whose summed row is similar enough, and
the rest of the block is clustered separately. So memory is bounded by `MAX_DOMAINS` squared. See
docs/concepts/formulas.md, "Topics".

A topic keeps its number while most of its units stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith import progress
from segapsith.arrays import Compare, Labels, Matrix, Rows
from segapsith.domains.groups import DomainGroups
from segapsith.domains.values import DomainWords
from segapsith.lexicon.vocabulary import SCALE
from segapsith.plugin.contracts import Clusterer, Similarity
from segapsith.plugin.registry import Registry
from segapsith.settings import PluginValue

__all__ = [
    "CLUSTERING",
    "CUT",
    "MAX_DOMAINS",
    "SCATTERED",
    "SCATTERED_TITLES",
    "SIZE_EXPONENT",
    "TopicRecipe",
    "TopicSettings",
    "cosines",
    "group",
    "group_sums",
    "renumbered",
    "scattered_cut",
    "topic_rows",
    "with_own_groups",
]

Ints = NDArray[np.int64]

CUT = {"distance": 0.32, "farthest": 0.42}
"""Interval of distances in which the default clusterer cuts its tree."""

SCATTERED, SCATTERED_TITLES = 0.8, 0.95
"""Distance towards which the cut rises where stories are scattered: nearly every domain alone.

Two titles of six words that share one are 0.8 apart, so that titles need the larger one.
"""

BRIEF_UNIT, LONG_UNIT = 10.0, 20.0
"""Mean words per unit of titles, and from which units are no titles; between them it is between."""

CLUSTERING = {"mass": "length"}
"""Other settings of the default clusterer: a row counts with its length."""

SIZE_EXPONENT = 0.71
"""Row weight of a domain = n_units ** SIZE_EXPONENT."""

MAX_DOMAINS = 3000
"""Number of domains that are clustered at once at most.

All pairs are compared, and the time grows with the third power of their number."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """Settings of topics, besides those of the similarity and the clusterer."""

    power: float = SIZE_EXPONENT
    """Exponent of the number of units in the weight of a row."""
    min_weight: float = 0.02
    """Least weight of the words of a domain that are used."""
    near: float = 1.0 - sum(CUT.values()) / len(CUT)
    """Least similarity at which a domain after the first `most` joins a topic (-1: always)."""
    most: int = MAX_DOMAINS
    """Number of domains that are clustered at once at most."""

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 1:
            raise ValueError(f"power={self.power} should be in 0..1")
        if not 0 <= self.min_weight < 1:
            raise ValueError(f"min_weight={self.min_weight} should be at least 0 and below 1")
        if self.most < 2:
            raise ValueError(f"most={self.most} should be >= 2")


def topic_rows(sums: Sequence[DomainWords], settings: TopicSettings) -> Rows:
    """Return domains as rows of mean unit weight * n_units ** power, over the words they contain.

    >>> from segapsith.domains.values import DomainWords
    >>> two = DomainWords(np.array([7], np.int32), np.array([4]), np.array([2 * SCALE]), 4)
    >>> topic_rows([two], TopicSettings(power=0.5)).toarray()
    array([[1.]])
    """
    heavy_words, values, lengths = [], [], []
    for domain in sums:
        size = max(domain.n_units, 1)
        weights = domain.weights / (float(SCALE) * size)
        heavy = weights >= settings.min_weight
        heavy_words.append(domain.words[heavy])
        values.append(weights[heavy] * size**settings.power)
        lengths.append(int(heavy.sum()))
    used, columns = np.unique(
        np.concatenate([np.zeros(0, np.int32), *heavy_words]), return_inverse=True
    )
    pointers = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    data = np.concatenate([np.zeros(0), *values])
    return csr_array((data, columns, pointers), shape=(len(sums), len(used)))


@dataclass(frozen=True, slots=True)
class TopicRecipe:
    """How domains are grouped: settings, and the plugins by name with theirs."""

    settings: TopicSettings
    similarity: str
    similarity_settings: Mapping[str, PluginValue]
    clusterer: str
    clusterer_settings: Mapping[str, PluginValue]
    k: int | None = None
    """The number of topics; None if the clusterer decides."""
    rises: bool = False
    """Whether the cut rises where stories are scattered (`scattered_cut`)."""

    def measure(self, registry: Registry) -> Similarity:
        """Make the similarity."""
        made: Similarity = registry.make("similarity", self.similarity, self.similarity_settings)
        return made

    def make_clusterer(
        self, registry: Registry, n_rows: int, cut: Mapping[str, float] | None = None
    ) -> Clusterer:
        """Make the clusterer for a number of rows, with more settings of its cut if given."""
        number = {} if self.k is None else {"k": max(1, min(self.k, n_rows))}
        made: Clusterer = registry.make(
            "clusterer", self.clusterer, {**self.clusterer_settings, **(cut or {}), **number}
        )
        return made

    def group(self, domains: Mapping[int, DomainWords], registry: Registry) -> DomainGroups:
        """Return the topics of some domains."""
        cut = scattered_cut(domains) if self.rises else None
        return group(
            domains,
            self.measure(registry),
            lambda n_rows: self.make_clusterer(registry, n_rows, cut),
            self.settings,
        )


def scattered_cut(domains: Mapping[int, DomainWords]) -> dict[str, float]:
    """Return how far the cut of the default clusterer may rise.

    >>> brief = DomainWords(np.array([7], np.int32), np.array([12]), np.array([2 * SCALE]), 2)
    >>> scattered_cut({1: brief})
    {'scattered': 0.95}
    >>> scattered_cut({1: DomainWords(brief.words, np.array([40]), brief.weights, 2)})
    {'scattered': 0.8}
    """
    n_words = sum(int(domain.occurrences.sum()) for domain in domains.values())
    mean = n_words / max(1, sum(domain.n_units for domain in domains.values()))
    share = min(1.0, max(0.0, (LONG_UNIT - mean) / (LONG_UNIT - BRIEF_UNIT)))
    return {"scattered": SCATTERED + share * (SCATTERED_TITLES - SCATTERED)}


def group(
    domains: Mapping[int, DomainWords],
    measure: Similarity | None,
    clusterer: Callable[[int], Clusterer],
    settings: TopicSettings | None = None,
) -> DomainGroups:
    """Group the domains of one language.

    `clusterer` makes a clusterer for a given number of rows. The measure learns from the largest
    domains. A domain without a word of at least `min_weight` is a group of its own.
    """
    settings = settings or TopicSettings()
    order = sorted(domains, key=lambda number: (-domains[number].n_units, number))
    rows = topic_rows([domains[number] for number in order], settings)
    first = csr_array(rows[: settings.most])
    n_blocks = len(range(settings.most, len(order), settings.most))
    if measure is not None:
        measure.learn(first)
    progress.report(1, 2 + n_blocks)
    compare = None if measure is None else measure.compare
    labels = (
        with_own_groups(clusterer(first.shape[0]).cluster(first, compare))
        if order
        else np.zeros(0, dtype=np.int64)
    )
    for block_number, start in enumerate(range(settings.most, len(order), settings.most)):
        progress.report(2 + block_number, 2 + n_blocks)
        block = csr_array(rows[start : start + settings.most])
        block_labels = _nearest_groups(
            rows[:start], labels, block, compare or cosines, settings.near
        )
        alone = np.flatnonzero(block_labels < 0)
        if len(alone):
            left = csr_array(block[alone])
            block_labels[alone] = (
                labels.max() + 1 + with_own_groups(clusterer(len(alone)).cluster(left, compare))
            )
        labels = np.concatenate([labels, block_labels])
    return DomainGroups(np.array(order, dtype=np.int64), renumbered(labels))


def with_own_groups(labels: Labels) -> Labels:
    """Return labels in which each row without a group gets a group of its own.

    >>> with_own_groups(np.array([0, -1, 0, -1])).tolist()
    [0, 1, 0, 2]
    """
    result = np.asarray(labels, dtype=np.int64).copy()
    without = np.flatnonzero(result < 0)
    result[without] = result.max(initial=-1) + 1 + np.arange(len(without))
    return result


def _nearest_groups(
    rows: Rows, labels: Labels, block: Rows, compare: Compare, near: float
) -> Labels:
    """Return for each row of a block the group with the most similar summed row, or -1."""
    similar = compare(block, group_sums(rows, labels))
    best: Labels = np.argmax(similar, axis=1).astype(np.int64)
    score = similar[np.arange(len(best)), best]
    best[(score < near) | (np.diff(block.indptr) == 0)] = -1
    return best


def group_sums(rows: Rows, labels: Labels) -> Rows:
    """Return the summed row of each group; rows with a negative label are in none.

    >>> group_sums(csr_array([[1.0, 0.0], [2.0, 1.0], [5.0, 5.0]]), np.array([0, 0, -1])).toarray()
    array([[3., 1.]])
    """
    members = np.flatnonzero(labels >= 0)
    shape = (int(labels.max(initial=-1)) + 1, len(labels))
    return csr_array(
        csr_array((np.ones(len(members)), (labels[members], members)), shape=shape) @ rows
    )


def cosines(left: Rows, right: Rows) -> Matrix:
    """Return cosines, for clusterers without a similarity."""
    lengths = [np.sqrt(np.asarray(r.multiply(r).sum(axis=1)).ravel()) for r in (left, right)]
    one, two = (np.where(n > 0, n, 1.0) for n in lengths)
    similar: Matrix = (left @ right.T).toarray() / one[:, None] / two[None, :]
    return similar


def renumbered(labels: Labels) -> Labels:
    """Return the same groups, numbered 0, 1, … by their first member."""
    _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    ordered: Labels = rank[inverse]
    return ordered
