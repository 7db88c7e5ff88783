"""Texts of the interface in English and French.

The English text is the key; `texts.fr.toml` has the French one. Texts of stories, names of domains
and messages of the program are shown as they are.
"""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from typing import Any

from segapsith.web.advice import ADVICE

__all__ = ["COLUMNS", "DYNAMIC", "LANGUAGES", "Texts", "catalogue", "language_of"]

LANGUAGES = {"en": "English", "fr": "Français"}

COLUMNS = frozenset(
    {
        *("day", "stories", "units", "run", "date", "lang", "share", "mapping", "overlap in %"),
        *("domains", "clusters", "figure", "value", "domain", "cluster", "label", "topic", "from"),
    }
)
"""Heads of the tables below charts; the files of charts have them in English."""

DYNAMIC = COLUMNS | frozenset(
    {
        *(
            "Today",
            "Sections",
            "Events",
            "Active",
            "Topics",
            "Domains",
            "Timeline",
            "Map",
            "Validation",
            "Compare",
            "Runs",
            "Feeds",
        ),
        *(
            "Watch",
            "Cite",
            "Federation",
            "topics",
            "Appeared",
            "Gone",
            "Merged",
            "Split",
            "New",
            "Rising",
            "Falling",
        ),
        *("confirmed", "split", "merged", "missing"),
        *("rising", "falling", "new", "quiet", "steady", "undated"),
        *("running", "done", "failed", "interrupted", "undone", "open", "retired"),
        *("largest", "most in the last 7 days", "newest", "oldest", "by name"),
        *("day", "week", "month", "topic", "domain", "New domains", "Rising domains"),
        *("This cannot be asked", "Not found", "The store has changed", "Not allowed"),
        *("The store is busy", "Something failed"),
        *("by chance", "observed", "maximum", "share of units in stable domains"),
        *("standard deviations above chance", "domains by clusters: share of each domain"),
        "number of domains by their largest share in one cluster, and the reverse",
        "A part of the address or of the form has no valid value.",
        "The store does not have this, or has it no more.",
        *(advice.text for advice in ADVICE.values()),
    }
)
"""Texts that are put together from values, so that a search for calls does not find them."""


@functools.cache
def catalogue() -> dict[str, str]:
    """Return the French text of each English one."""
    text = (files("segapsith.web") / "texts.fr.toml").read_text("utf-8")
    entries: dict[str, str] = tomllib.loads(text)
    return entries


def language_of(accepted: str) -> str:
    """Return the language of the interface for an Accept-Language header.

    >>> language_of("fr-CA,fr;q=0.9,en;q=0.8"), language_of("de"), language_of("en, fr;q=0.1")
    ('fr', 'en', 'en')
    """
    ranked = []
    for place, part in enumerate(accepted.split(",")[:20]):
        name, _, quality = part.partition(";q=")
        try:
            weight = float(quality or 1)
        except ValueError:
            weight = 0.0
        ranked.append((-weight, place, name.strip().lower()[:2]))
    return next((name for _, _, name in sorted(ranked) if name in LANGUAGES), "en")


class Texts:
    """The texts, numbers and dates of one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def text(self, english: str, **values: Any) -> str:
        """Return a text in the language, with values put in."""
        text = catalogue().get(english, english) if self.language == "fr" else english
        return text.format(**values) if values else text

    def count(self, number: int, singular: str, plural: str) -> str:
        """Return a number with its noun: `count(2, "{n} story", "{n} stories")`."""
        one = number in (0, 1) if self.language == "fr" else number == 1
        return self.text(singular if one else plural, n=self.number(number))

    def number(self, value: float | None, digits: int = 0) -> str:
        """Return a number as it is written in the language.

        >>> Texts("en").number(12345), Texts("fr").number(0.5, 2), Texts("en").number(None)
        ('12,345', '0,50', '–')
        """
        if value is None:
            return "–"
        written = f"{value:,.{digits}f}"
        if self.language == "fr":
            return written.replace(",", "\N{NARROW NO-BREAK SPACE}").replace(".", ",")
        return written

    def date(self, moment: str | None) -> str:
        """Return the day of a moment, and its time if it has one, in ISO form."""
        if not moment:
            return "–"
        return moment[:10] if len(moment) < 16 else f"{moment[:10]} {moment[11:16]}"
