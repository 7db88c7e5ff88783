"""Merging of similar domains: those that a different order of arrival would have made one.

Two domains are compared by eq. 7, over the words of each that weigh enough (`min_weight`). The
required similarity depends on their size. A small domain joins another about as easily as a unit
does. Two stable domains have had time to show that they differ, so they must be nearly the same.

The pair with the highest ratio of similarity to required similarity is merged into its older
domain, and so on until no pair is similar enough. Two stable domains are merged only if the result
would not be split again; pairs that share only general words stay separate.

The cost of a comparison is the postings of the words of one domain. After a merge, only the new
domain and the domains whose nearest neighbour was one of the two are compared again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex

__all__ = ["MergeSettings", "MergedDomains", "merge_similar"]


@dataclass(frozen=True, slots=True)
class MergeSettings:
    """The least similarity at which two domains are merged."""

    similarity: float = 0.25
    """If at least one of them is small."""
    stable_similarity: float = 0.5
    """If both are stable; a value below `similarity` counts as `similarity`."""
    stable: int = 15
    """Least number of units of a stable domain."""

    def __post_init__(self) -> None:
        for name in ("similarity", "stable_similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name}={getattr(self, name)} should be above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class MergedDomains:
    """Domains that were merged into one: the oldest, and the others in ascending order."""

    into: int
    taken: tuple[int, ...]
    similarity: float
    """The lowest similarity of the merges that made the group."""

    @property
    def domains(self) -> tuple[int, ...]:
        """All domains of the group, the oldest first."""
        return (self.into, *self.taken)


def merge_similar(
    index: DomainIndex,
    settings: MergeSettings | None = None,
    *,
    apart: Collection[int] = (),
    named: Collection[int] = (),
    growing: Collection[int] = (),
    whole: Callable[[Sequence[int]], bool] | None = None,
) -> list[MergedDomains]:
    """Merge the domains of an index while two are similar enough; return the merged groups.

    Domains in `apart` are not merged, nor two that are both `named`. Domains that are `growing`
    count as stable. `whole` decides whether some domains would be one subject; it is asked before
    two domains with at least `stable` units each are merged. The index is changed to the result.
    """
    return _Merging(index, settings or MergeSettings(), apart, named, growing, whole).run()


class _Merging:
    """One run of `merge_similar`: the nearest neighbour of every domain, and a queue of pairs.

    A *ratio* is the similarity of two domains over the similarity that they need; pairs with a
    ratio of at least 1 are merged.
    """

    def __init__(
        self,
        index: DomainIndex,
        settings: MergeSettings,
        apart: Collection[int],
        named: Collection[int],
        growing: Collection[int],
        whole: Callable[[Sequence[int]], bool] | None,
    ) -> None:
        self._index, self._settings, self._whole = index, settings, whole
        self._stable_similarity = max(settings.similarity, settings.stable_similarity)
        self._apart, self._named = frozenset(apart), set(named)
        self._is_stable = index.n_units >= settings.stable
        """For each domain, whether it is stable or growing."""
        self._is_stable[list(growing)] = True
        self._nearest: dict[int, tuple[float, int]] = {}
        """Domain to the ratio and number of its nearest neighbour, if that is similar enough."""
        self._followers: dict[int, set[int]] = {}
        """Domain to the domains whose nearest neighbour it is."""
        self._pairs: list[tuple[float, int, int]] = []
        """Heap of (-ratio, older, younger); entries may be out of date."""
        self._refused: set[tuple[int, int]] = set()
        """Pairs that would be split again."""
        self._taken: dict[int, list[int]] = {}
        """Oldest domain of a group to the others."""
        self._lowest: dict[int, float] = {}
        """Oldest domain of a group to the lowest similarity of its merges."""

    def run(self) -> list[MergedDomains]:
        for domain in self._index:
            self._set_nearest(domain, self._candidates(domain))
        while self._pairs:
            negative, older, younger = heapq.heappop(self._pairs)
            if self._nearest.get(older) == (-negative, younger) or (
                self._nearest.get(younger) == (-negative, older)
            ):
                if self._is_broad(older, younger):
                    self._refused.add((older, younger))
                    for domain in (older, younger):
                        self._set_nearest(domain, self._candidates(domain))
                else:
                    self._merge(older, younger, -negative)
        return [
            MergedDomains(into, tuple(sorted(taken)), self._lowest[into])
            for into, taken in sorted(self._taken.items())
        ]

    def _candidates(self, domain: int) -> Mapping[int, float]:
        """Return the domains that a domain may be merged with, and the ratios, at least 1."""
        if domain in self._apart:
            return {}
        others, scores = self._index.neighbours(domain, self._settings.similarity)
        ratios = scores / self._required(domain, others)
        excluded = self._apart | self._named if domain in self._named else self._apart
        return {
            other: ratio
            for other, ratio in zip(others.tolist(), ratios.tolist(), strict=True)
            if ratio >= 1
            and other not in excluded
            and (min(domain, other), max(domain, other)) not in self._refused
        }

    def _is_broad(self, older: int, younger: int) -> bool:
        """Return whether two stable domains would be split again after a merge."""
        smaller = min(self._index.n_units[[older, younger]])
        if self._whole is None or smaller < self._settings.stable:
            return False
        group = [d for one in (older, younger) for d in (one, *self._taken.get(one, []))]
        return not self._whole(group)

    def _required(self, domain: int, others: NDArray[np.int64] | int) -> NDArray[np.float64]:
        """Return the similarity that a domain needs with each of the others."""
        both_stable = self._is_stable[others] & self._is_stable[domain]
        return np.where(both_stable, self._stable_similarity, self._settings.similarity)

    def _set_nearest(self, domain: int, ratios: Mapping[int, float]) -> None:
        """Store the nearest neighbour of a domain, the oldest of equals; without any, forget it."""
        before = self._nearest.pop(domain, None)
        if before is not None:
            self._followers.get(before[1], set()).discard(domain)
        if ratios:
            other = min(ratios, key=lambda number: (-ratios[number], number))
            self._nearest[domain] = (ratios[other], other)
            self._followers.setdefault(other, set()).add(domain)
            heapq.heappush(self._pairs, (-ratios[other], min(domain, other), max(domain, other)))

    def _merge(self, older: int, younger: int, ratio: float) -> None:
        similarity = ratio * float(self._required(older, younger))
        self._lowest[older] = min(
            self._lowest.pop(younger, 1.0), self._lowest.get(older, 1.0), similarity
        )
        self._taken.setdefault(older, []).extend([younger, *self._taken.pop(younger, [])])
        if younger in self._named:
            self._named.add(older)
        self._index.move_sums(younger, older)
        self._is_stable[older] |= self._is_stable[younger] | (
            self._index.n_units[older] >= self._settings.stable
        )
        followers = self._followers.pop(older, set()) | self._followers.pop(younger, set())
        followers -= {older, younger}
        self._set_nearest(younger, {})
        candidates = self._candidates(older)
        self._set_nearest(older, candidates)
        for domain in sorted(followers):
            self._set_nearest(domain, self._candidates(domain))
        for domain, new_ratio in candidates.items():
            old_ratio, other = self._nearest.get(domain, (0.0, 0))
            if (-new_ratio, older) < (-old_ratio, other):
                self._set_nearest(domain, {older: new_ratio})
