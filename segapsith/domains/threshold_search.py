"""Search for the threshold that reaches a target, by replaying the stream with several thresholds.

The share of units that start a domain falls as the store grows, because a new unit finds more
domains to join. The rate of one stretch is therefore not the rate of the next. The number of
domains is modelled as a power of the number of units (Heaps' law), D(n) = c * n^beta, with beta
from the later part of a replay. See docs/concepts/formulas.md, "Threshold search and control".

There are two experiments. In `Continuation` the store stays as it is and only the next units are
placed with another threshold; each of the last stretches is placed on the domains that existed
before it. In `FreshStart` everything is learned again with that threshold. The results differ,
because domains that were made with one threshold are not those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import Replay, place_units, replay
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.errors import UsageError
from segapsith.model import Result

__all__ = [
    "GRID",
    "GROWTH_THRESHOLDS",
    "Continuation",
    "Experiment",
    "FreshStart",
    "Trial",
    "search",
    "slope",
]

MIN_UNITS = 50
"""Least number of units for which a rate is meaningful."""

GRID = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
"""Thresholds that are always tried."""

MAX_REFINEMENTS = 6
"""Number of thresholds that are tried at most between two neighbours in the grid."""

TOLERANCE = 0.005
"""Relative distance to the target at which the search ends."""

NEXT_SHARE = 1 / 3
"""Length of the predicted stretch, as a share of the units so far."""

STRETCH_SHARE = 1 / 5
"""Length of a stretch on which `Continuation` measures a rate, as a share of the units."""

STRETCH_WEIGHTS = (2.0, 1.5, 1.0)
"""Weights of the last stretches, the latest first.

News arrive in waves, so several stretches are more reliable than one."""

GROWTH_THRESHOLDS = (0.1, 0.25, 0.5)
"""Thresholds at which beta is measured on the whole stream; it is interpolated between them."""

SLOPE_LIMITS = (1.0, 40.0)
"""Limits of the slope of a curve: lower values are noise, higher ones are a jump."""

WARM_UP_SHARE = 0.4
"""Share of the units, from the first one, that is left out when beta is measured."""


@dataclass(frozen=True, slots=True)
class Trial(Result):
    """The rates of one threshold: measured on the last stretch, predicted for the next (`next_`)."""

    threshold: float
    new_rate: float
    next_new_rate: float
    singletons: float
    next_singletons: float
    domains: int

    def as_json(self) -> dict[str, Any]:
        """Return the fields, rounded to six digits."""
        return {name: round(getattr(self, name), 6) for name in self.keys()}


def _slope(values: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """Return the exponent of a power law through points, by least squares on the logarithms."""
    if len(values) < 2 or (values <= 0).any():
        return 0.0
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


class Experiment(Protocol):
    """A way to try a threshold on the stream."""

    def trial(self, threshold: float) -> Trial:
        """Return the rates of a threshold."""


def _growth(run: Replay) -> tuple[float, NDArray[np.int64]]:
    """Return beta of Heaps' law over the later part of a replay, and the points of the fit."""
    n = len(run.founded)
    points = np.unique(np.linspace(WARM_UP_SHARE * n, n, 9).astype(np.int64))
    points = points[points > 0]
    grown = np.cumsum(run.founded)[points - 1].astype(np.float64)
    return min(max(_slope(grown, points.astype(np.float64)), 0.0), 1.0), points


def _extrapolated(rate: float, beta: float, here: float, there: float) -> float:
    """Return the rate after `there` units, given that after `here` units.

    The rate is the derivative of Heaps' law: rate(there) = rate(here) * (there / here)^(beta - 1).
    """
    return float(min(rate * (there / here) ** (beta - 1.0), 1.0))


