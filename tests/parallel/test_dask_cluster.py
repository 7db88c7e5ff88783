"""A Dask cluster gives the same store as one process, and its failures are explained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import ConfigurationError, WorkerKilledError, WorkersLostError
from segapsith.parallel import dask_cluster
from segapsith.parallel.dask_cluster import DaskCluster
from segapsith.parallel.packing import Frozen

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def two() -> Iterator[DaskCluster]:
    executor = DaskCluster(workers="2")
    yield executor
    executor.close()


def test_a_killed_worker_is_replaced_and_its_task_repeated(
    two: DaskCluster, tmp_path: Path
) -> None:
    items = [(str(tmp_path), number, 1 if number == 3 else 0) for number in range(6)]
    assert list(two.map("check-deaths", items, {"offset": Frozen(0)})) == list(range(6))


def test_a_task_that_ends_its_worker_three_times_is_given_up(
    two: DaskCluster, tmp_path: Path
) -> None:
    with pytest.raises(WorkerKilledError, match="'check-deaths' ended its worker 3 times"):
        list(two.map("check-deaths", [(str(tmp_path), 0, 9)]))
    assert len(list(tmp_path.iterdir())) == 3
    assert list(two.map("check", [1], {"offset": Frozen(2)})) == [[1, 2]]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'segapsith\[cluster\]'"):
        list(DaskCluster(workers="1").map("check", [1]))


def test_a_scheduler_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(WorkersLostError, match=r"dask:tcp://127\.0\.0\.1:9: .* cannot be reached"):
        list(DaskCluster(workers="tcp://127.0.0.1:9").map("check", [1]))


def test_a_wrong_address_is_refused() -> None:
    with pytest.raises(ValueError, match="dask:host should be dask:N"):
        DaskCluster(workers="host")


def test_a_cluster_gives_the_store_of_one_process(open_wire: Callable[..., Wire]) -> None:
    digests = set()
    for name, workers in (("one", "1"), ("cluster", "dask:2")):
        wire = open_wire(f"{name}.db", workers=workers)
        wire.network.build(sample.lines("fr")[:30])
        wire.ingest(sample.lines("en"))
        digests.add(wire.status()["digest"])
    assert len(digests) == 1
