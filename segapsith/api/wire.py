"""The program as Python sees it: `open` a store, or make a similarity or a clusterer.

The command line is built on this module, so that both do the same. What a call needs is imported
when it is first used, because most commands use little of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from segapsith.api.session import Session
from segapsith.errors import SegapsithError
from segapsith.model import (
    Delivery,
    Item,
    Items,
    Json,
    KeyedItems,
    Result,
    Snapshot,
    delivered,
    html_table,
    unit_of,
)
from segapsith.settings import BUILT_IN_PLACEMENT, Value, resolve

if TYPE_CHECKING:
    from segapsith.api import classification, clustering, comparison
    from segapsith.api.browsing import Browsing
    from segapsith.api.curation import Domains
    from segapsith.api.events import Events
    from segapsith.api.network import Networks
    from segapsith.api.runs import Runs
    from segapsith.api.sections import Sections
    from segapsith.api.topics import Topics
    from segapsith.api.tuning import Threshold
    from segapsith.api.validation import Validation
    from segapsith.arrays import Matrix, Rows
    from segapsith.engine.order_sensitivity import StreamUnit
    from segapsith.engine.runs import RunSummary
    from segapsith.plugin.guards import GuardedClusterer, GuardedSimilarity
    from segapsith_store import Store
    from segapsith_store.queries.explain import DocumentExplanation, Explanation
    from segapsith_store.queries.news import Today
    from segapsith_store.queries.search import DocumentSummary, SearchResult
    from segapsith_store.queries.status import Status
    from segapsith_store.verify import Verdict

__all__ = [
    "AllowedAgain",
    "Delivery",
    "Forgotten",
    "ForgottenDocument",
    "KeyedItems",
    "Wire",
    "clusterer",
    "open",
    "similarity",
]


P = ParamSpec("P")
R = TypeVar("R")


class _Imported:
    """A method that is a function of another module, imported when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        function = getattr(import_module(self._module), self._name)
        return function if instance is None else function.__get__(instance, owner)


class _Shortcut(Generic[P, R]):
    """A method of a group that is also a method of the whole."""

    def __init__(self, find: Callable[[Wire], Callable[P, R]]) -> None:
        self._find = find

    def __get__(self, instance: Wire, owner: type) -> Callable[P, R]:
        return self._find(instance)


@dataclass(frozen=True, slots=True)
class ForgottenDocument(Result):
    """A document that was forgotten, and the copy that took its place, if there is one."""

    document: str
    successor: str | None
    units: int
    run: int | None = None
    """Only if one document was named."""

    def keys(self) -> list[str]:
        """Return the names of the fields, without `run` if it is None."""
        names = ["document", "successor", "units"]
        return names if self.run is None else ["run", *names]


@dataclass(frozen=True, slots=True)
class Forgotten(Result):
    """Documents that were forgotten in one run."""

    run: int
    documents: list[ForgottenDocument]
    units: int


@dataclass(frozen=True, slots=True)
class AllowedAgain(Result):
    """Forgotten documents that a later delivery may bring back."""

    run: int
    documents: list[str]
    held: int
    """Texts that stay refused because they were forgotten with other documents too."""


