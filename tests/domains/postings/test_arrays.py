"""The arrays of the inverted index stay consistent, whatever happens to domains."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.domains.index import DomainIndex
from segapsith.domains.postings.arrays import (
    CAPACITY,
    DOMAINS,
    LENGTH,
    N_COMPARED,
    START,
    Index,
    WeightRule,
)
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE


def _check(index: Index, rule: WeightRule) -> None:
    """Every entry and its posting lead to each other, and compared ones come first."""
    for domain in range(1, int(index.used[DOMAINS])):
        start, n_units = int(index.start[domain]), int(index.n_units[domain])
        assert index.n_compared[domain] <= index.length[domain] <= index.capacity[domain]
        totals = [0, 0]
        for position in range(int(index.length[domain])):
            at = start + position
            first, length, n_compared, capacity = index.word_lists[index.words[at]].tolist()
            offset = int(index.offsets[at])
            assert offset < length <= capacity
            assert index.postings[:, first + offset].tolist() == [domain, position]
            occurrences, weight = index.pool[at].tolist()
            heavy = occurrences > 0 and weight >= rule.min_weight * n_units
            is_compared = bool(index.is_open[domain]) and heavy
            assert is_compared == (position < index.n_compared[domain]) == (offset < n_compared)
            if is_compared:
                assert index.posting_sums[first + offset].tolist() == [weight, occurrences]
                totals = [totals[0] + weight, totals[1] + occurrences]
        assert index.totals[domain].tolist() == totals
    assert not index.sums.any()
    n_entries = int(index.length.sum())
    assert int(index.word_lists[:, LENGTH].sum()) == n_entries
    assert int(index.word_lists[:, N_COMPARED].sum()) == int(index.n_compared.sum())
    for starts, sizes in (
        (index.start, index.capacity),
        (index.word_lists[:, START], index.word_lists[:, CAPACITY]),
    ):
        used = np.flatnonzero(sizes)
        order = used[np.argsort(starts[used])]
        assert (starts[order][1:] >= (starts + sizes)[order][:-1]).all()  # no slices overlap


steps = st.lists(
    st.tuples(
        st.sampled_from(["place", "place", "remove", "move", "drop", "close", "reopen"]),
        st.integers(0, 10_000),
    ),
    max_size=40,
)


@given(steps, st.sampled_from([0.0, 0.1, 0.4]))
@settings(deadline=None, max_examples=60)
def test_entries_and_postings_stay_consistent(work: list[tuple[str, int]], floor: float) -> None:
    index = DomainIndex(PlacementSettings(threshold=0.4, min_weight=floor))
    units: list[tuple[int, Bag]] = []
    for name, seed in work:
        rng = np.random.default_rng(seed)
        if name == "place":
            words = np.sort(rng.choice(15, 4, replace=False)).astype(np.int32)
            weights = rng.integers(1, SCALE, 4).astype(np.int32)
            bag = Bag(words, np.ones(4, np.int32), weights)
            units.append((index.place_all([bag])[0][0], bag))
        elif units:
            domain, bag = units[seed % len(units)]
            if name == "remove":
                index.remove_unit(domain, bag)
                del units[seed % len(units)]
            elif name == "drop":
                index.drop(domain)
                units = [unit for unit in units if unit[0] != domain]
            elif name == "move":
                target = units[(seed // 7) % len(units)][0]
                if target != domain:
                    index.move_sums(domain, target)
                    units = [(target if d == domain else d, b) for d, b in units]
            else:
                getattr(index, name)(domain)
        _check(index._index, index._rule)
