"""Words by dictionaries and rules: tokens, lemmas and sentences of all languages, without a model.

A text is divided into pieces: a chunk (a run of letters or digits with the hyphens, apostrophes and
dots inside it) and the gap after it. Each distinct piece is analysed once and cached; the text
itself is only looked up, in arrays.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.languages import pack_of
from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins.annotators._chunks import (
    ONE_BLANK,
    UNITED_STATES,
    ChunkReader,
    Gap,
    Gaps,
    Pieces,
    chunk_pattern,
    has_capital,
    last_chunks,
    match_end,
    stop_roles,
)
from segapsith_plugins.annotators._words import (
    Terms,
    checked_language,
    language,
    merged,
    partition,
    rules_version,
    with_terms,
    word_set,
)

__all__ = ["SimplemmaWords"]

_MAX_PIECES, _MAX_CHARACTERS = 1 << 20, 1 << 25
"""Maximum pieces, and characters of them, in the cache of a language; then it is emptied."""


class _AnalysedText(NamedTuple):
    """The pieces of a text: where they begin, and their cached analysis.

    `pieces`, by piece of the text: first word, number of words, `Before` and `After` of its chunk,
    the chunk's length, the gap. `words`, by cached word: start and end in its chunk, and whether it
    is content; `lemmas` has the same order.
    """

    starts: NDArray[np.int32]
    pieces: NDArray[np.int32]
    words: NDArray[np.int32]
    lemmas: NDArray[np.object_]


class _Cache:
    """The cached analysis of all pieces so far."""

    def __init__(self, lang: str) -> None:
        self.numbering = Pieces()
        self._lang = lang
        self._read = ChunkReader(lang)
        self._gaps = Gaps(pack_of(lang).sentence_ends)
        self._pattern = chunk_pattern()
        self._max_pieces = _MAX_PIECES if self._read.has_spaces else _MAX_PIECES >> 4
        self._chunks: dict[str, tuple[int, int, int, int]] = {}
        self._lock = threading.Lock()
        self._pieces = _Table(6)
        self._words = _Table(3)
        self._lemmas: list[str] = []
        self._texts = np.full(1024, "", object)
        self._n_texts = 0

    def is_full(self) -> bool:
        """Return whether the cache should be replaced by an empty one."""
        n_characters = self.numbering.n_characters
        return len(self.numbering) > self._max_pieces or n_characters > _MAX_CHARACTERS

    def find(self, text: str) -> _AnalysedText:
        """Return the pieces of a text; new ones are analysed."""
        with self._lock:
            numbers, starts, n_new = self.numbering.numbers(text)
            if n_new:
                self._learn(text, numbers, starts, len(self.numbering) - n_new)
            pieces = self._pieces.columns().take(numbers, axis=1)
            return _AnalysedText(starts[:-1], pieces, self._words.columns(), self._texts)

    def _learn(
        self, text: str, numbers: NDArray[np.int64], starts: NDArray[np.int32], n_known: int
    ) -> None:
        """Analyse the new pieces, which have numbers >= `n_known` in the order of the text."""
        highest = np.maximum.accumulate(numbers)
        new = np.flatnonzero(np.diff(highest, prepend=n_known - 1) > 0)
        new = new[numbers[new] >= n_known]
        add, chunks = self._pieces.new.append, self._chunks
        for start, end in zip(starts[new].tolist(), starts[new + 1].tolist(), strict=True):
            piece = text[start:end]
            if piece[-1] == " " and (chunk := piece[:-1]).isalpha():
                gap = ONE_BLANK
            else:
                chunk = piece[: match_end(self._pattern, piece, 0)]
                gap = self._gaps[piece[len(chunk) :]]
            row = chunks.get(chunk) or self._learned(chunk)
            add((*row, len(chunk), gap))
        n, n_before = len(self._lemmas), self._n_texts
        if n > len(self._texts):
            self._texts = np.resize(self._texts, max(n, 2 * len(self._texts)))
        self._texts[n_before:n] = self._lemmas[n_before:]
        self._n_texts = n

    def _learned(self, chunk: str) -> tuple[int, int, int, int]:
        """Return first word, number of words, `Before` and `After` of a new chunk."""
        first = len(self._lemmas)
        # the usual case: same result as below, but faster
        plain = chunk.isascii() and self._read.is_plain
        if plain and chunk.isalpha() and chunk not in UNITED_STATES:
            lemma, content = self._read.lemma_of(chunk.lower(), has_capital(chunk))
            self._words.new.append((0, len(chunk), content))
            self._lemmas.append(lemma)
        elif plain and chunk[0].isdigit() and chunk[-1].isdigit() and "`" not in chunk:
            self._words.new.append((0, len(chunk), False))
            self._lemmas.append(chunk.lower())
        else:
            for start, end, lemma, content in self._read(chunk):
                self._words.new.append((start, end, content))
                self._lemmas.append(lemma)
        row = (first, len(self._lemmas) - first, *stop_roles(chunk, self._lang))
        self._chunks[chunk] = row
        return row


class _Table:
    """Columns of numbers that grow; new ones are collected in a list until they are needed."""

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


# --- parts of a wire that are not content --------------------------------------------------

_TICKER = re.compile(
    r"<[A-Z0-9][A-Z0-9.\-=^]{0,11}>"
    r"|\((?:NYSE|NASDAQ|Nasdaq|AMEX|LSE|TSX|TSE|EPA|Euronext|OTC|OTCBB|FRA|ASX|HKEX|SIX)"
    r"\s?:\s?[A-Z0-9.\-]{1,12}\)"
)
_MONTH = "jan feb mar apr may jun jul aug sep oct nov dec janv fév févr mars avr mai juin juil août déc".replace(
    " ", "|"
)
_DATE = rf"(?:{_MONTH})[a-zé]{{0,7}}\.? \d{{1,2}}|\d{{1,2}}(?:er)? (?:{_MONTH})[a-zé]{{0,7}}\.?"
_DATELINE = re.compile(
    r"\s{0,9}(?P<place>[^\W\d_][^\n()]{1,60}?)"
    rf"(?:,? (?i:{_DATE})(?:,? \d{{4}})?(?: \([^()\n]{{2,30}}\))?"
    r"|,? \((?:AFP|AP|Reuters?|REUTERS?|UPI|ANSA|DPA|dpa|Xinhua|TASS|Belga|ATS)\))"
    r" ?(?:--|[-–—])(?=\s)"
)
_PLACE_WORDS = word_set("de du des la le les l d en et sur sous lès of and the al el am")
_HEAD_CHARS = 160


def dateline_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the dateline of a body that begins at `start`, or None."""
    head = text[start : min(start + _HEAD_CHARS, end)]
    if "-" in head or "–" in head or "—" in head:
        match = _DATELINE.match(head)
        if match and all(
            word[0].isupper() or word in _PLACE_WORDS for word in match["place"].split()
        ):
            return start, start + match.end()
    return None


