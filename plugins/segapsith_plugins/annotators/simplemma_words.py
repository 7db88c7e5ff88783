"""Words by dictionaries and rules: tokens, lemmas and sentences of all languages, without a model.

A text is divided into chunks (runs of letters or digits with the hyphens, apostrophes and dots inside
them) and the gaps between them. Each distinct chunk and gap is analysed once and cached; the text
itself is only looked up, in arrays.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.languages import pack_of
from segapsith.model import Annotation, Document, Lexicon
from segapsith.plugin.hookspecs import hookimpl
from segapsith.tokens import BETWEEN, Columns, Tokens, WordList
from segapsith_plugins.annotators._chunks import (
    UNITED_STATES,
    ChunkReader,
    Gaps,
    Strings,
    chunks_of,
    has_capital,
    last_chunks,
    match_end,
    stop_roles,
)
from segapsith_plugins.annotators._words import (
    Terms,
    checked_language,
    full_forms,
    language,
    rules_version,
    term_lemma,
    with_terms,
    word_set,
)

__all__ = ["SimplemmaWords", "TermSearch"]

_MAX_CHUNKS, _MAX_CHARACTERS = 1 << 20, 1 << 25
"""Maximum chunks and gaps, and characters of them, in the cache of a language; then it is emptied."""

_PREPARED = 4096
"""New chunks whose words are looked up at once."""

Numbers = NDArray[np.int32]


class _AnalysedText(NamedTuple):
    """The chunks of a text: where they begin and end, and their cached analysis.

    `chunks`, by chunk of the text: first word, number of words, `Before` and `After`; `gaps` are
    those after them. `words`, by cached word: start and end in its chunk, whether it is content,
    lemma, form.
    """

    starts: Numbers
    ends: Numbers
    chunks: Numbers
    gaps: Numbers
    words: Numbers


class _Cache:
    """The cached analysis of all chunks and gaps so far."""

    def __init__(self, lang: str) -> None:
        self.lemmas = WordList()
        self._lang = lang
        self._read = ChunkReader(lang)
        self._gap_kinds = Gaps(pack_of(lang).sentence_ends)
        self._max_chunks = _MAX_CHUNKS if self._read.has_spaces else _MAX_CHUNKS >> 4
        self._lock = threading.Lock()
        self._chunk_strings, self._gap_strings = Strings(), Strings()
        self._chunks, self._gaps, self._words = _Table(4), _Table(1), _Table(5)
        self._n_words = 0
        self._forms: dict[str, int] = {}
        self._terms: tuple[Lexicon, TermSearch] | None = None

    def is_full(self) -> bool:
        """Return whether the cache should be replaced by an empty one."""
        strings = self._chunk_strings, self._gap_strings
        n_characters = sum(one.n_characters for one in strings)
        return sum(map(len, strings)) > self._max_chunks or n_characters > _MAX_CHARACTERS

    def find(self, text: str) -> _AnalysedText:
        """Return the chunks of a text; new ones are analysed."""
        codes, starts, ends = chunks_of(text)
        with self._lock:
            numbers, new = self._chunk_strings.numbers(codes, starts[:-1], ends)
            places = list(zip(starts[new].tolist(), ends[new].tolist(), strict=True))
            for begin in range(0, len(places), _PREPARED):
                some = [text[first:last] for first, last in places[begin : begin + _PREPARED]]
                self._read.prepare(some)
                for chunk in some:
                    self._learn(chunk)
            if places:
                self._read.prepare(())
            gaps, new = self._gap_strings.numbers(codes, ends, starts[1:])
            for first, last in zip(ends[new].tolist(), starts[new + 1].tolist(), strict=True):
                self._gaps.new.append((self._gap_kinds[text[first:last]],))
            return _AnalysedText(
                starts[:-1],
                ends,
                self._chunks.columns().take(numbers, axis=1),
                self._gaps.columns()[0].take(gaps),
                self._words.columns(),
            )

    def _learn(self, chunk: str) -> None:
        """Analyse a new chunk."""
        first = self._n_words
        # the usual case: same result as below, but faster
        plain = chunk.isascii() and self._read.is_plain
        if plain and chunk.isalpha() and chunk not in UNITED_STATES:
            lemma, content = self._read.lemma_of(chunk.lower(), has_capital(chunk))
            self._add(chunk, 0, len(chunk), lemma, content)
        elif plain and chunk[0].isdigit() and chunk[-1].isdigit() and "`" not in chunk:
            self._add(chunk, 0, len(chunk), chunk.lower(), False)
        else:
            for start, end, lemma, content in self._read(chunk):
                self._add(chunk, start, end, lemma, content)
        self._chunks.new.append((first, self._n_words - first, *stop_roles(chunk, self._lang)))

    def _add(self, chunk: str, start: int, end: int, lemma: str, content: bool) -> None:
        form = self._forms.setdefault(chunk[start:end].lower(), len(self._forms))
        self._words.new.append((start, end, content, self.lemmas.number(lemma), form))
        self._n_words += 1

    def terms(self, lexicon: Lexicon) -> TermSearch:
        """Return the search for the terms of a lexicon."""
        with self._lock:
            if self._terms is None or self._terms[0] is not lexicon:
                terms = lexicon.terms.get(self._lang, ())
                self._terms = lexicon, TermSearch(terms, self._lang, self.lemmas)
            return self._terms[1]

    def joined(
        self, terms: TermSearch, numbers: Numbers, may_join: NDArray[np.bool_]
    ) -> tuple[Numbers, Numbers]:
        """Return the tokens of each term in a text, and the numbers of the terms' lemmas."""
        with self._lock:
            return terms.find(numbers, may_join)


