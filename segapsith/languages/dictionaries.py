"""Dictionaries of forms and lemmas that stay as compact as they are stored, and outside memory.

simplemma ships each dictionary as sorted, front-coded records: a form has only the bytes that the
form before does not have, a lemma only what differs from its form. simplemma's own reader of this
format stores Python objects for every 32nd record, more than the records themselves. Here the index
is three arrays, and records are decoded by kernels: German is loaded in a third of the time. The
format is that of `simplemma.strategies.dictionaries.frontcode`. Records and index are in a file that
later processes use, and only the dictionary that was asked last has pages of it in the memory of
this process.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.languages import pack_of
from segapsith.languages.mapping import KeptArrays, Turn, kept_arrays

__all__ = ["CompactDictionaries", "CompactDictionary", "forms_in"]

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.uint32]
Places = NDArray[np.int64]

_RECENT = 256
"""Forms whose lemma is stored: the rules for one word ask several times for the same form."""

LAYOUT = 1
"""Number of the layout of the arrays; another one needs the next number."""

_BLOCK = 32
"""Records between two entries of the index."""

_LEAST_RECORD = 3
"""Bytes of a record at least."""

_MAX_BYTES = 4096
"""Bytes of the longest form or lemma that can be read; the longest shipped have some hundred."""

_MISSING = 0
"""The byte of a lemma that there is not: no lemma has it."""

_NO_LEMMA = chr(_MISSING)

_SAME_AS_PREVIOUS, _LITERAL = 254, 255
"""Signs of a lemma that is the one before, and of one that has nothing in common with its form."""


@kernel
def _number(data: Bytes, pos: int) -> tuple[int, int]:
    """Return the number at a position, of seven bits a byte, and the position after it."""
    value, shift = 0, 0
    while True:
        byte = int(data[pos])
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, pos
        shift += 7


@kernel
def _copy(source: Bytes, start: int, size: int, out: Bytes, at: int) -> None:
    """Copy some bytes, as far as there are such and room for them.

    A loop is compiled in a tenth of the time that an assignment of slices takes.
    """
    for i in range(min(size, len(source) - start, len(out) - at)):
        out[at + i] = source[start + i]


@kernel
def _read(
    data: Bytes, pos: int, form: Bytes, lemma: Bytes, known: int, n_lemma: int
) -> tuple[int, int, int]:
    """Read one record into `form` and `lemma`; return the next position and both lengths.

    Both hold the record before. If `known` is not negative, `form` already has the form of this
    record, which is so long.
    """
    shared, pos = _number(data, pos)
    size, pos = _number(data, pos)
    if known < 0:
        _copy(data, pos, size, form, shared)
        n_form = shared + size
    else:
        n_form = known
    pos += size
    trim = int(data[pos])
    pos += 1
    if trim != _SAME_AS_PREVIOUS:
        size, pos = _number(data, pos)
        n_shared = 0 if trim == _LITERAL else n_form - trim
        _copy(form, 0, n_shared, lemma, 0)
        _copy(data, pos, size, lemma, n_shared)
        n_lemma = n_shared + size
        pos += size
    return pos, n_form, n_lemma


@kernel
def _index(data: Bytes, pos: int) -> tuple[Numbers, Numbers, Bytes, int]:
    """Return position and first form of each block, where the forms begin, and the record count.

    A block begins with a record that has its own lemma, so that it can be read alone.
    """
    form, lemma = np.zeros(_MAX_BYTES, np.uint8), np.zeros(_MAX_BYTES, np.uint8)
    n_lemma = n_blocks = n_bytes = n_records = 0
    most = len(data) // (_BLOCK * _LEAST_RECORD) + 1
    places, starts = np.zeros(most, np.uint32), np.zeros(most + 1, np.uint32)
    forms = np.zeros(1 << 14, np.uint8)
    since = _BLOCK
    while pos < len(data):
        begin = pos
        pos, n_form, n_lemma = _read(data, pos, form, lemma, -1, n_lemma)
        n_records += 1
        since += 1
        if since > _BLOCK and _has_own_lemma(data, begin):
            if n_bytes + n_form > len(forms):
                more = np.zeros(2 * len(forms) + n_form, np.uint8)
                _copy(forms, 0, n_bytes, more, 0)
                forms = more
            places[n_blocks] = begin
            _copy(form, 0, n_form, forms, n_bytes)
            n_bytes += n_form
            n_blocks += 1
            starts[n_blocks] = n_bytes
            since = 0
    return places[:n_blocks], starts[: n_blocks + 1], forms[:n_bytes], n_records


@kernel
def _has_own_lemma(data: Bytes, pos: int) -> bool:
    """Return whether the record at a position does not refer to the lemma of the one before."""
    _, pos = _number(data, pos)
    size, pos = _number(data, pos)
    return int(data[pos + size]) != _SAME_AS_PREVIOUS


@kernel
def _compared(left: Bytes, n_left: int, right: Bytes) -> int:
    """Return a number below, equal to or above 0, as `left` is before, equal to or after `right`."""
    for i in range(min(n_left, len(right))):
        if left[i] != right[i]:
            return -1 if left[i] < right[i] else 1
    return n_left - len(right)


@kernel
def _lemmas_of(
    data: Bytes, places: Numbers, starts: Numbers, forms: Bytes, targets: Bytes, ends: Places
) -> Bytes:
    """Return the lemma of each target with a line feed after it; `_MISSING` where there is none.

    The targets are one after the other; `ends` says where each of them ends.
    """
    form, lemma = np.empty(_MAX_BYTES, np.uint8), np.empty(_MAX_BYTES, np.uint8)
    result = np.empty(2 * len(targets) + _MAX_BYTES + 2, np.uint8)
    n_result = begin = 0
    for number in range(len(ends)):
        target = targets[begin : ends[number]]
        begin = ends[number]
        low, high = 0, len(places)
        while low < high:  # the first block that begins after the form
            middle = (low + high) // 2
            first = forms[starts[middle] : starts[middle + 1]]
            if _compared(first, len(first), target) <= 0:
                low = middle + 1
            else:
                high = middle
        pos = end = known = n_lemma = 0
        if low > 0:
            first = forms[starts[low - 1] : starts[low]]
            _copy(first, 0, len(first), form, 0)
            pos, end = int(places[low - 1]), int(places[low]) if low < len(places) else len(data)
            known = len(first)
        order = -1
        while pos < end and order < 0:
            pos, n_form, n_lemma = _read(data, pos, form, lemma, known, n_lemma)
            known = -1
            order = _compared(form, n_form, target)
        if order != 0:
            n_lemma = 1
            lemma[0] = _MISSING
        if n_result + n_lemma + 1 > len(result):
            more = np.empty(2 * len(result), np.uint8)  # a lemma is shorter than the table
            _copy(result, 0, n_result, more, 0)
            result = more
        _copy(lemma, 0, n_lemma, result, n_result)
        result[n_result + n_lemma] = 10
        n_result += n_lemma + 1
    return result[:n_result]


@kernel
def _forms_of(data: Bytes, pos: int, target: Bytes, most: int) -> Bytes:
    """Return at most `most` forms of a lemma, each with a byte 0 after it."""
    form, lemma = np.zeros(_MAX_BYTES, np.uint8), np.zeros(_MAX_BYTES, np.uint8)
    result, n_bytes, n_lemma, n_forms = np.zeros(most * 64, np.uint8), 0, 0, 0
    while pos < len(data) and n_forms < most:
        pos, n_form, n_lemma = _read(data, pos, form, lemma, -1, n_lemma)
        if _compared(lemma, n_lemma, target) == 0 and n_bytes + n_form < len(result):
            result[n_bytes : n_bytes + n_form] = form[:n_form]
            n_bytes += n_form + 1
            n_forms += 1
    return result[:n_bytes]


class CompactDictionary(Mapping[str, str]):
    """Lemmas by form, over front-coded records: what `simplemma` calls a dictionary."""

    def __init__(self, indexed: KeptArrays) -> None:
        arrays, self._file = indexed
        self._data: Bytes = arrays["records"]
        self._places, self._starts, self._forms = (arrays[n] for n in ("places", "starts", "forms"))
        self._begin, self._count = arrays["begin_and_count"].tolist()
        self._recent = lru_cache(maxsize=_RECENT)(self._look_up)
        self._prepared: Mapping[str, str | None] = {}

    @staticmethod
    def indexed(records: bytes) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a dictionary: its records and their index."""
        from simplemma.strategies.dictionaries import frontcode

        is_reversed, count, begin = frontcode._read_header(records)
        if is_reversed:
            raise ValueError("dictionaries of reversed forms are not read")
        data: Bytes = np.frombuffer(records, np.uint8)
        places, starts, forms, n_records = _index(data, begin)
        places, starts, forms = places.copy(), starts.copy(), forms.copy()
        if n_records != count:
            raise ValueError(f"a dictionary has {n_records} records instead of {count}")
        return {
            "records": data,
            "places": places,
            "starts": starts,
            "forms": forms,
            "begin_and_count": np.array([begin, count]),
        }

    def prepare(self, forms: Iterable[str], *, with_capital: bool = False) -> None:
        """Look up many forms at once; `get` returns their lemmas until others are prepared.

        A form that is not there is also looked up with a capital; `with_capital` does so for all.
        This takes a third of the time of one question for each.
        """
        lemma_of = self._look_up_all(sorted(set(forms)))
        others = {
            form.capitalize() for form, lemma in lemma_of.items() if with_capital or not lemma
        }
        lemma_of.update(self._look_up_all(sorted(others.difference(lemma_of))))
        self._prepared = lemma_of

    def get(self, key: str, default: Any = None) -> Any:
        """Return the lemma of a form, or `default`."""
        prepared = self._prepared
        lemma = prepared[key] if key in prepared else self._recent(key) if key else None
        return default if lemma is None else lemma

    def _look_up(self, form: str) -> str | None:
        """Return the lemma of one form, or None: as below, without lists."""
        if Turn.holder is not self._file:
            Turn.of(self._file)
        target = form.encode("utf-8", "surrogatepass")
        line = _lemmas_of(
            self._data, self._places, self._starts, self._forms,
            np.frombuffer(target, np.uint8), np.array([len(target)]),
        )  # fmt: skip
        lemma = line[:-1].tobytes().decode()
        return None if lemma == _NO_LEMMA else lemma

    def _look_up_all(self, forms: Sequence[str]) -> dict[str, str | None]:
        """Return the lemma of each form, or None."""
        if not forms:
            return {}
        if Turn.holder is not self._file:
            Turn.of(self._file)
        encoded = [form.encode("utf-8", "surrogatepass") for form in forms]
        targets: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        ends = np.fromiter(itertools.accumulate(map(len, encoded)), np.int64, len(encoded))
        lines = _lemmas_of(self._data, self._places, self._starts, self._forms, targets, ends)
        lemmas = lines.tobytes().decode().split("\n")
        del lemmas[-1]  # what follows the last line feed
        if _NO_LEMMA not in lemmas:
            return dict(zip(forms, lemmas, strict=True))
        known = (None if lemma == _NO_LEMMA else lemma for lemma in lemmas)
        return dict(zip(forms, known, strict=True))

    def __getitem__(self, key: str) -> str:
        lemma = self.get(key)
        if lemma is None:
            raise KeyError(key)
        return str(lemma)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        from simplemma.strategies.dictionaries import frontcode

        for _, form, _ in frontcode._iter_records(self._data.tobytes(), self._begin):
            yield form.decode()

    def __len__(self) -> int:
        return int(self._count)

    def forms_of(self, lemma: str, most: int = 64) -> list[str]:
        """Return at most `most` forms of a lemma, in the order of the dictionary."""
        Turn.of(self._file)
        target: Bytes = np.frombuffer(lemma.encode("utf-8", "surrogatepass"), np.uint8)
        forms = _forms_of(self._data, self._begin, target, most).tobytes()
        return [form.decode() for form in forms.split(b"\0")[:-1]]


