"""Reconsidering domains on a store: near-identical ones merged, units placed again, one split.

What may be done to domains is in `lineage`; here is decided what is done, in one run each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from segapsith.api.wired import Wired
from segapsith.arrays import Labels, Rows
from segapsith.domains import merging, reassignment, splitting
from segapsith.domains.index import DomainIndex, PlacementSettings
from segapsith.engine import domain_changes
from segapsith.engine.records import DomainRecord
from segapsith.errors import SettingError, UsageError
from segapsith.evaluation import clustering
from segapsith.settings import BUILT_IN_PLACEMENT, CLUSTERER
from segapsith_store import Store
from segapsith_store.queries import browse
from segapsith_store.queries.words import Words

__all__ = ["adopt", "consolidate", "narrow", "open_domains", "refine", "split"]


def consolidate(
    wire: Wired,
    *,
    similarity: float | None = None,
    after: int | None = None,
    since: int = 0,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Merges domains that are nearly the same, in one run; without any there is no run.

    Small domains that took nothing from the last `after` stories join others from
    `similarity` on; those that still grow or are stable, from `consolidate_stable` on. Locked
    and retired ones stay, two that people named, and, with `narrowing`, two stable ones that would
    be split again. With `since`, a run, these are asked about again only where they came to another
    size after it (`splitting.step`). `dry_run` only says what would be merged.
    """
    least = float(wire.settings["consolidate"]) if similarity is None else similarity
    quiet = int(wire.settings["consolidate_after"]) if after is None else after
    try:
        chosen = merging.Consolidating(
            least, float(wire.settings["consolidate_stable"]), int(wire.settings["stable"])
        )
    except ValueError as error:
        raise SettingError(f"consolidate: {error}") from error
    if not dry_run:
        wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store
    narrow = _splitting(wire) if _narrows(wire) else None
    found = wire.read(
        lambda store: _near_identical(wire.factory.placing(), store, chosen, quiet, narrow, since)
    )
    joined: list[merging.Joined] = found["joined"]
    done: list[dict[str, Any]] = []
    if joined and not dry_run:
        merges = [domain_changes.Merge(group.domains, group.into) for group in joined]
        done = wire.change("consolidate", *merges, **asdict(chosen), after=quiet)
    return {
        "run": done[0]["run"] if done else None,
        "domains": found["domains"],
        "merged": sum(len(group.taken) for group in joined),
        "merges": [
            {
                "domain": group.into,
                "label": found["labels"][group.into],
                "merged": [{"id": d, "label": found["labels"][d]} for d in group.taken],
                "similarity": round(group.similarity, 6),
            }
            for group in joined
        ],
    }


def _near_identical(
    placing: PlacementSettings,
    store: Store,
    chosen: merging.Consolidating,
    quiet: int,
    narrow: splitting.Splitting | None,
    since: int,
) -> dict[str, Any]:
    """The open domains of a store that would be one, and the labels of all."""
    rows = list(store.open_domains())
    index = _index(store, placing, rows)
    sizes, taken = index.n_units.copy(), store.units_taken_since(since)

    def whole(domains: Sequence[int]) -> bool:
        if narrow is None:
            return True
        if not _resized(int(sizes[list(domains)].sum()), sum(taken.get(d, 0) for d in domains)):
            return False  # as it was decided before
        bags = [unit.bag for unit in store.units_in(domains)]
        return not splitting.parts(index, bags, narrow)

    still = int(store.facts().get("counter_ordinal", 0)) - quiet
    return {
        "domains": len(rows),
        "labels": {row.id: row.label for row in rows},
        "joined": merging.consolidate(
            index,
            chosen,
            named=[row.id for row in rows if row.named],
            apart=[row.id for row in rows if row.locked],
            growing=[row.id for row in rows if row.grown > still],
            whole=whole,
        ),
    }


def _resized(size: int, taken: int) -> bool:
    """Whether a domain is looked at again: it came to another step with what it took."""
    return splitting.step(size) != splitting.step(size - taken)


