"""Settings: flag beats environment beats file beats preset beats default, and each value says
where it came from."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segapsith.errors import ConfigurationError, SettingError, did_you_mean

__all__ = [
    "ANNOTATOR",
    "BUILT_IN_PLACEMENT",
    "CLUSTERER",
    "ENGINE",
    "FILE",
    "LINKAGE",
    "PLAIN_SIMILARITY",
    "PRESETS",
    "SEGMENTER",
    "SETTINGS",
    "TOPIC_CLUSTERER",
    "TOPIC_SIMILARITY",
    "Setting",
    "Settings",
    "Value",
    "checked",
    "read_value",
    "resolve",
]

# Names of plugins stand here and nowhere else in the core.
ANNOTATOR, SEGMENTER = "simplemma", "cohesion"
BUILT_IN_PLACEMENT = "eq7"
"""The placement that the index computes itself; any other name is a similarity."""
CLUSTERER = "entropy-kmeans"
"""What recomputes domains from the units."""
TOPIC_SIMILARITY, TOPIC_CLUSTERER = "gvsm-cov", "ahc"
"""What groups domains into topics."""
LINKAGE, PLAIN_SIMILARITY = "ahc", "cosine"
"""What `plugins check` scores a similarity with, and a clusterer that needs one."""

FILE = "segapsith.toml"
PREFIX = "SEGAPSITH_"


Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set: its name, default, meaning, range, and other environment names."""

    name: str
    default: Value
    about: str
    choices: tuple[str, ...] = ()
    environment: str = ""
    least: float | None = None
    most: float | None = None
    excluded: float | None = None
    """An end of the range that is not allowed itself."""
    learned: bool = False
    """Whether it changes what is learned: a store keeps it (see learning_settings.py)."""

    @property
    def variable(self) -> str:
        return self.environment or PREFIX + self.name.upper()

    @property
    def expected(self) -> str:
        """Return the type and the range in words.

        >>> Setting("share", 0.5, "", least=0, most=1, excluded=0).expected
        'a number from 0 to 1 (not 0)'
        >>> Setting("size", 3, "", least=1).expected
        'a whole number of at least 1'
        """
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "a text"
        text = "a whole number" if isinstance(self.default, int) else "a number"
        if self.most is not None:
            text += f" from {self.least or 0:g} to {self.most:g}"
        elif self.least is not None and self.least != self.excluded:
            text += f" of at least {self.least:g}"
        elif self.least is not None:
            return f"{text} above {self.least:g}"
        return text if self.excluded is None else f"{text} (not {self.excluded:g})"

    def allows(self, value: float) -> bool:
        """Return whether a number is in the range; infinity and NaN never are."""
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and value != self.excluded
        )


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("store", "segapsith.db", "the file that everything is kept in"),
        Setting("preset", "default", "a set of learning values", ("default", "paper")),
        Setting("lang", "auto", "language of the documents: en, fr, or auto"),
        Setting("annotator", ANNOTATOR, "from text to lemmas", learned=True),
        Setting("segmenter", SEGMENTER, "from text to thematic units", learned=True),
        Setting(
            "placement",
            BUILT_IN_PLACEMENT,
            f"how a unit finds its domain: {BUILT_IN_PLACEMENT}, or any similarity",
            learned=True,
        ),
        Setting(
            "threshold",
            0.17,
            "similarity from which a unit joins a domain",
            least=0,
            most=1,
            excluded=0,
            learned=True,
        ),
        Setting(
            "domain_weight",
            "mean-unit-weight",
            "weight of a word in a domain",
            ("mean-unit-weight", "occurrence-significance"),
            learned=True,
        ),
        Setting(
            "min_weight",
            0.02,
            "words of a domain that weigh less are not compared",
            least=0,
            most=1,
            excluded=1,
            learned=True,
        ),
        Setting("count", "units", "what an occurrence is", ("units", "tokens"), learned=True),
        Setting(
            "prefilter",
            "none",
            "compare all, or what eq. 6 activates",
            ("none", "activation"),
            learned=True,
        ),
        Setting(
            "importance",
            "rarity",
            "what makes a word telling",
            ("rarity", "significance"),
            learned=True,
        ),
        Setting(
            "batch_size", 200, "items of one transaction; 32 ready units count as one item", least=1
        ),
        Setting("full_text", False, "follow the link of feed items that carry only a summary"),
        Setting("learn_terms", True, "learn multi-word terms from the stream", learned=True),
        Setting(
            "terms",
            "",
            "a file of multi-word terms, one a line; `fr:` before it for French",
            learned=True,
        ),
        Setting(
            "network_window", 20, "content words within which two words meet", least=2, learned=True
        ),
        Setting(
            "network_normalizer",
            "tight",
            "what cohesion is a share of: the most possible, or log2(N² (window - 1))",
            ("tight", "ferret"),
            learned=True,
        ),
        Setting(
            "network_min_count",
            0,
            "pairs that met less are no link; 0: by the corpus' size",
            least=0,
            learned=True,
        ),
        Setting(
            "network_min_cohesion",
            0.0,
            "pairs below are no link; 0: 0.2 tight, 0.1 ferret",
            least=0,
            most=1,
            learned=True,
        ),
        Setting(
            "network_links",
            500,
            "strongest links of a word that are kept; 0: all",
            least=0,
            learned=True,
        ),
        Setting(
            "network_kept_by",
            "both",
            "whether a link must be among the strongest of both its words or of either",
            ("both", "either"),
            learned=True,
        ),
        Setting("window", 100_000, "stories that a text may repeat; 0: equal texts only", least=0),
        Setting("workers", 1, "processes that annotate", least=1),
        Setting(
            "retire_after", 50_000, "stories after which a quiet domain retires; 0: never", least=0
        ),
        Setting("retire_below", 15, "units below which a quiet domain may be retired", least=0),
        Setting("stable", 15, "units from which a domain is called stable", least=1),
        Setting(
            "refine",
            0,
            "passes that place every unit again after an ingest and each night",
            least=0,
        ),
        Setting(
            "consolidate",
            0.25,
            "similarity from which a quiet small domain is merged; 0: none",
            least=0,
            most=1,
        ),
        Setting(
            "consolidate_stable",
            0.5,
            "similarity from which other domains are merged",
            least=0,
            most=1,
            excluded=0,
        ),
        Setting(
            "consolidate_after", 1500, "stories after which a small domain counts as quiet", least=0
        ),
        Setting("narrowing", True, "each night broad domains are split and units adopted"),
        Setting(
            "narrow",
            0.25,
            "similarity that the parts of a split domain need; 0: no split",
            least=0,
            most=1,
        ),
        Setting(
            "adopt",
            0.2,
            "similarity from which stable domains take units of others; 0: none",
            least=0,
            most=1,
        ),
        Setting("adopt_last", 5_000, "newest stories whose units may be adopted", least=0),
        Setting(
            "word_cut",
            0.03,
            "words that weigh no more in any stable domain are not validated",
            least=0,
        ),
        Setting("validate_last", 4000, "newest stories that a night validates by; 0: all", least=0),
        Setting(
            "wait",
            5.0,
            "seconds to wait for another process that is writing",
            environment="SEGAPSITH_LOCK_TIMEOUT",
            least=0,
        ),
        Setting(
            "http_timeout",
            20.0,
            "seconds that fetching one feed may take, all in all",
            least=0,
            excluded=0,
        ),
        Setting("allow_hosts", "", "HOST:PORT, … that may be read although they are not public"),
        Setting("inbox", "", "a directory whose entries each night ingests, in the order of names"),
        Setting("reports", "", "where the reports of the nights go; beside the store if not said"),
        Setting("backups", "", "where the backups of the nights go; beside the store if not said"),
        Setting("keep_reports", 30, "reports of nights that are kept", least=1),
        Setting("keep_daily", 7, "backups of the last nights that are kept", least=1),
        Setting("keep_weekly", 4, "weeks of which the last backup is kept besides", least=0),
        Setting("log_format", "text", "how messages are written", ("text", "json")),
        Setting("log_file", "", "a file that messages are added to as well"),
    )
}

