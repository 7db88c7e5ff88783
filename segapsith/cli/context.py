"""From options to objects: the only place where the command line meets the Python API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segapsith.cli.output import claim, say
from segapsith.errors import UsageError
from segapsith.settings import Settings, read_value, resolve

if TYPE_CHECKING:
    from segapsith.api.wire import Wire
    from segapsith.plugin.registry import Registry

__all__ = ["joined", "plugins", "settings", "wire"]


def settings(
    *, store: str | None, config: str | None, wait: float | None = None, **flags: Any
) -> Settings:
    """The settings that hold, given these flags; with them a command of ours begins."""
    claim()
    sets = flags.pop("sets", None)
    return resolve({"store": store, "wait": wait, **flags}, _pairs(sets or []), file=config)


def joined(entries: list[str] | None) -> str | None:
    """A repeated option as one setting; None if it was not given."""
    return None if not entries else ", ".join(entries)


def _pairs(sets: list[str]) -> dict[str, Any]:
    pairs = {}
    for entry in sets:
        name, sign, value = entry.partition("=")
        if not sign or not name.strip():
            raise UsageError(f"--set {entry!r} should be NAME=VALUE")
        pairs[name.strip()] = read_value(value)
    return pairs


def plugins(*, strict: bool = False, only_own: bool = False) -> Registry:
    """The installed plugins; those that cannot be used are named on standard error."""
    from segapsith.plugin.registry import load_plugins

    claim()
    registry = load_plugins(only_own=only_own, strict=strict, time_limits=True)
    for problem in registry.problems:
        say(f"segapsith: warning: {problem}")
    return registry


def wire(
    chosen: Settings,
    *,
    strict: bool = False,
    only_own: bool = False,
    change_learning: bool = False,
) -> Wire:
    """The store with its engine; nothing is opened yet."""
    from segapsith.api.wire import Wire

    registry = plugins(strict=strict, only_own=only_own)
    return Wire(str(chosen["store"]), chosen, registry, change_learning=change_learning)
