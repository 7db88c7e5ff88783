"""The parts of the similarity of a unit and a domain: common words and the four ratios of eq. 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex, unit_occurrences
from segapsith.domains.values import Bag
from segapsith.lexicon.vocabulary import SCALE

__all__ = ["RATIOS", "SharedWord", "SimilarityParts", "explain_similarity"]

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


def explain_similarity(index: DomainIndex, domain: int, bag: Bag) -> SimilarityParts:
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
            float(domain_weights[j]) / (SCALE * max(int(index.n_units[domain]), 1)),
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
