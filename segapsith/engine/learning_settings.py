"""What a store was learned with: the settings that decide what is learned, kept with the store.

Units that were placed by one measure and units that were placed by another do not belong into the
same domains by accident. So a store keeps its learning settings as periods of its stream; a run
goes on with those of the last period, and other ones must be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segapsith.errors import LearningChangeError
from segapsith.settings import PRESETS, SETTINGS, Settings, Value

__all__ = [
    "FACT",
    "LEARNED",
    "READING",
    "TERMS_HASH",
    "Change",
    "LearningSettings",
    "Note",
    "Period",
    "changes",
    "check",
    "in_force",
    "periods",
    "with_kept",
]

FACT = "learning"
"""The fact of a store that holds its periods."""

LEARNED = tuple(name for name, setting in SETTINGS.items() if setting.learned)

TERMS_HASH = "terms_sha256"
"""The content of the file of terms, beside its name."""

READING = ("annotator", "terms", TERMS_HASH, "network_window")
"""What a reference corpus is read with; its texts are neither cut nor placed."""

ROLES = ("annotator", "segmenter", "placement")
"""The settings that choose a plugin."""

_FIXED = ("count", "engine.inferred_occurrence", "network_window")
"""What sums were counted with: the engine refuses another value, whatever is asked for."""


@dataclass(frozen=True, slots=True)
class LearningSettings:
    """The values of the learning settings, and those that plugins were given, by `role.name`."""

    values: Mapping[str, Any]
    plugins: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"values": dict(self.values), "set": dict(self.plugins)}

    def only(self, names: Iterable[str]) -> LearningSettings:
        """Return those of some settings, with the settings of the plugins that they choose."""
        only = set(names)
        return LearningSettings(
            {n: v for n, v in self.values.items() if n in only},
            {n: v for n, v in self.plugins.items() if n.partition(".")[0] in only},
        )

    def updated(self, other: LearningSettings) -> LearningSettings:
        """Return these with the values of others in their place."""
        replaced = {role for role in ROLES if role in other.values}
        kept = {n: v for n, v in self.plugins.items() if n.partition(".")[0] not in replaced}
        return LearningSettings({**self.values, **other.values}, {**kept, **other.plugins})


@dataclass(frozen=True, slots=True)
class Period:
    """A part of the stream that was learned with the same settings, beginning with its first unit."""

    run: int
    unit: int
    ordinal: int
    settings: LearningSettings

    def as_json(self) -> dict[str, Any]:
        where = {"run": self.run, "unit": self.unit, "ordinal": self.ordinal}
        return {**where, **self.settings.as_json()}


@dataclass(frozen=True, slots=True)
class Note:
    """Settings that the store keeps with the first batch that learns, after earlier periods."""

    before: tuple[Period, ...]
    settings: LearningSettings

    def fact(self, run: int, unit: int, ordinal: int) -> dict[str, Any]:
        """Return the fact that says from where on the settings hold."""
        periods = (*self.before, Period(run, unit, ordinal, self.settings))
        return {FACT: [period.as_json() for period in periods]}


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs from the one of the store."""

    name: str
    kept: Any
    given: Any
    origin: str

    def as_json(self) -> dict[str, Any]:
        return {"from": self.kept, "to": self.given}


def periods(facts: Mapping[str, Any]) -> tuple[Period, ...]:
    """Return the periods that the facts of a store tell of, in order."""
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
    """Return whether somebody asked for this value, by itself or by a preset."""
    if settings.origins[name] != "default":
        return True
    named = settings.origins["preset"] != "default"  # `--preset default` asks for the defaults
    return named and any(name in preset for preset in PRESETS.values())


def with_kept(settings: Settings, kept: LearningSettings, *, kept_wins: bool = False) -> Settings:
    """Return the settings with those of the store where none was given.

    With `kept_wins` what was given does not count either, and what texts are read with is left
    out: this is for work that reads no text, which no other setting may disturb.
    """
    values, origins = dict(settings.values), dict(settings.origins)
    plugins: dict[str, Any] = {}
    if kept_wins:
        values |= {"terms": "", "workers": 1}
    for name in LEARNED:
        if name not in kept.values or (kept_wins and name in ("annotator", "segmenter", "terms")):
            continue
        if kept_wins or not _is_given(settings, name):
            values[name], origins[name] = kept.values[name], "store"
    for name, value in kept.plugins.items():
        role = name.partition(".")[0]
        if role in ROLES and values[role] != kept.values.get(role):
            continue  # a setting of another plugin
        if not (kept_wins and role in ("annotator", "segmenter")):
            plugins[name], origins[f"set.{name}"] = value, "store"
    if kept_wins:
        return Settings(values, origins, plugins)
    for name, value in settings.plugins.items():
        plugins[name], origins[f"set.{name}"] = value, settings.origins[f"set.{name}"]
    return Settings(values, origins, plugins)


def changes(
    now: LearningSettings,
    kept: LearningSettings,
    *,
    default: Callable[[str], Value | None],
    origin: Callable[[str], str],
) -> list[Change]:
    """Return what differs from the settings of the store, as far as it keeps any.

    `default` gives the value that a plugin takes if it is given none, `origin` where a value came
    from. What belongs to a plugin that changed itself is not compared.
    """
    found = []
    for name, value in now.values.items():
        if name in ("terms", *_FIXED) or name not in kept.values or value == kept.values[name]:
            continue
        if name == TERMS_HASH:
            found.append(Change("terms", _terms(kept), _terms(now), origin("terms")))
        else:
            found.append(Change(name, kept.values[name], value, origin(name)))
    changed = {change.name for change in found}
    for name in sorted({*now.plugins, *kept.plugins} - set(_FIXED)):
        role = name.partition(".")[0]
        known = role == "engine" or role in kept.values
        if role in changed or not known or (role != "engine" and role not in now.values):
            continue
        before = kept.plugins[name] if name in kept.plugins else default(name)
        after = now.plugins[name] if name in now.plugins else default(name)
        if before != after:
            found.append(Change(name, before, after, origin(name)))
    return found


def _terms(settings: LearningSettings) -> str:
    """Return the file of terms with the beginning of its hash."""
    path = settings.values["terms"]
    return f"{path} (sha256 {settings.values[TERMS_HASH][:12]})" if path else "none"


def check(path: str, found: Sequence[Change]) -> None:
    """Refuse to learn with settings that differ from those of the store."""
    if not found:
        return
    kept = ", ".join(f"{change.name}={change.kept}" for change in found)
    given = ", ".join(f"{change.name}={change.given} ({change.origin})" for change in found)
    them = "it" if len(found) == 1 else "them"
    raise LearningChangeError(
        f"{path} was learned with {kept}, and {given} is given: leave {them} out to go on as"
        f" before, or add --change-learning (in Python: change_learning=True) to learn with {them}"
        " from now on; what was learned before stays as it is"
    )
