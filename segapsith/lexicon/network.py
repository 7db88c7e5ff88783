"""The collocation network: which words keep company, and how closely.

How often every two words meet is counted (`pairs`); a pair that meets more often than its words
would by chance is a link, and its cohesion is its mutual information as a share of the most that is
possible (algorithms 1.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.lexicon.cooccurrence import LOW, WINDOW, Pairs, PairSums, count_pairs
from segapsith.lexicon.vocabulary import Vocabulary
from segapsith.lexicon.weighting import significance
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

_SCALE = 1 << 16
"""Cohesion is kept to this part, so that the last bit of a logarithm decides nothing."""

# --- from counts to links ----------------------------------------------------------------

_MIN_COHESION = {"tight": 0.2, "ferret": 0.1}


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What becomes a link. Thresholds belong to a normaliser, so they are kept with its name."""

    window: int = WINDOW
    """Content words within which two words meet [the number is published, the unit is ours]."""
    normalizer: str = "tight"
    """`tight` divides by log2(N² / T), the most that is possible; `ferret` by
    log2(N² (window - 1))."""
    min_count: int | None = None
    """Pairs that met less often are no link. None: 2 below a million words of a language, 5, and
    10 above fifty millions."""
    min_cohesion: float | None = None
    """Pairs below are no link. None: 0.2 for `tight`, 0.1 for `ferret`."""
    most_links: int = 500
    """A word's strongest links that are kept, equal ones in the order of the words' numbers; 0
    keeps all."""
    kept_by: str = "both"
    """A link stays if it is among the strongest of `both` its words, so that no word has more
    than `most_links`; or of `either`, so that rare words keep theirs to frequent ones."""

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
        """The count from which a pair may be a link, in a corpus of so many content words."""
        if self.min_count is not None:
            return self.min_count
        return 2 if tokens < 1_000_000 else 5 if tokens <= 50_000_000 else 10

    @property
    def least_cohesion(self) -> float:
        chosen = self.min_cohesion
        return _MIN_COHESION[self.normalizer] if chosen is None else chosen

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
    """The links between words that the counts speak for.

    I(x, y) = log2(f(x, y) N² / (T f(x) f(y))) and cohesion = max(0, I) / I_max, with f(x, y) how
    often the pair met, f(x) the occurrences of a word, N the content words and T the sum of all
    f(x, y) of the language. No pair passes 1, because no pair of places counts twice.

    `pairs` come in pieces by ascending key (`[run]` will do). `occurrences` has one value a word.
    With several languages, `languages` gives the number of each word's and `tokens` the size of
    each. Memory follows the pairs that met often enough, not all pairs.
    """
    chosen = settings or NetworkSettings()
    sizes = np.atleast_1d(np.asarray(tokens, np.int64))
    of_word = (
        np.zeros(len(occurrences), np.int32)
        if languages is None
        else np.asarray(languages, np.int32)
    )
    least = np.array([chosen.least_count(int(size)) for size in sizes], np.int64)
    totals = np.zeros(len(sizes), np.int64)
    frequent = [_often(piece.keys, piece.counts, of_word, least, totals) for piece in pairs]
    keys = np.concatenate([k for k, _ in frequent] or [np.zeros(0, np.int64)])
    counts = np.concatenate([c for _, c in frequent] or [np.zeros(0, np.int32)])
    frequent.clear()
    squares = sizes.astype(np.float64) ** 2
    scale = np.maximum(squares, 1) / np.maximum(totals, 1)
    most = np.log2(
        scale if chosen.normalizer == "tight" else np.maximum(squares * (chosen.window - 1), 2)
    )
    weights = _cohesion(keys, counts, np.maximum(occurrences, 1), of_word, scale, most)
    held = (weights > 0) & (weights >= np.float32(chosen.least_cohesion))
    keys, weights = keys[held], weights[held]
    graph = Links(*_symmetric(keys, weights, len(occurrences)))
    del keys, weights
    if chosen.most_links and np.diff(graph.starts).max(initial=0) > chosen.most_links:
        graph = Links(*_capped(*graph, chosen.most_links, chosen.kept_by == "both"))
    return graph


