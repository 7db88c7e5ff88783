"""Segmentation of one text into thematic units, with or without a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from segapsith.engine.network_state import used_by
from segapsith.errors import ConfigurationError
from segapsith.intake.documents import language_of
from segapsith.model import Annotation, Document, Json, Lexicon, Network, Result
from segapsith.plugin.contracts import NETWORK_PARTS, Annotator
from segapsith.plugin.guards import GuardedSegmenter
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.plugin.settings import PluginInUse, assign
from segapsith.settings import ANNOTATOR, SEGMENTER
from segapsith_store import Store
from segapsith_store.queries.networks import read_lexicon, read_network

__all__ = ["Segment", "Segmentation", "learned", "segment", "segmentation"]


@dataclass(frozen=True, slots=True)
class Segment(Result):
    """A thematic unit of a text, with its words."""

    start: int
    end: int
    """Characters of the text, half open."""
    cohesion: float
    kept: bool
    """Whether it would be learned from."""
    words: Mapping[str, int]
    inferred: Mapping[str, float]
    """Words that the segmenter inferred, with their weights."""


@dataclass(frozen=True, slots=True)
class Segmentation(Result):
    """The units of a text, and the cohesion curve of the segmenter, if it has one."""

    lang: str
    units: list[Segment]
    curve: list[float]
    curve_places: list[int]
    """Characters to which the values of the curve belong, ascending."""
    in_the_dark: bool = False
    """Whether the segmenter uses only the network, and the network has no links."""

    @property
    def places(self) -> list[int]:
        """The characters to which the values of the curve belong."""
        return self.curve_places

    def keys(self) -> list[str]:
        """Return the names of the JSON form."""
        return ["lang", "units", "curve", "curve_places"]


def learned(store: str, lang: str, uses: frozenset[str] = NETWORK_PARTS) -> tuple[Lexicon, Network]:
    """Return the terms of a store, and the parts of its network that a segmenter uses."""
    if not os.path.exists(store):
        raise ConfigurationError(f"there is no store at {store}")
    with Store.reading(store) as reader:
        return read_lexicon(reader), read_network(reader, lang, uses=uses)


def segment(
    text: str,
    lang: str = "auto",
    segmenter: str = SEGMENTER,
    annotator: str = ANNOTATOR,
    store: str | None = None,
    **settings: Json,
) -> list[Segment]:
    """Return the thematic units of a text.

    `store` is a path: the text is then read with the terms and the network of that store.
    `settings` are those of the segmenter and the annotator.
    """
    return segmentation(text, lang, segmenter, annotator, store, settings).units


def segmentation(
    text: str,
    lang: str = "auto",
    segmenter: str = SEGMENTER,
    annotator: str = ANNOTATOR,
    store: str | None = None,
    settings: Mapping[str, Json] | None = None,
    registry: Registry | None = None,
) -> Segmentation:
    """Return the thematic units of a text and the cohesion curve that they were cut at."""
    registry = registry or load_plugins()
    document = Document(body=text)
    document = Document(body=text, lang=language_of(lang)(document))
    given = settings or {}
    keys = assign(
        given,
        [
            PluginInUse(kind, name, registry.settings(kind, name))
            for kind, name in (("segmenter", segmenter), ("annotator", annotator))
        ],
        optional=given.keys(),
        installed={name for _, name in registry.offers},
    )
    own = {role: {name: given[key] for name, key in of.items()} for role, of in keys.items()}
    cutter: GuardedSegmenter = registry.make("segmenter", segmenter, own["segmenter"])
    lexicon, network, uses = Lexicon(), Network(), used_by(cutter)
    if store is not None:
        lexicon, network = learned(store, document.lang or "", uses)
    reader: Annotator = registry.make("annotator", annotator, own["annotator"])
    (annotation,) = reader.annotate([document], lexicon)
    units = [
        Segment(u.start, u.end, u.cohesion, u.kept, _words(annotation, u.first, u.last), u.inferred)
        for u in cutter.segment(annotation, network)
    ]
    places, values = cutter.curve(annotation, network)
    in_the_dark = uses == {"network"} and len(network.neighbours) == 0
    return Segmentation(document.lang or "", units, values.tolist(), places.tolist(), in_the_dark)


def _words(annotation: Annotation, first: int, last: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for i in range(first, last):
        if annotation.content[i]:
            counts[annotation.lemmas[i]] = counts.get(annotation.lemmas[i], 0) + 1
    return counts