ENGINE: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("inferred_occurrence", 1, "occurrences that an inferred word counts for", least=1),
        Setting(
            "activation_share", 0.5, "share of the best activation to compare", least=0, most=1
        ),
        Setting("activation_most", 20, "domains that are compared at most", least=1),
    )
}
"""What the engine takes by `--set` alone, beside the settings above that are its own."""

PRESETS: dict[str, dict[str, Value]] = {
    "default": {},
    "paper": {
        "threshold": 0.25,
        "domain_weight": "occurrence-significance",
        "min_weight": 0.0,
        "importance": "significance",
        "word_cut": 0.1,
        "narrow": 0.0,
        "adopt": 0.0,
        "segmenter": "segcohlex",
        "segmenter.cut_at": "cohesion",
        "segmenter.inferred_min_share": 0.75,
    },
}
"""Learning values by name; `paper` is algorithms.md, `default` what measures best here. A setting of
a plugin, with its kind before it, holds if the plugin is the preset's too."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Resolved values with their origins, and the settings of plugins."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    plugins: Mapping[str, Any] = field(default_factory=dict)
    """Settings for chosen plugins: `name` or `kind.name` to value."""

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def as_json(self) -> dict[str, dict[str, Any]]:
        shown = {
            name: {"value": self.values[name], "origin": self.origins[name]} for name in SETTINGS
        }
        for name, value in self.plugins.items():
            shown[f"set.{name}"] = {"value": value, "origin": self.origins[f"set.{name}"]}
        return shown


def resolve(
    flags: Mapping[str, Any] | None = None,
    plugin_flags: Mapping[str, Any] | None = None,
    *,
    file: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings that hold: from flags, the environment, the file, the preset, the defaults."""
    for name in flags or {}:
        if name not in SETTINGS:
            raise ConfigurationError(
                f"there is no setting {name!r}{did_you_mean(name, SETTINGS)}"
                "; `segapsith config` lists them"
            )
    environment = os.environ if environment is None else environment
    found, plugins, path = _from_file(file)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("flag", {k: v for k, v in (flags or {}).items() if v is not None}),
        ("environment", _from_environment(environment)),
        (f"file {path}", found),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    preset = next((layer["preset"] for _, layer in layers if "preset" in layer), "default")
    if preset not in PRESETS:
        raise ConfigurationError(f"preset={preset!r} should be one of {', '.join(PRESETS)}")
    layers.append((f"preset {preset}", PRESETS[preset]))
    for name, setting in SETTINGS.items():
        values[name], origins[name] = setting.default, "default"
        for origin, layer in layers:
            if name in layer:
                values[name], origins[name] = checked(setting, layer[name], origin), origin
                break
    merged: dict[str, Any] = {}
    own = {
        name: value
        for name, value in PRESETS[preset].items()
        if "." in name and origins[name.partition(".")[0]] == f"preset {preset}"
    }
    for origin, layer in (
        (f"preset {preset}", own),
        (f"file {path}", plugins),
        ("flag", plugin_flags or {}),
    ):
        for name, value in layer.items():
            merged[name] = value
            origins[f"set.{name}"] = origin
    return Settings(values, origins, merged)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: environment[setting.variable]
        for name, setting in SETTINGS.items()
        if environment.get(setting.variable)
    }


