"""The threshold while a batch is learned: set by what a target asks for, noted with what it placed."""

from __future__ import annotations

from segapsith.domains.threshold_control import ThresholdController
from segapsith.engine.records import Batch, ThresholdRecord
from segapsith.engine.updates import BatchUpdate

__all__ = ["Steering"]


class Steering:
    """The thresholds that follow a target while a batch is learned, with what each placed."""

    def __init__(
        self, target: ThresholdController, contributions: BatchUpdate, batch: Batch, unit: int
    ) -> None:
        self._target = target
        self._contributions = contributions
        self._batch = batch
        self._unit = unit
        self._counted = (0, 0)
        self._opened = False
        """Whether the present threshold was set in this batch: it is kept in any case."""

    def step(self, ordinal: int, unit: int, census: tuple[int, int]) -> None:
        """Every unit so far is placed; `unit` is the number of the next."""
        self.note()
        self._target.step(ordinal, *census)
        self._unit, self._opened = unit, True

    def note(self) -> None:
        """Counts what was placed with the present threshold."""
        done, target = self._contributions, self._target
        placed = done.joined + done.created - self._counted[0]
        founded = done.created - self._counted[1]
        self._counted = (done.joined + done.created, done.created)
        target.count(placed, founded)
        if placed or self._opened:
            self._batch.thresholds.append(
                ThresholdRecord(
                    target.ordinal, self._unit, target.threshold, target.base, placed, founded
                )
            )
