"""Coverage against its definition, class by class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.evaluation.compare import BINS, coverage

labellings = st.integers(0, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 4), min_size=n, max_size=n),
        st.lists(st.sampled_from("abcd"), min_size=n, max_size=n),
    )
)


def literal(a, b):
    """Label, partner, coverage and Jaccard index of each class of `a`, from sets of units."""
    classes, others = (
        {
            name: {i for i, label in enumerate(labels) if label == name}
            for name in sorted(set(labels))
        }
        for labels in (a, b)
    )
    for name, members in classes.items():
        partner = min(
            others,
            key=lambda other: (-len(members & others[other]), len(members | others[other]), other),
        )
        shared = members & others[partner]
        yield (
            name,
            partner,
            len(shared) / len(members),
            len(shared) / len(members | others[partner]),
        )


@settings(deadline=None)
@given(labellings)
def test_each_class_meets_the_other_that_holds_most_of_it(both):
    a, b = both
    result = coverage(a, np.array(b))
    for classes, expected in ((result.forward, literal(a, b)), (result.backward, literal(b, a))):
        assert [(one.label, one.partner, one.coverage, one.jaccard) for one in classes] == list(
            expected
        )


@settings(deadline=None)
@given(labellings)
def test_bins_hold_every_class_once(both):
    result = coverage(*both)
    assert sum(result.bins.values()) == len(set(both[0]))
    assert sum(result.backward_bins.values()) == len(set(both[1]))
    assert 0 < result.share <= 1


@settings(deadline=None)
@given(labellings)
def test_the_reverse_is_coverage_the_other_way(both):
    a, b = both
    there, back = coverage(a, b), coverage(b, a)
    assert there.backward == back.forward
    assert there.backward_bins == back.bins
    assert there.backward_share == back.share


@pytest.mark.parametrize(
    ("shared", "size", "name"),
    [
        (5, 5, "100"),
        (99, 100, "80-100"),
        (4, 5, "80-100"),
        (79, 100, "60-80"),
        (3, 5, "60-80"),
        (2, 5, "40-60"),
        (1, 5, "20-40"),
        (1, 6, "0-20"),
    ],
)
def test_the_lower_end_belongs_to_the_bin(shared, size, name):
    others = ["x"] * shared + [f"alone {i}" for i in range(size - shared)]
    assert coverage([0] * size, others).bins == {**dict.fromkeys(BINS, 0), name: 1}


def test_the_published_table_of_71_domains_can_be_told():
    """Table 5: 8, 16, 19, 19, 8 and 1 domains, here of ten units each.

    Ferret, Grau & Jardino (2001).
    """
    domains, clusters = [], []
    for shared, n_domains in ((10, 8), (9, 16), (7, 19), (5, 19), (3, 8), (1, 1)):
        for _ in range(n_domains):
            domain = len(domains)
            domains += [domain] * 10
            clusters += [f"{domain}"] * shared + [f"{domain}, {i}" for i in range(10 - shared)]
    result = coverage(domains, clusters)
    assert list(result.bins.values()) == [8, 16, 19, 19, 8, 1]
    assert len(result.forward) == 71


def test_full_coverage_is_inclusion_and_not_identity():
    result = coverage([0, 0, 1, 1], ["x", "x", "x", "x"])
    assert [one.coverage for one in result.forward] == [1.0, 1.0]
    assert [one.jaccard for one in result.forward] == [0.5, 0.5]
    assert [one.coverage for one in result.backward] == [0.5]


def test_nothing_is_covered_by_nothing():
    result = coverage([], [])
    assert result.forward == result.backward == ()
    assert result.share == result.backward_share == 1.0
