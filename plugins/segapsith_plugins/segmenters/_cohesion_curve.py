"""The cohesion of a moving window in a co-occurrence network, and the words that it selects.

The state of the window is, for each word of the network: its count in the window, the number of
different window words linked to it, and the sum of their weights times the cohesion of the links.
Moving by one position changes two words, so it costs their links and not those of the whole window.

A taper is a sum of products: with weights (1 + cos f (j - x)) / 2 around x, cos f (j - x) = cos f j
cos f x + sin f j sin f x. So there are three sums, of 1, cos f j and sin f j, which are multiplied
by 1/2, cos f x / 2 and sin f x / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Network
from segapsith.jit import kernel

__all__ = [
    "Inference",
    "Lens",
    "Reading",
    "Sweep",
    "cohesion_curve",
    "inferred_from",
    "inferred_words",
    "likeness_curve",
    "read",
    "shape",
    "swept",
]

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]
Floats = NDArray[np.float32]

_REFRESH_INTERVAL = 1000
"""Positions after which the window is summed anew, to limit the drift of rounding."""


@dataclass(frozen=True, slots=True)
class Lens:
    """The settings of a window on a network; `segcohlex` documents them."""

    window: int = 19
    min_links: int = 3
    use_signif: bool = True
    max_signif: float = 1.0
    reinforce_window_words: bool = True
    taper: str | None = None

    def __post_init__(self) -> None:
        if self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"window={self.window} should be odd and >= 1")
        if self.min_links < 1:
            raise ValueError(f"min_links={self.min_links} should be >= 1")
        if not 0 < self.max_signif <= 1:
            raise ValueError(f"max_signif={self.max_signif} should be above 0 and at most 1")
        if self.taper not in (None, "hann"):
            raise ValueError(f"taper={self.taper!r} should be 'hann' or None")


class Reading(NamedTuple):
    """A text on a network: the row of each word, and the significance of each row.

    Words that are not in the network have rows after those of the network.
    """

    rows: Numbers
    significance: Values
    names: Sequence[str]
    """The words that are not in the network, in order of their rows."""


def read(words: Sequence[str], network: Network, lens: Lens) -> Reading:
    """Return the words of a text as rows of the network; unknown words have maximal significance."""
    rows = network.numbers(words)
    n_known = len(network.starts) - 1
    rows[rows >= n_known] = -1
    unknown: dict[str, int] = {}
    for i in np.flatnonzero(rows < 0).tolist():
        rows[i] = n_known + unknown.setdefault(words[i], len(unknown))
    significance = np.ones(n_known + len(unknown))
    if lens.use_signif:
        significance[:n_known] = network.significance[:n_known]
        np.minimum(significance, lens.max_signif, out=significance)
    return Reading(rows, significance, list(unknown))


class _Shape(NamedTuple):
    """What a word adds to the sums, the factors that read them, and the share inside the text."""

    entering: Values
    reading: Values
    present: Values


def shape(n: int, window: int, taper: str | None) -> _Shape:
    """Return the taper of a window at the positions of a text of n words.

    `present` is the share of the window's weight that lies within the text.
    """
    half = window // 2
    places = np.arange(n)
    if taper is None:
        weights = np.ones(window)
        entering = reading = np.ones((n, 1))
    else:
        step = 2 * np.pi / (window + 1)
        weights = (1 + np.cos(step * np.arange(-half, half + 1))) / 2
        angle = step * (places % (window + 1))
        entering = np.stack([np.ones(n), np.cos(angle), np.sin(angle)], axis=1)
        reading = entering / 2
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    left = np.maximum(half - places, 0)
    right = np.minimum(half + n - places, window)
    return _Shape(entering, reading, (sums[right] - sums[left]) / sums[-1])


class Sweep(NamedTuple):
    """What a window selected while it moved over a text that is divided into segments.

    For each segment, from one of `ends` to the next: its own words and the others that were
    selected at enough of its positions, the count of each in it (0: inferred), and the mean of wgt.
    """

    curve: Values
    ends: Numbers
    selected: Numbers
    counts: Numbers
    heights: Values


def swept(reading: Reading, network: Network, lens: Lens, cuts: Numbers, min_share: float) -> Sweep:
    """Move the window over a text once; `cuts` are the first words of its segments.

    The curve C(x) is the sum of signif(i) wgt(i) over the words of the window and those linked to
    at least `min_links` different ones of them, divided by the share of the window inside the text.
    wgt is the sum of the weights of those words times the cohesion of the links, and for a window
    word also its own weight (docs/concepts/formulas.md).
    """
    n = len(reading.rows)
    form = shape(n, lens.window, lens.taper)
    parts = [
        Sweep(
            *_swept(
                reading.rows,
                np.append(cuts, n).astype(np.int64),
                network.starts,
                network.neighbours,
                network.weights,
                reading.significance,
                np.ascontiguousarray(entering),
                np.concatenate([[0.0], np.cumsum(factors)]),
                lens.window // 2,
                lens.min_links,
                lens.reinforce_window_words,
                min_share,
                _REFRESH_INTERVAL,
            )
        )
        for entering, factors in zip(form.entering.T, form.reading.T, strict=True)
    ]
    curve = np.zeros(n)
    for part, factors in zip(parts, form.reading.T, strict=True):
        curve += factors * part.curve
    heights: Values = np.add.reduce([part.heights for part in parts])
    return parts[0]._replace(curve=curve / form.present, heights=heights)


def cohesion_curve(reading: Reading, network: Network, lens: Lens) -> Values:
    """Return C(x) at every word x of a text."""
    return swept(reading, network, lens, np.zeros(1, np.int64), 1.0).curve


_IN_WINDOW = 1 << 20
"""Added to the number of links of a word that is in the window: more than any word has."""


@kernel
def _swept(
    rows: Numbers,
    bounds: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    entering: Values,
    areas: Values,
    half: int,
    min_links: int,
    reinforce: bool,
    min_share: float,
    fresh: int,
) -> tuple[Values, Numbers, Numbers, Numbers, Values]:
    """Return one sum of the curve, and of the heights.

    The state of a word, its sum and its links, is one row; most words have too few links to be
    selected, and cost only the update of this row. The contribution of a word to a segment is the
    sum of its changes, each times the rest of the segment, by the running sums of the taper,
    `areas`. The number of positions at which it is selected is counted in the same way. `touched`
    are the words that were selected or in the window.
    """
    n, n_units, n_rows = len(rows), len(bounds) - 1, len(significance)
    held = np.zeros(n_rows, np.int32)
    state = np.zeros((n_rows, 2))
    own = np.zeros(n_rows)
    gathered = np.zeros((n_rows, 2))  # weight times length, and positions
    counts = np.zeros(n_rows, np.int64)
    touched, seen, n_touched = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.bool_), 0
    curve, ends = np.zeros(n), np.zeros(n_units + 1, np.int64)
    selected, selected_counts = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    heights, n_selected = np.zeros(1024), 0
    total, least = 0.0, float(min_links)
    for unit in range(n_units):
        first, last = bounds[unit], bounds[unit + 1]
        for x in range(first, last):
            anew = x % fresh == 0  # clear the window and fill it again
            rest, left = areas[last] - areas[x], float(last - x)
            if anew:
                for t in range(n_touched):
                    row = touched[t]
                    worth, linked = _worth(row, own, state, least, reinforce)
                    gathered[row, 0] -= worth * rest
                    gathered[row, 1] -= left * linked
                for j in range(max(0, x - 1 - half), min(n, x + half)):
                    _clear(rows[j], starts, neighbours, held, own, state)
                total = 0.0
            gone, come = x - 1 - half, x + half
            begin = max(0, x - half) if anew else come
            leaving = int(not anew and gone >= 0)
            for event in range(-leaving, max(0, min(n, come + 1) - begin)):
                j, sign = (gone, -1) if event < 0 else (begin + event, 1)
                row = rows[j]
                before, after = held[row], held[row] + sign
                held[row] = after
                change = sign * entering[j]
                own[row] = own[row] + change if after else 0.0
                gain, step = change, 0.0
                if min(before, after) == 0:
                    # A selected word becomes a window word, or a window word becomes a selected one.
                    step = float(sign)
                    if state[row, 1] % _IN_WINDOW >= least:
                        gain += 0.0 if reinforce else -step * state[row, 0]
                    elif reinforce:
                        gain += step * state[row, 0]
                    state[row, 1] += step * _IN_WINDOW
                    if not seen[row]:
                        seen[row] = True
                        touched[n_touched] = row
                        n_touched += 1
                total += significance[row] * gain
                gathered[row, 0] += gain * rest
                if row >= len(starts) - 1:
                    continue
                edge = least - max(step, 0.0)
                for k in range(starts[row], starts[row + 1]):
                    other = np.uint64(neighbours[k])
                    old, was = state[other, 0], state[other, 1]
                    now = was + step
                    new = old + change * weights[k]
                    state[other, 0], state[other, 1] = new, now
                    if was >= edge:  # it is selected, now or before
                        value = (new if now >= least else 0.0) - (old if was >= least else 0.0)
                        bar = least
                        if was >= _IN_WINDOW:
                            bar += _IN_WINDOW
                            value = value if reinforce else 0.0
                        elif was < least and not seen[other]:
                            seen[other] = True
                            touched[n_touched] = other
                            n_touched += 1
                        total += significance[other] * value
                        gathered[other, 0] += value * rest
                        gathered[other, 1] += left * (int(now >= bar) - int(was >= bar))
            curve[x] = total
            counts[rows[x]] += 1
        if n_selected + n_touched > len(selected):
            more = np.zeros(n_selected + n_touched, np.int64)
            selected = np.concatenate((selected, more))
            selected_counts = np.concatenate((selected_counts, more))
            heights = np.concatenate((heights, more.astype(np.float64)))
        rest = areas[bounds[min(unit + 2, n_units)]] - areas[last]
        left = float(bounds[min(unit + 2, n_units)] - last)
        still = 0
        for t in range(n_touched):
            row = touched[t]
            if counts[row] or gathered[row, 1] >= min_share * (last - first) - 1e-9:
                selected[n_selected], selected_counts[n_selected] = row, counts[row]
                heights[n_selected] = gathered[row, 0] / (last - first)
                n_selected += 1
            counts[row] = 0
            worth, linked = _worth(row, own, state, least, reinforce)
            gathered[row, 0], gathered[row, 1] = worth * rest, left * linked
            if state[row, 1] >= least:
                touched[still] = row
                still += 1
            else:
                seen[row] = False
        n_touched = still
        ends[unit + 1] = n_selected
    return curve, ends, selected[:n_selected], selected_counts[:n_selected], heights[:n_selected]


@kernel
def _worth(
    row: int, own: Values, state: Values, least: float, reinforce: bool
) -> tuple[float, float]:
    """Return the present weight of a word, and 1 if it is selected."""
    links = state[row, 1]
    if links >= _IN_WINDOW:
        worth = own[row] + (state[row, 0] if reinforce else 0.0)
        links -= _IN_WINDOW
    else:
        worth = state[row, 0] if links >= least else 0.0
    return worth, 1.0 if links >= least else 0.0


@kernel
def _clear(
    row: int,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    held: NDArray[np.int32],
    own: Values,
    state: Values,
) -> None:
    """Remove a word and all its effects from the state of the window."""
    held[row] = 0
    own[row] = 0.0
    state[row, :] = 0.0
    if row < len(starts) - 1:
        for k in range(starts[row], starts[row + 1]):
            state[neighbours[k], :] = 0.0


# --- the two sides of a place ------------------------------------------------------------


def likeness_curve(reading: Reading, network: Network, span: int, recurrence: float) -> Values:
    """Return how related the words before each position are to the words after it.

    L(x) = k(A, B) / sqrt(k(A, A) k(B, B)), with A the `span` words before x and B the `span` words
    that begin with x. k(A, B) sums signif(i) signif(j) coh(i, j) over the occurrences i of A and j
    of B. The cohesion of a word is `recurrence` with its other occurrences and 1 / signif(i)^2 with
    itself. The first value, which has no words before it, equals the second.
    """
    if not len(reading.rows):
        return np.zeros(0)
    return _likeness(
        reading.rows,
        network.starts,
        network.neighbours,
        network.weights,
        reading.significance,
        span,
        recurrence,
    )


@kernel
def _likeness(
    rows: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    span: int,
    recurrence: float,
) -> Values:
    """Return the curve in one pass over the linked pairs.

    Each pair is visited once, from its later word. It counts at all positions that have both words
    before them, both after them, or one on each side. Each of these is an interval, so only its
    ends are recorded, and summed at the end. The links of a word to other words of the text are
    looked up once.
    """
    n = len(rows)
    own, firsts, lasts = _own_links(rows, starts, neighbours, len(significance))
    changes = np.zeros((n + 1, 3))  # k(A, A), k(B, B), k(A, B) minus those at the position before
    latest = np.full(len(significance), -1, np.int32)
    former = np.full(n, -1, np.int32)
    for j in range(n):
        row = rows[j]
        _note(changes, 0, j + 1, j + span, 1.0)
        _note(changes, 1, j - span + 1, j, 1.0)
        nearest = max(0, j - 2 * span + 1)
        worth = significance[row]
        i = latest[row]
        while i >= nearest:
            _pair(changes, i, j, span, worth * worth * recurrence)
            i = former[i]
        for t in range(firsts[row], lasts[row]):
            other = neighbours[own[t]]
            i = latest[other]
            while i >= nearest:
                _pair(changes, i, j, span, worth * significance[other] * weights[own[t]])
                i = former[i]
        former[j], latest[row] = latest[row], j
    curve = np.zeros(n)
    left, right, across = 0.0, changes[0, 1], 0.0
    for x in range(1, n):
        left, right, across = left + changes[x, 0], right + changes[x, 1], across + changes[x, 2]
        curve[x] = max(across, 0.0) / np.sqrt(left * right)
    if n > 1:
        curve[0] = curve[1]
    return curve


@kernel
def _own_links(
    rows: Numbers, starts: Numbers, neighbours: NDArray[np.int32], n_rows: int
) -> tuple[Numbers, Numbers, Numbers]:
    """Return the links between words of the text; those of row r are own[firsts[r]:lasts[r]]."""
    there = np.zeros(n_rows, np.bool_)
    most = 0
    for row in rows:
        if not there[row] and row < len(starts) - 1:
            most += starts[row + 1] - starts[row]
        there[row] = True
    own = np.empty(most + 2, np.int64)
    firsts, lasts = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    n = 1  # a row that has not been looked up ends at 0
    for row in rows:
        if lasts[row] == 0:
            firsts[row] = n
            if row < len(starts) - 1:
                for k in range(starts[row], starts[row + 1]):
                    own[n] = k
                    n += there[np.uint64(neighbours[k])]
            lasts[row] = n
    return own, firsts, lasts


@kernel
def _pair(changes: Values, i: int, j: int, span: int, value: float) -> None:
    """Record a pair of related words i < j."""
    _note(changes, 0, j + 1, i + span, 2 * value)
    _note(changes, 1, j - span + 1, i, 2 * value)
    _note(changes, 2, max(i + 1, j - span + 1), min(j, i + span), value)


@kernel
def _note(changes: Values, column: int, first: int, last: int, value: float) -> None:
    """Record that a value counts from one position to another."""
    first, last = max(first, 0), min(last, len(changes) - 2)
    if first <= last:
        changes[first, column] += value
        changes[last + 1, column] -= value


# --- inferred words ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inference:
    """Which words of the network a unit may infer."""

    min_share: float = 0.3
    """Minimum share of the unit's positions at which an inferred word is selected. 0.75 is recalled
    from the literature; 0.3 gave the best results (docs/research/log).
    """
    max_words: int | None = None
    """Maximum number of words; None: the number of different words of the unit."""
    weight: str = "cohesion"
    """`cohesion`: signif(w) g(w), g the mean of wgt over the positions, 1 for the heaviest word of
    the unit; `signif`: g = 1; `tf`: g = 1 / the count of the most frequent word.
    """

    def __post_init__(self) -> None:
        if not 0 < self.min_share <= 1:
            raise ValueError(f"min_share={self.min_share} should be above 0 and at most 1")
        if self.max_words is not None and self.max_words < 0:
            raise ValueError(f"max_words={self.max_words} should be >= 0")
        if self.weight not in ("cohesion", "signif", "tf"):
            raise ValueError(f"weight={self.weight!r} should be 'cohesion', 'signif' or 'tf'")


def inferred_words(
    reading: Reading, cuts: Numbers, network: Network, lens: Lens, inference: Inference
) -> list[dict[str, float]]:
    """Return the words that each segment does not contain but selects at many positions.

    `cuts` are the first words of the segments. The heaviest words come first, ties by name.
    """
    return inferred_from(
        swept(reading, network, lens, cuts, inference.min_share), reading, network, inference
    )


def inferred_from(
    sweep: Sweep, reading: Reading, network: Network, inference: Inference
) -> list[dict[str, float]]:
    """Return the inferred words from a sweep that used the inference's `min_share`."""
    n_units = len(sweep.ends) - 1
    units = np.repeat(np.arange(n_units), np.diff(sweep.ends))
    values = _weights(units, sweep, reading.significance, inference)
    max_words = np.bincount(units[sweep.counts > 0], minlength=n_units)
    if inference.max_words is not None:
        max_words[:] = inference.max_words
    return _heaviest(units, sweep.selected, values, max_words, network.words)


