"""Cohesion: the division with the shortest description, found by dynamic programming.

The description of a unit is short if its content words repeat, if its function words keep the same
style, and, if word vectors are available, if its words are close together. Each further unit costs
a penalty, which follows the scale on which the text itself changes its words. The formula is in
docs/concepts/formulas.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith import Annotation, Network, Unit, hookimpl
from segapsith.arrays import Matrix
from segapsith.jit import kernel
from segapsith.tokens import Tokens
from segapsith_plugins.segmenters._cohesion_curve import Inference, Lens, inferred_words, read
from segapsith_plugins.segmenters._sentences import (
    Sentences,
    body_of,
    fitted_scale,
    grid_sizes,
    paragraph_starts,
    scale_grid,
    sentences_of,
)
from segapsith_plugins.segmenters._word_spaces import Space

__all__ = ["Cohesion"]

Numbers = NDArray[np.int64]

# --- from sentences to numbers ------------------------------------------------------------


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
    """Return the table for words with these counts in their text."""
    places = np.cumsum(counts + 1) - counts - 1
    word = np.repeat(np.arange(len(counts)), counts + 1)
    held = np.arange(len(word)) - places[word]
    return _Logs(np.log(held + priors[word]), places)


class _Stream(NamedTuple):
    """The words of texts as numbers, text by text.

    `ends` divides them into sentences. Numbers are those of the distinct words of a text, which
    begin at `first` for each text; `counts` has how often each of them occurs.
    """

    words: Numbers
    ends: Numbers
    first: Numbers
    counts: Numbers


@kernel
def _by_text(words: Numbers, text_ends: Numbers, n_words: int) -> tuple[Numbers, Numbers, Numbers]:
    """Number the words of each text by first occurrence, beginning at 0 in each text.

    Return the numbers, where the words of each text begin among those of all, and their counts.
    """
    numbers = np.empty(len(words), np.int64)
    counts = np.zeros(len(words), np.int64)
    firsts = np.zeros(len(text_ends) + 1, np.int64)
    number_of = np.full(n_words, -1, np.int64)
    size, start = 0, 0
    for text in range(len(text_ends)):
        first = size
        for t in range(start, text_ends[text]):
            word = words[t]
            if number_of[word] < 0:
                number_of[word] = size - first
                size += 1
            numbers[t] = number_of[word]
            counts[first + number_of[word]] += 1
        for t in range(start, text_ends[text]):
            number_of[words[t]] = -1
        start = text_ends[text]
        firsts[text + 1] = size
    return numbers, firsts, counts[:size]


@kernel
def _divisions(
    sentence_ends: Numbers,
    words: Numbers,
    ends: Numbers,
    places: Numbers,
    firsts: Numbers,
    table: Matrix,
    priors: Matrix,
    small: Numbers,
    small_ends: Numbers,
    small_places: Numbers,
    small_firsts: Numbers,
    small_table: Matrix,
    style: float,
    rows: Numbers,
    vectors: NDArray[np.float32],
    known_shares: Matrix,
    meaning: float,
    opening: Matrix,
    penalty: float,
    drift: float,
    min_words: int,
    longest: int,
    grid: Matrix,
    grid_sizes: Numbers,
) -> tuple[NDArray[np.bool_], Matrix]:
    """Return for each sentence whether a unit begins with it, and the cohesion of that unit.

    `rows` are the vectors of the words, -1 for a word without one.
    """
    is_first = np.zeros(len(ends) - 1, np.bool_)
    cohesion = np.ones(len(ends) - 1)
    n_axes = max(1, vectors.shape[1])
    begin = 0
    for text in range(len(sentence_ends)):
        end = sentence_ends[text]
        n = end - begin
        if n == 0:
            continue
        own_ends = _shifted(ends, begin, end + 1, ends[begin])
        own = words[ends[begin] : ends[end]]
        n_distinct = firsts[text + 1] - firsts[text]
        cuts = np.zeros(2, np.int64)  # with the end of the text
        cuts[1] = n
        if n >= 2 and (len(own) >= 2 * min_words or n > longest):
            first_log = places[firsts[text]] if n_distinct else 0
            own_places = _shifted(places, firsts[text], firsts[text + 1], first_log)
            first_small, n_small = small_firsts[text], small_firsts[text + 1] - small_firsts[text]
            first_small_log = small_places[first_small] if n_small else 0
            own_small_places = _shifted(
                small_places, first_small, first_small + n_small, first_small_log
            )
            own_small_ends = _shifted(small_ends, begin, end + 1, small_ends[begin])
            known_share = known_shares[text]
            points, masses = np.zeros((n, 1)), np.zeros(n)
            if known_share > 0:
                points = np.zeros((n, n_axes))
                _sum_points(rows[ends[begin] : ends[end]], own_ends, vectors, points, masses)
            scale = fitted_scale(own, own_ends, n_distinct, grid, grid_sizes)
            usual = _usual_words(scale, len(own), n)
            paid = np.sqrt(known_share)  # the noise of a sum grows with the root of its terms
            for _ in range(_ROUNDS):
                price = paid * _line(_SPACE_SLOPE, _SPACE_BASE, usual)
                price += (1 - paid) * _line(_WORD_SLOPE, _WORD_BASE, usual)
                price = max(price, _min_gain(len(own), known_share))
                back = _cuts(
                    own,
                    own_ends,
                    table[first_log:],
                    own_places,
                    priors[text],
                    small[small_ends[begin] : small_ends[end]],
                    own_small_ends,
                    small_table[first_small_log:],
                    own_small_places,
                    _STYLE_PRIOR,
                    style,
                    points,
                    masses,
                    meaning if known_share > 0 else 0.0,
                    opening[begin:end],
                    penalty * price,
                    drift * (1 + known_share) / 2,
                    min_words,
                    longest,
                )
                n_cuts, at = 1, back[n]
                while at:
                    n_cuts += 1
                    at = back[at]
                cuts = np.empty(n_cuts + 1, np.int64)
                cuts[n_cuts] = n
                at = n
                for place in range(n_cuts - 1, -1, -1):
                    at = back[at]
                    cuts[place] = at
                observed = np.sqrt(usual * len(own) / n_cuts)
                usual = max(observed, min(usual, _MIN_SUBJECT_WORDS))
        values = _likenesses(own, own_ends, n_distinct, cuts)
        for unit in range(len(cuts) - 1):
            is_first[begin + cuts[unit]] = True
            cohesion[begin + cuts[unit]] = values[unit]
        begin = end
    return is_first, cohesion


# Loops over single numbers are compiled in a fraction of the time of expressions over arrays.


@kernel
def _shifted(values: Numbers, first: int, last: int, by: int) -> Numbers:
    """Return a part of the values, each less the same number."""
    part = np.empty(last - first, np.int64)
    for i in range(last - first):
        part[i] = values[first + i] - by
    return part


@kernel
def _log_table(size: int, prior: float) -> Matrix:
    """Return ln (n + prior) for each n below `size`."""
    table = np.empty(size)
    for n in range(size):
        table[n] = np.log(n + prior)
    return table


@kernel
def _sum_points(
    rows: Numbers, ends: Numbers, vectors: NDArray[np.float32], points: Matrix, masses: Matrix
) -> None:
    """Add up the vectors of each sentence, less the mean of the text, and their numbers."""
    total, mass = np.zeros(vectors.shape[1]), 0.0
    for j in range(len(ends) - 1):
        sums = points[j]
        for t in range(ends[j], ends[j + 1]):
            if rows[t] >= 0:
                vector = vectors[rows[t]]
                masses[j] += 1
                for axis in range(len(sums)):
                    sums[axis] += vector[axis]
        mass += masses[j]
        for axis in range(len(sums)):
            total[axis] += sums[axis]
    if mass > 0:
        for axis in range(len(total)):
            mean = total[axis] / mass
            for j in range(len(ends) - 1):
                points[j, axis] -= masses[j] * mean


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
    log_size = _log_table(ends[n] + 1, prior)
    log_small = _log_table(small_ends[n] + 1, small_prior)
    held, small_held = places.copy(), small_places.copy()
    centre = np.zeros(n_axes)
    best = np.full(n + 1, np.inf)
    back = np.zeros(n + 1, np.int64)
    best[0] = 0.0
    for i in range(n):
        stop = min(n, i + longest)
        cost, mass = best[i] + opening[i] + penalty, 0.0
        for axis in range(n_axes):
            centre[axis] = 0.0
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
        yield from self.segment_all(Tokens([annotation]), network)[0]

    def segment_all(self, tokens: Tokens, network: Network) -> list[list[Unit]]:
        """Return the units of each text; together they take less time."""
        bodies = [body_of(document) for document in tokens.documents]
        sentences = sentences_of(tokens, bodies)
        of_text = np.searchsorted(sentences.first, tokens.firsts)  # where each text begins
        is_first, cohesion = self._divided(tokens, sentences, of_text[1:], bodies, network)
        begins = np.flatnonzero(is_first)
        cuts = np.searchsorted(begins, of_text).tolist()
        firsts = (sentences.first[begins]).tolist()
        starts, values = sentences.start[begins].tolist(), cohesion[begins].tolist()
        result: list[list[Unit]] = []
        token_edges, characters = tokens.firsts.tolist(), tokens.offsets.tolist()
        for text, length in enumerate(tokens.lengths.tolist()):
            a, b = cuts[text], cuts[text + 1]
            token, character = token_edges[text], characters[text]
            n_tokens = token_edges[text + 1] - token
            if not n_tokens:
                result.append([])
                continue
            if a == b:  # a title without any word after it
                result.append([Unit(0, length, 0, n_tokens)])
                continue
            own = [0, *(first - token for first in firsts[a + 1 : b]), n_tokens]
            at = [0, *(start - character for start in starts[a + 1 : b]), length]
            inferred: list[dict[str, float]] = [{}] * (b - a)
            if self.infer:
                inferred = _inferred(tokens.annotations[text], own[:-1], network)
            result.append(
                [
                    Unit(start, end, first, last, value, value >= self.keep, words)
                    for start, end, first, last, value, words in zip(
                        at[:-1], at[1:], own[:-1], own[1:], values[a:b], inferred, strict=True
                    )
                ]
            )
        return result

    def _divided(
        self,
        tokens: Tokens,
        sentences: Sentences,
        sentence_ends: Numbers,
        bodies: Sequence[int],
        network: Network,
    ) -> tuple[NDArray[np.bool_], Matrix]:
        """Return for each sentence whether a unit begins with it, and its cohesion."""
        if not len(sentences.first):
            return np.zeros(0, np.bool_), np.zeros(0)
        places = _body_tokens(tokens, sentences, sentence_ends)
        content = places[tokens.content[places]]
        stems = _streamed(
            _stems(tokens)[tokens.numbers[content]], content, sentences, sentence_ends
        )
        n_words = np.diff(stems.ends[np.append(0, sentence_ends)])
        other = places[~tokens.content[places]]
        small = _streamed(tokens.written(other), other, sentences, sentence_ends)
        n_small = np.diff(small.ends[np.append(0, sentence_ends)])
        space = (self.space or network) if self.meaning else None
        rows, vectors = _rows(tokens, content, space)
        known = np.append(0, np.cumsum(rows >= 0))[stems.ends[np.append(0, sentence_ends)]]
        known_shares = np.minimum(
            1.0, np.diff(known) / (_USUAL_KNOWN_SHARE * np.maximum(n_words, 1))
        )
        priors = self.prior * np.maximum(n_words, 1) / (n_words + _HALF_PRIOR_WORDS)
        shares = _shares(stems, n_words, priors, _PRIOR_EXPONENT * known_shares)
        small_shares = small.counts * np.repeat(
            _STYLE_PRIOR / np.maximum(n_small, 1), np.diff(small.first)
        )
        logs, small_logs = _logs(stems.counts, shares), _logs(small.counts, small_shares)
        return _divisions(
            sentence_ends,
            *(stems.words, stems.ends, logs.places, stems.first, logs.table, priors),
            *(small.words, small.ends, small_logs.places, small.first, small_logs.table),
            *(self.style, rows, vectors, known_shares, self.meaning),
            self.paragraph * _within(tokens, sentences, sentence_ends, bodies),
            *(self.penalty, self.drift, self.min_words, self.max_sentences),
            *(scale_grid(), grid_sizes()),
        )

    def curve(
        self, annotation: Annotation, network: Network
    ) -> tuple[Numbers, NDArray[np.float64]]:
        """Return the position of each sentence of the body, and a cosine for each.

        It is the cosine of the stems of the six sentences before it and of the six that begin with
        it.
        """
        tokens = Tokens([annotation])
        sentences = sentences_of(tokens, [body_of(annotation.document)])
        if not len(sentences.first):
            return np.zeros(0, np.int64), np.zeros(0)
        ends = np.array([len(sentences.first)])
        places = _body_tokens(tokens, sentences, ends)
        content = places[tokens.content[places]]
        stems = _streamed(_stems(tokens)[tokens.numbers[content]], content, sentences, ends)
        likenesses = _block_likenesses(stems.words, stems.ends, len(stems.counts), _BLOCK_SENTENCES)
        return sentences.start, likenesses


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


def _body_tokens(tokens: Tokens, sentences: Sentences, sentence_ends: Numbers) -> Numbers:
    """Return the tokens of the texts without those of their titles."""
    n_sentences = np.diff(sentence_ends, prepend=0)
    begins = tokens.firsts[1:].copy()  # a text without sentences has no body
    filled = np.flatnonzero(n_sentences)
    begins[filled] = sentences.first[(sentence_ends - n_sentences)[filled]]
    is_body = np.arange(int(tokens.firsts[-1])) >= begins[tokens.text_of]
    return np.flatnonzero(is_body)


def _stems(tokens: Tokens) -> Numbers:
    """Return the number of the stem of each lemma."""
    return tokens.derived(_stem)


def _stem(word: str) -> str:
    return word[:_STEM_LETTERS]


def _streamed(
    words: Numbers, places: Numbers, sentences: Sentences, sentence_ends: Numbers
) -> _Stream:
    """Return words, the tokens at `places`, with the sentences and texts that they belong to."""
    ends = np.append(np.searchsorted(places, sentences.first), len(places)).astype(np.int64)
    n_words = int(words.max(initial=-1)) + 1
    numbers, first, counts = _by_text(words, ends[sentence_ends], n_words)
    return _Stream(numbers, ends, first, counts)


def _rows(
    tokens: Tokens, content: Numbers, space: Space | None
) -> tuple[Numbers, NDArray[np.float32]]:
    """Return the vector of each content word, -1 if it has none, and the vectors."""
    if space is None or not len(space.vectors):
        return np.full(len(content), -1, np.int64), np.zeros((0, 1), np.float32)
    vectors = np.asarray(space.vectors)
    rows = space.numbers(tokens.words)
    rows[rows >= len(vectors)] = -1
    known = np.flatnonzero(rows >= 0)
    rows[known[~vectors[rows[known]].any(axis=1)]] = -1  # a word may have no vector
    return rows[tokens.numbers[content]].astype(np.int64), vectors


def _shares(stems: _Stream, n_words: Numbers, priors: Matrix, tilts: Matrix) -> Matrix:
    """Return the prior of each content word: equal, or with a tilt more for frequent words."""
    n_distinct = np.diff(stems.first)
    even = np.minimum(_MAX_WORD_PRIOR, priors / np.maximum(n_distinct, 1))
    per_mean = n_distinct / np.maximum(n_words, 1)
    shares: Matrix = np.repeat(even, n_distinct) * (
        stems.counts * np.repeat(per_mean, n_distinct)
    ) ** np.repeat(tilts, n_distinct)
    return shares


def _within(
    tokens: Tokens, sentences: Sentences, sentence_ends: Numbers, bodies: Sequence[int]
) -> Matrix:
    """Return 1 for each sentence that begins inside a paragraph; 0 if there are no paragraphs."""
    begins = tokens.offsets + np.array(bodies, np.int64)
    starts, ends = paragraph_starts(
        tokens.codes, tokens.kinds, begins, tokens.offsets + tokens.lengths
    )
    # By the first word: a sentence may begin with blanks that belong to the break.
    paragraphs = np.searchsorted(starts, tokens.spans[sentences.first, 0], side="right")
    within: Matrix = (np.diff(paragraphs, prepend=-1) == 0).astype(np.float64)
    n_sentences = np.diff(sentence_ends, prepend=0)
    within[(sentence_ends - n_sentences)[n_sentences > 0]] = 0.0
    within[np.repeat(np.diff(ends, prepend=0) == 0, n_sentences)] = 0.0
    return within


@kernel
def _line(slope: float, base: float, n_words: float) -> float:
    """Return the minimum gain of a cut, by the words over which a text changes: a straight line."""
    return max(_MIN_PENALTY, slope * n_words + base)


_MIN_PENALTY = 0.5
_WORD_SLOPE, _WORD_BASE = 0.055, -1.6
_SPACE_SLOPE, _SPACE_BASE = 0.135, -2.5
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


@kernel
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
    return sure * min(1.0, max(0.0, 2 - n_words / _SHORT_TEXT_WORDS))


_USUAL_KNOWN_SHARE = 0.9
"""Share of the words of any text that have a vector in a large word space of its language."""

_MIN_SUBJECT_WORDS = 66.0
_HALF_TRUST_WORDS = 100.0
_HALF_TRUST_OVERLAP = 0.2


@kernel
def _usual_words(scale: tuple[float, float, float], n_words: int, n_sentences: int) -> float:
    """Return the number of content words that a text of this length and scale has per subject.

    By its length alone a text of n sentences has n^0.4 subjects, and at least one for each 150
    sentences: fitted to textbook chapters, encyclopedia articles, lectures and novels. The scale of
    the recurrence of words has more weight the longer the text is and the less its pieces have in
    common. The result is the weighted geometric mean of both.
    """
    length, near, far = scale
    n_subjects: float = max(n_sentences**0.4, n_sentences / 150)
    usual = max(_MIN_SUBJECT_WORDS, n_words / n_subjects)
    if near == 0:
        return usual
    observed = length * n_words / n_sentences
    common = far / near
    trust = n_words / (n_words + _HALF_TRUST_WORDS) / (1 + (common / _HALF_TRUST_OVERLAP) ** 2)
    mean: float = observed**trust * usual ** (1 - trust)
    return mean


@hookimpl
def register_segmenters() -> Mapping[str, type[Cohesion]]:
    return {"cohesion": Cohesion}
