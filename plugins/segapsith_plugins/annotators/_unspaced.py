"""Words in scripts without spaces between them, or whose words are several: zh, ja, ko, th.

Each finder comes with an extra. Without it a text is divided by ICU, and without that into pairs of
characters, so that a text never fails to be read.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from segapsith.languages import LanguagePack
from segapsith.languages.mapping import ForeignMap, Turn

__all__ = ["FoundWord", "is_installed", "word_finder"]

_LOG = logging.getLogger(__name__)


class FoundWord(NamedTuple):
    """A word in a chunk: its position, its lemma ('' is the form), whether it may be content."""

    start: int
    end: int
    lemma: str
    content: bool


# Finders are made once for a process: kiwi's takes 240 MB, and sudachi's 30 MB.
Finder = Callable[[str], Iterator[FoundWord]]

_WINDOW = 2000
"""Characters that are divided at once."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def word_finder(pack: LanguagePack) -> Finder | None:
    """Return what divides the chunks of a language; None if spaces do."""
    makers: dict[str, Callable[[str], Finder]] = {
        "jieba": _jieba,
        "sudachi": _sudachi,
        "kiwi": _kiwi,
        "icu": _icu,
    }
    if pack.lemmatiser not in makers:
        return None
    for name in (pack.lemmatiser, "icu"):
        try:
            return _windowed(makers[name](pack.code))
        except ImportError:
            _LOG.warning(
                "%s: the words of this language need an extra: pip install segapsith[%s]",
                pack.name or pack.code,
                pack.extra,
            )
    return _windowed(_pairs)


def is_installed(pack: LanguagePack) -> bool:
    """Return whether the package that finds the words of a language is installed."""
    from importlib.util import find_spec

    package = {"jieba": "rjieba", "sudachi": "sudachipy", "kiwi": "kiwipiepy", "icu": "icu4py"}
    name = package.get(pack.lemmatiser)
    return name is None or find_spec(name) is not None


def _windowed(find: Finder) -> Finder:
    """Return a finder for texts of any length and any characters, without empty or silent words."""

    def windowed(chunk: str) -> Iterator[FoundWord]:
        for offset in range(0, len(chunk), _WINDOW):
            part = _SURROGATE.sub("\ufffd", chunk[offset : offset + _WINDOW])
            end = 0
            for word in find(part):
                first = max(word.start, end)  # morphemes of a contraction overlap
                if first < word.end and any(map(str.isalnum, part[first : word.end])):
                    end = word.end
                    yield word._replace(start=offset + first, end=offset + end)

    return windowed


_CHINESE_CONTENT = ("n", "v", "a", "i", "j", "l", "eng", "g", "s", "b", "z")
_CHINESE_OTHER = frozenset({"vshi", "vyou", "vq"})


@lru_cache(maxsize=1)
def _jieba(lang: str) -> Finder:
    import rjieba

    tag = rjieba.tag

    def find(text: str) -> Iterator[FoundWord]:
        start = 0
        for word, kind in tag(text):
            end = start + len(word)
            content = kind.startswith(_CHINESE_CONTENT) and kind not in _CHINESE_OTHER
            yield FoundWord(start, end, "", content)
            start = end

    return find


@lru_cache(maxsize=1)
def _sudachi(lang: str) -> Finder:
    from sudachipy import Dictionary, SplitMode

    tokenizer = Dictionary(dict="small").tokenizer(mode=SplitMode.C)

    dictionary = ForeignMap("system.dic")  # it reads 80 MB of its file

    def find(text: str) -> Iterator[FoundWord]:
        if Turn.holder is not dictionary:
            Turn.of(dictionary)
        for part in tokenizer.tokenize(text):
            kind = part.part_of_speech()
            content = (
                kind[0] in ("名詞", "動詞", "形容詞", "形状詞")
                and kind[1] not in ("数詞", "非自立可能", "助動詞語幹")
                and kind[2] not in ("助数詞", "助数詞可能", "副詞可能")
            )
            yield FoundWord(part.begin(), part.end(), part.normalized_form().lower(), content)

    return find


_KOREAN_CONTENT = frozenset({"NNG", "NNP", "SL", "SH", "XR"})


@lru_cache(maxsize=1)
def _kiwi(lang: str) -> Finder:
    from kiwipiepy import Kiwi

    # Without its list of proper names, which takes 90 MB.
    kiwi = Kiwi(num_workers=1, load_default_dict=False, load_typo_dict=False, load_multi_dict=False)

    def find(text: str) -> Iterator[FoundWord]:
        for part in kiwi.tokenize(text):
            verb = part.tag.startswith(("VV", "VA"))
            lemma = f"{part.form}다" if verb else part.form.lower()
            content = verb or part.tag in _KOREAN_CONTENT
            yield FoundWord(part.start, part.start + part.len, lemma, content)

    return find


def _icu(lang: str) -> Finder:
    from icu4py.breakers import WordBreaker

    def find(text: str) -> Iterator[FoundWord]:
        # ICU counts in UTF-16, where characters beyond U+FFFF are two.
        places = [i for i, c in enumerate(text) for _ in range(1 + (c > "\uffff"))] + [len(text)]
        for start, end in WordBreaker(text, lang).segments():
            yield FoundWord(places[start], places[end], "", True)

    return find


def _pairs(text: str) -> Iterator[FoundWord]:
    """Yield pairs of characters; the last may be alone."""
    for start in range(0, len(text), 2):
        yield FoundWord(start, min(start + 2, len(text)), "", True)
