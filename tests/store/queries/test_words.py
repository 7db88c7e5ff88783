"""Texts and weights of words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith_store.queries import words
from segapsith_store.queries.words import Words, WordTexts, read_word_texts


def all_texts(sampled: Wire) -> dict[int, str]:
    return sampled.read(lambda store: dict(store.rows("SELECT id, word FROM words")))


def test_texts_in_one_piece_are_those_of_the_store(sampled: Wire) -> None:
    texts = all_texts(sampled)
    read = sampled.read(read_word_texts)
    assert {number: read[number] for number in texts} == texts
    assert len(read) == max(texts) + 1


def test_only_the_texts_of_new_words_are_read(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "ROWS", 2)
    with Wire(shutil.copy(sample_path, tmp_path / "own.db")) as wire:
        before = wire.read(read_word_texts)
        wire.learn([{"id": "new", "words": {"île": 2, "harbour-front": 1}}])
        after = wire.read(lambda store: read_word_texts(store, before))
        texts = all_texts(wire)
        assert "île" in texts.values() and len(after) > len(before)
        assert {number: after[number] for number in texts} == texts
        assert wire.read(lambda store: read_word_texts(store, after)) is after


def test_a_number_without_a_word_has_an_empty_text(sampled: Wire) -> None:
    texts = all_texts(sampled)
    earlier = WordTexts(b"", sampled.read(read_word_texts).starts[:1])
    read = sampled.read(lambda store: read_word_texts(store, earlier))
    assert [read[n] for n in range(len(read))] == [texts.get(n, "") for n in range(len(read))]


def test_words_weigh_the_same_however_their_texts_are_known(
    sampled: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = sampled.domains()[0].id
    texts = sampled.read(read_word_texts)
    expected = sampled.read(lambda store: Words(store).of_domain(number, 5))
    assert 0 < len(expected) <= 5
    assert sampled.read(lambda store: Words(store, texts).of_domain(number, 5)) == expected
    monkeypatch.setattr(words, "MOST_CHOSEN", 0)
    assert sampled.read(lambda store: Words(store).of_domain(number, 5)) == expected
