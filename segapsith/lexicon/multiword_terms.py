"""Multi-word terms, learned from the stream: prime minister, interest rate, juge d'instruction.

Two content words that stand together, or in French with de, à, en between them, are a candidate;
so are three content words in a row. Candidates are counted over the stories, and at a tick of the
learning clock those become terms that occur often enough, in enough stories, and together far more
often than their words would by chance. A term once accepted stays; texts read before it keep their
words.

A candidate is a number made from the numbers of its words, so counts are arrays of integers that
add up in any order and can be taken back exactly. What a text contributes follows from its content
words and one byte for each of them that says how the next one follows (`links`): with that byte
kept beside the words, a story can be forgotten without reading it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.model import Annotation

__all__ = [
    "CONNECTORS",
    "TERM",
    "Candidates",
    "Rules",
    "Term",
    "TermCounts",
    "accept",
    "candidates",
    "given_terms",
    "lexicon_terms",
    "links",
    "sequences",
]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]

# --- how content words follow each other -------------------------------------------------

APART = 0
"""Something else stands between a content word and the next one."""

NEXT = 1
"""The next content word follows at once."""

CONNECTORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "fr": (
        ("de",),
        ("d'",),
        ("du",),
        ("à",),
        ("en",),
        ("au",),
        ("de", "l'"),
        ("à", "l'"),
        ("aux",),
        ("de", "le"),
        ("à", "le"),
        ("des",),
    ),
    "en": (("of",),),
}
"""Lemmas that may stand inside a term; the place is the code, so new ones go to the end."""

_FIRST_CODE = 2
NAMED = 128
"""Added to a link if both words are written like names."""

_PLAIN = frozenset({"", "-", "‐", "‑"})


def links(annotation: Annotation, places: Sequence[int]) -> NDArray[np.uint8]:
    """How each content word is followed by the next: one byte a word, the last one `APART`.

    `places` are the tokens that count as content words, in text order. Words are joined by a
    blank or a hyphen within one sentence. Headlines in capitals join nothing: they leave out the
    small words that would have parted theirs. Terms that were found already join nothing either.
    """
    n = len(places)
    result = np.zeros(n, np.uint8)
    if n < 2:
        return result
    text, lemmas, spans = annotation.document.text, annotation.lemmas, annotation.spans
    at = np.asarray(places)
    sentence = np.searchsorted(annotation.sentences[:, 0], spans[at, 0], "right")
    near = (np.diff(at) <= _LONGEST_CONNECTOR + 1) & (sentence[1:] == sentence[:-1])
    lang = annotation.document.lang or ""
    codes, french = _CODES.get(lang, {}), lang == "fr"
    starts, ends = spans[:, 0].tolist(), spans[:, 1].tolist()
    for i in np.flatnonzero(near).tolist():
        first, last = places[i], places[i + 1]
        if last == first + 1:
            code = NEXT
            if not _plain(text[ends[first] : starts[last]]):
                continue
        else:
            code = codes.get(tuple(lemmas[first + 1 : last]), APART)
            if not code or not all(
                _plain(text[ends[k] : starts[k + 1]]) for k in range(first, last)
            ):
                continue
        one, two = text[starts[first] : ends[first]], text[starts[last] : ends[last]]
        if (one.isupper() and two.isupper()) or " " in lemmas[first] or " " in lemmas[last]:
            continue
        if french and _conjugated(one, lemmas[first]):
            continue
        result[i] = code + NAMED * (one[0].isupper() and two[0].isupper())
    return result


def _plain(gap: str) -> bool:
    """Whether nothing but a blank or a hyphen parts two words."""
    return gap == " " or gap in _PLAIN or (gap.isspace() and "\n\n" not in gap)


def _conjugated(form: str, lemma: str) -> bool:
    """Whether a French form is one of a verb: a verb opens no term.

    >>> _conjugated("placé", "placer"), _conjugated("conseillers", "conseiller")
    (True, False)
    """
    return lemma.endswith(("er", "ir", "re")) and form.lower().removesuffix("s") not in (
        lemma,
        lemma.removesuffix("s"),
    )


_CODES = {
    lang: {words: code for code, words in enumerate(connectors, _FIRST_CODE)}
    for lang, connectors in CONNECTORS.items()
}
_LONGEST_CONNECTOR = max(len(words) for group in CONNECTORS.values() for words in group)

# --- candidates as numbers ---------------------------------------------------------------

_PAIR_BITS, _CODE_BITS = 28, 7
_TRIPLE_BITS = 21
"""A pair is word, word, code in 28 + 28 + 7 bits; a triple three words in 21 bits each.

