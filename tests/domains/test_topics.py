"""Topics: domains in groups that keep their numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.domains.topics import TopicSettings, group, topic_rows
from segapsith.domains.values import DomainWords
from segapsith.lexicon.vocabulary import SCALE

Command = Callable[..., tuple[int, str, str]]

SUBJECTS = {
    "storm": ["storm", "rain", "wind", "flood", "river", "coast"],
    "vote": ["vote", "party", "poll", "seat", "campaign", "minister"],
    "match": ["goal", "match", "coach", "team", "league", "striker"],
}


def _units(n: int, seed: int = 0, first: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    names = sorted(SUBJECTS)
    return [
        {
            "id": f"u{first + i}",
            "date": f"2024-01-{1 + i % 28:02}",
            "words": {w: 1 for w in rng.choice(SUBJECTS[names[i % 3]], 3, replace=False).tolist()}
            | {f"own{first + i}": 1},
            "label": names[i % 3],
        }
        for i in range(n)
    ]


def _sums(words: dict[int, float], n_units: int) -> DomainWords:
    numbers = sorted(words)
    return DomainWords(
        np.array(numbers, np.int32),
        np.full(len(numbers), n_units, np.int64),
        np.array([round(words[w] * SCALE * n_units) for w in numbers], np.int64),
        n_units,
    )


def test_a_row_is_mean_unit_weight_times_a_power_of_the_size() -> None:
    sums = [_sums({3: 0.5, 9: 0.01}, 16), _sums({9: 1.0}, 1)]
    rows = topic_rows(sums, TopicSettings(power=0.5, min_weight=0.025)).toarray()
    assert rows.tolist() == [[2.0, 0.0], [0.0, 1.0]]


def _two_subjects(n: int) -> dict[int, DomainWords]:
    """Domains of two subjects by turns, larger ones first."""
    return {
        i + 1: _sums({w + 10 * (i % 2): 1.0 for w in {i % 5, (i + 1) % 5, (i + 2) % 5}}, n - i)
        for i in range(n)
    }


@pytest.mark.parametrize("most", [4000, 10])
def test_domains_of_one_subject_come_together_also_in_blocks(most: int) -> None:
    domains = _two_subjects(40)
    found = group(
        domains,
        segapsith.similarity("gvsm-cov"),
        lambda n_rows: segapsith.clusterer("ahc", distance=0.42),
        TopicSettings(most=most, near=0.3),
    )
    assert sorted(found.domains.tolist()) == sorted(domains)
    groups = dict(zip(found.domains.tolist(), found.groups.tolist(), strict=True))
    assert len({groups[d] for d in range(1, 41, 2)}) == 1
    assert len({groups[d] for d in range(2, 41, 2)}) == 1
    assert groups[1] != groups[2]


def test_no_domains_make_no_topics() -> None:
    found = group({}, None, lambda n_rows: segapsith.clusterer("ahc"))
    assert len(found.domains) == len(found.groups) == 0


def test_topics_have_the_contracts_shape_and_reach_the_assignments(
    open_wire: Callable[..., Wire], command: Command
) -> None:
    wire = open_wire(threshold=0.6)
    wire.learn(_units(60))
    topics = wire.topics()
    assert len(wire.domains()) > len(topics) >= 3
    assert [t["units"] for t in topics] == sorted((t["units"] for t in topics), reverse=True)
    assert sorted(d for t in topics for d in t["domains"]) == sorted(
        d["id"] for d in wire.domains()
    )
    assert sum(t["units"] for t in topics) == 60
    assert {"word", "weight", "occurrences"} == set(topics[0]["words"][0])
    of = {d: t["id"] for t in topics for d in t["domains"]}
    assert all(d["topic"] == of[d["id"]] for d in wire.domains())
    assert wire.domains.show(topics[0]["domains"][0])["topic"] == topics[0]["id"]
    store = wire.path
    wire.close()
    code, out, _ = command("topics", "--store", store, "--json")
    assert code == 0 and json.loads(out) == [topic.as_json() for topic in topics]
    code, out, _ = command("export", "--store", store, "--what", "assignments")
    rows = [json.loads(line) for line in out.splitlines()]
    assert all(row["topic"] == of[row["domain"]] for row in rows) and len(rows) == 60
    code, out, _ = command("export", "--store", store, "--what", "topics")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [t["id"] for t in topics]


def test_grouping_the_same_domains_again_is_no_new_run(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn(_units(30))
    first, n_runs, digest = wire.topics(), len(wire.runs()), wire.status()["digest"]
    assert wire.topics() == first and len(wire.runs()) == n_runs
    assert wire.status()["digest"] == digest
    wire.topics(k=1)
    assert len(wire.runs()) == n_runs + 1


def _units_by_topic(wire: Wire, topics: Any) -> dict[int, set[int]]:
    """The units that the domains of topics have now."""
    return {
        topic["id"]: {
            u for domain in topic["domains"] for u in wire.domains.show(domain)["unit_ids"]
        }
        for topic in topics
    }


def test_topics_keep_their_ids_over_nights_and_an_undo_brings_them_back(
    open_wire: Callable[..., Wire],
) -> None:
    wire = open_wire(threshold=0.5)
    wire.learn(_units(60))
    before = wire.topics()
    large = [t["id"] for t in before[:3]]
    wire.topics.rename(large[0], "Elections")
    wire.learn(_units(60, seed=1, first=60))
    newest = max(d["id"] for d in wire.domains())
    assert wire.domains.show(newest)["topic"] is None  # made since: none until the next grouping
    after = wire.topics()
    then, now = _units_by_topic(wire, before), _units_by_topic(wire, after)
    kept = {
        old: new
        for old, units in then.items()
        for new, others in now.items()
        if 2 * len(units & others) > len(units)
        and len(units & others) > max(len(one & others) for o, one in then.items() if o != old)
    }
    assert kept.get(large[0]) == large[0] and len(kept) >= 3  # the others came together
    assert all(old == new for old, new in kept.items())
    assert next(t for t in after if t["id"] == large[0])["label"] == "Elections"
    assert wire.domains.show(newest)["topic"] is not None
    wire.runs.undo()  # the grouping
    wire.runs.undo()  # the second night
    assert [t["domains"] for t in wire.topics(regroup=False)] == [t["domains"] for t in before]
    assert wire.verify().sound
    wire.topics()
    wire.learn(_units(9, seed=5, first=500))
    old = {t["id"] for t in after}
    made = {t["id"] for t in wire.topics(settings={"distance": 0.0})} - {t["id"] for t in before}
    assert not made & old  # numbers are never given twice


def test_equal_points_give_equal_digests_whatever_the_batches(
    open_wire: Callable[..., Wire],
) -> None:
    digests = []
    for size in (7, 200):
        wire = open_wire(f"{size}.db", batch_size=size)
        wire.learn(_units(40))
        wire.topics()
        digests.append(wire.status()["digest"])
    assert digests[0] == digests[1]


def test_languages_stay_apart(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    units = [{**u, "lang": "fr" if i % 2 else "en"} for i, u in enumerate(_units(24))]
    wire.learn(units)
    langs = {d["id"]: d["lang"] for d in wire.domains()}
    assert all({langs[d] for d in t["domains"]} == {t["lang"]} for t in wire.topics())


@pytest.mark.slow
def test_any_measure_and_clusterer_and_friendly_errors(
    open_wire: Callable[..., Wire], command: Command
) -> None:
    wire = open_wire(threshold=0.6)
    wire.learn(_units(45))
    store = wire.path
    assert len(wire.topics(similarity="cosine", clusterer="kmedoids", k=3)) == 3
    assert len(wire.topics(k=2)) == 2
    wire.close()
    code, _, err = command("topics", "--store", store, "--clusterer", "entropy-kmeans")
    assert code == 2 and "-k N" in err
    code, _, err = command("topics", "--store", store, "-k", "2", "--cut", "0.3")
    assert code == 2 and "one of them" in err
    code, _, err = command("topics", "--store", store, "--similarity", "chisim")
    assert code != 0 and "did you mean" in err
    code, _, err = command("topics", "--store", store, "--set", "power=7")
    assert code == 78 and "power" in err
    code, _, err = command("topics", "--store", store, "--name", "9999=x")
    assert code == 66 and "no topic 9999" in err
    code, out, _ = command("topics", "--store", store, "--cut", "2", "--json")
    assert code == 0 and len(json.loads(out)) == 1


@pytest.mark.parametrize(("n_own", "n_shared"), [(8, 1), (34, 6)])
def test_scattered_stories_make_fewer_topics_than_domains(
    open_wire: Callable[..., Wire], n_own: int, n_shared: int
) -> None:
    """Each title, or text, shares a few of its words with one other only."""
    stories = [
        {
            "id": f"t{i}",
            "words": {f"own{i}w{j}": 1 for j in range(n_own)}
            | {f"shared{i // 2}w{j}": 1 for j in range(n_shared)},
        }
        for i in range(80)
    ]
    with open_wire() as wire:
        wire.learn(stories)
        n_domains = len(wire.domains())
        plain = wire.topics.list(settings={"distance": 0.32, "farthest": 0.42})
        risen = wire.topics.list()
    assert n_domains > 70
    assert len(plain) > 0.9 * n_domains > 1.2 * len(risen)


def test_an_empty_store_has_no_topics(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn([])
    assert wire.topics() == []
