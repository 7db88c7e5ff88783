"""The vocabulary: words with their numbers, their counts and their weights.

Each word belongs to one language. Weights come from counts, in fixed point, so that sums are exact
in any order; the formulas are in docs/concepts/formulas.md, "Word weights".
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = [
    "SCALE",
    "Frequencies",
    "NewWords",
    "Vocabulary",
    "all_unit_weights",
    "fixed_cohesion",
    "rarity",
    "significance",
    "tf_idf",
    "unit_weights",
]

SCALE = 1 << 16
"""A weight of 1 as a fixed-point number."""


class Vocabulary:
    """Numbers words in the order of their first occurrence; numbers are never reused.

    >>> vocabulary = Vocabulary()
    >>> vocabulary.numbers("en", ["storm", "rain", "storm"])
    [0, 1, 0]
    >>> vocabulary.numbers("fr", ["rain"]), vocabulary.word(2)
    ([2], 'rain')
    """

    def __init__(self) -> None:
        self._words: list[str] = []
        self._langs: list[str] = []
        self._codes = array("H")
        self._code: dict[str, int] = {}
        self._numbers: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def restore(self, entries: Iterable[tuple[int, str, str]]) -> None:
        """Restore numbered words from a store: (number, language, word), by number.

        Numbers may have gaps where words were deleted; a gap is never filled.
        """
        for number, lang, word in entries:
            while len(self._words) < number:
                self._append("", [""])
            self._append(lang, [word])
            self._numbers.setdefault(lang, {})[word] = number

    def numbers(self, lang: str, words: Iterable[str]) -> list[int]:
        """Return the number of each word; a new word gets the next number."""
        number_of = self._numbers.setdefault(lang, {})
        sought = list(words)
        numbers = list(map(number_of.get, sought))
        if None in numbers:
            self._number(lang, (word for word in sought if word not in number_of))
            return [number_of[word] for word in sought]
        return cast("list[int]", numbers)

    def _number(self, lang: str, words: Iterable[str]) -> None:
        """Give the next numbers to words that have none."""
        new = list(dict.fromkeys(words))
        self._numbers[lang].update(
            zip(new, range(len(self._words), len(self._words) + len(new)), strict=True)
        )
        self._append(lang, new)

    def _append(self, lang: str, words: Sequence[str]) -> None:
        self._words += words
        self._langs += [lang] * len(words)
        self._codes.extend([self._code.setdefault(lang, len(self._code))] * len(words))

    def of_lang(self, lang: str) -> NDArray[np.bool_]:
        """Return, by word number, whether a word belongs to a language.

        >>> vocabulary = Vocabulary()
        >>> _ = vocabulary.numbers("en", ["storm"]), vocabulary.numbers("fr", ["pluie"])
        >>> vocabulary.of_lang("fr").tolist()
        [False, True]
        """
        codes = np.array(self._codes, dtype=np.uint16)
        belongs: NDArray[np.bool_] = codes == self._code.get(lang, len(self._code))
        return belongs

    def places(self, langs: Sequence[str]) -> NDArray[np.int32]:
        """Return, by word number, the index of its language in `langs`.

        >>> vocabulary = Vocabulary()
        >>> _ = vocabulary.numbers("fr", ["pluie"]), vocabulary.numbers("en", ["storm", "rain"])
        >>> vocabulary.places(["en", "fr"]).tolist()
        [1, 0, 0]
        """
        index_of = dict(zip(langs, range(len(langs)), strict=True))
        of_code = np.array([index_of[lang] for lang in self._code] or [0], dtype=np.int32)
        indices: NDArray[np.int32] = of_code[np.array(self._codes, dtype=np.uint16)]
        return indices

    def find(self, lang: str, word: str) -> int | None:
        """Return the number of a word, or None."""
        return self._numbers.get(lang, {}).get(word)

    def rows(self, lang: str) -> Mapping[str, int]:
        """Return a live mapping of the words of a language to their numbers; do not change it."""
        return self._numbers.setdefault(lang, {})

    @property
    def known_langs(self) -> Sequence[str]:
        """The languages that have words."""
        return list(self._code)

    @property
    def langs(self) -> Sequence[str]:
        """The language of each word, by number; do not change it."""
        return self._langs

    @property
    def words(self) -> Sequence[str]:
        """Each word, by number; do not change it."""
        return self._words

    def word(self, number: int) -> str:
        """Return the word with this number."""
        return self._words[number]

    def lang(self, number: int) -> str:
        """Return the language of the word with this number."""
        return self._langs[number]

    def since(self, number: int) -> list[tuple[int, str, str]]:
        """Return the words with this number or a higher one: (number, language, word)."""
        return list(self.columns_since(number))

    def columns_since(self, number: int) -> NewWords:
        """Return the words with this number or a higher one as columns."""
        return NewWords(number, self._langs[number:], self._words[number:])


@dataclass(frozen=True, slots=True)
class NewWords:
    """Words without a gap in their numbers: a tuple of each would take longer to make.

    >>> list(NewWords(7, ["en", "fr"], ["rain", "pluie"]))
    [(7, 'en', 'rain'), (8, 'fr', 'pluie')]
    """

    first: int = 0
    langs: Sequence[str] = ()
    words: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        """Yield number, language and word."""
        numbers = range(self.first, self.first + len(self.words))
        return zip(numbers, self.langs, self.words, strict=True)


class Frequencies:
    """Running sums over the stream: documents and occurrences of each word."""

    def __init__(self) -> None:
        self.documents = np.zeros(0, dtype=np.int64)
        self.occurrences = np.zeros(0, dtype=np.int64)
        self.totals: dict[str, tuple[int, int]] = {}
        """By language: documents, content words."""
        self.cohesion: dict[str, tuple[int, int]] = {}
        """By language: units, and the sum of their cohesion in fixed point."""

    def grow(self, n_words: int) -> None:
        """Enlarge the arrays for at least `n_words` words."""
        if n_words > len(self.documents):
            size = max(n_words, 2 * len(self.documents), 1024)
            self.documents = np.concatenate(
                [self.documents, np.zeros(size - len(self.documents), dtype=np.int64)]
            )
            self.occurrences = np.concatenate(
                [self.occurrences, np.zeros(size - len(self.occurrences), dtype=np.int64)]
            )

    def add(
        self, lang: str, words: NDArray[np.int32], counts: NDArray[np.int32], sign: int = 1
    ) -> None:
        """Add one document (distinct words with counts), or subtract it with `sign=-1`."""
        self.documents[words] += sign
        self.occurrences[words] += sign * counts.astype(np.int64)
        n_documents, n_tokens = self.totals.get(lang, (0, 0))
        self.totals[lang] = (n_documents + sign, n_tokens + sign * int(counts.sum()))

    def add_all(
        self,
        lang: str,
        n_documents: int,
        words: NDArray[np.int32],
        counts: NDArray[np.int32],
        sign: int = 1,
    ) -> None:
        """Add several documents, their words concatenated, or subtract them with `sign=-1`."""
        np.add.at(self.documents, words, sign)
        np.add.at(self.occurrences, words, sign * counts.astype(np.int64))
        documents, n_tokens = self.totals.get(lang, (0, 0))
        self.totals[lang] = (documents + sign * n_documents, n_tokens + sign * int(counts.sum()))

    def add_cohesion(self, lang: str, values: Iterable[float], sign: int = 1) -> None:
        """Add the cohesion of units, or subtract it with `sign=-1`."""
        fixed = [fixed_cohesion(value) for value in values]
        n_units, total = self.cohesion.get(lang, (0, 0))
        self.cohesion[lang] = (n_units + sign * len(fixed), total + sign * sum(fixed))


def fixed_cohesion(value: float) -> int:
    """Return a cohesion in fixed point, clipped to ±1,000,000.

    >>> fixed_cohesion(0.5), fixed_cohesion(-1e300) == -fixed_cohesion(1e6)
    (32768, True)
    """
    return round(max(-1e6, min(1e6, value)) * SCALE)


def rarity(n_documents: int, frequency: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the inverse document frequency ln((N + 2) / (df + 1)).

    It is always positive, and equal for all words before the first document.
    """
    ratio: NDArray[np.float64] = np.log(
        (n_documents + 2.0) / (np.minimum(frequency, n_documents) + 1.0)
    )
    return ratio


