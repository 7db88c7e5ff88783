"""A process performs calls in order; its death is noticed at any moment."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from segapsith.parallel.packing import Frozen, pack
from segapsith.parallel.processes import Processes
from segapsith.parallel.tasks import result_of
from segapsith.parallel.worker_process import (
    ONE_THREAD,
    ProcessDiedError,
    WorkerProcess,
    one_thread,
)

pytestmark = pytest.mark.slow

LARGE = "x" * 20_000_000
"""A text that no buffer of a pipe can hold."""


@pytest.fixture
def process() -> Iterator[WorkerProcess]:
    made = WorkerProcess()
    yield made
    made.close()


def test_calls_are_performed_in_order_and_a_value_is_sent_once(process: WorkerProcess) -> None:
    value = Frozen(LARGE)
    names = {"offset": value.digest}
    first = process.submit("check", pack(1), names, {value.digest: value.data})
    others = [process.submit("check", pack(number), names, {}) for number in (2, 3)]
    cancelled = process.submit("check", pack(4), names, {})
    cancelled.cancel()
    last = process.submit("check", pack(5), names, {})
    results = [result_of(future.result()) for future in (first, *others, last)]
    assert results == [[number, LARGE] for number in (1, 2, 3, 5)]


def test_calls_of_a_process_that_died_are_lost(process: WorkerProcess) -> None:
    value = Frozen(0)
    arguments = ("check", pack(1), {"offset": value.digest}, {value.digest: value.data})
    assert result_of(process.submit(*arguments).result()) == [1, 0]
    (child,) = multiprocessing.active_children()
    child.kill()
    child.join()
    for _ in range(3):
        with pytest.raises(ProcessDiedError):
            process.submit(*arguments).result(timeout=60)


def test_a_process_that_is_killed_in_the_middle_of_a_result_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest of the message never comes."""
    kills: list[int] = []
    original = Connection._recv  # type: ignore[attr-defined]  # of the library alone

    def killing(self: Connection, size: int, *others: object) -> object:
        if size > len(LARGE) // 2 and not kills:
            (child,) = multiprocessing.active_children()
            assert child.pid is not None
            kills.append(child.pid)
            os.kill(child.pid, signal.SIGKILL)
            child.join()
        return original(self, size, *others)

    monkeypatch.setattr(Connection, "_recv", killing)
    with contextlib.closing(Processes(workers="1")) as executor:
        results = list(executor.map("check", [1, 2], {"offset": Frozen(LARGE)}))
    assert results == [[1, LARGE], [2, LARGE]] and len(kills) == 1


def test_a_process_that_works_is_ended(process: WorkerProcess, tmp_path: Path) -> None:
    waits = pack((str(tmp_path), 0, 1))  # for another item, which never comes
    future = process.submit("check-waits", waits, {}, {})
    process.close()
    with pytest.raises(ProcessDiedError):
        future.result(timeout=60)
    assert not multiprocessing.active_children()


def test_processes_start_with_one_numeric_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONE_THREAD[0], "7")
    monkeypatch.delenv(ONE_THREAD[1], raising=False)
    with one_thread():
        assert [os.environ[name] for name in ONE_THREAD] == ["1", "1", "1"]
    assert os.environ[ONE_THREAD[0]] == "7" and ONE_THREAD[1] not in os.environ
