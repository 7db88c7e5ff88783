"""Sections of a store: made from topics, kept over nights, taken back by undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from segapsith.api.sections import section_making
from segapsith.api.wire import Wire
from segapsith.errors import SettingError, UnknownNameError

SUBJECTS = 6
FAST = {"sections.least": 2, "sections.most": 8, "sections.halves": 4}


def _units(n: int, seed: int = 0, first: int = 0) -> list[dict[str, Any]]:
    """Units of `SUBJECTS` subjects by turns, with few words in common even within a subject."""
    rng = np.random.default_rng(seed)
    return [
        {
            "id": f"u{first + i}",
            "date": f"2024-01-{1 + i % 28:02}",
            "words": {
                f"word{i % SUBJECTS}{letter}": 1
                for letter in rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6, replace=False)
            },
            "lang": "en",
        }
        for i in range(n)
    ]


def _wire(open_wire: Callable[..., Wire], name: str = "wire.db", **given: Any) -> Wire:
    wire = open_wire(name, threshold=0.45, **given)
    wire.learn(_units(120))
    return wire


def test_each_domain_is_in_one_topic_and_each_topic_in_one_section(
    open_wire: Callable[..., Wire],
) -> None:
    wire = _wire(open_wire)
    found = wire.sections(settings=FAST)
    assert len(found) == SUBJECTS
    assert [s["units"] for s in found] == sorted((s["units"] for s in found), reverse=True)
    assert sum(s["units"] for s in found) == 120
    assert sum(s["share"] for s in found) == pytest.approx(1.0, abs=1e-4)
    topics = wire.topics(regroup=False)
    assert sorted(t for s in found for t in s["topics"]) == sorted(t["id"] for t in topics)
    of = {t: s["id"] for s in found for t in s["topics"]}
    assert all(t["section"] == of[t["id"]] for t in topics)
    assert all(d["section"] == of[d["topic"]] for d in wire.domains())
    subjects = [{w["word"][4] for w in s["words"] if w["word"].startswith("word")} for s in found]
    assert all(len(subject) == 1 for subject in subjects)
    assert len({s["label"] for s in found}) == len(found)
    assert [run["command"] for run in wire.runs()][:2] == ["sections", "topics"]


def test_the_same_topics_make_no_new_run_and_other_settings_do(
    open_wire: Callable[..., Wire],
) -> None:
    wire = _wire(open_wire)
    first, n_runs, digest = wire.sections(k=3), len(wire.runs()), wire.status()["digest"]
    assert len(first) == 3
    assert wire.sections.list(k=3) == first and len(wire.runs()) == n_runs
    assert wire.status()["digest"] == digest
    assert len(wire.sections(k=2)) == 2 and len(wire.runs()) == n_runs + 1
    assert wire.status()["digest"] != digest
    wire.runs.undo()
    assert wire.sections(regroup=False) == first and wire.status()["digest"] == digest


def _units_of(wire: Wire, sections: Any) -> dict[int, set[int]]:
    """The units that the domains of sections have now."""
    domains = {t["id"]: t["domains"] for t in wire.topics(regroup=False)}
    return {
        s["id"]: {
            unit
            for topic in s["topics"]
            for domain in domains[topic]
            for unit in wire.domains.show(domain)["unit_ids"]
        }
        for s in sections
    }


def test_sections_keep_their_ids_over_nights_and_an_undo_brings_them_back(
    open_wire: Callable[..., Wire],
) -> None:
    wire = _wire(open_wire)
    before = wire.sections(settings=FAST)
    wire.sections.rename(before[0]["id"], "Sport")
    old = _units_of(wire, before)
    wire.learn(_units(60, seed=1, first=200))
    newest = max(d["id"] for d in wire.domains())
    assert wire.domains.show(newest)["section"] is None  # until sections are made again
    after = wire.sections(settings=FAST)
    n_kept = 0
    for number, units in _units_of(wire, after).items():
        heirs = [(len(of & units), -o) for o, of in old.items() if 2 * len(of & units) > len(of)]
        assert number == -max(heirs)[1] if heirs else number not in old
        n_kept += bool(heirs)
    assert n_kept >= 3
    assert [s["label"] for s in after if s["id"] == before[0]["id"]] in ([], ["Sport"])
    assert wire.domains.show(newest)["section"] is not None
    for _ in range(3):
        wire.runs.undo()  # sections, topics, the second night
    now = {s["id"]: s["topics"] for s in wire.sections(regroup=False)}
    assert now == {s["id"]: s["topics"] for s in before}
    assert wire.verify().sound


def test_earlier_sections_are_shown_as_they_were(open_wire: Callable[..., Wire]) -> None:
    wire = _wire(open_wire)
    assert wire.sections.at(1) == []
    before = wire.sections(k=3)
    run = wire.runs()[0]["id"]
    wire.learn(_units(60, seed=1, first=200))
    wire.domains.merge([d["id"] for d in wire.domains()[:2]])
    wire.sections(k=2)
    assert len(wire.sections(regroup=False)) == 2
    assert wire.sections.at(run) == before
    assert wire.sections.at(run, top=1, limit=1)[0].words == before[0].words[:1]
    assert wire.sections.at("2024-01-10")  # before the store: stories up to that day
    assert sum(s.units for s in wire.sections.at("2024-01-10")) < 120


def test_equal_points_give_equal_digests_whatever_the_batches(
    open_wire: Callable[..., Wire],
) -> None:
    digests = []
    for size in (7, 200):
        wire = _wire(open_wire, f"{size}.db", batch_size=size)
        wire.sections(settings=FAST)
        digests.append(wire.status()["digest"])
    assert digests[0] == digests[1]


def test_languages_stay_apart(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(threshold=0.45)
    wire.learn({**u, "lang": "fr" if i % 4 == 3 else "en"} for i, u in enumerate(_units(96)))
    found = wire.sections(k=2)
    assert sorted(s["lang"] for s in found) == ["en", "en", "fr", "fr"]
    langs = {t["id"]: t["lang"] for t in wire.topics(regroup=False)}
    assert all({langs[t] for t in s["topics"]} == {s["lang"]} for s in found)
    for lang in ("en", "fr"):
        assert sum(s["share"] for s in found if s["lang"] == lang) == pytest.approx(1.0, abs=1e-4)


def test_a_forgotten_document_leaves_its_section(open_wire: Callable[..., Wire]) -> None:
    wire = _wire(open_wire)
    before = sum(s["units"] for s in wire.sections(k=3))
    wire.forget("u5")
    assert sum(s["units"] for s in wire.sections(regroup=False)) == before - 1
    assert wire.verify().sound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("similarity", "clusterer", "settings"),
    [
        ("cosine", "kmedoids", {}),
        ("gvsm-cov", "ahc", {"linkage": "complete"}),
        ("gvsm-cov", "ahc", {"distance": 0.9}),
        ("snos", "ahc", {}),
    ],
)
def test_any_similarity_and_clusterer_can_be_named(
    open_wire: Callable[..., Wire], similarity: str, clusterer: str, settings: dict[str, Any]
) -> None:
    wire = _wire(open_wire)
    given = {**settings, **FAST, "sections.halves": 2}
    found = wire.sections(similarity=similarity, clusterer=clusterer, settings=given)
    topics = {t["id"] for t in wire.topics(regroup=False)}
    assert {t for s in found for t in s["topics"]} == topics


def test_an_empty_store_has_no_sections(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.learn([])
    assert wire.sections() == []


def test_wrong_settings_are_found_before_anything_is_done(open_wire: Callable[..., Wire]) -> None:
    factory = open_wire().factory
    assert section_making(factory, settings={"k": 7}).k == 7
    assert not section_making(factory, "cosine", "ahc", settings={"distance": 0.5}).chooses
    with pytest.raises(SettingError, match="least=9"):
        section_making(factory, settings={"least": 9, "most": 5})
    with pytest.raises(UnknownNameError, match="did you mean"):
        section_making(factory, "cosin")
