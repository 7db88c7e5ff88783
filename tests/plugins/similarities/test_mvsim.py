"""MVSim against the loops of the paper, written out with dense matrices."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, hstack

from segapsith import similarity
from segapsith.evaluation import metrics
from segapsith.testing import example_rows, similarity_checks
from segapsith_plugins.clusterers.ahc import AHC
from segapsith_plugins.similarities.chi_sim import ChiSim
from segapsith_plugins.similarities.mvsim import MvSim


def naive_half(m, middle, k, prune):
    """Half a step of χ-Sim."""
    n = len(m)
    a = (m**k) @ middle @ (m**k).T
    s = np.eye(n)
    for i in range(n):
        for j in range(n):
            if i != j and a[i, i] > 0 and a[j, j] > 0:
                s[i, j] = (a[i, j] / math.sqrt(a[i, i] * a[j, j])) ** (1 / k)
    values = s[np.triu_indices(n, 1)]
    if prune and len(values):
        s = np.where((s >= np.quantile(values, prune) - 1e-12) | np.eye(n, dtype=bool), s, 0)
    return s


def naive_f(outputs, combine, missing):
    """F of what the nodes say, pair by pair; outputs are (weight, similarities, matrix)."""
    n = len(outputs[0][1])
    f = np.eye(n)
    for i in range(n):
        for j in range(n):
            said = [
                (w, s[i, j])
                for w, s, m in outputs
                if missing == "unlike" or (m[i].any() and m[j].any())
            ]
            if i != j and said and combine == "mean":
                f[i, j] = sum(w * value for w, value in said) / sum(w for w, _ in said)
            elif i != j and said:
                f[i, j] = {"min": min, "max": max}[combine](value for _, value in said)
    return f


def naive(
    relations, k, prune, rounds, damping, combine, weights=None, directed=(), missing="unlike"
):
    """S of every type; relations are name: (type, type, dense matrix without empty columns)."""
    sizes = {}
    for one, other, m in relations.values():
        sizes[one], sizes[other] = m.shape
    copies = {t: 2 if any(relations[d][0] == t for d in directed) else 1 for t in sizes}
    s = {(t, c): np.eye(n) for t, n in sizes.items() for c in range(copies[t])}
    for t in range(1, rounds + 1):
        actual = {key: [] for key in s}

        def seen(kind, s=s):
            return sum(s[kind, c] for c in range(copies[kind])) / copies[kind]

        for name, (one, other, m) in relations.items():
            w = (weights or {}).get(name, 1.0)
            if name in directed:
                actual[one, 0].append((w, naive_half(m, s[one, 1], k, prune), m))
                actual[one, 1].append((w, naive_half(m.T, s[one, 0], k, prune), m.T))
                continue
            for c in range(copies[one]):
                actual[one, c].append((w, naive_half(m, seen(other), k, prune), m))
            for c in range(copies[other]):
                actual[other, c].append((w, naive_half(m.T, seen(one), k, prune), m.T))
        new = {}
        for key, outputs in actual.items():
            f = naive_f(outputs, combine, missing)
            share = None if damping is None else damping**t
            new[key] = f if share is None else (s[key] + share * f) / (1 + share)
        s = new
    return {t: sum(s[t, c] for c in range(copies[t])) / copies[t] for t in sizes}


def dense(rng, n, m):
    """Some counts without an empty row or column."""
    actual = rng.poisson(0.6, (n, m)).astype(float)
    actual[np.arange(max(n, m)) % n, np.arange(max(n, m)) % m] += 1
    return actual


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.5, 0.8, 1.0]),
    st.sampled_from([0.0, 0.4, 0.8]),
    st.integers(1, 4),
    st.sampled_from([None, 0.0, 0.5, 0.9]),
    st.sampled_from(["mean", "min", "max"]),
    st.sampled_from(["unknown", "unlike"]),
)
def test_a_network_of_relations_is_the_papers(seed, k, prune, rounds, damping, combine, missing):
    rng = np.random.default_rng(seed)
    n, words, people = 5, 6, 3
    cites = (rng.random((n, n)) < 0.4).astype(float)
    near = dense(rng, words, words)
    near = near + near.T
    given = {
        "text": ("doc", "word", dense(rng, n, words)),
        "title": ("doc", "word", dense(rng, n, words)),
        "authors": ("doc", "authors", dense(rng, n, people)),
        "near": ("word", "word", near),
        "cites": ("doc", "doc", cites),
    }
    weights = {"text": 2.0, "cites": 0.5} if combine == "mean" else None
    sim = MvSim(
        k=k, prune=prune, iterations=rounds, damping=damping, combine=combine, weights=weights,
        missing=missing,
        relations={name: (a, b) for name, (a, b, _) in given.items() if name != "authors"},
        rows="doc",
    )  # fmt: skip
    sim.learn({name: csr_array(m) for name, (_, _, m) in given.items()})
    directed = () if np.array_equal(cites, cites.T) else ("cites",)
    expected = naive(given, k, prune, rounds, damping, combine, weights, directed, missing)
    text = csr_array(given["text"][2])
    if len(np.unique(given["text"][2], axis=0)) == n:
        np.testing.assert_allclose(sim.compare(text, text), expected["doc"], rtol=0, atol=1e-9)
    for kind, actual in sim.columns().items():
        np.testing.assert_allclose(actual, expected[kind], rtol=0, atol=1e-9)
        np.testing.assert_array_equal(sim.columns(kind), actual)


def test_a_self_relation_can_be_read_either_way():
    rng = np.random.default_rng(3)
    links = (rng.random((7, 7)) < 0.4).astype(float)
    links[np.arange(7), (np.arange(7) + 1) % 7] = 1
    given = {"links": ("rows", "rows", links)}
    for reading, directed in (("symmetric", ()), ("asymmetric", ("links",)), ("auto", ("links",))):
        sim = MvSim(k=0.8, relations={"links": ("rows", "rows")}, self_relations=reading)
        sim.learn({"links": csr_array(links)})
        expected = naive(given, 0.8, 0.2, 4, 0.9, "max", None, directed)["rows"]
        actual = sim.compare(csr_array(links), csr_array(links))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)
        assert sim.columns() == {}


@pytest.mark.parametrize("k", [0.8, 1.0, math.inf])
def test_one_view_without_damping_is_plain_chi_sim(k):
    rows = example_rows(20, 40)
    sim, plain = MvSim(k=k, prune=0.6, damping=None), ChiSim(k=k, prune=0.6)
    for measure in (sim, plain):
        measure.learn(rows)
    np.testing.assert_allclose(
        sim.compare(rows, rows), plain.compare(rows, rows), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(sim.columns(), plain.columns(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("blocks", ["random", "clusters"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_the_number_of_workers_changes_nothing(blocks, precision):
    rows = example_rows(40, 90)
    actual = []
    for workers in (1, 2, 5):
        sim = MvSim(views=4, blocks=blocks, workers=workers, precision=precision)
        sim.learn(rows)
        actual.append((sim.compare(rows, rows), sim.columns()))
    for similar, words in actual[1:]:
        np.testing.assert_array_equal(similar, actual[0][0])
        np.testing.assert_array_equal(words, actual[0][1])


def test_splitting_is_learning_the_blocks_as_views():
    rows = example_rows(15, 30)
    cut = [list(range(0, 30, 2)), list(range(1, 30, 2))]
    split, views = MvSim(views=cut), MvSim()
    split.learn(rows)
    views.learn({"even": rows[:, cut[0]], "odd": rows[:, cut[1]]})
    whole = csr_array(hstack([rows[:, cut[0]], rows[:, cut[1]]], format="csr"))
    np.testing.assert_array_equal(split.compare(rows, rows), views.compare(whole, whole))
    words = split.columns()
    np.testing.assert_array_equal(words[np.ix_(cut[0], cut[0])], views.columns("even"))
    assert not words[np.ix_(cut[0], cut[1])].any()


def test_clustered_blocks_keep_related_words_together():
    rng = np.random.default_rng(0)
    # Topics that share nothing would have equal singular values, and so no definite order.
    shared = np.array([[1, 0.2, 0.02, 0], [0.2, 1, 0.02, 0], [0, 0.02, 1, 0.3], [0, 0, 0.3, 1]])
    home = rng.permutation(np.arange(40) // 10)
    rows = (1 + rng.poisson(2.0, (12, 40))) * shared[np.arange(12) // 3][:, home]
    sim = MvSim(views=4, blocks="clusters")
    sim.learn(csr_array(rows))
    assert all(len(set(home[block])) == 1 for block in sim._blocks)


def test_rows_are_found_again_in_every_form():
    rng = np.random.default_rng(1)
    views = {"words": csr_array(dense(rng, 9, 12)), "names": csr_array(dense(rng, 9, 4))}
    sim = similarity("mvsim")  # through the seam
    sim.learn(views)
    whole = sim.compare(views, views)
    both = csr_array(hstack(list(views.values()), format="csr"))
    np.testing.assert_array_equal(sim.compare(both, both), whole)
    np.testing.assert_array_equal(sim.compare(both[2:5], both[3:]), whole[2:5, 3:])
    some = {name: rows[[4, 0]] for name, rows in views.items()}
    np.testing.assert_array_equal(sim.compare(some, views), whole[[4, 0]])
    with pytest.raises(Exception, match="only for the 9 rows it learned"):
        sim.compare(both * 2, both)
    with pytest.raises(Exception, match="learned the views words, names"):
        sim.compare({"words": views["words"]}, views)


def test_what_was_learned_can_be_asked_for_with_its_views_of_other_objects():
    rng = np.random.default_rng(2)
    views = {
        "words": csr_array(dense(rng, 7, 9)),
        "titles": csr_array(dense(rng, 7, 9)),
        "roots": csr_array(dense(rng, 9, 4)),
    }
    relations = {"titles": ("rows", "words"), "roots": ("words", "roots")}
    sim = similarity("mvsim", relations=relations)
    sim.learn(views)
    without = {name: views[name] for name in ("words", "titles")}
    np.testing.assert_array_equal(sim.compare(views, views), sim.compare(without, without))
    some = {**views, "words": views["words"][2:4], "titles": views["titles"][2:4]}
    np.testing.assert_array_equal(sim.compare(some, views), sim.compare(views, views)[2:4])


def test_equal_rows_are_told_apart_by_their_place():
    words = csr_array(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1], [1, 1]]))
    names = csr_array(np.array([[1.0, 0], [0, 1], [1, 0], [0, 1], [1, 0]]))
    sim = MvSim()
    sim.learn({"words": words, "names": names})
    whole = sim.compare(words, words)
    assert whole[0, 2] != whole[1, 2]
    np.testing.assert_array_equal(sim.compare(words[1:4], words[2:]), whole[1:4, 2:])


def test_a_second_view_helps_where_the_first_is_blind():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(2), 15)
    noise = rng.poisson(1.0, (30, 20)).astype(float)
    clear = rng.poisson(3.0, (30, 20)) * (np.arange(20)[None, :] // 10 == classes[:, None])
    views = {"noise": csr_array(noise), "clear": csr_array(clear.astype(float))}
    sim = MvSim()
    sim.learn(views)
    rows = csr_array(hstack(list(views.values()), format="csr"))
    labels = AHC(k=2, linkage="ward").cluster(rows, sim.compare)
    assert metrics.nmi(labels, classes) == pytest.approx(1.0)


def test_rows_that_are_empty_in_one_view_or_in_all():
    words = csr_array(np.array([[1.0, 2], [2, 1], [0, 0], [0, 0]]))
    names = csr_array(np.array([[1.0], [0], [1], [0]]))
    sim = MvSim(prune=0)
    sim.learn({"words": words, "names": names})
    actual = sim.compare({"words": words, "names": names}, {"words": words, "names": names})
    assert actual[0, 2] > 0
    assert actual[2, 2] == 1
    assert not actual[3].any()


@pytest.mark.parametrize("combine", ["mean", "min"])
def test_a_view_in_which_a_row_is_empty_says_nothing_of_it(combine):
    words = csr_array(np.array([[1.0, 2, 0], [2, 1, 0], [1, 1, 3], [0, 1, 4]]))
    names = csr_array(np.array([[1.0, 0], [0, 0], [1, 0], [0, 1]]))
    views = {"words": words, "names": names}
    once = {"prune": 0, "iterations": 1, "damping": None, "combine": combine}
    alone, both, zeros = MvSim(**once), MvSim(**once, missing="unknown"), MvSim(**once)
    alone.learn(words)
    both.learn(views)
    zeros.learn(views)
    by_words = alone.compare(words, words)
    np.testing.assert_allclose(both.compare(views, views)[1], by_words[1], atol=1e-12)
    smaller = by_words[1, [0, 2, 3]] * (0.5 if combine == "mean" else 0.0)
    np.testing.assert_allclose(zeros.compare(views, views)[1, [0, 2, 3]], smaller, atol=1e-12)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"damping": 1.0}, "damping"),
        ({"combine": "sum"}, "combine"),
        ({"missing": "zero"}, "missing"),
        ({"weights": {"words": 0}}, "weights"),
        ({"weights": "words"}, "weights"),
        ({"weights": "words:2", "combine": "max"}, "combine='mean'"),
        ({"views": 0}, "views=0"),
        ({"views": "two"}, "views='two'"),
        ({"views": [[0, 1], [1]]}, "each column once"),
        ({"relations": {"a": "b"}}, "types of its rows"),
        ({"k": 0}, "k=0"),
    ],
)
def test_wrong_settings_are_named(wrong, said):
    with pytest.raises(ValueError, match=said):
        MvSim(**wrong)


def test_weights_ask_for_the_mean():
    assert MvSim().combine == "max"
    assert MvSim(weights={"words": 2.0}).combine == "mean"


def test_views_that_do_not_fit_are_refused():
    a, b = csr_array(np.ones((3, 2))), csr_array(np.ones((4, 2)))
    with pytest.raises(ValueError, match="same objects"):
        MvSim().learn({"a": a, "b": b})
    with pytest.raises(ValueError, match="relates rows to itself"):
        MvSim(relations={"a": ("rows", "rows")}).learn({"a": a})
    with pytest.raises(ValueError, match="no view"):
        MvSim().learn({})
    with pytest.raises(ValueError, match="which is not a view"):
        MvSim(weights={"c": 2.0}).learn({"a": a})
    with pytest.raises(ValueError, match="divides one matrix"):
        MvSim(views=2).learn({"a": a})
    with pytest.raises(ValueError, match="no view has rows of type"):
        MvSim(relations={"a": ("x", "y")}).learn({"a": a})
    with pytest.raises(ValueError, match="needs rows >= 0"):
        MvSim().learn(-a)
    with pytest.raises(ValueError, match="leave out column 1"):
        MvSim(views=[[0]]).learn(a)


@pytest.mark.parametrize("settings_", [{}, {"views": 3}, {"damping": None, "combine": "max"}])
@pytest.mark.parametrize("check", similarity_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check, settings_):
    def make_plugin(**more):
        return MvSim(**{**settings_, **more})

    check(make_plugin)
