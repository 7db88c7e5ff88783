"""Printed figures from a file: matched with rows of a table, and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from segapsith.errors import InputError, MissingInputError
from segapsith_reproduce import Table
from segapsith_reproduce.cells import Printed
from segapsith_reproduce.printed import beside, read

COPIED = Table(
    "made up",
    ["set", "model", "F", "E"],
    [["a", "VSM", 0.5, 0.4], ["a", "COV", 0.6, 0.3], ["b", "COV", None, 0.2]],
)


def copied(folder: Path, *lines: str) -> Path:
    path = folder / "printed.csv"
    path.write_text("\n".join(["table,set,model,rank,column,printed,deviation,better", *lines]))
    return path


def test_printed_figures_stand_beside_ours(tmp_path: Path) -> None:
    path = copied(
        tmp_path,
        "t,a,VSM,,F,0.53,,",  # three points are allowed
        "t,a,VSM,,F,0.53,0.02,",  # a printed deviation is not as wide
        "t,a,COV,,E,0.27,,smaller",
        "t,a,COV,,E,0.26,,smaller",
        ",a,,,F,0.6,,",  # of every model: the best
        "t,b,COV,,F,0.1,,",  # ours is not there
        "other,a,COV,50,F,0.1,,",  # of another table, which has ranks
    )
    found = beside(COPIED, read(path, "t", COPIED))
    assert [row[-1] for row in found.rows] == ["yes", "no", "yes", "no", "yes", ""]
    assert [row[-3] for row in found.rows] == [0.5, 0.5, 0.3, 0.3, 0.6, None]
    assert found.notes[0].startswith("reached in 3 of 5 cells (60 %)")
    assert found.notes[1].startswith("1 printed figures match none")
    assert found.picture.count("<circle") >= 5


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("t,a,VSM,,G,0.5,,", "column 'G'"),
        ("t,a,VSM,,F,half,,", "not a number"),
        ("t,a,VSM,,F,0.5,wide,", "not a number"),
        ("t,a,VSM,,F,0.5,,more", "larger"),
        ("t,a,VSM,50,F,0.5,,", "no column 'rank'"),
    ],
)
def test_a_printed_figure_that_cannot_be_read_is_named(
    line: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        read(copied(tmp_path, line), "t", COPIED)
    with pytest.raises(MissingInputError):
        read(tmp_path / "nowhere.csv", "t", COPIED)


def test_when_a_printed_figure_is_reached() -> None:
    assert Printed(0.78, 0.80).reached(0.771) and not Printed(0.78, 0.80).reached(0.769)
    assert Printed(0.8, 0.8, 0.1).reached(0.701)
    entropy = Printed(0.3, 0.3)
    assert entropy.reached(0.329, larger_is_better=False)
    assert not entropy.reached(0.331, larger_is_better=False)
