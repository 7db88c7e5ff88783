"""The run log of a store: list its runs, and undo the last one."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from segapsith.api.session import Session
from segapsith.model import Result
from segapsith_store.queries.status import Run, list_runs

__all__ = ["Runs", "Undone"]


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
