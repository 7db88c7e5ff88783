"""Semantic domains of a stream of rows, with a vocabulary that grows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClusterMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from segapsith.arrays import Labels, Rows
from segapsith.domains.stream import RowStream
from segapsith.domains.values import PlacementSettings
from segapsith.sklearn.matrices import RowEstimator

__all__ = ["DomainStream"]

_DEFAULT = PlacementSettings()


class DomainStream(ClusterMixin, RowEstimator):
    """Domains that grow row by row: a row joins the most similar domain, or starts one.

    Rows are units: weights of words, >= 0, which are divided by the largest of the row.
    `threshold` is the least similarity at which a row joins a domain. A domain that took none of
    the last `aging_stories` rows has lost the share `aging` of its similarity. Words below
    `min_weight` in a domain are not compared.

    `partial_fit` learns from a batch and may bring more columns than there were before. If X is a
    DataFrame, columns are matched by name; otherwise new words are at the end. After `fit` or
    `partial_fit`: `labels_` of these rows (-1 for an empty row), `n_domains_` and `domain_sizes_`.
    `predict` learns nothing; its label -1 is for a row that would start a domain.
    """

    def __init__(
        self,
        *,
        threshold: float = _DEFAULT.threshold,
        aging: float = _DEFAULT.aging,
        aging_stories: int = _DEFAULT.aging_stories,
        min_weight: float = _DEFAULT.min_weight,
    ) -> None:
        self.threshold = threshold
        self.aging = aging
        self.aging_stories = aging_stories
        self.min_weight = min_weight

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget what was learned, and learn the rows of X in their order."""
        for name in ("stream_", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)
        return self.partial_fit(X, y)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows of X in their order; X may have new columns."""
        rows = self._read(X, learn=True)
        if not hasattr(self, "stream_"):
            self.stream_ = RowStream(
                PlacementSettings(
                    threshold=self.threshold,
                    aging=self.aging,
                    aging_stories=self.aging_stories,
                    min_weight=self.min_weight,
                )
            )
        self.labels_ = self.stream_.place(rows)
        self.n_domains_ = self.stream_.n_domains
        self.domain_sizes_ = self.stream_.sizes()
        return self

    def predict(self, X: Any) -> Labels:
        """Return the domain that each row would join; -1 if it would start one."""
        check_is_fitted(self)
        return self.stream_.find(self._read(X, learn=False))

    def top_words(self, domain: int, most: int = 10) -> list[tuple[Any, float]]:
        """Return the heaviest columns of a domain with their weights.

        A column is given by its name if it has one, otherwise by its number.
        """
        check_is_fitted(self)
        if not 0 <= domain < self.n_domains_:
            raise ValueError(f"domain={domain} should be in 0..{self.n_domains_ - 1}")
        names = getattr(self, "feature_names_in_", None)
        return [
            (number if names is None else str(names[number]), weight)
            for number, weight in self.stream_.heaviest(domain, most)
        ]

    def _read(self, X: Any, *, learn: bool) -> Rows:
        """Return X with its columns in the order of what was learned; new ones at the end."""
        names = _names(X)
        checked = check_array(
            X,
            accept_sparse="csr",
            accept_large_sparse=False,
            dtype=np.float64,
            ensure_non_negative=True,
            estimator=self,
            input_name="X",
        )
        rows = csr_array(checked)
        known = getattr(self, "feature_names_in_", None)
        n_known: int | None = getattr(self, "n_features_in_", None)
        if n_known is not None and (names is None) != (known is None):
            raise ValueError(
                f"X has {'no ' if names is None else ''}feature names, but {type(self).__name__}"
                f" was fitted {'without' if known is None else 'with'} feature names"
            )
        if names is not None:
            order = {str(name): i for i, name in enumerate([] if known is None else known)}
            for name in names:
                order.setdefault(name, len(order))
            places = np.array([order[name] for name in names])
            entries = rows.tocoo()
            rows = csr_array(
                (entries.data, (entries.coords[0], places[entries.coords[1]])),
                shape=(rows.shape[0], len(order)),
            )
            if learn:
                self.feature_names_in_ = np.array(list(order), dtype=object)
        if learn:
            self.n_features_in_ = max(rows.shape[1], n_known or 0)
        return rows


def _names(X: Any) -> list[str] | None:
    """Return the names of the columns of a DataFrame, if they are texts."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    return [str(name) for name in names]
