"""What every command shares: its options, settings, output and store.

>>> @command()
... def greet(context: Context) -> None:
...     '''Greet.'''
>>> [name for name in inspect.signature(greet).parameters][:4]
['typer_context', 'store', 'config', 'wait']
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

import typer
import typer.core

from segapsith.cli import logs
from segapsith.cli.options import SHARED, SettingOption, message_options
from segapsith.cli.output import Output, claim, release, say
from segapsith.errors import OldSchemaError, SegapsithError, UsageError
from segapsith.settings import Settings, read_value, resolve

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.plugin.registry import Registry

__all__ = ["Context", "Invocation", "command", "group", "plain_command", "quick_options"]


class Invocation:
    """One call of the program: the shared options given so far, and what to close at its end."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self._closing = contextlib.ExitStack()
        self._logging = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        release()
        self._closing.close()

    @property
    def debug(self) -> bool:
        return bool(self.given.get("debug"))

    def add(self, options: Mapping[str, Any]) -> None:
        """Take the shared options of one level; those after a command replace earlier ones."""
        self.given |= {name: value for name, value in options.items() if value not in (None, False)}

    def start_logging(self, context: Context) -> None:
        """Direct messages as the options and the settings say, once."""
        if self._logging:
            return
        self._logging = True
        try:
            settings = context.settings
            as_json, path = settings.logging.format == "json", settings.logging.file
        except SegapsithError:  # the command reports it when it needs its settings
            as_json, path = False, ""
        self._closing.enter_context(
            logs.logging_to(
                as_json=as_json or bool(self.given.get("log_json")),
                path=self.given.get("log_file") or path,
                debug=self.debug,
            )
        )


class Context:
    """The settings, the output and the store of one command."""

    def __init__(
        self,
        given: Mapping[str, Any],
        flags: Mapping[str, Any] | None = None,
        sets: list[str] | None = None,
    ) -> None:
        self.given = given
        """The shared options that were given."""
        self.out = Output(
            json=bool(given.get("json")),
            quiet=bool(given.get("quiet")),
            wide=bool(given.get("wide")),
        )
        self.flags: Mapping[str, Any] = flags or {}
        """The settings that options of the command give; None for those not given."""
        self._sets = sets or []

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings in effect; configuration is read at the first use."""
        return resolve(
            {"store": self.given.get("store"), "wait": self.given.get("wait"), **self.flags},
            _assignments(self._sets),
            file=self.given.get("config"),
        )

    def with_store(self, path: str) -> Context:
        """Return the context of the same command on another store."""
        return Context({**self.given, "store": path}, self.flags, self._sets)

    @property
    def path(self) -> str:
        """The path of the store."""
        return self.settings.store.path

    @property
    def no_plugins(self) -> bool:
        return bool(self.given.get("no_plugins"))

    @property
    def strict_plugins(self) -> bool:
        return bool(self.given.get("strict_plugins"))

    def registry(self) -> Registry:
        """Load the installed plugins; warn of those that cannot be used."""
        registry = self.load_plugins()
        for problem in registry.problems:
            say(f"segapsith: warning: {problem}")
        return registry

    def load_plugins(self) -> Registry:
        """Load the installed plugins."""
        from segapsith.plugin.registry import load_plugins

        return load_plugins(only_own=self.no_plugins, strict=self.strict_plugins, time_limits=True)

    def wire(self, *, create: bool = False, change_learning: bool = False) -> Wire:
        """Open the store for commands that use plugins; it must exist unless `create`."""
        from segapsith.api.wire import Wire

        if not create:
            self.require_store()
        return Wire(self.path, self.settings, self.registry(), change_learning=change_learning)

    def reader(self) -> Wire:
        """Open the store for reading; plugins are loaded when one is needed."""
        # Threads of linear algebra would take longer to start than what is computed with them.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from segapsith.api.wire import Wire

        eager = self.no_plugins or self.strict_plugins
        return Wire(self.path, self.settings, self.registry() if eager else None)

    def require_store(self) -> None:
        """Raise an error if there is no sound store to change; migrate one of an older schema."""
        from segapsith_store import Store

        try:
            Store.reading(self.path).close()
        except OldSchemaError:
            Store.writing(self.path, self.settings.store.wait).close()

    def show(self, value: object, text: Callable[[Output], None]) -> None:
        """Print a result: as JSON, by `text` for people, or not at all (`Output.show`)."""
        self.out.show(value, text)


def _assignments(entries: list[str]) -> dict[str, Any]:
    """Return what `--set` gives, by name."""
    pairs = {}
    for entry in entries:
        name, sign, value = entry.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"--set {entry!r} should be NAME=VALUE")
        pairs[name.strip()] = read_value(value)
    return pairs


def command(
    *options: SettingOption, hide_messages: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function of a `Context` into a command that also takes the shared options.

    `options` are options of this command that set settings: they are not passed to the function,
    but are part of `context.settings`. As the callback of a group, the function runs only if no
    subcommand is named.
    """
    shared = {**SHARED, **message_options(hidden=hide_messages)}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(function, eval_str=True).parameters.values()

        def run(typer_context: typer.Context, **given: Any) -> None:
            invocation = typer_context.ensure_object(Invocation)
            invocation.add({name: given.pop(name) for name in shared})
            flags = _flags(options, given)
            if typer_context.invoked_subcommand is not None:
                return
            sets = flags.pop("sets", None)
            context = Context(invocation.given, flags, sets)
            claim()
            invocation.start_logging(context)
            function(context, **given)

        added = [
            _parameter("typer_context", typer.Context, inspect.Parameter.empty),
            *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
            *(_parameter(o.parameter, o.annotation, o.default) for o in options),
            *(_shared_parameter(name, annotation) for name, annotation in shared.items()),
        ]
        return _like(run, function, added)

    return decorate


