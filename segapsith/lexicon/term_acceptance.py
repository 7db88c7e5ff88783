"""Which candidates become multi-word terms.

At a tick of the learning clock a candidate becomes a term if it occurs often enough, in enough
stories, and far more often than its words would by chance. The formulas and limits are in
docs/concepts/formulas.md, "Multi-word terms".
"""

from __future__ import annotations

import importlib.resources
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.lexicon.multiword_terms import (
    NEXT,
    KeyParts,
    TermCounts,
    connectors_of,
    pair_keys,
    parts_of,
    sequences,
)

__all__ = ["TERM", "Rules", "Term", "accept"]

Keys = NDArray[np.int64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rules:
    """When a candidate becomes a term."""

    occurrences: int = 12
    """Least number of occurrences."""
    documents: int = 8
    """Least number of stories."""
    association: float = 0.3
    """Least normalised mutual information, ln(p12 / (p1 p2)) / -ln p12 (Bouma 2009)."""
    likelihood: float = 30.0
    """Least log-likelihood ratio, 2 * sum of O ln(O / E) (Dunning 1993)."""
    names: float = 0.95
    """A candidate with a larger share written like names is a name, as is one that contains it."""
    inside: float = 0.6
    """A candidate is part of a longer one if a larger share continues with the same word."""
    most: int = 200
    """Terms that one tick of the clock accepts, at most."""


TERM = Rules()
"""The default rules."""


@dataclass(frozen=True, slots=True)
class Term:
    """An accepted term with its counts and scores."""

    words: tuple[str, ...]
    occurrences: int
    documents: int
    association: float
    likelihood: float


def _likelihood(both: Counts, one: Counts, two: Counts, total: int) -> NDArray[np.float64]:
    """Return Dunning's 2 * sum of O ln(O / E) over the table of a pair."""
    table = [
        (both, one, two),
        (one - both, one, total - two),
        (two - both, total - one, two),
        (total - one - two + both, total - one, total - two),
    ]
    result = np.zeros(len(both))
    for observed, row, column in table:
        count = np.maximum(observed, 0).astype(np.float64)
        expected = np.maximum(row.astype(np.float64) * column / total, 1e-9)
        result += np.where(count > 0, count * np.log(np.maximum(count, 1e-9) / expected), 0.0)
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
    """Return the candidates that become terms now, best first, without those in `already`.

    `counts` are those of one language, `frequencies` the occurrences of each word by its number,
    `total` those of all words of the language.
    """
    arrays = counts.arrays()
    all_keys, occurrences, documents = arrays["keys"], arrays["occurrences"], arrays["documents"]
    is_name = arrays["named"] > rules.names * occurrences
    is_frequent = (occurrences >= rules.occurrences) & (documents >= rules.documents)
    frequent = np.flatnonzero(is_frequent & ~is_name)
    if not len(frequent) or total < 2:
        return []
    pairs = _Pairs.of(
        all_keys, occurrences, is_name, frequencies, least=rules.inside * rules.occurrences
    )
    keys, both, documents = all_keys[frequent], occurrences[frequent], documents[frequent]
    parts = parts_of(keys)
    association, likelihood = _scores(parts, both, pairs, frequencies, total)
    is_term = (association >= rules.association) & (likelihood >= rules.likelihood)
    is_term &= ~pairs.are_parts(keys, parts, rules.inside)
    rank = np.lexsort((keys, -both, -association * np.log(both)))
    rank = rank[is_term[rank]]
    accepted = {*already}
    terms: list[Term] = []
    for i, term in zip(rank.tolist(), sequences(keys[rank], lang, words), strict=True):
        if len(terms) >= rules.most:
            break
        if term not in accepted and _may_be_term(term, lang):
            scores = float(association[i]), float(likelihood[i])
            terms.append(Term(term, int(both[i]), int(documents[i]), *scores))
    return terms


def _scores(
    parts: KeyParts, both: Counts, pairs: _Pairs, frequencies: NDArray[np.int64], total: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the association and the log-likelihood ratio of each candidate.

    A triple is a pair and a word, or a word and a pair; the lower association counts.
    """
    first, second, third, is_triple = parts
    one, end = (np.maximum(_at(frequencies, numbers), both) for numbers in (first, parts.last))
    head, tail = (
        np.where(is_triple, np.maximum(pairs.occurrences_of(*words), both), 1)
        for words in ((first, second), (second, third))
    )
    begin = np.where(is_triple, head, one)
    association = _association(both, begin, end, total)
    association = np.where(
        is_triple, np.minimum(association, _association(both, one, tail, total)), association
    )
    return association, _likelihood(both, begin, end, total)


class _Words(NamedTuple):
    """Word lists from `data/term_acceptance.toml`."""

    particles: frozenset[str]
    ly_nouns: frozenset[str]
    excluded: frozenset[str]


@cache
def _words() -> _Words:
    file = importlib.resources.files("segapsith.lexicon") / "data" / "term_acceptance.toml"
    lists = tomllib.loads(file.read_text("utf-8"))
    texts = lists["particles"], lists["en"]["ly_nouns"], lists["en"]["excluded"]
    return _Words(*(frozenset(text.split()) for text in texts))


def _may_be_term(term: tuple[str, ...], lang: str) -> bool:
    """Return whether a sequence may be a term, judged by its words alone."""
    lists = _words()
    outer = (term[0], term[-1]) if term[1:-1] in connectors_of(lang) else term
    if not lists.particles.isdisjoint(outer):
        return False
    if lang != "en":
        return True
    return lists.excluded.isdisjoint(outer) and not any(
        word.endswith("ly") and word not in lists.ly_nouns for word in outer
    )


def _association(both: Counts, one: Counts, two: Counts, total: int) -> NDArray[np.float64]:
    """Return normalised mutual information, ln(p12 / (p1 p2)) / -ln p12."""
    share = both / total
    value: NDArray[np.float64] = np.log(both * (total / one) / two) / -np.log(
        np.minimum(share, 0.5)
    )
    return value


def _at(values: NDArray[np.int64], numbers: Keys) -> NDArray[np.int64]:
    """Return the values of numbered words, 0 beyond the end."""
    is_inside = numbers < len(values)
    result = np.zeros(len(numbers), np.int64)
    result[is_inside] = values[numbers[is_inside]]
    return result


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of words that follow each other directly, and how they continue."""

    keys: Keys
    occurrences: Counts
    named: NDArray[np.bool_]
    before: Counts
    """Largest number of occurrences after one and the same word."""
    after: Counts
    """Largest number of occurrences before one and the same word."""
    word_before: NDArray[np.float64]
    """For each word, the largest share of its occurrences as the second word of one pair."""
    word_after: NDArray[np.float64]
    """For each word, the largest share of its occurrences as the first word of one pair."""

    @classmethod
    def of(
        cls,
        keys: Keys,
        occurrences: Counts,
        named: NDArray[np.bool_],
        frequencies: NDArray[np.int64],
        *,
        least: float,
    ) -> _Pairs:
        """Return the pairs among ascending keys.

        A pair continues in triples; only those with more than `least` occurrences are looked at.
        """
        n_triples = int(np.searchsorted(keys, 0))  # the keys of triples are negative
        first, second, code, _ = parts_of(keys[n_triples:])
        is_direct = code == NEXT
        of_pairs = occurrences[n_triples:]
        direct = keys[n_triples:][is_direct]
        before, after = np.zeros(len(direct), np.int64), np.zeros(len(direct), np.int64)
        frequent = np.flatnonzero(occurrences[:n_triples] > least)
        one, two, three, _ = parts_of(keys[frequent])
        for sums, head, tail in ((after, one, two), (before, two, three)):
            rows, exists = _lookup(direct, pair_keys(head, tail))
            np.maximum.at(sums, rows[exists], occurrences[frequent][exists])
        shares = []
        for numbers in (second, first):
            most = np.zeros(len(frequencies), np.int64)
            is_inside = numbers < len(frequencies)
            np.maximum.at(most, numbers[is_inside], of_pairs[is_inside])
            shares.append(most / np.maximum(frequencies, 1))
        is_name = named[n_triples:][is_direct]
        return cls(direct, of_pairs[is_direct], is_name, before, after, *shares)

    def occurrences_of(self, first: Keys, second: Keys) -> Counts:
        """Return the occurrences of pairs, 0 for a pair that never occurred."""
        rows, exists = _lookup(self.keys, pair_keys(first, second))
        return np.where(exists, self.occurrences[rows], 0) if len(self.keys) else 0 * first

    def are_parts(self, keys: Keys, parts: KeyParts, share: float) -> NDArray[np.bool_]:
        """Return which candidates are part of a longer one, or contain a name."""
        result = np.zeros(len(keys), np.bool_)
        if not len(self.keys):
            return result
        first, second, third, is_triple = parts
        rows, exists = _lookup(self.keys, keys)
        limit = self.occurrences[rows] * share
        result |= exists & (np.maximum(self.before, self.after)[rows] > limit)
        for one, two, beyond in ((first, second, self.before), (second, third, self.after)):
            rows, exists = _lookup(self.keys, pair_keys(one, two))
            is_longer = beyond[rows] > self.occurrences[rows] * share
            result |= is_triple & exists & (self.named[rows] | is_longer)
        # The last word nearly always begins another pair: placer en garde (à vue).
        for numbers, shares in ((parts.last, self.word_after), (first, self.word_before)):
            is_inside = numbers < len(shares)
            result[is_inside] |= shares[numbers[is_inside]] > share
        return result


def _lookup(keys: Keys, sought: Keys) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the index of each sought key among ascending ones, and whether it exists."""
    if not len(keys):
        return np.zeros(len(sought), np.intp), np.zeros(len(sought), np.bool_)
    rows = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return rows, keys[rows] == sought
