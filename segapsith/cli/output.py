"""What reaches the terminal: data on standard output, talk on standard error, nothing raw.

Standard output is ours alone: before a plugin is imported a command calls `claim`, and from then on
what anybody else prints goes to standard error.

Text that came from a feed is cleaned of control characters before it is printed, so that no feed
can move the cursor, ring the bell or turn the line around.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from segapsith.model import Result

__all__ = [
    "Progress",
    "claim",
    "claimed",
    "flush",
    "on_terminal",
    "plain",
    "release",
    "say",
    "show_json",
    "swallow",
    "table",
    "write",
    "write_bytes",
]

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


def plain(text: str) -> str:
    """The text without control characters and direction marks; tabs and newlines stay.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return _CONTROL.sub("�", text)


@dataclass(frozen=True, slots=True)
class _Claim:
    """Standard output while it is ours: the stream for data, and what to put back."""

    data: TextIO
    before: TextIO
    descriptor: int | None
    """A copy of file descriptor 1; None if that was left alone."""


_claim: _Claim | None = None


def claim() -> None:
    """Keep standard output for `write`, `show_json` and `table`, until `release`.

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
    """Give standard output back."""
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
    """Claim standard output for as long as the block takes."""
    claim()
    try:
        yield
    finally:
        release()


def _data() -> TextIO:
    return sys.stdout if _claim is None else _claim.data


def flush() -> None:
    """Write out what is still buffered; errors are raised here, not when the process ends."""
    _data().flush()


def swallow() -> None:
    """Discard what is still to be written: nobody reads it any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _data().fileno())


def on_terminal() -> bool:
    """Whether data is read by people."""
    return _data().isatty()


def write_bytes(data: bytes) -> None:
    """Data that is not text."""
    stream = _data()
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def write(text: str) -> None:
    """A line of data."""
    _data().write(plain(text) + "\n")


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


def _as_json(value: object) -> dict[str, Any]:
    """Return the JSON form of a result, wherever it stands in the value to print."""
    if isinstance(value, Result):
        return value.as_json()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def show_json(value: Any) -> None:
    """One JSON value; control characters are escaped by JSON, the others by us."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_as_json)
    _data().write(_CONTROL.sub(lambda m: f"\\u{ord(m.group()):04x}", text) + "\n")


def table(rows: Iterable[Sequence[object]], head: Sequence[str]) -> None:
    """Aligned columns on a terminal, tabs when piped; numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    if not on_terminal():
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
