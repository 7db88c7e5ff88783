"""The second stage of ingest: what texts say, by the annotator and the segmenter.

Reading depends on nothing but the texts and what the clock froze last. It takes values and gives
small values, so that other processes can do it: words are numbered within a `Readings` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import limits
from segapsith.engine.components import Cutter
from segapsith.lexicon.multiword_terms import connectors_of, is_multiword, links
from segapsith.model import Annotation, Document, Lexicon, Network, Unit
from segapsith.plugin.contracts import Annotator
from segapsith.tokens import Tokens, renumbered

__all__ = ["GROUP", "ReadUnit", "Readings", "content_places", "learned_part", "read", "readings_of"]

GROUP = 128
"""Documents that are read together, at most."""

GROUP_CHARS = 1 << 19
"""Characters from which on no further document joins a group."""


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


@dataclass(frozen=True, slots=True)
class Readings:
    """Texts in one language that were read, as columns."""

    vocabulary: list[str]
    """Their distinct words, by first occurrence."""
    words: NDArray[np.int32]
    """Content words in text order as places in the vocabulary, each multi-word term followed by its
    parts; text by text."""
    joins: NDArray[np.uint8]
    """How each content word joins the next one: candidates for multi-word terms."""
    ends: list[int]
    """Where the words of each text end."""
    units: list[list[ReadUnit]]
    """The units of each text."""

    def __len__(self) -> int:
        return len(self.units)


def read(
    documents: Sequence[Document],
    *,
    annotator: Annotator,
    segmenter: Cutter,
    lexicon: Lexicon,
    networks: Mapping[str, Network],
) -> Iterator[Readings]:
    """Yield the readings of documents, whose language is set, in order and several together.

    `networks` has the network of each language that occurs. Of a very long document only the
    `learned_part` is read.
    """
    documents = [learned_part(document) for document in documents]
    together = getattr(annotator, "annotate_all", None)  # of an `AnnotatesTogether`
    for lang, group in groups(documents):
        if together is None:
            tokens = Tokens(list(annotator.annotate(group, lexicon)))
        else:
            tokens = together(group, lexicon)
        if len(tokens) < len(group):
            raise ValueError(f"{len(tokens)} annotations of {len(group)} documents")
        yield readings_of(lang, tokens, segmenter, networks[lang])


def learned_part(document: Document) -> Document:
    """Return the document, or its beginning up to the end of a word if it is too long to be learned.

    What is learned from one text is held in memory until it is stored, so this limits it.

    >>> learned_part(Document(body="one two " * 200_000)).body[-7:], limits.MAX_LEARNED_BYTES
    ('one two', 800000)
    """
    title = _beginning(document.title, limits.MAX_LEARNED_BYTES)
    if title is not document.title:
        return replace(document, title=title, body="", prepared=None)
    body = _beginning(document.body, limits.MAX_LEARNED_BYTES - len(title))
    return document if body is document.body else replace(document, body=body, prepared=None)


def _beginning(text: str, most: int) -> str:
    """Return a text, or its beginning of at most `most` bytes, which ends with a word if it can."""
    if 4 * len(text) <= most or (text.isascii() and len(text) <= most):
        return text
    head = text[: most + 1].encode("utf-8", "surrogatepass")
    if len(head) <= most:
        return text
    start = text[: len(head[:most].decode("utf-8", "ignore"))]
    end = max(start.rfind(blank) for blank in " \n")
    return start[:end].rstrip() if end > len(start) - limits.MAX_WORD_CHARS else start


def groups(documents: Iterable[Document]) -> Iterator[tuple[str, list[Document]]]:
    """Yield documents in groups of one language that are short enough to be read together."""
    group: list[Document] = []
    n_characters = 0
    for document in documents:
        if group and (
            document.lang != group[0].lang or len(group) >= GROUP or n_characters > GROUP_CHARS
        ):
            yield group[0].lang or "", group
            group, n_characters = [], 0
        group.append(document)
        n_characters += len(document.title) + len(document.body)
    if group:
        yield group[0].lang or "", group


def readings_of(lang: str, tokens: Tokens, segmenter: Cutter, network: Network) -> Readings:
    """Return annotated texts in one language with their content words and their units."""
    content = _content_places(tokens)
    vocabulary, words, places = _with_parts(lang, tokens, content)
    joins = np.zeros(len(words), dtype=np.uint8)
    joins[places[:-1]] = links(tokens, content)
    ends = places[np.searchsorted(content, tokens.firsts[1:])]
    units = segmenter.segment_all(tokens, network)
    return Readings(vocabulary, words, joins, ends.tolist(), _units(tokens, content, places, units))


def _units(
    tokens: Tokens,
    content: NDArray[np.int64],
    places: NDArray[np.int64],
    units: Sequence[Sequence[Unit]],
) -> list[list[ReadUnit]]:
    """Return units with the places of their words among the words of their text."""
    edges = [
        (first + unit.first, first + unit.last)
        for first, of_text in zip(tokens.firsts.tolist(), units, strict=False)
        for unit in of_text
    ]
    begins = places[np.searchsorted(content, tokens.firsts[:-1])]
    at = places[np.searchsorted(content, np.array(edges, np.int64).reshape(-1, 2))]
    at -= np.repeat(begins, [len(of_text) for of_text in units])[:, None]
    word_places = iter(at.tolist())
    return [
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
            for unit, (first, last) in zip(of_text, word_places, strict=False)
        ]
        for of_text in units
    ]


def content_places(annotation: Annotation) -> list[int]:
    """Return the places of the tokens that are learned from: content words of a sane length."""
    return [
        i for i in np.flatnonzero(annotation.content).tolist() if _is_sane(annotation.lemmas[i])
    ]


def _content_places(tokens: Tokens) -> NDArray[np.int64]:
    """Return the `content_places` of several texts."""
    return np.flatnonzero(tokens.content & tokens.flags(_is_sane)[tokens.numbers])


def _is_sane(word: str) -> bool:
    return 0 < len(word) <= limits.MAX_WORD_CHARS


def _with_parts(
    lang: str, tokens: Tokens, content: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return a vocabulary, the content words in it, each multi-word term followed by its words, and
    where each content word is among them (with their number at the end).

    A term says more than its words, but texts read before it was learned have only the words, and
    others have one of them alone: with both, all of these still meet.
    """
    small = {word for words in connectors_of(lang) for word in words}
    names, place_of = list(tokens.words), dict(tokens.place_of)
    parts: dict[int, list[int]] = {}
    for number in np.flatnonzero(tokens.flags(is_multiword)).tolist():
        words = [part for part in names[number].split(" ") if part and part not in small]
        for word in words:
            if word not in place_of:
                place_of[word] = len(names)
                names.append(word)
        parts[number] = [place_of[word] for word in words]
    n_more = np.zeros(len(tokens.words), np.int64)
    n_more[list(parts)] = [len(words) for words in parts.values()]
    lemmas = tokens.numbers[content]
    places = np.append(0, np.cumsum(1 + n_more[lemmas]))
    sequence = np.zeros(int(places[-1]), np.int32)
    sequence[places[:-1]] = lemmas
    for at in np.flatnonzero(n_more[lemmas]).tolist():
        words_of_term = parts[int(lemmas[at])]
        sequence[places[at] + 1 : places[at + 1]] = words_of_term
    numbers, distinct = renumbered(sequence, np.full(len(names), -1, np.int32))
    return [names[number] for number in distinct.tolist()], numbers, places