@kernel
def _expanded(
    starts: Numbers, firsts: Numbers, counts: Numbers, gaps: Numbers, words: Numbers
) -> tuple[Numbers, NDArray[np.int64], NDArray[np.bool_], Numbers, NDArray[np.bool_]]:
    """Return lemma, span, content, form of each word of the chunks, and whether the next word
    follows in the same chunk or after a blank or a hyphen."""
    n = 0
    for chunk in range(len(counts)):
        n += counts[chunk]
    lemmas, forms = np.empty(n, np.int32), np.empty(n, np.int32)
    spans = np.empty((n, 2), np.int64)
    content, joined = np.empty(n, np.bool_), np.ones(n, np.bool_)
    i = 0
    for chunk in range(len(counts)):
        start = starts[chunk]
        for word in range(firsts[chunk], firsts[chunk] + counts[chunk]):
            spans[i, 0] = start + words[0, word]
            spans[i, 1] = start + words[1, word]
            content[i] = words[2, word] != 0
            lemmas[i] = words[3, word]
            forms[i] = words[4, word]
            i += 1
        if counts[chunk]:
            gap = gaps[chunk] & 7
            joined[i - 1] = gap == 1 or gap == 2  # Gap.BLANK, Gap.HYPHEN
    if n:
        joined[n - 1] = False
    return lemmas, spans, content, forms, joined


@kernel
def _merge(
    merges: Numbers,
    terms: Numbers,
    lemmas: Numbers,
    spans: NDArray[np.int64],
    content: NDArray[np.bool_],
    forms: Numbers,
) -> tuple[Numbers, NDArray[np.int64], NDArray[np.bool_], Numbers]:
    """Return the tokens with those of each term merged: it is content if one of them is."""
    n = len(lemmas)
    for merge in range(len(merges)):
        n -= merges[merge, 1] - merges[merge, 0] - 1
    out_lemmas, out_forms = np.empty(n, np.int32), np.empty(n, np.int32)
    out_spans, out_content = np.empty((n, 2), np.int64), np.empty(n, np.bool_)
    i, merge = 0, 0
    for k in range(n):
        out_lemmas[k], out_forms[k], out_content[k] = lemmas[i], forms[i], content[i]
        out_spans[k, 0], out_spans[k, 1] = spans[i, 0], spans[i, 1]
        last = i + 1
        if merge < len(merges) and merges[merge, 0] == i:
            last = merges[merge, 1]
            out_lemmas[k], out_forms[k] = terms[merge], -1
            out_spans[k, 1] = spans[last - 1, 1]
            for j in range(i + 1, last):
                out_content[k] |= content[j]
            merge += 1
        i = last
    return out_lemmas, out_spans, out_content, out_forms


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


# --- the search for multi-word terms -----------------------------------------------------

_FREE = -1


