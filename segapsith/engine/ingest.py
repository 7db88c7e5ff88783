"""The engine, and the way of an article through it: receive, read, place, save.

A batch of items is one transaction. What is not committed when something fails is as if it had not
been read, and the same input continues behind the last batch that was.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from segapsith import limits
from segapsith.engine import domain_changes, removal
from segapsith.engine.arrivals import Arrival, receive
from segapsith.engine.classify import classify
from segapsith.engine.components import Components
from segapsith.engine.reading import Readings, learned_part, read
from segapsith.engine.runs import RunPlan, RunSummary
from segapsith.engine.state import State, load_state
from segapsith.engine.storage import Storage
from segapsith.engine.updates import UpdateBuilder, place
from segapsith.model import Document, EndOfBatch, FeedState, Item, Positioned, Reject

__all__ = ["BAGS", "Engine", "Items", "batches", "ingest", "preview"]

Items = Iterable[Item]

logger = logging.getLogger(__name__)

BAGS = 32
"""Number of pre-segmented units that count as one item of a batch: they take about as long."""


class Engine:
    """Learns from documents, forgets them, undoes runs, changes domains.

    The state stays in memory between two calls. Every call that changes it takes it, and gives it
    back when the store has the same: after an exception the next call loads it again.
    """

    def __init__(self, storage: Storage, components: Components) -> None:
        self.storage = storage
        self.components = components
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The state of the store, loaded when it is first needed."""
        if self._state is None:
            self._state = load_state(self.storage, self.components)
        return self._state

    def _take_state(self) -> State:
        """Return the state; the engine has none until it is given back."""
        state, self._state = self.state, None
        return state

    def ingest(
        self,
        items: Items,
        plan: RunPlan | None = None,
        on_batch: Callable[[RunSummary], None] | None = None,
    ) -> RunSummary:
        """Learn from items to the end, batch by batch; the same input after a kill continues."""
        state = self._take_state()
        summary = ingest(items, state, self.components, self.storage, plan or RunPlan(), on_batch)
        self._state = state
        return summary

    def preview(self, items: Items) -> RunSummary:
        """Return what an ingest would do; the store does not change."""
        return preview(items, self._take_state(), self.components, self.storage)

    def classify(self, document: Document, top: int = 3) -> dict[str, Any]:
        """Return which domains a text belongs to, unit by unit; nothing is learned."""
        return classify(document, self.components, self.storage, top=top)

    def forget(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Remove documents exactly, with their texts, and refuse them from now on."""
        records, plan = removal.forgettable(uids, self.storage), plan or RunPlan("forget")
        return removal.forget(records, self._take_state(), self.components, self.storage, plan)

    def allow_again(self, *uids: str, plan: RunPlan | None = None) -> dict[str, Any]:
        """Let later deliveries bring forgotten documents back."""
        return removal.allow_again(uids, self.storage, plan or RunPlan("forget"))

    def undo(
        self, run: int | None = None, versions: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Undo a run, by default the last; later runs that learned something must go first."""
        target = removal.undo_target(run, self.storage)
        state = self._take_state()
        return removal.undo(target, state, self.components, self.storage, versions or {})

    def change(
        self, changes: Sequence[domain_changes.Change], plan: RunPlan
    ) -> list[dict[str, Any]]:
        """Change domains, all in one run or not at all; return what each change did."""
        for change in changes:
            change.check(self.storage)
        state = self._take_state()
        results = domain_changes.apply_changes(changes, state, self.components, self.storage, plan)
        self._state = state
        return results


def ingest(
    items: Items,
    state: State,
    components: Components,
    storage: Storage,
    plan: RunPlan,
    on_batch: Callable[[RunSummary], None] | None = None,
) -> RunSummary:
    """Learn from items to the end, batch by batch; the same input after a kill continues.

    An exception leaves the state ahead of the store: it must be discarded then.
    """
    began = time.monotonic()
    with storage.run(plan, resume=True) as run:
        summary = RunSummary.of(run)
        earlier, consumed, new_before_feed = summary.seconds, 0, 0
        is_noted = plan.learning is None
        for batch, feed in batches(items, plan.batch):
            already = max(0, min(len(batch), run.position - consumed))
            consumed += len(batch)
            first_unit, first_ordinal = state.counters.unit, state.counters.ordinal + 1
            builder = learn_batch(
                batch, state, components, storage, run=run.number, already=already
            )
            update = builder.update
            if not is_noted and (update.versions or update.ready):
                update.facts |= plan.facts(run.number, first_unit, first_ordinal)
                is_noted = True
            total = summary.plus(builder.summary)
            total.seconds = round(earlier + time.monotonic() - began, 3)
            update.position = max(consumed, run.position)
            update.counts = total.as_json()
            if feed is not None:
                update.feed = replace(feed, new=total.new - new_before_feed)
                new_before_feed = total.new
            storage.save(update)
            summary = total
            del batch, builder, update  # not two batches in memory while the next one is read
            if on_batch is not None:
                on_batch(summary)
        summary.seconds = round(earlier + time.monotonic() - began, 3)
        run.counts = summary.as_json()
    return summary


def preview(items: Items, state: State, components: Components, storage: Storage) -> RunSummary:
    """Return what an ingest would do; the store does not change, the state must be discarded."""
    began = time.monotonic()
    stories = [item for batch, _ in batches(items, sys.maxsize) for item in batch]
    summary = learn_batch(stories, state, components, storage, run=0).summary
    summary.seconds = round(time.monotonic() - began, 3)
    return summary


def learn_batch(
    items: Sequence[Document | Reject],
    state: State,
    components: Components,
    storage: Storage,
    *,
    run: int,
    already: int = 0,
) -> UpdateBuilder:
    """Learn one batch; the first `already` items were committed before the run was resumed."""
    builder = UpdateBuilder(state, components, storage, run=run)
    if not state.network.is_open:
        builder.open_network()
    received = receive(items, storage, state, run=run, already=already)
    builder.note_received(received)
    for arrivals in received.epochs():
        langs = [components.language(arrival.document) for arrival in arrivals]
        readings = _read(arrivals, langs, state, components)
        place(arrivals, langs, readings, received.bags, builder)
    builder.close()
    builder.note_threshold()
    return builder


def _read(
    arrivals: Sequence[Arrival], langs: Sequence[str], state: State, components: Components
) -> Iterator[Readings]:
    """Read the texts among the arrivals with what the clock froze last."""
    documents = [
        replace(arrival.document, lang=lang)
        for arrival, lang in zip(arrivals, langs, strict=True)
        if arrival.document.bag is None
    ]
    for document in documents:
        learned = learned_part(document)
        if learned is not document:
            logger.warning(
                "%s: the first %s of %s characters are learned; the whole text is stored",
                document.uid, f"{len(learned.text):,}", f"{len(document.text):,}",
            )  # fmt: skip
    networks = {lang: state.network.by_lang[lang] for lang in set(langs)}
    if components.reader is not None:
        return components.reader.read(documents, state.lexicon, networks)
    return read(
        documents,
        annotator=components.annotator,
        segmenter=components.segmenter,
        lexicon=state.lexicon,
        networks=networks,
    )


def batches(items: Items, size: int) -> Iterator[tuple[list[Document | Reject], FeedState | None]]:
    """Cut the input every `size` items, after the last item of a feed, and at each `EndOfBatch`.

    Pre-segmented units count for less (`BAGS`): there is no text to read. Very long texts end a
    batch early (`MAX_BATCH_CHARS`). With a batch comes the feed state that is stored with it, if
    there is one.
    """
    batch: list[Document | Reject] = []
    position: FeedState | None = None
    load = n_characters = 0
    for item in items:
        if position is None and type(item) is Document:  # the usual case
            batch.append(item)
            n_characters += len(item.body)
            load += 1 if item.bag is not None else BAGS
            if load >= size * BAGS or n_characters >= limits.MAX_BATCH_CHARS:
                yield batch, None
                batch, load, n_characters = [], 0, 0
            continue
        if isinstance(item, FeedState | EndOfBatch):
            if position is not None:
                yield batch, position
                batch = []
            if isinstance(item, FeedState):
                yield batch, item
            elif batch:
                yield batch, None
            batch, position, load, n_characters = [], None, 0, 0
            continue
        item, state = _parts(item)
        if position is not None and (state is None or state.url != position.url):
            yield batch, position  # another input begins
            batch, load, n_characters = [], 0, 0
        position = state
        batch.append(item)
        if isinstance(item, Document):
            n_characters += len(item.body)
        load += 1 if isinstance(item, Document) and item.bag is not None else BAGS
        if load >= size * BAGS or n_characters >= limits.MAX_BATCH_CHARS:
            yield batch, position
            batch, position, load, n_characters = [], None, 0, 0
    if batch:
        yield batch, position


def _parts(item: Document | Reject | Positioned) -> tuple[Document | Reject, FeedState | None]:
    """Return an item and the position to store with it."""
    return (item.item, item.state) if isinstance(item, Positioned) else (item, None)
