"""Units from a curve over the words of a text: the part that `segcohlex` and `lcp` share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit
from segapsith.tokens import Tokens
from segapsith_plugins.segmenters._cohesion_curve import Inference
from segapsith_plugins.segmenters._sentences import body_of, sentences_of
from segapsith_plugins.segmenters._valleys import cut, smoothed, valleys

__all__ = [
    "BodyWords",
    "LearningRule",
    "NetworkCutting",
    "learning_rule",
    "linked_words",
    "whole_text",
]

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


class BodyWords(NamedTuple):
    """The content words of a body: their tokens, their lemmas, and which open a sentence.

    `tokens` and `starts` are the first token and the first character of those sentences.
    """

    places: Numbers
    lemmas: list[str]
    openings: Numbers
    tokens: Numbers
    starts: Numbers


def body_words(annotation: Annotation) -> BodyWords | None:
    """Return the content words after the title, or None if there are none."""
    if not len(annotation.lemmas):
        return None
    sentences = sentences_of(Tokens([annotation]), [body_of(annotation.document)])
    if not len(sentences.first):
        return None
    places = np.flatnonzero(annotation.content)
    places = places[np.searchsorted(places, sentences.first[0]) :]
    if not len(places):
        return None
    lemmas = list(map(annotation.lemmas.__getitem__, places.tolist()))
    at = np.searchsorted(places, sentences.first)
    has_words = np.append(at[1:] > at[:-1], at[-1] < len(places))
    return BodyWords(
        places, lemmas, at[has_words], sentences.first[has_words], sentences.start[has_words]
    )


@dataclass(frozen=True, slots=True)
class NetworkCutting:
    """The settings that `segcohlex` and `lcp` share: from a curve to units with inferred words."""

    smooth: int
    smooth_passes: int
    alpha: float
    boundaries: int | None
    min_words: int
    snap: bool
    keep: str | float
    inferred_min_share: float
    max_inferred: int | None
    tu_weight: str

    def __post_init__(self) -> None:
        if self.smooth < 1 or self.smooth % 2 == 0:
            raise ValueError(f"smooth={self.smooth} should be odd and >= 1")
        if self.smooth_passes < 0:
            raise ValueError(f"smooth_passes={self.smooth_passes} should be >= 0")
        if not np.isfinite(self.alpha):
            raise ValueError(f"alpha={self.alpha} should be finite")
        if self.boundaries is not None and self.boundaries < 0:
            raise ValueError(f"boundaries={self.boundaries} should be >= 0")
        if self.min_words < 1:
            raise ValueError(f"min_words={self.min_words} should be >= 1")
        # Checked here, although they are used later.
        learning_rule(self.keep)
        _ = self.inference

    @property
    def inference(self) -> Inference:
        """Which words of the network a unit may infer."""
        return Inference(self.inferred_min_share, self.max_inferred, self.tu_weight)

    def smoothed(self, curve: Values) -> Values:
        """Return the moving mean of a curve."""
        return smoothed(curve, self.smooth, self.smooth_passes)

    def cuts(self, curve: Values, words: BodyWords) -> Numbers:
        """Return the first content word of each segment."""
        return cut(
            valleys(curve),
            len(curve),
            words.openings if self.snap else None,
            alpha=self.alpha,
            boundaries=self.boundaries,
            min_words=self.min_words,
        )

    def units(
        self,
        annotation: Annotation,
        network: Network,
        *,
        words: BodyWords,
        cuts: Numbers,
        cohesion: Values,
        inferred: Sequence[Mapping[str, float]],
    ) -> Iterator[Unit]:
        """Yield the units that begin with the content words `cuts`.

        The cohesion of a unit is the mean of the curve `cohesion` over its words.
        """
        text, n_tokens = annotation.document.text, len(annotation.lemmas)
        if self.snap:
            opened = np.searchsorted(words.openings, cuts)
            firsts, starts = words.tokens[opened].tolist(), words.starts[opened].tolist()
        else:
            firsts = words.places[cuts].tolist()
            starts = annotation.spans[firsts, 0].tolist()
        firsts[0], starts[0] = 0, 0
        lasts, ends = [*firsts[1:], n_tokens], [*starts[1:], len(text)]
        means = np.add.reduceat(cohesion, cuts) / np.diff(np.append(cuts, len(cohesion)))
        rule = learning_rule(self.keep)
        for start, end, first, last, mean, inferred_weights in zip(
            starts, ends, firsts, lasts, means.tolist(), inferred, strict=True
        ):
            is_learned = rule.accepts(mean, network)
            yield Unit(start, end, first, last, mean, is_learned, inferred_weights)


def linked_words(annotation: Annotation, network: Network) -> BodyWords | None:
    """Return the content words of the body, or None if there are none or the network is empty."""
    return body_words(annotation) if len(network.neighbours) else None


def whole_text(annotation: Annotation) -> Iterator[Unit]:
    """Yield the whole text as one unit of cohesion 0, which is learned: there is no evidence."""
    if len(annotation.lemmas):
        yield Unit(0, len(annotation.document.text), 0, len(annotation.lemmas), 0.0)


class LearningRule(NamedTuple):
    """The cohesion that a unit needs to be learned from: the network's mean, or a minimum."""

    rule: str
    min_cohesion: float = 0.0

    def accepts(self, cohesion: float, network: Network) -> bool:
        if self.rule == "mean":
            return cohesion >= network.mean_cohesion
        return cohesion >= self.min_cohesion


def learning_rule(keep: str | float) -> LearningRule:
    """Return the rule of the setting `keep`.

    >>> learning_rule("mean"), learning_rule(3.5)
    (LearningRule(rule='mean', min_cohesion=0.0), LearningRule(rule='number', min_cohesion=3.5))
    >>> learning_rule("all")
    LearningRule(rule='all', min_cohesion=-inf)
    """
    if keep == "mean":
        return LearningRule("mean")
    if keep == "all":
        return LearningRule("all", -np.inf)
    if isinstance(keep, str) or not np.isfinite(keep):
        raise ValueError(f"keep={keep!r} should be 'mean', 'all' or a number")
    return LearningRule("number", float(keep))
