"""What the engine learns with: plugins that were made, and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from segapsith.arrays import Matrix, State
from segapsith.domains.values import EventSettings, PlacementSettings
from segapsith.intake import near_duplicates
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Document, Lexicon, Network, Unit
from segapsith.plugin.contracts import Annotator
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith.tokens import Tokens

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = ["Components"]


class Cutter(Protocol):
    """A segmenter, held to its contract."""

    def segment_all(self, tokens: Tokens, network: Network) -> list[list[Unit]]: ...


class Measure(Protocol):
    """A similarity as placing needs it: learned on the clock, kept by the store."""

    def learn(self, rows: Rows) -> None: ...
    def compare_both_ways(self, left: Rows, right: Rows) -> Matrix: ...
    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


class TextReader(Protocol):
    """Reads texts elsewhere, such as in other processes; results come in order."""

    def read(
        self, documents: Sequence[Document], lexicon: Lexicon, networks: Mapping[str, Network]
    ) -> Iterator[Any]: ...  # of `reading.Readings`, which is made with what is declared here
    def lemmas(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[list[str]]: ...


def _given_or_english(document: Document) -> str:
    return document.lang or "en"


@dataclass(frozen=True, slots=True)
class Components:
    """What is used to learn: made objects, and settings."""

    annotator: Annotator
    segmenter: Cutter
    reader: TextReader | None = None
    """Reads texts in place of annotator and segmenter; None: they are used here."""
    placement: PlacementSettings = field(default_factory=PlacementSettings)
    events: EventSettings = field(default_factory=EventSettings)
    importance: str = "rarity"
    measure: Measure | None = None
    """Places units in the manner of any similarity; None is eq. 7 over the index."""
    measure_name: str = BUILT_IN_PLACEMENT
    language: Callable[[Document], str] = _given_or_english
    learns_terms: bool = True
    given_terms: Mapping[str, Iterable[tuple[str, ...]]] = field(default_factory=dict)
    """Multi-word terms that a user knows, as sequences of lemmas by language."""
    network: NetworkSettings = field(default_factory=NetworkSettings)
    window: int = near_duplicates.WINDOW
    """Stories, by ordinal, that a text may repeat; 0 recognises equal texts only."""
    retire_after: int = 0
    """Stories that a small domain may stay quiet for before it is retired; 0: for ever."""
    retire_below: int = 15
    """Units below which a domain is small."""
    follows: bool = True
    """Whether a target that the store keeps steers the threshold of the placement."""
