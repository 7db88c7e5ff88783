"""Word spaces: words as vectors, which a network has too, or learned from a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation

__all__ = ["Space", "WordSpace", "learn_space"]

Numbers = NDArray[np.int64]


class Space(Protocol):
    """Words as vectors; a network is one too."""

    @property
    def vectors(self) -> NDArray[Any]:
        """One row of length 1 for each word."""

    def numbers(self, words: Sequence[str]) -> Numbers:
        """Return the row of each word, -1 where it is unknown."""


@dataclass(frozen=True, slots=True)
class WordSpace:
    """Words and their vectors of length 1, learned from a corpus.

    >>> WordSpace({"storm": 0}, np.ones((1, 1))).numbers(["storm", "bank"])
    array([ 0, -1])
    """

    rows: Mapping[str, int]
    vectors: NDArray[Any]

    def numbers(self, words: Sequence[str]) -> Numbers:
        return np.fromiter((self.rows.get(word, -1) for word in words), np.int64, len(words))


def learn_space(
    annotations: Iterable[Annotation],
    *,
    rank: int = 200,
    min_documents: int = 3,
    max_share: float = 0.2,
) -> WordSpace:
    """Return the word space of the content words of documents.

    The vectors are those of `segapsith.lexicon.word_vectors`.
    """
    from segapsith.lexicon.word_vectors import learn_points

    numbers: dict[str, int] = {}
    columns: list[int] = []
    ends: list[int] = []
    for annotation in annotations:
        for i in np.flatnonzero(annotation.content).tolist():
            columns.append(numbers.setdefault(annotation.lemmas[i], len(numbers)))
        ends.append(len(columns))
    points = learn_points(
        np.array(columns, np.int32),
        np.array(ends, np.int64),
        rank=rank,
        min_documents=min_documents,
        max_share=max_share,
    )
    words = list(numbers)
    rows = {words[i]: row for row, i in enumerate(points.words.tolist())}
    return WordSpace(rows, points.vectors)
