"""`segapsith federate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import segapsith
from segapsith.cli.app import run
from segapsith.demo import sample


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("one", sample.lines("en")[:60]), ("two", sample.lines("en")[30:90])):
        with segapsith.open(f"{name}.db") as wire:
            wire.ingest(lines)
    return ["one.db", "two.db"]


def test_it_says_what_it_linked_and_that_this_is_approximate(
    two: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["federate", *two, "--output", "view", "--min-units", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("domains: ") and " in 2 stores, " in lines[0]
    assert any(line.startswith("one and two: ") and "kappa" in line for line in lines)
    assert any("approximate" in line for line in lines)
    assert Path("view/index.html").exists()


def test_json_is_the_file(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["federate", *two, "--output", "view", "--min-units", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(Path("view/federation.json").read_text("utf-8"))
    assert {"is_exact", "note", "stores", "domains", "topics", "agreements"} <= printed.keys()


def test_a_missing_store_has_its_exit_code(
    two: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["federate", two[0], "missing.db", "--output", "view"]) == 66
    assert run(["federate", two[0], "--output", "view"]) == 2
    assert "at least two stores" in capsys.readouterr().err
    assert not Path("view").exists()
