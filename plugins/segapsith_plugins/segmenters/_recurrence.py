"""The scale on which a text changes its words, from how their recurrence falls with distance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Matrix
from segapsith.jit import kernel

__all__ = ["Scale", "scale_of"]

Numbers = NDArray[np.int64]


class Scale(NamedTuple):
    """How the recurrence of words falls with the distance between two sentences.

    The chance that two words, `lag` sentences apart, are the same is
    near (1 - lag/length)+ + far: a text made of pieces of `length` sentences that have only
    `far` in common. `near` is 0 where nothing could be seen.
    """

    length: float
    near: float
    far: float


_MOST_LAG = 400
_MOST_NEXT = 60
_STEPS = 40


def scale_of(words: Numbers, ends: Numbers) -> Scale:
    """The scale of a text; `ends` parts its words into sentences (first 0, last all).

    Counts the recurrences of every word with its next sixty occurrences, by distance, and fits
    the triangle by Poisson likelihood: expectation-maximisation in both heights, a geometric
    grid in the length. Linear in the number of words.
    """
    n = len(ends) - 1
    most = min(n - 1, _MOST_LAG)
    if most < 3 or not len(words):
        return Scale(float(max(n, 1)), 0.0, 0.0)
    sizes = np.diff(ends).astype(float)
    sentence = np.repeat(np.arange(n), np.diff(ends))
    order = np.argsort(words, kind="stable")
    sorted_words, places = words[order], sentence[order]
    met = np.zeros(most + 1)
    for step in range(1, min(_MOST_NEXT, len(words) - 1) + 1):
        same = sorted_words[step:] == sorted_words[:-step]
        if not same.any():
            break
        lags = (places[step:] - places[:-step])[same]
        met += np.bincount(lags[lags <= most], minlength=most + 1)
    pairs = np.array([sizes[:-lag] @ sizes[lag:] for lag in range(1, most + 1)])
    grid = np.exp(np.arange(np.log(2.5), np.log(max(most, 3.0)), 0.15))
    length, near, far = _fitted(met[1:], pairs, grid, _STEPS)
    return Scale(float(length), float(near), float(far))


@kernel
def _fitted(met: Matrix, pairs: Matrix, grid: Matrix, n_steps: int) -> tuple[float, float, float]:
    """Length, near and far of the likeliest triangle."""
    n = len(met)
    total, all_pairs = met.sum(), pairs.sum()
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
                share = met[lag] / (near * height + far + 1e-300)
                near_share += share * height
                far_share += share
            if mass > 0:
                near *= near_share / mass
            far *= far_share / all_pairs
        likelihood = 0.0
        for lag in range(n):
            mean = pairs[lag] * (near * max(0.0, 1 - (lag + 1) / length) + far)
            if met[lag] > 0:
                likelihood += met[lag] * np.log(mean + 1e-300)
            likelihood -= mean
        if likelihood > best:
            best, best_length, best_near, best_far = likelihood, length, near, far
    return best_length, best_near, best_far
