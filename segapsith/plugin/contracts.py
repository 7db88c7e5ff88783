"""Define what each kind of plugin must do, and what it may do besides.

There is no base class: any object of this shape is accepted. `segapsith.testing` checks the same
contracts, and `segapsith.plugin.guards` enforces them while a plugin works. An optional ability
is a small protocol with a function that asks an object for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeGuard, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapsith.arrays import Compare, Labels, Matrix, NeighbourGraph, Rows, State, Views
    from segapsith.model import (
        Agreement,
        Annotation,
        Document,
        Lexicon,
        Network,
        Notice,
        Reject,
        Snapshot,
        Subject,
        Unit,
    )
    from segapsith.tokens import Tokens

__all__ = [
    "ABILITIES",
    "KINDS",
    "NETWORK_PARTS",
    "AnnotatesInSteps",
    "AnnotatesTogether",
    "Annotator",
    "Clusterer",
    "ClustersInParts",
    "Comparison",
    "Executor",
    "Exporter",
    "Followable",
    "HasCurve",
    "HasExample",
    "HasFactors",
    "HasProductForm",
    "Labeller",
    "LearnedRowsOnly",
    "LiveSource",
    "NamesColumns",
    "Notifier",
    "ProductForm",
    "Segmenter",
    "SegmentsTogether",
    "SharedValue",
    "Similarity",
    "Source",
    "StartsEarly",
    "TakesNeighbours",
    "TakesViews",
    "UnitDiagonal",
    "UsesNetworkParts",
    "annotates_in_steps",
    "annotates_together",
    "clusters_in_parts",
    "compares_learned_rows_only",
    "example_of",
    "has_curve",
    "has_factors",
    "has_product_form",
    "has_unit_diagonal",
    "is_followable",
    "names_columns",
    "network_parts",
    "reads_addresses",
    "segments_together",
    "takes_neighbours",
    "takes_views",
]


@runtime_checkable
class Source(Protocol):
    """Reads one format: lazily, in input order, with stable identities."""

    def sniff(self, head: bytes) -> float:
        """Return from 0 to 1 how certain it is that a stream with this beginning is its format."""

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        """Yield the items of the stream; yield a `Reject` for a bad item and continue."""


@runtime_checkable
class Annotator(Protocol):
    """Turns texts into lemmas: lazily, one annotation per document, in order, any text accepted."""

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """Yield one annotation for each document; `lexicon` must not be changed."""


NETWORK_PARTS = frozenset({"network", "vectors"})
"""Parts of the network that a segmenter may use: links and significance, or word vectors."""


@runtime_checkable
class Segmenter(Protocol):
    """Splits an annotated text into thematic units that follow the text and lose no token."""

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        """Yield the units in text order; `network` must not be changed."""


@runtime_checkable
class Similarity(Protocol):
    """Compares rows. `compare(a, b)` is the transpose of `compare(b, a)`, finite, within `bounds`."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that `compare` returns."""

    def learn(self, rows: Rows) -> None:
        """Learn from the rows of a corpus; later rows may have more columns."""

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return one value for each pair of rows; change nothing."""

    def state(self) -> State:
        """Return what was learned, as arrays."""

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""


@runtime_checkable
class Clusterer(Protocol):
    """Groups rows: one label per row, 0, 1, … without gaps, -1 only for empty rows."""

    def cluster(self, rows: Rows, compare: Compare | None) -> Labels:
        """Return the labels; the same seed gives the same labels."""


@runtime_checkable
class Comparison(Protocol):
    """Measures the agreement of two partitions of the same units."""

    def measure(self, left: Snapshot, right: Snapshot) -> Agreement:
        """Return the agreement; a snapshot agrees with itself."""


@runtime_checkable
class Exporter(Protocol):
    """Writes a snapshot; the same snapshot gives the same bytes."""

    def export(self, snapshot: Snapshot, out: BinaryIO) -> None:
        """Write the snapshot to `out`."""


@runtime_checkable
class Labeller(Protocol):
    """Names domains, topics, sections and events: one line of text, the same for the same subject."""

    def label(self, subject: Subject) -> str:
        """Return a label for people; empty if there is nothing to name it by."""


@runtime_checkable
class Notifier(Protocol):
    """Sends what a night reports: all notices in one delivery, or none."""

    def send(self, notices: Sequence[Notice]) -> None:
        """Send the notices and return when they have arrived.

        Raise `DeliveryError` if they did not arrive; they are sent again the next time. Raise
        `UncertainDeliveryError` if they may have arrived; they are not sent again. Without notices
        do nothing.
        """


class SharedValue(Protocol):
    """A value that all items of a call share; it should travel once to each worker."""

    @property
    def value(self) -> Any:
        """The value, for work in this process."""

    @property
    def data(self) -> bytes:
        """The packed value."""

    @property
    def digest(self) -> str:
        """The hash of the packed value."""


Shared = Mapping[str, SharedValue]
"""Values that all items of a call share, by their names."""


@runtime_checkable
class Executor(Protocol):
    """Runs tasks, here or in workers: results come in the order of the items, and lazily."""

    @property
    def n_workers(self) -> int:
        """The number of tasks that run at the same time."""

    def map(
        self, task: str, items: Iterable[object], shared: Shared | None = None
    ) -> Iterator[Any]:
        """Yield the result of a registered task for each item; read few items ahead."""

    def close(self) -> None:
        """End the workers that were started."""


KINDS: dict[str, type] = {
    "source": Source,
    "annotator": Annotator,
    "segmenter": Segmenter,
    "similarity": Similarity,
    "clusterer": Clusterer,
    "comparison": Comparison,
    "exporter": Exporter,
    "labeller": Labeller,
    "notifier": Notifier,
    "executor": Executor,
}
"""Contract by kind of plugin, in the singular."""


# -- optional abilities ------------------------------------------------------------------------


class LearnedRowsOnly(Protocol):
    """A similarity that compares only rows that it has learned, and raises ValueError otherwise."""

    @property
    def learned_rows_only(self) -> bool: ...


class NamesColumns(Similarity, Protocol):
    """A similarity that needs to know which word each column of the rows is."""

    def name_columns(self, words: Sequence[str]) -> None:
        """Receive the words of the columns, before `learn`."""


class UnitDiagonal(Protocol):
    """A similarity that is 1 between a row and itself."""

    @property
    def unit_diagonal(self) -> bool: ...


class TakesViews(Protocol):
    """A similarity or clusterer that accepts several matrices of the same rows, by name."""

    @property
    def takes_views(self) -> bool: ...


class HasFactors(Protocol):
    """A similarity that can be written as a product of factors, so large corpora fit into memory."""

    def factors(self, rows: Rows) -> Matrix:
        """Return a row of factors for each row; their cosines are the similarities."""


class ProductForm(Protocol):
    """A similarity as a rising function of products: finish(spread(a) · scaled(b)).

    A block of rows is spread once and then compared with any number of sparse rows.
    """

    def scaled(self, rows: Rows) -> Rows:
        """Return the rows as they are multiplied."""

    def spread(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.floating[Any]]]:
        """Return columns, and for each of them the factor of each row (columns × rows)."""

    def finish(self, products: Matrix) -> Matrix:
        """Return the similarities of products. A larger product never has a smaller similarity."""


class HasProductForm(Protocol):
    """A similarity that can compare blocks of many rows by sparse products."""

    def product_form(self) -> ProductForm | None:
        """Return the form of what was learned; None if it has none with these settings."""


class TakesNeighbours(Protocol):
    """A clusterer that can group rows by the similarities of their nearest neighbours alone."""

    def cluster_neighbours(self, rows: Rows, graph: NeighbourGraph) -> Labels:
        """Return the labels; rows without a neighbour are similar to no other row."""


class ClustersInParts(Protocol):
    """A clusterer whose search divides into parts, such as starts, that workers can do.

    `cluster` must give the same as the rounds (`segapsith.plugin.rounds.cluster_in_turn` does).
    Parts and results are plain values: numbers, texts, arrays, tuples and frozen dataclasses. A
    part is not None.
    """

    def prepare(self, rows: Rows | Views, compare: Compare | None) -> Any:
        """Return what parts need of the rows; costly values should be made when first used."""

    def rounds(self, prepared: Any) -> Generator[Sequence[Any], Sequence[Any], Labels]:
        """Yield the parts of each round, receive their results in order, and return the labels."""

    def part(self, prepared: Any, part: Any) -> Any:
        """Do one part; the result depends on nothing else than the rows, settings and the part."""


class UsesNetworkParts(Protocol):
    """A segmenter that uses only some of `NETWORK_PARTS`; the others are not built for it."""

    @property
    def uses(self) -> frozenset[str]: ...


class AnnotatesInSteps(Protocol):
    """An annotator that uses the lexicon only to join words to multi-word terms, as a last step.

    `segapsith prepare` does the first step once. `annotate` must give the same as both steps.
    """

    def words_version(self, lang: str) -> str:
        """Return what decides the words of a language besides the text: settings and versions."""

    def annotate_words(
        self, documents: Sequence[Document]
    ) -> Iterator[tuple[Annotation, NDArray[np.bool_]]]:
        """Yield annotations without terms, and whether each token may be joined to the next."""

    def join_terms(
        self,
        annotations: Sequence[Annotation],
        joined: Sequence[NDArray[np.bool_]],
        lexicon: Lexicon,
    ) -> Iterator[Annotation]:
        """Yield annotations of `annotate_words`, in one language, with the terms of the lexicon."""


class AnnotatesTogether(Protocol):
    """An annotator that is faster with several texts at once, as columns."""

    def annotate_all(self, documents: Sequence[Document], lexicon: Lexicon) -> Tokens:
        """Return the tokens of documents in one language; the same as those of `annotate`."""


class SegmentsTogether(Protocol):
    """A segmenter that is faster with several texts at once; the units are the same."""

    def segment_all(self, tokens: Tokens, network: Network) -> Sequence[Sequence[Unit]]:
        """Return the units of each text."""


class HasCurve(Protocol):
    """A segmenter that can show the values between whose minima it splits."""

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return ascending character positions and a value for each."""


