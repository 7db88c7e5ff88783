"""The two word-based linkings against equations 6 to 8 written word by word."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import entropy as kullback_leibler

from segapsith.evaluation.compare import (
    Activation,
    Links,
    Profiles,
    link_by_entropy,
    link_by_similarity,
    profiles,
    shared_links,
    witten_bell,
)

words = st.sampled_from("abcdefg")
entries = st.tuples(st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.integers(1, 9))
groups = st.dictionaries(
    st.integers(0, 9), st.dictionaries(words, entries, min_size=1), min_size=1, max_size=6
)


def similarity(d, c):
    """Equation 7."""
    common = d.keys() & c.keys()
    shares = [
        sum(group[word][part] for word in common) / sum(entry[part] for entry in group.values())
        for group in (d, c)
        for part in (0, 1)
    ]
    return math.prod(shares) ** 0.25


def activation(d, c):
    """Equation 6."""
    return sum(d[word][0] * c[word][0] for word in d.keys() & c.keys())


def divergence(c, d, vocabulary):
    """KL( p(.|c) || p'(.|d) ), with equation 8 for p'."""
    total = sum(count for _, count in c.values())
    smoothed = witten_bell({word: count for word, (_, count) in d.items()}, vocabulary)
    return kullback_leibler(
        [c.get(word, (0, 0))[1] / total for word in vocabulary],
        [smoothed[word] for word in vocabulary],
    )


@settings(max_examples=50, deadline=None)
@given(groups, groups)
def test_similarity_is_equation_seven(clusters, domains):
    result = link_by_similarity(clusters, domains)
    for uid, cluster in clusters.items():
        values = {name: similarity(domain, cluster) for name, domain in domains.items()}
        best = max(values.values())
        assert result.scores[uid] == pytest.approx(best, abs=1e-12)
        linked = result.links[uid]
        if linked is None:
            assert best <= 0.25 + 1e-12
        else:
            assert best > 0.25 - 1e-12
            assert values[linked] == pytest.approx(best)


@settings(max_examples=50, deadline=None)
@given(groups)
def test_the_same_words_are_as_similar_as_can_be(clusters):
    result = link_by_similarity(clusters, clusters)
    assert set(result.scores.values()) == {1.0}
    assert result.unlinked == 0


def test_only_words_in_common_make_a_link_even_without_threshold():
    result = link_by_similarity({"c": {"a": 1}}, {"d": {"b": 1}}, threshold=0)
    assert result.links == {"c": None}
    assert result.scores == {"c": 0.0}


def test_the_threshold_itself_is_not_enough():
    half = {"c": {"a": 1, "b": 1}}, {"d": {"a": 1, "x": 1}}
    assert link_by_similarity(*half, threshold=0.5).links == {"c": None}
    assert link_by_similarity(*half, threshold=0.49).links == {"c": "d"}


@settings(max_examples=50, deadline=None)
@given(groups, groups, st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 3))
def test_the_filter_looks_at_activated_domains_only(clusters, domains, share, at_most):
    result = link_by_similarity(
        clusters, domains, threshold=0, prefilter=Activation(share=share, at_most=at_most)
    )
    for uid, cluster in clusters.items():
        active = {name: activation(domain, cluster) for name, domain in domains.items()}
        top = max(active.values())
        ranked = sorted((value for value in active.values() if value > 0), reverse=True)
        lowest = max([*ranked[:at_most][-1:], share * top], default=0) if ranked else math.inf
        linked = result.links[uid]
        if linked is None:
            assert top == 0
        else:
            assert active[linked] >= lowest - 1e-9
            assert result.scores[uid] == pytest.approx(similarity(domains[linked], cluster))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(groups, groups)
def test_a_filter_that_keeps_all_changes_nothing(clusters, domains):
    wide = Activation(share=0, at_most=100)
    assert link_by_similarity(clusters, domains, prefilter=wide) == link_by_similarity(
        clusters, domains
    )


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(groups, groups)
def test_entropy_is_the_divergence_from_equation_eight(clusters, domains):
    result = link_by_entropy(clusters, domains)
    vocabulary = sorted(
        {word for group in (*clusters.values(), *domains.values()) for word in group}
    )
    for uid, cluster in clusters.items():
        values = {name: divergence(cluster, domain, vocabulary) for name, domain in domains.items()}
        assert result.scores[uid] == pytest.approx(min(values.values()), abs=1e-12)
        assert values[result.links[uid]] == pytest.approx(result.scores[uid], abs=1e-12)
    assert result.unlinked == 0


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(words, st.integers(0, 9)),
    st.sets(st.sampled_from("vwxyz")),
)
def test_smoothed_probabilities_add_up_to_one(counts, more):
    vocabulary = sorted({*counts, *more})
    smoothed = witten_bell(counts, vocabulary)
    assert list(smoothed) == vocabulary
    if vocabulary:
        assert sum(smoothed.values()) == pytest.approx(1)
        assert min(smoothed.values()) > 0


def test_a_larger_vocabulary_may_be_stated():
    clusters, domains = {"c": {"a": 1}}, {"d": {"a": 1}}
    # p'(a) = (1 + 1/V) / 2
    assert link_by_entropy(clusters, domains).scores["c"] == 0.0
    assert link_by_entropy(clusters, domains, vocabulary=4).scores["c"] == pytest.approx(
        -math.log((1 + 1 / 4) / 2)
    )
    with pytest.raises(ValueError, match="vocabulary=0 should be >= 1"):
        link_by_entropy(clusters, domains, vocabulary=0)


def test_groups_without_words_are_no_partners():
    clusters, domains = {"c": {"a": 1}, "empty": {}}, {"d": {"a": 1}, "empty": {}}
    by_similarity, by_entropy = (
        link(clusters, domains) for link in (link_by_similarity, link_by_entropy)
    )
    assert by_similarity.links == by_entropy.links == {"c": "d", "empty": None}
    assert by_similarity.scores["empty"] == 0.0
    assert by_entropy.scores["empty"] == math.inf


@pytest.mark.parametrize("link", [link_by_similarity, link_by_entropy])
def test_nothing_is_linked_to_nothing(link):
    assert link({}, {}) == Links({}, {}, {0: 0}, 0)
    assert link({"c": {"a": 1}}, {}).links == {"c": None}
    assert link({}, {"d": {"a": 1}}).table == {0: 1}


@pytest.mark.parametrize("link", [link_by_similarity, link_by_entropy])
def test_ties_go_to_the_domain_that_comes_first(link):
    domains = {"second": {"a": 2}, "first": {"a": 2}}
    assert link({"c": {"a": 1}}, domains).links == {"c": "second"}


def test_the_table_counts_domains_by_their_clusters():
    clusters = {"c1": {"a": 1}, "c2": {"a": 2}, "c3": {"b": 1}, "c4": {"z": 1}}
    result = link_by_similarity(clusters, {"d1": {"a": 1}, "d2": {"b": 1}, "d3": {"x": 1}})
    assert result.links == {"c1": "d1", "c2": "d1", "c3": "d2", "c4": None}
    assert result.table == {0: 1, 1: 1, 2: 1}
    assert result.unlinked == 1


@pytest.mark.parametrize(
    ("row", "unlinked", "n_domains", "n_clusters"),
    [((34, 8, 3, 1, 1, 0), 3, 47, 68), ((29, 8, 4, 2, 0, 1), 0, 44, 71)],
)
def test_the_published_table_of_links_is_told_as_printed(row, unlinked, n_domains, n_clusters):
    """Table 4, rebuilt from its totals: domains with 1, 2, … clusters; 71 of each.

    Ferret, Grau & Jardino (2001).
    """
    per_domain = [m for m, count in enumerate(row, start=1) for _ in range(count)]
    domains = {d: {f"word {d}": 1} for d in range(71)}
    linked = [d for d, m in enumerate(per_domain) for _ in range(m)]
    clusters = {c: {f"word {d}": 1} for c, d in enumerate(linked)}
    clusters |= {-1 - i: {"unheard": 1} for i in range(unlinked)}
    result = link_by_similarity(clusters, domains)
    assert (len(clusters), len(linked), len(per_domain)) == (71, n_clusters, n_domains)
    assert [result.table.get(m, 0) for m in range(7)] == [71 - n_domains, *row]
    assert result.unlinked == unlinked


@settings(max_examples=50, deadline=None)
@given(groups, groups)
def test_one_number_stands_for_weight_and_occurrences(clusters, domains):
    single, double = (
        {
            uid: {word: one(count) for word, (_, count) in group.items()}
            for uid, group in clusters.items()
        }
        for one in (lambda count: count, lambda count: (count, count))
    )
    assert link_by_similarity(single, domains) == link_by_similarity(double, domains)
    assert link_by_entropy(single, domains) == link_by_entropy(double, domains)


@settings(max_examples=50, deadline=None)
@given(groups, groups)
def test_matrices_say_the_same_as_mappings(clusters, domains):
    made = profiles(clusters)
    order = np.arange(len(made.words))[::-1]
    turned = Profiles(
        made.ids,
        tuple(made.words[i] for i in order),
        csr_array(made.weights.toarray()[:, order]),
        csr_array(made.occurrences.toarray()[:, order]),
    )
    for link in (link_by_similarity, link_by_entropy):
        expected = link(clusters, domains).scores
        assert link(turned, domains).scores == pytest.approx(expected, abs=1e-12)


def test_links_that_both_methods_made_are_found():
    clusters = {"c1": {"a": 5}, "c2": {"b": 1, "x": 9}}
    domains = {"d1": {"a": 3}, "d2": {"b": 1, "y": 99}}
    by_similarity, by_entropy = (
        link(clusters, domains) for link in (link_by_similarity, link_by_entropy)
    )
    assert by_similarity.links["c2"] is None
    assert by_entropy.links["c2"] is not None
    assert shared_links(by_similarity, by_entropy) == {"c1": "d1"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: link_by_similarity({}, {}, threshold=1.5), "threshold=1.5"),
        (lambda: link_by_entropy({"c": {"a": -1}}, {}), "group 'c', word 'a': -1"),
        (lambda: link_by_entropy({"c": {"a": (math.nan, 1)}}, {}), "finite"),
        (lambda: Activation(share=2), "share=2"),
        (lambda: Activation(at_most=0), "at_most=0"),
        (lambda: witten_bell({"a": 1}, []), "vocabulary"),
    ],
)
def test_wrong_values_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
