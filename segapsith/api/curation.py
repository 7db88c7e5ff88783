"""Domains of a store: list them, and merge, split, rename, retire, lock or reassign them.

`engine.domain_changes` defines the changes and how they are undone. This module decides which
changes to make; each call is one run.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segapsith.api.session import Session
from segapsith.domains.values import Placement
from segapsith.engine import domain_changes
from segapsith.errors import MissingInputError, UsageError
from segapsith.model import Json, Result
from segapsith.settings import CLUSTERER
from segapsith_store import Store
from segapsith_store.queries import history
from segapsith_store.queries.browsing.stories import UnitSummary, best_units, describe_units
from segapsith_store.queries.domains import (
    Domain,
    DomainDetails,
    Earlier,
    count_forgotten_since,
    domain_labels,
    list_domains,
    show_domain,
    weighted_words,
)
from segapsith_store.queries.words import WeightedWord, Words

if TYPE_CHECKING:
    from segapsith.api.maintenance import MergedSimilar, Reassigned, SplitBroad
    from segapsith.arrays import Labels, Rows

__all__ = [
    "DomainPart",
    "Domains",
    "Locked",
    "Merged",
    "Moved",
    "PreviewPart",
    "Renamed",
    "Reopened",
    "Retired",
    "Split",
    "Unlocked",
]


RESULT_WORDS = 8
"""Words of a domain that a merge or a split made."""

PREVIEW_STORIES = 5
"""Stories of each part in the preview of a split."""


@dataclass(frozen=True, slots=True)
class Renamed(Result):
    """A domain that got another label."""

    run: int
    domain: int
    label: str
    """Empty if the best words of the domain are its label again."""


@dataclass(frozen=True, slots=True)
class Merged(Result):
    """A domain that took the units of others."""

    run: int
    domain: int
    merged: list[int]
    units: int
    label: str
    words: list[WeightedWord]
    """The heaviest words of what came out."""


@dataclass(frozen=True, slots=True)
class DomainPart(Result):
    """One of the domains that a domain was split into."""

    id: int
    units: int
    label: str
    words: list[WeightedWord]


@dataclass(frozen=True, slots=True)
class Split(Result):
    """A domain and the domains that it was split into."""

    run: int
    domain: int
    parts: list[DomainPart]


@dataclass(frozen=True, slots=True)
class PreviewPart(Result):
    """One of the parts that a split would make."""

    units: list[int]
    words: list[WeightedWord]
    stories: list[UnitSummary]


@dataclass(frozen=True, slots=True)
class Moved(Result):
    """A unit that was moved to another domain."""

    run: int
    unit: int
    domain: int
    source: int
    """The domain that it was in."""


@dataclass(frozen=True, slots=True)
class Retired(Result):
    """Domains that accept no more units."""

    run: int
    retired: list[int]


@dataclass(frozen=True, slots=True)
class Reopened(Result):
    """Retired domains that accept units again."""

    run: int
    opened: list[int]


@dataclass(frozen=True, slots=True)
class Locked(Result):
    """Domains that are protected from merging, splitting and retiring."""

    run: int
    locked: list[int]


@dataclass(frozen=True, slots=True)
class Unlocked(Result):
    """Domains whose protection has ended."""

    run: int
    unlocked: list[int]


def _parted(
    wire: Session,
    rows: Rows,
    parts: int,
    clusterer: str,
    similarity: str | None,
    settings: Mapping[str, Any] | None,
    seed: int,
) -> Labels:
    import numpy as np

    from segapsith.evaluation import clustering

    given = {"seed": seed, **(settings or {})}
    for_measure, for_clusterer = wire.factory.sorted_settings(similarity, clusterer, given)
    if "k" in wire.factory.registry.settings("clusterer", clusterer):
        for_clusterer["k"] = max(1, min(parts, rows.shape[0]))
    grouping = wire.factory.registry.make("clusterer", clusterer, for_clusterer)
    measure = similarity and wire.factory.registry.make("similarity", similarity, for_measure)
    if rows.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    weighted = clustering.weight_rows(rows, None, similarity)
    return clustering.cluster(weighted, measure or None, grouping)


class Domains:
    """The domains of a store: `wire.domains(…)` lists them, its methods change them.

    Every change is a run of its own, which `wire.runs.undo` takes back.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(
        self,
        *,
        min_units: int = 1,
        top: int | None = 10,
        since: str | int | None = None,
        limit: int | None = None,
        lang: str | None = None,
        as_of: str | int | None = None,
        days: bool = False,
    ) -> builtins.list[Domain]:
        """Return domains, largest first, as `list` does."""
        return self.list(
            min_units=min_units,
            top=top,
            since=since,
            limit=limit,
            lang=lang,
            as_of=as_of,
            days=days,
        )

    def list(
        self,
        *,
        min_units: int = 1,
        top: int | None = 10,
        since: str | int | None = None,
        limit: int | None = None,
        lang: str | None = None,
        as_of: str | int | None = None,
        days: bool = False,
    ) -> builtins.list[Domain]:
        """Return the domains of at least `min_units` units with their `top` words, largest first.

        `since` (a date or run) selects those that took stories after it; `as_of` (a date or run)
        shows the domains as they were then; `days` adds the units by day.
        """
        return self._session.read(
            lambda store: list_domains(
                store,
                min_units=min_units,
                top=top,
                since=since,
                limit=limit,
                lang=lang,
                as_of=None
                if as_of is None
                else Earlier(as_of, self._session.label_maker(store).at),
                days=days,
            )
        )

    def show(self, domain: int, *, top: int | None = 40, near: int = 8) -> DomainDetails:
        """Return one domain with its units, documents, days, history and nearest domains."""
        labeller = self._session.labeller()
        return self._session.read(
            lambda store: show_domain(store, domain, top=top, near=near, labeller=labeller)
        )

    def forgotten_since(self, as_of: str | int) -> int:
        """Return how many documents `list(as_of=…)` lacks because they were forgotten since."""
        return self._session.read(lambda store: count_forgotten_since(store, as_of))

    # -- changes by hand -------------------------------------------------------------------

    def rename(self, domain: int, label: str) -> Renamed:
        """Give a domain a permanent label; an empty one restores the label of its best words."""
        change = domain_changes.Rename(domain, label)
        return Renamed(**self._change("rename", change, {"domain": domain, "label": label}))

    def merge(self, domains: Iterable[int], into: int | None = None) -> Merged:
        """Merge domains into one of them: the oldest, or `into`."""
        numbers = tuple(domains)
        noted = {"domains": numbers, "into": into}
        done = self._change("merge", domain_changes.Merge(numbers, into), noted)
        ((label, words),) = self._described([done["domain"]])
        return Merged(**done, label=label, words=words)

    def _described(
        self, numbers: Sequence[int]
    ) -> builtins.list[tuple[str, builtins.list[WeightedWord]]]:
        """Return labels and heaviest words of some domains."""
        labels = self.labels(numbers)
        words = self._session.read(lambda store: weighted_words(store, numbers, RESULT_WORDS))
        return [(labels[number], words[number]) for number in numbers]

    def labels(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the labels of some domains, merged and split ones included."""
        known = self._session.read(domain_labels)
        return {number: known[number] for number in numbers if number in known}

    def split(
        self,
        domain: int,
        units: Iterable[int] | None = None,
        *,
        parts: int = 2,
        clusterer: str = CLUSTERER,
        similarity: str | None = None,
        settings: Mapping[str, Json] | None = None,
        seed: int = 0,
    ) -> Split:
        """Split a domain: `units` against the rest, or into `parts` that a clusterer finds."""
        from segapsith_store.queries.stream import learned_units

        wire = self._session
        if units is not None:
            members = wire.read(lambda store: learned_units(store, domain=domain))
            apart = frozenset(units)
            rest = tuple(u for u in members.units.tolist() if u not in apart)
            groups: tuple[tuple[int, ...], ...] = (tuple(sorted(apart)), rest)
        else:
            groups = self._parts(
                domain, parts, clusterer, similarity=similarity, settings=settings, seed=seed
            )
        noted = {
            "domain": domain,
            "parts": parts,
            "clusterer": None if units is not None else clusterer,
        }
        done = self._change("split", domain_changes.Split(domain, groups), noted)
        described = self._described([part["id"] for part in done["parts"]])
        made = [
            DomainPart(**part, label=label, words=words)
            for part, (label, words) in zip(done["parts"], described, strict=True)
        ]
        return Split(done["run"], done["domain"], made)

    def _parts(
        self,
        domain: int,
        parts: int,
        clusterer: str,
        *,
        similarity: str | None,
        settings: Mapping[str, Json] | None,
        seed: int,
    ) -> tuple[tuple[int, ...], ...]:
        """Return the units of a domain in parts that a clusterer finds."""
        from segapsith_store.queries.stream import learned_units

        wire = self._session
        members = wire.read(lambda store: learned_units(store, domain=domain))
        labels = _parted(wire, members.counts, parts, clusterer, similarity, settings, seed)
        numbers = sorted(set(labels.tolist()))
        return tuple(tuple(members.units[labels == number].tolist()) for number in numbers)

    def split_preview(
        self, domain: int, *, parts: int = 2, clusterer: str = CLUSTERER, top: int = 12
    ) -> builtins.list[PreviewPart]:
        """Return the parts that `split` would make of a domain, largest first; nothing changes."""
        with self._session.reading() as store:
            domain_changes.living(store, {domain})
            groups = self._parts(domain, parts, clusterer, similarity=None, settings=None, seed=0)
            words = Words(store)
            return [
                PreviewPart(
                    sorted(group),
                    words.best(history.sum_units(store, group), top),
                    describe_units(store, best_units(store, group, PREVIEW_STORIES)),
                )
                for group in sorted(groups, key=lambda group: (-len(group), min(group)))
            ]

    def move(self, unit: int, domain: int) -> Moved:
        """Move one unit to another domain of its language."""
        from segapsith.domains.explanation import FewDomains, explain_similarity

        def placed(store: Store) -> tuple[int, Placement]:
            record = next(iter(store.units([unit])), None)
            if record is None or record.assignment is None:
                raise MissingInputError(f"there is no unit {unit} in a domain")
            home = record.assignment.domain
            source, target = (domain_changes.living(store, {n})[0] for n in (home, domain))
            if home == domain:
                raise UsageError(f"unit {unit} is in domain {domain} already")
            if source.lang != target.lang:
                raise UsageError(
                    f"domain {domain} has the language {target.lang}, unit {unit} {source.lang}"
                )
            index = FewDomains(self._session.placing(store), Words(store).significance)
            index.restore(domain, target.sums)
            index.restore(home, source.sums)
            score, before = (explain_similarity(index, n, record.bag).score for n in (domain, home))
            return home, Placement(domain, score, domain, home, before)

        home, placement = self._session.read(placed)
        noted = {"unit": unit, "domain": domain, "from": home}
        done = self._change("move", domain_changes.Move({unit: placement}), noted)
        return Moved(done["run"], unit, domain, home)

    def retire(self, domains: Iterable[int]) -> Retired:
        """Close domains: they keep their units and words and accept no more units."""
        numbers = tuple(domains)
        done = self._change("retire", domain_changes.Retire(numbers), {"domains": numbers})
        return Retired(**done)

    def reopen(self, domains: Iterable[int]) -> Reopened:
        """Let retired domains accept units again."""
        numbers = tuple(domains)
        change = domain_changes.Retire(numbers, back=True)
        return Reopened(**self._change("reopen", change, {"domains": numbers}))

    def lock(self, domains: Iterable[int]) -> Locked:
        """Protect domains from being merged, split or retired; they go on learning."""
        numbers = tuple(domains)
        return Locked(**self._change("lock", domain_changes.Lock(numbers), {"domains": numbers}))

    def unlock(self, domains: Iterable[int]) -> Unlocked:
        """Allow domains to be merged, split and retired again."""
        numbers = tuple(domains)
        change = domain_changes.Lock(numbers, locked=False)
        return Unlocked(**self._change("unlock", change, {"domains": numbers}))

    def _change(
        self, command: str, change: domain_changes.Change, noted: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return self._session.change(command, change, noted=noted)[0]

    # -- changes that the program finds ----------------------------------------------------

    def merge_similar(
        self,
        *,
        similarity: float | None = None,
        after: int | None = None,
        since: int = 0,
        dry_run: bool = False,
    ) -> MergedSimilar:
        """Merge domains that are nearly the same, in one run; without any there is no run.

        A small domain that received no unit from the last `after` stories joins another at
        `similarity` or above. One that is stable or still grows joins another at the setting
        `merge_stable_similarity` or above. Locked and retired domains are left out, and pairs of
        named ones. With the setting `split_and_reassign`, two stable domains are not merged if
        they would be split again. With `since`, a run, this is examined only for domains whose
        size has changed considerably after it (`splitting.step`). `dry_run` changes nothing.
        """
        from segapsith.api import maintenance

        if not dry_run:
            self._session.learner()
        return maintenance.merge_similar(
            self._session, similarity=similarity, after=after, since=since, dry_run=dry_run
        )

    def split_broad(
        self, *, threshold: float | None = None, after: int = 0, dry_run: bool = False
    ) -> SplitBroad:
        """Split the domains that have several subjects, in one run; without any there is no run.

        A large domain is split if its units, learned again among themselves at `threshold`, form
        two cores or more; the largest part keeps the id. Locked, named and retired domains stay,
        and those without a unit from the last `merge_after` stories. With `after`, a run,
        only domains whose size has changed considerably since are examined (`splitting.step`): a
        domain is read each time that it has grown by a quarter, not each night. `dry_run` changes
        nothing.
        """
        from segapsith.api import maintenance

        if not dry_run:
            self._session.learner()
        return maintenance.split_broad(
            self._session, threshold=threshold, after=after, dry_run=dry_run
        )

    def reassign(self, *, similarity: float | None = None) -> Reassigned:
        """Move units to the nearest stable domain at `similarity` or above, in one run.

        Examine the units of the last `reassign_last` stories. Units of locked, named and retired
        domains stay. So do units of a small domain that is nearer, if it received a unit from the
        last `merge_after` stories. If no unit moves there is no run.
        """
        from segapsith.api import maintenance

        self._session.learner()
        return maintenance.reassign(self._session, similarity)

    def refine(self, passes: int) -> Reassigned:
        """Place every unit again, with the domains frozen in each pass, in one run.

        Units of locked, named and retired domains stay. If no unit moves there is no run; else
        the store is sealed again.
        """
        from segapsith.api import maintenance
        from segapsith_store.seal import seal

        self._session.learner()
        refined = maintenance.refine(self._session, passes)
        if refined.run is not None:
            seal(self._session.writer)
        return refined
