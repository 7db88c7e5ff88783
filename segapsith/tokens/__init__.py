"""Columns of several annotated texts, so that they can be read together by array operations.

Texts are joined as the annotator might have seen them: one after the other, with an empty line
between two. Tokens, characters and sentences then have one numbering each, in text order.
"""

from __future__ import annotations

import threading
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import chain, count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.model import Annotation, Document

__all__ = [
    "BETWEEN",
    "BREAK",
    "HYPHEN",
    "LOWER",
    "SPACE",
    "UPPER",
    "Columns",
    "Tokens",
    "WordList",
    "renumbered",
    "table_size",
]

Numbers = NDArray[np.int64]

BETWEEN = "\n\n"
"""Separates two texts that are joined."""

SPACE, HYPHEN, UPPER, LOWER, BREAK = 1, 2, 4, 8, 16
"""Kinds of characters, as bits: blanks, hyphens, capitals, other letters with two cases, and a
line end that another one follows."""

_N_CHARACTERS = 0x20000
"""No character beyond has one of these kinds."""

_N_USUAL = 0x2100
"""Characters of most texts: alphabets and punctuation."""


def table_size(codes: NDArray[np.uint32], most: int) -> int:
    """Return how long a table by code point must be for these characters, at most `most`.

    A table of the usual characters is made in a fraction of the time of one of all.

    >>> table_size(np.array([65, 0x201C], np.uint32), 0x20000)
    8448
    """
    return _N_USUAL if codes.max(initial=0) < _N_USUAL else most


@cache
def _kinds_of(n_characters: int) -> NDArray[np.uint8]:
    """Return the kinds of the first characters, by code point."""
    kinds = np.zeros(n_characters, np.uint8)
    for code in range(n_characters):
        character = chr(code)
        if character.isspace():
            kinds[code] = SPACE
        elif character.isupper():
            kinds[code] = UPPER
        elif character.islower() or unicodedata.category(character) == "Lt":
            kinds[code] = LOWER
    for character in "-‐‑":
        kinds[ord(character)] = HYPHEN
    return kinds


