"""The nouns: what travels along the line from a text to a domain."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapsith.arrays import Rows

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

__all__ = [
    "Agreement",
    "Annotation",
    "Document",
    "FeedState",
    "Lexicon",
    "Network",
    "Record",
    "Reject",
    "Result",
    "Snapshot",
    "Unit",
    "optional",
]


class Record(Protocol):
    """A value that is read by field name: a `Result`, or a mapping of JSON values."""

    def __getitem__(self, name: str, /) -> Any: ...


_OPTIONAL = "optional"


def optional() -> Any:
    """Return the default of a field of a `Result` that is left out of the JSON form while None.

    >>> @dataclass(frozen=True)
    ... class Size(Result):
    ...     units: int
    ...     units_since: int | None = optional()
    >>> Size(3).as_json(), Size(3, 1).as_json(), "units_since" in Size(3)
    ({'units': 3}, {'units': 3, 'units_since': 1}, False)
    """
    return field(default=None, metadata={_OPTIONAL: True})


class Result:
    """Base of what the Python API returns: a frozen dataclass with a JSON form.

    `as_json()` gives dicts, lists, numbers and texts only. A result can be read like that form,
    too: `result["id"]` is `result.id`, and `dict(result)` has every field. A field with the default
    `optional()` is absent from both while its value is None.

    >>> @dataclass(frozen=True)
    ... class Size(Result):
    ...     units: int
    >>> size = Size(units=3)
    >>> size.as_json(), size["units"], {**size}
    ({'units': 3}, 3, {'units': 3})
    """

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields as plain values, results inside them included."""
        return {name: _plain(getattr(self, name)) for name in self.keys()}

    def keys(self) -> list[str]:
        """Return the names of the fields, in their order, without optional ones that are None."""
        return [
            f.name
            for f in fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
            if not f.metadata.get(_OPTIONAL) or getattr(self, f.name) is not None
        ]

    def items(self) -> ItemsView[str, Any]:
        """Return the entries of the JSON form."""
        return self.as_json().items()

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or `default` if there is no such field."""
        return getattr(self, name, default) if name in self.keys() else default


def _plain(value: Any) -> Any:
    """Return a value made of dicts, lists, numbers and texts."""
    if isinstance(value, Result):
        return value.as_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value


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


def _none(kind: str, *shape: int) -> Any:
    """An array without entries; numpy is loaded when one is made."""
    import numpy as np

    return np.zeros(shape or (0,), dtype=kind)


@dataclass(frozen=True, slots=True)
class Network:
    """The collocation network of one language, frozen for one epoch of the clock.

    Rows are words. Row `r` is linked to `neighbours[starts[r]:starts[r + 1]]`, ascending, with the
    cohesion values `weights`, in (0, 1] and symmetric. Empty until one is learned.
    """

    epoch: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    """Word to row; words that came after the freezing may have rows beyond the arrays."""
    words: Sequence[str] = ()
    """Row to word."""
    starts: NDArray[np.int64] = field(default_factory=lambda: _none("int64", 1))
    neighbours: NDArray[np.int32] = field(default_factory=lambda: _none("int32"))
    weights: NDArray[np.float32] = field(default_factory=lambda: _none("float32"))
    significance: NDArray[np.float32] = field(default_factory=lambda: _none("float32"))
    """How telling each word is, in [0, 1] (algorithms 1.3)."""
    vectors: NDArray[np.float32] = field(default_factory=lambda: _none("float32", 0, 0))
    """Words as points: a row of length 1 for each word, zeros where it has none."""
    mean_cohesion: float = 0.0
    """Of the units of the stream so far; 0 while there are none."""

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """The row of each word, -1 where it is unknown.

        >>> Network(rows={"storm": 0}, significance=_none("float32", 1)).numbers(["storm", "bank"])
        array([ 0, -1])
        """
        import numpy as np

        rows = np.fromiter(map(self.rows.get, words, repeat(-1)), np.int64, len(words))
        rows[rows >= len(self.significance)] = -1
        return rows


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


@dataclass(frozen=True, slots=True)
class FeedState:
    """What a feed's server said; among items it stands behind the last one of its feed.

    It is kept in the batch that stores the last item, so that a validator is never there without
    the body it stands for. With an `error` the validators that are kept stay as they were.
    """

    url: str
    checked_at: str
    etag: str | None = None
    last_modified: str | None = None
    error: str = ""
    retry_after: int | None = None
    """Seconds that the server asked for."""
    new: int = 0
    """Stories that were new since the batch before; the engine counts them."""
