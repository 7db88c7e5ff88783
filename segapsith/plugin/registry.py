"""Find plugins and make what they offer; name the plugin that cannot be used.

Entry points are loaded one at a time, so a plugin that cannot be imported does not affect others.
There is no global manager: `load_plugins(MyPlugin(), installed=False)` is all that a test needs.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import numbers
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, Literal, TypeAlias, overload

import pluggy

from segapsith.errors import (
    PluginError,
    PluginLoadError,
    SettingError,
    UnknownNameError,
    did_you_mean,
)
from segapsith.languages import BUILT_IN, add_pack
from segapsith.plugin import guards
from segapsith.plugin.contracts import KINDS
from segapsith.plugin.hookspecs import HOOKS, PROJECT, PluginHooks

__all__ = ["Offer", "Problem", "Registry", "load_plugins"]

OWN_PACKAGE = "segapsith"

GIVEN = "given"
"""The package of plugins that were given as objects."""

_CHECKED = {
    "source": guards.GuardedSource,
    "annotator": guards.GuardedAnnotator,
    "segmenter": guards.GuardedSegmenter,
    "similarity": guards.GuardedSimilarity,
    "clusterer": guards.GuardedClusterer,
    "comparison": guards.GuardedComparison,
    "exporter": guards.GuardedExporter,
    "labeller": guards.GuardedLabeller,
    "notifier": guards.GuardedNotifier,
    "executor": guards.GuardedExecutor,
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that can be made: its name, its kind, and whose it is."""

    kind: str
    name: str
    factory: Callable[..., object]
    package: str
    version: str
    licence: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A plugin that cannot be used, and why; `names` are those it would have offered."""

    plugin: str
    package: str
    reason: str
    version: str = ""
    licence: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"plugin '{self.plugin}' of package {self.package}: {self.reason}"


@dataclass(slots=True)
class Registry:
    """What is installed: offers by kind and name, and the problems that were met."""

    loaded: dict[tuple[str, str], Offer] = field(default_factory=dict)
    """The offers of the plugins that are loaded."""
    problems: list[Problem] = field(default_factory=list)
    """Those of the plugins that are loaded."""
    languages: dict[str, str] = field(default_factory=dict)
    """The package of each language pack, by the code of the language."""
    time_limits: bool = False
    """Whether plugins that take too long are stopped: needs the alarm signal of the process."""
    only_own: bool = False
    """Whether plugins of other packages were left out."""
    _waiting: dict[str, list[_Candidate]] = field(default_factory=dict)
    """Built-in plugins that are loaded when their kind is first asked for, by kind."""

    @property
    def offers(self) -> dict[tuple[str, str], Offer]:
        """All offers by kind and name; what was not needed yet is loaded."""
        for kind in list(self._waiting):
            self._load(kind)
        return self.loaded

    def _load(self, kind: str) -> None:
        for candidate in self._waiting.pop(kind, ()):
            _register(self, *candidate)

    def find(self, kind: str, name: str) -> Offer | None:
        """Return the offer of that name, or None."""
        self._load(kind)
        return self.loaded.get((kind, name))

    def names(self, kind: str) -> list[str]:
        """Return the names of one kind, in order."""
        self._load(kind)
        return sorted(name for k, name in self.loaded if k == kind)

    def having(self, kind: str, ability: Callable[[object], bool]) -> list[str]:
        """Return the names of the plugins of a kind that have an ability with default settings.

        `ability` is a function of `segapsith.plugin.contracts`, such as `takes_views`.
        """
        names = []
        for name in self.names(kind):
            with contextlib.suppress(PluginError, SettingError):
                if ability(self.make(kind, name)):
                    names.append(name)
        return names

    def offer(self, kind: str, name: str) -> Offer:
        """Return the offer of that name, or raise an error that lists the names."""
        offer = self.find(kind, name)
        if offer is not None:
            return offer
        for problem in self.problems:
            if name == problem.plugin or name in problem.names:
                raise PluginLoadError(f"{kind} '{name}' cannot be used: {problem}", plugin=name)
        names = self.names(kind)
        raise UnknownNameError(
            f"no {kind} is called {name!r} (known: {', '.join(names) or 'none'})"
            f"{did_you_mean(name, names)}",
            plugin=name,
        )

    def settings(self, kind: str, name: str) -> dict[str, inspect.Parameter]:
        """Return the settings that a plugin accepts, by name."""
        signature = inspect.signature(self.offer(kind, name).factory)
        return {
            n: p
            for n, p in signature.parameters.items()
            if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
        }

    @overload
    def make(
        self, kind: Literal["source"], name: str, settings: Mapping[str, object] | None = None
    ) -> guards.GuardedSource: ...
    @overload
    def make(
        self, kind: Literal["annotator"], name: str, settings: Mapping[str, object] | None = None
    ) -> guards.GuardedAnnotator: ...
    @overload
    def make(
        self, kind: Literal["segmenter"], name: str, settings: Mapping[str, object] | None = None
    ) -> guards.GuardedSegmenter: ...
    @overload
    def make(
        self, kind: Literal["similarity"], name: str, settings: Mapping[str, object] | None = None
    ) -> guards.GuardedSimilarity: ...
    @overload
    def make(
        self, kind: Literal["clusterer"], name: str, settings: Mapping[str, object] | None = None
    ) -> guards.GuardedClusterer: ...
    @overload
    def make(self, kind: str, name: str, settings: Mapping[str, object] | None = None) -> Any: ...
    def make(self, kind: str, name: str, settings: Mapping[str, object] | None = None) -> Any:
        """Make a plugin with settings, guarded so that it keeps its contract."""
        offer = self.offer(kind, name)
        given = dict(settings or {})
        who = guards.PluginName(kind, name, "" if offer.package == OWN_PACKAGE else offer.package)
        parameters = self.settings(kind, name)
        for setting in given:
            if setting not in parameters:
                listed = ", ".join(sorted(parameters)) or "none"
                raise SettingError(
                    f"{who}: there is no setting {setting!r} (settings: {listed})"
                    f"{did_you_mean(setting, parameters)}",
                    setting=setting,
                    plugin=name,
                )
        expected = _types(offer.factory, parameters)
        for setting, value in given.items():
            if setting in expected and not _fits(value, expected[setting]):
                raise SettingError(
                    f"{who}: {setting}={value!r} should be {_in_words(expected[setting])}",
                    setting=setting,
                    plugin=name,
                )
        try:
            plugin = offer.factory(**given)
        except (TypeError, ValueError) as error:
            message = f"{who}: {_blamed(error, given, expected)}"
            raise SettingError(message, plugin=name) from error
        except (Exception, SystemExit) as error:
            raise PluginError(f"{who}: could not be made: {error}", plugin=name) from error
        if not isinstance(plugin, KINDS[kind]):
            missing = [m for m in _methods(KINDS[kind]) if not hasattr(plugin, m)]
            message = f"{who}: is not a {kind}: it lacks {', '.join(missing)}"
            raise PluginError(message, plugin=name)
        return _CHECKED[kind](plugin, who, time_limits=self.time_limits)


def load_plugins(
    *plugins: object,
    installed: bool = True,
    only_own: bool = False,
    strict: bool = False,
    time_limits: bool = False,
    folder: str | None = None,
) -> Registry:
    """Return a registry of the given plugins and, unless `installed` is False, the installed ones.

    `only_own` excludes third parties (`--no-plugins`), and `folder` all built-in plugins outside one
    folder, such as `labellers`; `strict` makes any problem an error;
    `time_limits` stops plugins that take too long (main thread of Unix, by its alarm signal).

    If all plugins are built-in ones, those that read no text are loaded when they are needed. Others
    might take a name of theirs, so with them everything is loaded at once.
    """
    registry = Registry(time_limits=time_limits, only_own=only_own)
    points = [
        (point, package)
        for point, package in (_entry_points() if installed else ())
        if (not only_own or package.name == OWN_PACKAGE)
        and (folder is None or f".{folder}." in point.value)
    ]
    may_wait = not plugins and not strict and all(p.name == OWN_PACKAGE for _, p in points)
    candidates: list[_Candidate] = []
    for point, package in points:
        candidate = (point.name, point.load, package)
        kind = _LATER.get(point.value.split(".")[1]) if may_wait else None
        waiting = candidates if kind is None else registry._waiting.setdefault(kind, [])
        waiting.append(candidate)
    for plugin in plugins:
        name = getattr(plugin, "__name__", type(plugin).__name__)
        candidates.append((name, _same(plugin), _Package(GIVEN)))
    for candidate in candidates:
        _register(registry, *candidate)
    if strict and registry.problems:
        raise PluginLoadError("; ".join(str(problem) for problem in registry.problems))
    return registry


def _same(plugin: object) -> Callable[[], object]:
    return lambda: plugin


def _entry_points() -> list[tuple[EntryPoint, _Package]]:
    """Return installed entry points with their packages, the program's own first, then by name."""
    return _entry_points_of(tuple((folder, _changed(folder)) for folder in sys.path))


