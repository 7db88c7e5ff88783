"""Words and their numbers. A word belongs to a language, so languages never mix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

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
        self._numbers: dict[str, dict[str, int]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def restore(self, entries: Iterable[tuple[int, str, str]]) -> None:
        """Takes back words that were numbered before: (number, language, word), by number.

        Numbers may have gaps where words were forgotten; a gap is never filled.
        """
        for number, lang, word in entries:
            while len(self._words) < number:
                self._words.append("")
                self._langs.append("")
            self._words.append(word)
            self._langs.append(lang)
            self._numbers.setdefault(lang, {})[word] = number

    def numbers(self, lang: str, words: Iterable[str]) -> list[int]:
        """The number of each word; unknown words get the next one."""
        known = self._numbers.setdefault(lang, {})
        asked = list(words)
        found = list(map(known.get, asked))
        if None in found:
            self._number(lang, (word for word in asked if word not in known))
        return [known[word] for word in asked] if None in found else cast("list[int]", found)

    def bag_numbers(self, lang: str, words: Collection[str]) -> list[int]:
        """The number of each distinct word; unknown words get the next ones by name.

        >>> Vocabulary().bag_numbers("en", ["storm", "rain"])
        [1, 0]
        """
        known = self._numbers.setdefault(lang, {})
        found = list(map(known.get, words))
        if None in found:
            self._number(lang, sorted(word for word in words if word not in known))
            return list(map(known.__getitem__, words))
        return cast("list[int]", found)

    def _number(self, lang: str, words: Iterable[str]) -> None:
        known = self._numbers[lang]
        for word in words:
            if word not in known:
                known[word] = len(self._words)
                self._words.append(word)
                self._langs.append(lang)

    def find(self, lang: str, word: str) -> int | None:
        """The number of a word, if it has one."""
        return self._numbers.get(lang, {}).get(word)

    def rows(self, lang: str) -> Mapping[str, int]:
        """The words of a language with their numbers, those to come included; not to be changed."""
        return self._numbers.setdefault(lang, {})

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
