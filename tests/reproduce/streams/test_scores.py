"""Scores of streams: windows, and first stories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.evaluation.metrics import ami, ari, bcubed
from segapsith_reproduce.streams.scores import (
    WINDOW,
    detection_cost,
    partition_scores,
    window_scores,
)

stories = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(1, 20)),
    min_size=1,
    max_size=40,
)
"""Group, class and day of each story."""


@given(stories)
def test_windows_are_the_mean_over_every_seven_days(items: list[tuple[int, str, int]]) -> None:
    labels = np.array([group for group, _, _ in items])
    classes = [name for _, name, _ in items]
    days = np.array([day for _, _, day in items])
    expected = []
    for start in range(days.min(), max(days.max() - WINDOW + 1, days.min()) + 1):
        inside = [i for i, day in enumerate(days) if start <= day < start + WINDOW]
        if len(inside) > 1:
            pair = [int(labels[i]) for i in inside], [classes[i] for i in inside]
            expected.append((bcubed(*pair).f1, ami(*pair), ari(*pair)))
    found = window_scores(labels, classes, days)
    if not expected:
        assert found is None
    else:
        assert found is not None and found.n_windows == len(expected)
        assert (found.f1, found.ami, found.ari) == pytest.approx(np.mean(expected, axis=0))


@given(stories)
def test_the_cost_is_that_of_the_formula(items: list[tuple[int, str, int]]) -> None:
    groups, classes = [item[0] for item in items], [item[1] for item in items]
    missed = alarms = firsts = 0
    for i in range(len(items)):
        is_first, is_reported = classes[i] not in classes[:i], groups[i] not in groups[:i]
        firsts += is_first
        missed += is_first and not is_reported
        alarms += is_reported and not is_first
    others = len(items) - firsts
    expected = missed / firsts + 4.9 * (alarms / others if others else 0)
    assert detection_cost(np.array(groups), classes) == pytest.approx(expected)


def test_reporting_nothing_costs_one_and_everything_nearly_five() -> None:
    classes = ["a"] * 50 + ["b"] * 50
    assert detection_cost(np.zeros(100, dtype=np.int64), classes) == pytest.approx(0.5)
    assert detection_cost(np.arange(100), classes) == pytest.approx(4.9)


def test_groups_are_counted_and_scored() -> None:
    found = partition_scores(np.array([3, 3, 3, 9]), ["a", "a", "b", "b"])
    assert found.n_groups == 2
    assert (found.precision, found.recall) == pytest.approx((2 / 3, 0.75))
