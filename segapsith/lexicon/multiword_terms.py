"""Candidates for multi-word terms, counted over the stream: prime minister, juge d'instruction.

A candidate is two content words that follow each other, or are joined by a connector (*of*, French
*de*, *à*, *en*), or three content words in a row. `segapsith.lexicon.term_acceptance` decides which
of them become terms. An accepted term remains; texts that were read before it keep their words.

A candidate is a number made from the numbers of its words, so counts are arrays of integers that add
up in any order and can be subtracted exactly. The candidates of a text follow from its content words
and one byte per word (`links`) that describes how the next word follows. That byte is stored with the
words, so a story can be forgotten without reading its text again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.languages import pack_of
from segapsith.model import Annotation
from segapsith.tokens import UPPER, Tokens

__all__ = [
    "NEXT",
    "Candidates",
    "KeyParts",
    "TermCounts",
    "candidates",
    "connectors_of",
    "given_terms",
    "is_multiword",
    "lexicon_terms",
    "links",
    "pair_keys",
    "parts_of",
    "sequences",
]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]

# --- how content words follow each other -------------------------------------------------

APART = 0
"""A content word and the next one are not joined."""

NEXT = 1
"""The next content word follows directly."""


def connectors_of(lang: str) -> tuple[tuple[str, ...], ...]:
    """Return the lemmas that may be inside a term. The position is the stored code."""
    return pack_of(lang).connectors


_FIRST_CODE = 2
NAMED = 128
"""Added to a link if both words are written like names."""

_CODE_MASK = NAMED - 1


def links(tokens: Tokens, places: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return one byte per content word: how the next one follows it. `APART` after the last word.

    `places` are the tokens that count as content words, in text order; the texts are in one
    language. Words are joined by a space or a hyphen within one sentence. Words in capitals are not
    joined, because headlines omit the small words that would separate them. Terms are not joined
    either.
    """
    result = np.zeros(len(places), np.uint8)
    if len(places) < 2:
        return result
    lang = tokens.documents[0].lang or ""
    sentence = np.searchsorted(tokens.sentence_starts, tokens.spans[places, 0], "right")
    text = tokens.text_of[places]
    connectors = connectors_of(lang)
    near = np.diff(places) <= 1 + max(map(len, connectors), default=0)
    near &= (sentence[1:] == sentence[:-1]) & (text[1:] == text[:-1])
    near &= ~(tokens.is_upper[places[:-1]] & tokens.is_upper[places[1:]])
    is_term = tokens.flags(is_multiword)
    near &= ~(is_term[tokens.numbers[places[:-1]]] | is_term[tokens.numbers[places[1:]]])
    at = np.flatnonzero(near)
    first, last = places[at], places[at + 1]
    apart = np.append(0, np.cumsum(~tokens.is_joined))
    joined = apart[last] == apart[first]
    at, first, last = at[joined], first[joined], last[joined]
    codes = _codes(tokens, first, last, connectors)
    if lang == "fr":
        codes[_begin_with_verbs(tokens, first)] = APART
    if pack_of(lang).capitals == "names":
        capital = tokens.kinds[tokens.spans[:, 0]] & UPPER != 0
        codes[(codes != APART) & capital[first] & capital[last]] |= NAMED
    result[at] = codes
    return result


def is_multiword(lemma: str) -> bool:
    """Return whether a lemma is a multi-word term."""
    return " " in lemma


def _codes(
    tokens: Tokens,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    connectors: Sequence[tuple[str, ...]],
) -> NDArray[np.uint8]:
    """Return how two words are joined: directly, or by one of the connectors."""
    between = last - first - 1
    codes = np.where(between == 0, NEXT, APART).astype(np.uint8)
    for code, words in enumerate(connectors, _FIRST_CODE):
        if all(word in tokens.place_of for word in words):
            fits = np.flatnonzero(between == len(words))
            for distance, word in enumerate(words, 1):
                fits = fits[tokens.numbers[first[fits] + distance] == tokens.place_of[word]]
            codes[fits] = code
    return codes


