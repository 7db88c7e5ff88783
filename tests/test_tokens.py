"""Columns of several texts agree with the texts one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from segapsith import Annotation, Document, Lexicon
from segapsith.languages import pack_of
from segapsith.lexicon.multiword_terms import connectors_of, links
from segapsith.tokens import Tokens
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

PIECES = [
    *["Prime", "Minister", "OIL", "prices", "état", "d'", "of", "de", "la", "élus", "placé", "ǅ"],
    *["garde", "À", "vue", "conseillers", "ΑΘΗΝΑ", "𐐀", "1987", "U.S."],
]
GAPS = [" ", " ", " ", "-", "‑", "\n", "\n   ", "\n\n", ", ", ". ", "  ", "\u00a0", "--"]
texts = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(GAPS)), min_size=1, max_size=25
).map(lambda pairs: "".join(piece + gap for piece, gap in pairs))
TERMS = {"en": frozenset({("prime", "minister")}), "fr": frozenset({("garde", "de", "vue")})}


def annotated(bodies: list[str], lang: str) -> list[Annotation]:
    documents = [Document(body=body, lang=lang) for body in bodies]
    return list(SimplemmaWords().annotate(documents, Lexicon(1, TERMS)))


def is_joint(gap: str) -> bool:
    return gap in ("", "-", "‐", "‑") or (gap.isspace() and "\n\n" not in gap)


def slow_links(annotation: Annotation, places: list[int]) -> NDArray[np.uint8]:
    """Return the links of one text, word by word."""
    text, lemmas, lang = annotation.document.text, annotation.lemmas, annotation.document.lang or ""
    spans = annotation.spans.tolist()
    codes = {words: code for code, words in enumerate(connectors_of(lang), 2)}
    result = np.zeros(len(places), np.uint8)
    sentence = np.searchsorted(annotation.sentences[:, 0], annotation.spans[:, 0], "right")
    for i, (first, last) in enumerate(pairwise(places)):
        between = tuple(lemmas[first + 1 : last])
        code = 1 if not between else codes.get(between, 0)
        gaps = [text[spans[k][1] : spans[k + 1][0]] for k in range(first, last)]
        one, two = (text[slice(*spans[place])] for place in (first, last))
        if (
            not code
            or sentence[first] != sentence[last]
            or not all(map(is_joint, gaps))
            or (one.isupper() and two.isupper())
            or " " in lemmas[first] + lemmas[last]
        ):
            continue
        lemma = lemmas[first]
        plain = one.lower().removesuffix("s")
        is_verb = lang == "fr" and lemma.endswith(("er", "ir", "re"))
        if is_verb and plain not in (lemma, lemma.removesuffix("s")):
            continue
        named = pack_of(lang).capitals == "names" and one[0].isupper() and two[0].isupper()
        result[i] = code + 128 * named
    return result


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.sampled_from(["en", "fr", "de"]))
def test_links_of_texts_together_are_those_of_a_slow_reader(bodies: list[str], lang: str) -> None:
    annotations = annotated(bodies, lang)
    tokens = Tokens(annotations)
    wanted = [slow_links(one, np.flatnonzero(one.content).tolist()) for one in annotations]
    assert links(tokens, np.flatnonzero(tokens.content)).tolist() == np.concatenate(wanted).tolist()


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4))
def test_columns_have_the_tokens_of_every_text(bodies: list[str]) -> None:
    annotations = annotated(bodies, "en")
    tokens = Tokens(annotations)
    lemmas = [lemma for one in annotations for lemma in one.lemmas]
    assert [tokens.words[number] for number in tokens.numbers] == lemmas
    assert [tokens.text[a:b] for a, b in tokens.spans.tolist()] == [
        one.document.text[a:b] for one in annotations for a, b in one.spans.tolist()
    ]
    assert tokens.is_upper.tolist() == [
        tokens.text[a:b].isupper() for a, b in tokens.spans.tolist()
    ]
    assert len(set(tokens.words)) == len(tokens.words)


def test_no_text_has_no_columns() -> None:
    tokens = Tokens([])
    assert len(tokens) == len(tokens.numbers) == len(tokens.is_joined) == len(tokens.is_upper) == 0


@settings(deadline=None)
@given(st.lists(texts, max_size=4), st.sampled_from(["en", "fr", "de"]))
def test_columns_of_an_annotator_are_those_of_its_annotations(bodies: list[str], lang: str) -> None:
    documents = [Document(title="Oil", body=body, lang=lang) for body in [*bodies, ""]]
    annotator = SimplemmaWords()
    columns = annotator.annotate_all(documents, Lexicon(1, TERMS))
    again = annotator.annotate_all(documents, Lexicon(1, TERMS))
    plain = Tokens([next(iter(annotator.annotate([d], Lexicon(1, TERMS)))) for d in documents])
    for name in ("numbers", "spans", "content", "firsts", "sentence_starts", "is_joined"):
        assert getattr(columns, name).tolist() == getattr(plain, name).tolist(), name
        assert getattr(again, name).tolist() == getattr(plain, name).tolist(), name
    assert columns.words == plain.words and columns.place_of == plain.place_of
    places = np.arange(len(plain.numbers))
    one, other = columns.written(places).tolist(), plain.written(places).tolist()
    assert len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))
    assert columns.flags(str.isalpha).tolist() == plain.flags(str.isalpha).tolist()
    stems = columns.derived(first_letter).tolist()
    assert [stems.index(stem) for stem in stems] == [
        [first_letter(word) for word in plain.words].index(first_letter(word))
        for word in plain.words
    ]


def first_letter(word: str) -> str:
    return word[:1]
