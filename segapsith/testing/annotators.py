"""What every annotator promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.contracts import annotates_in_steps, annotates_together
from segapsith.testing.examples import example_documents
from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["annotator_checks"]


def _annotated(annotator: Any, documents: Iterable[Document]) -> list[Annotation]:
    result = annotator.annotate(documents, Lexicon())
    assert hasattr(result, "__iter__"), (
        f"annotate returned {type(result).__name__}; an iterator of annotations is wanted"
    )
    return list(result)


@bounded
def check_it_is_an_annotator(factory: Factory) -> None:
    """It has the method."""
    of_kind("annotator", factory)


@bounded
def check_one_annotation_a_document(factory: Factory) -> None:
    """As many as documents, in their order, each with its own document."""
    documents = example_documents()
    annotations = _annotated(factory(), documents)
    assert len(annotations) == len(documents), (
        f"{len(documents)} documents gave {len(annotations)} annotations; one each is wanted"
    )
    for annotation, document in zip(annotations, documents, strict=True):
        assert isinstance(annotation, Annotation), (
            f"annotate gave {type(annotation).__name__}; an Annotation is wanted"
        )
        assert annotation.document == document, (
            f"document {document.uid} got the annotation of {annotation.document.uid}"
        )
    assert _annotated(factory(), []) == [], "no documents should give no annotations"


@bounded
def check_any_text(factory: Factory) -> None:
    """Spans, flags and sentences lie in the text, whatever the text."""
    annotator = factory()
    for document in example_documents():
        (annotation,) = _annotated(annotator, [document])
        n_tokens, length = len(annotation.lemmas), len(document.text)
        spans, sentences = np.asarray(annotation.spans), np.asarray(annotation.sentences)
        flags = np.asarray(annotation.content)
        text = f"document {document.uid} ({document.text[:20]!r}): "
        assert all(type(lemma) is str for lemma in annotation.lemmas), (
            f"{text}lemmas should be strings"
        )
        assert spans.shape == (n_tokens, 2), (
            f"{text}spans have shape {spans.shape}; ({n_tokens}, 2) is wanted"
        )
        assert flags.shape == (n_tokens,) and flags.dtype == np.bool_, (
            f"{text}content is {flags.dtype} {flags.shape}; {n_tokens} booleans are wanted"
        )
        assert sentences.ndim == 2 and sentences.shape[1] == 2, (
            f"{text}sentences have shape {sentences.shape}; (n, 2) is wanted"
        )
        for name, array in (("spans", spans), ("sentences", sentences)):
            assert not array.size or (array.min() >= 0 and array.max() <= length), (
                f"{text}{name} should lie in the text, 0-{length}"
            )
            assert not array.size or np.issubdtype(array.dtype, np.integer), (
                f"{text}{name} are {array.dtype}; integers are wanted"
            )
        assert (spans[:, 0] < spans[:, 1]).all(), f"{text}spans should not be empty"
        assert (spans[1:, 0] >= spans[:-1, 1]).all(), f"{text}spans should follow each other"


@bounded
def check_annotations_are_lazy(factory: Factory) -> None:
    """The first annotation comes before the wire has ended."""
    taken = 0

    def wire() -> Iterator[Document]:
        nonlocal taken
        for number in range(5_000):
            taken += 1
            yield Document(uid=f"d{number}", body="rain", lang="en")

    result = factory().annotate(wire(), Lexicon())
    assert hasattr(result, "__next__"), f"annotate returned {type(result).__name__}; be lazy"
    next(result)
    assert taken <= 1_000, f"annotate took {taken} documents before it gave the first annotation"


@bounded
def check_company_does_not_matter(factory: Factory) -> None:
    """A document is read alike alone, among others, and by a fresh annotator."""
    documents = example_documents()
    together = _annotated(factory(), documents)
    one = factory()
    for document, annotation in zip(documents, together, strict=True):
        (alone,) = _annotated(one, [document])
        assert list(alone.lemmas) == list(annotation.lemmas), (
            f"document {document.uid} has other lemmas when it is read alone"
        )
        same = np.array_equal(alone.spans, annotation.spans)
        assert same, f"document {document.uid} has other spans when it is read alone"


@bounded
def check_steps_give_the_same(factory: Factory) -> None:
    """An annotator that works in steps gives the same in two steps as in one."""
    whole, annotator = factory(), factory()
    if not annotates_in_steps(annotator):
        return
    for document in example_documents():
        lang = document.lang or "en"
        steps = list(annotator.annotate_words([replace(document, lang=lang)]))
        assert len(steps) == 1, f"annotate_words gave {len(steps)} results of one document"
        words, joined = steps[0]
        text = f"document {document.uid}: "
        assert joined.shape == (len(words.lemmas),) and joined.dtype == np.bool_, (
            f"{text}annotate_words should give a boolean for each token"
        )
        assert not joined[-1:].any(), f"{text}the last token cannot be joined to another one"
        pairs = zip(words.lemmas, words.lemmas[1:], joined.tolist(), strict=False)
        terms = frozenset((left, right) for left, right, is_joined in pairs if is_joined)
        for lexicon in (Lexicon(), Lexicon(1, {lang: terms})):
            (once,) = whole.annotate([words.document], lexicon)
            (twice,) = annotator.join_terms([words], [joined], lexicon)
            assert list(once.lemmas) == list(twice.lemmas), f"{text}other lemmas in two steps"
            for name in ("spans", "content", "sentences"):
                same = np.array_equal(getattr(once, name), getattr(twice, name))
                assert same, f"{text}other {name} in two steps"
        version = annotator.words_version(lang)
        assert isinstance(version, str) and version, "words_version should be a text"
        assert version == factory().words_version(lang), "words_version should not change"


@bounded
def check_texts_together_give_the_same(factory: Factory) -> None:
    """An annotator that takes several texts at once gives the tokens of each by itself."""
    annotator = factory()
    if not annotates_together(annotator):
        return
    documents = [replace(document, lang="en") for document in example_documents()]
    tokens = annotator.annotate_all(documents, Lexicon())
    alone = _annotated(factory(), documents)
    assert len(tokens) == len(documents), f"annotate_all gave {len(tokens)} texts"
    for document, one, other in zip(documents, tokens.annotations, alone, strict=True):
        text = f"document {document.uid}: "
        assert list(one.lemmas) == list(other.lemmas), f"{text}other lemmas among others"
        for name in ("spans", "content", "sentences"):
            same = np.array_equal(getattr(one, name), getattr(other, name))
            assert same, f"{text}other {name} among others"


annotator_checks: tuple[Check, ...] = (
    check_it_is_an_annotator,
    check_settings,
    check_one_annotation_a_document,
    check_any_text,
    check_annotations_are_lazy,
    check_company_does_not_matter,
    check_steps_give_the_same,
    check_texts_together_give_the_same,
)
