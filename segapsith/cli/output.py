"""Print results on standard output and messages on standard error.

Standard output carries results only: before a command imports a plugin it calls `claim`, and from
then on whatever a plugin prints goes to standard error.

Control characters are removed from all text before it is printed, so that no feed can move the
cursor, ring the bell or reverse the direction of a line.

Text for people fits the terminal (`Output`); in a pipe lines have their full length.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import textwrap
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TextIO

from segapsith import progress
from segapsith.jit import announce
from segapsith.model import Result

__all__ = [
    "LISTED",
    "Fields",
    "Output",
    "Progress",
    "ReaderGone",
    "claim",
    "claimed",
    "counted",
    "flush",
    "json_form",
    "minute",
    "on_terminal",
    "plain",
    "release",
    "say",
    "show_json",
    "swallow",
    "table",
    "told_share",
    "write",
    "write_bytes",
]

Fields = Mapping[str, Any] | Result
"""A result of the Python API, or its JSON form: read by the names of its fields."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def plain(text: str) -> str:
    """Return the text without control characters and direction marks; tabs and newlines stay.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _CONTROL.sub("�", text)


@dataclass(frozen=True, slots=True)
class _Claim:
    """Standard output while it is claimed: the stream for data, and what to put back."""

    data: TextIO
    before: TextIO
    descriptor: int | None
    """A copy of file descriptor 1; None if that was not redirected."""


_claim: _Claim | None = None


def claim() -> None:
    """Reserve standard output for `write`, `show_json` and `table`, until `release`.

    What plugins print, and what native code writes to file descriptor 1, goes to standard error.
    """
    global _claim
    if _claim is not None or sys.stdout is None or sys.stderr is None:
        return
    before = data = sys.stdout
    descriptor = None
    with contextlib.suppress(OSError, ValueError):  # a stream without a file, or no standard error
        number = before.fileno()
        before.flush()
        sys.stderr.fileno()
        descriptor = os.dup(1)
        os.dup2(2, 1)
        if number == 1:
            data = open(  # noqa: SIM115  # closed by `release`
                descriptor,
                "w",
                encoding=before.encoding,
                errors=before.errors,
                closefd=False,
                buffering=1 if before.isatty() else -1,
            )
    _claim = _Claim(data, before, descriptor)
    sys.stdout = sys.stderr


def release() -> None:
    """Restore standard output."""
    global _claim
    if _claim is None:
        return
    held, _claim = _claim, None
    sys.stdout = held.before
    with contextlib.suppress(OSError):  # a failure to write was reported by `flush`
        held.data.flush()
    if held.descriptor is not None:
        os.dup2(held.descriptor, 1)
        if held.data is not held.before:
            with contextlib.suppress(OSError):
                held.data.close()
        os.close(held.descriptor)


@contextlib.contextmanager
def claimed() -> Iterator[None]:
    """Claim standard output during a block."""
    claim()
    try:
        yield
    finally:
        release()


def _data() -> TextIO:
    return sys.stdout if _claim is None else _claim.data


class ReaderGone(Exception):
    """The program that reads standard output has ended, as `head` does after its lines."""


@contextlib.contextmanager
def _results() -> Iterator[TextIO]:
    try:
        yield _data()
    except BrokenPipeError as error:
        raise ReaderGone from error


def flush() -> None:
    """Write what is still buffered; errors are raised here, not when the process ends."""
    with _results() as stream:
        stream.flush()


def swallow() -> None:
    """Discard what is still buffered, because the reader has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _data().fileno())


def on_terminal() -> bool:
    """Return whether results are printed on a terminal."""
    return _data().isatty()


def write_bytes(data: bytes) -> None:
    """Write binary data to standard output."""
    with _results() as stream:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()


def write(text: str) -> None:
    """Write a line to standard output."""
    with _results() as stream:
        stream.write(plain(text) + "\n")


listener: tuple[logging.Logger, bool] | None = None
"""The logger that messages go to, and whether they are also written to standard error."""


def say(text: str) -> None:
    """Write a message to standard error, or to the logger that replaces it."""
    if listener is not None:
        logger, also_standard_error = listener
        message = text.removeprefix("segapsith: ")
        level = logging.INFO if message == text else logging.ERROR
        logger.log(logging.WARNING if message.startswith("warning") else level, "%s", message)
        if not also_standard_error:
            return
    Progress.clear()
    sys.stderr.write(plain(text).replace("\r", " ") + "\n")


