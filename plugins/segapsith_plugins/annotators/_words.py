"""Shared by the annotators: word lists, lemmas by dictionary, multi-word terms.

Word lists and rules of a language are in its pack, `segapsith/languages/xx.toml`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.languages import ALIASES, LanguagePack, has_pack, pack_of
from segapsith.languages.dictionaries import CompactDictionaries, CompactDictionary
from segapsith.model import Annotation, Lexicon

__all__ = [
    "Lemmas",
    "Merge",
    "StopList",
    "Terms",
    "breaks",
    "checked_language",
    "exceptions",
    "full_forms",
    "is_content",
    "joined_lemma",
    "joins",
    "language",
    "merged",
    "normal",
    "normaliser",
    "partition",
    "rules_version",
    "stop_list",
    "term_lemma",
    "with_terms",
    "word_set",
]


def language(code: str | None, default: str) -> str:
    """Return the code of the language of a document, or the default if it declares none.

    >>> language("fr-CA", "en"), language(None, "en"), language("ger", "fr"), language("xx", "fr")
    ('fr', 'en', 'de', 'xx')
    """
    if not code:
        return default
    base = code.lower().replace("_", "-").split("-")[0]
    return ALIASES.get(base, base)


def checked_language(lang: str) -> str:
    """Return the language, or raise a `ValueError` if it has no pack."""
    if not has_pack(lang):
        raise ValueError(f"lang={lang!r} has no language pack; list them: segapsith languages")
    return lang


def word_set(words: str) -> frozenset[str]:
    """Return the words of a line that are separated by blanks."""
    return frozenset(words.split())


# --- forms -------------------------------------------------------------------------------

_SAME = str.maketrans(
    {
        "\u00ad": None,  # soft hyphen
        "\u200b": None,
        "\u200c": None,
        "\u200d": None,
        "\u2060": None,
        "\ufeff": None,
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "´": "'",
        "`": "'",
        "‐": "-",
        "‑": "-",
    }
)


def normal(form: str) -> str:
    """Return a form as in a dictionary: lower case, composed, plain apostrophes and hyphens.

    >>> normal("L’OEIL"), normal("gouver\\u00adnement"), normal("ﬁnance")
    ("l'oeil", 'gouvernement', 'finance')
    """
    lower = form.lower()
    if form.isascii():
        return lower.replace("`", "'") if "`" in lower else lower
    if form.isalpha() and "ʼ" not in form and unicodedata.is_normalized("NFKC", lower):
        return lower  # the usual case of a word with an accent
    return unicodedata.normalize("NFKC", form.translate(_SAME).lower()).translate(_SAME)


def normaliser(pack: LanguagePack) -> Callable[[str], str]:
    """Return `normal` for the rules of a language: its case, joiners and spelling.

    >>> normaliser(pack_of("tr"))("IŞIK İl"), normaliser(pack_of("ro"))("Ţară")
    ('ışık il', 'țară')
    """
    if pack.case != "turkic" and not pack.joiners and not pack.spelling:
        return normal
    before = str.maketrans({"İ": "i", "I": "ı"} if pack.case == "turkic" else {})
    signs = {key: value for key, value in _SAME.items() if not (pack.joiners and key in _JOINERS)}
    spelling = str.maketrans(dict(pack.spelling))

    def special(form: str) -> str:
        lower = form.translate(before).translate(signs).lower()
        composed = unicodedata.normalize("NFKC", lower)
        return composed.translate(signs).translate(spelling).strip("\u200c\u200d")

    return special


_JOINERS = (0x200C, 0x200D)


def bare(word: str) -> str:
    """Return a word without its accents.

    >>> bare("și"), bare("από")
    ('si', 'απο')
    """
    letters = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(c for c in letters if not unicodedata.combining(c)))


def with_one_accent(form: str) -> str:
    """Return a Greek form without the accent that a small word after it adds to its end.

    >>> with_one_accent("σύντροφός"), with_one_accent("σύζυγος")
    ('σύντροφος', 'σύζυγος')
    """
    places = [place for place, letter in enumerate(form) if letter in "άέήίόύώ"]
    if len(places) < 2:
        return form
    last = places[-1]
    return form[:last] + form[last].translate(_PLAIN_VOWELS) + form[last + 1 :]


_PLAIN_VOWELS = str.maketrans("άέήίόύώ", "αεηιουω")


# --- word lists --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StopList:
    """Words that are never content, and forms that are although their lemma is a stop word."""

    words: frozenset[str]
    exempt: frozenset[str]

    def stops(self, form: str, lemma: str) -> bool:
        """Return whether the form, or the lemma of a form that is not exempt, is a stop word.

        >>> stop_list("en").stops("said", "say"), stop_list("en").stops("wells", "well")
        (True, False)
        """
        return form in self.words or (lemma in self.words and form not in self.exempt)


@lru_cache(maxsize=64)
def stop_list(lang: str) -> StopList:
    """Return the stop words of a language."""
    pack = pack_of(lang)
    words = set(pack.stop_words)
    if pack.bare_stop_words:
        words.update(map(bare, pack.stop_words))
    if pack.lemma_spelling:
        table = str.maketrans(dict(pack.lemma_spelling))
        words.update([word.translate(table) for word in words])
    return StopList(frozenset(words), pack.content_forms)


def exceptions(lang: str) -> Mapping[str, str]:
    """Return the lemmas that the pack of a language has itself."""
    return pack_of(lang).lemmas


def is_content(form: str) -> bool:
    """Return whether the letters of a form allow it to be content: two letters, no leading digit.

    >>> [is_content(form) for form in ("g20", "x", "60", "tax", "covid-19", "4th")]
    [False, False, False, True, True, False]
    """
    if form[:1].isdigit():
        return False
    n_letters = sum(map(str.isalpha, form))
    if n_letters == 1 and not form.isascii():  # की has one letter and a vowel sign
        n_letters += sum(c > "\u036f" and unicodedata.category(c)[0] == "M" for c in form)
    return n_letters >= 2


class Lemmas:
    """Lemmas: the exceptions of this package first, then simplemma's dictionary and rules.

    >>> lemmas = Lemmas("en")
    >>> lemmas.of("taxes"), lemmas.of("gone"), lemmas.knows("vice-president")
    ('tax', 'go', True)
    """

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._pack = pack_of(lang)
        self._exceptions = exceptions(lang)
        self._normal = normaliser(self._pack)
        self._spelling = str.maketrans(dict(self._pack.lemma_spelling))
        self._dictionary_of: CompactDictionary | None = None
        self._entry: Callable[[str], str | None] = _no_entry
        self._simplemma: Callable[..., str] = _as_written_here
        self._is_known: Callable[..., bool] = _not_known
        if self._pack.lemmatiser == "dictionary":
            self._simplemma, self._is_known = _by_rules, _known_by_rules
            self._dictionary_of = CompactDictionaries.get_dictionary(lang)
            self._entry = self._dictionary_of.get
        corrections = {"fr": self._french, "en": self._dictionary}
        self._corrected = corrections.get(lang, self._general)

    def prepare(self, forms: Iterable[str]) -> None:
        """Look up many lower-case forms at once, so that `of` answers faster for them.

        Forms that were prepared before are forgotten.
        """
        if self._dictionary_of is not None:
            self._dictionary_of.prepare(forms, with_capital=self._pack.capitals == "nouns")

    def knows(self, form: str) -> bool:
        """Return whether a lower-case form is in the dictionary."""
        return form in self._exceptions or self._has(form)

    def excepts(self, form: str) -> bool:
        """Return whether this package has its own lemma for a lower-case form."""
        return form in self._exceptions

    def of(self, form: str) -> str:
        """Return the lemma of a lower-case form, in lower case."""
        exception = self._exceptions.get(form)
        return self._corrected(form) if exception is None else exception

    def _dictionary(self, form: str) -> str:
        # The first step of simplemma for a word of letters, without its overhead. It treats other
        # forms differently, and has rules for words that are not in the dictionary.
        if form.isalpha() and (entry := self._entry(form) or self._entry(form.capitalize())):
            return entry.lower()
        return self._simplemma(form, lang=self.lang).lower() or form

    def _general(self, form: str) -> str:
        """Return the lemma by the dictionary, other spellings of the form, or its stem."""
        lemma = self._found(form)
        if lemma is None:
            lemma = self._without_proclitics(form)
        if lemma is None and form.isalpha() and len(form) <= _MAX_RULE_CHARS:
            lemma = self._normal(self._simplemma(form, lang=self.lang))
        lemma = lemma or form
        return (lemma.translate(self._spelling) or form) if self._spelling else lemma

    def _found(self, form: str) -> str | None:
        """Return the lemma that the dictionary has for a form or for its other spelling."""
        entry = self._entry(form) or self._entry(form.capitalize())
        if entry:
            return self._normal(entry)
        for letters, others in self._pack.respelled.items():
            if entry is None and letters in form:
                other = form.replace(letters, others)
                entry = self._entry(other) or self._entry(other.capitalize())
        if entry is None and self._pack.script == "Greek":
            single = with_one_accent(form)
            entry = self._entry(single) if single != form else None
        return self._normal(entry) if entry else None

    def _without_proclitics(self, form: str) -> str | None:
        """Return the lemma of a form after the small words that are written together with it."""
        for small in self._pack.proclitics:
            rest = form[len(small) :]
            if form.startswith(small) and len(rest) >= _MIN_STEM_CHARS:
                if rest in self._pack.stop_words:
                    return rest
                if (lemma := self._found(rest)) is not None:
                    return lemma
        for small in self._pack.articles:
            if form.startswith(small) and len(form) > len(small) + _MIN_STEM_CHARS:
                return form[len(small) :]
        return None

    def _has(self, form: str) -> bool:
        if self.lang not in _OWN_RULES:
            return self._found(form) is not None
        if form.isalpha():
            return (self._entry(form) or self._entry(form.capitalize())) is not None
        return self._is_known(form, lang=self.lang)

    def _french(self, form: str) -> str:
        """Return the lemma, with two readings that fit newswire better than the dictionary.

        The second person singular does not occur there, so -es is a plural: taxes → taxe, not
        taxer. The lemma of a participle is its verb, even if it is also an adjective: fermés →
        fermer, répartis → répartir, soumise → soumettre and not soumis. Participles that are nouns
        (député, marché, parti, prise) are exceptions.
        """
        lemma = self._dictionary(form)
        if lemma.endswith(("is", "iser")):
            masculine = lemma.removesuffix("er")
            verb = self._dictionary(masculine) if form.startswith(f"{masculine}e") else lemma
            if verb.endswith("re") and form.removesuffix("s") not in self._exceptions:
                return verb
        if form.endswith("es") and lemma == f"{form[:-1]}r":
            singular = self.of(form[:-1])
            lemma = form[:-1] if singular == lemma else singular
        noun = lemma.removesuffix("e") if lemma.endswith("ée") else lemma  # députée, of député
        for word in (lemma, noun):
            if word in self._exceptions:
                return self._exceptions[word]
        if lemma.endswith(("é", "ée", "i")) and len(lemma) > 3:
            verb = f"{lemma}r" if lemma[-1] == "i" else f"{lemma.removesuffix('e')[:-1]}er"
            if self._is_verb(verb):
                return verb
        return lemma

    def named(self, form: str) -> str:
        """Return the lemma of a form that is written with a capital.

        A French sentence rarely begins with *martine*, *gaza* or *osez* as forms of a verb: with a
        capital they are names, and a noun like Marche is the noun.

        Where all nouns have capitals, the dictionary is asked for the noun first: *Spielen* are
        games, *spielen* is to play.

        >>> lemmas = Lemmas("fr")
        >>> lemmas.named("gaza"), lemmas.named("martinez"), lemmas.named("ministres")
        ('gaza', 'martinez', 'ministre')
        """
        if self._pack.capitals == "nouns" and form not in self._exceptions:
            noun = self._entry(form.capitalize())
            if noun is not None and noun[:1].isupper():
                lemma = self._normal(noun)
                return lemma.translate(self._spelling) if self._spelling else lemma
        lemma = self.of(form)
        if self.lang == "fr" and form not in self._exceptions and lemma.endswith("er"):
            stem = lemma[:-2]
            if form.startswith(stem) and form[len(stem) :] in _FINITE:
                return form
        return lemma

    def _is_verb(self, lemma: str) -> bool:
        """Return whether the dictionary has the word as the lemma of a verb.

        Bergé belongs to no verb, although *berger* is a word.
        """
        if not self._has(lemma) or self._dictionary(lemma) != lemma:
            return False
        stem = lemma[:-2]
        soft = {"g": f"{stem}e", "c": f"{stem[:-1]}ç"}.get(stem[-1:], stem)
        return any(
            self._dictionary(form) == lemma
            for form in (f"{soft}ait", f"{soft}ant", f"{stem}issait", f"{stem}issant")
            if self._has(form)
        )


_OWN_RULES = ("en", "fr")
"""Languages with rules of their own here, and a test of simplemma for forms that are no letters."""

_MAX_RULE_CHARS = 30
"""Characters of a form to which simplemma's rules are applied."""

