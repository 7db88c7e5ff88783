"""Topics of a store: group its domains by a similarity and a clusterer, list and rename the groups."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from segapsith import progress
from segapsith.api.session import Session
from segapsith.engine.runs import RunPlan
from segapsith.errors import SettingError, UsageError
from segapsith.model import Json, Result
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY
from segapsith_store.queries import groupings
from segapsith_store.queries.topics import Topic, domains_by_language, list_topics, unit_texts

if TYPE_CHECKING:
    from segapsith.api.factory import Factory
    from segapsith.domains import topics
    from segapsith.domains.cross_language import TopicMentions
    from segapsith.domains.groups import DomainGroups
    from segapsith.domains.values import DomainWords
    from segapsith.plugin.registry import Registry

__all__ = ["GROUPED", "LinkedTopic", "TopicGrouping", "TopicLink", "Topics", "topic_grouping"]

GROUPED = 0.8
"""Share of the time after which the groups are found; the rest is storing and labelling them."""

MAX_UNITS = 50
"""Units of a topic that are read for links across languages."""

_OWN = ("power", "min_weight", "most")
"""Settings of the grouping itself; others go to the similarity or the clusterer."""


@dataclass(frozen=True, slots=True)
class LinkedTopic(Result):
    """One of the two topics of a link."""

    id: int
    lang: str
    label: str
    units: int


@dataclass(frozen=True, slots=True)
class TopicLink(Result):
    """A link between topics of different languages: always a proposal, never stored."""

    left: LinkedTopic
    right: LinkedTopic
    score: float
    """From 0 to 1: how much of the names, numbers and dates of both is the same."""
    mutual: bool
    """Whether each topic is the best match of the other in its language."""
    names: Sequence[str]
    """What both mention, the most telling first."""
    numbers: Sequence[str]
    dates: Sequence[str]
    proposal: bool = True


@dataclass(frozen=True, slots=True)
class TopicGrouping:
    """How domains are grouped into topics, and what makes the plugins."""

    recipe: topics.TopicRecipe
    registry: Registry

    @property
    def settings(self) -> topics.TopicSettings:
        """The settings besides those of the plugins."""
        return self.recipe.settings

    def group(self, domains: Mapping[int, DomainWords]) -> DomainGroups:
        """Return the topics of some domains."""
        return self.recipe.group(domains, self.registry)


def topic_grouping(
    factory: Factory,
    similarity: str = TOPIC_SIMILARITY,
    clusterer: str = TOPIC_CLUSTERER,
    *,
    settings: Mapping[str, Any] | None = None,
    k: int | None = None,
) -> TopicGrouping:
    """Return how a similarity and a clusterer group domains; names and settings are checked.

    The default pair uses `topics.CLUSTERING` unless settings other than a cut are given.
    """
    from segapsith.domains import topics
    from segapsith.plugin.settings import PluginInUse

    in_use = [PluginInUse("topics", "topics", _OWN), *factory.in_use(similarity, clusterer)]
    by_role = factory.by_role(settings or {}, in_use)
    own = {"min_weight": factory.settings.placement.min_weight, **by_role["topics"]}
    for_measure, for_clusterer = by_role["similarity"], by_role["clusterer"]
    rises = k is None and not for_clusterer and _is_default(similarity, clusterer)
    for_clusterer = _with_default_cut(similarity, clusterer, for_clusterer)
    if k is not None:
        for_clusterer = {n: v for n, v in for_clusterer.items() if n not in topics.CUT}
    elif factory.needs_number(clusterer, for_clusterer):
        raise UsageError(
            f"the clusterer {clusterer!r} needs the number of topics: -k N", plugin=clusterer
        )
    heights = [float(v) for n, v in for_clusterer.items() if n in topics.CUT]
    own["near"] = 1.0 - sum(heights) / len(heights) if heights else -1.0
    try:
        topic_settings = topics.TopicSettings(**own)
    except (TypeError, ValueError) as error:
        raise SettingError(f"topics: {error}") from error

    recipe = topics.TopicRecipe(
        topic_settings, similarity, for_measure, clusterer, for_clusterer, k, rises
    )
    recipe.measure(factory.registry)  # wrong settings are found before the lock is taken
    recipe.make_clusterer(factory.registry, 1)
    return TopicGrouping(recipe, factory.registry)


def _with_default_cut(similarity: str, clusterer: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the clusterer; the default pair has its own unless given others."""
    from segapsith.domains import topics

    cut = {n: v for n, v in given.items() if n in topics.CUT}
    if _is_default(similarity, clusterer) and given.keys() <= cut.keys():
        return {**topics.CLUSTERING, **(cut or topics.CUT)}
    return given


