"""Changing the sums of domains: memory that is given back, and values by their rank."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from segapsith.domains.index import DomainIndex
from segapsith.domains.postings.sums import ranked
from segapsith.domains.values import Bag
from segapsith.lexicon.vocabulary import SCALE


def test_memory_of_dropped_domains_is_given_back() -> None:
    """An endless stream of one-off units: the pool follows the domains that are left."""
    rng = np.random.default_rng(0)

    def bag() -> Bag:
        words = np.sort(rng.choice(5000, 20, replace=False)).astype(np.int32)
        return Bag(words, np.ones(20, np.int32), rng.integers(1, SCALE, 20).astype(np.int32))

    index = DomainIndex()
    live: dict[int, list[Bag]] = {}
    for number in range(3000):
        domain = index.create()
        live[domain] = [bag()]
        index.add_unit(domain, live[domain][0])
        if number % 3 == 0:  # some grow, and move within the pool
            live[domain].append(bag())
            index.add_unit(domain, live[domain][1])
        if domain > 200:
            index.drop(domain - 200)
            del live[domain - 200]
    assert len(index._index.pool) < 4 * sum(len(index.words(d).words) for d in live) + 2 * 4096
    assert index._index.postings.shape[1] < 40_000
    fresh = DomainIndex()
    for domain, bags in live.items():
        fresh.skip_to(domain)
        assert fresh.create() == domain
        for one in bags:
            fresh.add_unit(domain, one)
    assert list(index) == list(fresh)
    for _ in range(50):
        one = bag()
        assert index.place(one) == fresh.place(one)
        index.add_unit(2999, one)
        fresh.add_unit(2999, one)
    for domain in live:
        assert index.words(domain).weights.tolist() == fresh.words(domain).weights.tolist()


@given(
    st.lists(st.integers(-3, 9) | st.integers(-(2**40), 2**40), min_size=1, max_size=60), st.data()
)
def test_a_value_is_found_by_its_rank(values: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, len(values) - 1))
    row = np.array(values, np.int64)
    assert ranked(row, rank) == ranked.python(row, rank) == sorted(values)[rank]
    assert row.tolist() == values
