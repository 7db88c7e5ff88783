"""Columns of several annotated texts, so that they can be read together by array operations.

Texts are joined as the annotator might have seen them: one after the other, with an empty line
between two. Tokens, characters and sentences then have one numbering each, in text order.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Annotation

__all__ = ["BREAK", "HYPHEN", "LOWER", "SPACE", "UPPER", "Tokens"]

Numbers = NDArray[np.int64]

_BETWEEN = "\n\n"

SPACE, HYPHEN, UPPER, LOWER, BREAK = 1, 2, 4, 8, 16
"""Kinds of characters, as bits: blanks, hyphens, capitals, other letters with two cases, and a
line end that another one follows."""

_N_CHARACTERS = 0x20000
"""No character beyond has one of these kinds."""


@lru_cache(maxsize=1)
def _kinds_of_all() -> NDArray[np.uint8]:
    """Return the kinds of all characters that have one, by code point."""
    kinds = np.zeros(_N_CHARACTERS, np.uint8)
    for code in range(_N_CHARACTERS):
        character = chr(code)
        if character.isspace():
            kinds[code] = SPACE
        elif character.isupper():
            kinds[code] = UPPER
        elif character.islower() or unicodedata.category(character) == "Lt":
            kinds[code] = LOWER
    for character in "-‐‑":
        kinds[ord(character)] = HYPHEN
    return kinds


class Tokens:
    """The tokens of several texts as columns.

    >>> from segapsith.model import Document
    >>> spans, sentences = np.array([[0, 5], [6, 10]]), np.array([[0, 10]])
    >>> flood = Annotation(Document(body="Rain falls"), ["rain", "fall"], spans,
    ...                    np.array([True, True]), sentences)
    >>> both = Tokens([flood, flood])
    >>> both.words, both.numbers.tolist(), both.spans[:, 0].tolist(), both.firsts.tolist()
    (['rain', 'fall'], [0, 1, 0, 1], [0, 6, 12, 18], [0, 2, 4])
    """

    def __init__(self, annotations: Sequence[Annotation]) -> None:
        self.annotations = annotations
        texts = [annotation.document.text for annotation in annotations]
        lengths = np.array([len(text) for text in texts], np.int64)
        self.text = _BETWEEN.join(texts)
        self.offsets: Numbers = np.cumsum(lengths + len(_BETWEEN)) - lengths - len(_BETWEEN)
        """The first character of each text."""
        sizes = [len(annotation.lemmas) for annotation in annotations]
        self.firsts: Numbers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        """The first token of each text, and the number of tokens."""
        self.place_of: defaultdict[str, int] = defaultdict(count().__next__)
        """The number of each lemma, by first occurrence."""
        lemmas = chain.from_iterable(annotation.lemmas for annotation in annotations)
        self.numbers = np.fromiter(
            map(self.place_of.__getitem__, lemmas), np.int32, int(self.firsts[-1])
        )
        """The number of each token's lemma."""
        self.place_of.default_factory = None
        self.words = list(self.place_of)
        """The lemma of each number."""
        spans = [np.asarray(annotation.spans, np.int64) for annotation in annotations]
        self.spans: Numbers = np.concatenate([*spans, np.zeros((0, 2), np.int64)])
        self.spans += np.repeat(self.offsets, sizes)[:, None]
        """First and last character of each token, the last excluded."""
        flags = [annotation.content for annotation in annotations]
        self.content: NDArray[np.bool_] = np.concatenate([*flags, np.zeros(0, np.bool_)])

    def __len__(self) -> int:
        return len(self.annotations)

    @cached_property
    def text_of(self) -> Numbers:
        """The text of each token."""
        return np.repeat(np.arange(len(self)), np.diff(self.firsts))

    @cached_property
    def sentence_starts(self) -> Numbers:
        """The first character of each sentence, text by text."""
        starts = [
            annotation.sentences[:, 0] + offset
            for annotation, offset in zip(self.annotations, self.offsets.tolist(), strict=True)
        ]
        return np.concatenate([*starts, np.zeros(0, np.int64)]).astype(np.int64)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each character, and 0 after the last one."""
        codes = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), "<u4")
        kinds = np.zeros(len(codes) + 1, np.uint8)
        table = _kinds_of_all()
        if codes.max(initial=0) >= _N_CHARACTERS:
            codes = np.where(codes < _N_CHARACTERS, codes, 0)
        np.take(table, codes, out=kinds[:-1])
        ends_line = codes == ord("\n")
        kinds[:-2][ends_line[:-1] & ends_line[1:]] |= BREAK
        return kinds

    @cached_property
    def is_upper(self) -> NDArray[np.bool_]:
        """Whether each token is in capitals."""
        if not len(self.spans):
            return np.zeros(0, np.bool_)
        kinds = np.bitwise_or.reduceat(self.kinds, self.spans.ravel())[::2]
        is_upper: NDArray[np.bool_] = (kinds & (UPPER | LOWER)) == UPPER
        return is_upper

    @cached_property
    def is_joined(self) -> NDArray[np.bool_]:
        """Whether only blanks or a hyphen separate each token from the next, within a paragraph."""
        if len(self.spans) < 2:
            return np.zeros(len(self.spans), np.bool_)
        gaps = np.append(self.spans[:-1, 1], self.spans[1:, 0]).reshape(2, -1).T
        sizes = gaps[:, 1] - gaps[:, 0]
        every = np.bitwise_and.reduceat(self.kinds, gaps.ravel())[::2]
        one_of = np.bitwise_or.reduceat(self.kinds, gaps.ravel())[::2]
        blank = (every & SPACE != 0) & (one_of & BREAK == 0)
        hyphen = (sizes == 1) & (every & HYPHEN != 0)
        joined = np.zeros(len(self.spans), np.bool_)
        joined[:-1] = (sizes == 0) | blank | hyphen
        return joined
