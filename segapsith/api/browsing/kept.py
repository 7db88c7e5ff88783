"""A value of the whole store that is read once for each state of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from segapsith_store import Store
from segapsith_store.queries.browsing.activity import StoreState, read_state

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """A value that is read from the store once for each state of it.

    `read` gets the store and the value of an earlier state, to take from it what has not changed.
    The value of the newest state is held. After `show`, so is the value of the state that is shown,
    until another one is shown.
    """

    def __init__(self, read: Callable[[Store, T | None], T]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._shown: StoreState | None = None
        self._held: dict[StoreState, T] = {}

    def get(self, store: Store) -> T:
        """Return the value for the state of the store that is being read."""
        state = read_state(store)
        held = self._held
        if state in held:
            return held[state]
        with self._lock:
            if state in self._held:
                return self._held[state]
            earlier = [at for at in self._held if at.age <= state.age]
            before = self._held[max(earlier, key=lambda at: at.age)] if earlier else None
            value = self._read(store, before)
            self._held = {at: v for at, v in self._held.items() if at == self._shown != state}
            self._held[state] = value
            return value

    def show(self, state: StoreState) -> None:
        """Hold the value of this state; discard those of others if it was read already."""
        with self._lock:
            self._shown = state
            if state in self._held:
                self._held = {state: self._held[state]}
