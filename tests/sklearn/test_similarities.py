"""Similarities as transformers agree with the plugins that they adapt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import segapsith
from segapsith.sklearn import GVSM, ChiSim, MVSim

COUNTS = np.random.default_rng(2).poisson(0.8, (12, 9)).astype(float)
NEW = np.random.default_rng(3).poisson(0.8, (4, 9)).astype(float)
LEFT, RIGHT = COUNTS[:, :5], COUNTS[:, 5:]


@pytest.mark.parametrize(
    ("estimator", "plugin"),
    [
        (ChiSim(), "chi-sim"),
        (GVSM(), "gvsm-cov"),
        (GVSM(model="assc"), "gvsm-assc"),
        (GVSM(model="assc-n"), "gvsm-assc-n"),
        (GVSM(model="pcorr"), "gvsm-pcorr"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_become_their_similarities_to_the_fitted_rows(
    estimator: ChiSim | GVSM, plugin: str
) -> None:
    measure = segapsith.similarity(plugin)
    measure.learn(csr_array(COUNTS))
    fitted = csr_array(COUNTS)
    assert np.array_equal(estimator.fit_transform(COUNTS), measure.compare(fitted, fitted))
    assert np.array_equal(estimator.transform(NEW), measure.compare(csr_array(NEW), fitted))


def test_chi_sim_has_the_similarities_of_words() -> None:
    measure = segapsith.similarity("chi-sim", iterations=2)
    measure.learn(csr_array(COUNTS))
    assert np.array_equal(ChiSim(iterations=2).fit(COUNTS).columns(), measure.columns())


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_views_are_a_list_or_a_mapping(form: type) -> None:
    measure = segapsith.similarity("mvsim")
    views = {"a": csr_array(LEFT), "b": csr_array(RIGHT)}
    measure.learn(views)
    expected = measure.compare(views, views)
    assert np.array_equal(MVSim().fit_transform({"a": form(LEFT), "b": form(RIGHT)}), expected)
    assert np.array_equal(MVSim().fit_transform([form(LEFT), form(RIGHT)]), expected)


def test_views_have_weights_by_name() -> None:
    views = {"a": LEFT, "b": RIGHT}
    weighted = MVSim(weights={"a": 3.0, "b": 1.0}).fit_transform(views)
    assert not np.array_equal(weighted, MVSim(combine="mean").fit_transform(views))


def test_one_matrix_can_be_divided_into_views() -> None:
    assert MVSim(n_views=2).fit_transform(COUNTS).shape == (12, 12)


def test_new_rows_are_refused_with_the_way_out() -> None:
    fitted = MVSim().fit([LEFT, RIGHT])
    for other in ([RIGHT, LEFT], COUNTS, [LEFT[::-1], RIGHT]):
        with pytest.raises(ValueError, match=r"fitted rows only|features"):
            fitted.transform(other)


def test_views_need_the_same_rows() -> None:
    with pytest.raises(ValueError, match="same rows"):
        MVSim().fit([LEFT, RIGHT[:-1]])
    with pytest.raises(ValueError, match="no views"):
        MVSim().fit({})
