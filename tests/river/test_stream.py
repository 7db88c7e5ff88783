"""The stream passes River's checks, and agrees with the estimator for scikit-learn."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import checks, datasets, feature_extraction
from river.checks import common

from segapsith.river import DomainStream
from segapsith.sklearn import DomainStream as OfScikitLearn

OF_UNITS = (
    common.check_learn_one,
    common.check_pickling,
    common.check_shuffle_features_no_impact,
    common.check_emerging_features,
    common.check_disappearing_features,
    common.check_radically_disappearing_features,
    common.check_predict_one_pure,
    common.check_predict_one_before_any_learn,
    common.check_no_state_aliasing_with_input,
    common.check_clone_is_independent,
    common.check_bounded_memory_growth,
)
"""Checks that River runs on data; for clusterers it has no data, so it is given here."""


def every_check() -> Iterator[Callable[[Any], None]]:
    yield from checks.yield_checks(DomainStream())
    for check in OF_UNITS:
        units = list(datasets.Phishing().take(200))
        given_units = functools.partial(check, dataset=units)
        yield functools.update_wrapper(given_units, check)


@pytest.mark.parametrize("check", list(every_check()), ids=lambda check: check.__name__)
def test_the_stream_passes_the_checks_of_river(check: Callable[[Any], None]) -> None:
    check(DomainStream())


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), max_size=5), max_size=25
    )
)
def test_domains_are_those_of_the_estimator_for_scikit_learn(units: list[dict[str, int]]) -> None:
    stream, other = DomainStream(), OfScikitLearn()
    for unit in units:
        row = np.array([[unit.get(word, 0) for word in "abcdefgh"]], float)
        stream.learn_one(unit)
        other.partial_fit(row)
        assert stream.predict_one(unit) == other.predict(row)[0]
        assert stream.n_domains == other.n_domains_


def test_it_follows_a_bag_of_words_in_a_pipeline() -> None:
    pipeline = feature_extraction.BagOfWords() | DomainStream()
    for text in ("the bank raised the rate", "a goal won a match", "the rate of the bank"):
        pipeline.learn_one(text)
    assert pipeline.predict_one("the bank rate") == 0
    assert pipeline.predict_one("the election") in (-1, 0)
    assert [word for word, _ in pipeline["DomainStream"].top_words(1, 1)] == ["goal"]


@pytest.mark.parametrize("weight", [-1, "two", None, float("nan")])
def test_a_wrong_weight_is_named(weight: Any) -> None:
    with pytest.raises(ValueError, match="the weight of 'bank' is"):
        DomainStream().learn_one({"bank": weight})


def test_an_unknown_domain_is_named() -> None:
    with pytest.raises(ValueError, match="domain=3"):
        DomainStream().top_words(3)


def test_without_river_the_message_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "river.py").write_text("raise ImportError('not here')")
    answer = subprocess.run(
        [sys.executable, "-c", "import segapsith.river"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "pip install segapsith[river]" in answer.stderr.splitlines()[-1]
