"""Cohesion: the division with the shortest description, found by dynamic programming.

The description of a unit is short if its content words repeat, if its function words keep the same
style, and, if word vectors are available, if its words are close together. Each further unit costs
a penalty, which follows the scale on which the text itself changes its words. The formula is in
docs/concepts/formulas.md.
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
from segapsith_plugins.segmenters._sentences import (
    Scale,
    Sentences,
    body_of,
    scale_of,
    sentences_of,
)
from segapsith_plugins.segmenters._word_spaces import Space

__all__ = ["Cohesion"]

Numbers = NDArray[np.int64]

# --- from sentences to numbers ------------------------------------------------------------

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*|\n(?=[ \t]{2,}\S)")


def _numbered(words: Iterable[str]) -> tuple[Numbers, int]:
    """Return words as numbers in order of appearance, and the number of different ones."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    sequence = np.array(list(map(numbers.__getitem__, words)), np.int64)
    return sequence, len(numbers)


# --- the search --------------------------------------------------------------------------

_TOO_SHORT_COST = 1e6
_MAX_WORD_PRIOR = 1.2
"""Upper bound of the prior of one word: the rest belongs to words that are not in the text."""

_PRIOR_EXPONENT = 0.3
"""Exponent by which the prior follows the frequencies of the text, if its words have vectors: the
recurrence of a frequent word is then weaker evidence than the vectors of the rare ones.
"""

_CENTRE_WORDS = 15.0
"""Words at the mean of the text that are added to each unit: a few words do not show a centre."""


_HALF_PRIOR_WORDS = 25.0
"""Content words of a text that gets half of the prior: a short text has few repetitions, so each
must count more.
"""


class _Logs(NamedTuple):
    """Logarithms of the counts of a word in a unit: `table[places[w] + n]` = ln (n + prior of w)."""

    table: Matrix
    places: Numbers


def _logs(counts: Numbers, priors: Matrix) -> _Logs:
    """Return the table for words with these counts in the text."""
    places = np.append(0, np.cumsum(counts + 1)[:-1]) if len(counts) else counts
    word = np.repeat(np.arange(len(counts)), counts + 1)
    held = np.arange(len(word)) - places[word]
    return _Logs(np.log(held + priors[word]), places)


