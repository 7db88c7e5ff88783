"""The sums of all domains and the way from a word to its domains, in flat arrays for kernels.

A domain has a stretch of the pool, one place a word, and a word has a stretch of postings, one a
domain. Both begin with what is compared: the words that weigh enough in their domain, if that is
open. The others lie behind, so that comparing a unit never meets them. Whatever changes a domain
brings its words to their side again (`settle`), and room is made by moving a stretch to the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = [
    "Index",
    "Rule",
    "activation",
    "best_two",
    "clear",
    "empty_index",
    "enter",
    "heaviest",
    "leave",
    "make_room",
    "place_units",
    "settle",
    "take",
    "walk",
    "with_room",
    "with_words",
]

Array = NDArray[Any]

START, LENGTH, LIVE, ROOM = range(4)
"""Columns of `Index.stretches`."""

DOMAIN, PLACE = range(2)
"""Rows of `Index.postings`."""

POOL, POSTINGS, DOMAINS, WANTING = range(4)
"""Places in `Index.used`: the ends of the pool, of the postings and of the domains, and the domain
that found no room."""


class Index(NamedTuple):
    """The arrays; a domain's number is its place in those of the domains, 0 is no domain."""

    # of a domain: its stretch of the pool, how many of its words are compared, and its sums
    start: Array
    length: Array
    heavy: Array
    room: Array
    n_units: Array
    is_open: Array
    totals: Array
    """Weight and occurrences over the words that are compared."""
    # of a place in the pool
    words: Array
    pool: Array
    """Occurrences, weight."""
    back: Array
    """Where its posting is, from the start of the word's stretch."""
    # of a word: its stretch of postings, and how many of them are compared
    stretches: Array
    """Start, length, how many are compared, room."""
    # of a posting
    postings: Array
    """Domain, place within it."""
    copies: Array
    """Weight and occurrences, those of the pool once more, while the posting is compared."""
    significance: Array
    # scratch: what a unit shares with each domain, and the domains that it shares anything with
    sums: Array
    touched: Array
    used: Array


class Rule(NamedTuple):
    """By what a word weighs in a domain, and what it must weigh to be compared, in fixed point."""

    by_unit_weight: bool
    floor: int


def empty_index() -> Index:
    def integers(*shape: int) -> Array:
        return np.zeros(shape, dtype=np.int64)

    return Index(
        start=integers(16),
        length=integers(16),
        heavy=integers(16),
        room=integers(16),
        n_units=integers(16),
        is_open=np.zeros(16, dtype=np.bool_),
        totals=integers(16, 2),
        words=np.zeros(1024, dtype=np.int32),
        pool=integers(1024, 2),
        back=np.zeros(1024, dtype=np.int32),
        stretches=integers(1024, 4),
        postings=np.zeros((2, 1024), dtype=np.uint32),
        copies=integers(1024, 2),
        significance=integers(0),
        sums=integers(16, 4),
        touched=integers(16),
        used=np.array([0, 0, 1, 0], dtype=np.int64),
    )


_OF_DOMAINS = (
    "start", "length", "heavy", "room", "n_units", "is_open", "totals", "sums", "touched",
)  # fmt: skip
_OF_WORDS = ("stretches",)


