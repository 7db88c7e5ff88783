"""Names of people and places in a text, recognised by capitals and position.

No model and no list of names is used. A capitalised word inside a sentence is a name. At the
beginning of a sentence, or in a headline, it is a name if the same word is inside a sentence of the
same text, or if it begins a longer name. Names are returned in lower case. A surname alone stands for
the full name that the text gives elsewhere.

>>> text = "Luc Vasseur left. Police met Luc Vasseur in Port Albers; Vasseur was calm."
>>> [name.name for name in names(text, "en")]
['luc vasseur', 'luc vasseur', 'port albers', 'luc vasseur']
"""

from __future__ import annotations

import importlib.resources
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from segapsith.languages import pack_of

__all__ = ["Name", "names"]

_WORD = re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]+)*\.?", re.UNICODE)
_SENTENCE_END = re.compile(r"[.!?…]['\"»”’)\]]*\s+$|\n\s*$|[:;–—]\s*$|(?:^|\s)['\"«“‘(\[–—-]\s*$")

_ELIDED = re.compile(r"(?:[dlnsjmtcDLNSJMTC]|qu|Qu|QU)['’]")
"""French articles and pronouns that are elided before the next word."""


_MIN_CAPITALISED = 0.6
"""A line with at least this share of capitalised words is a headline; its capitals prove nothing."""

_GAPS = (" ", "'", "’", "\u00a0", "-", "")
"""What may separate two words of a name."""

_MAX_JOINING = 2
"""Joining words in a row inside a name."""


class _WordLists(NamedTuple):
    """Word lists of one language from `data/proper_names.toml`."""

    joining: frozenset[str]
    never_at_an_edge: frozenset[str]


@cache
def _data() -> dict[str, Any]:
    file = importlib.resources.files("segapsith.lexicon") / "data" / "proper_names.toml"
    return tomllib.loads(file.read_text("utf-8"))


@cache
def _word_lists(lang: str) -> _WordLists:
    """Return the lists of a language; its stop words are not at an edge if it has none."""
    lists = _data().get(lang)
    if lists is None:
        return _WordLists(frozenset(_data()["joining"].split()), pack_of(lang).stop_words)
    return _WordLists(*(frozenset(lists[name].split()) for name in _WordLists._fields))


@cache
def _abbreviations() -> frozenset[str]:
    return frozenset(_data()["abbreviations"].split())


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its character range in the text."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    form: str
    is_capital: bool
    is_first: bool
    """At the beginning of a sentence or quotation."""
    in_headline: bool
    """In a line that capitalises most of its words."""

    @property
    def is_ambiguous(self) -> bool:
        """Whether a capital may have another cause than a name."""
        return self.is_first or self.in_headline


def names(text: str, lang: str) -> list[Name]:
    """Return the names of a text, in its order; none where a capital does not mark a name."""
    if pack_of(lang).capitals != "names":
        return []
    lists = _word_lists(lang)
    words = _words(text)
    certain = {w.form.casefold() for w in words if w.is_capital and not w.is_ambiguous}
    lower_case = {w.form for w in words if not w.is_capital}
    parts = [
        certified
        for stretch in _stretches(text, words, lists)
        if (certified := _certified(_trimmed(stretch, lists), certain, lower_case, lists))
    ]
    full = _full_names(parts)
    return [
        Name(part[0].start, part[-1].end, full.get(written, written))
        for part, written in ((part, _written(part)) for part in parts)
    ]


def _certified(
    stretch: list[_Word], certain: set[str], lower_case: set[str], lists: _WordLists
) -> list[_Word]:
    """Return the part of a stretch that is a name.

    If a capital at the beginning may have another cause, and the word is not certain from other
    sentences, the name begins after it.
    """
    lead = stretch[0] if stretch else None
    if lead is None or not lead.is_ambiguous or lead.form.casefold() in certain:
        return stretch
    if len(stretch) > 1 and not lead.in_headline and lead.form.casefold() not in lower_case:
        return stretch
    return [
        word
        for word in _trimmed(stretch[1:], lists)
        if not word.in_headline or not word.is_capital or word.form.casefold() in certain
    ]


