"""A run before and after it: what the log is told, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from segapsith.engine.learning_settings import Note
from segapsith.model import Result

__all__ = ["RunPlan", "RunSummary"]

BATCH = 200
"""Items of one transaction."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One ingest as the run log keeps it; equal `input_key`s are the same delivery."""

    command: str = "ingest"
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    input_key: str = ""
    batch: int = BATCH
    learning: Note | None = None
    """Settings that the store does not keep yet; the first batch that learns brings them."""

    def facts(self, run: int, unit: int, ordinal: int) -> dict[str, Any]:
        """Return what the store keeps with the first batch that learns."""
        return {} if self.learning is None else self.learning.fact(run, unit, ordinal)


@dataclass(slots=True)
class RunSummary(Result):
    """What a run did; the command line prints it as one line or as JSON."""

    run: int = 0
    read: int = 0
    new: int = 0
    duplicate: int = 0
    corrected: int = 0
    rejected: int = 0
    forgotten: int = 0
    """Documents that were refused because their id or their text was forgotten."""
    embargoed: int = 0
    """Stories that say they are not to be used before a time; they are kept and learned."""
    other_languages: int = 0
    """Texts in a language without a dictionary of its own, which are kept apart."""
    languages: Mapping[str, int] = field(default_factory=dict)
    """How many of them there are of each language."""
    units: int = 0
    units_kept: int = 0
    domains_joined: int = 0
    domains_new: int = 0
    seconds: float = 0.0

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
