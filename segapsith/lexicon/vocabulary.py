"""Words and their numbers; each word belongs to one language."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vocabulary"]


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
        return [(n, self._langs[n], self._words[n]) for n in range(number, len(self._words))]