def _shares(counts: Numbers, prior: float, tilt: float) -> Matrix:
    """Return the prior of each content word: equal, or with `tilt` more for frequent words."""
    even = min(_MAX_WORD_PRIOR, prior / max(len(counts), 1))
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
    """Return, for each sentence end, where the last unit begins in the cheapest division up to it.

    For each beginning the unit grows sentence by sentence and its cost with it, so the work is the
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
                    value += meaning * (mass - square / (mass + _CENTRE_WORDS))
            if n_held > 1:
                value -= drift * n_held * np.log(n_held)
            if n_held < min_words:
                value += _TOO_SHORT_COST * (1 - n_held / min_words)
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
    """Return the mean cosine of a sentence and the rest of its unit, for each unit.

    A unit of one sentence has 1.
    """
    cosines = np.ones(len(cuts) - 1)
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
            cosines[unit] = min(1.0, max(0.0, total / n_sentences))
        for t in range(ends[first], ends[last]):
            counts[words[t]] = 0
    return cosines


_BLOCK_SENTENCES = 6


@kernel
def _block_likenesses(words: Numbers, ends: Numbers, n_words: int, size: int) -> Matrix:
    """Return, for each sentence, the cosine of the words before it and the words after it.

    The words are those of the `size` sentences before, and of the `size` sentences that begin with
    it.
    """
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

_STEM_LETTERS = 7
_STYLE_PRIOR = 200.0


class Cohesion:
    """Units at sentence ends that give the text the shortest description.

    The cost of a unit, in nats, is the sum of

    - its content words, stems of seven letters, under a Dirichlet-multinomial model of its own:
      sum over tokens of ln (m + a) - ln (c_w + a_w), with m and c_w the previous tokens of the unit
      (all, and of this word), a = `prior` n/(n + 25) for a text of n words, a_w = min(1.2, a/V)
      for its V stems, times (f_w/mean f)^0.3 if the words have vectors
      (after Utiyama & Isahara 2001 and Eisenstein & Barzilay 2008);
    - `style` times the same for the other words, as they are written, with the frequencies of
      the text as prior;
    - `meaning` times the scatter of its words in the word space, W - |sum of vectors|^2 / (W + 15),
      with the mean of the text subtracted, if `space` or the network has vectors. The 15 stands for
      fifteen words at the mean, so that a few words do not show a centre;
    - `paragraph`, if it begins inside a paragraph of a text that has paragraphs;
    - - `drift` m ln m, m its content words, half of it without a word space: a cut must gain more
      than the natural drift of the words, which is proportional to the length;
    - a penalty that grows with the number of words over which the text changes its vocabulary and
      with the root of the share of words that have vectors. That number is estimated from how the
      recurrence of words falls with distance, and again from the mean length of the units of the
      first result (geometric mean). Texts of up to 60 content words pay at least 2.1, or 6 with
      vectors; this minimum falls to 0 at 120 words.

    Units have at least `min_words` content words unless the text has fewer, and at most
    `max_sentences` sentences, so that the work is proportional to the length of the text. The title
    belongs to the first unit and has no effect on the cost. A unit's cohesion is the mean cosine
    between the words of a sentence and those of the rest. Units with a cohesion below `keep` are
    not learned from. By default all are: a wire of a few sentences that share no word still has one
    subject. With `infer`, units infer words from the network with the defaults of `segcohlex`. This
    separates subjects more clearly, but makes all units more similar, so that another threshold is
    needed.
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
        if not len(sentences.first):  # a title without any word after it
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
        """Return the position of each sentence of the body, and a cosine for each.

        It is the cosine of the stems of the six sentences before it and of the six that begin with
        it.
        """
        if not len(annotation.lemmas):
            return np.zeros(0, np.int64), np.zeros(0)
        sentences = sentences_of(annotation, body_of(annotation.document))
        if not len(sentences.first):
            return np.zeros(0, np.int64), np.zeros(0)
        stems, ends, n_stems = _stream(annotation, sentences, True)
        return sentences.start, _block_likenesses(stems, ends, n_stems, _BLOCK_SENTENCES)

    def _division(
        self,
        annotation: Annotation,
        sentences: Sentences,
        stream: tuple[Numbers, Numbers, int],
        space: Space | None,
        body: int,
    ) -> Numbers:
        """Return the first sentence of each unit."""
        stems, ends, n_stems = stream
        n = len(sentences.first)
        if n < 2 or (len(stems) < 2 * self.min_words and n <= self.max_sentences):
            return np.zeros(1, np.int64)
        small, small_ends, n_small = _stream(annotation, sentences, False)
        counts = np.bincount(stems, minlength=n_stems)
        small_counts = np.bincount(small, minlength=n_small)
        small_priors = small_counts.astype(np.float64) * (_STYLE_PRIOR / max(len(small), 1))
        points, masses = _points(annotation, sentences, space if self.meaning else None)
        known_share = min(1.0, float(masses.sum()) / (_USUAL_KNOWN_SHARE * max(len(stems), 1)))
        usual = _usual_words(scale_of(stems, ends), len(stems), n)
        paid = known_share**0.5  # the noise of a sum grows with the root of its terms
        prior = self.prior * max(len(stems), 1) / (len(stems) + _HALF_PRIOR_WORDS)
        fixed = (
            *(stems, ends),
            *_logs(counts, _shares(counts, prior, _PRIOR_EXPONENT * known_share)),
            *(prior, small, small_ends),
            *_logs(small_counts, small_priors),
            *(_STYLE_PRIOR, self.style, points, masses, self.meaning if known_share > 0 else 0.0),
            self.paragraph * _within(annotation, sentences.first, body),
        )
        for _ in range(_ROUNDS):
            price = paid * _BY_SPACE.at(usual) + (1 - paid) * _BY_WORDS.at(usual)
            price = max(price, _min_gain(len(stems), known_share))
            back = _cuts(
                *fixed,
                self.penalty * price,
                self.drift * (1 + known_share) / 2,
                self.min_words,
                self.max_sentences,
            )
            cuts = [int(back[n])]
            while cuts[-1]:
                cuts.append(int(back[cuts[-1]]))
            observed = (usual * len(stems) / len(cuts)) ** 0.5
            usual = max(observed, min(usual, _MIN_SUBJECT_WORDS))
        return np.array(cuts[::-1], np.int64)


def _inferred(
    annotation: Annotation, firsts: Sequence[int], network: Network
) -> list[dict[str, float]]:
    """Return the words that the network infers for each unit, none if it has no content words."""
    places = np.flatnonzero(annotation.content)
    cuts = np.searchsorted(places, firsts)
    full = np.flatnonzero(np.diff(np.append(cuts, len(places))))
    inferred: list[dict[str, float]] = [{} for _ in firsts]
    if len(full) and len(network.neighbours):
        lens = Lens()
        reading = read([annotation.lemmas[i] for i in places.tolist()], network, lens)
        per_unit = inferred_words(reading, cuts[full], network, lens, Inference())
        for unit, words in zip(full.tolist(), per_unit, strict=True):
            inferred[unit] = words
    return inferred


def _stream(
    annotation: Annotation, sentences: Sentences, content: bool
) -> tuple[Numbers, Numbers, int]:
    """Return words as numbers, where the sentences divide them, and the number of different words.

    They are the stems of the content words, or the other words as they are written: `was` is
    another style than `is`.
    """
    tokens = np.flatnonzero(annotation.content == content)
    tokens = tokens[np.searchsorted(tokens, sentences.first[0]) :]
    ends = np.searchsorted(tokens, np.append(sentences.first, len(annotation.lemmas)))
    if content:
        lemmas = annotation.lemmas
        words, n_words = _numbered([lemmas[i][:_STEM_LETTERS] for i in tokens.tolist()])
    else:
        text = annotation.document.text
        spans = annotation.spans[tokens].tolist()
        words, n_words = _numbered([text[start:end].lower() for start, end in spans])
    return words, ends.astype(np.int64), n_words


