"""Similarities as transformers: each row becomes its similarities to the rows that were fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from segapsith.api.wire import similarity
from segapsith.arrays import Matrix, Rows, Views
from segapsith.plugin.guards import GuardedSimilarity
from segapsith.sklearn.matrices import RowEstimator, checked_rows, seed_of

__all__ = ["GVSM", "ChiSim", "MVSim"]


class _Kernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowEstimator):
    """A similarity of rows; `rows_` are those that were fitted."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the similarity from the rows of X."""
        self._learn(self._rows(X, reset=True))
        return self

    def transform(self, X: Any) -> Matrix:
        """Return the similarity of each row of X to each row that was fitted."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return self.similarity_.compare(rows, self.rows_)

    def _learn(self, rows: Rows | Views) -> None:
        self.similarity_ = self._made()
        self.similarity_.learn(rows)
        self.rows_ = rows
        views = list(rows.values()) if isinstance(rows, Mapping) else [rows]
        self._n_features_out = views[0].shape[0]

    def _made(self) -> GuardedSimilarity:
        """Make the plugin with the parameters of this estimator."""
        raise NotImplementedError


class ChiSim(_Kernel):
    """χ-Sim: documents are similar if their words are, and words if their documents are.

    The parameters are those of the similarity `chi-sim`. Rows contain values >= 0. `columns()`
    returns the similarities of the words.
    """

    def __init__(
        self,
        *,
        k: float = 0.8,
        prune: float = 0.6,
        prune_population: Literal["all", "nonzero"] = "all",
        iterations: int = 4,
        psd: bool = False,
        word_memory: float = 2**30,
        precision: Literal["double", "single"] = "double",
    ) -> None:
        self.k = k
        self.prune = prune
        self.prune_population = prune_population
        self.iterations = iterations
        self.psd = psd
        self.word_memory = word_memory
        self.precision = precision

    def _made(self) -> GuardedSimilarity:
        return similarity(
            "chi-sim",
            k=self.k,
            prune=self.prune,
            prune_population=self.prune_population,
            iterations=self.iterations,
            psd=self.psd,
            word_memory=self.word_memory,
            precision=self.precision,
        )

    def columns(self) -> Matrix:
        """Return the similarities of the words, in the order of the columns."""
        check_is_fitted(self)
        words: Matrix = self.similarity_.columns()
        return words


class GVSM(_Kernel):
    """The generalised vector space model: cosines in the space of the fitted documents.

    `model` is the relation of words: `assc`, `assc-n`, `cov` or `pcorr`. The other parameters are
    those of the similarities `gvsm-…`; `random_state` is for `sample`.
    """

    _accepts_negative = True

    def __init__(
        self,
        *,
        model: Literal["assc", "assc-n", "cov", "pcorr"] = "cov",
        sample: float | None = None,
        precision: Literal["double", "single"] = "double",
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.sample = sample
        self.precision = precision
        self.random_state = random_state

    def _made(self) -> GuardedSimilarity:
        return similarity(
            f"gvsm-{self.model}",
            sample=self.sample,
            precision=self.precision,
            seed=seed_of(self.random_state),
        )


class MVSim(_Kernel):
    """Similarity of rows that are described by several views.

    X is one matrix, a list of matrices, or a mapping of view name to matrix, over the same rows.
    Views of a list have the names 0, 1 and so on. The parameters are those of the similarity
    `mvsim`; `n_views` above 1 divides one matrix into that many blocks of columns. Views contain
    values >= 0. The similarity is defined for the fitted rows only: `transform` accepts
    these, and nothing else.
    """

    def __init__(
        self,
        *,
        k: float = 1.0,
        prune: float = 0.2,
        iterations: int = 4,
        damping: float | None = 0.9,
        combine: Literal["mean", "min", "max"] | None = None,
        weights: Mapping[str, float] | None = None,
        n_views: int = 1,
    ) -> None:
        self.k = k
        self.prune = prune
        self.iterations = iterations
        self.damping = damping
        self.combine = combine
        self.weights = weights
        self.n_views = n_views

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the similarity from the rows of X, in all views."""
        self._learn(self._read(X, reset=True))
        return self

    def transform(self, X: Any) -> Matrix:
        """Return the similarities of the fitted rows to each other; X has to be these rows."""
        check_is_fitted(self)
        if not _equal(self._read(X, reset=False), self.rows_):
            raise ValueError(
                "X has other rows than fit had; MVSim is defined for the fitted rows only:"
                " fit all rows together, or use ChiSim for new ones"
            )
        return self.similarity_.compare(self.rows_, self.rows_)

    def _made(self) -> GuardedSimilarity:
        return similarity(
            "mvsim",
            k=self.k,
            prune=self.prune,
            iterations=self.iterations,
            damping=self.damping,
            combine=self.combine,
            weights=None if self.weights is None else dict(self.weights),
            views=self.n_views,
            workers=1,
        )

    def _read(self, X: Any, *, reset: bool) -> Rows | Views:
        """Return one matrix or the views by name, checked by scikit-learn."""
        named = _named_views(X)
        if named is None:
            return self._rows(X, reset=reset)
        if not named:
            raise ValueError("X has no views; a list or mapping of matrices is expected")
        widths = np.cumsum([0, *(view.shape[1] for view in named.values())])
        lines = {view.shape[0] for view in named.values()}
        if len(lines) > 1:
            raise ValueError(f"the views have {sorted(lines)} rows; all should have the same rows")
        whole = checked_rows(
            self, hstack(list(named.values()), format="csr"), reset=reset, negative=False
        )
        return {
            name: csr_array(whole[:, start:end])
            for name, start, end in zip(named, widths[:-1], widths[1:], strict=True)
        }


def _named_views(X: Any) -> dict[str, Any] | None:
    """Return the views of a list or mapping of matrices; None if X is a matrix itself."""
    if isinstance(X, Mapping) and not issparse(X):  # one sparse form is a mapping
        return {str(name): _matrix(view) for name, view in X.items()}
    if isinstance(X, list | tuple) and all(getattr(view, "ndim", 0) == 2 for view in X) and X:
        return {str(number): _matrix(view) for number, view in enumerate(X)}
    return None


def _matrix(view: Any) -> Rows:
    checked = check_array(view, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False)
    return csr_array(checked)


def _equal(left: Rows | Views, right: Rows | Views) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return list(left) == list(right) and all(_equal(left[n], right[n]) for n in left)
    if isinstance(left, Mapping) or isinstance(right, Mapping):
        return False
    return left.shape == right.shape and bool((left != right).nnz == 0)
