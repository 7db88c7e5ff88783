"""The tables of clustering on data sets that are small enough to be made here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith.cli.app import run
from segapsith.errors import MissingInputError
from segapsith.reproduce import TABLES, Options, reproduce
from segapsith.reproduce.cells import Results, grouped, measured, spread_of

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
    for name in ("tr11", "tr23"):
        (data / name).mkdir()
        save_npz(data / name / "matrix.npz", csr_array(counts))
        (data / name / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    (data / "cornell").mkdir()
    links = (rng.random((20, 20)) < 0.1 + 0.4 * (classes[:, None] == classes)).astype(int)
    save_npz(data / "cornell" / "content.npz", csr_array(counts))
    save_npz(data / "cornell" / "links.npz", csr_array(links))
    (data / "cornell" / "labels.txt").write_text("".join(f"{c}\n" for c in classes))
    return data


PAPERS = [name for name in TABLES if name.startswith(("chi-sim", "gvsm", "mvsim"))]


def test_every_table_of_the_issue_is_there() -> None:
    wanted = {"chi-sim-2", "chi-sim-3", "chi-sim-figure-2"}
    wanted |= {f"gvsm-{n}" for n in range(2, 9)} | {f"mvsim-{n}" for n in (2, 3, 4)}
    assert wanted == set(PAPERS)


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


def test_a_table_is_gone_on_with(folder: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    options = Options(quick=True, tell=heard.append, results=tmp_path / "results.jsonl")
    first = reproduce("gvsm-2", folder, options)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(heard) == 20
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:10])
    heard.clear()
    again = reproduce("gvsm-2", folder, options)
    assert len(heard) == 1  # only what was cut off
    assert again.rows == first.rows


def test_absent_sets_are_named_and_printed_figures_are_not_invented(folder: Path) -> None:
    table = reproduce("gvsm-8", folder, Options(quick=True))
    assert any("Not present" in note and "tr41" in note and "k1b" in note for note in table.notes)
    assert any("not at hand" in note for note in table.notes)
    with pytest.raises(MissingInputError, match="20ng"):
        reproduce("chi-sim-2", folder / "tr11", Options(quick=True))
    with pytest.raises(MissingInputError, match="has none of"):
        reproduce("gvsm-2", folder / "20ng", Options(quick=True))


def test_the_command_keeps_its_results(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "r.jsonl"
    more = ["--data", str(folder), "--quick", "--results", str(kept), "--json"]
    assert run(["reproduce", "gvsm-8", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["rows"][0]["set"] == "tr11"
    assert kept.is_file()


def test_what_cells_are_made_of(tmp_path: Path) -> None:
    similar = np.eye(4) * 0.5 + np.kron(np.eye(2), np.full((2, 2), 0.5))
    labels = grouped(similar, 2, "average")
    assert labels.tolist() == [0, 0, 1, 1]
    assert measured(labels, ["a", "a", "b", "b"])["micro_precision"] == 1
    assert measured(np.array([0, 0, 1, -1]), ["a", "a", "b", "b"])["micro_precision"] == 0.75
    assert spread_of([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert spread_of([1.0]) == (1.0, 0.0)
    (tmp_path / "r").write_text('nonsense\n{"cell": "a b", "scores": {"x": 1.0}}\n[]\n')
    results = Results(tmp_path / "r", lambda said: None)
    assert results.get(("a", "b"), dict) == {"x": 1.0}
