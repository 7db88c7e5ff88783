"""Comparing units with domains: the compiled loops and their plain form."""

from __future__ import annotations

import numpy as np

from segapsith.domains.index import DomainIndex
from segapsith.domains.postings.arrays import Aging
from segapsith.domains.postings.comparison import accumulate, best_two, reset_sums
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE


def test_compiled_kernels_and_their_plain_form_agree() -> None:
    rng = np.random.default_rng(0)
    index = DomainIndex(PlacementSettings(threshold=0.5))
    bags = []
    for _ in range(30):
        words = np.sort(rng.choice(20, 5, replace=False)).astype(np.int32)
        weights = rng.integers(1, SCALE, 5).astype(np.int32)
        bags.append(Bag(words, np.ones(5, np.int32), weights))
    index.place_all(bags, range(1, 31))
    aged = (40, Aging(0.3, 20))
    for bag in bags[:5]:
        arguments = (index._index, bag.words, bag.counts, bag.weights, index._rule)
        n_touched = accumulate(*arguments)
        sums = index._index.sums.copy()
        total = float(bag.weights.sum())
        best = best_two(index._index, n_touched, total, 5.0, *aged)
        plain_best = best_two.python(index._index, n_touched, total, 5.0, *aged)
        reset_sums(index._index, n_touched)
        assert accumulate.python(*arguments) == n_touched
        assert (index._index.sums == sums).all()
        reset_sums.python(index._index, n_touched)
        assert not index._index.sums.any()
        assert plain_best == best