def with_room(index: Index, domain: int, words: NDArray[np.int32]) -> Index:
    """The index with room for the words in the domain, and for the domain in their postings."""
    if domain >= len(index.start):
        index = _lengthened(index, _OF_DOMAINS, max(domain + 1, 2 * len(index.start)))
    index = with_words(index, int(words.max(initial=-1)) + 1)
    if make_room(index, domain, words):
        return index
    # what left the memory leaves gaps: everything moves together, with as much room again
    index.room[index.length == 0] = 0
    index.stretches[index.stretches[:, LENGTH] == 0, ROOM] = 0
    taken, post_taken = int(index.room.sum()), int(index.stretches[:, ROOM].sum())
    wanted = max(int(index.length[domain]) + len(words), 2 * int(index.room[domain]))
    rooms = index.stretches[
        words[index.stretches[words, LENGTH] >= index.stretches[words, ROOM]], ROOM
    ]
    size = 1024 + max(2 * taken, taken + wanted)
    post_size = 1024 + max(2 * post_taken, post_taken + int(np.maximum(4, 2 * rooms).sum()))
    moved = index._replace(
        words=np.zeros(size, dtype=np.int32),
        pool=np.zeros((size, 2), dtype=np.int64),
        back=np.zeros(size, dtype=np.int32),
        postings=np.zeros((2, post_size), dtype=np.uint32),
        copies=np.zeros((post_size, 2), dtype=np.int64),
    )
    _move_together(index, moved)
    assert make_room(moved, domain, words)
    return moved


def with_words(index: Index, n_words: int) -> Index:
    """The index for so many words."""
    if n_words <= len(index.stretches):
        return index
    return _lengthened(index, _OF_WORDS, max(n_words, 2 * len(index.stretches)))


def _lengthened(index: Index, names: tuple[str, ...], size: int) -> Index:
    return index._replace(**{name: _longer(getattr(index, name), size) for name in names})


def _longer(array: Array, size: int) -> Array:
    result = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    result[: len(array)] = array
    return result


@kernel
def _move_together(index: Index, moved: Index) -> None:
    """Copies every stretch without the gaps between them; both share the arrays of the others."""
    used = 0
    for d in range(len(index.start)):
        old = index.start[d]
        for i in range(index.length[d]):
            moved.words[used + i] = index.words[old + i]
            moved.pool[used + i, 0] = index.pool[old + i, 0]
            moved.pool[used + i, 1] = index.pool[old + i, 1]
            moved.back[used + i] = index.back[old + i]
        moved.start[d] = used
        used += index.room[d]
    index.used[0] = used
    used = 0
    for w in range(len(index.stretches)):
        old = index.stretches[w, START]
        for i in range(index.stretches[w, LENGTH]):
            for c in range(2):
                moved.postings[c, used + i] = index.postings[c, old + i]
                moved.copies[used + i, c] = index.copies[old + i, c]
        moved.stretches[w, START] = used
        used += index.stretches[w, ROOM]
    index.used[1] = used


@kernel
def make_room(index: Index, domain: int, words: Array) -> bool:
    """Moves stretches that are too short to the end; false, and nothing moved, if that is full."""
    length, room = index.length[domain], index.room[domain]
    more = max(length + len(words), 2 * room) if length + len(words) > room else 0
    if index.used[0] + more > len(index.words):
        return False
    post_more = 0
    for i in range(len(words)):
        if index.stretches[words[i], LENGTH] >= index.stretches[words[i], ROOM]:
            post_more += max(4, 2 * index.stretches[words[i], ROOM])
    if index.used[1] + post_more > index.postings.shape[1]:
        return False
    if more:
        old, new = index.start[domain], index.used[0]
        for i in range(length):
            index.words[new + i] = index.words[old + i]
            index.pool[new + i, 0] = index.pool[old + i, 0]
            index.pool[new + i, 1] = index.pool[old + i, 1]
            index.back[new + i] = index.back[old + i]
        index.start[domain], index.room[domain] = new, more
        index.used[0] += more
    if post_more:
        for i in range(len(words)):
            word = words[i]
            if index.stretches[word, LENGTH] < index.stretches[word, ROOM]:
                continue
            old, new = index.stretches[word, START], index.used[1]
            for j in range(index.stretches[word, LENGTH]):
                for c in range(2):
                    index.postings[c, new + j] = index.postings[c, old + j]
                    index.copies[new + j, c] = index.copies[old + j, c]
            index.stretches[word, START] = new
            index.stretches[word, ROOM] = max(4, 2 * index.stretches[word, ROOM])
            index.used[1] += index.stretches[word, ROOM]
    return True


