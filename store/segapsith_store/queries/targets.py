"""The target of a store: keeping one, ending it, and how it stands."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import Any

from segapsith.domains.threshold_control import MILLION, Target
from segapsith.engine import learning_settings
from segapsith.lexicon.weighting import SCALE
from segapsith_store.store import Store

__all__ = ["Placing", "in_force", "keep", "standing"]


def keep(store: Store, run: int, target: Target) -> None:
    """From now on the threshold follows this target; one without an aim ends the last."""
    store.change(
        lambda c: (
            c.execute(
                "INSERT INTO targets (run, aim, share, threshold, slope, ordinal)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [run, *astuple(target)],
            ).rowcount
        )
    )


def standing(store: Store) -> dict[str, Any] | None:
    """The target that is kept, the threshold that holds now, and what came since."""
    found = store.threshold_controller()
    if found is None:
        return None
    told: dict[str, Any] = {
        "aim": found.target.aim,
        "share": found.target.share / MILLION,
        "threshold": round(found.threshold / SCALE, 6),
        "units": found.placed,
        "founded": found.founded,
    }
    if found.target.aim == "new_rate":
        told["reached"] = round(found.founded / found.placed, 6) if found.placed else None
    else:
        n_domains = store.number("SELECT count(*) FROM domains WHERE status = 'open' AND units > 0")
        single = store.number("SELECT count(*) FROM domains WHERE status = 'open' AND units = 1")
        told["reached"] = round(single / n_domains, 6) if n_domains else None
    return told


@dataclass(frozen=True, slots=True)
class Placing:
    """What a unit was placed by: the name of the measure, and the threshold; None if unknown."""

    measure: str | None
    threshold: float | None


def in_force(store: Store, unit: int) -> Placing:
    """Return what a unit was placed by: as the store keeps it, or, of an older store, as the run
    that read the unit was set. A threshold that followed a target goes first."""
    row = store.row(
        "SELECT v.run, r.settings FROM units u JOIN versions v ON v.id = u.version"
        " JOIN runs r ON r.id = v.run WHERE u.id = ?",
        [unit],
    )
    if row is None:
        return Placing(None, None)
    run, settings = row[0], json.loads(row[1])
    kept = learning_settings.in_force(learning_settings.periods(store.facts()), unit)
    values = {**settings, **settings.get("set", {})}
    if kept is not None:
        values |= kept.values
    followed = store.row(
        "SELECT threshold FROM thresholds WHERE run = ? AND unit <= ? ORDER BY ordinal DESC LIMIT 1",
        [run, unit],
    )
    value = values.get("threshold") if followed is None else followed[0] / SCALE
    return Placing(values.get("placement"), None if value is None else float(value))
