"""Declare every setting, by section: type, default, range and meaning in one place."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, cast

from segapsith.settings.values import Setting, Value

__all__ = [
    "ANNOTATOR",
    "BAG_SOURCE",
    "BUILT_IN_PLACEMENT",
    "CLUSTERER",
    "CLUSTERER_MEASURES",
    "ENGINE",
    "FLAT",
    "LABELLER",
    "LINKAGE",
    "PLAIN_SIMILARITY",
    "PRESETS",
    "SECTIONS",
    "SECTION_CLUSTERER",
    "SECTION_SIMILARITY",
    "SEGMENTER",
    "SERIAL",
    "SETTINGS",
    "TOPIC_CLUSTERER",
    "TOPIC_SIMILARITY",
    "HttpSection",
    "LabelsSection",
    "LoggingSection",
    "MaintenanceSection",
    "NetworkSection",
    "NightlySection",
    "ParallelSection",
    "PlacementSection",
    "ReadingSection",
    "StoreSection",
    "ValidationSection",
]

T = TypeVar("T", bound=Value)

# The core names plugins here and nowhere else.
ANNOTATOR, SEGMENTER = "simplemma", "cohesion"
BUILT_IN_PLACEMENT = "eq7"
"""The placement that the domain index computes; any other name is a similarity plugin."""
CLUSTERER_MEASURES = {"spherical-kmeans": "cosine"}
"""Clusterers that compare by a similarity without being given one."""

CLUSTERER = "entropy-kmeans"
"""The default clusterer of `cluster` and `validate`."""
LABELLER = "headlines"
"""The plugin that names domains, topics, sections and events."""
TOPIC_SIMILARITY, TOPIC_CLUSTERER = "gvsm-cov", "ahc"
"""The default similarity and clusterer of topics."""

SECTION_SIMILARITY, SECTION_CLUSTERER = "cosine", "spherical-kmeans"
"""The default similarity and clusterer of sections."""
SERIAL = "serial"
"""The executor that runs tasks in this process."""
BAG_SOURCE = "jsonl"
"""The source that reads pre-segmented units unless a format is given."""
LINKAGE, PLAIN_SIMILARITY = "ahc", "cosine"
"""The clusterer that `plugins check` scores a similarity with, and the similarity that it scores
a clusterer with."""


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What a field of a section declares beside its type and default."""

    about: str
    name: str = ""
    environment: str = ""
    least: float | None = None
    most: float | None = None
    excluded: float | None = None
    learned: bool = False
    before: Value | None = None
    pattern: str = ""
    example: str = ""


def _declare(default: T, about: str, **more: Any) -> T:
    """Return a dataclass field with a default and a declaration."""
    return field(default=default, metadata={"setting": _Declaration(about, **more)})


@dataclass(frozen=True, slots=True)
class StoreSection:
    """Where the store is and how it is written."""

    path: str = _declare("segapsith.db", "file that stores everything", name="store")
    wait: float = _declare(
        5.0,
        "seconds to wait for another process that is writing",
        environment="SEGAPSITH_LOCK_TIMEOUT",
        least=0,
    )
    batch_size: int = _declare(
        2000,
        "stories per transaction at most (32 pre-segmented units count as one)",
        least=1,
    )


@dataclass(frozen=True, slots=True)
class ReadingSection:
    """How documents are read and turned into units."""

    lang: str = _declare("auto", "language of the documents: the code of a language, or auto")
    annotator: str = _declare(ANNOTATOR, "annotator plugin: turns text into lemmas", learned=True)
    segmenter: str = _declare(
        SEGMENTER, "segmenter plugin: splits text into thematic units", learned=True
    )
    full_text: bool = _declare(
        False, "fetch the linked article of feed items that have only a summary"
    )
    learn_terms: bool = _declare(True, "learn multi-word terms from the stream", learned=True)
    terms: str = _declare(
        "",
        "file of multi-word terms, one per line; `fr:` before a term for French only",
        learned=True,
    )
    duplicate_window: int = _declare(
        100_000,
        "number of recent stories searched for near-duplicates (0: exact duplicates only)",
        least=0,
    )


@dataclass(frozen=True, slots=True)
class ParallelSection:
    """Where work is done that can be done apart."""

    workers: str = _declare(
        "1",
        "where tasks run: N or processes:N, auto, dask:N, dask:tcp://HOST:PORT, or the executor of"
        " a plugin",
        pattern=r"auto|[1-9]\d*|[a-z][\w-]*(:\S+)?",
        example="a number of at least 1, auto, processes:N, dask:N or dask:tcp://HOST:PORT",
    )


