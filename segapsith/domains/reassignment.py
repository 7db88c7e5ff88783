"""Reassignment of units to the nearest stable domain.

Some units arrived before their domain was stable, and some domains have changed since a unit joined
them. In a pass every unit is compared with the stable domains as they were when the pass began, and
moves to the nearest one if that is similar enough. A unit in a small growing domain stays if its own
domain, without the unit, is nearer: young subjects should be able to grow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag, Placement

__all__ = ["ReassignSettings", "reassign", "refine"]


@dataclass(frozen=True, slots=True)
class ReassignSettings:
    """Settings of `reassign`."""

    similarity: float = 0.2
    """Least similarity at which a unit moves to a stable domain."""
    stable: int = 15
    """Least number of units of a stable domain."""
    passes: int = 3
    """Number of passes at most; the first pass without a move is the last one."""

    def __post_init__(self) -> None:
        if not 0 < self.similarity <= 1:
            raise ValueError(f"similarity={self.similarity} should be above 0 and at most 1")
        for name in ("stable", "passes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} should be >= 1")


def reassign(
    index: DomainIndex,
    bags: Mapping[int, Bag],
    domain_of: Mapping[int, int],
    settings: ReassignSettings | None = None,
    *,
    staying: Collection[int] = (),
    growing: Collection[int] = (),
) -> dict[int, Placement]:
    """Move units to the nearest stable domain; return the new placement of each moved unit.

    `domain_of` gives the present domain of each unit. Units of domains in `staying`, or of domains
    that the index does not hold, do not move. A unit of a small domain in `growing` moves only if
    the stable domain is nearer. The index is changed to the result.
    """
    settings = settings or ReassignSettings()
    present = {u: d for u, d in sorted(domain_of.items()) if d in index and d not in staying}
    placements: dict[int, Placement] = {}
    stable = index.without_domains(settings.similarity)
    _update_stable(stable, index, index, settings)
    for _ in range(settings.passes):
        moves = []
        candidates = stable.find_all([bags[unit] for unit in present])
        for (unit, domain), placement in zip(present.items(), candidates, strict=True):
            if not _leads_away(placement, domain):
                continue
            is_young = domain in growing and domain not in stable
            if not is_young or _own_similarity(index, bags[unit], domain) < placement.score:
                moves.append((unit, placement))
        changed = set()
        for unit, placement in moves:
            assert placement.domain is not None
            changed |= {placement.domain, present[unit]}
            index.add_unit(placement.domain, bags[unit])
            index.remove_unit(present[unit], bags[unit])
            present[unit], placements[unit] = placement.domain, placement
        if not moves:
            break
        _update_stable(stable, index, changed, settings)
    return {
        unit: placement
        for unit, placement in placements.items()
        if placement.domain != domain_of[unit]
    }


def _leads_away(placement: Placement, domain: int) -> bool:
    """Return whether a placement is in another domain, without a tie."""
    return placement.domain not in (None, domain) and placement.score != placement.runner_up_score


def _update_stable(
    stable: DomainIndex, index: DomainIndex, domains: Iterable[int], settings: ReassignSettings
) -> None:
    """Copy the stable ones of some domains into `stable`, and drop the others from it."""
    for domain in sorted(domains):
        if domain in stable:
            stable.drop(domain)
        if index.n_units[domain] >= settings.stable:
            stable.restore(domain, index.words(domain))


def _own_similarity(index: DomainIndex, bag: Bag, domain: int) -> float:
    """Return the similarity of a unit and its own domain, without the unit in it."""
    if index.n_units[domain] < 2:
        return 0.0
    index.remove_unit(domain, bag)
    similarity = index.similarity(bag, domain)
    index.add_unit(domain, bag)
    return similarity


def refine(
    index: DomainIndex,
    units: Callable[[], Iterable[tuple[int, Bag, int]]],
    passes: int,
    staying: Collection[int] = (),
) -> dict[int, Placement]:
    """Place every unit again, `passes` times or until none moves; return the units that moved.

    In a pass every unit is compared with the domains as they were when the pass began, its own with
    the unit in it, and moves if another is strictly nearer and near enough. `units` yields number,
    words and stored domain of every assigned unit; it is called once per pass. Units of the domains
    in `staying` do not move. The index is changed to the result.
    """
    stored: dict[int, int] = {}
    """Units that have moved, to their domain in the store."""
    placements: dict[int, Placement] = {}
    for _ in range(passes):
        moves = []
        for unit, bag, first in units():
            present = placements[unit].domain if unit in placements else first
            if present is None or present in staying or present not in index:
                continue
            placement = index.place(bag)
            if _leads_away(placement, present):
                moves.append((unit, bag, first, present, placement))
        for unit, bag, first, present, placement in moves:
            assert placement.domain is not None
            index.add_unit(placement.domain, bag)
            index.remove_unit(present, bag)
            stored[unit], placements[unit] = first, placement
        if not moves:
            break
    return {
        unit: placement
        for unit, placement in placements.items()
        if placement.domain != stored[unit]
    }
