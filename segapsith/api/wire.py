"""The program as Python sees it: `open` a store, or make a similarity, a clusterer, units.

The command line is built on this module, so the two cannot say different things.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from segapsith.api import clustering, curation, reporting
from segapsith.api.factory import Factory
from segapsith.api.validation import Validation
from segapsith.arrays import Rows
from segapsith.domains import threshold_search
from segapsith.domains.index import PlacementSettings
from segapsith.domains.threshold_control import MILLION, Target
from segapsith.engine import domain_changes, reference_corpus
from segapsith.engine.components import Components
from segapsith.engine.engine import Engine
from segapsith.engine.learning_settings import (
    FACT,
    READING,
    Change,
    LearningSettings,
    Note,
    Period,
    check,
    periods,
    with_kept,
)
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.engine.runs import RunPlan, RunSummary
from segapsith.errors import SegapsithError, UsageError
from segapsith.intake.language import language_of
from segapsith.io.dicts import document_of, unit_of
from segapsith.lexicon.weighting import SCALE
from segapsith.model import Document, FeedState, Network, Reject, Snapshot
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.report.page import page
from segapsith.settings import (
    BUILT_IN_PLACEMENT,
    TOPIC_CLUSTERER,
    TOPIC_SIMILARITY,
    Settings,
    resolve,
)
from segapsith_store import Store
from segapsith_store.connections import MEMORY
from segapsith_store.queries import browse, networks, targets
from segapsith_store.queries import topics as kept_topics
from segapsith_store.queries.explain import explain
from segapsith_store.seal import seal, seal_after
from segapsith_store.verify import Verdict, verify

__all__ = [
    "Delivery",
    "KeyedItems",
    "Wire",
    "clusterer",
    "open",
    "similarity",
]

T = TypeVar("T")


@runtime_checkable
class Delivery(Protocol):
    """Items under a key: the same key after a kill is the same delivery, and goes on."""

    @property
    def key(self) -> str: ...
    def items(self) -> Iterator[Document | Reject | FeedState]: ...


@dataclass(frozen=True, slots=True)
class KeyedItems:
    """A delivery of items that were made elsewhere; an empty key never goes on."""

    key: str
    made: Iterable[Document | Reject | FeedState]

    def items(self) -> Iterator[Document | Reject | FeedState]:
        return iter(self.made)


class Wire:
    """A store with the engine that learns into it. Reading needs no lock; writing takes it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Settings | None = None,
        registry: Registry | None = None,
        *,
        change_learning: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self._given = settings or resolve(environment={})
        self._registry = registry
        self._may_change = change_learning
        self._writer: Store | None = None
        self._factory: Factory | None = None
        self._kept: LearningSettings | None = None
        """What the store was learned with when the workshop was made."""
        self._learning: Components | None = None
        self._held = threading.local()
        """The snapshot that this thread reads from; a connection belongs to its thread."""
        self._engine: Engine | None = None
        self._reads_no_text = False
        """Whether the engine was made for work other than learning."""
        self._plan: tuple[Any, RunPlan] | None = None
        """The plan of the last run that learned, and the settings that the store had then."""

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
        self._start_anew()
        self._writer = None

    def _start_anew(self) -> None:
        """Let go of what was made with settings that hold no longer."""
        if self._factory is not None:
            self._factory.close()
            self._registry = self._factory.loaded
        self._factory = self._learning = self._engine = self._plan = None
        self._reads_no_text = False

    @property
    def settings(self) -> Settings:
        """The settings that hold: given ones, those of the store, the preset's, defaults."""
        return self.factory.settings

    @property
    def factory(self) -> Factory:
        """What makes plugins, by the settings that hold."""
        if self._factory is None:
            self._kept = _last(self._history())
            settings = self._given if self._kept is None else with_kept(self._given, self._kept)
            self._factory = Factory(settings, self._registry)
        return self._factory

    def _history(self) -> tuple[Period, ...]:
        """What the store was learned with so far; nothing if it cannot be read yet."""
        if self._writer is not None:
            return periods(self._writer.facts())
        if not os.path.isfile(self.path):
            return ()
        try:
            with Store.reading(self.path) as store:
                return periods(store.facts())
        except SegapsithError:  # whoever needs the store is told; settings are not worth an error
            return ()

    @property
    def registry(self) -> Registry:
        """The plugins that are installed."""
        return self.factory.registry

    # -- writing ---------------------------------------------------------------------------

    @property
    def writer(self) -> Store:
        """The store, locked for this process until `close`."""
        if self._writer is None:
            self._writer = Store.writing(self.path, float(self._given["wait"]))
        return self._writer

    @property
    def engine(self) -> Engine:
        """The engine on the store. One that is made here reads no text: it works with what the
        store was learned with, whatever else is given."""
        if self._engine is None:
            kept = _last(self._history())
            if kept is None:
                learning = self._made()
            else:
                settings = with_kept(self._given, kept, kept_wins=True)
                learning = Factory(settings, self.registry).learning()
            self._engine = Engine(self.writer, learning)  # wrong settings are found without a lock
            self._reads_no_text = kept is not None
        return self._engine

    def _made(self) -> Components:
        """The plugins to learn with; made once for the same settings."""
        if self._learning is None:
            self._learning = self.factory.learning()
        return self._learning

    def learner(self, only: Collection[str] = ()) -> tuple[Engine, RunPlan]:
        """The engine to learn with, and a plan that brings its settings to the store.

        Settings that differ from those of the store are refused unless a change was asked for.
        `only` are those that matter, if not all do.
        """
        if self._writer is None:  # what is wrong is found before the lock is taken
            self._agreed(_last(self._history()), only)
            self._made()
        store = self.writer
        facts = store.facts()
        if self._engine is not None and not self._reads_no_text and not only and self._plan:
            learned_with, plan = self._plan
            if learned_with == facts.get(FACT):  # nobody has changed them since
                return self._engine, plan
        history = periods(facts)
        kept = _last(history)
        if kept != self._kept:  # as this process has learned meanwhile, or another one
            if kept != self.factory.learning_settings():
                self._start_anew()
            self._kept = kept
        now, found = self._agreed(kept, only)
        if self._engine is None or self._reads_no_text:
            self._engine, self._reads_no_text = Engine(store, self._made()), False
        plan = self.factory.plan()
        before = kept or LearningSettings({})
        after = before.updated(now.only(only) if only else now)
        if after == kept:
            self._plan = None if only else (facts.get(FACT), plan)
            return self._engine, plan
        changed = {change.name: change.as_json() for change in found}
        settings = {**plan.settings, "changed_learning": changed} if changed else plan.settings
        return self._engine, replace(plan, settings=settings, learning=Note(history, after))

    def _agreed(
        self, kept: LearningSettings | None, only: Collection[str]
    ) -> tuple[LearningSettings, list[Change]]:
        """The settings to learn with, and what they change; a change that is not wanted is an
        error."""
        now = self.factory.learning_settings()
        if kept is None:
            return now, []
        found = self.factory.changes(kept.only(only) if only else kept)
        if not self._may_change:
            check(self.path, found)
        return now, found

    def _learned(
        self,
        items: Iterable[Document | Reject | FeedState],
        command: str = "ingest",
        *,
        name: str = "",
        input_key: str = "",
        watch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learns from items in one run of a command; one that brought much seals the store."""
        engine, plan = self.learner()
        summary = engine.ingest(
            items, replace(plan, command=command, name=name, input_key=input_key), watch
        )
        seal_after(self.writer, summary.read)
        return summary

    def ingest(
        self,
        documents: Iterable[Document | Reject | Mapping[str, Any]] | Delivery,
        *,
        name: str = "",
        command: str = "ingest",
        dry_run: bool = False,
        watch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learns from documents, or from dicts with `text` and, as they have them, `id title date
        lang source`. A run that brought much of what there is seals the store.

        The run log names the run by `command` and `name`.
        """
        items, key = (
            (documents.items(), documents.key)
            if isinstance(documents, Delivery)
            else (map(document_of, documents), "")
        )
        if dry_run:
            return self.learner()[0].preview(items)
        return self._learned(items, command, name=name, input_key=key, watch=watch)

    def learn(self, units: Iterable[Mapping[str, Any]], *, name: str = "") -> RunSummary:
        """Learns from units that were made elsewhere: `id`, `date`, `words` (word to count)."""
        return self._learned(map(unit_of, units), "learn", name=name)

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
            else (map(document_of, documents), "")
        )
        engine, plan = self.learner(only=READING)
        try:
            return reference_corpus.build(
                items,
                engine.state,
                self._made(),
                self.writer,
                replace(plan, command=reference_corpus.BUILD, input_key=key),
                watch,
            )
        finally:
            self._start_anew()  # what it holds is not what the store holds now

    def read_corpus(self, key: str) -> int | None:
        """The run that read a reference corpus under this key, if one did and still counts."""
        return self.writer.done_run(reference_corpus.BUILD, key)

    def forget(self, uids: str | Iterable[str]) -> dict[str, Any]:
        """Take documents out exactly and refuse them from now on, all in one run.

        For one id: `run document successor units`; for several: `run documents units`, where
        `documents` lists `document successor units` of each.
        """
        plan = self.factory.plan("forget")
        if not isinstance(uids, str):
            return self.engine.forget(*uids, plan=plan)
        result = self.engine.forget(uids, plan=plan)
        return {"run": result["run"], **result["documents"][0]}

    def allow_again(self, uids: str | Iterable[str]) -> dict[str, Any]:
        """Let later deliveries bring forgotten documents back: `run documents held`."""
        named = (uids,) if isinstance(uids, str) else uids
        return self.engine.allow_again(*named, plan=self.factory.plan("forget"))

    def undo(self, run: int | None = None) -> dict[str, Any]:
        """Takes the last run back."""
        found = self.engine.undo(run, self.factory.versions())
        self._start_anew()  # the settings of the run are taken back with it
        return found

    # -- the life of domains ---------------------------------------------------------------

    def change(
        self, command: str, *changes: domain_changes.Change, **noted: Any
    ) -> list[dict[str, Any]]:
        """Does something to domains in one run of its own; `noted` goes into the run log."""
        return self.engine.change(changes, RunPlan(command, noted, self.factory.versions()))

    def rename(self, domain: int, label: str) -> dict[str, Any]:
        """Gives a domain a name that stays; an empty one lets its best words name it again."""
        change = domain_changes.Rename(domain, label)
        return self.change("rename", change, domain=domain, label=label)[0]

    def merge(self, domains: Iterable[int], into: int | None = None) -> dict[str, Any]:
        """Makes one domain of several: the oldest of them unless another is chosen."""
        numbers = tuple(domains)
        return self.change(
            "merge", domain_changes.Merge(numbers, into), domains=numbers, into=into
        )[0]

    def consolidate(
        self,
        *,
        similarity: float | None = None,
        after: int | None = None,
        since: int = 0,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Merges domains that are nearly the same (`curation.consolidate`)."""
        if not dry_run:
            self.learner()
        return curation.consolidate(
            self, similarity=similarity, after=after, since=since, dry_run=dry_run
        )

    def narrow(
        self, *, threshold: float | None = None, after: int = 0, dry_run: bool = False
    ) -> dict[str, Any]:
        """Splits the domains that are several subjects (`curation.narrow`)."""
        if not dry_run:
            self.learner()
        return curation.narrow(self, threshold=threshold, after=after, dry_run=dry_run)

    def adopt(self, *, similarity: float | None = None) -> dict[str, Any]:
        """Moves units to the nearest stable domain (`curation.adopt`)."""
        self.learner()
        return curation.adopt(self, similarity=similarity)

    def refine(self, passes: int) -> dict[str, Any]:
        """Places every unit again, with the domains frozen in each pass; all in one run, which
        ends a seal, so the store is sealed again."""
        self.learner()
        refined = curation.refine(self, passes)
        if refined["run"] is not None:
            seal(self.writer)
        return refined

    def split(
        self, domain: int, units: Iterable[int] | None = None, **choice: Any
    ) -> dict[str, Any]:
        """Makes several domains of one: the given units apart, or in `parts` by a `clusterer`
        with a `similarity`, `settings` and `seed`."""
        return curation.split(self, domain, units, **choice)

    def retire(self, domains: Iterable[int]) -> dict[str, Any]:
        """Closes domains: they keep their units and words and take no more."""
        numbers = tuple(domains)
        return self.change("retire", domain_changes.Retire(numbers), domains=numbers)[0]

    def reopen(self, domains: Iterable[int]) -> dict[str, Any]:
        """Lets retired domains take units again."""
        numbers = tuple(domains)
        return self.change("reopen", domain_changes.Retire(numbers, back=True), domains=numbers)[0]

    def lock(self, domains: Iterable[int], locked: bool = True) -> dict[str, Any]:
        """Keeps domains from being merged, split or retired, or permits it again."""
        numbers = tuple(domains)
        command = "lock" if locked else "unlock"
        return self.change(command, domain_changes.Lock(numbers, locked), domains=numbers)[0]

    # -- reading ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Iterator[Store]:
        """Hold one state of the store for several questions, whatever others write meanwhile.

        Who is writing holds the lock, so the writer itself is such a state. May be nested; reads
        inside see the same state.
        """
        held: Store | None = getattr(self._held, "store", None)
        if held is not None:
            yield held
        elif self._writer is not None or self.path == MEMORY:
            yield self.writer
        else:
            with Store.reading(self.path) as store, store.frozen():
                self._held.store = store
                try:
                    yield store
                finally:
                    self._held.store = None

    def read(self, ask: Callable[[Store], T]) -> T:
        """Return the answer to a question, from one state of the store."""
        with self.reading() as store:
            return ask(store)

    def domains(self, **choice: Any) -> list[dict[str, Any]]:
        """Domains with their words, largest first: `min_units top since limit lang as_of
        days`."""
        return self.read(lambda store: browse.domains(store, **choice))

    def forgotten_since(self, as_of: str | int) -> int:
        """Documents that are missing from the domains as of a moment: they were forgotten since."""
        return self.read(lambda store: browse.forgotten_since(store, as_of))

    def show(self, domain: int, **choice: Any) -> dict[str, Any]:
        """One domain in full."""
        return self.read(lambda store: browse.domain(store, domain, **choice))

    def explain(self, unit: int) -> dict[str, Any]:
        """Why a unit is in its domain: shared words, the ratios of eq. 7, the runner-up."""
        return self.read(lambda store: explain(store, unit, self.placing(store)))

    def placing(self, store: Store) -> PlacementSettings:
        """How a unit finds its domain now: by the settings, with the threshold of a kept target."""
        placing = self.factory.placing()
        followed = None if self.factory.overruled else store.threshold_controller()
        return (
            placing if followed is None else replace(placing, threshold=followed.threshold / SCALE)
        )

    def classify(
        self, text: str, *, title: str = "", top: int = 3, lang: str | None = None
    ) -> dict[str, Any]:
        """Which domains a text belongs to, unit by unit; nothing is learned or locked."""
        learning = self._made()
        document = Document(title=title, body=text, lang=lang)
        if lang is not None:
            learning = replace(learning, language=language_of(lang))
        return self.read(
            lambda store: Engine(store, learning).classify(
                document, top, kept_topics.members(store)
            )
        )

    def tune(
        self,
        *,
        target_new_rate: float | None = None,
        target_singletons: float | None = None,
        afresh: bool = False,
        lang: str | None = None,
        sample: int | None = 10_000,
        keep: bool = False,
        watch: Callable[[threshold_search.Trial], None] | None = None,
    ) -> dict[str, Any]:
        """The threshold that is foreseen to reach a target on the next stretch of the stream.

        The last `sample` units are replayed in memory, in their order, for several thresholds:
        `curve`. The store is thought to go on as it is, or `afresh` to be learned anew. With
        `keep` the store keeps the target, in a run: from then on its threshold follows it.
        """
        if (target_new_rate is None) == (target_singletons is None):
            raise UsageError("tune for one target: a rate of new domains, or a share of singletons")
        if self.settings["placement"] != BUILT_IN_PLACEMENT:
            raise UsageError(
                f"tune replays {BUILT_IN_PLACEMENT}, and placement is"
                f" {self.settings['placement']!r}"
            )
        aim, target = (
            ("next_new_rate", target_new_rate)
            if target_singletons is None
            else ("next_singletons", target_singletons)
        )
        assert target is not None
        if keep and (afresh or lang is not None):
            raise UsageError(
                "a target is kept for all that comes from now on: without --afresh and --lang"
            )
        with self.reading() as store:
            world = self._world(store, afresh, lang, sample)
            present = self.placing(store).threshold
        best, trials = threshold_search.search(world, target, aim, watch)
        kept = Target(
            aim.removeprefix("next_"),
            round(target * MILLION),
            round(best.threshold * SCALE),
            round(threshold_search.slope(trials, best.threshold, aim) * MILLION),
            0,
        )
        return {
            "target": {aim.removeprefix("next_"): target},
            "threshold": best.threshold,
            "foreseen": round(float(getattr(best, aim)), 6),
            "present": present,
            "run": self.follow(kept) if keep else None,
            "overruled": self.factory.overruled,
            "afresh": afresh,
            "lang": lang,
            "curve": [trial.as_json() for trial in trials],
            "line": f"threshold = {best.threshold}",
        }

    def resting(self) -> str | None:
        """What beats the target that the store keeps, if it keeps one and something does."""
        return self.factory.overruled if self.read(targets.standing) is not None else None

    def follow_none(self) -> dict[str, Any]:
        """Ends the target that the store keeps, in a run; from then on the setting holds."""
        told: dict[str, Any] | None = targets.standing(self.writer)
        if told is None:
            raise UsageError("no target is kept; `segapsith tune --keep` keeps one")
        return {"run": self.follow(Target("", 0, 0, 0, 0)), "ended": told}

    def follow(self, target: Target) -> int:
        """Keeps a target, whatever `tune` knows of it; the run that did."""
        store = self.writer
        noted = {"aim": target.aim, "share": target.share / MILLION}
        with store.run(RunPlan("tune", noted, self.factory.versions())) as run:
            ordinal = int(store.facts().get("counter_ordinal", 0))
            targets.keep(store, run.number, replace(target, ordinal=ordinal))
            run.counts = noted
        self._engine = None  # it places with what held before
        return run.number

    def _world(
        self, store: Store, afresh: bool, lang: str | None, sample: int | None
    ) -> threshold_search.World:
        """The stored stream, as it is tried with thresholds."""
        placing, stream = self.factory.placing(), browse.stream(store, lang, sample)
        if afresh:
            return threshold_search.Afresh(stream.bags, placing, stream.significance)
        index = curation.open_domains(store, placing, lang)
        places = [d if d in index else 0 for d in stream.domains]
        return threshold_search.Onward(
            index, stream.bags, places, stream.n_units, stream.significance
        )

    def status(self) -> dict[str, Any]:
        """Counts, digest and last run."""
        found = self.read(lambda store: browse.status(store, stable=int(self.settings["stable"])))
        if found["target"] is not None:
            found["target"]["overruled"] = self.factory.overruled
        return found

    def verify(self) -> Verdict:
        """Every sum and count computed again."""
        return self.read(verify)

    def network(self, lang: str) -> Network:
        """The collocation network of a language, as texts are read with it now."""
        return self.read(lambda store: networks.network(store, lang, self.factory.network()))

    def network_status(self) -> dict[str, Any]:
        """Words, links and pairs of the network, and what they were made with."""
        return self.read(lambda store: networks.status(store, self.factory.network()))

    def neighbours(self, word: str, lang: str | None = None, top: int = 20) -> dict[str, Any]:
        """The words that keep a word company, the closest first."""
        return self.read(
            lambda store: networks.near(store, word, lang, top, self.factory.network())
        )

    def described(self, uids: Iterable[str]) -> list[dict[str, Any]]:
        """What documents are, in the order given: `id date title units`."""
        found: list[dict[str, Any]] = self.read(
            lambda store: [browse.described(store, uid) for uid in uids]
        )
        return found

    def matching(self, words: str) -> list[dict[str, Any]]:
        """Every document that has all the words in one of its versions: `id date title units`."""
        found: list[dict[str, Any]] = self.read(lambda store: browse.matching(store, words))
        return found

    def search(self, words: str, limit: int = 20) -> dict[str, Any]:
        """Documents and domains that have all the words."""
        return self.read(lambda store: browse.search(store, words, limit))

    def runs(self, limit: int | None = None) -> list[dict[str, Any]]:
        """The run log, newest first."""
        return self.read(lambda store: browse.runs(store, limit))

    # -- proving ---------------------------------------------------------------------------

    def validate(self, **choice: Any) -> dict[str, Any]:
        """Stable domains against a clustering that is recomputed from the same units.

        `clusterer`, `similarity` (names, or lists of them), `clusterer_settings`, `min_units`, `k`
        (a number, or several for a curve), `word_cut`, `stability`, `last`, `seed`, `lang`.
        """
        return Validation(self).validate(**choice)

    def validations(
        self, lang: str | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """The validations so far, oldest first."""
        return Validation(self).history(lang, limit)

    def drift(self, **choice: Any) -> dict[str, Any]:
        """Night against night: `since`, `until` (runs or dates), `min_units`, `seed`."""
        return Validation(self).drift(**choice)

    def curve(self, **choice: Any) -> dict[str, Any]:
        """Kappa against the share of units in stable domains, over learning thresholds."""
        return Validation(self).curve(**choice)

    def compare(self, left: str | int, right: str | int, **choice: Any) -> dict[str, Any]:
        """Two runs, nights, stores or labelled files: `field` (where a file has its labels), `min_units`, `seed`."""
        return Validation(self).compare(left, right, **choice)

    def cluster(self, **choice: Any) -> dict[str, Any]:
        """A clustering recomputed from the stored units, kept under a run: `clusterer`,
        `similarity`, `settings`, `k`, `weights`, `sample`, `seed`, `lang`, `views`, `force`.

        `assignment` has the cluster of each unit, `groups` the clusters with words and headlines."""
        return clustering.cluster(self, **choice)

    def topics(
        self,
        *,
        similarity: str = TOPIC_SIMILARITY,
        clusterer: str = TOPIC_CLUSTERER,
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
            clustering.regroup(self, similarity, clusterer, settings or {}, k)
        return self.read(lambda store: browse.topics(store, top=top, limit=limit))

    def stream_units(self) -> list[StreamUnit]:
        """The units that are learned from, in the order in which they came."""
        return self.read(lambda store: list(browse.stream_units(store)))

    def order(self, **choice: Any) -> dict[str, Any]:
        """How far domains and topics depend on the order of arrival: `shuffles`, `seed`."""
        return clustering.shuffled_orders(self, **choice)

    def name_topic(self, topic: int, name: str) -> None:
        """Gives a topic a name that stays; an empty one brings its best words back."""
        kept_topics.name(self.writer, topic, name)

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
        similarity: str = BUILT_IN_PLACEMENT,
    ) -> str:
        """One self-contained HTML page; `since` is a run or date that news are told against (0: all),
        `similarity` what the map and the tree are drawn by."""

        def compared(rows: Rows) -> Any:
            measure = self.factory.registry.make("similarity", similarity)
            measure.learn(rows)
            return measure.compare(rows, rows)

        facts = self.read(
            lambda store: reporting.gathered(
                store,
                min_units=min_units,
                limit=limit,
                since=since,
                compare=None if similarity == BUILT_IN_PLACEMENT else compared,
                measure=similarity,
                stable=int(self.settings["stable"]),
            )
        )
        return page(facts)


def _last(history: Sequence[Period]) -> LearningSettings | None:
    return history[-1].settings if history else None


def open(
    path: str | os.PathLike[str] = "segapsith.db", *, change_learning: bool = False, **settings: Any
) -> Wire:
    """A store to learn into and to ask: `with segapsith.open("wire.db") as wire: …`.

    Settings are those of the configuration file, by name. ":memory:" works. Settings that the
    store was not learned with are refused unless `change_learning`.
    """
    chosen = resolve(settings, environment={}) if settings else None
    return Wire(path, chosen, change_learning=change_learning)


def similarity(name: str, **settings: Any) -> Any:
    """A similarity by name, held to its contract."""
    return load_plugins().make("similarity", name, settings)


def clusterer(name: str, **settings: Any) -> Any:
    """A clusterer by name, held to its contract."""
    return load_plugins().make("clusterer", name, settings)