class Wire(Session):
    """A store to learn into and to query. Reading needs no lock; writing takes it until `close`.

    Calls about one subject are in groups: `domains`, `topics`, `sections`, `validation`, `runs`,
    `network`, `threshold`, `events`, `browse`.
    """

    # -- groups ------------------------------------------------------------------------------

    @cached_property
    def domains(self) -> Domains:
        """List domains; merge, split, rename, retire, lock or reassign them."""
        from segapsith.api.curation import Domains

        return Domains(self)

    @cached_property
    def topics(self) -> Topics:
        """List, make and rename topics."""
        from segapsith.api.topics import Topics

        return Topics(self)

    @cached_property
    def sections(self) -> Sections:
        """List, make and rename sections."""
        from segapsith.api.sections import Sections

        return Sections(self, self.topics)

    @cached_property
    def events(self) -> Events:
        """List events."""
        from segapsith.api.events import Events

        return Events(self)

    @cached_property
    def validation(self) -> Validation:
        """Compare domains with a recomputed clustering."""
        from segapsith.api.validation import Validation

        return Validation(self)

    @cached_property
    def runs(self) -> Runs:
        """List runs, and take them back."""
        from segapsith.api.runs import Runs

        return Runs(self)

    @cached_property
    def network(self) -> Networks:
        """Look into the co-occurrence network, or build it from a reference corpus."""
        from segapsith.api.network import Networks

        return Networks(self)

    @cached_property
    def threshold(self) -> Threshold:
        """Search the threshold of placement, or let it follow a target."""
        from segapsith.api.tuning import Threshold

        return Threshold(self)

    @cached_property
    def browse(self) -> Browsing:
        """What the pages of the web application show."""
        from segapsith.api.browsing import Browsing

        return Browsing(self)

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
        from segapsith_store.seal import SEAL_LEAST, SEAL_SHARE, seal

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
        from segapsith_store.identity import document_id

        named = [document_id(self.writer, uid) for uid in _flat(uids)]
        result = self.engine.forget(*named, plan=self.factory.plan("forget"))
        documents = [ForgottenDocument(**document) for document in result["documents"]]
        if len(uids) == 1 and isinstance(uids[0], str):
            return replace(documents[0], run=result["run"])
        return Forgotten(result["run"], documents, result["units"])

    def allow_again(self, *uids: str | Iterable[str]) -> AllowedAgain:
        """Let later deliveries bring forgotten documents back."""
        from segapsith_store.identity import forgotten_id

        named = [forgotten_id(self.writer, uid) for uid in _flat(uids)]
        return AllowedAgain(**self.engine.allow_again(*named, plan=self.factory.plan("forget")))

    # -- queries -----------------------------------------------------------------------------

    if TYPE_CHECKING:
        classify = classification.classify
        cluster = clustering.cluster
        compare = comparison.compare
    else:
        classify = _Imported("segapsith.api.classification")
        cluster = _Imported("segapsith.api.clustering")
        compare = _Imported("segapsith.api.comparison")

    validate = _Shortcut(lambda wire: wire.validation.run)
    tune = _Shortcut(lambda wire: wire.threshold.search)

    def search(
        self, words: str, limit: int = 20, *, documents: bool = True, forms: bool = False
    ) -> SearchResult:
        """Return the documents and domains that contain all the words, best first.

        Without `documents`, only domains are looked for. With `forms`, documents may have other
        forms of a word, by the dictionaries of the store's languages.
        """
        from segapsith.languages.dictionaries import forms_in
        from segapsith_store.queries.search import search

        def ask(store: Store) -> SearchResult:
            langs = sorted(lang for lang, (n, _) in store.languages().items() if n)
            other = partial(forms_in, langs) if forms else None
            return search(store, words, limit, documents=documents, forms=other)

        return self.read(ask)

    def matching(self, words: str) -> list[DocumentSummary]:
        """Return every document that contains all the words in one of its versions."""
        from segapsith_store.queries.search import matching_documents

        return self.read(lambda store: matching_documents(store, words))

    def described(self, uids: Iterable[str]) -> list[DocumentSummary]:
        """Return date, title and number of units of documents, in the order given."""
        from segapsith_store.queries.search import describe_document

        return self.read(lambda store: [describe_document(store, uid) for uid in uids])

    def explain(self, unit: int) -> Explanation:
        """Return why a unit is in its domain: shared words, the ratios of eq. 7, the runner-up."""
        from segapsith_store.queries.explain import explain

        return self.read(lambda store: explain(store, unit, self.placing(store)))

    def explain_document(self, uid: str) -> DocumentExplanation | None:
        """Return why each unit of a document is in its domain; None if there is no such document."""
        from segapsith_store.queries.explain import explain_document

        return self.read(lambda store: explain_document(store, uid, self.placing(store)))

    def status(self) -> Status:
        """Return counts, the digest, the target of the threshold, and the last run."""
        from segapsith_store.queries.status import read_status

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
        from segapsith_store.queries.news import read_today

        return self.read(lambda store: read_today(store, since, most=limit))

    def verify(self, on_check: Callable[[int, int], None] | None = None) -> Verdict:
        """Recompute every sum and count, and return what differs.

        `on_check` is called after each check with the number of checks done and of all.
        """
        from segapsith_store.verify import verify

        return self.read(lambda store: verify(store, on_check))

    def frame(self, what: str, library: str | None = None) -> Any:
        """Return `domains units stories topics sections events days` or `validations` as a table.

        `library` is pandas, polars or pyarrow; by default the first of these that is installed.
        Lists and objects are JSON texts.
        """
        from segapsith.api.browsing.frames import frame

        labeller = self.labeller()
        return self.read(lambda store: frame(store, what, library, labeller))

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the counts of the store."""
        from segapsith_store.queries.status import read_counts

        try:
            stable = self.settings.maintenance.stable
            counts = self.read(lambda store: read_counts(store, stable=stable))
        except SegapsithError as error:
            return html_table(f"Wire {self.path}", [("error", error)])
        names = ("documents", "units", "domains", "stable_domains", "events", "words", "runs")
        shown = ((name.replace("_", " "), f"{counts[name]:,}") for name in names)
        return html_table(f"Wire {self.path}", shown)

    def stream_units(self) -> list[StreamUnit]:
        """Return the units that are learned from, in the order in which they came."""
        from segapsith_store.queries.stream import iterate_stream

        return self.read(lambda store: list(iterate_stream(store)))

    def snapshot(self, lang: str | None = None) -> Snapshot:
        """Return the units with their domains, as comparisons and exporters receive them."""
        from segapsith_store.queries.stream import learned_units

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
        from segapsith.api import reporting
        from segapsith.report.page import page

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
                labeller=self.labeller(),
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
    from segapsith.plugin.registry import load_plugins

    made: GuardedSimilarity = load_plugins().make("similarity", name, settings)
    return made


def clusterer(name: str, **settings: Json) -> GuardedClusterer:
    """Make the clusterer of that name; its labels are checked against the contract."""
    from segapsith.plugin.registry import load_plugins

    made: GuardedClusterer = load_plugins().make("clusterer", name, settings)
    return made
