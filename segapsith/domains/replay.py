"""The stream placed anew, in memory: units one after the other, by eq. 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag, PlacementSettings

__all__ = ["Replay", "empty", "go_on", "replay"]


@dataclass(frozen=True, slots=True)
class Replay:
    """Where units went."""

    founded: NDArray[np.bool_]
    """Of each unit, whether it founded a domain."""
    domains: NDArray[np.int64]
    """Of each unit, its domain."""

    def new_rate(self, first: int, last: int) -> float:
        """Share of the units of a stretch that founded a domain."""
        return float(self.founded[first:last].mean()) if last > first else 0.0

    def singletons(self, last: int) -> float:
        """Share of the domains that have one unit, after the first `last` units."""
        sizes = np.bincount(self.domains[:last])
        sizes = sizes[sizes > 0]
        return float((sizes == 1).mean()) if len(sizes) else 0.0


def go_on(index: DomainIndex, bags: Sequence[Bag]) -> Replay:
    """Places units into the domains of an index, or into new ones; the index learns them.

    Weights are those that the units have; what the clock had frozen is not computed again.
    """
    founded = np.zeros(len(bags), dtype=np.bool_)
    domains = np.zeros(len(bags), dtype=np.int64)
    if index.settings.prefilter == "none" and len(bags):
        for number, (domain, found) in enumerate(index.place_all(bags)):
            founded[number], domains[number] = found.domain is None, domain
        return Replay(founded, domains)
    for number, bag in enumerate(bags):
        best = index.place(bag).domain
        domain = index.create() if best is None else best
        index.add_unit(domain, bag)
        founded[number], domains[number] = best is None, domain
    return Replay(founded, domains)


def replay(
    bags: Sequence[Bag],
    settings: PlacementSettings,
    significance: NDArray[np.float64] | None = None,
) -> Replay:
    """Places units into an empty memory."""
    return go_on(empty(settings, significance), bags)


def empty(
    settings: PlacementSettings, significance: NDArray[np.float64] | None = None
) -> DomainIndex:
    """A memory without domains."""
    index = DomainIndex(settings)
    if significance is not None:
        index.learn_significance(significance)
    return index
