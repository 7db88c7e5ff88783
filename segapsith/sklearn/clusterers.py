"""Clusterers as estimators with `fit`, `fit_predict` and `labels_`; some also with `predict`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from segapsith.api.wire import clusterer, similarity
from segapsith.arrays import Compare, Labels, Matrix, Rows
from segapsith.plugin.guards import GuardedClusterer
from segapsith.sklearn.matrices import RowEstimator, seed_of

__all__ = ["AHC", "ITCC", "EntropyKMeans", "KMedoids", "SphericalKMeans"]

PRECOMPUTED = "precomputed"
"""Value of `similarity` for input that is a matrix of similarities already."""


class _Clusterer(ClusterMixin, RowEstimator):
    """A clusterer of rows; an empty row has the label -1."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X; `labels_` has the cluster of each."""
        rows = self._rows(X, reset=True)
        self._cluster(rows)
        return self

    def _cluster(self, rows: Rows) -> None:
        made = self._made()
        self.labels_ = made.cluster(rows, None)
        self._learned(made.plugin, rows)

    def _made(self) -> GuardedClusterer:
        """Make the plugin with the parameters of this estimator."""
        raise NotImplementedError

    def _learned(self, plugin: Any, rows: Rows) -> None:
        """Set the attributes that describe the result."""
        raise NotImplementedError


class EntropyKMeans(_Clusterer):
    """At most `n_clusters` clusters of low conditional entropy of the words.

    The parameters are those of the clusterer `entropy-kmeans`. Rows contain counts, or other
    values >= 0. After `fit`: `labels_`, `entropy_` in nats, and `word_counts_`, the sums of the
    words of each cluster. `predict` assigns a row to the cluster whose entropy it raises least.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "sequential",
        split_merge: bool | None = None,
        n_init: int | None = None,
        max_sweeps: int = 100,
        unit_mass: str = "counts",
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.split_merge = split_merge
        self.n_init = n_init
        self.max_sweeps = max_sweeps
        self.unit_mass = unit_mass
        self.random_state = random_state

    def _made(self) -> GuardedClusterer:
        return clusterer(
            "entropy-kmeans",
            k=self.n_clusters,
            method=self.method,
            split_merge=self.split_merge,
            n_init=self.n_init,
            max_sweeps=self.max_sweeps,
            unit_mass=self.unit_mass,
            seed=seed_of(self.random_state),
        )

    def _learned(self, plugin: Any, rows: Rows) -> None:
        self.entropy_ = float(plugin.entropy_)
        self.word_counts_ = _sums(self._masses(rows), self.labels_)

    def _masses(self, rows: Rows) -> Rows:
        if self.unit_mass == "counts":
            return rows
        totals = np.asarray(rows.sum(axis=1)).ravel()
        return _scaled(rows, totals)

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each row; -1 for an empty one."""
        check_is_fitted(self)
        rows = self._masses(self._rows(X, reset=False))
        sizes = self.word_counts_.sum(axis=1)
        totals = np.asarray(rows.sum(axis=1)).ravel()
        labels = np.full(rows.shape[0], -1, dtype=np.int64)
        for i in np.flatnonzero(totals > 0).tolist():
            inside = slice(rows.indptr[i], rows.indptr[i + 1])
            before = self.word_counts_[:, rows.indices[inside]]
            gain = (_xlogx(before + rows.data[inside]) - _xlogx(before)).sum(axis=1)
            labels[i] = np.argmin(_xlogx(sizes + totals[i]) - _xlogx(sizes) - gain)
        return labels


class SphericalKMeans(_Clusterer):
    """At most `n_clusters` clusters with a high sum of cosines to their centres.

    The parameters are those of the clusterer `spherical-kmeans`. After `fit`: `labels_`,
    `objective_` and `cluster_centers_`, of length 1. `predict` assigns a row to the centre with
    the highest cosine.
    """

    _accepts_negative = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iterations: int = 100,
        start: str = "far",
        single_moves: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iterations = max_iterations
        self.start = start
        self.single_moves = single_moves
        self.random_state = random_state

    def _made(self) -> GuardedClusterer:
        return clusterer(
            "spherical-kmeans",
            k=self.n_clusters,
            n_init=self.n_init,
            max_iterations=self.max_iterations,
            start=self.start,
            single_moves=self.single_moves,
            seed=seed_of(self.random_state),
        )

    def _learned(self, plugin: Any, rows: Rows) -> None:
        self.objective_ = float(plugin.objective_)
        self.cluster_centers_ = _unit_length(_sums(_scaled(rows, _lengths(rows)), self.labels_))

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each row; -1 for an empty one."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return _nearest(rows, rows @ self.cluster_centers_.T)


class _BySimilarity(_Clusterer):
    """A clusterer that compares rows: by cosine, by a named similarity, or by a given matrix."""

    _accepts_negative = True
    similarity: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.similarity == PRECOMPUTED
        return tags

    def _cluster(self, rows: Rows) -> None:
        made = self._made()
        compared, compare = self._compared(rows)
        self.labels_ = made.cluster(compared, compare)
        self._learned(made.plugin, rows)

    def _compared(self, rows: Rows) -> tuple[Rows, Compare]:
        """Return the rows to cluster and what compares them."""
        if self.similarity != PRECOMPUTED:
            measure = similarity(self.similarity)
            measure.learn(rows)
            return rows, measure.compare
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"X has shape {rows.shape}; similarity='precomputed' needs a square matrix of the"
                " similarities of all pairs of rows"
            )
        matrix = rows.toarray()
        numbers = np.flatnonzero(matrix.any(axis=1))
        places = csr_array((np.ones(len(numbers)), (numbers, numbers)), shape=rows.shape)

        def compare(left: Rows, right: Rows) -> Matrix:
            block: Matrix = matrix[np.ix_(left.indices, right.indices)]
            return block

        return places, compare


