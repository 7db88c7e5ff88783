"""The lexical cohesion profile of Kozima (1993), on the co-occurrence network.

The formula is in docs/concepts/formulas.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith_plugins.segmenters._cohesion_curve import (
    Lens,
    Reading,
    inferred_words,
    read,
    shape,
)
from segapsith_plugins.segmenters._network_units import NetworkCutting, linked_words, whole_text

__all__ = ["LexicalCohesionProfile"]

Values = NDArray[np.float64]


class LexicalCohesionProfile:
    """Units between the minima of the activation that a window spreads in the network.

    The words of the window, tapered, activate themselves: a = p; then `rounds` times
    a = (1 - mu) p + mu D^-1 C a, with C the cohesion of the links and D its row sums. The value is
    the sum of signif a over the network [d]. This is linear in p, so a word contributes the same at
    every position: v = sum of signif over the activation of that word alone. The contributions are
    computed once per network, by `rounds` sparse products; then a position costs only its window.

    `window` 51 is [b], the Hann shape [c], `mu` and `rounds` [d], with the letters of `segcohlex`.
    The other settings are those of `segcohlex`; inferred words are selected with its window of 19
    words and 3 links. With an empty network the text is one unit.
    """

    uses = frozenset({"network"})

    def __init__(
        self,
        *,
        window: int = 51,
        taper: str | None = "hann",
        mu: float = 0.5,
        rounds: int = 3,
        use_signif: bool = True,
        max_signif: float = 1.0,
        smooth: int = 11,
        smooth_passes: int = 1,
        alpha: float = 0.5,
        boundaries: int | None = None,
        min_words: int = 5,
        snap: bool = True,
        keep: str | float = "mean",
        inferred_min_share: float = 0.75,
        max_inferred: int | None = None,
        tu_weight: str = "cohesion",
    ) -> None:
        self._profile = Lens(window, 1, use_signif, max_signif, True, taper)
        if not 0 <= mu <= 1:
            raise ValueError(f"mu={mu} should lie between 0 and 1")
        if rounds < 0:
            raise ValueError(f"rounds={rounds} should be >= 0")
        self._mu, self._rounds = mu, rounds
        self._lens = Lens(use_signif=use_signif, max_signif=max_signif)
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
        self._cached: tuple[NDArray[np.float32], Values] | None = None
        """Weights of a network, and the contributions of its words."""

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        words = linked_words(annotation, network)
        if words is None:
            yield from whole_text(annotation)
            return
        reading = read(words.lemmas, network, self._profile)
        profile = self._cutting.smoothed(self._profiled(reading, network))
        cuts = self._cutting.cuts(profile, words)
        yield from self._cutting.units(
            annotation,
            network,
            words=words,
            cuts=cuts,
            cohesion=profile,
            inferred=inferred_words(reading, cuts, network, self._lens, self._cutting.inference),
        )

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the position of each content word of the body, and the smoothed profile there."""
        words = linked_words(annotation, network)
        if words is None:
            return np.zeros(0, np.int64), np.zeros(0)
        values = self._profiled(read(words.lemmas, network, self._profile), network)
        places = annotation.spans[words.places, 0].astype(np.int64)
        return places, self._cutting.smoothed(values)

    def _profiled(self, reading: Reading, network: Network) -> Values:
        """Return the profile of a text: the tapered sum of the contributions of its words."""
        n_known = len(network.starts) - 1
        contributions = np.concatenate(
            [
                self._contributions(network, reading.significance[:n_known]),
                # unknown words have no links, so each round leaves (1 - mu) p
                reading.significance[n_known:] * ((1 - self._mu) if self._rounds else 1.0),
            ]
        )
        n, half = len(reading.rows), self._profile.window // 2
        form = shape(n, self._profile.window, self._profile.taper)
        added = form.entering * contributions[reading.rows][:, None]
        sums = np.concatenate([np.zeros((1, added.shape[1])), np.cumsum(added, axis=0)])
        places = np.arange(n)
        inside = sums[np.minimum(places + half + 1, n)] - sums[np.maximum(places - half, 0)]
        values: Values = (inside * form.reading).sum(axis=1) / form.present
        return values

    def _contributions(self, network: Network, significance: Values) -> Values:
        """Return v with v' p = signif' a: the rounds transposed, as products with signif."""
        if self._cached is not None and self._cached[0] is network.weights:
            return self._cached[1]
        from scipy.sparse import csr_array  # slow to import, and other segmenters do not need it

        n = len(significance)
        sizes = np.diff(network.starts)
        links = csr_array(
            (network.weights.astype(np.float64), network.neighbours, network.starts), shape=(n, n)
        )
        rows = np.repeat(np.arange(n), sizes)
        row_sums = np.bincount(rows, weights=links.data, minlength=n)
        links.data = links.data / row_sums[rows]
        spread = csr_array(links.T)
        contributions, passed = np.zeros(n), significance
        for _ in range(self._rounds):
            contributions += (1 - self._mu) * passed
            passed = self._mu * (spread @ passed)
        contributions += passed
        self._cached = (network.weights, contributions)
        return contributions


@hookimpl
def register_segmenters() -> Mapping[str, type[LexicalCohesionProfile]]:
    return {"lcp": LexicalCohesionProfile}
