"""Groups of domains: how they keep their numbers, and what distinguishes them.

Topics and sections are such groups. Making them needs SciPy; reading them from a store does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.domains.values import DomainWords

__all__ = ["DomainGroups", "contrasts", "majority", "match_topics"]


@dataclass(frozen=True, slots=True)
class DomainGroups:
    """Domains with their groups, numbered 0, 1, … without gaps."""

    domains: NDArray[np.int64]
    groups: Labels


def match_topics(
    grouped: DomainGroups, units: Mapping[int, int], before: Mapping[int, int]
) -> dict[int, int | None]:
    """Return the topic number of each group; None is a new topic.

    A group keeps the number of the topic of which it holds more than half of the units. `units`
    gives the present number of units of each domain, `before` the topic of each domain at the last
    grouping. If a group holds most of two topics, the one with more units in it gives the number,
    and of equals the older one.

    >>> groups = DomainGroups(np.array([1, 2, 3]), np.array([0, 0, 1]))
    >>> match_topics(groups, {1: 5, 2: 1, 3: 4}, {1: 7, 2: 8, 3: 8})
    {0: 7, 1: 8}
    """
    shared: dict[tuple[int, int], int] = {}
    whole: dict[int, int] = {}
    for domain, label in zip(grouped.domains.tolist(), grouped.groups.tolist(), strict=True):
        topic = before.get(domain)
        if topic is not None:
            shared[label, topic] = shared.get((label, topic), 0) + units[domain]
            whole[topic] = whole.get(topic, 0) + units[domain]
    numbers: dict[int, int | None] = dict.fromkeys(sorted(set(grouped.groups.tolist())))
    for (label, topic), n_units in sorted(shared.items(), key=lambda s: (-s[1], s[0][1])):
        if numbers[label] is None and 2 * n_units > whole[topic]:
            numbers[label] = topic
    return numbers


def majority(
    topic_of: Mapping[int, int], section_of: Mapping[int, int], units: Mapping[int, int]
) -> dict[int, int]:
    """Return the section of each topic: the one with most units, the smaller number of equals.

    `topic_of` and `section_of` are those of the domains; `units` are theirs. Domains without units
    or without a section do not count, and a topic of such domains only has no section.

    >>> majority({1: 7, 2: 7, 3: 8}, {1: 4, 2: 5}, {1: 2, 2: 3, 3: 9})
    {7: 5}
    """
    votes: dict[int, dict[int, int]] = {}
    for domain, topic in topic_of.items():
        if domain in section_of and units.get(domain):
            of = votes.setdefault(topic, {})
            of[section_of[domain]] = of.get(section_of[domain], 0) + units[domain]
    return {topic: min(of, key=lambda s: (-of[s], s)) for topic, of in votes.items()}


def contrasts(sections: Sequence[DomainWords]) -> list[NDArray[np.int64]]:
    """Return for each section the positions of its words, most characteristic first.

    With q the share of a word in the weights of the section and p its share in those of all, words
    are ordered by q log(q / p): they are frequent in the section and rarer elsewhere.

    >>> one = DomainWords(np.array([1, 2]), np.array([5, 5]), np.array([50, 40]), 5)
    >>> two = DomainWords(np.array([1, 3]), np.array([5, 5]), np.array([50, 40]), 5)
    >>> [order.tolist() for order in contrasts([one, two])]
    [[1, 0], [1, 0]]
    """
    words = np.concatenate([np.zeros(0, np.int64), *(s.words for s in sections)]).astype(np.int64)
    weights = np.concatenate([np.zeros(0), *(s.weights for s in sections)])
    total = np.bincount(words, weights, minlength=1)
    whole = max(float(total.sum()), 1.0)
    orders = []
    for section in sections:
        q = section.weights / max(float(section.weights.sum()), 1.0)
        p = total[section.words] / whole
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(q > 0, q * np.log(q / p), 0.0)
        orders.append(np.lexsort((section.words, -section.occurrences, -score)))
    return orders
