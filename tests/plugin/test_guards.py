"""Guards pass on declared abilities only, and notice rows that a similarity has changed."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

import segapsith
from segapsith import plugin
from segapsith.errors import PluginError
from segapsith.model import Annotation, Document, Lexicon, PreparedText
from segapsith.plugin import contracts
from segapsith.plugin.guards import GuardedAnnotator, GuardedSimilarity, PluginName
from segapsith.plugin.registry import load_plugins
from segapsith.tokens import Columns, Tokens, WordList

ROWS = [[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]


class Plain:
    """A similarity that may do something to its rows before it compares them."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    takes_views = True
    secret = 7

    def __init__(self, act: Any = lambda rows: None) -> None:
        self.act = act

    def learn(self, rows: Any) -> None: ...

    def compare(self, left: Any, right: Any) -> Any:
        self.act(right)
        return np.zeros((left.shape[0], right.shape[0]))

    def state(self) -> Any:
        return {}

    def restore(self, state: Any) -> None: ...

    def factors(self, rows: Any) -> Any:
        return rows.toarray()


def guarded(act: Any = lambda rows: None) -> GuardedSimilarity:
    return GuardedSimilarity(Plain(act), PluginName("similarity", "plain"))


def test_declared_abilities_are_reachable_and_nothing_else() -> None:
    measure = guarded()
    assert contracts.takes_views(measure) and contracts.has_factors(measure)
    assert not contracts.compares_learned_rows_only(measure)
    assert not contracts.has_unit_diagonal(measure)
    with pytest.raises(AttributeError, match="secret"):
        _ = measure.secret
    assert measure.plugin.secret == 7  # type: ignore[attr-defined]


def test_a_guard_can_be_copied() -> None:
    assert copy.copy(guarded()).bounds == (0.0, 1.0)


def test_every_ability_of_the_built_in_plugins_is_declared() -> None:
    registry = load_plugins(only_own=True)
    assert registry.having("similarity", contracts.takes_views) == ["mvsim"]
    assert registry.having("clusterer", contracts.takes_views) == ["mvkm"]
    assert "lsa" in registry.having("similarity", contracts.has_factors)
    unlearned = registry.having("similarity", contracts.compares_learned_rows_only)
    assert "snos" in unlearned and "cosine" not in unlearned


def _scale(rows: Any) -> None:
    rows.data *= 2


def _swap(rows: Any) -> None:
    rows.data[[0, 1]] = rows.data[[1, 0]]


def _move(rows: Any) -> None:
    rows.indices[0] = 1


def _replace(rows: Any) -> None:
    rows.data = rows.data + 1


@pytest.mark.parametrize("act", [_scale, _swap, _move, _replace])
@pytest.mark.parametrize("size", [1, 500])
def test_changed_rows_are_noticed(act: Any, size: int) -> None:
    rows = csr_array(np.tile(ROWS, (size, 1)))
    assert rows.has_canonical_format
    with pytest.raises(PluginError, match="changed its input") as error:
        guarded(act).compare(rows, rows)
    assert error.value.plugin == "plain"


def test_sorting_and_summing_duplicates_is_no_change() -> None:
    def unsorted() -> Any:
        parts = (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3]))
        return csr_array(parts, shape=(1, 3))

    for act in (lambda rows: rows.sort_indices(), lambda rows: rows.sum_duplicates()):
        guarded(act).compare(unsorted(), unsorted())
    with pytest.raises(PluginError, match="changed its input"):
        guarded(_scale).compare(unsorted(), unsorted())


def test_a_failure_with_a_document_has_its_identity() -> None:
    class Nothing:
        def annotate(self, documents: Any, lexicon: Lexicon) -> Any:
            yield from [None]

    annotator = GuardedAnnotator(Nothing(), PluginName("annotator", "nothing"))
    with pytest.raises(PluginError) as error:
        list[Annotation](annotator.annotate([Document("a-1", "", "Some text.")], Lexicon()))
    assert (error.value.plugin, error.value.uid) == ("nothing", "a-1")