# The smallest kernels get the arrays that they need and not the index: handing that over costs more
# than they do.


@kernel
def _weight(
    pool: Array, words: Array, at: int, n_units: int, significance: Array, rule: Rule
) -> int:
    """The weight of a word in a domain, times its units."""
    if rule.by_unit_weight:
        return int(pool[at, 1])
    word = words[at]
    signif = significance[word] if word < len(significance) else 65536
    return int(min(pool[at, 0], n_units) * signif)


@kernel
def _swap_postings(
    first: int, p: int, q: int, start: Array, back: Array, postings: Array, copies: Array
) -> None:
    """Two postings of a word, whose stretch begins at `first`, change places."""
    for c in range(2):
        postings[c, p], postings[c, q] = postings[c, q], postings[c, p]
        copies[p, c], copies[q, c] = copies[q, c], copies[p, c]
    back[start[postings[DOMAIN, p]] + postings[PLACE, p]] = p - first
    back[start[postings[DOMAIN, q]] + postings[PLACE, q]] = q - first


@kernel
def _swap_places(
    at: int,
    other: int,
    start: int,
    words: Array,
    pool: Array,
    back: Array,
    stretches: Array,
    postings: Array,
) -> None:
    """Two words of a domain, whose stretch of the pool begins at `start`, change places."""
    words[at], words[other] = words[other], words[at]
    back[at], back[other] = back[other], back[at]
    for c in range(2):
        pool[at, c], pool[other, c] = pool[other, c], pool[at, c]
    postings[PLACE, stretches[words[at], START] + back[at]] = at - start
    postings[PLACE, stretches[words[other], START] + back[other]] = other - start


@kernel
def _sink(
    domain: int,
    at: int,
    start: Array,
    heavy: Array,
    words: Array,
    pool: Array,
    back: Array,
    stretches: Array,
    postings: Array,
    copies: Array,
) -> None:
    """A word of a domain is not compared any more: it changes places with the last that is."""
    word = words[at]
    first = stretches[word, START]
    stretches[word, LIVE] -= 1
    p, end = first + back[at], first + stretches[word, LIVE]
    if p != end:
        _swap_postings(first, p, end, start, back, postings, copies)
    heavy[domain] -= 1
    last = start[domain] + heavy[domain]
    if last != at:
        _swap_places(at, last, start[domain], words, pool, back, stretches, postings)


@kernel
def _rise(
    domain: int,
    at: int,
    start: Array,
    heavy: Array,
    words: Array,
    pool: Array,
    back: Array,
    stretches: Array,
    postings: Array,
    copies: Array,
) -> None:
    """A word of a domain is compared from now on."""
    word = words[at]
    first = stretches[word, START]
    p, end = first + back[at], first + stretches[word, LIVE]
    if p != end:
        _swap_postings(first, p, end, start, back, postings, copies)
    copies[end, 0], copies[end, 1] = pool[at, 1], pool[at, 0]
    stretches[word, LIVE] += 1
    light = start[domain] + heavy[domain]
    if light != at:
        _swap_places(at, light, start[domain], words, pool, back, stretches, postings)
    heavy[domain] += 1


