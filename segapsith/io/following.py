"""Inputs that stay open: a growing file, or a pipe that another program writes to.

A thread reads the items and hands them over, so that the caller can store what has arrived while
the thread waits for more.
"""

from __future__ import annotations

import io
import os
import queue
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, cast

from segapsith.model import EndOfBatch, Item

__all__ = ["Following"]

POLL_SECONDS = 0.2
"""Time between two looks at a file that may have grown, and at the request to stop."""

MAX_WAITING = 400
"""Items that may wait for the caller; the reader pauses when there are more."""


class _StopError(BaseException):
    """Following ended. Not an Exception, so that no source mistakes it for a damaged input."""


class Following:
    """Reads an input that stays open until `stop` is called or the input is closed.

    At the latest `seconds` after an item arrived, an `EndOfBatch` asks the caller to store it.
    """

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._stop = threading.Event()

    def stop(self) -> None:
        """Read no further; what was read completely is still delivered."""
        self._stop.set()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until `stop`."""
        self._stop.wait(seconds)

    def pipe(self, stream: BinaryIO) -> BinaryIO:
        """Return the bytes of a pipe; reading them can be stopped."""
        return cast(BinaryIO, _Pipe(stream.fileno(), self))

    def file(self, path: str) -> BinaryIO:
        """Return the bytes of a growing file; they have no end."""
        return cast(BinaryIO, _GrowingFile(path, self))

    def items(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items as they arrive, and the end of a batch where the next one takes too long."""
        arrived: queue.Queue[Item | BaseException | None] = queue.Queue(MAX_WAITING)
        threading.Thread(
            target=self._hand_over, args=(items, arrived), name="follow", daemon=True
        ).start()
        due: float | None = None
        try:
            while True:
                try:
                    wait = None if due is None else max(0.0, due - self._clock())
                    item = arrived.get(wait != 0.0, wait)
                except queue.Empty:
                    due = None
                    yield EndOfBatch()
                    continue
                if item is None:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield item
                if due is None:
                    due = self._clock() + self._seconds
                elif self._clock() >= due:
                    due = None
                    yield EndOfBatch()
        finally:
            self.stop()

    def _hand_over(
        self, items: Iterable[Item], arrived: queue.Queue[Item | BaseException | None]
    ) -> None:
        last: BaseException | None = None
        try:
            for item in items:
                arrived.put(item)
        except _StopError:
            pass
        except BaseException as error:
            last = error
        arrived.put(last)


class _Followed(io.RawIOBase):
    """A stream whose reader waits for more bytes, and can be stopped while it waits."""

    def __init__(self, following: Following) -> None:
        self._following = following

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        while not self._following.stopped:
            data = self._more(len(buffer))
            if data is not None:
                buffer[: len(data)] = data
                return len(data)
        raise _StopError

    def _more(self, size: int) -> bytes | None:
        """Return bytes, nothing at the end, or None if nothing has come yet."""
        raise NotImplementedError


class _Pipe(_Followed):
    """A pipe; it ends when its writer closes it."""

    def __init__(self, descriptor: int, following: Following) -> None:
        super().__init__(following)
        self._descriptor = descriptor

    def _more(self, size: int) -> bytes | None:
        ready, _, _ = select.select([self._descriptor], [], [], POLL_SECONDS)
        return os.read(self._descriptor, size) if ready else None


class _GrowingFile(_Followed):
    """A file that grows. One that is replaced is read to its end, then the new one from its start.

    One that becomes shorter is read again from its start.
    """

    def __init__(self, path: str, following: Following) -> None:
        super().__init__(following)
        self._path = path
        self._file = io.FileIO(path)
        self._ends_line = True

    def _more(self, size: int) -> bytes | None:
        if data := self._file.read(size):
            self._ends_line = data.endswith(b"\n")
            return data
        if self._restarted():
            # the last line of the former content was never finished, so it is a line of its own
            ended, self._ends_line = self._ends_line, True
            return None if ended else b"\n"
        self._following.pause(POLL_SECONDS)
        return None

    def _restarted(self) -> bool:
        """Continue at the start of a new or shortened file; return whether there is one."""
        present = os.fstat(self._file.fileno())
        if present.st_size < self._file.tell():
            self._file.seek(0)
            return True
        try:
            named = os.stat(self._path)
        except OSError:  # moved away, and the new one is not there yet
            return False
        if (named.st_dev, named.st_ino) == (present.st_dev, present.st_ino):
            return False
        following = io.FileIO(self._path)
        if more := self._file.read(1):  # written between the last read and the replacement
            self._file.seek(-len(more), os.SEEK_CUR)
            following.close()
            return False
        self._file.close()
        self._file = following
        return True

    def close(self) -> None:
        self._file.close()
        super().close()
