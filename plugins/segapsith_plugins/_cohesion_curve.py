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
    values = _curve(
        reading.rows,
        network.starts,
        network.neighbours,
        network.weights,
        reading.significance,
        form.entering,
        form.reading,
        lens.window // 2,
        lens.min_links,
        lens.reinforce_window_words,
        _FRESH,
    )
    return values / form.present


@kernel
def _curve(
    rows: Numbers,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    entering: Values,
    reading: Values,
    half: int,
    min_links: int,
    reinforce: bool,
    fresh: int,
) -> Values:
    n, n_sums = len(rows), entering.shape[1]
    held = np.zeros(len(significance), np.int32)
    links = np.zeros(len(significance), np.int32)
    sums = np.zeros((len(significance), n_sums))
    totals = np.zeros(n_sums)
    curve = np.zeros(n)
    for x in range(n):
        if x % fresh == 0:
            for j in range(max(0, x - 1 - half), min(n, x + half)):
                _clear(rows[j], starts, neighbours, held, links, sums)
            totals[:] = 0.0
            for j in range(max(0, x - half), min(n, x + half + 1)):
                _shift(rows[j], 1, entering[j], starts, neighbours, weights, significance,
                       min_links, reinforce, held, links, sums, totals)  # fmt: skip
        else:
            gone, come = x - 1 - half, x + half
            same = n_sums == 1 and gone >= 0 and come < n and rows[gone] == rows[come]
            if gone >= 0 and not same:
                _shift(rows[gone], -1, entering[gone], starts, neighbours, weights, significance,
                       min_links, reinforce, held, links, sums, totals)  # fmt: skip
            if come < n and not same:
                _shift(rows[come], 1, entering[come], starts, neighbours, weights, significance,
                       min_links, reinforce, held, links, sums, totals)  # fmt: skip
        for c in range(n_sums):
            curve[x] += reading[x, c] * totals[c]
    return curve


@kernel
def _clear(
    row: int,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    held: NDArray[np.int32],
    links: NDArray[np.int32],
    sums: Values,
) -> None:
    """Takes a word and all that it reached out of the window's state."""
    held[row] = 0
    if row < len(starts) - 1:
        for k in range(starts[row], starts[row + 1]):
            links[neighbours[k]] = 0
            sums[neighbours[k], :] = 0.0


@kernel
def _shift(
    row: int,
    sign: int,
    weight: Values,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    min_links: int,
    reinforce: bool,
    held: NDArray[np.int32],
    links: NDArray[np.int32],
    sums: Values,
    totals: Values,
) -> None:
    """A word enters the window (sign 1) or leaves it (-1); `totals` is C, sum by sum."""
    n_sums = len(totals)
    before, after = held[row], held[row] + sign
    held[row] = after
    own = significance[row]
    for c in range(n_sums):
        totals[c] += own * sign * weight[c]
    if min(before, after) == 0:
        # From a word that the window points at to one of its own, or back.
        pointed = 1.0 if links[row] >= min_links else 0.0
        change = own * sign * ((1.0 if reinforce else 0.0) - pointed)
        if change != 0:
            for c in range(n_sums):
                totals[c] += change * sums[row, c]
    if row >= len(starts) - 1:
        return
    step = 0
    if before == 0:
        step = 1
    elif after == 0:
        step = -1
    for k in range(starts[row], starts[row + 1]):
        other = neighbours[k]
        was = links[other]
        now = was + step
        links[other] = now
        inside = held[other] > 0
        counted = reinforce if inside else was >= min_links
        counts = reinforce if inside else now >= min_links
        for c in range(n_sums):
            change = sign * weight[c] * weights[k]
            old = sums[other, c]
            new = old + change if now > 0 else 0.0
            sums[other, c] = new
            if counts:
                totals[c] += significance[other] * (change if counted else new)
            elif counted:
                totals[c] -= significance[other] * old


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
    """Each side keeps, for every word of the network, the sum of its links to that side."""
    n = len(rows)
    reach = np.zeros((len(significance), 2))
    inside, across = np.zeros(2), 0.0
    curve = np.zeros(n)
    for j in range(min(span, n)):
        inside[1] += 1 + 2 * significance[rows[j]] * reach[rows[j], 1]
        _reach(rows[j], 1, 1.0, starts, neighbours, weights, significance, recurrence, reach)
    for x in range(1, n):
        if x - 1 - span >= 0:
            row = rows[x - 1 - span]
            _reach(row, 0, -1.0, starts, neighbours, weights, significance, recurrence, reach)
            inside[0] -= 1 + 2 * significance[row] * reach[row, 0]
            across -= significance[row] * reach[row, 1]
        row = rows[x - 1]
        _reach(row, 1, -1.0, starts, neighbours, weights, significance, recurrence, reach)
        inside[1] -= 1 + 2 * significance[row] * reach[row, 1]
        across += significance[row] * (reach[row, 1] - reach[row, 0])
        inside[0] += 1 + 2 * significance[row] * reach[row, 0]
        _reach(row, 0, 1.0, starts, neighbours, weights, significance, recurrence, reach)
        if x - 1 + span < n:
            row = rows[x - 1 + span]
            across += significance[row] * reach[row, 0]
            inside[1] += 1 + 2 * significance[row] * reach[row, 1]
            _reach(row, 1, 1.0, starts, neighbours, weights, significance, recurrence, reach)
        curve[x] = across / np.sqrt(inside[0] * inside[1])
    if n > 1:
        curve[0] = curve[1]
    return curve


