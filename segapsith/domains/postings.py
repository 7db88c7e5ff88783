"""The sums of all domains and the inverted index from words to domains, as flat arrays.

A domain has a slice of the pool with one entry per word. A word has a slice of the postings with
one entry per domain. Both slices begin with the entries that are compared: the words that weigh
enough in their domain, if the domain is open. The other entries follow, so a comparison never
reads them. After a domain has changed, `rebalance` moves its words to the right side. A slice that
is full is moved to the end of its array.

Units are compared with domains by eq. 7 of docs/concepts/formulas.md. For a domain d and a unit c,
with `common` the words that both contain, W weights and O occurrences:

    sim(d, c) = [ sum_common W_d / sum_all W_d  *  sum_common O_d / sum_all O_d
                * sum_common W_c / sum_all W_c  *  sum_common O_c / sum_all O_c ] ^ (1/4)

The numerators are summed over the postings of the words of the unit, in integers. When a unit is
placed, the similarity to a domain without recent stories is reduced (`Aging`).

All kernels are in this one module: a compiled kernel is cached by the date of its own file, and a
change of a kernel that it calls in another file would go unnoticed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.lexicon.vocabulary import SCALE

__all__ = [
    "EVENT_WEIGHTS",
    "NO_AGING",
    "Aging",
    "EventRule",
    "Index",
    "StoryVectors",
    "WeightRule",
    "accumulate",
    "activation",
    "add_words",
    "best_two",
    "empty_index",
    "find_units",
    "heaviest",
    "insert_domain",
    "place_stories",
    "place_units",
    "rebalance",
    "remove_domain",
    "remove_domains",
    "reserve",
    "reset_sums",
    "scaled_stories",
    "sums_of",
    "with_capacity",
    "with_words",
]

Array = NDArray[Any]

START, LENGTH, N_COMPARED, CAPACITY = range(4)
"""Columns of `Index.word_lists`."""

DOMAIN, POSITION = range(2)
"""Rows of `Index.postings`."""

POOL, POSTINGS, DOMAINS, FULL_DOMAIN = range(4)
"""Entries of `Index.used`: the ends of the pool, of the postings and of the domains, and the domain
that was full when `place_units` stopped."""


MOST_STORY_WORDS = 64
"""Number of words of a story that are compared with events, heaviest first."""

STORY_LENGTH = 1 << 12
"""The length of the vector of a story, in fixed point: squares of the sums of 700,000 stories fit
into 64 bits."""

NUMBER, FIRST_DAY, LAST_DAY, SQUARES, GROWN_DAY, GROWN, TABLE_COLUMNS = range(7)
"""Columns of the table of events in `place_stories`: the number of the event, its first and last
day (0: undated), the square of the length of its sums, and when it last took a story: day of the
stream, ordinal."""


class Index(NamedTuple):
    """The arrays. The number of a domain is its row in the arrays of domains; 0 is no domain."""

    # One row per domain: its slice of the pool, the number of compared words, and its sums.
    start: Array
    length: Array
    n_compared: Array
    capacity: Array
    n_units: Array
    is_open: Array
    newest: Array
    """Ordinal of the last story that joined it; 0 is not known."""
    totals: Array
    """Weight and occurrences, summed over the compared words."""
    # One row per entry of the pool.
    words: Array
    pool: Array
    """Occurrences, weight."""
    offsets: Array
    """Position of its posting, relative to the start of the slice of the word."""
    # One row per word: its slice of the postings, and how many of them are compared.
    word_lists: Array
    """Start, length, number of compared postings, capacity."""
    # One entry per posting.
    postings: Array
    """Domain, position in the slice of the domain."""
    posting_sums: Array
    """Weight and occurrences: a copy of the pool, up to date while the posting is compared."""
    significance: Array
    # Scratch: the sums that a unit shares with each domain, and the domains that share a word.
    sums: Array
    touched: Array
    used: Array


class WeightRule(NamedTuple):
    """Formula for the weight of a word in a domain, and the least compared weight (fixed point)."""

    by_unit_weight: bool
    min_weight: int


class Aging(NamedTuple):
    """How much older domains lose: similarity * (1 - share * min(age, stories) / stories).

    The age of a domain is the number of stories since the last one that joined it.
    """

    share: float
    stories: int


NO_AGING = Aging(0.0, 1)


EVENT_WEIGHTS = WeightRule(True, 0)
"""The rule of events: every word is compared, with the sum of its values."""


class EventRule(NamedTuple):
    """How stories are placed in events: see `place_stories`."""

    threshold: float
    decay: float
    day: int
    """The day of the stream."""
    first_new: int
    """The number of the first new event."""


class StoryVectors(NamedTuple):
    """Vectors of stories, one after the other: where each ends, its words and their values."""

    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[np.int32]


def empty_index() -> Index:
    """Return the arrays of an index without domains."""

    def integers(*shape: int) -> Array:
        return np.zeros(shape, dtype=np.int64)

    return Index(
        start=integers(16),
        length=integers(16),
        n_compared=integers(16),
        capacity=integers(16),
        n_units=integers(16),
        is_open=np.zeros(16, dtype=np.bool_),
        newest=integers(16),
        totals=integers(16, 2),
        words=np.zeros(1024, dtype=np.int32),
        pool=integers(1024, 2),
        offsets=np.zeros(1024, dtype=np.int32),
        word_lists=integers(1024, 4),
        postings=np.zeros((2, 1024), dtype=np.uint32),
        posting_sums=integers(1024, 2),
        significance=integers(0),
        sums=integers(16, 4),
        touched=integers(16),
        used=np.array([0, 0, 1, 0], dtype=np.int64),
    )


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
def _insert_event(index: Index, slot: int, words: Array, values: Array) -> None:
    """Insert an open event of one story; all its words are compared."""
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


# -- comparing units with domains --------------------------------------------------------------


@kernel
def accumulate(
    index: Index, words: Array, occurrences: Array, weights: Array, rule: WeightRule
) -> int:
    """Sum up, for each domain that shares a word with a unit, the four numerators of eq. 7.

    sums[d] = domain weight, domain occurrences, unit weight, unit occurrences. Return the number of
    these domains; `touched` lists them. `reset_sums` must follow.
    """
    sums, word_lists, touched = index.sums, index.word_lists, index.touched
    postings, posting_sums = index.postings, index.posting_sums
    significance, n_units, n_touched = index.significance, index.n_units, 0
    owners = postings[DOMAIN]
    # Read the beginning of every slice: these reads do not wait for each other, those below do.
    read = np.int64(0)
    for i in range(len(words)):
        if words[i] < len(word_lists):
            begin = np.uint64(word_lists[words[i], START])
            read |= posting_sums[begin, 0] | owners[begin]
    if read < 0:  # never: it keeps the compiler from leaving the reads out
        return 0
    for i in range(len(words)):
        word = words[i]
        if word >= len(word_lists):
            continue
        first = np.uint64(word_lists[word, START])
        last = first + np.uint64(word_lists[word, N_COMPARED])
        unit_weight, unit_occurrence = np.int64(weights[i]), np.int64(occurrences[i])
        if rule.by_unit_weight:
            for p in range(first, last):
                d = np.uint64(owners[p])
                touched[np.uint64(n_touched)] = d
                # All sums are read before one is written: then one vector instruction adds them.
                weight, occurrences_ = sums[d, 0], sums[d, 1]
                common_weight, common_occurrences = sums[d, 2], sums[d, 3]
                posting_weight, posting_occurrences = posting_sums[p, 0], posting_sums[p, 1]
                n_touched += occurrences_ == 0
                sums[d, 0] = weight + posting_weight
                sums[d, 1] = occurrences_ + posting_occurrences
                sums[d, 2] = common_weight + unit_weight
                sums[d, 3] = common_occurrences + unit_occurrence
            continue
        word_significance = significance[word] if word < len(significance) else SCALE
        for p in range(first, last):
            d = np.uint64(postings[DOMAIN, p])
            touched[np.uint64(n_touched)] = d
            n_touched += sums[d, 1] == 0
            sums[d, 0] += min(posting_sums[p, 1], n_units[d]) * word_significance
            sums[d, 1] += posting_sums[p, 1]
            sums[d, 2] += unit_weight
            sums[d, 3] += unit_occurrence
    return n_touched


@kernel
def activation(index: Index, words: Array, weights: Array, rule: WeightRule) -> Array:
    """Return the activation of every domain, times its number of units.

    activ(d) = sum over common words of W_d(w) * W_c(w)                               (eq. 6)
    """
    result = np.zeros(len(index.start), dtype=np.int64)
    for i in range(len(words)):
        word = words[i]
        if word >= len(index.word_lists):
            continue
        word_significance = index.significance[word] if word < len(index.significance) else SCALE
        first = index.word_lists[word, START]
        for p in range(first, first + index.word_lists[word, N_COMPARED]):
            d, weight = index.postings[DOMAIN, p], index.posting_sums[p, 0]
            if not rule.by_unit_weight:
                weight = min(index.posting_sums[p, 1], index.n_units[d]) * word_significance
            result[d] += weight * weights[i]
    return result


@kernel
def reset_sums(index: Index, n_touched: int) -> None:
    """Set the sums of the last `accumulate` back to 0."""
    sums, touched = index.sums, index.touched
    for i in range(n_touched):
        for c in range(4):
            sums[touched[i], c] = 0


@kernel
def best_two(
    index: Index,
    n_touched: int,
    unit_weight: float,
    unit_occurrences: float,
    story: int,
    aging: Aging,
) -> tuple[int, float, int, float]:
    """Return the two best domains by eq. 7 with their scores; ties go to the older domain.

    `story` is the ordinal of the story of the unit.
    """
    best, second = 0, 0
    best_score, second_score = -1.0, -1.0
    least = 0.0
    sums, totals = index.sums, index.totals
    for i in range(n_touched):
        d = index.touched[i]
        shared = (float(sums[d, 0]) * sums[d, 1]) * (float(sums[d, 2]) * sums[d, 3])
        if shared < least * (float(totals[d, 0]) * totals[d, 1]):
            continue  # below the second best, whatever the rounding
        share = (
            (sums[d, 0] / totals[d, 0])
            * (sums[d, 1] / totals[d, 1])
            * (sums[d, 2] / unit_weight)
            * (sums[d, 3] / unit_occurrences)
        )
        score = np.sqrt(np.sqrt(share))
        if aging.share > 0:
            age = min(max(story - index.newest[d], 0), aging.stories)
            score *= 1.0 - aging.share * (age / aging.stories)
        if score > best_score or (score == best_score and d < best):
            second, second_score = best, best_score
            best, best_score = d, score
        elif score > second_score or (score == second_score and d < second):
            second, second_score = d, score
        if second:
            least = second_score**4 * (1 - 1e-9) * (unit_weight * unit_occurrences)
    return best, max(best_score, 0.0), second, max(second_score, 0.0)


@kernel
def find_units(
    index: Index,
    ends: Array,
    words: Array,
    occurrences: Array,
    weights: Array,
    rule: WeightRule,
    best_of: Array,
    scores: Array,
) -> None:
    """Write the two best domains of each unit to `best_of` and their scores to `scores`."""
    for u in range(len(ends)):
        a, b = ends[u - 1] if u else 0, ends[u]
        own, occ, wei = words[a:b], occurrences[a:b], weights[a:b]
        unit_weight, unit_occurrences = 0, 0
        for i in range(len(own)):
            unit_weight += wei[i]
            unit_occurrences += occ[i]
        n_touched = accumulate(index, own, occ, wei, rule)
        best, score, second, second_score = best_two(
            index, n_touched, float(unit_weight), float(unit_occurrences), 0, NO_AGING
        )
        reset_sums(index, n_touched)
        best_of[u, 0], best_of[u, 1] = best, second
        scores[u, 0], scores[u, 1] = score, second_score


@kernel
def place_units(
    index: Index,
    first: int,
    ends: Array,
    words: Array,
    occurrences: Array,
    weights: Array,
    stories: Array,
    rule: WeightRule,
    aging: Aging,
    threshold: float,
    placed: Array,
    scores: Array,
) -> int:
    """Place units one after the other, each into the best domain or a new one.

    `stories` are the ordinals of their stories. placed[u] = the domain of the unit, the best domain
    before, the runner-up; 0 is none. Stop if a domain is full: return the unit to continue with, and
    name the domain in `used[FULL_DOMAIN]`.
    """
    for u in range(first, len(ends)):
        a, b = ends[u - 1] if u else 0, ends[u]
        own, occ, wei = words[a:b], occurrences[a:b], weights[a:b]
        unit_weight, unit_occurrences = 0, 0
        for i in range(len(own)):
            unit_weight += wei[i]
            unit_occurrences += occ[i]
        n_touched = accumulate(index, own, occ, wei, rule)
        best, score, second, second_score = best_two(
            index, n_touched, float(unit_weight), float(unit_occurrences), stories[u], aging
        )
        reset_sums(index, n_touched)
        joins = best > 0 and score >= threshold
        domain = best if joins else index.used[DOMAINS]
        if domain >= len(index.start) or not reserve(index, domain, own):
            index.used[FULL_DOMAIN] = domain
            return u
        if not joins:
            index.used[DOMAINS] += 1
            index.is_open[domain] = True
        index.newest[domain] = max(index.newest[domain], stories[u])
        add_words(index, domain, 1, 1, own, occ, wei, rule)
        rebalance(index, domain, rule, False)
        placed[u, 0], placed[u, 1], placed[u, 2] = domain, best, second
        scores[u, 0], scores[u, 1] = score, second_score
    return len(ends)


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
def scaled_stories(ends: Array, words: Array, sums: Array) -> tuple[Array, Array, Array]:
    """Return each story cut to its heaviest words, in fixed point and of length 1."""
    most = MOST_STORY_WORDS
    new_ends = np.zeros(len(ends), np.int64)
    new_words = np.zeros(len(words), np.int32)
    values = np.zeros(len(words), np.int32)
    raised = np.empty(most)
    at = 0
    for story in range(len(ends)):
        a, b = ends[story - 1] if story else 0, ends[story]
        least, n_equal = sums[a] if a < b else 0, b - a  # of equal words the older ones stay
        if b - a > most:
            least = ranked(sums[a:b], b - a - most)
            n_equal = most - np.sum(sums[a:b] > least)
        n_words, squares = 0, 0.0
        for i in range(a, b):
            if b - a > most and sums[i] <= least:
                if sums[i] < least or n_equal == 0:
                    continue
                n_equal -= 1
            weight = float(sums[i])
            raised[n_words] = weight * np.sqrt(weight)
            squares += raised[n_words] * raised[n_words]
            new_words[at + n_words] = words[i]
            n_words += 1
        length = np.sqrt(squares)
        for i in range(n_words):
            values[at + i] = max(int(np.rint(raised[i] / length * STORY_LENGTH)), 1)
        at += n_words
        new_ends[story] = at
    return new_ends, new_words[:at], values[:at]


@kernel
def place_stories(
    index: Index,
    first: int,
    last: int,
    stories: StoryVectors,
    times: Array,
    table: Array,
    slots: Array,
    rule: EventRule,
    placed: Array,
) -> int:
    """Place stories up to `last` one after the other, each into the best event or a new one.

    The rows of the index are slots; `table` has the event of each slot, and the next new event
    gets the next of `slots`. `times` are the day (0: none) and the ordinal of each story. Ties go
    to the older event. placed[s] = the event of the story, and 1 if it is new. Stop if a slot is
    full, as `place_units` does.
    """
    ones = np.ones(MOST_STORY_WORDS, np.int32)
    logs = np.empty(32)
    for gap in range(len(logs)):
        logs[gap] = np.log1p(float(gap))
    sums, touched = index.sums, index.touched
    for s in range(first, last):
        a, b = stories.ends[s - 1] if s else 0, stories.ends[s]
        own, values = stories.words[a:b], stories.values[a:b]
        day = times[0, s]
        n_touched, squares = 0, 0
        for i in range(len(own)):
            value = int(values[i])
            squares += value * value
            start = np.uint64(index.word_lists[own[i], START])
            last_posting = start + np.uint64(index.word_lists[own[i], N_COMPARED])
            for p in range(start, last_posting):
                d = np.uint64(index.postings[DOMAIN, p])
                touched[np.uint64(n_touched)] = d
                n_touched += sums[d, 0] == 0
                sums[d, 0] += value * index.posting_sums[p, 0]
        best, best_score, best_product = 0, -1.0, 0
        length = np.sqrt(float(squares))
        for i in range(n_touched):
            d = touched[i]
            product = sums[d, 0]
            sums[d, 0] = 0
            score = product / (np.sqrt(float(table[d, SQUARES])) * length)
            if score < best_score:
                continue  # days only make it lower
            if day and table[d, LAST_DAY]:
                gap = max(day - table[d, LAST_DAY], table[d, FIRST_DAY] - day, 0)
                score -= rule.decay * (logs[gap] if gap < len(logs) else np.log1p(float(gap)))
            if score > best_score or (
                score == best_score and table[d, NUMBER] < table[best, NUMBER]
            ):
                best, best_score, best_product = d, score, product
        joins = best > 0 and best_score >= rule.threshold
        slot = best if joins else slots[index.used[DOMAINS] - rule.first_new]
        if slot >= len(index.start) or not reserve(index, slot, own):
            index.used[FULL_DOMAIN] = slot
            return s
        if not joins:
            index.is_open[slot] = True
            for column in range(TABLE_COLUMNS):
                table[slot, column] = 0
            table[slot, NUMBER] = index.used[DOMAINS]
            index.used[DOMAINS] += 1
            best_product = 0
            _insert_event(index, slot, own, values)
        else:
            add_words(index, slot, 1, 1, own, ones[: len(own)], values, EVENT_WEIGHTS)
        table[slot, SQUARES] += 2 * best_product + squares
        table[slot, GROWN_DAY] = max(table[slot, GROWN_DAY], rule.day)
        table[slot, GROWN] = max(table[slot, GROWN], times[1, s])
        if day:
            table[slot, LAST_DAY] = max(table[slot, LAST_DAY], day)
            if table[slot, FIRST_DAY] == 0 or day < table[slot, FIRST_DAY]:
                table[slot, FIRST_DAY] = day
        placed[s, 0], placed[s, 1] = table[slot, NUMBER], 0 if joins else 1
    return last


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