Words whose numbers need more bits make no candidates: by then they are the rarest."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one text: ascending keys, how often each occurs, how often as a name."""

    keys: Keys
    counts: Counts
    named: Counts

    @classmethod
    def of(cls, words: NDArray[np.int32], links: NDArray[np.uint8]) -> Candidates:
        """The candidates in a sequence of content words."""
        keys, counts, named = _counted(words.astype(np.int64), links)
        return cls(keys, counts, named)


@kernel
def _counted(words: Keys, links: NDArray[np.uint8]) -> tuple[Keys, Counts, Counts]:
    """Ascending keys of the candidates, how often each occurs and how often as a name."""
    n = len(words)
    found = np.empty(2 * n, np.int64)
    names = np.empty(2 * n, np.int64)
    size = 0
    for i in range(n - 1):
        code = np.int64(links[i] & 127)
        one, two = words[i], words[i + 1]
        if code == 0 or one == two or max(one, two) >= 1 << 28:
            continue
        found[size] = one << 35 | two << 7 | code
        names[size] = links[i] >= 128
        size += 1
        if i + 2 < n and code == 1 and links[i + 1] & 127 == 1:
            three = words[i + 2]
            if max(max(one, two), three) < 1 << 21 and two != three:
                found[size] = ~(one << 42 | two << 21 | three)
                names[size] = links[i] >= 128 and links[i + 1] >= 128
                size += 1
    order = np.argsort(found[:size])
    keys = np.empty(size, np.int64)
    counts = np.zeros(size, np.int64)
    named = np.zeros(size, np.int64)
    last = -1
    for place in order:
        if last < 0 or keys[last] != found[place]:
            last += 1
            keys[last] = found[place]
        counts[last] += 1
        named[last] += names[place]
    return keys[: last + 1], counts[: last + 1], named[: last + 1]


def _words_of(keys: Keys) -> tuple[Keys, Keys, Keys, NDArray[np.bool_]]:
    """First, second and third word (or code) of each key, and which are triples."""
    triple = keys < 0
    bits = np.where(triple, ~keys, keys)
    first = np.where(triple, bits >> 2 * _TRIPLE_BITS, bits >> (_PAIR_BITS + _CODE_BITS))
    second = np.where(
        triple,
        bits >> _TRIPLE_BITS & (1 << _TRIPLE_BITS) - 1,
        bits >> _CODE_BITS & (1 << _PAIR_BITS) - 1,
    )
    third = np.where(triple, bits & (1 << _TRIPLE_BITS) - 1, bits & (1 << _CODE_BITS) - 1)
    return first, second, third, triple


def sequences(
    keys: Keys, lang: str, words: Sequence[str] | Mapping[int, str]
) -> list[tuple[str, ...]]:
    """The lemmas that each candidate stands for; `words` gives the lemma of a number."""
    connectors = CONNECTORS.get(lang, ())
    result: list[tuple[str, ...]] = []
    for first, second, third, triple in zip(*(a.tolist() for a in _words_of(keys)), strict=True):
        if triple:
            result.append((words[first], words[second], words[third]))
        else:
            inner = () if third == NEXT else connectors[third - _FIRST_CODE]
            result.append((words[first], *inner, words[second]))
    return result


