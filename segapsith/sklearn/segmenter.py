"""Thematic units of texts as a transformer, before a vectoriser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

from segapsith.api.segmentation import Segment, segment

__all__ = ["CohesionSegmenter"]


class CohesionSegmenter(TransformerMixin, BaseEstimator):
    """Divides texts into thematic units, with the segmenter `cohesion`.

    X is a list of texts. `transform` returns the units of all texts in one list, for a vectoriser;
    `segment` returns the units of each text apart, with their places. It learns nothing. Since a
    text can have several units, use it without y, or before cross-validation. `lang` is a
    language, or `auto`. The other parameters are those of the segmenter.
    """

    def __init__(
        self,
        *,
        lang: str = "auto",
        min_words: int = 12,
        max_sentences: int = 400,
        prior: float = 300.0,
        style: float = 0.3,
        paragraph: float = 3.0,
        penalty: float = 1.0,
    ) -> None:
        self.lang = lang
        self.min_words = min_words
        self.max_sentences = max_sentences
        self.prior = prior
        self.style = style
        self.paragraph = paragraph
        self.penalty = penalty

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Check the texts; nothing is learned."""
        _texts(X)
        return self

    def transform(self, X: Iterable[str]) -> list[str]:
        """Return the units of all texts, in the order of the texts."""
        texts = _texts(X)
        units = zip(texts, self.segment(texts), strict=True)
        return [
            text[unit.start : unit.end] for text, units_of_text in units for unit in units_of_text
        ]

    def segment(self, X: Iterable[str]) -> list[list[Segment]]:
        """Return the units of each text, with their characters and words."""
        return [
            segment(
                text,
                lang=self.lang,
                segmenter="cohesion",
                min_words=self.min_words,
                max_sentences=self.max_sentences,
                prior=self.prior,
                style=self.style,
                paragraph=self.paragraph,
                penalty=self.penalty,
            )
            for text in _texts(X)
        ]


def _texts(X: Iterable[str]) -> list[str]:
    if isinstance(X, str):
        raise TypeError("X is one text; a list of texts is expected")
    texts = list(X)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"X[{number}] is {type(text).__name__}; a text is expected")
    return texts