@kernel
def take(
    index: Index,
    domain: int,
    sign: int,
    n_units: int,
    words: Array,
    occurrences: Array,
    weights: Array,
    rule: Rule,
) -> None:
    """Adds words to a domain, or takes them away; there is room, and `settle` follows."""
    index.n_units[domain] += sign * n_units
    start, units = index.start[domain], index.n_units[domain]
    postings, pool, places = index.postings, index.pool, index.words
    owners = postings[DOMAIN]
    for i in range(len(words)):
        word = words[i]
        first = index.stretches[word, START]
        end = first + index.stretches[word, LENGTH]
        p = first
        while p < end and owners[p] != domain:
            p += 1
        if p == end:
            place = index.length[domain]
            places[start + place] = word
            index.back[start + place] = p - first
            pool[start + place, 0] = 0
            pool[start + place, 1] = 0
            postings[DOMAIN, p], postings[PLACE, p] = domain, place
            index.length[domain] += 1
            index.stretches[word, LENGTH] += 1
        place = postings[PLACE, p]
        at = start + place
        pool[at, 0] += sign * occurrences[i]
        pool[at, 1] += sign * weights[i]
        if p < first + index.stretches[word, LIVE]:
            index.copies[p, 0], index.copies[p, 1] = pool[at, 1], pool[at, 0]
        elif index.is_open[domain] and pool[at, 0] > 0:
            weight = pool[at, 1]
            if not rule.by_unit_weight:
                weight = _weight(pool, places, at, units, index.significance, rule)
            if weight >= rule.floor * units:
                _rise(
                    domain,
                    at,
                    index.start,
                    index.heavy,
                    index.words,
                    index.pool,
                    index.back,
                    index.stretches,
                    index.postings,
                    index.copies,
                )


@kernel
def settle(index: Index, domain: int, rule: Rule, wholly: bool) -> None:
    """Brings the words of a domain to their side, and sums up those that are compared.

    When units were only added, no word that they do not have can have become heavy enough; else
    the light words have to be looked at too (`wholly`).
    """
    start, pool, words = index.start[domain], index.pool, index.words
    units, significance = index.n_units[domain], index.significance
    least = rule.floor * units
    total_weight, total_occurrences = 0, 0
    by_unit_weight, is_open = rule.by_unit_weight, index.is_open[domain]
    for at in range(start + index.heavy[domain] - 1, start - 1, -1):
        weight = pool[at, 1]
        if not by_unit_weight:
            weight = _weight(pool, words, at, units, significance, rule)
        if is_open and pool[at, 0] > 0 and weight >= least:
            total_weight += weight
            total_occurrences += pool[at, 0]
        else:
            _sink(
                domain,
                at,
                index.start,
                index.heavy,
                index.words,
                index.pool,
                index.back,
                index.stretches,
                index.postings,
                index.copies,
            )
    if wholly and is_open:
        for at in range(start + index.heavy[domain], start + index.length[domain]):
            weight = _weight(pool, words, at, units, significance, rule)
            if pool[at, 0] > 0 and weight >= least:
                total_weight += weight
                total_occurrences += pool[at, 0]
                _rise(
                    domain,
                    at,
                    index.start,
                    index.heavy,
                    index.words,
                    index.pool,
                    index.back,
                    index.stretches,
                    index.postings,
                    index.copies,
                )
    index.totals[domain, 0], index.totals[domain, 1] = total_weight, total_occurrences


@kernel
def enter(index: Index, domain: int, words: Array, occurrences: Array, weights: Array) -> None:
    """Enters the sums of a whole domain that the index does not have; `settle` follows."""
    for i in range(len(words)):
        word = words[i]
        at = index.start[domain] + i
        index.words[at] = word
        index.pool[at, 0], index.pool[at, 1] = occurrences[i], weights[i]
        p = index.stretches[word, START] + index.stretches[word, LENGTH]
        index.postings[DOMAIN, p], index.postings[PLACE, p] = domain, i
        index.back[at] = index.stretches[word, LENGTH]
        index.stretches[word, LENGTH] += 1
    index.length[domain], index.heavy[domain] = len(words), 0


@kernel
def leave(index: Index, domain: int) -> None:
    """Takes a whole domain out of the postings of its words; the last posting fills the gap."""
    start = index.start[domain]
    for place in range(index.heavy[domain] - 1, -1, -1):
        _sink(
            domain,
            start + place,
            index.start,
            index.heavy,
            index.words,
            index.pool,
            index.back,
            index.stretches,
            index.postings,
            index.copies,
        )
    for at in range(start, start + index.length[domain]):
        word = index.words[at]
        first = index.stretches[word, START]
        p, last = first + index.back[at], first + index.stretches[word, LENGTH] - 1
        if p != last:
            _swap_postings(first, p, last, index.start, index.back, index.postings, index.copies)
        index.stretches[word, LENGTH] -= 1
    index.length[domain] = 0
    index.n_units[domain] = 0
    index.totals[domain, 0], index.totals[domain, 1] = 0, 0


