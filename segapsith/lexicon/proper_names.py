"""Names of people and places in a text, found by their capitals and their position.

No model and no list of names. A capital inside a sentence is a name; at the beginning of one, or in
a headline that capitalises everything, it is a name only if the same word stands inside a sentence
of the same text, or begins a longer name. Names are written in lower case, and a surname alone is
the full name that the text gave before or after.

>>> found = names("Luc Vasseur left. Police met Luc Vasseur in Port Albers; Vasseur was calm.", "en")
>>> [name.name for name in found]
['luc vasseur', 'luc vasseur', 'port albers', 'luc vasseur']
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Name", "names"]

_WORD = re.compile(r"[^\W\d_]+(?:[-'’.][^\W\d_]+)*\.?", re.UNICODE)
_SENTENCE_END = re.compile(r"[.!?…]['\"»”’)\]]*\s+$|\n\s*$|[:;–—]\s*$|(?:^|\s)['\"«“‘(\[–—-]\s*$")

_ELIDED = re.compile(r"(?:[dlnsjmtcDLNSJMTC]|qu|Qu|QU)['’]")
"""French articles and pronouns that lean on the next word."""


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_JOINING = {
    "en": _listed("of the de la du van von der bin al el"),
    "fr": _listed("de du des la le les d van von der ben bin al el sur en"),
}
"""Small words that may stand inside a name."""

_ALONE = {
    "en": _listed(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may"
        " june july august september october november december i i'm i've i'll i'd mr mrs ms dr sir"
        " lord lady president minister prime king queen pope judge senator the a an and but or if in"
        " on at to of for from by with as it he she they we you his her their our its this that these"
        " those there here no not what when where who why how while after before since until all"
        " some many most more both each every one two three four five six seven eight nine ten new"
        " north south east west last next so yet is was are were be been has have had do does did"
        " will would could should may might must can asked according then also now"
        " however meanwhile still only even later earlier once again today yesterday tomorrow"
    ),
    "fr": _listed(
        "lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai juin"
        " juillet août septembre octobre novembre décembre m mm mme mlle me dr président présidente"
        " ministre roi reine pape juge sénateur le la les l un une des du de d et mais ou si en dans"
        " sur à au aux pour par avec sans sous comme il elle ils elles on nous vous je tu son sa ses"
        " leur leurs notre nos ce cet cette ces celui celle ceux qui que quoi dont où quand comment"
        " pourquoi après avant depuis pendant tout tous toute toutes plus moins deux trois quatre"
        " cinq six sept huit neuf dix nord sud est ouest y ne pas non oui c' est selon chez entre"
        " vers contre puis alors aussi cependant toutefois encore déjà hier demain ainsi même"
    ),
}
"""Words that are no name, whatever their capital, when they stand at an edge of one."""

_ABBREVIATED = frozenset(
    {"m", "mm", "mr", "mrs", "ms", "dr", "st", "ste", "gen", "sen", "prof", "vs"}
)

_HEADLINE = 0.6
"""Share of capitalised words from which a line says nothing by its capitals."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its place in the text."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class _Word:
    start: int
    end: int
    form: str
    capital: bool
    first: bool
    """At the beginning of a sentence or quotation, where a capital says little."""
    loud: bool
    """In a line that capitalises most of its words."""


def names(text: str, lang: str) -> list[Name]:
    """The names of a text, in its order; another language than French is read as English."""
    lang = lang if lang in _ALONE else "en"
    words = _words(text)
    trusted = {w.form.casefold() for w in words if w.capital and not w.first and not w.loud}
    small = {w.form for w in words if not w.capital}
    stretches = list(_stretches(text, words, lang))
    found: list[list[_Word]] = []
    for stretch in stretches:
        kept = _trimmed(stretch, lang)
        lead = kept[0] if kept else None
        if lead is not None and (lead.first or lead.loud):
            known = lead.form.casefold() in trusted
            if not known and (len(kept) == 1 or lead.loud or lead.form.casefold() in small):
                kept = [w for w in _trimmed(kept[1:], lang) if not w.loud or _known(w, trusted)]
        if kept:
            found.append(kept)
    full = _full_names(found)
    return [
        Name(kept[0].start, kept[-1].end, full.get(written, written))
        for kept, written in ((kept, _written(kept)) for kept in found)
    ]


