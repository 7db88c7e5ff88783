"""The kernels of entropy k-means: the cost of moves, trials and merges, on sums stored by word.

`levels` and `rises` are tables of f(x) = x ln x and of its differences for whole numbers
(`_entropy_search.Tables`). If counts are fractions the tables are empty and f is computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = [
    "Changes",
    "Counts",
    "Floats",
    "Ints",
    "Sums",
    "SweepBounds",
    "Units",
    "best_move",
    "losses",
    "merge_costs",
    "merge_tree",
    "move_all",
    "no_changes",
    "sweep",
    "sweep_by_bounds",
    "tabulate",
    "trials",
]

Floats = NDArray[np.float64]
Counts = NDArray[np.int32] | NDArray[np.float64]
Ints = NDArray[np.int64]


class Units(NamedTuple):
    """Units in the rows of a sparse matrix, with their sizes and clusters."""

    indptr: Ints
    words: Ints
    tallies: Floats
    masses: Floats
    labels: Ints


class Sums(NamedTuple):
    """The sums of clusters, and tables that are computed once."""

    counts: Counts
    memo: Floats
    totals: Floats
    rises: Floats
    levels: Floats


@kernel
def _f(value: float, levels: Floats) -> float:
    """Return f(value), from the table if it is there."""
    if value <= 0.0:
        return 0.0
    if value < levels.size:
        return float(levels[int(value)])
    return value * math.log(value)


@kernel
def _remember(word: int, cluster: int, counts: Counts, memo: Floats, rises: Floats) -> None:
    """Update the memo of one sum."""
    count = counts[word, cluster]
    if rises.size:
        memo[word, cluster] = rises[1, int(count)]
    else:
        memo[word, cluster] = count * math.log(count) if count > 0.0 else 0.0


@kernel
def _rise(count: float, tally: float, rises: Floats) -> float:
    """Return f(count + tally) - f(count)."""
    if tally < rises.shape[0]:
        return float(rises[int(tally), int(count)])
    if count <= 0.0:
        return tally * math.log(tally)
    return count * math.log1p(tally / count) + tally * math.log(count + tally)


@kernel
def _put(
    unit: int, cluster: int, sign: float, indptr: Ints, words: Ints, tallies: Floats,
    masses: Floats, counts: Counts, memo: Floats, totals: Floats, rises: Floats,
) -> None:  # fmt: skip
    """Add a unit to the sums of a cluster, or remove it with sign -1."""
    totals[cluster] += sign * masses[unit]
    for e in range(indptr[unit], indptr[unit + 1]):
        count = counts[words[e], cluster] + sign * tallies[e]
        if count < 1e-10 * tallies[e]:
            count = 0.0  # the rounding error of a sum of fractions
        counts[words[e], cluster] = count
        _remember(words[e], cluster, counts, memo, rises)


@kernel
def tabulate(
    indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> None:  # fmt: skip
    """Compute the sums from the labels."""
    counts[:] = 0.0
    memo[:] = 0.0  # f(0) = f(1) - f(0) = 0
    totals[:] = 0.0
    for t in range(labels.size):
        totals[labels[t]] += masses[t]
        for e in range(indptr[t], indptr[t + 1]):
            counts[words[e], labels[t]] += tallies[e]
    for w in range(counts.shape[0]):
        for k in range(counts.shape[1]):
            if counts[w, k] > 0.0:
                _remember(w, k, counts, memo, rises)


@kernel
def move_all(
    targets: Ints, indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> None:  # fmt: skip
    """Move the units whose label differs from the target."""
    for t in range(labels.size):
        if targets[t] != labels[t]:
            _put(t, labels[t], -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, targets[t], 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = targets[t]


@kernel
def _insertion_costs(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, masses: Floats,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats, costs: Floats,
) -> None:  # fmt: skip
    """Compute ins(t -> k) for all k at once; the unit's own cluster counts it twice."""
    mass = masses[unit]
    for k in range(costs.size):
        costs[k] = _f(totals[k] + mass, levels) - _f(totals[k], levels)
    if rises.size:
        _take_whole(unit, indptr, words, tallies, counts, memo, rises, costs)
    else:
        _take_fractions(unit, indptr, words, tallies, counts, memo, costs)


