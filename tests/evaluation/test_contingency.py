"""The contingency table against scikit-learn, and the matching against a dense assignment."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn import metrics as sklearn

from segapsith.evaluation.contingency import Contingency, contingency, largest_overlap

labellings = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 5), min_size=n, max_size=n),
        st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=n, max_size=n),
    )
)
"""Clusters and classes of the same units."""


def test_the_table_counts_shared_units():
    table = contingency([1, 1, 2, 2, 2], ["x", "y", "y", "y", "y"])
    assert table.dense().tolist() == [[1, 1], [0, 3]]
    assert table.sparse().toarray().tolist() == [[1, 1], [0, 3]]
    assert table.left_sizes.tolist() == [2, 3]
    assert table.right_sizes.tolist() == [1, 4]
    assert table.n == 5


@settings(deadline=None)
@given(labellings)
def test_the_table_is_that_of_scikit_learn(both):
    labels, classes = both
    table = contingency(classes, labels)
    assert np.array_equal(table.dense(), sklearn.cluster.contingency_matrix(classes, labels))
    again = Contingency.of_table(table.dense())
    assert np.array_equal(again.counts, table.counts)
    assert np.array_equal(again.left, table.left)
    assert np.array_equal(again.right_sizes, table.right_sizes)


def test_labels_may_be_lists_or_arrays_numbers_or_strings():
    expected = contingency([0, 0, 1], [2, 3, 3]).dense().tolist()
    for labels in (
        (0, 0, 1),
        np.array([0, 0, 1], dtype=np.uint8),
        np.array(["a", "a", "b"]),
        "aab",
    ):
        assert contingency(labels, [2, 3, 3]).dense().tolist() == expected
    objects = np.array(["a", "a", None], dtype=object)
    assert contingency(objects, [2, 3, 3]).dense().tolist() == expected


def test_a_number_and_its_digits_are_two_labels():
    assert contingency([1, "1"], [0, 0]).left_labels == (1, "1")


def test_strings_that_differ_in_a_last_nul_are_two_labels():
    assert len(contingency(["a", "a\0"], [0, 0]).left_labels) == 2


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([1, 2], [1], "2 and 1 labels"),
        (np.zeros((2, 2)), [1, 1], "2 dimensions"),
        ([math.nan, 1.0], [0, 0], "NaN"),
        (np.array([math.nan, 1.0]), [0, 0], "NaN"),
    ],
)
def test_invalid_labellings_are_refused(left, right, message):
    with pytest.raises(ValueError, match=message):
        contingency(left, right)


@pytest.mark.parametrize("table", [[1, 2], [[-1]], [[0.5]]])
def test_invalid_tables_are_refused(table):
    with pytest.raises(ValueError, match="the table"):
        Contingency.of_table(table)


@settings(deadline=None)
@given(labellings)
def test_the_largest_overlap_is_that_of_the_dense_assignment(both):
    table = contingency(*both)
    dense = table.dense()
    rows, columns = linear_sum_assignment(dense, maximize=True)
    matched_rows, matched_columns = largest_overlap(table)
    assert dense[matched_rows, matched_columns].sum() == dense[rows, columns].sum()
    assert len(set(matched_rows.tolist())) == len(matched_rows)
    assert len(set(matched_columns.tolist())) == len(matched_columns)


@pytest.mark.slow
@settings(deadline=None)
@given(labellings)
def test_largest_cells_and_same_partition_follow_from_the_dense_table(both):
    table = contingency(*both)
    dense = table.dense()
    assert table.largest_of_left().tolist() == dense.max(axis=1).tolist()
    assert table.largest_of_right().tolist() == dense.max(axis=0).tolist()
    one_cell_each = ((dense > 0).sum(axis=0) == 1).all() and ((dense > 0).sum(axis=1) == 1).all()
    assert table.same_partition == one_cell_each
