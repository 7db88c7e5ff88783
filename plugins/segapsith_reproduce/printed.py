"""Printed figures from a CSV file, beside the figures of a table.

`printed` is the figure and `column` the column of the table that it belongs to. `deviation` is the
printed deviation, if there is one, and `better` is `smaller` where smaller values are better. Every
other column has the name of a column of the table and selects rows (`set`, `model` …); an empty
value matches every row. `table`, if present, names the table that a line belongs to.
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

_FIELDS = ("table", "column", "printed", "deviation", "better")


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """A printed figure, and the rows and the column of the table that it belongs to."""

    rows: Mapping[str, str]
    column: str
    printed: Printed
    larger_is_better: bool = True

    def ours(self, rows: Sequence[Mapping[str, object]]) -> float | None:
        """Return the best of our figures in the selected rows, or None if there are none."""
        values = [
            float(str(row[self.column]))
            for row in rows
            if row[self.column] is not None
            and all(str(row[name]) == value for name, value in self.rows.items())
        ]
        if not values:
            return None
        return max(values) if self.larger_is_better else min(values)


def read(path: Path, name: str, table: Table) -> list[PrintedCell]:
    """Return the figures of a file that belong to this table."""
    if not path.is_file():
        raise MissingInputError(f"there is no file {path}")
    with path.open(encoding="utf-8", newline="") as lines:
        entries = [e for e in csv.DictReader(lines) if (e.get("table") or name) == name]
    for column in dict.fromkeys(key for entry in entries for key, value in entry.items() if value):
        if column not in (*_FIELDS, *table.head):
            raise InputError(
                f"{path}: {name} has no column {column!r} (it has: {', '.join(table.head)})"
                f"{did_you_mean(column, [*_FIELDS, *table.head])}"
            )
    return [_cell(path, number, entry, table) for number, entry in enumerate(entries, 1)]


def _cell(path: Path, number: int, entry: Mapping[str, str | None], table: Table) -> PrintedCell:
    column = entry.get("column") or ""
    try:
        value = float(entry.get("printed") or "")
        deviation = float(entry["deviation"] or "") if entry.get("deviation") else None
    except ValueError as error:
        raise InputError(
            f"{path}: figure {number} of this table is not a number: {error}"
        ) from error
    if column not in table.head:
        raise InputError(
            f"{path}: figure {number} names the column {column!r}; there are:"
            f" {', '.join(table.head)}"
        )
    if (entry.get("better") or "larger") not in ("larger", "smaller"):
        raise InputError(f"{path}: figure {number}: better should be `larger` or `smaller`")
    rows = {key: text for key, text in entry.items() if text and key not in _FIELDS}
    return PrintedCell(
        rows, column, Printed(value, value, deviation), entry.get("better") != "smaller"
    )


def beside(table: Table, cells: Sequence[PrintedCell]) -> Table:
    """Return each printed figure with ours, whether ours reaches it, and a note on how many do."""
    rows = table.as_json()["rows"]
    keys = [name for name in table.head if any(name in cell.rows for cell in cells)]
    compared_rows: list[list[str | int | float | None]] = []
    scores: list[Score] = []
    n_reached = n_compared = 0
    for cell in cells:
        ours = cell.ours(rows)
        is_reached = ours is not None and cell.printed.reached(
            ours, larger_is_better=cell.larger_is_better
        )
        n_compared += ours is not None
        n_reached += is_reached
        answer = "" if ours is None else "yes" if is_reached else "no"
        compared_rows.append(
            [
                *(cell.rows.get(name, "") for name in keys),
                cell.column,
                ours,
                str(cell.printed),
                answer,
            ]
        )
        if ours is not None:
            at = (cell.printed.low, cell.printed.high)
            scores.append(Score(", ".join(cell.rows.values()), cell.column, ours, ours, ours, at))
    share = f" ({100 * n_reached / n_compared:.0f} %)" if n_compared else ""
    rule = "at most one printed deviation worse than the figure, or 3 points without a deviation"
    notes = [f"reached in {n_reached} of {n_compared} cells{share}: {rule}"]
    if n_compared < len(cells):
        notes.append(f"{len(cells) - n_compared} printed figures match none of ours")
    heading = "ours against the printed figures, one point per cell"
    return Table(
        f"Compared with the printed figures: {table.title}",
        [*keys, "column", "ours", "printed", "reached"],
        compared_rows,
        notes,
        sheet(heading, [against_printed(heading, scores)]) if scores else "",
    )
