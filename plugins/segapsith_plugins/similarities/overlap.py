"""Similarities by shared words: eq7, cosine, jaccard, dice, generalized-cosine.

Each pair is independent of the others, so there is nothing to learn and the vocabulary may grow at
any time. Only the generalized cosine learns the similarity of words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import ProductForm, Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    canonical,
    dense_product,
    fitted,
    inverse,
    non_negative,
    packed,
    require,
    row_norms,
    same_rows,
    scaled_rows,
    times,
    unit_peaks,
    unpacked,
)

__all__ = ["Cosine", "Dice", "Eq7", "GeneralizedCosine", "Jaccard"]


def _widened(left: Rows, right: Rows) -> tuple[Rows, Rows]:
    """Return both with the number of columns of the wider one."""
    width = max(left.shape[1], right.shape[1])
    return fitted(left, width), fitted(right, width)


def _presence(rows: Rows) -> Rows:
    return csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)


class _Unlearned:
    """A similarity with nothing to learn."""

    def learn(self, rows: Rows) -> None:
        """Learn nothing."""

    def state(self) -> State:
        """Return an empty state."""
        return {}

    def restore(self, state: State) -> None:
        """Restore nothing."""


class Eq7(_Unlearned):
    """The shares of weight and of occurrences of the common words (Ferret, Grau & Jardino 2001, eq.
    7).

    sim(d, c) = [ Σ_common W_d / Σ W_d · Σ_common O_d / Σ O_d · the same two for c ] ^ (1/4),
    between 0 (no common word) and 1 (the same words). The values of a row are the weights W of its
    words. The occurrences O are the same values (`occurrences="values"`, so that sim = √(share_d ·
    share_c)), or 1 for each distinct word (`occurrences="presence"`). An empty row has similarity 0
    with every row, itself included.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit_diagonal: ClassVar[bool] = True

    def __init__(self, *, occurrences: Literal["values", "presence"] = "values") -> None:
        expected = "'values' or 'presence'"
        require(occurrences in ("values", "presence"), "occurrences", occurrences, expected)
        self.occurrences = occurrences

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return equation 7 for each pair."""
        a, b = _widened(*(unit_peaks(non_negative(rows, "eq7")) for rows in (left, right)))
        has_a, has_b = _presence(a), _presence(b)
        share_a = dense_product(a, has_b) * inverse(a.sum(axis=1))[:, None]
        share_b = dense_product(has_a, b) * inverse(b.sum(axis=1))[None, :]
        product = share_a * share_b
        if self.occurrences == "values":
            similar: Matrix = np.sqrt(product)
        else:
            common = dense_product(has_a, has_b)
            product *= common * inverse(has_a.sum(axis=1))[:, None]
            product *= common * inverse(has_b.sum(axis=1))[None, :]
            similar = np.sqrt(np.sqrt(product))
        return np.minimum(similar, 1.0, out=similar)


class Cosine(_Unlearned):
    """The cosine of the angle between two rows; 0 if one is empty.

    With rows of counts or weights, which are never negative, it lies in [0, 1].
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit_diagonal: ClassVar[bool] = True

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the cosine of each pair."""
        a, b = _widened(*(unit_peaks(canonical(rows)) for rows in (left, right)))
        similar: Matrix = dense_product(a, b).astype(np.float64, copy=False)
        similar *= inverse(row_norms(a))[:, None]
        similar *= inverse(row_norms(b))[None, :]
        return np.clip(similar, -1.0, 1.0, out=similar)

    def product_form(self) -> ProductForm:
        """Return the cosine as the product of rows of length 1."""
        return _UnitProducts()


class _UnitProducts:
    """The products of rows of length 1."""

    def scaled(self, rows: Rows) -> Rows:
        """Return the rows with length 1."""
        peaks = unit_peaks(canonical(rows))
        return scaled_rows(peaks, inverse(row_norms(peaks)))

    def spread(self, rows: Rows) -> tuple[NDArray[np.int64], Matrix]:
        """Return the rows word by word."""
        words = np.unique(rows.indices).astype(np.int64)
        return words, np.ascontiguousarray(self.scaled(rows)[:, words].toarray().T)

    def finish(self, products: Matrix) -> Matrix:
        """Return cosines, without what rounding puts outside their bounds."""
        cosines: Matrix = np.clip(products, -1.0, 1.0)
        return cosines


class _Presence(_Unlearned):
    """Similarities by present words; a word is present if its value is above `above`."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit_diagonal: ClassVar[bool] = True

    def __init__(self, *, above: float = 0.0) -> None:
        require(above >= 0, "above", above, ">= 0")
        self.above = above

    def _counts(self, left: Rows, right: Rows) -> tuple[Matrix, Matrix, Matrix]:
        """Return the number of common words of each pair, and of words of each row."""
        a, b = _widened(*(csr_array(canonical(rows) > self.above) for rows in (left, right)))
        a, b = a.astype(np.float64), b.astype(np.float64)
        common: Matrix = dense_product(a, b).astype(np.float64, copy=False)
        return common, a.sum(axis=1)[:, None], b.sum(axis=1)[None, :]


class Jaccard(_Presence):
    """Common words over all words of the two rows: |a ∩ b| / |a ∪ b|, 0 for two empty rows.

    With `above` > 0, a row without values above it counts as empty.
    """

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the overlap of each pair."""
        common, n_left, n_right = self._counts(left, right)
        overlap: Matrix = common / np.maximum(n_left + n_right - common, 1)
        return overlap


class Dice(_Presence):
    """Common words over the mean number of words: 2 |a ∩ b| / (|a| + |b|), 0 for two empty rows.

    With `above` > 0, a row without values above it counts as empty.
    """

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the overlap of each pair."""
        common, n_left, n_right = self._counts(left, right)
        overlap: Matrix = 2 * common / np.maximum(n_left + n_right, 1)
        return overlap


