"""The state of learning, in memory: words, counts, the clock, the domains, the network.

`load_state` reads it from a store. It is changed one document after the other, and every change is
a sum of integers, so that it can be subtracted exactly. A state whose changes did not reach the
store must not be used again: whoever owns it discards it and loads another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import limits
from segapsith.domains.events import EventIndex
from segapsith.domains.index import DomainIndex
from segapsith.domains.threshold_control import ThresholdController
from segapsith.domains.values import Bag, BagColumns
from segapsith.engine import clock
from segapsith.engine.components import Components
from segapsith.engine.network_state import NetworkState, used_by
from segapsith.engine.reading import Readings, ReadUnit
from segapsith.engine.records import Counters, DomainRecord, Frozen
from segapsith.engine.storage import Storage
from segapsith.errors import SettingError
from segapsith.intake import near_duplicates
from segapsith.intake.bag_batch import BagBatch
from segapsith.intake.documents import clean, is_clean
from segapsith.languages import BUILT_IN, has_pack
from segapsith.lexicon.multiword_terms import TermCounts, lexicon_terms
from segapsith.lexicon.network import NetworkSettings
from segapsith.lexicon.term_acceptance import accept
from segapsith.lexicon.vocabulary import (
    MIN_COMMON_DOCUMENTS,
    SCALE,
    Frequencies,
    Vocabulary,
    all_unit_weights,
    common_share,
    rarity,
    significance,
    sorted_units,
    unit_weights,
)
from segapsith.model import Lexicon
from segapsith.plugin.contracts import NETWORK_PARTS

__all__ = ["ReadText", "Ready", "State", "load_state"]


COUNTED_LEAST, COUNTED_SHARE = 10_000, 0.25
"""Words of units are sorted by counting if they are many, also in relation to the vocabulary."""


class Ready(NamedTuple):
    """A pre-segmented unit, weighted: its bag, and how many words that counts."""

    bag: Bag
    n_words: int


class ReadText(NamedTuple):
    """A text that was read, with its words numbered and its units weighted."""

    words: NDArray[np.int32]
    joins: NDArray[np.uint8]
    units: list[ReadUnit]
    bags: list[Bag]


class State:
    """Everything that learning reads and changes."""

    def __init__(
        self,
        domains: DomainIndex,
        importance: str = "rarity",
        *,
        learns_terms: bool = True,
        given_terms: Mapping[str, Iterable[tuple[str, ...]]] | None = None,
        network: NetworkSettings | None = None,
        network_parts: frozenset[str] = NETWORK_PARTS,
        events: EventIndex | None = None,
    ) -> None:
        """Begin without words and documents; `network_parts` are those that a segmenter uses."""
        if importance not in ("rarity", "significance"):
            raise ValueError(f"importance={importance!r} should be 'rarity' or 'significance'")
        self.vocabulary = Vocabulary()
        self.frequencies = Frequencies()
        self.domains = domains
        self.rows: dict[int, DomainRecord] = {}
        """The domains of the index as they are stored, with labels and status."""
        self.events = events or EventIndex()
        self.counters = Counters()
        self.next_tick = clock.next_tick(0)
        """The ordinal of the story after which the clock ticks next."""
        self.frozen = Frozen()
        self.term_counts: dict[str, TermCounts] = {}
        """Candidates for multi-word terms, by language."""
        self.terms: dict[str, list[tuple[str, ...]]] = {}
        """Terms that were accepted, by language, in the order of acceptance."""
        self.given_terms: Mapping[str, Iterable[tuple[str, ...]]] = given_terms or {}
        self.learns_terms = learns_terms
        self.lexicon = Lexicon(0, lexicon_terms({}, self.given_terms))
        self.network = NetworkState(
            self.vocabulary,
            self.frequencies,
            self.counters,
            settings=network or NetworkSettings(),
            parts=network_parts,
        )
        self.window: near_duplicates.Window | None = None
        """The latest stories, in which repeated texts are recognised; None: equal texts only."""
        self.controller: ThresholdController | None = None
        """What sets the threshold of placement; None: the setting does."""
        self._importance = importance

    @property
    def pair_window(self) -> int:
        """Content words within which two words meet."""
        return self.network.settings.window

    def follow_target(self) -> None:
        """Place from now on with the threshold of the controller, if there is one."""
        if self.controller is not None:
            threshold = self.controller.threshold / SCALE
            self.domains.settings = replace(self.domains.settings, threshold=threshold)

    def restore_counts(
        self,
        words: Iterable[tuple[int, str, str, int, int]],
        totals: Mapping[str, tuple[int, int]],
        cohesion: Mapping[str, tuple[int, int]],
        facts: Mapping[str, Any],
    ) -> None:
        """Restore words with their counts, the sizes of languages, and the counters."""
        entries = list(words)
        self.vocabulary.restore((n, lang, word) for n, lang, word, _, _ in entries)
        self.frequencies.grow(len(self.vocabulary))
        for number, _, _, documents, occurrences in entries:
            self.frequencies.documents[number] = documents
            self.frequencies.occurrences[number] = occurrences
        self.frequencies.totals = dict(totals)
        self.frequencies.cohesion = dict(cohesion)
        for name in Counters.__dataclass_fields__:
            value = facts.get(f"counter_{name}", getattr(self.counters, name))
            setattr(self.counters, name, int(value))
        self.next_tick = clock.next_tick(self.counters.ordinal)

    def numbered(self, lang: str, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the numbers of the words of a text; new words get the next numbers."""
        if not is_clean("".join(words)):
            words = [clean(word) for word in words]
        return np.array(self.vocabulary.numbers(lang, words), dtype=np.int32)

    def bags(
        self, lang: str, bag_batch: BagBatch, places: Sequence[int]
    ) -> tuple[BagColumns, list[int]]:
        """Weight pre-segmented units as `numbered` and `bag` would do one after the other.

        New words are numbered bag by bag and by name. Return the units, and how many words each
        counts.
        """
        columns, counts, ends = bag_batch.picked(places)
        of_word = bag_batch.numbers.get(lang)
        if of_word is None:
            of_word = bag_batch.numbers[lang] = np.full(len(bag_batch.words), -1, np.int32)
        numbers = self._numbers(lang, bag_batch.words, of_word, columns)
        units = self._weighted(lang, numbers, counts.astype(np.int32), ends)
        sums = np.add.reduceat(counts, np.append(0, ends[:-1]), dtype=np.int64).tolist()
        return units, sums

    def read_texts(
        self, lang: str, readings: Readings, of_word: NDArray[np.int32], first: int, last: int
    ) -> list[ReadText]:
        """Number the words of some texts that were read, in order, and weight their units.

        `of_word` has the number of each word of the readings, -1 before it is first needed.
        """
        ends = readings.ends
        begin = ends[first - 1] if first else 0
        if any(unit.inferred for units in readings.units[first:last] for unit in units):
            return [
                self._read_text(lang, readings, of_word, at) for at in range(first, last)
            ]  # what a text infers is numbered before the words of the next
        numbers = self._numbers(
            lang, readings.vocabulary, of_word, readings.words[begin : ends[last - 1]]
        )
        edges = [
            (start + unit.first_word, start + unit.last_word)
            for start, units in zip(
                [0, *(end - begin for end in ends[first : last - 1])],
                readings.units[first:last],
                strict=True,
            )
            for unit in units
        ]
        bags = iter(self._unit_bags(lang, numbers, np.array(edges, np.int64).reshape(-1, 2)))
        texts = []
        for at in range(first, last):
            a, b = ends[at - 1] if at else 0, ends[at]
            units = readings.units[at]
            texts.append(
                ReadText(
                    numbers[a - begin : b - begin],
                    readings.joins[a:b],
                    units,
                    [next(bags) for _ in units],
                )
            )
        return texts

    def _read_text(
        self, lang: str, readings: Readings, of_word: NDArray[np.int32], at: int
    ) -> ReadText:
        """Return one text whose units infer words."""
        a, b = readings.ends[at - 1] if at else 0, readings.ends[at]
        words = self._numbers(lang, readings.vocabulary, of_word, readings.words[a:b])
        units = readings.units[at]
        bags = [
            self.bag(lang, words[unit.first_word : unit.last_word], unit.inferred) for unit in units
        ]
        return ReadText(words, readings.joins[a:b], units, bags)

    def _numbers(
        self,
        lang: str,
        words: Sequence[str],
        of_word: NDArray[np.int32],
        columns: NDArray[np.int32],
    ) -> NDArray[np.int32]:
        """Return the numbers of words that are given as columns; new ones are numbered in order."""
        numbers = of_word[columns]
        unknown = columns[numbers < 0]
        if len(unknown):
            marks = np.arange(-1, -len(unknown) - 1, -1, dtype=np.int32)
            of_word[unknown[::-1]] = marks[::-1]  # each word keeps the mark of its first place
            asked = unknown[of_word[unknown] == marks]
            of_word[asked] = self.numbered(lang, [words[c] for c in asked.tolist()])
            numbers = of_word[columns]
        return numbers

    def _unit_bags(
        self, lang: str, words: NDArray[np.int32], edges: NDArray[np.int64]
    ) -> list[Bag]:
        """Return the bags of units, each a stretch of words, as `bag` returns them."""
        if lang not in BUILT_IN and not has_pack(lang):
            return [self.bag(lang, words[a:b]) for a, b in edges.tolist()]
        sizes = edges[:, 1] - edges[:, 0]
        ends = np.cumsum(sizes)
        places = np.arange(sizes.sum()) + np.repeat(edges[:, 0] - ends + sizes, sizes)
        units = self._weighted(lang, words[places], np.ones(len(places), np.int32), ends)
        return [
            Bag(units.words[a:b], units.counts[a:b], units.weights[a:b])
            for a, b in pairwise([0, *units.ends.tolist()])
        ]

    def _weighted(
        self,
        lang: str,
        numbers: NDArray[np.int32],
        counts: NDArray[np.int32],
        ends: NDArray[np.int64],
    ) -> BagColumns:
        """Return concatenated units as bags; a word may occur several times in a unit."""
        if len(numbers) >= max(COUNTED_LEAST, COUNTED_SHARE * len(self.vocabulary)):
            words, times, ends = sorted_units(numbers, counts, ends, len(self.vocabulary))
            cuts = np.append(0, ends)
        else:
            units = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
            keys = units * len(self.vocabulary) + numbers
            order = np.argsort(keys, kind="stable")  # a bag has its words by number
            keys = keys[order]
            firsts = np.flatnonzero(np.diff(keys, prepend=-1))
            words, units = numbers[order[firsts]], units[order[firsts]]
            times = counts[order]
            times = np.add.reduceat(times, firsts, dtype=np.int32) if len(firsts) else times
            cuts = np.searchsorted(units, np.arange(len(ends) + 1))
        filled = np.flatnonzero(np.diff(cuts))
        weights = np.zeros(0, np.int32)
        if len(filled):
            weighed = np.ones_like(times) if self._importance == "significance" else times
            weights = all_unit_weights(weighed, self.importance(lang, words), cuts[filled + 1])
        return BagColumns(words, times, weights, cuts[1:])

    def importance(self, lang: str, words: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return how significant each word is, by the frozen counts."""
        documents, tokens = self.frozen.totals.get(lang, (0, 0))
        if self._importance == "rarity":
            return rarity(documents, _at(self.frozen.documents, words))
        return significance(tokens, _at(self.frozen.occurrences, words))

    def bag(
        self, lang: str, words: NDArray[np.int32], inferred: Mapping[str, float] | None = None
    ) -> Bag:
        """Return the words of a unit, in any order and with repetitions, weighted.

        What the network infers besides has the count 0 and the weight that it was given.
        """
        if lang not in BUILT_IN and not has_pack(lang):
            words = self._without_common(lang, words)
        distinct, counts = np.unique(words, return_counts=True)
        numbers = distinct.astype(np.int32)
        times = counts.astype(np.int32)
        # the paper's weight is the word's own; how often it occurs is the other factor of eq. 7
        weighed = np.ones_like(times) if self._importance == "significance" else times
        own = Bag(numbers, times, unit_weights(weighed, self.importance(lang, numbers)))
        return self._with_inferred(lang, own, inferred) if inferred and len(numbers) else own

    def _without_common(self, lang: str, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return words without those that most documents have, unless none remains.

        They are the stop words of a language without a pack, by the frozen counts.
        """
        n_documents, n_tokens = self.frozen.totals.get(lang, (0, 0))
        if n_documents < MIN_COMMON_DOCUMENTS:
            return words
        least = common_share(n_documents, n_tokens) * n_documents
        rare = words[_at(self.frozen.documents, words) < least]
        return rare if len(rare) else words

    def _with_inferred(self, lang: str, own: Bag, inferred: Mapping[str, float]) -> Bag:
        usable = {
            word: weight
            for word, weight in inferred.items()
            if weight > 0 and 0 < len(word) <= limits.MAX_WORD_CHARS
        }
        numbers = self.numbered(lang, list(usable))
        fixed = np.clip(np.rint(np.array(list(usable.values())) * SCALE), 1, SCALE)
        new, place = np.unique(numbers, return_index=True)
        outside = ~np.isin(new, own.words, assume_unique=True)
        new, fixed = new[outside], fixed[place[outside]]
        words = np.concatenate([own.words, new]).astype(np.int32)
        order = np.argsort(words, kind="stable")
        return Bag(
            words[order],
            np.concatenate([own.counts, np.zeros(len(new), np.int32)])[order],
            np.concatenate([own.weights, fixed.astype(np.int32)])[order],
        )

    def tick(self) -> dict[str, list[tuple[str, ...]]]:
        """Freeze the counts as they are now; a new epoch begins. Return the terms accepted now."""
        n_words = len(self.vocabulary)
        self.frequencies.grow(n_words)
        self.freeze(
            Frozen(
                self.frequencies.documents[:n_words].copy(),
                self.frequencies.occurrences[:n_words].copy(),
                dict(self.frequencies.totals),
                dict(self.frequencies.cohesion),
            )
        )
        self.counters.epoch += 1
        accepted = self._accept_terms() if self.learns_terms else {}
        for lang, terms in accepted.items():
            self.terms.setdefault(lang, []).extend(terms)
        self.read_with_terms()
        return accepted

    def _accept_terms(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the terms that the counts support now and that were not accepted before."""
        accepted = {}
        for lang, counts in sorted(self.term_counts.items()):
            if not has_pack(lang):
                continue  # without stop words, terms would be made of them
            terms = accept(
                counts,
                lang,
                self.frozen.occurrences,
                self.frozen.totals.get(lang, (0, 0))[1],
                self.vocabulary.words,
                self.terms.get(lang, ()),
            )
            if terms:
                accepted[lang] = [term.words for term in terms]
        return accepted

    def read_with_terms(self) -> None:
        """Read texts from now on with the terms accepted so far."""
        self.lexicon = Lexicon(self.counters.epoch, lexicon_terms(self.terms, self.given_terms))

    def freeze(self, frozen: Frozen) -> None:
        """Read the stream with these counts from now on."""
        self.frozen = frozen
        self.network.freeze(frozen)
        values = np.ones(len(frozen.documents))
        for lang, (_, tokens) in frozen.totals.items():
            of_lang = self.vocabulary.of_lang(lang)[: len(values)]
            values[of_lang] = significance(tokens, frozen.occurrences[of_lang])
        self.domains.learn_significance(values)


def load_state(storage: Storage, components: Components, lang: str | None = None) -> State:
    """Return the state of a store; of one language alone it serves to read with, not to learn."""
    state = State(
        DomainIndex(components.placement),
        components.importance,
        learns_terms=components.learns_terms,
        given_terms=components.given_terms,
        network=components.network,
        network_parts=used_by(components.segmenter),
        events=EventIndex(components.events),
    )
    state.controller = storage.threshold_controller() if components.follows else None
    state.follow_target()
    facts = storage.facts()
    _check_facts(facts, components)
    state.restore_counts(storage.words(), storage.languages(), storage.cohesion(), facts)
    for row in storage.open_domains(lang):
        state.domains.restore(row.id, row.sums, story=row.grown)
        state.rows[row.id] = row
    state.domains.skip_to(int(facts.get("next_domain", 1)))
    state.events.skip_to(int(facts.get("next_event", 1)))
    if lang is None:
        for event in storage.open_events():
            state.events.restore(event)
        state.term_counts = storage.term_counts()
    state.terms = storage.terms()
    state.read_with_terms()
    frozen = storage.frozen_arrays("frequencies")
    if frozen is not None:
        state.freeze(Frozen.of(dict(frozen.arrays)))
    if components.measure is not None:
        learned = storage.frozen_arrays(components.measure_name)
        if learned is not None:
            components.measure.restore(learned.arrays)
    if components.window and lang is None:
        state.window = near_duplicates.Window(components.window)
        state.window.fill(storage.signatures(state.counters.ordinal - components.window))
    return state


def _check_facts(facts: Mapping[str, Any], components: Components) -> None:
    """Refuse settings that the sums of a store were not counted with."""
    for name in ("count", "inferred_occurrence"):
        value = getattr(components.placement, name)
        if facts.get(name, value) != value:
            raise SettingError(
                f"{name}={value!r} does not fit this store, whose occurrences were counted with"
                f" {facts[name]!r}"
            )
    window = int(facts.get("pair_window", components.network.window))
    if window != components.network.window:
        raise SettingError(
            f"network_window={components.network.window} does not fit this store, whose words meet"
            f" within {window}"
        )


def _at(values: NDArray[np.int64], words: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the value of each word; 0 for words that came later."""
    result = np.zeros(len(words), dtype=np.int64)
    counted = words < len(values)
    result[counted] = values[words[counted]]
    return result