def _changed(folder: str) -> int:
    """Return when a folder was changed, in ns: whatever is installed there changes it."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _entry_points_of(
    search_path: tuple[tuple[str, int], ...],
) -> list[tuple[EntryPoint, _Package]]:
    """Return those of a search path, whose folders were last changed at these times."""
    unique: dict[tuple[str, str, str], tuple[EntryPoint, _Package]] = {}
    packages: dict[int, _Package] = {}
    for point in entry_points(group=PROJECT):
        if id(point.dist) not in packages:
            packages[id(point.dist)] = _package(point.dist)
        package = packages[id(point.dist)]
        unique.setdefault((package.name, point.name, point.value), (point, package))
    return sorted(
        unique.values(),
        key=lambda entry: (entry[1].name != OWN_PACKAGE, entry[1].name, entry[0].name),
    )


_LATER = {
    "clusterers": "clusterer",
    "comparisons": "comparison",
    "exporters": "exporter",
    "notifiers": "notifier",
    "similarities": "similarity",
}
"""Folders of built-in plugins that reading and placing texts does not need, with their kind."""


@dataclass(frozen=True, slots=True)
class _Package:
    """Where a plugin comes from."""

    name: str
    version: str = ""
    licence: str = ""


_Candidate: TypeAlias = tuple[str, Callable[[], object], _Package]
"""A plugin that is not loaded: its name, what loads it, and its package."""


def _package(distribution: Distribution | None) -> _Package:
    if distribution is None:
        return _Package("unknown")
    about = distribution.metadata  # is parsed at each access
    given = [about[name] for name in ("License-Expression", "License") if name in about]
    licence = given[0].splitlines() if given else []
    return _Package(about["Name"], about["Version"], licence[0] if licence else "")


class _Hooks(pluggy.PluginManager):
    """The hooks of one plugin. Most names of a module cannot be hooks and are passed over."""

    def parse_hookspec_opts(
        self, module_or_class: types.ModuleType | type, name: str
    ) -> pluggy.HookspecOpts | None:
        if name.startswith("__"):
            return None
        return super().parse_hookspec_opts(module_or_class, name)

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, types.ModuleType):
            value = vars(plugin).get(name)
            if not (isinstance(value, _FUNCTIONS) and hasattr(value, f"{PROJECT}_impl")):
                return None
        return super().parse_hookimpl_opts(plugin, name)


_FUNCTIONS = (types.FunctionType, types.MethodType)


def _register(registry: Registry, name: str, load: Callable[[], object], package: _Package) -> None:
    """Load one plugin and register what it offers; a problem is recorded, never raised."""

    def note(reason: str, names: Iterable[str] = ()) -> None:
        registry.problems.append(
            Problem(name, package.name, reason, package.version, package.licence, tuple(names))
        )

    try:
        plugin = load()
        manager = _Hooks(PROJECT)
        manager.add_hookspecs(PluginHooks)
        manager.register(plugin, name=name)
    except (Exception, SystemExit) as error:
        note(f"cannot be loaded: {type(error).__name__}: {error}")
        return
    misspelt = _misspelt_hooks(plugin)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        note(f"cannot be loaded: {misspelt or error}")
        return
    if misspelt:
        note(misspelt)
    _register_languages(registry, manager, package, note)
    for kind, hook in HOOKS.items():
        try:
            mappings = getattr(manager.hook, hook)()
        except (Exception, SystemExit) as error:
            note(f"{hook} failed: {type(error).__name__}: {error}")
            continue
        for mapping in mappings:
            if not isinstance(mapping, Mapping):
                note(f"{hook} returned {type(mapping).__name__}, not a mapping of name to factory")
                continue
            for offered, factory in mapping.items():
                taken = registry.loaded.get((kind, str(offered)))
                if taken is not None:
                    note(
                        f"the {kind} {offered!r} is taken by package {taken.package}; theirs is used",
                        [],
                    )
                elif not callable(factory):
                    note(
                        f"{hook}: {offered!r} is {type(factory).__name__}, not a factory", [offered]
                    )
                else:
                    registry.loaded[kind, str(offered)] = Offer(
                        kind, str(offered), factory, package.name, package.version, package.licence
                    )


def _register_languages(
    registry: Registry,
    manager: pluggy.PluginManager,
    package: _Package,
    note: Callable[[str, Iterable[str]], None],
) -> None:
    """Make the language packs of a plugin known; they are values, so there is nothing to guard."""
    try:
        mappings = manager.hook.register_languages()
    except (Exception, SystemExit) as error:
        note(f"register_languages failed: {type(error).__name__}: {error}", ())
        return
    for mapping in mappings:
        if not isinstance(mapping, Mapping) or not all(map(callable, mapping.values())):
            note("register_languages returned no mapping of code to factory", ())
            continue
        for code, factory in mapping.items():
            if code in registry.languages or (code in BUILT_IN and package.name != OWN_PACKAGE):
                note(f"there is a language pack {code!r} already; it is used", ())
            else:
                registry.languages[code] = package.name
                add_pack(code, factory)


def _misspelt_hooks(plugin: object) -> str:
    """Return a hint at functions whose names look like hooks but are not."""
    names = vars(plugin) if isinstance(plugin, types.ModuleType) else dir(plugin)
    hooks = set(HOOKS.values()) | {"register_commands", "register_languages"}
    strays = [n for n in names if n.startswith("register_") and n not in hooks]
    return "; ".join(f"{n} is no hook{did_you_mean(n, hooks)}" for n in sorted(strays))


_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    type(None): "none",
}
"""Types that a setting can be given in, in words."""


def _types(
    factory: Callable[..., object], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, tuple[object, ...]]:
    """Return the types that each setting accepts: types, or values of a Literal.

    They come from the annotations, or from the default where there is none; what can be neither
    typed nor listed is left to the plugin.
    """
    try:
        hints = typing.get_type_hints(factory.__init__ if inspect.isclass(factory) else factory)
    except Exception:  # an annotation that cannot be resolved here
        hints = {}
    types_of: dict[str, tuple[object, ...]] = {}
    for name, parameter in parameters.items():
        default = parameter.default
        if name in hints:
            accepted = _alternatives(hints[name])
        elif default in (None, inspect.Parameter.empty) or type(default) not in _WORDS:
            accepted = None
        else:
            accepted = (type(default),)
        if accepted is not None:
            types_of[name] = accepted
    return types_of


def _alternatives(hint: object) -> tuple[object, ...] | None:
    """Return the types and literal values of an annotation; None if it has any others."""
    if isinstance(hint, type) and hint in _WORDS:
        return (hint,)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return inner
    if origin in (typing.Union, types.UnionType):
        parts = [_alternatives(part) for part in inner]
        accepted = [part for part in parts if part is not None]
        return (
            tuple(one for part in accepted for one in part) if len(accepted) == len(parts) else None
        )
    return None


def _fits(value: object, accepted: tuple[object, ...]) -> bool:
    for one in accepted:
        if not isinstance(one, type):
            if value == one:
                return True
        elif one in (int, float):
            number = numbers.Integral if one is int else numbers.Real
            if isinstance(value, number) and not isinstance(value, bool):
                return True
        elif isinstance(value, one):
            return True
    return False


def _in_words(accepted: tuple[object, ...]) -> str:
    """
    >>> _in_words((int, type(None))), _in_words(("all", "nonzero"))
    ('a whole number or none', "'all' or 'nonzero'")
    """
    return " or ".join(_WORDS[one] if isinstance(one, type) else repr(one) for one in accepted)


def _blamed(
    error: Exception, given: Mapping[str, object], expected: Mapping[str, tuple[object, ...]]
) -> str:
    """Return a factory's message, with the given settings unless it names one itself."""
    if not given or any(name in str(error) for name in given):
        return str(error)
    listed = ", ".join(
        f"{name}={value!r}"
        + (f" (should be {_in_words(expected[name])})" if name in expected else "")
        for name, value in given.items()
    )
    return f"{listed}: {error}"


def _methods(protocol: type) -> list[str]:
    return sorted(
        n for n in {*vars(protocol), *getattr(protocol, "__annotations__", {})} if n[0] != "_"
    )
