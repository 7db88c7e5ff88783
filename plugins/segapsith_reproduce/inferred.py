"""Whether inferred words help: eq. 7 between texts on one subject and on different subjects.

Texts are whole units. The network is learned from all texts of a set. Some texts with labels are
compared, each with others on its subject and with as many on other subjects. The score is the area
under the ROC curve of eq. 7 as a test for the same subject, with the words of the text only and with
inferred words. Every second text is used to select the rule, the others to report it. The interval
of the gain is a 95 % bootstrap interval over the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.lexicon.network import network_of
from segapsith.lexicon.vocabulary import unit_weights
from segapsith.model import Annotation, Network
from segapsith.plugin.registry import load_plugins
from segapsith_reproduce import Options, Table
from segapsith_reproduce.data_sets import annotated, content, evenly, lang_of, lines

__all__ = ["Rule", "Units", "auc", "pairs", "table"]

SETS = {"reuters21578": "labels", "orangesum-fr": "tags"}
"""The sets, and the field with the subjects of a text."""

Pairs = NDArray[np.int64]
Values = NDArray[np.float64]
Row = tuple[str | int | float | None, ...]

N_SAMPLES = 200
"""Number of bootstrap samples for an interval."""


class Rule(NamedTuple):
    """Which inferred words a text gets.

    `share` is the least share of its positions that infer the word, `most` the largest number of
    words (None: no limit), and `factor` multiplies their weights.
    """

    share: float
    most: int | None
    factor: float


RULES = [Rule(*r) for r in product((0.75, 0.5, 0.3), (None, 10, 3), (1.0, 0.5, 0.3))]


class Units(NamedTuple):
    """Texts by words: weights, and occurrences, which are 1 for every word of a unit."""

    weights: Rows
    occurrences: Rows

    def similarity(self, texts: Pairs) -> Values:
        """Return eq. 7 of pairs of texts: the fourth root of the product of four shares."""
        product_of_shares = np.ones(len(texts))
        for mine, other in (texts.T, texts.T[::-1]):
            common = self.occurrences[other]
            for part in self:
                whole = np.maximum(np.asarray(part.sum(axis=1)).ravel(), 1e-300)[mine]
                shared = np.asarray(part[mine].multiply(common).sum(axis=1)).ravel()
                product_of_shares *= shared / whole
        return product_of_shares**0.25


def pairs(labels: Sequence[frozenset[str]], each: int, seed: int) -> tuple[Pairs, Pairs]:
    """Return pairs that share a label and pairs that share none, at most `each` of both per text."""
    rng = np.random.default_rng(seed)
    same, different = [], []
    for i in range(len(labels)):
        others = rng.permutation(len(labels)).tolist()
        like = [j for j in others if j != i and labels[i] & labels[j]][:each]
        unlike = [j for j in others if not labels[i] & labels[j]][: len(like)]
        same += [(i, j) for j in like[: len(unlike)]]
        different += [(i, j) for j in unlike]
    return np.array(same, np.int64).reshape(-1, 2), np.array(different, np.int64).reshape(-1, 2)


def auc(high: Values, low: Values, weights: Sequence[Any] | None = None) -> float:
    """Return the probability that a value of `high` is above one of `low`; ties count half.

    >>> auc(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    up, down = weights if weights is not None else (np.ones(len(high)), np.ones(len(low)))
    values, place = np.unique(np.concatenate([high, low]), return_inverse=True)
    ups = np.bincount(place[: len(high)], up, len(values))
    downs = np.bincount(place[len(high) :], down, len(values))
    below = np.cumsum(downs) - downs / 2
    total = ups.sum() * downs.sum()
    return float(ups @ below / total) if total else 0.5


class _Side(NamedTuple):
    """One half of the texts, with its pairs on the same and on different subjects."""

    texts: NDArray[np.int64]
    same: Pairs
    different: Pairs

    def scores(self, units: Units) -> tuple[Values, Values]:
        return (
            units.similarity(self.texts[self.same]),
            units.similarity(self.texts[self.different]),
        )


_NOTE = (
    "gain: compared with the words of the text only. chosen: the rule with the best sum of gains on"
    " the texts for choosing. AUC, gain and its interval (95 %, 200 bootstrap samples of the texts)"
    " are those of the other texts"
)


def table(data: Path, options: Options) -> Table:
    """Return the gain of every rule on both sets, and mark the rule that was best for choosing."""
    by_set = {name: _gains(data, name, field, options) for name, field in SETS.items()}
    best = max(RULES, key=lambda rule: sum(gains[rule][2] for _, gains in by_set.values()))
    rows: list[Row] = []
    for name, (bare, gains) in by_set.items():
        rows.append((name, "words of the text", None, None, None, *bare))
        for rule in RULES:
            cells = [round(value, 4) for value in gains[rule][1:]]
            which = "chosen" if rule == best else ""
            rows.append((name, which, rule.share, rule.most, rule.factor,
                         round(gains[rule][0], 1), *cells))  # fmt: skip
    return Table(
        "Eq. 7 as a test for the same subject, without and with inferred words",
        ["set", "rule", "share", "most", "factor", "inferred", "AUC, choosing",
         "gain, choosing", "AUC", "gain", "from", "to"],
        rows,
        [_NOTE],
    )  # fmt: skip


Figures = tuple[float, float, float, float, float, float, float]


def _gains(
    data: Path, name: str, field: str, options: Options
) -> tuple[tuple[float | None, ...], dict[Rule, Figures]]:
    """Return the figures of the words of the texts only, and those of every rule."""
    documents = [d for d in lines(data, name) if d.get("text")]
    corpus = evenly(documents, 2000 if options.quick else len(documents))
    compared = evenly([d for d in documents if d.get(field)], 400 if options.quick else 1200)
    options.tell(f"{name}: reading {len(corpus)} texts for the network")
    network = network_of(content(a) for a in annotated([d["text"] for d in corpus], lang_of(name)))
    annotations = list(annotated([d["text"] for d in compared], lang_of(name)))
    labels = [frozenset(map(str, d[field])) for d in compared]
    sides = []
    for first in (0, 1):
        texts = np.arange(first, len(compared), 2)
        sides.append(_Side(texts, *pairs([labels[i] for i in texts.tolist()], 10, options.seed)))
    plain = _units(annotations, network, None, 0, 0.0)
    bare = [side.scores(plain) for side in sides]
    gains: dict[Rule, Figures] = {}
    guesses: dict[float, list[dict[str, float]]] = {}
    for rule in RULES:
        if rule.share not in guesses:
            options.tell(f"{name}: words inferred at {rule.share} of the positions")
            guesses[rule.share] = _inferred(annotations, network, rule.share)
        guess = guesses[rule.share]
        units = _units(annotations, network, guess, rule.most, rule.factor)
        scores = [side.scores(units) for side in sides]
        mean = float(np.mean([len(g) if rule.most is None else min(len(g), rule.most)
                              for g in guess]))  # fmt: skip
        choosing, reporting = (auc(*s) for s in scores)
        gains[rule] = (
            mean,
            choosing,
            choosing - auc(*bare[0]),
            reporting,
            reporting - auc(*bare[1]),
            *_interval(bare[1], scores[1], sides[1], options.seed),
        )
    without = (0.0, round(auc(*bare[0]), 4), None, round(auc(*bare[1]), 4), None, None, None)
    return without, gains


def _inferred(
    annotations: Sequence[Annotation], network: Network, share: float
) -> list[dict[str, float]]:
    """Return the words that the network infers for whole texts, heaviest first."""
    whole = {"cut_at": "cohesion", "boundaries": 0, "inferred_min_share": share}
    segmenter = load_plugins(only_own=True).make("segmenter", "segcohlex", whole)
    return [
        {w: v for unit in segmenter.segment(a, network) for w, v in unit.inferred.items()}
        for a in annotations
    ]


def _units(
    annotations: Sequence[Annotation],
    network: Network,
    guesses: Sequence[Mapping[str, float]] | None,
    most: int | None,
    factor: float,
) -> Units:
    """Return texts as units, weighted by (1 + ln count) × significance, with the largest weight 1."""
    numbers: dict[str, int] = {}
    columns: list[int] = []
    values: list[float] = []
    ends = [0]
    for place, annotation in enumerate(annotations):
        counts: dict[str, int] = {}
        for word in content(annotation):
            counts[word] = counts.get(word, 0) + 1
        rows = network.numbers(list(counts))
        telling = np.where(rows >= 0, network.significance[rows], 1.0)
        own = unit_weights(np.array(list(counts.values()), np.int32), telling).astype(float)
        weights = dict(zip(counts, (own / own.max(initial=1.0)).tolist(), strict=True))
        for word, weight in list(guesses[place].items())[:most] if guesses is not None else ():
            weights.setdefault(word, factor * weight)
        columns += [numbers.setdefault(word, len(numbers)) for word in weights]
        values += weights.values()
        ends.append(len(columns))
    shape = (len(annotations), max(len(numbers), 1))
    ones = np.ones(len(values))
    return Units(
        csr_array((np.array(values), columns, ends), shape=shape),
        csr_array((ones, columns, ends), shape=shape),
    )


def _interval(
    before: tuple[Values, Values], after: tuple[Values, Values], side: _Side, seed: int
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the gain."""
    rng = np.random.default_rng(seed)
    n_texts, gains = len(side.texts), []
    for _ in range(N_SAMPLES):
        drawn = np.bincount(rng.integers(0, n_texts, n_texts), minlength=n_texts)
        weights = [drawn[p[:, 0]] * drawn[p[:, 1]] for p in (side.same, side.different)]
        gains.append(auc(*after, weights) - auc(*before, weights))
    low, high = np.percentile(gains, [2.5, 97.5]).tolist()
    return low, high