_MIN_STEM_CHARS = 2
"""Least characters that remain of a form without its proclitics."""


@lru_cache(maxsize=1)
def _simplemma() -> tuple[Callable[..., str], Callable[..., bool]]:
    """Return simplemma's lemmas and its test of a form, with dictionaries that are loaded once.

    simplemma itself stores a dictionary as a table of 20 to 400 MB, would drop the ninth language,
    and load it again.
    """
    import simplemma  # takes 0.05 s, so only for a word that is not in the dictionary
    from simplemma.strategies import DefaultStrategy, DictionaryLookupStrategy

    strategy = DefaultStrategy(dictionary_factory=CompactDictionaries())
    look_up = DictionaryLookupStrategy(CompactDictionaries()).get_lemma
    # Forms are cached by the reader, so simplemma need not.
    reader = simplemma.Lemmatizer(cache_max_size=0, lemmatization_strategy=strategy)

    def is_known(form: str, lang: str) -> bool:
        return look_up(unicodedata.normalize("NFC", form), lang) is not None

    return reader.lemmatize, is_known


def _by_rules(form: str, lang: str) -> str:
    return _simplemma()[0](form, lang=lang)


def _known_by_rules(form: str, lang: str) -> bool:
    return _simplemma()[1](form, lang=lang)


