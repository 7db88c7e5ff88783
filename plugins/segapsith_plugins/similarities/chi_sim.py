"""χ-Sim: documents are similar if their words are, and words are similar if their documents are.

The co-similarity of Grimal & Bisson (2011) and Bisson & Grimal (2012). With M the rows, Mk their
elementwise power k, SR(0) = SC(0) = I:

    A = Mk SC(t-1) Mkᵀ     SR(t)_ij = ( A_ij / √(A_ii A_jj) ) ^ (1/k)      rows (documents)
    B = Mkᵀ SR(t-1) Mk     SC(t)_ij = ( B_ij / √(B_ii B_jj) ) ^ (1/k)      columns (words)

The code relies on three facts. SR(T) needs SC(T-1), which needs SR(T-2), and so on: half of the
matrices are not needed, so only one chain of T half-steps is computed. A half-step is two products
of a sparse with a dense matrix. Scaling a row of M changes A only by a factor that the
normalisation removes: rows are scaled to a largest value of 1 before a row step, columns before a
word step, so that powers neither overflow nor vanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import ProductForm, Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    Floats,
    Precision,
    dense_product,
    float_type,
    inverse,
    non_negative,
    packed,
    require,
    same_rows,
    scaled_rows,
    slices,
    times,
    unit_peaks,
    unpacked,
)
from segapsith_plugins.similarities._co_similarity import (
    TIE,
    congruence,
    max_bilinear,
    prune_lowest,
)
from segapsith_plugins.similarities._word_matrices import (
    RecomputedWords,
    bilinear,
    max_self_products,
    recomputed_products,
    self_products,
    streamed_quantile,
)

__all__ = ["ChiSim", "ChiSimOriginal", "psd_projection"]


_SPREAD_ROWS = 256
"""Rows that are multiplied with the word matrix at a time, to find their lengths."""


def psd_projection(matrix: Matrix) -> Matrix:
    """Return the matrix with its negative eigenvalues set to 0, rescaled to a diagonal of 1.

    >>> psd_projection(np.array([[1.0, 0.5], [0.5, 1.0]])).round(9)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    values, vectors = np.linalg.eigh(matrix)
    scaled = vectors * np.sqrt(np.maximum(values, 0))
    lengths = np.linalg.norm(scaled, axis=1)
    scaled *= inverse(lengths)[:, None]
    projected: Matrix = scaled @ scaled.T
    np.fill_diagonal(projected, np.where(lengths > 0, 1.0, 0.0))
    return projected


# --- the measures -----------------------------------------------------------------------


