"""Multi-word terms: counts that add up and come off exactly, and what they teach."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.engine import clock
from segapsith.lexicon import multiword_terms
from segapsith.lexicon.multiword_terms import (
    Candidates,
    Rules,
    Term,
    TermCounts,
    accept,
    candidates,
    given_terms,
    lexicon_terms,
    links,
    sequences,
)
from segapsith.lexicon.vocabulary import Vocabulary
from segapsith.model import Annotation, Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

ANNOTATORS = {lang: SimplemmaWords(lang=lang) for lang in ("en", "fr")}


def annotated(text: str, lang: str, lexicon: Lexicon | None = None) -> Annotation:
    document = Document(body=text, lang=lang)
    return next(iter(ANNOTATORS[lang].annotate([document], lexicon or Lexicon())))


class Stream:
    """A small engine: numbers words, counts them and their candidates."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self.vocabulary = Vocabulary()
        self.frequencies = np.zeros(1 << 17, np.int64)
        self.total = 0
        self.counts = TermCounts()

    def learn(self, annotation: Annotation, sign: int = 1) -> None:
        places = np.flatnonzero(annotation.content).tolist()
        lemmas = [annotation.lemmas[place] for place in places]
        words = np.array(self.vocabulary.numbers(self.lang, lemmas), np.int32)
        np.add.at(self.frequencies, words, sign)
        self.total += sign * len(words)
        self.counts.add(Candidates.of(words, links(annotation, places)), sign)

    def accept(
        self, already: frozenset[tuple[str, ...]] = frozenset(), **rules: float
    ) -> list[Term]:
        words = [word for _, _, word in self.vocabulary.since(0)]
        return accept(
            self.counts,
            self.lang,
            self.frequencies,
            self.total,
            words,
            already,
            Rules(**rules),  # type: ignore[arg-type]  # whole numbers and fractions by name
        )


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
    found = Candidates.of(np.array(numbers, np.int32), np.array(marks, np.uint8))
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
    first, second, third, triple = (a.tolist() for a in multiword_terms._words_of(found.keys))
    read = [
        (one, two, three, "three") if long else (one, three, two)
        for one, two, three, long in zip(first, second, third, triple, strict=True)
    ]
    assert dict(zip(read, found.counts.tolist(), strict=True)) == dict(slow)
    assert dict(zip(read, found.named.tolist(), strict=True)) == dict(names)
    assert (np.diff(found.keys) > 0).all()


def test_words_with_large_numbers_keep_them() -> None:
    numbers = np.array([(1 << 28) - 1, (1 << 21) - 1, 0], np.int32)
    found = Candidates.of(numbers, np.array([1, 1, 0], np.uint8))
    names = {int(n): f"w{n}" for n in numbers}
    assert sequences(found.keys, "en", names) == [
        (f"w{(1 << 21) - 1}", "w0"),
        (f"w{(1 << 28) - 1}", f"w{(1 << 21) - 1}"),
    ]
    short = Candidates.of(np.array([(1 << 21) - 1, 0, 5], np.int32), np.array([1, 1, 0], np.uint8))
    names = {0: "a", 5: "b", (1 << 21) - 1: "c"}
    assert ("c", "a", "b") in sequences(short.keys, "en", names)


# -- counts ----------------------------------------------------------------------------------

texts = st.lists(
    st.tuples(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(0, 3)), max_size=8
)


def contribution(text: tuple[list[int], int]) -> Candidates:
    numbers, code = text
    marks = [(code + i) % 4 for i in range(len(numbers))]
    return Candidates.of(np.array(numbers, np.int32), np.array(marks, np.uint8))


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
def test_what_is_taken_back_leaves_nothing_behind(
    kept: list[tuple[list[int], int]], gone: list[tuple[list[int], int]]
) -> None:
    one, two = TermCounts(), TermCounts()
    for text in kept:
        one.add(contribution(text))
    for text in itertools.chain(gone, kept):
        two.add(contribution(text))
    for text in gone:
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
    monkeypatch.setattr(multiword_terms, "_PENDING", 3)
    for text in wire:
        early.add(contribution(text))
    assert equal(late, early)


# -- acceptance ------------------------------------------------------------------------------

EN = [
    "The central bank raised interest rates after the prime minister spoke on {}.",
    "Analysts saw higher interest rates in {} while the prime minister travelled.",
    "Exporters of {} asked the central bank for help; the prime minister refused.",
]
THINGS = [
    "wheat",
    "copper",
    "steel",
    "coffee",
    "cotton",
    "sugar",
    "timber",
    "rubber",
    "cocoa",
    "nickel",
    "barley",
    "zinc",
]


def small_stream() -> Stream:
    stream = Stream("en")
    for thing, text in itertools.product(THINGS, EN):
        stream.learn(annotated(text.format(thing), "en"))
    for thing in THINGS:  # words that meet by chance only
        stream.learn(
            annotated(f"Farmers sold {thing} abroad. Rates, banks, ministers, interest.", "en")
        )
    return stream


def test_nothing_is_learned_from_nothing() -> None:
    assert Stream("en").accept() == []
    assert accept(TermCounts(), "fr", np.zeros(0, np.int64), 0, []) == []


def test_words_that_keep_together_become_terms() -> None:
    found = {term.words for term in small_stream().accept(association=0.2, likelihood=10)}
    assert {("interest", "rate"), ("central", "bank"), ("prime", "minister")} <= found


