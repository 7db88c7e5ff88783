"""The target of a store: keeping one, ending it, and how it stands."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import Any

from segapsith.following import MILLION, Target
from segapsith.weighting import SCALE
from segapsith_store.store import Store

__all__ = ["in_force", "keep", "standing"]


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
    found = store.following()
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


def in_force(store: Store, unit: int) -> float | None:
    """The threshold that a unit was placed with: that of a target, or the setting of the run that
    read it; None if it is not known."""
    found = store.row(
        "SELECT v.run, r.settings FROM units u JOIN versions v ON v.id = u.version"
        " JOIN runs r ON r.id = v.run WHERE u.id = ?",
        [unit],
    )
    if found is None:
        return None
    run, settings = found[0], json.loads(found[1])
    followed = store.row(
        "SELECT threshold FROM thresholds WHERE run = ? AND unit <= ? ORDER BY ordinal DESC LIMIT 1",
        [run, unit],
    )
    if followed is not None:
        return float(followed[0]) / SCALE
    value = settings.get("set", {}).get("threshold", settings.get("threshold"))
    return None if value is None else float(value)