class _CoSimilarity:
    """The chain of half-steps, and its result for `compare`: SC(T-1) and one threshold."""

    name: ClassVar[str]

    def __init__(
        self,
        *,
        k: float,
        prune: float,
        prune_population: Literal["all", "nonzero"],
        infinite: Literal["printed", "limit"],
        iterations: int,
        initial_rows: ArrayLike | None,
        initial_words: ArrayLike | None,
        psd: bool,
        by_length: bool,
        reset_diagonal: bool,
        word_memory: float,
        precision: Precision,
    ) -> None:
        require(k > 0, "k", k, "> 0, or inf")
        require(0 <= prune < 1, "prune", prune, ">= 0 and < 1")
        populations = "'all' or 'nonzero'"
        require(
            prune_population in ("all", "nonzero"),
            "prune_population",
            prune_population,
            populations,
        )
        require(infinite in ("printed", "limit"), "infinite", infinite, "'printed' or 'limit'")
        require(isinstance(iterations, int) and iterations >= 1, "iterations", iterations, ">= 1")
        require(precision in ("double", "single"), "precision", precision, "'double' or 'single'")
        require(word_memory >= 0, "word_memory", word_memory, ">= 0 bytes")
        self.k = float(k)
        self.prune = prune
        self.prune_population = prune_population
        self.infinite = infinite
        self.iterations = iterations
        self.psd = psd
        self.word_memory = word_memory
        self.precision: Precision = precision
        self._by_length = by_length
        self._reset_diagonal = reset_diagonal
        self._dtype = float_type(precision)
        self._tie = TIE[precision]
        self._initial_rows = _initial("initial_rows", initial_rows, self._dtype)
        self._initial_words = _initial("initial_words", initial_words, self._dtype)
        self._reset()

    def _reset(self) -> None:
        self._rows: Rows = csr_array((0, 0), dtype=np.float64)
        self._covered_words: NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._words: Floats | RecomputedWords | None = None
        self._threshold = 0.0
        self._last: Floats | None = None
        """SR(T) itself, if it was computed for the threshold and there is memory; not part of the
        state.
        """

    def learn(self, rows: Rows) -> None:
        """Compute the chain; this replaces what was learned before."""
        rows = non_negative(rows, self.name)
        for name, initial, size in (
            ("initial_rows", self._initial_rows, rows.shape[0]),
            ("initial_words", self._initial_words, rows.shape[1]),
        ):
            if initial is not None:
                expected = f"{size} x {size} for these rows"
                require(len(initial) == size, name, f"array{initial.shape}", expected)
        self._reset()
        self._rows = rows
        self._covered_words = self._covered(rows)
        by_row, by_word = self._sides()
        self._words = self._chain(
            "words", self.iterations - 1, by_row, by_word, self._covered_words
        )
        if self.prune > 0:
            last, self._threshold = self._step(by_row, self._words)
            whole = not self._copies_differ and not self.psd
            if last.nbytes <= self.word_memory and whole:
                self._last = last

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return SR(T) for each pair, with the words as they were before the last step.

        Words that were not learned are similar only to themselves. An empty row has similarity 0
        with every row, itself included.
        """
        left, right = non_negative(left, self.name), non_negative(right, self.name)
        twins = same_rows(left, right)
        if twins and self._last is not None and same_rows(left, self._rows):
            learned: Matrix = self._last.astype(np.float64)
            np.fill_diagonal(learned, np.diff(left.indptr) > 0)
            return learned
        a = self._powered(left)
        b = a if twins else self._powered(right)
        products, self_a, self_b = self._products(a, b)
        lengths_a, lengths_b = self._lengths(a, self_a), self._lengths(b, self_b)
        similar: Matrix = self._normalised(products, lengths_a, lengths_b).astype(
            np.float64, copy=False
        )
        if twins and not self._by_length:
            np.fill_diagonal(similar, np.diff(left.indptr) > 0)  # it was so, except for rounding
        if self._reset_diagonal:
            similar[_same_pairs(left, right)] = 1.0
        if self._threshold > 0:
            pruned = similar < self._threshold - self._tie
            if self._copies_differ:
                pruned[_same_pairs(left, right)] = False  # a row and itself: never pruned
            similar[pruned] = 0.0
        return similar

    def product_form(self) -> ProductForm | None:
        """Return the root of products with SC(T-1) a; None if a row and its copy are special."""
        special = self._reset_diagonal or (self._threshold > 0 and self._copies_differ)
        return None if special or math.isinf(self.k) else _CoSimilarityProducts(self)

    def columns(self) -> Matrix:
        """Return SC(T), the similarities of the learned words, in the order of the columns.

        It belongs to the other chain, so it is computed by this call. A word that never occurred is
        similar only to itself.
        """
        occurring = np.flatnonzero(np.bincount(self._rows.indices, minlength=self._rows.shape[1]))
        similar: Matrix = np.eye(self._rows.shape[1])
        if len(occurring):
            by_row, by_word = self._sides(occurring)
            before = self._chain("rows", self.iterations - 1, by_row, by_word, occurring)
            similar[np.ix_(occurring, occurring)], _threshold = self._step(by_word, before)
        return similar

    def state(self) -> State:
        """Return the learned rows, SC(T-1) or what it is recomputed from, and the threshold."""
        arrays: dict[str, NDArray[Any]] = {
            **packed(self._rows, "rows"),
            "known": self._covered_words.astype(np.int64),
            "threshold": np.array(self._threshold),
        }
        if isinstance(self._words, RecomputedWords):
            arrays["word_scale"] = self._words.scale
            arrays["word_threshold"] = np.array(self._words.threshold)
            if self._words.documents is not None:
                arrays["documents"] = self._words.documents
        elif self._words is not None:
            arrays["words"] = self._words
        return arrays

    def restore(self, state: State) -> None:
        """Restore `state`; the settings must be those with which it was learned."""
        self._last = None
        self._rows = unpacked(state, "rows")
        self._covered_words = np.asarray(state["known"], dtype=np.intp)
        self._threshold = float(state["threshold"])
        self._words = None
        if "words" in state:
            self._words = np.array(state["words"], dtype=self._dtype)
        elif "word_scale" in state:
            self._words = RecomputedWords(
                columns=self._sides()[1],
                documents=state.get("documents"),
                scale=np.asarray(state["word_scale"]),
                power=self._root,
                tie=self._tie,
                unit_diagonal=self._unit_steps,
                threshold=float(state["word_threshold"]),
            )

    # --- the chain

    @property
    def _root(self) -> float:
        return 1.0 if math.isinf(self.k) else 1.0 / self.k

    @property
    def _copies_differ(self) -> bool:
        """Whether the threshold can prune a row and its exact copy, but not the row and itself."""
        return self._by_length or self._threshold > 1 + self._tie

    @property
    def _unit_steps(self) -> bool:
        return not self._by_length or self._reset_diagonal

    def _covered(self, rows: Rows) -> NDArray[np.intp]:
        """Return the columns of SC(T-1): those that occur, or all if SC(0) was supplied."""
        if self.iterations == 1 and self._initial_words is not None:
            return np.arange(rows.shape[1])
        return np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))

    def _powered(self, rows: Rows) -> Rows:
        """Return the rows, scaled to a largest value of 1, to the power k."""
        scaled = unit_peaks(rows)
        power = 1.0 if math.isinf(self.k) else self.k
        data = np.power(scaled.data, power).astype(self._dtype)
        return csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)

    def _sides(self, words: NDArray[np.intp] | None = None) -> tuple[Rows, Rows]:
        """Return rows × words for row steps, and words × rows for word steps."""
        rows = self._rows[:, self._covered_words if words is None else words]
        return self._powered(rows), self._powered(rows.T.tocsr())

    def _chain(
        self,
        side: Literal["rows", "words"],
        t: int,
        by_row: Rows,
        by_word: Rows,
        words: NDArray[np.intp],
    ) -> Floats | RecomputedWords | None:
        """Return SR(t) or SC(t), by the one chain that leads to it; None is the identity."""
        words_next = (side == "words") == (t % 2 == 1)
        similar: Floats | RecomputedWords | None = self._initial_rows
        if not words_next:
            similar = self._initial_words
            if similar is not None:
                similar = similar[np.ix_(words, words)]
        for _ in range(t):
            if words_next and not isinstance(similar, RecomputedWords) and self._too_large(by_word):
                similar = self._recomputed(by_word, similar)
            else:
                similar, _threshold = self._step(by_word if words_next else by_row, similar)
            words_next = not words_next
        return similar

    def _too_large(self, by_word: Rows) -> bool:
        whole = self.psd or math.isinf(self.k)  # they need the whole matrix
        return not whole and by_word.shape[0] ** 2 * by_word.dtype.itemsize > self.word_memory

    def _step(self, rows: Rows, middle: Floats | RecomputedWords | None) -> tuple[Floats, float]:
        """Return one half-step (products, normalisation, pruning) and the pruning threshold."""
        if isinstance(middle, RecomputedWords):
            everything = slice(0, rows.shape[0])
            similar, diagonal = recomputed_products(rows, middle, everything, everything)
        else:
            similar = self._congruence(rows, middle)
            diagonal = similar.diagonal()
        lengths = self._lengths(rows, diagonal)
        similar = self._normalised(similar, lengths, lengths)
        if self._unit_steps:
            np.fill_diagonal(similar, 1)  # also for empty rows, whose products are all 0
        threshold = self._prune(similar)
        if self.psd:
            similar = psd_projection(similar.astype(np.float64)).astype(self._dtype, copy=False)
        return similar, threshold

    def _congruence(self, rows: Rows, middle: Floats | None) -> Floats:
        if math.isinf(self.k):
            return max_bilinear(rows, self._support(middle), rows)
        return congruence(rows, middle)

    def _recomputed(self, by_word: Rows, documents: Floats | None) -> RecomputedWords:
        """Return SC after a word step, without storing SC."""
        lengths = self._lengths(by_word, self_products(by_word, documents))
        scale = inverse(lengths)
        plain = RecomputedWords(by_word, documents, scale, self._root, self._tie, self._unit_steps)
        if self.prune == 0:
            return plain
        nonzero = self.prune_population == "nonzero"

        def values() -> Iterator[Floats]:
            return (piece[piece > 0] if nonzero else piece for piece in plain.above_diagonal())

        return replace(plain, threshold=streamed_quantile(values, self.prune))

    def _lengths(self, rows: Rows, self_products: Floats) -> Floats:
        """Return the divisor of each row's products."""
        if self._by_length:
            sums: Floats = rows.sum(axis=1)
            return sums
        return np.sqrt(np.maximum(self_products, 0))

    def _normalised(self, products: Floats, left: Floats, right: Floats) -> Floats:
        """Return products over lengths, to the power 1/k; in place."""
        products *= inverse(left)[:, None]
        products *= inverse(right)[None, :]
        if self.psd:
            np.maximum(products, 0, out=products)  # a projected matrix may have entries below 0
        if self._root != 1.0:
            np.power(products, self._root, out=products)
        return products

    def _prune(self, similar: Floats) -> float:
        """Set entries below the quantile to 0, in place, except the diagonal."""
        return prune_lowest(similar, self.prune, self.prune_population, self._tie)

    def _support(self, middle: Floats | None) -> Floats | None:
        """Return SC itself for the printed form of k = inf, its support for the limit."""
        if middle is None or self.infinite == "printed":
            return middle
        return (middle > 0).astype(self._dtype)

    # --- comparing

    def _products(self, a: Rows, b: Rows) -> tuple[Floats, Floats, Floats]:
        """Return the unnormalised products of all pairs, and of each row with itself."""
        twins = a is b
        width = max(a.shape[1], b.shape[1], self._rows.shape[1])
        (in_a, out_a), (in_b, out_b) = self._split(a, width), self._split(b, width)
        if isinstance(self._words, RecomputedWords):
            left = right = slice(0, a.shape[0])
            if not twins:
                right = slice(a.shape[0], a.shape[0] + b.shape[0])
            stacked = in_a if twins else vstack([in_a, in_b], format="csr")
            products, diagonal = recomputed_products(stacked, self._words, left, right)
            self_a, self_b = diagonal[left], diagonal[right]
        elif math.isinf(self.k):
            words = self._support(self._words)
            products = max_bilinear(in_a, words, in_b)
            self_a, self_b = max_self_products(in_a, words), max_self_products(in_b, words)
            np.maximum(products, max_bilinear(out_a, None, out_b), out=products)
            np.maximum(self_a, max_self_products(out_a, None), out=self_a)
            np.maximum(self_b, max_self_products(out_b, None), out=self_b)
            return products, self_a, self_b
        elif twins:
            products = congruence(in_a, self._words)
            self_a = self_b = products.diagonal().copy()
        else:
            products = bilinear(in_a, self._words, in_b)
            self_a, self_b = self_products(in_a, self._words), self_products(in_b, self._words)
        if out_a.nnz and out_b.nnz:
            products += dense_product(out_a, out_b, self._dtype)
        return products, self_a + self_products(out_a, None), self_b + self_products(out_b, None)

    def _split(self, rows: Rows, width: int) -> tuple[Rows, Rows]:
        """Return the part in learned words, by position in SC, and the part in other words."""
        position = np.full(width, -1, dtype=np.intp)
        position[self._covered_words] = np.arange(len(self._covered_words))
        places = position[rows.indices]
        inside = _selected(rows, places >= 0, places, len(self._covered_words))
        outside = _selected(rows, places < 0, rows.indices, width)
        return inside, outside


