"""Static word vectors from a file: rows are compared by the mean vectors of their words.

With e_w the unit vector of a word, a row x becomes the sum of x_w e_w, and rows are compared by the
cosine. Words without a vector are axes of their own, because the names in news often have none.
That is a generalised vector space model whose similarities of words come from a file.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from segapsith.arrays import Matrix, Rows, State
from segapsith.errors import ConfigurationError, InputError, UsageError
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import canonical, fitted, require, row_norms

__all__ = ["Vectors", "read_vectors"]


class Vectors:
    """The cosine of mean word vectors; words without a vector count as themselves.

    `file` is a text of word2vec or GloVe (also gzip), or a folder of model2vec. With `centred`, the
    mean of the vectors is subtracted first. With `unknown="ignored"` words without a vector have no
    effect. Without a file no word has a vector, so that this is the plain cosine.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit_diagonal: ClassVar[bool] = False
    """False: vectors can cancel each other, and ignored words leave nothing."""

    def __init__(self, *, file: str = "", centred: bool = True, unknown: str = "own") -> None:
        require(isinstance(file, str), "file", file, "a path")
        require(isinstance(centred, bool), "centred", centred, "true or false")
        require(unknown in ("own", "ignored"), "unknown", unknown, "own or ignored")
        if file and not Path(file).exists():
            raise ValueError(f"file={file}: there is no such file or folder")
        self.file, self.centred, self.unknown = file, centred, unknown
        self._vectors = np.zeros((0, 0))

    def name_columns(self, words: Sequence[str]) -> None:
        """Read the vectors of the words that the columns of rows stand for."""
        if self.file:
            vectors = read_vectors(Path(self.file), words)
            known = np.abs(vectors).sum(axis=1) > 0
            if self.centred and known.any():
                vectors[known] -= vectors[known].mean(axis=0)
            self._vectors = _of_unit_length(vectors)

    @property
    def n_known(self) -> int:
        """The number of columns whose word has a vector."""
        return int(np.any(self._vectors, axis=1).sum()) if self._vectors.size else 0

    def learn(self, rows: Rows) -> None:
        """Learn nothing: the vectors come from the file."""
        self._check_words()

    def _check_words(self) -> None:
        if self.file and not len(self._vectors):
            raise UsageError(
                "the similarity `vectors` needs the words of the columns: use it with"
                " `segapsith cluster`, or call `name_columns` in Python",
                plugin="vectors",
            )

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the cosine of each pair of rows."""
        self._check_words()
        if not len(self._vectors) and self.unknown == "ignored":
            return np.zeros((left.shape[0], right.shape[0]))
        means, others, lengths = self._parts(left)
        right_means, right_others, right_lengths = self._parts(right)
        products = means @ right_means.T + (others @ right_others.T).toarray()
        values: Matrix = products / np.outer(lengths, right_lengths)
        return np.clip(values, *self.bounds)

    def _parts(self, rows: Rows) -> tuple[Matrix, Rows, Matrix]:
        """Return the sums of vectors, the rows of words without one, and the lengths of both."""
        rows = canonical(rows)
        n_words = max(rows.shape[1], len(self._vectors))
        vectors = np.zeros((n_words, self._vectors.shape[1]))
        vectors[: len(self._vectors)] = self._vectors
        has_vector = np.any(vectors, axis=1)
        means: Matrix = fitted(rows, n_words) @ vectors
        weights = np.where(has_vector | (self.unknown == "ignored"), 0.0, 1.0)
        others = canonical(fitted(rows, n_words).multiply(weights).tocsr())
        lengths = np.hypot(np.linalg.norm(means, axis=1), row_norms(others))
        return means, others, np.where(lengths > 0, lengths, 1.0)

    def state(self) -> State:
        """Return the vectors of the columns."""
        return {"vectors": self._vectors}

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._vectors = np.asarray(state["vectors"], dtype=np.float64)


def read_vectors(path: Path, words: Sequence[str]) -> Matrix:
    """Return one row per word: its vector, the mean of those of its parts, or zeros."""
    wanted: dict[str, None] = {}
    for word in words:
        wanted |= dict.fromkeys([word, *_parts_of(word)])
    known = _of_model2vec(path, list(wanted)) if path.is_dir() else _of_text(path, wanted)
    size = next((len(vector) for vector in known.values()), 0)
    vectors = np.zeros((len(words), size))
    for row, word in enumerate(words):
        present = [known[word]] if word in known else _present(_parts_of(word), known)
        if present:
            vectors[row] = np.mean(present, axis=0)
    return vectors


def _parts_of(word: str) -> list[str]:
    """Return other spellings and the single words of a multi-word term.

    >>> _parts_of("prime minister"), _parts_of("OPEC"), _parts_of("rain")
    (['prime', 'minister'], ['opec'], [])
    """
    parts = word.lower().replace("_", " ").split()
    return [] if parts == [word] else parts


def _present(parts: Iterable[str], known: Mapping[str, Matrix]) -> list[Matrix]:
    return [known[part] for part in parts if part in known]


def _of_unit_length(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Matrix = vectors / np.where(lengths > 0, lengths, 1.0)
    return unit


def _of_text(path: Path, wanted: Mapping[str, object]) -> dict[str, Matrix]:
    """Return the vectors of wanted words; of two lines with the same word the first counts."""
    known: dict[str, Matrix] = {}
    size = 0
    for number, line in enumerate(_lines(path), 1):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
            size = int(fields[1])  # word2vec: number of words, length of a vector
            continue
        size = size or len(fields) - 1
        word = " ".join(fields[:-size])  # some files have words with a blank
        if word not in wanted or word in known:
            continue
        try:
            vector = np.array(fields[-size:], dtype=np.float64)
        except ValueError as error:
            raise InputError(f"{path}: line {number}: not a word and {size} numbers") from error
        if not word or not np.isfinite(vector).all():
            raise InputError(f"{path}: line {number}: not a word and {size} finite numbers")
        known[word] = vector
    return known


def _lines(path: Path) -> Iterator[str]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if packed else path.open("rb") as lines:
        for line in lines:
            yield line.decode("utf-8", "replace")


def _of_model2vec(folder: Path, words: Sequence[str]) -> dict[str, Matrix]:
    """Return the vector of every word: the folder's tokenizer splits words that it does not have."""
    try:
        from model2vec import StaticModel
    except ImportError as error:
        raise ConfigurationError(
            "a folder of model2vec needs the extra `vectors`: pip install 'segapsith[vectors]'"
        ) from error
    for name in ("model.safetensors", "tokenizer.json"):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: not a folder of model2vec: it has no {name}")
    try:
        model = StaticModel.from_pretrained(folder)
    except Exception as error:
        raise InputError(f"{folder}: not a folder of model2vec: {error}") from error
    vectors = model.encode(list(words), use_multiprocessing=False, normalize=False)
    return {
        word: vector.astype(np.float64)
        for word, vector in zip(words, vectors, strict=True)
        if np.any(vector)
    }


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {"vectors": Vectors}
