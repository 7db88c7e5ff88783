"""Why a unit is near a domain: the words they share and the four ratios of eq. 7."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag
from segapsith.lexicon.weighting import SCALE

__all__ = ["RATIOS", "Nearness", "Shared", "nearness"]

RATIOS = ("domain_weight", "domain_occurrences", "unit_weight", "unit_occurrences")
"""Of the domain's weight and occurrences, then of the unit's, the share that lies on common words."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A word that a unit and a domain have in common."""

    word: int
    unit_weight: float
    unit_count: int
    domain_weight: float
    occurrences: int


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a unit is to a domain by eq. 7, and what makes it so; heaviest words first."""

    domain: int
    score: float
    ratios: tuple[float, float, float, float]
    shared: list[Shared]

    def as_json(self, name: Callable[[int], str], most: int | None = None) -> dict[str, Any]:
        return {
            "score": round(self.score, 6),
            "ratios": {
                what: round(value, 6) for what, value in zip(RATIOS, self.ratios, strict=True)
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


def nearness(index: DomainIndex, domain: int, bag: Bag) -> Nearness:
    """Eq. 7 between a unit and one domain of an index, taken apart."""
    words, weights, occurrences, compared = index.profile(domain)
    settings = index.settings
    counted = bag.occurrences(settings.count == "tokens", settings.inferred_occurrence)
    heavy = words[compared]
    _, mine, theirs = np.intersect1d(bag.words, heavy, assume_unique=True, return_indices=True)
    domain_weights, domain_occurrences = weights[compared], occurrences[compared]
    ratios = (
        _share(domain_weights, theirs),
        _share(domain_occurrences, theirs),
        _share(bag.weights, mine),
        _share(counted, mine),
    )
    shared = [
        Shared(
            int(bag.words[i]),
            float(bag.weights[i]) / SCALE,
            int(bag.counts[i]),
            float(domain_weights[j]) / (SCALE * max(int(index.n_units[domain]), 1)),
            int(domain_occurrences[j]),
        )
        for i, j in zip(mine.tolist(), theirs.tolist(), strict=True)
    ]
    shared.sort(key=lambda w: (-w.unit_weight * w.domain_weight, w.word))
    return Nearness(domain, float(np.prod(ratios)) ** 0.25, ratios, shared)


def _share(values: NDArray[np.integer], chosen: NDArray[np.integer]) -> float:
    total = int(values.sum(dtype=np.int64))
    return int(values[chosen].sum(dtype=np.int64)) / total if total else 0.0
