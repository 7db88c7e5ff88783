"""One process that performs tasks, and the pipe to it.

The pipe has no other writer than the process, so its death is noticed at any moment, also in the
middle of a message. (The pool of the standard library waits for the rest of such a message for
ever.)
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from multiprocessing import util
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import NamedTuple

from segapsith.parallel.packing import pack, unpack
from segapsith.parallel.tasks import SharedValues, load_task, perform

__all__ = ["ProcessDiedError", "WorkerProcess", "one_thread"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit the threads of numeric libraries: every processor has a process already."""

END_SECONDS = 5
"""Time in which a process that was asked to end does so; then it is killed."""


class ProcessDiedError(Exception):
    """The process died before it had returned a result."""


class _Call(NamedTuple):
    task: str
    item: bytes
    names: Mapping[str, str]
    """Hashes of the shared values."""
    new: Mapping[str, bytes]
    """Those values that the process does not have."""


class WorkerProcess:
    """A process that is started at once and performs one call after the other.

    It imports `task`, if one is named, before the first call comes.
    """

    def __init__(self, task: str = "") -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, task))
        with one_thread():
            self._process.start()
        theirs.close()
        # a program that ends does not wait for it
        self._at_exit = util.Finalize(self, self._process.kill, exitpriority=10)
        self._calls: SimpleQueue[tuple[Future[bytes], _Call] | None] = SimpleQueue()
        self._sent: deque[Future[bytes]] = deque()
        self._lock = threading.Lock()
        self._is_lost = False
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._send, self._receive)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self, task: str, item: bytes, names: Mapping[str, str], new: Mapping[str, bytes]
    ) -> Future[bytes]:
        """Send a call; return the future of its packed result, or of a `ProcessDiedError`."""
        future: Future[bytes] = Future()
        self._calls.put((future, _Call(task, item, names, new)))
        return future

    def close(self) -> None:
        """End the process; what it is doing is given up."""
        with self._lock:
            is_idle = not self._sent
        if not is_idle:
            self._process.terminate()
        self._calls.put(None)
        self._threads[0].join(END_SECONDS)
        self._process.join(END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        for thread in self._threads:
            thread.join()
        self._pipe.close()
        self._at_exit.cancel()

    def _send(self) -> None:
        """Send calls; an empty message at the end."""
        while (entry := self._calls.get()) is not None:
            future, call = entry
            with self._lock:  # cancelled calls are sent, too: they have values that later ones need
                is_lost = self._is_lost
                if not is_lost:
                    self._sent.append(future)
            if is_lost:
                _set_lost(future)
                continue
            with contextlib.suppress(OSError):  # the other thread notices that it died
                self._pipe.send_bytes(pack((call.task, dict(call.names), list(call.new))))
                for data in (call.item, *call.new.values()):
                    self._pipe.send_bytes(data)
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(b"")

    def _receive(self) -> None:
        """Set results in the order of the calls, until the process has ended."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                data = self._pipe.recv_bytes()
                with self._lock:
                    future = self._sent.popleft()
                with contextlib.suppress(InvalidStateError):
                    future.set_result(data)
        with self._lock:
            self._is_lost = True
            lost = list(self._sent)
            self._sent.clear()
        for future in lost:
            _set_lost(future)


def _set_lost(future: Future[bytes]) -> None:
    with contextlib.suppress(InvalidStateError):  # it was cancelled
        future.set_exception(ProcessDiedError())


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let processes that are started meanwhile use one thread for numeric work."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(pipe: Connection, task: str) -> None:
    """Perform calls until an empty message comes: the work of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    if task:
        load_task(task)
    values = SharedValues()
    with contextlib.suppress(EOFError, OSError):
        while head := pipe.recv_bytes():
            name, names, new = unpack(head)
            item = pipe.recv_bytes()
            data = {digest: pipe.recv_bytes() for digest in new}
            pipe.send_bytes(perform(name, item, values.load(names, data)))


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
