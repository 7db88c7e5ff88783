"""Reading a reference corpus: its texts count for the network, and for nothing else."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from segapsith.engine.arrivals import sound
from segapsith.engine.components import Components
from segapsith.engine.reading import content_places, learned_part
from segapsith.engine.records import ReferenceRecord
from segapsith.engine.runs import RunPlan
from segapsith.engine.state import State
from segapsith.engine.storage import Storage
from segapsith.errors import UsageError
from segapsith.lexicon.cooccurrence import counted
from segapsith.model import Document, EndOfBatch, FeedState, Item, Positioned, Reject

__all__ = ["BUILD", "ReferenceReader", "build"]

BUILD = "network build"
"""The command that reads a reference corpus, as the run log names it."""

BUFFER = 8_000_000
"""Words whose pairs are counted at a time."""

CHUNK = 200
"""Texts that are annotated at a time."""


def build(
    items: Iterable[Item],
    state: State,
    components: Components,
    storage: Storage,
    plan: RunPlan,
    on_texts: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Read a corpus into the network in one run; one that was read before is refused.

    `on_texts` gets the numbers of documents and words so far. The state must be discarded
    afterwards: the store counts more than it does.
    """
    earlier = storage.done_run(BUILD, plan.input_key) if plan.input_key else None
    if earlier is not None:
        raise UsageError(
            f"this corpus is in the network already (run {earlier}); to read it again, undo"
            f" that run first"
        )
    began = time.monotonic()
    first_word = len(state.vocabulary)
    with storage.run(plan) as run:
        reader = ReferenceReader(run.number, state, components, storage)
        try:
            storage.drop_unnamed_pairs()
            references = reader.read(items, on_texts)
            counters = state.counters
            storage.save_reference(
                state.vocabulary.since(first_word),
                references,
                {
                    "pair_window": state.pair_window,
                    **plan.facts(run.number, counters.unit, counters.ordinal + 1),
                },
            )
        except BaseException:
            storage.drop_unnamed_pairs()
            raise
        run.counts = {
            "run": run.number,
            "documents": sum(reference.documents for reference in references),
            "words": sum(reference.tokens for reference in references),
            "languages": {reference.lang: reference.tokens for reference in references},
            "rejected": reader.rejected,
            "seconds": round(time.monotonic() - began, 3),
        }
    return dict(run.counts)


@dataclass(slots=True)
class _Language:
    """What was counted of one language."""

    documents: int = 0
    occurrences: np.ndarray[Any, np.dtype[np.int64]] = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )


class ReferenceReader:
    """Counts the words and pairs of texts; pairs are stored as they come."""

    def __init__(self, run: int, state: State, components: Components, storage: Storage) -> None:
        self._run, self._state, self._storage = run, state, storage
        self._annotator, self._reader = components.annotator, components.reader
        self._language = components.language
        self._langs: dict[str, _Language] = {}
        self._words: list[np.ndarray[Any, np.dtype[np.int32]]] = []
        self._waiting = 0
        self.rejected = 0

    def read(
        self,
        items: Iterable[Item],
        on_texts: Callable[[int, int], None] | None = None,
    ) -> list[ReferenceRecord]:
        """Read every text to the end; return what has to be stored, by language."""
        documents = words = 0
        for lang, lemmas in self._lemmas(self._texts(items)):
            self._count(lang, self._state.numbered(lang, lemmas))
            documents += 1
            words += len(lemmas)
            if on_texts is not None and documents % CHUNK == 0:
                on_texts(documents, words)
        if on_texts is not None:
            on_texts(documents, words)
        self._flush()
        return list(self._records())

    def _lemmas(self, texts: Iterator[Document]) -> Iterator[tuple[str, list[str]]]:
        """Yield language and content words of each text, read here or in workers."""
        lexicon = self._state.lexicon
        if self._reader is not None:
            langs: deque[str] = deque()  # of the texts that are on their way
            for lemmas in self._reader.lemmas(_noted(texts, langs), lexicon):
                yield langs.popleft(), lemmas
            return
        while chunk := list(islice(texts, CHUNK)):
            annotations = self._annotator.annotate(chunk, lexicon)
            for document, annotation in zip(chunk, annotations, strict=True):
                yield (
                    document.lang or "",
                    [annotation.lemmas[i] for i in content_places(annotation)],
                )

    def _texts(self, items: Iterable[Item]) -> Iterator[Document]:
        """Yield documents with their languages; words without an order are of no use here."""
        for item in items:
            if isinstance(item, FeedState | EndOfBatch):
                continue
            document = sound(item.item if isinstance(item, Positioned) else item)
            if isinstance(document, Reject) or document.bag is not None:
                self.rejected += 1
                continue
            yield learned_part(replace(document, lang=self._language(document)))

    def _count(self, lang: str, words: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        counts = self._langs.setdefault(lang, _Language())
        counts.documents += 1
        size = int(words.max(initial=-1)) + 1
        if size > len(counts.occurrences):
            grown = np.zeros(2 * size, np.int64)
            grown[: len(counts.occurrences)] = counts.occurrences
            counts.occurrences = grown
        np.add.at(counts.occurrences, words, 1)
        self._words.append(words)
        self._waiting += len(words)
        if self._waiting >= BUFFER:
            self._flush()

    def _flush(self) -> None:
        if self._words:
            ends = np.cumsum([len(words) for words in self._words])
            window = self._state.pair_window
            self._storage.add_reference_pairs(
                self._run, counted(np.concatenate(self._words), window, ends)
            )
        self._words, self._waiting = [], 0

    def _records(self) -> Iterator[ReferenceRecord]:
        for lang, counts in sorted(self._langs.items()):
            words = np.flatnonzero(counts.occurrences).astype(np.int32)
            times = counts.occurrences[words]
            yield ReferenceRecord(self._run, lang, counts.documents, int(times.sum()), words, times)


def _noted(texts: Iterable[Document], langs: deque[str]) -> Iterator[Document]:
    """Yield texts, and add the language of each to a queue."""
    for text in texts:
        langs.append(text.lang or "")
        yield text
