"""The annotator `spacy`: its own tokens and stop words, and a pipeline's tags and lemmas."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.contracts import Annotator
from segapsith.testing import annotator_checks
from segapsith_plugins.annotators import spacy_words
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.annotators.spacy_words import SpacyWords

pytestmark = pytest.mark.slow

words = SpacyWords()


def read(
    text: str, lang: str = "en", title: str = "", lexicon: Lexicon | None = None
) -> Annotation:
    document = Document(title=title, body=text, lang=lang)
    return next(words.annotate([document], lexicon or Lexicon()))


def tokens(annotation: Annotation) -> list[str]:
    text = annotation.document.text
    return [text[start:end] for start, end in annotation.spans.tolist()]


def content(annotation: Annotation) -> list[str]:
    return [
        lemma for lemma, told in zip(annotation.lemmas, annotation.content, strict=True) if told
    ]


@pytest.mark.parametrize("check", annotator_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check):
    check(SpacyWords)


def test_it_keeps_the_shape_of_the_contract():
    assert isinstance(words, Annotator)
    assert spacy_words.register_annotators() == {"spacy": SpacyWords}


def test_importing_the_plugin_does_not_import_spacy():
    code = "import sys, segapsith_plugins.annotators.spacy_words; sys.exit('spacy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
    )


@pytest.mark.parametrize("text", ["", " ", "\n\n", "…", "\x00", "\ud800", "🙂"])
def test_a_text_without_words_has_no_tokens(text):
    annotation = read(text)
    assert annotation.lemmas == []
    assert annotation.spans.shape == (0, 2)
    assert annotation.sentences.tolist() == ([[0, len(text)]] if text else [])


def test_tokens_and_stop_words_are_those_of_spacy():
    text = "The vice-president doesn't tell the company's 12 shareholders."
    annotation = read(text)
    assert tokens(annotation)[1:6] == ["vice", "president", "does", "n't", "tell"]
    assert content(annotation) == ["vice", "president", "tell", "company", "shareholder"]
    other = next(SimplemmaWords().annotate([Document(body=text)], Lexicon()))
    assert tokens(other) != tokens(annotation)
    assert content(other) != content(annotation)  # "tell" and "company" say nothing there


def test_french_is_read_by_french_rules():
    annotation = read("L’avocat du porte-parole a-t-il plaidé les affaires ?", "fr")
    assert tokens(annotation)[:4] == ["L’", "avocat", "du", "porte-parole"]
    assert content(annotation) == ["avocat", "porte-parole", "plaider", "affaire"]


def test_sentences_are_spacys_and_an_empty_line_ends_one():
    annotation = read("The river rose. It rained\n\nAll night", title="Flood")
    text = annotation.document.text
    actual = [text[start:end].strip() for start, end in annotation.sentences.tolist()]
    assert actual == ["Flood", "The river rose.", "It rained", "All night"]


def test_terms_are_merged():
    terms = Lexicon(
        1,
        {
            "en": frozenset({("prime", "minister")}),
            "fr": frozenset({("juge", "d", "instruction")}),
        },
    )
    assert "prime minister" in read("The prime ministers met", lexicon=terms).lemmas
    assert "juge d'instruction" in read("Le juge d’instruction", "fr", lexicon=terms).lemmas
    assert "prime minister" not in read("prime, minister", lexicon=terms).lemmas


def test_a_text_beyond_spacys_limit_is_read():
    assert len(read("rain " * 210_000).lemmas) == 210_000


def test_it_travels_to_another_process():
    copy = pickle.loads(pickle.dumps(words))
    assert next(copy.annotate([Document(body="taxes")], Lexicon())).lemmas == ["tax"]


# --- settings ----------------------------------------------------------------------------


def test_an_unknown_language_is_refused():
    with pytest.raises(ValueError, match="lang='xx' has no language pack"):
        SpacyWords(lang="xx")


def test_a_pipeline_that_is_not_installed_is_named_with_the_way_to_it():
    with pytest.raises(ValueError, match="python -m spacy download en_core_web_none"):
        SpacyWords(model="en_core_web_none")


def test_tables_that_are_not_installed_are_named_with_the_way_to_them():
    pytest.importorskip("spacy")
    try:
        import spacy_lookups_data  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match="pip install spacy-lookups-data"):
            SpacyWords(lookups=True)
    else:
        actual = next(SpacyWords(lookups=True).annotate([Document(body="houses")], Lexicon()))
        assert actual.lemmas == ["house"]


@pytest.fixture
def pipeline(tmp_path):
    """A pipeline that tags by list, in the shape of an installed one."""
    import spacy

    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("attribute_ruler")
    for word, tag, lemma in (
        ("The", "DET", "the"),
        ("Banks", "PROPN", "Banks"),
        ("quickly", "ADV", "quickly"),
        ("lent", "VERB", "Lend"),
        ("new", "ADJ", "new"),
        ("money", "NOUN", "money"),
    ):
        ruler.add(patterns=[[{"ORTH": word}]], attrs={"POS": tag, "LEMMA": lemma})
    ruler.add(
        patterns=[[{"ORTH": word}] for word in ("wire", "night")],
        attrs={"POS": "NOUN"},
    )
    nlp.to_disk(tmp_path / "tagger")
    return str(tmp_path / "tagger")


def test_a_trained_pipeline_gives_its_tags_and_lemmas(pipeline):
    annotator = SpacyWords(model=pipeline)
    document = Document(body="The Banks quickly lent new money. Then rain.")
    annotation = next(annotator.annotate([document], Lexicon()))
    assert content(annotation) == ["banks", "lend", "new", "money"]
    assert annotation.lemmas[-1] == "rain"  # the pipeline has no lemma for it
    assert len(annotation.sentences) == 2


def test_a_document_in_another_language_is_read_without_the_pipeline(pipeline):
    annotator = SpacyWords(model=pipeline)
    annotation = next(annotator.annotate([Document(body="Les affaires", lang="fr")], Lexicon()))
    assert content(annotation) == ["affaire"]


def test_a_pipeline_without_tags_is_refused(tmp_path):
    import spacy

    spacy.blank("en").to_disk(tmp_path / "bare")
    with pytest.raises(ValueError, match="tags no parts of speech"):
        SpacyWords(model=str(tmp_path / "bare"))


# --- any text ----------------------------------------------------------------------------

nasty = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAé'’-.,!? \n\t«»\"()<>:@/_019\u00ad\u0301\x00\ud800🙂"), st.characters()
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=150)
@given(text=nasty, lang=st.sampled_from(["en", "fr"]))
def test_any_text_gives_sound_spans(text, lang):
    annotation = read(text, lang)
    spans = annotation.spans
    assert len(annotation.lemmas) == len(spans) == len(annotation.content)
    assert all(annotation.lemmas)
    assert (spans[:, 0] < spans[:, 1]).all()
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    assert not len(spans) or spans[-1, 1] <= len(text)
    ends = annotation.sentences[:, 1]
    assert (annotation.sentences[1:, 0] == ends[:-1]).all()
    assert (annotation.sentences[:, 0] < ends).all()
    if len(spans):
        first = ends.searchsorted(spans[:, 0], side="right")
        assert (spans[:, 1] <= annotation.sentences[first, 1]).all()


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(nasty, max_size=4), cut=st.integers(0, 4))
def test_batches_do_not_matter(texts, cut):
    documents = [Document(body=text) for text in texts]
    whole = list(words.annotate(documents, Lexicon()))
    parts = [
        *words.annotate(documents[:cut], Lexicon()),
        *words.annotate(documents[cut:], Lexicon()),
    ]
    for left, right in zip(whole, parts, strict=True):
        assert left.lemmas == right.lemmas
        for name in ("spans", "content", "sentences"):
            assert np.array_equal(getattr(left, name), getattr(right, name))


@pytest.mark.parametrize("lang", ["de", "ja", "th", "zzz"])
def test_a_language_without_rules_is_read_too(lang):
    (annotation,) = SpacyWords().annotate([Document(body="Ein Haus 政府", lang=lang)], Lexicon())
    assert len(annotation.lemmas) >= 2
