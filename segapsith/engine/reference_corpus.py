"""Reading a reference corpus: texts that teach the network which words keep company, no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

import numpy as np

from segapsith.engine.arrivals import sound
from segapsith.engine.records import ReferenceRecord
from segapsith.engine.state import Knowledge, content_places
from segapsith.engine.storage import Storage
from segapsith.errors import UsageError
from segapsith.lexicon.cooccurrence import counted
from segapsith.model import Document, FeedState, Reject
from segapsith.plugin.contracts import Annotator

__all__ = ["BUILD", "ReferenceReader", "build"]

BUILD = "network build"
"""The command that reads a reference corpus, as the run log has it."""

BUFFER = 8_000_000
"""Words whose pairs are counted at a time."""

CHUNK = 200
"""Texts that are annotated at a time."""


class Planned(Protocol):
    """How the run log keeps what is read."""

    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def versions(self) -> Mapping[str, str]: ...
    @property
    def input_key(self) -> str: ...
    def facts(self, run: int, unit: int, ordinal: int) -> dict[str, Any]: ...


def build(
    storage: Storage,
    items: Iterable[Document | Reject | FeedState],
    knowledge: Knowledge,
    annotator: Annotator,
    language: Callable[[Document], str],
    plan: Planned,
    watch: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Reads a corpus into the network in one run; what was read before is refused."""
    earlier = storage.done_run(BUILD, plan.input_key) if plan.input_key else None
    if earlier is not None:
        raise UsageError(
            f"this corpus is in the network already (run {earlier}); to read it again, undo"
            f" that run first"
        )
    began = time.monotonic()
    first = len(knowledge.vocabulary)
    run = storage.begin_run(
        BUILD, settings=plan.settings, versions=plan.versions, input_key=plan.input_key
    )
    reader = ReferenceReader(storage, run, knowledge, annotator, language)
    try:
        storage.drop_unnamed_pairs()
        found = reader.read(items, watch)
        storage.save_reference(
            knowledge.vocabulary.since(first),
            found,
            {
                "pair_window": knowledge.pair_window,
                **plan.facts(run, knowledge.counters.unit, knowledge.counters.ordinal + 1),
            },
        )
    except BaseException:
        storage.finish_run(run, "failed")
        storage.drop_unnamed_pairs()
        raise
    result = {
        "run": run,
        "documents": sum(one.documents for one in found),
        "words": sum(one.tokens for one in found),
        "languages": {one.lang: one.tokens for one in found},
        "rejected": reader.rejected,
        "seconds": round(time.monotonic() - began, 3),
    }
    storage.finish_run(run, "done", result)
    return result


@dataclass(slots=True)
class _Language:
    """What was counted of one language."""

    documents: int = 0
    occurrences: np.ndarray[Any, np.dtype[np.int64]] = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )


class ReferenceReader:
    """Counts the words and pairs of texts; pairs go to the store as they come."""

    def __init__(
        self,
        storage: Storage,
        run: int,
        knowledge: Knowledge,
        annotator: Annotator,
        language: Callable[[Document], str],
    ) -> None:
        self._storage, self._run, self._knowledge = storage, run, knowledge
        self._annotator, self._language = annotator, language
        self._langs: dict[str, _Language] = {}
        self._words: list[np.ndarray[Any, np.dtype[np.int32]]] = []
        self._waiting = 0
        self.rejected = 0

    def read(
        self,
        items: Iterable[Document | Reject | FeedState],
        watch: Callable[[int, int], None] | None = None,
    ) -> list[ReferenceRecord]:
        """Every text to the end; gives what the store has to keep, by language. `watch` hears
        how many documents and words were read."""
        documents = words = 0
        texts = self._texts(items)
        while chunk := list(islice(texts, CHUNK)):
            annotations = self._annotator.annotate(chunk, self._knowledge.lexicon)
            for document, annotation in zip(chunk, annotations, strict=True):
                lemmas = [annotation.lemmas[i] for i in content_places(annotation)]
                lang = document.lang or ""
                self._count(lang, self._knowledge.numbered(lang, lemmas))
                documents += 1
                words += len(lemmas)
            if watch is not None:
                watch(documents, words)
        self._flush()
        return list(self._records())

    def _texts(self, items: Iterable[Document | Reject | FeedState]) -> Iterator[Document]:
        """Documents with their languages; words without an order teach nothing here."""
        for item in items:
            if isinstance(item, FeedState):
                continue
            document = sound(item)
            if isinstance(document, Reject) or document.bag is not None:
                self.rejected += 1
                continue
            yield replace(document, lang=self._language(document))

    def _count(self, lang: str, words: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        found = self._langs.setdefault(lang, _Language())
        found.documents += 1
        size = int(words.max(initial=-1)) + 1
        if size > len(found.occurrences):
            room = np.zeros(2 * size, np.int64)
            room[: len(found.occurrences)] = found.occurrences
            found.occurrences = room
        np.add.at(found.occurrences, words, 1)
        self._words.append(words)
        self._waiting += len(words)
        if self._waiting >= BUFFER:
            self._flush()

    def _flush(self) -> None:
        if self._words:
            ends = np.cumsum([len(words) for words in self._words])
            window = self._knowledge.pair_window
            self._storage.add_reference_pairs(
                self._run, counted(np.concatenate(self._words), window, ends)
            )
        self._words, self._waiting = [], 0

    def _records(self) -> Iterator[ReferenceRecord]:
        for lang, found in sorted(self._langs.items()):
            words = np.flatnonzero(found.occurrences).astype(np.int32)
            times = found.occurrences[words]
            yield ReferenceRecord(self._run, lang, found.documents, int(times.sum()), words, times)
