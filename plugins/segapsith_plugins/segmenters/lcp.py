"""The lexical cohesion profile of Kozima (1993), on the collocation network (algorithms §1.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith_plugins.segmenters._cohesion_curve import (
    Inference,
    Lens,
    Reading,
    inferred_words,
    read,
    shape,
)
from segapsith_plugins.segmenters._network_units import Division, body_words, keeping, units

__all__ = ["LexicalCohesionProfile"]

Values = NDArray[np.float64]


class LexicalCohesionProfile:
    """Units between the valleys of the activation that a window spreads in the network.

    The words of the window, tapered, activate themselves: a = p; then `rounds` times
    a = (1 - mu) p + mu D^-1 C a, with C the cohesion of the links and D its row sums. The value is
    the sum of signif a over the network [d]. This is linear in p, so what one word brings is the
    same wherever it stands: v = sum of signif over the activation of that word alone. It is
    computed once for a network, `rounds` sparse products, and a position costs the window.

    `window` 51 is [b], the Hann shape [c], `mu` and `rounds` [d]. Valleys, units and inferred words
    are those of `segcohlex`, with the same names; inferred words are selected with its window of
    19 words and 3 links. With an empty network the text is one unit.
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
        self._division = Division(smooth, smooth_passes, alpha, boundaries, min_words, snap)
        self._division.check()
        self._keep = keeping(keep)
        self._inference = Inference(inferred_min_share, max_inferred, tu_weight)
        self._known: tuple[NDArray[np.float32], Values] | None = None

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        words = body_words(annotation)
        if words is None or not len(network.neighbours):
            if len(annotation.lemmas):
                yield Unit(0, len(annotation.document.text), 0, len(annotation.lemmas), 0.0)
            return
        reading = read(words.lemmas, network, self._profile)
        profile = self._division.smoothed(self._profiled(reading, network))
        cuts = self._division.cuts(profile, words)
        inferred = inferred_words(reading, cuts, network, self._lens, self._inference)
        snapped = self._division.snap
        yield from units(annotation, words, cuts, snapped, profile, self._keep, network, inferred)

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The character of every content word of the body, and the smoothed profile there."""
        words = body_words(annotation)
        if words is None or not len(network.neighbours):
            return np.zeros(0, np.int64), np.zeros(0)
        values = self._profiled(read(words.lemmas, network, self._profile), network)
        places = annotation.spans[words.places, 0].astype(np.int64)
        return places, self._division.smoothed(values)

    def _profiled(self, reading: Reading, network: Network) -> Values:
        """The profile of a text: the tapered sum of what its words bring."""
        n_known = len(network.starts) - 1
        brought = np.concatenate(
            [
                self._brought(network, reading.significance[:n_known]),
                # nothing is linked to them: each round leaves (1 - mu) p
                reading.significance[n_known:] * ((1 - self._mu) if self._rounds else 1.0),
            ]
        )
        n, half = len(reading.rows), self._profile.window // 2
        form = shape(n, self._profile.window, self._profile.taper)
        added = form.entering * brought[reading.rows][:, None]
        sums = np.concatenate([np.zeros((1, added.shape[1])), np.cumsum(added, axis=0)])
        places = np.arange(n)
        inside = sums[np.minimum(places + half + 1, n)] - sums[np.maximum(places - half, 0)]
        values: Values = (inside * form.reading).sum(axis=1) / form.present
        return values

    def _brought(self, network: Network, significance: Values) -> Values:
        """v with v' p = signif' a: the rounds turned around, so that they are products with signif."""
        if self._known is not None and self._known[0] is network.weights:
            return self._known[1]
        n = len(significance)
        sizes = np.diff(network.starts)
        links = csr_array(
            (network.weights.astype(np.float64), network.neighbours, network.starts), shape=(n, n)
        )
        rows = np.repeat(np.arange(n), sizes)
        row_sums = np.bincount(rows, weights=links.data, minlength=n)
        links.data = links.data / row_sums[rows]
        spread = csr_array(links.T)
        brought, passed = np.zeros(n), significance
        for _ in range(self._rounds):
            brought += (1 - self._mu) * passed
            passed = self._mu * (spread @ passed)
        brought += passed
        self._known = (network.weights, brought)
        return brought


@hookimpl
def register_segmenters() -> Mapping[str, type[LexicalCohesionProfile]]:
    return {"lcp": LexicalCohesionProfile}
