"""Scores of one model under one algorithm on one set, for the GVSM tables.

Similarities are cosines, distances 1 - cosine. Linkages are cut at the number of classes, and equal
pairs are merged in the order of the paper's program (`tie_order`).
Spherical k-means starts ten times from documents drawn at random, moves all documents at once for
at most 100 rounds, and the start with the best objective counts. Single documents are not moved
afterwards: the text of the paper has such moves, but its figures agree only without them. In latent
models documents keep their length there (`weighted_kmeans`); only so the printed figures come out.

A latent model has one set of directions, and d dimensions are the first d of them, d from 5 to 100.
The paper does not state how its 50 runs and ten best dimensions are combined. Here each number of
dimensions has its mean over the runs, and the mean of the ten best of these counts (`mean_of_best`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Matrix, Rows, State
from segapsith_plugins.clusterers.ahc import groups_after, merge_tree
from segapsith_reproduce import Options
from segapsith_reproduce.cells import (
    GridCell,
    LabelledRows,
    Results,
    Scores,
    compute_cells,
    in_groups,
    mean_and_sd,
    plugins,
    scores_of,
    truncated,
)
from segapsith_reproduce.gvsm.sets import document_set, folder_of, tf_idf_rows
from segapsith_reproduce.gvsm.tie_order import cut, sorted_by_class, ties_decide
from segapsith_reproduce.gvsm.weighted_kmeans import cluster_weighted

__all__ = [
    "ALGORITHMS",
    "EXPLICIT",
    "LATENT",
    "LINKAGES",
    "MEASURES",
    "N_RUNS",
    "SAMPLED",
    "Measured",
    "ScoreCell",
    "Scorer",
    "mean_of_best",
]

SPHERICAL = "spherical k-means"
LINKAGES = {"HAC complete": "complete", "HAC average": "average"}
ALGORITHMS = (SPHERICAL, *LINKAGES)
EXPLICIT: Mapping[str, str] = {
    "VSM": "cosine",
    "ASSC-N": "gvsm-assc-n",
    "ASSC": "gvsm-assc",
    "PCORR": "gvsm-pcorr",
    "COV": "gvsm-cov",
}
LATENT: Mapping[str, str] = {
    "LSI": "lsa", "PCA": "pca", "LSI-COV": "lsi-cov", "PCA-COV": "pca-cov",
}  # fmt: skip
SAMPLED: Mapping[str, float] = {"COV-10%": 0.1, "COV-20%": 0.2}
MEASURES: Mapping[str, str] = {
    "F-measure": "f",
    "entropy": "entropy",
    "purity": "purity",
    "VD": "van_dongen",
    "VI": "variation",
}
"""The measures as the paper names them, and our names of them."""
LARGER = frozenset({"F-measure", "purity"})
"""Measures of which the larger value is better."""

RANKS = tuple(range(5, 101))
QUICK_RANKS = RANKS[::3]
QUICK_RUN_RANKS = (5, 10, 15, 20, 30, 45, 65, 90)
"""Numbers of dimensions with `--quick` under linkages, and under spherical k-means."""
N_BEST = 10
"""Number of best dimensions of which the mean is printed, of all in `RANKS`."""
N_RUNS = 50
"""Runs of spherical k-means in the paper."""
QUICK_RUNS, QUICK_RUNS_OF_RANK = 10, 6
"""Runs with `--quick` of an explicit model, and of a latent model with a number of dimensions."""
LINKED, RUN, TIED = "linkages by class", "spherical", "tied orders"
"""Kinds of cells, as they are named in stored results."""
TIED_LINKAGE = "complete tied"
"""The score that says whether ties decide complete linkage."""
N_TIE_BREAKS = 10
"""Ways to break ties that are tried: orders of the documents, and noise in the last digits."""

Measured = Mapping[str, float]
"""A value for each measure."""


@lru_cache(maxsize=2)
def _weighted(held: LabelledRows) -> Rows:
    """Return the tf-idf rows of a set."""
    return tf_idf_rows(held)


@lru_cache(maxsize=1)
def _directions(held: LabelledRows, similarity: str) -> State:
    """Return all latent directions of a set."""
    measure = plugins().make("similarity", similarity, {"rank": max(RANKS)})
    measure.learn(_weighted(held))
    state: State = measure.state()
    return state


@lru_cache(maxsize=1)
def _factors(held: LabelledRows, similarity: str, rank: int) -> Matrix:
    """Return the documents in the first `rank` latent directions, with their lengths there."""
    measure = truncated(similarity, _directions(held, similarity), rank)
    factors: Matrix = measure.factors(_weighted(held))
    return factors


@lru_cache(maxsize=1)
def _cosines(held: LabelledRows, similarity: str, sample: float | None, seed: int) -> Matrix:
    """Return the similarities of all documents in an explicit model."""
    rows = _weighted(held)
    settings = {} if sample is None else {"sample": sample, "seed": seed}
    measure = plugins().make("similarity", similarity, settings)
    measure.learn(rows)
    similar: Matrix = measure.compare(rows, rows)
    return similar


def _condensed(similar: Matrix, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 - similarity for all pairs of documents in that order, in SciPy's condensed form."""
    n = len(order)
    distances = np.empty(n * (n - 1) // 2)
    filled = 0
    for i in range(n - 1):
        distances[filled : filled + n - 1 - i] = similar[order[i], order[i + 1 :]]
        filled += n - 1 - i
    np.subtract(1.0, distances, out=distances)
    return distances


def _by_linkages(
    similar: Matrix,
    classes: Sequence[str],
    order: NDArray[np.int64] | None = None,
    linkages: Iterable[str] = tuple(LINKAGES.values()),
) -> dict[str, float]:
    """Return the scores of linkages; names of scores follow the linkage.

    The order of the documents, by default that of their classes, decides which of equal pairs
    complete linkage merges.
    """
    order = sorted_by_class(classes) if order is None else order
    order = order[similar.diagonal()[order] > 0.5]  # an empty document is similar to none
    distances = _condensed(similar, order)
    k = min(len(set(classes)), len(order))
    scores: dict[str, float] = {}
    for linkage in linkages:
        tree = merge_tree(distances.copy(), linkage)
        labels = np.full(len(classes), -1, dtype=np.int64)
        is_complete = linkage == "complete"
        labels[order] = cut(tree, k) if is_complete else groups_after(tree, len(order) - k)
        scores |= {f"{linkage} {m}": value for m, value in scores_of(labels, classes).items()}
        scores[f"{linkage} tied"] = float(is_complete and ties_decide(tree, k))
    return scores


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """The scores of a model on a set: by both linkages, by one run, or with ties broken one way."""

    set: str
    """The folder of the set."""
    model: str
    rank: int | None
    """The number of dimensions of a latent model."""
    kind: str
    """`LINKED`, `RUN` or `TIED`."""
    seed: int
    way: int = 0
    """The number of a way to break ties."""

    @property
    def name(self) -> str:
        """The name of the cell in stored results."""
        if self.kind == TIED:
            return f"gvsm {self.set} {self.model} {TIED} {self.way} {self.seed}"
        kind = "weighted spherical" if self.kind == RUN and self.rank is not None else self.kind
        return f"gvsm {self.set} {self.model} {self.rank} {kind} {self.seed}"

    def scores(self, rows: Mapping[str, LabelledRows]) -> Scores:
        """Return the scores."""
        held = rows[self.set]
        if self.kind == TIED:
            return self._with_other_ties(held)
        if self.kind == RUN:
            return scores_of(_spherical(held, self.model, self.rank, self.seed), held.classes)
        return _by_linkages(_similar(held, self.model, self.rank, self.seed), held.classes)

    def _with_other_ties(self, held: LabelledRows) -> Scores:
        """Return the scores of complete linkage, documents shuffled or ties noisy."""
        rng = np.random.default_rng([self.seed, self.way])
        similar = _similar(held, self.model, None, 0)
        order = None
        if self.way % 2:  # as if the last digits were rounding errors
            noise = rng.random(similar.shape)
            similar = similar - 1e-13 * (noise + noise.T)
        else:
            order = rng.permutation(len(held.classes))
        linked = _by_linkages(similar, held.classes, order, ["complete"])
        return _of_linkage(linked, "HAC complete")


@dataclass(frozen=True, slots=True)
class Scorer:
    """Computes scores of the sets in a folder, and stores them in a file if one is given."""

    data: Path
    options: Options
    results: Results[Scores]

    def compute(self, names: Sequence[str], models: Iterable[str], *, ties: bool = False) -> None:
        """Compute all cells of the sets and models, in the workers; with ties of VSM if wanted.

        Large sets come first, so that the workers end at about the same time.
        """
        models = list(models)
        pairs = [(name, model) for name in reversed(names) for model in models]
        self._compute(
            names,
            [group for name, model in pairs for group in in_groups(self._cells(name, model))],
        )
        if ties:
            tied = [name for name in names if self._linked(name, "VSM", None, 0)[TIED_LINKAGE]]
            ways = [[self._tie(name, way)] for name in tied for way in range(N_TIE_BREAKS)]
            self._compute(tied, ways)

    def _compute(self, names: Sequence[str], groups: Iterable[Sequence[GridCell]]) -> None:
        folders = {folder_of(name): self.data / folder_of(name) for name in names}
        compute_cells(
            self.results,
            self.options,
            groups,
            lambda: {name: document_set(folder) for name, folder in folders.items()},
        )

    def _cells(self, name: str, model: str) -> list[ScoreCell]:
        """Return the cells of a model on a set; those of one number of dimensions are neighbours."""
        kinds: list[tuple[int | None, str, int]]
        if model in SAMPLED:
            draws = range(self.n_draws)
            kinds = [(None, kind, draw) for draw in draws for kind in (LINKED, RUN)]
        else:
            runs = range(self.n_runs(model))
            ranks = self.ranks(SPHERICAL) if model in LATENT else (None,)
            linked = self.ranks("HAC average") if model in LATENT else (None,)
            kinds = [
                (rank, kind, run)
                for rank in (RANKS if model in LATENT else (None,))
                for kind, run in ((LINKED, 0), *((RUN, run) for run in runs))
                if rank in (linked if kind == LINKED else ranks)
            ]
        return [self._cell(name, model, rank, kind, number) for rank, kind, number in kinds]

    def _cell(self, name: str, model: str, rank: int | None, kind: str, number: int) -> ScoreCell:
        return ScoreCell(folder_of(name), model, rank, kind, self.options.seed + number)

    def _tie(self, name: str, way: int) -> ScoreCell:
        return ScoreCell(folder_of(name), "VSM", None, TIED, self.options.seed, way)

    def n_runs(self, model: str) -> int:
        """Return the number of runs of spherical k-means.

        With `--quick` a latent model has fewer runs, since each number of dimensions has as many.
        With two runs the signs of table 4 vary more by chance.
        """
        if self.options.repetitions:
            return self.options.repetitions
        return (
            (QUICK_RUNS_OF_RANK if model in LATENT else QUICK_RUNS)
            if self.options.quick
            else N_RUNS
        )

    @property
    def n_draws(self) -> int:
        """The number of samples of rows."""
        return self.options.repetitions or (2 if self.options.quick else 20)

    def ranks(self, algorithm: str) -> tuple[int, ...]:
        """Return the numbers of dimensions that are tried."""
        if not self.options.quick:
            return RANKS
        return QUICK_RANKS if algorithm in LINKAGES else QUICK_RUN_RANKS

    def measured(self, name: str, model: str, algorithm: str) -> Measured:
        """Return each measure of a model on a set, as the paper combines runs and dimensions."""
        if model not in LATENT:
            scores = self._scores(name, model, algorithm, None)
            return {m: mean_and_sd(s[ours] for s in scores)[0] for m, ours in MEASURES.items()}
        by_rank = [self._scores(name, model, algorithm, rank) for rank in self.ranks(algorithm)]
        return {
            measure: mean_of_best(
                np.array([[s[ours] for s in scores] for scores in by_rank]).T,
                larger_is_better=measure in LARGER,
            )
            for measure, ours in MEASURES.items()
        }

    def ties(self, name: str, algorithm: str) -> Mapping[str, tuple[float, float]]:
        """Return the range of each measure of VSM over ways to break ties, if ties decide.

        Documents that share no word have distance 1. Where complete linkage comes to such pairs
        before the cut, it is arbitrary which clusters are merged.
        """
        linkage = LINKAGES.get(algorithm)
        if linkage != "complete" or not self._linked(name, "VSM", None, 0)[TIED_LINKAGE]:
            return {}
        ways = [self._tie(name, way) for way in range(N_TIE_BREAKS)]
        self._compute([name], [[cell] for cell in ways])
        scores = [self.results[cell.name] for cell in ways]
        return {
            measure: (min(s[ours] for s in scores), max(s[ours] for s in scores))
            for measure, ours in MEASURES.items()
        }

    def _scores(
        self, name: str, model: str, algorithm: str, rank: int | None
    ) -> list[dict[str, float]]:
        """Return the scores of every draw or run; a linkage has one."""
        if model in SAMPLED:  # both while the similarities of a draw are in memory
            draws = [
                (self._linked(name, model, None, draw), self._clustered(name, model, None, draw))
                for draw in range(self.n_draws)
            ]
            is_linkage = algorithm in LINKAGES
            return [_of_linkage(tree, algorithm) if is_linkage else run for tree, run in draws]
        if algorithm in LINKAGES:
            return [_of_linkage(self._linked(name, model, rank, 0), algorithm)]
        return [self._clustered(name, model, rank, run) for run in range(self.n_runs(model))]

    def _linked(self, name: str, model: str, rank: int | None, draw: int) -> Scores:
        """Return the scores of both linkages."""
        return self._one(name, self._cell(name, model, rank, LINKED, draw))

    def _clustered(self, name: str, model: str, rank: int | None, run: int) -> Scores:
        """Return the scores of a run of spherical k-means."""
        return self._one(name, self._cell(name, model, rank, RUN, run))

    def _one(self, name: str, cell: ScoreCell) -> Scores:
        if cell.name not in self.results:
            self._compute([name], [[cell]])
        return self.results[cell.name]


def _of_linkage(linked: Measured, algorithm: str) -> dict[str, float]:
    return {ours: linked[f"{LINKAGES[algorithm]} {ours}"] for ours in MEASURES.values()}


def _similar(held: LabelledRows, model: str, rank: int | None, seed: int) -> Matrix:
    """Return the cosines of all documents in a model; the seed draws rows of sampled models."""
    if rank is not None:
        factors = _factors(held, LATENT[model], rank)
        lengths = np.linalg.norm(factors, axis=1)
        factors = factors / np.where(lengths > 0, lengths, 1.0)[:, None]
        return factors @ factors.T
    if model in SAMPLED:
        return _cosines(held, "gvsm-cov", SAMPLED[model], seed)
    return _cosines(held, EXPLICIT[model], None, 0)


def _spherical(held: LabelledRows, model: str, rank: int | None, seed: int) -> Labels:
    """Return clusters of spherical k-means in the space of a model.

    Rows of a latent model keep their length. Sparse rows have length 1. Where a row has one value per
    document, the cosines are clustered.
    """
    if rank is not None:
        factors = _factors(held, LATENT[model], rank)
        return cluster_weighted(factors, held.n_classes, seed=seed)
    settings = {
        "k": held.n_classes, "seed": seed, "start": "random", "single_moves": False,
    }  # fmt: skip
    clusterer = plugins().make("clusterer", "spherical-kmeans", settings)
    labels: Labels
    if model == "VSM":
        labels = clusterer.cluster(_weighted(held), None)
    else:
        # Beyond the contract of a clusterer, so the plugin behind the guard is called.
        own: Any = clusterer.plugin
        labels = own.cluster_by_cosines(_similar(held, model, None, seed))
    return labels


def mean_of_best(values: NDArray[np.float64], *, larger_is_better: bool) -> float:
    """Return the mean of the ten best of 96 dimensions, from values of runs × dimensions.

    A dimension has its mean over the runs. Of fewer dimensions the same share counts, at least one.
    The best of noisy means is too good, the more so the fewer runs there are. So with fewer than 50
    runs the best dimensions are also chosen without one run and judged by it. The difference to
    that falls with the square root of the number of runs, and is reduced to that of 50 runs.

    >>> mean_of_best(np.array([[1.0] * 6 + [0.5] * 90]), larger_is_better=True)
    0.8
    """
    n_runs, n_ranks = values.shape
    n_best = max(1.0, N_BEST * n_ranks / len(RANKS))
    weights = np.clip(n_best - np.arange(n_ranks), 0.0, 1.0) / n_best
    sign = -1.0 if larger_is_better else 1.0

    def best(chosen_by: NDArray[np.float64], judged_by: NDArray[np.float64]) -> float:
        return float(weights @ judged_by[np.argsort(sign * chosen_by, kind="stable")])

    means = values.mean(axis=0)
    of_all = best(means, means)
    if not 1 < n_runs < N_RUNS:
        return of_all
    sums = values.sum(axis=0)
    held_out = float(np.mean([best((sums - run) / (n_runs - 1), run) for run in values]))
    return held_out + (of_all - held_out) * math.sqrt(n_runs / N_RUNS)
