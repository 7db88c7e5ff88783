"""`segapsith prepare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from segapsith.cli.app import run
from segapsith.demo import sample


@pytest.fixture
def wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = sample.path("en").read_text("utf-8").splitlines()[:40]
    Path("wire.jsonl").write_text("\n".join([*lines, "{broken"]), "utf-8")
    return "wire.jsonl"


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_prepare_and_ingest_give_the_store_of_the_archive(
    wire: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = result(capsys, "prepare", wire, "--output", "shards")
    assert (done["stories"], done["rejected"], done["shards"], done["written"]) == (40, 1, 1, 1)
    again = result(capsys, "prepare", wire, "--output", "shards")
    assert (again["written"], again["kept"]) == (0, 1)
    counts = [
        result(capsys, "ingest", source, "--store", f"{source}.db") for source in (wire, "shards")
    ]
    for name in ("read", "new", "duplicate", "corrected", "rejected", "rejects", "units"):
        assert counts[0][name] == counts[1][name]
    digests = [
        result(capsys, "status", "--store", f"{source}.db")["digest"] for source in (wire, "shards")
    ]
    assert digests[0] == digests[1]


def test_people_are_told_what_to_do_next(wire: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prepare", wire, "--output", "shards"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(
        "shards: 40 stories, 1 rejected items; shards: 1 (1 written, 0 there"
    )
    assert lines[1] == "Next: segapsith ingest shards"
    assert all(len(line) <= 100 for line in lines)


def test_a_missing_input_is_named_and_the_others_are_prepared(
    wire: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare", wire, "missing", "--output", "shards"]) == 66
    captured = capsys.readouterr()
    assert "segapsith: missing: no such file or directory" in captured.err
    assert "shards: 40 stories" in captured.out


def test_other_shards_are_refused_unless_they_may_be_replaced(
    wire: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare", wire, "--output", "shards"]) == 0
    arguments = ["prepare", wire, "--output", "shards", "--lang", "en"]
    assert run(arguments) == 2
    assert "1 shards of other inputs, settings or versions" in capsys.readouterr().err
    assert run([*arguments, "--replace"]) == 0
    assert "1 removed" in capsys.readouterr().out


def test_a_damaged_shard_is_rejected_by_name(wire: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prepare", wire, "--output", "shards"]) == 0
    (shard,) = Path("shards").iterdir()
    shard.write_bytes(shard.read_bytes()[:-1])
    assert run(["ingest", "shards"]) == 0
    assert f"rejected: {shard}: the shard is damaged" in capsys.readouterr().err
