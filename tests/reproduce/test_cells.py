"""Scores, labels and stored results that the clustering tables share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith_reproduce.cells import (
    Results,
    hierarchical_labels,
    mean_and_sd,
    plugins,
    scores_of,
    truncated,
)


def test_what_is_only_rounding_in_few_directions_is_nothing() -> None:
    alone = np.kron(np.eye(6), np.ones((2, 3))) * np.arange(6, 0, -1).repeat(2)[:, None]
    rows = csr_array(alone)  # six directions, two rows on each
    whole, wanted = (plugins().make("similarity", "lsa", {"rank": rank}) for rank in (6, 2))
    whole.learn(rows)
    wanted.learn(rows)
    found = truncated("lsa", whole.state(), 2).compare(rows, rows)
    np.testing.assert_allclose(found, wanted.compare(rows, rows), atol=1e-9)
    assert not found[4:].any()


def test_what_cells_are_made_of(tmp_path: Path) -> None:
    similar = np.eye(4) * 0.5 + np.kron(np.eye(2), np.full((2, 2), 0.5))
    labels = hierarchical_labels(similar, 2, "average")
    assert labels.tolist() == [0, 0, 1, 1]
    assert scores_of(labels, ["a", "a", "b", "b"])["micro_precision"] == 1
    assert scores_of(np.array([0, 0, 1, -1]), ["a", "a", "b", "b"])["micro_precision"] == 0.75
    assert mean_and_sd([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert mean_and_sd([1.0]) == (1.0, 0.0)
    (tmp_path / "r").write_text('nonsense\n{"cell": "a b", "scores": {"x": 1.0}}\n[]\n')
    results = Results(tmp_path / "r", lambda said: None)
    assert results.get(("a", "b"), dict) == {"x": 1.0}


def test_ward_linkage_depends_on_how_a_similarity_becomes_a_distance() -> None:
    similar = np.full((6, 6), 0.1)
    for a, b, s in ((0, 1, 0.9), (2, 3, 0.8), (4, 5, 0.3), (0, 4, 0.5), (1, 5, 0.45)):
        similar[a, b] = similar[b, a] = s
    np.fill_diagonal(similar, 1.0)
    by_form = {
        form: hierarchical_labels(similar, 3, "ward", distance_from=form).tolist()
        for form in ("one-minus", "euclidean")
    }
    assert by_form["euclidean"] == hierarchical_labels(similar, 3, "ward").tolist()
    assert len(set(by_form["one-minus"])) == 3