class TermSearch:
    """Terms as a tree of lemmas, to be searched in texts; it finds what `Terms` finds.

    >>> words = WordList()
    >>> text = np.array([words.number(word) for word in ("the", "prime", "minister")], np.int32)
    >>> search = TermSearch({("prime", "minister")}, "en", words)
    >>> merges, lemmas = search.find(text, np.ones(3, np.bool_))
    >>> merges.tolist(), [words.words[lemma] for lemma in lemmas.tolist()]
    ([[1, 3]], ['prime minister'])
    """

    def __init__(self, terms: Iterable[Sequence[str]], lang: str, words: WordList) -> None:
        """Take the accepted terms of a language; their lemmas get numbers in the word list."""
        self._words, self._lang = words, lang
        self._full = full_forms(lang)
        self._lemma_of: dict[tuple[int, ...], int] = {}
        nodes: dict[tuple[int, int], int] = {}
        ends = [False]
        full = self._full
        for term in terms:
            node = 0
            for word in term if len(term) > 1 else ():
                key = (node, words.number(full.get(word, word)))
                node = nodes.setdefault(key, len(ends))
                if node == len(ends):
                    ends.append(False)
            if node:
                ends[node] = True
        self._is_end = np.array(ends)
        size = 1 << max(4, (2 * len(nodes)).bit_length())
        self._keys, self._children = np.full(size, _FREE, np.int64), np.zeros(size, np.int32)
        if nodes:  # else the kernel need not be loaded
            pairs = np.array(list(nodes), np.int64).reshape(-1, 2)
            _enter(
                pairs[:, 0] << 32 | pairs[:, 1],
                np.fromiter(nodes.values(), np.int32, len(nodes)),
                self._keys,
                self._children,
            )
        self._firsts = np.zeros(0, np.int32)
        self._plain = np.zeros(0, np.int32)

    def __bool__(self) -> bool:
        return len(self._is_end) > 1

    def find(
        self, numbers: Numbers, may_join: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], Numbers]:
        """Return the tokens of each term, from left to right, the longest first, without overlaps,
        and the lemma of each term as a number of the word list.

        `may_join[i]`: only a blank or a hyphen separates token i from the next.
        """
        self._cover()
        merges = _find(
            numbers, may_join, self._plain, self._firsts, self._keys, self._children, self._is_end
        )
        lemmas = np.empty(len(merges), np.int32)
        for place, (first, last) in enumerate(merges.tolist()):
            key = tuple(numbers[first:last].tolist())
            lemma = self._lemma_of.get(key)
            if lemma is None:
                words = [self._words.words[number] for number in key]
                lemma = self._words.number(term_lemma(words, self._lang))
                self._lemma_of[key] = lemma
            lemmas[place] = lemma
        return merges, lemmas

    def _cover(self) -> None:
        """Look up the words that are newer than the last search."""
        known, n_words = len(self._plain), len(self._words)
        if known == n_words:
            return
        new = np.arange(known, n_words, dtype=np.int32)
        self._plain = np.append(self._plain, new)
        for short, word in self._full.items():
            at, to = self._words.find(short), self._words.find(word)
            if at >= known and to >= 0:  # if the full form is in no term, nothing depends on it
                self._plain[at] = to
        opening = _children_of_root(self._plain[known:], self._keys, self._children)
        self._firsts = np.append(self._firsts, opening)


@kernel
def _place(key: int | np.int32, keys: NDArray[np.int64]) -> int:
    """Return where a key is in the table, or the free place where it would be."""
    mask = np.uint64(len(keys) - 1)
    value = np.uint64(np.int64(key)) * np.uint64(0x9FB21C651E98DF25)
    place = (value ^ (value >> np.uint64(29))) & mask
    while keys[place] != _FREE and keys[place] != key:
        place = (place + np.uint64(1)) & mask
    return int(place)


@kernel
def _enter(
    pairs: NDArray[np.int64], nodes: Numbers, keys: NDArray[np.int64], children: Numbers
) -> None:
    for i in range(len(pairs)):
        place = _place(pairs[i], keys)
        keys[place], children[place] = pairs[i], nodes[i]


@kernel
def _children_of_root(words: Numbers, keys: NDArray[np.int64], children: Numbers) -> Numbers:
    """Return the node of each word that opens a term, 0 for others."""
    result = np.zeros(len(words), np.int32)
    for i in range(len(words)):
        place = _place(words[i], keys)
        if keys[place] != _FREE:
            result[i] = children[place]
    return result


