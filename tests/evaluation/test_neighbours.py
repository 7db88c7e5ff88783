"""Neighbours that are found in blocks are those of all similarities."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array, save_npz

from segapsith.api.wire import Wire
from segapsith.arrays import Rows
from segapsith.errors import UsageError
from segapsith.evaluation.neighbours import (
    BlockPlan,
    form_of,
    learn_from,
    nearest_neighbours,
)
from segapsith.evaluation.worker_clustering import ClusterRecipe
from segapsith.parallel.plugins import share_plugins
from segapsith.parallel.serial import Serial
from segapsith.plugin.registry import load_plugins


def some_rows(n: int = 60) -> Rows:
    return csr_array(
        random_array((n, 40), density=0.15, rng=np.random.default_rng(2), format="csr")
    )


CHOICES: list[tuple[str, dict[str, Any], bool]] = [
    ("eq7", {}, False),
    ("lsa", {"rank": 4}, False),
    ("cosine", {}, True),
    *((f"gvsm-{kind}", {}, True) for kind in ("assc", "assc-n", "cov", "pcorr")),
    ("gvsm-cov", {"sample": 0.5}, True),
    ("gvsm-pcorr", {"precision": "single"}, True),
    *(("chi-sim", settings, True) for settings in ({}, {"k": 0.5}, {"k": 2.0, "prune": 0.9})),
    ("chi-sim", {"iterations": 1, "prune": 0.0}, True),
    ("chi-sim", {"iterations": 3, "word_memory": 0}, True),
    ("chi-sim", {"psd": True, "precision": "single"}, True),
    ("chi-sim", {"k": math.inf}, False),
    ("chi-sim-original", {}, True),
    ("chi-sim-original", {"prune": 0.4}, False),
    ("chi-sim-original", {"reset_diagonal": True}, False),
]
"""Similarities with settings, and whether they have a form of products."""


@pytest.mark.parametrize(("similarity", "settings", "by_products"), CHOICES, ids=str)
@pytest.mark.parametrize(("block", "learned"), [(7, 60), (60, 25), (100, 60)])
def test_blocks_give_the_best_of_all_similarities(
    similarity: str, settings: dict[str, Any], by_products: bool, block: int, learned: int
) -> None:
    registry = load_plugins(only_own=True)
    rows = some_rows()
    measure = registry.make("similarity", similarity, settings)
    learn_from(measure, rows, learned)  # with 25, some words are not learned
    assert (form_of(measure) is not None) == by_products
    plan = BlockPlan(ClusterRecipe("ahc", {}, similarity, settings), 5, block)
    steps: list[tuple[int, int]] = []
    graph = nearest_neighbours(
        Serial(), share_plugins(registry), rows, measure, plan,
        on_block=lambda *step: steps.append(step),
    )  # fmt: skip
    dense = measure.compare(rows, rows)
    np.fill_diagonal(dense, 0.0)
    best = np.maximum(-np.sort(-dense, axis=1)[:, :5], 0.0)
    near = 1e-4 if settings.get("precision") == "single" else 1e-6
    assert np.allclose(graph.similarities, best, atol=near)
    for row, numbers in enumerate(graph.neighbours):
        inside = numbers >= 0
        assert np.allclose(dense[row, numbers[inside]], graph.similarities[row, inside], atol=near)
        assert (inside == (graph.similarities[row] > 0)).all()
        assert len(set(numbers[inside].tolist())) == inside.sum()
    assert steps[-1] == (-(-60 // block), -(-60 // block))


def test_a_measure_learns_from_a_sample_of_many_rows() -> None:
    measure = load_plugins(only_own=True).make("similarity", "gvsm-cov")
    learn_from(measure, some_rows(), 20)
    assert measure.compare(some_rows(), some_rows()).shape == (60, 60)


def test_the_matrix_of_a_graph_is_symmetric(packed: Any) -> None:
    registry = load_plugins(only_own=True)
    rows = some_rows()
    measure = registry.make("similarity", "cosine")
    learn_from(measure, rows)
    plan = BlockPlan(ClusterRecipe("ahc", {}, "cosine"), 3, 16)
    here, there = (
        nearest_neighbours(executor, share_plugins(registry), rows, measure, plan)
        for executor in (Serial(), packed)
    )
    assert (here.neighbours == there.neighbours).all()
    assert (here.similarities == there.similarities).all()
    matrix = here.matrix()
    assert abs(matrix - matrix.T).max() == 0 and matrix.diagonal().sum() == 0


def test_cluster_by_neighbours_as_users_give_it(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    save_npz(tmp_path / "matrix.npz", some_rows())
    given = ("cluster", "matrix.npz", "--similarity", "gvsm-cov", "--clusterer", "ahc", "-k", "4")
    code, out, err = command(*given, "--neighbours", "6", "--json")
    assert code == 0, err
    assert '"clusters": 4' in out
    code, _, err = command("cluster", "matrix.npz", "--neighbours", "6")
    assert code == 2 and "neighbours need a similarity" in err


def test_what_cannot_use_neighbours_is_refused_by_name(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn([{"id": f"u{i}", "words": {f"w{i % 3}": 2, f"own{i}": 1}} for i in range(12)])
    with pytest.raises(UsageError, match="'kmedoids' cannot group by neighbours; use one of ahc"):
        wire.cluster(clusterer="kmedoids", similarity="cosine", k=3, neighbours=3)
    with pytest.raises(UsageError, match="similarity 'ctk' compares all rows at once"):
        wire.cluster(clusterer="ahc", similarity="ctk", k=3, neighbours=3)
    assert wire.cluster(clusterer="ahc", similarity="cosine", k=3, neighbours=3)["clusters"] == 3
