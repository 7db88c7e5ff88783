"""SEGCOHLEX: units from the cohesion of a moving window in the co-occurrence network.

After Ferret (1998) and Ferret, Grau & Jardino (2001), as far as they are printed. The formulas are
in docs/concepts/formulas.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith_plugins.segmenters._cohesion_curve import (
    Lens,
    Reading,
    cohesion_curve,
    inferred_from,
    likeness_curve,
    read,
    swept,
)
from segapsith_plugins.segmenters._network_units import NetworkCutting, linked_words, whole_text

__all__ = ["Segcohlex"]


class Segcohlex:
    """Units between the minima of a curve over the co-occurrence network.

    A window moves over the content words of the body. At each position it selects the words of
    the network that are linked to at least `min_links` of its words. Its cohesion is the sum of
    the weights of all these words, each times its significance. The published method cuts the
    smoothed curve at its minima (`cut_at="cohesion"`). The default cuts where the words before and
    the words after are least related in the same network (`cut_at="likeness"`). This finds far more
    of the boundaries of joined texts (docs/research/log): the height of the published curve depends
    more on how many words the network knows than on how they are related.

    A unit's cohesion is the mean of the smoothed cohesion curve over it, for both values of
    `cut_at`. Words that are selected at many positions of a unit, but do not occur in it, are
    inferred. The title belongs to the first unit and is not part of the curve.

    The origin of the choices: [a] printed in the papers that describe the system, [b] in another
    publication, [c] recalled from the literature, [d] a choice of this program.

    - `window`: content words of the moving window, odd. 19 is [b], the best value of Ferret 1998.
    - `min_links`: different window words that a word must be linked to, to be selected; [c].
    - `use_signif`: each word is weighted by its normalised information, as in Kozima 1993; [b]. A
      word that is not in the network has the maximum; `max_signif` is an upper bound; [d].
    - `reinforce_window_words`: links to other window words add to the weight of a window word; [c].
    - `taper`: None gives all window words the same weight; "hann" gives less at the edges; [c].
    - `cut_at`: "likeness" [d] or "cohesion", the published curve.
    - `span`: content words on each side that are compared, for "likeness"; [d].
    - `recurrence`: cohesion of a word with its other occurrences, for "likeness"; [d].
    - `smooth`, `smooth_passes`: width of the moving mean in words, 11 is [b]; number of passes [d].
    - `alpha`: minima with a depth of at least mean - alpha sd are boundaries; [d]. None: 0.5 for
      "cohesion", 0 for "likeness". The depth itself, (left max - min) + (right max - min), is [b].
    - `boundaries`: use the N deepest minima instead, as published for texts joined end to end; [b].
    - `min_words`: content words of the shortest unit; a shorter one is merged with its neighbour
      across the shallower boundary; [d].
    - `snap`: move boundaries to the nearest beginning of a sentence; [d].
    - `keep`: which units are learned from: "mean", those at least as cohesive as the mean of the
      stream so far; a number, those of at least this cohesion; "all". A minimum is [a], its value
      [d].
    - `inferred_min_share`: minimum share of a unit's positions at which an inferred word is
      selected; 0.75 is [c], 0.3 gave the best results; [d].
    - `max_inferred`: maximum number of inferred words; None: the number of different words of the
      unit; [d].
    - `tu_weight`: weight of an inferred word: "cohesion", "signif" or "tf"; [d].

    At the ends of the text, a value is divided by the share of the window inside the text [d]. With
    an empty network there is no evidence: the text is one unit of cohesion 0, which is learned
    from, so that nothing is lost before there is a network.
    """

    uses = frozenset({"network"})

    def __init__(
        self,
        *,
        window: int = 19,
        min_links: int = 3,
        use_signif: bool = True,
        max_signif: float = 1.0,
        reinforce_window_words: bool = True,
        taper: str | None = None,
        cut_at: str = "likeness",
        span: int = 40,
        recurrence: float = 1.0,
        smooth: int = 11,
        smooth_passes: int = 1,
        alpha: float | None = None,
        boundaries: int | None = None,
        min_words: int = 5,
        snap: bool = True,
        keep: str | float = "mean",
        inferred_min_share: float = 0.3,
        max_inferred: int | None = None,
        tu_weight: str = "cohesion",
    ) -> None:
        self._lens = Lens(window, min_links, use_signif, max_signif, reinforce_window_words, taper)
        if cut_at not in ("likeness", "cohesion"):
            raise ValueError(f"cut_at={cut_at!r} should be 'likeness' or 'cohesion'")
        if span < 1:
            raise ValueError(f"span={span} should be >= 1")
        if not 0 <= recurrence <= 1:
            raise ValueError(f"recurrence={recurrence} should lie between 0 and 1")
        self._cut_at, self._span, self._recurrence = cut_at, span, recurrence
        if alpha is None:
            alpha = 0.5 if cut_at == "cohesion" else 0.0
        self._cutting = NetworkCutting(
            smooth=smooth,
            smooth_passes=smooth_passes,
            alpha=alpha,
            boundaries=boundaries,
            min_words=min_words,
            snap=snap,
            keep=keep,
            inferred_min_share=inferred_min_share,
            max_inferred=max_inferred,
            tu_weight=tu_weight,
        )

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        words = linked_words(annotation, network)
        if words is None:
            yield from whole_text(annotation)
            return
        cutting = self._cutting
        reading = read(words.lemmas, network, self._lens)
        cuts = cutting.cuts(self._cut_curve(reading, network), words)
        sweep = swept(reading, network, self._lens, cuts, cutting.inferred_min_share)
        yield from cutting.units(
            annotation,
            network,
            words=words,
            cuts=cuts,
            cohesion=cutting.smoothed(sweep.curve),
            inferred=inferred_from(sweep, reading, network, cutting.inference),
        )

    def _cut_curve(self, reading: Reading, network: Network) -> NDArray[np.float64]:
        """Return the smoothed curve whose minima are the cuts."""
        return self._cutting.smoothed(
            cohesion_curve(reading, network, self._lens)
            if self._cut_at == "cohesion"
            else likeness_curve(reading, network, self._span, self._recurrence)
        )

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the position of each content word of the body, and the smoothed curve there."""
        words = linked_words(annotation, network)
        if words is None:
            return np.zeros(0, np.int64), np.zeros(0)
        reading = read(words.lemmas, network, self._lens)
        values = self._cut_curve(reading, network)
        return annotation.spans[words.places, 0].astype(np.int64), values


@hookimpl
def register_segmenters() -> Mapping[str, type[Segcohlex]]:
    return {"segcohlex": Segcohlex}
