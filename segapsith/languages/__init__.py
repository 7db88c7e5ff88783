"""Languages: what a reader has to know about each of them, as data.

A language pack is a TOML file. `segapsith/languages/xx.toml` are the built-in ones; a plugin adds
others through the hook `register_languages`. A pack is read when its language is first met. A
language without a pack has its own vocabulary and no lemmas, and its stop words are learned from the
stream (`segapsith.lexicon.vocabulary.common_share`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any, get_args, get_origin, get_type_hints

from segapsith.errors import ConfigurationError, did_you_mean

__all__ = ["ALIASES", "BUILT_IN", "LanguagePack", "add_pack", "has_pack", "pack_of", "parse_pack"]

BUILT_IN = (
    "ar", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "he", "hi", "hu",
    "it", "ja", "ko", "nb", "nl", "pl", "pt", "ro", "ru", "sv", "tr", "uk", "zh",
)  # fmt: skip
"""Languages with a pack of this package."""

ALIASES: dict[str, str] = {
    "ara": "ar", "ces": "cs", "cze": "cs", "dan": "da", "deu": "de", "ger": "de", "ell": "el",
    "gre": "el", "eng": "en", "spa": "es", "fas": "fa", "per": "fa", "fin": "fi", "fra": "fr",
    "fre": "fr", "heb": "he", "iw": "he", "hin": "hi", "hun": "hu", "ita": "it", "jpn": "ja",
    "kor": "ko", "no": "nb", "nor": "nb", "nob": "nb", "dut": "nl", "nld": "nl", "pol": "pl",
    "por": "pt", "ron": "ro", "rum": "ro", "mo": "ro", "rus": "ru", "swe": "sv", "tur": "tr",
    "ukr": "uk", "chi": "zh", "zho": "zh", "cmn": "zh",
}  # fmt: skip
"""Other codes of the languages, as feeds write them; plugins may add theirs with their packs."""

LEMMATISERS = ("dictionary", "jieba", "sudachi", "kiwi", "icu", "none")
"""Ways to words and lemmas; jieba, sudachi, kiwi and icu also find words where no space does."""

_CHOICES = {
    "lemmatiser": LEMMATISERS,
    "case": ("plain", "turkic", "none"),
    "capitals": ("names", "nouns", "none"),
    "hyphens": ("parts", "whole"),
}


@dataclass(frozen=True, slots=True)
class LanguagePack:
    """What a reader knows about one language. Every field but the code may be missing."""

    code: str
    name: str = ""
    script: str = "Latin"
    lemmatiser: str = "none"
    case: str = "plain"
    """`turkic`: I and ı, İ and i are pairs; `none`: the script has no capitals."""
    capitals: str = "names"
    """What a capital inside a sentence means: a name, any noun, or nothing."""
    joiners: bool = False
    """Whether invisible joiners (U+200C, U+200D) are part of the spelling."""
    spelling: Mapping[str, str] = field(default_factory=dict)
    """Characters that are written differently, replaced before a form is looked up."""
    lemma_spelling: Mapping[str, str] = field(default_factory=dict)
    """Characters replaced in lemmas, so that spellings with and without a mark are one word."""
    respelled: Mapping[str, str] = field(default_factory=dict)
    """Letters that are tried instead if the dictionary does not have a form."""
    elisions: frozenset[str] = frozenset()
    """Words that an apostrophe joins to the next one."""
    contractions: frozenset[str] = frozenset()
    """Endings after an apostrophe that are not part of the word."""
    suffixes_after_apostrophe: bool = False
    """Whether everything after an apostrophe is an ending."""
    clitics: frozenset[str] = frozenset()
    """Words that a hyphen joins to the word before."""
    proclitics: tuple[str, ...] = ()
    """Small words that are written together with the next word; the longest first."""
    articles: tuple[str, ...] = ()
    """Those of them that are cut from words that are not in the dictionary, too."""
    prefixes: frozenset[str] = frozenset()
    """Beginnings before a hyphen that do not make a word of their own."""
    hyphens: str = "parts"
    """Whether an unknown compound with a hyphen is read as its parts or as one word."""
    sentence_ends: str = ""
    """Marks that end a sentence, besides those that do in every language."""
    ordinal_dots: bool = False
    """Whether a full stop after a number makes it an ordinal."""
    titles: frozenset[str] = frozenset()
    """Abbreviations before a name: their full stop ends no sentence."""
    abbreviations: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    """Abbreviations before a number."""
    openers: frozenset[str] = frozenset()
    """Words that begin sentences; the stop words if there are none."""
    stop_words: frozenset[str] = frozenset()
    """Words that are never content."""
    content_forms: frozenset[str] = frozenset()
    """Forms that are content although their lemma is a stop word."""
    bare_stop_words: bool = False
    """Whether stop words are often written without their accents."""
    connectors: tuple[tuple[str, ...], ...] = ()
    """Lemmas that may be inside a multi-word term. Their position is stored: append only."""
    lemmas: Mapping[str, str] = field(default_factory=dict)
    """Lemmas of forms that the dictionary lacks or gets wrong."""
    sample: str = ""
    """Some sentences in the language, for tests of the pack; nothing that is read depends on it."""

    @property
    def extra(self) -> str:
        """The extra that installs what the lemmatiser needs, or an empty text."""
        return {"jieba": "zh", "sudachi": "ja", "kiwi": "ko", "icu": "icu"}.get(self.lemmatiser, "")


def parse_pack(code: str, text: str) -> LanguagePack:
    """Return the pack of a TOML text; lists of words are texts, in which `#` begins a comment.

    >>> parse_pack("xx", 'name = "Example"\\nstop_words = "of # a small word"').stop_words
    frozenset({'of'})
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"language pack {code!r} is not valid TOML: {error}") from None
    hints = get_type_hints(LanguagePack)
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in hints or name == "code":
            known = sorted(set(hints) - {"code"})
            raise ConfigurationError(
                f"language pack {code!r} has no field {name!r}{did_you_mean(name, known)}"
            )
        values[name] = _value(code, name, value, hints[name])
    pack = LanguagePack(code, **values)
    overlap = sorted(pack.stop_words & pack.content_forms)
    if overlap:
        raise ConfigurationError(
            f"language pack {code!r}: {overlap[0]!r} is a stop word and a content form"
        )
    return pack


