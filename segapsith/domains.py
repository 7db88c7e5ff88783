"""The decision: which domain takes a unit (algorithms §2).

Domains are sums. For each word a domain keeps the number of its units that contain the word and
the sum of the word's weights in them, both integers, so that adding and taking away are exact and
their order does not matter. An inverted index leads from a word to the domains that have it: a
unit costs the postings of its words, not the number of domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Compare
from segapsith.jit import kernel
from segapsith.weighting import SCALE

__all__ = ["Bag", "DomainIndex", "DomainWords", "Placement", "PlacementSettings"]

Ints = NDArray[np.int64]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """How a unit finds its domain; every field is a choice that the papers leave open."""

    threshold: float = 0.17
    """A unit joins the best domain from this similarity on."""
    domain_weight: str = "mean-unit-weight"
    """Weight of a word in a domain: `mean-unit-weight` or `occurrence-significance`."""
    min_weight: float = 0.02
    """Words of a domain that weigh less are not compared."""
    count: str = "units"
    """What an occurrence is: a unit that has the word (`units`) or a token (`tokens`)."""
    inferred_occurrence: int = 1
    """Occurrences that a word inferred from the network counts for in a unit."""
    prefilter: str = "none"
    """`activation` keeps only the domains that eq. 6 activates most; `none` compares all."""
    activation_share: float = 0.5
    activation_most: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold={self.threshold} should be above 0 and at most 1")
        if self.domain_weight not in ("mean-unit-weight", "occurrence-significance"):
            raise ValueError(
                f"domain_weight={self.domain_weight!r} should be "
                "'mean-unit-weight' or 'occurrence-significance'"
            )
        if not 0 <= self.min_weight < 1:
            raise ValueError(f"min_weight={self.min_weight} should be at least 0 and below 1")
        if self.count not in ("units", "tokens"):
            raise ValueError(f"count={self.count!r} should be 'units' or 'tokens'")
        if self.inferred_occurrence < 1:  # a domain knows its words by their occurrences
            raise ValueError(f"inferred_occurrence={self.inferred_occurrence} should be >= 1")
        if self.prefilter not in ("none", "activation"):
            raise ValueError(f"prefilter={self.prefilter!r} should be 'none' or 'activation'")
        if not 0 <= self.activation_share <= 1:
            raise ValueError(f"activation_share={self.activation_share} should be in 0..1")
        if self.activation_most < 1:
            raise ValueError(f"activation_most={self.activation_most} should be >= 1")


@dataclass(frozen=True, slots=True)
class Bag:
    """The words of a unit: distinct numbers in ascending order, counts, fixed-point weights.

    A word with the count 0 is not in the text: it was inferred from the network.
    """

    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    weights: NDArray[np.int32]

    @property
    def said(self) -> Bag:
        """Without what was inferred."""
        said = self.counts > 0
        if said.all():
            return self
        return Bag(self.words[said], self.counts[said], self.weights[said])

    def occurrences(self, by_tokens: bool, inferred: int) -> NDArray[np.int32]:
        """What each word counts for: its tokens or 1, and `inferred` if it was inferred."""
        counted = self.counts if by_tokens else np.ones_like(self.counts)
        return np.where(self.counts > 0, counted, np.int32(inferred))


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a unit belongs: the best domain if it is near enough, and the runner-up."""

    domain: int | None
    score: float
    best: int | None = None
    runner_up: int | None = None
    runner_up_score: float = 0.0


@dataclass(frozen=True, slots=True)
class DomainWords:
    """The sums of one domain, words in ascending order."""

    words: NDArray[np.int32]
    occurrences: Ints
    weights: Ints
    n_units: int


LEAST_DEAD = 4096
"""Places that may lie idle before the pool is made anew."""


