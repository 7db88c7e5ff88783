"""Where sentences begin, for segmenters that cut between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Document

__all__ = ["Sentences", "body_of", "sentences_of"]

Numbers = NDArray[np.int64]


def body_of(document: Document) -> int:
    """Return the character with which the body begins; the title belongs to the first unit.

    >>> body_of(Document(title="Flood", body="The river rose."))
    7
    """
    return len(document.title) + 2 if document.title and document.body else 0


_STOP = re.compile(r"\s[.!?]+[\"'”’»)\]\s]*\s")
"""The full stop of a tokenised text, which has a blank on both sides."""

_MAX_TOKENS = 120
"""Tokens of a sentence; a longer one is a text whose punctuation was lost, and is divided."""

_PIECE_TOKENS, _MIN_PIECE_TOKENS = 30, 8
"""Tokens of the pieces of a sentence that is divided."""


class Sentences(NamedTuple):
    """First token and first character of each sentence of a body."""

    first: Numbers
    start: Numbers


def sentences_of(annotation: Annotation, body: int) -> Sentences:
    """Return the sentences of a text after character `body`, each with at least one token.

    They are those of the annotator, and a full stop between blanks always ends one. A sentence of
    more than 120 tokens is a text whose punctuation was lost: it is divided at line ends, before
    capitals, or every 30 tokens.
    """
    spans, text = annotation.spans, annotation.document.text
    token_starts = spans[:, 0].astype(np.int64)
    begun = np.append(0, annotation.sentences[:, 0]).astype(np.int64)
    stops = [match.end() for match in _STOP.finditer(text, body)]
    bounds = np.unique(np.concatenate([begun, np.array(stops, np.int64), [body]]))
    bounds = bounds[bounds >= body]
    first = np.searchsorted(token_starts, bounds)
    has_tokens = np.append(first[1:] > first[:-1], first[-1] < len(spans))
    first, start = first[has_tokens], bounds[has_tokens]
    ends = np.append(first[1:], len(spans))
    if not len(first) or (ends - first).max() <= _MAX_TOKENS:
        return Sentences(first, start)
    firsts, starts = [], []
    for begin, character, end in zip(first.tolist(), start.tolist(), ends.tolist(), strict=True):
        firsts.append(begin)
        starts.append(character)
        if end - begin > _MAX_TOKENS:
            for cut in _pieces(text, spans, begin, end):
                firsts.append(cut)
                starts.append(int(token_starts[cut]))
    return Sentences(np.array(firsts, np.int64), np.array(starts, np.int64))


def _pieces(text: str, spans: NDArray[np.int32], begin: int, end: int) -> Iterator[int]:
    """Yield the tokens at which a sentence without punctuation is divided."""
    last = begin
    capital = text[spans[begin, 0]].isupper()
    for i in range(begin + 1, end - _MIN_PIECE_TOKENS):
        was_capital, capital = capital, text[spans[i, 0]].isupper()
        size = i - last
        line = "\n" in text[spans[i - 1, 1] : spans[i, 0]]
        opens = (capital and not was_capital) or line
        if size >= _PIECE_TOKENS or (size >= _MIN_PIECE_TOKENS and opens):
            yield i
            last = i
