"""Choosing the threshold: the stream is replayed for several, and what comes next is foreseen.

How many units found a domain falls as the store grows, since a new unit finds more to join. So the
rate that was measured on one stretch is not the rate of the next: domains are taken to grow with a
power of the units (Heaps' law), D(n) = c · n^β, with β from the later part of a replay.

There are two questions. `Onward`: the store goes on as it is, with another threshold from now on;
each of the last stretches is placed on the domains as they were before it. `Afresh`: everything is learned anew
with that threshold. They differ, since domains made with one threshold are not those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import Bag, DomainIndex, PlacementSettings
from segapsith.domains.replay import Replay, go_on, replay
from segapsith.errors import UsageError
from segapsith.model import Result

__all__ = ["Afresh", "Onward", "Trial", "search", "slope"]

LEAST_UNITS = 50
"""Units below which a rate is chance."""

GRID = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
"""Thresholds that are always tried: the curve."""

FINER = 6
"""Thresholds tried between the two nearest of the grid."""

CLOSE = 0.005
"""How near to its target, in parts of it, a trial ends the search."""

NEXT = 1 / 3
"""How many units are foreseen, in parts of those that came so far."""

STRETCH = 1 / 5
"""Of the units, a stretch on which the rate is measured when the store goes on."""

TRUST = (2.0, 1.5, 1.0)
"""How much the last stretches count, from the last one back: news come in waves, so that one
stretch says less than several, and the latest says most."""

ANCHORS = (0.1, 0.25, 0.5)
"""Thresholds at which the growth of the whole stream is learned; between them it is interpolated."""

SLOPES = (1.0, 40.0)
"""What the slope of a curve is held between: less is chance, more is a jump."""

SETTLED = 0.4
"""Of the units, the first ones that say nothing on growth yet."""


@dataclass(frozen=True, slots=True)
class Trial(Result):
    """What one threshold gives: measured on the last stretch, foreseen on the next."""

    threshold: float
    new_rate: float
    next_new_rate: float
    singletons: float
    next_singletons: float
    domains: int

    def as_json(self) -> dict[str, Any]:
        return {name: round(getattr(self, name), 6) for name in self.__dataclass_fields__}


def _slope(values: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """The exponent of a power law through points, by least squares on the logarithms."""
    if len(values) < 2 or (values <= 0).any():
        return 0.0
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


class World(Protocol):
    """A question that can be asked for any threshold."""

    def trial(self, threshold: float) -> Trial: ...


def _growth(run: Replay) -> tuple[float, NDArray[np.int64]]:
    """β of Heaps' law over the later part of a replay, and the places that it was taken from."""
    n = len(run.founded)
    points = np.unique(np.linspace(SETTLED * n, n, 9).astype(np.int64))
    points = points[points > 0]
    grown = np.cumsum(run.founded)[points - 1].astype(np.float64)
    return min(max(_slope(grown, points.astype(np.float64)), 0.0), 1.0), points


def _ahead(rate: float, beta: float, here: float, there: float) -> float:
    """The rate at one place of the stream, from that at another: D'(n) goes as n^(β - 1)."""
    return float(min(rate * (there / here) ** (beta - 1.0), 1.0))


class Afresh:
    """All units learned anew with a threshold, then the next stretch with the same one."""

    def __init__(
        self,
        bags: Sequence[Bag],
        settings: PlacementSettings,
        significance: NDArray[np.float64] | None = None,
    ) -> None:
        _enough(len(bags))
        self._bags, self._settings, self._significance = bags, settings, significance

    def replay(self, threshold: float) -> Replay:
        return replay(self._bags, replace(self._settings, threshold=threshold), self._significance)

    def trial(self, threshold: float) -> Trial:
        run = self.replay(threshold)
        n = len(run.founded)
        stretch = max(1, int(NEXT * n))
        beta, points = _growth(run)
        rate = run.new_rate(n - stretch, n)
        shares = np.array([run.singletons(int(point)) for point in points])
        trend = _slope(shares, points.astype(np.float64))
        return Trial(
            threshold,
            rate,
            _ahead(rate, beta, n - stretch / 2, n + stretch / 2),
            float(shares[-1]),
            min(float(shares[-1]) * ((n + stretch) / n) ** trend, 1.0),
            int(run.founded.sum()),
        )