def _is_default(similarity: str, clusterer: str) -> bool:
    return (similarity, clusterer) == (TOPIC_SIMILARITY, TOPIC_CLUSTERER)


class Topics:
    """The topics of a store: `wire.topics(…)` groups the domains if they changed and lists them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def list(
        self,
        *,
        similarity: str = TOPIC_SIMILARITY,
        clusterer: str = TOPIC_CLUSTERER,
        settings: Mapping[str, Json] | None = None,
        k: int | None = None,
        top: int | None = 10,
        limit: int | None = None,
        regroup: bool = True,
    ) -> builtins.list[Topic]:
        """Return the topics with their domains and `top` words, largest first.

        The domains are grouped first if they have changed (`regroup`); `regroup=False` only reads.
        """
        if regroup:
            self.regroup(similarity=similarity, clusterer=clusterer, settings=settings, k=k)
        return self._session.read(lambda store: list_topics(store, top=top, limit=limit))

    __call__ = list

    def regroup(
        self,
        *,
        similarity: str = TOPIC_SIMILARITY,
        clusterer: str = TOPIC_CLUSTERER,
        settings: Mapping[str, Json] | None = None,
        k: int | None = None,
    ) -> int | None:
        """Group the domains into topics, languages apart; return the run that stores the result.

        Return None if neither the domains nor the settings have changed since the last grouping.
        The default pair of similarity and clusterer uses the settings of `topics.CLUSTERING` unless
        some are given; any other pair leaves the cut to the clusterer. `k` is the number of topics
        of each language.
        """
        given = settings or {}
        making = topic_grouping(self._session.factory, similarity, clusterer, settings=given, k=k)
        noted = {"similarity": similarity, "clusterer": clusterer, **given, "k": k}
        noted |= asdict(making.settings)
        store = self._session.writer
        basis = groupings.basis(store, noted)
        last = groupings.last_grouping(store, groupings.TOPICS)
        if last is not None and last[1] == basis:
            return None
        with store.run(RunPlan("topics", noted, self._session.factory.versions())) as run:
            by_language = list(domains_by_language(store).items())
            with progress.part(0.0, GROUPED):
                groups = {
                    lang: making.group(domains) for lang, domains in progress.steps(by_language)
                }
            run.counts = groupings.save(store, groupings.TOPICS, run.number, groups, basis=basis)
        return run.number

    def rename(self, topic: int, name: str) -> None:
        """Give a topic a permanent name; an empty one restores the label of its best words."""
        groupings.rename(self._session.writer, groupings.TOPICS, topic, name)

    def propose_links(
        self,
        *,
        lang: str | None = None,
        min_units: int = 1,
        min_score: float | None = None,
        limit: int | None = None,
    ) -> builtins.list[TopicLink]:
        """Return proposals of links between topics of different languages, best first.

        Names, numbers and dates of at most `MAX_UNITS` units of each topic are compared; `lang`
        returns only links of that language. Only the stored grouping is read: nothing is learned
        or written.
        """
        from segapsith.domains.cross_language import MIN_SCORE, propose_links

        topics = {
            topic.id: topic
            for topic in self._session.read(lambda store: list_topics(store, top=1))
            if topic.units >= min_units
        }
        if lang is not None and all(topic.lang != lang for topic in topics.values()):
            return []
        proposals = propose_links(
            [self._mentions(topic) for topic in progress.steps(builtins.list(topics.values()))],
            min_score=MIN_SCORE if min_score is None else min_score,
        )
        links = (
            TopicLink(
                left=_linked(topics[p.left]),
                right=_linked(topics[p.right]),
                score=p.score,
                mutual=p.mutual,
                names=p.names,
                numbers=p.numbers,
                dates=p.days,
            )
            for p in proposals
        )
        return [x for x in links if lang in (None, x.left.lang, x.right.lang)][:limit]

    def _mentions(self, topic: Topic) -> TopicMentions:
        """Return what the units of a topic mention."""
        from segapsith.domains.cross_language import TopicMentions
        from segapsith.lexicon.mentions import mentions

        counts = TopicMentions(topic.id, topic.lang)
        texts = self._session.read(
            lambda store: builtins.list(unit_texts(store, topic.domains, MAX_UNITS))
        )
        for date, text in texts:
            day = (date or "")[:10]
            year = int(day[:4]) if day[:4].isdigit() else None
            counts.add(mentions(text, topic.lang, year), day or None)
        return counts


def _linked(topic: Topic) -> LinkedTopic:
    return LinkedTopic(topic.id, topic.lang, topic.label, topic.units)
