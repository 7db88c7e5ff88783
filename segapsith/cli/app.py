"""The program: its commands, its exit codes, its reaction to errors and signals."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import signal
import sys
import traceback
from types import FrameType
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from segapsith.cli.context import Context, Invocation, command, plain_command, quick_options
from segapsith.cli.output import ReaderGone, claimed, flush, say, swallow
from segapsith.errors import SegapsithError

__all__ = ["app", "program", "run"]

COMMANDS = (
    "demo", "prepare", "ingest", "feeds", "update", "schedule", "notify", "doctor",
    "today", "sections", "topics", "domains", "events", "show", "search", "explain", "classify",
    "export", "report", "federate", "serve",
    "validate", "compare", "cluster", "tune", "segment", "network",
    "status", "verify", "backup", "runs", "forget", "cite", "config", "languages", "plugins",
)  # fmt: skip
"""The commands in the order of the help text: modules of this package that have `add_to`."""

REPORT_PLUGINS = ("doctor", "plugins")
"""Commands that also load the commands of plugins, to name those that cannot be used."""

OWN_PACKAGE = "segapsith"


class _Program(typer.core.TyperGroup):
    """The program. A command is imported when it is named, so that the others cost nothing."""

    only_own = False
    """Without the commands of other packages."""
    _has_plugins = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            self._load(cmd_name)
        if cmd_name not in COMMANDS or cmd_name in REPORT_PLUGINS:
            self._load_plugins()
        if cmd_name not in self.commands:
            self.load_all()  # their names are compared with the mistaken one
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of `COMMANDS`, those of plugins last."""
        self.load_all()
        own = {name: position for position, name in enumerate(COMMANDS)}
        return sorted(self.commands, key=lambda name: own.get(name, len(own)))

    def load_all(self) -> None:
        """Import every command."""
        for name in COMMANDS:
            self._load(name)
        self._load_plugins()

    def _load(self, name: str) -> None:
        if name not in self.commands:
            holder = _typer()
            importlib.import_module(f"segapsith.cli.{name}").add_to(holder)
            self.commands[name] = _made(holder)[name]

    def _load_plugins(self) -> None:
        """Add the commands of plugins, which have an entry point group of their own."""
        from importlib.metadata import entry_points

        if self._has_plugins:
            return
        self._has_plugins = True
        for point in entry_points(group="segapsith.commands"):
            package = point.dist.name if point.dist else "unknown"
            if self.only_own and package != OWN_PACKAGE:
                continue
            try:
                holder = _typer()
                with claimed():
                    point.load().register_commands(holder)
                for info in holder.registered_commands:
                    if info.callback is not None:
                        info.callback = plain_command(info.callback)
                for name, made in _made(holder).items():
                    if name not in COMMANDS:  # a name that is taken stays what it is
                        self.commands.setdefault(name, made)
            except (Exception, SystemExit) as error:
                say(f"segapsith: commands of package {package} cannot be used: {error}")


def _typer() -> typer.Typer:
    return typer.Typer(
        name="segapsith",
        cls=_Program,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _made(holder: typer.Typer) -> dict[str, Any]:
    """Return the commands of `holder` by name."""
    return {
        name: quick_options(made) for name, made in typer.main.get_group(holder).commands.items()
    }


app = _typer()


def _print_version(given: bool) -> None:
    if given:
        from segapsith import __version__

        typer.echo(f"segapsith {__version__}")
        raise typer.Exit


@app.callback()
@command(hide_messages=False)
def _program(
    context: Context,
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Group newswire stories by subject as they arrive.

    These options may stand before or after the name of a command.
    """


MIN_MEMORY = 256 * 10**6
"""Bytes; with less, the numeric libraries cannot be loaded, and one of them may wait for ever."""


class _Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        self.number = number


def _stop(number: int, _frame: FrameType | None) -> None:
    raise _Stopped(number)


def run(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code. Tracebacks are printed only with `--debug`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.umask(os.umask(0o022) | 0o022)
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with Invocation() as invocation:
            try:
                return _run(given, invocation)
            except _Stopped as stopped:
                say(
                    "interrupted; everything up to the last batch is stored."
                    " Run the same command to continue."
                )
                return 128 + stopped.number
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(given: list[str], invocation: Invocation) -> int:
    allowed = _address_space()
    if allowed < MIN_MEMORY and "--help" not in given:
        say(
            f"segapsith: out of memory: {allowed:,} bytes are allowed,"
            f" at least {MIN_MEMORY:,} are needed"
        )
        return 74
    try:
        code = _exit_code(given, invocation)
        flush()
        return code
    except SegapsithError as error:
        _explain(error, invocation)
        return error.exit_code
    except ReaderGone:
        swallow()
        return 0
    except Exception as error:
        if _out_of_memory(error):
            _explain(error, invocation, "out of memory; what was committed is safe")
            return 74
        if isinstance(error, OSError):
            _explain(error, invocation)
            return 77 if isinstance(error, PermissionError) else 74
        _explain(error, invocation, f"this should not happen: {type(error).__name__}: {error}")
        return 1


def _exit_code(given: list[str], invocation: Invocation) -> int:
    try:
        _program_without_commands("--no-plugins" in given).main(
            args=given, prog_name="segapsith", obj=invocation
        )
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def _address_space() -> float:
    """Return the number of bytes that this process may map, as far as the system limits it."""
    try:
        import resource
    except ImportError:
        return math.inf
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if allowed == resource.RLIM_INFINITY else allowed


_SIGNS_OF_TOO_LITTLE_MEMORY = (
    "failed to map segment",
    "cannot allocate memory",
    "error return without exception set",  # native code that could not even make the exception
)


def _out_of_memory(error: BaseException | None) -> bool:
    """Return whether lack of memory caused this: a library that cannot be loaded reports it so.

    >>> _out_of_memory(ImportError("libopenblas.so: failed to map segment from shared object"))
    True
    """
    if error is None:
        return False
    text = str(error).lower()
    direct = isinstance(error, MemoryError) or (
        isinstance(error, ImportError | OSError | SystemError)
        and any(words in text for words in _SIGNS_OF_TOO_LITTLE_MEMORY)
    )
    return direct or _out_of_memory(error.__cause__ or error.__context__)


def _explain(error: BaseException, invocation: Invocation, text: str = "") -> None:
    with contextlib.suppress(SegapsithError):  # the log file itself may be the error
        invocation.start_logging(Context(invocation.given))
    if invocation.debug:
        traceback.print_exception(error, file=sys.stderr)
    try:
        say(f"segapsith: {text or error}")
    except OSError:
        pass  # standard error is closed


def program(*, only_own: bool = False) -> typer.core.TyperGroup:
    """Return the whole program, with the commands of plugins; `only_own`: of this package alone."""
    whole = _program_without_commands(only_own)
    whole.load_all()
    return whole


def _program_without_commands(only_own: bool) -> _Program:
    made = quick_options(typer.main.get_command(app))
    assert isinstance(made, _Program)
    made.only_own = only_own
    return made
