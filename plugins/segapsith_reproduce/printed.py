"""Figures that the papers print: those of the package, or those of a file.

`printed_tables/NAME.csv` has one line per printed cell. `printed` is the figure with the digits
that are printed, or a sign such as `<<`. `deviation` is what follows ±. `better` is `larger` or
`smaller`, or empty for counts and signs. `tolerance`, where present, replaces the deviation as the
allowed difference. `label`, where present, is shown with the figure. `table`, where present, names
the table that a line belongs to, so that one file can have several. `mark`, `note`, `unit` and
`gloss` are remarks and ignored; `word` is read as `label`, `what` as `measure`. All other columns are
keys that name the cell: set, algorithm, model, measure …
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from segapsith.errors import InputError, MissingInputError

__all__ = ["DEFAULT_TOLERANCE", "PrintedCell", "read", "shipped"]

DEFAULT_TOLERANCE = 0.03
"""Allowed difference where neither a tolerance nor a deviation is given."""

_FIELDS = ("table", "printed", "deviation", "better", "tolerance", "label")
_REMARKS = ("mark", "note", "unit", "gloss")
_OTHER_NAMES = {"word": "label", "what": "measure"}
_BETTER = ("", "larger", "smaller")


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """A printed figure or sign, and the keys that name its cell."""

    keys: Mapping[str, str]
    printed: str
    """As it is printed, since its digits tell how it was rounded."""
    deviation: float | None = None
    better: str = ""
    tolerance: float | None = None
    label: str = ""
    """What the figure is about, where that is not a key: the word at a place."""

    @property
    def value(self) -> float | None:
        """The figure; None for a sign."""
        try:
            return float(self.printed)
        except ValueError:
            return None

    @property
    def n_decimals(self) -> int:
        """The number of decimals that are printed."""
        return len(self.printed.partition(".")[2])

    @property
    def slack(self) -> float:
        """How far ours may be from the figure: the tolerance, or the deviation, and the rounding.

        >>> round(PrintedCell({}, "0.41", tolerance=0.01).slack, 4)
        0.015
        """
        allowed = self.deviation if self.tolerance is None else self.tolerance
        rounding = 0.5 * 10.0**-self.n_decimals
        return (DEFAULT_TOLERANCE if allowed is None else allowed) + rounding + 1e-9

    def agrees(self, ours: float | str) -> bool:
        """Return whether ours is as far as allowed at most; signs are equal or not."""
        if self.value is None or isinstance(ours, str):
            return str(ours) == self.printed
        return abs(ours - self.value) <= self.slack

    def reached(self, ours: float | str) -> bool:
        """Return whether ours is not worse than allowed; without `better` this is `agrees`."""
        if self.value is None or isinstance(ours, str) or not self.better:
            return self.agrees(ours)
        worse = self.value - ours if self.better == "larger" else ours - self.value
        return worse <= self.slack

    def __str__(self) -> str:
        """Return the figure and its deviation as they are printed.

        >>> str(PrintedCell({}, "0.50", 0.1))
        '0.50 ± 0.10'
        """
        shown = f"{self.label} {self.printed}".lstrip()
        if self.deviation is None:
            return shown
        return f"{shown} ± {self.deviation:.{self.n_decimals}f}"


def shipped(name: str) -> list[PrintedCell]:
    """Return the figures of a table that the package has; none if it has no such table."""
    path = resources.files(__package__) / "printed_tables" / f"{name}.csv"
    return _cells(path.read_text(encoding="utf-8"), f"{name}.csv", name) if path.is_file() else []


def read(path: Path, name: str) -> list[PrintedCell]:
    """Return the figures of a file that belong to this table.

    A figure without deviation and tolerance has the tolerance of the package's cell with these keys.
    """
    if not path.is_file():
        raise MissingInputError(f"there is no file {path}")
    tolerances = {frozenset(cell.keys.items()): cell.tolerance for cell in shipped(name)}
    return [
        replace(cell, tolerance=tolerances.get(frozenset(cell.keys.items())))
        if cell.tolerance is None and cell.deviation is None
        else cell
        for cell in _cells(path.read_text(encoding="utf-8"), str(path), name)
    ]


def _cells(text: str, source: str, name: str) -> list[PrintedCell]:
    lines = csv.DictReader(text.splitlines())
    if "printed" not in (lines.fieldnames or ()):
        raise InputError(f"{source} has no column `printed`")
    return [
        _cell(line, f"{source}, line {number}")
        for number, line in enumerate(lines, 2)
        if (line.get("table") or name) == name
    ]


def _cell(line: Mapping[str, str | None], place: str) -> PrintedCell:
    better = line.get("better") or ""
    if better not in _BETTER:
        raise InputError(f"{place}: better is {better!r}; it should be `larger` or `smaller`")
    line = {_OTHER_NAMES.get(column, column): value for column, value in line.items() if column}
    no_keys = (*_FIELDS, *_REMARKS)
    keys = {column: value for column, value in line.items() if column not in no_keys and value}
    cell = PrintedCell(
        keys,
        (line.get("printed") or "").strip(),
        _number(line, "deviation", place),
        better,
        _number(line, "tolerance", place),
        line.get("label") or "",
    )
    if not cell.printed:
        raise InputError(f"{place}: `printed` is empty")
    if cell.value is None and any(character.isalnum() for character in cell.printed):
        raise InputError(f"{place}: printed is {cell.printed!r}; it should be a number or a sign")
    return cell


def _number(line: Mapping[str, str | None], column: str, place: str) -> float | None:
    text = line.get(column)
    try:
        return float(text) if text else None
    except ValueError as error:
        raise InputError(f"{place}: {column} is {text!r}; it should be a number") from error
