"""Tasks on a Dask cluster: of processes on this machine, or of other machines.

Items, results and shared values travel as bytes. A shared value is a task of its own that returns
its bytes, so the cluster moves it to each worker once and makes it again if a worker is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import uuid
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from segapsith.errors import ConfigurationError, WorkerKilledError, WorkersLostError
from segapsith.parallel.choice import MAX_DEATHS, WHY_GIVEN_UP, available_processors, look_ahead
from segapsith.parallel.packing import Frozen, pack
from segapsith.parallel.tasks import (
    Recent,
    Shared,
    SharedValues,
    failed,
    load_task,
    perform,
    result_of,
)
from segapsith.plugin.contracts import SharedValue

__all__ = ["DaskCluster", "own_proof"]

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 15
"""Time to reach the scheduler, at the start and after the connection was lost."""


CHECK_SECONDS = 5
"""Time after which a call that waits for a result looks whether there are workers."""

ALONE_SECONDS = 30
"""Time without any worker after which a call ends; workers that died are started again meanwhile."""

ALLOCATION = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_ARENA_MAX": "1",
}
"""How a worker of this machine allocates memory: freed arrays are used again.

Dask lets workers return freed memory at once. A threshold for that also fixes the size from which
arrays get pages of their own, at 128 kB, and tasks run in a thread, whose memory is in small parts.
Each costs a tenth of the processor time or more where arrays of some megabytes come and go.
"""


class DaskCluster:
    """Runs tasks on a Dask cluster.

    `workers` is the address of a scheduler (`tcp://host:8786`), or a number of processes on this
    machine (default: one per processor).
    """

    def __init__(self, *, workers: str = "") -> None:
        is_number = workers.isdecimal() and int(workers) >= 1
        if workers and not is_number and "://" not in workers:
            raise ValueError(
                f"dask:{workers} should be dask:N with N >= 1, or dask:tcp://HOST:PORT"
            )
        self._address = "" if is_number or not workers else workers
        self._wanted = int(workers) if is_number else available_processors()
        self._client: Any = None
        self._cluster: Any = None
        self._proof: bytes = b""
        self._starting: threading.Thread | None = None
        self._recent = Recent()
        self._held: dict[str, Any] = {}
        """The shared values that the cluster has, by their hash: those of the last calls."""

    @property
    def n_workers(self) -> int:
        """The number of tasks that run at the same time, as far as it is known now."""
        if self._client is None or not self._address:
            return self._wanted
        return max(1, len(self._workers()))

    def _workers(self) -> list[str]:
        """Return the addresses of the workers; none if the scheduler is lost."""
        return sorted(self._client.scheduler_info(n_workers=-1).get("workers", ()))

    def start(self, task: str) -> None:
        """Start the cluster of this machine, and let its workers import the task, meanwhile.

        Workers elsewhere run already, and prove themselves at the first call.
        """
        if self._client is None and self._starting is None and not self._address:
            self._starting = threading.Thread(target=self._open_and_load, args=(task,), daemon=True)
            self._starting.start()

    def _open_and_load(self, task: str) -> None:
        with contextlib.suppress(Exception):  # the first call meets the same fault, and explains it
            self._open()
            self._client.run(load_task, task)

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        """Yield the result of a task for each item; items are read a few ahead."""
        client = self._connected()
        values = dict(shared or {})
        with self._explained(task):
            held = self._submitted(values.values())
            names = {name: one.digest for name, one in values.items()}
        call = uuid.uuid4().hex  # a name of their own: results are never taken from an earlier call
        rest = enumerate(items)
        futures: deque[Any] = deque()
        most = look_ahead(self.n_workers)
        try:
            while True:
                while len(futures) < most:
                    try:
                        number, item = next(rest)
                    except StopIteration:
                        break
                    data = pack(item)
                    with self._explained(task):
                        futures.append(
                            client.submit(
                                _work, task, data, names, held, self._proof,
                                key=f"segapsith-{task}-{call}-{number}", pure=False,
                            )
                        )  # fmt: skip
                if not futures:
                    return
                with self._explained(task):
                    result = self._result(futures[0], task)
                futures.popleft()
                yield result_of(result)
        finally:
            with contextlib.suppress(Exception):
                client.cancel(list(futures))

    def _result(self, future: Any, task: str) -> Any:
        """Return a result; raise an error if there is no worker any more that could compute it."""
        seconds_alone = 0
        while True:
            try:
                return future.result(timeout=CHECK_SECONDS)
            except TimeoutError:
                if future.cancelled():  # with the connection to the scheduler
                    raise
                seconds_alone = 0 if self._workers() else seconds_alone + CHECK_SECONDS
            if seconds_alone > ALONE_SECONDS:
                raise WorkersLostError(
                    f"the cluster {self._address or 'on this machine'} has no worker any more, and"
                    f" task {task!r} waits; what was committed is safe. Start workers and run the"
                    " same command to continue"
                )

    def _submitted(self, values: Collection[SharedValue]) -> dict[str, Any]:
        """Return the futures of shared values; those of the last calls do not travel again."""
        self._recent.use(one.digest for one in values)
        self._held = {digest: held for digest, held in self._held.items() if digest in self._recent}
        new: list[Any] = []
        for one in values:
            held = self._held.get(one.digest)
            if held is None or held.status in ("lost", "cancelled", "error"):
                key = f"segapsith-{one.digest}"
                self._held[one.digest] = self._client.submit(_same, one.data, key=key)
                new.append(self._held[one.digest])
        if new:
            self._copy_everywhere(new)
        return {one.digest: self._held[one.digest] for one in values}

    def _copy_everywhere(self, futures: list[Any]) -> None:
        """Copy values to every worker: Dask gives tasks to the workers that have their values.

        Without copies the others would be idle. If a worker is lost meanwhile, a task fetches them.
        """
        if len(self._workers()) < 2:
            return
        with contextlib.suppress(Exception), self._client.as_current():
            import_module("distributed").wait(futures, timeout=CONNECT_SECONDS)
            self._client.replicate(futures)

    def _check_workers(self) -> None:
        """Let every worker prove itself; raise an error that names those that are refused."""
        self._proof = own_proof()
        with self._explained("prove"):
            for address in self._workers():
                future = self._client.submit(
                    _prove, self._proof, workers=[address], pure=False, allow_other_workers=False
                )
                result_of(future.result())

    def _connected(self) -> Any:
        """Return the client; connect, or start a cluster, at the first use."""
        if self._starting is not None:
            self._starting.join()
            self._starting = None
        if self._client is None:
            self._open()
            if self._address:  # workers of this machine have the same libraries and processor
                self._check_workers()
        return self._client

    def _open(self) -> None:
        try:
            import dask

            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise ConfigurationError(
                f"workers=dask needs the extra `cluster`: pip install 'segapsith[cluster]'"
                f" ({error})",
                setting="workers",
            ) from error
        # a lost scheduler is reported soon, and a task that ends its workers is given up
        dask.config.set(
            {
                **{
                    f"distributed.nanny.pre-spawn-environ.{name}": value
                    for name, value in ALLOCATION.items()
                },
                # frames of tasks are sampled 100 times a second for a page that is not served
                "distributed.worker.profile.enabled": False,
                "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
                "distributed.scheduler.allowed-failures": MAX_DEATHS - 1,
                "distributed.admin.large-graph-warning-threshold": "1GB",
            }
        )
        try:
            if self._address:
                self._client = distributed.Client(
                    self._address, timeout=CONNECT_SECONDS, set_as_default=False
                )
                self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
            else:
                self._cluster = distributed.LocalCluster(
                    n_workers=self._wanted, threads_per_worker=1, processes=True,
                    dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
                )  # fmt: skip
                self._client = distributed.Client(self._cluster, set_as_default=False)
        except (OSError, TimeoutError) as error:
            self._disconnect()
            raise WorkersLostError(
                self._why_not_open() + f" ({error})", setting="workers"
            ) from error

    def _why_not_open(self) -> str:
        if not self._address:
            return f"workers=dask:{self._wanted}: a cluster on this machine could not be started"
        return (
            f"workers=dask:{self._address}: the cluster cannot be reached, or has no worker, within"
            f" {CONNECT_SECONDS} s; check the address, and start `dask scheduler` and"
            f" `dask worker {self._address}`"
        )

    @contextlib.contextmanager
    def _explained(self, task: str) -> Iterator[None]:
        """Turn failures of the cluster into errors that say what to do."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise WorkerKilledError(
                f"task {task!r} ended its worker {MAX_DEATHS} times: {WHY_GIVEN_UP}"
                f" (last worker: {error.last_worker.address})"
            ) from error
        except (CancelledError, CommClosedError, asyncio.CancelledError, TimeoutError) as error:
            raise WorkersLostError(
                f"the connection to the cluster {self._address or 'on this machine'} was lost;"
                " what was committed is safe. Run the same command to continue"
            ) from error

    def close(self) -> None:
        """End the connection, and the workers that were started here."""
        if self._starting is not None:
            self._starting.join()
            self._starting = None
        self._disconnect()

    def _disconnect(self) -> None:
        for part in (self._client, self._cluster):
            if part is not None:
                with contextlib.suppress(Exception):
                    part.close(timeout=CONNECT_SECONDS)
        self._client = self._cluster = None
        self._held, self._recent = {}, Recent()