def plain_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that was not made by `command` the options about messages."""
    if hasattr(function, _MADE_HERE):
        return function
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    named = [p.name for p in own if p.annotation is typer.Context]
    messages = message_options(hidden=True)

    def run(**given: Any) -> Any:
        context = given[named[0]] if named else given.pop("typer_context")
        invocation = context.ensure_object(Invocation)
        invocation.add({name: given.pop(name) for name in messages})
        invocation.start_logging(Context(invocation.given))
        return function(**given)

    added = [
        *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
        *(_shared_parameter(name, annotation) for name, annotation in messages.items()),
    ]
    if not named:
        added.append(_parameter("typer_context", typer.Context, inspect.Parameter.empty))
    return _like(run, function, added)


def _flags(options: tuple[SettingOption, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Take the options that set settings out of what was given; return values by setting."""
    flags: dict[str, Any] = {}
    flag_of: dict[str, str] = {}
    for option in options:
        value = option.value(given.pop(option.parameter))
        if value is None:
            flags.setdefault(option.setting, None)
            continue
        if flags.get(option.setting) not in (None, value):
            raise UsageError(
                f"{flag_of[option.setting]} and {option.flag} contradict each other: give one"
            )
        flags[option.setting], flag_of[option.setting] = value, option.flag
    return flags


def quick_options(command: Any) -> Any:
    """Let the options of a command, and of those below it, convert plain values themselves.

    Typer validates every value with Pydantic, also that of an option that was not given; importing
    Pydantic takes longer than most commands that only read.
    """
    get_params = command.get_params

    def quick(ctx: Any) -> list[Any]:
        params: list[Any] = get_params(ctx)
        for parameter in params:
            if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
                parameter.process_value = _process_value(parameter)
        return params

    command.get_params = quick
    for below in getattr(command, "commands", {}).values():
        quick_options(below)
    return command


def _process_value(parameter: Any) -> Callable[[Any, Any], Any]:
    convert: Callable[[Any, Any], Any] = parameter.process_value

    def process(ctx: Any, value: Any) -> Any:
        try:
            plain = _plain_value(parameter, value)
        except ValueError:
            return convert(ctx, value)
        return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)

    return process


def _plain_value(parameter: Any, value: Any) -> Any:
    """Convert a value that is not given, the default, text, or a number within its limits.

    Raises `ValueError` for all others.
    """
    kind = parameter.type_descriptor
    wanted, information = kind.annotation, kind.parameter_info
    several = parameter.multiple or parameter.nargs != 1
    if value in (None, ()) and not parameter.required:
        return () if several else None
    if information.parser is None and not kind.is_choice:
        if several and wanted == list[str] and value and all(type(one) is str for one in value):
            return list(value)
        if type(value) is wanted and (wanted is str or value == parameter.default):
            return value
        if wanted is int and isinstance(value, str) and value.isascii() and value.isdigit():
            number = int(value)
            if (information.min or number) <= number <= (information.max or number):
                return number
    raise ValueError("not plain")


_MADE_HERE = "__segapsith_command__"


def _like(
    run: Callable[..., Any], function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> Callable[..., Any]:
    """Give `run` the name and the documentation of a function, and these parameters."""
    run.__name__, run.__qualname__ = function.__name__, function.__qualname__
    run.__doc__, run.__module__ = function.__doc__, function.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__.update({"__signature__": inspect.Signature(parameters), _MADE_HERE: True})
    return run


def _shared_parameter(name: str, annotation: object) -> inspect.Parameter:
    """Return the parameter of an option: False or None if it is not given."""
    kind, *_ = get_args(annotation)
    return _parameter(name, annotation, False if kind is bool else None)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def group(*, help: str | None = None, default: Callable[..., None] | None = None) -> typer.Typer:
    """Return a group of commands: with a `default` that runs if none is named, or with a help text."""
    made = typer.Typer(
        help=help or (inspect.getdoc(default) if default else None),
        rich_markup_mode=None,
        no_args_is_help=default is None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=default is not None)(default or _no_default)
    return made


@command()
def _no_default(context: Context) -> None:
    """Do nothing."""
