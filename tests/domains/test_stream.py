"""Rows in a stream are placed as the index places units."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from scipy.sparse import csr_array

from segapsith.domains.index import DomainIndex
from segapsith.domains.stream import RowStream
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE

ROWS = csr_array(np.random.default_rng(0).poisson(0.7, (60, 12)).astype(float))


def unit(row: np.ndarray) -> Bag:
    words = np.flatnonzero(row)
    weights = np.rint(row[words] / row.max() * SCALE).astype(np.int32)
    return Bag(words.astype(np.int32), np.ones(len(words), np.int32), weights)


def test_rows_are_placed_one_after_the_other_as_units() -> None:
    stream, index = RowStream(), DomainIndex(PlacementSettings())
    expected = []
    for story, row in enumerate(ROWS.toarray(), 1):
        if not row.any():
            expected.append(-1)
            continue
        found = index.place(unit(row), story=story).domain
        domain = index.create() if found is None else found
        index.add_unit(domain, unit(row))
        index.note_story(domain, story)
        expected.append(domain - 1)
    assert stream.place(ROWS).tolist() == expected
    assert stream.n_domains == max(expected) + 1
    assert stream.sizes().sum() == sum(label >= 0 for label in expected)


def test_finding_learns_nothing() -> None:
    stream = RowStream()
    stream.place(ROWS[:40])
    before = stream.sizes()
    assert stream.find(ROWS).tolist() == stream.find(ROWS).tolist()
    assert stream.sizes().tolist() == before.tolist()


def test_a_copy_and_a_pickled_stream_go_on_alike() -> None:
    stream = RowStream()
    stream.place(ROWS[:30])
    copies = [copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    expected = stream.place(ROWS[30:]).tolist()
    assert [other.place(ROWS[30:]).tolist() for other in copies] == [expected, expected]


def test_columns_of_any_order_are_read() -> None:
    mixed = csr_array(([1.0, 2.0], [3, 1], [0, 2]), shape=(1, 4))
    stream = RowStream()
    stream.place(mixed)
    assert [word for word, _ in stream.heaviest(0, 2)] == [1, 3]
