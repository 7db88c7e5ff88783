"""The program as Python sees it: `open` a store, or make a similarity, a clusterer, units.

The command line is built on this module, so the two cannot say different things.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version as version_of
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from segapsith import clustering
from segapsith.arrays import Labels, Rows
from segapsith.catalogue import OWN_PACKAGE, Catalogue, load_plugins
from segapsith.contracts import Annotator
from segapsith.domains import PlacementSettings
from segapsith.engine import Engine, Learning, Plan, RunSummary
from segapsith.errors import ConfigurationError, SettingError, did_you_mean
from segapsith.language import KNOWN, language_of
from segapsith.model import Annotation, Document, Lexicon, Network, Reject, Snapshot
from segapsith.parallel import ParallelAnnotator
from segapsith.proving import Prover
from segapsith.records import FeedState
from segapsith.report import page
from segapsith.seam import CheckedAnnotator, Who
from segapsith.settings import Settings, resolve
from segapsith.terms import given_terms
from segapsith_store import Store, browse, reporting
from segapsith_store.verify import Verdict, verify

__all__ = ["Delivery", "Segment", "Wire", "clusterer", "open", "segment", "similarity"]

_CHOSEN = {"annotator": "annotator", "segmenter": "segmenter", "placement": "similarity"}
"""The setting that chooses a plugin, and the kind of plugin it chooses."""


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

    def placing(self) -> PlacementSettings:
        """How units find their domains, by the present settings."""
        values = self.settings
        chosen = {
            f.name: values[f.name] for f in fields(PlacementSettings) if f.name in values.values
        }
        try:
            return PlacementSettings(**{**chosen, **self._plugin_settings()["engine"]})
        except (TypeError, ValueError) as error:
            raise SettingError(f"placement: {error}") from error

    def learning(self) -> Learning:
        """The chosen plugins, made with their settings."""
        values = self.settings
        own = self._plugin_settings()
        placing = self.placing()
        name = str(values["placement"])
        measure = (
            None if name == "eq7" else self.catalogue.make("similarity", name, own.get("placement"))
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
            window=_window(values["window"]),
        )

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

    def forget(self, uid: str) -> dict[str, Any]:
        """Takes a document out exactly."""
        return self.engine.forget(uid, self.plan("forget"))

    def undo(self, run: int | None = None) -> dict[str, Any]:
        """Takes the last run back."""
        return self.engine.undo(run, self.versions())

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
        """Domains with their words, largest first: `min_units`, `top`, `since`, `limit`, `lang`."""
        found: list[dict[str, Any]] = self.read(lambda store: browse.domains(store, **choice))
        return found

    def show(self, domain: int, **choice: Any) -> dict[str, Any]:
        """One domain in full."""
        found: dict[str, Any] = self.read(lambda store: browse.domain(store, domain, **choice))
        return found

    def status(self) -> dict[str, Any]:
        """Counts, digest and last run."""
        found: dict[str, Any] = self.read(browse.status)
        return found

    def verify(self) -> Verdict:
        """Every sum and count computed again."""
        found: Verdict = self.read(verify)
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
        told: Callable[[clustering.Cost], None] | None = None,
    ) -> dict[str, Any]:
        """A clustering recomputed from the stored units, kept under a run.

        A clusterer that must be given a number and is given none makes as many clusters as there
        are stable domains. `weights` are `counts` or `tf-idf`, the latter if a similarity is named.
        `told` hears what it will cost before it starts; it is refused if memory is too small.
        """
        learned = self.read(lambda store: browse.learned_units(store, lang))
        if k is None and self._needs_number(clusterer, settings or {}):
            _, sizes = np.unique(learned.domains, return_counts=True)
            k = int((sizes >= int(self.settings["stable"])).sum()) or len(sizes)
        rows, chosen = clustering.sampled(learned.counts, sample or len(learned.units), seed)
        labels, cost, seconds = self.cluster_rows(
            clustering.weighted(rows, weights, similarity),
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

    def _needs_number(self, clusterer: str, settings: Mapping[str, Any]) -> bool:
        """Whether a clusterer must be told how many clusters to make."""
        known = self.catalogue.settings("clusterer", clusterer)
        return "k" in known and known["k"].default is not None and "k" not in settings

    def cluster_rows(
        self,
        rows: Rows,
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
        labels = clustering.cluster(rows, measure() or None, grouping(rows.shape[0]))
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


def segment(
    text: str,
    lang: str = "auto",
    segmenter: str = "paragraphs",
    annotator: str = "simplemma",
    store: str | None = None,
    **settings: Any,
) -> list[Segment]:
    """The thematic units of a text."""
    if store is not None and not os.path.exists(store):
        raise ConfigurationError(f"there is no store at {store}")
    catalogue = load_plugins()
    document = Document(body=text)
    document = Document(body=text, lang=language_of(lang)(document))
    (annotation,) = catalogue.make("annotator", annotator).annotate([document], Lexicon())
    units = catalogue.make("segmenter", segmenter, settings).segment(annotation, Network())
    return [
        Segment(u.start, u.end, u.cohesion, u.kept, _words(annotation, u.first, u.last), u.inferred)
        for u in units
    ]


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


def _window(size: int) -> int:
    if size < 0:
        raise SettingError(f"window={size} should be >= 0")
    return size


def _by_taker(
    settings: Mapping[str, Any], known: Mapping[str, set[str]]
) -> dict[str, dict[str, Any]]:
    """Settings sorted by who knows their name; `role.name` means that role alone."""
    sorted_out: dict[str, dict[str, Any]] = {role: {} for role in known}
    for name, value in settings.items():
        role, _, inner = name.rpartition(".")
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
