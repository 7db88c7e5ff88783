"""What all estimators do with their input: check it, and pass it on in the form of the plugins."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from segapsith.arrays import Rows

__all__ = ["RowEstimator", "checked_rows", "seed_of"]


def checked_rows(estimator: BaseEstimator, data: Any, *, reset: bool, negative: bool) -> Rows:
    """Return data as rows, checked by scikit-learn; `reset` learns the number of features."""
    checked = validate_data(
        estimator,
        data,
        reset=reset,
        accept_sparse="csr",
        accept_large_sparse=False,
        dtype=np.float64,
        ensure_non_negative=not negative,
    )
    return csr_array(checked)


class RowEstimator(BaseEstimator):
    """An estimator of rows, dense or sparse."""

    _accepts_negative: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self._accepts_negative
        return tags

    def _rows(self, data: Any, *, reset: bool) -> Rows:
        """Return data as checked rows; `reset` learns the number of features."""
        return checked_rows(self, data, reset=reset, negative=self._accepts_negative)


def seed_of(random_state: Any) -> int | None:
    """Return a seed of the plugins for what scikit-learn accepts as random state."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
