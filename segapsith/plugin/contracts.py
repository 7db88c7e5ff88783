"""What each kind of plugin promises. No base class: anything of this shape will do.

The checks in `segapsith.testing` say the same as plain asserts, and the seam
(`segapsith.plugin.guards`) holds every plugin to it while it works.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from segapsith.arrays import Compare, Labels, Matrix, Rows, State
    from segapsith.model import (
        Agreement,
        Annotation,
        Document,
        Lexicon,
        Network,
        Reject,
        Snapshot,
        Unit,
    )

__all__ = [
    "KINDS",
    "NETWORK_PARTS",
    "Annotator",
    "Clusterer",
    "Comparison",
    "Exporter",
    "Segmenter",
    "Similarity",
    "Source",
]


@runtime_checkable
class Source(Protocol):
    """Reads one format: lazily, in input order, with stable identities."""

    def sniff(self, head: bytes) -> float:
        """How sure it is, from 0 to 1, that a stream which begins like this is its own."""

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        """The items of the stream; a bad item is a `Reject` and the others go on."""


@runtime_checkable
class Annotator(Protocol):
    """Turns texts into lemmas: lazily, one annotation a document, in order, any text accepted."""

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """One annotation for each document; `lexicon` is frozen."""


NETWORK_PARTS = frozenset({"network", "vectors"})
"""What a segmenter may use: links and significance, or the points of words."""


@runtime_checkable
class Segmenter(Protocol):
    """Cuts an annotated text into thematic units that follow the text and lose no token.

    It may say what it uses of the network, and so spare the time to make the rest: `uses`, a
    frozenset with any of "network" (links and significance) and "vectors". Without it, both.
    """

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        """The units in text order; `network` is frozen."""


@runtime_checkable
class Similarity(Protocol):
    """Compares rows. `compare(a, b)` is the transpose of `compare(b, a)`, finite, within `bounds`."""

    bounds: ClassVar[tuple[float, float]]

    def learn(self, rows: Rows) -> None:
        """What there is to know about the corpus; columns may be added later."""

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """One value for each pair of rows; changes nothing."""

    def state(self) -> State:
        """What was learned, as arrays."""

    def restore(self, state: State) -> None:
        """The inverse of `state`."""


@runtime_checkable
class Clusterer(Protocol):
    """Groups rows: one label a row, 0, 1, … without gaps, -1 only for empty rows."""

    def cluster(self, rows: Rows, compare: Compare | None) -> Labels:
        """The labels; the same seed gives the same labels."""


@runtime_checkable
class Comparison(Protocol):
    """Measures how far two partitions of the same units agree."""

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """The agreement; a snapshot agrees with itself."""


@runtime_checkable
class Exporter(Protocol):
    """Writes a snapshot; the same snapshot gives the same bytes."""

    def export(self, snapshot: Snapshot, out: BinaryIO) -> None:
        """Writes the snapshot to `out`."""


KINDS: dict[str, type] = {
    "source": Source,
    "annotator": Annotator,
    "segmenter": Segmenter,
    "similarity": Similarity,
    "clusterer": Clusterer,
    "comparison": Comparison,
    "exporter": Exporter,
}
"""Kind of plugin, in the singular, and what it promises."""