@kernel
def _often(
    keys: Keys,
    counts: Counts,
    languages: NDArray[np.int32],
    least: NDArray[np.int64],
    totals: NDArray[np.int64],
) -> tuple[Keys, NDArray[np.int32]]:
    """The pairs that met often enough; adds all to the totals of their languages."""
    held, times = np.empty(len(keys), np.int64), np.empty(len(keys), np.int32)
    n = 0
    for i in range(len(keys)):
        lang = languages[keys[i] >> 32]
        totals[lang] += counts[i]
        held[n], times[n] = keys[i], min(counts[i], 2**31 - 1)
        n += counts[i] >= least[lang]
    return held[:n].copy(), times[:n].copy()


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
        values[i] = np.rint(value * _SCALE) / _SCALE
    return values


@kernel
def _symmetric(
    keys: Keys, weights: NDArray[np.float32], n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Both directions of every link. Keys ascend, so every row fills in ascending order."""
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
    """The graph with the strongest links only; equal ones in the order of the neighbours."""
    n_words = len(starts) - 1
    kept = np.ones(len(neighbours), np.bool_)
    for row in range(n_words):
        first, last = starts[row], starts[row + 1]
        if last - first <= most:
            continue
        bar = np.sort(weights[first:last])[last - first - most]
        equal = most
        for i in range(first, last):
            equal -= weights[i] > bar
        for i in range(first, last):
            if weights[i] == bar:
                kept[i] = equal > 0
                equal -= 1
            else:
                kept[i] = weights[i] > bar
    # The other direction of each link: rows ascend, so every row is met in the order of its own
    # neighbours.
    place = starts[:-1].copy()
    new_starts = np.zeros(n_words + 1, np.int64)
    n = 0
    stays = np.zeros(len(neighbours), np.bool_)
    for row in range(n_words):
        for i in range(starts[row], starts[row + 1]):
            mirror = place[neighbours[i]]
            place[neighbours[i]] += 1
            stays[i] = (kept[i] and kept[mirror]) if by_both else (kept[i] or kept[mirror])
            n += stays[i]
        new_starts[row + 1] = n
    new_neighbours = np.empty(n, np.int32)
    new_weights = np.empty(n, np.float32)
    n = 0
    for i in range(len(neighbours)):
        if stays[i]:
            new_neighbours[n] = neighbours[i]
            new_weights[n] = weights[i]
            n += 1
    return new_starts, new_neighbours, new_weights


def half_of(graph: Links) -> Links:
    """Each link once, under its smaller word: the form in which a graph is kept."""
    rows = np.repeat(np.arange(len(graph.starts) - 1), np.diff(graph.starts))
    held = graph.neighbours > rows
    starts = np.append(0, np.cumsum(held))[graph.starts].astype(np.int64)
    return Links(starts, graph.neighbours[held], graph.weights[held])


def both_ways(half: Links) -> Links:
    """The inverse of `half_of`."""
    rows = np.repeat(np.arange(len(half.starts) - 1), np.diff(half.starts))
    keys = rows.astype(np.int64) << 32 | half.neighbours
    return Links(*_symmetric(keys, half.weights, len(half.starts) - 1))


# --- a network of texts in memory --------------------------------------------------------

_BUFFER = 500_000
"""Words that are counted at a time."""


def network_of(texts: Iterable[Sequence[str]], settings: NetworkSettings | None = None) -> Network:
    """The network of texts of one language, each the sequence of its content words."""
    chosen = settings or NetworkSettings()
    vocabulary, sums = Vocabulary(), PairSums()
    words: list[int] = []
    ends: list[int] = []
    occurrences = np.zeros(0, np.int64)

    def flush() -> None:
        nonlocal occurrences
        numbers = np.array(words, np.int32)
        sums.add(count_pairs(numbers, chosen.window, np.array(ends, np.int64)))
        found = np.bincount(numbers, minlength=len(vocabulary)).astype(np.int64)
        found[: len(occurrences)] += occurrences
        occurrences = found
        words.clear()
        ends.clear()

    for text in texts:
        words += vocabulary.numbers("", text)
        ends.append(len(words))
        if len(words) >= _BUFFER:
            flush()
    flush()
    tokens = int(occurrences.sum())
    graph = links([sums.total()], occurrences, tokens, chosen)
    rows: Mapping[str, int] = {word: row for row, word in enumerate(vocabulary.words)}
    return Network(
        rows=rows,
        words=tuple(vocabulary.words),
        starts=graph.starts,
        neighbours=graph.neighbours,
        weights=graph.weights,
        significance=significance(tokens, occurrences).astype(np.float32),
    )
