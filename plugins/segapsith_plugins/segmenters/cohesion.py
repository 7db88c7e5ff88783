"""Cohesion: units with the shortest description, found by dynamic programming.

A unit is cheap to describe if its words repeat, if its small words keep their style, and, where
a word space is known, if its words lie close together. Every new unit costs a penalty that
follows the scale on which the text itself changes its words.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith.arrays import Matrix
from segapsith.jit import kernel
from segapsith_plugins.segmenters._cohesion_curve import Inference, Lens, inferred_words, read
from segapsith_plugins.segmenters._recurrence import Scale, scale_of
from segapsith_plugins.segmenters._sentences import Sentences, body_of, sentences_of
from segapsith_plugins.segmenters._word_spaces import Space

__all__ = ["Cohesion"]

Numbers = NDArray[np.int64]

# --- from sentences to numbers ------------------------------------------------------------

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]{2,}\S)")


def _numbered(words: Iterable[str]) -> tuple[Numbers, int]:
    """Words as numbers in order of appearance, and how many there are."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    found = np.array(list(map(numbers.__getitem__, words)), np.int64)
    return found, len(numbers)


# --- the search --------------------------------------------------------------------------

_TOO_SHORT = 1e6
_MOST_EVEN = 1.2
"""The most that one word may have of the prior: the rest belongs to words not seen in the text."""

_TILT = 0.3
"""How far the prior follows the frequencies of the text, where the space knows its words: the
recurrence of a frequent word then tells less than the company of the rare ones."""

_CORE = 15.0
"""Words at the mean of the text that every unit has beforehand: few words do not show a centre."""


_HALF_PRIOR = 25.0
"""Content words of a text for which half of the prior is enough: a short text repeats so little
that what it does repeat has to count for more."""


class _Logs(NamedTuple):
    """Logarithms of what a word has in a unit: `table[places[w] + n]` = ln (n + prior of w)."""

    table: Matrix
    places: Numbers


def _logs(counts: Numbers, priors: Matrix) -> _Logs:
    """The table for words that occur so often in the text."""
    places = np.append(0, np.cumsum(counts + 1)[:-1]) if len(counts) else counts
    word = np.repeat(np.arange(len(counts)), counts + 1)
    held = np.arange(len(word)) - places[word]
    return _Logs(np.log(held + priors[word]), places)


def _shares(counts: Numbers, prior: float, tilt: float) -> Matrix:
    """What each content word has of the prior: the same, or by tilt more for frequent ones."""
    even = min(_MOST_EVEN, prior / max(len(counts), 1))
    shares: Matrix = even * (counts * (len(counts) / max(counts.sum(), 1))) ** tilt
    return shares


@kernel
def _cuts(
    words: Numbers,
    ends: Numbers,
    table: Matrix,
    places: Numbers,
    prior: float,
    small: Numbers,
    small_ends: Numbers,
    small_table: Matrix,
    small_places: Numbers,
    small_prior: float,
    style: float,
    points: Matrix,
    masses: Matrix,
    meaning: float,
    opening: Matrix,
    penalty: float,
    drift: float,
    min_words: int,
    longest: int,
) -> Numbers:
    """For every sentence end the begin of the last unit in the cheapest division up to there.

    For each begin the unit grows sentence by sentence and its cost with it, so the work is the
    number of words times `longest`.
    """
    n = len(ends) - 1
    n_axes = points.shape[1]
    log_size = np.log(np.arange(ends[n] + 1) + prior)
    log_small = np.log(np.arange(small_ends[n] + 1) + small_prior)
    held, small_held = places.copy(), small_places.copy()
    centre = np.zeros(n_axes)
    best = np.full(n + 1, np.inf)
    back = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    for i in range(n):
        stop = min(n, i + longest)
        cost, mass = best[i] + opening[i] + penalty, 0.0
        centre[:] = 0.0
        n_held, n_small_held = 0, 0
        for j in range(i, stop):
            for t in range(ends[j], ends[j + 1]):
                word = words[t]
                cost += log_size[n_held] - table[held[word]]
                held[word] += 1
                n_held += 1
            if style > 0:
                for t in range(small_ends[j], small_ends[j + 1]):
                    word = small[t]
                    cost += style * (log_small[n_small_held] - small_table[small_held[word]])
                    small_held[word] += 1
                    n_small_held += 1
            value = cost
            if meaning > 0:
                square = 0.0
                for axis in range(n_axes):
                    centre[axis] += points[j, axis]
                    square += centre[axis] * centre[axis]
                mass += masses[j]
                if mass > 0:
                    value += meaning * (mass - square / (mass + _CORE))
            if n_held > 1:
                value -= drift * n_held * np.log(n_held)
            if n_held < min_words:
                value += _TOO_SHORT * (1 - n_held / min_words)
            if value < best[j + 1]:
                best[j + 1] = value
                back[j + 1] = i
        for t in range(ends[i], ends[stop]):
            word = words[t]
            held[word] = places[word]
        for t in range(small_ends[i], small_ends[stop]):
            word = small[t]
            small_held[word] = small_places[word]
    return back


