"""Whether inferred words help: eq. 7 between texts of one subject against texts of different ones.

Texts are whole units. Half of them teach the network, the other half are compared, each with some
others of its subject and with as many of another. The figure is the area under the ROC curve of
eq. 7 as a test for the same subject, with the words of the text alone and with what the network
infers; the interval of the gain is that of texts drawn again, 95 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.catalogue import load_plugins
from segapsith.model import Annotation, Network
from segapsith.network import network_of
from segapsith.reproduce import Options, Table
from segapsith.reproduce.data_sets import annotated, content, evenly, lang_of, lines

__all__ = ["auc", "pairs", "table"]

SETS = {"reuters21578": "labels", "orangesum-fr": "tags"}
"""The sets, and the field that says what a text is about."""

RULES: Mapping[str, Mapping[str, Any]] = {
    "share 0.75": {"inferred_min_share": 0.75},
    "share 0.5": {"inferred_min_share": 0.5},
    "share 0.5, at most 10": {"inferred_min_share": 0.5, "max_inferred": 10},
    "share 0.25, at most 10": {"inferred_min_share": 0.25, "max_inferred": 10},
}
FACTORS = (1.0, 0.3)
"""What the weights of inferred words are multiplied by."""

Pairs = NDArray[np.int64]


class Weighed(NamedTuple):
    """The words of a text with their weights and occurrences."""

    words: Mapping[str, tuple[float, float]]

    def similarity(self, other: Weighed) -> float:
        """Eq. 7: the fourth root of the product of four shares."""
        common = self.words.keys() & other.words.keys()
        product = 1.0
        for side in (self.words, other.words):
            for part in (0, 1):
                whole = sum(entry[part] for entry in side.values())
                product *= sum(side[word][part] for word in sorted(common)) / whole if whole else 0
        return float(product**0.25)


def pairs(labels: Sequence[frozenset[str]], each: int, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs that share a label and pairs that share none, up to so many of both for a text."""
    rng = np.random.default_rng(seed)
    same, different = [], []
    for i in range(len(labels)):
        others = rng.permutation(len(labels)).tolist()
        like = [j for j in others if j != i and labels[i] & labels[j]][:each]
        unlike = [j for j in others if not labels[i] & labels[j]][: len(like)]
        same += [(i, j) for j in like[: len(unlike)]]
        different += [(i, j) for j in unlike]
    return np.array(same, np.int64).reshape(-1, 2), np.array(different, np.int64).reshape(-1, 2)


def auc(
    high: NDArray[np.float64], low: NDArray[np.float64], weights: Sequence[Any] | None = None
) -> float:
    """The chance that one of `high` is above one of `low`, ties by half; each may have a weight.

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


def table(data: Path, options: Options) -> Table:
    """The gain of every rule on both sets."""
    rows: list[tuple[str | float | None, ...]] = []
    for name, field in SETS.items():
        rows += _rows_of(data, name, field, options)
    return Table(
        "Eq. 7 as a test for the same subject, without and with inferred words",
        ["set", "rule", "factor", "inferred", "AUC", "gain", "from", "to"],
        rows,
        ["gain over the words of the text alone; from, to: 95 % of 200 samples of the texts"],
    )


def _rows_of(
    data: Path, name: str, field: str, options: Options
) -> list[tuple[str | float | None, ...]]:
    found = [d for d in lines(data, name) if d.get("text") and d.get(field)]
    half = len(found) // 2
    taught = evenly(found[:half], 1500 if options.quick else 6000)
    compared = evenly(found[half:], 300 if options.quick else 1500)
    options.tell(f"{name}: reading {len(taught)} texts for the network")
    network = network_of(content(a) for a in annotated([d["text"] for d in taught], lang_of(name)))
    annotations = list(annotated([d["text"] for d in compared], lang_of(name)))
    labels = [frozenset(map(str, d[field])) for d in compared]
    same, different = pairs(labels, 5, options.seed)
    plain = _units(annotations, network, None, 0.0)
    base = _scores(plain, same), _scores(plain, different)
    rows: list[tuple[str | float | None, ...]] = [
        (name, "words of the text", None, 0.0, round(auc(*base), 4), None, None, None)
    ]
    for rule, settings in RULES.items():
        options.tell(f"{name}: {rule}")
        guesses = _inferred(annotations, network, settings)
        mean = float(np.mean([len(g) for g in guesses]))
        for factor in FACTORS:
            units = _units(annotations, network, guesses, factor)
            scores = _scores(units, same), _scores(units, different)
            gain = auc(*scores) - auc(*base)
            low, high = _interval(base, scores, same, different, len(labels), options.seed)
            cells = (auc(*scores), gain, low, high)
            rows.append((name, rule, factor, round(mean, 1), *(round(c, 4) for c in cells)))
    return rows


def _inferred(
    annotations: Sequence[Annotation], network: Network, settings: Mapping[str, Any]
) -> list[dict[str, float]]:
    """What the network infers for whole texts."""
    whole = {"cut_at": "cohesion", "boundaries": 0, **settings}
    segmenter = load_plugins(only_own=True).make("segmenter", "segcohlex", whole)
    return [
        {w: v for unit in segmenter.segment(a, network) for w, v in unit.inferred.items()}
        for a in annotations
    ]


def _units(
    annotations: Sequence[Annotation],
    network: Network,
    guesses: Sequence[Mapping[str, float]] | None,
    factor: float,
) -> list[Weighed]:
    """Texts as units: (1 + ln count) times significance, the heaviest 1; inferred words as said."""
    units = []
    for number, annotation in enumerate(annotations):
        counts: dict[str, int] = {}
        for word in content(annotation):
            counts[word] = counts.get(word, 0) + 1
        telling = {
            w: float(network.significance[network.rows[w]]) if w in network.rows else 1.0
            for w in counts
        }
        weights = {w: (1 + np.log(c)) * telling[w] for w, c in counts.items()}
        top = max(weights.values(), default=1.0) or 1.0
        words = {w: (float(v / top), 1.0) for w, v in weights.items()}
        for word, weight in (guesses[number] if guesses is not None else {}).items():
            words.setdefault(word, (factor * weight, 1.0))
        units.append(Weighed(words))
    return units


def _scores(units: Sequence[Weighed], chosen: Pairs) -> NDArray[np.float64]:
    return np.array([units[i].similarity(units[j]) for i, j in chosen.tolist()])


def _interval(
    before: tuple[Any, Any],
    after: tuple[Any, Any],
    same: Pairs,
    different: Pairs,
    n_texts: int,
    seed: int,
) -> tuple[float, float]:
    """Between which values 95 % of the gains lie when the texts are drawn again."""
    rng = np.random.default_rng(seed)
    gains = []
    for _ in range(200):
        drawn = np.bincount(rng.integers(0, n_texts, n_texts), minlength=n_texts)
        weights = [drawn[p[:, 0]] * drawn[p[:, 1]] for p in (same, different)]
        gains.append(auc(*after, weights) - auc(*before, weights))
    low, high = np.percentile(gains, [2.5, 97.5]).tolist()
    return low, high
