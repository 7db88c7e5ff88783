"""Checks of executors: results in order, lazily, and the errors of tasks.

Their task is registered like any other: `check` returns its item with the shared value, and fails
for a negative item.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from segapsith.errors import SegapsithError
from segapsith.parallel.packing import Frozen
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor
from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["checked_item", "dying_item", "executor_checks", "waiting_item"]

N_ITEMS = 100
"""Items of a check; more than an executor may read ahead."""

AHEAD_PER_WORKER = 8
"""Items per worker that may be read before the first result."""


WAITS = 3600
"""How often an item that waits for others looks for them, 20 times a second: for three minutes,
which is longer than a worker needs to start on a busy machine."""


def checked_item(item: int, shared: Shared) -> list[int]:
    """Return the item and a shared value: the task `check`. A negative item is an error."""
    if item < 0:
        raise SegapsithError(f"item {item} is negative")
    return [item, shared["offset"]]


def dying_item(item: tuple[str, int, int], shared: Shared) -> int:
    """Return the number of an item: the task `check-deaths`, which ends its worker first.

    The item is a directory, a number, and how often the worker is ended.
    """
    folder, number, n_deaths = item
    marks = Path(folder)
    n_before = len(list(marks.glob(f"{number}-*")))
    if n_before < n_deaths:
        (marks / f"{number}-{n_before}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def waiting_item(item: tuple[str, int, int], shared: Shared) -> int:
    """Return the number of an item: the task `check-waits`, which waits for others first.

    The item is a directory, a number, and how many other items must have ended before.
    """
    folder, number, n_others = item
    marks = Path(folder)
    for _ in range(WAITS):
        if len(list(marks.iterdir())) >= n_others:
            (marks / str(number)).touch()
            return number
        threading.Event().wait(0.05)
    raise SegapsithError(f"{len(list(marks.iterdir()))} other items ended, not {n_others}")


@contextlib.contextmanager
def _open(factory: Factory) -> Iterator[Executor]:
    executor: Executor = factory()
    try:
        yield executor
    finally:
        executor.close()


@bounded
def check_it_is_an_executor(factory: Factory) -> None:
    """It has the methods, and at least one worker."""
    of_kind("executor", factory)
    number = factory().n_workers
    assert isinstance(number, int) and number >= 1, f"n_workers is {number!r}; 1 or more is wanted"


@bounded
def check_results_come_in_order(factory: Factory) -> None:
    """One result per item, in the order of the items, twice with other shared values."""
    with _open(factory) as executor:
        for offset in (7, 8):
            results = list(executor.map("check", range(N_ITEMS), {"offset": Frozen(offset)}))
            assert results == [[number, offset] for number in range(N_ITEMS)], (
                "map should yield one result per item, in the order of the items"
            )
        assert list(executor.map("check", [])) == [], "map of no items should yield nothing"


@bounded
def check_items_are_read_lazily(factory: Factory) -> None:
    """Few items are read before the first result is taken."""
    taken: list[int] = []

    def items(most: int) -> Iterator[int]:
        for number in range(most + 1):
            taken.append(number)
            yield number

    with _open(factory) as executor:
        most = AHEAD_PER_WORKER * executor.n_workers
        results = executor.map("check", items(most), {"offset": Frozen(0)})
        next(results)
        assert len(taken) <= most, f"map read {len(taken)} items ahead; at most {most} are wanted"


@bounded
def check_errors_are_raised_in_place(factory: Factory) -> None:
    """The error of a task is raised where its result would be; earlier results come first."""
    with _open(factory) as executor:
        results = executor.map("check", [1, -1, 2], {"offset": Frozen(0)})
        assert next(results) == [1, 0], "results before an error should be yielded"
        try:
            next(results)
        except SegapsithError as error:
            assert "item -1 is negative" in str(error), f"the error lost its message: {error}"
        else:
            raise AssertionError("the error of a task was not raised")


executor_checks: tuple[Check, ...] = (
    check_it_is_an_executor,
    check_settings,
    check_results_come_in_order,
    check_items_are_read_lazily,
    check_errors_are_raised_in_place,
)