@kernel
def walk(index: Index, words: Array, occurrences: Array, weights: Array, rule: Rule) -> int:
    """Walks the postings of a unit's words and adds up, per domain, the shared parts of eq. 7.

    sums[d] = domain weight, domain occurrences, unit weight, unit occurrences. Gives the number of
    domains touched.
    """
    sums, stretches, touched, significance = (
        index.sums,
        index.stretches,
        index.touched,
        index.significance,
    )
    n_touched = 0
    for i in range(len(words)):
        word = words[i]
        if word >= len(stretches):
            continue
        signif = significance[word] if word < len(significance) else 65536
        first, n_live = stretches[word, START], stretches[word, LIVE]
        owners = index.postings[DOMAIN, first : first + n_live]
        copies = index.copies[first : first + n_live]
        unit_weight, unit_occurrence = weights[i], occurrences[i]
        for p in range(n_live):
            d = owners[p]
            mine = sums[d]
            weight, occurrence = copies[p, 0], copies[p, 1]
            if not rule.by_unit_weight:
                weight = min(occurrence, index.n_units[d]) * signif
            if mine[1] == 0:
                touched[n_touched] = d
                n_touched += 1
            mine[0] += weight
            mine[1] += occurrence
            mine[2] += unit_weight
            mine[3] += unit_occurrence
    return n_touched


@kernel
def activation(index: Index, words: Array, weights: Array, rule: Rule) -> Array:
    """Eq. 6 for every domain, times its units: the products of the weights of shared words."""
    result = np.zeros(len(index.start), dtype=np.int64)
    for i in range(len(words)):
        word = words[i]
        if word >= len(index.stretches):
            continue
        signif = index.significance[word] if word < len(index.significance) else 65536
        first = index.stretches[word, START]
        for p in range(first, first + index.stretches[word, LIVE]):
            d, weight = index.postings[DOMAIN, p], index.copies[p, 0]
            if not rule.by_unit_weight:
                weight = min(index.copies[p, 1], index.n_units[d]) * signif
            result[d] += weight * weights[i]
    return result


@kernel
def clear(index: Index, n_touched: int) -> None:
    """Makes the scratch ready for the next walk."""
    sums, touched = index.sums, index.touched
    for i in range(n_touched):
        for c in range(4):
            sums[touched[i], c] = 0


@kernel
def best_two(
    index: Index, n_touched: int, unit_weight: float, unit_occurrences: float
) -> tuple[int, float, int, float]:
    """The two best domains by eq. 7 with their scores; ties go to the older domain."""
    best, second = 0, 0
    best_score, second_score = -1.0, -1.0
    least = 0.0
    sums, totals = index.sums, index.totals
    for i in range(n_touched):
        d = index.touched[i]
        shared = (float(sums[d, 0]) * sums[d, 1]) * (float(sums[d, 2]) * sums[d, 3])
        if shared < least * (float(totals[d, 0]) * totals[d, 1]):
            continue  # clearly below the second, whatever the rounding
        share = (
            (sums[d, 0] / totals[d, 0])
            * (sums[d, 1] / totals[d, 1])
            * (sums[d, 2] / unit_weight)
            * (sums[d, 3] / unit_occurrences)
        )
        score = np.sqrt(np.sqrt(share))
        if score > best_score or (score == best_score and d < best):
            second, second_score = best, best_score
            best, best_score = d, score
        elif score > second_score or (score == second_score and d < second):
            second, second_score = d, score
        if second:
            least = second_score**4 * (1 - 1e-9) * (unit_weight * unit_occurrences)
    return best, max(best_score, 0.0), second, max(second_score, 0.0)


