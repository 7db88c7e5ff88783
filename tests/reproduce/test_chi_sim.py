"""The tables of χ-Sim in the layout of the paper, on a few messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segapsith.cli.app import run
from segapsith.errors import MissingInputError
from segapsith_reproduce import Options, Table, reproduce
from segapsith_reproduce.chi_sim import METHODS
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.printed import shipped

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that the tables share, since many have cells in common."""
    return tmp_path_factory.mktemp("stored") / "results.jsonl"


def compared(name: str, data: Path, options: Options) -> Comparison:
    result = reproduce(name, data, options)
    assert isinstance(result, Comparison)
    return result


def test_the_subsets_are_counted(messages: Path) -> None:
    found = compared("chi-sim-1", messages, Options())
    rows = {(row["set"], row["measure"]): row for row in found.as_json()["rows"]}
    assert rows["NG1", "clusters"]["ours"] == 2
    assert rows["NG1", "clusters"]["agrees"] is True
    assert rows["NG1", "documents"]["ours"] == 12
    assert rows["NG1", "documents"]["agrees"] is False


def test_every_printed_row_has_a_method() -> None:
    printed = {(cell.keys["model"], cell.keys["algorithm"]) for cell in shipped("chi-sim-2")}
    assert printed == {(name, method.algorithm) for name, method in METHODS.items()}


@pytest.mark.parametrize("number", [2, 3])
def test_a_table_has_the_rows_of_the_paper(number: int, messages: Path, stored: Path) -> None:
    found = compared(f"chi-sim-{number}", messages, Options(sets=("NG1",), results=stored))
    printed = [cell for cell in shipped(f"chi-sim-{number}") if cell.keys["set"] == "NG1"]
    assert len(found.compared) == len(printed)
    assert {cell.keys["set"] for cell in found.unmatched} == {"M2", "M5", "M10", "NG2", "NG3"}
    assert all(0 <= float(cell.ours.ours) <= 1 for cell in found.cells)
    assert found.notes[0].startswith("Precision: cosine agrees on ")
    row = next(c for c in found.as_json()["rows"] if c["model"] == "chi-Sim_p^0.8")
    assert row["samples"] == 2
    assert row["settings"]["k"] == 0.8


def test_the_best_settings_are_those_of_the_best_mean(messages: Path, stored: Path) -> None:
    found = compared("chi-sim-2", messages, Options(sets=("M10",), results=stored))
    rows = {row["model"]: row for row in found.as_json()["rows"]}
    for pruned, plain in (("chi-Sim_p", "chi-Sim"), ("chi-Sim_p^1", "chi-Sim^1")):
        assert rows[pruned]["ours"] >= max(rows[plain]["ours"], rows[pruned]["fixed"])


def test_stored_scores_are_not_computed_again(messages: Path, stored: Path) -> None:
    heard: list[str] = []
    options = Options(sets=("M10",), results=stored)
    first = compared("chi-sim-3", messages, options)
    again = Options(sets=("M10",), results=stored, tell=heard.append)
    assert compared("chi-sim-3", messages, again).as_json() == first.as_json()
    assert heard == []


def test_protocols_are_listed_with_their_counts(messages: Path, stored: Path) -> None:
    found = reproduce("chi-sim-protocols", messages, Options(quick=True, results=stored))
    assert isinstance(found, Table)
    assert list(found.head) == ["table", "protocol", "model", "M5", "M10", "agree", "reached"]
    assert len(found.rows) == 2 * 2 * 4
    assert all(0 <= int(str(row[-2])) <= int(str(row[-1])) <= 2 for row in found.rows)


def test_the_figure_has_both_word_selections(messages: Path, stored: Path) -> None:
    found = reproduce("chi-sim-figure-2", messages, Options(quick=True, results=stored))
    assert isinstance(found, Table)
    assert {row[0] for row in found.rows} == {"NG1"}
    assert {(row[1], row[2], row[3]) for row in found.rows} == {
        (words, *panel)
        for words in ("mutual information", "k-medoids")
        for panel in (("p", "k = 0.8"), ("p", "k = 0.6"), ("k", "p = 0.6"))
    }
    assert "precision against p" in found.picture


def test_the_command_prints_ours_beside_print(
    messages: Path, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["reproduce", "chi-sim-2", "--data", str(messages), "--sets", "NG1", "--quick"]
    assert run([*asked, "--results", str(stored)]) == 0
    shown = capsys.readouterr().out
    assert "0.96 ± 0.01" in shown
    assert "Samples present, of the paper's 10" in shown
    assert run([*asked, "--results", str(stored), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["table"] == "chi-sim-2"
    assert found["cells"] >= found["reached"] >= found["agrees"]


def test_a_folder_without_messages_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="20ng"):
        reproduce("chi-sim-2", tmp_path, Options(quick=True))