def _points(
    annotation: Annotation, sentences: Sentences, space: Space | None
) -> tuple[Matrix, Matrix]:
    """Return, for each sentence, the sum of its words' vectors, and their number.

    The mean vector of the text is subtracted.
    """
    n = len(sentences.first)
    if space is None or not len(space.vectors):
        return np.zeros((n, 1)), np.zeros(n)
    tokens = np.flatnonzero(annotation.content)
    tokens = tokens[np.searchsorted(tokens, sentences.first[0]) :]
    rows = space.numbers([annotation.lemmas[i] for i in tokens.tolist()])
    has_vector = (rows >= 0) & (rows < len(space.vectors))
    has_vector[has_vector] = space.vectors[rows[has_vector]].any(
        axis=1
    )  # a word may have no vector
    tokens, rows = tokens[has_vector], rows[has_vector]
    ends = np.searchsorted(tokens, np.append(sentences.first, len(annotation.lemmas)))
    masses = np.diff(ends).astype(float)
    points = np.zeros((n, space.vectors.shape[1]))
    filled = np.flatnonzero(masses)
    if len(filled):
        vectors = np.asarray(space.vectors[rows], float)
        points[filled] = np.add.reduceat(vectors, ends[:-1][filled], axis=0)
        points -= masses[:, None] * (points.sum(axis=0) / masses.sum())
    return points, masses


def _within(annotation: Annotation, firsts: Numbers, body: int) -> Matrix:
    """Return 1 for each sentence that begins inside a paragraph; 0 if there are no paragraphs."""
    matches = _PARAGRAPH.finditer(annotation.document.text, body)
    breaks = np.array([match.end() for match in matches], np.int64)
    if not len(breaks):
        return np.zeros(len(firsts))
    # By the first word: a sentence may begin with blanks that belong to the break.
    paragraphs = np.searchsorted(breaks, annotation.spans[firsts, 0], side="right")
    within: Matrix = (np.diff(paragraphs, prepend=-1) == 0).astype(np.float64)
    return within


class _Line(NamedTuple):
    """A straight line: the minimum gain of a cut, by the words over which a text changes."""

    slope: float
    base: float

    def at(self, n_words: float) -> float:
        return max(_MIN_PENALTY, self.slope * n_words + self.base)


_MIN_PENALTY = 0.5
_BY_WORDS = _Line(0.055, -1.6)
_BY_SPACE = _Line(0.135, -2.5)
"""Fitted to the shared data sets: the gain of a correct cut grows with the length of its units."""

_ROUNDS = 2
"""The first result shows over how many words the text really changes: the geometric mean with the
expected number sets the penalty of the second round.
"""

_SHORT_TEXT_GAIN, _SHORT_TEXT_GAIN_BY_SPACE = 2.1, 6.0
_MIN_KNOWN_SHARE = 0.1
_SHORT_TEXT_WORDS = 60.0
"""Content words of a short text, which is expected to have one subject and is cut only on strong
evidence; at twice as many the effect ends.
"""


def _min_gain(n_words: int, known_share: float) -> float:
    """Return the minimum gain of a cut in a text of `n_words` content words.

    Words alone give little gain, vectors much. The minimum rises as soon as a few words have
    vectors, since vectors from a small corpus are often wrong.

    >>> [_min_gain(n, 1.0) for n in (10, 60, 90, 200)], _min_gain(60, 0.0)
    ([6.0, 6.0, 3.0, 0.0], 2.1)
    """
    sure = max(
        _SHORT_TEXT_GAIN, _SHORT_TEXT_GAIN_BY_SPACE * min(1.0, known_share / _MIN_KNOWN_SHARE)
    )
    return float(sure * min(1.0, max(0.0, 2 - n_words / _SHORT_TEXT_WORDS)))


_USUAL_KNOWN_SHARE = 0.9
"""Share of the words of any text that have a vector in a large word space of its language."""

_MIN_SUBJECT_WORDS = 66.0
_HALF_TRUST_WORDS = 100.0
_HALF_TRUST_OVERLAP = 0.2


def _usual_words(scale: Scale, n_words: int, n_sentences: int) -> float:
    """Return the number of content words that a text of this length and scale has per subject.

    By its length alone a text of n sentences has n^0.4 subjects, and at least one for each 150
    sentences: fitted to textbook chapters, encyclopedia articles, lectures and novels. The scale of
    the recurrence of words has more weight the longer the text is and the less its pieces have in
    common. The result is the weighted geometric mean of both.
    """
    n_subjects: float = max(n_sentences**0.4, n_sentences / 150)
    usual = max(_MIN_SUBJECT_WORDS, n_words / n_subjects)
    if not scale.near:
        return usual
    observed = scale.length * n_words / n_sentences
    common = scale.far / scale.near
    trust = n_words / (n_words + _HALF_TRUST_WORDS) / (1 + (common / _HALF_TRUST_OVERLAP) ** 2)
    mean: float = observed**trust * usual ** (1 - trust)
    return mean


@hookimpl
def register_segmenters() -> Mapping[str, type[Cohesion]]:
    return {"cohesion": Cohesion}