class DomainIndex:
    """All domains with their sums, and the way from a word to its domains.

    Numbers of domains are the positions in the arrays; 0 is no domain.
    """

    def __init__(self, settings: PlacementSettings | None = None) -> None:
        self.settings = settings or PlacementSettings()
        # domains: a stretch of the pool each, with room to grow
        self._start: Array = np.zeros(16, dtype=np.int64)
        self._length: Array = np.zeros(16, dtype=np.int64)
        self._room: Array = np.zeros(16, dtype=np.int64)
        self.n_units: Array = np.zeros(16, dtype=np.int64)
        self._open: Array = np.zeros(16, dtype=np.bool_)
        self._total_weight: Array = np.zeros(16, dtype=np.int64)
        self._total_occurrences: Array = np.zeros(16, dtype=np.int64)
        self._pool_words: Array = np.zeros(1024, dtype=np.int32)
        self._pool: Array = np.zeros((1024, 2), dtype=np.int64)  # occurrences, weights
        self._pool_used = 0
        self._dead = 0
        """Places of the pool that no domain has any more."""
        # words: a stretch of postings each
        self._post_start: Array = np.zeros(1024, dtype=np.int64)
        self._post_length: Array = np.zeros(1024, dtype=np.int64)
        self._post_room: Array = np.zeros(1024, dtype=np.int64)
        self._postings: Array = np.zeros((1024, 2), dtype=np.int32)  # domain, position within it
        self._postings_used = 0
        self._significance = np.zeros(0, dtype=np.int64)
        self._sums: Array = np.zeros((16, 5), dtype=np.int64)
        self._touched: Array = np.zeros(16, dtype=np.int64)
        self._n_domains = 1

    # -- what is known ---------------------------------------------------------------------

    @property
    def next_domain(self) -> int:
        """The number that the next new domain gets."""
        return self._n_domains

    def __contains__(self, domain: int) -> bool:
        return 0 < domain < self._n_domains and bool(self.n_units[domain] > 0)

    def __iter__(self) -> Iterator[int]:
        """The domains that have units and take more, in order."""
        known = slice(self._n_domains)
        return (int(d) for d in np.flatnonzero((self.n_units[known] > 0) & self._open[known]))

    def words(self, domain: int) -> DomainWords:
        """The sums of a domain."""
        start, length = self._start[domain], self._length[domain]
        words = self._pool_words[start : start + length]
        sums = self._pool[start : start + length]
        live = np.flatnonzero(sums[:, 0] > 0)
        order = live[np.argsort(words[live], kind="stable")]
        return DomainWords(
            words[order].copy(),
            sums[order, 0].copy(),
            sums[order, 1].copy(),
            int(self.n_units[domain]),
        )

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
        return sums.words, numerators, sums.occurrences, numerators >= self._floor * sums.n_units

    def nearest(
        self, bag: Bag, most: int, compare: Compare | None = None, n_words: int = 0
    ) -> list[tuple[int, float]]:
        """The nearest open domains with their scores, best first, ties to the older.

        By eq. 7, or by any measure that is given, as in `place`.
        """
        touched = np.sort(self._touched[: self._touch(bag)])
        scores = self._eq7(bag, touched)
        self._sums[touched] = 0
        if compare is not None and len(touched):
            unit = csr_array(
                (bag.weights / float(SCALE), bag.words, np.array([0, len(bag.words)])),
                shape=(1, n_words),
            )
            scores = compare(unit, self.rows(touched.tolist(), n_words))[0]
        ranked = np.lexsort((touched, -scores))[:most]
        return [(int(touched[i]), float(scores[i])) for i in ranked]

    def neighbours(self, domain: int, least: float = 0.0) -> tuple[Ints, NDArray[np.float64]]:
        """The other open domains that are at least so near to a domain by eq. 7, in order.

        Both sides are compared by the words that weigh enough.
        """
        words, weights, occurrences, compared = self.profile(domain)
        n_touched = self._walked(words[compared], occurrences[compared], weights[compared])
        touched = np.sort(self._touched[:n_touched])
        shared = self._sums[touched].astype(np.float64)
        self._sums[touched] = 0
        mine = float(self._total_weight[domain]) * float(self._total_occurrences[domain])
        theirs = self._total_weight[touched] * self._total_occurrences[touched].astype(np.float64)
        # in an order that gives the very same from both sides
        product = (shared[:, 0] * shared[:, 2]) * (shared[:, 1] * shared[:, 3])
        scores = np.sqrt(np.sqrt(product / (theirs * max(mine, 1.0))))
        near = (touched != domain) & (scores >= least)
        return touched[near], scores[near]

    def _numerators(self, sums: DomainWords) -> Ints:
        if self.settings.domain_weight == "mean-unit-weight":
            return sums.weights
        return self._occurrence_numerators(sums.words, sums.occurrences, sums.n_units)

    def _occurrence_numerators(self, words: NDArray[np.int32], occ: Ints, n_units: int) -> Ints:
        known = words < len(self._significance)
        signif = np.full(len(words), SCALE, dtype=np.int64)
        signif[known] = self._significance[words[known]]
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
        touched = self._touched[:n_touched]
        if compare is None and self.settings.prefilter == "none":
            best, score, second, second_score = _best_two(
                touched,
                self._sums,
                self._total_weight,
                self._total_occurrences,
                float(bag.weights.sum(dtype=np.int64)),
                float(self._unit_occurrences(bag).sum(dtype=np.int64)),
            )
        else:
            if compare is None:
                scores = self._activated(touched, self._eq7(bag, touched))
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
        self._sums[touched] = 0
        return Placement(
            int(best) if score >= self.settings.threshold else None,
            float(score),
            int(best),
            int(second) or None,
            float(second_score),
        )

    def _touch(self, bag: Bag) -> int:
        return self._walked(bag.words, self._unit_occurrences(bag), bag.weights)

    def _walked(self, words: Array, occurrences: Array, weights: Array) -> int:
        return int(
            _walk(
                words,
                occurrences,
                weights,
                self._post_start,
                self._post_length,
                self._postings,
                self._start,
                self._pool,
                self._significance,
                self.settings.domain_weight == "mean-unit-weight",
                self.n_units,
                self._open,
                self._floor,
                self._sums,
                self._touched,
            )
        )

    @property
    def _floor(self) -> int:
        return int(np.ceil(self.settings.min_weight * SCALE))

    def _unit_occurrences(self, bag: Bag) -> NDArray[np.int32]:
        return bag.occurrences(self.settings.count == "tokens", self.settings.inferred_occurrence)

    def _eq7(self, bag: Bag, touched: Ints) -> NDArray[np.float64]:
        sums = self._sums[touched]
        share = (
            (sums[:, 0] / self._total_weight[touched])
            * (sums[:, 1] / self._total_occurrences[touched])
            * (sums[:, 2] / float(bag.weights.sum(dtype=np.int64)))
            * (sums[:, 3] / float(self._unit_occurrences(bag).sum(dtype=np.int64)))
        )
        scores: NDArray[np.float64] = np.sqrt(np.sqrt(share))
        return scores

    def _activated(self, touched: Ints, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of the domains that eq. 6 activates most; 0 for the others."""
        activation = self._sums[touched, 4] / self.n_units[touched]
        order = np.lexsort((touched, -activation))
        enough = activation[order] >= self.settings.activation_share * activation.max()
        kept = order[enough][: self.settings.activation_most]
        result = np.zeros(len(touched))
        result[kept] = scores[kept]
        return result

    # -- changing --------------------------------------------------------------------------

    def learn_significance(self, significance: NDArray[np.float64]) -> None:
        """New values of the clock; the totals of every domain follow."""
        self._significance = np.rint(significance * SCALE).astype(np.int64)
        if self.settings.domain_weight == "occurrence-significance":
            for domain in range(1, self._n_domains):
                self._retotal(domain)

    def create(self) -> int:
        """A new domain without units."""
        domain = self._n_domains
        self._reserve_domain(domain)
        self._n_domains += 1
        self._open[domain] = True
        return domain

    def absorb(self, domain: int, bag: Bag, sign: int = 1) -> None:
        """Adds a unit to a domain, or takes it away with `sign=-1`."""
        self._make_room(domain, bag)
        _add(
            domain,
            sign,
            bag.words,
            self._unit_occurrences(bag),
            bag.weights,
            self._start,
            self._length,
            self._pool_words,
            self._pool,
            self._post_start,
            self._post_length,
            self._postings,
        )
        self.n_units[domain] += sign
        self._retotal(domain)

    def close(self, domain: int) -> None:
        """Takes no more units into this domain."""
        self._open[domain] = False

    def reopen(self, domain: int) -> None:
        self._open[domain] = True

    def pour(self, source: int, target: int) -> None:
        """Moves everything from one domain into another; the source is empty then."""
        sums = self.words(source)
        self.drop(source)
        self._make_room(target, Bag(sums.words, sums.words, sums.words))
        _add(
            target,
            1,
            sums.words,
            sums.occurrences,
            sums.weights,
            self._start,
            self._length,
            self._pool_words,
            self._pool,
            self._post_start,
            self._post_length,
            self._postings,
        )
        self.n_units[target] += sums.n_units
        self._retotal(target)

    def drop(self, domain: int) -> None:
        """Takes a domain out of memory; its number stays taken and `restore` brings it back."""
        _leave(
            domain,
            self._start,
            self._length,
            self._pool_words,
            self._post_start,
            self._post_length,
            self._postings,
        )
        self.n_units[domain] = 0
        self._retotal(domain)
        self._dead += int(self._room[domain])
        self._room[domain] = 0
        if self._dead > max(LEAST_DEAD, self._pool_used // 2):
            self._compact()

    def restore(self, domain: int, sums: DomainWords, is_open: bool = True) -> None:
        """Takes back a domain that was kept."""
        self._reserve_domain(domain)
        self._n_domains = max(self._n_domains, domain + 1)
        bag = Bag(
            sums.words, np.zeros(len(sums.words), np.int32), np.zeros(len(sums.words), np.int32)
        )
        self._make_room(domain, bag)
        _enter(
            domain,
            sums.words,
            sums.occurrences,
            sums.weights,
            self._start,
            self._length,
            self._pool_words,
            self._pool,
            self._post_start,
            self._post_length,
            self._postings,
        )
        self.n_units[domain] = sums.n_units
        self._open[domain] = is_open
        self._retotal(domain)

    def skip_to(self, domain: int) -> None:
        """Makes `domain` the next number, for stores whose last domains are gone."""
        if domain > self._n_domains:
            self._reserve_domain(domain - 1)
            self._n_domains = domain

    # -- room ------------------------------------------------------------------------------

    def _retotal(self, domain: int) -> None:
        weight, occurrences = _totals(
            domain,
            self._start,
            self._length,
            self._pool_words,
            self._pool,
            self._significance,
            self.settings.domain_weight == "mean-unit-weight",
            self.n_units,
            self._floor,
        )
        self._total_weight[domain], self._total_occurrences[domain] = weight, occurrences

    def _compact(self) -> None:
        """Gives back what dropped domains had: pool and postings are packed anew, in order.

        Positions within a domain stay, and so does the order of each word's postings.
        """
        known = np.flatnonzero(self._length[: self._n_domains] > 0)
        self._start[: self._n_domains], places = _packed(
            known, self._start[: self._n_domains], self._length[: self._n_domains]
        )
        self._room[: self._n_domains] = self._length[: self._n_domains]
        self._pool, self._pool_words = self._pool[places], self._pool_words[places]
        self._pool_used, self._dead = len(places), 0
        used = np.flatnonzero(self._post_length > 0)
        self._post_start, places = _packed(used, self._post_start, self._post_length)
        self._post_room = self._post_length.copy()
        self._postings = self._postings[places]
        self._postings_used = len(places)

    def _reserve_domain(self, domain: int) -> None:
        if domain < len(self._start):
            return
        size = max(domain + 1, 2 * len(self._start))
        for name in ("_start", "_length", "_room", "n_units", "_open", "_total_weight"):
            setattr(self, name, _longer(getattr(self, name), size))
        self._total_occurrences = _longer(self._total_occurrences, size)
        self._touched = _longer(self._touched, size)
        self._sums = _longer(self._sums, size)

    def _make_room(self, domain: int, bag: Bag) -> None:
        """Room for every word of the bag in the domain and for the domain in every word's postings."""
        if len(bag.words) == 0:
            return
        top = int(bag.words.max()) + 1
        if top > len(self._post_start):
            size = max(top, 2 * len(self._post_start))
            self._post_start = _longer(self._post_start, size)
            self._post_length = _longer(self._post_length, size)
            self._post_room = _longer(self._post_room, size)
        wanted = int(self._length[domain]) + len(bag.words)
        if wanted > self._room[domain]:
            room = max(wanted, 2 * int(self._room[domain]))
            if self._pool_used + room > len(self._pool):
                size = max(self._pool_used + room, 2 * len(self._pool))
                self._pool = _longer(self._pool, size)
                self._pool_words = _longer(self._pool_words, size)
            start, length = int(self._start[domain]), int(self._length[domain])
            new = self._pool_used
            self._pool[new : new + length] = self._pool[start : start + length]
            self._pool_words[new : new + length] = self._pool_words[start : start + length]
            self._dead += int(self._room[domain])
            self._start[domain], self._room[domain] = new, room
            self._pool_used += room
        full = bag.words[self._post_length[bag.words] >= self._post_room[bag.words]]
        if len(full):
            rooms = np.maximum(4, 2 * self._post_room[full])
            total = int(rooms.sum())
            if self._postings_used + total > len(self._postings):
                size = max(self._postings_used + total, 2 * len(self._postings))
                self._postings = _longer(self._postings, size)
            self._postings_used = int(
                _move_postings(
                    full,
                    rooms,
                    self._post_start,
                    self._post_length,
                    self._post_room,
                    self._postings,
                    self._postings_used,
                )
            )


def _longer(array: Array, size: int) -> Array:
    result = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    result[: len(array)] = array
    return result


def _packed(chosen: Ints, start: Array, length: Array) -> tuple[Array, Ints]:
    """New starts of stretches that lie one behind the other, and the old places of all of them."""
    lengths = length[chosen]
    ends = np.cumsum(lengths)
    starts = np.zeros_like(start)
    starts[chosen] = ends - lengths
    total = int(ends[-1]) if len(ends) else 0
    places: Ints = np.arange(total) + np.repeat(start[chosen] - starts[chosen], lengths)
    return starts, places


@kernel
def _walk(
    words: Array,
    occurrences: Array,
    weights: Array,
    post_start: Array,
    post_length: Array,
    postings: Array,
    start: Array,
    pool: Array,
    significance: Array,
    by_unit_weight: bool,
    n_units: Array,
    is_open: Array,
    floor: int,
    sums: Array,
    touched: Array,
) -> int:
    """Walks the postings of a unit's words and adds up, per domain, the shared parts of eq. 7.

    sums[d] = domain weight, domain occurrences, unit weight, unit occurrences, activation (eq. 6).
    """
    n_touched = 0
    for i in range(len(words)):
        word = words[i]
        if word >= len(post_start):
            continue
        signif = significance[word] if word < len(significance) else 65536
        for p in range(post_start[word], post_start[word] + post_length[word]):
            domain = postings[p, 0]
            if not is_open[domain]:
                continue
            at = start[domain] + postings[p, 1]
            occurrence = pool[at, 0]
            if occurrence <= 0:
                continue
            if by_unit_weight:
                weight = pool[at, 1]
            else:
                weight = min(occurrence, n_units[domain]) * signif
            if weight < floor * n_units[domain]:
                continue
            if sums[domain, 1] == 0:
                touched[n_touched] = domain
                n_touched += 1
            sums[domain, 0] += weight
            sums[domain, 1] += occurrence
            sums[domain, 2] += weights[i]
            sums[domain, 3] += occurrences[i]
            sums[domain, 4] += weight * weights[i]
    return n_touched


@kernel
def _best_two(
    touched: Array,
    sums: Array,
    total_weight: Array,
    total_occurrences: Array,
    unit_weight: float,
    unit_occurrences: float,
) -> tuple[int, float, int, float]:
    """The two best domains by eq. 7 with their scores; ties go to the older domain."""
    best, second = 0, 0
    best_score, second_score = -1.0, -1.0
    for i in range(len(touched)):
        d = touched[i]
        share = (
            (sums[d, 0] / total_weight[d])
            * (sums[d, 1] / total_occurrences[d])
            * (sums[d, 2] / unit_weight)
            * (sums[d, 3] / unit_occurrences)
        )
        score = np.sqrt(np.sqrt(share))
        if score > best_score or (score == best_score and d < best):
            second, second_score = best, best_score
            best, best_score = d, score
        elif score > second_score or (score == second_score and d < second):
            second, second_score = d, score
    return best, best_score, second, max(second_score, 0.0)


@kernel
def _totals(
    domain: int,
    start: Array,
    length: Array,
    pool_words: Array,
    pool: Array,
    significance: Array,
    by_unit_weight: bool,
    n_units: Array,
    floor: int,
) -> tuple[int, int]:
    """Weight and occurrences of a domain over the words that are heavy enough to be compared."""
    total_weight = 0
    total_occurrences = 0
    for at in range(start[domain], start[domain] + length[domain]):
        occurrence = pool[at, 0]
        if occurrence <= 0:
            continue
        if by_unit_weight:
            weight = pool[at, 1]
        else:
            word = pool_words[at]
            signif = significance[word] if word < len(significance) else 65536
            weight = min(occurrence, n_units[domain]) * signif
        if weight >= floor * n_units[domain]:
            total_weight += weight
            total_occurrences += occurrence
    return total_weight, total_occurrences


@kernel
def _add(
    domain: int,
    sign: int,
    words: Array,
    occurrences: Array,
    weights: Array,
    start: Array,
    length: Array,
    pool_words: Array,
    pool: Array,
    post_start: Array,
    post_length: Array,
    postings: Array,
) -> None:
    """Adds a unit's words to a domain (or takes them away); there is room for all of them."""
    for i in range(len(words)):
        word = words[i]
        position = -1
        for p in range(post_start[word], post_start[word] + post_length[word]):
            if postings[p, 0] == domain:
                position = postings[p, 1]
                break
        if position < 0:
            position = length[domain]
            length[domain] += 1
            pool_words[start[domain] + position] = word
            pool[start[domain] + position, 0] = 0
            pool[start[domain] + position, 1] = 0
            p = post_start[word] + post_length[word]
            postings[p, 0] = domain
            postings[p, 1] = position
            post_length[word] += 1
        pool[start[domain] + position, 0] += sign * occurrences[i]
        pool[start[domain] + position, 1] += sign * weights[i]


@kernel
def _enter(
    domain: int,
    words: Array,
    occurrences: Array,
    weights: Array,
    start: Array,
    length: Array,
    pool_words: Array,
    pool: Array,
    post_start: Array,
    post_length: Array,
    postings: Array,
) -> None:
    """Enters the sums of a whole domain that the index does not have yet."""
    for i in range(len(words)):
        word = words[i]
        at = start[domain] + i
        pool_words[at] = word
        pool[at, 0] = occurrences[i]
        pool[at, 1] = weights[i]
        p = post_start[word] + post_length[word]
        postings[p, 0] = domain
        postings[p, 1] = i
        post_length[word] += 1
    length[domain] = len(words)


@kernel
def _leave(
    domain: int,
    start: Array,
    length: Array,
    pool_words: Array,
    post_start: Array,
    post_length: Array,
    postings: Array,
) -> None:
    """Takes a whole domain out of the postings of its words; the last posting fills the gap."""
    for at in range(start[domain], start[domain] + length[domain]):
        word = pool_words[at]
        last = post_start[word] + post_length[word] - 1
        for p in range(post_start[word], last + 1):
            if postings[p, 0] == domain:
                postings[p, 0] = postings[last, 0]
                postings[p, 1] = postings[last, 1]
                post_length[word] -= 1
                break
    length[domain] = 0


@kernel
def _move_postings(
    words: Array,
    rooms: Array,
    post_start: Array,
    post_length: Array,
    post_room: Array,
    postings: Array,
    used: int,
) -> int:
    """Moves the postings of full words to the end, where they have room to grow."""
    for i in range(len(words)):
        word = words[i]
        for j in range(post_length[word]):
            postings[used + j, 0] = postings[post_start[word] + j, 0]
            postings[used + j, 1] = postings[post_start[word] + j, 1]
        post_start[word] = used
        post_room[word] = rooms[i]
        used += rooms[i]
    return used
