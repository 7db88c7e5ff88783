"""Sections: topics in a few groups whose number is found by stability."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import segapsith
from segapsith.arrays import Compare, Labels, Rows
from segapsith.domains.sections import (
    WEAK,
    SectionParts,
    Sections,
    SectionSettings,
    choose_number,
    make_sections,
    stability,
)
from segapsith.domains.topics import cosines
from segapsith.domains.values import DomainWords
from segapsith.evaluation.metrics import ari
from segapsith.lexicon.vocabulary import SCALE
from segapsith.plugin.contracts import Clusterer

FAST = SectionSettings(least=2, most=6, halves=4)


def _sums(words: dict[int, float], n_units: int) -> DomainWords:
    numbers = sorted(words)
    return DomainWords(
        np.array(numbers, np.int32),
        np.full(len(numbers), n_units, np.int64),
        np.array([round(words[w] * SCALE * n_units) for w in numbers], np.int64),
        n_units,
    )


def _planted(n_subjects: int, per_subject: int, seed: int = 0) -> dict[int, DomainWords]:
    """Domains by turns of subjects with 12 words each, and one word that all share."""
    rng = np.random.default_rng(seed)
    return {
        i + 1: _sums(
            {int(w) + 20 * (i % n_subjects): 1.0 for w in rng.choice(12, 7, replace=False)}
            | {999: 0.3},
            1 + int(rng.integers(5)),
        )
        for i in range(n_subjects * per_subject)
    }


def _parts(clusterer: Callable[[int], Clusterer] | None = None) -> SectionParts:
    return SectionParts(clusterer or (lambda k: segapsith.clusterer("spherical-kmeans", k=k)), ari)


def _alone(domains: dict[int, DomainWords]) -> dict[int, int]:
    """Every domain as a topic of its own."""
    return {domain: 100 + domain for domain in domains}


def _section_of(made: Sections) -> dict[int, int]:
    return dict(zip(made.groups.domains.tolist(), made.groups.groups.tolist(), strict=True))


@pytest.mark.parametrize("n_subjects", [3, 5])
def test_the_number_of_planted_subjects_is_found(n_subjects: int) -> None:
    domains = _planted(n_subjects, 24)
    made = make_sections(domains, _alone(domains), _parts(), settings=FAST)
    assert max(made.stability, key=lambda k: made.stability[k]) == n_subjects
    section = _section_of(made)
    subjects = [
        {section[d] for d in domains if (d - 1) % n_subjects == s} for s in range(n_subjects)
    ]
    assert all(len(of) == 1 for of in subjects) and len(set.union(*subjects)) == n_subjects


def _slow_stability(rows: Rows, cluster: Callable[[Rows], Labels], n_halves: int) -> float:
    """The definition, row by row."""
    dense, labelled = rows.toarray(), []
    for seed in range(n_halves):
        drawn = sorted(np.random.default_rng(seed).permutation(len(dense))[: len(dense) // 2])
        labels = cluster(csr_array(dense[drawn]))
        centres = [dense[drawn][labels == label].sum(axis=0) for label in range(labels.max() + 1)]
        nearest = []
        for row in dense:
            similar = [row @ c / np.linalg.norm(row) / np.linalg.norm(c) for c in centres]
            nearest.append(int(np.argmax(np.round(similar, 12))))
        labelled.append(nearest)
    return float(np.mean([ari(a, b) for a, b in combinations(labelled, 2)]))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_stability_is_the_mean_agreement_of_halves(k: int) -> None:
    rng = np.random.default_rng(k)
    rows = csr_array(rng.random((30, 8)) * (rng.random((30, 8)) < 0.6) + np.eye(30, 8) + 0.01)
    cluster = partial(segapsith.clusterer("spherical-kmeans", k=k).cluster, compare=None)
    found = stability(rows, cluster, cosines, ari, n_halves=4)
    assert found == pytest.approx(_slow_stability(rows, cluster, 4))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 9), st.floats(0.1, 1.0), max_size=4),
            st.integers(1, 9),
            st.integers(0, 6),
        ),
        min_size=1,
        max_size=24,
    ),
    st.sampled_from([None, 1, 2, 5]),
    st.integers(2, 30),
)
def test_every_topic_is_in_one_section_whatever_the_domains(
    entries: list[tuple[dict[int, float], int, int]], k: int | None, rows: int
) -> None:
    domains = {i + 1: _sums(words, n) for i, (words, n, _) in enumerate(entries)}
    topic_of = {i + 1: topic for i, (_, _, topic) in enumerate(entries)}
    chosen = SectionSettings(least=2, most=4, halves=2, rows=rows)
    made = make_sections(domains, topic_of, _parts(), k=k, settings=chosen)
    section = _section_of(made)
    assert section.keys() == domains.keys()
    assert len({(topic_of[d], s) for d, s in section.items()}) == len(set(topic_of.values()))
    numbers = set(section.values())
    assert numbers == set(range(len(numbers))) and len(numbers) <= (k or 4)
    backwards = dict(reversed(domains.items()))
    again = make_sections(backwards, topic_of, _parts(), k=k, settings=chosen)
    assert _section_of(again) == section and again.stability == made.stability


def test_a_topic_goes_where_most_of_its_units_are() -> None:
    domains = _planted(2, 6)
    topic_of = _alone(domains) | {1: 7, 2: 7}
    domains[1] = _sums({0: 1.0, 1: 1.0, 2: 1.0}, 50)
    section = _section_of(make_sections(domains, topic_of, _parts(), k=2))
    assert section[1] == section[2] == section[3] != section[4]


def test_domains_after_the_largest_join_the_nearest_section() -> None:
    domains = _planted(3, 20)
    few = SectionSettings(least=2, most=5, halves=4, rows=24)
    section = _section_of(make_sections(domains, _alone(domains), _parts(), settings=few))
    assert all(section[d] == section[(d - 1) % 3 + 1] for d in domains)
    assert len(set(section.values())) == 3


class _OneApart:
    """A clusterer that puts the last row into a cluster of its own."""

    def cluster(self, rows: Rows, compare: object) -> Labels:
        labels = np.arange(rows.shape[0]) % 2
        labels[-1] = 2
        return labels


def test_a_section_that_is_too_small_is_dissolved_unless_the_number_was_given() -> None:
    domains = {i + 1: _sums({i % 2: 1.0}, 30 - i) for i in range(20)}
    domains[99] = _sums({1: 1.0, 5: 0.2}, 1)
    parts = SectionParts(lambda k: _OneApart(), ari, chooses=False)
    chosen = SectionSettings(min_share=0.05)
    section = _section_of(make_sections(domains, _alone(domains), parts, settings=chosen))
    assert set(section.values()) == {0, 1} and section[99] == section[2]
    section = _section_of(make_sections(domains, _alone(domains), parts, k=3, settings=chosen))
    assert len(set(section.values())) == 3


def test_the_number_of_the_last_time_is_taken_again_while_it_is_nearly_the_best() -> None:
    tried = {4: 0.5, 5: 0.6, 6: 0.55}
    assert choose_number(tried, None, SectionSettings()) == 5
    assert choose_number(tried, 6, SectionSettings()) == 6
    assert choose_number(tried, 4, SectionSettings(loyalty=0.9)) == 5
    assert choose_number(tried, 4, SectionSettings(loyalty=0.8)) == 4
    assert choose_number({}, 4, SectionSettings()) is None


class _Cuts:
    """Clusters rows by turns, so that each clustering is a bad one."""

    def __init__(self, k: int) -> None:
        self._k = k

    def cluster(self, rows: Rows, compare: Compare | None = None) -> Labels:
        return np.arange(rows.shape[0]) % self._k


def test_sections_go_on_from_those_of_the_last_time() -> None:
    domains = _planted(4, 12)
    before = {d: 70 + (d - 1) % 4 for d in domains if d < 40}  # the others are new
    bad = _parts(_Cuts)
    made = make_sections(domains, _alone(domains), bad, k=4, before=before)
    section = _section_of(made)
    assert len(set(section.values())) == 4
    assert all(section[d] == section[(d - 1) % 4 + 1] for d in domains)
    without = _section_of(make_sections(domains, _alone(domains), bad, k=4))
    assert any(without[d] != without[(d - 1) % 4 + 1] for d in domains)


def test_a_domain_leaves_its_section_of_the_last_time_for_a_nearer_one() -> None:
    domains = _planted(3, 12)
    before = {d: 1 + (d - 1) % 3 for d in domains} | {4: 2}
    section = _section_of(
        make_sections(domains, _alone(domains), _parts(_Cuts), k=3, before=before)
    )
    assert section[4] == section[1] != section[2]


@pytest.mark.parametrize("k", [2, 3])
def test_a_clearly_better_clustering_replaces_the_sections_of_the_last_time(k: int) -> None:
    """Passes cannot repair labels in which each section has the same share of every subject."""
    domains = _planted(k, 16)
    alone = _alone(domains)
    mixed = {d: 1 + (d - 1) // k % k for d in domains}
    fresh = _section_of(make_sections(domains, alone, _parts(), k=k))
    made = make_sections(domains, alone, _parts(), k=k, before=mixed)
    assert ari(list(_section_of(made).values()), list(fresh.values())) == 1.0
    one = dict.fromkeys(domains, 5)
    again = make_sections(domains, alone, _parts(), k=k, before=one)
    assert _section_of(again) == fresh  # another number


def test_a_number_that_is_no_longer_stable_is_left_at_once() -> None:
    tried = {4: 0.9, 5: 0.2, 6: 0.3, 7: 0.1}
    assert choose_number(tried, 7, SectionSettings()) == 4
    assert choose_number(tried, 9, SectionSettings()) == 4  # not tried: larger ones were weak


@pytest.mark.parametrize(("n_domains", "largest"), [(23, 4), (25, 5), (63, 7), (64, 8)])
def test_there_are_no_more_sections_than_a_section_has_domains(
    n_domains: int, largest: int
) -> None:
    domains = dict(list(_planted(4, 16).items())[:n_domains])
    wide = SectionSettings(least=2, most=12, halves=2, patience=20)
    made = make_sections(domains, _alone(domains), _parts(), settings=wide)
    assert max(made.stability) == largest


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("of_halves", [0.4, 0.6])
def test_sections_stay_unless_they_differ_from_new_ones_more_than_halves_do(
    k: int | None, of_halves: float
) -> None:
    """Two large subjects share a section, which no pass repairs; a new clustering joins two small."""
    subject = {d: (d - 1) % 4 for d in _planted(4, 16)}
    domains = {d: of for d, of in _planted(4, 16).items() if subject[d] > 1 or d <= 16}
    before = {d: 1 + min(subject[d], 2) for d in domains}

    def agreement(one: Labels, two: Labels) -> float:
        """As if halves agreed by a given value, and the old and the new sections by 0.5."""
        return of_halves if ari(one, two) > 0.9 else 0.5

    parts = SectionParts(lambda k: segapsith.clusterer("spherical-kmeans", k=k), agreement)
    three = SectionSettings(least=3, most=3)
    made = make_sections(domains, _alone(domains), parts, k=k, before=before, settings=three)
    section = _section_of(made)
    are_new = of_halves > 0.5
    assert (section[3] == section[4]) is not are_new
    assert (section[1] == section[2]) is are_new


def test_sections_are_cut_or_joined_when_their_number_changes() -> None:
    domains = _planted(4, 12)
    subject = {d: (d - 1) % 4 for d in domains}
    alone, parts = _alone(domains), _parts()
    joined = {d: min(of, 2) for d, of in subject.items()}
    apart = {d: of if of else 4 * (d % 8 == 1) for d, of in subject.items()}
    for before in (joined, apart):
        made = make_sections(domains, alone, parts, k=4, before=before)
        section = _section_of(made)
        assert ari([section[d] for d in subject], list(subject.values())) == 1.0


def test_of_numbers_that_are_as_stable_the_larger_is_taken() -> None:
    assert choose_number({4: 0.6, 5: 0.59, 6: 0.589, 7: 0.58}, None, SectionSettings()) == 6
    assert choose_number({4: 0.6, 5: 0.5, 6: 0.6}, None, SectionSettings()) == 4
    assert choose_number({4: 0.0, 5: 0.0, 6: -0.1}, None, SectionSettings()) == 4


def test_larger_numbers_are_not_tried_after_enough_weak_ones() -> None:
    domains = _planted(3, 48)
    for patience in (1, 2, 20):
        wide = SectionSettings(least=2, most=12, halves=3, patience=patience)
        tried = make_sections(domains, _alone(domains), _parts(), settings=wide).stability
        best, weak = 0.0, 0
        for number, value in tried.items():
            assert weak < patience, number
            best = max(best, value)
            weak = weak + 1 if value < WEAK * best else 0
        assert weak == patience or max(tried) == 12


def test_few_topics_make_no_more_sections_than_there_are() -> None:
    domains = _planted(2, 1)
    made = make_sections(domains, _alone(domains), _parts())
    assert set(_section_of(made).values()) == {0, 1} and not made.stability
    assert len(make_sections({}, {}, _parts()).groups.domains) == 0
    assert len(make_sections(domains, {1: 5}, _parts()).groups.domains) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"least": 0},
        {"least": 9, "most": 8},
        {"rows": 1},
        {"halves": 1},
        {"patience": 0},
        {"loyalty": 2.0},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SectionSettings(**wrong)  # type: ignore[arg-type]
