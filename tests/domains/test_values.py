"""The words of a unit: observed and inferred ones, and their occurrences."""

from __future__ import annotations

import numpy as np

from segapsith.domains.index import unit_occurrences
from segapsith.domains.values import Bag


def _bag(counts: list[int]) -> Bag:
    words = np.arange(len(counts), dtype=np.int32)
    return Bag(words, np.array(counts, dtype=np.int32), words + 1)


def test_observed_words_are_those_with_a_count() -> None:
    bag = _bag([2, 0, 1])
    assert [part.tolist() for part in bag.observed] == [[0, 2], [2, 1], [1, 3]]


def test_a_bag_without_inferred_words_is_its_own_observed_part() -> None:
    bag = _bag([2, 1])
    assert bag.observed is bag


def test_occurrences_are_tokens_or_units_and_a_constant_for_inferred_words() -> None:
    bag = _bag([3, 0, 1])
    assert unit_occurrences(bag, True, 2).tolist() == [3, 2, 1]
    assert unit_occurrences(bag, False, 2).tolist() == [1, 2, 1]
