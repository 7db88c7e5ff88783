"""Resolve settings: flag, environment, file, file of the user, preset, default, in this order."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from segapsith.errors import ConfigurationError, did_you_mean
from segapsith.settings.notify import NotifyTarget, read_targets
from segapsith.settings.sections import (
    FLAT,
    PRESETS,
    SECTIONS,
    SETTINGS,
    HttpSection,
    LabelsSection,
    LoggingSection,
    MaintenanceSection,
    NetworkSection,
    NightlySection,
    ParallelSection,
    PlacementSection,
    ReadingSection,
    StoreSection,
    ValidationSection,
)
from segapsith.settings.values import PluginValue, Setting, Value, checked

__all__ = ["FILE", "Settings", "resolve", "user_files"]

FILE = "segapsith.toml"

_RENAMED = {
    "consolidate": "merge_similarity",
    "consolidate_stable": "merge_stable_similarity",
    "consolidate_after": "merge_after",
    "narrowing": "split_and_reassign",
    "narrow": "split_similarity",
    "adopt": "reassign_similarity",
    "adopt_last": "reassign_last",
    "window": "duplicate_window",
}
"""Names of earlier versions, for the hint in an error message only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Checked settings by section, the origin of each, and the settings of plugins."""

    preset: str
    store: StoreSection
    reading: ReadingSection
    placement: PlacementSection
    network: NetworkSection
    maintenance: MaintenanceSection
    validation: ValidationSection
    labels: LabelsSection
    http: HttpSection
    nightly: NightlySection
    parallel: ParallelSection
    logging: LoggingSection
    origins: Mapping[str, str]
    """Origin by flat name, and by `set.NAME` for settings of plugins."""
    plugins: Mapping[str, PluginValue]
    """Settings of plugins as given: `name`, `role.name` or `plugin.name` to value. A later one
    replaces an earlier one that means the same."""
    notify: tuple[NotifyTarget, ...] = ()
    """Where a night sends notifications; only a file can give them."""

    @classmethod
    def of(
        cls,
        values: Mapping[str, Value],
        origins: Mapping[str, str],
        plugins: Mapping[str, PluginValue] | None = None,
        notify: tuple[NotifyTarget, ...] = (),
    ) -> Settings:
        """Return the settings for checked values by flat name."""
        sections = {
            section: kind(**{f.name: values[FLAT[section, f.name]] for f in fields(kind)})
            for section, kind in SECTIONS.items()
        }
        return cls(
            preset=str(values["preset"]),
            origins=origins,
            plugins=dict(plugins or {}),
            notify=notify,
            **sections,
        )

    @property
    def values(self) -> dict[str, Value]:
        """Return every value by flat name."""
        return {name: self._value(setting) for name, setting in SETTINGS.items()}

    def _value(self, setting: Setting) -> Value:
        holder: object = getattr(self, setting.section) if setting.section else self
        value: Value = getattr(holder, setting.key or setting.name)
        return value

    def as_json(self) -> dict[str, dict[str, Any]]:
        """Return value and origin by flat name; settings of plugins as `set.NAME`."""
        shown: dict[str, dict[str, Any]] = {
            name: {"value": value, "origin": self.origins[name]}
            for name, value in self.values.items()
        }
        for name, given in self.plugins.items():
            shown[f"set.{name}"] = {"value": given, "origin": self.origins[f"set.{name}"]}
        for target in self.notify:  # without its settings, which may be secrets
            shown[f"notify.{target.name}"] = {
                "value": str(target),
                "origin": self.origins["notify"],
            }
        return shown


def resolve(
    flags: Mapping[str, Any] | None = None,
    plugin_flags: Mapping[str, Any] | None = None,
    *,
    file: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings in force from flags, environment, files, preset and defaults.

    A flag of None counts as not given. Raise `ConfigurationError` for a name that does not exist
    and `SettingError` for a value that is not allowed.
    """
    for name in flags or {}:
        if name not in SETTINGS:
            raise _unknown(name, "; `segapsith config` lists them")
    variables = os.environ if environment is None else environment
    files = _files(file, variables)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("flag", {name: value for name, value in (flags or {}).items() if value is not None}),
        ("environment", _from_environment(variables)),
        *((one.origin, one.values) for one in files),
    ]
    preset, preset_origin = _first("preset", layers)
    layers.append((f"preset {preset}", PRESETS[str(preset)]))
    values: dict[str, Value] = {"preset": preset}
    origins: dict[str, str] = {"preset": preset_origin}
    for name in SETTINGS:
        values[name], origins[name] = _first(name, layers)
    of_preset = {
        name: value
        for name, value in PRESETS[str(preset)].items()
        if "." in name and origins[name.partition(".")[0]] == f"preset {preset}"
    }
    plugins: dict[str, PluginValue] = {}
    for origin, layer in (
        (f"preset {preset}", of_preset),
        *((one.origin, one.plugins) for one in reversed(files)),
        ("flag", plugin_flags or {}),
    ):
        for name, value in layer.items():
            plugins.pop(name, None)  # so that it comes after everything that it replaces
            plugins[name] = value
            origins[f"set.{name}"] = origin
    notify: tuple[NotifyTarget, ...] = ()
    for one in reversed(files):
        if one.notify is not None:
            notify, origins["notify"] = one.notify, one.origin
    return Settings.of(values, origins, plugins, notify)


