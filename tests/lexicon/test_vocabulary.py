"""Words: their numbers, their counts and their weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from segapsith.lexicon.vocabulary import (
    SCALE,
    Frequencies,
    Vocabulary,
    all_unit_weights,
    rarity,
    significance,
    sorted_units,
    tf_idf,
    unit_weights,
)


def test_a_word_keeps_its_number() -> None:
    vocabulary = Vocabulary()
    first = vocabulary.numbers("en", ["rain", "storm", "rain"])
    assert vocabulary.numbers("en", ["storm", "hail", "rain"]) == [first[1], 2, first[0]]
    assert vocabulary.numbers("en", []) == []


def test_equal_words_of_two_languages_have_two_numbers() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.numbers("en", ["train"]) + vocabulary.numbers("fr", ["train"]) == [0, 1]
    assert [vocabulary.lang(number) for number in (0, 1)] == ["en", "fr"]
    assert vocabulary.known_langs == ["en", "fr"]


def test_restored_words_keep_their_numbers_and_gaps_stay_empty() -> None:
    vocabulary = Vocabulary()
    vocabulary.restore([(1, "en", "rain"), (4, "fr", "pluie")])
    assert vocabulary.find("en", "rain") == 1
    assert vocabulary.find("fr", "rain") is None
    assert vocabulary.numbers("en", ["hail", "rain"]) == [5, 1]
    assert vocabulary.since(4) == [(4, "fr", "pluie"), (5, "en", "hail")]


def test_rows_follow_later_words() -> None:
    vocabulary = Vocabulary()
    rows = vocabulary.rows("en")
    vocabulary.numbers("en", ["rain"])
    assert rows == {"rain": 0}


UNITS = st.lists(
    st.lists(st.tuples(st.integers(1, 99), st.floats(0, 9)), min_size=1, max_size=6), min_size=1
)


def test_rarity_is_that_of_the_formula() -> None:
    assert rarity(8, np.array([0, 4])).tolist() == pytest.approx([math.log(10), math.log(2)])
    assert len(set(rarity(0, np.array([0, 3, 9])))) == 1  # before the first document


def test_significance_is_that_of_the_formula_within_0_and_1() -> None:
    values = significance(100, np.array([0, 1, 10, 100, 1000]))
    assert values.tolist() == pytest.approx([1, 1, 0.5, 0, 0])
    assert significance(1, np.array([1])).tolist() == [1]


def test_the_heaviest_word_weighs_1_and_no_word_weighs_nothing() -> None:
    weights = unit_weights(np.array([1, 3], np.int32), np.array([1e-9, 1.0]))
    assert weights.tolist() == [1, SCALE]
    assert unit_weights(np.array([2], np.int32), np.zeros(1)).tolist() == [SCALE]
    assert unit_weights(np.zeros(0, np.int32), np.zeros(0)).tolist() == []


@given(UNITS)
def test_units_are_weighed_together_as_one_by_one(units: list[list[tuple[int, float]]]) -> None:
    arrays = [
        (np.array([c for c, _ in unit], np.int32), np.array([i for _, i in unit])) for unit in units
    ]
    together = all_unit_weights(
        np.concatenate([counts for counts, _ in arrays]),
        np.concatenate([importance for _, importance in arrays]),
        np.cumsum([len(unit) for unit in units]),
    )
    single = [weight for pair in arrays for weight in unit_weights(*pair).tolist()]
    assert together.tolist() == single


def test_subtracting_a_document_is_exact() -> None:
    words, counts = np.array([0, 2], np.int32), np.array([3, 1], np.int32)
    frequencies = Frequencies()
    frequencies.grow(3)
    frequencies.add("en", words, counts)
    frequencies.add_all("en", 2, np.tile(words, 2), np.tile(counts, 2))
    assert frequencies.documents[:3].tolist() == [3, 0, 3]
    assert frequencies.totals == {"en": (3, 12)}
    frequencies.add_all("en", 2, np.tile(words, 2), np.tile(counts, 2), sign=-1)
    frequencies.add("en", words, counts, sign=-1)
    assert not frequencies.documents.any() and not frequencies.occurrences.any()
    assert frequencies.totals == {"en": (0, 0)}


def test_a_row_without_common_words_is_empty() -> None:
    rows = tf_idf(csr_array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 4.0]])).toarray()
    assert rows[0].tolist() == [0, 0, 0]
    assert rows[1].tolist() == rows[2].tolist() == [0, 1, 0]


@given(st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=6), max_size=6))
def test_words_of_units_are_sorted_and_equal_ones_added_up(
    units: list[list[tuple[int, int]]],
) -> None:
    pairs = [pair for unit in units for pair in unit]
    columns = np.array(pairs, np.int32).reshape(-1, 2)
    ends = np.cumsum([len(unit) for unit in units], dtype=np.int64)
    words, counts, new_ends = sorted_units.python(columns[:, 0], columns[:, 1], ends, 7)
    first = 0
    for unit, end in zip(units, new_ends.tolist(), strict=True):
        wanted: dict[int, int] = {}
        for word, n in unit:
            wanted[word] = wanted.get(word, 0) + n
        found = zip(words[first:end].tolist(), counts[first:end].tolist(), strict=True)
        assert list(found) == sorted(wanted.items())
        first = end
    assert first == len(words)
