"""The co-occurrence network: words that co-occur more often than chance predicts.

`segapsith.lexicon.cooccurrence` counts the pairs. A pair that co-occurs more often than its words
would by chance is a link. The cohesion of a link is its mutual information divided by the largest
possible value; see docs/concepts/formulas.md, "Co-occurrence network".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.lexicon.cooccurrence import LOW, WINDOW, Pairs, PairSums, count_pairs
from segapsith.lexicon.vocabulary import Vocabulary, significance
from segapsith.model import Network

__all__ = [
    "Links",
    "NetworkSettings",
    "both_ways",
    "half_of",
    "links",
    "network_of",
]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]

_COHESION_STEPS = 1 << 16
"""Cohesion is rounded to 1 / this, so that the last bit of a logarithm has no effect."""

# --- from counts to links ----------------------------------------------------------------

_MIN_COHESION = {"tight": 0.2, "ferret": 0.1}


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Which pairs become links. The thresholds depend on the normaliser."""

    window: int = WINDOW
    """Content words within which two words co-occur. Published as 20; the unit is our choice."""
    normalizer: str = "tight"
    """`tight` divides by log2(N² / T), the largest possible value; `ferret` divides by
    log2(N² (window - 1))."""
    min_count: int | None = None
    """Least number of co-occurrences. None: 2 below 1 million words of a language, 5 up to 50
    million, 10 above."""
    min_cohesion: float | None = None
    """Least cohesion. None: 0.2 for `tight`, 0.1 for `ferret`."""
    most_links: int = 500
    """Links per word, at most; the strongest remain, equal ones by word number (0: all)."""
    kept_by: str = "both"
    """A link remains if it is among the strongest of `both` its words, so that no word has more than
    `most_links`, or of `either`, so that rare words keep their links to frequent ones."""

    def __post_init__(self) -> None:
        if self.window < 2:
            raise ValueError(f"window={self.window} should be >= 2")
        if self.normalizer not in _MIN_COHESION:
            raise ValueError(f"normalizer={self.normalizer!r} should be 'tight' or 'ferret'")
        if self.min_count is not None and self.min_count < 1:
            raise ValueError(f"min_count={self.min_count} should be >= 1")
        if self.min_cohesion is not None and not 0 <= self.min_cohesion <= 1:
            raise ValueError(f"min_cohesion={self.min_cohesion} should lie between 0 and 1")
        if self.most_links < 0:
            raise ValueError(f"most_links={self.most_links} should be >= 0")
        if self.kept_by not in ("both", "either"):
            raise ValueError(f"kept_by={self.kept_by!r} should be 'both' or 'either'")

    def least_count(self, tokens: int) -> int:
        """Return the least count of a link, in a corpus with this many content words."""
        if self.min_count is not None:
            return self.min_count
        return 2 if tokens < 1_000_000 else 5 if tokens <= 50_000_000 else 10

    @property
    def least_cohesion(self) -> float:
        """The least cohesion of a link."""
        default = _MIN_COHESION[self.normalizer]
        return default if self.min_cohesion is None else self.min_cohesion

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Links(NamedTuple):
    """A symmetric graph: row r is linked to neighbours[starts[r]:starts[r + 1]], ascending."""

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    weights: NDArray[np.float32]


