"""The cohesion curve as its formula says it, the units that are cut from it, the inferred words."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith import Annotation, Document, Lexicon, Network, Unit
from segapsith.lexicon.network import NetworkSettings, network_of
from segapsith.testing import example_annotation, segmenter_checks
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.segmenters._cohesion_curve import (
    Inference,
    Lens,
    _swept,
    cohesion_curve,
    inferred_words,
    likeness_curve,
    read,
    shape,
)
from segapsith_plugins.segmenters._valleys import Valleys, cut, smoothed, valleys
from segapsith_plugins.segmenters.lcp import LexicalCohesionProfile
from segapsith_plugins.segmenters.segcohlex import Segcohlex

Links = dict[tuple[str, str], float]


def network(links: Links, signif: dict[str, float] | None = None, **more: Any) -> Network:
    """A network of links between words, each given once."""
    words = sorted({w for pair in links for w in pair} | set(signif or {}))
    both = {**links, **{(b, a): v for (a, b), v in links.items()}}
    rows = [sorted((words.index(b), v) for (a, b), v in both.items() if a == w) for w in words]
    return Network(
        rows={w: i for i, w in enumerate(words)},
        words=tuple(words),
        starts=np.cumsum([0, *map(len, rows)]),
        neighbours=np.array([n for row in rows for n, _ in row], np.int32),
        weights=np.array([v for row in rows for _, v in row], np.float32),
        significance=np.array([(signif or {}).get(w, 0.5) for w in words], np.float32),
        **more,
    )


def coh(net: Network, a: str, b: str) -> float:
    if a not in net.rows or b not in net.rows:
        return 0.0
    row = net.rows[a]
    here = slice(net.starts[row], net.starts[row + 1])
    actual = dict(zip(net.neighbours[here].tolist(), net.weights[here].tolist(), strict=True))
    return actual.get(net.rows[b], 0.0)


def signif(net: Network, word: str, lens: Lens) -> float:
    if not lens.use_signif:
        return 1.0
    known = float(net.significance[net.rows[word]]) if word in net.rows else 1.0
    return min(known, lens.max_signif)


def weighed(words: Sequence[str], net: Network, lens: Lens, x: int) -> tuple[dict[str, float], set]:
    """Return wgt of each window word and selected word around x, and the selected words.

    The formula of docs/concepts/formulas.md, word by word.
    """
    half = lens.window // 2
    p: dict[str, float] = {}
    for j in range(max(0, x - half), min(len(words), x + half + 1)):
        taper = 1.0
        if lens.taper == "hann":
            taper = (1 + math.cos(2 * math.pi * (j - x) / (lens.window + 1))) / 2
        p[words[j]] = p.get(words[j], 0.0) + taper
    weights, selected = {}, set()
    for n in {*net.words, *p}:
        linked = [w for w in p if coh(net, w, n) > 0]
        total = sum(p[w] * coh(net, w, n) for w in linked)
        if len(linked) >= lens.min_links:
            selected.add(n)
        if n in p:
            weights[n] = p[n] + (total if lens.reinforce_window_words else 0.0)
        elif len(linked) >= lens.min_links:
            weights[n] = total
    return weights, selected


def literal_curve(words: Sequence[str], net: Network, lens: Lens) -> list[float]:
    form = shape(len(words), lens.window, lens.taper)
    return [
        sum(signif(net, w, lens) * v for w, v in weighed(words, net, lens, x)[0].items())
        / form.present[x]
        for x in range(len(words))
    ]


WORDS = "abcdefgh"
pairs = [(a, b) for i, a in enumerate(WORDS) for b in WORDS[i + 1 :]]
networks = st.builds(
    network,
    st.dictionaries(st.sampled_from(pairs), st.sampled_from([0.125, 0.3, 0.75]), min_size=3),
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.0, 0.25, 0.8])),
)
texts = st.lists(st.sampled_from([*WORDS, "x", "y"]), max_size=40)
lenses = st.builds(
    Lens,
    window=st.sampled_from([1, 3, 5, 19]),
    min_links=st.integers(1, 3),
    use_signif=st.booleans(),
    max_signif=st.sampled_from([1.0, 0.7]),
    reinforce_window_words=st.booleans(),
    taper=st.sampled_from([None, "hann"]),
)


@settings(deadline=None, max_examples=25)
@given(texts, networks, lenses)
def test_the_moving_window_is_the_formula_at_every_position(words, net, lens):
    actual = cohesion_curve(read(words, net, lens), net, lens)
    assert actual == pytest.approx(literal_curve(words, net, lens), abs=1e-9)


def test_a_window_that_is_summed_up_anew_says_the_same():
    rng = np.random.default_rng(0)
    words = rng.choice(list(WORDS), 300).tolist()
    net = network({p: float(v) for p, v in zip(pairs, rng.random(len(pairs)), strict=True)})
    for lens in (Lens(window=5), Lens(window=5, taper="hann")):
        reading, form = read(words, net, lens), shape(300, 5, lens.taper)
        for entering in np.ascontiguousarray(form.entering.T):
            actual = [
                _swept(
                    reading.rows, np.array([0, 10, 200, 300]), net.starts, net.neighbours,
                    net.weights, reading.significance, entering, np.arange(301.0), 2, 3, True,
                    0.2, fresh,
                )
                for fresh in (1, 7, 1000)
            ]  # fmt: skip
            for other in actual[1:]:
                assert other[0] == pytest.approx(actual[0][0], abs=1e-9)
                assert _sorted(*other[1:]) == pytest.approx(_sorted(*actual[0][1:]), abs=1e-9)


def _sorted(ends: Any, chosen: Any, counts: Any, heights: Any) -> Any:
    """Segment, word, count and height of every word that a segment has or is pointed at."""
    units = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    order = np.lexsort((chosen, units))
    return np.stack([units, chosen, counts, heights], axis=1)[order]


def test_the_published_example_weighs_048():
    net = network({("n", "a"): 0.18, ("n", "b"): 0.13, ("n", "c"): 0.17})
    weights, selected = weighed(["a", "b", "c"], net, Lens(window=5), 1)
    assert selected == {"n"} and weights["n"] == pytest.approx(0.48)
    # window words: 3 x 1.0, each by 0.5; and the word they select
    lens = Lens(window=3)
    assert cohesion_curve(read(["a", "b", "c"], net, lens), net, lens)[1] == pytest.approx(
        0.5 * 3 + 0.5 * 0.48
    )


def test_the_ends_of_an_even_text_are_as_high_as_its_middle():
    net = network({(a, b): 0.5 for a, b in [("a", "b")]})
    lens = Lens(window=5, min_links=1, reinforce_window_words=False)
    values = cohesion_curve(read(["a"] * 12, net, lens), net, lens)
    assert values == pytest.approx(values[0])


@settings(deadline=None, max_examples=25)
@given(texts, networks, st.sampled_from([1, 2, 7]), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_likeness_of_two_sides_is_their_cohesion_over_that_of_each(words, net, span, rec):
    def k(a: range, b: range) -> float:
        return sum(
            1.0 if i == j else
            signif(net, words[i], Lens()) * signif(net, words[j], Lens())
            * (rec if words[i] == words[j] else coh(net, words[i], words[j]))
            for i in a for j in b
        )  # fmt: skip

    actual = likeness_curve(read(words, net, Lens()), net, span, rec)
    for x in range(1, len(words)):
        a, b = range(max(0, x - span), x), range(x, min(len(words), x + span))
        assert actual[x] == pytest.approx(k(a, b) / math.sqrt(k(a, a) * k(b, b)), abs=1e-9)


# -- inferred words ------------------------------------------------------------------------


def literal_inferred(
    words: Sequence[str], bounds: list[int], net: Network, lens: Lens, rule: Inference
) -> list[dict[str, float]]:
    actual = []
    for first, last in pairwise(bounds):
        counts = Counter(words[first:last])
        chosen, total = Counter[str](), Counter[str]()
        for x in range(first, last):
            weights, selected = weighed(words, net, lens, x)
            chosen.update(selected)
            for w, v in weights.items():
                total[w] += v
        often = {
            w for w in net.words
            if w not in counts and chosen[w] >= rule.min_share * (last - first) - 1e-9
        }  # fmt: skip
        top = max(total[w] for w in often | set(counts))
        height = {
            "cohesion": lambda w, top=top, total=total: total[w] / top,
            "signif": lambda w: 1.0,
            "tf": lambda w, counts=counts: 1 / max(counts.values()),
        }[rule.weight]
        by = {w: (1.0 if rule.weight == "tf" else signif(net, w, lens)) * height(w) for w in often}
        most = len(counts) if rule.max_words is None else rule.max_words
        ranked = sorted((-round(v, 12), w) for w, v in by.items() if v > 0)[:most]
        actual.append({w: -v for v, w in ranked})
    return actual


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from([*WORDS[:5], "x"]), min_size=1, max_size=30),
    networks,
    lenses,
    st.builds(
        Inference,
        st.sampled_from([0.25, 0.5, 0.75, 1.0]),
        st.sampled_from([None, 0, 2]),
        st.sampled_from(["cohesion", "signif", "tf"]),
    ),
    st.data(),
)
def test_inferred_words_are_those_selected_nearly_everywhere(words, net, lens, rule, data):
    inner = data.draw(st.sets(st.integers(1, len(words)), max_size=3)) - {len(words)}
    cuts = [0, *sorted(inner)]
    actual = inferred_words(read(words, net, lens), np.array(cuts), net, lens, rule)
    expected = literal_inferred(words, [*cuts, len(words)], net, lens, rule)
    assert [f.keys() for f in actual] == [w.keys() for w in expected] or rule.max_words == 2
    for f, w in zip(actual, expected, strict=True):
        assert sorted(f.values()) == pytest.approx(sorted(w.values()), abs=1e-9)


# -- from the curve to segments ------------------------------------------------------------


def literal_valleys(curve: list[float]) -> dict[int, float]:
    actual = {}
    i = 0
    while i < len(curve):
        j = i
        while j + 1 < len(curve) and curve[j + 1] == curve[i]:
            j += 1
        if i > 0 and j + 1 < len(curve) and curve[i - 1] > curve[i] < curve[j + 1]:
            left, right = i, j
            while left > 0 and curve[left - 1] >= curve[left]:
                left -= 1
            while right + 1 < len(curve) and curve[right + 1] >= curve[right]:
                right += 1
            actual[(i + j) // 2] = curve[left] + curve[right] - 2 * curve[i]
        i = j + 1
    return actual


@given(st.lists(st.integers(0, 4), max_size=25))
def test_valleys_are_minima_between_maxima(heights):
    actual = valleys(np.array(heights, float))
    assert dict(
        zip(actual.places.tolist(), actual.depths.tolist(), strict=True)
    ) == literal_valleys(heights)


def test_smoothing_leaves_out_what_lies_beyond_the_ends():
    curve = np.arange(20.0) ** 2
    for i, value in enumerate(smoothed(curve, 5)):
        assert value == pytest.approx(curve[max(0, i - 2) : i + 3].mean())
    assert smoothed(curve, 5, 2) == pytest.approx(smoothed(smoothed(curve, 5), 5))


def cuts(places: list[int], depths: list[float], n: int, **choices: Any) -> list[int]:
    chosen = {"alpha": 10.0, "boundaries": None, "min_words": 1, "openings": None, **choices}
    openings = chosen.pop("openings")
    return cut(
        Valleys(np.array(places, np.int64), np.array(depths)),
        n,
        None if openings is None else np.array(openings),
        **chosen,
    ).tolist()


def test_shallow_valleys_are_no_boundaries():
    # mean 2, sd 1.22: the bar is 1.39
    assert cuts([10, 20, 30, 40], [1.0, 1.0, 4.0, 2.0], 50, alpha=0.5) == [0, 30, 40]
    assert cuts([10, 20, 30, 40], [1.0, 1.5, 4.0, 2.0], 50, boundaries=2) == [0, 30, 40]
    assert cuts([10], [3.0], 50, alpha=0.5) == [0, 10]
    assert cuts([], [], 50) == [0]


def test_boundaries_move_to_the_nearest_sentence():
    assert cuts([9, 21], [1.0, 1.0], 50, openings=[0, 10, 18, 24]) == [0, 10, 18]
    assert cuts([2, 48], [1.0, 1.0], 50, openings=[0, 30]) == [0, 30]


def test_a_short_segment_goes_across_the_shallower_boundary():
    assert cuts([10, 13], [2.0, 1.0], 30, min_words=5) == [0, 10]
    assert cuts([10, 13], [1.0, 2.0], 30, min_words=5) == [0, 13]
    assert cuts([3, 28], [9.0, 9.0], 30, min_words=5) == [0]


# -- the segmenters ------------------------------------------------------------------------

RIVER = ["river", "flood", "bridge", "valley", "rain", "dam", "boat", "water"]
MARKET = ["share", "bank", "dividend", "broker", "bond", "investor", "stock", "profit"]


def story(subject: Sequence[str], n: int, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    return " ".join(
        "The {}, the {} and the {} with the {}.".format(*rng.choice(subject, 4, replace=False))
        for _ in range(n)
    )


def annotated(text: str, title: str = "") -> Annotation:
    (annotation,) = SimplemmaWords().annotate([Document("d", title, text, lang="en")], Lexicon())
    return annotation


def content(annotation: Annotation) -> list[str]:
    return [w for w, c in zip(annotation.lemmas, annotation.content, strict=True) if c]


@pytest.fixture(scope="module")
def learned() -> Network:
    corpus = [
        content(annotated(story(subject, 3, seed)))
        for seed in range(40)
        for subject in (RIVER, MARKET)
    ]
    return network_of(corpus, NetworkSettings(min_count=2, min_cohesion=0.0))


BOTH = pytest.mark.parametrize("kind", [Segcohlex, LexicalCohesionProfile])


@BOTH
@pytest.mark.parametrize("check", segmenter_checks, ids=lambda check: check.__name__)
def test_the_contract_is_kept(check, kind):
    check(kind)


@BOTH
def test_the_contract_is_kept_with_a_network(kind, learned):
    for text, title in (("", ""), ("", "Flood"), ("water", ""), ("...", "Rain"), ("the of", "")):
        annotation = annotated(text, title)
        units = list(kind().segment(annotation, learned))
        assert sum(u.last - u.first for u in units) == len(annotation.lemmas)
        assert all(math.isfinite(u.cohesion) for u in units)


def test_two_subjects_are_two_units_that_begin_with_their_sentence(learned):
    first, second = story(RIVER, 8, 100), story(MARKET, 8, 101)
    annotation = annotated(f"{first} {second}", "Flood at the bank")
    one, two = Segcohlex(boundaries=1).segment(annotation, learned)
    assert (one.start, two.end) == (0, len(annotation.document.text))
    assert annotation.document.text[two.start :].startswith(second[:10])
    assert one.first == 0 and one.last == two.first


def test_a_units_cohesion_is_the_mean_of_the_smoothed_curve(learned):
    annotation = annotated(f"{story(RIVER, 8, 1)} {story(MARKET, 8, 2)} {story(RIVER, 6, 3)}")
    segmenter = Segcohlex(cut_at="cohesion")
    places, values = segmenter.curve(annotation, learned)
    for unit in segmenter.segment(annotation, learned):
        inside = (places >= unit.start) & (places < unit.end)
        assert unit.cohesion == pytest.approx(values[inside].mean())


def test_only_units_of_at_least_the_usual_cohesion_are_kept(learned):
    annotation = annotated(f"{story(RIVER, 8, 1)} {'So he said yes and no. ' * 10}")
    usual = float(np.mean([u.cohesion for u in Segcohlex().segment(annotation, learned)]))
    strict = replace(learned, mean_cohesion=usual)
    kept = [(u.cohesion, u.kept) for u in Segcohlex().segment(annotation, strict)]
    assert all(flag == (value >= usual) for value, flag in kept)
    assert all(u.kept for u in Segcohlex(keep="all").segment(annotation, strict))
    assert not any(u.kept for u in Segcohlex(keep=1e9).segment(annotation, strict))


def test_what_a_unit_leaves_unsaid_is_inferred(learned):
    annotation = annotated(story([w for w in RIVER if w != "dam"], 10, 5))
    for segmenter in (Segcohlex(), LexicalCohesionProfile()):
        actual: dict[str, float] = {}
        for unit in segmenter.segment(annotation, learned):
            actual |= unit.inferred
        assert "dam" in actual and 0 < actual["dam"] <= 1
        assert not set(actual) & set(MARKET)


@BOTH
def test_without_a_network_the_text_is_one_unit_that_is_kept(kind):
    annotation = annotated(f"{story(RIVER, 8)} {story(MARKET, 8)}")
    assert list(kind().segment(annotation, Network())) == [
        Unit(0, len(annotation.document.text), 0, len(annotation.lemmas), 0.0, True)
    ]
    assert [len(part) for part in kind().curve(annotation, Network())] == [0, 0]


@pytest.mark.slow
@BOTH
def test_a_long_text_takes_time_in_proportion(kind, learned):
    def long_text(n_words: int) -> Annotation:
        words = [*RIVER, *MARKET] * (n_words // 16)
        return example_annotation(" ".join(words).replace(" river", ". river"))

    def least_seconds(n_words: int) -> float:
        """Return the least processor time of several: others may slow one of them down."""
        annotation, times = long_text(n_words), []
        for _ in range(4):
            begin = time.process_time()
            list(kind().segment(annotation, learned))
            times.append(time.process_time() - begin)
        return min(times)

    # Ten times the words: quadratic work would take a hundred times as long.
    assert least_seconds(160_000) < 50 * max(least_seconds(16_000), 0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 4}, {"min_links": 0}, {"taper": "gauss"}, {"smooth": 2}, {"smooth_passes": -1},
        {"alpha": math.inf}, {"boundaries": -1}, {"min_words": 0}, {"keep": "some"},
        {"inferred_min_share": 0}, {"max_inferred": -1}, {"tu_weight": "idf"}, {"max_signif": 0},
        {"cut_at": "will"}, {"span": 0}, {"recurrence": 2},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match="should"):
        Segcohlex(**wrong)


# -- Kozima's profile ----------------------------------------------------------------------


def literal_profile(words: Sequence[str], net: Network, mu: float, rounds: int) -> list[float]:
    """At each position the activation is spread over the whole network, round by round."""
    names = [*net.words, *sorted(set(words) - set(net.words))]
    links = np.array([[coh(net, a, b) for b in names] for a in names])
    sums = links.sum(axis=1)
    spread = links / np.where(sums > 0, sums, 1)[:, None]
    worth = np.array([signif(net, w, Lens()) for w in names])
    form = shape(len(words), 51, "hann")
    values = []
    for x in range(len(words)):
        p = np.zeros(len(names))
        for j in range(max(0, x - 25), min(len(words), x + 26)):
            p[names.index(words[j])] += (1 + math.cos(2 * math.pi * (j - x) / 52)) / 2
        a = p
        for _ in range(rounds):
            a = (1 - mu) * p + mu * spread @ a
        values.append(float(worth @ a) / form.present[x])
    return values


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.sampled_from([*WORDS, "x"]), min_size=1, max_size=70),
    networks,
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 3),
)
def test_the_profile_is_the_activation_of_the_window(words, net, mu, rounds):
    profile = LexicalCohesionProfile(mu=mu, rounds=rounds)
    actual = profile._profiled(read(words, net, Lens()), net)
    assert actual == pytest.approx(literal_profile(words, net, mu, rounds), abs=1e-9)


def test_settings_of_the_profile_are_checked():
    for wrong in ({"mu": 2}, {"rounds": -1}):
        with pytest.raises(ValueError, match="should"):
            LexicalCohesionProfile(**wrong)
