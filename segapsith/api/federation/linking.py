"""Link groups of several stores by their words, and join what is the same subject.

Two groups are linked if equation 7 and the entropy of equation 8 agree that one is the nearest of
the other (see `segapsith.evaluation.compare`). If they agree in both directions, the groups are
one subject; a subject has at most one group of each store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from segapsith.evaluation.compare import (
    Profiles,
    link_by_entropy,
    link_by_similarity,
    profiles,
    shared_links,
)
from segapsith.model import Result

__all__ = ["Group", "Link", "Subject", "join", "link_stores"]

BLOCK = 256
"""Groups that are compared with all groups of another store at a time."""

Words = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Group(Result):
    """A domain or a topic of one store."""

    store: str
    id: int
    label: str
    lang: str
    units: int
    first: str | None
    last: str | None
    topic: int | None
    """The topic of a domain."""
    words: tuple[str, ...]
    """Its heaviest words."""

    @property
    def key(self) -> tuple[str, int]:
        """The store and the number."""
        return self.store, self.id


@dataclass(frozen=True, slots=True)
class Link(Result):
    """Two groups of different stores of which one is the nearest of the other, by both methods."""

    lang: str
    left_store: str
    left: int
    right_store: str
    right: int
    similarity: float
    """Equation 7, from 0 to 1."""
    divergence: float
    """Equation 8 in nats, from the side that is linked; the less, the nearer."""
    is_mutual: bool
    """Whether each is the nearest of the other; if not, the right one is linked to the left one."""


@dataclass(frozen=True, slots=True)
class Subject(Result):
    """Groups of different stores that are the same subject, or one group without a partner."""

    id: int
    label: str
    lang: str
    units: int
    first: str | None
    last: str | None
    words: tuple[str, ...]
    members: tuple[tuple[str, int], ...]
    """Store and number of each group, in the order of the stores."""


def link_stores(
    stores: Sequence[str], words: Mapping[tuple[str, str], Mapping[int, Words]], threshold: float
) -> list[Link]:
    """Return the links between groups of all pairs of stores, by language, nearest first.

    `words` has the groups of a store and a language with their words.
    """
    links: list[Link] = []
    for lang in sorted({lang for _, lang in words}):
        named = [store for store in stores if (store, lang) in words]
        rows = {store: profiles(words[store, lang]) for store in named}
        for left, right in combinations(named, 2):
            links += _pair(lang, (left, rows[left]), (right, rows[right]), threshold)
    order = {store: place for place, store in enumerate(stores)}
    return sorted(
        links,
        key=lambda one: (
            *(one.lang, -one.similarity, order[one.left_store], one.left),
            *(order[one.right_store], one.right),
        ),
    )


def _pair(
    lang: str,
    left: tuple[str, Profiles[int]],
    right: tuple[str, Profiles[int]],
    threshold: float,
) -> Iterator[Link]:
    """Yield the links of two stores."""
    forward, backward = (
        _nearest(right[1], left[1], threshold),
        _nearest(left[1], right[1], threshold),
    )
    for group, (nearest, similarity, divergence) in forward.items():
        is_mutual = backward.get(nearest, (None,))[0] == group
        yield Link(lang, left[0], nearest, right[0], group, similarity, divergence, is_mutual)
    for group, (nearest, similarity, divergence) in backward.items():
        if forward.get(nearest, (None,))[0] != group:
            yield Link(lang, right[0], nearest, left[0], group, similarity, divergence, False)


def _nearest(
    groups: Profiles[int], others: Profiles[int], threshold: float
) -> dict[int, tuple[int, float, float]]:
    """Return the group that both methods find nearest, with similarity and divergence."""
    nearest: dict[int, tuple[int, float, float]] = {}
    vocabulary = len({*groups.words, *others.words})
    for start in range(0, len(groups.ids), BLOCK):
        block = slice(start, start + BLOCK)
        part = Profiles(
            groups.ids[block], groups.words, groups.weights[block], groups.occurrences[block]
        )
        by_similarity = link_by_similarity(part, others, threshold)
        by_entropy = link_by_entropy(part, others, vocabulary)
        for group, other in shared_links(by_similarity, by_entropy).items():
            scores = by_similarity.scores[group], by_entropy.scores[group]
            nearest[group] = (other, round(scores[0], 6), round(scores[1], 6))
    return nearest


def join(groups: Sequence[Group], links: Sequence[Link], stores: Sequence[str]) -> list[Subject]:
    """Return the subjects, by number of stores and units, largest first.

    Mutual links are used from the nearest on; one that would put two groups of a store into a
    subject is left out.
    """
    of_key = {group.key: group for group in groups}
    joined: dict[tuple[str, int], list[Group]] = {group.key: [group] for group in groups}
    mutual = [link for link in links if link.is_mutual]
    for link in sorted(mutual, key=lambda one: -one.similarity):  # links come in a fixed order
        left = joined[link.left_store, link.left]
        right = joined[link.right_store, link.right]
        if left is right or {one.store for one in left} & {one.store for one in right}:
            continue
        left += right
        for one in right:
            joined[one.key] = left
    order = {store: place for place, store in enumerate(stores)}
    distinct = {id(members): members for members in joined.values()}.values()
    ranked = sorted(
        distinct,
        key=lambda members: (
            -len(members),
            -sum(one.units for one in members),
            min((order[one.store], one.id) for one in members),
        ),
    )
    assert sum(map(len, ranked)) == len(of_key)
    return [
        _subject(number, sorted(members, key=lambda one: order[one.store]))
        for number, members in enumerate(ranked, 1)
    ]


def _subject(number: int, members: Sequence[Group]) -> Subject:
    largest = max(members, key=lambda one: one.units)  # the first of equals
    firsts = [one.first for one in members if one.first]
    lasts = [one.last for one in members if one.last]
    return Subject(
        id=number,
        label=largest.label,
        lang=largest.lang,
        units=sum(one.units for one in members),
        first=min(firsts, default=None),
        last=max(lasts, default=None),
        words=largest.words,
        members=tuple(one.key for one in members),
    )