def links(
    pairs: Iterable[Pairs],
    occurrences: NDArray[np.int64],
    tokens: int | Sequence[int],
    settings: NetworkSettings | None = None,
    languages: NDArray[Any] | None = None,
) -> Links:
    """Return the links between words.

    I(x, y) = log2(f(x, y) N² / (T f(x) f(y))) and cohesion = max(0, I) / I_max. f(x, y) counts the
    co-occurrences of a pair, f(x) the occurrences of a word, N is the number of content words and T
    the sum of all f(x, y) of the language. With `tight`, cohesion is at most 1, because no pair of
    positions counts twice.

    `pairs` are pieces by ascending key, for example `[run]`. `occurrences` has one value per word.
    With several languages, `languages` has the language number of each word and `tokens` the size
    of each language. Memory grows with the pairs that reach the least count, not with all pairs.
    """
    settings = settings or NetworkSettings()
    sizes = np.atleast_1d(np.asarray(tokens, np.int64))
    of_word = (
        np.zeros(len(occurrences), np.int32)
        if languages is None
        else np.asarray(languages, np.int32)
    )
    least = np.array([settings.least_count(int(size)) for size in sizes], np.int64)
    totals = np.zeros(len(sizes), np.int64)
    frequent = [_frequent(piece.keys, piece.counts, of_word, least, totals) for piece in pairs]
    keys = np.concatenate([k for k, _ in frequent] or [np.zeros(0, np.int64)])
    counts = np.concatenate([c for _, c in frequent] or [np.zeros(0, np.int32)])
    frequent.clear()
    squares = sizes.astype(np.float64) ** 2
    scale = np.maximum(squares, 1) / np.maximum(totals, 1)
    most = np.log2(
        scale if settings.normalizer == "tight" else np.maximum(squares * (settings.window - 1), 2)
    )
    weights = _cohesion(keys, counts, np.maximum(occurrences, 1), of_word, scale, most)
    is_link = (weights > 0) & (weights >= np.float32(settings.least_cohesion))
    keys, weights = keys[is_link], weights[is_link]
    graph = Links(*_symmetric(keys, weights, len(occurrences)))
    del keys, weights
    if settings.most_links and np.diff(graph.starts).max(initial=0) > settings.most_links:
        graph = Links(*_capped(*graph, settings.most_links, settings.kept_by == "both"))
    return graph


@kernel
def _frequent(
    keys: Keys,
    counts: Counts,
    languages: NDArray[np.int32],
    least: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> tuple[Keys, NDArray[np.int32]]:
    """Return the pairs that reach the least count; add all pairs to the totals of languages."""
    frequent, times = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32)
    n = 0
    for i in range(len(keys)):
        lang = languages[keys[i] >> 32]
        totals[lang] += counts[i]
        frequent[n], times[n] = keys[i], min(counts[i], 2**31 - 1)
        n += counts[i] >= least[lang]
    return frequent[:n].copy(), times[:n].copy()


@kernel
def _cohesion(
    keys: Keys,
    counts: NDArray[np.int32],
    occurrences: NDArray[np.int64],
    languages: NDArray[np.int32],
    scale: NDArray[np.float64],
    most: NDArray[np.float64],
) -> NDArray[np.float32]:
    values = np.empty(len(keys), np.float32)
    for i in range(len(keys)):
        one, other = keys[i] >> 32, keys[i] & LOW
        lang = languages[one]
        chance = float(occurrences[one]) * float(occurrences[other])
        information = np.log2(counts[i] * scale[lang] / chance)
        value = min(1.0, max(0.0, information / most[lang])) if most[lang] > 0 else 0.0
        values[i] = np.rint(value * _COHESION_STEPS) / _COHESION_STEPS
    return values


