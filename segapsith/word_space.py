"""Words as points: those that keep to the same documents lie in the same direction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Matrix
from segapsith.model import Annotation

__all__ = ["Space", "WordSpace", "learn_space"]

Numbers = NDArray[np.int64]


class Space(Protocol):
    """Words as points, as a network has them too."""

    @property
    def vectors(self) -> NDArray[Any]:
        """One row of length 1 for each word."""

    def numbers(self, words: Sequence[str]) -> Numbers:
        """The row of each word, -1 where it is unknown."""


@dataclass(frozen=True, slots=True)
class WordSpace:
    """Words and their vectors of length 1, learned from a corpus.

    >>> WordSpace({"storm": 0}, np.ones((1, 1))).numbers(["storm", "bank"])
    array([ 0, -1])
    """

    rows: Mapping[str, int]
    vectors: Matrix

    def numbers(self, words: Sequence[str]) -> Numbers:
        return np.fromiter((self.rows.get(word, -1) for word in words), np.int64, len(words))


def learn_space(
    annotations: Iterable[Annotation],
    *,
    rank: int = 200,
    min_documents: int = 3,
    max_share: float = 0.2,
) -> WordSpace:
    """Latent semantic analysis of the content words of documents (Deerwester et al. 1990).

    Rows x_dw = (1 + ln tf) ln(N / df), each of length 1; X = U S V'; a word is its row of
    V S^(1/2), scaled to length 1. The rank is at most a quarter of the number of documents:
    beyond that the axes of a small corpus are its single documents. Words in fewer than
    `min_documents` documents, or in more than `max_share` of them, are left out. The largest
    entry of every axis is positive, so that the same documents give the same space.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    numbers: dict[str, int] = {}
    columns: list[int] = []
    ends = [0]
    for annotation in annotations:
        for i in np.flatnonzero(annotation.content).tolist():
            columns.append(numbers.setdefault(annotation.lemmas[i], len(numbers)))
        ends.append(len(columns))
    n_documents = len(ends) - 1
    rows = csr_array(
        (np.ones(len(columns)), np.array(columns, np.int64), np.array(ends, np.int64)),
        shape=(n_documents, len(numbers)),
    )
    rows.sum_duplicates()
    spread = np.bincount(rows.indices, minlength=len(numbers))
    known = np.flatnonzero((spread >= min_documents) & (spread <= max_share * n_documents))
    rank = min(rank, n_documents // 4, len(known) - 1)
    if rank < 1:  # too little to learn from
        return WordSpace({}, np.zeros((0, 1)))
    rows = rows[:, known]
    rows.data = 1 + np.log(rows.data)
    rows = csr_array(rows.multiply(np.log(n_documents / spread[known])[None, :]))
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    rows = csr_array(rows.multiply(1 / np.maximum(lengths, 1e-12)[:, None]))
    start = np.random.default_rng(0).standard_normal(min(rows.shape))
    _, sizes, axes = svds(rows, k=rank, v0=start)
    order = np.argsort(-sizes, kind="stable")
    axes = axes[order]
    largest = np.abs(axes).argmax(axis=1)
    signs = np.sign(axes[np.arange(rank), largest])
    points = (axes * (signs * np.sqrt(np.maximum(sizes[order], 0)))[:, None]).T
    vectors = points / np.maximum(np.linalg.norm(points, axis=1), 1e-12)[:, None]
    words = list(numbers)
    return WordSpace({words[i]: row for row, i in enumerate(known.tolist())}, vectors)