@kernel
def _take_whole(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, counts: Counts, memo: Floats,
    rises: Floats, costs: Floats,
) -> None:  # fmt: skip
    """Subtract the gains of the words from the costs, by table."""
    for e in range(indptr[unit], indptr[unit + 1]):
        w, n = words[e], tallies[e]
        if n == 1.0:
            row = memo[w]
            for k in range(costs.size):
                costs[k] -= row[k]
        elif n < rises.shape[0]:
            here, rise = counts[w], rises[int(n)]
            for k in range(costs.size):
                costs[k] -= rise[int(here[k])]
        else:
            for k in range(costs.size):
                costs[k] -= _rise(counts[w, k], n, rises)


@kernel
def _take_fractions(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, counts: Counts, memo: Floats,
    costs: Floats,
) -> None:  # fmt: skip
    """Subtract the gains of the words from the costs, by logarithm."""
    for e in range(indptr[unit], indptr[unit + 1]):
        w, n = words[e], tallies[e]
        alone = n * math.log(n)
        for k in range(costs.size):
            count = counts[w, k]
            if count > 0.0:
                costs[k] -= (count + n) * math.log(count + n) - memo[w, k]
            else:
                costs[k] -= alone


@kernel
def _insertion_cost(
    unit: int, cluster: int, inside: bool, indptr: Ints, words: Ints, tallies: Floats,
    masses: Floats, counts: Counts, totals: Floats, rises: Floats, levels: Floats,
) -> float:  # fmt: skip
    """Return ins(t -> k) for one k; `inside`: the unit is in it, and is removed first."""
    mass = masses[unit]
    base = max(totals[cluster] - mass, 0.0) if inside else totals[cluster]
    cost = _f(base + mass, levels) - _f(base, levels)
    for e in range(indptr[unit], indptr[unit + 1]):
        count, n = counts[words[e], cluster], tallies[e]
        if inside:
            count -= n
            if count < 1e-10 * n:
                count = 0.0
        cost -= _rise(count, n, rises)
    return cost


