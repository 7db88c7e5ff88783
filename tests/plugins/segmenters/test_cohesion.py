"""Units with the shortest description: found exactly, in linear work, and where they should be."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith import Annotation, Document, Lexicon, Network, Unit
from segapsith.demo import sample
from segapsith.evaluation.metrics import pk
from segapsith.testing import example_annotation, segmenter_checks
from segapsith.tokens import Tokens
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.segmenters import _sentences, cohesion
from segapsith_plugins.segmenters._sentences import scale_of, sentences_of
from segapsith_plugins.segmenters._word_spaces import WordSpace, learn_space
from segapsith_plugins.segmenters.cohesion import Cohesion


def annotated(text: str, title: str = "", lang: str = "en") -> Annotation:
    (annotation,) = SimplemmaWords(lang=lang).annotate(
        [Document("d", title, text, lang=lang)], Lexicon()
    )
    return annotation


def units(annotation: Annotation, network: Any = None, **choices: Any) -> list[Unit]:
    return list(Cohesion(**choices).segment(annotation, network or Network()))


def story(subject: Sequence[str], n: int) -> str:
    """Sentences about a subject that keep its words."""
    k = len(subject)
    return " ".join(
        f"The {subject[i % k]} and this {subject[(i + 1) % k]} are in a {subject[(i + 2) % k]}."
        for i in range(n)
    )


RIVER = ["river", "flood", "bridge", "valley", "rain", "dam"]
MARKET = ["share", "bank", "dividend", "broker", "bond", "investor"]


@pytest.mark.slow
@pytest.mark.parametrize("check", segmenter_checks, ids=lambda check: check.__name__)
def test_cohesion_keeps_the_contract(check):
    check(Cohesion)


# -- the search ----------------------------------------------------------------------------


@dataclass
class Task:
    """What the search is given: sentences of content words and of small words, and settings."""

    sentences: list[list[int]]
    small: list[list[int]]
    points: np.ndarray
    opening: np.ndarray
    penalty: float
    min_words: int
    longest: int
    prior: float = 8.0
    style: float = 0.3
    meaning: float = 2.0
    drift: float = 0.03

    def searched_cuts(self) -> list[int]:
        words, ends = flat(self.sentences)
        small, small_ends = flat(self.small)
        back = cohesion._cuts(
            words, ends, *table_of(words, self.shares()), self.prior,
            small, small_ends, *table_of(small, np.array([3.0, 2.0])), 5.0, self.style,
            self.points, np.array([float(len(s)) for s in self.sentences]), self.meaning,
            self.opening, self.penalty, self.drift, self.min_words, self.longest,
        )  # fmt: skip
        cuts = [len(self.sentences)]
        while cuts[-1]:
            cuts.append(int(back[cuts[-1]]))
        return cuts[::-1]

    def shares(self) -> np.ndarray:
        """What each of the five words has of the prior."""
        return min(1.2, self.prior / 5) * np.array([1.0, 1.0, 0.5, 2.0, 1.0])

    def cost(self, first: int, last: int) -> float:
        """The formula of the docstring, word by word."""
        words = [w for s in self.sentences[first:last] for w in s]
        small = [w for s in self.small[first:last] for w in s]
        value = self.penalty + self.opening[first]
        held: Counter[int] = Counter()
        for i, word in enumerate(words):
            value -= math.log((held[word] + self.shares()[word]) / (i + self.prior))
            held[word] += 1
        held = Counter()
        for i, word in enumerate(small):
            value -= self.style * math.log((held[word] + [3.0, 2.0][word]) / (i + 5.0))
            held[word] += 1
        if words:
            centre = self.points[first:last].sum(axis=0)
            value += self.meaning * (len(words) - centre @ centre / (len(words) + 15))
            value -= self.drift * len(words) * math.log(len(words))
        if len(words) < self.min_words:
            value += 1e6 * (1 - len(words) / self.min_words)
        return value

    def total(self, cuts: Sequence[int]) -> float:
        return sum(self.cost(i, j) for i, j in pairwise(cuts))

    def cheapest(self) -> float:
        n = len(self.sentences)
        return min(
            self.total([0, *inner, n])
            for size in range(n)
            for inner in combinations(range(1, n), size)
            if max(np.diff([0, *inner, n])) <= self.longest
        )


def table_of(words: np.ndarray, shares: np.ndarray) -> Any:
    return cohesion._logs(np.bincount(words, minlength=len(shares)), shares)


def flat(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([w for s in sentences for w in s], np.int64)
    return words, np.cumsum([0, *map(len, sentences)]).astype(np.int64)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    n = draw(st.integers(1, 8))
    words = st.lists(st.integers(0, 4), max_size=4)
    number = st.floats(-1, 1)
    return Task(
        draw(st.lists(words, min_size=n, max_size=n)),
        draw(st.lists(st.lists(st.integers(0, 1), max_size=3), min_size=n, max_size=n)),
        np.array(draw(st.lists(st.tuples(number, number), min_size=n, max_size=n))),
        np.array([0.0, *draw(st.lists(st.floats(0, 3), min_size=n - 1, max_size=n - 1))]),
        draw(st.floats(0, 3)),
        draw(st.integers(1, 4)),
        draw(st.integers(2, 8)),
        draw(st.sampled_from([2.0, 30.0])),
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(tasks())
def test_no_division_is_cheaper_than_the_one_found(task):
    actual = task.searched_cuts()
    assert max(np.diff(actual)) <= task.longest
    assert task.total(actual) == pytest.approx(task.cheapest(), rel=1e-9, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=7))
def test_cohesion_of_a_unit_is_the_mean_cosine_of_a_sentence_and_the_rest(sentences):
    words, ends = flat(sentences)
    (value,) = cohesion._likenesses(words, ends, 4, np.array([0, len(sentences)]))
    rows = [np.bincount(s, minlength=4).astype(float) for s in sentences if s]
    cosines = []
    for row in rows:
        rest = sum(rows) - row
        size = np.linalg.norm(row) * np.linalg.norm(rest)
        cosines.append(row @ rest / size if size else 0.0)
    assert value == pytest.approx(np.mean(cosines) if len(rows) > 1 else 1.0)


def test_compiled_and_plain_kernels_say_the_same():
    rng = np.random.default_rng(0)
    met, pairs = rng.poisson(5.0, 30).astype(float), np.full(30, 100.0)
    grid = np.array([3.0, 6.0, 12.0])
    plain = _sentences._fitted.python(met, pairs, grid, 10)
    assert _sentences._fitted(met, pairs, grid, 10) == pytest.approx(plain)


def test_the_scale_of_a_text_of_equal_pieces_is_their_length():
    rng = np.random.default_rng(0)
    words = np.concatenate([rng.integers(0, 30, 100) + 30 * piece for piece in range(20)])
    scale = scale_of(words, np.arange(0, 2001, 10))  # pieces of ten sentences of ten words
    assert 8 < scale.length < 12
    assert scale.far < 0.01 * scale.near


def test_a_text_without_a_scale_has_nothing_near():
    assert scale_of(np.arange(50), np.arange(0, 51, 10)).near == 0
    assert scale_of(np.zeros(0, np.int64), np.zeros(9, np.int64)).near == 0


def test_twice_the_text_is_twice_the_work():
    class Counted(np.ndarray):
        """Words that count how often they are read one by one."""

        reads = 0

        def __getitem__(self, key: Any) -> Any:
            Counted.reads += 1
            return super().__getitem__(key)

    def reads(n: int) -> int:
        Counted.reads = 0
        words = np.tile(np.arange(4), n).view(Counted)
        ends = np.arange(0, 4 * n + 1, 4)
        no = np.zeros(0, np.int64)
        cohesion._cuts.python(
            words, ends, *table_of(np.tile(np.arange(4), n), np.ones(4)), 9.0,
            no, np.zeros(n + 1, np.int64), *table_of(no, np.zeros(0)), 1.0, 0.3,
            np.zeros((n, 1)), np.zeros(n), 0.0, np.zeros(n), 1.0, 0.0, 4, 10,
        )  # fmt: skip
        return Counted.reads

    assert reads(200) < 2.1 * reads(100)
    assert reads(100) <= 100 * 10 * 4 * 2  # sentences, longest unit, words; read and taken back


# -- units ---------------------------------------------------------------------------------


def test_a_text_that_changes_its_subject_is_cut_there():
    first, second = story(RIVER, 14), story(MARKET, 14)
    actual = units(annotated(f"{first} {second}"))
    assert [unit.start for unit in actual] == [0, len(first) + 1]
    assert all(0 < unit.cohesion <= 1 and unit.kept for unit in actual)


def test_a_text_on_one_subject_stays_whole():
    assert len(units(annotated(story(RIVER, 40)))) == 1


@pytest.mark.parametrize(
    "text", ["Flood", "The river rose.", "of the and. But it is. And so on.", "1 2 3. 4 5 6."]
)
def test_little_text_is_one_unit(text):
    (unit,) = units(annotated(text))
    assert (unit.start, unit.end) == (0, len(text))


def test_no_text_has_no_unit():
    assert units(annotated("")) == []
    assert units(annotated("… !")) == []


def test_the_title_goes_with_the_first_unit_and_is_never_cut_off():
    title = "Broker. Bond. Dividend. Share"
    first, second = story(RIVER, 14), story(MARKET, 14)
    actual = units(annotated(f"{first} {second}", title=title))
    assert [unit.start for unit in actual] == [0, len(title) + 2 + len(first) + 1]
    (whole,) = units(annotated("…", title="Only a title"))
    assert whole.last == 3


def test_units_begin_where_sentences_begin():
    text = f'{story(RIVER, 14)} "The share," she said. {story(MARKET, 14)}'
    annotation = annotated(text)
    starts = set(annotation.sentences[:, 0].tolist())
    assert len(units(annotation)) == 2
    assert all(unit.start in starts for unit in units(annotation))


def test_a_full_stop_between_blanks_ends_a_sentence_whatever_follows():
    first, second = (story(s, 14).replace(".", " .").lower() for s in (RIVER, MARKET))
    text = f"The Dam held . {first} {second}"
    actual = units(annotated(text))
    assert [unit.start for unit in actual] == [0, text.index(second)]


def test_a_text_that_lost_its_punctuation_is_read_in_pieces():
    first, second = (story(s, 40).replace(".", "") for s in (RIVER, MARKET))
    actual = units(annotated(f"{first} {second}"))
    assert len(actual) == 2
    assert abs(actual[1].start - len(first)) < 100


def test_a_paragraph_end_is_preferred():
    between = "Nobody spoke. Everybody waited."
    text = f"{story(RIVER, 14)} {between}\n\n{story(MARKET, 14)}\n\n{story(MARKET, 5)}"
    actual = units(annotated(text))
    assert [unit.start for unit in actual] == [0, text.index("\n\n") + 2]


@pytest.mark.parametrize("gap", ["\n\n", "\n   ", "\n \n\n  ", '\n\n"'])
def test_only_the_first_sentence_of_a_paragraph_opens_it(gap):
    annotation = annotated(f"One river. Two rivers.{gap}Three rivers. Four rivers. Five rivers.")
    tokens = Tokens([annotation])
    sentences = sentences_of(tokens, [0])
    within = cohesion._within(tokens, sentences, np.array([len(sentences.first)]), [0])
    assert within.tolist() == [0, 1, 0, 1, 1]


def test_texts_are_divided_together_as_they_are_alone():
    documents = [
        Document(title=story["title"], body=story["text"], lang="en")
        for story in sample.lines("en")[:40]
    ]
    documents += [Document(title="A title alone", lang="en"), Document(body="...", lang="en")]
    annotations = list(SimplemmaWords().annotate(documents, Lexicon()))
    space = learn_space(annotations, rank=5)
    for segmenter in (Cohesion(min_words=3), Cohesion(min_words=3, space=space)):
        together = segmenter.segment_all(Tokens(annotations), Network())
        assert together == [list(segmenter.segment(one, Network())) for one in annotations]
    assert max(map(len, together)) > 1


def test_paragraphs_of_one_sentence_change_nothing():
    text = f"{story(RIVER, 14)} {story(MARKET, 14)}"
    lines = text.replace(". ", ".\n\n")
    assert [u.first for u in units(annotated(text))] == [u.first for u in units(annotated(lines))]


def test_units_have_enough_words():
    text = f"{story(RIVER, 14)} {story(MARKET, 14)}"
    annotation = annotated(text)
    assert len(units(annotation, min_words=40)) == 2
    assert len(units(annotation, min_words=43)) == 1


def test_units_are_not_longer_than_allowed():
    annotation = annotated("Nothing. " * 50)
    assert len(units(annotation, max_sentences=10)) >= 5


def test_units_below_the_wanted_cohesion_are_not_kept():
    annotation = annotated("The river rose. A bank closed.")
    assert [unit.kept for unit in units(annotation, keep=0.5)] == [False]
    assert [unit.kept for unit in units(annotation)] == [True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_words": 0}, {"max_sentences": 1}, {"prior": 0.0}, {"style": -1.0},
        {"meaning": math.inf}, {"paragraph": math.nan}, {"penalty": -0.1}, {"keep": 2.0},
        {"drift": -1.0},
    ],
)  # fmt: skip
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        Cohesion(**wrong)


# -- word spaces ---------------------------------------------------------------------------


def taught() -> WordSpace:
    """A space in which the words of each story are close."""
    texts = [story([subject[(i + k) % 6] for k in range(4)], 4)
             for i in range(12) for subject in (RIVER, MARKET)]  # fmt: skip
    return learn_space([annotated(text) for text in texts], rank=4, max_share=0.9)


def test_words_of_one_story_are_close():
    space = taught()
    river, flood, bond = space.vectors[space.numbers(["river", "flood", "bond"])]
    assert river @ flood > 0.5 > river @ bond
    assert np.allclose(np.linalg.norm(space.vectors, axis=1), 1, atol=2e-3)


def test_the_same_documents_give_the_same_space():
    first, second = taught(), taught()
    assert first.rows == second.rows
    assert np.array_equal(first.vectors, second.vectors)


def test_nothing_is_learned_from_nothing():
    space = learn_space([])
    assert space.numbers(["river"]).tolist() == [-1]
    annotation = annotated(story(RIVER, 14))
    assert units(annotation, space=space) == units(annotation)


def test_a_network_may_bring_the_space():
    space = taught()
    no_vector = np.zeros((1, space.vectors.shape[1]))
    network = Network(
        rows={**space.rows, "bridge": len(space.rows)},
        vectors=np.vstack([space.vectors, no_vector]).astype(np.float32),
        significance=np.ones(len(space.rows) + 1, np.float32),
    )
    # No word twice: only what the space knows can tell where the subject changes.
    text = (
        "The river met a flood near a bridge in the valley. The rain broke the dam.\n\n"
        "The share met a bank. A dividend pleased the broker, the bond and the investor."
    )
    annotation = annotated(text)
    choices = {"min_words": 5, "meaning": 20.0}
    assert len(units(annotation, **choices)) == 1
    assert len(units(annotation, network, **choices)) == 2
    assert units(annotation, network, **choices) == units(annotation, space=space, **choices)


# -- evaluation ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lang", sample.WHOLE)
def test_articles_of_the_sample_are_cut_where_their_subject_turns(lang):
    paragraphs: dict[str, list[tuple[int, str]]] = {}
    for uid, start, _, subject in sample.gold_of_paragraphs(lang):
        paragraphs.setdefault(uid, []).append((start, subject))
    items = {item["id"]: item for item in sample.lines(lang)}
    wire = {uid: annotated(i["text"], i["title"], lang) for uid, i in items.items()}
    space = learn_space(wire.values(), min_documents=2)
    right = expected = actual = whole = n_whole = 0
    for uid, marks in paragraphs.items():
        turns = {b[0] for a, b in pairwise(marks) if a[1] != b[1]}
        cuts = {unit.start for unit in units(wire[uid], space=space)} - {0}
        if turns:
            right += len(turns & cuts)
            expected += len(turns)
            actual += len(cuts)
        else:
            n_whole += 1
            whole += not cuts
    assert 2 * right / (expected + actual) >= 0.8
    assert whole / n_whole >= 0.9


@pytest.mark.parametrize(("subset", "bar"), [("3-11", 12), ("3-5", 13), ("6-8", 7), ("9-11", 7)])
def test_the_boundaries_of_choi_are_found(data: Path, subset: str, bar: float):
    with gzip.open(data / "choi" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    items = [item for item in items if item["subset"] == subset and item["set"] < 4][:30]
    scores = []
    for item in items:
        actual = units(annotated(" ".join(item["sentences"])))
        starts = np.cumsum([0, *(len(s) + 1 for s in item["sentences"][:-1])])
        cuts = sorted({int(np.abs(starts - unit.start).argmin()) for unit in actual})
        scores.append(pk(item["segments"], np.diff([*cuts, len(starts)])))
    assert 100 * np.mean(scores) <= bar


def test_wires_on_one_subject_are_whole_as_long_as_nothing_is_known():
    gold: dict[str, set[str]] = {}
    for uid, _, _, subject in sample.gold_of_paragraphs("en"):
        gold.setdefault(uid, set()).add(subject)
    for item in sample.lines("en"):
        if len(gold[item["id"]]) == 1:
            assert len(units(annotated(item["text"], item["title"], "en"))) == 1


def test_long_texts_are_cut_in_the_same_way_twice():
    annotation = example_annotation(f"{story(RIVER, 30)} {story(MARKET, 30)} " * 20)
    assert units(annotation) == units(annotation)
