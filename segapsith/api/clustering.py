"""Clustering of the stored units, recomputed by any clusterer and similarity."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith import progress
from segapsith.api.factory import Factory
from segapsith.api.session import Session
from segapsith.arrays import Labels, Rows, State, Views
from segapsith.engine.runs import RunPlan
from segapsith.errors import PluginError, SettingError, UsageError
from segapsith.evaluation import clustering
from segapsith.evaluation.neighbours import BlockPlan, block_cost, learn_from, nearest_neighbours
from segapsith.evaluation.validation import LearnedUnits
from segapsith.evaluation.views import make_views
from segapsith.evaluation.worker_clustering import ClusterJob, ClusterRecipe, cluster_all
from segapsith.lexicon.vocabulary import tf_idf
from segapsith.model import Json, Result
from segapsith.plugin.contracts import (
    Similarity,
    compares_learned_rows_only,
    has_factors,
    names_columns,
    takes_neighbours,
    takes_views,
)
from segapsith.settings import CLUSTERER
from segapsith_store import Store
from segapsith_store.queries.documents import headlines, unit_places
from segapsith_store.queries.stream import iterate_origins, learned_units

__all__ = [
    "ClusterSummary",
    "ClusteredUnit",
    "Clustering",
    "CostEstimate",
    "Grouping",
    "NamedRows",
    "cluster",
    "cluster_rows",
]

N_WORDS = 8
"""Best words that describe a cluster."""

N_HEADLINES = 3
"""Headlines that describe a cluster."""


@dataclass(frozen=True, slots=True)
class ClusteredUnit(Result):
    """A unit with its cluster; None for a unit without words."""

    unit: int
    document: str
    start: int
    end: int
    cluster: int | None


@dataclass(frozen=True, slots=True)
class ClusterSummary(Result):
    """A cluster with its best words and the headlines of its most typical units."""

    cluster: int
    units: int
    words: list[str]
    headlines: list[str]


@dataclass(frozen=True, slots=True)
class CostEstimate(Result):
    """Memory and time that a clustering was expected to take."""

    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Clustering(Result):
    """A clustering of stored units."""

    run: int
    units: int
    clusters: int
    assignment: list[ClusteredUnit]
    groups: list[ClusterSummary]
    """The clusters, largest first."""
    sizes: list[int]
    """Units of each cluster, by its number."""
    estimate: CostEstimate
    seconds: float


def cluster(
    wire: Session,
    *,
    clusterer: str = CLUSTERER,
    similarity: str | None = None,
    settings: Mapping[str, Json] | None = None,
    k: int | None = None,
    weights: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    lang: str | None = None,
    force: bool = False,
    views: Sequence[str] | None = None,
    neighbours: int | None = None,
    on_estimate: Callable[[clustering.Cost], None] | None = None,
) -> Clustering:
    """Cluster the stored units again and store the result under a run.

    A clusterer that needs a number of clusters makes as many as there are stable domains, unless
    `k` is given. `weights` is `counts` or `tf-idf` (default: `tf-idf` if a similarity is named).
    `sample` is a number of units, drawn at random. `views` are properties that the units are
    compared by (`words`, `names`, `source`, `subjects`, `keywords`), for a similarity or a
    clusterer that accepts several. With `neighbours`, the clusterer gets that number of most similar
    units of each unit only, so that the similarities of many units fit into memory.
    `on_estimate` receives the estimated cost before the work
    starts; work that does not fit into memory is refused unless `force`.
    """
    with wire.reading() as store:
        learned = learned_units(store, lang)
        given = _seen(wire, learned, views, lang, similarity, clusterer)
    if k is None and wire.factory.needs_number(clusterer, settings or {}):
        _, sizes = np.unique(learned.domains, return_counts=True)
        k = int((sizes >= wire.settings.maintenance.stable).sum()) or len(sizes)
    rows, sampled = clustering.sample_rows(given, sample or len(learned.units), seed)
    labels, cost, seconds = cluster_rows(
        wire.factory,
        _named(_weighted(rows, weights, similarity), learned.words),
        Grouping(
            clusterer,
            similarity,
            {"seed": seed, **(settings or {})},
            k=k,
            force=force,
            neighbours=neighbours,
            on_estimate=on_estimate,
        ),
    )
    plan = RunPlan(
        "cluster",
        settings={
            "clusterer": clusterer, "similarity": similarity, **(settings or {}), "k": k,
            "weights": weights, "sample": sample, "lang": lang,
            **({} if views is None else {"views": list(views)}),
            **({} if neighbours is None else {"neighbours": neighbours}),
        },
        versions=wire.factory.versions(),
        seed=seed,
    )  # fmt: skip
    units = learned.units[sampled].tolist()
    counts = {"units": len(labels), "clusters": int(labels.max(initial=-1)) + 1}
    with wire.writer.run(plan) as run:
        wire.writer.save_clustering(run.number, lang or "", units, labels.tolist())
        run.counts = counts
    places = wire.read(lambda store: unit_places(store, units))
    return Clustering(
        run=run.number,
        **counts,
        assignment=[
            ClusteredUnit(unit, uid, start, end, cluster)
            for (unit, uid, start, end), cluster in zip(
                places, (None if c < 0 else c for c in labels.tolist()), strict=True
            )
        ],
        groups=_groups(wire, learned, sampled, labels),
        sizes=np.bincount(labels[labels >= 0]).tolist(),
        estimate=CostEstimate(bytes=cost.bytes, seconds=round(cost.seconds, 1)),
        seconds=round(seconds, 3),
    )


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows with the words of their columns, for similarities that need them."""

    rows: Rows
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Grouping:
    """How rows are clustered: see `cluster`."""

    clusterer: str
    similarity: str | None
    settings: Mapping[str, Any]
    """Settings of both plugins, as they are given."""
    k: int | None = None
    force: bool = False
    neighbours: int | None = None
    on_estimate: Callable[[clustering.Cost], None] | None = None

    def estimated(self, cost: clustering.Cost) -> None:
        """Report the estimated cost."""
        if self.on_estimate is not None:
            self.on_estimate(cost)


