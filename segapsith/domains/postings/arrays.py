"""The sums of all domains and the inverted index from words to domains, as flat arrays.

A domain has a slice of the pool with one entry per word. A word has a slice of the postings with
one entry per domain. Both slices begin with the entries that are compared: the words that weigh
enough in their domain, if the domain is open. The other entries follow, so a comparison never
reads them. After a domain has changed, `sums.rebalance` moves its words to the right side. A slice
that is full is moved to the end of its array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_AGING", "Aging", "Array", "Index", "WeightRule", "empty_index"]

Array = NDArray[Any]

START, LENGTH, N_COMPARED, CAPACITY = range(4)
"""Columns of `Index.word_lists`."""

DOMAIN, POSITION = range(2)
"""Rows of `Index.postings`."""

POOL, POSTINGS, DOMAINS, FULL_DOMAIN = range(4)
"""Entries of `Index.used`: the ends of the pool, of the postings and of the domains, and the domain
that was full when `place_units` stopped."""


class Index(NamedTuple):
    """The arrays. The number of a domain is its row in the arrays of domains; 0 is no domain."""

    # One row per domain: its slice of the pool, the number of compared words, and its sums.
    start: Array
    length: Array
    n_compared: Array
    capacity: Array
    n_units: Array
    is_open: Array
    newest: Array
    """Ordinal of the last story that joined it; 0 is not known."""
    totals: Array
    """Weight and occurrences, summed over the compared words."""
    # One row per entry of the pool.
    words: Array
    pool: Array
    """Occurrences, weight."""
    offsets: Array
    """Position of its posting, relative to the start of the slice of the word."""
    # One row per word: its slice of the postings, and how many of them are compared.
    word_lists: Array
    """Start, length, number of compared postings, capacity."""
    # One entry per posting.
    postings: Array
    """Domain, position in the slice of the domain."""
    posting_sums: Array
    """Weight and occurrences: a copy of the pool, up to date while the posting is compared."""
    significance: Array
    # Scratch: the sums that a unit shares with each domain, and the domains that share a word.
    sums: Array
    touched: Array
    used: Array


class WeightRule(NamedTuple):
    """Formula for the weight of a word in a domain, and the least compared weight (fixed point)."""

    by_unit_weight: bool
    min_weight: int


class Aging(NamedTuple):
    """How much older domains lose: similarity * (1 - share * min(age, stories) / stories).

    The age of a domain is the number of stories since the last one that joined it.
    """

    share: float
    stories: int


NO_AGING = Aging(0.0, 1)


def empty_index() -> Index:
    """Return the arrays of an index without domains."""

    def integers(*shape: int) -> Array:
        return np.zeros(shape, dtype=np.int64)

    return Index(
        start=integers(16),
        length=integers(16),
        n_compared=integers(16),
        capacity=integers(16),
        n_units=integers(16),
        is_open=np.zeros(16, dtype=np.bool_),
        newest=integers(16),
        totals=integers(16, 2),
        words=np.zeros(1024, dtype=np.int32),
        pool=integers(1024, 2),
        offsets=np.zeros(1024, dtype=np.int32),
        word_lists=integers(1024, 4),
        postings=np.zeros((2, 1024), dtype=np.uint32),
        posting_sums=integers(1024, 2),
        significance=integers(0),
        sums=integers(16, 4),
        touched=integers(16),
        used=np.array([0, 0, 1, 0], dtype=np.int64),
    )
