"""The sentences of a text: where they begin, and how its words recur from one to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Document
from segapsith.arrays import Matrix
from segapsith.jit import kernel
from segapsith.tokens import SPACE, Tokens

__all__ = [
    "Scale",
    "Sentences",
    "body_of",
    "fitted_scale",
    "grid_sizes",
    "paragraph_starts",
    "scale_grid",
    "scale_of",
    "sentences_of",
]

Numbers = NDArray[np.int64]


def body_of(document: Document) -> int:
    """Return the character with which the body begins; the title belongs to the first unit.

    >>> body_of(Document(title="Flood", body="The river rose."))
    7
    """
    return len(document.title) + 2 if document.title and document.body else 0


_FULL_STOPS = tuple(map(ord, ".!?"))
_CLOSING = tuple(map(ord, "\"'”’»)]"))
_LINE_END, _BLANK, _TAB = ord("\n"), ord(" "), ord("\t")


@kernel
def _is_one_of(code: int, signs: tuple[int, ...]) -> bool:
    for sign in signs:
        if code == sign:
            return True
    return False


@kernel
def _stops(codes: NDArray[np.uint32], kinds: NDArray[np.uint8]) -> Numbers:
    """Return where the full stops of a tokenised text end, which have blanks on both sides.

    As a pattern: \\s[.!?]+["'”’»)\\]\\s]*\\s
    """
    ends = np.empty(len(codes) // 3 + 1, np.int64)
    n_ends, i, n = 0, 0, len(codes)
    while i + 1 < n:
        if not kinds[i] & SPACE or not _is_one_of(codes[i + 1], _FULL_STOPS):
            i += 1
            continue
        j = i + 2
        while j < n and _is_one_of(codes[j], _FULL_STOPS):
            j += 1
        end = 0
        while j < n and (kinds[j] & SPACE or _is_one_of(codes[j], _CLOSING)):
            j += 1
            if kinds[j - 1] & SPACE:
                end = j
        if end:
            ends[n_ends] = end
            n_ends += 1
            i = end
        else:
            i += 1
    return ends[:n_ends].copy()


@kernel
def paragraph_starts(
    codes: NDArray[np.uint32], kinds: NDArray[np.uint8], begins: Numbers, ends: Numbers
) -> tuple[Numbers, Numbers]:
    """Return where paragraphs begin within the stretches of a text, and how many up to the end of
    each stretch.

    A paragraph begins after an empty line or with an indent: \\n[ \\t]*\\n\\s*|\\n(?=[ \\t]{2,}\\S)
    """
    starts = np.empty(len(codes) // 2 + 1, np.int64)
    counts = np.empty(len(begins), np.int64)
    n_starts = 0
    for text in range(len(begins)):
        i, n = begins[text], ends[text]
        while i < n:
            if codes[i] != _LINE_END:
                i += 1
                continue
            j = i + 1
            while j < n and (codes[j] == _BLANK or codes[j] == _TAB):
                j += 1
            if j < n and codes[j] == _LINE_END:
                j += 1
                while j < n and kinds[j] & SPACE:
                    j += 1
                starts[n_starts] = j
                n_starts += 1
                i = j
            elif j - i > 2 and j < n and not kinds[j] & SPACE:
                starts[n_starts] = i + 1
                n_starts += 1
                i += 1
            else:
                i += 1
        counts[text] = n_starts
    return starts[:n_starts].copy(), counts


_MAX_TOKENS = 120
"""Tokens of a sentence; a longer one is a text whose punctuation was lost, and is divided."""

_PIECE_TOKENS, _MIN_PIECE_TOKENS = 30, 8
"""Tokens of the pieces of a sentence that is divided."""


class Sentences(NamedTuple):
    """First token and first character of each sentence of a body."""

    first: Numbers
    start: Numbers


def sentences_of(tokens: Tokens, bodies: Sequence[int]) -> Sentences:
    """Return the sentences of texts after their characters `bodies`, each with at least one token.

    Tokens and characters are numbered as in `tokens`. Sentences are those of the annotator, and a
    full stop between blanks always ends one. A sentence of more than 120 tokens is a text whose
    punctuation was lost: it is divided at line ends, before capitals, or every 30 tokens.
    """
    begins = tokens.offsets + np.array(bodies, np.int64)
    stops = _stops(tokens.codes, tokens.kinds)
    bounds = np.unique(np.concatenate([tokens.sentence_starts, stops, begins]))
    text_of = np.searchsorted(tokens.offsets, bounds, side="right") - 1
    is_body = bounds >= begins[text_of]
    bounds, text_of = bounds[is_body], text_of[is_body]
    first = np.searchsorted(tokens.spans[:, 0], bounds)
    ends = np.minimum(np.append(first[1:], tokens.firsts[-1]), tokens.firsts[text_of + 1])
    first = np.minimum(first, tokens.firsts[text_of + 1])
    has_tokens = ends > first
    first, start, ends = first[has_tokens], bounds[has_tokens], ends[has_tokens]
    if not len(first) or (ends - first).max() <= _MAX_TOKENS:
        return Sentences(first, start)
    firsts, starts = [], []
    for begin, character, end in zip(first.tolist(), start.tolist(), ends.tolist(), strict=True):
        firsts.append(begin)
        starts.append(character)
        if end - begin > _MAX_TOKENS:
            for cut in _pieces(tokens.text, tokens.spans, begin, end):
                firsts.append(cut)
                starts.append(int(tokens.spans[cut, 0]))
    return Sentences(np.array(firsts, np.int64), np.array(starts, np.int64))


def _pieces(text: str, spans: NDArray[np.int64], begin: int, end: int) -> Iterator[int]:
    """Yield the tokens at which a sentence without punctuation is divided."""
    last = begin
    capital = text[spans[begin, 0]].isupper()
    for i in range(begin + 1, end - _MIN_PIECE_TOKENS):
        was_capital, capital = capital, text[spans[i, 0]].isupper()
        size = i - last
        line = "\n" in text[spans[i - 1, 1] : spans[i, 0]]
        opens = (capital and not was_capital) or line
        if size >= _PIECE_TOKENS or (size >= _MIN_PIECE_TOKENS and opens):
            yield i
            last = i


# --- recurrence --------------------------------------------------------------------------


class Scale(NamedTuple):
    """How the recurrence of words falls with the distance between two sentences.

    The probability that two words, `lag` sentences apart, are the same is near (1 - lag/length)+ +
    far: a text made of pieces of `length` sentences that have only `far` in common. `near` is 0 if
    there was too little evidence.
    """

    length: float
    near: float
    far: float


_MAX_LAG = 400
_MAX_NEXT_OCCURRENCES = 60
_EM_STEPS = 40


def scale_of(words: Numbers, ends: Numbers) -> Scale:
    """Return the scale of a text; `ends` divides its words into sentences (first 0, last all).

    The recurrences of each word with its next sixty occurrences are counted by distance, and the
    triangle is fitted by Poisson likelihood: expectation maximisation in both heights, a geometric
    grid in the length. Linear in the number of words.
    """
    n_words = int(words.max(initial=-1)) + 1
    return Scale(*map(float, fitted_scale(words, ends, n_words, scale_grid(), grid_sizes())))


@lru_cache(maxsize=1)
def scale_grid() -> Matrix:
    """Return the lengths that are tried for the longest texts; shorter ones try the first of them."""
    grid: Matrix = np.exp(np.arange(np.log(2.5), np.log(_MAX_LAG), 0.15))
    return grid


@lru_cache(maxsize=1)
def grid_sizes() -> Numbers:
    """Return how many lengths of the grid are tried for each greatest distance."""
    first = np.log(2.5)
    sizes = [len(np.arange(first, np.log(max(lag, 3.0)), 0.15)) for lag in range(_MAX_LAG + 1)]
    return np.array(sizes, np.int64)


@kernel
def fitted_scale(
    words: Numbers, ends: Numbers, n_words: int, grid: Matrix, grid_sizes: Numbers
) -> tuple[float, float, float]:
    """Return length, near and far of `scale_of` a text with words below `n_words`."""
    n = len(ends) - 1
    max_lag = min(n - 1, _MAX_LAG)
    if max_lag < 3 or len(words) == 0:
        return float(max(n, 1)), 0.0, 0.0
    # the sentences of each word, one word after the other
    starts = np.zeros(n_words + 1, np.int64)
    for word in words:
        starts[word + 1] += 1
    for word in range(n_words):
        starts[word + 1] += starts[word]
    filled = starts[:-1].copy()
    places = np.empty(len(words), np.int64)
    sizes, pairs = np.empty(n), np.zeros(max_lag)
    for j in range(n):
        sizes[j] = ends[j + 1] - ends[j]
        for t in range(ends[j], ends[j + 1]):
            places[filled[words[t]]] = j
            filled[words[t]] += 1
    n_recurrences = np.zeros(max_lag + 1)
    for word in range(n_words):
        for i in range(starts[word], starts[word + 1]):
            for k in range(i + 1, min(i + 1 + _MAX_NEXT_OCCURRENCES, starts[word + 1])):
                lag = places[k] - places[i]
                if lag <= max_lag:
                    n_recurrences[lag] += 1
    for lag in range(1, max_lag + 1):
        for j in range(n - lag):
            pairs[lag - 1] += sizes[j] * sizes[j + lag]
    return _fitted(n_recurrences[1:], pairs, grid[: grid_sizes[max_lag]], _EM_STEPS)


@kernel
def _fitted(
    n_recurrences: Matrix, pairs: Matrix, grid: Matrix, n_steps: int
) -> tuple[float, float, float]:
    """Return length, near and far of the most likely triangle."""
    n = len(n_recurrences)
    total, all_pairs = 0.0, 0.0
    for lag in range(n):
        total += n_recurrences[lag]
        all_pairs += pairs[lag]
    best_length, best_near, best_far = grid[0], 0.0, 0.0
    best = -np.inf
    if total == 0 or all_pairs == 0:
        return best_length, best_near, best_far
    for length in grid:
        near, far = 5 * total / all_pairs, 0.5 * total / all_pairs
        mass = 0.0
        for lag in range(n):
            mass += pairs[lag] * max(0.0, 1 - (lag + 1) / length)
        for _ in range(n_steps):
            near_share, far_share = 0.0, 0.0
            for lag in range(n):
                height = max(0.0, 1 - (lag + 1) / length)
                share = n_recurrences[lag] / (near * height + far + 1e-300)
                near_share += share * height
                far_share += share
            if mass > 0:
                near *= near_share / mass
            far *= far_share / all_pairs
        likelihood = 0.0
        for lag in range(n):
            mean = pairs[lag] * (near * max(0.0, 1 - (lag + 1) / length) + far)
            if n_recurrences[lag] > 0:
                likelihood += n_recurrences[lag] * np.log(mean + 1e-300)
            likelihood -= mean
        if likelihood > best:
            best, best_length, best_near, best_far = likelihood, length, near, far
    return best_length, best_near, best_far