def candidates(annotation: Annotation) -> list[tuple[str, ...]]:
    """The candidate sequences of a text in readable form, each as often as it occurs, sorted."""
    places = np.flatnonzero(annotation.content).tolist()
    names = [annotation.lemmas[place] for place in places]
    numbers = {name: number for number, name in enumerate(sorted(set(names)))}
    found = Candidates.of(
        np.array([numbers[name] for name in names], np.int32), links(annotation, places)
    )
    lemmas = list(numbers)
    read = sequences(found.keys, annotation.document.lang or "", lemmas)
    return sorted(
        term for term, count in zip(read, found.counts.tolist(), strict=True) for _ in range(count)
    )


# --- counts over the stream --------------------------------------------------------------

_PENDING = 1 << 18


class TermCounts:
    """Running sums over the stories: of each candidate its occurrences, stories and names.

    Adding and removing are sums of integers: order does not matter, and what is taken back leaves
    nothing behind. Texts wait until they are many and are merged in at once.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros(0, np.int64)
        self._sums: Counts = np.zeros((3, 0), np.int64)
        self._waiting: list[tuple[Keys, Counts]] = []
        self._n_waiting = 0

    def add(self, found: Candidates, sign: int = 1) -> None:
        """Counts one text, or takes it away with `sign=-1`."""
        sums = np.stack([found.counts, np.ones_like(found.counts), found.named]) * sign
        self._waiting.append((found.keys, sums))
        self._n_waiting += len(found.keys)
        if self._n_waiting > max(_PENDING, len(self._keys) // 4):
            self._merge()

    def remove(self, found: Candidates) -> None:
        """Takes one text away."""
        self.add(found, -1)

    def __len__(self) -> int:
        self._merge()
        return len(self._keys)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Ascending keys, and the sums of each: equal for equal stories."""
        self._merge()
        occurrences, documents, named = self._sums
        return {
            "keys": self._keys.copy(),
            "occurrences": occurrences.copy(),
            "documents": documents.copy(),
            "named": named.copy(),
        }

    @classmethod
    def restore(cls, *runs: Mapping[str, NDArray[np.int64]]) -> TermCounts:
        """The counts that `arrays` gave, or the sum of several."""
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
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else order
        totals = np.add.reduceat(sums[:, order], firsts, axis=1) if len(keys) else sums
        present = (totals != 0).any(axis=0)  # a difference may cancel in one sum alone
        self._keys, self._sums = keys[firsts][present], totals[:, present]
        self._waiting, self._n_waiting = [], 0


# --- acceptance --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rules:
    """When a candidate becomes a term.

    `association` is normalised pointwise mutual information (Bouma 2009), ln(p₁₂ / p₁p₂) / -ln p₁₂,
    and `likelihood` the log-likelihood ratio (Dunning 1993), both at least. A candidate that is
    written like a name more than `names` of the time is one, and so is what holds one. A candidate
    of which the share `inside` goes on with one and the same word is a part of something longer.
    """

    occurrences: int = 12
    documents: int = 8
    association: float = 0.3
    likelihood: float = 30.0
    names: float = 0.95
    inside: float = 0.6
    most: int = 200
    """Terms that one tick accepts."""


TERM = Rules()
"""What makes a term."""


@dataclass(frozen=True, slots=True)
class Term:
    """An accepted term with what spoke for it."""

    words: tuple[str, ...]
    occurrences: int
    documents: int
    association: float
    likelihood: float


def _likelihood(both: Counts, one: Counts, two: Counts, total: int) -> NDArray[np.float64]:
    """Dunning's 2 Σ O ln(O / E) over the table of a pair."""
    table = [
        (both, one, two),
        (one - both, one, total - two),
        (two - both, total - one, two),
        (total - one - two + both, total - one, total - two),
    ]
    result = np.zeros(len(both))
    for observed, row, column in table:
        seen = np.maximum(observed, 0).astype(np.float64)
        expected = np.maximum(row.astype(np.float64) * column / total, 1e-9)
        result += np.where(seen > 0, seen * np.log(np.maximum(seen, 1e-9) / expected), 0.0)
    return 2.0 * result


