"""Clusterings of the same rows as tasks: other seeds, other numbers of clusters, parts of the rows.

The rows travel once. An item has the names of the plugins and all their settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Matrix, State, Views
from segapsith.domains.values import PlacementSettings
from segapsith.evaluation import clustering
from segapsith.evaluation.validation import (
    CurvePoint,
    CurveSettings,
    LearnedUnits,
    curve_point,
)
from segapsith.evaluation.views import side_by_side
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import registry_of
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Clusterer, Executor, Similarity, clusters_in_parts
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

MOST_BEGUN = 2
"""Clusterings that a worker holds what it prepared for."""


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
    columns: State | None = None
    """The state of a similarity that knows the words of the columns."""


def cluster_all(
    executor: Executor,
    plugins: Mapping[str, Frozen],
    rows: Rows | Views,
    jobs: Sequence[ClusterJob],
) -> Iterator[Labels]:
    """Yield the labels of each clustering, in the order of the jobs.

    Clusterers that work in parts (`ClustersInParts`) do the same round at the same time, so the
    starts of one clustering are divided among the workers. One worker does each job as a whole.
    """
    shared = {**plugins, "rows": Frozen(rows), "jobs": Frozen(list(jobs))}
    if executor.n_workers == 1:
        yield from executor.map("cluster", [(number, None) for number in range(len(jobs))], shared)
        return
    local = Shared(shared)
    yield from _in_rounds(executor, shared, [_Begun(local, number) for number in range(len(jobs))])


def _in_rounds(
    executor: Executor, shared: Mapping[str, Frozen], begun: Sequence[_Begun]
) -> list[Labels]:
    """Return the labels of jobs whose rounds are done together."""
    while active := [one for one in begun if one.labels is None]:
        parts = [(one.number, part) for one in active for part in one.parts]
        results = list(executor.map("cluster", parts, shared))
        for one in active:
            own, results = results[: len(one.parts)], results[len(one.parts) :]
            one.receive(own)
    return [one.labels for one in begun if one.labels is not None]


class _Begun:
    """A clustering that has begun: the parts of its round, or its labels."""

    def __init__(self, shared: Shared, number: int) -> None:
        self.number = number
        self.labels: Labels | None = None
        self._clusterer, self._rows, compare = _tools(shared, number)
        self._rounds: Any = None
        if clusters_in_parts(self._clusterer):
            self._rounds = self._clusterer.rounds(self._clusterer.prepare(self._rows, compare))
            self._advance(None)
        else:
            self.parts: Sequence[Any] = [None]  # the whole

    def receive(self, results: list[Any]) -> None:
        """Take the results of the parts."""
        if self._rounds is None:
            (self.labels,) = results
        else:
            self._advance(results)

    def _advance(self, results: list[Any] | None) -> None:
        try:
            self.parts = list(self._rounds.send(results))
        except StopIteration as end:
            self.labels = self._clusterer.checked(end.value, self._rows)


def _tools(shared: Shared, number: int) -> tuple[Any, Rows | Views, Compare | None]:
    """Return the clusterer of a job, its rows, and how they are compared.

    The similarity learns when it is first used, so only where rows are compared.
    """
    from scipy.sparse import csr_array  # slow to import

    job: ClusterJob = shared["jobs"][number]
    rows: Rows | Views = shared["rows"]
    if job.rows is not None:
        assert not isinstance(rows, Mapping)
        rows = csr_array(rows[job.rows])
    measure, clusterer = job.recipe.make(registry_of(shared))
    if measure is None:
        return clusterer, rows, None
    if job.columns is not None:
        measure.restore(job.columns)
    return (
        clusterer,
        side_by_side(rows) if isinstance(rows, Mapping) else rows,
        _Late(measure, rows),
    )


class _Late:
    """Compares rows by a similarity that learns when it is first used."""

    def __init__(self, measure: Similarity, rows: Rows | Views) -> None:
        self._measure, self._rows, self._learned = measure, rows, False

    def __call__(self, left: Rows, right: Rows) -> Matrix:
        if not self._learned:
            self._measure.learn(self._rows)
            self._learned = True
        return self._measure.compare(left, right)


def cluster_part(item: tuple[int, Any], shared: Shared) -> Any:
    """Do one part of a clustering, or the whole if it has no parts: the task `cluster`."""
    number, part = item
    if part is None:
        clusterer, rows, compare = _tools(shared, number)
        return clusterer.cluster(rows, compare)
    begun: dict[int, tuple[Any, Any]] = shared.once("begun", dict, of="jobs")
    if number not in begun:
        clusterer, rows, compare = _tools(shared, number)
        begun[number] = clusterer, clusterer.prepare(rows, compare)
        if len(begun) > MOST_BEGUN:
            del begun[next(iter(begun))]
    clusterer, prepared = begun[number]
    return clusterer.part(prepared, part)


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
