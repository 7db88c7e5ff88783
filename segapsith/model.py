"""The nouns: what travels along the line from a text to a domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapsith.arrays import Rows

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

__all__ = [
    "Agreement",
    "Annotation",
    "Document",
    "Lexicon",
    "Network",
    "Reject",
    "Snapshot",
    "Unit",
]


@dataclass(frozen=True, slots=True)
class Document:
    """One item of a wire: a title, a body, and what is known about them.

    An empty `uid` means that the source gave none; the store then takes the hash of
    the normalised text. `date` is ISO 8601 or None. What a data set brings as labels
    lies in `metadata` and never enters learning.
    """

    uid: str = ""
    title: str = ""
    body: str = ""
    date: str | None = None
    lang: str | None = None
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    bag: Mapping[str, int] | None = None
    """Words with their counts, for a thematic unit that was made elsewhere."""

    @property
    def text(self) -> str:
        """The title, a blank line and the body; character offsets refer to this.

        >>> Document(title="Flood", body="The river rose.").text
        'Flood\\n\\nThe river rose.'
        """
        return (
            f"{self.title}\n\n{self.body}" if self.title and self.body else self.title or self.body
        )


@dataclass(frozen=True, slots=True)
class Reject:
    """An item that could not be taken, with the reason; the others go on."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What the stream has taught about words so far, frozen for one epoch of the clock."""

    epoch: int = 0
    terms: Mapping[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    """Accepted multi-word terms by language, each a sequence of lemmas."""


@dataclass(frozen=True, slots=True)
class Network:
    """The collocation network, frozen for one epoch of the clock; empty until one is learned."""

    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Annotation:
    """A document's tokens: lemmas, character spans, which are content words, sentence spans.

    `spans` and `sentences` are arrays of shape (n, 2) with start and end in `document.text`.
    """

    document: Document
    lemmas: Sequence[str]
    spans: NDArray[np.int32]
    content: NDArray[np.bool_]
    sentences: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a text that is about one thing.

    `first` and `last` delimit its tokens in the annotation (half open), `start` and `end`
    its characters. Units that are not `kept` stay in the store but are not learned from.
    """

    start: int
    end: int
    first: int
    last: int
    cohesion: float = 1.0
    kept: bool = True
    inferred: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition of units at one moment: what comparisons and exporters are given.

    `rows` holds one row of word counts a unit, `labels` the group of each unit (-1: none),
    `units` their ids, `words` the column names.
    """

    name: str
    units: NDArray[np.int64]
    labels: NDArray[np.int64]
    rows: Rows
    words: Sequence[str]
    groups: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Weighted words of each group, where they are known."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a comparison found: a number in which more is better, and the details."""

    value: float
    details: Mapping[str, Json] = field(default_factory=dict)
