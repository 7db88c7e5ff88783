"""The run log of a store: list its runs, and undo the last one."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass

from segapsith.api.session import Session
from segapsith.errors import UsageError
from segapsith.model import Result
from segapsith_store.queries import nights
from segapsith_store.queries.status import Run, list_runs

__all__ = ["NightUndone", "Runs", "Undone"]


@dataclass(frozen=True, slots=True)
class Undone(Result):
    """A run that was taken back, and what that changed."""

    run: int
    documents: int
    """Documents that were removed."""
    restored: int
    """Documents that have an earlier version again."""
    moved: int
    """Units that are in an earlier domain again."""


@dataclass(frozen=True, slots=True)
class NightUndone(Result):
    """A night that was taken back: its runs, the last one first, and what that changed."""

    night: str
    runs: Sequence[int]
    documents: int
    restored: int
    moved: int


class Runs:
    """The run log of a store: `wire.runs(…)` lists it, newest first."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(self, limit: int | None = None) -> builtins.list[Run]:
        """Return the runs, newest first, as `list` does."""
        return self.list(limit)

    def list(self, limit: int | None = None) -> builtins.list[Run]:
        """Return the last `limit` runs (default: all), newest first."""
        return self._session.read(lambda store: list_runs(store, limit))

    def undo(self, run: int | None = None) -> Undone:
        """Take the last run back exactly; `run`, if given, must be that run."""
        undone = self._session.engine.undo(run, self._session.factory.versions())
        self._session.reset()  # the settings that the run brought are taken back with it
        return Undone(**undone)

    def undo_night(self) -> NightUndone:
        """Take back all runs of the last night that has some, the last run first.

        Each run is one transaction: called again after a kill, this continues.
        """
        store = self._session.writer
        numbers = nights.runs_to_undo(store)
        if numbers is None:
            raise UsageError("there is no night to undo; `segapsith runs undo` takes one run back")
        later = [run for run, _ in store.later_runs(numbers.last_run)]
        if later:
            raise UsageError(
                f"run {later[-1]} came after the night of {numbers.night}: undo it first"
            )
        done = [self.undo(run) for run in numbers.runs]
        return NightUndone(
            numbers.night,
            [one.run for one in done],
            sum(one.documents for one in done),
            sum(one.restored for one in done),
            sum(one.moved for one in done),
        )