def show_json(value: object) -> None:
    """Print one JSON value; results are printed in their JSON form.

    Control characters that JSON allows in a text are escaped as well.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_json_form)
    with _results() as stream:
        stream.write(_CONTROL.sub(lambda m: f"\\u{ord(m.group()):04x}", text) + "\n")


def _json_form(value: object) -> object:
    if isinstance(value, Result) or hasattr(value, "as_json"):
        return value.as_json()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def json_form(value: Fields) -> dict[str, Any]:
    """Return a result as dicts, lists, numbers and texts."""
    return value.as_json() if isinstance(value, Result) else dict(value)


def table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> None:
    """Print aligned columns on a terminal, tab-separated ones in a pipe."""
    Output().table(rows, head)


MAX_WIDTH = 100
"""Columns that text for people takes at most on a terminal."""

LISTED = 20
"""Rows of a long list that are shown on a terminal without `--all`."""

MIN_COLUMN = 8
"""Characters to which a column of text may be cut."""

MIN_LIST = 16
"""Characters to which columns are cut in a first round; dates and states are not longer."""


MIN_NAME = 15
"""Characters that the names of fields take at least in a pipe."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a result is printed: as JSON, as text for people, or not at all."""

    json: bool = False
    quiet: bool = False
    wide: bool = False
    """Whether nothing is cut or wrapped, whatever the terminal."""

    def show(self, value: object, text: Callable[[Output], None]) -> None:
        """Print the value with `--json`; else let `text` print it for people, if not `--quiet`."""
        if self.json:
            show_json(value)
        elif not self.quiet:
            text(self)

    def say(self, text: str) -> None:
        """Print a message for people on standard error, if not `--quiet`."""
        if not self.quiet:
            say(text)

    def progress(self) -> Progress:
        """Return the progress line of a command."""
        return Progress(not (self.quiet or self.json))

    @property
    def width(self) -> int | None:
        """Columns of a line; None where lines may be of any length."""
        if self.wide or not on_terminal():
            return None
        return max(MIN_COLUMN, min(MAX_WIDTH, _columns()))

    def line(self, text: str, indent: str = "    ") -> None:
        """Print a line, wrapped at the width of the terminal."""
        for part in wrapped(text, self.width, indent):
            write(part)

    def cut(self, text: str) -> None:
        """Print a line that may lose its end on a terminal, such as a list of words."""
        width = self.width
        write(text if width is None else shortened(plain(text), width))

    def fields(self, lines: Iterable[tuple[str, object]]) -> None:
        """Print names and values below each other, the values aligned."""
        lines = list(lines)
        least = MIN_NAME if self.width is None else 0
        size = max([least, *(len(name) for name, _ in lines)]) + 2
        for name, value in lines:
            cell = "–" if value is None else _cell(value)
            self.line(f"{name.ljust(size)}{cell}".rstrip(), indent=" " * size)

    def table(
        self,
        rows: Iterable[Sequence[object]],
        head: Sequence[str],
        *,
        cut: Collection[str] = (),
        most: int | None = None,
    ) -> None:
        """Print aligned columns, numbers to the right; in a pipe, tabs between them.

        On a terminal the columns named in `cut` are shortened first, then other columns of text,
        and at most `most` rows are shown. Numbers are never shortened, no column is left out.
        """
        if not on_terminal():
            for row in [head, *rows]:
                write("\t".join(_cell(value) for value in row))
            return
        listed = list(rows)
        shown = listed[:most]
        cells = [[_cell(value) for value in row] for row in shown]
        for line in laid_out(cells, head, self.width, cut):
            write(line)
        if len(shown) < len(listed):
            write(f"… {len(listed) - len(shown)} more (--all)")


def _columns(stream: TextIO | None = None) -> int:
    """Return the columns of the terminal that a stream is written to, by default that of data."""
    try:
        asked = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        asked = 0
    if asked > 0:
        return asked
    try:
        return os.get_terminal_size((stream or _data()).fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def wrapped(text: str, width: int | None, indent: str = "    ") -> list[str]:
    """Return the lines of a text, none longer than the width unless one word is.

    >>> wrapped("kappa 0.512 for 60 % of the units", 20, "  ")
    ['kappa 0.512 for 60 %', '  of the units']
    """
    lines = plain(text).split("\n")
    if width is None:
        return lines
    return [
        part
        for line in lines
        for part in textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        or [""]
    ]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "unit"), counted(1200, "unit")
    ('1 unit', '1200 units')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, size: int) -> str:
    """Return a text of at most `size` characters; what is cut off is marked with "…".

    A list is cut between two of its items.

    >>> shortened("river 0.52, water 0.31, flood 0.27", 28), shortened("embankment", 8)
    ('river 0.52, water 0.31, …', 'embankm…')
    """
    if len(text) <= size:
        return text
    comma = text.rfind(", ", 0, max(0, size - 1))
    if comma > size // 2:
        return text[: comma + 2] + "…"
    return text[: max(0, size - 1)].rstrip() + "…"


