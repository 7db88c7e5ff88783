"""The tables of clustering on data sets that are small enough to be made here."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith_plugins.similarities.mvsim import MvSim
from segapsith_reproduce import TABLES, Options, reproduce
from segapsith_reproduce.cells import (
    Results,
    best_of,
    hierarchical_labels,
    mean_and_sd,
    plugins,
    scores_of,
    truncated,
)

pytestmark = pytest.mark.slow

TOPICS = {
    "rec.boats": "harbour sailing anchor keel rudder mast tide voyage",
    "sci.stars": "galaxy telescope planet orbit comet nebula lunar solar",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two groups of messages, a count matrix and a set with two views."""
    data = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    news = data / "20ng"
    news.mkdir()
    uids: list[str] = []
    with (
        gzip.open(news / "docs.jsonl.gz", "wt", encoding="utf-8") as docs,
        gzip.open(news / "headers.jsonl.gz", "wt", encoding="utf-8") as headers,
    ):
        for group, words in TOPICS.items():
            for number in range(8):
                uid = f"{group}/{number}"
                text = " ".join(rng.choice([*words.split(), "people", "today"], 12))
                docs.write(json.dumps({"id": uid, "text": text}) + "\n")
                said = {"Newsgroups": group, "Subject": "galaxy harbour"}
                headers.write(json.dumps({"id": uid, "headers": said}) + "\n")
                uids.append(uid)
    subset = {"samples": {"0": uids[:6] + uids[8:14], "1": uids[2:8] + uids[10:16]}}
    (news / "subsets.json").write_text(
        json.dumps({"subsets": dict.fromkeys(("M5", "M10", "NG1"), subset)})
    )
    classes = np.repeat([0, 1], 10)
    counts = rng.poisson(0.3 + 2.0 * (np.arange(16)[None, :] // 8 == classes[:, None]))
    (data / "cornell").mkdir()
    links = (rng.random((20, 20)) < 0.1 + 0.4 * (classes[:, None] == classes)).astype(int)
    save_npz(data / "cornell" / "content.npz", csr_array(counts))
    save_npz(data / "cornell" / "links.npz", csr_array(links))
    (data / "cornell" / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    return data


PAPERS = [name for name in TABLES if name.startswith(("chi-sim", "mvsim"))]


def test_every_table_of_the_papers_is_there() -> None:
    names = {"chi-sim-2", "chi-sim-3", "chi-sim-figure-2"}
    names |= {f"mvsim-{n}" for n in (2, 3, 4)}
    assert names == set(PAPERS)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that all tables share, since many have cells in common."""
    return tmp_path_factory.mktemp("kept") / "results.jsonl"


@pytest.mark.parametrize("name", PAPERS)
def test_a_table_is_filled(name: str, folder: Path, kept: Path) -> None:
    table = reproduce(name, folder, Options(quick=True, results=kept))
    assert len(table.rows) > 1
    for row in table.rows:
        assert len(row) == len(table.head)
        for cell in row:
            assert not isinstance(cell, float) or 0 <= cell <= 3


def with_set(data: Path, name: str, classes: list[str], **matrices: Any) -> None:
    (data / name).mkdir()
    (data / name / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    for matrix, values in matrices.items():
        save_npz(data / name / f"{matrix}.npz", csr_array(values))


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Sets with a class of one document, empty rows and columns, a document without links."""
    rng = np.random.default_rng(1)
    classes = ["a"] * 9 + ["b"] * 9 + ["alone"]
    counts = rng.poisson(0.4, (19, 30)) + 2 * np.eye(19, 30, dtype=int)
    counts[4] = 0
    counts[:, 7] = 0
    links = (rng.random((19, 19)) < 0.2).astype(int)
    links[3] = links[:, 3] = 0
    with_set(tmp_path, "wisconsin", classes, content=counts, links=links)
    with_set(tmp_path, "cornell", classes, content=counts, links=links)
    return tmp_path


@pytest.mark.parametrize("name", ["mvsim-2"])
def test_odd_sets_do_not_stop_a_table(name: str, odd: Path) -> None:
    table = reproduce(name, odd, Options(quick=True))
    figures = [cell for row in table.rows for cell in row if isinstance(cell, float)]
    assert figures and np.isfinite(figures).all()


def test_a_table_can_be_narrowed(odd: Path, folder: Path, kept: Path) -> None:
    heard: list[str] = []
    one = Options(sets=("wisconsin",), quick=True, tell=heard.append)
    assert {row[0] for row in reproduce("mvsim-2", odd, one).rows} == {"wisconsin"}
    news = Options(quick=True, sets=("M5",), repetitions=1, results=kept)
    assert {(row[1], row[-1]) for row in reproduce("chi-sim-2", folder, news).rows} == {("M5", 1)}


def test_views_are_taken_whole_or_in_samples(odd: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    options = Options(sets=("cornell",), quick=True, repetitions=2, tell=heard.append)
    table = reproduce("mvsim-2", odd, options)
    assert {"cornell sample 0", "cornell sample 1"} == {" ".join(h.split()[1:4]) for h in heard}
    assert any("2 samples of 80% of the documents" in note for note in table.notes)
    assert any(float(str(row[4])) > 0 for row in table.rows)  # samples differ
    whole = reproduce("mvsim-2", odd, Options(sets=("cornell",), quick=True))
    tried = {row["method"]: row["settings"] for row in whole.as_json()["rows"]}
    assert tried["mvsim"] == tried["chi-sim"] == 8  # as much luck for both
    assert {row[4] for row in whole.rows} == {0.0}
    assert "All documents, once." in whole.notes


def test_the_fixed_settings_of_mvsim_are_its_defaults() -> None:
    from segapsith_reproduce.mvsim import DEFAULTS

    made = MvSim()
    assert {name: getattr(made, name) for name in DEFAULTS} == DEFAULTS


def test_the_best_of_some_is_that_of_every_choice() -> None:
    values = [0.3, 0.9, 0.1, 0.5, 0.5]
    for n in (1, 2, 3, 5):
        chosen = [max(some) for some in itertools.combinations(values, n)]
        assert best_of(n, values) == pytest.approx(np.mean(chosen))
        chosen = [min(some) for some in itertools.combinations(values, n)]
        assert best_of(n, values, larger_is_better=False) == pytest.approx(np.mean(chosen))
    assert best_of(20, values) == 0.9


def test_quoted_figures_are_shown_for_the_rows_that_they_belong_to(
    folder: Path, kept: Path
) -> None:
    table = reproduce("chi-sim-2", folder, Options(quick=True, results=kept))
    rows = table.as_json()["rows"]
    assert {row["printed"] for row in rows if row["set"] == "NG1"} == {None}
    quoted = {row["method"]: row["printed"] for row in rows if row["set"] == "M10"}
    assert quoted == {
        "cosine": None, "lsa": None, "chi-sim": ".78 to .80", "chi-sim k p": ".78 to .80",
    }  # fmt: skip
    assert {row["reached"] is None for row in rows if row["printed"] is None} == {True}
    assert sum("reached in" in note for note in table.notes) == 5  # one per protocol
    medoids = reproduce("chi-sim-3", folder, Options(quick=True, results=kept))
    assert "printed" not in medoids.head


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