def _words(text: str) -> list[_Word]:
    """Return the words of a text line by line, with French elisions separated."""
    words: list[_Word] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        forms = _forms(line)
        in_headline = _is_headline(line, [form for _, _, form in forms])
        for number, (start, end, form) in enumerate(forms):
            previous = forms[number - 1] if number else None
            is_first = _begins_sentence(line, start, previous)
            words.append(
                _Word(offset + start, offset + end, form, form[0].isupper(), is_first, in_headline)
            )
        offset += len(line)
    return words


def _forms(line: str) -> list[tuple[int, int, str]]:
    """Return start, end and form of the words of a line, without 's and final points."""
    forms: list[tuple[int, int, str]] = []
    for match in _WORD.finditer(line):
        start, form = match.start(), match.group()
        elided = _ELIDED.match(form)
        if elided and elided.end() < len(form):
            forms.append((start, start + elided.end(), elided.group()[:-1]))
            start, form = start + elided.end(), form[elided.end() :]
        bare = form.rstrip(".") if not _is_initials(form) else form
        for ending in ("'s", "’s"):
            bare = bare.removesuffix(ending)
        forms.append((start, start + len(bare), bare))
    return forms


def _is_headline(line: str, forms: list[str]) -> bool:
    """Return whether most long words of a line are capitalised and it does not end like prose."""
    long = [form for form in forms if len(form) > 3]
    n_capital = sum(form[0].isupper() for form in long)
    is_prose = line.rstrip().endswith((".", "!", "?", "…", '"', "”", "»"))
    return not is_prose and len(long) > 2 and n_capital >= _MIN_CAPITALISED * len(long)


def _begins_sentence(line: str, start: int, previous: tuple[int, int, str] | None) -> bool:
    """Return whether a word is at the beginning of a sentence or quotation."""
    if previous is None:
        return True
    _, end, form = previous
    if form.casefold() in _abbreviations() or _is_initials(form):
        return False  # the point belongs to the abbreviation
    if end == start and form[0].isupper():
        return True  # L'avocate: the capital belongs to the article
    return bool(_SENTENCE_END.search(line[max(0, start - 8) : start]))


def _is_initials(form: str) -> bool:
    """Return whether the points belong to the word: U.S., J."""
    return bool(re.fullmatch(r"(?:[^\W\d_]\.)+", form))


def _stretches(text: str, words: list[_Word], lists: _WordLists) -> list[list[_Word]]:
    """Return capitalised words that follow each other, with the joining words between them."""
    stretches: list[list[_Word]] = []
    current: list[_Word] = []
    joining: list[_Word] = []

    def finish() -> None:
        nonlocal current, joining
        if current:
            stretches.append(current)
        current, joining = [], []

    for word in words:
        before = (joining or current)[-1:]
        if before and text[before[0].end : word.start] not in _GAPS:
            finish()
        if word.is_capital and not (current and word.is_first and not joining):
            current = [*current, *joining, word]
            joining = []
        elif current and word.form.casefold() in lists.joining and len(joining) < _MAX_JOINING:
            joining.append(word)
        else:
            finish()
            current = [word] if word.is_capital else []
    finish()
    return stretches


def _trimmed(stretch: list[_Word], lists: _WordLists) -> list[_Word]:
    """Return a stretch without titles, days, articles and single letters at its edges."""

    def is_excluded(word: _Word) -> bool:
        form = word.form.casefold().rstrip(".")
        return not word.is_capital or form in lists.never_at_an_edge or len(form) < 2

    first, last = 0, len(stretch)
    while first < last and is_excluded(stretch[first]):
        first += 1
    while first < last and is_excluded(stretch[last - 1]):
        last -= 1
    return stretch[first:last]


def _written(words: list[_Word]) -> str:
    return " ".join(word.form.casefold() for word in words)


def _full_names(parts: list[list[_Word]]) -> dict[str, str]:
    """Map a last word to the one longer name of the text that ends with it."""
    longer: dict[str, set[str]] = {}
    for words in parts:
        if len(words) > 1:
            longer.setdefault(words[-1].form.casefold(), set()).add(_written(words))
    return {last: next(iter(fulls)) for last, fulls in longer.items() if len(fulls) == 1}
