"""Scores, labels and stored results that the clustering tables share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith.cli.app import run
from segapsith.errors import UsageError
from segapsith.parallel.processes import Processes
from segapsith_reproduce import Options, newsgroups, reproduce
from segapsith_reproduce.cells import (
    LabelledRows,
    PluginCell,
    Results,
    Scores,
    compute_cells,
    hierarchical_labels,
    in_groups,
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


# -- grids: cells as tasks of workers ----------------------------------------------------------

ROWS = {"a": LabelledRows(csr_array(np.kron(np.eye(2), np.ones((3, 4)))), ["x"] * 3 + ["y"] * 3)}


@pytest.fixture(scope="module")
def workers() -> Iterator[Processes]:
    executor = Processes(workers="2")
    yield executor
    executor.close()


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A set of the GVSM tables, with links so that it is one of the MVSim tables as well."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 12)
    counts = rng.poisson(0.3 + 2.0 * (np.arange(16)[None, :] // 8 == classes[:, None]))
    links = rng.poisson(0.1 + 0.4 * (classes[None, :] == classes[:, None]))
    for name in ("tr31", "cornell"):
        (tmp_path / name).mkdir()
        for file, matrix in {"matrix": counts, "content": counts, "links": links}.items():
            save_npz(tmp_path / name / f"{file}.npz", csr_array(matrix))
        (tmp_path / name / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    return tmp_path


def test_known_cells_are_not_computed_again() -> None:
    told: list[str] = []
    results: Results[Scores] = Results(None, told.append)
    cells = [
        PluginCell(f"c{p}", "a", "chi-sim", {"prune": p}, "one-minus") for p in (0.0, 0.2, 0.4)
    ]
    results.put("c0.2", {"nmi": 7.0})
    compute_cells(results, Options(), in_groups(cells, 2), lambda: ROWS)
    assert told == ["c0.2", "c0.0", "c0.4"]
    assert results["c0.2"] == {"nmi": 7.0}
    assert results["c0.0"]["nmi"] == pytest.approx(1.0)

    def never() -> dict[str, LabelledRows]:
        raise AssertionError("the rows are not needed")

    compute_cells(results, Options(), in_groups(cells), never)


def test_a_clusterer_and_a_latent_measure_are_cells_too() -> None:
    results: Results[Scores] = Results(None, lambda _: None)
    cells = [
        PluginCell("itcc", "a", "itcc", {}, seed=1),
        PluginCell("lsa", "a", "lsa", {"rank": 2}, "one-minus", most=3),
    ]
    compute_cells(results, Options(), [cells], lambda: ROWS)
    assert results["lsa"]["micro_precision"] == results["itcc"]["micro_precision"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("table", ["gvsm-2", "gvsm-6", "gvsm-8", "mvsim-2", "mvsim-3"])
def test_workers_give_the_figures_of_one_process(
    table: str, sets: Path, workers: Processes
) -> None:
    here = reproduce(table, sets, Options(quick=True)).as_json()
    there = reproduce(table, sets, Options(quick=True, executor=workers)).as_json()
    assert json.dumps(there) == json.dumps(here)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["chi-sim-2", "chi-sim-3", "mvsim-4"])
def test_workers_select_words_and_give_the_same(
    table: str, messages: Path, workers: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for options in (Options(quick=True), Options(quick=True, executor=workers)):
        monkeypatch.setattr(newsgroups, "_selected", {})
        found.append(json.dumps(reproduce(table, messages, options).as_json()))
    assert found[0] == found[1]


@pytest.mark.slow
def test_the_command_has_workers_for_grids_only(
    sets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["reproduce", "gvsm-5", "--data", str(sets), "--quick", "--json"]
    assert run(asked) == 0
    here = capsys.readouterr().out
    assert run([*asked, "--workers", "processes:2"]) == 0
    assert capsys.readouterr().out == here
    assert run(["reproduce", "choi", "--data", str(sets), "--workers", "2"]) == 2
    assert "choi is computed in one process; workers compute chi-sim-2" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no table is called"):
        reproduce("gvsm-9", sets, Options())