def _named(rows: Rows | Views, words: Sequence[str]) -> NamedRows | Views:
    return rows if isinstance(rows, Mapping) else NamedRows(rows, words)


def _groups(
    wire: Session, learned: LearnedUnits, sampled: NDArray[np.int64], labels: Labels
) -> list[ClusterSummary]:
    """Describe the clusters, largest first: size, best words, headlines of the most typical units.

    A word is good by its mean tf-idf in the cluster, a unit typical by its cosine with that mean.
    """
    units = learned.units[sampled]
    rows = csr_array(tf_idf(learned.counts)[sampled])
    lengths = np.maximum(np.sqrt(rows.multiply(rows).sum(axis=1)), np.finfo(np.float64).tiny)
    sizes = np.bincount(labels[labels >= 0])
    groups: list[tuple[int, list[str], list[int]]] = []
    for cluster in np.argsort(-sizes, kind="stable").tolist():
        members = np.flatnonzero(labels == cluster)
        mean = rows[members].sum(axis=0) / len(members)
        used = np.flatnonzero(mean)
        best = used[np.argsort(-mean[used], kind="stable")[:N_WORDS]]
        likeness = (rows[members] @ mean) / lengths[members]
        # more than are shown, because several units may be of one story
        typical = members[np.argsort(-likeness, kind="stable")[: 4 * N_HEADLINES]]
        words = [learned.words[word] for word in best.tolist()]
        groups.append((cluster, words, units[typical].tolist()))

    def titles(store: Store) -> list[list[str]]:
        return [headlines(store, typical) for _, _, typical in groups]

    return [
        ClusterSummary(
            cluster=cluster,
            units=int(sizes[cluster]),
            words=words,
            headlines=list(dict.fromkeys(lines))[:N_HEADLINES],
        )
        for (cluster, words, _), lines in zip(groups, wire.read(titles), strict=True)
    ]


def _seen(
    wire: Session,
    learned: LearnedUnits,
    views: Sequence[str] | None,
    lang: str | None,
    similarity: str | None,
    clusterer: str,
) -> Any:
    """The units as counts of words, or in the views that were asked for."""
    if views is None:
        return learned.counts
    kind, name = ("clusterer", clusterer) if similarity is None else ("similarity", similarity)
    if not takes_views(wire.factory.registry.make(kind, name)):
        raise UsageError(
            f"{kind} {name!r} takes one matrix; views need a similarity that takes several"
            f" ({_names(wire.factory, 'similarity', takes_views)}), or without a similarity such"
            f" a clusterer ({_names(wire.factory, 'clusterer', takes_views)})"
        )
    return wire.read(
        lambda store: make_views(
            views, learned.counts, learned.units.tolist(), iterate_origins(store, lang)
        )
    )


