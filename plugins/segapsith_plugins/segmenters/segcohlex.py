"""SEGCOHLEX: units where the cohesion of a moving window in the collocation network is high.

After Ferret 1998 and Ferret, Grau & Jardino 2001, as far as they are printed (algorithms §1.3-1.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith_plugins.segmenters._cohesion_curve import (
    Inference,
    Lens,
    Reading,
    cohesion_curve,
    inferred_from,
    likeness_curve,
    read,
    swept,
)
from segapsith_plugins.segmenters._network_units import Division, body_words, keeping, units

__all__ = ["Segcohlex"]


class Segcohlex:
    """Units between the valleys of a curve over the collocation network.

    A window moves over the content words of the body. At each position it selects the words of
    the network that are linked to at least `min_links` of its words, and its cohesion is the sum
    of the weights of all these words, each by how telling it is. The published method cuts the
    smoothed curve at its valleys (`cut_at="cohesion"`). The default cuts where what stands before
    goes least with what follows, in the same network (`cut_at="likeness"`), which finds far more of
    the boundaries of joined texts (docs/research/log): the height of the first curve depends
    more on how well the network knows the words than on how they hang together. A unit's cohesion is
    the mean of the smoothed cohesion curve over it, however it was cut. Words selected again and
    again in a unit, and not in it, are inferred. The title belongs to the first unit and has
    no part in the curve.

    Where the choices come from: [a] printed in the papers that describe the system, [b] in another
    publication, [c] recalled from the literature, [d] a choice of this program.

    - `window`: content words of the moving window, odd. 19 is [b], the best value of Ferret 1998.
    - `min_links`: different window words that a word must be linked to, to be selected; [c].
    - `use_signif`: each word counts with its normalised information, as in Kozima 1993; [b]. A word
      that the network does not know has the most; `max_signif` bounds it; [d].
    - `reinforce_window_words`: a window word weighs more by its links to the others; [c].
    - `taper`: None gives every window word the same weight; "hann" less to those at the rim; [c].
    - `cut_at`: "likeness" [d] or "cohesion", the published curve.
    - `span`: content words on each side that are compared, for "likeness"; [d].
    - `recurrence`: cohesion of a word with its other occurrences, for "likeness"; [d].
    - `smooth`, `smooth_passes`: positions of the moving mean, [b] for 11, and how often; [d].
    - `alpha`: valleys of at least mean - alpha sd of all depths are boundaries; [d]. None: 0.5 for
      "cohesion", 0 for "likeness". The depth itself, (left max - min) + (right max - min), is [b].
    - `boundaries`: the number of boundaries instead, the deepest ones, as published for texts
      joined end to end; [b].
    - `min_words`: content words of the shortest unit; a shorter one goes with its neighbour across
      the shallower boundary; [d].
    - `snap`: boundaries move to the nearest beginning of a sentence; [d].
    - `keep`: "mean" learns from units that are at least as cohesive as those of the stream so far,
      a number sets the bar, "all" takes every unit; the bar as such is [a], its height [d].
    - `inferred_min_share`: share of a unit's positions at which an inferred word is selected; 0.75
      is [c], 0.3 measured best; [d].
    - `max_inferred`: inferred words at most; None: as many as the unit has different words; [d].
    - `tu_weight`: weight of an inferred word: "cohesion", "signif" or "tf"; [d].

    Borders: where the window reaches beyond the text, the value is divided by the share of the
    window that is there [d]. With an empty network there is no evidence: the text is one unit of
    cohesion 0 that is kept, so that nothing is lost while there is no network yet.
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
        self._division = Division(smooth, smooth_passes, alpha, boundaries, min_words, snap)
        self._division.check()
        self._keep = keeping(keep)
        self._inference = Inference(inferred_min_share, max_inferred, tu_weight)

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        words = body_words(annotation)
        if words is None or not len(network.neighbours):
            if len(annotation.lemmas):
                yield Unit(0, len(annotation.document.text), 0, len(annotation.lemmas), 0.0)
            return
        reading = read(words.lemmas, network, self._lens)
        cuts = self._division.cuts(self._cut_curve(reading, network), words)
        sweep = swept(reading, network, self._lens, cuts, self._inference.min_share)
        yield from units(
            annotation,
            words,
            cuts,
            self._division.snap,
            self._division.smoothed(sweep.curve),
            self._keep,
            network,
            inferred_from(sweep, reading, network, self._inference),
        )

    def _cut_curve(self, reading: Reading, network: Network) -> NDArray[np.float64]:
        """The smoothed curve whose valleys are the cuts."""
        return self._division.smoothed(
            cohesion_curve(reading, network, self._lens)
            if self._cut_at == "cohesion"
            else likeness_curve(reading, network, self._span, self._recurrence)
        )

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The character of every content word of the body, and the smoothed curve that is cut."""
        words = body_words(annotation)
        if words is None or not len(network.neighbours):
            return np.zeros(0, np.int64), np.zeros(0)
        reading = read(words.lemmas, network, self._lens)
        values = self._cut_curve(reading, network)
        return annotation.spans[words.places, 0].astype(np.int64), values


@hookimpl
def register_segmenters() -> Mapping[str, type[Segcohlex]]:
    return {"segcohlex": Segcohlex}
