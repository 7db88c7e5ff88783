"""The plain segmenters: a unit is a paragraph, or the whole text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from segapsith import Annotation, Network, Unit, hookimpl

_BREAK = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]{2,}\S)")
_LINE = re.compile(r"\n\s*")

MAX_WRAPPED_LINE = 200
"""Characters of a wrapped line; a text with a longer line has one paragraph per line."""


class Whole:
    """The whole document is one unit."""

    uses: frozenset[str] = frozenset()

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        if len(annotation.lemmas):
            yield Unit(0, len(annotation.document.text), 0, len(annotation.lemmas))


class Paragraphs:
    """A unit is a paragraph. Blank lines separate paragraphs, and an indented line begins one.

    In a text whose lines are too long to be wrapped, each line is a paragraph. The title belongs to
    the first paragraph. A paragraph with fewer content words than `min_words` is merged with the
    one before it, the first with the one after it.
    """

    uses: frozenset[str] = frozenset()

    def __init__(self, *, min_words: int = 20) -> None:
        if min_words < 1:
            raise ValueError(f"min_words={min_words} should be >= 1")
        self.min_words = min_words

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        document, n_tokens = annotation.document, len(annotation.lemmas)
        if not n_tokens:
            return
        text = document.text
        body = len(document.title) + 2 if document.title and document.body else 0
        unwrapped = any(len(line) > MAX_WRAPPED_LINE for line in text.splitlines())
        starts = [m.end() for m in (_LINE if unwrapped else _BREAK).finditer(text, body)]
        firsts = np.searchsorted(annotation.spans[:, 0], starts)
        weight = np.concatenate([[0], np.cumsum(annotation.content)])
        cuts = [0]
        for first in firsts.tolist():
            if weight[first] - weight[cuts[-1]] >= self.min_words and first < n_tokens:
                cuts.append(first)
        if len(cuts) > 1 and weight[n_tokens] - weight[cuts[-1]] < self.min_words:
            cuts.pop()
        for first, last in zip(cuts, [*cuts[1:], n_tokens], strict=True):
            start = 0 if first == 0 else int(annotation.spans[first, 0])
            end = len(text) if last == n_tokens else int(annotation.spans[last, 0])
            yield Unit(start, end, first, last)


@hookimpl
def register_segmenters() -> Mapping[str, type[Whole | Paragraphs]]:
    return {"none": Whole, "paragraphs": Paragraphs}
