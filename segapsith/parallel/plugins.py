"""The plugins of a task: a worker loads those that are installed where it runs.

In this process tasks use the registry that the caller has loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from segapsith.errors import ConfigurationError
from segapsith.parallel.packing import Frozen
from segapsith.parallel.tasks import Shared
from segapsith.plugin.registry import GIVEN, Registry, load_plugins

__all__ = ["PLUGINS", "InstalledPlugins", "check_installed", "registry_of", "share_plugins"]

PLUGINS = "installed"
"""The name of the shared value from which workers load plugins."""


@dataclass(frozen=True, slots=True)
class InstalledPlugins:
    """Which plugins a worker loads."""

    only_own: bool
    """Whether plugins of other packages are left out."""


def share_plugins(registry: Registry) -> dict[str, Frozen]:
    """Return the shared value from which `registry_of` makes a registry."""
    value = Frozen(InstalledPlugins(registry.only_own))
    value.derived["registry"] = registry  # for tasks of this process; it does not travel
    return {PLUGINS: value}


def registry_of(shared: Shared) -> Registry:
    """Return the plugins of a task; a worker loads them once."""

    def load() -> Registry:
        # only the main thread of a process has an alarm signal
        limits = threading.current_thread() is threading.main_thread()
        return load_plugins(only_own=shared[PLUGINS].only_own, time_limits=limits)

    return shared.once("registry", load, of=PLUGINS)


def check_installed(registry: Registry, plugins: Iterable[tuple[str, str]]) -> None:
    """Raise an error if a plugin (kind and name) was given as an object: workers cannot import it."""
    for kind, name in plugins:
        if registry.offer(kind, name).package == GIVEN:
            raise ConfigurationError(
                f"{kind} {name!r} was given as an object, and workers import plugins by name:"
                " install it as a package, or use workers=1",
                setting="workers",
                plugin=name,
            )
