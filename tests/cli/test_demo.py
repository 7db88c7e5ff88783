"""The demonstration runs the whole program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
def test_the_demo_is_the_whole_line(command: Command) -> None:
    code, out, err = command("demo", "--store", "demo.db")
    assert code == 0, err
    assert "B-cubed F1" in out
    assert "kappa" in out
    assert Path("demo.html").exists()
    assert command("verify", "--store", "demo.db")[0] == 0
    for lang in ("en", "fr", "de", "es"):
        assert f"\n{lang}: " in out
    assert out.count("kappa") == 4  # every language has domains to validate


def test_the_sample_is_written_for_people_without_a_clone(command: Command) -> None:
    code, out, _ = command("demo", "--sample", "made/sample")
    assert code == 0
    assert out.split() == [f"made/sample/wire.{lang}.jsonl" for lang in ("de", "en", "es", "fr")]
    lines = Path("made/sample/wire.en.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == sample.lines("en")
    assert not Path("segapsith.db").exists()


@pytest.mark.slow
def test_the_demo_differs_with_another_annotator(command: Command, answer: Answer) -> None:
    ours = answer("demo", "--store", "ours.db")
    other = answer("demo", "--store", "spacy.db", "--annotator", "spacy")
    assert other["status"]["digest"] != ours["status"]["digest"]
    assert other["status"]["documents"] == ours["status"]["documents"]
    assert command("verify", "--store", "spacy.db")[0] == 0
