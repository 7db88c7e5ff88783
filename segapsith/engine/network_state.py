"""The network of the stream: summed up always, frozen on the clock, kept by the store.

How often words meet is counted with every text. From these sums, and those of reference corpora,
the network is frozen at the renewals of the clock, and with it the points of words; between two
renewals every text is read with the same ones. Freezing is left out while the segmenter uses
neither; whoever needs a network that was not frozen at the last renewal gets it from the sums as
they are then, and the store keeps it with the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.engine import clock
from segapsith.engine.records import Batch, EpochRecord, ReferenceRecord
from segapsith.engine.state import Knowledge
from segapsith.errors import SettingError
from segapsith.lexicon.cooccurrence import Pairs, merged_streams, words_of
from segapsith.lexicon.network import Links, NetworkSettings, both_ways, half_of, links
from segapsith.lexicon.weighting import significance
from segapsith.lexicon.word_vectors import (
    GRAIN,
    WordPoints,
    both_spaces,
    learn_pair_points,
    learn_points,
)
from segapsith.model import Network
from segapsith.plugin.contracts import NETWORK_PARTS

__all__ = ["ENOUGH_WORDS", "NETWORK", "RANK", "SPACE", "NetworkState", "Sums", "used_by"]

NETWORK, SPACE = "network", "word space"
"""The names under which the store keeps what was frozen."""

RANK = 150
"""Axes of the word space that come from stories."""

ENOUGH_WORDS = 500_000
"""Content words of a language from which the company that words keep gives axes as well; what fewer
have met is mostly chance."""

FEW_STORIES = 1024
"""Of fewer stories of a language a word has a point if two have it, of more if three have."""

STORIES = clock.LONGEST_SPACE
"""Stories, the latest by ordinal, that the word space is learned from: so its cost is bounded."""


class Sums(Protocol):
    """What the network needs of a store."""

    def facts(self) -> dict[str, Any]: ...
    def frozen_arrays(self, name: str) -> EpochRecord | None: ...
    def pairs(self, source: int | None = None) -> Iterator[Pairs]: ...
    def references(self) -> list[ReferenceRecord]: ...
    def sequences(self, after: int) -> Iterator[tuple[int, int, str, NDArray[np.int32]]]: ...


def used_by(segmenter: object) -> frozenset[str]:
    """What a segmenter uses of the network: everything, unless it says less (`uses`)."""
    found = frozenset(getattr(segmenter, "uses", NETWORK_PARTS))
    if not found <= NETWORK_PARTS:
        raise SettingError(
            f"a segmenter uses {', '.join(sorted(found - NETWORK_PARTS))}; a network has only"
            f" {', '.join(sorted(NETWORK_PARTS))}"
        )
    return found


class NetworkState:
    """The frozen network that texts are read with; loaded or made when it is first needed."""

    def __init__(
        self,
        store: Sums,
        knowledge: Knowledge,
        settings: NetworkSettings,
        uses: frozenset[str] = NETWORK_PARTS,
    ) -> None:
        self._store, self._knowledge = store, knowledge
        self._settings, self._uses = settings, uses
        self._graph: Links | None = None
        self._significance: NDArray[np.float32] | None = None
        self._vectors: NDArray[np.float32] | None = None
        self._networks: dict[str, Network] = {}
        self._epoch = -1
        self.epoch = 0
        """The epoch in which the links were frozen."""

    # -- reading with it -------------------------------------------------------------------

    def of(self, lang: str) -> Network:
        """What texts of a language are read with now."""
        epoch = self._knowledge.counters.epoch
        if epoch != self._epoch:
            self._networks, self._epoch = {}, epoch
        if lang not in self._networks:
            self._networks[lang] = self._made(lang, epoch)
        return self._networks[lang]

    def _made(self, lang: str, epoch: int) -> Network:
        knowledge = self._knowledge
        parts: dict[str, Any] = {}
        if self._graph is not None:
            parts = self._graph._asdict()
        if self._vectors is not None:
            parts["vectors"] = self._vectors
        if self._significance is not None:
            parts["significance"] = self._significance
        return Network(
            epoch,
            rows=knowledge.vocabulary.rows(lang),
            words=knowledge.vocabulary.words,
            mean_cohesion=knowledge.frozen.mean_cohesion(lang),
            **parts,
        )

    # -- freezing it -----------------------------------------------------------------------

    def open(self, batch: Batch | None = None) -> None:
        """Takes what the store has frozen; what is missing or out of date is frozen now, and kept
        with the batch. Nothing may be counted in the batch yet."""
        if self._significance is not None or not self._uses:
            return
        ordinal = self._knowledge.counters.ordinal
        facts = self._store.facts()
        if "network" in self._uses:
            kept = self._store.frozen_arrays(NETWORK)
            if (
                kept is not None
                and kept.ordinal >= clock.last_renewal(ordinal)
                and facts.get(NETWORK) == self._settings.as_json()
            ):
                self._restore(kept)
            else:
                self._freeze(ordinal, Pairs.none(), batch)
        if "vectors" in self._uses:
            kept = self._store.frozen_arrays(SPACE)
            if kept is not None and kept.ordinal >= clock.last_space_renewal(ordinal):
                self._take(kept.arrays)
            else:
                self._learn_space(ordinal, Pairs.none, batch)
        self._cover()

    def tick(self, ordinal: int, pending: Callable[[], Pairs], batch: Batch) -> None:
        """The clock ticks: at a renewal the sums, with those of the batch, are frozen anew."""
        if "network" in self._uses and clock.last_renewal(ordinal) == ordinal:
            self._freeze(ordinal, pending(), batch)
        if "vectors" in self._uses and clock.last_space_renewal(ordinal) == ordinal:
            self._learn_space(ordinal, pending, batch)
        self._cover()

    def _cover(self) -> None:
        """A network without links covers the words that have points, all equally telling."""
        if "network" not in self._uses and self._vectors is not None:
            self._significance = np.ones(len(self._vectors), np.float32)

    def _counts(self) -> tuple[NDArray[np.int64], dict[str, int], NDArray[np.int32]]:
        """Occurrences of each word and content words of each language, reference corpora and
        all; the place of each word's language among them."""
        vocabulary, counted = self._knowledge.vocabulary, self._knowledge.frequencies
        n_words = len(vocabulary)
        counted.grow(n_words)
        occurrences = counted.occurrences[:n_words].copy()
        langs = sorted({*vocabulary.known_langs, *counted.totals})
        tokens = {lang: int(counted.totals.get(lang, (0, 0))[1]) for lang in langs}
        for reference in self._store.references():
            occurrences[reference.words] += reference.occurrences
            tokens[reference.lang] += reference.tokens
        return occurrences, tokens, vocabulary.places(langs)

    def _freeze(self, ordinal: int, pending: Pairs, batch: Batch | None) -> None:
        occurrences, tokens, of_word = self._counts()
        self._graph = links(
            merged_streams([self._store.pairs(), iter([pending])]),
            occurrences,
            list(tokens.values()),
            self._settings,
            of_word,
        )
        telling = np.ones(len(of_word), np.float32)
        for place, size in enumerate(tokens.values()):
            own = of_word == place
            telling[own] = significance(size, occurrences[own])
        self._significance = telling
        self._changed(self._knowledge.counters.epoch)
        if batch is not None:
            half = half_of(self._graph)
            batch.epochs[NETWORK] = EpochRecord(
                self.epoch, ordinal, NETWORK, {**half._asdict(), "significance": telling}
            )
            batch.facts[NETWORK] = self._settings.as_json()

    def _restore(self, kept: EpochRecord) -> None:
        arrays: Mapping[str, NDArray[Any]] = kept.arrays
        self._graph = both_ways(Links(*(arrays[name] for name in Links._fields)))
        self._significance = arrays["significance"]
        self._changed(kept.epoch)

    def _learn_space(self, ordinal: int, pending: Callable[[], Pairs], batch: Batch | None) -> None:
        by_lang: dict[str, list[NDArray[np.int32]]] = {}
        for lang, words in self._stories(ordinal - STORIES, batch):
            by_lang.setdefault(lang, []).append(words)
        spaces = {lang: [_by_stories(texts)] for lang, texts in by_lang.items()}
        for lang, points in self._companies(pending):
            spaces.setdefault(lang, []).append(points)
        found = [_kept(both_spaces(known)) for _, known in sorted(spaces.items())]
        width = max((points.shape[1] for _, points in found), default=1)
        wide = [np.pad(points, ((0, 0), (0, width - points.shape[1]))) for _, points in found]
        arrays = {
            "words": np.concatenate([words for words, _ in found] or [np.zeros(0, np.int32)]),
            "points": np.concatenate(wide or [np.zeros((0, 1), np.int16)]),
        }
        self._take(arrays)
        if batch is not None:
            batch.epochs[SPACE] = EpochRecord(
                self._knowledge.counters.epoch, ordinal, SPACE, arrays
            )
            batch.facts[SPACE] = {"rank": RANK, "stories": STORIES, "words": ENOUGH_WORDS}

    def _companies(self, pending: Callable[[], Pairs]) -> Iterator[tuple[str, WordPoints]]:
        """The words of each language that has enough of them as points, by the company they keep."""
        occurrences, tokens, of_word = self._counts()
        for place, (lang, size) in enumerate(tokens.items()):
            if size >= ENOUGH_WORDS:
                own = of_word == place
                pairs = merged_streams([self._store.pairs(), iter([pending()])])
                yield lang, learn_pair_points(_within(pairs, own), np.where(own, occurrences, 0))

    def _stories(self, after: int, batch: Batch | None) -> Iterator[tuple[str, NDArray[np.int32]]]:
        """Language and words of the stories after an ordinal that count now, by ordinal."""
        stories = {
            document: (ordinal, document, lang, words)
            for document, ordinal, lang, words in self._store.sequences(after)
        }
        if batch is not None:
            texts = {(v.document, v.number): v for v in batch.versions if v.has_text}
            for record in batch.documents.values():
                text = texts.get((record.id, record.version))
                if not record.counts:
                    stories.pop(record.id, None)
                elif text is not None and text.has_text and (record.ordinal or 0) > after:
                    stories[record.id] = (record.ordinal or 0, record.id, text.lang, text.words)
        for _, _, lang, words in sorted(stories.values(), key=lambda story: story[:2]):
            yield lang, words

    def _take(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        words, points = arrays["words"], arrays["points"]
        vectors = np.zeros((int(words.max(initial=-1)) + 1, points.shape[1]), np.float32)
        vectors[words] = points / np.float32(GRAIN)
        self._vectors = vectors
        self._changed(self.epoch)

    def _changed(self, epoch: int) -> None:
        self.epoch = epoch
        self._networks = {}


def _within(pairs: Iterator[Pairs], own: NDArray[np.bool_]) -> Iterator[Pairs]:
    """The pairs of some words alone; no pair has words of two languages."""
    for keys, counts in pairs:
        held = own[words_of(keys)[0]]
        yield Pairs(keys[held], counts[held])


def _by_stories(texts: Sequence[NDArray[np.int32]]) -> WordPoints:
    """Words of one language as points, by the stories that they occur in."""
    ends = np.cumsum([len(words) for words in texts])
    least = 2 if len(texts) < FEW_STORIES else 3
    return learn_points(np.concatenate(texts), ends, rank=RANK, min_documents=least)


def _kept(found: WordPoints) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Words and their points, as they are kept."""
    return found.words, np.rint(found.vectors * GRAIN).astype(np.int16)
