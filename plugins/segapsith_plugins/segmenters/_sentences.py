"""The sentences of a text: where they begin, and how its words recur from one to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Document
from segapsith.arrays import Matrix
from segapsith.jit import kernel

__all__ = ["Scale", "Sentences", "body_of", "scale_of", "sentences_of"]

Numbers = NDArray[np.int64]


def body_of(document: Document) -> int:
    """Return the character with which the body begins; the title belongs to the first unit.

    >>> body_of(Document(title="Flood", body="The river rose."))
    7
    """
    return len(document.title) + 2 if document.title and document.body else 0


_STOP = re.compile(r"\s[.!?]+[\"'”’»)\]\s]*\s")
"""The full stop of a tokenised text, which has a blank on both sides."""

_MAX_TOKENS = 120
"""Tokens of a sentence; a longer one is a text whose punctuation was lost, and is divided."""

_PIECE_TOKENS, _MIN_PIECE_TOKENS = 30, 8
"""Tokens of the pieces of a sentence that is divided."""


class Sentences(NamedTuple):
    """First token and first character of each sentence of a body."""

    first: Numbers
    start: Numbers


def sentences_of(annotation: Annotation, body: int) -> Sentences:
    """Return the sentences of a text after character `body`, each with at least one token.

    They are those of the annotator, and a full stop between blanks always ends one. A sentence of
    more than 120 tokens is a text whose punctuation was lost: it is divided at line ends, before
    capitals, or every 30 tokens.
    """
    spans, text = annotation.spans, annotation.document.text
    token_starts = spans[:, 0].astype(np.int64)
    begun = np.append(0, annotation.sentences[:, 0]).astype(np.int64)
    stops = [match.end() for match in _STOP.finditer(text, body)]
    bounds = np.unique(np.concatenate([begun, np.array(stops, np.int64), [body]]))
    bounds = bounds[bounds >= body]
    first = np.searchsorted(token_starts, bounds)
    has_tokens = np.append(first[1:] > first[:-1], first[-1] < len(spans))
    first, start = first[has_tokens], bounds[has_tokens]
    ends = np.append(first[1:], len(spans))
    if not len(first) or (ends - first).max() <= _MAX_TOKENS:
        return Sentences(first, start)
    firsts, starts = [], []
    for begin, character, end in zip(first.tolist(), start.tolist(), ends.tolist(), strict=True):
        firsts.append(begin)
        starts.append(character)
        if end - begin > _MAX_TOKENS:
            for cut in _pieces(text, spans, begin, end):
                firsts.append(cut)
                starts.append(int(token_starts[cut]))
    return Sentences(np.array(firsts, np.int64), np.array(starts, np.int64))


def _pieces(text: str, spans: NDArray[np.int32], begin: int, end: int) -> Iterator[int]:
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
    n = len(ends) - 1
    max_lag = min(n - 1, _MAX_LAG)
    if max_lag < 3 or not len(words):
        return Scale(float(max(n, 1)), 0.0, 0.0)
    sizes = np.diff(ends).astype(float)
    sentence = np.repeat(np.arange(n), np.diff(ends))
    order = np.argsort(words, kind="stable")
    sorted_words, places = words[order], sentence[order]
    n_recurrences = np.zeros(max_lag + 1)
    for step in range(1, min(_MAX_NEXT_OCCURRENCES, len(words) - 1) + 1):
        same = sorted_words[step:] == sorted_words[:-step]
        if not same.any():
            break
        lags = (places[step:] - places[:-step])[same]
        n_recurrences += np.bincount(lags[lags <= max_lag], minlength=max_lag + 1)
    pairs = np.array([sizes[:-lag] @ sizes[lag:] for lag in range(1, max_lag + 1)])
    grid = np.exp(np.arange(np.log(2.5), np.log(max(max_lag, 3.0)), 0.15))
    length, near, far = _fitted(n_recurrences[1:], pairs, grid, _EM_STEPS)
    return Scale(float(length), float(near), float(far))


@kernel
def _fitted(
    n_recurrences: Matrix, pairs: Matrix, grid: Matrix, n_steps: int
) -> tuple[float, float, float]:
    """Return length, near and far of the most likely triangle."""
    n = len(n_recurrences)
    total, all_pairs = n_recurrences.sum(), pairs.sum()
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
