"""Sections of a store: group its topics by a similarity and a clusterer, list and rename them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from segapsith import progress
from segapsith.api.session import Session
from segapsith.api.topics import GROUPED, Topics
from segapsith.engine.runs import RunPlan
from segapsith.errors import SettingError, UsageError
from segapsith.model import Json
from segapsith.settings import SECTION_CLUSTERER, SECTION_SIMILARITY
from segapsith_store.queries import groupings
from segapsith_store.queries import sections as stored_sections
from segapsith_store.queries.browsing.subjects import SectionProposal, propose_names
from segapsith_store.queries.sections import Section, list_sections
from segapsith_store.queries.topics import domains_by_language, topic_of_domain

if TYPE_CHECKING:
    from segapsith.api.factory import Factory
    from segapsith.domains import sections
    from segapsith.domains.values import DomainWords
    from segapsith.plugin.contracts import Clusterer, Similarity

__all__ = ["SectionMaking", "Sections", "section_making"]

TOPICS_SHARE = 0.4
"""Share of the time for topics, where they have to be made first."""

_OWN = (
    "least", "most", "rows", "halves", "patience", "loyalty", "min_share", "min_weight",
)  # fmt: skip
"""Settings of sections themselves; others go to the similarity or the clusterer."""


@dataclass(frozen=True, slots=True)
class SectionMaking:
    """How topics are grouped into sections: settings, and what makes measure and clusterer."""

    settings: sections.SectionSettings
    measure: Callable[[], Similarity]
    clusterer: Callable[[int], Clusterer]
    """Takes the number of sections."""
    chooses: bool
    """Whether the number is chosen by stability unless it is given."""
    k: int | None

    def make(
        self,
        domains: Mapping[int, DomainWords],
        topic_of: Mapping[int, int],
        before: Mapping[int, int] | None = None,
    ) -> sections.Sections:
        """Return the sections of some domains; `before` gives those of the last time."""
        from segapsith.domains import sections
        from segapsith.evaluation.metrics import ari

        parts = sections.SectionParts(self.clusterer, ari, self.measure(), self.chooses)
        return sections.make_sections(
            domains, topic_of, parts, k=self.k, before=before, settings=self.settings
        )


def section_making(
    factory: Factory,
    similarity: str = SECTION_SIMILARITY,
    clusterer: str = SECTION_CLUSTERER,
    *,
    settings: Mapping[str, Any] | None = None,
    k: int | None = None,
) -> SectionMaking:
    """Return how a similarity and a clusterer make sections; names and settings are checked.

    A clusterer with a cut, or without a number of clusters, finds the number itself.
    """
    from segapsith.domains import sections, topics
    from segapsith.plugin.settings import PluginInUse

    in_use = [PluginInUse("sections", "sections", _OWN), *factory.in_use(similarity, clusterer)]
    by_role = factory.by_role(settings or {}, in_use)
    own = {"min_weight": factory.settings.placement.min_weight, **by_role["sections"]}
    for_measure, for_clusterer = by_role["similarity"], dict(by_role["clusterer"])
    number = for_clusterer.pop("k", None)
    k = number if k is None else k
    has_number = "k" in factory.registry.settings("clusterer", clusterer)
    if k is not None and not has_number:
        raise UsageError(
            f"the clusterer {clusterer!r} finds the number of sections itself: leave out -k {k}",
            plugin=clusterer,
        )
    chooses = has_number and not for_clusterer.keys() & topics.CUT.keys()
    try:
        own_settings = sections.SectionSettings(**own)
    except (TypeError, ValueError) as error:
        raise SettingError(f"sections: {error}") from error

    def clusters(n_sections: int) -> Clusterer:
        given = {"k": n_sections} if chooses or k is not None else {}
        return factory.registry.make("clusterer", clusterer, {**for_clusterer, **given})

    def measure() -> Similarity:
        return factory.registry.make("similarity", similarity, for_measure)

    clusters(1), measure()  # wrong settings are found before the lock is taken
    return SectionMaking(own_settings, measure, clusters, chooses, k)


class Sections:
    """The sections of a store: `wire.sections(…)` makes them if topics changed and lists them."""

    def __init__(self, session: Session, topics: Topics) -> None:
        self._session = session
        self._topics = topics

    def list(
        self,
        *,
        similarity: str = SECTION_SIMILARITY,
        clusterer: str = SECTION_CLUSTERER,
        settings: Mapping[str, Json] | None = None,
        k: int | None = None,
        top: int | None = 10,
        limit: int | None = None,
        regroup: bool = True,
    ) -> builtins.list[Section]:
        """Return the sections with their topics and `top` words, largest first.

        They are made first if domains or topics have changed (`regroup`); `regroup=False` only reads.
        """
        if regroup:
            self.regroup(similarity=similarity, clusterer=clusterer, settings=settings, k=k)
        return self._session.read(lambda store: list_sections(store, top=top, limit=limit))

    __call__ = list

    def at(
        self, moment: str | int, *, top: int | None = 10, limit: int | None = None
    ) -> builtins.list[Section]:
        """Return the sections as they were at a run or on a date; nothing is grouped.

        The last 32 groupings are stored: before them there are no sections.
        """
        return self._session.read(
            lambda store: list_sections(store, top=top, limit=limit, as_of=moment)
        )

    def regroup(
        self,
        *,
        similarity: str = SECTION_SIMILARITY,
        clusterer: str = SECTION_CLUSTERER,
        settings: Mapping[str, Json] | None = None,
        k: int | None = None,
    ) -> int | None:
        """Group the topics into sections, languages apart; return the run that stores the result.

        Return None if neither the topics nor the settings have changed since the last time. If a
        domain has no topic yet, the domains are grouped into topics first, which is its own run.
        `k` is the number of sections of each language; by default it is chosen by stability.
        """
        given = settings or {}
        making = section_making(self._session.factory, similarity, clusterer, settings=given, k=k)
        store = self._session.writer
        began = 0.0
        if stored_sections.untopical_domains(store):
            began = TOPICS_SHARE
            with progress.part(0.0, TOPICS_SHARE):
                self._topics.regroup()
        noted = {"similarity": similarity, "clusterer": clusterer, **given, "k": k}
        noted |= asdict(making.settings)
        basis = groupings.basis(store, {**noted, "topics": stored_sections.topics_mark(store)})
        last = groupings.last_grouping(store, groupings.SECTIONS)
        if last is not None and last[1] == basis:
            return None
        before = groupings.group_of_domain(store, groupings.SECTIONS)
        topic_of = topic_of_domain(store)
        with store.run(RunPlan("sections", noted, self._session.factory.versions())) as run:
            by_language = list(domains_by_language(store).items())
            with progress.part(began, GROUPED):
                groups = {
                    lang: making.make(domains, topic_of, before).groups
                    for lang, domains in progress.steps(by_language)
                }
            run.counts = groupings.save(store, groupings.SECTIONS, run.number, groups, basis=basis)
        return run.number

    def propose(self) -> builtins.list[SectionProposal]:
        """Return the names that the IPTC codes of the stories propose for the last sections.

        Nothing changes; `rename` gives a section its name.
        """
        return self._session.read(propose_names)

    def rename(self, section: int, name: str) -> None:
        """Give a section a permanent name; an empty one restores the proposed label."""
        groupings.rename(self._session.writer, groupings.SECTIONS, section, name)