def accept(
    counts: TermCounts,
    lang: str,
    frequencies: NDArray[np.int64],
    total: int,
    words: Sequence[str] | Mapping[int, str],
    already: Collection[tuple[str, ...]] = (),
    rules: Rules = TERM,
) -> list[Term]:
    """The candidates that become terms now, best first; `already` are the terms of before.

    `counts` are those of one language, `frequencies` the occurrences of each word by its number,
    `total` those of all words of the language.
    """
    arrays = counts.arrays()
    keys, occurrences, documents = arrays["keys"], arrays["occurrences"], arrays["documents"]
    pairs = _Pairs.of(keys, occurrences, arrays["named"] > rules.names * occurrences, frequencies)
    enough = (occurrences >= rules.occurrences) & (documents >= rules.documents)
    enough &= arrays["named"] <= rules.names * occurrences
    chosen = np.flatnonzero(enough)
    if not len(chosen) or total < 2:
        return []
    keys, both, documents = keys[chosen], occurrences[chosen], documents[chosen]
    first, second, third, triple = _words_of(keys)
    last = np.where(triple, third, second)
    one, end = (np.maximum(_at(frequencies, numbers), both) for numbers in (first, last))
    # A triple is two words and one, or one and two: whichever binds less.
    head, tail = (
        np.where(triple, np.maximum(pairs.occurrences_of(*words), both), 1)
        for words in ((first, second), (second, third))
    )
    score = _association(both, np.where(triple, head, one), end, total)
    score = np.where(triple, np.minimum(score, _association(both, one, tail, total)), score)
    strength = _likelihood(both, np.where(triple, head, one), end, total)
    good = (score >= rules.association) & (strength >= rules.likelihood)
    good &= ~pairs.part(keys, first, second, third, triple, last, rules.inside)
    rank = np.lexsort((keys, -both, -score * np.log(both)))
    rank = rank[good[rank]]
    known = {*already}
    result: list[Term] = []
    for place, term in zip(rank.tolist(), sequences(keys[rank], lang, words), strict=True):
        if len(result) >= rules.most:
            break
        if term in known or not _reads(term, lang):
            continue
        result.append(
            Term(
                term,
                int(both[place]),
                int(documents[place]),
                float(score[place]),
                float(strength[place]),
            )
        )
    return result


_PARTICLES = frozenset(
    [
        "de",
        "del",
        "della",
        "der",
        "des",
        "di",
        "da",
        "do",
        "dos",
        "du",
        "den",
        "ten",
        "van",
        "von",
        "zu",
        "el",
        "al",
        "bin",
        "ibn",
        "ben",
        "la",
        "le",
        "los",
        "las",
        "es",
        "the",
        "of",
        "and",
        "for",
    ]
)
"""Parts of names that are written small, and small words of other languages."""

_LY_NOUNS = frozenset(
    [
        "family",
        "supply",
        "assembly",
        "monopoly",
        "anomaly",
        "daily",
        "weekly",
        "monthly",
        "quarterly",
        "yearly",
        "early",
    ]
)
_NO_NOUNS = frozenset(
    [
        "exclude",
        "include",
        "comprise",
        "please",
        "read",
        "affect",
        "oper",
        "avg",
        "undisclose",
        "unchanged",
        "compare",
    ]
)
"""English words that open or close no term, although they carry a subject."""


def _reads(term: tuple[str, ...], lang: str) -> bool:
    """Whether a sequence could be a term by its words alone."""
    outer = (term[0], term[-1]) if term[1:-1] in CONNECTORS.get(lang, ()) else term
    if not _PARTICLES.isdisjoint(outer):
        return False
    if lang != "en":
        return True
    return _NO_NOUNS.isdisjoint(outer) and not any(
        word.endswith("ly") and word not in _LY_NOUNS for word in outer
    )


def _association(both: Counts, one: Counts, two: Counts, total: int) -> NDArray[np.float64]:
    share = both / total
    value: NDArray[np.float64] = np.log(both * (total / one) / two) / -np.log(
        np.minimum(share, 0.5)
    )
    return value