class KMedoids(_BySimilarity):
    """At most `n_clusters` clusters, each around one of its rows.

    `similarity` is the name of a similarity, or `precomputed` if X is a matrix of similarities.
    The other parameters are those of the clusterer `kmedoids`. After `fit`: `labels_`, `objective_`
    and `medoid_indices_`. With cosine, `predict` assigns a row to the most similar medoid.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        similarity: str = "cosine",
        n_init: int = 5,
        max_passes: int = 100,
        distance_from: str = "one-minus",
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.n_init = n_init
        self.max_passes = max_passes
        self.distance_from = distance_from
        self.random_state = random_state

    def _made(self) -> GuardedClusterer:
        return clusterer(
            "kmedoids",
            k=self.n_clusters,
            n_init=self.n_init,
            max_passes=self.max_passes,
            distance_from=self.distance_from,
            seed=seed_of(self.random_state),
        )

    def _learned(self, plugin: Any, rows: Rows) -> None:
        self.medoid_indices_ = np.asarray(plugin.medoids_, dtype=np.int64)
        self.objective_ = float(plugin.objective_)
        self.cluster_centers_ = rows[self.medoid_indices_].toarray()

    def predict(self, X: Any) -> Labels:
        """Return the cluster of each row; -1 for an empty one.

        With `precomputed`, X has the similarities of each row to the rows that were fitted. A
        similarity other than cosine has to be precomputed for this.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        if self.similarity == PRECOMPUTED:
            return _nearest(rows, rows[:, self.medoid_indices_].toarray())
        if self.similarity != "cosine":
            raise ValueError(
                f"predict with similarity={self.similarity!r} is not defined; use 'cosine', or"
                " 'precomputed' after a transformer such as ChiSim"
            )
        return _nearest(rows, rows @ _unit_length(self.cluster_centers_).T)


class AHC(_BySimilarity):
    """Groups from a merge tree, cut at `n_clusters`, at a `distance`, or by the data.

    `similarity` is the name of a similarity, or `precomputed` if X is a matrix of similarities.
    The other parameters are those of the clusterer `ahc`. After `fit`: `labels_` and `tree_`, the
    merges in SciPy's form. There is no `predict`: a tree is of the rows that were fitted.
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        similarity: str = "cosine",
        distance: float | None = None,
        farthest: float | None = None,
        linkage: str = "average",
        mass: str = "equal",
        distance_from: str | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.similarity = similarity
        self.distance = distance
        self.farthest = farthest
        self.linkage = linkage
        self.mass = mass
        self.distance_from = distance_from

    def _made(self) -> GuardedClusterer:
        return clusterer(
            "ahc",
            k=self.n_clusters,
            distance=self.distance,
            farthest=self.farthest,
            linkage=self.linkage,
            mass=self.mass,
            distance_from=self.distance_from,
        )

    def _learned(self, plugin: Any, rows: Rows) -> None:
        self.tree_ = np.asarray(plugin.tree_)


class ITCC(_Clusterer):
    """At most `n_clusters` groups of rows, found together with groups of words.

    The parameters are those of the clusterer `itcc`. Rows contain counts, or other values >= 0.
    After `fit`: `labels_`, `column_labels_` (-1 for an empty column), and `objective_`, the mutual
    information of both in nats. There is no `predict`: groups are of the rows that were fitted.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        word_clusters: int | None = None,
        n_init: int = 5,
        max_rounds: int = 50,
        random_state: Any = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.word_clusters = word_clusters
        self.n_init = n_init
        self.max_rounds = max_rounds
        self.random_state = random_state

    def _made(self) -> GuardedClusterer:
        return clusterer(
            "itcc",
            k=self.n_clusters,
            word_clusters=self.word_clusters,
            n_init=self.n_init,
            max_rounds=self.max_rounds,
            seed=seed_of(self.random_state),
        )

    def _learned(self, plugin: Any, rows: Rows) -> None:
        self.column_labels_ = np.asarray(plugin.word_labels_, dtype=np.int64)
        self.objective_ = float(plugin.objective_)


def _xlogx(values: Matrix) -> Matrix:
    safe = np.where(values > 0, values, 1.0)
    result: Matrix = values * np.log(safe)
    return result


def _lengths(rows: Rows) -> Matrix:
    lengths: Matrix = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return lengths


def _scaled(rows: Rows, sizes: NDArray[np.float64]) -> Rows:
    """Return each row divided by its size."""
    data = rows.data / np.repeat(np.where(sizes > 0, sizes, 1.0), np.diff(rows.indptr))
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _sums(rows: Rows, labels: Labels) -> Matrix:
    """Return the sum of the rows of each cluster."""
    members = np.flatnonzero(labels >= 0)
    ones = np.ones(len(members))
    shape = (int(labels.max(initial=-1)) + 1, len(labels))
    sums: Matrix = (csr_array((ones, (labels[members], members)), shape=shape) @ rows).toarray()
    return sums


def _unit_length(rows: Matrix) -> Matrix:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Matrix = rows / np.where(lengths > 0, lengths, 1.0)
    return scaled


def _nearest(rows: Rows, similar: Matrix) -> Labels:
    """Return the most similar centre of each row; -1 for an empty row."""
    filled = np.asarray(abs(rows).sum(axis=1)).ravel() > 0
    return np.where(filled, np.argmax(similar, axis=1), -1).astype(np.int64)
