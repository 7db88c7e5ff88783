"""The collocation network: which words keep company, and how closely.

Two content words that stand within a window of one text meet. How often every pair meets is
counted; a pair that meets more often than its words would by chance is a link, and its cohesion is
its mutual information as a share of the most that is possible (algorithms 1.2).

Counts are sorted runs of integers: keys (smaller word << 32 | larger word) with a count each. Runs
add up in any order and can be taken back exactly, and they can be merged piece by piece, so that
the memory that is needed does not follow the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.model import Network
from segapsith.vocabulary import Vocabulary
from segapsith.weighting import significance

__all__ = [
    "WINDOW",
    "Links",
    "NetworkSettings",
    "PairSums",
    "Pairs",
    "both_ways",
    "count_pairs",
    "half_of",
    "key_of",
    "links",
    "merged",
    "merged_streams",
    "network_of",
    "words_of",
]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]
Words = NDArray[np.int32]

WINDOW = 20
"""Content words: two words meet if fewer than this many lie from one to the other."""

_SCALE = 1 << 16
"""Cohesion is kept to this part, so that the last bit of a logarithm decides nothing."""

_LOW = (1 << 32) - 1


class Pairs(NamedTuple):
    """A run: ascending keys, each once, with a count that is not 0; negative takes away."""

    keys: Keys
    counts: Counts

    @classmethod
    def none(cls) -> Pairs:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))


def key_of(one: int, other: int) -> int:
    """The key of a pair of words, in any order.

    >>> key_of(3, 1) == key_of(1, 3) == (1 << 32) + 3
    True
    """
    return min(one, other) << 32 | max(one, other)


def words_of(keys: Keys) -> tuple[Words, Words]:
    """The smaller and the larger word of each key."""
    return (keys >> 32).astype(np.int32), (keys & _LOW).astype(np.int32)


# --- counting ----------------------------------------------------------------------------


def count_pairs(words: Words, window: int = WINDOW, ends: NDArray[np.int64] | None = None) -> Pairs:
    """How often each two different words meet in a text, or in many texts end to end.

    Each pair of places i < j < i + window counts once, whatever the order of the words; a word
    does not meet itself. `ends` says where each text ends; without it there is one.

    >>> keys, counts = count_pairs(np.array([1, 2, 1], np.int32))
    >>> keys.tolist() == [key_of(1, 2)], counts.tolist()
    (True, [2])
    """
    if window < 2:
        raise ValueError(f"window={window} should be >= 2")
    limits = np.array([len(words)]) if ends is None else np.asarray(ends)
    keys = _met(np.asarray(words, np.int32), limits.astype(np.int64), window)
    keys.sort()
    return Pairs(*_reduced(keys))


@kernel
def _met(words: Words, ends: NDArray[np.int64], window: int) -> Keys:
    """The key of every pair of places whose words meet."""
    n = 0
    start = 0
    for end in ends:
        size = end - start
        near = min(size, window) - 1
        if near > 0:
            n += near * (size - near) + near * (near - 1) // 2
        start = end
    keys = np.empty(n, np.int64)
    n = 0
    start = 0
    for end in ends:
        for i in range(start, end):
            one = np.int64(words[i])
            for j in range(i + 1, min(i + window, end)):
                other = np.int64(words[j])
                if one < other:
                    keys[n] = one << 32 | other
                    n += 1
                elif other < one:
                    keys[n] = other << 32 | one
                    n += 1
        start = end
    return keys[:n]


@kernel
def _reduced(keys: Keys) -> tuple[Keys, Counts]:
    """Sorted keys once each, with how often they are there."""
    n = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            n += 1
    distinct = np.empty(n, np.int64)
    counts = np.zeros(n, np.int64)
    n = -1
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            n += 1
            distinct[n] = keys[i]
        counts[n] += 1
    return distinct, counts


# --- adding up ---------------------------------------------------------------------------


def merged(runs: Sequence[Pairs]) -> Pairs:
    """The sum of runs; pairs whose counts cancel are gone."""
    heap = list(runs) or [Pairs.none()]
    if len(heap) == 1:
        keys, counts = heap[0]
        held = counts != 0
        return heap[0] if held.all() else Pairs(keys[held], counts[held])
    while len(heap) > 1:
        halves = [Pairs(*_sum(*a, *b)) for a, b in zip(heap[::2], heap[1::2], strict=False)]
        heap = halves + ([heap[-1]] if len(heap) % 2 else [])
    return heap[0]


@kernel
def _sum(keys: Keys, counts: Counts, more_keys: Keys, more_counts: Counts) -> tuple[Keys, Counts]:
    n, m = len(keys), len(more_keys)
    out = np.empty(n + m, np.int64)
    sums = np.empty(n + m, np.int64)
    i, j, k = 0, 0, 0
    while i < n or j < m:
        if j == m or (i < n and keys[i] < more_keys[j]):
            key, count = keys[i], counts[i]
            i += 1
        elif i == n or more_keys[j] < keys[i]:
            key, count = more_keys[j], more_counts[j]
            j += 1
        else:
            key, count = keys[i], counts[i] + more_counts[j]
            i += 1
            j += 1
        if count != 0:
            out[k] = key
            sums[k] = count
            k += 1
    return out[:k].copy(), sums[:k].copy()


def merged_streams(streams: Sequence[Iterator[Pairs]]) -> Iterator[Pairs]:
    """The sum of runs that each come in pieces by ascending key, again in such pieces.

    Only one piece of every run is in memory at a time.
    """
    waiting = [(piece, stream) for stream in streams if (piece := _next_piece(stream)) is not None]
    while waiting:
        bound = min(int(piece.keys[-1]) for piece, _ in waiting)
        ready: list[Pairs] = []
        left: list[tuple[Pairs, Iterator[Pairs]]] = []
        for piece, stream in waiting:
            cut = int(np.searchsorted(piece.keys, bound, "right"))
            if cut:
                ready.append(Pairs(piece.keys[:cut], piece.counts[:cut]))
            rest: Pairs | None = Pairs(piece.keys[cut:], piece.counts[cut:])
            if cut == len(piece.keys):
                rest = _next_piece(stream)
            if rest is not None:
                left.append((rest, stream))
        total = merged(ready)
        if len(total.keys):
            yield total
        waiting = left


def _next_piece(stream: Iterator[Pairs]) -> Pairs | None:
    """The next piece that is not empty."""
    return next((piece for piece in stream if len(piece.keys)), None)


class PairSums:
    """Running counts in memory: runs of like size are merged, so adding many costs little.

    >>> sums = PairSums()
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)))
    >>> sums.add(count_pairs(np.array([1, 2], np.int32)), -1)
    >>> len(sums.total().keys)
    0
    """

    def __init__(self) -> None:
        self._runs: list[Pairs] = []

    def add(self, run: Pairs, sign: int = 1) -> None:
        """Adds counts, or takes them away with `sign=-1`."""
        if not len(run.keys):
            return
        self._runs.append(run if sign == 1 else Pairs(run.keys, sign * run.counts))
        while len(self._runs) > 1 and len(self._runs[-2].keys) < 2 * len(self._runs[-1].keys):
            last = self._runs.pop()
            self._runs[-1] = merged([self._runs[-1], last])

    def total(self) -> Pairs:
        """Everything that was added, as one run."""
        self._runs = [merged(self._runs)]
        return self._runs[0]


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
    frequent: list[tuple[Keys, NDArray[np.int32]]] = []
    for piece in pairs:
        held = _often(piece.keys, piece.counts, of_word, least, totals)
        frequent.append((piece.keys[held], np.minimum(piece.counts[held], 2**31 - 1).astype("i4")))
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
) -> NDArray[np.bool_]:
    """Which pairs met often enough; adds all to the totals of their languages."""
    held = np.zeros(len(keys), np.bool_)
    for i in range(len(keys)):
        lang = languages[keys[i] >> 32]
        totals[lang] += counts[i]
        held[i] = counts[i] >= least[lang]
    return held


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
        one, other = keys[i] >> 32, keys[i] & _LOW
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
        starts[(key & _LOW) + 1] += 1
    for row in range(n_words):
        starts[row + 1] += starts[row]
    place = starts[:-1].copy()
    neighbours = np.empty(2 * len(keys), np.int32)
    both = np.empty(2 * len(keys), np.float32)
    for i in range(len(keys)):
        one, other = keys[i] >> 32, keys[i] & _LOW
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
