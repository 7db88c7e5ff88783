"""Direct log messages: as text or JSON lines, to standard error and to a file.

The engine and the nightly run report their steps to the logger `segapsith`. They are shown with
`--debug`, with `--log-json` and in a log file; otherwise standard error carries only messages for
people.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

from segapsith.cli import output
from segapsith.errors import ConfigurationError

__all__ = ["logging_to"]

LOGGER = "segapsith"


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname.lower()} {record.getMessage()}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return output.plain(line).replace("\r", " ") + trace


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": _time(record),
            "level": record.levelname.lower(),
            "room": record.name,
            "message": record.getMessage(),
        }
        if facts := getattr(record, "facts", None):
            line["facts"] = facts
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)  # ASCII, so that no control character gets through


def _time(record: logging.LogRecord) -> str:
    time = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return time.isoformat(timespec="milliseconds")


@contextlib.contextmanager
def logging_to(*, as_json: bool, path: str, debug: bool) -> Iterator[None]:
    """Log in this format to standard error and to the file `path` (if not empty) during a block."""
    handlers: list[logging.Handler] = []
    if as_json or debug:
        handlers.append(logging.StreamHandler(sys.stderr))
    if path:
        try:
            handlers.append(logging.FileHandler(path, encoding="utf-8"))
        except OSError as error:
            raise ConfigurationError(f"log_file={path!r}: {error.strerror or error}") from error
    formatter = _Json() if as_json else _Text()
    for handler in handlers:
        handler.setFormatter(formatter)
    logger = logging.getLogger(LOGGER)
    before = (logger.level, logger.propagate, list(logger.handlers))
    logger.handlers = handlers or [logging.NullHandler()]
    level = logging.DEBUG if debug else logging.INFO
    logger.setLevel(level if handlers else logging.CRITICAL + 1)
    logger.propagate = False
    output.listener = (logger, not as_json) if as_json or path else None
    try:
        yield
    finally:
        output.listener = None
        for handler in handlers:
            handler.close()
        logger.level, logger.propagate, logger.handlers = before
