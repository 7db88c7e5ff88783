"""Figures of two partitions of the same units, as validations, drifts and comparisons return them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from segapsith.model import Result

__all__ = ["Details", "Kappa", "KappaInterval", "MantelLaw", "MantelTest", "typed_figures"]

Details = Mapping[str, Any]
"""Nested figures under the names of the JSON form; docs/users.md explains them."""


@dataclass(frozen=True, slots=True)
class Kappa(Result):
    """Kappa by how groups of one side are mapped to groups of the other; None without units."""

    greedy: float | None
    hungarian: float | None
    optimal: float | None
    random: float | None


@dataclass(frozen=True, slots=True)
class KappaInterval(Result):
    """A confidence interval of the greedy kappa."""

    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class MantelLaw(Result):
    """A histogram of Mantel's Z over random permutations."""

    low: float
    high: float
    counts: list[int]


@dataclass(frozen=True, slots=True)
class MantelTest(Result):
    """Mantel's test: whether two units that share a group on one side share one on the other."""

    z: int
    expected: float
    sd: float
    z_max: int
    p: float
    permutations: int
    z_score: float
    normalised: float
    r: float
    law: MantelLaw


def typed_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures by name, with kappa, its interval and Mantel's test as results."""
    interval, mantel = figures["kappa_interval"], figures["mantel"]
    return {
        **figures,
        "kappa": Kappa(**figures["kappa"]),
        "kappa_interval": None if interval is None else KappaInterval(**interval),
        "mantel": None
        if mantel is None
        else MantelTest(**{**mantel, "law": MantelLaw(**mantel["law"])}),
    }