def cluster_rows(
    factory: Factory, given: Rows | Views | NamedRows, how: Grouping
) -> tuple[Labels, clustering.Cost, float]:
    """Cluster rows; return their labels, the estimated cost, and the seconds that it took."""
    if how.neighbours is not None:
        return _by_neighbours(factory, given, how, how.neighbours)
    clusterer, similarity, k = how.clusterer, how.similarity, how.k
    for_measure, for_clusterer = factory.sorted_settings(similarity, clusterer, how.settings)
    rows = given.rows if isinstance(given, NamedRows) else given
    of_columns: State | None = None

    def measure() -> Any:
        nonlocal of_columns
        made = similarity and factory.registry.make("similarity", similarity, for_measure)
        if not isinstance(given, NamedRows) or not names_columns(made):
            return made
        if of_columns is None:
            made.name_columns(given.words)
            of_columns = made.state()
        else:  # reading files again would be slow
            made.restore(of_columns)
        return made

    def grouping(n_rows: int) -> Any:
        settings_with_k = (
            for_clusterer if k is None else {**for_clusterer, "k": max(1, min(k, n_rows))}
        )
        return factory.registry.make("clusterer", clusterer, settings_with_k)

    cost = clustering.estimate(rows, measure, grouping)
    how.estimated(cost)
    if not cost.fits and not how.force:
        raise clustering.TooLargeError(
            f"this would not fit: {cost}; take a sample (--sample N), a clusterer that needs no"
            f" similarity ({', '.join(_without_similarity(factory))}), a similarity with a factor"
            f" form ({_names(factory, 'similarity', has_factors)}), or only the nearest units of"
            " each (--neighbours M);"
            " --force tries all the same"
        )
    began = time.perf_counter()
    if factory.executor.n_workers > 1:
        number = {} if k is None else {"k": max(1, min(k, clustering.n_rows_of(rows)))}
        measure()  # names the columns
        job = ClusterJob(
            ClusterRecipe(clusterer, {**for_clusterer, **number}, similarity, for_measure),
            columns=of_columns,
        )
        plugins = factory.shared_plugins(("clusterer", clusterer), ("similarity", similarity))
        (labels,) = cluster_all(factory.executor, plugins, rows, [job])
    else:
        labels = clustering.cluster(rows, measure() or None, grouping(clustering.n_rows_of(rows)))
    return labels, cost, time.perf_counter() - began


def _by_neighbours(
    factory: Factory, given: Rows | Views | NamedRows, how: Grouping, m: int
) -> tuple[Labels, clustering.Cost, float]:
    """Cluster rows by the similarities of their nearest neighbours, which are found in blocks."""
    clusterer, similarity, k = how.clusterer, how.similarity, how.k
    rows = given.rows if isinstance(given, NamedRows) else given
    if similarity is None or isinstance(rows, Mapping):
        raise UsageError("neighbours need a similarity, and one matrix instead of views")
    recipe = factory.recipe(clusterer, similarity, how.settings)
    measure, made = (recipe if k is None else recipe.into(k)).make(factory.registry)
    if not takes_neighbours(made):
        raise UsageError(
            f"clusterer {clusterer!r} cannot group by neighbours; use one of"
            f" {_names(factory, 'clusterer', takes_neighbours)}"
        )
    if measure is None or compares_learned_rows_only(measure):
        unfit = factory.registry.having("similarity", compares_learned_rows_only)
        raise UsageError(
            f"similarity {similarity!r} compares all rows at once; use another than"
            f" {', '.join(unfit)}"
        )
    began = time.perf_counter()
    if isinstance(given, NamedRows) and names_columns(measure):
        measure.name_columns(given.words)
    learn_from(measure, rows)
    plan = BlockPlan(recipe, m)
    plugins = factory.shared_plugins(("similarity", similarity))
    cost = _block_cost(rows, measure, plan, factory.executor.n_workers)
    how.estimated(cost)
    graph = nearest_neighbours(
        factory.executor, plugins, rows, measure, plan, on_block=progress.report
    )
    return made.cluster_neighbours(rows, graph), cost, time.perf_counter() - began


def _block_cost(
    rows: Rows, measure: Similarity, plan: BlockPlan, n_workers: int
) -> clustering.Cost:
    """Estimate the cost from one pair of blocks."""
    cost = block_cost(rows, measure, plan)
    # neighbours and similarities, twice for the symmetric matrix
    n_bytes = 48 * rows.shape[0] * plan.m + cost.bytes * n_workers
    return clustering.Cost(
        rows.shape[0], n_bytes, cost.seconds / n_workers, clustering.free_memory()
    )


def _names(factory: Factory, kind: str, ability: Callable[[object], bool]) -> str:
    return ", ".join(factory.registry.having(kind, ability)) or "none is installed"


def _without_similarity(factory: Factory) -> list[str]:
    """Return the clusterers that group rows without comparing them, found by trying."""
    names = []
    rows = csr_array(np.eye(3) + 1.0)
    for name in factory.registry.names("clusterer"):
        with contextlib.suppress(PluginError, SettingError):
            factory.registry.make("clusterer", name).cluster(rows, None)
            names.append(name)
    return names


def _weighted(rows: Rows | Views, weights: str | None, similarity: str | None) -> Rows | Views:
    """The rows as they are compared, in each of their views."""
    if not isinstance(rows, Mapping):
        return clustering.weight_rows(rows, weights, similarity)
    return {name: clustering.weight_rows(m, weights, similarity) for name, m in rows.items()}