@kernel
def seek_units(
    index: Index,
    ends: Array,
    words: Array,
    occurrences: Array,
    weights: Array,
    rule: Rule,
    places: Array,
    scores: Array,
) -> None:
    """The two best domains of each unit, places[u], with their scores; the index stays as it is."""
    for u in range(len(ends)):
        a, b = ends[u - 1] if u else 0, ends[u]
        own, occ, wei = words[a:b], occurrences[a:b], weights[a:b]
        unit_weight, unit_occurrences = 0, 0
        for i in range(len(own)):
            unit_weight += wei[i]
            unit_occurrences += occ[i]
        n_touched = walk(index, own, occ, wei, rule)
        best, score, second, second_score = best_two(
            index, n_touched, float(unit_weight), float(unit_occurrences)
        )
        clear(index, n_touched)
        places[u, 0], places[u, 1] = best, second
        scores[u, 0], scores[u, 1] = score, second_score


@kernel
def place_units(
    index: Index,
    first: int,
    ends: Array,
    words: Array,
    occurrences: Array,
    weights: Array,
    rule: Rule,
    threshold: float,
    places: Array,
    scores: Array,
) -> int:
    """Places units one after the other, each into the best domain or a new one.

    places[u] = the domain it is in now, the best before, the runner-up; 0 is none. Stops where
    there is no room: gives the unit to go on with, and `used` has the domain that wants room.
    """
    for u in range(first, len(ends)):
        a, b = ends[u - 1] if u else 0, ends[u]
        own, occ, wei = words[a:b], occurrences[a:b], weights[a:b]
        unit_weight, unit_occurrences = 0, 0
        for i in range(len(own)):
            unit_weight += wei[i]
            unit_occurrences += occ[i]
        n_touched = walk(index, own, occ, wei, rule)
        best, score, second, second_score = best_two(
            index, n_touched, float(unit_weight), float(unit_occurrences)
        )
        clear(index, n_touched)
        joins = best > 0 and score >= threshold
        domain = best if joins else index.used[2]
        if domain >= len(index.start) or not make_room(index, domain, own):
            index.used[3] = domain
            return u
        if not joins:
            index.used[2] += 1
            index.is_open[domain] = True
        take(index, domain, 1, 1, own, occ, wei, rule)
        settle(index, domain, rule, False)
        places[u, 0], places[u, 1], places[u, 2] = domain, best, second
        scores[u, 0], scores[u, 1] = score, second_score
    return len(ends)


@kernel
def heaviest(index: Index, domains: Array, rule: Rule, most: int) -> Array:
    """Where the heaviest words of domains are in the pool, a row each, heaviest first.

    Ties are broken by occurrences, then by the word's number. Behind the last word stands -1.
    """
    result = np.full((len(domains), most), -1, dtype=np.int64)
    for row in range(len(domains)):
        _heaviest(index, domains[row], rule, result[row])
    return result


@kernel
def _heaviest(index: Index, domain: int, rule: Rule, found: Array) -> None:
    most = len(found)
    n_found = 0
    start, units = index.start[domain], index.n_units[domain]
    pool, words = index.pool, index.words
    for at in range(start, start + index.length[domain]):
        if index.pool[at, 0] <= 0:
            continue
        weight = _weight(pool, words, at, units, index.significance, rule)
        place = n_found
        while place > 0:
            other = found[place - 1]
            theirs = _weight(pool, words, other, units, index.significance, rule)
            if theirs > weight:
                break
            if theirs == weight:
                if index.pool[other, 0] > index.pool[at, 0]:
                    break
                if index.pool[other, 0] == index.pool[at, 0] and (
                    index.words[other] < index.words[at]
                ):
                    break
            place -= 1
        if place == most:
            continue
        n_found = min(n_found + 1, most)
        for i in range(n_found - 1, place, -1):
            found[i] = found[i - 1]
        found[place] = at
