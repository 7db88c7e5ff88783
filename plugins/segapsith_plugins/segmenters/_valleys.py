"""From a curve over the words of a text to the places where it is cut (after Ferret 1998)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Valleys", "cut", "smoothed", "valleys"]

Curve = NDArray[np.float64]
Numbers = NDArray[np.int64]

_PLATEAU_TOLERANCE = 1e-9
"""Share of the height of a curve: values that differ by less are a plateau, not a slope."""


class Valleys(NamedTuple):
    """The minima of a curve, from left to right, and their depths."""

    places: Numbers
    depths: Curve


def smoothed(curve: Curve, width: int, passes: int = 1) -> Curve:
    """Return the mean over `width` positions around each; positions beyond the ends are left out.

    >>> smoothed(np.array([0.0, 3.0, 0.0, 0.0]), 3)
    array([1.5, 1. , 1. , 0. ])
    """
    half, n = width // 2, len(curve)
    if n == 0 or half == 0:
        return curve
    left = np.maximum(np.arange(n) - half, 0)
    right = np.minimum(np.arange(n) + half + 1, n)
    for _ in range(passes):
        sums = np.concatenate([[0.0], np.cumsum(curve)])
        curve = (sums[right] - sums[left]) / (right - left)
    return curve


def valleys(curve: Curve) -> Valleys:
    """Return each minimum between two maxima, with (left max - min) + (right max - min).

    A plateau is one minimum, at its middle.

    >>> valleys(np.array([3.0, 1.0, 1.0, 1.0, 2.0, 0.0]))
    Valleys(places=array([2]), depths=array([3.]))
    """
    none = Valleys(np.zeros(0, np.int64), np.zeros(0))
    top = float(np.abs(curve).max(initial=0.0))
    if top == 0:
        return none
    levels = np.rint(curve / (top * _PLATEAU_TOLERANCE))
    starts = np.flatnonzero(np.diff(levels, prepend=np.nan))
    if len(starts) < 3:
        return none
    ends = np.append(starts[1:], len(curve))
    rises = np.sign(np.diff(levels[starts]))
    turns = np.concatenate([[0], 1 + np.flatnonzero(rises[1:] != rises[:-1]), [len(starts) - 1]])
    # Turns alternate between minima and maxima; those at the ends of the text are not valleys.
    low = 1 + np.flatnonzero(rises[turns[1:-1]] > 0)
    places = (starts + ends - 1) // 2
    heights = curve[places[turns]]
    return Valleys(
        places[turns[low]].astype(np.int64), heights[low - 1] + heights[low + 1] - 2 * heights[low]
    )


def cut(
    minima: Valleys,
    n_words: int,
    openings: Numbers | None,
    *,
    alpha: float,
    boundaries: int | None,
    min_words: int,
) -> Numbers:
    """Return the first word of each segment of a text of `n_words`; 0 is the first of them.

    The cuts are the minima with a depth of at least mean - alpha sd, or the given number of deepest
    ones. Each is moved to the nearest of `openings`, the words that open a sentence. A segment of
    fewer than `min_words` words is merged with its neighbour across the shallower boundary.
    """
    places, depths = minima
    if boundaries is not None:
        deep = np.sort(np.argsort(-depths, kind="stable")[:boundaries])
    else:
        min_depth = depths.mean() - alpha * depths.std() if len(depths) else 0.0
        deep = np.flatnonzero(depths >= min_depth - 1e-12 * abs(min_depth))
    places, depths = places[deep], depths[deep]
    if openings is not None:
        places = _nearest(openings, places)
    deepest: dict[int, float] = {}
    for place, depth in zip(places.tolist(), depths.tolist(), strict=True):
        if 0 < place < n_words:
            deepest[place] = max(depth, deepest.get(place, 0.0))
    return _long_enough(deepest, n_words, min_words)


def _nearest(openings: Numbers, places: Numbers) -> Numbers:
    """Return the nearest opening for each place; of two at the same distance, the earlier."""
    if not len(openings):
        return np.zeros(len(places), np.int64)
    after = np.clip(np.searchsorted(openings, places), 0, len(openings) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(openings[before] - places) <= np.abs(openings[after] - places)
    return np.where(nearer, openings[before], openings[after])


def _long_enough(deepest: dict[int, float], n_words: int, min_words: int) -> Numbers:
    """Return the boundaries without the shallower neighbour of each segment that is too short."""
    waiting = [(place, depth) for place, depth in sorted(deepest.items(), reverse=True)]
    accepted: list[tuple[int, float]] = [(0, np.inf)]
    while waiting:
        place, depth = waiting[-1]
        if place - accepted[-1][0] >= min_words:
            accepted.append(waiting.pop())
        elif accepted[-1][1] < depth:
            accepted.pop()  # the segment before is longer now, and was long enough
        else:
            waiting.pop()
    while len(accepted) > 1 and n_words - accepted[-1][0] < min_words:
        accepted.pop()
    return np.array([place for place, _ in accepted], np.int64)
