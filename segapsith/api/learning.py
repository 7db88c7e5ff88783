"""Agree on the settings to learn with: those that are given now against those of the store.

A store keeps the settings that it was learned with. Learning goes on with them; other settings are
refused unless the caller asks for a change.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from segapsith.engine.learning_settings import (
    UNRECORDED,
    Change,
    LearningSettings,
    Note,
    Period,
    check,
    periods,
)
from segapsith.engine.runs import RunPlan
from segapsith.errors import SegapsithError
from segapsith_store import Store

if TYPE_CHECKING:
    from segapsith.api.factory import Factory

__all__ = ["Agreed", "agree", "basis", "latest", "stored_facts"]


@dataclass(frozen=True, slots=True)
class Agreed:
    """Settings to learn with, and how they differ from those of the store."""

    settings: LearningSettings
    stored: LearningSettings | None
    """What the store was last learned with; None for a store that has learned nothing."""
    changes: tuple[Change, ...] = ()
    only: tuple[str, ...] = ()
    """The settings that matter for the work at hand; empty if all do."""

    def plan(self, plan: RunPlan, history: tuple[Period, ...]) -> RunPlan:
        """Return a plan that writes the settings to the store, if they differ from its own."""
        before = self.stored or LearningSettings({})
        after = before.updated(self.settings.only(self.only) if self.only else self.settings)
        if after == self.stored:
            return plan
        changed = {change.name: change.as_json() for change in self.changes}
        settings = {**plan.settings, "changed_learning": changed} if changed else plan.settings
        return replace(plan, settings=settings, learning=Note(history, after))


def agree(
    factory: Factory,
    stored: LearningSettings | None,
    *,
    path: str,
    only: Collection[str] = (),
    change_learning: bool = False,
) -> Agreed:
    """Return the settings to learn with; raise an error for a change that was not asked for.

    `only` names the settings that matter, if not all do.
    """
    settings = factory.learning_settings()
    if stored is None:
        return Agreed(settings, None, only=tuple(only))
    changes = factory.changes(stored.only(only) if only else stored)
    if not change_learning:
        check(path, changes)
    return Agreed(settings, stored, tuple(changes), tuple(only))


def latest(history: Sequence[Period]) -> LearningSettings | None:
    """Return the settings of the last period, or None if there is no period."""
    return history[-1].settings if history else None


def basis(facts: Mapping[str, Any]) -> LearningSettings | None:
    """Return the settings that a store goes on with, from its facts; None if it has learned nothing."""
    unrecorded = UNRECORDED if facts.get("counter_ordinal") else None
    return latest(periods(facts)) or unrecorded


def stored_facts(path: str) -> Mapping[str, Any]:
    """Return the facts of the store at a path; none if it cannot be read.

    Whoever needs the store itself reports why it cannot be read; the settings do not.
    """
    if not os.path.isfile(path):
        return {}
    try:
        with Store.reading(path) as store:
            return store.facts()
    except SegapsithError:
        return {}
