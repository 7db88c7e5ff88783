"""The collocation network: counted pairs, sums of runs, links."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.lexicon import cooccurrence as pairs
from segapsith.lexicon.cooccurrence import (
    Pairs,
    PairSums,
    count_pairs,
    key_of,
    merged,
    merged_streams,
)
from segapsith.lexicon.network import NetworkSettings, links, network_of

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


def test_one_word_meets_nobody():
    assert as_dict(counted([[1]])) == {}
    assert as_dict(counted([])) == {}
    assert as_dict(counted([[1, 1, 1]])) == {}


@given(TEXTS, st.integers(2, 25))
@settings(deadline=None)
def test_pairs_are_counted_by_the_rule(texts, window):
    found = counted(texts, window)
    assert as_dict(found) == naive(texts, window)
    assert (np.diff(found.keys) > 0).all()


WIDE = st.lists(st.integers(0, 20_000), max_size=40)
"""Words so far apart that a run is sparse among them, and several words of bits lie between."""


@given(st.lists(WIDE, max_size=4), st.integers(2, 25))
@settings(deadline=None)
def test_words_of_any_number_are_counted_by_the_rule(texts, window):
    assert as_dict(counted(texts, window)) == naive(texts, window)


def test_many_pairs_come_in_pieces_that_follow_each_other(monkeypatch):
    monkeypatch.setattr(pairs, "PIECE", 100)
    words = np.random.default_rng(0).integers(0, 9_000, 2_000).astype(np.int32)
    ends = np.array([3, 3, 700, 1_990])  # an empty text, and words behind the last
    pieces = list(pairs.counted(words, 20, ends))
    assert len(pieces) > 100 and all(len(piece.keys) < 100 + 9_000 for piece in pieces)
    together = pairs.joined(pieces)
    assert (np.diff(together.keys) > 0).all()
    texts = [words[:3].tolist(), words[3:700].tolist(), words[700:1_990].tolist()]
    assert as_dict(together) == naive(texts)


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.integers(0, 2**62), st.integers(-2, 2)), max_size=5))
@settings(deadline=None)
def test_sparse_runs_add_up(runs):
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
def test_dense_runs_add_up(runs):
    _add_up(runs)


def _add_up(runs: Sequence[dict[int, int]]) -> None:
    total: Counter[int] = Counter()
    for run in runs:
        total.update(run)
    found = merged(
        [
            Pairs(np.array(sorted(r), np.int64), np.array([r[k] for k in sorted(r)], np.int64))
            for r in runs
        ]
    )
    assert as_dict(found) == {key: count for key, count in total.items() if count}
    assert (np.diff(found.keys) > 0).all()


@pytest.mark.slow
@given(TEXTS, TEXTS)
@settings(deadline=None)
def test_parts_add_up_and_can_be_taken_back(a, b):
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
def test_runs_in_pieces_add_up_as_whole_ones(parts, size):
    runs = [counted(texts) for texts in parts]

    def pieces(run: Pairs):
        for at in range(0, len(run.keys), size):
            yield Pairs(run.keys[at : at + size], run.counts[at : at + size])

    found = list(merged_streams([pieces(run) for run in runs]))
    keys = [key for piece in found for key in piece.keys.tolist()]
    assert keys == sorted(set(keys))
    together = {k: c for piece in found for k, c in as_dict(piece).items()}
    assert together == as_dict(merged(runs))


def naive_links(
    counts: dict[int, int],
    occurrences: Sequence[int],
    tokens: Sequence[int],
    langs: Sequence[int],
    chosen: NetworkSettings,
) -> dict[tuple[int, int], float]:
    """Algorithms 1.2, literally; both directions."""
    met = {(key >> 32, key & 0xFFFFFFFF): count for key, count in counts.items()}
    totals = Counter[int]()
    for (x, _), count in met.items():
        totals[langs[x]] += count
    found = {}
    for (x, y), count in met.items():
        n, total = tokens[langs[x]], totals[langs[x]]
        top = n * n / total if chosen.normalizer == "tight" else n * n * (chosen.window - 1)
        value = math.log2(count * n * n / (total * occurrences[x] * occurrences[y]))
        value = round(max(0.0, value / math.log2(top)) * 65536) / 65536
        if count >= chosen.least_count(n) and value > 0 and value >= chosen.least_cohesion:
            found[x, y] = found[y, x] = value
    if chosen.most_links:
        best = {
            row: sorted((b for a, b in found if a == row), key=lambda b, a=row: (-found[a, b], b))
            for row in {a for a, _ in found}
        }
        both = all if chosen.kept_by == "both" else any
        keeps = {row: set(order[: chosen.most_links]) for row, order in best.items()}
        found = {
            (a, b): value for (a, b), value in found.items() if both([b in keeps[a], a in keeps[b]])
        }
    return found


@pytest.mark.slow
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=25), max_size=8),
    st.sampled_from(["tight", "ferret"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.05, 0.2]),
    st.integers(0, 3),
    st.sampled_from(["both", "either"]),
)
@settings(deadline=None)
def test_links_are_those_of_the_formula(texts, normalizer, count, cohesion, most, kept_by):
    chosen = NetworkSettings(5, normalizer, count, cohesion, most, kept_by)
    french = [[word + 10 for word in text] for text in texts[1:]]  # a language of its own
    both = [*texts, *french]
    occurrences = np.bincount([w for t in both for w in t], minlength=20)
    langs = [0] * 10 + [1] * 10
    tokens = [sum(map(len, texts)), sum(map(len, french))]
    pairs = counted(both, 5)
    graph = links([pairs], occurrences, tokens, chosen, np.array(langs))
    wanted = naive_links(as_dict(pairs), occurrences.tolist(), tokens, langs, chosen)
    found = {
        (row, int(graph.neighbours[i])): float(graph.weights[i])
        for row in range(20)
        for i in range(graph.starts[row], graph.starts[row + 1])
    }
    assert found == pytest.approx(wanted, abs=2 / 65536)
    assert all(langs[a] == langs[b] for a, b in found)
    for row in range(20):
        own = graph.neighbours[graph.starts[row] : graph.starts[row + 1]]
        assert (np.diff(own) > 0).all()
        assert not most or kept_by == "either" or len(own) <= most


def test_no_pair_passes_one():
    chosen = NetworkSettings(min_count=1, min_cohesion=0.0)
    found = network_of([["storm", "rain"]], chosen)
    assert found.weights.tolist() == [1.0, 1.0]


def test_a_network_knows_its_words():
    texts = [["storm", "rain", "wind"]] * 4 + [["bank", "rate", "bank"]] * 4
    found = network_of(texts)
    row = found.rows["storm"]
    near = found.neighbours[found.starts[row] : found.starts[row + 1]]
    assert {found.words[n] for n in near} == {"rain", "wind"}
    assert found.significance[found.rows["bank"]] < found.significance[found.rows["rate"]]
    assert network_of([]).neighbours.tolist() == []


def test_least_counts_follow_the_size_of_the_corpus():
    sizes = (10, 1_000_000, 50_000_000, 50_000_001)
    assert [NetworkSettings().least_count(n) for n in sizes] == [2, 5, 5, 10]
    assert NetworkSettings(normalizer="ferret").least_cohesion == 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 1},
        {"normalizer": "loose"},
        {"min_count": 0},
        {"min_cohesion": 2.0},
        {"most_links": -1},
        {"kept_by": "none"},
    ],
)
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NetworkSettings(**wrong)