class _CoSimilarityProducts:
    """SR(T) of rows a and b as ((SC a / |a|) · (b / |b|)) to the power 1/k, with powered rows."""

    def __init__(self, measure: _CoSimilarity) -> None:
        self._measure = measure

    def scaled(self, rows: Rows) -> Rows:
        """Return the powered rows over their lengths, the roots of their products with themselves."""
        measure = self._measure
        powered = measure._powered(non_negative(rows, measure.name))
        lengths = np.zeros(rows.shape[0], powered.dtype)
        for part in slices(rows.shape[0], _SPREAD_ROWS):
            here = powered[part]
            with_itself = np.zeros(here.shape[0], powered.dtype)
            if not measure._by_length:
                words, spread = self._spread(here)
                with_itself = here[:, words].multiply(spread.T).sum(axis=1)
            lengths[part] = measure._lengths(here, with_itself)
        return scaled_rows(powered, inverse(lengths))

    def spread(self, rows: Rows) -> tuple[NDArray[np.int64], Floats]:
        """Return SC a / |a| of each row: at the learned words, and at its own other words."""
        return self._spread(self.scaled(rows))

    def _spread(self, powered: Rows) -> tuple[NDArray[np.int64], Floats]:
        measure = self._measure
        inside, outside = measure._split(powered, max(powered.shape[1], measure._rows.shape[1]))
        middle = measure._words
        if middle is None:
            words = np.unique(powered.indices).astype(np.int64)
            return words, np.ascontiguousarray(powered[:, words].toarray().T)
        if isinstance(middle, RecomputedWords):
            learned = middle.spread(inside).T
        else:
            learned = times(inside, middle).T
        others = np.unique(outside.indices)
        words = np.concatenate([measure._covered_words, others]).astype(np.int64)
        return words, np.vstack([learned, outside[:, others].toarray().T])

    def finish(self, products: Matrix) -> Matrix:
        """Return similarities: the root, and 0 below the threshold."""
        measure = self._measure
        similar: Matrix = np.power(np.maximum(products, 0), measure._root).astype(np.float64)
        if measure._threshold > 0:
            similar[similar < measure._threshold - measure._tie] = 0.0
        return similar