def _begin_with_verbs(tokens: Tokens, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where a French candidate begins with a form of a verb."""
    ending = tokens.flags(_may_be_verb)
    possible = np.flatnonzero(ending[tokens.numbers[first]])
    forms = tokens.spans[first[possible]].tolist()
    lemmas = tokens.numbers[first[possible]].tolist()
    verbs = [
        _is_conjugated(tokens.text[start:end], tokens.words[lemma])
        for (start, end), lemma in zip(forms, lemmas, strict=True)
    ]
    return possible[np.array(verbs, np.bool_)]


_VERB_ENDINGS = ("er", "ir", "re")


def _may_be_verb(lemma: str) -> bool:
    return lemma.endswith(_VERB_ENDINGS)


def _is_conjugated(form: str, lemma: str) -> bool:
    """Return whether a French form is one of a verb, which does not begin a term.

    >>> _is_conjugated("placé", "placer"), _is_conjugated("conseillers", "conseiller")
    (True, False)
    """
    return lemma.endswith(_VERB_ENDINGS) and form.lower().removesuffix("s") not in (
        lemma,
        lemma.removesuffix("s"),
    )


# --- candidates as numbers ---------------------------------------------------------------

_PAIR_BITS, _CODE_BITS = 28, 7
_TRIPLE_BITS = 21
"""A pair is word, word, code in 28 + 28 + 7 bits; a triple is three words in 21 bits each, negated.

Words whose numbers need more bits form no candidates; the words numbered last are rare."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of texts: ascending keys, and their occurrences, texts, and names."""

    keys: Keys
    counts: Counts
    texts: Counts
    """How many of the texts have each candidate."""
    named: Counts
    """How often each candidate occurs as a name."""

    @classmethod
    def of(cls, *texts: tuple[NDArray[np.int32], NDArray[np.uint8]]) -> Candidates:
        """Return the candidates of texts, each with its content words and their `links`."""
        words = [np.asarray(words, np.int64) for words, _ in texts]
        ends = np.cumsum([len(part) for part in words]).astype(np.int64)
        joins = [np.asarray(joins, np.uint8) for _, joins in texts]
        none = np.zeros(0, np.int64)
        keys, names, within = _occurring(
            np.concatenate([none, *words]),
            np.concatenate([none.astype(np.uint8), *joins]),
            ends,
        )
        if not len(keys):
            return cls(keys, none, none, none)
        order = np.argsort(keys, kind="stable")  # the texts of a candidate stay in order
        keys, within = keys[order], within[order]
        is_other = np.append(True, keys[1:] != keys[:-1])
        firsts = np.flatnonzero(is_other)
        is_other[1:] |= within[1:] != within[:-1]
        return cls(
            keys[firsts],
            np.diff(firsts, append=len(keys)),
            np.add.reduceat(is_other, firsts, dtype=np.int64),
            np.add.reduceat(names[order], firsts, dtype=np.int64),
        )


@kernel
def _occurring(
    words: Keys, links: NDArray[np.uint8], ends: Counts
) -> tuple[Keys, NDArray[np.bool_], NDArray[np.int32]]:
    """Return the key of each occurrence of a candidate, whether it is a name, and its text."""
    n = len(words)
    occurring = np.empty(2 * n, np.int64)
    names = np.empty(2 * n, np.bool_)
    within = np.empty(2 * n, np.int32)
    size, first = 0, 0
    for text in range(len(ends)):
        last = ends[text]
        for i in range(first, last - 1):
            code = np.int64(links[i] & _CODE_MASK)
            one, two = words[i], words[i + 1]
            if code == APART or one == two or max(one, two) >= 1 << _PAIR_BITS:
                continue
            occurring[size] = one << (_PAIR_BITS + _CODE_BITS) | two << _CODE_BITS | code
            names[size] = links[i] >= NAMED
            within[size] = text
            size += 1
            if i + 2 < last and code == NEXT and links[i + 1] & _CODE_MASK == NEXT:
                three = words[i + 2]
                if max(max(one, two), three) < 1 << _TRIPLE_BITS and two != three:
                    occurring[size] = ~(one << 2 * _TRIPLE_BITS | two << _TRIPLE_BITS | three)
                    names[size] = links[i] >= NAMED and links[i + 1] >= NAMED
                    within[size] = text
                    size += 1
        first = last
    return occurring[:size], names[:size], within[:size]


class KeyParts(NamedTuple):
    """The parts of each key."""

    first: Keys
    second: Keys
    third: Keys
    """The third word of a triple, the code of a pair."""
    is_triple: NDArray[np.bool_]

    @property
    def last(self) -> Keys:
        """The last word."""
        return np.where(self.is_triple, self.third, self.second)


def parts_of(keys: Keys) -> KeyParts:
    """Return the words and codes of each key."""
    is_triple = keys < 0
    bits = np.where(is_triple, ~keys, keys)
    first = np.where(is_triple, bits >> 2 * _TRIPLE_BITS, bits >> (_PAIR_BITS + _CODE_BITS))
    second = np.where(
        is_triple,
        bits >> _TRIPLE_BITS & (1 << _TRIPLE_BITS) - 1,
        bits >> _CODE_BITS & (1 << _PAIR_BITS) - 1,
    )
    third = np.where(is_triple, bits & (1 << _TRIPLE_BITS) - 1, bits & (1 << _CODE_BITS) - 1)
    return KeyParts(first, second, third, is_triple)


def pair_keys(first: Keys, second: Keys) -> Keys:
    """Return the keys of pairs of words that follow each other directly."""
    return first << (_PAIR_BITS + _CODE_BITS) | second << _CODE_BITS | NEXT


def sequences(
    keys: Keys, lang: str, words: Sequence[str] | Mapping[int, str]
) -> list[tuple[str, ...]]:
    """Return the lemmas of each candidate; `words` maps a number to its lemma."""
    connectors = connectors_of(lang)
    result: list[tuple[str, ...]] = []
    for first, second, third, is_triple in zip(*(a.tolist() for a in parts_of(keys)), strict=True):
        if is_triple:
            result.append((words[first], words[second], words[third]))
        else:
            inner = () if third == NEXT else connectors[third - _FIRST_CODE]
            result.append((words[first], *inner, words[second]))
    return result


def candidates(annotation: Annotation) -> list[tuple[str, ...]]:
    """Return the candidates of a text as lemmas, each as often as it occurs, sorted."""
    places = np.flatnonzero(annotation.content)
    names = [annotation.lemmas[place] for place in places.tolist()]
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    words = np.array([numbers[name] for name in names], np.int32)
    counted = Candidates.of((words, links(Tokens([annotation]), places)))
    terms = sequences(counted.keys, annotation.document.lang or "", list(numbers))
    return sorted(
        term
        for term, count in zip(terms, counted.counts.tolist(), strict=True)
        for _ in range(count)
    )


# --- counts over the stream --------------------------------------------------------------

_MIN_PENDING = 1 << 18
"""Candidates that wait, at least, before they are merged."""


class TermCounts:
    """Running sums over the stories: occurrences, stories and names of each candidate.

    Adding and removing are sums of integers, so the order does not matter and removing is exact.
    Added texts wait and are merged together.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, np.int64)
        self._sums: Counts = np.zeros((3, 0), np.int64)
        self._waiting: list[tuple[Keys, Counts]] = []
        self._n_waiting = 0

    def add(self, texts: Candidates, sign: int = 1) -> None:
        """Add the counts of texts, or subtract them with `sign=-1`."""
        self._waiting.append(
            (texts.keys, np.stack([texts.counts, texts.texts, texts.named]) * sign)
        )
        self._n_waiting += len(texts.keys)
        if self._n_waiting > max(_MIN_PENDING, len(self._keys) // 4):
            self._merge()

    def remove(self, texts: Candidates) -> None:
        """Subtract the counts of texts."""
        self.add(texts, -1)

    def __len__(self) -> int:
        self._merge()
        return len(self._keys)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return ascending keys and their sums; equal stories give equal arrays.

        Merging makes new arrays, so these never change later.
        """
        self._merge()
        occurrences, documents, named = self._sums
        return {
            "keys": self._keys,
            "occurrences": occurrences,
            "documents": documents,
            "named": named,
        }

    @classmethod
    def restore(cls, *runs: Mapping[str, NDArray[np.int64]]) -> TermCounts:
        """Return the counts of the result of `arrays`, or the sum of several."""
        counts = cls()
        for arrays in runs:
            sums = [
                np.array(arrays[name], np.int64) for name in ("occurrences", "documents", "named")
            ]
            counts._waiting.append((np.array(arrays["keys"], np.int64), np.stack(sums)))
        counts._merge()
        return counts

    def _merge(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        sums = np.concatenate([self._sums, *(sums for _, sums in self._waiting)], axis=1)
        self._waiting, self._n_waiting = [], 0
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
        # One row of sums after the other: a long text has millions of candidates.
        totals = np.empty((3, len(firsts)), np.int64)
        for total, row in zip(totals, sums, strict=True):
            if len(keys):
                np.add.reduceat(row[order], firsts, out=total)
        present = (totals != 0).any(axis=0)  # one of the sums may be 0 alone
        if present.all():
            self._keys, self._sums = keys[firsts], totals
        else:
            self._keys, self._sums = keys[firsts][present], totals[:, present]


# --- terms for the annotator ---------------------------------------------------------------


def lexicon_terms(
    accepted: Mapping[str, Iterable[tuple[str, ...]]],
    given: Mapping[str, Iterable[tuple[str, ...]]] | None = None,
) -> dict[str, frozenset[tuple[str, ...]]]:
    """Return accepted terms and those of the user by language, as `Lexicon.terms`.

    >>> lexicon_terms({"en": [("prime", "minister")]}, {"fr": [("garde", "à", "vue")]})
    {'en': frozenset({('prime', 'minister')}), 'fr': frozenset({('garde', 'à', 'vue')})}
    """
    given = given or {}
    langs = sorted({*accepted, *given})
    return {lang: frozenset([*accepted.get(lang, ()), *given.get(lang, ())]) for lang in langs}


def given_terms(phrases: Iterable[Annotation]) -> dict[str, set[tuple[str, ...]]]:
    """Return the terms of a user's list by language; each term is one annotated phrase."""
    result: dict[str, set[tuple[str, ...]]] = {}
    for phrase in phrases:
        if len(phrase.lemmas) > 1:
            result.setdefault(phrase.document.lang or "", set()).add(tuple(phrase.lemmas))
    return result
