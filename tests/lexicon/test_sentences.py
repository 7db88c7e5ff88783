"""Sentences that represent texts."""

from __future__ import annotations

from segapsith.lexicon.sentences import Passage, best_sentence, shortened, typical_sentences

STORM = "It rained all day long. A storm reached the northern coast. Nobody was hurt there."


def test_one_sentence_is_taken_from_a_document() -> None:
    passages = [Passage(1, "a", STORM), Passage(2, "a", STORM), Passage(3, "b", STORM)]
    typical = typical_sentences(passages, {"storm": 1.0}, most=5)
    assert [(p.unit, p.document) for p in typical] == [(1, "a"), (3, "b")]
    assert {p.text for p in typical} == {"A storm reached the northern coast."}


def test_inflected_forms_count() -> None:
    (typical,) = typical_sentences(
        [Passage(1, "a", STORM.replace("A storm", "Three storms"))], {"storm": 1.0}, most=1
    )
    assert typical.text.startswith("Three storms")


def test_sentences_that_are_too_short_or_share_no_word_are_left_out() -> None:
    assert typical_sentences([Passage(1, "a", "A storm. " + "It is late now, they said.")],
                             {"storm": 1.0}, most=3) == []  # fmt: skip


def test_the_first_of_equally_good_sentences_is_chosen() -> None:
    assert best_sentence(STORM, ["nothing"], max_chars=80) == "It rained all day long."
    assert best_sentence(" \n ", ["storm"], max_chars=80) is None


def test_a_shortened_text_has_no_more_characters_than_asked_for() -> None:
    for most in range(2, len(STORM) + 2):
        assert len(shortened(STORM, most)) <= max(most, 2)
    assert shortened("a  b\nc", 10) == "a b c"