def _selected(rows: Rows, keep: NDArray[np.bool_], columns: NDArray[Any], width: int) -> Rows:
    """Return the selected entries, in new columns."""
    counts = np.concatenate(([0], np.cumsum(keep)))[rows.indptr]
    return csr_array((rows.data[keep], columns[keep], counts), shape=(rows.shape[0], width))


def _same_pairs(left: Rows, right: Rows) -> NDArray[np.bool_]:
    """Return which pairs are a row and itself or its copy; empty rows are not."""

    def marks(rows: Rows) -> list[bytes]:
        ends = zip(rows.indptr, rows.indptr[1:], strict=False)
        return [
            rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes() for a, b in ends
        ]

    numbers: dict[bytes, int] = {b"": -1}
    left_numbers = np.array([numbers.setdefault(mark, len(numbers)) for mark in marks(left)])
    right_numbers = np.array([numbers.setdefault(mark, len(numbers)) for mark in marks(right)])
    same: NDArray[np.bool_] = left_numbers[:, None] == right_numbers[None, :]
    same &= (left_numbers >= 0)[:, None]
    return same


def _initial(name: str, matrix: ArrayLike | None, dtype: type[np.floating[Any]]) -> Floats | None:
    """Return a supplied SR(0) or SC(0); raise a `ValueError` if it is not valid."""
    if matrix is None:
        return None
    initial = np.array(matrix, dtype=np.float64)
    label = f"array{initial.shape}"
    square = initial.ndim == 2 and initial.shape[0] == initial.shape[1]
    require(square, name, label, "square")
    require(bool(np.isfinite(initial).all()), name, label, "finite")
    require(bool(np.allclose(initial, initial.T, rtol=0, atol=1e-9)), name, label, "symmetric")
    within = bool((initial >= 0).all() and (initial <= 1 + 1e-9).all())
    require(within, name, label, "within [0, 1]")
    unit = bool(np.allclose(initial.diagonal(), 1, rtol=0, atol=1e-9))
    require(unit, name, label, "1 on its diagonal")
    return initial.astype(dtype)


