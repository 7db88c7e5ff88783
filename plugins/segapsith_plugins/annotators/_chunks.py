"""The chunks of a text: where they are, which words they contain, and after which a sentence ends.

A chunk is a run of letters or digits with the hyphens, apostrophes and dots inside it. A gap is
everything up to the next chunk, so that chunks and gaps cover a text after its first letter. Equal
chunks have equal numbers, in the order of first occurrence, and so have equal gaps.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.languages import pack_of
from segapsith.tokens import table_size
from segapsith_plugins.annotators._unspaced import FoundWord, word_finder
from segapsith_plugins.annotators._words import (
    Lemmas,
    is_content,
    normal,
    normaliser,
    stop_list,
)

__all__ = [
    "ONE_BLANK",
    "UNITED_STATES",
    "After",
    "Before",
    "ChunkReader",
    "Gap",
    "Gaps",
    "Strings",
    "Word",
    "chunk_pattern",
    "chunks_of",
    "has_capital",
    "last_chunks",
    "match_end",
    "stop_roles",
]

# --- chunks and gaps ------------------------------------------------------------------------------

_INVISIBLE = (0xAD, 0x200B, 0x200C, 0x200D, 0x2060)
"""Soft hyphen, zero-width characters: inside a chunk, of which they are no letters."""

_SIGNS = "-‐‑'’ʼ‘`´&"
_QUOTES = '"״׳'
"""Marks of an acronym between two Hebrew letters."""

_N_WITH_MARKS = 0x20000
"""No character beyond is a mark."""


@cache
def _marks(n_characters: int = _N_WITH_MARKS) -> tuple[int, ...]:
    """Return the vowel signs, accents and other marks that belong to the letter before them.

    Variation selectors and marks around symbols are not among them. Only those of the first
    characters are looked for.
    """
    return tuple(
        code
        for code in range(0x300, min(n_characters, _N_WITH_MARKS))
        if unicodedata.category(chr(code))[0] == "M"
        and not 0x20D0 <= code <= 0x20FF
        and not 0xFE00 <= code <= 0xFE0F
    )


@lru_cache(maxsize=1)
def chunk_pattern() -> re.Pattern[str]:
    """Return the pattern of a chunk; `_cut` finds the same chunks without a pattern."""
    inside = r"\w" + "".join(map(chr, (*_INVISIBLE, *_marks())))
    return re.compile(
        rf"""
        [^\W_](?:
          \.(?<!\d\.)(?:-?[^\W\d_]\.)+                          # U.S., J.-C., e.g.
        | [{inside}]*+
          (?:(?:[{_SIGNS}]|(?<=\d)[.,](?=\d)|(?<=[א-ת])["״׳](?=[א-ת]))
             [^\W_][{inside}]*+)*+                     # vice-president, l'homme, 5.93
        )""",
        re.VERBOSE,
    )


def match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where a match that begins at `position` ends, or `position` if there is none."""
    match = pattern.match(text, position)
    return match.end() if match else position


Codes = NDArray[np.uint32]
Places = NDArray[np.int32]

_OPENS, _DIGIT, _INSIDE, _SIGN, _HEBREW, _QUOTE = 1, 2, 4, 8, 16, 32


@cache
def _kinds(n_characters: int) -> NDArray[np.uint8]:
    """Return the roles that each of the first characters may have in a chunk, as bits."""
    characters = np.arange(n_characters, dtype=np.uint32).view("U1")
    opens = np.char.isalnum(characters)
    kinds = opens * np.uint8(_OPENS | _INSIDE)
    kinds[np.char.isdecimal(characters)] |= _DIGIT
    kinds[[ord("_"), *_INVISIBLE, *_marks(n_characters)]] |= _INSIDE
    kinds[[ord(sign) for sign in _SIGNS]] |= _SIGN
    kinds[ord("א") : ord("ת") + 1] |= _HEBREW
    kinds[[ord(sign) for sign in _QUOTES]] |= _QUOTE
    return kinds


@kernel
def _cut(codes: Codes, kinds: NDArray[np.uint8]) -> tuple[Places, Places]:
    """Return where chunks begin, with the end of the text, and where they end."""
    n = len(codes)
    starts, ends = np.empty(n // 2 + 2, np.int32), np.empty(n // 2 + 2, np.int32)
    n_starts = i = 0
    while i < n and not kinds[codes[i]] & 1:
        i += 1
    while i < n:
        starts[n_starts] = i
        digit = kinds[codes[i]] & 2
        i += 1
        dotted = False
        if i < n and codes[i] == 46 and not digit:
            follow = i + 1
            while True:
                letter = follow + 1 if follow < n and codes[follow] == 45 else follow
                if letter + 1 >= n or codes[letter + 1] != 46 or kinds[codes[letter]] & 3 != 1:
                    break
                follow = letter + 2
                dotted = True
            if dotted:
                i = follow
        while not dotted:
            while i < n and kinds[codes[i]] & 4:
                i += 1
            if i + 1 >= n or not kinds[codes[i + 1]] & 1:
                break
            if not kinds[codes[i]] & 8:
                point = codes[i] == 46 or codes[i] == 44
                around = kinds[codes[i - 1]] & kinds[codes[i + 1]]
                quote = kinds[codes[i]] & 32 and around & 16
                if not quote and not (point and around & 2):
                    break
            i += 2
        ends[n_starts] = i
        n_starts += 1
        while i < n and not kinds[codes[i]] & 1:
            i += 1
    starts[n_starts] = n
    return starts[: n_starts + 1], ends[:n_starts]


def chunks_of(text: str) -> tuple[Codes, Places, Places]:
    """Return the characters of a text, where its chunks begin (and it ends), and where they end.

    >>> _, starts, ends = chunks_of("« A rose is a rose. »")
    >>> starts.tolist(), ends.tolist()
    ([2, 4, 9, 12, 14, 21], [3, 8, 11, 13, 18])
    """
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.uint32)
    else:
        encoded = text.encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(encoded, "<u4").astype(np.uint32)
    starts, ends = _cut(codes, _kinds(table_size(codes, sys.maxunicode + 1)))
    return codes, starts, ends


@kernel
def _number(
    codes: Codes,
    starts: Places,
    ends: Places,
    numbers: Places,
    first: int,
    tables: tuple[Places, Codes, NDArray[np.int64]],
    n_stored: int,
) -> tuple[int, int]:
    """Number the strings codes[starts[i] : ends[i]], beginning with `first`, until tables are full.

    Return how many strings have a number, and how many different ones are stored. The first table
    has the number of a string at the position of its hash, and -1 where there is none; the
    characters of string k are stored[stored_ends[k] : stored_ends[k + 1]].
    """
    table, stored, stored_ends = tables
    mask = len(table) - 1
    for i in range(first, len(numbers)):
        start, end = starts[i], ends[i]
        value = np.uint64(0x9E3779B97F4A7C15)
        for j in range(start, end):
            value = (value ^ np.uint64(codes[j])) * np.uint64(0x9FB21C651E98DF25)
            value ^= value >> np.uint64(29)
        place = np.int64(value & np.uint64(mask))
        while True:
            k = table[place]
            if k < 0:
                break
            begin = stored_ends[k]
            same = stored_ends[k + 1] - begin == end - start
            j = 0
            while same and j < end - start:
                same = stored[begin + j] == codes[start + j]
                j += 1
            if same:
                break
            place = (place + 1) & mask
        if k < 0:
            begin = stored_ends[n_stored]
            if (
                2 * n_stored >= mask
                or n_stored + 2 > len(stored_ends)
                or begin + end - start > len(stored)
            ):
                return i, n_stored
            for j in range(end - start):
                stored[begin + j] = codes[start + j]
            stored_ends[n_stored + 1] = begin + end - start
            table[place] = k = n_stored
            n_stored += 1
        numbers[i] = k
    return len(numbers), n_stored


class Strings:
    """All different strings so far.

    >>> strings = Strings()
    >>> numbers, new = strings.numbers(*chunks_of("a rose is a rose"))
    >>> numbers.tolist(), new.tolist(), [strings.text(number) for number in range(3)]
    ([0, 1, 2, 0, 1], [0, 1, 2], ['a', 'rose', 'is'])
    """

    def __init__(self) -> None:
        self._table = np.full(1 << 10, -1, np.int32)
        self._stored = np.empty(1 << 12, np.uint32)
        self._ends = np.zeros((1 << 9) + 2, np.int64)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def n_characters(self) -> int:
        """The number of characters of all strings."""
        return int(self._ends[self._n])

    def text(self, number: int) -> str:
        """Return the string with this number."""
        codes = self._stored[self._ends[number] : self._ends[number + 1]]
        return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")

    def numbers(
        self, codes: Codes, starts: Places, ends: Places
    ) -> tuple[Places, NDArray[np.intp]]:
        """Return the numbers of the strings between starts and ends, and the first places of those
        that are new, in order.
        """
        numbers = np.empty(len(ends), np.int32)
        done, n_before = 0, self._n
        while True:
            tables = self._table, self._stored, self._ends
            done, self._n = _number(codes, starts, ends, numbers, done, tables, self._n)
            if done == len(numbers):
                break
            self._grow(int(ends[done] - starts[done]))
        if self._n == n_before:
            return numbers, np.zeros(0, np.intp)
        highest = np.maximum.accumulate(numbers)
        is_higher = np.diff(highest, prepend=np.int32(-1)) > 0
        return numbers, np.flatnonzero(is_higher & (numbers >= n_before))

    def _grow(self, n_characters: int) -> None:
        """Double the capacity, and make it sufficient for a string of this length."""
        used = self._ends[self._n]
        if used + n_characters > len(self._stored):
            stored = np.empty(max(2 * len(self._stored), int(used) + n_characters), np.uint32)
            stored[:used] = self._stored[:used]
            self._stored = stored
        if 2 * self._n >= len(self._table) - 1 or self._n + 2 > len(self._ends):
            edges = self._ends[: self._n + 1].astype(np.int32)
            self._table = np.full(2 * len(self._table), -1, np.int32)
            self._ends = np.zeros(len(self._table) // 2 + 2, np.int64)
            self._n = 0
            numbers = np.empty(len(edges) - 1, np.int32)
            tables = self._table, self._stored, self._ends
            _, self._n = _number(self._stored, edges[:-1], edges[1:], numbers, 0, tables, 0)


# --- the words of a chunk ----------------------------------------------------------------


class Word(NamedTuple):
    """A word within a chunk: its position, its lemma, and whether it is content."""

    start: int
    end: int
    lemma: str
    content: bool


MAX_COMPOUND_CHARS = 100
"""Characters of a chunk that may be a compound; a longer one is cut at each sign."""

MAX_FORMS = 4096
"""Forms whose lemma is stored beside the cached chunks; then they are looked up again."""

_LETTERS = re.compile(r"[^\W_](?:\w|[^\W\d]|[^\x00-\x7f])*+")
_PREPARED = re.compile(r"[^\W\d_]{2,}")
_APOSTROPHE = re.compile("['’ʼ‘`´]")
_PART = re.compile("[^-‐‑_]+")

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
        self.pack = pack_of(lang)
        self.lemmas = Lemmas(lang)
        self.stops = stop_list(lang)
        self.normal = normaliser(self.pack)
        self._cache: dict[str, tuple[str, bool]] = {}
        self._named: dict[str, str] = {}
        self._by_capitals = lang == "fr" or self.pack.capitals == "nouns"
        readers = {"en": self._english, "fr": self._french}
        self.read = readers.get(lang, self._general)
        self._find = word_finder(self.pack)
        self.has_spaces = self._find is None
        self.is_plain = self.has_spaces and self.normal is normal
        """Whether a form is its letters in lower case, and a chunk of letters is one word."""

    def __call__(self, chunk: str) -> list[Word]:
        if chunk.isdecimal():
            return [Word(0, len(chunk), chunk, False)]
        if self._find is not None and not chunk.isascii():
            return self._found(self._find, chunk)
        if chunk.isalpha():
            if chunk in UNITED_STATES:
                return [Word(0, len(chunk), "usa", True)]
            return [self._word(chunk, 0, len(chunk))]
        if chunk[0].isdigit() and chunk[-1].isdigit():  # 1,750 and 1986-87
            return [Word(0, len(chunk), self.normal(chunk) or chunk, False)]
        if len(chunk) > MAX_COMPOUND_CHARS:
            return [self._word(chunk, *match.span()) for match in _LETTERS.finditer(chunk)]
        if chunk[-1] == ".":  # the pattern ends a chunk with a dot only for an acronym
            return [self._acronym(chunk)]
        return self.read(chunk)

    def _found(self, find: Callable[[str], Iterator[FoundWord]], chunk: str) -> list[Word]:
        """Return the words of a chunk in a script without spaces between words."""
        words = []
        for start, end, lemma, content in find(chunk):
            form = self.normal(chunk[start:end]) or chunk[start:end]
            lemma = lemma or form
            content = content and is_content(lemma) and not self.stops.stops(form, lemma)
            words.append(Word(start, end, lemma, content))
        return words

    def _word(self, chunk: str, start: int, end: int) -> Word:
        form = self.normal(chunk[start:end])
        if not form:  # only invisible characters
            return Word(start, end, chunk[start:end], False)
        return Word(start, end, *self.lemma_of(form, has_capital(chunk[start:end])))

    def lemma_of(self, form: str, named: bool = False) -> tuple[str, bool]:
        """Return the lemma of a lower-case form, and whether it is content.

        `named`: the form was written with a capital.
        """
        lemma, content = self._looked_up(form)
        may_differ = self._by_capitals and (lemma != form or self.lang != "fr")
        if named and may_differ and 1 < len(form) <= MAX_COMPOUND_CHARS:
            own = self._named.get(form)
            if own is None:
                own = self._named[form] = self.lemmas.named(form)
            if own != lemma:
                return own, content and not self.stops.stops(form, own)
        return lemma, content

    def prepare(self, chunks: Iterable[str]) -> None:
        """Look up the words of chunks that will be read next, all at once."""
        if not self.has_spaces:
            return
        fold = str.lower if self.normal is normal else self.normal
        forms = set[str]()
        for chunk in chunks:
            if chunk.isalpha():
                forms.add(fold(chunk))
            elif len(chunk) <= MAX_COMPOUND_CHARS:
                forms.update(map(fold, (chunk, *_PREPARED.findall(chunk))))
        self.lemmas.prepare(
            form
            for form in forms
            if 1 < len(form) <= MAX_COMPOUND_CHARS and form not in self._cache
        )

    def _looked_up(self, form: str) -> tuple[str, bool]:
        entry = self._cache.get(form)
        if entry is None:  # Shares, SHARES and shares are looked up once
            if len(self._cache) == MAX_FORMS:
                self._cache.clear()
                self._named.clear()
            # The lemma of a letter, a number or an overlong form is the form itself.
            is_word = 1 < len(form) <= MAX_COMPOUND_CHARS and not form[0].isdigit()
            lemma = self.lemmas.of(form) if is_word else form
            carries = (is_word and form.isalpha()) or is_content(form)
            entry = self._cache[form] = (lemma, carries and not self.stops.stops(form, lemma))
        return entry

    def _acronym(self, chunk: str) -> Word:
        if chunk in UNITED_STATES:
            return Word(0, len(chunk), "usa", True)
        form = self.normal(chunk)
        bare = form.replace(".", "").replace("-", "")
        lemma = self.lemmas.of(form) if self.lemmas.knows(form) else bare
        return Word(0, len(chunk), lemma, is_content(bare) and not self.stops.stops(form, lemma))

    def _english(self, chunk: str) -> list[Word]:
        end = len(chunk)
        cuts = [match.start() for match in _APOSTROPHE.finditer(chunk)]
        if cuts:
            tail = chunk[cuts[-1] + 1 :].lower()
            if tail in self.pack.contractions:
                end = cuts[-1]
            elif tail == "t" and chunk[cuts[-1] - 1] in "nN":
                return [self._word(chunk, 0, end)]  # don't, isn't: in the stop list as they are
        if not any(sign in chunk for sign in "-‐‑_"):
            return [self._word(chunk, 0, end)]
        return self._hyphenated(chunk, 0, end)

    def _hyphenated(self, chunk: str, start: int, end: int) -> list[Word]:
        form = self.normal(chunk[start:end])
        parts = [match.span() for match in _PART.finditer(chunk, start, end)]
        pieces = [chunk[first:last] for first, last in parts]
        outer = pieces[:: len(pieces) - 1 or 1]  # Bouches-du-Rhône
        named = all(piece[0].isupper() and not piece.isupper() for piece in outer)
        french_name = named and self.lang == "fr" and not self.lemmas.excepts(form)
        known = self.lemmas.knows(form) or form in self.stops.words
        if len(parts) < 2 or (known and not french_name):
            return [self._word(chunk, start, end)] if parts else []
        if (
            self.pack.hyphens == "whole"
            or self.normal(pieces[0]) in self.pack.prefixes
            or form[0].isdigit()
        ):
            whole = True
        else:
            whole = named and not all(self.lemmas.knows(self.normal(piece)) for piece in pieces)
        if not whole or "_" in chunk:
            return [self._word(chunk, first, last) for first, last in parts]
        # An unknown compound is inflected only at its end: sous-préfets, non-aligned.
        last_word = self._word(chunk, *parts[-1])
        last_form = self.normal(pieces[-1])
        plural = not named and last_form.removesuffix("s") == last_word.lemma
        lemma = form.removesuffix("s") if plural else form
        content = is_content(form) and not self.stops.stops(form, lemma)
        return [Word(start, end, lemma, content)]

    def _general(self, chunk: str) -> list[Word]:
        """Return the words of a chunk by the rules of the language pack."""
        pack, words, start, end = self.pack, list[Word](), 0, len(chunk)
        form = self.normal(chunk)
        if form in self.stops.words or self.lemmas.excepts(form):
            return [self._word(chunk, 0, end)]
        cuts = list(_APOSTROPHE.finditer(chunk))
        for match in cuts:
            head = self.normal(chunk[start : match.start()])
            if head in pack.elisions and match.end() < len(chunk):
                words.append(Word(start, match.end(), f"{head}'", False))
                start = match.end()
        if cuts and cuts[-1].start() > start:
            tail = self.normal(chunk[cuts[-1].end() :])
            if pack.suffixes_after_apostrophe or tail in pack.contractions:
                end = cuts[-1].start()
        return words + self._without_clitics(chunk, start, end)

    def _french(self, chunk: str) -> list[Word]:
        words: list[Word] = []
        start = 0
        if self.lemmas.excepts(
            self.normal(chunk)
        ):  # the dictionary has l'un, and that is two words
            return [self._word(chunk, 0, len(chunk))]
        head, sign, rest = chunk.partition("'" if "'" in chunk else "’")
        if (
            sign and rest.isalpha() and (short := head.lower()) in self.pack.elisions
        ):  # the usual case
            start = len(head) + 1
            return [Word(0, start, f"{short}'", False), self._word(chunk, start, len(chunk))]
        for match in _APOSTROPHE.finditer(chunk):
            head = self.normal(chunk[start : match.start()])
            if head in self.pack.elisions:
                words.append(Word(start, match.end(), f"{head}'", False))
                start = match.end()
                if self.lemmas.excepts(self.normal(chunk[start:])):
                    break
        return words + self._without_clitics(chunk, start, len(chunk))

    def _without_clitics(self, chunk: str, start: int, end: int) -> list[Word]:
        clitics: list[Word] = []
        while not self.lemmas.knows(self.normal(chunk[start:end])):
            cut = max(chunk.rfind(hyphen, start, end) for hyphen in "-‐‑")
            if cut <= start or (tail := self.normal(chunk[cut + 1 : end])) not in self.pack.clitics:
                break
            if tail != "t":  # the t of a-t-il is a sound, not a word
                clitics.append(self._word(chunk, cut + 1, end)._replace(content=False))
            end = cut
        words = self._hyphenated(chunk, start, end) if start < end else []
        return words + clitics[::-1]


# --- the ends of sentences ---------------------------------------------------------------


class Gap(IntEnum):
    """What separates two chunks."""

    OTHER = 0  # a comma, a bracket, a dash
    BLANK = 1
    HYPHEN = 2
    TIGHT = 3  # a full stop with no blank after it
    STOP = 4
    MARK = 5  # ! ? …
    PARAGRAPH = 6  # an empty line, or a full stop between blanks: always an end
    INDENT = 7  # a new line that is indented


class Before(IntEnum):
    """The role of a chunk before a full stop."""

    OTHER = 0  # a number, one capital word
    WORD = 1  # ends in lower case
    TITLE = 2  # a name follows: not an end
    ABBREVIATION = 3  # an end only if the next word opens sentences
    DOTTED = 4  # likewise; the full stop belongs to it
    NUMBERED = 5  # not an end if a number follows


class After(IntEnum):
    """The role of a chunk after a full stop."""

    OTHER = 0  # a script without case
    LOWER = 1
    CAPITAL = 2
    OPENER = 3  # a capital word that opens sentences
    DIGIT = 4


def _ends(gap: Gap, before: Before, after: After, cased: bool) -> bool:
    """Return whether a sentence ends in a gap.

    >>> _ends(Gap.STOP, Before.TITLE, After.CAPITAL, True)  # Mr. Smith
    False
    >>> _ends(Gap.BLANK, Before.DOTTED, After.OPENER, True)  # in the U.S. The
    True
    """
    if gap is Gap.PARAGRAPH:
        return True
    if gap in (Gap.OTHER, Gap.HYPHEN) or (after is After.LOWER and cased):
        return False
    capital = after in (After.CAPITAL, After.OPENER)
    if gap is Gap.BLANK:
        return before is Before.DOTTED and after is After.OPENER
    if gap is Gap.MARK:
        return True
    if gap is Gap.INDENT:
        return capital
    if gap is Gap.TIGHT:
        return before is Before.WORD and capital
    if before is Before.TITLE:
        return False
    if before is Before.NUMBERED:
        return after is not After.DIGIT
    if before in (Before.ABBREVIATION, Before.DOTTED):
        return after is After.OPENER
    return True


_ENDS_OF = [
    [_ends(gap, before, after, cased) for gap in Gap for before in Before for after in After]
    for cased in (False, True)
]
_ENDS = np.array(_ENDS_OF).ravel()
"""`_ends` for all cases, in the order cased, gap, before, after."""


_MARKS = "!?…。！？｡؟۔।॥።"
"""Marks that end a sentence in every language, besides the full stop."""
_UNSPACED_MARKS = frozenset("。！？｡।॥")
"""Those that need no white space after them."""
_WHITE = re.compile(r"\s*+")


class Gaps(dict[str, int]):
    """All gaps so far: the kind of each, and after how many characters a sentence may begin."""

    def __init__(self, sentence_ends: str = "") -> None:
        """Begin without gaps; `sentence_ends` are the marks of one language."""
        super().__init__()
        self._marks = _MARKS + sentence_ends
        marks = re.escape(self._marks)
        self._end = re.compile(f"[.{marks}]")
        self._closing = re.compile(f"[.{marks}\"'”’」』）)\\]}}]*+(?:[ \u00a0\u202f]?»)?+")

    def __missing__(self, gap: str) -> int:
        kind, cut = self.read(gap)
        value = kind | cut << 3
        if len(gap) <= MAX_COMPOUND_CHARS:
            self[gap] = value
        return value

    def read(self, gap: str) -> tuple[Gap, int]:
        """Return the kind of a gap, and where in it the next sentence would begin.

        >>> read = Gaps().read
        >>> read(', '), read('." '), read('.\\n\\n« '), read(' . ')
        ((<Gap.OTHER: 0>, 0), (<Gap.STOP: 4>, 3), (<Gap.PARAGRAPH: 6>, 3), (<Gap.PARAGRAPH: 6>, 3))
        """
        line = max(gap.rfind("\n"), gap.rfind("\r")) + 1
        if line:
            lines = gap.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            if any(not inner.strip() for inner in lines[1:-1]):
                return Gap.PARAGRAPH, line
        if (
            gap[:1] == " " and gap.strip() == "." and gap[-1].isspace()
        ):  # as tokenisers write a full stop
            return Gap.PARAGRAPH, len(gap)
        position = 0
        while match := self._end.search(gap, position):
            closed = match_end(self._closing, gap, match.start())
            position = match_end(_WHITE, gap, closed)
            marks = gap[match.start() : closed]
            if position > closed or not _UNSPACED_MARKS.isdisjoint(marks):
                return Gap.MARK if any(
                    sign in marks for sign in self._marks
                ) else Gap.STOP, position
            if position == len(gap):
                return (Gap.TIGHT, closed) if match.start() == 0 else (Gap.OTHER, 0)
        if gap.isspace():
            return (Gap.INDENT, line) if line and len(gap) - line > 1 else (Gap.BLANK, len(gap))
        return Gap.HYPHEN if gap in ("-", "‐", "‑") else Gap.OTHER, 0


ONE_BLANK = Gap.BLANK | 1 << 3
"""The value in `Gaps` of the blank between two words."""


class _Roles(NamedTuple):
    """Words of a language that have a role at the end of a sentence."""

    titles: frozenset[str]
    abbreviations: frozenset[str]
    numbered: frozenset[str]
    openers: frozenset[str]
    short: frozenset[str]
    ordinal_dots: bool


@lru_cache(maxsize=64)
def _roles(lang: str) -> _Roles:
    pack = pack_of(lang)
    short = pack.numbered | pack.abbreviations | pack.titles
    openers = pack.openers or pack.stop_words
    return _Roles(pack.titles, pack.abbreviations, pack.numbered, openers, short, pack.ordinal_dots)


# Tables of plain numbers are faster to build than tables of enum members.
_PLAIN = int(Before.WORD), int(After.LOWER)
_NAME = int(Before.WORD), int(After.CAPITAL)
_UPPER = int(Before.OTHER), int(After.CAPITAL)
_NUMBER = int(Before.OTHER), int(After.DIGIT)
_ORDINAL = int(Before.TITLE), int(After.DIGIT)


def stop_roles(chunk: str, lang: str) -> tuple[int, int]:
    """Return the roles of a chunk before and after a full stop.

    >>> stop_roles("Mme", "fr") == (Before.TITLE, After.CAPITAL)
    True
    """
    roles = _roles(lang)
    if chunk[0].isdigit() and chunk[-1].isdigit():
        return _ORDINAL if roles.ordinal_dots and len(chunk) < 3 else _NUMBER
    if len(chunk) > 2 and chunk.isalpha() and (form := chunk.lower()) not in roles.short:
        if chunk == form and chunk.islower():
            return _PLAIN  # the usual case
        if form not in roles.openers and chunk.isascii() and chunk[0].isupper():
            return _NAME if chunk[-1].islower() else _UPPER
    form = normal(chunk if len(chunk) <= MAX_COMPOUND_CHARS else chunk[:1] + chunk[-1:])
    tail = form[max(form.rfind("-"), form.rfind("'")) + 1 :]
    before = Before.WORD if len(chunk) > 2 and chunk[-1].islower() else Before.OTHER
    if tail in roles.numbered:
        before = Before.NUMBERED
    if tail in roles.abbreviations or (len(form) == 1 and form.isalpha()):
        before = Before.ABBREVIATION
    if tail in roles.titles:
        before = Before.TITLE
    if chunk[-1] == ".":
        before = Before.DOTTED
    head = form.split("'", 1)[0]
    if chunk[0].isdigit():
        after = After.DIGIT
    elif chunk[0].islower() and not chunk[1:2].isupper():  # iPhone may open a sentence
        after = After.LOWER
    elif chunk[0].upper() == chunk[0].lower():
        after = After.OTHER
    else:
        after = After.OPENER if head in roles.openers else After.CAPITAL
    return int(before), int(after)


def last_chunks(
    gaps: Places, before: Places, after: Places, cased: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Return the chunks that end a sentence; `gaps[i]` follows chunk i.

    `cased`: whether the text of each chunk has capitals.
    """
    cases = ((gaps[:-1] & 7) * len(Before) + before[:-1]) * len(After) + after[1:]
    return np.flatnonzero(_ENDS.take(cases + cased[:-1] * len(_ENDS_OF[False])))
