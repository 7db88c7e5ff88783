"""Classification of a text: which domains its units belong to, without learning from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from segapsith.api.session import Session
from segapsith.engine.ingest import Engine
from segapsith.intake.documents import language_of
from segapsith.model import Document, Result
from segapsith_store.queries.sections import PathStep, paths

__all__ = ["Classification", "ClassifiedUnit", "NearDomain", "SharedWord", "classify"]


@dataclass(frozen=True, slots=True)
class SharedWord(Result):
    """A word that a unit has in common with a domain."""

    word: str
    unit_weight: float
    count: int
    domain_weight: float
    occurrences: int


@dataclass(frozen=True, slots=True)
class NearDomain(Result):
    """A domain that is similar to a unit, and why."""

    id: int
    label: str
    score: float
    ratios: dict[str, float]
    """The four ratios of eq. 7 (docs/concepts/formulas.md)."""
    words: list[SharedWord]
    joins: bool
    """Whether the score reaches the threshold."""
    topic: int | None
    section: int | None
    path: list[PathStep]
    """From its section and topic down to the domain."""


@dataclass(frozen=True, slots=True)
class ClassifiedUnit(Result):
    """A unit of the text, with the most similar domains first."""

    start: int
    end: int
    cohesion: float
    kept: bool
    """Whether it would be learned from."""
    words: dict[str, int]
    domains: list[NearDomain]


@dataclass(frozen=True, slots=True)
class Classification(Result):
    """The units of a text with their domains."""

    lang: str
    threshold: float
    units: list[ClassifiedUnit]


def classify(
    session: Session, text: str, *, title: str = "", top: int = 3, lang: str | None = None
) -> Classification:
    """Return the units of a text, each with the `top` most similar domains.

    Nothing is learned and nothing is locked. `lang` is detected unless it is given.
    """
    components = session.components
    document = Document(title=title, body=text, lang=lang)
    if lang is not None:
        components = replace(components, language=language_of(lang))
    with session.reading() as store:
        classified = Engine(store, components).classify(document, top)
        labels = {near["id"]: near["label"] for u in classified["units"] for near in u["domains"]}
        ways = paths(store, labels)
    return Classification(
        classified["lang"],
        classified["threshold"],
        [_unit(unit, ways) for unit in classified["units"]],
    )


def _unit(unit: Mapping[str, Any], ways: Mapping[int, list[PathStep]]) -> ClassifiedUnit:
    return ClassifiedUnit(**{**unit, "domains": [_near(near, ways) for near in unit["domains"]]})


def _near(domain: Mapping[str, Any], ways: Mapping[int, list[PathStep]]) -> NearDomain:
    path = ways[domain["id"]]
    above = {step.level: step.id for step in path}
    words = [SharedWord(**word) for word in domain["words"]]
    return NearDomain(
        **{**domain, "words": words},
        topic=above.get("topic"),
        section=above.get("section"),
        path=path,
    )
