"""Links between topics of different languages, proposed from what their texts mention.

Every topic has the share of its units that mention a name, a number or a date. A feature counts by
its share times the logarithm of how rare it is among the topics of its language. Only features
that occur in both languages are compared. The score of two topics is the sum of the cosines of
names, numbers and dates, by `WEIGHTS`, times e / (e + `HALF`), where e is the rarity of all names
and numbers that they share: one common place name says little. See docs/concepts/formulas.md.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from segapsith.lexicon.mentions import Mentions

__all__ = ["MIN_SCORE", "LinkProposal", "TopicMentions", "propose_links"]

KINDS = ("names", "numbers", "days")
WEIGHTS: Mapping[str, float] = {"names": 0.5, "numbers": 0.25, "days": 0.25}
"""What each kind of features adds to the score; they sum to 1."""

MIN_SCORE = 0.3
"""Score from which a link is proposed. Chosen with the labels of the bundled sample: 32 of 34
proposals join topics that share a subject."""

HALF = 5.0
"""Rarity of what two topics share (sum of logarithms) that gives half of the score."""

MIN_SHARED = 2
"""Names and numbers that two topics must share, at least one name among them."""

MAX_TOPICS = 200
"""A feature in more topics of a language than this is not compared; the cost stays linear."""

MAX_SHOWN = 8
"""Features of each kind that a proposal names."""


@dataclass(slots=True)
class TopicMentions:
    """A topic with the number of its units that mention each name, number and date."""

    topic: int
    lang: str
    n_units: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {k: Counter() for k in KINDS})

    def add(self, found: Mentions, day: str | None) -> None:
        """Count what one unit mentions; `day` is that of its story."""
        self.n_units += 1
        self.counts["names"].update(found.names)
        self.counts["numbers"].update(found.numbers)
        self.counts["days"].update(found.days | ({day} if day else set()))


@dataclass(frozen=True, slots=True)
class LinkProposal:
    """Two topics of different languages that may be about the same thing, and what they share."""

    left: int
    right: int
    score: float
    mutual: bool
    """Whether each is the best match of the other."""
    names: Sequence[str]
    """What both mention, the most telling first; so the next two."""
    numbers: Sequence[str]
    days: Sequence[str]


def propose_links(
    topics: Iterable[TopicMentions], *, min_score: float = MIN_SCORE
) -> list[LinkProposal]:
    """Return proposals, best first, ties by topic: each is the best match of at least one side."""
    by_lang: dict[str, list[TopicMentions]] = {}
    for topic in topics:
        by_lang.setdefault(topic.lang, []).append(topic)
    proposals = [
        proposal
        for left, right in itertools.combinations(sorted(by_lang), 2)
        for proposal in _between(by_lang[left], by_lang[right], min_score)
    ]
    return sorted(proposals, key=lambda p: (-p.score, p.left, p.right))


def _between(
    left: Sequence[TopicMentions], right: Sequence[TopicMentions], min_score: float
) -> list[LinkProposal]:
    """Return the proposals between the topics of two languages."""
    scores = csr_array((len(left), len(right)))
    weights: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    for kind in KINDS:
        idf = _rarity(left, kind), _rarity(right, kind)
        weights[kind] = idf
        column = {feature: i for i, feature in enumerate(sorted(idf[0].keys() & idf[1].keys()))}
        if column:
            rows = [_rows(side, kind, column, idf[i]) for i, side in enumerate((left, right))]
            scores = scores + WEIGHTS[kind] * (rows[0] @ rows[1].T)
    cells: dict[tuple[int, int], tuple[float, list[list[str]]]] = {}
    table = scores.tocoo()
    for i, j, cosine in zip(
        table.row.tolist(), table.col.tolist(), table.data.tolist(), strict=True
    ):
        if cosine < min_score:
            continue  # evidence only lowers it
        shared = [_shared(left[i], right[j], kind, weights[kind]) for kind in KINDS]
        names, numbers, _ = shared
        if not names or len(names) + len(numbers) < MIN_SHARED:
            continue
        evidence = sum(
            min(weights[kind][0].get(feature, 0.0), weights[kind][1].get(feature, 0.0))
            for kind, features in zip(KINDS[:2], shared[:2], strict=True)
            for feature in features
        )
        score = round(cosine * evidence / (evidence + HALF), 6)
        if score >= min_score:
            cells[i, j] = score, shared
    best = [_best({cell: score for cell, (score, _) in cells.items()}, side) for side in (0, 1)]
    proposals = []
    for (i, j), (score, shared) in cells.items():
        of_left, of_right = best[0][i] == j, best[1][j] == i
        if of_left or of_right:
            shown = (features[:MAX_SHOWN] for features in shared)
            proposals.append(
                LinkProposal(left[i].topic, right[j].topic, score, of_left and of_right, *shown)
            )
    return proposals


def _rarity(topics: Sequence[TopicMentions], kind: str) -> dict[str, float]:
    """Return ln((1 + N) / n) of each feature in n of the N topics, unless n is too large."""
    counts = Counter(feature for topic in topics for feature in topic.counts[kind])
    return {f: math.log((1 + len(topics)) / n) for f, n in counts.items() if n <= MAX_TOPICS}


def _rows(
    topics: Sequence[TopicMentions], kind: str, column: Mapping[str, int], idf: Mapping[str, float]
) -> csr_array:
    """Return the topics as rows of length 1 over the features."""
    values: list[float] = []
    columns: list[int] = []
    pointers = [0]
    for topic in topics:
        row = {
            column[feature]: count / topic.n_units * idf[feature]
            for feature, count in topic.counts[kind].items()
            if feature in column
        }
        length = math.sqrt(sum(v * v for v in row.values())) or 1.0
        order = sorted(row)
        columns += order
        values += [row[c] / length for c in order]
        pointers.append(len(columns))
    shape = (len(topics), len(column))
    return csr_array(
        (np.array(values), np.array(columns, np.int64), np.array(pointers, np.int64)), shape=shape
    )


def _best(cells: Mapping[tuple[int, int], float], side: int) -> dict[int, int]:
    """Return the best match of each row (side 0) or column (side 1), ties by position."""
    best: dict[int, tuple[float, int]] = {}
    for cell, score in cells.items():
        own, other = cell[side], -cell[1 - side]
        best[own] = max(best.get(own, (0.0, other)), (score, other))
    return {own: -other for own, (_, other) in best.items()}


def _shared(
    left: TopicMentions,
    right: TopicMentions,
    kind: str,
    idf: tuple[Mapping[str, float], Mapping[str, float]],
) -> list[str]:
    """Return what both mention, the most telling first."""

    def telling(feature: str) -> float:
        shares = (
            left.counts[kind][feature] / left.n_units,
            right.counts[kind][feature] / right.n_units,
        )
        return shares[0] * shares[1] * idf[0].get(feature, 0.0) * idf[1].get(feature, 0.0)

    both = left.counts[kind].keys() & right.counts[kind].keys()
    return sorted(both, key=lambda feature: (-telling(feature), feature))
