"""Samples of messages as matrices."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from segapsith.arrays import Rows
from segapsith.errors import InputError, MissingInputError
from segapsith_reproduce import Options, reproduce
from segapsith_reproduce.newsgroups import (
    Protocol,
    Sample,
    absent_notes,
    groups,
    matrices,
    sample_numbers,
    with_samples,
)


def matrix(sample: Sample) -> tuple[Rows, list[str]]:
    held = matrices([sample])[sample]
    return held.matrix, list(held.classes)


def test_entries_are_counts_or_presence(messages: Path) -> None:
    counts, classes = matrix(Sample(messages, "M5", 0, Protocol("smoothed"), 0))
    presence, _ = matrix(Sample(messages, "M5", 0, Protocol("smoothed", values="presence"), 0))
    assert counts.shape == presence.shape
    assert counts.max() > 1
    assert set(presence.data.tolist()) == {1.0}
    assert classes == ["rec.boats"] * 6 + ["sci.stars"] * 6


def test_headers_are_part_of_a_document_except_the_subject(messages: Path) -> None:
    bodies, headers = (
        matrix(Sample(messages, "M5", 1, Protocol("information", text=text), 0))[0]
        for text in ("bodies", "headers")
    )
    assert headers.shape[1] > bodies.shape[1]  # the words of the names of groups


@pytest.mark.parametrize("words", ["medoids", "random medoids"])
def test_medoids_are_as_many_words_as_wanted(messages: Path, words: str) -> None:
    rows, _ = matrix(Sample(messages, "M10", 0, Protocol(words), 0, 5))
    assert rows.shape == (12, 5)


def test_samples_that_are_added_are_used_and_missing_ones_are_named(
    messages: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    shutil.copytree(messages, data)
    listed = json.loads((data / "20ng" / "subsets.json").read_text())
    assert groups(data, "M5") == ["rec.boats", "sci.stars"]
    assert absent_notes(data, ("M5", "NG3")) == [
        "Left out, because there are no samples: NG3.",
        "Samples present, of the paper's 10: M5 2.",
    ]
    with pytest.raises(MissingInputError, match="no samples of NG2"):
        with_samples(data, ("NG2",))
    more = tmp_path / "more"
    shutil.copytree(messages, more)
    samples = listed["subsets"]["M5"]["samples"]
    samples |= {str(number): samples["0"] for number in range(2, 10)}
    listed["subsets"]["NG3"] = {"samples": samples}
    (more / "20ng" / "subsets.json").write_text(json.dumps(listed))
    assert with_samples(more, ("M5", "NG3")) == ["M5", "NG3"]
    assert len(sample_numbers(more, "M5", Options())) == 10
    assert absent_notes(more, ("M5", "NG3")) == []


def with_listed(messages: Path, data: Path, listed: object) -> Path:
    """Return a copy of the messages with another list of samples."""
    shutil.copytree(messages, data)
    (data / "20ng" / "subsets.json").write_text(json.dumps(listed) if listed else "")
    return data


def test_what_is_wrong_with_a_list_of_samples_is_named(messages: Path, tmp_path: Path) -> None:
    sample = ["rec.boats/0", "sci.stars/1"]
    subsets = {"M2": {"samples": {"0": []}}, "M5": {"samples": {"0": [*sample, "sci.stars/99"]}}}
    data = with_listed(messages, tmp_path / "other", {"subsets": subsets})
    assert with_samples(data, ("M2", "M5")) == ["M5"]
    assert absent_notes(data, ("M2", "M5"))[0] == "Left out, because there are no samples: M2."
    lacking = r"lacks 1 documents of sample 0 of M5, such as sci\.stars/99"
    with pytest.raises(InputError, match=lacking):
        matrix(Sample(data, "M5", 0, Protocol("smoothed"), 0))
    with pytest.raises(InputError, match="should be a JSON object"):
        with_samples(with_listed(messages, tmp_path / "empty", None), ("M5",))
    with pytest.raises(MissingInputError, match="there is no file"):
        with_samples(tmp_path / "nowhere", ("M5",))


def test_a_sample_of_one_group_is_a_table_too(messages: Path, tmp_path: Path) -> None:
    alone = {"0": [f"rec.boats/{number}" for number in range(8)]}
    data = with_listed(messages, tmp_path / "alone", {"subsets": {"M2": {"samples": alone}}})
    rows = reproduce("chi-sim-1", data, Options()).as_json()["rows"]
    assert {row["measure"]: row["ours"] for row in rows} == {"clusters": 1, "documents": 8}
