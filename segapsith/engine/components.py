"""What the engine learns with: made objects and settings, and what it needs of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from segapsith.arrays import Matrix, Rows, State
from segapsith.domains.threshold_control import ThresholdController
from segapsith.domains.values import PlacementSettings
from segapsith.engine.network_state import Sums
from segapsith.engine.records import (
    Assignment,
    Batch,
    DocumentRecord,
    DomainRecord,
    Event,
    UnitRecord,
)
from segapsith.engine.removal import Archive
from segapsith.intake import near_duplicates
from segapsith.lexicon.multiword_terms import TermCounts
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Annotation, Document, Network, Unit
from segapsith.plugin.contracts import Annotator
from segapsith.settings import BUILT_IN_PLACEMENT

__all__ = ["Components", "Storage"]


class Storage(Sums, Archive, Protocol):
    """What the engine needs of a store."""

    def words(self) -> Iterator[tuple[int, str, str, int, int]]: ...
    def languages(self) -> dict[str, tuple[int, int]]: ...
    def cohesion(self) -> dict[str, tuple[int, int]]: ...
    def domains(
        self, where: str = "1", parameters: Sequence[Any] = ()
    ) -> Iterator[DomainRecord]: ...
    def events_of(self, run: int) -> list[Event]: ...
    def units_where(self, where: str, parameters: Sequence[Any] = ()) -> Iterator[UnitRecord]: ...
    def known_uids(self, uids: Sequence[str]) -> set[str]: ...
    def known_texts(self, digests: Sequence[str]) -> set[str]: ...
    def forgotten_uids(self, uids: Iterable[str]) -> set[str]: ...
    def forgotten_texts(self, digests: Iterable[str]) -> set[str]: ...
    def shared_tombstones(self, uids: Iterable[str]) -> int: ...
    def document(self, uid: str) -> DocumentRecord | None: ...
    def has_text(self, document: int, digest: str) -> bool: ...
    def stories_with(self, digest: str) -> list[DocumentRecord]: ...
    def signatures(self, after: int) -> Iterator[tuple[int, int, bytes]]: ...
    def terms(self) -> dict[str, list[tuple[str, ...]]]: ...
    def following(self) -> ThresholdController | None: ...
    def term_counts(self) -> dict[str, TermCounts]: ...
    def documents_of(self, run: int) -> list[DocumentRecord]: ...
    def seen(self, document: int, source: str) -> bool: ...
    def past_assignments(self, ended_by: int) -> dict[int, Assignment]: ...
    def changes_by(self, run: int) -> list[DocumentRecord]: ...
    def begin_run(
        self,
        command: str,
        *,
        settings: Mapping[str, Any],
        versions: Mapping[str, str],
        seed: int | None = None,
        name: str = "",
        input_key: str = "",
    ) -> int: ...
    def unfinished(
        self, command: str, input_key: str
    ) -> tuple[int, int, dict[str, Any]] | None: ...
    def resume_run(self, run: int) -> None: ...
    def finish_run(
        self, run: int, status: str, counts: Mapping[str, Any] | None = None
    ) -> None: ...
    def save(self, batch: Batch) -> None: ...
    def scrubbing(self) -> None: ...
    def scrub(self) -> None: ...


class Cutter(Protocol):
    """A segmenter, held to its contract."""

    def segment(self, annotation: Annotation, network: Network) -> list[Unit]: ...


class Measure(Protocol):
    """A similarity as placing needs it: learned on the clock, kept by the store."""

    def learn(self, rows: Rows) -> None: ...
    def compare_both_ways(self, left: Rows, right: Rows) -> Matrix: ...
    def state(self) -> State: ...
    def restore(self, state: State) -> None: ...


def _given_or_english(document: Document) -> str:
    return document.lang or "en"


@dataclass(frozen=True, slots=True)
class Components:
    """What is used to learn: made objects, and settings."""

    annotator: Annotator
    segmenter: Cutter
    placement: PlacementSettings = field(default_factory=PlacementSettings)
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
