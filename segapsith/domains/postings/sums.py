"""Change the sums of domains and their postings, and read them.

Before words are added there must be room for them: `with_capacity`, or `reserve` in a kernel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.postings.arrays import (
    CAPACITY,
    DOMAIN,
    LENGTH,
    N_COMPARED,
    POOL,
    POSITION,
    POSTINGS,
    START,
    Array,
    Index,
    WeightRule,
)
from segapsith.jit import kernel
from segapsith.lexicon.vocabulary import SCALE

__all__ = [
    "add_words",
    "heaviest",
    "insert_domain",
    "insert_open",
    "ranked",
    "rebalance",
    "remove_domain",
    "remove_domains",
    "reserve",
    "sums_of",
    "with_capacity",
    "with_words",
]

_DOMAIN_ARRAYS = (
    "start", "length", "n_compared", "capacity", "n_units", "is_open", "newest", "totals",
    "sums", "touched",
)  # fmt: skip
_WORD_ARRAYS = ("word_lists",)


def with_capacity(index: Index, domain: int, words: NDArray[np.int32]) -> Index:
    """Return the index with capacity for `words` in the domain and in their postings."""
    if domain >= len(index.start):
        index = _grow(index, _DOMAIN_ARRAYS, max(domain + 1, 2 * len(index.start)))
    index = with_words(index, int(words.max(initial=-1)) + 1)
    if reserve(index, domain, words):
        return index
    # Removed domains leave gaps: copy everything without them, into arrays of twice the size.
    index.capacity[index.length == 0] = 0
    index.word_lists[index.word_lists[:, LENGTH] == 0, CAPACITY] = 0
    used, used_postings = int(index.capacity.sum()), int(index.word_lists[:, CAPACITY].sum())
    needed = max(int(index.length[domain]) + len(words), 2 * int(index.capacity[domain]))
    full = index.word_lists[
        words[index.word_lists[words, LENGTH] >= index.word_lists[words, CAPACITY]], CAPACITY
    ]
    size = 1024 + max(2 * used, used + needed)
    n_postings = 1024 + max(2 * used_postings, used_postings + int(np.maximum(4, 2 * full).sum()))
    moved = index._replace(
        words=np.zeros(size, dtype=np.int32),
        pool=np.zeros((size, 2), dtype=np.int64),
        offsets=np.zeros(size, dtype=np.int32),
        postings=np.zeros((2, n_postings), dtype=np.uint32),
        posting_sums=np.zeros((n_postings, 2), dtype=np.int64),
    )
    _compact(index, moved)
    assert reserve(moved, domain, words)
    return moved


def with_words(index: Index, n_words: int) -> Index:
    """Return the index with room for `n_words` word numbers."""
    if n_words <= len(index.word_lists):
        return index
    return _grow(index, _WORD_ARRAYS, max(n_words, 2 * len(index.word_lists)))


def _grow(index: Index, names: tuple[str, ...], size: int) -> Index:
    return index._replace(**{name: _longer_array(getattr(index, name), size) for name in names})


def _longer_array(array: Array, size: int) -> Array:
    result = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    result[: len(array)] = array
    return result


@kernel
def _compact(index: Index, moved: Index) -> None:
    """Copy every slice to `moved` without the gaps; both share the arrays that are not copied."""
    used = 0
    for d in range(len(index.start)):
        old = index.start[d]
        for i in range(index.length[d]):
            moved.words[used + i] = index.words[old + i]
            moved.pool[used + i, 0] = index.pool[old + i, 0]
            moved.pool[used + i, 1] = index.pool[old + i, 1]
            moved.offsets[used + i] = index.offsets[old + i]
        moved.start[d] = used
        used += index.capacity[d]
    index.used[POOL] = used
    used = 0
    for w in range(len(index.word_lists)):
        old = index.word_lists[w, START]
        for i in range(index.word_lists[w, LENGTH]):
            for c in range(2):
                moved.postings[c, used + i] = index.postings[c, old + i]
                moved.posting_sums[used + i, c] = index.posting_sums[old + i, c]
        moved.word_lists[w, START] = used
        used += index.word_lists[w, CAPACITY]
    index.used[POSTINGS] = used


@kernel
def reserve(index: Index, domain: int, words: Array) -> bool:
    """Move slices that are full to the end; return False, with nothing moved, if that is full."""
    length, capacity = index.length[domain], index.capacity[domain]
    extra = max(length + len(words), 2 * capacity) if length + len(words) > capacity else 0
    if index.used[POOL] + extra > len(index.words):
        return False
    extra_postings = 0
    for i in range(len(words)):
        if index.word_lists[words[i], LENGTH] >= index.word_lists[words[i], CAPACITY]:
            extra_postings += max(4, 2 * index.word_lists[words[i], CAPACITY])
    if index.used[POSTINGS] + extra_postings > index.postings.shape[1]:
        return False
    if extra:
        old, new = index.start[domain], index.used[POOL]
        for i in range(length):
            index.words[new + i] = index.words[old + i]
            index.pool[new + i, 0] = index.pool[old + i, 0]
            index.pool[new + i, 1] = index.pool[old + i, 1]
            index.offsets[new + i] = index.offsets[old + i]
        index.start[domain], index.capacity[domain] = new, extra
        index.used[POOL] += extra
    if extra_postings:
        for i in range(len(words)):
            word = words[i]
            if index.word_lists[word, LENGTH] < index.word_lists[word, CAPACITY]:
                continue
            old, new = index.word_lists[word, START], index.used[POSTINGS]
            for j in range(index.word_lists[word, LENGTH]):
                for c in range(2):
                    index.postings[c, new + j] = index.postings[c, old + j]
                    index.posting_sums[new + j, c] = index.posting_sums[old + j, c]
            index.word_lists[word, START] = new
            index.word_lists[word, CAPACITY] = max(4, 2 * index.word_lists[word, CAPACITY])
            index.used[POSTINGS] += index.word_lists[word, CAPACITY]
    return True


# Indices of inner loops are unsigned: the compiler adds a check for negative ones to others.
#
# The smallest kernels get the arrays that they need and not the index: passing the index costs more
# time than they take.


@kernel
def _weight(
    pool: Array, words: Array, at: int, n_units: int, significance: Array, rule: WeightRule
) -> int:
    """Return the weight of a word in a domain, times the number of its units."""
    if rule.by_unit_weight:
        return int(pool[at, 1])
    word = words[at]
    word_significance = significance[word] if word < len(significance) else SCALE
    return int(min(pool[at, 0], n_units) * word_significance)


@kernel
def _swap_postings(
    first: int, p: int, q: int, start: Array, offsets: Array, postings: Array, posting_sums: Array
) -> None:
    """Swap two postings of a word, whose slice begins at `first`."""
    for c in range(2):
        postings[c, p], postings[c, q] = postings[c, q], postings[c, p]
        posting_sums[p, c], posting_sums[q, c] = posting_sums[q, c], posting_sums[p, c]
    offsets[start[postings[DOMAIN, p]] + postings[POSITION, p]] = p - first
    offsets[start[postings[DOMAIN, q]] + postings[POSITION, q]] = q - first


@kernel
def _swap_words(
    at: int,
    other: int,
    start: int,
    words: Array,
    pool: Array,
    offsets: Array,
    word_lists: Array,
    postings: Array,
) -> None:
    """Swap two words of a domain, whose slice of the pool begins at `start`."""
    words[at], words[other] = words[other], words[at]
    offsets[at], offsets[other] = offsets[other], offsets[at]
    for c in range(2):
        pool[at, c], pool[other, c] = pool[other, c], pool[at, c]
    postings[POSITION, word_lists[words[at], START] + offsets[at]] = at - start
    postings[POSITION, word_lists[words[other], START] + offsets[other]] = other - start


@kernel
def _demote(
    domain: int,
    at: int,
    start: Array,
    n_compared: Array,
    words: Array,
    pool: Array,
    offsets: Array,
    word_lists: Array,
    postings: Array,
    posting_sums: Array,
) -> None:
    """Stop comparing a word of a domain: swap it with the last compared one."""
    word = words[at]
    first = word_lists[word, START]
    word_lists[word, N_COMPARED] -= 1
    p, end = first + offsets[at], first + word_lists[word, N_COMPARED]
    if p != end:
        _swap_postings(first, p, end, start, offsets, postings, posting_sums)
    n_compared[domain] -= 1
    last = start[domain] + n_compared[domain]
    if last != at:
        _swap_words(at, last, start[domain], words, pool, offsets, word_lists, postings)


@kernel
def _promote(
    domain: int,
    at: int,
    start: Array,
    n_compared: Array,
    words: Array,
    pool: Array,
    offsets: Array,
    word_lists: Array,
    postings: Array,
    posting_sums: Array,
) -> None:
    """Compare a word of a domain from now on: swap it with the first word that is not compared."""
    word = words[at]
    first = word_lists[word, START]
    p, end = first + offsets[at], first + word_lists[word, N_COMPARED]
    if p != end:
        _swap_postings(first, p, end, start, offsets, postings, posting_sums)
    posting_sums[end, 0], posting_sums[end, 1] = pool[at, 1], pool[at, 0]
    word_lists[word, N_COMPARED] += 1
    first_other = start[domain] + n_compared[domain]
    if first_other != at:
        _swap_words(at, first_other, start[domain], words, pool, offsets, word_lists, postings)
    n_compared[domain] += 1


@kernel
def add_words(
    index: Index,
    domain: int,
    sign: int,
    n_units: int,
    words: Array,
    occurrences: Array,
    weights: Array,
    rule: WeightRule,
) -> None:
    """Add words to a domain, or remove them with `sign=-1`.

    The caller has made room with `reserve` and calls `rebalance` afterwards.
    """
    index.n_units[domain] += sign * n_units
    start, units = index.start[domain], index.n_units[domain]
    postings, pool, pool_words = index.postings, index.pool, index.words
    owners = postings[DOMAIN]
    for i in range(len(words)):
        word = words[i]
        first = np.uint64(index.word_lists[word, START])
        end = first + np.uint64(index.word_lists[word, LENGTH])
        p = first
        while p < end and owners[p] != domain:
            p += np.uint64(1)
        if p == end:
            position = index.length[domain]
            pool_words[start + position] = word
            index.offsets[start + position] = p - first
            pool[start + position, 0] = 0
            pool[start + position, 1] = 0
            postings[DOMAIN, p], postings[POSITION, p] = domain, position
            index.length[domain] += 1
            index.word_lists[word, LENGTH] += 1
        at = start + postings[POSITION, p]
        pool[at, 0] += sign * occurrences[i]
        pool[at, 1] += sign * weights[i]
        if p < first + np.uint64(index.word_lists[word, N_COMPARED]):
            index.posting_sums[p, 0], index.posting_sums[p, 1] = pool[at, 1], pool[at, 0]
        elif index.is_open[domain] and pool[at, 0] > 0:
            weight = pool[at, 1]
            if not rule.by_unit_weight:
                weight = _weight(pool, pool_words, at, units, index.significance, rule)
            if weight >= rule.min_weight * units:
                _promote(
                    domain,
                    at,
                    index.start,
                    index.n_compared,
                    index.words,
                    index.pool,
                    index.offsets,
                    index.word_lists,
                    index.postings,
                    index.posting_sums,
                )


@kernel
def rebalance(index: Index, domain: int, rule: WeightRule, check_all: bool) -> None:
    """Move the words of a domain to the right side of its slice, and sum up the compared ones.

    If units were only added, no word outside them can have become heavy enough. In all other cases
    the words that are not compared are examined too (`check_all`).
    """
    start, pool, words = index.start[domain], index.pool, index.words
    units, significance = index.n_units[domain], index.significance
    least = rule.min_weight * units
    total_weight, total_occurrences = 0, 0
    by_unit_weight, is_open = rule.by_unit_weight, index.is_open[domain]
    for at in range(start + index.n_compared[domain] - 1, start - 1, -1):
        weight = pool[at, 1]
        if not by_unit_weight:
            weight = _weight(pool, words, at, units, significance, rule)
        if is_open and pool[at, 0] > 0 and weight >= least:
            total_weight += weight
            total_occurrences += pool[at, 0]
        else:
            _demote(
                domain,
                at,
                index.start,
                index.n_compared,
                index.words,
                index.pool,
                index.offsets,
                index.word_lists,
                index.postings,
                index.posting_sums,
            )
    if check_all and is_open:
        for at in range(start + index.n_compared[domain], start + index.length[domain]):
            weight = _weight(pool, words, at, units, significance, rule)
            if pool[at, 0] > 0 and weight >= least:
                total_weight += weight
                total_occurrences += pool[at, 0]
                _promote(
                    domain,
                    at,
                    index.start,
                    index.n_compared,
                    index.words,
                    index.pool,
                    index.offsets,
                    index.word_lists,
                    index.postings,
                    index.posting_sums,
                )
    index.totals[domain, 0], index.totals[domain, 1] = total_weight, total_occurrences


@kernel
def insert_domain(
    index: Index, domain: int, words: Array, occurrences: Array, weights: Array
) -> None:
    """Insert the sums of a domain that the index does not hold; `rebalance` must follow."""
    for i in range(len(words)):
        word = words[i]
        at = index.start[domain] + i
        index.words[at] = word
        index.pool[at, 0], index.pool[at, 1] = occurrences[i], weights[i]
        p = index.word_lists[word, START] + index.word_lists[word, LENGTH]
        index.postings[DOMAIN, p], index.postings[POSITION, p] = domain, i
        index.offsets[at] = index.word_lists[word, LENGTH]
        index.word_lists[word, LENGTH] += 1
    index.length[domain], index.n_compared[domain] = len(words), 0


@kernel
def insert_open(index: Index, slot: int, words: Array, values: Array) -> None:
    """Insert an open domain of one unit, which has no words yet; all its words are compared."""
    start, offsets = index.start, index.offsets
    word_lists, postings, posting_sums = index.word_lists, index.postings, index.posting_sums
    first_entry = start[slot]
    for i in range(len(words)):
        word, at = words[i], first_entry + i
        first, length = word_lists[word, START], word_lists[word, LENGTH]
        n_compared = word_lists[word, N_COMPARED]
        index.words[at], offsets[at] = word, n_compared
        index.pool[at, 0], index.pool[at, 1] = 1, values[i]
        p = first + n_compared
        if n_compared < length:  # the first of the others becomes the last
            last = first + length
            for c in range(2):
                postings[c, last], posting_sums[last, c] = postings[c, p], posting_sums[p, c]
            offsets[start[postings[DOMAIN, p]] + postings[POSITION, p]] = length
        postings[DOMAIN, p], postings[POSITION, p] = slot, i
        posting_sums[p, 0], posting_sums[p, 1] = values[i], 1
        word_lists[word, LENGTH] += 1
        word_lists[word, N_COMPARED] += 1
    index.length[slot] = index.n_compared[slot] = len(words)
    index.n_units[slot] = 1


@kernel
def _fill_posting(
    first: int, gap: int, p: int, start: Array, offsets: Array, postings: Array, sums: Array
) -> None:
    """Move a posting of a word, whose slice begins at `first`, to a gap."""
    domain, position = postings[DOMAIN, p], postings[POSITION, p]
    postings[DOMAIN, gap], postings[POSITION, gap] = domain, position
    sums[gap, 0], sums[gap, 1] = sums[p, 0], sums[p, 1]
    offsets[start[domain] + position] = gap - first


@kernel
def remove_domain(index: Index, domain: int) -> None:
    """Remove a domain from the postings of its words; the last posting fills the gap."""
    start, offsets, word_lists = index.start, index.offsets, index.word_lists
    postings, sums, n_compared = index.postings, index.posting_sums, index.n_compared[domain]
    for position in range(index.length[domain]):
        word = index.words[start[domain] + position]
        first = word_lists[word, START]
        gap = first + offsets[start[domain] + position]
        if position < n_compared:
            word_lists[word, N_COMPARED] -= 1
            p = first + word_lists[word, N_COMPARED]
            if p != gap:
                _fill_posting(first, gap, p, start, offsets, postings, sums)
                gap = p
        word_lists[word, LENGTH] -= 1
        p = first + word_lists[word, LENGTH]
        if p != gap:
            _fill_posting(first, gap, p, start, offsets, postings, sums)
    index.n_compared[domain] = 0
    index.length[domain] = 0
    index.n_units[domain] = 0
    index.totals[domain, 0], index.totals[domain, 1] = 0, 0


@kernel
def sums_of(index: Index, domains: Array) -> tuple[Array, Array, Array, Array]:
    """Return the sums of several domains: where each ends, words by number, occurrences, weights.

    Words without occurrences are left out.
    """
    size = 0
    for d in domains:
        size += index.length[d]
    ends, words = np.zeros(len(domains), np.int64), np.zeros(size, np.int32)
    occurrences, weights = np.zeros(size, np.int64), np.zeros(size, np.int64)
    used = 0
    for i in range(len(domains)):
        start, length = index.start[domains[i]], index.length[domains[i]]
        for position in np.argsort(index.words[start : start + length]):
            at = start + position
            if index.pool[at, 0] > 0:
                words[used] = index.words[at]
                occurrences[used], weights[used] = index.pool[at, 0], index.pool[at, 1]
                used += 1
        ends[i] = used
    return ends, words[:used], occurrences[:used], weights[:used]


@kernel
def remove_domains(index: Index, domains: Array) -> None:
    """Remove several domains, as `remove_domain` does one."""
    for d in domains:
        remove_domain(index, d)


@kernel
def ranked(values: Array, rank: int) -> int:
    """Return the value at a place of the sorted values: quickselect.

    `np.partition` takes a tenth of the time in which all kernels are compiled.
    """
    row, low, high = values.copy(), 0, len(values) - 1
    while low < high:
        pivot, i, j = row[(low + high) // 2], low, high
        while i <= j:
            while row[i] < pivot:
                i += 1
            while row[j] > pivot:
                j -= 1
            if i <= j:
                row[i], row[j] = row[j], row[i]
                i, j = i + 1, j - 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    value: int = row[rank]
    return value


@kernel
def heaviest(index: Index, domains: Array, rule: WeightRule, most: int) -> Array:
    """Return the pool entries of the heaviest words, one row per domain, heaviest first.

    Ties are broken by occurrences, then by the number of the word. Rows are filled up with -1.
    """
    result = np.full((len(domains), most), -1, dtype=np.int64)
    for row in range(len(domains)):
        _heaviest(index, domains[row], rule, result[row])
    return result


@kernel
def _heaviest(index: Index, domain: int, rule: WeightRule, entries: Array) -> None:
    most = len(entries)
    n_entries, least = 0, 0
    start, units = index.start[domain], index.n_units[domain]
    pool, words = index.pool, index.words
    for at in range(start, start + index.length[domain]):
        if index.pool[at, 0] <= 0:
            continue
        weight = _weight(pool, words, at, units, index.significance, rule)
        if n_entries == most and weight < least:
            continue
        rank = n_entries
        while rank > 0:
            other = entries[rank - 1]
            other_weight = _weight(pool, words, other, units, index.significance, rule)
            if other_weight > weight:
                break
            if other_weight == weight:
                if index.pool[other, 0] > index.pool[at, 0]:
                    break
                if index.pool[other, 0] == index.pool[at, 0] and (
                    index.words[other] < index.words[at]
                ):
                    break
            rank -= 1
        if rank == most:
            continue
        n_entries = min(n_entries + 1, most)
        for i in range(n_entries - 1, rank, -1):
            entries[i] = entries[i - 1]
        entries[rank] = at
        least = _weight(pool, words, entries[n_entries - 1], units, index.significance, rule)
