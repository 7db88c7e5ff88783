"""k-medoids from a random start, against loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows
from segapsith_reproduce.alternating_medoids import AlternatingMedoids


def minus_distance(left: Rows, right: Rows) -> Matrix:
    a, b = left.toarray(), right.toarray()
    return 1.0 - np.linalg.norm(a[:, None] - b[None], axis=2)


def slow(points: Matrix, k: int, seed: int) -> tuple[list[int], float]:
    """The two steps by loops, from the same random start."""
    n = len(points)
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    rng.shuffle(labels)
    best: tuple[list[int], float] = ([], float("inf"))
    while True:
        medoids = []
        for cluster in range(k):
            members = [i for i in range(n) if labels[i] == cluster]
            sums = [round(sum(np.linalg.norm(points[i] - points[j]) for j in members), 9) for i in members]  # fmt: skip
            medoids.append(members[sums.index(min(sums))])
        total = 0.0
        for i in range(n):
            distances = [float(np.linalg.norm(points[i] - points[m])) for m in medoids]
            total += min(distances)
            labels[i] = medoids.index(i) if i in medoids else distances.index(min(distances))
        if total >= best[1] - 1e-9 * n:
            return best
        best = (medoids, total)


@pytest.mark.parametrize("seed", range(4))
def test_medoids_are_those_of_the_loops(seed: int) -> None:
    points = np.random.default_rng(seed + 50).random((30, 3))
    clusterer = AlternatingMedoids(k=5, seed=seed)
    clusterer.cluster(csr_array(points), minus_distance)
    medoids, objective = slow(points, 5, seed)
    assert clusterer.medoids_.tolist() == medoids
    assert clusterer.objective_ == pytest.approx(objective)


def test_as_many_clusters_as_rows_make_every_row_a_medoid() -> None:
    clusterer = AlternatingMedoids(k=9)
    labels = clusterer.cluster(csr_array(np.eye(4)), minus_distance)
    assert sorted(clusterer.medoids_.tolist()) == [0, 1, 2, 3]
    assert sorted(labels.tolist()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="needs a similarity"):
        clusterer.cluster(csr_array(np.eye(4)), None)
