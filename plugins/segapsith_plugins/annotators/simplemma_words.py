"""Words by a dictionary: tokens, lemmas and sentences for English and French, without a model.

A text is cut into pieces: a chunk (a run of letters or digits with the hyphens, apostrophes and
dots inside it) and the gap behind it. Whatever takes thought is done once for each distinct piece
and remembered; the text itself is only looked up, in bulk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.annotators._boilerplate import address_spans, dateline_span
from segapsith_plugins.annotators._chunk_words import UNITED_STATES, ChunkReader, has_capital
from segapsith_plugins.annotators._pieces import CHUNK, Pieces, match_end
from segapsith_plugins.annotators._sentence_ends import (
    ONE_BLANK,
    Gap,
    Gaps,
    last_chunks,
    standing,
)
from segapsith_plugins.annotators._words import (
    LANGUAGES,
    Terms,
    checked_language,
    language,
    merged,
    partition,
)

__all__ = ["SimplemmaWords"]

_MOST_PIECES, _MOST_CHARACTERS = 1 << 20, 1 << 25
"""Pieces remembered for one language, and their characters, before the table is begun anew."""


class _Found(NamedTuple):
    """The pieces of a text: where they begin, and what is remembered of them.

    `pieces`, by piece of the text: first word, number of words, `Before` and `After` of its chunk,
    the chunk's length, the gap. `words`, by word remembered: start and end in its chunk, whether
    it is content; `lemmas` beside it.
    """

    starts: NDArray[np.int32]
    pieces: NDArray[np.int32]
    words: NDArray[np.int32]
    lemmas: NDArray[np.object_]


class _Memory:
    """What was thought about every piece met so far."""

    def __init__(self, lang: str) -> None:
        self.known = Pieces()
        self._lang = lang
        self._read = ChunkReader(lang)
        self._gaps = Gaps()
        self._chunks: dict[str, tuple[int, int, int, int]] = {}
        self._lock = threading.Lock()
        self._pieces = _Table(6)
        self._words = _Table(3)
        self._lemmas: list[str] = []
        self._texts = np.full(1024, "", object)
        self._n_texts = 0

    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        known = self.known
        return len(known) > _MOST_PIECES or known.n_characters > _MOST_CHARACTERS

    def find(self, text: str) -> _Found:
        """The pieces of a text; those that were not met before are thought about."""
        with self._lock:
            numbers, starts, n_new = self.known.numbers(text)
            if n_new:
                self._learn(text, numbers, starts, len(self.known) - n_new)
            pieces = self._pieces.columns().take(numbers, axis=1)
            return _Found(starts[:-1], pieces, self._words.columns(), self._texts)

    def _learn(
        self, text: str, numbers: NDArray[np.int64], starts: NDArray[np.int32], n_known: int
    ) -> None:
        """New pieces have the numbers from `n_known` on, in the order of the text."""
        highest = np.maximum.accumulate(numbers)
        new = np.flatnonzero(np.diff(highest, prepend=n_known - 1) > 0)
        new = new[numbers[new] >= n_known]
        add, chunks = self._pieces.new.append, self._chunks
        for start, end in zip(starts[new].tolist(), starts[new + 1].tolist(), strict=True):
            piece = text[start:end]
            if piece[-1] == " " and (chunk := piece[:-1]).isalpha():
                gap = ONE_BLANK
            else:
                chunk = piece[: match_end(CHUNK, piece, 0)]
                gap = self._gaps[piece[len(chunk) :]]
            row = chunks.get(chunk) or self._learned(chunk)
            add((*row, len(chunk), gap))
        n, known = len(self._lemmas), self._n_texts
        if n > len(self._texts):
            self._texts = np.resize(self._texts, max(n, 2 * len(self._texts)))
        self._texts[known:n] = self._lemmas[known:]
        self._n_texts = n

    def _learned(self, chunk: str) -> tuple[int, int, int, int]:
        """First word, number of words, `Before` and `After` of a new chunk."""
        first = len(self._lemmas)
        plain = chunk.isascii()  # nearly every one: the same as below, without the way there
        if plain and chunk.isalpha() and chunk not in UNITED_STATES:
            lemma, content = self._read.told(chunk.lower(), has_capital(chunk))
            self._words.new.append((0, len(chunk), content))
            self._lemmas.append(lemma)
        elif plain and chunk[0].isdigit() and chunk[-1].isdigit() and "`" not in chunk:
            self._words.new.append((0, len(chunk), False))
            self._lemmas.append(chunk.lower())
        else:
            for start, end, lemma, content in self._read(chunk):
                self._words.new.append((start, end, content))
                self._lemmas.append(lemma)
        found = (first, len(self._lemmas) - first, *standing(chunk, self._lang))
        self._chunks[chunk] = found
        return found


class _Table:
    """Columns of numbers that grow: new ones wait in a list until they are asked for."""

    def __init__(self, height: int) -> None:
        self.new: list[tuple[int, ...]] = []
        self._columns = np.zeros((height, 1024), np.int32)
        self._n = 0

    def columns(self) -> NDArray[np.int32]:
        if self.new:
            n = self._n + len(self.new)
            height, room = self._columns.shape
            if n > room:
                wider = np.zeros((height, max(n, 2 * room)), np.int32)
                wider[:, : self._n] = self._columns[:, : self._n]
                self._columns = wider
            self._columns[:, self._n : n] = np.array(self.new, np.int32).T
            self._n = n
            self.new.clear()
        return self._columns


# --- the annotator -----------------------------------------------------------------------

_AHEAD = 256
_MOST_TEXT = 1 << 20
"""Documents, and their characters, that are read together if they are all there already.

