"""Labels from headlines for what is specific, and from terms for what is broad."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from segapsith.domains.naming import best_headline, settled, term_label, tidy
from segapsith.model import Subject
from segapsith.plugin.contracts import Labeller
from segapsith.plugin.hookspecs import hookimpl

__all__ = ["Headlines", "Terms"]

SPECIFIC = frozenset({"domain", "event"})
"""Kinds that are named by a headline; topics and sections are broader than any headline."""


class Terms:
    """The strongest words by contrast with the siblings; a multi-word term before its parts.

    `terms` is the number of words or terms. A label stays while it is nearly as strong as the best.
    """

    def __init__(self, *, terms: int = 4) -> None:
        if not 1 <= terms <= 10:
            raise ValueError(f"terms={terms} should be in 1..10")
        self.terms = terms

    def label(self, subject: Subject) -> str:
        """Return the strongest words."""
        return settled(subject.previous, term_label(subject.words, self.terms), subject.words)


class Headlines:
    """A representative headline for domains and events; terms for topics and sections.

    A domain without a headline that represents it gets terms, too; an event any of its headlines.
    """

    def __init__(self, *, terms: int = 4) -> None:
        self._terms = Terms(terms=terms)

    def label(self, subject: Subject) -> str:
        """Return the headline, or the strongest words."""
        if subject.kind in SPECIFIC:
            headline = best_headline(subject.headlines, subject.words)
            if headline:
                return headline
            if subject.kind == "event" and subject.headlines:
                return tidy(subject.headlines[0])
        return self._terms.label(subject)


@hookimpl
def register_labellers() -> Mapping[str, Callable[..., Labeller]]:
    return {"headlines": Headlines, "terms": Terms}
