"""Numbers of words."""

from __future__ import annotations

from segapsith.lexicon.vocabulary import Vocabulary


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
