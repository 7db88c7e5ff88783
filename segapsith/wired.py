"""A store with its engine and its workshop, as those see it who work on one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from segapsith import lineage
from segapsith.domains import PlacementSettings
from segapsith.engine import Engine
from segapsith.settings import Settings
from segapsith.workshop import Workshop
from segapsith_store import Store

__all__ = ["Wired"]

T = TypeVar("T")


class Wired(Protocol):
    """What the work on a store needs: where to write, how to ask, who makes the plugins."""

    @property
    def path(self) -> str: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def workshop(self) -> Workshop: ...
    @property
    def writer(self) -> Store: ...
    @property
    def engine(self) -> Engine: ...
    def reading(self) -> AbstractContextManager[Store]: ...
    def read(self, ask: Callable[[Store], T]) -> T: ...
    def placing(self, store: Store) -> PlacementSettings: ...
    def change(
        self, command: str, *changes: lineage.Change, **noted: Any
    ) -> list[dict[str, Any]]: ...
