"""Words by a dictionary: tokens, lemmas and sentences for English and French, without a model.

A text is cut into pieces: a chunk (a run of letters or digits with the hyphens, apostrophes and
dots inside it) and the gap behind it. Whatever takes thought is done once for each distinct piece
and remembered; the text itself is only looked up, in bulk.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.annotators._pieces import CHUNK, INSIDE, Pieces
from segapsith_plugins.annotators._words import (
    LANGUAGES,
    Lemmas,
    Terms,
    checked_language,
    is_content,
    language,
    merged,
    normal,
    partition,
    stop_list,
)

__all__ = ["SimplemmaWords"]

# --- from a chunk to its words -------------------------------------------------------------


class Word(NamedTuple):
    """A word within a chunk: where it stands there, its lemma, whether it is content."""

    start: int
    end: int
    lemma: str
    content: bool


_LONGEST = 100
"""Characters of a chunk that may be a compound; a longer one is cut at every sign."""

_LETTERS = re.compile(rf"[^\W_][{INSIDE}]*+")
_APOSTROPHE = re.compile("['’ʼ‘`´]")
_PART = re.compile("[^-‐‑_]+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CONTRACTIONS = {"s", "d", "ll", "ve", "re", "m"}
_PREFIXES = _set(
    "anti co counter cross de e euro ex extra inter intra macro mega micro mid mini mis multi neo "
    "non over para petro post pre pro pseudo quasi re self semi sub super trans ultra under uni "
    "vice"
)
_ELISIONS = _set("l d j m t s n c qu jusqu lorsqu puisqu quoiqu presqu quelqu")
_CLITICS = _set(
    "t il elle on ils elles je tu nous vous le la les lui leur moi toi y en ce ci là même mêmes"
)
_UNITED_STATES = frozenset({"US", "USA", "U.S.", "U.S.A.", "É.-U."})


def _has_capital(word: str) -> bool:
    """Whether a word is written as names are; a title all in capitals says nothing.

    >>> [_has_capital(word) for word in ("Gaza", "GAZA", "gaza")]
    [True, False, False]
    """
    return word[:1].isupper() and not word.isupper()


class _Reader:
    """Thinks about one chunk: which words it holds, their lemmas, whether they are content."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.lemmas = Lemmas(lang)
        self.stops = stop_list(lang)
        self._known: dict[str, tuple[str, bool]] = {}
        self.read = self._english if lang == "en" else self._french

    def __call__(self, chunk: str) -> list[Word]:
        if chunk.isdecimal():
            return [Word(0, len(chunk), chunk, False)]
        if chunk.isalpha():
            if chunk in _UNITED_STATES:
                return [Word(0, len(chunk), "usa", True)]
            return [self._word(chunk, 0, len(chunk))]
        if chunk[0].isdigit() and chunk[-1].isdigit():  # 1,750 and 1986-87
            return [Word(0, len(chunk), normal(chunk), False)]
        if len(chunk) > _LONGEST:
            return [self._word(chunk, *match.span()) for match in _LETTERS.finditer(chunk)]
        if chunk[-1] == ".":  # the pattern ends a chunk with a dot only for an acronym
            return [self._acronym(chunk)]
        return self.read(chunk)

    def _word(self, chunk: str, start: int, end: int) -> Word:
        form = normal(chunk[start:end])
        if not form:  # hidden signs only
            return Word(start, end, chunk[start:end], False)
        return Word(start, end, *self.told(form, _has_capital(chunk[start:end])))

    def told(self, form: str, named: bool = False) -> tuple[str, bool]:
        """The lemma of a lower-case form, and whether it is content; `named` says that it was
        written with a capital."""
        lemma, content = self._told(form)
        if named and self.lang == "fr" and lemma != form and 1 < len(form) <= _LONGEST:
            own = self.lemmas.named(form)
            if own != lemma:
                return own, content and not self.stops.stops(form, own)
        return lemma, content

    def _told(self, form: str) -> tuple[str, bool]:
        known = self._known.get(form)
        if known is None:  # Shares, SHARES and shares are told once
            # A letter, a number and what is too long for a word are their own lemmas.
            told = 1 < len(form) <= _LONGEST and not form[0].isdigit()
            lemma = self.lemmas.of(form) if told else form
            carries = (told and form.isalpha()) or is_content(form)
            known = self._known[form] = (lemma, carries and not self.stops.stops(form, lemma))
        return known

    def _acronym(self, chunk: str) -> Word:
        if chunk in _UNITED_STATES:
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
                return [self._word(chunk, 0, end)]  # don't, isn't: on the stop list as they are
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
        # An unknown compound varies at its end only: sous-préfets, non-aligned.
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
        if sign and rest.isalpha() and (short := head.lower()) in _ELISIONS:  # nearly all of them
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


