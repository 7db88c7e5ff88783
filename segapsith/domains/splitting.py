"""Broad domains found again: those that would have been several, had learning been stricter.

A large domain takes whatever shares its general words. Its units are learned once more among
themselves, in the order in which they came, from a higher similarity on. Where that gives several
cores, domains of half the size of a stable one, it is split: every other unit goes with the
nearest core. Only those that are far from all stay in the small domain that they founded: they are
few, so that splitting leaves hardly anything over that would be merged again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag

__all__ = ["Splitting", "nearer", "parts", "split_broad", "step"]


@dataclass(frozen=True, slots=True)
class Splitting:
    """When a domain is broad, and who belongs to its cores."""

    threshold: float = 0.25
    """From which similarity on units are together when they are learned again."""
    similarity: float = 0.19
    """From which the other units join a core."""
    stable: int = 15
    """Units from which a domain is stable: half of them make a core, four times as many a domain
    that may be broad."""

    def __post_init__(self) -> None:
        for name in ("threshold", "similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} should be above 0 and at most 1")
        if self.stable < 1:
            raise ValueError(f"stable={self.stable} should be >= 1")

    @property
    def core(self) -> int:
        """Units from which a part is a core."""
        return (self.stable + 1) // 2

    @property
    def large(self) -> int:
        """Units from which a domain may be broad."""
        return 4 * self.stable


def nearer(threshold: float) -> float:
    """How near a unit must be to a core to go with it: nearer than it takes to be placed, since it
    was the general words of the whole domain that took it in.

    >>> nearer(0.17)
    0.19
    """
    return round(min(1.12 * threshold, 1.0), 3)


def step(units: int) -> int:
    """The step of a stair to which a size belongs; each is a quarter higher than the last.

    >>> [step(n) for n in (0, 1, 2, 30, 31, 37, 1000)]
    [0, 1, 4, 16, 16, 17, 31]
    """
    return int(math.log(units) / math.log(1.25)) + 1 if units > 0 else 0


def parts(
    index: DomainIndex,
    bags: Sequence[Bag],
    chosen: Splitting | None = None,
) -> list[list[int]]:
    """The units of one domain, by their places, in the parts that it falls into: cores first.

    `index` says by which rules. Empty if it is one subject.
    """
    chosen = chosen or Splitting()
    if len(bags) < chosen.large:
        return []
    strict = index.emptied(chosen.threshold)
    labels = [domain for domain, _ in strict.place_all(bags)]
    cores = [d for d in strict if strict.n_units[d] >= chosen.core]
    if len(cores) < 2:
        return []
    known = index.emptied(chosen.similarity)
    for core in cores:
        known.restore(core, strict.words(core))
    found: dict[int, list[int]] = {core: [] for core in cores}
    for place, (label, bag) in enumerate(zip(labels, bags, strict=True)):
        joined = label if label in known else known.place(bag).domain
        found.setdefault(label if joined is None else joined, []).append(place)
    return list(found.values())


def split_broad(
    index: DomainIndex, bags: Sequence[Bag], labels: NDArray[np.int64], chosen: Splitting
) -> None:
    """Splits every broad domain of an index; `labels`, the domains of the units, change with it.
    The largest part keeps the number of its domain."""
    for domain in list(index):
        members = np.flatnonzero(labels == domain)
        found = parts(index, [bags[row] for row in members.tolist()], chosen)
        for part in sorted(found, key=lambda part: (-len(part), part[0]))[1:]:
            labels[members[part]] = index.create()
            for row in members[part].tolist():
                index.absorb(domain, bags[row], -1)
                index.absorb(int(labels[row]), bags[row])
