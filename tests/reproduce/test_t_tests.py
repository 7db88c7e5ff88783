"""Paired t-tests against SciPy's."""

import math

import numpy as np
import pytest
from scipy import stats

from segapsith_reproduce.t_tests import paired_t_test, significance_table


def test_it_is_scipys_paired_test():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 50):
        a, b = rng.random(n), rng.random(n) + 0.1
        found, wanted = paired_t_test(a, b), stats.ttest_rel(a, b)
        assert found.t == pytest.approx(wanted.statistic)
        assert found.p == pytest.approx(wanted.pvalue)


def test_degenerate_pairs():
    assert paired_t_test([], []).p == 1
    assert paired_t_test([1], [0]).p == 1
    assert paired_t_test([1, 2], [1, 2]).verdict() == "="
    assert paired_t_test([2, 3, 4], [1, 2, 3]).t == math.inf
    assert paired_t_test([1, 2, 3], [2, 3, 4]).verdict() == "<"
    with pytest.raises(ValueError, match="cannot be paired"):
        paired_t_test([1], [1, 2])
    with pytest.raises(ValueError, match="finite"):
        paired_t_test([1, math.nan], [1, 2])


def test_a_table_says_who_beats_whom():
    scores = {
        "vsm": [0.50, 0.52, 0.49, 0.51],
        "cov": [0.70, 0.71, 0.69, 0.73],
        "assc": [0.51, 0.50, 0.50, 0.51],
    }
    table = significance_table(scores)
    assert table.rows() == [["", "<", "="], [">", "", ">"], ["=", "<", ""]]
    assert table.order()[0] == "cov"
    lower = significance_table(scores, larger_is_better=False)
    assert lower.sign("cov", "vsm") == "<"
    assert lower.order()[-1] == "cov"
