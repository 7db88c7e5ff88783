"""SNOS: objects are similar if their features are, and vice versa, with damping.

Liu et al. (2004), as Grimal & Bisson (2011) compare with it. With M the rows divided by their sums,

    SR = λ M SC Mᵀ     SC = λ Mᵀ SR M     both with the diagonal reset to 1 after each step

and λ = 0.9 / max(‖M‖₁, ‖M‖_∞), with which λ ‖M‖₂² < 1: the iterates stay finite. The formulas are
recalled from the literature, and the constant is uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import Floats, inverse, non_negative, require
from segapsith_plugins.similarities._co_similarity import congruence
from segapsith_plugins.similarities._learned_rows import LearnedRows

__all__ = ["Snos"]


class Snos:
    """The similarity of the learned rows after `iterations` steps from identities.

    `damping` is λ; None: the value above. `normalise="rows"` divides rows by their sums, `"none"`
    uses them as they are. SR(T) needs SC(T-1), which needs SR(T-2): one chain is computed. Values
    may be above 1, since they are not normalised. `learn` replaces what was learned before.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit_diagonal: ClassVar[bool] = True
    learned_rows_only: ClassVar[bool] = True

    def __init__(
        self,
        *,
        iterations: int = 4,
        damping: float | None = None,
        normalise: Literal["rows", "none"] = "rows",
    ) -> None:
        require(isinstance(iterations, int) and iterations >= 1, "iterations", iterations, ">= 1")
        finite = damping is None or 0 < damping < math.inf
        require(finite, "damping", damping, "> 0, or none")
        require(normalise in ("rows", "none"), "normalise", repr(normalise), "rows or none")
        self.iterations = iterations
        self.damping = damping
        self.normalise = normalise
        self._learned = LearnedRows.none("snos")
        self._similar: Floats = np.zeros((0, 0))

    def learn(self, rows: Rows) -> None:
        """Compute the chain over these rows."""
        given = non_negative(rows, "snos")
        matrix = given[:, np.flatnonzero(np.bincount(given.indices, minlength=given.shape[1]))]
        if self.normalise == "rows":
            scale = inverse(np.asarray(matrix.sum(axis=1)).ravel())
            data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
            matrix = csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        sums = [np.asarray(matrix.sum(axis=axis)).max(initial=0.0) for axis in (0, 1)]
        damping = self.damping or 0.9 / (max(sums) or 1.0)
        turned = matrix.T.tocsr()
        similar: Floats | None = None
        for step in range(self.iterations, 0, -1):
            similar = congruence(matrix if step % 2 == 1 else turned, similar)
            similar *= damping
            np.fill_diagonal(similar, 1.0)
        assert similar is not None
        if not np.isfinite(similar).all():
            raise ValueError(
                f"snos: damping={damping} is too large for these rows; leave it out for a safe value"
            )
        self._learned, self._similar = LearnedRows({"rows": given}, "snos"), similar

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the similarity of each pair of learned rows; raise for other rows."""
        return self._learned.picked(self._similar, left, right)

    def state(self) -> State:
        """Return the learned rows and their similarities."""
        return {**self._learned.state(), "similar": self._similar}

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._learned = LearnedRows.restored(state, "snos")
        self._similar = np.array(state["similar"], dtype=np.float64)


@hookimpl
def register_similarities() -> Mapping[str, type[Similarity]]:
    return {"snos": Snos}