_MOST_PIECES, _MOST_CHARACTERS = 1 << 20, 1 << 25
"""Pieces remembered for one language, and their characters, before the table is begun anew."""


class _Found(NamedTuple):
    """The pieces of a text: where they begin, and what is remembered of them.

    `pieces`, by piece of the text: first word, number of words, `Before` and `After` of its chunk,
    the chunk's length, the gap. `words`, by word remembered: start and end in its chunk, whether
    it is content; `lemmas` beside it.
    """

    starts: NDArray[np.int32]
    pieces: NDArray[np.int32]
    words: NDArray[np.int32]
    lemmas: NDArray[np.object_]


class _Memory:
    """What was thought about every piece met so far."""

    def __init__(self, lang: str) -> None:
        self.known = Pieces()
        self._lang = lang
        self._read = _Reader(lang)
        self._gaps = _Gaps()
        self._chunks: dict[str, tuple[int, int, int, int]] = {}
        self._lock = threading.Lock()
        self._pieces = _Table(6)
        self._words = _Table(3)
        self._lemmas: list[str] = []
        self._texts = np.full(1024, "", object)
        self._n_texts = 0

    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        known = self.known
        return len(known) > _MOST_PIECES or known.n_characters > _MOST_CHARACTERS

    def find(self, text: str) -> _Found:
        """The pieces of a text; those that were not met before are thought about."""
        with self._lock:
            numbers, starts, n_new = self.known.numbers(text)
            if n_new:
                self._learn(text, numbers, starts, len(self.known) - n_new)
            pieces = self._pieces.columns().take(numbers, axis=1)
            return _Found(starts[:-1], pieces, self._words.columns(), self._texts)

    def _learn(
        self, text: str, numbers: NDArray[np.int64], starts: NDArray[np.int32], n_known: int
    ) -> None:
        """New pieces have the numbers from `n_known` on, in the order of the text."""
        highest = np.maximum.accumulate(numbers)
        new = np.flatnonzero(np.diff(highest, prepend=n_known - 1) > 0)
        new = new[numbers[new] >= n_known]
        add, chunks = self._pieces.new.append, self._chunks
        for start, end in zip(starts[new].tolist(), starts[new + 1].tolist(), strict=True):
            piece = text[start:end]
            if piece[-1] == " " and (chunk := piece[:-1]).isalpha():
                gap = _ONE_BLANK
            else:
                chunk = piece[: _end(CHUNK, piece, 0)]
                gap = self._gaps[piece[len(chunk) :]]
            standing = chunks.get(chunk) or self._learned(chunk)
            add((*standing, len(chunk), gap))
        n, known = len(self._lemmas), self._n_texts
        if n > len(self._texts):
            self._texts = np.resize(self._texts, max(n, 2 * len(self._texts)))
        self._texts[known:n] = self._lemmas[known:]
        self._n_texts = n

    def _learned(self, chunk: str) -> tuple[int, int, int, int]:
        """First word, number of words, `Before` and `After` of a new chunk."""
        first = len(self._lemmas)
        plain = chunk.isascii()  # nearly every one: the same as below, without the way there
        if plain and chunk.isalpha() and chunk not in _UNITED_STATES:
            lemma, content = self._read.told(chunk.lower(), _has_capital(chunk))
            self._words.new.append((0, len(chunk), content))
            self._lemmas.append(lemma)
        elif plain and chunk[0].isdigit() and chunk[-1].isdigit() and "`" not in chunk:
            self._words.new.append((0, len(chunk), False))
            self._lemmas.append(chunk.lower())
        else:
            for start, end, lemma, content in self._read(chunk):
                self._words.new.append((start, end, content))
                self._lemmas.append(lemma)
        found = (first, len(self._lemmas) - first, *_standing(chunk, self._lang))
        self._chunks[chunk] = found
        return found