@kernel
def _reach(
    row: int,
    side: int,
    sign: float,
    starts: Numbers,
    neighbours: NDArray[np.int32],
    weights: Floats,
    significance: Values,
    recurrence: float,
    reach: Values,
) -> None:
    """A word comes to a side or leaves it."""
    worth = sign * significance[row]
    reach[row, side] += worth * recurrence
    if row < len(starts) - 1:
        for k in range(starts[row], starts[row + 1]):
            reach[neighbours[k], side] += worth * weights[k]


# --- inferred words ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inference:
    """Which words of the network a unit may take in (algorithms §1.6)."""

    min_share: float = 0.75
    """Of the unit's positions at which a word is selected [c, low]."""
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
    form = shape(n, lens.window, lens.taper)
    areas = np.concatenate([np.zeros((1, form.reading.shape[1])), form.reading.cumsum(axis=0)])
    half, n_rows = lens.window // 2, len(reading.significance)
    ends, chosen = _selected(
        reading.rows,
        bounds,
        network.starts,
        network.neighbours,
        half,
        lens.min_links,
        inference.min_share,
        n_rows,
    )
    heights = np.ones(len(chosen))
    if inference.weight == "cohesion":
        heights = _heights(
            reading.rows,
            bounds,
            ends,
            chosen,
            network.starts,
            network.neighbours,
            network.weights,
            form.entering,
            areas,
            half,
            lens.min_links,
            lens.reinforce_window_words,
            n_rows,
        )
    found = []
    for unit, (first, last) in enumerate(
        zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ):
        own, counts = np.unique(reading.rows[first:last], return_counts=True)
        most = len(own) if inference.most is None else inference.most
        here = slice(ends[unit], ends[unit + 1])
        rows, means = chosen[here], heights[here]
        outside = ~np.isin(rows, own)
        weights = reading.significance[rows]
        if inference.weight == "cohesion":
            weights = weights * means / max(float(means.max(initial=0.0)), 1e-300)
        elif inference.weight == "tf":
            weights = np.full(len(rows), 1 / max(int(counts.max(initial=1)), 1))
        rows, weights = rows[outside], weights[outside]
        ranked = sorted(
            (-w, network.words[r]) for w, r in zip(weights.tolist(), rows.tolist(), strict=True)
        )
        found.append({word: -w for w, word in ranked[:most] if w < 0})
    return found


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
) -> tuple[Numbers, Numbers]:
    """For each segment its own words, and the others that are selected at enough positions.

    The time of a word is added up when it ceases to be selected.
    """
    n, n_units = len(rows), len(bounds) - 1
    held = np.zeros(n_rows, np.int32)
    links = np.zeros(n_rows, np.int32)
    since = np.zeros(n_rows, np.int64)
    selected = np.zeros(n_rows, np.int64)
    seen = np.zeros(n_rows, np.bool_)
    touched = np.zeros(n_rows, np.int64)
    ends = np.zeros(n_units + 1, np.int64)
    chosen = np.zeros(1024, np.int64)
    n_chosen = 0
    for unit in range(n_units):
        first, last = bounds[unit], bounds[unit + 1]
        n_touched = 0
        for x in range(first, last + 1):
            # at `last` the window is emptied, so that the next segment finds it so
            gone, stop = (x - 1 - half, x - half) if x > first else (0, 0)
            low, high = (x + half, x + half + 1) if x > first else (x - half, x + half + 1)
            if x == last:
                gone, stop, low, high = x - 1 - half, x + half, 0, 0
            for j in range(max(0, gone), min(n, stop)):
                row = rows[j]
                held[row] -= 1
                if held[row] == 0 and row < len(starts) - 1:
                    for k in range(starts[row], starts[row + 1]):
                        other = neighbours[k]
                        if links[other] == min_links:
                            selected[other] += x - since[other]
                        links[other] -= 1
            for j in range(max(0, low), min(n, high)):
                row = rows[j]
                held[row] += 1
                if held[row] == 1 and row < len(starts) - 1:
                    for k in range(starts[row], starts[row + 1]):
                        other = neighbours[k]
                        links[other] += 1
                        if links[other] == min_links:
                            since[other] = x
                            if not seen[other]:
                                seen[other] = True
                                touched[n_touched] = other
                                n_touched += 1
        for x in range(first, last):
            if not seen[rows[x]]:
                seen[rows[x]] = True
                touched[n_touched] = rows[x]
                n_touched += 1
            selected[rows[x]] = last - first
        for t in range(n_touched):
            other = touched[t]
            if selected[other] >= min_share * (last - first) - 1e-9:
                if n_chosen == len(chosen):
                    longer = np.zeros(2 * n_chosen, np.int64)
                    longer[:n_chosen] = chosen
                    chosen = longer
                chosen[n_chosen] = other
                n_chosen += 1
            seen[other], selected[other] = False, 0
        ends[unit + 1] = n_chosen
    return ends, chosen[:n_chosen]


