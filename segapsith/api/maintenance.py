"""Changes of domains that the program finds: merge similar ones, split broad ones, move units.

`Domains` calls these functions, and the nightly run calls `Domains`. Each is one run, or none if it
finds nothing to change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from segapsith.api.session import Session
from segapsith.domains import merging, reassignment, splitting
from segapsith.domains.index import DomainIndex
from segapsith.domains.values import PlacementSettings
from segapsith.engine import domain_changes
from segapsith.engine.records import DomainRecord
from segapsith.errors import SettingError, UsageError
from segapsith.model import Result
from segapsith.settings import BUILT_IN_PLACEMENT, Settings
from segapsith_store import Store
from segapsith_store.queries import history
from segapsith_store.queries.words import Words

__all__ = [
    "BroadDomain",
    "LabelledDomain",
    "MergedDomains",
    "MergedSimilar",
    "Reassigned",
    "SplitBroad",
    "is_nightly",
    "merge_similar",
    "open_domains",
    "reassign",
    "refine",
    "split_broad",
]

RESULT_WORDS = 8
"""Words of a domain that a merge or a split made."""


@dataclass(frozen=True, slots=True)
class Reassigned(Result):
    """How many units moved to another domain; `run` is None if none did."""

    run: int | None
    moved: int


@dataclass(frozen=True, slots=True)
class LabelledDomain(Result):
    """A domain with its label."""

    id: int
    label: str


@dataclass(frozen=True, slots=True)
class MergedDomains(Result):
    """A domain, the similar ones that it took, and the lowest similarity among them."""

    domain: int
    label: str
    merged: list[LabelledDomain]
    similarity: float
    words: list[str]
    """The heaviest words of all of them together."""


@dataclass(frozen=True, slots=True)
class MergedSimilar(Result):
    """What `merge_similar` merged, or would merge; `run` is None if nothing was changed."""

    run: int | None
    domains: int
    """Open domains that were examined."""
    merged: int
    """Domains that were merged into another."""
    merges: list[MergedDomains]


@dataclass(frozen=True, slots=True)
class BroadDomain(Result):
    """A domain with several subjects, and the sizes of its parts."""

    domain: int
    label: str
    units: int
    parts: list[int]
    words: list[list[str]]
    """The heaviest words of each part."""


@dataclass(frozen=True, slots=True)
class SplitBroad(Result):
    """What `split_broad` split, or would split; `run` is None if nothing was changed."""

    run: int | None
    domains: int
    """Open domains that were examined."""
    split: int
    splits: list[BroadDomain]


def merge_similar(
    wire: Session,
    *,
    similarity: float | None = None,
    after: int | None = None,
    since: int = 0,
    dry_run: bool = False,
) -> MergedSimilar:
    least = wire.settings.maintenance.merge_similarity if similarity is None else similarity
    quiet = wire.settings.maintenance.merge_after if after is None else after
    try:
        rules = merging.MergeSettings(
            least,
            wire.settings.maintenance.merge_stable_similarity,
            wire.settings.maintenance.stable,
        )
    except ValueError as error:
        raise SettingError(f"merge_similarity: {error}") from error
    if not dry_run:
        wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store
    split_rules = _splitting(wire) if is_nightly(wire.settings, "split") else None
    with wire.reading() as store:
        labels, joined = _similar_domains(
            wire.factory.placing(), store, rules, quiet, split_rules, since
        )
        words = [
            _heaviest(store, [unit.id for unit in store.units_in(group.domains)])
            for group in joined
        ]
    run = None
    if joined and not dry_run:
        merges = [domain_changes.Merge(group.domains, group.into) for group in joined]
        noted = {**asdict(rules), "after": quiet}
        run = wire.change("merge --auto", *merges, noted=noted)[0]["run"]
    return MergedSimilar(
        run=run,
        domains=len(labels),
        merged=sum(len(group.taken) for group in joined),
        merges=[
            MergedDomains(
                domain=group.into,
                label=labels[group.into],
                merged=[LabelledDomain(d, labels[d]) for d in group.taken],
                similarity=round(group.similarity, 6),
                words=heaviest,
            )
            for group, heaviest in zip(joined, words, strict=True)
        ],
    )


def _similar_domains(
    placing: PlacementSettings,
    store: Store,
    rules: merging.MergeSettings,
    quiet: int,
    split_rules: splitting.SplitSettings | None,
    since: int,
) -> tuple[dict[int, str], list[merging.MergedDomains]]:
    """Return the labels of all open domains, and the groups of them that should be merged.

    With `split_rules`, groups that the next split would divide again are left out.
    """
    rows = list(store.open_domains())
    index = _index(store, placing, rows)
    sizes, taken = index.n_units.copy(), store.units_taken_since(since)

    def whole(domains: Sequence[int]) -> bool:
        if split_rules is None:
            return True
        if not _resized(int(sizes[list(domains)].sum()), sum(taken.get(d, 0) for d in domains)):
            return False  # as it was decided before
        bags = [unit.bag for unit in store.units_in(domains)]
        return not splitting.split_units(index, bags, split_rules)

    still = int(store.facts().get("counter_ordinal", 0)) - quiet
    groups = merging.merge_similar(
        index,
        rules,
        named=[row.id for row in rows if row.named],
        apart=[row.id for row in rows if row.locked],
        growing=[row.id for row in rows if row.grown > still],
        whole=whole,
    )
    return {row.id: row.label for row in rows}, groups


def _heaviest(store: Store, units: Sequence[int]) -> list[str]:
    """Return the heaviest words of some units together."""
    best = Words(store).best(history.sum_units(store, units), RESULT_WORDS)
    return [word.word for word in best]


def _resized(size: int, taken: int) -> bool:
    """Whether a domain is looked at again: it came to another step with what it took."""
    return splitting.size_step(size) != splitting.size_step(size - taken)


def is_nightly(settings: Settings, step: Literal["split", "reassign"]) -> bool:
    """Return whether the nightly run splits domains or reassigns units.

    Both need `split_and_reassign`, their own similarity above 0, and the built-in placement, because
    other measures have other scales.
    """
    maintenance = settings.maintenance
    similarity = {
        "split": maintenance.split_similarity,
        "reassign": maintenance.reassign_similarity,
    }[step]
    return bool(
        maintenance.split_and_reassign
        and similarity
        and settings.placement.measure == BUILT_IN_PLACEMENT
    )


def _splitting(wire: Session, threshold: float | None = None) -> splitting.SplitSettings:
    """How domains are split."""
    try:
        return splitting.SplitSettings(
            wire.settings.maintenance.split_similarity if threshold is None else threshold,
            splitting.core_similarity(wire.read(wire.placing).threshold),
            wire.settings.maintenance.stable,
        )
    except ValueError as error:
        raise SettingError(f"splitting domains: {error}") from error


def split_broad(
    wire: Session, *, threshold: float | None = None, after: int = 0, dry_run: bool = False
) -> SplitBroad:
    quiet = wire.settings.maintenance.merge_after
    _only_by_eq7(wire, "splitting domains")
    rules = _splitting(wire, threshold)
    if not dry_run:
        wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store

    def broad(store: Store) -> tuple[int, list[tuple[BroadDomain, domain_changes.Split]]]:
        rows, splits = list(store.open_domains()), []
        index = _index(store, wire.factory.placing(), rows)
        still = int(store.facts().get("counter_ordinal", 0)) - quiet
        taken = store.units_taken_since(after)
        for row in rows:
            stays = row.locked or row.named or row.grown <= still
            size = row.sums.n_units
            if stays or size < rules.large or not _resized(size, taken.get(row.id, 0)):
                continue
            units = store.units_in([row.id])
            groups = splitting.split_units(index, [unit.bag for unit in units], rules)
            if groups:
                apart = tuple(tuple(units[place].id for place in group) for group in groups)
                split = _broad_domain(store, row, apart)
                splits.append((split, domain_changes.Split(row.id, apart, stays=True)))
        return len(list(index)), splits

    n_domains, splits = wire.read(broad)
    run = None
    if splits and not dry_run:
        noted = {**asdict(rules), "after": quiet}
        run = wire.change("split --auto", *(split for _, split in splits), noted=noted)[0]["run"]
    return SplitBroad(
        run=run,
        domains=n_domains,
        split=len(splits),
        splits=[proposal for proposal, _ in splits],
    )


def _broad_domain(store: Store, row: DomainRecord, apart: Sequence[Sequence[int]]) -> BroadDomain:
    """Return a domain that is split, with the sizes and words of its parts, largest first."""
    parts = sorted(apart, key=len, reverse=True)
    return BroadDomain(
        domain=row.id,
        label=row.label,
        units=sum(map(len, parts)),
        parts=[len(part) for part in parts],
        words=[_heaviest(store, part) for part in parts],
    )


def reassign(wire: Session, similarity: float | None) -> Reassigned:
    _only_by_eq7(wire, "reassigning units")
    least = wire.settings.maintenance.reassign_similarity if similarity is None else similarity
    try:
        rules = reassignment.ReassignSettings(least, wire.settings.maintenance.stable)
    except ValueError as error:
        raise SettingError(f"reassign_similarity: {error}") from error
    last = wire.settings.maintenance.reassign_last
    quiet = wire.settings.maintenance.merge_after
    wire.engine.state  # noqa: B018  the lock, and settings that do not fit the store
    store = wire.writer
    ordinal = int(store.facts().get("counter_ordinal", 0))
    units = store.units_since(ordinal - last)
    rows = list(store.open_domains())
    places = reassignment.reassign(
        _index(store, wire.factory.placing(), rows),
        {unit.id: unit.bag for unit in units},
        {unit.id: unit.assignment.domain for unit in units if unit.assignment is not None},
        rules,
        staying={row.id for row in rows if row.locked or row.named},
        growing={row.id for row in rows if row.grown > ordinal - quiet},
    )
    if not places:
        return Reassigned(run=None, moved=0)
    noted = {**asdict(rules), "last": last, "after": quiet}
    return Reassigned(**wire.change("reassign", domain_changes.Move(places), noted=noted)[0])


def refine(wire: Session, passes: int) -> Reassigned:
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
        return Reassigned(run=None, moved=0)
    noted = {"passes": passes}
    return Reassigned(**wire.change("refine", domain_changes.Move(places), noted=noted)[0])


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


def _only_by_eq7(wire: Session, what: str) -> None:
    placement = wire.settings.placement.measure
    if placement != BUILT_IN_PLACEMENT:
        raise UsageError(f"{what} requires placement {BUILT_IN_PLACEMENT!r}, not {placement!r}")