class _Table:
    """Columns of numbers that grow: new ones wait in a list until they are asked for."""

    def __init__(self, height: int) -> None:
        self.new: list[tuple[int, ...]] = []
        self._columns = np.zeros((height, 1024), np.int32)
        self._n = 0

    def columns(self) -> NDArray[np.int32]:
        if self.new:
            n = self._n + len(self.new)
            height, room = self._columns.shape
            if n > room:
                wider = np.zeros((height, max(n, 2 * room)), np.int32)
                wider[:, : self._n] = self._columns[:, : self._n]
                self._columns = wider
            self._columns[:, self._n : n] = np.array(self.new, np.int32).T
            self._n = n
            self.new.clear()
        return self._columns


# --- gaps and sentences ------------------------------------------------------------------


class Gap(IntEnum):
    """What stands between two chunks."""

    OTHER = 0  # a comma, a bracket, a dash
    BLANK = 1
    HYPHEN = 2
    TIGHT = 3  # a full stop with no blank after it
    STOP = 4
    MARK = 5  # ! ? …
    PARAGRAPH = 6  # an empty line, or a full stop that stands alone: always an end
    INDENT = 7  # a new line that is indented


class Before(IntEnum):
    """What a chunk is to a full stop that follows it."""

    OTHER = 0  # a number, one capital word
    WORD = 1  # ends in lower case
    TITLE = 2  # a name follows: no end
    ABBREVIATION = 3  # an end only if the next word opens sentences
    DOTTED = 4  # the same, and the full stop is its own
    NUMBERED = 5  # no end if a number follows


class After(IntEnum):
    """What a chunk is to a full stop before it."""

    OTHER = 0  # a script without case
    LOWER = 1
    CAPITAL = 2
    OPENER = 3  # a capital word that opens sentences
    DIGIT = 4


def _ends(gap: Gap, before: Before, after: After, cased: bool) -> bool:
    """Whether a sentence ends in a gap.

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


_ENDS = {
    cased: np.array(
        [_ends(gap, before, after, cased) for gap in Gap for before in Before for after in After]
    )
    for cased in (True, False)
}
"""`_ends` for every case, in the order gap, before, after."""


_TERMINATOR = re.compile("[.!?…。]")
_CLOSING = re.compile("[.!?…。\"'”’)\\]}]*+(?:[ \u00a0\u202f]?»)?+")
_WHITE = re.compile(r"\s*+")


class _Gaps(dict[str, int]):
    """Every gap met so far: what it is, and after how many characters a sentence may begin."""

    def __missing__(self, gap: str) -> int:
        kind, cut = _gap(gap)
        value = kind | cut << 3
        if len(gap) <= _LONGEST:
            self[gap] = value
        return value


_ONE_BLANK = Gap.BLANK | 1 << 3
"""The blank between two words, as `_Gaps` gives it."""


def _gap(gap: str) -> tuple[Gap, int]:
    """What a gap is, and where in it the next sentence would begin.

    >>> _gap(', '), _gap('." '), _gap('.\\n\\n« '), _gap(' . ')
    ((<Gap.OTHER: 0>, 0), (<Gap.STOP: 4>, 3), (<Gap.PARAGRAPH: 6>, 3), (<Gap.PARAGRAPH: 6>, 3))
    """
    line = max(gap.rfind("\n"), gap.rfind("\r")) + 1
    if line:
        lines = gap.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if any(not inner.strip() for inner in lines[1:-1]):
            return Gap.PARAGRAPH, line
    if gap[:1] == " " and gap.strip() == "." and gap[-1].isspace():  # as tokenisers write it
        return Gap.PARAGRAPH, len(gap)
    position = 0
    while match := _TERMINATOR.search(gap, position):
        closed = _end(_CLOSING, gap, match.start())
        position = _end(_WHITE, gap, closed)
        if position > closed:
            marks = gap[match.start() : closed]
            return Gap.MARK if any(sign in marks for sign in "!?…。") else Gap.STOP, position
        if position == len(gap):
            return (Gap.TIGHT, closed) if match.start() == 0 else (Gap.OTHER, 0)
    if gap.isspace():
        return (Gap.INDENT, line) if line and len(gap) - line > 1 else (Gap.BLANK, len(gap))
    return Gap.HYPHEN if gap in ("-", "‐", "‑") else Gap.OTHER, 0


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where a pattern that always matches ends."""
    match = pattern.match(text, position)
    return match.end() if match else position