def _from_file(file: str | None) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Values, plugin settings and name of the configuration file, if there is one."""
    path = Path(file or FILE)
    if not os.path.isfile(path):  # nor in a directory that we may not look into
        if file is not None:
            raise ConfigurationError(f"there is no configuration file {file}")
        return {}, {}, ""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    plugins = content.pop("set", {})
    if not isinstance(plugins, dict):
        raise ConfigurationError(f"{path}: [set] should be a table of plugin settings")
    for name in content:
        if name not in SETTINGS:
            known = ", ".join(SETTINGS)
            raise ConfigurationError(
                f"{path}: there is no setting {name!r} (settings: {known})"
                f"{did_you_mean(name, SETTINGS)}"
            )
    flat = {}
    for name, value in plugins.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{inner}": v for inner, v in value.items()})
        else:
            flat[name] = value
    return content, flat, str(path)


def checked(setting: Setting, value: Any, origin: str) -> Value:
    """Return the value as the type of its default, or raise an error that names type and range.

    >>> checked(SETTINGS["threshold"], "0.3", "flag")
    0.3
    >>> checked(SETTINGS["threshold"], "abc", "flag")
    Traceback (most recent call last):
    segapsith.errors.SettingError: threshold='abc' (flag) should be a number from 0 to 1 (not 0)
    """
    wanted = type(setting.default)
    result: Value
    try:
        if wanted is bool:
            result = value if isinstance(value, bool) else _BOOLEANS[str(value).lower()]
        elif wanted is str:
            result = ", ".join(value) if isinstance(value, list) else value
            if not isinstance(result, str):
                raise TypeError
        else:
            if isinstance(value, bool):
                raise TypeError
            result = float(value) if wanted is float else _whole(value)
            if not setting.allows(result):
                raise ValueError
        if setting.choices and result not in setting.choices:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise SettingError(
            f"{setting.name}={value!r} ({origin}) should be {setting.expected}"
        ) from None
    return result


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else int(str(value))


def read_value(text: str) -> str | int | float | bool | None:
    """A value as it is typed: a number, true, false, none, or a text.

    >>> [read_value(t) for t in ("3", "0.5", "true", "ward", "none")]
    [3, 0.5, True, 'ward', None]
    """
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    if lowered in ("none", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
