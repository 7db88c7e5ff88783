"""Latent directions of the learned rows: lsa (truncated SVD) and pca (the same, centred).

X is terms × documents, as in Farahat & Kamel (2010), section 7.1. X = U S Vᵀ, a document is its
column of U_dᵀ X = S_d V_dᵀ, and documents are compared by the cosine there. A new row x is folded
in as x U_d: `compare(rows, rows)` after `learn(rows)` is the published matrix, and other rows need
no further learning. PCA uses X H, the documents minus their mean, and subtracts the same mean from
new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from segapsith.arrays import Matrix, Rows
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    Projection,
    canonical,
    leading_vectors,
    require,
    row_norms,
)
from segapsith_plugins.similarities._projected_rows import ProjectedRows

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

__all__ = ["Lsa", "Pca"]


class _Latent(ProjectedRows):
    """The cosine of rows after projection on the leading directions of the learned rows.

    Words that were not learned have no effect.
    """

    centred: ClassVar[bool]

    def __init__(self, *, rank: int = 50) -> None:
        require(isinstance(rank, int) and rank >= 1, "rank", rank, ">= 1")
        super().__init__()
        self.rank = rank

    def learn(self, rows: Rows) -> None:
        """Learn the leading directions; this replaces what was learned before."""
        rows = canonical(rows)
        n_rows, n_words = rows.shape
        mean: Matrix = np.zeros(n_words)
        if self.centred and n_rows:
            mean = rows.sum(axis=0) / n_rows
        operator = _centred_operator(rows, mean)
        floor = 1e-10 * float(np.linalg.norm(row_norms(rows)))  # below it there is only rounding
        vectors = leading_vectors(operator, self.rank, floor, "right")
        self._projection = Projection(vectors, mean)


def _centred_operator(rows: Rows, mean: Matrix) -> LinearOperator:
    """Return rows - mean, which would be dense, as an operator."""
    from scipy.sparse.linalg import LinearOperator  # slow to import, and seldom needed

    transposed = rows.T.tocsr()
    return LinearOperator(
        rows.shape,
        dtype=np.float64,
        matvec=lambda v: rows @ v.ravel() - mean @ v.ravel(),
        rmatvec=lambda u: transposed @ u.ravel() - mean * u.sum(),
        matmat=lambda v: rows @ v - (mean @ v)[None, :],
        rmatmat=lambda u: transposed @ u - np.outer(mean, u.sum(axis=0)),
    )


class Lsa(_Latent):
    """Latent semantic analysis: the cosine on the `rank` leading singular directions.

    There are fewer directions if the rows have a lower rank. The sign of each is fixed and the
    iteration starts from a fixed vector, so that the same rows give the same numbers. Where the
    singular values around `rank` are equal, it is undefined which direction is used. Words that
    were not learned have no effect; a row of such words only has similarity 0 with every row.
    """

    centred: ClassVar[bool] = False


class Pca(_Latent):
    """Principal components: as `Lsa`, after the mean of the learned rows is subtracted.

    A row that equals the mean has similarity 0 with every row; if all learned rows are equal, this
    holds for all. The length of a row matters here, because the mean is subtracted from it; an
    empty row is the negative of the mean, as the formula requires.
    """

    centred: ClassVar[bool] = True


@hookimpl
def register_similarities() -> Mapping[str, Callable[..., Similarity]]:
    return {"lsa": Lsa, "pca": Pca}