def _known(word: _Word, trusted: set[str]) -> bool:
    return not word.capital or word.form.casefold() in trusted


def _words(text: str) -> list[_Word]:
    """The words of a text line by line, French elisions cut off."""
    found: list[_Word] = []
    at = 0
    for line in text.splitlines(keepends=True):
        here: list[tuple[int, int, str]] = []
        for match in _WORD.finditer(line):
            start, form = match.start(), match.group()
            elided = _ELIDED.match(form)
            if elided and elided.end() < len(form):
                here.append((start, start + elided.end(), elided.group()[:-1]))
                start, form = start + elided.end(), form[elided.end() :]
            bare = form.rstrip(".") if not _initials(form) else form
            for ending in ("'s", "’s"):
                bare = bare.removesuffix(ending)
            here.append((start, start + len(bare), bare))
        long = [form for _, _, form in here if len(form) > 3]
        n_capital = sum(form[0].isupper() for form in long)
        prose = line.rstrip().endswith((".", "!", "?", "…", '"', "”", "»"))
        loud = not prose and len(long) > 2 and n_capital >= _HEADLINE * len(long)
        for number, (start, end, form) in enumerate(here):
            first = number == 0 or bool(_SENTENCE_END.search(line[max(0, start - 8) : start]))
            if number:
                before = here[number - 1][2]
                if before.casefold() in _ABBREVIATED or _initials(before):
                    first = False  # the point is the abbreviation's
                elif here[number - 1][1] == start and before[0].isupper():
                    first = True  # L'avocate: the capital is the article's
            found.append(_Word(at + start, at + end, form, form[0].isupper(), first, loud))
        at += len(line)
    return found


def _initials(form: str) -> bool:
    """Whether a point belongs to the word: U.S., J."""
    return bool(re.fullmatch(r"(?:[^\W\d_]\.)+", form))


def _stretches(text: str, words: list[_Word], lang: str) -> list[list[_Word]]:
    """Capitalised words that stand together, small joining words between them included."""
    stretches: list[list[_Word]] = []
    current: list[_Word] = []
    waiting: list[_Word] = []
    for word in words:
        before = (waiting or current)[-1:]
        near = bool(before) and text[before[0].end : word.start] in (
            " ",
            "'",
            "’",
            "\u00a0",
            "-",
            "",
        )
        if current and not near:
            stretches.append(current)
            current, waiting = [], []
        if word.capital and not (current and word.first and not waiting):
            current = [*current, *waiting, word]
            waiting = []
        elif current and word.form.casefold() in _JOINING[lang] and len(waiting) < 2:
            waiting.append(word)
        else:
            if current:
                stretches.append(current)
            current, waiting = ([word] if word.capital else []), []
    if current:
        stretches.append(current)
    return stretches


def _trimmed(stretch: list[_Word], lang: str) -> list[_Word]:
    """The stretch without titles, days, articles and single letters at its edges."""

    def edge(word: _Word) -> bool:
        form = word.form.casefold().rstrip(".")
        return not word.capital or form in _ALONE[lang] or len(form) < 2

    first, last = 0, len(stretch)
    while first < last and edge(stretch[first]):
        first += 1
    while first < last and edge(stretch[last - 1]):
        last -= 1
    return stretch[first:last]


def _written(words: list[_Word]) -> str:
    return " ".join(word.form.casefold() for word in words)


def _full_names(found: list[list[_Word]]) -> dict[str, str]:
    """A last part that stands alone, and the one longer name of the text that ends with it."""
    longer: dict[str, set[str]] = {}
    for words in found:
        if len(words) > 1:
            longer.setdefault(words[-1].form.casefold(), set()).add(_written(words))
    return {last: next(iter(fulls)) for last, fulls in longer.items() if len(fulls) == 1}
