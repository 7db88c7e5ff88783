"""Which candidates become terms."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from segapsith.engine import clock
from segapsith.lexicon.multiword_terms import (
    Candidates,
    TermCounts,
    lexicon_terms,
    links,
)
from segapsith.lexicon.term_acceptance import Rules, Term, _likelihood, _may_be_term, accept
from segapsith.lexicon.vocabulary import Vocabulary
from segapsith.model import Annotation, Document, Lexicon
from segapsith.tokens import Tokens
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
        places = np.flatnonzero(annotation.content)
        lemmas = [annotation.lemmas[place] for place in places.tolist()]
        words = np.array(self.vocabulary.numbers(self.lang, lemmas), np.int32)
        np.add.at(self.frequencies, words, sign)
        self.total += sign * len(words)
        self.counts.add(Candidates.of((words, links(Tokens([annotation]), places))), sign)

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


def test_words_that_often_follow_each_other_become_terms() -> None:
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
    assert _likelihood(*args, total)[0] == pytest.approx(wanted)


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


def test_de_la_and_des_are_learned_like_du() -> None:
    stream = Stream("fr")
    for number in range(30):
        noise = " ".join(f"mot{number}x{k}" for k in range(20))
        stream.learn(annotated(f"Un ministre de la santé, un garde des sceaux. {noise}", "fr"))
    assert {("ministre", "de", "le", "santé"), ("garde", "des", "sceau")} <= {
        term.words for term in stream.accept()
    }


# -- real wires -------------------------------------------------------------------------------

NAMED = {
    "en": [("prime", "minister"), ("interest", "rate"), ("central", "bank"), ("joint", "venture")],
    "fr": [("juge", "d'", "instruction"), ("garde", "à", "vue"), ("gilet", "jaune")],
}
CORPORA = {"en": "reuters21578", "fr": "orangesum-fr"}


@pytest.mark.slow
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


def test_words_that_cannot_be_part_of_a_term_are_shipped_as_data() -> None:
    assert _may_be_term(("prime", "minister"), "en")
    assert _may_be_term(("weekly", "report"), "en")
    assert not _may_be_term(("highly", "report"), "en")
    assert not _may_be_term(("exclude", "report"), "en")
    assert not _may_be_term(("van", "gogh"), "fr")
    assert _may_be_term(("garde", "à", "vue"), "fr")
