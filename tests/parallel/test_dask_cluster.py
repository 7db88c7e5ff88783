"""A Dask cluster gives the same store as one process, and its failures are explained."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import ConfigurationError, WorkerKilledError, WorkersLostError
from segapsith.parallel import dask_cluster
from segapsith.parallel.dask_cluster import DaskCluster
from segapsith.parallel.packing import Frozen, pack
from segapsith.parallel.tasks import result_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def two() -> Iterator[DaskCluster]:
    executor = DaskCluster(workers="2")
    yield executor
    executor.close()


@pytest.mark.parametrize("killed", [0, 1, 3, 6, 9])
def test_a_killed_worker_is_replaced_and_its_task_repeated(
    two: DaskCluster, tmp_path: Path, killed: int
) -> None:
    items = [(str(tmp_path), number, int(number == killed)) for number in range(10)]
    assert list(two.map("check-deaths", items, {"offset": Frozen(0)})) == list(range(10))
    assert len(list(tmp_path.iterdir())) == 1


def test_a_task_that_ends_its_worker_three_times_is_given_up(
    two: DaskCluster, tmp_path: Path
) -> None:
    with pytest.raises(WorkerKilledError, match="'check-deaths' ended its worker 3 times"):
        list(two.map("check-deaths", [(str(tmp_path), 0, 9)]))
    assert len(list(tmp_path.iterdir())) == 3
    assert list(two.map("check", [1], {"offset": Frozen(2)})) == [[1, 2]]


def test_one_slow_worker_holds_up_at_most_one_other_task(two: DaskCluster, tmp_path: Path) -> None:
    items = [(str(tmp_path), number, 6 if number == 0 else 0) for number in range(8)]
    assert list(two.map("check-waits", items)) == list(range(8))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'segapsith\[cluster\]'"):
        list(DaskCluster(workers="1").map("check", [1]))


class Waiting:
    """A result that never comes, of a client whose scheduler has workers for two checks."""

    def __init__(self, lost: bool = False) -> None:
        self.n_waits, self._lost = 0, lost

    def result(self, timeout: float) -> None:
        self.n_waits += 1
        raise TimeoutError

    def cancelled(self) -> bool:
        return self._lost

    def scheduler_info(self, n_workers: int) -> dict[str, object]:
        if self._lost:
            return {}
        return {"workers": {"a": {}} if self.n_waits < 3 else {}}


def test_a_cluster_without_workers_does_not_wait_for_ever() -> None:
    executor, waiting = DaskCluster(workers="1"), Waiting()
    executor._client = waiting
    with pytest.raises(WorkersLostError, match="has no worker any more, and task 'read' waits"):
        executor._result(waiting, "read")
    assert waiting.n_waits * dask_cluster.CHECK_SECONDS > dask_cluster.ALONE_SECONDS


def test_a_result_that_was_cancelled_with_the_connection_is_a_lost_cluster() -> None:
    executor, waiting = DaskCluster(workers="tcp://127.0.0.1:9"), Waiting(lost=True)
    executor._client = waiting
    with pytest.raises(WorkersLostError, match="was lost"), executor._explained("read"):
        executor._result(waiting, "read")
    assert waiting.n_waits == 1 and executor.n_workers == 1


def test_a_scheduler_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(WorkersLostError, match=r"dask:tcp://127\.0\.0\.1:9: .* cannot be reached"):
        list(DaskCluster(workers="tcp://127.0.0.1:9").map("check", [1]))


def test_a_wrong_address_is_refused() -> None:
    with pytest.raises(ValueError, match="dask:host should be dask:N"):
        DaskCluster(workers="host")


QUESTIONS: dict[str, Callable[[Wire], Any]] = {
    "validate": lambda wire: wire.validation.run(min_units=4, stability=2, k=[3, 4]),
    "order": lambda wire: wire.validation.order(shuffles=3),
    "curve": lambda wire: wire.validation.curve(thresholds=(0.1, 0.2), min_units=4),
    "tune": lambda wire: wire.threshold.search(target_singletons=0.5, afresh=True),
}


def answers(wire: Wire, n_stories: int) -> dict[str, Any]:
    """The digest of a store and what it answers, made in the workers of its setting."""
    wire.network.build(sample.lines("fr")[:30])
    wire.ingest(sample.lines("en")[:n_stories])
    made = {name: question(wire).as_json() for name, question in QUESTIONS.items()}
    return {"digest": wire.status()["digest"], **made}


def test_a_cluster_gives_the_store_and_the_figures_of_one_process(
    open_wire: Callable[..., Wire],
) -> None:
    here = answers(open_wire("one.db"), 100)
    assert answers(open_wire("cluster.db", workers="dask:2"), 100) == here


@pytest.mark.long
@pytest.mark.parametrize("workers", ["dask:1", "dask:4", "processes:2"])
def test_any_number_of_workers_gives_the_same(workers: str, open_wire: Callable[..., Wire]) -> None:
    n_stories = len(sample.lines("en"))
    here = answers(open_wire("one.db"), n_stories)
    assert answers(open_wire("workers.db", workers=workers), n_stories) == here


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """A cluster that the tests connect to; its workers have a directory of their own."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0",
        local_directory=str(tmp_path / "worker"), silence_logs=50,
    ) as made:  # fmt: skip
        yield made