def test_contracts_come_from_either_package_without_heavy_imports() -> None:
    for name in ("Annotator", "Clusterer", "Comparison", "Exporter", "Segmenter", "Similarity"):
        assert getattr(plugin, name) is getattr(segapsith, name)
    assert plugin.hookimpl is segapsith.hookimpl
    code = (
        "import sys; from segapsith.plugin import Similarity, HasFactors;"
        "print([m for m in ('numpy', 'scipy', 'pluggy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class WordsInSteps:
    """Words between blanks; terms are two words with a blank between them."""

    def __init__(self, n_flags: int | None = None) -> None:
        self.n_flags = n_flags

    def annotate(self, documents: Any, lexicon: Lexicon) -> Any:
        return (words_of(document) for document in documents)

    def words_version(self, lang: str) -> str:
        return f"version of {lang}"

    def annotate_words(self, documents: Any) -> Any:
        for document in documents:
            annotation = words_of(document)
            n_flags = len(annotation.lemmas) if self.n_flags is None else self.n_flags
            yield annotation, np.zeros(n_flags, np.bool_)

    def join_terms(self, annotations: Any, joined: Any, lexicon: Lexicon) -> Any:
        for annotation in annotations:
            yield replace(annotation, lemmas=[f"{lemma}!" for lemma in annotation.lemmas])


def words_of(document: Document) -> Annotation:
    lemmas = document.text.split()
    ends = np.cumsum([len(lemma) + 1 for lemma in lemmas]) - 1
    spans = np.column_stack([ends - [len(lemma) for lemma in lemmas], ends])
    sentences = np.array([[0, len(document.text)]])
    return Annotation(document, lemmas, spans, np.ones(len(lemmas), np.bool_), sentences)


def prepared_by(annotator: GuardedAnnotator, *bodies: str) -> list[Document]:
    documents = [Document(body=body, lang="en") for body in bodies]
    return [
        replace(one, prepared=PreparedText("", one.body, "", b"", "en", "", words))
        for one, words in zip(documents, annotator.prepare_words(documents), strict=True)
    ]


def test_prepared_words_are_used_where_they_fit(caplog: pytest.LogCaptureFixture) -> None:
    annotator = GuardedAnnotator(WordsInSteps(), PluginName("annotator", "steps"))
    fit, changed, foreign, other = prepared_by(annotator, "rain fell", "b", "c", "d")
    assert other.prepared is not None and other.prepared.words is not None
    old = replace(other.prepared, words=replace(other.prepared.words, made_by="steps (old)"))
    documents = [
        fit,
        replace(changed, body="new"),
        replace(foreign, lang="fr"),
        replace(other, prepared=old),
        Document(body="raw", lang="en"),
        fit,
    ]
    lemmas = [list(one.lemmas) for one in annotator.annotate(documents, Lexicon())]
    assert lemmas == [["rain!", "fell!"], ["new"], ["c"], ["d"], ["raw"], ["rain!", "fell!"]]
    list(annotator.annotate(documents, Lexicon()))
    assert [record.getMessage() for record in caplog.records] == [
        "prepared texts are read again: prepared for the language 'en', but read as 'fr'",
        (
            "prepared texts are read again: prepared with steps (old); the annotator here is"
            " steps (version of en)"
        ),
    ]


def test_an_annotator_without_steps_prepares_no_words() -> None:
    class Plain:
        def annotate(self, documents: Any, lexicon: Lexicon) -> Any:
            return map(words_of, documents)

    plain = GuardedAnnotator(Plain(), PluginName("annotator", "plain"))
    assert list(plain.prepare_words([Document(body="a"), Document(body="b")])) == [None, None]
    assert plain.words_made_by("en") == ""
    (document,) = prepared_by(GuardedAnnotator(WordsInSteps(), PluginName("annotator", "s")), "a")
    assert [list(one.lemmas) for one in plain.annotate([document], Lexicon())] == [["a"]]


def test_a_step_that_breaks_its_contract_is_named() -> None:
    wrong = GuardedAnnotator(WordsInSteps(n_flags=7), PluginName("annotator", "wrong"))
    with pytest.raises(PluginError, match="'wrong': annotate_words should give 1 booleans beside"):
        list(wrong.prepare_words([Document(body="a", lang="en")]))


class Together:
    """Gives columns of all texts; `change` makes them wrong."""

    def __init__(self, change: Callable[[Columns], Columns] = lambda columns: columns) -> None:
        self.change = change

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        yield from self.annotate_all(list(documents), lexicon).annotations

    def annotate_all(self, documents: Sequence[Document], lexicon: Lexicon) -> Tokens:
        words, spans, start = WordList(), [], 0
        for document in documents:
            spans.append((start, start + len(document.text)))
            start += len(document.text) + 2
        columns = Columns(
            words,
            np.array([words.number(document.text) for document in documents], np.int32),
            np.array(spans),
            np.ones(len(documents), np.bool_),
            np.array(spans),
        )
        return Tokens.of_columns(documents, self.change(columns))


def test_tokens_of_several_texts_are_taken_at_once() -> None:
    annotator = GuardedAnnotator(Together(), PluginName("annotator", "together"))
    tokens = annotator.annotate_all([Document(body="oil"), Document(body="gold")], Lexicon())
    assert tokens.words == ["oil", "gold"]
    assert [annotation.lemmas for annotation in tokens.annotations] == [["oil"], ["gold"]]


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns._replace(spans=columns.spans + 1),
        lambda columns: columns._replace(spans=columns.spans[:, ::-1]),
        lambda columns: columns._replace(content=np.ones(1, np.bool_)),
        lambda columns: columns._replace(sentences=columns.sentences - 1),
    ],
)
def test_wrong_tokens_of_several_texts_are_refused(change: Callable[[Columns], Columns]) -> None:
    annotator = GuardedAnnotator(Together(change), PluginName("annotator", "wrong"))
    with pytest.raises(PluginError, match="wrong"):
        annotator.annotate_all([Document(body="oil"), Document(body="gold")], Lexicon())
