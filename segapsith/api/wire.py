"""The program as Python sees it: `open` a store, or make a similarity or a clusterer.

The command line is built on this module, so that both do the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

from segapsith.api import classification, clustering, comparison, reporting
from segapsith.api.browsing import Browsing
from segapsith.api.browsing.frames import frame
from segapsith.api.curation import Domains
from segapsith.api.documents import AllowedAgain, Forgotten, ForgottenDocument
from segapsith.api.events import Events
from segapsith.api.network import Networks
from segapsith.api.runs import Runs
from segapsith.api.sections import Sections
from segapsith.api.session import Session
from segapsith.api.topics import Topics
from segapsith.api.tuning import Threshold
from segapsith.api.validation import Validation
from segapsith.arrays import Matrix, Rows
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.engine.runs import RunSummary
from segapsith.model import Delivery, Item, Items, Json, KeyedItems, Snapshot, delivered, unit_of
from segapsith.plugin.guards import GuardedClusterer, GuardedSimilarity
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.report.page import page
from segapsith.settings import BUILT_IN_PLACEMENT, Settings, Value, resolve
from segapsith_store import Store
from segapsith_store.queries.explain import (
    DocumentExplanation,
    Explanation,
    explain,
    explain_document,
)
from segapsith_store.queries.news import Today, read_today
from segapsith_store.queries.search import (
    DocumentSummary,
    SearchResult,
    describe_document,
    matching_documents,
    search,
)
from segapsith_store.queries.status import Status, read_status
from segapsith_store.queries.stream import iterate_stream, learned_units
from segapsith_store.seal import SEAL_LEAST, SEAL_SHARE, seal
from segapsith_store.verify import Verdict, verify

__all__ = [
    "Delivery",
    "KeyedItems",
    "Wire",
    "clusterer",
    "open",
    "similarity",
]


class Wire(Session):
    """A store to learn into and to query. Reading needs no lock; writing takes it until `close`.

    Calls about one subject are in groups: `domains`, `topics`, `sections`, `validation`, `runs`,
    `network`, `threshold`, `events`, `browse`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Settings | None = None,
        registry: Registry | None = None,
        *,
        change_learning: bool = False,
    ) -> None:
        super().__init__(path, settings, registry, change_learning=change_learning)
        self.domains = Domains(self)
        self.topics = Topics(self)
        self.sections = Sections(self, self.topics)
        self.events = Events(self)
        self.validation = Validation(self)
        self.runs = Runs(self)
        self.network = Networks(self)
        self.threshold = Threshold(self)
        self.browse = Browsing(self)
        self.validate = self.validation.run
        self.tune = self.threshold.search

    # -- learning and forgetting -------------------------------------------------------------

    def ingest(
        self,
        documents: Items,
        *,
        name: str = "",
        command: str = "ingest",
        dry_run: bool = False,
        on_batch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learn from documents, or from dicts with `text` and optionally `id title date lang source`.

        The run log stores `command` and `name`. `on_batch` is called after each stored batch. With
        `dry_run` nothing is stored. A run that read many documents seals the store.
        """
        items, key = delivered(documents)
        if dry_run:
            return self.learner()[0].preview(items)
        return self._learn(items, command, name=name, input_key=key, on_batch=on_batch)

    def learn(self, units: Iterable[Mapping[str, Any]], *, name: str = "") -> RunSummary:
        """Learn from units made elsewhere: dicts with `id`, `date` and `words` (word to count)."""
        return self._learn(map(unit_of, units), "learn", name=name)

    def _learn(
        self,
        items: Iterable[Item],
        command: str,
        *,
        name: str = "",
        input_key: str = "",
        on_batch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        engine, plan = self.learner()
        plan = replace(plan, command=command, name=name, input_key=input_key)
        summary = engine.ingest(items, plan, on_batch)
        if plan.learning is not None:
            self.learner()  # the store has these settings now: plan the next run without them
        if summary.read >= max(SEAL_LEAST, SEAL_SHARE * self.writer.n_documents()):
            seal(self.writer)
        return summary

    @overload
    def forget(self, uid: str, /) -> ForgottenDocument: ...  # type: ignore[overload-overlap]  # a text is an iterable of texts, too

    @overload
    def forget(self, *uids: str | Iterable[str]) -> Forgotten: ...

    def forget(self, *uids: str | Iterable[str]) -> ForgottenDocument | Forgotten:
        """Delete documents exactly and refuse them from now on, all in one run.

        Give ids one by one or as an iterable. For one id the result is that document, with the run.
        """
        result = self.engine.forget(*_flat(uids), plan=self.factory.plan("forget"))
        documents = [ForgottenDocument(**document) for document in result["documents"]]
        if len(uids) == 1 and isinstance(uids[0], str):
            return replace(documents[0], run=result["run"])
        return Forgotten(result["run"], documents, result["units"])

    def allow_again(self, *uids: str | Iterable[str]) -> AllowedAgain:
        """Let later deliveries bring forgotten documents back."""
        plan = self.factory.plan("forget")
        return AllowedAgain(**self.engine.allow_again(*_flat(uids), plan=plan))

    # -- queries -----------------------------------------------------------------------------

    classify = classification.classify
    cluster = clustering.cluster
    compare = comparison.compare

    def search(self, words: str, limit: int = 20, *, documents: bool = True) -> SearchResult:
        """Return the documents and domains that contain all the words, best first.

        Without `documents`, only domains are looked for.
        """
        return self.read(lambda store: search(store, words, limit, documents=documents))

    def matching(self, words: str) -> list[DocumentSummary]:
        """Return every document that contains all the words in one of its versions."""
        return self.read(lambda store: matching_documents(store, words))

    def described(self, uids: Iterable[str]) -> list[DocumentSummary]:
        """Return date, title and number of units of documents, in the order given."""
        return self.read(lambda store: [describe_document(store, uid) for uid in uids])

    def explain(self, unit: int) -> Explanation:
        """Return why a unit is in its domain: shared words, the ratios of eq. 7, the runner-up."""
        return self.read(lambda store: explain(store, unit, self.placing(store)))

    def explain_document(self, uid: str) -> DocumentExplanation | None:
        """Return why each unit of a document is in its domain; None if there is no such document."""
        return self.read(lambda store: explain_document(store, uid, self.placing(store)))

    def status(self) -> Status:
        """Return counts, the digest, the target of the threshold, and the last run."""

        def query(store: Store) -> Status:
            status = read_status(store, stable=self.settings.maintenance.stable)
            if status.target is None:
                return status
            return replace(status, target=replace(status.target, overruled=self.factory.overruled))

        return self.read(query)

    def today(self, since: str | int | None = None, *, limit: int = 12) -> Today:
        """Return what is new, rising and falling since a run or date, by section, with headlines.

        By default since the last night, or before the last run that learned. `limit` is the number
        of domains of each kind in a section.
        """
        return self.read(lambda store: read_today(store, since, most=limit))

    def verify(self, on_check: Callable[[int, int], None] | None = None) -> Verdict:
        """Recompute every sum and count, and return what differs.

        `on_check` is called after each check with the number of checks done and of all.
        """
        return self.read(lambda store: verify(store, on_check))

    def frame(self, what: str, library: str | None = None) -> Any:
        """Return `domains units stories topics sections events days` or `validations` as a table.

        `library` is pandas, polars or pyarrow; by default the first of these that is installed.
        Lists and objects are JSON texts.
        """
        return self.read(lambda store: frame(store, what, library))

    def stream_units(self) -> list[StreamUnit]:
        """Return the units that are learned from, in the order in which they came."""
        return self.read(lambda store: list(iterate_stream(store)))

    def snapshot(self, lang: str | None = None) -> Snapshot:
        """Return the units with their domains, as comparisons and exporters receive them."""
        learned = self.read(lambda store: learned_units(store, lang))
        return Snapshot(self.path, learned.units, learned.domains, learned.counts, learned.words)

    def report(
        self,
        *,
        min_units: int = 2,
        limit: int = 100,
        since: str | int | None = None,
        similarity: str = BUILT_IN_PLACEMENT,
    ) -> str:
        """Return one self-contained HTML page on the domains of at least `min_units` units.

        News is what changed after the run or date `since` (0: everything; default: the last run).
        The map and the tree of domains are drawn by `similarity`.
        """

        def compared(rows: Rows) -> Matrix:
            measure: GuardedSimilarity = self.registry.make("similarity", similarity)
            measure.learn(rows)
            return measure.compare(rows, rows)

        facts = self.read(
            lambda store: reporting.report_facts(
                store,
                min_units=min_units,
                limit=limit,
                since=since,
                compare=None if similarity == BUILT_IN_PLACEMENT else compared,
                measure=similarity,
                stable=self.settings.maintenance.stable,
            )
        )
        return page(facts)


def _flat(uids: Iterable[str | Iterable[str]]) -> list[str]:
    """Return ids that were given one by one or as iterables, in their order."""
    return [uid for given in uids for uid in ([given] if isinstance(given, str) else given)]


def open(
    path: str | os.PathLike[str] = "segapsith.db",
    *,
    change_learning: bool = False,
    **settings: Value,
) -> Wire:
    """Open a store to learn into and to query: `with segapsith.open("wire.db") as wire: …`.

    `settings` are those of the configuration file, by name. ":memory:" works. Settings that the
    store was not learned with are refused unless `change_learning`.
    """
    resolved = resolve(settings, environment={}) if settings else None
    return Wire(path, resolved, change_learning=change_learning)


def similarity(name: str, **settings: Json) -> GuardedSimilarity:
    """Make the similarity of that name; its results are checked against the contract."""
    made: GuardedSimilarity = load_plugins().make("similarity", name, settings)
    return made


def clusterer(name: str, **settings: Json) -> GuardedClusterer:
    """Make the clusterer of that name; its labels are checked against the contract."""
    made: GuardedClusterer = load_plugins().make("clusterer", name, settings)
    return made