@kernel
def _likenesses(words: Numbers, ends: Numbers, n_words: int, cuts: Numbers) -> Matrix:
    """For each unit the mean cosine between a sentence and the rest of it; 1 for one sentence."""
    found = np.ones(len(cuts) - 1)
    counts = np.zeros(n_words, np.int64)
    own = np.zeros(n_words, np.int64)
    for unit in range(len(cuts) - 1):
        first, last = cuts[unit], cuts[unit + 1]
        for t in range(ends[first], ends[last]):
            counts[words[t]] += 1
        whole = 0.0
        for t in range(ends[first], ends[last]):
            whole += counts[words[t]]
        total, n_sentences = 0.0, 0
        for j in range(first, last):
            if ends[j + 1] == ends[j]:
                continue
            n_sentences += 1
            for t in range(ends[j], ends[j + 1]):
                own[words[t]] += 1
            square, common = 0.0, 0.0
            for t in range(ends[j], ends[j + 1]):
                square += own[words[t]]
                common += counts[words[t]]
            rest = whole - 2 * common + square
            if rest > 0:
                total += (common - square) / np.sqrt(square * rest)
            for t in range(ends[j], ends[j + 1]):
                own[words[t]] = 0
        if n_sentences > 1:
            found[unit] = min(1.0, max(0.0, total / n_sentences))
        for t in range(ends[first], ends[last]):
            counts[words[t]] = 0
    return found


_BLOCK = 6


@kernel
def _block_likenesses(words: Numbers, ends: Numbers, n_words: int, size: int) -> Matrix:
    """For each sentence the cosine of the words of `size` sentences before it and from it on."""
    n = len(ends) - 1
    curve = np.zeros(n)
    counts = np.zeros((n_words, 2))
    for x in range(1, n):
        low, high = max(0, x - size), min(n, x + size)
        for t in range(ends[low], ends[high]):
            counts[words[t], 0 if t < ends[x] else 1] += 1
        before, after, common = 0.0, 0.0, 0.0
        for t in range(ends[low], ends[x]):
            before += counts[words[t], 0]
            common += counts[words[t], 1]
        for t in range(ends[x], ends[high]):
            after += counts[words[t], 1]
        if before > 0 and after > 0:
            curve[x] = common / np.sqrt(before * after)
        for t in range(ends[low], ends[high]):
            counts[words[t], :] = 0
    if n > 1:
        curve[0] = curve[1]
    return curve


# --- the segmenter -----------------------------------------------------------------------

_STEM = 7
_STYLE_PRIOR = 200.0