def _no_entry(form: str) -> str | None:
    return None


def _as_written_here(form: str, lang: str) -> str:
    return form


def _not_known(form: str, lang: str) -> bool:
    return False


_FINITE = frozenset({"a", "ai", "as", "e", "era", "ez"})
"""Endings of verbs in -er that names also have."""


# --- multi-word terms --------------------------------------------------------------------

_FULL = {
    "d": "de",
    "d'": "de",
    "l": "le",
    "l'": "le",
    "la": "le",
    "les": "le",
    "qu": "que",
    "qu'": "que",
    "s": "se",
    "s'": "se",
    "n": "ne",
    "n'": "ne",
}
"""French function words as they are stored in a term, for each way to write them."""


def full_forms(lang: str) -> Mapping[str, str]:
    """Return the function words of a language that have several forms, with the one in terms."""
    return _FULL if lang == "fr" else {}


@dataclass(frozen=True, slots=True)
class Merge:
    """Tokens `first` … `last` (exclusive) that form one term, and the term's lemma."""

    first: int
    last: int
    lemma: str


class Terms:
    """The accepted terms of one language, to be searched in a sequence of lemmas.

    A term is a sequence of lemmas. In French an elided word may be written with its apostrophe
    (`d'`), bare (`d`) or in full (`de`): all three match the same text, and the joined lemma is
    written as in the text.

    >>> terms = Terms({("juge", "d", "instruction")}, "fr")
    >>> [merge.lemma for merge in terms.find(["un", "juge", "d'", "instruction"])]
    ["juge d'instruction"]
    """

    def __init__(self, terms: Iterable[Sequence[str]], lang: str) -> None:
        full = full_forms(lang)
        self._lang = lang
        self._full = full
        self._terms = {
            tuple(full.get(word, word) for word in term) for term in terms if len(term) > 1
        }
        self._firsts: dict[str, set[int]] = {}
        for term in self._terms:
            self._firsts.setdefault(term[0], set()).add(len(term))
        self._lengths = {
            first: sorted(lengths, reverse=True) for first, lengths in self._firsts.items()
        }
        variants: dict[str, list[str]] = {}
        for short, word in full.items():
            variants.setdefault(word, []).append(short)
        firsts = {term[0] for term in self._terms}
        seconds = {term[1] for term in self._terms}
        self._may_open = firsts.union(*(variants.get(word, ()) for word in firsts))
        self._may_follow = seconds.union(*(variants.get(word, ()) for word in seconds))

    def __bool__(self) -> bool:
        return bool(self._terms)

    @classmethod
    def of(cls, lexicon: Lexicon, lang: str) -> Terms:
        """Return the terms of a lexicon for a language."""
        return cls(lexicon.terms.get(lang, ()), lang)

    def find(
        self, lemmas: Sequence[str], joined: NDArray[np.bool_] | None = None
    ) -> Iterator[Merge]:
        """Yield the terms in a text from left to right, the longest first, without overlaps.

        `joined[i]`: only a blank or a hyphen separates token i from the next.
        """
        n = len(lemmas)
        if n < 2:
            return
        opens = np.fromiter(map(self._may_open.__contains__, lemmas), np.bool_, n)
        follows = np.fromiter(map(self._may_follow.__contains__, lemmas), np.bool_, n)
        candidates = opens[:-1] & follows[1:]
        if joined is not None:
            candidates &= joined
        free = 0
        full = self._full
        for first in np.flatnonzero(candidates).tolist():
            if first < free:
                continue
            opening = full.get(lemmas[first], lemmas[first])
            for length in self._lengths.get(opening, ()):
                last = first + length
                if last > n or (joined is not None and not joined[first : last - 1].all()):
                    continue
                words = lemmas[first:last]
                if tuple(full.get(word, word) for word in words) in self._terms:
                    yield Merge(first, last, term_lemma(words, self._lang))
                    free = last
                    break


