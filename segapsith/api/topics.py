"""Topics of a store: group its domains, list and rename the groups."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import asdict

from segapsith.api.session import Session
from segapsith.api.topic_grouping import topic_grouping
from segapsith.engine.runs import RunPlan
from segapsith.model import Json
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY
from segapsith_store.queries import groupings
from segapsith_store.queries.topics import Topic, domains_by_language, list_topics

__all__ = ["Topics"]


class Topics:
    """The topics of a store: `wire.topics(…)` groups the domains if they changed and lists them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __call__(
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
        """Return topics, largest first, as `list` does."""
        return self.list(
            similarity=similarity,
            clusterer=clusterer,
            settings=settings,
            k=k,
            top=top,
            limit=limit,
            regroup=regroup,
        )

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
            groups = {
                lang: making.group(domains) for lang, domains in domains_by_language(store).items()
            }
            run.counts = groupings.save(store, groupings.TOPICS, run.number, groups, basis=basis)
        return run.number

    def rename(self, topic: int, name: str) -> None:
        """Give a topic a permanent name; an empty one restores the label of its best words."""
        groupings.rename(self._session.writer, groupings.TOPICS, topic, name)
