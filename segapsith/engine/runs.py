"""Runs: the plan that the run log stores before one, its summary, and how it ends.

Every command that writes does so inside `with storage.run(plan) as run:`. The run is `done` when
the block ends and `failed` when it raises; one that may be resumed is `interrupted` instead, and
stays `running` if the process is killed.
"""

from __future__ import annotations

import contextlib
import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from segapsith.engine.learning_settings import Note
from segapsith.errors import StorageError

__all__ = ["Run", "RunLog", "RunPlan", "RunSummary", "Unfinished", "collector_paused"]

BATCH = 2000
"""Items of one transaction at most."""

MAX_REASONS = 3
"""Rejected items that a summary names."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run as the log describes it; equal `input_key`s are the same delivery."""

    command: str = "ingest"
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    input_key: str = ""
    batch: int = BATCH
    learning: Note | None = None
    """Settings that the store does not have yet; the first update that learns brings them."""
    seed: int | None = None

    def facts(self, run: int, unit: int, ordinal: int) -> dict[str, Any]:
        """Return what the store gets with the first update that learns."""
        return {} if self.learning is None else self.learning.fact(run, unit, ordinal)


@dataclass(slots=True)
class Run:
    """A run in progress."""

    number: int
    position: int = 0
    """Items of the input that were committed before it was resumed."""
    counts: Mapping[str, Any] | None = None
    """What the log says it did; of a resumed run, what it did before."""


class Unfinished(NamedTuple):
    """A run that was cut short and may be resumed."""

    run: int
    position: int
    counts: dict[str, Any]


class RunLog(ABC):
    """The part of a storage that begins, resumes and ends runs."""

    @contextlib.contextmanager
    def run(self, plan: RunPlan, *, resume: bool = False) -> Iterator[Run]:
        """Begin a run, or with `resume` continue the last one if it had the same input."""
        resume = resume and bool(plan.input_key)
        earlier = self._unfinished(plan.command, plan.input_key) if resume else None
        if earlier is None:
            run = Run(self._begin_run(plan))
        else:
            self._resume_run(earlier.run)
            run = Run(*earlier)
        try:
            yield run
        except BaseException:
            # on a full disk this fails as well; the first error says why
            with contextlib.suppress(StorageError):
                self._finish_run(run.number, "interrupted" if resume else "failed", None)
            raise
        self._finish_run(run.number, "done", run.counts)

    def mark_failed(self, run: int) -> None:
        """Note that a finished run did not do all that it should: it will be tried again."""
        self._finish_run(run, "failed", None)

    @abstractmethod
    def _unfinished(self, command: str, input_key: str) -> Unfinished | None:
        """Return the last run if it has this command and input and did not finish."""

    @abstractmethod
    def _begin_run(self, plan: RunPlan) -> int:
        """Enter a new run; one that is still marked as running was interrupted."""

    @abstractmethod
    def _resume_run(self, run: int) -> None:
        """Mark a run as running again."""

    @abstractmethod
    def _finish_run(self, run: int, status: str, counts: Mapping[str, Any] | None) -> None:
        """Mark a run as ended; None leaves its counts as they are."""


@dataclass(slots=True)
class RunSummary:
    """What a run did; the command line prints it as one line or as JSON."""

    run: int = 0
    read: int = 0
    new: int = 0
    duplicate: int = 0
    corrected: int = 0
    rejected: int = 0
    rejects: tuple[str, ...] = ()
    """Name and reason of the first rejected items, `MAX_REASONS` at most."""
    forgotten: int = 0
    """Documents that were refused because their id or their text was forgotten."""
    embargoed: int = 0
    """Stories that must not be published before a time; they are stored and learned."""
    other_languages: int = 0
    """Texts in a language without a dictionary of its own."""
    languages: Mapping[str, int] = field(default_factory=dict)
    """How many of them there are of each language."""
    units: int = 0
    units_kept: int = 0
    domains_joined: int = 0
    domains_new: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, run: Run) -> RunSummary:
        """Return what a run did so far."""
        counts = {n: v for n, v in (run.counts or {}).items() if n in cls.__dataclass_fields__}
        return cls(**{**counts, "run": run.number, "rejects": tuple(counts.get("rejects", ()))})

    def plus(self, other: RunSummary) -> RunSummary:
        """Return the sum of both, under this run.

        >>> total = RunSummary(run=3, read=5).plus(RunSummary(read=2, languages={"de": 1}))
        >>> total.run, total.read, total.languages
        (3, 7, {'de': 1})
        """
        languages = dict(self.languages)
        for lang, count in other.languages.items():
            languages[lang] = languages.get(lang, 0) + count
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in self.__dataclass_fields__
            if name not in ("run", "languages", "rejects")
        }
        rejects = (*self.rejects, *other.rejects)[:MAX_REASONS]
        return RunSummary(run=self.run, languages=languages, rejects=rejects, **sums)

    def reject(self, name: str, reason: str) -> None:
        """Count a rejected item."""
        self.read += 1
        self.rejected += 1
        if len(self.rejects) < MAX_REASONS:
            self.rejects = (*self.rejects, f"{name}: {reason}" if name else reason)

    def count_language(self, lang: str) -> None:
        """Count a text in a language without a dictionary."""
        self.other_languages += 1
        self.languages = {**self.languages, lang: self.languages.get(lang, 0) + 1}

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def apart(self) -> str:
        """A warning about texts in other languages; empty if there are none.

        >>> RunSummary(other_languages=12, languages={"es": 5, "de": 7}).apart
        '12 stories in languages without a dictionary (de 7, es 5) were kept apart'
        """
        if not self.other_languages:
            return ""
        by_count = sorted(self.languages.items(), key=lambda entry: (-entry[1], entry[0]))
        several = self.other_languages > 1
        return (
            f"{self.other_languages} stor{'ies' if several else 'y'} in languages without a"
            f" dictionary ({', '.join(f'{lang} {count}' for lang, count in by_count)})"
            f" {'were' if several else 'was'} kept apart"
        )


@contextlib.contextmanager
def collector_paused() -> Iterator[Callable[[], None]]:
    """Pause the garbage collector of the process; for programs that own it, not for libraries.

    What is made for a batch lives until it is stored: looking for garbage meanwhile finds none.
    Call the function that is given after each batch: it collects what the batch left. The first one
    leaves imported modules, which live as long as the process: looking through them would take
    longer than an ingest of a few stories. The memory of large arrays is returned to the system when
    they are deleted.
    """
    _return_large_arrays()
    is_first = True

    def collect() -> None:
        nonlocal is_first
        if is_first:
            gc.freeze()
        else:
            gc.collect(1)
        is_first = False

    collects = gc.isenabled()
    gc.disable()
    gc.freeze()  # modules live as long as the process: it would look through them in vain
    try:
        yield collect
    finally:
        gc.freeze()  # so do those that were imported meanwhile
        if collects:
            gc.enable()


_LARGE_BYTES = 4 << 20


def _return_large_arrays() -> None:
    """Let the C library hold large arrays apart, so that their memory can be returned.

    Otherwise it raises its limit with each array that is deleted, and arrays between small objects
    leave gaps: some 60 MB for 20,000 stories. Other C libraries than glibc do without it.
    """
    import ctypes  # commands that only read do without it

    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(mmap_threshold, _LARGE_BYTES)
        library.mallopt(trim_threshold, 4 * _LARGE_BYTES)
