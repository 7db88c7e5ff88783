"""CTK: the sigmoid commute-time kernel of Yen et al. (2009), on the graph of the rows.

A is a symmetric adjacency, D its row sums on a diagonal, L = D - A, and

    K = 1 / (1 + exp(-a L⁺ / s)),     s the standard deviation of all entries of L⁺

L⁺ is computed without an eigendecomposition: with u_c the unit vectors that are constant on one
component of the graph each, L⁺ = (L + Σ u_c u_cᵀ)⁻¹ - Σ u_c u_cᵀ.

Grimal & Bisson (2011), who compare with it, do not describe the graph of a document × word matrix
M. `cooccurrence` uses M Mᵀ without its diagonal. `bipartite` has documents and words as nodes, with
M between them; its document block and s are computed from the Schur complement D₁ - M D₂⁻¹ Mᵀ, so
that no dense matrix of documents × words or words × words is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array

from segapsith.arrays import Matrix, Rows, State
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import inverse, non_negative, require
from segapsith_plugins.similarities._learned_rows import LearnedRows

__all__ = ["Ctk"]

log = logging.getLogger(__name__)


class Ctk:
    """The kernel of the learned rows.

    `a` is the steepness (7 as in the public code). `graph` is `cooccurrence` or `bipartite`.
    `centre` subtracts the means of rows and columns. The values of rows that are not connected have
    little meaning: `n_components_` is the number of components, without empty rows, and a message
    is logged if there is more than one. The cost is that of inverting a rows × rows matrix. `learn`
    replaces what was learned before.
    """

    unit_diagonal: ClassVar[bool] = False
    learned_rows_only: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (-2.0, 2.0)
    """Bounds of the centred kernel; without centring it is between 0 and 1."""

    def __init__(
        self,
        *,
        a: float = 7.0,
        graph: Literal["cooccurrence", "bipartite"] = "cooccurrence",
        centre: bool = False,
    ) -> None:
        require(0 < a < np.inf, "a", a, "> 0")
        graphs = ("cooccurrence", "bipartite")
        require(graph in graphs, "graph", repr(graph), " or ".join(graphs))
        self.a = a
        self.graph = graph
        self.centre = centre
        self.n_components_ = 0
        self._learned = LearnedRows.none("ctk")
        self._kernel: Matrix = np.zeros((0, 0))

    def learn(self, rows: Rows) -> None:
        """Compute the kernel of the graph of these rows."""
        given = non_negative(rows, "ctk")
        peak = (
            given.data.max(initial=0.0) or 1.0
        )  # scaling does not change L⁺ / s, and avoids overflow
        matrix = csr_array((given.data / peak, given.indices, given.indptr), shape=given.shape)
        inverse_of = _bipartite if self.graph == "bipartite" else _cooccurrence
        inverse_laplacian, deviation, parts = inverse_of(matrix)
        filled = np.diff(given.indptr) > 0
        self.n_components_ = len(np.unique(parts[filled]))
        if self.n_components_ > 1:
            log.warning("ctk: the rows fall into %d parts that no path joins", self.n_components_)
        scaled = inverse_laplacian * (self.a * (1 / deviation if deviation > 0 else 0.0))
        kernel = 1 / (1 + np.exp(-np.clip(scaled, -700, 700)))
        if self.centre and len(kernel):
            means = kernel.mean(axis=0)
            kernel = kernel - means[None, :] - means[:, None] + means.mean()
        self._learned, self._kernel = LearnedRows({"rows": given}, "ctk"), kernel

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the kernel of each pair of learned rows; raise for other rows."""
        return self._learned.picked(self._kernel, left, right)

    def state(self) -> State:
        """Return the learned rows and their kernel."""
        return {**self._learned.state(), "kernel": self._kernel}

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._learned = LearnedRows.restored(state, "ctk")
        self._kernel = np.array(state["kernel"], dtype=np.float64)


def _pseudo_inverse(laplacian: Matrix, constants: Matrix, degrees: np.ndarray) -> Matrix:
    """Return L⁺, given unit vectors that span its null space, as columns."""
    if not len(laplacian):
        return laplacian
    kernel = constants @ constants.T
    # of the size of L, so that the sum is well conditioned
    size = float(degrees.mean()) or 1.0
    from scipy.linalg import cho_factor, cho_solve  # slow to import, and seldom needed

    solved = cho_solve(cho_factor(laplacian + size * kernel), np.eye(len(laplacian)))
    pseudo_inverse: Matrix = solved - kernel / size
    return (pseudo_inverse + pseudo_inverse.T) / 2


