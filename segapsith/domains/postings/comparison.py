"""Compare units with domains by eq. 7 of docs/concepts/formulas.md.

For a domain d and a unit c, with `common` the words that both contain, W weights and O occurrences:

    sim(d, c) = [ sum_common W_d / sum_all W_d  *  sum_common O_d / sum_all O_d
                * sum_common W_c / sum_all W_c  *  sum_common O_c / sum_all O_c ] ^ (1/4)

The numerators are summed over the postings of the words of the unit, in integers. When a unit is
placed, the similarity to a domain without recent stories is reduced (`Aging`).
"""

from __future__ import annotations

import numpy as np

from segapsith.domains.postings.arrays import (
    DOMAIN,
    N_COMPARED,
    NO_AGING,
    START,
    Aging,
    Array,
    Index,
    WeightRule,
)
from segapsith.jit import kernel
from segapsith.lexicon.vocabulary import SCALE

__all__ = ["accumulate", "activation", "best_two", "find_units", "reset_sums"]


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