_TITLES = {
    "en": _set("mr mrs ms messrs dr prof gen sen rep gov lt col sgt capt cmdr adm maj hon pres vs"),
    "fr": _set("m mm mme mmes mlle mlles mgr dr pr me st ste cf gén col cdt lt"),
}
_ABBREVIATIONS = {
    "en": _set(
        "inc corp co cos ltd bros st ste ave blvd rd jan feb mar apr jun jul aug sept sep oct nov "
        "dec mon tue tues wed thu thur thurs fri sat sun etc al approx dept div est govt intl "
        "mfg natl assn assoc univ calif conn fla ill mass mich minn mo okla ore pa penn tenn tex "
        "va wash wis ariz ark colo del ga ind kan ky la md miss mont neb nev ala nj ny oz lb "
        "lbs ft sq cu bbl avg plc jr sr rev"
    ),
    "fr": _set(
        "etc av apr ap env tél bd boul janv févr avr juil sept oct nov déc éd ed vol chap hab "
        "min sec max dép arr réf cie ets inc ltd corp"
    ),
}
_NUMBERED = _set("no nos n art p pp fig vol chap sec para")
_OPENERS = {
    "en": _set(
        "the a an it its he she they we i you in on at by for from with this that these those "
        "there but and or so if when while after before since as some many most all no not one "
        "two his her their our who what how why where under according however meanwhile last "
        "both each such earlier also now then"
    ),
    "fr": _set(
        "le la les l un une des il elle ils elles on ce c cet cette ces mais et ou donc or si "
        "quand lorsque après avant depuis dans en au aux à pour par sur sous avec sans selon "
        "son sa ses leur leurs notre nos je j nous vous qui que qu d de du puis ainsi alors "
        "aussi cependant toutefois enfin"
    ),
}


_SHORT = {lang: _NUMBERED | _ABBREVIATIONS[lang] | _TITLES[lang] for lang in LANGUAGES}


# Tables are made of plain numbers sooner than of members.
_PLAIN = int(Before.WORD), int(After.LOWER)
_NAME = int(Before.WORD), int(After.CAPITAL)
_UPPER = int(Before.OTHER), int(After.CAPITAL)
_NUMBER = int(Before.OTHER), int(After.DIGIT)


def _standing(chunk: str, lang: str) -> tuple[int, int]:
    """What a chunk is to the full stops around it.

    >>> _standing("Mme", "fr") == (Before.TITLE, After.CAPITAL)
    True
    """
    if chunk[0].isdigit() and chunk[-1].isdigit():
        return _NUMBER
    if len(chunk) > 2 and chunk.isalpha() and (form := chunk.lower()) not in _SHORT[lang]:
        if chunk == form and chunk.islower():
            return _PLAIN  # nearly every word
        if form not in _OPENERS[lang] and chunk.isascii() and chunk[0].isupper():
            return _NAME if chunk[-1].islower() else _UPPER
    form = normal(chunk if len(chunk) <= _LONGEST else chunk[:1] + chunk[-1:])
    tail = form[max(form.rfind("-"), form.rfind("'")) + 1 :]
    before = Before.WORD if len(chunk) > 2 and chunk[-1].islower() else Before.OTHER
    if tail in _NUMBERED:
        before = Before.NUMBERED
    if tail in _ABBREVIATIONS[lang] or (len(form) == 1 and form.isalpha()):
        before = Before.ABBREVIATION
    if tail in _TITLES[lang]:
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
        after = After.OPENER if head in _OPENERS[lang] else After.CAPITAL
    return int(before), int(after)


