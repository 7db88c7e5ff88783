"""The program as Python sees it: `open` a store, or make a similarity, a clusterer, units.

The command line is built on this module, so the two cannot say different things.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version as version_of
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from segapsith import (
    adoption,
    clustering,
    consolidation,
    lineage,
    order,
    refinement,
    splitting,
    tuning,
)
from segapsith import topics as grouping
from segapsith.arrays import Labels, Rows, Views
from segapsith.catalogue import OWN_PACKAGE, Catalogue, load_plugins
from segapsith.contracts import Annotator
from segapsith.domains import DomainIndex, PlacementSettings
from segapsith.engine import Engine, Learning, Plan, RunSummary
from segapsith.errors import ConfigurationError, SettingError, UsageError, did_you_mean
from segapsith.language import KNOWN, language_of
from segapsith.model import Annotation, Document, Lexicon, Network, Reject, Snapshot
from segapsith.network import NetworkSettings
from segapsith.order import StreamUnit
from segapsith.parallel import ParallelAnnotator
from segapsith.proving import Prover
from segapsith.records import FeedState
from segapsith.reference_corpus import ReferenceReader
from segapsith.report import page
from segapsith.seam import CheckedAnnotator, Who
from segapsith.settings import Settings, resolve
from segapsith.stream_network import used_by
from segapsith.terms import given_terms
from segapsith.validation import LearnedUnits
from segapsith.views import make_views
from segapsith_store import Store, browse, networks, reporting
from segapsith_store import topics as kept_topics
from segapsith_store.explain import explain
from segapsith_store.verify import Verdict, verify
from segapsith_store.words import Words

__all__ = [
    "Delivery",
    "Segment",
    "Segmentation",
    "Wire",
    "clusterer",
    "open",
    "segment",
    "segmentation",
    "similarity",
]

_CHOSEN = {"annotator": "annotator", "segmenter": "segmenter", "placement": "similarity"}
"""The setting that chooses a plugin, and the kind of plugin it chooses."""


BUILD = "network build"
"""The command that reads a reference corpus, as the run log has it."""


@runtime_checkable
class Delivery(Protocol):
    """Items under a key: the same key after a kill is the same delivery, and goes on."""

    @property
    def key(self) -> str: ...
    def items(self) -> Iterator[Document | Reject | FeedState]: ...


class Wire:
    """A store with the engine that learns into it. Reading needs no lock; writing takes it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Settings | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.settings = settings or resolve(environment={})
        self._catalogue = catalogue
        self._writer: Store | None = None
        self._engine: Engine | None = None
        self._parallel: ParallelAnnotator | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the lock back."""
        if self._writer is not None:
            self._writer.close()
        if self._parallel is not None:
            self._parallel.close()
        self._writer = self._engine = self._parallel = None

    @property
    def catalogue(self) -> Catalogue:
        """The plugins that are installed."""
        if self._catalogue is None:
            self._catalogue = load_plugins()
        return self._catalogue

    # -- writing ---------------------------------------------------------------------------

    @property
    def writer(self) -> Store:
        """The store, locked for this process until `close`."""
        if self._writer is None:
            self._writer = Store.writing(self.path, float(self.settings["wait"]))
        return self._writer

    @property
    def engine(self) -> Engine:
        """The engine on the store, made with the present settings."""
        if self._engine is None:
            learning = self.learning()  # wrong settings are found before the lock is taken
            self._engine = Engine(self.writer, learning)
        return self._engine

    def learning(self) -> Learning:
        """The chosen plugins, made with their settings."""
        values = self.settings
        own = self._plugin_settings()
        placing = self.placing(own.pop("engine"))
        name = str(values["placement"])
        measure = (
            None if name == "eq7" else self.catalogue.make("similarity", name, own.get("placement"))
        )
        if getattr(measure, "learned_rows_only", False):
            raise ConfigurationError(
                f"placement {name!r} compares only rows that it has learned, and each unit is new;"
                " take eq7, cosine, chi-sim, gvsm-cov or lsa, and keep it for"
                f" `segapsith cluster --similarity {name}`"
            )
        annotator = self._annotator(own.get("annotator") or {})
        return Learning(
            annotator=annotator,
            segmenter=self.catalogue.make(
                "segmenter", str(values["segmenter"]), own.get("segmenter")
            ),
            placement=placing,
            importance=str(values["importance"]),
            measure=measure,
            measure_name=name,
            language=language_of(str(values["lang"])),
            learns_terms=bool(values["learn_terms"]),
            given_terms=_user_terms(str(values["terms"]), annotator),
            network=_network_settings(values),
            window=_at_least_0("window", values["window"]),
            retire_after=_at_least_0("retire_after", values["retire_after"]),
            retire_below=_at_least_0("retire_below", values["retire_below"]),
        )

    def placing(self, own: Mapping[str, Any] | None = None) -> PlacementSettings:
        """How a unit finds its domain; `own` are settings that were given by `--set`."""
        values = self.settings.values
        chosen = {f.name: values[f.name] for f in fields(PlacementSettings) if f.name in values}
        if own is None:
            own = {n: v for n, v in self.settings.plugins.items() if n in chosen}
        try:
            return PlacementSettings(**{**chosen, **own})
        except (TypeError, ValueError) as error:
            raise SettingError(f"placement: {error}") from error

    def _annotator(self, settings: Mapping[str, Any]) -> Annotator:
        """The chosen annotator, in as many processes as were asked for."""
        name, workers = str(self.settings["annotator"]), int(self.settings["workers"])
        if workers < 1:
            raise SettingError(f"workers={workers} should be >= 1")
        made: Annotator = self.catalogue.make("annotator", name, settings)
        if workers == 1:
            return made
        offer = self.catalogue.offer("annotator", name)
        self._parallel = ParallelAnnotator(name, settings, workers, offer.package == OWN_PACKAGE)
        return CheckedAnnotator(self._parallel, Who("annotator", name, offer.package))

    def _plugin_settings(self) -> dict[str, dict[str, Any]]:
        """`--set name=value` sorted by the chosen plugin that knows the name."""
        engine_names = {f.name for f in fields(PlacementSettings)}
        known: dict[str, set[str]] = {"engine": engine_names}
        for role, kind in _CHOSEN.items():
            if role == "placement" and self.settings["placement"] == "eq7":
                continue
            known[role] = set(self.catalogue.settings(kind, str(self.settings[role])))
        return _by_taker(self.settings.plugins, known)

    def plan(self, command: str = "ingest", *, name: str = "", input_key: str = "") -> Plan:
        """How the run log keeps what is about to be done."""
        return Plan(
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
            offer = self.catalogue.offers.get((kind, str(self.settings[role])))
            if offer is not None and offer.version:
                packages.add(offer.package)
        return {"python": platform.python_version()} | {p: version_of(p) for p in sorted(packages)}

    def ingest(
        self,
        documents: Iterable[Document | Reject | Mapping[str, Any]] | Delivery,
        *,
        name: str = "",
        dry_run: bool = False,
        watch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learns from documents, or from dicts with `text` and, as they have them, `id title date
        lang source`."""
        items, key = (
            (documents.items(), documents.key)
            if isinstance(documents, Delivery)
            else (map(_document, documents), "")
        )
        if dry_run:
            return self.engine.preview(items)
        return self.engine.ingest(items, self.plan(name=name, input_key=key), watch)

    def learn(self, units: Iterable[Mapping[str, Any]], *, name: str = "") -> RunSummary:
        """Learns from units that were made elsewhere: `id`, `date`, `words` (word to count)."""
        return self.engine.ingest(map(_ready_unit, units), self.plan("learn", name=name))

    def build_network(
        self,
        documents: Iterable[Document | Reject | Mapping[str, Any]] | Delivery,
        watch: Callable[[int, int], None] | None = None,
    ) -> dict[str, Any]:
        """Reads a reference corpus: it counts for the network, and for nothing else.

        A delivery that was read before is refused. Undoing the run takes the corpus out.
        """
        items, key = (
            (documents.items(), documents.key)
            if isinstance(documents, Delivery)
            else (map(_document, documents), "")
        )
        earlier = self.read_corpus(key) if key else None
        if earlier is not None:
            raise UsageError(
                f"this corpus is in the network already (run {earlier}); to read it again, undo"
                f" that run first"
            )
        began = time.monotonic()
        learning, knowledge = self.learning(), self.engine.knowledge
        plan = self.plan(BUILD, input_key=key)
        first = len(knowledge.vocabulary)
        run = self.writer.begin_run(
            BUILD, settings=plan.settings, versions=plan.versions, input_key=key
        )
        reader = ReferenceReader(self.writer, run, knowledge, learning.annotator, learning.language)
        try:
            self.writer.drop_unnamed_pairs()
            found = reader.read(items, watch)
            self.writer.save_reference(
                knowledge.vocabulary.since(first), found, {"pair_window": knowledge.pair_window}
            )
        except BaseException:
            self.writer.finish_run(run, "failed")
            self.writer.drop_unnamed_pairs()
            raise
        finally:
            self._engine = None  # what it holds is not what the store holds now
        result = {
            "run": run,
            "documents": sum(one.documents for one in found),
            "words": sum(one.tokens for one in found),
            "languages": {one.lang: one.tokens for one in found},
            "rejected": reader.rejected,
            "seconds": round(time.monotonic() - began, 3),
        }
        self.writer.finish_run(run, "done", result)
        return result

    def read_corpus(self, key: str) -> int | None:
        """The run that read a reference corpus under this key, if one did and still counts."""
        found = self.writer.row(
            "SELECT max(id) FROM runs WHERE command = ? AND input = ? AND status = 'done'",
            [BUILD, key],
        )
        return found[0] if found else None

    def forget(self, uid: str) -> dict[str, Any]:
        """Takes a document out exactly."""
        return self.engine.forget(uid, self.plan("forget"))

    def undo(self, run: int | None = None) -> dict[str, Any]:
        """Takes the last run back."""
        return self.engine.undo(run, self.versions())

    # -- the life of domains ---------------------------------------------------------------

    def change(self, command: str, *changes: lineage.Change, **noted: Any) -> list[dict[str, Any]]:
        """Does something to domains in one run of its own; `noted` goes into the run log."""
        return self.engine.change(changes, Plan(command, noted, self.versions()))

    def rename(self, domain: int, label: str) -> dict[str, Any]:
        """Gives a domain a name that stays; an empty one lets its best words name it again."""
        change = lineage.Rename(domain, label)
        return self.change("rename", change, domain=domain, label=label)[0]

    def merge(self, domains: Iterable[int], into: int | None = None) -> dict[str, Any]:
        """Makes one domain of several: the oldest of them unless another is chosen."""
        numbers = tuple(domains)
        return self.change("merge", lineage.Merge(numbers, into), domains=numbers, into=into)[0]

    def consolidate(
        self,
        *,
        similarity: float | None = None,
        after: int | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merges domains that are nearly the same, in one run; without any there is no run.

        Small domains that took nothing from the last `after` stories join others from
        `similarity` on; those that still grow or are stable, from `consolidate_stable` on. Locked
        and retired ones stay, and two that people named. `dry_run` only says what would be merged.
        """
        least = float(self.settings["consolidate"]) if similarity is None else similarity
        quiet = int(self.settings["consolidate_after"]) if after is None else after
        try:
            chosen = consolidation.Consolidating(
                least, float(self.settings["consolidate_stable"]), int(self.settings["stable"])
            )
        except ValueError as error:
            raise SettingError(f"consolidate: {error}") from error
        if not dry_run:
            self.engine.knowledge  # noqa: B018  the lock, and settings that do not fit the store
        found = self.read(lambda store: self._near_identical(store, chosen, quiet))
        joined: list[consolidation.Joined] = found["joined"]
        done: list[dict[str, Any]] = []
        if joined and not dry_run:
            merges = [lineage.Merge(group.domains, group.into) for group in joined]
            done = self.change("consolidate", *merges, **asdict(chosen), after=quiet)
        return {
            "run": done[0]["run"] if done else None,
            "domains": found["domains"],
            "merged": sum(len(group.taken) for group in joined),
            "merges": [
                {
                    "domain": group.into,
                    "label": found["labels"][group.into],
                    "merged": [{"id": d, "label": found["labels"][d]} for d in group.taken],
                    "similarity": round(group.similarity, 6),
                }
                for group in joined
            ],
        }

    def _near_identical(
        self, store: Store, chosen: consolidation.Consolidating, quiet: int
    ) -> dict[str, Any]:
        """The open domains of a store that would be one, and the labels of all."""
        index = self._index(store)
        rows = [
            (int(number), str(label), int(named), int(locked), int(grown))
            for number, label, named, locked, grown in store.rows(
                "SELECT id, label, named, locked, grown FROM domains"
                " WHERE status = 'open' AND units > 0 ORDER BY id"
            )
        ]
        still = int(store.facts().get("counter_ordinal", 0)) - quiet
        return {
            "domains": len(rows),
            "labels": {row[0]: row[1] for row in rows},
            "joined": consolidation.consolidate(
                index,
                chosen,
                named=[row[0] for row in rows if row[2]],
                apart=[row[0] for row in rows if row[3]],
                growing=[row[0] for row in rows if row[4] > still],
            ),
        }

    def narrow(self, *, threshold: float | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Splits the domains that are several subjects, in one run; without any there is no run.

        A domain is split if its units, learned again among themselves from `threshold` on, give
        two stable domains or more. Locked, named and retired ones stay, and those that took
        nothing from the last `consolidate_after` stories.
        """
        wanted = float(self.settings["narrow"]) if threshold is None else threshold
        stable, quiet = int(self.settings["stable"]), int(self.settings["consolidate_after"])
        self._only_by_eq7("narrowing")
        try:
            chosen = splitting.Splitting(
                wanted, float(self.settings["adopt"]) or self.placing().threshold, stable
            )
        except ValueError as error:
            raise SettingError(f"narrow: {error}") from error
        if not dry_run:
            self.engine.knowledge  # noqa: B018  the lock, and settings that do not fit the store

        def broad(store: Store) -> tuple[int, list[tuple[str, lineage.Split]]]:
            index, found = self._index(store), []
            still = int(store.facts().get("counter_ordinal", 0)) - quiet
            for row in store.domains(
                "status = 'open' AND units >= ? AND grown > ? AND NOT (locked OR named)",
                [2 * stable, still],
            ):
                units = list(store.units_where("a.domain = ?", [row.id]))
                groups = splitting.parts(index, [unit.bag for unit in units], chosen)
                if groups:
                    apart = tuple(tuple(units[place].id for place in group) for group in groups)
                    found.append((row.label, lineage.Split(row.id, apart)))
            return len(list(index)), found

        n_domains, found = self.read(broad)
        done: list[dict[str, Any]] = []
        if found and not dry_run:
            noted = {**asdict(chosen), "after": quiet}
            done = self.change("narrow", *(split for _, split in found), **noted)
        return {
            "run": done[0]["run"] if done else None,
            "domains": n_domains,
            "split": len(found),
            "splits": [
                {
                    "domain": split.domain,
                    "label": label,
                    "units": sum(map(len, split.parts)),
                    "parts": sorted((len(part) for part in split.parts), reverse=True),
                }
                for label, split in found
            ],
        }

    def adopt(self, *, similarity: float | None = None) -> dict[str, Any]:
        """Moves units to the nearest stable domain from `similarity` on; all in one run, and if
        none moves there is no run.

        Units of the last `adopt_last` stories; those of locked, named and retired domains stay, and
        those of small ones that took something from the last `consolidate_after` stories if they
        are nearer.
        """
        self._only_by_eq7("adopting")
        least = float(self.settings["adopt"]) if similarity is None else similarity
        try:
            chosen = adoption.Adopting(least, int(self.settings["stable"]))
        except ValueError as error:
            raise SettingError(f"adopt: {error}") from error
        last, quiet = int(self.settings["adopt_last"]), int(self.settings["consolidate_after"])
        self.engine.knowledge  # noqa: B018  the lock, and settings that do not fit the store
        store = self.writer
        ordinal = int(store.facts().get("counter_ordinal", 0))
        units = list(store.units_where("a.unit IS NOT NULL AND d.ordinal > ?", [ordinal - last]))
        rows = list(store.domains("status = 'open' AND units > 0"))
        places = adoption.adopt(
            self._index(store),
            {unit.id: unit.bag for unit in units},
            {unit.id: unit.assignment.domain for unit in units if unit.assignment is not None},
            chosen,
            staying={row.id for row in rows if row.locked or row.named},
            growing={row.id for row in rows if row.grown > ordinal - quiet},
        )
        if not places:
            return {"run": None, "moved": 0}
        noted = {**asdict(chosen), "last": last, "after": quiet}
        return self.change("adopt", lineage.Move(places), **noted)[0]

    def _only_by_eq7(self, what: str) -> None:
        if self.settings["placement"] != "eq7":
            raise UsageError(
                f"{what} places by eq7, and placement is {self.settings['placement']!r}"
            )

    def refine(self, passes: int) -> dict[str, Any]:
        """Places every unit again, with the domains frozen in each pass; all in one run.

        Units of domains that are locked, named by people or retired stay. If none moves there is
        no run.
        """
        if passes < 1:
            raise UsageError(f"refine={passes} should be >= 1")
        self._only_by_eq7("refining")
        self.engine.knowledge  # noqa: B018  the lock, and settings that do not fit the store
        store = self.writer
        staying = {row.id for row in store.domains("locked OR named")}
        places = refinement.refine(
            self._index(store), lambda: store.units_where("a.unit IS NOT NULL"), passes, staying
        )
        if not places:
            return {"run": None, "moved": 0}
        return self.change("refine", lineage.Move(places), passes=passes)[0]

    def split(
        self,
        domain: int,
        units: Iterable[int] | None = None,
        *,
        parts: int = 2,
        clusterer: str = "entropy-kmeans",
        similarity: str | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Makes several domains of one: the given units apart, or as a clusterer parts them."""
        members = self.read(lambda store: browse.learned_units(store, domain=domain))
        if units is not None:
            apart = frozenset(units)
            rest = tuple(u for u in members.units.tolist() if u not in apart)
            groups: tuple[tuple[int, ...], ...] = (tuple(sorted(apart)), rest)
        else:
            labels = self._parted(members.counts, parts, clusterer, similarity, settings, seed)
            groups = tuple(
                tuple(members.units[labels == label].tolist()) for label in np.unique(labels)
            )
        noted = {"parts": parts, "clusterer": None if units is not None else clusterer}
        return self.change("split", lineage.Split(domain, groups), domain=domain, **noted)[0]

    def _parted(
        self,
        rows: Rows,
        parts: int,
        clusterer: str,
        similarity: str | None,
        settings: Mapping[str, Any] | None,
        seed: int,
    ) -> Labels:
        chosen = {"seed": seed, **(settings or {})}
        for_measure, for_clusterer = self._sorted_settings(similarity, clusterer, chosen)
        if "k" in self.catalogue.settings("clusterer", clusterer):
            for_clusterer["k"] = max(1, min(parts, rows.shape[0]))
        grouping = self.catalogue.make("clusterer", clusterer, for_clusterer)
        measure = similarity and self.catalogue.make("similarity", similarity, for_measure)
        if rows.shape[0] == 0:
            return np.zeros(0, dtype=np.int64)
        weighted = clustering.weighted(rows, None, similarity)
        return clustering.cluster(weighted, measure or None, grouping)

    def retire(self, domains: Iterable[int]) -> dict[str, Any]:
        """Closes domains: they keep their units and words and take no more."""
        numbers = tuple(domains)
        return self.change("retire", lineage.Retire(numbers), domains=numbers)[0]

    def reopen(self, domains: Iterable[int]) -> dict[str, Any]:
        """Lets retired domains take units again."""
        numbers = tuple(domains)
        return self.change("reopen", lineage.Retire(numbers, back=True), domains=numbers)[0]

    def lock(self, domains: Iterable[int], locked: bool = True) -> dict[str, Any]:
        """Keeps domains from being merged, split or retired, or permits it again."""
        numbers = tuple(domains)
        command = "lock" if locked else "unlock"
        return self.change(command, lineage.Lock(numbers, locked), domains=numbers)[0]

    # -- reading ---------------------------------------------------------------------------

    def _read(self) -> Store:
        """The store for reading: our own if we are writing, else one that is never in the way."""
        return self._writer if self._writer is not None else Store.reading(self.path)

    def read(self, question: Callable[[Store], Any]) -> Any:
        """The answer to a question, from a store that is closed again."""
        if self._writer is None and self.path == ":memory:":
            return question(self.writer)
        store = self._read()
        try:
            return question(store)
        finally:
            if store is not self._writer:
                store.close()

    def domains(self, **choice: Any) -> list[dict[str, Any]]:
        """Domains with their words, largest first: `min_units top since limit lang as_of`."""
        found: list[dict[str, Any]] = self.read(lambda store: browse.domains(store, **choice))
        return found

    def forgotten_since(self, as_of: str | int) -> int:
        """Documents that are missing from the domains as of a moment: they were forgotten since."""
        return int(self.read(lambda store: browse.forgotten_since(store, as_of)))

    def show(self, domain: int, **choice: Any) -> dict[str, Any]:
        """One domain in full."""
        found: dict[str, Any] = self.read(lambda store: browse.domain(store, domain, **choice))
        return found

    def explain(self, unit: int) -> dict[str, Any]:
        """Why a unit is in its domain: shared words, the ratios of eq. 7, the runner-up."""
        placing = self.placing()
        found: dict[str, Any] = self.read(lambda store: explain(store, unit, placing))
        return found

    def classify(
        self, text: str, *, title: str = "", top: int = 3, lang: str | None = None
    ) -> dict[str, Any]:
        """Which domains a text belongs to, unit by unit; nothing is learned or locked."""
        learning = self.learning()
        document = Document(title=title, body=text, lang=lang)
        if lang is not None:
            learning = replace(learning, language=language_of(lang))
        found: dict[str, Any] = self.read(
            lambda store: Engine(store, learning).classify(
                document, top, kept_topics.members(store)
            )
        )
        return found

    def tune(
        self,
        *,
        target_new_rate: float | None = None,
        target_singletons: float | None = None,
        afresh: bool = False,
        lang: str | None = None,
        sample: int | None = 10_000,
        watch: Callable[[tuning.Trial], None] | None = None,
    ) -> dict[str, Any]:
        """The threshold that is foreseen to reach a target on the next stretch of the stream.

        The last `sample` units are replayed in memory, in their order, for several thresholds:
        `curve`. The store is thought to go on as it is, or `afresh` to be learned anew.
        """
        if (target_new_rate is None) == (target_singletons is None):
            raise UsageError("tune for one target: a rate of new domains, or a share of singletons")
        if self.settings["placement"] != "eq7":
            raise UsageError(f"tune replays eq7, and placement is {self.settings['placement']!r}")
        aim, target = (
            ("next_new_rate", target_new_rate)
            if target_singletons is None
            else ("next_singletons", target_singletons)
        )
        assert target is not None
        world = self.read(lambda store: self._world(store, afresh, lang, sample))
        best, trials = tuning.search(world, target, aim, watch)
        return {
            "target": {aim.removeprefix("next_"): target},
            "threshold": best.threshold,
            "foreseen": round(float(getattr(best, aim)), 6),
            "present": self.placing().threshold,
            "afresh": afresh,
            "lang": lang,
            "curve": [trial.as_json() for trial in trials],
            "line": f"threshold = {best.threshold}",
        }

    def _world(
        self, store: Store, afresh: bool, lang: str | None, sample: int | None
    ) -> tuning.World:
        """The stored stream, as it is tried with thresholds."""
        placing, stream = self.placing(), browse.stream(store, lang, sample)
        if afresh:
            return tuning.Afresh(stream.bags, placing, stream.significance)
        index = self._index(store, lang)
        places = [d if d in index else 0 for d in stream.domains]
        return tuning.Onward(index, stream.bags, places, stream.n_units, stream.significance)

    def _index(self, store: Store, lang: str | None = None) -> DomainIndex:
        """The open domains of a store, to be tried with."""
        index, significance = DomainIndex(self.placing()), Words(store).significance
        if significance is not None:
            index.learn_significance(significance)
        chosen, values = ("", []) if lang is None else (" AND lang = ?", [lang])
        for row in store.domains(f"status = 'open' AND units > 0{chosen}", values):
            index.restore(row.id, row.sums)
        return index

    def status(self) -> dict[str, Any]:
        """Counts, digest and last run."""
        found: dict[str, Any] = self.read(browse.status)
        return found

    def verify(self) -> Verdict:
        """Every sum and count computed again."""
        found: Verdict = self.read(verify)
        return found

    def network(self, lang: str) -> Network:
        """The collocation network of a language, as texts are read with it now."""
        found: Network = self.read(
            lambda store: networks.network(store, lang, _network_settings(self.settings))
        )
        return found

    def network_status(self) -> dict[str, Any]:
        """Words, links and pairs of the network, and what they were made with."""
        found: dict[str, Any] = self.read(
            lambda store: networks.status(store, _network_settings(self.settings))
        )
        return found

    def neighbours(self, word: str, lang: str | None = None, top: int = 20) -> dict[str, Any]:
        """The words that keep a word company, the closest first."""
        found: dict[str, Any] = self.read(
            lambda store: networks.near(store, word, lang, top, _network_settings(self.settings))
        )
        return found

    def search(self, words: str, limit: int = 20) -> dict[str, Any]:
        """Documents and domains that have all the words."""
        found: dict[str, Any] = self.read(lambda store: browse.search(store, words, limit))
        return found

    def runs(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The run log, newest first."""
        found: list[dict[str, Any]] = self.read(lambda store: browse.runs(store, limit))
        return found

    # -- proving ---------------------------------------------------------------------------

    def validate(self, **choice: Any) -> dict[str, Any]:
        """Stable domains against a clustering that is recomputed from the same units.

        `clusterer`, `similarity` (names, or lists of them), `clusterer_settings`, `min_units`, `k`
        (a number, or several for a curve), `word_cut`, `stability`, `seed`, `lang`.
        """
        return Prover(self).validate(**choice)

    def validations(
        self, lang: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The validations so far, oldest first."""
        return Prover(self).history(lang, limit)

    def drift(self, **choice: Any) -> dict[str, Any]:
        """Night against night: `since`, `until` (runs or dates), `min_units`, `seed`."""
        return Prover(self).drift(**choice)

    def curve(self, **choice: Any) -> dict[str, Any]:
        """Kappa against the share of units in stable domains, over learning thresholds."""
        return Prover(self).curve(**choice)

    def compare(self, left: str | int, right: str | int, **choice: Any) -> dict[str, Any]:
        """Two runs, nights, stores or labelled files: `label_field`, `min_units`, `seed`."""
        return Prover(self).compare(left, right, **choice)

    def recomputing(
        self, clusterer: str, similarity: str | None, settings: Mapping[str, Any]
    ) -> Callable[[Rows, int, int], Labels]:
        """A clustering to be made later from rows, a number of clusters and a seed; names and
        settings are checked now."""

        def made(k: int, seed: int) -> tuple[Any, Any]:
            chosen = {"seed": seed, **settings}
            for_measure, for_clusterer = self._sorted_settings(similarity, clusterer, chosen)
            return (
                similarity and self.catalogue.make("similarity", similarity, for_measure),
                self.catalogue.make("clusterer", clusterer, {**for_clusterer, "k": k}),
            )

        def recompute(rows: Rows, k: int, seed: int) -> Labels:
            measure, grouping = made(max(1, k), seed)
            return clustering.cluster(rows, measure or None, grouping)

        made(1, 0)
        return recompute

    def cluster(
        self,
        *,
        clusterer: str = "entropy-kmeans",
        similarity: str | None = None,
        settings: Mapping[str, Any] | None = None,
        k: int | None = None,
        weights: str | None = None,
        sample: int | None = None,
        seed: int = 0,
        lang: str | None = None,
        force: bool = False,
        views: Sequence[str] | None = None,
        told: Callable[[clustering.Cost], None] | None = None,
    ) -> dict[str, Any]:
        """A clustering recomputed from the stored units, kept under a run.

        A clusterer that must be given a number and is given none makes as many clusters as there
        are stable domains. `weights` are `counts` or `tf-idf`, the latter if a similarity is named.
        `views` are sides from which the units are seen (`words`, `names`, `source`, `subjects`,
        `keywords`), for a similarity or a clusterer that takes several.
        `told` hears what it will cost before it starts; it is refused if memory is too small.
        """
        learned = self.read(lambda store: browse.learned_units(store, lang))
        if k is None and self._needs_number(clusterer, settings or {}):
            _, sizes = np.unique(learned.domains, return_counts=True)
            k = int((sizes >= int(self.settings["stable"])).sum()) or len(sizes)
        given = self._seen(learned, views, lang, similarity, clusterer)
        rows, chosen = clustering.sampled(given, sample or len(learned.units), seed)
        labels, cost, seconds = self.cluster_rows(
            _weighted(rows, weights, similarity),
            clusterer,
            similarity,
            {"seed": seed, **(settings or {})},
            k,
            force,
            told,
        )
        run = self.writer.begin_run(
            "cluster",
            settings={
                "clusterer": clusterer, "similarity": similarity, **(settings or {}), "k": k,
                "weights": weights, "sample": sample, "lang": lang,
                **({} if views is None else {"views": list(views)}),
            },
            versions=self.versions(),
            seed=seed,
        )  # fmt: skip
        self.writer.save_clustering(
            run, lang or "", learned.units[chosen].tolist(), labels.tolist()
        )
        found = {"units": len(labels), "clusters": int(labels.max(initial=-1)) + 1}
        self.writer.finish_run(run, "done", found)
        return {
            "run": run,
            **found,
            "sizes": np.bincount(labels[labels >= 0]).tolist(),
            "estimate": {"bytes": cost.bytes, "seconds": round(cost.seconds, 1)},
            "seconds": round(seconds, 3),
        }

    def topics(
        self,
        *,
        similarity: str = grouping.SIMILARITY,
        clusterer: str = grouping.CLUSTERER,
        settings: Mapping[str, Any] | None = None,
        k: int | None = None,
        top: int | None = 10,
        limit: int | None = None,
        regroup: bool = True,
    ) -> list[dict[str, Any]]:
        """The general domains: domains grouped by a similarity and a clusterer, languages apart.

        The grouping is kept under a run; if the domains are still the same as at the last one,
        it is only read. The default pair takes the settings of `topics.CLUSTERING` unless some are
        given; any other leaves the cut to the clusterer. `regroup=False` only reads.
        """
        if regroup:
            self._group(similarity, clusterer, dict(settings or {}), k)
        found: list[dict[str, Any]] = self.read(
            lambda store: browse.topics(store, top=top, limit=limit)
        )
        return found

    def _group(
        self, similarity: str, clusterer: str, settings: dict[str, Any], k: int | None
    ) -> None:
        chosen, measure, clusters = self._topic_making(similarity, clusterer, settings, k)
        said = {"similarity": similarity, "clusterer": clusterer, **settings, "k": k}
        said |= asdict(chosen)
        store = self.writer
        of = kept_topics.basis(store, said)
        last = kept_topics.present(store)
        if last is not None and last[1] == of:
            return
        run = store.begin_run("topics", settings=said, versions=self.versions())
        try:
            groups = {
                lang: grouping.group(domains, measure(), clusters, chosen)
                for lang, domains in kept_topics.material(store).items()
            }
            store.finish_run(run, "done", kept_topics.keep(store, run, groups, of))
        except BaseException:
            store.finish_run(run, "failed")
            raise

    def _topic_making(
        self, similarity: str, clusterer: str, settings: Mapping[str, Any], k: int | None
    ) -> tuple[grouping.TopicSettings, Callable[[], Any], Callable[[int], Any]]:
        """Settings of a grouping, and what makes its measure and its clusterer."""
        known = ("power", "min_weight", "most")
        own: dict[str, Any] = {n: v for n, v in settings.items() if n in known}
        own.setdefault("min_weight", float(self.settings["min_weight"]))
        others = {n: v for n, v in settings.items() if n not in known}
        for_measure, for_clusterer = self._sorted_settings(similarity, clusterer, others)
        usual = (similarity, clusterer) == (grouping.SIMILARITY, grouping.CLUSTERER)
        if usual and for_clusterer.keys() <= {"distance"}:  # no settings but a cut
            for_clusterer = {**grouping.CLUSTERING, **for_clusterer}
        if k is not None:
            for_clusterer.pop("distance", None)
        elif self._needs_number(clusterer, for_clusterer):
            raise UsageError(f"the clusterer {clusterer!r} must be told how many topics: -k N")
        distance = for_clusterer.get("distance")
        own["near"] = -1.0 if distance is None else 1.0 - float(distance)
        try:
            chosen = grouping.TopicSettings(**own)
        except (TypeError, ValueError) as error:
            raise SettingError(f"topics: {error}") from error

        def clusters(n_rows: int) -> Any:
            wanted = {} if k is None else {"k": max(1, min(k, n_rows))}
            return self.catalogue.make("clusterer", clusterer, {**for_clusterer, **wanted})

        def measure() -> Any:
            return self.catalogue.make("similarity", similarity, for_measure)

        clusters(1), measure()  # wrong settings are found before the lock is taken
        return chosen, measure, clusters

    def stream_units(self) -> list[StreamUnit]:
        """The units that are learned from, in the order in which they came."""
        found: list[StreamUnit] = self.read(lambda store: list(browse.stream_units(store)))
        return found

    def order(
        self, *, shuffles: int = 20, seed: int = 0, told: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """How far domains and topics depend on the order of arrival: the units learned again, in
        memory, in shuffled orders; the mean adjusted Rand index over all pairs of orders."""
        if shuffles < 2:
            raise UsageError(f"shuffles={shuffles} should be >= 2: one order has no other")
        chosen, measure, clusters = self._topic_making(
            grouping.SIMILARITY, grouping.CLUSTERER, {}, None
        )
        units, words = self.stream_units(), self.read(lambda store: list(store.words()))
        placement = self.learning().placement
        replayed = []
        for number in range(shuffles):
            if told is not None:
                told(f"order {number + 1} of {shuffles} …")
            replayed.append(
                order.replay(
                    units,
                    order.shuffled(units, seed + number),
                    [entry[:3] for entry in words],
                    placement,
                    str(self.settings["importance"]),
                    lambda domains: grouping.group(domains, measure(), clusters, chosen),
                )
            )
        return {
            "shuffles": shuffles,
            "units": len(units),
            "domains": order.mean_ari([r.domains for r in replayed]),
            "topics": order.mean_ari([r.topics for r in replayed]),
        }

    def name_topic(self, topic: int, name: str) -> None:
        """Gives a topic a name that stays; an empty one brings its best words back."""
        kept_topics.name(self.writer, topic, name)

    def _seen(
        self,
        learned: LearnedUnits,
        views: Sequence[str] | None,
        lang: str | None,
        similarity: str | None,
        clusterer: str,
    ) -> Any:
        """The units as counts of words, or in the views that were asked for."""
        if views is None:
            return learned.counts
        kind, name = ("clusterer", clusterer) if similarity is None else ("similarity", similarity)
        if not getattr(self.catalogue.make(kind, name), "takes_views", False):
            raise UsageError(
                f"{kind} {name!r} takes one matrix; views need --similarity mvsim, or"
                " --clusterer mvkm without a similarity"
            )
        return self.read(
            lambda store: make_views(
                views, learned.counts, learned.units.tolist(), browse.origins(store, lang)
            )
        )

    def _needs_number(self, clusterer: str, settings: Mapping[str, Any]) -> bool:
        """Whether a clusterer must be told how many clusters to make."""
        known = self.catalogue.settings("clusterer", clusterer)
        return "k" in known and known["k"].default is not None and "k" not in settings

    def cluster_rows(
        self,
        rows: Rows | Views,
        clusterer: str,
        similarity: str | None,
        settings: Mapping[str, Any],
        k: int | None,
        force: bool = False,
        told: Callable[[clustering.Cost], None] | None = None,
    ) -> tuple[Labels, clustering.Cost, float]:
        """Labels of any rows, what they were said to cost, and the seconds they took."""
        for_measure, for_clusterer = self._sorted_settings(similarity, clusterer, settings)

        def measure() -> Any:
            return similarity and self.catalogue.make("similarity", similarity, for_measure)

        def grouping(n_rows: int) -> Any:
            chosen = for_clusterer if k is None else {**for_clusterer, "k": max(1, min(k, n_rows))}
            return self.catalogue.make("clusterer", clusterer, chosen)

        cost = clustering.estimate(rows, measure, grouping)
        if told is not None:
            told(cost)
        if not cost.fits and not force:
            raise clustering.TooLargeError(
                f"this would not fit: {cost}; take a sample (--sample N), a clusterer that needs no"
                " similarity (entropy-kmeans, spherical-kmeans), a similarity with a factor form"
                " (lsa), or one that splits the words; --force tries all the same"
            )
        began = time.perf_counter()
        labels = clustering.cluster(rows, measure() or None, grouping(clustering.n_rows_of(rows)))
        return labels, cost, time.perf_counter() - began

    def _sorted_settings(
        self, similarity: str | None, clusterer: str, settings: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings by who knows them; a `seed` goes to whoever takes one."""
        known = {"clusterer": set(self.catalogue.settings("clusterer", clusterer))}
        if similarity is not None:
            known["similarity"] = set(self.catalogue.settings("similarity", similarity))
        seedless = not any("seed" in names for names in known.values())
        wanted = {n: v for n, v in settings.items() if not (n == "seed" and seedless)}
        sorted_out = _by_taker(wanted, known)
        return sorted_out.get("similarity", {}), sorted_out["clusterer"]

    def snapshot(self, lang: str | None = None) -> Snapshot:
        """The units with their domains, as comparisons and exporters are given them."""
        learned = self.read(lambda store: browse.learned_units(store, lang))
        return Snapshot(self.path, learned.units, learned.domains, learned.counts, learned.words)

    def report(
        self,
        *,
        min_units: int = 2,
        limit: int = 100,
        since: str | int | None = None,
        similarity: str = "eq7",
    ) -> str:
        """One self-contained HTML page; `since` is a run or date that news are told against,
        `similarity` what the map and the tree are drawn by."""

        def compared(rows: Rows) -> Any:
            measure = self.catalogue.make("similarity", similarity)
            measure.learn(rows)
            return measure.compare(rows, rows)

        facts = self.read(
            lambda store: reporting.gathered(
                store,
                min_units=min_units,
                limit=limit,
                since=since,
                compare=None if similarity == "eq7" else compared,
                measure=similarity,
            )
        )
        return page(facts)


def _weighted(rows: Rows | Views, weights: str | None, similarity: str | None) -> Rows | Views:
    """The rows as they are compared, in each of their views."""
    if not isinstance(rows, Mapping):
        return clustering.weighted(rows, weights, similarity)
    return {name: clustering.weighted(m, weights, similarity) for name, m in rows.items()}


def open(path: str | os.PathLike[str] = "segapsith.db", **settings: Any) -> Wire:
    """A store to learn into and to ask: `with segapsith.open("wire.db") as wire: …`.

    Settings are those of the configuration file, by name. ":memory:" works.
    """
    return Wire(path, resolve(settings, environment={}) if settings else None)


def similarity(name: str, **settings: Any) -> Any:
    """A similarity by name, held to its contract."""
    return load_plugins().make("similarity", name, settings)


def clusterer(name: str, **settings: Any) -> Any:
    """A clusterer by name, held to its contract."""
    return load_plugins().make("clusterer", name, settings)


@dataclass(frozen=True, slots=True)
class Segment:
    """A thematic unit of a text, with its words."""

    start: int
    end: int
    cohesion: float
    kept: bool
    words: Mapping[str, int]
    inferred: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The units of a text, and the curve that the segmenter looked at, if it has one."""

    lang: str
    units: list[Segment]
    places: list[int]
    """Characters to which the values of the curve belong, ascending."""
    curve: list[float]

    def as_json(self) -> dict[str, Any]:
        return {
            "lang": self.lang,
            "units": [
                {name: getattr(unit, name) for name in Segment.__dataclass_fields__}
                for unit in self.units
            ],
            "curve": self.curve,
            "curve_places": self.places,
        }


def segment(
    text: str,
    lang: str = "auto",
    segmenter: str = "cohesion",
    annotator: str = "simplemma",
    store: str | None = None,
    **settings: Any,
) -> list[Segment]:
    """The thematic units of a text, read with the terms and the network of a store if one is
    named."""
    return segmentation(text, lang, segmenter, annotator, store, settings).units


def segmentation(
    text: str,
    lang: str = "auto",
    segmenter: str = "cohesion",
    annotator: str = "simplemma",
    store: str | None = None,
    settings: Mapping[str, Any] | None = None,
    catalogue: Catalogue | None = None,
) -> Segmentation:
    """The thematic units of a text with the curve between whose valleys they lie."""
    if store is not None and not os.path.exists(store):
        raise ConfigurationError(f"there is no store at {store}")
    catalogue = catalogue or load_plugins()
    document = Document(body=text)
    document = Document(body=text, lang=language_of(lang)(document))
    chosen = {"segmenter": set(catalogue.settings("segmenter", segmenter)),
              "annotator": set(catalogue.settings("annotator", annotator))}  # fmt: skip
    own = _by_taker(settings or {}, chosen)
    made = catalogue.make("segmenter", segmenter, own["segmenter"])
    lexicon, network = Lexicon(), Network()
    if store is not None:
        with Store.reading(store) as kept:
            lexicon = networks.lexicon(kept)
            network = networks.network(kept, document.lang or "", uses=used_by(made))
    reader = catalogue.make("annotator", annotator, own["annotator"])
    (annotation,) = reader.annotate([document], lexicon)
    units = [
        Segment(u.start, u.end, u.cohesion, u.kept, _words(annotation, u.first, u.last), u.inferred)
        for u in made.segment(annotation, network)
    ]
    places, values = made.curve(annotation, network)
    return Segmentation(document.lang or "", units, places.tolist(), values.tolist())


def _user_terms(path: str, annotator: Annotator) -> dict[str, set[tuple[str, ...]]]:
    """The terms of a user's file as sequences of lemmas; `lang:` may stand before a term."""
    if not path:
        return {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"terms: {path}: {error}") from error
    phrases = []
    for line in lines:
        lang, sign, phrase = line.partition(":")
        if sign and lang.strip() in KNOWN:
            phrases.append(Document(body=phrase.strip(), lang=lang.strip()))
        elif line.strip() and not line.startswith("#"):
            phrases += [Document(body=line.strip(), lang=lang) for lang in KNOWN]
    return given_terms(annotator.annotate(phrases, Lexicon()))


def _network_settings(values: Settings) -> NetworkSettings:
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


def _at_least_0(name: str, value: int) -> int:
    if value < 0:
        raise SettingError(f"{name}={value} should be >= 0")
    return value


def _by_taker(
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


def _words(annotation: Annotation, first: int, last: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for i in range(first, last):
        if annotation.content[i]:
            counts[annotation.lemmas[i]] = counts.get(annotation.lemmas[i], 0) + 1
    return counts


def _document(item: Document | Reject | Mapping[str, Any]) -> Document | Reject:
    if isinstance(item, Document | Reject):
        return item
    if not isinstance(item, Mapping):
        return Reject(repr(item)[:80], f"it is {type(item).__name__}, not a document")
    known = {"id", "text", "title", "date", "lang", "source"}
    fields_ = {k: item.get(k) for k in known}
    wrong = [k for k, v in fields_.items() if v is not None and not isinstance(v, str | int)]
    if wrong:
        return Reject(str(item.get("id", "(no id)")), f"{wrong[0]} is not a string")
    return Document(
        uid="" if fields_["id"] is None else str(fields_["id"]),
        title=str(fields_["title"] or ""),
        body=str(fields_["text"] or ""),
        date=None if fields_["date"] is None else str(fields_["date"]),
        lang=None if not fields_["lang"] else str(fields_["lang"]),
        source=str(fields_["source"] or ""),
        metadata={str(k): v for k, v in item.items() if k not in known},
    )


def _ready_unit(item: Mapping[str, Any]) -> Document | Reject:
    words = item.get("words")
    if not isinstance(words, Mapping):
        return Reject(str(item.get("id", "(no id)")), "it has no `words` (word to count)")
    plain = _document({k: v for k, v in item.items() if k != "words"})
    if isinstance(plain, Reject):
        return plain
    return Document(
        uid=plain.uid,
        date=plain.date,
        lang=plain.lang or "en",
        source=plain.source,
        metadata=plain.metadata,
        bag={str(w): c for w, c in words.items()},
    )
