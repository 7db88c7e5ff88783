"""Semantic domains of a stream of dicts: word to weight."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from river import base
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.domains.stream import RowStream
from segapsith.domains.values import PlacementSettings

__all__ = ["DomainStream"]

_DEFAULT = PlacementSettings()


class DomainStream(base.Clusterer):
    """Domains that grow with every unit: it joins the most similar one, or starts one.

    A unit is a dict of words to weights >= 0, such as counts. It is divided by its largest weight.
    Any key can be a word, and new words may come at any time.

    Parameters
    ----------
    threshold
        Least similarity at which a unit joins a domain.
    aging
        Share of the similarity that a domain without recent units loses.
    aging_stories
        Number of units without a new one after which a domain has lost that share.
    min_weight
        Least weight of the words of a domain that are compared.

    Examples
    --------
    >>> stream = DomainStream()
    >>> for unit in ({"bank": 2, "rate": 1}, {"team": 1, "goal": 2}, {"bank": 1, "rate": 1}):
    ...     stream.learn_one(unit)
    >>> stream.n_domains, stream.predict_one({"goal": 1}), stream.predict_one({"vote": 1})
    (2, 1, -1)

    """

    def __init__(
        self,
        threshold: float = _DEFAULT.threshold,
        aging: float = _DEFAULT.aging,
        aging_stories: int = _DEFAULT.aging_stories,
        min_weight: float = _DEFAULT.min_weight,
    ) -> None:
        self.threshold = threshold
        self.aging = aging
        self.aging_stories = aging_stories
        self.min_weight = min_weight
        self._words: dict[Hashable, int] = {}
        self._stream = RowStream(
            PlacementSettings(
                threshold=threshold,
                aging=aging,
                aging_stories=aging_stories,
                min_weight=min_weight,
            )
        )

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}

    @property
    def n_domains(self) -> int:
        """The number of domains."""
        return self._stream.n_domains

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Add a unit to the most similar domain, or start one."""
        weights = _checked(x)
        for word in weights:
            self._words.setdefault(word, len(self._words))
        self._stream.place(self._row(weights))

    def predict_one(self, x: Mapping[Any, Any]) -> int:
        """Return the domain that a unit would join; -1 if it is empty or would start one."""
        return int(self._stream.find(self._row(_checked(x)))[0])

    def top_words(self, domain: int, most: int = 10) -> list[tuple[Any, float]]:
        """Return the heaviest words of a domain with their weights."""
        if not 0 <= domain < self.n_domains:
            raise ValueError(f"domain={domain} should be in 0..{self.n_domains - 1}")
        words = list(self._words)
        return [(words[column], weight) for column, weight in self._stream.heaviest(domain, most)]

    def _row(self, weights: Mapping[Any, float]) -> Rows:
        """Return a unit as a row; words that were not learned are at its end."""
        new = len(self._words)
        columns = []
        for word in weights:
            columns.append(self._words.get(word, new))
            new += word not in self._words
        ends = np.array([0, len(columns)])
        return csr_array((np.array(list(weights.values()), float), columns, ends), shape=(1, new))


def _checked(x: Mapping[Any, Any]) -> dict[Any, float]:
    """Return the words with a weight above 0; a wrong weight is an error that names its word."""
    for word, weight in x.items():
        number = isinstance(weight, int | float | np.number | np.bool_)
        if not number or not math.isfinite(weight) or weight < 0:
            raise ValueError(f"the weight of {word!r} is {weight!r}; a number >= 0 is expected")
    return {word: float(weight) for word, weight in x.items() if weight > 0}