def term_lemma(words: Sequence[str], lang: str) -> str:
    """Return the lemma of a term whose words are these.

    >>> term_lemma(["garde", "des", "sceau"], "fr"), term_lemma(["prime", "minister"], "en")
    ('garde des sceaux', 'prime minister')
    """
    return joined_lemma(_as_written(words) if lang == "fr" else words)


def joined_lemma(lemmas: Sequence[str]) -> str:
    """Return the lemmas as one: with a blank between them, except after an elision.

    >>> joined_lemma(["prime", "minister"]), joined_lemma(["juge", "d'", "instruction"])
    ('prime minister', "juge d'instruction")
    """
    return "".join(word if word.endswith("'") else f"{word} " for word in lemmas).rstrip()


def _as_written(words: Sequence[str]) -> list[str]:
    """Return the lemmas of a French term as the term is written.

    The article after *de* and *à* is feminine, since the masculine one is contracted with them (du,
    au) and the elided one is its own lemma. After *des* and *aux* there is a plural.

    >>> _as_written(["ministre", "de", "le", "santé"]), _as_written(["garde", "des", "sceau"])
    (['ministre', 'de', 'la', 'santé'], ['garde', 'des', 'sceaux'])
    """
    result = list(words)
    for place, (before, word) in enumerate(itertools.pairwise(words), 1):
        if word == "le" and before in ("de", "à"):
            result[place] = "la"
        elif before in ("des", "aux"):
            result[place] = _plural(word)
    return result


