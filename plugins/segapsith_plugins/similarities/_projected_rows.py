"""The base of the similarities that compare rows after a linear projection (lsa, pca, …-cov)."""

from __future__ import annotations

from typing import ClassVar

from segapsith.arrays import Matrix, Rows, State
from segapsith_plugins._sparse_rows import Projection, canonical

__all__ = ["ProjectedRows"]


class ProjectedRows:
    """The cosine of rows after a projection, which `learn` of a subclass sets."""

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    unit_diagonal: ClassVar[bool] = False
    """False: a row that is not empty may be projected to zero, and then has similarity 0."""

    def __init__(self) -> None:
        self._projection = Projection.none()

    def factors(self, rows: Rows) -> Matrix:
        """Return the projected rows, one line each; `compare` is the cosine of these."""
        return self._projection.factors(canonical(rows))

    def compare(self, left: Rows, right: Rows) -> Matrix:
        """Return the cosine of each pair of projected rows."""
        return self._projection.compare(left, right)

    def state(self) -> State:
        """Return the directions (words × rank) and the mean row."""
        return self._projection.state()

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._projection = Projection.restored(state)