def _at(values: NDArray[np.int64], places: Keys) -> NDArray[np.int64]:
    known = places < len(values)
    result = np.zeros(len(places), np.int64)
    result[known] = values[places[known]]
    return result


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of words that stand together: how often, whether they are names, what goes on."""

    keys: Keys
    occurrences: Counts
    named: NDArray[np.bool_]
    before: Counts
    """How often at most one and the same word stands before the pair."""
    after: Counts
    word_before: NDArray[np.float64]
    """Of each word: the largest share of its occurrences that one pair holds it as the second."""
    word_after: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        keys: Keys,
        occurrences: Counts,
        named: NDArray[np.bool_],
        frequencies: NDArray[np.int64],
    ) -> _Pairs:
        first, second, third, triple = _words_of(keys)
        adjacent = ~triple & (third == NEXT)
        own = keys[adjacent]
        before, after = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
        of_triples = occurrences[triple]
        for sums, one, two in ((after, first, second), (before, second, third)):
            places, known = _found(own, _pair(one[triple], two[triple]))
            np.maximum.at(sums, places[known], of_triples[known])
        shares = []
        for numbers in (second, first):
            most = np.zeros(len(frequencies), np.int64)
            inner = ~triple & (numbers < len(frequencies))
            np.maximum.at(most, numbers[inner], occurrences[inner])
            shares.append(most / np.maximum(frequencies, 1))
        return cls(own, occurrences[adjacent], named[adjacent], before, after, *shares)

    def occurrences_of(self, first: Keys, second: Keys) -> Counts:
        places, known = _found(self.keys, _pair(first, second))
        return np.where(known, self.occurrences[places], 0) if len(self.keys) else 0 * first

    def part(
        self,
        keys: Keys,
        first: Keys,
        second: Keys,
        third: Keys,
        triple: NDArray[np.bool_],
        last: Keys,
        share: float,
    ) -> NDArray[np.bool_]:
        """Which candidates are a part of something longer, or hold a name."""
        result = np.zeros(len(keys), np.bool_)
        if not len(self.keys):
            return result
        places, known = _found(self.keys, keys)
        own = self.occurrences[places] * share
        result |= known & (np.maximum(self.before, self.after)[places] > own)
        for one, two, beyond in ((first, second, self.before), (second, third, self.after)):
            places, known = _found(self.keys, _pair(one, two))
            longer = beyond[places] > self.occurrences[places] * share
            result |= triple & known & (self.named[places] | longer)
        # The last word nearly always opens another pair: placer en garde (à vue).
        for numbers, shares in ((last, self.word_after), (first, self.word_before)):
            inner = numbers < len(shares)
            result[inner] |= shares[numbers[inner]] > share
        return result


def _found(keys: Keys, wanted: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where each wanted key lies among ascending ones, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted


def _pair(first: Keys, second: Keys) -> Keys:
    return first << (_PAIR_BITS + _CODE_BITS) | second << _CODE_BITS | NEXT


# --- what the annotator understands ------------------------------------------------------


def lexicon_terms(
    accepted: Mapping[str, Iterable[tuple[str, ...]]],
    given: Mapping[str, Iterable[tuple[str, ...]]] | None = None,
) -> dict[str, frozenset[tuple[str, ...]]]:
    """`Lexicon.terms`: accepted terms and those that a user gave, by language.

    >>> lexicon_terms({"en": [("prime", "minister")]}, {"fr": [("garde", "à", "vue")]})
    {'en': frozenset({('prime', 'minister')}), 'fr': frozenset({('garde', 'à', 'vue')})}
    """
    given = given or {}
    langs = sorted({*accepted, *given})
    return {lang: frozenset([*accepted.get(lang, ()), *given.get(lang, ())]) for lang in langs}


def given_terms(phrases: Iterable[Annotation]) -> dict[str, set[tuple[str, ...]]]:
    """The terms of a user's list, one annotated phrase a term, by language."""
    result: dict[str, set[tuple[str, ...]]] = {}
    for phrase in phrases:
        if len(phrase.lemmas) > 1:
            result.setdefault(phrase.document.lang or "", set()).add(tuple(phrase.lemmas))
    return result
