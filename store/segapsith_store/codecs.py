"""Values as the store writes them, and back: arrays as bytes, single values as JSON. Never a pickle."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import bag_columns
from segapsith.domains.values import Bag, BagColumns, DomainWords
from segapsith.errors import SegapsithError
from segapsith.jit import kernel

__all__ = [
    "as_json",
    "bag_from",
    "bags_bytes",
    "deflated_arrays",
    "domain_from",
    "domains_bytes",
    "integers",
    "integers_from",
    "is_unspaced",
    "joined",
    "named_arrays",
    "named_arrays_from",
    "narrowed",
    "separated",
    "units_bytes",
    "words_bytes",
    "words_from",
]


_WORD = np.dtype("<i4")

Buffer = bytes | memoryview
Ints = NDArray[np.int32] | NDArray[np.int64]


def as_json(value: Any) -> str:
    """Return JSON with sorted keys; a number that is not finite is refused."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise SegapsithError(f"a value that is not a number must not be stored: {error}") from error


def words_bytes(words: NDArray[np.int32]) -> bytes:
    return (words if words.dtype == _WORD else words.astype(_WORD)).tobytes()


def words_from(data: bytes) -> NDArray[np.int32]:
    return np.frombuffer(data, dtype="<i4").astype(np.int32)


def integers(values: NDArray[np.int64]) -> bytes:
    return values.astype("<i8").tobytes()


def integers_from(data: bytes) -> NDArray[np.int64]:
    return np.frombuffer(data, dtype="<i8").astype(np.int64)


def bags_bytes(bags: Sequence[Bag]) -> Iterator[Buffer]:
    """Yield each bag as a table of word ids, counts, and weights less 1."""
    return units_bytes(bag_columns(bags)) if bags else iter(())


def units_bytes(units: BagColumns) -> Iterator[Buffer]:
    """Yield each unit as `bags_bytes` does."""
    if len(units.weights) and units.weights.min() < 1:
        raise ValueError("a word of a bag must weigh more than nothing")
    return _tables(units.words, units.counts, units.weights - np.int32(1), units.ends)


def bag_from(data: bytes) -> Bag:
    words, counts, weights = _columns(data)
    return Bag(words.astype(np.int32), counts.astype(np.int32), weights.astype(np.int32) + 1)


def domains_bytes(sums: Sequence[DomainWords]) -> Iterator[Buffer]:
    """Yield each domain as a table of word ids, occurrences and weight sums."""
    if not sums:
        return iter(())
    return _tables(
        np.concatenate([some.words for some in sums]),
        np.concatenate([some.occurrences for some in sums]),
        np.concatenate([some.weights for some in sums]),
        np.cumsum([len(some.words) for some in sums]),
    )


def domain_from(data: bytes, n_units: int) -> DomainWords:
    words, occurrences, weights = _columns(data)
    return DomainWords(
        words.astype(np.int32), occurrences.astype(np.int64), weights.astype(np.int64), n_units
    )


def _tables(
    first: Ints,
    second: Ints,
    third: Ints,
    cuts: NDArray[np.int64],
) -> Iterator[Buffer]:
    """Three columns of numbers, none negative, cut into tables that end at these places.

    A table has three bytes, which say how many bytes a value of each column takes: 1, 2, 4 or 8;
    then the columns one behind the other, little endian.
    """
    data, ends = _pack(first, second, third, cuts)
    view = memoryview(cast("bytes", data))
    return (view[a:b] for a, b in pairwise([0, *ends.tolist()]))