@dataclass(frozen=True, slots=True)
class PlacementSection:
    """How a unit is assigned to a domain."""

    measure: str = _declare(
        BUILT_IN_PLACEMENT,
        f"similarity that assigns units to domains: {BUILT_IN_PLACEMENT}, or a similarity plugin",
        name="placement",
        learned=True,
    )
    threshold: float = _declare(
        0.165,
        "minimum similarity to join a domain; a unit below it starts a new one",
        least=0,
        most=1,
        excluded=0,
        learned=True,
        before=0.17,
    )
    aging: float = _declare(
        0.3,
        "share of the similarity that a domain without recent stories loses (0 disables)",
        least=0,
        most=1,
        excluded=1,
        learned=True,
        before=0.0,
    )
    aging_stories: int = _declare(
        3000,
        "number of stories without a new unit after which a domain has lost that share",
        least=1,
        learned=True,
    )
    domain_weight: Literal["mean-unit-weight", "occurrence-significance"] = _declare(
        "mean-unit-weight", "how words of a domain are weighted", learned=True
    )
    min_weight: float = _declare(
        0.02,
        "ignore words of a domain below this weight in comparisons",
        least=0,
        most=1,
        excluded=1,
        learned=True,
    )
    count: Literal["units", "tokens"] = _declare(
        "units", "what counts as one occurrence of a word in a domain", learned=True
    )
    prefilter: Literal["none", "activation"] = _declare(
        "none", "domains to compare: all, or those that eq. 6 activates", learned=True
    )
    importance: Literal["rarity", "significance"] = _declare(
        "rarity", "how words of a unit are weighted", learned=True
    )
    event_threshold: float = _declare(
        0.3,
        "minimum score to join an event; a story below it starts a new one",
        least=0,
        most=1,
        excluded=0,
        learned=True,
    )
    event_quiet_days: int = _declare(
        14, "close an event that received no story for this number of days", least=1, learned=True
    )


@dataclass(frozen=True, slots=True)
class NetworkSection:
    """How the co-occurrence network is built."""

    window: int = _declare(
        20,
        "two words co-occur within this number of content words",
        name="network_window",
        least=2,
        learned=True,
    )
    normalizer: Literal["tight", "ferret"] = _declare(
        "tight",
        "maximum that cohesion is divided by: the largest possible value, or log2(N² (window - 1))",
        name="network_normalizer",
        learned=True,
    )
    min_count: int = _declare(
        0,
        "minimum number of co-occurrences of a link (0: derived from the corpus size)",
        name="network_min_count",
        least=0,
        learned=True,
    )
    min_cohesion: float = _declare(
        0.0,
        "minimum cohesion of a link (0: 0.2 with tight, 0.1 with ferret)",
        name="network_min_cohesion",
        least=0,
        most=1,
        learned=True,
    )
    links: int = _declare(
        500,
        "maximum number of links per word, strongest first (0: no limit)",
        name="network_links",
        least=0,
        learned=True,
    )
    kept_by: Literal["both", "either"] = _declare(
        "both",
        "whether a link must be among the strongest of both its words, or of either",
        name="network_kept_by",
        learned=True,
    )


@dataclass(frozen=True, slots=True)
class MaintenanceSection:
    """How domains are retired, merged, split and refined."""

    retire_after: int = _declare(
        50_000,
        "retire a small domain that received no unit from this number of stories (0: never)",
        least=0,
    )
    retire_below: int = _declare(15, "retire only domains with fewer units than this", least=0)
    stable: int = _declare(15, "minimum number of units of a stable domain", least=1)
    refine_passes: int = _declare(
        0, "passes that reassign every unit after an ingest and every night", name="refine", least=0
    )
    merge_similarity: float = _declare(
        0.25,
        "merge an inactive small domain into another at this similarity or above (0 disables)",
        least=0,
        most=1,
    )
    merge_stable_similarity: float = _declare(
        0.5,
        "merge two stable or growing domains at this similarity or above",
        least=0,
        most=1,
        excluded=0,
    )
    merge_after: int = _declare(
        1500, "a domain that received no unit from this number of stories is inactive", least=0
    )
    split_and_reassign: bool = _declare(True, "split broad domains and reassign units every night")
    split_similarity: float = _declare(
        0.25,
        "threshold that splits the units of a broad domain into parts (0 disables)",
        least=0,
        most=1,
    )
    reassign_similarity: float = _declare(
        0.2,
        "move a unit to the nearest stable domain at this similarity or above (0 disables)",
        least=0,
        most=1,
    )
    reassign_last: int = _declare(
        5_000, "reassign only units of this number of newest stories", least=0
    )


