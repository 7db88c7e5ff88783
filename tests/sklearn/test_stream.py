"""A stream of rows has the domains of the engine, and a vocabulary that grows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.sklearn import DomainStream

ROWS = np.array([[3, 2, 0, 0], [0, 0, 1, 4], [2, 3, 0, 0], [0, 0, 0, 0], [0, 0, 2, 2]], float)


def test_similar_rows_share_a_domain_and_an_empty_row_has_none() -> None:
    stream = DomainStream().fit(ROWS)
    assert stream.labels_.tolist() == [0, 1, 0, -1, 1]
    assert stream.n_domains_ == 2
    assert stream.domain_sizes_.tolist() == [2, 2]
    assert stream.predict(ROWS).tolist() == [0, 1, 0, -1, 1]


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=30),
    st.integers(1, 7),
)
def test_batches_do_not_matter(rows: list[list[int]], size: int) -> None:
    data = np.array(rows, float)
    whole, parts, labels = DomainStream().fit(data), DomainStream(), []
    for start in range(0, len(data), size):
        labels += parts.partial_fit(data[start : start + size]).labels_.tolist()
    assert labels == whole.labels_.tolist()
    assert parts.predict(data).tolist() == whole.predict(data).tolist()


def test_new_columns_are_new_words() -> None:
    stream = DomainStream().partial_fit(ROWS)
    wider = np.array([[0, 0, 0, 0, 5, 5], [3, 3, 0, 0, 0, 0]], float)
    assert stream.predict(wider).tolist() == [-1, 0]
    assert stream.partial_fit(wider).labels_.tolist() == [2, 0]
    assert stream.n_features_in_ == 6
    assert stream.predict(ROWS[:1]).tolist() == [0]


def test_columns_of_a_frame_are_matched_by_name() -> None:
    stream = DomainStream().partial_fit(pd.DataFrame(ROWS, columns=list("abcd")))
    frame = pd.DataFrame([[5.0, 2.0, 2.0], [0.0, 3.0, 3.0]], columns=["new", "b", "a"])
    assert stream.predict(frame).tolist() == [0, 0]
    stream.partial_fit(frame)
    assert stream.feature_names_in_.tolist() == ["a", "b", "c", "d", "new"]
    assert [word for word, _ in stream.top_words(0, 3)] == ["a", "b", "new"]
    with pytest.raises(ValueError, match="feature names"):
        stream.predict(ROWS)


def test_fit_forgets_what_was_learned() -> None:
    stream = DomainStream().fit(ROWS).fit(ROWS[1:2])
    assert stream.n_domains_ == 1
    assert stream.top_words(0) == [(3, 1.0), (2, pytest.approx(0.25, abs=1e-4))]


def test_a_wrong_threshold_or_domain_is_named() -> None:
    with pytest.raises(ValueError, match="threshold=2"):
        DomainStream(threshold=2).fit(ROWS)
    with pytest.raises(ValueError, match="domain=9"):
        DomainStream().fit(ROWS).top_words(9)
