"""Units find their stable domain: those that came before it was known, and those it grew away from.

In a pass every unit is compared with the stable domains as they were when the pass began, and moves
to the nearest from a given similarity on. One that is in a small domain which still grows stays if
that is nearer, without the unit in it: subjects should not be swallowed while they are young.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag, Placement

__all__ = ["Adopting", "adopt", "refine"]


@dataclass(frozen=True, slots=True)
class Adopting:
    """From which similarity on a stable domain takes a unit of another."""

    similarity: float = 0.2
    stable: int = 15
    """Units from which a domain is stable."""
    passes: int = 3
    """At most; it ends when no unit moves."""

    def __post_init__(self) -> None:
        if not 0 < self.similarity <= 1:
            raise ValueError(f"similarity={self.similarity} should be above 0 and at most 1")
        for name in ("stable", "passes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} should be >= 1")


def adopt(
    index: DomainIndex,
    bags: Mapping[int, Bag],
    at: Mapping[int, int],
    chosen: Adopting | None = None,
    *,
    staying: Collection[int] = (),
    growing: Collection[int] = (),
) -> dict[int, Placement]:
    """Where units belong that have moved; `at` are their domains.

    Units of the domains that are `staying`, or that the index does not have, do not move. Small
    domains that are `growing` keep the units that are nearer to them. The index is changed: it is
    the one that the result would have.
    """
    chosen = chosen or Adopting()
    home = {u: d for u, d in sorted(at.items()) if d in index and d not in staying}
    found: dict[int, Placement] = {}
    known = index.emptied(chosen.similarity)
    _bring_up(known, index, index, chosen)
    for _ in range(chosen.passes):
        moves = []
        places = known.seek_all([bags[unit] for unit in home])
        for (unit, domain), placed in zip(home.items(), places, strict=True):
            if placed.domain in (None, domain) or placed.score == placed.runner_up_score:
                continue
            young = domain in growing and domain not in known
            if not young or _without(index, bags[unit], domain) < placed.score:
                moves.append((unit, placed))
        touched = set()
        for unit, placed in moves:
            assert placed.domain is not None
            touched |= {placed.domain, home[unit]}
            index.absorb(placed.domain, bags[unit])
            index.absorb(home[unit], bags[unit], -1)
            home[unit], found[unit] = placed.domain, placed
        if not moves:
            break
        _bring_up(known, index, touched, chosen)
    return {unit: placed for unit, placed in found.items() if placed.domain != at[unit]}


def _bring_up(
    known: DomainIndex, index: DomainIndex, domains: Iterable[int], chosen: Adopting
) -> None:
    """Makes the stable ones of some domains known as they are now, and the others unknown."""
    for domain in sorted(domains):
        if domain in known:
            known.drop(domain)
        if index.n_units[domain] >= chosen.stable:
            known.restore(domain, index.words(domain))


def _without(index: DomainIndex, bag: Bag, domain: int) -> float:
    """How near a unit is to its own domain without it."""
    if index.n_units[domain] < 2:
        return 0.0
    index.absorb(domain, bag, -1)
    near = index.nearness(bag, domain)
    index.absorb(domain, bag)
    return near


def refine(
    index: DomainIndex,
    units: Callable[[], Iterable[tuple[int, Bag, int]]],
    passes: int,
    staying: Collection[int] = (),
) -> dict[int, Placement]:
    """Place every unit again, `passes` times or until none moves; return the units that moved.

    In a pass every unit is compared with the domains as they were when the pass began, its own with
    the unit in it, and moves if another is strictly nearer and near enough. `units` gives number,
    words and domain of every assigned unit, once a pass; units of the domains in `staying` do not
    move. The index is changed to the one that the result describes.
    """
    home: dict[int, int] = {}
    """Of units that have moved, the domain in which the store has them."""
    placements: dict[int, Placement] = {}
    for _ in range(passes):
        moves = []
        for unit, bag, first in units():
            at = placements[unit].domain if unit in placements else first
            if at is None or at in staying or at not in index:
                continue
            placed = index.place(bag)
            if placed.domain in (None, at) or placed.score == placed.runner_up_score:
                continue
            moves.append((unit, bag, first, at, placed))
        for unit, bag, first, at, placed in moves:
            assert placed.domain is not None
            index.absorb(placed.domain, bag)
            index.absorb(at, bag, -1)
            home[unit], placements[unit] = first, placed
        if not moves:
            break
    return {
        number: placed for number, placed in placements.items() if placed.domain != home[number]
    }
