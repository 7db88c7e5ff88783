"""Tasks: functions that a worker imports by their registered name, and the work of one item.

A package registers a task with an entry point in the group `segapsith.tasks`. The function gets an
item and the shared values, and returns a value that can be packed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from segapsith import errors
from segapsith.errors import ConfigurationError, SegapsithError, did_you_mean
from segapsith.parallel.packing import Frozen, pack, unpack
from segapsith.plugin.contracts import SharedValue

__all__ = [
    "GROUP",
    "Recent",
    "Shared",
    "SharedValues",
    "Task",
    "TaskError",
    "failed",
    "find_task",
    "perform",
    "result_of",
]

T = TypeVar("T")

GROUP = "segapsith.tasks"
"""The group of entry points that registers tasks."""

Task = Callable[[Any, "Shared"], Any]


class TaskError(SegapsithError):
    """A task failed in a worker, for a reason that no class of error describes."""


class Shared(Mapping[str, Any]):
    """The values that all items of a call share, and what tasks derive from them once."""

    def __init__(self, values: Mapping[str, SharedValue]) -> None:
        self._values = {
            name: one if isinstance(one, Frozen) else Frozen(one.value)
            for name, one in values.items()
        }
        self._derived: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self._values[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def once(self, name: str, make: Callable[[], T], *, of: str | None = None) -> T:
        """Return what `make` returned when it was first asked for.

        It is remembered as long as the value `of` is held; without one, as long as all are.
        """
        derived = self._derived if of is None else self._values[of].derived
        if name not in derived:
            derived[name] = make()
        held: T = derived[name]
        return held


@lru_cache(maxsize=64)
def find_task(name: str) -> Task:
    """Return the function that is registered under a name."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in points:
        raise ConfigurationError(
            f"no task is called {name!r} (known: {', '.join(sorted(points)) or 'none'})"
            f"{did_you_mean(name, points)}; install the same packages here and on every worker"
        )
    task: Task = points[name].load()
    return task


def load_task(task: str) -> None:
    """Import a task before its first item comes; what fails is reported with that item."""
    with contextlib.suppress(Exception, SystemExit):
        find_task(task)


def perform(task: str, item: bytes, shared: Shared) -> bytes:
    """Do one item in a worker; return the packed result, or the packed failure."""
    try:
        return pack((True, find_task(task)(unpack(item), shared)))
    except (Exception, SystemExit) as error:
        return failed(error)


def failed(error: BaseException) -> bytes:
    """Return a failure, packed; `result_of` raises it."""
    return pack((False, _described(error)))


def _described(error: BaseException) -> dict[str, Any]:
    """Return an error as plain values, with the worker that it happened in."""
    known = isinstance(error, SegapsithError) and hasattr(errors, type(error).__name__)
    kind = type(error).__name__ if known or isinstance(error, MemoryError | OSError) else ""
    text = str(error) if kind else f"{type(error).__name__}: {error}"
    about = {name: getattr(error, name, None) for name in ("uid", "setting", "plugin", "path")}
    return {
        "kind": kind,
        "text": text,
        "about": {name: value for name, value in about.items() if isinstance(value, str)},
        "worker": f"{socket.gethostname()}, process {os.getpid()}",
        "trace": "".join(traceback.format_exception(error)),
    }


def result_of(data: bytes) -> Any:
    """Return the result of an item, or raise the error that its worker met."""
    succeeded, value = unpack(data)
    if succeeded:
        return value
    raise _error(value)


def _error(described: Mapping[str, Any]) -> Exception:
    kind, text, worker = described["kind"], described["text"], described["worker"]
    if kind == "MemoryError":
        error: Exception = MemoryError(f"in a worker ({worker}): {text}")
    else:
        known = getattr(errors, kind, None) if kind else None
        if known is None:
            known = errors.StorageError if kind else TaskError
        error = known(f"{text} (in a worker: {worker})", **described["about"])
    error.add_note(f"In the worker ({worker}):\n{described['trace']}")
    return error


class Recent:
    """The sets of hashes that were used last, at most `most`.

    A worker holds the values of these sets: of an ingest, those of two epochs. Its sender runs the same rule, so it knows which values
    the worker has.
    """

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._sets: dict[tuple[str, ...], None] = {}

    def use(self, digests: Iterable[str]) -> None:
        """Make a set the latest one; the oldest is dropped if there are too many."""
        key = tuple(sorted(digests))
        self._sets.pop(key, None)
        self._sets[key] = None
        if len(self._sets) > self._most:
            del self._sets[next(iter(self._sets))]

    def __contains__(self, digest: object) -> bool:
        return any(digest in held for held in self._sets)


class SharedValues:
    """What a worker holds of shared values: each is unpacked once, the last few sets are held."""

    def __init__(self) -> None:
        self._recent = Recent()
        self._values: dict[str, Frozen] = {}
        self._sets: dict[tuple[tuple[str, str], ...], Shared] = {}

    def load(self, names: Mapping[str, str], data: Mapping[str, bytes]) -> Shared:
        """Return the shared values with these hashes; `data` has the bytes of new ones."""
        self._recent.use(names.values())
        self._values = {d: value for d, value in self._values.items() if d in self._recent}
        for digest in names.values():
            if digest not in self._values:
                self._values[digest] = Frozen(unpack(data[digest]))
        self._sets = {
            key: one for key, one in self._sets.items() if all(d in self._values for _, d in key)
        }
        key = tuple(sorted(names.items()))
        if key not in self._sets:
            self._sets[key] = Shared({name: self._values[d] for name, d in names.items()})
        return self._sets[key]