A stream is read one by one: whoever sends it may count on what has been taken from it.
"""

_BETWEEN = "\n\n"
"""Stands between two documents that are read together, and no chunk reaches over it."""


class _Read(NamedTuple):
    """A document with its text, language, and whether that text has capitals."""

    document: Document
    text: str
    lang: str
    cased: bool


class SimplemmaWords:
    """Lemmas by simplemma's dictionaries and the project's exceptions.

    The language is the document's if it is English or French, otherwise `lang`.
    Sentences part the whole text: each begins where the one before it ends.
    """

    def __init__(self, *, lang: str = "en") -> None:
        self.lang = checked_language(lang)
        self._memories: dict[str, _Memory] = {}
        self._terms: tuple[Lexicon, dict[str, Terms]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _made, (self.lang,)  # what was remembered is found again, and locks do not travel

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """One annotation for each document, in order."""
        ahead = _AHEAD if isinstance(documents, Sequence) else 1
        group: list[_Read] = []
        n_characters = 0
        for document in documents:
            text = document.text
            read = _Read(document, text, language(document.lang, self.lang), not text.islower())
            if group and group[0][2:] != read[2:]:
                yield from self._annotations(group, lexicon)
                group, n_characters = [], 0
            group.append(read)
            n_characters += len(text)
            if len(group) >= ahead or n_characters > _MOST_TEXT:
                yield from self._annotations(group, lexicon)
                group, n_characters = [], 0
        yield from self._annotations(group, lexicon)

    def _terms_of(self, lexicon: Lexicon, lang: str) -> Terms:
        if self._terms is None or self._terms[0] is not lexicon:
            self._terms = (lexicon, {name: Terms.of(lexicon, name) for name in LANGUAGES})
        return self._terms[1][lang]

    def _memory(self, lang: str) -> _Memory:
        memory = self._memories.get(lang)
        if memory is None or memory.is_full():
            memory = self._memories[lang] = _Memory(lang)
        return memory

    def _annotations(self, group: Sequence[_Read], lexicon: Lexicon) -> Iterator[Annotation]:
        """Annotations of documents of one language, which are read as one text."""
        if not group:
            return
        _, _, lang, cased = group[0]
        text = _BETWEEN.join(read.text for read in group)
        chunk_starts, pieces, word_table, texts = self._memory(lang).find(text)
        words, counts, before, after, chunk_lengths, gaps = pieces
        n_chunks = len(chunk_starts)
        chunk_ends = chunk_starts + chunk_lengths
        parents = np.repeat(np.arange(n_chunks), counts)
        words = (words - (counts.cumsum() - counts)).take(parents) + np.arange(len(parents))
        lemmas: list[str] = texts.take(words).tolist()
        columns = word_table.take(words, axis=1)
        content = columns[2] != 0
        spans = np.empty((len(lemmas), 2), np.int32)
        np.add(columns[:2].T, chunk_starts.take(parents)[:, None], out=spans)

        silent = list(address_spans(text))
        text_starts, start = [], 0
        for document, part, *_ in group:
            text_starts.append(start)
            body = start + (len(document.title) + 2 if document.title and document.body else 0)
            start += len(part)
            if dateline := dateline_span(text, body, start):
                silent.append(dateline)
            start += len(_BETWEEN)
        for first, last in spans[:, 0].searchsorted(np.array(silent).reshape(-1, 2)).tolist():
            content[first:last] = False

        if terms := self._terms_of(lexicon, lang):
            kinds = gaps & 7
            joined = (kinds == Gap.BLANK) | (kinds == Gap.HYPHEN)
            joined = (parents[1:] == parents[:-1]) | joined.take(parents[:-1])
            merges = list(terms.find(lemmas, joined))
            lemmas, spans, content = merged(lemmas, spans, content, merges)

        sentence_chunks = last_chunks(gaps, before, after, cased)
        bounds = chunk_ends.take(sentence_chunks) + (gaps.take(sentence_chunks) >> 3)
        edges = [*text_starts, len(text) + len(_BETWEEN)]
        first_words = spans[:, 0].searchsorted(edges).tolist()
        first_chunks = chunk_starts.searchsorted(edges)
        # The gap before the first chunk of a text, and the one after its last, end no sentence.
        first_bounds = sentence_chunks.searchsorted(first_chunks[:-1]).tolist()
        last_bounds = sentence_chunks.searchsorted(first_chunks[1:] - 1).tolist()
        for i, (document, part, *_) in enumerate(group):
            mine = slice(first_words[i], first_words[i + 1])
            yield Annotation(
                document,
                lemmas[mine],
                spans[mine] - np.int32(edges[i]),
                content[mine].copy(),
                partition(bounds[first_bounds[i] : last_bounds[i]] - edges[i], len(part)),
            )


def _made(lang: str) -> SimplemmaWords:
    return SimplemmaWords(lang=lang)


@hookimpl
def register_annotators() -> Mapping[str, type[SimplemmaWords]]:
    return {"simplemma": SimplemmaWords}