def _value(code: str, name: str, value: object, hint: Any) -> Any:
    """Return a value of a pack as its field has it."""
    kind = get_origin(hint) or hint
    expected: type | tuple[type, ...] = str
    if kind is Mapping:
        expected = (dict, str)
    elif kind is bool:
        expected = bool
    if not isinstance(value, expected):
        raise ConfigurationError(
            f"language pack {code!r}: {name} should be {_in_words(kind)}, not {value!r:.60}"
        )
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigurationError(
            f"language pack {code!r}: {name}={value!r} should be one of {', '.join(_CHOICES[name])}"
        )
    if kind is frozenset:
        return frozenset(_words(str(value)))
    if kind is tuple:
        lines = _lines(str(value))
        pairs = get_args(hint)[0] is not str
        return tuple(tuple(line.split()) for line in lines) if pairs else tuple(_words(str(value)))
    if kind is Mapping:
        return dict(value) if isinstance(value, dict) else _pairs(code, name, str(value))
    return value


def _in_words(kind: object) -> str:
    if kind is bool:
        return "true or false"
    return "a table or lines of two columns" if kind is Mapping else "a text"


def _lines(text: str) -> list[str]:
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line]


def _words(text: str) -> list[str]:
    return [word for line in _lines(text) for word in line.split()]


def _pairs(code: str, name: str, text: str) -> dict[str, str]:
    result: dict[str, str] = {}
    for line in _lines(text):
        form, tab, lemma = line.partition("\t")
        if not tab or not lemma.strip():
            raise ConfigurationError(
                f"language pack {code!r}: {name} has a line {line!r:.60} without a tab and a lemma"
            )
        result[form.strip()] = lemma.strip()
    return result


_added: dict[str, Callable[[], LanguagePack]] = {}
"""Packs of plugins that this process has loaded."""


def add_pack(code: str, factory: Callable[[], LanguagePack]) -> None:
    """Make the pack of a plugin known to this process; built-in packs are not replaced."""
    if code not in BUILT_IN and _added.get(code) is not factory:
        _added[code] = factory
        pack_of.cache_clear()


def has_pack(code: str) -> bool:
    """Return whether there is a pack for a language.

    >>> has_pack("de"), has_pack("xx")
    (True, False)
    """
    return code in BUILT_IN or code in _added


@lru_cache(maxsize=256)
def pack_of(code: str) -> LanguagePack:
    """Return the pack of a language; without one, a pack that knows nothing.

    >>> pack_of("de").name, pack_of("xx").lemmatiser
    ('German', 'none')
    """
    if code in BUILT_IN:
        text = (files("segapsith.languages") / f"{code}.toml").read_text(encoding="utf-8")
        return parse_pack(code, text)
    if code in _added:
        return _added[code]()
    return LanguagePack(code, lemmatiser="icu" if code in _WITHOUT_SPACES else "none")


_WITHOUT_SPACES = frozenset(["th", "lo", "km", "my", "bo", "dz", "yue", "wuu"])
"""Languages without a pack whose script has no spaces between words."""

FIELDS = tuple(item.name for item in fields(LanguagePack))
"""Names of the fields of a pack."""