@dataclass(frozen=True, slots=True)
class ValidationSection:
    """What validations compare."""

    word_cut: float = _declare(
        0.03, "ignore words that are at or below this weight in every stable domain", least=0
    )
    last: int = _declare(
        4000,
        "number of newest stories that the nightly validation uses (0: all)",
        name="validate_last",
        least=0,
    )


@dataclass(frozen=True, slots=True)
class LabelsSection:
    """How domains, topics, sections and events are named."""

    labeller: str = _declare(
        LABELLER, "labeller plugin: names domains, topics, sections and events"
    )


@dataclass(frozen=True, slots=True)
class HttpSection:
    """How feeds and articles are fetched."""

    timeout: float = _declare(
        20.0,
        "maximum number of seconds to fetch one feed",
        name="http_timeout",
        least=0,
        most=3600,
        excluded=0,
    )
    allow_hosts: str = _declare(
        "", "hosts that may be fetched although they are not public: HOST:PORT, …"
    )


@dataclass(frozen=True, slots=True)
class NightlySection:
    """What a nightly run reads, writes and deletes."""

    inbox: str = _declare(
        "", "directory whose entries every nightly run ingests, in the order of names"
    )
    reports: str = _declare("", "directory of the nightly reports (default: beside the store)")
    backups: str = _declare("", "directory of the nightly backups (default: beside the store)")
    keep_reports: int = _declare(30, "number of nightly reports to retain", least=1)
    keep_daily: int = _declare(7, "number of daily backups to retain", least=1)
    keep_weekly: int = _declare(4, "number of weeks whose last backup is retained as well", least=0)


@dataclass(frozen=True, slots=True)
class LoggingSection:
    """How messages are written."""

    format: Literal["text", "json"] = _declare("text", "format of messages", name="log_format")
    file: str = _declare("", "file that messages are appended to as well", name="log_file")


SECTIONS: dict[str, type] = {
    "store": StoreSection,
    "reading": ReadingSection,
    "placement": PlacementSection,
    "network": NetworkSection,
    "maintenance": MaintenanceSection,
    "validation": ValidationSection,
    "labels": LabelsSection,
    "http": HttpSection,
    "nightly": NightlySection,
    "parallel": ParallelSection,
    "logging": LoggingSection,
}
"""Sections by the name of their table in a file and of their attribute of `Settings`."""


def _settings_of(section: str, kind: type) -> Iterator[Setting]:
    """Yield the settings that a section declares."""
    hints = typing.get_type_hints(kind)
    for entry in fields(kind):
        declared: _Declaration = entry.metadata["setting"]
        literal = typing.get_origin(hints[entry.name]) is Literal
        yield Setting(
            declared.name or entry.name,
            cast(Value, entry.default),
            declared.about,
            choices=typing.get_args(hints[entry.name]) if literal else (),
            environment=declared.environment,
            least=declared.least,
            most=declared.most,
            excluded=declared.excluded,
            learned=declared.learned,
            before=declared.before,
            pattern=declared.pattern,
            example=declared.example,
            section=section,
            key=entry.name,
        )


_PRESET = Setting("preset", "default", "set of learning values", ("default", "paper"))

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        _PRESET,
        *(one for section, kind in SECTIONS.items() for one in _settings_of(section, kind)),
    )
}
"""Every setting by its flat name."""

FLAT = {(setting.section, setting.key): name for name, setting in SETTINGS.items()}
"""Flat name of a setting by its section and its name there."""

ENGINE: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("inferred_occurrence", 1, "occurrences that an inferred word counts for", least=1),
        Setting(
            "activation_share",
            0.5,
            "compare domains that reach this share of the best activation",
            least=0,
            most=1,
        ),
        Setting("activation_most", 20, "maximum number of domains to compare", least=1),
    )
}
"""Settings of the engine that only `--set engine.NAME=VALUE` changes."""

PRESETS: dict[str, dict[str, Value]] = {
    "default": {},
    "paper": {
        "threshold": 0.25,
        "aging": 0.0,
        "domain_weight": "occurrence-significance",
        "min_weight": 0.0,
        "importance": "significance",
        "word_cut": 0.1,
        "split_similarity": 0.0,
        "reassign_similarity": 0.0,
        "segmenter": "segcohlex",
        "segmenter.cut_at": "cohesion",
        "segmenter.inferred_min_share": 0.75,
    },
}
"""Learning values by name: `paper` as published, `default` as measured best here. A setting of a
plugin, with its role before it, applies only if the plugin is the preset's too."""
