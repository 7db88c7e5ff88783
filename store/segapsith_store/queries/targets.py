"""The target that the placement threshold follows, and the threshold that placed a unit."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

from segapsith.domains.threshold_control import MILLION, Target
from segapsith.engine import learning_settings
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Result
from segapsith_store.store import Store

__all__ = [
    "FollowedTarget",
    "Placing",
    "followed_target",
    "last_target",
    "placed_by",
    "save_target",
]


@dataclass(frozen=True, slots=True)
class FollowedTarget(Result):
    """A stored target, the present threshold, and the share reached since it was set."""

    aim: str
    """`new_rate` or `singletons`."""
    share: float
    threshold: float
    units: int
    """Units placed since the target was set."""
    founded: int
    """Units among them that founded a domain."""
    reached: float | None
    overruled: str | None = None
    """The given setting that is used instead of the target, if there is one."""


def save_target(store: Store, run: int, target: Target) -> None:
    """Let the threshold follow a target; a target without an aim ends the last one."""
    store.change(
        lambda c: (
            c.execute(
                "INSERT INTO targets (run, aim, share, threshold, slope, ordinal)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [run, *astuple(target)],
            ).rowcount
        )
    )


def last_target(store: Store) -> tuple[int, Target] | None:
    """Return the target that was stored last, with its run; None without one."""
    row = store.row(
        "SELECT run, aim, share, threshold, slope, ordinal FROM targets ORDER BY run DESC LIMIT 1"
    )
    return None if row is None else (row[0], Target(*row[1:]))


def followed_target(store: Store) -> FollowedTarget | None:
    """Return the stored target with the present threshold and what it reached; None without one."""
    with store.frozen():
        controller = store.threshold_controller()
        if controller is None:
            return None
        if controller.target.aim == "new_rate":
            n_hits, n_all = controller.founded, controller.placed
        else:
            n_hits = store.number(
                "SELECT count(*) FROM domains WHERE status = 'open' AND units = 1"
            )
            n_all = store.number("SELECT count(*) FROM domains WHERE status = 'open' AND units > 0")
        return FollowedTarget(
            aim=controller.target.aim,
            share=controller.target.share / MILLION,
            threshold=round(controller.threshold / SCALE, 6),
            units=controller.placed,
            founded=controller.founded,
            reached=round(n_hits / n_all, 6) if n_all else None,
        )


@dataclass(frozen=True, slots=True)
class Placing:
    """The measure and the threshold that placed a unit; None if they are unknown."""

    measure: str | None
    threshold: float | None


def placed_by(store: Store, unit: int) -> Placing:
    """Return the measure and the threshold that placed a unit.

    A threshold that followed a target is used first, then the learning settings of that time, then
    (in stores written before those were stored) the settings of the run that read the unit.
    """
    with store.frozen():
        row = store.row(
            "SELECT v.run, r.settings FROM units u JOIN versions v ON v.id = u.version"
            " JOIN runs r ON r.id = v.run WHERE u.id = ?",
            [unit],
        )
        if row is None:
            return Placing(None, None)
        run, settings = row[0], json.loads(row[1])
        period = learning_settings.in_force(learning_settings.periods(store.facts()), unit)
        values = {**settings, **settings.get("set", {})}
        if period is not None:
            values |= period.values
        followed = store.row(
            "SELECT threshold FROM thresholds WHERE run = ? AND unit <= ?"
            " ORDER BY ordinal DESC LIMIT 1",
            [run, unit],
        )
    value = values.get("threshold") if followed is None else followed[0] / SCALE
    return Placing(values.get("placement"), None if value is None else float(value))
