"""The GVSM tables in the layout of the paper, on small sets."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from segapsith.cli.app import run
from segapsith_reproduce import Options, PaperTable, reproduce
from segapsith_reproduce.comparison import Comparison, compare
from segapsith_reproduce.gvsm import tables
from segapsith_reproduce.gvsm.scores import Scorer
from segapsith_reproduce.printed import PrintedCell, shipped

pytestmark = pytest.mark.slow

NAMES = [f"gvsm-{number}" for number in range(1, 9)]


def computed(name: str, data: Path, **more: object) -> Comparison:
    result = reproduce(name, data, Options(quick=True, **more))  # type: ignore[arg-type]
    assert isinstance(result, Comparison)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_the_cells_of_the_paper(
    name: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = computed(name, data, sets=("tr31", "k1b")).as_json()
    printed = shipped(name)
    keys = [
        tuple(row[k] for k in ("set", "algorithm", "model", "measure")) for row in found["rows"]
    ]
    expected = {
        tuple(cell.keys.get(k, "") for k in ("set", "algorithm", "model", "measure"))
        for cell in printed
        if cell.keys["measure"] != "run-time"
        and (cell.keys["set"] in ("tr31", "k1b") or "13 sets" in cell.keys["set"])
    }
    assert set(keys) == expected and len(keys) == len(expected) == found["cells"]
    for row in found["rows"]:
        assert isinstance(row["ours"], str) or math.isfinite(row["ours"])
    assert found["agrees"] <= found["reached"] <= found["cells"]


def test_a_set_that_the_paper_does_not_have_has_no_printed_figures(data: Path) -> None:
    found = computed("gvsm-5", data, sets=("tr11",)).as_json()
    assert {row["set"] for row in found["rows"]} == {"tr11"}
    assert {row["printed"] for row in found["rows"]} == {None}
    assert found["cells"] == 0


def test_missing_sets_are_named(data: Path) -> None:
    notes = computed("gvsm-1", data).as_table().notes
    assert any("Missing" in note and "tr41" in note and "k1b" not in note for note in notes)


class _Made(Scorer):
    """Scores that are given."""

    def compute(self, names: Sequence[str], models: Iterable[str], *, ties: bool = False) -> None:
        """Do nothing: nothing is computed."""

    def measured(self, name: str, model: str, algorithm: str) -> dict[str, float]:
        base = {"a": 0.5, "b": 0.4, "c": 0.8}[name]
        gain = {"VSM": 1.0, "COV": 1.2}.get(model, 1.1) + (0.01 if name == "a" else 0)
        return dict.fromkeys(("F-measure", "purity", "VD", "VI"), base * gain) | {
            "entropy": base / gain
        }


def test_changes_are_means_of_the_sets_with_t(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "chosen_sets", lambda *_: ["a", "b", "c"])
    monkeypatch.setattr(tables, "Scorer", _Made)
    rows = computed("gvsm-2", data).as_json()["rows"]
    row = next(r for r in rows if r["model"] == "COV" and r["measure"] == "F-measure")
    changes = [100 * (1.21 / 1.01 - 1), 20.0, 20.0]
    mean = sum(changes) / 3
    assert row["ours"] == pytest.approx(mean)
    sd = math.sqrt(sum((c - mean) ** 2 for c in changes) / 2)
    assert row["our_deviation"] == pytest.approx(sd)
    assert row["t"] == pytest.approx(mean / (sd / math.sqrt(3)))
    assert row["verdict"] == "superior" and row["sets"] == 3
    entropy = next(r for r in rows if r["model"] == "COV" and r["measure"] == "entropy")
    assert entropy["ours"] < 0 and entropy["verdict"] == "superior"
    worse = next(r for r in rows if r["model"] == "COV" and r["measure"] == "VI")
    assert worse["verdict"] == "inferior"


def test_a_mean_of_another_sign_is_shown_with_the_sets_it_depends_on() -> None:
    keys = {"set": "mean", "algorithm": "HAC complete", "model": "COV", "measure": "F-measure"}
    others = {**keys, "measure": "VD"}
    by_set = {"a": 3.0, "b": -1.0, "c": -1.0}
    table = PaperTable(
        "t",
        [tables._change(keys, by_set), tables._change(others, by_set)],
        summarise=tables._signs_of_means,
    )
    printed = [PrintedCell(keys, "-0.85", 12.67), PrintedCell(others, "5.00", 1.0)]
    first, second = compare("t", table, printed).notes
    assert first == "Signs of the mean: 1 of 2 as printed."
    assert second == (
        "Other sign: HAC complete, COV, F-measure: +0.33, standard error 1.33, printed"
        " -0.85 ± 12.67. As printed without a."
    )


def test_a_sign_that_no_set_decides_is_said_to_be_so() -> None:
    keys = {"set": "mean", "algorithm": "HAC complete", "model": "COV", "measure": "F-measure"}
    cells = [tables._change(keys, {"a": 3.0, "b": 2.0})]
    table = PaperTable("t", cells, summarise=tables._signs_of_means)
    assert (
        compare("t", table, [PrintedCell(keys, "-0.85", 12.67)])
        .notes[1]
        .endswith("No set decides it alone.")
    )


def test_relative_measures_have_the_best_model_at_one(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "chosen_sets", lambda *_: ["a", "b", "c"])
    monkeypatch.setattr(tables, "Scorer", _Made)
    rows = computed("gvsm-3", data).as_json()["rows"]
    by_model = {r["model"]: r["ours"] for r in rows if r["measure"] == "relative entropy"}
    assert by_model["COV"] == 1.0
    assert by_model["VSM"] == pytest.approx((1.01 / 1.21 + 2 / 1.2) / 3)
    signs = {r["model"]: r["ours"] for r in computed("gvsm-4", data).as_json()["rows"]}
    assert signs["VSM, COV"] == "<<" and signs["COV, LSI"] == ">>" and signs["LSI, PCA"] == "="


def test_an_interrupted_table_is_continued(data: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    results = tmp_path / "results.jsonl"
    more = {"sets": ("tr31",), "tell": heard.append, "results": results, "repetitions": 2}
    first = computed("gvsm-2", data, **more)
    lines = results.read_text().splitlines()
    assert len(lines) == len(heard) == 5 * 3  # linkages once, two runs of spherical k-means
    results.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:10])
    heard.clear()
    assert computed("gvsm-2", data, **more).as_json() == first.as_json()
    assert len(heard) == 1  # only what was cut off


def test_the_command_shows_draws_and_compares(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    drawn = tmp_path / "gvsm.svg"
    asked = ["reproduce", "gvsm-5", "--data", str(data), "--quick", "--sets", "tr31"]
    assert run([*asked, "--svg", str(drawn)]) == 0
    shown = capsys.readouterr().out
    assert "agrees in" in shown and "printed" in shown
    assert "HAC average" in drawn.read_text(encoding="utf-8")
    assert run([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["table"], found["cells"]) == ("gvsm-5", 18)
    other = tmp_path / "other.csv"
    other.write_text("set,algorithm,model,printed,better\ntr31,HAC average,VSM,0.01,larger\n")
    assert run([*asked, "--printed", str(other), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cells"], found["agrees"], found["reached"]) == (1, 0, 1)
    drawn.unlink()
    signs = ["reproduce", "gvsm-4", *asked[2:], "--svg", str(drawn)]
    assert run(signs) == 2
    assert "no picture of gvsm-4" in capsys.readouterr().err
