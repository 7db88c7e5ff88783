"""Units from a curve over the words of a text: what SEGCOHLEX and its ancestor have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit
from segapsith_plugins.segmenters._sentences import body_of, sentences_of
from segapsith_plugins.segmenters._valleys import cut, smoothed, valleys

__all__ = ["BodyWords", "Division", "Keeping", "body_words", "keeping", "units"]

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


class BodyWords(NamedTuple):
    """The content words of a body: their tokens, their lemmas, and which open a sentence.

    `tokens` and `starts` of the openings are the first token and character of those sentences.
    """

    places: Numbers
    lemmas: list[str]
    openings: Numbers
    tokens: Numbers
    starts: Numbers


def body_words(annotation: Annotation) -> BodyWords | None:
    """The content words after the title; None if there are none."""
    if not len(annotation.lemmas):
        return None
    sentences = sentences_of(annotation, body_of(annotation.document))
    if not len(sentences.first):
        return None
    places = np.flatnonzero(annotation.content)
    places = places[np.searchsorted(places, sentences.first[0]) :]
    if not len(places):
        return None
    lemmas = list(map(annotation.lemmas.__getitem__, places.tolist()))
    at = np.searchsorted(places, sentences.first)
    last = np.append(at[1:] > at[:-1], at[-1] < len(places))  # an empty sentence opens nothing
    return BodyWords(places, lemmas, at[last], sentences.first[last], sentences.start[last])


class Division(NamedTuple):
    """How a curve is cut into segments; the choices of algorithms §1.5."""

    smooth: int
    smooth_passes: int
    alpha: float
    boundaries: int | None
    min_words: int
    snap: bool

    def check(self) -> None:
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

    def smoothed(self, curve: Values) -> Values:
        return smoothed(curve, self.smooth, self.smooth_passes)

    def cuts(self, curve: Values, words: BodyWords) -> Numbers:
        """The first content word of every segment."""
        return cut(
            valleys(curve),
            len(curve),
            words.openings if self.snap else None,
            alpha=self.alpha,
            boundaries=self.boundaries,
            min_words=self.min_words,
        )


class Keeping(NamedTuple):
    """From which cohesion a unit is learned from: the network's mean, a number, or always."""

    rule: str
    least: float = 0.0

    def keeps(self, cohesion: float, network: Network) -> bool:
        if self.rule == "mean":
            return cohesion >= network.mean_cohesion
        return cohesion >= self.least


def keeping(keep: str | float) -> Keeping:
    """
    >>> keeping("mean"), keeping(3.5), keeping("all")
    (Keeping(rule='mean', least=0.0), Keeping(rule='number', least=3.5), Keeping(rule='all', least=-inf))
    """
    if keep == "mean":
        return Keeping("mean")
    if keep == "all":
        return Keeping("all", -np.inf)
    if isinstance(keep, str) or not np.isfinite(keep):
        raise ValueError(f"keep={keep!r} should be 'mean', 'all' or a number")
    return Keeping("number", float(keep))


def units(
    annotation: Annotation,
    words: BodyWords,
    cuts: Numbers,
    snapped: bool,
    cohesion: Values,
    keep: Keeping,
    network: Network,
    inferred: Sequence[Mapping[str, float]],
) -> Iterator[Unit]:
    """The units of a text that begin with the content words `cuts`, `snapped` to sentences or not;
    how cohesive each is, is the mean of `cohesion`."""
    text, n_tokens = annotation.document.text, len(annotation.lemmas)
    if snapped:
        opened = np.searchsorted(words.openings, cuts)
        firsts, starts = words.tokens[opened].tolist(), words.starts[opened].tolist()
    else:
        firsts = words.places[cuts].tolist()
        starts = annotation.spans[firsts, 0].tolist()
    firsts[0], starts[0] = 0, 0
    cohesions = np.add.reduceat(cohesion, cuts) / np.diff(np.append(cuts, len(cohesion)))
    for i, (first, start) in enumerate(zip(firsts, starts, strict=True)):
        following = i + 1 < len(firsts)
        yield Unit(
            start,
            starts[i + 1] if following else len(text),
            first,
            firsts[i + 1] if following else n_tokens,
            float(cohesions[i]),
            keep.keeps(float(cohesions[i]), network),
            inferred[i],
        )
