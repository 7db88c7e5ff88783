"""Our figures beside printed ones: joined by keys, counted, laid out."""

from __future__ import annotations

import pytest

from segapsith.errors import InputError
from segapsith_reproduce import Cell, PaperTable, Table
from segapsith_reproduce.comparison import compare
from segapsith_reproduce.printed import PrintedCell


def keys(name: str, model: str) -> dict[str, str]:
    return {"set": name, "algorithm": "HAC average", "model": model, "measure": "F-measure"}


OURS = PaperTable(
    "made up",
    [
        Cell(keys("a", "VSM"), 0.512, more={"t": 2.0}),
        Cell(keys("a", "COV"), 0.7, 0.02),
        Cell(keys("b", "VSM"), 0.3),
        Cell(keys("extra", "VSM"), 0.4),
    ],
    notes=["a note"],
)
PRINTED = [
    PrintedCell(keys("a", "VSM"), "0.50", None, "larger", 0.01),
    PrintedCell(keys("a", "COV"), "0.50", 0.1, "larger"),
    PrintedCell(keys("b", "VSM"), "0.50", None, "larger"),
    PrintedCell(keys("absent", "VSM"), "0.9", None, "larger"),
]


def test_cells_are_joined_by_keys_and_counted() -> None:
    found = compare("t", OURS, PRINTED).as_json()
    assert (found["cells"], found["agrees"], found["reached"]) == (3, 1, 2)
    assert [row["agrees"] for row in found["rows"]] == [True, False, False, None]
    assert [row["reached"] for row in found["rows"]] == [True, True, False, None]
    first = found["rows"][0]
    assert first == {
        **keys("a", "VSM"),
        "ours": 0.512,
        "our_deviation": None,
        "printed": 0.5,
        "deviation": None,
        "difference": pytest.approx(0.012),
        "allowed": 0.015,
        "agrees": True,
        "reached": True,
        "t": 2.0,
    }
    assert found["not_computed"] == [keys("absent", "VSM")]
    assert found["notes"] == ["a note", "printed, not computed here: 1 cells (set absent)"]


def test_people_see_ours_the_printed_figure_and_the_difference() -> None:
    comparison = compare("t", OURS, PRINTED)
    table = comparison.as_table()
    assert table.head == ["set", "", "VSM", "COV"]
    assert table.title == "made up, HAC average, F-measure"  # what all cells share
    assert [list(row[1:]) for row in table.rows] == [
        ["ours", "0.512", "0.70 ± 0.02"],
        ["printed", "0.50", "0.50 ± 0.10"],
        ["diff", "+0.01", "+0.20*"],
        ["ours", "0.300", ""],
        ["printed", "0.50", ""],
        ["diff", "-0.20!", ""],
        ["ours", "0.400", ""],  # the paper does not have this set
    ]
    assert table.notes[0] == "agrees in 1 of 3 cells (33 %), reached in 2 (67 %)"
    assert comparison.picture.count("<circle") >= 3


def test_signs_are_compared_as_they_are() -> None:
    ours = PaperTable("signs", [Cell({"model": "VSM, COV"}, "<<"), Cell({"model": "A, B"}, "=")])
    printed = [PrintedCell({"model": "VSM, COV"}, "<<"), PrintedCell({"model": "A, B"}, ">>")]
    found = compare("t", ours, printed)
    assert (found.n_agrees, found.n_reached) == (1, 1)
    assert found.as_json()["rows"][1]["printed"] == ">>"
    assert [list(row) for row in found.as_table().rows] == [
        ["ours", "<<", "="],
        ["printed", "<<", ">>"],
        ["diff", "same", "other!"],
    ]
    assert found.picture == ""


def test_a_printed_figure_names_one_cell() -> None:
    both = [PrintedCell({"set": "a", "measure": "F-measure"}, "0.5")]
    with pytest.raises(InputError, match="does not name one cell of t; name all of: set"):
        compare("t", OURS, both)
    twice = [PrintedCell(keys("b", "VSM"), "0.5"), PrintedCell({"set": "b"}, "0.5")]
    with pytest.raises(InputError, match="does not name one cell"):
        compare("t", OURS, twice)


def test_without_printed_figures_ours_are_shown() -> None:
    found = compare("t", OURS, [])
    assert [row[1] for row in found.as_table().rows] == ["ours"] * 3
    assert found.as_table().notes[0] == "no cell has a printed figure"
    assert found.as_json()["cells"] == 0


def test_numbers_of_a_plain_table_are_cells_by_its_columns_of_text() -> None:
    table = Table("plain", ["set", "method", "n", "F"], [["a", "x", 3, 0.5], ["a", "y", 4, None]])
    cells = table.cells()
    assert [(dict(cell.keys), cell.ours) for cell in cells] == [
        ({"set": "a", "method": "x", "measure": "n"}, 3),
        ({"set": "a", "method": "x", "measure": "F"}, 0.5),
        ({"set": "a", "method": "y", "measure": "n"}, 4),
    ]


def test_agreement_is_counted_by_algorithm() -> None:
    names = [{"algorithm": "HAC complete"}, {"algorithm": "HAC average"}]
    ours = PaperTable("two", [Cell(name, 0.5) for name in names], "algorithm")
    found = compare("t", ours, [PrintedCell(names[0], "0.50"), PrintedCell(names[1], "0.90")])
    assert "agrees by algorithm: HAC complete 1 of 1, HAC average 0 of 1" in found.as_table().notes


def test_a_printed_figure_that_ties_can_give_is_explained() -> None:
    def cell(name: str, *ties: float) -> Cell:
        return Cell(keys(name, "VSM"), 0.3, more={"ties": list(ties)} if ties else {})

    table = PaperTable(
        "t", [cell("a", 0.2, 0.496), cell("b", 0.2, 0.49), cell("c"), cell("d", 0.2, 0.4)]
    )
    printed = [PrintedCell(keys(name, "VSM"), "0.50", None, "larger", 0.01) for name in "abc"]
    printed.append(PrintedCell(keys("d", "VSM"), "0.30", None, "larger", 0.01))
    comparison = compare("t", table, printed)
    assert [c.explained for c in comparison.cells] == [True, False, False, False]
    found = comparison.as_json()
    assert (found["agrees"], found["explained"]) == (1, 1)
    assert [row.get("explained") for row in found["rows"]] == [True, None, None, None]
    assert "explained by ties, of those that do not agree: 1" in comparison.as_table().notes
