"""The decision: which domain takes a unit (algorithms §2).

Domains are sums. For each word a domain keeps the number of its units that contain the word and
the sum of the word's weights in them, both integers, so that adding and taking away are exact and
their order does not matter. An inverted index leads from a word to the domains that have it: a
unit costs the postings of its words, not the number of domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare
from segapsith.domains import postings
from segapsith.domains.values import Bag, DomainWords, Ints, Placement, PlacementSettings
from segapsith.lexicon.weighting import SCALE

__all__ = ["LABEL_WORDS", "TOP_WORDS", "DomainIndex"]

Array = NDArray[Any]


TOP_WORDS = 12
"""Number of words of a domain that are stored as text, for display and search."""

LABEL_WORDS = 3
"""Number of words in the automatic label of a domain."""


class DomainIndex:
    """All domains with their sums, and the way from a word to its domains.

    Numbers of domains are the positions in the arrays; 0 is no domain.
    """

    def __init__(self, settings: PlacementSettings | None = None) -> None:
        self.settings = settings or PlacementSettings()
        self._index = postings.empty_index()
        self._rule = postings.Rule(
            self.settings.domain_weight == "mean-unit-weight",
            int(np.ceil(self.settings.min_weight * SCALE)),
        )

    def emptied(self, threshold: float) -> DomainIndex:
        """An index without domains that places by the same rules from another similarity on."""
        index = DomainIndex(replace(self.settings, threshold=threshold))
        index._index = index._index._replace(significance=self._index.significance)
        return index

    # -- what is known ---------------------------------------------------------------------

    @property
    def next_domain(self) -> int:
        """The number that the next new domain gets."""
        return int(self._index.used[postings.DOMAINS])

    @property
    def n_units(self) -> Array:
        """The units of every domain by its number; not to be changed."""
        return self._index.n_units

    def __contains__(self, domain: int) -> bool:
        return 0 < domain < self.next_domain and bool(self.n_units[domain] > 0)

    def __iter__(self) -> Iterator[int]:
        """The domains that have units and take more, in order."""
        known = slice(self.next_domain)
        found = (self._index.n_units[known] > 0) & self._index.is_open[known]
        return iter(np.flatnonzero(found).tolist())

    def census(self) -> tuple[int, int]:
        """How many domains take units, and how many of them have one."""
        known = slice(self.next_domain)
        sizes = self._index.n_units[known][self._index.is_open[known]]
        return int((sizes > 0).sum()), int((sizes == 1).sum())

    def words(self, domain: int) -> DomainWords:
        """The sums of a domain."""
        index = self._index
        start, length = index.start[domain], index.length[domain]
        words = index.words[start : start + length]
        sums = index.pool[start : start + length]
        live = np.flatnonzero(sums[:, 0] > 0)
        order = live[np.argsort(words[live])]
        return DomainWords(words[order], sums[order, 0], sums[order, 1], int(self.n_units[domain]))

    def heaviest(self, domains: Sequence[int], most: int) -> list[list[tuple[int, float]]]:
        """The heaviest words of each domain with their weights; ties as in `weights`."""
        chosen = np.asarray(domains, dtype=np.int64)
        found = postings.heaviest(self._index, chosen, self._rule, most)
        words, pool = self._index.words[found], self._index.pool[found]
        n_units = self.n_units[chosen][:, None]
        numerators = pool[..., 1]
        if not self._rule.by_unit_weight:
            numerators = self._occurrence_numerators(words, pool[..., 0], n_units)
        weights = numerators / (float(SCALE) * np.maximum(n_units, 1))
        sizes = (found >= 0).sum(axis=1).tolist()
        return [
            list(zip(some[:size], heavy[:size], strict=True))
            for some, heavy, size in zip(words.tolist(), weights.tolist(), sizes, strict=True)
        ]

    def weights(self, domain: int) -> tuple[NDArray[np.int32], NDArray[np.float64], Ints]:
        """The words of a domain with their weights and occurrences, heaviest first.

        Ties are broken by occurrences, then by the word's number.
        """
        sums = self.words(domain)
        numerators = self._numerators(sums)
        weights = numerators / (float(SCALE) * max(sums.n_units, 1))
        order = np.lexsort((sums.words, -sums.occurrences, -numerators))
        return sums.words[order], weights[order], sums.occurrences[order]

    def profile(self, domain: int) -> tuple[NDArray[np.int32], Ints, Ints, NDArray[np.bool_]]:
        """The words of a domain, their weights times `SCALE` and units, occurrences, and which
        weigh enough to be compared."""
        sums = self.words(domain)
        numerators = self._numerators(sums)
        return (
            sums.words,
            numerators,
            sums.occurrences,
            numerators >= self._rule.floor * sums.n_units,
        )

    def nearest(
        self, bag: Bag, most: int, compare: Compare | None = None, n_words: int = 0
    ) -> list[tuple[int, float]]:
        """The nearest open domains with their scores, best first, ties to the older.

        By eq. 7, or by any measure that is given, as in `place`.
        """
        n_touched = self._touch(bag)
        touched = np.sort(self._index.touched[:n_touched])
        scores = self._eq7(bag, touched)
        postings.clear(self._index, n_touched)
        if compare is not None and len(touched):
            unit = csr_array(
                (bag.weights / float(SCALE), bag.words, np.array([0, len(bag.words)])),
                shape=(1, n_words),
            )
            scores = compare(unit, self.rows(touched.tolist(), n_words))[0]
        ranked = np.lexsort((touched, -scores))[:most]
        return [(int(touched[i]), float(scores[i])) for i in ranked]

    def nearness(self, bag: Bag, domain: int) -> float:
        """How near a unit is to one open domain, by eq. 7."""
        n_touched = self._touch(bag)
        score = self._eq7(bag, np.array([domain]))[0] if self._index.sums[domain].any() else 0.0
        postings.clear(self._index, n_touched)
        return float(score)

    def neighbours(self, domain: int, least: float = 0.0) -> tuple[Ints, NDArray[np.float64]]:
        """The other open domains that are at least so near to a domain by eq. 7, in order.

        Both sides are compared by the words that weigh enough.
        """
        index = self._index
        words, weights, occurrences, compared = self.profile(domain)
        n_touched = postings.walk(
            index, words[compared], occurrences[compared], weights[compared], self._rule
        )
        touched = np.sort(index.touched[:n_touched])
        shared, totals = index.sums[touched].astype(np.float64), index.totals.astype(np.float64)
        postings.clear(index, n_touched)
        mine = totals[domain, 0] * totals[domain, 1]
        theirs = totals[touched, 0] * totals[touched, 1]
        # in an order that gives the very same from both sides
        product = (shared[:, 0] * shared[:, 2]) * (shared[:, 1] * shared[:, 3])
        scores = np.sqrt(np.sqrt(product / (theirs * max(float(mine), 1.0))))
        near = (touched != domain) & (scores >= least)
        return touched[near], scores[near]

    def _numerators(self, sums: DomainWords) -> Ints:
        if self._rule.by_unit_weight:
            return sums.weights
        return self._occurrence_numerators(sums.words, sums.occurrences, sums.n_units)

    def _occurrence_numerators(
        self, words: NDArray[np.int32], occ: Ints, n_units: int | Ints
    ) -> Ints:
        known = words < len(self._index.significance)
        signif = np.full(words.shape, SCALE, dtype=np.int64)
        signif[known] = self._index.significance[words[known]]
        capped: Ints = np.minimum(occ, n_units) * signif
        return capped

    def rows(self, domains: Iterable[int], n_words: int) -> csr_array:
        """Domains as rows of weights, for measures that want a matrix."""
        indices, values, pointers = [], [], [0]
        for domain in domains:
            sums = self.words(domain)
            scaled = self._numerators(sums) / (float(SCALE) * max(sums.n_units, 1))
            kept = scaled >= self.settings.min_weight
            indices.append(sums.words[kept])
            values.append(scaled[kept])
            pointers.append(pointers[-1] + int(kept.sum()))
        return csr_array(
            (
                np.concatenate(values) if values else np.zeros(0),
                np.concatenate(indices) if indices else np.zeros(0, dtype=np.int32),
                np.asarray(pointers),
            ),
            shape=(len(pointers) - 1, n_words),
        )

    # -- placing ---------------------------------------------------------------------------

    def place(self, bag: Bag, compare: Compare | None = None, n_words: int = 0) -> Placement:
        """The best domain for a unit, by eq. 7 over the index, or by any measure that is given.

        A measure sees the domains that share a word with the unit. Ties go to the older domain.
        """
        n_touched = self._touch(bag)
        if n_touched == 0:
            return Placement(None, 0.0)
        touched = self._index.touched[:n_touched]
        if compare is None and self.settings.prefilter == "none":
            best, score, second, second_score = postings.best_two(
                self._index,
                n_touched,
                float(bag.weights.sum(dtype=np.int64)),
                float(self._unit_occurrences(bag).sum(dtype=np.int64)),
            )
        else:
            if compare is None:
                scores = self._activated(bag, touched, self._eq7(bag, touched))
            else:
                unit = csr_array(
                    (bag.weights / float(SCALE), bag.words, np.array([0, len(bag.words)])),
                    shape=(1, n_words),
                )
                scores = compare(unit, self.rows(touched.tolist(), n_words))[0]
            ranked = np.lexsort((touched, -scores))[:2]
            best, score = touched[ranked[0]], scores[ranked[0]]
            second, second_score = (
                (touched[ranked[1]], scores[ranked[1]]) if len(ranked) > 1 else (0, 0.0)
            )
        postings.clear(self._index, n_touched)
        return Placement(
            int(best) if score >= self.settings.threshold else None,
            float(score),
            int(best),
            int(second) or None,
            float(second_score),
        )

    def seek_all(self, bags: Sequence[Bag]) -> list[Placement]:
        """Where each unit would be placed by eq. 7; the domains stay as they are."""
        if not bags:
            return []
        if self.settings.prefilter != "none":
            return [self.place(bag) for bag in bags]
        places, scores = np.zeros((len(bags), 2), np.int64), np.zeros((len(bags), 2))
        postings.seek_units(self._index, *self._in_line(bags), self._rule, places, scores)
        least = self.settings.threshold
        return [
            Placement(best if best and score >= least else None, score, best or None,
                      second or None, second_score)
            for (best, second), (score, second_score) in zip(
                places.tolist(), scores.tolist(), strict=True
            )
        ]  # fmt: skip

    def _in_line(
        self, bags: Sequence[Bag]
    ) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Units one behind the other: where each ends, their words, occurrences and weights."""
        words = np.concatenate([bag.words for bag in bags])
        counts = np.concatenate([bag.counts for bag in bags])
        weights = np.concatenate([bag.weights for bag in bags])
        ends = np.cumsum([len(bag.words) for bag in bags])
        return ends, words, self._unit_occurrences(Bag(words, counts, weights)), weights

    def place_all(self, bags: Sequence[Bag]) -> list[tuple[int, Placement]]:
        """Places units by eq. 7 one after the other and puts each where it belongs: its domain,
        a new one if none was near enough, and how it was placed."""
        ends, words, occurrences, weights = self._in_line(bags)
        places, scores = np.zeros((len(bags), 3), np.int64), np.zeros((len(bags), 2))
        self._index = postings.with_words(self._index, int(words.max(initial=-1)) + 1)
        done = 0
        while True:
            done = postings.place_units(
                self._index,
                done,
                ends,
                words,
                occurrences,
                weights,
                self._rule,
                self.settings.threshold,
                places,
                scores,
            )
            if done == len(bags):
                break
            wanting = int(self._index.used[postings.WANTING])
            self._index = postings.with_room(self._index, wanting, bags[done].words)
        return [
            (
                domain,
                Placement(domain if domain == best else None, score, best or None,
                          second or None, second_score),
            )
            for (domain, best, second), (score, second_score) in zip(
                places.tolist(), scores.tolist(), strict=True
            )
        ]  # fmt: skip

    def _touch(self, bag: Bag) -> int:
        return postings.walk(
            self._index, bag.words, self._unit_occurrences(bag), bag.weights, self._rule
        )

    def _unit_occurrences(self, bag: Bag) -> NDArray[np.int32]:
        return bag.occurrences(self.settings.count == "tokens", self.settings.inferred_occurrence)

    def _eq7(self, bag: Bag, touched: Ints) -> NDArray[np.float64]:
        sums, totals = self._index.sums[touched], self._index.totals[touched]
        share = (
            (sums[:, 0] / totals[:, 0])
            * (sums[:, 1] / totals[:, 1])
            * (sums[:, 2] / float(bag.weights.sum(dtype=np.int64)))
            * (sums[:, 3] / float(self._unit_occurrences(bag).sum(dtype=np.int64)))
        )
        scores: NDArray[np.float64] = np.sqrt(np.sqrt(share))
        return scores

    def _activated(
        self, bag: Bag, touched: Ints, scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The scores of the domains that eq. 6 activates most; 0 for the others."""
        sums = postings.activation(self._index, bag.words, bag.weights, self._rule)
        activation = sums[touched] / self.n_units[touched]
        order = np.lexsort((touched, -activation))
        enough = activation[order] >= self.settings.activation_share * activation.max()
        kept = order[enough][: self.settings.activation_most]
        result = np.zeros(len(touched))
        result[kept] = scores[kept]
        return result

    # -- changing --------------------------------------------------------------------------

    def learn_significance(self, significance: NDArray[np.float64]) -> None:
        """New values of the clock; the totals of every domain follow."""
        fixed = np.rint(significance * SCALE).astype(np.int64)
        self._index = self._index._replace(significance=fixed)
        if not self._rule.by_unit_weight:
            for domain in range(1, self.next_domain):
                postings.settle(self._index, domain, self._rule, True)

    def create(self) -> int:
        """A new domain without units."""
        domain = self.next_domain
        self.skip_to(domain + 1)
        self._index.is_open[domain] = True
        return domain

    def absorb(self, domain: int, bag: Bag, sign: int = 1) -> None:
        """Adds a unit to a domain, or takes it away with `sign=-1`."""
        self._take(domain, sign, 1, bag.words, self._unit_occurrences(bag), bag.weights)

    def close(self, domain: int) -> None:
        """Takes no more units into this domain."""
        self._set_open(domain, False)

    def reopen(self, domain: int) -> None:
        self._set_open(domain, True)

    def _set_open(self, domain: int, is_open: bool) -> None:
        if bool(self._index.is_open[domain]) is not is_open:
            self._index.is_open[domain] = is_open
            postings.settle(self._index, domain, self._rule, True)

    def pour(self, source: int, target: int) -> None:
        """Moves everything from one domain into another; the source is empty then."""
        sums = self.words(source)
        self.drop(source)
        self._take(target, 1, sums.n_units, sums.words, sums.occurrences, sums.weights)

    def _take(
        self, domain: int, sign: int, n_units: int, words: Array, occurrences: Array, weights: Array
    ) -> None:
        self._index = postings.with_room(self._index, domain, words)
        postings.take(self._index, domain, sign, n_units, words, occurrences, weights, self._rule)
        postings.settle(self._index, domain, self._rule, sign < 0)

    def drop(self, domain: int) -> None:
        """Takes a domain out of memory; its number stays taken and `restore` brings it back."""
        postings.leave(self._index, domain)

    def restore(self, domain: int, sums: DomainWords, is_open: bool = True) -> None:
        """Takes back a domain that was kept."""
        self.skip_to(domain + 1)
        self._index = postings.with_room(self._index, domain, sums.words)
        postings.enter(self._index, domain, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[domain] = sums.n_units
        self._index.is_open[domain] = is_open
        postings.settle(self._index, domain, self._rule, True)

    def skip_to(self, domain: int) -> None:
        """Makes `domain` the next number, for stores whose last domains are gone."""
        if domain > self.next_domain:
            self._index = postings.with_room(self._index, domain - 1, np.zeros(0, np.int32))
            self._index.used[postings.DOMAINS] = domain