def _last_chunks(
    gaps: NDArray[np.int32], before: NDArray[np.int32], after: NDArray[np.int32], cased: bool
) -> NDArray[np.intp]:
    """The chunks with which sentences end; `gaps[i]` lies behind chunk i."""
    cases = ((gaps[:-1] & 7) * len(Before) + before[:-1]) * len(After) + after[1:]
    return np.flatnonzero(_ENDS[cased].take(cases))


# --- boilerplate -------------------------------------------------------------------------

_TICKER = re.compile(
    r"<[A-Z0-9][A-Z0-9.\-=^]{0,11}>"
    r"|\((?:NYSE|NASDAQ|Nasdaq|AMEX|LSE|TSX|TSE|EPA|Euronext|OTC|OTCBB|FRA|ASX|HKEX|SIX)"
    r"\s?:\s?[A-Z0-9.\-]{1,12}\)"
)
_MONTH = "jan feb mar apr may jun jul aug sep oct nov dec janv fév févr mars avr mai juin juil août déc".replace(
    " ", "|"
)
_DATE = rf"(?:{_MONTH})[a-zé]{{0,7}}\.? \d{{1,2}}|\d{{1,2}}(?:er)? (?:{_MONTH})[a-zé]{{0,7}}\.?"
_DATELINE = re.compile(
    r"\s{0,9}(?P<place>[^\W\d_][^\n()]{1,60}?)"
    rf"(?:,? (?i:{_DATE})(?:,? \d{{4}})?(?: \([^()\n]{{2,30}}\))?"
    r"|,? \((?:AFP|AP|Reuters?|REUTERS?|UPI|ANSA|DPA|dpa|Xinhua|TASS|Belga|ATS)\))"
    r" ?(?:--|[-–—])(?=\s)"
)
_PLACE_WORDS = _set("de du des la le les l d en et sur sous lès of and the al el am")
_HEAD = 160