def _first(name: str, layers: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[Value, str]:
    """Return the checked value of a setting from the first layer that has one, and its origin."""
    for origin, layer in layers:
        if name in layer:
            return checked(SETTINGS[name], layer[name], origin), origin
    return SETTINGS[name].default, "default"


def _unknown(name: str, more: str = "", *, where: str = "") -> ConfigurationError:
    """Return the error for a name that is no setting, with the likely name."""
    hint = (
        f"; it is called {_RENAMED[name]!r} now"
        if name in _RENAMED
        else did_you_mean(name, SETTINGS)
    )
    return ConfigurationError(f"{where}there is no setting {name!r}{hint}{more}", setting=name)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: environment[setting.variable]
        for name, setting in SETTINGS.items()
        if environment.get(setting.variable)
    }


@dataclass(frozen=True, slots=True)
class _File:
    """A configuration file: values by flat name, settings of plugins, targets of notifications."""

    path: str
    values: Mapping[str, Any]
    plugins: Mapping[str, Any]
    notify: tuple[NotifyTarget, ...] | None

    @property
    def origin(self) -> str:
        return f"file {self.path}"


def _files(file: str | None, environment: Mapping[str, str]) -> list[_File]:
    """Return the files that exist: the given one or that of the working directory, the user's."""
    if file is not None and not os.path.isfile(file):
        raise ConfigurationError(f"there is no configuration file {file}", path=file)
    paths = [Path(file or FILE), *user_files(environment)]
    # `isfile` is False too in a directory that may not be read
    return [_from_file(path) for path in paths if os.path.isfile(path)]


def user_files(environment: Mapping[str, str]) -> list[Path]:
    """Return where the file of the user is looked for, by the XDG base directory specification.

    >>> [path.as_posix() for path in user_files({"HOME": "/home/ada"})]
    ['/home/ada/.config/segapsith/segapsith.toml']
    """
    folder = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):  # the specification asks to ignore a relative one
        home = environment.get("HOME", "")
        folder = os.path.join(home, ".config") if os.path.isabs(home) else ""
    return [Path(folder, "segapsith", FILE)] if folder else []


def _from_file(path: Path) -> _File:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}", path=str(path)) from error
    plugins = content.pop("set", {})
    if not isinstance(plugins, dict):
        raise ConfigurationError(f"{path}: [set] should be a table of plugin settings")
    notify = read_targets(content.pop("notify"), f"{path}: ") if "notify" in content else None
    by_plugin: dict[str, Any] = {}
    for name, value in plugins.items():
        inner = value if isinstance(value, dict) else None
        by_plugin |= (
            {name: value} if inner is None else {f"{name}.{n}": v for n, v in inner.items()}
        )
    return _File(str(path), _flattened(content, f"{path}: "), by_plugin, notify)


def _flattened(content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the values of a file by flat name; tables are sections."""
    values: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, dict) and key in SECTIONS:
            entries = {_in_section(key, name, where): inner for name, inner in value.items()}
        elif isinstance(value, dict) and key not in SETTINGS:
            raise ConfigurationError(
                f"{where}there is no section [{key}] (sections: {', '.join(SECTIONS)}, set)"
                f"{did_you_mean(key, SECTIONS)}"
            )
        elif key in SETTINGS:
            entries = {key: value}
        else:
            raise _unknown(key, f" (settings: {', '.join(SETTINGS)})", where=where)
        for name in entries.keys() & values.keys():
            setting = SETTINGS[name]
            raise ConfigurationError(
                f"{where}{name} is given twice, as {name} and in [{setting.section}]; delete one",
                setting=name,
            )
        values |= entries
    return values


def _in_section(section: str, key: str, where: str) -> str:
    """Return the flat name of a key in a section of a file."""
    if (section, key) in FLAT:
        return FLAT[section, key]
    if key in SETTINGS and SETTINGS[key].section == section:
        raise ConfigurationError(
            f"{where}{key!r} is called {SETTINGS[key].key!r} in [{section}]", setting=key
        )
    keys = [key for of, key in FLAT if of == section]
    raise ConfigurationError(
        f"{where}there is no setting {key!r} in [{section}] (settings: {', '.join(keys)})"
        f"{did_you_mean(_RENAMED.get(key, key), keys)}",
        setting=key,
    )