class FreshStart:
    """All units are learned again with a threshold, then the next stretch with the same one."""

    def __init__(
        self,
        bags: Sequence[Bag],
        settings: PlacementSettings,
        significance: NDArray[np.float64] | None = None,
        stories: Sequence[int] | None = None,
    ) -> None:
        _require_units(len(bags))
        self._bags, self._settings, self._significance = bags, settings, significance
        self._stories = stories

    def replay(self, threshold: float) -> Replay:
        """Place all units with a threshold."""
        settings = replace(self._settings, threshold=threshold)
        return replay(self._bags, settings, self._significance, self._stories)

    def growth(self, threshold: float) -> float:
        """Return beta of Heaps' law for a threshold."""
        return _growth(self.replay(threshold))[0]

    def trial(self, threshold: float) -> Trial:
        """Return the rates of a threshold."""
        run = self.replay(threshold)
        n = len(run.founded)
        stretch = max(1, int(NEXT_SHARE * n))
        beta, points = _growth(run)
        rate = run.new_rate(n - stretch, n)
        shares = np.array([run.singletons(int(point)) for point in points])
        trend = _slope(shares, points.astype(np.float64))
        return Trial(
            threshold,
            rate,
            _extrapolated(rate, beta, n - stretch / 2, n + stretch / 2),
            float(shares[-1]),
            min(float(shares[-1]) * ((n + stretch) / n) ** trend, 1.0),
            int(run.founded.sum()),
        )


