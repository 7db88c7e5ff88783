"""Figures of a paper that somebody has copied into a file, beside those of a table.

The file is CSV. `printed` is the figure and `column` the column of the table that it belongs to;
`deviation` is the printed one, if there is any, and `better` says `smaller` where less is more. Every
other column is named like one of the table's and says which row is meant (`set`, `model` …); what is
left empty may be anything. `table`, if it is there, says which table a line is for.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from segapsith.errors import InputError, MissingInputError, did_you_mean
from segapsith_reproduce import Table
from segapsith_reproduce.cells import Printed
from segapsith_reproduce.score_charts import Score, against_printed, sheet

__all__ = ["PrintedCell", "beside", "read"]

_OWN = ("table", "column", "printed", "deviation", "better")


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """A figure of a paper, and of which rows and column of a table it is."""

    rows: Mapping[str, str]
    column: str
    printed: Printed
    larger_is_better: bool = True

    def ours(self, rows: Sequence[Mapping[str, object]]) -> float | None:
        """The best of our figures in the rows that are meant, if there are any."""
        found = [
            float(str(row[self.column]))
            for row in rows
            if row[self.column] is not None
            and all(str(row[name]) == value for name, value in self.rows.items())
        ]
        if not found:
            return None
        return max(found) if self.larger_is_better else min(found)


def read(path: Path, name: str, table: Table) -> list[PrintedCell]:
    """The figures of a file that are for this table."""
    if not path.is_file():
        raise MissingInputError(f"there is no file {path}")
    with path.open(encoding="utf-8", newline="") as lines:
        entries = [e for e in csv.DictReader(lines) if (e.get("table") or name) == name]
    for column in dict.fromkeys(key for entry in entries for key, said in entry.items() if said):
        if column not in (*_OWN, *table.head):
            raise InputError(
                f"{path}: {name} has no column {column!r} (it has: {', '.join(table.head)})"
                f"{did_you_mean(column, [*_OWN, *table.head])}"
            )
    return [_cell(path, number, entry, table) for number, entry in enumerate(entries, 1)]


def _cell(path: Path, number: int, entry: Mapping[str, str | None], table: Table) -> PrintedCell:
    column = entry.get("column") or ""
    try:
        value = float(entry.get("printed") or "")
        deviation = float(entry["deviation"] or "") if entry.get("deviation") else None
    except ValueError as error:
        raise InputError(f"{path}: figure {number} of this table is no number: {error}") from error
    if column not in table.head:
        raise InputError(
            f"{path}: figure {number} is of the column {column!r}; there are:"
            f" {', '.join(table.head)}"
        )
    if (entry.get("better") or "larger") not in ("larger", "smaller"):
        raise InputError(f"{path}: figure {number}: better is `larger` or `smaller`")
    rows = {key: said for key, said in entry.items() if said and key not in _OWN}
    return PrintedCell(
        rows, column, Printed(value, value, deviation), entry.get("better") != "smaller"
    )


def beside(table: Table, cells: Sequence[PrintedCell]) -> Table:
    """Each printed figure with ours, and whether that is reached; how many are, in a note."""
    rows = table.as_json()["rows"]
    keys = [name for name in table.head if any(name in cell.rows for cell in cells)]
    shown: list[list[str | int | float | None]] = []
    drawn: list[Score] = []
    reached = compared = 0
    for cell in cells:
        ours = cell.ours(rows)
        met = ours is not None and cell.printed.reached(
            ours, larger_is_better=cell.larger_is_better
        )
        compared += ours is not None
        reached += met
        said = "" if ours is None else "yes" if met else "no"
        shown.append(
            [
                *(cell.rows.get(name, "") for name in keys),
                cell.column,
                ours,
                str(cell.printed),
                said,
            ]
        )
        if ours is not None:
            at = (cell.printed.low, cell.printed.high)
            drawn.append(Score(", ".join(cell.rows.values()), cell.column, ours, ours, ours, at))
    share = f" ({100 * reached / compared:.0f} %)" if compared else ""
    bar = "no more than a printed deviation short of the figure, or 3 points where none is printed"
    notes = [f"reached in {reached} of {compared} cells{share}: {bar}"]
    if compared < len(cells):
        notes.append(f"{len(cells) - compared} printed figures have none of ours beside them")
    heading = "ours against the printed figures, one point a cell"
    return Table(
        f"Beside the printed figures: {table.title}",
        [*keys, "column", "ours", "printed", "reached"],
        shown,
        notes,
        sheet(heading, [against_printed(heading, drawn)]) if drawn else "",
    )