class StartsEarly(Protocol):
    """An executor whose workers can start while the caller still reads what it will give them."""

    def start(self, task: str) -> None:
        """Begin to start the workers, which import the task, and return at once."""


class HasExample(Protocol):
    """A source with an example of its format, which the checks use."""

    @property
    def example(self) -> bytes: ...


class Followable(Protocol):
    """A source that can read a stream that stays open: it yields an item when its last byte came."""

    def follows(self, head: bytes) -> bool:
        """Return whether a stream with this beginning, at least one line, can be read so."""


class LiveSource(Protocol):
    """A source that reads addresses of its own, and continues behind a position."""

    @property
    def schemes(self) -> frozenset[str]:
        """The first parts of its addresses, such as `redis`."""

    def address(self, url: str) -> str:
        """Return the address without credentials; raise `InputError` if it is not one."""

    def receive(
        self, url: str, position: str | None
    ) -> Iterator[tuple[Document | Reject, str] | None]:
        """Yield the items behind a position (None: all), in order, each with its position.

        Yield None when there is no further item at present, after waiting at most a second. Raise
        `FeedError` if the server cannot be reached.
        """


ABILITIES: dict[str, frozenset[str]] = {
    "source": frozenset({"address", "example", "follows", "receive", "schemes"}),
    "annotator": frozenset({"words_version", "annotate_all", "annotate_words", "join_terms"}),
    "segmenter": frozenset({"uses", "curve", "segment_all"}),
    "similarity": frozenset(
        {
            *("columns", "factors", "learned_rows_only", "name_columns", "product_form"),
            *("takes_views", "unit_diagonal"),
        }
    ),
    "clusterer": frozenset({"cluster_neighbours", "part", "prepare", "rounds", "takes_views"}),
}
"""Names of the optional abilities by kind of plugin; guards pass these on and nothing else."""


