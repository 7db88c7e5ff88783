"""What would have been learned with another threshold: the stored units placed again, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.adoption import Adopting, adopt
from segapsith.arrays import Labels, Rows
from segapsith.domains import Bag, DomainIndex, PlacementSettings
from segapsith.splitting import Splitting, parts
from segapsith.validation import LearnedUnits, brief, select, validate
from segapsith.weighting import SCALE

__all__ = ["curve", "replay"]


def replay(
    learned: LearnedUnits,
    settings: PlacementSettings,
    splitting: Splitting | None = None,
    adopting: Adopting | None = None,
) -> NDArray[np.int64]:
    """The domains of the units if they are placed by eq. 7 in their order, into an empty index.

    Then, if that is wanted, broad ones are split and units adopted, once, as a night would do it.
    Weights are those that the units got when they were read; what the clock had frozen then is
    not computed again.
    """
    index = DomainIndex(settings)
    if learned.significance is not None:
        index.learn_significance(learned.significance)
    weights = np.rint(learned.weights.data * SCALE).astype(np.int32)
    counts = learned.counts.data.astype(np.int32)
    words = learned.counts.indices.astype(np.int32)
    bags = [
        Bag(words[start:end], counts[start:end], weights[start:end])
        for start, end in pairwise(learned.counts.indptr.tolist())
    ]
    labels = np.zeros(len(bags), dtype=np.int64)
    for row, bag in enumerate(bags):
        found = index.place(bag).domain
        labels[row] = index.create() if found is None else found
        index.absorb(int(labels[row]), bag)
    if splitting is not None:
        for domain in list(index):
            members = np.flatnonzero(labels == domain)
            for part in parts(index, [bags[row] for row in members.tolist()], splitting):
                labels[members[part]] = index.create()
                for row in members[part].tolist():
                    index.absorb(domain, bags[row], -1)
                    index.absorb(int(labels[row]), bags[row])
    if adopting is not None:
        moved = adopt(index, dict(enumerate(bags)), dict(enumerate(labels.tolist())), adopting)
        for row, place in moved.items():
            assert place.domain is not None
            labels[row] = place.domain
    return labels


def curve(
    learned: LearnedUnits,
    settings: PlacementSettings,
    thresholds: Iterable[float],
    cluster: Callable[[Rows, int], Labels],
    *,
    min_units: int,
    word_cut: float,
    seed: int = 0,
    splitting: Splitting | None = None,
    adopting: Adopting | None = None,
    watch: Callable[[float], None] | None = None,
) -> list[dict[str, Any]]:
    """Kappa against the share of units in stable domains, for each learning threshold.

    `cluster` takes rows and a number of clusters, that of the stable domains.
    """
    points = []
    for threshold in thresholds:
        if watch is not None:
            watch(threshold)
        labels = replay(learned, replace(settings, threshold=threshold), splitting, adopting)
        selection = select(replace(learned, domains=labels), min_units, word_cut)
        found = validate(selection, _into(cluster, selection.n_domains), seed)
        points.append(
            {"threshold": threshold, "all_domains": len(np.unique(labels)), **brief(found)}
        )
    return points


def _into(cluster: Callable[[Rows, int], Labels], k: int) -> Callable[[Rows], Labels]:
    return lambda rows: cluster(rows, k)