@kernel
def _find(
    numbers: Numbers,
    may_join: NDArray[np.bool_],
    plain: Numbers,
    firsts: Numbers,
    keys: NDArray[np.int64],
    children: Numbers,
    is_end: NDArray[np.bool_],
) -> Numbers:
    """Return first and last token (excluded) of each term."""
    merges = np.empty((len(numbers) // 2 + 1, 2), np.int32)
    n_merges, i = 0, 0
    while i < len(numbers):
        node = firsts[numbers[i]]
        j, last = i + 1, 0
        while node > 0 and j < len(numbers) and may_join[j - 1]:
            place = _place(int(node) << 32 | int(plain[numbers[j]]), keys)
            node = children[place] if keys[place] != _FREE else 0
            j += 1
            if is_end[node]:
                last = j
        if last:
            merges[n_merges, 0], merges[n_merges, 1] = i, last
            n_merges += 1
            i = last
        else:
            i += 1
    return merges[:n_merges].copy()


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
        for group in self._groups(documents):
            yield from self._annotated(group, lexicon)[0].annotations

    def annotate_all(self, documents: Sequence[Document], lexicon: Lexicon) -> Tokens:
        """Return the tokens of documents in one language, which are analysed as one text."""
        return self._annotated(documents, lexicon)[0]

    def _groups(self, documents: Iterable[Document]) -> Iterator[list[Document]]:
        """Yield documents in groups of one language."""
        most = _MAX_GROUP_DOCUMENTS if isinstance(documents, Sequence) else 1
        group: list[Document] = []
        group_lang, n_characters = "", 0
        for document in documents:
            lang = language(document.lang, self.lang)
            if group and lang != group_lang:
                yield group
                group, n_characters = [], 0
            group.append(document)
            group_lang = lang
            n_characters += len(document.title) + len(document.body)
            if len(group) >= most or n_characters > _MAX_GROUP_CHARS:
                yield group
                group, n_characters = [], 0
        if group:
            yield group

    def words_version(self, lang: str) -> str:
        """Return the versions of the rules and dictionaries of a language."""
        return rules_version(language(lang, self.lang))

    def annotate_words(
        self, documents: Sequence[Document]
    ) -> Iterator[tuple[Annotation, NDArray[np.bool_]]]:
        """Yield annotations without multi-word terms, and which tokens a term may join."""
        for group in self._groups(documents):
            tokens, may_join = self._annotated(group, None)
            firsts = tokens.firsts.tolist()
            for text, annotation in enumerate(tokens.annotations):
                yield annotation, may_join[firsts[text] : firsts[text + 1]].copy()

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

    def _annotated(
        self, documents: Sequence[Document], lexicon: Lexicon | None
    ) -> tuple[Tokens, NDArray[np.bool_]]:
        """Return the tokens of documents in one language, and which words a term may join.

        Without a lexicon there are no terms.
        """
        texts = [document.text for document in documents]
        text = BETWEEN.join(texts)
        cache = self._cache(language(documents[0].lang, self.lang) if documents else self.lang)
        starts, ends, chunks, gaps, words = cache.find(text)
        lemmas, spans, content, forms, may_join = _expanded(
            starts, chunks[0], chunks[1], gaps, words
        )
        lengths = np.array([len(text) for text in texts], np.int64)
        edges = np.append(0, np.cumsum(lengths + len(BETWEEN)))
        silent = list(address_spans(text))
        for document, start, length in zip(
            documents, edges.tolist(), lengths.tolist(), strict=False
        ):
            body = len(document.title) + 2 if document.title and document.body else 0
            if dateline := dateline_span(text, start + body, start + length):
                silent.append(dateline)
        for first, last in spans[:, 0].searchsorted(np.array(silent).reshape(-1, 2)).tolist():
            content[first:last] = False
        if lexicon is not None and (terms := cache.terms(lexicon)):
            merges, numbers = cache.joined(terms, lemmas, may_join)
            if len(merges):
                lemmas, spans, content, forms = _merge(
                    merges, numbers, lemmas, spans, content, forms
                )
        first_chunks = starts.searchsorted(edges)
        cased = np.repeat([not text.islower() for text in texts], np.diff(first_chunks))
        last = last_chunks(gaps, chunks[2], chunks[3], cased.astype(np.bool_))
        # The gaps before the first chunk of a text and after its last do not end a sentence.
        last = last[~np.isin(last, first_chunks[1:] - 1)]
        bounds = ends.take(last) + (gaps.take(last) >> 3)
        starts = np.sort(np.concatenate([bounds, edges[:-1][lengths > 0]]))
        closes = (edges[1:] - len(BETWEEN))[lengths > 0]
        sentences = np.stack([starts, np.sort(np.concatenate([bounds, closes]))], axis=1)
        columns = Columns(cache.lemmas, lemmas, spans, content, sentences, forms)
        return Tokens.of_columns(documents, columns, text), may_join


def _restored(lang: str) -> SimplemmaWords:
    return SimplemmaWords(lang=lang)


@hookimpl
def register_annotators() -> Mapping[str, type[SimplemmaWords]]:
    return {"simplemma": SimplemmaWords}
