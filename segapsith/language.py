"""The language of a document: what it says, what was asked for, or what its words look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from segapsith.model import Document

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

__all__ = ["KNOWN", "language_of"]

KNOWN = ("en", "fr")
"""Languages that are guessed, and that the word lists are made for."""

_TAG = re.compile(r"[A-Za-z]{2,3}")


def language_of(lang: str, known: Sequence[str] = KNOWN) -> Callable[[Document], str]:
    """A function that gives the language of a document.

    `auto` believes the document and else guesses among the known languages; anything else is
    taken as it is.

    >>> language_of("auto")(Document(body="...", lang="fr-FR"))
    'fr'
    >>> language_of("en")(Document(body="...", lang="fr"))
    'en'
    >>> language_of("auto")(Document(body="Le ministre a dit que la grève continue."))
    'fr'
    """
    if lang != "auto":
        return lambda document: lang
    guess = _guesser(known)

    def believed_or_guessed(document: Document) -> str:
        tag = _TAG.match(document.lang) if document.lang else None
        return tag.group().lower() if tag else guess(document.text[:500])

    return believed_or_guessed


def _guesser(known: Sequence[str]) -> Callable[[str], str]:
    def guess(text: str) -> str:
        if not any(c.isalpha() for c in text):
            return known[0]
        return str(_identifier(tuple(known)).classify(text)[0])

    return guess


@cache
def _identifier(known: tuple[str, ...]) -> LanguageIdentifier:
    """The model, loaded when a language is first guessed (0.5 s)."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(known))
    return identifier