@kernel
def sweep(
    order: Ints, indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
    tolerance: float,
) -> int:  # fmt: skip
    """Make one pass over the units of `order`, and return the number that moved."""
    costs = np.empty(totals.size)
    moved = 0
    for t in order:
        a = labels[t]
        _insertion_costs(
            t, indptr, words, tallies, masses, counts, memo, totals, rises, levels, costs
        )
        own = _insertion_cost(
            t, a, True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        b, best = a, own - tolerance
        for k in range(totals.size):
            if costs[k] < best and k != a:
                b, best = k, costs[k]
        if b != a:
            _put(t, a, -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, b, 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = b
            moved += 1
    return moved


class Changes(NamedTuple):
    """What made clusters cheaper during a sweep: sums of words that rose, sums that fell.

    For each word there is a list of entries: the cluster whose sum of the word rose, and by how
    much f(c + 1) - f(c) rose with it.
    """

    heads: Ints
    """Of each word, its last entry, or -1."""
    links: Ints
    """Of each entry, the entry before it of the same word, or -1."""
    clusters: Ints
    rises: Floats
    falls: Floats
    """Of each cluster, the sum of the falls of the logarithm of its sum."""
    size: Ints
    """The number of entries; above `len(links)` if there was no place for all."""


def no_changes(n_words: int, k: int, most: int) -> Changes:
    """Return empty lists with place for `most` entries."""
    none = np.full(n_words, -1, dtype=np.int64)
    places = np.zeros(most, dtype=np.int64)
    return Changes(
        none, places, places.copy(), np.zeros(most), np.zeros(k), np.zeros(1, dtype=np.int64)
    )


class SweepBounds(NamedTuple):
    """Which units cannot move: a bound for each, and how the sums have changed since.

    Let unit t have the size m and the counts n_w. Another cluster becomes cheaper for it if the sum
    of the cluster falls, by at most m times the fall of its logarithm, or if its sums of the words
    of t rise, by at most n_w times the rise of f(c + 1) - f(c), which is concave in c. A unit for
    which no other cluster can be cheaper than its own stays, and its costs are not computed.
    """

    lows: Floats
    """Of each unit, a lower bound of the costs of the other clusters, at some time after the begin
    of the last sweep over all units; -inf if there is none."""
    watched: NDArray[np.bool_]
    """Of each cluster, whether its cost is computed always; its changes are then not noted."""


ROUNDING = 1e-6
"""Distance from a bound at which rounding errors cannot decide."""


@kernel
def _decrease(
    unit: int, indptr: Ints, words: Ints, tallies: Floats, masses: Floats, heads: Ints,
    links: Ints, clusters: Ints, rises: Floats, falls: Floats, most_fall: float, sums: Floats,
) -> float:  # fmt: skip
    """Return by how much a cluster may have become cheaper for a unit; `sums` is 0 and stays 0."""
    mass = masses[unit]
    most = mass * most_fall
    for e in range(indptr[unit], indptr[unit + 1]):
        n, entry = tallies[e], heads[words[e]]
        while entry >= 0:
            k = clusters[entry]
            sums[k] += n * rises[entry]
            most = max(most, sums[k] + mass * falls[k])
            entry = links[entry]
    for e in range(indptr[unit], indptr[unit + 1]):
        entry = heads[words[e]]
        while entry >= 0:
            sums[clusters[entry]] = 0.0
            entry = links[entry]
    return float(most)


@kernel
def _note_rises(
    unit: int, cluster: int, sign: float, indptr: Ints, words: Ints, memo: Floats, heads: Ints,
    links: Ints, clusters: Ints, rises: Floats, size: Ints,
) -> None:  # fmt: skip
    """Note the memos of a cluster before it gets a unit (sign -1) and after it (sign 1)."""
    if sign > 0.0:
        first = size[0] - (indptr[unit + 1] - indptr[unit])
        for e in range(indptr[unit], indptr[unit + 1]):
            rises[first + e - indptr[unit]] += memo[words[e], cluster]
        return
    for e in range(indptr[unit], indptr[unit + 1]):
        entry = size[0]
        links[entry], clusters[entry] = heads[words[e]], cluster
        rises[entry] = -memo[words[e], cluster]
        heads[words[e]] = entry
        size[0] += 1


@kernel
def _is_cheaper_watched(
    unit: int, own: float, indptr: Ints, words: Ints, tallies: Floats, masses: Floats,
    labels: Ints, counts: Counts, totals: Floats, rises: Floats, levels: Floats,
    watched: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Return whether a watched cluster may be cheaper for a unit than its own."""
    for k in range(totals.size):
        if watched[k] and k != labels[unit]:
            into = _insertion_cost(
                unit, k, False, indptr, words, tallies, masses, counts, totals, rises, levels
            )
            if not into > own + ROUNDING:
                return True
    return False


@kernel
def sweep_by_bounds(
    order: Ints, is_whole: bool, tolerance: float, units: Units, sums: Sums,
    bounds: SweepBounds, last: Changes, now: Changes,
) -> int:  # fmt: skip
    """Do the same as `sweep` for whole counts; units that cannot move are passed over.

    If the order has all units (`is_whole`), `last` has the changes since the previous such sweep
    began, and `now` is empty. Otherwise `now` continues.
    """
    indptr, words, tallies, masses, labels = units
    counts, memo, totals, rises, levels = sums
    lows, watched = bounds
    costs = np.empty(totals.size)
    scratch = np.zeros(totals.size)
    any_watched = watched.any()
    last_fall, fall = last.falls.max(), now.falls.max()
    moved = 0
    for t in order:
        a = labels[t]
        own = _insertion_cost(
            t, a, True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        if is_whole and lows[t] > own:
            lows[t] -= _decrease(
                t, indptr, words, tallies, masses, last.heads, last.links, last.clusters,
                last.rises, last.falls, last_fall, scratch,
            )  # fmt: skip
        if lows[t] > own + ROUNDING and now.size[0] <= now.links.size:
            low = lows[t] - _decrease(
                t, indptr, words, tallies, masses, now.heads, now.links, now.clusters,
                now.rises, now.falls, fall, scratch,
            )  # fmt: skip
            if low > own + ROUNDING and not (
                any_watched
                and _is_cheaper_watched(
                    t, own, indptr, words, tallies, masses, labels, counts, totals, rises, levels,
                    watched,
                )
            ):  # fmt: skip
                continue
        _insertion_costs(
            t, indptr, words, tallies, masses, counts, memo, totals, rises, levels, costs
        )
        b, best, low = a, own - tolerance, np.inf
        for k in range(totals.size):
            if costs[k] < low and k != a:
                low = costs[k]
                if low < best:
                    b, best = k, low
        lows[t] = low
        if b == a:
            continue
        lows[t] = -np.inf
        n_words = indptr[t + 1] - indptr[t]
        if now.size[0] + n_words > now.links.size or totals[b] <= 0.0:
            now.size[0] = now.links.size + 1  # no place, or no logarithm: all bounds are lost
        is_noted = not watched[b] and now.size[0] <= now.links.size
        before = totals[a]
        if is_noted:
            _note_rises(
                t, b, -1.0, indptr, words, memo, now.heads, now.links, now.clusters, now.rises,
                now.size,
            )  # fmt: skip
        _put(t, a, -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
        _put(t, b, 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
        if is_noted:
            _note_rises(
                t, b, 1.0, indptr, words, memo, now.heads, now.links, now.clusters, now.rises,
                now.size,
            )  # fmt: skip
        if totals[a] <= 0.0:
            now.size[0] = now.links.size + 1
        elif not watched[a]:
            now.falls[a] += math.log(before / totals[a])
            fall = max(fall, now.falls[a])
        labels[t] = b
        moved += 1
    if now.size[0] > now.links.size:
        lows[:] = -np.inf
    return moved


@kernel
def trials(
    units: Ints, clusters: Ints, chances: Floats, temperature: float, indptr: Ints, words: Ints,
    tallies: Floats, masses: Floats, labels: Ints, counts: Counts, memo: Floats, totals: Floats,
    rises: Floats, levels: Floats, tolerance: float,
) -> Ints:  # fmt: skip
    """Move each unit to one other cluster if O * H_K falls, and return 1 for each move.

    `clusters` numbers the others: 0 … k - 2, without the unit's own.
    """
    was_moved = np.zeros(units.size, dtype=np.int64)
    for i in range(units.size):
        t, a = units[i], labels[units[i]]
        b = clusters[i] + 1 if clusters[i] >= a else clusters[i]
        into = _insertion_cost(
            t, b, False, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        own = _insertion_cost(
            t, a, True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        change = into - own
        warm = temperature > 0.0 and chances[i] < math.exp(-max(change, 0.0) / temperature)
        if change < -tolerance or warm:
            _put(t, a, -1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            _put(t, b, 1.0, indptr, words, tallies, masses, counts, memo, totals, rises)
            labels[t] = b
            was_moved[i] = 1
    return was_moved


@kernel
def best_move(
    indptr: Ints, words: Ints, tallies: Floats, masses: Floats, labels: Ints,
    counts: Counts, memo: Floats, totals: Floats, rises: Floats, levels: Floats,
) -> tuple[float, int, int]:  # fmt: skip
    """Return the change of the best single move, its unit and its cluster."""
    costs = np.empty(totals.size)
    best, unit, cluster = np.inf, -1, -1
    for t in range(labels.size):
        _insertion_costs(
            t, indptr, words, tallies, masses, counts, memo, totals, rises, levels, costs
        )
        own = _insertion_cost(
            t, labels[t], True, indptr, words, tallies, masses, counts, totals, rises, levels
        )
        for k in range(totals.size):
            if k != labels[t] and costs[k] - own < best:
                best, unit, cluster = costs[k] - own, t, k
    return best, unit, cluster


@kernel
def losses(counts: Counts, totals: Floats, levels: Floats) -> Floats:
    """Return f(O_k) - sum_w f(O_wk) of each cluster."""
    losses = np.empty(totals.size)
    for k in range(totals.size):
        losses[k] = _f(totals[k], levels)
    for w in range(counts.shape[0]):
        for k in range(totals.size):
            losses[k] -= _f(counts[w, k], levels)
    return losses


@kernel
def merge_costs(fresh: Ints, counts: Counts, totals: Floats, levels: Floats, costs: Floats) -> None:
    """Compute the rise of O * H_K by merging two clusters, for the pairs with a fresh one."""
    n_clusters = totals.size
    row = np.empty(n_clusters)
    for a in fresh:
        for b in range(n_clusters):
            row[b] = _f(totals[a] + totals[b], levels) - _f(totals[a], levels)
            row[b] -= _f(totals[b], levels)
        for w in range(counts.shape[0]):
            here = counts[w, a]
            if here > 0.0:
                base = _f(here, levels)
                for b in range(n_clusters):
                    there = counts[w, b]
                    if there > 0.0:
                        row[b] -= _f(here + there, levels) - base - _f(there, levels)
        for b in range(n_clusters):
            if b != a:
                costs[a, b] = row[b]
                costs[b, a] = row[b]


@kernel
def merge_tree(
    indptr: Ints, words: Ints, tallies: Floats, n_words: int, levels: Floats
) -> tuple[Ints, Ints, Floats, Floats]:
    """Return the merged pairs, the cost of each merge, and ascending costs to cut the tree.

    The pairs come from a nearest-neighbour chain. The cost is the rise of O * H_K. An inverted index
    gives the clusters with common words, among which a neighbour is searched; the cost of the
    others depends only on their sizes. The cost is not strictly reducible: a merge may bring a
    cluster closer to one further down the chain, and then the chain is cut back to it.
    """
    n_units, n_entries = indptr.size - 1, words.size
    # the entries of one word are contiguous; those of a cluster form a linked list
    totals = np.zeros(n_units)
    follow = np.empty(n_entries, dtype=np.int64)
    head, tail = indptr[:-1].copy(), indptr[1:] - 1
    lengths = np.zeros(n_words, dtype=np.int64)
    for e in range(n_entries):
        lengths[words[e]] += 1
    starts = np.zeros(n_words, dtype=np.int64)
    for w in range(1, n_words):
        starts[w] = starts[w - 1] + lengths[w - 1]
    lengths[:] = 0
    place = np.empty(n_entries, dtype=np.int64)
    node = np.empty(n_entries, dtype=np.int64)
    owner = np.empty(n_entries, dtype=np.int64)
    tally = np.empty(n_entries)
    height = np.empty(n_entries)
    for t in range(n_units):
        for e in range(indptr[t], indptr[t + 1]):
            follow[e] = e + 1 if e + 1 < indptr[t + 1] else -1
            p = starts[words[e]] + lengths[words[e]]
            lengths[words[e]] += 1
            place[e], node[p], owner[p], tally[p] = p, e, t, tallies[e]
            height[p] = _f(tallies[e], levels)
            totals[t] += tallies[e]

    alive = np.arange(n_units)
    position = np.arange(n_units)
    n_alive = n_units
    shared = np.zeros(n_units)
    entry_of = np.full(n_words, -1)
    chain = np.empty(n_units + 1, dtype=np.int64)
    in_chain = np.full(n_units, -1)
    length = 0
    top = np.zeros(n_units)  # cost of the last merge inside, so that heights ascend
    left = np.empty(max(n_units - 1, 0), dtype=np.int64)
    right = np.empty(max(n_units - 1, 0), dtype=np.int64)
    costs = np.empty(max(n_units - 1, 0))
    heights = np.empty(max(n_units - 1, 0))
    for m in range(n_units - 1):
        if length == 0:
            chain[0] = alive[0]
            in_chain[alive[0]] = 0
            length = 1
        while True:
            x = chain[length - 1]
            e = head[x]
            while e >= 0:
                w = words[e]
                here, base = tally[place[e]], height[place[e]]
                for p in range(starts[w], starts[w] + lengths[w]):
                    shared[owner[p]] += _f(here + tally[p], levels) - base - height[p]
                e = follow[e]
            y, best = -1, np.inf
            before = chain[length - 2] if length > 1 else -1
            fx = _f(totals[x], levels)
            for i in range(n_alive):
                c = alive[i]
                cost = _f(totals[x] + totals[c], levels) - fx - _f(totals[c], levels) - shared[c]
                shared[c] = 0.0
                if c == x:
                    continue
                if cost < best or (cost == best and y != before and (c == before or c < y)):
                    y, best = c, cost
            if y == before:
                break
            if in_chain[y] >= 0:  # cut the chain back to y, and continue from there
                while length - 1 > in_chain[y]:
                    length -= 1
                    in_chain[chain[length]] = -1
            else:
                chain[length] = y
                in_chain[y] = length
                length += 1
        length -= 2
        in_chain[x] = -1
        in_chain[y] = -1
        a, b = min(x, y), max(x, y)
        left[m], right[m] = a, b
        costs[m] = best
        top[a] = max(best, top[a], top[b])
        heights[m] = top[a]
        totals[a] += totals[b]
        last = n_alive - 1
        alive[position[b]] = alive[last]
        position[alive[last]] = position[b]
        n_alive -= 1
        e = head[a]
        while e >= 0:
            entry_of[words[e]] = e
            e = follow[e]
        e = head[b]
        while e >= 0:
            after = follow[e]
            w = words[e]
            own_entry = entry_of[w]
            if own_entry >= 0:
                p, hole, end = place[own_entry], place[e], starts[w] + lengths[w] - 1
                tally[p] += tally[hole]
                height[p] = _f(tally[p], levels)
                node[hole], owner[hole] = node[end], owner[end]
                tally[hole], height[hole] = tally[end], height[end]
                place[node[hole]] = hole
                lengths[w] -= 1
            else:
                owner[place[e]] = a
                follow[tail[a]] = e
                follow[e] = -1
                tail[a] = e
            e = after
        e = head[a]
        while e >= 0:
            entry_of[words[e]] = -1
            e = follow[e]
    return left, right, costs, heights