class ChiSim(_CoSimilarity):
    """χ-Sim with the pseudo-norm k and pruning, for rows and words.

    Equations 8-9 of Grimal & Bisson (2011), 1-2 of Bisson & Grimal (2012). After `learn(rows)`,
    `compare(rows, rows)` is SR(T) of these rows and `columns()` is SC(T). For other rows the last
    step uses the same SC(T-1): a new row is compared as if it had been learned, but without its
    effect on the words. A word that was not learned is similar only to itself. An empty row has
    similarity 0 with every row, itself included (the paper's matrix would have 1 there).

    - `k`: the power; 1 is the plain sum, smaller values favour many weak links. `inf` uses the
      largest product m_il · sc_ln · m_jn instead of the sum, as printed (`infinite="printed"`);
      `infinite="limit"` is the true limit of the formula, which depends only on where sc_ln > 0.
    - `prune`: share of the similarities that each step sets to 0, the lowest first, in [0, 1).
      The threshold is the quantile of the entries above the diagonal, zeros included
      (`prune_population="nonzero"`: without them). Ties are not pruned, within 1e-12 (1e-6 in
      single precision), nor is the diagonal. The threshold of SR(T) is learned and applies to any
      pair, so `compare` does not depend on the other rows. SR(T) itself is stored if it fits into
      `word_memory`. If the threshold is above 1, which pruning can cause, the similarity of a row
      and its exact copy is still not pruned.
    - `iterations`: T. Above 4, without pruning, everything becomes similar.
    - `initial_rows`, `initial_words`: SR(0) and SC(0) in place of identities. The chain to
      SR(T) starts from SR(0) for an even T and from SC(0) for an odd one; `columns()` uses
      the other.
    - `psd`: SR and SC are projected to positive semidefinite matrices between the steps; entries
      below 0 count as 0 in a root. The result itself is not projected, because a projection
      needs the whole matrix: `psd_projection(compare(rows, rows))` is a kernel.
    - `word_memory`: maximum bytes of a word matrix. A larger one is not stored: its blocks are
      computed when they are needed, from the row matrix of the previous step, and pruned by an
      exact quantile over all blocks. Then `compare` of a few rows costs their words squared, and
      of all rows as much as a step of `learn`. Row matrices are stored: rows² values. `k=inf` and
      `psd` need the whole matrix and always store it.
    - `precision="single"` stores and multiplies float32.

    Values may be above 1 with pruning or supplied matrices; with k = 1 or 1/2 and neither of these
    they are in [0, 1]. The defaults k = 0.8, prune = 0.6 and T = 4 are those of the tables of
    Grimal & Bisson (2011), where prune was near its best. `learn` replaces what was learned before.
    """

    name: ClassVar[str] = "chi-sim"
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit_diagonal: ClassVar[bool] = True

    def __init__(
        self,
        *,
        k: float = 0.8,
        prune: float = 0.6,
        prune_population: Literal["all", "nonzero"] = "all",
        infinite: Literal["printed", "limit"] = "printed",
        iterations: int = 4,
        initial_rows: ArrayLike | None = None,
        initial_words: ArrayLike | None = None,
        psd: bool = False,
        word_memory: float = 2**30,
        precision: Precision = "double",
    ) -> None:
        super().__init__(
            k=k,
            prune=prune,
            prune_population=prune_population,
            infinite=infinite,
            iterations=iterations,
            initial_rows=initial_rows,
            initial_words=initial_words,
            psd=psd,
            by_length=False,
            reset_diagonal=False,
            word_memory=word_memory,
            precision=precision,
        )


