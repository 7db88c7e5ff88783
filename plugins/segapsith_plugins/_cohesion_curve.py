"""The cohesion of a moving window in a collocation network, and the words it points at.

The window has one state: how often each word of the network is held, how many different window
words are linked to it, and the sum of their weights times the cohesion of the link. Moving by one
position changes two words, so it costs their links and not those of the whole window.

A taper fits in, because it is a sum of products: with weights (1 + cos f (j - x)) / 2 around x,
cos f (j - x) = cos f j cos f x + sin f j sin f x. The window keeps three sums, of 1, cos f j and
sin f j, and reads them with 1/2, cos f x / 2 and sin f x / 2.
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
    "cohesion_curve",
    "inferred_words",
    "likeness_curve",
    "read",
    "shape",
]

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]
Floats = NDArray[np.float32]

_FRESH = 1000
"""Positions after which the window is summed up anew, against the drift of rounding."""


@dataclass(frozen=True, slots=True)
class Lens:
    """How a window looks at a network; the choices of algorithms §1.4."""

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
    """A text on a network: the row of every word, unknown ones behind the known, and what each
    row signifies."""

    rows: Numbers
    significance: Values
    names: Sequence[str]
    """Of the unknown words, in order of their rows."""


def read(words: Sequence[str], network: Network, lens: Lens) -> Reading:
    """The words of a text as rows of the network; what it does not know signifies the most."""
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
    """What a word adds to the sums of the window, how they are read, and how much is there."""

    entering: Values
    reading: Values
    present: Values


def shape(n: int, window: int, taper: str | None) -> _Shape:
    """The taper of a window at the positions of a text of n words.

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


def cohesion_curve(reading: Reading, network: Network, lens: Lens) -> Values:
    """C(x) at every word x of a text (algorithms §1.4), divided by the share of the window that
    lies within the text.

    C is the sum of signif(i) wgt(i) over the words of the window and those linked to at least
    `min_links` different ones of them; wgt is the sum of the weights of those words times the
    cohesion of the links, and for a window word its own weight besides.
    """
    n = len(reading.rows)
    if n == 0:
        return np.zeros(0)
    form = shape(n, lens.window, lens.taper)
    values = np.zeros(n)
    for entering, factors in zip(form.entering.T, form.reading.T, strict=True):
        values += factors * _curve(
            reading.rows,
            network.starts,
            network.neighbours,
            network.weights,
            reading.significance,
            np.ascontiguousarray(entering),
            lens.window // 2,
            lens.min_links,
            lens.reinforce_window_words,
            _FRESH,
        )
    return values / form.present


_HELD = 1 << 20
"""Added to the links of a word that the window holds: more than there can be."""


@kernel
def _curve(
    rows: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    entering: Values,
    half: int,
    min_links: int,
    reinforce: bool,
    fresh: int,
) -> Values:
    """One sum of the curve. The state of a word, its sum and its links, lies side by side.

    A word of the window counts with its sum if `reinforce`, and without if not: `held` words have
    as many links more, or fewer, than any bar.
    """
    n = len(rows)
    mark = float(_HELD if reinforce else -_HELD)
    held = np.zeros(len(significance), np.int32)
    state = np.zeros((len(significance), 2))
    curve = np.zeros(n)
    total = 0.0
    for x in range(n):
        anew = x % fresh == 0
        if anew:
            for j in range(max(0, x - 1 - half), min(n, x + half)):
                _clear(rows[j], starts, neighbours, held, state)
            total = 0.0
        gone, come = x - 1 - half, x + half
        if not anew and gone >= 0:
            total += _shift(rows[gone], -1, entering[gone], starts, neighbours, weights,
                            significance, float(min_links), mark, held, state)  # fmt: skip
        for j in range(max(0, x - half) if anew else come, min(n, come + 1)):
            total += _shift(rows[j], 1, entering[j], starts, neighbours, weights,
                            significance, float(min_links), mark, held, state)  # fmt: skip
        curve[x] = total
    return curve


@kernel
def _clear(
    row: int,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    held: NDArray[np.int32],
    state: Values,
) -> None:
    """Takes a word and all that it reached out of the window's state."""
    held[row] = 0
    state[row, :] = 0.0
    if row < len(starts) - 1:
        for k in range(starts[row], starts[row + 1]):
            state[neighbours[k], :] = 0.0


