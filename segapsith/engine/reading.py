"""The second stage of ingest: what a text says, by the annotator and the segmenter.

Reading depends on nothing but the text and what the clock froze last. It takes values and gives
small values, so that other processes can do it: words are not numbered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import limits
from segapsith.engine.components import Cutter
from segapsith.lexicon.multiword_terms import connectors_of, links
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith.plugin.contracts import Annotator

__all__ = ["ReadUnit", "Reading", "content_places", "read", "reading_of"]


class ReadUnit(NamedTuple):
    """A thematic unit: its characters, its content words, and what the segmenter found."""

    start: int
    end: int
    first_word: int
    """The place of its first content word among those of the text; `last_word` is excluded."""
    last_word: int
    cohesion: float
    kept: bool
    inferred: Mapping[str, float]
    """Words that the network adds, with their weights."""


class Reading(NamedTuple):
    """A text that was read."""

    words: list[str]
    """Content words in text order, each multi-word term followed by its parts."""
    joins: NDArray[np.uint8]
    """How each content word joins the next one: candidates for multi-word terms."""
    units: list[ReadUnit]


def read(
    documents: Sequence[Document],
    *,
    annotator: Annotator,
    segmenter: Cutter,
    lexicon: Lexicon,
    networks: Mapping[str, Network],
) -> Iterator[Reading]:
    """Yield the reading of each document, whose language is set, in order.

    `networks` has the network of each language that occurs.
    """
    for document, annotation in zip(documents, annotator.annotate(documents, lexicon), strict=True):
        lang = document.lang or ""
        yield reading_of(lang, annotation, segmenter, networks[lang])


def reading_of(lang: str, annotation: Annotation, segmenter: Cutter, network: Network) -> Reading:
    """Return an annotated text with its content words and its units."""
    content = content_places(annotation)
    words, places = _with_parts(lang, [annotation.lemmas[i] for i in content])
    joins = np.zeros(len(words), dtype=np.uint8)
    joins[places[:-1]] = links(annotation, content)
    units = segmenter.segment(annotation, network)
    firsts = places[np.searchsorted(content, [unit.first for unit in units])].tolist()
    lasts = places[np.searchsorted(content, [unit.last for unit in units])].tolist()
    return Reading(
        words,
        joins,
        [
            ReadUnit(
                unit.start,
                unit.end,
                first,
                last,
                float(unit.cohesion),
                unit.kept and last > first,
                unit.inferred,
            )
            for unit, first, last in zip(units, firsts, lasts, strict=True)
        ],
    )


def content_places(annotation: Annotation) -> list[int]:
    """Return the places of the tokens that are learned from: content words of a sane length."""
    return [
        i
        for i in np.flatnonzero(annotation.content).tolist()
        if 0 < len(annotation.lemmas[i]) <= limits.MAX_WORD_CHARS
    ]


def _with_parts(lang: str, lemmas: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return lemmas, each multi-word term followed by its words, and where each lemma is now.

    A term says more than its words, but texts read before it was learned have only the words, and
    others have one of them alone: with both, all of these still meet.

    >>> _with_parts("en", ["visit", "prime minister", "rome"])
    (['visit', 'prime minister', 'prime', 'minister', 'rome'], array([0, 1, 4, 5]))
    """
    small = {word for words in connectors_of(lang) for word in words}
    result: list[str] = []
    places = []
    for lemma in lemmas:
        places.append(len(result))
        result.append(lemma)
        if " " in lemma:
            result += [part for part in lemma.split(" ") if part and part not in small]
    return result, np.array([*places, len(result)], dtype=np.int64)