class Cohesion:
    """Units at sentence ends that make the text cheapest to describe.

    The cost of a unit is, in nats, the sum of

    - its content words, stems of seven letters, under a Dirichlet-multinomial model of its own:
      sum over tokens of ln (m + a) - ln (c_w + a_w), m and c_w what the unit held of all words
      and of this one before, a = `prior` n/(n + 25) for a text of n words, a_w = min(1.2, a/V)
      for its V stems, times (f_w/mean f)^0.3 where a word space knows them
      (after Utiyama & Isahara 2001 and Eisenstein & Barzilay 2008);
    - `style` times the same for the other words, as they are written, with the frequencies of
      the text as prior;
    - `meaning` times the scatter of its words in the word space, W - |sum of vectors|^2 / (W + 15),
      the mean of the text taken off, if `space` or the network has one: each unit has fifteen
      words at the mean beforehand, so that a few words show no centre;
    - `paragraph`, if it begins within a paragraph of a text that has paragraphs;
    - - `drift` m ln m, m its content words, half as much without a word space: a cut has to pay
      for the natural drift of what it parts, which is in proportion to the length;
    - a penalty that grows with the number of words in which the text changes its vocabulary, as
      far as this can be seen from how the recurrence of words falls with distance, and with the
      root of the share of the words that the space knows. It is set twice: the second time half
      of it (in logarithms) follows the mean length of the units that were found first. Texts
      of up to sixty content words, and less so up to 120, pay at least 2.1, and 6 with a space.

    Units have at least `min_words` content words unless the text has fewer, and at most
    `max_sentences` sentences, which bounds the work: it is proportional to the length of the
    text. The title goes with the first unit and has no part in the cost. A unit's cohesion is
    the mean cosine between the words of a sentence and those of the rest. Units below `keep` are
    not learned from; by default all are, since a wire of a few sentences that share no word is
    still about one thing, and its cohesion only says how often it repeats itself. With `infer`,
    units take in words from the network, as those of `segcohlex` do by its defaults: units of one
    subject are then told from others more clearly, but all become more alike, and the threshold
    that suits them is another one.
    """

    def __init__(
        self,
        *,
        min_words: int = 12,
        max_sentences: int = 400,
        prior: float = 300.0,
        style: float = 0.3,
        meaning: float = 7.0,
        paragraph: float = 3.0,
        drift: float = 0.07,
        penalty: float = 1.0,
        keep: float = 0.0,
        infer: bool = False,
        space: Space | None = None,
    ) -> None:
        for name, value, least in (
            ("min_words", min_words, 1),
            ("max_sentences", max_sentences, 2),
        ):
            if value < least:
                raise ValueError(f"{name}={value} should be >= {least}")
        if not prior > 0:
            raise ValueError(f"prior={prior} should be > 0")
        weights = {"style": style, "meaning": meaning, "paragraph": paragraph, "drift": drift}
        for name, weight in {**weights, "penalty": penalty}.items():
            if not 0 <= weight < np.inf:
                raise ValueError(f"{name}={weight} should be >= 0 and finite")
        if not 0 <= keep <= 1:
            raise ValueError(f"keep={keep} should lie between 0 and 1")
        self.min_words, self.max_sentences, self.prior = min_words, max_sentences, prior
        self.style, self.meaning, self.paragraph = style, meaning, paragraph
        self.drift, self.penalty, self.keep, self.space = drift, penalty, keep, space
        self.infer = infer
        self.uses = frozenset({"network", "vectors"} if infer else {"vectors"})

    def segment(self, annotation: Annotation, network: Network) -> Iterator[Unit]:
        n_tokens = len(annotation.lemmas)
        if not n_tokens:
            return
        document = annotation.document
        text = document.text
        body = body_of(document)
        sentences = sentences_of(annotation, body)
        if not len(sentences.first):  # a title and no word after it
            yield Unit(0, len(text), 0, n_tokens)
            return
        space = self.space or network
        stems, ends, n_stems = _stream(annotation, sentences, True)
        cuts = self._division(annotation, sentences, (stems, ends, n_stems), space, body)
        values = _likenesses(stems, ends, n_stems, np.append(cuts, len(sentences.first)))
        firsts, starts = sentences.first[cuts].tolist(), sentences.start[cuts].tolist()
        firsts[0], starts[0] = 0, 0
        lasts, ends_at = [*firsts[1:], n_tokens], [*starts[1:], len(text)]
        inferred = _inferred(annotation, firsts, network) if self.infer else [{}] * len(firsts)
        for first, last, start, end, cohesion, words in zip(
            firsts, lasts, starts, ends_at, values.tolist(), inferred, strict=True
        ):
            yield Unit(start, end, first, last, cohesion, cohesion >= self.keep, words)

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[Numbers, NDArray[np.float64]]:
        """The character with which each sentence of the body begins, and how well its words and
        the five sentences' after it go with those of the six before: the cosine of their stems."""
        if not len(annotation.lemmas):
            return np.zeros(0, np.int64), np.zeros(0)
        sentences = sentences_of(annotation, body_of(annotation.document))
        if not len(sentences.first):
            return np.zeros(0, np.int64), np.zeros(0)
        stems, ends, n_stems = _stream(annotation, sentences, True)
        return sentences.start, _block_likenesses(stems, ends, n_stems, _BLOCK)

    def _division(
        self,
        annotation: Annotation,
        sentences: Sentences,
        stream: tuple[Numbers, Numbers, int],
        space: Space | None,
        body: int,
    ) -> Numbers:
        """The first sentence of each unit."""
        stems, ends, n_stems = stream
        n = len(sentences.first)
        if n < 2 or (len(stems) < 2 * self.min_words and n <= self.max_sentences):
            return np.zeros(1, np.int64)
        small, small_ends, n_small = _stream(annotation, sentences, False)
        counts = np.bincount(stems, minlength=n_stems)
        small_counts = np.bincount(small, minlength=n_small)
        small_priors = small_counts.astype(np.float64) * (_STYLE_PRIOR / max(len(small), 1))
        points, masses = _points(annotation, sentences, space if self.meaning else None)
        known = min(1.0, float(masses.sum()) / (_WELL_KNOWN * max(len(stems), 1)))
        usual = _usual_words(scale_of(stems, ends), len(stems), n)
        paid = known**0.5  # as the noise of a sum grows
        prior = self.prior * max(len(stems), 1) / (len(stems) + _HALF_PRIOR)
        fixed = (
            *(stems, ends),
            *_logs(counts, _shares(counts, prior, _TILT * known)),
            *(prior, small, small_ends),
            *_logs(small_counts, small_priors),
            *(_STYLE_PRIOR, self.style, points, masses, self.meaning if known > 0 else 0.0),
            self.paragraph * _within(annotation, sentences.first, body),
        )
        for _ in range(_ROUNDS):
            price = paid * _BY_SPACE.at(usual) + (1 - paid) * _BY_WORDS.at(usual)
            price = max(price, _least_price(len(stems), known))
            back = _cuts(
                *fixed,
                self.penalty * price,
                self.drift * (1 + known) / 2,
                self.min_words,
                self.max_sentences,
            )
            cuts = [int(back[n])]
            while cuts[-1]:
                cuts.append(int(back[cuts[-1]]))
            seen = (usual * len(stems) / len(cuts)) ** 0.5
            usual = max(seen, min(usual, _FEWEST_WORDS))
        return np.array(cuts[::-1], np.int64)


