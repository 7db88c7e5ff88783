"""Splitting of broad domains: those that a stricter threshold would have made several.

A large domain attracts whatever shares its general words. Its units are placed again among
themselves, in the order of their arrival, with a higher threshold. If at least two of the resulting
parts are cores (half the size of a stable domain), the domain is split. Every other unit joins the
nearest core. Only units that are far from all cores stay in the small part that they started; they
are few, so splitting leaves hardly anything that would be merged again.

The largest domains often have one core only, which takes the units of every other subject. So parts
that are still large are cut in two (`halving`), and their halves again, while a cut sets enough
units apart: the number of units times the separation of the halves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains import halving
from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag

__all__ = ["SplitSettings", "core_similarity", "size_step", "split_broad", "split_units"]

CORE_FACTOR = 1.12
"""Similarity to a core that a unit needs, as a multiple of the placement threshold."""

STEP_FACTOR = 1.25
"""Growth of a domain from one size step to the next."""


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """Settings of splitting: when a domain is broad, and which units join its cores."""

    threshold: float = 0.25
    """Least similarity at which units stay together when they are placed again."""
    similarity: float = 0.19
    """Least similarity at which the other units join a core."""
    stable: int = 15
    """Least number of units of a stable domain, and of each half of a cut."""
    cut: float = 2.5
    """Least number of units times their separation, for a cut in halves, as a multiple of `stable`
    (0: never)."""

    def __post_init__(self) -> None:
        for name in ("threshold", "similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} should be above 0 and at most 1")
        if self.stable < 1:
            raise ValueError(f"stable={self.stable} should be >= 1")
        if self.cut < 0:
            raise ValueError(f"cut={self.cut} should be >= 0")

    @property
    def core(self) -> int:
        """Least number of units of a core."""
        return (self.stable + 1) // 2

    @property
    def large(self) -> int:
        """Least number of units of a domain that may be split."""
        return 4 * self.stable


def core_similarity(threshold: float) -> float:
    """Return the least similarity at which a unit joins a core, for a placement threshold.

    It is higher than the threshold, because the general words of the whole domain attracted the
    unit.

    >>> core_similarity(0.17)
    0.19
    """
    return round(min(CORE_FACTOR * threshold, 1.0), 3)


def size_step(n_units: int) -> int:
    """Return the step of a size on a ladder on which each step is a quarter larger than the last.

    >>> [size_step(n) for n in (0, 1, 2, 30, 31, 37, 1000)]
    [0, 1, 4, 16, 16, 17, 31]
    """
    return int(math.log(n_units) / math.log(STEP_FACTOR)) + 1 if n_units > 0 else 0


def split_units(
    index: DomainIndex,
    bags: Sequence[Bag],
    settings: SplitSettings | None = None,
) -> list[list[int]]:
    """Return the parts that the units of one domain form, as positions in `bags`, cores first.

    `index` gives the placement settings. The result is empty if the domain is one subject.
    """
    settings = settings or SplitSettings()
    if len(bags) < settings.large:
        return []
    parts = _cores(index, bags, settings) or [list(range(len(bags)))]
    if settings.cut:
        halves = [_cut(index, bags, part, settings) for part in parts]
        parts = sorted((part for of in halves for part in of), key=lambda p: (-len(p), p[0]))
    return parts if len(parts) > 1 else []


def _cores(index: DomainIndex, bags: Sequence[Bag], settings: SplitSettings) -> list[list[int]]:
    """Return the parts that a stricter threshold makes, cores first; none if there is one core."""
    strict = index.without_domains(settings.threshold)
    labels = [domain for domain, _ in strict.place_all(bags)]
    core_numbers = [d for d in strict if strict.n_units[d] >= settings.core]
    if len(core_numbers) < 2:
        return []
    cores = index.without_domains(settings.similarity)
    for core in core_numbers:
        cores.restore(core, strict.words(core))
    parts: dict[int, list[int]] = {core: [] for core in core_numbers}
    nearest = cores.find_all(bags)
    for position, (label, placement) in enumerate(zip(labels, nearest, strict=True)):
        core_of_unit = label if label in cores else placement.domain
        parts.setdefault(label if core_of_unit is None else core_of_unit, []).append(position)
    return list(parts.values())


def _cut(
    index: DomainIndex, bags: Sequence[Bag], part: list[int], settings: SplitSettings
) -> list[list[int]]:
    """Return the pieces of a part: halves of halves, or the part itself."""
    if len(part) < settings.large:
        return [part]
    members = [bags[position] for position in part]
    labels = halving.halve(halving.unit_rows(members))
    if labels is None:
        return [part]
    halves = [[p for p, of in zip(part, labels.tolist(), strict=True) if of == n] for n in (0, 1)]
    if min(map(len, halves)) < settings.stable:
        return [part]
    if len(part) * halving.separation(index, members, labels) < settings.cut * settings.stable:
        return [part]
    return [piece for half in halves for piece in _cut(index, bags, half, settings)]


def split_broad(
    index: DomainIndex, bags: Sequence[Bag], labels: NDArray[np.int64], settings: SplitSettings
) -> None:
    """Split every broad domain of an index; update `labels`, the domains of the units, in place.

    The largest part keeps the number of its domain.
    """
    for domain in list(index):
        members = np.flatnonzero(labels == domain)
        parts = split_units(index, [bags[row] for row in members.tolist()], settings)
        for part in sorted(parts, key=lambda part: (-len(part), part[0]))[1:]:
            labels[members[part]] = index.create()
            for row in members[part].tolist():
                index.remove_unit(domain, bags[row])
                index.add_unit(int(labels[row]), bags[row])