def _weights(units: Numbers, sweep: Sweep, significance: Values, inference: Inference) -> Values:
    """Return the weights of the selected words of each unit, 0 for those that it contains."""
    outside = (sweep.counts == 0).astype(np.float64)
    values: Values = significance[sweep.selected] * outside
    top = np.zeros(len(sweep.ends) - 1)
    if inference.weight == "tf":
        np.maximum.at(top, units, sweep.counts)
        values = outside / np.maximum(top, 1)[units]
    elif inference.weight == "cohesion":
        np.maximum.at(top, units, sweep.heights)
        values = values * sweep.heights / np.maximum(top, 1e-300)[units]
    return values


def _heaviest(
    units: Numbers, selected: Numbers, values: Values, max_words: Numbers, names: Sequence[str]
) -> list[dict[str, float]]:
    """Return the heaviest words of each unit, at most `max_words`; ties by name."""
    order = np.flatnonzero(values > 0)
    order = order[np.lexsort((-values[order], units[order]))]
    alike = (np.diff(units[order]) == 0) & (np.diff(values[order]) == 0)
    if alike.any():
        tied = np.append(alike, False) | np.append(False, alike)
        rank = np.zeros(len(order), np.int64)
        rows = selected[order].tolist()
        by_name = sorted(np.flatnonzero(tied).tolist(), key=lambda i: names[rows[i]])
        rank[by_name] = np.arange(len(by_name))
        order = order[np.lexsort((rank, -values[order], units[order]))]
    firsts = np.searchsorted(units[order], np.arange(len(max_words)))
    order = order[np.arange(len(order)) - firsts[units[order]] < max_words[units[order]]]
    inferred: list[dict[str, float]] = [{} for _ in max_words]
    for unit, row, value in zip(
        units[order].tolist(), selected[order].tolist(), values[order].tolist(), strict=True
    ):
        inferred[unit][names[row]] = value
    return inferred
