"""Printed figures: those of the package and those of a file, and what is near enough to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.errors import InputError, MissingInputError
from segapsith_reproduce import TABLES
from segapsith_reproduce.printed import PrintedCell, read, shipped


def written(folder: Path, *lines: str) -> Path:
    path = folder / "printed.csv"
    path.write_text("\n".join(["table,set,measure,printed,deviation,better,tolerance", *lines]))
    return path


@pytest.mark.parametrize(
    ("cell", "agrees", "differs"),
    [
        (PrintedCell({}, "0.41", tolerance=0.01), [0.395, 0.41, 0.425], [0.394, 0.426]),
        (PrintedCell({}, "0.41"), [0.375, 0.445], [0.374, 0.446]),
        (PrintedCell({}, "0.60", 0.0), [0.595, 0.605], [0.594, 0.606]),  # rounding is allowed
        (PrintedCell({}, "33.2", tolerance=3), [30.15, 36.25], [30.1, 36.3]),
        (PrintedCell({}, "23.30", 49.1, tolerance=0.01), [23.31], [23.4]),  # of a population
        (PrintedCell({}, "2000", tolerance=0.01), [2000], [2001, 1999]),
        (PrintedCell({}, "5.75", 8.46), [-2.7, 14.2], [-2.8, 14.3]),
        (PrintedCell({}, "<<"), ["<<"], ["=", ">>"]),
    ],
)
def test_figures_agree_up_to_tolerance_and_rounding(
    cell: PrintedCell, agrees: list[float | str], differs: list[float | str]
) -> None:
    assert [cell.agrees(ours) for ours in agrees] == [True] * len(agrees)
    assert [cell.agrees(ours) for ours in differs] == [False] * len(differs)


def test_a_better_figure_is_reached_and_does_not_agree() -> None:
    precision = PrintedCell({}, "0.60", 0.02, "larger")
    assert precision.reached(0.96) and not precision.agrees(0.96)
    assert precision.reached(0.575) and not precision.reached(0.574)
    entropy = PrintedCell({}, "0.60", 0.02, "smaller")
    assert entropy.reached(0.1) and entropy.reached(0.625) and not entropy.reached(0.626)
    assert not PrintedCell({}, "7", tolerance=0).reached(8)  # a count is right or wrong


@given(
    ours=st.floats(-5, 5),
    printed=st.integers(-300, 300),
    deviation=st.none() | st.floats(0, 2),
    better=st.sampled_from(["", "larger", "smaller"]),
)
def test_what_agrees_is_reached(
    ours: float, printed: int, deviation: float | None, better: str
) -> None:
    cell = PrintedCell({}, f"{printed / 100:.2f}", deviation, better)
    assert cell.reached(ours) or not cell.agrees(ours)


def test_every_table_of_the_papers_has_its_printed_figures() -> None:
    counts = {name: len(shipped(name)) for name in TABLES if name.startswith("gvsm")}
    assert {
        name: n for name, n in counts.items() if name in ("gvsm-2", "gvsm-4", "gvsm-5", "gvsm-8")
    } == {"gvsm-2": 72, "gvsm-4": 135, "gvsm-5": 234, "gvsm-8": 54}
    assert all(counts.values())
    assert shipped("streaming") == []


def test_remarks_of_a_file_name_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "papers.csv"
    head = "table,place,word,gloss,what,printed,deviation,better,unit,mark,note"
    path.write_text(f"{head}\nt,1,juge,judge,weight,0.5,,,words,bold,in doubt\n", encoding="utf-8")
    (cell,) = read(path, "t")
    assert cell.keys == {"place": "1", "measure": "weight"}
    assert cell.label == "juge"


def test_a_file_without_tolerances_has_those_of_the_package(tmp_path: Path) -> None:
    path = tmp_path / "papers.csv"
    keys = "k1a,HAC complete,VSM,F-measure"
    lines = ["set,algorithm,model,measure,printed,deviation,tolerance"]
    lines += [f"{keys},0.5,,", f"{keys},0.5,0.2,", f"{keys},0.5,,0.05", "other,,,,0.5,,"]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert [cell.tolerance for cell in read(path, "gvsm-5")] == [0.01, None, 0.05, None]


def test_lines_of_other_tables_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "t,a,F,0.5,0.1,larger,", "other,a,F,0.7,,,", ",b,F,0.6,,,0.01")
    cells = read(path, "t")
    assert [cell.printed for cell in cells] == ["0.5", "0.6"]
    assert cells[0].keys == {"set": "a", "measure": "F"}
    assert [str(cell) for cell in cells] == ["0.5 ± 0.1", "0.6"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t,a,F,half,,,", "line 2: printed is 'half'"),
        ("t,a,F,,,,", "line 2: `printed` is empty"),
        ("t,a,F,0.5,wide,,", "deviation is 'wide'"),
        ("t,a,F,0.5,,more,", "`larger` or `smaller`"),
        ("t,a,F,0.5,,,little", "tolerance is 'little'"),
    ],
)
def test_a_printed_figure_that_cannot_be_read_is_named(
    line: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        read(written(tmp_path, line), "t")
    with pytest.raises(MissingInputError):
        read(tmp_path / "nowhere.csv", "t")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column `printed`"):
        read(tmp_path / "other.csv", "t")
