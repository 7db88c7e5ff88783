"""Makes what the settings choose: plugins with their own settings, ready for work.

The settings say names; here they become objects, and a wrong name or setting is found before
anything is locked or read.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from segapsith.arrays import Labels, Rows
from segapsith.domains import topics as grouping
from segapsith.domains.index import PlacementSettings
from segapsith.engine.components import Components
from segapsith.engine.learning_settings import (
    LEARNED,
    TERMS_HASH,
    Change,
    LearningSettings,
    changes,
)
from segapsith.engine.runs import RunPlan
from segapsith.errors import ConfigurationError, SettingError, UsageError, did_you_mean
from segapsith.evaluation import clustering
from segapsith.intake.language import KNOWN, language_of
from segapsith.lexicon.multiword_terms import given_terms
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Document, Lexicon
from segapsith.plugin.contracts import Annotator
from segapsith.plugin.guards import GuardedAnnotator, PluginName
from segapsith.plugin.parallel import ParallelAnnotator
from segapsith.plugin.registry import OWN_PACKAGE, Registry, load_plugins
from segapsith.settings import (
    BUILT_IN_PLACEMENT,
    ENGINE,
    SETTINGS,
    TOPIC_CLUSTERER,
    TOPIC_SIMILARITY,
    Settings,
    Value,
    checked,
)

__all__ = ["Factory", "TopicMaking", "by_taker"]

_CHOSEN = {"annotator": "annotator", "segmenter": "segmenter", "placement": "similarity"}
"""The setting that chooses a plugin, and the kind of plugin it chooses."""


@dataclass(frozen=True, slots=True)
class TopicMaking:
    """How domains are grouped into topics: settings, and what makes measure and clusterer."""

    chosen: grouping.TopicSettings
    measure: Callable[[], Any]
    clusterer: Callable[[int], Any]
    """Takes the number of rows."""

    def group(self, domains: Any) -> grouping.Grouped:
        """The topics of some domains."""
        return grouping.group(domains, self.measure(), self.clusterer, self.chosen)


class Factory:
    """The plugins that are installed and the settings that choose among them."""

    def __init__(
        self, settings: Settings, registry: Registry | None = None, *, time_limits: bool = False
    ) -> None:
        self.settings = settings
        self._time_limits = time_limits
        self._registry = registry
        self._parallel: ParallelAnnotator | None = None

    def close(self) -> None:
        """Ends the processes that annotate."""
        if self._parallel is not None:
            self._parallel.close()
        self._parallel = None

    @property
    def loaded(self) -> Registry | None:
        """The plugins, if they were needed so far."""
        return self._registry

    @property
    def registry(self) -> Registry:
        """The plugins that are installed."""
        if self._registry is None:
            self._registry = load_plugins(time_limits=self._time_limits)
        return self._registry

    # -- reading and learning ----------------------------------------------------------------

    def learning(self) -> Components:
        """The chosen plugins, made with their settings."""
        values = self.settings
        own = self._plugin_settings()
        placing = self.placing(own.pop("engine"))
        name = str(values["placement"])
        measure = (
            None
            if name == BUILT_IN_PLACEMENT
            else self.registry.make("similarity", name, own.get("placement"))
        )
        if getattr(measure, "learned_rows_only", False):
            unfit = self.registry.having("similarity", "learned_rows_only")
            others = [n for n in self.registry.names("similarity") if n not in unfit]
            raise ConfigurationError(
                f"placement {name!r} compares only rows that it has learned, and each unit is new;"
                f" take one of {', '.join([BUILT_IN_PLACEMENT, *others])}, and keep it for"
                f" `segapsith cluster --similarity {name}`"
            )
        annotator = self._annotator(own.get("annotator") or {})
        return Components(
            annotator=annotator,
            segmenter=self.registry.make(
                "segmenter", str(values["segmenter"]), own.get("segmenter")
            ),
            placement=placing,
            importance=str(values["importance"]),
            measure=measure,
            measure_name=name,
            language=language_of(str(values["lang"])),
            learns_terms=bool(values["learn_terms"]),
            given_terms=_user_terms(str(values["terms"]), annotator),
            network=self.network(),
            window=int(values["window"]),
            retire_after=int(values["retire_after"]),
            retire_below=int(values["retire_below"]),
            follows=self.overruled is None,
        )

    @property
    def overruled(self) -> str | None:
        """What keeps the threshold from following a target of the store: one that was given, or
        another placement than eq7; None if nothing does."""
        if self.settings["placement"] != BUILT_IN_PLACEMENT:
            return f"placement={self.settings['placement']}"
        given = [
            name for name in ("threshold", "engine.threshold") if name in self.settings.plugins
        ]
        name = f"set.{given[-1]}" if given else "threshold"
        origin = self.settings.origins[name]
        if origin in ("default", "store") or origin.startswith("preset "):
            return None
        value = self.settings.plugins[given[-1]] if given else self.settings["threshold"]
        return f"threshold={value} ({origin})"

    def placing(self, own: Mapping[str, Any] | None = None) -> PlacementSettings:
        """How a unit finds its domain; `own` are settings that were given by `--set`."""
        values = self.settings.values
        chosen = {f.name: values[f.name] for f in fields(PlacementSettings) if f.name in values}
        if own is None:
            names = {f.name for f in fields(PlacementSettings)}
            given = {n.removeprefix("engine."): v for n, v in self.settings.plugins.items()}
            own = {n: v for n, v in given.items() if n in names}
        known = {**SETTINGS, **ENGINE}
        typed = {n: checked(known[n], v, self._origin(n)) for n, v in own.items()}
        try:
            return PlacementSettings(**{**chosen, **typed})
        except (TypeError, ValueError) as error:
            raise SettingError(f"placement: {error}") from error

    def _origin(self, name: str) -> str:
        """Return where a value that `--set` or `[set]` gives to the engine came from."""
        origins = self.settings.origins
        return origins.get(f"set.engine.{name}") or origins.get(f"set.{name}", "flag")

    def _annotator(self, settings: Mapping[str, Any]) -> Annotator:
        """The chosen annotator, in as many processes as were asked for."""
        name, workers = str(self.settings["annotator"]), int(self.settings["workers"])
        made: Annotator = self.registry.make("annotator", name, settings)
        if workers == 1:
            return made
        offer = self.registry.offer("annotator", name)
        self._parallel = ParallelAnnotator(name, settings, workers, offer.package == OWN_PACKAGE)
        return GuardedAnnotator(
            self._parallel,
            PluginName("annotator", name, offer.package),
            time_limits=self.registry.time_limits,
        )

    def _plugin_settings(self) -> dict[str, dict[str, Any]]:
        """`--set name=value` sorted by the chosen plugin that knows the name."""
        engine_names = {f.name for f in fields(PlacementSettings)}
        known: dict[str, set[str]] = {"engine": engine_names}
        for role, kind in _CHOSEN.items():
            if role == "placement" and self.settings["placement"] == BUILT_IN_PLACEMENT:
                continue
            known[role] = set(self.registry.settings(kind, str(self.settings[role])))
        return by_taker(self.settings.plugins, known)

    # -- what the store keeps of the settings ---------------------------------------------------

    def learning_settings(self) -> LearningSettings:
        """Return the settings that decide what is learned, as they are now."""
        given = self._plugin_settings()
        engine = given.pop("engine")
        placing = self.placing(engine)
        values = {name: self.settings[name] for name in LEARNED}
        values |= {name: getattr(placing, name) for name in engine if name in values}
        terms = str(values["terms"])
        values["terms"] = os.path.abspath(terms) if terms else ""
        values[TERMS_HASH] = hashlib.sha256(_read_terms(terms)).hexdigest() if terms else ""
        plugins = {f"{role}.{n}": v for role, own in given.items() for n, v in own.items()}
        plugins |= {f"engine.{n}": getattr(placing, n) for n in engine if n not in values}
        return LearningSettings(values, plugins)

    def changes(self, kept: LearningSettings) -> list[Change]:
        """Return what differs from the learning settings that a store keeps."""
        return changes(
            self.learning_settings(), kept, default=self._default, origin=self._origin_of
        )

    def _default(self, name: str) -> Value | None:
        """Return the value of a plugin's setting, `role.name`, that is not given."""
        role, _, inner = name.partition(".")
        if role == "engine":
            return ENGINE[inner].default
        known = self.registry.settings(_CHOSEN[role], str(self.settings[role]))
        value: Value | None = known[inner].default if inner in known else None
        return value

    def _origin_of(self, name: str) -> str:
        origins = self.settings.origins
        inner = name.rpartition(".")[2]
        for key in (f"set.{name}", f"set.{inner}", f"set.engine.{inner}", name):
            if key in origins:
                return origins[key]
        return "default"

    def plan(self, command: str = "ingest", *, name: str = "", input_key: str = "") -> RunPlan:
        """How the run log keeps what is about to be done."""
        return RunPlan(
            command,
            settings={**self.settings.values, "set": dict(self.settings.plugins), "store": ""},
            versions=self.versions(),
            name=name,
            input_key=input_key,
            batch=int(self.settings["batch_size"]),
        )

    def versions(self) -> dict[str, str]:
        """Versions of the program, of Python and of what the chosen plugins come from."""
        packages = {"segapsith", "numpy", "scipy"}
        for role, kind in _CHOSEN.items():
            offer = self.registry.offers.get((kind, str(self.settings[role])))
            if offer is not None and offer.version:
                packages.add(offer.package)
        return {"python": platform.python_version()} | {
            package: _version_of(package) for package in sorted(packages)
        }

    def network(self) -> NetworkSettings:
        """How the collocation network is made."""
        values = self.settings
        try:
            return NetworkSettings(
                window=int(values["network_window"]),
                normalizer=str(values["network_normalizer"]),
                min_count=int(values["network_min_count"]) or None,
                min_cohesion=float(values["network_min_cohesion"]) or None,
                most_links=int(values["network_links"]),
                kept_by=str(values["network_kept_by"]),
            )
        except ValueError as error:
            raise SettingError(f"network: {error}") from error

    # -- grouping ------------------------------------------------------------------------------

    def recomputing(
        self, clusterer: str, similarity: str | None, settings: Mapping[str, Any]
    ) -> Callable[[Rows, int, int], Labels]:
        """A clustering to be made later from rows, a number of clusters and a seed; names and
        settings are checked now."""

        def made(k: int, seed: int) -> tuple[Any, Any]:
            chosen = {"seed": seed, **settings}
            for_measure, for_clusterer = self.sorted_settings(similarity, clusterer, chosen)
            return (
                similarity and self.registry.make("similarity", similarity, for_measure),
                self.registry.make("clusterer", clusterer, {**for_clusterer, "k": k}),
            )

        def recompute(rows: Rows, k: int, seed: int) -> Labels:
            measure, grouping = made(max(1, k), seed)
            return clustering.cluster(rows, measure or None, grouping)

        made(1, 0)
        return recompute

    def topic_making(
        self, similarity: str, clusterer: str, settings: Mapping[str, Any], k: int | None
    ) -> TopicMaking:
        """How a similarity and a clusterer group domains; names and settings are checked."""
        known = ("power", "min_weight", "most")
        own: dict[str, Any] = {n: v for n, v in settings.items() if n in known}
        own.setdefault("min_weight", float(self.settings["min_weight"]))
        others = {n: v for n, v in settings.items() if n not in known}
        for_measure, for_clusterer = self.sorted_settings(similarity, clusterer, others)
        usual = (similarity, clusterer) == (TOPIC_SIMILARITY, TOPIC_CLUSTERER)
        cut = {n: v for n, v in for_clusterer.items() if n in grouping.CUT}
        if usual and for_clusterer.keys() <= cut.keys():  # no settings but a cut
            for_clusterer = {**grouping.CLUSTERING, **(cut or grouping.CUT)}
        if k is not None:
            for_clusterer = {n: v for n, v in for_clusterer.items() if n not in grouping.CUT}
        elif self.needs_number(clusterer, for_clusterer):
            raise UsageError(f"the clusterer {clusterer!r} must be told how many topics: -k N")
        heights = [float(v) for n, v in for_clusterer.items() if n in grouping.CUT]
        own["near"] = 1.0 - sum(heights) / len(heights) if heights else -1.0
        try:
            chosen = grouping.TopicSettings(**own)
        except (TypeError, ValueError) as error:
            raise SettingError(f"topics: {error}") from error

        def clusters(n_rows: int) -> Any:
            wanted = {} if k is None else {"k": max(1, min(k, n_rows))}
            return self.registry.make("clusterer", clusterer, {**for_clusterer, **wanted})

        def measure() -> Any:
            return self.registry.make("similarity", similarity, for_measure)

        clusters(1), measure()  # wrong settings are found before the lock is taken
        return TopicMaking(chosen, measure, clusters)

    def needs_number(self, clusterer: str, settings: Mapping[str, Any]) -> bool:
        """Whether a clusterer must be told how many clusters to make."""
        known = self.registry.settings("clusterer", clusterer)
        return "k" in known and known["k"].default is not None and "k" not in settings

    def sorted_settings(
        self, similarity: str | None, clusterer: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings by who knows them; a `seed` goes to whoever takes one."""
        known = {"clusterer": set(self.registry.settings("clusterer", clusterer))}
        if similarity is not None:
            known["similarity"] = set(self.registry.settings("similarity", similarity))
        seedless = not any("seed" in names for names in known.values())
        wanted = {n: v for n, v in settings.items() if not (n == "seed" and seedless)}
        sorted_out = by_taker(wanted, known)
        return sorted_out.get("similarity", {}), sorted_out["clusterer"]


def _version_of(package: str) -> str:
    """Return the version of an installed package, or raise an error that says what is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError as error:
        raise ConfigurationError(
            f"package {package} is not installed in {sys.prefix}, or this user may not read it there;"
            " install SEGAPSITH again, or let this user read that directory"
        ) from error


def _user_terms(path: str, annotator: Annotator) -> dict[str, set[tuple[str, ...]]]:
    """The terms of a user's file as sequences of lemmas; `lang:` may stand before a term."""
    if not path:
        return {}
    try:
        lines = _read_terms(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"terms: {path}: {error}") from error
    phrases = []
    for line in lines:
        lang, sign, phrase = line.partition(":")
        if sign and lang.strip() in KNOWN:
            phrases.append(Document(body=phrase.strip(), lang=lang.strip()))
        elif line.strip() and not line.startswith("#"):
            phrases += [Document(body=line.strip(), lang=lang) for lang in KNOWN]
    return given_terms(annotator.annotate(phrases, Lexicon()))


def _read_terms(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"terms: {path}: {error.strerror}; put the file there, or set `terms` to another one"
        ) from error


def by_taker(
    settings: Mapping[str, Any], known: Mapping[str, set[str]]
) -> dict[str, dict[str, Any]]:
    """Settings sorted by who knows their name; `role.name` means that role alone, and nobody here
    if what reads texts has no part in it."""
    sorted_out: dict[str, dict[str, Any]] = {role: {} for role in known}
    for name, value in settings.items():
        role, _, inner = name.rpartition(".")
        if role in ("annotator", "segmenter") and role not in known:
            continue
        takers = [r for r in known if role in ("", r) and inner in known[r]]
        if not takers:
            everything = sorted(n for names in known.values() for n in names)
            raise SettingError(
                f"no chosen plugin has a setting {name!r} (settings: {', '.join(everything)})"
                f"{did_you_mean(inner, everything)}"
            )
        for taker in takers:
            sorted_out[taker][inner] = value
    return sorted_out
