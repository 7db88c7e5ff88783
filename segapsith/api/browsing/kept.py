"""A value that is read from the store once after each run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from segapsith_store import Store
from segapsith_store.queries.browsing.activity import StoreState, read_state

__all__ = ["Kept"]

T = TypeVar("T")

LEAST_AGE = 2.0
"""Seconds for which a value is used at least while a run writes."""

AGE_PER_COST = 20.0
"""It is used at least this many times as long as reading it took."""


class Kept(Generic[T]):
    """A value that is read from the store once after each run."""

    def __init__(self, read: Callable[[Store, T | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._held: tuple[StoreState, T, float, float] | None = None
        """State of the store, value, time of reading, seconds that reading took."""

    def get(self, store: Store) -> T:
        """Return the value for the present state of the store."""
        state = read_state(store)
        held = self._held
        if held is not None and self._is_fresh(held, state):
            return held[1]
        with self._lock:
            held = self._held
            if held is not None and self._is_fresh(held, state):
                return held[1]
            began = time.monotonic()
            value = self._read(store, None if held is None else held[1])
            now = time.monotonic()
            self._held = (state, value, now, now - began)
            return value

    @staticmethod
    def _is_fresh(held: tuple[StoreState, T, float, float], state: StoreState) -> bool:
        at, _, read, cost = held
        if at == state or (at.run, at.position) > (state.run, state.position):
            return True
        return state.changing and time.monotonic() - read < max(LEAST_AGE, AGE_PER_COST * cost)
