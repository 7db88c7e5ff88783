"""The indexes of domains and events: which domain a unit joins, and which event a story.

A domain stores, for each word, the number of its units that contain the word and the sum of the
word's weights in them. Both are integers, so adding and removing are exact and independent of their
order. An inverted index leads from a word to the domains that contain it. The cost of placing a
unit depends on the postings of its words, not on the number of domains.

Units are placed by eq. 7 (`DomainIndex._similarities`), see docs/concepts/formulas.md.

An event is a group of stories. A story is one vector: the sum of the weights of its units, each to
the power of 1.5 so that rare words such as names count more, cut to its heaviest words and scaled
to length 1. It joins the open event with the highest score, or starts one:

    score(e, s) = cos(sum of the vectors of e, s) - DECAY * ln(1 + gap)

The gap is the number of days between the story and the days of the event; without a date it is 0.
Vectors are integers too. An event that took nothing for some days of the stream, or for many
stories, is closed and takes no more.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare
from segapsith.domains import postings
from segapsith.domains.postings import StoryVectors
from segapsith.domains.values import (
    Bag,
    BagColumns,
    DomainWords,
    EventRecord,
    EventSettings,
    Ints,
    Placement,
    PlacementSettings,
    Story,
)
from segapsith.lexicon.vocabulary import SCALE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "LABEL_WORDS",
    "TOP_WORDS",
    "DomainIndex",
    "EventIndex",
    "Mark",
    "bag_columns",
    "column_vectors",
    "day_number",
    "next_day",
    "story_vectors",
    "unit_occurrences",
]

Array = NDArray[Any]

TOP_WORDS = 12
"""Number of words of a domain that are stored as text, for display and search."""

LABEL_WORDS = 3
"""Number of words in the automatic label of a domain."""


def unit_occurrences(bag: Bag, by_tokens: bool, inferred: int) -> NDArray[np.int32]:
    """Return the occurrences of each word of a unit: its tokens or 1, `inferred` if inferred."""
    counted = bag.counts if by_tokens else np.ones_like(bag.counts)
    return np.where(bag.counts > 0, counted, np.int32(inferred))


DECAY = 0.03
"""By how much the score falls with ln(1 + days) between a story and an event."""

QUIET_STORIES = 50_000
"""Number of stories after which an event that took none of them is closed, whatever the days."""

_NO_SUMS = DomainWords(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


@dataclass(frozen=True, slots=True)
class IndexState:
    """The content of a `DomainIndex` as plain values."""

    settings: PlacementSettings
    arrays: postings.Index


class DomainIndex:
    """All domains with their sums, and the inverted index from words to domains.

    The number of a domain is its position in the arrays; 0 is no domain.
    """

    def __init__(self, settings: PlacementSettings | None = None) -> None:
        self.settings = settings or PlacementSettings()
        self._index = postings.empty_index()
        self._rule = postings.WeightRule(
            self.settings.domain_weight == "mean-unit-weight",
            int(np.ceil(self.settings.min_weight * SCALE)),
        )
        self._aging = postings.Aging(self.settings.aging, self.settings.aging_stories)

    @classmethod
    def of(cls, state: IndexState) -> DomainIndex:
        """Return an index with the content of another one; it has arrays of its own."""
        index = cls(state.settings)
        index._index = postings.Index(*(np.array(part) for part in state.arrays))
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
        return int(self._index.used[postings.DOMAINS])

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
        entries = postings.heaviest(self._index, numbers, self._rule, most)
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
        postings.reset_sums(self._index, n_touched)
        if compare is not None and len(touched):
            scores = self._compared(bag, touched, compare, n_words)
        ranked = np.lexsort((touched, -scores))[:most]
        return [(int(touched[i]), float(scores[i])) for i in ranked]

    def similarity(self, bag: Bag, domain: int) -> float:
        """Return the similarity of a unit and one open domain by eq. 7."""
        n_touched = self._accumulate(bag)
        shares_a_word = self._index.sums[domain].any()
        score = self._similarities(bag, np.array([domain]))[0] if shares_a_word else 0.0
        postings.reset_sums(self._index, n_touched)
        return float(score)

    def neighbours(self, domain: int, least: float = 0.0) -> tuple[Ints, NDArray[np.float64]]:
        """Return the other open domains with a similarity of at least `least`, and the values.

        Eq. 7 between two domains, over the words of both that are heavy enough to be compared.
        """
        index = self._index
        words, weights, occurrences, compared = self.profile(domain)
        n_touched = postings.accumulate(
            index, words[compared], occurrences[compared], weights[compared], self._rule
        )
        touched = np.sort(index.touched[:n_touched])
        shared, totals = index.sums[touched].astype(np.float64), index.totals.astype(np.float64)
        postings.reset_sums(index, n_touched)
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
            best, score, second, second_score = postings.best_two(
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
        postings.reset_sums(self._index, n_touched)
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
        postings.find_units(self._index, *self._concatenated(bags), self._rule, best_of, scores)
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
        self._index = postings.with_words(self._index, int(units.words.max(initial=-1)) + 1)
        n_placed = 0
        while True:
            n_placed = postings.place_units(
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
            full = int(self._index.used[postings.FULL_DOMAIN])
            a, b = units.ends[n_placed - 1] if n_placed else 0, units.ends[n_placed]
            self._index = postings.with_capacity(self._index, full, units.words[a:b])

    def _concatenated(
        self, bags: Sequence[Bag]
    ) -> tuple[Ints, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the end of each unit, and words, occurrences and weights of all units."""
        words, counts, weights, ends = bag_columns(bags)
        return ends, words, self._unit_occurrences(Bag(words, counts, weights)), weights

    def _accumulate(self, bag: Bag) -> int:
        """Sum up what a unit shares with each domain; return the number of these domains."""
        return postings.accumulate(
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
        """Return what is left of the similarity to domains when a story comes (`postings.Aging`)."""
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
        sums = postings.activation(self._index, bag.words, bag.weights, self._rule)
        activation = sums[touched] / self.n_units[touched]
        order = np.lexsort((touched, -activation))
        active = activation[order] >= self.settings.activation_share * activation.max()
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
                postings.rebalance(self._index, domain, self._rule, True)

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
            postings.rebalance(self._index, domain, self._rule, True)

    def move_sums(self, source: int, target: int) -> None:
        """Add the sums of one domain to another; the source is empty afterwards."""
        sums = self.words(source)
        self.drop(source)
        self._add(target, 1, sums.n_units, sums.words, sums.occurrences, sums.weights)

    def _add(
        self, domain: int, sign: int, n_units: int, words: Array, occurrences: Array, weights: Array
    ) -> None:
        self._index = postings.with_capacity(self._index, domain, words)
        postings.add_words(
            self._index, domain, sign, n_units, words, occurrences, weights, self._rule
        )
        postings.rebalance(self._index, domain, self._rule, sign < 0)

    def drop(self, domain: int) -> None:
        """Remove a domain from memory; its number is not reused, and `restore` brings it back."""
        postings.remove_domain(self._index, domain)

    def restore(
        self, domain: int, sums: DomainWords, is_open: bool = True, *, story: int = 0
    ) -> None:
        """Insert a domain with the sums that `words` returned, and its last story."""
        self.skip_to(domain + 1)
        self._index = postings.with_capacity(self._index, domain, sums.words)
        postings.insert_domain(self._index, domain, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[domain] = sums.n_units
        self._index.is_open[domain] = is_open
        self._index.newest[domain] = story
        postings.rebalance(self._index, domain, self._rule, True)

    def skip_to(self, domain: int) -> None:
        """Make `domain` the next number, for stores whose last domains have been removed."""
        if domain > self.next_domain:
            self._index = postings.with_capacity(self._index, domain - 1, np.zeros(0, np.int32))
            self._index.used[postings.DOMAINS] = domain


# -- events ------------------------------------------------------------------------------------


def day_number(date: str | None) -> int:
    """Return the number of the day of a date in UTC; 0 if there is none.

    >>> day_number("1998-01-04T05:15:00+00:00") - day_number("1998-01-01"), day_number(None)
    (3, 0)
    """
    return _day_number(date[:10]) if date else 0


@lru_cache(maxsize=4096)  # the stories of a wire share their days
def _day_number(day: str) -> int:
    return datetime.date.fromisoformat(day).toordinal()


def next_day(stream_day: int, story_day: int) -> int:
    """Return the day of the stream after a story of some day; events are closed by it.

    It begins with the first dated story. Each later story moves it by one day at most, so that a
    wrong date does not close everything.

    >>> next_day(0, 700_000), next_day(700_000, 700_000), next_day(700_000, 900_000)
    (700000, 700000, 700001)
    """
    if not stream_day:
        return story_day
    return stream_day + 1 if story_day > stream_day else stream_day


def bag_columns(bags: Sequence[Bag]) -> BagColumns:
    """Return the columns of some units, in order."""
    empty = np.zeros(0, np.int32)
    return BagColumns(
        np.concatenate([empty, *[bag.words for bag in bags]]),
        np.concatenate([empty, *[bag.counts for bag in bags]]),
        np.concatenate([empty, *[bag.weights for bag in bags]]),
        np.cumsum([len(bag.words) for bag in bags], dtype=np.int64),
    )


def story_vectors(stories: Sequence[Sequence[Bag]], *, compiled: bool = True) -> StoryVectors:
    """Return the vectors of stories, each given by the words of its units.

    Words that the network inferred are left out: they stand in no text. A reader of few stories
    sets `compiled` to False and needs no compiler.
    """
    sizes = np.fromiter(map(len, stories), np.int64, len(stories))
    units = bag_columns([bag for story in stories for bag in story])
    return column_vectors(units, sizes, compiled=compiled)


def column_vectors(units: BagColumns, sizes: Ints, *, compiled: bool = True) -> StoryVectors:
    """Return the vectors of stories, each with the next `sizes` units: see `story_vectors`."""
    last_units = np.cumsum(sizes)
    ends = np.append(0, units.ends)[last_units]
    words, weights = units.words, units.weights.astype(np.int64)
    in_text = units.counts > 0
    if not in_text.all():
        words, weights = words[in_text], weights[in_text]
        ends = np.append(0, np.cumsum(in_text))[ends]
    if len(units.ends) > len(sizes):  # the words of one unit are in order already
        story = np.repeat(np.arange(len(sizes)), np.diff(ends, prepend=0))
        order = np.lexsort((words, story))
        story, words, weights = story[order], words[order], weights[order]
        is_first = np.ones(len(words), dtype=np.bool_)
        is_first[1:] = (story[1:] != story[:-1]) | (words[1:] != words[:-1])
        firsts = np.flatnonzero(is_first)
        weights = np.add.reduceat(weights, firsts) if len(firsts) else weights
        words, ends = words[firsts], np.cumsum(np.bincount(story[firsts], minlength=len(sizes)))
    if compiled:
        return StoryVectors(*postings.scaled_stories(ends, words, weights))
    story = np.repeat(np.arange(len(sizes)), np.diff(ends, prepend=0))
    return _scaled_stories(story, words, weights, len(sizes))


def _scaled_stories(story: Array, words: Array, sums: Array, n_stories: int) -> StoryVectors:
    """Return what `postings.scaled_stories` returns, by operations on whole columns."""
    order = np.lexsort((np.arange(len(words)), -sums, story))
    starts = np.searchsorted(story, np.arange(n_stories))
    place = np.empty(len(words), np.int64)
    place[order] = np.arange(len(words)) - starts[story]
    heaviest = place < postings.MOST_STORY_WORDS
    story, words = story[heaviest], words[heaviest]
    weights = sums[heaviest].astype(np.float64)
    raised = weights * np.sqrt(weights)
    # bincount adds one after the other, as the kernel does
    lengths = np.sqrt(np.bincount(story, raised * raised, minlength=n_stories))
    values = np.rint(raised / lengths[story] * postings.STORY_LENGTH).astype(np.int32)
    ends = np.cumsum(np.bincount(story, minlength=n_stories))
    return StoryVectors(ends, words.astype(np.int32), np.maximum(values, 1))


class Mark(NamedTuple):
    """A place in a list of stories: before the story `at`, the day of the stream becomes `day`.

    Events that are quiet then, at the story with this ordinal, are closed.
    """

    at: int
    day: int
    ordinal: int


class EventIndex:
    """The events in memory with their sums, and an inverted index from words to open events.

    An open event has a slot of the index, which is used again when the event is closed or dropped.
    """

    def __init__(self, settings: EventSettings | None = None) -> None:
        self.settings = settings or EventSettings()
        self._index = postings.empty_index()
        self._table = np.zeros((16, postings.TABLE_COLUMNS), np.int64)
        self._rows: dict[int, EventRecord] = {}
        """The events in memory, but for their sums and for `_recent`."""
        self._recent: list[Ints] = []
        """Stories that were placed: event, day, units, day of the stream, ordinal, run."""
        self._closed_by: dict[int, int] = {}
        """Events that were closed since the rows are up to date, and the run that did it."""
        self._slots: dict[int, int] = {}
        self._closed: dict[int, DomainWords] = {}
        """Closed events in memory that have no slot."""
        self._free: list[int] = []
        self._n_slots = 1

    # -- reading ---------------------------------------------------------------------------

    @property
    def next_event(self) -> int:
        """The number of the next new event."""
        return int(self._index.used[postings.DOMAINS])

    def skip_to(self, event: int) -> None:
        """Make `event` the next number."""
        self._index.used[postings.DOMAINS] = max(event, self.next_event)

    def __contains__(self, event: int) -> bool:
        return event in self._slots or event in self._closed

    def __iter__(self) -> Iterator[int]:
        """Yield the events in memory, oldest first."""
        return iter(sorted([*self._slots, *self._closed]))

    def record(self, event: int) -> EventRecord:
        """Return an event in memory as it is now."""
        return self.records([event])[0]

    def records(self, events: Sequence[int]) -> list[EventRecord]:
        """Return events in memory as they are now."""
        self._settle()
        in_slots = [event for event in events if event in self._slots]
        sums = dict(zip(in_slots, self._sums([self._slots[e] for e in in_slots]), strict=True))
        return [
            self._rows[event]._replace(sums=sums.get(event) or self._closed[event])
            for event in events
        ]

    def _sums(self, slots: Sequence[int]) -> list[DomainWords]:
        numbers = np.array(slots, np.int64)
        ends, words, occurrences, weights = postings.sums_of(self._index, numbers)
        n_stories = self._index.n_units[numbers].tolist()
        return [
            DomainWords(words[a:b], occurrences[a:b], weights[a:b], n)
            for n, (a, b) in zip(n_stories, pairwise([0, *ends.tolist()]), strict=True)
        ]

    def _settle(self) -> None:
        """Enter what was placed and closed since the last time into the rows."""
        if self._recent:
            self._settle_stories()
        for event, run in self._closed_by.items():
            self._rows[event] = self._rows[event]._replace(closed_by=run)
        self._closed_by.clear()

    def _settle_stories(self) -> None:
        placed = np.concatenate(self._recent, axis=1)
        self._recent.clear()
        events, days, units, stream_days, ordinals, runs = placed[:, np.lexsort(placed[1::-1])]
        firsts = np.flatnonzero(np.diff(events, prepend=0))
        counted = zip(
            events[firsts].tolist(),
            np.add.reduceat(units, firsts).tolist(),
            np.maximum.reduceat(stream_days, firsts).tolist(),
            np.maximum.reduceat(ordinals, firsts).tolist(),
            runs[firsts].tolist(),
            pairwise([*firsts.tolist(), len(events)]),
            strict=True,
        )
        all_days = days.tolist()
        for event, n_units, day, grown, run, (a, b) in counted:
            row = self._rows.get(event)
            if row is None and b - a == 1:  # as most events
                number = all_days[a]
                own = ((number, 1),) if number else ()
                self._rows[event] = EventRecord(
                    event, _NO_SUMS, n_units, own, day, grown, None, run
                )
                continue
            row = row or EventRecord(event, _NO_SUMS, 0, (), 0, 0, None, run)
            counts = dict(row.days)
            for number in all_days[a:b]:
                counts[number] = counts.get(number, 0) + 1
            self._rows[event] = row._replace(
                units=row.units + n_units,
                days=_sorted_days(counts),
                day=max(row.day, day),
                grown=max(row.grown, grown),
            )

    # -- placing ---------------------------------------------------------------------------

    def place_all(self, stories: Sequence[Story], *, day: int, run: int) -> list[int]:
        """Place stories one after the other, and return the event of each.

        `day` is that of the stream, `run` the run that makes new events.
        """
        vectors = story_vectors([story.bags for story in stories])
        times = np.array([(s.day, s.ordinal, len(s.bags)) for s in stories], np.int64)
        return self.place_columns(vectors, times.T, (), day=day, run=run)[0]

    def place_columns(
        self, vectors: StoryVectors, times: Ints, marks: Sequence[Mark], *, day: int, run: int
    ) -> tuple[list[int], list[int]]:
        """Place stories one after the other; return the event of each, and the closed events.

        `times` are the day (0: none), the ordinal and the number of units of each story. The day
        of the stream is `day` up to the first of `marks`, which are in order.
        """
        n_stories = len(vectors.ends)
        placed = np.zeros((n_stories, 2), np.int64)
        closed = []
        self._index = postings.with_words(self._index, int(vectors.words.max(initial=-1)) + 1)
        first = 0
        for mark in (*marks, Mark(n_stories, 0, 0)):
            if mark.at > first:
                self._place_part(vectors, times, (first, mark.at), placed, day=day)
                n_part = mark.at - first
                self._recent.append(
                    np.stack(
                        [
                            placed[first : mark.at, 0],
                            times[0, first : mark.at],
                            times[2, first : mark.at],
                            np.full(n_part, day),
                            times[1, first : mark.at],
                            np.full(n_part, run),
                        ]
                    )
                )
                first = mark.at
            if mark.day or mark.ordinal:
                day = mark.day
                closed += self.close_quiet(day=day, ordinal=mark.ordinal, run=run)
        return placed[:, 0].tolist(), closed

    def _place_part(
        self,
        vectors: StoryVectors,
        times: Ints,
        part: tuple[int, int],
        placed: Ints,
        *,
        day: int,
    ) -> None:
        """Place the stories of a part, all on one day of the stream."""
        n_placed, last = part
        slots = self._free[: -(last - n_placed) - 1 : -1]
        n_free = len(slots)
        slots += range(self._n_slots, self._n_slots + last - n_placed - n_free)
        while slots[-1] >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        rule = postings.EventRule(self.settings.threshold, DECAY, day, self.next_event)
        while True:
            n_placed = postings.place_stories(
                self._index,
                n_placed,
                last,
                vectors,
                times,
                self._table,
                np.array(slots, np.int64),
                rule,
                placed,
            )
            if n_placed == last:
                break
            full = int(self._index.used[postings.FULL_DOMAIN])
            self._index = postings.with_capacity(self._index, full, _words_of(vectors, n_placed))
        n_new = self.next_event - rule.first_new
        self._slots.update(zip(range(rule.first_new, self.next_event), slots[:n_new], strict=True))
        del self._free[len(self._free) - min(n_new, n_free) :]
        self._n_slots += max(0, n_new - n_free)

    def close_quiet(self, *, day: int, ordinal: int, run: int) -> list[int]:
        """Close the events that took no story for too long, and return them, oldest first.

        `day` and `ordinal` are those of the stream now.
        """
        is_open = self._index.is_open[: self._n_slots]
        table = self._table[: len(is_open)]
        too_long = (table[:, postings.GROWN_DAY] < day - self.settings.quiet_days) | (
            table[:, postings.GROWN] < ordinal - QUIET_STORIES
        )
        slots = np.flatnonzero(too_long & is_open)
        if not len(slots):
            return []
        quiet = table[slots, postings.NUMBER].tolist()
        self._closed.update(zip(quiet, self._sums(slots.tolist()), strict=True))
        self._closed_by |= dict.fromkeys(quiet, run)
        self._release(quiet)
        return sorted(quiet)

    def _release(self, events: Iterable[int]) -> None:
        """Take events out of the index; their slots are free."""
        slots = [self._slots.pop(event) for event in events]
        postings.remove_domains(self._index, np.array(slots, np.int64))
        self._index.is_open[slots] = False
        self._free += slots

    def _take_slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot, self._n_slots = self._n_slots, self._n_slots + 1
        if slot >= len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        return slot

    # -- changing --------------------------------------------------------------------------

    def add(self, event: int, story: Story, sign: int = 1, *, day: int = 0) -> None:
        """Add a story to an event in memory, or remove it with `sign=-1`."""
        self._settle()
        slot = self._slot_of(event)
        _, words, values = story_vectors([story.bags])
        self._index = postings.with_capacity(self._index, slot, words)
        ones = np.ones(len(words), np.int32)
        postings.add_words(self._index, slot, sign, 1, words, ones, values, postings.EVENT_WEIGHTS)
        postings.rebalance(self._index, slot, postings.EVENT_WEIGHTS, True)
        self._rows[event] = _with_story(self._rows[event], story, sign, day)
        self._fill_table(event)

    def reopen(self, event: int) -> None:
        """Let a closed event in memory take stories again."""
        self._settle()
        slot = self._slot_of(event)
        self._rows[event] = self._rows[event]._replace(closed_by=None)
        self._index.is_open[slot] = True
        postings.rebalance(self._index, slot, postings.EVENT_WEIGHTS, True)

    def restore(self, row: EventRecord) -> None:
        """Bring an event into memory that `record` returned."""
        self.skip_to(row.id + 1)
        self._rows[row.id] = row
        self._closed[row.id] = row.sums
        self._slot_of(row.id)

    def _slot_of(self, event: int) -> int:
        """Return the slot of an event in memory; a closed one gets a slot."""
        if event in self._slots:
            return self._slots[event]
        slot = self._slots[event] = self._take_slot()
        sums = self._closed.pop(event)
        self._index = postings.with_capacity(self._index, slot, sums.words)
        postings.insert_domain(self._index, slot, sums.words, sums.occurrences, sums.weights)
        self._index.n_units[slot] = sums.n_units
        self._index.is_open[slot] = self._rows[event].closed_by is None
        postings.rebalance(self._index, slot, postings.EVENT_WEIGHTS, True)
        self._fill_table(event)
        return slot

    def drop(self, events: Sequence[int]) -> None:
        """Remove events from memory; their numbers are not used again."""
        self._settle()
        for event in events:
            del self._rows[event]
            self._closed.pop(event, None)
        self._release([event for event in events if event in self._slots])

    def _fill_table(self, event: int) -> None:
        """Compute what placing needs to know of an event besides its sums."""
        row, weights = self._rows[event], self.record(event).sums.weights
        first, last = (row.days[0][0], row.days[-1][0]) if row.days else (0, 0)
        squares = int((weights * weights).sum())
        self._table[self._slots[event]] = (event, first, last, squares, row.day, row.grown)


def _with_story(row: EventRecord, story: Story, sign: int, day: int) -> EventRecord:
    """Return an event with one more story, or with one less; an earlier `day` changes nothing."""
    counts = dict(row.days)
    counts[story.day] = counts.get(story.day, 0) + sign
    return row._replace(
        units=row.units + sign * len(story.bags),
        days=_sorted_days(counts),
        day=max(row.day, day),
        grown=row.grown if sign < 0 else max(row.grown, story.ordinal),
    )


def _sorted_days(counts: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    """Return days with their stories, ascending; 0 is the day of undated stories."""
    return tuple(sorted([(day, n) for day, n in counts.items() if n and day]))


def _words_of(vectors: StoryVectors, number: int) -> NDArray[np.int32]:
    """Return the words of one story."""
    return vectors.words[vectors.ends[number - 1] if number else 0 : vectors.ends[number]]
