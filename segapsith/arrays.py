"""Names for the shapes that travel between measures, clusterers and the core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["Compare", "Labels", "Matrix", "Rows", "State", "Views"]

Matrix: TypeAlias = NDArray[np.float64]
"""Dense values, one row for each left item, one column for each right item."""

Labels: TypeAlias = NDArray[np.int64]
"""One group a row, 0, 1, … without gaps; -1 only for an empty row."""

Rows: TypeAlias = csr_array
"""Items by words, sparse."""

Views: TypeAlias = Mapping[str, Rows]
"""The same items seen from several sides: name of the view and its matrix."""

State: TypeAlias = Mapping[str, NDArray[Any]]
"""What a measure has learned, as named arrays."""

Compare: TypeAlias = Callable[[Rows, Rows], Matrix]
"""The comparing half of a measure, as a clusterer receives it."""