_PLURALS = {"œil": "yeux", "oeil": "yeux", "travail": "travaux", "bail": "baux", "corail": "coraux"}
_REGULAR = frozenset(
    ["bal", "carnaval", "chacal", "festival", "récital", "régal", "bleu", "pneu", "landau"]
)


def _plural(noun: str) -> str:
    """Return the plural of a French noun.

    >>> [_plural(noun) for noun in ("femme", "hôpital", "enjeu", "prix", "travail", "festival")]
    ['femmes', 'hôpitaux', 'enjeux', 'prix', 'travaux', 'festivals']
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "z")):
        return noun
    if noun not in _REGULAR and noun.endswith(("au", "eu")):
        return f"{noun}x"
    if noun not in _REGULAR and noun.endswith("al"):
        return f"{noun[:-1]}ux"
    return f"{noun}s"


def merged(
    lemmas: list[str],
    spans: NDArray[np.int32],
    content: NDArray[np.bool_],
    merges: Sequence[Merge],
) -> tuple[list[str], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the tokens after merging.

    A term spans its words, and is content if one of them is.
    """
    if not merges:
        return lemmas, spans, content
    spans, content = spans.copy(), content.copy()
    keep = np.ones(len(lemmas), np.bool_)
    lemmas = list(lemmas)
    for merge in merges:
        lemmas[merge.first] = merge.lemma
        spans[merge.first, 1] = spans[merge.last - 1, 1]
        content[merge.first] = content[merge.first : merge.last].any()
        keep[merge.first + 1 : merge.last] = False
    return [lemmas[i] for i in np.flatnonzero(keep).tolist()], spans[keep], content[keep]