class WordList:
    """Words with numbers that never change, and what consumers derived from each, once per word.

    >>> words = WordList()
    >>> words.number("rain"), words.number("storm"), words.number("rain"), len(words)
    (0, 1, 0, 2)
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self._number_of: dict[str, int] = {}
        self._derived: dict[Callable[[str], str], tuple[_Numbering, Numbers]] = {}
        self._flags: dict[Callable[[str], bool], NDArray[np.bool_]] = {}
        self._scratch = np.full(1024, -1, np.int32)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """Return the number of a word; a new one gets the next."""
        number = self._number_of.setdefault(word, len(self.words))
        if number == len(self.words):
            self.words.append(word)
        return number

    def find(self, word: str) -> int:
        """Return the number of a word, -1 if it has none."""
        return self._number_of.get(word, -1)

    def derived(self, derive: Callable[[str], str]) -> Numbers:
        """Return a number for what is derived from each word; equal strings have equal numbers."""
        numbering, numbers = self._derived.get(derive) or (_numbering(), np.zeros(0, np.int64))
        if len(numbers) < len(self.words):
            new = map(numbering.__getitem__, map(derive, self.words[len(numbers) :]))
            more = np.fromiter(new, np.int64, len(self.words) - len(numbers))
            numbers = np.append(numbers, more)
            self._derived[derive] = numbering, numbers
        return numbers

    def flags(self, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return whether each word passes a test."""
        flags = self._flags.get(test, np.zeros(0, np.bool_))
        if len(flags) < len(self.words):
            new = map(test, self.words[len(flags) :])
            flags = np.append(flags, np.fromiter(new, np.bool_, len(self.words) - len(flags)))
            self._flags[test] = flags
        return flags

    def local(self, numbers: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return numbers by first occurrence in the given ones, and the words that they stand for."""
        with self._lock:
            if len(self._scratch) < len(self.words):
                self._scratch = np.full(2 * len(self.words), -1, np.int32)
            return renumbered(numbers, self._scratch)


_Numbering = defaultdict[str, int]


def _numbering() -> _Numbering:
    """Return a table that gives each new string the next number."""
    return defaultdict(count().__next__)


@kernel
def renumbered(
    numbers: NDArray[np.int32], scratch: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number by first occurrence; `scratch` has -1 for each number, before and after."""
    local = np.empty(len(numbers), np.int32)
    distinct = np.empty(len(numbers), np.int32)
    size = 0
    for i in range(len(numbers)):
        number = numbers[i]
        if scratch[number] < 0:
            scratch[number] = size
            distinct[size] = number
            size += 1
        local[i] = scratch[number]
    for i in range(size):
        scratch[distinct[i]] = -1
    return local, distinct[:size].copy()


@kernel
def _letters_and_gaps(
    kinds: NDArray[np.uint8], spans: Numbers
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each token has capitals and no other letters, and whether only blanks or a
    hyphen separate it from the next."""
    upper, joined = np.zeros(len(spans), np.bool_), np.zeros(len(spans), np.bool_)
    for i in range(len(spans)):
        one_of = 0
        for k in range(spans[i, 0], spans[i, 1]):
            one_of |= kinds[k]
        upper[i] = one_of & (UPPER | LOWER) == UPPER
        if i == len(spans) - 1:
            break
        end, start = spans[i, 1], spans[i + 1, 0]
        every, one_of = 255, 0
        for k in range(end, start):
            every &= kinds[k]
            one_of |= kinds[k]
        blank = every & SPACE != 0 and one_of & BREAK == 0
        joined[i] = start <= end or blank or (start - end == 1 and every & HYPHEN != 0)
    return upper, joined


class Columns(NamedTuple):
    """Tokens of several texts that are joined by `BETWEEN`, as an annotator found them.

    All characters are counted from the beginning of the first text.
    """

    words: WordList
    numbers: NDArray[np.int32]
    """The lemma of each token, as a number in `words`."""
    spans: Numbers
    content: NDArray[np.bool_]
    sentences: Numbers
    """The first character of each sentence and the first after it."""
    forms: NDArray[np.int32] | None = None
    """A number for each token as it is written, in lower case; -1 if the annotator has none."""


class Tokens:
    """The tokens of several texts as columns.

    >>> from segapsith.model import Document
    >>> spans, sentences = np.array([[0, 5], [6, 10]]), np.array([[0, 10]])
    >>> flood = Annotation(Document(body="Rain falls"), ["rain", "fall"], spans,
    ...                    np.array([True, True]), sentences)
    >>> both = Tokens([flood, flood])
    >>> both.words, both.numbers.tolist(), both.spans[:, 0].tolist(), both.firsts.tolist()
    (['rain', 'fall'], [0, 1, 0, 1], [0, 6, 12, 18], [0, 2, 4])
    """

    _columns: Columns
    _ids: NDArray[np.int32]
    """The number of each word in the list of the columns."""

    def __init__(self, annotations: Sequence[Annotation]) -> None:
        self._set_documents([annotation.document for annotation in annotations])
        self.annotations = annotations
        sizes = [len(annotation.lemmas) for annotation in annotations]
        self.firsts: Numbers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        """The first token of each text, and the number of tokens."""
        place_of = _numbering()
        lemmas = chain.from_iterable(annotation.lemmas for annotation in annotations)
        self.numbers = np.fromiter(
            map(place_of.__getitem__, lemmas), np.int32, int(self.firsts[-1])
        )
        """The number of each token's lemma, by first occurrence."""
        place_of.default_factory = None
        self.place_of = place_of
        self.words = list(place_of)
        """The lemma of each number."""
        spans = [np.asarray(annotation.spans, np.int64) for annotation in annotations]
        self.spans: Numbers = np.concatenate([*spans, np.zeros((0, 2), np.int64)])
        self.spans += np.repeat(self.offsets, sizes)[:, None]
        """First and last character of each token, the last excluded."""
        flags = [annotation.content for annotation in annotations]
        self.content: NDArray[np.bool_] = np.concatenate([*flags, np.zeros(0, np.bool_)])
        self._list: WordList | None = None

    def _set_documents(self, documents: Sequence[Document], text: str | None = None) -> None:
        self.documents = documents
        texts = [document.text for document in documents]
        self.lengths: Numbers = np.array([len(text) for text in texts], np.int64)
        """The number of characters of each text."""
        self.text = BETWEEN.join(texts) if text is None else text
        self.offsets: Numbers = np.cumsum(self.lengths + len(BETWEEN)) - self.lengths - len(BETWEEN)
        """The first character of each text."""

    @classmethod
    def of_columns(
        cls, documents: Sequence[Document], columns: Columns, text: str | None = None
    ) -> Tokens:
        """Return the tokens of documents, whose joined texts may be given."""
        tokens = cls.__new__(cls)
        tokens._set_documents(documents, text)
        tokens._columns, tokens._list = columns, columns.words
        tokens.spans, tokens.content = columns.spans, columns.content
        edges = np.append(tokens.offsets, len(tokens.text) + len(BETWEEN))
        tokens.firsts = np.searchsorted(columns.spans[:, 0], edges)
        tokens.numbers, tokens._ids = columns.words.local(columns.numbers)
        words = columns.words.words
        tokens.words = [words[number] for number in tokens._ids.tolist()]
        tokens.sentence_starts = columns.sentences[:, 0]
        return tokens

    def __len__(self) -> int:
        return len(self.documents)

    @cached_property
    def annotations(self) -> Sequence[Annotation]:
        """The annotation of each text."""
        columns, words = self._columns, self._columns.words.words
        lemmas = [words[number] for number in columns.numbers.tolist()]
        bounds = np.searchsorted(columns.sentences[:, 0], [*self.offsets.tolist(), len(self.text)])
        result = []
        for text, document in enumerate(self.documents):
            mine = slice(int(self.firsts[text]), int(self.firsts[text + 1]))
            offset = self.offsets[text]
            sentences = columns.sentences[bounds[text] : bounds[text + 1]]
            result.append(
                Annotation(
                    document,
                    lemmas[mine],
                    (self.spans[mine] - offset).astype(np.int32),
                    self.content[mine].copy(),
                    (sentences - offset).astype(np.int32),
                )
            )
        return result

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The number of each lemma."""
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def derived(self, derive: Callable[[str], str]) -> Numbers:
        """Return a number for what is derived from each lemma; equal strings have equal numbers.

        The function is remembered with what it returned, so it should not be made for the call.
        """
        if self._list is not None:
            return self._list.derived(derive)[self._ids]
        numbering = _numbering()
        return np.fromiter(
            map(numbering.__getitem__, map(derive, self.words)), np.int64, len(self.words)
        )

    def flags(self, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return whether each lemma passes a test, which is remembered as in `derived`."""
        if self._list is not None:
            return self._list.flags(test)[self._ids]
        return np.fromiter(map(test, self.words), np.bool_, len(self.words))

    def written(self, places: Numbers) -> Numbers:
        """Return numbers of tokens as they are written, in lower case: `was` is not `is`."""
        if self._list is not None and self._columns.forms is not None:
            forms = self._columns.forms[places]
            if not len(forms) or forms.min() >= 0:
                numbers: Numbers = forms.astype(np.int64)
                return numbers
        text = self.text
        spans = self.spans[places].tolist()
        numbering = _numbering()
        if text.isascii():
            lowered = text.lower()
            words = [lowered[start:end] for start, end in spans]
        else:
            words = [text[start:end].lower() for start, end in spans]
        return np.fromiter(map(numbering.__getitem__, words), np.int64, len(words))

    @cached_property
    def text_of(self) -> Numbers:
        """The text of each token."""
        return np.repeat(np.arange(len(self)), np.diff(self.firsts))

    @cached_property
    def sentence_starts(self) -> Numbers:
        """The first character of each sentence, text by text."""
        starts = [
            annotation.sentences[:, 0] + offset
            for annotation, offset in zip(self.annotations, self.offsets.tolist(), strict=True)
        ]
        return np.concatenate([*starts, np.zeros(0, np.int64)]).astype(np.int64)

    @cached_property
    def codes(self) -> NDArray[np.uint32]:
        """The code point of each character."""
        text = self.text
        if text.isascii():
            return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.uint32)
        encoded = text.encode("utf-32-le", "surrogatepass")
        return np.frombuffer(encoded, "<u4").astype(np.uint32)

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """The kind of each character, and 0 after the last one."""
        codes = self.codes
        kinds = np.zeros(len(codes) + 1, np.uint8)
        table = _kinds_of(table_size(codes, _N_CHARACTERS))
        if codes.max(initial=0) >= _N_CHARACTERS:
            codes = np.where(codes < _N_CHARACTERS, codes, 0)
        np.take(table, codes, out=kinds[:-1])
        ends_line = codes == ord("\n")
        kinds[:-2][ends_line[:-1] & ends_line[1:]] |= BREAK
        return kinds

    @cached_property
    def _shapes(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return _letters_and_gaps(self.kinds, self.spans)

    @property
    def is_upper(self) -> NDArray[np.bool_]:
        """Whether each token is in capitals."""
        return self._shapes[0]

    @property
    def is_joined(self) -> NDArray[np.bool_]:
        """Whether only blanks or a hyphen separate each token from the next, within a paragraph."""
        return self._shapes[1]