@kernel
def _symmetric(
    keys: Keys, weights: NDArray[np.float32], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return both directions of every link. Keys ascend, so every row is filled in ascending order."""
    starts = np.zeros(n_words + 1, np.int64)
    for key in keys:
        starts[(key >> 32) + 1] += 1
        starts[(key & LOW) + 1] += 1
    for row in range(n_words):
        starts[row + 1] += starts[row]
    place = starts[:-1].copy()
    neighbours = np.empty(2 * len(keys), np.int32)
    both = np.empty(2 * len(keys), np.float32)
    for i in range(len(keys)):
        one, other = keys[i] >> 32, keys[i] & LOW
        neighbours[place[one]] = other
        both[place[one]] = weights[i]
        place[one] += 1
        neighbours[place[other]] = one
        both[place[other]] = weights[i]
        place[other] += 1
    return starts, neighbours, both


@kernel
def _capped(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.float32],
    most: int,
    by_both: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the graph with the strongest links only; of equal ones, the first neighbours."""
    n_words = len(starts) - 1
    is_strong = np.ones(len(neighbours), np.bool_)
    for row in range(n_words):
        first, last = starts[row], starts[row + 1]
        if last - first <= most:
            continue
        limit = np.sort(weights[first:last])[last - first - most]
        n_equal = most  # links with the weight of the limit that remain
        for i in range(first, last):
            n_equal -= weights[i] > limit
        for i in range(first, last):
            if weights[i] == limit:
                is_strong[i] = n_equal > 0
                n_equal -= 1
            else:
                is_strong[i] = weights[i] > limit
    # Find the other direction of each link: rows ascend, so each row is reached in the order of its
    # own neighbours.
    place = starts[:-1].copy()
    new_starts = np.zeros(n_words + 1, np.int64)
    n = 0
    remains = np.zeros(len(neighbours), np.bool_)
    for row in range(n_words):
        for i in range(starts[row], starts[row + 1]):
            mirror = place[neighbours[i]]
            place[neighbours[i]] += 1
            one, other = is_strong[i], is_strong[mirror]
            remains[i] = (one and other) if by_both else (one or other)
            n += remains[i]
        new_starts[row + 1] = n
    new_neighbours = np.empty(n, np.int32)
    new_weights = np.empty(n, np.float32)
    n = 0
    for i in range(len(neighbours)):
        if remains[i]:
            new_neighbours[n] = neighbours[i]
            new_weights[n] = weights[i]
            n += 1
    return new_starts, new_neighbours, new_weights


def half_of(graph: Links) -> Links:
    """Return each link once, under its smaller word, which is the stored form of a graph."""
    rows = np.repeat(np.arange(len(graph.starts) - 1), np.diff(graph.starts))
    is_larger = graph.neighbours > rows
    starts = np.append(0, np.cumsum(is_larger))[graph.starts].astype(np.int64)
    return Links(starts, graph.neighbours[is_larger], graph.weights[is_larger])


def both_ways(half: Links) -> Links:
    """Return each link in both directions, the inverse of `half_of`."""
    rows = np.repeat(np.arange(len(half.starts) - 1), np.diff(half.starts))
    keys = rows.astype(np.int64) << 32 | half.neighbours
    return Links(*_symmetric(keys, half.weights, len(half.starts) - 1))


# --- a network of texts in memory --------------------------------------------------------

_BUFFER_WORDS = 500_000
"""Words that are counted at a time."""


def network_of(texts: Iterable[Sequence[str]], settings: NetworkSettings | None = None) -> Network:
    """Return the network of texts of one language; a text is the sequence of its content words."""
    settings = settings or NetworkSettings()
    vocabulary, sums = Vocabulary(), PairSums()
    words: list[int] = []
    ends: list[int] = []
    occurrences = np.zeros(0, np.int64)

    def flush() -> None:
        nonlocal occurrences
        numbers = np.array(words, np.int32)
        sums.add(count_pairs(numbers, settings.window, np.array(ends, np.int64)))
        sums_so_far = np.bincount(numbers, minlength=len(vocabulary)).astype(np.int64)
        sums_so_far[: len(occurrences)] += occurrences
        occurrences = sums_so_far
        words.clear()
        ends.clear()

    for text in texts:
        words += vocabulary.numbers("", text)
        ends.append(len(words))
        if len(words) >= _BUFFER_WORDS:
            flush()
    flush()
    tokens = int(occurrences.sum())
    graph = links([sums.total()], occurrences, tokens, settings)
    rows: Mapping[str, int] = {word: row for row, word in enumerate(vocabulary.words)}
    return Network(
        rows=rows,
        words=tuple(vocabulary.words),
        starts=graph.starts,
        neighbours=graph.neighbours,
        weights=graph.weights,
        significance=significance(tokens, occurrences).astype(np.float32),
    )
