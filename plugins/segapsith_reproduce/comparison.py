"""Our figures beside the printed ones: joined by their keys, counted, laid out, drawn.

A printed cell belongs to the cell of ours whose keys have the same values. Two counts are made of
the cells that both have. *Agrees*: ours is within one printed deviation (or the tolerance of the
cell) on either side, and half a last printed digit for rounding. *Reached*: ours is not worse than
that. A figure far better than print is reached and does not agree: the protocol was another one.

A cell may have the range that arbitrary choices give, such as which of equal pairs is merged. If it
does not agree but the printed figure is in that range, it is counted as *explained*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segapsith.errors import InputError
from segapsith_reproduce import Cell, PaperTable, Table
from segapsith_reproduce.printed import PrintedCell
from segapsith_reproduce.score_charts import Score, against_printed, sheet

__all__ = ["ComparedCell", "Comparison", "compare"]

KEYS = ("set", "algorithm", "model", "measure")
"""Keys that every row of the JSON has."""

_RULE = (
    "agrees: at most the printed deviation or the tolerance away, rounding allowed; reached: not"
    " worse than that. * better than allowed, ! other cells that do not agree"
)
_EXPLAINED = "explained by ties, of those that do not agree: {}"


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """A cell of ours, and its printed figure if there is one."""

    ours: Cell
    printed: PrintedCell | None

    @property
    def agrees(self) -> bool | None:
        """Whether ours is as far from print as allowed at most; None without a printed figure."""
        return None if self.printed is None else self.printed.agrees(self.ours.ours)

    @property
    def reached(self) -> bool | None:
        """Whether ours is not worse than allowed; None without a printed figure."""
        return None if self.printed is None else self.printed.reached(self.ours.ours)

    @property
    def explained(self) -> bool:
        """Whether ours does not agree, and print lies in the range that ties give."""
        value = None if self.printed is None else self.printed.value
        ties = self.ours.more.get("ties")
        if self.agrees is not False or self.printed is None or value is None or not ties:
            return False
        rounding = 0.5 * 10.0**-self.printed.n_decimals + 1e-9
        return bool(ties[0] - rounding <= value <= ties[1] + rounding)

    @property
    def difference(self) -> float | None:
        """Ours minus the printed figure; None for signs, and without a printed figure."""
        value = None if self.printed is None else self.printed.value
        return None if value is None or isinstance(self.ours.ours, str) else self.ours.ours - value

    @property
    def mark(self) -> str:
        """Nothing if ours agrees, `*` if it is better than allowed, `!` otherwise."""
        return "" if self.agrees is not False else "*" if self.reached else "!"

    def as_json(self) -> dict[str, Any]:
        """Return the keys, both figures, and the answers."""
        printed = self.printed
        figure = None if printed is None else printed.value
        return {
            **dict.fromkeys(KEYS, ""),
            **self.ours.keys,
            "ours": self.ours.ours,
            "our_deviation": self.ours.deviation,
            "printed": printed.printed if printed is not None and figure is None else figure,
            "deviation": None if printed is None else printed.deviation,
            "difference": self.difference,
            "allowed": None if printed is None else round(printed.slack, 6),
            "agrees": self.agrees,
            "reached": self.reached,
            **({"explained": True} if self.explained else {}),
            **self._labels(),
            **self.ours.more,
        }

    def _labels(self) -> dict[str, str]:
        """Return what each figure is about, where a table has such labels."""
        if not self.ours.label:
            return {}
        printed = "" if self.printed is None else self.printed.label
        return {"label": self.ours.label, "printed_label": printed}

    def lines(self) -> tuple[str, str, str]:
        """Return ours, the printed figure and the difference, as they are shown."""
        ours = self.ours.ours
        without = 0 if isinstance(ours, int) else 3
        n_decimals = without if self.printed is None else self.printed.n_decimals
        if not isinstance(ours, str):
            deviation = self.ours.deviation
            more = n_decimals + (0 < n_decimals < 3 and deviation is None)
            ours = f"{ours:.{more}f}" + ("" if deviation is None else f" ± {deviation:.{more}f}")
        ours = f"{self.ours.label} {ours}".lstrip()
        if self.printed is None:
            return ours, "", ""
        if self.difference is None:
            return ours, str(self.printed), ("same" if self.agrees else "other") + self.mark
        return ours, str(self.printed), f"{self.difference:+.{n_decimals}f}{self.mark}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paper's table: our cells beside the printed ones, and how many agree."""

    name: str
    title: str
    cells: Sequence[ComparedCell]
    unmatched: Sequence[PrintedCell]
    """Printed cells that have none of ours."""
    across: str = "model"
    notes: Sequence[str] = ()
    picture: str = ""

    @property
    def compared(self) -> list[ComparedCell]:
        """The cells that have a printed figure."""
        return [cell for cell in self.cells if cell.printed is not None]

    @property
    def n_agrees(self) -> int:
        """The number of cells that agree with print."""
        return sum(cell.agrees is True for cell in self.cells)

    @property
    def n_reached(self) -> int:
        """The number of cells that are not worse than print allows."""
        return sum(cell.reached is True for cell in self.cells)

    @property
    def n_explained(self) -> int:
        """The number of cells that do not agree and whose printed figure ties can give."""
        return sum(cell.explained for cell in self.cells)

    def as_json(self) -> dict[str, Any]:
        """Return the cells as rows, the counts and the notes."""
        return {
            "title": self.title,
            "rows": [cell.as_json() for cell in self.cells],
            "cells": len(self.compared),
            "agrees": self.n_agrees,
            "reached": self.n_reached,
            "explained": self.n_explained,
            "not_computed": [dict(cell.keys) for cell in self.unmatched],
            "notes": [*self.notes, *self._absent()],
        }

    def as_table(self) -> Table:
        """Return the layout for people: three lines (ours, printed, diff) per row.

        A key that has the same value in all cells is in the title, not in a column.
        """
        names = [n for n in _key_names(self.cells) if n != self.across]
        same = {name: value for name in names if (value := _common_value(self.cells, name))}
        names = [name for name in names if name not in same]
        title = ", ".join([self.title, *(v for v in same.values() if v not in self.title)])
        columns = list(dict.fromkeys(cell.ours.keys.get(self.across, "") for cell in self.cells))
        grid: dict[tuple[str, ...], dict[str, ComparedCell]] = {}
        for cell in self.cells:
            row = tuple(cell.ours.keys.get(name, "") for name in names)
            grid.setdefault(row, {})[cell.ours.keys.get(self.across, "")] = cell
        rows: list[list[str]] = []
        for row, by_column in grid.items():
            shown = [by_column[c].lines() if c in by_column else ("", "", "") for c in columns]
            any_printed = any(cell.printed is not None for cell in by_column.values())
            for i, kind in enumerate(("ours", "printed", "diff") if any_printed else ("ours",)):
                rows.append([*(row if i == 0 else [""] * len(row)), kind, *(s[i] for s in shown)])
        return Table(title, [*names, "", *columns], rows, self._notes(), self.picture)

    def _notes(self) -> list[str]:
        n = len(self.compared)
        share = f" ({100 * self.n_agrees / n:.0f} %)" if n else ""
        reached = f" ({100 * self.n_reached / n:.0f} %)" if n else ""
        counts = [
            f"agrees in {self.n_agrees} of {n} cells{share}, reached in {self.n_reached}{reached}",
            *self._by_algorithm(),
            *([_EXPLAINED.format(self.n_explained)] if self.n_explained else []),
            _RULE,
        ]
        return [*(counts if n else ["no cell has a printed figure"]), *self.notes, *self._absent()]

    def _by_algorithm(self) -> list[str]:
        """Return a note with the cells that agree under each algorithm, if there are several."""
        names = dict.fromkeys(cell.ours.keys.get("algorithm", "") for cell in self.compared)
        if len(names) < 2:
            return []
        parts = []
        for name in names:
            cells = [c for c in self.compared if c.ours.keys.get("algorithm", "") == name]
            parts.append(f"{name or 'none'} {sum(c.agrees is True for c in cells)} of {len(cells)}")
        return [f"agrees by algorithm: {', '.join(parts)}"]

    def _absent(self) -> list[str]:
        """Return a note that names the keys of printed cells that were not computed."""
        if not self.unmatched:
            return []
        parts = []
        for name in dict.fromkeys(key for cell in self.unmatched for key in cell.keys):
            ours = {cell.ours.keys.get(name) for cell in self.cells}
            values = dict.fromkeys(cell.keys.get(name, "") for cell in self.unmatched)
            absent = [value for value in values if value and value not in ours]
            parts += [f"{name} {', '.join(absent)}"] if absent else []
        return [f"printed, not computed here: {len(self.unmatched)} cells ({'; '.join(parts)})"]


