"""Settings: flag beats environment beats file beats preset beats default, and each value says
where it came from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segapsith.errors import ConfigurationError, did_you_mean

__all__ = [
    "ANNOTATOR",
    "BUILT_IN_PLACEMENT",
    "CLUSTERER",
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


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set: its name, default, meaning, and other environment names."""

    name: str
    default: str | int | float | bool
    about: str
    choices: tuple[str, ...] = ()
    environment: str = ""

    @property
    def variable(self) -> str:
        return self.environment or PREFIX + self.name.upper()


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("store", "segapsith.db", "the file that everything is kept in"),
        Setting("preset", "default", "a set of learning values", ("default", "paper")),
        Setting("lang", "auto", "language of the documents: en, fr, or auto"),
        Setting("annotator", ANNOTATOR, "from text to lemmas"),
        Setting("segmenter", SEGMENTER, "from text to thematic units"),
        Setting(
            "placement",
            BUILT_IN_PLACEMENT,
            f"how a unit finds its domain: {BUILT_IN_PLACEMENT}, or any similarity",
        ),
        Setting("threshold", 0.17, "similarity from which a unit joins a domain"),
        Setting(
            "domain_weight",
            "mean-unit-weight",
            "weight of a word in a domain",
            ("mean-unit-weight", "occurrence-significance"),
        ),
        Setting("min_weight", 0.02, "words of a domain that weigh less are not compared"),
        Setting("count", "units", "what an occurrence is", ("units", "tokens")),
        Setting(
            "prefilter", "none", "compare all, or what eq. 6 activates", ("none", "activation")
        ),
        Setting("importance", "rarity", "what makes a word telling", ("rarity", "significance")),
        Setting("batch_size", 200, "items of one transaction; 32 ready units count as one item"),
        Setting("full_text", False, "follow the link of feed items that carry only a summary"),
        Setting("learn_terms", True, "learn multi-word terms from the stream"),
        Setting("terms", "", "a file of multi-word terms, one a line; `fr:` before it for French"),
        Setting("network_window", 20, "content words within which two words meet"),
        Setting(
            "network_normalizer",
            "tight",
            "what cohesion is a share of: the most possible, or log2(N² (window - 1))",
            ("tight", "ferret"),
        ),
        Setting("network_min_count", 0, "pairs that met less are no link; 0: by the corpus' size"),
        Setting("network_min_cohesion", 0.0, "pairs below are no link; 0: 0.2 tight, 0.1 ferret"),
        Setting("network_links", 500, "strongest links of a word that are kept; 0: all"),
        Setting(
            "network_kept_by",
            "both",
            "whether a link must be among the strongest of both its words or of either",
            ("both", "either"),
        ),
        Setting("window", 100_000, "stories that a text may repeat; 0: equal texts only"),
        Setting("workers", 1, "processes that annotate"),
        Setting("retire_after", 50_000, "stories after which a quiet domain retires; 0: never"),
        Setting("retire_below", 15, "units below which a quiet domain may be retired"),
        Setting("stable", 15, "units from which a domain is called stable"),
        Setting("refine", 0, "passes that place every unit again after an ingest and each night"),
        Setting(
            "consolidate", 0.25, "similarity from which a quiet small domain is merged; 0: none"
        ),
        Setting("consolidate_stable", 0.5, "similarity from which other domains are merged"),
        Setting("consolidate_after", 1500, "stories after which a small domain counts as quiet"),
        Setting("narrowing", True, "each night broad domains are split and units adopted"),
        Setting("narrow", 0.25, "similarity that the parts of a split domain need; 0: no split"),
        Setting("adopt", 0.2, "similarity from which stable domains take units of others; 0: none"),
        Setting("adopt_last", 5_000, "newest stories whose units may be adopted"),
        Setting(
            "word_cut", 0.03, "words that weigh no more in any stable domain are not validated"
        ),
        Setting("validate_last", 4000, "newest stories that a night validates by; 0: all"),
        Setting(
            "wait",
            5.0,
            "seconds to wait for another process that is writing",
            environment="SEGAPSITH_LOCK_TIMEOUT",
        ),
        Setting("http_timeout", 20.0, "seconds that fetching one feed may take, all in all"),
        Setting("allow_hosts", "", "HOST:PORT, … that may be read although they are not public"),
        Setting("inbox", "", "a directory whose entries each night ingests, in the order of names"),
        Setting("reports", "", "where the reports of the nights go; beside the store if not said"),
        Setting("backups", "", "where the backups of the nights go; beside the store if not said"),
        Setting("keep_reports", 30, "reports of nights that are kept"),
        Setting("keep_daily", 7, "backups of the last nights that are kept"),
        Setting("keep_weekly", 4, "weeks of which the last backup is kept besides"),
        Setting("log_format", "text", "how messages are written", ("text", "json")),
        Setting("log_file", "", "a file that messages are added to as well"),
    )
}

PRESETS: dict[str, dict[str, str | int | float | bool]] = {
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
                values[name], origins[name] = _checked(setting, layer[name], origin), origin
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


def _checked(setting: Setting, value: Any, origin: str) -> Any:
    """The value as the type of its default; an error says what was wanted."""
    wanted = type(setting.default)
    try:
        if wanted is bool and isinstance(value, str):
            value = {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        elif wanted is int and not isinstance(value, int):
            value = int(str(value))
        elif wanted is float:
            value = float(value)
        elif wanted is str and isinstance(value, list) and all(isinstance(v, str) for v in value):
            value = ", ".join(value)
        elif wanted is str and not isinstance(value, str):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(
            f"{setting.name}={value!r} ({origin}) should be a {wanted.__name__}"
        ) from None
    if setting.choices and value not in setting.choices:
        raise ConfigurationError(
            f"{setting.name}={value!r} ({origin}) should be one of {', '.join(setting.choices)}"
        )
    return value


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
