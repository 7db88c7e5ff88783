"""The engine: a store, the components to learn with, and the state that they have in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from segapsith.engine import domain_changes, removal
from segapsith.engine.classify import classify
from segapsith.engine.components import Components
from segapsith.engine.ingest import Items, ingest, preview
from segapsith.engine.runs import RunPlan, RunSummary
from segapsith.engine.state import State, load_state
from segapsith.engine.storage import Storage
from segapsith.model import Document

__all__ = ["Engine"]


class Engine:
    """Learns from documents, forgets them, undoes runs, changes domains.

    The state stays in memory between two calls. Every call that changes it takes it, and gives it
    back when the store has the same: after an exception the next call loads it again.
    """

    def __init__(self, storage: Storage, components: Components) -> None:
        self.storage = storage
        self.components = components
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The state of the store, loaded when it is first needed."""
        if self._state is None:
            self._state = load_state(self.storage, self.components)
        return self._state

    def _take_state(self) -> State:
        """Return the state; the engine has none until it is given back."""
        state, self._state = self.state, None
        return state

    def ingest(
        self,
        items: Items,
        plan: RunPlan | None = None,
        on_batch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learn from items to the end, batch by batch; the same input after a kill continues."""
        state = self._take_state()
        summary = ingest(items, state, self.components, self.storage, plan or RunPlan(), on_batch)
        self._state = state
        return summary

    def preview(self, items: Items) -> RunSummary:
        """Return what an ingest would do; the store does not change."""
        return preview(items, self._take_state(), self.components, self.storage)

    def classify(self, document: Document, top: int = 3) -> dict[str, Any]:
        """Return which domains a text belongs to, unit by unit; nothing is learned."""
        return classify(document, self.components, self.storage, top=top)

    def forget(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Remove documents exactly, with their texts, and refuse them from now on."""
        records, plan = removal.forgettable(uids, self.storage), plan or RunPlan("forget")
        return removal.forget(records, self._take_state(), self.components, self.storage, plan)

    def allow_again(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Let later deliveries bring forgotten documents back."""
        return removal.allow_again(uids, self.storage, plan or RunPlan("forget"))

    def undo(
        self, run: int | None = None, versions: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Undo a run, by default the last; later runs that learned something must go first."""
        target = removal.undo_target(run, self.storage)
        state = self._take_state()
        return removal.undo(target, state, self.components, self.storage, versions or {})

    def change(
        self, changes: Sequence[domain_changes.Change], plan: RunPlan
    ) -> list[dict[str, Any]]:
        """Change domains, all in one run or not at all; return what each change did."""
        for change in changes:
            change.check(self.storage)
        state = self._take_state()
        results = domain_changes.apply_changes(changes, state, self.components, self.storage, plan)
        self._state = state
        return results
