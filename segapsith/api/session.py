"""An open store with its settings, its plugins and its engine: what every part of the API works on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from segapsith.api import learning
from segapsith.engine.learning_settings import (
    FACT,
    LearningSettings,
    Period,
    periods,
    with_stored,
)
from segapsith.engine.runs import RunPlan
from segapsith.settings import Settings, resolve
from segapsith_store import Store
from segapsith_store.connections import MEMORY, check_can_be_store

if TYPE_CHECKING:
    from segapsith.api import labels
    from segapsith.api.factory import Factory
    from segapsith.domains.values import PlacementSettings
    from segapsith.engine import domain_changes
    from segapsith.engine.components import Components
    from segapsith.engine.ingest import Engine
    from segapsith.plugin.contracts import Labeller
    from segapsith.plugin.registry import Registry

__all__ = ["Session"]

T = TypeVar("T")


class Session:
    """A store that is opened when it is first needed: to read without a lock, to write with it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Settings | None = None,
        registry: Registry | None = None,
        *,
        change_learning: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self._given = settings or resolve(environment={})
        self._registry = registry
        self._change_learning = change_learning
        self._writer: Store | None = None
        self._settings: Settings | None = None
        self._factory: Factory | None = None
        self._stored: LearningSettings | None = None
        """What the store was learned with when the settings in force were found."""
        self._components: Components | None = None
        self._held = threading.local()
        """The snapshot that this thread reads from; a connection belongs to its thread."""
        self._engine: Engine | None = None
        self._reads_no_text = False
        self.read_seconds: float | None = None
        """Time limit of each reading; None: no limit."""
        self._plan: tuple[object, RunPlan] | None = None
        """Whether the engine was made for work other than learning."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._release()

    def close(self) -> None:
        """Compute the labels that changed, close the store and release its lock."""
        try:
            self.refresh_labels()
        finally:
            self._release()

    def _release(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self.reset()
        self._writer = None

    def reset(self) -> None:
        """Discard what was made with settings, or read from a store, that no longer apply."""
        if self._factory is not None:
            self._factory.close()
            self._registry = self._factory.loaded
        self._settings = self._factory = self._components = self._engine = None
        self._reads_no_text = False
        self._plan = None

    def discard_engine(self) -> None:
        """Load the engine again when it is next needed."""
        self._engine = None

    # -- composition -----------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings in force: given ones, then those of the store, the preset's, defaults."""
        if self._settings is None:
            self._stored = stored = learning.basis(self._facts())
            self._settings = self._given if stored is None else with_stored(self._given, stored)
        return self._settings

    @property
    def factory(self) -> Factory:
        """What makes plugins, by the settings in force."""
        if self._factory is None:
            from segapsith.api.factory import Factory

            self._factory = Factory(self.settings, self._registry)
        return self._factory

    @property
    def registry(self) -> Registry:
        """The plugins that are installed."""
        return self.factory.registry

    @property
    def components(self) -> Components:
        """The plugins to learn with; made once for the same settings."""
        if self._components is None:
            self._components = self.factory.learning()
        return self._components

    def _facts(self) -> Mapping[str, Any]:
        """Return the facts of the store, from the snapshot that is being read."""
        held: Store | None = getattr(self._held, "store", None) or self._writer
        return learning.stored_facts(self.path) if held is None else held.facts()

    def _history(self) -> tuple[Period, ...]:
        """Return what the store was learned with so far."""
        return periods(self._facts())

    # -- writing ---------------------------------------------------------------------------

    @property
    def writer(self) -> Store:
        """The store, locked for this process until `close`."""
        if self._writer is None:
            self._writer = Store.writing(self.path, self._given.store.wait)
        return self._writer

    @property
    def engine(self) -> Engine:
        """The engine for work that reads no text, such as curation.

        It uses the settings that the store was learned with, whatever else is given.
        """
        if self._engine is None:
            from segapsith.api.factory import Factory
            from segapsith.engine.ingest import Engine

            stored = learning.latest(self._history())
            if stored is None:
                components = self.components
            else:
                settings = with_stored(self._given, stored, stored_wins=True)
                components = Factory(settings, self.registry).learning()
            self._engine = Engine(
                self.writer, components
            )  # wrong settings need no lock to be found
            self._reads_no_text = stored is not None
        return self._engine

    def refresh_labels(self) -> None:
        """Compute the labels whose evidence this session has changed."""
        if self._writer is None:
            return
        from segapsith.api import labels

        if labels.is_stale(self._writer):
            labels.refresh(self._writer, *self.factory.labeller())

    def labeller(self) -> Labeller:
        """Return what names events, and everything else that is not stored with a label."""
        return self.factory.labeller()[0]

    def label_maker(self, store: Store) -> labels.LabelMaker:
        """Return what computes labels from the stories of a store."""
        from segapsith.api import labels

        return labels.LabelMaker(store, self.factory.labeller()[0])

    def check_learning(self, only: Collection[str] = ()) -> None:
        """Report wrong settings, and a path where no store can be, before taking the lock."""
        if self._writer is None:
            self._agree(learning.latest(self._history()), only)
            _ = self.components
            if self.path != MEMORY:
                check_can_be_store(self.path)

    def learner(self, only: Collection[str] = ()) -> tuple[Engine, RunPlan]:
        """Return the engine to learn with, and a plan that writes its settings to the store.

        Settings that differ from those of the store are refused unless a change was asked for.
        `only` names the settings that matter, if not all do.
        """
        self.check_learning(only)
        store = self.writer
        facts = store.facts()
        if self._engine is not None and not self._reads_no_text and not only and self._plan:
            learned_with, plan = self._plan
            if learned_with == facts.get(FACT):  # the store has the same settings still
                return self._engine, plan
        history = periods(facts)
        basis = learning.basis(facts)
        if basis != self._stored:  # this process has learned since, or another one has
            if basis != self.factory.learning_settings():
                self.reset()
            self._stored = basis
        agreed = self._agree(learning.latest(history), only)
        if self._engine is None or self._reads_no_text:
            from segapsith.engine.ingest import Engine

            self._engine, self._reads_no_text = Engine(store, self.components), False
        plan = agreed.plan(self.factory.plan(), history)
        # A plan that writes its settings is used once: the next one finds them in the store.
        self._plan = (facts.get(FACT), plan) if not only and plan.learning is None else None
        return self._engine, plan

    def _agree(self, stored: LearningSettings | None, only: Collection[str]) -> learning.Agreed:
        return learning.agree(
            self.factory,
            stored,
            path=self.path,
            only=only,
            change_learning=self._change_learning,
        )

    def change(
        self,
        command: str,
        *changes: domain_changes.Change,
        noted: Mapping[str, Any] | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """Apply changes to domains in one run, all or none; return what each of them did.

        The run log stores `noted` as the settings of the run.
        """
        plan = RunPlan(command, noted or {}, self.factory.versions())
        return self.engine.change(changes, plan)

    # -- reading ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[Store]:
        """Hold one state of the store for several queries, whatever others write meanwhile.

        A writer holds the lock, so its own connection is such a state. May be nested: reads inside
        see the same state.
        """
        held: Store | None = getattr(self._held, "store", None)
        if held is not None:
            yield held
        elif self._writer is not None or self.path == MEMORY:
            self.refresh_labels()
            yield self.writer
        else:
            with Store.reading(self.path, self.read_seconds) as store, store.frozen():
                self._held.store = store
                try:
                    yield store
                finally:
                    self._held.store = None

    @contextlib.contextmanager
    def reading_from(self, store: Store) -> Iterator[None]:
        """Let all reads of this thread use one open store, which holds one state."""
        before: Store | None = getattr(self._held, "store", None)
        self._held.store = store
        try:
            yield
        finally:
            self._held.store = before

    def read(self, query: Callable[[Store], T]) -> T:
        """Return the result of a query on one state of the store."""
        with self.reading() as store:
            return query(store)

    def placing(self, store: Store) -> PlacementSettings:
        """Return how a unit finds its domain now, with the threshold of a stored target."""
        from segapsith.lexicon.vocabulary import SCALE

        placing = self.factory.placing()
        followed = None if self.factory.overruled else store.threshold_controller()
        return (
            placing if followed is None else replace(placing, threshold=followed.threshold / SCALE)
        )
