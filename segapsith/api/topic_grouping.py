"""Group domains into topics by a similarity and a clusterer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from segapsith.api.factory import Factory
from segapsith.domains import topics
from segapsith.domains.values import DomainWords
from segapsith.errors import SettingError, UsageError
from segapsith.plugin.contracts import Clusterer, Similarity
from segapsith.plugin.settings import PluginInUse
from segapsith.settings import TOPIC_CLUSTERER, TOPIC_SIMILARITY

__all__ = ["TopicGrouping", "topic_grouping"]

_OWN = ("power", "min_weight", "most")
"""Settings of the grouping itself; others go to the similarity or the clusterer."""


@dataclass(frozen=True, slots=True)
class TopicGrouping:
    """How domains are grouped into topics: settings, and what makes measure and clusterer."""

    settings: topics.TopicSettings
    measure: Callable[[], Similarity]
    clusterer: Callable[[int], Clusterer]
    """Takes the number of rows."""

    def group(self, domains: Mapping[int, DomainWords]) -> topics.DomainGroups:
        """Return the topics of some domains."""
        return topics.group(domains, self.measure(), self.clusterer, self.settings)


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
    in_use = [PluginInUse("topics", "topics", _OWN), *factory.in_use(similarity, clusterer)]
    by_role = factory.by_role(settings or {}, in_use)
    own = {"min_weight": factory.settings.placement.min_weight, **by_role["topics"]}
    for_measure, for_clusterer = by_role["similarity"], by_role["clusterer"]
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

    def clusters(n_rows: int) -> Clusterer:
        number = {} if k is None else {"k": max(1, min(k, n_rows))}
        return factory.registry.make("clusterer", clusterer, {**for_clusterer, **number})

    def measure() -> Similarity:
        return factory.registry.make("similarity", similarity, for_measure)

    clusters(1), measure()  # wrong settings are found before the lock is taken
    return TopicGrouping(topic_settings, measure, clusters)


def _with_default_cut(similarity: str, clusterer: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the clusterer; the default pair has its own unless given others."""
    cut = {n: v for n, v in given.items() if n in topics.CUT}
    is_default = (similarity, clusterer) == (TOPIC_SIMILARITY, TOPIC_CLUSTERER)
    if is_default and given.keys() <= cut.keys():
        return {**topics.CLUSTERING, **(cut or topics.CUT)}
    return given
