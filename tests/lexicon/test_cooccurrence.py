"""Co-occurrence counts: pairs are counted by the rule, and runs add up exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.lexicon import cooccurrence
from segapsith.lexicon.cooccurrence import (
    Pairs,
    PairSums,
    count_pairs,
    key_of,
    merged,
    merged_streams,
    words_of,
)

TEXT = st.lists(st.integers(0, 6), max_size=30)
TEXTS = st.lists(TEXT, max_size=6)


def counted(texts: Sequence[Sequence[int]], window: int = 20) -> Pairs:
    """Texts end to end."""
    words = np.array([word for text in texts for word in text], np.int32)
    ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
    return count_pairs(words, window, ends)


def naive(texts: Sequence[Sequence[int]], window: int = 20) -> dict[int, int]:
    """The rule, literally."""
    met: Counter[int] = Counter()
    for text in texts:
        for i, one in enumerate(text):
            for j in range(i + 1, len(text)):
                if j - i < window and text[j] != one:
                    met[key_of(one, text[j])] += 1
    return dict(met)


def as_dict(pairs: Pairs) -> dict[int, int]:
    return dict(zip(pairs.keys.tolist(), pairs.counts.tolist(), strict=True))


def test_equal_words_do_not_co_occur() -> None:
    assert as_dict(counted([[1]])) == {}
    assert as_dict(counted([])) == {}
    assert as_dict(counted([[1, 1, 1]])) == {}


@given(TEXTS, st.integers(2, 25))
@settings(deadline=None)
def test_pairs_are_counted_by_the_rule(texts: list[list[int]], window: int) -> None:
    run = counted(texts, window)
    assert as_dict(run) == naive(texts, window)
    assert (np.diff(run.keys) > 0).all()


WIDE = st.lists(st.integers(0, 20_000), max_size=40)
"""Words so far apart that a run is sparse among them, and several words of bits lie between."""


@given(st.lists(WIDE, max_size=4), st.integers(2, 25))
@settings(deadline=None)
def test_words_of_any_number_are_counted_by_the_rule(texts: list[list[int]], window: int) -> None:
    assert as_dict(counted(texts, window)) == naive(texts, window)


def test_many_pairs_come_in_consecutive_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "PIECE", 100)
    words = np.random.default_rng(0).integers(0, 9_000, 2_000).astype(np.int32)
    ends = np.array([3, 3, 700, 1_990])  # an empty text, and words behind the last
    pieces = list(cooccurrence.counted(words, 20, ends))
    assert len(pieces) > 100 and all(len(piece.keys) < 100 + 9_000 for piece in pieces)
    together = cooccurrence.joined(pieces)
    assert (np.diff(together.keys) > 0).all()
    texts = [words[:3].tolist(), words[3:700].tolist(), words[700:1_990].tolist()]
    assert as_dict(together) == naive(texts)


@given(st.lists(st.dictionaries(st.integers(0, 2**62), st.integers(-2, 2)), max_size=5))
@settings(deadline=None)
def test_sparse_runs_add_up(runs: list[dict[int, int]]) -> None:
    _add_up(runs)


@pytest.mark.slow
@given(
    st.lists(
        st.dictionaries(
            st.builds(key_of, st.integers(0, 9), st.integers(0, 99)),
            st.integers(-2, 2),
            min_size=20,
        ),
        min_size=2,
        max_size=5,
    )
)
@settings(deadline=None)
def test_dense_runs_add_up(runs: list[dict[int, int]]) -> None:
    _add_up(runs)


def _add_up(runs: Sequence[dict[int, int]]) -> None:
    total: Counter[int] = Counter()
    for run in runs:
        total.update(run)
    total_run = merged(
        [
            Pairs(np.array(sorted(r), np.int64), np.array([r[k] for k in sorted(r)], np.int64))
            for r in runs
        ]
    )
    assert as_dict(total_run) == {key: count for key, count in total.items() if count}
    assert (np.diff(total_run.keys) > 0).all()


@pytest.mark.slow
@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_runs_add_up_and_are_subtracted_exactly(a: list[list[int]], b: list[list[int]]) -> None:
    both, first, second = counted([*a, *b]), counted(a), counted(b)
    assert as_dict(merged([first, second])) == as_dict(both)
    sums = PairSums()
    for run in (first, second):
        sums.add(run)
    sums.add(second, -1)
    assert as_dict(sums.total()) == as_dict(first)
    assert as_dict(merged([Pairs(first.keys, -first.counts), first])) == {}


@pytest.mark.slow
@given(st.lists(TEXTS, max_size=5), st.integers(1, 7))
@settings(deadline=None)
def test_runs_in_pieces_add_up_as_whole_ones(parts: list[list[list[int]]], size: int) -> None:
    runs = [counted(texts) for texts in parts]

    def pieces(run: Pairs) -> Iterator[Pairs]:
        for at in range(0, len(run.keys), size):
            yield Pairs(run.keys[at : at + size], run.counts[at : at + size])

    merged_pieces = list(merged_streams([pieces(run) for run in runs]))
    keys = [key for piece in merged_pieces for key in piece.keys.tolist()]
    assert keys == sorted(set(keys))
    together = {k: c for piece in merged_pieces for k, c in as_dict(piece).items()}
    assert together == as_dict(merged(runs))


def test_a_key_gives_its_words_back() -> None:
    smaller, larger = words_of(np.array([key_of(7, 3), key_of(2**31 - 1, 0)]))
    assert (smaller.tolist(), larger.tolist()) == ([3, 0], [7, 2**31 - 1])


def test_a_window_of_one_word_is_refused() -> None:
    with pytest.raises(ValueError, match="window=1"):
        count_pairs(np.zeros(3, np.int32), 1)
