"""Grouping what a store has learned: units into clusters, domains into topics, shuffled orders."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.api.factory import Factory
from segapsith.api.wired import Wired
from segapsith.arrays import Labels, Rows, Views
from segapsith.engine import order_sensitivity
from segapsith.engine.runs import RunPlan
from segapsith.errors import PluginError, SettingError, UsageError
from segapsith.evaluation import clustering, metrics
from segapsith.evaluation.validation import LearnedUnits
from segapsith.evaluation.views import make_views
from segapsith.lexicon.weighting import tf_idf
from segapsith.settings import CLUSTERER, TOPIC_CLUSTERER, TOPIC_SIMILARITY
from segapsith_store import Store
from segapsith_store.queries import browse
from segapsith_store.queries import topics as kept_topics

__all__ = ["cluster", "cluster_rows", "regroup", "shuffled_orders"]

N_WORDS = 8
"""Best words that describe a cluster."""

N_HEADLINES = 3
"""Headlines that describe a cluster."""


def cluster(
    wire: Wired,
    *,
    clusterer: str = CLUSTERER,
    similarity: str | None = None,
    settings: Mapping[str, Any] | None = None,
    k: int | None = None,
    weights: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    lang: str | None = None,
    force: bool = False,
    views: Sequence[str] | None = None,
    told: Callable[[clustering.Cost], None] | None = None,
) -> dict[str, Any]:
    """A clustering recomputed from the stored units, kept under a run.

    A clusterer that must be given a number and is given none makes as many clusters as there
    are stable domains. `weights` are `counts` or `tf-idf`, the latter if a similarity is named.
    `views` are sides from which the units are seen (`words`, `names`, `source`, `subjects`,
    `keywords`), for a similarity or a clusterer that takes several.
    `told` hears what it will cost before it starts; it is refused if memory is too small.

    The result has in `assignment` the cluster of each unit (None for a unit without words), and in
    `groups` the clusters, largest first, with their best words and most typical headlines.
    """
    with wire.reading() as store:
        learned = browse.learned_units(store, lang)
        given = _seen(wire, learned, views, lang, similarity, clusterer)
    if k is None and wire.factory.needs_number(clusterer, settings or {}):
        _, sizes = np.unique(learned.domains, return_counts=True)
        k = int((sizes >= int(wire.settings["stable"])).sum()) or len(sizes)
    rows, chosen = clustering.sampled(given, sample or len(learned.units), seed)
    labels, cost, seconds = cluster_rows(
        wire.factory,
        _weighted(rows, weights, similarity),
        clusterer,
        similarity,
        {"seed": seed, **(settings or {})},
        k,
        force,
        told,
    )
    plan = RunPlan(
        "cluster",
        settings={
            "clusterer": clusterer, "similarity": similarity, **(settings or {}), "k": k,
            "weights": weights, "sample": sample, "lang": lang,
            **({} if views is None else {"views": list(views)}),
        },
        versions=wire.factory.versions(),
        seed=seed,
    )  # fmt: skip
    found = {"units": len(labels), "clusters": int(labels.max(initial=-1)) + 1}
    with wire.writer.run(plan) as run:
        units = learned.units[chosen].tolist()
        wire.writer.save_clustering(run.number, lang or "", units, labels.tolist())
        run.counts = found
    places = wire.read(lambda store: browse.unit_places(store, learned.units[chosen].tolist()))
    return {
        "run": run.number,
        **found,
        "assignment": [
            {"unit": unit, "document": uid, "start": start, "end": end, "cluster": cluster}
            for (unit, uid, start, end), cluster in zip(
                places, (None if c < 0 else c for c in labels.tolist()), strict=True
            )
        ],
        "groups": _groups(wire, learned, chosen, labels),
        "sizes": np.bincount(labels[labels >= 0]).tolist(),
        "estimate": {"bytes": cost.bytes, "seconds": round(cost.seconds, 1)},
        "seconds": round(seconds, 3),
    }


def _groups(
    wire: Wired, learned: LearnedUnits, chosen: NDArray[np.int64], labels: Labels
) -> list[dict[str, Any]]:
    """Describe the clusters, largest first: size, best words, headlines of the most typical units.

    A word is good by its mean tf-idf in the cluster, a unit typical by its cosine with that mean.
    """
    units = learned.units[chosen]
    rows = csr_array(tf_idf(learned.counts)[chosen])
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
        return [browse.headlines(store, typical) for _, _, typical in groups]

    return [
        {
            "cluster": cluster,
            "units": int(sizes[cluster]),
            "words": words,
            "headlines": list(dict.fromkeys(lines))[:N_HEADLINES],
        }
        for (cluster, words, _), lines in zip(groups, wire.read(titles), strict=True)
    ]


def regroup(
    wire: Wired, similarity: str, clusterer: str, settings: Mapping[str, Any], k: int | None
) -> None:
    """Groups the domains into topics and keeps that under a run, unless nothing has changed."""
    making = wire.factory.topic_making(similarity, clusterer, settings, k)
    said = {"similarity": similarity, "clusterer": clusterer, **settings, "k": k}
    said |= asdict(making.chosen)
    store = wire.writer
    of = kept_topics.basis(store, said)
    last = kept_topics.present(store)
    if last is not None and last[1] == of:
        return
    with store.run(RunPlan("topics", said, wire.factory.versions())) as run:
        groups = {
            lang: making.group(domains) for lang, domains in kept_topics.material(store).items()
        }
        run.counts = kept_topics.keep(store, run.number, groups, of)


def shuffled_orders(
    wire: Wired,
    *,
    shuffles: int = 20,
    seed: int = 0,
    told: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """How far domains and topics depend on the order of arrival: the units learned again, in
    memory, in shuffled orders; the mean adjusted Rand index over all pairs of orders."""
    if shuffles < 2:
        raise UsageError(f"shuffles={shuffles} should be >= 2: one order has no other")
    making = wire.factory.topic_making(TOPIC_SIMILARITY, TOPIC_CLUSTERER, {}, None)
    with wire.reading() as store:
        units, words = list(browse.stream_units(store)), list(store.words())
    placement = wire.factory.learning().placement
    replayed = []
    for number in range(shuffles):
        if told is not None:
            told(f"order {number + 1} of {shuffles} …")
        replayed.append(
            order_sensitivity.replay(
                units,
                order_sensitivity.shuffled(units, seed + number),
                [entry[:3] for entry in words],
                placement,
                str(wire.settings["importance"]),
                making.group,
            )
        )
    return {
        "shuffles": shuffles,
        "units": len(units),
        "domains": metrics.mean_ari([r.domains for r in replayed]),
        "topics": metrics.mean_ari([r.topics for r in replayed]),
    }


def _seen(
    wire: Wired,
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
    if not getattr(wire.factory.registry.make(kind, name), "takes_views", False):
        raise UsageError(
            f"{kind} {name!r} takes one matrix; views need a similarity that takes several"
            f" ({_names(wire.factory, 'similarity', 'takes_views')}), or without a similarity such"
            f" a clusterer ({_names(wire.factory, 'clusterer', 'takes_views')})"
        )
    return wire.read(
        lambda store: make_views(
            views, learned.counts, learned.units.tolist(), browse.origins(store, lang)
        )
    )


def cluster_rows(
    factory: Factory,
    rows: Rows | Views,
    clusterer: str,
    similarity: str | None,
    settings: Mapping[str, Any],
    k: int | None,
    force: bool = False,
    told: Callable[[clustering.Cost], None] | None = None,
) -> tuple[Labels, clustering.Cost, float]:
    """Labels of any rows, what they were said to cost, and the seconds they took."""
    for_measure, for_clusterer = factory.sorted_settings(similarity, clusterer, settings)

    def measure() -> Any:
        return similarity and factory.registry.make("similarity", similarity, for_measure)

    def grouping(n_rows: int) -> Any:
        chosen = for_clusterer if k is None else {**for_clusterer, "k": max(1, min(k, n_rows))}
        return factory.registry.make("clusterer", clusterer, chosen)

    cost = clustering.estimate(rows, measure, grouping)
    if told is not None:
        told(cost)
    if not cost.fits and not force:
        raise clustering.TooLargeError(
            f"this would not fit: {cost}; take a sample (--sample N), a clusterer that needs no"
            f" similarity ({', '.join(_without_similarity(factory))}), a similarity with a factor"
            f" form ({_names(factory, 'similarity', 'factors')}), or one that splits the words;"
            " --force tries all the same"
        )
    began = time.perf_counter()
    labels = clustering.cluster(rows, measure() or None, grouping(clustering.n_rows_of(rows)))
    return labels, cost, time.perf_counter() - began


def _names(factory: Factory, kind: str, ability: str) -> str:
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
        return clustering.weighted(rows, weights, similarity)
    return {name: clustering.weighted(m, weights, similarity) for name, m in rows.items()}