def compare(name: str, table: PaperTable, printed: Sequence[PrintedCell]) -> Comparison:
    """Return our cells with their printed figures, in our order."""
    by_cell: dict[int, PrintedCell] = {}
    unmatched = []
    index = _Index(table.cells)
    for cell in printed:
        numbers = index.numbers(cell)
        if len(numbers) > 1 or (numbers and numbers[0] in by_cell):
            keys = ", ".join(f"{key} {value}" for key, value in cell.keys.items())
            raise InputError(
                f"the printed figure {cell.printed} ({keys}) does not name one cell of {name};"
                f" name all of: {', '.join(_key_names_of(table.cells))}"
            )
        if numbers:
            by_cell[numbers[0]] = cell
        else:
            unmatched.append(cell)
    compared = Comparison(
        name,
        table.title,
        [ComparedCell(cell, by_cell.get(i)) for i, cell in enumerate(table.cells)],
        unmatched,
        table.across,
        table.notes,
    )
    drawn = table.draw(compared) if table.draw is not None else _picture(compared)
    more = table.summarise(compared) if table.summarise is not None else ()
    notes = [*more, *table.notes]
    return Comparison(name, table.title, compared.cells, unmatched, table.across, notes, drawn)


class _Index:
    """Finds our cells by the keys that a printed cell has."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self._by_names: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}

    def numbers(self, printed: PrintedCell) -> list[int]:
        """Return the numbers of our cells that have all keys of the printed one."""
        names = tuple(printed.keys)
        if names not in self._by_names:
            by_values: dict[tuple[str, ...], list[int]] = {}
            for i, cell in enumerate(self.cells):
                by_values.setdefault(tuple(cell.keys.get(n, "") for n in names), []).append(i)
            self._by_names[names] = by_values
        return self._by_names[names].get(tuple(printed.keys.values()), [])


def _key_names(cells: Sequence[ComparedCell]) -> list[str]:
    return _key_names_of([cell.ours for cell in cells])


def _common_value(cells: Sequence[ComparedCell], name: str) -> str:
    """Return the value of a key that all cells share, or an empty string."""
    values = {cell.ours.keys.get(name, "") for cell in cells}
    return values.pop() if len(values) == 1 else ""


def _key_names_of(cells: Sequence[Cell]) -> list[str]:
    """Return the keys that are used, those of every table first."""
    used: dict[str, None] = dict.fromkeys(KEYS)
    for cell in cells:
        used |= dict.fromkeys(cell.keys)
    return [name for name in used if any(cell.keys.get(name) for cell in cells)]


def _picture(comparison: Comparison) -> str:
    """Draw ours against print, one point per cell with a number, coloured by the key across."""
    scores = []
    for cell in comparison.compared:
        value, ours = (cell.printed.value if cell.printed else None), cell.ours.ours
        if value is not None and not isinstance(ours, str):
            case = ", ".join(_without(cell.ours.keys, comparison.across).values())
            method = cell.ours.keys.get(comparison.across, "")
            scores.append(Score(case, method, ours, ours, ours, (value, value)))
    heading = f"{comparison.title}: ours against print, one point per cell"
    return sheet(heading, [against_printed(heading, scores)]) if scores else ""


def _without(keys: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in keys.items() if key != name and value}
