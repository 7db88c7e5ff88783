"""Read a chunk of English or French text: its words, their lemmas, and which are content."""

from __future__ import annotations

import re
from typing import NamedTuple

from segapsith_plugins.annotators._pieces import INSIDE
from segapsith_plugins.annotators._words import Lemmas, is_content, normal, stop_list, word_set

__all__ = ["MAX_COMPOUND_CHARS", "UNITED_STATES", "ChunkReader", "Word", "has_capital"]


class Word(NamedTuple):
    """A word within a chunk: its position, its lemma, and whether it is content."""

    start: int
    end: int
    lemma: str
    content: bool


MAX_COMPOUND_CHARS = 100
"""Characters of a chunk that may be a compound; a longer one is cut at each sign."""

_LETTERS = re.compile(rf"[^\W_][{INSIDE}]*+")
_APOSTROPHE = re.compile("['’ʼ‘`´]")
_PART = re.compile("[^-‐‑_]+")


_CONTRACTIONS = {"s", "d", "ll", "ve", "re", "m"}
_PREFIXES = word_set(
    "anti co counter cross de e euro ex extra inter intra macro mega micro mid mini mis multi neo "
    "non over para petro post pre pro pseudo quasi re self semi sub super trans ultra under uni "
    "vice"
)
_ELISIONS = word_set("l d j m t s n c qu jusqu lorsqu puisqu quoiqu presqu quelqu")
_CLITICS = word_set(
    "t il elle on ils elles je tu nous vous le la les lui leur moi toi y en ce ci là même mêmes"
)
UNITED_STATES = frozenset({"US", "USA", "U.S.", "U.S.A.", "É.-U."})


def has_capital(word: str) -> bool:
    """Return whether a word is written like a name; a word all in capitals is not.

    >>> [has_capital(word) for word in ("Gaza", "GAZA", "gaza")]
    [True, False, False]
    """
    return word[:1].isupper() and not word.isupper()