def address_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of tickers, web addresses and mail addresses."""
    if "<" in text or "(" in text:
        for match in _TICKER.finditer(text):
            yield match.span()
    for at in _places(text, "://"):
        start = at - 5 if text.endswith("https", 0, at) else at - 4
        if text.endswith("http", 0, at) or start == at - 5:
            yield start, match_end(_TO_BLANK, text, at + 3)
    for at in _places(text, "www."):
        yield at, match_end(_TO_BLANK, text, at + 4)
    for at in _places(text, "@"):
        start = at
        while (
            start
            and at - start <= _MAX_LOCAL_CHARS
            and (text[start - 1].isalnum() or text[start - 1] in "._+-")
        ):
            start -= 1
        end = match_end(_HOST, text, at + 1)
        if 0 < at - start <= _MAX_LOCAL_CHARS and end > at + 1:
            yield start, end


_MAX_LOCAL_CHARS = 64
"""Maximum number of characters before the @ of an address."""
_TO_BLANK = re.compile(r"[^\s<>]*+")
_HOST = re.compile(r"[\w.-]*+")


def _places(text: str, sign: str) -> Iterator[int]:
    """Yield where a string occurs; this is faster than a pattern."""
    place = text.find(sign)
    while place >= 0:
        yield place
        place = text.find(sign, place + 1)


# --- the annotator -----------------------------------------------------------------------

_MAX_GROUP_DOCUMENTS = 256
_MAX_GROUP_CHARS = 1 << 20
"""Maximum documents, and characters of them, that are analysed together if all are available.

