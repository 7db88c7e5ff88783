"""Clusterers as estimators agree with the plugins that they adapt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import segapsith
from segapsith.sklearn import AHC, ITCC, EntropyKMeans, KMedoids, SphericalKMeans
from segapsith_plugins.clusterers.entropy_kmeans import conditional_entropy

RNG = np.random.default_rng(5)
COUNTS = np.vstack(
    [
        RNG.poisson([3, 3, 3, 0.1, 0.1, 0.1, 1], (15, 7)),
        RNG.poisson([0.1, 0.1, 0.1, 3, 3, 3, 1], (15, 7)),
    ]
).astype(float)
ROWS = csr_array(COUNTS)


@pytest.mark.parametrize(
    ("estimator", "plugin"),
    [
        (EntropyKMeans(3), "entropy-kmeans"),
        (SphericalKMeans(3), "spherical-kmeans"),
        (KMedoids(3), "kmedoids"),
        (AHC(3), "ahc"),
        (ITCC(3), "itcc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_labels_are_those_of_the_plugin(estimator: AHC, plugin: str) -> None:
    expected = segapsith.clusterer(plugin, k=3).cluster(ROWS, None)
    assert estimator.fit_predict(ROWS).tolist() == expected.tolist()
    assert estimator.fit_predict(COUNTS).tolist() == expected.tolist()


def test_an_empty_row_is_in_no_cluster() -> None:
    counts = np.vstack([COUNTS, np.zeros(7)])
    for estimator in (EntropyKMeans(2), SphericalKMeans(2), KMedoids(2)):
        assert estimator.fit_predict(counts)[-1] == -1
        assert estimator.predict(counts)[-1] == -1


@pytest.mark.parametrize("mass", ["counts", "equal"])
def test_entropy_predicts_the_cluster_whose_entropy_a_row_raises_least(mass: str) -> None:
    fitted = EntropyKMeans(3, unit_mass=mass).fit(COUNTS)
    new = RNG.poisson(1.0, (10, 7)) + np.eye(10, 7)

    def weighed(counts: np.ndarray) -> np.ndarray:
        return counts / counts.sum(axis=1, keepdims=True) if mass == "equal" else counts

    for row, label in zip(new, fitted.predict(new), strict=True):
        both = csr_array(weighed(np.vstack([COUNTS, row])))
        entropies = [conditional_entropy(both, np.append(fitted.labels_, k)) for k in range(3)]
        assert entropies[label] == pytest.approx(min(entropies))


def test_spherical_predicts_the_centre_with_the_highest_cosine() -> None:
    fitted = SphericalKMeans(2).fit(COUNTS)
    assert fitted.predict(COUNTS).tolist() == fitted.labels_.tolist()
    assert np.linalg.norm(fitted.cluster_centers_, axis=1) == pytest.approx([1, 1])


def test_medoids_are_rows_of_their_clusters() -> None:
    fitted = KMedoids(2).fit(COUNTS)
    assert fitted.labels_[fitted.medoid_indices_].tolist() == [0, 1]
    assert fitted.predict(COUNTS).tolist() == fitted.labels_.tolist()


@pytest.mark.parametrize("kind", [AHC, KMedoids])
def test_a_precomputed_similarity_gives_the_same_groups(kind: type) -> None:
    lengths = np.linalg.norm(COUNTS, axis=1)
    cosines = COUNTS @ COUNTS.T / np.outer(lengths, lengths)
    given = kind(2, similarity="precomputed").fit(cosines)
    assert given.labels_.tolist() == kind(2).fit(COUNTS).labels_.tolist()
    if kind is KMedoids:
        assert given.predict(cosines).tolist() == given.labels_.tolist()


def test_a_precomputed_similarity_is_square() -> None:
    with pytest.raises(ValueError, match="square"):
        AHC(2, similarity="precomputed").fit(COUNTS)


def test_rows_are_compared_by_a_named_similarity() -> None:
    measure = segapsith.similarity("chi-sim")
    measure.learn(ROWS)
    expected = segapsith.clusterer("ahc", k=2).cluster(ROWS, measure.compare)
    assert AHC(2, similarity="chi-sim").fit_predict(ROWS).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="precomputed"):
        KMedoids(2, similarity="chi-sim").fit(ROWS).predict(ROWS)


def test_a_wrong_parameter_is_named_when_fitting() -> None:
    with pytest.raises(segapsith.SegapsithError, match="method"):
        EntropyKMeans(method="magic").fit(COUNTS)


def test_words_are_grouped_beside_rows() -> None:
    fitted = ITCC(2, word_clusters=2).fit(COUNTS)
    assert fitted.column_labels_.shape == (7,)
    assert len({*fitted.column_labels_[:3]}) == 1
    assert fitted.column_labels_[0] != fitted.column_labels_[4]


def test_a_random_state_of_numpy_is_accepted() -> None:
    state = np.random.RandomState(3)
    assert len(EntropyKMeans(2, random_state=state).fit(COUNTS).labels_) == 30
