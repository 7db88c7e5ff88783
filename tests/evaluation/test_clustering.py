"""Clustering on demand: the cost is estimated first, and what does not fit is refused."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.evaluation import clustering
from segapsith.lexicon.vocabulary import tf_idf


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Two blocks of rows with words of their own, and their labels."""
    rng = np.random.default_rng(0)
    rows = np.zeros((60, 40))
    rows[:30, :20] = rng.poisson(1.0, (30, 20))
    rows[30:, 20:] = rng.poisson(1.0, (30, 20))
    rows[:, 0] += 1
    save_npz(tmp_path / "matrix.npz", csr_array(rows))
    (tmp_path / "labels.txt").write_text("".join(f"{int(i >= 30)}\n" for i in range(60)))
    return tmp_path / "matrix.npz"


def test_a_matrix_file_is_clustered_and_scored(
    blocks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["--clusterer", "entropy-kmeans"], ["--similarity", "lsa", "--clusterer", "ahc"]):
        output = blocks.with_name("found.txt")
        assert run(["cluster", str(blocks), *more, "-k", "2", "--json", "-o", str(output)]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["clusters"] == 2
        assert found["scores"]["nmi"] == pytest.approx(1.0)
        assert found["estimate"]["bytes"] > 0
        assert len(output.read_text().splitlines()) == 60
        assert [str(row["cluster"]) for row in found["assignment"]] == output.read_text().split()


@pytest.mark.slow
def test_the_stored_units_are_clustered_and_kept(tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en"))
        heard: list[clustering.Cost] = []
        found = wire.cluster(similarity="gvsm-cov", clusterer="ahc", k=14, on_estimate=heard.append)
        assert found["clusters"] == 14
        assert sum(found["sizes"]) == found["units"]
        assert heard[0].fits
        assert wire.writer.number("SELECT count(*) FROM clusterings") == 1
        part = wire.cluster(sample=50, seed=3, k=5)
        assert part["units"] == 50
        assert wire.cluster(clusterer="ahc", similarity="cosine")["clusters"] > 1


@pytest.mark.slow
def test_python_gives_the_cluster_of_each_unit(tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en"))
        found = wire.cluster(k=8)
        titles = {line["title"] for line in sample.lines("en")}
        texts = {line["id"] for line in sample.lines("en")}
    assert len({row["unit"] for row in found["assignment"]}) == found["units"]
    assert {row["document"] for row in found["assignment"]} <= texts
    assert all(0 <= row["start"] < row["end"] for row in found["assignment"])
    counts = Counter(row["cluster"] for row in found["assignment"])
    assert [counts[cluster] for cluster in range(8)] == found["sizes"]
    assert [group["units"] for group in found["groups"]] == sorted(found["sizes"], reverse=True)
    for group in found["groups"]:
        assert 1 <= len(group["words"]) <= 8
        assert 1 <= len(group["headlines"]) <= 3
        assert set(group["headlines"]) <= titles


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_clusters_of_a_store_are_written_and_shown(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path, ending: str
) -> None:
    with Wire(tmp_path / "segapsith.db") as wire:
        wire.ingest(sample.lines("en"))
    file = tmp_path / f"clusters.{ending}"
    code, out, err = command("cluster", "-k", "6", "-o", str(file))
    assert code == 0, err
    lines = file.read_text().splitlines()
    rows = list(csv.DictReader(lines)) if ending == "csv" else [json.loads(line) for line in lines]
    assert list(rows[0]) == ["unit", "document", "start", "end", "cluster"]
    assert f"{len(rows)} units in 6 clusters" in out
    assert out.count("\ncluster ") == 6
    assert "\n  - " in out
    given = json.loads(command("cluster", "-k", "6", "--json")[1])["assignment"]
    assert [str(row["cluster"]) for row in rows] == [str(row["cluster"]) for row in given]
    run_number = out.split(":")[0].removeprefix("run ")
    same = json.loads(command("compare", run_number, str(file), "--json")[1])
    assert (same["left_field"], same["right_field"]) == ("cluster", "cluster")
    assert same["kappa"]["greedy"] == 1


def test_an_output_that_could_not_be_written_is_refused_first(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, _, err = command("cluster", "-o", "clusters.xlsx")
    assert code == 2
    assert ".csv or .jsonl" in err
    assert command("cluster", "-o", str(tmp_path / "none" / "a.csv"))[0] == 66


def test_what_does_not_fit_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clustering, "free_memory", lambda: 1000)
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(sample.lines("en")[:40])
        with pytest.raises(clustering.TooLargeError, match="--sample"):
            wire.cluster(similarity="chi-sim", clusterer="ahc", k=3)
        assert wire.cluster(similarity="cosine", clusterer="ahc", k=3, force=True)["clusters"] == 3


def test_the_estimate_grows_as_the_work_does() -> None:
    class Square:
        def cluster(self, rows: csr_array, compare: object) -> np.ndarray:
            np.ones((rows.shape[0], rows.shape[0])).sum()
            return np.zeros(rows.shape[0], dtype=np.int64)

    rows = csr_array(np.ones((6000, 2)))
    cost = clustering.estimate(rows, lambda: None, lambda n: Square())
    assert cost.bytes == pytest.approx(6000 * 6000 * 8, rel=0.2)


def test_tf_idf_is_the_formula() -> None:
    rng = np.random.default_rng(1)
    counts = rng.poisson(0.6, (12, 9)).astype(float)
    counts[3] = 0
    frequency = (counts > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = counts * np.where(frequency >= 2, np.log(12 / np.maximum(frequency, 1)), 0.0)
        lengths = np.linalg.norm(expected, axis=1, keepdims=True)
        expected = np.where(lengths > 0, expected / lengths, 0.0)
    assert np.allclose(tf_idf(csr_array(counts)).toarray(), expected, atol=1e-12)


def test_wrong_files_are_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", str(tmp_path / "none.npz")]) == 66
    (tmp_path / "bad.npz").write_bytes(b"nothing of the kind")
    assert run(["cluster", str(tmp_path / "bad.npz")]) == 65
    assert "Traceback" not in capsys.readouterr().err