def _inferred(
    annotation: Annotation, firsts: Sequence[int], network: Network
) -> list[dict[str, float]]:
    """The words that the network infers for each unit; none for a unit without content words."""
    places = np.flatnonzero(annotation.content)
    cuts = np.searchsorted(places, firsts)
    full = np.flatnonzero(np.diff(np.append(cuts, len(places))))
    found: list[dict[str, float]] = [{} for _ in firsts]
    if len(full) and len(network.neighbours):
        lens = Lens()
        reading = read([annotation.lemmas[i] for i in places.tolist()], network, lens)
        said = inferred_words(reading, cuts[full], network, lens, Inference())
        for unit, words in zip(full.tolist(), said, strict=True):
            found[unit] = words
    return found


def _stream(
    annotation: Annotation, sentences: Sentences, content: bool
) -> tuple[Numbers, Numbers, int]:
    """The stems of the content words, or the other words as they are written (`was` is another
    style than `is`), as numbers; where sentences part them."""
    chosen = np.flatnonzero(annotation.content == content)
    chosen = chosen[np.searchsorted(chosen, sentences.first[0]) :]
    ends = np.searchsorted(chosen, np.append(sentences.first, len(annotation.lemmas)))
    if content:
        lemmas = annotation.lemmas
        words, n_words = _numbered([lemmas[i][:_STEM] for i in chosen.tolist()])
    else:
        text = annotation.document.text
        spans = annotation.spans[chosen].tolist()
        words, n_words = _numbered([text[start:end].lower() for start, end in spans])
    return words, ends.astype(np.int64), n_words


