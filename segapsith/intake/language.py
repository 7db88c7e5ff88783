"""The language of a document: what it says, what was asked for, or what its words look like."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from segapsith.model import Document

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

__all__ = ["KNOWN", "language_of"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


KNOWN = ("en", "fr")
"""Languages with word lists of their own."""

OTHERS = _set(
    "af am ar az be bg bn ca cs cy da de el es et eu fa fi ga gl gu he hi hr hu hy id is it ja ka kk"
    " km kn ko ky lo lt lv mk ml mn mr ms my ne nl no pa pl ps pt ro ru si sk sl sq sr sv sw ta te th"
    " tl tr uk ur uz vi zh"
)
"""Languages without word lists that are recognised. Dialects and close relatives are left out: they
would divide the stories of one feed."""

MARGIN = 8.0
"""Log-odds, divided by the square root of the number of bytes, by which another language must beat
every known one. Short and ambiguous texts stay below it: of 70,000 English and French stories the
highest is 5.0. Of longer German, Spanish or Dutch stories 99 in 100 reach 12."""

SHORT = 80
"""ASCII characters below which a text cannot reach the margin, and is not tried."""

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    "en": _set(
        "the of to and that with from which their his has would said been were this it you how what"
        " who after"
    ),
    "fr": _set("les du et sur par dans est une pour aux avec ont cette était sont leur elle"),
}
"""Frequent words of a language, at most two of which are frequent in any other."""

CERTAIN = 5
"""Function words of one language, three of them different, that settle it if there is at most one
of another language for every four."""

SPARSE = 16
"""With fewer than one function word in so many words, a text may be in another language."""

SURPRISE = 3.7
"""Negative log-likelihood per byte from which a text may be in another language than the best of the
known ones; most English and French texts are below it, and are not tried."""

_TAG = re.compile(r"[A-Za-z]{2,3}")


def language_of(lang: str, known: Sequence[str] = KNOWN) -> Callable[[Document], str]:
    """Return a function that gives the language of a document.

    `auto` believes the document and otherwise looks at its text: it is in one of the known
    languages unless it is clearly in another. Anything else than `auto` is taken as it is.

    >>> language_of("auto")(Document(body="...", lang="fr-FR"))
    'fr'
    >>> language_of("en")(Document(body="...", lang="fr"))
    'en'
    >>> language_of("auto")(Document(body="Le ministre a dit que la grève continue."))
    'fr'
    >>> german = "Der Minister sagte am Mittwoch, dass der Streik bis zum Wochenende weitergehen wird."
    >>> language_of("auto")(Document(body=german))
    'de'
    """
    if lang != "auto":
        return lambda document: lang
    identify = _identify(tuple(known))

    def believed_or_identified(document: Document) -> str:
        tag = _TAG.match(document.lang) if document.lang else None
        return tag.group().lower() if tag else identify(document.text[:500])

    return believed_or_identified


def _identify(known: tuple[str, ...]) -> Callable[[str], str]:
    listed = [(lang, FUNCTION_WORDS[lang]) for lang in known if lang in FUNCTION_WORDS]

    def identify(text: str) -> str:
        if not any(c.isalpha() for c in text):
            return known[0]
        if len(text) < SHORT and text.isascii():
            return str(_identifier(known).classify(text)[0])
        words = text.lower().split()
        total, most, lang = 0, 0, ""
        for candidate, function_words in listed:
            hits = [word for word in words if word in function_words]
            total += len(hits)
            if len(hits) > most and len(set(hits)) >= 3:
                most, lang = len(hits), candidate
        if most >= CERTAIN and most > 4 * (total - most):
            return lang
        lang, score = _identifier(known).classify(text)
        n_bytes = len(text.encode("utf-8", "surrogatepass"))
        if SPARSE * total < len(words) and score < -SURPRISE * n_bytes:
            return _other_language(text, n_bytes, known) or str(lang)
        return str(lang)

    return identify


def _other_language(text: str, n_bytes: int, known: tuple[str, ...]) -> str | None:
    """Return the language of a text that is clearly in none of the known ones."""
    scores = dict(_model().rank(text))
    best = max(OTHERS.difference(known), key=lambda lang: (scores[lang], lang))
    lead = scores[best] - max(scores[lang] for lang in known)
    return best if lead >= MARGIN * math.sqrt(n_bytes) else None


@cache
def _model() -> LanguageIdentifier:
    """The model of all languages, loaded when it is first needed (0.5 s)."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


@cache
def _identifier(known: tuple[str, ...]) -> LanguageIdentifier:
    """The model, restricted to some languages."""
    identifier = copy.copy(_model())
    identifier.set_languages(list(known))
    return identifier