@kernel
def _pack(
    first: Ints,
    second: Ints,
    third: Ints,
    cuts: NDArray[np.int64],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The tables, and where each ends."""
    widths = np.empty((len(cuts), 3), np.uint8)
    ends = np.empty(len(cuts), np.int64)
    size, a = 0, 0
    for t in range(len(cuts)):
        b = cuts[t]
        widths[t, 0] = _width(first[a:b])
        widths[t, 1] = _width(second[a:b])
        widths[t, 2] = _width(third[a:b])
        size += 3 + (b - a) * (int(widths[t, 0]) + int(widths[t, 1]) + int(widths[t, 2]))
        ends[t] = size
        a = b
    data = np.empty(size, np.uint8)
    at, a = 0, 0
    for t in range(len(cuts)):
        b = cuts[t]
        for column in range(3):
            data[at + column] = widths[t, column]
        at = _put(first[a:b], int(widths[t, 0]), data, at + 3)
        at = _put(second[a:b], int(widths[t, 1]), data, at)
        at = _put(third[a:b], int(widths[t, 2]), data, at)
        a = b
    return data, ends


@kernel
def _width(column: Ints) -> int:
    """The bytes that the largest value takes: 1, 2, 4 or 8."""
    bits = np.int64(0)
    for i in range(len(column)):
        bits |= column[i]
    if bits < 1 << 8:
        return 1
    if bits < 1 << 16:
        return 2
    return 4 if bits < 1 << 32 else 8


@kernel
def _put(column: Ints, width: int, data: NDArray[np.uint8], at: int) -> int:
    """Writes a column and gives its end; the loops of each width are their own to be quick."""
    if width == 1:
        for i in range(len(column)):
            data[at + i] = column[i]
    elif width == 2:
        for i in range(len(column)):
            data[at + 2 * i] = column[i] & 255
            data[at + 2 * i + 1] = column[i] >> 8
    else:
        for i in range(len(column)):
            value = column[i]
            for byte in range(width):
                data[at + width * i + byte] = value & 255
                value >>= 8
    return at + width * len(column)


def _columns(data: bytes) -> list[NDArray[Any]]:
    """The columns of a table."""
    widths = data[:3]
    length, beyond = divmod(len(data) - 3, max(sum(widths), 1))
    if len(widths) < 3 or beyond or not {1, 2, 4, 8}.issuperset(widths):
        raise ValueError("the numbers are damaged")
    columns, at = [], 3
    for width in widths:
        columns.append(np.frombuffer(data, f"<u{width}", length, at))
        at += width * length
    return columns


def named_arrays(arrays: Mapping[str, NDArray[Any]]) -> memoryview:
    """Arrays by name in NumPy's npz format."""
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **dict(arrays))
    return out.getbuffer()


def deflated_arrays(arrays: Mapping[str, NDArray[Any]]) -> memoryview:
    """Arrays by name in NumPy's npz format, deflated at the fastest level.

    The bytes depend on the release of zlib, so what the digest covers is not written like this.
    """
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
    return out.getbuffer()


def narrowed(counts: NDArray[np.int64]) -> NDArray[np.signedinteger[Any]]:
    """Return counts in the smallest type of signed integers that holds them all.

    >>> narrowed(np.array([3, -1])).dtype, narrowed(np.array([3, 300])).dtype
    (dtype('int8'), dtype('int16'))
    """
    largest = max(int(counts.max(initial=0)), -1 - int(counts.min(initial=0)))
    return counts.astype(np.min_scalar_type(-1 - largest))


def named_arrays_from(data: bytes | memoryview) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


# -- texts without spaces ------------------------------------------------------------------------

# The tokenizer of SQLite takes everything between two spaces for a word. In the full-text index of
# texts in scripts without spaces between words, and in Korean, every character is a word of its
# own, so that a query is a phrase of characters: it finds a word wherever it is written, whichever
# words an annotator sees, and does not depend on an extra.

_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F40, 0x0FBC),  # Tibetan
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17D3),  # Khmer
    (0x3005, 0x3007),  # signs for repetition and zero
    (0x3040, 0x30FF),  # kana
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),  # Chinese characters
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),  # Korean syllables: words have endings without a space
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),  # narrow kana
    (0x20000, 0x3FFFD),
)

_SEPARATOR = "\u200b"
"""Between the characters; it has no width, and no tokenizer takes it for a part of a word."""


@lru_cache(maxsize=1)
def _character() -> re.Pattern[str]:
    """Return what matches one character of these scripts, with the marks that follow it."""
    every = "".join(f"{chr(first)}-{chr(last)}" for first, last in _BLOCKS)
    small = (code for first, last in _BLOCKS if last < 0x3400 for code in range(first, last + 1))
    marks = "".join(c for c in map(chr, small) if unicodedata.category(c) in ("Mn", "Mc"))
    return re.compile(f"[{every}][{marks}]*")


def is_unspaced(text: str) -> bool:
    """Return whether a text has a character of these scripts.

    >>> is_unspaced("中国银行"), is_unspaced("Bank of China")
    (True, False)
    """
    return not text.isascii() and _character().search(text) is not None


def separated(text: str) -> str:
    """Return a text with every such character apart, as it is indexed and searched."""
    return _character().sub(f"{_SEPARATOR}\\g<0>{_SEPARATOR}", text)


def joined(text: str) -> str:
    """Return such a text as it is read.

    >>> joined(separated("在中国银行 2026"))
    '在中国银行 2026'
    """
    return text.replace(_SEPARATOR, "")
