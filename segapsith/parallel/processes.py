"""Tasks in processes of this machine.

Each process has a queue of its own, so that a process that dies names the task that it was doing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from segapsith.errors import WorkerKilledError
from segapsith.parallel.choice import MAX_DEATHS, WHY_GIVEN_UP, available_processors, look_ahead
from segapsith.parallel.packing import pack
from segapsith.parallel.tasks import Recent, result_of
from segapsith.parallel.worker_process import ProcessDiedError, WorkerProcess
from segapsith.plugin.contracts import SharedValue

__all__ = ["Processes"]

logger = logging.getLogger(__name__)

DEPTH = 2
"""Items that a process has at a time: one that it does, and one that waits."""


class Processes:
    """Runs tasks in `workers` processes (default: one per processor), started at the first use."""

    def __init__(self, *, workers: str = "") -> None:
        if workers and not (workers.isdecimal() and int(workers) >= 1):
            raise ValueError(f"processes:{workers} should be processes:N with N >= 1")
        self.n_workers = int(workers) if workers else available_processors()
        self._lanes: list[_Lane] = []

    def start(self, task: str) -> None:
        """Start the processes, which import the task meanwhile."""
        if not self._lanes:
            self._lanes = [_Lane(task) for _ in range(self.n_workers)]

    def map(
        self, task: str, items: Iterable[object], shared: Mapping[str, SharedValue] | None = None
    ) -> Iterator[Any]:
        """Yield the result of a task for each item; items are read a few ahead."""
        self.start(task)
        values = dict(shared or {})
        rest = iter(items)
        jobs: deque[_Job] = deque()
        waiting: deque[_Job] = deque()
        try:
            while True:
                while len(jobs) < look_ahead(self.n_workers):
                    try:
                        job = _Job(task, pack(next(rest)), values)
                    except StopIteration:
                        break
                    jobs.append(job)
                    waiting.append(job)
                self._assign(waiting)
                if not jobs:
                    return
                if jobs[0].is_done():
                    yield jobs.popleft().result()
                    continue
                # results that wait for an earlier one are done: with them `wait` would not wait
                running = [
                    job.future for job in jobs if job.future is not None and not job.is_done()
                ]
                wait(running, return_when=FIRST_COMPLETED)
                self._replace_dead(jobs, waiting)
        finally:
            for job in jobs:
                if job.future is not None:
                    job.future.cancel()

    def _assign(self, waiting: deque[_Job]) -> None:
        """Give waiting jobs to the processes that have the fewest."""
        while waiting:
            lane = min(self._lanes, key=_Lane.load)
            if lane.load() >= DEPTH:
                return
            lane.submit(waiting.popleft())

    def _replace_dead(self, jobs: Iterable[_Job], waiting: deque[_Job]) -> None:
        """Start a new process for each that died; its jobs wait again."""
        lost = [job for job in jobs if job.is_lost()]
        for job in reversed(lost):
            assert job.lane is not None
            if job is job.lane.first_lost():
                job.deaths += 1
                logger.warning("a worker process died; it is replaced and its task repeated")
                if job.deaths >= MAX_DEATHS:
                    raise WorkerKilledError(
                        f"task {job.task!r} ended its worker process {job.deaths} times:"
                        f" {WHY_GIVEN_UP}"
                    )
            waiting.appendleft(job)
        for lane in {id(job.lane): job.lane for job in lost}.values():
            assert lane is not None
            lane.restart()
        for job in lost:
            job.future = job.lane = None

    def close(self) -> None:
        """End the processes; what they are doing is given up."""
        for lane in self._lanes:
            lane.close()
        self._lanes = []


class _Job:
    """One item on its way through a process."""

    def __init__(self, task: str, item: bytes, shared: Mapping[str, SharedValue]) -> None:
        self.task, self.item, self.shared = task, item, shared
        self.deaths = 0
        self.future: Future[bytes] | None = None
        self.lane: _Lane | None = None

    def is_done(self) -> bool:
        return self.future is not None and self.future.done() and not self.is_lost()

    def is_lost(self) -> bool:
        """Return whether the process died before it had done the item."""
        future = self.future
        return (
            future is not None
            and future.done()
            and not future.cancelled()
            and isinstance(future.exception(), ProcessDiedError)
        )

    def result(self) -> Any:
        assert self.future is not None
        return result_of(self.future.result())


class _Lane:
    """One process with its queue."""

    def __init__(self, task: str) -> None:
        self._task = task
        self._process = WorkerProcess(task)
        self._jobs: list[_Job] = []
        self._held = Recent()

    def load(self) -> int:
        """Return the number of items that the process has not done."""
        self._jobs = [j for j in self._jobs if j.future is not None and not j.is_done()]
        return len(self._jobs)

    def first_lost(self) -> _Job | None:
        """Return the job that the process was doing when it died."""
        return next((job for job in self._jobs if job.is_lost()), None)

    def submit(self, job: _Job) -> None:
        names = {name: one.digest for name, one in job.shared.items()}
        new = {one.digest: one.data for one in job.shared.values() if one.digest not in self._held}
        self._held.use(names.values())
        job.future = self._process.submit(job.task, job.item, names, new)
        job.lane = self
        self._jobs.append(job)

    def restart(self) -> None:
        self._process.close()
        self._process, self._jobs, self._held = WorkerProcess(self._task), [], Recent()

    def close(self) -> None:
        self._process.close()
