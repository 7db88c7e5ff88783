"""Links from clusters to domains by their words, with two methods of Ferret, Grau & Jardino (2001).

By similarity (equation 7), a cluster is linked to the most similar domain above a threshold. By
entropy (equation 8), it is linked to the domain whose smoothed word probabilities are nearest.
Neither method uses which units lie in which group.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Matrix

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "Activation",
    "Links",
    "Profiles",
    "link_by_entropy",
    "link_by_similarity",
    "profiles",
    "shared_links",
    "similarities",
    "witten_bell",
]

_CELLS_AT_ONCE = 4_000_000
"""Number of divergences that are in memory at a time."""

C = TypeVar("C", bound=Hashable)
D = TypeVar("D", bound=Hashable)

Words: TypeAlias = Mapping[str, float | tuple[float, float]]
"""Words with (weight, occurrences), or with one number for both."""


@dataclass(frozen=True, slots=True, eq=False)
class Profiles(Generic[C]):
    """Groups as rows of word weights and of word occurrences."""

    ids: tuple[C, ...]
    words: tuple[str, ...]
    weights: Rows
    occurrences: Rows


@dataclass(frozen=True, slots=True)
class Activation:
    """The filter of equation 6: only domains with a high activation are compared.

    activ(d) = sum_w W_dw W_cw. The filter passes domains with at least `share` of the highest
    activation, at most `at_most` of them. The published text prints no rule; this one is ours.
    """

    share: float = 0.5
    at_most: int = 20

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"share={self.share} should lie between 0 and 1")
        if self.at_most < 1:
            raise ValueError(f"at_most={self.at_most} should be >= 1")


@dataclass(frozen=True, slots=True)
class Links(Generic[C, D]):
    """The domain that each cluster is linked to, if any, and its score.

    `scores` holds the value of the best domain: the similarity (more is better; 0 if no word is
    shared) or the divergence in nats (less is better; infinite for a cluster without words).
    `table` counts the domains with 0, 1, 2, … clusters, and `unlinked` the clusters without domain.
    """

    links: dict[C, D | None]
    scores: dict[C, float]
    table: dict[int, int]
    unlinked: int


def profiles(groups: Mapping[C, Words] | Profiles[C]) -> Profiles[C]:
    """Return groups of words as matrices, without words that have no weight and no occurrences.

    >>> groups = profiles({"storm": {"wind": (0.5, 3), "rain": 2}})
    >>> groups.words, groups.weights.toarray().tolist(), groups.occurrences.toarray().tolist()
    (('wind', 'rain'), [[0.5, 2.0]], [[3.0, 2.0]])
    """
    if isinstance(groups, Profiles):
        return groups
    number: dict[str, int] = {}
    starts, columns = [0], []
    weights: list[float] = []
    occurrences: list[float] = []
    for uid, words in groups.items():
        for word, entry in words.items():
            weight, count = entry if isinstance(entry, tuple) else (entry, entry)
            if not (0 <= weight < math.inf and 0 <= count < math.inf):
                raise ValueError(f"group {uid!r}, word {word!r}: {entry} should be finite and >= 0")
            if weight or count:
                columns.append(number.setdefault(word, len(number)))
                weights.append(float(weight))
                occurrences.append(float(count))
        starts.append(len(columns))
    shape = len(starts) - 1, len(number)
    return Profiles(
        ids=tuple(groups),
        words=tuple(number),
        weights=_matrix(weights, columns, starts, shape),
        occurrences=_matrix(occurrences, columns, starts, shape),
    )


def link_by_similarity(
    clusters: Mapping[C, Words] | Profiles[C],
    domains: Mapping[D, Words] | Profiles[D],
    threshold: float = 0.25,
    prefilter: Activation | None = None,
) -> Links[C, D]:
    """Link each cluster to the most similar domain, if the similarity is above `threshold`.

    Equation 7, with w the common words and t all words of the domain d or the cluster c:

        sim(d,c) = [ (sum_w W_dw / sum_t W_dt) (sum_w O_dw / sum_t O_dt)
                   * (sum_w W_cw / sum_t W_ct) (sum_w O_cw / sum_t O_ct) ] ^ (1/4)

    It is 1 if both have the same words and 0 if they share none. 0.25 is the published
    threshold. Ties go to the first domain. By default all pairs are compared, which costs no more
    than filtering them; `prefilter` follows the paper.

    >>> clusters = {"c1": {"storm": 3, "rain": 1}, "c2": {"goal": 2}}
    >>> result = link_by_similarity(clusters, {"weather": {"storm": 2, "wind": 2}})
    >>> result.links, round(result.scores["c1"], 3), result.unlinked
    ({'c1': 'weather', 'c2': None}, 0.612, 1)
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold={threshold} should lie between 0 and 1")
    from_clusters, from_domains, _ = _aligned(profiles(clusters), profiles(domains))
    similar = _similarities(from_clusters, from_domains)
    if prefilter is not None:
        similar = similar * _activated(from_clusters.weights, from_domains.weights, prefilter)
        similar.sort_indices()
    best, scores = [], []
    for start, end in zip(similar.indptr[:-1].tolist(), similar.indptr[1:].tolist(), strict=True):
        top = start + int(np.argmax(similar.data[start:end])) if end > start else None
        score = float(similar.data[top]) if top is not None else 0.0
        best.append(int(similar.indices[top]) if score > threshold else None)
        scores.append(score)
    return _links(from_clusters.ids, from_domains.ids, best, scores)