_values = SharedValues()  # one in each worker process
_one_at_a_time = threading.Lock()  # plugins are made for one thread


def _same(data: bytes) -> bytes:
    """Return a shared value: as a task, the cluster moves it and can make it again."""
    return data


def _work(
    task: str, item: bytes, names: Mapping[str, str], held: Mapping[str, bytes], proof: bytes
) -> bytes:
    with _one_at_a_time:
        if proof and (refusal := _refusal(proof)):
            return refusal
        return perform(task, item, _values.load(names, held))


def _prove(proof: bytes) -> bytes:
    with _one_at_a_time:
        return _refusal(proof) or perform("check", pack(0), Shared({"offset": Frozen(0)}))


@lru_cache(maxsize=1)
def own_proof() -> bytes:
    """Return what this process makes of the sample, packed."""
    return perform("prove", pack(None), Shared({}))


def _refusal(proof: bytes) -> bytes:
    """Return the packed error if this worker makes something else of the sample; else nothing."""
    own = own_proof()
    if own == proof:
        return b""
    here, there = result_of(own), result_of(proof)
    if here.hashes == there.hashes:
        return b""
    kinds = sorted(kind for kind in there.hashes if here.hashes.get(kind) != there.hashes[kind])
    versions = sorted(
        f"{name} {here.versions.get(name)} instead of {there.versions[name]}"
        for name in there.versions
        if here.versions.get(name) != there.versions[name]
    )
    reason = ", ".join(versions) or "the versions are the same, so its processor differs"
    return failed(
        ConfigurationError(
            f"a worker is refused: its {' and '.join(kinds)} of the bundled sample"
            f" {'differs' if kinds == ['reading'] else 'differ'} from what this process makes of it"
            f" ({reason}); use the same versions on every worker, or stop it",
            setting="workers",
        )
    )