@kernel
def _shift(
    row: int,
    sign: int,
    weight: float,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    min_links: float,
    mark: float,
    held: NDArray[np.int32],
    state: Values,
) -> float:
    """A word enters the window (sign 1) or leaves it (-1): the change of C."""
    before, after = held[row], held[row] + sign
    held[row] = after
    change = sign * weight
    gain = change
    step = 0.0
    if min(before, after) == 0:
        # From a word that the window points at to one of its own, or back.
        step = float(sign)
        was, now = state[row, 1], state[row, 1] + step * mark
        gain += state[row, 0] * (int(now >= min_links) - int(was >= min_links))
        state[row, 1] = now
    total: float = significance[row] * gain
    if row >= len(starts) - 1:
        return total
    for k in range(starts[row], starts[row + 1]):
        other = np.uint64(neighbours[k])
        old, was = state[other, 0], state[other, 1]
        now = was + step
        new = old + change * weights[k]
        state[other, 0], state[other, 1] = new, now
        value = (new if now >= min_links else 0.0) - (old if was >= min_links else 0.0)
        total += significance[other] * value
    return total


# --- the two sides of a place ------------------------------------------------------------


def likeness_curve(reading: Reading, network: Network, span: int, recurrence: float) -> Values:
    """How well what stands before each word goes with what follows: L(x) = k(A, B) / sqrt(k(A, A)
    k(B, B)), A the `span` words before x and B those from x on.

    k(A, B) sums signif(i) signif(j) coh(i, j) over the occurrences i of A and j of B; a word has
    the cohesion `recurrence` with its other occurrences and 1 / signif(i)^2 with itself. At the
    first word, which has nothing before it, it is as at the second.
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
    """Every pair of linked words is found once, from the later one, and counts at all the places
    that have both before them, both after them, or one on each side; each of these is a stretch,
    so it is enough to note where it begins and ends, and to sum up."""
    n = len(rows)
    changes = np.zeros((n + 1, 3))  # k(A, A), k(B, B), k(A, B) against the place before
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
        if row < len(starts) - 1:
            for k in range(starts[row], starts[row + 1]):
                other = np.uint64(neighbours[k])
                i = latest[other]
                while i >= nearest:
                    _pair(changes, i, j, span, worth * significance[other] * weights[k])
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
def _pair(changes: Values, i: int, j: int, span: int, value: float) -> None:
    """Two words i < j that go together."""
    _note(changes, 0, j + 1, i + span, 2 * value)
    _note(changes, 1, j - span + 1, i, 2 * value)
    _note(changes, 2, max(i + 1, j - span + 1), min(j, i + span), value)


@kernel
def _note(changes: Values, column: int, first: int, last: int, value: float) -> None:
    """A value counts from one place to another."""
    first, last = max(first, 0), min(last, len(changes) - 2)
    if first <= last:
        changes[first, column] += value
        changes[last + 1, column] -= value


# --- inferred words ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inference:
    """Which words of the network a unit may take in (algorithms §1.6)."""

    min_share: float = 0.3
    """Of the unit's positions at which a word is selected: 0.75 is [c, low], the default measured
    best of 0.75, 0.5 and 0.3 (docs/experiments.md) [d]."""
    most: int | None = None
    """Words; None: as many as the unit has different ones [d]."""
    weight: str = "cohesion"
    """`cohesion`: signif(w) g(w), g the mean of wgt over the positions, 1 for the heaviest word of
    the unit; `signif`: g = 1; `tf`: g = 1 / the count of the most frequent word [d]."""

    def __post_init__(self) -> None:
        if not 0 < self.min_share <= 1:
            raise ValueError(f"min_share={self.min_share} should be above 0 and at most 1")
        if self.most is not None and self.most < 0:
            raise ValueError(f"most={self.most} should be >= 0")
        if self.weight not in ("cohesion", "signif", "tf"):
            raise ValueError(f"weight={self.weight!r} should be 'cohesion', 'signif' or 'tf'")


def inferred_words(
    reading: Reading, cuts: Numbers, network: Network, lens: Lens, inference: Inference
) -> list[dict[str, float]]:
    """For each segment the words that it does not have and the network keeps pointing at.

    `cuts` are the first words of the segments. Heaviest first, ties by name.
    """
    n = len(reading.rows)
    bounds = np.append(cuts, n)
    if n == 0 or not len(network.neighbours) or inference.most == 0:
        return [{} for _ in range(len(cuts))]
    half, n_rows = lens.window // 2, len(reading.significance)
    ends, chosen, counts = _selected(
        reading.rows,
        bounds,
        network.starts,
        network.neighbours,
        half,
        lens.min_links,
        inference.min_share,
        n_rows,
    )
    heights = np.zeros(len(chosen))
    if inference.weight == "cohesion":
        form = shape(n, lens.window, lens.taper)
        for entering, factors in zip(form.entering.T, form.reading.T, strict=True):
            heights += _heights(
                reading.rows,
                bounds,
                ends,
                chosen,
                counts,
                network.starts,
                network.neighbours,
                network.weights,
                np.ascontiguousarray(entering),
                np.concatenate([[0.0], np.cumsum(factors)]),
                half,
                lens.min_links,
                lens.reinforce_window_words,
                n_rows,
            )
    values = reading.significance[chosen]
    if inference.weight == "cohesion":
        values = values * heights
    return [
        _heaviest(chosen[here], counts[here], values[here], heights[here], network, inference)
        for here in map(slice, ends[:-1].tolist(), ends[1:].tolist())
    ]


def _heaviest(
    rows: Numbers,
    counts: Numbers,
    values: Values,
    heights: Values,
    network: Network,
    inference: Inference,
) -> dict[str, float]:
    """Of the words that a segment has or is pointed at, those it has not, the heaviest first."""
    outside = np.flatnonzero(counts == 0)
    if not len(outside):
        return {}
    most = len(rows) - len(outside) if inference.most is None else inference.most
    weights = values[outside]
    if inference.weight == "cohesion":
        weights = weights / max(float(heights.max(initial=0.0)), 1e-300)
    elif inference.weight == "tf":
        weights = np.full(len(outside), 1 / max(int(counts.max(initial=1)), 1))
    ranked = sorted(
        (-w, network.words[r])
        for w, r in zip(weights.tolist(), rows[outside].tolist(), strict=True)
    )
    return {word: -w for w, word in ranked[:most] if w < 0}


@kernel
def _selected(
    rows: Numbers,
    bounds: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    half: int,
    min_links: int,
    min_share: float,
    n_rows: int,
) -> tuple[Numbers, Numbers, Numbers]:
    """For each segment its own words, and the others that are selected at enough positions; how
    often it has each.

    The window moves on from segment to segment. The time of a word is added up when it ceases to
    be selected; `touched` are those that were.
    """
    n, n_units = len(rows), len(bounds) - 1
    held = np.zeros(n_rows, np.int32)
    links = np.zeros(n_rows, np.int16)
    since = np.zeros(n_rows, np.int64)
    selected = np.zeros(n_rows, np.int64)
    counts = np.zeros(n_rows, np.int64)
    touched = np.zeros(n_rows, np.int64)
    seen = np.zeros(n_rows, np.bool_)
    n_touched, come = 0, 0
    ends = np.zeros(n_units + 1, np.int64)
    chosen, chosen_counts = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    n_chosen = 0
    for unit in range(n_units):
        first, last = bounds[unit], bounds[unit + 1]
        for x in range(first, last):
            if x - 1 - half >= 0:
                row = rows[x - 1 - half]
                held[row] -= 1
                if held[row] == 0 and row < len(starts) - 1:
                    for k in range(starts[row], starts[row + 1]):
                        other = np.uint64(neighbours[k])
                        links[other] -= 1
                        if links[other] == min_links - 1:
                            selected[other] += x - since[other]
            while come < min(n, x + half + 1):
                row = rows[come]
                come += 1
                held[row] += 1
                if held[row] == 1 and row < len(starts) - 1:
                    for k in range(starts[row], starts[row + 1]):
                        other = np.uint64(neighbours[k])
                        links[other] += 1
                        if links[other] == min_links:
                            since[other] = x
                            if not seen[other]:
                                seen[other] = True
                                touched[n_touched] = other
                                n_touched += 1
            row = rows[x]
            counts[row] += 1
            if not seen[row]:
                seen[row] = True
                touched[n_touched] = row
                n_touched += 1
        if n_chosen + n_touched > len(chosen):
            more = np.zeros(n_chosen + n_touched, np.int64)
            chosen = np.concatenate((chosen, more))
            chosen_counts = np.concatenate((chosen_counts, more))
        left = 0
        for t in range(n_touched):
            row = touched[t]
            if links[row] >= min_links:
                selected[row] += last - since[row]
                since[row] = last
                touched[left] = row
                left += 1
            else:
                seen[row] = False
            if counts[row] or selected[row] >= min_share * (last - first) - 1e-9:
                chosen[n_chosen], chosen_counts[n_chosen] = row, counts[row]
                n_chosen += 1
            selected[row], counts[row] = 0, 0
        n_touched = left
        ends[unit + 1] = n_chosen
    return ends, chosen[:n_chosen], chosen_counts[:n_chosen]


@kernel
def _heights(
    rows: Numbers,
    bounds: Numbers,
    ends: Numbers,
    chosen: Numbers,
    counts: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    entering: Values,
    areas: Values,
    half: int,
    min_links: int,
    reinforce: bool,
    n_rows: int,
) -> Values:
    """For each segment the mean of wgt over its positions, for the chosen words alone; 0 where it
    has all of them.

    What a word is worth is added up when it changes: until then it was the same at every position,
    but for the taper, whose running sums are `areas`.
    """
    n = len(rows)
    wanted = np.zeros(n_rows, np.bool_)
    held = np.zeros(n_rows, np.int32)
    # of a wanted word: its own weight, its sum, its links, what was gathered and up to where
    state = np.zeros((n_rows, 5))
    heights = np.zeros(len(chosen))
    for unit in range(len(bounds) - 1):
        first, last = bounds[unit], bounds[unit + 1]
        mine = chosen[ends[unit] : ends[unit + 1]]
        if counts[ends[unit] : ends[unit + 1]].all():
            continue
        for row in mine:
            wanted[row] = True
            state[row, :4], state[row, 4] = 0.0, first
        come = max(0, first - half)
        for x in range(first, last):
            if x > first and x - 1 - half >= 0:
                j = x - 1 - half
                _weigh(rows[j], -1, entering[j], x, starts, neighbours, weights, areas, min_links,
                       reinforce, wanted, held, state)  # fmt: skip
            while come < min(n, x + half + 1):
                _weigh(rows[come], 1, entering[come], x, starts, neighbours, weights, areas,
                       min_links, reinforce, wanted, held, state)  # fmt: skip
                come += 1
        for t in range(len(mine)):
            row = mine[t]
            _gather(row, last, areas, held, state, min_links, reinforce)
            heights[ends[unit] + t] = state[row, 3] / (last - first)
            wanted[row] = False
        for j in range(max(0, last - 1 - half), come):
            held[rows[j]] = 0
    return heights


@kernel
def _weigh(
    row: int,
    sign: int,
    weight: float,
    x: int,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    areas: Values,
    min_links: int,
    reinforce: bool,
    wanted: NDArray[np.bool_],
    held: NDArray[np.int32],
    state: Values,
) -> None:
    """A word enters the window at x or leaves it: what that is worth to the wanted ones."""
    before, after = held[row], held[row] + sign
    step = sign if min(before, after) == 0 else 0
    if wanted[row]:
        _gather(row, x, areas, held, state, min_links, reinforce)
        state[row, 0] = state[row, 0] + sign * weight if after else 0.0
    held[row] = after
    if row >= len(starts) - 1:
        return
    for k in range(starts[row], starts[row + 1]):
        other = int(neighbours[k])
        if wanted[other]:
            _gather(other, x, areas, held, state, min_links, reinforce)
            state[other, 2] += step
            changed = state[other, 1] + sign * weight * weights[k]
            state[other, 1] = changed if state[other, 2] else 0.0


@kernel
def _gather(
    row: int,
    x: int,
    areas: Values,
    held: NDArray[np.int32],
    state: Values,
    min_links: int,
    reinforce: bool,
) -> None:
    """Adds up what a word was worth from the position of its last change to x."""
    since = int(state[row, 4])
    if since == x:
        return
    state[row, 4] = x
    worth = 0.0
    if held[row] > 0:
        worth = state[row, 0] + (state[row, 1] if reinforce else 0.0)
    elif state[row, 2] >= min_links:
        worth = state[row, 1]
    state[row, 3] += worth * (areas[x] - areas[since])