A stream is read one by one, because its sender may rely on what has been read.
"""

_BETWEEN = "\n\n"
"""Separates two documents that are analysed together; no chunk extends over it."""


class _Input(NamedTuple):
    """A document with its text, its language, and whether the text has capitals."""

    document: Document
    text: str
    lang: str
    cased: bool


class SimplemmaWords:
    """Lemmas by simplemma's dictionaries and the exceptions of this package.

    The language is that of the document, and `lang` if it declares none. A language without a pack
    has no lemmas and no stop words. Sentences cover the whole text: each begins where the previous
    one ends.
    """

    def __init__(self, *, lang: str = "en") -> None:
        self.lang = checked_language(lang)
        self._caches: dict[str, _Cache] = {}
        self._terms: tuple[Lexicon, dict[str, Terms]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.lang,)  # without the caches: they hold locks, and can be rebuilt

    def annotate(self, documents: Iterable[Document], lexicon: Lexicon) -> Iterator[Annotation]:
        """Yield one annotation for each document, in order."""
        return self._grouped(documents, lexicon)

    def _grouped(
        self,
        documents: Iterable[Document],
        lexicon: Lexicon | None,
        joins: deque[NDArray[np.bool_]] | None = None,
    ) -> Iterator[Annotation]:
        """Yield annotations of documents, which are analysed in groups of one language."""
        ahead = _MAX_GROUP_DOCUMENTS if isinstance(documents, Sequence) else 1
        group: list[_Input] = []
        n_characters = 0
        for document in documents:
            text = document.text
            read = _Input(document, text, language(document.lang, self.lang), not text.islower())
            if group and group[0][2:] != read[2:]:
                yield from self._annotations(group, lexicon, joins)
                group, n_characters = [], 0
            group.append(read)
            n_characters += len(text)
            if len(group) >= ahead or n_characters > _MAX_GROUP_CHARS:
                yield from self._annotations(group, lexicon, joins)
                group, n_characters = [], 0
        yield from self._annotations(group, lexicon, joins)

    def words_version(self, lang: str) -> str:
        """Return the versions of the rules and dictionaries of a language."""
        return rules_version(language(lang, self.lang))

    def annotate_words(
        self, documents: Sequence[Document]
    ) -> Iterator[tuple[Annotation, NDArray[np.bool_]]]:
        """Yield annotations without multi-word terms, and which tokens a term may join."""
        joined: deque[NDArray[np.bool_]] = deque()
        for annotation in self._grouped(documents, None, joined):
            yield annotation, joined.popleft()

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

    def _cache(self, lang: str) -> _Cache:
        cache = self._caches.get(lang)
        if cache is None or cache.is_full():
            cache = self._caches[lang] = _Cache(lang)
        return cache

    def _annotations(
        self,
        group: Sequence[_Input],
        lexicon: Lexicon | None,
        joins: deque[NDArray[np.bool_]] | None = None,
    ) -> Iterator[Annotation]:
        """Yield annotations of documents in one language, which are analysed as one text.

        `joins` receives, for each document, whether each token may be joined to the next one.
        """
        if not group:
            return
        _, _, lang, cased = group[0]
        text = _BETWEEN.join(read.text for read in group)
        chunk_starts, pieces, word_table, texts = self._cache(lang).find(text)
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

        terms = None if lexicon is None else self._terms_of(lexicon, lang)
        joined = np.zeros(0, np.bool_)
        if terms or joins is not None:
            kinds = gaps & 7
            joined = (kinds == Gap.BLANK) | (kinds == Gap.HYPHEN)
            joined = (parents[1:] == parents[:-1]) | joined.take(parents[:-1])
        all_joined = np.append(joined, False) if joins is not None else joined
        if terms:
            merges = list(terms.find(lemmas, joined))
            lemmas, spans, content = merged(lemmas, spans, content, merges)

        sentence_chunks = last_chunks(gaps, before, after, cased)
        bounds = chunk_ends.take(sentence_chunks) + (gaps.take(sentence_chunks) >> 3)
        edges = [*text_starts, len(text) + len(_BETWEEN)]
        first_words = spans[:, 0].searchsorted(edges).tolist()
        first_chunks = chunk_starts.searchsorted(edges)
        # The gaps before the first chunk of a text and after its last do not end a sentence.
        first_bounds = sentence_chunks.searchsorted(first_chunks[:-1]).tolist()
        last_bounds = sentence_chunks.searchsorted(first_chunks[1:] - 1).tolist()
        for i, (document, part, *_) in enumerate(group):
            mine = slice(first_words[i], first_words[i + 1])
            if joins is not None:
                joins.append(all_joined[mine].copy())
            yield Annotation(
                document,
                lemmas[mine],
                spans[mine] - np.int32(edges[i]),
                content[mine].copy(),
                partition(bounds[first_bounds[i] : last_bounds[i]] - edges[i], len(part)),
            )


def _restored(lang: str) -> SimplemmaWords:
    return SimplemmaWords(lang=lang)


@hookimpl
def register_annotators() -> Mapping[str, type[SimplemmaWords]]:
    return {"simplemma": SimplemmaWords}
