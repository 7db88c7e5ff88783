"""Assign the settings that people give to plugins: `--set chi-sim.k=0.8`, `[set.chi-sim] k = 0.8`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segapsith.errors import SettingError, did_you_mean

__all__ = ["ROLES", "PluginInUse", "assign"]

ROLES = (
    "annotator", "segmenter", "placement", "engine", "similarity", "clusterer", "topics", "sections",
    "labeller",
)  # fmt: skip
"""The roles that a plugin can have, as prefixes of `--set`."""


@dataclass(frozen=True, slots=True)
class PluginInUse:
    """A plugin that a command uses: its role, its name and the names of its settings."""

    role: str
    name: str
    settings: Collection[str]

    def __str__(self) -> str:
        return self.role if self.name == self.role else f"{self.role} {self.name!r}"


def assign(
    given: Mapping[str, Any],
    plugins: Sequence[PluginInUse],
    *,
    optional: Collection[str] = (),
    installed: Collection[str] = (),
) -> dict[str, dict[str, str]]:
    """Assign settings of plugins to roles: role to name of the setting to the key in `given`.

    A key is `plugin.name` or `role.name`, or `name` alone if one plugin in use has that setting.
    Keys in `optional` may name a role, or a plugin among `installed`, that is not in use; they
    are left out then. A later key replaces an earlier one that means the same.

    >>> ahc = PluginInUse("clusterer", "ahc", ["k", "linkage"])
    >>> assign({"linkage": "ward", "ahc.k": 3}, [ahc])
    {'clusterer': {'linkage': 'linkage', 'k': 'ahc.k'}}
    """
    assigned: dict[str, dict[str, str]] = {plugin.role: {} for plugin in plugins}
    for key in given:
        prefix, _, name = key.rpartition(".")
        named = [plugin for plugin in plugins if prefix in ("", plugin.role, plugin.name)]
        if not named:
            if key in optional and (prefix in ROLES or prefix in installed):
                continue
            raise _not_in_use(prefix, key, plugins, installed)
        takers = [plugin for plugin in named if name in plugin.settings]
        if not takers:
            raise _no_such_setting(prefix, name, named)
        if len(takers) > 1:
            raise _ambiguous(prefix, name, takers)
        assigned[takers[0].role][name] = key
    return assigned


def _not_in_use(
    prefix: str, key: str, plugins: Sequence[PluginInUse], installed: Collection[str]
) -> SettingError:
    in_use = ", ".join(map(str, plugins))
    names = {*installed, *(plugin.name for plugin in plugins), *(p.role for p in plugins)}
    return SettingError(
        f"{key}: no plugin in use is called {prefix!r} (in use: {in_use})"
        f"{'' if prefix in names else did_you_mean(prefix, names)}",
        setting=key,
        plugin=prefix,
    )


def _no_such_setting(prefix: str, name: str, named: Sequence[PluginInUse]) -> SettingError:
    names = sorted({setting for plugin in named for setting in plugin.settings})
    who = str(named[0]) if prefix else "no chosen plugin"
    return SettingError(
        f"{who} has {'no' if prefix else 'a'} setting {name!r} (settings: {', '.join(names)})"
        f"{did_you_mean(name, names)}",
        setting=name,
        plugin=named[0].name if prefix else None,
    )


def _ambiguous(prefix: str, name: str, takers: Sequence[PluginInUse]) -> SettingError:
    names = [plugin.name for plugin in takers]
    by_role = len(set(names)) < len(names)
    spellings = [f"{plugin.role if by_role else plugin.name}.{name}" for plugin in takers]
    return SettingError(
        f"{name!r} is a setting of {' and of '.join(map(str, takers))}; write"
        f" {' or '.join(spellings)}",
        setting=name,
    )
