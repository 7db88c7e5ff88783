"""One state of the store for all requests: connections that read the same commit.

A request gets a connection for itself, so it sees one state whatever others write. All connections
see the same state, so what was read or made for one request serves the others. The state is renewed
when another process has committed. While a run writes, it is renewed from time to time only, and a
thread of its own reads the columns of the new state before requests see it. After a run, a thread
that looks for new states reads its columns, so that the first request finds them.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from segapsith.errors import SegapsithError
from segapsith_store import Store
from segapsith_store.connections import lock_holder
from segapsith_store.queries.browsing.activity import StoreState, read_state

__all__ = ["READERS", "Moment", "Snapshots"]

T = TypeVar("T")

READERS = 4
"""Connections of a state, so requests that are worked on at once."""

LEAST_AGE = 15.0
"""Seconds for which a state is shown at least while a run writes."""

AGE_PER_COST = 20.0
"""It is shown at least this many times as long as reading its columns took."""

LOOK = 0.25
"""Seconds after which the store is looked at again without a request."""

IDLE = 3.0
"""Seconds without a request after which connections are closed: the write-ahead log of SQLite cannot
shrink while they hold a state."""

MOST_MADE, MOST_BYTES = 1_000, 3_000_000
"""Pages that are held for a state, and their compressed bytes together."""

GATE = 3.0
"""Seconds for which requests wait at most while another process empties the write-ahead log."""

PAUSE = 0.01
"""Seconds between two looks at whether the log is empty."""

COURTESY = 0.05
"""Seconds for which reading columns in advance waits for requests that are being answered."""


@dataclass(slots=True)
class Moment:
    """One state of the store, with its connections and the pages that were made from it."""

    version: int
    """What `PRAGMA data_version` of the watching connection was."""
    state: StoreState
    since: float
    cost: float = 0.0
    """Seconds that reading its columns took."""
    n_used: int = 0
    """Requests that use it."""
    used_at: float = 0.0
    is_open: bool = True
    _free: queue.SimpleQueue[Store] = field(default_factory=queue.SimpleQueue)
    """The connections that no request uses."""
    _made: dict[tuple[str, ...], bytes] = field(default_factory=dict)
    _n_bytes: int = 0

    def made(self, key: tuple[str, ...], make: Callable[[], bytes | T]) -> bytes | T:
        """Return the bytes that were made for a key from this state, or make them now.

        Anything but bytes is not held.
        """
        known = self._made.get(key)
        if known is not None:
            return zlib.decompress(known)
        value = make()
        if isinstance(value, bytes) and len(self._made) < MOST_MADE:
            compressed = zlib.compress(value, 1)
            self._n_bytes += len(compressed)
            if self._n_bytes <= MOST_BYTES:
                self._made[key] = compressed
        return value

    def fill(self, stores: list[Store]) -> None:
        """Take connections on this state."""
        for store in stores:
            self._free.put(store)
        self.is_open = True

    @contextlib.contextmanager
    def store(self) -> Iterator[Store]:
        """Give a connection that nobody else uses meanwhile."""
        one = self._free.get()
        try:
            yield one
        finally:
            self._free.put(one)

    def close(self) -> None:
        """Close the connections."""
        self.is_open = False
        with contextlib.suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()


class Snapshots:
    """The present state of a store for requests, renewed when it has changed.

    `warm` reads the columns of a state before requests see it, and calls what it is given between
    them; `show` is called with each state that requests see from then on.
    """

    def __init__(
        self,
        path: str,
        *,
        warm: Callable[[Store, Callable[[], object]], None],
        show: Callable[[StoreState], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._warm, self._on_show, self._clock = warm, show, clock
        self._lock = threading.Lock()
        self._watch: Store | None = None
        """A connection without a transaction, which sees every commit."""
        self._file: tuple[int, int] | None = None
        """Device and number of the file: a restored backup is another file."""
        self._now: Moment | None = None
        self._renewing: threading.Thread | None = None
        self._warmed: StoreState | None = None
        """The state whose columns were read without a request."""
        self._idle = threading.Event()
        """Set while no request is being answered."""
        self._idle.set()
        self._n_running = 0
        self._gate = threading.Event()
        """Set unless requests wait for a process that empties the log."""
        self._gate.set()
        self._released = 0
        """Number of the last wait of a writing process that was answered."""
        self._stopped = threading.Event()
        self._timer: threading.Timer | None = None

    @contextlib.contextmanager
    def reading(self, seconds: float) -> Iterator[tuple[Moment, Store]]:
        """Give a connection on the present state; its queries may take `seconds` together."""
        self._gate.wait(GATE)
        with self._lock:
            moment = self._present()
            moment.n_used += 1
            self._n_running += 1
            self._idle.clear()
        try:
            with moment.store() as store:
                store.stop_after(seconds)
                yield moment, store
        finally:
            with self._lock:
                moment.n_used -= 1
                self._n_running -= 1
                if not self._n_running:
                    self._idle.set()
                moment.used_at = self._clock()
                if not moment.n_used:
                    if moment is self._now:
                        self._wait_for_idle(IDLE)
                    else:
                        moment.close()

    def watch(self) -> None:
        """Look for new states in a thread until `close`."""

        def watching() -> None:
            while not self._stopped.is_set():
                with contextlib.suppress(SegapsithError):  # the next request reports it
                    self.release_log()
                    self.look()
                self._stopped.wait(LOOK)

        self._stopped.clear()
        threading.Thread(target=watching, daemon=True).start()

    def release_log(self) -> None:
        """Close the connections for a moment if the writing process wants to empty the log.

        Requests that run are finished first. New ones wait until the log is empty.
        """
        wanted = self._log_wanted()
        if wanted in (0, self._released):
            return
        self._released = wanted  # a process that was killed asks for ever, and is answered once
        self._gate.clear()
        try:
            self._idle.wait(GATE)
            with self._lock:
                if self._now is not None and not self._now.n_used:
                    self._now.close()
            for _ in range(round(GATE / PAUSE)):
                if self._log_wanted() != wanted:
                    break
                self._stopped.wait(PAUSE)
        finally:
            self._gate.set()

    def _log_wanted(self) -> int:
        holder = lock_holder(self._path)
        return 0 if holder is None else holder.empties_log

    def look(self) -> None:
        """Read the columns of the present state unless they were read, or are about to change."""
        with self._lock:
            state = read_state(self._watching())
        if state == self._warmed or state.changing:
            return
        if state.unlabelled and lock_holder(self._path) is not None:
            return  # the process that ended its run is about to compute labels
        with Store.reading(self._path) as store:
            store.freeze()
            state = read_state(store)
            self._warm(store, self._give_way)
        with self._lock:
            self._warmed = state
            self._on_show(state)

    def _give_way(self) -> None:
        """Wait a moment for the requests that are being answered."""
        self._idle.wait(COURTESY)

    def close(self) -> None:
        """Close the connections; those of a request that still runs are closed at its end."""
        self._stopped.set()
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._forget_file()

    # -- renewal, with the lock held -----------------------------------------------------------

    def _present(self) -> Moment:
        watch, now = self._watching(), self._now
        if now is not None and now.version == watch.data_version():
            if not now.is_open:
                stores = self._opened(now.version)
                if stores is not None:
                    now.fill(stores)
                    return now
            else:
                return now
        if now is None or not now.is_open or not read_state(watch).changing:
            return self._show(self._new_moment())
        age = self._clock() - now.since
        if self._renewing is None and age >= max(LEAST_AGE, AGE_PER_COST * now.cost):
            self._renewing = threading.Thread(target=self._renew, daemon=True)
            self._renewing.start()
        return now

    def _watching(self) -> Store:
        try:
            entry = os.stat(self._path)
        except OSError:
            self._forget_file()
        else:
            if self._file != (entry.st_dev, entry.st_ino):
                self._forget_file()
                self._file = (entry.st_dev, entry.st_ino)
        if self._watch is None:
            self._watch = Store.reading(self._path)
        return self._watch

    def _forget_file(self) -> None:
        if self._now is not None:
            self._retire(self._now)
        if self._watch is not None:
            self._watch.close()
        self._now = self._watch = None

    def _new_moment(self) -> Moment:
        """Return the newest state; if others commit all the time, with fewer connections."""
        readers = READERS
        while True:
            version = self._watching().data_version()
            stores = self._opened(version, readers)
            if stores is not None:
                now = self._clock()
                moment = Moment(version, read_state(stores[0]), now, used_at=now)
                moment.fill(stores)
                return moment
            readers = max(1, readers // 2)

    def _opened(self, version: int, readers: int = READERS) -> list[Store] | None:
        """Return connections that read the same commit; None if one came meanwhile."""
        stores: list[Store] = []
        try:
            for _ in range(readers):
                stores.append(Store.reading(self._path))
                stores[-1].freeze()
            if self._watching().data_version() == version or readers == 1:
                return stores
        except BaseException:
            _close(stores)
            raise
        _close(stores)
        return None

    def _show(self, moment: Moment) -> Moment:
        before, self._now = self._now, moment
        if before is not None:
            self._retire(before)
        self._on_show(moment.state)
        self._wait_for_idle(IDLE)
        return moment

    @staticmethod
    def _retire(moment: Moment) -> None:
        """Close a state that is no longer shown, now or when its last request has ended."""
        if not moment.n_used:
            moment.close()

    # -- renewal while a run writes ------------------------------------------------------------

    def _renew(self) -> None:
        """Read the columns of a new state, then show it; after an error the present one stays."""
        try:
            with self._lock:
                moment = self._new_moment()
                file = self._file
            with moment.store() as store:
                began = self._clock()
                self._warm(store, self._give_way)
                moment.since = self._clock()
                moment.cost = moment.since - began
            with self._lock:
                now = self._now
                if file == self._file and (now is None or now.state.age <= moment.state.age):
                    self._show(moment)
                else:
                    moment.close()
        except SegapsithError:
            pass  # the store is being replaced or cannot be read: the next request reports it
        finally:
            self._renewing = None

    # -- without requests ----------------------------------------------------------------------

    def _wait_for_idle(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._release)
            self._timer.daemon = True
            self._timer.start()

    def _release(self) -> None:
        """Close the connections of the present state if no request came for a while."""
        with self._lock:
            self._timer, now = None, self._now
            if now is None or now.n_used or not now.is_open:
                return
            rest = IDLE - (self._clock() - now.used_at)
            if rest > 0:
                self._wait_for_idle(rest)
            else:
                now.close()


def _close(stores: list[Store]) -> None:
    for store in stores:
        store.close()
