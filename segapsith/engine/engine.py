"""The straight line from documents to domains.

The engine receives made objects and never looks up a name. A batch of items becomes one
transaction; what is not yet committed when something fails is as if it had not been read.
"""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare
from segapsith.domains import threshold_control
from segapsith.domains.explanation import explain_similarity
from segapsith.domains.index import DomainIndex
from segapsith.domains.threshold_control import ThresholdController
from segapsith.domains.values import Bag
from segapsith.engine import clock, domain_changes
from segapsith.engine.arrivals import Arrival, ArrivalClassifier, sound, sound_all
from segapsith.engine.components import Components
from segapsith.engine.learning_settings import FACT, periods
from segapsith.engine.network_state import NetworkState, used_by
from segapsith.engine.records import (
    Batch,
    DocumentRecord,
    DomainRecord,
    EpochRecord,
    UnitRecord,
    VersionRecord,
)
from segapsith.engine.removal import Removal, undo_target
from segapsith.engine.runs import RunPlan, RunSummary
from segapsith.engine.state import Frozen, Knowledge, Ready, content_places
from segapsith.engine.steering import Steering
from segapsith.engine.storage import Storage
from segapsith.engine.updates import BatchUpdate
from segapsith.errors import MissingInputError, SettingError, StorageError, UsageError
from segapsith.intake import embargo, near_duplicates, normalization, notices
from segapsith.intake.bag_batch import BagBatch
from segapsith.intake.language import KNOWN
from segapsith.lexicon.multiword_terms import CONNECTORS, links
from segapsith.lexicon.weighting import SCALE
from segapsith.model import Annotation, Document, FeedState, Reject, Unit

__all__ = ["Engine"]

_NO_WORDS, _NO_JOINS = np.zeros(0, np.int32), np.zeros(0, np.uint8)
"""Of a text that is none: a ready unit has its words itself."""

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode

BAGS = 32
"""Ready units that make up one item: they take about as long."""


class _Waiting(NamedTuple):
    """An arrival that is to be read, and the place of its bag in the sheaf if it is ready."""

    arrival: Arrival
    place: int


