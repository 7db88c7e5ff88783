"""Record the settings that a store was learned with, as periods of its stream.

Units that different measures assigned must not end up in the same domains by accident. So a run
uses the learning settings of the last period, and a change must be requested explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segapsith.errors import LearningChangeError
from segapsith.settings import PRESETS, SETTINGS, PluginValue, Settings, checked

__all__ = [
    "FACT",
    "LEARNED",
    "READING",
    "TERMS_HASH",
    "UNRECORDED",
    "Change",
    "LearningSettings",
    "Note",
    "Period",
    "changes",
    "check",
    "in_force",
    "periods",
    "with_stored",
]

FACT = "learning"
"""Name of the store's fact that holds its periods."""

LEARNED = tuple(name for name, setting in SETTINGS.items() if setting.learned)

TERMS_HASH = "terms_sha256"
"""Name under which the hash of the terms file is recorded beside its path."""

READING = ("annotator", "terms", TERMS_HASH, "network_window")
"""The settings that reading a reference corpus uses; its texts are not segmented or placed."""

ROLES = ("annotator", "segmenter", "placement")
"""The settings that select a plugin."""

_FIXED = ("count", "engine.inferred_occurrence", "network_window")
"""Settings that stored sums depend on: the engine refuses any other value."""


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """Values of the learning settings, and settings of plugins by `role.name`."""

    values: Mapping[str, Any]
    plugins: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"values": dict(self.values), "set": dict(self.plugins)}

    def only(self, names: Iterable[str]) -> LearningSettings:
        """Return the named settings, with the settings of the plugins that they select."""
        selected = set(names)
        return LearningSettings(
            {n: v for n, v in self.values.items() if n in selected},
            {n: v for n, v in self.plugins.items() if n.partition(".")[0] in selected},
        )

    def updated(self, other: LearningSettings) -> LearningSettings:
        """Return these settings overridden by others."""
        replaced = {role for role in ROLES if role in other.values}
        plugins = {n: v for n, v in self.plugins.items() if n.partition(".")[0] not in replaced}
        return LearningSettings({**self.values, **other.values}, {**plugins, **other.plugins})


@dataclass(frozen=True, slots=True)
class Period:
    """A part of the stream that was learned with the same settings, and its first unit."""

    run: int
    unit: int
    ordinal: int
    settings: LearningSettings

    def as_json(self) -> dict[str, Any]:
        where = {"run": self.run, "unit": self.unit, "ordinal": self.ordinal}
        return {**where, **self.settings.as_json()}