class ChiSimOriginal(_CoSimilarity):
    """χ-Sim as first published (Bisson & Hussain 2008): products over row sums, without k.

    SR_ij = A_ij / (|m_i|₁ |m_j|₁), SC likewise. The diagonal is not 1 and all values shrink from
    step to step. `reset_diagonal` sets it to 1 after each step, the last included, for a row and
    itself or its exact copy. It is uncertain whether the first paper did so, so it is off.
    `prune` came with Grimal & Bisson (2011), so it is 0 by default; the similarity of a row and
    its exact copy is never pruned. The other settings, `columns()`, new rows and new words are as
    in `ChiSim`.
    """

    name: ClassVar[str] = "chi-sim-original"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit_diagonal: ClassVar[bool] = False

    def __init__(
        self,
        *,
        prune: float = 0.0,
        prune_population: Literal["all", "nonzero"] = "all",
        iterations: int = 4,
        reset_diagonal: bool = False,
        initial_rows: ArrayLike | None = None,
        initial_words: ArrayLike | None = None,
        word_memory: float = 2**30,
        precision: Precision = "double",
    ) -> None:
        super().__init__(
            k=1.0,
            prune=prune,
            prune_population=prune_population,
            infinite="printed",
            iterations=iterations,
            initial_rows=initial_rows,
            initial_words=initial_words,
            psd=False,
            by_length=True,
            reset_diagonal=reset_diagonal,
            word_memory=word_memory,
            precision=precision,
        )


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {"chi-sim": ChiSim, "chi-sim-original": ChiSimOriginal}
