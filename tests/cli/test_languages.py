"""The command `languages`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segapsith.cli.app import run
from segapsith.languages import BUILT_IN, pack_of


def test_packs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["languages", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["code"] for row in rows] == sorted(BUILT_IN)


def test_a_pack_is_checked_on_a_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Die Häuser der Stadt. Die Stadt wächst.", encoding="utf-8")
    assert run(["languages", "check", "de", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["positions exact"] and found["letters outside words"] == 0
    assert found["commonest"][0] == "stadt" and found["sentences"] == 2


def test_an_unknown_pack_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["languages", "check", "xx"]) != 0
    assert "no language pack 'xx'" in capsys.readouterr().err


@pytest.mark.parametrize("code", BUILT_IN)
def test_each_pack_reads_its_sample(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["languages", "check", code, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["text"] == "sample of the pack"
    assert found["positions exact"] and found["letters outside words"] <= 0.03
    assert found["words"] >= 30 and found["sentences"] in (3, 4, 5)
    assert 0.25 <= found["content share"] <= 0.65
    assert not set(found["commonest"]) & pack_of(code).stop_words
