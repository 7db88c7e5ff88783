"""Word selection against the formulas."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.testing import example_rows
from segapsith_plugins.clusterers.kmedoids import KMedoids
from segapsith_reproduce.feature_selection import (
    by_document_frequency,
    by_medoids,
    by_mutual_information,
    document_frequency,
)


def test_document_frequency_counts_rows_not_words():
    rows = csr_array(np.array([[5.0, 0, 1], [2, 0, 0], [1, 0, 0]]))
    assert document_frequency(rows).tolist() == [3, 0, 1]
    assert by_document_frequency(rows).tolist() == [0]
    assert by_document_frequency(rows, min_rows=1).tolist() == [0, 2]
    assert by_document_frequency(rows, min_rows=1, max_share=0.5).tolist() == [2]


def naive(m, classes, of):
    worth = []
    for w in range(m.shape[1]):
        value = 0.0
        if of == "pointwise":
            there = m[:, w] > 0
            shares = [np.mean(there[[k == c for k in classes]]) for c in sorted(set(classes))]
            value = max(shares) / there.mean() if there.any() else 0.0
        elif of == "smoothed":
            n_there = float(np.sum(m[:, w] > 0)) + 0.5 * len(set(classes))
            for c in set(classes):
                here = np.array([k == c for k in classes])
                share = (float(np.sum(m[here, w] > 0)) + 0.5) / n_there
                value = max(value, share / here.mean())
        elif of == "class":
            for c in set(classes):
                alone = naive(m[:, [w]], [k == c for k in classes], "presence")
                value = max(value, float(alone[0]))
        elif of == "presence":
            for there in (True, False):
                for c in set(classes):
                    joint = np.mean(
                        [(x > 0) == there and k == c for x, k in zip(m[:, w], classes, strict=True)]
                    )
                    p, q = np.mean((m[:, w] > 0) == there), np.mean([k == c for k in classes])
                    if joint > 0:
                        value += joint * math.log(joint / (p * q))
        else:
            total = m.sum()
            for c in set(classes):
                here = np.array([k == c for k in classes])
                joint = m[here, w].sum() / total
                if joint > 0:
                    value += joint * math.log(
                        joint / (m[:, w].sum() / total) / (m[here].sum() / total)
                    )
        worth.append(value)
    return np.array(worth)


def test_of_words_of_one_class_the_more_frequent_come_first():
    rows = csr_array(np.array([[1.0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]]))
    classes = ["a", "a", "b", "b"]
    found = [by_mutual_information(rows, classes, n, of="pointwise").tolist() for n in (1, 2, 3)]
    assert found == [[0], [0, 2], [0, 1, 2]]


@pytest.mark.parametrize("of", ["presence", "class", "counts", "pointwise", "smoothed"])
def test_mutual_information_is_the_formula(of):
    rows = example_rows(20, 30)
    classes = [("a", "b", "c")[i % 3] for i in range(20)]
    worth = naive(rows.toarray(), classes, of)
    for n in (1, 5, 12):
        found = by_mutual_information(rows, classes, n, of=of)
        assert worth[found].min() >= np.sort(worth)[-n] - 1e-12
        assert len(found) == n
    with pytest.raises(ValueError, match="each row needs one"):
        by_mutual_information(rows, classes[:3], 2)
    with pytest.raises(ValueError, match="counts, pointwise or smoothed"):
        by_mutual_information(rows, classes, 2, of="x")


def test_medoids_stand_for_the_words_near_them():
    rng = np.random.default_rng(0)
    kinds = rng.random((30, 4)) < 0.5
    m = kinds[:, np.arange(12) % 4] * 3.0 + (rng.random((30, 12)) < 0.05)
    m = np.hstack([m, np.eye(30)[:, :1]])  # a word of one document
    found = by_medoids(csr_array(m), KMedoids(k=4))
    assert sorted(found % 4) == [0, 1, 2, 3]
    assert 12 not in found
