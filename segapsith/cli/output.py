"""What reaches the terminal: data on standard output, talk on standard error, nothing raw.

Text that came from a feed is cleaned of control characters before it is printed, so that no feed
can move the cursor, ring the bell or turn the line around.
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Progress", "plain", "say", "show_json", "table", "write"]

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def plain(text: str) -> str:
    """The text without control characters and direction marks; tabs and newlines stay.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _CONTROL.sub("�", text)


def write(text: str) -> None:
    """A line of data."""
    sys.stdout.write(plain(text) + "\n")


listener: tuple[logging.Logger, bool] | None = None
"""Who else hears the talk, and whether it is still written to standard error besides."""


def say(text: str) -> None:
    """A line of talk."""
    if listener is not None:
        logger, besides = listener
        told = text.removeprefix("segapsith: ")
        level = logging.INFO if told == text else logging.ERROR
        logger.log(logging.WARNING if told.startswith("warning") else level, "%s", told)
        if not besides:
            return
    sys.stderr.write(plain(text).replace("\r", " ") + "\n")


def show_json(value: Any) -> None:
    """One JSON value; control characters are escaped by JSON, the others by us."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(_CONTROL.sub(lambda m: f"\\u{ord(m.group()):04x}", text) + "\n")


def table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> None:
    """Aligned columns on a terminal, tabs when piped; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [list(head), *cells]:
            write("\t".join(row))
        return
    width = shutil.get_terminal_size().columns
    sizes = [max(len(r[i]) for r in [list(head), *cells]) for i in range(len(head))]
    for number, row in enumerate([list(head), *cells]):
        line = "  ".join(
            cell.rjust(size) if number and _numeric(cell) else cell.ljust(size)
            for cell, size in zip(row, sizes, strict=True)
        )
        write(line.rstrip()[:width])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return plain(str(value)).replace("\n", " ").replace("\t", " ")


def _numeric(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("-", "", 1).isdigit()


class Progress:
    """A line that moves, on a terminal only."""

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()
        self._last = 0.0

    def update(self, text: str) -> None:
        now = time.monotonic()
        if self._shown and now - self._last > 0.1:
            self._last = now
            sys.stderr.write(f"\r\x1b[2K{plain(text)}")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
