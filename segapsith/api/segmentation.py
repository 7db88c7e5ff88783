"""The thematic units of one text: what `segment` shows, without a store or with one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from segapsith.engine.network_state import used_by
from segapsith.errors import ConfigurationError
from segapsith.intake.language import language_of
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith.plugin.contracts import NETWORK_PARTS
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.plugin.settings import PluginInUse, assign
from segapsith.settings import ANNOTATOR, SEGMENTER
from segapsith_store import Store
from segapsith_store.queries import networks

__all__ = ["Segment", "Segmentation", "learned", "segment", "segmentation"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A thematic unit of a text, with its words."""

    start: int
    end: int
    cohesion: float
    kept: bool
    words: Mapping[str, int]
    inferred: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The units of a text, and the curve that the segmenter looked at, if it has one."""

    lang: str
    units: list[Segment]
    places: list[int]
    """Characters to which the values of the curve belong, ascending."""
    curve: list[float]
    in_the_dark: bool = False
    """Whether the segmenter goes by the network alone, and that has no links."""

    def as_json(self) -> dict[str, Any]:
        return {
            "lang": self.lang,
            "units": [
                {name: getattr(unit, name) for name in Segment.__dataclass_fields__}
                for unit in self.units
            ],
            "curve": self.curve,
            "curve_places": self.places,
        }


def learned(store: str, lang: str, uses: frozenset[str] = NETWORK_PARTS) -> tuple[Lexicon, Network]:
    """What a store reads a text of a language with: its terms, and so much of its network."""
    if not os.path.exists(store):
        raise ConfigurationError(f"there is no store at {store}")
    with Store.reading(store) as kept:
        return networks.lexicon(kept), networks.network(kept, lang, uses=uses)


def segment(
    text: str,
    lang: str = "auto",
    segmenter: str = SEGMENTER,
    annotator: str = ANNOTATOR,
    store: str | None = None,
    **settings: Any,
) -> list[Segment]:
    """The thematic units of a text, read with the terms and the network of a store if one is
    named."""
    return segmentation(text, lang, segmenter, annotator, store, settings).units


def segmentation(
    text: str,
    lang: str = "auto",
    segmenter: str = SEGMENTER,
    annotator: str = ANNOTATOR,
    store: str | None = None,
    settings: Mapping[str, Any] | None = None,
    registry: Registry | None = None,
) -> Segmentation:
    """The thematic units of a text with the curve between whose valleys they lie."""
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
    made = registry.make("segmenter", segmenter, own["segmenter"])
    lexicon, network, uses = Lexicon(), Network(), used_by(made)
    if store is not None:
        lexicon, network = learned(store, document.lang or "", uses)
    reader = registry.make("annotator", annotator, own["annotator"])
    (annotation,) = reader.annotate([document], lexicon)
    units = [
        Segment(u.start, u.end, u.cohesion, u.kept, _words(annotation, u.first, u.last), u.inferred)
        for u in made.segment(annotation, network)
    ]
    places, values = made.curve(annotation, network)
    in_the_dark = uses == {"network"} and len(network.neighbours) == 0
    return Segmentation(document.lang or "", units, places.tolist(), values.tolist(), in_the_dark)


def _words(annotation: Annotation, first: int, last: int) -> dict[str, int]:
    counts: dict[str, int] = {}
    for i in range(first, last):
        if annotation.content[i]:
            counts[annotation.lemmas[i]] = counts.get(annotation.lemmas[i], 0) + 1
    return counts
