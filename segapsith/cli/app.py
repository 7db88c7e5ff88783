"""The program: its commands, its exit codes, its manners."""

from __future__ import annotations

import math
import os
import signal
import sys
import traceback
from types import FrameType
from typing import Annotated

import typer

from segapsith.cli import (
    cluster,
    compare,
    config,
    explain,
    feeds,
    ingest,
    logs,
    network,
    report,
    schedule,
    segment,
    show,
    status,
    topics,
    tune,
    validate,
)
from segapsith.cli.output import claimed, flush, release, say, swallow
from segapsith.errors import ConfigurationError, SegapsithError

__all__ = ["app", "run"]

app = typer.Typer(
    name="segapsith",
    help="Learns semantic domains from newswire, night after night, and proves them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _room in (
    ingest,
    feeds,
    schedule,
    show,
    explain,
    validate,
    compare,
    cluster,
    segment,
    topics,
    network,
    tune,
    status,
    config,
    report,
):
    _room.add_to(app)

GLOBAL_WITH_VALUE = ("--store", "--config", "--wait")
GLOBAL_FLAGS = ("--json", "--quiet", "-q", "--strict-plugins", "--no-plugins")


def _version(wanted: bool) -> None:
    if wanted:
        from segapsith import __version__

        typer.echo(f"segapsith {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from, and every step.")
    ] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Messages as JSON lines.")] = False,
    log_file: Annotated[
        str, typer.Option("--log-file", metavar="FILE", help="Add messages to this file as well.")
    ] = "",
) -> None:
    """Options of every command; those about messages may stand anywhere (see logs.py)."""


LEAST_MEMORY = 256 * 10**6
"""With less, the numeric libraries are not even loaded, and one of them may wait for ever."""


class _Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def _stop(number: int, _frame: FrameType | None) -> None:
    raise _Stopped(number)


def run(arguments: list[str] | None = None) -> int:
    """Runs one command; gives its exit code. Never a traceback, unless `--debug`."""
    wished, about = logs.taken_out(list(sys.argv[1:] if arguments is None else arguments))
    given, debug = _globals_last(wished), "--debug" in about
    os.umask(os.umask(0o022) | 0o022)
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with logs.logging_as_wished(about, given):
            return _run(given, debug)
    except ConfigurationError as error:
        _explain(error, debug)
        return error.exit_code
    except _Stopped as stopped:
        say("stopped at a batch boundary; the same command goes on from there")
        return 128 + stopped.number
    finally:
        release()
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(given: list[str], debug: bool) -> int:
    allowed = _address_space()
    if allowed < LEAST_MEMORY and "--help" not in given:
        say(
            f"segapsith: out of memory: {allowed:,} bytes are allowed, {LEAST_MEMORY:,} needed at least"
        )
        return 74
    try:
        _add_commands_of_plugins(given)
        code = _exit_code(given)
        flush()
        return code
    except SegapsithError as error:
        _explain(error, debug)
        return error.exit_code
    except BrokenPipeError:
        swallow()
        return 0
    except Exception as error:
        if _out_of_memory(error):
            _explain(error, debug, "out of memory; what was committed is safe")
            return 74
        if isinstance(error, OSError):
            _explain(error, debug)
            return 77 if isinstance(error, PermissionError) else 74
        _explain(error, debug, f"this should not happen: {type(error).__name__}: {error}")
        return 1


def _exit_code(given: list[str]) -> int:
    try:
        app(args=given, prog_name="segapsith")
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _address_space() -> float:
    """Bytes that this process may map, as far as the system limits them."""
    try:
        import resource
    except ImportError:
        return math.inf
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if allowed == resource.RLIM_INFINITY else allowed


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether this is what is at the bottom of it: a library that cannot be loaded says it so.

    >>> _out_of_memory(ImportError("libopenblas.so: failed to map segment from shared object"))
    True
    """
    if error is None:
        return False
    text = str(error).lower()
    told = isinstance(error, MemoryError) or (
        isinstance(error, ImportError | OSError)
        and any(words in text for words in ("failed to map segment", "cannot allocate memory"))
    )
    return told or _out_of_memory(error.__cause__ or error.__context__)


def _explain(error: BaseException, debug: bool, text: str = "") -> None:
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    try:
        say(f"segapsith: {text or error}")
    except OSError:
        pass  # there is nobody left to tell


def _globals_last(arguments: list[str]) -> list[str]:
    """Shared options that stand before the command, moved behind it.

    >>> _globals_last(["--store", "a.db", "status", "--json"])
    ['status', '--json', '--store', 'a.db']
    """
    moved: list[str] = []
    rest = arguments
    while rest and rest[0].startswith("-"):
        name = rest[0].partition("=")[0]
        if name in GLOBAL_FLAGS or (name in GLOBAL_WITH_VALUE and "=" in rest[0]):
            moved, rest = [*moved, rest[0]], rest[1:]
        elif name in GLOBAL_WITH_VALUE and len(rest) > 1:
            moved, rest = [*moved, *rest[:2]], rest[2:]
        else:
            break
    return [*rest, *moved] if rest else arguments


def _add_commands_of_plugins(given: list[str]) -> None:
    """Commands that other packages bring, from a group of entry points of their own."""
    if "--no-plugins" in given:
        return
    from importlib.metadata import entry_points

    for point in entry_points(group="segapsith.commands"):
        try:
            with claimed():
                point.load().register_commands(app)
        except (Exception, SystemExit) as error:
            package = point.dist.name if point.dist else "unknown"
            say(f"segapsith: commands of package {package} cannot be used: {error}")