def _dateline(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the dateline of a body lies that begins at `start`, if it has one."""
    head = text[start : min(start + _HEAD, end)]
    if "-" in head or "–" in head or "—" in head:
        match = _DATELINE.match(head)
        if match and all(
            word[0].isupper() or word in _PLACE_WORDS for word in match["place"].split()
        ):
            return start, start + match.end()
    return None


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    """Where tickers and addresses lie."""
    if "<" in text or "(" in text:
        for match in _TICKER.finditer(text):
            yield match.span()
    for at in _places(text, "://"):
        start = at - 5 if text.endswith("https", 0, at) else at - 4
        if text.endswith("http", 0, at) or start == at - 5:
            yield start, _end(_TO_BLANK, text, at + 3)
    for at in _places(text, "www."):
        yield at, _end(_TO_BLANK, text, at + 4)
    for at in _places(text, "@"):
        start = at
        while (
            start
            and at - start <= _LOCAL
            and (text[start - 1].isalnum() or text[start - 1] in "._+-")
        ):
            start -= 1
        end = _end(_HOST, text, at + 1)
        if 0 < at - start <= _LOCAL and end > at + 1:
            yield start, end


_LOCAL = 64
"""Characters before the @ of an address."""
_TO_BLANK = re.compile(r"[^\s<>]*+")
_HOST = re.compile(r"[\w.-]*+")


def _places(text: str, sign: str) -> Iterator[int]:
    """Where a sign stands; to look for it is quicker than to look for a pattern."""
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + 1)


# --- the annotator -----------------------------------------------------------------------

_AHEAD = 256
_MOST_TEXT = 1 << 20
"""Documents, and their characters, that are read together if they are all there already.

A stream is read one by one: whoever sends it may count on what has been taken from it.
"""

_BETWEEN = "\n\n"
"""Stands between two documents that are read together, and no chunk reaches over it."""


class _Read(NamedTuple):
    """A document with its text, language, and whether that text has capitals."""

    document: Document
    text: str
    lang: str
    cased: bool


class SimplemmaWords:
    """Lemmas by simplemma's dictionaries and the project's exceptions.

    The language is the document's if it is English or French, otherwise `lang`.
    Sentences part the whole text: each begins where the one before it ends.
    """

    def __init__(self, *, lang: str = "en") -> None:
        self.lang = checked_language(lang)
        self._memories: dict[str, _Memory] = {}
        self._terms: tuple[Lexicon, dict[str, Terms]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (self.lang,)  # what was remembered is found again, and locks do not travel

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """One annotation for each document, in order."""
        ahead = _AHEAD if isinstance(documents, Sequence) else 1
        group: list[_Read] = []
        n_characters = 0
        for document in documents:
            text = document.text
            read = _Read(document, text, language(document.lang, self.lang), not text.islower())
            if group and group[0][2:] != read[2:]:
                yield from self._annotations(group, lexicon)
                group, n_characters = [], 0
            group.append(read)
            n_characters += len(text)
            if len(group) >= ahead or n_characters > _MOST_TEXT:
                yield from self._annotations(group, lexicon)
                group, n_characters = [], 0
        yield from self._annotations(group, lexicon)

    def _terms_of(self, lexicon: Lexicon, lang: str) -> Terms:
        if self._terms is None or self._terms[0] is not lexicon:
            self._terms = (lexicon, {name: Terms.of(lexicon, name) for name in LANGUAGES})
        return self._terms[1][lang]

    def _memory(self, lang: str) -> _Memory:
        memory = self._memories.get(lang)
        if memory is None or memory.is_full():
            memory = self._memories[lang] = _Memory(lang)
        return memory

    def _annotations(self, group: Sequence[_Read], lexicon: Lexicon) -> Iterator[Annotation]:
        """Annotations of documents of one language, which are read as one text."""
        if not group:
            return
        _, _, lang, cased = group[0]
        text = _BETWEEN.join(read.text for read in group)
        chunk_starts, pieces, word_table, texts = self._memory(lang).find(text)
        words, counts, before, after, chunk_lengths, gaps = pieces
        n_chunks = len(chunk_starts)
        chunk_ends = chunk_starts + chunk_lengths
        parents = np.repeat(np.arange(n_chunks), counts)
        words = (words - (counts.cumsum() - counts)).take(parents) + np.arange(len(parents))
        lemmas: list[str] = texts.take(words).tolist()
        columns = word_table.take(words, axis=1)
        content = columns[2] != 0
        spans = np.empty((len(lemmas), 2), np.int32)
        np.add(columns[:2].T, chunk_starts.take(parents)[:, None], out=spans)

        silent = list(_addresses(text))
        text_starts, start = [], 0
        for document, part, *_ in group:
            text_starts.append(start)
            body = start + (len(document.title) + 2 if document.title and document.body else 0)
            start += len(part)
            if dateline := _dateline(text, body, start):
                silent.append(dateline)
            start += len(_BETWEEN)
        for first, last in spans[:, 0].searchsorted(np.array(silent).reshape(-1, 2)).tolist():
            content[first:last] = False

        if terms := self._terms_of(lexicon, lang):
            kinds = gaps & 7
            joined = (kinds == Gap.BLANK) | (kinds == Gap.HYPHEN)
            joined = (parents[1:] == parents[:-1]) | joined.take(parents[:-1])
            merges = list(terms.find(lemmas, joined))
            lemmas, spans, content = merged(lemmas, spans, content, merges)

        last_chunks = _last_chunks(gaps, before, after, cased)
        bounds = chunk_ends.take(last_chunks) + (gaps.take(last_chunks) >> 3)
        edges = [*text_starts, len(text) + len(_BETWEEN)]
        first_words = spans[:, 0].searchsorted(edges).tolist()
        first_chunks = chunk_starts.searchsorted(edges)
        # The gap before the first chunk of a text, and the one after its last, end no sentence.
        first_bounds = last_chunks.searchsorted(first_chunks[:-1]).tolist()
        last_bounds = last_chunks.searchsorted(first_chunks[1:] - 1).tolist()
        for i, (document, part, *_) in enumerate(group):
            mine = slice(first_words[i], first_words[i + 1])
            yield Annotation(
                document,
                lemmas[mine],
                spans[mine] - np.int32(edges[i]),
                content[mine].copy(),
                partition(bounds[first_bounds[i] : last_bounds[i]] - edges[i], len(part)),
            )


def _made(lang: str) -> SimplemmaWords:
    return SimplemmaWords(lang=lang)


@hookimpl
def register_annotators() -> Mapping[str, type[SimplemmaWords]]:
    return {"simplemma": SimplemmaWords}
