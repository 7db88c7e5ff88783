"""The generalized vector space models of Farahat & Kamel (2010): words correlate as in a corpus.

X is terms × documents, Q terms × n_c the reference documents that show how terms correlate (the
learned rows, unless another set is given). K = Xᵀ G X = Wᵀ W, and a similarity is the cosine
between columns of W, with H = I - eeᵀ/n_c (equations and sections below are those of the paper):

    gvsm-assc     G = Q Qᵀ                          W = Qᵀ X
    gvsm-assc-n   G = L^-½ Q Qᵀ L^-½                W = Qᵀ L^-½ X          L  = diag(Q Qᵀ)
    gvsm-cov      G = Q H Qᵀ / (n_c - 1)            W = H Qᵀ X / √(n_c-1)
    gvsm-pcorr    G = Lt^-½ Q H Qᵀ Lt^-½            W = H Qᵀ Lt^-½ X       Lt = diag(Q H Qᵀ)

No terms × terms matrix exists anywhere: a row of W is what one reference document has in common
with each compared row, minus (for the last two) what the mean reference document has. A factor
that is the same for all rows, as 1/√(n_c-1), does not change a cosine and is left out.

Settings of the four:

- `reference`: the documents Q, rows × the same words; None: the learned rows.
- `sample`: share of the reference documents to draw, with replacement, each with
  probability |W_i|² / ‖W‖², weighted so that the expected products do not change (section 5, with
  both norms squared, as they must be); None: all. `seed` initialises the random generator.
- `precision="single"`: float32 products, half the time and memory, about six digits.

lsi-cov and pca-cov project the columns of gvsm-cov's W on its leading directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import ProductForm, Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    Floats,
    Precision,
    Projection,
    canonical,
    dense_product,
    fitted,
    float_type,
    inverse,
    leading_vectors,
    packed,
    require,
    same_rows,
    scaled_rows,
    slices,
    times,
    unit_peaks,
    unpacked,
    vanished,
)
from segapsith_plugins.similarities._projected_rows import ProjectedRows

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["GvsmAssc", "GvsmAsscN", "GvsmCov", "GvsmPcorr", "LsiCov", "PcaCov"]

_REFERENCES_PER_PIECE = 8192
"""Reference documents processed at a time, so that the whole W of a large set is never in memory."""


def _scaled_columns(rows: Rows, scale: Matrix) -> Rows:
    data = rows.data * scale[rows.indices]
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _unit_size(rows: Rows) -> Rows:
    """Return the rows divided by their largest absolute value, which changes no cosine."""
    peak = np.abs(rows.data).max(initial=0.0)
    return csr_array((rows.data / (peak or 1.0), rows.indices, rows.indptr), shape=rows.shape)


def _column_mean(rows: Rows) -> Matrix:
    mean: Matrix = rows.sum(axis=0) / max(rows.shape[0], 1)
    return mean


def _column_squares(rows: Rows) -> Matrix:
    """Return diag(Q Qᵀ), the squared length of each term."""
    squares: Matrix = rows.multiply(rows).sum(axis=0)
    return squares


def _column_scatter(rows: Rows, mean: Matrix) -> Matrix:
    """Return diag(Q H Qᵀ), the squared deviations of each term from its mean.

    They are summed one by one: the difference of two large sums would lose digits.
    """
    deviations = np.square(rows.data - mean[rows.indices])
    n_present = np.bincount(rows.indices, minlength=rows.shape[1])
    n_absent = rows.shape[0] - n_present
    of_present = np.bincount(rows.indices, weights=deviations, minlength=rows.shape[1])
    scatter: Matrix = of_present + n_absent * np.square(mean)
    return scatter


class _Gvsm:
    """One line of W for each reference document; compare is the cosine between columns of W.

    Words that do not occur in the reference documents have no effect. A row whose column of W is
    zero has similarity 0 with every row, itself included: it is empty, has only unknown words, or
    (in the centred models) has the same product with every document. `learn` replaces what was
    learned before.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit_diagonal: ClassVar[bool] = False
    """False: a row that is not empty may still have a zero column in W, and then similarity 0."""

    centred: ClassVar[bool]
    normalised: ClassVar[bool]

    def __init__(
        self,
        *,
        reference: Rows | None = None,
        sample: float | None = None,
        seed: int | None = 0,
        precision: Precision = "double",
    ) -> None:
        require(sample is None or 0 < sample <= 1, "sample", sample, "> 0 and <= 1")
        require(precision in ("double", "single"), "precision", precision, "'double' or 'single'")
        self.sample = sample
        self.seed = seed
        self.precision: Precision = precision
        self._reference = None if reference is None else canonical(reference)
        self._lines: Rows = csr_array((0, 0), dtype=np.float64)
        """Reference documents × words, scaled by word; with `sample`, one line per draw."""
        self._mean: Matrix = np.zeros(0)
        self._weights: Matrix = np.zeros(0)

    def learn(self, rows: Rows) -> None:
        """Learn how words correlate in the reference documents; a sample is weighted by `rows`."""
        rows = canonical(rows)
        lines = _unit_size(rows if self._reference is None else self._reference)
        mean = _column_mean(lines)
        if self.normalised:
            plain = _column_squares(lines)
            spread = _column_scatter(lines, mean) if self.centred else plain
            spread = np.where(vanished(np.sqrt(spread), np.sqrt(plain)), 0.0, spread)
            scale = inverse(np.sqrt(spread)).astype(np.float64)
            lines, mean = _scaled_columns(lines, scale), mean * scale
        self._lines = lines
        self._mean = mean if self.centred else np.zeros_like(mean)
        self._weights = np.ones(lines.shape[0])
        if self.sample is not None and lines.shape[0]:
            self._draw(self.sample, rows)

    def factors(self, rows: Rows) -> Matrix:
        """Return the columns of W as lines, one for each row; `compare` is their cosine."""
        pieces = [piece.astype(np.float64) for piece, _ in self._pieces(canonical(rows))]
        return np.hstack([np.zeros((rows.shape[0], 0)), *pieces])

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the cosine of each pair in the space of the reference documents."""
        left, right = unit_peaks(canonical(left)), unit_peaks(canonical(right))
        same = same_rows(left, right)
        dtype = float_type(self.precision)
        products: Floats | None = None
        squares_a, reach_a = np.zeros(left.shape[0]), np.zeros(left.shape[0])
        squares_b, reach_b = np.zeros(right.shape[0]), np.zeros(right.shape[0])
        right_pieces = self._pieces(right) if not same else None
        for a, before_a in self._pieces(left):
            squares_a += _squares(a)
            reach_a += before_a
            b = a
            if right_pieces is not None:
                b, before_b = next(right_pieces)
                squares_b += _squares(b)
                reach_b += before_b
            more = a @ b.T
            products = more if products is None else np.add(products, more, out=products)
        if products is None:
            products = np.zeros((left.shape[0], right.shape[0]), dtype)
        if same:
            squares_b, reach_b = squares_a, reach_a
        products *= self._scale(squares_a, reach_a).astype(dtype)[:, None]
        products *= self._scale(squares_b, reach_b).astype(dtype)[None, :]
        similar: Matrix = np.clip(products, -1, 1, out=products).astype(np.float64, copy=False)
        return similar

    def product_form(self) -> ProductForm:
        """Return the cosine as a product with G a, one number for each word."""
        return _GvsmProducts(self)

    def state(self) -> State:
        """Return the reference documents, their mean, and the weights of the sample."""
        return {**packed(self._lines, "lines"), "mean": self._mean, "weights": self._weights}

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._lines = unpacked(state, "lines")
        self._mean = np.asarray(state["mean"])
        self._weights = np.asarray(state["weights"])

    def _scale(self, squares: Matrix, reach: Matrix) -> Floats:
        """Return 1 / length, or 0 where the length is only a rounding error of the centring."""
        lengths = np.sqrt(squares)
        lengths[vanished(lengths, np.sqrt(reach), self.precision)] = 0
        return inverse(lengths)

    def _pieces(self, rows: Rows) -> Iterator[tuple[Floats, Matrix]]:
        """Yield Wᵀ for a part of the reference documents, and its squared lengths before centring."""
        dtype = float_type(self.precision)
        inside = fitted(rows, self._lines.shape[1])
        common = (inside @ self._mean).astype(dtype)
        for part in slices(self._lines.shape[0], _REFERENCES_PER_PIECE):
            piece = dense_product(inside, self._lines[part], dtype)
            before = np.zeros(rows.shape[0])
            if self.centred:
                before = _squares(piece) + piece.shape[1] * np.square(common)
                piece -= common[:, None]
            if self.sample is not None:
                weights = self._weights[part]
                piece *= weights.astype(dtype)
                before *= float(np.square(weights).max(initial=0.0))
            yield piece, before

    def _draw(self, share: float, rows: Rows) -> None:
        """Draw a sample of the lines of W, each with a probability by its squared length."""
        lengths = np.concatenate(
            [np.einsum("ij,ij->j", piece, piece) for piece, _ in self._pieces(_unit_size(rows))]
        ).astype(np.float64)
        total = lengths.sum()
        n_drawn = max(1, round(share * len(lengths)))
        chances = lengths / total if total > 0 else np.full(len(lengths), 1 / len(lengths))
        drawn = np.random.default_rng(self.seed).choice(len(lengths), size=n_drawn, p=chances)
        self._lines = self._lines[drawn]
        self._weights = 1 / np.sqrt(n_drawn * chances[drawn])


class _GvsmProducts:
    """The cosine of rows a and b as (G a / |W a|) · (b / |W b|), so b stays sparse."""

    def __init__(self, measure: _Gvsm) -> None:
        self._measure = measure

    def scaled(self, rows: Rows) -> Rows:
        """Return the rows over their lengths in the space of the reference documents."""
        peaks = unit_peaks(canonical(rows))
        squares, reach = np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
        for piece, before in self._measure._pieces(peaks):
            squares += _squares(piece)
            reach += before
        return scaled_rows(peaks, self._measure._scale(squares, reach))

    def spread(self, rows: Rows) -> tuple[NDArray[np.int64], Floats]:
        """Return G a / |W a| of each row, at the words of the reference documents."""
        measure = self._measure
        lines = measure._lines
        used = np.concatenate([lines.indices, np.flatnonzero(measure._mean)])
        words = np.unique(used).astype(np.int64)  # those of lines that were not drawn, too
        narrow, mean = lines[:, words], measure._mean[words]
        dtype = float_type(measure.precision)
        result = np.zeros((len(words), rows.shape[0]), dtype)
        parts = slices(lines.shape[0], _REFERENCES_PER_PIECE)
        for part, (piece, _) in zip(parts, measure._pieces(self.scaled(rows)), strict=True):
            weighted = piece * measure._weights[part].astype(dtype)
            columns = csr_array(narrow[part].T).astype(dtype)
            times(columns, np.ascontiguousarray(weighted.T), add_to=result)
            result -= np.outer(mean, weighted.sum(axis=1)).astype(dtype)
        return words, result

    def finish(self, products: Matrix) -> Matrix:
        """Return cosines, without what rounding puts outside their bounds."""
        cosines: Matrix = np.clip(products, -1.0, 1.0)
        return cosines


def _squares(rows: Floats) -> Matrix:
    """Return the squared length of each row."""
    squares: Matrix = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
    return squares


class GvsmAssc(_Gvsm):
    """Association: words are near if they occur together (eq. 6).

    Settings: `reference`, `sample`, `seed`, `precision`; see the top of this module.
    """

    centred: ClassVar[bool] = False
    normalised: ClassVar[bool] = False


class GvsmAsscN(_Gvsm):
    """Normalised association: the cosine between words (eq. 7).

    Settings: `reference`, `sample`, `seed`, `precision`; see the top of this module.
    """

    centred: ClassVar[bool] = False
    normalised: ClassVar[bool] = True


class GvsmCov(_Gvsm):
    """Covariance of words (eq. 8).

    Settings: `reference`, `sample`, `seed`, `precision`; see the top of this module.
    """

    centred: ClassVar[bool] = True
    normalised: ClassVar[bool] = False


class GvsmPcorr(_Gvsm):
    """Pearson correlation of words (eq. 9, without its spurious factor).

    Settings: `reference`, `sample`, `seed`, `precision`; see the top of this module.
    """

    centred: ClassVar[bool] = True
    normalised: ClassVar[bool] = True


class _CovProjection(ProjectedRows):
    """Columns of gvsm-cov's W on its leading directions: W_d = U_dᵀ W (sections 4 and 7.1).

    `rank` directions, or fewer if W has a lower rank; `reference` as in gvsm-cov. The state is
    words × rank, so comparing costs the same as in lsa. Words that do not occur in the reference
    documents have no effect. `learn` replaces what was learned before.
    """

    centred: ClassVar[bool]

    def __init__(self, *, rank: int = 50, reference: Rows | None = None) -> None:
        require(isinstance(rank, int) and rank >= 1, "rank", rank, ">= 1")
        super().__init__()
        self.rank = rank
        self._reference = None if reference is None else canonical(reference)

    def learn(self, rows: Rows) -> None:
        """Learn the leading left directions of W, as vectors of words."""
        rows = canonical(rows)
        lines = _unit_size(rows if self._reference is None else self._reference)
        width = max(lines.shape[1], rows.shape[1])
        lines, rows = fitted(lines, width), fitted(rows, width)
        mean = _column_mean(lines)
        operator, size = _weight_operator(lines, mean, rows, self.centred)
        left = leading_vectors(operator, self.rank, 1e-10 * size, "left")
        vectors: Matrix = lines.T @ left - np.outer(mean, left.sum(axis=0))
        middle = _column_mean(rows) if self.centred else np.zeros(width)
        self._projection = Projection(vectors, middle)


def _weight_operator(
    lines: Rows, mean: Matrix, rows: Rows, centred: bool
) -> tuple[LinearOperator, float]:
    """Return W = H Qᵀ X (times H_n if centred) as an operator, and the size of Qᵀ X before it."""
    from scipy.sparse.linalg import LinearOperator  # slow to import, and seldom needed

    columns, words = rows.T.tocsr(), lines.T.tocsr()
    n_rows = max(rows.shape[0], 1)

    def middle(v: Matrix) -> Matrix:
        """Return v minus its mean over the rows, if the documents are centred too."""
        return v - v.sum(axis=0) / n_rows if centred else v

    def forward(v: Matrix) -> Matrix:
        spread = columns @ middle(v)
        result: Matrix = lines @ spread - mean @ spread
        return result

    def backward(u: Matrix) -> Matrix:
        spread = words @ u - (np.outer(mean, u.sum(axis=0)) if u.ndim == 2 else mean * u.sum())
        result: Matrix = middle(rows @ spread)
        return result

    operator = LinearOperator(
        (lines.shape[0], rows.shape[0]),
        dtype=np.float64,
        matvec=lambda v: forward(v.ravel()),
        rmatvec=lambda u: backward(u.ravel()),
        matmat=forward,
        rmatmat=backward,
    )
    size = float(np.linalg.norm(lines.data) * np.linalg.norm(rows.data))
    return operator, size


class LsiCov(_CovProjection):
    """Latent semantic indexing of gvsm-cov: the leading directions of W as it is."""

    centred: ClassVar[bool] = False


class PcaCov(_CovProjection):
    """Principal components of gvsm-cov: the mean document is subtracted from each (W H_n).

    The length of a row matters here; an empty row is the negative of the mean, as the formula
    requires.
    """

    centred: ClassVar[bool] = True


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {
        "gvsm-assc": GvsmAssc,
        "gvsm-assc-n": GvsmAsscN,
        "gvsm-cov": GvsmCov,
        "gvsm-pcorr": GvsmPcorr,
        "lsi-cov": LsiCov,
        "pca-cov": PcaCov,
    }
