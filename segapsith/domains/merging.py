"""Near-identical domains found again: which would be one, had their units come in another order.

Two domains are compared as a unit and a domain are, by eq. 7 over the words of each that weigh
enough (algorithms §2.2). How near they must be depends on what they are: a domain with few units
joins another as a unit would, while two that are stable have had time to show that they differ,
and must be nearly the same. Of all pairs the nearest, by its similarity over the one that is
needed, is merged into the older of the two, and so on until no pair is near enough. Two that are
stable are merged only if they would not be split again: what is near by general words stays apart.

Finding the nearest of a domain costs the postings of its words. After a merge only those are
compared again whose nearest was one of the two, and the new domain with all that share a word.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segapsith.domains.index import DomainIndex

__all__ = ["Consolidating", "Joined", "consolidate"]


@dataclass(frozen=True, slots=True)
class Consolidating:
    """From which similarity on two domains are one."""

    similarity: float = 0.25
    """If one of them is small."""
    stable_similarity: float = 0.5
    """If both are stable; never below the other."""
    stable: int = 15
    """Units from which a domain is stable."""

    def __post_init__(self) -> None:
        for name in ("similarity", "stable_similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} should be above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class Joined:
    """Domains that are one: the oldest, those that it takes, and the least of the similarities
    at which they came together."""

    into: int
    taken: tuple[int, ...]
    similarity: float

    @property
    def domains(self) -> tuple[int, ...]:
        return (self.into, *self.taken)


def consolidate(
    index: DomainIndex,
    chosen: Consolidating | None = None,
    *,
    apart: Collection[int] = (),
    named: Collection[int] = (),
    growing: Collection[int] = (),
    whole: Callable[[Sequence[int]], bool] | None = None,
) -> list[Joined]:
    """Merges the domains of an index as long as two are near enough; says which became one.

    `apart` are left as they are. Two that people `named` are never merged with each other. Those
    that are `growing` count as stable. `whole` says of domains whether they would be one subject,
    and is asked before two with enough units are merged. The index is changed: it is the one that
    the result would have.
    """
    return _Consolidation(index, chosen or Consolidating(), apart, named, growing, whole).done()


class _Consolidation:
    def __init__(
        self,
        index: DomainIndex,
        chosen: Consolidating,
        apart: Collection[int],
        named: Collection[int],
        growing: Collection[int],
        whole: Callable[[Sequence[int]], bool] | None,
    ) -> None:
        self._index, self._chosen, self._whole = index, chosen, whole
        self._needed = max(chosen.similarity, chosen.stable_similarity)
        self._apart, self._named = frozenset(apart), set(named)
        self._firm = index.n_units >= chosen.stable
        """Of each domain, whether it is stable or may become so."""
        self._firm[list(growing)] = True
        self._nearest: dict[int, tuple[float, int]] = {}
        """Of each domain that has one near enough: similarity over the needed one, and which."""
        self._followers: dict[int, set[int]] = {}
        """Of each domain, those whose nearest it is."""
        self._pairs: list[tuple[float, int, int]] = []
        """The pairs to merge, nearest first; some are out of date."""
        self._refused: set[tuple[int, int]] = set()
        """Pairs that would be split again."""
        self._taken: dict[int, list[int]] = {}
        self._least: dict[int, float] = {}

    def done(self) -> list[Joined]:
        for domain in self._index:
            self._point(domain, self._near(domain))
        while self._pairs:
            negative, older, younger = heapq.heappop(self._pairs)
            if self._nearest.get(older) == (-negative, younger) or (
                self._nearest.get(younger) == (-negative, older)
            ):
                if self._broad(older, younger):
                    self._refused.add((older, younger))
                    for domain in (older, younger):
                        self._point(domain, self._near(domain))
                else:
                    self._merge(older, younger, -negative)
        return [
            Joined(into, tuple(sorted(taken)), self._least[into])
            for into, taken in sorted(self._taken.items())
        ]

    def _near(self, domain: int) -> Mapping[int, float]:
        """What a domain could be merged with; 1 or more is near enough."""
        if domain in self._apart:
            return {}
        others, scores = self._index.neighbours(domain, self._chosen.similarity)
        near = scores / self._need(domain, others)
        barred = self._apart | self._named if domain in self._named else self._apart
        return {
            other: how_near
            for other, how_near in zip(others.tolist(), near.tolist(), strict=True)
            if how_near >= 1
            and other not in barred
            and (min(domain, other), max(domain, other)) not in self._refused
        }

    def _broad(self, older: int, younger: int) -> bool:
        """Whether two with enough units would be several subjects again."""
        if self._whole is None or min(self._index.n_units[[older, younger]]) < self._chosen.stable:
            return False
        of = [d for one in (older, younger) for d in (one, *self._taken.get(one, []))]
        return not self._whole(of)

    def _need(self, domain: int, others: Any) -> Any:
        """The similarity that a domain needs with others."""
        both = self._firm[others] & self._firm[domain]
        return np.where(both, self._needed, self._chosen.similarity)

    def _point(self, domain: int, near: Mapping[int, float]) -> None:
        """Notes the nearest of a domain: of equals the oldest."""
        before = self._nearest.pop(domain, None)
        if before is not None:
            self._followers.get(before[1], set()).discard(domain)
        if near:
            other = min(near, key=lambda number: (-near[number], number))
            self._nearest[domain] = (near[other], other)
            self._followers.setdefault(other, set()).add(domain)
            heapq.heappush(self._pairs, (-near[other], min(domain, other), max(domain, other)))

    def _merge(self, older: int, younger: int, how_near: float) -> None:
        similarity = how_near * float(self._need(older, younger))
        self._least[older] = min(
            self._least.pop(younger, 1.0), self._least.get(older, 1.0), similarity
        )
        self._taken.setdefault(older, []).extend([younger, *self._taken.pop(younger, [])])
        if younger in self._named:
            self._named.add(older)
        self._index.pour(younger, older)
        self._firm[older] |= self._firm[younger] | (
            self._index.n_units[older] >= self._chosen.stable
        )
        lost = self._followers.pop(older, set()) | self._followers.pop(younger, set())
        lost -= {older, younger}
        self._point(younger, {})
        near = self._near(older)
        self._point(older, near)
        for domain in sorted(lost):
            self._point(domain, self._near(domain))
        for domain, new in near.items():
            score, other = self._nearest.get(domain, (0.0, 0))
            if (-new, older) < (-score, other):
                self._point(domain, {older: new})
