"""`validate` over the nights, `validate drift`, `validate curve` and `compare`, as users give them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import segapsith
from segapsith.cli.validate import _drop, _numbers
from segapsith.demo import sample
from segapsith.errors import UsageError

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]


def answer(command: Command, *arguments: str) -> Any:
    code, out, err = command(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two nights, made once."""
    path = tmp_path_factory.mktemp("nights") / "segapsith.db"
    lines = sample.lines("en")
    with segapsith.open(path) as wire:
        for part in (lines[:80], lines[80:]):
            wire.ingest(part)
    return path


@pytest.fixture
def nights(command: Command, two_nights: Path, tmp_path: Path) -> Command:
    """A copy of that store in the working directory."""
    shutil.copy(two_nights, tmp_path / "segapsith.db")
    return command


def test_each_validation_is_kept_and_a_drop_is_an_alarm(nights: Command) -> None:
    options = ("--min-units", "5", "--stability", "0")
    first = answer(nights, "validate", *options)
    second = answer(
        nights, "validate", *options, "--clusterer", "ahc", "--clusterer", "entropy-kmeans",
        "-k", "6:14:4",
    )  # fmt: skip
    assert [point["k"] for point in second["curve"]] == [6, 10, 14]
    assert second["clusterer"] == "ahc"
    assert [other["clusterer"] for other in second["others"]] == ["entropy-kmeans"]
    history = answer(nights, "validate", "--history")
    assert [one["clusterer"] for one in history] == ["entropy-kmeans", "entropy-kmeans", "ahc"]
    assert history[0]["kappa"] == first["kappa"]["greedy"]
    assert history[0]["share"] == first["share"]
    assert len(answer(nights, "validate", "--history", "--limit", "1")) == 1
    out = nights("validate", "--history")[1]
    assert "kappa █" in out or "kappa ▇" in out
    code, _, err = nights("validate", *options, "--fail-drop", "0.1")
    assert code == 0, err
    code, _, err = nights("validate", *options, "--fail-drop", "0.1", "--lang", "en")
    assert (code, "no drop to measure" in err) == (0, True)
    assert _drop(0.3, [0.5, 0.6, 0.55], 0.2) == [
        "kappa 0.300 is more than 0.2 below its usual 0.550"
    ]
    assert _drop(0.4, [0.5, 0.6, 0.55], 0.2) == []


def test_verdicts_come_with_words_sentences_and_reasons(nights: Command) -> None:
    found = answer(nights, "validate", "--min-units", "4", "--stability", "1")
    assert found["word_cut"] == 0.03
    assert len(found["verdicts"]) == found["domains"]
    for one in found["verdicts"]:
        assert one["verdict"] in ("confirmed", "split", "merged", "missing")
        assert one["words"] and one["told"] and one["examples"]
        assert 0 <= one["stability"] <= 1 and -1 <= one["coherence"] <= 1
    out = nights("validate", "--min-units", "4", "--stability", "0", "--full")[1]
    assert "% of the units" in out and "links per domain" in out and "confirmed" in out


def test_sentences_are_not_kept_with_a_validation(nights: Command) -> None:
    """What is forgotten must not live on in a table of results."""
    from segapsith_store import Store

    found = answer(nights, "validate", "--min-units", "5", "--stability", "0")
    with Store.reading("segapsith.db") as store:
        ((kept,),) = store.rows("SELECT result FROM comparisons")
    assert "examples" not in json.loads(kept)["verdicts"][0]
    assert found["verdicts"][0]["examples"][0] not in kept


