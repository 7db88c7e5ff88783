"""Domain sums as weighted words, for reading."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainWords
from segapsith.engine.records import Frozen
from segapsith.lexicon.weighting import SCALE, significance
from segapsith_store.store import Store

__all__ = ["Words"]


class Words:
    """Domain sums to weighted words, with the words' names looked up once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[int, str] = {}
        self.significance: NDArray[np.float64] | None = None
        if store.facts().get("domain_weight") == "occurrence-significance":
            self.significance = self._learned()

    def _learned(self) -> NDArray[np.float64]:
        record = self._store.frozen_arrays("frequencies")
        if record is None:
            return np.zeros(0)
        frozen = Frozen.of(dict(record.arrays))
        values = np.ones(len(frozen.occurrences))
        for number, lang, _, _, _ in self._store.words():
            if number < len(values):
                tokens = frozen.totals.get(lang, (0, 0))[1]
                values[number] = significance(tokens, frozen.occurrences[number : number + 1])[0]
        return values

    def name(self, number: int) -> str:
        if not self._names:
            self._names = {
                number: word for number, word in self._store.rows("SELECT id, word FROM words")
            }
        return self._names[number]

    def telling(self, numbers: NDArray[np.integer]) -> NDArray[np.float64] | None:
        """How telling words are, where the store weighs by occurrence and significance."""
        if self.significance is None:
            return None
        values = np.ones(len(numbers))
        known = numbers < len(self.significance)
        values[known] = self.significance[numbers[known]]
        return values

    def best(
        self, sums: DomainWords, top: int | None, above: float | None = None
    ) -> list[dict[str, Any]]:
        """Words with their weights, heaviest first: `top` of them, and with `above` also all others
        that weigh more."""
        n_units = max(sums.n_units, 1)
        signif = self.telling(sums.words)
        if signif is None:
            weights = sums.weights / (float(SCALE) * n_units)
        else:
            weights = np.minimum(sums.occurrences, n_units) * signif / n_units
        if above is not None and top is not None:
            top = max(top, int((weights > above).sum()))
        order = np.lexsort((sums.words, -sums.occurrences, -weights))[:top]
        return [
            {
                "word": self.name(int(sums.words[i])),
                "weight": round(float(weights[i]), 6),
                "occurrences": int(sums.occurrences[i]),
            }
            for i in order
        ]
