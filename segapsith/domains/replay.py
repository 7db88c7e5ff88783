"""Replay of the stream in memory: units are placed again, one after the other, by eq. 7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag, PlacementSettings

__all__ = ["Replay", "empty_index", "place_units", "replay"]


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a replay, one entry per unit."""

    founded: NDArray[np.bool_]
    """Whether the unit started a domain."""
    domains: NDArray[np.int64]
    """The domain of the unit."""

    def new_rate(self, first: int, last: int) -> float:
        """Return the share of the units `first` to `last` (exclusive) that started a domain."""
        return float(self.founded[first:last].mean()) if last > first else 0.0

    def singletons(self, last: int) -> float:
        """Return the share of domains with a single unit after the first `last` units."""
        sizes = np.bincount(self.domains[:last])
        sizes = sizes[sizes > 0]
        return float((sizes == 1).mean()) if len(sizes) else 0.0


def place_units(
    index: DomainIndex, bags: Sequence[Bag], stories: Sequence[int] | None = None
) -> Replay:
    """Place units into the domains of an index or into new ones; the index is changed.

    `stories` are the ordinals of their stories; without them domains do not age.
    Units keep their stored weights; the importance of their words is not computed again.
    """
    founded = np.zeros(len(bags), dtype=np.bool_)
    domains = np.zeros(len(bags), dtype=np.int64)
    if index.settings.prefilter == "none" and len(bags):
        for number, (domain, placement) in enumerate(index.place_all(bags, stories)):
            founded[number], domains[number] = placement.domain is None, domain
        return Replay(founded, domains)
    for number, bag in enumerate(bags):
        story = 0 if stories is None else stories[number]
        best = index.place(bag, story=story).domain
        domain = index.create() if best is None else best
        index.add_unit(domain, bag)
        index.note_story(domain, story)
        founded[number], domains[number] = best is None, domain
    return Replay(founded, domains)


def replay(
    bags: Sequence[Bag],
    settings: PlacementSettings,
    significance: NDArray[np.float64] | None = None,
    stories: Sequence[int] | None = None,
) -> Replay:
    """Place units into an index without domains."""
    return place_units(empty_index(settings, significance), bags, stories)


def empty_index(
    settings: PlacementSettings, significance: NDArray[np.float64] | None = None
) -> DomainIndex:
    """Return an index without domains."""
    index = DomainIndex(settings)
    if significance is not None:
        index.learn_significance(significance)
    return index
