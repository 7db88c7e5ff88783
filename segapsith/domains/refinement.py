"""Units placed again with all domains known, so that the order of arrival matters less.

In a pass every unit is compared with the domains as they were when the pass began (algorithms
§2.4), its own with the unit in it. It moves if another is strictly nearer and near enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from segapsith.domains.index import DomainIndex, Placement
from segapsith.engine.records import UnitRecord

__all__ = ["refine"]


def refine(
    index: DomainIndex,
    units: Callable[[], Iterable[UnitRecord]],
    passes: int,
    staying: Collection[int] = (),
) -> dict[int, Placement]:
    """Where units belong that have moved after so many passes, or as soon as none moves any more.

    `units` reads those that are in a domain, once a pass; units of the domains that are `staying`
    do not move. The index is changed: it is the one that the result would have.
    """
    home: dict[int, int] = {}
    """Of units that have moved, the domain in which the store has them."""
    found: dict[int, Placement] = {}
    for _ in range(passes):
        moves = []
        for unit in units():
            assert unit.assignment is not None
            at = found[unit.id].domain if unit.id in found else unit.assignment.domain
            if at is None or at in staying or at not in index:
                continue
            placed = index.place(unit.bag)
            if placed.domain in (None, at) or placed.score == placed.runner_up_score:
                continue
            moves.append((unit, at, placed))
        for unit, at, placed in moves:
            assert unit.assignment is not None and placed.domain is not None
            index.absorb(placed.domain, unit.bag)
            index.absorb(at, unit.bag, -1)
            home[unit.id], found[unit.id] = unit.assignment.domain, placed
        if not moves:
            break
    return {number: placed for number, placed in found.items() if placed.domain != home[number]}
