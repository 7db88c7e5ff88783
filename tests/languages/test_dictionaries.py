"""Compact dictionaries give what simplemma's own readers give."""

from __future__ import annotations

import random

import pytest
from simplemma.strategies.dictionaries import dictionary_factory
from simplemma.strategies.dictionaries.stream_dictionary_factory import StreamMap

from segapsith.languages.dictionaries import (
    CompactDictionaries,
    CompactDictionary,
    forms_in,
)

LANGS = ("de", "es", "he", "hi", "tr")


@pytest.mark.parametrize("lang", LANGS)
def test_every_form_has_the_lemma_that_simplemma_gives(lang: str) -> None:
    ours, theirs = CompactDictionaries.get_dictionary(lang), StreamMap(lang)
    forms = list(theirs)
    some = random.Random(0).sample(forms, 3000)
    for form in [*some, *forms[:40], *forms[-40:]]:
        assert ours.get(form) == theirs.get(form), form
    assert len(ours) == len(theirs)


@pytest.mark.parametrize("form", ["", "\0", "zzzzq", "\ud800", "Ω" * 3000, "\U0010ffff"])
def test_forms_that_no_dictionary_has_are_missing(form: str) -> None:
    dictionary = CompactDictionaries.get_dictionary("de")
    assert dictionary.get(form) is None
    assert dictionary.get(form, "none") == "none"
    assert form not in dictionary
    with pytest.raises(KeyError):
        dictionary[form]


@pytest.mark.parametrize("lang", LANGS)
def test_prepared_forms_have_the_lemmas_of_single_questions(lang: str) -> None:
    dictionary = CompactDictionaries.get_dictionary(lang)
    forms = random.Random(1).sample(list(dictionary), 300)
    asked = ["", *forms, *(f"{form}zzq" for form in forms), "\ud800", "Ω" * 3000, "\n", "\0"]
    single = {form: dictionary.get(form) for form in asked}
    dictionary.prepare(asked)
    assert {form: dictionary.get(form) for form in asked} == single
    dictionary.prepare([])
    assert {form: dictionary.get(form) for form in asked} == single


@pytest.mark.parametrize("lang", LANGS)
def test_no_lemma_has_a_line_feed(lang: str) -> None:
    assert not any("\n" in lemma for lemma in StreamMap(lang).values())


def test_a_lemma_knows_its_forms() -> None:
    dictionary = CompactDictionaries.get_dictionary("es")
    forms = dictionary.forms_of("banco")
    assert "bancos" in forms
    assert all(dictionary[form] == "banco" for form in forms)
    assert len(dictionary.forms_of("banco", 1)) == 1
    assert dictionary.forms_of("qqqq") == []


def test_a_dictionary_is_loaded_once() -> None:
    first = CompactDictionaries.get_dictionary("he")
    assert CompactDictionaries.get_dictionary("he") is first


def test_a_shortened_dictionary_is_refused() -> None:
    records = dictionary_factory._read_decompressed("fa")
    with pytest.raises(ValueError, match="records"):
        CompactDictionary.indexed(records[: _end_of_record(records, 100)])


def _end_of_record(records: bytes, number: int) -> int:
    """Return where a record begins: what is before it are whole records."""
    from simplemma.strategies.dictionaries import frontcode

    _, _, begin = frontcode._read_header(records)
    for i, (start, _, _) in enumerate(frontcode._iter_records(records, begin)):
        if i == number:
            return start
    raise AssertionError


def test_forms_of_a_word_come_from_the_languages_asked_for() -> None:
    assert "bancos" in forms_in(["es"], "banco")
    assert "häuser" in forms_in(["de"], "Haus")
    assert "banco" not in forms_in(["es"], "Banco")  # the word itself
    assert forms_in(["zh", "xx"], "banco") == []
    assert forms_in(["de"], "die") == []  # a stop word
    assert forms_in([], "banco") == []