class Continuation:
    """The domains stay as they are; only the next stretch is placed with another threshold.

    `index` holds the domains, `bags` the units in the order of the stream, `places` the domain of
    each unit (0 for a domain that the index does not hold), `stories` the ordinal of its story.
    `growth` is beta at each of `GROWTH_THRESHOLDS`, if it is known.
    """

    def __init__(
        self,
        index: DomainIndex,
        bags: Sequence[Bag],
        places: Sequence[int],
        n_units: int,
        significance: NDArray[np.float64] | None = None,
        stories: Sequence[int] | None = None,
        *,
        growth: Sequence[float] | None = None,
    ) -> None:
        _require_units(len(bags))
        ordinals = [0] * len(bags) if stories is None else stories
        self._n_units = max(n_units, len(bags))
        size = max(1, min(int(STRETCH_SHARE * self._n_units), len(bags) // len(STRETCH_WEIGHTS)))
        self._singletons = _singletons(index)
        self._stretches: list[_Stretch] = []
        before, last = deepcopy(index), len(bags)
        for _ in STRETCH_WEIGHTS:
            for bag, place in zip(
                bags[last - size : last], places[last - size : last], strict=True
            ):
                if place:
                    before.remove_unit(place, bag)
            first = self._n_units - len(bags) + last - size
            for place, story in zip(places[: last - size], ordinals, strict=False):
                before.note_story(place, story)  # in the order of the stream: the last one stays
            self._stretches.append(
                _Stretch(
                    deepcopy(before), bags[last - size : last], ordinals[last - size : last], first
                )
            )
            last -= size
        fresh = FreshStart(bags, index.settings, significance, stories)
        self._betas = growth or [fresh.growth(threshold) for threshold in GROWTH_THRESHOLDS]

    def trial(self, threshold: float) -> Trial:
        """Return the rates of a threshold; those of the next stretch are weighted means."""
        beta = float(np.interp(threshold, GROWTH_THRESHOLDS, self._betas))
        ahead = NEXT_SHARE * self._n_units
        runs = [stretch.placed(threshold) for stretch in self._stretches]
        rates, changes = [], []
        for stretch, (run, before, after, _) in zip(self._stretches, runs, strict=True):
            n = len(stretch.bags)
            rate = run.new_rate(0, n)
            rates.append(
                _extrapolated(rate, beta, stretch.first + n / 2, self._n_units + ahead / 2)
            )
            grown = np.log((stretch.first + n + 1) / (stretch.first + 1))
            changes.append((after - before) * np.log1p(ahead / self._n_units) / grown)
        run, _, singletons, n_domains = runs[0]
        return Trial(
            threshold,
            run.new_rate(0, len(run.founded)),
            float(np.average(rates, weights=STRETCH_WEIGHTS)),
            singletons,
            min(
                max(self._singletons + float(np.average(changes, weights=STRETCH_WEIGHTS)), 0.0),
                1.0,
            ),
            n_domains,
        )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Past units, and the domains without them and without all later units."""

    before: DomainIndex
    bags: Sequence[Bag]
    stories: Sequence[int]
    first: int
    """Number of units of the stream before the stretch."""

    def placed(self, threshold: float) -> tuple[Replay, float, float, int]:
        """Place the stretch with a threshold.

        Return the replay, the share of singletons before and after, and the number of domains.
        """
        index = deepcopy(self.before)
        index.settings = replace(index.settings, threshold=threshold)
        before = _singletons(index)
        run = place_units(index, self.bags, self.stories)
        return run, before, _singletons(index), int((index.n_units > 0).sum())


def _singletons(index: DomainIndex) -> float:
    """Return the share of domains with a single unit."""
    n_domains = int((index.n_units > 0).sum())
    return float((index.n_units == 1).sum()) / n_domains if n_domains else 0.0


def _require_units(n_units: int) -> None:
    if n_units < MIN_UNITS:
        raise UsageError(
            f"{n_units} units are too few to choose a threshold; at least {MIN_UNITS} are needed"
        )


def search(
    experiment: Experiment,
    target: float,
    aim: str = "next_new_rate",
    watch: Callable[[Trial], None] | None = None,
    *,
    known: Iterable[Trial] = (),
) -> tuple[Trial, list[Trial]]:
    """Return the trial that is predicted to reach a target, and all trials by threshold.

    `aim` is the field of a trial that should reach the target; `watch` is called with each trial.
    `known` are trials of the experiment, which are not made again.
    Rates rise with the threshold; where noise makes them dip, the lowest bracket is searched.
    """
    if not 0 < target < 1:
        raise UsageError(f"target={target} should lie between 0 and 1")
    trials: dict[float, Trial] = {}
    for trial in known:
        trials[trial.threshold] = trial
        if watch is not None:
            watch(trial)

    def value(threshold: float) -> float:
        if threshold not in trials:
            trials[threshold] = experiment.trial(threshold)
            if watch is not None:
                watch(trials[threshold])
        return float(getattr(trials[threshold], aim))

    def result(threshold: float) -> tuple[Trial, list[Trial]]:
        return trials[threshold], [trials[t] for t in sorted(trials)]

    values = [value(threshold) for threshold in GRID]
    above = next((i for i, v in enumerate(values) if v >= target), len(GRID))
    if above in (0, len(GRID)):
        nearest = GRID[min(above, len(GRID) - 1)]
        if abs(value(nearest) - target) > 0.05 * target:
            raise UsageError(
                f"no threshold between {GRID[0]} and {GRID[-1]} reaches {target}: they give"
                f" {min(values):.3f} to {max(values):.3f}; choose a target in this range"
            )
        return result(nearest)
    low, high = GRID[above - 1], GRID[above]
    for _ in range(MAX_REFINEMENTS):
        share = (target - value(low)) / max(value(high) - value(low), 1e-9)
        middle = round(low + (high - low) * min(max(share, 0.1), 0.9), 4)
        if middle in (low, high) or abs(value(middle) - target) <= TOLERANCE * target:
            low = high = middle
            break
        if value(middle) < target:
            low = middle
        else:
            high = middle
    return result(min((low, high), key=lambda t: (abs(value(t) - target), t)))


def slope(trials: Sequence[Trial], threshold: float, aim: str = "next_new_rate") -> float:
    """Return the slope of the logarithm of a share over the threshold, around one threshold.

    It is measured between the two neighbours in the grid and limited to `SLOPE_LIMITS`.
    """
    points = [trial for trial in trials if trial.threshold in GRID]
    at = min(max(sum(p.threshold < threshold for p in points), 1), len(points) - 1)
    low, high = points[at - 1], points[at]
    values = [max(float(getattr(point, aim)), 1e-6) for point in (low, high)]
    steepness = float(np.log(values[1] / values[0])) / (high.threshold - low.threshold)
    return min(max(steepness, SLOPE_LIMITS[0]), SLOPE_LIMITS[1])