def is_followable(source: object, head: bytes) -> bool:
    """Return whether a source can read a stream with this beginning while it stays open."""
    follows = getattr(source, "follows", None)
    return callable(follows) and bool(follows(head))


def reads_addresses(source: object) -> TypeGuard[LiveSource]:
    """Return whether a source has addresses of its own."""
    return bool(getattr(source, "schemes", ())) and callable(getattr(source, "receive", None))


def compares_learned_rows_only(plugin: object) -> TypeGuard[LearnedRowsOnly]:
    """Return whether a similarity compares only rows that it has learned."""
    return bool(getattr(plugin, "learned_rows_only", False))


def has_unit_diagonal(plugin: object) -> TypeGuard[UnitDiagonal]:
    """Return whether a similarity declares that it is 1 between a row and itself."""
    return bool(getattr(plugin, "unit_diagonal", False))


def takes_views(plugin: object) -> TypeGuard[TakesViews]:
    """Return whether a similarity or clusterer accepts several matrices of the same rows."""
    return bool(getattr(plugin, "takes_views", False))


def names_columns(plugin: object) -> TypeGuard[NamesColumns]:
    """Return whether a similarity needs the words of the columns."""
    return callable(getattr(plugin, "name_columns", None))


def has_factors(plugin: object) -> TypeGuard[HasFactors]:
    """Return whether a similarity can be written as a product of factors."""
    return callable(getattr(plugin, "factors", None))