def _constants(parts: np.ndarray, n_parts: int, weights: np.ndarray) -> Matrix:
    """Return one column per component, constant on its nodes; `weights` are the squared lengths."""
    columns = np.zeros((len(parts), n_parts))
    columns[np.arange(len(parts)), parts] = 1 / np.sqrt(weights[parts])
    return columns


def _cooccurrence(matrix: Rows) -> tuple[Matrix, float, np.ndarray]:
    """Return L⁺ of M Mᵀ without its diagonal, the deviation of its entries, and the components."""
    adjacency = csr_array(matrix @ matrix.T)
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    from scipy.sparse.csgraph import connected_components

    n_parts, parts = connected_components(adjacency, directed=False)
    laplacian = -adjacency.toarray()
    np.fill_diagonal(laplacian, np.asarray(adjacency.sum(axis=1)).ravel())
    constants = _constants(parts, n_parts, np.bincount(parts, minlength=n_parts).astype(float))
    pseudo_inverse = _pseudo_inverse(laplacian, constants, laplacian.diagonal())
    return (
        pseudo_inverse,
        float(pseudo_inverse.std(ddof=1)) if pseudo_inverse.size > 1 else 0.0,
        parts,
    )


def _bipartite(matrix: Rows) -> tuple[Matrix, float, np.ndarray]:
    """Return the document block of L⁺ of [[0, M], [Mᵀ, 0]], the deviation, and the components.

    With T the pseudo-inverse of the Schur complement and B = M D₂⁻¹, the matrix X = [[T, T B], [Bᵀ
    T, D₂⁻¹ + Bᵀ T B]] is a generalised inverse of L, and L⁺ = P X P where P projects off the
    vectors that are constant on a component. The deviation is that of all entries of L⁺.
    """
    used = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]))
    matrix = matrix[:, used]
    n, m = matrix.shape
    d1, d2 = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
    e2 = inverse(d2)
    b = csr_array(matrix @ diags_array(e2))
    through = csr_array(b @ matrix.T)
    from scipy.sparse.csgraph import connected_components

    n_parts, parts = connected_components(through, directed=False)
    here = np.bincount(parts, minlength=n_parts).astype(float)
    schur = np.diag(d1) - through.toarray()
    t = _pseudo_inverse((schur + schur.T) / 2, _constants(parts, n_parts, here), d1)
    word_parts = np.zeros(m, dtype=np.intp)
    word_parts[matrix.indices] = np.repeat(parts, np.diff(matrix.indptr))
    size = here + np.bincount(word_parts, minlength=n_parts)
    u1, u2 = _constants(parts, n_parts, size), _constants(word_parts, n_parts, size)
    # X u, for the constant vectors u of all components
    spread = u1 + b @ u2
    x1 = t @ spread
    x2 = e2[:, None] * u2 + b.T @ x1
    middle = u1.T @ x1 + u2.T @ x2
    block: Matrix = t - u1 @ x1.T - x1 @ u1.T + u1 @ middle @ u1.T
    # ‖L⁺‖² = tr X² - 2 ‖X U‖² + ‖Uᵀ X U‖², with tr X² from rows × rows matrices only
    bb = (b @ b.T).toarray()
    tbb = t @ bb
    squares = np.sum(t * t) + 2 * np.sum(tbb * t) + np.sum(np.square(e2))
    squares += 2 * np.sum(t * (b @ diags_array(e2) @ b.T).toarray()) + np.sum(tbb * tbb.T)
    squares += -2 * (np.sum(x1 * x1) + np.sum(x2 * x2)) + np.sum(middle * middle)
    n_entries = (n + m) ** 2
    # the entries of L⁺ add up to 0
    deviation = float(np.sqrt(max(squares, 0.0) / (n_entries - 1))) if n_entries > 1 else 0.0
    return block, deviation, parts


@hookimpl
def register_similarities() -> Mapping[str, type[Similarity]]:
    return {"ctk": Ctk}
