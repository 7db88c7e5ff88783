"""Values of placement: settings, units, stories, domains and events, and a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LABEL_WORDS",
    "TOP_WORDS",
    "Bag",
    "BagColumns",
    "DomainWords",
    "EventRecord",
    "EventSettings",
    "Ints",
    "Placement",
    "PlacementSettings",
    "Story",
]

Ints = NDArray[np.int64]

TOP_WORDS = 12
"""Number of words of a domain that are stored as text, for display and search."""

LABEL_WORDS = 3
"""Number of words in the automatic label of a domain."""


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """Settings of the placement of units; the published method leaves all of them open."""

    threshold: float = 0.165
    """Least similarity at which a unit joins the best domain."""
    aging: float = 0.3
    """Share of the similarity that a domain without recent stories loses."""
    aging_stories: int = 3000
    """Number of stories without a new unit after which it has lost that share."""
    domain_weight: str = "mean-unit-weight"
    """Weight of a word in a domain: `mean-unit-weight` or `occurrence-significance`."""
    min_weight: float = 0.02
    """Least weight of the words of a domain that are compared."""
    count: str = "units"
    """What an occurrence is: a unit that contains the word (`units`) or a token (`tokens`)."""
    inferred_occurrence: int = 1
    """Occurrences that a word inferred from the network adds to a unit."""
    prefilter: str = "none"
    """`activation` compares only the domains with the highest activation (eq. 6)."""
    activation_share: float = 0.5
    """Least activation of a compared domain, as a share of the highest one."""
    activation_most: int = 20
    """Number of domains that are compared at most after the activation filter."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold={self.threshold} should be above 0 and at most 1")
        if not 0 <= self.aging < 1:
            raise ValueError(f"aging={self.aging} should be at least 0 and below 1")
        if self.aging_stories < 1:
            raise ValueError(f"aging_stories={self.aging_stories} should be >= 1")
        if self.domain_weight not in ("mean-unit-weight", "occurrence-significance"):
            raise ValueError(
                f"domain_weight={self.domain_weight!r} should be "
                "'mean-unit-weight' or 'occurrence-significance'"
            )
        if not 0 <= self.min_weight < 1:
            raise ValueError(f"min_weight={self.min_weight} should be at least 0 and below 1")
        if self.count not in ("units", "tokens"):
            raise ValueError(f"count={self.count!r} should be 'units' or 'tokens'")
        # A word without occurrences would not be part of its domain.
        if self.inferred_occurrence < 1:
            raise ValueError(f"inferred_occurrence={self.inferred_occurrence} should be >= 1")
        if self.prefilter not in ("none", "activation"):
            raise ValueError(f"prefilter={self.prefilter!r} should be 'none' or 'activation'")
        if not 0 <= self.activation_share <= 1:
            raise ValueError(f"activation_share={self.activation_share} should be in 0..1")
        if self.activation_most < 1:
            raise ValueError(f"activation_most={self.activation_most} should be >= 1")


@dataclass(frozen=True, slots=True)
class EventSettings:
    """Settings of the placement of stories in events."""

    threshold: float = 0.3
    """Least score at which a story joins an event."""
    quiet_days: int = 14
    """Days of the stream after which an event that took no story is closed."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 1:
            raise ValueError(f"event_threshold={self.threshold} should be above 0 and at most 1")
        if self.quiet_days < 1:
            raise ValueError(f"event_quiet_days={self.quiet_days} should be at least 1")


class Bag(NamedTuple):
    """The words of a unit: distinct numbers in ascending order, counts, fixed-point weights.

    A word with the count 0 is not in the text: it was inferred from the network.
    """

    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    weights: NDArray[np.int32]

    @property
    def observed(self) -> Bag:
        """The words that occur in the text, without inferred ones.

        >>> words, weights = np.array([3, 8], np.int32), np.array([65536, 9], np.int32)
        >>> Bag(words, np.array([2, 0], np.int32), weights).observed.words.tolist()
        [3]
        """
        in_text = self.counts > 0
        if in_text.all():
            return self
        return Bag(self.words[in_text], self.counts[in_text], self.weights[in_text])


class BagColumns(NamedTuple):
    """Units one after the other, each up to its entry of `ends`: columns as those of `Bag`.

    >>> numbers = np.array([3, 8, 5], np.int32)
    >>> BagColumns(numbers, numbers, numbers, np.array([2, 3])).bag(1).words.tolist()
    [5]
    """

    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    weights: NDArray[np.int32]
    ends: Ints

    def bag(self, number: int) -> Bag:
        """Return one unit."""
        a, b = self.ends[number - 1] if number else 0, self.ends[number]
        return Bag(self.words[a:b], self.counts[a:b], self.weights[a:b])

    def part(self, first: int, last: int) -> BagColumns:
        """Return the units from `first` to the one before `last`."""
        a = self.ends[first - 1] if first else np.int64(0)
        b = self.ends[last - 1] if last else np.int64(0)
        ends = self.ends[first:last] - a
        return BagColumns(self.words[a:b], self.counts[a:b], self.weights[a:b], ends)


class Placement(NamedTuple):
    """The domain that a unit joins, if one is similar enough, with the two best candidates."""

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


class Story(NamedTuple):
    """A story as events see it: the words of its units, its day (0: none) and its ordinal."""

    bags: Sequence[Bag]
    day: int
    ordinal: int


class EventRecord(NamedTuple):
    """An event as it is after an update."""

    id: int
    sums: DomainWords
    """Sums of the vectors of its stories; `n_units` and occurrences count stories."""
    units: int
    days: tuple[tuple[int, int], ...]
    """Its days, ascending, and how many stories each has; undated stories have none."""
    day: int
    """The day of the stream when it last took a story."""
    grown: int
    """The ordinal of the last story that it took."""
    closed_by: int | None
    """The run that closed it; None if it is open."""
    run: int
    """The run that made it."""
