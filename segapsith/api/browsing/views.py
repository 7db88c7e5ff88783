"""Values that pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segapsith.arrays import Matrix
from segapsith.domains.trends import Burst, Trend
from segapsith.model import Json, Result
from segapsith_store.queries.browsing.activity import Described, Lifetime
from segapsith_store.queries.browsing.stories import UnitSummary
from segapsith_store.queries.browsing.story_search import StoryHits
from segapsith_store.queries.domains import NearDomain, TypicalSentence
from segapsith_store.queries.words import WeightedWord, WordCounts

__all__ = [
    "DomainMap",
    "DomainPage",
    "MergePart",
    "MergePreview",
    "Peak",
    "Series",
    "TimeSeries",
    "WordDomain",
    "WordPage",
]


@dataclass(frozen=True, slots=True)
class Peak(Result):
    """A day on which a domain had far more units than expected, with its best headline."""

    burst: Burst
    story: UnitSummary | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPage(Result):
    """A domain with everything but its list of stories."""

    row: Described
    lifetime: Lifetime
    topic: int | None
    trend: Trend
    words: Sequence[WeightedWord]
    days: Mapping[str, int]
    peaks: Sequence[Peak]
    sentences: Sequence[TypicalSentence]
    sources: Mapping[str, int]
    near: Sequence[NearDomain]
    history: Sequence[Mapping[str, Json]]
    verdict: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class WordDomain(Result):
    """A domain that has a word, and the weight of the word in it."""

    id: int
    label: str
    units: int
    weight: float


@dataclass(frozen=True, slots=True)
class WordPage(Result):
    """A word with its counts, the domains that have it, and its stories by day."""

    word: WordCounts
    domains: Sequence[WordDomain]
    hits: StoryHits


@dataclass(frozen=True, slots=True)
class MergePart(Result):
    """A domain that would be merged."""

    row: Described
    words: Sequence[WeightedWord]
    stories: Sequence[UnitSummary]


@dataclass(frozen=True, slots=True)
class MergePreview(Result):
    """Domains that would be merged, their similarity to the first, and their words together."""

    parts: Sequence[MergePart]
    similarities: Sequence[float]
    words: Sequence[WeightedWord]


@dataclass(frozen=True, slots=True)
class DomainMap:
    """The largest domains of a language, and how similar they are to each other."""

    langs: Sequence[str]
    """The languages of the store, the largest first."""
    lang: str
    domains: Sequence[Described]
    similarities: Matrix
    total: int
    """Domains of the language."""


@dataclass(frozen=True, slots=True)
class Series(Result):
    """Units of a domain or topic over time, and their share of the stream."""

    kind: str
    id: int
    label: str
    units: Sequence[int]
    share: Sequence[float]


@dataclass(frozen=True, slots=True)
class TimeSeries(Result):
    """Several series over the same days, weeks or months."""

    by: str
    starts: Sequence[str]
    """First day of each day, week or month."""
    stream: Sequence[int]
    """Units of all domains."""
    series: Sequence[Series]