def _narrows(wire: Wired) -> bool:
    """Whether nights split domains; other measures have other scales."""
    settings = wire.settings
    return bool(
        settings["narrowing"]
        and float(settings["narrow"])
        and settings["placement"] == BUILT_IN_PLACEMENT
    )


def _splitting(wire: Wired, threshold: float | None = None) -> splitting.Splitting:
    """How domains are split."""
    try:
        return splitting.Splitting(
            float(wire.settings["narrow"]) if threshold is None else threshold,
            splitting.nearer(wire.read(wire.placing).threshold),
            int(wire.settings["stable"]),
        )
    except ValueError as error:
        raise SettingError(f"narrow: {error}") from error


def narrow(
    wire: Wired, *, threshold: float | None = None, after: int = 0, dry_run: bool = False
) -> dict[str, Any]:
    """Splits the domains that are several subjects, in one run; without any there is no run.

    A large domain is split if its units, learned again among themselves from `threshold` on, give
    two cores or more; its largest part keeps its number. Locked, named and retired ones stay, and
    those that took nothing from the last `consolidate_after` stories. With `after`, a run, only
    domains that have come to another size since are looked at (`splitting.step`): a domain is read
    each time that it has grown by a quarter, and not each night.
    """
    quiet = int(wire.settings["consolidate_after"])
    _only_by_eq7(wire, "narrowing")
    chosen = _splitting(wire, threshold)
    if not dry_run:
        wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store

    def broad(store: Store) -> tuple[int, list[tuple[str, domain_changes.Split]]]:
        rows, found = list(store.open_domains()), []
        index = _index(store, wire.factory.placing(), rows)
        still = int(store.facts().get("counter_ordinal", 0)) - quiet
        taken = store.units_taken_since(after)
        for row in rows:
            stays = row.locked or row.named or row.grown <= still
            size = row.sums.n_units
            if stays or size < chosen.large or not _resized(size, taken.get(row.id, 0)):
                continue
            units = store.units_in([row.id])
            groups = splitting.parts(index, [unit.bag for unit in units], chosen)
            if groups:
                apart = tuple(tuple(units[place].id for place in group) for group in groups)
                found.append((row.label, domain_changes.Split(row.id, apart, stays=True)))
        return len(list(index)), found

    n_domains, found = wire.read(broad)
    done: list[dict[str, Any]] = []
    if found and not dry_run:
        noted = {**asdict(chosen), "after": quiet}
        done = wire.change("narrow", *(split for _, split in found), **noted)
    return {
        "run": done[0]["run"] if done else None,
        "domains": n_domains,
        "split": len(found),
        "splits": [
            {
                "domain": split.domain,
                "label": label,
                "units": sum(map(len, split.parts)),
                "parts": sorted((len(part) for part in split.parts), reverse=True),
            }
            for label, split in found
        ],
    }


def adopt(wire: Wired, *, similarity: float | None = None) -> dict[str, Any]:
    """Moves units to the nearest stable domain from `similarity` on; all in one run, and if
    none moves there is no run.

    Units of the last `adopt_last` stories; those of locked, named and retired domains stay, and
    those of small ones that took something from the last `consolidate_after` stories if they
    are nearer.
    """
    _only_by_eq7(wire, "adopting")
    least = float(wire.settings["adopt"]) if similarity is None else similarity
    try:
        chosen = reassignment.Adopting(least, int(wire.settings["stable"]))
    except ValueError as error:
        raise SettingError(f"adopt: {error}") from error
    last, quiet = int(wire.settings["adopt_last"]), int(wire.settings["consolidate_after"])
    wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store
    store = wire.writer
    ordinal = int(store.facts().get("counter_ordinal", 0))
    units = store.units_since(ordinal - last)
    rows = list(store.open_domains())
    places = reassignment.adopt(
        _index(store, wire.factory.placing(), rows),
        {unit.id: unit.bag for unit in units},
        {unit.id: unit.assignment.domain for unit in units if unit.assignment is not None},
        chosen,
        staying={row.id for row in rows if row.locked or row.named},
        growing={row.id for row in rows if row.grown > ordinal - quiet},
    )
    if not places:
        return {"run": None, "moved": 0}
    noted = {**asdict(chosen), "last": last, "after": quiet}
    return wire.change("adopt", domain_changes.Move(places), **noted)[0]