def test_accepting_is_ranked_capped_and_steady() -> None:
    stream = small_stream()
    every = stream.accept(association=0.2, likelihood=10)
    assert stream.accept(association=0.2, likelihood=10, most=2) == every[:2]
    already = frozenset(term.words for term in every[:2])
    later = stream.accept(already, association=0.2, likelihood=10)
    assert later == every[2:]
    strength = [term.association * math.log(term.occurrences) for term in every]
    assert strength == sorted(strength, reverse=True)


def test_the_order_of_the_stories_does_not_matter_for_terms() -> None:
    one, two = Stream("en"), Stream("en")
    wire = [annotated(text.format(thing), "en") for thing, text in itertools.product(THINGS, EN)]
    vocabulary = sorted({lemma for a in wire for lemma in a.lemmas})
    for stream in (one, two):
        stream.vocabulary.numbers("en", vocabulary)
    for annotation in wire:
        one.learn(annotation)
    for annotation in reversed(wire):
        two.learn(annotation)
    assert one.accept(association=0.1, likelihood=1) == two.accept(association=0.1, likelihood=1)


def test_names_are_no_terms() -> None:
    stream = Stream("en")
    for thing in THINGS:
        stream.learn(annotated(f"Yesterday Margaret Thatcher praised {thing}.", "en"))
        stream.learn(annotated(f"Critics of Margaret Thatcher dislike {thing}.", "en"))
    found = {term.words for term in stream.accept(association=0.0, likelihood=0)}
    assert ("margaret", "thatcher") not in found


def test_a_part_of_a_longer_term_is_none() -> None:
    stream = Stream("en")
    for thing in THINGS:
        stream.learn(annotated(f"Of the gross national product, {thing} is a part.", "en"))
        stream.learn(annotated(f"A national plan for {thing}; gross margins; a product.", "en"))
    found = {term.words for term in stream.accept(association=0.1, likelihood=5)}
    assert ("gross", "national", "product") in found
    assert ("gross", "national") not in found
    assert ("national", "product") not in found


def test_the_likelihood_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    both, one, two, total = 30, 50, 80, 1000
    table = [[both, one - both], [two - both, total - one - two + both]]
    wanted = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    args = (np.array([n], np.int64) for n in (both, one, two))
    assert multiword_terms._likelihood(*args, total)[0] == pytest.approx(wanted)


# -- what the annotator understands -----------------------------------------------------------


def test_accepted_terms_are_found_by_the_annotator() -> None:
    stream = Stream("fr")
    for thing in [
        "vol",
        "fraude",
        "meurtre",
        "trafic",
        "incendie",
        "évasion",
        "chantage",
        "enlèvement",
        "faux",
    ]:
        for text in (
            "Le juge d'instruction enquête sur un {}.",
            "Après une garde à vue pour {}, le juge d'instruction a libéré l'homme.",
            "La garde à vue pour {} continue.",
        ):
            stream.learn(annotated(text.format(thing), "fr"))
    accepted = [term.words for term in stream.accept(association=0.1, likelihood=5)]
    lexicon = Lexicon(1, lexicon_terms({"fr": accepted}))
    read = annotated("Un juge d’instruction prolonge la garde à vue.", "fr", lexicon)
    assert "juge d'instruction" in read.lemmas
    assert "garde à vue" in read.lemmas


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


# -- real wires -------------------------------------------------------------------------------

NAMED = {
    "en": [("prime", "minister"), ("interest", "rate"), ("central", "bank"), ("joint", "venture")],
    "fr": [("juge", "d'", "instruction"), ("garde", "à", "vue"), ("gilet", "jaune")],
}
CORPORA = {"en": "reuters21578", "fr": "orangesum-fr"}


@pytest.mark.parametrize("lang", CORPORA)
def test_real_wires_teach_their_terms_on_the_clock(data: Path, lang: str) -> None:
    path = data / CORPORA[lang] / "docs.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in itertools.islice(lines, 3072)]
    documents = [Document(i["id"], i["title"], i["text"], lang=lang) for i in items]
    stream, accepted, lexicon = Stream(lang), [], Lexicon()
    ordinal = 0
    while ordinal < len(documents):
        end = min(clock.next_tick(ordinal), len(documents))
        for annotation in ANNOTATORS[lang].annotate(documents[ordinal:end], lexicon):
            stream.learn(annotation)
        ordinal = end
        new = stream.accept(frozenset(accepted))
        assert not set(accepted) & {term.words for term in new}  # what is accepted stays
        accepted += [term.words for term in new]
        lexicon = Lexicon(ordinal, lexicon_terms({lang: accepted}))
    assert set(NAMED[lang]) <= set(accepted)
    assert 100 < len(accepted) < 2000
    assert accepted.index(NAMED[lang][1]) < 300


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


def test_de_la_and_des_are_learned_like_du() -> None:
    stream = Stream("fr")
    for number in range(30):
        noise = " ".join(f"mot{number}x{k}" for k in range(20))
        stream.learn(annotated(f"Un ministre de la santé, un garde des sceaux. {noise}", "fr"))
    assert {("ministre", "de", "le", "santé"), ("garde", "des", "sceau")} <= {
        term.words for term in stream.accept()
    }
