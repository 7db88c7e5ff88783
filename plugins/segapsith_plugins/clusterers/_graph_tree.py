"""Merge trees of sparse similarities: a pair that is not in the graph has similarity 0.

The tree comes from a chain of nearest neighbours: each group is followed by its most similar one,
until two groups are each other's nearest, and these are merged. For the linkages here the merges
are those of the most similar pair at each step (Murtagh 1983), and no queue of pairs is needed.

Each group has a linked list of its pairs. Both directions of a pair are entries of their own, 2p
and 2p + 1, so a pair is removed from both lists at once. A merge walks the two lists once, and
memory is that of the pairs at the start.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, triu

from segapsith.arrays import Matrix, Rows
from segapsith.jit import kernel
from segapsith_plugins.clusterers._row_algebra import numbered_merges

__all__ = ["GRAPH_LINKAGES", "graph_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]

GRAPH_LINKAGES = ("single", "complete", "average")
"""Linkages that need no distances of pairs outside the graph."""

AVERAGE = GRAPH_LINKAGES.index("average")


def graph_tree(similar: Rows, linkage: str = "average", masses: Floats | None = None) -> Matrix:
    """Return the merges in SciPy's form, with similarities in the place of heights, highest first.

    `similar` is symmetric. Groups without a common pair are merged last, in order, at 0. In average
    linkage each item is weighted by its mass, if masses are given.

    >>> from scipy.sparse import csr_array
    >>> graph_tree(csr_array([[0, 0.9, 0], [0.9, 0, 0.5], [0, 0.5, 0]])).tolist()
    [[0.0, 1.0, 0.9, 2.0], [2.0, 3.0, 0.25, 3.0]]
    """
    n = similar.shape[0]
    if n < 2:
        return np.empty((0, 4))
    sizes = np.ones(n) if masses is None else masses.astype(np.float64)
    upper = triu(csr_array(similar), 1, "coo")
    positive = upper.data > 0
    ends = np.empty(2 * int(positive.sum()), dtype=np.int32)
    ends[0::2], ends[1::2] = upper.col[positive], upper.row[positive]
    values = upper.data[positive].astype(np.float64)
    if linkage == "average":
        values *= sizes[ends[0::2]] * sizes[ends[1::2]]
    lists = _Pairs(ends, *_linked(n, ends))
    left, right, heights = _chain(n, lists, values, GRAPH_LINKAGES.index(linkage), sizes.copy())
    order = np.argsort(-heights, kind="stable")
    left, right, heights = left[order], right[order], heights[order]
    alone = np.ones(n, dtype=np.bool_)
    alone[right] = False  # the left one of a merge stands for both
    rest = list(pairwise(np.flatnonzero(alone).tolist()))
    if rest:
        left = np.append(left, [first for first, _ in rest])
        right = np.append(right, [second for _, second in rest])
        heights = np.append(heights, np.zeros(len(rest)))
    return numbered_merges(left, right, heights, n)


class _Pairs(NamedTuple):
    """The lists of pairs: entry h leads to the group `ends[h]`, and is in the list of `ends[h ^ 1]`."""

    ends: Places
    first: Places
    """The first entry of each group, -1 for an empty list."""
    after: Places
    """The next entry of the same list, or -1."""
    before: Places


@kernel
def _linked(n: int, ends: Places) -> tuple[Places, Places, Places]:
    """Return the first entry of each group, and the entry after and before each one."""
    first = np.full(n, -1, dtype=np.int32)
    after = np.full(ends.size, -1, dtype=np.int32)
    before = np.full(ends.size, -1, dtype=np.int32)
    for h in range(ends.size - 1, -1, -1):
        group = ends[h ^ 1]
        head = first[group]
        after[h] = head
        if head >= 0:
            before[head] = h
        first[group] = h
    return first, after, before


@kernel
def _unlink(h: int, pairs: _Pairs) -> None:
    """Remove an entry from the list of its group."""
    ends, first, after, before = pairs
    if before[h] >= 0:
        after[before[h]] = after[h]
    else:
        first[ends[h ^ 1]] = after[h]
    if after[h] >= 0:
        before[after[h]] = before[h]


@kernel
def _nearest(
    group: int, previous: int, pairs: _Pairs, values: Floats, masses: Floats
) -> tuple[int, float]:
    """Return the most similar group and its similarity; -1 if no pair has one above 0.

    `masses` divides sums; it is empty where values are similarities. Of equal groups it is the
    previous one of the chain, so that the chain ends, or else that with the smallest number.
    """
    ends, first, after, _ = pairs
    nearest, best = -1, 0.0
    h = first[group]
    while h >= 0:
        other, value = ends[h], values[h >> 1]
        if masses.size:
            weight = masses[group] * masses[other]
            value = value / weight if weight > 0 else 0.0
        if value > best or (
            value == best and nearest >= 0 and nearest != previous
            and (other == previous or other < nearest)
        ):  # fmt: skip
            nearest, best = other, value
        h = after[h]
    return nearest, best


@kernel
def _chain(
    n: int, pairs: _Pairs, values: Floats, linkage: int, masses: Floats
) -> tuple[Ints, Ints, Floats]:
    """Return merges with a similarity above 0, in the order of the chain.

    A union has the number of its smaller part. `pairs`, `values` and `masses` are overwritten.
    """
    divisors = masses if linkage == AVERAGE else masses[:0]
    at = np.full(n, -1, dtype=np.int32)  # the entry of the union that leads to a group
    is_done, in_chain = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    chain = np.empty(n, dtype=np.int64)
    left, right = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    heights = np.empty(n)
    length = n_merges = start = 0
    while True:
        if length == 0:
            while start < n and is_done[start]:
                start += 1
            if start == n:
                break
            chain[0] = start
            in_chain[start] = True
            length = 1
        top = chain[length - 1]
        previous = chain[length - 2] if length > 1 else -1
        nearest, best = _nearest(top, previous, pairs, values, divisors)
        if nearest < 0:  # nothing is similar to it
            is_done[top] = True
            in_chain[top] = False
            length -= 1
            continue
        if in_chain[nearest]:  # the previous one, or another by a rounding error
            nearest = previous
        if nearest != previous:
            chain[length] = nearest
            in_chain[nearest] = True
            length += 1
            continue
        length -= 2
        in_chain[top] = in_chain[previous] = False
        x, y = min(top, previous), max(top, previous)
        left[n_merges], right[n_merges], heights[n_merges] = x, y, best
        n_merges += 1
        is_done[y] = True
        _merge(x, y, linkage, pairs, values, at)
        masses[x] += masses[y]
    return left[:n_merges], right[:n_merges], heights[:n_merges]


@kernel
def _merge(x: int, y: int, linkage: int, pairs: _Pairs, values: Floats, at: Places) -> None:
    """Give group x the pairs of group y, and combine those that both have."""
    ends, first, after, before = pairs
    h = first[x]
    while h >= 0:
        following = after[h]
        if ends[h] == y:
            _unlink(h, pairs)
            _unlink(h ^ 1, pairs)
        else:
            at[ends[h]] = h
        h = following
    h = first[y]
    while h >= 0:
        following, other = after[h], ends[h]
        own = at[other]
        if own >= 0:
            value, known = values[h >> 1], values[own >> 1]
            if linkage == 0:
                values[own >> 1] = max(value, known)
            elif linkage == 1:
                values[own >> 1] = min(value, known)
            else:
                values[own >> 1] = known + value
            at[other] = -1
            _unlink(h ^ 1, pairs)
        elif linkage == 1:  # a missing pair makes it 0
            _unlink(h ^ 1, pairs)
        else:
            ends[h ^ 1] = x
            after[h] = first[x]
            before[h] = -1
            if first[x] >= 0:
                before[first[x]] = h
            first[x] = h
        h = following
    first[y] = -1
    h = first[x]
    while h >= 0:
        following = after[h]
        if at[ends[h]] == h:
            at[ends[h]] = -1
            if linkage == 1:  # only x has it
                _unlink(h, pairs)
                _unlink(h ^ 1, pairs)
        h = following
