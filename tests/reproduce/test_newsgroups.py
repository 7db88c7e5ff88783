"""Samples of messages as matrices."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from segapsith.arrays import Rows
from segapsith.errors import MissingInputError
from segapsith_reproduce import Options
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
