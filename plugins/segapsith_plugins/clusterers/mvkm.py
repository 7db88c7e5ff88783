"""MVKM: multi-view spherical k-means (Bickel & Scheffer 2004).

The views alternate: the centres in a view are computed from the groups of the previous view, and
each row goes to the nearest centre there. At the end, the centres of each view are computed from
the rows on which all views agree, and a row goes to the group with the largest sum of cosines.
Details are recalled from the literature.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Rows, Views
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.rounds import cluster_in_turn
from segapsith_plugins._views import Blocks, Cut, column_blocks, named_views, read_blocks
from segapsith_plugins.clusterers._row_algebra import (
    canonical,
    check_choice,
    check_whole,
    far_apart,
    membership,
    spread,
    unit_rows,
)

__all__ = ["MvKm"]

Floats = NDArray[np.float64]


class MvKm:
    """At most `k` groups of rows with several views; `compare` is not needed.

    `cluster` accepts a mapping of view name to matrix over the same rows, or one matrix, which
    `views` divides into N blocks of columns (or into the given lists; 1: spherical k-means), by
    `blocks` = `random` or `clusters`. Each of `n_init` starts begins with groups around rows that
    are far apart in the first view, and ends when the sum of the cosines over all views has not
    risen for `patience` rounds. The best round counts, and the best start is returned. A row that
    is empty in a view has the group of the previous view there.

    After `cluster`: `objective_`, the sum of the cosines of rows and final centres over all views;
    `objectives_`, one per start; `trace_`, the best sum so far in the best start, by round.
    """

    takes_views: ClassVar[bool] = True

    def __init__(
        self,
        *,
        k: int = 8,
        views: Cut = 1,
        blocks: Blocks = "random",
        n_init: int = 10,
        patience: int = 20,
        max_rounds: int = 500,
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("patience", patience, 1)
        check_whole("max_rounds", max_rounds, 1)
        check_choice("blocks", blocks, ("random", "clusters"))
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.blocks: Blocks = blocks
        self.n_init = n_init
        self.patience = patience
        self.max_rounds = max_rounds
        self.seed = seed
        self._cut = read_blocks(views)
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()
        self.trace_: tuple[float, ...] = ()

    def cluster(self, rows: Rows | Views, compare: Compare | None = None) -> Labels:
        """Return one group per row."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows | Views, compare: Compare | None) -> _Prepared:
        """Return the rows of each view with length 1."""
        views = self._views(rows)
        seen = sum(np.diff(view.indptr) > 0 for view in views)
        where = np.flatnonzero(seen).astype(np.int64)
        units = [unit_rows(view[where]) for view in views] if len(where) else []
        return _Prepared(units, min(self.k, len(where)), where, views[0].shape[0])

    def rounds(
        self, prepared: _Prepared
    ) -> Generator[Sequence[int], Sequence[tuple[Labels, float, tuple[float, ...]]], Labels]:
        """Yield the numbers of the starts, and return the labels of the best."""
        self.objective_, self.objectives_, self.trace_ = 0.0, (), ()
        if not len(prepared.where):
            return np.full(prepared.n_rows, -1, dtype=np.int64)
        runs = yield range(self.n_init)
        self.objectives_ = tuple(objective for _, objective, _ in runs)
        self.objective_ = max(self.objectives_)
        best, _, self.trace_ = runs[self.objectives_.index(self.objective_)]
        return spread(best, prepared.where, prepared.n_rows)

    def part(self, prepared: _Prepared, part: int) -> tuple[Labels, float, tuple[float, ...]]:
        """Return the labels, the objective and its trace from the start with this number."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part,)))
        labels, objective, trace = self._run(prepared.units, prepared.k, rng)
        return labels, objective, tuple(trace)

    def _views(self, rows: Rows | Views) -> list[Rows]:
        if isinstance(rows, Mapping):
            if self._cut != 1:
                raise ValueError(
                    "views divides one matrix, but a mapping was given, which has its own views"
                )
            named = named_views(rows, "mvkm")
            sizes = {name: view.shape[0] for name, view in named.items()}
            if len(set(sizes.values())) > 1:
                raise ValueError(f"views should be over the same rows, but have {sizes}")
            return list(named.values())
        whole = canonical(rows)
        columns = whole.tocsc()
        cut = column_blocks(whole, self._cut, self.blocks, self.seed)
        return [columns[:, block].tocsr() for block in cut]

    def _run(
        self, units: list[Rows], k: int, rng: np.random.Generator
    ) -> tuple[Labels, float, list[float]]:
        """Return labels, objective and the best sum by round, from one start."""
        n_views = len(units)
        first = far_apart(units[0], k, rng)
        partitions = [first] * n_views
        sums = [-math.inf] * n_views
        best, best_partitions, since = -math.inf, list(partitions), 0
        trace: list[float] = []
        previous = 0
        for turn in range(self.max_rounds):
            view = turn % n_views
            taught = partitions[previous]
            cosines = units[view] @ _centres(units[view], taught, k).T.toarray()
            partitions[view] = _nearest(cosines, taught)
            sums[view] = float(cosines[np.arange(len(taught)), partitions[view]].sum())
            previous = view
            total = math.fsum(sums) if all(map(math.isfinite, sums)) else -math.inf
            if total > best + 1e-9 or turn < n_views:
                best, best_partitions, since = total, list(partitions), 0
            else:
                since += 1
            if math.isfinite(best):
                trace.append(best)
            if since >= self.patience:
                break
        labels, objective = _consensus(units, best_partitions, k)
        return labels, objective, trace


class _Prepared(NamedTuple):
    """The rows of each view with length 1, the number of groups, and where the rows are."""

    units: list[Rows]
    k: int
    where: NDArray[np.int64]
    n_rows: int


def _centres(units: Rows, labels: Labels, k: int) -> Rows:
    """Return the sums of the groups at length 1; a group without rows has 0."""
    return unit_rows(membership(labels, k) @ units)


def _nearest(cosines: Floats, taught: Labels) -> Labels:
    """Return the nearest centre of each row; ties go to the group in the previous view."""
    every = np.arange(len(taught))
    nearest = cosines.argmax(axis=1)
    better = cosines[every, nearest] > cosines[every, taught] + 1e-12
    return np.where(better, nearest, taught)


def _consensus(units: list[Rows], partitions: list[Labels], k: int) -> tuple[Labels, float]:
    """Return the labels by the sum of cosines, and that sum.

    The centres are those of the rows on which all views agree.
    """
    first = partitions[0]
    agreed = np.all([labels == first for labels in partitions], axis=0)
    total = np.zeros((len(first), k))
    for view, labels in zip(units, partitions, strict=True):
        settled = np.where(agreed, labels, -1)
        lost = np.bincount(settled[agreed], minlength=k) == 0
        settled = np.where(
            lost[labels], labels, settled
        )  # a group without agreement does not change
        total += view @ _centres(view, settled, k).T.toarray()
    labels = _nearest(total, partitions[-1])
    return labels, float(total[np.arange(len(labels)), labels].sum())


@hookimpl
def register_clusterers() -> Mapping[str, type[MvKm]]:
    return {"mvkm": MvKm}
