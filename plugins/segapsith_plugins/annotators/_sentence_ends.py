"""Decide after which chunks of a text a sentence ends, by the gap and the chunks around it."""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from segapsith_plugins.annotators._chunk_words import MAX_COMPOUND_CHARS
from segapsith_plugins.annotators._pieces import match_end
from segapsith_plugins.annotators._words import LANGUAGES, normal, word_set

__all__ = ["ONE_BLANK", "After", "Before", "Gap", "Gaps", "last_chunks", "stop_roles"]


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


_ENDS = {
    cased: np.array(
        [_ends(gap, before, after, cased) for gap in Gap for before in Before for after in After]
    )
    for cased in (True, False)
}
"""`_ends` for all cases, in the order gap, before, after."""


_TERMINATOR = re.compile("[.!?…。]")
_CLOSING = re.compile("[.!?…。\"'”’)\\]}]*+(?:[ \u00a0\u202f]?»)?+")
_WHITE = re.compile(r"\s*+")


class Gaps(dict[str, int]):
    """All gaps so far: the kind of each, and after how many characters a sentence may begin."""

    def __missing__(self, gap: str) -> int:
        kind, cut = _gap(gap)
        value = kind | cut << 3
        if len(gap) <= MAX_COMPOUND_CHARS:
            self[gap] = value
        return value


ONE_BLANK = Gap.BLANK | 1 << 3
"""The value in `Gaps` of the blank between two words."""


def _gap(gap: str) -> tuple[Gap, int]:
    """Return the kind of a gap, and where in it the next sentence would begin.

    >>> _gap(', '), _gap('." '), _gap('.\\n\\n« '), _gap(' . ')
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
    while match := _TERMINATOR.search(gap, position):
        closed = match_end(_CLOSING, gap, match.start())
        position = match_end(_WHITE, gap, closed)
        if position > closed:
            marks = gap[match.start() : closed]
            return Gap.MARK if any(sign in marks for sign in "!?…。") else Gap.STOP, position
        if position == len(gap):
            return (Gap.TIGHT, closed) if match.start() == 0 else (Gap.OTHER, 0)
    if gap.isspace():
        return (Gap.INDENT, line) if line and len(gap) - line > 1 else (Gap.BLANK, len(gap))
    return Gap.HYPHEN if gap in ("-", "‐", "‑") else Gap.OTHER, 0


_TITLES = {
    "en": word_set(
        "mr mrs ms messrs dr prof gen sen rep gov lt col sgt capt cmdr adm maj hon pres vs"
    ),
    "fr": word_set("m mm mme mmes mlle mlles mgr dr pr me st ste cf gén col cdt lt"),
}
_ABBREVIATIONS = {
    "en": word_set(
        "inc corp co cos ltd bros st ste ave blvd rd jan feb mar apr jun jul aug sept sep oct nov "
        "dec mon tue tues wed thu thur thurs fri sat sun etc al approx dept div est govt intl "
        "mfg natl assn assoc univ calif conn fla ill mass mich minn mo okla ore pa penn tenn tex "
        "va wash wis ariz ark colo del ga ind kan ky la md miss mont neb nev ala nj ny oz lb "
        "lbs ft sq cu bbl avg plc jr sr rev"
    ),
    "fr": word_set(
        "etc av apr ap env tél bd boul janv févr avr juil sept oct nov déc éd ed vol chap hab "
        "min sec max dép arr réf cie ets inc ltd corp"
    ),
}
_NUMBERED = word_set("no nos n art p pp fig vol chap sec para")
_OPENERS = {
    "en": word_set(
        "the a an it its he she they we i you in on at by for from with this that these those "
        "there but and or so if when while after before since as some many most all no not one "
        "two his her their our who what how why where under according however meanwhile last "
        "both each such earlier also now then"
    ),
    "fr": word_set(
        "le la les l un une des il elle ils elles on ce c cet cette ces mais et ou donc or si "
        "quand lorsque après avant depuis dans en au aux à pour par sur sous avec sans selon "
        "son sa ses leur leurs notre nos je j nous vous qui que qu d de du puis ainsi alors "
        "aussi cependant toutefois enfin"
    ),
}


_SHORT = {lang: _NUMBERED | _ABBREVIATIONS[lang] | _TITLES[lang] for lang in LANGUAGES}


# Tables of plain numbers are faster to build than tables of enum members.
_PLAIN = int(Before.WORD), int(After.LOWER)
_NAME = int(Before.WORD), int(After.CAPITAL)
_UPPER = int(Before.OTHER), int(After.CAPITAL)
_NUMBER = int(Before.OTHER), int(After.DIGIT)


def stop_roles(chunk: str, lang: str) -> tuple[int, int]:
    """Return the roles of a chunk before and after a full stop.

    >>> stop_roles("Mme", "fr") == (Before.TITLE, After.CAPITAL)
    True
    """
    if chunk[0].isdigit() and chunk[-1].isdigit():
        return _NUMBER
    if len(chunk) > 2 and chunk.isalpha() and (form := chunk.lower()) not in _SHORT[lang]:
        if chunk == form and chunk.islower():
            return _PLAIN  # the usual case
        if form not in _OPENERS[lang] and chunk.isascii() and chunk[0].isupper():
            return _NAME if chunk[-1].islower() else _UPPER
    form = normal(chunk if len(chunk) <= MAX_COMPOUND_CHARS else chunk[:1] + chunk[-1:])
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


def last_chunks(
    gaps: NDArray[np.int32], before: NDArray[np.int32], after: NDArray[np.int32], cased: bool
) -> NDArray[np.intp]:
    """Return the chunks that end a sentence; `gaps[i]` follows chunk i."""
    cases = ((gaps[:-1] & 7) * len(Before) + before[:-1]) * len(After) + after[1:]
    return np.flatnonzero(_ENDS[cased].take(cases))
