"""Finds plugins and makes what they offer. Names the culprit when one cannot be used.

Entry points are loaded one at a time, so a plugin that cannot be imported harms nobody else.
Managers are made, not global: `load_plugins(MyPlugin(), installed=False)` is all that a test needs.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any

import pluggy

from segapsith import seam
from segapsith.contracts import KINDS
from segapsith.errors import (
    PluginError,
    PluginLoadError,
    SettingError,
    UnknownNameError,
    did_you_mean,
)
from segapsith.hookspecs import HOOKS, PROJECT, PluginHooks

__all__ = ["Catalogue", "Offer", "Problem", "load_plugins"]

OWN_PACKAGE = "segapsith"

_CHECKED = {
    "source": seam.CheckedSource,
    "annotator": seam.CheckedAnnotator,
    "segmenter": seam.CheckedSegmenter,
    "similarity": seam.CheckedSimilarity,
    "clusterer": seam.CheckedClusterer,
    "comparison": seam.CheckedComparison,
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
class Catalogue:
    """What is installed: offers by kind and name, and the problems that were met."""

    offers: dict[tuple[str, str], Offer] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def names(self, kind: str) -> list[str]:
        """The names of one kind, in order."""
        return sorted(name for k, name in self.offers if k == kind)

    def offer(self, kind: str, name: str) -> Offer:
        """The offer of that name, or an error that says what there is."""
        found = self.offers.get((kind, name))
        if found is not None:
            return found
        for problem in self.problems:
            if name == problem.plugin or name in problem.names:
                raise PluginLoadError(f"{kind} '{name}' cannot be used: {problem}")
        known = self.names(kind)
        raise UnknownNameError(
            f"no {kind} is called {name!r} (known: {', '.join(known)}){did_you_mean(name, known)}"
        )

    def settings(self, kind: str, name: str) -> dict[str, inspect.Parameter]:
        """The settings that a plugin takes, by name."""
        signature = inspect.signature(self.offer(kind, name).factory)
        return {
            n: p
            for n, p in signature.parameters.items()
            if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
        }

    def make(self, kind: str, name: str, settings: Mapping[str, object] | None = None) -> Any:
        """The object of that kind and name with these settings, held to its contract."""
        offer = self.offer(kind, name)
        chosen = dict(settings or {})
        who = seam.Who(kind, name, "" if offer.package == OWN_PACKAGE else offer.package)
        known = self.settings(kind, name)
        for setting in chosen:
            if setting not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise SettingError(
                    f"{who}: there is no setting {setting!r} (settings: {listed})"
                    f"{did_you_mean(setting, known)}"
                )
        try:
            made = offer.factory(**chosen)
        except (TypeError, ValueError) as error:
            raise SettingError(f"{who}: {error}") from error
        except (Exception, SystemExit) as error:
            raise PluginError(f"{who}: could not be made: {error}") from error
        if not isinstance(made, KINDS[kind]):
            missing = [m for m in _methods(KINDS[kind]) if not hasattr(made, m)]
            raise PluginError(f"{who}: is not a {kind}: it lacks {', '.join(missing)}")
        checked = _CHECKED.get(kind)
        return made if checked is None else checked(made, who)


def load_plugins(
    *plugins: object, installed: bool = True, only_own: bool = False, strict: bool = False
) -> Catalogue:
    """A catalogue of the given plugins and, unless told otherwise, of the installed ones.

    `only_own` leaves third parties out (`--no-plugins`); `strict` makes any problem an error.
    """
    catalogue = Catalogue()
    candidates: list[tuple[str, Callable[[], object], str, str, str]] = []
    if installed:
        points = [p for p in _entry_points() if not only_own or _package(p) == OWN_PACKAGE]
        candidates += [(p.name, p.load, _package(p), *_origin(p)) for p in points]
    for plugin in plugins:
        name = getattr(plugin, "__name__", type(plugin).__name__)
        candidates.append((name, _same(plugin), "given", "", ""))
    for name, load, package, version, licence in candidates:
        _register(catalogue, name, load, package, version, licence)
    if strict and catalogue.problems:
        raise PluginLoadError("; ".join(str(problem) for problem in catalogue.problems))
    return catalogue


def _same(plugin: object) -> Callable[[], object]:
    return lambda: plugin


def _entry_points() -> list[EntryPoint]:
    """Installed entry points, the program's own first, then by package and name."""
    unique = {(p.name, p.value, _package(p)): p for p in entry_points(group=PROJECT)}
    return sorted(unique.values(), key=lambda p: (_package(p) != OWN_PACKAGE, _package(p), p.name))


def _distribution(point: EntryPoint) -> Distribution | None:
    return point.dist


def _package(point: EntryPoint) -> str:
    distribution = _distribution(point)
    return distribution.name if distribution is not None else "unknown"


def _origin(point: EntryPoint) -> tuple[str, str]:
    distribution = _distribution(point)
    if distribution is None:
        return "", ""
    about = distribution.metadata.json
    licence = str(about.get("license_expression") or about.get("license") or "")
    return distribution.version, licence.splitlines()[0] if licence else ""


def _register(
    catalogue: Catalogue,
    name: str,
    load: Callable[[], object],
    package: str,
    version: str,
    licence: str,
) -> None:
    """Loads one plugin and enters what it offers; any trouble is noted, never raised."""

    def note(reason: str, names: Iterable[str] = ()) -> None:
        catalogue.problems.append(Problem(name, package, reason, version, licence, tuple(names)))

    try:
        plugin = load()
        manager = pluggy.PluginManager(PROJECT)
        manager.add_hookspecs(PluginHooks)
        manager.register(plugin, name=name)
        manager.check_pending()
    except (Exception, SystemExit) as error:
        note(f"cannot be loaded: {type(error).__name__}: {error}")
        return
    misspelt = _misspelt_hooks(plugin)
    if misspelt:
        note(misspelt)
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
                taken = catalogue.offers.get((kind, str(offered)))
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
                    catalogue.offers[kind, str(offered)] = Offer(
                        kind, str(offered), factory, package, version, licence
                    )


def _misspelt_hooks(plugin: object) -> str:
    """A hint at functions that look like hooks but are none of them."""
    names = vars(plugin) if isinstance(plugin, types.ModuleType) else dir(plugin)
    known = set(HOOKS.values()) | {"register_commands"}
    strays = [n for n in names if n.startswith("register_") and n not in known]
    return "; ".join(f"{n} is no hook{did_you_mean(n, known)}" for n in sorted(strays))


def _methods(protocol: type) -> list[str]:
    return sorted(
        n for n in {*vars(protocol), *getattr(protocol, "__annotations__", {})} if n[0] != "_"
    )
