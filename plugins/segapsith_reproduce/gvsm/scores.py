"""Scores of one model under one algorithm on one set, for the GVSM tables.

Similarities are cosines, distances 1 - cosine. Linkages are cut at the number of classes.
Spherical k-means starts ten times from documents drawn at random, moves all documents at once for
at most 100 rounds, and the start with the best objective counts. Single documents are not moved
afterwards: the text of the paper has such moves, but its figures agree only without them.

A latent model has one set of directions, and d dimensions are the first d of them. Of each measure
the mean of the ten best numbers of dimensions counts, from 5 to 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from segapsith_reproduce.cells import Results, mean_and_sd, plugins, scores_of, truncated
from segapsith_reproduce.gvsm.sets import counts_of, folder_of, tf_idf_of

__all__ = [
    "ALGORITHMS",
    "EXPLICIT",
    "LATENT",
    "LINKAGES",
    "MEASURES",
    "SAMPLED",
    "Measured",
    "Scorer",
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
QUICK_RANKS = (5, 10, 15, 20, 30, 45, 65, 90)
N_BEST = 10
"""Number of best dimensions of which the mean is printed, of all in `RANKS`."""
N_ORDERS = 10
"""Orders of the documents in which complete linkage is repeated where ties decide."""

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


def _condensed(similar: Matrix) -> NDArray[np.float64]:
    """Return 1 - similarity for all pairs, in SciPy's condensed order."""
    n = len(similar)
    distances = np.empty(n * (n - 1) // 2)
    filled = 0
    for i in range(n - 1):
        distances[filled : filled + n - 1 - i] = similar[i, i + 1 :]
        filled += n - 1 - i
    np.subtract(1.0, distances, out=distances)
    return distances


def _by_linkages(similar: Matrix, classes: Sequence[str]) -> dict[str, float]:
    """Return the scores of both linkages; names of scores follow the linkage."""
    filled = np.flatnonzero(similar.diagonal() > 0.5)  # an empty document is similar to none
    if len(filled) < len(similar):
        similar = similar[np.ix_(filled, filled)]
    distances = _condensed(similar)
    scores: dict[str, float] = {}
    for linkage in LINKAGES.values():
        tree = merge_tree(distances.copy(), linkage)
        n_merges = max(0, len(filled) - len(set(classes)))
        labels = np.full(len(classes), -1, dtype=np.int64)
        labels[filled] = groups_after(tree, n_merges)
        scores |= {f"{linkage} {m}": value for m, value in scores_of(labels, classes).items()}
        around = tree[max(n_merges - 1, 0) : n_merges + 1, 2]
        scores[f"{linkage} tied"] = float(len(around) == 2 and around[1] - around[0] < 1e-12)
    return scores


@dataclass(frozen=True, slots=True)
class Scorer:
    """Computes scores of the sets in a folder, and stores them in a file if one is given."""

    data: Path
    options: Options
    results: Results

    @property
    def n_repetitions(self) -> int:
        """The number of runs of spherical k-means."""
        return self.options.repetitions or (2 if self.options.quick else 50)

    @property
    def n_draws(self) -> int:
        """The number of samples of rows."""
        return self.options.repetitions or (2 if self.options.quick else 20)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The numbers of dimensions that are tried."""
        return QUICK_RANKS if self.options.quick else RANKS

    def measured(self, name: str, model: str, algorithm: str) -> Measured:
        """Return each measure of a model on a set, as the paper combines repetitions."""
        if model in LATENT:
            by_rank = [self._repeated(name, model, algorithm, rank) for rank in self.ranks]
            return {
                measure: _best_tenth([values[measure] for values in by_rank], measure in LARGER)
                for measure in MEASURES
            }
        return self._repeated(name, model, algorithm, None)

    def ties(self, name: str, algorithm: str) -> Mapping[str, tuple[float, float]]:
        """Return the range of each measure of VSM over orders of the documents if ties decide.

        Documents that share no word have distance 1. Where complete linkage comes to such pairs
        before the cut, the order of the documents decides which clusters are merged.
        """
        linkage = LINKAGES.get(algorithm)
        if linkage != "complete" or not self._linked(name, "VSM", None, 0)[f"{linkage} tied"]:
            return {}
        scores = [self._in_other_order(name, order) for order in range(N_ORDERS)]
        return {
            measure: (min(s[ours] for s in scores), max(s[ours] for s in scores))
            for measure, ours in MEASURES.items()
        }

    def _in_other_order(self, name: str, order: int) -> dict[str, float]:
        """Return the scores of VSM with complete linkage of shuffled documents."""
        folder = self.data / folder_of(name)
        seed = self.options.seed

        def compute() -> dict[str, float]:
            classes = counts_of(folder)[1]
            shuffled = np.random.default_rng([seed, order]).permutation(len(classes))
            similar = _cosines(folder, "cosine", None, 0)[np.ix_(shuffled, shuffled)]
            linked = _by_linkages(similar, [classes[i] for i in shuffled.tolist()])
            return _of_linkage(linked, "HAC complete")

        return self.results.get(("gvsm", folder.name, "VSM", "order", order, seed), compute)

    def _repeated(self, name: str, model: str, algorithm: str, rank: int | None) -> Measured:
        """Return the mean of each measure over draws and runs."""
        scores = []
        if model in SAMPLED:  # both while the similarities of a draw are in memory
            for draw in range(self.n_draws):
                linked = self._linked(name, model, None, draw)
                run = self._clustered(name, model, None, draw)
                scores.append(_of_linkage(linked, algorithm) if algorithm in LINKAGES else run)
        elif algorithm in LINKAGES:
            scores.append(_of_linkage(self._linked(name, model, rank, 0), algorithm))
        else:
            runs = range(self.n_repetitions)
            scores += [self._clustered(name, model, rank, run) for run in runs]
        return {m: mean_and_sd(s[ours] for s in scores)[0] for m, ours in MEASURES.items()}

    def _linked(self, name: str, model: str, rank: int | None, draw: int) -> dict[str, float]:
        """Return the scores of both linkages."""
        folder = self.data / folder_of(name)
        seed = self.options.seed + draw

        def compute() -> dict[str, float]:
            return _by_linkages(_similar(folder, model, rank, seed), counts_of(folder)[1])

        return self.results.get(("gvsm", folder.name, model, rank, "linkages", seed), compute)

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


def _best_tenth(values: Sequence[float], larger_is_better: bool) -> float:
    """Return the mean of the ten best of 96 values, or of the same share of fewer values.

    >>> _best_tenth([1.0] * 6 + [0.5] * 90, True)
    0.8
    """
    n_best = max(1.0, N_BEST * len(values) / len(RANKS))
    ordered = sorted(values, reverse=larger_is_better)
    whole = int(n_best + 1e-9)
    total = sum(ordered[:whole]) + (n_best - whole) * (ordered[whole] if n_best > whole else 0.0)
    return total / n_best