def with_terms(
    annotations: Sequence[Annotation], joined: Sequence[NDArray[np.bool_]], terms: Terms
) -> Iterator[Annotation]:
    """Yield annotations in one language with the terms in them merged.

    `joined` has a value per token: whether only a blank or a hyphen separates it from the next
    token. It is False for the last token of a text, so no term extends over two texts.
    """
    lemmas = list(itertools.chain.from_iterable(one.lemmas for one in annotations))
    merges = list(terms.find(lemmas, np.concatenate(joined)[:-1])) if terms and lemmas else []
    if not merges:
        yield from annotations
        return
    spans = np.concatenate([one.spans for one in annotations])
    content = np.concatenate([one.content for one in annotations])
    lemmas, spans, content = merged(lemmas, spans, content, merges)
    ends = np.cumsum([len(one.lemmas) for one in annotations])
    lost = np.append(0, np.cumsum([merge.last - merge.first - 1 for merge in merges]))
    ends -= lost[np.searchsorted([merge.first for merge in merges], ends)]
    first = 0
    for annotation, last in zip(annotations, ends.tolist(), strict=True):
        mine = slice(first, last)
        yield replace(annotation, lemmas=lemmas[mine], spans=spans[mine], content=content[mine])
        first = last


# --- versions ----------------------------------------------------------------------------

RULES = 2
"""Number of the rules for words; a change that gives a text other words needs the next one."""


@lru_cache(maxsize=64)
def rules_version(lang: str) -> str:
    """Return what decides the words of a language here: rules, language pack, dictionaries.

    >>> rules_version("en").startswith(f"rules {RULES}, pack ")
    True
    """
    pack = pack_of(lang)
    values = {f.name: getattr(pack, f.name) for f in fields(pack) if f.name != "sample"}
    plain = {n: sorted(v) if isinstance(v, frozenset) else v for n, v in values.items()}
    text = json.dumps(plain, sort_keys=True, default=dict)
    packages = ["simplemma", *_PACKAGES.get(pack.lemmatiser, ())]
    versions = [f"{package} {_version_of(package)}" for package in packages]
    parts = [f"rules {RULES}", f"pack {hashlib.sha256(text.encode()).hexdigest()[:12]}", *versions]
    return ", ".join([*parts, f"Unicode {unicodedata.unidata_version}"])


_PACKAGES = {
    "jieba": ("rjieba",),
    "sudachi": ("sudachipy", "sudachidict-core"),
    "kiwi": ("kiwipiepy", "kiwipiepy-model"),
    "icu": ("icu4py",),
}
"""Packages that find the words of a language, by lemmatiser."""


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


# --- spans -------------------------------------------------------------------------------

_BREAK = re.compile(r"\n[^\S\n]*+\n\s*+")
_PLAIN_GAPS = frozenset({"", "-", "‐", "‑"})


def breaks(text: str) -> Iterator[int]:
    """Yield where paragraphs begin after an empty line.

    >>> list(breaks("Flood\\n\\nThe river rose.\\n \\n\\nRain."))
    [7, 26]
    """
    for match in _BREAK.finditer(text):
        yield match.end()


def partition(bounds: NDArray[np.integer[Any]], length: int) -> NDArray[np.int32]:
    """Return spans that divide a text of this length at the bounds, which are inside and ascending.

    >>> partition(np.array([4]), 9).tolist(), partition(np.array([], int), 0).tolist()
    ([[0, 4], [4, 9]], [])
    """
    if not length:
        return np.zeros((0, 2), np.int32)
    spans = np.empty((len(bounds) + 1, 2), np.int32)
    spans[0, 0], spans[-1, 1] = 0, length
    spans[1:, 0] = spans[:-1, 1] = bounds
    return spans


def joins(text: str, spans: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether only a blank or a hyphen separates each token from the next.

    >>> joins("prime minister, said", np.array([[0, 5], [6, 14], [16, 20]])).tolist()
    [True, False]
    """
    gaps = (text[end:start] for end, start in zip(spans[:-1, 1], spans[1:, 0], strict=True))
    plain = (gap in _PLAIN_GAPS or (gap.isspace() and "\n\n" not in gap) for gap in gaps)
    return np.fromiter(plain, np.bool_, max(len(spans) - 1, 0))
