"""The parts of the similarity of a unit and a domain: common words and the four ratios of eq. 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import unit_occurrences
from segapsith.domains.values import Bag, DomainWords, Ints, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE

__all__ = ["RATIOS", "FewDomains", "SharedWord", "SimilarityParts", "explain_similarity"]

RATIOS = ("domain_weight", "domain_occurrences", "unit_weight", "unit_occurrences")
"""Names of the factors of eq. 7: shares of weight and occurrences that lie on common words."""


@dataclass(frozen=True, slots=True)
class SharedWord:
    """A word that a unit and a domain share."""

    word: int
    unit_weight: float
    unit_count: int
    domain_weight: float
    occurrences: int


@dataclass(frozen=True, slots=True)
class SimilarityParts:
    """The similarity of a unit and a domain by eq. 7, its ratios and the shared words, heaviest first."""

    domain: int
    score: float
    ratios: tuple[float, float, float, float]
    shared: list[SharedWord]

    def as_json(self, name: Callable[[int], str], most: int | None = None) -> dict[str, Any]:
        """Return plain values; `name` gives the text of a word, `most` limits the words."""
        return {
            "score": round(self.score, 6),
            "ratios": {
                ratio: round(value, 6) for ratio, value in zip(RATIOS, self.ratios, strict=True)
            },
            "words": [
                {
                    "word": name(w.word),
                    "unit_weight": round(w.unit_weight, 6),
                    "count": w.unit_count,
                    "domain_weight": round(w.domain_weight, 6),
                    "occurrences": w.occurrences,
                }
                for w in self.shared[:most]
            ],
        }


Profile = tuple[NDArray[np.int32], Ints, Ints, NDArray[np.bool_]]
"""Words, weights (integers), occurrences, and which words are heavy enough to be compared."""


class _Domains(Protocol):
    """Domains that a unit is compared with: a `DomainIndex`, or `FewDomains`."""

    settings: PlacementSettings

    def profile(self, domain: int) -> Profile: ...
    def size(self, domain: int) -> int: ...


class FewDomains:
    """Some domains by number, without an inverted index: to explain, not to place.

    It needs no compiled kernels, so a reader starts quickly and stays small.
    """

    def __init__(
        self, settings: PlacementSettings, significance: NDArray[np.float64] | None = None
    ) -> None:
        self.settings = settings
        self._significance = np.zeros(0, np.int64)
        if significance is not None:
            self._significance = np.rint(significance * SCALE).astype(np.int64)
        self._sums: dict[int, DomainWords] = {}

    def restore(self, domain: int, sums: DomainWords) -> None:
        """Add a domain."""
        self._sums[domain] = sums

    def remove_unit(self, domain: int, bag: Bag) -> None:
        """Subtract a unit from the sums of its domain."""
        sums = self._sums[domain]
        occurrences, weights = sums.occurrences.copy(), sums.weights.copy()
        at = np.searchsorted(sums.words, bag.words)
        settings = self.settings
        occurrences[at] -= unit_occurrences(
            bag, settings.count == "tokens", settings.inferred_occurrence
        )
        weights[at] -= bag.weights
        left = occurrences > 0
        self._sums[domain] = DomainWords(
            sums.words[left], occurrences[left], weights[left], sums.n_units - 1
        )

    def size(self, domain: int) -> int:
        """Return the number of units of a domain."""
        return self._sums[domain].n_units

    def profile(self, domain: int) -> Profile:
        """Return words, weights, occurrences, and which words are heavy enough to be compared."""
        sums = self._sums[domain]
        weights = sums.weights
        if self.settings.domain_weight != "mean-unit-weight":
            significance = np.full(len(sums.words), SCALE, dtype=np.int64)
            known = sums.words < len(self._significance)
            significance[known] = self._significance[sums.words[known]]
            weights = np.minimum(sums.occurrences, sums.n_units) * significance
        least = int(np.ceil(self.settings.min_weight * SCALE))
        return sums.words, weights, sums.occurrences, weights >= least * sums.n_units


def explain_similarity(index: _Domains, domain: int, bag: Bag) -> SimilarityParts:
    """Return eq. 7 between a unit and one domain of an index, with its parts."""
    words, weights, occurrences, compared = index.profile(domain)
    settings = index.settings
    own_occurrences = unit_occurrences(
        bag, settings.count == "tokens", settings.inferred_occurrence
    )
    _, in_unit, in_domain = np.intersect1d(
        bag.words, words[compared], assume_unique=True, return_indices=True
    )
    domain_weights, domain_occurrences = weights[compared], occurrences[compared]
    ratios = (
        _share(domain_weights, in_domain),
        _share(domain_occurrences, in_domain),
        _share(bag.weights, in_unit),
        _share(own_occurrences, in_unit),
    )
    shared = [
        SharedWord(
            int(bag.words[i]),
            float(bag.weights[i]) / SCALE,
            int(bag.counts[i]),
            float(domain_weights[j]) / (SCALE * max(index.size(domain), 1)),
            int(domain_occurrences[j]),
        )
        for i, j in zip(in_unit.tolist(), in_domain.tolist(), strict=True)
    ]
    shared.sort(key=lambda w: (-w.unit_weight * w.domain_weight, w.word))
    return SimilarityParts(domain, float(np.prod(ratios)) ** 0.25, ratios, shared)


def _share(values: NDArray[np.integer], common: NDArray[np.integer]) -> float:
    """Return the share of a sum that lies on the common words."""
    total = int(values.sum(dtype=np.int64))
    return int(values[common].sum(dtype=np.int64)) / total if total else 0.0
