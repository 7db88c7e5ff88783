"""Results of forgetting documents."""

from __future__ import annotations

from dataclasses import dataclass

from segapsith.model import Result

__all__ = ["AllowedAgain", "Forgotten", "ForgottenDocument"]


@dataclass(frozen=True, slots=True)
class ForgottenDocument(Result):
    """A document that was forgotten, and the copy that took its place, if there is one."""

    document: str
    successor: str | None
    units: int
    run: int | None = None
    """Only if one document was named."""

    def keys(self) -> list[str]:
        """Return the names of the fields, without `run` if it is None."""
        names = ["document", "successor", "units"]
        return names if self.run is None else ["run", *names]


@dataclass(frozen=True, slots=True)
class Forgotten(Result):
    """Documents that were forgotten in one run."""

    run: int
    documents: list[ForgottenDocument]
    units: int


@dataclass(frozen=True, slots=True)
class AllowedAgain(Result):
    """Forgotten documents that a later delivery may bring back."""

    run: int
    documents: list[str]
    held: int
    """Texts that stay refused because they were forgotten with other documents too."""
