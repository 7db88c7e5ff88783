"""Which of equally close clusters are merged: the order of the program that the paper used.

Documents without a common word have distance 1. Complete linkage of VSM has only such pairs left
before the cut on several sets, so the order of merging decides. The paper used the `linkage` of
MATLAB on documents sorted by class. That program lists the smallest distances, the last of equal
pairs first. The union of two clusters has the place of the later one, and the first remaining
cluster moves to the place of the earlier one. The list is made again when it is used up, or when
a union is as close to another cluster as the pairs in the list are.

The merge tree gives all merges but those of equal pairs. Two groups of equal pairs matter: copies of
a document (distance 0), and pairs at the largest distance, where all clusters are equally far apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels, Matrix
from segapsith_plugins.clusterers.ahc import groups_after

__all__ = ["cut", "sorted_by_class", "ties_decide"]

SAME = 1e-9
"""Distance below which documents are copies of each other."""
EQUAL = 1e-12
"""Difference below which the largest distances are equal."""
UNNAMED = {"unnamed25": "pet"}
"""A class of re1 whose name the data lack, and where it is sorted: the figures fit only there."""

Ints = NDArray[np.int64]


def sorted_by_class(classes: Sequence[str]) -> Ints:
    """Return the documents by the name of their class, in their order within a class.

    >>> sorted_by_class(["b", "a", "b", "a"]).tolist()
    [1, 3, 0, 2]
    """
    names = [UNNAMED.get(name, name) for name in classes]
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def ties_decide(tree: Matrix, n_clusters: int) -> bool:
    """Return whether only pairs at the largest distance are left before the cut."""
    return _n_below_top(tree) < len(tree) + 1 - n_clusters


def cut(tree: Matrix, n_clusters: int) -> Labels:
    """Return the clusters of a tree of complete linkage, equal pairs merged as described above."""
    n = len(tree) + 1
    n_below = _n_below_top(tree)
    if not ties_decide(tree, n_clusters):
        labels: Labels = groups_after(tree, max(0, n - n_clusters))
        return labels
    labels = groups_after(tree, n_below).copy()
    last, before, *others = _in_order(tree, n_below)[::-1]
    joined = [before, *others[::-1][: n - n_below - n_clusters - 1]]
    for document in joined:
        labels[labels == labels[document]] = labels[last]
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _n_below_top(tree: Matrix) -> int:
    return int((tree[:, 2] < tree[-1, 2] - EQUAL).sum()) if len(tree) else 0


def _in_order(tree: Matrix, n_merges: int) -> list[int]:
    """Return one document of each cluster after the first merges, by the places of the clusters."""
    n = len(tree) + 1
    places = _Places(n)
    n_same = min(n_merges, int((tree[:, 2] < SAME).sum()))
    _merge_copies(places, groups_after(tree, n_same))
    document = np.arange(2 * n - 1)  # any document of a node represents it
    for m, (left, right) in enumerate(tree[:n_merges, :2].astype(np.int64).tolist()):
        document[n + m] = document[left]
        if m >= n_same:
            places.merge(int(document[left]), int(document[right]))
    return places.documents()


class _Places:
    """Where clusters are while they are merged: at first each document has its own place."""

    def __init__(self, n: int) -> None:
        self._roots = list(range(n))  # document -> another of its cluster, towards the root
        self._at = list(range(n))  # place -> root
        self._place = list(range(n))  # root -> place
        self._n_merged = 0

    def place(self, document: int) -> int:
        """Return the place of the cluster of a document."""
        while self._roots[document] != document:
            self._roots[document] = self._roots[self._roots[document]]
            document = self._roots[document]
        return self._place[document]

    def merge(self, one: int, other: int) -> tuple[int, int]:
        """Merge two clusters; return the place that becomes free, and the place of the union."""
        early, late = sorted((self.place(one), self.place(other)))
        self._roots[self._at[early]] = self._at[late]
        first = self._at[self._n_merged]
        if early != self._n_merged:
            self._at[early] = first
            self._place[first] = early
        self._n_merged += 1
        return early, late

    def documents(self) -> list[int]:
        """Return one document of each cluster, by place."""
        return self._at[self._n_merged :]


def _merge_copies(places: _Places, groups: Ints) -> None:
    """Merge the documents of each group in the order of the program."""
    by_group: dict[int, list[int]] = {}
    for document, group in enumerate(groups.tolist()):
        by_group.setdefault(group, []).append(document)
    parts = [set(members) for members in by_group.values() if len(members) > 1]
    listed: list[tuple[int, int]] = []  # one document of each cluster of a pair
    while parts:
        if not listed:
            listed = _last_pairs(places, parts, _length(len(groups)))
        one, other = listed[0]
        (group,) = (part for part in parts if one in part)
        places.merge(one, other)
        group.discard(other)  # `one` represents the union
        listed = [pair for pair in listed[1:] if not {one, other} & set(pair)]
        if len(group) == 1:
            parts.remove(group)
        else:
            listed = []  # the union is as close to a third copy


def _last_pairs(places: _Places, parts: Sequence[set[int]], n: int) -> list[tuple[int, int]]:
    """Return the last n pairs of copies by place, the last first."""
    pairs = []
    for part in parts:
        members = sorted(part, key=places.place)
        pairs += [
            (places.place(a), places.place(b), a, b)
            for i, a in enumerate(members)
            for b in members[i + 1 :]
        ]
    pairs.sort(reverse=True)
    return [(a, b) for _, _, a, b in pairs[:n]]


def _length(n_documents: int) -> int:
    """Return the length of the program's list of smallest distances."""
    return next((size for size in (512, 256, 128, 64, 32) if n_documents >= 2 * size), 16)
