"""Scores of one model under one algorithm on one set, for the GVSM tables.

Similarities are cosines, distances 1 - cosine. Linkages are cut at the number of classes, and equal
pairs are merged in the order of the paper's program (`tie_order`).
Spherical k-means starts ten times from documents drawn at random, moves all documents at once for
at most 100 rounds, and the start with the best objective counts. Single documents are not moved
afterwards: the text of the paper has such moves, but its figures agree only without them.

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
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Matrix, State
from segapsith_plugins.clusterers.ahc import groups_after, merge_tree
from segapsith_reproduce import Options
from segapsith_reproduce.cells import Results, Scores, mean_and_sd, plugins, scores_of, truncated
from segapsith_reproduce.gvsm.sets import counts_of, folder_of, tf_idf_of
from segapsith_reproduce.gvsm.tie_order import cut, sorted_by_class, ties_decide

__all__ = [
    "ALGORITHMS",
    "EXPLICIT",
    "LATENT",
    "LINKAGES",
    "MEASURES",
    "N_RUNS",
    "SAMPLED",
    "Measured",
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
N_TIE_BREAKS = 10
"""Ways to break ties that are tried: orders of the documents, and noise in the last digits."""

Measured = Mapping[str, float]
"""A value for each measure."""


@lru_cache(maxsize=1)
def _directions(folder: Path, similarity: str) -> State:
    """Return all latent directions of a set."""
    measure = plugins().make("similarity", similarity, {"rank": max(RANKS)})
    measure.learn(tf_idf_of(folder))
    state: State = measure.state()
    return state


@lru_cache(maxsize=1)
def _factors(folder: Path, similarity: str, rank: int) -> Matrix:
    """Return the documents in the first `rank` latent directions, with length 1."""
    measure = truncated(similarity, _directions(folder, similarity), rank)
    factors: Matrix = measure.factors(tf_idf_of(folder))
    lengths = np.linalg.norm(factors, axis=1)
    return factors / np.where(lengths > 0, lengths, 1.0)[:, None]


@lru_cache(maxsize=1)
def _cosines(folder: Path, similarity: str, sample: float | None, seed: int) -> Matrix:
    """Return the similarities of all documents in an explicit model."""
    rows = tf_idf_of(folder)
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
class Scorer:
    """Computes scores of the sets in a folder, and stores them in a file if one is given."""

    data: Path
    options: Options
    results: Results[Scores]

    @property
    def n_repetitions(self) -> int:
        """The number of runs of spherical k-means."""
        return self.options.repetitions or (2 if self.options.quick else N_RUNS)

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
        if linkage != "complete" or not self._linked(name, "VSM", None, 0)[f"{linkage} tied"]:
            return {}
        scores = [self._with_other_ties(name, way) for way in range(N_TIE_BREAKS)]
        return {
            measure: (min(s[ours] for s in scores), max(s[ours] for s in scores))
            for measure, ours in MEASURES.items()
        }

    def _with_other_ties(self, name: str, way: int) -> dict[str, float]:
        """Return the scores of VSM with complete linkage, documents shuffled or ties noisy."""
        folder = self.data / folder_of(name)
        seed = self.options.seed

        def compute() -> dict[str, float]:
            classes = counts_of(folder)[1]
            rng = np.random.default_rng([seed, way])
            similar = _cosines(folder, "cosine", None, 0)
            order = None
            if way % 2:  # as if the last digits were rounding errors
                noise = rng.random(similar.shape)
                similar = similar - 1e-13 * (noise + noise.T)
            else:
                order = rng.permutation(len(classes))
            linked = _by_linkages(similar, classes, order, ["complete"])
            return _of_linkage(linked, "HAC complete")

        return self.results.get(("gvsm", folder.name, "VSM", "tied orders", way, seed), compute)

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
        return [self._clustered(name, model, rank, run) for run in range(self.n_repetitions)]

    def _linked(self, name: str, model: str, rank: int | None, draw: int) -> dict[str, float]:
        """Return the scores of both linkages."""
        folder = self.data / folder_of(name)
        seed = self.options.seed + draw

        def compute() -> dict[str, float]:
            return _by_linkages(_similar(folder, model, rank, seed), counts_of(folder)[1])

        return self.results.get(
            ("gvsm", folder.name, model, rank, "linkages by class", seed), compute
        )

    def _clustered(self, name: str, model: str, rank: int | None, run: int) -> dict[str, float]:
        """Return the scores of a run of spherical k-means."""
        folder = self.data / folder_of(name)
        seed = self.options.seed + run

        def compute() -> dict[str, float]:
            classes = counts_of(folder)[1]
            return scores_of(_spherical(folder, model, rank, seed), classes)

        return self.results.get(("gvsm", folder.name, model, rank, "spherical", seed), compute)


def _of_linkage(linked: Measured, algorithm: str) -> dict[str, float]:
    return {ours: linked[f"{LINKAGES[algorithm]} {ours}"] for ours in MEASURES.values()}


def _similar(folder: Path, model: str, rank: int | None, seed: int) -> Matrix:
    """Return the cosines of all documents in a model; the seed draws rows of sampled models."""
    if rank is not None:
        factors = _factors(folder, LATENT[model], rank)
        return factors @ factors.T
    if model in SAMPLED:
        return _cosines(folder, "gvsm-cov", SAMPLED[model], seed)
    return _cosines(folder, EXPLICIT[model], None, 0)


def _spherical(folder: Path, model: str, rank: int | None, seed: int) -> Labels:
    """Return clusters of spherical k-means in the space of a model.

    Short or sparse rows are clustered themselves. Where a row has one value per document, the
    cosines are.
    """
    settings = {
        "k": len(set(counts_of(folder)[1])), "seed": seed, "start": "random", "single_moves": False,
    }  # fmt: skip
    clusterer = plugins().make("clusterer", "spherical-kmeans", settings)
    labels: Labels
    if rank is not None:
        labels = clusterer.cluster(csr_array(_factors(folder, LATENT[model], rank)), None)
    elif model == "VSM":
        labels = clusterer.cluster(tf_idf_of(folder), None)
    else:
        # Beyond the contract of a clusterer, so the plugin behind the guard is called.
        own: Any = clusterer.plugin
        labels = own.cluster_by_cosines(_similar(folder, model, None, seed))
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