class ChunkReader:
    """Finds the words of one chunk, their lemmas, and which are content."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.lemmas = Lemmas(lang)
        self.stops = stop_list(lang)
        self._cache: dict[str, tuple[str, bool]] = {}
        self.read = self._english if lang == "en" else self._french

    def __call__(self, chunk: str) -> list[Word]:
        if chunk.isdecimal():
            return [Word(0, len(chunk), chunk, False)]
        if chunk.isalpha():
            if chunk in UNITED_STATES:
                return [Word(0, len(chunk), "usa", True)]
            return [self._word(chunk, 0, len(chunk))]
        if chunk[0].isdigit() and chunk[-1].isdigit():  # 1,750 and 1986-87
            return [Word(0, len(chunk), normal(chunk), False)]
        if len(chunk) > MAX_COMPOUND_CHARS:
            return [self._word(chunk, *match.span()) for match in _LETTERS.finditer(chunk)]
        if chunk[-1] == ".":  # the pattern ends a chunk with a dot only for an acronym
            return [self._acronym(chunk)]
        return self.read(chunk)

    def _word(self, chunk: str, start: int, end: int) -> Word:
        form = normal(chunk[start:end])
        if not form:  # only invisible characters
            return Word(start, end, chunk[start:end], False)
        return Word(start, end, *self.lemma_of(form, has_capital(chunk[start:end])))

    def lemma_of(self, form: str, named: bool = False) -> tuple[str, bool]:
        """Return the lemma of a lower-case form, and whether it is content.

        `named`: the form was written with a capital.
        """
        lemma, content = self._looked_up(form)
        if named and self.lang == "fr" and lemma != form and 1 < len(form) <= MAX_COMPOUND_CHARS:
            own = self.lemmas.named(form)
            if own != lemma:
                return own, content and not self.stops.stops(form, own)
        return lemma, content

    def _looked_up(self, form: str) -> tuple[str, bool]:
        entry = self._cache.get(form)
        if entry is None:  # Shares, SHARES and shares are looked up once
            # The lemma of a letter, a number or an overlong form is the form itself.
            is_word = 1 < len(form) <= MAX_COMPOUND_CHARS and not form[0].isdigit()
            lemma = self.lemmas.of(form) if is_word else form
            carries = (is_word and form.isalpha()) or is_content(form)
            entry = self._cache[form] = (lemma, carries and not self.stops.stops(form, lemma))
        return entry

    def _acronym(self, chunk: str) -> Word:
        if chunk in UNITED_STATES:
            return Word(0, len(chunk), "usa", True)
        form = normal(chunk)
        bare = form.replace(".", "").replace("-", "")
        lemma = self.lemmas.of(form) if self.lemmas.knows(form) else bare
        return Word(0, len(chunk), lemma, is_content(bare) and not self.stops.stops(form, lemma))

    def _english(self, chunk: str) -> list[Word]:
        end = len(chunk)
        cuts = [match.start() for match in _APOSTROPHE.finditer(chunk)]
        if cuts:
            tail = chunk[cuts[-1] + 1 :].lower()
            if tail in _CONTRACTIONS:
                end = cuts[-1]
            elif tail == "t" and chunk[cuts[-1] - 1] in "nN":
                return [self._word(chunk, 0, end)]  # don't, isn't: in the stop list as they are
        if not any(sign in chunk for sign in "-‐‑_"):
            return [self._word(chunk, 0, end)]
        return self._hyphenated(chunk, 0, end)

    def _hyphenated(self, chunk: str, start: int, end: int) -> list[Word]:
        form = normal(chunk[start:end])
        parts = [match.span() for match in _PART.finditer(chunk, start, end)]
        pieces = [chunk[first:last] for first, last in parts]
        outer = pieces[:: len(pieces) - 1 or 1]  # Bouches-du-Rhône
        named = all(piece[0].isupper() and not piece.isupper() for piece in outer)
        french_name = named and self.lang == "fr" and not self.lemmas.excepts(form)
        if len(parts) < 2 or (self.lemmas.knows(form) and not french_name):
            return [self._word(chunk, start, end)] if parts else []
        if self.lang == "fr" or normal(pieces[0]) in _PREFIXES or form[0].isdigit():
            whole = True
        else:
            whole = named and not all(self.lemmas.knows(normal(piece)) for piece in pieces)
        if not whole or "_" in chunk:
            return [self._word(chunk, first, last) for first, last in parts]
        # An unknown compound is inflected only at its end: sous-préfets, non-aligned.
        last_word = self._word(chunk, *parts[-1])
        last_form = normal(pieces[-1])
        plural = not named and last_form.removesuffix("s") == last_word.lemma
        lemma = form.removesuffix("s") if plural else form
        content = is_content(form) and not self.stops.stops(form, lemma)
        return [Word(start, end, lemma, content)]

    def _french(self, chunk: str) -> list[Word]:
        words: list[Word] = []
        start = 0
        if self.lemmas.excepts(normal(chunk)):  # the dictionary has l'un, and that is two words
            return [self._word(chunk, 0, len(chunk))]
        head, sign, rest = chunk.partition("'" if "'" in chunk else "’")
        if sign and rest.isalpha() and (short := head.lower()) in _ELISIONS:  # the usual case
            start = len(head) + 1
            return [Word(0, start, f"{short}'", False), self._word(chunk, start, len(chunk))]
        for match in _APOSTROPHE.finditer(chunk):
            head = normal(chunk[start : match.start()])
            if head in _ELISIONS:
                words.append(Word(start, match.end(), f"{head}'", False))
                start = match.end()
                if self.lemmas.excepts(normal(chunk[start:])):
                    break
        return words + self._without_clitics(chunk, start, len(chunk))

    def _without_clitics(self, chunk: str, start: int, end: int) -> list[Word]:
        clitics: list[Word] = []
        while not self.lemmas.knows(normal(chunk[start:end])):
            cut = max(chunk.rfind(hyphen, start, end) for hyphen in "-‐‑")
            if cut <= start or (tail := normal(chunk[cut + 1 : end])) not in _CLITICS:
                break
            if tail != "t":  # the t of a-t-il is a sound, not a word
                clitics.append(self._word(chunk, cut + 1, end)._replace(content=False))
            end = cut
        words = self._hyphenated(chunk, start, end) if start < end else []
        return words + clitics[::-1]