def _points(
    annotation: Annotation, sentences: Sentences, space: Space | None
) -> tuple[Matrix, Matrix]:
    """For each sentence the sum of its words' vectors without the mean of the text; their number."""
    n = len(sentences.first)
    if space is None or not len(space.vectors):
        return np.zeros((n, 1)), np.zeros(n)
    chosen = np.flatnonzero(annotation.content)
    chosen = chosen[np.searchsorted(chosen, sentences.first[0]) :]
    rows = space.numbers([annotation.lemmas[i] for i in chosen.tolist()])
    known = (rows >= 0) & (rows < len(space.vectors))
    known[known] = space.vectors[rows[known]].any(axis=1)  # a word may have no vector
    chosen, rows = chosen[known], rows[known]
    ends = np.searchsorted(chosen, np.append(sentences.first, len(annotation.lemmas)))
    masses = np.diff(ends).astype(float)
    points = np.zeros((n, space.vectors.shape[1]))
    held = np.flatnonzero(masses)
    if len(held):
        vectors = np.asarray(space.vectors[rows], float)
        points[held] = np.add.reduceat(vectors, ends[:-1][held], axis=0)
        points -= masses[:, None] * (points.sum(axis=0) / masses.sum())
    return points, masses


def _within(annotation: Annotation, firsts: Numbers, body: int) -> Matrix:
    """1 for each sentence that begins within a paragraph; 0 for all of a text without any."""
    matches = _PARAGRAPH.finditer(annotation.document.text, body)
    breaks = np.array([match.end() for match in matches], np.int64)
    if not len(breaks):
        return np.zeros(len(firsts))
    # By the first word: a sentence may begin with the blanks that the break takes in.
    paragraphs = np.searchsorted(breaks, annotation.spans[firsts, 0], side="right")
    within: Matrix = (np.diff(paragraphs, prepend=-1) == 0).astype(np.float64)
    return within


class _Line(NamedTuple):
    """A straight line: what a cut has to gain, by the words over which a text changes."""

    slope: float
    base: float

    def at(self, n_words: float) -> float:
        return max(_LEAST_PENALTY, self.slope * n_words + self.base)


_LEAST_PENALTY = 0.5
_BY_WORDS = _Line(0.055, -1.6)
_BY_SPACE = _Line(0.135, -2.5)
"""Measured on the shared sets: the gain of a right cut grows with what it parts."""

_ROUNDS = 2
"""The units that are found first tell over how many words the text really changes: the geometric
mean with what was expected sets the penalty of the second round."""

_SURE_BY_WORDS, _SURE_BY_SPACE = 2.1, 6.0
_KNOWS_SOME = 0.1
_SHORT = 60.0
"""Content words up to which a text is expected to be about one thing, so that it is cut only where
the sign is sure; at twice as many nothing of that is left."""


def _least_price(n_words: int, known: float) -> float:
    """What a cut has to gain at least in a text of so many content words.

    By words alone little can be gained, by a space much; that rises as soon as the space knows
    some of the words, since a young one is easily wrong.

    >>> [_least_price(n, 1.0) for n in (10, 60, 90, 200)], _least_price(60, 0.0)
    ([6.0, 6.0, 3.0, 0.0], 2.1)
    """
    sure = max(_SURE_BY_WORDS, _SURE_BY_SPACE * min(1.0, known / _KNOWS_SOME))
    return float(sure * min(1.0, max(0.0, 2 - n_words / _SHORT)))


_WELL_KNOWN = 0.9
"""The share of the words that a large word space knows of any text in its language."""

_FEWEST_WORDS = 66.0
_TRUSTED_WORDS = 100.0
_UNLIKE = 0.2


def _usual_words(scale: Scale, n_words: int, n_sentences: int) -> float:
    """How many content words a text of this length and scale spends on one subject.

    By its length alone a text of n sentences has n^0.4 subjects, and at least one for each 150
    sentences: fitted to textbook chapters, encyclopedia articles, lectures and novels. The
    scale seen in the recurrence of words is trusted as far as the text is long and its pieces
    have little in common; the mean of both is geometric.
    """
    n_subjects: float = max(n_sentences**0.4, n_sentences / 150)
    usual = max(_FEWEST_WORDS, n_words / n_subjects)
    if not scale.near:
        return usual
    seen = scale.length * n_words / n_sentences
    common = scale.far / scale.near
    trust = n_words / (n_words + _TRUSTED_WORDS) / (1 + (common / _UNLIKE) ** 2)
    mean: float = seen**trust * usual ** (1 - trust)
    return mean


@hookimpl
def register_segmenters() -> Mapping[str, type[Cohesion]]:
    return {"cohesion": Cohesion}
