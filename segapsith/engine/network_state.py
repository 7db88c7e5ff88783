"""The network of the stream: counted with every text, frozen on the clock, stored.

How often words meet is counted with every text. From these sums, and those of reference corpora,
the network is frozen at the renewals of the clock, and with it the vectors of words; between two
renewals every text is read with the same ones. Freezing is left out while the segmenter uses
neither. A network that was not frozen at the last renewal is made from the sums as they are when
it is needed, and stored with the next update.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.engine import clock
from segapsith.engine.records import Counters, EpochRecord, Frozen, Update
from segapsith.engine.storage import Storage
from segapsith.errors import SettingError
from segapsith.lexicon.cooccurrence import Pairs, merged_streams, words_of
from segapsith.lexicon.network import Links, NetworkSettings, both_ways, half_of, links
from segapsith.lexicon.vocabulary import Frequencies, Vocabulary, significance
from segapsith.lexicon.word_vectors import (
    GRAIN,
    WordPoints,
    both_spaces,
    learn_pair_points,
    learn_points,
)
from segapsith.model import Network
from segapsith.plugin.contracts import NETWORK_PARTS

__all__ = ["ENOUGH_WORDS", "NETWORK", "RANK", "SPACE", "NetworkState", "used_by"]

NETWORK, SPACE = "network", "word space"
"""Names under which the frozen arrays are stored."""

RANK = 150
"""Axes of the word space that come from stories."""

ENOUGH_WORDS = 500_000
"""Content words that a language needs before neighbouring words give axes as well; what fewer
words have met is mostly chance."""

FEW_STORIES = 1024
"""Below this number of stories a word has a vector if two stories have it, above if three have."""

STORIES = clock.LONGEST_SPACE
"""Stories, the latest by ordinal, that the word space is learned from: so its cost is bounded."""


def used_by(segmenter: object) -> frozenset[str]:
    """Return the parts of the network that a segmenter uses: all, unless its `uses` names fewer."""
    parts = frozenset(getattr(segmenter, "uses", NETWORK_PARTS))
    if not parts <= NETWORK_PARTS:
        raise SettingError(
            f"a segmenter uses {', '.join(sorted(parts - NETWORK_PARTS))}; a network has only"
            f" {', '.join(sorted(NETWORK_PARTS))}"
        )
    return parts


class _ByLanguage(dict[str, Network]):
    """The network of each language, made when it is first needed."""

    def __init__(self, make: Callable[[str], Network]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, lang: str) -> Network:
        network = self[lang] = self._make(lang)
        return network


class NetworkState:
    """The frozen network that texts are read with."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        frequencies: Frequencies,
        counters: Counters,
        *,
        settings: NetworkSettings,
        parts: frozenset[str] = NETWORK_PARTS,
    ) -> None:
        """Begin with an empty network of words; `open` loads or makes the `parts` that are used."""
        self._vocabulary, self._frequencies, self._counters = vocabulary, frequencies, counters
        self._parts = parts
        self.settings = settings
        self.frozen = Frozen()
        """The counts that texts are read with now."""
        self._graph: Links | None = None
        self._significance: NDArray[np.float32] | None = None
        self._vectors: NDArray[np.float32] | None = None
        self.by_lang = _ByLanguage(self._made)
        """The network that texts of each language are read with now."""
        self.is_open = not parts
        """Whether what is used is in memory."""
        self.epoch = 0
        """The epoch in which the links were frozen."""

    # -- reading with it -------------------------------------------------------------------

    def freeze(self, frozen: Frozen) -> None:
        """Read texts with these counts from now on."""
        self.frozen = frozen
        self.by_lang.clear()

    def _made(self, lang: str) -> Network:
        parts: dict[str, Any] = {}
        if self._graph is not None:
            parts = self._graph._asdict()
        if self._vectors is not None:
            parts["vectors"] = self._vectors
        if self._significance is not None:
            parts["significance"] = self._significance
        return Network(
            self._counters.epoch,
            rows=self._vocabulary.rows(lang),
            words=self._vocabulary.words,
            mean_cohesion=self.frozen.mean_cohesion(lang),
            **parts,
        )

    # -- freezing it -----------------------------------------------------------------------

    def open(self, storage: Storage, update: Update | None = None) -> None:
        """Load what was frozen; make what is missing or out of date, and note it in the update.

        Nothing may be counted in the update yet.
        """
        if self.is_open:
            return
        ordinal = self._counters.ordinal
        facts = storage.facts()
        if "network" in self._parts:
            stored = storage.frozen_arrays(NETWORK)
            if (
                stored is not None
                and stored.ordinal >= clock.last_renewal(ordinal)
                and facts.get(NETWORK) == self.settings.as_json()
            ):
                self._restore(stored)
            else:
                self._freeze(storage, ordinal, Pairs.none(), update)
        if "vectors" in self._parts:
            stored = storage.frozen_arrays(SPACE)
            if stored is not None and stored.ordinal >= clock.last_space_renewal(ordinal):
                self._use_vectors(stored.arrays)
            else:
                self._learn_space(storage, ordinal, Pairs.none, update)
        self._cover()

    def tick(
        self, storage: Storage, ordinal: int, pending: Callable[[], Pairs], update: Update
    ) -> None:
        """Freeze the sums, with those of the update, if this tick of the clock is a renewal."""
        if "network" in self._parts and clock.last_renewal(ordinal) == ordinal:
            self._freeze(storage, ordinal, pending(), update)
        if "vectors" in self._parts and clock.last_space_renewal(ordinal) == ordinal:
            self._learn_space(storage, ordinal, pending, update)
        self._cover()

    def _cover(self) -> None:
        """Let a network without links cover the words that have vectors, all equally significant."""
        if "network" not in self._parts and self._vectors is not None:
            self._significance = np.ones(len(self._vectors), np.float32)
        self.is_open = not self._parts or self._significance is not None

    def _totals(
        self, storage: Storage
    ) -> tuple[NDArray[np.int64], dict[str, int], NDArray[np.int32]]:
        """Return the occurrences of each word, the content words of each language, and the place
        of each word's language among them; reference corpora are counted too."""
        vocabulary, counted = self._vocabulary, self._frequencies
        n_words = len(vocabulary)
        counted.grow(n_words)
        occurrences = counted.occurrences[:n_words].copy()
        langs = sorted({*vocabulary.known_langs, *counted.totals})
        tokens = {lang: int(counted.totals.get(lang, (0, 0))[1]) for lang in langs}
        for reference in storage.references():
            occurrences[reference.words] += reference.occurrences
            tokens[reference.lang] += reference.tokens
        return occurrences, tokens, vocabulary.places(langs)

    def _freeze(
        self, storage: Storage, ordinal: int, pending: Pairs, update: Update | None
    ) -> None:
        occurrences, tokens, of_word = self._totals(storage)
        self._graph = links(
            merged_streams([storage.pairs(), iter([pending])]),
            occurrences,
            list(tokens.values()),
            self.settings,
            of_word,
        )
        signif = np.ones(len(of_word), np.float32)
        for place, size in enumerate(tokens.values()):
            own = of_word == place
            signif[own] = significance(size, occurrences[own])
        self._significance = signif
        self._changed(self._counters.epoch)
        if update is not None:
            half = half_of(self._graph)
            update.epochs[NETWORK] = EpochRecord(
                self.epoch, ordinal, NETWORK, {**half._asdict(), "significance": signif}
            )
            update.facts[NETWORK] = self.settings.as_json()

    def _restore(self, stored: EpochRecord) -> None:
        arrays: Mapping[str, NDArray[Any]] = stored.arrays
        self._graph = both_ways(Links(*(arrays[name] for name in Links._fields)))
        self._significance = arrays["significance"]
        self._changed(stored.epoch)

    def _learn_space(
        self, storage: Storage, ordinal: int, pending: Callable[[], Pairs], update: Update | None
    ) -> None:
        by_lang: dict[str, list[NDArray[np.int32]]] = {}
        for lang, words in self._stories(storage, ordinal - STORIES, update):
            by_lang.setdefault(lang, []).append(words)
        spaces = {lang: [_by_stories(texts)] for lang, texts in by_lang.items()}
        for lang, points in self._by_neighbours(storage, pending):
            spaces.setdefault(lang, []).append(points)
        vectors = [_rounded(both_spaces(points)) for _, points in sorted(spaces.items())]
        width = max((points.shape[1] for _, points in vectors), default=1)
        wide = [np.pad(points, ((0, 0), (0, width - points.shape[1]))) for _, points in vectors]
        arrays = {
            "words": np.concatenate([words for words, _ in vectors] or [np.zeros(0, np.int32)]),
            "points": np.concatenate(wide or [np.zeros((0, 1), np.int16)]),
        }
        self._use_vectors(arrays)
        if update is not None:
            update.epochs[SPACE] = EpochRecord(self._counters.epoch, ordinal, SPACE, arrays)
            update.facts[SPACE] = {"rank": RANK, "stories": STORIES, "words": ENOUGH_WORDS}

    def _by_neighbours(
        self, storage: Storage, pending: Callable[[], Pairs]
    ) -> Iterator[tuple[str, WordPoints]]:
        """Yield vectors by neighbouring words for each language that has enough words."""
        occurrences, tokens, of_word = self._totals(storage)
        for place, (lang, size) in enumerate(tokens.items()):
            if size >= ENOUGH_WORDS:
                own = of_word == place
                pairs = merged_streams([storage.pairs(), iter([pending()])])
                yield lang, learn_pair_points(_within(pairs, own), np.where(own, occurrences, 0))

    def _stories(
        self, storage: Storage, after: int, update: Update | None
    ) -> Iterator[tuple[str, NDArray[np.int32]]]:
        """Yield language and words of the stories after an ordinal that count now, by ordinal."""
        stories = {
            document: (ordinal, document, lang, words)
            for document, ordinal, lang, words in storage.sequences(after)
        }
        if update is not None:
            texts = {(v.document, v.number): v for v in update.versions if v.body or v.title}
            for record in update.documents.values():
                text = texts.get((record.id, record.version))
                if record.duplicate_of is not None:
                    stories.pop(record.id, None)
                elif text is not None and (record.ordinal or 0) > after:
                    stories[record.id] = (record.ordinal or 0, record.id, text.lang, text.words)
        for _, _, lang, words in sorted(stories.values(), key=lambda story: story[:2]):
            yield lang, words

    def _use_vectors(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        words, points = arrays["words"], arrays["points"]
        vectors = np.zeros((int(words.max(initial=-1)) + 1, points.shape[1]), np.float32)
        vectors[words] = points / np.float32(GRAIN)
        self._vectors = vectors
        self._changed(self.epoch)

    def _changed(self, epoch: int) -> None:
        self.epoch = epoch
        self.by_lang.clear()


def _within(pairs: Iterator[Pairs], own: NDArray[np.bool_]) -> Iterator[Pairs]:
    """Yield the pairs of some words alone; no pair has words of two languages."""
    for keys, counts in pairs:
        held = own[words_of(keys)[0]]
        yield Pairs(keys[held], counts[held])


def _by_stories(texts: Sequence[NDArray[np.int32]]) -> WordPoints:
    """Return vectors of the words of one language, by the stories that they occur in."""
    ends = np.cumsum([len(words) for words in texts])
    least = 2 if len(texts) < FEW_STORIES else 3
    return learn_points(np.concatenate(texts), ends, rank=RANK, min_documents=least)


def _rounded(points: WordPoints) -> tuple[NDArray[np.int32], NDArray[np.int16]]:
    """Return words and their vectors as they are stored."""
    return points.words, np.rint(points.vectors * GRAIN).astype(np.int16)
