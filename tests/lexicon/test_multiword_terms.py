"""Candidates for multi-word terms: which sequences they are, and how they are counted."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.lexicon import multiword_terms
from segapsith.lexicon.multiword_terms import (
    Candidates,
    TermCounts,
    candidates,
    given_terms,
    lexicon_terms,
    parts_of,
    sequences,
)
from segapsith.model import Annotation, Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

ANNOTATORS = {lang: SimplemmaWords(lang=lang) for lang in ("en", "fr")}


def annotated(text: str, lang: str, lexicon: Lexicon | None = None) -> Annotation:
    document = Document(body=text, lang=lang)
    return next(iter(ANNOTATORS[lang].annotate([document], lexicon or Lexicon())))


# -- candidates ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "text", "wanted"),
    [
        ("en", "The prime minister spoke.", [("prime", "minister")]),
        ("en", "Interest rates. Banks lend.", [("bank", "lend"), ("interest", "rate")]),
        ("en", "Oil, gas and coal", []),
        ("en", "the balance of payments", [("balance", "of", "payment")]),
        (
            "en",
            "gross national product",
            [("gross", "national"), ("gross", "national", "product"), ("national", "product")],
        ),
        ("fr", "le juge d'instruction", [("juge", "d'", "instruction")]),
        ("fr", "le juge d’instruction", [("juge", "d'", "instruction")]),
        ("fr", "une garde à vue", [("garde", "à", "vue")]),
        ("fr", "la mise en examen", [("mise", "en", "examen")]),
        ("fr", "le chef de l'État", [("chef", "de", "l'", "état")]),
        ("fr", "des gilets jaunes", [("gilet", "jaune")]),
        ("fr", "placé en garde à vue", [("garde", "à", "vue")]),  # a verb opens no term
        ("en", "BANK CUTS PRIME RATE", []),  # headlines leave out what parts their words
        ("en", "", []),
        ("en", "rate", []),
    ],
)
def test_candidates_are_words_that_stand_together(
    lang: str, text: str, wanted: list[tuple[str, ...]]
) -> None:
    assert candidates(annotated(text, lang)) == wanted


def test_a_title_and_its_body_join_nothing() -> None:
    document = Document(title="Central", body="Bank lends", lang="en")
    annotation = next(iter(ANNOTATORS["en"].annotate([document], Lexicon())))
    assert candidates(annotation) == [("bank", "lend")]


def test_a_term_that_was_found_joins_nothing_more() -> None:
    lexicon = Lexicon(1, {"en": frozenset({("prime", "minister")})})
    annotation = annotated("the British prime minister resigned", "en", lexicon)
    assert "prime minister" in annotation.lemmas
    assert candidates(annotation) == []


words = st.lists(st.integers(0, 6), max_size=30)
codes = st.sampled_from([0, 1, 1, 1, 2, 3, 129, 130])


@given(words, st.data())
def test_candidates_are_counted_like_a_slow_reader_counts(
    numbers: list[int], data: st.DataObject
) -> None:
    marks = data.draw(st.lists(codes, min_size=len(numbers), max_size=len(numbers)))
    found = Candidates.of((np.array(numbers, np.int32), np.array(marks, np.uint8)))
    slow: Counter[tuple[object, ...]] = Counter()
    names: Counter[tuple[object, ...]] = Counter()
    for i in range(len(numbers) - 1):
        code, one, two = marks[i] % 128, numbers[i], numbers[i + 1]
        if code and one != two:
            slow[one, code, two] += 1
            names[one, code, two] += marks[i] >= 128
            if code == 1 and i + 2 < len(numbers) and marks[i + 1] % 128 == 1:
                three = numbers[i + 2]
                if two != three:
                    slow[one, two, three, "three"] += 1
                    names[one, two, three, "three"] += min(marks[i], marks[i + 1]) >= 128
    first, second, third, triple = (a.tolist() for a in parts_of(found.keys))
    read = [
        (one, two, three, "three") if long else (one, three, two)
        for one, two, three, long in zip(first, second, third, triple, strict=True)
    ]
    assert dict(zip(read, found.counts.tolist(), strict=True)) == dict(slow)
    assert dict(zip(read, found.named.tolist(), strict=True)) == dict(names)
    assert (np.diff(found.keys) > 0).all()


def test_words_with_large_numbers_keep_them() -> None:
    numbers = np.array([(1 << 28) - 1, (1 << 21) - 1, 0], np.int32)
    found = Candidates.of((numbers, np.array([1, 1, 0], np.uint8)))
    names = {int(n): f"w{n}" for n in numbers}
    assert sequences(found.keys, "en", names) == [
        (f"w{(1 << 21) - 1}", "w0"),
        (f"w{(1 << 28) - 1}", f"w{(1 << 21) - 1}"),
    ]
    short = Candidates.of(
        (np.array([(1 << 21) - 1, 0, 5], np.int32), np.array([1, 1, 0], np.uint8))
    )
    names = {0: "a", 5: "b", (1 << 21) - 1: "c"}
    assert ("c", "a", "b") in sequences(short.keys, "en", names)


# -- counts ----------------------------------------------------------------------------------

texts = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 3)), max_size=8
)


def contribution(text: tuple[list[int], int]) -> Candidates:
    numbers, code = text
    marks = [(code + i) % 4 for i in range(len(numbers))]
    return Candidates.of((np.array(numbers, np.int32), np.array(marks, np.uint8)))


@given(texts)
def test_texts_counted_together_are_those_counted_one_by_one(given: list[tuple[list[int], int]]):
    together, apart = TermCounts(), TermCounts()
    columns = []
    for numbers, code in given:
        marks = [(code + i) % 4 for i in range(len(numbers))]
        columns.append((np.array(numbers, np.int32), np.array(marks, np.uint8)))
        apart.add(contribution((numbers, code)))
    together.add(Candidates.of(*columns))
    assert equal(together, apart)


def equal(left: TermCounts, right: TermCounts) -> bool:
    one, two = left.arrays(), right.arrays()
    return one.keys() == two.keys() and all(np.array_equal(one[k], two[k]) for k in one)


@pytest.mark.slow
@given(texts, st.randoms(use_true_random=False), st.integers(0, 8))
def test_the_order_and_the_batches_do_not_matter(
    wire: list[tuple[list[int], int]], chance: object, cut: int
) -> None:
    whole, other = TermCounts(), TermCounts()
    for text in wire:
        whole.add(contribution(text))
    mixed = list(wire)
    chance.shuffle(mixed)  # type: ignore[attr-defined]  # Hypothesis's own randomness
    for n, text in enumerate(mixed):
        if n == cut:
            other = TermCounts.restore(other.arrays())
        other.add(contribution(text))
    assert equal(whole, other)


@pytest.mark.slow
@given(texts, texts)
def test_removing_is_exact(
    remaining: list[tuple[list[int], int]], removed: list[tuple[list[int], int]]
) -> None:
    one, two = TermCounts(), TermCounts()
    for text in remaining:
        one.add(contribution(text))
    for text in itertools.chain(removed, remaining):
        two.add(contribution(text))
    for text in removed:
        two.remove(contribution(text))
    assert equal(one, two)


@pytest.mark.slow
@given(texts)
def test_counts_are_what_a_counter_counts(wire: list[tuple[list[int], int]]) -> None:
    counts = TermCounts()
    occurrences: Counter[int] = Counter()
    documents: Counter[int] = Counter()
    for text in wire:
        found = contribution(text)
        counts.add(found)
        occurrences.update(dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True)))
        documents.update(found.keys.tolist())
    arrays = counts.arrays()
    assert dict(zip(arrays["keys"].tolist(), arrays["occurrences"].tolist(), strict=True)) == dict(occurrences)  # fmt: skip
    assert dict(zip(arrays["keys"].tolist(), arrays["documents"].tolist(), strict=True)) == dict(documents)  # fmt: skip
    assert all(array.dtype == np.int64 for array in arrays.values())


def test_merging_in_the_middle_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = [([n % 5, n % 3, n % 7, 4], n % 3) for n in range(60)]
    late, early = TermCounts(), TermCounts()
    for text in wire:
        late.add(contribution(text))
    monkeypatch.setattr(multiword_terms, "_MIN_PENDING", 3)
    for text in wire:
        early.add(contribution(text))
    assert equal(late, early)


# -- what the annotator understands -----------------------------------------------------------


def test_a_users_list_is_taken_as_it_is() -> None:
    given = given_terms(
        [
            annotated("pouvoir d'achat", "fr"),
            annotated("interest rates", "en"),
            annotated("tax", "en"),
        ]
    )
    assert given == {"fr": {("pouvoir", "d'", "achat")}, "en": {("interest", "rate")}}
    lexicon = Lexicon(0, lexicon_terms({}, given))
    assert "pouvoir d'achat" in annotated("le pouvoir d'achat baisse", "fr", lexicon).lemmas


@pytest.mark.parametrize(
    ("text", "lemma"),
    [
        ("Le ministre de la Santé parle.", "ministre de la santé"),
        ("MINISTRES DE LA SANTÉ", "ministre de la santé"),
        ("Deux mises en examen hier.", "mise en examen"),
        ("Les chefs d'État arrivent.", "chef d'état"),
        ("Le chef de l’État arrive.", "chef de l'état"),
        ("Le garde des Sceaux parle.", "garde des sceaux"),
        ("La course à la présidence.", "course à la présidence"),
        ("Les droits des femmes avancent.", "droit des femmes"),
    ],
)
def test_a_french_term_reads_as_it_is_written(text: str, lemma: str) -> None:
    known = Lexicon(terms=given_terms([annotated(lemma, "fr")]))
    assert lemma in annotated(text, "fr", known).lemmas
