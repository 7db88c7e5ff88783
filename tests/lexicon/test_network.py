"""The co-occurrence network: links by the formula, filters, networks of texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.lexicon.cooccurrence import count_pairs
from segapsith.lexicon.network import Links, NetworkSettings, both_ways, half_of, links, network_of


def naive_links(
    counts: dict[int, int],
    occurrences: Sequence[int],
    tokens: Sequence[int],
    langs: Sequence[int],
    limits: NetworkSettings,
) -> dict[tuple[int, int], float]:
    """The formula, literally; both directions."""
    pairs = {(key >> 32, key & 0xFFFFFFFF): count for key, count in counts.items()}
    totals = Counter[int]()
    for (x, _), count in pairs.items():
        totals[langs[x]] += count
    values: dict[tuple[int, int], float] = {}
    for (x, y), count in pairs.items():
        n, total = tokens[langs[x]], totals[langs[x]]
        top = n * n / total if limits.normalizer == "tight" else n * n * (limits.window - 1)
        value = math.log2(count * n * n / (total * occurrences[x] * occurrences[y]))
        value = round(max(0.0, value / math.log2(top)) * 65536) / 65536
        if count >= limits.least_count(n) and value > 0 and value >= limits.least_cohesion:
            values[x, y] = values[y, x] = value
    if limits.most_links:
        best = {
            row: sorted((b for a, b in values if a == row), key=lambda b, a=row: (-values[a, b], b))
            for row in {a for a, _ in values}
        }
        both = all if limits.kept_by == "both" else any
        strongest = {row: set(order[: limits.most_links]) for row, order in best.items()}
        values = {
            (a, b): value
            for (a, b), value in values.items()
            if both([b in strongest[a], a in strongest[b]])
        }
    return values


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
    limits = NetworkSettings(5, normalizer, count, cohesion, most, kept_by)
    french = [[word + 10 for word in text] for text in texts[1:]]  # a language of its own
    both = [*texts, *french]
    occurrences = np.bincount([w for t in both for w in t], minlength=20)
    langs = [0] * 10 + [1] * 10
    tokens = [sum(map(len, texts)), sum(map(len, french))]
    words = np.array([word for text in both for word in text], np.int32)
    pairs = count_pairs(words, 5, np.cumsum([len(text) for text in both]).astype(np.int64))
    graph = links([pairs], occurrences, tokens, limits, np.array(langs))
    expected = naive_links(
        dict(zip(*(a.tolist() for a in pairs), strict=True)),
        occurrences.tolist(),
        tokens,
        langs,
        limits,
    )
    actual = {
        (row, int(graph.neighbours[i])): float(graph.weights[i])
        for row in range(20)
        for i in range(graph.starts[row], graph.starts[row + 1])
    }
    assert actual == pytest.approx(expected, abs=2 / 65536)
    assert all(langs[a] == langs[b] for a, b in actual)
    for row in range(20):
        own = graph.neighbours[graph.starts[row] : graph.starts[row + 1]]
        assert (np.diff(own) > 0).all()
        assert not most or kept_by == "either" or len(own) <= most


def test_cohesion_is_at_most_one():
    limits = NetworkSettings(min_count=1, min_cohesion=0.0)
    network = network_of([["storm", "rain"]], limits)
    assert network.weights.tolist() == [1.0, 1.0]


def test_a_network_links_words_that_co_occur():
    texts = [["storm", "rain", "wind"]] * 4 + [["bank", "rate", "bank"]] * 4
    network = network_of(texts)
    row = network.rows["storm"]
    near = network.neighbours[network.starts[row] : network.starts[row + 1]]
    assert {network.words[n] for n in near} == {"rain", "wind"}
    assert network.significance[network.rows["bank"]] < network.significance[network.rows["rate"]]
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


def test_a_stored_graph_gives_both_directions_back():
    texts = [["storm", "rain", "wind"], ["rain", "wind", "dam"]] * 4
    network = network_of(texts)
    graph = Links(network.starts, network.neighbours, network.weights)
    half = half_of(graph)
    assert len(half.neighbours) * 2 == len(graph.neighbours)
    for stored, original in zip(both_ways(half), graph, strict=True):
        assert stored.tolist() == original.tolist()
