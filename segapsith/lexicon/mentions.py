"""Names, numbers and dates of a text in a form that does not depend on its language.

They are what two texts in different languages share if they report the same thing. No dictionary
is used. A name keeps its letters, without accents and case. Where a capital marks a name, only
names count; where every noun has one, all capitalised words do; where the script has no capitals,
words in Latin letters do.

>>> found = mentions("Lena Brandt said on 4 March that 4.1 percent was too much.", "en", 2026)
>>> sorted(found.names), sorted(found.numbers), sorted(found.days)
(['brandt', 'lena'], ['4.1'], ['2026-03-04'])
>>> found = mentions("Am 4. März nannte Brandt 4,1 Prozent zu viel.", "de", 2026)
>>> sorted(found.names), sorted(found.numbers), sorted(found.days)
(['brandt'], ['4.1'], ['2026-03-04'])
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from dataclasses import dataclass

from segapsith.languages import pack_of
from segapsith.languages.months import MONTHS
from segapsith.lexicon.proper_names import names

__all__ = ["Mentions", "mentions"]

_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ɏ]+")
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,'’]\d+|[\u00a0\u202f ]\d{3}(?!\d))*(?![\d:])")
_GROUPED = re.compile(r"\d{1,3}(?:[.,\u00a0\u202f '’]\d{3})+")
_DAY_FIRST = re.compile(
    r"(?<!\d)(\d{1,2})\.?(?:er|º)?\s+(?:de\s+)?([^\W\d_]{3,12})(?:\.|\b)(?:\s+(?:de\s+)?(\d{4}))?"
)
_MONTH_FIRST = re.compile(r"\b([^\W\d_]{3,12})\.?\s+(\d{1,2})(?!\d|[.,]\d)(?:,?\s+(\d{4}))?")
_YEAR_FIRST = re.compile(r"(?:(\d{4})[年년]\s?)?(\d{1,2})[月월]\s?(\d{1,2})[日일]")

_MIN_LETTERS = 3
"""Shorter words are rarely names, and often equal in two languages by chance."""

_MIN_DIGITS = 2
"""Numbers of one digit are too frequent to say anything."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a text mentions."""

    names: frozenset[str]
    numbers: frozenset[str]
    days: frozenset[str]
    """Dates, ISO."""


def mentions(text: str, lang: str, year: int | None = None) -> Mentions:
    """Return the names, numbers and dates of a text; `year` is that of dates without one."""
    days, rest = _days(text, year)
    return Mentions(_names(text, lang), _numbers(rest), days)


def _names(text: str, lang: str) -> frozenset[str]:
    pack = pack_of(lang)
    if pack.case == "none":
        words = _LATIN.findall(text)
    elif pack.capitals == "names":
        words = [word for name in names(text, lang) for word in _WORD.findall(name.name)]
    else:
        words = [word for word in _WORD.findall(text) if word[0].isupper()]
    lower = (word.casefold() for word in words if len(word) >= _MIN_LETTERS)
    return frozenset(
        _without_marks(word) for word in lower if word not in pack.stop_words | MONTHS.keys()
    )


def _without_marks(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _numbers(text: str) -> frozenset[str]:
    plain = (_plain_number(match.group()) for match in _NUMBER.finditer(text))
    return frozenset(number for number in plain if len(number.replace(".", "")) >= _MIN_DIGITS)


def _plain_number(written: str) -> str:
    """Return a number with a decimal point and without signs between thousands.

    >>> _plain_number("212,000"), _plain_number("4,1"), _plain_number("1.234,5")
    ('212000', '4.1', '1234.5')
    """
    digits = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in written)
    if _GROUPED.fullmatch(digits):
        return re.sub(r"\D", "", digits)
    whole, _, fraction = digits.replace(",", ".").rpartition(".")
    return f"{re.sub(r'[^0-9]', '', whole)}.{fraction}" if whole else re.sub(r"\D", "", digits)


def _days(text: str, year: int | None) -> tuple[frozenset[str], str]:
    """Return the dates of a text, and the text without them."""
    days: set[str] = set()

    def take(match: re.Match[str], day: str, month: int | None, written_year: str | None) -> str:
        given = int(written_year) if written_year else year
        if month is None or given is None:
            return match.group()
        try:
            days.add(datetime.date(given, month, int(day)).isoformat())
        except ValueError:
            return match.group()
        return " "

    def month_of(name: str) -> int | None:
        return MONTHS.get(name.lower())

    text = _YEAR_FIRST.sub(lambda m: take(m, m[3], int(m[2]), m[1]), text)
    text = _DAY_FIRST.sub(lambda m: take(m, m[1], month_of(m[2]), m[3]), text)
    text = _MONTH_FIRST.sub(lambda m: take(m, m[2], month_of(m[1]), m[3]), text)
    return frozenset(days), text
