"""Words and their numbers. A word belongs to a language, so languages never mix."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vocabulary"]


class Vocabulary:
    """Numbers words in the order in which they are first seen; numbers are never reused.

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
        """Takes back words that were numbered before: (number, language, word), by number.

        Numbers may have gaps where words were forgotten; a gap is never filled.
        """
        for number, lang, word in entries:
            while len(self._words) < number:
                self._append("", [""])
            self._append(lang, [word])
            self._numbers.setdefault(lang, {})[word] = number

    def numbers(self, lang: str, words: Iterable[str]) -> list[int]:
        """The number of each word; unknown words get the next one."""
        known = self._numbers.setdefault(lang, {})
        asked = list(words)
        found = list(map(known.get, asked))
        if None in found:
            self._number(lang, (word for word in asked if word not in known))
        return [known[word] for word in asked] if None in found else cast("list[int]", found)

    def _number(self, lang: str, words: Iterable[str]) -> None:
        """Gives the next numbers to words that have none."""
        known = self._numbers[lang]
        new = list(dict.fromkeys(words))
        known.update(zip(new, range(len(self._words), len(self._words) + len(new)), strict=True))
        self._append(lang, new)

    def _append(self, lang: str, words: Sequence[str]) -> None:
        self._words += words
        self._langs += [lang] * len(words)
        self._codes.extend([self._code.setdefault(lang, len(self._code))] * len(words))

    def of_lang(self, lang: str) -> NDArray[np.bool_]:
        """Of every word by its number, whether it is of a language.

        >>> vocabulary = Vocabulary()
        >>> _ = vocabulary.numbers("en", ["storm"]), vocabulary.numbers("fr", ["pluie"])
        >>> vocabulary.of_lang("fr").tolist()
        [False, True]
        """
        codes = np.array(self._codes, dtype=np.uint16)
        found: NDArray[np.bool_] = codes == self._code.get(lang, len(self._code))
        return found

    def places(self, langs: Sequence[str]) -> NDArray[np.int32]:
        """Of every word by its number, the place of its language among these.

        >>> vocabulary = Vocabulary()
        >>> _ = vocabulary.numbers("fr", ["pluie"]), vocabulary.numbers("en", ["storm", "rain"])
        >>> vocabulary.places(["en", "fr"]).tolist()
        [1, 0, 0]
        """
        place = dict(zip(langs, range(len(langs)), strict=True))
        of_code = np.array([place[lang] for lang in self._code] or [0], dtype=np.int32)
        found: NDArray[np.int32] = of_code[np.array(self._codes, dtype=np.uint16)]
        return found

    def find(self, lang: str, word: str) -> int | None:
        """The number of a word, if it has one."""
        return self._numbers.get(lang, {}).get(word)

    def rows(self, lang: str) -> Mapping[str, int]:
        """The words of a language with their numbers, those to come included; not to be changed."""
        return self._numbers.setdefault(lang, {})

    @property
    def known_langs(self) -> Sequence[str]:
        """The languages that have words."""
        return list(self._code)

    @property
    def langs(self) -> Sequence[str]:
        """The language of every word by its number; not to be changed."""
        return self._langs

    @property
    def words(self) -> Sequence[str]:
        """Every word by its number; not to be changed."""
        return self._words

    def word(self, number: int) -> str:
        return self._words[number]

    def lang(self, number: int) -> str:
        return self._langs[number]

    def since(self, number: int) -> list[tuple[int, str, str]]:
        """What was numbered from `number` on: (number, language, word)."""
        return [(n, self._langs[n], self._words[n]) for n in range(number, len(self._words))]