def test_the_paper_preset_has_its_own_cut(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "wire.jsonl"
    path.write_text("\n".join(map(json.dumps, sample.lines("en")[:60])))
    answer(command, "ingest", str(path), "--preset", "paper")
    options = ("validate", "--min-units", "2", "--stability", "0")
    assert answer(command, *options)["word_cut"] == 0.1  # the store knows how it weighs
    assert answer(command, *options, "--word-cut", "0.2")["word_cut"] == 0.2


def test_night_against_night(nights: Command) -> None:
    found = answer(nights, "validate", "drift", "--min-units", "5")
    assert found["from"] == 1
    assert found["units"] <= found["units_before"] < found["units_after"]
    assert found["kappa"]["greedy"] > 0.95
    assert found["births"] and all(one["before"] < 5 <= one["after"] for one in found["births"])
    assert answer(nights, "validate", "drift", "2", "1")["from"] == 1
    same = answer(nights, "validate", "drift", "2", "2")
    assert (same["moved"], same["births"], same["deaths"]) == (0, [], [])
    assert nights("validate", "drift", "99")[0] == 2
    assert nights("validate", "drift", "yesterday")[0] == 2
    assert nights("validate", "drift", "1999-01-01")[0] == 2
    assert "births" in nights("validate", "drift", "1")[1]


def test_a_corrected_story_is_seen_where_it_was(command: Command, tmp_path: Path) -> None:
    lines = sample.lines("en")[:40]
    for night, part in enumerate((lines, [{**lines[0], "text": lines[7]["text"]}])):
        path = tmp_path / f"n{night}.jsonl"
        path.write_text("\n".join(map(json.dumps, part)))
        answer(command, "ingest", str(path))
    found = answer(command, "validate", "drift", "1")
    assert found["units"] < found["units_before"]  # the old units were there, and are no more


def test_the_curve_is_drawn_over_thresholds(nights: Command) -> None:
    found = answer(
        nights, "validate", "curve", "--thresholds", "0.1,0.15,0.4", "--min-units", "5",
        "--svg", "curve.svg",
    )  # fmt: skip
    assert [point["threshold"] for point in found["points"]] == [0.1, 0.15, 0.4]
    assert found["points"][0]["share"] > found["points"][2]["share"]
    root = ElementTree.parse("curve.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == sum(
        point["kappa"] is not None for point in found["points"]
    )
    split = answer(
        nights, "validate", "curve", "--thresholds", "0.1", "--min-units", "5", "--nightly"
    )
    assert split["nightly"] and len(split["points"]) == 1
    assert nights("validate", "curve", "--thresholds", "0,2")[0] == 2
    assert nights("validate", "curve", "--thresholds", "x")[0] == 2
    assert "kappa" in nights("validate", "curve", "--thresholds", "0.15", "--min-units", "5")[1]


def test_runs_nights_stores_and_files_are_compared(nights: Command, tmp_path: Path) -> None:
    nights("backup", "copy.db")
    same = answer(nights, "compare", "segapsith.db", "copy.db")
    assert same["kappa"]["greedy"] == 1.0
    assert same["share"] == 1.0
    assert len(same["links"]["shared"]) == same["domains"]
    then = answer(nights, "compare", "1", "copy.db@2")
    assert then["units"] < then["right_units"]
    clustered = answer(nights, "cluster", "-k", "9")
    against = answer(nights, "compare", "copy.db", str(clustered["run"]), "--min-units", "5")
    assert against["clusters"] <= 9
    assert 0.2 < against["kappa"]["greedy"] < 1
    nights("export", "--what", "assignments", "--output", "gold.jsonl")
    gold = answer(nights, "compare", "copy.db", "gold.jsonl")
    assert gold["ari"] == 1.0
    subjects = [
        {"id": uid, "start": start, "end": end, "label": subject}
        for uid, start, end, subject in sample.gold_of_paragraphs("en")
    ]
    (tmp_path / "subjects.jsonl").write_text("\n".join(map(json.dumps, subjects)))
    found = answer(nights, "compare", "copy.db", "subjects.jsonl")
    assert found["nmi"] > 0.7
    assert set(found["links"]["entropy"]["links"]) <= {one["label"] for one in subjects}
    assert "kappa" in nights("compare", "subjects.jsonl", "copy.db")[1]


@pytest.mark.parametrize(
    ("left", "right", "code", "message"),
    [
        ("nobody.db", "1", 66, "there is no such file"),
        ("1", "77", 2, "no run 77"),
        ("1", "other.jsonl", 2, "nothing to compare"),
        ("1", "1", 2, "lowers the bar"),
        (".", "1", 2, "is a directory"),
        ("1", "broken.jsonl", 65, "broken.jsonl"),
    ],
)
def test_what_cannot_be_compared_is_explained(
    nights: Command, left: str, right: str, code: int, message: str
) -> None:
    Path("other.jsonl").write_text('{"id": "elsewhere", "label": "x"}\n')
    Path("broken.jsonl").write_text("{")
    options = ("--min-units", "9999") if (left, right) == ("1", "1") else ()
    found, _, err = nights("compare", left, right, *options)
    assert (found, message in err) == (code, True), err


@pytest.mark.parametrize("text", ["x", "0", "9:3", "1:2:3:4", "5:9:0"])
def test_a_wrong_range_of_clusters_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="-k"):
        _numbers(text)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_export_compared_with_its_store_agrees_fully(nights: Command, ending: str) -> None:
    nights("topics", "-k", "3")
    own = f"own.{ending}"
    nights("export", "--what", "assignments", "--to", ending, "--output", own)
    code, out, err = nights("compare", "segapsith.db", own, "--json")
    assert (code, out) == (2, "")
    assert "several fields may hold the labels (topic, domain)" in err
    assert "--field" in err
    same = answer(nights, "compare", "segapsith.db", own, "--field", "domain")
    assert same["kappa"]["greedy"] == same["share"] == 1
    assert (same["left_field"], same["right_field"]) == ("domain", "domain")
    topics = answer(nights, "compare", "segapsith.db", own, "--field", "topic")
    assert topics["right_field"] == "topic"
    assert topics["kappa"]["greedy"] < 1
    assert "groups by topic)" in nights("compare", "segapsith.db", own, "--field", "topic")[1]


def test_a_field_is_for_labelled_files(nights: Command) -> None:
    code, _, err = nights("compare", "1", "2", "--field", "domain")
    assert code == 2
    assert "is a labelled file" in err


def test_python_names_the_field_too(nights: Command, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(
        "".join(
            json.dumps({"id": line["id"], "label": "a", "section": "b"}) + "\n"
            for line in sample.lines("en")
        )
    )
    with segapsith.open(tmp_path / "segapsith.db") as wire:
        with pytest.raises(UsageError, match=r"\(label, section\)"):
            wire.compare(wire.path, str(tmp_path / "gold.jsonl"))
        found = wire.compare(wire.path, str(tmp_path / "gold.jsonl"), field="section")
    assert (found["left_field"], found["right_field"]) == ("domain", "section")


def test_each_clustering_of_a_validation_is_reported(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with segapsith.open(tmp_path / "wire.db") as wire:
        wire.ingest(sample.lines("en")[:60])
        wire.validate(
            min_units=2,
            stability=2,
            k=[2, 3],
            on_clustered=lambda done, total: seen.append((done, total)),
        )
    assert seen == [(done, 5) for done in range(1, 6)]
