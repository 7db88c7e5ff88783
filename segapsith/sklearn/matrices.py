"""What all estimators do with their input: check it, and pass it on in the form of the plugins."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from segapsith.arrays import Rows

__all__ = ["checked_rows", "seed_of"]


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


def seed_of(random_state: Any) -> int | None:
    """Return a seed of the plugins for what scikit-learn accepts as random state."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
