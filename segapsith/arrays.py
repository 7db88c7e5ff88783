"""Types of the arrays that similarities, clusterers and the core exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Compare", "Labels", "Matrix", "Rows", "State", "Views"]

Matrix: TypeAlias = NDArray[np.float64]
"""Dense values: one row per left item, one column per right item."""

Labels: TypeAlias = NDArray[np.int64]
"""The group of each row: 0, 1, … without gaps; -1 only for an empty row."""

Rows: TypeAlias = csr_array
"""A sparse matrix of items by words."""

Views: TypeAlias = Mapping[str, Rows]
"""Several matrices of the same items, by name of the view."""

State: TypeAlias = Mapping[str, NDArray[Any]]
"""The learned state of a similarity, as named arrays."""

Compare: TypeAlias = Callable[[Rows, Rows], Matrix]
"""The `compare` of a similarity, as a clusterer receives it."""
