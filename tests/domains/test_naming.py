"""Names that people can read: headlines, terms, words by contrast, and no two alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.domains import naming

WORDS = {"storm": 0.6, "coast": 0.4, "north sea": 0.3, "flood": 0.2, "wind": 0.1}


@pytest.mark.parametrize(
    ("headline", "clean"),
    [
        ("URGENT - Storm reaches the coast", "Storm reaches the coast"),
        ("RPT-UPDATE 3-Storm reaches the coast", "Storm reaches the coast"),
        ("CORRECTED: Storm reaches the coast", "Storm reaches the coast"),
        ("EN DIRECT. La tempête atteint la côte", "La tempête atteint la côte"),
        ("ALERTE - La tempête atteint la côte", "La tempête atteint la côte"),
        ("Storm reaches the coast | The Daily Wire", "Storm reaches the coast"),
        ("US-China trade talks resume in Geneva", "US-China trade talks resume in Geneva"),
        ("Live music returns to the coast", "Live music returns to the coast"),
    ],
)
def test_agency_prefixes_are_removed_and_nothing_else(headline: str, clean: str) -> None:
    assert naming.clean_headline(headline) == clean


@pytest.mark.parametrize(
    "headline",
    [
        "",
        "Storm",
        "Storm hits coast",  # three words
        "STORM REACHES THE NORTHERN COAST",
        "Storm reaches the coast and the police say that …",
        "Storm live updates: wind reaches the coast",
        "Business news in brief for Tuesday",
        "La revue de presse du lundi matin",
        " ".join(["word"] * 13),
    ],
)
def test_what_cannot_be_a_label_is_refused(headline: str) -> None:
    assert naming.clean_headline(headline) == ""


def test_two_characters_count_as_a_word_where_words_have_no_blanks() -> None:
    assert naming.clean_headline("台风登陆南部海岸造成多人受伤") == "台风登陆南部海岸造成多人受伤"
    words = {"台风": 0.6, "海岸": 0.3, "经济": 0.1}
    headlines = ["央行宣布下调存款准备金率", "台风登陆南部海岸造成多人受伤"]
    assert naming.best_headline(headlines, words) == headlines[1]


def test_the_headline_with_the_heaviest_words_wins() -> None:
    headlines = [
        "Council debates a new budget",
        "Storm floods the coast",
        "Winds grow stronger today",
    ]
    assert naming.best_headline(headlines, WORDS) == "Storm floods the coast"


def test_the_oldest_of_nearly_equal_headlines_wins_so_a_label_stays() -> None:
    first, second = "Storm reaches eastern coast", "Storm reaches western coast"
    assert naming.best_headline([first, second], WORDS) == first
    assert naming.best_headline([second, first], WORDS) == second


def test_a_headline_without_the_words_is_no_label() -> None:
    assert naming.best_headline(["Council debates a new budget"], WORDS) == ""
    assert naming.best_headline([], WORDS) == ""
    assert naming.best_headline(["Council debates a new budget"], {}) == ""


WORD = st.text("abcdeé -'1ß東京", min_size=1, max_size=9).filter(str.strip)


@given(st.text("abcdeé -'.1ßA東京", max_size=40), WORD)
def test_a_text_contains_a_word_if_its_words_begin_with_the_stems(text: str, word: str) -> None:
    folded = text.casefold()
    tokens = re.findall(r"[^\W\d_]+", folded)
    parts = word.casefold().split() if " " in word else [word.casefold()]
    expected = all(
        part in folded
        if set("東京") & set(text) and set("東京") & set(part)
        else any(token.startswith(naming._stem(part)) for token in tokens)
        for part in parts
    )

    assert naming._text(text).contains(word) == expected


def test_the_first_sentence_is_cut_after_twelve_words() -> None:
    sentence = naming.first_sentence(" ".join(f"word{n}" for n in range(20)) + ". Another one.")
    assert sentence == " ".join(f"word{n}" for n in range(12)) + " …"
    assert naming.first_sentence("Too short. A storm has reached the coast.") == (
        "A storm has reached the coast"
    )
    assert naming.first_sentence("") == ""


def test_a_term_comes_before_its_parts_if_it_is_nearly_as_heavy() -> None:
    assert naming.term_label({"prime": 0.4, "minister": 0.4, "prime minister": 0.3}) == (
        "prime minister"
    )
    light = {"minister": 0.9, "prime minister": 0.1, "vote": 0.2}
    assert naming.term_label(light) == "minister, vote"


def test_forms_of_the_same_word_appear_once() -> None:
    assert naming.term_label({"retraite": 0.5, "retraites": 0.4, "grève": 0.3}) == "retraite, grève"


def test_words_that_all_siblings_have_are_not_in_a_contrast() -> None:
    own = {"goal": 5.0, "match": 4.0, "year": 6.0}
    siblings = {"goal": 5.0, "match": 4.0, "year": 60.0, "bank": 40.0}
    assert list(naming.contrasted(own, siblings)) == ["goal", "match"]
    assert naming.contrasted({}, siblings) == {}
    assert list(naming.contrasted({"year": 1.0}, {"year": 1.0})) == ["year"]  # nothing else


def test_words_are_written_as_the_texts_write_them() -> None:
    texts = [
        "The striker left Chelsea. Clubs say that the premier League pays.",
        "He left chelsea?",
    ]
    forms = naming.readable_words(["chelsea", "striker", "club", "premier league"], texts)
    assert forms["striker"] == "striker"
    assert forms["club"] == "club"  # its only form begins a sentence
    assert forms["premier league"] == "premier League"
    assert forms["chelsea"] in ("Chelsea", "chelsea")
    assert naming.readable_words(["arsenal"], ["The manager is Arsene Wenger"]) == {
        "arsenal": "arsenal"
    }


def test_a_label_of_terms_stays_while_it_is_nearly_as_strong() -> None:
    words = {"coast": 0.5, "storm": 0.48, "rain": 0.2}
    assert naming.settled("storm, coast", "coast, storm", words) == "storm, coast"
    assert naming.settled("storm, rain", "coast, storm", words) == "coast, storm"
    assert naming.settled("gone, coast", "coast, storm", words) == "coast, storm"
    assert naming.settled("", "coast, storm", words) == "coast, storm"


labels = st.dictionaries(
    st.integers(1, 40), st.sampled_from(["Storm hits coast", "storm hits coast", "", "a" * 150])
)


@given(labels, st.lists(st.sampled_from(["storm", "Wales", "rain"]), max_size=3))
def test_no_two_labels_are_equal_and_none_is_empty(given: dict[int, str], words: list[str]) -> None:
    taken = ["Storm hits coast (Wales)"]
    result = naming.distinct_labels(given, dict.fromkeys(given, words), taken)
    folded = [label.casefold() for label in [*result.values(), *taken]]
    assert result.keys() == given.keys()
    assert len(set(folded)) == len(folded)
    assert all(result.values())


@given(st.text(max_size=300))
def test_any_text_gives_a_label_on_one_line_or_none(text: str) -> None:
    for label in (naming.clean_headline(text), naming.first_sentence(text), naming.tidy(text)):
        assert label == "" or label.isprintable()
        assert len(label) <= naming.MAX_CHARS + 2


@given(st.lists(st.text(max_size=80), max_size=6))
def test_any_headlines_give_one_of_them_cleaned_or_nothing(headlines: list[str]) -> None:
    label = naming.best_headline(headlines, WORDS)
    assert label == "" or label in [naming.clean_headline(headline) for headline in headlines]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "The Bank of England said it\nhad offered early help to\n    London houses.\nthe rate\n9.",
            "The Bank of England said it had offered early help to London …",
        ),
        ("Strike at the airport of Lyon\nThe unions ask for\nmore pay.\nNo end is near.",
         "Strike at the airport of Lyon"),
        ("Rain falls in the whole\n\nnorth of Wales today.", "Rain falls in the whole"),
    ],
)  # fmt: skip
def test_a_sentence_goes_on_over_wrapped_lines_but_not_over_a_heading(
    text: str, sentence: str
) -> None:
    assert naming.first_sentence(text) == sentence


def test_small_words_are_no_labels_unless_there_are_no_others() -> None:
    assert naming.term_label({"ch": 0.9, "nm": 0.8, "EU": 0.5, "engine": 0.4}) == "EU, engine"
    assert naming.term_label({"ch": 0.9, "nm": 0.8}) == "ch, nm"
