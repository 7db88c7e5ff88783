"""The model of py3langid: in a form that takes a sixth of the memory, and read by a kernel.

It is naive Bayes over sequences of bytes, which an automaton finds (Lui & Baldwin 2011). py3langid
holds the automaton as lists of Python numbers and one row of 256 next states for every state, and
the probabilities of 142 languages: 75 MB, and 100 MB while it is loaded. Here a row has only the
entries that differ from those of the first state, and only the languages that are asked for are read.
"""

from __future__ import annotations

import lzma
import shutil
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import chain
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.languages.mapping import MappedBytes, kept_arrays

__all__ = ["LanguageModel"]

LAYOUT = 1
"""Number of the layout of the arrays; another one needs the next number."""

_LETTERS = 256
_CHUNK_ROWS = 1024
"""Rows of an array that are read at a time."""

_FLOOR = float(np.finfo(np.float32).min)
"""Score of each language for a text without any known sequence of bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Automaton:
    """The transitions between states, and the feature that each state stands for."""

    root: NDArray[np.uint32]
    """The next state of the first state by byte, and of all others that do not differ."""
    starts: NDArray[np.int64]
    """Where the entries of each row begin."""
    letters: NDArray[np.uint8]
    """Bytes by which a row differs from the root, ascending in each row."""
    states: NDArray[np.uint32]
    """The next states of these bytes."""
    row_of: NDArray[np.uint32]
    """The row of each state."""
    feature_of: NDArray[np.int32]
    """The feature of each state; -1 for none."""

    def features(self, text: bytes) -> NDArray[np.int32]:
        """Return the features of a text in order, as often as they occur."""
        return _walk(
            np.frombuffer(text, np.uint8),
            self.root,
            self.starts,
            self.letters,
            self.states,
            self.row_of,
            self.feature_of,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LanguageModel:
    """Scores of languages for a text."""

    labels: tuple[str, ...]
    """The language of each column; one that is written in two scripts may have two."""
    priors: NDArray[np.float32]
    likelihoods: NDArray[np.float16]
    """Log-likelihoods of features by language."""
    automaton: _Automaton
    table: MappedBytes
    """The file that these arrays are in."""

    @classmethod
    def load(cls, languages: Collection[str]) -> Self:
        """Read the model of some languages; the first time from the file of py3langid (0.5 s)."""
        made_from = f"{LAYOUT} {metadata.version('py3langid')} {' '.join(sorted(languages))}"
        model, table = kept_arrays("languages", made_from, lambda: _model_of(languages))
        parts = (model[name] for name in _Automaton.__slots__)
        return cls(
            tuple(model["labels"].tolist()),
            model["priors"],
            model["likelihoods"],
            _Automaton(*parts),
            table,
        )

    def among(self, languages: Collection[str]) -> Self:
        """Return the model of fewer languages, with their likelihoods in memory."""
        columns = [i for i, label in enumerate(self.labels) if label in languages]
        fewer = replace(
            self,
            labels=tuple(self.labels[i] for i in columns),
            priors=self.priors[columns],
            likelihoods=self.likelihoods[:, columns],
        )
        self.table.release()
        return fewer

    def scores(self, text: str) -> dict[str, float]:
        """Return the log-odds of each language, in the order of the columns."""
        if text.isupper():
            text = text.lower()
        encoded = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        counts = Counter(self.automaton.features(encoded).tolist())
        if counts:
            weights = np.log1p(np.fromiter(counts.values(), np.float32, len(counts)))
            features = np.fromiter(counts, np.intp, len(counts))
            values = (weights @ self.likelihoods[features] + self.priors).tolist()
        else:
            values = [_FLOOR] * len(self.labels)
        scores: dict[str, float] = {}
        for label, value in zip(self.labels, values, strict=True):
            scores[label] = max(value, scores.get(label, _FLOOR))
        return scores

    def best(self, text: str) -> tuple[str, float]:
        """Return the most likely language, the first of equal ones, and its score."""
        return max(self.scores(text).items(), key=lambda entry: entry[1])


def _array(arrays: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with arrays.open(f"{name}.npy") as file:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _model_of(languages: Collection[str]) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of the model of some languages, from the file of py3langid."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE

    with tempfile.TemporaryFile() as file:
        with lzma.open(MODEL_DIR / MODEL_FILE) as source:
            shutil.copyfileobj(source, file, 1 << 20)
        with zipfile.ZipFile(file) as arrays:
            labels = _array(arrays, "classes").tolist()
            unknown = set(languages).difference(labels)
            if unknown:
                raise ValueError(f"unknown language codes: {', '.join(sorted(unknown))}")
            columns = [i for i, label in enumerate(labels) if label in languages]
            automaton = _automaton(arrays)
            return {
                "labels": np.array([labels[i] for i in columns]),
                "priors": _array(arrays, "pc")[columns],
                "likelihoods": _columns(arrays, "ptc", columns),
                **{name: getattr(automaton, name) for name in _Automaton.__slots__},
            }


def _columns(arrays: zipfile.ZipFile, name: str, columns: Sequence[int]) -> NDArray[np.float16]:
    """Return some columns of an array; the others are not held."""
    with arrays.open(f"{name}.npy") as file:
        (_, width), dtype = _header(file)
        likelihoods = b"".join(part[:, columns].tobytes() for part in _parts(file, dtype, width))
    return np.frombuffer(likelihoods, np.float16).reshape(-1, len(columns))


def _parts(file: IO[bytes], dtype: np.dtype[Any], width: int) -> Iterator[NDArray[Any]]:
    """Yield the numbers of a file in parts of some rows."""
    for part in iter(lambda: file.read(_CHUNK_ROWS * width * dtype.itemsize), b""):
        yield np.frombuffer(part, dtype).reshape(-1, width)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, is_by_column, dtype = read(file)
    if is_by_column or dtype.hasobject:
        raise ValueError("the model of py3langid has another layout")
    return shape, dtype


def _automaton(arrays: zipfile.ZipFile) -> _Automaton:
    row_of = _array(arrays, "nextmove_row").astype(np.uint32)
    n_entries, letters, states = [np.zeros(1, np.int64)], [], []
    with arrays.open("nextmove.npy") as file:
        _, dtype = _header(file)
        parts = _parts(file, dtype, _LETTERS)
        first = next(parts)
        while row_of[0] >= len(first):
            first = np.concatenate([first, next(parts)])
        root = first[row_of[0]].astype(np.uint32)
        for part in chain([first], parts):
            differs = part != root
            n_entries.append(np.count_nonzero(differs, axis=1))
            letters.append((np.flatnonzero(differs) % _LETTERS).astype(np.uint8))
            states.append(part[differs].astype(np.uint32, copy=False))
    return _Automaton(
        root,
        np.cumsum(np.concatenate(n_entries)),
        np.concatenate(letters),
        np.concatenate(states),
        row_of,
        _array(arrays, "out_feat").astype(np.int32),
    )


@kernel
def _walk(
    text: NDArray[np.uint8],
    root: NDArray[np.uint32],
    starts: NDArray[np.int64],
    letters: NDArray[np.uint8],
    states: NDArray[np.uint32],
    row_of: NDArray[np.uint32],
    feature_of: NDArray[np.int32],
) -> NDArray[np.int32]:
    out = np.empty(len(text), np.int32)
    n, state = 0, np.uint32(0)
    for letter in text:
        row = row_of[state]
        low, end = starts[row], starts[row + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if letters[middle] < letter:
                low = middle + 1
            else:
                high = middle
        if low < end and letters[low] == letter:
            state = states[low]
        else:
            state = root[letter]
        feature = feature_of[state]
        if feature >= 0:
            out[n] = feature
            n += 1
    return out[:n]