class Onward:
    """The domains as they are; the next stretch, and only that, with another threshold.

    `index` holds the domains, `bags` the units in the order of the stream, `places` the domain of
    each (0 for one that the index does not hold).
    """

    def __init__(
        self,
        index: DomainIndex,
        bags: Sequence[Bag],
        places: Sequence[int],
        n_units: int,
        significance: NDArray[np.float64] | None = None,
    ) -> None:
        _enough(len(bags))
        self._n_units = max(n_units, len(bags))
        size = max(1, min(int(STRETCH * self._n_units), len(bags) // len(TRUST)))
        self._now = _singletons(index)
        self._stretches: list[_Stretch] = []
        before, last = deepcopy(index), len(bags)
        for _ in TRUST:
            for bag, place in zip(
                bags[last - size : last], places[last - size : last], strict=True
            ):
                if place:
                    before.absorb(place, bag, -1)
            first = self._n_units - len(bags) + last - size
            self._stretches.append(_Stretch(deepcopy(before), bags[last - size : last], first))
            last -= size
        afresh = Afresh(bags, index.settings, significance)
        self._betas = [_growth(afresh.replay(threshold))[0] for threshold in ANCHORS]

    def trial(self, threshold: float) -> Trial:
        beta = float(np.interp(threshold, ANCHORS, self._betas))
        ahead = NEXT * self._n_units
        found = [stretch.placed(threshold) for stretch in self._stretches]
        rates, changes = [], []
        for stretch, (run, before, after, _) in zip(self._stretches, found, strict=True):
            n = len(stretch.bags)
            rate = run.new_rate(0, n)
            rates.append(_ahead(rate, beta, stretch.first + n / 2, self._n_units + ahead / 2))
            grown = np.log((stretch.first + n + 1) / (stretch.first + 1))
            changes.append((after - before) * np.log1p(ahead / self._n_units) / grown)
        run, _, singletons, n_domains = found[0]
        return Trial(
            threshold,
            run.new_rate(0, len(run.founded)),
            float(np.average(rates, weights=TRUST)),
            singletons,
            min(max(self._now + float(np.average(changes, weights=TRUST)), 0.0), 1.0),
            n_domains,
        )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Units of the past, and the domains without them and all that came later."""

    before: DomainIndex
    bags: Sequence[Bag]
    first: int
    """Units of the stream before them."""

    def placed(self, threshold: float) -> tuple[Replay, float, float, int]:
        """The stretch placed with a threshold; the share of singletons before and after, and the
        domains after."""
        index = deepcopy(self.before)
        index.settings = replace(index.settings, threshold=threshold)
        before = _singletons(index)
        run = go_on(index, self.bags)
        return run, before, _singletons(index), int((index.n_units > 0).sum())


def _singletons(index: DomainIndex) -> float:
    """Share of the domains that have one unit."""
    n_domains = int((index.n_units > 0).sum())
    return float((index.n_units == 1).sum()) / n_domains if n_domains else 0.0


def _enough(n_units: int) -> None:
    if n_units < LEAST_UNITS:
        raise UsageError(
            f"{n_units} units are too few to choose a threshold by; it takes at least {LEAST_UNITS}"
        )


def search(
    world: World,
    target: float,
    aim: str = "next_new_rate",
    watch: Callable[[Trial], None] | None = None,
) -> tuple[Trial, list[Trial]]:
    """The trial that is foreseen to reach a target, and all of them, by threshold.

    `aim` is the field of a trial that should reach it. Both rates rise with the threshold; where
    chance makes them dip, the lowest bracket is searched.
    """
    if not 0 < target < 1:
        raise UsageError(f"a target of {target} should lie between 0 and 1")
    trials: dict[float, Trial] = {}

    def value(threshold: float) -> float:
        if threshold not in trials:
            trials[threshold] = world.trial(threshold)
            if watch is not None:
                watch(trials[threshold])
        return float(getattr(trials[threshold], aim))

    def done(threshold: float) -> tuple[Trial, list[Trial]]:
        return trials[threshold], [trials[t] for t in sorted(trials)]

    values = [value(threshold) for threshold in GRID]
    above = next((i for i, v in enumerate(values) if v >= target), len(GRID))
    if above in (0, len(GRID)):
        nearest = GRID[min(above, len(GRID) - 1)]
        if abs(value(nearest) - target) > 0.05 * target:
            raise UsageError(
                f"no threshold from {GRID[0]} to {GRID[-1]} reaches {target}: they give"
                f" {min(values):.3f} to {max(values):.3f}"
            )
        return done(nearest)
    low, high = GRID[above - 1], GRID[above]
    for _ in range(FINER):
        share = (target - value(low)) / max(value(high) - value(low), 1e-9)
        middle = round(low + (high - low) * min(max(share, 0.1), 0.9), 4)
        if middle in (low, high) or abs(value(middle) - target) <= CLOSE * target:
            low = high = middle
            break
        if value(middle) < target:
            low = middle
        else:
            high = middle
    return done(min((low, high), key=lambda t: (abs(value(t) - target), t)))


def slope(trials: Sequence[Trial], threshold: float, aim: str = "next_new_rate") -> float:
    """How steeply the logarithm of a share rises with the threshold, between the points of the grid
    around one."""
    points = [trial for trial in trials if trial.threshold in GRID]
    at = min(max(sum(p.threshold < threshold for p in points), 1), len(points) - 1)
    low, high = points[at - 1], points[at]
    values = [max(float(getattr(point, aim)), 1e-6) for point in (low, high)]
    found = float(np.log(values[1] / values[0])) / (high.threshold - low.threshold)
    return min(max(found, SLOPES[0]), SLOPES[1])
