"""Types of the arrays that similarities, clusterers and the core exchange.

`Rows` is resolved when it is first used: importing SciPy takes longer than most commands that only
read a store. Modules of this package import it for type checkers only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    Rows: TypeAlias = csr_array
    """A sparse matrix of items by words."""

__all__ = ["Compare", "Labels", "Matrix", "NeighbourGraph", "Rows", "State", "Views"]

Matrix: TypeAlias = NDArray[np.float64]
"""Dense values: one row per left item, one column per right item."""

Labels: TypeAlias = NDArray[np.int64]
"""The group of each row: 0, 1, … without gaps; -1 only for an empty row."""

Views: TypeAlias = Mapping[str, "Rows"]
"""Several matrices of the same items, by name of the view."""

State: TypeAlias = Mapping[str, NDArray[Any]]
"""The learned state of a similarity, as named arrays."""

Compare: TypeAlias = Callable[["Rows", "Rows"], Matrix]
"""The `compare` of a similarity, as a clusterer receives it."""


@dataclass(frozen=True, slots=True)
class NeighbourGraph:
    """The most similar other rows of each row, most similar first."""

    neighbours: NDArray[np.int32]
    """Numbers of rows, one row per row; -1 where there are fewer."""
    similarities: NDArray[np.float32]
    """Their similarities, above 0; 0 where there is no neighbour."""

    def matrix(self) -> Rows:
        """Return a symmetric sparse matrix: two rows are linked if one is a neighbour of the other."""
        from scipy.sparse import csr_array  # slow to import

        filled = self.neighbours >= 0
        n_rows = len(self.neighbours)
        left = np.repeat(np.arange(n_rows), filled.sum(axis=1))
        values = self.similarities[filled].astype(np.float64)
        one_way = csr_array((values, (left, self.neighbours[filled])), shape=(n_rows, n_rows))
        return csr_array(one_way.maximum(one_way.T))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "Rows":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from scipy.sparse import csr_array

        globals()["Rows"] = csr_array
        return csr_array