def similarities(left: Profiles[C], right: Profiles[D]) -> Matrix:
    """Return equation 7 for all pairs as a matrix, 0 where no word is shared.

    >>> one = profiles({"storm": {"wind": 1}, "sport": {"goal": 1}})
    >>> similarities(one, one).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    from_left, from_right, _ = _aligned(left, right)
    matrix: Matrix = _similarities(from_left, from_right).toarray()
    return matrix


def link_by_entropy(
    clusters: Mapping[C, Words] | Profiles[C],
    domains: Mapping[D, Words] | Profiles[D],
    vocabulary: int | None = None,
) -> Links[C, D]:
    """Link each cluster to the domain with the least divergence of word counts.

    The domain with the least KL( p(.|c) || p'(.|d) ), where p(w|c) = O(w,c) / O(c) and p' is
    smoothed as in equation 8 (see `witten_bell`). `vocabulary` is V, the number of possible words;
    by default those of all clusters and domains. Ties go to the first domain. A cluster without
    words is linked to none.

    With u_d the probability of one unseen word, ln p'(w|d) is ln u_d plus a correction for the
    words seen in d. So one sparse product of clusters and corrections is enough.

    >>> domains = {"weather": {"storm": 2, "wind": 2}, "sport": {"goal": 9}}
    >>> link_by_entropy({"c1": {"storm": 3, "rain": 1}}, domains).links
    {'c1': 'weather'}
    """
    from_clusters, from_domains, n_words = _aligned(profiles(clusters), profiles(domains))
    if vocabulary is None:
        vocabulary = n_words
    elif vocabulary < n_words:
        raise ValueError(f"vocabulary={vocabulary} should be >= {n_words}, the number of words")
    shares, negentropies = _probabilities(from_clusters.occurrences)
    unseen, corrections = _log_witten_bell(from_domains.occurrences, vocabulary)
    to_domains = corrections.T.tocsr()
    wordless = np.diff(shares.indptr) == 0
    best: list[int | None] = []
    scores: list[float] = []
    step = max(1, _CELLS_AT_ONCE // max(1, len(unseen)))
    for start in range(0, len(wordless), step):
        block = slice(start, start + step)
        divergences = negentropies[block, None] - unseen - (shares[block] @ to_domains).toarray()
        for row, without_words in zip(divergences, wordless[block], strict=True):
            top = int(np.argmin(row)) if len(row) and not without_words else None
            best.append(top)
            scores.append(max(0.0, float(row[top])) if top is not None else math.inf)
    return _links(from_clusters.ids, from_domains.ids, best, scores)


def witten_bell(occurrences: Mapping[str, float], vocabulary: Collection[str]) -> dict[str, float]:
    """Return the smoothed probabilities of all words of the vocabulary; their sum is 1.

    p'(w) = ( O(w) + nsw / V ) / ( O + nsw ), equation 8: O occurrences of nsw different words,
    V words in the vocabulary (Witten & Bell 1991 with a uniform back-off). Without occurrences,
    all words are equally likely. `link_by_entropy` computes the same with sparse products.

    >>> witten_bell({"storm": 2}, ["storm", "wind"])
    {'storm': 0.8333333333333334, 'wind': 0.16666666666666666}
    """
    seen = {word: count for word, count in occurrences.items() if count > 0}
    if not seen.keys() <= set(vocabulary):
        raise ValueError("every word with occurrences should be in the vocabulary")
    if not seen:
        return dict.fromkeys(vocabulary, 1 / len(vocabulary)) if vocabulary else {}
    total, kinds, size = sum(seen.values()), len(seen), len(set(vocabulary))
    return {word: (seen.get(word, 0.0) + kinds / size) / (total + kinds) for word in vocabulary}


def shared_links(first: Links[C, D], second: Links[C, D]) -> dict[C, D]:
    """Return the links that two methods agree on.

    >>> one = Links({"c1": "d1", "c2": None}, {}, {}, 1)
    >>> shared_links(one, Links({"c1": "d1", "c2": "d1"}, {}, {}, 0))
    {'c1': 'd1'}
    """
    return {
        cluster: domain
        for cluster, domain in first.links.items()
        if domain is not None and second.links.get(cluster) == domain
    }


def _links(
    clusters: tuple[C, ...], domains: tuple[D, ...], best: list[int | None], scores: list[float]
) -> Links[C, D]:
    linked = Counter(top for top in best if top is not None)
    sizes = Counter(linked[domain] for domain in range(len(domains)))
    return Links(
        links={
            cluster: None if top is None else domains[top]
            for cluster, top in zip(clusters, best, strict=True)
        },
        scores=dict(zip(clusters, scores, strict=True)),
        table={size: sizes[size] for size in range(max(sizes, default=0) + 1)},
        unlinked=best.count(None),
    )


def _matrix(
    values: list[float], columns: list[int], starts: list[int], shape: tuple[int, int]
) -> Rows:
    """Return rows; explicit zeros stay, because a word may have a weight and no occurrences."""
    from scipy.sparse import csr_array  # slow to import

    rows = csr_array((np.array(values, dtype=np.float64), columns, starts), shape=shape)
    rows.sort_indices()
    return rows


def _aligned(left: Profiles[C], right: Profiles[D]) -> tuple[Profiles[C], Profiles[D], int]:
    """Return both with the same columns, and the number of columns."""
    number: dict[str, int] = {}
    for word in (*right.words, *left.words):
        number.setdefault(word, len(number))
    words = tuple(number)
    return _widened(left, words, number), _widened(right, words, number), len(words)


def _widened(groups: Profiles[C], words: tuple[str, ...], number: dict[str, int]) -> Profiles[C]:
    columns = np.array([number[word] for word in groups.words], dtype=np.int64)
    return Profiles(
        ids=groups.ids,
        words=words,
        weights=_moved(groups.weights, columns, len(words)),
        occurrences=_moved(groups.occurrences, columns, len(words)),
    )


def _moved(rows: Rows, columns: NDArray[np.int64], n_words: int) -> Rows:
    from scipy.sparse import csr_array  # slow to import

    moved = csr_array(
        (rows.data.astype(np.float64), columns[rows.indices], rows.indptr),
        shape=(rows.shape[0], n_words),
    )
    moved.sum_duplicates()  # also sorts, so that equal supports are summed in the same order
    moved.eliminate_zeros()
    return moved


def _similarities(clusters: Profiles[C], domains: Profiles[D]) -> Rows:
    """Return equation 7 for all pairs that share a word."""
    from scipy.sparse import csr_array  # slow to import

    of_clusters, of_domains = _support(clusters), _support(domains)
    similar = csr_array(
        _covered(clusters.weights, of_domains)
        * _covered(clusters.occurrences, of_domains)
        * _covered(domains.weights, of_clusters).T
        * _covered(domains.occurrences, of_clusters).T
    )
    similar.data **= 0.25
    similar.sort_indices()
    return similar


def _covered(rows: Rows, support: Rows) -> Rows:
    """Return the share of each row on the words of each group; exactly 1 on all of its words."""
    from scipy.sparse import csr_array  # slow to import

    covered = csr_array(rows @ support.T)
    covered.data /= np.repeat(_totals(rows), np.diff(covered.indptr))
    return covered


def _support(groups: Profiles[C]) -> Rows:
    return ((groups.weights + groups.occurrences) > 0).astype(np.float64)


def _totals(rows: Rows) -> Matrix:
    """Return the sum of each row, 1 for an empty row."""
    totals: Matrix = rows @ np.ones(rows.shape[1])  # in the same order of words as the products
    return np.where(totals > 0, totals, 1.0)


def _activated(clusters: Rows, domains: Rows, rule: Activation) -> Rows:
    """Return 1 for each pair that passes the filter, else 0."""
    from scipy.sparse import csr_array  # slow to import

    active = csr_array(clusters @ domains.T)
    active.sort_indices()
    for start, end in zip(active.indptr[:-1].tolist(), active.indptr[1:].tolist(), strict=True):
        values = active.data[start:end]
        if len(values):
            order = np.argsort(-values, kind="stable")[: rule.at_most]
            passed = order[values[order] >= rule.share * values.max()]
            values[:] = 0
            values[passed] = 1
    active.eliminate_zeros()
    return active


def _probabilities(occurrences: Rows) -> tuple[Rows, Matrix]:
    """Return p(w|c), and sum_w p ln p for each cluster."""
    shares = occurrences.copy()
    shares.data /= np.repeat(_totals(occurrences), np.diff(occurrences.indptr))
    terms = shares.copy()
    terms.data = shares.data * np.log(shares.data)
    return shares, terms @ np.ones(terms.shape[1])


def _log_witten_bell(occurrences: Rows, vocabulary: int) -> tuple[Matrix, Rows]:
    """Return ln p'(w|d) in two parts: that of an unseen word, and the excess of a seen one."""
    seen = np.diff(occurrences.indptr).astype(np.float64)
    totals = occurrences @ np.ones(occurrences.shape[1])
    empty = seen == 0
    size = max(1, vocabulary)
    # For a domain without words, all words are equally likely.
    unseen = np.where(empty, 1.0, seen) / size / np.where(empty, 1.0, totals + seen)
    corrections = occurrences.copy()
    backed_off = np.repeat(seen / size, np.diff(occurrences.indptr))
    corrections.data = np.log1p(occurrences.data / backed_off)
    return np.log(unseen), corrections
