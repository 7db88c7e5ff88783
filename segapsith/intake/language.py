"""The language of a text, identified from its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata

from segapsith.intake.language_model import LanguageModel

__all__ = ["KNOWN", "identifier", "language_version"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


RULES = 1
"""Number of the rules of this module; a change of what they return needs the next one."""

KNOWN = ("en", "fr")
"""Languages that a text is in unless it is clearly in another one."""

OTHERS = _set(
    "af am ar az be bg bn ca cs cy da de el es et eu fa fi ga gl gu he hi hr hu hy id is it ja ka kk"
    " km kn ko ky lo lt lv mk ml mn mr ms my ne nl no pa pl ps pt ro ru si sk sl sq sr sv sw ta te th"
    " tl tr uk ur uz vi zh"
)
"""Other languages that are recognised. Dialects and close relatives are excluded,
because they would divide the stories of one feed."""

MIN_LEAD = 8.0
"""Least lead of another language over every known one: log-odds divided by the square root of the
number of bytes. Of 70,000 English and French stories the highest lead is 5.0; of longer German,
Spanish or Dutch stories 99 in 100 reach 12."""

MIN_CHARS = 80
"""A shorter ASCII text cannot reach the lead, so other languages are not tried."""

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    "en": _set(
        "the of to and that with from which their his has would said been were this it you how what"
        " who after"
    ),
    "fr": _set("les du et sur par dans est une pour aux avec ont cette était sont leur elle"),
}
"""Frequent words of a language, at most two of which are frequent in any other."""

MIN_FUNCTION_WORDS = 5
"""Function words that decide a language, if three of them differ and there are at least four times as
many as of all other languages."""

WORDS_PER_FUNCTION_WORD = 16
"""A text with fewer than one function word in this many words may be in another language."""

MIN_SURPRISE = 3.7
"""A text may be in another language at this negative log-likelihood per byte under the best known
language, or above. Most English and French texts are below it."""


@cache
def language_version(lang: str, languages: tuple[str, ...] = KNOWN) -> str:
    """Return what decides the language of a document besides its text: setting and versions."""
    if lang != "auto":
        return f"lang={lang}"
    model = metadata.version("py3langid")
    return f"lang=auto among {' '.join(languages)}, rules {RULES}, py3langid {model}"


def identifier(languages: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function that gives the language of a text: a known one, unless it is clearly another."""
    word_lists = [(lang, FUNCTION_WORDS[lang]) for lang in languages if lang in FUNCTION_WORDS]

    def identify(text: str) -> str:
        if not any(c.isalpha() for c in text):
            return languages[0]
        if len(text) < MIN_CHARS and text.isascii():
            return _model_among(languages).best(text)[0]
        words = text.lower().split()
        total, most, lang = 0, 0, ""
        for candidate, function_words in word_lists:
            hits = sum(map(function_words.__contains__, words))
            total += hits
            if hits > most and len(function_words.intersection(words)) >= 3:
                most, lang = hits, candidate
        if most >= MIN_FUNCTION_WORDS and most > 4 * (total - most):
            return lang
        lang, score = _model_among(languages).best(text)
        n_bytes = len(text.encode("utf-8", "surrogatepass"))
        has_few_function_words = WORDS_PER_FUNCTION_WORD * total < len(words)
        if has_few_function_words and score < -MIN_SURPRISE * n_bytes:
            return _other_language(text, n_bytes, languages) or lang
        return lang

    return identify


def _other_language(text: str, n_bytes: int, languages: tuple[str, ...]) -> str | None:
    """Return the language of a text that is clearly not in a known one, else None."""
    scores = _model(languages).scores(text)
    best = max(OTHERS.difference(languages), key=lambda lang: (scores[lang], lang))
    lead = scores[best] - max(scores[lang] for lang in languages)
    return best if lead >= MIN_LEAD * math.sqrt(n_bytes) else None


@cache
def _model(languages: tuple[str, ...]) -> LanguageModel:
    """Return the model of all languages that a text may be in."""
    return LanguageModel.load(OTHERS.union(languages))


@cache
def _model_among(languages: tuple[str, ...]) -> LanguageModel:
    """Return the model, restricted to these languages."""
    return _model(languages).among(languages)