def refine(wire: Wired, passes: int) -> dict[str, Any]:
    """Places every unit again, with the domains frozen in each pass; all in one run.

    Units of domains that are locked, named by people or retired stay. If none moves there is
    no run.
    """
    if passes < 1:
        raise UsageError(f"refine={passes} should be >= 1")
    _only_by_eq7(wire, "refining")
    wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store
    store = wire.writer
    staying = store.protected_domains()
    places = reassignment.refine(
        open_domains(store, wire.placing(store)),
        lambda: (
            (unit.id, unit.bag, unit.assignment.domain)
            for unit in store.assigned_units()
            if unit.assignment is not None
        ),
        passes,
        staying,
    )
    if not places:
        return {"run": None, "moved": 0}
    return wire.change("refine", domain_changes.Move(places), passes=passes)[0]


def split(
    wire: Wired,
    domain: int,
    units: Iterable[int] | None = None,
    *,
    parts: int = 2,
    clusterer: str = CLUSTERER,
    similarity: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Makes several domains of one: the given units apart, or as a clusterer parts them."""
    members = wire.read(lambda store: browse.learned_units(store, domain=domain))
    if units is not None:
        apart = frozenset(units)
        rest = tuple(u for u in members.units.tolist() if u not in apart)
        groups: tuple[tuple[int, ...], ...] = (tuple(sorted(apart)), rest)
    else:
        labels = _parted(wire, members.counts, parts, clusterer, similarity, settings, seed)
        groups = tuple(
            tuple(members.units[labels == label].tolist()) for label in np.unique(labels)
        )
    noted = {"parts": parts, "clusterer": None if units is not None else clusterer}
    return wire.change("split", domain_changes.Split(domain, groups), domain=domain, **noted)[0]


def _parted(
    wire: Wired,
    rows: Rows,
    parts: int,
    clusterer: str,
    similarity: str | None,
    settings: Mapping[str, Any] | None,
    seed: int,
) -> Labels:
    chosen = {"seed": seed, **(settings or {})}
    for_measure, for_clusterer = wire.factory.sorted_settings(similarity, clusterer, chosen)
    if "k" in wire.factory.registry.settings("clusterer", clusterer):
        for_clusterer["k"] = max(1, min(parts, rows.shape[0]))
    grouping = wire.factory.registry.make("clusterer", clusterer, for_clusterer)
    measure = similarity and wire.factory.registry.make("similarity", similarity, for_measure)
    if rows.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    weighted = clustering.weighted(rows, None, similarity)
    return clustering.cluster(weighted, measure or None, grouping)


def open_domains(store: Store, placing: PlacementSettings, lang: str | None = None) -> DomainIndex:
    """Return an index of the open domains of a store, to try placements with."""
    return _index(store, placing, store.open_domains(lang))


def _index(store: Store, placing: PlacementSettings, rows: Iterable[DomainRecord]) -> DomainIndex:
    """Return an index of some domains; `store` gives the significance of words."""
    index, significance = DomainIndex(placing), Words(store).significance
    if significance is not None:
        index.learn_significance(significance)
    for row in rows:
        index.restore(row.id, row.sums)
    return index


def _only_by_eq7(wire: Wired, what: str) -> None:
    placement = wire.settings["placement"]
    if placement != BUILT_IN_PLACEMENT:
        raise UsageError(f"{what} places by {BUILT_IN_PLACEMENT}, and placement is {placement!r}")
