"""Any number of processes gives the same results; a process that dies is replaced."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import SettingError, WorkerKilledError
from segapsith.parallel.packing import Frozen
from segapsith.parallel.processes import Processes
from segapsith.parallel.tasks import Shared


@pytest.mark.slow
def test_workers_do_not_change_the_result(open_wire: Callable[..., Wire]) -> None:
    digests = set()
    for workers in (1, "processes:2"):
        wire = open_wire(f"{str(workers)[-1]}.db", workers=workers)
        wire.ingest(sample.lines("en") + sample.lines("fr"))
        digests.add(wire.status()["digest"])
    assert len(digests) == 1


@pytest.mark.parametrize("workers", [0, "", "-1", "dask:a b"])
def test_no_workers_is_wrong(open_wire: Callable[..., Wire], workers: object) -> None:
    with pytest.raises(SettingError, match=r"workers=.* should be a number of at least 1, auto"):
        open_wire(workers=workers).ingest([])


def test_a_wrong_number_of_processes_is_refused() -> None:
    with pytest.raises(ValueError, match="processes:x should be processes:N"):
        Processes(workers="x")


@pytest.fixture
def two() -> Iterator[Processes]:
    executor = Processes(workers="2")
    yield executor
    executor.close()


@pytest.mark.slow
def test_a_killed_process_is_replaced_and_its_task_repeated(two: Processes, tmp_path: Path) -> None:
    items = [(str(tmp_path), number, 1 if number in (0, 3, 6) else 0) for number in range(10)]
    assert list(two.map("check-deaths", items, {"offset": Frozen(0)})) == list(range(10))


@pytest.mark.slow
def test_a_task_that_ends_its_process_three_times_is_given_up(
    two: Processes, tmp_path: Path
) -> None:
    results = two.map("check-deaths", [(str(tmp_path), 0, 0), (str(tmp_path), 1, 9)])
    assert next(results) == 0
    with pytest.raises(WorkerKilledError, match="'check-deaths' ended its worker process 3 times"):
        list(results)
    assert list(two.map("check", [1], {"offset": Frozen(2)})) == [[1, 2]]  # others go on


def test_the_task_of_these_tests_dies_as_often_as_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segapsith.testing.executors import dying_item

    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _, number: killed.append(number))
    for _ in range(3):
        dying_item((str(tmp_path), 1, 2), Shared({}))
    assert killed == [signal.SIGKILL] * 2


def test_one_slow_worker_holds_up_at_most_one_other_task(tmp_path: Path) -> None:
    items = [(str(tmp_path), number, 6 if number == 0 else 0) for number in range(8)]
    with contextlib.closing(Processes(workers="2")) as executor:
        assert list(executor.map("check-waits", items)) == list(range(8))


def test_processes_that_started_early_perform_other_tasks_too() -> None:
    executor = Processes(workers="2")
    try:
        executor.start("no such task")  # reported only when an item comes
        early = multiprocessing.active_children()
        assert len(early) == 2
        assert list(executor.map("check", [1, 2], {"offset": Frozen(0)})) == [[1, 0], [2, 0]]
        assert multiprocessing.active_children() == early
    finally:
        executor.close()
