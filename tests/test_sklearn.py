"""Every estimator passes scikit-learn's own checks, and works in its compositions."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import segapsith.sklearn as estimators
from segapsith.sklearn import AHC, ITCC, ChiSim, DomainStream, EntropyKMeans, KMedoids

NEGATIVE = (
    "the check passes standardised values, half of them below 0, whatever the tag positive_only"
    " says; counts and weights of words are never below 0"
)
GROWS = "a stream of texts brings new words, so the number of features may change"
FITTED_ROWS = "the similarity is defined for the fitted rows only, and the check asks for others"

EXCEPTIONS: dict[str, dict[str, str]] = {
    "DomainStream": {
        "check_clustering": NEGATIVE,
        "check_n_features_in_after_fitting": GROWS,
        "check_estimators_partial_fit_n_features": GROWS,
    },
    "EntropyKMeans": {"check_clustering": NEGATIVE},
    "ITCC": {"check_clustering": NEGATIVE},
    "MVSim": {
        "check_fit_idempotent": FITTED_ROWS,
        "check_methods_sample_order_invariance": FITTED_ROWS,
        "check_methods_subset_invariance": FITTED_ROWS,
    },
}
"""The checks that an estimator cannot pass, with the reason; one that passes fails the test."""


def exceptions(estimator: BaseEstimator) -> dict[str, str]:
    return EXCEPTIONS.get(type(estimator).__name__, {})


with warnings.catch_warnings():
    # Of texts it says that most checks do not apply: they pass matrices.
    warnings.simplefilter("ignore", SkipTestWarning)
    every_check = parametrize_with_checks(
        [getattr(estimators, name)() for name in estimators.__all__],
        expected_failed_checks=exceptions,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # scikit-learn warns about what it does on purpose
@every_check
def test_estimators_pass_the_checks_of_scikit_learn(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


TEXTS = [
    "the bank raised the interest rate and the euro fell",
    "the team won the match with a late goal in the cup",
] * 6
CLASSES = np.tile([0, 1], 6)


@pytest.mark.parametrize("name", estimators.__all__)
def test_a_clone_has_the_same_parameters(name: str) -> None:
    estimator = getattr(estimators, name)()
    assert clone(estimator).get_params() == estimator.get_params()


@pytest.mark.parametrize("name", sorted({*estimators.__all__} - {"CohesionSegmenter"}))
def test_every_estimator_of_matrices_works_after_a_vectoriser_and_survives_pickling(
    name: str,
) -> None:
    last = getattr(estimators, name)()
    pipeline = make_pipeline(CountVectorizer(), last).fit(TEXTS)
    if hasattr(last, "labels_"):
        assert len(last.labels_) == len(TEXTS)
    else:
        assert pipeline.transform(TEXTS).shape == (len(TEXTS), len(TEXTS))
        assert len(last.get_feature_names_out()) == len(TEXTS)
    again = pickle.loads(pickle.dumps(pipeline))
    if hasattr(last, "predict"):
        assert again.predict(TEXTS).tolist() == pipeline.predict(TEXTS).tolist()


@pytest.mark.parametrize("clusterer", [AHC, KMedoids])
def test_a_similarity_in_a_pipeline_gives_its_matrix_to_a_clusterer(clusterer: Any) -> None:
    pipeline = make_pipeline(
        TfidfVectorizer(), ChiSim(prune=0.2), clusterer(2, similarity="precomputed")
    )
    assert adjusted_rand_score(CLASSES, pipeline.fit_predict(TEXTS)) == 1.0


def test_a_grid_search_selects_the_number_of_clusters() -> None:
    search = GridSearchCV(
        make_pipeline(CountVectorizer(), EntropyKMeans()),
        {"entropykmeans__n_clusters": [1, 2]},
        scoring="adjusted_rand_score",
        cv=2,
    ).fit(TEXTS, CLASSES)
    assert search.best_params_ == {"entropykmeans__n_clusters": 2}
    assert search.best_score_ == 1.0


def test_a_grid_search_works_with_estimators_that_have_no_predict() -> None:
    def agreement(estimator: Any, X: Any, y: Any) -> float:
        return float(adjusted_rand_score(y, estimator.fit_predict(X)))

    for estimator in (AHC(), ITCC()):
        search = GridSearchCV(
            make_pipeline(CountVectorizer(), estimator),
            {f"{type(estimator).__name__.lower()}__n_clusters": [1, 2]},
            scoring=agreement,
            cv=2,
        ).fit(TEXTS, CLASSES)
        assert list(search.best_params_.values()) == [2]


def test_a_grid_search_selects_the_threshold_of_a_stream() -> None:
    search = GridSearchCV(
        make_pipeline(TfidfVectorizer(), DomainStream()),
        {"domainstream__threshold": [0.165, 1.0]},
        scoring="adjusted_rand_score",
        cv=2,
    ).fit(TEXTS, CLASSES)
    assert search.best_params_ == {"domainstream__threshold": 0.165}


def test_without_scikit_learn_the_message_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "sklearn.py").write_text("raise ImportError('not here')")
    answer = subprocess.run(
        [sys.executable, "-c", "import segapsith.sklearn"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "pip install segapsith[sklearn]" in answer.stderr.splitlines()[-1]
