"""Where messages go: text or JSON lines, on standard error and, if wanted, into a file.

Steps and batches are told to the logger `segapsith`. They are heard with `--debug`, with
`--log-json` and in a file; otherwise standard error carries only what people need to know.
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
from segapsith.errors import ConfigurationError, SegapsithError
from segapsith.settings import resolve

__all__ = ["logging_as_wished", "taken_out"]

LOGGER = "segapsith"
FLAGS = ("--log-json", "--debug")
WITH_VALUE = ("--log-file",)


def taken_out(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """The arguments without those about messages, which may stand anywhere, and these.

    >>> taken_out(["status", "--log-json", "--json", "--log-file=a.log"])
    (['status', '--json'], {'--log-json': '', '--log-file': 'a.log'})
    """
    rest: list[str] = []
    found: dict[str, str] = {}
    words = iter(arguments)
    for word in words:
        name, sign, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif word in FLAGS:
            found[word] = ""
        elif name in WITH_VALUE:
            found[name] = value if sign else next(words, "")
        else:
            rest.append(word)
    return rest, found


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = f"{_moment(record)} {record.levelname.lower()} {record.getMessage()}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return output.plain(told).replace("\r", " ") + trace


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": _moment(record),
            "level": record.levelname.lower(),
            "room": record.name,
            "message": record.getMessage(),
        }
        if facts := getattr(record, "facts", None):
            line["facts"] = facts
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)  # ASCII, so that no control character gets through


def _moment(record: logging.LogRecord) -> str:
    when = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return when.isoformat(timespec="milliseconds")


@contextlib.contextmanager
def logging_as_wished(flags: dict[str, str], arguments: list[str]) -> Iterator[None]:
    """Messages as flags, environment and configuration want them, while a command runs."""
    wishes = _wishes(flags, arguments)
    as_json, path = wishes["log_format"] == "json", wishes["log_file"]
    formatter = _Json() if as_json else _Text()
    handlers: list[logging.Handler] = []
    if as_json or "--debug" in flags:
        handlers.append(logging.StreamHandler(sys.stderr))
    if path:
        try:
            handlers.append(logging.FileHandler(path, encoding="utf-8"))
        except OSError as error:
            raise ConfigurationError(f"log_file={path!r}: {error.strerror or error}") from error
    logger = logging.getLogger(LOGGER)
    level = logging.DEBUG if "--debug" in flags else logging.INFO
    before = (logger.level, logger.propagate, list(logger.handlers))
    logger.handlers = handlers or [logging.NullHandler()]
    logger.setLevel(level if handlers else logging.CRITICAL + 1)
    logger.propagate = False
    for handler in handlers:
        handler.setFormatter(formatter)
    output.listener = (logger, not as_json) if handlers and (as_json or path) else None
    try:
        yield
    finally:
        output.listener = None
        for handler in handlers:
            handler.close()
        logger.level, logger.propagate, logger.handlers = before


def _wishes(flags: dict[str, str], arguments: list[str]) -> dict[str, str]:
    """Format and file; a configuration that is wrong is told by the command itself."""
    given = {"log_format": "json" if "--log-json" in flags else None}
    given["log_file"] = flags.get("--log-file")
    try:
        chosen = resolve(given, file=_config(arguments))
    except SegapsithError:
        return {name: value or "" for name, value in given.items()}
    return {name: str(chosen[name]) for name in given}


def _config(arguments: list[str]) -> str | None:
    for place, word in enumerate(arguments):
        name, sign, value = word.partition("=")
        if name == "--config":
            return value if sign else next(iter(arguments[place + 1 : place + 2]), None)
    return None