def common_share(n_documents: int, n_tokens: int) -> float:
    """Return the share of documents from which on a word of an unknown language is a stop word.

    A word that is one in 300 occurs in 1 - (1 - 1/300)^L documents of L words. Content words are
    rarer than that, except in very short texts and very long ones.

    >>> round(common_share(1000, 10_000), 3), round(common_share(1000, 200_000), 3)
    (0.08, 0.487)
    """
    length = n_tokens / n_documents if n_documents else 0.0
    share = 1.0 - (1.0 - 1.0 / COMMON_ONE_IN) ** length
    return float(max(MIN_COMMON_SHARE, min(share, MAX_COMMON_SHARE)))


COMMON_ONE_IN = 300
"""A word that is one in N, at least, is a stop word of a language without a pack."""

MIN_COMMON_SHARE, MAX_COMMON_SHARE = 0.08, 0.5
MIN_COMMON_DOCUMENTS = 50
"""Documents of a language before stop words are learned."""


def significance(n_tokens: int, frequency: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return normalised information 1 - ln f / ln S (Kozima 1993), 1 for a word without occurrences."""
    if n_tokens < 2:
        return np.ones(len(frequency))
    share = np.log(np.maximum(frequency, 1)) / np.log(n_tokens)
    result: NDArray[np.float64] = np.clip(1.0 - share, 0.0, 1.0)
    return result


def unit_weights(counts: NDArray[np.int32], importance: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return (1 + ln count) * importance, scaled to a largest weight of 1, in fixed point.

    No word weighs less than 1 / `SCALE`, so that rounding removes no word.
    """
    if len(counts) == 0:
        return np.zeros(0, dtype=np.int32)
    weights = (1.0 + np.log(counts)) * importance
    top = float(weights.max())
    if top <= 0:
        return np.full(len(counts), SCALE, dtype=np.int32)
    fixed: NDArray[np.int32] = np.maximum(np.rint(weights / top * SCALE), 1).astype(np.int32)
    return fixed


def all_unit_weights(
    counts: NDArray[np.int32], importance: NDArray[np.float64], ends: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the `unit_weights` of several concatenated units, none of them empty."""
    weights = (1.0 + np.log(counts)) * importance
    tops = np.maximum.reduceat(weights, np.concatenate([[0], ends[:-1]]))
    is_flat = tops <= 0
    sizes = np.diff(ends, prepend=0)
    shares = weights / np.repeat(np.where(is_flat, 1.0, tops), sizes)
    fixed: NDArray[np.int32] = np.maximum(np.rint(shares * SCALE), 1).astype(np.int32)
    if is_flat.any():
        fixed[np.repeat(is_flat, sizes)] = SCALE
    return fixed


@kernel
def sorted_units(
    numbers: NDArray[np.int32], counts: NDArray[np.int32], ends: NDArray[np.int64], n_words: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return concatenated units with their words by number, equal words of a unit added up.

    All words are sorted at once by counting, which takes longer for few words than sorting each
    unit: every number below `n_words` is visited.
    """
    starts = np.zeros(n_words + 1, np.int64)
    for i in range(len(numbers)):
        starts[numbers[i] + 1] += 1
    for word in range(n_words):
        starts[word + 1] += starts[word]
    units, order = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    first = 0
    for unit in range(len(ends)):
        for i in range(first, ends[unit]):
            place = starts[numbers[i]]
            starts[numbers[i]] += 1
            units[place], order[place] = unit, i
        first = ends[unit]
    words, times = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    filled = np.empty(len(ends), np.int64)
    for unit in range(len(ends)):
        filled[unit] = ends[unit - 1] if unit else 0
    for place in range(len(numbers)):
        unit, i = units[place], order[place]
        at = filled[unit]
        if at > (ends[unit - 1] if unit else 0) and words[at - 1] == numbers[i]:
            times[at - 1] += counts[i]
        else:
            words[at], times[at] = numbers[i], counts[i]
            filled[unit] += 1
    new_ends, used = np.empty(len(ends), np.int64), 0
    for unit in range(len(ends)):
        for at in range(ends[unit - 1] if unit else 0, filled[unit]):
            words[used], times[used] = words[at], times[at]
            used += 1
        new_ends[unit] = used
    return words[:used], times[:used], new_ends


def tf_idf(counts: Rows, min_documents: int = 2) -> Rows:
    """Return rows of count * ln(N / df), scaled to length 1.

    Words in fewer than `min_documents` rows are left out; their columns remain, empty. A row that
    loses all its words remains, empty.

    >>> from scipy.sparse import csr_array
    >>> tf_idf(csr_array([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 0.0]])).toarray().round(2)
    array([[0.89, 0.45, 0.  ],
           [0.  , 1.  , 0.  ],
           [1.  , 0.  , 0.  ]])
    """
    from scipy.sparse import csr_array  # slow to import

    n_rows = counts.shape[0]
    frequency = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    idf = np.log(n_rows / np.maximum(frequency, 1))
    idf[frequency < min_documents] = 0.0
    weighted = counts.astype(np.float64)
    weighted.data = weighted.data * idf[weighted.indices]
    weighted.eliminate_zeros()
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    weighted.data = weighted.data / np.repeat(lengths, np.diff(weighted.indptr))
    return csr_array(weighted)
