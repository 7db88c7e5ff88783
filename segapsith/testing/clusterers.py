"""What every clusterer promises."""

from __future__ import annotations

import inspect
from typing import cast

import numpy as np
from scipy.sparse import csr_array, vstack

from segapsith.arrays import Labels, Matrix, Rows
from segapsith.testing.examples import example_rows
from segapsith.testing.kit import (
    Check,
    Factory,
    Frozen,
    bounded,
    check_settings,
    of_kind,
    taken,
    with_empty,
)

__all__ = ["clusterer_checks"]


def _cosine(left: Rows, right: Rows) -> Matrix:
    a, b = left.toarray(), right.toarray()
    lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    product: Matrix = a @ b.T
    return np.divide(product, lengths, out=np.zeros_like(product), where=lengths > 0)


def _sound_labels(labels: object, rows: Rows) -> Labels:
    """The labels, if they are as promised."""
    n_rows = rows.shape[0]
    assert isinstance(labels, np.ndarray), (
        f"cluster returned {type(labels).__name__}; an array of {n_rows} integers is wanted"
    )
    assert labels.shape == (n_rows,), (
        f"cluster returned shape {labels.shape}; one label a row, ({n_rows},), is wanted"
    )
    assert np.issubdtype(labels.dtype, np.integer), (
        f"cluster returned {labels.dtype}; integers are wanted"
    )
    used = np.unique(labels[labels >= 0])
    assert np.array_equal(used, np.arange(len(used))), (
        f"cluster used the labels {used.tolist()}; 0, 1, … without gaps is wanted"
    )
    assert not n_rows or labels.min() >= -1, f"cluster used the label {labels.min()}; -1 is lowest"
    left_out = np.flatnonzero((labels == -1) & (np.diff(rows.indptr) > 0))
    assert not len(left_out), f"row {left_out[:1]} has words but the label -1; only empty rows may"
    return cast(Labels, labels)


@bounded
def check_it_is_a_clusterer(factory: Factory) -> None:
    """It has the method."""
    of_kind("clusterer", factory)


@bounded
def check_labels(factory: Factory) -> None:
    """One label a row, without gaps, and no more than k of them."""
    rows = example_rows()
    labels = _sound_labels(taken(factory, k=4).cluster(rows, _cosine), rows)
    if "k" in inspect.signature(factory).parameters:
        n_clusters = len(np.unique(labels))
        assert n_clusters <= 4, f"k=4 gave {n_clusters} clusters; at most 4 are wanted"


@bounded
def check_without_compare(factory: Factory) -> None:
    """`compare` may be None; a clusterer that needs one raises `ValueError`."""
    rows = example_rows()
    try:
        labels = taken(factory, k=4).cluster(rows, None)
    except ValueError as error:
        assert str(error), "cluster refused compare=None without a word; a reason is wanted"
        return
    _sound_labels(labels, rows)


@bounded
def check_clusters_of_empty_rows(factory: Factory) -> None:
    """Empty rows among others, and nothing but empty rows."""
    for rows in (with_empty(example_rows(9), 0, 4, 8), csr_array((3, 5)), csr_array((2, 0))):
        _sound_labels(taken(factory, k=3).cluster(rows, _cosine), rows)


@bounded
def check_clusters_of_no_rows(factory: Factory) -> None:
    """An empty matrix has no labels."""
    for rows in (csr_array((0, 5)), csr_array((0, 0))):
        _sound_labels(taken(factory, k=3).cluster(rows, _cosine), rows)


@bounded
def check_clusters_of_one_row(factory: Factory) -> None:
    """A single row is a cluster."""
    rows = example_rows(1)
    labels = _sound_labels(taken(factory, k=3).cluster(rows, _cosine), rows)
    assert labels.tolist() == [0], f"one row got {labels.tolist()}; [0] is wanted"


@bounded
def check_clusters_of_equal_rows(factory: Factory) -> None:
    """Equal rows get valid labels."""
    rows = csr_array(vstack([example_rows(1)] * 6))
    _sound_labels(taken(factory, k=3).cluster(rows, _cosine), rows)


@bounded
def check_more_clusters_than_rows(factory: Factory) -> None:
    """As many clusters as there are rows is the most."""
    rows = example_rows(3)
    _sound_labels(taken(factory, k=50).cluster(rows, _cosine), rows)


@bounded
def check_same_seed_same_labels(factory: Factory) -> None:
    """Two fresh ones with one seed agree, and so does one that is asked twice."""
    rows = example_rows()
    clusterer = taken(factory, k=4, seed=7)
    first, again = (np.array(clusterer.cluster(rows, _cosine)) for _ in range(2))
    fresh = taken(factory, k=4, seed=7).cluster(rows, _cosine)
    assert np.array_equal(first, again), "cluster gave other labels to the same question"
    assert np.array_equal(first, fresh), "two fresh clusterers with one seed gave other labels"


@bounded
def check_cluster_changes_no_input(factory: Factory) -> None:
    """The rows belong to the caller."""
    rows = example_rows()
    frozen = Frozen(rows)
    taken(factory, k=4).cluster(rows, _cosine)
    frozen.assert_same("cluster")


clusterer_checks: tuple[Check, ...] = (
    check_it_is_a_clusterer,
    check_settings,
    check_labels,
    check_without_compare,
    check_clusters_of_empty_rows,
    check_clusters_of_no_rows,
    check_clusters_of_one_row,
    check_clusters_of_equal_rows,
    check_more_clusters_than_rows,
    check_same_seed_same_labels,
    check_cluster_changes_no_input,
)
