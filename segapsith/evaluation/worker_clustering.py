"""Clusterings of the same rows as tasks: other seeds, other numbers of clusters, parts of the rows.

The rows travel once. An item has the names of the plugins and all their settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.domains.values import PlacementSettings
from segapsith.evaluation import clustering
from segapsith.evaluation.validation import (
    CurvePoint,
    CurveSettings,
    LearnedUnits,
    curve_point,
)
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import registry_of
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Clusterer, Executor, Similarity
from segapsith.plugin.registry import Registry
from segapsith.settings import PluginValue

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "ClusterJob",
    "ClusterRecipe",
    "CurvePlan",
    "cluster_all",
    "cluster_part",
    "curve_all",
    "curve_part",
]


@dataclass(frozen=True, slots=True)
class ClusterRecipe:
    """A clusterer and perhaps a similarity, by name, with their settings."""

    clusterer: str
    clusterer_settings: Mapping[str, PluginValue]
    similarity: str | None = None
    similarity_settings: Mapping[str, PluginValue] = field(default_factory=dict)

    def into(self, k: int) -> ClusterRecipe:
        """Return the same for `k` clusters, at least one."""
        return replace(self, clusterer_settings={**self.clusterer_settings, "k": max(1, k)})

    def make(self, registry: Registry) -> tuple[Similarity | None, Clusterer]:
        """Make the similarity, if there is one, and the clusterer."""
        measure: Similarity | None = None
        if self.similarity is not None:
            measure = registry.make("similarity", self.similarity, self.similarity_settings)
        return measure, registry.make("clusterer", self.clusterer, self.clusterer_settings)


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """One clustering of the shared rows."""

    recipe: ClusterRecipe
    rows: NDArray[np.int64] | None = None
    """The numbers of the rows that are clustered; None for all."""


def cluster_all(
    executor: Executor, plugins: Mapping[str, Frozen], rows: Rows, jobs: Iterable[ClusterJob]
) -> Iterator[Labels]:
    """Yield the labels of each clustering, in the order of the jobs."""
    yield from executor.map("cluster", jobs, {**plugins, "rows": Frozen(rows)})


def cluster_part(job: ClusterJob, shared: Shared) -> Labels:
    """Do one clustering: the task `cluster`."""
    from scipy.sparse import csr_array  # slow to import

    rows: Rows = shared["rows"]
    if job.rows is not None:
        rows = csr_array(rows[job.rows])
    return clustering.cluster(rows, *job.recipe.make(registry_of(shared)))


@dataclass(frozen=True, slots=True)
class CurvePlan:
    """What the points of a curve have in common."""

    placing: PlacementSettings
    recipe: ClusterRecipe
    rules: CurveSettings


def curve_all(
    executor: Executor,
    plugins: Mapping[str, Frozen],
    learned: LearnedUnits,
    plan: CurvePlan,
    thresholds: Sequence[float],
    *,
    watch: Callable[[float], None] | None = None,
) -> list[CurvePoint]:
    """Return a validation for each threshold; `watch` is called with each that is done."""
    shared = {**plugins, "learned": Frozen(learned), "plan": Frozen(plan)}
    points = []
    for point in executor.map("curve", thresholds, shared):
        points.append(point)
        if watch is not None:
            watch(point.threshold)
    return points


def curve_part(threshold: float, shared: Shared) -> CurvePoint:
    """Validate the domains of one threshold: the task `curve`."""
    learned: LearnedUnits = shared["learned"]
    plan: CurvePlan = shared["plan"]
    registry = registry_of(shared)

    def cluster(rows: Rows, k: int) -> Labels:
        return clustering.cluster(rows, *plan.recipe.into(k).make(registry))

    bags = shared.once("bags", learned.bags, of="learned")
    return curve_point(
        learned, bags, replace(plan.placing, threshold=threshold), cluster, plan.rules
    )
