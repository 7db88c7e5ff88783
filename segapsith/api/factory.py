"""Compose what a command uses: make sources, annotator, segmenter and measure from settings.

A wrong name or setting is found here, before anything is locked or read.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from segapsith.domains.values import EventSettings, PlacementSettings
from segapsith.engine.components import Components, TextReader
from segapsith.engine.learning_settings import (
    LEARNED,
    TERMS_HASH,
    Change,
    LearningSettings,
    changes,
)
from segapsith.engine.runs import RunPlan
from segapsith.errors import ConfigurationError, SettingError, UnknownNameError
from segapsith.intake.documents import language_of
from segapsith.intake.language import KNOWN
from segapsith.languages import has_pack
from segapsith.lexicon.multiword_terms import given_terms
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Document, FeedState, Lexicon
from segapsith.parallel.choice import available_processors, parse_workers
from segapsith.parallel.plugins import check_installed, share_plugins
from segapsith.plugin.contracts import (
    Annotator,
    Executor,
    Source,
    compares_learned_rows_only,
    starts_early,
)
from segapsith.plugin.guards import (
    GuardedAnnotator,
    GuardedLabeller,
    GuardedSegmenter,
    GuardedSimilarity,
)
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.plugin.settings import PluginInUse, assign
from segapsith.settings import (
    BAG_SOURCE,
    BUILT_IN_PLACEMENT,
    ENGINE,
    SERIAL,
    SETTINGS,
    PluginValue,
    Settings,
    checked,
)

if TYPE_CHECKING:
    from segapsith.engine.worker_reading import ReadingPlugins
    from segapsith.evaluation.worker_clustering import ClusterRecipe
    from segapsith.io.inputs import Inputs, Live
    from segapsith.parallel.packing import Frozen

__all__ = ["Factory", "Fetcher"]

_KIND_OF = {"annotator": "annotator", "segmenter": "segmenter", "placement": "similarity"}
"""Kind of plugin by the role that a setting selects it for."""

_ENGINE_SETTINGS = tuple(f.name for f in fields(PlacementSettings))
"""What `--set engine.NAME=VALUE` accepts."""


class Fetcher(Protocol):
    """Fetches addresses for inputs, and the articles behind summaries if that is switched on."""

    def fetch(self, url: str) -> tuple[bytes, str, FeedState | None]: ...
    def full_text(self) -> Callable[[Document], Document] | None: ...


def _executor_of(registry: Registry, workers: str) -> Executor:
    """Make the executor that the setting `workers` selects."""
    name, rest = parse_workers(workers)
    try:
        made: Executor = registry.make("executor", name, {"workers": rest} if rest else {})
    except UnknownNameError as error:
        message = (
            f"workers={workers!r}: {error}; a Dask cluster at an address: dask:tcp://HOST:PORT"
        )
        raise UnknownNameError(message, setting="workers", plugin=name) from error
    except SettingError as error:
        if not isinstance(error.__cause__, ValueError):
            raise
        message = f"workers={workers!r}: {error.__cause__}"  # names the forms that are right
        raise SettingError(message, setting="workers", plugin=name) from error
    return made


class Factory:
    """The composition root: the installed plugins and the settings that select among them."""

    def __init__(
        self, settings: Settings, registry: Registry | None = None, *, time_limits: bool = False
    ) -> None:
        self.settings = settings
        self._time_limits = time_limits
        self._registry = registry
        self._built_in_labellers: Registry | None = None
        self._executor: Executor | None = None
        self._readers: Executor | None = None

    def close(self) -> None:
        """End the workers."""
        for executor in (self._executor, self._readers):
            if executor is not None:
                executor.close()
        self._executor = self._readers = None

    @property
    def loaded(self) -> Registry | None:
        """Return the plugins if they are loaded."""
        return self._registry

    @property
    def registry(self) -> Registry:
        """Return the installed plugins; load them at the first use."""
        if self._registry is None:
            self._registry = load_plugins(time_limits=self._time_limits)
        return self._registry

    # -- reading ---------------------------------------------------------------------------------

    def sources(self, format: str | None = None) -> dict[str, Source]:
        """Return the sources that recognise inputs: all, or the one of a format."""
        names = self.registry.names("source") if format is None else [format]
        return {name: self.registry.make("source", name) for name in names}

    def inputs(
        self,
        names: Sequence[str],
        *,
        format: str | None = None,
        bag: bool = False,
        fetcher: Fetcher | None = None,
        sources: Mapping[str, Source] | None = None,
        live: Live | None = None,
    ) -> Inputs:
        """Return the named inputs, ready to be read.

        `bag` accepts pre-segmented units only, as JSON lines unless a format is given. `sources`
        are those that the caller has made already. Addresses need a `fetcher`; `live` is for
        inputs that stay open.
        """
        from segapsith.io.inputs import Inputs

        if bag and format is None:
            format = BAG_SOURCE
        return Inputs(
            names,
            self.sources(format) if sources is None else sources,
            format,
            bag,
            None if fetcher is None else fetcher.fetch,
            None if fetcher is None else fetcher.full_text(),
            live,
        )

    def needs_fetcher(self, names: Sequence[str]) -> bool:
        """Return whether reading the named inputs may fetch something."""
        return self.settings.reading.full_text or any("://" in name for name in names)

    # -- learning --------------------------------------------------------------------------------

    def learning(self) -> Components:
        """Make the selected plugins with their settings."""
        settings, own = self.settings, self._plugin_settings()
        annotator = self.annotator()
        return Components(
            annotator=annotator,
            segmenter=self.segmenter(),
            reader=self._reader(),
            placement=self.placing(),
            events=EventSettings(
                settings.placement.event_threshold, settings.placement.event_quiet_days
            ),
            importance=settings.placement.importance,
            measure=self._measure(own.get("placement", {})),
            measure_name=settings.placement.measure,
            language=language_of(settings.reading.lang),
            learns_terms=settings.reading.learn_terms,
            given_terms=_user_terms(settings.reading.terms, annotator),
            network=self.network(),
            window=settings.reading.duplicate_window,
            retire_after=settings.maintenance.retire_after,
            retire_below=settings.maintenance.retire_below,
            follows=self.overruled is None,
        )

    def annotator(self) -> GuardedAnnotator:
        """Make the selected annotator."""
        own = self._plugin_settings()["annotator"]
        return self.registry.make("annotator", self.settings.reading.annotator, own)

    def segmenter(self) -> GuardedSegmenter:
        """Make the selected segmenter."""
        own = self._plugin_settings()["segmenter"]
        return self.registry.make("segmenter", self.settings.reading.segmenter, own)

    def _measure(self, own: Mapping[str, PluginValue]) -> GuardedSimilarity | None:
        """Make the similarity that assigns units; None for the built-in placement."""
        name = self.settings.placement.measure
        if name == BUILT_IN_PLACEMENT:
            return None
        measure = self.registry.make("similarity", name, own)
        if compares_learned_rows_only(measure):
            unfit = self.registry.having("similarity", compares_learned_rows_only)
            others = [n for n in self.registry.names("similarity") if n not in unfit]
            raise ConfigurationError(
                f"placement {name!r} compares only rows that it has learned, and each unit is new;"
                f" use one of {', '.join([BUILT_IN_PLACEMENT, *others])}; {name!r} is for"
                f" `segapsith cluster --similarity {name}`",
                setting="placement",
                plugin=name,
            )
        return measure

    # -- workers ---------------------------------------------------------------------------------

    @property
    def executor(self) -> Executor:
        """Return what runs tasks, by the setting `workers`; it is made once."""
        if self._executor is None:
            self._executor = _executor_of(self.registry, self.settings.parallel.workers)
        return self._executor

    def start_workers(self, task: str) -> None:
        """Let the workers start now, if there are any, for a task that comes soon."""
        if self._has_workers:
            executor = self.executor
            if starts_early(executor):
                executor.start(task)

    @property
    def _reading_executor(self) -> Executor:
        """Return what reads texts. With `auto` it leaves one processor to this process, which places
        what was read at the same time."""
        if self.settings.parallel.workers.strip() != "auto":
            return self.executor
        if self._readers is None:
            given = {"workers": str(max(1, available_processors() - 1))}
            self._readers = self.registry.make("executor", "processes", given)
        return self._readers

    def shared_plugins(self, *plugins: tuple[str, str | None]) -> dict[str, Frozen]:
        """Return what tasks make plugins from; `plugins` are the kinds and names that they make."""
        if self._has_workers:
            check_installed(
                self.registry, [(kind, name) for kind, name in plugins if name is not None]
            )
        return share_plugins(self.registry)

    @property
    def _has_workers(self) -> bool:
        return parse_workers(self.settings.parallel.workers)[0] != SERIAL

    def _reader(self) -> TextReader | None:
        """Return what reads texts in workers; None if they are read in this process."""
        if not self._has_workers:
            return None
        from segapsith.engine.worker_reading import WorkerReader

        return WorkerReader(self._reading_executor, self.reading_plugins())

    def reading_plugins(self) -> ReadingPlugins:
        """Return what workers make the annotator and the segmenter from."""
        from segapsith.engine.worker_reading import ReadingPlugins

        reading, own = self.settings.reading, self._plugin_settings()
        if self._has_workers:
            check_installed(
                self.registry, [("annotator", reading.annotator), ("segmenter", reading.segmenter)]
            )
        return ReadingPlugins(
            reading.annotator,
            own["annotator"],
            reading.segmenter,
            own["segmenter"],
            self.registry.only_own,
        )

    # -- placing ---------------------------------------------------------------------------------

    @property
    def overruled(self) -> str | None:
        """Return what prevents the threshold from following the store's target, or None.

        That is a threshold that was given, or a placement other than the built-in one.
        """
        placement = self.settings.placement
        if placement.measure != BUILT_IN_PLACEMENT:
            return f"placement={placement.measure}"
        key = self._engine_keys().get("threshold")
        origin = self.settings.origins["threshold" if key is None else f"set.{key}"]
        if origin in ("default", "store") or origin.startswith("preset "):
            return None
        value = placement.threshold if key is None else self.settings.plugins[key]
        return f"threshold={value} ({origin})"

    def placing(self) -> PlacementSettings:
        """Return how a unit is assigned to a domain, with what `--set` gives to the engine.

        This needs no plugin, so commands that only read a store load none.
        """
        placement, declared = self.settings.placement, {**SETTINGS, **ENGINE}
        values: dict[str, Any] = {
            "threshold": placement.threshold,
            "aging": placement.aging,
            "aging_stories": placement.aging_stories,
            "domain_weight": placement.domain_weight,
            "min_weight": placement.min_weight,
            "count": placement.count,
            "prefilter": placement.prefilter,
        }
        for name, key in self._engine_keys().items():
            origin = self.settings.origins[f"set.{key}"]
            values[name] = checked(declared[name], self.settings.plugins[key], origin)
        try:
            return PlacementSettings(**values)
        except (TypeError, ValueError) as error:
            raise SettingError(f"placement: {error}") from error

    def _engine_keys(self) -> dict[str, str]:
        """Return the key in `settings.plugins` of each setting that the engine is given."""
        named = {key: key.removeprefix("engine.") for key in self.settings.plugins}
        return {name: key for key, name in named.items() if name in _ENGINE_SETTINGS}

    def _assigned(self) -> dict[str, dict[str, str]]:
        """Return the keys in `settings.plugins` by role and name of the setting."""
        in_use = [PluginInUse("engine", "engine", _ENGINE_SETTINGS)]
        for role, name in self._selected().items():
            in_use.append(PluginInUse(role, name, self.registry.settings(_KIND_OF[role], name)))
        others = self._labeller_settings()
        given = {key: v for key, v in self.settings.plugins.items() if key not in others}
        return self._assign(given, in_use)

    def _selected(self) -> dict[str, str]:
        """Return the names of the selected plugins by role."""
        reading, measure = self.settings.reading, self.settings.placement.measure
        return {"annotator": reading.annotator, "segmenter": reading.segmenter} | (
            {} if measure == BUILT_IN_PLACEMENT else {"placement": measure}
        )

    def _assign(
        self, given: Mapping[str, Any], in_use: Sequence[PluginInUse]
    ) -> dict[str, dict[str, str]]:
        """Assign settings to plugins; a file, a preset or a store may name others as well."""
        origins = self.settings.origins
        optional = {key for key in given if origins.get(f"set.{key}", "flag") != "flag"}
        installed = {name for _, name in self.registry.offers} if given else set()
        return assign(given, in_use, optional=optional, installed=installed)

    def _plugin_settings(self) -> dict[str, dict[str, PluginValue]]:
        """Return the given settings of plugins by role."""
        given = self.settings.plugins
        return {
            role: {name: given[key] for name, key in keys.items()}
            for role, keys in self._assigned().items()
        }

    def labeller(self) -> tuple[GuardedLabeller, str]:
        """Make the selected labeller; return it with a text that identifies it and its settings."""
        name = self.settings.labels.labeller
        own = {key.partition(".")[2]: v for key, v in self._labeller_settings().items()}
        made: GuardedLabeller = self._labellers(name).make("labeller", name, own)
        return made, " ".join([name, *(f"{key}={value}" for key, value in sorted(own.items()))])

    def _labellers(self, name: str) -> Registry:
        """Return a registry with that labeller; for a built-in one no other plugin is loaded.

        Names of built-in plugins cannot be taken by others, so both registries make the same.
        """
        if self._registry is None:
            if self._built_in_labellers is None:
                self._built_in_labellers = load_plugins(
                    only_own=True, time_limits=self._time_limits, folder="labellers"
                )
            if name in self._built_in_labellers.names("labeller"):
                return self._built_in_labellers
        return self.registry

    def _labeller_settings(self) -> dict[str, PluginValue]:
        """Return what `--set labeller.NAME=VALUE` gives, or the labeller's name before the dot."""
        prefixes = ("labeller", self.settings.labels.labeller)
        given = self.settings.plugins.items()
        return {key: value for key, value in given if key.partition(".")[0] in prefixes}

    # -- what the store records of the settings --------------------------------------------------

    def learning_settings(self) -> LearningSettings:
        """Return the settings in force that decide what is learned."""
        given = self._plugin_settings()
        engine = given.pop("engine")
        placing, all_values = self.placing(), self.settings.values
        values: dict[str, Any] = {name: all_values[name] for name in LEARNED}
        values |= {name: getattr(placing, name) for name in engine if name in values}
        terms = self.settings.reading.terms
        values["terms"] = os.path.abspath(terms) if terms else ""
        values[TERMS_HASH] = hashlib.sha256(_read_terms(terms)).hexdigest() if terms else ""
        plugins = {f"{role}.{n}": v for role, own in given.items() for n, v in own.items()}
        plugins |= {f"engine.{n}": getattr(placing, n) for n in engine if n not in values}
        return LearningSettings(values, plugins)

    def changes(self, stored: LearningSettings) -> list[Change]:
        """Return the differences from the learning settings that a store records."""
        assigned, origins = self._assigned(), self.settings.origins

        def origin(name: str) -> str:
            role, _, inner = name.rpartition(".")
            key = assigned.get(role or "engine", {}).get(inner)
            return origins.get(name, "default") if key is None else origins[f"set.{key}"]

        return changes(self.learning_settings(), stored, default=self._default, origin=origin)

    def _default(self, name: str) -> PluginValue:
        """Return the default of a plugin's setting, `role.name`."""
        role, _, inner = name.partition(".")
        if role == "engine":
            return ENGINE[inner].default
        selected = self._selected()
        if role not in selected:
            return None
        parameters = self.registry.settings(_KIND_OF[role], selected[role])
        value: PluginValue = parameters[inner].default if inner in parameters else None
        return value

    def plan(self, command: str = "ingest", *, name: str = "", input_key: str = "") -> RunPlan:
        """Return what the run log records about a run that is about to start."""
        return RunPlan(
            command,
            settings={**self.settings.values, "set": dict(self.settings.plugins), "store": ""},
            versions=self.versions(),
            name=name,
            input_key=input_key,
            batch=self.settings.store.batch_size,
        )

    def versions(self) -> dict[str, str]:
        """Return the versions of the program, of Python and of the selected plugins' packages."""
        packages = {"segapsith", "numpy", "scipy"}
        for role, name in self._selected().items():
            offer = self.registry.find(_KIND_OF[role], name)
            if offer is not None and offer.version:
                packages.add(offer.package)
        return {"python": platform.python_version()} | {
            package: _version_of(package) for package in sorted(packages)
        }

    def network(self) -> NetworkSettings:
        """Return how the co-occurrence network is built."""
        network = self.settings.network
        try:
            return NetworkSettings(
                window=network.window,
                normalizer=network.normalizer,
                min_count=network.min_count or None,
                min_cohesion=network.min_cohesion or None,
                most_links=network.links,
                kept_by=network.kept_by,
            )
        except ValueError as error:
            raise SettingError(f"network: {error}") from error

    # -- grouping --------------------------------------------------------------------------------

    def recipe(
        self, clusterer: str, similarity: str | None, settings: Mapping[str, Any], seed: int = 0
    ) -> ClusterRecipe:
        """Return how rows are clustered; names and settings are checked now."""
        from segapsith.evaluation.worker_clustering import ClusterRecipe

        given = {"seed": seed, **settings}
        for_measure, for_clusterer = self.sorted_settings(similarity, clusterer, given)
        recipe = ClusterRecipe(clusterer, for_clusterer, similarity, for_measure)
        recipe.into(1).make(self.registry)
        return recipe

    def needs_number(self, clusterer: str, settings: Mapping[str, Any]) -> bool:
        """Return whether a clusterer must be given the number of clusters."""
        parameters = self.registry.settings("clusterer", clusterer)
        given = {"k", "clusterer.k", f"{clusterer}.k"} & settings.keys()
        return "k" in parameters and parameters["k"].default is not None and not given

    def in_use(self, similarity: str | None, clusterer: str) -> list[PluginInUse]:
        """Return a clusterer and, if there is one, a similarity with the names of their settings."""
        plugins = [("clusterer", clusterer)]
        if similarity is not None:
            plugins.append(("similarity", similarity))
        return [
            PluginInUse(kind, name, self.registry.settings(kind, name)) for kind, name in plugins
        ]

    def by_role(
        self, settings: Mapping[str, Any], plugins: Sequence[PluginInUse]
    ) -> dict[str, dict[str, Any]]:
        """Return the settings of each plugin by role; a bare `seed` goes to each that has one."""
        others = {key: value for key, value in settings.items() if key != "seed"}
        assigned = self._assign(others, plugins)
        own: dict[str, dict[str, Any]] = {}
        for plugin in plugins:
            has_seed = "seed" in settings and "seed" in plugin.settings
            own[plugin.role] = {"seed": settings["seed"]} if has_seed else {}
            own[plugin.role] |= {n: others[key] for n, key in assigned[plugin.role].items()}
        return own

    def sorted_settings(
        self, similarity: str | None, clusterer: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings of the similarity and those of the clusterer."""
        own = self.by_role(settings, self.in_use(similarity, clusterer))
        return own.get("similarity", {}), own["clusterer"]


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
    """Return the terms of a user's file as sequences of lemmas; a line may start with `lang:`."""
    if not path:
        return {}
    try:
        lines = _read_terms(path).decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"terms: {path}: {error}") from error
    phrases = []
    for line in lines:
        lang, sign, phrase = line.partition(":")
        if sign and has_pack(lang.strip()):
            phrases.append(Document(body=phrase.strip(), lang=lang.strip()))
        elif line.strip() and not line.startswith("#"):
            phrases += [Document(body=line.strip(), lang=lang) for lang in KNOWN]
    return given_terms(annotator.annotate(phrases, Lexicon()))


def _read_terms(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"terms: {path}: {error.strerror}; put the file there, or set `terms` to another one",
            setting="terms",
            path=path,
        ) from error
