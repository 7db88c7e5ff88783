"""The values that are passed on the way from a text to a domain."""

from __future__ import annotations

import html
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapsith.arrays import Rows

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

__all__ = [
    "Agreement",
    "Annotation",
    "Delivery",
    "Document",
    "FeedState",
    "Item",
    "Items",
    "KeyedItems",
    "Lexicon",
    "Network",
    "Notice",
    "PreparedText",
    "PreparedWords",
    "Record",
    "Reject",
    "Result",
    "Snapshot",
    "Subject",
    "Unit",
    "delivered",
    "document_of",
    "html_table",
    "optional",
    "unit_of",
]


class Record(Protocol):
    """A value that is read by field name: a `Result`, or a mapping of JSON values."""

    def __getitem__(self, name: str, /) -> Any: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def get(self, name: str, default: Any = None, /) -> Any: ...
    def items(self) -> Iterable[tuple[str, Any]]: ...


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


def html_table(caption: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a small table for notebooks; names and values are escaped.

    >>> html_table("a & b", [("units", 3)])
    '<table><caption>a &amp; b</caption><tr><th>units</th><td>3</td></tr></table>'
    """
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in rows
    )
    return f"<table><caption>{html.escape(caption)}</caption>{cells}</table>"


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
        names, optional = _field_names(type(self))
        if not optional:
            return list(names)
        return [n for n in names if n not in optional or getattr(self, n) is not None]

    def items(self) -> ItemsView[str, Any]:
        """Return the entries of the JSON form."""
        return self.as_json().items()

    def __getitem__(self, name: str) -> Any:
        if name in _PRESENT.get(type(self), ()) or name in self:  # lists ask for many fields
            return getattr(self, name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        if type(self).keys is not Result.keys:  # a subclass with other names than its fields
            return name in self.keys()
        names, optional = _field_names(type(self))
        return name in names and (name not in optional or getattr(self, str(name)) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or `default` if there is no such field."""
        return getattr(self, name, default) if name in self else default


_FIELD_NAMES: dict[type, tuple[tuple[str, ...], frozenset[str]]] = {}
_PRESENT: dict[type, frozenset[str]] = {}
"""The fields of a kind of result that are never absent."""


def _field_names(kind: type[Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names of the fields of a result, and of those that may be absent."""
    names = _FIELD_NAMES.get(kind)
    if names is None:
        of_kind = fields(kind)
        optional = frozenset(f.name for f in of_kind if f.metadata.get(_OPTIONAL))
        names = _FIELD_NAMES[kind] = (tuple(f.name for f in of_kind), optional)
        if kind.keys is Result.keys:
            _PRESENT[kind] = frozenset(names[0]) - optional
    return names


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
class PreparedWords:
    """The tokens of a text before multi-word terms are joined, as in `Annotation`."""

    lemmas: Sequence[str]
    spans: NDArray[np.int32]
    content: NDArray[np.bool_]
    sentences: NDArray[np.int32]
    joined: NDArray[np.bool_]
    """Whether each token and the next one may be parts of one term; False for the last."""
    made_by: str
    """The annotator, with what decides its words besides the text."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """What depends on a text alone, found when its archive was prepared."""

    title: str
    body: str
    digest: str
    """The hash of the normalised text."""
    signature: bytes
    """The fingerprint by which copies are found."""
    lang: str
    lang_by: str
    """How the language was found: the setting, and versions of rules and model."""
    words: PreparedWords | None = None
    """None if the annotator cannot be separated from what it learns."""

    def is_of(self, document: Document) -> bool:
        """Return whether a document has this text still."""
        return self.title == document.title and self.body == document.body


@dataclass(frozen=True, slots=True)
class Document:
    """One story of a wire: title, body and metadata.

    An empty `uid` means that the source gave none; the hash of the normalised text then becomes the
    id. `date` is ISO 8601 or None. Labels of a data set are in `metadata` and are never learned.
    """

    uid: str = ""
    title: str = ""
    body: str = ""
    date: str | None = None
    lang: str | None = None
    source: str = ""
    metadata: Mapping[str, Json] = field(default_factory=dict)
    bag: Mapping[str, int] | None = None
    """Words with their counts, for a pre-segmented unit."""
    prepared: PreparedText | None = field(default=None, compare=False, repr=False)
    """What `segapsith prepare` found in the text; None for other documents."""

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
    """An item that could not be read, with the reason; the other items are read."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What is learned about words, frozen for one epoch of the learning clock."""

    epoch: int = 0
    terms: Mapping[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    """Accepted multi-word terms by language, each a sequence of lemmas."""


def _empty(kind: str, *shape: int) -> Any:
    """Return an array of zeros, by default without entries; imports numpy only now."""
    import numpy as np

    return np.zeros(shape or (0,), dtype=kind)


@dataclass(frozen=True, slots=True)
class Network:
    """The co-occurrence network of one language, frozen for one epoch of the learning clock.

    Rows are words. Row `r` is linked to `neighbours[starts[r]:starts[r + 1]]`, ascending, with the
    cohesion values `weights`, in (0, 1] and symmetric. Empty before the first is learned.
    """

    epoch: int = 0
    rows: Mapping[str, int] = field(default_factory=dict)
    """Word to row; words that are newer than the network may have rows beyond the arrays."""
    words: Sequence[str] = ()
    """Row to word."""
    starts: NDArray[np.int64] = field(default_factory=lambda: _empty("int64", 1))
    neighbours: NDArray[np.int32] = field(default_factory=lambda: _empty("int32"))
    weights: NDArray[np.float32] = field(default_factory=lambda: _empty("float32"))
    significance: NDArray[np.float32] = field(default_factory=lambda: _empty("float32"))
    """How informative each word is, in [0, 1]: 1 - ln tf / ln S (see `vocabulary.significance`)."""
    vectors: NDArray[np.float32] = field(default_factory=lambda: _empty("float32", 0, 0))
    """Word vectors: a row of length 1 per word, zeros for a word without a vector."""
    mean_cohesion: float = 0.0
    """Mean over the units of the stream; 0 before the first unit."""

    def numbers(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each word, -1 for an unknown word.

        >>> Network(rows={"storm": 0}, significance=_empty("float32", 1)).numbers(["storm", "bank"])
        array([ 0, -1])
        """
        import numpy as np

        rows = np.fromiter(map(self.rows.get, words, repeat(-1)), np.int64, len(words))
        rows[rows >= len(self.significance)] = -1
        return rows


@dataclass(frozen=True, slots=True)
class Annotation:
    """The tokens of a document: lemmas, character spans, content words, sentence spans.

    `spans` and `sentences` are arrays of shape (n, 2) with start and end in `document.text`.
    """

    document: Document
    lemmas: Sequence[str]
    spans: NDArray[np.int32]
    content: NDArray[np.bool_]
    sentences: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Unit:
    """A passage of a text about one subject.

    `first` and `last` delimit its tokens in the annotation (half open), `start` and `end` its
    characters. Units that are not `kept` are stored but not learned.
    """

    start: int
    end: int
    first: int
    last: int
    cohesion: float = 1.0
    kept: bool = True
    inferred: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice(Result):
    """Something that a night reports: what happened, in a line and in a text."""

    key: str
    """What it is about; the same thing has the same key and is reported once."""
    kind: str
    """`alarm`, `failure`, `new-section`, `new-topic`, `new-domain`, `rising`, `search` or `test`."""
    title: str
    text: str = ""
    at: str = ""
    """Moment of the night, UTC, ISO 8601."""
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a labeller names: a domain, topic, section or event with its words and headlines."""

    kind: str
    """`domain`, `topic`, `section` or `event`."""
    lang: str
    words: Mapping[str, float]
    """Words as people write them, with their weights by contrast with the siblings; strongest
    first."""
    headlines: Sequence[str]
    """Headlines of stories that are closer to it than to its siblings, oldest first. For stories
    without a title, their first sentences."""
    previous: str = ""
    """The label that it has now; empty if it has none."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition of units at one moment, as comparisons and exporters receive it.

    `rows` has the word counts of each unit, `labels` its group (-1: none), `units` its id; `words`
    are the names of the columns.
    """

    name: str
    units: NDArray[np.int64]
    labels: NDArray[np.int64]
    rows: Rows
    words: Sequence[str]
    groups: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """Weighted words of each group, if available."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of a comparison: a value, where larger is better, and details."""

    value: float
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeedState:
    """The response of a feed's server; in a stream of items it follows the last item of its feed.

    It is stored in the batch of the last item, so that a validator is never stored without its
    body. With an `error` the stored validators remain unchanged.
    """

    url: str
    checked_at: str
    etag: str | None = None
    last_modified: str | None = None
    error: str = ""
    retry_after: int | None = None
    """Seconds to wait, as the server requested."""
    new: int = 0
    """New stories since the previous batch; the engine counts them."""


@dataclass(frozen=True, slots=True)
class Positioned:
    """An item of a live stream, with the position to store in the batch that has the item."""

    item: Document | Reject
    state: FeedState


@dataclass(frozen=True, slots=True)
class EndOfBatch:
    """In a stream of items: store what came so far, because the next item may take long."""


# -- what can be ingested ------------------------------------------------------------------

_FIELDS = frozenset({"id", "text", "title", "date", "lang", "source"})
_FIELD_TYPES = (str, int)


def document_of(item: Document | Reject | Mapping[str, Any]) -> Document | Reject:
    """Return the document that a dict describes, or a reject with the reason."""
    if isinstance(item, Document | Reject):
        return item
    if not isinstance(item, Mapping):
        return Reject(repr(item)[:80], f"expected a document or a dict, not {type(item).__name__}")
    invalid = _invalid_field(item)
    if invalid is not None:
        return invalid
    return Document(
        uid=_text(item.get("id")),
        title=str(item.get("title") or ""),
        body=str(item.get("text") or ""),
        date=_text(item.get("date"), None),
        lang=str(item["lang"]) if item.get("lang") else None,
        source=str(item.get("source") or ""),
        metadata={str(k): v for k, v in item.items() if k not in _FIELDS},
    )


def unit_of(item: Mapping[str, Any]) -> Document | Reject:
    """Return the pre-segmented unit that a dict describes, or a reject with the reason."""
    words = item.get("words")
    if not isinstance(words, Mapping):
        return Reject(str(item.get("id", "(no id)")), "no `words` (a mapping of word to count)")
    invalid = _invalid_field(item)
    if invalid is not None:
        return invalid
    try:
        "".join(words)
    except TypeError:  # not all words are strings
        words = {str(word): count for word, count in words.items()}
    return Document(
        uid=_text(item.get("id")),
        date=_text(item.get("date"), None),
        lang=str(item.get("lang") or "en"),
        source=str(item.get("source") or ""),
        metadata={str(k): v for k, v in item.items() if k not in _FIELDS and k != "words"},
        bag=words,
    )


def _invalid_field(item: Mapping[str, Any]) -> Reject | None:
    """Return a reject if one of the fields has a type other than string or integer."""
    for name, value in item.items():
        if name in _FIELDS and value is not None and not isinstance(value, _FIELD_TYPES):
            return Reject(str(item.get("id", "(no id)")), f"{name} is not a string")
    return None


@overload
def _text(value: Any) -> str: ...
@overload
def _text(value: Any, absent: None) -> str | None: ...
def _text(value: Any, absent: str | None = "") -> str | None:
    return absent if value is None else str(value)


Item = Document | Reject | FeedState | Positioned | EndOfBatch


@runtime_checkable
class Delivery(Protocol):
    """Items with a key: an interrupted ingest continues when the same key is given again."""

    @property
    def key(self) -> str: ...
    def items(self) -> Iterator[Item]: ...


Items = Iterable[Document | Reject | Mapping[str, Any]] | Delivery
"""What can be ingested: documents, dicts that describe documents, or a delivery."""


@dataclass(frozen=True, slots=True)
class KeyedItems:
    """A delivery of existing items; with an empty key an interrupted ingest starts again."""

    key: str
    made: Iterable[Item]

    def items(self) -> Iterator[Item]:
        return iter(self.made)


def delivered(documents: Items) -> tuple[Iterator[Item], str]:
    """Return the items of what is to be ingested, and its key (empty if it has none)."""
    if isinstance(documents, Delivery):
        return documents.items(), documents.key
    return map(document_of, documents), ""