def test_a_worker_that_makes_something_else_of_the_sample_is_refused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = result_of(dask_cluster.own_proof())
    address = cluster.scheduler_address
    with contextlib.closing(DaskCluster(workers=address)) as executor:
        assert list(executor.map("check", [1], {"offset": Frozen(2)})) == [[1, 2]]
        # a worker that comes later is refused at its first task
        executor._proof = pack((True, replace(true, hashes={**true.hashes, "reading": "0"})))
        with pytest.raises(ConfigurationError, match="refused: its reading of the bundled sample"):
            list(executor.map("check", [1], {"offset": Frozen(2)}))
    other = replace(true, hashes={"clusters": "0"}, versions={**true.versions, "numpy": "1.0"})
    monkeypatch.setattr(dask_cluster, "own_proof", lambda: pack((True, other)))
    with contextlib.closing(DaskCluster(workers=address)) as executor:
        wanted = r"its clusters .* \(numpy .* instead of 1\.0\).*\(in a worker: .*process"
        with pytest.raises(ConfigurationError, match=wanted) as caught:
            list(executor.map("check", [1], {"offset": Frozen(2)}))
        assert caught.value.exit_code == 78


def test_a_cluster_that_started_early_is_used_and_ended() -> None:
    before = set(multiprocessing.active_children())
    executor = DaskCluster(workers="2")
    try:
        executor.start("check")
        executor.start("check")  # once is enough
        assert list(executor.map("check", [1, 2], {"offset": Frozen(0)})) == [[1, 0], [2, 0]]
    finally:
        executor.close()
    never_used = DaskCluster(workers="1")
    never_used.start("check")
    never_used.close()
    assert set(multiprocessing.active_children()) <= before


def test_shared_values_travel_once_for_several_calls(two: DaskCluster) -> None:
    value = Frozen(5)
    list(two.map("check", [1], {"offset": value}))
    held = two._held[value.digest]
    list(two.map("check", [2], {"offset": value}))
    assert two._held[value.digest] is held


def test_every_worker_has_the_shared_values(two: DaskCluster) -> None:
    value = Frozen(7)
    list(two.map("check", [1], {"offset": value}))
    holders = two._client.who_has([two._held[value.digest]])
    assert sorted(holders[two._held[value.digest].key]) == two._workers()
    assert len(two._workers()) == 2


def test_a_lost_scheduler_is_reported_and_the_same_command_continues(
    open_wire: Callable[..., Wire], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 5)
    stories = sample.lines("en")[:120]
    with scheduler_and_worker(tmp_path) as (address, scheduler):
        wire = open_wire("lost.db", workers=f"dask:{address}", batch_size=40)
        with pytest.raises(WorkersLostError, match="was lost; what was committed is safe") as lost:
            wire.ingest(stories, on_batch=lambda _: scheduler.kill())
        assert lost.value.exit_code == 74
        assert wire.status()["documents"] > 0
        wire.close()
    with scheduler_and_worker(tmp_path) as (address, _):
        again = open_wire("lost.db", workers=f"dask:{address}", batch_size=40)
        again.ingest(stories)
        digest = again.status()["digest"]
    here = open_wire("here.db")
    here.ingest(stories)
    assert digest == here.status()["digest"]


@contextlib.contextmanager
def scheduler_and_worker(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and a worker as programs of their own, each in an empty directory."""
    import distributed

    note = folder / f"scheduler-{len(list(folder.iterdir()))}.json"
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = []
    try:
        for name, command in (
            ("s", [*program, "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                   "--scheduler-file", str(note)]),
            ("w", [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard",
                   "--nthreads", "1", "--scheduler-file", str(note)]),
        ):  # fmt: skip
            place = Path(tempfile.mkdtemp(prefix=name, dir=folder))
            started.append(subprocess.Popen(command, cwd=place, **quiet))  # type: ignore[call-overload]
            while not note.is_file() or not note.read_text():
                assert started[0].poll() is None, "the scheduler did not start"
                threading.Event().wait(0.05)
        address = json.loads(note.read_text())["address"]
        with distributed.Client(address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield address, started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()
