"""Latent directions of the learned rows: lsa (truncated SVD) and pca (the same, centred).

X is terms × documents (S3 7.1). X = U S Vᵀ, a document is its column of U_dᵀ X = S_d V_dᵀ, and
documents are compared by the cosine there. A new row x is folded in as x U_d, so that
`compare(rows, rows)` after `learn(rows)` is the published matrix and other rows need nothing
new. PCA takes X H, the documents minus their mean, and subtracts the same mean from new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    Projection,
    canonical,
    leading_vectors,
    require,
    row_norms,
)

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["Lsa", "Pca"]


class _Latent:
    """Rows projected on the leading directions of the rows that were learned."""

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit_diagonal: ClassVar[bool] = False
    """1 for every row with a direction of its own; 0 for one that the projection leaves nothing of."""

    centred: ClassVar[bool]

    def __init__(self, *, rank: int = 50) -> None:
        require(isinstance(rank, int) and rank >= 1, "rank", rank, ">= 1")
        self.rank = rank
        self._projection = Projection.none()

    def learn(self, rows: Rows) -> None:
        """The leading directions; replaces what was learned before."""
        rows = canonical(rows)
        n_rows, n_words = rows.shape
        mean: Matrix = np.zeros(n_words)
        if self.centred and n_rows:
            mean = rows.sum(axis=0) / n_rows
        operator = _centred_operator(rows, mean)
        floor = 1e-10 * float(np.linalg.norm(row_norms(rows)))  # below it there is only rounding
        vectors = leading_vectors(operator, self.rank, floor, "right")
        self._projection = Projection(vectors, mean)

    def factors(self, rows: Rows) -> Matrix:
        """The rows in the latent space, one line each; `compare` is the cosine of these."""
        return self._projection.factors(canonical(rows))

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """The cosine in the latent space; words that were not learned count for nothing."""
        return self._projection.compare(left, right)

    def state(self) -> State:
        """The directions (words × rank) and the mean row."""
        return self._projection.state()

    def restore(self, state: State) -> None:
        """Puts the directions back."""
        self._projection = Projection.restored(state)


def _centred_operator(rows: Rows, mean: Matrix) -> LinearOperator:
    """rows - mean, which would be dense, as an operator."""
    from scipy.sparse.linalg import LinearOperator  # slow to import, and seldom needed

    turned = rows.T.tocsr()
    return LinearOperator(
        rows.shape,
        dtype=np.float64,
        matvec=lambda v: rows @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: turned @ u.ravel() - mean * u.sum(),
        matmat=lambda v: rows @ v - (mean @ v)[None, :],
        rmatmat=lambda u: turned @ u - np.outer(mean, u.sum(axis=0)),
    )


class Lsa(_Latent):
    """Latent semantic analysis: the cosine on the `rank` leading singular directions.

    Fewer directions are taken where the rows have no more. The sign of each is fixed and the
    iteration starts from a fixed vector, so that the same rows give the same numbers. Where
    two singular values are equal at the cut, which direction is taken is not defined.
    Words that were not learned count for nothing; a row without any other is like nothing.
    """

    centred: ClassVar[bool] = False


class Pca(_Latent):
    """Principal components: as `Lsa`, after the mean of the learned rows is subtracted.

    A row that equals the mean, and every row if all learned rows are equal, is like nothing.
    The length of a row matters here, because the mean is subtracted from it; an empty row is
    the mean's opposite, as the formula has it.
    """

    centred: ClassVar[bool] = True


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {"lsa": Lsa, "pca": Pca}