class CompactDictionaries:
    """What gives `simplemma` its dictionaries; each is loaded once, when its language is met."""

    @staticmethod
    @cache
    def get_dictionary(lang: str) -> CompactDictionary:
        """Return the dictionary of a language; it is indexed the first time."""

        def indexed() -> Mapping[str, NDArray[Any]]:
            from simplemma.strategies.dictionaries import dictionary_factory

            return CompactDictionary.indexed(dictionary_factory._read_decompressed(lang))

        made_from = f"{LAYOUT} {metadata.version('simplemma')} {lang}"
        return CompactDictionary(kept_arrays(f"lemmas-{lang}", made_from, indexed))


def forms_in(langs: Iterable[str], word: str, most: int = 64) -> list[str]:
    """Return other forms of a word in some languages, at most `most` of each, in lower case.

    A stop word has none, and so has a word of a language without a dictionary.

    >>> "bancos" in forms_in(["es", "zh"], "banco")
    True
    """
    forms: dict[str, None] = {}
    for lang in langs:
        pack = pack_of(lang)
        if pack.lemmatiser != "dictionary" or word.lower() in pack.stop_words:
            continue
        dictionary = CompactDictionaries.get_dictionary(lang)
        for written in dict.fromkeys((word, word.lower(), word.capitalize())):
            if lemma := dictionary.get(written):
                forms |= dict.fromkeys(form.lower() for form in dictionary.forms_of(lemma, most))
    forms.pop(word.lower(), None)
    return list(forms)
