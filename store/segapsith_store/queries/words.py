"""The sums of a domain as weighted words that people can read."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.values import DomainWords
from segapsith.engine.records import Frozen
from segapsith.errors import MissingInputError
from segapsith.lexicon.vocabulary import SCALE, significance
from segapsith.model import Result
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = ["WeightedWord", "WordCounts", "WordTexts", "Words", "read_word", "read_word_texts"]

MOST_CHOSEN = 2000
"""Words that are read when they are asked for; beyond that all of them are read at once."""

ROWS = 20_000
"""Words that are in memory as objects at once."""


@dataclass(frozen=True, slots=True)
class WeightedWord(Result):
    """A word of a domain or topic, with its mean weight and its occurrences."""

    word: str
    weight: float
    occurrences: int


@dataclass(frozen=True, slots=True)
class WordCounts(Result):
    """A word of a language with its counts over the stories."""

    id: int
    word: str
    lang: str
    documents: int
    occurrences: int


def read_word(store: Store, lang: str, word: str) -> WordCounts:
    """Return the counts of a word; raise an error if no story has it."""
    row = store.row(
        "SELECT id, word, lang, documents, occurrences FROM words WHERE lang = ? AND word = ?"
        " AND occurrences > 0",
        [lang, word],
    )
    if row is None:
        raise MissingInputError(f"no story has the word {word!r} in the language {lang!r}")
    return WordCounts(*row)


@dataclass(frozen=True, slots=True)
class WordTexts:
    """The texts of all words, one after the other: as objects they would take ten times as much."""

    content: bytes
    starts: NDArray[np.int64]
    """Where the text of each word begins, by number, and one more: where the last one ends. A number
    without a word has an empty text."""

    def __getitem__(self, number: int) -> str:
        return self.content[self.starts[number] : self.starts[number + 1]].decode()

    def __len__(self) -> int:
        return len(self.starts) - 1


def read_word_texts(store: Store, earlier: WordTexts | None = None) -> WordTexts:
    """Read the texts of all words; words never change, so those of an earlier reading are kept."""
    known = WordTexts(b"", np.zeros(1, np.int64)) if earlier is None else earlier
    numbers, lengths, parts = [], [], [known.content]
    rows = store.rows("SELECT id, word FROM words WHERE id >= ? ORDER BY id", [len(known)])
    while some := list(itertools.islice(rows, ROWS)):
        texts = [word.encode() for _, word in some]
        numbers.append(np.array([number for number, _ in some]))
        lengths.append(np.array([len(text) for text in texts]))
        parts.append(b"".join(texts))
    if not numbers:
        return known
    sizes = np.zeros(int(numbers[-1][-1]) + 1 - len(known), np.int64)
    sizes[np.concatenate(numbers) - len(known)] = np.concatenate(lengths)
    starts = np.concatenate([known.starts, known.starts[-1] + np.cumsum(sizes)])
    return WordTexts(b"".join(parts), starts)


class Words:
    """The words of a store by number: their text and their significance, each read once.

    `texts` are those of all words, if they were read already.
    """

    def __init__(self, store: Store, texts: WordTexts | None = None) -> None:
        self._store = store
        self._names: dict[int, str] = {}
        self._known = texts
        self._n_chosen = 0
        self.significance: NDArray[np.float64] | None = None
        """By word number, if the store weighs domains by occurrence and significance."""
        if store.facts().get("domain_weight") == "occurrence-significance":
            self.significance = self._read_significance()

    def _read_significance(self) -> NDArray[np.float64]:
        record = self._store.frozen_arrays("frequencies")
        if record is None:
            return np.zeros(0)
        frozen = Frozen.of(dict(record.arrays))
        values = np.ones(len(frozen.occurrences))
        for number, lang, _, _, _ in self._store.words():
            if number < len(values):
                tokens = frozen.totals.get(lang, (0, 0))[1]
                values[number] = significance(tokens, frozen.occurrences[number : number + 1])[0]
        return values

    def name(self, number: int) -> str:
        """Return the text of a word."""
        if number not in self._names:
            self._read({number})
        return self._names[number]

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Return the texts of some words; those that are not known yet are read at once."""
        self._read(set(numbers))
        return [self._names[number] for number in numbers]

    def significance_of(self, numbers: NDArray[np.integer]) -> NDArray[np.float64] | None:
        """Return the significance of some words, 1 for new ones; None if the store uses none."""
        if self.significance is None:
            return None
        values = np.ones(len(numbers))
        weighed = numbers < len(self.significance)
        values[weighed] = self.significance[numbers[weighed]]
        return values

    def of_domain(self, number: int, top: int) -> dict[str, float]:
        """Return the `top` heaviest words of a domain with their weights."""
        row = self._store.row("SELECT words, units FROM domains WHERE id = ?", [number])
        if row is None:
            return {}
        return self.weights(codecs.domain_from(*row), top)

    def weights(self, sums: DomainWords, top: int) -> dict[str, float]:
        """Return the `top` heaviest words with their weights, heaviest first."""
        words = self._heaviest(sums, top)
        self._read({word.number for word in words})
        return {self._names[word.number]: round(-word.negative_weight, 6) for word in words}

    def best(
        self, sums: DomainWords, top: int | None, above: float | None = None
    ) -> list[WeightedWord]:
        """Return the `top` heaviest words (all if None), heaviest first.

        With `above`, words beyond the first `top` are included if they weigh more than that.
        """
        words = self._heaviest(sums, top, above)
        self._read({word.number for word in words})
        return self._named(words)

    def best_of_each(
        self, many: Iterable[DomainWords], top: int | None
    ) -> list[list[WeightedWord]]:
        """Return the `top` heaviest words of each; the texts of all are read at once."""
        listed = [self._heaviest(sums, top) for sums in many]
        self._read({word.number for words in listed for word in words})
        return [self._named(words) for words in listed]

    def _read(self, numbers: set[int]) -> None:
        """Read the texts of words that were not read before."""
        missing = numbers - self._names.keys()
        if not missing:
            return
        if self._known is not None:
            self._names.update({number: self._known[number] for number in missing})
            return
        self._n_chosen += len(missing)
        if self._n_chosen > MOST_CHOSEN:
            self._names.update(self._store.rows("SELECT id, word FROM words"))
            return
        self._names.update(
            self._store.rows(
                "SELECT id, word FROM words WHERE id IN (SELECT value FROM json_each(?))",
                [json.dumps(sorted(missing))],
            )
        )

    def _named(self, words: Iterable[_Weighed]) -> list[WeightedWord]:
        return [
            WeightedWord(self._names[number], round(-negative_weight, 6), -negative_occurrences)
            for negative_weight, negative_occurrences, number in words
        ]

    def _heaviest(
        self, sums: DomainWords, top: int | None, above: float | None = None
    ) -> list[_Weighed]:
        """Return the `top` heaviest words, ties by occurrences, then by number."""
        n_units = max(sums.n_units, 1)
        word_significance = self.significance_of(sums.words)
        if word_significance is None:
            weights = sums.weights / (float(SCALE) * n_units)
        else:
            weights = np.minimum(sums.occurrences, n_units) * word_significance / n_units
        if above is not None and top is not None:
            top = max(top, int((weights > above).sum()))
        columns = (-weights, -sums.occurrences, sums.words)
        if top is not None and 0 < top < len(weights):  # sorting all words would take longer
            heavy = weights >= np.partition(weights, len(weights) - top)[len(weights) - top]
            columns = (columns[0][heavy], columns[1][heavy], columns[2][heavy])
        listed = map(_Weighed, *(column.tolist() for column in columns))
        return sorted(listed)[:top]


class _Weighed(NamedTuple):
    """A word of a domain; the smallest comes first in a list."""

    negative_weight: float
    negative_occurrences: int
    number: int
