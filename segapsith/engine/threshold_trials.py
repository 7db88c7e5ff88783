"""Trials of thresholds as tasks: the stretch of the stream travels once, an item is a threshold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex, IndexState
from segapsith.domains.threshold_search import (
    GROWTH_THRESHOLDS,
    Continuation,
    Experiment,
    FreshStart,
    Trial,
)
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.parallel.packing import Frozen
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor

__all__ = ["TrialSetup", "WorkerTrials", "growth_part", "trial_part"]


@dataclass(frozen=True, slots=True)
class TrialSetup:
    """Units in the order of the stream, and the domains to continue with, if there are any."""

    bags: Sequence[Bag]
    placing: PlacementSettings
    significance: NDArray[np.float64] | None
    stories: Sequence[int]
    index: IndexState | None = None
    """The open domains; None if everything is learned again."""
    places: Sequence[int] = ()
    """With domains: the domain of each unit, 0 for one that the index does not hold."""
    n_units: int = 0
    growth: Sequence[float] | None = None
    """With domains: beta at each of `GROWTH_THRESHOLDS`."""

    def experiment(self) -> Experiment:
        """Make the experiment."""
        if self.index is None:
            return FreshStart(self.bags, self.placing, self.significance, self.stories)
        return Continuation(
            DomainIndex.of(self.index), self.bags, self.places, self.n_units, self.significance,
            self.stories, growth=self.growth,
        )  # fmt: skip


class WorkerTrials:
    """An experiment whose trials run in an executor."""

    def __init__(self, executor: Executor, setup: TrialSetup) -> None:
        self._executor = executor
        if setup.index is not None:
            fresh = {"setup": Frozen(replace(setup, index=None))}
            growth = list(executor.map("tune-growth", GROWTH_THRESHOLDS, fresh))
            setup = replace(setup, growth=growth)
        self._shared = {"setup": Frozen(setup)}

    def trials(self, thresholds: Iterable[float]) -> Iterator[Trial]:
        """Yield the rates of each threshold."""
        yield from self._executor.map("tune", thresholds, self._shared)

    def trial(self, threshold: float) -> Trial:
        """Return the rates of a threshold."""
        (trial,) = self.trials([threshold])
        return trial


def trial_part(threshold: float, shared: Shared) -> Trial:
    """Try a threshold: the task `tune`."""
    return _experiment(shared).trial(threshold)


def growth_part(threshold: float, shared: Shared) -> float:
    """Return beta of Heaps' law if everything is learned with a threshold: `tune-growth`."""
    experiment = _experiment(shared)
    assert isinstance(experiment, FreshStart)
    return experiment.growth(threshold)


def _experiment(shared: Shared) -> Experiment:
    setup: TrialSetup = shared["setup"]
    return shared.once("experiment", setup.experiment, of="setup")