@kernel
def _heights(
    rows: Numbers,
    bounds: Numbers,
    ends: Numbers,
    chosen: Numbers,
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
    """For each segment the mean of wgt over its positions, for the chosen words alone.

    What a word is worth is added up when it changes: until then it was the same at every position,
    but for the taper, whose running sums are `areas`.
    """
    n, n_sums = len(rows), entering.shape[1]
    wanted = np.zeros(n_rows, np.bool_)
    held = np.zeros(n_rows, np.int32)
    own = np.zeros((n_rows, n_sums))
    links = np.zeros(n_rows, np.int32)
    sums = np.zeros((n_rows, n_sums))
    since = np.zeros(n_rows, np.int64)
    gathered = np.zeros(n_rows)
    heights = np.zeros(len(chosen))
    for unit in range(len(bounds) - 1):
        first, last = bounds[unit], bounds[unit + 1]
        mine = chosen[ends[unit] : ends[unit + 1]]
        for row in mine:
            wanted[row], since[row] = True, first
        for x in range(first, last):
            gone, stop = (x - 1 - half, x - half) if x > first else (0, 0)
            low, high = (x + half, x + half + 1) if x > first else (x - half, x + half + 1)
            for turn in range(2):
                sign = 2 * turn - 1
                begin, end = (gone, stop) if turn == 0 else (low, high)
                for j in range(max(0, begin), min(n, end)):
                    row = rows[j]
                    before, after = held[row], held[row] + sign
                    step = 1 if before == 0 else (-1 if after == 0 else 0)
                    if wanted[row]:
                        _gather(row, x, areas, held, own, links, sums, min_links, reinforce,
                                since, gathered)  # fmt: skip
                        for c in range(n_sums):
                            own[row, c] = own[row, c] + sign * entering[j, c] if after else 0.0
                    held[row] = after
                    if row >= len(starts) - 1:
                        continue
                    for k in range(starts[row], starts[row + 1]):
                        other = neighbours[k]
                        if not wanted[other]:
                            continue
                        _gather(other, x, areas, held, own, links, sums, min_links, reinforce,
                                since, gathered)  # fmt: skip
                        links[other] += step
                        for c in range(n_sums):
                            change = sign * entering[j, c] * weights[k]
                            sums[other, c] = sums[other, c] + change if links[other] else 0.0
        for t in range(len(mine)):
            row = mine[t]
            _gather(row, last, areas, held, own, links, sums, min_links, reinforce,
                    since, gathered)  # fmt: skip
            heights[ends[unit] + t] = gathered[row] / (last - first)
            own[row, :], sums[row, :], gathered[row] = 0.0, 0.0, 0.0
            links[row], wanted[row] = 0, False
        for j in range(max(0, last - 1 - half), min(n, last + half)):
            held[rows[j]] = 0
    return heights


@kernel
def _gather(
    row: int,
    x: int,
    areas: Values,
    held: NDArray[np.int32],
    own: Values,
    links: NDArray[np.int32],
    sums: Values,
    min_links: int,
    reinforce: bool,
    since: Numbers,
    gathered: Values,
) -> None:
    """Adds up what a word was worth from the position of its last change to x."""
    if since[row] == x:
        return
    pointed = links[row] >= min_links
    for c in range(areas.shape[1]):
        worth = 0.0
        if held[row] > 0:
            worth = own[row, c] + (sums[row, c] if reinforce else 0.0)
        elif pointed:
            worth = sums[row, c]
        gathered[row] += worth * (areas[x, c] - areas[since[row], c])
    since[row] = x
