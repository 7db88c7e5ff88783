"""Words by spaCy: its tokens and stop words, and with a trained pipeline its tags and lemmas.

spaCy is imported when an annotator is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.annotators._words import (
    Lemmas,
    Terms,
    breaks,
    checked_language,
    is_content,
    joins,
    language,
    merged,
    normal,
    partition,
    rules_version,
    with_terms,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

__all__ = ["SpacyWords"]

_CONTENT_TAGS = frozenset({"ADJ", "NOUN", "PROPN", "VERB"})

_MAX_CHARACTERS = 1 << 31
"""Characters in a text; spaCy's own limit of a million would reject texts that are valid."""

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which spaCy cannot read; it is replaced by one character, so that offsets
do not change.
"""

_PROBE = "The wire is read every night."


class _Pipeline:
    """One spaCy pipeline, and how its tokens become words."""

    def __init__(self, nlp: Language, lemma: Callable[[Token, str], str], tagged: bool) -> None:
        self._nlp = nlp
        self._lemma = lemma
        self._tagged = tagged
        self.name = f"{nlp.meta['name']} {nlp.meta['version']}" if tagged else ""
        """Name and version of a trained pipeline."""
        nlp.max_length = _MAX_CHARACTERS

    def read(self, document: Document, terms: Terms) -> Annotation:
        text = document.text
        doc: Doc = self._nlp(_SURROGATE.sub("\ufffd", text))
        lemmas: list[str] = []
        spans: list[tuple[int, int]] = []
        content: list[bool] = []
        for token in doc:
            if token.is_space or token.is_punct or not any(map(str.isalnum, token.text)):
                continue
            form = normal(token.text)
            lemmas.append(self._lemma(token, form) or form or token.text)
            spans.append((token.idx, token.idx + len(token.text)))
            content.append(self._is_content(token, form))
        table = np.array(spans, np.int32).reshape(-1, 2)
        flags = np.array(content, np.bool_)
        if terms and len(lemmas) > 1:
            merges = list(terms.find(lemmas, joins(text, table)))
            lemmas, table, flags = merged(lemmas, table, flags, merges)
        starts = (
            next((token.idx for token in sentence if not token.is_space), None)
            for sentence in doc.sents
        )
        sentence_starts = {start for start in starts if start is not None}.union(breaks(text))
        bounds = np.array(sorted(sentence_starts - {0, len(text)}), np.int32)
        return Annotation(document, lemmas, table, flags, partition(bounds, len(text)))

    def _is_content(self, token: Token, form: str) -> bool:
        if not is_content(form):
            return False
        if self._tagged:
            return token.pos_ in _CONTENT_TAGS
        letters = form.replace("-", "").replace("'", "")
        return letters.isalpha() and form[0] != "-" and form[-1] != "'" and not token.is_stop


class SpacyWords:
    """Tokens, sentences and stop words of spaCy.

    Without a model: spaCy's rules for the language and its sentencizer. Content words are those
    that are not stop words and have only letters (hyphens and apostrophes inside are allowed).
    spaCy has no lemmas without a model, so they are simplemma's. With `lookups` they are those of
    the package spacy-lookups-data, which must be installed: equal settings give equal lemmas on
    every machine.

    With `model`, the name or path of an installed pipeline: its sentences and lemmas, and its
    nouns, proper nouns, verbs and adjectives as content words, for documents in its language.
    Documents in other languages are read without a model.
    """

    def __init__(
        self, *, lang: str = "en", model: str | None = None, lookups: bool = False
    ) -> None:
        self.lang = checked_language(lang)
        self.model = model
        self.lookups = lookups
        self._pipelines: dict[str, _Pipeline] = {}
        self._terms: tuple[Lexicon, dict[str, Terms]] | None = None
        # Loaded here, since loading may take longer than the time limit of `annotate`.
        self._pipelines[self.lang] = _blank(self.lang, lookups)
        if model is not None:
            nlp = _trained(model)
            self._pipelines[checked_language(nlp.lang or "")] = _Pipeline(
                nlp, _own_lemma, tagged=True
            )

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.lang, self.model, self.lookups)  # the pipeline is loaded again

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """Yield one annotation for each document, in order."""
        for document in documents:
            lang = language(document.lang, self.lang)
            pipeline = self._pipelines.get(lang)
            if pipeline is None:
                pipeline = self._pipelines[lang] = _blank(lang, self.lookups)
            yield pipeline.read(document, self._terms_of(lexicon, lang))

    def words_version(self, lang: str) -> str:
        """Return the versions of spaCy, its pipeline, and the rules of a language."""
        lang = language(lang, self.lang)
        pipeline = self._pipelines.get(lang)
        model = pipeline.name if pipeline is not None else ""
        parts = [f"spacy {metadata.version('spacy')}", f"model {model}" if model else "no model"]
        if self.lookups:
            parts.append(f"spacy-lookups-data {metadata.version('spacy-lookups-data')}")
        return ", ".join([*parts, rules_version(lang)])

    def annotate_words(
        self, documents: Sequence[Document]
    ) -> Iterator[tuple[Annotation, NDArray[np.bool_]]]:
        """Yield annotations without multi-word terms, and which tokens a term may join."""
        for annotation in self.annotate(documents, Lexicon()):
            joined = joins(annotation.document.text, annotation.spans)
            yield annotation, np.append(joined, False)[: len(annotation.lemmas)]

    def join_terms(
        self,
        annotations: Sequence[Annotation],
        joined: Sequence[NDArray[np.bool_]],
        lexicon: Lexicon,
    ) -> Iterator[Annotation]:
        """Yield annotations of `annotate_words` with the terms of the lexicon."""
        if annotations:
            lang = language(annotations[0].document.lang, self.lang)
            yield from with_terms(annotations, joined, self._terms_of(lexicon, lang))

    def _terms_of(self, lexicon: Lexicon, lang: str) -> Terms:
        if self._terms is None or self._terms[0] is not lexicon:
            self._terms = (lexicon, {})
        by_language = self._terms[1]
        if lang not in by_language:
            by_language[lang] = Terms.of(lexicon, lang)
        return by_language[lang]


def _restored(lang: str, model: str | None, lookups: bool) -> SpacyWords:
    return SpacyWords(lang=lang, model=model, lookups=lookups)


def _blank(lang: str, lookups: bool) -> _Pipeline:
    """Return spaCy's rules for a language, without a trained pipeline."""
    import spacy

    try:
        nlp = spacy.blank(lang)
    except Exception:  # spaCy has no rules for the language, or needs a package for its words
        nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    if lookups:
        return _Pipeline(nlp, _looked_up(lang), tagged=False)
    lemmas = Lemmas(lang)
    cache: dict[str, str] = {}

    def lemma(token: Token, form: str) -> str:
        entry = cache.get(form)
        if entry is None:
            alone = len(form) == 1 or form.endswith("'") or form[0].isdigit()
            entry = cache[form] = form if alone else lemmas.of(form)
        return entry

    return _Pipeline(nlp, lemma, tagged=False)


def _looked_up(lang: str) -> Callable[[Token, str], str]:
    from spacy.lookups import load_lookups

    try:
        table = load_lookups(lang, ["lemma_lookup"]).get_table("lemma_lookup")
    except ValueError as error:
        raise ValueError(
            "lookups=True needs spaCy's tables, which are not installed: "
            "pip install spacy-lookups-data"
        ) from error
    return lambda token, form: str(table.get(form, form)).lower()


def _own_lemma(token: Token, form: str) -> str:
    return str(token.lemma_).lower() or form


def _trained(model: str) -> Language:
    """Return an installed pipeline that tags parts of speech."""
    import spacy

    try:
        nlp: Language = spacy.load(model, exclude=["ner"])
    except OSError as error:
        raise ValueError(
            f"model={model!r} is not installed: python -m spacy download {model}"
        ) from error
    probe = nlp(_PROBE)
    if not probe.has_annotation("POS"):
        raise ValueError(f"model={model!r} tags no parts of speech; model=None needs none")
    if not probe.has_annotation("SENT_START"):
        nlp.add_pipe("sentencizer")
    return nlp


@hookimpl
def register_annotators() -> Mapping[str, type[SpacyWords]]:
    return {"spacy": SpacyWords}