class Engine:
    """Learns from documents, forgets them, takes runs back; the store remembers."""

    def __init__(self, store: Storage, learning: Components) -> None:
        self._store = store
        self._learning = learning
        self._loaded: Knowledge | None = None
        self._rows: dict[int, DomainRecord] = {}
        self._window: near_duplicates.Window | None = None
        self._network: NetworkState
        self._following: ThresholdController | None = None
        self._reads = ""

    # -- knowledge -------------------------------------------------------------------------

    @property
    def knowledge(self) -> Knowledge:
        """What is known, loaded from the store when it is first needed."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self, lang: str | None = None) -> Knowledge:
        """The knowledge; for one language alone it is enough to read with, not to learn."""
        store, learning = self._store, self._learning
        self._following = store.threshold_controller() if learning.follows else None
        knowledge = Knowledge(
            DomainIndex(learning.placement),
            learning.importance,
            learns_terms=learning.learns_terms,
            given_terms=learning.given_terms,
            pair_window=learning.network.window,
        )
        self._follow(knowledge)
        facts = store.facts()
        knowledge.restore_counts(store.words(), store.languages(), store.cohesion(), facts)
        for name in ("count", "inferred_occurrence"):
            wanted = getattr(learning.placement, name)
            if facts.get(name, wanted) != wanted:
                raise SettingError(
                    f"{name}={wanted!r} does not fit this store, whose occurrences were counted with"
                    f" {facts[name]!r}"
                )
        window = int(facts.get("pair_window", learning.network.window))
        if window != learning.network.window:
            raise SettingError(
                f"network_window={learning.network.window} does not fit this store, whose words meet"
                f" within {window}"
            )
        self._rows = {}
        for row in store.open_domains(lang):
            knowledge.domains.restore(row.id, row.sums)
            self._rows[row.id] = row
        knowledge.domains.skip_to(int(facts.get("next_domain", 1)))
        if lang is None:
            knowledge.term_counts = store.term_counts()
        knowledge.terms = store.terms()
        knowledge.read_with_terms()
        frozen = store.frozen_arrays("frequencies")
        if frozen is not None:
            knowledge.freeze(Frozen.of(dict(frozen.arrays)))
        if learning.measure is not None:
            state = store.frozen_arrays(learning.measure_name)
            if state is not None:
                learning.measure.restore(state.arrays)
        self._network = NetworkState(
            store, knowledge, learning.network, used_by(learning.segmenter)
        )
        self._window = (
            near_duplicates.Window(learning.window) if learning.window and not lang else None
        )
        if self._window is not None:
            oldest = knowledge.counters.ordinal - learning.window
            self._window.fill(store.signatures(oldest))
        return knowledge

    @property
    def _compare(self) -> Compare | None:
        measure = self._learning.measure
        return None if measure is None else measure.compare_both_ways

    def _contributions(self, batch: Batch) -> BatchUpdate:
        knowledge = self.knowledge  # loads the rows too
        return BatchUpdate(knowledge, self._rows, batch, self._compare, self._asleep)

    def _asleep(self, domain: int) -> DomainRecord:
        """A domain that is not in memory: closed, or without units."""
        row = self._store.domain(domain)
        if row is None:
            raise StorageError(
                f"domain {domain} is missing; `segapsith verify` lists what is wrong"
            )
        return row

    # -- ingest ----------------------------------------------------------------------------

    def ingest(
        self,
        items: Iterable[Document | Reject | FeedState],
        plan: RunPlan | None = None,
        watch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Reads items to the end, batch by batch; the same input after a kill goes on."""
        plan = plan or RunPlan()
        began = time.monotonic()
        summary, committed = self._open_run(plan)
        earlier = summary.seconds
        consumed = counted = 0
        noted = plan.learning is None
        try:
            chunks = _chunks(items, plan.batch)
            while True:
                with _no_collector():
                    found = next(chunks, None)
                    if found is None:
                        break
                    chunk, feed = found
                    already = max(0, min(len(chunk), committed - consumed))
                    consumed += len(chunk)
                    batch = Batch(run=summary.run, position=max(consumed, committed))
                    trial = replace(summary)
                    first_unit, last_ordinal = self._place_in_stream()
                    self._learn_chunk(chunk, already, batch, trial)
                    if not noted and batch.versions:
                        batch.facts |= plan.facts(summary.run, first_unit, last_ordinal + 1)
                        noted = True
                    trial.seconds = round(earlier + time.monotonic() - began, 3)
                    batch.counts = trial.as_json()
                    if feed is not None:
                        batch.feed, counted = replace(feed, new=trial.new - counted), trial.new
                    self._store.save(batch)
                summary = trial
                if watch is not None:
                    watch(summary)
        except BaseException:
            self._loaded = None  # what was learned since the last batch is not in the store
            raise
        summary.seconds = round(earlier + time.monotonic() - began, 3)
        self._store.finish_run(summary.run, "done", summary.as_json())
        return summary

    def _place_in_stream(self) -> tuple[int, int]:
        """Return the number of the next unit and the ordinal of the last story."""
        counters = self.knowledge.counters
        return counters.unit, counters.ordinal

    def preview(self, items: Iterable[Document | Reject | FeedState]) -> RunSummary:
        """What an ingest would do; the store does not change."""
        began = time.monotonic()
        summary = RunSummary()
        try:
            stories = [item for item in items if not isinstance(item, FeedState)]
            self._learn_chunk(stories, 0, Batch(run=0), summary)
        finally:
            self._loaded = None
        summary.seconds = round(time.monotonic() - began, 3)
        return summary

    def classify(
        self, document: Document, top: int = 3, topics: Mapping[int, int] | None = None
    ) -> dict[str, Any]:
        """Which domains a text belongs to, unit by unit; nothing is learned.

        `topics` are those of the domains, as far as they have one.

        An engine that has classified is not to be learned with: it knows one language, and words
        that the store does not have.
        """
        checked = sound(document)
        if isinstance(checked, Reject):
            raise UsageError(f"this cannot be classified: {checked.reason}")
        document = checked
        lang = self._learning.language(document)
        if self._loaded is None or self._reads != lang:
            self._loaded, self._reads = self._load(lang), lang
        knowledge = self._loaded
        (annotation,) = self._learning.annotator.annotate(
            [replace(document, lang=lang)], knowledge.lexicon
        )
        words, _, cuts = self._segmented(lang, annotation)
        units = []
        for unit, first, last in cuts:
            bag = knowledge.bag(lang, words[first:last])
            near = knowledge.domains.nearest(bag, top, self._compare, len(knowledge.vocabulary))
            units.append(
                {
                    "start": unit.start,
                    "end": unit.end,
                    "cohesion": float(unit.cohesion),
                    "kept": unit.kept and last > first,
                    "words": {
                        knowledge.vocabulary.word(int(w)): int(c)
                        for w, c in zip(bag.words, bag.counts, strict=True)
                    },
                    "domains": [
                        {**self._near(bag, domain, score), "topic": (topics or {}).get(domain)}
                        for domain, score in near
                    ],
                }
            )
        return {"lang": lang, "threshold": knowledge.domains.settings.threshold, "units": units}

    def _near(self, bag: Bag, domain: int, score: float) -> dict[str, Any]:
        """A domain that a unit is near to, and the words that speak for it."""
        knowledge = self.knowledge
        found = explain_similarity(knowledge.domains, domain, bag).as_json(
            knowledge.vocabulary.word
        )
        return {
            "id": domain,
            "label": self._rows[domain].label,
            **found,
            "score": round(score, 6),
            "joins": score >= knowledge.domains.settings.threshold,
        }

    def _open_run(self, plan: RunPlan) -> tuple[RunSummary, int]:
        found = self._store.unfinished(plan.command, plan.input_key) if plan.input_key else None
        if found is not None:
            run, committed, counts = found
            self._store.resume_run(run)
            known = {k: v for k, v in counts.items() if k in RunSummary.__dataclass_fields__}
            return RunSummary(**{**known, "run": run}), committed
        run = self._store.begin_run(
            plan.command,
            settings=plan.settings,
            versions=plan.versions,
            name=plan.name,
            input_key=plan.input_key,
        )
        return RunSummary(run=run), 0

    def _learn_chunk(
        self, chunk: list[Document | Reject], already: int, batch: Batch, summary: RunSummary
    ) -> None:
        """Learns one batch; the first `already` items were counted before a kill."""
        counters = self.knowledge.counters  # loads the window and the network too
        self._network.open(batch)
        reception = ArrivalClassifier(self._store, counters, batch.run, self._window)
        waiting: list[_Waiting] = []
        sounded, bag_batch = sound_all(chunk)
        arrivals = reception.receive_all((d for d in sounded if isinstance(d, Document)), bag_batch)
        n_ready = 0
        for position, document in enumerate(sounded):
            again = position < already
            if isinstance(document, Reject):
                if not again:
                    summary.read += 1
                    summary.rejected += 1
                    batch.rejects.append((document.name, document.reason))
                continue
            arrival = next(arrivals)
            place = n_ready
            n_ready += document.bag is not None
            if arrival is None:
                if not again:
                    summary.read += 1
                    summary.forgotten += 1
                continue
            number, source = arrival.record.id, document.source
            if source and not (arrival.known and self._store.seen(number, source)):
                batch.sightings.append((number, source))
            if not arrival.known:
                waiting.append(_Waiting(arrival, place))
            if arrival.known and again:
                continue
            summary.read += 1
            if arrival.before is not None or (
                arrival.replaced and arrival.notice is not notices.Notice.NONE
            ):
                summary.corrected += 1
            elif arrival.known or arrival.replaced or not arrival.record.counts:
                summary.duplicate += 1
            else:
                summary.new += 1
        contributions = self._contributions(batch)
        steering = None
        if self._following is not None:
            steering = Steering(self._following, contributions, batch, counters.unit)
        for group in _epochs(waiting):
            self._learn_group(group, bag_batch, batch, contributions, summary, steering)
        contributions.close()
        if steering is not None:
            steering.note()
        summary.domains_joined += contributions.joined
        summary.domains_new += contributions.created

    def _learn_group(
        self,
        group: list[_Waiting],
        bag_batch: BagBatch,
        batch: Batch,
        contributions: BatchUpdate,
        summary: RunSummary,
        steering: Steering | None,
    ) -> None:
        """Learns documents that see the same epoch; the clock may tick after the last."""
        withdrawal = Removal(self._store, batch, contributions)
        last = group[-1].arrival
        for arrival, lang, read in self._read(group, bag_batch):
            version, units = self._version(arrival, lang, read, batch.run)
            if lang not in KNOWN:
                summary.other_languages += 1
                # not in place: a batch that fails must leave the counts of those before it alone
                before = summary.languages.get(lang, 0)
                summary.languages = {**summary.languages, lang: before + 1}
            summary.embargoed += embargo.KEY in arrival.document.metadata
            batch.versions.append(version)
            if arrival.before is not None:
                batch.changes.append(arrival.before)
                if arrival.before.counts:
                    withdrawal.take_out(arrival.before)
            batch.documents[arrival.record.id] = arrival.record
            if arrival.replaced:
                batch.changes.extend(arrival.replaced)
                for displaced in arrival.replaced:
                    if displaced.counts:
                        withdrawal.take_out(displaced)
                batch.documents.update((record.id, record) for record in arrival.displaced)
            ordinal = arrival.record.ordinal or 0
            if arrival.record.counts:
                contributions.learn(version, units, ordinal)
                summary.units += len(units)
                summary.units_kept += sum([unit.kept for unit in units])
            else:
                batch.units.update((unit.id, unit) for unit in units)
            if arrival is last and _ticks(arrival):
                self._tick(ordinal, batch, contributions)
            if steering and arrival.accepted and threshold_control.is_control_step(ordinal):
                contributions.flush()
                knowledge = self.knowledge
                steering.step(ordinal, knowledge.counters.unit, knowledge.domains.count_open())
                self._follow(knowledge)

    def _follow(self, knowledge: Knowledge) -> None:
        """Places with the threshold of the target, if one is followed."""
        if self._following is not None:
            now = self._following.threshold / SCALE
            knowledge.domains.settings = replace(knowledge.domains.settings, threshold=now)

    def _tick(self, ordinal: int, batch: Batch, contributions: BatchUpdate) -> None:
        contributions.tick(ordinal)
        self._network.tick(ordinal, contributions.pairs, batch)
        learning, knowledge = self._learning, self.knowledge
        domain_changes.retire_quiet(
            batch, contributions, ordinal, learning.retire_after, learning.retire_below
        )
        measure = learning.measure
        if measure is not None:
            measure.learn(knowledge.domains.rows(knowledge.domains, len(knowledge.vocabulary)))
            name = learning.measure_name
            batch.epochs[name] = EpochRecord(
                knowledge.counters.epoch, ordinal, name, measure.state()
            )

    def _read(
        self, group: list[_Waiting], bag_batch: BagBatch
    ) -> Iterator[tuple[Arrival, str, Annotation | Ready]]:
        """Each arrival with its language and its annotation, or its words if it is ready; in
        order, because words are numbered in the order in which they come."""
        kinds = [
            (self._learning.language(arrival.document), arrival.document.bag is not None)
            for arrival, _ in group
        ]
        texts = [
            replace(arrival.document, lang=lang)
            for (arrival, _), (lang, is_ready) in zip(group, kinds, strict=True)
            if not is_ready
        ]
        annotations = iter(self._learning.annotator.annotate(texts, self.knowledge.lexicon))
        for (lang, is_ready), alike in groupby(zip(kinds, group, strict=True), itemgetter(0)):
            some = [waiting for _, waiting in alike]
            read: Iterator[Annotation | Ready] = annotations
            if is_ready:
                read = iter(self.knowledge.bags(lang, bag_batch, [place for _, place in some]))
            for arrival, _ in some:
                yield arrival, lang, next(read)

    def _version(
        self, arrival: Arrival, lang: str, read: Annotation | Ready, run: int
    ) -> tuple[VersionRecord, list[UnitRecord]]:
        """The text of an arrival with its words, and its units, not placed yet."""
        counters, document = self.knowledge.counters, arrival.document
        words, joins = _NO_WORDS, _NO_JOINS
        cuts: list[tuple[Unit, int, int]] = []
        if not isinstance(read, Ready):
            words, joins, cuts = self._segmented(lang, read)
        version = VersionRecord(
            counters.version,
            arrival.record.id,
            arrival.record.version,
            arrival.digest,
            document.title,
            document.body,
            normalization.utc(document.date),
            document.date,
            lang,
            document.source,
            _told(document.metadata),
            arrival.signature,
            words,
            joins,
            run,
        )
        counters.version += 1
        head = (arrival.record.id, version.id)
        units = []
        if isinstance(read, Ready):
            units.append(
                UnitRecord(counters.unit, *head, 0, 0, 0, 0, read.n_words, 0.0, True,
                           counters.epoch, read.bag)
            )  # fmt: skip
        withdrawn = arrival.notice is notices.Notice.WITHDRAWAL
        for position, (unit, first, last) in enumerate(cuts):
            units.append(
                UnitRecord(
                    counters.unit + position,
                    *head,
                    position,
                    unit.start,
                    unit.end,
                    first,
                    last - first,
                    float(unit.cohesion),
                    unit.kept and last > first and not withdrawn,
                    counters.epoch,
                    self.knowledge.bag(lang, words[first:last], unit.inferred),
                )
            )
        counters.unit += len(units)
        return version, units

    def _segmented(
        self, lang: str, annotation: Annotation
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8], list[tuple[Unit, int, int]]]:
        """The content words of a text, how they join, and its units with the words of each."""
        content = content_places(annotation)
        lemmas, places = _with_parts(lang, [annotation.lemmas[i] for i in content])
        joins = np.zeros(len(lemmas), dtype=np.uint8)
        joins[places[:-1]] = links(annotation, content)
        units = self._learning.segmenter.segment(annotation, self._network.of(lang))
        firsts = places[np.searchsorted(content, [unit.first for unit in units])]
        lasts = places[np.searchsorted(content, [unit.last for unit in units])]
        cuts = list(zip(units, firsts.tolist(), lasts.tolist(), strict=True))
        return self.knowledge.numbered(lang, lemmas), joins, cuts

    # -- taking back -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _recorded(self, plan: RunPlan) -> Iterator[Batch]:
        """A run of one batch: kept and `done` when the block ends, `failed` when it raises."""
        run = self._store.begin_run(plan.command, settings=plan.settings, versions=plan.versions)
        batch = Batch(run=run)
        try:
            yield batch
            self._store.save(batch)
        except BaseException:
            self._loaded = None  # it may hold changes that are not in the store
            # on a full disk this fails as well; the first error says why
            with contextlib.suppress(StorageError):
                self._store.finish_run(run, "failed")
            raise
        self._store.finish_run(run, "done")

    def forget(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Take documents out exactly, with their texts, and refuse them from now on.

        All go in one transaction. The earliest copy of each that stays takes its place.
        """
        records = self._forgettable(uids)
        stories = [record for record in sorted(records) if record.counts]
        results: list[dict[str, Any]] = []
        with self._recorded(plan or RunPlan("forget")) as batch:
            batch.gone_documents = [record.id for record in records]
            contributions = self._contributions(batch)
            withdrawal = Removal(self._store, batch, contributions)
            # all are taken out first: no successor is placed by words that go as well
            taken = [(story, withdrawal.take_out(story)) for story in stories]
            heirs = {story.id: withdrawal.promote(story, units) for story, units in taken}
            batch.ended.clear()
            for record in records:
                versions = self._store.versions_of(record.id)
                batch.forgotten += [(record.uid, version.hash) for version in versions]
                units = {
                    unit.id
                    for version in versions
                    for unit in self._store.units_of_version(version.id)
                }
                for number in units:
                    batch.units.pop(number, None)
                heir = heirs.get(record.id)
                results.append(
                    {
                        "document": record.uid,
                        "successor": heir.uid if heir else None,
                        "units": len(units),
                    }
                )
            contributions.close()
            n_units = sum(result["units"] for result in results)
            # the run log keeps no id: what is forgotten must not be read there
            batch.counts = {"documents": len(records), "units": n_units}
        self._loaded = None  # the window has lost stories
        return {"run": batch.run, "documents": results, "units": n_units}

    def _forgettable(self, uids: Sequence[str]) -> list[DocumentRecord]:
        """The documents of these ids, each once."""
        if not uids:
            raise UsageError("name at least one document; `segapsith search` finds ids")
        by_uid = {uid: self._store.document(uid) for uid in uids}
        missing = [uid for uid, record in by_uid.items() if record is None]
        gone = self._store.forgotten_uids(missing)
        if unknown := [uid for uid in missing if uid not in gone]:
            names = ", ".join(map(repr, unknown))
            raise MissingInputError(f"no document is called {names}; `segapsith search` finds ids")
        if missing:
            names = ", ".join(map(repr, missing))
            raise MissingInputError(f"already forgotten: {names}; name only documents of the store")
        return [record for record in by_uid.values() if record is not None]

    def allow_again(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Lift the tombstones of forgotten documents: a later delivery may bring them back.

        `held` counts texts of theirs that stay refused, forgotten with other documents too.
        """
        if not uids:
            raise UsageError("name at least one forgotten document")
        chosen = list(dict.fromkeys(uids))
        gone = self._store.forgotten_uids(chosen)
        if unknown := [uid for uid in chosen if uid not in gone]:
            names = ", ".join(map(repr, unknown))
            raise MissingInputError(f"not forgotten, so nothing to allow again: {names}")
        held = self._store.shared_tombstones(chosen)
        with self._recorded(plan or RunPlan("forget")) as batch:
            batch.allowed_again = chosen
            batch.counts = {"documents": 0, "allowed_again": len(chosen)}
        return {"run": batch.run, "documents": chosen, "held": held}

    def undo(
        self, run: int | None = None, versions: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Takes the last run back; what was learned later from other runs must go first."""
        target = undo_target(self._store, run)
        with self._recorded(RunPlan("undo", {"run": target}, versions or {})) as batch:
            batch.undone_run = target
            contributions = self._contributions(batch)
            withdrawal = Removal(self._store, batch, contributions)
            removed = self._store.documents_of(target)
            for record in removed:
                if record.counts:
                    withdrawal.take_out(record)
                batch.gone_documents.append(record.id)
            gone = {record.id for record in removed}
            restored = [r for r in self._store.changes_by(target) if r.id not in gone]
            past = self._store.past_assignments(target)
            for before in restored:
                withdrawal.revert(before, past)
            moved = domain_changes.take_back(self._store, target, batch, contributions)
            history = periods(self._store.facts())
            if any(period.run == target for period in history):
                batch.facts[FACT] = [p.as_json() for p in history if p.run != target]
            batch.ended.clear()
            for unit in [u for u in batch.units.values() if u.document in gone]:
                del batch.units[unit.id]
            contributions.close()
            batch.counts = {
                "run": target,
                "documents": len(removed),
                "restored": len(restored),
                "moved": moved,
            }
        self._loaded = None  # the window has lost stories
        return dict(batch.counts)

    def change(
        self, changes: Sequence[domain_changes.Change], plan: RunPlan
    ) -> list[dict[str, Any]]:
        """Does something to domains, all of it in one run or nothing; says what was done."""
        for change in changes:
            change.check(self._store)
        with self._recorded(plan) as batch:
            contributions = self._contributions(batch)
            done = [change.apply(self._store, batch, contributions) for change in changes]
            contributions.close()
            batch.counts = done[0] if len(done) == 1 else {"changes": len(done)}
        return [{"run": batch.run, **result} for result in done]


def _told(metadata: Mapping[str, Any]) -> str:
    """Metadata as JSON; what is text alone comes again and again, and is remembered."""
    for value in metadata.values():
        if type(value) is not str:
            return _encode(dict(metadata))
    return _told_before(tuple(metadata.items()))


@lru_cache(maxsize=1024)
def _told_before(items: tuple[tuple[str, str], ...]) -> str:
    return _encode(dict(items))


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """What is read and made for a batch lives until it is kept: looking for garbage finds none."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _chunks(
    items: Iterable[Document | Reject | FeedState], size: int
) -> Iterator[tuple[list[Document | Reject], FeedState | None]]:
    """Batches cut by the input: every `size` items, whatever they turn out to be, and behind the
    last item of a feed. Ready units count for less: there is nothing to read in them."""
    chunk: list[Document | Reject] = []
    load = 0
    for item in items:
        if isinstance(item, FeedState):
            yield chunk, item
            chunk, load = [], 0
            continue
        chunk.append(item)
        load += 1 if isinstance(item, Document) and item.bag is not None else BAGS
        if load >= size * BAGS:
            yield chunk, None
            chunk, load = [], 0
    if chunk:
        yield chunk, None


def _epochs(arrivals: list[_Waiting]) -> Iterator[list[_Waiting]]:
    """Stretches of arrivals that see the same epoch: the clock ticks only after the last."""
    group: list[_Waiting] = []
    for waiting in arrivals:
        group.append(waiting)
        if _ticks(waiting.arrival):
            yield group
            group = []
    if group:
        yield group


def _ticks(arrival: Arrival) -> bool:
    """Whether the clock ticks when this arrival has been learned."""
    return arrival.accepted and clock.ticks(arrival.record.ordinal or 0)


def _with_parts(lang: str, lemmas: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Lemmas with the words of each multi-word term behind it, and where each of them is now.

    A term says more than its words, but texts read before it was learned have only the words, and
    others have one of them alone: with both, all of these still meet.

    >>> _with_parts("en", ["visit", "prime minister", "rome"])
    (['visit', 'prime minister', 'prime', 'minister', 'rome'], array([0, 1, 4, 5]))
    """
    small = {word for words in CONNECTORS.get(lang, ()) for word in words}
    result: list[str] = []
    places = []
    for lemma in lemmas:
        places.append(len(result))
        result.append(lemma)
        if " " in lemma:
            result += [part for part in lemma.split(" ") if part and part not in small]
    return result, np.array([*places, len(result)], dtype=np.int64)
