"""A store with its engine and its workshop, as those see it who work on one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from segapsith.api.factory import Factory
from segapsith.domains.values import PlacementSettings
from segapsith.engine import domain_changes
from segapsith.engine.engine import Engine
from segapsith.settings import Settings
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
    def factory(self) -> Factory: ...
    @property
    def writer(self) -> Store: ...
    @property
    def engine(self) -> Engine: ...
    def reading(self) -> AbstractContextManager[Store]: ...
    def read(self, ask: Callable[[Store], T]) -> T: ...
    def placing(self, store: Store) -> PlacementSettings: ...
    def change(
        self, command: str, *changes: domain_changes.Change, **noted: Any
    ) -> list[dict[str, Any]]: ...