@dataclass(frozen=True, slots=True)
class Note:
    """Settings to record with the first batch that learns, after earlier periods."""

    before: tuple[Period, ...]
    settings: LearningSettings

    def fact(self, run: int, unit: int, ordinal: int) -> dict[str, Any]:
        """Return the fact to store: earlier periods and the one that starts here."""
        periods = (*self.before, Period(run, unit, ordinal, self.settings))
        return {FACT: [period.as_json() for period in periods]}


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs from the recorded one (`stored`)."""

    name: str
    stored: Any
    given: Any
    origin: str

    def as_json(self) -> dict[str, Any]:
        return {"from": self.stored, "to": self.given}


UNRECORDED = LearningSettings(
    {name: setting.before for name, setting in SETTINGS.items() if setting.before is not None}
)
"""What differs from the defaults in stores that have learned and recorded no settings."""


def periods(facts: Mapping[str, Any]) -> tuple[Period, ...]:
    """Return the periods in the facts of a store, in order."""
    return tuple(
        Period(
            int(entry["run"]),
            int(entry["unit"]),
            int(entry["ordinal"]),
            LearningSettings(entry["values"], entry["set"]),
        )
        for entry in facts.get(FACT, ())
    )


def in_force(history: Sequence[Period], unit: int) -> LearningSettings | None:
    """Return the settings that a unit was learned with; None if it is older than any period."""
    return next((p.settings for p in reversed(history) if p.unit <= unit), None)


def _is_given(settings: Settings, name: str) -> bool:
    """Return whether this value was given, directly or by a preset."""
    if settings.origins[name] != "default":
        return True
    named = settings.origins["preset"] != "default"  # `--preset default` selects the defaults
    return named and any(name in preset for preset in PRESETS.values())


def with_stored(
    settings: Settings, stored: LearningSettings, *, stored_wins: bool = False
) -> Settings:
    """Return the settings with the recorded ones where none was given.

    With `stored_wins` recorded settings replace given ones too, and annotator, segmenter and terms
    keep their defaults: this is for work that reads no text.
    """
    values, origins = dict(settings.values), dict(settings.origins)
    plugins: dict[str, PluginValue] = {}
    if stored_wins:
        values |= {"terms": "", "workers": "1"}
    for name in LEARNED:
        recorded = _recorded(stored, name)
        if recorded is None or (stored_wins and name in ("annotator", "segmenter", "terms")):
            continue
        if stored_wins or not _is_given(settings, name):
            values[name] = checked(SETTINGS[name], recorded, "store")
            origins[name] = "store"
    for name, value in stored.plugins.items():
        role = name.partition(".")[0]
        if role in ROLES and values[role] != stored.values.get(role):
            continue  # a setting of another plugin
        if not (stored_wins and role in ("annotator", "segmenter")):
            plugins[name], origins[f"set.{name}"] = value, "store"
    if stored_wins:
        return Settings.of(values, origins, plugins, settings.notify)
    for name, value in settings.plugins.items():
        plugins.pop(name, None)  # a given one comes after every recorded one that it replaces
        plugins[name], origins[f"set.{name}"] = value, settings.origins[f"set.{name}"]
    return Settings.of(values, origins, plugins, settings.notify)


def changes(
    now: LearningSettings,
    stored: LearningSettings,
    *,
    default: Callable[[str], PluginValue],
    origin: Callable[[str], str],
) -> list[Change]:
    """Return the differences from the recorded settings, of those that are recorded.

    `default` returns the default of a plugin's setting, `origin` the origin of a value. Settings of
    a plugin that was itself replaced are not compared.
    """
    differences = []
    for name, value in now.values.items():
        recorded = _recorded(stored, name)
        if name in ("terms", *_FIXED) or recorded is None or value == recorded:
            continue
        if name == TERMS_HASH:
            differences.append(Change("terms", _terms(stored), _terms(now), origin("terms")))
        else:
            differences.append(Change(name, recorded, value, origin(name)))
    changed = {change.name for change in differences}
    for name in sorted({*now.plugins, *stored.plugins} - set(_FIXED)):
        role = name.partition(".")[0]
        is_recorded = role == "engine" or role in stored.values
        if role in changed or not is_recorded or (role != "engine" and role not in now.values):
            continue
        before = stored.plugins[name] if name in stored.plugins else default(name)
        after = now.plugins[name] if name in now.plugins else default(name)
        if before != after:
            differences.append(Change(name, before, after, origin(name)))
    return differences


def _recorded(stored: LearningSettings, name: str) -> Any:
    """Return the value that a store was learned with; None if that is not known."""
    if name in stored.values:
        return stored.values[name]
    if "placement" not in stored.values or name not in SETTINGS:
        return None  # only a reference corpus was read
    return SETTINGS[name].before


def _terms(settings: LearningSettings) -> str:
    """Return the path of the terms file with the first digits of its hash."""
    path = settings.values["terms"]
    return f"{path} (sha256 {settings.values[TERMS_HASH][:12]})" if path else "none"


def check(path: str, differences: Sequence[Change]) -> None:
    """Raise `LearningChangeError` if settings differ from the recorded ones."""
    if not differences:
        return
    stored = ", ".join(f"{change.name}={change.stored}" for change in differences)
    given = ", ".join(f"{change.name}={change.given} ({change.origin})" for change in differences)
    them = "it" if len(differences) == 1 else "them"
    raise LearningChangeError(
        f"{path} was learned with {stored}, and {given} is given: omit {them} to continue as"
        f" before, or add --change-learning (in Python: change_learning=True) to learn with {them}"
        " from now on; what was learned before does not change",
        setting=differences[0].name,
        path=path,
    )
