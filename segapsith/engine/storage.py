"""What the engine asks of a store, as intentions: no query language, no rows, no connection.

`segapsith_store.Store` implements it on SQLite, `segapsith.testing.memory_storage` in memory. Both
pass the same contract tests. Records come by ascending id unless a method says otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.threshold_control import ThresholdController
from segapsith.domains.values import EventRecord
from segapsith.engine.records import (
    Assignment,
    DocumentRecord,
    DomainRecord,
    EpochRecord,
    LineageEntry,
    ReferenceRecord,
    UnitRecord,
    Update,
    VersionRecord,
)
from segapsith.engine.runs import Run, RunPlan
from segapsith.lexicon.cooccurrence import Pairs
from segapsith.lexicon.multiword_terms import TermCounts

__all__ = ["Storage"]


class Storage(Protocol):
    """Everything that the engine reads from a store and writes into it."""

    # -- sums of the whole stream ------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the named single values: counters, what sums were counted with, periods."""

    def words(self) -> Iterator[tuple[int, str, str, int, int]]:
        """Yield id, language, word, documents and occurrences of every word."""

    def languages(self) -> dict[str, tuple[int, int]]:
        """Return the documents and the content words of each language."""

    def cohesion(self) -> dict[str, tuple[int, int]]:
        """Return the units of each language and the sum of their cohesion in fixed point."""

    def terms(self) -> dict[str, list[tuple[str, ...]]]:
        """Return the multi-word terms of each language, in the order of acceptance."""

    def term_counts(self) -> dict[str, TermCounts]:
        """Return the counts of the candidates for multi-word terms of each language."""

    def pairs(self, source: int | None = None) -> Iterator[Pairs]:
        """Yield how often words met, in pieces by ascending key.

        Counts the stream and all reference corpora, or one `source`: 0 is the stream, any other
        number the run that read a reference corpus.
        """

    def references(self) -> list[ReferenceRecord]:
        """Return the reference corpora of the network, by run and language."""

    def frozen_arrays(self, name: str) -> EpochRecord | None:
        """Return what the clock froze last under a name."""

    def threshold_controller(self) -> ThresholdController | None:
        """Return the target that the threshold follows and its present state; None without one."""

    # -- documents ---------------------------------------------------------------------------

    def known_uids(self, uids: Sequence[str]) -> set[str]:
        """Return those of the ids that documents have."""

    def known_texts(self, digests: Sequence[str]) -> set[str]:
        """Return those of the text hashes that a version of any document has."""

    def forgotten_uids(self, uids: Iterable[str]) -> set[str]:
        """Return those of the ids that were forgotten and are refused."""

    def forgotten_texts(self, digests: Iterable[str]) -> set[str]:
        """Return those of the text hashes that were forgotten and are refused."""

    def shared_tombstones(self, uids: Iterable[str]) -> int:
        """Count the texts of forgotten documents that were forgotten with other documents too."""

    def document(self, uid: str) -> DocumentRecord | None:
        """Return the document with an id given by its source."""

    def document_by_id(self, number: int) -> DocumentRecord | None:
        """Return the document with a number of the store."""

    def documents_of(self, run: int) -> list[DocumentRecord]:
        """Return the documents that a run read first."""

    def changes_by(self, run: int) -> list[DocumentRecord]:
        """Return what the documents that a run changed were before it."""

    def duplicates_of(self, document: int) -> list[DocumentRecord]:
        """Return the documents that repeat a document."""

    def stories_with(self, digest: str) -> list[DocumentRecord]:
        """Return the documents whose present text has a hash and that are no duplicates."""

    def has_text(self, document: int, digest: str) -> bool:
        """Return whether any version of a document has the text with a hash."""

    def seen(self, document: int, source: str) -> bool:
        """Return whether a source has delivered a document."""

    def signatures(self, after: int) -> Iterator[tuple[int, int, bytes]]:
        """Yield document, ordinal and signature of the stories after an ordinal, by ordinal."""

    def sequences(self, after: int) -> Iterator[tuple[int, int, str, NDArray[np.int32]]]:
        """Yield document, ordinal, language and content words of the stories after an ordinal.

        By ordinal; pre-segmented units, which have no text, are left out.
        """

    # -- texts and units ---------------------------------------------------------------------

    def version(self, document: int, number: int) -> VersionRecord:
        """Return one text of a document; raise StorageError if it is missing."""

    def versions_of(self, document: int, after: int = 0) -> list[VersionRecord]:
        """Return the texts of a document whose version number is above `after`."""

    def units(self, ids: Iterable[int]) -> list[UnitRecord]:
        """Return the units with these ids, as far as they exist."""

    def units_of_version(self, version: int) -> list[UnitRecord]:
        """Return the units of one text."""

    def units_in(self, domains: Iterable[int]) -> list[UnitRecord]:
        """Return the units that are in one of these domains."""

    def units_since(self, ordinal: int) -> list[UnitRecord]:
        """Return the units with a domain, of the stories after an ordinal."""

    def units_moved_by(self, run: int) -> list[UnitRecord]:
        """Return the units with a domain whose earlier assignment a run ended."""

    def assigned_units(self) -> Iterator[UnitRecord]:
        """Yield every unit that has a domain."""

    def past_assignments(self, ended_by: int) -> dict[int, Assignment]:
        """Return the assignments that a run ended, by unit."""

    # -- domains -----------------------------------------------------------------------------

    def domain(self, number: int) -> DomainRecord | None:
        """Return a domain, whatever its status and even without units."""

    def domains(self) -> Iterator[DomainRecord]:
        """Yield every domain, closed ones and those without units too."""

    def open_domains(self, lang: str | None = None) -> Iterator[DomainRecord]:
        """Yield the domains that take units and have some; of one language, or of all."""

    def protected_domains(self) -> set[int]:
        """Return the domains that are locked or that people named."""

    def units_taken_since(self, run: int) -> dict[int, int]:
        """Return how many present units each domain took after a run."""

    def newest_stories(self, domains: Collection[int], before: int) -> dict[int, int]:
        """Return the highest ordinal below `before` of the stories with a unit in each domain."""

    def lineage_of(self, run: int) -> list[LineageEntry]:
        """Return what a run did to domains, in order."""

    # -- events ------------------------------------------------------------------------------

    def event(self, number: int) -> EventRecord | None:
        """Return an event, even if it is closed or has no units."""

    def events(self) -> Iterator[EventRecord]:
        """Yield every event, closed ones and those without units too."""

    def open_events(self) -> Iterator[EventRecord]:
        """Yield the events that take stories and have some."""

    def events_closed_by(self, run: int) -> list[int]:
        """Return the events that a run closed."""

    # -- runs --------------------------------------------------------------------------------

    def run(self, plan: RunPlan, *, resume: bool = False) -> AbstractContextManager[Run]:
        """Begin a run that ends with the `with` block, or with `resume` continue the last one.

        An exception marks it as failed. `resume` continues a run with the same command and
        `input_key` that did not finish, and leaves it resumable after an exception.
        """

    def done_run(self, command: str, input_key: str) -> int | None:
        """Return the last run of a command on an input that finished and was not undone.

        One that was killed after it had saved its reference corpus has finished.
        """

    def undoable(self) -> tuple[int, str] | None:
        """Return id and command of the last run that may be undone."""

    def later_runs(self, run: int) -> list[tuple[int, str]]:
        """Return id and command of the runs after a run that were not undone."""

    def command_and_status(self, run: int) -> tuple[str, str] | None:
        """Return command and status of a run; None if there is no such run."""

    # -- writing -----------------------------------------------------------------------------

    def save(self, update: Update) -> None:
        """Write everything that an update brings and changes, or nothing.

        Nothing of a forgotten text may be readable afterwards, not even in what was deleted.
        """

    def drop_unnamed_pairs(self) -> None:
        """Delete what builds of reference corpora left that did not finish."""

    def add_reference_pairs(self, run: int, pairs: Iterable[Pairs]) -> None:
        """Add pairs of a reference corpus, in pieces by ascending key.

        They count from `save_reference` on.
        """

    def save_reference(
        self,
        new_words: Sequence[tuple[int, str, str]],
        references: Sequence[ReferenceRecord],
        facts: Mapping[str, Any],
    ) -> None:
        """Write a reference corpus, whose pairs are there already: it counts from now on."""
