"""The tables of SEGAPSITH from a month, on a few stories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from segapsith_reproduce import Options, reproduce
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.paper_month import _mantel_figures

pytestmark = pytest.mark.slow

SUBJECTS = (
    "juge tribunal procès avocat accusation verdict prison condamnation magistrat",
    "virus hôpital patient infection médecin épidémie malade vaccin symptôme",
)


@pytest.fixture
def month(tmp_path: Path, write_set: Callable[..., None]) -> Path:
    rng = np.random.default_rng(0)
    documents: list[dict[str, Any]] = []
    for number in range(60):
        words = SUBJECTS[number % 2].split()
        text = " ".join(f"Le {a} et le {b} du {c}." for a, b, c in rng.choice(words, (12, 3)))
        day = f"2020-05-{1 + number // 3:02d}T10:00:00"
        documents.append({"id": number, "date": day, "title": words[0], "text": text})
    documents.append({"id": 99, "date": "2020-07-01", "title": "juillet", "text": "Rien."})
    write_set("orangesum-fr", documents)
    return tmp_path


def compared(name: str, data: Path, results: Path, heard: list[str]) -> Comparison:
    found = reproduce(name, data, Options(results=results, tell=heard.append))
    assert isinstance(found, Comparison)
    return found


def test_the_month_is_learned_once_for_all_tables(month: Path, tmp_path: Path) -> None:
    heard: list[str] = []
    results = tmp_path / "results.jsonl"
    figures = compared("segapsith-figures", month, results, heard)
    rows = {row["measure"]: row for row in figures.as_json()["rows"]}
    assert rows["thematic units of May 1994 (AFP)"]["ours"] >= 30
    assert rows["domains taken"]["ours"] == 2
    assert rows["kappa with the greedy mapping by largest intersection"]["ours"] == 1
    assert any("929,104" in note for note in figures.notes)
    assert heard
    heard.clear()
    links = compared("segapsith-4", month, results, heard)
    assert {c.ours.keys["link"]: c.ours.ours for c in links.cells}["1 to 1"] == 2
    coverage = compared("segapsith-5", month, results, heard)
    assert {c.ours.keys["coverage"]: c.ours.ours for c in coverage.cells}["100 %"] == 2
    best = compared("segapsith-3", month, results, heard)
    assert best.cells[0].ours.label in " ".join(SUBJECTS)
    assert best.as_json()["rows"][0]["printed_label"] == "juge d'instruction"
    assert not heard  # everything was stored
    shown = best.as_table().rows
    assert "juge d'instruction 58" in shown[1]


def test_mantel_on_a_subset_has_the_margins_of_its_units() -> None:
    figures = _mantel_figures([[0, 0, 900], [1, 1, 900], [0, 1, 10]], 0)
    by_name = {name: value for (_, name), value in figures.items()}
    assert by_name["units in the Mantel test"] == 1000
    assert by_name["Z between domains and clusters"] <= min(
        by_name["largest Z for the domains"], by_name["largest Z for the clusters"]
    )
    assert by_name["share of permuted values above Z"] == 0
    few = {name: value for (_, name), value in _mantel_figures([[0, 0, 3], [1, 1, 3]], 0).items()}
    assert few["units in the Mantel test"] == 6
    assert few["largest Z for the domains"] == few["Z between domains and clusters"] == 18
