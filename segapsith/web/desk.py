"""The store behind the pages: one wire to read from, and one change at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from segapsith.api.wire import Wire
from segapsith.errors import BusyError, SegapsithError
from segapsith.settings import Settings, resolve
from segapsith.web.security import WebOptions
from segapsith_store.queries.browsing.activity import read_state
from segapsith_store.queries.status import Run

__all__ = ["ChangesOffError", "Desk", "StaleFormError"]

T = TypeVar("T")

MOST_BETWEEN = 20
"""Runs that are listed when a form is too old."""

MOST_KEPT = 200
"""Pages that are held between two commits of the store."""


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
        self._changing = threading.Lock()
        self._keeping = threading.Lock()
        self._kept: dict[tuple[str, ...], object] = {}
        self._kept_for: tuple[int, ...] = ()

    def mark(self) -> tuple[int, ...]:
        """Return a mark of the files of the store, which every commit changes."""
        marks: list[int] = []
        for path in (self.path, f"{self.path}-wal"):
            try:
                found = os.stat(path)
            except OSError:
                continue
            marks += [found.st_mtime_ns, found.st_size, found.st_ino]
        return tuple(marks)

    def kept(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """Return what was made for a key since the last commit, or make it now."""
        mark = self.mark()
        with self._keeping:
            if mark != self._kept_for:
                self._kept_for = mark
                self._kept.clear()
            if key in self._kept:
                return self._kept[key]  # type: ignore[return-value]
        value = make()
        with self._keeping:
            if mark == self._kept_for and len(self._kept) < MOST_KEPT:
                self._kept[key] = value
        return value

    @property
    def stable(self) -> int:
        """Units of a stable domain."""
        return self.wire.settings.maintenance.stable

    def busy(self) -> str:
        """Return which run is writing, for a message; empty if none is."""
        running = [run for run in self.wire.runs(3) if run.status == "running"]
        if not running:
            return ""
        run = running[0]
        name = f" ({run.name})" if run.name else ""
        return f"run {run.id}, {run.command}{name}, since {run.started_at}"

    def change(self, known_run: int, work: Callable[[Wire], T]) -> T:
        """Apply one change, if no other run came after `known_run`; it is one run of its own."""
        if not self.options.allow_changes:
            raise ChangesOffError("this application was started without --allow-changes")
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
