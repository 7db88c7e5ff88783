"""Recomputations that travel as bytes give the figures of this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.api.wire import Wire
from segapsith.evaluation.worker_clustering import (
    ClusterJob,
    ClusterRecipe,
    cluster_all,
    cluster_part,
)
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import share_plugins
from segapsith.parallel.serial import Serial
from segapsith.parallel.tasks import Shared
from segapsith.plugin.registry import load_plugins

ROWS = csr_array(np.kron(np.eye(3), np.ones((4, 2))))


def subjects(n_stories: int = 90) -> list[dict[str, Any]]:
    """Units of four subjects with some words of the others."""
    rng = np.random.default_rng(5)
    stories = []
    for number in range(n_stories):
        own = rng.choice(12, 6, replace=False) + 12 * (number % 4)
        words = [*own.tolist(), int(rng.integers(48))]
        stories.append({"id": f"s{number}", "words": {f"w{word}": 1 + word % 2 for word in words}})
    return stories


def test_a_part_of_the_rows_is_clustered_as_if_it_were_alone() -> None:
    plugins = share_plugins(load_plugins(only_own=True))
    recipe = ClusterRecipe("ahc", {}, "cosine").into(2)
    half = np.arange(4, 12)
    whole, part = cluster_all(
        Serial(), plugins, ROWS, [ClusterJob(recipe.into(3)), ClusterJob(recipe, half)]
    )
    shared = {"rows": Frozen(csr_array(ROWS[half])), "jobs": Frozen([ClusterJob(recipe)])}
    alone = cluster_part((0, None), Shared({**plugins, **shared}))
    assert len(set(whole.tolist())) == 3
    assert part.tolist() == alone.tolist() == [0] * 4 + [1] * 4


SETTINGS: dict[str, tuple[dict[str, Any], str | None]] = {
    "bvd": ({"n_init": 3}, None),
    "entropy-kmeans": ({"n_init": 4, "split_merge": True}, None),
    "itcc": ({"n_init": 2, "word_clusters": 5}, None),
    "kmedoids": ({"n_init": 3}, "gvsm-cov"),
    "mvkm": ({"n_init": 3, "views": 2}, None),
    "rsn": ({"n_init": 3}, None),
    "spherical-kmeans": ({"n_init": 4}, None),
    "ahc": ({}, "cosine"),
}


@pytest.mark.slow
@pytest.mark.parametrize("clusterer", SETTINGS)
def test_the_starts_of_several_workers_give_the_labels_of_one(clusterer: str, packed: Any) -> None:
    plugins = share_plugins(load_plugins(only_own=True))
    rng = np.random.default_rng(3)
    rows = csr_array(rng.poisson(0.2 + 0.8 * np.kron(np.eye(4), np.ones((15, 8)))).astype(float))
    settings, measure = SETTINGS[clusterer]
    recipe = ClusterRecipe(clusterer, {"seed": 1, **settings} if settings else {}, measure).into(4)
    jobs = [ClusterJob(recipe), ClusterJob(recipe.into(3), np.arange(0, 60, 2))]
    here = [labels.tolist() for labels in cluster_all(Serial(), plugins, rows, jobs)]
    packed.n_workers = 3
    n_before = packed.n_items
    there = [labels.tolist() for labels in cluster_all(packed, plugins, rows, jobs)]
    assert there == here
    n_parts = packed.n_items - n_before
    assert n_parts >= 2 * settings.get("n_init", 1)


QUESTIONS: dict[str, Callable[[Wire], Any]] = {
    "validate": lambda wire: wire.validation.run(min_units=5, k=[3, 5]),
    "validate with a similarity": lambda wire: wire.validation.run(
        min_units=5, clusterer=["ahc", "spherical-kmeans"], similarity="cosine", stability=2
    ),
    "order": lambda wire: wire.validation.order(shuffles=4, seed=2),
    "curve": lambda wire: wire.validation.curve(
        thresholds=(0.1, 0.2, 0.4), min_units=5, nightly=True
    ),
    "tune": lambda wire: wire.threshold.search(target_new_rate=0.05),
    "tune afresh": lambda wire: wire.threshold.search(target_new_rate=0.05, afresh=True),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_values_that_travel_as_bytes_give_equal_json(
    question: str, open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch, request: Any
) -> None:
    answers = []
    for place in ("here", "there"):
        wire = open_wire(f"{place}.db")
        wire.learn(subjects())
        if place == "there":
            packed = request.getfixturevalue("packed")
        answers.append(QUESTIONS[question](wire).as_json())
    assert answers[0] == answers[1]
    assert packed.n_items > 1
    assert max(packed.n_sent.values()) <= 2  # growth and trials share other values


def test_progress_counts_every_clustering(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn(subjects())
    steps: list[tuple[int, int]] = []
    wire.validation.run(
        min_units=5, k=[3, 4], stability=2, on_clustered=lambda *step: steps.append(step)
    )
    assert steps == [(number, 5) for number in range(1, 6)]


@pytest.mark.slow
def test_the_command_shares_the_starts_of_a_clusterer(
    open_wire: Callable[..., Wire], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from segapsith.cli.app import run

    with open_wire("units.db") as wire:
        wire.learn(subjects())
    answers = []
    store = ["--store", str(tmp_path / "units.db"), "--json"]
    for workers in ([], ["--workers", "processes:2"]):
        asked = ["cluster", "--clusterer", "spherical-kmeans", "-k", "4", *workers, *store]
        assert run(asked) == 0
        answer = json.loads(capsys.readouterr().out)
        answers.append(
            {name: answer[name] for name in ("units", "clusters", "assignment", "sizes")}
        )
    assert answers[0] == answers[1]
    assert run(
        ["cluster", "--similarity", "cosine", "--clusterer", "ahc", "--workers", "2", *store]
    )
    assert "ahc has no starts that --workers could share" in capsys.readouterr().err