def has_product_form(plugin: object) -> TypeGuard[HasProductForm]:
    """Return whether a similarity can compare blocks of many rows by sparse products."""
    return callable(getattr(plugin, "product_form", None))


def annotates_in_steps(plugin: object) -> TypeGuard[AnnotatesInSteps]:
    """Return whether an annotator joins multi-word terms as a last step."""
    names = ("words_version", "annotate_words", "join_terms")
    return all(callable(getattr(plugin, name, None)) for name in names)


def annotates_together(plugin: object) -> TypeGuard[AnnotatesTogether]:
    """Return whether an annotator takes several texts at once."""
    return callable(getattr(plugin, "annotate_all", None))


def takes_neighbours(plugin: object) -> TypeGuard[TakesNeighbours]:
    """Return whether a clusterer can group rows by their nearest neighbours."""
    return callable(getattr(plugin, "cluster_neighbours", None))


def clusters_in_parts(plugin: object) -> TypeGuard[ClustersInParts]:
    """Return whether the search of a clusterer divides into parts."""
    return all(callable(getattr(plugin, name, None)) for name in ("prepare", "rounds", "part"))


def has_curve(plugin: object) -> TypeGuard[HasCurve]:
    """Return whether a segmenter can show its curve."""
    return callable(getattr(plugin, "curve", None))


def segments_together(plugin: object) -> TypeGuard[SegmentsTogether]:
    """Return whether a segmenter takes several texts at once."""
    return callable(getattr(plugin, "segment_all", None))


def starts_early(executor: object) -> TypeGuard[StartsEarly]:
    """Return whether the workers of an executor can start before they are needed."""
    return callable(getattr(executor, "start", None))


def network_parts(segmenter: object) -> frozenset[str]:
    """Return the parts of the network that a segmenter uses: all unless it declares fewer."""
    return frozenset(getattr(segmenter, "uses", NETWORK_PARTS))


def example_of(source: object) -> bytes:
    """Return the example of a source's format, or nothing."""
    example = getattr(source, "example", b"")
    return example if isinstance(example, bytes) else b""
