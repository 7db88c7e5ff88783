"""Numbers as bytes and back: the layouts that `docs/store.md` describes. Never a pickle."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains import Bag, DomainWords

__all__ = [
    "bag_bytes",
    "bag_from",
    "domain_bytes",
    "domain_from",
    "integers",
    "integers_from",
    "named_arrays",
    "named_arrays_from",
    "words_bytes",
    "words_from",
]


_WORD = np.dtype("<i4")


def words_bytes(words: NDArray[np.int32]) -> bytes:
    return (words if words.dtype == _WORD else words.astype(_WORD)).tobytes()


def words_from(data: bytes) -> NDArray[np.int32]:
    return np.frombuffer(data, dtype="<i4").astype(np.int32)


def integers(values: NDArray[np.int64]) -> bytes:
    return values.astype("<i8").tobytes()


def integers_from(data: bytes) -> NDArray[np.int64]:
    return np.frombuffer(data, dtype="<i8").astype(np.int64)


def bag_bytes(bag: Bag) -> bytes:
    """Word ids, then counts, then weights, each int32."""
    return words_bytes(bag.words) + words_bytes(bag.counts) + words_bytes(bag.weights)


def bag_from(data: bytes) -> Bag:
    words, counts, weights = words_from(data).reshape(3, -1)
    return Bag(words, counts, weights)


def domain_bytes(sums: DomainWords) -> bytes:
    """Word ids, then occurrences, then weight sums, each int64."""
    packed = np.empty((3, len(sums.words)), dtype="<i8")
    packed[0], packed[1], packed[2] = sums.words, sums.occurrences, sums.weights
    return packed.tobytes()


def domain_from(data: bytes, n_units: int) -> DomainWords:
    words, occurrences, weights = integers_from(data).reshape(3, -1)
    return DomainWords(words.astype(np.int32), occurrences, weights, n_units)


def named_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by name in NumPy's npz format."""
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **dict(arrays))
    return out.getvalue()


def named_arrays_from(data: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
