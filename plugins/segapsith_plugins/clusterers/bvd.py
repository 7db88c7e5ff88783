"""BVD: block value decomposition (Long, Zhang & Yu 2005).

    minimise  ‖Z - R B C‖²,   all ≥ 0,   R rows × k,  B k × l,  C l × words

by multiplicative updates, none of which raises the objective:

    R *= (Z Cᵀ Bᵀ) / (R B C Cᵀ Bᵀ)    B *= (Rᵀ Z Cᵀ) / (Rᵀ R B C Cᵀ)    C *= (Bᵀ Rᵀ Z) / (Bᵀ Rᵀ R B C)

Products start from the small matrices, so that no dense matrix has the size of Z.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Compare, Labels, Rows
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.rounds import cluster_in_turn
from segapsith_plugins.clusterers._row_algebra import (
    check_whole,
    far_apart,
    filled_rows,
    membership,
    needs_counts,
    spread,
    unit_rows,
    used_columns,
)

__all__ = ["Bvd"]

Floats = NDArray[np.float64]

TINY = 1e-12
"""Added to denominators, relative to the largest value."""

SHARED = 0.2
"""Initial weight of a row in each other group; that in its own is 1 more."""


class Bvd:
    """At most `k` groups of rows from the factor R; `compare` is not needed.

    `word_clusters` is l (default: k). Each of `n_init` starts begins with groups around rows that
    are far apart, and ends when the objective falls by less than the share `tolerance` or after
    `max_iterations`. The best is returned. A row belongs to its largest column of R, with columns
    scaled by the lengths of the rows of B C, since R alone is determined only up to a scale.

    After `cluster`: `objective_`, ‖Z - R B C‖² of the given rows; `objectives_`, one per start;
    `trace_`, its values in the best start.
    """

    def __init__(
        self,
        *,
        k: int = 8,
        word_clusters: int | None = None,
        n_init: int = 5,
        max_iterations: int = 200,
        tolerance: float = 1e-5,
        seed: int | None = 0,
    ) -> None:
        check_whole("k", k, 1)
        check_whole("n_init", n_init, 1)
        check_whole("max_iterations", max_iterations, 1)
        if word_clusters is not None:
            check_whole("word_clusters", word_clusters, 1)
        if not 0 <= tolerance < 1:
            raise ValueError(f"tolerance={tolerance} should be >= 0 and < 1")
        if seed is not None:
            check_whole("seed", seed, 0)
        self.k = k
        self.word_clusters = word_clusters
        self.n_init = n_init
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.seed = seed
        self.objective_ = 0.0
        self.objectives_: tuple[float, ...] = ()
        self.trace_: tuple[float, ...] = ()

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        """Return one group per row."""
        return cluster_in_turn(self, rows, compare)

    def prepare(self, rows: Rows, compare: Compare | None) -> _Prepared:
        """Return the rows that are not empty, with values up to 1."""
        filled, where = filled_rows(rows)
        needs_counts(filled, "bvd")
        z = used_columns(filled)
        peak = float(z.data.max(initial=0.0)) or 1.0
        return _Prepared(z / peak, peak, where, rows.shape[0])

    def rounds(
        self, prepared: _Prepared
    ) -> Generator[Sequence[int], Sequence[tuple[Labels, tuple[float, ...]]], Labels]:
        """Yield the numbers of the starts, and return the labels of the best."""
        self.objective_, self.objectives_, self.trace_ = 0.0, (), ()
        if not len(prepared.where):
            return np.full(prepared.n_rows, -1, dtype=np.int64)
        runs = yield range(self.n_init)
        self.objectives_ = tuple(trace[-1] for _, trace in runs)
        self.objective_ = min(self.objectives_)
        best, self.trace_ = runs[self.objectives_.index(self.objective_)]
        return spread(best, prepared.where, prepared.n_rows)

    def part(self, prepared: _Prepared, part: int) -> tuple[Labels, tuple[float, ...]]:
        """Return the labels of the start with this number, and its objective by iteration."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(part,)))
        labels, trace = self._run(prepared.z, rng)
        return labels, tuple(value * prepared.peak * prepared.peak for value in trace)

    def _run(self, z: Rows, rng: np.random.Generator) -> tuple[Labels, list[float]]:
        """Return the labels of one start, and the objective after each iteration."""
        n, m = z.shape
        k = min(self.k, n)
        n_words = min(self.word_clusters or k, m)
        turned = z.T.tocsr()
        squares = float(np.square(z.data).sum())
        r: Floats = membership(far_apart(unit_rows(z), k, rng), k).T.toarray() + SHARED
        words = far_apart(unit_rows(turned), n_words, rng)
        c: Floats = membership(words, n_words).toarray() + SHARED
        b: Floats = (r.T @ (z @ c.T)) / np.outer(r.sum(axis=0), c.sum(axis=1))
        trace = [_distance(squares, r, b, z @ c.T, c @ c.T)]
        for _ in range(self.max_iterations):
            cc = c @ c.T
            zc = z @ c.T
            r *= (zc @ b.T) / (r @ (b @ cc @ b.T) + TINY)
            rr = r.T @ r
            b *= (r.T @ zc) / (rr @ b @ cc + TINY)
            rb = r @ b
            c *= (turned @ rb).T / ((rb.T @ rb) @ c + TINY)
            trace.append(_distance(squares, r, b, z @ c.T, c @ c.T))
            if trace[-2] - trace[-1] <= self.tolerance * trace[-2]:
                break
        lengths = np.sqrt(np.maximum(np.einsum("ij,jl,il->i", b, c @ c.T, b), 0))
        return np.argmax(r * lengths, axis=1), trace


class _Prepared(NamedTuple):
    """The rows that are not empty, divided by their largest value, and where they are."""

    z: Rows
    peak: float
    where: NDArray[np.int64]
    n_rows: int


def _distance(squares: float, r: Floats, b: Floats, zc: Floats, cc: Floats) -> float:
    """Return ‖Z - R B C‖², from ‖Z‖², Z Cᵀ and C Cᵀ."""
    rb = r @ b
    value = squares - 2 * float(np.sum(rb * zc)) + float(np.sum((rb.T @ rb) * cc))
    return max(value, 0.0)


@hookimpl
def register_clusterers() -> Mapping[str, type[Bvd]]:
    return {"bvd": Bvd}