def laid_out(
    cells: Sequence[Sequence[str]],
    head: Sequence[str],
    width: int | None = None,
    cut: Collection[str] = (),
) -> list[str]:
    """Return the lines of a table.

    >>> laid_out([["1", "river, water, flood"]], ["id", "words"], 18, ["words"])
    ['id  words', ' 1  river, water,…']
    """
    columns = [[name, *(row[i] for row in cells)] for i, name in enumerate(head)]
    numeric = [all(_numeric(cell) for cell in column[1:] if cell) for column in columns]
    sizes = [max(map(len, column)) for column in columns]
    gap = 2
    if width is not None:
        first = [i for i, name in enumerate(head) if name in cut]
        others = [i for i in range(len(head)) if not numeric[i] and i not in first]
        _shrink(sizes, first, MIN_LIST, _excess(sizes, gap, width))
        _shrink(sizes, others, MIN_LIST, _excess(sizes, gap, width))
        _shrink(sizes, first, MIN_COLUMN, _excess(sizes, gap, width))
        gap = 1 if _excess(sizes, gap, width) > 0 else gap
        _shrink(sizes, others, MIN_COLUMN, _excess(sizes, gap, width))
    lines = []
    for row in [list(head), *cells]:
        parts = [
            cell.rjust(size) if right else shortened(cell, size).ljust(size)
            for cell, size, right in zip(row, sizes, numeric, strict=True)
        ]
        lines.append((" " * gap).join(parts).rstrip())
    return lines


def _excess(sizes: Sequence[int], gap: int, width: int) -> int:
    """Return by how many characters a table is too wide."""
    return sum(sizes) + gap * (len(sizes) - 1) - width


def _shrink(sizes: list[int], group: Sequence[int], least: int, excess: int) -> None:
    """Reduce the widest columns of a group by `excess` characters, none below `least`."""
    for _ in range(excess):
        widest = max(group, key=lambda i: sizes[i], default=None)
        if widest is None or sizes[widest] <= least:
            return
        sizes[widest] -= 1


def minute(moment: str | None) -> str:
    """Return a time to the minute, in UTC as it is stored.

    >>> minute("2026-03-02T06:00:31+00:00"), minute(None)
    ('2026-03-02 06:00', '')
    """
    return (moment or "")[:16].replace("T", " ")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    return text if text.isprintable() else plain(text).replace("\n", " ").replace("\t", " ")


def _numeric(cell: str) -> bool:
    return cell.replace(".", "", 1).replace("-", "", 1).isdigit()


def told_share(text: str, done: int, total: int, seconds: float) -> str:
    """Return a line of progress.

    >>> told_share("verifying", 3, 12, 4.0), told_share("verifying", 0, 12, 0.0)
    ('verifying: 25 %, about 12 s left', 'verifying: 0 %')
    """
    line = f"{text}: {100 * done // max(1, total)} %"
    if not 0 < done < total:
        return line
    return f"{line}, about {seconds * (total - done) / done:.0f} s left"


class Progress:
    """A line on standard error that is overwritten, on a terminal only."""

    visible: ClassVar[bool] = False
    """Whether a line stands on the terminal, which a message must remove first."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._updated = 0.0
        self._began = time.monotonic()
        self._share = ""
        """The share that was reported last, as it is shown."""

    def __enter__(self) -> Self:
        if self._enabled:
            announce(lambda: self._replace("compiling, once …"))
        return self

    def __exit__(self, *_: object) -> None:
        announce(None)
        self.end()

    def share(self, text: str, done: int, total: int) -> None:
        """Show which share of equal steps is done, and the time that the rest will take."""
        self.update(told_share(text, done, total, time.monotonic() - self._began))

    @contextlib.contextmanager
    def following(self, text: str) -> Iterator[None]:
        """Show the share and the time left that the work of a block reports (`progress`)."""

        def show(share: float) -> None:
            seconds = time.monotonic() - self._began
            self._share = told_share(text, round(1000 * share), 1000, seconds)
            self._show(self._share)

        with progress.listening(show):
            progress.report(0, 1)
            yield
        self._share = ""

    def update(self, text: str) -> None:
        """Replace the line, at most ten times a second; a share that was reported stays."""
        self._show(f"{self._share}; {text}" if self._share else text)

    def _show(self, text: str) -> None:
        now = time.monotonic()
        if self._enabled and now - self._updated > 0.1:
            self._updated = now
            self._replace(shortened(plain(text), _columns(sys.stderr) - 1))

    def _replace(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{plain(text)}")
        sys.stderr.flush()
        Progress.visible = True

    def end(self) -> None:
        """Remove the line."""
        self.clear()

    @classmethod
    def clear(cls) -> None:
        """Remove the line of any progress that stands on the terminal."""
        if cls.visible:
            cls.visible = False
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