class GeneralizedCosine:
    """The cosine with similarities between words (Grimal & Bisson 2011).

    sim(a, b) = <a, A b> / ( √<a, A a> · √<b, A b> ), with A the similarity of words:

    - `words="cosine"` (default): the cosine between the columns of the learned rows, stored
      as its factor, so that no words × words matrix is needed;
    - `words="identity"`: words are similar only to themselves, which is the plain cosine;
    - a matrix: symmetric, within [0, 1], with unit diagonal and positive semidefinite
      (checked; a supplied similarity that is not can be projected first).

    Words outside A, and words that never occurred in the learned rows, are similar only to
    themselves. Rows must not be negative. `learn` replaces what was learned before.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit_diagonal: ClassVar[bool] = True

    def __init__(self, *, words: Literal["cosine", "identity"] | ArrayLike = "cosine") -> None:
        self._supplied: Matrix | None = None
        if isinstance(words, str):
            expected = "'cosine', 'identity' or a matrix"
            require(words in ("cosine", "identity"), "words", repr(words), expected)
            self.words: str = words
        else:
            self.words = "supplied"
            self._supplied = _word_similarity(words)
        self._factor: Rows = csr_array((0, 0))
        """Learned rows with columns of unit length: A = factorᵀ factor."""

    def learn(self, rows: Rows) -> None:
        """Learn the lengths of the columns, which make the rows a factor of A."""
        if self.words != "cosine":
            return
        columns = unit_peaks(canonical(non_negative(rows, "generalized-cosine").T))
        lengths = np.repeat(row_norms(columns), np.diff(columns.indptr))
        unit = csr_array((columns.data / lengths, columns.indices, columns.indptr), columns.shape)
        self._factor = canonical(unit.T)

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the generalized cosine of each pair."""
        a, b = (unit_peaks(non_negative(rows, "generalized-cosine")) for rows in (left, right))
        same = same_rows(a, b)
        inner = self._inner(a, b)
        if same:
            norms_a = norms_b = np.sqrt(inner.diagonal())
        else:
            norms_a, norms_b = self._norms(a), self._norms(b)
        inner *= inverse(norms_a)[:, None]
        inner *= inverse(norms_b)[None, :]
        return np.clip(inner, 0.0, 1.0, out=inner)

    def state(self) -> State:
        """Return the factor of A; empty for a supplied A or the identity, which are settings."""
        return packed(self._factor, "factor")

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._factor = unpacked(state, "factor")

    def _covered(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which columns A covers."""
        if self._supplied is not None:
            return np.ones(len(self._supplied), dtype=np.bool_)
        occurs = np.zeros(self._factor.shape[1], dtype=np.bool_)
        occurs[self._factor.indices] = True
        return occurs

    def _split(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the part of the rows that A covers, and the rest."""
        in_matrix = self._covered()
        covered = np.zeros(max(rows.shape[1], len(in_matrix)), dtype=np.bool_)
        covered[: len(in_matrix)] = in_matrix
        inside = covered[rows.indices]
        parts = (
            canonical(csr_array((rows.data * keep, rows.indices, rows.indptr), shape=rows.shape))
            for keep in (inside, ~inside)
        )
        covered_rows, other_rows = parts
        return fitted(covered_rows, len(in_matrix)), other_rows

    def _image(self, rows: Rows) -> Matrix:
        """Return rows in the space where A is the inner product.

        If A is supplied, this is A times the rows.
        """
        if self._supplied is not None:
            return times(rows, self._supplied).astype(np.float64, copy=False)
        return dense_product(rows, self._factor).astype(np.float64, copy=False)

    def _inner(self, left: Rows, right: Rows) -> Matrix:
        (a, other_a), (b, other_b) = self._split(left), self._split(right)
        inner: Matrix = dense_product(*_widened(other_a, other_b)).astype(np.float64, copy=False)
        if self._supplied is not None:
            inner += times(b, self._image(a).T).T
        else:
            inner += self._image(a) @ self._image(b).T
        return inner

    def _norms(self, rows: Rows) -> Matrix:
        """Return √<a, A a> for each row."""
        a, other = self._split(rows)
        image = self._image(a)
        if self._supplied is not None:
            squares = a.multiply(image).sum(axis=1)
        else:
            squares = np.einsum("ij,ij->i", image, image)
        norms: Matrix = np.sqrt(squares + np.square(row_norms(other)))
        return norms


def _word_similarity(words: ArrayLike) -> Matrix:
    """Return a supplied A; raise a `ValueError` if it is not valid."""
    matrix = np.array(words, dtype=np.float64)
    shape = matrix.shape
    require(matrix.ndim == 2 and shape[0] == shape[1], "words", f"array{shape}", "square")
    require(bool(np.isfinite(matrix).all()), "words", f"array{shape}", "finite")
    require(bool(np.allclose(matrix, matrix.T)), "words", f"array{shape}", "symmetric")
    within = bool((matrix >= 0).all() and (matrix <= 1 + 1e-9).all())
    require(within, "words", f"array{shape}", "within [0, 1]")
    require(bool(np.allclose(matrix.diagonal(), 1)), "words", f"array{shape}", "1 on its diagonal")
    lowest = float(np.linalg.eigvalsh(matrix)[0]) if len(matrix) else 0.0
    expected = f"positive semidefinite (lowest eigenvalue {lowest:.3g})"
    require(lowest >= -1e-9 * max(1, len(matrix)), "words", f"array{shape}", expected)
    return matrix


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {
        "eq7": Eq7,
        "cosine": Cosine,
        "jaccard": Jaccard,
        "dice": Dice,
        "generalized-cosine": GeneralizedCosine,
    }
