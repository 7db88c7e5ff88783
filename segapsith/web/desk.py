"""The store behind the pages: one wire to read from, and one change at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from segapsith.api.wire import Wire
from segapsith.errors import BusyError, SegapsithError
from segapsith.settings import Settings, resolve
from segapsith.web.federation import FederatedView
from segapsith.web.security import WebOptions
from segapsith.web.snapshots import Moment, Snapshots
from segapsith_store import Store
from segapsith_store.connections import lock_holder
from segapsith_store.queries.browsing.activity import read_state
from segapsith_store.queries.status import Run

__all__ = ["ChangesOffError", "Desk", "StaleFormError"]

T = TypeVar("T")

MOST_BETWEEN = 20
"""Runs that are listed when a form is too old."""


class ChangesOffError(SegapsithError):
    """A change was asked for, but the application was started without `--allow-changes`."""


class StaleFormError(SegapsithError):
    """Another run came between the page with the form and the change."""

    def __init__(self, message: str, known: int, between: Sequence[Run]) -> None:
        super().__init__(message)
        self.known = known
        """The last run that the page knew."""
        self.between = between
        """The runs that came since, newest first."""


class Desk:
    """A store, how it is offered, and the wire that all requests read from."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        options: WebOptions,
        settings: Settings | None = None,
    ) -> None:
        given = settings or resolve(environment={})
        self.path = os.fspath(path)
        self.options = options
        self._settings = replace(given, store=replace(given.store, wait=options.wait_seconds))
        self.wire = Wire(self.path, given)
        self.wire.read_seconds = options.query_seconds
        self._snapshots = Snapshots(self.path, warm=self._warm, show=self.wire.browse.show)
        self._changing = threading.Lock()
        self.federation = FederatedView(options.federation) if options.federation else None

    def _warm(self, store: Store, pause: Callable[[], object]) -> None:
        with self.wire.reading_from(store):
            self.wire.browse.warm(pause)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Moment]:
        """Hold one state of the store for all that this thread reads."""
        with (
            self._snapshots.reading(self.options.query_seconds) as (moment, store),
            self.wire.reading_from(store),
        ):
            yield moment

    def watch(self) -> None:
        """Read what pages need after each run, before the first request; until `close`."""
        self._snapshots.watch()

    def close(self) -> None:
        """Close the connections to the store."""
        self._snapshots.close()

    @property
    def stable(self) -> int:
        """Units of a stable domain."""
        return self.wire.settings.maintenance.stable

    def busy(self) -> str:
        """Return which process and run are writing, for a message; empty if none is known."""
        holder = lock_holder(self.path)
        running = [run for run in self.wire.runs(3) if run.status == "running"]
        parts = [] if holder is None else [str(holder)]
        for run in running[:1]:
            name = f" ({run.name})" if run.name else ""
            parts.append(f"run {run.id}, {run.command}{name}, since {run.started_at}")
        return "; ".join(parts)

    def check_changes(self) -> None:
        """Raise an error if the application may not change the store."""
        if not self.options.allow_changes:
            raise ChangesOffError("this application was started without --allow-changes")

    def change(self, known_run: int, work: Callable[[Wire], T]) -> T:
        """Apply one change, if no other run came after `known_run`; it is one run of its own."""
        self.check_changes()
        if not self._changing.acquire(timeout=self.options.wait_seconds):
            raise BusyError("another change of this application is being made")
        try:
            with Wire(self.path, self._settings) as wire:
                self._check(wire, known_run)
                return work(wire)
        finally:
            self._changing.release()

    @staticmethod
    def _check(wire: Wire, known: int) -> None:
        """Take the lock, then refuse a form that does not know the last run."""
        last = read_state(wire.writer).run
        if last != known:
            newer = last - known if last > known else MOST_BETWEEN
            runs = wire.runs(min(MOST_BETWEEN, newer))
            between = [run for run in runs if run.id > known]
            raise StaleFormError(
                f"the store has changed: the page knew run {known}, the last run is {last}",
                known,
                between,
            )
