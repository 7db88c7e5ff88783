"""The index of domains: which domain a unit joins.

A domain stores, for each word, the number of its units that contain the word and the sum of the
word's weights in them. Both are integers, so adding and removing are exact and independent of their
order. An inverted index leads from a word to the domains that contain it. The cost of placing a
unit depends on the postings of its words, not on the number of domains.

Units are placed by eq. 7 (`DomainIndex._similarities`), see docs/concepts/formulas.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare
from segapsith.domains.postings.arrays import (
    DOMAINS,
    FULL_DOMAIN,
    Aging,
    Array,
    Index,
    WeightRule,
    empty_index,
)
from segapsith.domains.postings.comparison import (
    accumulate,
    activation,
    best_two,
    find_units,
    reset_sums,
)
from segapsith.domains.postings.sums import (
    add_words,
    heaviest,
    insert_domain,
    rebalance,
    remove_domain,
    reserve,
    with_capacity,
    with_words,
)
from segapsith.domains.values import (
    Bag,
    BagColumns,
    DomainWords,
    Ints,
    Placement,
    PlacementSettings,
)
from segapsith.jit import kernel
from segapsith.lexicon.vocabulary import SCALE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "DomainIndex",
    "bag_columns",
    "unit_occurrences",
]


def unit_occurrences(bag: Bag, by_tokens: bool, inferred: int) -> NDArray[np.int32]:
    """Return the occurrences of each word of a unit: its tokens or 1, `inferred` if inferred."""
    counted = bag.counts if by_tokens else np.ones_like(bag.counts)
    return np.where(bag.counts > 0, counted, np.int32(inferred))


def bag_columns(bags: Sequence[Bag]) -> BagColumns:
    """Return the columns of some units, in order."""
    empty = np.zeros(0, np.int32)
    return BagColumns(
        np.concatenate([empty, *[bag.words for bag in bags]]),
        np.concatenate([empty, *[bag.counts for bag in bags]]),
        np.concatenate([empty, *[bag.weights for bag in bags]]),
        np.cumsum([len(bag.words) for bag in bags], dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class IndexState:
    """The content of a `DomainIndex` as plain values."""

    settings: PlacementSettings
    arrays: Index


class DomainIndex:
    """All domains with their sums, and the inverted index from words to domains.

    The number of a domain is its position in the arrays; 0 is no domain.
    """

    def __init__(self, settings: PlacementSettings | None = None) -> None:
        self.settings = settings or PlacementSettings()
        self._index = empty_index()
        self._rule = WeightRule(
            self.settings.domain_weight == "mean-unit-weight",
            int(np.ceil(self.settings.min_weight * SCALE)),
        )
        self._aging = Aging(self.settings.aging, self.settings.aging_stories)

    @classmethod
    def of(cls, state: IndexState) -> DomainIndex:
        """Return an index with the content of another one; it has arrays of its own."""
        index = cls(state.settings)
        index._index = Index(*(np.array(part) for part in state.arrays))
        return index

    def state(self) -> IndexState:
        """Return the content; the arrays are those of this index."""
        return IndexState(self.settings, self._index)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copy the arrays: those of a file that was mapped into memory cannot be changed."""
        self.__dict__.update(state)
        self._index = type(self._index)(*(np.array(part) for part in self._index))

    def without_domains(self, threshold: float) -> DomainIndex:
        """Return an empty index with another threshold, in which domains do not age."""
        index = DomainIndex(replace(self.settings, threshold=threshold, aging=0.0))
        index._index = index._index._replace(significance=self._index.significance)
        return index

    # -- reading ---------------------------------------------------------------------------

    @property
    def next_domain(self) -> int:
        """The number of the next new domain."""
        return int(self._index.used[DOMAINS])

    @property
    def n_units(self) -> Array:
        """The number of units of every domain, by its number; read only."""
        return self._index.n_units

    def __contains__(self, domain: int) -> bool:
        return 0 < domain < self.next_domain and bool(self.n_units[domain] > 0)

    def __iter__(self) -> Iterator[int]:
        """Yield the open domains that have units, in ascending order."""
        in_use = slice(self.next_domain)
        is_live = (self._index.n_units[in_use] > 0) & self._index.is_open[in_use]
        return iter(np.flatnonzero(is_live).tolist())

    def count_open(self) -> tuple[int, int]:
        """Return the number of open domains with units, and of those with a single unit."""
        in_use = slice(self.next_domain)
        sizes = self._index.n_units[in_use][self._index.is_open[in_use]]
        return int((sizes > 0).sum()), int((sizes == 1).sum())

    def words(self, domain: int) -> DomainWords:
        """Return the sums of a domain."""
        index = self._index
        start, length = index.start[domain], index.length[domain]
        words = index.words[start : start + length]
        sums = index.pool[start : start + length]
        present = np.flatnonzero(sums[:, 0] > 0)
        order = present[np.argsort(words[present])]
        return DomainWords(words[order], sums[order, 0], sums[order, 1], int(self.n_units[domain]))

    def size(self, domain: int) -> int:
        """Return the number of units of a domain."""
        return int(self.n_units[domain])

    def heaviest(self, domains: Sequence[int], most: int) -> list[list[tuple[int, float]]]:
        """Return the heaviest words of each domain with their weights; ties as in `weights`."""
        numbers = np.asarray(domains, dtype=np.int64)
        entries = heaviest(self._index, numbers, self._rule, most)
        words, pool = self._index.words[entries], self._index.pool[entries]
        n_units = self.n_units[numbers][:, None]
        numerators = pool[..., 1]
        if not self._rule.by_unit_weight:
            numerators = self._occurrence_numerators(words, pool[..., 0], n_units)
        weights = numerators / (float(SCALE) * np.maximum(n_units, 1))
        sizes = (entries >= 0).sum(axis=1).tolist()
        return [
            list(zip(row_words[:size], row_weights[:size], strict=True))
            for row_words, row_weights, size in zip(
                words.tolist(), weights.tolist(), sizes, strict=True
            )
        ]

    def weights(self, domain: int) -> tuple[NDArray[np.int32], NDArray[np.float64], Ints]:
        """Return the words of a domain with their weights and occurrences, heaviest first.

        Ties are broken by occurrences, then by the number of the word.
        """
        sums = self.words(domain)
        numerators = self._numerators(sums)
        weights = numerators / (float(SCALE) * max(sums.n_units, 1))
        order = np.lexsort((sums.words, -sums.occurrences, -numerators))
        return sums.words[order], weights[order], sums.occurrences[order]

    def profile(self, domain: int) -> tuple[NDArray[np.int32], Ints, Ints, NDArray[np.bool_]]:
        """Return words, weights, occurrences, and which words are heavy enough to be compared.

        Weights are integers: times `SCALE` and times the number of units.
        """
        sums = self.words(domain)
        numerators = self._numerators(sums)
        return (
            sums.words,
            numerators,
            sums.occurrences,
            numerators >= self._rule.min_weight * sums.n_units,
        )

    def nearest(
        self,
        bag: Bag,
        most: int,
        compare: Compare | None = None,
        n_words: int = 0,
        *,
        story: int = 0,
    ) -> list[tuple[int, float]]:
        """Return the most similar open domains with their scores, best first, ties to the older.

        By eq. 7 for a story of that ordinal, or by another similarity as in `place`.
        """
        n_touched = self._accumulate(bag)
        touched = np.sort(self._index.touched[:n_touched])
        scores = self._similarities(bag, touched) * self._freshness(touched, story)
        reset_sums(self._index, n_touched)
        if compare is not None and len(touched):
            scores = self._compared(bag, touched, compare, n_words)
        ranked = np.lexsort((touched, -scores))[:most]
        return [(int(touched[i]), float(scores[i])) for i in ranked]

    def similarity(self, bag: Bag, domain: int) -> float:
        """Return the similarity of a unit and one open domain by eq. 7."""
        n_touched = self._accumulate(bag)
        shares_a_word = self._index.sums[domain].any()
        score = self._similarities(bag, np.array([domain]))[0] if shares_a_word else 0.0
        reset_sums(self._index, n_touched)
        return float(score)

    def neighbours(self, domain: int, least: float = 0.0) -> tuple[Ints, NDArray[np.float64]]:
        """Return the other open domains with a similarity of at least `least`, and the values.

        Eq. 7 between two domains, over the words of both that are heavy enough to be compared.
        """
        index = self._index
        words, weights, occurrences, compared = self.profile(domain)
        n_touched = accumulate(
            index, words[compared], occurrences[compared], weights[compared], self._rule
        )
        touched = np.sort(index.touched[:n_touched])
        shared, totals = index.sums[touched].astype(np.float64), index.totals.astype(np.float64)
        reset_sums(index, n_touched)
        own_total = totals[domain, 0] * totals[domain, 1]
        other_totals = totals[touched, 0] * totals[touched, 1]
        # This order of the factors gives exactly the same value from both sides.
        product = (shared[:, 0] * shared[:, 2]) * (shared[:, 1] * shared[:, 3])
        scores = np.sqrt(np.sqrt(product / (other_totals * max(float(own_total), 1.0))))
        near = (touched != domain) & (scores >= least)
        return touched[near], scores[near]

    def rows(self, domains: Iterable[int], n_words: int) -> csr_array:
        """Return domains as rows of weights, for similarities that compare matrices."""
        from scipy.sparse import csr_array  # slow to import

        indices, values, pointers = [], [], [0]
        for domain in domains:
            sums = self.words(domain)
            scaled = self._numerators(sums) / (float(SCALE) * max(sums.n_units, 1))
            heavy = scaled >= self.settings.min_weight
            indices.append(sums.words[heavy])
            values.append(scaled[heavy])
            pointers.append(pointers[-1] + int(heavy.sum()))
        return csr_array(
            (
                np.concatenate(values) if values else np.zeros(0),
                np.concatenate(indices) if indices else np.zeros(0, dtype=np.int32),
                np.asarray(pointers),
            ),
            shape=(len(pointers) - 1, n_words),
        )

    def _numerators(self, sums: DomainWords) -> Ints:
        if self._rule.by_unit_weight:
            return sums.weights
        return self._occurrence_numerators(sums.words, sums.occurrences, sums.n_units)

    def _occurrence_numerators(
        self, words: NDArray[np.int32], occurrences: Ints, n_units: int | Ints
    ) -> Ints:
        has_value = words < len(self._index.significance)
        significance = np.full(words.shape, SCALE, dtype=np.int64)
        significance[has_value] = self._index.significance[words[has_value]]
        numerators: Ints = np.minimum(occurrences, n_units) * significance
        return numerators

    # -- placing ---------------------------------------------------------------------------

    def place(
        self, bag: Bag, compare: Compare | None = None, n_words: int = 0, *, story: int = 0
    ) -> Placement:
        """Return the best domain for a unit, by eq. 7 or by the similarity `compare`.

        `compare` is given the domains that share a word with the unit. Ties go to the older domain.
        With the ordinal of its story, domains without recent stories are less similar by eq. 7.
        """
        n_touched = self._accumulate(bag)
        if n_touched == 0:
            return Placement(None, 0.0)
        touched = self._index.touched[:n_touched]
        if compare is None and self.settings.prefilter == "none":
            best, score, second, second_score = best_two(
                self._index,
                n_touched,
                float(bag.weights.sum(dtype=np.int64)),
                float(self._unit_occurrences(bag).sum(dtype=np.int64)),
                story,
                self._aging,
            )
        else:
            if compare is None:
                scores = self._similarities(bag, touched) * self._freshness(touched, story)
                scores = self._activated(bag, touched, scores)
            else:
                scores = self._compared(bag, touched, compare, n_words)
            ranked = np.lexsort((touched, -scores))[:2]
            best, score = touched[ranked[0]], scores[ranked[0]]
            second, second_score = (
                (touched[ranked[1]], scores[ranked[1]]) if len(ranked) > 1 else (0, 0.0)
            )
        reset_sums(self._index, n_touched)
        return Placement(
            int(best) if score >= self.settings.threshold else None,
            float(score),
            int(best),
            int(second) or None,
            float(second_score),
        )

    def find_all(self, bags: Sequence[Bag]) -> list[Placement]:
        """Return the placement of each unit by eq. 7, without adding it to a domain."""
        if not bags:
            return []
        if self.settings.prefilter != "none":
            return [self.place(bag) for bag in bags]
        best_of, scores = np.zeros((len(bags), 2), np.int64), np.zeros((len(bags), 2))
        words, counts, weights, ends = bag_columns(bags)
        occurrences = self._unit_occurrences(Bag(words, counts, weights))
        find_units(self._index, ends, words, occurrences, weights, self._rule, best_of, scores)
        threshold = self.settings.threshold
        return [
            Placement(best if best and score >= threshold else None, score, best or None,
                      second or None, second_score)
            for (best, second), (score, second_score) in zip(
                best_of.tolist(), scores.tolist(), strict=True
            )
        ]  # fmt: skip

    def place_all(
        self, bags: Sequence[Bag], stories: Sequence[int] | Ints | None = None
    ) -> list[tuple[int, Placement]]:
        """Place units by eq. 7 one after the other, and add each to its domain or a new one.

        `stories` are the ordinals of their stories; without them domains do not age.
        Return the domain and the placement of each unit; `Placement.domain` is None for a unit
        that started a domain.
        """
        numbers = np.zeros(len(bags), np.int64) if stories is None else np.asarray(stories)
        placed, scores = self.place_columns(bag_columns(bags), numbers.astype(np.int64))
        return [
            (
                domain,
                Placement(domain if domain == best else None, score, best or None,
                          second or None, second_score),
            )
            for (domain, best, second), (score, second_score) in zip(
                placed.tolist(), scores.tolist(), strict=True
            )
        ]  # fmt: skip

    def place_columns(self, units: BagColumns, stories: Ints) -> tuple[Ints, NDArray[np.float64]]:
        """Place units as `place_all` does. Return two tables with one row per unit.

        The first has the domain of the unit, the best domain before and the runner-up, where 0 is
        none; a unit whose best domain is another one started its domain. The second has the scores
        of the best domain and the runner-up.
        """
        n_units = len(units.ends)
        placed, scores = np.zeros((n_units, 3), np.int64), np.zeros((n_units, 2))
        occurrences = self._unit_occurrences(Bag(units.words, units.counts, units.weights))
        self._index = with_words(self._index, int(units.words.max(initial=-1)) + 1)
        n_placed = 0
        while True:
            n_placed = place_units(
                self._index,
                n_placed,
                units.ends,
                units.words,
                occurrences,
                units.weights,
                stories,
                self._rule,
                self._aging,
                self.settings.threshold,
                placed,
                scores,
            )
            if n_placed == n_units:
                return placed, scores
            full = int(self._index.used[FULL_DOMAIN])
            a, b = units.ends[n_placed - 1] if n_placed else 0, units.ends[n_placed]
            self._index = with_capacity(self._index, full, units.words[a:b])

    def _accumulate(self, bag: Bag) -> int:
        """Sum up what a unit shares with each domain; return the number of these domains."""
        return accumulate(
            self._index, bag.words, self._unit_occurrences(bag), bag.weights, self._rule
        )

    def _unit_occurrences(self, bag: Bag) -> NDArray[np.int32]:
        return unit_occurrences(
            bag, self.settings.count == "tokens", self.settings.inferred_occurrence
        )

    def _similarities(self, bag: Bag, domains: Ints) -> NDArray[np.float64]:
        """Return eq. 7 between a unit c and some domains d, after `_accumulate`.

            sim(d, c) = [ sum_common W_d / sum_all W_d  *  sum_common O_d / sum_all O_d
                        * sum_common W_c / sum_all W_c  *  sum_common O_c / sum_all O_c ] ^ (1/4)

        W are weights and O occurrences, `common` the words that both contain. Equation 7 of Ferret,
        Grau & Jardino (2001), see docs/concepts/formulas.md.
        """
        sums, totals = self._index.sums[domains], self._index.totals[domains]
        share = (
            (sums[:, 0] / totals[:, 0])
            * (sums[:, 1] / totals[:, 1])
            * (sums[:, 2] / float(bag.weights.sum(dtype=np.int64)))
            * (sums[:, 3] / float(self._unit_occurrences(bag).sum(dtype=np.int64)))
        )
        scores: NDArray[np.float64] = np.sqrt(np.sqrt(share))
        return scores

    def _freshness(self, domains: Ints, story: int) -> NDArray[np.float64]:
        """Return what is left of the similarity to domains when a story comes (`Aging`)."""
        share, stories = self._aging
        ages = np.clip(story - self._index.newest[domains], 0, stories)
        left: NDArray[np.float64] = 1.0 - share * (ages / stories)
        return left

    def _compared(
        self, bag: Bag, domains: Ints, compare: Compare, n_words: int
    ) -> NDArray[np.float64]:
        """Return the similarity of a unit and some domains by `compare`."""
        from scipy.sparse import csr_array  # slow to import

        unit = csr_array(
            (bag.weights / float(SCALE), bag.words, np.array([0, len(bag.words)])),
            shape=(1, n_words),
        )
        scores: NDArray[np.float64] = compare(unit, self.rows(domains.tolist(), n_words))[0]
        return scores

    def _activated(
        self, bag: Bag, touched: Ints, scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the scores of the domains with the highest activation (eq. 6), 0 for others."""
        sums = activation(self._index, bag.words, bag.weights, self._rule)
        means = sums[touched] / self.n_units[touched]
        order = np.lexsort((touched, -means))
        active = means[order] >= self.settings.activation_share * means.max()
        passed = order[active][: self.settings.activation_most]
        result = np.zeros(len(touched))
        result[passed] = scores[passed]
        return result

    # -- changing --------------------------------------------------------------------------

    def learn_significance(self, significance: NDArray[np.float64]) -> None:
        """Replace the significance of words, and update the totals of every domain."""
        fixed = np.rint(significance * SCALE).astype(np.int64)
        self._index = self._index._replace(significance=fixed)
        if not self._rule.by_unit_weight:
            for domain in range(1, self.next_domain):
                rebalance(self._index, domain, self._rule, True)

    def create(self) -> int:
        """Create an open domain without units; return its number."""
        domain = self.next_domain
        self.skip_to(domain + 1)
        self._index.is_open[domain] = True
        return domain

    def note_story(self, domain: int, story: int) -> None:
        """Set the ordinal of the last story that joined a domain."""
        self._index.newest[domain] = story

    def add_unit(self, domain: int, bag: Bag) -> None:
        """Add a unit to the sums of a domain."""
        self._add(domain, 1, 1, bag.words, self._unit_occurrences(bag), bag.weights)

    def remove_unit(self, domain: int, bag: Bag) -> None:
        """Subtract a unit from the sums of its domain."""
        self._add(domain, -1, 1, bag.words, self._unit_occurrences(bag), bag.weights)

    def close(self, domain: int) -> None:
        """Exclude a domain from placement."""
        self._set_open(domain, False)

    def reopen(self, domain: int) -> None:
        """Include a closed domain in placement again."""
        self._set_open(domain, True)

    def _set_open(self, domain: int, is_open: bool) -> None:
        if bool(self._index.is_open[domain]) is not is_open:
            self._index.is_open[domain] = is_open
            rebalance(self._index, domain, self._rule, True)

    def move_sums(self, source: int, target: int) -> None:
        """Add the sums of one domain to another; the source is empty afterwards."""
        sums = self.words(source)
        self.drop(source)
        self._add(target, 1, sums.n_units, sums.words, sums.occurrences, sums.weights)

    def _add(
        self, domain: int, sign: int, n_units: int, words: Array, occurrences: Array, weights: Array
    ) -> None:
        self._index = with_capacity(self._index, domain, words)
        add_words(self._index, domain, sign, n_units, words, occurrences, weights, self._rule)
        rebalance(self._index, domain, self._rule, sign < 0)

    def drop(self, domain: int) -> None:
        """Remove a domain from memory; its number is not reused, and `restore` brings it back."""
        remove_domain(self._index, domain)

    def restore(
        self, domain: int, sums: DomainWords, is_open: bool = True, *, story: int = 0
    ) -> None:
        """Insert a domain with the sums that `words` returned, and its last story."""
        self.skip_to(domain + 1)
        self._index = with_capacity(self._index, domain, sums.words)
        insert_domain(self._index, domain, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[domain] = sums.n_units
        self._index.is_open[domain] = is_open
        self._index.newest[domain] = story
        rebalance(self._index, domain, self._rule, True)

    def skip_to(self, domain: int) -> None:
        """Make `domain` the next number, for stores whose last domains have been removed."""
        if domain > self.next_domain:
            self._index = with_capacity(self._index, domain - 1, np.zeros(0, np.int32))
            self._index.used[DOMAINS] = domain


@kernel
def place_units(
    index: Index,
    first: int,
    ends: Array,
    words: Array,
    occurrences: Array,
    weights: Array,
    stories: Array,
    rule: WeightRule,
    aging: Aging,
    threshold: float,
    placed: Array,
    scores: Array,
) -> int:
    """Place units one after the other, each into the best domain or a new one.

    `stories` are the ordinals of their stories. placed[u] = the domain of the unit, the best domain
    before, the runner-up; 0 is none. Stop if a domain is full: return the unit to continue with, and
    name the domain in `used[FULL_DOMAIN]`.
    """
    for u in range(first, len(ends)):
        a, b = ends[u - 1] if u else 0, ends[u]
        own, occ, wei = words[a:b], occurrences[a:b], weights[a:b]
        unit_weight, unit_occurrences = 0, 0
        for i in range(len(own)):
            unit_weight += wei[i]
            unit_occurrences += occ[i]
        n_touched = accumulate(index, own, occ, wei, rule)
        best, score, second, second_score = best_two(
            index, n_touched, float(unit_weight), float(unit_occurrences), stories[u], aging
        )
        reset_sums(index, n_touched)
        joins = best > 0 and score >= threshold
        domain = best if joins else index.used[DOMAINS]
        if domain >= len(index.start) or not reserve(index, domain, own):
            index.used[FULL_DOMAIN] = domain
            return u
        if not joins:
            index.used[DOMAINS] += 1
            index.is_open[domain] = True
        index.newest[domain] = max(index.newest[domain], stories[u])
        add_words(index, domain, 1, 1, own, occ, wei, rule)
        rebalance(index, domain, rule, False)
        placed[u, 0], placed[u, 1], placed[u, 2] = domain, best, second
        scores[u, 0], scores[u, 1] = score, second_score
    return len(ends)
